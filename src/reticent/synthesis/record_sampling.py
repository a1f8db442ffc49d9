"""Made-up records of a released density, drawn from coins that are no noise of any release."""

from __future__ import annotations

import numpy as np

from reticent.entropy import Entropy, uniforms
from reticent.synthesis.density_validity import DensityParts, Floats


def sampled(density: DensityParts, count: int, entropy: Entropy) -> Floats:
    """Records drawn from a density with these coins: shape (count,) or (count, columns).

    Parameters
    ----------
    density : Density
        A released density.
    count : int
        Number of records, >= 0.
    entropy : Entropy
        Source of the coins. Drawing is free: it reads no rows.

    Returns
    -------
    array of shape (count,) or (count, columns), float
        In the units of the columns.
    """
    boxes = density.boxes
    flat = density.masses.ravel()
    ends = np.cumsum(np.concatenate([flat, [mass for _, mass in density.atoms]]))
    pick = np.searchsorted(ends, uniforms(count, entropy) * ends[-1], side="right")
    pick = np.minimum(pick, int(np.searchsorted(ends, ends[-1], side="left")))
    atom = pick >= len(flat)
    inside = np.where(atom, 0, pick)
    columns = []
    grid = None if boxes is not None else np.unravel_index(inside, density.masses.shape)
    for place, one in enumerate(density.axes):
        share = uniforms(count, entropy)
        if grid is not None:
            columns.append(one.within(grid[place].astype(np.int64), share))
            continue
        assert boxes is not None
        first, stop = boxes[inside, place].T
        run = one.steps[first] + share * (one.steps[stop] - one.steps[first])
        cell = np.clip(np.searchsorted(one.steps, run, side="right") - 1, first, stop - 1)
        columns.append(one.within(cell, np.clip((run - one.steps[cell]) / one.sizes[cell], 0.0, 1.0 - 2.0**-53)))
    if density.atoms:
        values = np.array([value for value, _ in density.atoms])
        columns[0] = np.where(atom, values[np.where(atom, pick - len(flat), 0)], columns[0])
    columns = [one.snapped(values) for one, values in zip(density.axes, columns, strict=True)]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
