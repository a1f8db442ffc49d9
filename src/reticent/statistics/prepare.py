"""From a question and its setting to a step: bounds, queries, sensitivities and mechanisms. No row is read.

Every refusal that public facts can justify is raised here, with nothing charged.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Final, assert_never

from reticent.data.query import (
    Moments,
    Per,
    Persons,
    Present,
    Ranks,
    Rows,
    Tally,
    Total,
    kept_rows,
)
from reticent.data.schema import Category, Integer, Key, Real, grid_by_size, grid_by_width, grid_whole
from reticent.errors import QuestionError
from reticent.mechanisms import Geometric
from reticent.privacy.numbers import positive, show
from reticent.privacy.sensitivity import L1
from reticent.statistics import facts
from reticent.statistics.asked import (
    PLAIN,
    QUARTILES,
    CapShare,
    Count,
    Histogram,
    IncompleteShare,
    Iqr,
    Location,
    Mean,
    People,
    Proportion,
    Quantiles,
    Regression,
    Scale,
    Statistic,
    Sum,
    TrimmedMean,
    Variance,
    delta_of,
)
from reticent.statistics.caps import CapStep
from reticent.statistics.counts import CountStep, Label
from reticent.statistics.density import DensityOf
from reticent.statistics.estimand import estimand
from reticent.statistics.hypotheses import steps as hypotheses
from reticent.statistics.hypotheses.asked import HypothesisTest
from reticent.statistics.incomplete import IncompleteStep, incomplete_step
from reticent.statistics.logarithms import LogMean
from reticent.statistics.moments import MomentStep, Shape
from reticent.statistics.proportions import ProportionStep
from reticent.statistics.quantiles import CROWD, MAGNITUDE_SHARE, SIZE_SHARE, VALUE_SHARE, Pricing, QuantileStep
from reticent.statistics.regression import steps as regression
from reticent.statistics.robust import steps as robust
from reticent.statistics.setting import Setting
from reticent.statistics.soft import Kind, design
from reticent.statistics.unbounded import logs
from reticent.statistics.unbounded import steps as unbounded

if TYPE_CHECKING:
    from reticent.statistics.setting import Step

EACH: Final = 400  # integers that have a bin each in a histogram without edges


def prepare(asked: Statistic, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers ``asked`` for exactly ``epsilon``.

    Parameters
    ----------
    asked : Statistic
    setting : Setting
    epsilon : Fraction
        What the step may cost, > 0; a question's own ``epsilon`` is not looked at here.

    Returns
    -------
    Step
        Its guarantee has at most this loss: less where some of its numbers are public.

    Raises
    ------
    QuestionError
        Before rows are read: unknown column, a category where numbers are needed, missing bounds, or a quantile that
        so few people cannot support.
    """
    positive(epsilon, "epsilon")
    _has_use_for(asked)
    step = _prepared(asked, setting, epsilon)
    # Every step is a frozen dataclass, which a protocol cannot say.
    return step if step.estimand else replace(step, estimand=estimand(asked, setting))  # type: ignore[type-var]


