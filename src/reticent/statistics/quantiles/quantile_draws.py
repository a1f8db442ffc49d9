"""Draws of quantiles and of their ends: the division of epsilon, mechanisms, guarantee and rank errors."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.design import SampleDesign
from reticent.data.order_statistics import RankWindows
from reticent.data.query import WEIGHT_ONE, Query, Ranks, kept_rows
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics import magnitude
from reticent.statistics.context import Setting
from reticent.statistics.intervals import rank_shift, rank_shift_among_ties
from reticent.statistics.magnitude import candidates, share
from reticent.statistics.quantiles.group_size import CROWD, UNHELD, GroupSize, unsure
from reticent.statistics.ranks import sensitivity

VALUE_SHARE: Final = Fraction(1, 2)  # of the epsilon of a quantile whose value is drawn first; the rest is for the ends
TIED_SHARE: Final = Fraction(1, 5)  # the same among ties of a column on a grid
SIZE_SHARE: Final = Fraction(1, 20)  # of a question's epsilon, for the numbers of values and of ties
FEW_SIZE_SHARE: Final = Fraction(1, 10)  # the same where half as many persons as there are would get no reply
MAGNITUDE_SHARE: Final = Fraction(1, 10)  # for the magnitude, where there are no bounds
ONE_LEVEL_SHARE: Final = Fraction(1, 8)  # the same of a single quantile, beyond whose size fewer values lie
SPREADS: Final = 3.0  # standard deviations of a sampling error that D is below, beside SHORT
SHORT: Final = 50.0  # scales of a rank error that D is below, beside SPREADS: 45 for the share of one cell, 5 for 2.5 %
FAR: Final = 100.0  # scales of a rank error from which on all cells have one score: 28, and 70 bits of candidates
SQUARE_SHARE: Final = Fraction(1, 20)  # of a quantile's epsilon, for the squares of weights on either side of it


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


def _parts(level: Fraction, epsilon: Fraction) -> tuple[int, ...]:
    """A key of a table: whole numbers, which hash in a tenth of the time of fractions."""
    return (level.numerator, level.denominator, epsilon.numerator, epsilon.denominator)


@dataclass(frozen=True, slots=True)
class QuantileDraws:
    """The draws that answer quantiles of one column: their mechanisms, their guarantee and their rank errors.

    ``spread`` asks for the distance of the first two levels. ``sample`` is the design of weighted rows.
    """

    query: Ranks
    cells: Cells
    levels: tuple[Fraction, ...]
    spread: bool
    setting: Setting
    pricing: Pricing
    units: int | None
    groups: int
    sample: SampleDesign | None = None
    # a plan asks for the same few mechanisms and candidates tens of thousands of times
    _mechanisms: dict[tuple[int, ...], Exponential] = field(default_factory=dict, init=False, compare=False)
    _rates: dict[tuple[int, ...], float] = field(default_factory=dict, init=False, compare=False)
    _usual: dict[bool | None, Cells] = field(default_factory=dict, init=False, compare=False)
    least: dict[Hashable, float] = field(default_factory=dict, init=False, compare=False)  # as ``chance_of`` finds them

    @property
    def queries(self) -> tuple[Query, ...]:
        if self.query.weight is None:
            return (replace(self.query, windows=self.windows),)
        return (self.query, replace(self.query, power=2)) if self.pricing.plain.square else (self.query,)

    @property
    def unit(self) -> int:
        """The most that a row adds to the counts of a query: the integer of the largest weight."""
        return 1 if self.query.weight is None else WEIGHT_ONE

    @property
    def replaced(self) -> bool:
        """True if neighbours replace a row within one group; by group rows are added and removed."""
        return self.setting.neighbours.kind == "substitute" and not self.pricing.keyed

    @property
    def interval(self) -> bool:
        """True if ends are bought."""
        return self.pricing.plain.end > 0

    def supposed(self, values: float) -> GroupSize:
        """Size that a plan assumes for ``values`` values: noise at its mean, and no ties."""
        size = self.pricing.size
        private = size is not None and self.units is None
        less = unsure(size, replaced=self.replaced) / self.unit if size is not None and private else 0.0
        return GroupSize(values, None if size is None else False, values - less)

    def supposed_cells(self, size: GroupSize, among: Cells | None) -> Cells:
        """The candidates, or those of a usual magnitude before it is known."""
        if among is None and size.tied not in self._usual:
            self._usual[size.tied] = candidates(self.cells, 1 if self.cells.free else None, tied=size.tied)
        return among or self._usual[size.tied]

    @property
    def row(self) -> Adjacency:
        """Neighbours of one group, whose rows are protected one by one."""
        return Adjacency("add_remove", unit="row")

    @property
    def steps(self) -> int:
        """Rows added or removed between neighbours, where each row is protected by itself."""
        return self.pricing.rows * (2 if self.setting.neighbours.kind == "substitute" else 1)

    def mechanism(self, level: Fraction, epsilon: Fraction) -> Exponential:
        """Exponential mechanism of a draw at this level and price."""
        key = _parts(level, epsilon)
        if key not in self._mechanisms:
            self._mechanisms[key] = self._made(level, epsilon)
        return self._mechanisms[key]

    def _made(self, level: Fraction, epsilon: Fraction) -> Exponential:
        near, unit = self.setting.neighbours, self.unit
        if self.pricing.keyed:
            return Exponential(Linf(Fraction(unit * sensitivity(level, "add_remove")), self.row), epsilon / self.steps)
        return Exponential(Linf(Fraction(unit * self.pricing.rows * sensitivity(level, near.kind)), near), epsilon)

    def value(self, level: Fraction, way: Division) -> list[Exponential]:
        """The value, where it is not the middle of the ends."""
        return [self.mechanism(level, way.value)] if way.value else []

    def squares(self, way: Division) -> list[Geometric]:
        """Noise of the squares of weights up to a value and above it: a row moves one of the two, by a unit at most."""
        if not way.square:
            return []
        if self.pricing.keyed:
            return [Geometric(L1(Fraction(self.unit), self.row), way.square / self.steps)]
        return [Geometric(L1(Fraction(self.unit * self.steps), self.setting.neighbours), way.square)]

    def ends(self, level: Fraction, way: Division) -> list[Exponential]:
        """The two ends, if they are bought."""
        return [self.mechanism(level, way.end)] * 2 if way.end else []

    @property
    def far(self) -> Fraction:
        """The level of |x| whose magnitude is bought."""
        return magnitude.level(self.levels)

    def of_magnitude(self) -> list[Exponential]:
        """The draw of the magnitude, where there are no bounds."""
        price = self.pricing.plain.magnitude
        return [self.mechanism(self.far, price)] if price else []

    @property
    def windows(self) -> RankWindows:
        """Ranks that the scores of all draws tell apart, for every D that the released numbers may give.

        A score ends ``ceiling`` above its least, so values matter within 2 |D| + ``FAR`` ranks of scale 1 / rate.
        """
        price, room = self.pricing, self._room()
        root, reach = 0.0, 0.0
        for way in {price.plain, price.among_ties}:
            for level in self.levels:
                drawn = [*self.value(level, way), *self.ends(level, way)]
                scale = max(1.0 / self.rate(one, level) for one in drawn)
                spread = SPREADS * math.sqrt(self.times * float(level * (1 - level))) if self.interval else 0.0
                root = max(root, 2.0 * spread)
                aside = spread * math.sqrt(room) + SHORT * scale + 1.0 if self.interval else 0.0
                reach = max(reach, 2.0 * aside + FAR * scale)
        reach = max([reach, *(FAR / self.rate(one, self.far) for one in self.of_magnitude())])
        far = self.far if self.cells.free else None
        return RankWindows(self.levels, math.ceil(min(reach, UNHELD)) + 2, root, price.crowd, far)

    def _room(self) -> float:
        """Values by which the released number may be too large, but for probability e^-40 or so."""
        size = self.pricing.size
        return 0.0 if size is None or self.units is not None else 2.0 * size.radius(math.exp(-40.0))

    def value_first(self, way: Division) -> bool:
        """True where the value is drawn among all candidates, before the ends or without any."""
        return way.square > 0 or self.spread or not self.interval

    def of_group(self, way: Division) -> Guarantee:
        """Guarantee of all draws of one group, in their order."""
        drawn: list[Exponential | Geometric] = [*self.of_magnitude()]
        for level in self.levels:
            first, last = self.value(level, way), self.ends(level, way)
            drawn += [*first, *self.squares(way), *last] if self.value_first(way) else [*last, *first]
        return compose.in_sequence([mechanism.guarantee for mechanism in drawn], label="one group")

    def guarantee(self, name: str) -> Guarantee:
        """Guarantee of the draws of all groups, under this name."""
        size = self.pricing.size
        parts = [] if size is None else [size.guarantee]
        ways = list(dict.fromkeys([self.pricing.plain, self.pricing.among_ties]))
        each = self.of_group(ways[0])
        if len(ways) > 1:  # the noisy number of ties chooses, which is released before
            each = compose.one_of([self.of_group(way) for way in ways], label="values apart or many of them equal")
        if not self.pricing.keyed:
            return compose.in_sequence([*parts, each], label=name)
        rows = compose.across([each] * self.groups, neighbours=self.row, label="all groups")
        parts.append(compose.of_person(rows, self.setting.neighbours, rows=self.pricing.rows))
        return compose.in_sequence(parts, label=name)

    # --- rank errors ------------------------------------------------------------------------------------------------

    def rate(self, mechanism: Exponential, level: Fraction) -> float:
        """Exponential rate of the rank error, per rank."""
        key = _parts(level, mechanism.epsilon)
        if key not in self._rates:
            self._rates[key] = float(mechanism.rate * level.denominator * self.unit)
        return self._rates[key]

    def own(self, level: Fraction, way: Division) -> tuple[float, ...]:
        """Scales of the independent parts of a value's own rank error: its draw's, or half of each end's."""
        parts = self.value(level, way) or self.ends(level, way)
        return tuple(1.0 / (len(parts) * self.rate(one, level)) for one in parts)

    @property
    def alike(self) -> int:
        """Values of one person count as equal to each other: the worst case for sampling."""
        return kept_rows(self.setting.schema.person, self.query.per)

    @property
    def times(self) -> float:
        """Factor of the sampling variance: rows of one person are taken as equal, and the design."""
        return self.alike * (1.0 if self.sample is None else float(self.sample.factor))

    def sampling(self, level: Fraction, size: GroupSize) -> float:
        """Variance of the sampling error of a rank; of weights that are not told, as if all were the largest."""
        if size.variance is not None:
            return size.variance
        q = float(level)
        return self.times * max(size.values, 0.0) * q * (1.0 - q)

    def with_squares(self, size: GroupSize, level: Fraction, told: tuple[float, float] | None) -> GroupSize:
        """The size with the variance of the sampling error of a rank, where squares of weights were bought.

        Parameters
        ----------
        size : GroupSize
        level : Fraction
        told : pair of float, or None
            Noisy squares of the weights up to the value and above it.

        Returns
        -------
        GroupSize
        """
        if told is None:
            return size
        q = float(level)
        return replace(size, variance=self.times * max((1.0 - q) ** 2 * told[0] + q * q * told[1], 0.0))

    def shift(self, level: Fraction, size: GroupSize, among: Cells) -> Fraction:
        """D: ranks between the level a/b and an end, to the nearest 1/b, which scores can tell apart.

        Parameters
        ----------
        level : Fraction
        size : GroupSize
        among : Cells
            Candidates of the draw.

        Returns
        -------
        Fraction
            Ranks.
        """
        way, variance = self.pricing.way(size), self.sampling(level, size)
        end = 1.0 / self.rate(self.ends(level, way)[0], level)
        if size.tied is not False:
            # A cell D ranks off weighs exp(-rate D) / share against the cell aimed at, whatever ties lie between.
            return Fraction(math.ceil(rank_shift_among_ties(variance, end, share(self.cells, among, tied=True))))
        b = level.denominator * self.unit
        value = self.own(level, way)[0] if self.value_first(way) else None
        return Fraction(round(b * rank_shift(variance, end, value)), b)
