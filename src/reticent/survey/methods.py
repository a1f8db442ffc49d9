"""Mechanisms of a design: the one of each method at an epsilon, and the best for k answers or for a number.

Epsilon lies above 0 and is at most 10: beyond that one answer moves odds by a factor of 22,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias, TypeVar, assert_never, get_args

from reticent.errors import PublicParameterError, door
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_coins import ratio_below
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.numbers import Number, about, read, show
from reticent.survey import variance
from reticent.survey.design_record import DesignRecord, Frequency, Mechanism, Method

D = TypeVar("D", bound=DesignRecord)
Choice: TypeAlias = Literal["kary", "unary", "optimised_unary", "subset", "hadamard", "hashing"]
Mean: TypeAlias = Literal["duchi", "piecewise"]
CHOICES: Final[tuple[Choice, ...]] = ("kary", "subset", "hadamard", "hashing", "optimised_unary", "unary")
FIXED: Final = ("two_coins", "forced", "unrelated", "one_sided")  # coins that no epsilon chooses
LARGEST: Final = 10
LISTED: Final = 256  # answers for which a message of one bit each is short
CLOSE: Final = 1.01  # a variance so near the least is the least
GRID: Final = 1024  # cells of a number, about
PRIMES: Final = tuple(n for n in range(2, 1 << 9) if all(n % d for d in range(2, int(n**0.5) + 1)))


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on the method for k answers at epsilon: the choice, its reason, and the variance of each method.

    ``variances``: n times the variance of the share of one answer, all answers equally frequent.
    """

    method: Choice
    why: str
    variances: tuple[tuple[Choice, float], ...]

    def __str__(self) -> str:
        return f"{self.method}: {self.why}"


@door
def best(k: int, epsilon: Number) -> Advice:
    """The method for ``k`` >= 2 answers at ``epsilon``: the least variance at equal frequencies.

    Where two are within 1 % the one with the shorter message is taken; messages of one bit per answer are considered
    up to 256 answers.
    """
    if type(k) is not int or k < 2:
        raise PublicParameterError(f"k must be an int >= 2, got {k}")
    limit = within(epsilon)
    found: list[tuple[Choice, float]] = []
    for method in CHOICES:
        if k > (
            LISTED if method in ("subset", "unary", "optimised_unary") else 65_536 if method == "kary" else 1 << 22
        ):
            continue
        made = frequency(method, k, limit)
        if not (isinstance(made, Subset) and made.chosen == 1):  # which is kary with a longer message
            found.append((method, variance.of_share(made.hit, made.miss, 1 / k)))
    if not found:
        raise PublicParameterError(f"a list of {k:,} answers is too long: 4 million at most")
    least = min(value for _, value in found)
    method, value = next((name, value) for name, value in found if value <= CLOSE * least)
    times = [f"{name} ×{other / value:.2f}" for name, other in found if name != method]
    why = f"the least variance for {k:,} answers at ε {about(limit)}; " + "others: " + ", ".join(times)
    return Advice(method, why, tuple(found))


def at(design: D, epsilon: Number) -> D:
    """The same question and method at another epsilon; see ``Design.at``."""
    if design.method in FIXED:
        raise PublicParameterError(f"the coins of a {design.method} design are fixed: make another design")
    return replace(design, mechanism=_again(design, within(epsilon)))


def _again(design: DesignRecord, epsilon: Fraction) -> Mechanism:
    match design.method:
        case "warner":
            return statements(statement(epsilon))
        case "duchi" | "piecewise":
            if design.low is None or design.high is None:
                raise PublicParameterError("this design is not about a number")
            return scale(design.high - design.low, epsilon, design.method)[1]
        case "two_coins" | "forced" | "unrelated" | "one_sided":
            return design.mechanism
        case method:
            return frequency(method, len(design.among), epsilon)


def statement(epsilon: Fraction) -> Fraction:
    """The chance of the true one of Warner's two statements at epsilon."""
    ratio = ratio_below(epsilon)
    return ratio / (ratio + 1)


def statements(chance: Fraction) -> RandomizedResponse:
    """Warner's two statements: the true one with probability ``chance``, strictly between 1/2 and 1."""
    if not Fraction(1, 2) < chance < 1:
        raise PublicParameterError("truth must lie strictly between 1/2 and 1: below, exchange the two statements")
    return RandomizedResponse(2 * chance - 1, Fraction(1, 2))


def scale(span: Fraction, epsilon: Fraction, method: Mean | Literal["auto"]) -> tuple[Mean, LocalMean]:
    """The mechanism for a number of a range ``span`` wide; of "auto" the one with the smaller worst variance.

    Parameters
    ----------
    span : Fraction
        Width of the range, in the unit of the number.
    epsilon : Fraction
    method : name of a mechanism, or "auto"

    Returns
    -------
    pair of the name, and the mechanism

    Raises
    ------
    PublicParameterError
        A name of no method.
    """
    if method not in ("auto", *get_args(Mean)):
        raise PublicParameterError(f"method is one of: auto, {', '.join(get_args(Mean))}")
    two, many = LocalMean(1, 1, epsilon), _window(_cells(span), epsilon)
    if method == "auto":
        method = "duchi" if variance.worst_mean(two) <= variance.worst_mean(many) else "piecewise"
    return method, two if method == "duchi" else many


