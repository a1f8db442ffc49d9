"""Panels of a figure: which answers share a pair of axes, which axes share a scale, and what stands beside them.

    panels(certificate)    the panels of a release, in the order of its answers

Answers of one kind and unit share an axis: a statistic states its kind, and the schema the unit of its column. Many
columns of one range and no unit, such as answers from 1 to 5, are of one unit too. Single numbers of one kind and unit
share a panel. Groups of an answer have one of their own on the same scale, in the order of the table. Keys that were
found are sorted by their values. A line shows the answer for all rows where the release has it. Counts and sums of
groups add up to that, so they have a scale of their own, from zero. Those of ordered groups share it with no other
groups: weeks are not months. Groups of counts are a heat map where both sides are lists, and small multiples where one
side is a scale. Other numbers by two columns are small multiples where one has few keys, else a heat map.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.cross import half_width
from reticent.certificate.render.tables import number, signed
from reticent.data.expression_tree import Key, divided
from reticent.data.format import one_of, plain, slope_unit
from reticent.errors import Refusal
from reticent.outcome import Estimate, NoReply, Reply
from reticent.statistics.answer import SEPARATOR, UNCALLED, Answer, Cell, Label, key_words, label_words, printed
from reticent.statistics.statistic import TOTALS

if TYPE_CHECKING:
    from reticent.statistics.statistic import Statistic
    from reticent.synthesis.density import Density

Form: TypeAlias = Literal["strip", "bars", "multiples", "map", "density"]
TITLE: Final = 76  # characters
TITLE_LINE: Final = 72  # characters of a title beside the names of rows
MOST_ROWS: Final = 60
MOST_BARS: Final = 1000
MOST_MULTIPLES: Final = 12
MOST_ARMS: Final = 8  # columns of a map whose intervals are written into it
FEW: Final = 3  # keys of a column for which numbers by two columns are a strip each; of more they are a map
LARGEST: Final = 1e100  # beyond it a number is in the table only
UNITS_OF: Final = {"share": "share", "rows": "rows", "persons": "persons"}
BIN: Final = re.compile(r"\[(\S+), (\S+)[)\]]")
ABOUT_ZERO: Final = "effect"
RANGE: Final = "range"  # of a column, beside what a certificate states of it
ADDITIVE: Final = ("count", "persons", "sum", "keys")  # numbers of groups that are parts of all: compared with zero
GROUPS: Final = "groups"
COUNTED: Final = "bars"  # kind of a scale of numbers of rows by bins
ROW_NAME: Final = 28  # characters
LINE: Final = 36
QUOTED: Final = re.compile(r"""("[^"]*"|'[^']*')""")
ON_A_SCALE: Final = re.compile(r"\[|\d[\d.]*[^\d.]")  # a bin, a date or a span


