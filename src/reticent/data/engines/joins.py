"""Joins: rows of further tables, typed and thinned out, and the rows of the main table with those beside them.

    source of a further table --cells--> "side0cells" --kept--> "side0": one row or few for each person and key
    typed rows of the main table --joined--> the same rows with the columns of "side0", "side1", ... beside them

Every window is over a person, or over the key of a public table. So a row of the outcome depends on the rows of its own
person and on public ones: docs/proofs/joins.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import ibis

from reticent.data.columns import Storage
from reticent.data.engines.casts import DTYPES, engine_type, known_text, parsed, typed
from reticent.data.engines.engine import Names, join_keys
from reticent.data.engines.row_choice import KEY_STAND_IN
from reticent.data.joined_table import JoinedTable, own_name
from reticent.data.joins import household_of, joined_of, link_names, links
from reticent.data.schema import Category, Schema, Text, needed

Table: TypeAlias = Any  # Ibis is not typed; these never leave the compiler but as SQL text
Expr: TypeAlias = Any


def columns_read(schema: Schema, used: Sequence[str], table: str) -> tuple[str, ...]:
    """The columns of a further table that are read for those used, by their full names.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    used : sequence of str
        Full names of the columns that queries use.
    table : str
        Name of the further table.

    Returns
    -------
    tuple of str
        Names in the order of the schema.
    """
    return tuple(name for name in needed(schema, used) if schema.table_of(name) == table)


def tables_read(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The further tables that are read for the columns used."""
    return joined_of(schema, needed(schema, used))