def frequency(method: Choice, k: int, epsilon: Fraction) -> Frequency:
    """The mechanism of a method for ``k`` answers.

    Parameters
    ----------
    method : name of a mechanism
    k : int
        Number of answers to choose from.
    epsilon : Fraction

    Returns
    -------
    Frequency
    """
    match method:
        case "kary":
            return KAry(k, epsilon)
        case "unary":
            return Unary(k, epsilon, "symmetric")
        case "optimised_unary":
            return Unary(k, epsilon, "optimised")
        case "subset":
            return _subset(k, epsilon)
        case "hadamard":
            return Hadamard(k, epsilon)
        case "hashing":
            return _hashing(k, epsilon)
        case other:
            assert_never(other)


def rebuilt(question: str, method: str, among: tuple[str, ...], numbers: Mapping[str, str]) -> DesignRecord:
    """The design that ``settings`` were read from.

    Parameters
    ----------
    question, method : str
    among : tuple of str
        Answers to choose from.
    numbers : mapping of str to str
        Exact settings, as text.

    Returns
    -------
    DesignRecord

    Raises
    ------
    PublicParameterError
        A name of no method.
    """
    k = len(among)
    low, high = (read(numbers[name], name) if name in numbers else None for name in ("low", "high"))
    named: Method = next((name for name in get_args(Method) if name == method), "two_coins")
    if named != method:
        raise PublicParameterError(f"no method is called {method!r}")
    made: Mechanism
    match named:
        case "two_coins" | "forced" | "warner" | "unrelated":
            made = RandomizedResponse(read(numbers["truth"], "truth"), read(numbers["yes"], "yes"))
        case "one_sided":
            made = OneSided(read(numbers["truth"], "truth"))
        case "subset":
            made = Subset(k, int(numbers["chosen"]), within(numbers["epsilon"]))
        case "hashing":
            made = Hashing(k, int(numbers["values"]), within(numbers["epsilon"]))
        case "duchi" | "piecewise":
            made = LocalMean(int(numbers["cells"]), int(numbers["width"]), within(numbers["epsilon"]))
        case "kary" | "unary" | "optimised_unary" | "hadamard":
            made = frequency(named, k, within(numbers["epsilon"]))
        case _:
            assert_never(named)
    return limited(DesignRecord(question, named, among, made, low, high))


def within(epsilon: Number) -> Fraction:
    """An epsilon of a survey: above 0, at most 10."""
    limit = read(epsilon, "epsilon")
    if limit <= 0:
        raise PublicParameterError(f"ε must be above 0, got {show(limit)}: no answer with ε 0 tells anything")
    if limit > LARGEST:
        raise PublicParameterError(
            f"ε {show(limit)} lets one answer change odds by more than 22,000: this protects no one. At most {LARGEST}"
        )
    return limit


def limited(design: D) -> D:
    """Refuse coins whose epsilon is beyond the limit of surveys."""
    if isinstance(design.mechanism, RandomizedResponse) and design.mechanism.ratio > ratio_below(Fraction(LARGEST)):
        raise PublicParameterError("with these coins ε is above 10: this protects no one")
    return design


def _subset(k: int, epsilon: Fraction) -> Subset:
    near = round(k / (ratio_below(epsilon) + 1))
    made = [Subset(k, chosen, epsilon) for chosen in range(max(1, near - 1), min(k - 1, near + 1) + 1)]
    return min(made, key=lambda one: variance.of_share(one.hit, one.miss, 1 / k))


def _hashing(k: int, epsilon: Fraction) -> Hashing:
    made = [Hashing(k, prime, epsilon) for prime in PRIMES]
    return min(made, key=lambda one: variance.of_share(one.hit, one.miss, 1 / k))


def _cells(span: Fraction) -> int:
    """About a thousand cells, so that whole numbers are on the grid where their range is whole and short."""
    return GRID // int(span) * int(span) if span.denominator == 1 and span <= GRID else GRID


def _window(cells: int, epsilon: Fraction) -> LocalMean:
    """The window of the least worst variance: near cells e^{-epsilon/2}."""
    near = max(1, round(cells / ratio_below(epsilon / 2)))
    step = max(1, near // 8)
    while True:
        tried = [LocalMean(cells, max(1, near + j * step), epsilon) for j in (-1, 0, 1)]
        found = min(tried, key=variance.worst_mean)
        if found.width == near:
            if step == 1:
                return found
            step //= 2
        near = found.width
