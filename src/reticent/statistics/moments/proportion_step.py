"""The share of one value of a category, with an interval for the population share.

Rows come and go (add/remove, groups): (others, chosen) is protected, which one row moves by 1 in L1. Rows are
replaced: (present, chosen - others) is protected, which one row moves by 2. Either costs one epsilon in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

from reticent.data.query import PresentValues, Query, Tally
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.answer import Answer, Cell, Label, ValueCount
from reticent.statistics.context import (
    COMMON,
    EQUAL_GROUPS,
    RARE,
    ExpectedAccuracy,
    Margin,
    Setting,
    StepWork,
    guarantee_of,
    noisy,
    of_any,
    of_persons,
    passing,
    summed,
)
from reticent.statistics.error_law import ErrorLaw, SampledVariance
from reticent.statistics.intervals import FEW, NONE, half_width, known, normal_half_width, too_few
from reticent.statistics.moments.proportion import Proportion

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

ROUNDS: Final = 4  # of an end; two or three settle it
NEAR: Final = 1e-3  # an end that moves by less of its distance is settled


@dataclass(frozen=True, slots=True)
class ProportionStep:
    """One share per group; ``in_place`` where rows are replaced and not moved between groups.

    ``merged`` is the number of groups whose noises are summed in a margin.
    """

    work: ClassVar[StepWork] = StepWork(half_widths=3)

    name: str
    queries: tuple[Query, ...]
    in_place: bool
    mechanism: Geometric
    setting: Setting
    alike: int
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    estimand: str = ""
    margins: tuple[Margin, ...] = ()
    merged: int = 1

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        chosen, present = results
        pairs = [self._protected(a, n) for (a,), (n,) in zip(chosen.vectors, present.vectors, strict=True)]
        drawn = noisy(pairs, self.mechanism, entropy)
        found = [self._outcome(first, second) for first, second in drawn]
        cells = tuple(
            Cell(label, outcome, None if outcome == NO_REPLY else self._error(*pair))
            for label, outcome, pair in zip(self.labels, found, drawn, strict=True)
        )
        for label, places in self.margins:
            chosen_ones, others = summed(drawn, places)
            cells = (*cells, Cell(label, replace(self, merged=len(places))._outcome(chosen_ones, others)))
        first, second = drawn[0]
        counted = first if self.in_place else first + second
        values = ValueCount(counted, tuple(self._forms(0.5)[1]))
        return Answer(self.name, cells, self.caveats, values=values)

    @property
    def column(self) -> str:
        (column,) = {query.column for query in self.queries if isinstance(query, PresentValues)}
        return column

    def _protected(self, chosen: int, present: int) -> tuple[int, int]:
        others = present - chosen
        return (present, chosen - others) if self.in_place else (others, chosen)

    def _forms(self, share: float) -> tuple[list[float], list[float]]:
        """Scales of the noises in (chosen - share x present), and in the number present."""
        scale = float(self.mechanism.scale)
        if self.in_place:
            return [scale * (0.5 - share), scale / 2.0], [scale, 0.0]
        return [scale * share, scale * (1.0 - share)] * self.merged, [scale, scale] * self.merged

    def _counted(self, first: int, second: int) -> tuple[float, float]:
        """The noisy number of rows present, and of those chosen."""
        return (first, (first + second) / 2) if self.in_place else (first + second, float(second))

    def _squares(self, size: float, raw: float) -> SampledVariance:
        """Variance of the number chosen."""
        share = min(max(raw, 0.0), 1.0)
        noise = abs(1.0 - 2.0 * share) * math.hypot(*self._forms(share)[0])
        return SampledVariance(size * raw * (1.0 - raw), noise, 0.0, size / 4.0)

    def _error(self, first: int, second: int) -> ErrorLaw:
        """The law of the error of a share."""
        size, chosen = self._counted(first, second)
        raw = chosen / size
        return ErrorLaw(
            raw,
            tuple(abs(scale) / size for scale in self._forms(min(max(raw, 0.0), 1.0))[0] if scale),
            sampling=self._squares(size, raw).times(self.alike / size**2),
            size=size if self.alike == 1 else 0.0,
        )

    def _outcome(self, first: int, second: int) -> Outcome[Estimate]:
        size, chosen = self._counted(first, second)
        if too_few(size, self._forms(0.5)[1]):
            return NO_REPLY
        raw = chosen / size
        share = min(max(raw, 0.0), 1.0)
        average = self.alike * self._squares(size, raw).average
        return Reply(
            Estimate(
                share,
                self._end(share, size, -1.0),
                self._end(share, size, 1.0),
                half_width(NONE, self._forms(share)[0]) / size,
                normal_half_width(average) / size,
            )
        )

    def _end(self, share: float, size: float, side: float) -> float:
        """The farthest share on one ``side`` (-1 or 1) whose own half-width reaches the released one (Wilson 1927)."""
        at, square = share, size * size
        for _ in range(ROUNDS):
            scales = self._forms(at)[0]
            noise, sampling = 2.0 * sum(scale * scale for scale in scales), self.alike * size * at * (1.0 - at)
            times = half_width(known(sampling), scales) ** 2 / (noise + sampling)
            # (share - at)^2 size^2 = times (noise + alike size at (1 - at)), a quadratic in at
            drawn = times * self.alike * size
            middle, whole = share * square + 0.5 * drawn, square + drawn
            root = math.sqrt(max(middle**2 - whole * (share**2 * square - times * noise), 0.0))
            before, at = at, min(max((middle + side * root) / whole, 0.0), 1.0)
            if abs(at - before) <= NEAR * abs(at - share):
                break
        return at

    def expected(self, people: int) -> ExpectedAccuracy:
        """For a share of one half."""
        return of_persons(self._expected, people, self.alike, self.setting.schema.person)

    def _expected(self, people: int) -> ExpectedAccuracy:
        size = people / len(self.labels)
        drawn = self._forms(0.5)[1]
        replies = of_any(passing(lambda number: not too_few(number, drawn), size, drawn))
        if too_few(size, drawn):
            return ExpectedAccuracy(None, None, FEW, replies)
        others = tuple((f"a share of {share}", *self._widths(share, size)) for share in (COMMON, RARE))
        note = f"assumes a share of {COMMON}{'' if len(self.labels) == 1 else EQUAL_GROUPS}"
        return ExpectedAccuracy(*self._widths(0.5, size), note, replies, others, typical=others[0][0])

    def _widths(self, share: float, size: float) -> tuple[float, float]:
        """Half-widths of noise and sampling for a share of ``size`` values."""
        noise = half_width(NONE, self._forms(share)[0]) / size
        return noise, normal_half_width(self.alike * share * (1.0 - share) / size)


def prepare(asked: Proportion, setting: Setting, epsilon: Fraction) -> ProportionStep:
    """The step that answers the question.

    Parameters
    ----------
    asked : Proportion
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    ProportionStep
    """
    asked = asked.settled(setting.schema)
    value = asked.value_in(setting.schema.column(asked.column))
    queries = (Tally(asked.column, among=(value,), keys=setting.keys), PresentValues(asked.column, setting.keys))
    rows = setting.schema.person.rows
    in_place = setting.neighbours.kind == "substitute" and setting.keys is None
    # (others, chosen) or (present, chosen - others); see proportions
    steps = 2 * rows if setting.neighbours.kind == "substitute" else rows
    mechanism = Geometric(L1(Fraction(steps), setting.neighbours), epsilon)
    return ProportionStep(
        public_facts.title(asked, setting),
        queries,
        in_place,
        mechanism,
        setting,
        rows,
        public_facts.labels(setting.keys),
        public_facts.caveats_of(asked.column, None, setting, "row"),
    )
