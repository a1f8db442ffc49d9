"""The cross table of an answer by two columns, or of a histogram by one: keys down and across, totals last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING

from reticent.data.expression_tree import divided
from reticent.data.format import plain
from reticent.outcome import Reply, decimals, number
from reticent.statistics.answer import UNCALLED, Answer, Cell, key_words, printed
from reticent.statistics.intervals import LEVEL
from reticent.statistics.statistic import TOTALS


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Texts of a cross table: words for its sides, the heads of its columns, its rows with their names first."""

    down: str
    across: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def title(self) -> str:
        """Words above the table."""
        return f"{self.down} down, {self.across} across, ± at {100 * LEVEL:g} %"

    def turned(self) -> CrossTable:
        """The same table with its columns as rows."""
        heads, *columns = zip(*((name, *texts) for name, *texts in self.rows), strict=True)
        rows = tuple((name, *texts) for name, texts in zip(self.heads, columns, strict=True))
        return CrossTable(self.across, self.down, tuple(heads), rows)

    def lines(self, width: int) -> list[str]:
        """The table as lines of at most ``width`` characters: columns that do not fit stand below, names repeated."""
        return [self.title, *folded([("", *self.heads), *self.rows], 1, width)]


def folded(table: Sequence[Sequence[str]], names: int, width: int) -> list[str]:
    """Lines of at most ``width`` characters: columns that do not fit stand below, the first ``names`` repeated.

    Parameters
    ----------
    table : sequence of rows of str
        All of one length; the heads are its first row.
    names : int
        Columns that name a row, at the left.
    width : int
        A column that is wider by itself stands alone.

    Returns
    -------
    list of str
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    fixed, found, first = sum(widths[:names]) + 2 * names, list[str](), names
    while first < len(widths) or not found:
        last = min(first + 1, len(widths))
        while last < len(widths) and fixed + sum(widths[first : last + 1]) + 2 * (last - first) <= width:
            last += 1
        for row in table:
            at = (*range(names), *range(first, last))
            parts = (f"{row[i]:<{widths[i]}}" if i < names else f"{row[i]:>{widths[i]}}" for i in at)
            found.append("  ".join(parts).rstrip())
        first = last
    return found


def crossed(answer: Answer, called: Mapping[str, str] = UNCALLED, *, most: int | None = None) -> CrossTable | None:
    """The cross table of an answer, with the longer arm of each interval; None for one that has not two sides.

    Parameters
    ----------
    answer : Answer
    called : mapping of str to str
        Names for people of the columns that have one.
    most : int, optional
        Most rows, and most columns, of a table; before a cell of a longer one is written, there is none.

    Returns
    -------
    CrossTable or None
    """
    if not answer.cells or (most is not None and len(answer.cells) > (most + 1) ** 2):
        return None
    groups = answer.name.rpartition(" by ")[2].removesuffix(TOTALS)
    names = tuple(name for name, _ in answer.cells[0].label)
    bins = answer.name.startswith("histogram(") and len(answer.body) == len(answer.cells)
    if len(names) != 2 or divided(groups) != [*(names[:1] if bins else names)]:
        return None
    found = {tuple(dict(cell.label).get(name) for name in names): cell for cell in answer.shown}
    rows, columns = ([*dict.fromkeys(key[place] for key in found)] for place in (0, 1))
    if len(found) < len(rows) * len(columns) or (most is not None and max(len(rows), len(columns)) > most):
        return None
    down, across = (plain(called.get(name, name)) for name in names)
    return CrossTable(
        down,
        across,
        tuple("total" if key is None else key_words(key) for key in columns),
        tuple(
            (
                "total" if row is None else key_words(row),
                *(half_width(found[row, column], bare=answer.bare) for column in columns),
            )
            for row in rows
        ),
    )


def half_width(cell: Cell, *, bare: bool) -> str:
    """``6.67 ± 0.91``: a number with the longer arm of its interval, to two digits of it."""
    text = printed(cell, bare=bare)
    if text is None or not isinstance(cell.outcome, Reply):
        return "no reply"
    e = cell.outcome.value
    arm = max(e.high - e.value, e.value - e.low) or e.noise  # both ends were moved to the same possible value
    own = "" if e.level == LEVEL else f" ({100 * e.level:g} %)"
    return text.value if bare or cell.as_it_is else f"{text.value} ± {number(arm, decimals(e), ROUND_CEILING)}{own}"
