"""S: the distance of two quantiles, released on a logarithmic grid by propose-test-release; and the bin that holds it.

For public ranks low < high, w = x_(high) - x_(low), on a logarithmic grid of cells and bins (``extent``):

    A0_j   rows to change until w leaves its bin of discretisation j (bins from 0, and from half a bin)
    F      the first k at which what k changes can reach spreads over more than a bin's number of cells

``ScalePtr`` releases cell(w) + noise. Search "free" tests F, "bins" the greatest A0_j, by one test either way. Mode
"paper" tests each A0_j as printed. ``StableScale`` releases the bin, which is the same for all neighbours. So it has no
noise, and its upper edge is a *certified* bound of w, but each discretisation pays its own test.

Source. 003 section 4 and Theorem 7; 000. Proofs: docs/proofs/robust.md, sections 1 to 4.

Deviations. 003 releases w (1 + 1/ln n)^z with real z. Here it is an integer cell with integer noise of sensitivity
span - 1, since cells of one bin are at most so far apart. Its Theorem 7 says 4 eps, its proof 3 eps. As all
discretisations release one law and none is shown, the cost is 2 eps. The default is F, since F >= max_j A0_j on every
table at the same cost (Proposition 5). Ranks are floor(n p) + 1 and ceil(n q), both counted from below. The adjacency
may be add/remove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.order_statistics import INFINITE, Needs, Order, around
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.robust.assumed_laws import AssumedTable
from reticent.statistics.robust.ptr_test import (
    Mode,
    Search,
    Test,
    exact_test,
    paper_test,
    refuse_large_delta,
    refuse_short,
    refuse_unreachable,
    step,
    whole,
)
from reticent.statistics.robust.reach import ENDLESS, ZERO, LogGrid, farthest, leave, ranks_of, reach, spread

SPAN: Final = 16  # cells of a bin where the width of a bin is given by a formula
FINEST: Final = 1 << 13  # cells of a factor of two, at most, in a grid made for n
ROOM: Final = 10  # bins hold the changes of a distribution at least as peaked at its quartiles as a lognormal one
LAW: Final = "cell of the width, plus noise of a bin"
FACTOR: Final = 10.0  # a scale further off than this in one reply of twenty is no use
QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))


def paper_grid(n: int) -> LogGrid:
    """Bins of at most 003's factor 1 + 1/ln n, n >= 3: 16 cells to a bin. Public, so no guarantee hangs on rounding."""
    width = math.log2(1 + 1 / math.log(whole(n, "n", 3)))
    return LogGrid(math.ceil(SPAN / width), SPAN)


def fine_grid(n: int, test: Test) -> LogGrid:
    """Bins as narrow as the test allows: a factor e^(10 enough / n), at most e. Public.

    k ranks around a quartile move ln w by about k / (n f w) either way, where f is the density there. The product f w
    is .43 for a normal column, and .23 at the upper quartile of a lognormal one. 003's 1 + 1/ln n is wider for large n
    and narrower for small n.
    """
    width = min(1.0, ROOM * test.enough / whole(n, "n", 1)) / math.log(2)
    return LogGrid(min(max(math.ceil(SPAN / width), 1), FINEST), SPAN)


@dataclass(frozen=True, slots=True)
class WidthCell:
    """A released width as a cell of a public logarithmic grid; ZERO and ENDLESS stand for 0 and infinity."""

    cell: int
    grid: LogGrid

    @property
    def value(self) -> float:
        """The geometric middle of the cell, in grid steps of the column."""
        if self.cell == ZERO:
            return 0.0
        return math.inf if self.cell == ENDLESS else math.exp2((self.cell + 0.5) / self.grid.binade)

    @property
    def width(self) -> int:
        """The least width of the cell in grid steps, at least 1; INFINITE for infinity."""
        return INFINITE if self.cell == ENDLESS else self.grid.least(self.cell)


