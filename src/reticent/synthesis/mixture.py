"""Densities of the parts of a column, or of several, put together: values with a mass of their own beside the rest.

    at_values(rest, counts, ...)      one column: ``Density.atoms`` beside the density of the rest
    joined(rest, values, parts, ...)  several: each atom is a cell of its axis, and beside it the others have their law

Everything here was released. The noise of the number of each part adds to that of what is in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis, Floats, with_atoms
from reticent.synthesis.density import Density


@dataclass(frozen=True, slots=True)
class AtomPart:
    """Records at an atom of some columns: their number, and the density of the other columns.

    Attributes
    ----------
    at : tuple of (Fraction or None)
        The atom of each column, None where the records are at none.
    count : float
        >= 0.
    density : Density or None
        Of the columns without an atom, on the grid of the rest; None where there are none.
    """

    at: tuple[Fraction | None, ...]
    count: float
    density: Density | None


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
        beside=min(math.hypot(noise.part, noise.rest * most) / total, 1.0) if counts or absent is not None else None,
    )


def joined(rest: Density, number: float, parts: Sequence[AtomPart], noise: MixtureNoise) -> Density:
    """A density of several columns in whose axes atoms are cells of their own.

    Parameters
    ----------
    rest : Density
        Of the records at no atom.
    number : float
        How many these are; 0 where the noise hides them.
    parts : sequence of AtomPart
    noise : Noise

    Returns
    -------
    Density
        Density on axes with those cells.

    Notes
    -----
    What a part says of a cell of the grid that is cut by an atom is at the others of its values.
    """
    axes = rest.axes
    total = max(number + sum(part.count for part in parts), 1.0)
    values = [sorted({part.at[place] for part in parts} - {None}) for place in range(len(axes))]  # type: ignore[type-var]
    fine = [with_atoms(one, [each for each in of if each is not None]) for one, of in zip(axes, values, strict=True)]
    shares = [_shares(one, cut) for one, cut in zip(axes, fine, strict=True)]
    masses, band, grain = (np.zeros([one.cells for one in fine]) for _ in range(3))
    wander = 0.0
    everywhere = (None,) * len(axes)
    for part in (AtomPart(everywhere, number, rest), *parts):
        place = tuple(
            slice(None) if atom is None else int(one.lone[one.atoms.index(atom)])
            for one, atom in zip(fine, part.at, strict=True)
        )
        weight, free = part.count / total, [k for k, atom in enumerate(part.at) if atom is None]
        if part.density is None:
            masses[place] += weight
            continue
        of = part.density
        laid = _laid(of.masses, [shares[k] for k in free])
        masses[place] += weight * laid / max(float(laid.sum()), 1e-300)
        for into, half in ((band, of.band), (grain, of.grain)):
            if half is not None:
                into[place] += weight * _laid(half, [(shares[k] > 0.0).astype(np.float64) for k in free])
        wander += weight * (of.wander or 0.0)
    off = (noise.part * len(parts) + noise.rest * (1.0 - number / total)) / total
    absent = None if noise.lost is None else noise.lost / max(noise.lost + total, 1.0)
    most = max([*(part.count / total for part in parts), absent or 0.0])
    return replace(
        rest,
        axes=tuple(fine),
        masses=masses / masses.sum(),
        n=max(round(total), 1),
        missing=absent,
        band=np.minimum(band, 1.0),
        wander=min(wander + off, 1.0),
        grain=np.minimum(grain, 1.0),
        beside=min(math.hypot(noise.part, noise.rest * most) / total, 1.0),
    )


def margin(of: Density, places: Sequence[int]) -> Density:
    """The density of some of the columns of the rest, for a part of which too little is known."""
    others = tuple(place for place in range(len(of.axes)) if place not in places)
    masses = of.masses.sum(axis=others)
    return Density(
        tuple(of.axes[place] for place in places),
        masses / masses.sum(),
        of.method,
        of.guarantee,
        of.n,
        wander=of.wander,
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


def _shares(one: Axis, fine: Axis) -> Floats:
    """The share of each cell in each of the finer ones, none of it in those that are atoms: shape (cells, finer)."""
    found = np.zeros((one.cells, fine.cells))
    of = np.searchsorted(one.cuts, fine.cuts[:-1], side="right") - 1
    size = fine.sizes.copy()
    size[fine.lone] = 0.0
    found[np.minimum(of, one.cells - 1), np.arange(fine.cells)] = size
    whole = found.sum(axis=1, keepdims=True)
    made: Floats = np.divide(found, whole, out=np.zeros_like(found), where=whole > 0.0)
    return made


def _laid(values: Floats, shares: Sequence[NDArray[np.float64]]) -> Floats:
    """Values of cells on a finer grid."""
    for place, share in enumerate(shares):
        values = np.moveaxis(np.tensordot(share, values, axes=(0, place)), 0, place)
    return values
