"""Questions of robust statistics to a column of integers: order statistics, counts below a value, sums between ranks.

    rank        ..., 0  |  1, 2, ..., size  |  size + 1, ...
    x_(rank)    -inf    |  sorted values    |  +inf

Ranks are public and counted from below. Under add/remove the size is private, and a rank beyond it is +inf like any
other infinite value. ``LARGEST`` stands for infinity on the integer grid. The width of an interval is infinite if an
end is, from +inf to +inf too. Rows that are not there therefore never look like rows that agree. It grows with the
upper end and falls with the lower one, which is all the proofs need (docs/proofs/robust.md, section 1).

An engine answers ``window`` by order statistics in a range of ranks, and ``below`` by one filtered count. It answers
``total`` by one filtered sum and the two order statistics at its ends. ``SortedColumn`` answers them in memory,
``RunLength`` from distinct values and their counts. Distances are capped, so all that any mechanism here asks lies in
windows of *public* ranks (``needs``): an engine fetches them before a width is known, and ``FetchedColumn`` answers
from them. A column stays in its engine. A sample says where to look, exact counts say what was found:

    sample --> bracket [low, high] for a window of ranks --> #{x < low}, and the values inside with their counts
    verified:  #{x < low} < first rank,  and  #{x < low} + (values inside) >= last rank
    not so:    a bracket eight times as wide, at last the whole column, which always holds

The sample is a work plan and nothing else: what is returned is the same for every sample, good or bad, so accuracy and
privacy do not depend on it. Approximate quantiles are never an answer, since their sensitivity is not known.

Memory and transfer grow with the distinct values inside the brackets: with a sample of m values a bracket of one rank
holds about 8 sqrt(p (1 - p) / m) of the column at rank p n: 1.2 % at most for m = 2^17.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError

Integers = NDArray[np.int64]

LARGEST: Final = 1 << 61  # infinity among values
ABSENT: Final = -(1 << 63)  # the first entry of a record that lacks a value
INFINITE: Final = 1 << 62  # infinity among widths: above every finite one
STRIDE: Final = 1 << 12  # places from one that a search of a sorted sequence looks at first to the next
TOGETHER: Final = 256  # of these stretches, at most, that are read at once


class Order(Protocol):
    """A column of integers within +-LARGEST, in order. Ranks are >= 1 within it; beyond its ends it is infinite."""

    def window(self, first: int, last: int) -> Integers:
        """x_(first), ..., x_(last)."""
        ...

    def below(self, value: int) -> int:
        """Number of values strictly below ``value``."""
        ...

    def total(self, first: int, last: int) -> int:
        """x_(first) + ... + x_(last), with LARGEST for infinity."""
        ...


class StoredIntegers(Protocol):
    """Integers that are read by place when they are looked at."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: slice | Integers) -> Integers: ...

    def part(self, first: int, last: int) -> StoredIntegers:
        """Those from place ``first`` to before ``last``, which are not read."""
        ...


IntegerSequence = Integers | StoredIntegers


def stretch(entries: IntegerSequence, first: int, last: int) -> IntegerSequence:
    """The entries from one place to before another; they are neither copied nor read.

    Parameters
    ----------
    entries : sequence of int
    first, last : int
        Places.

    Returns
    -------
    sequence of int
    """
    return entries[first:last] if isinstance(entries, np.ndarray) else entries.part(first, last)


