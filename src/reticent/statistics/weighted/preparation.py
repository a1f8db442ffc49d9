"""From a question about weighted rows to its step: bounds, queries, sensitivity. No row is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.design import DECLARE, OfKeys, SampleDesign
from reticent.data.expression_tree import key_text
from reticent.data.format import section
from reticent.data.query import Keys, Weighing, WeightedMoments, WeightedTally
from reticent.data.schema import Category, Integer, Real, Schema, grid_by_width
from reticent.errors import QuestionError, first_of
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.counts import count_step
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.total import Sum
from reticent.statistics.moments.mean import Mean
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.public_facts import among_groups, cut, kept
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.regression.regress import Regression
from reticent.statistics.statistic import UNWEIGHTED
from reticent.statistics.weighted.soft_weights import ALONE, SHARE, WeightDesign, weight_design
from reticent.statistics.weighted.weighted_step import Calibration, Shape, StrataPart, WeightedStep

if TYPE_CHECKING:
    from reticent.data.query import Query
    from reticent.statistics.context import Setting, Step
    from reticent.statistics.statistic import Ask

STRATA_SHARE: Final = Fraction(1, 5)  # of a question's epsilon, for the sums of each stratum
UNCALIBRATED: Final = "not calibrated to"


def weighing(column: str, schema: Schema) -> Weighing:
    """The weights of a declared column.

    Raises
    ------
    QuestionError
        No word of how they were made; a column that is no number of at least 0 with a public largest one.
    """
    if schema.design is None:
        raise QuestionError(f"weight {column}: {DECLARE} Nothing was charged.")
    declared = schema.column(column)
    if not (isinstance(declared, Real | Integer) and _of_weights(declared)):
        raise QuestionError(
            f"weight {column}: weights are numbers of at least 0, with a largest one known without the file: "
            f"{section(column)} low = 0, high = …. Nothing was charged."
        )
    return Weighing(column, schema.bounded(column, f"weight {column}")[1])


def _of_weights(declared: Real | Integer) -> bool:
    """The bounds are those of weights: at least 0, with a largest one."""
    dated = isinstance(declared, Integer) and declared.calendar is not None
    return not dated and declared.low is not None and declared.high is not None and declared.low >= 0 < declared.high


def prepare(asked: Ask, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers a question about weighted rows.

    Parameters
    ----------
    asked : Ask
        The question.
    setting : Setting
        Public circumstances, with the weights.
    epsilon : Fraction
        Loss of the step.

    Returns
    -------
    Step
        Step with its guarantee.

    Raises
    ------
    QuestionError
        Weights or values without bounds.
    """
    assert setting.weight is not None
    weight = weighing(setting.weight, setting.schema)
    match asked.statistic:
        case Mean() | Sum() as of_values if of_values.takes_weight:
            return _of_values(of_values, weight, setting, epsilon)
        case Proportion() as proportion:
            return _share(proportion, weight, setting, epsilon)
        case Count() as count if count.takes_weight:
            return _count(count, weight, setting, epsilon)
        case Histogram() as histogram if histogram.takes_weight:
            return _histogram(histogram, weight, setting, epsilon)
        case RankStatistic() | Iqr() as quantiles if quantiles.takes_weight:
            return _quantiles(quantiles, weight, setting, epsilon)
        case Regression() as regression if regression.takes_weight:
            return _regression(regression, weight, setting, epsilon)
        case statistic:  # refused where the question was made
            raise TypeError(f"{statistic.name} takes no weight")


def _mechanism(design: WeightDesign, setting: Setting, epsilon: Fraction, groups: int | None = None) -> Geometric:
    """Noise of all integers together: a row moves them by one in all, and a replaced one by two."""
    rows = setting.schema.person.rows * (2 if setting.neighbours.kind == "substitute" else 1)
    moved = design.sensitivity(rows, min(rows, public_facts.groups(setting) if groups is None else groups))
    return Geometric(L1(moved, setting.neighbours), epsilon)


