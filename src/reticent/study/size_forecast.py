"""Forecast of a release, a fit or a session from the size of its file, for the curator's terminal alone.

Under add/remove the number of rows is private, and so are size, time and memory, and a refusal that depends on them.
An analyst is planned from declared people and rows. No row is read here: a CSV file has a size and a header line, and a
Parquet file a footer. Refused is a table whose kept rows alone, a sixth of their forecast, exceed the limits. So are
values to be sorted that exceed the free disk, and a timeout that is over before the file can be read. A timeout below
the forecast is told.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import TYPE_CHECKING, Final, Protocol

from reticent.data.file_kinds import TEXT, bare, kind_of
from reticent.data.files import parquet_files
from reticent.data.format import BYTES, is_there
from reticent.data.source import names_of
from reticent.errors import SpecError, warn
from reticent.privacy.numbers import two_digits
from reticent.study import cpu_time
from reticent.study.memory_forecast import (
    SORTED,
    STARTED,
    BroughtRecords,
    StoredCells,
    kept_in_engine,
    memory_of_release,
    most_of,
    put_aside,
    told_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyarrow.parquet import FileMetaData

    from reticent.data.format import Limits
    from reticent.data.schema import Schema
    from reticent.data.spec import Spec
    from reticent.study.allocation import PreparedRelease

    class StudyTerms(Protocol):
        """A study, as its size is forecast."""

        @property
        def spec(self) -> Spec: ...

        @property
        def schema(self) -> Schema: ...

        def _file(self) -> Path | None: ...


WRITTEN: Final = 7  # characters of a cell in a file of text, with the sign behind it
NAMED: Final = 4  # characters about the name of a cell in JSON lines
UNPACKED: Final = 4  # times the size of a compressed file
SURE: Final = 6  # rows that are kept took a quarter of what they take in a Parquet file
UNREAD: Final = 3  # rows of a file of text may be so many times fewer
ON_THE_LINE: Final = "--engine spill={}GB"  # of the command line
ELSEWHERE: Final = "Free room there, or name another folder as temp"
ALONE: Final = "Only this terminal is told, since the size may be private."


class TooLarge(SpecError):
    """Rows that cannot fit, or be read in time: only the terminal is told, and no ledger notes it."""


@dataclass(frozen=True, slots=True, repr=False)
class SizeForecast:
    """Forecast from the size of a file: bytes on the disk, rows, seconds of one processor, bytes of memory and of room.

    ``kept`` is the least that the engine has to keep of the rows. ``room`` is what the limits allow: memory, and
    temporary files, for which the disk has room where ``full`` is false. ``timed`` are the seconds that a timeout
    counts, of one processor. In less than ``least`` no machine reads the file. Both are 0 where few rows may do.
    ``aside`` is the least that a file of sorted values takes, and ``free`` what the disk has.
    """

    size: int
    rows: int
    seconds: float
    memory: int
    kept: int
    room: int
    full: bool = False
    timed: float = 0.0
    least: float = 0.0
    aside: int = 0
    free: int = 0

    @property
    def fits(self) -> bool:
        """False if rows that are kept need more than the limits allow, or values more than the disk has."""
        return self.kept <= self.room and self.aside <= self.free

    def words(self) -> str:
        """The forecast in two sentences."""
        took = f"{self.seconds:.1g}" if self.seconds < 10 else f"{two_digits(round(self.seconds)):,}"
        return (
            f"The file has {told_bytes(self.size)}, roughly {two_digits(self.rows):,} rows. They take roughly "
            f"{took} s of one processor, and {told_bytes(self.memory)} of memory and temporary files."
        )

    def late(self, timeout: float) -> str:
        """Words for a timeout below the forecast; empty for a longer one."""
        if timeout >= self.timed:
            return ""
        ends = "may end the release before its draw, and the charge then stays."
        if timeout < self.least:
            ends = "is over before they are read. Allow more. Nothing was charged."
        return f"{self.words()} A timeout of {timeout:g} s {ends} {ALONE}"

    def refusal(self, spelt: str = ON_THE_LINE) -> str:
        """Words for rows that do not fit, with what to do; ``spelt`` is the setting of more temporary files."""
        if self.kept <= self.room:
            return (
                f"{self.words()} Values have to be sorted in a temporary file of {told_bytes(self.aside)} or more, and "
                f"its disk has {told_bytes(self.free)}. {ELSEWHERE}. Nothing was charged. {ALONE}"
            )
        enough = -(-SURE * self.kept // BYTES["GB"])
        where, instead = "spill allow", f"Raise them: {spelt.format(enough)}"
        if self.full:
            where, instead = "the disk of temporary files leave", ELSEWHERE
        return (
            f"{self.words()} The engine has to keep {told_bytes(self.kept)} of them or more, and [engine] memory and "
            f"{where} it {told_bytes(self.room)}. {instead}. Nothing was charged. {ALONE}"
        )

    def __repr__(self) -> str:
        return "<private size of a file>"


def size_forecast(
    study: StudyTerms, asked: PreparedRelease | BroughtRecords | None, limits: Limits | None = None
) -> SizeForecast | None:
    """The forecast of what is asked of a file, from its size.

    Parameters
    ----------
    study : Study
    asked : PreparedRelease, BroughtRecords or None
        What is to be read, as a plan keeps it; None of a plan that was saved.
    limits : Limits, optional
        Memory and temporary files that it may use; by default those of the study.

    Returns
    -------
    SizeForecast or None
        None for rows in memory, in a database, on a cluster or in a workbook.

    Raises
    ------
    SpecError
        The header line of the file cannot be read.
    """
    if asked is None or (found := _size_and_rows(study)) is None:
        return None
    limits = limits or study.spec.limits
    schema, (size, rows, stored) = study.schema, found
    if isinstance(asked, BroughtRecords):
        seconds, timed, least = asked.seconds_of(schema, study._file(), rows), 0.0, 0.0  # a release alone has a timeout
        aside = 0
        memory, kept = asked.memory_of(schema, rows, stored), asked.kept(schema, rows, stored)
    else:
        columns, person = len(asked.columns_asked(schema)), schema.person
        seconds = cpu_time.of_release(asked.all_steps, study._file(), columns, rows, person)
        memory = memory_of_release(asked, schema, rows, stored)
        new = 0 if limits.partitions else rows  # counts of folders may be kept
        timed = cpu_time.of_rows(asked.all_steps, study._file(), columns, new, person)
        least = cpu_time.of_reading(study._file(), columns + (person.column is not None), new) / (
            limits.threads or os.cpu_count() or 1
        )
        kept, aside = kept_in_engine(asked, schema, new, stored), put_aside(asked, schema, new, stored)
    sure, (room, free) = SURE if stored else SURE * UNREAD, _room(limits)
    kept, full = kept // sure, room < min(limits.room, kept // sure)
    return SizeForecast(size, rows, seconds, memory, kept, room, full, timed, least / sure, aside // sure, free)


def _room(limits: Limits) -> tuple[int, int]:
    """Bytes of memory and temporary files together that the limits allow and the disk has, and of that disk."""
    try:
        free = disk_usage(limits.temp or gettempdir()).free
    except OSError:  # of a folder that is not there, which is refused in other words
        return limits.room, sys.maxsize
    return min(limits.room, limits.memory_bytes + free), free


def refuse_too_large(
    study: StudyTerms, planned: Callable[[], PreparedRelease | BroughtRecords | None], limits: Limits, spelt: str
) -> None:
    """Refuse what cannot fit, or be read in time, before its charge; warn of a timeout below the forecast.

    Only what the terminal of the curator alone is told may call it.

    Parameters
    ----------
    study : Study
    planned : function
        Gives what is to be read; it is called for a file that may be too large, or under a timeout.
    limits : Limits
        Memory, temporary files and time that it may use.
    spelt : str
        Setting of more temporary files, as it is written at that door.

    Raises
    ------
    TooLarge
        The rows that the engine keeps need more memory and temporary files than the limits allow, or more time than
        the timeout.
    """
    if limits.timeout is None and is_small(study, limits):
        return
    found = size_forecast(study, planned(), limits)
    if found is None:
        return
    if not found.fits:
        raise TooLarge(found.refusal(spelt))
    if limits.timeout is None or not (late := found.late(limits.timeout)):
        return
    if limits.timeout < found.least:
        raise TooLarge(late)
    warn(late)


def is_small(study: StudyTerms, limits: Limits) -> bool:
    """True if the file fits whatever is asked of its columns, or if its rows cannot be told: no plan is needed."""
    found = _size_and_rows(study)
    if found is None:
        return True
    room, free = _room(limits)
    return most_of(study.schema, found[1]) - STARTED <= SURE * room and SORTED * found[1] <= SURE * free


def _size_and_rows(study: StudyTerms) -> tuple[int, int, dict[str, StoredCells]] | None:
    """Size of a file, its rows, and bytes of its cells where a footer has them."""
    path = study._file()
    if path is None or not is_there(path) or (kind := kind_of(path)) not in (*TEXT, "parquet"):
        return None
    files = parquet_files(path)
    try:
        size = sum(file.stat().st_size for file in files)
        if kind == "parquet":
            from pyarrow import parquet

            footers = [parquet.read_metadata(file) for file in files]
            rows = sum(footer.num_rows for footer in footers)
            return size, rows, _stored_cells(footers, max(rows, 1))
    except (OSError, ValueError):  # a footer that is none, which opening refuses in words
        return None
    unpacked = UNPACKED if bare(path).suffix != path.suffix else 1
    return size, unpacked * size // _characters(files[0], kind, study.spec), {}


def _stored_cells(footers: Sequence[FileMetaData], rows: int) -> dict[str, StoredCells]:
    """Bytes of the cells of each column on average, from the footers of files of the same columns."""
    found = dict[str, StoredCells]()
    for place in range(min(footer.num_columns for footer in footers)):
        parts = [footer.row_group(nth).column(place) for footer in footers for nth in range(footer.num_row_groups)]
        short, plain = (
            sum(part.total_compressed_size for part in parts) / rows,
            sum(part.total_uncompressed_size for part in parts) / rows,
        )
        one = footers[0].schema.column(place)
        found[one.path] = StoredCells(short, plain, one.physical_type == "BYTE_ARRAY")
    return found


def _characters(file: Path, kind: str, spec: Spec) -> int:
    """Characters of a row, by the number of its columns."""
    if kind == "json lines":
        return sum(len(name) + NAMED + WRITTEN for name in spec.schema.cells) or WRITTEN

    names = names_of(file, delimiter=spec.delimiter, encoding=spec.schema.format.encoding)
    return WRITTEN * max(len(names), len(spec.schema.stored), 1)
