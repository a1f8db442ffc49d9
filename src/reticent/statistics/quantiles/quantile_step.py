"""Medians, quantiles and the distance of quartiles, with intervals bought from the same mechanism.

    size        how many values, and how many of them are equal to many others
    magnitude   without bounds: the binade of a quantile of |x|; candidates are even from there on (``magnitude``)
    ends        D ranks below and above the level, so that each fails to reach the population quantile with 2.5 %: by
                sampling (binomial) and by the mechanism's own rank error (two-sided geometric, one rank costs ``rate``)
    value       the middle of the two ends; it costs nothing. Without an interval, of weighted rows and for a distance
                of quartiles it is drawn at the level itself; among ties of a column with steps, between the ends

Many equal values break that law of rank errors, so D is wider for them. Values between bounds may be too few for both
ends. The same two draws are then the value and the end on the side of more values, and the other end is the bound. A
quantile whose data cannot outweigh the candidates is refused beforehand, or is no reply. The distance of quartiles is
made of their half-widths and of the correlation of their sampling errors. See docs/theory/intervals.md.

Of weighted rows ranks are weights, in units of the largest one: a row moves them by at most one. Their sampling error
has the squares of the weights on either side of a value, so one is drawn before the ends. See docs/proofs/weights.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.design import SampleDesign
from reticent.data.query import WEIGHT_ONE, PresentValues, Query, Ranks, Weighing, kept_rows
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Column, Integer, Real
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics import magnitude, public_facts, ranks
from reticent.statistics.answer import NO_ENDS, Answer, Cell, Label
from reticent.statistics.context import (
    DISTANT,
    EQUAL_GROUPS,
    HEAPED,
    LIKELY,
    SURE,
    USUAL,
    ExpectedAccuracy,
    Replies,
    Setting,
    noisy,
    of_persons,
    passing,
    shown,
)
from reticent.statistics.intervals import (
    FEW,
    NONE,
    ONE_END,
    SPANNING,
    TIES,
    RankErrors,
    Side,
    distance,
    half_width,
    normal_half_width,
    rank_shift,
    rank_shift_among_ties,
    spans_most,
    two_laplace_tail,
)
from reticent.statistics.magnitude import (
    NEAR,
    at_the_end,
    between,
    by_binade,
    candidates,
    edges,
    far_binade,
    middle,
    reach,
    share,
    usual_binade,
    usual_share,
)
from reticent.statistics.possible import Ends, nearest, possible
from reticent.statistics.quantiles import shapes
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.quantiles.shapes import TIED, ColumnShape, WeightShape, ties_expected
from reticent.statistics.rank_blocks import Drawn, draw, runs
from reticent.statistics.ranks import placed, sensitivity
from reticent.statistics.robust.scale import QUARTILES

VALUE_SHARE: Final = Fraction(1, 2)  # of the epsilon of a quantile whose value is drawn first; the rest is for the ends
TIED_SHARE: Final = Fraction(1, 5)  # the same among ties of a column on a grid
SIZE_SHARE: Final = Fraction(1, 20)  # of a question's epsilon, for the numbers of values and of ties
FEW_SIZE_SHARE: Final = Fraction(1, 10)  # the same where half as many persons as there are would get no reply
MAGNITUDE_SHARE: Final = Fraction(1, 10)  # for the magnitude, where there are no bounds
ONE_LEVEL_SHARE: Final = Fraction(1, 8)  # the same of a single quantile, beyond whose size fewer values lie
SQUARE_SHARE: Final = Fraction(1, 20)  # of a quantile's epsilon, for the squares of weights on either side of it
BETA: Final = 1e-3  # a drawn cell is the prior's and not the data's with at most this probability
GUESSED: Final = 1e-2  # the same of a draw here, where values are as few, and as far from 0, as a reply is given for
FLATTERED: Final = 5e-3  # noise makes few values look like enough with at most this probability
TOLD: Final = 2e-2  # noise alone is as many ties, up or down, with this probability
PERHAPS: Final = 3e-1  # the same where values are few: one atom of many of them would not be told
LUCKY: Final = 5e-2  # the same of values too few to be told from the candidates, where an interval is wide and holds
LESS: Final = two_laplace_tail(LUCKY) / two_laplace_tail(FLATTERED)
CROWD: Final = 8  # values equal to fewer others than this are no ties: an end may well stop within so many ranks
FEW_FOR_BOTH: Final = "one end of the interval is the bound: too few people for both ends at this ε"
UNWEIGHTED: Final = WeightShape("", (1.0, 1.0, 1.0))
UNSEEN: Final = 1e-3  # probability that a plan does not print
BETWEEN: Final = 5.0  # standard deviations that a normal column's values would span if they lay as dense as its middle


@dataclass(frozen=True, slots=True)
class Division:
    """Division of a quantile's epsilon among its value, each end and the squares of weights.

    Without a price of ends no interval is bought. Without a price of the value it is the middle of the ends.
    ``magnitude`` is once for all quantiles of a question.
    """

    magnitude: Fraction
    value: Fraction
    end: Fraction
    square: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Pricing:
    """Price of the numbers of values and ties, and the division of what is left.

    ``among_ties`` is the division where values are tied by the numbers released before. ``rows`` bounds the values of
    one person. With ``keyed``, each group has its own mechanism at the level of rows. Values of a cell count as ties
    from the one after the ``crowd``-th on.
    """

    size: Geometric | None
    plain: Division
    among_ties: Division
    rows: int
    keyed: bool
    crowd: int = CROWD

    def way(self, size: GroupSize) -> Division:
        """The division for a group of this size and verdict on ties."""
        return self.plain if size.tied is False else self.among_ties


@dataclass(frozen=True, slots=True)
class GroupSize:
    """Noisy number of values of a group, and a verdict on ties; both are released before any quantile.

    ``surely`` is a lower confidence bound of the number of values. ``tied`` is None where ties were not counted. Values
    of weighted rows count as their weights. ``variance`` is that of the sampling error of a rank, where it was bought.
    ``perhaps`` tells of ties that may be noise: where values are few, they are taken for ties.
    """

    values: float
    tied: bool | None
    surely: float
    variance: float | None = None
    perhaps: bool = False

    @property
    def likely(self) -> float:
        """Number of values that noise makes of fewer with probability ``LUCKY`` at most."""
        return max(self.values - LESS * (self.values - self.surely), 0.0)


def _parts(level: Fraction, epsilon: Fraction) -> tuple[int, ...]:
    """A key of a table: whole numbers, which hash in a tenth of the time of fractions."""
    return (level.numerator, level.denominator, epsilon.numerator, epsilon.denominator)


def values_and_ties(data: Counts, crowd: int, *, replaced: bool) -> tuple[int, int]:
    """Two numbers that tell how many values there are, and how many of them lie beyond the ``crowd``-th of their cell.

    The pair is (others, ties); a row added or removed changes one of them by one. With ``replaced``, the first number
    is values plus others. A replaced row then moves the pair by at most two, also when it loses its value. Half the
    sum of both is the number of values and has half the noise (docs/proofs/quantiles.md).

    Parameters
    ----------
    data : Counts
        Values by candidate, private.
    crowd : int
        Values of a cell that do not count as tied.
    replaced : bool
        True where neighbours replace a row.

    Returns
    -------
    pair of int
    """
    values, ties = data.total, data.beyond(crowd)
    return (2 * values if replaced else values) - ties, ties


def size_of(pair: tuple[int, ...], mechanism: Geometric, *, replaced: bool) -> GroupSize:
    """Estimate the number of values and detect ties from the two noisy numbers.

    Parameters
    ----------
    pair : tuple of int
        The two noisy numbers.
    mechanism : Geometric
        Their noise.
    replaced : bool
        True where neighbours replace a row.

    Returns
    -------
    GroupSize
    """
    first, ties = pair
    values = (first + ties) / (2.0 if replaced else 1.0)
    tied, perhaps = (ties > max(mechanism.radius(beta), TIED * values) for beta in (TOLD, PERHAPS))
    return GroupSize(values, tied, values - unsure(mechanism, replaced=replaced), perhaps=perhaps)


def unsure(mechanism: Geometric, *, replaced: bool) -> float:
    """Values that noise may have made of none, but for probability ``FLATTERED``."""
    return two_laplace_tail(FLATTERED) * float(mechanism.scale) / (2.0 if replaced else 1.0)


@dataclass(frozen=True, slots=True)
class QuantileDraw:
    """The ends and the value of one quantile as they were drawn, and the cell of the value; noise may disorder them.

    ``apart`` is how far the ends' cells are apart, None where an end is at the end of the candidates; ``beyond`` says
    so of the value. ``squares`` are those of the weights up to the value and above it, noisy, where they were bought.
    With ``one_end``, the other one is the end of the candidates.
    """

    low: float
    value: float
    high: float
    least: float
    most: float
    apart: float | None
    beyond: str
    squares: tuple[float, float] | None = None
    one_end: bool = False


@dataclass(frozen=True, slots=True)
class QuantileStep:
    """Quantiles of one column, per group; ``spread`` asks for the distance of the first two instead.

    ``sample`` is the design of weighted rows.
    """

    name: str
    query: Ranks
    cells: Cells
    levels: tuple[Fraction, ...]
    spread: bool
    setting: Setting
    pricing: Pricing
    units: int | None
    groups: int
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    possible: Ends | None
    estimand: str = ""
    bounds: tuple[Fraction, Fraction] | None = None
    sample: SampleDesign | None = None
    # a plan asks for the same few mechanisms and candidates tens of thousands of times
    _mechanisms: dict[tuple[int, ...], Exponential] = field(default_factory=dict, init=False, compare=False)
    _rates: dict[tuple[int, ...], float] = field(default_factory=dict, init=False, compare=False)
    _usual: dict[bool | None, Cells] = field(default_factory=dict, init=False, compare=False)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query, replace(self.query, power=2)) if self.pricing.plain.square else (self.query,)

    @property
    def _unit(self) -> int:
        """The most that a row adds to the counts of a query: the integer of the largest weight."""
        return 1 if self.query.weight is None else WEIGHT_ONE

    def _supposed(self, values: float) -> GroupSize:
        """Size that a plan assumes for ``values`` values: noise at its mean, and no ties."""
        size = self.pricing.size
        private = size is not None and self.units is None
        less = unsure(size, replaced=self._replaced) / self._unit if size is not None and private else 0.0
        return GroupSize(values, None if size is None else False, values - less)

    # --- what is drawn, and what it costs ---------------------------------------------------------------------------

    @property
    def _row(self) -> Adjacency:
        return Adjacency("add_remove", unit="row")

    @property
    def _steps(self) -> int:
        """Rows added or removed between neighbours, where each row is protected by itself."""
        return self.pricing.rows * (2 if self.setting.neighbours.kind == "substitute" else 1)

    def _mechanism(self, level: Fraction, epsilon: Fraction) -> Exponential:
        key = _parts(level, epsilon)
        if key not in self._mechanisms:
            self._mechanisms[key] = self._made(level, epsilon)
        return self._mechanisms[key]

    def _made(self, level: Fraction, epsilon: Fraction) -> Exponential:
        near, unit = self.setting.neighbours, self._unit
        if self.pricing.keyed:
            return Exponential(
                Linf(Fraction(unit * sensitivity(level, "add_remove")), self._row), epsilon / self._steps
            )
        return Exponential(Linf(Fraction(unit * self.pricing.rows * sensitivity(level, near.kind)), near), epsilon)

    def _value(self, level: Fraction, way: Division) -> list[Exponential]:
        """The value, where it is not the middle of the ends."""
        return [self._mechanism(level, way.value)] if way.value else []

    def _squares(self, way: Division) -> list[Geometric]:
        """Noise of the squares of weights up to a value and above it: a row moves one of the two, by a unit at most."""
        if not way.square:
            return []
        if self.pricing.keyed:
            return [Geometric(L1(Fraction(self._unit), self._row), way.square / self._steps)]
        return [Geometric(L1(Fraction(self._unit * self._steps), self.setting.neighbours), way.square)]

    def _ends(self, level: Fraction, way: Division) -> list[Exponential]:
        """The two ends, if they are bought."""
        return [self._mechanism(level, way.end)] * 2 if way.end else []

    @property
    def _far(self) -> Fraction:
        """The level of |x| whose magnitude is bought."""
        return magnitude.level(self.levels)

    def _magnitude(self) -> list[Exponential]:
        price = self.pricing.plain.magnitude
        return [self._mechanism(self._far, price)] if price else []

    def _drawn(self, way: Division) -> Guarantee:
        """Guarantee of all draws of one group, in their order."""
        drawn: list[Exponential | Geometric] = [*self._magnitude()]
        for level in self.levels:
            first, last = self._value(level, way), self._ends(level, way)
            drawn += [*first, *self._squares(way), *last] if self._value_first(way) else [*last, *first]
        return compose.in_sequence([mechanism.guarantee for mechanism in drawn], label="one group")

    @property
    def guarantee(self) -> Guarantee:
        size = self.pricing.size
        parts = [] if size is None else [size.guarantee]
        ways = list(dict.fromkeys([self.pricing.plain, self.pricing.among_ties]))
        each = self._drawn(ways[0])
        if len(ways) > 1:  # the noisy number of ties chooses, which is released before
            each = compose.one_of([self._drawn(way) for way in ways], label="values apart or many of them equal")
        if not self.pricing.keyed:
            return compose.in_sequence([*parts, each], label=self.name)
        rows = compose.across([each] * self.groups, neighbours=self._row, label="all groups")
        parts.append(compose.of_person(rows, self.setting.neighbours, rows=self.pricing.rows))
        return compose.in_sequence(parts, label=self.name)

    # --- from ranks to answers --------------------------------------------------------------------------------------

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        result, squares = results[0], results[-1]
        sizes = self._sizes(result, entropy)
        cells: list[Cell] = []
        words: dict[str, list[str]] = {}
        for place, (data, squared, size) in enumerate(zip(result.ranks, squares.ranks, sizes, strict=True)):
            found, said = self._group(data, squared, size, entropy)
            label = self.labels[len(cells)] if self.setting.keys is not None else ()
            for outcome in found:
                cells.append(Cell(self.labels[len(cells)], nearest(outcome, self.possible)))
            for text in said:
                words.setdefault(text, []).append(f"{label[0][0]} {label[0][1]}" if label else "")
            assert len(cells) == (place + 1) * len(found)
        told = (text if len(of) == len(sizes) else f"{', '.join(of)}: {text}" for text, of in words.items())
        return Answer(self.name, tuple(cells), (*self._caveats_of(cells), *told))

    def _caveats_of(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """The public caveats, without that of bounds where every interval lies between them."""
        if self.spread or self.bounds is None:
            return self.caveats
        replies = [cell.outcome.value for cell in cells if isinstance(cell.outcome, Reply)]
        inside = all(self.bounds[0] < Fraction(end) < self.bounds[1] for e in replies for end in (e.low, e.high))
        idle = public_facts.clipping(self.query.column, self.bounds, self.setting) if inside else ""
        return tuple(text for text in self.caveats if text != idle)

    def _sizes(self, result: QueryResult, entropy: Entropy) -> list[GroupSize]:
        """Values and ties of each group, noisy where they are private."""
        mechanism, replaced = self.pricing.size, self._replaced
        if mechanism is None:
            return [GroupSize(float(self.units or 0), None, float(self.units or 0)) for _ in result.ranks]
        held = [values_and_ties(data, self.pricing.crowd, replaced=replaced) for data in result.ranks]
        if self.units is not None:
            drawn, units = noisy([(more,) for _, more in held], mechanism, entropy), float(self.units)
            told, perhaps = (max(mechanism.radius(beta), TIED * units) for beta in (TOLD, PERHAPS))
            return [GroupSize(units, more > told, units, perhaps=more > perhaps) for (more,) in drawn]
        found = (size_of(pair, mechanism, replaced=replaced) for pair in noisy(held, mechanism, entropy))
        unit = self._unit
        return [replace(one, values=one.values / unit, surely=one.surely / unit) for one in found]

    @property
    def _replaced(self) -> bool:
        """True if neighbours replace a row within one group; by group rows are added and removed."""
        return self.setting.neighbours.kind == "substitute" and not self.pricing.keyed

    def _group(
        self, data: Counts, squared: Counts, size: GroupSize, entropy: Entropy
    ) -> tuple[list[Outcome[Estimate]], list[str]]:
        """The outcomes of one group, and what its released numbers say of them; ``squared`` are squares of weights."""
        declined: list[Outcome[Estimate]] = [NO_REPLY] * (1 if self.spread else len(self.levels))
        if size.perhaps and self._few(size) and not self._value_first(self.pricing.plain):
            size = replace(size, tied=True)
        if not self._gives_replies(size):
            return declined, []
        among = self._among(data, size, entropy)
        if not self._gives_replies(size, among):
            return declined, []
        drawn = self._quantiles(data, squared, size, among, entropy)
        words = list(dict.fromkeys(one.beyond for one in drawn if one.beyond))
        if any(one.one_end for one in drawn):
            words.append(ONE_END)
        if self.spread:
            found = [self._distance(drawn[0], drawn[1], among, size)]
        else:
            found = [self._estimate(level, one, among, size) for level, one in zip(self.levels, drawn, strict=True)]
        if self._interval and any(map(self._spanning, found)):
            words.append(SPANNING)  # ties are beside the point
        elif self._interval and size.tied is not False and not all(one.one_end for one in drawn):
            words.append(TIES)
        return [Reply(one) for one in found], words

    def _spanning(self, found: Estimate) -> bool:
        """Tell if an interval is wider than half of what is possible."""
        if self.possible is None or math.isinf(self.possible[1]):
            return False
        return spans_most(found, self.possible)

    @property
    def _interval(self) -> bool:
        return self.pricing.plain.end > 0

    def _among(self, data: Counts, size: GroupSize, entropy: Entropy) -> Cells:
        """The candidates of one group, about a magnitude that is drawn first where there are no bounds."""
        binade = None
        for mechanism in self._magnitude():
            binade = draw(by_binade(self.cells, data), self._far, 0, mechanism, entropy)
        return candidates(self.cells, binade, tied=size.tied)

    def _quantiles(
        self, data: Counts, squared: Counts, size: GroupSize, among: Cells, entropy: Entropy
    ) -> list[QuantileDraw]:
        """The draws of one group, level by level."""
        held, squares = placed(self.cells, among, data), placed(self.cells, among, squared)
        found, drawn, way = runs(among, held), [], self.pricing.way(size)
        for level in self.levels:
            if not self.feasible(level, size, among):
                drawn.append(self._with_one_end(found, level, size, among, entropy))
                continue
            value, told, ends = self._value(level, way), None, (among.lowest, among.highest)
            at = draw(found, level, 0, value[0], entropy) if self._value_first(way) else None
            if at is not None and way.square:
                told = self._told(squares, at, self._squares(way)[0], entropy)
            if self._interval:
                shift = self._shift(level, self._with_squares(size, level, told), among) * self._unit
                towards = zip((-shift, shift), self._ends(level, way), strict=True)
                first, last = (draw(found, level, by, mechanism, entropy) for by, mechanism in towards)
                ends = first, last
            if at is None and value:
                near = runs(between(among, min(ends), max(ends)), held)
                at = draw(near, level, 0, value[0], entropy)
            drawn.append(self._quantile(middle(among, *ends) if at is None else at, ends, told, among))
        return drawn

    def _with_one_end(
        self, found: Drawn, level: Fraction, size: GroupSize, among: Cells, entropy: Entropy
    ) -> QuantileDraw:
        """The value and the end on the side of more values, by the two draws that ends are bought for."""
        first, second = self._ends(level, self.pricing.way(size))
        at = draw(found, level, 0, first, entropy)
        shift = self._shift(level, size, among)
        if 2 * level < 1:
            ends = among.lowest, draw(found, level, shift, second, entropy)
        else:
            ends = draw(found, level, -shift, second, entropy), among.highest
        return replace(self._quantile(at, ends, None, among), one_end=True)

    def _value_first(self, way: Division) -> bool:
        """True where the value is drawn among all candidates, before the ends or without any."""
        return way.square > 0 or self.spread or not self._interval

    def _quantile(self, at: int, ends: tuple[int, int], told: tuple[float, float] | None, among: Cells) -> QuantileDraw:
        """The cells that were drawn as numbers."""
        least, most = edges(self.cells, among, at)
        first, last = sorted(ends)
        inside = among.lowest < first and last < among.highest
        apart = float(among.edges(last)[1] - among.edges(first)[0]) if inside else None
        low, high = edges(self.cells, among, ends[0])[0], edges(self.cells, among, ends[1])[1]
        words = at_the_end(self.cells, among, at)
        return QuantileDraw(low, float(among.value(at)), high, least, most, apart, words, told)

    def _told(self, squares: Counts, value: int, noise: Geometric, entropy: Entropy) -> tuple[float, float]:
        """Noisy squares of the weights up to ``value`` and above it, in units of the largest weight."""
        within = squares.cells <= value
        below, above = int(squares.counts[within].sum()), int(squares.counts[~within].sum())
        drawn = gate.draw(noise, (below, above), entropy)
        return drawn[0] / self._unit, drawn[1] / self._unit

    def _with_squares(self, size: GroupSize, level: Fraction, told: tuple[float, float] | None) -> GroupSize:
        """The size with the variance of the sampling error of a rank, where squares of weights were bought."""
        if told is None:
            return size
        q = float(level)
        return replace(size, variance=self._times * max((1.0 - q) ** 2 * told[0] + q * q * told[1], 0.0))

    def rate(self, mechanism: Exponential, level: Fraction) -> float:
        """Exponential rate of the rank error, per rank."""
        key = _parts(level, mechanism.epsilon)
        if key not in self._rates:
            self._rates[key] = float(mechanism.rate * level.denominator * self._unit)
        return self._rates[key]

    def _own(self, level: Fraction, way: Division) -> tuple[float, ...]:
        """Scales of the independent parts of a value's own rank error: its draw's, or half of each end's."""
        parts = self._value(level, way) or self._ends(level, way)
        return tuple(1.0 / (len(parts) * self.rate(one, level)) for one in parts)

    def _shift(self, level: Fraction, size: GroupSize, among: Cells) -> Fraction:
        """D: ranks between the level a/b and an end, to the nearest 1/b, which scores can tell apart."""
        way, variance = self.pricing.way(size), self._sampling(level, size)
        end = 1.0 / self.rate(self._ends(level, way)[0], level)
        if size.tied is not False:
            # A cell D ranks off weighs exp(-rate D) / share against the cell aimed at, whatever ties lie between.
            return Fraction(math.ceil(rank_shift_among_ties(variance, end, share(self.cells, among, tied=True))))
        b = level.denominator * self._unit
        value = self._own(level, way)[0] if self._value_first(way) else None
        return Fraction(round(b * rank_shift(variance, end, value)), b)

    @property
    def _alike(self) -> int:
        """Values of one person count as equal to each other: the worst case for sampling."""
        return kept_rows(self.setting.schema.person, self.query.per)

    @property
    def _times(self) -> float:
        """Factor of the sampling variance: rows of one person are taken as equal, and the design."""
        return self._alike * (1.0 if self.sample is None else float(self.sample.factor))

    def _sampling(self, level: Fraction, size: GroupSize) -> float:
        """Variance of the sampling error of a rank; of weights that are not told, as if all were the largest."""
        if size.variance is not None:
            return size.variance
        q = float(level)
        return self._times * max(size.values, 0.0) * q * (1.0 - q)

    def _estimate(self, level: Fraction, drawn: QuantileDraw, among: Cells, size: GroupSize) -> Estimate:
        low, high = min(drawn.low, drawn.high, drawn.least), max(drawn.low, drawn.high, drawn.most)
        if not self._interval:
            return Estimate(drawn.value, low, high, high - low, 0.0)
        size = self._with_squares(size, level, drawn.squares)
        shift, ranks = float(self._shift(level, size, among)), normal_half_width(self._sampling(level, size))
        if size.tied is not False or drawn.one_end:
            # Among ties the value may be as far off as the interval allows for, so the two parts add up to its half.
            half, part = (high - low) / 2.0, min(ranks, shift) / shift if shift else 1.0
            return Estimate(drawn.value, low, high, half * (1.0 - part), half * part)
        slope = abs(drawn.high - drawn.low) / (2.0 * shift)
        noise = half_width(NONE, self._own(level, self.pricing.way(size)))
        return Estimate(drawn.value, low, high, noise * slope, ranks * slope)

    def _distance(self, first: QuantileDraw, third: QuantileDraw, among: Cells, size: GroupSize) -> Estimate:
        value = max(third.value - first.value, 0.0)
        ends = [third.low - first.high, third.high - first.low, third.least - first.most, third.most - first.least]
        low, high = max(min(ends), 0.0), max(*ends, 0.0)
        if not self._interval:
            return Estimate(value, 0.0, high, high, 0.0)
        if size.tied is not False or first.apart is None or third.apart is None:
            # The ends of both: their half-widths are added, and so are the parts of these.
            both = zip(self.levels, (first, third), strict=True)
            parts = [self._estimate(q, one, among, size) for q, one in both]
            return Estimate(value, low, high, sum(p.noise for p in parts), sum(p.sampling for p in parts))
        sides, way = [], self.pricing.way(size)
        for q, drawn, apart in zip(self.levels, (first, third), (first.apart, third.apart), strict=True):
            end = 1.0 / self.rate(self._ends(q, way)[0], q)
            cell = drawn.most - drawn.least
            shift = float(self._shift(q, self._with_squares(size, q, drawn.squares), among))
            sides.append(Side(q, apart, shift, self._own(q, way)[0], end, cell, row=self._row_in_ranks(drawn, size)))
        return distance(value, (sides[0], sides[1]), self._rank_errors(first, third, size))

    def _row_in_ranks(self, drawn: QuantileDraw, size: GroupSize) -> float:
        """Ranks that a row counts for: one, or the squares of weights by their sum."""
        if drawn.squares is None:
            return 1.0
        return min(max(sum(drawn.squares), 0.0) / max(size.values, 1.0), 1.0)

    def _rank_errors(self, first: QuantileDraw, third: QuantileDraw, size: GroupSize) -> RankErrors:
        """Sampling errors of the ranks of both quantiles. What lies between them was bought twice: their mean."""
        p, q = self.levels
        if first.squares is None or third.squares is None:
            return RankErrors.of_rows(self._alike * max(size.values, 0.0), p, q)
        (below, more), (less, above) = first.squares, third.squares
        between = (more - above + less - below) / 2.0
        return RankErrors.of_squares(p, q, below, between, above).times(self._times)

    # --- the rule of refusal ------------------------------------------------------------------------------------------

    def feasible(self, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if the interval holds as often as it says, and is likely to say something.

        A cell beyond all the data scores b times its distance in ranks. So all such cells together are drawn with
        probability at most exp(-rate ranks) / share. ``share`` is the part of the candidates near the wanted quantile.
        The magnitude is taken for a usual one: one of the others makes the interval wide and not wrong.

        Parameters
        ----------
        level : Fraction
            Level of the quantile, in (0, 1).
        size : GroupSize
            Number of values, as far as it is known.
        among : Cells, optional
            Candidates of the draw; None before the magnitude is known.

        Returns
        -------
        bool
            False where the answer would be no reply.
        """
        if self._among_data(level, size, among):
            return True
        return not self._value_first(self.pricing.way(size)) and self._holds(level, size, among)

    def _supposed_cells(self, size: GroupSize, among: Cells | None) -> Cells:
        """The candidates, or those of a usual magnitude before it is known."""
        if among is None and size.tied not in self._usual:
            self._usual[size.tied] = candidates(self.cells, 1 if self.cells.free else None, tied=size.tied)
        return among or self._usual[size.tied]

    def _among_data(self, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if every draw falls among the data, but for probability GUESSED."""
        among = self._supposed_cells(size, among)
        way, surely, outside = self.pricing.way(size), max(size.surely, 0.0), float(min(level, 1 - level))
        part = share(self.cells, among, tied=size.tied)

        def enough(mechanism: Exponential, ranks: float) -> bool:
            rate = self.rate(mechanism, level)
            return rate * ranks >= _needed(part, rate * surely, size)

        if not self._among_binades(surely):
            return False
        if self._value_first(way) and not enough(self._value(level, way)[0], surely * outside):
            return False
        if not self._interval:
            return True
        return enough(self._ends(level, way)[0], surely * outside - float(self._shift(level, size, among)))

    def _among_binades(self, values: float) -> bool:
        """Tell if the magnitude is one of the data, but for probability GUESSED."""
        least = math.log(1.0 / (GUESSED * usual_share(self.cells)))
        return all(self.rate(one, self._far) * values * float(1 - self._far) >= least for one in self._magnitude())

    def _holds(self, level: Fraction, size: GroupSize, among: Cells | None) -> bool:
        """Tell if the ends fall on their own sides of the quantile, and among values of a usual spread.

        An end aims D ranks away from the level. Beyond the data on its own side it makes the interval wide. It misses
        on the other side alone, and all the data and D more ranks lie before that. Ties have a D that misses seldom
        wherever it ends, if it ends among the data.
        """
        among = self._supposed_cells(size, among)
        end, outside = self._ends(level, self.pricing.way(size))[0], float(min(level, 1 - level))
        rate, shift = self.rate(end, level), float(self._shift(level, size, among))
        far = _needed(share(self.cells, among, tied=size.tied), rate * size.likely, size)
        near = _needed(share(self.cells, among, tied=False, spreads=NEAR), rate * max(size.values, 0.0), size)
        return (
            self._among_binades(size.likely)
            and rate * (size.likely * outside + shift) >= far
            and rate * (max(size.values, 0.0) * outside - shift) >= near
        )

    def _one_end_holds(self, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if the value falls among the data, but for probability GUESSED, where both ends need not.

        The end on the side of more values then misses as seldom as it says. Beyond the data on its own side it makes
        the interval wide, and the data lie before the other. Without bounds the other end would say nothing. Where a
        value is drawn beside the ends, their draws do not tell it.
        """
        if self.cells.free or not self._interval or self._value_first(self.pricing.plain):
            return False
        among, surely = self._supposed_cells(size, among), max(size.surely, 0.0)
        rate = self.rate(self._ends(level, self.pricing.way(size))[0], level)
        needed = _needed(share(self.cells, among, tied=size.tied), rate * surely, size)
        return rate * surely * float(min(level, 1 - level)) >= needed

    def _all_feasible(self, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if every quantile gives a reply with both ends."""
        return all(self.feasible(level, size, among) for level in self.levels)

    def _gives_replies(self, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if every quantile gives a reply, with both ends or with one."""
        return all(self._gives_one(level, size, among) for level in self.levels)

    def _gives_one(self, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
        """Tell if a quantile gives a reply, with both ends or with one."""
        return self.feasible(level, size, among) or self._one_end_holds(level, size, among)

    def _few(self, size: GroupSize) -> bool:
        """Tell if some draw may leave the data."""
        return not all(self._among_data(level, size) for level in self.levels)

    def gives_a_reply(self, most: int) -> bool:
        """Tell if so many values would be enough for both ends."""
        return self._all_feasible(self._supposed(float(most)))

    def replies_almost_surely(self, *, among_ties: bool) -> bool:
        """Tell if a public number of values has a reply of every usual shape, with ``among_ties`` of ties alone.

        Parameters
        ----------
        among_ties : bool
            True where values that are mostly apart do not count as enough.

        Returns
        -------
        bool
        """
        values = float(self.setting.units or 0)
        tied = not self.cells.free and self._ties_expected(values, self._width / shapes.SPANS)
        both = self._replies(values, self._all_feasible, tied=tied)
        return (tied or not among_ties) and all(chance >= SURE for _, chance in both)

    def refuse_if_hopeless(self, most: int) -> None:
        """Refuse before rows are read where not even ``most`` values could outweigh the prior.

        Raises
        ------
        QuestionError
        """
        size = self._supposed(float(most))
        for level in self.levels:
            if not self._gives_one(level, size):
                raise public_facts.TooFewValues(
                    f"{self.name} at this ε would be a guess: with {most:,} values, too few lie on either "
                    f"side of level {show(level)}.",
                    public_facts.remedies(self.setting, has_bounds=not self.cells.free, extreme=level * 2 != 1),
                )

    def expected(self, people: int) -> ExpectedAccuracy:
        """For a normal shape: in distances of its quartiles without bounds, of a sixth of the range with them."""
        return of_persons(self._expected, people, self._alike, self.setting.schema.person)

    def _expected(self, people: int) -> ExpectedAccuracy:
        rows = (people if self.units is None else self.units) / self.groups
        weights = self._weights()
        size, squares = weights[0].powers[1] * rows, weights[0].squares
        bounded = not self.cells.free
        tied = bounded and self._ties_expected(size, self._width / shapes.SPANS)
        replies, both = (self._replies(size, rule, tied=tied) for rule in (self._gives_replies, self._all_feasible))
        told = tuple(
            (f"weights {one.name}", self._replies(one.powers[1] * rows, self._gives_replies, tied=tied)[0][1])
            for one in weights[1:]
        )
        if both[0][1] < LIKELY:
            return ExpectedAccuracy(None, None, FEW if replies[0][1] < LIKELY else FEW_FOR_BOTH, (*replies, *told))
        noise, sampling = self._widths(size, squares, None, tied=tied)
        note = "for a standard deviation of 1/8 of the range" if bounded else shapes.unit_words(spread=self.spread)
        note += f", weights {weights[0].name}" if len(weights) > 1 else ""
        heaped = self.pricing.size is not None and dict(both)[HEAPED] >= LIKELY
        mechanism, crowd = self.pricing.size, self.pricing.crowd / self._unit
        column = self.cells, ranks.resolution(self.query.column, self.setting)
        values = shapes.values_words(*column, size, crowd, mechanism, unit=self._unit) if heaped else "normal"
        note = f"{note}, {values}{'' if self.groups == 1 else EQUAL_GROUPS}; may give no reply{reach(self.cells)}"
        note += f"; {shapes.NO_SHAPE}" if bounded else ""
        note += _one_end_words(replies, both)
        alike = self.pricing.size is not None and shapes.typically_tied(
            *column, size, crowd, mechanism, unit=self._unit
        )
        others = self._other_columns(size, squares, tied=tied, heaped=heaped, alike=heaped and alike)
        of_weights = [
            (name, *self._widths(one.powers[1] * rows, one.squares, None, tied=tied))
            for one, (name, chance) in zip(weights[1:], told, strict=True)
            if chance >= LIKELY
        ]
        if bounded and not alike:
            widths = {name: width for name, width, _ in others}
            note += shapes.more_words(widths.get(HEAPED), widths.get(shapes.TYPICAL.name))
        unit = "" if bounded else shapes.unit_of(spread=self.spread)
        typical = shapes.TYPICAL.name if bounded else HEAPED if alike else ""
        found = ExpectedAccuracy(
            noise, sampling, note, (*replies, *told), (*others, *of_weights), unit=unit, typical=typical
        )
        return public_facts.of_dates(found, self.query.column, self.setting)

    @property
    def _width(self) -> float:
        """Distance of the bounds, in the unit of the column; of a single whole number the step of the grid."""
        low, high = self.cells.edges(self.cells.lowest)[0], self.cells.edges(self.cells.highest)[1]
        return max(float(high - low), float(self.cells.step or 0))

    def _weights(self) -> tuple[WeightShape, ...]:
        """Public shapes of weights, the usual one first; rows without weights have weight 1."""
        weight = self.query.weight
        return (UNWEIGHTED,) if weight is None else shapes.of_weights(weight, self.setting.schema)

    def _other_columns(
        self, size: float, squares: float, *, tied: bool, heaped: bool, alike: bool
    ) -> tuple[tuple[str, float, float], ...]:
        """Half-widths for the other public shapes of a column between bounds, and for heaped values."""
        found = []
        if heaped and not tied:
            heap = None if self.cells.free else shapes.TYPICAL
            found.append((HEAPED, *self._widths(size, squares, heap, tied=True)))
        if self.cells.free:
            each = shapes.of_free(heaped=heaped)
            return (*found, *((name, *self._widths(size, squares, one, tied=ties)) for name, one, ties in each))
        typical = shapes.TYPICAL
        found.append((typical.name, *self._widths(size, squares, typical, tied=alike or self._ties_of(typical, size))))
        step = 0.0 if self.cells.step is None else float(self.cells.step) / self._width
        values = min(shapes.ROUNDED, round(1.0 / step) + 1) if step else shapes.ROUNDED
        for shape in (*shapes.OTHERS, shapes.rounded(float(self.levels[0]), values)):
            ties = self._ties_of(shape, size)
            if heaped or not ties:
                found.append((shape.name, *self._widths(size, squares, shape, tied=ties)))
        return tuple(widths for widths in found if widths[1])  # a quantile that is a bound has no noise

    def _widths(self, size: float, squares: float, shape: ColumnShape | None, *, tied: bool) -> tuple[float, float]:
        """Half-widths of noise and sampling for ``size`` values of a shape, by default of the usual one.

        Without bounds they are in distances of its quartiles. Of several quantiles those of the widest. ``squares`` are
        the squares of weights by their sum.
        """
        found: list[tuple[float, float]] = []
        scale = shapes.quartile_distance(shape) if self.cells.free else 1.0
        among = candidates(self.cells, usual_binade(self.cells) if self.cells.free else None, tied=tied)
        for level in self.levels:
            supposed, q = GroupSize(size, tied, size), float(level)
            if self.query.weight is not None:
                supposed = replace(supposed, variance=self._times * size * q * (1.0 - q) * squares)
            ranks = normal_half_width(self._sampling(level, supposed))
            away = half_width(NONE, self._own(level, self.pricing.way(supposed)))
            shift = float(self._shift(level, supposed, among)) if self._interval else max(away + ranks, 1.0)
            if tied and self._interval:
                away = shift - ranks
            if shape is None and tied and not self.cells.free:
                shape = shapes.NORMAL  # ends among ties are so far apart that its density at the level does not tell
            if shape is None:
                slope = (1.0 if self.cells.free else self._width / shapes.SPANS) / (size * shapes.normal_density(q))
            else:
                slope = (shapes.SPANS if self.cells.free else self._width) * shape.slope(q, shift / size) / size
            found.append((away * slope / scale, ranks * slope / scale))
        noises, samplings = zip(*found, strict=True)
        if not self.spread:
            return max(noises), max(samplings)
        if tied:  # the intervals of both quartiles are added
            return sum(noises), sum(samplings)
        return math.hypot(*noises), math.sqrt(sum(s * s for s in samplings) - 2 / 3 * math.prod(samplings))

    def _replies(self, size: float, enough: Callable[[GroupSize, Cells | None], bool], *, tied: bool) -> Replies:
        """For values of the usual shape, which are ``tied`` on a coarse grid, and for heaped ones.

        Parameters
        ----------
        size : float
            Number of values.
        enough : callable
            The rule: ``_gives_replies``, or ``_all_feasible`` for both ends.
        tied : bool

        Returns
        -------
        Replies
        """
        mechanism, private = self.pricing.size, self.units is None
        scale = float(mechanism.scale) / (2.0 if self._replaced else 1.0) if mechanism is not None and private else 0.0
        scale /= self._unit
        less = size - self._supposed(size).surely

        def chance(ties: bool, binade: int | None) -> float:
            verdict = None if mechanism is None else ties
            among = candidates(self.cells, binade, tied=verdict)

            def holds(number: float) -> bool:
                given = GroupSize(number, verdict, number - less)
                return enough(given, among) and (not self.cells.free or enough(given, None))

            return passing(holds, size, [scale, scale])

        near, far = usual_binade(self.cells) if self.cells.free else None, far_binade(self.cells)
        others = () if far is None else ((DISTANT, chance(True, far)),)
        return (USUAL, chance(tied, near)), (HEAPED, chance(True, near)), *others

    def _ties_expected(self, size: float, spread: float) -> bool:
        """Tell if so many values of a normal shape count as tied on this grid, as those of a release would."""
        mechanism, crowd = self.pricing.size, self.pricing.crowd / self._unit
        return ties_expected(self.cells, size, spread, crowd, mechanism, unit=self._unit)

    def _ties_of(self, shape: ColumnShape, size: float) -> bool:
        """The same of another shape."""
        if self.pricing.size is None:
            return False
        step = 0.0 if self.cells.step is None else float(self.cells.step) / self._width
        ties = size * shape.tied(size, step, self.pricing.crowd / self._unit)
        return ties > max(self.pricing.size.radius(0.02) / self._unit, TIED * size)


def _one_end_words(replies: Replies, both: Replies) -> str:
    """Words of a plan on replies whose interval has one end; none where they are unlikely."""
    apart = [(shape, chance - two) for (shape, chance), (_, two) in zip(replies, both, strict=True)]
    told = " · ".join(f"{shape} {shown(chance)}" for shape, chance in apart)
    return f"; P(one end is the bound): {told}" if any(chance >= UNSEEN for _, chance in apart) else ""


def _needed(part: float, weight: float, size: GroupSize) -> float:
    """Log weight by which a share ``part`` of the candidates outweighs all others, but for probability GUESSED.

    Without ties only the values within a rank's reach count as near; ``weight`` is n times the rate.
    """
    reach = math.log1p(weight / BETWEEN) if size.tied is False else 0.0
    return math.log(1.0 / GUESSED) - math.log(part) + reach


def prepare(
    asked: RankStatistic | Iqr,
    setting: Setting,
    epsilon: Fraction,
    weight: Weighing | None = None,
    sample: SampleDesign | None = None,
) -> QuantileStep:
    """The step that answers the question.

    Parameters
    ----------
    asked : RankStatistic or Iqr
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.
    weight : Weighing, optional
        The weights of rows.
    sample : SampleDesign, optional
        The design of weighted rows.

    Returns
    -------
    QuantileStep
    """
    person, keys = setting.schema.person, setting.keys
    spread = isinstance(asked, Iqr)
    levels = QUARTILES if isinstance(asked, Iqr) else asked.levels
    cells, bounds = ranks.candidates(asked.column, asked.low, asked.high, setting)
    if spread:  # its interval is made of squares
        public_facts.refuse_far(asked.name, *(bounds or ()))
    present = PresentValues(asked.column, keys, setting.per)
    units = public_facts.public_size(present, setting) if weight is None else None  # weights are private
    unit = 1 if weight is None else WEIGHT_ONE
    rows = kept_rows(person, setting.per, keys)
    # Of ``values_and_ties`` a row that comes or goes moves one by one, and a replaced row both by two together; it
    # moves the ties alone by one at most, which are all that is drawn where the number of values is public.
    steps = 2 * rows if setting.neighbours.kind == "substitute" and units is None else rows
    public = setting.units is not None and keys is None and weight is None
    crowd = max(CROWD, isqrt(setting.units or 0) // 8) if public else CROWD * unit

    def priced(of_size: Fraction) -> Pricing:
        """The divisions, with a share for the numbers of values and ties."""
        size: Geometric | None = None
        left = epsilon
        if asked.interval or units is None:
            size = Geometric(L1(Fraction(unit * steps), setting.neighbours), epsilon * of_size)
            left = epsilon * (1 - of_size)
        # no bounds: the magnitude first (statistics/magnitude.py)
        first = epsilon * (ONE_LEVEL_SHARE if len(levels) == 1 else MAGNITUDE_SHARE) if cells.free else Fraction(0)
        each = (left - first) / len(levels)
        if not asked.interval:
            plain = tied = Division(first, each, Fraction(0))
        elif weight is not None or spread:
            value, square = each * VALUE_SHARE, each * SQUARE_SHARE if weight is not None else Fraction(0)
            plain = tied = Division(first, value, (each - value - square) / 2, square)
        else:
            value = each * TIED_SHARE if _on_a_grid(setting.schema.column(asked.column)) else Fraction(0)
            plain, tied = Division(first, Fraction(0), each / 2), Division(first, value, (each - value) / 2)
        return Pricing(size, plain, tied, rows, keys is not None, crowd)

    caveats = list(public_facts.caveats_of(asked.column, bounds, setting, setting.per))
    if asked.method == "auto" and len(levels) > 1:
        caveats.append(public_facts.SEPARATELY)
    if not asked.interval:
        caveats.append(NO_ENDS)
    inner: tuple[Label, ...] = ((),)
    if len(levels) > 1 and not spread:
        inner = tuple((("level", show(level)),) for level in levels)
    step = QuantileStep(
        public_facts.title(asked, setting),
        Ranks(asked.column, keys, setting.per, weight=weight),
        cells,
        levels,
        spread,
        setting,
        priced(SIZE_SHARE),
        units,
        public_facts.groups(setting),
        public_facts.labels(keys, inner),
        tuple(caveats),
        possible(asked, setting),
        bounds=bounds,
        sample=sample,
    )
    if setting.units is None:
        return step
    most = setting.units * kept_rows(person, setting.per)
    if units is None and not step.gives_a_reply(most // 2):
        few = replace(step, pricing=priced(FEW_SIZE_SHARE))
        step = few if few.gives_a_reply(most) else step
    step.refuse_if_hopeless(most)
    return step


def _on_a_grid(declared: Column) -> bool:
    """Tell if the column has declared steps, of which few lie between two ends: whole numbers, or a resolution."""
    return isinstance(declared, Integer) or (isinstance(declared, Real) and declared.resolution is not None)