def _by_design(
    step: WeightedStep, of: Callable[[Keys | None], tuple[Query, ...]], setting: Setting, epsilon: Fraction
) -> WeightedStep:
    """The step of all rows, calibrated to public margins, or with what strata take off its sampling error.

    Parameters
    ----------
    step : WeightedStep
        A mean, a share or a total of a value.
    of : callable
        Its queries, by the keys of groups.
    setting : Setting
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    WeightedStep

    Raises
    ------
    QuestionError
        Margins or strata that are not those of a category with listed keys.
    """
    sample = _sample(setting)
    if not _whole(setting):
        return step
    if sample.margins is not None and step.design.width > 1:
        margins = sample.margins
        keys, sizes = _groups_of(margins.column, margins.sizes, "margins", setting)
        total = float(margins.total)
        return replace(
            step,
            queries=of(keys),
            shape="mean",
            whole=False,
            mechanism=_mechanism(step.design, setting, epsilon, len(keys.among)),
            least=step.middle - step.half,
            calibration=Calibration(
                tuple(float(size) / total for size in sizes), total if step.shape == "total" else 1.0
            ),
            estimand=f"{step.estimand}, calibrated to {margins.words}",
            caveats=(
                *(text for text in step.caveats if not text.startswith(UNCALIBRATED)),
                f"rows without a readable {margins.column} do not count",
            ),
        )
    alone = sample.cluster == 1 and setting.schema.person.rows == 1 and setting.schema.person.column is None
    if not sample.strata or not alone or not step.interval:
        return step
    keys, fractions = _groups_of(sample.strata, sample.fractions, "strata", setting)
    least = sample.fraction
    beyond = tuple(float((share - least) / (1 - least)) for share in fractions) or (0.0,) * len(keys.among)
    return replace(
        step,
        queries=(*step.queries, *of(keys)),
        mechanism=_mechanism(step.design, setting, epsilon * (1 - STRATA_SHARE)),
        strata=StrataPart(_mechanism(step.design, setting, epsilon * STRATA_SHARE, len(keys.among)), beyond),
        caveats=tuple(sample.words(stratified=True) if text == sample.words() else text for text in step.caveats),
    )


def _groups_of(column: str, told: OfKeys, word: str, setting: Setting) -> tuple[Keys, tuple[Fraction, ...]]:
    """The keys of a category, and the public number that is told of each.

    Parameters
    ----------
    column : str
    told : tuple of key and Fraction
        Empty where no numbers are told.
    word : str
        The part of the design, for the message.
    setting : Setting

    Raises
    ------
    QuestionError
        A column that is no category; a key without a number; a number of a key that is not listed.
    """
    declared = setting.schema.column(column)
    if not isinstance(declared, Category):
        raise QuestionError(
            f'{word} are of a category: {section(column)} kind = "category", among = [...]. Nothing was charged.'
        )
    numbers, among = dict(told), [key_text(key) for key in declared.among]
    if told and sorted(numbers) != sorted(among):
        raise QuestionError(
            f"{word} of {column} have one number for each of its keys {first_of(among)}, got {first_of(numbers)}. "
            "Nothing was charged."
        )
    keys = Keys(column, declared.among, min(setting.schema.person.rows, len(among)))
    return keys, tuple(numbers[key] for key in among) if told else ()


def _sample(setting: Setting) -> SampleDesign:
    assert setting.schema.design is not None
    return setting.schema.design


def _told(weight: Weighing, setting: Setting, clipped: tuple[str, ...], *, interval: bool = True) -> tuple[str, ...]:
    """The caveats of public declarations: bounds, weights, design."""
    words: tuple[str, ...] = (f"weights of {weight.column} above {show(weight.highest)} count as that",)
    if (margins := _sample(setting).margins) is not None:
        words = (*words, f"{UNCALIBRATED} the margins of {margins.column}")
    if not interval:
        return (*clipped, *words, "the interval covers the noise alone: sampling error was not bought")
    return (*clipped, *words, _sample(setting).words())


def _whole(setting: Setting) -> bool:
    """Tell if a total is of all rows that have a weight: its sampling error is then of weights about their mean."""
    return setting.keys is None and setting.schema.where is None


def _summed(
    asked: Mean | Proportion | Sum | Count | Histogram,
    shape: Shape,
    weight: Weighing,
    setting: Setting,
    epsilon: Fraction,
    *,
    queries: tuple[Query, ...],
    design: WeightDesign,
    place: tuple[float, float, float | None],
    told: str,
    caveats: tuple[str, ...],
) -> WeightedStep:
    """The step of sums of weights, whatever is asked of them.

    Parameters
    ----------
    asked : Mean, Proportion, Sum, Count or Histogram
    shape : "mean" or "total"
        A ratio of two sums, or a sum.
    weight : Weighing
    setting : Setting
    epsilon : Fraction
        Price of the question.
    queries : tuple of Query
    design : WeightDesign
        Of the integers.
    place : tuple
        Middle and half of the range of values, and the least answer that is possible.
    told : str
        Estimand, but for the rows that are kept and the groups.
    caveats : tuple of str
        Of the values.

    Returns
    -------
    WeightedStep
    """
    person, total = setting.schema.person, shape == "total"
    interval = asked.interval if isinstance(asked, Mean) else True
    middle, half, least = place
    return WeightedStep(
        public_facts.title(asked, setting),
        queries,
        shape,
        design,
        _mechanism(design, setting, epsilon),
        setting,
        _sample(setting),
        middle,
        half,
        least,
        public_facts.labels(setting.keys),
        _told(weight, setting, caveats, interval=interval),
        f"{told}{kept('row', person)}{among_groups(setting)}",
        whole=total and not isinstance(asked, Histogram) and _whole(setting),
        alike=person.rows,
        interval=interval,
        highest=float(weight.highest) if total else 1.0,
    )


