"""Joins of a schema: further tables beside the main one, whose columns have two names, ``patients.age``.

with_tables(schema, {name: (table, columns, texts)})     the schema of the joined rows
inner(schema, names)                                     the schema of the rows with a partner there
source_of(schema, name)                                  what may be read of one further table
write(name, tables), read(text)                          a join in one line, which certificates print
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from reticent.data.expression_tree import quoted
from reticent.data.joined_table import Join, JoinedTable, chain, own_name, table_at
from reticent.data.schema import Column, Person, Schema, Text
from reticent.errors import SpecError

MOST_TABLES: Final = 20
MOST_STEPS: Final = 10_000
_NAME: Final = re.compile(r"[^\W\d]\w*")
Parts: TypeAlias = tuple[JoinedTable, Mapping[str, Column], Mapping[str, Text]]  # a table, its columns, its texts


def with_tables(schema: Schema, tables: Mapping[str, Parts]) -> Schema:
    """The schema with the columns of further tables, each by the name of its table and its own: ``patients.age``.

    Raises
    ------
    SpecError
        A name of a table that is no plain word, or is taken; a private table where nobody says who a person is.
    """
    if len(tables) > MOST_TABLES:
        raise SpecError(f"A study has at most {MOST_TABLES} further tables.")
    person, columns, texts = schema.person, dict(schema.columns), dict(schema.texts)
    tables = _in_order(tables)
    shapes = {name: table for name, (table, _, _) in tables.items()}
    owners = chain(shapes, person.column)
    if owners:
        _check_kept(shapes, owners[0])
        person = _through(person, {name: shapes[name] for name in owners})
        theirs = [column for _, of, _ in tables.values() for column in of.values()]
        if any(getattr(column, "auto", None) is not None for column in (*columns.values(), *theirs)):
            raise SpecError(
                'Rows that reach their person through a key have declared bounds: low = 0, high = 20000, no "auto".'
            )
    for name, table in shapes.items():
        if table.most_keys and name not in owners:
            raise SpecError(
                f'[tables.{name}] says whose a key is: then write [person] column = "{name}.{table.person}", or let '
                f'the table that does have key = "{name}.{table.person}".'
            )
        if odd := [ours for ours, _ in table.keys if table_at(shapes, ours) in owners and name not in owners]:
            raise SpecError(
                f"[tables.{name}] has the key {odd[0]}, and {table_at(shapes, odd[0])} says whose a key is: name a "
                "column of the main table, or of another one."
            )
    for name, (table, own_columns, own_texts) in tables.items():
        if not _NAME.fullmatch(name) or quoted(name) != name:
            raise SpecError(f"[tables.{name}] is named by one plain word, such as [tables.patients].")
        if taken := [column for column in (*columns, *texts) if column == name or table_at([name], column)]:
            raise SpecError(f"The column '{taken[0]}' and the table [tables.{name}] have one name.")
        if not table.public and person.column is None:
            raise SpecError(
                f"[tables.{name}] holds rows of people, and nothing says whose rows the main table has: add [person] "
                f"column, or say [tables.{name}] public = true if it is about nobody."
            )
        if table.public and (own_texts or any(column.constant for column in own_columns.values())):
            raise SpecError(f"[tables.{name}] is public: constant and texts are said of columns of people.")
        partnered = table.join == "inner" or name in owners
        if table.keys and not partnered and (odd := [own for own, column in own_columns.items() if column.constant]):
            raise SpecError(
                f"[tables.{name}] has a key and a constant column, {odd[0]}: rows of a person without a partner "
                'have none, so it is not constant. Say join = "inner", or leave constant out.'
            )
        for own, column in own_columns.items():
            constant, complete = table.one_each or column.constant, partnered and column.complete
            columns[f"{name}.{own}"] = replace(column, constant=constant, complete=complete)
        texts |= {f"{name}.{own}": text for own, text in own_texts.items()}
    if owners or any(table.join == "inner" for table in shapes.values()):
        person = replace(person, filtered=True)
    frozen = MappingProxyType(columns), MappingProxyType(texts), MappingProxyType(shapes)
    return replace(schema, columns=frozen[0], texts=frozen[1], tables=frozen[2], person=person)


def inner(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema whose rows have a partner in further tables: one without is left out."""
    tables = {**schema.tables, **{name: replace(schema.tables[name], join="inner") for name in names}}
    return replace(schema, tables=MappingProxyType(tables), person=replace(schema.person, filtered=True))


