"""Selection: the result of a SELECT, with the release that it is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.data.compression import bare
from reticent.sql.result import CHOSEN, SelectedRow, columns_of, listed, rows_of
from reticent.sql.statement import SelectStatement, read
from reticent.sql.syntax import TABLE

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.privacy.numbers import Number
    from reticent.study.release import Release


def is_select(text: object) -> bool:
    """True of text that begins as a statement of SQL does."""
    return isinstance(text, str) and text.lstrip("( \n\t").lower().startswith(("select", "with ", "with\n"))


def statement_of(text: str, schema: Schema, place: str) -> SelectStatement:
    """The statement of a text over a study, whose table is called ``study`` or by the name of its source."""
    stem = bare(Path(place)).stem if place else ""
    return read(text, schema, (TABLE, stem) if stem else (TABLE,))


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """Rows of released numbers, as a SELECT asked for them.

    ``frame()`` is a pyarrow table: the columns of the SELECT, each number with its ends as ``name_low`` and
    ``name_high``. ``no_reply`` names what got no reply in a row. Data frame libraries take a selection as it is.
    ``release`` has the answers, the certificate and the guarantee.
    """

    statement: SelectStatement
    rows: tuple[SelectedRow, ...]
    release: Release

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SelectedRow]:
        return iter(self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats of the rows, beside those of the release."""
        chosen = self.statement.having or self.statement.order or self.statement.limit is not None
        return (CHOSEN,) if chosen else ()

    def columns(self) -> dict[str, list[object]]:
        """The columns of the frame, as lists."""
        return columns_of(self.statement, self.rows)

    def frame(self) -> object:
        """A pyarrow Table of the rows."""
        import pyarrow as pa

        return pa.table(self.columns())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame().__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a Table has it

    def __repr__(self) -> str:
        return "\n".join((listed(self.statement, self.rows), *self.notes, repr(self.release)))

    def _repr_html_(self) -> str:
        from reticent.pages.markup import render

        return render("text", {"lines": [*listed(self.statement, self.rows).split("\n"), *self.notes]})


def selected(statement: SelectStatement, release: Release) -> Selection:
    """The rows of a statement, of the release of its questions."""
    return Selection(statement, rows_of(statement, {answer.name: answer for answer in release.answers}), release)


def cost_of(
    statement: SelectStatement, epsilon: Number | None, rho: Number | None, delta: Number | None
) -> tuple[Number | None, Number | None, Number | None]:
    """Epsilon, rho and delta: those given, and those that the statement names where none is."""
    if epsilon is None and rho is None:
        epsilon = statement.cost.get("epsilon")
    return epsilon, rho, statement.cost.get("delta") if delta is None else delta
