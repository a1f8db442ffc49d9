"""Further tables as they are declared: in a study file under [tables.…], or in Python by ``rt.table``.

    rt.table(rows, key="ward", public=True) --> TableSource(JoinedTable, columns, rows)
    study file, [tables.wards]              --> the same

A public table is read when the study is opened, since nobody is in it: its key must be unique, and bounds and lists
that nobody declared are those of its cells. A private table is read by releases alone, as the main one is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from reticent.data.columns import arrow_type
from reticent.data.format import Format, exact, in_database, path_of, toml_key
from reticent.data.joined_table import JoinedTable, before_dot, own_name, parted
from reticent.data.joins import source_of, with_tables
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema, Text
from reticent.data.source import identity_of, names_of, open_source
from reticent.errors import PublicParameterError, SpecError, first_of

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.source import Source
    from reticent.ledger.claim_file import Source as LedgerSource

MOST_KEYS: Final = 1_000
MOST_SHOWN: Final = 3
OWN: Final = ""  # until the name of the main table's person column is known
Keys = str | Sequence[str] | Mapping[str, str]
Declared = Column | Text | Literal["category", "real", "integer"]  # a word: as the cells of a public table say


@dataclass(frozen=True, slots=True)
class TableSource:
    """A further table with its columns and rows: a path, or a table in memory."""

    joined: JoinedTable
    columns: Mapping[str, Column]
    texts: Mapping[str, Text]
    rows: object
    delimiter: str = ","

    @property
    def path(self) -> str:
        return path_of(self.rows)

    @property
    def known_as(self) -> LedgerSource:
        """The place by which a ledger knows the table: a file, or a table on a server."""
        return _known_as(self.path)


def pairs_of(key: Keys, tables: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that a declared key means.

    Parameters
    ----------
    key : str, sequence of str, or mapping
    tables : collection of str
        Names of further tables: ``patients.ward`` is the ward of patients, and ``Pat.No`` is one name.

    Raises
    ------
    SpecError
        What is no name, list of names, or mapping of them.
    """
    listed = [key] if isinstance(key, str) else key
    found: list[Any] = (
        list(listed.items()) if isinstance(listed, Mapping) else [(one, _own(one, tables)) for one in listed]
    )
    found = [  # { patients.ward = "ward" } of a study file is a table within a table
        pair
        for ours, theirs in found
        for pair in (
            ((f"{ours}.{own}", name) for own, name in theirs.items())
            if isinstance(theirs, Mapping)
            else [(ours, theirs)]
        )
    ]
    if not all(isinstance(ours, str) and isinstance(theirs, str) for ours, theirs in found):
        raise SpecError('key names columns: key = "ward", ["ward", "day"], or { ward = "code" }')
    return tuple((exact(ours), exact(theirs)) for ours, theirs in found)


def _own(key: object, tables: Collection[str]) -> object:
    """The column of a table by whose key it is reached: ``ward`` of ``patients.ward``."""
    return own_name(tables, key) if isinstance(key, str) else key


def tables_meant(key: Keys, rows: object, form: Format, delimiter: str) -> set[str]:
    """The tables that dotted keys mean where tables have no names yet: none in a name that the table has itself.

    Parameters
    ----------
    key : str, sequence of str, or mapping
    rows : path, or table in memory
        Whose names of columns alone are looked at.
    form : Format
    delimiter : str
        Of a CSV file.

    Returns
    -------
    set of str
    """
    listed = [key] if isinstance(key, str) else [*key]
    dotted = [exact(one) for one in listed if isinstance(one, str) and "." in one]
    if not dotted:
        return set()
    try:
        own = _names(rows, form, delimiter)
    except SpecError:  # a file that is not there yet
        own = []
    return {before_dot(one) for one in dotted if one not in own}


def declared_table(
    rows: object,
    columns: Mapping[str, Declared],
    *,
    public: bool,
    keys: tuple[tuple[str, str], ...],
    person: str | None,
    join: str,
    most: int,
    form: Format,
    delimiter: str,
    owned: tuple[int, int] = (0, 1),
) -> TableSource:
    """A further table by its declaration; a public one is read.

    Parameters
    ----------
    rows : path, or table in memory
    columns : mapping of name to declaration
        A word stands for what a public table's cells say.
    public : bool
    keys : tuple of pairs
    person : str or None
        None for the name that the main table has.
    join : "left" or "inner"
    most : int
        Rows that stand beside one.
    form : Format
    delimiter : str
    owned : pair of int
        Of a table that says whose a key is: the most keys of a person, and the most persons of a key.

    Returns
    -------
    TableSource

    Raises
    ------
    SpecError
        A declaration that cannot be used; a key of a public table that is not unique.
    """
    made: Any = join
    if public:
        if person is not None:
            raise SpecError("a public table is about nobody: it has no person column")
        shape = JoinedTable(keys, None, made, most, form, *owned)
        _check_unclaimed(rows)
        content, found, digest = _public(rows, columns, shape, delimiter)
        return TableSource(replace(shape, digest=digest, content=content), found, {}, rows, delimiter)
    if not columns and not owned[0]:
        raise SpecError("No column of it is declared. Bounds of people's data are never taken from their rows.")
    if words := [name for name, column in columns.items() if isinstance(column, str)]:
        raise SpecError(f"{words[0]} has no bounds or list. Only a public table needs none.")
    plain = {name: column for name, column in columns.items() if not isinstance(column, Text | str)}
    texts = {name: column for name, column in columns.items() if isinstance(column, Text)}
    joined = JoinedTable(keys, person or OWN, made, most, form, *owned)
    return TableSource(joined, plain, texts, rows, delimiter)


