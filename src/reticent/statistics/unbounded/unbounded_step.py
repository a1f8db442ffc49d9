"""Preparation of a question without bounds: the choice of its mechanism and its price. No row is read.

By group a plan is made for one row added or removed, at the part of epsilon that one of a person's rows has. Group
privacy lifts it to a person at the end (``planned``). The methods of "auto" were measured: docs/theory/unbounded.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.data.query import Keys, Per, PresentValues, Query, Ranks, kept_rows
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.outcome import NO_REPLY
from reticent.privacy.convert import as_approx, rho_within
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.statistics import public_facts, ranks
from reticent.statistics.answer import NO_ENDS, Answer, Cell, Label, label_words
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import ExpectedAccuracy, Setting, Step
from reticent.statistics.moments.mean import Mean
from reticent.statistics.options import CoinPress as CoinPressOptions
from reticent.statistics.possible import possible
from reticent.statistics.public_facts import kept, subject
from reticent.statistics.quantiles import quantile_plan, quantile_step
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.robust.location import Location
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.unbounded.clipped_mean import ClippedMean
from reticent.statistics.unbounded.coinpress import CoinPressMean
from reticent.statistics.unbounded.column_counts import ROW, ColumnTerms
from reticent.statistics.unbounded.column_plan import ColumnPlan, Group
from reticent.statistics.unbounded.joint import joint_quantiles
from reticent.statistics.unbounded.location import Huber
from reticent.statistics.unbounded.quantile_range import iqr as spread_of
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean as Inverse

Asked: TypeAlias = Mean | RankStatistic | Iqr | TrimmedMean | Location

COARSE: Final = 150  # steps between the bounds of a column whose values are likely tied, such as ages
MANY: Final = 3  # levels from which on joint quantiles win without intervals, and need fewer values with them
JOINTLY: Final = "by joint exponential mechanisms"


# --- a plan ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Groups:
    """Selector of the part of a result that a plan reads: the counts of each group, with the group's name."""

    keys: Keys | None

    def __call__(self, result: QueryResult) -> Sequence[Group]:
        if self.keys is None:
            return [Group("", counts) for counts in result.ranks]
        named = [label_words(Cell(label, NO_REPLY)) for label in self.keys.labels]
        return [Group(name, c) for name, c in zip(named, result.ranks, strict=True)]


@dataclass(frozen=True, slots=True)
class NamedDelta:
    """A step in zero-concentrated privacy, charged at the delta of its question."""

    inner: PlannedStep[Group]
    delta: Fraction

    estimand: str = ""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.inner.queries

    @property
    def guarantee(self) -> Guarantee:
        return as_approx(self.inner.guarantee, self.delta)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        return self.inner.answer(results, entropy)

    def expected(self, people: int) -> ExpectedAccuracy:
        return self.inner.expected(people)


# --- questions -------------------------------------------------------------------------------------------------------


def mean(asked: Mean, setting: Setting, epsilon: Fraction) -> Step:
    """The mean without bounds: clipped where the data reach, or CoinPress.

    Parameters
    ----------
    asked : Mean
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    Step

    Raises
    ------
    QuestionError
        Before rows are read: what the method needs and was not said; too few people for this epsilon.
    """
    assert not isinstance(asked.method, str)
    if not asked.interval:
        raise QuestionError(
            f"mean(…, method={asked.method.word}) always has its interval: leave interval=no out. Nothing was charged."
        )
    if isinstance(asked.method, CoinPressOptions):
        return _coinpress(asked, asked.method, setting, epsilon)
    cells, bounds = ranks.candidates(asked.column, asked.low, asked.high, setting)
    about, each = terms(asked.column, setting, setting.per), each_of(setting.per, setting, epsilon)
    made = ClippedMean(cells, about, each, tail=asked.method.tail, bounds=bounds)
    return _step(
        asked,
        ColumnPlan(
            made, bounds, values=subject(asked.column, setting.per), cap=kept(setting.per, setting.schema.person)
        ),
        setting,
    )


