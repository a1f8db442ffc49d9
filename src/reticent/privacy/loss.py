"""Losses: how much one unit can change the law of what comes out.

    PureDP(eps)              P(S | D) <= e^eps P(S | D')                   001; 004 Definition 1.1
    ApproxDP(eps, delta)     P(S | D) <= e^eps P(S | D') + delta           001; 003 Definition 2
    ZCDP(rho)                D_alpha(D || D') <= rho alpha, alpha > 1      Bun and Steinke 2016, Definition 1.1
    ApproxZCDP(rho, delta)   the same but for events of probability delta  Bun and Steinke 2016, Definition 8.1
    Renyi(curve)             D_alpha(D || D') <= eps at each (alpha, eps)  Mironov 2017, Definition 4
    GaussianDP(mu^2)         no easier to tell than N(0, 1) from N(mu, 1)  Dong, Roth and Su 2022, Definition 4
    PLD(pairs)               dominated by the product of these pairs       Zhu, Dong and Wang 2022, Definition 7

A closed union without a base class: ``match`` over ``Loss`` and let mypy find a forgotten case.
All numbers are Fractions. What a loss says in numbers (delta at an epsilon, a trade-off) is in ``curves``; how one
loss follows from another, with its theorem, in ``convert``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any, Final, TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_up, sqrt_up
from reticent.privacy import pairs
from reticent.privacy.numbers import about_up, exact, read, show
from reticent.privacy.pairs import Pair


class _PrintedLoss:
    """Printed as people read it."""

    __slots__ = ()

    def __str__(self) -> str:
        return words(self)  # type: ignore[arg-type]  # the seven losses below, and nothing else, are made from it


@dataclass(frozen=True, slots=True)
class PureDP(_PrintedLoss):
    """(epsilon, 0)-differential privacy; ``epsilon`` >= 0."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class ApproxDP(_PrintedLoss):
    """(epsilon, delta)-differential privacy; ``epsilon`` >= 0, 0 <= ``delta`` < 1."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")
        _below_one(self.delta)


@dataclass(frozen=True, slots=True)
class ZCDP(_PrintedLoss):
    """rho-zero-concentrated differential privacy; ``rho`` >= 0."""

    rho: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.rho, "rho")


@dataclass(frozen=True, slots=True)
class ApproxZCDP(_PrintedLoss):
    """delta-approximate rho-zCDP; ``rho`` >= 0, 0 <= ``delta`` < 1."""

    rho: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.rho, "rho")
        _below_one(self.delta)


@dataclass(frozen=True, slots=True)
class Renyi(_PrintedLoss):
    """Renyi divergences of finitely many orders: pairs (alpha, epsilon), alpha > 1 rising, ``epsilon`` >= 0."""

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        if not self.curve:
            raise PublicParameterError("a Rényi curve has at least one order")
        before = Fraction(1)
        for alpha, epsilon in self.curve:
            if exact(alpha, "alpha") <= before:
                raise PublicParameterError(f"orders must be > 1 and rise, got {show(alpha)} after {show(before)}")
            _not_negative(epsilon, "epsilon")
            before = alpha

    @property
    def orders(self) -> tuple[Fraction, ...]:
        return tuple(alpha for alpha, _ in self.curve)


@dataclass(frozen=True, slots=True)
class GaussianDP(_PrintedLoss):
    """mu-Gaussian differential privacy, mu^2 = ``mu_squared`` >= 0: squares of mu add up exactly."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.mu_squared, "mu squared")

    @property
    def mu(self) -> Fraction:
        """mu: exact where it is rational, else rounded up to 12 digits."""
        top, bottom = isqrt(self.mu_squared.numerator), isqrt(self.mu_squared.denominator)
        if Fraction(top * top, bottom * bottom) == self.mu_squared:
            return Fraction(top, bottom)
        return round_up(sqrt_up(self.mu_squared))


@dataclass(frozen=True, slots=True)
class PLD(_PrintedLoss):
    """The product of dominating pairs, each so many times; make one with ``pld_of``, which puts them in order."""

    pairs: tuple[tuple[Pair, int], ...]

    def __post_init__(self) -> None:
        for pair, times in self.pairs:
            if isinstance(times, bool) or not isinstance(times, int) or times < 1:
                raise PublicParameterError(f"{pairs.words(pair)} must occur at least once, got {times}")
        keys = [pairs.key(pair) for pair, _ in self.pairs]
        if any(not before < after for before, after in pairwise(keys)):
            raise PublicParameterError("the pairs of a privacy-loss distribution are named once each, in order")


LARGEST: Final = Fraction(10) ** 300
Loss: TypeAlias = PureDP | ApproxDP | ZCDP | ApproxZCDP | Renyi | GaussianDP | PLD
Counted: TypeAlias = PureDP | ApproxDP | ZCDP | ApproxZCDP  # what a budget may be stated in


