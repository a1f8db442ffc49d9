"""The figure of a release: dot = answer, thick bar = privacy noise, thin line = noise and sampling together.

``panels`` says what is drawn on which axes; this module draws it. A strip has a row for each number, its interval in
figures beside it. Bars begin at zero. A no reply is said in words where the number would be. Colours differ in
lightness, so that they stay apart in grey. The SVG has no date, no metadata, no picture of pixels, and fixed names
inside, so that one certificate always gives the same file.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from reticent import calendar
from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.cross import half_width
from reticent.certificate.render.panels import (
    COUNTED,
    MOST_ARMS,
    Panel,
    PanelScale,
    drawable,
    edges_of,
    noise_ends,
    panels,
)
from reticent.certificate.render.tables import number, signed
from reticent.certificate.render.ticks import apart, date_ticks, few, formatter
from reticent.data.format import are_years
from reticent.outcome import Estimate, NoReply, Reply
from reticent.statistics.answer import Cell, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from reticent.synthesis.axis import Axis

DOT, NOISE, BOTH, GREY, INK, BAR = "#0b4f85", "#7db8e8", "#3f4750", "#6b7280", "#1f2328", "#cfe3f5"
WIDTH: Final = 7.2  # inches
MOST_PANELS: Final = 40
MOST_TICKS: Final = 12
WHOLE: Final = ("rows", "persons")  # axes without a half
MULTIPLES: Final = 3  # in a row
SHADES: Final = 32  # of a map: more would be drawn as pixels
ROOM: Final = 84  # characters below an axis
DIGITS: Final = 1.4  # a digit of a date is so many times as wide as a letter of a word
SMALL_ROOM: Final = 30  # below one of three beside each other
LETTER: Final = 0.062  # inches of one of a tick
WHOLE_NUMBER: Final = re.compile(r"-?\d{1,9}")
RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
WRITTEN: Final = 16  # columns of a map whose numbers are written into it


def figure(certificate: CertificateRecord) -> Figure:
    """The release as a matplotlib figure; it belongs to no window and no pyplot state."""
    return figure_of(panels(certificate))


def figure_of(every: Sequence[Panel]) -> Figure:
    """Panels below each other as a matplotlib figure."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown = every[:MOST_PANELS] or [Panel("strip", "no answers", PanelScale(()))]
    heights = [panel.height for panel in shown]
    layout = ConstrainedLayoutEngine(h_pad=0.05, w_pad=0.06, hspace=0.0)
    drawn = Figure(figsize=(WIDTH, sum(heights) + 0.55), layout=layout)
    grid = drawn.add_gridspec(len(shown), 1, height_ratios=heights)
    strips: dict[tuple[str, ...], list[tuple[Panel, Axes]]] = {}
    for place, panel in enumerate(shown):
        match panel.form:
            case "strip":
                axes = drawn.add_subplot(grid[place])
                _strip(axes, panel)
                strips.setdefault(panel.scale.key, []).append((panel, axes))
            case "bars":
                axes = drawn.add_subplot(grid[place])
                _titled(axes, panel)
                _bars(axes, panel.cells, panel.names, panel.across, panel.up)
                _small_ticks([axes])
            case "multiples":
                _multiples(drawn, grid[place], panel)
            case "map":
                axes = drawn.add_subplot(grid[place])
                _map(axes, panel)
            case "density":
                _density(drawn, grid[place], panel)
    room = _room_of(shown)
    for together in strips.values():
        _same_ends(together, room)
    drawn.supxlabel(_legend(shown, len(every) - len(shown)), x=0.02, ha="left", fontsize=7.5, color=GREY)
    return drawn


def pdf(certificate: CertificateRecord) -> bytes:
    """The same figure as a PDF of lines and text, without a date."""
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a script that the font lacks
        figure(certificate).savefig(
            out, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
        )
    return out.getvalue()


def svg(certificate: CertificateRecord) -> str:
    """The same figure as SVG text: no date, no metadata, no address it would load, text as text."""
    return as_svg(figure(certificate), "reticent")


def as_svg(drawn: Figure, salt: str) -> str:
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a script that the measuring font lacks; the reader's browser has it
        drawn.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = _same_names(text, salt)
    return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, system-ui, sans-serif")


