"""Pictures of a released density: a step curve with its band, a map of two columns, margins of more.

Where the method bounds its distribution function as a whole, that function is drawn beside the density, with its band.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.calendar import DAY, Calendar, firsts, text
from reticent.privacy.loss import words
from reticent.synthesis.axis import ROUNDED, Axis
from reticent.synthesis.density_validity import DensityParts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

Floats: TypeAlias = NDArray[np.float64]
INK: Final = "#1f3b57"
SHADE: Final = "#9db7d1"
POINTS: Final = 1025  # of a curve
SHADES: Final = 32  # of a map: a scale of more would be drawn as pixels
TILES: Final = 48  # of a map, along each column
TICKS: Final = 6  # of an axis of dates
STRIDES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # years between ticks
TOWERS: Final = 3.0  # times the highest other probability, from which on a single value has an axis of its own
HEADROOM: Final = 1.15  # above the largest number of an axis
ROOT: Final = 0.5  # power of the scale of colours, so that a peak does not hide the rest


def figure(density: DensityParts) -> Figure:
    """One panel for one or two columns, one for each column beyond, and one for a bounded distribution function.

    Where two columns have atoms, a panel for each column beside the map.
    """
    from matplotlib.figure import Figure

    running = len(density.axes) == 1 and density.wander is not None
    single = len(density.axes) == 2 and any(one.atoms for one in density.axes)
    count = 2 if running else 3 if single else 1 if len(density.axes) <= 2 else len(density.axes)
    drawn = Figure(figsize=(6.4 if count == 1 else 3.4 * count, 4.0), layout="constrained")
    panels = drawn.subplots(1, count, squeeze=False)[0]
    if len(density.axes) == 2:
        plane(density, panels[0])
        for one, panel in zip(density.axes, panels[1:], strict=False):  # none without atoms
            curve(density.marginal(one.column), panel)
    elif running:
        curve(density, panels[0])
        distribution(density, panels[1])
    else:
        for one, panel in zip(density.axes, panels, strict=True):
            curve(density.marginal(one.column) if count > 1 else density, panel)
    drawn.suptitle(f"{density.method}, {words(density.guarantee.loss)}, n = {density.n:,}", fontsize=10)
    return drawn


def curve(density: DensityParts, panel: Axes, *, label: str = "", colour: str = INK, shade: str = SHADE) -> None:
    """The density of one column as steps, with the noise band, and its atoms as stems.

    Parameters
    ----------
    density : Density
        Of one column.
    panel : Axes
        Of matplotlib.
    label, colour, shade : str
    """
    (one,) = density.axes
    marginal = density if density.boxes is None else density.marginal(one.column)
    cuts, sizes = one.cuts, one.sizes
    height = marginal.masses / sizes
    band = marginal.band
    if band is None and density.band is not None and len(density.axes) == 1:  # of the boxes that are shown
        band = density._along(0, density.band)
    if band is not None:
        half = band / sizes
        low, high = np.maximum(height - half, 0.0), height + half
        panel.fill_between(cuts, np.append(low, low[-1]), np.append(high, high[-1]), step="post", color=shade, lw=0)
    apart = _apart(density, height)
    panel.stairs(height, cuts, color=colour, lw=1.2, label=label or None)
    if apart:
        values, masses = zip(*apart, strict=True)
        beside = panel.twinx()
        beside.vlines(values, 0.0, masses, color=colour, lw=2.0)
        beside.plot(values, masses, "o", color=colour, ms=4)
        beside.set_ylim(0.0, min(1.0, HEADROOM * max(masses)) or 1.0)
        beside.set_ylabel("probability of a single value")
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel(one.column)
    each = Calendar(one.step).resolution if one.step else "whole number"
    panel.set_ylabel("density" if not one.whole else f"probability of each {each}")
    date_ticks(one, panel.xaxis)


def _apart(density: DensityParts, height: Floats) -> tuple[tuple[float, float], ...]:
    """Single values that need an axis of their own; others of whole numbers are set as ``height`` of their cells.

    The height of a cell of one whole number is a probability too. A value that towers above all would flatten them.
    """
    (one,) = density.axes
    if not density.atoms:
        return ()
    values, masses = (np.array(part, np.float64) for part in zip(*density.atoms, strict=True))
    cells = np.searchsorted(one.cuts, values, side="right") - 1
    if not one.whole or (one.sizes[cells] != 1.0).any() or masses.max() > TOWERS * height.max(initial=0.0):
        return density.atoms
    np.add.at(height, cells, masses)
    return ()


def distribution(density: DensityParts, panel: Axes, *, label: str = "", colour: str = INK, shade: str = SHADE) -> None:
    """The distribution function of one column with its band.

    Parameters
    ----------
    density : Density
        Of one column.
    panel : Axes
        Of matplotlib.
    label, colour, shade : str
    """
    (one,) = density.axes
    points = np.linspace(one.low, one.high, POINTS)
    heights = density.cdf(points)
    for half, alpha in ((density.within, 0.4), (density.wander, 1.0)):  # of the law, lighter; of the records
        if half is not None:
            low, high = (np.clip(heights + side * half, 0.0, 1.0) for side in (-1.0, 1.0))
            panel.fill_between(points, low, high, color=shade, alpha=alpha, lw=0)
    panel.plot(points, heights, color=colour, lw=1.2, label=label or None)
    panel.set_ylim(0.0, 1.0)
    panel.set_xlabel(one.column)
    panel.set_ylabel(f"probability up to a {'date' if one.step else 'value'}")
    date_ticks(one, panel.xaxis)


def plane(density: DensityParts, panel: Axes) -> None:
    """The density of two columns as a map of tiles, single values included: the mean of each tile."""
    from matplotlib import colormaps
    from matplotlib.colors import PowerNorm

    first, second = density.axes
    across, up, heights = tiles(density)
    shades, norm = colormaps["Blues"].resampled(SHADES), PowerNorm(ROOT, 0.0, float(heights.max()))
    drawn = panel.pcolormesh(across, up, heights.T, cmap=shades, norm=norm)
    panel.figure.colorbar(drawn, ax=panel, label="density")
    panel.set_xlabel(first.column)
    panel.set_ylabel(second.column)
    date_ticks(first, panel.xaxis)
    date_ticks(second, panel.yaxis)


def tiles(density: DensityParts) -> tuple[Floats, Floats, Floats]:
    """Edges of the tiles along two columns, and the mean density in each tile.

    A tile is a cell of the release, or 1 / ``TILES`` of a column that has narrower cells. Nobody would see those, and
    the density of a single value, which is a cell of no width, would leave all else white.
    """
    every, held = [], []
    for place, one in enumerate(density.axes):
        ends = np.arange(one.cells)[:, None] + (0, 1) if density.boxes is None else density.boxes[:, place]
        edges = _tile_edges(one, one.cuts[np.unique(ends)])
        upto = np.interp(edges, one.cuts, one.steps)
        start, stop = one.steps[ends[:, :1]], one.steps[ends[:, 1:]]
        shares = np.diff(np.clip(upto, start, stop), axis=1)
        every.append(edges)
        held.append(shares / shares.sum(axis=1, keepdims=True))
    along, beside = held
    masses = along.T @ (density.masses @ beside if density.boxes is None else density.masses[:, None] * beside)
    return every[0], every[1], masses / np.multiply.outer(np.diff(every[0]), np.diff(every[1]))


def _tile_edges(one: Axis, cuts: Floats) -> Floats:
    """The edges of the cells of a column, or even ones where a cell is narrower than a tile."""
    low, high = float(cuts[0]), float(cuts[-1])
    if np.diff(cuts).min() >= (high - low) / TILES * (1.0 - ROUNDED):
        return cuts
    if one.whole:
        return np.append(np.arange(low, high, math.ceil((high - low) / TILES)), high)
    return np.linspace(low, high, TILES + 1)


def date_ticks(one: Axis, along: XAxis | YAxis) -> None:
    """Ticks at first days of years, quarters or months, or at times, along a column of dates; none else.

    Parameters
    ----------
    one : Axis
        Of the density.
    along : XAxis or YAxis
        Of matplotlib.
    """
    if one.step:
        ticks, words = dates_at(one.low, one.high, one.step)
        along.set_ticks(ticks, words)


def dates_at(low: float, high: float, step: int) -> tuple[list[float], list[str]]:
    """Up to six round dates between two, and their words; at least two.

    Parameters
    ----------
    low, high : float
        In steps of the column.
    step : int
        Seconds of one step.

    Returns
    -------
    tuple of list of float and list of str
    """
    found: tuple[list[float], list[str]] = ([], [])
    for period, length in (("year", 4), ("quarter", 7), ("month", 7), ("week", 10), ("day", 10)):
        days = firsts(int(low), int(high), step, period) if not found[0] or len(found[0]) < TICKS else []
        inside = [day * DAY / step for day in days if low <= day * DAY / step <= high]
        stride = next((n for n in STRIDES if len(inside) <= n * TICKS), STRIDES[-1]) if period == "year" else 1
        kept = [tick for tick in inside if stride == 1 or int(text(tick, step)[:4]) % stride == 0]
        if len(kept) > TICKS:
            break
        if len(kept) >= 2:
            found = (kept, [text(tick, step)[:length] for tick in kept])
    if not found[0]:
        ticks = sorted({low, float(int((low + high) / 2)), high})
        found = (ticks, [text(tick, step) for tick in ticks])
    return found
