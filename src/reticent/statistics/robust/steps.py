"""From a question to a step by propose-test-release: its grid, its n, its split of epsilon and delta. No row is read.

    n public     every row has a value, and the number of people is public or declared: ranks, and so the windows of
                 ranks an engine fetches, are known beforehand
    n bought     else: 1/20 of epsilon buys a noisy number of values, and ranks follow from it; where that number is
                 too small for the algorithm, it is no reply

The steps of mode paper have equal losses, as in 003; in mode exact a half goes to the release, and what is left to the
tests. A delta is divided equally between tests; in mode paper it is the most that the printed thresholds may have.
What is derived of the parts is what is charged, and never exceeds what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

from reticent.data.order import INFINITE, LARGEST, Order
from reticent.data.query import Ordered, Per, Present, kept_rows
from reticent.data.schema import Category, Integer, Real
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import exp_up
from reticent.mechanisms import Geometric, gate
from reticent.outcome import NO_REPLY
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import facts
from reticent.statistics.asked import Iqr, Mode, Quantiles, Scale, Tested, TrimmedMean
from reticent.statistics.planned import Drawn, Plan, PlannedStep
from reticent.statistics.robust.median import ROOM, THIRD, Median, ScaledMedian, level_for
from reticent.statistics.robust.reports import (
    BinReport,
    Grid,
    LevelReport,
    MeanReport,
    Report,
    ScaleReport,
    SmoothReport,
    squares,
)
from reticent.statistics.robust.scale import QUARTILES, stable_scale
from reticent.statistics.robust.scale import scale as scale_for
from reticent.statistics.robust.smooth import smooth_median, smooth_trimmed_mean
from reticent.statistics.robust.trimmed import trimmed_mean as trimmed_for
from reticent.statistics.setting import Expected, Setting

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of values is bought
SQUARES: Final = Fraction(1, 20)  # of epsilon, for the interval of a trimmed mean
DEFAULT_UNIT: Final = Fraction(1, 1 << 24)  # of a real column without a resolution: it reaches to 1.4e11
COARSEST, FINEST = 1 << 56, 1 << 16  # steps to the farther bound, beyond which the unit follows the bounds
LARGEST_UNIT: Final = Fraction(10**60)
ROW: Final = Adjacency("add_remove", unit="row")
ANY_N: Final = 1 << 40  # the guarantee of mode exact does not depend on n
FEW: Final = "no reply: too few people for this ε and δ"


@dataclass(frozen=True, slots=True)
class Price:
    """What a mechanism may cost, and for whose neighbours."""

    near: Adjacency
    epsilon: Fraction
    delta: Fraction
    mode: Mode

    def each(self, tests: int) -> Fraction | None:
        """The delta of one of so many tests; None in mode paper, where the threshold has its own."""
        return None if self.mode == "paper" else self.delta / tests

    @property
    def cap(self) -> Fraction | None:
        """In mode paper: the most that all tests of one part may have."""
        return self.delta if self.mode == "paper" else None


class Maker(Protocol):
    """Makes a mechanism for a number of values, or refuses that number with a QuestionError."""

    def __call__(self, n: int, price: Price) -> Report: ...


@dataclass(frozen=True, slots=True)
class Known:
    """A plan for a public number of values; ``reach`` is what it says of how far they are read."""

    made: Report
    n: int
    reach: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    def draw(self, data: Order, entropy: Entropy) -> Drawn:
        return self.made.draw(data, entropy)

    def expected(self, people: int) -> Expected:
        return _reaching(self.made.expected(), self.reach)


@dataclass(frozen=True, slots=True)
class Bought:
    """A plan that buys the number of values first. ``rows``: the most values that one unit has."""

    census: Geometric
    make: Maker
    price: Price
    label: str
    reach: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.census.guarantee, self.make(ANY_N, self.price).guarantee], label=self.label)

    def draw(self, data: Order, entropy: Entropy) -> Drawn:
        (noisy,) = gate.draw(self.census, (data.below(LARGEST + 1),), entropy)
        try:
            made = self.make(max(noisy, 1), self.price)
        except (QuestionError, PublicParameterError):  # refused by the noisy number alone, so it may show
            return Drawn((NO_REPLY,))
        assert compose.alike(made.guarantee, self.make(ANY_N, self.price).guarantee)  # what was charged
        return made.draw(data, entropy)

    def expected(self, people: int) -> Expected:
        try:
            return _reaching(self.make(people, self.price).expected(), self.reach)
        except (QuestionError, PublicParameterError):
            return Expected(None, None, FEW)


def _reaching(found: Expected, reach: str) -> Expected:
    return replace(found, note=f"{found.note}{reach}")


# --- the questions ----------------------------------------------------------------------------------------------------


def scale(asked: Scale | Iqr, setting: Setting, epsilon: Fraction) -> PlannedStep[Order]:
    """S, or the stable bin, of a column."""
    if isinstance(asked, Iqr):
        _refuse_unused(asked)
    grid = grid_of(asked.column, asked.tested, setting)
    levels = asked.levels if isinstance(asked, Scale) else QUARTILES
    stable = isinstance(asked, Scale) and asked.method == "stable"

    def make(n: int, price: Price) -> Report:
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

    return _planned(asked, make, grid, setting, epsilon)


def quantile(asked: Quantiles, setting: Setting, epsilon: Fraction) -> PlannedStep[Order]:
    """M: one quantile, with its width given or bought."""
    if len(asked.levels) != 1:
        raise QuestionError(f"{asked.name}: method {asked.method} answers one level at a time. Nothing was charged.")
    grid, (level,) = grid_of(asked.column, asked.tested, setting), asked.levels
    if asked.method == "smooth":
        low, high = _ends(facts.bounds(asked.name, setting, asked.column, asked.low, asked.high), grid)

        def smooth(n: int, price: Price) -> Report:
            return SmoothReport(
                smooth_median(n, price.near, epsilon=price.epsilon, low=low, high=high, quantile=level), grid
            )

        return _planned(asked, smooth, grid, setting, epsilon)
    _refuse_unused(asked)
    given = None if asked.tested.width is None else max(1, round(asked.tested.width / grid.unit))
    if given is not None and given >= INFINITE:
        raise QuestionError(
            f"{asked.name}: values are read on steps of {show(grid.unit)}, of which a width holds fewer than 2^62. "
            "Name a coarser unit. Nothing was charged."
        )

    def make(n: int, price: Price) -> Report:
        if given is not None:
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
            return LevelReport(Median(alone, given), grid, n, level)
        return LevelReport(_scaled(n, price, level), grid, n, level)

    return _planned(asked, make, grid, setting, epsilon)


def _scaled(n: int, price: Price, level: Fraction) -> ScaledMedian:
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


def trimmed_mean(asked: TrimmedMean, setting: Setting, epsilon: Fraction) -> PlannedStep[Order]:
    """TM: the mean between two ranks."""
    grid = grid_of(asked.column, asked.tested, setting)
    if asked.method == "smooth":
        low, high = _ends(facts.bounds(asked.name, setting, asked.column, None, None), grid)

        def smooth(n: int, price: Price) -> Report:
            made = smooth_trimmed_mean(n, price.near, alpha=2 * asked.trim, epsilon=price.epsilon, low=low, high=high)
            return SmoothReport(made, grid)

        return _planned(asked, smooth, grid, setting, epsilon)

    def make(n: int, price: Price) -> Report:
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

    return _planned(asked, make, grid, setting, epsilon)


# --- what they share --------------------------------------------------------------------------------------------------

Column = Scale | Iqr | Quantiles | TrimmedMean


def _refuse_unused(asked: Quantiles | Iqr) -> None:
    """Refuse what S and M would not look at."""
    unused = [
        *(["low and high"] if asked.low is not None else []),
        *([] if asked.interval else ["interval=no"]),
    ]
    if unused:
        raise QuestionError(
            f"{' and '.join(unused)} would change nothing in {asked.name}: {asked.method} takes no bounds, and its "
            "interval comes with what it releases. Nothing was charged."
        )


def grid_of(column: str, options: Tested, setting: Setting) -> Grid:
    """The public grid on which values are read: a whole number, the resolution, the unit asked for, or 2^-24.

    Declared bounds for which 2^-24 is too fine or too coarse make it a power of two that suits them.

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
        return Grid(usable(options.unit or Fraction(1), column), options.unit in (None, 1))
    return Grid(usable(options.unit or declared.resolution or _unit_for(declared), column), False)