def _coinpress(asked: Mean, near: CoinPressOptions, setting: Setting, epsilon: Fraction) -> NamedDelta:
    public_facts.refuse_far(asked.name, near.centre, near.radius, near.deviation, 1 / near.deviation)
    if setting.delta is None:
        raise QuestionError(
            f"{asked.name} needs a δ: say delta, such as 1e-9, in the question where it is planned from a width. "
            "Nothing was charged."
        )
    cells, bounds = ranks.candidates(asked.column, asked.low, asked.high, setting)
    about = terms(asked.column, setting, setting.per)
    rho = rho_within(epsilon, setting.delta) / _lifts(setting.per, setting) ** 2
    made = CoinPressMean(cells, about, rho, near.centre, near.radius, near.deviation)
    plan = ColumnPlan(
        made, bounds, values=subject(asked.column, setting.per), cap=kept(setting.per, setting.schema.person)
    )
    return NamedDelta(_step(asked, plan, setting), setting.delta)


def chosen(asked: RankStatistic | Iqr, setting: Setting, epsilon: Fraction) -> PlannedStep[Group] | QuantileStep:
    """The step of several quantiles, or of their distance, that "auto" means by public facts.

    Two separate quantiles have a reply of fewer values, and shorter intervals. More are shorter, but need more values:
    they are drawn separately where a public number of values is almost surely enough. A separate distance is shorter
    among ties alone. Of an unknown number of values those of a coarse grid are likely tied: joint intervals are as wide
    as the bounds among few, and twice as wide among many.

    Parameters
    ----------
    asked : RankStatistic or Iqr
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Group] or QuantileStep
    """
    distance = isinstance(asked, Iqr)
    levels = MANY if isinstance(asked, Iqr) else len(asked.levels)
    if levels < MANY:
        return quantile_step.prepare(asked, setting, epsilon)
    if asked.interval and setting.keys is None and setting.units is None:
        cells, _ = ranks.candidates(asked.column, asked.low, asked.high, setting)
        coarse = cells.step is not None and not cells.free and cells.highest - cells.lowest <= COARSE
        if coarse and levels == MANY and not distance:
            return quantile_step.prepare(asked, setting, epsilon)
    elif asked.interval and setting.keys is None:
        with suppress(public_facts.TooFewValues):
            separate = quantile_step.prepare(asked, setting, epsilon)
            if quantile_plan.replies_almost_surely(separate.draws, among_ties=distance):
                return separate
    return iqr(asked, setting, epsilon) if isinstance(asked, Iqr) else quantiles(asked, setting, epsilon)


def quantiles(asked: RankStatistic, setting: Setting, epsilon: Fraction) -> PlannedStep[Group]:
    """Several quantiles by joint exponential mechanisms.

    Parameters
    ----------
    asked : RankStatistic
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Group]

    Raises
    ------
    QuestionError
        Before rows are read: for one level; too few people for this epsilon.
    """
    if len(asked.levels) < 2:
        raise QuestionError("joint quantiles are two or more levels; one is drawn by itself. Nothing was charged.")
    cells, bounds = ranks.candidates(asked.column, asked.low, asked.high, setting)
    about, each = terms(asked.column, setting, setting.per), each_of(setting.per, setting, epsilon)
    made = joint_quantiles(cells, asked.levels, about, each, interval=asked.interval)
    inner = tuple((("level", show(level)),) for level in asked.levels)
    plan = ColumnPlan(made, bounds, asked.levels, resolution=ranks.resolution(asked.column, setting))
    return _step(asked, plan, setting, *_manner(asked), inner=inner)


def iqr(asked: Iqr, setting: Setting, epsilon: Fraction) -> PlannedStep[Group]:
    """The distance of the quartiles by joint exponential mechanisms.

    Parameters
    ----------
    asked : Iqr
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Group]

    Raises
    ------
    QuestionError
        Before rows are read: too few people for this epsilon.
    """
    cells, bounds = ranks.candidates(asked.column, asked.low, asked.high, setting)
    about, each = terms(asked.column, setting, setting.per), each_of(setting.per, setting, epsilon)
    made = spread_of(cells, about, each, interval=asked.interval)
    plan = ColumnPlan(made, bounds, resolution=ranks.resolution(asked.column, setting))
    return _step(asked, plan, setting, *_manner(asked))


