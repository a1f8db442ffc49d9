"""From queries to the statements of one run, as texts that are kept: rows, and what is asked of them.

    source (text, int64, double, bool) --cells--> doubles or texts --base--> typed rows, each with its turn
    base --aggregate(query)--> a small table of integers (or of values with counts): ``query_expressions``

Typed: every cast is total (``engines/casts.py``). What cannot be read is null.

Kept rows: the rows of a person are numbered in the order of their values, and the rows with the least
sha256(key, number, person) are kept. Equal rows are interchangeable, so the aggregates do not depend on row order.

Ibis is imported here, in ``query_expressions`` and in ``engines``, with a small fixed set of operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard

import ibis

from reticent.data.columns import Storage, texts
from reticent.data.columns import columns_of as columns_of
from reticent.data.engines.casts import (
    DTYPES,
    SHORT,
    edge_tables,
    engine_type,
    key_text,
    known_number,
    known_text,
    parsed,
    texts_of_keys,
    typed,
)
from reticent.data.engines.engine import Dialect, Names, join_keys
from reticent.data.engines.row_choice import KEY_STAND_IN, TURN, RowChoice, Who, keys_table, who_of
from reticent.data.format import LISTED_EDGES, NAMED_EDGES
from reticent.data.order_statistics import Needs
from reticent.data.query import (
    PARTS,
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Keys,
    Moments,
    Of,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    WeightedMoments,
    WeightedTally,
    cells_read,
    keys_of,
)
from reticent.data.query_expressions import aggregate, forget_scans, together
from reticent.data.schema import Category, Integer, Real, Schema, read_columns

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TOGETHER: Final = 64  # queries of one statement
FEW_SCANS: Final = 2  # statements that read all rows, for which a copy of them costs more than it saves

Table: TypeAlias = Any  # Ibis is not typed; these never leave this module but as SQL text
Expr: TypeAlias = Any
Further: TypeAlias = Literal["keep", "view"]


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
    names, person, keys = Names(schema, used), schema.person_here, join_keys(schema)
    used = read_columns(schema, used)
    shape = {names[name]: DTYPES[storage[name]] for name in used}
    if person is not None:
        shape["who"] = DTYPES[storage[person]]
    shape |= {name: DTYPES[storage[column]] for column, name in keys.items()}
    source = ibis.table(shape or {"none": "int64"}, name="source")
    declared, form = schema.cells, schema.format
    found = {names[name]: parsed(source[names[name]], storage[name], declared[name], form) for name in used}
    if person is not None:
        whole = _who(schema, storage) == "int64"
        found["who"] = known_number(source.who, form) if whole else known_text(source.who, storage[person], form)
    found |= {name: known_text(source[name], storage[column], form) for column, name in keys.items()}
    return source.select(**found, turn=ibis.literal(0, TURN))


def typed_rows(schema: Schema, used: Sequence[str], who: Who = "string", whole: Sequence[str] = ()) -> Table:
    """Typed rows of persons, of which a constant column has the least value of the person, joined to further tables.

    A long list of categories is a table beside the rows, and no part of the statement.

    Parameters
    ----------
    schema : Schema
        Schema of the study.
    used : sequence of str
        Full names of the columns that queries use.
    who : Who
        Type of the person column inside the engine.
    whole : sequence of str
        Columns that arrive as whole numbers, so that no cell of them is looked at.

    Returns
    -------
    Table
        Expression over the table "cells".
    """
    names, person, read = Names(schema, used), schema.person, read_columns(schema, used)
    declared, keys = schema.cells, tuple(join_keys(schema).values())
    shape = {names[name]: engine_type(declared[name]) for name in read}
    if schema.person_here is not None:
        shape["who"] = who
    shape |= dict.fromkeys(keys, "string")
    parts = ibis.table({**shape, "turn": TURN}, name="cells")
    if schema.person_here is not None:
        parts = parts.filter(parts.who.notnull() & (parts.who != "") if who == "string" else parts.who.notnull())
    long = _long_categories(schema, used)
    for plain, column in long.items():
        parts = parts.mutate(**{f"text_{plain}": texts_of_keys(parts[plain], column)})
        among = ibis.table({f"in_{plain}": "string"}, name=f"list_{plain}")
        parts = parts.left_join(among, parts[f"text_{plain}"] == among[f"in_{plain}"])
    found = dict[str, Expr]()
    for name, plain in zip(read, (names[name] for name in read), strict=True):
        if plain in long:
            found[plain] = parts[f"in_{plain}"]
        else:
            found[plain] = parts[plain] if name in whole else typed(parts[plain], declared[name])
    found |= {name: parts[name] for name in keys}
    rows = parts.select(**({} if schema.person_here is None else {"who": parts.who}), **found, turn=parts.turn)
    if schema.owner:
        from reticent.data.engines import joins

        rows = joins.owned(schema, used, rows)
    if person.column is not None:
        constant = [names[name] for name in read if declared[name].constant]
        rows = rows.mutate(**{name: rows[name].min().over(group_by="who") for name in constant})
    if schema.household_here is not None:
        from reticent.data.engines import households

        rows = households.belonging(schema, rows)
    if not schema.tables:
        return rows
    from reticent.data.engines import joins

    return joins.joined(schema, used, rows)


def chosen_rows(schema: Schema, used: Sequence[str], who: Who = "string", whole: Sequence[str] = ()) -> Table:
    """Rows that pass the filter, with the used columns: the table "typed", or "base" where each row is a person.

    Parameters
    ----------
    schema : Schema
        Schema of the study.
    used : sequence of str
        Full names of the columns that queries use.
    who : Who
        Type of the person column inside the engine.
    whole : sequence of str
        Columns that arrive as whole numbers, so that no cell of them is looked at.

    Returns
    -------
    Table
        Expression with the used columns, ``who`` and ``turn``.
    """
    names, person = Names(schema, used), schema.person
    rows = typed_rows(schema, used, who, whole)
    if schema.computed or schema.where is not None:
        from reticent.data.engines.formula_levels import chosen

        rows = chosen(schema, used, names, rows)
    if person.household is not None:
        from reticent.data.engines import households

        rows = households.few_persons(schema, rows)
    return rows.select(*([] if person.column is None else ["who"]), *(names[name] for name in used), "turn")


def by_rows(rows: Table) -> bool:
    """Tell if an expression makes each row of one row alone: no join, no window, no sum, no order, no limit."""
    import ibis.expr.operations as ops

    node = rows.op()
    plain = (ops.Project, ops.Filter, ops.UnboundTable)
    together = (ops.WindowFunction, ops.Analytic, ops.Reduction, ops.Subquery)
    return all(isinstance(one, plain) for one in node.find(ops.Relation)) and not node.find(together)


# --- statements -------------------------------------------------------------------------------------------------------


class Statements(NamedTuple):
    """All that one run tells its engine, in order.

    ``lists`` are small public tables. The rows go through ``steps`` into the table ``first``. Each of ``further`` is
    kept as a table, or a view of those before. ``asked`` has one text for each query, and several queries may have the
    same one. ``places`` says for each where its integers begin, behind the place of the group. ``light`` is true where
    the rows may be read again for each of these: cells are taken as they are, and few statements read them.
    ``small`` is true where ``first`` may be stored a piece at a time and compressed: each row is made of one row of the
    source, and nothing is asked by key. By key the statements take longer, and compressing adds a tenth to that.
    ``adds_up`` is true where the answers for some persons and for all others add up to those for everybody.
    """

    lists: dict[str, pa.Table]
    steps: dict[str, str]
    first: tuple[str, str]
    further: list[tuple[Further, str, str]]
    asked: list[str]
    places: list[int]
    light: bool
    small: bool
    adds_up: bool


def statements(
    queries: Sequence[Query], schema: Schema, storage: Mapping[str, Storage], key: bytes, dialect: Dialect
) -> Statements:
    """The statements of one run. How many there are depends on the queries and the schema alone.

    Compiling takes longer than most queries, so texts are kept, with a stand-in for the key: they are public.

    Parameters
    ----------
    queries : sequence of Query
    schema : Schema
    storage : mapping of name to storage type
    key : bytes of length 32
        Chooses the rows that are kept.
    dialect : Dialect
        Of the engine.

    Returns
    -------
    Statements
    """
    used, person, who = columns_of(queries, schema), schema.person, _who(schema, storage)
    groups = tuple(dict.fromkeys(keys for query in queries if (keys := keys_of(query)) is not None))
    ways = [_ways([query for query in queries if keys_of(query) == keys]) for keys in groups]
    shape = _shape(_choice(queries, schema, used, who, groups, ways), _whole(schema, used, storage))
    steps = {"cells": _cells_text(shape, tuple(sorted(storage.items())), dialect)} | _level_texts(shape, dialect)
    lists = _category_lists(schema, used) | {f"keys{nth}": keys_table(keys, schema) for nth, keys in enumerate(groups)}
    many = [one.edges for one in queries if isinstance(one, Tally | WeightedTally) and len(one.edges) > NAMED_EDGES]
    lists |= edge_tables(many) if many else {}
    further = [] if person.column is None else [*_person_texts(shape, dialect)]
    alone = [query for query in queries if not goes_together(query, schema)]
    if person.column is not None and alone:
        further.append(("view", "base", _base_text(shape, dialect)))
    for nth, keys in enumerate(groups):
        plain = _plain_keys(keys, schema)
        if "kept" in ways[nth] and shape.choice.bound(plain, "kept") is not None:
            further.append(("keep", f"chosen{nth}", _chosen_text(plain, repr(plain), nth, shape, dialect)))
        if any(keys_of(query) == keys for query in alone):
            further.append(("view", f"kept_groups{nth}", _groups_text(plain, repr(plain), nth, shape, dialect)))
    asked, places = _query_texts(queries, groups, shape, dialect)
    first, by_row = _first_text(shape, dialect)
    return Statements(
        lists,
        steps,
        ("base" if person.column is None else "typed", _with(first, key)),
        [(how, name, _with(text, key)) for how, name, text in further],
        [_with(text, key) for text in asked],
        places,
        _few_scans(queries, asked) and _taken_as_they_are(schema, used, storage),
        not groups and len(steps) == 1 and by_row,
        all(map(_adds_up, queries)),
    )


def goes_together(query: Query, schema: Schema) -> bool:
    """Tell if a query takes numbers of rows as they are: such queries of one list of groups share a scan."""
    match query:
        case Rows() | DistinctPersons() | Incomplete() | Total():
            return True
        case PresentValues(per=per) | Moments(per=per):
            return per == "row" or schema.person.column is None
        case _:
            return False


def _adds_up(query: Query) -> bool:
    """Tell if answers for disjoint sets of persons add up: records number persons, and shares ask who has a text."""
    match query:
        case Records() | KeyHolders():
            return False
        case OrderedValues(needs=needs):
            return needs is None  # what is searched stays in the engine
        case _:
            return True


def _few_scans(queries: Sequence[Query], asked: Sequence[str]) -> bool:
    """True where few statements read the rows; order statistics are looked for by many."""
    searched = any(isinstance(query, OrderedValues) and query.needs is not None for query in queries)
    return len(set(asked)) <= FEW_SCANS and not searched


def _taken_as_they_are(schema: Schema, used: Sequence[str], storage: Mapping[str, Storage]) -> bool:
    """True where no text is read as a number or a date, no formula is computed, and no other table is joined."""
    has_formulas = schema.computed or schema.where is not None
    if has_formulas or schema.tables or schema.owner or schema.person.household is not None:
        return False
    for name in read_columns(schema, used):
        match schema.cells[name]:
            case Real() | Integer(calendar=None):
                plain = storage[name] in ("whole", "real", "truth")
            case Category(among=(str(), *_), longest=None, constant=False) as column:
                plain = storage[name] == "text" and len(column.among) <= SHORT
            case _:
                plain = False
        if not plain or schema.cells[name].constant:
            return False
    return True


def _query_texts(
    queries: Sequence[Query], groups: Sequence[Keys], shape: _Shape, dialect: Dialect
) -> tuple[list[str], list[int]]:
    """The text for each query, and where its integers begin there; queries that go together share one."""
    schema, asked, places = shape.choice.schema, [""] * len(queries), [0] * len(queries)
    shared: dict[tuple[int | None, bool], list[int]] = {}
    for at, query in enumerate(queries):
        plain, keys = _plain(query, schema), keys_of(query)
        nth = None if keys is None else groups.index(keys)
        if goes_together(query, schema):
            shared.setdefault((nth, _alone(query, shape.choice)), []).append(at)
        else:
            asked[at] = _query_text(plain, repr(plain), nth or 0, shape, dialect)
    for (nth, _), members in shared.items():
        for part in (members[first : first + MOST_TOGETHER] for first in range(0, len(members), MOST_TOGETHER)):
            several = tuple(_plain(queries[at], schema) for at in part)
            text, first = _text_together(several, repr(several), nth or 0, shape, dialect), 0
            for at in part:
                asked[at], places[at] = text, first
                first += integers_of(queries[at])
    return asked, places


def _alone(query: Query, choice: RowChoice) -> bool:
    """Tell if a query is about other groups of a person than those of the kept rows."""
    keys = keys_of(query)
    return _clamped(query) and keys is not None and choice.bound(keys, "kept") is not None


def _clamped(query: Query) -> TypeGuard[Total]:
    """Tell if a query reads every row of a person, and clamps their total."""
    return isinstance(query, Total) and query.of == "all"


def integers_of(query: Query) -> int:
    """The number of integers in an answer, of each group."""
    match query:
        case Moments(order=order):
            return 1 + order
        case WeightedMoments(order=order):
            return PARTS * (1 + order)
        case CappedPersons(above=(_, *_) as above):
            return len(above)
        case Tally():
            return query.bins
        case _:
            return 1


def _ways(queries: Sequence[Query]) -> list[Of]:
    """The rows that queries of one list of groups read."""
    totals = [_clamped(query) for query in queries]
    return [*(["all"] if any(totals) else []), *(["kept"] if not all(totals) else [])]  # type: ignore[list-item]


def _choice(
    queries: Sequence[Query],
    schema: Schema,
    used: tuple[str, ...],
    who: Who,
    groups: Sequence[Keys],
    ways: Sequence[Sequence[Of]],
) -> RowChoice:
    """The choice of rows for the queries of one run: persons may be in too many rows, or in too many groups."""
    plain = [_plain_keys(keys, schema) for keys in groups]
    choice = RowChoice(schema, used, who)
    most = [choice.bound(keys, of) for keys, asked in zip(groups, ways, strict=True) for of in asked]
    most += [query.touch for query in queries if isinstance(query, KeyHolders)]
    few = min([schema.person.rows, *(bound for bound in most if bound is not None)])
    totals = tuple((nth, keys) for nth, keys in enumerate(plain) if "all" in ways[nth])
    if schema.person.column is None:
        return RowChoice(schema, used, who, few)
    first = groups[totals[0][0]] if totals else None
    return RowChoice(schema, used, who, few, totals, "" if first is None else _grouping(queries, first))


def _grouping(queries: Sequence[Query], first: Keys) -> str:
    """The column of a list of groups, where no query reads it for anything else."""
    read = set[str]().union(*(cells_read(query) for query in queries))
    others = {keys.column for query in queries if (keys := keys_of(query)) is not None and keys != first}
    return "" if first.column in read | others else first.column


def _who(schema: Schema, storage: Mapping[str, Storage]) -> Who:
    """The engine type of persons; those of several tables are joined by their texts."""
    column = schema.person.column
    return "string" if column is None or schema.tables else who_of(storage[column])


def _whole(schema: Schema, used: Sequence[str], storage: Mapping[str, Storage]) -> tuple[str, ...]:
    """The columns of whole numbers that arrive as such."""
    declared = schema.cells
    return tuple(
        name
        for name in read_columns(schema, used)
        if isinstance(column := declared[name], Integer) and column.calendar is None and storage[name] == "whole"
    )


def _shape(choice: RowChoice, whole: tuple[str, ...] = ()) -> _Shape:
    schema = choice.schema
    told = dict(schema.columns), schema.person, schema.format, dict(schema.computed), schema.where
    return _Shape(
        choice,
        whole,
        repr((*told, dict(schema.tables), choice.used, choice.who, choice.few, choice.totals, choice.grouping, whole)),
    )


def side_statements(
    table: str, schema: Schema, used: tuple[str, ...], storage: Mapping[str, Storage], key: bytes, dialect: Dialect
) -> tuple[dict[str, str], str, str]:
    """The view of the cells of a further table, and name and text of the table that is made of it.

    Parameters
    ----------
    table : str
    schema : Schema
    used : tuple of str
        Columns that the queries read.
    storage : mapping of name to storage type
        Of its source.
    key : bytes of length 32
        Chooses the rows that are kept.
    dialect : Dialect
        Of the engine.

    Returns
    -------
    the view by its name, name and text of the table
    """
    name = f"side{schema.place_of(table)}"
    cells, kept = _side_texts(table, _shape(RowChoice(schema, used)), tuple(sorted(storage.items())), dialect)
    return {f"{name}cells": cells}, name, _with(kept, key)


@lru_cache(maxsize=256)
def _side_texts(
    table: str, shape: _Shape, storage: tuple[tuple[str, Storage], ...], dialect: Dialect
) -> tuple[str, str]:
    from reticent.data.engines import joins

    schema, used = shape.choice.schema, shape.choice.used
    made = joins.cells(schema, used, table, dict(storage)), joins.kept(schema, used, table)
    first, second = (dialect.write(one) for one in made)
    return first, second


def _plain(query: Query, schema: Schema) -> Query:
    """A query with the same text, so that a cache holds few of them: edges, ranks and most keys are no part of it."""
    keys = keys_of(query)
    if keys is not None and not isinstance(query, CappedPersons | Incomplete | KeyHolders | Records):
        query = replace(query, keys=_plain_keys(keys, schema))
    match query:
        case Tally(edges=edges) if len(edges) > LISTED_EDGES:
            return replace(query, edges=edges[:1] * (LISTED_EDGES + 1))
        case OrderedValues(needs=Needs()):
            return replace(query, unit=Fraction(1), needs=Needs(()))
        case Ranks():
            return replace(query, windows=None)
        case _:
            return query


def _plain_keys(keys: Keys, schema: Schema) -> Keys:
    """Groups with the same texts: which keys there are stands in a table, and here only if they are more than a cap."""
    return Keys(keys.column, keys.among[: max(keys.touch, schema.person.rows) + 1], keys.touch)


def _long_categories(schema: Schema, used: Sequence[str]) -> dict[str, Category]:
    """The categories whose lists are tables beside the rows, by their plain names."""
    names, declared = Names(schema, used), schema.cells
    read = ((names[name], declared[name]) for name in read_columns(schema, used))
    return {plain: one for plain, one in read if isinstance(one, Category) and len(one.among) > SHORT}


def _category_lists(schema: Schema, used: Sequence[str]) -> dict[str, pa.Table]:
    """The long lists of categories."""
    import pyarrow as pa

    long = _long_categories(schema, used).items()
    return {f"list_{plain}": pa.table({f"in_{plain}": texts([*map(key_text, one.among)])}) for plain, one in long}


@dataclass(frozen=True, slots=True)
class _Shape:
    """The rows that count, as a key of a cache: by their text, since the keys 1 and True are equal."""

    choice: RowChoice = field(compare=False)
    whole: tuple[str, ...]
    text: str


@lru_cache(maxsize=256)
def _cells_text(shape: _Shape, storage: tuple[tuple[str, Storage], ...], dialect: Dialect) -> str:
    return dialect.write(cells(shape.choice.schema, shape.choice.used, dict(storage)))


@lru_cache(maxsize=256)
def _level_texts(shape: _Shape, dialect: Dialect) -> dict[str, str]:
    schema, used = shape.choice.schema, shape.choice.used
    if not schema.computed and schema.where is None:
        return {}
    from reticent.data.engines.formula_levels import levels

    found = levels(schema, used, Names(schema, used), typed_rows(schema, used, shape.choice.who, shape.whole))
    return {name: dialect.write(table) for name, table in found.items()}


@lru_cache(maxsize=256)
def _first_text(shape: _Shape, dialect: Dialect) -> tuple[str, bool]:
    """The statement of the rows that count, and true where it makes each of one row alone."""
    rows = chosen_rows(shape.choice.schema, shape.choice.used, shape.choice.who, shape.whole)
    return dialect.write(rows), by_rows(rows)


@lru_cache(maxsize=256)
def _person_texts(shape: _Shape, dialect: Dialect) -> tuple[tuple[Further, str, str], ...]:
    """The persons with many rows, and their numbered rows."""
    choice = shape.choice
    return ("keep", "over", dialect.write(choice.over())), ("keep", "numbered", dialect.write(choice.numbered()))


@lru_cache(maxsize=256)
def _base_text(shape: _Shape, dialect: Dialect) -> str:
    return dialect.write(shape.choice.base())


@lru_cache(maxsize=256)
def _chosen_text(keys: Keys, text: str, nth: int, shape: _Shape, dialect: Dialect) -> str:
    return dialect.write(shape.choice.chosen(keys, nth))


@lru_cache(maxsize=256)
def _groups_text(keys: Keys, text: str, nth: int, shape: _Shape, dialect: Dialect) -> str:
    return dialect.write(shape.choice.grouped(keys, nth))


@lru_cache(maxsize=256)
def _text_together(several: tuple[Query, ...], text: str, nth: int, shape: _Shape, dialect: Dialect) -> str:
    return dialect.write(together(several, shape.choice, nth))


@lru_cache(maxsize=1024)
def _query_text(query: Query, text: str, nth: int, shape: _Shape, dialect: Dialect) -> str:
    return dialect.write(aggregate(query, shape.choice, nth))


def forget() -> None:
    """Drop the texts that are kept, so that the next run compiles anew."""
    rows = (_cells_text, _level_texts, _first_text, _side_texts, _person_texts, _base_text, _chosen_text, _groups_text)
    for cache in (*rows, _query_text, _text_together):
        cache.cache_clear()
    forget_scans()


def _with(text: str, key: bytes) -> str:
    return text.replace(KEY_STAND_IN, key.hex())
