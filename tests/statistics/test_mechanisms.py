"""Every specimen of every mechanism: it draws its stated law, hides its stated distance, and a wrong one is caught.

Draws are replayed, so a red test means a change. The chi-square tests use 5,000 draws, and 10,000 of what tells least
of its input. They reject at 1e-4 per test, and the mutants must be rejected at the same level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest
import scipy

from reticent.entropy import Replayed
from reticent.mechanisms import registry
from reticent.mechanisms.gate import Specimen
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.registry import axiom_again
from reticent.mechanisms.weighted_selection import WeightedSelection
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1

DRAWS = 5_000
MORE = {"permute-and-flip, four candidates": 10_000, "two bits, symmetric": 10_000}
LEVEL = 1e-4
SPECIMENS: list[Specimen[Any, Any]] = [specimen for module in registry.ALL for specimen in module.SPECIMENS]
NAMES = [specimen.name for specimen in SPECIMENS]
LOOSE = {  # of the loss stated, what two inputs can show
    "permute-and-flip, four candidates": 0.5,
    "least point of a row": 0.45,  # the worst solver loses one step of the three that are paid for
    "weighted selection, epsilon 1, delta 0.05, 2 keys": 0.25,  # a coin tells less than the noise that is paid for
    "weighted selection, epsilon 3, delta 0.01, 3 keys": 0.4,
}


@cache
def drawn(name: str) -> Counter[object]:
    """Draws of one specimen, the same for the test of its law and for its mutants."""
    specimen, stream = SPECIMENS[NAMES.index(name)], Replayed(name)
    return Counter(specimen.mechanism.sample(specimen.here, stream) for _ in range(MORE.get(name, DRAWS)))


def p_value(found: Counter[object], mass: Callable[[object], float]) -> float:
    """Chi-square of the draws against a law, outcomes of expectation below 10 pooled."""
    kept, draws = {outcome: mass(outcome) for outcome in found}, found.total()
    common = [outcome for outcome, chance in kept.items() if chance * draws >= 10]
    observed = [found[outcome] for outcome in common]
    expected = [kept[outcome] * draws for outcome in common]
    rest = draws - sum(expected)
    if rest >= 1:
        observed.append(draws - sum(observed))
        expected.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(scipy.stats.chi2.sf(statistic, len(observed) - 1))


@pytest.mark.wide
@pytest.mark.loop(16)
@pytest.mark.parametrize("specimen", SPECIMENS, ids=NAMES)
def test_it_draws_the_law_it_states(specimen: Specimen[Any, Any]) -> None:
    assert p_value(drawn(specimen.name), lambda out: specimen.mass(specimen.here, out)) > LEVEL


def _tempered(specimen: Specimen[Any, Any], found: Counter[object], power: float) -> Callable[[object], float]:
    """The law raised to ``power`` and normalised over what was seen: too little noise (> 1) or too much (< 1)."""
    total = sum(specimen.mass(specimen.here, out) ** power for out in found)
    return lambda out: specimen.mass(specimen.here, out) ** power / total


@pytest.mark.loop(16)  # of the specimens whose law is tested
@pytest.mark.parametrize("power", [1.25, 0.8], ids=["too little noise", "too much noise"])
@pytest.mark.parametrize("specimen", SPECIMENS, ids=NAMES)
def test_a_law_off_by_a_quarter_is_rejected(specimen: Specimen[Any, Any], power: float) -> None:
    found = drawn(specimen.name)
    assert p_value(found, _tempered(specimen, found, power)) < LEVEL


@pytest.mark.wide
@pytest.mark.parametrize("specimen", SPECIMENS, ids=NAMES)
def test_the_law_keeps_the_guarantee_between_the_neighbours_and_hardly_less(specimen: Specimen[Any, Any]) -> None:
    """The hockey-stick distance of the two laws is within the stated loss, and above it at 0.8 of the loss."""
    outputs = _alphabet(specimen)
    here = [specimen.mass(specimen.here, out) for out in outputs]
    there = [specimen.mass(specimen.there, out) for out in outputs]
    pairs = [(a, b) for a, b in zip(here, there, strict=True) if a > 1e-280 and b > 1e-280]
    match specimen.mechanism.guarantee.loss:
        case PureDP(epsilon):
            worst = max(abs(math.log(a / b)) for a, b in pairs)
            assert worst <= float(epsilon) + 1e-9
            assert worst > LOOSE.get(specimen.name, 0.8) * float(epsilon)
        case ApproxDP(epsilon, delta):
            assert _hockey(here, there, float(epsilon)) <= float(delta) + 1e-9
            assert _hockey(here, there, LOOSE.get(specimen.name, 0.8) * float(epsilon)) > float(delta)
        case ZCDP(rho):
            for order in (1.5, 2.0, 4.0, 8.0):
                terms = [math.exp(order * math.log(a) + (1 - order) * math.log(b)) for a, b in pairs]
                divergence = math.log(sum(terms)) / (order - 1)
                assert divergence <= float(rho) * order * (1 + 1e-6)
                assert divergence > 0.8 * float(rho) * order


def _hockey(here: list[float], there: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(here, there, strict=True))


def _alphabet(specimen: Specimen[Any, Any]) -> list[Any]:
    if isinstance(specimen.mechanism, WeightedSelection):
        return [*product((0, 1), repeat=len(specimen.here))]
    sample = specimen.mechanism.sample(specimen.here, Replayed("alphabet"))
    match sample:
        case str():
            return ["yes", "no"]
        case int():
            return [0, 1, 2, 3]
        case (int(),):
            middle = specimen.here[0] if isinstance(specimen.here, tuple) else 0
            return [(middle + k,) for k in range(-60, 61)]
        case (int(), int()):
            return [(0, 1), (1, 0)]
        case _:
            grid = specimen.mechanism.grid.step  # type: ignore[attr-defined]  # only the Laplace specimen is left
            return [(k * grid,) for k in range(-120, 121)]


@pytest.mark.wide
@pytest.mark.parametrize("specimen", SPECIMENS, ids=NAMES)
def test_the_stored_parameters_prove_the_loss_again(specimen: Specimen[Any, Any]) -> None:
    guarantee = specimen.mechanism.guarantee
    assert not guarantee.parts or specimen.name in LOOSE
    for leaf in guarantee.parts or (guarantee,):
        again = axiom_again(leaf)
        assert (again, again.pair) == (leaf, leaf.pair)
    assert rederive(guarantee, axiom_again) == guarantee.loss


@pytest.mark.wide
@pytest.mark.parametrize("module", registry.ALL, ids=lambda module: module.__name__)
def test_every_mechanism_carries_statement_source_proof_and_deviations(module: Any) -> None:
    for heading in ("Statement.", "Source.", "Proof.", "Deviations."):
        assert heading in (module.__doc__ or ""), heading


@pytest.mark.wide
def test_the_same_stream_gives_the_same_draw() -> None:
    for specimen in SPECIMENS:
        one = specimen.mechanism.sample(specimen.here, Replayed("again"))
        assert one == specimen.mechanism.sample(specimen.here, Replayed("again"))


@pytest.mark.wide
def test_a_vector_beyond_the_scale_of_64_bits_is_drawn_one_by_one() -> None:
    wide = Geometric(L1(Fraction(1 << 70), Adjacency("add_remove")), Fraction(1))
    drawn_values = wide.sample([0, 0, 0], Replayed("wide"))
    assert all(isinstance(value, int) for value in drawn_values)
    assert max(map(abs, drawn_values)) > 1 << 64
