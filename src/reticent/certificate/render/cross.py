"""The cross table of an answer by two columns: keys of one down, of the other across, totals last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING

from reticent.certificate.render.tables import UNCALLED, key_words
from reticent.data.expression_text import divided
from reticent.data.format import plain
from reticent.outcome import Reply, decimals, number
from reticent.statistics.answer import Answer, Cell, printed
from reticent.statistics.intervals import LEVEL
from reticent.statistics.statistic import TOTALS


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Texts of a cross table: its title, the heads of its columns, and its rows with their names first."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def crossed(answer: Answer, called: Mapping[str, str] = UNCALLED) -> CrossTable | None:
    """The cross table of an answer, with the longer arm of each interval; None for one that is not by two columns."""
    if not answer.cells:
        return None
    groups = answer.name.rpartition(" by ")[2].removesuffix(TOTALS)
    names = tuple(name for name, _ in answer.cells[0].label)
    if len(names) != 2 or divided(groups) != [*names]:
        return None
    found = {tuple(dict(cell.label).get(name) for name in names): cell for cell in answer.shown}
    rows, columns = ([*dict.fromkeys(key[place] for key in found)] for place in (0, 1))
    if len(found) < len(rows) * len(columns):
        return None
    down, across = (plain(called.get(name, name)) for name in names)
    return CrossTable(
        f"{down} down, {across} across, ± at {100 * LEVEL:g} %",
        tuple("total" if key is None else key_words(key) for key in columns),
        tuple(
            (
                "total" if row is None else key_words(row),
                *(_half_width(found[row, column], bare=answer.bare) for column in columns),
            )
            for row in rows
        ),
    )


def _half_width(cell: Cell, *, bare: bool) -> str:
    """``6.67 ± 0.91``: a number with the longer arm of its interval, to two digits of it."""
    text = printed(cell, bare=bare)
    if text is None or not isinstance(cell.outcome, Reply):
        return "no reply"
    e = cell.outcome.value
    arm = max(e.high - e.value, e.value - e.low)
    return text.value if bare or cell.as_it_is else f"{text.value} ± {number(arm, decimals(e), ROUND_CEILING)}"