def _unit_for(declared: Real) -> Fraction:
    """2^-24, or 2^-42 of the farther bound's magnitude where that is far too fine or too coarse."""
    far = max((abs(bound) for bound in (declared.low, declared.high) if bound is not None), default=Fraction(0))
    if not far or FINEST <= far / DEFAULT_UNIT <= COARSEST:
        return DEFAULT_UNIT
    return Fraction(2) ** (math.frexp(float(far))[1] - 42)


def _far(column: str, grid: Grid, setting: Setting) -> float | None:
    """How far values of a column without bounds are read."""
    declared = setting.schema.column(column)
    return None if isinstance(declared, Category) or declared.low is not None else float(LARGEST * grid.unit)


def usable(unit: Fraction, column: str) -> Fraction:
    """``unit``, if intervals can be computed from it."""
    if not 1 / LARGEST_UNIT <= unit <= LARGEST_UNIT:
        raise QuestionError(f"the unit of {column} must lie between 1e-60 and 1e60. Nothing was charged.")
    return unit


def _ends(bounds: tuple[Fraction, Fraction], grid: Grid) -> tuple[int, int]:
    """Bounds in grid steps, outward."""
    low, high = math.floor(bounds[0] / grid.unit), math.ceil(bounds[1] / grid.unit)
    if max(abs(low), abs(high)) >= LARGEST:
        raise QuestionError(
            f"values are read on steps of {show(grid.unit)}, and the bounds lie beyond 2^61 of them. Name a coarser "
            "unit. Nothing was charged."
        )
    return low, high