def known(loss: Loss) -> Loss:
    """``loss`` itself; what is no loss is refused with a word on where to find one."""
    given: object = loss
    if not isinstance(given, PureDP | ApproxDP | ZCDP | ApproxZCDP | Renyi | GaussianDP | PLD):
        hint = " A guarantee has one: .loss" if hasattr(given, "adjacency") else ""
        name = type(given).__name__
        raise PublicParameterError(f"a loss is needed here, such as PureDP(Fraction(1)), got {name}.{hint}")
    return loss


def pld_of(parts: Iterable[tuple[Pair, int]]) -> PLD:
    """Pairs in their one order: equal ones counted together, Gaussian shifts as one (their squares add)."""
    counts: dict[Pair, int] = {}
    gauss = Fraction(0)
    for pair, times in parts:
        match pair:
            case pairs.GaussianShift(mu_squared):
                gauss += mu_squared * times
            case pairs.Coin(epsilon, delta) if epsilon == 0 and delta == 0:
                pass
            case _:
                counts[pair] = counts.get(pair, 0) + times
    if gauss:
        counts[pairs.GaussianShift(gauss)] = 1
    return PLD(tuple(sorted(counts.items(), key=lambda item: pairs.key(item[0]))))


def _not_negative(number: Fraction, name: str) -> None:
    if exact(number, name) < 0:
        raise PublicParameterError(f"{name} must be >= 0, got {show(number)}")
    if number > LARGEST:
        raise PublicParameterError(f"{name} must be at most 1e300")


def _below_one(delta: Fraction) -> None:
    _not_negative(delta, "delta")
    if delta >= 1:
        raise PublicParameterError(f"delta must be < 1, got {show(delta)}")


def words(loss: Loss) -> str:
    """``ε 1``, ``(ε 1, δ 1e-9)`` or ``ρ 0.5``: the loss as people read it, long fractions rounded up to 6 digits."""
    match loss:
        case PureDP(epsilon):
            return f"ε {about_up(epsilon)}"
        case ApproxDP(epsilon, delta):
            return f"(ε {about_up(epsilon)}, δ {about_up(delta)})"
        case ZCDP(rho):
            return f"ρ {about_up(rho)}"
        case ApproxZCDP(rho, delta):
            return f"(ρ {about_up(rho)}, δ {about_up(delta)})"
        case Renyi(curve):
            alpha, epsilon = curve[0]
            more = f" and {len(curve) - 1} more orders" if len(curve) > 1 else ""
            return f"Rényi (order {about_up(alpha)}: {about_up(epsilon)}{more})"
        case GaussianDP():
            return f"μ {about_up(loss.mu)}"
        case PLD(parts):
            if not parts:
                return "ε 0"
            return " · ".join(pairs.words(pair) + (f" x {times}" if times > 1 else "") for pair, times in parts[:3]) + (
                f" · {len(parts) - 3} more kinds" if len(parts) > 3 else ""
            )
        case _:
            assert_never(loss)


# ---- as JSON


def to_json(loss: Loss) -> dict[str, object]:
    """Losses travel as decimal or fraction text, since JSON floats would turn 0.1 into something else."""
    match loss:
        case PureDP(epsilon):
            return {"epsilon": show(epsilon), "delta": "0"}
        case ApproxDP(epsilon, delta):
            return {"epsilon": show(epsilon), "delta": show(delta)}
        case ZCDP(rho):
            return {"rho": show(rho)}
        case ApproxZCDP(rho, delta):
            return {"rho": show(rho), "delta": show(delta)}
        case Renyi(curve):
            return {"renyi": [[show(alpha), show(epsilon)] for alpha, epsilon in curve]}
        case GaussianDP(mu_squared):
            return {"mu_squared": show(mu_squared)}
        case PLD(parts):
            return {"pairs": [{**pairs.to_json(pair), "times": str(times)} for pair, times in parts]}
        case _:
            assert_never(loss)


def from_json(fields: Mapping[str, Any]) -> Loss:
    """The loss ``to_json`` wrote.

    Raises
    ------
    PublicParameterError, KeyError, TypeError, ValueError
        For anything else.
    """
    if "pairs" in fields:
        return PLD(tuple((pairs.from_json(pair), int(pair["times"])) for pair in fields["pairs"]))
    if "renyi" in fields:
        return Renyi(tuple((read(alpha, "alpha"), read(epsilon, "epsilon")) for alpha, epsilon in fields["renyi"]))
    if "mu_squared" in fields:
        return GaussianDP(read(fields["mu_squared"], "mu squared"))
    delta = read(fields.get("delta", "0"), "delta")
    if "rho" in fields:
        rho = read(fields["rho"], "rho")
        return ZCDP(rho) if delta == 0 else ApproxZCDP(rho, delta)
    epsilon = read(fields["epsilon"], "epsilon")
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
