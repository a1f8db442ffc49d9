"""method="auto": which method and how much detail, chosen privately and paid for.

    noisy n (1/20 of epsilon, if n is private) -> permute-and-flip among candidates (1/5) -> the one chosen (the rest)

Candidates are a public list: histograms, cosine series and kernel estimates of several widths, all on one fine grid of
F cells. Each turns the counts N of the grid into expected counts M N by a public matrix and adds integer noise of a
known size. The error of M N plus noise is estimated, as by Mallows' C_p, by

    |N - M N|^2 - n + 2 n tr(M) / F + noise

whose square would move a lot from one row; but s = sqrt(|N - M N|^2 + 2 n tr(M) / F + noise) has the same minimiser,
and one row moves |N - M N| by at most the length of a column of 1 - M, about 1, however many rows there are. That is
the score. It is computed in integers: the matrices are rounded first, and their columns measured as they are.

Every candidate draws by the same mechanism: tables are scaled so that each has sensitivity at most ``BOUND``. So the
guarantee does not depend on what was chosen. A candidate whose noise and sampling error alone, which are public once n
is, exceed a fifth of the uniform density's square is left out beforehand.

Source: Mallows 1973 for the estimate; McKenna and Sheldon 2020 for the choice.

Proof of the sensitivity. Let A be the rounded matrix and N, N' = N + e tables one record apart. |A N'| and |A N| differ
by at most |A e|, a column's length (two columns' distance, where a record is replaced); a -> sqrt(a^2 + c) moves no
further than a for a public c >= 0; and integer parts of numbers at most D apart are at most D apart for whole D. A
person of r rows is r such steps. c depends on the rows through the noisy n alone, which is drawn before and paid for.

Deviations. The estimate is unbiased where counts are Poisson of one mean, and is used everywhere. It costs accuracy at
worst: the sensitivity of the score needs nothing of it. Where n is so small that noise hides every shape the choice is
close to blind; then the coarsest candidate is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

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
from reticent.synthesis.density import Density
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.linear import Expected, Linear, Settle, counted, shares_of
from reticent.synthesis.series import Series, grid
from reticent.synthesis.sums import Floats, Integers, Sums, Terms, longest, widest

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of records is private
CHOOSING: Final = Fraction(1, 5)
BOUND: Final = 1 << 24  # sensitivity of every candidate's integers; squared for Gaussian noise
FINE: Final = {1: 256, 2: 24, 3: 8}  # cells along each axis
ONE: Final = 1 << 12  # of a matrix of a score
HOPELESS: Final = 0.2  # of the uniform density's square: noise and sampling error beyond which a candidate is left out
BARS: Final = {1: (4, 8, 16, 32, 64, 128, 256), 2: (2, 4, 8, 12, 24), 3: (2, 4, 8)}
DEGREES: Final = {1: (2, 4, 8, 16, 32), 2: (2, 4, 8), 3: (1, 2, 4)}
WIDTHS: Final = {1: (10, 20, 40, 80), 2: (6, 10, 15), 3: (4,)}  # 1 / bandwidth


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
    """A way to estimate: a linear release, the matrix of its score, and the trace of its own matrix."""

    release: Linear
    matrix: Integers  # ONE times (1 - M), rounded
    trace: float

    def penalty(self, n: int, deviation: float) -> float:
        """2 n tr(M) / F and the noise, in counts squared; ``deviation`` of the noise of one sum, in integers."""
        back = shares_of(self.release.axes)[:, None] * self.release.back
        return 2.0 * n * self.trace / len(back) + deviation**2 * float((back**2).sum())

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
        drawn = self._sized(self.candidates[0], 1).guarantee
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
        scores = tuple(one.score(counts, penalty) for one, penalty in listed)
        chosen = listed[gate.draw(self.choice, scores, entropy)][0]
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
        best = min(listed, key=lambda one: one[0].score(counts, one[1]))[0]
        found = self._sized(best, n).expected(n)
        chosen = f"for a normal shape {best.release.method} would be best of {len(listed)} candidates"
        return Expected(found.noise, found.sampling, found.note or chosen)

    def _worth(self, n: int) -> list[tuple[Candidate, float]]:
        """Candidates that are not hopeless for so many records, at least one, with their penalties."""
        cells = math.prod(one.cells for one in self.axes)
        deviation = self._sized(self.candidates[0], 1).sums.deviation
        priced = [(one, one.penalty(n, deviation)) for one in self.candidates]
        kept = [(one, penalty) for one, penalty in priced if penalty * cells / n**2 <= HOPELESS]
        return kept or [min(priced, key=lambda one: one[1])]

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
            "series and kernel estimates of several widths) by an estimate of their error",
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


def _listed(axes: tuple[Axis, ...], terms: Terms) -> Iterator[Linear]:
    """The public list, coarse ones first; what does not fit a grid of few values is left out."""
    one, least = Fraction(1), min(axis.cells for axis in axes)
    for count in BARS[len(axes)]:
        if count <= least:
            yield bars(axes, count, terms)
    for degree in DEGREES[len(axes)]:
        if degree < least:
            yield Series(axes, terms, one, degree).plan
    for inverse in WIDTHS[len(axes)]:
        try:
            yield Kernel(axes, terms, one, Fraction(1, inverse)).plan
        except PublicParameterError:  # more frequencies than cells
            continue
    if least < BARS[len(axes)][0]:
        yield bars(axes, least, terms)


@lru_cache(maxsize=4)
def _candidates(axes: tuple[Axis, ...], terms: Terms, gaussian: bool) -> tuple[Candidate, ...]:
    return tuple(_candidate(release, terms, gaussian) for release in _listed(axes, terms))


def _candidate(release: Linear, terms: Terms, gaussian: bool) -> Candidate:
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
    through = shares[:, None] * (back @ scaled.T + (1.0 if release.base else 0.0))
    matrix = np.rint(ONE * (np.eye(len(through)) - through)).astype(np.int64)
    sums = Padded(scaled, terms, Fraction(1), delta, BOUND**2 if gaussian else BOUND)
    return Candidate(replace(release, sums=sums, back=back), matrix, float(np.trace(through)))


def _moved(matrix: Integers, terms: Terms) -> int:
    """The most one record moves a score, rounded up: integers that differ by at most D have floors that do."""
    columns = np.ascontiguousarray(matrix.T)
    if terms.neighbours.kind == "add_remove":
        squared = longest(columns, 2)
    else:
        squared = widest(columns, 2, origin=not terms.fixed)
    return math.isqrt(max(squared, 1) - 1) + 1