def _same_names(text: str, salt: str) -> str:
    """Name each clip by what is written of it: its last digits differ from one process to the next, and so its name."""
    for place, (name, clip) in enumerate(re.findall(r'<clipPath id="(\w+)">(.*?)</clipPath>', text, flags=re.DOTALL)):
        text = text.replace(name, "p" + hashlib.sha256(f"{salt} {place} {clip}".encode()).hexdigest()[:10])
    return text


@dataclass(frozen=True, slots=True)
class IntervalBar:
    """An interval drawn in a line of a table: pixels from the left of a box of 120, and colours."""

    low: float
    high: float
    left: float
    right: float
    value: float
    line: str = GREY
    shade: str = NOISE
    dot: str = DOT


def bar(cell: Cell, span: tuple[float, float] | None = None) -> IntervalBar | None:
    """One cell on the axis ``span`` (low, high), by default its own interval; None where there is nothing to draw."""
    match cell.outcome:
        case NoReply():
            return None
        case Reply(Estimate(value, low, high) as estimate):
            start, end = span or (low, high)
            if not end - start > 0 or not math.isfinite(end - start):
                return None

            def x(point: float) -> float:
                return 4 + 112 * min(max((point - start) / (end - start), 0.0), 1.0)

            inner = noise_ends(estimate)
            return IntervalBar(x(low), x(high), x(inner[0]), x(inner[1]), x(value))


# --- strips -----------------------------------------------------------------------------------------------------------


def _titled(axes: Axes, panel: Panel) -> None:
    if panel.heading.strip():
        axes.set_title(
            panel.heading, loc="left", fontsize=9, color=INK, pad=4 if panel.density is None else 9, parse_math=False
        )
    quiet(axes)
    axes.tick_params(labelsize=8, length=3, color=GREY, labelcolor=INK)


