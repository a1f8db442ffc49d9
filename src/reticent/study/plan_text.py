"""Words of a plan: the cells of its lines, ranges over public shapes, and lines that a terminal holds.

PlanLine --cells_of--> cells of text --table, folded--> lines of at most ``WIDTH`` characters
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final, assert_never

from reticent.calendar import STEPS, larger_unit
from reticent.privacy import loss as losses
from reticent.privacy.loss import Loss, words
from reticent.privacy.numbers import about, rough
from reticent.statistics.context import (
    A_TENTH,
    ALIKE,
    EVERY,
    LIKELY,
    TENTH_PASSES,
    USUAL,
    ExpectedAccuracy,
    NumberWidths,
    Replies,
    ShapeWidths,
    of_part,
    shown,
    without,
)

HEADS: Final = ("statistic", "loss", "± noise", "± sampling*", "P(reply)*", "")
WIDTH: Final = 80  # characters of a line of a plan that is printed
UNITS: Final = {"sd": "standard deviation", "iqr": "quartile distance"}
OF_DATES: Final = {f"{word}s": step for word, step in STEPS.items()}  # of distances of dates, which larger ones say
FEW_SHAPES: Final = 4  # of which a note tells each


def cells_of(name: str, loss: Loss, expected: ExpectedAccuracy) -> list[tuple[str, ...]]:
    """The row of a question, and one for each coefficient of a model, in its own unit.

    Parameters
    ----------
    name : str
        Of the question.
    loss : Loss
    expected : ExpectedAccuracy

    Returns
    -------
    list of tuple of str
        A cell for each of ``HEADS``.
    """
    every = replace(expected, replies=without(expected.replies, EVERY))
    noises, samplings = _by_part(expected)
    unit = expected.unit
    noise, sampling = expected.headline
    own = (
        name,
        _loss(loss),
        _halves(noise, noises, unit),
        _halves(sampling, samplings, unit),
        _reply(every),
        _note(every),
    )
    rows: list[tuple[str, ...]] = [own, *_at_rows(every)]
    rows += [_of_number(one, (expected.apart or (expected.typical,))[0]) for one in expected.numbers]
    for shape, noise, sampling in expected.others:
        chances = of_part(expected.replies, A_TENTH)
        if shape == TENTH_PASSES and (noise != expected.noise or chances):  # noise of a count is what it is
            widths = ("no reply", "–") if noise is None else (_halves(noise, [], unit), _halves(sampling, [], unit))
            rows.append((f"  {shape}", "", *widths, _span_of(chances) if chances else "", ""))
    return rows


def _of_number(number: NumberWidths, typical: str) -> tuple[str, ...]:
    """The row of one coefficient, whose first widths are those of the shape ``typical``."""
    told = ExpectedAccuracy(
        number.noise, number.sampling, replies=number.replies, others=number.others, typical=typical
    )
    widths = (_halves(one, every, "") for one, every in zip(told.headline, _by_part(told), strict=True))
    return (f"  {number.name}, {number.unit}", "", *widths, _reply(told), "")


def other_shapes(expected: ExpectedAccuracy) -> dict[str, dict[str, float | None]]:
    """The half-widths of a line's public shapes as JSON, but for the typical one, which the line has itself."""
    usual = expected.noise, expected.sampling
    shapes = expected.others if usual == expected.headline else ((USUAL, *usual), *expected.others)
    return _shapes_json(shape for shape in shapes if shape[0] != expected.typical)


def _shapes_json(shapes: Iterable[ShapeWidths]) -> dict[str, dict[str, float | None]]:
    return {name: {"noise": noise, "sampling": sampling} for name, noise, sampling in shapes}


def number_json(number: NumberWidths) -> dict[str, object]:
    """One coefficient as JSON, with the words of a line of a plan."""
    return {
        "name": number.name,
        "noise": number.noise,
        "sampling": number.sampling,
        "unit": number.unit,
        "other_shapes": _shapes_json(number.others),
        "reply": dict(number.replies),
    }


