"""Pictures of a released density: a step curve with its band, a map of two columns, margins of more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.privacy.loss import words
from reticent.synthesis.density import Density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK: Final = "#1f3b57"
SHADE: Final = "#9db7d1"


def figure(density: Density) -> Figure:
    """One panel for one or two columns, one for each column beyond."""
    from matplotlib.figure import Figure

    count = 1 if len(density.axes) <= 2 else len(density.axes)
    drawn = Figure(figsize=(6.4 if count == 1 else 3.4 * count, 4.0), layout="constrained")
    panels = drawn.subplots(1, count, squeeze=False)[0]
    if len(density.axes) == 2:
        plane(density, panels[0])
    else:
        for one, panel in zip(density.axes, panels, strict=True):
            curve(density.marginal(one.column) if count > 1 else density, panel)
    drawn.suptitle(f"{density.method}, {words(density.guarantee.loss)}, n = {density.n:,}", fontsize=10)
    return drawn


def curve(density: Density, panel: Axes, *, label: str = "", colour: str = INK, shade: str = SHADE) -> None:
    """The density of one column as steps, with the noise band, and its atoms as stems."""
    (one,) = density.axes
    marginal = density if density.boxes is None else density.marginal(one.column)
    cuts, sizes = one.cuts, one.sizes
    height = marginal.masses / sizes
    if marginal.band is not None:
        half = marginal.band / sizes
        low, high = np.maximum(height - half, 0.0), height + half
        panel.fill_between(cuts, np.append(low, low[-1]), np.append(high, high[-1]), step="post", color=shade, lw=0)
    panel.stairs(height, cuts, color=colour, lw=1.2, label=label or None)
    if density.atoms:
        values, masses = zip(*density.atoms, strict=True)
        beside = panel.twinx()
        beside.vlines(values, 0.0, masses, color=colour, lw=2.0)
        beside.plot(values, masses, "o", color=colour, ms=4)
        beside.set_ylim(0.0, 1.0)
        beside.set_ylabel("probability of a single value")
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel(one.column)
    panel.set_ylabel("density" if not one.whole else "probability of each whole number")


def plane(density: Density, panel: Axes) -> None:
    """The density of two columns as a map."""
    first, second = density.axes
    if density.boxes is None:
        heights = density.masses / np.multiply.outer(first.sizes, second.sizes)
        mesh = panel.pcolormesh(first.cuts, second.cuts, heights.T, cmap="Blues", vmin=0.0)
    else:
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        cuts, boxes = (first.cuts, second.cuts), density.boxes
        sides = [(cut[boxes[:, k, 0]], cut[boxes[:, k, 1]]) for k, cut in enumerate(cuts)]
        spans = [stop - start for start, stop in sides]
        patches = [
            Rectangle((x, y), width, height)
            for x, y, width, height in zip(sides[0][0], sides[1][0], *spans, strict=True)
        ]
        found = PatchCollection(patches, cmap="Blues", edgecolor="none")
        found.set_array(density.masses / (spans[0] * spans[1]))
        panel.add_collection(found)
        panel.set_xlim(first.cuts[0], first.cuts[-1])
        panel.set_ylim(second.cuts[0], second.cuts[-1])
        panel.figure.colorbar(found, ax=panel, label="density")
        mesh = None
    if mesh is not None:
        panel.figure.colorbar(mesh, ax=panel, label="density")
    panel.set_xlabel(first.column)
    panel.set_ylabel(second.column)
