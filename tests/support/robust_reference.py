"""Robust distances by their definitions: shortest paths over all small tables, and output laws written out.

Nothing here is taken from ``reticent.statistics.robust``. A table is a sorted tuple of integers; +-``END`` stand for
the infinities. A change replaces one value (substitution), or puts one in or takes one out (add/remove).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

END = 1 << 61
Table = tuple[int, ...]
Law = dict[Hashable, float]


def tables(domain: Sequence[int], size: int) -> list[Table]:
    """All tables of ``size`` values."""
    return list(itertools.combinations_with_replacement(sorted(domain), size))


@cache
def replaced(table: Table, domain: tuple[int, ...]) -> tuple[Table, ...]:
    """Neighbours by substitution."""
    found = {tuple(sorted((*table[:i], value, *table[i + 1 :]))) for i in range(len(table)) for value in domain}
    return tuple(sorted(found - {table}))


@cache
def added(table: Table, domain: tuple[int, ...]) -> tuple[Table, ...]:
    """Tables with one value more."""
    return tuple(sorted({tuple(sorted((*table, value))) for value in domain}))


@cache
def removed(table: Table) -> tuple[Table, ...]:
    """Tables with one value less."""
    return tuple(sorted({(*table[:i], *table[i + 1 :]) for i in range(len(table))}))


def paths(
    all_tables: Iterable[Table], near: Callable[[Table], Iterable[Table]], goal: Callable[[Table], bool]
) -> dict[Table, int]:
    """The fewest steps from each table to one with ``goal``; tables that cannot get there are left out."""
    everything = set(all_tables)
    edge = [table for table in everything if goal(table)]
    steps = dict.fromkeys(edge, 0)
    while edge:
        beyond = []
        for table in edge:
            for other in near(table):
                if other in everything and other not in steps:
                    steps[other] = steps[table] + 1
                    beyond.append(other)
        edge = beyond
    return steps


def to_other_class(
    all_tables: Sequence[Table], near: Callable[[Table], Iterable[Table]], of: Callable[[Table], Hashable]
) -> dict[Table, int]:
    """The fewest steps from each table to one of another class."""
    found: dict[Table, int] = {}
    for kind in {of(table) for table in all_tables}:
        steps = paths(all_tables, near, lambda table, kind=kind: of(table) != kind)  # type: ignore[misc]
        found |= {table: k for table, k in steps.items() if of(table) == kind}
    return found


def statistic(table: Table, rank: int) -> int:
    """x_(rank), infinite beyond the ends."""
    if rank < 1:
        return -END
    return END if rank > len(table) else table[rank - 1]


def width(table: Table, low: int, high: int) -> float:
    """x_(high) - x_(low), infinite where one of them is."""
    a, b = statistic(table, low), statistic(table, high)
    return math.inf if abs(a) == END or abs(b) == END else b - a


@cache
def log_bin(w: float, binade: int, span: int, shift: int) -> Hashable:
    """The bin of a width: whole powers of 2^(span / binade), ``shift`` cells late."""
    return ("end", w) if w in (0, math.inf) else (log_cell(w, binade) - shift) // span


@cache
def log_cell(w: float, binade: int) -> int:
    """The cell of a width, by searching upwards; 0 and infinity far beyond all others."""
    if w in (0, math.inf):
        return -(10**9) if w == 0 else 10**9
    cell = 0
    while 2 ** (cell + 1) <= int(w) ** binade:
        cell += 1
    return cell


# Laws


def noise(rate: float, k: int) -> float:
    """P(Z = k) proportional to exp(-rate |k|)."""
    a = math.exp(-rate)
    return (1 - a) / (1 + a) * a ** abs(k)


def reaches(rate: float, least: int) -> float:
    """P(Z >= least)."""
    a = math.exp(-rate)
    return a**least / (1 + a) if least > 0 else 1 - a ** (1 - least) / (1 + a)


@dataclass(frozen=True)
class Ending:
    """One test in a row of them: its distance, and the centre, rate and name of what a reply releases."""

    distance: int
    centre: int
    rate: float  # of the release noise; infinite for none
    named: Hashable = ""  # released beside the value


def law(endings: Sequence[Ending], rate: float, threshold: int, *, far: int = 60) -> Law:
    """Of the first reply: (name, value) or None; noise beyond ``far`` scales is left out."""
    found: Law = {}
    silent = 1.0
    for ending in endings:
        chance = silent * reaches(rate, threshold - ending.distance)
        reach = 0 if math.isinf(ending.rate) else math.ceil(far / ending.rate)
        for k in range(-reach, reach + 1):
            key = (ending.named, ending.centre + k)
            share = 1.0 if math.isinf(ending.rate) else noise(ending.rate, k)
            found[key] = found.get(key, 0.0) + chance * share
        silent *= 1 - reaches(rate, threshold - ending.distance)
    found[None] = silent
    return found


def delta(here: Mapping[Hashable, float], there: Mapping[Hashable, float], epsilon: float) -> float:
    """The least delta at which ``epsilon`` holds for this ordered pair: the hockey-stick divergence."""
    grown = math.exp(epsilon)
    return math.fsum(max(0.0, p - grown * there.get(key, 0.0)) for key, p in here.items())


def worst(
    laws: Mapping[Table, Mapping[Hashable, float]], pairs: Iterable[tuple[Table, Table]], epsilon: float
) -> float:
    """The greatest delta over pairs of neighbours, in both directions."""
    return max((max(delta(laws[a], laws[b], epsilon), delta(laws[b], laws[a], epsilon)) for a, b in pairs), default=0.0)