def _prepared(asked: Statistic, setting: Setting, epsilon: Fraction) -> Step:
    own = delta_of(asked)
    if setting.delta is None and own is not None and own.delta is not None:  # planned from a width alone
        setting = replace(setting, delta=own.delta)
    match asked:
        case Count():
            return _count(asked.name, Rows(setting.keys), setting, epsilon)
        case People():
            return _count(asked.name, Persons(setting.keys), setting, epsilon)
        case Sum():
            return _sum(asked, setting, epsilon)
        case Mean(column=column, per=per, low=low, high=high):
            if asked.method not in ("auto", "bounded"):
                return unbounded.mean(asked, setting, epsilon)
            order = 2 if asked.interval else 1
            return _moments(
                asked, column, per, facts.bounds(asked.name, setting, column, low, high), order, setting, epsilon
            )
        case LogMean():
            return logs.log_mean(asked, setting, epsilon)
        case Variance(column=column, per=per, low=low, high=high):
            order = 4 if asked.interval else 2
            return _moments(
                asked, column, per, facts.bounds(asked.name, setting, column, low, high), order, setting, epsilon
            )
        case Proportion():
            return _proportion(asked, setting, epsilon)
        case Histogram():
            return _histogram(asked, setting, epsilon)
        case Quantiles(method="M" | "smooth"):
            return robust.quantile(asked, setting, epsilon)
        case Quantiles():
            wins = unbounded.joint_wins(len(asked.levels), interval=asked.interval)
            if asked.method == "joint" or (asked.method == "auto" and wins):
                return unbounded.quantiles(asked, setting, epsilon)
            return _quantiles(asked, setting, epsilon)
        case Iqr(method="S"):
            return robust.scale(asked, setting, epsilon)
        case Iqr():
            if asked.method == "separate":
                return _quantiles(asked, setting, epsilon)
            return unbounded.iqr(asked, setting, epsilon)
        case Scale():
            return robust.scale(asked, setting, epsilon)
        case TrimmedMean(method="TM" | "smooth"):
            return robust.trimmed_mean(asked, setting, epsilon)
        case TrimmedMean():
            return unbounded.trimmed_mean(asked, setting, epsilon)
        case Location():
            return unbounded.location(asked, setting, epsilon)
        case Regression():
            return regression.regress(asked, setting, epsilon)
        case CapShare():
            return _capped(setting, epsilon)
        case IncompleteShare(columns=columns):
            return _incomplete(columns, setting, epsilon)
        case HypothesisTest():
            return hypotheses.test(asked, setting, epsilon)
        case DensityOf():  # study/densities.py prepares it: it is no number
            raise QuestionError(f"{asked.name} is no number, so no half-width is planned for it. Nothing was charged.")
        case _:
            assert_never(asked)


def _has_use_for(asked: Statistic) -> None:
    """Refuse options of propose-test-release beside a method that spends no delta: they would change nothing."""
    if not isinstance(asked, Quantiles | Iqr | TrimmedMean) or delta_of(asked) is not None:
        return
    if replace(asked.tested, unit=None if asked.method == "smooth" else asked.tested.unit) != PLAIN:
        raise QuestionError(
            f"mode, delta, unit and width have no use in {asked.name}: name a method that spends a δ, such as M for a "
            "median, S for an iqr, TM for a trimmed mean. Nothing was charged."
        )


# --- counts ----------------------------------------------------------------------------------------------------------


def _count(name: str, query: Rows | Persons, setting: Setting, epsilon: Fraction) -> CountStep:
    mechanism = facts.geometric(facts.stability_of(query, setting), setting, epsilon)
    caveats: tuple[str, ...] = ()
    person = setting.schema.person
    if isinstance(query, Rows) and person.column is not None:
        caveats = (f"at most {person.rows} rows of each person count",)
    return CountStep(
        facts.title(name, setting.keys),
        query,
        mechanism,
        setting,
        Fraction(1),
        facts.labels(setting.keys),
        True,
        caveats,
    )


def _sum(asked: Sum, setting: Setting, epsilon: Fraction) -> CountStep:
    low, high = facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)
    whole = isinstance(setting.schema.column(asked.column), Integer)  # then noisy sums are integers, as sums are
    grid = grid_whole(low, high) if whole else grid_by_size(low, high)
    query = Total(asked.column, grid, setting.keys)
    mechanism = facts.geometric(facts.stability_of(query, setting), setting, epsilon)
    caveats = list(facts.caveats_of(asked.column, (low, high), setting, "person"))
    rows = setting.schema.person.rows
    if rows > 1:
        least, most = show(min(Fraction(0), rows * low)), show(max(Fraction(0), rows * high))
        caveats.append(f"the total of each person counts as at least {least} and at most {most}")
    return CountStep(
        facts.title(asked.name, setting.keys),
        query,
        mechanism,
        setting,
        grid.unit,
        facts.labels(setting.keys),
        grid.lowest >= 0,
        tuple(caveats),
    )


