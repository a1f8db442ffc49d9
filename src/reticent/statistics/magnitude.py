"""Magnitude of a column without bounds, by the exponential mechanism, and the candidates that are even at that scale.

    magnitude    the binade of a quantile of |x|, out of all binades: a few candidates, so few values are enough
    candidates   even cells out to 16 times its upper end; what lies beyond counts in the end cells

A prior with equal mass in every binade crowds at 0: the half of its mass within a thousandth of the data's size
outweighs a few hundred ranks, and the draw is 0 or next to it. It is used for the magnitude alone, where it does no
harm: within one binade even cells differ by a factor of two at most. Far from 0 the even cells are fine enough for a
column a million times its spread away (``SPREADS``).

The binade of a value is a function of the value, so the score moves as that of any quantile does
(docs/proofs/quantiles.md). The released binade chooses the cells that are drawn from afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.candidates import (
    FINE,
    FINEST,
    LEAST,
    MOST,
    REACH,
    USUAL,
    Cells,
    Segment,
    coarser,
    even,
    numbered,
)
from reticent.data.query_result import Counts
from reticent.privacy.numbers import rough, to_digits
from reticent.statistics.ranks import Runs, cell_share, runs

WIDER: Final = 4  # binades that the candidates reach beyond the magnitude
SPREADS: Final = 10**6  # values this many times their spread away from 0, or within bounds as wide, are told
NEAR: Final = 10**3  # the same of values that a wide interval shall say something of
UNKNOWN: Final = 24  # bits of the candidates where ties were not asked for; FINE where there are, else FINEST
FAR_BINADE: Final = 17  # of values about 100,000 steps from 0
DOUBLES: Final = 57  # bits of the range of whole numbers: doubles hold them up to 2^53


def binades(base: Cells) -> Cells:
    """The candidates: 0 for values below all binades, then the binades, with the mass that ``base`` gives them."""
    if base.step is not None:
        return Cells((Segment(0, MOST + 1, 1),), Fraction(1), True)
    if base.least == LEAST:
        return Cells((Segment(0, MOST - LEAST + 1, 1),), Fraction(1), True)
    usual, beyond, last = LEAST - base.least + 1, MOST - base.least + 1, REACH - base.least + 1
    parts = [(0, 1, USUAL), (1, usual, 1), (usual, beyond, USUAL), (beyond, last, 1)]
    return Cells(tuple(Segment(*part) for part in parts), Fraction(1), True)


def level(levels: Sequence[Fraction]) -> Fraction:
    """The level of |x| whose binade is asked for, so that the outermost of ``levels`` is within reach.

    No quantile at q lies further out than that of |x| at max(q, 1 - q). Of several quantiles half as far into the tails
    is enough, and asks for fewer values: a tail without a mean is twice as far out there at most. A single quantile
    has a level of its own, below which most values may be 0.
    """
    outside = min(min(q, 1 - q) for q in levels)
    return 1 - min(outside if len(levels) == 1 else 2 * outside, Fraction(1, 2))


def by_binade(base: Cells, data: Counts) -> Runs:
    """Values by their binade, each looked at by itself."""
    among, data = binades(base), data.sizes
    sums = np.zeros(among.highest + 1, dtype=np.int64)
    for part in data.pieces():
        size = np.abs(np.clip(part.cells, base.lowest, base.highest))
        if base.step is None:
            held = np.where(size == 0, 0, ((size - 1) >> base.fine) + 1)
        else:
            held = np.frexp(size.astype(np.float64))[1].astype(np.int64)
        np.add.at(sums, np.clip(held, 0, among.highest), np.asarray(part.counts, dtype=np.int64))
    found = np.flatnonzero(sums)
    return runs(among, Counts(found.astype(np.int64), sums[found], data.hidden))


def flat(base: Cells, binade: int, bits: int) -> Cells:
    """Even cells from -16 to 16 times the upper end of a binade, 2^``bits`` for that end and no finer than the base.

    Parameters
    ----------
    base : Cells
        Candidates of the column.
    binade : int
        Magnitude, a power of two in steps of the base.
    bits : int
        Accuracy, in binary places of that magnitude.

    Returns
    -------
    Cells
        Cells of equal weight.
    """
    if base.step is None:
        step = Fraction(2) ** (base.least + binade - bits)
        last = 1 << (bits + WIDER)
        return Cells((Segment(-last, last + 1, 1),), step, False)
    by = max(binade - bits, 0)
    last = 1 << (binade + WIDER - by)
    return Cells((Segment(-last, last + 1, 1),), base.step * (1 << by), base.whole and by == 0)


def candidates(base: Cells, binade: int | None, *, tied: bool | None, most: int = DOUBLES) -> Cells:
    """Candidates of a quantile: even cells about a magnitude, or as far as bounds go, or the prior.

    Parameters
    ----------
    base : Cells
        The cells that rows are kept in.
    binade : int or None
        The magnitude, of no use where there are bounds; None where none is bought. 0, for most values are 0, says
        nothing of the others: then the prior stands.
    tied : bool or None
        Whether many values are equal: an atom is one cell then, and must be told from all others. None where it was
        not asked.
    most : int
        Most bits of the range of whole numbers; fewer where cells are cut into parts.

    Returns
    -------
    Cells
        Cells with their public weights.
    """
    bits = FINEST if tied is False else FINE if tied else UNKNOWN
    if base.free and not binade:
        return coarser(base, bits)
    if base.free and binade:
        return flat(base, binade, bits if base.step is None else most - WIDER)
    if base.step is None:
        made = even(base.edges(base.lowest)[0], base.edges(base.highest)[1], bits)
    elif base.whole or len(base.segments) > 1:
        made = Cells((Segment(base.lowest, base.highest + 1, 1),), base.step, base.whole)
    else:
        made = coarser(base, bits)
    return numbered(made, most)


def share(base: Cells, among: Cells, *, tied: bool | None, spreads: int = SPREADS) -> float:
    """The least share of the candidates that the values a draw aims at are taken to have.

    For tied values it is the share of one cell. For others it is the share of a column's spread. That column lies
    ``spreads`` times its spread away from 0, or in the middle of bounds so far apart. Under the prior it is the share
    of a cell of 2^-20 of a binade.

    Parameters
    ----------
    base : Cells
        Candidates of the column.
    among : Cells
        Candidates of the draw.
    tied : bool or None
        True if values are tied, False if not, None if it is not known.
    spreads : int
        How many of its spreads the column lies away from 0.

    Returns
    -------
    float
        Share in (0, 1].
    """
    if among.free:
        return cell_share(among if tied is not False else coarser(among, FINE))
    single = 1.0 / sum((s.stop - s.first) * s.weight for s in among.segments)
    if tied is not False:
        return single
    return max(single, 1.0 / ((2 << (WIDER if base.free else 0)) * spreads))


def rarest(base: Cells) -> float:
    """The least share that a magnitude has among all."""
    return _share_of(base, min)


def usual_share(base: Cells) -> float:
    """The share that a usual magnitude has among all."""
    return _share_of(base, max)


def _share_of(base: Cells, chosen: Callable[[Iterable[int]], int]) -> float:
    segments = binades(base).segments
    return chosen(s.weight for s in segments) / sum((s.stop - s.first) * s.weight for s in segments)


def edges(base: Cells, among: Cells, at: int) -> tuple[float, float]:
    """The ends of a candidate; the outermost ones stand for all beyond and reach as far as the column does.

    Parameters
    ----------
    base : Cells
        Candidates of the column.
    among : Cells
        Candidates of the draw.
    at : int
        Number of a cell of ``among``.

    Returns
    -------
    tuple of float and float
        Lower and upper end, in units of the column.
    """
    low, high = among.edges(at)
    if at == among.lowest:
        low = min(low, base.edges(base.lowest)[0])
    if at == among.highest:
        high = max(high, base.edges(base.highest)[1])
    return float(low), float(high)


def usual_binade(base: Cells) -> int:
    """The binade that plans suppose: of values about 1 in size, of whole numbers about 100, and of 1,000 steps."""
    return 1 - base.least if base.step is None else 7 if base.whole else 10


def far_binade(base: Cells) -> int | None:
    """The binade of values far from 0; None where no magnitude changes the number of candidates."""
    return FAR_BINADE if base.free and base.step is not None else None


def reach(base: Cells) -> str:
    """The largest size that is told apart, as a plan says it; empty within bounds, which it says elsewhere."""
    return f"; reads values of up to {rough(float(base.edges(base.highest)[1]))} in size" if base.free else ""


def at_the_end(base: Cells, among: Cells, at: int) -> str:
    """Caveat of a drawn value that stands for all beyond it, empty if it does not.

    Parameters
    ----------
    base : Cells
        Candidates of the column.
    among : Cells
        Candidates of the draw.
    at : int
        Number of the cell that was drawn.

    Returns
    -------
    str
        Sentence without its stop.
    """
    low, high = among.edges(at)
    value = to_digits(float(among.value(at)))
    if at == among.highest or high > base.edges(base.highest)[0]:
        return f"drawn at the highest candidate, {value}: all values above it count as that"
    if at == among.lowest or low < base.edges(base.lowest)[1]:
        return f"drawn at the lowest candidate, {value}: all values below it count as that"
    return ""


def between(among: Cells, first: int, last: int) -> Cells:
    """The candidates between two that were released; the outermost stand for all beyond.

    Parameters
    ----------
    among : Cells
        Candidates of the draws.
    first, last : int
        Numbers of two cells of ``among``, in order.

    Returns
    -------
    Cells
    """
    return replace(among, segments=(Segment(first, last + 1, 1),))


def middle(among: Cells, first: int, last: int) -> int:
    """The candidate in the middle of two, in the unit of the column.

    Parameters
    ----------
    among : Cells
        Candidates of the draws.
    first, last : int
        Numbers of two cells of ``among``, in any order.

    Returns
    -------
    int
        Number of a cell of ``among``.
    """
    if among.step is not None:
        return round(Fraction(first + last, 2))
    value = (among.value(first) + among.value(last)) / 2
    return int(among.index(np.array([float(value)]))[0])