@dataclass(frozen=True, slots=True)
class ScalePtr:
    """S for public ranks: cell of the width plus geometric noise of span - 1, or no reply.

    Guarantee
    ---------
    (test + release, delta of the test) by ``ptr.one_test``, for mode exact. For mode paper (2 tests or test + release,
    two deltas) by ``ptr.first_reply``: both tests always run and which replied is not shown. For the neighbours of the
    test, substitution or add/remove, with ``test.sensitivity`` rows for each person.

    Accuracy
    --------
    Given a reply the value is off by a factor of 2^(k / binade), k geometric noise of scale (span - 1) / release, plus
    half a cell. There is no finite mean where release <= ln(2) (span - 1) / binade: report quantiles of it.
    """

    ranks: tuple[int, int]
    grid: LogGrid
    test: Test
    release: Fraction
    search: Search = "free"
    mode: Mode = "exact"

    def __post_init__(self) -> None:
        positive(self.release, "release")
        if self.ranks[0] >= self.ranks[1]:
            raise PublicParameterError("the lower rank must be below the upper one")
        refuse_short(self.test, self.test.neighbours.rows)

    @property
    def noise(self) -> Geometric:
        """Noise of the cell: within a bin all neighbours are at most span - 1 cells apart."""
        return Geometric(L1(Fraction(self.grid.span - 1), self.test.neighbours), self.release)

    def factor(self, beta: float) -> float:
        """A factor that a safe reply is within, but for probability ``beta``; public, before rows are read."""
        return math.exp2(min((self.noise.radius(beta) + 0.5) / self.grid.binade, 1000.0))

    @property
    def guarantee(self) -> Guarantee:
        one = step(self.test, self.release, law=LAW, label="scale")
        if self.mode == "exact":
            return ptr.one_test(one, label="scale")
        return ptr.first_reply([one, one], shown="value", label="scale")

    @property
    def printed(self) -> Guarantee:
        """Charge by 003 Theorem 29 for two discretisations: 3 eps and two deltas where all losses are eps."""
        one = step(self.test, self.release, law=LAW, label="scale")
        return ptr.cascade([[one, one]], label="scale")

    @property
    def needs(self) -> Needs:
        return Needs(around(self.ranks, self.test.cap))

    def distances(self, data: Order) -> tuple[int, tuple[int, ...]]:
        """The cell of the width, and the distance of each test."""
        found = reach(data, *self.ranks, self.test.cap)
        cell = self.grid.cell(found.width)
        if self.search == "free" and self.mode == "exact":
            return cell, (spread(found, self.grid),)
        each = [leave(found, self.grid.bounds(found.width, shift)) for shift in self.grid.shifts]
        return cell, (max(each),) if self.mode == "exact" else tuple(each)

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[WidthCell]:
        cell, distances = self.distances(exact)
        passed = [self.test.passes(distance, entropy) for distance in distances]
        if not any(passed):
            return NO_REPLY
        (noisy,) = gate.draw(self.noise, (cell,), entropy)
        if cell not in (ZERO, ENDLESS):
            cell = min(max(noisy, 0), self.grid.top)
        return Reply(WidthCell(cell, self.grid))

    def chance(self, public: AssumedTable) -> float:
        """P(reply) for a made-up table."""
        silent = math.prod(1 - self.test.chance(distance) for distance in self.distances(public.table)[1])
        return 1 - silent


@dataclass(frozen=True, slots=True)
class StableScale:
    """The bin of the width for public ranks, by its upper edge, or no reply: an upper bound of the width.

    Guarantee
    ---------
    (two tests, two deltas) by ``ptr.cascade``: which discretisation replied shows. The release costs nothing: where a
    bin is safe it is the same for all neighbours.

    Accuracy
    --------
    Given a reply from a safe bin, width <= edge < 2^(span / binade) x width + 1.
    """

    ranks: tuple[int, int]
    grid: LogGrid
    test: Test

    def __post_init__(self) -> None:
        if self.ranks[0] >= self.ranks[1]:
            raise PublicParameterError("the lower rank must be below the upper one")
        refuse_short(self.test, self.test.neighbours.rows)

    @property
    def guarantee(self) -> Guarantee:
        return ptr.cascade([self.steps(Fraction(0))], label="stable scale")

    def steps(self, release: Fraction) -> list[ptr.PtrStep]:
        """One step for each discretisation, with a release in proportion to its edge behind it."""
        return [step(self.test, release, law=f"bins from {shift}", label="stable scale") for shift in self.grid.shifts]

    @property
    def needs(self) -> Needs:
        return Needs(around(self.ranks, self.test.cap))

    def distances(self, data: Order) -> tuple[tuple[int, int], ...]:
        """For each discretisation its distance and the greatest width of its bin, at least one grid step."""
        found = reach(data, *self.ranks, self.test.cap)
        bins = [self.grid.bounds(found.width, shift) for shift in self.grid.shifts]
        return tuple((leave(found, bounds), max(1, bounds[1] - 1)) for bounds in bins)

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[int]:
        """The greatest width of the bin, in grid steps; at least 1. No reply where it is infinite."""
        passed = [(self.test.passes(distance, entropy), edge) for distance, edge in self.distances(exact)]
        for replies, edge in passed:
            if replies:
                return Reply(edge) if edge < INFINITE - 1 else NO_REPLY
        return NO_REPLY

    def chance(self, public: AssumedTable) -> float:
        """P(reply) for a made-up table."""
        return math.fsum(chance for chance, _ in self.endings(public))

    def endings(self, public: AssumedTable) -> list[tuple[float, int]]:
        """The chance of each finite edge of a made-up table."""
        found, silent = [], 1.0
        for distance, edge in self.distances(public.table):
            chance = self.test.chance(distance)
            if edge < INFINITE - 1:
                found.append((silent * chance, edge))
            silent *= 1 - chance
        return found


