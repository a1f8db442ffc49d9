"""Names and types of the columns of a source: what may be read, how it arrives, and what is refused.

Every column arrives as one of four Arrow types, its *storage*: text, int64, double or bool. Numbers that fit none of
them exactly (unsigned 64-bit integers, decimals) and mixed objects arrive as text. Dates and times of a typed source
arrive as whole seconds since 1970: those of a clock on the wall, or "instants" of UTC where the source says its zone.
``encoding_doubt`` warns of text that may be written in another encoding than it is read in, and ``bounds_doubts`` of
bounds that may be read off the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, assert_never

from reticent.calendar import DAY, Calendar
from reticent.data.format import Format, accented, section, toml_key
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Moments,
    OrderedValues,
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
from reticent.data.schema import Category, Column, Integer, Key, Real, Schema
from reticent.errors import QuestionError, SpecError, first_of
from reticent.privacy.numbers import show

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

Storage: TypeAlias = Literal["text", "whole", "real", "truth", "seconds", "instants"]

CELLS: Final[Mapping[Storage, str]] = {
    "text": "texts",
    "whole": "numbers",
    "real": "numbers",
    "truth": "true and false",
    "seconds": "dates or times",
    "instants": "times of a zone",
}
MOST_COLUMNS: Final = 4096
BATCH: Final = 1 << 16
YEARS: Final = range(1800, 2101)
MOST_BYTES: Final = (1 << 31) - 1  # of the texts of one array


@dataclass(slots=True, repr=False)
class Reading:
    """Facts about a source that is read, which depend on its rows: for the curator alone.

    Attributes
    ----------
    share : float
        Part of the source that was read; 0 where the whole is not known.
    swallowed : bool
        True if a quoted cell took in many lines, or all lines to the end of the file.
    """

    share: float = 0.0
    swallowed: bool = False


def wanted(schema: Schema) -> tuple[str, ...]:
    """The columns that may ever be read: declared ones of this source, those of the person, and of keys."""
    person = [name for name in (schema.person_here, schema.household_here) if name is not None]
    keys = [ours for table in schema.tables.values() for ours, _ in table.keys if not schema.table_of(ours)]
    return tuple(dict.fromkeys([*schema.stored, *schema.stored_texts, *person, *keys]))


def check_names(
    found: Sequence[str], schema: Schema, where: str, hint: str = "", meant: Callable[[str], str] = lambda _: ""
) -> None:
    """Refuse a source without the declared columns. Only declared names are said, and those that ``meant`` may say.

    Parameters
    ----------
    found : sequence of str
        Names that the source has.
    schema : Schema
    where : str
        Name of the source, for the message.
    hint : str
        What may be the cause, from the header alone.
    meant : function, optional
        From a name that is not there to the words of the one that is meant; empty where names may be values.

    Raises
    ------
    SpecError
        For a declared column that is not there, or there twice.
    """
    for name in wanted(schema):
        if found.count(name) > 1:
            raise SpecError(f"{where} names {name} twice: rename one of the two. Nothing was read.")
        if name not in found:
            silent = " Those that are there are not shown: they may be values."
            raise SpecError(
                f"There is no column '{name}' in {where}: names agree letter by letter, capitals and spaces too."
                f"{meant(name) or silent} Nothing was read.{hint}"
            )


def storage_of(schemas: Sequence[pa.Schema], schema: Schema, where: str) -> dict[str, Storage]:
    """Storage type of each column, the same for all files of a pattern.

    Parameters
    ----------
    schemas : sequence of Arrow schemas
        One for each file.
    schema : Schema
    where : str
        Name of the source, for the message.

    Returns
    -------
    dict of name to storage type

    Raises
    ------
    SpecError
        For a type that cannot hold the declared kind, or types whose equal cells would not be read alike.
    """
    kinds: dict[str, dict[Storage, set[str]]] = {}
    for fields in schemas:
        if len(fields.names) > MOST_COLUMNS:
            raise SpecError(f"{where} has more than {MOST_COLUMNS:,} columns. Keep the ones you need.")
        check_names(fields.names, schema, where)
        for name in wanted(schema):
            kind, found = fields.field(name).type, kinds.setdefault(name, {})
            storage = _storage(kind, schema, name)
            if words := _cells_of(kind, storage, spelt=schema.compares_texts(name)):  # one without cells takes any
                found.setdefault(storage, set()).add(words)
    for name, found in kinds.items():
        differing = sorted(set[str]().union(*found.values()))
        if len(differing) < 2 and {"text", "real"} <= found.keys() and schema.compares_texts(name):
            differing = ["fractions", "long numbers"]  # 1e+10 and 10000000000
        if {"whole", "real"} <= found.keys() and name in schema.named:
            differing = ["fractions", "whole numbers"]  # beyond 2^53 two of them are one fraction
        if len(differing) > 1:
            raise SpecError(
                f"column {name} holds {' and '.join(differing)}, in different files of {where}. They would not be read "
                "alike: write it in all files with one type. Nothing was read."
            )
    return {
        name: next(iter(found), "text") if len(found) < 2 else "real" if found.keys() == {"whole", "real"} else "text"
        for name, found in kinds.items()
    }


def _cells_of(kind: pa.DataType, storage: Storage, *, spelt: bool) -> str:
    """Words for the cells of a type, the same if they are read alike, as 12 and 12.00 are not if ``spelt``; or none."""
    from pyarrow import types

    if types.is_null(kind):
        return ""
    if types.is_dictionary(kind):
        return _cells_of(kind.value_type, storage, spelt=spelt)
    if spelt and types.is_decimal(kind) and kind.scale:
        return f"numbers with {kind.scale} digits behind the point"
    number = types.is_integer(kind) or types.is_decimal(kind)
    return CELLS["whole" if number else storage]


def _storage(kind: pa.DataType, schema: Schema, name: str) -> Storage:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _storage(kind.value_type, schema, name)
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind):
        return "text" if kind.bit_width == 64 and types.is_unsigned_integer(kind) else "whole"
    if types.is_floating(kind):
        return "real"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "text"
    if "string_view" in str(kind):
        return "text"
    if types.is_date(kind) and takes_text(schema, name):
        return "text"  # 2026-11-21, as a CSV writes it
    if types.is_date(kind) and calendar_of(schema, name) is not None:
        return "seconds"
    if types.is_timestamp(kind) and calendar_of(schema, name) is not None:
        return moments_storage(schema, name, aware=kind.tz is not None)
    if types.is_temporal(kind) and takes_text(schema, name):
        raise SpecError(
            f"column {name} holds times, which have many spellings. Write it as text or as a number first, or leave it "
            "out. Nothing was read."
        )
    raise SpecError(unfit(name, str(kind).partition("<")[0].partition("[")[0]))


def of_people(schema: Schema) -> dict[str, Column]:
    """Columns of tables that people are in, by name."""
    public = {name for name, table in schema.tables.items() if table.public}
    return {name: column for name, column in schema.columns.items() if schema.table_of(name) not in public}


def bounds_doubts(schema: Schema) -> list[tuple[tuple[str, ...], str]]:
    """Doubts about bounds that look read off the file, each with its column.

    They are warnings of ``check``, and of a plan, a release, a fit or a session that asks about the column.
    """
    doubts: list[tuple[tuple[str, ...], str]] = []
    for name, column in of_people(schema).items():
        dated = isinstance(column, Integer) and column.calendar is not None
        if isinstance(column, Category) or name in schema.computed or column.why or dated:
            continue
        for key, bound in (("low", column.low), ("high", column.high)):
            if bound is not None and _oddly_exact(Fraction(bound)):
                words = (
                    f"columns.{toml_key(name)}: {key} = {show(bound)} is oddly exact. If it is the file's "
                    f"{key}est value, it is one person's value. Say in 'why' where it comes from."
                )
                doubts.append(((name,), words))
    return doubts


def _oddly_exact(bound: Fraction) -> bool:
    """More digits than people choose: above three, or three with some behind the point; a year or 9999 is none."""
    text = show(abs(bound))
    if "/" in text or (bound.denominator == 1 and bound in YEARS):
        return False
    digits = text.partition("e")[0].replace(".", "").strip("0")
    if not digits.strip("9"):
        return False
    return len(digits) > 3 or (len(digits) == 3 and bound.denominator != 1)


def takes_text(schema: Schema, name: str) -> bool:
    declared: Column | None = schema.columns.get(name)
    return declared is None or isinstance(declared, Category)


def calendar_of(schema: Schema, name: str) -> Calendar | None:
    """The calendar of a column that is declared as dates or times."""
    declared = schema.columns.get(name)
    return declared.calendar if isinstance(declared, Integer) else None


def moments_storage(schema: Schema, name: str, *, aware: bool) -> Storage:
    """Storage of typed times, by their type alone; those of a zone need one to be converted to.

    Parameters
    ----------
    schema : Schema
        Schema with the column.
    name : str
        Name of the column.
    aware : bool
        True if the type of the cells has a time zone.

    Returns
    -------
    Storage
        "seconds", or "instants" for times that are converted to the clocks of the column.

    Raises
    ------
    SpecError
        Times of a zone in a column that declares none.
    """
    if not aware:
        return "seconds"
    calendar = calendar_of(schema, name)
    if calendar is None or not calendar.zone:
        raise SpecError(
            f"column {name} holds times of a zone. Say by whose clocks they count: "
            f'{section(name)} kind = "datetime", zone = "Europe/Berlin". Nothing was read.'
        )
    return "instants"


def unfit(name: str, found: str) -> str:
    if found.startswith(("date", "timestamp", "numpy datetime")):
        return f'column {name} holds {found}. Declare it by kind = "date" or "datetime". Nothing was read.'
    if found == "period":
        return (
            f"column {name} holds periods. A date is a day: give their first days, .to_timestamp() of the column. "
            "Nothing was read."
        )
    if is_nested(found):
        return (
            f"column {name} holds {found}: a cell has several values. Write what is asked about as columns of their "
            f"own first, or delete {section(name)}. Nothing was read."
        )
    return f"column {name} holds {found}, which is neither a number nor a text. Nothing was read."


def is_nested(kind: str) -> bool:
    """Tell if a type, as its engine writes it, has several values in a cell: a list, a structure, a map."""
    word = kind.lower()
    return word.endswith("[]") or re.match(r"\w*(list|struct|map|array|union)\b", word) is not None


def normal(array: pa.Array, storage: Storage) -> pa.Array:
    """An Arrow column in its storage type. No cell makes it fail: a text that is not UTF-8 is a missing cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        if "string_view" in str(array.type.value_type):  # decoding has no kernel for it
            array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string()))
        array = array.dictionary_decode()
    if storage in ("seconds", "instants") and pa.types.is_temporal(array.type):
        return _seconds(array)
    target = arrow_type(storage)
    if pa.types.is_large_string(array.type) or pa.types.is_string(array.type):
        array = _utf8(array)
    if array.type == target:
        return array
    return pc.cast(array, target, safe=storage != "real")  # a whole number beyond 2^53 becomes the nearest double


