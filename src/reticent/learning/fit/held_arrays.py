"""Private arrays and lists before and after the charge: their types first, their cells once they are paid for.

    held(x, y, columns, size)   what is public of both; refused by type and number of columns alone
    CallerArrays.read()         the cells, one by one: whatever is no cell of a row is missing there and nowhere else

Before the charge only type, dimensions and the number of columns of an array are known; of a list only that it is one:
how long it is, and what stands in it, is its rows' business. So a list, and an array of objects with one dimension, is
as wide as the bounds say. Where the number of rows is public it is known too. So a row of another length, a label that
is a list or a target too short never makes a refusal: the first two are missing, and the last is found after the
charge, where all that fails is one opaque fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.learning.fit.array_check import array, cells, is_row, is_typed, labels, warn_of_column
from reticent.statistics.scaling import Floats

Size: TypeAlias = Literal["public", "private"]
Read: TypeAlias = tuple[Floats, NDArray[np.generic] | None]
ONE_EACH: Final = "y should be a 1d array with one value for each row"
UNSAID: Final = (
    "In a list the rows alone say how many columns there are, and they are private. Name one pair of bounds for each "
    "column, bounds=[(low, high), ...], or hand an array. Nothing was charged."
)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CallerArrays:
    """A table and a target a caller holds.

    Attributes
    ----------
    columns : int
        Of X, public.
    rows : int or None
        The number of rows, where it is public.
    read : function
        X as numbers and y as labels; called after the charge.
    """

    columns: int
    rows: int | None
    read: Callable[[], Read]


def held(x: object, y: object | None, columns: int | None, size: Size) -> CallerArrays:
    """Public facts of a table, and of a target if there is one.

    Parameters
    ----------
    x : array, frame or list of rows
    y : array or list, optional
    columns : int, optional
        How many there are, where bounds say so. A list needs them: the length of its rows is private.
    size : "public" or "private"
        Of the number of rows.

    Returns
    -------
    CallerArrays
        The arrays, with what is public of them.

    Raises
    ------
    PublicParameterError
        For any list where bounds do not say how many columns there are.
    TypeError, ValueError
        As scikit-learn does, by types, dimensions and the number of columns; by the number of rows where it is public.
    """
    if hasattr(x, "toarray"):
        raise TypeError("Sparse rows are not supported: pass X.toarray()")
    table = _typed_table(x, size) if is_typed(x) else _items(x, "X")
    if isinstance(table, np.ndarray) and table.ndim == 2:
        width = table.shape[1]
    elif columns:
        width = columns
    else:
        raise PublicParameterError(UNSAID)
    target = None if y is None else targets(y)
    known = None
    if size == "public":
        known = len(table)
        if target is not None and len(target) != known:
            raise ValueError(f"{ONE_EACH}, got shape {target.shape}")

    def read() -> Read:
        raw = table if isinstance(table, np.ndarray) and table.ndim == 2 else _rows(list(table), width)
        if target is not None and len(target) != len(raw):
            raise ValueError(ONE_EACH)
        return cells(raw), None if target is None else labels(target)

    return CallerArrays(width, known, read)


def _typed_table(x: object, size: Size) -> NDArray[np.generic]:
    """An array or a frame, by its type: of two dimensions, or of one if its cells are objects, which may be rows."""
    raw = array(x, "X")
    if raw.ndim == 1 and raw.dtype.kind == "O":
        return raw
    if raw.ndim != 2:
        raise ValueError(f"Expected 2D array, got {raw.ndim}D array instead. Reshape your data.")
    if raw.shape[1] < 1:
        shape = f" (shape={raw.shape})" if size == "public" else ""
        raise ValueError(f"Found array with 0 feature(s){shape} while a minimum of 1 is required.")
    return raw


def _items(x: object, name: str) -> Sequence[object]:
    """Cells of a list, as the objects they are."""
    found: Sequence[object] | None
    try:
        found = tuple(x)  # type: ignore[arg-type]  # it has a length, and whatever cannot be read is refused
    except Exception:  # its text may quote a cell
        found = None
    if found is None:
        raise TypeError(f"{name} could not be read as an array. Nothing was charged.")
    return found


def _rows(rows: Sequence[object], width: int) -> NDArray[np.generic]:
    """The cells of a list of rows; a row of another length, or what is none, is missing throughout."""
    absent = [None] * width
    found = (row if row is not None and len(row) == width else absent for row in map(_listed, rows))
    return np.fromiter((cell for row in found for cell in row), object, len(rows) * width).reshape(len(rows), width)


def targets(y: object) -> NDArray[np.generic]:
    """One value for each row; of a list each by itself: a list of one value is that value, and any other is missing."""
    if not is_typed(y):
        every = _items(y, "y")
        return np.fromiter((_one(cell) for cell in every), object, len(every))
    found = array(y, "y")
    if found.ndim == 2 and found.shape[1] == 1:
        warn_of_column()
        return np.asarray(found[:, 0])
    if found.ndim != 1:
        raise ValueError(f"{ONE_EACH}, got an array of {found.ndim} dimensions")
    return found


def _one(cell: object) -> object:
    if not is_row(cell):
        return cell
    row = _listed(cell)
    return row[0] if row is not None and len(row) == 1 else None


def _listed(row: object) -> list[object] | None:
    """The cells of a row; None for what is no row, or fails when it is asked for them."""
    try:
        return list(row) if is_row(row) else None
    except Exception:  # a sequence of the caller's own may fail in any way, and that it does would be told
        return None


__all__ = ["CallerArrays", "Size", "held", "targets"]
