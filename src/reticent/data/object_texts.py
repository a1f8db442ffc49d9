"""Texts of Python objects: cells of lists, and of columns of objects of pandas or NumPy.

    texts_of_objects(cells)     a column of texts, by which cells are read as numbers, dates or keys
    names_of_objects(cells)     the same of a column that names persons, households, or rows of another table

A name says who a row belongs to. So cells which Python counts as equal have one text, whatever their types: 12, 12.0
and Decimal("12.00"), a time and the same time in another zone. Else one person could have the rows of two. Truth values
are words in every source, and no numbers. Of a time every digit counts: two that differ are two persons.

An object may fail to have a text: an integer of more digits than Python writes, a list nested too deeply, a class
whose ``__str__`` raises. Whatever the reason, it is one missing cell.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Complex
from typing import TYPE_CHECKING, Any, Final

from reticent.calendar import DAY, FIRST, LAST
from reticent.data.columns import is_utf8, texts
from reticent.data.expression_tree import key_text
from reticent.data.format import cell_text, exact
from reticent.data.schema import Category, Column, Text

if TYPE_CHECKING:
    import pyarrow as pa

ABSENT: Final = frozenset({"NAType", "NaTType"})
ANY_DAY: Final = datetime.date(2000, 1, 2)  # of a time of any day
YEARS: Final = (FIRST + DAY, LAST + 1 - DAY)  # of Python, in seconds, less a day for the clocks of a zone
MOST_DIGITS: Final = 4300  # of an integer that Python writes


def within_years(column: Any) -> Any:
    """A column of Polars or of Arrow's types in pandas, without the dates that Python has no object for.

    Such a date, of the year 10000 or before year 1, is one missing cell. Its object would be an error of the whole
    column, so that one row would decide between a reply and a fault. Nanoseconds reach no such year.
    """
    dtype = getattr(column, "dtype", None)
    of_pandas = getattr(dtype, "pyarrow_dtype", None) is not None
    dated = str(dtype).lower().startswith(("date", "timestamp"))
    if not dated or not (of_pandas or hasattr(column, "to_arrow")):
        return column
    import pyarrow as pa
    import pyarrow.compute as pc

    held = pa.array(column) if of_pandas else column.to_arrow()
    kind = held.type
    if pa.types.is_date32(kind):
        plain, steps = held.cast(pa.int32()).cast(pa.int64()), Fraction(1, DAY)
    elif pa.types.is_date64(kind):
        plain, steps = held.cast(pa.int64()), Fraction(1000)
    elif pa.types.is_timestamp(kind) and kind.unit != "ns":
        plain, steps = held.cast(pa.int64()), Fraction({"s": 1, "ms": 1000, "us": 1_000_000}[kind.unit])
    else:
        return column
    first, last = (int(end * steps) for end in YEARS)
    inside = pc.and_(pc.greater_equal(plain, first), pc.less_equal(plain, last))
    kept = pc.if_else(inside, held, pa.scalar(None, kind))
    if of_pandas:
        return type(column)(type(column.array)(kept))
    return type(column)(column.name, kept)


def texts_of_objects(cells: Sequence[object], declared: Column | Text | None = None) -> pa.Array:
    """The texts of cells; a truth value has the listed word of a category: ``True``, or 1 of integers."""
    listed = declared.among if isinstance(declared, Category) else ()
    if not listed or not {"true", "false"}.isdisjoint(listed):
        return _column(cells, cell_text)
    whole = type(listed[0]) is int
    words = {"true": "1", "false": "0"} if whole else {key_text(key).lower(): key_text(key) for key in listed}
    return _column(cells, lambda cell: words.get(str(cell).lower()) if isinstance(cell, bool) else cell_text(cell))


def names_of_objects(cells: Sequence[object]) -> pa.Array:
    """The texts of cells that name persons or keys: equal ones have one text."""
    return _column(cells, _name)


def _column(cells: Sequence[object], text: Callable[[Any], str | None]) -> pa.Array:
    return texts([_written(cell, text) for cell in cells])


def _written(cell: object, text: Callable[[Any], str | None]) -> str | None:
    """The text of one cell; None where it has none in UTF-8, or fails to have one."""
    try:
        found = text(_plain(cell))
        return None if found is None or not is_utf8(found) else found
    except Exception:
        return None


def _plain(cell: Any) -> Any:
    """A scalar of NumPy or Arrow as Python has it, a text of a subclass by its letters, bytes as text; None of none."""
    import numpy as np

    if isinstance(cell, np.datetime64 | np.timedelta64) and isinstance(cell.item(), int):
        cell = _fine(cell)
    if isinstance(cell, np.generic) or (isinstance(cell, np.ndarray) and cell.ndim == 0):
        cell = cell.item()
    elif type(cell).__module__ == "pyarrow.lib" and hasattr(cell, "as_py"):
        cell = cell.as_py()
    if isinstance(cell, str):
        return exact(cell)
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell).decode()
    return None if type(cell).__name__ in ABSENT else cell


def _fine(cell: Any) -> Any:
    """A time of NumPy as Python has it; as pandas writes it where it has nanoseconds, which Python's own times lack."""
    whole, nano = (cell.astype(f"{cell.dtype.kind}8[{unit}]") for unit in ("us", "ns"))
    if whole == cell:
        return whole.item()
    if nano == cell and cell.dtype.kind == "m":
        return _length(whole.item(), int((nano - whole).astype("m8[ns]").astype(int)))
    return str(nano if nano == cell else cell).replace("T", " ")


