"""Parts of a column put together: values with a mass of their own beside the density of the rest.

Everything here was released. The noise of the number of each part adds to that of what is in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis, Floats
from reticent.synthesis.density import Density


@dataclass(frozen=True, slots=True)
class MixtureNoise:
    """Half-widths of the number of records of one part, and of the rest, at 95 %.

    ``lost`` is the noisy number of records without a value, where it was counted.
    """

    part: float
    rest: float
    lost: float | None = None


def at_values(rest: Density, number: float, counts: Sequence[tuple[Fraction, float]], noise: MixtureNoise) -> Density:
    """A density of one column with atoms.

    Parameters
    ----------
    rest : Density
        Of the records that are at none.
    number : float
        How many these are; 0 where the noise hides them.
    counts : sequence of (value, number of records)
    noise : Noise

    Returns
    -------
    Density
        Density with a probability at each value.
    """
    found = emptied(rest, [float(value) for value, _ in counts])
    beside = sum(count for _, count in counts)
    total = max(number + beside, 1.0)
    share = 1.0 - beside / total
    masses = tuple((float(value), count / total) for value, count in counts)
    absent = None if noise.lost is None else noise.lost / max(noise.lost + total, 1.0)
    most = max([*(mass for _, mass in masses), absent or 0.0])
    off = (noise.part * len(counts) + noise.rest * beside / total) / total
    return replace(
        found,
        masses=found.masses * share,
        n=max(round(total), 1),
        atoms=masses,
        missing=absent,
        band=None if found.band is None else found.band * share,
        wander=None if found.wander is None else min(found.wander * share + off, 1.0),
        grain=None if found.grain is None else found.grain * share,
        shift=None if found.shift is None else found.shift * share,
        beside=min(math.hypot(noise.part, noise.rest * most) / total, 1.0) if counts or absent is not None else None,
    )


def laid_out(masses: Floats, one: Axis, fine: Axis) -> Floats:
    """Masses of the cells of a column in the finer ones, none of them in those that are atoms.

    Parameters
    ----------
    masses : array of float, one for each cell of ``one``
    one, fine : Axis

    Returns
    -------
    array of float, one for each cell of ``fine``
    """
    of = np.minimum(np.searchsorted(one.cuts, fine.cuts[:-1], side="right") - 1, one.cells - 1)
    size = fine.lengths.copy()
    size[fine.lone] = 0.0
    whole = np.bincount(of, weights=size, minlength=one.cells)
    found: Floats = masses[of] * np.divide(size, whole[of], out=np.zeros_like(size), where=whole[of] > 0.0)
    return found
