"""Selection: the result of a SELECT, with the release that it is computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from reticent.data.file_kinds import stem_of
from reticent.data.joins import inner
from reticent.outcome import Reply
from reticent.sql.output import GroupKey
from reticent.sql.result import CHOSEN, SelectedRow, Value, columns_of, heads_of, rows_of, texts_of
from reticent.sql.statement import SelectStatement, read
from reticent.sql.syntax import TABLE
from reticent.statistics.answer import Answer, Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reticent.certificate.render.figure import IntervalBar
    from reticent.data.schema import Schema
    from reticent.data.spec import Spec
    from reticent.privacy.numbers import Number
    from reticent.study.release import Release


def is_select(text: object) -> bool:
    """True of text that begins as a statement of SQL does."""
    return isinstance(text, str) and text.lstrip("( \n\t").lower().startswith(("select", "with ", "with\n"))


def statement_of(text: str, schema: Schema, place: str) -> SelectStatement:
    """The statement of a text over a study.

    Parameters
    ----------
    text : str
        The SELECT.
    schema : Schema
        Schema of the study.
    place : str
        Path of the rows, whose name may stand after FROM.

    Returns
    -------
    SelectStatement
        The statement.
    """
    return read(text, schema, names_of_table(place))


def joined_spec(spec: Spec, statement: SelectStatement) -> Spec:
    """The study of the rows that a statement joins: without those that its JOIN leaves out."""
    declared = spec.schema.tables
    chosen = [name for name, how in statement.joined.items() if how == "inner" != declared[name].join]
    return replace(spec, schema=inner(spec.schema, chosen)) if chosen else spec


def names_of_table(place: str) -> tuple[str, ...]:
    """The names of the table of a study: ``study``, and the name of its source."""
    stem = stem_of(place)
    return (TABLE, stem) if stem else (TABLE,)


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """Rows of released numbers, as a SELECT asked for them.

    ``frame()`` is a pyarrow table: the columns of the SELECT, each number with its ends as ``name_low`` and
    ``name_high``. ``no_reply`` names what got no reply in a row. Data frame libraries take a selection as it is.
    ``plot`` draws them. ``release`` has the answers, the certificate and the guarantee.
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

    def plot(self) -> Figure:
        """The rows as a figure: one panel for each number of the SELECT, as ``release.plot`` draws answers."""
        from reticent.certificate.render.figure import figure_of
        from reticent.certificate.render.panels import panels_of

        return figure_of(panels_of([*self._answers()], self.release.certificate.heading["columns"]))

    def _answers(self) -> Iterator[Answer]:
        """The numbers of each column, one cell a row."""
        for place, (name, _) in enumerate(self.statement.outputs):
            found = [(row.label, value) for row in self.rows if isinstance(value := row.values[place], Answer)]
            if found:
                cells = tuple(replace(value.cells[0], label=label) for label, value in found)
                yield replace(found[0][1], name=found[0][1].name or name, cells=cells)

    if not TYPE_CHECKING:  # a name that other libraries have says what it is called here

        def __getattr__(self, name: str) -> NoReturn:
            from reticent.habits import unknown

            raise unknown("selection", name)

    def __repr__(self) -> str:
        from reticent.certificate.render.listing import below

        again = filter(None, (self.release.given_again,))
        return "\n".join((*again, *_listed(self.statement, self.rows), *below(self.release.certificate, self.notes)))

    def _repr_html_(self) -> str:
        from reticent.certificate.render.page import notes_of
        from reticent.pages.markup import render
        from reticent.privacy.explain import sentence

        guarantee = self.release.guarantee
        return render(
            "selection_table",
            {
                "notes": (*filter(None, (self.release.given_again,)), *self.notes, *notes_of(self.release.certificate)),
                "heads": heads_of(self.statement, self.rows),
                "rows": _cells(self.statement, self.rows),
                "promise": sentence(guarantee.loss, guarantee.adjacency),
            },
        )


def _listed(statement: SelectStatement, rows: Sequence[SelectedRow]) -> Iterator[str]:
    """The rows as aligned text, as wide as a release is printed, and as many as it prints of one answer."""
    from reticent.certificate.render.cross import folded
    from reticent.certificate.render.listing import MOST, WIDTH

    table = [heads_of(statement, rows), *texts_of(statement, rows[:MOST])]
    keys = [isinstance(output, GroupKey) for _, output in statement.outputs]
    order = sorted(range(len(keys)), key=lambda place: not keys[place])  # names of groups first
    yield from folded([[row[place] for place in order] for row in table], sum(keys), WIDTH)
    if len(rows) > MOST:
        yield f"… {len(rows) - MOST:,} more: frame() has all"


def _cells(statement: SelectStatement, rows: Sequence[SelectedRow]) -> list[list[tuple[str, IntervalBar | None, bool]]]:
    """The text of each value, its bar on the axis of its column, and True of a key."""
    from reticent.certificate.render.figure import bar

    columns = []
    for place, (_, output) in enumerate(statement.outputs):
        values = [row.values[place] for row in rows]
        replies = [cell.outcome.value for cell in _answered(values) if isinstance(cell.outcome, Reply)]
        span = (min(e.low for e in replies), max(e.high for e in replies)) if replies else None
        bars = [bar(value.cells[0], span) if isinstance(value, Answer) else None for value in values]
        columns.append([(drawn, isinstance(output, GroupKey)) for drawn in bars])
    return [
        [(text, *column[place]) for text, column in zip(texts, columns, strict=True)]
        for place, texts in enumerate(texts_of(statement, rows))
    ]


def _answered(values: Sequence[Value]) -> list[Cell]:
    return [value.cells[0] for value in values if isinstance(value, Answer)]


def selected(statement: SelectStatement, release: Release) -> Selection:
    """The rows of a statement, of the release of its questions."""
    # by place: in a study with weights an answer is named by its weight too
    named = {ask.name: answer for ask, answer in zip(statement.asks, release.answers, strict=False)}
    return Selection(statement, rows_of(statement, named), release)


def cost_of(
    statement: SelectStatement, epsilon: Number | None, rho: Number | None, delta: Number | None
) -> tuple[Number | None, Number | None, Number | None]:
    """Epsilon, rho and delta: those given, and those that the statement names where none is.

    Parameters
    ----------
    statement : SelectStatement
        Statement with its options.
    epsilon, rho, delta : number or None
        Numbers that the caller gave; None for those of the statement.

    Returns
    -------
    tuple of number or None, number or None and number or None
        epsilon, rho and delta.
    """
    if epsilon is None and rho is None:
        epsilon = statement.cost.get("epsilon")
    return epsilon, rho, statement.cost.get("delta") if delta is None else delta