def _length(whole: datetime.timedelta, nanoseconds: int) -> str:
    return f"{whole}{f' {nanoseconds} ns' * bool(nanoseconds)}"


def _name(cell: Any) -> str | None:
    """The one text of all cells that are equal to this one."""
    match cell:
        case None | str() | bool():
            return cell_text(cell)
        case Complex(imag=0) | Decimal():
            return _number(cell if isinstance(cell, Decimal) else cell.real)
        case Complex(real=real, imag=imag):
            return f"{_number(real)} + {_number(imag)}j"
        case datetime.datetime():
            moment = cell if cell.tzinfo is None else cell.astimezone(datetime.UTC)
            return str(moment).removesuffix(" 00:00:00")  # midnight is the day, as NumPy has it
        case datetime.time() if (east := cell.utcoffset()) is not None:
            return f"{datetime.datetime.combine(ANY_DAY, cell.replace(tzinfo=None)) - east:%d %H:%M:%S.%f} UTC"
        case datetime.timedelta():
            whole = datetime.timedelta(cell.days, cell.seconds, cell.microseconds)
            return _length(whole, getattr(cell, "nanoseconds", 0))  # of pandas
        case tuple() | list():
            parts = [(one, repr(one) if isinstance(one, str) else _name(one)) for one in map(_plain, cell)]
            lost = any(name is None and one is not None for one, name in parts)
            return None if lost else f"({', '.join(str(name) for _, name in parts)})"
        case object(left=left, right=right, closed=str(closed)):  # an interval of pandas
            return f"{_name((left, right))} {closed}"
        case set() | frozenset() | dict() | range() | slice():
            return None  # equal ones may be written in several ways
        case _:
            return str(cell)


def _number(cell: Any) -> str | None:
    """The one text of a real number of whatever type; None of NaN, and of more digits than Python writes."""
    if isinstance(cell, int):
        return str(int.__index__(cell))
    if isinstance(cell, Decimal) and cell.is_finite() and abs(cell.adjusted()) > MOST_DIGITS:
        return None
    try:
        above, below = cell.as_integer_ratio()
    except OverflowError:
        return "inf" if cell > 0 else "-inf"
    if below == 1:
        return str(above)
    near = above / below
    if near.as_integer_ratio() == (above, below) or Decimal(repr(near)).as_integer_ratio() == (above, below):
        return repr(near)
    return f"{above}/{below}"
