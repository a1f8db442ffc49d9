"""Making designs: coins that people know by name, and the best mechanism for k answers or for a number.

Epsilon lies above 0 and is at most 10: beyond that one answer moves odds by a factor of 22,000.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, assert_never, get_args

from reticent.errors import PublicParameterError
from reticent.mechanisms import Hadamard, Hashing, KAry, LocalMean, OneSided, RandomizedResponse, Subset, Unary
from reticent.mechanisms.local import ratio_below
from reticent.privacy.numbers import Number, about, read, show
from reticent.survey import variance
from reticent.survey.design import YES_NO, Design, Frequency, Mechanism, Method, check_among

Choice: TypeAlias = Literal["kary", "unary", "optimised_unary", "subset", "hadamard", "hashing"]
Mean: TypeAlias = Literal["duchi", "piecewise"]
CHOICES: Final[tuple[Choice, ...]] = ("kary", "subset", "hadamard", "hashing", "optimised_unary", "unary")
LARGEST: Final = 10
LISTED: Final = 256  # answers for which a message of one bit each is short
CLOSE: Final = 1.01  # a variance so near the least is the least
GRID: Final = 1024  # cells of a number, about
PRIMES: Final = tuple(n for n in range(2, 1 << 9) if all(n % d for d in range(2, int(n**0.5) + 1)))


@dataclass(frozen=True, slots=True)
class Advice:
    """Which method for k answers at epsilon, why, and the variance of each.

    ``variances``: n times the variance of the share of one answer, all answers equally frequent.
    """

    method: Choice
    why: str
    variances: tuple[tuple[Choice, float], ...]

    def __str__(self) -> str:
        return f"{self.method}: {self.why}"


def two_coins(question: str) -> Design:
    """Two fair coins: tails, the truth; heads, a second coin says yes or no. e^epsilon = 3.

    Source: Warner 1965; 001.
    """
    return Design(question, "two_coins", YES_NO, RandomizedResponse(Fraction(1, 2), Fraction(1, 2)))


def forced(question: str, *, truth: Number, yes: Number) -> Design:
    """The truth with probability ``truth``, else yes with probability ``yes``; both strictly between 0 and 1.

    Raises
    ------
    PublicParameterError
        For ``yes`` = 1 or 0, which protects one answer only (``one_sided``), and where epsilon would pass 10.
    """
    if read(yes, "yes") in (0, 1):
        raise PublicParameterError(
            "a forced answer that is always the same protects one truth only: no finite ε holds. Its true guarantee "
            "is (0, truth); ask for it by name: survey.one_sided(question, truth=…)"
        )
    return _sane(Design(question, "forced", YES_NO, RandomizedResponse(read(truth, "truth"), read(yes, "yes"))))


def warner(question: str, *, epsilon: Number | None = None, truth: Number | None = None) -> Design:
    """The statement with probability ``truth``, else its opposite: answer honestly which of the two you were given.

    Name ``epsilon``, above 0 and at most 10, or ``truth``, strictly between 1/2 and 1.

    Source: Warner 1965: epsilon = ln(truth / (1 - truth)), the least variance of all yes-no designs of that epsilon.
    """
    if (epsilon is None) == (truth is None):
        raise PublicParameterError("name epsilon= or truth=, one of them")
    if epsilon is not None:
        ratio = ratio_below(within(epsilon))
        chance = ratio / (ratio + 1)
    else:
        chance = read(truth if truth is not None else 0, "truth")
    if not Fraction(1, 2) < chance < 1:
        raise PublicParameterError("truth must lie strictly between 1/2 and 1: below, exchange the two statements")
    return _sane(Design(question, "warner", YES_NO, RandomizedResponse(2 * chance - 1, Fraction(1, 2))))


def unrelated(question: str, *, other_share: Number, truth: Number) -> Design:
    """The question with probability ``truth``, else an innocent one to which a known share says yes.

    Parameters
    ----------
    other_share : number
        Probability of yes to the innocent question, strictly between 0 and 1. It must be a coin's: a fact about the
        respondent that somebody can look up (a birthday) hides nothing from that somebody.

    Source: Greenberg and others 1969, with a known share.
    """
    made = RandomizedResponse(read(truth, "truth"), read(other_share, "other_share"))
    return _sane(Design(question, "unrelated", YES_NO, made))


def one_sided(question: str, *, truth: Number) -> Design:
    """The truth with probability ``truth``, else yes. (0, truth)-differentially private, for no epsilon with delta 0.

    Who says no has told the truth, and everybody knows. Source: 002 section 2, corrected.
    """
    return Design(question, "one_sided", YES_NO, OneSided(read(truth, "truth")))


def choice(
    question: str, among: Sequence[str], *, epsilon: Number, method: Choice | Literal["auto"] = "auto"
) -> Design:
    """One of several answers.

    Parameters
    ----------
    among : sequence of str
        2 or more; 4,096 at most for unary and subset, 65,536 for kary, 4 million for hadamard and hashing.
    epsilon : number
        Above 0, at most 10.
    method : str
        "auto" takes what ``best`` names.
    """
    answers = tuple(among)
    check_among(answers)
    if not answers:
        raise PublicParameterError("name at least two answers")
    limit = within(epsilon)
    chosen = best(len(answers), limit).method if method == "auto" else method
    return Design(question, chosen, answers, frequency(chosen, len(answers), limit))


def mean(
    question: str, low: Number, high: Number, *, epsilon: Number, method: Mean | Literal["auto"] = "auto"
) -> Design:
    """A number between public bounds, for the mean of all.

    Parameters
    ----------
    low, high : number
        ``low`` < ``high``.
    method : str
        "duchi" says one of two numbers, "piecewise" one of many; "auto" takes the one with the smaller worst variance:
        duchi up to an epsilon of about 1.18.
    """
    bottom, top, limit = read(low, "low"), read(high, "high"), within(epsilon)
    if bottom >= top:
        raise PublicParameterError(f"low must be below high, got {show(bottom)} and {show(top)}")
    two, many = LocalMean(1, 1, limit), _window(_cells(top - bottom), limit)
    if method not in ("auto", *get_args(Mean)):
        raise PublicParameterError(f"method is one of: auto, {', '.join(get_args(Mean))}")
    if method == "auto":
        method = "duchi" if variance.worst_mean(two) <= variance.worst_mean(many) else "piecewise"
    return Design(question, method, (), two if method == "duchi" else many, bottom, top)


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


def at(design: Design, epsilon: Number) -> Design:
    """See ``Design.at``."""
    match design.method:
        case "two_coins" | "forced" | "unrelated" | "one_sided":
            raise PublicParameterError(f"the coins of a {design.method} design are fixed: make another design")
        case "warner":
            return warner(design.question, epsilon=epsilon)
        case "duchi" | "piecewise":
            if design.low is None or design.high is None:
                raise PublicParameterError("this design is not about a number")
            return mean(design.question, design.low, design.high, epsilon=epsilon, method=design.method)
        case method:
            return choice(design.question, design.among, epsilon=epsilon, method=method)


def frequency(method: Choice, k: int, epsilon: Fraction) -> Frequency:
    """The mechanism of a method for ``k`` answers."""
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


def rebuilt(question: str, method: str, among: tuple[str, ...], numbers: Mapping[str, str]) -> Design:
    """The design that ``settings`` were read from."""
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
    return _sane(Design(question, named, among, made, low, high))


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


def _sane(design: Design) -> Design:
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
