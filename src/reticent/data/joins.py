"""Joins of a schema: further tables beside the main one, whose columns have two names, ``patients.age``.

with_tables(schema, {name: (table, columns, texts)})     the schema of the joined rows
inner(schema, names)                                     the schema of the rows with a partner there
source_of(schema, name)                                  what may be read of one further table
flat(schema)                                             the joined rows as one table, for made-up ones
write(name, table), read(text)                           a join in one line, which certificates print
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from reticent.data.expression import quoted
from reticent.data.joined_table import Join, JoinedTable
from reticent.data.schema import Column, Person, Schema, Text
from reticent.errors import SpecError

MOST_TABLES: Final = 20
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
    owner = (person.column or "").partition(".")[0]
    if owner in tables:
        person = _through(person, owner, tables[owner][0])
    for name, (table, _, _) in tables.items():
        if table.most_keys and name != owner:
            raise SpecError(
                f'[tables.{name}] says whose a key is: then write [person] column = "{name}.{table.person}".'
            )
    for name, (table, own_columns, own_texts) in tables.items():
        if not _NAME.fullmatch(name) or quoted(name) != name:
            raise SpecError(f"[tables.{name}] is named by one plain word, such as [tables.patients].")
        if taken := [column for column in (*columns, *texts) if column.partition(".")[0] == name]:
            raise SpecError(f"The column '{taken[0]}' and the table [tables.{name}] have one name.")
        if not table.public and person.column is None:
            raise SpecError(
                f"[tables.{name}] holds rows of people, and nothing says whose rows the main table has: add [person] "
                f"column, or say [tables.{name}] public = true if it is about nobody."
            )
        if table.public and (own_texts or any(column.constant for column in own_columns.values())):
            raise SpecError(f"[tables.{name}] is public: constant and texts are said of columns of people.")
        partnered = table.join == "inner" or name == owner
        if table.keys and not partnered and (odd := [own for own, column in own_columns.items() if column.constant]):
            raise SpecError(
                f"[tables.{name}] has a key and a constant column, {odd[0]}: rows of a person without a partner "
                'have none, so it is not constant. Say join = "inner", or leave constant out.'
            )
        for own, column in own_columns.items():
            constant, complete = table.one_each or column.constant, partnered and column.complete
            columns[f"{name}.{own}"] = replace(column, constant=constant, complete=complete)
        texts |= {f"{name}.{own}": text for own, text in own_texts.items()}
    if owner in tables or any(table.join == "inner" for table, _, _ in tables.values()):
        person = replace(person, filtered=True)
    frozen = (
        MappingProxyType(columns),
        MappingProxyType(texts),
        MappingProxyType({name: table for name, (table, _, _) in tables.items()}),
    )
    return replace(schema, columns=frozen[0], texts=frozen[1], tables=frozen[2], person=person)


def inner(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema whose rows have a partner in further tables: one without is left out."""
    tables = {**schema.tables, **{name: replace(schema.tables[name], join="inner") for name in names}}
    return replace(schema, tables=MappingProxyType(tables), person=replace(schema.person, filtered=True))


def _through(person: Person, owner: str, table: JoinedTable) -> Person:
    """The person of rows that reach one through a key of another table."""
    if table.public or f"{owner}.{table.person}" != person.column:
        raise SpecError(f"[person] column names {person.column}, and [tables.{owner}] has no such person column.")
    if not table.most_keys:
        raise SpecError(
            f"[tables.{owner}] says whose a key is. Say how many are kept of one person: keys = {{ at_most = 1 }}. "
            "From 2 on a person can change what is kept of others, and answers cost 4 times as much, or more."
        )
    if person.adjacency == "substitute":
        raise SpecError(
            'Rows that reach their person through a key need adjacency = "add_remove": how many people have rows is '
            "private then."
        )
    if person.ladder is not None or person.ceiling is not None:
        raise SpecError("Rows that reach their person through a key have a declared cap: rows = { at_most = 5 }.")
    return replace(person, moved=table.moved)


def source_of(schema: Schema, name: str) -> Schema:
    """The schema of a further table's own source: what may be read of it."""
    table, first = schema.tables[name], f"{name}."
    columns = {full.removeprefix(first): one for full, one in schema.columns.items() if schema.table_of(full) == name}
    texts = {full.removeprefix(first): one for full, one in schema.texts.items() if schema.table_of(full) == name}
    keys = {theirs: Text() for _, theirs in table.keys if theirs not in (*columns, *texts, table.person)}
    return Schema(columns, Person("add_remove", table.person), table.format, texts={**keys, **texts})


def joined_of(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The further tables that are read for some columns, and those that decide how many rows there are."""
    wanted = {schema.table_of(name) for name in used}
    return tuple(
        name for name, table in schema.tables.items() if table.always or name in wanted or name == schema.owner
    )


def further_columns(schema: Schema) -> list[str]:
    """The columns of further tables, and those of the main one that are read as keys alone."""
    keys = [ours for table in schema.tables.values() for ours, _ in table.keys if ours not in schema.stored]
    return [name for name in schema.cells if schema.table_of(name)] + keys


def keys_of(schema: Schema) -> dict[str, str]:
    """The columns of the main table by which others are reached, each with its name inside the engine."""
    ours = dict.fromkeys(ours for table in schema.tables.values() for ours, _ in table.keys)
    return {name: f"k{place}" for place, name in enumerate(ours)}


def flat(schema: Schema) -> Schema:
    """The schema of the joined rows as one table: what made-up rows are drawn from."""
    return replace(schema, tables={}) if schema.tables else schema


# --- one line ---------------------------------------------------------------------------------------------------------


def write(name: str, table: JoinedTable) -> str:
    """The join in one line: ``left join wards on ward = wards.ward public sha256:…``, or ``… on person``."""
    on = [f"{quoted(ours)} = {name}.{quoted(theirs)}" for ours, theirs in table.keys]
    person = [] if table.person is None else [f"person = {name}.{quoted(table.person)}"]
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
_PAIR: Final = re.compile(rf"(?P<ours>{_WORD}) = (?P<table>\w+)\.(?P<theirs>{_WORD})")


def _bare(word: str) -> str:
    return word[1:-1].replace("``", "`") if word.startswith("`") else word


def lines(schema: Schema) -> Iterator[str]:
    """Every join of a schema, one line each."""
    return (write(name, table) for name, table in schema.tables.items())
