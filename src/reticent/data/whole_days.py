"""Doubts about a day that stands where a time is compared: it is 00:00, and people often mean the whole of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from reticent.calendar import DAY, text
from reticent.data.expression_tree import Application, DateLiteral, Tree, write
from reticent.data.schema import Integer

MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def day_doubts(trees: Iterable[Tree]) -> list[str]:
    """Words about each comparison with 00:00 of a day that cuts that day in two.

    Parameters
    ----------
    trees : iterable of Tree
        Bound to a schema, so that a literal has the step of what it is compared with.

    Returns
    -------
    list of str
        Each once. What compares with ``<`` and ``>=`` takes days whole and has none.
    """
    return list(dict.fromkeys(words for tree in trees for words in _doubts(tree)))


def high_doubt(name: str, column: Integer) -> str:
    """Words about an upper bound at 00:00; empty for other bounds, and at the first of a month, where the last ends."""
    calendar = column.calendar
    if calendar is None or calendar.step == DAY or column.high is None:
        return ""
    end = _day(DateLiteral(column.high, calendar.step))
    if not end or end.endswith("-01"):
        return ""
    last = text((column.high + DAY // calendar.step - 1) * calendar.step, 1)  # TOML has seconds in every time
    return (
        f"high of {name} is 00:00 on {end}, and later times count as that. If the whole day is meant, write "
        f"high = {last}."
    )


def _doubts(tree: Tree) -> Iterator[str]:
    match tree:
        case Application(operation="in", operands=(x, *listed)):
            for one in listed:
                yield from _doubts(Application("=", (x, one)))
        case Application(operation=sign, operands=(DateLiteral() as moment, x)) if sign in MIRRORED:
            yield from _doubts(Application(MIRRORED[sign], (x, moment)))
        case Application(operation=sign, operands=(x, DateLiteral() as moment)) if sign in MIRRORED and _day(moment):
            day, after = _day(moment), _day(DateLiteral(moment.count + DAY // moment.step, moment.step))
            if sign == "<=":
                yield f"{write(x)} <= {day} leaves out {day} after 00:00: for the whole day write {write(x)} < {after}"
            elif sign == ">":
                yield f"{write(x)} > {day} takes {day} after 00:00: for later days write {write(x)} >= {after}"
            elif sign in ("=", "!="):
                whole = f'trunc({write(x)}, "day") {sign} {day}'
                yield f"{write(x)} {sign} {day} is about 00:00 alone: for the whole day write {whole}"
        case Application(operands=operands):
            for one in operands:
                yield from _doubts(one)
        case _:
            return


def _day(moment: DateLiteral) -> str:
    """The day that a time of step below a day begins; empty for another time."""
    if moment.step == DAY or moment.count * moment.step % DAY:
        return ""
    return text(moment.count * moment.step // DAY, DAY)
