"""Rest of a whole-number column beside its atoms: no record of the rest has an atom's value.

emptied(found, atoms)     the density with its cells cut at the atoms, which hold nothing of the rest
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.synthesis.axis import Axis, Floats
from reticent.synthesis.density import Density


def emptied(found: Density, atoms: Sequence[float]) -> Density:
    """A density of one whole-number column whose mass lies beside its atoms; any other comes back as it is.

    A cell of several numbers, one of them an atom, has its mass at the others. A cell that is an atom alone may have
    mass that a smooth method spilt, or noise: it is taken out, and the others are divided by what they hold of all.

    The parts of a cell have its band each: their noises are one, so as a root of squares it is at least enough. If the
    distribution function was within w, an emptied end of the axis errs by at most w and each other cell by at most 2 w.
    An atom strictly inside a cell leaves open the split of its mass between the two sides. So the new one is within w
    (1 + 1 or 2 for each cell) / (1 - a), and the greatest mass of a cell that is cut in two more:
    docs/proofs/densities.md.
    """
    if len(found.axes) != 1 or not found.axes[0].whole or not atoms:
        return found
    (one,) = found.axes
    held = {Fraction(value) for value in atoms if value == int(value) and one.low <= value <= one.high}
    fine = Axis(one.column, tuple(sorted({*one.edges, *held, *(value + 1 for value in held)})), True)
    taken = np.isin(fine.cuts[:-1], [float(value) for value in held])
    start = np.searchsorted(fine.cuts, one.cuts)
    blocks = np.stack([start[:-1], start[1:]], axis=1) if found.boxes is None else start[found.boxes[:, 0, :]]
    parts, of = _split(blocks, taken)
    sizes = fine.steps[parts[:, 1]] - fine.steps[parts[:, 0]]
    whole = np.bincount(of, weights=sizes, minlength=len(blocks))
    alone = np.flatnonzero((whole == 0.0) & (found.masses > 0.0))
    total, left = float(found.masses.sum()), float(found.masses[whole > 0.0].sum())
    if (not len(alone) and len(fine.edges) == len(one.edges)) or left <= 0.0:
        return found
    more = total / left
    masses = more * found.masses[of] * sizes / whole[of]
    cut = np.flatnonzero(np.bincount(of, minlength=len(blocks)) > 1)
    extra = more * float(found.masses[cut].max()) if len(cut) else 0.0
    ends = blocks[alone]
    steps = 1 + sum(1 if low == 0 or high == fine.cells else 2 for low, high in ends.tolist())
    grid = found.boxes is None

    def placed(values: Floats) -> Floats:
        if not grid:
            return values
        laid = np.zeros(fine.cells)
        laid[parts[:, 0]] = values
        return laid

    return replace(
        found,
        axes=(fine,),
        boxes=None if grid else parts[:, None, :],
        masses=placed(masses),
        band=None if found.band is None else placed(np.minimum(found.band[of] * more, 1.0)),
        wander=None if found.wander is None else min(found.wander * steps * more + extra, 1.0),
        grain=None
        if found.grain is None or len(alone)
        else placed(found.grain[of] * more),  # what was spilt is no noise
        shift=None if found.shift is None or len(alone) else placed(more * found.shift[of] * sizes / whole[of]),
    )


def _split(blocks: NDArray[np.int64], taken: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Blocks of cells without the cells that are taken: the stretches that are left, and which block each is of."""
    places = np.flatnonzero(taken)
    first, last = np.searchsorted(places, blocks[:, 0]), np.searchsorted(places, blocks[:, 1])
    whole = np.flatnonzero(first == last)
    parts, of = [blocks[whole]], [whole]
    for block in np.flatnonzero(first < last).tolist():
        edges = [blocks[block, 0], *np.repeat(places[first[block] : last[block]], 2), blocks[block, 1]]
        edges[2:-1:2] = [edge + 1 for edge in edges[2:-1:2]]
        pairs = np.array(edges, np.int64).reshape(-1, 2)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        parts.append(pairs)
        of.append(np.full(len(pairs), block))
    order = np.argsort(np.concatenate(of), kind="stable")
    return np.concatenate(parts)[order], np.concatenate(of)[order]