def _in_order(tables: Mapping[str, Parts]) -> dict[str, Parts]:
    """The tables with each after those whose columns are its keys."""
    found: dict[str, Parts] = {}
    while len(found) < len(tables):
        ready = [
            name
            for name, (table, _, _) in tables.items()
            if name not in found and all(table_at(tables, ours) in ("", *found) for ours, _ in table.keys)
        ]
        if not ready:
            rest = " and ".join(f"[tables.{name}]" for name in tables if name not in found)
            raise SpecError(f"{rest} have keys of one another. One of them is reached by a column of the main table.")
        found |= {name: tables[name] for name in ready}
    for name, (table, _, _) in found.items():
        for ours, _ in table.keys:
            _check_public_column(tables, name, ours)
    return found


def _check_public_column(tables: Mapping[str, Parts], name: str, key: str) -> None:
    """Refuse a key that a public table has not, or of which a row has several."""
    if not (at := table_at(tables, key)):
        return
    content = tables[at][0].content
    if content is not None and own_name(tables, key) not in content.column_names:
        raise SpecError(f"[tables.{name}] has the key {key}. Name that column in [tables.{at}.columns].")


def _check_kept(tables: Mapping[str, JoinedTable], first: str) -> None:
    """Refuse a chain whose first key is no column of the main table."""
    for ours, _ in tables[first].keys:
        if at := table_at(tables, ours):
            raise SpecError(
                f"[tables.{at}] says whose a key is, for {ours} is the key of [tables.{first}]. Say how many are kept "
                "of one person: keys = { at_most = 1 }."
            )


def _through(person: Person, owners: Mapping[str, JoinedTable]) -> Person:
    """The person of rows that reach one through a key of another table, or through several one after the other."""
    *others, owner = owners
    if owners[owner].public or f"{owner}.{owners[owner].person}" != person.column:
        raise SpecError(f"[person] column names {person.column}, and [tables.{owner}] has no such person column.")
    for name, following in zip(others, list(owners)[1:], strict=True):
        link = [ours for ours, _ in owners[following].keys]
        if link != [f"{name}.{owners[name].person}"]:
            raise SpecError(
                f"[tables.{following}] is reached through [tables.{name}]: by one key, {name}.{owners[name].person}."
            )
    if odd := [name for name, table in owners.items() if not table.most_keys]:
        raise SpecError(
            f"[tables.{odd[0]}] says whose a key is. Say how many are kept of one person: keys = {{ at_most = 1 }}. "
            "From 2 on a person can change what is kept of others, and answers cost 4 times as much, or more."
        )
    if person.adjacency == "substitute":
        raise SpecError(
            'Rows that reach their person through a key need adjacency = "add_remove": how many people have rows is '
            "private then."
        )
    if person.ladder is not None or person.ceiling is not None:
        raise SpecError("Rows that reach their person through a key have a declared cap: rows = { at_most = 5 }.")
    steps = owners[owner].moved
    for name in reversed(others):
        steps = owners[name].moved_below(steps)
    if steps > MOST_STEPS:
        raise SpecError(
            f"One person would make {steps:,} steps through {' and '.join(owners)}, and each answer has that share of "
            f"its loss. Keep fewer keys of a person, or owners of a key: at most {MOST_STEPS:,} steps."
        )
    return replace(person, moved=steps)


def source_of(schema: Schema, name: str) -> Schema:
    """The schema of a further table's own source: what may be read of it."""
    table, first = schema.tables[name], f"{name}."
    columns = {full.removeprefix(first): one for full, one in schema.columns.items() if schema.table_of(full) == name}
    texts = {full.removeprefix(first): one for full, one in schema.texts.items() if schema.table_of(full) == name}
    named = [*(theirs for _, theirs in table.keys), *(column for column, _ in links(schema, name, schema.tables))]
    households = household_of(schema, name)
    named += households
    keys = {one: Text() for one in named if one not in (*columns, *texts, table.person)}
    person = Person("add_remove", table.person, household=next(iter(households), None))
    return Schema(columns, person, table.format, texts={**keys, **texts})


def household_of(schema: Schema, name: str) -> list[str]:
    """The column of a further table that names the household, by its own name; none where it has no such column."""
    household = schema.person.household
    return [own_name(schema.tables, household)] if household and schema.table_of(household) == name else []