def arrow_type(storage: Storage) -> pa.DataType:
    """The Arrow type of a storage."""
    import pyarrow as pa

    match storage:
        case "text":
            return pa.string()
        case "whole" | "seconds" | "instants":
            return pa.int64()
        case "real":
            return pa.float64()
        case "truth":
            return pa.bool_()
        case _:
            assert_never(storage)


def _seconds(array: pa.Array) -> pa.Array:
    """Whole seconds of dates or times of any unit; a part of a second is cut off. No cell overflows."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_date32(kind):
        found, per, seconds = array.view(pa.int32()), 1, DAY
    else:
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        found, per, seconds = array.view(pa.int64()), {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit], 1
    missing = values_of(array.is_null().cast(pa.int64())) > 0
    whole = values_of(found.fill_null(0).cast(pa.int64())) // per * seconds
    return numbers(whole, missing)


def _utf8(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return texts([_decoded(cell) for cell in array.cast(pa.large_binary()).to_pylist()])
    return array


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def empty_batches(size: int) -> Iterator[pa.RecordBatch]:
    """Rows without columns still have a number: one column of nulls stands for them."""
    import pyarrow as pa

    for first in range(0, size, BATCH):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BATCH, size - first), pa.int64())], names=["none"])


def texts_of(cells: Sequence[str]) -> pa.Array:
    """A column of texts; one that is empty, or not text, is a missing cell."""
    try:
        return texts([cell or None for cell in cells])
    except UnicodeEncodeError:
        return texts([cell if cell and is_utf8(cell) else None for cell in cells])


def is_utf8(cell: str) -> bool:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- Arrow arrays by their buffers: ``pa.array`` and ``to_numpy`` import pandas where it is installed, to ask whose a
# value is. That takes a fifth of a second and 35 MB of the first release of a process.


def numbers(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of int64 or double, null where ``missing`` is true."""
    import numpy as np
    import pyarrow as pa

    kind = np.dtype(np.float64 if values.dtype.kind == "f" else np.int64)
    plain = np.ascontiguousarray(values, kind)
    bits = None if missing is None else _bits(~missing)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(plain), [bits, pa.py_buffer(plain)])