def _histogram(asked: Histogram, setting: Setting, epsilon: Fraction) -> CountStep:
    declared = setting.schema.column(asked.column)
    match declared:
        case Category(among=among):
            if asked.edges:
                raise QuestionError(
                    f"{asked.column} is a category: a histogram of it has no edges. Nothing was charged."
                )
            query = Tally(asked.column, among=among, keys=setting.keys)
            bins: tuple[Label, ...] = tuple(((asked.column, key),) for key in among)
        case Integer(low=low, high=high) if not asked.edges and _few(low, high):
            assert low is not None
            assert high is not None
            values = range(low, high + 1)
            query = Tally(asked.column, edges=tuple(map(Fraction, (*values, values.stop))), keys=setting.keys)
            bins = tuple(((asked.column, value),) for value in values)
        case Real() | Integer():
            if not asked.edges:
                raise QuestionError(
                    f"histogram({asked.column}) needs edges known without looking at the file: "
                    f"histogram({asked.column}, edges=0:50:5). Bounded integers of at most {EACH} values need none. "
                    "Nothing was charged."
                )
            query = Tally(asked.column, edges=asked.edges, keys=setting.keys)
            bins = tuple((("bin", text),) for text in _intervals(asked.edges))
        case _:
            assert_never(declared)
    mechanism = facts.geometric(facts.stability_of(query, setting), setting, epsilon)
    caveats = []
    if query.edges:
        last = asked.edges[-1] if asked.edges else query.edges[-1] - 1
        ends = f"[{show(query.edges[0])}, {show(last)}]"
        caveats.append(f"values of {asked.column} outside {ends} count in the nearer end bin")
    if setting.schema.person.column is not None:
        caveats.append(f"at most {setting.schema.person.rows} rows of each person count")
    return CountStep(
        facts.title(asked.name, setting.keys),
        query,
        mechanism,
        setting,
        Fraction(1),
        facts.labels(setting.keys, bins),
        True,
        tuple(caveats),
    )


def _few(low: int | None, high: int | None) -> bool:
    """Whether integers with these bounds are so few that a histogram has a bin for each."""
    return low is not None and high is not None and high - low < EACH


def _intervals(edges: tuple[Fraction, ...]) -> list[str]:
    last = len(edges) - 2
    return [f"[{show(edges[i])}, {show(edges[i + 1])}{']' if i == last else ')'}" for i in range(last + 1)]


# --- means, variances, proportions -----------------------------------------------------------------------------------


def _moments(
    asked: Mean | Variance,
    column: str,
    per: Per,
    bounds: tuple[Fraction, Fraction],
    order: int,
    setting: Setting,
    epsilon: Fraction,
) -> MomentStep:
    grid = grid_by_width(*bounds)
    person = setting.schema.person
    query = Moments(column, grid, order, setting.keys, per)
    units = facts.public_size(Present(column, setting.keys, per), setting)
    # Substitution without groups replaces rows in place; elsewhere rows come and go, and soft counts are the better.
    in_place = setting.neighbours.kind == "substitute" and setting.keys is None
    kind: Kind = "soft" if not in_place else ("plain" if units is None else "sized")
    chosen = design(kind, order, grid)
    rows = kept_rows(person, per, setting.keys)
    steps = rows if setting.neighbours.kind != "substitute" or in_place else 2 * rows
    mechanism = Geometric(L1(chosen.sensitivity(steps, min(steps, _groups(setting))), setting.neighbours), epsilon)
    shape: Shape = "mean" if isinstance(asked, Mean) else ("sd" if asked.root else "variance")
    caveats = list(facts.caveats_of(column, bounds, setting, per))
    if not asked.interval:
        caveats.append("the interval covers the noise alone: sampling error was not bought")
    return MomentStep(
        facts.title(asked.name, setting.keys),
        query,
        shape,
        chosen,
        mechanism,
        setting,
        units,
        kept_rows(person, per),
        asked.interval,
        facts.labels(setting.keys),
        tuple(caveats),
    )


def _groups(setting: Setting) -> int:
    return 1 if setting.keys is None else len(setting.keys.among)


def _proportion(asked: Proportion, setting: Setting, epsilon: Fraction) -> ProportionStep:
    declared = setting.schema.column(asked.column)
    if not isinstance(declared, Category):
        raise QuestionError(
            f'{asked.name} needs a category: [columns.{asked.column}] kind = "category", among = [...]. '
            "Nothing was charged."
        )
    value = _chosen(asked, declared)
    queries = (Tally(asked.column, among=(value,), keys=setting.keys), Present(asked.column, setting.keys))
    rows = setting.schema.person.rows
    in_place = setting.neighbours.kind == "substitute" and setting.keys is None
    # (others, chosen) or (present, chosen - others); see proportions
    steps = 2 * rows if setting.neighbours.kind == "substitute" else rows
    mechanism = Geometric(L1(Fraction(steps), setting.neighbours), epsilon)
    return ProportionStep(
        facts.title(asked.name, setting.keys),
        queries,
        in_place,
        mechanism,
        setting,
        rows,
        facts.labels(setting.keys),
        facts.caveats_of(asked.column, None, setting, "row"),
    )


