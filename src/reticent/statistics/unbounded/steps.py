"""From a question without bounds to a step: what of this package answers it, at which price. No row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from reticent.data.query import Per, Present, Ranks, kept_rows
from reticent.data.table import Counts, Result
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.outcome import NO_REPLY, NoReply, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics import facts
from reticent.statistics.asked import Iqr, Location, Mean, Quantiles, TrimmedMean
from reticent.statistics.planned import Drawn, Plan, PlannedStep
from reticent.statistics.setting import Expected, Setting
from reticent.statistics.unbounded.census import ROW, Terms
from reticent.statistics.unbounded.clipped import ClippedMean


def terms(column: str, setting: Setting, per: Per) -> Terms:
    """Whose difference is hidden from a plan: a person's, or one row's where it is run on every group by itself."""
    if setting.keys is not None:
        return Terms(ROW)
    return Terms(setting.neighbours, facts.public_size(Present(column, None, per), setting))


@dataclass(frozen=True, slots=True)
class MeanPlan:
    """A clipped mean, and where it was clipped."""

    made: ClippedMean

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    def draw(self, data: Counts, entropy: Entropy) -> Drawn:
        match self.made.draw(data, entropy):
            case Reply(clipped):
                return Drawn((Reply(clipped.estimate),), (clipped.words,))
            case NoReply():
                return Drawn((NO_REPLY,))

    def expected(self, people: int) -> Expected:
        return Expected(None, None, "in standard deviations of the column; may give no reply")


def mean(asked: Mean, setting: Setting, epsilon: Fraction) -> PlannedStep[Counts]:
    """The mean without bounds."""
    cells, _ = facts.candidates(asked.column, asked.low, asked.high, setting)
    made = ClippedMean(cells, terms(asked.column, setting, asked.per), _each(asked.per, setting, epsilon))
    return step(asked, MeanPlan(made), setting)


def _each(per: Per, setting: Setting, epsilon: Fraction) -> Fraction:
    """What a plan may cost: by group it is made for one row, and lifted to a person at the end."""
    rows = kept_rows(setting.schema.person, per, setting.keys)
    return epsilon if setting.keys is None else epsilon / facts.lifts(rows, setting)


def step(
    asked: Mean | Quantiles | Iqr | TrimmedMean | Location, plan: Plan[Counts], setting: Setting
) -> PlannedStep[Counts]:
    person = setting.schema.person
    return PlannedStep(
        facts.title(asked.name, setting.keys),
        Ranks(asked.column, setting.keys, asked.per),
        ranks,
        plan,
        setting,
        kept_rows(person, asked.per, setting.keys),
        facts.labels(setting.keys),
        facts.caveats_of(asked.column, None, setting, asked.per),
    )


def ranks(result: Result) -> Sequence[Counts]:
    """The counts of each group."""
    return result.ranks


def quantiles(asked: Quantiles, setting: Setting, epsilon: Fraction) -> PlannedStep[Counts]:
    raise QuestionError("joint quantiles: not yet")


def iqr(asked: Iqr, setting: Setting, epsilon: Fraction) -> PlannedStep[Counts]:
    raise QuestionError("joint iqr: not yet")


def trimmed_mean(asked: TrimmedMean, setting: Setting, epsilon: Fraction) -> PlannedStep[Counts]:
    raise QuestionError("not yet")


def location(asked: Location, setting: Setting, epsilon: Fraction) -> PlannedStep[Counts]:
    raise QuestionError("not yet")