def scale(
    n: int,
    neighbours: Adjacency,
    *,
    test: Fraction,
    release: Fraction,
    delta: Fraction | None = None,
    levels: tuple[Fraction, Fraction] = QUARTILES,
    search: Search = "free",
    mode: Mode = "exact",
    grid: LogGrid | None = None,
    most_delta: Fraction | None = None,
    most_factor: float = FACTOR,
) -> ScalePtr:
    """S for a public number of values.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    test, release : Fraction
        Losses of each test and of the release, > 0. 003 has them equal.
    delta : Fraction
        For mode exact: the greatest probability of an unsafe reply.
    levels : two Fractions
        Levels p < q of the quantiles, strictly between 0 and 1.
    search : Search
        "free" for distances from any pair of values, or "bins".
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    grid : LogGrid or None
        None for ``fine_grid`` in mode exact, and 003's factor 1 + 1/ln n in mode paper.
    most_delta : Fraction or None
        For mode paper: the most delta in all that is accepted; None for 1 / (10 n).
    most_factor : float
        For mode exact: the most that one reply in twenty may be off by.

    Returns
    -------
    ScalePtr
        Mechanism with its guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: parameters out of range; a printed threshold whose delta is above ``most_delta``; n too
        small for the distance ever to reach the threshold; noise beyond ``most_factor``.

    Source
    ------
    003 section 4, algorithm S; Theorem 7.
    """
    tested = _tested(n, neighbours, test, delta, levels, mode, most_delta, "S")
    bins = grid or (paper_grid(n) if mode == "paper" else fine_grid(n, tested))
    made = ScalePtr(ranks_of(n, levels), bins, tested, release, search, mode)
    if mode == "exact" and made.factor(0.05) > most_factor:
        raise QuestionError(
            f"the scale at this ε would be a guess: one reply in twenty is off by a factor above {most_factor:g}. "
            "More values or a larger ε would do. Nothing was charged."
        )
    return made


def stable_scale(
    n: int,
    neighbours: Adjacency,
    *,
    test: Fraction,
    delta: Fraction | None = None,
    levels: tuple[Fraction, Fraction] = QUARTILES,
    mode: Mode = "exact",
    grid: LogGrid | None = None,
    most_delta: Fraction | None = None,
) -> StableScale:
    """The stable bin for a public number of values; bins of a factor of two unless ``grid`` says otherwise.

    ``delta`` is that of each of the two tests; the other parameters and what is raised are as for ``scale``.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    test : Fraction
        Loss of each of the two tests, > 0.
    delta : Fraction, optional
        For mode exact: the greatest probability of an unsafe reply, of each test.
    levels : tuple of Fraction and Fraction
        Levels p < q of the quantiles, strictly between 0 and 1.
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    grid : LogGrid, optional
        Bins; None for bins of a factor of two.
    most_delta : Fraction, optional
        For mode paper: the most delta in all that is accepted; None for 1 / (10 n).

    Returns
    -------
    StableScale
        Mechanism with its guarantee.
    """
    tested = _tested(n, neighbours, test, delta, levels, mode, most_delta, "the stable bin")
    return StableScale(ranks_of(n, levels), grid or LogGrid(2, 2), tested)


def _tested(
    n: int,
    neighbours: Adjacency,
    epsilon: Fraction,
    delta: Fraction | None,
    levels: tuple[Fraction, Fraction],
    mode: Mode,
    most_delta: Fraction | None,
    what: str,
) -> Test:
    """The test of a mode, unless public numbers tell that it is hopeless or too lax."""
    ranks_of(n, levels)
    made = test_for(mode, epsilon, delta, n, neighbours, unsafe=neighbours.rows)
    refuse_unreachable(made, lambda size: farthest(ranks_of(size, levels), size), n, "the scale")
    if mode == "paper":
        refuse_large_delta(2 * made.delta, most_delta or Fraction(1, 10 * n), what)
    return made


def test_for(
    mode: Mode, epsilon: Fraction, delta: Fraction | None, n: int, neighbours: Adjacency, *, unsafe: int
) -> Test:
    """The test of a mode for distances that count rows.

    Parameters
    ----------
    mode : "exact" or "paper"
    epsilon : Fraction
        Price of the test.
    delta : Fraction or None
        None in mode paper.
    n : int
        Public number of values.
    neighbours : Adjacency
    unsafe : int
        Greatest distance at which the proposal may be too small, in rows.

    Returns
    -------
    Test

    Raises
    ------
    PublicParameterError
        Mode exact without a delta, or mode paper with one.
    """
    whole(n, "n", 0)
    if mode == "paper":
        if delta is not None:
            raise PublicParameterError("mode paper has the delta of its threshold: leave delta out")
        return paper_test(epsilon, max(n, 1), neighbours, unsafe=unsafe, sensitivity=neighbours.rows)
    if delta is None:
        raise PublicParameterError("mode exact needs a delta")
    return exact_test(epsilon, delta, neighbours, unsafe=unsafe, sensitivity=neighbours.rows)