@dataclass(frozen=True, slots=True)
class PanelScale:
    """Scale of an axis: panels of one ``key`` share it. ``zero`` is True where 0 is what numbers are compared with."""

    key: tuple[str, ...]
    label: str = ""
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Content of one pair of axes, or of a row of small ones: the cells of an answer, or of several."""

    form: Form
    title: str
    scale: PanelScale
    names: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    note: str = ""
    reference: float | None = None
    columns: tuple[str, ...] = ()  # of a map, and of the bars of small multiples; ``cells`` lie row by row
    across: str = ""  # words at the horizontal axis of bars, and of a map
    up: str = ""
    down: str = ""  # words at the vertical axis of a map
    density: Density | None = None
    bare: frozenset[int] = frozenset()  # places of cells without an interval, whose ends say nothing

    def __post_init__(self) -> None:
        """Take the marks of names away, which only a parser needs."""
        for name in ("title", "note", "across", "up", "down"):
            object.__setattr__(self, name, getattr(self, name).replace("`", ""))
        for name in ("names", "columns"):
            object.__setattr__(self, name, tuple(text.replace("`", "") for text in getattr(self, name)))
        object.__setattr__(self, "scale", replace(self.scale, label=self.scale.label.replace("`", "")))

    @property
    def heading(self) -> str:
        """The title with its note, on as many lines as fit the width of a figure."""
        text = f"{cut(self.title, TITLE - len(self.note))}   ({self.note})" if self.note else self.title
        if len(text) <= TITLE_LINE:
            return text
        tied = re.sub(r"(?<=[≤<=]) (?=[\d.])|(?<=p-value) ", "\N{NO-BREAK SPACE}", text)
        return textwrap.fill(tied, TITLE_LINE).replace("\N{NO-BREAK SPACE}", " ")

    @property
    def height(self) -> float:
        """Inches, title and ticks included."""
        match self.form:
            case "strip":
                return (
                    0.27
                    + 0.24 * max(len(self.cells), 1)
                    + 0.2 * bool(self.title.strip())
                    + 0.15 * self.heading.count("\n")
                    + 0.17 * (bool(self.scale.label) and any(map(drawable, self.cells)))
                )
            case "bars":
                return 2.6
            case "multiples":
                return 0.55 + 1.5 * -(-len(self.names) // 3)
            case "map":
                return 0.95 + 0.24 * max(len(self.names), 4)
            case "density":
                return 3.1 if self.density is None or len(self.density.axes) == 1 else 4.2


def panels(certificate: CertificateRecord) -> list[Panel]:
    """The panels of a release."""
    return panels_of(certificate.answers, certificate.heading["columns"])


def panels_of(answers: Sequence[Answer], declared: Mapping[str, Any]) -> list[Panel]:
    """The panels of some answers. Single numbers of one scale stand together, where the first of them is.

    Parameters
    ----------
    answers : sequence of Answer
    declared : mapping of str to mapping
        Columns as a certificate states them, for units and labels.

    Returns
    -------
    list of Panel
    """
    declared = _with_ranges(answers, declared)
    values = ((answer.name, _value(answer)) for answer in answers)
    overall = {name: value for name, value in values if value is not None}
    found: list[Panel] = []
    for answer in answers:
        for panel in _panels(answer, declared, overall):
            place = next((at for at, one in enumerate(found) if _joins(one, panel)), None)
            if place is None:
                found.append(panel)
            else:
                found[place] = _joined(found[place], panel)
    return found


def noise_ends(estimate: Estimate) -> tuple[float, float]:
    """Ends of the part due to noise, as it is drawn: within the interval, which was cut to what is possible."""
    low, high = min(estimate.low, estimate.value), max(estimate.high, estimate.value)
    return max(estimate.value - estimate.noise, low), min(estimate.value + estimate.noise, high)


def drawable(cell: Cell) -> Estimate | None:
    """The estimate of a cell, where it is a reply whose numbers fit an axis."""
    match cell.outcome:
        case Reply(estimate) if max(map(abs, (estimate.value, estimate.low, estimate.high))) < LARGEST:
            return estimate
        case _:
            return None


def row_name(cell: Cell, called: Mapping[str, str] = UNCALLED) -> str:
    """The name of a row of a panel: of several groups their keys alone, whose columns the title names."""
    if not cell.label:
        return "total"
    if len(cell.label) == 1:
        return cut(label_words(cell, called), ROW_NAME)
    if len(cell.where) <= 34:
        return cell.where
    each = max(34 // len(cell.label) - 3, 6)
    return SEPARATOR.join(cut(key_words(key), each) for _, key in cell.label)


def in_lines(name: str) -> str:
    """A name in at most two lines, broken before its condition or where it fits, and cut where they do not hold it."""
    for word in (" where ", " by "):
        before, found, after = name.partition(word)
        if found and len(name) > LINE and len(before) <= LINE and len(word + after) <= LINE:
            return f"{before}\n{word.lstrip()}{after}"
    return "\n".join(textwrap.wrap(name, LINE, max_lines=2, placeholder=" …", break_on_hyphens=False))


def edges_of(names: Sequence[str]) -> list[str]:
    """The edges of bins that lie side by side, from names like ``[0, 5)``; empty for other names."""
    ends = [found.groups() for name in names if (found := BIN.fullmatch(name))]
    side_by_side = all(one[1] == other[0] for one, other in pairwise(ends))
    return [ends[0][0], *(high for _, high in ends)] if ends and len(ends) == len(names) and side_by_side else []


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


# --- which panel -----------------------------------------------------------------------------------------------------


def _joins(one: Panel, other: Panel) -> bool:
    """True for two panels of single numbers on one scale, whose rows have the names of their answers."""
    single = one.form == other.form == "strip" and not (one.title or other.title)
    return single and one.scale.key == other.scale.key and len(one.cells) < MOST_ROWS


def _joined(one: Panel, other: Panel) -> Panel:
    same = one.scale.label == other.scale.label
    scale = one.scale if same else replace(one.scale, label=one.scale.key[-1])  # several columns of one unit
    bare = one.bare | {len(one.cells) + place for place in other.bare}
    names, cells = (*one.names, *other.names), (*one.cells, *other.cells)
    return replace(one, names=names, cells=cells, scale=scale, bare=bare)


def _panels(answer: Answer, declared: Mapping[str, Any], overall: Mapping[str, float]) -> Iterator[Panel]:
    asked = _asked(answer.name)
    if len(answer.body) < len(answer.cells):  # totals stand in the table
        answer = replace(answer, cells=answer.body)
    if answer.law is not None:
        yield from _laws(answer.name, cast("Density", answer.law), declared)  # an answer knows it by its protocol
    elif answer.name.startswith("test(") and len(answer.cells) == 3:
        yield _test(answer, declared)
    elif asked is not None and asked.axis == ABOUT_ZERO and len(answer.cells) > 1:
        yield from _coefficients(answer, declared)
    elif (answer.name.startswith("histogram") and len(answer.cells) > 1) or _is_product(answer, asked):
        rows = _weighed(UNITS_OF["rows"], answer.name)
        yield from (replace(panel, up=rows) for panel in _counts(answer, asked, declared))
    else:
        scale = _scale(answer.name, asked, declared)
        if asked is not None and asked.verb in ADDITIVE and answer.cells[0].label:
            apart = answer.cells[0].label[0][0] if _on_one_scale(answer, declared) else GROUPS
            scale, overall = replace(scale, key=(*scale.key, apart), zero=True), {}
        yield from _two_way(answer, scale, declared) or [_strip(answer, scale, overall, declared)]


@lru_cache(maxsize=1024)
def _asked(name: str) -> Statistic | None:
    """The statistic that an answer is of; None for one of a third party, or of a made-up name."""
    from reticent.statistics.grammar import parse

    try:
        return parse(name).statistic
    except Refusal:
        return None


def _value(answer: Answer) -> float | None:
    if len(answer.cells) != 1 or answer.cells[0].label:
        return None
    estimate = drawable(answer.cells[0])
    return None if estimate is None else estimate.value


def _scale(name: str, asked: Statistic | None, declared: Mapping[str, Any]) -> PanelScale:
    if asked is None or not asked.axis:
        return PanelScale(("", name), _named(asked.columns[0], declared) if asked and asked.columns else "")
    if asked.axis in UNITS_OF:
        unit = _weighed(UNITS_OF[asked.axis], name)
        return PanelScale((asked.axis, unit), unit)
    column = asked.columns[0]
    before = "spread of " if asked.axis == "spread" else ""
    kind = declared.get(column, {}).get("kind")
    if kind in ("date", "datetime"):
        unit = kind if not before else "days" if kind == "date" else "hours"
        step = str(declared[column].get("resolution", "day"))
        label = _called(declared).get(column, column)
        return PanelScale((asked.axis, step, unit), plain(f"{before}{label}{f' ({unit})' if before else ''}"))
    unit = _unit(column, declared) or declared.get(column, {}).get(RANGE) or column
    return PanelScale((asked.axis, unit), f"{before}{_named(column, declared)}")


def _with_ranges(answers: Sequence[Answer], declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The declared columns, with their range where more than a few that are asked of share it and none has a unit."""
    alike: dict[tuple[str, ...], list[str]] = {}
    statistics = (_asked(answer.name) for answer in answers)
    for column in dict.fromkeys(one.columns[0] for one in statistics if one is not None and one.columns):
        told = declared.get(column, {})
        if told.get("kind") in ("integer", "real") and told.get("low") is not None and not told.get("unit"):
            alike.setdefault((told["kind"], f"{told['low']} to {told['high']}"), []).append(column)
    shared = {column: words for (_, words), columns in alike.items() if len(columns) > FEW for column in columns}
    return {**declared, **{column: {**declared[column], RANGE: words} for column, words in shared.items()}}