def _at_rows(expected: ExpectedAccuracy) -> list[tuple[str, ...]]:
    """A row for each number of rows that a reply hangs on, with its own widths and its own probability."""
    widths = {shape: (noise, sampling) for shape, noise, sampling in expected.others}
    rows: list[tuple[str, ...]] = []
    for name in expected.apart:
        chances = of_part(expected.replies, name)
        none = "no reply" if max(chances, default=0.0) < LIKELY else "–"
        told = (none, "–") if name not in widths else [_halves(one, [], expected.unit) for one in widths[name]]
        rows.append((f"  with {name}", "", *told, _span_of(chances) if chances else "–", ""))
    return rows


def _by_part(expected: ExpectedAccuracy) -> tuple[list[float | None], list[float | None]]:
    """Half-widths of noise, and of sampling, for each public shape of columns, the usual one first."""
    shapes = [one[1:] for one in expected.others if _is_within(one[0], expected)]
    return [expected.noise, *(one for one, _ in shapes)], [expected.sampling, *(one for _, one in shapes)]


def _is_within(shape: str, expected: ExpectedAccuracy) -> bool:
    """True for a shape that has no line of its own, so that the range of its question covers it."""
    return shape != TENTH_PASSES and shape not in expected.apart


def _loss(loss: Loss) -> str:
    match loss:
        case losses.PureDP(epsilon):
            return f"ε {about(epsilon)}"
        case losses.ApproxDP(epsilon, delta):
            return f"ε {about(epsilon)}, δ {about(delta)}"
        case losses.ZCDP(rho):
            return f"ρ {about(rho)}"
        case losses.ApproxZCDP(rho, delta):
            return f"ρ {about(rho)}, δ {about(delta)}"
        case losses.Renyi() | losses.GaussianDP() | losses.PLD():
            return words(loss)
        case _:
            assert_never(loss)


def _halves(headline: float | None, every: Sequence[float | None], unit: str) -> str:
    """The typical half-width, with the least and the greatest of all public shapes where these are told apart."""
    per = 1.0
    if unit in OF_DATES and headline is not None:
        unit, per = larger_unit(headline, OF_DATES[unit])
    after = f" {unit}" if unit and headline is not None else ""
    if headline is None or not _is_range(every):
        return half(None if headline is None else headline / per) + after
    found = [width / per for width in every if width is not None]
    told, least, most = (rough(one) for one in (headline / per, min(found), max(found)))
    return f"± {told}{after} ({least}–{most})"


def half(width: float | None) -> str:
    return "–" if width is None else f"± {rough(width, 3)}"


def _reply(expected: ExpectedAccuracy) -> str:
    """The probability of a reply; of several public shapes the typical one first, with the range; – for none."""
    chances = [chance for _, chance in expected.replies]
    typical = dict(expected.replies).get(expected.typical)
    if typical is None or len({*map(shown, chances)}) < 2:
        return _span_of(chances) if chances else "–"
    return f"{shown(typical)} ({shown(min(chances))}–{shown(max(chances))})"


def _note(expected: ExpectedAccuracy) -> str:
    """The note, with the probability of a reply for each public shape where they differ.

    Numbers of rows that have lines of their own are not told again; sizes of groups are.
    """
    if len({shown(chance) for _, chance in expected.replies}) < 2:
        return expected.note
    shapes = _by_shape(expected.replies, apart=expected.apart)
    if expected.apart and len(shapes) < 2:
        return expected.note
    told = " · ".join(f"{shape} {_span_of(chances)}" for shape, chances in shapes.items() if shape)
    return f"{expected.note}; P(reply): {told}" if expected.note else f"P(reply): {told}"


def _by_shape(replies: Replies, *, apart: Sequence[str]) -> dict[str, list[float]]:
    """Probabilities by public shape; of many shapes, by the last part of their names alone, which is not ``apart``."""
    found: dict[str, list[float]] = {}
    for shape, chance in replies:
        parts = shape.split(", ")
        last = parts[-1] if apart or len(replies) > FEW_SHAPES else shape
        found.setdefault("" if last in apart else last, []).append(chance)
    return found


