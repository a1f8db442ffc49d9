"""The figure of a release: dot = answer, thick bar = privacy noise, thin line = noise and sampling together.

Answers have different units, so each has a panel of its own: a strip for one number, a strip of rows for groups or
several quantiles, bars for a histogram. A no reply is said in words where the number would be. The SVG has no date, no
metadata and fixed names inside, so that one certificate always gives the same file.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from reticent.certificate.record import Record
from reticent.certificate.render.tables import key_words, label_words, number
from reticent.data.format import plain
from reticent.outcome import Estimate, NoReply, Reply
from reticent.statistics.answer import Answer, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from reticent.synthesis.density import Density

DOT, NOISE, BOTH, GREY, INK, BAR = "#0b4f85", "#7db8e8", "#3f4750", "#6b7280", "#1f2328", "#cfe3f5"
WIDTH: Final = 7.2  # inches
MOST_PANELS: Final = 40
MOST_ROWS: Final = 60
MOST_BARS: Final = 1000
MOST_TICKS: Final = 12
LARGEST: Final = 1e100  # beyond it a number is in the table only


@dataclass(frozen=True, slots=True)
class Panel:
    """Content of one pair of axes: some cells of the answer ``of``."""

    of: str
    title: str
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    bars: bool
    note: str = ""
    density: Density | None = None

    @property
    def height(self) -> float:
        """Inches, title and ticks included."""
        if self.density is not None:
            return 2.7 if len(self.density.axes) == 1 else 4.2
        return 2.3 if self.bars else 0.72 + 0.24 * (len(self.cells) - 1)


def figure(certificate: Record) -> Figure:
    """The release as a matplotlib figure; it belongs to no window and no pyplot state."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    every = [panel for answer in certificate.answers for panel in _panels(answer)]
    shown = every[:MOST_PANELS] or [Panel("", "no answers", ("",), (), bars=False)]
    layout = ConstrainedLayoutEngine(h_pad=0.05, w_pad=0.06, hspace=0.0)
    drawn = Figure(figsize=(WIDTH, sum(panel.height for panel in shown) + 0.45), layout=layout)
    grid = drawn.add_gridspec(len(shown), 1, height_ratios=[panel.height for panel in shown])
    placed = [drawn.add_subplot(grid[place]) for place in range(len(shown))]
    for axes, panel in zip(placed, shown, strict=True):
        _frame(axes, panel)
        if panel.density is not None:
            _density(axes, panel.density)
        elif panel.bars:
            _histogram(axes, panel)
        else:
            _rows(axes, panel)
    _same_scale([(panel.of, axes) for panel, axes in zip(shown, placed, strict=True) if panel.bars])
    drawn.supxlabel(_legend(certificate, len(every) - len(shown)), x=0.02, ha="left", fontsize=7.5, color=GREY)
    return drawn


