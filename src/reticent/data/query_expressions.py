"""From a query to an expression over the rows that count: a small table of integers, or of values with counts.

    base --aggregate(query)--> what one query asks
    base --together(queries)--> what several queries of the same rows ask, side by side
    values of one column --scan--> counts below a value, values in a bracket: what ``order_statistics`` asks for

No overflow: grids are within 2^53, sums are taken in decimal(38), clamps come before casts. No division but by a
public number or a count, no rounding but floor, no float sum: see docs/decisions/0005-engine-and-plan.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, Final, Literal, TypeAlias, assert_never

import ibis

from reticent.data.candidates import are_counted
from reticent.data.columns import columns_of as columns_of
from reticent.data.engines.casts import binned, clamp, double, key_text, whole_or_null, whole_text, with_stand_in
from reticent.data.engines.engine import Dialect
from reticent.data.engines.row_choice import TURN, Chosen, RowChoice, in_few_groups
from reticent.data.order_statistics import ABSENT, LARGEST
from reticent.data.query import (
    PARTS,
    POWER_ONE,
    WEIGHT_ONE,
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Keys,
    KeyShares,
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
    Weighing,
    WeightedMoments,
    WeightedTally,
    keys_of,
)
from reticent.data.schema import Category, Column, FixedPointGrid, Integer, Key, Real, grid_by_width

EXACT: Final = "decimal(38,0)"
FINE_BITS, LIMB_BITS = 40, 50  # an unbounded value is averaged on the grid 2^-40, in two limbs
WIDEST_VALUE: Final = 60  # values beyond 2^60 count as 2^60, the end of the public prior
Scan: TypeAlias = Literal["size", "sample", "pairs", "below", "inside", "values", "between"]
FIRST, SECOND, PLACE = (f"the {nth} number goes here" for nth in ("first", "second", "third"))

Table: TypeAlias = Any  # Ibis is not typed; these never leave this module but as SQL text
Expr: TypeAlias = Any


def aggregate(query: Query, choice: RowChoice, nth: int = 0) -> Table:
    """The expression of a query that shares no scan, over the stored ``base``.

    Its columns are ``place`` (with keys), ``bin`` (tallies, ranks), then integers.

    Parameters
    ----------
    query : Query
    choice : RowChoice
        The rows that count.
    nth : int
        Number of the list of groups.

    Returns
    -------
    Table
        An Ibis expression.

    Raises
    ------
    TypeError
        A query of a kind that is not known.
    """
    asking = _QueryExpressions(choice, nth)
    match query:
        case PresentValues(column=column, keys=keys, per=per):
            rows = asking.values(asking.kept(keys), column, None, keys, per)
            return asking.grouped(rows, keys, n=lambda t: t.x.count())
        case KeyHolders():
            return asking.holders(query)
        case CappedPersons(above=above):
            return asking.capped(above)
        case Moments(column=column, grid=grid, order=order, keys=keys, per=per):
            rows = asking.values(asking.kept(keys), column, grid, keys, per)
            return asking.grouped(rows, keys, n=lambda t: t.x.count(), **powers_of(grid, order))
        case WeightedMoments(column=column, weight=weight, grid=grid, order=order, keys=keys):
            rows = asking.weighed(asking.kept(keys), weight)
            if column is None:
                rows = rows.mutate(x=ibis.literal(0, "int64"))
            else:
                rows = asking.values(rows, column, grid, keys, "row").filter(lambda t: t.x.notnull())
            return asking.grouped(rows, keys, **_weighted_powers(grid, order))
        case WeightedTally(column=column, weight=weight, edges=(), among=among, keys=keys):
            rows = asking.listed(asking.weighed(asking.kept(keys), weight), column, among)
            return asking.grouped(rows, keys, by="bin", **_weighted_powers(None, 0))
        case WeightedTally(column=column, weight=weight, edges=edges, keys=keys):
            rows = asking.values(asking.weighed(asking.kept(keys), weight), column, "value", keys, "row")
            rows = binned(rows.filter(rows.x.notnull()), edges)
            return asking.grouped(rows, keys, by="bin", **_weighted_powers(None, 0))
        case Tally(column=column, edges=(), among=among, keys=keys):
            rows = asking.listed(asking.kept(keys), column, among)
            return asking.grouped(rows, keys, by="bin", n=ibis.Table.count)
        case Ranks(column=column, keys=keys, weight=Weighing() as weight, power=power):
            rows = asking.values(asking.weighed(asking.kept(keys), weight), column, "value", keys, "row")
            rows = rows.filter(rows.x.notnull()).mutate(bin=lambda t: t.x)
            own = "own" if power == 1 else "w2"
            return asking.grouped(rows, keys, by="bin", n=lambda t: t[own].cast(EXACT).sum())
        case Tally(column=column, edges=edges, keys=keys):
            rows = asking.values(asking.kept(keys), column, "value", keys, "row")
            rows = binned(rows.filter(rows.x.notnull()), edges)
            return asking.grouped(rows, keys, by="bin", n=ibis.Table.count)
        case Ranks(column=column, keys=keys, per=per):
            # values with their counts: finding the cell of each is left to ``query_result``
            rows = asking.values(asking.kept(keys), column, "value", keys, per)
            rows = rows.filter(rows.x.notnull()).mutate(bin=lambda t: t.x)
            return asking.grouped(rows, keys, by="bin", n=ibis.Table.count)
        case OrderedValues(column=column, unit=unit, needs=needs, keys=keys, per=per, within=within):
            rows = asking.values(asking.kept(keys), column, "value", keys, per)
            rows = rows.filter(rows.x.notnull())
            if within is not None:
                rows = rows.mutate(x=clamp(rows.x, float(within[0]), float(within[1])))
            if needs is not None:
                return asking.placed(rows, keys)  # the scans below go over it
            return asking.grouped(rows.mutate(bin=steps(rows.x, unit)), keys, by="bin", n=ibis.Table.count)
        case Records():
            return asking.records(query)
        case _:
            raise TypeError(f"unknown query: {type(query).__name__}")


def together(queries: Sequence[Query], choice: RowChoice, nth: int = 0) -> Table:
    """One expression for queries of the same groups that go together: the integers of each, one query after the other.

    Parameters
    ----------
    queries : sequence of Query
    choice : RowChoice
        The rows that count.
    nth : int
        Number of the list of groups.

    Returns
    -------
    Table
        An Ibis expression.

    Raises
    ------
    TypeError
        A query that is asked alone.
    """
    asking, keys = _QueryExpressions(choice, nth), keys_of(queries[0])
    totals = {
        f"q{place}_n": query for place, query in enumerate(queries) if isinstance(query, Total) and query.of == "all"
    }
    parts = [asking.sums(queries, *part) for part in choice.parts(keys, nth, bool(totals))]
    if len(parts) == 1:
        return parts[0]
    if totals:
        parts.append(asking.moved(totals, keys, parts[0].columns))
    return asking.added(parts, keys)


def _where(table: Table, chosen: Chosen) -> Expr:
    """The rows that count in a measure, None for all."""
    return None if chosen is None else chosen(table)


def powers_of(grid: FixedPointGrid, order: int, x: str = "x", chosen: Chosen = None) -> dict[str, Any]:
    """Sums of powers of ``x``, a grid value less the middle, so that |x| <= reach and every power fits its bound.

    Parameters
    ----------
    grid : FixedPointGrid
    order : int
    x : str
        Name of the column.
    chosen : callable, optional
        The rows that count; by default all.

    Returns
    -------
    dict of str to callable
        Measures of a table, by name.
    """

    def power(j: int) -> Any:
        def total(table: Table) -> Expr:
            if j == 1:
                return table[x].cast(EXACT).sum(where=_where(table, chosen))
            u = table[x].cast("float64") / double(grid.reach)
            scaled = reduce(lambda a, b: a * b, [u] * j) * double(POWER_ONE) + double(0.5)
            return scaled.floor().cast("int64").cast(EXACT).sum(where=_where(table, chosen))

        return total

    return {f"p{j}": power(j) for j in range(1, order + 1)}


def _total(centred: Expr, grid: FixedPointGrid, where: Expr) -> Expr:
    """The sum of grid values of which each comes less the middle."""
    whole = centred.cast(EXACT).sum(where=where)
    return whole + centred.count(where=where).cast(EXACT) * grid.middle


def _weighted_powers(grid: FixedPointGrid | None, order: int) -> dict[str, Any]:
    """Sums of each part of a weight, and of its products with powers of ``x``, which fit 64 bits."""

    def total(part: int, j: int) -> Any:
        def measure(table: Table) -> Expr:
            own = table[f"w{part}"]
            if j == 0:
                return own.cast(EXACT).sum()
            if j == 1:
                return (own * table.x).cast(EXACT).sum()
            assert grid is not None
            u = table.x.cast("float64") / double(grid.reach)
            scaled = reduce(lambda a, b: a * b, [u] * j) * double(POWER_ONE) + double(0.5)
            return (own * scaled.floor().cast("int64")).cast(EXACT).sum()

        return measure

    return {f"n{part}_{j}": total(part, j) for part in range(PARTS) for j in range(order + 1)}


def fixed(x: Expr, grid: FixedPointGrid) -> Expr:
    """``floor(clamp(x) 2**bits)`` as int64: the ends are exact doubles, and so is the product."""
    inside = clamp(x, math.ldexp(grid.lowest, -grid.bits), math.ldexp(grid.highest, -grid.bits))
    return (inside * double(math.ldexp(1.0, grid.bits))).floor().cast("int64")


def steps(x: Expr, unit: Fraction) -> Expr:
    """``floor(x / unit)`` within +-2^61 as int64. Multiplying by a power of two is exact, and faster than dividing."""
    exact = (unit.numerator * unit.denominator).bit_count() == 1
    ratio = x * double(float(1 / unit)) if exact else x / double(float(unit))
    return clamp(ratio, -float(LARGEST), float(LARGEST)).floor().cast("int64")


def with_shares(pairs: Table, shares: KeyShares) -> Table:
    """Persons and texts with ``back``, the sum of the shares of all texts of the person: sums and products alone."""
    own = ibis.cases(*((pairs.degree == many, one) for many, one in enumerate(shares.weights, 1)), else_=0)
    pairs = pairs.mutate(own=own.cast("int64"))
    pairs = pairs.mutate(whole=pairs.own.cast(EXACT).sum().over(group_by="key").cast("int64"))
    parts = [_within(pairs.whole - start, 0, length) * slope for start, length, slope in shares.pieces]
    pairs = pairs.mutate(share=reduce(lambda a, b: a + b, parts).cast("int64"))
    return pairs.mutate(back=pairs.share.cast(EXACT).sum().over(group_by="who").cast("int64"))


def _within(x: Expr, low: int, high: int) -> Expr:
    return ibis.cases((x < low, low), (x > high, high), else_=x)


class _QueryExpressions:
    """The expressions of one query over the stored base table."""

    def __init__(self, choice: RowChoice, nth: int) -> None:
        self.choice, self.nth = choice, nth
        self.schema, self.person = choice.schema, choice.schema.person
        self.names = choice.names

    def kept(self, keys: Keys | None) -> Table:
        if keys is None:
            return self.choice.rows("kept")
        return ibis.table({**self.choice.shape, "turn": TURN, "place": "int64"}, name=f"kept_groups{self.nth}")

    def _in_few_keys(self, rows: Table, most: int) -> Table:
        """Rows in at most ``most`` keys of a person; persons with few rows are left as they are."""
        few, many = self.choice.of_few(rows), rows.inner_join(self.choice.drawn.select("who", "group_draw"), "who")
        return few.union(in_few_groups(many, "key", most).select(*few.columns), distinct=False)

    def holders(self, query: KeyHolders) -> Table:
        """The texts of the kept rows with their numbers of persons, each person in at most ``touch`` of them."""
        rows, touch = self.kept(None), query.touch
        rows = rows.mutate(key=rows[self.names[query.column]])
        rows = rows.filter(rows.key.notnull())
        if self.person.column is None:
            found = rows.group_by("key").aggregate(n=rows.count())
            return found.mutate(degree=ibis.literal(1)) if query.by_degree else found
        rows = self._in_few_keys(rows, touch) if touch < self.person.rows else rows
        if not query.by_degree:
            return rows.group_by("key").aggregate(n=rows.who.nunique())
        pairs = rows.select("who", "key").distinct()
        pairs = pairs.mutate(degree=pairs.count().over(group_by="who"))
        if query.shares is None:
            return pairs.group_by("key", "degree").aggregate(n=pairs.count())
        pairs = with_shares(pairs, query.shares)
        back = pairs.back.cast(EXACT).sum().cast("string")  # of more than 64 bits
        return pairs.group_by("key", "degree").aggregate(n=pairs.count(), back=back)

    def persons(self, rows: Table, chosen: Chosen) -> Expr:
        """The number of different persons."""
        where = _where(rows, chosen)
        return rows.count(where=where) if self.person.column is None else rows.who.nunique(where=where)

    def odd(self, rows: Table, columns: Sequence[str], chosen: Chosen) -> Expr:
        """True where one of the cells is missing, of a row that counts."""
        found = reduce(lambda a, b: a | b, [~rows[self.names[column]].notnull() for column in columns])
        return found if chosen is None else found & chosen(rows)

    def present(self, rows: Table, column: str) -> Expr:
        """The column with its public stand-in."""
        return with_stand_in(rows[self.names[column]], self.schema.columns[column])

    def values(
        self,
        rows: Table,
        column: str,
        grid: FixedPointGrid | Literal["value"] | None,
        keys: Keys | None,
        per: Per,
    ) -> Table:
        """Rows (or persons) with ``x``: a grid value less the middle, or the value itself; null where missing."""
        x, declared = self.present(rows, column), self.schema.columns[column]
        alone = per == "row" or self.person.column is None
        if isinstance(grid, FixedPointGrid):
            rows = rows.mutate(x=fixed(x, grid) - grid.middle)
            if alone:
                return rows
            means = self._means(rows, keys, lambda t: t.x.cast(EXACT).sum().cast("float64") / t.x.count())
            nearest = (clamp(means.x, -float(grid.reach), float(grid.reach)) + double(0.5)).floor().cast("int64")
            return means.mutate(x=_within(nearest, grid.lowest - grid.middle, grid.highest - grid.middle))
        rows = rows.mutate(x=x)
        if alone:
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
        by = ["who"] if keys is None else ["who", "place"]
        return rows.group_by(by).aggregate(x=mean(rows))

    def weighed(self, rows: Table, weight: Weighing) -> Table:
        """The rows that have a weight, with its three parts: integers that come to 2**20."""
        share = clamp(self.present(rows, weight.column), 0.0, float(weight.highest)) / double(float(weight.highest))
        own = (share * double(WEIGHT_ONE) + double(0.5)).floor().cast("int64")
        rows = rows.mutate(own=_within(own, 0, WEIGHT_ONE)).filter(lambda t: t.own.notnull())
        square = ((rows.own * rows.own).cast("float64") * double(1.0 / WEIGHT_ONE)).floor().cast("int64")
        rows = rows.mutate(w2=square)
        return rows.mutate(w1=(rows.own - rows.w2) * 2, w0=rows.w2 - rows.own * 2 + WEIGHT_ONE)

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
        return rows.select("x", "place")

    def records(self, query: Records) -> Table:
        """Kept rows as integers x0, x1, ..., with a person or a count; a row that lacks a value is ABSENT, zeros."""
        rows = self.kept(None)
        cells = [self._coded(self.present(rows, column), self.schema.columns[column]) for column in query.columns]
        whole = reduce(lambda a, b: a & b, [cell.notnull() for cell in cells])
        found = {
            f"x{nth}": ibis.ifelse(whole, steps(cell, unit), ibis.literal(0 if nth else ABSENT, "int64"))
            for nth, (cell, unit) in enumerate(zip(cells, query.units, strict=True))
        }
        if query.owners == "told" and self.person.column is not None:
            found["who"] = ibis.dense_rank().over(order_by=rows.who)
        rows = rows.select(**found)
        return (
            rows.group_by([*found]).aggregate(n=ibis.Table.count) if are_counted(query, self.schema.columns) else rows
        )

    def _coded(self, x: Expr, column: Column) -> Expr:
        """A number as it is; of a category the place of its key."""
        if not isinstance(column, Category):
            return x
        places = [(x == key_text(key), double(nth)) for nth, key in enumerate(column.among)]
        return ibis.cases(*places, else_=ibis.null("float64"))

    def sums(self, queries: Sequence[Query], rows: Table, kept: Chosen, every: Chosen) -> Table:
        """The integers of queries that go together, over a part of the rows."""
        keys, measures = keys_of(queries[0]), dict[str, Any]()
        centred = dict[tuple[str, FixedPointGrid], str]()  # grid values less the middle, each computed once
        made = dict[str, Expr]()  # one projection for all: a chain of them takes Ibis time in its square
        for place, query in enumerate(queries):
            if isinstance(query, Moments) and (query.column, query.grid) not in centred:
                centred[query.column, query.grid] = f"x{place}"
                made[f"x{place}"] = fixed(self.present(rows, query.column), query.grid) - query.grid.middle
        for place, query in enumerate(queries):
            match query:
                case PresentValues(column=column):
                    made[f"x{place}"] = self.present(rows, column)
                case Total(column=column, grid=grid) if (column, grid) not in centred:
                    made[f"x{place}"] = self.grid_value(rows, column, grid)
        rows = rows.mutate(**made)
        for place, query in enumerate(queries):
            x, found = f"x{place}", dict[str, Any]()
            match query:
                case Rows():
                    found = {"n": lambda t: t.count(where=_where(t, kept))}
                case DistinctPersons():
                    found = {"n": lambda t: self.persons(t, kept)}
                case Incomplete(columns=columns):
                    found = {"n": lambda t, columns=columns: t.count(where=self.odd(t, columns, kept))}
                case PresentValues():
                    found = {"n": lambda t, x=x: t[x].count(where=_where(t, kept))}
                case Moments(column=column, grid=grid, order=order):
                    x = centred[column, grid]
                    found = {"n": lambda t, x=x: t[x].count(where=_where(t, kept)), **powers_of(grid, order, x, kept)}
                case Total(column=column, grid=grid, of=of) if (column, grid) in centred:
                    x, some = centred[column, grid], every if of == "all" else kept
                    found = {"n": lambda t, x=x, grid=grid, some=some: _total(t[x], grid, _where(t, some))}
                case Total(of=of):
                    some = every if of == "all" else kept
                    found = {"n": lambda t, x=x, some=some: t[x].cast(EXACT).sum(where=_where(t, some))}
                case _:
                    raise TypeError(f"{type(query).__name__} is asked alone")
            measures |= {f"q{place}_{name}": measure for name, measure in found.items()}
        return self.grouped(rows, keys, **measures)

    def moved(self, totals: Mapping[str, Total], keys: Keys | None, names: Sequence[str]) -> Table:
        """The part that takes from totals what a clamp takes from the total of a person (in one group); else zeros.

        A clamp moves only what has more rows than the cap: of one person, or of one person in one group. These are few
        rows, so they are looked at apart.
        """
        many = self.choice.many
        if keys is not None:
            pairs = self.choice.heavy(self.nth)
            many = many.select("who", *self.choice.columns, place=many[f"place{self.nth}"].cast("int64"))
            many = many.semi_join(pairs, [many.who == pairs.heavy_who, many.place == pairs.heavy_place])
        own = {name: self.grid_value(many, total.column, total.grid) for name, total in totals.items()}
        many = many.mutate(**{f"own_{name}": value for name, value in own.items()})
        sums = {f"sum_{name}": many[f"own_{name}"].cast(EXACT).sum() for name in totals}
        held = many.group_by(["who"] if keys is None else ["who", "place"]).aggregate(**sums)
        found = dict[str, Any]()
        for name, total in totals.items():
            whole, rows = held[f"sum_{name}"], self.person.rows
            inside = _within(whole, min(0, rows * total.grid.lowest), max(0, rows * total.grid.highest))
            found[name] = (inside.cast(EXACT) - whole).cast(EXACT)
        if keys is not None:
            found["place"] = held.place
        return held.select(**{name: found.get(name, ibis.literal(0, "int64")) for name in names})

    def added(self, parts: Sequence[Table], keys: Keys | None) -> Table:
        """The sums of all parts."""
        by, names = [] if keys is None else ["place"], parts[0].columns
        exact = [
            part.select(*by, **{name: part[name].cast(EXACT) for name in names if name not in by}) for part in parts
        ]
        rows = reduce(lambda one, other: one.union(other, distinct=False), exact)
        sums = {name: rows[name].cast(EXACT).sum() for name in names if name not in by}
        return rows.group_by(by).aggregate(**sums) if by else rows.aggregate(**sums)

    def grid_value(self, rows: Table, column: str, grid: FixedPointGrid) -> Expr:
        """The value on a grid; 0 where it is missing."""
        return fixed(self.present(rows, column), grid).fill_null(0)

    def capped(self, above: Sequence[int]) -> Table:
        """Numbers of persons with more rows than each limit."""
        limits = above or (self.person.rows,)
        if self.person.column is None:
            rows = self.choice.rows("all")
            return rows.aggregate(**{f"n{place}": rows.turn.sum() for place in range(len(limits))})  # nobody: 0
        sizes = self.choice.drawn
        if min(limits) < self.choice.few:
            typed = self.choice.typed
            sizes = typed.group_by("who").aggregate(size=typed.count())
        counts = [sizes["size"] > limit for limit in limits]
        return sizes.aggregate(**{f"n{place}": sizes.count(where=more) for place, more in enumerate(counts)})

    def grouped(self, rows: Table, keys: Keys | None, by: str | None = None, **measures: Any) -> Table:
        columns = [name for name, asked in (("place", keys is not None), (by or "", by is not None)) if asked]
        exact = {name: measure(rows) for name, measure in measures.items()}
        return rows.group_by(columns).aggregate(**exact) if columns else rows.aggregate(**exact)


# --- scans: order statistics where they are ---------------------------------------------------------------------------


def scan_text(
    asked: Scan, table: str, unit: Fraction, place: int | None, dialect: Dialect, *numbers: float | int
) -> str:
    """A statement over the doubles ``x`` of a table, of the group at ``place`` if any; ``data/order_statistics.py``.

    Parameters
    ----------
    asked : Scan
    table : str
        Name of the table of doubles.
    unit : Fraction
        Step of the integers, in the unit of the column.
    place : int or None
        Place of the group.
    dialect : Dialect
        Of the engine.
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
        case "pairs":
            return rows.filter(ibis.random() < first).select("x", "place")
        case "below":
            rows = rows.filter(rows.x < first)
            return rows.aggregate(n=rows.count())
        case "inside":
            rows = rows.filter(~(rows.x < first) & ~(rows.x > second)).mutate(bin=lambda t: steps(t.x, unit))
            return rows.group_by("bin").aggregate(n=rows.count())
        case "values":
            rows = rows.filter(~(rows.x < first) & ~(rows.x > second))
            return rows.group_by("x").aggregate(n=rows.count())
        case "between":
            low, high = (ibis.literal(text, "string").cast("int64") for text in (FIRST, SECOND))
            rows = rows.select(q=steps(rows.x, unit))
            strictly = ibis.ifelse((rows.q > low) & (rows.q < high), rows.q, ibis.literal(0, "int64"))
            up_to, below = rows.count(where=~(rows.q > low)), rows.count(where=rows.q < high)
            return rows.aggregate(total=strictly.cast(EXACT).sum(), up_to=up_to, below=below)
        case _:
            assert_never(asked)


@lru_cache(maxsize=256)
def _scan_text(asked: Scan, table: str, unit: Fraction, of_group: bool, dialect: Dialect) -> str:
    return dialect.write(scan(asked, table, unit, of_group))


def forget_scans() -> None:
    """Drop the texts of scans that are kept."""
    _scan_text.cache_clear()
