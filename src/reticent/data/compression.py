"""Compression of CSV files: plain, ``.gz`` or ``.zst``, told by the last ending of the name.

    text_of(path, encoding)     (stream of text, the file below it, whose place tells how much was read)
    bytes_of(path)              the same of bytes
    bare(path)                  visits.csv.gz -> visits.csv

A file is decompressed as it is read, and never written out. One that is damaged or cut short makes its reader fail:
a part of a table would pass for the whole of it.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, Final, cast

from reticent.data.format import codec, in_database, in_spark

ENDINGS: Final = (".gz", ".zst")
DAMAGED: Final = (OSError, EOFError, zlib.error)


def bare(path: Path) -> Path:
    """The path without the ending that says how it is compressed."""
    return path.with_suffix("") if path.suffix.lower() in ENDINGS else path


def text_of(path: Path, encoding: str) -> tuple[io.TextIOWrapper, BinaryIO]:
    """The text of a file, line ends and undecodable bytes kept, and the file that it is read from.

    Raises
    ------
    OSError
        When it cannot be opened. Whoever reads on meets one of ``DAMAGED`` where the compression is broken.
    """
    found, below = bytes_of(path)
    # a bad byte is a cell that cannot be read, and no error: that would be a message about rows
    return io.TextIOWrapper(found, encoding=codec(encoding), errors="surrogateescape", newline=""), below


def bytes_of(path: Path) -> tuple[BinaryIO, BinaryIO]:
    """The bytes of a file without its compression, and the file that they are read from.

    Raises
    ------
    OSError
        When it cannot be opened.
    """
    below = open(path, "rb")  # noqa: SIM115 - closed with the stream above it, or by the caller
    found: BinaryIO = below
    if path.suffix.lower() == ".gz":
        found = cast(BinaryIO, gzip.GzipFile(fileobj=below, mode="rb"))  # its stub is no BinaryIO, and it reads as one
    elif path.suffix.lower() == ".zst":
        import pyarrow as pa

        found = pa.CompressedInputStream(below, "zstd")
    return found, below


def stem_of(place: str) -> str:
    """The name of a source without ending or schema, as SQL and file names use it; empty of a table in memory."""
    if not in_database(place):
        return bare(Path(place)).stem if place else ""
    if in_spark(place):
        return place.rpartition(".")[2]
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(place).query).get("table", [""])[0].rpartition(".")[2].strip('"')