def truths(values: NDArray[np.bool_]) -> pa.Array:
    """An array of truth values."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def texts(cells: Sequence[str | None]) -> pa.Array:
    """An array of texts, null where a cell is None.

    Raises
    ------
    UnicodeEncodeError
        A cell that is no text in UTF-8.
    """
    import numpy as np
    import pyarrow as pa

    absent = None in cells
    known = [cell or "" for cell in cells]
    whole = "".join(known)
    data = whole.encode()
    if len(data) > MOST_BYTES:
        return pa.array(cells, pa.string())
    sizes = map(len, known) if whole.isascii() else (len(cell.encode()) for cell in known)
    ends = np.zeros(len(known) + 1, np.int32)
    np.cumsum(np.fromiter(sizes, np.int32, len(known)), out=ends[1:])
    there = _bits(np.fromiter((cell is not None for cell in cells), np.bool_, len(cells))) if absent else None
    return pa.Array.from_buffers(pa.string(), len(cells), [there, pa.py_buffer(ends), pa.py_buffer(data)])


def values_of(column: pa.ChunkedArray | pa.Array) -> NDArray[Any]:
    """The numbers of a column of int64 or double without nulls, as they are; it cannot be written to.

    Raises
    ------
    TypeError
        A column of another type, or with nulls.
    """
    import numpy as np
    import pyarrow as pa

    if column.null_count or column.type not in (pa.int64(), pa.float64()):
        raise TypeError("a column of numbers was expected, without nulls")
    kind = np.dtype(np.int64 if column.type == pa.int64() else np.float64)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [
        np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * kind.itemsize)
        for chunk in chunks
        if len(chunk)
    ]
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, kind), *found])


def _bits(truth: NDArray[np.bool_]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(truth, bitorder="little"))


def encoding_doubt(
    schema: Schema, place: str, further: Mapping[str, str], keys: Mapping[str, tuple[Key, ...]] | None = None
) -> tuple[tuple[str, ...], str] | None:
    """Columns whose labels match no row if the file is in another encoding than UTF-8, and a warning that says so.

    A file in windows-1252 that is read as UTF-8 has no cell ``Gynäkologie``, and no reader sees it. The declarations
    alone raise the doubt. A declared name of a column with accents, which the header has letter by letter, settles it.

    Parameters
    ----------
    schema : Schema
    place : str
        Path of the main table; empty for one in memory.
    further : mapping of name to path
        Of further tables.
    keys : mapping of name to keys, optional
        Keys that questions name of columns of texts, which list none.

    Returns
    -------
    tuple of columns and str, or None
        None where no label has a letter outside ASCII, or the encoding is settled.
    """
    listed = {name: column.among for name, column in schema.columns.items() if isinstance(column, Category)}
    paths = {**further, "": place}
    found: dict[str, str] = {}
    for name, among in {**listed, **(keys or {})}.items():
        table = schema.table_of(name)
        if name not in schema.computed and _doubtful(schema, table, paths.get(table, "")):
            found.update({name: key for key in accented(among)[:1]})  # noqa: B035 - the first alone
    if not found:
        return None
    label = next(iter(found.values()))
    several = len(found) > 1
    words = (
        f"{first_of(found)} {'have' if several else 'has'} labels with letters outside ASCII, such as '{label}', and "
        f"no encoding is stated, so the file is read as UTF-8. In a file of another encoding such labels match no row. "
        f'If yours is of an older Excel: [study] encoding = "windows-1252". If it is UTF-8, say so: '
        f'[study] encoding = "utf-8".'
    )
    return tuple(found), words


def _doubtful(schema: Schema, table: str, path: str) -> bool:
    """Tell if nothing settles the encoding of a table: it is a CSV file, private, and its declared names are plain."""
    if not path:
        return False
    from reticent.data.file_kinds import kind_of

    if kind_of(Path(path)) != "csv":
        return False
    form, names = _declared(schema, table)
    return not form.has_encoding and all(name.isascii() for name in names)


def _declared(schema: Schema, table: str) -> tuple[Format, tuple[str, ...]]:
    """Format of a table, and the names that its header must have; a public table is not doubted."""
    if table:
        joined = schema.tables[table]
        settled = Format(has_encoding=True) if joined.public else joined.format
        return settled, tuple(name for name in schema.columns if schema.table_of(name) == table)
    return schema.format, (*schema.stored, *schema.stored_texts, *schema.named)


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
            case Ranks(column=column, weight=Weighing() as weight):
                used |= {_numeric(schema, column), _numeric(schema, weight.column)}
            case Total(column=column) | Moments(column=column) | Ranks(column=column) | OrderedValues(column=column):
                used.add(_numeric(schema, column))
            case WeightedTally(column=column, weight=weight, edges=edges):
                used |= {column, _numeric(schema, weight.column)}
                if isinstance(schema.column(column), Category) and edges:
                    raise QuestionError(f"{column} is a category: a histogram of it has no edges.")
            case WeightedMoments(column=one, weight=weight, grid=grid):
                used.add(_numeric(schema, weight.column))
                if one is not None:
                    used.add(one if grid is None and schema.column(one) else _numeric(schema, one))
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