def _span_of(chances: Sequence[float]) -> str:
    low, high = shown(min(chances)), shown(max(chances))
    return low if low == high else f"{low} to {high}"


def widths_words(lines: Sequence[ExpectedAccuracy]) -> str:
    """Sentences about the half-widths of a plan, each with a space before it: unit, first number, and range."""
    text = ""
    for unit, name in UNITS.items():
        if any(line.unit == unit for line in lines):
            text += f" {unit} is the column's {name}, which a plan cannot know: if it is 10, ± 0.04 {unit} is ± 0.4."
    if shapes := shapes_of(lines):
        typical = any(line.headline != (line.noise, line.sampling) for line in lines)
        first = " The first width is that of a typical column: no plan knows yours." if typical else ""
        text += f"{first} In brackets, the range over public shapes: {', '.join(shapes)}."
    return text


def shapes_of(lines: Sequence[ExpectedAccuracy]) -> list[str]:
    """Names of the public shapes of the lines that show a range, each once; those alike but for numbers as a span."""
    groups: dict[str, list[str]] = {}
    for usual in lines:
        if any(map(_is_range, _by_part(usual))):
            for name in (USUAL, *(shape for shape, *_ in usual.others if _is_within(shape, usual))):
                group = groups.setdefault(re.sub(r"[\d,./]+", "0", name), [])
                group += [] if name in group else [name]
    return [_span(names[0], names[-1]) for names in groups.values()]


def _is_range(every: Sequence[float | None]) -> bool:
    """True where the half-widths of public shapes are told apart; the first is the usual one."""
    found = [width for width in every if width is not None]
    return bool(found) and every[0] is not None and max(found) > ALIKE * min(found)


def _span(first: str, last: str) -> str:
    """Two names of the same words but for numbers as one: a cap of 1 to 20, bounds [0, 1] to [0, 9]."""
    words, others = first.split(), last.split()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))
    while " ".join(words[:same]).count("[") > " ".join(words[:same]).count("]"):
        same -= 1  # an interval stays whole
    return first if first == last else " ".join([*words, "to", *others[same:]])


def table(cells: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of text below each other; a long name is above its numbers, and no line is longer than ``WIDTH``.

    Where numbers alone are too wide, P(reply) loses its range, which the notes have, and columns stand closer.
    """
    gap, wide = 2, _widths(cells)
    if sum(wide[1:]) + gap * (len(wide) - 1) > WIDTH:
        cells = [(*row[:-2], row[-2].partition(" (")[0], row[-1]) for row in cells]
        gap, wide = 1, _widths(cells)
    room = WIDTH - sum(wide[1:]) - gap * (len(wide) - 1)
    name = max((len(row[0]) for row in cells if len(row[0]) <= room), default=0)
    lines: list[str] = []
    for place, row in enumerate(cells):
        numbers = (f"{text:>{width}}" for text, width in zip(row[1:-1], wide[1:-1], strict=True))
        named = [" " * name] if name else []  # no column of names where each has a line of its own
        line = (" " * gap).join([*named, *numbers, row[-1]]).rstrip()
        if len(row[0]) <= (name or room) or line[: len(row[0]) + gap].isspace():  # room is left of the numbers
            lines.append(f"{row[0]}{line[len(row[0]) :]}".rstrip())
            continue
        lines += folded("", row[0]) if place else []  # above names that have lines of their own no head is needed
        lines += [line] if line.strip() else []
    return lines


def _widths(cells: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def folded(mark: str, text: str) -> list[str]:
    """A text in lines of at most ``WIDTH``, which hang behind its mark."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * (len(mark) or 2),
        break_on_hyphens=False,
    )


def letter(place: int) -> str:
    """The mark of a note, which no number beside it is read with: a to z, then aa."""
    return "abcdefghijklmnopqrstuvwxyz"[place % 26] * (place // 26 + 1)