def joined_schema(schema: Schema, tables: Mapping[str, TableSource]) -> Schema:
    """The schema with further tables, whose person column is called as that of the main table where none is named."""
    found = {}
    named = own_name(tables, schema.person.column or "person")
    parts = [parted(tables, ours) for one in tables.values() if one.joined.most_keys for ours, _ in one.joined.keys]
    linked = {name: column for name, column in parts if name and tables[name].joined.most_keys}
    for name, one in tables.items():
        joined = one.joined
        if joined.person == OWN:
            joined = replace(joined, person=linked.get(name, named))
        found[name] = (joined, one.columns, one.texts)
    return with_tables(schema, found) if found else schema


def check_further(schema: Schema, tables: Mapping[str, TableSource]) -> None:
    """Refuse a further table in memory or in a file without its declared columns; no row of people is read."""
    for name, one in tables.items():
        if not one.path or in_database(one.path) or Path(one.path).exists():
            with_name(name, _open, schema, name, one)


def sources(schema: Schema, tables: Mapping[str, TableSource]) -> dict[str, Source]:
    """The sources of the further tables, unread; of a public one what was read before."""
    return {name: with_name(name, _open, schema, name, tables[name]) for name in schema.tables}


def places(schema: Schema, tables: Mapping[str, TableSource], *, public: bool) -> dict[str, LedgerSource]:
    """The places of further tables about people, or of ``public`` ones, by which a ledger knows them.

    Parameters
    ----------
    schema : Schema
        Schema with further tables.
    tables : mapping of name to TableSource
    public : bool
        True for the tables about nobody.

    Returns
    -------
    dict of name to place
        Without tables in memory.
    """
    return {
        name: tables[name].known_as
        for name, joined in schema.tables.items()
        if joined.public == public and tables[name].path
    }


def without_partners(schema: Schema) -> list[str]:
    """Warnings of listed keys that no row of a public table has; both are public facts."""
    said = []
    for name, joined in schema.tables.items():
        rows = "are left out" if joined.join == "inner" else "have missing cells there"
        for here, there in joined.keys:
            lost = _lost(schema.columns.get(here), there, joined.content)
            if lost:
                shown = first_of(lost, MOST_SHOWN)
                said.append(
                    f"[tables.{name}] has no {there} {shown}, which columns.{toml_key(here)} lists: such rows {rows}."
                )
    return said


def _lost(column: Column | None, there: str, content: pa.Table | None) -> list[str]:
    """Listed keys, as texts, that a column of a public table has not."""
    if content is None or not isinstance(column, Category):
        return []
    cells = {str(cell) for cell in content[there].to_pylist()}
    return [str(key) for key in column.among if str(key) not in cells]


def with_name(name: str, part: Any, *given: Any) -> Any:
    """A part of a further table, whose refusal names it.

    Parameters
    ----------
    name : str
        Name of the further table.
    part : object
        Function that reads the part.
    *given : object
        Its arguments.

    Returns
    -------
    object
        The return value of ``part``.

    Raises
    ------
    SpecError
        Every problem that ``part`` raises, with the name of the table before it.
    """
    try:
        return part(*given)
    except SpecError as error:
        raise SpecError(*(f"[tables.{name}] {problem.lstrip()}" for problem in error.problems)) from None
    except PublicParameterError as error:
        raise SpecError(f"[tables.{name}] {error}") from None


def _open(schema: Schema, name: str, one: TableSource) -> Source:
    content = schema.tables[name].content
    rows = one.rows if content is None else content
    return open_source(rows, source_of(schema, name), delimiter=one.delimiter)


def _check_unclaimed(rows: object) -> None:
    """Refuse a file that a ledger counts for, before it is read."""
    from reticent.ledger.fingerprint import refuse_claimed

    if path := path_of(rows):
        refuse_claimed(_known_as(path))


def _known_as(path: str) -> LedgerSource:
    """The place by which a ledger knows a path or a URL: of a table in a database file the whole of that file."""
    from reticent.ledger.fingerprint import source_at

    return source_at(identity_of(path))


# --- public tables ----------------------------------------------------------------------------------------------------


