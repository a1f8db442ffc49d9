"""Certified epsilons of compositions beside dp-accounting and autodp, in one run: values, ratios, milliseconds.

Run by ``make bench`` in an environment that holds dp-accounting beside this package; autodp where it is installed:

    python benchmarks/accounting.py

Ours are upper bounds whose every rounding is accounted for. dp-accounting's are pessimistic in the lattice and leave
out the rounding of its transforms; autodp's are Rényi bounds, and are above by what the conversion costs. Times are
wall time of one run with empty caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

from reticent.privacy import pld
from reticent.privacy.pairs import (
    Coin,
    DiscreteGaussianShift,
    GaussianShift,
    GeometricShift,
    LaplaceShift,
    Pair,
    Range,
    SampledPair,
)

Parts = list[tuple[Pair, int]]
STEP = 1e-4  # dp-accounting's lattice, its default


@dataclass(frozen=True, slots=True)
class Row:
    """One composition at one delta."""

    name: str
    delta: str
    ours: float
    ours_ms: float
    theirs: float | None
    theirs_ms: float | None
    renyi: float | None


def compositions() -> dict[str, Parts]:
    one, hundredth = Fraction(1), Fraction(1, 100)
    kinds: list[Pair] = [
        Coin(Fraction(1, 100)),
        Coin(Fraction(3, 100), Fraction(1, 10**12)),
        GeometricShift(Fraction(40), 1),
        GeometricShift(Fraction(100), 3),
        LaplaceShift(Fraction(1, 50)),
        LaplaceShift(Fraction(1, 30)),
        GaussianShift(Fraction(1, 2000)),
        DiscreteGaussianShift(Fraction(2000), 1),
        SampledPair(GaussianShift(one), hundredth),
        SampledPair(LaplaceShift(one), hundredth),
    ]
    return {
        "1000 of 10 kinds": [(kind, 100) for kind in kinds],
        "Gaussian mu 0.1 x 100": [(GaussianShift(hundredth), 100)],
        "Laplace 0.01 x 1000": [(LaplaceShift(hundredth), 1000)],
        "Gaussian mu 1 sampled at 0.01 x 1000": [(SampledPair(GaussianShift(one), hundredth), 1000)],
        "discrete Gaussian, variance 100 x 50": [(DiscreteGaussianShift(Fraction(100), 1), 50)],
        "bounded range 0.1 x 200": [(Range(Fraction(1, 10)), 200)],
        "coin (0.1, 1e-11) x 100": [(Coin(Fraction(1, 10), Fraction(1, 10**11)), 100)],
        "geometric 1/2, shift 3 x 20, Laplace 0.2 x 20": [
            (GeometricShift(Fraction(6), 3), 20),
            (LaplaceShift(Fraction(1, 5)), 20),
        ],
    }


def peer(pair: Pair, times: int) -> object:
    """dp-accounting's distribution of ``times`` parts; None where it has none (bounded range)."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as theirs

    match pair:
        case Coin(epsilon, delta):
            one = theirs.from_privacy_parameters(
                common.DifferentialPrivacyParameters(float(epsilon), float(delta)), value_discretization_interval=STEP
            )
        case GeometricShift(scale, shift):
            one = theirs.from_discrete_laplace_mechanism(float(1 / scale), shift, value_discretization_interval=STEP)
        case LaplaceShift(epsilon):
            one = theirs.from_laplace_mechanism(float(1 / epsilon), value_discretization_interval=STEP)
        case GaussianShift(mu):
            one = theirs.from_gaussian_mechanism(float(mu) ** -0.5, value_discretization_interval=STEP)
        case DiscreteGaussianShift(variance, shift):
            one = theirs.from_discrete_gaussian_mechanism(
                float(variance) ** 0.5, shift, value_discretization_interval=STEP
            )
        case SampledPair(GaussianShift(mu), rate):
            one = theirs.from_gaussian_mechanism(
                float(mu) ** -0.5, sampling_prob=float(rate), value_discretization_interval=STEP
            )
        case SampledPair(LaplaceShift(epsilon), rate):
            one = theirs.from_laplace_mechanism(
                float(1 / epsilon), sampling_prob=float(rate), value_discretization_interval=STEP
            )
        case _:
            return None
    return one.self_compose(times) if times > 1 else one


