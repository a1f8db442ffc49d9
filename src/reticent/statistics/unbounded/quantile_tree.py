"""Draws of several quantiles as a tree: at each depth the middle level of every part is drawn, and cuts it.

A part between the levels l and h is asked for the share (a - l) / (h - l), where a is the middle one. Rank errors of
the cuts at l and h move what is drawn there, each by the share of the part on the other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from reticent.data.candidates import Cells
from reticent.entropy import Entropy
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.sensitivity import Linf
from reticent.statistics.rank_blocks import with_all
from reticent.statistics.unbounded.column_counts import ROW
from reticent.statistics.unbounded.rank_slices import CandidateRange, cut, runs_of
from reticent.statistics.unbounded.scaled_level import level_of, nothing, pick

Aim = tuple[Fraction, tuple[Fraction, bool]]  # a level, and what it is drawn for


@dataclass(frozen=True, slots=True)
class QuantileLeaf:
    """A part of the table between two cuts at ``least`` and ``most``, and what is to be drawn of it; private."""

    part: CandidateRange
    least: Fraction
    most: Fraction
    aims: tuple[Aim, ...]


@dataclass(frozen=True, slots=True)
class DrawnLevel:
    """A level, the share of it that its part holds, the levels that cut the part, and the epsilon of its depth."""

    level: Fraction
    share: Fraction
    least: Fraction
    most: Fraction
    epsilon: Fraction


def depth_of(levels: int) -> int:
    """Depths of a balanced tree of so many levels."""
    return levels.bit_length()


def widths(levels: int) -> tuple[int, ...]:
    """Number of draws at each depth of a balanced tree of ``levels`` levels, from the root down."""
    found, sizes = [], [levels]
    while sizes:
        found.append(len(sizes))
        sizes = [half for size in sizes for half in (size // 2, size - 1 - size // 2) if half]
    return tuple(found)


def drawn_in_turn(levels: Sequence[Fraction], depths: Sequence[Fraction]) -> Iterator[DrawnLevel]:
    """The draws of the tree, depth by depth; the ends of the table cut it at 0 and 1.

    Parameters
    ----------
    levels : sequence of Fraction
        Rising.
    depths : sequence of Fraction
        Epsilon of a draw at each depth.

    Yields
    ------
    DrawnLevel
    """
    parts = [(tuple(levels), Fraction(0), Fraction(1))]
    for epsilon in depths:
        halves = []
        for inside, least, most in parts:
            place = len(inside) // 2
            q = inside[place]
            yield DrawnLevel(q, (q - least) / (most - least), least, most, epsilon)
            halves += [(inside[:place], least, q), (inside[place + 1 :], q, most)]
        parts = [half for half in halves if half[0]]


@lru_cache(maxsize=256)
def mechanism_of(unit: int, epsilon: Fraction) -> Exponential:
    """The mechanism of a draw whose score a row moves by ``unit``, the same for every level."""
    return Exponential(Linf(Fraction(unit), ROW), epsilon)


@lru_cache(maxsize=256)  # a plan asks the same few thousands of times
def rate_of(unit: int, share: Fraction, epsilon: Fraction) -> float:
    """Exponential rate of the rank error at a level, per rank.

    Parameters
    ----------
    unit : int
        What a row moves a score by.
    share : Fraction
        The level.
    epsilon : Fraction

    Returns
    -------
    float
    """
    return float(mechanism_of(unit, epsilon).rate * level_of(share, ROW.kind).b)


def descended(
    cells: Cells,
    leaves: Sequence[QuantileLeaf],
    mechanism: Exponential,
    into: dict[tuple[Fraction, bool], int],
    entropy: Entropy,
) -> list[QuantileLeaf]:
    """One depth: of every part the middle of its aims is drawn and cuts it.

    Parameters
    ----------
    cells : Cells
        The candidates that are cut into slices.
    leaves : sequence of QuantileLeaf
        The parts, in order.
    mechanism : Exponential
    into : dict
        Takes what is drawn.
    entropy : Entropy

    Returns
    -------
    list of QuantileLeaf
        The parts that are left, in order.
    """
    below = []
    for leaf in leaves:
        if not leaf.aims:
            below.append(leaf)
            continue
        place = len(leaf.aims) // 2
        middle, key = leaf.aims[place]
        share = (middle - leaf.least) / (leaf.most - leaf.least)
        into[key], low, high = _drawn(cells, leaf.part, share, mechanism, entropy)
        below.append(QuantileLeaf(low, leaf.least, middle, leaf.aims[:place]))
        below.append(QuantileLeaf(high, middle, leaf.most, leaf.aims[place + 1 :]))
    return below


def _drawn(
    cells: Cells, part: CandidateRange, share: Fraction, mechanism: Exponential, entropy: Entropy
) -> tuple[int, CandidateRange, CandidateRange]:
    """The slice of one level, and both sides of it; its last one where the part has none."""
    if part.first >= part.stop:
        nothing(mechanism, entropy)
        return part.stop - 1, part, part
    level = level_of(share, ROW.kind)
    at = with_all(part, lambda held: pick(runs_of(cells, held), level, mechanism, entropy))
    return at, *with_all(part, lambda held: cut(held, at))