def trimmed_mean(asked: TrimmedMean, setting: Setting, epsilon: Fraction) -> PlannedStep[Group]:
    """The trimmed mean by inverse sensitivity, where the number of values is public.

    Parameters
    ----------
    asked : TrimmedMean
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Group]

    Raises
    ------
    QuestionError
        Before rows are read: where that number is private, with what to declare or ask instead; too few people.
    """
    about = terms(asked.column, setting, setting.per)
    cells, bounds = ranks.candidates(asked.column, None, None, setting)
    if about.values is None:
        raise QuestionError(
            f"{asked.name} without a δ needs a public number of values: adjacency substitute, one row each or "
            "per=person, a value for missing ones (missing = …), and no groups. "
            f"location({asked.column}) needs none of these, and trimmed_mean({asked.column}, method=TM) a δ instead. "
            "Nothing was charged."
        )
    made = Inverse(cells, about, each_of(setting.per, setting, epsilon), asked.trim)
    words = ("by the exponential mechanism on values to change",) if asked.method == "auto" else ()
    return _step(asked, ColumnPlan(made, bounds), setting, *words)


def location(asked: Location, setting: Setting, epsilon: Fraction) -> PlannedStep[Group]:
    """Huber's location.

    Parameters
    ----------
    asked : Location
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Group]

    Raises
    ------
    QuestionError
        Before rows are read: too few people for this epsilon.
    """
    cells, bounds = ranks.candidates(asked.column, None, None, setting)
    made = Huber(cells, terms(asked.column, setting, setting.per), each_of(setting.per, setting, epsilon), asked.bend)
    return _step(
        asked,
        ColumnPlan(
            made, bounds, values=subject(asked.column, setting.per), cap=kept(setting.per, setting.schema.person)
        ),
        setting,
    )


# --- what they share -------------------------------------------------------------------------------------------------


def terms(column: str, setting: Setting, per: Per) -> ColumnTerms:
    """Whose difference is hidden from a plan: a person's, or one row's where it is run on every group by itself.

    Parameters
    ----------
    column : str
    setting : Setting
    per : "row" or "person"

    Returns
    -------
    ColumnTerms
    """
    alike = kept_rows(setting.schema.person, per)
    if setting.keys is not None:
        return ColumnTerms(ROW, alike=alike)
    return ColumnTerms(
        setting.neighbours, public_facts.public_size(PresentValues(column, None, per), setting), most=alike
    )


def _lifts(per: Per, setting: Setting) -> int:
    """Rows between neighbours of a plan that is made for one row."""
    return (
        1 if setting.keys is None else public_facts.lifts(kept_rows(setting.schema.person, per, setting.keys), setting)
    )


def each_of(per: Per, setting: Setting, epsilon: Fraction) -> Fraction:
    """Epsilon of one plan: the price of the question divided by the lift from a row to a person.

    Parameters
    ----------
    per : "row" or "person"
    setting : Setting
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    Fraction
    """
    return epsilon / _lifts(per, setting)


def _manner(asked: RankStatistic | Iqr) -> tuple[str, ...]:
    chosen = (JOINTLY,) if asked.method == "auto" else ()
    return chosen if asked.interval else (*chosen, NO_ENDS)


def _step(
    asked: Asked,
    plan: ColumnPlan,
    setting: Setting,
    *words: str,
    inner: tuple[Label, ...] = ((),),
) -> PlannedStep[Group]:
    """The plan as a step, unless so few people could not have a reply."""
    person = setting.schema.person
    public_facts.refuse_far(asked.name, *(plan.bounds or ()))
    if setting.units is not None:
        most = setting.units * kept_rows(person, setting.per)
        if plan.expected(most).noise is None:
            raise public_facts.TooFewValues(
                f"{public_facts.title(asked, setting)} at this ε would be a guess: {most:,} values cannot outweigh the "
                "public candidates.",
                public_facts.remedies(setting, has_bounds=plan.bounds is not None),
            )
    return PlannedStep(
        public_facts.title(asked, setting),
        Ranks(asked.column, setting.keys, setting.per),
        Groups(setting.keys),
        plan,
        setting,
        kept_rows(person, setting.per, setting.keys),
        public_facts.labels(setting.keys, inner),
        (*public_facts.caveats_of(asked.column, plan.bounds, setting, setting.per), *words),
        possible=possible(asked, setting),
    )
