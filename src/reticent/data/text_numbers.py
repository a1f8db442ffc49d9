"""Numbers of columns of text, read a column at a time: what ``Format.number`` says of each cell, by vectors.

    number_columns(schema)    the columns of a file of text that are read as numbers and as nothing else
    numbers_of(texts, form)   their cells as doubles; what is no number is missing

Cells go first to Arrow's cast, which reads each number to the nearest double. It refuses a column with a cell that is
none. Then the pattern of the format says which cells are numbers, and the cast sees those alone. Cells that it refuses
still, such as "+inf", are read one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reticent.data.columns import numbers
from reticent.data.format import Format
from reticent.data.schema import Category, Column, Integer, Real, Schema

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS: Final = " \t\r\n"


def number_columns(schema: Schema) -> frozenset[str]:
    """Columns of the main table that are numbers, and name no person and no row of another table."""
    texts = {schema.person_here, *(ours for table in schema.tables.values() for ours, _ in table.keys)}
    return frozenset(name for name, column in schema.stored.items() if _is_number(column) and name not in texts)


def _is_number(column: Column) -> bool:
    match column:
        case Integer(calendar=calendar):
            return calendar is None
        case Category(among=among):
            return type(among[0]) is int
        case Real():
            return True


def numbers_of(texts: pa.Array, form: Format) -> pa.Array:
    """Cells as doubles: the number that each text is, else missing. No text makes it fail, and none is -0."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return _doubles(texts if form.plain else _spelled(texts, form))
    except pa.ArrowInvalid:
        pass
    try:
        return _doubles(_spelled(texts, form))
    except pa.ArrowInvalid:
        known = {cell: form.number(cell) for cell in pc.unique(texts).to_pylist() if cell is not None}
        found = [known.get(cell) for cell in texts.to_pylist()]
        return numbers(np.array(found, np.float64), np.array([cell is None for cell in found], np.bool_))


def _spelled(texts: pa.Array, form: Format) -> pa.Array:
    """The numbers among the texts without blanks, separators and symbols, the rest missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.if_else(pc.match_substring_regex(texts, form.pattern), texts, pa.nulls(1, pa.string())[0])
    for sign in form.dropped:
        texts = pc.replace_substring(texts, sign, "")
    texts = texts if form.decimal == "." else pc.replace_substring(texts, form.decimal, ".")
    return pc.utf8_trim(texts, BLANKS)


def _doubles(texts: pa.Array) -> pa.Array:
    """Texts cast to doubles, where "nan" is missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.add(pc.cast(texts, pa.float64()), numbers(np.zeros(1))[0])
    return pc.if_else(pc.is_nan(found), pa.nulls(1, pa.float64())[0], found)