def svg(certificate: Record) -> str:
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
    return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, system-ui, sans-serif")


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval drawn in a line of a table: pixels from the left of a box of 120, and colours."""

    low: float
    high: float
    left: float
    right: float
    value: float
    line: str = GREY
    shade: str = NOISE
    dot: str = DOT


def bar(cell: Cell, span: tuple[float, float] | None = None) -> Bar | None:
    """One cell on the axis ``span`` (low, high), by default its own interval; None where there is nothing to draw."""
    match cell.outcome:
        case NoReply():
            return None
        case Reply(Estimate(value, low, high, noise)):
            start, end = span or (low, high)
            if not end - start > 0 or not math.isfinite(end - start):
                return None

            def x(point: float) -> float:
                return 4 + 112 * min(max((point - start) / (end - start), 0.0), 1.0)

            return Bar(x(low), x(high), x(value - noise), x(value + noise), x(value))


# panels


def _panels(answer: Answer) -> Iterator[Panel]:
    """One panel for an answer; one per group for a histogram by group; a curve or a map for a density."""
    if answer.law is not None:
        yield from _laws(answer.name, cast("Density", answer.law))  # an answer knows it by its protocol
        return
    if answer.name.startswith("test(") and len(answer.cells) == 3:
        yield _test(answer)
        return
    if not answer.name.startswith("histogram") or len(answer.cells) < 2:
        yield _panel(answer.name, _cut(plain(answer.name), 60), answer.shown, bars=False)
        return
    groups: dict[str, list[Cell]] = {}
    for cell in answer.cells:
        where = label_words(Cell(cell.label[:-1], cell.outcome))
        groups.setdefault(where, []).append(Cell(cell.label[-1:], cell.outcome))
    for where, cells in groups.items():
        name = plain(answer.name)
        title = f"{_cut(name, 36)} · {_cut(where, 22)}" if where else _cut(name, 60)
        yield _panel(answer.name, title, tuple(cells), bars=True)


def _laws(name: str, found: Density) -> Iterator[Panel]:
    """One panel for a density of one or two columns; one for each column of more, or of two with atoms."""
    columns = [found.marginal(one.column) for one in found.axes] if len(found.axes) > 1 else []
    single = any(one.atoms for one in found.axes)
    parts = [*([found] if len(found.axes) <= 2 else []), *(columns if single or len(columns) > 2 else [])]
    for part in parts:
        told = f"{plain(name)} · {found.method}" if part is found else f"{plain(part.axes[0].column)} · {found.method}"
        yield Panel(name, _cut(told, 80), (), (), bars=False, density=part)


def _density(axes: Axes, found: Density) -> None:
    from reticent.synthesis import drawing

    if len(found.axes) == 2:
        drawing.plane(found, axes)
    else:
        drawing.curve(found, axes, colour=DOT, shade=NOISE)


def _panel(of: str, title: str, cells: tuple[Cell, ...], *, bars: bool) -> Panel:
    most = MOST_BARS if bars else MOST_ROWS
    crossed = bars and len(cells) > 40 and any(isinstance(cell.outcome, NoReply) for cell in cells)
    notes = [f"{len(cells) - most} more in the table"] if len(cells) > most else []
    note = "; ".join([*notes, "× is no reply"] if crossed else notes)
    single = all(len(cell.label) == 1 and cell.label[0][0] == cells[0].label[0][0] for cell in cells)
    names = [key_words(cell.label[0][1]) if single and bars else label_words(cell) for cell in cells]
    return Panel(of, title, tuple(_cut(name, 28) for name in names[:most]), cells[:most], bars, note)


def _test(answer: Answer) -> Panel:
    """The effect of a test on its own scale; statistic and p-value, which have none, are said beside the name."""
    said = [
        f"{key_words(cell.label[0][1])} {number(cell.outcome.value.value)}"
        for cell in answer.cells[1:]
        if isinstance(cell.outcome, Reply)
    ]
    shown = _panel(answer.name, plain(answer.name), answer.cells[:1], bars=False)
    return replace(shown, names=(key_words(answer.cells[0].label[0][1]),), note=", ".join(said))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _estimates(panel: Panel) -> Iterator[tuple[int, Estimate]]:
    """The replies that can be drawn, with their places."""
    for place, cell in enumerate(panel.cells):
        match cell.outcome:
            case Reply(estimate) if max(map(abs, (estimate.value, estimate.low, estimate.high))) < LARGEST:
                yield place, estimate
            case _:
                continue


def _frame(axes: Axes, panel: Panel) -> None:
    title = f"{_cut(panel.title, 58 - len(panel.note))}   ({panel.note})" if panel.note else panel.title
    axes.set_title(title, loc="left", fontsize=9, color=INK, pad=4, parse_math=False)
    quiet(axes)
    axes.tick_params(labelsize=8, length=3, color=GREY, labelcolor=INK)


def quiet(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
        axes.spines[side].set_linewidth(0.6)


def _rows(axes: Axes, panel: Panel) -> None:
    """One row per cell, the first on top."""
    found = list(_estimates(panel))
    ys, seen = [-place for place, _ in found], [estimate for _, estimate in found]
    noise = [e.value - e.noise for e in seen], [e.value + e.noise for e in seen]
    axes.hlines(ys, *noise, color=NOISE, linewidth=6, zorder=1)
    axes.hlines(ys, [e.low for e in seen], [e.high for e in seen], color=BOTH, linewidth=1.3, zorder=2)
    axes.plot([e.value for e in seen], ys, "o", color=DOT, markersize=4.5, zorder=3)
    drawn = {place for place, _ in found}
    for place, cell in enumerate(panel.cells):
        if place not in drawn:
            said = "no reply" if isinstance(cell.outcome, NoReply) else "see the table"
            axes.text(0.01, -place, said, transform=axes.get_yaxis_transform(), fontsize=8, color=GREY, va="center")
    axes.set_ylim(-len(panel.cells) + 0.4, 0.6)
    axes.spines["left"].set_visible(False)
    if found:
        _ticks(axes, [end for _, e in found for end in (e.low, e.high, e.value - e.noise, e.value + e.noise)])
    else:
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
    axes.set_yticks([-place for place in range(len(panel.names))], panel.names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    if panel.names == ("",):
        axes.set_yticks([])


def _histogram(axes: Axes, panel: Panel) -> None:
    found = list(_estimates(panel))
    xs, seen = [place for place, _ in found], [estimate for _, estimate in found]
    width = 0.86 if len(panel.cells) <= 60 else 1.0
    thick, thin = (5.0 if len(panel.cells) <= 30 else 2.0), (1.1 if len(panel.cells) <= 60 else 0.3)
    noise = [e.value - e.noise for e in seen], [e.value + e.noise for e in seen]
    axes.bar(xs, [e.value for e in seen], width=width, color=BAR, zorder=1)
    axes.vlines(xs, *noise, color=NOISE, linewidth=thick, zorder=2)
    axes.vlines(xs, [e.low for e in seen], [e.high for e in seen], color=BOTH, linewidth=thin, zorder=3)
    axes.plot(xs, [e.value for e in seen], "o", color=DOT, markersize=min(3.0, thick), zorder=4)
    for place in sorted(set(range(len(panel.cells))) - {place for place, _ in found}):
        said = "no reply" if isinstance(panel.cells[place].outcome, NoReply) else "see the table"
        _said(axes, place, said if len(panel.cells) <= 40 else "×")
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.set_xlim(-0.6, len(panel.cells) - 0.4)
    _bin_names(axes, panel.names)


def _same_scale(bars: list[tuple[str, Axes]]) -> None:
    """The histograms of one answer, a panel for every group, on one scale: bars are compared by their height."""
    for of in {name for name, _ in bars}:
        together = [axes for name, axes in bars if name == of]
        ends = [axes.get_ylim() for axes in together]
        for axes in together:
            axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
            axes.locator_params(axis="y", nbins=5)
            axes.yaxis.set_major_formatter(_formatter([float(tick) for tick in axes.get_yticks()]))


def _said(axes: Axes, place: int, said: str) -> None:
    turned = 90 if len(said) > 1 else 0
    above = axes.get_xaxis_transform()
    axes.text(place, 0.02, said, transform=above, fontsize=7.5, color=GREY, ha="center", rotation=turned)


def _bin_names(axes: Axes, names: Sequence[str]) -> None:
    """Names of the bars: every one while they fit, else every so many, slanted where they are long."""
    step = -(-len(names) // MOST_TICKS)
    places = list(range(0, len(names), step))
    long = max(len(names[place]) for place in places) * len(places) > 84
    axes.set_xticks(places, [names[place] for place in places], parse_math=False)
    if long:
        axes.tick_params(axis="x", labelrotation=35)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _ticks(axes: Axes, ends: list[float]) -> None:
    """Room around the intervals, and few ticks with their thousands separated."""
    low, high = min(ends), max(ends)
    room = (high - low) * 0.06 or max(abs(low), 1.0) * 0.1
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=7)
    axes.xaxis.set_major_formatter(_formatter([float(tick) for tick in axes.get_xticks()]))


def _formatter(ticks: Sequence[float]) -> Callable[[float, float], str]:
    """The same decimals on every tick of an axis, as few as their step allows."""
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else 1.0
    places = next((d for d in range(7) if abs(step * 10**d - round(step * 10**d)) < 1e-6 * step * 10**d), None)
    if places is None or max(map(abs, ticks)) >= 1e12:
        return lambda value, _: f"{value:.4g}"
    return lambda value, _: number(value, places)


def _legend(certificate: Record, left_out: int) -> str:
    levels = {e.level for a in certificate.answers for panel in _panels(a) for _, e in _estimates(panel)}
    level = f"{100 * max(levels, default=0.95):g} %"
    more = f" · {left_out} more in the table" if left_out else ""
    numbers = f"dot: answer · thick: privacy noise · thin: noise and sampling together, {level}{more}"
    curves = "line: density · shade: privacy noise, 95 %"
    which = {answer.law is not None for answer in certificate.answers}
    return numbers if which <= {False} else curves if which == {True} else f"{numbers} · {curves}"


def alternative(certificate: Record) -> str:
    """Text alternative of the figure for readers who do not see it."""
    names = ", ".join(answer.name for answer in certificate.answers)
    return f"Answers with their intervals: {names}. The same numbers are in the table above."
