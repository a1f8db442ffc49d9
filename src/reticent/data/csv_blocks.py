"""Blocks of a CSV file: whole lines, for a vectorised reader where they are plain, else for that of records.

    CsvBlocks.block()          about a mebibyte of whole lines
    plain_columns(block)    its columns, or None where it is not plain
    CsvBlocks.give, readline   the block as lines of text, and the lines after it, for the reader of records

A block is plain if it is UTF-8 without a quote, a NUL, or a carriage return that stands alone. Each of its lines has
the same number of cells, none of them too long. Then both readers agree, since there is nothing to disagree on. The
vectorised one is Arrow's, with quotes and guesses off.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    import pyarrow as pa

SIZE: Final = 1 << 20  # bytes
MARK: Final = codecs.BOM_UTF8


class CsvBlocks:
    """A stream of UTF-8 bytes as blocks of whole lines, or line by line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        self._text, self._left = io.StringIO(""), 0
        self._begun = False
        self.cut = False  # True if the last block ends inside a line

    def block(self) -> bytes:
        """The next whole lines; at the end, or in a line longer than a block, what there is. Empty at the end."""
        piece = self._stream.read(SIZE)
        if not self._begun and piece:
            self._begun, piece = True, piece.removeprefix(MARK)
        found = self._rest + piece
        stop = found.rfind(b"\n") + 1 if piece else 0
        self._rest = found[stop:] if stop else b""
        self.cut = bool(piece) and not stop
        return found[:stop] if stop else found

    def give(self, block: bytes) -> None:
        """Let the lines of a block be read one by one."""
        text = self._decoder.decode(block)
        self._text, self._left = io.StringIO(text, newline=""), len(text)

    def take(self) -> bytes:
        """The lines that were given and not read yet, as a block again."""
        text, self._left = self._text.read(), 0
        return text.encode("utf-8", "surrogateescape")

    @property
    def dry(self) -> bool:
        """True if every line that was given is read, and no part of a character waits for the rest of it."""
        return not self._left and not self._decoder.getstate()[0]

    def readline(self, most: int) -> str:
        """The next line with its end, or ``most`` characters of it; of further blocks behind the one given."""
        line = self._read(most)
        while len(line) < most and not line.endswith(("\n", "\r")):
            block = self.block()
            if not block:
                return line + self._decoder.decode(b"", True)
            self.give(block)
            line += self._read(most - len(line))
        return line

    def _read(self, most: int) -> str:
        line = self._text.readline(most)
        self._left -= len(line)
        return line


def plain_columns(
    block: bytes, delimiter: str, width: int, places: Sequence[int], longest: int
) -> list[pa.Array] | None:
    """Columns of a plain block as texts, empty cells missing; None where the block is not plain.

    Parameters
    ----------
    block : bytes
        Whole lines.
    delimiter : str
    width : int
        Number of cells in a line.
    places : sequence of int
        The columns wanted; where there is none, the first one tells the number of rows.
    longest : int
        Most bytes of a cell.

    Returns
    -------
    list of Array, or None
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    if not delimiter.isascii() or b'"' in block or b"\0" in block or block.startswith(MARK):
        return None
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        return None
    names = [f"c{place}" for place in range(width)]
    wanted = [names[place] for place in places] or names[:1]
    try:
        block.isascii() or block.decode()
        table = csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
            csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False, escape_char=False),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):  # lines of different lengths, or odd bytes
        return None
    columns = [table.column(name).combine_chunks() for name in wanted]
    if any((pc.max(pc.binary_length(column)).as_py() or 0) > longest for column in columns):
        return None
    return columns
