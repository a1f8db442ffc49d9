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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import ClassVar

from reticent.data.candidates import Cells
from reticent.data.design import SampleDesign
from reticent.data.query import WEIGHT_ONE, PresentValues, Query, Ranks, Weighing, kept_rows
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Column, Integer, Real
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts, ranks
from reticent.statistics.answer import NO_ENDS, Answer, Cell, Label, label_words
from reticent.statistics.column_step import GroupResult, said_once
from reticent.statistics.context import ExpectedAccuracy, Setting, StepWork, noisy
from reticent.statistics.intervals import (
    NONE,
    ONE_END,
    SPANNING,
    TIES,
    RankErrors,
    Side,
    distance,
    half_width,
    normal_half_width,
    spans_most,
)
from reticent.statistics.magnitude import at_the_end, between, by_binade, candidates, edges, middle
from reticent.statistics.possible import Ends, nearest, possible
from reticent.statistics.quantiles import quantile_plan, reply_rule
from reticent.statistics.quantiles.group_size import CROWD, PERHAPS, TOLD, GroupSize, size_of, values_and_ties
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.quantile_draws import (
    FEW_SIZE_SHARE,
    MAGNITUDE_SHARE,
    ONE_LEVEL_SHARE,
    SIZE_SHARE,
    SQUARE_SHARE,
    TIED_SHARE,
    VALUE_SHARE,
    Division,
    Pricing,
    QuantileDraws,
)
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.quantiles.shapes import TIED
from reticent.statistics.rank_blocks import Drawn, draw, runs, with_all
from reticent.statistics.ranks import placed
from reticent.statistics.robust.scale import QUARTILES


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
    """Quantiles of one column, per group, or the distance of two, by the draws of ``draws``."""

    work: ClassVar[StepWork] = StepWork(sorts=True, half_widths=3)

    name: str
    draws: QuantileDraws
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    possible: Ends | None
    estimand: str = ""
    bounds: tuple[Fraction, Fraction] | None = None

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.draws.queries

    @property
    def guarantee(self) -> Guarantee:
        return self.draws.guarantee(self.name)

    def expected(self, people: int) -> ExpectedAccuracy:
        return quantile_plan.expected(self.draws, people)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        result, squares = results[0], results[-1]
        sizes = self._sizes(result, entropy)
        keys = self.draws.setting.keys
        groups = [label_words(Cell(label, NO_REPLY)) for label in keys.labels] if keys is not None else [""]
        drawn = []
        for data, squared, size, group in zip(result.ranks, squares.ranks, sizes, groups, strict=True):
            outcomes, said = self._group(data, squared, size, entropy)
            drawn.append(GroupResult(tuple(outcomes), tuple(said), label=group))
        outcomes = [nearest(outcome, self.possible) for group in drawn for outcome in group.outcomes]
        cells = [Cell(label, outcome) for label, outcome in zip(self.labels, outcomes, strict=True)]
        return Answer(self.name, tuple(cells), (*self._caveats_of(cells), *said_once(drawn)))

    def _caveats_of(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """The public caveats, without that of bounds where every interval lies between them."""
        draws = self.draws
        if draws.spread or self.bounds is None:
            return self.caveats
        replies = [cell.outcome.value for cell in cells if isinstance(cell.outcome, Reply)]
        inside = all(self.bounds[0] < Fraction(end) < self.bounds[1] for e in replies for end in (e.low, e.high))
        idle = public_facts.clipping(draws.query.column, self.bounds, draws.setting) if inside else ""
        return tuple(text for text in self.caveats if text != idle)

    def _sizes(self, result: QueryResult, entropy: Entropy) -> list[GroupSize]:
        """Values and ties of each group, noisy where they are private."""
        draws = self.draws
        mechanism, replaced = draws.pricing.size, draws.replaced
        if mechanism is None:
            return [GroupSize(float(draws.units or 0), None, float(draws.units or 0)) for _ in result.ranks]
        held = [values_and_ties(data, draws.pricing.crowd, replaced=replaced) for data in result.ranks]
        if draws.units is not None:
            drawn, units = noisy([(more,) for _, more in held], mechanism, entropy), float(draws.units)
            told, perhaps = (max(mechanism.radius(beta), TIED * units) for beta in (TOLD, PERHAPS))
            return [GroupSize(units, more > told, units, perhaps=more > perhaps) for (more,) in drawn]
        found = (size_of(pair, mechanism, replaced=replaced) for pair in noisy(held, mechanism, entropy))
        unit = draws.unit
        return [replace(one, values=one.values / unit, surely=one.surely / unit) for one in found]

    def _group(
        self, data: Counts, squared: Counts, size: GroupSize, entropy: Entropy
    ) -> tuple[list[Outcome[Estimate]], list[str]]:
        """The outcomes of one group, and what its released numbers say of them; ``squared`` are squares of weights."""
        draws = self.draws
        declined: list[Outcome[Estimate]] = [NO_REPLY] * (1 if draws.spread else len(draws.levels))
        apart = not draws.value_first(draws.pricing.plain)
        if size.perhaps and apart and reply_rule.are_few(draws, size):
            size = replace(size, tied=True)
        if not reply_rule.gives_replies(draws, size):
            return declined, []
        among = with_all(data, lambda held: self._among(held, size, entropy))
        if not reply_rule.gives_replies(draws, size, among):
            return declined, []
        drawn = with_all(data, lambda held: self._quantiles(held, squared, size, among, entropy))
        words = list(dict.fromkeys(one.beyond for one in drawn if one.beyond))
        if any(one.one_end for one in drawn):
            words.append(ONE_END)
        if draws.spread:
            found = [self._distance(drawn[0], drawn[1], among, size)]
        else:
            found = [self._estimate(level, one, among, size) for level, one in zip(draws.levels, drawn, strict=True)]
        if draws.interval and any(map(self._spanning, found)):
            words.append(SPANNING)  # ties are beside the point
        elif draws.interval and size.tied is not False and not all(one.one_end for one in drawn):
            words.append(TIES)
        return [Reply(one) for one in found], words

    def _spanning(self, found: Estimate) -> bool:
        """Tell if an interval is wider than half of what is possible."""
        if self.possible is None or math.isinf(self.possible[1]):
            return False
        return spans_most(found, self.possible)

    def _among(self, data: Counts, size: GroupSize, entropy: Entropy) -> Cells:
        """The candidates of one group, about a magnitude that is drawn first where there are no bounds."""
        draws = self.draws
        binade = None
        for mechanism in draws.of_magnitude():
            binade = draw(by_binade(draws.cells, data), draws.far, 0, mechanism, entropy)
        return candidates(draws.cells, binade, tied=size.tied)

    def _quantiles(
        self, data: Counts, squared: Counts, size: GroupSize, among: Cells, entropy: Entropy
    ) -> list[QuantileDraw]:
        """The draws of one group, level by level."""
        draws = self.draws
        held, squares = placed(draws.cells, among, data), placed(draws.cells, among, squared)
        found, drawn, way = runs(among, held), [], draws.pricing.way(size)
        for level in draws.levels:
            if not reply_rule.feasible(draws, level, size, among):
                drawn.append(self._with_one_end(found, level, size, among, entropy))
                continue
            value, told, ends = draws.value(level, way), None, (among.lowest, among.highest)
            at = draw(found, level, 0, value[0], entropy) if draws.value_first(way) else None
            if at is not None and way.square:
                told = self._told(squares, at, draws.squares(way)[0], entropy)
            if draws.interval:
                shift = draws.shift(level, draws.with_squares(size, level, told), among) * draws.unit
                towards = zip((-shift, shift), draws.ends(level, way), strict=True)
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
        draws = self.draws
        first, second = draws.ends(level, draws.pricing.way(size))
        at = draw(found, level, 0, first, entropy)
        shift = draws.shift(level, size, among)
        if 2 * level < 1:
            ends = among.lowest, draw(found, level, shift, second, entropy)
        else:
            ends = draw(found, level, -shift, second, entropy), among.highest
        return replace(self._quantile(at, ends, None, among), one_end=True)

    def _quantile(self, at: int, ends: tuple[int, int], told: tuple[float, float] | None, among: Cells) -> QuantileDraw:
        """The cells that were drawn as numbers."""
        draws = self.draws
        least, most = edges(draws.cells, among, at)
        first, last = sorted(ends)
        inside = among.lowest < first and last < among.highest
        apart = float(among.edges(last)[1] - among.edges(first)[0]) if inside else None
        low, high = edges(draws.cells, among, ends[0])[0], edges(draws.cells, among, ends[1])[1]
        words = at_the_end(draws.cells, among, at)
        return QuantileDraw(low, float(among.value(at)), high, least, most, apart, words, told)

    def _told(self, squares: Counts, value: int, noise: Geometric, entropy: Entropy) -> tuple[float, float]:
        """Noisy squares of the weights up to ``value`` and above it, in units of the largest weight."""
        within = squares.cells <= value
        below, above = int(squares.counts[within].sum()), int(squares.counts[~within].sum())
        drawn = gate.draw(noise, (below, above), entropy)
        return drawn[0] / self.draws.unit, drawn[1] / self.draws.unit

    def _estimate(self, level: Fraction, drawn: QuantileDraw, among: Cells, size: GroupSize) -> Estimate:
        draws = self.draws
        low, high = min(drawn.low, drawn.high, drawn.least), max(drawn.low, drawn.high, drawn.most)
        if not draws.interval:
            return Estimate(drawn.value, low, high, high - low, 0.0)
        size = draws.with_squares(size, level, drawn.squares)
        shift, ranks = float(draws.shift(level, size, among)), normal_half_width(draws.sampling(level, size))
        if size.tied is not False or drawn.one_end:
            # Among ties the value may be as far off as the interval allows for, so the two parts add up to its half.
            half, part = (high - low) / 2.0, min(ranks, shift) / shift if shift else 1.0
            return Estimate(drawn.value, low, high, half * (1.0 - part), half * part)
        slope = abs(drawn.high - drawn.low) / (2.0 * shift)
        noise = half_width(NONE, draws.own(level, draws.pricing.way(size)))
        return Estimate(drawn.value, low, high, noise * slope, ranks * slope)

    def _distance(self, first: QuantileDraw, third: QuantileDraw, among: Cells, size: GroupSize) -> Estimate:
        draws = self.draws
        value = max(third.value - first.value, 0.0)
        ends = [third.low - first.high, third.high - first.low, third.least - first.most, third.most - first.least]
        low, high = max(min(ends), 0.0), max(*ends, 0.0)
        if not draws.interval:
            return Estimate(value, 0.0, high, high, 0.0)
        if size.tied is not False or first.apart is None or third.apart is None:
            # The ends of both: their half-widths are added, and so are the parts of these.
            both = zip(draws.levels, (first, third), strict=True)
            parts = [self._estimate(q, one, among, size) for q, one in both]
            return Estimate(value, low, high, sum(p.noise for p in parts), sum(p.sampling for p in parts))
        sides, way = [], draws.pricing.way(size)
        for q, drawn, apart in zip(draws.levels, (first, third), (first.apart, third.apart), strict=True):
            end = 1.0 / draws.rate(draws.ends(q, way)[0], q)
            cell = drawn.most - drawn.least
            shift = float(draws.shift(q, draws.with_squares(size, q, drawn.squares), among))
            sides.append(Side(q, apart, shift, draws.own(q, way)[0], end, cell, row=self._row_in_ranks(drawn, size)))
        return distance(value, (sides[0], sides[1]), self._rank_errors(first, third, size))

    def _row_in_ranks(self, drawn: QuantileDraw, size: GroupSize) -> float:
        """Ranks that a row counts for: one, or the squares of weights by their sum."""
        if drawn.squares is None:
            return 1.0
        return min(max(sum(drawn.squares), 0.0) / max(size.values, 1.0), 1.0)

    def _rank_errors(self, first: QuantileDraw, third: QuantileDraw, size: GroupSize) -> RankErrors:
        """Sampling errors of the ranks of both quantiles. What lies between them was bought twice: their mean."""
        draws = self.draws
        p, q = draws.levels
        if first.squares is None or third.squares is None:
            return RankErrors.of_rows(draws.alike * max(size.values, 0.0), p, q)
        (below, more), (less, above) = first.squares, third.squares
        between = (more - above + less - below) / 2.0
        return RankErrors.of_squares(p, q, below, between, above).times(draws.times)


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
    draws = QuantileDraws(
        Ranks(asked.column, keys, setting.per, weight=weight),
        cells,
        levels,
        spread,
        setting,
        priced(SIZE_SHARE),
        units,
        public_facts.groups(setting),
        sample,
    )
    name = public_facts.title(asked, setting)
    if setting.units is not None:
        most = setting.units * kept_rows(person, setting.per)
        if units is None and not reply_rule.gives_a_reply(draws, most // 2):
            few = replace(draws, pricing=priced(FEW_SIZE_SHARE))
            draws = max(draws, few, key=partial(_chances, most=most))
        reply_rule.refuse_if_hopeless(draws, name, most)
    labels = public_facts.labels(keys, inner)
    return QuantileStep(name, draws, labels, tuple(caveats), possible(asked, setting), bounds=bounds)


def _chances(draws: QuantileDraws, most: int) -> tuple[float, float]:
    """Probabilities of a reply with both ends: of the most values, to three places, and of half of them."""
    whole, half = (quantile_plan.chance_of_both(draws, values) for values in (most, most // 2))
    return round(whole, 3), half


def _on_a_grid(declared: Column) -> bool:
    """Tell if the column has declared steps, of which few lie between two ends: whole numbers, or a resolution."""
    return isinstance(declared, Integer) or (isinstance(declared, Real) and declared.resolution is not None)