def joined_of(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The further tables that are read for some columns, and those that decide how many rows there are."""
    wanted = {schema.table_of(name) for name in used} | set(schema.owners)
    wanted |= {name for name, table in schema.tables.items() if table.always or household_of(schema, name)}
    for name, table in reversed(list(schema.tables.items())):  # each stands after those whose columns are its keys
        if name in wanted:
            wanted |= {table_at(schema.tables, ours) for ours, _ in table.keys}
    return tuple(name for name in schema.tables if name in wanted)


def links(schema: Schema, name: str, read: Iterable[str]) -> list[tuple[str, str]]:
    """The columns of a further table that are keys of those read, each with its name inside the engine.

    Parameters
    ----------
    schema : Schema
    name : str
        The table.
    read : iterable of str
        The further tables that are read.

    Returns
    -------
    list of tuple of str and str
        Pairs of a full name and the name inside the engine.
    """
    inside = link_names(schema)
    used = {ours for one in read for ours, _ in schema.tables[one].keys}
    return [
        (own_name(schema.tables, full), plain)
        for full, plain in inside.items()
        if full in used and table_at(schema.tables, full) == name
    ]


def link_names(schema: Schema) -> dict[str, str]:
    """The columns of further tables by which others are reached, ``patients.ward``, with their names in the engine."""
    chained = [f"{name}.{schema.tables[name].person}" for name in schema.owners[:-1]]
    found = dict.fromkeys(ours for table in schema.tables.values() for ours, _ in table.keys)
    further = [name for name in found if table_at(schema.tables, name) and name not in chained]
    return {name: f"h{place}" for place, name in enumerate(further)}


def further_columns(schema: Schema) -> list[str]:
    """The columns of further tables, and those of the main one that are read as keys alone."""
    keys = [ours for table in schema.tables.values() for ours, _ in table.keys if ours not in schema.stored]
    return [name for name in schema.cells if schema.table_of(name)] + keys


# --- one line ---------------------------------------------------------------------------------------------------------


def write(name: str, tables: Mapping[str, JoinedTable]) -> str:
    """The join in one line: ``left join wards on ward = wards.ward public sha256:…``, or ``… on person``."""
    table = tables[name]
    on = [f"{quoted(ours)} = {name}.{_one_word(theirs)}" for ours, theirs in table.keys]
    linked = f"{name}.{table.person}"
    whose = next(
        (f"{one}.{_one_word(key)}" for one, of in tables.items() for ours, key in of.keys if ours == linked), ""
    )
    person = [] if table.person is None else [f"{whose if table.most_keys and whose else 'person'} = "]
    person = [f"{first}{name}.{_one_word(table.person or '')}" for first in person]
    if table.most_keys:
        last = f"keys at most {table.most_keys} owners at most {table.owners}"
        return f"inner join {name} on {' and '.join([*person, *on])} {last}"
    last = f"public sha256:{table.digest}" if table.public else f"rows at most {table.rows}"
    return f"{table.join} join {name} on {' and '.join([*person, *on])} {last}"


def read(text: str) -> tuple[str, JoinedTable]:
    """The name and the join that a line says; its columns stand elsewhere.

    Raises
    ------
    SpecError
        For a text that says none.
    """
    match = _LINE.fullmatch(text)
    if match is None:
        raise SpecError("This says no join.")
    join: Join = "left" if match["join"] == "left" else "inner"
    name = match["name"]
    pairs = list(_PAIR.finditer(match["on"]))  # a name may itself hold the word and
    if " and ".join(pair[0] for pair in pairs) != match["on"] or any(pair["table"] != name for pair in pairs):
        raise SpecError("This says no join.")
    found = [(_bare(pair["ours"]), _bare(pair["theirs"])) for pair in pairs]
    person = None if match["digest"] else found.pop(0)[1]
    keys = tuple(found)
    most_keys, owners = int(match["most"] or 0), int(match["owners"] or 1)
    if most_keys:
        return name, JoinedTable(keys, person, most_keys=most_keys, owners=owners)
    return name, JoinedTable(keys, person, join, int(match["rows"] or 1), digest=match["digest"] or "")


_WORD: Final = r"(?:\w+|`(?:[^`]|``)*`)"
_LINE: Final = re.compile(
    r"(?P<join>left|inner) join (?P<name>\w+) on (?P<on>.+?) "
    r"(?:public sha256:(?P<digest>[0-9a-f]{64})|rows at most (?P<rows>[0-9]{1,7})|"
    r"keys at most (?P<most>[0-9]{1,3}) owners at most (?P<owners>[0-9]{1,3}))"
)
_PAIR: Final = re.compile(rf"(?P<ours>{_WORD}(?:\.{_WORD})?) = (?P<table>\w+)\.(?P<theirs>{_WORD})")


def _one_word(own: str) -> str:
    """A name behind that of its table, where a dot of its own would divide it once more."""
    return f"`{own.replace('`', '``')}`" if "." in own else quoted(own)


def _bare(word: str) -> str:
    return word[1:-1].replace("``", "`") if word.startswith("`") else word


def lines(schema: Schema) -> Iterator[str]:
    """Every join of a schema, one line each."""
    return (write(name, schema.tables) for name in schema.tables)
