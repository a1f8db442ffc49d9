"""Answers, plans and fields as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from reticent.cli.output import clean
from reticent.data.format import plain
from reticent.outcome import NoReply, Reply, decimals, number, shown

if TYPE_CHECKING:
    from rich.table import Table

    from reticent.statistics.answer import Answer, Cell

ASK_WHY: Final = "It could not be shown that no one person matters. See: reticent explain no-reply"
AGAIN: Final = (
    "Asking again is a new release and is charged again. Bounds known without the file, or a larger ε or δ, help more "
    "than asking twice."
)

Truth = Mapping[str, Sequence[float | None]]  # by answer, one number for each cell


def fields(pairs: Iterable[tuple[str, str]], *, style: str = "dim") -> Table:
    """A word and its text on each line; a long text hangs beside its word."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column(overflow="fold")
    for word, text in pairs:
        grid.add_row(Text(clean(word)), Text(clean(text)))
    return grid


def under(word: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Texts that share one word: it stands beside the first of them."""
    return [("" if place else word, text) for place, text in enumerate(texts)]


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int], wrap: Iterable[int]) -> Table:
    """A table without rules; the columns in ``wrap`` give way when the terminal is narrow."""
    from rich.table import Table
    from rich.text import Text

    right, wrap = set(right), set(wrap)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(
            Text(head),
            justify="right" if place in right else "left",
            no_wrap=place not in wrap,
            overflow="fold" if place in wrap else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(plain(text)) for text in row))
    return table


def answers(found: Iterable[Answer], truth: Truth | None = None) -> Table:
    """One line for each number: value, interval, and the parts due to noise and to sampling."""
    listed = list(found)
    heads = ["statistic", "answer", f"{_level(listed)} interval", "± noise", "± sampling"]
    rows: list[list[str]] = []
    for answer in listed:
        known = None if truth is None else truth[answer.name]
        plain = len(answer.cells) == 1 and not answer.cells[0].label
        if not plain:
            rows.append([answer.name])
        for place, cell in enumerate(answer.shown):
            name = answer.name if plain else f"  {label(cell)}"
            row = [name, *numbers(cell, bare=answer.bare)]
            rows.append(row if known is None else [*row, _true(known[place], cell)])
    if truth is not None:
        heads.append("truth")
    return columns(heads, rows, right=range(1, 6), wrap=[0])


def label(cell: Cell) -> str:
    """``site 3``, ``[0, 5)``: which group and bin a cell is."""
    return " · ".join(str(key) if name in ("bin", "test") else f"{name} {key}" for name, key in cell.label)


def numbers(cell: Cell, *, bare: bool = False) -> tuple[str, str, str, str]:
    """Value, interval, noise and sampling as text, to two digits of the interval's half-width."""
    match cell.outcome:
        case NoReply():
            return "no reply", "", "", ""
        case Reply(estimate):
            text = shown(estimate)
            between = "–" if bare or cell.as_it_is else f"{text.low} to {text.high}"
            noise, sampling = (half if half == "–" else f"± {half}" for half in (text.noise, text.sampling))
            return text.value, between, noise, sampling
        case _:
            assert_never(cell.outcome)


def _true(value: float | None, cell: Cell) -> str:
    if value is None:
        return "–"
    match cell.outcome:
        case Reply(estimate):
            return number(value, decimals(estimate))
        case NoReply():
            return number(value)
        case _:
            assert_never(cell.outcome)


def _level(listed: Sequence[Answer]) -> str:
    levels = {
        f"{100 * cell.outcome.value.level:g} %"
        for answer in listed
        for cell in answer.cells
        if isinstance(cell.outcome, Reply)
    }
    return levels.pop() if len(levels) == 1 else "95 %"