def _weighed(unit: str, name: str) -> str:
    """``weighted rows`` of an answer with weights, whose numbers stand for rows that nobody counted."""
    return f"weighted {unit}" if unit == UNITS_OF["rows"] and " weight " in name else unit


def _unit(column: str, declared: Mapping[str, Any]) -> str:
    found = declared.get(column, {}).get("unit")
    return found if isinstance(found, str) else ""


def _named(column: str, declared: Mapping[str, Any]) -> str:
    """``age (years)``."""
    unit, label = _unit(column, declared), _called(declared).get(column, column)
    return plain(f"{label} ({unit})" if unit and not label.endswith(f"({unit})") else label)


def _called(declared: Mapping[str, Any]) -> dict[str, str]:
    """The labels of columns, by their names."""
    labels = ((name, told.get("label")) for name, told in declared.items())
    return {name: label for name, label in labels if isinstance(label, str) and label}


def _title(name: str, declared: Mapping[str, Any], most: int = 60) -> str:
    """The name of an answer with the labels of its columns, or as it is where they would not fit."""
    called = _called(declared)
    words = [re.escape(column) for column in sorted(called, key=len, reverse=True)]
    found = re.compile(rf"`?(?<![\w.])({'|'.join(words)})(?![\w.])`?(?!\s*[=(](?!=))") if words else None
    parts = QUOTED.split(name)
    if found is not None:  # every other part is a quoted key
        parts[::2] = [found.sub(lambda match: called[match[1]], part) for part in parts[::2]]
    told = plain("".join(parts))
    return told if len(told) <= most else cut(plain(name), most)


