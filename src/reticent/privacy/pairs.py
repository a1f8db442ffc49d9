"""Dominating pairs: the two laws whose comparison bounds every comparison of two neighbours.

A pair (P, Q) dominates a mechanism M when for every epsilon, and all neighbours D and D',
max over S of P(M(D) in S) - e^epsilon P(M(D') in S) <= max over S of P(S) - e^epsilon Q(S). What matters of a pair
is its privacy-loss distribution: the law under P of ln P / Q. Pairs of parts that are composed adaptively multiply.

    Coin(epsilon, delta)              every (epsilon, delta)-DP mechanism      Kairouz, Oh and Viswanath 2017
    Range(epsilon)                    epsilon-bounded range: the exponential mechanism    Dong, Durfee, Rogers 2020
    GeometricShift(scale, shift)      integers with two-sided geometric noise, L1 sensitivity ``shift``
    LaplaceShift(epsilon)             numbers with continuous Laplace noise, epsilon = sensitivity / scale
    GaussianShift(mu_squared)         numbers with continuous Gaussian noise: Gaussian DP     Dong, Roth, Su 2022
    DiscreteGaussianShift(variance, shift)   one integer with discrete Gaussian noise
    Highest(branches)                 products of these, of which one is run: the pointwise maximum of their profiles
    SampledPair(pair, rate)           Poisson sampling, then ``pair``, under add/remove

All but ``SampledPair`` are symmetric: (P, Q) and (Q, P) have one privacy-loss distribution.

Source: Zhu, Dong and Wang 2022, Definition 7 and Theorem 10 (adaptive composition), Theorem 11 (sampling). Why one
shift stands for a whole vector: docs/proofs/pairs.md. Numbers come from ``pld``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any, TypeAlias, TypeGuard, assert_never

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import about_up, exact, positive, read, show


@dataclass(frozen=True, slots=True)
class Coin:
    """With probability ``delta`` tells the neighbour; else a loss of +``epsilon`` or -``epsilon`` (odds e^epsilon)."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if exact(self.epsilon, "epsilon") < 0:
            raise PublicParameterError(f"epsilon must be >= 0, got {show(self.epsilon)}")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError(f"delta must lie in [0, 1), got {show(self.delta)}")


