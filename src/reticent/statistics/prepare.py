"""From a question and its setting to a step: bounds, queries, sensitivities and mechanisms. No row is read.

Every refusal that public facts can justify is raised here, with nothing charged.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

from reticent.data.cells import Cells, cells_of
from reticent.data.query import (
    Keys,
    Moments,
    Per,
    Persons,
    Present,
    Query,
    Ranks,
    Rows,
    Tally,
    Total,
    kept_rows,
    stability,
)
from reticent.data.schema import Category, Column, Integer, Key, Real, grid_by_size, grid_by_width, grid_whole
from reticent.errors import QuestionError
from reticent.mechanisms import Geometric
from reticent.privacy.numbers import positive, show
from reticent.privacy.sensitivity import L1
from reticent.statistics.asked import (
    CapShare,
    Count,
    Histogram,
    Iqr,
    Mean,
    People,
    Proportion,
    Quantiles,
    Statistic,
    Sum,
    Variance,
)
from reticent.statistics.caps import CapStep
from reticent.statistics.counts import CountStep, Label
from reticent.statistics.moments import MomentStep, Shape
from reticent.statistics.proportions import ProportionStep
from reticent.statistics.quantiles import SIZE_SHARE, VALUE_SHARE, Pricing, QuantileStep
from reticent.statistics.ranks import within
from reticent.statistics.setting import Setting
from reticent.statistics.soft import Kind, design

if TYPE_CHECKING:
    from reticent.statistics.setting import Step

QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))


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
    match asked:
        case Count():
            return _count(asked.name, Rows(setting.keys), setting, epsilon)
        case People():
            return _count(asked.name, Persons(setting.keys), setting, epsilon)
        case Sum():
            return _sum(asked, setting, epsilon)
        case Mean(column=column, per=per, low=low, high=high):
            order = 2 if asked.interval else 1
            return _moments(
                asked, column, per, _bounds(asked.name, setting, column, low, high), order, setting, epsilon
            )
        case Variance(column=column, per=per, low=low, high=high):
            order = 4 if asked.interval else 2
            return _moments(
                asked, column, per, _bounds(asked.name, setting, column, low, high), order, setting, epsilon
            )
        case Proportion():
            return _proportion(asked, setting, epsilon)
        case Histogram():
            return _histogram(asked, setting, epsilon)
        case Quantiles() | Iqr():
            return _quantiles(asked, setting, epsilon)
        case CapShare():
            return _capped(setting, epsilon)
        case _:
            assert_never(asked)


# --- what is common --------------------------------------------------------------------------------------------------


def _title(name: str, keys: Keys | None) -> str:
    return name if keys is None else f"{name} by {keys.column}"


def _labels(keys: Keys | None, inner: tuple[Label, ...] = ((),)) -> tuple[Label, ...]:
    if keys is None:
        return inner
    return tuple(((keys.column, key), *label) for key in keys.among for label in inner)


def _stands_in(column: Column) -> bool:
    return not isinstance(column, Category) and column.missing != "drop"


def _stability(query: Query, setting: Setting, *, stands_in: bool = False) -> Fraction:
    """The L1 stability of all integers of a query together."""
    return sum(stability(query, setting.schema.person, stands_in=stands_in), Fraction(0))


def _geometric(bound: Fraction, setting: Setting, epsilon: Fraction) -> Geometric | None:
    """The mechanism for integers of this stability; None where they are the same for all neighbours."""
    return None if bound == 0 else Geometric(L1(bound, setting.neighbours), epsilon)


def _bounds(
    name: str, setting: Setting, column: str, low: Fraction | None, high: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Bounds named in the question, or those of the schema, or the refusal that says how to declare them."""
    declared = setting.schema.column(column)
    if isinstance(declared, Category) or low is None or high is None:
        return setting.schema.bounded(column, name)
    if isinstance(declared, Integer) and (low.denominator != 1 or high.denominator != 1):
        raise QuestionError(f"{column} is an integer column: low and high must be integers. Nothing was charged.")
    return low, high


def _caveats(column: str, bounds: tuple[Fraction, Fraction] | None, setting: Setting, per: Per) -> tuple[str, ...]:
    """What public declarations alone say about how the number may differ from the one meant."""
    found = []
    person = setting.schema.person
    if bounds is not None:
        found.append(f"values of {column} outside [{show(bounds[0])}, {show(bounds[1])}] count as the nearer bound")
    if person.column is not None and per == "row" and person.rows > 1:
        found.append(f"at most {person.rows} rows of each person count; the sampling part allows for their likeness")
    return tuple(found)


def _public_size(query: Present, setting: Setting) -> int | None:
    """The number of present values where it is the same for all neighbours and known: one for each unit."""
    declared = setting.schema.column(query.column)
    if setting.units is None or not setting.size_public:
        return None
    return setting.units if _stability(query, setting, stands_in=_stands_in(declared)) == 0 else None


# --- counts ----------------------------------------------------------------------------------------------------------


def _count(name: str, query: Rows | Persons, setting: Setting, epsilon: Fraction) -> CountStep:
    mechanism = _geometric(_stability(query, setting), setting, epsilon)
    caveats: tuple[str, ...] = ()
    person = setting.schema.person
    if isinstance(query, Rows) and person.column is not None:
        caveats = (f"at most {person.rows} rows of each person count",)
    return CountStep(
        _title(name, setting.keys), query, mechanism, setting, Fraction(1), _labels(setting.keys), True, caveats
    )


