"""From a question to a step by propose-test-release: its grid, its n, its split of epsilon and delta. No row is read.

    n public     every row has a value, and the number of people is public or declared: ranks, and so the windows of
                 ranks an engine fetches, are known beforehand
    n bought     else: 1/20 of epsilon buys a noisy number of values, and ranks follow from it; where that number is
                 too small for the algorithm, it is no reply
    unit bought  a real column without bounds, in mode exact: 1/10 of epsilon buys the magnitude that it follows;
                 unit=, a resolution, bounds or the width of M make the unit public, and nothing is bought

The steps of mode paper have equal losses, as in 003. In mode exact a half goes to the release and the rest to the
tests. A delta is divided equally between tests; in mode paper it limits the deltas of the printed thresholds. The
charge is derived from the parts and never exceeds the asked cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final

from reticent.data.candidates import cells_of
from reticent.data.format import section
from reticent.data.order_statistics import INFINITE, LARGEST, Order
from reticent.data.query import OrderedValues, Per, PresentValues, Ranks, kept_rows
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Category, Integer, Real
from reticent.errors import QuestionError
from reticent.exact.rounding import exp_up
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.numbers import rough, show, to_digits
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts, ranks
from reticent.statistics.column_step import GroupPlan, PlannedStep
from reticent.statistics.context import Setting
from reticent.statistics.magnitude import reach
from reticent.statistics.options import PTR, Mode
from reticent.statistics.possible import possible
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.quantile_draws import MAGNITUDE_SHARE
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.robust.answers import (
    BinReport,
    LevelReport,
    MeanReport,
    MechanismReport,
    ScaleReport,
    SmoothReport,
    StepUnit,
    squares,
)
from reticent.statistics.robust.median import ROOM, THIRD, MedianPtr, ScaledMedian, level_for
from reticent.statistics.robust.plans import (
    CENSUS,
    DEFAULT_UNIT,
    CountedPlan,
    FixedSizePlan,
    MagnitudePlan,
    MechanismMaker,
    PtrPrice,
    magnitude,
    unit_of,
)
from reticent.statistics.robust.scale import Scale
from reticent.statistics.robust.scale_ptr import QUARTILES, stable_scale
from reticent.statistics.robust.scale_ptr import scale as scale_for
from reticent.statistics.robust.smooth_sensitivity import smooth_median, smooth_trimmed_mean
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.robust.trimmed_ptr import trimmed_mean as trimmed_for

SQUARES: Final = Fraction(1, 20)  # of epsilon, for the interval of a trimmed mean
COARSEST, FINEST = 1 << 56, 1 << 16  # steps to the farther bound, beyond which the unit follows the bounds
WIDTHS: Final = 1 << 21  # proposed widths that a column without bounds is taken to reach to, at least
LARGEST_UNIT: Final = Fraction(10**60)
ROW: Final = Adjacency("add_remove", unit="row")


# --- the questions ----------------------------------------------------------------------------------------------------


def scale(asked: Scale | Iqr, setting: Setting, epsilon: Fraction) -> PlannedStep[Order] | PlannedStep[Counts]:
    """S, or the stable bin, of a column.

    Parameters
    ----------
    asked : Scale or Iqr
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Order] or PlannedStep[Counts]
    """
    if isinstance(asked, Iqr):
        _refuse_unused(asked)
    levels = asked.levels if isinstance(asked, Scale) else QUARTILES
    stable = isinstance(asked, Scale) and asked.method == "stable"

    def make(grid: StepUnit, n: int, price: PtrPrice) -> MechanismReport:
        half, near = price.epsilon / 2, price.near
        if stable:
            bins = stable_scale(
                n, near, test=half, delta=price.each(2), levels=levels, mode=price.mode, most_delta=price.cap
            )
            return BinReport(bins, grid, n)
        made = scale_for(
            n,
            near,
            test=half,
            release=half,
            delta=price.each(1),
            levels=levels,
            mode=price.mode,
            most_delta=price.cap,
        )
        return ScaleReport(made, grid, n, levels)

    return _on_a_unit(asked, make, setting, epsilon)


def quantile(asked: RankStatistic, setting: Setting, epsilon: Fraction) -> PlannedStep[Order] | PlannedStep[Counts]:
    """M: one quantile, with its width given or bought.

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
    PlannedStep[Order] or PlannedStep[Counts]

    Raises
    ------
    QuestionError
        Several levels, or a unit too fine for the width.
    """
    if len(asked.levels) != 1:
        raise QuestionError(f"{asked.name}: method {asked.method} answers one level at a time. Nothing was charged.")
    (level,) = asked.levels
    if asked.method == "smooth":
        grid = grid_of(asked.column, asked.ptr, setting)
        low, high = _ends(public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high), grid)

        def smooth(n: int, price: PtrPrice) -> MechanismReport:
            return SmoothReport(
                smooth_median(n, price.near, epsilon=price.epsilon, low=low, high=high, quantile=level), grid
            )

        return _planned(asked, smooth, grid, setting, epsilon)
    _refuse_unused(asked)
    width = asked.ptr.width

    def make(grid: StepUnit, n: int, price: PtrPrice) -> MechanismReport:
        if width is not None:
            given = max(1, round(width / grid.unit))
            if given >= INFINITE:
                raise QuestionError(
                    f"{asked.name}: values are read on steps of {show(grid.unit)}, of which a width holds fewer than "
                    "2^62. Name a coarser unit. Nothing was charged."
                )
            half = price.epsilon / 2
            alone = level_for(
                n,
                price.near,
                test=half,
                release=half,
                delta=price.each(1),
                quantile=level,
                mode=price.mode,
                most_delta=price.cap,
            )
            return LevelReport(MedianPtr(alone, given), grid, n, level)
        return LevelReport(_scaled(n, price, level), grid, n, level)

    return _on_a_unit(asked, make, setting, epsilon)


def _scaled(n: int, price: PtrPrice, level: Fraction) -> ScaledMedian:
    """M with a scale of its own: in mode paper S and n^(-1/3), else the stable bin and the least width that passes."""
    near, quarter = price.near, price.epsilon / 4
    if price.mode == "paper":
        half_cap = None if price.cap is None else price.cap / 2
        spread = scale_for(n, near, test=quarter, release=quarter, mode="paper", most_delta=half_cap)
        asked = level_for(n, near, test=quarter, release=quarter, quantile=level, mode="paper", most_delta=half_cap)
        return ScaledMedian(asked, spread, n, THIRD)
    each = price.each(3)
    asked = level_for(n, near, test=quarter, release=2 * quarter, delta=each, quantile=level)
    bins = stable_scale(n, near, test=quarter / 2, delta=each)
    return ScaledMedian(asked, bins, n, Fraction(1), ROOM * asked.test.enough)


def trimmed_mean(asked: TrimmedMean, setting: Setting, epsilon: Fraction) -> PlannedStep[Order] | PlannedStep[Counts]:
    """TM: the mean between two ranks.

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
    PlannedStep[Order] or PlannedStep[Counts]
    """
    if asked.method == "smooth":
        grid = grid_of(asked.column, asked.ptr, setting)
        low, high = _ends(public_facts.bounds(asked.name, setting, asked.column, None, None), grid)

        def smooth(n: int, price: PtrPrice) -> MechanismReport:
            made = smooth_trimmed_mean(n, price.near, alpha=2 * asked.trim, epsilon=price.epsilon, low=low, high=high)
            return SmoothReport(made, grid)

        return _planned(asked, smooth, grid, setting, epsilon)

    def make(grid: StepUnit, n: int, price: PtrPrice) -> MechanismReport:
        left = price.epsilon * (1 - SQUARES)
        test, release = (left / 3, left / 3) if price.mode == "paper" else (left / 4, left / 2)
        made = trimmed_for(
            n,
            price.near,
            alpha=2 * asked.trim,
            test=test,
            release=release,
            delta=price.each(2),
            mode=price.mode,
            most_delta=price.cap,
        )
        return MeanReport(made, squares(price.epsilon * SQUARES, made), grid, n)

    return _on_a_unit(asked, make, setting, epsilon)


# --- what they share --------------------------------------------------------------------------------------------------

Column = Scale | Iqr | RankStatistic | TrimmedMean


def _refuse_unused(asked: RankStatistic | Iqr) -> None:
    """Refuse what S and M would not look at."""
    unused = [
        *(["low and high"] if asked.low is not None else []),
        *([] if asked.interval else ["interval=no"]),
    ]
    if unused:
        raise QuestionError(
            f"{' and '.join(unused)} would change nothing in {asked.name}: {asked.method} takes no bounds but "
            "declared ones, and its interval comes with what it releases. Nothing was charged."
        )


def grid_of(column: str, options: PTR, setting: Setting) -> StepUnit:
    """The public grid on which values are read: a whole number, the resolution, the unit asked for, or 2^-24.

    Declared bounds for which 2^-24 is too fine or too coarse make it a power of two that suits them.

    Parameters
    ----------
    column : str
    options : PTR
        Its unit and mode.
    setting : Setting

    Returns
    -------
    StepUnit

    Raises
    ------
    QuestionError
        Before rows are read: a category; a unit that is no whole number where values are; one whose squares are beyond
        doubles.
    """
    declared = setting.schema.column(column)
    if isinstance(declared, Category):
        raise QuestionError(f"{column} is a category, and this needs numbers. Nothing was charged.")
    if isinstance(declared, Integer):
        if options.unit is not None and options.unit.denominator != 1:
            raise QuestionError(f"{column} is an integer column: its unit is a whole number. Nothing was charged.")
        return StepUnit(usable(options.unit or Fraction(1), column), options.unit in (None, 1))
    return StepUnit(usable(options.unit or declared.resolution or _unit_for(declared, options.width), column), False)


def _unit_for(declared: Real, width: Fraction | None) -> Fraction:
    """2^-24, or 2^-42 of the farther bound's magnitude, or of 2^21 widths, where that is far too fine or too coarse."""
    far = max((abs(bound) for bound in (declared.low, declared.high) if bound is not None), default=Fraction(0))
    if width is not None and declared.low is None:
        far = width * WIDTHS
    if not far or FINEST <= far / DEFAULT_UNIT <= COARSEST:
        return DEFAULT_UNIT
    return Fraction(2) ** (math.frexp(float(far))[1] - 42)