def _strip(answer: Answer, scale: PanelScale, overall: Mapping[str, float], declared: Mapping[str, Any]) -> Panel:
    cells, called = answer.shown, _called(declared)
    bare = frozenset(range(len(cells))) if answer.bare else frozenset[int]()
    if len(cells) == 1 and not cells[0].label:
        return Panel("strip", "", scale, (in_lines(_title(answer.name, declared, 2 * LINE)),), cells, bare=bare)
    every, _, group = answer.name.rpartition(" by ")
    if every and group and _is_found(cells[0].label, declared):
        cells = tuple(sorted(cells, key=_by_value))
    note = f"{len(cells) - MOST_ROWS} more in the table" if len(cells) > MOST_ROWS else ""
    names = _row_names(cells[:MOST_ROWS], called, titled=bool(every) or answer.lists_keys)
    title = _title(answer.name, declared)
    return Panel("strip", title, scale, names, cells[:MOST_ROWS], note, overall.get(every), bare=bare)


def _two_way(answer: Answer, scale: PanelScale, declared: Mapping[str, Any]) -> list[Panel]:
    """Numbers by two columns: a strip for each of few keys, in one order, else a map; empty for others."""
    labels = [dict(cell.label) for cell in answer.cells]
    columns = [*labels[0]] if labels else []
    groups = divided(answer.name.rpartition(" by ")[2].removesuffix(TOTALS))
    if len(columns) != 2 or groups != columns or any(label.keys() != labels[0].keys() for label in labels):
        return []
    at = {tuple(label.values()): cell for label, cell in zip(labels, answer.cells, strict=True)}
    sides = [[*dict.fromkeys(label[column] for label in labels)] for column in columns]
    dated = any(isinstance(cell.outcome, Reply) and cell.outcome.value.step for cell in answer.cells)
    if len(at) < len(sides[0]) * len(sides[1]) or min(map(len, sides)) < 2:
        return []
    few = min((0, 1), key=lambda side: len(sides[side]))
    title, called = _title(answer.name, declared), _called(declared)
    if len(sides[few]) <= FEW or dated or max(map(len, sides)) > MOST_ROWS:
        rows = [[at[(one, key) if few == 0 else (key, one)] for one in sides[few]] for key in sides[1 - few]]
        if _is_found(rows[0][0].label[1 - few : 2 - few], declared):
            rows.sort(key=_by_sum)
        names = tuple(cut(key_words(row[0].label[1 - few][1]), ROW_NAME) for row in rows[:MOST_ROWS])
        bare = frozenset(range(len(rows))) if answer.bare else frozenset[int]()
        note = f"{len(rows) - MOST_ROWS} more in the table" if len(rows) > MOST_ROWS else ""
        return [
            Panel(
                "strip",
                f"{title} · {cut(f'{called.get(columns[few], columns[few])} {key_words(one)}', 28)}",
                scale,
                names,
                tuple(row[place] for row in rows[:MOST_ROWS]),
                note,
                bare=bare,
            )
            for place, one in enumerate(sides[few])
        ]
    names, across = (tuple(cut(key_words(key), 24) for key in side) for side in sides)
    cells = tuple(at[row, column] for row in sides[0] for column in sides[1])
    down, along = (_named(column, declared) for column in columns)
    silent = any(isinstance(cell.outcome, NoReply) for cell in cells)
    known = [(e.high - e.low, half_width(cell, bare=answer.bare)) for cell in cells if (e := drawable(cell))]
    told = [text.rpartition("± ")[2] for _, text in (min(known), max(known))] if known and not answer.bare else []
    arms = [f"each ± {' to '.join(dict.fromkeys(told))} at 95 %"] if told and len(across) > MOST_ARMS else []
    note = "; ".join([*arms, *(["× is no reply"] if silent else [])])
    words = scale.label or (answer.name.partition("(")[0] if scale.key[0] == "" else scale.key[0])
    return [Panel("map", title, scale, names, cells, note, None, across, along, words, down)]