def _planned(asked: Column, make: Maker, grid: Grid, setting: Setting, epsilon: Fraction) -> PlannedStep[Order]:
    """The step of a mechanism, for a public n or a bought one, of the whole table or by group."""
    if setting.delta is None and asked.method != "smooth":
        raise QuestionError(
            f"{asked.name} needs a δ, the probability of a reply where there should be none: say delta, such as "
            "1e-9, in the question where it is planned from a width. Nothing was charged."
        )
    rows = kept_rows(setting.schema.person, asked.per, setting.keys)
    price = _price(asked.tested.mode, setting, rows, epsilon, setting.delta or Fraction(0))
    n = public_values(asked.column, asked.per, setting)
    if n is None and price.mode == "paper":
        raise QuestionError(
            f"{asked.name}: mode paper has thresholds made from a public number of values. Substitution has one where "
            f"every row has a value ([columns.{asked.column}] missing = …), add_remove where [person] people is "
            "declared too. Nothing was charged."
        )
    plan: Plan[Order]
    needs = None
    far = _far(asked.column, grid, setting)
    reach = "" if far is None else f"; values beyond ±{far:.3g} count as infinite"
    steps = f"values of {asked.column} are read in steps of {float(grid.unit):.3g}{reach}: name a unit= of their size"
    if n is None:
        census = Geometric(L1(Fraction(price.near.rows), price.near), price.epsilon * CENSUS)
        plan = Bought(census, make, replace(price, epsilon=price.epsilon * (1 - CENSUS)), asked.name, reach)
        _refuse_hopeless(plan, setting, asked.per)
    else:
        made = make(n, price)
        plan, needs = Known(made, n, reach), made.needs
    if n is not None and n != setting.units:
        raise AssertionError("a public number of values is that of the units")
    step = PlannedStep(
        facts.title(asked.name, setting.keys),
        Ordered(asked.column, grid.unit, needs, setting.keys, asked.per),
        orders,
        plan,
        setting,
        rows,
        facts.labels(setting.keys),
        (*facts.caveats_of(asked.column, None, setting, asked.per), *([] if far is None else [steps])),
    )
    step.guarantee  # noqa: B018 - made now, so that what cannot be derived is refused before rows are read
    return step


def orders(result: Result) -> Sequence[Order]:
    """The column of each group."""
    return result.orders


def public_values(column: str, per: Per, setting: Setting) -> int | None:
    """The number of values where it is public: every row has one, and there is one row for each person."""
    if setting.keys is not None or setting.units is None or not facts.stands_in(setting.schema.column(column)):
        return None
    if setting.neighbours.kind == "add_remove":
        return setting.units if setting.schema.person.column is None else None
    return facts.public_size(Present(column, None, per), setting)


def _price(mode: Mode, setting: Setting, rows: int, epsilon: Fraction, delta: Fraction) -> Price:
    """By group a mechanism is made for one row and lifted to a person, so it may cost that much less."""
    if setting.keys is None:
        return Price(setting.neighbours, epsilon, delta, mode)
    times = facts.lifts(rows, setting)
    each = epsilon / times
    return Price(ROW, each, delta / (times * exp_up(epsilon - each)) if times > 1 else delta, mode)


def _refuse_hopeless(plan: Bought, setting: Setting, per: Per) -> None:
    """Refuse before rows are read where not even all persons together are enough."""
    if setting.units is not None:
        plan.make(setting.units * kept_rows(setting.schema.person, per), plan.price)