def has_unit(column: str, options: PTR, setting: Setting) -> bool:
    """Tell if the unit of a column is public: whole numbers, bounds, a resolution, a unit or a width, or mode paper.

    Parameters
    ----------
    column : str
    options : PTR
        Its unit, width and mode.
    setting : Setting

    Returns
    -------
    bool
    """
    declared = setting.schema.column(column)
    if not isinstance(declared, Real) or options.mode == "paper":
        return True
    return any(said is not None for said in (declared.low, declared.resolution, options.unit, options.width))


def _far(column: str, grid: StepUnit, setting: Setting) -> float | None:
    """Largest magnitude that is read of a column without bounds, in its unit; None for bounded columns."""
    declared = setting.schema.column(column)
    return None if isinstance(declared, Category) or declared.low is not None else float(LARGEST * grid.unit)


def usable(unit: Fraction, column: str) -> Fraction:
    """``unit``, if intervals can be computed from it."""
    if not 1 / LARGEST_UNIT <= unit <= LARGEST_UNIT:
        raise QuestionError(f"the unit of {column} must lie between 1e-60 and 1e60. Nothing was charged.")
    return unit


def _ends(bounds: tuple[Fraction, Fraction], grid: StepUnit) -> tuple[int, int]:
    """Bounds in grid steps, outward."""
    low, high = math.floor(bounds[0] / grid.unit), math.ceil(bounds[1] / grid.unit)
    if max(abs(low), abs(high)) >= LARGEST:
        raise QuestionError(
            f"values are read on steps of {show(grid.unit)}, and the bounds lie beyond 2^61 of them. Name a coarser "
            "unit. Nothing was charged."
        )
    return low, high