def stored_in_order(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The further tables that are read, those of a chain from the person's to the main table's."""
    others = [name for name in tables_read(schema, used) if name not in schema.owners]
    return (*reversed(schema.owners), *others)


def stream_names(schema: Schema, used: Sequence[str], table: str) -> list[tuple[str, str]]:
    """Columns to read of a further table: each name inside the engine, and that in its source.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    used : sequence of str
        Full names of the columns that queries use.
    table : str
        Name of the further table.

    Returns
    -------
    list of tuple of str and str
        Pairs of a name inside the engine and a name in the source; keys are called k0, k1, and so on.
    """
    names, joined = Names(schema, used), schema.tables[table]
    found = [(names[name], own_name(schema.tables, name)) for name in columns_read(schema, used, table)]
    found += [(inside, own) for own, inside in links(schema, table, tables_read(schema, used))]
    found += [(f"k{place}", theirs) for place, (_, theirs) in enumerate(joined.keys)]
    found += [("house", own) for own in household_of(schema, table)]
    return found if joined.person is None else [*found, ("who", joined.person)]


def cells(schema: Schema, used: Sequence[str], table: str, storage: Mapping[str, Storage]) -> Table:
    """Parsed cells of a further table.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    used : sequence of str
        Full names of the columns that queries use.
    table : str
        Name of the further table.
    storage : mapping of str to Storage
        Storage of each column of its source.

    Returns
    -------
    Table
        Expression over the table "source", one column for each name of ``stream_names``.
    """
    names, joined = Names(schema, used), schema.tables[table]
    inside = stream_names(schema, used, table)
    source = ibis.table({name: DTYPES[storage[own]] for name, own in inside}, name="source")
    declared, form = schema.cells, joined.format
    full = {names[name]: declared[name] for name in columns_read(schema, used, table)}
    found = {
        name: parsed(source[name], storage[own], full[name], form)
        if name in full
        else known_text(source[name], storage[own], form)
        for name, own in inside
    }
    return source.select(**found)


def kept(schema: Schema, used: Sequence[str], table: str) -> Table:
    """Typed rows of a further table, of which so many stay as may stand beside a row of the main one.

    Of a person's rows those with the least sha256(key, number, person) stay; of a public table there is one for a key.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    used : sequence of str
        Full names of the columns that queries use.
    table : str
        Name of the further table.

    Returns
    -------
    Table
        Expression over the parsed cells of the table.
    """
    names, joined, place = Names(schema, used), schema.tables[table], schema.place_of(table)
    declared, read = schema.cells, columns_read(schema, used, table)
    keys = [f"k{nth}" for nth in range(len(joined.keys))]
    group = keys if joined.public else ["who", *keys]
    house = ["house" for _ in household_of(schema, table)]
    linked = [*(inside for _, inside in links(schema, table, tables_read(schema, used))), *house]
    shape = {names[name]: engine_type(declared[name]) for name in read} | dict.fromkeys([*group, *linked], "string")
    rows = ibis.table(shape, name=f"side{place}cells")
    for name in group:
        rows = rows.filter(rows[name].notnull() & (rows[name] != ""))
    found = {names[name]: typed(rows[names[name]], declared[name]) for name in read}
    found |= {name: rows[name] for name in linked}
    rows = rows.select(**{name: rows[name] for name in group}, **found)
    if table in schema.owners[:-1]:
        rows = _of_persons(schema, used, rows, table)
        found |= {name: rows[name] for name in rows.columns if name not in (*group, *found)}
    if not joined.public and not joined.one_each:
        constant = [names[name] for name in read if declared[name].constant]
        rows = rows.mutate(**{name: rows[name].min().over(group_by="who") for name in constant})
    # a person in two households belongs to the least: the same one in every release
    rows = rows.mutate(**{name: rows[name].nullif("").min().over(group_by="who") for name in house})
    order = [rows[name] for name in found] or [rows[group[0]]]
    rows = rows.mutate(
        size=rows.count().over(group_by=group), nth=ibis.row_number().over(group_by=group, order_by=order)
    )
    if not joined.public:
        text = ibis.literal(f"side {place}:{KEY_STAND_IN}:") + rows.nth.cast("string") + ":" + rows.who
        rows = rows.mutate(draw=ibis.ifelse(rows["size"] > joined.rows, _digest(text, rows, keys), ""))
        rows = rows.mutate(nth=ibis.row_number().over(group_by=group, order_by=[rows.draw, rows.nth]))
    rows = rows.filter(rows.nth < joined.rows)
    if joined.most_keys:
        rows = _few_owners(rows, joined, place, keys)
    return rows.select(**{f"s{place}{name}": rows[name] for name in group}, **{name: rows[name] for name in found})


def _of_persons(schema: Schema, used: Sequence[str], rows: Table, table: str) -> Table:
    """Rows of a table of a chain, once for each person left of the next key, with the columns of the tables after."""
    after = schema.owners[schema.owners.index(table) + 1 :]
    place = schema.place_of(after[0])
    side = ibis.table(_shape(schema, used, after) | {f"s{place}who": "string", f"s{place}k0": "string"}, f"side{place}")
    return rows.inner_join(side, rows.who == side[f"s{place}k0"]).drop("who", f"s{place}k0").rename(who=f"s{place}who")


def _shape(schema: Schema, used: Sequence[str], tables: Sequence[str]) -> dict[str, str]:
    """The columns of further tables as they stand beside a row, with their types."""
    names, declared, read = Names(schema, used), schema.cells, tables_read(schema, used)
    found = {
        names[one]: "string" if isinstance(declared[one], Category | Text) else "float64"
        for name in tables
        for one in columns_read(schema, used, name)
    }
    found |= dict.fromkeys(["house" for name in tables for _ in household_of(schema, name)], "string")
    return found | {inside: "string" for name in tables for _, inside in links(schema, name, read)}


def _few_owners(rows: Table, joined: JoinedTable, place: int, keys: Sequence[str]) -> Table:
    """Rows of which a person has so many keys at most, and then those of keys with so many persons at most.

    Which keys a person has left depends on that person alone. Whether a key is left depends on all who have it: that is
    the one window over several persons, and ``JoinedTable.moved`` is its price.
    """
    text = ibis.literal(f"keys {place}:{KEY_STAND_IN}:") + rows.who
    rows = rows.mutate(draw=_digest(text, rows, keys))
    rows = rows.mutate(nth=ibis.row_number().over(group_by="who", order_by=[rows.draw, *(rows[name] for name in keys)]))
    rows = rows.filter(rows.nth < joined.most_keys)
    rows = rows.mutate(size=rows.count().over(group_by=list(keys)))
    return rows.filter(rows["size"] <= joined.owners)


def _digest(text: Expr, rows: Table, keys: Sequence[str]) -> Expr:
    """The sha256 of a text and of the keys of a row, each after its length: no two lists of keys give one text."""
    for name in keys:
        text = text + ":" + rows[name].length().cast("string") + ":" + rows[name]
    return text.hexdigest("sha256")


def owned(schema: Schema, used: Sequence[str], rows: Table) -> Table:
    """Rows of the main table with their person, once for each whom their key has; those of nobody are left out.

    Parameters
    ----------
    schema : Schema
        Schema with further tables, one of which tells the person.
    used : sequence of str
        Full names of the columns that queries use.
    rows : Table
        Typed rows of the main table.

    Returns
    -------
    Table
        The rows with a column ``who``.
    """
    place = schema.place_of(schema.owners[0])
    found = _beside(schema, used, rows, schema.owners[0])
    return found.rename(who=f"s{place}who")


def joined(schema: Schema, used: Sequence[str], rows: Table) -> Table:
    """Rows of the main table, typed, with the columns of the further ones beside them.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    used : sequence of str
        Full names of the columns that queries use.
    rows : Table
        Typed rows of the main table.

    Returns
    -------
    Table
        The rows with further columns and without keys.
    """
    for name in tables_read(schema, used):
        rows = rows if name in schema.owners else _beside(schema, used, rows, name)
    read = {name for one in tables_read(schema, used) for _, name in links(schema, one, tables_read(schema, used))}
    keys = [*join_keys(schema).values(), *sorted(read)]
    return rows.drop(*keys) if keys else rows


def _beside(schema: Schema, used: Sequence[str], rows: Table, name: str) -> Table:
    """Rows with the columns of one further table, and with the person of its rows where that is the owner's."""
    ours = join_keys(schema) | link_names(schema)
    table, place = schema.tables[name], schema.place_of(name)
    on = {f"s{place}k{nth}": ours[main] for nth, (main, _) in enumerate(table.keys)}
    person = [] if table.public else [f"s{place}who"]
    on |= {} if name in schema.owners else dict.fromkeys(person, "who")
    shape = dict.fromkeys([*on, *person], "string")
    side = ibis.table(
        shape | _shape(schema, used, schema.owners if name in schema.owners else [name]), name=f"side{place}"
    )
    by = [rows[mine] == side[theirs] for theirs, mine in on.items()]
    inner = table.join == "inner" or name in schema.owners
    return (rows.inner_join if inner else rows.left_join)(side, by).drop(*on)


__all__ = ["KEY_STAND_IN", "cells", "columns_read", "joined", "kept", "stored_in_order", "stream_names", "tables_read"]