def their_epsilon(parts: Parts, delta: float) -> float | None:
    whole = None
    for pair, times in parts:
        one = peer(pair, times)
        if one is None:
            return None
        whole = one if whole is None else whole.compose(one)  # type: ignore[attr-defined]  # no types there
    assert whole is not None
    return float(whole.get_epsilon_for_delta(delta))  # type: ignore[attr-defined]  # no types there


def renyi_epsilon(parts: Parts, delta: float) -> float | None:
    """autodp's Rényi accountant, for Gaussians and Laplaces alone."""
    if find_spec("autodp") is None:
        return None
    from autodp import rdp_acct, rdp_bank  # type: ignore[import-not-found]

    accountant = rdp_acct.anaRDPacct()
    for pair, times in parts:
        match pair:
            case GaussianShift(mu):
                sigma = float(mu) ** -0.5
                accountant.compose_mechanism(lambda x, s=sigma: rdp_bank.RDP_gaussian({"sigma": s}, x), coeff=times)
            case LaplaceShift(epsilon):
                scale = float(1 / epsilon)
                accountant.compose_mechanism(lambda x, b=scale: rdp_bank.RDP_laplace({"b": b}, x), coeff=times)
            case _:
                return None
    return float(accountant.get_eps(delta))


def timed(work: Callable[[], float | None]) -> tuple[float | None, float]:
    start = time.perf_counter()
    found = work()
    return found, 1000 * (time.perf_counter() - start)


def our_epsilon(parts: Parts, delta: str) -> float:
    return float(pld.epsilon_of(parts, Fraction(delta)))


def report() -> list[Row]:
    rows = []
    pld.epsilon_of([(GaussianShift(Fraction(1)), 1)], Fraction(1, 10**6))  # imports
    their_epsilon([(LaplaceShift(Fraction(1)), 1)], 1e-6)
    for name, parts in compositions().items():
        for delta in ("1e-6", "1e-9"):
            pld.forget()
            ours, ours_ms = timed(partial(our_epsilon, parts, delta))
            theirs, theirs_ms = timed(partial(their_epsilon, parts, float(delta)))
            assert ours is not None
            renyi = renyi_epsilon(parts, float(delta))
            rows.append(Row(name, delta, ours, ours_ms, theirs, theirs_ms if theirs is not None else None, renyi))
    return rows


def show(rows: list[Row]) -> None:
    peers = f"dp-accounting {version('dp-accounting')}"
    print(f"{'':48}{'delta':>6}{'ours':>10}{'ms':>7}{peers:>22}{'ms':>8}{'ratio':>9}{'autodp':>9}")
    for row in rows:
        theirs = "" if row.theirs is None else f"{row.theirs:.5f}"
        spent = "" if row.theirs_ms is None else f"{row.theirs_ms:.0f}"
        ratio = "" if row.theirs is None else f"{row.ours / row.theirs:.5f}"
        renyi = "" if row.renyi is None else f"{row.renyi:.4f}"
        print(
            f"{row.name:48}{row.delta:>6}{row.ours:>10.5f}{row.ours_ms:>7.1f}{theirs:>22}{spent:>8}{ratio:>9}{renyi:>9}"
        )
    if find_spec("autodp") is None:
        print("autodp is not installed here: its column is empty")


def growth() -> None:
    """Milliseconds of one more entry and its epsilon, each entry of a kind of its own."""
    total, delta = pld.Running.empty(), Fraction(1, 10**6)
    spent: list[float] = []
    for n in range(10_000):
        start = time.perf_counter()
        total = total.add(LaplaceShift(Fraction(1, 1000 + n)))
        total.epsilon(delta)
        spent.append(1000 * (time.perf_counter() - start))
    for last in (10, 100, 1000, 10_000):
        window = sorted(spent[last // 2 : last])
        print(f"one more entry and its epsilon, up to {last:6} entries: median {window[len(window) // 2]:.2f} ms")
    print(f"all 10,000, rebuilding included: {sum(spent) / 1000:.1f} s")


def main() -> None:
    """Measure and print."""
    show(report())
    growth()


if __name__ == "__main__":
    main()
