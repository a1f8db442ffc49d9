"""From a query to an engine expression: the only module that imports Ibis, with a small fixed set of operations.

    source (text, int64, double, bool) --cells--> doubles or texts --base--> typed rows, each with its turn
    base --aggregate(query)--> a small table of integers (or of values with counts), read by ``table``
    values of one column --scan--> counts below a value, values in a bracket: what ``brackets`` asks for

Typed: every cast is total (``engines/casts.py``). What cannot be read is null.

Kept rows: the rows of a person are numbered in the order of their values, and the rows with the least
sha256(key, number, person) are kept. Equal rows are interchangeable, so the aggregates do not depend on row order.

No overflow: grids are within 2^53, sums are taken in decimal(38), clamps come before casts. No division but by a
public number or a count, no rounding but floor, no float sum: see docs/decisions/0005-engine-and-plan.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, Final, Literal, TypeAlias, assert_never

import ibis

from reticent.data.columns import Storage
from reticent.data.engines.casts import (
    DTYPES,
    clamp,
    double,
    engine_type,
    key_text,
    known_text,
    parsed,
    typed,
    whole_or_null,
    whole_text,
    with_stand_in,
)
from reticent.data.engines.formula_levels import Names, chosen, levels
from reticent.data.order_statistics import ABSENT, LARGEST, Needs
from reticent.data.query import (
    POWER_ONE,
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Keys,
    Moments,
    OrderedValues,
    Per,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    groups_of_all,
    groups_of_kept,
    keys_of,
)
from reticent.data.schema import Category, Column, FixedPointGrid, Integer, Key, Real, Schema, Text, grid_by_width
from reticent.data.transformations import needed
from reticent.errors import QuestionError

KEY_STAND_IN: Final = "the key goes here, 1f0e9d8c7b6a5948"
EXACT: Final = "decimal(38,0)"
FINE_BITS, LIMB_BITS = 40, 50  # an unbounded value is averaged on the grid 2^-40, in two limbs
WIDEST_VALUE: Final = 60  # values beyond 2^60 count as 2^60, the end of the public prior

Table: TypeAlias = Any  # Ibis is not typed; these never leave this module but as SQL text
Expr: TypeAlias = Any


def columns_of(queries: Sequence[Query], schema: Schema) -> tuple[str, ...]:
    """The declared columns the queries read, in the schema's order.

    Raises
    ------
    QuestionError
        For an unknown column, a category where numbers are needed, numbers where groups are needed.
    """
    used: set[str] = set()
    for query in queries:
        match query:
            case Rows() | DistinctPersons() | CappedPersons():
                pass
            case KeyHolders(column=column):
                used.add(column)
                schema.text(column)
            case PresentValues(column=column):
                used.add(column)
                schema.column(column)
            case Tally(column=column, edges=edges):
                used.add(column)
                if isinstance(schema.column(column), Category) and edges:
                    raise QuestionError(f"{column} is a category: a histogram of it has no edges.")
            case Total(column=column) | Moments(column=column) | Ranks(column=column) | OrderedValues(column=column):
                used.add(_numeric(schema, column))
            case Incomplete(columns=columns):
                used.update(column for column in columns if schema.column(column))
            case Records(columns=columns, coded=coded):
                used.update(column if column in coded else _numeric(schema, column) for column in columns)
            case _:
                assert_never(query)
        keys = keys_of(query)
        if keys is not None:
            used.add(keys.column)
            if isinstance(schema.column(keys.column), Real):
                raise QuestionError(f"{keys.column} is a real column, and groups need an integer or a category.")
    return tuple(name for name in schema.cells if name in used)


def _numeric(schema: Schema, column: str) -> str:
    if isinstance(schema.column(column), Category):
        raise QuestionError(f"{column} is a category, and this needs numbers.")
    return column


# --- base: typed rows with their turn ---------------------------------------------------------------------------------


def cells(schema: Schema, used: Sequence[str], storage: Mapping[str, Storage]) -> Table:
    """Parsed cells. A step of its own, since later ones use each cell several times.

    Parameters
    ----------
    schema : Schema
    used : sequence of str
        Columns that the queries read.
    storage : mapping of name to storage type

    Returns
    -------
    Table
        An Ibis expression.
    """
    names, person = Names(schema, used), schema.person.column
    used = read_columns(schema, used)
    shape = {names[name]: DTYPES[storage[name]] for name in used}
    if person is not None:
        shape["who"] = DTYPES[storage[person]]
    source = ibis.table(shape or {"none": "int64"}, name="source")
    declared, form = schema.cells, schema.format
    found = {names[name]: parsed(source[names[name]], storage[name], declared[name], form) for name in used}
    if person is not None:
        found["who"] = known_text(source.who, storage[person], form)
    return source.select(**found, turn=ibis.literal(0, "int64"))


def typed_rows(schema: Schema, used: Sequence[str]) -> Table:
    """Typed rows of persons, of which a constant column has the least value of the person."""
    names, person, read = Names(schema, used), schema.person, read_columns(schema, used)
    declared = schema.cells
    shape = {names[name]: engine_type(declared[name]) for name in read}
    if person.column is not None:
        shape["who"] = "string"
    parts = ibis.table({**shape, "turn": "int64"}, name="cells")
    found = {names[name]: typed(parts[names[name]], declared[name]) for name in read}
    if person.column is not None:
        parts = parts.filter(parts.who.notnull() & (parts.who != ""))
    rows = parts.select(**({} if person.column is None else {"who": parts.who}), **found, turn=parts.turn)
    if person.column is not None:
        constant = [names[name] for name in read if declared[name].constant]
        rows = rows.mutate(**{name: rows[name].min().over(group_by="who") for name in constant})
    return rows


def base(schema: Schema, used: Sequence[str]) -> Table:
    """Rows that pass the filter; ``turn`` is 0, 1, ... in the keyed order of each person's rows."""
    names, person = Names(schema, used), schema.person
    rows, order = chosen(schema, used, names, typed_rows(schema, used)), [names[name] for name in used]
    if person.column is None:
        return rows.select(*order, "turn")
    rows = rows.mutate(
        size=rows.count().over(group_by="who"),
        nth=ibis.row_number().over(group_by="who", order_by=[rows[name] for name in order] or [rows.who]),
    )
    digest = (ibis.literal(f"row:{KEY_STAND_IN}:") + rows.nth.cast("string") + ":" + rows.who).hexdigest("sha256")
    rows = rows.mutate(draw=ibis.ifelse(rows["size"] > person.rows, digest, ""))
    rows = rows.mutate(turn=ibis.row_number().over(group_by="who", order_by=[rows.draw, rows.nth]))
    return rows.select("who", *order, "turn", "size")


