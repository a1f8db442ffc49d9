"""The detail of one method, chosen privately and paid for: ``cells``, ``degree`` or ``bandwidth`` is "auto".

    noisy n (1/20 of epsilon, if n is private) -> which detail (1/5) -> a release of that detail (the rest) -> Density

Candidates are a public ladder of details of the one method on one grid of F cells (``LADDER``). Each turns the counts N
of the cells into expected counts M N by a public matrix and adds integer noise of a known size. The error of M N plus
noise is estimated, as by Mallows' C_p, in J public directions: the rows of W are the lowest cosines. For bars they have
equal weights, as their steps err at every frequency; otherwise every octave has the same weight. (What is finer is
mostly the noise of sampling, and would hide the rest.)

    |W (N - M N)|^2 + 2 n tr(W' W M) / F + noise

up to a number that is the same for all. The square would move a lot from one row; its root has the same minimiser. One
row moves |W (N - M N)| by at most the length of a column of W (1 - M), about 1, for any number of rows. That is the
score. It is computed in integers: the matrices are rounded first, and columns measured as they are.

What the method's own public rule names for the number of records comes first: the others are set back in the exponent,
by ``PRIOR`` for each step of the ladder between. They are thus chosen on evidence and not by the noise of the choice.

Every candidate draws by the same mechanism: tables are scaled to about one sensitivity, and noise is made for the
greatest of theirs. Which one draws is known from n and the choice, both paid for: ``one_of`` all candidates. A
candidate whose noise alone, which is public once n is, hides every shape is left out beforehand.

Source: Mallows 1973 for the estimate; McKenna and Sheldon 2020 for the choice. Proof: docs/proofs/densities.md,
Proposition 5.

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
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import about
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis import bar_smoothing, bernstein, kernel, series
from reticent.synthesis.axis import Axis, shapes
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.linear import PLAIN, DensityAccuracy, LinearDensity, Settle, counted, shares_of
from reticent.synthesis.linear_queries import DensityTerms, Floats, Integers, LinearSums
from reticent.synthesis.method_selection import CENSUS, DIRECTIONS, ONE, along, bars, step_of
from reticent.synthesis.series import Series, grid, waves

Kind: TypeAlias = Literal["histogram", "series", "kernel", "bernstein"]

OPTION: Final[dict[Kind, Literal["cells", "degree", "bandwidth"]]] = {
    "histogram": "cells",
    "series": "degree",
    "kernel": "bandwidth",
    "bernstein": "degree",
}
CHOOSING: Final = Fraction(1, 5)  # of epsilon
PRIOR: Final = Fraction(1, 2)  # nats by which a candidate is set back for each step of the ladder from the rule's
SCALED: Final = 1 << 24  # sensitivity to which tables of sums are scaled; squared for Gaussian noise
HOPELESS: Final = 8.0  # of the uniform density's square: noise beyond which a candidate is out
CALM: Final = 0.25  # of the same: noise beyond which a public rule names a coarser one
SMOOTH: Final = (2.0, 1.0)  # gamma and C of the Sobolev class a degree is made for
LADDER: Final[dict[Kind, dict[int, tuple[int, ...]]]] = {  # by the number of columns; of a kernel, 1 / bandwidth
    "histogram": {
        1: (4, 8, 16, 32, 64, 128, 256, 512, 1024),
        2: (2, 4, 6, 8, 12, 16, 24),
        3: (2, 3, 4, 6, 12),
    },
    "series": {1: (1, 2, 4, 6, 8, 12, 16, 24, 32, 48), 2: (1, 2, 3, 4, 6, 8, 12), 3: (1, 2, 3, 4, 6)},
    "kernel": {1: (4, 6, 8, 12, 16, 24, 32, 48, 64, 96), 2: (2, 4, 6, 8, 10, 12), 3: (2, 3, 4, 6)},
    "bernstein": {1: (4, 6, 8, 12, 16, 24, 32, 48, 64, 96), 2: (2, 4, 6, 8, 12, 16), 3: (2, 3, 4, 6)},
}


@dataclass(frozen=True, eq=False, repr=False)
class PaddedSums(LinearSums):
    """Sums whose noise is made for sensitivity ``bound``, which is at least their own: ``_ladder`` sees to it."""

    bound: int = 0

    @cached_property
    def moved(self) -> int:
        return self.bound


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DetailCandidate:
    """A linear release of one detail, the matrix of its score, and what its error has anyway.

    ``matrix`` is ONE times W (1 - M), rounded; ``trace`` that of W' W M; ``noise`` the squared length of W times the
    way back from sums to counts, and ``energy`` that of the way back alone.
    """

    release: LinearDensity
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ladder:
    """Candidates, coarse ones first; the greatest sensitivity of their sums, and what a record moves a score by."""

    candidates: tuple[DetailCandidate, ...]
    bound: int
    moved: int


@dataclass(frozen=True, eq=False, repr=False)
class TunedDensity:
    """A density by one method, in a detail that was chosen privately.

    Guarantee
    ---------
    epsilon, pure, or (epsilon, delta): noisy number of records, choice and chosen release in sequence. A histogram is
    pure whatever delta there is.

    Source
    ------
    docs/proofs/densities.md, Proposition 5.
    """

    kind: Kind
    axes: tuple[Axis, ...]
    terms: DensityTerms
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    @cached_property
    def ladder(self) -> Ladder:
        made = _ladder(self.kind, shapes(self.axes), replace(self.terms, size=1), bool(self.delta))
        listed = [replace(one, release=replace(one.release, axes=self.axes)) for one in made.candidates]
        return replace(made, candidates=tuple(listed))

    @cached_property
    def census(self) -> Geometric | None:
        if self.terms.size is not None:
            return None
        return Geometric(L1(Fraction(self.terms.rows), self.terms.neighbours), self.epsilon * CENSUS)

    @cached_property
    def choice(self) -> PermuteAndFlip | None:
        """None where the grid has room for one candidate alone."""
        if len(self.ladder.candidates) == 1:
            return None
        moved = Fraction(self.terms.rows * self.ladder.moved)
        return PermuteAndFlip(Linf(moved, self.terms.neighbours), self.epsilon * CHOOSING)

    @property
    def left(self) -> Fraction:
        """Epsilon of the chosen release."""
        spent = (Fraction(0) if self.choice is None else CHOOSING) + (CENSUS if self.terms.size is None else 0)
        return self.epsilon * (1 - spent)

    @property
    def guarantee(self) -> Guarantee:
        first = [step.guarantee for step in (self.census, self.choice) if step is not None]
        drawn = compose.one_of([self.sized(one, 1).guarantee for one in self.ladder.candidates], label="the one chosen")
        return compose.in_sequence([*first, drawn], label=f"{self.kind} with {OPTION[self.kind]} chosen privately")

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.ladder.candidates[0].release.queries

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        (result,) = results
        if result.records is None:
            counts = np.array(result.vectors[0], np.int64)
        else:
            counts = counted(self.axes, result.records)
        size = self._bought(int(counts.sum()), entropy)
        if size.records < max(1.0, 2.0 * size.deviation):
            return NO_REPLY
        n = round(size.records)
        listed = self.worth(n)
        chosen = listed[0]
        if self.choice is not None:
            chosen = listed[gate.draw(self.choice, self.scores(listed, counts, n), entropy)]
        release = self.sized(chosen, n)
        match release.release(counts, entropy):
            case Reply(found):
                found = self._widened(found, release, size)
                words = (self._words(listed, chosen, n), *found.words)
                return Reply(replace(found, guarantee=self.guarantee, words=words))
            case NoReply():
                return NO_REPLY

    def expected(self, people: int) -> DensityAccuracy:
        """Expected errors by noise and by sampling with the candidate that the public rule names."""
        n = self.terms.size or people
        listed = self.worth(n)
        found = self.sized(self.ruled(listed, n), n).expected(n)
        if found.noise > PLAIN:
            return found
        return DensityAccuracy(
            found.noise, found.sampling, f"with {self._named(self.ruled(listed, n))}, {self._cost(listed)}"
        )

    def worth(self, n: int) -> list[DetailCandidate]:
        """Candidates whose noise does not hide every shape of so many records, at least one."""
        kept = [one for one in self.ladder.candidates if self._relative(one, n) <= HOPELESS]
        return kept or [min(self.ladder.candidates, key=lambda one: one.energy)]

    def ruled(self, listed: Sequence[DetailCandidate], n: int) -> DetailCandidate:
        """Candidate that the method's own public rule names for so many records.

        It is the nearest listed one of moderate noise.
        """
        columns, cells = len(self.axes), math.prod(one.cells for one in self.axes)
        match self.kind:
            case "histogram":
                wanted = float(n) ** (1.0 / (2 + columns))
            case "series":
                wanted = float(series.degree_for(*SMOOTH, n, self.left, self.delta, columns))
            case "kernel":
                wanted = float(1 / kernel.bandwidth_for(n, columns))
            case "bernstein":
                wanted = float(bernstein.degree_for(n, columns, cells))
            case _:
                assert_never(self.kind)
        calm = [one for one in listed if self._relative(one, n) <= CALM]
        return min(calm or listed, key=lambda one: abs(math.log(one.detail / wanted)))

    def scores(self, listed: Sequence[DetailCandidate], counts: Integers, n: int) -> tuple[int, ...]:
        """The scores, less being better; the farther from the rule's candidate, the more they are set back.

        Parameters
        ----------
        listed : sequence of DetailCandidate
        counts : array of int
            Exact counts of the cells.
        n : int
            Number of records, public or noisy.

        Returns
        -------
        tuple of int
        """
        assert self.choice is not None
        back = PRIOR * 2 * self.choice.sensitivity.bound / self.choice.epsilon
        first = listed.index(self.ruled(listed, n))
        return tuple(
            one.score(counts, one.penalty(n, self.deviation)) + math.ceil(back * abs(place - first))
            for place, one in enumerate(listed)
        )

    def sized(self, candidate: DetailCandidate, n: int) -> LinearDensity:
        """The release of a candidate at what is left, divided by ``n``."""
        own, terms = candidate.release, replace(self.terms, size=n)
        sums = PaddedSums(own.sums.table, terms, self.left, self.delta, self.ladder.bound)
        return replace(own, sums=sums, settle=self.settle)

    def _relative(self, candidate: DetailCandidate, n: int) -> float:
        """The mean square of its noise, in units of the uniform density's."""
        return self.deviation**2 * candidate.energy * math.prod(one.cells for one in self.axes) / n**2

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise of one sum, in integers: the same for all."""
        return float(self.sized(self.ladder.candidates[0], 1).sums.deviation)

    def _bought(self, count: int, entropy: Entropy) -> bar_smoothing.NoisySize:
        """The number of records: public, or noisy and paid for."""
        if self.census is None:
            assert self.terms.size is not None
            return bar_smoothing.NoisySize(float(self.terms.size), 0.0)
        (n,) = gate.draw(self.census, (count,), entropy)
        return bar_smoothing.NoisySize(float(n), math.sqrt(2.0) * float(self.census.scale))

    def _widened(self, found: Density, release: LinearDensity, size: bar_smoothing.NoisySize) -> Density:
        """With the noise of a bought number; a histogram's bars also have noise of their own, each by itself.

        A share P of the range's share s moves by (P - s) dn / n with n, since all shares are made to add up to 1.
        Moreover |P - s| <= 1 is at most the sum of its cells' own.
        """
        shares = shares_of(self.axes).reshape(found.masses.shape)
        apart, each = np.abs(found.masses - shares), NORMAL * size.deviation / size.records
        assert found.band is not None
        assert found.wander is not None
        grain, words = None, found.words
        if self.kind == "histogram":
            bar, radius = bar_smoothing.bar_of(release.sums), bar_smoothing.radius_of(release.sums)
            own = (radius / size.records) ** 2 / np.bincount(bar)[bar]
            grain = np.minimum(np.sqrt(own.reshape(shares.shape) + each**2 * apart), 1.0)
            words = (f"each count has noise of ±{radius:,.0f} at 95 %, in {size.records:,.0f} records",)
        return replace(
            found,
            band=np.minimum(np.hypot(found.band, each * apart), 1.0),
            wander=min(math.hypot(found.wander, each * float(apart.sum()) / 2.0), 1.0),
            grain=grain,
            words=words,
        )

    def _words(self, listed: Sequence[DetailCandidate], chosen: DetailCandidate, n: int) -> str:
        if self.choice is None or len(listed) == 1:
            return f"{self._named(chosen)}, {self._cost(listed)}"
        first = self.ruled(listed, n)
        beside = "as its public rule would have it" if chosen is first else f"in place of {self._named(first)} by rule"
        return f"{self._named(chosen)}, {self._cost(listed)}, {beside}"

    def _named(self, candidate: DetailCandidate) -> str:
        match self.kind:
            case "histogram":
                return f"{candidate.detail:,} cells{along(self.axes)}"
            case "series":
                return f"degree {candidate.detail}"
            case "kernel":
                return f"bandwidth {1 / candidate.detail:.3g}"
            case "bernstein":
                return f"degree {candidate.detail} of bandwidth {1 / candidate.detail:.3g}"
            case _:
                assert_never(self.kind)

    def _cost(self, listed: Sequence[DetailCandidate]) -> str:
        if self.choice is None:
            return "the only one that fits the values"
        spent = about(self.choice.epsilon) + (" a row" if self.terms.neighbours.unit == "row" else "")
        if len(listed) == 1:
            return f"the only one whose noise would not hide every shape: ε {spent} for a choice was not needed"
        first, last = (
            f"{1 / one.detail:.3g}" if self.kind == "kernel" else f"{one.detail:,}" for one in (listed[0], listed[-1])
        )
        return f"chosen privately, for ε {spent}, among {len(listed)} from {first} to {last}"


def tuned(
    kind: Kind,
    columns: Sequence[tuple[str, Fraction, Fraction, bool]],
    terms: DensityTerms,
    epsilon: Fraction,
    delta: Fraction,
    settle: Settle,
) -> TunedDensity:
    """The private choice of the detail of one method, for one to three columns.

    Parameters
    ----------
    kind : Kind
        Method whose detail is chosen.
    columns : sequence of tuple of str, Fraction, Fraction and bool
        Name, lower and upper bound of each column, and True for whole numbers.
    terms : DensityTerms
        Neighbours, and the number of rows where it is public.
    epsilon, delta : Fraction
        Loss of choice and density together.
    settle : Settle
        Treatment of negative densities.

    Returns
    -------
    TunedDensity
        Plan with its guarantee.

    Raises
    ------
    PublicParameterError
        For more columns: there the detail has to be named. For a column of so few whole numbers that the method has no
        detail that fits. Both before rows are read.
    """
    option = OPTION[kind]
    if len(columns) not in LADDER[kind]:
        raise PublicParameterError(
            f"{option}=auto is for 1 to 3 columns, got {len(columns)}: name a number of {option}"
        )
    made = TunedDensity(kind, grid(columns), terms, epsilon, Fraction(0) if kind == "histogram" else delta, settle)
    if not made.ladder.candidates:
        raise PublicParameterError(f"{option}=auto: so few whole numbers have no room for method={kind}")
    return made


def directions(kind: Kind, axes: tuple[Axis, ...]) -> Floats:
    """W: the lowest cosines; columns are no longer than 1."""
    sides = np.meshgrid(*[np.arange(min(one.cells, DIRECTIONS + 1)) for one in axes], indexing="ij")
    every = np.stack([side.ravel() for side in sides], axis=1)
    order = np.argsort((every**2).sum(axis=1), kind="stable")
    lowest = every[order][1 : DIRECTIONS + 1] if len(every) > 1 else every
    power = 0.0 if kind == "histogram" else -len(axes) / 2.0  # of |j|^2: there are about |j|^d waves in an octave
    weights = np.maximum((lowest**2).sum(axis=1), 1.0) ** power
    scale = np.sqrt(weights / weights.sum() / 2.0 ** len(axes))
    found: Floats = scale[:, None] * waves(axes, np.asarray(lowest, np.int64)).T
    return found


def _releases(kind: Kind, axes: tuple[Axis, ...], terms: DensityTerms) -> Iterator[tuple[LinearDensity, int]]:
    """The ladder, coarse ones first; what does not fit a grid of few values is left out."""
    one, listed = Fraction(1), LADDER[kind][len(axes)]
    least, most = min(axis.cells for axis in axes), max(axis.cells for axis in axes)
    match kind:
        case "histogram":  # the last has a cell for each value of a column of few whole numbers
            for count in (*(count for count in listed if count < most), *((most,) if most <= listed[-1] else ())):
                yield bars(axes, count, terms), count
        case "series":
            for degree in listed:
                if degree < least:
                    yield Series(axes, terms, one, degree).plan, degree
        case "kernel":
            for inverse in listed:
                try:
                    yield Kernel(axes, terms, one, Fraction(1, inverse)).plan, inverse
                except PublicParameterError:  # more frequencies than cells
                    continue
        case "bernstein":
            for degree in listed:
                if degree < least:
                    yield Bernstein(axes, terms, one, degree, Fraction(1, degree)).plan, degree
        case _:
            assert_never(kind)


@lru_cache(maxsize=8)
def _ladder(kind: Kind, axes: tuple[Axis, ...], terms: DensityTerms, gaussian: bool) -> Ladder:
    looked = directions(kind, axes)
    delta = Fraction(1, 2) if gaussian else Fraction(0)  # which of the two noises, and nothing else
    made = [_candidate(kind, release, detail, looked, delta) for release, detail in _releases(kind, axes, terms)]
    bound = max((one.release.sums.moved for one in made), default=1)
    return Ladder(tuple(made), max(bound, 1), max((step_of(one.matrix, terms) for one in made), default=1))


def _candidate(kind: Kind, release: LinearDensity, detail: int, looked: Floats, delta: Fraction) -> DetailCandidate:
    """A release whose table is scaled to about ``SCALED``, but for bars, which all move alike."""
    made = release.sums
    if kind == "histogram":
        times, scaled = 1.0, made.table
    else:
        own, slack = LinearSums(made.table, made.terms, Fraction(1), delta).moved, made.table.shape[1] * made.terms.rows
        times = (SCALED - slack) / (math.sqrt(own) if delta else own)  # rounding adds at most 1 to a difference
        scaled = np.rint(made.table * times).astype(np.int64)
    back: Floats = release.back / times
    shares = shares_of(release.axes)
    to_counts = shares[:, None] * back
    through = (looked @ to_counts) @ scaled.T
    if release.base:
        through = through + (looked @ shares)[:, None]
    return DetailCandidate(
        replace(release, sums=LinearSums(scaled, made.terms, Fraction(1), delta), back=back),
        detail,
        np.rint(ONE * (looked - through)).astype(np.int64),
        float((looked * through).sum()),
        float(((looked @ to_counts) ** 2).sum()),
        float((to_counts**2).sum()),
    )