def _of_values(asked: Mean | Sum, weight: Weighing, setting: Setting, epsilon: Fraction) -> WeightedStep:
    low, high = public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)
    grid, total = grid_by_width(low, high), isinstance(asked, Sum)
    design = weight_design(1 if isinstance(asked, Mean) and not asked.interval else 2, grid)
    ends = cut(asked.column, asked.low, asked.high, setting)
    least = float(grid.lowest * grid.unit)

    def of(keys: Keys | None) -> tuple[Query, ...]:
        return (WeightedMoments(asked.column, weight, grid, design.values.order, keys),)

    step = _summed(
        asked,
        "total" if total else "mean",
        weight,
        setting,
        epsilon,
        queries=of(setting.keys),
        design=design,
        place=(
            float((grid.lowest + grid.highest) * grid.unit) / 2.0,
            float((grid.highest - grid.lowest) * grid.unit) / 2.0,
            least if not total else 0.0 if least >= 0.0 else None,
        ),
        told=f"population {'sum' if total else 'mean'} of {asked.column}, rows weighted by {weight.column}{ends}",
        caveats=public_facts.caveats_of(asked.column, (low, high), setting, "row"),
    )
    return _by_design(step, of, setting, epsilon)


def _share(asked: Proportion, weight: Weighing, setting: Setting, epsilon: Fraction) -> WeightedStep:
    asked = asked.settled(setting.schema)
    value = asked.value_in(setting.schema.column(asked.column))
    share = f"{asked.column} = {key_text(value)}"

    def of(keys: Keys | None) -> tuple[Query, ...]:
        return (
            WeightedTally(asked.column, weight, among=(value,), keys=keys),
            WeightedMoments(asked.column, weight, None, 0, keys),
        )

    step = _summed(
        asked,
        "mean",
        weight,
        setting,
        epsilon,
        queries=of(setting.keys),
        design=WeightDesign(SHARE),
        place=(0.5, 0.5, 0.0),
        told=f"population share of {share}, rows weighted by {weight.column}",
        caveats=public_facts.caveats_of(asked.column, None, setting, "row"),
    )
    return _by_design(step, of, setting, epsilon)


def _count(asked: Count, weight: Weighing, setting: Setting, epsilon: Fraction) -> WeightedStep:
    def of(keys: Keys | None) -> tuple[Query, ...]:
        return (WeightedMoments(None, weight, None, 0, keys),)

    step = _summed(
        asked,
        "total",
        weight,
        setting,
        epsilon,
        queries=of(setting.keys),
        design=WeightDesign(ALONE),
        place=(1.0, 0.0, 0.0),
        told=f"size of the population: sum of {weight.column}",
        caveats=public_facts.caveats_of("", None, setting, "row"),
    )
    return _by_design(step, of, setting, epsilon)


def _histogram(asked: Histogram, weight: Weighing, setting: Setting, epsilon: Fraction) -> WeightedStep:
    plain, inner = count_step.binned(asked, setting)
    step = _summed(
        asked,
        "total",
        weight,
        setting,
        epsilon,
        queries=(WeightedTally(asked.column, weight, plain.edges, plain.among, setting.keys),),
        design=WeightDesign(ALONE),
        place=(1.0, 0.0, 0.0),
        told=f"population size of each bin of {asked.column}, rows weighted by {weight.column}",
        caveats=count_step.of_bins(asked, plain, setting),
    )
    return replace(step, labels=public_facts.labels(setting.keys, inner), bins=plain.bins)


def _quantiles(asked: RankStatistic | Iqr, weight: Weighing, setting: Setting, epsilon: Fraction) -> Step:
    from reticent.statistics.quantiles import quantile_step

    step = quantile_step.prepare(asked, setting, epsilon, weight, _sample(setting))
    return replace(step, caveats=_told(weight, setting, step.caveats, interval=asked.interval))


def _regression(asked: Regression, weight: Weighing, setting: Setting, epsilon: Fraction) -> Step:
    from reticent.statistics.regression import regression_step, squares_step

    if setting.keys is not None:
        raise QuestionError(f"{asked.name} is not asked by group. Nothing was charged.")
    if not squares_step.is_bounded(asked, setting):
        raise QuestionError(
            f"{asked.name}: weighted least squares takes public bounds of y and of every number: low = …, high = …. "
            f"Of the rows as they are: {asked.name} weight {UNWEIGHTED}. Nothing was charged."
        )
    regression_step.has_use_for(asked, setting, squared=True)
    step = squares_step.least_squares(asked, setting, epsilon, weight, _sample(setting))
    return replace(step, caveats=_told(weight, setting, step.caveats))
