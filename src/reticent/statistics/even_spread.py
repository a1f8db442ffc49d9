"""Equal values spread evenly over cells, where private counts show that no cell stands out.

    widths        three public widths of cells, each four times the one before; of a magnitude, or of the bounds
    standing out  values by which cells hold more than both their neighbours together, for each width; noisy
    spread        the values of a cell stand evenly over 1,024 parts of it, at the finest width where few stand out

Rounded values, such as ages or prices in tens, leave gaps, and most candidates lie in the gaps. Spread over cells as
wide as the rounding they leave none. A row added adds at most one to what its cell stands out by, and takes at most one
from each neighbour: a width moves by 2 at most, and by 3 where a row is replaced.

Spread rows keep every count of values below a part within one of what it was (``rank_slices``). Proofs:
docs/proofs/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reticent.data.candidates import Cells, merged
from reticent.data.table import Counts
from reticent.statistics.quantiles.shapes import STANDING
from reticent.statistics.ranks import Runs
from reticent.statistics.unbounded.rank_slices import SLICES, runs_of, whole

PLACES: Final = (8, 6, 4)  # binary places of a width in the range, the finest first
MOVED: Final = 2  # what a row added or removed moves the count of one width by
REPLACED: Final = 3  # the same of a row replaced
DECIDED: Final = 0.35  # noise of at most this share of the values decides


def moved_by(kind: str) -> int:
    """Change of all counts together by one row, added or removed, or replaced (``kind``)."""
    return (REPLACED if kind == "substitute" else MOVED) * len(PLACES)


def widths(among: Cells, bits: int) -> tuple[Cells, ...]:
    """Cells of the widths, the finest first, for a range of 2^``bits`` candidates; none is finer than those.

    Parameters
    ----------
    among : Cells
        Even candidates.
    bits : int
        Of the magnitude, or of the distance of the bounds.

    Returns
    -------
    tuple of Cells
    """
    return tuple(merged(among, max(bits - places, 0)) for places in PLACES)


def placed(among: Cells, to: Cells, data: Counts) -> Counts:
    """Counts by candidate as counts by wider cell, in order.

    Parameters
    ----------
    among, to : Cells
        Even candidates, and cells merged of them.
    data : Counts
        Counts by cell of ``among``, in order.

    Returns
    -------
    Counts
    """
    assert among.step is not None
    assert to.step is not None
    by = int(to.step / among.step).bit_length() - 1
    held = ((np.asarray(data.cells, dtype=np.int64) + (among.origin + ((1 << by) >> 1))) >> by) - to.origin
    if not len(held):
        return Counts(held, np.asarray(data.counts, dtype=np.int64))
    first = np.flatnonzero(np.append(True, held[1:] != held[:-1]))
    return Counts(held[first], np.add.reduceat(np.asarray(data.counts, dtype=np.int64), first))


def standing_out(data: Counts) -> int:
    """Number of values by which cells hold more than both their neighbours together.

    Parameters
    ----------
    data : Counts
        Counts by cell, in order.

    Returns
    -------
    int
    """
    if not len(data.cells):
        return 0
    beside = np.diff(data.cells) == 1
    shared = np.zeros(len(data.cells), dtype=np.int64)
    shared[1:] += np.where(beside, data.counts[:-1], 0)
    shared[:-1] += np.where(beside, data.counts[1:], 0)
    return int(np.maximum(data.counts - shared, 0).sum())


def decided(values: float, unsure: float) -> bool:
    """Tell if a third of so many values, and none, are told apart through noise of at most ``unsure``."""
    return unsure <= DECIDED * values


def chosen(noisy: Sequence[int], values: float, unsure: float) -> int | None:
    """The finest width at which few values stand out; None where there is none, or where noise would decide.

    Parameters
    ----------
    noisy : sequence of int
        Released counts, the finest width first.
    values : float
        Number of values, public or released.
    unsure : float
        Bound of the noise.

    Returns
    -------
    int or None
        Place among the widths.
    """
    if not decided(values, unsure):
        return None
    few = (place for place, count in enumerate(noisy) if count <= STANDING * values)
    return next(few, None)


def spread(cells: Cells, data: Counts) -> Runs:
    """Values spread over the parts of their cells, as runs of parts that are numbered ``cell * SLICES + part``."""
    return runs_of(cells, whole(cells, data))


def apart(cells: Cells, first: int, last: int) -> float | None:
    """Distance of two parts, ends included; None where one of them lies in an outermost cell.

    Parameters
    ----------
    cells : Cells
    first, last : int
        Numbers of parts, in order.

    Returns
    -------
    float or None
    """
    assert cells.step is not None
    if not cells.lowest < first // SLICES or not last // SLICES < cells.highest:
        return None
    return float(cells.step * (last + 1 - first) / SLICES)