def _on_a_unit(
    asked: Column, make: Callable[[StepUnit, int, PtrPrice], MechanismReport], setting: Setting, epsilon: Fraction
) -> PlannedStep[Order] | PlannedStep[Counts]:
    """The step of a mechanism in a public unit, or in one that follows a magnitude bought first."""
    if has_unit(asked.column, asked.ptr, setting):
        grid = grid_of(asked.column, asked.ptr, setting)
        return _planned(asked, partial(make, grid), grid, setting, epsilon)
    rows, price, n = _terms(asked, setting, epsilon)
    cells = cells_of(setting.schema.column(asked.column), asked.column)
    bought = MAGNITUDE_SHARE + (CENSUS if n is None else 0)
    census = Geometric(L1(Fraction(price.near.rows), price.near), price.epsilon * CENSUS) if n is None else None
    first = magnitude(price.near, price.epsilon * MAGNITUDE_SHARE)
    plan = MagnitudePlan(
        cells, first, census, n, make, replace(price, epsilon=price.epsilon * (1 - bought)), asked.name
    )
    if setting.units is not None:  # refuse where not even all persons together are enough
        most = n if n is not None else setting.units * kept_rows(setting.schema.person, setting.per)
        make(unit_of(cells, None), most, plan.price)
    told = (
        f"{asked.column} has no bounds: the unit follows its magnitude, which is bought first; unit= would name it"
        f"{reach(cells)}"
    )
    step = PlannedStep(
        public_facts.title(asked, setting),
        Ranks(asked.column, setting.keys, setting.per),
        counted,
        plan,
        setting,
        rows,
        public_facts.labels(setting.keys),
        (*public_facts.caveats_of(asked.column, None, setting, setting.per), told),
        possible=possible(asked, setting),
    )
    step.guarantee  # noqa: B018 - made now, so that what cannot be derived is refused before rows are read
    return step