def places_below(
    entries: IntegerSequence, index: Integers, values: Integers, move: Callable[[Integers], Integers] | None = None
) -> Integers:
    """Number of entries of a sorted sequence that are strictly below each of some values.

    Parameters
    ----------
    entries : sequence of int
        Ascending.
    index : array of int
        Every ``STRIDE``-th entry, the first one among them, moved.
    values : array of int
    move : callable, optional
        Monotone map of entries before they are compared; few of them are moved.

    Returns
    -------
    array of int
        One number for each value.
    """
    found = np.zeros(len(values), np.int64)
    stretch = np.searchsorted(index, values, "left") - 1  # the last that begins below the value
    order = np.argsort(stretch, kind="stable")
    spans, firsts = np.unique(stretch[order] // TOGETHER, return_index=True)
    for span, (begin, end) in zip(spans.tolist(), pairwise([*firsts.tolist(), len(order)]), strict=True):
        if span >= 0:
            some = order[begin:end]
            first, last = (int(stretch[some[at]]) * STRIDE for at in (0, -1))
            read = entries[first : last + STRIDE]
            low = stretch[some] * STRIDE - first
            found[some] = first + _bisected(read, low, values[some], move)
    return found


def _bisected(read: Integers, low: Integers, values: Integers, move: Callable[[Integers], Integers] | None) -> Integers:
    """The first places that are not below their values, in the stretches from ``low`` on."""
    high = np.minimum(low + STRIDE, len(read))
    while np.any(open_ := low < high):
        middle = (low + high) >> 1
        seen = read[np.minimum(middle, len(read) - 1)]
        lower = (seen if move is None else move(seen)) < values
        low, high = np.where(open_ & lower, middle + 1, low), np.where(open_ & ~lower, middle, high)
    return low


def filled(inside: Integers, first: int, last: int, size: int) -> Integers:
    """x_(first), ..., x_(last) of a column of ``size`` values, from those of them whose ranks are 1 to ``size``.

    Parameters
    ----------
    inside : array of int
        Sorted values with ranks 1 to ``size``, of those asked for.
    first, last : int
        Ranks, both included; they may lie beyond the ends.
    size : int
        Number of values.

    Returns
    -------
    array of shape (last - first + 1,), int
    """
    found = np.empty(last - first + 1, np.int64)
    found[: max(0, min(1 - first, len(found)))] = -LARGEST
    found[max(0, size + 1 - first) :] = LARGEST
    start = max(first, 1) - first
    found[start : start + len(inside)] = inside
    return found


def lacking(first: int, last: int, size: int) -> int:
    """Sum that the ranks beyond the ends add to the sum from ``first`` to ``last``.

    Parameters
    ----------
    first, last : int
        Ranks, both included; they may lie beyond the ends.
    size : int
        Number of values.

    Returns
    -------
    int
    """
    above, under = max(0, last - max(size, first - 1)), max(0, min(1, last + 1) - first)
    return LARGEST * (above - under)


def counted(held: Integers) -> tuple[Integers, Integers]:
    """The different numbers of an ascending array, and how often each occurs."""
    first = np.flatnonzero(np.append(True, held[1:] != held[:-1])[: len(held)])
    return held[first], np.diff(np.append(first, len(held)))


def by_group(where: Integers, values: Integers, counts: Integers, groups: int) -> list[tuple[Integers, Integers]]:
    """Ascending values of each group with how often each occurs: one sort, whatever the number of groups.

    Parameters
    ----------
    where : array of shape (n,), int
        Group of each value.
    values, counts : array of shape (n,), int
        Values, which may repeat, and how often each occurs.
    groups : int

    Returns
    -------
    list of (values, counts)
        One pair for each group.
    """
    order = np.lexsort((values, where))
    where, values = where[order], values[order]
    first = np.flatnonzero(np.append(True, (where[1:] != where[:-1]) | (values[1:] != values[:-1]))[: len(where)])
    sums = np.add.reduceat(counts[order], first) if len(first) else counts
    ends = np.searchsorted(where[first], np.arange(groups + 1)).tolist()
    values = values[first]
    return [(values[low:high], sums[low:high]) for low, high in pairwise(ends)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SortedColumn:
    """A column in memory: a sorted array of int64 within +-LARGEST, checked once."""

    values: Integers

    def __post_init__(self) -> None:
        found = self.values
        if not isinstance(found, np.ndarray) or found.dtype != np.int64 or found.ndim != 1:
            raise PublicParameterError("an ordered column is a flat array of int64")
        if np.any(found[1:] < found[:-1]) or (len(found) and (found[0] < -LARGEST or found[-1] > LARGEST)):
            raise PublicParameterError("an ordered column is sorted, and within 2^61 of zero")

    def window(self, first: int, last: int) -> Integers:
        size = len(self.values)
        return filled(self.values[max(first, 1) - 1 : max(min(last, size), 0)], first, last, size)

    def below(self, value: int) -> int:
        if value > LARGEST:
            return len(self.values)
        return int(np.searchsorted(self.values, max(value, -LARGEST), side="left"))

    def total(self, first: int, last: int) -> int:
        inside = self.values[max(first, 1) - 1 : max(last, 0)]
        whole = (int((inside >> 32).sum()) << 32) + int((inside & 0xFFFFFFFF).sum())
        return whole + lacking(first, last, len(self.values))

    def __repr__(self) -> str:
        return "<private column>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunLength:
    """A column as its distinct values, ascending, and how often each occurs: no value is repeated in memory."""

    values: Integers
    counts: Integers
    ends: Integers = field(init=False)  # the rank of the last copy of each value

    def __post_init__(self) -> None:
        values, counts = self.values, self.counts
        if values.dtype != np.int64 or counts.dtype != np.int64 or values.ndim != 1 or values.shape != counts.shape:
            raise PublicParameterError("a column of runs is two flat arrays of int64, equally long")
        if np.any(values[1:] <= values[:-1]) or np.any(counts < 1):
            raise PublicParameterError("runs have ascending values, and counts of at least 1")
        if len(values) and (values[0] < -LARGEST or values[-1] > LARGEST):
            raise PublicParameterError("a column of runs is within 2^61 of zero")
        object.__setattr__(self, "ends", np.cumsum(counts))

    @property
    def size(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def window(self, first: int, last: int) -> Integers:
        ranks = np.arange(max(first, 1), min(last, self.size) + 1)
        return filled(self.values[np.searchsorted(self.ends, ranks, side="left")], first, last, self.size)

    def below(self, value: int) -> int:
        if value > LARGEST:
            return self.size
        place = int(np.searchsorted(self.values, max(value, -LARGEST), side="left"))
        return int(self.ends[place - 1]) if place else 0

    def total(self, first: int, last: int) -> int:
        least, most = max(first, 1) - 1, min(last, self.size)
        copies = np.maximum(np.minimum(self.ends, most) - np.maximum(self.ends - self.counts, least), 0)
        limbs = ((self.values >> 42, 42), ((self.values >> 21) & 0x1FFFFF, 21), (self.values & 0x1FFFFF, 0))
        # a limb is below 2^21, so sums over 2^42 rows stay inside int64
        return sum(int(limb @ copies) << shift for limb, shift in limbs) + lacking(first, last, self.size)

    def __repr__(self) -> str:
        return "<private column>"


@dataclass(frozen=True, slots=True)
class Needs:
    """Public ranks to fetch: windows (first, last) of order statistics, and sums from one rank to another."""

    windows: tuple[tuple[int, int], ...]
    totals: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if any(first > last for first, last in self.windows + self.totals):
            raise PublicParameterError("ranks go from a first one to a last one that is not below it")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FetchedColumn:
    """A column by what was fetched of it, ranks in order; ``below`` is exact within a window and else at its edge.

    That is enough for a distance capped at ``most``: within ``most`` ranks of its own rank the count is exact, and
    farther away both this one and the exact one give the cap.
    """

    needs: Needs
    windows: tuple[Integers, ...]
    totals: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        lengths = [last - first + 1 for first, last in self.needs.windows]
        if lengths != [len(found) for found in self.windows] or len(self.totals) != len(self.needs.totals):
            raise PublicParameterError("what was fetched is not what was needed")

    def window(self, first: int, last: int) -> Integers:
        for (low, high), found in zip(self.needs.windows, self.windows, strict=True):
            if low <= first and last <= high:
                return found[first - low : last - low + 1]
        raise PublicParameterError("ranks that were not fetched")

    def below(self, value: int) -> int:
        held = list(zip(self.needs.windows, self.windows, strict=True))
        least = min(first for first, _ in self.needs.windows) - 1
        return max([least, *(first - 1 + int(np.sum(found < value)) for (first, _), found in held if found[0] < value)])

    def total(self, first: int, last: int) -> int:
        return self.totals[self.needs.totals.index((first, last))]

    def __repr__(self) -> str:
        return "<private column>"


@dataclass(frozen=True, slots=True)
class RankWindows:
    """Ranks about some levels of a column whose size n is private: those within a public reach of level n.

    The reach is ``ranks`` + ``root`` sqrt(n). ``far`` is a level of |x|, about which sizes are asked for. ``crowd``:
    the values beyond so many of one cell are counted; 0 where nobody asks for them. ``sliced``: the values of a cell
    are cut into slices, so all of one cell are needed. ``scanned``: questions about all values follow what is drawn
    (``data/value_scans.py``).
    """

    levels: tuple[Fraction, ...]
    ranks: int
    root: float
    crowd: int
    far: Fraction | None = None
    sliced: bool = False
    scanned: bool = False

    def of(self, level: Fraction, size: int) -> tuple[int, int]:
        """First and last rank about one level, of a column of ``size`` values, at least one."""
        reach = self.ranks + math.ceil(self.root * math.sqrt(size))
        return max(math.floor(level * size) - reach, 1), min(math.ceil(level * size) + reach, size)

    def together(self, levels: Sequence[Fraction], size: int) -> list[tuple[int, int]]:
        """The windows about levels, in order; those that meet are one."""
        found: list[tuple[int, int]] = []
        for first, last in sorted(self.of(level, size) for level in levels if size):
            if found and first <= found[-1][1] + 1:
                first, last = found[-1][0], max(found.pop()[1], last)
            found.append((first, last))
        return found


def fetched(data: Order, needs: Needs) -> FetchedColumn:
    """Answers that an engine would fetch, of a column in memory."""
    windows = tuple(data.window(first, last) for first, last in needs.windows)
    return FetchedColumn(needs, windows, tuple(data.total(first, last) for first, last in needs.totals))


def around(ranks: tuple[int, ...], most: int) -> tuple[tuple[int, int], ...]:
    """Windows of ``most`` ranks on either side of each rank."""
    return tuple((rank - most, rank + most) for rank in ranks)


def ordered(values: Integers) -> SortedColumn:
    """Any int64 array as an ordered column; what lies beyond +-LARGEST counts as infinite."""
    if values.dtype != np.int64:
        raise PublicParameterError("an ordered column is made of int64")
    return SortedColumn(np.sort(np.clip(values, -LARGEST, LARGEST)))


def at(data: Order, rank: int) -> int:
    """x_(rank)."""
    return int(data.window(rank, rank)[0])


def widths(low: Integers, high: Integers) -> Integers:
    """Widths of the intervals from ``low`` to ``high``: INFINITE where an end is, 0 where the ends meet or cross."""
    endless = (low == -LARGEST) | (high == LARGEST) | ((low == high) & (np.abs(low) == LARGEST))
    return np.where(low > high, 0, np.where(endless, INFINITE, high - low))


# --- search by counts -------------------------------------------------------------------------------------------------


SAMPLE: Final = 1 << 17  # values; a column of no more than that is fetched as it is
SHARE: Final = 1 / 32  # of the column, at most
WIDTHS: Final = 4.0  # standard deviations of a sample rank on either side: one bracket in 16,000 misses
WIDER: Final = 8.0

Bracket = tuple[float, float]
EVERYTHING: Final[Bracket] = (-math.inf, math.inf)


class Brackets(Protocol):
    """Values of one column of doubles x in an engine, none missing, looked at by brackets."""

    def sample(self, share: float) -> NDArray[np.float64]:
        """About this share of the values, in any order, by any choice."""
        ...

    def below(self, end: float) -> int:
        """Number of values strictly below ``end``."""
        ...

    def inside(self, bracket: Bracket) -> RunLength:
        """The steps of the values within the closed bracket."""
        ...


class Scans(Brackets, Protocol):
    """Scans of one column of doubles x by an engine. Steps are its integers, growing with x."""

    def size(self) -> int:
        """Number of values."""
        ...

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        """The sum of the steps strictly between two steps, how many are at most ``low``, how many below ``high``."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class _RankRuns:
    """The ranks ``under + 1``, ..., ``under + runs.size``."""

    under: int
    runs: RunLength

    def holds(self, first: int, last: int) -> bool:
        return self.under < first and last <= self.under + self.runs.size

    def window(self, first: int, last: int) -> Integers:
        return self.runs.window(first - self.under, last - self.under)


def fetch(scans: Scans, needs: Needs) -> FetchedColumn:
    """Order statistics and sums that ``needs`` asks for, exact.

    They are equal to ``order_statistics.fetched`` of the whole column.
    """
    size = scans.size()
    ends = [(rank, rank) for first, last in needs.totals for rank in (max(first, 1), min(last, size))]
    inner = [(max(first, 1), min(last, size)) for first, last in needs.windows]
    found = windows_of(scans, [(first, last) for first, last in (*inner, *ends) if 1 <= first <= last <= size], size)
    windows = tuple(
        filled(found.get(ranks, np.empty(0, np.int64)), *asked, size)
        for ranks, asked in zip(inner, needs.windows, strict=True)
    )
    totals = []
    for first, last in needs.totals:
        low, high = max(first, 1), min(last, size)
        whole = _total(scans, low, high, found) if low <= high else 0
        totals.append(whole + lacking(first, last, size))
    return FetchedColumn(needs, windows, tuple(totals))


def _total(scans: Scans, first: int, last: int, found: dict[tuple[int, int], Integers]) -> int:
    """x_(first) + ... + x_(last), 1 <= first <= last <= size: the copies of either end are counted, the rest summed."""
    low, high = int(found[first, first][0]), int(found[last, last][0])
    if low == high:
        return low * (last - first + 1)
    inside, up_to, below = scans.between(low, high)
    return inside + low * (up_to - first + 1) + high * (last - below)


def windows_of(scans: Brackets, asked: Sequence[tuple[int, int]], size: int) -> dict[tuple[int, int], Integers]:
    """The window of each pair of ranks within 1..size.

    Parameters
    ----------
    scans : Brackets
    asked : sequence of (int, int)
        First and last ranks, both included.
    size : int
        Number of values.

    Returns
    -------
    dict of pair to array
    """
    found: dict[tuple[int, int], Integers] = {}
    waiting, wider = sorted(set(asked)), 1.0
    if not waiting:
        return found
    few = size <= SAMPLE
    sample = np.empty(0) if few else np.sort(scans.sample(min(SAMPLE / size, SHARE)))
    while waiting:
        for bracket in _joined([_bracket(sample, first, last, size, wider) for first, last in waiting]):
            runs = scans.inside(bracket)
            part = _RankRuns(0 if bracket[0] == -math.inf else scans.below(bracket[0]), runs)
            found |= {ranks: part.window(*ranks) for ranks in waiting if part.holds(*ranks)}
        waiting, wider = [ranks for ranks in waiting if ranks not in found], wider * WIDER
    return found


def _bracket(sample: NDArray[np.float64], first: int, last: int, size: int, wider: float) -> Bracket:
    """Interval that brackets the ranks, as far as the sorted sample can tell."""
    many = len(sample)
    if many == 0:
        return EVERYTHING

    def slack(rank: int) -> float:
        share = rank / size
        return wider * (WIDTHS * math.sqrt(many * share * (1 - share)) + WIDTHS * WIDTHS)

    low = math.floor(many * (first / size) - slack(first))
    high = math.ceil(many * (last / size) + slack(last))
    return (
        float(sample[low]) if low >= 0 else -math.inf,
        float(sample[high]) if high < many else math.inf,
    )


def _joined(brackets: Sequence[Bracket]) -> list[Bracket]:
    """The brackets in order, those that meet made one."""
    found: list[Bracket] = []
    for low, high in sorted(brackets):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found
