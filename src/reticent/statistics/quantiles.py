"""Medians, quantiles and the distance of quartiles, with intervals bought from the same mechanism.

Besides the value, two more cells are drawn, D ranks below and above the level, so that they and the value fail to
reach the population quantile with 2.5 % on each side: by sampling (binomial) and by the mechanism's own rank error
(two-sided geometric, one rank costs ``rate``). Many equal values break that law, so how many there are is asked first,
and D is wider for them. A quantile whose data cannot outweigh the public prior is refused beforehand, or is no reply.
See docs/theory/intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.cells import Cells
from reticent.data.query import Query, Ranks, kept_rows
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.mechanisms import Exponential, Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import Linf
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.counts import Label, noisy
from reticent.statistics.intervals import FEW, NONE, half_width, normal_half_width, rank_shift, two_laplace_tail
from reticent.statistics.ranks import Runs, cell_share, draw, runs, sensitivity
from reticent.statistics.setting import Expected, Setting

VALUE_SHARE: Final = Fraction(1, 2)  # of a quantile's epsilon; the rest is for the two ends
SIZE_SHARE: Final = Fraction(1, 20)  # of a question's epsilon, for the numbers of values and of ties
BETA: Final = 1e-3  # a drawn cell is the prior's and not the data's with at most this probability
FLATTERED: Final = 5e-3  # noise makes few values look like enough with at most this probability
TIED: Final = 0.05  # from this share of ties on, intervals are made for tied values
UNEVEN: Final = 1.05  # the slopes at the two quartiles may differ by a factor of two


@dataclass(frozen=True, slots=True)
class Pricing:
    """How one question's epsilon is spent: on numbers of values and ties, on each value and on each end.

    ``rows`` is the most values one person has; ``keyed``: each group by its own mechanism at the level of rows.
    """

    size: Geometric | None
    value: Fraction
    end: Fraction
    rows: int
    keyed: bool


@dataclass(frozen=True, slots=True)
class Size:
    """What is released of a group first: the number of values, and whether many of them are equal.

    ``surely`` is a number of values that there are but for a small probability: the noise may have made more of few.
    """

    values: float
    tied: bool
    surely: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """The ends and the value of one quantile as they were drawn, and the cell of the value; noise may disorder them."""

    low: float
    value: float
    high: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class QuantileStep:
    """Quantiles of one column, per group; ``spread`` asks for the distance of the first two instead."""

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

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    # --- what is drawn, and what it costs ---------------------------------------------------------------------------

    @property
    def _row(self) -> Adjacency:
        return Adjacency("add_remove", unit="row")

    @property
    def _steps(self) -> int:
        """Rows added or removed between neighbours, where each row is protected by itself."""
        return self.pricing.rows * (2 if self.setting.neighbours.kind == "substitute" else 1)

    def _mechanism(self, level: Fraction, epsilon: Fraction) -> Exponential:
        near = self.setting.neighbours
        if self.pricing.keyed:
            return Exponential(Linf(Fraction(sensitivity(level, "add_remove")), self._row), epsilon / self._steps)
        return Exponential(Linf(Fraction(self.pricing.rows * sensitivity(level, near.kind)), near), epsilon)

    def _draws(self, level: Fraction) -> list[Exponential]:
        """The value, and the two ends if they are bought."""
        ends = [self._mechanism(level, self.pricing.end)] * 2 if self.pricing.end else []
        return [self._mechanism(level, self.pricing.value), *ends]

    @property
    def guarantee(self) -> Guarantee:
        size = self.pricing.size
        drawn = [mechanism.guarantee for level in self.levels for mechanism in self._draws(level)]
        parts = [] if size is None else [size.guarantee]
        if not self.pricing.keyed:
            return compose.in_sequence([*parts, *drawn], label=self.name)
        each = compose.in_sequence(drawn, label="one group")
        rows = compose.across([each] * self.groups, neighbours=self._row, label="all groups")
        parts.append(compose.of_person(rows, self.setting.neighbours, rows=self.pricing.rows))
        return compose.in_sequence(parts, label=self.name)

    # --- from ranks to answers --------------------------------------------------------------------------------------

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer:
        (result,) = results
        sizes = self._sizes(result, entropy)
        cells: list[Cell] = []
        for place, (data, size) in enumerate(zip(result.ranks, sizes, strict=True)):
            found = self._group(runs(self.cells, data), size, entropy)
            for outcome in found:
                cells.append(Cell(self.labels[len(cells)], outcome))
            assert len(cells) == (place + 1) * len(found)
        return Answer(self.name, tuple(cells), self.caveats)

    def _sizes(self, result: Result, entropy: Entropy) -> list[Size]:
        """Values and ties of each group, noisy where they are private.

        A row added or removed changes exactly one of (different cells, further values in a cell already held) by one.
        """
        mechanism = self.pricing.size
        if mechanism is None:
            return [_public(float(self.units or 0)) for _ in result.ranks]
        held = [(len(data.cells), int(data.counts.sum()) - len(data.cells)) for data in result.ranks]
        beyond = mechanism.radius(0.02)
        if self.units is not None:
            ties = noisy([(more,) for _, more in held], mechanism, entropy)
            units = float(self.units)
            return [Size(units, more > max(beyond, TIED * units), units) for (more,) in ties]
        pairs = noisy(held, mechanism, entropy)
        spread = two_laplace_tail(FLATTERED) * float(mechanism.scale)
        return [Size(float(a + b), b > max(beyond, TIED * (a + b)), float(a + b - spread)) for a, b in pairs]

    def _group(self, data: Runs, size: Size, entropy: Entropy) -> list[Outcome[Estimate]]:
        if not all(self.feasible(level, size) for level in self.levels):
            return [NO_REPLY] * (1 if self.spread else len(self.levels))
        drawn = [self._quantile(level, data, size, entropy) for level in self.levels]
        if self.spread:
            return [Reply(self._distance(drawn[0], drawn[1], size))]
        return [Reply(self._estimate(level, found, size)) for level, found in zip(self.levels, drawn, strict=True)]

    def _quantile(self, level: Fraction, found: Runs, size: Size, entropy: Entropy) -> Drawn:
        value, *ends = self._draws(level)
        middle = draw(found, level, 0, value, entropy)
        low, high = self.cells.lowest, self.cells.highest
        if ends:
            shift = self._shift(level, size)
            low = draw(found, level, -shift, ends[0], entropy)
            high = draw(found, level, shift, ends[1], entropy)
        edges = self.cells.edges
        least, most = edges(middle)
        return Drawn(
            float(edges(low)[0]), float(self.cells.value(middle)), float(edges(high)[1]), float(least), float(most)
        )

    def rate(self, mechanism: Exponential, level: Fraction) -> float:
        """How much one rank costs: the exponent of the law of the rank error."""
        return float(mechanism.rate * level.denominator)

    def _shift(self, level: Fraction, size: Size) -> int:
        """D: ranks between the level and an end."""
        end = 1.0 / self.rate(self._mechanism(level, self.pricing.end), level)
        value = 1.0 / self.rate(self._mechanism(level, self.pricing.value), level)
        if size.tied:
            # A cell D ranks off weighs exp(-rate D) / share against the cell aimed at, whatever ties lie between.
            return math.ceil(self._against_prior(100.0) * end + normal_half_width(self._sampling(level, size.values)))
        if not self.spread:
            return math.ceil(rank_shift(self._sampling(level, size.values), end, value))
        # sampling variance of the number of values between the quartiles; two draws on either side share the shift
        low, high = (float(q) for q in self.levels)
        variance = low * (1 - low) + high * (1 - high) - 2 * low * (1 - high)
        return math.ceil(
            UNEVEN * rank_shift(self._alike * max(size.values, 0.0) * variance, end, value, pairs=True) / 2.0
        )

    @property
    def _alike(self) -> int:
        """Values of one person count as equal to each other: the worst case for sampling."""
        return kept_rows(self.setting.schema.person, self.query.per)

    def _sampling(self, level: Fraction, size: float) -> float:
        q = float(level)
        return self._alike * max(size, 0.0) * q * (1.0 - q)

    def _estimate(self, level: Fraction, drawn: Drawn, size: Size) -> Estimate:
        low, high = min(drawn.low, drawn.high, drawn.least), max(drawn.low, drawn.high, drawn.most)
        if not self.pricing.end:
            return Estimate(drawn.value, low, high, high - low, 0.0)
        slope = abs(drawn.high - drawn.low) / (2.0 * self._shift(level, size))
        rank = 1.0 / self.rate(self._mechanism(level, self.pricing.value), level)
        # Among ties the value may be as far off as the interval allows for; elsewhere its rank error has a known law.
        radius = self._against_prior(100.0) * rank if size.tied else half_width(NONE, [rank])
        return Estimate(
            drawn.value, low, high, radius * slope, normal_half_width(self._sampling(level, size.values)) * slope
        )

    def _distance(self, first: Drawn, third: Drawn, size: Size) -> Estimate:
        value = max(third.value - first.value, 0.0)
        ends = [third.low - first.high, third.high - first.low, third.least - first.most, third.most - first.least]
        low, high = max(min(ends), 0.0), max(*ends, 0.0)
        if not self.pricing.end:
            return Estimate(value, 0.0, high, high, 0.0)
        parts = [self._estimate(q, drawn, size) for q, drawn in zip(self.levels, (first, third), strict=True)]
        noise = math.hypot(*(part.noise for part in parts))
        one, two = (part.sampling for part in parts)
        # the quartiles of one sample are correlated by 1/3
        sampling = math.sqrt(one**2 + two**2 - (2 / 3) * one * two)
        return Estimate(value, low, high, noise, sampling)

    # --- the rule of refusal ------------------------------------------------------------------------------------------

    def feasible(self, level: Fraction, size: Size) -> bool:
        """Whether the data outweigh the public prior, but for probability BETA, at every cell that is bought.

        A cell beyond all the data scores b times the ranks it is away, so it is drawn with at most
        exp(-rate ranks) / share, where ``share`` is the prior weight of the cell the data ask for.
        """
        needed = self._against_prior(1.0 / BETA)
        ranks = size.surely * float(min(level, 1 - level))
        value, *ends = self._draws(level)
        if self.rate(value, level) * ranks < needed:
            return False
        return not ends or self.rate(ends[0], level) * (ranks - self._shift(level, size)) >= needed

    def _against_prior(self, odds: float) -> float:
        """What a score must cost for the data's cell to outweigh the whole prior at these odds."""
        return math.log(odds) - math.log(cell_share(self.cells))

    def refuse_if_hopeless(self, most: int) -> None:
        """Refuse before rows are read where not even ``most`` values could outweigh the prior.

        Raises
        ------
        QuestionError
        """
        for level in self.levels:
            if not self.feasible(level, _public(float(most))):
                raise QuestionError(
                    f"{self.name} at this ε would be a guess: with {most:,} values, too few lie on either "
                    f"side of level {show(level)}. A larger ε, bounds known without the file, or a level nearer "
                    "the middle helps. Nothing was charged."
                )

    def expected(self, people: int) -> Expected:
        """In units of the column's spread: a normal shape without bounds, an even one with them."""
        size = (people if self.units is None else self.units) / self.groups
        if not all(self.feasible(level, _public(size)) for level in self.levels):
            return Expected(None, None, FEW)
        bounded = self.cells.step is not None and len(self.cells.segments) == 1
        width = float(self.cells.edges(self.cells.highest)[1] - self.cells.edges(self.cells.lowest)[0])
        spread = width / 6.0 if bounded else 1.0
        noise = sampling = 0.0
        for level in self.levels:
            slope = spread / (size * _density(float(level)))
            value = self._mechanism(level, self.pricing.value)
            noise = math.hypot(noise, half_width(NONE, [1.0 / self.rate(value, level)]) * slope)
            sampling = math.hypot(sampling, normal_half_width(self._sampling(level, size)) * slope)
        if self.spread:
            sampling *= math.sqrt(2 / 3)
        note = "assumes a standard deviation of 1/6 of the range" if bounded else "in standard deviations of the column"
        return Expected(noise, sampling, f"{note}, normal; may give no reply")


def _public(values: float) -> Size:
    return Size(values, False, values)


def _density(level: float) -> float:
    """Density of the standard normal at its quantile of this level."""
    from statistics import NormalDist

    normal = NormalDist()
    return normal.pdf(normal.inv_cdf(level))