def quiet(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
        axes.spines[side].set_linewidth(0.6)


def _estimates(cells: Iterable[Cell]) -> Iterator[tuple[int, Estimate]]:
    """The replies that can be drawn, with their places."""
    for place, cell in enumerate(cells):
        estimate = drawable(cell)
        if estimate is not None:
            yield place, estimate


def _strip(axes: Axes, panel: Panel) -> None:
    """One row per number, the first on top, its interval in figures at the right."""
    _titled(axes, panel)
    found = list(_estimates(panel.cells))
    ys, seen = [-place for place, _ in found], [estimate for _, estimate in found]
    noise = [noise_ends(e) for e in seen]
    axes.hlines(ys, [low for low, _ in noise], [high for _, high in noise], color=NOISE, linewidth=6, zorder=2)
    axes.hlines(ys, [e.low for e in seen], [e.high for e in seen], color=BOTH, linewidth=1.3, zorder=3)
    axes.plot([e.value for e in seen], ys, "o", color=DOT, markersize=4.5, zorder=4)
    drawn = {place for place, _ in found}
    margin = axes.get_yaxis_transform()
    for place, (cell, told) in enumerate(zip(panel.cells, beside(panel), strict=True)):
        if place in drawn:
            axes.text(1.01, -place, told, transform=margin, fontsize=7.5, color=INK, va="center")
        else:
            said = "no reply" if isinstance(cell.outcome, NoReply) else "see the table"
            axes.text(0.01, -place, said, transform=margin, fontsize=8, color=GREY, va="center")
    axes.set_ylim(-max(len(panel.cells), 1) + 0.4, 0.6)
    axes.spines["left"].set_visible(False)
    if not found:
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
    if panel.scale.label and found:
        axes.set_xlabel(panel.scale.label, fontsize=8, color=INK, labelpad=2, parse_math=False)
    axes.set_yticks([-place for place in range(len(panel.names))], panel.names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    for name in axes.get_yticklabels():
        if "\n" in name.get_text():
            name.set(fontsize=6.8, linespacing=1.15)


def beside(panel: Panel) -> Iterator[str]:
    """The numbers of each row of a strip, in figures; nothing beside a no reply."""
    for place, cell in enumerate(panel.cells):
        text = printed(cell, bare=place in panel.bare)
        if text is None or text.interval == "–":
            yield "" if text is None else signed(text.value)
        else:
            yield f"{signed(text.value)} ({signed(text.interval)})"


def _room_of(shown: Sequence[Panel]) -> float:
    """Inches of an axis of strips, between the longest name and the longest numbers beside one."""
    strips = [panel for panel in shown if panel.form == "strip"]
    names = (len(line) for panel in strips for name in panel.names for line in name.split("\n"))
    numbers = (len(text) for panel in strips for text in beside(panel))
    return WIDTH - LETTER * (max(names, default=0) + max(numbers, default=0)) - 0.3


def _few_ticks(axes: Axes, room: float, *, whole: bool, years: bool) -> None:
    """Ticks along a strip, so few that their texts stand apart."""
    for most in (7, 5, 4, 3, 2):
        axes.locator_params(axis="x", nbins=most, integer=whole)
        ticks = [float(tick) for tick in axes.get_xticks()]
        told = formatter(ticks, years=years)
        if (LETTER * max(len(told(tick, 0)) for tick in ticks) + 0.15) * most <= room:
            break
    axes.xaxis.set_major_formatter(told)


def _same_ends(together: Sequence[tuple[Panel, Axes]], room_along: float) -> None:
    """One scale for panels of one kind and unit, with zero where that is what numbers are compared with."""
    seen = [estimate for panel, _ in together for _, estimate in _estimates(panel.cells)]
    if not seen:
        return
    ends = [end for e in seen for end in (e.low, e.high, e.value)]
    ends += [panel.reference for panel, _ in together if panel.reference is not None]
    if together[0][0].scale.zero:
        ends.append(0.0)
    low, high = min(ends), max(ends)
    room = (high - low) * 0.04 or max(abs(low), 1.0) * 0.1
    for panel, axes in together:
        if panel.scale.zero:
            axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        if panel.reference is not None:
            axes.axvline(panel.reference, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.set_xlim(low - room, high + room)
        if any(True for _ in _estimates(panel.cells)):
            if step := seen[0].step:
                axes.set_xticks(date_ticks(low, high, step))
                axes.xaxis.set_major_formatter(partial(_date, step))
                continue
            _few_ticks(axes, room_along, whole=panel.scale.key[0] in WHOLE, years=all(one.years for one in seen))


def _date(step: int, tick: float, _place: object) -> str:
    """A tick at a date."""
    return calendar.text(tick, step)


# --- counts -----------------------------------------------------------------------------------------------------------


def _bars(
    axes: Axes, cells: Sequence[Cell], names: Sequence[str], across: str, up: str, most: int = MOST_TICKS
) -> None:
    found = list(_estimates(cells))
    xs, seen = [place for place, _ in found], [estimate for _, estimate in found]
    width = 0.86 if len(cells) <= 60 else 1.0
    thick, thin = (5.0 if len(cells) <= 30 else 2.0), (1.1 if len(cells) <= 60 else 0.3)
    noise = [noise_ends(e) for e in seen]
    axes.bar(xs, [e.value for e in seen], width=width, color=BAR, edgecolor=GREY, linewidth=0.3, zorder=1)
    axes.vlines(xs, [low for low, _ in noise], [high for _, high in noise], color=NOISE, linewidth=thick, zorder=2)
    axes.vlines(xs, [e.low for e in seen], [e.high for e in seen], color=BOTH, linewidth=thin, zorder=3)
    axes.plot(xs, [e.value for e in seen], "o", color=DOT, markersize=min(3.0, thick), zorder=4)
    for place in sorted(set(range(len(cells))) - set(xs)):
        said = "no reply" if isinstance(cells[place].outcome, NoReply) else "see the table"
        _said(axes, place, said if len(cells) <= 40 and most == MOST_TICKS else "×")
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.set_xlim(-0.6, len(cells) - 0.4)
    axes.set_ylabel(up, fontsize=8, color=INK)
    if across:
        axes.set_xlabel(across, fontsize=8, color=INK, labelpad=2, parse_math=False)
    _bin_names(axes, names, most)


def _small_ticks(together: Sequence[Axes]) -> None:
    """One height for bars that are compared by it."""
    ends = [axes.get_ylim() for axes in together]
    for axes in together:
        axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
        axes.locator_params(axis="y", nbins=5)
        axes.yaxis.set_major_formatter(formatter([float(tick) for tick in axes.get_yticks()]))


def _multiples(drawn: Figure, place: SubplotSpec, panel: Panel) -> None:
    """The bars of each group, three in a row, all of one height."""
    rows, bins = -(-len(panel.names) // MULTIPLES), len(panel.columns)
    inner = place.subgridspec(rows, min(MULTIPLES, len(panel.names)))
    every: list[Axes] = []
    for at, name in enumerate(panel.names):
        axes = drawn.add_subplot(inner[at // MULTIPLES, at % MULTIPLES])
        quiet(axes)
        axes.tick_params(labelsize=7, length=2, color=GREY, labelcolor=INK)
        last = at + MULTIPLES >= len(panel.names)
        own, across = panel.cells[at * bins : (at + 1) * bins], panel.across if last else ""
        _bars(axes, own, panel.columns, across, panel.up, 4)
        note = f"   ({panel.note})" if panel.note else ""
        above = f"{panel.title}{note}\n" if at == 0 else ""
        axes.set_title(f"{above}{name}", loc="left", fontsize=8, color=INK, pad=3, parse_math=False)
        if at % MULTIPLES:
            axes.set_ylabel("")
            axes.tick_params(labelleft=False)
        if not last:
            axes.tick_params(labelbottom=False)
        every.append(axes)
    _small_ticks(every)


def _map(axes: Axes, panel: Panel) -> None:
    """A two-way table as shades of one colour, the darker the more, with its numbers where they fit."""
    import numpy as np
    from matplotlib import colormaps

    rows, bins = len(panel.names), len(panel.columns)
    values = np.full((rows, bins), np.nan)
    for place, estimate in _estimates(panel.cells):
        values[divmod(place, bins)] = estimate.value
    norm = _norm(panel)
    drawn = axes.pcolormesh(
        values, cmap=colormaps["Blues"].resampled(SHADES), norm=norm, edgecolors="white", linewidth=0.6
    )
    _shades(axes, drawn, panel)
    for place, cell in enumerate(panel.cells):
        row, column = divmod(place, bins)
        value = values[row, column]
        if isinstance(cell.outcome, NoReply):
            axes.text(column + 0.5, row + 0.5, "×", ha="center", va="center", fontsize=8, color=GREY)
        elif bins <= WRITTEN and math.isfinite(value):
            ink = "white" if norm(float(value)) > 0.55 else INK
            told, size = _written(cell, panel)
            axes.text(column + 0.5, row + 0.5, told, ha="center", va="center", fontsize=size, color=ink)
    axes.invert_yaxis()
    _titled(axes, panel)
    axes.set_yticks([row + 0.5 for row in range(rows)], panel.names, parse_math=False)
    axes.tick_params(length=0)
    step = -(-bins // 30)
    places = range(0, bins, step)
    axes.set_xticks([place + 0.5 for place in places], [panel.columns[place] for place in places], parse_math=False)
    _slanted(axes, [panel.columns[place] for place in places])
    if panel.across:
        axes.set_xlabel(panel.across, fontsize=8, color=INK, labelpad=2, parse_math=False)
    if panel.down:
        axes.set_ylabel(panel.down, fontsize=8, color=INK, parse_math=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _written(cell: Cell, panel: Panel) -> tuple[str, float]:
    """The number of a cell of a map, with the arm of its interval where that fits and others differ; and its size."""
    bins = len(panel.columns)
    value = number(cell.outcome.value.value) if isinstance(cell.outcome, Reply) else ""
    if panel.scale.key[0] == COUNTED:
        return value, 7 if bins <= 10 else 5.5
    told = signed(half_width(cell, bare=bool(panel.bare)))
    return (told, 7 if bins <= 6 else 5.5) if bins <= MOST_ARMS else (told.partition(" ")[0], 5.5)


def _norm(panel: Panel) -> Normalize:
    """Shades of counts by their roots, from zero; of other numbers evenly, over no less than an interval is wide."""
    from matplotlib.colors import Normalize, PowerNorm

    seen = [estimate for _, estimate in _estimates(panel.cells)]
    most = max((e.value for e in seen), default=0.0)
    if panel.scale.key[0] == COUNTED:
        return PowerNorm(0.5, 0.0, max(most, 0.0) or 1.0, clip=True)
    least = min((e.value for e in seen), default=0.0)
    if panel.scale.zero:
        least, most = min(least, 0.0), max(most, 0.0)
    lack = max(sorted(e.high - e.low for e in seen)[len(seen) // 2] if seen else 1.0, 0.0) - (most - least)
    room = lack / 2 if lack > 0 else 0.0 if most > least else 0.5
    return Normalize(least - room, most + room, clip=True)


def _shades(axes: Axes, drawn: QuadMesh, panel: Panel) -> None:
    """The scale of the shades of a map, in the margin where other panels have their figures."""
    beside = axes.inset_axes((1.015, 0.05, 0.02, 0.9))
    bar = axes.figure.colorbar(drawn, cax=beside)
    bar.set_label(panel.up, fontsize=8, color=INK, parse_math=False)
    beside.tick_params(labelsize=7, length=2, color=GREY, labelcolor=INK)
    bar.outline.set_linewidth(0.6)
    low, high = drawn.get_clim()
    ticks = [float(tick) for tick in few().tick_values(low, high) if low <= tick <= high]
    told = apart(ticks, high) if panel.scale.key[0] == COUNTED else ticks
    bar.set_ticks(told)
    beside.yaxis.set_major_formatter(formatter(told))


def _said(axes: Axes, place: int, said: str) -> None:
    turned = 90 if len(said) > 1 else 0
    above = axes.get_xaxis_transform()
    axes.text(place, 0.02, said, transform=above, fontsize=7.5, color=GREY, ha="center", rotation=turned)


def _bin_names(axes: Axes, names: Sequence[str], most: int) -> None:
    """Names of the bars: every one while they fit, else every so many, slanted where they are long.

    Bars of a scale have the edges between them in place of names.
    """
    if edges := edges_of(names):
        step = -(-len(edges) // (most + 1))
        axes.set_xticks([place - 0.5 for place in range(0, len(edges), step)], edges[::step], parse_math=False)
        _slanted(axes, edges[::step], ROOM if most == MOST_TICKS else SMALL_ROOM)
        return
    places = _named_places(names, most)
    axes.set_xticks(places, [names[place] for place in places], parse_math=False)
    _slanted(axes, [names[place] for place in places], ROOM if most == MOST_TICKS else SMALL_ROOM)


def _named_places(names: Sequence[str], most: int) -> list[int]:
    """Places of the bars that are named, at most so many: of whole numbers in a row the round ones, else evenly."""
    step = -(-len(names) // most)
    first = int(names[0]) if names and WHOLE_NUMBER.fullmatch(names[0]) else None
    if step > 1 and first is not None and list(names) == [str(first + place) for place in range(len(names))]:
        power = 10 ** (len(str(step)) - 1)
        step = next(power * times for times in (1, 2, 5, 10) if power * times >= step)
        return list(range(-first % step, len(names), step))
    return list(range(0, len(names), step))


def _slanted(axes: Axes, names: Sequence[str], room: int = ROOM) -> None:
    wide = DIGITS if names and calendar.is_moment(names[0]) else 1.0
    if wide * max(map(len, names), default=0) * len(names) > room:
        axes.tick_params(axis="x", labelrotation=35)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


# --- densities --------------------------------------------------------------------------------------------------------


def _density(drawn: Figure, place: SubplotSpec, panel: Panel) -> None:
    """A map of two columns; of one a curve, beside the distribution function and its bands where they are bounded."""
    from reticent.synthesis import drawing

    found = panel.density
    assert found is not None  # a panel of this form has one
    running = len(found.axes) == 1 and found.wander is not None
    inner = place.subgridspec(1, 2 if running else 1)
    axes = drawn.add_subplot(inner[0, 0])
    others = set(drawn.axes)
    if len(found.axes) == 2:
        drawing.plane(found, axes)
        axes.set_ylabel(panel.up, fontsize=8, parse_math=False)
        if not found.axes[1].step:
            years = _of_years(found.axes[1])
            axes.yaxis.set_major_formatter(formatter([float(tick) for tick in axes.get_yticks()], years=years))
        for one in set(drawn.axes) - others:
            _small_numbers(one, panel.scale.label)
    else:
        drawing.curve(found, axes, colour=DOT, shade=NOISE)
        if axes.get_ylabel() == "density":
            _small_numbers(axes, panel.scale.label)
    for one in set(drawn.axes) - others:  # a scale of single values, or of shades
        one.tick_params(labelsize=8, length=3, color=GREY, labelcolor=INK)
        one.yaxis.label.set_fontsize(8)
        for side in one.spines.values():
            side.set_linewidth(0.6)
            side.set_color(GREY)
        one.spines["top"].set_visible(len(found.axes) == 2)
    every = [axes]
    if running:
        beside = drawn.add_subplot(inner[0, 1])
        drawing.distribution(found, beside, colour=DOT, shade=NOISE)
        every.append(beside)
    _titled(axes, panel)
    for one in every:
        quiet(one)
        one.tick_params(labelsize=8, length=3, color=GREY, labelcolor=INK)
        one.set_xlabel(panel.across, fontsize=8, labelpad=2, parse_math=False)
        if not found.axes[0].step:
            years = _of_years(found.axes[0])
            one.xaxis.set_major_formatter(formatter([float(tick) for tick in one.get_xticks()], years=years))
        one.yaxis.label.set_fontsize(8)


def _of_years(axis: Axis) -> bool:
    return are_years(float(axis.edges[0]), float(axis.edges[-1]))


def _small_numbers(axes: Axes, label: str) -> None:
    """Words and ticks of a scale of densities: a power of ten stands in the words, so that ticks are short."""
    _, most = axes.get_ylim()
    power = math.floor(math.log10(most)) if most > 0.0 else 0
    times = 1.0 if -3 < power < 4 else 10.0**power
    said = f" (10{str(power).translate(RAISED)})" if times != 1.0 else ""
    ticks = [float(tick) for tick in few().tick_values(0.0, most) if 0.0 <= tick <= most]
    ticks = apart(ticks, most) if axes.yaxis.get_scale() == "function" else ticks
    axes.set_yticks(ticks)
    told = formatter([tick / times for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, place: told(value / times, place))
    axes.set_ylabel(f"{label}{said}", fontsize=8, parse_math=False)


# --- words ------------------------------------------------------------------------------------------------------------


def _legend(shown: Sequence[Panel], left_out: int) -> str:
    drawn = [panel for panel in shown if panel.density is not None or any(True for _ in _estimates(panel.cells))]
    levels = {e.level for panel in drawn for _, e in _estimates(panel.cells)}
    level = f"{100 * max(levels, default=0.95):g} %"
    told = []
    if any(panel.form in ("strip", "bars", "multiples") for panel in drawn):
        told.append(f"dot: answer · thick: privacy noise · thin: noise and sampling together, {level}")
    if any(panel.reference is not None for panel in shown):
        told.append("dashed: all groups together")
    if any(panel.form == "map" for panel in drawn):
        maps = [panel for panel in drawn if panel.form == "map" and panel.scale.key[0] != COUNTED]
        arms = any(len(panel.columns) <= MOST_ARMS for panel in maps)
        told.append(f"shade: as the bar beside it says{f', ± at {level}' if arms else ''}")
    laws = [panel.density for panel in shown if panel.density is not None]
    if any(len(found.axes) == 2 for found in laws):
        told.append("shade: density of two columns, as the bar beside it says")
    if any(len(found.axes) == 1 for found in laws):
        told.append("line: density or distribution · band: privacy noise, lighter: noise and sampling, 95 %")
    if left_out:
        told.append(f"{left_out} more in the table")
    lines = [told[0]] if told else []
    for part in told[1:]:
        joined = f"{lines[-1]} · {part}"
        lines[-1:] = [joined] if len(joined) <= 110 else [lines[-1], part]
    return "\n".join(lines)


def alternative(certificate: CertificateRecord) -> str:
    """Text alternative of the figure for readers who do not see it."""
    names = ", ".join(answer.name for answer in certificate.answers)
    return f"Answers with their intervals: {names}. The same numbers are in the table above."
