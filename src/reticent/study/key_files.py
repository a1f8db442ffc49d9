"""Public files of keys: ``by drug keys="drugs.csv"``, read when a question is understood, and not after the charge.

    KeyFolder.listed(place, columns, schema)    the combinations of keys that a file lists, with its digest
    note_planned(files)                         the digests that a plan was made with
    refuse_changed(files)                       a file that is another one now than when it was read, or planned with

The first line of a file names the columns of the groups; other columns are not looked at. The file is published: so it
must lie in the folder of the study, and be no table about people. That is known before it is opened, and no refusal
quotes it.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.data.expression_tree import MOST_CELLS
from reticent.data.format import nearest
from reticent.data.query import KeyFile
from reticent.data.schema import Category, Integer, Key, Schema
from reticent.data.source import identity_of
from reticent.errors import QuestionError, first_of
from reticent.ledger.fingerprint import refuse_public, source_at

if TYPE_CHECKING:
    from reticent.ledger.claim_file import Source as LedgerSource

LARGEST: Final = 1 << 24  # bytes
_PLANNED: Final[dict[str, str]] = {}  # digests that plans of this process were made with


@dataclass(frozen=True, slots=True)
class KeyFolder:
    """The folder of a study, with its sources about people: ``place`` is empty of a table in memory."""

    folder: Path
    place: str = ""
    further: tuple[LedgerSource, ...] = ()

    def listed(self, place: str, columns: Sequence[str], schema: Schema) -> tuple[tuple[tuple[Key, ...], ...], KeyFile]:
        """The combinations of keys that a file lists, in its order, with the file.

        Parameters
        ----------
        place : str
            Path of the file, relative to the folder.
        columns : sequence of str
            Of the groups; the first line of the file names them.
        schema : Schema
            Says what kind of keys a column has.

        Returns
        -------
        tuple of combinations and KeyFile

        Raises
        ------
        QuestionError, SpecError
            A file that is not there, lies elsewhere, is about people, is no table of these columns, or is too long.
        """
        file, content = self._content(place)
        return _cells(file, content, columns, schema), KeyFile(str(file), hashlib.sha256(content).hexdigest())

    def _content(self, place: str) -> tuple[Path, bytes]:
        root = self.folder.resolve()
        try:
            file = (root / place).resolve()
            inside = file.is_relative_to(root)
            if not inside or not file.is_file() or file.stat().st_size > LARGEST:
                listed = " Keys that nobody listed are keys=found." if nearest(place, ("found",)) else ""
                raise QuestionError(
                    f"{place} is no file of keys in the folder of the study, of at most 16 MiB.{listed} Nothing was "
                    "charged."
                )
            self._refuse_private(file)
            return file, file.read_bytes()
        except (OSError, ValueError):
            raise QuestionError(f"{place} cannot be read. Nothing was charged.") from None

    def _refuse_private(self, file: Path) -> None:
        main = [source_at(identity_of(self.place))] if self.place else []
        refuse_public({f"The file of keys {file.name}": file}, [*main, *self.further])


def _cells(file: Path, content: bytes, columns: Sequence[str], schema: Schema) -> tuple[tuple[Key, ...], ...]:
    try:
        lines = [*csv.reader(io.StringIO(content.decode("utf-8-sig")), strict=True)]
    except (UnicodeDecodeError, csv.Error):
        raise QuestionError(f"{file.name} is no table of keys: UTF-8 text with commas. Nothing was charged.") from None
    head, *rows = [line for line in lines if line] or [[]]
    if missing := [name for name in columns if head.count(name) != 1]:
        raise QuestionError(
            f"The first line of {file.name} names the columns of its keys: {first_of(missing)} stands there not once. "
            "Nothing was charged."
        )
    if not 1 <= len(rows) <= MOST_CELLS:
        raise QuestionError(f"{file.name} lists {len(rows):,} keys, and 1 to {MOST_CELLS:,} can be asked for.")
    places = [head.index(name) for name in columns]
    found = []
    for number, row in enumerate(rows, 2):
        where = f"Line {number} of {file.name}"
        if len(row) != len(head):
            raise QuestionError(f"{where} has another number of cells than the first. Nothing was charged.")
        found.append(tuple(_key(row[at], name, schema, where) for name, at in zip(columns, places, strict=True)))
    if len(set(found)) < len(found):
        raise QuestionError(f"{file.name} lists a key twice. Nothing was charged.")
    return tuple(found)


def _key(text: str, name: str, schema: Schema, where: str) -> Key:
    """A cell of the file as a key of its column."""
    declared = schema.columns.get(name)
    first: Key = declared.among[0] if isinstance(declared, Category) else 0 if isinstance(declared, Integer) else ""
    if isinstance(declared, Integer) and declared.calendar is not None:
        return text
    if isinstance(first, bool):
        known = {"true": True, "false": False}
        if text.lower() in known:
            return known[text.lower()]
    elif isinstance(first, int):
        try:
            return int(text)
        except ValueError:
            pass
    elif text:
        return text
    raise QuestionError(f"{where} lists what is no key of {name}. Nothing was charged.")


def note_planned(files: Iterable[KeyFile]) -> None:
    """Remember what the files of keys held when a plan was made."""
    _PLANNED.update({file.path: file.digest for file in files})


def refuse_changed(files: Iterable[KeyFile]) -> None:
    """Refuse a file of keys that holds something else now than when it was read, or when it was planned with.

    Raises
    ------
    QuestionError
    """
    for file in files:
        try:
            now = hashlib.sha256(Path(file.path).read_bytes()).hexdigest()
        except OSError:
            now = ""
        if not now == file.digest == _PLANNED.get(file.path, now):
            raise QuestionError(f"{file.name} has changed since it was planned with: plan again. Nothing was charged.")


__all__ = ["KeyFolder", "note_planned", "refuse_changed"]
