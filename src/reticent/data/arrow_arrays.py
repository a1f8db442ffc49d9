"""Arrow arrays from numbers and texts, and numbers from Arrow, by their buffers.

``pa.array`` and ``to_numpy`` import pandas where it is installed, to ask if a value is one of its own. That takes a
fifth of a second and 35 MB of the first release of a process, which reads no pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

MOST_BYTES = (1 << 31) - 1  # of the texts of one array


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