@dataclass(frozen=True, slots=True)
class Range:
    """Losses of one output differ by at most ``epsilon`` > 0 among outputs: density e^{(x - eps)/2} on [-eps, eps]."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class GeometricShift:
    """Z against Z + ``shift``, P(Z = k) proportional to e^{-|k| / scale}; ``shift`` an integer >= 1."""

    scale: Fraction
    shift: int

    def __post_init__(self) -> None:
        positive(self.scale, "scale")
        _shift(self.shift)


@dataclass(frozen=True, slots=True)
class LaplaceShift:
    """Continuous Laplace noise of scale 1 against itself moved by ``epsilon`` > 0."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class GaussianShift:
    """N(0, 1) against N(mu, 1), mu^2 = ``mu_squared`` > 0."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        positive(self.mu_squared, "mu squared")


@dataclass(frozen=True, slots=True)
class DiscreteGaussianShift:
    """Z against Z + ``shift``, P(Z = k) proportional to e^{-k^2 / (2 variance)}; ``shift`` an integer >= 1."""

    variance: Fraction
    shift: int

    def __post_init__(self) -> None:
        positive(self.variance, "variance")
        _shift(self.shift)


@dataclass(frozen=True, slots=True)
class Highest:
    """One of several products of pairs, whose losses are at most ``most``; its law is derived in ``highest``.

    Attributes
    ----------
    branches : tuple of products, each a tuple of (pair, times)
        Two or more, in order, of symmetric pairs with bounded losses and no delta of their own.
    most : Fraction
        The largest loss of all branches.
    """

    branches: tuple[tuple[tuple[Bounded, int], ...], ...]

    def __post_init__(self) -> None:
        if len(self.branches) < 2 or not all(self.branches):
            raise PublicParameterError("the highest profile is that of two products or more")
        for pair, times in (part for branch in self.branches for part in branch):
            if not is_bounded(pair) or isinstance(times, bool) or not isinstance(times, int) or times < 1:
                raise PublicParameterError(f"{words(pair)} has no bounded loss, or occurs less than once")
        if list(self.branches) != sorted(set(self.branches), key=_branch_key):
            raise PublicParameterError("the branches of a highest profile are named once each, in order")

    @property
    def most(self) -> Fraction:
        return max(sum((most_of(pair) * times for pair, times in branch), Fraction(0)) for branch in self.branches)


Bounded: TypeAlias = Coin | Range | GeometricShift | LaplaceShift | Highest
Symmetric: TypeAlias = Bounded | GaussianShift | DiscreteGaussianShift


def is_bounded(pair: object) -> TypeGuard[Bounded]:
    """Tell if the pair is symmetric, with losses that are bounded and finite for certain."""
    return isinstance(pair, Bounded) and not (isinstance(pair, Coin) and pair.delta)


def most_of(pair: Bounded) -> Fraction:
    """The largest loss."""
    match pair:
        case Coin(epsilon) | Range(epsilon) | LaplaceShift(epsilon):
            return epsilon
        case GeometricShift(scale, shift):
            return shift / scale
        case Highest():
            return pair.most
        case _:
            assert_never(pair)


def highest(branches: Iterable[tuple[tuple[Pair, int], ...]]) -> Highest | None:
    """The pair of one of ``branches``; None where one of them is sampled, unbounded or has a delta."""
    found: set[tuple[tuple[Bounded, int], ...]] = set()
    for branch in branches:
        listed = tuple((pair, times) for pair, times in branch if is_bounded(pair))
        if len(listed) < len(branch):
            return None
        found.add(listed)
    return Highest(tuple(sorted(found - {()}, key=_branch_key)))


def _branch_key(branch: tuple[tuple[Bounded, int], ...]) -> tuple[object, ...]:
    return tuple((key(pair), times) for pair, times in branch)


@dataclass(frozen=True, slots=True)
class SampledPair:
    """Each unit takes part with probability ``rate`` in (0, 1), on its own coin; then ``pair``. Add/remove only."""

    pair: Symmetric
    rate: Fraction

    def __post_init__(self) -> None:
        if not 0 < positive(self.rate, "rate") < 1 or self.rate > 1 - Fraction(1, 10**300):
            raise PublicParameterError(f"rate must lie between 0 and 1, got {show(self.rate)}")


Pair: TypeAlias = Symmetric | SampledPair


def _shift(shift: int) -> None:
    if isinstance(shift, bool) or not isinstance(shift, int) or shift < 1:
        raise PublicParameterError(f"shift must be an integer >= 1, got {shift}")


def words(pair: Pair) -> str:
    """``geometric ε 0.5``: the pair by its largest loss, or its rho or mu."""
    match pair:
        case Coin(epsilon, delta):
            return f"coin ε {about_up(epsilon)}" if delta == 0 else f"coin (ε {about_up(epsilon)}, δ {about_up(delta)})"
        case Range(epsilon):
            return f"bounded range ε {about_up(epsilon)}"
        case GeometricShift(scale, shift):
            return f"geometric ε {about_up(shift / scale)}"
        case LaplaceShift(epsilon):
            return f"Laplace ε {about_up(epsilon)}"
        case GaussianShift(mu_squared):
            return f"Gaussian μ² {about_up(mu_squared)}"
        case DiscreteGaussianShift(variance, shift):
            return f"discrete Gaussian ρ {about_up(shift * shift / (2 * variance))}"
        case Highest(branches):
            return f"highest of {len(branches)} profiles, ε {about_up(pair.most)}"
        case SampledPair(inner, rate):
            return f"{words(inner)} sampled at {about_up(rate)}"
        case _:
            assert_never(pair)


def key(pair: Pair) -> tuple[object, ...]:
    """Sort key of a pair: its kind, then its numbers."""
    match pair:
        case Coin(a, b) | GeometricShift(a, b) | DiscreteGaussianShift(a, b):
            return type(pair).__name__, a, b
        case Range(a) | LaplaceShift(a) | GaussianShift(a):
            return type(pair).__name__, a
        case Highest(branches):
            return type(pair).__name__, tuple(_branch_key(branch) for branch in branches)
        case SampledPair(inner, rate):
            return type(pair).__name__, key(inner), rate
        case _:
            assert_never(pair)


def to_json(pair: Pair) -> dict[str, object]:
    match pair:
        case Coin(epsilon, delta):
            return {"pair": "coin", "epsilon": show(epsilon), "delta": show(delta)}
        case Range(epsilon):
            return {"pair": "range", "epsilon": show(epsilon)}
        case GeometricShift(scale, shift):
            return {"pair": "geometric", "scale": show(scale), "shift": str(shift)}
        case LaplaceShift(epsilon):
            return {"pair": "laplace", "epsilon": show(epsilon)}
        case GaussianShift(mu_squared):
            return {"pair": "gaussian", "mu_squared": show(mu_squared)}
        case DiscreteGaussianShift(variance, shift):
            return {"pair": "discrete_gaussian", "variance": show(variance), "shift": str(shift)}
        case Highest(branches):
            listed = [[{**to_json(part), "times": str(times)} for part, times in branch] for branch in branches]
            return {"pair": "highest", "of": listed}
        case SampledPair(inner, rate):
            return {"pair": "sampled", "of": to_json(inner), "rate": show(rate)}
        case _:
            assert_never(pair)


def from_json(fields: Mapping[str, Any]) -> Pair:
    """The pair ``to_json`` wrote."""

    def number(name: str) -> Fraction:
        return read(str(fields[name]), name)

    match fields["pair"]:
        case "coin":
            return Coin(number("epsilon"), number("delta"))
        case "range":
            return Range(number("epsilon"))
        case "geometric":
            return GeometricShift(number("scale"), int(fields["shift"]))
        case "laplace":
            return LaplaceShift(number("epsilon"))
        case "gaussian":
            return GaussianShift(number("mu_squared"))
        case "discrete_gaussian":
            return DiscreteGaussianShift(number("variance"), int(fields["shift"]))
        case "highest":
            listed = [tuple((from_json(part), int(part["times"])) for part in branch) for branch in fields["of"]]
            found = highest(listed)
            if found is None or len(found.branches) < len(listed):
                raise PublicParameterError("a branch of a highest profile is named twice, or has no bounded loss")
            return found
        case "sampled":
            inner = from_json(fields["of"])
            if isinstance(inner, SampledPair):
                raise PublicParameterError("a sample of a sample is a sample at the product of the rates")
            return SampledPair(inner, number("rate"))
        case other:
            raise PublicParameterError(f"no pair is called {other}")


def loss_lattice(pair: Pair) -> Fraction | None:
    """The largest number all losses are multiples of, if there is one."""
    match pair:
        case Coin(epsilon):
            return epsilon
        case GeometricShift(scale):
            return 1 / scale
        case DiscreteGaussianShift(variance, shift):
            return Fraction(shift, 2 if shift % 2 else 1) / variance
        case Range() | LaplaceShift() | GaussianShift() | Highest() | SampledPair():
            return None
        case _:
            assert_never(pair)


def common_lattice(a: Fraction, b: Fraction) -> Fraction:
    """The greatest common divisor, or a number too small for a lattice where it becomes long."""
    if a.denominator.bit_length() > 256:
        return a
    return Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
