"""Several quantiles at once: the middle level first, then both sides of it at one price.

    census    how many values, and are many of them equal; not bought where n is public and no interval is wanted
    magnitude the binade of a quantile of |x|, bought where there are no bounds
    root      the middle level, on all values
    values    each side of it like this again, depth by depth      one price for each depth of the tree
    ends      between two neighbouring values the upper end of one and the lower end of the next      one or two depths

A depth is drawn as a whole before the next, from left to right, and how many draws it has is public.

A value lies in one part of each depth, so all draws of one depth cost what one of them costs: log2 of the number of
levels, where separate quantiles cost that number, and all ends together cost two draws. What is drawn cuts ties as
well (``slices``). A part is asked for the level it holds of what is left: a in (l, h) is (a - l) / (h - l). Rank errors
of the cuts pass on to what is drawn beside them; the intervals allow for it.

Ends are drawn from cells as wide as the values already released suggest (``around``), not from the prior: it is there
that a prior would cost more than the data of a small table can pay.

Source: Kaplan, Schnapp and Stemmer 2022. Deviations: exact sampling, a public prior in place of bounds, and intervals.
Slices cut ties where the paper perturbs values. Both adjacencies: a replaced row is a row removed and a row added.
Proofs: docs/proofs/unbounded.md, sections 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.order_statistics import RankWindows
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.statistics.intervals import NONE, TIES, half_width, known, normal_half_width
from reticent.statistics.magnitude import NEAR, at_the_end, by_binade, candidates, rarest, share, usual_share
from reticent.statistics.magnitude import edges as edges_of
from reticent.statistics.magnitude import level as level_of_size
from reticent.statistics.quantiles.group_size import UNHELD, GroupSize
from reticent.statistics.quantiles.quantile_draws import MAGNITUDE_SHARE, SHORT, SIZE_SHARE, SPREADS
from reticent.statistics.quantiles.reply_rule import GUESSED
from reticent.statistics.rank_blocks import with_all
from reticent.statistics.ranks import cell_share, placed
from reticent.statistics.unbounded.clipping_radii import Choice
from reticent.statistics.unbounded.column_counts import CROWD, ROW, Census, ColumnTerms, against_prior
from reticent.statistics.unbounded.confidence_bounds import CutCells
from reticent.statistics.unbounded.quantile_tree import (
    Aim,
    QuantileLeaf,
    depth_of,
    descended,
    drawn_in_turn,
    mechanism_of,
    rate_of,
    widths,
)
from reticent.statistics.unbounded.rank_slices import SLICES, CandidateRange, reachable, whole
from reticent.statistics.unbounded.scaled_level import UNIT, nothing, pick

FINEST: Final = 10**6  # denominators of conditional levels
LAST: Final = Fraction(1, FINEST)
NUMBERED: Final = 50  # bits of the range of whole numbers that leave room for slices
FAR: Final = 110.0  # scales of a rank error from which on all slices have one score: 28, and 82 bits of slices
CLOSE: Final = 70.0  # the same of slices about released values, of which there are 2^42 at most
CELLS: Final = 1.0  # values of a cell about released values, by the root of their number: 1/8 of even ones
ROUNDED: Final = 0.1  # ranks by the root of n that a level is rounded by: 10^-6 n, of up to 10^10 values


@dataclass(frozen=True, slots=True)
class QuantileShares:
    """Shares of the epsilon that the census leaves: the root, the depths of values below it, the depths of ends."""

    root: Fraction
    values: Fraction
    ends: Fraction

    def __post_init__(self) -> None:
        if self.root <= 0 or self.values < 0 or self.ends < 0 or self.root + self.values + self.ends != 1:
            raise PublicParameterError("shares are not negative, the root's is above 0, and they sum to 1")


Sides = tuple[bool, bool]  # of the root: below it, above it


@dataclass(slots=True)
class JointDraw:
    """Released draws: slices of values by level, ends by level, and candidates derived from them.

    ``shift`` has the ranks between a level and its ends, ``among`` are the candidates of the values. ``sure`` tells
    of the side below the root and of that above if every value is among the data; else the others lie outwards of it.
    """

    size: GroupSize
    sure: Sides = (True, True)
    values: dict[Fraction, int] = field(default_factory=dict)
    shift: dict[Fraction, float] = field(default_factory=dict)
    ends: dict[tuple[Fraction, bool], int] = field(default_factory=dict)  # by level, and whether it is the upper end
    around: CutCells | None = None
    among: Cells | None = None


@dataclass(frozen=True)
class JointQuantiles:
    """Quantiles of one column at rising ``levels``, with 95 % intervals unless ``shares.ends`` is 0.

    Attributes
    ----------
    cells : Cells
        Public candidates with public weights: of a prior, or of bounds.
    levels : tuple of Fraction
        Rising, in (0, 1), with denominators up to 10^6.
    terms : Terms
    epsilon : Fraction
        Of all of it.
    shares : QuantileShares
    wanted : tuple of Fraction
        The levels whose intervals are bought.
    apart : float
        An end is at least so many of its own rank errors from its level: where the ends tell how dense values are.
    """

    cells: Cells
    levels: tuple[Fraction, ...]
    terms: ColumnTerms
    epsilon: Fraction
    shares: QuantileShares
    wanted: tuple[Fraction, ...]
    apart: float = 0.0

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not self.levels or any(not LAST <= q <= 1 - LAST or q.denominator > FINEST for q in self.levels):
            raise PublicParameterError("levels are fractions of at most 10^6 parts between 0 and 1, at least one")
        if sorted(set(self.levels)) != list(self.levels) or not set(self.wanted) <= set(self.levels):
            raise PublicParameterError("levels rise, and intervals are wanted of some of them")
        if len(self.levels) == 1 and self.wanted:
            raise PublicParameterError("intervals are placed by two quantiles at least; one has its own by quantile()")
        if (self.shares.values > 0) != (len(self.levels) > 1) or (self.shares.ends > 0) != bool(self.wanted):
            raise PublicParameterError("a share is for something to be drawn, and what is drawn has a share")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @cached_property
    def census(self) -> Census | None:
        """None where n is public and no interval is bought."""
        if self.terms.values is not None and not self.wanted:
            return None
        return Census(self.terms, self.epsilon * SIZE_SHARE)

    @cached_property
    def magnitude(self) -> Choice | None:
        """None within bounds."""
        if not self.cells.free:
            return None
        return Choice(self.terms, self.epsilon * MAGNITUDE_SHARE)

    @cached_property
    def depths(self) -> tuple[Fraction, ...]:
        """Epsilon of a draw about one row added or removed, at each depth of the tree of values."""
        deeper = depth_of(len(self.levels)) - 1
        return (self._each(self.shares.root, 1), *[self._each(self.shares.values, max(deeper, 1))] * deeper)

    @cached_property
    def end_depths(self) -> tuple[Fraction, ...]:
        """The same for ends: two depths where the ends of two neighbouring levels lie between their values."""
        if not self.wanted:
            return ()
        places = [self.levels.index(q) for q in self.wanted]
        deep = 2 if any(b - a == 1 for a in places for b in places) else 1
        return (self._each(self.shares.ends, deep),) * deep

    def _each(self, share: Fraction, depth: int) -> Fraction:
        left = (
            Fraction(1)
            - (0 if self.census is None else SIZE_SHARE)
            - (0 if self.magnitude is None else MAGNITUDE_SHARE)
        )
        return self.epsilon * left * share / (depth * self.terms.steps)

    @property
    def guarantee(self) -> Guarantee:
        gaps, draws = len(self.levels) + 1, widths(len(self.levels))
        stages = [(epsilon, draws[place], f"values, depth {place + 1}") for place, epsilon in enumerate(self.depths)]
        stages += [(epsilon, gaps, f"ends, depth {place + 1}") for place, epsilon in enumerate(self.end_depths)]
        rows = [
            compose.across([mechanism_of(UNIT, epsilon).guarantee] * parts, neighbours=ROW, label=label)
            for epsilon, parts, label in stages
        ]
        tree = compose.of_person(
            compose.in_sequence(rows, label="all depths"), self.terms.neighbours, rows=self.terms.rows
        )
        parts = [] if self.census is None else [self.census.guarantee]
        parts += [] if self.magnitude is None else [self.magnitude.mechanism.guarantee]
        return compose.in_sequence([*parts, tree], label="joint quantiles")

    # --- what is read ------------------------------------------------------------------------------------------------

    @cached_property
    def windows(self) -> RankWindows:
        """Ranks that the scores of all draws tell apart, but for draws of probability e^-28 and for many equal values.

        A draw is off by its ceiling at most, and by what the cuts beside it pass on. Each passes on what it is off
        itself, times a share of the part (docs/proofs/unbounded.md, "Far ranks").
        """
        off, choice = {Fraction(0): 0.0, Fraction(1): 0.0}, self.magnitude
        for one in drawn_in_turn(self.levels, self.depths):
            passed = float(1 - one.share) * off[one.least] + float(one.share) * off[one.most]
            off[one.level] = passed + FAR / rate_of(UNIT, one.share, one.epsilon) + 1.0
        reach, root = max(off.values()), ROUNDED * len(self.depths)
        if self.wanted:
            more, wide = self._beyond_ends
            reach, root = reach + more, root + wide
        if choice is not None:
            reach = max(reach, FAR / choice.rate(self.far))
        far = None if choice is None else self.far
        return RankWindows(self.levels, math.ceil(min(reach, UNHELD)) + 2, root, CROWD, far, sliced=True)

    @property
    def _beyond_ends(self) -> tuple[float, float]:
        """Ranks beyond the values that ends and their ceilings reach to; by the root of n, further ones."""
        deep, census = len(self.end_depths), self.census
        private = census is not None and self.terms.values is None
        room = 2.0 * census.mechanism.radius(math.exp(-40.0)) if census is not None and private else 0.0
        spread = SPREADS * max(math.sqrt(self.terms.together * float(q * (1 - q))) for q in self.wanted)
        aside = spread * math.sqrt(room) + SPREADS * max(self.errors.values()) + SHORT * self.end_error
        own = CLOSE / float(mechanism_of(UNIT, self.end_depths[0]).rate * UNIT) + 1.0
        return aside + deep * own, spread + CELLS + ROUNDED * deep

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[JointDraw]:
        """The census, the values and the ends; no reply where the data cannot outweigh the prior."""
        census, n = self.census, float(self.terms.values or 0)
        size = GroupSize(n, None, n) if census is None else census.draw(data, entropy)
        if not self.feasible(size):
            return NO_REPLY
        among = with_all(data, lambda held: self._among(held, size, entropy))
        if not self.feasible(size, among):
            return NO_REPLY
        (below, above), also, cells = self.sure(size), self.sure(size, among), reachable(among)
        drawn = JointDraw(size, (below and also[0], above and also[1]), among=among)
        aims = tuple((q, (q, False)) for q in self.levels)
        leaves = [QuantileLeaf(self._placed(cells, among, data), Fraction(0), Fraction(1), aims)]
        found: dict[tuple[Fraction, bool], int] = {}
        for epsilon in self.depths:
            leaves = descended(cells, leaves, mechanism_of(UNIT, epsilon), found, entropy)
        drawn.values.update({q: place for (q, _), place in found.items()})
        if not self.wanted:
            return Reply(drawn)
        reach = float(self.cells.edges(self.cells.lowest)[0]), float(self.cells.edges(self.cells.highest)[1])
        around = CutCells.of(cells, [drawn.values[q] // SLICES for q in self.levels], size.values, reach)
        drawn.around = around
        drawn.shift.update({q: self._shift(q, drawn) for q in self.wanted})
        gaps = [[self._beside(leaf, place, around, drawn)] for place, leaf in enumerate(leaves)]
        for epsilon in self.end_depths:
            mechanism = mechanism_of(UNIT, epsilon)
            for place, parts in enumerate(gaps):
                gaps[place] = descended(around.cells, parts, mechanism, drawn.ends, entropy)
                if not any(part.aims for part in parts):
                    nothing(mechanism, entropy)
        return Reply(drawn)

    def _placed(self, cells: Cells, among: Cells, data: Counts) -> CandidateRange:
        """All values in the candidates of the values."""
        held = whole(cells, placed(self.cells, among, data))
        if not data.hidden:
            return held
        return replace(held, again=lambda: self._placed(cells, among, data.every()))

    def _among(self, data: Counts, size: GroupSize, entropy: Entropy) -> Cells:
        """The candidates of the values, about a magnitude that is drawn first where there are no bounds."""
        binade, choice = None, self.magnitude
        if choice is not None:
            binade = pick(by_binade(self.cells, data), choice.level(self.far), choice.mechanism, entropy)
        return candidates(self.cells, binade, tied=size.tied, most=NUMBERED)

    @cached_property
    def far(self) -> Fraction:
        """The level of |x| whose magnitude is bought."""
        return level_of_size(self.levels)

    def _beside(self, leaf: QuantileLeaf, gap: int, around: CutCells, drawn: JointDraw) -> QuantileLeaf:
        """A part between two values in even cells, with the ends that lie there: two at most."""
        inside = [(q, key) for q, key in self._ends(drawn) if leaf.least < q < leaf.most and self._gap(key) == gap]
        return QuantileLeaf(around.part(leaf.part, gap=gap), leaf.least, leaf.most, tuple(sorted(inside)))

    def _ends(self, drawn: JointDraw) -> list[Aim]:
        """Levels of the ends; one that reaches beyond a neighbouring value is not drawn (``_end``)."""
        n = max(drawn.size.values, 1.0)
        steps = {q: Fraction(min(d / n, 1.0)).limit_denominator(FINEST) for q, d in drawn.shift.items()}
        low = [(max(q - step, LAST / 2), (q, False)) for q, step in steps.items()]
        return low + [(min(q + step, 1 - LAST / 2), (q, True)) for q, step in steps.items()]

    def _gap(self, key: tuple[Fraction, bool]) -> int:
        """The number of the gap between values that an end lies in."""
        return self.levels.index(key[0]) + key[1]

    # --- ranks, in post-processing -----------------------------------------------------------------------------------

    def _shift(self, q: Fraction, drawn: JointDraw) -> float:
        """D: ranks between a level and its ends, so that sampling, the value's error and the end's own stay within.

        An end is drawn beside the value, so the value's error moves both.
        """
        n = max(drawn.size.values, 1.0)
        if drawn.size.tied is not False:
            return self.shift_among_ties(q, n, 0.0 if drawn.around is None else cell_share(drawn.around.cells))
        return self.shift_apart(q, n)

    def shift_apart(self, q: Fraction, n: float) -> float:
        """D of a level of n values that are not tied, in ranks."""
        spread, end = self.terms.together * n * float(q * (1 - q)), self.end_error
        return math.ceil(max(half_width(known(spread), [end, self.errors[q] / math.sqrt(2.0)]), self.apart * end))

    def shift_among_ties(self, q: Fraction, n: float, part: float) -> float:
        """D of a level among tied values, in ranks.

        Parameters
        ----------
        q : Fraction
            The level.
        n : float
            Values.
        part : float
            Prior share of one cell that an end may be.

        Returns
        -------
        float
        """
        far = against_prior(part, 100.0) + math.log1p(n / self.end_error)
        spread = self.terms.together * n * float(q * (1 - q))
        return math.ceil(far * self.end_error + normal_half_width(spread + self.errors[q] ** 2))

    @cached_property
    def end_error(self) -> float:
        """The scale of an end's own rank error."""
        return 2.0 / float(self.end_depths[0]) * math.sqrt(1.0 + 0.25 * (len(self.end_depths) - 1))

    @cached_property
    def least(self) -> dict[Hashable, float]:
        """Least numbers of values that give a reply, as ``chance_of`` finds them."""
        return {}

    @cached_property
    def errors(self) -> dict[Fraction, float]:
        """Standard deviations of the values' rank errors: their own, and what the cuts beside them pass on."""
        variances = {Fraction(0): 0.0, Fraction(1): 0.0}
        for one in drawn_in_turn(self.levels, self.depths):
            passed = float(1 - one.share) ** 2 * variances[one.least] + float(one.share) ** 2 * variances[one.most]
            variances[one.level] = passed + 2.0 * (1.0 / rate_of(UNIT, one.share, one.epsilon)) ** 2
        return {q: math.sqrt(variance) for q, variance in variances.items() if 0 < q < 1}

    @cached_property
    def own(self) -> dict[Fraction, float]:
        """The scales of the values' rank errors without what the root passes on."""
        error, passed = self.errors, self.passed
        return {q: math.sqrt(max(error[q] ** 2 / 2.0 - passed[q] ** 2, 0.0)) for q in self.levels}

    @cached_property
    def passed(self) -> dict[Fraction, float]:
        """The scales of what the root's rank error moves each value by."""
        cut = self.errors[self.root] / math.sqrt(2.0)
        return {q: float(q / self.root if q < self.root else (1 - q) / (1 - self.root)) * cut for q in self.levels}

    def feasible(self, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if the intervals hold as often as they say, and the values are likely to be among the data."""
        return all(self.sure(size, among)) or (bool(self.wanted) and self._holds(size, among))

    def sure(self, size: GroupSize, among: Cells | None = None) -> Sides:
        """Tell of either side of the root if data outweigh the other candidates wherever a value could leave them.

        A draw between two cuts stays between them. The root and the outermost draws of each side can leave: they need
        as many ranks outwards as the candidates weigh. Of a tied value no more than the slices in reach count. Before
        the magnitude is known the one of fewest candidates is supposed.
        """
        n, part = max(size.surely, 0.0), share(self.cells, self._supposed(size, among), tied=size.tied)
        below, above = self._outermost
        root = self._of_size(n, rarest(self.cells)) and self._outweigh(n, part, below[:1] + above[:1])
        return root and self._outweigh(n, part, below), root and self._outweigh(n, part, above)

    def _holds(self, size: GroupSize, among: Cells | None) -> bool:
        """Tell if the root is surely among the data, and the others are where values have a usual spread.

        The interval of another level then reaches to the root's farther end. What is drawn outwards makes it wide. A
        root without an interval may leave the data: few ranks lie between it and the outer ends of both sides.
        """
        among, n = self._supposed(size, among), max(size.values, 0.0)
        part = share(self.cells, among, tied=size.tied)
        near, (below, above) = share(self.cells, among, tied=False, spreads=NEAR), self._outermost
        return (
            self._of_size(size.likely, usual_share(self.cells))
            and (self.root not in self.wanted or self._outweigh(size.likely, part, below[:1] + above[:1]))
            and self._outweigh(n, near, below + above)
        )

    def _supposed(self, size: GroupSize, among: Cells | None) -> Cells:
        """The candidates of the values, or those of the magnitude of fewest before it is known."""
        binade = None if self.magnitude is None else 1
        return among or candidates(self.cells, binade, tied=size.tied, most=NUMBERED)

    def _of_size(self, n: float, part: float) -> bool:
        """Tell if n values outweigh all magnitudes, of which the wanted one is a share ``part``."""
        choice, ranks = self.magnitude, n * float(1 - self.far)
        return choice is None or choice.rate(self.far) * ranks >= against_prior(part, 1.0 / GUESSED)

    def _outweigh(self, n: float, part: float, draws: Sequence[tuple[float, float]]) -> bool:
        """Tell if n values outweigh the candidates, of which they have a share, in each of these outermost draws."""
        needed = against_prior(part, 1.0 / GUESSED)
        return all(rate * n * share >= needed + math.log1p(rate * n / 2.0) for rate, share in draws)

    @cached_property
    def _outermost(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Rates of a rank and shares of values beyond, of the outermost draws of each side by depth."""
        found = []
        for levels in (self.levels, tuple(1 - q for q in reversed(self.levels))):
            inside, span, side = list(levels), Fraction(1), []
            for epsilon in self.depths:
                if not inside:
                    break
                # the middle of an even number differs on the two sides: the deeper half is the harder
                middle = inside[(len(inside) - (levels is not self.levels)) // 2]
                side.append((rate_of(UNIT, middle / span, epsilon), float(middle)))
                inside, span = [q for q in inside if q < middle], middle
            found.append(tuple(side))
        return tuple(found)

    # --- answers -----------------------------------------------------------------------------------------------------

    def edges(self, q: Fraction, drawn: JointDraw) -> tuple[float, float]:
        """The ends of the cell that a value is."""
        assert drawn.among is not None
        return edges_of(self.cells, drawn.among, drawn.values[q] // SLICES)

    def said(self, drawn: JointDraw) -> tuple[str, ...]:
        """Words on values drawn at the first or last candidate, which stand for all values beyond, and on ties."""
        assert drawn.among is not None
        found = [at_the_end(self.cells, drawn.among, drawn.values[q] // SLICES) for q in self.levels]
        found += [TIES] if self.wanted and drawn.size.tied is not False else []
        return tuple(dict.fromkeys(filter(None, found)))

    def values_of(self, drawn: JointDraw) -> tuple[float, ...]:
        """The values, in the order of the levels."""
        assert drawn.among is not None
        return tuple(float(drawn.among.value(drawn.values[q] // SLICES)) for q in self.levels)

    def interval(self, q: Fraction, drawn: JointDraw) -> tuple[float, float]:
        """From the lower end to the upper end, cells included."""
        low, high = self.edges(q, drawn)
        return min(low, self._end(q, False, drawn)), max(high, self._end(q, True, drawn))

    @property
    def root(self) -> Fraction:
        """The level that is drawn first."""
        return self.levels[len(self.levels) // 2]

    def within(self, q: Fraction, drawn: JointDraw) -> tuple[float, float]:
        """The interval, no further than the column reaches: the cells about values go on beyond its bounds."""
        low, high = self.interval(q, drawn)
        least, most = float(self.cells.edges(self.cells.lowest)[0]), float(self.cells.edges(self.cells.highest)[1])
        return min(max(low, least), most), max(min(high, most), least)

    def _end(self, q: Fraction, upper: bool, drawn: JointDraw) -> float:
        """An end; where it reaches beyond the next value, that value's end, which reaches further."""
        q = self._reaching(q, upper, drawn.sure)
        place, step = self.levels.index(q), 1 if upper else -1
        key = (q, upper)
        while key not in drawn.ends:
            place += step
            if not 0 <= place < len(self.levels) or self.levels[place] not in self.wanted:
                return float(self.cells.edges(self.cells.highest if upper else self.cells.lowest)[upper])
            key = (self.levels[place], upper)
        assert drawn.around is not None
        return drawn.around.edges(drawn.ends[key] // SLICES)[upper]

    def _reaching(self, q: Fraction, upper: bool, sure: Sides) -> Fraction:
        """The level of an end: towards the root it is the root's where the value may lie outwards of the data."""
        return self.root if not sure[not upper] and (q < self.root if upper else q > self.root) else q

    def expected_end(self, q: Fraction, away: Mapping[Fraction, float], *, upper: bool, sure: Sides) -> float | None:
        """The level of an end in a plan, by the rule of ``_end``.

        Parameters
        ----------
        q : Fraction
            Level of the quantile.
        away : mapping of Fraction to float
            Distance of the ends of each level from it, as shares of the values.
        upper : bool
            True for the upper end.
        sure : pair of bool
            True for a side of the root where every value is among the data.

        Returns
        -------
        float or None
            At most 0, or at least 1, beyond all values; None at the end of the column.
        """
        place, step = self.levels.index(self._reaching(q, upper, sure)), 1 if upper else -1
        while 0 <= place < len(self.levels) and self.levels[place] in self.wanted:
            found, beside = float(self.levels[place]) + step * away[self.levels[place]], place + step
            if not 0 <= beside < len(self.levels) or step * found < step * self.levels[beside]:
                return found
            place = beside
        return None

    def estimates(self, drawn: JointDraw) -> tuple[Estimate, ...]:
        """One estimate for each level, in order; they rise with the level."""
        return tuple(self.estimate(q, drawn) for q in self.levels)

    def inside(self, q: Fraction, drawn: JointDraw) -> bool:
        """Tell if both ends of a level were drawn, and neither stands for all beyond it."""
        if drawn.around is None:
            return False
        found = [drawn.ends.get((q, upper)) for upper in (False, True)]
        return all(at is not None and 0 < at // SLICES < drawn.around.cells.highest for at in found)

    def estimate(self, q: Fraction, drawn: JointDraw) -> Estimate:
        """The estimate of one level."""
        value = self.values_of(drawn)[self.levels.index(q)]
        low, high = self.within(q, drawn)
        if q not in drawn.shift:
            return Estimate(value, low, high, high - low, 0.0)
        shift = max(drawn.shift[q], 1.0)
        spread = self.terms.together * max(drawn.size.values, 0.0) * float(q * (1 - q))
        sampling = normal_half_width(spread)
        if drawn.size.tied is not False or not all(drawn.sure):  # the two parts add up to half of the interval
            noise = max(shift - sampling, 0.0)
        else:
            noise = half_width(NONE, [self.errors[q] / math.sqrt(2.0)])
        slope = (high - low) / (2.0 * shift)
        return Estimate(value, low, high, noise * slope, sampling * slope)


def joint_quantiles(
    cells: Cells, levels: Sequence[Fraction], terms: ColumnTerms, epsilon: Fraction, *, interval: bool = True
) -> JointQuantiles:
    """Quantiles at ``levels`` with the usual shares: 3/5 for values, every depth alike, and 2/5 for ends.

    Parameters
    ----------
    cells : Cells
        Candidates, with their weights.
    levels : sequence of Fraction
        Rising, in (0, 1).
    terms : ColumnTerms
        Neighbours, and the public number of values if there is one.
    epsilon : Fraction
    interval : bool
        False spends everything on the values.

    Returns
    -------
    JointQuantiles

    Raises
    ------
    PublicParameterError
        No level.
    """
    chosen = tuple(sorted(set(levels)))
    if not chosen:
        raise PublicParameterError("joint quantiles need at least one level")
    depth = depth_of(len(chosen))
    part = Fraction(3, 5) if interval else Fraction(1)
    shares = QuantileShares(part / depth, part * (depth - 1) / depth, 1 - part)
    return JointQuantiles(cells, chosen, terms, epsilon, shares, chosen if interval else ())