def _by_sum(row: Sequence[Cell]) -> tuple[bool, float]:
    """Order of rows of several numbers: by their sum, the largest first, and those without a number last."""
    found = [estimate.value for cell in row if (estimate := drawable(cell)) is not None]
    return not found, -sum(found) / max(len(found), 1)


def _row_names(cells: Sequence[Cell], called: Mapping[str, str], *, titled: bool) -> tuple[str, ...]:
    """Names of the rows of one answer: the keys alone where the title names their column, or a name would be cut."""
    long = any(len(label_words(cell, called)) > ROW_NAME for cell in cells if len(cell.label) == 1)
    return tuple(
        cut(key_words(cell.label[0][1]), ROW_NAME)
        if (titled or long) and len(cell.label) == 1
        else row_name(cell, called)
        for cell in cells
    )


def _is_found(label: Label, declared: Mapping[str, Any]) -> bool:
    """True for a key that nobody declared, so that the table has no order to keep."""
    return any(declared.get(column, {}).get("kind") == "text" for column, _ in label)


def _ordered(column: str, keys: Sequence[Key], declared: Mapping[str, Any]) -> bool:
    """True for groups of one scale, such as dates, their parts, whole numbers and bins.

    So are keys of a list that are dates or spans, such as ``18-25``. A bare number in a list may be a code.
    """
    kind = declared.get(column, {}).get("kind", "category" if column.isidentifier() else "")
    if kind not in ("category", "text", ""):
        return True
    if not kind and all(type(key) is int for key in keys):  # of an expression that is not declared
        return True
    return all(ON_A_SCALE.match(str(key)) for key in keys)


def _on_one_scale(answer: Answer, declared: Mapping[str, Any]) -> bool:
    """True for an answer by one column whose groups have an order."""
    columns = divided(answer.name.rpartition(" by ")[2].removesuffix(TOTALS))
    labels = [cell.label[0] for cell in answer.body if len(cell.label) == 1]
    single = len(columns) == 1 and len(labels) == len(answer.body) > 0
    return single and _ordered(labels[0][0], [key for _, key in labels], declared)


