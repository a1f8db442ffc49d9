"""Quantiles of a long column by the exponential mechanism, exactly, over blocks of values.

A column of n different values makes 2 n + 1 runs of candidates, and only those about the target are ever drawn. So
values are looked at in blocks of neighbours. A block is a run with values inside. Its scores are counted from both of
its ends, and the greater of them bounds the score of each cell within (``Runs.scores``).

    propose   a run, with probability proportional to weight exp(-rate bound)
    accept    at once where no values lie inside: there the bound is the score
    refine    a block: its own runs, one of them by public weight, accepted with probability exp(-rate (score - bound));
              else the runs take the place of the block, and another is proposed

Whatever the blocks are, what is accepted has the law of the mechanism over all cells: docs/proofs/quantiles.md.

Scores end at a public ``ceiling``. Cells that far away are drawn with probability e^-28 at most, all together, so one
score serves them all. Their values may then stay in the engine that has them (``data/engines/rank_windows.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells
from reticent.data.order_statistics import counted
from reticent.data.query_result import Counts, SortedCells
from reticent.entropy import Entropy
from reticent.exact.coins import bernoulli_exp, uniform
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.statistics import ranks
from reticent.statistics.ranks import SMALL, Runs, weights_of

BLOCK: Final = 1 << 12  # values
REFINED: Final = 64  # blocks about the target, at most, that are refined before the first proposal
FEW: Final = 1 << 15  # values, at most, of which all runs are made
SURE: Final = 28  # a block is left as it is where all of them together would be proposed with probability e^-28


class HiddenValues(Exception):
    """Values that a draw looks at stayed in their engine."""


class PartlyRead(Protocol):
    """Values of which some may have stayed in their engine."""

    def every(self) -> Self: ...


class SortedPlaces(Protocol):
    """The cell of each value of a long column, ascending, as ``SortedCells`` has it: looked at by place."""

    @property
    def total(self) -> int: ...

    def held(self, first: int, last: int) -> NDArray[np.int64]: ...

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]: ...

    def below(self, cells: NDArray[np.int64]) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True)
class RankBlocks:
    """Runs of candidates of a long column: ``runs`` are cut at every ``BLOCK``-th value, others lie inside."""

    cells: Cells
    data: SortedPlaces
    runs: Runs

    def within(self, first: int, stop: int) -> Runs:
        """The runs of the cells from ``first`` to before ``stop``, which share a public weight."""
        low, high = self.data.below(np.array([first, stop])).tolist()
        held, counts = counted(self.data.held(low, high))
        start = np.unique(np.concatenate([[first], held, held + 1]))
        start = start[start < stop]
        sums = low + np.concatenate([[0], np.cumsum(counts)])
        below, through = sums[np.searchsorted(held, start, "left")], sums[np.searchsorted(held, start, "right")]
        start = np.append(start, stop)
        weights = weights_of(self.cells.segments, start[:-1], np.diff(start))
        return Runs(start, below, self.data.total - through, weights, self.data.total)

    @property
    def every(self) -> Runs:
        """The runs of all cells."""
        return ranks.runs(self.cells, Counts(*counted(self.data.held(0, self.data.total))))


Held = TypeVar("Held", bound=PartlyRead)
T = TypeVar("T")
Drawn: TypeAlias = Runs | RankBlocks
Aim: TypeAlias = tuple[int, int, int | Fraction]


def runs(cells: Cells, data: Counts) -> Drawn:
    """The runs of one group, or its blocks where cells stand one for each value."""
    if not isinstance(data, SortedCells) or data.total <= FEW:
        return ranks.runs(cells, data)
    return blocks(cells, data.moved(lambda index: np.clip(index, cells.lowest, cells.highest)))


def blocks(cells: Cells, here: SortedPlaces) -> RankBlocks:
    """The blocks of values that all lie in the candidates; there is one at least."""
    cuts = here.at(np.arange(0, here.total, BLOCK))
    changes = [edge for s in cells.segments for edge in (s.first, s.stop)]
    start = np.unique(np.concatenate([cuts, cuts + 1, np.array(changes, dtype=np.int64)]))
    below = here.below(start)  # none below the first, all below the last, which is one past the highest cell
    weights = weights_of(cells.segments, start[:-1], np.diff(start))
    return RankBlocks(cells, here, Runs(start, below[:-1], here.total - below[1:], weights, here.total))


def with_all(data: Held, draws: Callable[[Held], T]) -> T:
    """Draws of the values, made anew of all where some that matter stayed in their engine.

    If they did hangs on what was released and on ranks of it, and on no coin of these draws: of several, the first are
    dropped, and nobody saw them.

    Parameters
    ----------
    data : Counts or CandidateRange
    draws : callable
        From the values to what is drawn of them.

    Returns
    -------
    what is drawn
    """
    try:
        return draws(data)
    except HiddenValues:
        return draws(data.every())


def draw(found: Drawn, level: Fraction, shift: int | Fraction, mechanism: Exponential, entropy: Entropy) -> int:
    """The cell of one quantile.

    Parameters
    ----------
    found : Runs or RankBlocks
        Runs of one group.
    level : Fraction
        In (0, 1).
    shift : int or Fraction
        D in ranks, a multiple of 1 / b.
    mechanism : Exponential
        The choice.
    entropy : Entropy
        The coins.

    Returns
    -------
    int
        Number of a cell.
    """
    return draw_at(found, (level.numerator, level.denominator, shift), mechanism, entropy)


def draw_at(found: Drawn, aim: Aim, mechanism: Exponential, entropy: Entropy) -> int:
    """The cell of one quantile, for the arguments of its scores (``Runs.scores``).

    Parameters
    ----------
    found : Runs or RankBlocks
        Runs of one group.
    aim : tuple of int, int, and int or Fraction
        a and b of the level a / b, which need not be reduced, and D.
    mechanism : Exponential
    entropy : Entropy

    Returns
    -------
    int
        Number of a cell.
    """
    if isinstance(found, RankBlocks) and isinstance(entropy, gate.Recorder):  # which answers for all candidates
        found = found.every
    if isinstance(found, Runs):
        most = ceiling(found.weights, aim, mechanism)
        _check_hidden(found, aim, most)
        scores = np.minimum(found.scores(*aim), most)
        return gate.choose(mechanism, Candidates(scores, found.weights), found.start, entropy)
    most = ceiling(found.runs.weights, aim, mechanism)
    known = _near(found, aim, mechanism)
    while True:
        bounds = np.minimum(known.scores(*aim), most)
        run = gate.draw(mechanism, Candidates(bounds, known.weights), entropy)
        first, stop = int(known.start[run]), int(known.start[run + 1])
        if not _blocks(known)[run]:
            return first + uniform(stop - first, entropy)
        inside = found.within(first, stop)
        place = _by_weight(inside.weights, entropy)
        score = min(int(inside.scores(*aim)[place]), most)
        if bernoulli_exp(mechanism.rate * (score - int(bounds[run])), entropy):
            first, stop = int(inside.start[place]), int(inside.start[place + 1])
            return first + uniform(stop - first, entropy)
        known = _refined(known, {run: inside})


def ceiling(weights: NDArray[np.int64] | NDArray[np.object_], aim: Aim, mechanism: Exponential) -> int:
    """The score at which those of far cells end.

    It lies b |D| above 0, where the least score may be, and as far above that as makes all cells together rare.

    Parameters
    ----------
    weights : array of shape (runs,), int
        Public weights of the runs of all candidates.
    aim : tuple of int, int, and int or Fraction
        a, b and D, as in ``Runs.scores``.
    mechanism : Exponential

    Returns
    -------
    int
    """
    _, b, shift = aim
    reach = math.ceil(abs(Fraction(shift)) * b)
    return min(reach + _rare(weights, mechanism) + 1, SMALL)


def _rare(weights: NDArray[np.int64] | NDArray[np.object_], mechanism: Exponential) -> int:
    """Score above the least from which on all candidates together are drawn with probability e^-28 at most."""
    return int((SURE + int(weights.sum()).bit_length()) / mechanism.rate)


def _check_hidden(found: Runs, aim: Aim, most: int) -> None:
    """Fail where a value that stayed in its engine lies nearer than the ceiling: a window was too narrow for D.

    D is a function of released numbers, and windows have room for all of them but for probability e^-40. Who draws
    reads all values then, and draws anew: nothing was told.
    """
    a, b, shift = aim
    target = a * found.total + int(b * shift)
    if any(b * first - target < most and target - b * last < most for first, last in found.hidden):
        raise HiddenValues


def _near(found: RankBlocks, aim: Aim, mechanism: Exponential) -> Runs:
    """The runs with the blocks refined that are likely to be proposed. It is a matter of time, and of no law."""
    known = found.runs
    bounds, weights = known.scores(*aim), known.weights
    possible = np.asarray(weights > 0, dtype=bool)
    near = bounds - bounds[possible].min() <= _rare(weights, mechanism)
    chosen = np.flatnonzero(near & possible & _blocks(known))
    chosen = chosen[np.argsort(bounds[chosen], kind="stable")][:REFINED]
    return _refined(known, {run: found.within(*known.start[run : run + 2].tolist()) for run in chosen.tolist()})


def _blocks(known: Runs) -> NDArray[np.bool_]:
    """True of each run that has values inside and more than one cell."""
    inside = known.total - known.below - known.above
    return (inside > 0) & (np.diff(known.start) > 1)


def _by_weight(weights: NDArray[np.int64] | NDArray[np.object_], entropy: Entropy) -> int:
    """The number of a run, with probability proportional to its public weight."""
    ends = np.cumsum(weights)
    return int(np.searchsorted(ends, uniform(int(ends[-1]), entropy), side="right"))


def _refined(known: Runs, inside: dict[int, Runs]) -> Runs:
    """The runs with those within some of them in their places."""
    start, below, above, weights = (list[NDArray[Any]]() for _ in range(4))
    first = 0
    for run in [*sorted(inside), len(known.below)]:
        parts = [(known.start[:-1], known.below, known.above, known.weights, slice(first, run))]
        if run in inside:
            part = inside[run]
            parts.append((part.start[:-1], part.below, part.above, part.weights, slice(None)))
        for starts, belows, aboves, each, taken in parts:
            start.append(starts[taken])
            below.append(belows[taken])
            above.append(aboves[taken])
            weights.append(each[taken])
        first = run + 1
    start.append(known.start[-1:])
    joined = [np.concatenate(each) for each in (start, below, above, weights)]
    return Runs(joined[0], joined[1], joined[2], joined[3], known.total)
