"""Arrays, lists and frames a caller holds: their types, and their cells one at a time. Private ones: ``held``.

    table(x), column(y, rows)     rows and a target that are public; refused by shape and type, in words without a cell
    array(x, name)                what has a type for all its cells as an array; refused by its type
    cells(raw)                    numbers, one cell at a time; what is none is missing
    labels(raw), plain(value)     targets, one cell at a time; what is no plain value is missing

Lists have no type of their own, and the one that NumPy finds for them looks at every cell: one text among numbers would
turn all of them into text, so that one person's row changed what is read of the others. Their cells stay as they are.
So it is with whatever else has an order and is no array. A cell is asked for its type alone: what else it says of
itself is code of the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from reticent.errors import Refusal, warn
from reticent.statistics.scaling import Floats

NUMBERS: Final = "biuf"
TAKEN: Final = f"{NUMBERS}OUST"  # kinds of NumPy's types: numbers, any objects, texts
PLAIN: Final = frozenset({bool, int, float, str, bytes, date})  # whose comparisons never fail


def table(x: object) -> NDArray[np.generic]:
    """A table of shape (n, columns), n >= 1, of whatever type; its cells are not looked at.

    Raises
    ------
    TypeError, ValueError
        As scikit-learn does for sparse, complex or ragged tables and wrong shapes.
    """
    if hasattr(x, "toarray"):
        raise TypeError("Sparse rows are not supported: pass X.toarray()")
    raw = array(x, "X")
    if raw.ndim != 2:
        raise ValueError(f"Expected 2D array, got {raw.ndim}D array instead. Reshape your data.")
    if raw.shape[1] < 1:
        raise ValueError(
            f"Found array with {raw.shape[1]} feature(s) (shape={raw.shape}) while a minimum of 1 is required."
        )
    if raw.shape[0] < 1:
        raise ValueError(f"Found array with 0 sample(s) (shape={raw.shape}) while a minimum of 1 is required.")
    return raw


def column(y: object, rows: int) -> NDArray[np.generic]:
    """One value for each row, of whatever type.

    Raises
    ------
    TypeError, ValueError
        As ``table``.
    """
    found = array(y, "y")
    if found.ndim == 2 and found.shape[1] == 1:
        warn_of_column()
        found = found[:, 0]
    if found.ndim != 1 or len(found) != rows:
        raise ValueError(f"y should be a 1d array with one value for each row, got shape {found.shape}")
    return found


def cells(raw: NDArray[np.generic]) -> Floats:
    """Numbers of the same shape; NaN for what is none."""
    if raw.dtype.kind in NUMBERS:
        with np.errstate(all="ignore"):  # a wide number that overflows a double would be told
            return np.asarray(raw, np.float64)
    return np.array([_number(value) for value in raw.ravel().tolist()], np.float64).reshape(raw.shape)


def labels(raw: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values that can be compared with declared labels, and whose comparison runs no code of the caller's."""
    if raw.dtype.kind in f"{NUMBERS}US":
        return raw
    found = np.empty(len(raw), object)
    found[:] = [plain(value) for value in raw.tolist()]
    return found


def array(x: object, name: str) -> NDArray[np.generic]:
    """``x`` as an array, in its own type if it has one."""
    found: NDArray[np.generic] | None
    try:
        found = np.asarray(x) if is_typed(x) else _listed(x)
        if isinstance(x, np.ma.MaskedArray):  # a masked cell is missing, whatever lies under the mask
            objects = np.array(found, object)
            objects[np.ma.getmaskarray(x)] = None
            found = objects
    except (Refusal, RaggedRows):
        raise
    except Exception:  # its text may quote a cell
        found = None
    if found is None:
        raise TypeError(f"{name} could not be read as an array. Nothing was charged.")
    if found.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if found.dtype.kind not in TAKEN:
        raise TypeError(f"{name} holds numbers or text, got an array of {found.dtype}. Nothing was charged.")
    return found


class RaggedRows(ValueError):
    """Some rows are lists and others are none, or of another length."""


def is_typed(x: object) -> bool:
    """Tell if ``x`` has one type for all its cells: an array, a frame or another object that shares its memory."""
    if any(hasattr(x, name) for name in ("__array__", "__array_interface__", "__array_struct__")):
        return True
    try:
        memoryview(x)  # type: ignore[arg-type]  # whether it is one is the question
    except TypeError:
        return not hasattr(x, "__len__") or isinstance(x, str)
    return True


def _listed(x: object) -> NDArray[np.generic]:
    """The cells of a list, or of a list of rows of one length, as the objects they are."""
    every = list(x)  # type: ignore[call-overload]  # it has a length, and whatever cannot be read is refused
    rows = [row for row in every if is_row(row)]
    if not rows:
        return np.fromiter(every, object, len(every))
    width = len(rows[0])
    if len(rows) < len(every) or any(len(row) != width for row in rows):
        raise RaggedRows("Every row must be a list of one length, or none may be. Nothing was charged.")
    return np.fromiter((cell for row in rows for cell in row), object, len(every) * width).reshape(len(every), width)


def is_row(cell: object) -> TypeGuard[Sequence[object]]:
    """Tell if a cell is a row of cells, by its type."""
    kind = type(cell)
    if issubclass(kind, np.ndarray):
        return np.ndarray.ndim.__get__(cell) == 1  # type: ignore[no-any-return]
    return issubclass(kind, Sequence) and not issubclass(kind, str | bytes)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # whatever cannot be read is missing
    except Exception:  # an object may fail in any way, and that it does would be told
        return np.nan


def plain(value: object) -> object:
    """The value in a type of Python's own, whose comparisons are Python's; None where it has none, or fails."""
    kind = type(value)
    if any(kind is one for one in PLAIN):  # a type may say that it equals another
        return value
    try:
        if isinstance(value, str) and issubclass(kind, str):
            return str.__str__(value)
        if isinstance(value, float) and issubclass(kind, float):
            return float.__float__(value)
        if isinstance(value, int) and issubclass(kind, int):
            return int.__index__(value)
        if isinstance(value, Fraction) and issubclass(kind, Fraction):
            return Fraction(int.__index__(value.numerator), int.__index__(value.denominator))
        if isinstance(value, np.integer) and issubclass(kind, np.integer):
            return int(value)
        if issubclass(kind, np.bool_):
            return bool(value)
    except Exception:  # an object may fail in any way, and that it does would be told
        return None
    return _number(value) if issubclass(kind, np.number | Decimal) else None


def warn_of_column() -> None:
    """scikit-learn's warning, where it is installed."""
    text = "A column-vector y was passed when a 1d array was expected."
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        warn(text)
    else:
        warn(text, DataConversionWarning)


__all__ = ["array", "cells", "column", "is_row", "is_typed", "labels", "plain", "table", "warn_of_column"]
