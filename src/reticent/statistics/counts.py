"""Counts, persons, sums and histograms: integers of this table plus geometric noise.

The interval is for the value of this table, so it has no sampling part. Noise is an integer, and the half-width is
the least integer that covers: coverage is at least 95 %, and more where one step of noise weighs much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.query import Query
from reticent.data.schema import Key
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.mechanisms import Geometric, gate
from reticent.outcome import Estimate, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.setting import Expected, Setting

BETA: Final = 0.05
CLIPPED: Final = "ends that the noise moved beyond the possible values are shown at the nearest possible one"

Label = tuple[tuple[str, Key], ...]


@dataclass(frozen=True, slots=True)
class CountStep:
    """One vector of integers per group, protected by one geometric mechanism; ``mechanism`` None where public.

    ``unit`` is what one integer step stands for, ``labels`` has one entry per number of the answer, and ``positive``
    says that the true number cannot be below 0: what the noise moved there is shown as 0.
    """

    name: str
    query: Query
    mechanism: Geometric | None
    setting: Setting
    unit: Fraction
    labels: tuple[Label, ...]
    positive: bool = True
    caveats: tuple[str, ...] = ()
    estimand: str = ""

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer:
        (result,) = results
        numbers = noisy(result.vectors, self.mechanism, entropy)
        flat = [number for vector in numbers for number in vector]
        radius = self._radius()
        cells = tuple(
            Cell(label, Reply(self._estimate(number, radius))) for label, number in zip(self.labels, flat, strict=True)
        )
        clipped = (CLIPPED,) if self.positive and any(number < radius for number in flat) else ()
        return Answer(self.name, cells, (*self.caveats, *clipped), discrete=self.unit == 1)

    def _estimate(self, number: int, radius: int) -> Estimate:
        least = 0 if self.positive else number - radius
        value, low, high = (float(max(x, least) * self.unit) for x in (number, number - radius, number + radius))
        return Estimate(value, low, high, float(radius * self.unit), 0.0)

    def _radius(self) -> int:
        return 0 if self.mechanism is None else self.mechanism.radius(BETA)

    def expected(self, people: int) -> Expected:
        """The noise does not depend on the rows: the same for any ``people``."""
        note = "public: no noise" if self.mechanism is None else ""
        return Expected(float(self._radius() * self.unit), None, note)


def noisy(vectors: Sequence[tuple[int, ...]], mechanism: Geometric | None, entropy: Entropy) -> list[tuple[int, ...]]:
    """The vectors with noise, drawn for all groups at once; unchanged where they are public."""
    if mechanism is None:
        return list(vectors)
    flat = [number for vector in vectors for number in vector]
    drawn = iter(gate.draw(mechanism, flat, entropy))
    return [tuple(next(drawn) for _ in vector) for vector in vectors]


def guarantee_of(mechanism: Geometric | None, setting: Setting, label: str) -> Guarantee:
    """The guarantee of a step that draws from one mechanism, or from none."""
    if mechanism is None:
        return compose.public(setting.neighbours, label=label)
    return compose.in_sequence([mechanism.guarantee], label=label)
