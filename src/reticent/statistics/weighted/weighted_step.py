"""Counts, sums, means, shares and histograms of weighted rows, with intervals for the population.

The soft counts of ``soft_weights`` give noisy sums of v^a y^j, v the weight and y the value. A weighted mean is the
ratio R of two of them. Its error is, to first order, the sum of v (y - R), divided by the weights: rows give its
variance, the sum of v^2 (y - R)^2, and the law of the noise of the same form is known. A total is a sum of v times a
value. See docs/proofs/weights.md.

    strata     the same sums in each stratum, for 1/5 of the price: what their totals differ by is no sampling error
    margins    the ratio in each group of public size N: calibrated, the mean is the sum of N R over the sum of N
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reticent.data.column_kinds import AMOUNT_PART, are_amounts
from reticent.data.design import SampleDesign
from reticent.data.query import PARTS, Query, WeightedMoments, WeightedTally
from reticent.mechanisms.geometric import Geometric, laplace_radius
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import CLIPPED, Answer, Cell, Label
from reticent.statistics.context import (
    ALWAYS,
    COMMON,
    EQUAL_GROUPS,
    RARE,
    SHAPES,
    ExpectedAccuracy,
    Margin,
    Setting,
    guarantee_of,
    noisy,
    of_any,
    of_persons,
    passing,
    summed,
)
from reticent.statistics.error_law import ErrorLaw, SampledVariance, combined
from reticent.statistics.intervals import FEW, UNSURE, estimated_factor, spread, too_few, within_bounds
from reticent.statistics.moments.moment_step import AMOUNTS
from reticent.statistics.quantiles.shapes import WeightShape, of_weights
from reticent.statistics.weighted.soft_weights import Form, WeightDesign

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

Shape = Literal["mean", "total"]
Sums: TypeAlias = dict[tuple[int, int], float]  # of v^a y^j, noisy, by (a, j)
EQUAL_BINS: Final = "; bins of equal size"
CLEAR: Final = 10.0  # a stratum whose rows are fewer than so many deviations of their noise takes nothing off


@dataclass(frozen=True, slots=True)
class StrataPart:
    """The sums of each stratum with noise of their own, behind those of all rows.

    ``beyond`` has for each stratum the part of its population that was drawn, beyond the least of all strata.
    """

    mechanism: Geometric
    beyond: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Public sizes of the groups of an answer, as parts of their sum, and the sum itself where a total is asked."""

    shares: tuple[float, ...]
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class ValueShape:
    """Mean and mean square of y that a plan supposes, and the words of its note."""

    name: str
    mean: float
    square: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class WeightedStep:
    """One or several numbers per group from weighted sums, each of ``design.width`` times three integers.

    With ``strata`` the second half of the queries asks the same of every stratum, and with ``calibration`` all groups
    give one number.

    ``middle`` and ``half`` turn y into the unit of the answer. ``bins`` is the number of totals of one group. With
    ``whole`` a total is of all rows, and the sampling error of their weights about their mean is all there is.
    ``alike`` is the most rows of one person, which count as equal. ``merged`` is the number of groups of a margin.
    """

    name: str
    queries: tuple[Query, ...]
    shape: Shape
    design: WeightDesign
    mechanism: Geometric
    setting: Setting
    sample: SampleDesign
    middle: float
    half: float
    least: float | None
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    estimand: str = ""
    bins: int = 1
    whole: bool = False
    alike: int = 1
    interval: bool = True
    highest: float = 1.0
    margins: tuple[Margin, ...] = ()
    merged: int = 1
    strata: StrataPart | None = None
    calibration: Calibration | None = None

    @property
    def guarantee(self) -> Guarantee:
        if self.strata is None:
            return guarantee_of(self.mechanism, self.setting, self.name)
        return compose.in_sequence([self.mechanism.guarantee, self.strata.mechanism.guarantee], label=self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        whole = len(results) // 2 if self.strata is not None else len(results)
        drawn = noisy(list(self._protected(results[:whole])), self.mechanism, entropy)
        if self.strata is not None:
            within = noisy(list(self._protected(results[whole:])), self.strata.mechanism, entropy)
            found = [self._law(self.design.sums(drawn[0]), [self.design.sums(one) for one in within])]
        elif self.calibration is not None:
            found = [self._calibrated([law for vector in drawn for law in self._laws(vector)], self.calibration)]
        else:
            found = [law for vector in drawn for law in self._laws(vector)]
        cells = [self._cell(label, law) for label, law in zip(self.labels, found, strict=True)]
        for label, places in self.margins:
            several = replace(self, merged=len(places))
            laws = several._laws(summed(drawn, places))
            inner = [own[-1:] for own in self.labels[: self.bins]] if self.bins > 1 else [()]
            labelled = zip(inner, laws, strict=True)
            cells += [replace(several._cell((*label, *own), law), error=None) for own, law in labelled]
        moved = any(law is not None and self._shown(law) != _plain(law) for law in found)
        return Answer(self.name, tuple(cells), (*self.caveats, CLIPPED) if moved else self.caveats)

    def _protected(self, results: Sequence[QueryResult]) -> Iterator[tuple[int, ...]]:
        """The integers of each group that get noise."""
        if len(results) == 1:
            (result,) = results
            for vector in result.vectors:
                yield self.design.integers(vector) if self.bins == 1 else vector
            return
        chosen, present = results  # of a share: others and chosen, for each part of the weights
        for ones, rows in zip(chosen.vectors, present.vectors, strict=True):
            yield tuple(number for one, row in zip(ones, rows, strict=True) for number in (row - one, one))

    def _laws(self, vector: Sequence[int]) -> list[ErrorLaw | None]:
        """The laws of the numbers of one group; None for no reply."""
        each = PARTS * self.design.width
        return [self._law(self.design.sums(vector[start : start + each])) for start in range(0, self.bins * each, each)]

    # --- one number -------------------------------------------------------------------------------------------------

    def noise_of(self, form: Form) -> list[float]:
        """Scales of the independent noises in a linear form of the sums of v^a y^j."""
        scale = float(self.mechanism.scale)
        return [scale * one for one in self.design.coefficients(form)] * self.merged

    def _law(self, sums: Sums, strata: Sequence[Sums] = ()) -> ErrorLaw | None:
        return self._mean(sums, strata) if self.shape == "mean" else self._total(sums, strata)

    def _calibrated(self, laws: Sequence[ErrorLaw | None], to: Calibration) -> ErrorLaw | None:
        """The law of the groups' means, weighted by public sizes; None where a group has too few rows."""
        told = [law for law in laws if law is not None]
        if len(told) < len(laws):
            return None
        return combined([to.times * share for share in to.shares], told, {})

    def _within(self, strata: Sequence[Sums], of_z: Form, own: dict[int, float]) -> tuple[float, float]:
        """The part of the sum of squares of z that is no sampling error, and the deviation of its noise.

        It is what the totals of strata say, and what was drawn of a stratum beyond the least of all. ``of_z`` is z, of
        which ``own`` has the square, as forms of the sums.
        """
        if self.strata is None or not strata:  # a plan has none
            return 0.0, 0.0
        by_itself = replace(self, mechanism=self.strata.mechanism, strata=None)
        blur = spread(by_itself.noise_of(of_z))
        squared: Form = {(2, j): w for j, w in own.items()}
        of_rows, of_squares = spread(by_itself.noise_of({(0, 0): 1.0})), spread(by_itself.noise_of(squared))
        found = doubt = 0.0
        for sums, beyond in zip(strata, self.strata.beyond, strict=True):
            rows = sums[0, 0]
            if rows < max(CLEAR * of_rows, 2.0):
                continue
            total = sum(w * sums[place] for place, w in of_z.items())
            square = sum(w * sums[place] for place, w in squared.items())
            between = (total * total - 2.0 * blur * blur) / rows  # noise of scale s has the variance 2 s^2
            between -= max(square - between, 0.0) / (rows - 1.0)  # squares about a mean are fewer by one
            found += between + beyond * (square - between)
            doubt += ((1.0 - beyond) * 2.0 * total * blur / rows) ** 2 + (beyond * of_squares) ** 2
        return found, math.sqrt(doubt)

    def _mean(self, sums: Sums, strata: Sequence[Sums] = ()) -> ErrorLaw | None:
        if self._declines(sums):
            return None
        weights = sums[1, 0]
        ratio = sums[1, 1] / weights
        inner = min(max(ratio, -1.0), 1.0)
        of_z: Form = {(1, 1): 1.0, (1, 0): -inner}
        scales, own = self.noise_of(of_z), self._own({0: inner * inner, 1: -2.0 * inner, 2: 1.0})
        squares = self._squares(sums, own, (1.0 + abs(inner)) ** 2, {}, self._within(strata, of_z, own or {}))
        factor = self.half / weights
        return ErrorLaw(
            self.middle + self.half * ratio,
            tuple(abs(factor * scale) for scale in scales if scale),
            sampling=None if squares is None else squares.times(self._times(_equal(sums)) * factor * factor),
        )

    def _declines(self, sums: Sums) -> bool:
        """Tell if rows are too few, or weights too uncertain, to divide by."""
        rows, weights = sums[0, 0], sums[1, 0]
        sure = spread(self.noise_of({(1, 0): 1.0}))
        return too_few(rows, self.noise_of({(0, 0): 1.0})) or weights < laplace_radius(sure, UNSURE)

    def _total(self, sums: Sums, strata: Sequence[Sums] = ()) -> ErrorLaw:
        ends = {(1, 0): self.middle, (1, 1): self.half} if self.design.width > 1 else {(1, 0): self.middle}
        value = sum(w * sums[place] for place, w in ends.items())
        scales = self.noise_of(ends)
        own = self._own({0: self.middle**2, 1: 2.0 * self.middle * self.half, 2: self.half**2})
        about: Form = {}
        if self.whole and self.strata is None and sums[0, 0] >= 1.0:
            mean = value / sums[0, 0]
            about = {**{place: -2.0 * mean * w for place, w in ends.items()}, (0, 0): mean * mean}
        most = (abs(self.middle) + abs(self.half)) ** 2
        squares = self._squares(sums, own, most, about, self._within(strata, ends, own or {}))
        return ErrorLaw(
            self.highest * value,
            tuple(abs(self.highest * scale) for scale in scales if scale),
            sampling=None if squares is None else squares.times(self._times(sums[0, 0]) * self.highest**2),
        )

    def _times(self, size: float) -> float:
        """Factor of the sampling variance: rows of one person are taken as equal, the design, and Student's law."""
        return self.alike * float(self.sample.factor) * estimated_factor(size / self.alike)

    def _own(self, own: dict[int, float]) -> dict[int, float] | None:
        """The square of a polynomial of y by powers that there are; None where squares were not bought.

        The square of a share's y is 1, and weights by themselves have no y.
        """
        if self.design.is_counted:
            return {j: w for j, w in own.items() if j == 1 and self.design.width == 2} | {
                0: own[0] + (own[2] if self.design.width == 2 else 0.0)
            }
        return None if self.design.width < 3 else own

    def _squares(
        self, sums: Sums, own: dict[int, float] | None, most: float, about: Form, within: tuple[float, float]
    ) -> SampledVariance | None:
        """The sum of squares of v times a polynomial of y, about a mean if any; None where it was not bought.

        ``within`` is what strata take off, and the deviation of its noise.
        """
        if own is None:
            return None
        form = {**{(2, j): w for j, w in own.items()}, **about}
        estimate = sum(w * sums[place] for place, w in form.items())
        off, blur = within
        doubt = math.hypot(spread(self.noise_of(form)), blur)
        return SampledVariance(estimate - max(off, 0.0), doubt, 0.0, max(sums[2, 0], 0.0) * most)

    def _cell(self, label: Label, law: ErrorLaw | None) -> Cell:
        if law is None:
            return Cell(label, NO_REPLY)
        return Cell(label, self._shown(law), law)

    def _shown(self, law: ErrorLaw) -> Outcome[Estimate]:
        """The estimate with what lies outside the possible values shown as the nearest possible one."""
        found = _plain(law).value
        times = 1.0 if self.calibration is None else self.calibration.times
        most = times * (self.middle + self.half) if self.shape == "mean" else math.inf
        least = -math.inf if self.least is None else times * self.least
        return Reply(within_bounds(found, least, most))

    # --- the plan ---------------------------------------------------------------------------------------------------

    def expected(self, people: int) -> ExpectedAccuracy:
        """For values and weights of a typical column, and over public shapes of both."""
        return of_persons(self._expected, people, self.alike, self.setting.schema.person)

    def _expected(self, people: int) -> ExpectedAccuracy:
        usual, typical, *weights = self._weights(people)
        middle, *values = self._values
        common = values[0] if values else middle
        least = people / max(len(self.labels), 1) if self.calibration is None else people * min(self.calibration.shares)
        replies, law = ALWAYS, self._supposed_law(people, middle, usual)
        if self.shape == "mean":
            drawn = self.noise_of({(0, 0): 1.0})
            replies = of_any(passing(lambda number: not too_few(number, drawn), least, drawn))
        if law is None:
            return ExpectedAccuracy(None, None, FEW, replies)
        laws = [(one.name, self._supposed_law(people, one, typical)) for one in values]
        laws += [(f"weights {one.name}", self._supposed_law(people, common, one)) for one in weights]
        if not values:
            laws.insert(0, (f"weights {typical.name}", self._supposed_law(people, common, typical)))
        if self.bins > 1:
            most, few = 0.9 * self.bins * people, 0.01 * people
            laws.append(("a bin of nine rows in ten", self._supposed_law(most, common, weights[0])))
            laws.append(("a bin a hundredth as large", self._supposed_law(few, common, weights[-1])))
        others = tuple((name, *self._widths(one)) for name, one in laws if one is not None)
        first = laws[0][0] if laws[0][1] is not None else ""
        return ExpectedAccuracy(*self._widths(law), self._note(common, typical), replies, others, typical=first)

    def _note(self, values: ValueShape, weights: WeightShape) -> str:
        note = f"{values.words}weights {weights.words}"
        if self.strata is not None:
            note += "; what strata take off is not planned"
        if self.calibration is not None:
            note += "; groups drawn in proportion to their sizes"
        return note + (EQUAL_BINS if self.bins > 1 else "") + (EQUAL_GROUPS if self.setting.keys is not None else "")

    def _widths(self, law: ErrorLaw) -> tuple[float, float | None]:
        return law.noise, law.sampled if self.interval else None

    def _weights(self, rows: float) -> tuple[WeightShape, ...]:
        """Public shapes of the weights: the usual, and the typical one first."""
        weights = (query.weight for query in self.queries if isinstance(query, WeightedMoments | WeightedTally))
        return of_weights(next(weights), self.setting.schema, rows)

    @property
    def _values(self) -> tuple[ValueShape, ...]:
        """Public shapes of the values, the usual, and the typical one first: of numbers, of shares, of rows alone."""
        if self.design.width == 1:
            return (ValueShape("", 0.0, 0.0),)
        if self.design.is_counted:
            each = ((f"a share of {share}", share, f"a share of {share}, ") for share in (0.5, COMMON, RARE))
            return tuple(ValueShape(name, 2.0 * share - 1.0, 1.0, words) for name, share, words in each)
        ends = self.middle - self.half, self.middle + self.half
        columns = [query.column for query in self.queries if isinstance(query, WeightedMoments) and query.column]
        amount = any(are_amounts(self.setting.schema.columns.get(name), *ends) for name in columns)
        words = f"for a standard deviation of 1/{AMOUNT_PART if amount else 8} of the range, "
        shapes = (SHAPES[0], AMOUNTS, *SHAPES[1:]) if amount else SHAPES
        return tuple(ValueShape(one.name, one.mean, one.mean**2 + one.deviation**2, words) for one in shapes)

    def _supposed_law(self, people: float, values: ValueShape, weights: WeightShape) -> ErrorLaw | None:
        """The law of the answer for so many rows of these shapes; None for no reply."""
        if self.calibration is None:
            return self._law(self._supposed(people / max(len(self.labels), 1), values, weights))
        sizes = (people * share for share in self.calibration.shares)
        return self._calibrated([self._law(self._supposed(one, values, weights)) for one in sizes], self.calibration)

    def _supposed(self, size: float, values: ValueShape, weights: WeightShape) -> Sums:
        """The sums of so many rows with weights of a shape that tell nothing of the values."""
        powers = (1.0, values.mean, values.square)
        return {(a, j): size * weights.powers[a] * powers[j] for a in range(PARTS) for j in range(self.design.width)}


def _equal(sums: Sums) -> float:
    """Number of rows with equal weights whose mean is as sure: Kish's, of the rows at most."""
    rows, weights, squares = sums[0, 0], sums[1, 0], sums[2, 0]
    return rows if squares * rows <= weights * weights else weights * weights / squares


def _plain(law: ErrorLaw) -> Reply[Estimate]:
    radius = law.half_width()
    return Reply(Estimate(law.value, law.value - radius, law.value + radius, law.noise, law.sampled))
