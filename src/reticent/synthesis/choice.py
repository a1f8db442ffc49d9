"""method="auto": which method and how much detail, chosen privately and paid for.

    noisy n (1/20 of epsilon, if n is private) -> permute-and-flip among candidates (1/5) -> the one chosen (the rest)

Candidates are a public list on one fine grid of F cells: histograms, cosine series, kernel and polynomial estimates of
several widths. Each turns the counts N of the grid into expected counts M N by a public matrix and adds integer noise
of a known size. The error of M N plus noise is estimated, as by Mallows' C_p, in J public directions (the rows of W):

    |W (N - M N)|^2 + 2 n tr(W' W M) / F + noise

up to a number that is the same for all. For one column they are the J lowest cosines: what is finer is mostly the
noise of sampling, which would hide the rest. The square would move a lot from one row; its root has the same minimiser,
and one row moves |W (N - M N)| by at most the length of a column of W (1 - M), about 1, however many rows there are.
That is the score. It is computed in integers: the matrices are rounded first, and columns measured as they are.

For one column one candidate is what a public rule of n epsilon names (``RULE``, tuned on public shapes:
docs/reference/benchmarks-release.md); the others are set back by ``PRIOR`` in the exponent, a public number, so that
they are chosen on evidence and not by the noise of the choice.

Every candidate draws by the same mechanism: tables are scaled so that each has sensitivity at most ``BOUND``. So the
guarantee does not depend on what was chosen. A candidate whose noise and sampling error alone, which are public once n
is, exceed a multiple of the uniform density's square is left out beforehand.

Source: Mallows 1973 for the estimate; McKenna and Sheldon 2020 for the choice.

Proof of the sensitivity. Let A be the rounded W (1 - M) and N, N' = N + e tables one record apart. |A N'| and |A N|
differ by at most |A e|, a column's length (two columns' distance, where a record is replaced); a -> sqrt(a^2 + c) moves
no further than a for a public c >= 0; and integer parts of numbers at most D apart are at most D apart for whole D. A
person of r rows is r such steps. c, and who is set back, depend on the rows through the noisy n alone, which is drawn
before and paid for.

Deviations. The estimate is unbiased where counts are Poisson of one mean, and is used everywhere. It costs accuracy at
worst: the sensitivity of the score needs nothing of it. Where n is small the choice is close to blind: then it is the
rule's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Literal

import numpy as np

from reticent.data.query import Query
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import Geometric, PermuteAndFlip, gate
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import about
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis.axis import Axis
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.density import Density
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.linear import Expected, Linear, Settle, counted, shares_of
from reticent.synthesis.series import Series, grid
from reticent.synthesis.sums import Floats, Integers, Sums, Terms, longest, widest

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of records is private
CHOOSING: Final = Fraction(1, 5)
BOUND: Final = 1 << 24  # sensitivity of every candidate's integers; squared for Gaussian noise
FINE: Final = {1: 1024, 2: 24, 3: 8}  # cells along each axis
DIRECTIONS: Final = 128  # of one column: cosines in which an error is estimated
ONE: Final = 1 << 12  # of a matrix of a score
HOPELESS: Final = {1: 8.0, 2: 0.2, 3: 0.2}  # of the uniform density's square: noise beyond which a candidate is out
BARS: Final = {1: (8, 16, 32, 64, 128, 256, 512, 1024), 2: (2, 4, 8, 12, 24), 3: (2, 4, 8)}
DEGREES: Final = {1: (1, 2, 4, 6, 8, 12, 16, 24, 32, 48), 2: (2, 4, 8), 3: (1, 2, 4)}
WIDTHS: Final = {1: (80,), 2: (6, 10, 15), 3: (4,)}  # 1 / bandwidth
POLYNOMIALS: Final = {1: (22, 40), 2: (), 3: ()}  # degree, and about 1 / bandwidth
RULE: Final = ((20, "series", 1), (40, "series", 2), (2_000, "bernstein", 40))  # n epsilon below
BEYOND: Final = ("series", 12)
PRIOR: Final = 8  # nats by which the rule's candidate is before the others

Kind = Literal["bars", "series", "kernel", "bernstein"]


@dataclass(frozen=True, eq=False, repr=False)
class Padded(Sums):
    """Sums whose noise is made for sensitivity ``bound``, which is at least their own."""

    bound: int = BOUND

    @cached_property
    def moved(self) -> int:
        own = Sums(self.table, self.terms, self.epsilon, self.delta).moved
        if own > self.bound:
            raise AssertionError("a candidate moves further than its noise is made for")
        return self.bound


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidate:
    """A way to estimate: a linear release, its kind and detail, the matrix of its score, and what its error has anyway.

    ``matrix`` is ONE times W (1 - M), rounded; ``trace`` that of W' W M; ``noise`` the squared length of W times the
    way back from sums to counts, and ``energy`` that of the way back alone.
    """

    release: Linear
    kind: Kind
    detail: int
    matrix: Integers
    trace: float
    noise: float
    energy: float

    def penalty(self, n: int, deviation: float) -> float:
        """2 n tr(W' W M) / F and the noise, in counts squared; ``deviation`` of the noise of a sum, in integers."""
        cells = len(self.release.back)
        return 2.0 * n * self.trace / cells + deviation**2 * self.noise

    def score(self, counts: Integers, penalty: float) -> int:
        """ONE times the root of the estimate, rounded down."""
        apart = self.matrix @ counts
        squared = sum(int(part) ** 2 for part in apart.tolist())
        return math.isqrt(squared + math.ceil(penalty * ONE**2))


@dataclass(frozen=True, eq=False, repr=False)
class Auto:
    """A density by a privately chosen method.

    Guarantee
    ---------
    epsilon, pure, or (epsilon, delta): noisy number of records, choice and chosen release in sequence.
    """

    axes: tuple[Axis, ...]
    terms: Terms
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return _candidates(self.axes, replace(self.terms, size=1), bool(self.delta))

    @cached_property
    def census(self) -> Geometric | None:
        if self.terms.size is not None:
            return None
        return Geometric(L1(Fraction(self.terms.rows), self.terms.neighbours), self.epsilon * CENSUS)

    @cached_property
    def choice(self) -> PermuteAndFlip:
        near = self.terms.neighbours
        most = max(_moved(one.matrix, self.terms) for one in self.candidates)
        return PermuteAndFlip(Linf(Fraction(self.terms.rows * most), near), self.epsilon * CHOOSING)

    @property
    def left(self) -> Fraction:
        """What the chosen release costs."""
        return self.epsilon * (1 - CHOOSING - (CENSUS if self.terms.size is None else 0))

    @property
    def guarantee(self) -> Guarantee:
        first = [] if self.census is None else [self.census.guarantee]
        drawn = replace(self._sized(self.candidates[0], 1).guarantee, label="the one that was chosen, whichever it is")
        return compose.in_sequence([*first, self.choice.guarantee, drawn], label="density by a private choice")

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.candidates[0].release.queries

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        (result,) = results
        if result.records is None:
            counts = np.array(result.vectors[0], np.int64)
        else:
            counts = counted(self.axes, result.records)
        n = self.terms.size
        if self.census is not None:
            (n,) = gate.draw(self.census, (int(counts.sum()),), entropy)
            if n < max(1.0, 2.0 * math.sqrt(2.0) * float(self.census.scale)):
                return NO_REPLY
        assert n is not None
        listed = self._worth(n)
        chosen = listed[gate.draw(self.choice, self._scores(listed, counts, n), entropy)]
        match self._sized(chosen, n).release(counts, entropy):
            case Reply(found):
                told = replace(found, guarantee=self.guarantee, words=(*self._words(len(listed), chosen), *found.words))
                return Reply(told)
            case NoReply():
                return NO_REPLY

    def expected(self, people: int) -> Expected:
        """What noise and sampling leave with the candidate that would be best for a normal shape."""
        n = self.terms.size or people
        made_up = np.ones(1)
        for one in self.axes:
            middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
            height = np.exp(-32.0 * (middle - 0.5) ** 2) * one.sizes
            made_up = np.multiply.outer(made_up, height / height.sum()).ravel()
        counts = np.rint(n * made_up).astype(np.int64)
        listed = self._worth(n)
        scores = self._scores(listed, counts, n)
        best = listed[scores.index(min(scores))]
        found = self._sized(best, n).expected(n)
        chosen = f"for a normal shape {best.release.method} would be best of {len(listed)} candidates"
        return Expected(found.noise, found.sampling, found.note or chosen)

    def _worth(self, n: int) -> list[Candidate]:
        """Candidates that are not hopeless for so many records, at least one."""
        cells = math.prod(one.cells for one in self.axes)
        least = HOPELESS[len(self.axes)] * n**2 / cells
        kept = [one for one in self.candidates if self._deviation**2 * one.energy <= least]
        return kept or [min(self.candidates, key=lambda one: one.energy)]

    def _scores(self, listed: Sequence[Candidate], counts: Integers, n: int) -> tuple[int, ...]:
        """The scores, less being better; all but the rule's candidate are set back."""
        back = math.ceil(PRIOR * 2 * self.choice.sensitivity.bound / self.choice.epsilon) if len(self.axes) == 1 else 0
        first = ruled(listed, float(n * min(self.left, Fraction(1))))
        return tuple(
            one.score(counts, one.penalty(n, self._deviation)) + (0 if one is first else back) for one in listed
        )

    @cached_property
    def _deviation(self) -> float:
        """Of the noise of one sum, in integers: the same for all."""
        return float(self._sized(self.candidates[0], 1).sums.deviation)

    def _sized(self, candidate: Candidate, n: int) -> Linear:
        """The release of a candidate at what is left, divided by ``n``."""
        own = candidate.release
        bound = BOUND**2 if self.delta else BOUND
        sums = Padded(own.sums.table, replace(self.terms, size=n), self.left, self.delta, bound)
        return replace(own, sums=sums, settle=self.settle)

    def _words(self, count: int, chosen: Candidate) -> tuple[str, ...]:
        cost = self.epsilon * CHOOSING
        return (
            f"{chosen.release.method} was chosen privately, for ε {about(cost)}, among {count} candidates (histograms, "
            "series, kernel and polynomial estimates of several widths) by an estimate of their error",
        )


def auto(
    columns: Sequence[tuple[str, Fraction, Fraction, bool]], terms: Terms, epsilon: Fraction, delta: Fraction
) -> Auto:
    """The private choice for one to three columns.

    Raises
    ------
    PublicParameterError
        For more columns: there a method has to be named.
    """
    if len(columns) not in FINE:
        raise PublicParameterError('method="auto" is for 1 to 3 columns: name a method, such as "histogram"')
    return Auto(grid(columns, FINE[len(columns)]), terms, epsilon, delta)


def ruled(listed: Sequence[Candidate], worth: float) -> Candidate:
    """What the public rule names for this n epsilon; where it is not listed a series of about as much detail."""
    kind, detail = next(((kind, detail) for most, kind, detail in RULE if worth < most), BEYOND)
    named = [one for one in listed if (one.kind, one.detail) == (kind, detail)]
    plain = [one for one in listed if one.kind == "series" and one.detail <= BEYOND[1]]
    return (named or plain[-1:] or list(listed))[0]


def bars(axes: tuple[Axis, ...], count: int, terms: Terms) -> Linear:
    """A histogram of ``count`` bars along each axis, written on the finer grid of ``axes``."""
    inside = np.ones((1, 1), np.int64)
    for one in axes:
        parts = min(count, one.cells)
        which = np.arange(one.cells) * parts // one.cells
        inside = np.kron(inside, (which[:, None] == np.arange(parts)).astype(np.int64))
    wide = shares_of(axes) @ inside
    sums = Sums(inside, terms, Fraction(1))
    return Linear(axes, sums, inside / wide, False, f"histogram of {count} bars along each column", "simplex")


def _listed(axes: tuple[Axis, ...], terms: Terms) -> Iterator[tuple[Linear, Kind, int]]:
    """The public list, coarse ones first; what does not fit a grid of few values is left out."""
    one, count, least = Fraction(1), len(axes), min(axis.cells for axis in axes)
    for parts in BARS[count]:
        if parts <= least:
            yield bars(axes, parts, terms), "bars", parts
    for degree in DEGREES[count]:
        if degree < least:
            yield Series(axes, terms, one, degree).plan, "series", degree
    for inverse in WIDTHS[count]:
        try:
            yield Kernel(axes, terms, one, Fraction(1, inverse)).plan, "kernel", inverse
        except PublicParameterError:  # more frequencies than cells
            continue
    for degree in POLYNOMIALS[count]:
        if degree < least:
            yield Bernstein(axes, terms, one, degree, Fraction(1, degree)).plan, "bernstein", degree
    if least < BARS[count][0] or (count == 1 and least not in BARS[count]):  # a bar for every whole number
        yield bars(axes, least, terms), "bars", least


def directions(axes: tuple[Axis, ...]) -> Floats:
    """W: of one column its lowest cosines, of equal weight and columns no longer than about 1; of more, every cell."""
    cells = math.prod(one.cells for one in axes)
    if len(axes) > 1:
        return np.eye(cells)
    (one,) = axes
    middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
    count = max(min(DIRECTIONS, cells - 1), 1)
    lengths = np.arange(1, count + 1)[:, None]
    found: Floats = np.cos(np.pi * lengths * middle[None, :]) / math.sqrt(count)
    return found


@lru_cache(maxsize=4)
def _candidates(axes: tuple[Axis, ...], terms: Terms, gaussian: bool) -> tuple[Candidate, ...]:
    looked = directions(axes)
    return tuple(
        _candidate(release, kind, detail, looked, terms, gaussian) for release, kind, detail in _listed(axes, terms)
    )


def _candidate(release: Linear, kind: Kind, detail: int, looked: Floats, terms: Terms, gaussian: bool) -> Candidate:
    """A release whose table is scaled to the common bound, with the matrix of its score."""
    table, delta = release.sums.table, Fraction(1, 2) if gaussian else Fraction(0)
    own = Sums(table, terms, Fraction(1), delta).moved
    # rounding adds at most 1 to each difference of entries
    if gaussian:
        times = (BOUND - terms.rows * math.ceil(math.sqrt(table.shape[1]))) / math.sqrt(own)
    else:
        times = (BOUND - terms.rows * table.shape[1]) / own
    scaled = np.rint(table * times).astype(np.int64)
    back: Floats = release.back / times
    shares = shares_of(release.axes)
    to_counts = shares[:, None] * back
    through = (looked @ to_counts) @ scaled.T
    if release.base:
        through = through + (looked @ shares)[:, None]
    sums = Padded(scaled, terms, Fraction(1), delta, BOUND**2 if gaussian else BOUND)
    return Candidate(
        replace(release, sums=sums, back=back),
        kind,
        detail,
        np.rint(ONE * (looked - through)).astype(np.int64),
        float((looked * through).sum()),
        float(((looked @ to_counts) ** 2).sum()),
        float((to_counts**2).sum()),
    )


def _moved(matrix: Integers, terms: Terms) -> int:
    """The most one record moves a score, rounded up: integers that differ by at most D have floors that do."""
    columns = np.ascontiguousarray(matrix.T)
    if terms.neighbours.kind == "add_remove":
        squared = longest(columns, 2)
    else:
        squared = widest(columns, 2, origin=not terms.fixed)
    return math.isqrt(max(squared, 1) - 1) + 1