def _by_value(cell: Cell) -> tuple[bool, float]:
    """Order of groups: by their values, the largest first, and those without one last."""
    match cell.outcome:
        case Reply(estimate):
            return False, -estimate.value
        case NoReply():
            return True, 0.0


def _test(answer: Answer, declared: Mapping[str, Any]) -> Panel:
    """The effect of a test on its own scale; statistic and p-value, which have none, are said beside the name."""
    said = [
        f"{key_words(cell.label[0][1])} {signed(text.value)}"
        for cell in answer.cells[1:]
        if (text := printed(cell)) is not None
    ]
    name = key_words(answer.cells[0].label[0][1])
    asked = _asked(answer.name)
    unit = _named(asked.columns[0], declared) if asked is not None and "means" in name.split() else ""
    scale = PanelScale(("test", answer.name), unit, zero=True)
    shown = textwrap.fill(name, 28, max_lines=2, placeholder=" …")
    return Panel("strip", _title(answer.name, declared), scale, (shown,), answer.cells[:1], ", ".join(said))


def _coefficients(answer: Answer, declared: Mapping[str, Any]) -> Iterator[Panel]:
    """An axis for each slope, which has a unit of its own; those of the keys of a category share one."""
    asked = _asked(answer.name)
    assert asked is not None  # the caller looked
    left, called = asked.columns[0], _called(declared)
    unit = _unit(left, declared) or called.get(left, left)
    title = _title(answer.name, declared, TITLE_LINE)
    rest: list[Cell] = []
    for cell in answer.shown:
        key = str(cell.label[-1][1]) if cell.label else ""
        if key != "intercept" and key not in declared:
            rest.append(cell)
            continue
        units = _unit(left, declared), _unit(key, declared)
        of_slope = slope_unit(called.get(left, left), units[0], called.get(key, key), units[1])
        of_slope = unit if key == "intercept" else of_slope
        scale = PanelScale(("slope", answer.name, key), plain(of_slope), zero=key != "intercept")
        yield Panel("strip", title, scale, (cut(plain(called.get(key, key)), ROW_NAME),), (cell,))
        title = " "  # said above the first
    if rest:
        names = tuple(cut(_slope_words(cell, called), 28) for cell in rest[:MOST_ROWS])
        scale = PanelScale(("slope", answer.name), plain(unit), zero=True)
        yield Panel("strip", title, scale, names, tuple(rest[:MOST_ROWS]))


def _slope_words(cell: Cell, called: Mapping[str, str]) -> str:
    """The name of the slope of a key, ``ward=b``, with the label of its column."""
    column, mark, key = key_words(cell.label[-1][1]).partition("=")
    return f"{plain(called.get(column, column))}{mark}{key}"


def _counts(answer: Answer, asked: Statistic | None, declared: Mapping[str, Any]) -> Iterator[Panel]:
    """Bars of a histogram; of several groups a map where bins are of a list, else small multiples."""
    groups: dict[str, list[Cell]] = {}
    for cell in answer.cells:
        where = label_words(Cell(cell.label[:-1], cell.outcome), _called(declared))
        groups.setdefault(where, []).append(Cell(cell.label[-1:], cell.outcome))
    product = _is_product(answer, asked)
    column = answer.cells[0].label[-1][0] if product else asked.columns[0] if asked and asked.columns else ""
    across = _named(column, declared) if column else ""
    title = _title(answer.name, declared)
    rows = tuple(groups)
    bins = tuple(_bin(cell) for cell in groups[rows[0]])
    cells = tuple(cell for found in groups.values() for cell in found)
    scale = PanelScale((COUNTED, answer.name))
    even = len(cells) == len(rows) * len(bins)
    if len(rows) == 1 or not even:
        for where, found in groups.items():
            said = f"{_title(answer.name, declared, LINE)} · {cut(where, 22)}" if where else title
            yield _bars(said, tuple(found), scale, across)
        return
    names = tuple(cut(row, 24) for row in rows)
    listed = product or declared.get(column, {}).get("kind") == "category"
    if (listed or len(rows) > MOST_MULTIPLES) and len(bins) <= MOST_ROWS:
        kept = cells[: MOST_ROWS * len(bins)]
        more = f"{len(rows) - MOST_ROWS} more in the table" if len(rows) > MOST_ROWS else ""
        note = "; ".join(part for part in (_same_noise(kept), more) if part)
        first, down = [cell.label[:-1] for cell in answer.cells[:: len(bins)]], ""
        if len(first[0]) == 1:  # said at the axis, and not on every row
            down = _named(first[0][0][0], declared)
            names = tuple(cut(key_words(label[0][1]), 24) for label in first)
        yield Panel("map", title, scale, names[:MOST_ROWS], kept, note, None, bins, across, down=down)
    elif len(rows) <= MOST_MULTIPLES:
        yield Panel("multiples", title, scale, names, cells, _crossed(cells, bins), None, bins, across)
    else:
        for where, found in groups.items():
            yield _bars(f"{_title(answer.name, declared, LINE)} · {cut(where, 22)}", tuple(found), scale, across)