def read_columns(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The columns that are read for those used: themselves, and what computed ones and the filter are made of."""
    return tuple(name for name in needed(schema, used) if name not in schema.computed)


# --- aggregates -------------------------------------------------------------------------------------------------------


def aggregate(query: Query, schema: Schema, used: Sequence[str]) -> Table:
    """The expression over the stored ``base``: columns ``key`` (with keys), ``bin`` (tallies, ranks), then integers.

    Parameters
    ----------
    query : Query
    schema : Schema
    used : sequence of str
        Columns that the queries read.

    Returns
    -------
    Table
        An Ibis expression.
    """
    asking = _QueryExpressions(schema, used)
    match query:
        case Rows(keys=keys):
            return asking.grouped(asking.kept(keys), keys, n=_count)
        case PresentValues(column=column, keys=keys, per=per):
            rows = asking.values(asking.kept(keys), column, None, keys, per)
            return asking.grouped(rows, keys, n=lambda t: t.x.count())
        case DistinctPersons(keys=keys):
            rows = asking.kept(keys)
            distinct = _count if schema.person.column is None else lambda t: t.who.nunique()
            return asking.grouped(rows, keys, n=distinct)
        case KeyHolders(column=column, touch=touch):
            return asking.holders(column, touch)
        case CappedPersons(above=above):
            return asking.capped(above)
        case Incomplete(columns=columns):
            rows = asking.kept(None)
            odd = reduce(lambda a, b: a | b, [~rows[asking.names[column]].notnull() for column in columns])
            return asking.grouped(rows.filter(odd), None, n=_count)
        case Total(column=column, grid=grid, keys=keys):
            return asking.grouped(asking.totals(column, grid, keys), keys, n=lambda t: t.total.cast(EXACT).sum())
        case Moments(column=column, grid=grid, order=order, keys=keys, per=per):
            rows = asking.values(asking.kept(keys), column, grid, keys, per)
            return asking.grouped(rows, keys, n=lambda t: t.x.count(), **_powers(grid, order))
        case Tally(column=column, edges=(), among=among, keys=keys):
            rows = asking.listed(asking.kept(keys), column, among)
            return asking.grouped(rows, keys, by="bin", n=_count)
        case Tally(column=column, keys=keys) | Ranks(column=column, keys=keys):
            # values with their counts: finding the bin or the cell of each is left to ``table``
            per = query.per if isinstance(query, Ranks) else "row"
            rows = asking.values(asking.kept(keys), column, "value", keys, per)
            rows = rows.filter(rows.x.notnull()).mutate(bin=lambda t: t.x)
            return asking.grouped(rows, keys, by="bin", n=_count)
        case OrderedValues(column=column, unit=unit, needs=needs, keys=keys, per=per, within=within):
            rows = asking.values(asking.kept(keys), column, "value", keys, per)
            rows = rows.filter(rows.x.notnull())
            if within is not None:
                rows = rows.mutate(x=clamp(rows.x, float(within[0]), float(within[1])))
            if needs is not None:
                return asking.placed(rows, keys)  # the scans below go over it
            return asking.grouped(rows.mutate(bin=steps(rows.x, unit)), keys, by="bin", n=_count)
        case Records():
            return asking.records(query)
        case _:
            assert_never(query)


def _count(table: Table) -> Expr:
    return table.count()


def _powers(grid: FixedPointGrid, order: int) -> dict[str, Any]:
    """Sums of powers of ``x``, a grid value less the middle, so that |x| <= reach and every power fits its bound."""

    def power(j: int) -> Any:
        def total(table: Table) -> Expr:
            if j == 1:
                return table.x.cast(EXACT).sum()
            u = table.x.cast("float64") / double(grid.reach)
            scaled = reduce(lambda a, b: a * b, [u] * j) * double(POWER_ONE) + double(0.5)
            return scaled.floor().cast("int64").cast(EXACT).sum()

        return total

    return {f"p{j}": power(j) for j in range(1, order + 1)}


def fixed(x: Expr, grid: FixedPointGrid) -> Expr:
    """``floor(clamp(x) 2**bits)`` as int64: the ends are exact doubles, and so is the product."""
    inside = clamp(x, math.ldexp(grid.lowest, -grid.bits), math.ldexp(grid.highest, -grid.bits))
    return (inside * double(math.ldexp(1.0, grid.bits))).floor().cast("int64")


def steps(x: Expr, unit: Fraction) -> Expr:
    """``floor(x / unit)`` within +-2^61 as int64. Multiplying by a power of two is exact, and faster than dividing."""
    exact = (unit.numerator * unit.denominator).bit_count() == 1
    ratio = x * double(float(1 / unit)) if exact else x / double(float(unit))
    return clamp(ratio, -float(LARGEST), float(LARGEST)).floor().cast("int64")


def _within(x: Expr, low: int, high: int) -> Expr:
    return ibis.cases((x < low, low), (x > high, high), else_=x)


class _QueryExpressions:
    """The expressions of one query over the stored base table."""

    def __init__(self, schema: Schema, used: Sequence[str]) -> None:
        self.schema, self.person = schema, schema.person
        self.names = Names(schema, used)
        declared = schema.cells
        shape = {
            self.names[name]: "string" if isinstance(declared[name], Category | Text) else "float64" for name in used
        }
        if self.person.column is not None:
            shape = {"who": "string", **shape, "size": "int64"}
        self.all = ibis.table({**shape, "turn": "int64"}, name="base")

    def kept(self, keys: Keys | None) -> Table:
        rows = self.all.filter(self.all.turn < self.person.rows) if self.person.column is not None else self.all
        if keys is None:
            return rows
        rows = self._keyed(rows, keys)
        bound = groups_of_kept(self.person, keys)
        return self._few_groups(rows, keys, bound) if bound < min(self.person.rows, len(keys.among)) else rows

    def _keyed(self, rows: Table, keys: Keys) -> Table:
        column = self.present(rows, keys.column)
        if isinstance(self.schema.columns[keys.column], Integer):
            column = whole_text(column)
        rows = rows.mutate(key=column)
        if keys.parts:  # every key of a product is asked for
            return rows.filter(rows.key.notnull())
        return rows.filter(rows.key.isin([key_text(key) for key in keys.among]))

    def _few_groups(self, rows: Table, keys: Keys, bound: int) -> Table:
        """Rows of at most ``bound`` groups of each person, those with the least sha256(key, group, person)."""
        if self.person.column is None or self.schema.columns[keys.column].constant:
            return rows
        return self._fewest(rows, bound)

    def _fewest(self, rows: Table, bound: int) -> Table:
        salt = ibis.literal(f"group:{KEY_STAND_IN}:") + rows.key.length().cast("string") + ":"
        rows = rows.mutate(draw=(salt + rows.key + ":" + rows.who).hexdigest("sha256"))
        rows = rows.mutate(place=ibis.dense_rank().over(group_by="who", order_by=rows.draw))
        return rows.filter(rows.place < bound)

    def holders(self, column: str, touch: int) -> Table:
        """The texts of the kept rows with their numbers of persons, each person in at most ``touch`` of them."""
        rows = self.kept(None)
        rows = rows.mutate(key=rows[self.names[column]])
        rows = rows.filter(rows.key.notnull())
        if self.person.column is None:
            return rows.group_by("key").aggregate(n=rows.count())
        rows = self._fewest(rows, touch) if touch < self.person.rows else rows
        return rows.group_by("key").aggregate(n=rows.who.nunique())

    def present(self, rows: Table, column: str) -> Expr:
        """The column with its public stand-in."""
        return with_stand_in(rows[self.names[column]], self.schema.columns[column])

    def values(
        self, rows: Table, column: str, grid: FixedPointGrid | Literal["value"] | None, keys: Keys | None, per: Per
    ) -> Table:
        """Rows (or persons) with ``x``: a grid value less the middle, or the value itself; null where missing."""
        x, declared = self.present(rows, column), self.schema.columns[column]
        if isinstance(grid, FixedPointGrid):
            rows = rows.mutate(x=fixed(x, grid) - grid.middle)
            if per == "row" or self.person.column is None:
                return rows
            means = self._means(rows, keys, lambda t: t.x.cast(EXACT).sum().cast("float64") / t.x.count())
            nearest = (clamp(means.x, -float(grid.reach), float(grid.reach)) + double(0.5)).floor().cast("int64")
            return means.mutate(x=_within(nearest, grid.lowest - grid.middle, grid.highest - grid.middle))
        rows = rows.mutate(x=x)
        if per == "row" or self.person.column is None:
            return rows
        if grid is None or isinstance(declared, Category):
            return self._means(rows, keys, lambda t: t.x.count())
        return self._mean_values(rows, declared, keys)

    def _mean_values(self, rows: Table, declared: Real | Integer, keys: Keys | None) -> Table:
        """Averages as doubles, from exact integer sums, so that they do not depend on row order."""
        if declared.low is not None and declared.high is not None:
            grid = grid_by_width(Fraction(declared.low), Fraction(declared.high))
            rows = rows.mutate(x=fixed(rows.x, grid) - grid.middle)
            means = self._means(rows, keys, lambda t: t.x.cast(EXACT).sum().cast("float64") / t.x.count())
            return means.mutate(x=(means.x + double(grid.middle)) * double(math.ldexp(1.0, -grid.bits)))
        edge = math.ldexp(1.0, WIDEST_VALUE)
        scaled = clamp(rows.x, -edge, edge) * double(math.ldexp(1.0, FINE_BITS))
        limb = math.ldexp(1.0, LIMB_BITS)
        upper = (scaled * double(1 / limb)).floor()
        lower = (scaled - upper.cast("float64") * double(limb)).floor()
        rows = rows.mutate(x=upper.cast("int64"), y=lower.cast("int64"))

        def mean(table: Table) -> Expr:
            high, low = (table[c].cast(EXACT).sum().cast("float64") for c in ("x", "y"))
            return (high * double(limb) + low) / table.x.count() * double(math.ldexp(1.0, -FINE_BITS))

        return self._means(rows, keys, mean)

    def _means(self, rows: Table, keys: Keys | None, mean: Any) -> Table:
        rows = rows.filter(rows.x.notnull())
        by = ["who"] if keys is None else ["who", "key"]
        return rows.group_by(by).aggregate(x=mean(rows))

    def listed(self, rows: Table, column: str, among: tuple[Key, ...]) -> Table:
        x = self.present(rows, column)
        if not isinstance(self.schema.columns[column], Category):
            x = whole_text(whole_or_null(x))
        rows = rows.mutate(bin=x)
        return rows.filter(rows.bin.isin([key_text(key) for key in among]))

    def placed(self, rows: Table, keys: Keys | None) -> Table:
        """The values ``x`` with ``place``, the number of their group."""
        if keys is None:
            return rows.select(x=rows.x, place=ibis.literal(0, "int64"))
        places = [(rows.key == key_text(key), ibis.literal(nth, "int64")) for nth, key in enumerate(keys.among)]
        return rows.select(x=rows.x, place=ibis.cases(*places, else_=ibis.literal(-1, "int64")))

    def records(self, query: Records) -> Table:
        """Kept rows as integers x0, x1, ..., and a number for the person; a row that lacks a value is ABSENT, zeros."""
        rows = self.kept(None)
        cells = [self._coded(self.present(rows, column), self.schema.columns[column]) for column in query.columns]
        whole = reduce(lambda a, b: a & b, [cell.notnull() for cell in cells])
        found = {
            f"x{nth}": ibis.ifelse(whole, steps(cell, unit), ibis.literal(0 if nth else ABSENT, "int64"))
            for nth, (cell, unit) in enumerate(zip(cells, query.units, strict=True))
        }
        if query.owners == "told" and self.person.column is not None:
            found["who"] = ibis.dense_rank().over(order_by=rows.who)
        return rows.select(**found)

    def _coded(self, x: Expr, column: Column) -> Expr:
        """A number as it is; of a category the place of its key."""
        if not isinstance(column, Category):
            return x
        places = [(x == key_text(key), double(nth)) for nth, key in enumerate(column.among)]
        return ibis.cases(*places, else_=ibis.null("float64"))

    def totals(self, column: str, grid: FixedPointGrid, keys: Keys | None) -> Table:
        """One row per person (and group): the clamped total."""
        rows = self.all if keys is None else self._keyed(self.all, keys)
        if keys is not None:
            bound = groups_of_all(self.person, keys)
            rows = self._few_groups(rows, keys, bound) if bound < len(keys.among) else rows
        rows = rows.mutate(q=fixed(self.present(rows, column), grid).fill_null(0))
        if self.person.column is None:
            return rows.mutate(total=lambda t: t.q)
        by = ["who"] if keys is None else ["who", "key"]
        totals = rows.group_by(by).aggregate(total=rows.q.cast(EXACT).sum())
        least, most = min(0, self.person.rows * grid.lowest), max(0, self.person.rows * grid.highest)
        return totals.mutate(total=_within(totals.total, least, most))

    def capped(self, above: Sequence[int]) -> Table:
        if self.person.column is None:
            width = max(1, len(above))
            return self.all.aggregate(**{f"n{place}": self.all.turn.sum() for place in range(width)})  # nobody: 0
        rows = self.all.filter(self.all.turn == 0)
        counts = [rows["size"] > limit for limit in above or (self.person.rows,)]
        return rows.aggregate(**{f"n{place}": rows.count(where=more) for place, more in enumerate(counts)})

    def grouped(self, rows: Table, keys: Keys | None, by: str | None = None, **measures: Any) -> Table:
        columns = [name for name, asked in (("key", keys is not None), (by or "", by is not None)) if asked]
        exact = {name: measure(rows) for name, measure in measures.items()}
        return rows.group_by(columns).aggregate(**exact) if columns else rows.aggregate(**exact)


# --- statements -------------------------------------------------------------------------------------------------------


def statements(
    queries: Sequence[Query], schema: Schema, storage: Mapping[str, Storage], key: bytes, dialect: str
) -> tuple[dict[str, str], str, list[str]]:
    """The texts of views from "source" on, of the table "base" over them, and one text per query over "base".

    Compiling takes longer than most queries, so texts are kept, with a stand-in for the key: they are public.

    Parameters
    ----------
    queries : sequence of Query
    schema : Schema
    storage : mapping of name to storage type
    key : bytes of length 32
        Chooses the rows that are kept.
    dialect : str
        Of SQL, such as "duckdb".

    Returns
    -------
    views by name, the table "base", and one text for each query
    """
    used = columns_of(queries, schema)
    told = dict(schema.columns), schema.person, schema.format, dict(schema.computed), schema.where
    shape = _Shape(schema, repr(told))
    views = {"cells": _cells_text(shape, used, tuple(sorted(storage.items())), dialect)}
    views |= _level_texts(shape, used, dialect)
    asked = []
    for query in queries:
        plain = _plain(query)
        asked.append(_with(_query_text(plain, repr(plain), shape, used, dialect), key))
    return views, _with(_base_text(shape, used, dialect), key), asked


def _plain(query: Query) -> Query:
    """A query with the same text, so that a cache holds few of them: edges and ranks are no part of it."""
    match query:
        case Tally(edges=(_, *_)):
            return replace(query, edges=(Fraction(0), Fraction(1)))
        case OrderedValues(needs=Needs()):
            return replace(query, unit=Fraction(1), needs=Needs(()))
        case _:
            return query


@dataclass(frozen=True, slots=True)
class _Shape:
    """A schema as a key of a cache: by its text, since the keys 1 and True are equal and are not the same."""

    schema: Schema = field(compare=False)
    text: str


@lru_cache(maxsize=256)
def _cells_text(shape: _Shape, used: tuple[str, ...], storage: tuple[tuple[str, Storage], ...], dialect: str) -> str:
    return str(ibis.to_sql(cells(shape.schema, used, dict(storage)), dialect=dialect))


@lru_cache(maxsize=256)
def _level_texts(shape: _Shape, used: tuple[str, ...], dialect: str) -> dict[str, str]:
    schema = shape.schema
    found = levels(schema, used, Names(schema, used), typed_rows(schema, used))
    return {name: str(ibis.to_sql(table, dialect=dialect)) for name, table in found.items()}


@lru_cache(maxsize=256)
def _base_text(shape: _Shape, used: tuple[str, ...], dialect: str) -> str:
    return str(ibis.to_sql(base(shape.schema, used), dialect=dialect))


@lru_cache(maxsize=1024)
def _query_text(query: Query, text: str, shape: _Shape, used: tuple[str, ...], dialect: str) -> str:
    return str(ibis.to_sql(aggregate(query, shape.schema, used), dialect=dialect))


def _with(text: str, key: bytes) -> str:
    return text.replace(KEY_STAND_IN, key.hex())


# --- scans: order statistics where they are ---------------------------------------------------------------------------

Scan: TypeAlias = Literal["size", "sample", "below", "inside", "between"]
FIRST, SECOND, PLACE = (f"the {nth} number goes here" for nth in ("first", "second", "third"))


def scan_text(asked: Scan, table: str, unit: Fraction, place: int | None, dialect: str, *numbers: float | int) -> str:
    """A statement over the doubles ``x`` of a table, of the group at ``place`` if any; ``data/rank_search.py``.

    Parameters
    ----------
    asked : Scan
    table : str
        Name of the table of doubles.
    unit : Fraction
        Step of the integers, in the unit of the column.
    place : int or None
        Place of the group.
    dialect : str
        Of SQL, such as "duckdb".
    numbers : float or int
        Parameters of the scan.

    Returns
    -------
    str
    """
    text = _scan_text(asked, table, unit, place is not None, dialect)
    for stand_in, number in zip((FIRST, SECOND), numbers, strict=False):
        text = text.replace(stand_in, repr(number))
    return text.replace(PLACE, str(place))


def scan(asked: Scan, table: str, unit: Fraction, of_group: bool) -> Table:
    """The expression of one scan, with stand-ins for its numbers.

    Parameters
    ----------
    asked : Scan
    table : str
        Name of the table of doubles.
    unit : Fraction
        Step of the integers, in the unit of the column.
    of_group : bool
        True if one group is scanned.

    Returns
    -------
    Table
        An Ibis expression.
    """
    rows = ibis.table({"x": "float64", "place": "int64"}, name=table)
    if of_group:
        rows = rows.filter(rows.place == ibis.literal(PLACE, "string").cast("int64"))
    first, second = (ibis.literal(text, "string").cast("float64") for text in (FIRST, SECOND))
    match asked:
        case "size":
            return rows.aggregate(n=rows.count())
        case "sample":
            # the engine's own generator: what is drawn says where to look and is no part of any answer
            return rows.filter(ibis.random() < first).select("x")
        case "below":
            rows = rows.filter(rows.x < first)
            return rows.aggregate(n=rows.count())
        case "inside":
            rows = rows.filter(~(rows.x < first) & ~(rows.x > second)).mutate(bin=lambda t: steps(t.x, unit))
            return rows.group_by("bin").aggregate(n=rows.count())
        case "between":
            low, high = (ibis.literal(text, "string").cast("int64") for text in (FIRST, SECOND))
            rows = rows.select(q=steps(rows.x, unit))
            strictly = ibis.ifelse((rows.q > low) & (rows.q < high), rows.q, ibis.literal(0, "int64"))
            up_to, below = rows.count(where=~(rows.q > low)), rows.count(where=rows.q < high)
            return rows.aggregate(total=strictly.cast(EXACT).sum(), up_to=up_to, below=below)
        case _:
            assert_never(asked)


@lru_cache(maxsize=256)
def _scan_text(asked: Scan, table: str, unit: Fraction, of_group: bool, dialect: str) -> str:
    return str(ibis.to_sql(scan(asked, table, unit, of_group), dialect=dialect))