def _public(
    rows: object, columns: Mapping[str, Declared], shape: JoinedTable, delimiter: str
) -> tuple[pa.Table, dict[str, Column], str]:
    """The content of a public table, its columns with bounds and lists, and its digest."""
    import pyarrow as pa

    named = list(columns) or _names(rows, shape.format, delimiter)
    theirs = [name for _, name in shape.keys]
    given = {name: column for name, column in columns.items() if not isinstance(column, str)}
    texts = {name: Text() for name in dict.fromkeys([*named, *theirs]) if name not in given}
    if odd := [name for name, column in given.items() if isinstance(column, Text)]:
        raise SpecError(f"{odd[0]} is text, and a public table has lists: leave its kind out.")
    listed: Mapping[str, Any] = given
    source = open_source(rows, Schema(listed, Person("add_remove"), shape.format, texts=texts), delimiter=delimiter)
    names = list(dict.fromkeys([*named, *theirs]))
    content = _content(source, names)
    content = content.take(pa.array(range(content.num_rows), pa.int64()))  # a copy: an array may change its cells
    _check_unique(content, theirs, shape.format)
    found: dict[str, Column] = {}
    for name in named:
        column = columns.get(name)
        if column is None or isinstance(column, str):
            made = _as_it_is(content.column(name), column, shape.format)
            if made is not None:
                found[name] = made
            elif column is not None:
                raise SpecError(f"{name} has no {column} that could be asked for.")
        elif not isinstance(column, Text):
            found[name] = column
    return content, found, _digest(content)


def _content(source: Source, names: Sequence[str]) -> pa.Table:
    """All rows of a public table; one on a server is fetched from there."""
    import pyarrow as pa

    from reticent.data.engines.engine import SourceInPlace

    if isinstance(source, SourceInPlace):
        from reticent.data.engines.fetch import fetched

        return fetched(source, names)
    return pa.Table.from_batches(list(source.batches(names)), _schema(source, names))


def _schema(source: Source, names: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(name, arrow_type(source.storage[name])) for name in names])


def _names(rows: Any, form: Format, delimiter: str) -> list[str]:
    """All columns of a public table."""
    if path := path_of(rows):
        return list(names_of(path, delimiter=delimiter, encoding=form.encoding, sheet=form.sheet))
    for part in ("columns", "column_names"):
        found = getattr(rows, part, None)
        if found is not None and not callable(found) and all(isinstance(name, str) for name in found):
            return [exact(name) for name in found]
    if isinstance(rows, Mapping):
        return [exact(name) for name in rows]
    raise SpecError("Name the columns of this table: columns={…}.")


def _check_unique(content: pa.Table, keys: Sequence[str], form: Format) -> None:
    """Refuse a key that two rows share. The table is public, so one of the keys is said."""
    columns = [[_text(cell, form) for cell in content.column(name).to_pylist()] for name in keys]
    seen: set[tuple[str | None, ...]] = set()
    for found in zip(*columns, strict=True):
        if None not in found and found in seen:
            shown = ", ".join(map(str, found))[:80]
            raise SpecError(
                f"{' and '.join(keys)} is no unique key: two rows have {shown!r}. A row of the main table reaches one."
            )
        seen.add(found)


def _text(cell: object, form: Format) -> str | None:
    """The text by which a cell is compared, as ``casts.known_text`` has it."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    text = form.spelled(cell) if isinstance(cell, float) else str(cell)
    return None if text in form.na else text


def _as_it_is(column: pa.ChunkedArray, kind: str | None, form: Format) -> Column | None:
    """The declaration that the cells of a public column fit; None where they are of no use."""
    cells = [cell for cell in column.to_pylist() if _text(cell, form) is not None]
    if not cells:
        return None
    if isinstance(cells[0], bool):
        return Category((False, True))
    numbers = [form.number(cell) if isinstance(cell, str) else float(cell) for cell in cells]
    if kind != "category" and all(number is not None and abs(number) < 2.0**53 for number in numbers):
        values = [Fraction(number) for number in numbers if number is not None]
        low, high = min(values), max(values)
        whole = all(value.denominator == 1 for value in values)
        if low < high and whole and kind != "real":
            return Integer(int(low), int(high), why="of the public table")
        if float(low) < float(high):
            return Real(low, high, why="of the public table")
    if kind in ("integer", "real"):
        return None
    texts = sorted({text for cell in cells if (text := _text(cell, form)) is not None})
    fit = len(texts) <= MOST_KEYS and all(len(text) <= 200 and text.isprintable() for text in texts)
    return Category(tuple(texts), why="of the public table") if fit else None


def _digest(content: pa.Table) -> str:
    """Digest of a public table, the same whatever the order of its rows."""
    rows = sorted(repr(row) for row in zip(*(column.to_pylist() for column in content.columns), strict=True))
    return hashlib.sha256("\n".join([repr(content.column_names), *rows]).encode("utf-8", "replace")).hexdigest()
