"""The plan of a question without bounds: its draws on one column, and the accuracy to expect."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from reticent.data.candidates import Cells
from reticent.data.order_statistics import RankWindows
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough, to_digits
from reticent.statistics.column_step import GroupResult
from reticent.statistics.context import HEAPED, LIKELY, ExpectedAccuracy, Replies, ShapeWidths, StepWork, of_any
from reticent.statistics.intervals import FEW, SPANNING, TIES, spans_most
from reticent.statistics.magnitude import reach
from reticent.statistics.quantiles.shapes import (
    NO_SHAPE,
    SPANS,
    TYPICAL,
    ColumnShape,
    of_free,
    quartile_distance,
    unit_of,
    unit_words,
)
from reticent.statistics.tails import near
from reticent.statistics.unbounded import expected_accuracy
from reticent.statistics.unbounded.clipped_mean import ClippedMean
from reticent.statistics.unbounded.coinpress import CoinPressEstimate, CoinPressMean
from reticent.statistics.unbounded.expected_accuracy import Widths
from reticent.statistics.unbounded.joint import JointQuantiles
from reticent.statistics.unbounded.location import Huber
from reticent.statistics.unbounded.quantile_range import QuantileRange
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean as Inverse

Made: TypeAlias = ClippedMean | CoinPressMean | JointQuantiles | QuantileRange | Huber | Inverse
BEYOND: Final = "no reply where the values cannot outweigh the public candidates at this ε"
EMPTY: Final = "no reply where the noisy number of values is too small to divide by"


@dataclass(frozen=True, slots=True)
class Group:
    """The values of one group, and its public name; empty where there is one group alone."""

    label: str
    counts: Counts

    def estimand(self, said: str) -> str:
        """An estimand behind the name of the group that it is of; empty where nothing is said."""
        return f"{self.label}: {said}" if self.label and said else said


@dataclass(frozen=True, slots=True)
class ColumnResult:
    """Result of one draw: estimates, words beside them, and the estimand if only the draw determines it."""

    estimates: list[Estimate]
    words: tuple[str, ...] = ()
    estimand: str = ""


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One of this package's statistics about one column.

    ``bounds`` are those of the column or the question; None if there are none. ``levels`` are in the order asked.
    ``values`` names the column, or its averages by person. ``cap`` is the clause on the rows kept of a person.
    ``resolution`` is the declared step of a real column.
    """

    made: Made
    bounds: tuple[Fraction, Fraction] | None
    levels: tuple[Fraction, ...] = ()
    values: str = "the column"
    cap: str = ""
    resolution: Fraction | None = None

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def windows(self) -> RankWindows | None:
        """The ranks that are looked at; a trimmed mean looks at all values."""
        if self._joint is not None:
            return self._joint.windows
        return self.made.windows if isinstance(self.made, ClippedMean | CoinPressMean | Huber) else None

    @property
    def work(self) -> StepWork:
        """Quantiles are drawn from sorted values, and nothing else is."""
        return StepWork(sorts=self._joint is not None, half_widths=12 if isinstance(self.made, QuantileRange) else 5)

    def draw(self, data: Group, entropy: Entropy) -> GroupResult:
        match self._drawn(data.counts, entropy):
            case NoReply():
                return GroupResult((NO_REPLY,) * max(len(self.levels), 1), (self._declined,), label=data.label)
            case Reply(told):
                named = data.estimand(f"{told.estimand}{self.cap}" if told.estimand else "")
                replies = tuple(Reply(estimate) for estimate in told.estimates)
                return GroupResult(replies, self._said(told), named, data.label)

    def _said(self, told: ColumnResult) -> tuple[str, ...]:
        """The words of a draw; where an interval is as wide as the bounds, ties are beside the point."""
        if self._joint is None or not self._joint.wanted or self.bounds is None:
            return told.words
        low, high = map(float, self.bounds)
        ends = (0.0, high - low) if isinstance(self.made, QuantileRange) else (low, high)
        if not any(spans_most(one, ends) for one in told.estimates):
            return told.words
        return (*(words for words in told.words if words != TIES), SPANNING)

    def _drawn(self, counts: Counts, entropy: Entropy) -> Outcome[ColumnResult]:
        """The estimates, in the order asked, and what they say of themselves."""
        match self.made:
            case ClippedMean():
                match self.made.draw(counts, entropy):
                    case Reply(cut):
                        return Reply(ColumnResult([cut.estimate], cut.words, cut.estimand(self.values)))
                    case NoReply():
                        return NO_REPLY
            case JointQuantiles():
                match self.made.draw(counts, entropy):
                    case Reply(drawn):
                        found = dict(zip(self.made.levels, self.made.estimates(drawn), strict=True))
                        return Reply(ColumnResult([found[level] for level in self.levels], self.made.said(drawn)))
                    case NoReply():
                        return NO_REPLY
            case Huber():
                match self.made.draw(counts, entropy):
                    case Reply(located):
                        return Reply(ColumnResult([located.estimate], (), located.estimand(self.values)))
                    case NoReply():
                        return NO_REPLY
            case CoinPressMean():
                match self.made.draw(counts, entropy):
                    case Reply(pressed):
                        return Reply(ColumnResult([pressed.estimate], (), self._pressed(self.made, pressed)))
                    case NoReply():
                        return NO_REPLY
            case QuantileRange():
                match self.made.told(counts, entropy):
                    case Reply((distance, words)):
                        return Reply(ColumnResult([distance], words))
                    case NoReply():
                        return NO_REPLY
            case Inverse():
                match self.made.draw(counts, entropy):
                    case Reply(estimate):
                        return Reply(ColumnResult([estimate]))
                    case NoReply():
                        return NO_REPLY
            case _:
                assert_never(self.made)

    def _pressed(self, made: CoinPressMean, found: CoinPressEstimate) -> str:
        """Estimand of CoinPress: the population mean if its declared premises hold, else a mean of clipped values."""
        told = near(made.centre, made.radius, made.deviation)
        ends = f"[{to_digits(found.low)}, {to_digits(found.high)}]"
        return f"population mean of {self.values}, {told}; else mean of values cut to {ends}"

    @property
    def made_cells(self) -> Cells:
        """The candidates of the column."""
        return self.made.joint.cells if isinstance(self.made, QuantileRange) else self.made.cells

    @property
    def _declined(self) -> str:
        return EMPTY if isinstance(self.made, CoinPressMean) else BEYOND

    def expected(self, people: int) -> ExpectedAccuracy:
        """For a normal column: of a sixth of the range as deviation with bounds.

        Without them quantiles are in distances of its quartiles, others in its standard deviations.
        """
        replies = self._replies(float(people))
        usual = self._ties(float(people))
        widths = self._widths(float(people), ties=usual) if replies[0][1] >= LIKELY else None
        if widths is None:
            return ExpectedAccuracy(None, None, FEW, replies)
        noise, sampling = widths
        heaped = self._heaped(float(people), replies) if not usual else None
        if isinstance(self.made, CoinPressMean):
            return ExpectedAccuracy(noise, sampling, "assumes the standard deviation declared", replies)
        more = expected_accuracy.for_tail(self.made, float(people)) if isinstance(self.made, ClippedMean) else 0.0
        if self.bounds is None:
            allowed = f"; \u00b1 {rough(more)} more for the declared tail" if more else ""
            scale, named, told = self._scale
            note = f"{told}, {self._values(float(people), replies)}; may give no reply{reach(self.made_cells)}{allowed}"
            found = (*_others(heaped, 1.0 / scale), *self._free_shapes(float(people), heaped=heaped is not None))
            tied = self._joint is not None and expected_accuracy.typically(self._joint, float(people), self.resolution)
            typical = HEAPED if tied else ""
            return ExpectedAccuracy(noise / scale, sampling / scale, note, replies, found, unit=named, typical=typical)
        unit = float(self.bounds[1] - self.bounds[0]) / SPANS
        allowed = f"; \u00b1 {rough(more * unit)} more for the declared tail" if more else ""
        which = "1/6" if self._joint is None else "1/8"
        values = self._values(float(people), replies)
        note = f"for a standard deviation of {which} of the range, {values}; may give no reply{allowed}"
        note += "" if self._joint is None else f"; {NO_SHAPE}"
        others = self._other_shapes(float(people), replies, unit, tied=usual)
        found = others or _others(heaped, unit)
        return ExpectedAccuracy(noise * unit, sampling * unit, note, replies, found, typical=TYPICAL.name)

    def _other_shapes(self, n: float, replies: Replies, unit: float, *, tied: bool) -> tuple[ShapeWidths, ...]:
        """Half-widths between bounds for the other public shapes; none of CoinPress, which is told a deviation."""
        if isinstance(self.made, ClippedMean | Huber | Inverse):
            usual = self._widths(n, ties=False)
            each = () if usual is None else expected_accuracy.of_centre_in_other_shapes(self.made, n, usual)
            return tuple((name, noise * unit, sampling * unit) for name, (noise, sampling) in each)
        if not isinstance(self.made, JointQuantiles | QuantileRange) or self._joint is None:
            return ()
        heaped = self._joint.census is not None and dict(replies)[HEAPED] >= LIKELY
        found = expected_accuracy.in_other_shapes(self.made, n, unit, self.resolution, usually_tied=tied, heaped=heaped)
        return tuple((name, noise * unit, sampling * unit) for name, (noise, sampling) in found)

    @property
    def _scale(self) -> tuple[float, str, str]:
        """The unit of half-widths without bounds: its length in deviations of a normal shape, its name, and words."""
        if self._joint is None:
            return 1.0, "sd", "in standard deviations of the column"
        spread = isinstance(self.made, QuantileRange)
        return quartile_distance(None), unit_of(spread=spread), unit_words(spread=spread)

    def _free_shapes(self, n: float, *, heaped: bool) -> tuple[ShapeWidths, ...]:
        """Half-widths of quantiles for other shapes without bounds; ``heaped`` where tied values have a reply."""
        each = ((name, shape, self._of_free(n, shape, ties=ties)) for name, shape, ties in of_free(heaped=heaped))
        scaled = ((name, found, quartile_distance(shape)) for name, shape, found in each if found is not None)
        return tuple((name, found[0] / scale, found[1] / scale) for name, found, scale in scaled)

    def _of_free(self, n: float, shape: ColumnShape, *, ties: bool) -> Widths:
        match self.made:
            case JointQuantiles():
                return expected_accuracy.of_quantiles(self.made, n, None, ties=ties, shape=shape)
            case QuantileRange():
                return expected_accuracy.of_spread(self.made, n, None, ties=ties, shape=shape)
            case _:
                return None

    @property
    def _spread(self) -> float | None:
        """The deviation that a plan supposes within bounds."""
        return None if self.bounds is None else float(self.bounds[1] - self.bounds[0]) / SPANS

    @property
    def _joint(self) -> JointQuantiles | None:
        return (
            self.made.joint
            if isinstance(self.made, QuantileRange)
            else (self.made if isinstance(self.made, JointQuantiles) else None)
        )

    def _ties(self, n: float) -> bool:
        """Tell if n values of the usual shape count as tied."""
        return self._joint is not None and expected_accuracy.tied(self._joint, n, self._spread)

    def _heaped(self, n: float, replies: Replies) -> Widths:
        """Widths of values of which many are equal; None where they would have no reply, or ties play no part."""
        if self._joint is None or self._joint.census is None or dict(replies)[HEAPED] < LIKELY:
            return None
        return self._widths(n, ties=True)

    def _values(self, n: float, replies: Replies) -> str:
        """Words on the values that the first width is of."""
        if self._joint is None or self._joint.census is None or dict(replies)[HEAPED] < LIKELY:
            return "normal"
        return expected_accuracy.typical_words(self._joint, n, self.resolution)

    def _widths(self, n: float, *, ties: bool) -> Widths:
        match self.made:
            case ClippedMean():
                return expected_accuracy.of_mean(self.made, n)
            case CoinPressMean():
                return expected_accuracy.of_coinpress(self.made, n)
            case JointQuantiles():
                return expected_accuracy.of_quantiles(self.made, n, self._spread, ties=ties)
            case QuantileRange():
                return expected_accuracy.of_spread(self.made, n, self._spread, ties=ties)
            case Huber():
                return expected_accuracy.of_location(self.made, n)
            case Inverse():
                return expected_accuracy.of_trimmed(self.made, n)
            case _:
                assert_never(self.made)

    def _replies(self, n: float) -> Replies:
        spread = self._spread
        match self.made:
            case ClippedMean():
                return expected_accuracy.of_clipped(self.made, n)
            case CoinPressMean():
                return expected_accuracy.of_pressed(self.made, n)
            case JointQuantiles():
                return expected_accuracy.of_size(self.made, n, spread)
            case QuantileRange():
                return expected_accuracy.of_size(self.made.joint, n, spread)
            case Huber():
                return expected_accuracy.of_huber(self.made, n)
            case Inverse():
                return of_any(0.0 if expected_accuracy.of_trimmed(self.made, n) is None else 1.0)
            case _:
                assert_never(self.made)


def _others(widths: Widths, unit: float) -> tuple[ShapeWidths, ...]:
    """The widths of heaped values as a plan has them, in ``unit``."""
    return () if widths is None else ((HEAPED, widths[0] * unit, widths[1] * unit),)