def _is_product(answer: Answer, asked: Statistic | None) -> bool:
    """True for numbers of rows or persons by two columns or more."""
    counted = asked is not None and asked.verb in ("count", "persons")
    return counted and len(answer.cells[0].label) > 1


def _bars(title: str, cells: tuple[Cell, ...], scale: PanelScale, across: str) -> Panel:
    notes = [f"{len(cells) - MOST_BARS} more in the table"] if len(cells) > MOST_BARS else []
    note = "; ".join([*notes, *filter(None, [_crossed(cells, cells)])])
    names = tuple(cut(_bin(cell), 28) for cell in cells[:MOST_BARS])
    return Panel("bars", title, scale, names, cells[:MOST_BARS], note, across=across)


def _crossed(cells: Sequence[Cell], bins: Sequence[object]) -> str:
    silent = any(isinstance(cell.outcome, NoReply) for cell in cells)
    return "× is no reply" if silent and (len(bins) > 40 or len(cells) > len(bins)) else ""


def _bin(cell: Cell) -> str:
    return cut(key_words(cell.label[0][1]) if len(cell.label) == 1 else label_words(cell), 28)


def _same_noise(cells: Sequence[Cell]) -> str:
    """The half-width of all numbers of a map, where it is one; and what a cross is."""
    halves = {cell.outcome.value.noise for cell in cells if isinstance(cell.outcome, Reply)}
    silent = any(isinstance(cell.outcome, NoReply) for cell in cells)
    told = [f"each ± {number(math.ceil(halves.pop()))} by noise"] if len(halves) == 1 else []
    return "; ".join([*told, *(["× is no reply"] if silent else [])])


def _laws(name: str, found: Density, declared: Mapping[str, Any]) -> Iterator[Panel]:
    """One panel for a density of one or two columns; one for each column of more, or of two with atoms."""
    columns = [found.marginal(one.column) for one in found.axes] if len(found.axes) > 1 else []
    single = any(one.atoms for one in found.axes)
    parts = [*([found] if len(found.axes) <= 2 else []), *(columns if single or len(columns) > 2 else [])]
    for part in parts:
        told = _title(name if part is found else part.axes[0].column, declared, TITLE)
        named = [_named(one.column, declared) for one in part.axes]
        across, up = (named[0], named[1] if len(named) > 1 else "")
        scale = PanelScale((), plain("density per " + " and ".join(_per(one.column, declared) for one in part.axes)))
        yield Panel("density", cut(f"{told} · {found.method}", 96), scale, density=part, across=across, up=up)


def _per(column: str, declared: Mapping[str, Any]) -> str:
    """One of the units of a column: ``year``, a step of dates, or what it is a unit of."""
    if declared.get(column, {}).get("kind") in ("date", "datetime"):
        return str(declared[column].get("resolution", "day"))
    unit = one_of(_unit(column, declared))
    return unit or f"unit of {_called(declared).get(column, column)}"
