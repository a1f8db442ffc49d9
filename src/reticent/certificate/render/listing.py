"""The text of a release as ``print`` shows it: a table of its answers, what they estimate, notes, and the guarantee."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING
from typing import Final, TypeAlias

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.tables import column_words, key_words, labels_of, row_words
from reticent.data.expression_text import divided
from reticent.data.format import plain
from reticent.outcome import Reply, decimals, number
from reticent.privacy.explain import sentence
from reticent.statistics.answer import Answer, Cell, estimates, printed
from reticent.statistics.intervals import LEVEL
from reticent.statistics.statistic import TOTALS

WIDTH: Final = 100  # characters of a line of words
NAME: Final = 44  # characters of a name beside a number
MOST: Final = 40  # numbers of one answer that are printed; the frame and the files have all
HANGING: Final = 11
HEADS: Final = ("answer", "interval", "± noise", "± sampling")

Line: TypeAlias = tuple[str, tuple[str, ...]]  # a name and its numbers, none for a line of words


def listing(certificate: CertificateRecord) -> str:
    """The release as plain text: a line for each number, the names of groups under that of their answer.

    An answer of more than forty numbers shows as many and says how many it left out.
    """
    answers = certificate.answers
    guarantee = certificate.guarantee
    lines = list(_table(answers, labels_of(certificate)))
    for word, texts in (
        ("estimates", estimates(answers)),
        ("columns", column_words(certificate)),
        ("note", certificate.caveats),
        ("guarantee", (sentence(guarantee.loss, guarantee.adjacency),)),
    ):
        for place, text in enumerate(texts):
            lines += _hung("" if place else word, plain(text))
    return "\n".join(lines)


def _table(answers: Sequence[Answer], called: Mapping[str, str]) -> Iterator[str]:
    rows = [row for answer in answers for row in _rows(answer, called)]
    if not rows:
        return
    numbers = [found for _, found in rows if found] or [("",) * len(HEADS)]
    heads = (HEADS[0], f"{_level(answers)}{HEADS[1]}", *HEADS[2:])
    name = max(len(text) for text, found in rows if found or len(text) <= NAME)
    widths = [max(len(row[place]) for row in (heads, *numbers)) for place in range(len(HEADS))]
    for text, found in (("", heads), *rows):
        parts = (f"{part:>{width}}" for part, width in zip(found, widths, strict=False))
        yield "  ".join([f"{text:<{name}}", *parts]).rstrip()


def _rows(answer: Answer, called: Mapping[str, str]) -> Iterator[Line]:
    single = len(answer.cells) == 1 and not answer.cells[0].label
    if not single:
        yield _cut(plain(answer.name), WIDTH), ()
    if crossed := _crossed(answer):
        yield from ((line, ()) for line in crossed)
        return
    for cell in answer.shown[:MOST]:
        text = printed(cell, bare=answer.bare)
        name = plain(answer.name if single else f"  {row_words(answer, cell, called)}")
        found = ("no reply", "", "", "") if text is None else (text.value, text.interval, text.noise, text.sampling)
        if len(name) > NAME:  # on a line of its own
            yield _cut(name, WIDTH), ()
        yield name if len(name) <= NAME else "", found
    if len(answer.cells) > MOST:
        yield f"  … {len(answer.cells) - MOST:,} more: frame() has all", ()


def _crossed(answer: Answer) -> list[str]:
    """The lines of a cross table of two groups, with the half-width of each interval; none where it is too wide."""
    groups = answer.name.rpartition(" by ")[2].removesuffix(TOTALS)
    names = tuple(name for name, _ in answer.cells[0].label)
    if len(names) != 2 or divided(groups) != [*names]:
        return []
    found = {tuple(dict(cell.label).get(name) for name in names): cell for cell in answer.shown}
    rows, columns = ([*dict.fromkeys(key[place] for key in found)] for place in (0, 1))
    if len(found) < len(rows) * len(columns) or len(rows) > MOST:
        return []
    heads = ["", *("total" if key is None else key_words(key) for key in columns)]
    lines = [heads]
    for row in rows:
        texts = [_half_width(found[row, column], bare=answer.bare) for column in columns]
        lines.append(["total" if row is None else key_words(row), *texts])
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    title = f"  {plain(names[0])} down, {plain(names[1])} across, ± at {100 * LEVEL:g} %"
    if 2 + sum(widths) + 2 * len(widths) > WIDTH:
        return []
    shown = [[f"{text:>{width}}" for text, width in zip(line, widths, strict=True)] for line in lines]
    return [
        title,
        *("  ".join(["", f"{line[0]:<{widths[0]}}", *texts[1:]]) for line, texts in zip(lines, shown, strict=True)),
    ]


def _half_width(cell: Cell, *, bare: bool) -> str:
    """``6.67 ± 0.91``: a number with the longer arm of its interval, to two digits of it."""
    text = printed(cell, bare=bare)
    if text is None or not isinstance(cell.outcome, Reply):
        return "no reply"
    e = cell.outcome.value
    arm = max(e.high - e.value, e.value - e.low)
    return text.value if bare or cell.as_it_is else f"{text.value} ± {number(arm, decimals(e), ROUND_CEILING)}"


def _level(answers: Sequence[Answer]) -> str:
    cells = [cell.outcome for answer in answers for cell in answer]
    levels = {outcome.value.level for outcome in cells if isinstance(outcome, Reply)}
    return f"{100 * levels.pop():g} % " if len(levels) == 1 else ""


def _hung(word: str, text: str) -> list[str]:
    """Words beside the one that names them, the lines that follow under the first."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{word:<{HANGING}}",
        subsequent_indent=" " * HANGING,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