def _sum(asked: Sum, setting: Setting, epsilon: Fraction) -> CountStep:
    low, high = _bounds(asked.name, setting, asked.column, asked.low, asked.high)
    whole = isinstance(setting.schema.column(asked.column), Integer)  # then noisy sums are integers, as sums are
    grid = grid_whole(low, high) if whole else grid_by_size(low, high)
    query = Total(asked.column, grid, setting.keys)
    mechanism = _geometric(_stability(query, setting), setting, epsilon)
    caveats = list(_caveats(asked.column, (low, high), setting, "person"))
    rows = setting.schema.person.rows
    if rows > 1:
        least, most = show(min(Fraction(0), rows * low)), show(max(Fraction(0), rows * high))
        caveats.append(f"the total of each person counts as at least {least} and at most {most}")
    return CountStep(
        _title(asked.name, setting.keys),
        query,
        mechanism,
        setting,
        grid.unit,
        _labels(setting.keys),
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
        case Real() | Integer():
            if not asked.edges:
                raise QuestionError(
                    f"histogram({asked.column}) needs edges known without looking at the file: "
                    f"histogram({asked.column}, edges=0:50:5). Nothing was charged."
                )
            query = Tally(asked.column, edges=asked.edges, keys=setting.keys)
            bins = tuple((("bin", text),) for text in _intervals(asked.edges))
        case _:
            assert_never(declared)
    mechanism = _geometric(_stability(query, setting), setting, epsilon)
    caveats = []
    if asked.edges:
        ends = f"[{show(asked.edges[0])}, {show(asked.edges[-1])}]"
        caveats.append(f"values of {asked.column} outside {ends} count in the nearer end bin")
    if setting.schema.person.column is not None:
        caveats.append(f"at most {setting.schema.person.rows} rows of each person count")
    return CountStep(
        _title(asked.name, setting.keys),
        query,
        mechanism,
        setting,
        Fraction(1),
        _labels(setting.keys, bins),
        True,
        tuple(caveats),
    )


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
    units = _public_size(Present(column, setting.keys, per), setting)
    # Substitution without groups replaces rows in place; elsewhere rows come and go, and soft counts are the better.
    in_place = setting.neighbours.kind == "substitute" and setting.keys is None
    kind: Kind = "soft" if not in_place else ("plain" if units is None else "sized")
    chosen = design(kind, order, grid)
    rows = kept_rows(person, per, setting.keys)
    steps = rows if setting.neighbours.kind != "substitute" or in_place else 2 * rows
    mechanism = Geometric(L1(chosen.sensitivity(steps, min(steps, _groups(setting))), setting.neighbours), epsilon)
    shape: Shape = "mean" if isinstance(asked, Mean) else ("sd" if asked.root else "variance")
    caveats = list(_caveats(column, bounds, setting, per))
    if not asked.interval:
        caveats.append("the interval covers the noise alone: sampling error was not bought")
    return MomentStep(
        _title(asked.name, setting.keys),
        query,
        shape,
        chosen,
        mechanism,
        setting,
        units,
        kept_rows(person, per),
        asked.interval,
        _labels(setting.keys),
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
        _title(asked.name, setting.keys),
        queries,
        in_place,
        mechanism,
        setting,
        rows,
        _labels(setting.keys),
        _caveats(asked.column, None, setting, "row"),
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
    cells, bounds = _cells(asked, setting)
    present = Present(asked.column, keys, asked.per)
    units = _public_size(present, setting)
    rows = kept_rows(person, asked.per, keys)
    # (different cells, ties): one of them changes by one for a row that comes or goes; a replaced row does both, and
    # changes the ties alone by one at most, which are all that is drawn where the number of values is public.
    steps = 2 * rows if setting.neighbours.kind == "substitute" and units is None else rows
    size: Geometric | None = Geometric(L1(Fraction(steps), setting.neighbours), epsilon * SIZE_SHARE)
    left = epsilon * (1 - SIZE_SHARE)
    if not asked.interval and units is not None:
        size, left = None, epsilon
    each = left / len(levels)
    value = each * VALUE_SHARE if asked.interval else each
    pricing = Pricing(size, value, (each - value) / 2, rows, keys is not None)
    caveats = list(_caveats(asked.column, bounds, setting, asked.per))
    if not asked.interval:
        caveats.append("no interval was bought: the ends are those of the possible values")
    inner: tuple[Label, ...] = ((),)
    if len(levels) > 1 and not spread:
        inner = tuple((("level", show(level)),) for level in levels)
    step = QuantileStep(
        _title(asked.name, keys),
        Ranks(asked.column, keys, asked.per),
        cells,
        levels,
        spread,
        setting,
        pricing,
        units,
        _groups(setting),
        _labels(keys, inner),
        tuple(caveats),
    )
    if setting.units is not None:
        step.refuse_if_hopeless(setting.units * kept_rows(person, asked.per))
    return step


def _cells(asked: Quantiles | Iqr, setting: Setting) -> tuple[Cells, tuple[Fraction, Fraction] | None]:
    """The candidates, and the bounds that move values."""
    declared = setting.schema.column(asked.column)
    cells = cells_of(declared, asked.column)
    if asked.low is not None and asked.high is not None:
        return within(cells, asked.low, asked.high), (asked.low, asked.high)
    if isinstance(declared, Category) or declared.low is None or declared.high is None:
        return cells, None
    return cells, (Fraction(declared.low), Fraction(declared.high))


# --- how far a cap can matter ----------------------------------------------------------------------------------------


def _capped(setting: Setting, epsilon: Fraction) -> CapStep:
    """Persons above the cap and persons in all, as two counts that together change by one at most (two if replaced)."""
    if setting.schema.person.column is None:
        raise QuestionError("Every row is another person: there is no cap. Nothing was charged.")
    substitute = setting.neighbours.kind == "substitute"
    units = setting.units if substitute else None
    bound = Fraction(2 if substitute and units is None else 1)
    return CapStep(Geometric(L1(bound, setting.neighbours), epsilon), setting, units)
