"""Answers, plans and fields as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from reticent.cli.output import PIPED, clean
from reticent.cli.table import GAP, TextTable, fold, size
from reticent.data.format import plain
from reticent.outcome import NoReply, Reply, decimals, number
from reticent.statistics.answer import HALVES, LEVEL, group_words, head_level, printed

if TYPE_CHECKING:
    from reticent.statistics.answer import Answer, Cell
    from reticent.study.selection import Selection

HOW_PROBABLE: Final = "How probable a reply is, plan says beforehand: --people N. See: reticent explain no-reply"
ASK_WHY: Final = f"It could not be shown that no one person matters. {HOW_PROBABLE}"
NAME: Final = 24  # characters of a name beside numbers, however wide these are
AGAIN: Final = "Asking again is a new release and is charged again. A reply is likelier with"

Truth = Mapping[str, Sequence[float | None]]  # by answer, one number for each cell


def fields(pairs: Iterable[tuple[str, str]], *, style: str = "dim") -> TextTable:
    """A word and its text on each line; a long text hangs beside its word."""
    return TextTable(tuple((clean(word), clean(text)) for word, text in pairs), folded=frozenset([1]), first=style)


def under(word: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Texts that share one word: it stands beside the first of them."""
    return [("" if place else word, text) for place, text in enumerate(texts)]


def columns(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int],
    wrap: Iterable[int],
    ranges: Iterable[int] = (),
) -> TextTable:
    """A table without rules; the columns in ``wrap`` give way when the terminal is narrow.

    Parameters
    ----------
    heads : sequence of str
        Head of each column.
    rows : iterable of sequence of str
        Cells of each row, in the order of the heads.
    right : iterable of int
        Places of the columns that are aligned to the right.
    wrap : iterable of int
        Places of the columns that are broken into lines.
    ranges : iterable of int
        Places of those that are broken at blanks alone, where a line would be too long.

    Returns
    -------
    TextTable
        The table, for ``Voice.out``.
    """
    return TextTable(
        tuple(tuple(map(plain, row)) for row in rows),
        folded=frozenset(wrap),
        heads=tuple(heads),
        right=frozenset(right),
        ranges=frozenset(ranges),
        head="dim",
    )


def answers(
    found: Iterable[Answer], truth: Truth | None = None, *, called: Mapping[str, str] | None = None
) -> TextTable:
    """One line for each number: value, interval, and the parts due to noise and to sampling.

    ``called`` has the labels of columns, which stand before the keys of groups.

    Parameters
    ----------
    found : iterable of Answer
        Answers of a release, in order.
    truth : Truth, optional
        True answers of made-up rows, shown beside; None for rows of people.
    called : mapping of str to str, optional
        Labels of columns, by name.

    Returns
    -------
    TextTable
        One row for each number, and a head row for each answer of several.
    """
    listed = list(found)
    level = head_level(listed)
    heads = ["statistic", "answer", f"{100 * level:g} % interval", "noise", "sampling"]
    rows: list[list[str]] = []
    for answer in listed:
        known = None if truth is None else truth[answer.name]
        single = len(answer.cells) == 1 and not answer.cells[0].label
        if not single:
            rows.append([answer.name])
        for place, cell in enumerate(answer.shown):
            name = answer.name if single else f"  {group_words(answer, cell, called or {}) or 'total'}"
            row = [name, *numbers(cell, bare=answer.bare, level=level)]
            rows.append(row if known is None else [*row, _true(known[place], cell)])
    if truth is not None:
        heads.append("truth")
    over = (HALVES if head == "noise" else "" for head in heads)
    heads = [*map("\n".join, zip(over, heads, strict=True))]
    return columns(heads, _beside(heads, rows), right=range(1, 6), wrap=[0])


def _beside(heads: Sequence[str], rows: Sequence[list[str]]) -> Iterator[list[str]]:
    """Rows whose names leave room for the numbers; a longer name stands above them, folded once."""
    wide = [max(size(row[place]) for row in [heads, *rows] if place < len(row)) for place in range(1, len(heads))]
    room = max(PIPED - sum(wide) - GAP * len(wide), NAME)
    for row in rows:
        if len(row) == 1 or size(plain(row[0])) > room:
            yield from ([line] for line in fold(plain(row[0]), PIPED, hanging=True))
            row = ["", *row[1:]]
        if len(row) > 1:
            yield row


def selection(found: Selection) -> TextTable:
    """The rows of a SELECT, each number with its interval."""
    from reticent.sql.output import GroupKey
    from reticent.sql.result import heads_of, texts_of

    outputs = found.statement.outputs
    right = (place for place, (_, output) in enumerate(outputs) if not isinstance(output, GroupKey))
    return columns(heads_of(found.statement, found.rows), texts_of(found.statement, found.rows), right=right, wrap=[0])


def numbers(cell: Cell, *, bare: bool = False, level: float = LEVEL) -> tuple[str, str, str, str]:
    """Value, interval, noise and sampling as text; see ``printed``.

    Parameters
    ----------
    cell : Cell
        The cell.
    bare : bool
        Its interval holds nothing beside the number.
    level : float
        Level that the head of the table names.

    Returns
    -------
    tuple of str
    """
    text = printed(cell, bare=bare, level=level)
    if text is None:
        return "no reply", "", "", ""
    return text.value, text.interval, text.noise, text.sampling


def _true(value: float | None, cell: Cell) -> str:
    if value is None:
        return "–"
    match cell.outcome:
        case Reply(estimate):
            return number(value, decimals(estimate)).replace("," if estimate.years else "", "")
        case NoReply():
            return number(value)
        case _:
            assert_never(cell.outcome)