def _terms(asked: Column, setting: Setting, epsilon: Fraction) -> tuple[int, PtrPrice, int | None]:
    """The most rows of one person, what a mechanism may cost, and the number of values where it is public."""
    if setting.delta is None and asked.method != "smooth":
        raise QuestionError(
            f"{asked.name} needs a δ, the probability of a reply where there should be none: say delta, such as "
            "1e-9, in the question where it is planned from a width. Nothing was charged."
        )
    rows = kept_rows(setting.schema.person, setting.per, setting.keys)
    price = _price(asked.ptr.mode, setting, rows, epsilon, setting.delta or Fraction(0))
    n = public_values(asked.column, setting.per, setting)
    if n is None and price.mode == "paper":
        raise QuestionError(
            f"{asked.name}: mode paper has thresholds made from a public number of values. Substitution has one where "
            f"every row has a value ({section(asked.column)} missing = …), add_remove where [person] people is "
            "declared too. Nothing was charged."
        )
    if n is not None and n != setting.units:
        raise AssertionError("a public number of values is that of the units")
    return rows, price, n


def _planned(
    asked: Column, make: MechanismMaker, grid: StepUnit, setting: Setting, epsilon: Fraction
) -> PlannedStep[Order]:
    """The step of a mechanism, for a public n or a bought one, of the whole table or by group."""
    rows, price, n = _terms(asked, setting, epsilon)
    plan: GroupPlan[Order]
    needs = None
    within = None if asked.method == "smooth" else ranks.candidates(asked.column, None, None, setting)[1]
    far = _far(asked.column, grid, setting)
    told = "" if far is None else f"; values beyond ±{rough(far, 3)} count as infinite"
    size = to_digits(float(grid.unit), 3)
    steps = f"values of {asked.column} are read in steps of {size}{told}: name a unit= of their size"
    if n is None:
        census = Geometric(L1(Fraction(price.near.rows), price.near), price.epsilon * CENSUS)
        plan = CountedPlan(census, make, replace(price, epsilon=price.epsilon * (1 - CENSUS)), asked.name, told)
        _refuse_hopeless(plan, setting, setting.per)
    else:
        made = make(n, price)
        plan, needs = FixedSizePlan(made, n, told), made.needs
    step = PlannedStep(
        public_facts.title(asked, setting),
        OrderedValues(asked.column, grid.unit, needs, setting.keys, setting.per, within),
        orders,
        plan,
        setting,
        rows,
        public_facts.labels(setting.keys),
        (*public_facts.caveats_of(asked.column, within, setting, setting.per), *([] if far is None else [steps])),
        possible=possible(asked, setting),
    )
    step.guarantee  # noqa: B018 - made now, so that what cannot be derived is refused before rows are read
    return step


def counted(result: QueryResult) -> Sequence[Counts]:
    """The column of each group, by fine cell."""
    return result.ranks


def orders(result: QueryResult) -> Sequence[Order]:
    """The column of each group."""
    return result.orders


def public_values(column: str, per: Per, setting: Setting) -> int | None:
    """The number of values where it is public: every row has one, and there is one row for each person.

    Parameters
    ----------
    column : str
    per : "row" or "person"
    setting : Setting

    Returns
    -------
    int or None
    """
    if setting.keys is not None or setting.units is None or not public_facts.stands_in(setting.schema.column(column)):
        return None
    if setting.neighbours.kind == "add_remove":
        return setting.units if setting.schema.person.column is None else None
    return public_facts.public_size(PresentValues(column, None, per), setting)


def _price(mode: Mode, setting: Setting, rows: int, epsilon: Fraction, delta: Fraction) -> PtrPrice:
    """By group a mechanism is made for one row and lifted to a person, so it may cost that much less."""
    if setting.keys is None:
        return PtrPrice(setting.neighbours, epsilon, delta, mode)
    times = public_facts.lifts(rows, setting)
    each = epsilon / times
    return PtrPrice(ROW, each, delta / (times * exp_up(epsilon - each)) if times > 1 else delta, mode)


def _refuse_hopeless(plan: CountedPlan, setting: Setting, per: Per) -> None:
    """Refuse before rows are read where not even all persons together are enough."""
    if setting.units is not None:
        plan.make(setting.units * kept_rows(setting.schema.person, per), plan.price)