def _chosen(asked: Proportion, declared: Category) -> Key:
    """The value asked for, or the only one of True, 1 and "yes" in the category."""
    listed = ", ".join(map(str, declared.among))
    if asked.value is not None:
        asked_for = str(asked.value)
        by_spelling = [key for key in declared.among if key == asked.value or str(key) == asked_for]
        by_letters = [key for key in declared.among if str(key).lower() == asked_for.lower()]
        if by_spelling or len(by_letters) == 1:
            return (by_spelling or by_letters)[0]
        raise QuestionError(
            f"'{asked.value}' is not one of the values of {asked.column}: {listed}. Nothing was charged."
        )
    found = [key for key in declared.among if (isinstance(key, str) and key.lower() == "yes") or key == 1]
    if len(found) != 1:
        raise QuestionError(
            f"Which share? proportion({asked.column}, value=…) with one of: {listed}. Nothing was charged."
        )
    return found[0]


# --- quantiles -------------------------------------------------------------------------------------------------------


def _quantiles(asked: Quantiles | Iqr, setting: Setting, epsilon: Fraction) -> QuantileStep:
    person, keys = setting.schema.person, setting.keys
    spread = isinstance(asked, Iqr)
    levels = QUARTILES if isinstance(asked, Iqr) else asked.levels
    cells, bounds = facts.candidates(asked.column, asked.low, asked.high, setting)
    present = Present(asked.column, keys, asked.per)
    units = facts.public_size(present, setting)
    rows = kept_rows(person, asked.per, keys)
    # (others, ties): one of them changes by one for a row that comes or goes; a replaced row does both, and
    # changes the ties alone by one at most, which are all that is drawn where the number of values is public.
    steps = 2 * rows if setting.neighbours.kind == "substitute" and units is None else rows
    size: Geometric | None = Geometric(L1(Fraction(steps), setting.neighbours), epsilon * SIZE_SHARE)
    left = epsilon * (1 - SIZE_SHARE)
    if not asked.interval and units is not None:
        size, left = None, epsilon
    # no bounds: the magnitude first (statistics/magnitude.py)
    magnitude = epsilon * MAGNITUDE_SHARE if cells.free else Fraction(0)
    each = (left - magnitude) / len(levels)
    value = each * VALUE_SHARE if asked.interval else each
    crowd = max(CROWD, isqrt(setting.units) // 8) if setting.units is not None and keys is None else CROWD
    pricing = Pricing(size, magnitude, value, (each - value) / 2, rows, keys is not None, crowd)
    caveats = list(facts.caveats_of(asked.column, bounds, setting, asked.per))
    if asked.method == "auto" and len(levels) > 1:
        caveats.append("by separate exponential mechanisms")
    if not asked.interval:
        caveats.append("no interval was bought: the ends are those of the possible values")
    inner: tuple[Label, ...] = ((),)
    if len(levels) > 1 and not spread:
        inner = tuple((("level", show(level)),) for level in levels)
    step = QuantileStep(
        facts.title(asked.name, keys),
        Ranks(asked.column, keys, asked.per),
        cells,
        levels,
        spread,
        setting,
        pricing,
        units,
        _groups(setting),
        facts.labels(keys, inner),
        tuple(caveats),
    )
    if setting.units is not None:
        step.refuse_if_hopeless(setting.units * kept_rows(person, asked.per))
    return step


# --- how far a cap can matter ----------------------------------------------------------------------------------------


def _incomplete(columns: tuple[str, ...], setting: Setting, epsilon: Fraction) -> IncompleteStep:
    if setting.keys is not None:
        raise QuestionError("A share of incomplete rows is one for all groups: leave out 'by'. Nothing was charged.")
    return incomplete_step(columns, setting, epsilon)


def _capped(setting: Setting, epsilon: Fraction) -> CapStep:
    """Persons above the cap and persons in all, as two counts that together change by one at most (two if replaced)."""
    if setting.schema.person.column is None:
        raise QuestionError("Every row is another person: there is no cap. Nothing was charged.")
    substitute = setting.neighbours.kind == "substitute"
    units = setting.units if substitute else None
    bound = Fraction(2 if substitute and units is None else 1)
    return CapStep(Geometric(L1(bound, setting.neighbours), epsilon), setting, units)
