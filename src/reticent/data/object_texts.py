"""Texts of Python objects: cells of lists, and of columns of objects of pandas or NumPy.

    texts_of_objects(cells)     a column of texts, by which cells are read as numbers, dates or keys
    names_of_objects(cells)     the same of a column that names persons, households, or rows of another table

A name says who a row belongs to. So cells which Python counts as equal have one text, whatever their types: 12, 12.0
and Decimal("12.00"), a time and the same time in another zone. Else one person could have the rows of two. Truth values
are words in every source, and no numbers.

An object may fail to have a text: an integer of more digits than Python writes, a list nested too deeply, a class
whose ``__str__`` raises. Whatever the reason, it is one missing cell.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Complex
from typing import TYPE_CHECKING, Any, Final

from reticent.data.columns import is_utf8, texts
from reticent.data.format import cell_text, exact

if TYPE_CHECKING:
    import pyarrow as pa

ABSENT: Final = frozenset({"NAType", "NaTType"})
MOST_DIGITS: Final = 4300  # of an integer that Python writes


def texts_of_objects(cells: Sequence[object]) -> pa.Array:
    """The texts of cells."""
    return _column(cells, cell_text)


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

    if isinstance(cell, np.datetime64 | np.timedelta64) and not isinstance(
        cell.item(), datetime.date | datetime.timedelta | None
    ):
        kind = "M" if isinstance(cell, np.datetime64) else "m"
        cell = cell.astype(f"{kind}8[us]")  # of nanoseconds, which Python's own times lack
    if isinstance(cell, np.generic) or (isinstance(cell, np.ndarray) and cell.ndim == 0):
        cell = cell.item()
    elif type(cell).__module__ == "pyarrow.lib" and hasattr(cell, "as_py"):
        cell = cell.as_py()
    if isinstance(cell, str):
        return exact(cell)
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell).decode()
    return None if type(cell).__name__ in ABSENT else cell


def _name(cell: Any) -> str | None:
    """The one text of all cells that are equal to this one."""
    match cell:
        case None | str() | bool():
            return cell_text(cell)
        case Complex(imag=0) | Decimal():
            return _number(cell if isinstance(cell, Decimal) else cell.real)
        case datetime.datetime():
            moment = cell if cell.tzinfo is None else cell.astimezone(datetime.UTC)
            return str(moment).removesuffix(" 00:00:00")  # midnight is the day, as NumPy has it
        case datetime.timedelta():
            rest = getattr(cell, "nanoseconds", 0)  # of pandas
            return f"{datetime.timedelta(cell.days, cell.seconds, cell.microseconds)}{f' {rest} ns' * bool(rest)}"
        case tuple() | list():
            parts = [repr(one) if isinstance(one, str) else _name(one) for one in map(_plain, cell)]
            return f"({', '.join(map(str, parts))})"
        case set() | frozenset() | dict():
            return None  # equal ones may be written in different orders
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
