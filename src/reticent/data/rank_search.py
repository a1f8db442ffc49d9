"""Order statistics of a column that stays in its engine: a sample says where to look, exact counts say what was found.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import FetchedColumn, Integers, Needs, RunLength, filled, lacking

SAMPLE: Final = 1 << 17  # values; a column of no more than that is fetched as it is
SHARE: Final = 1 / 32  # of the column, at most
WIDTHS: Final = 4.0  # standard deviations of a sample rank on either side: one bracket in 16,000 misses
WIDER: Final = 8.0

Bracket = tuple[float, float]
EVERYTHING: Final[Bracket] = (-math.inf, math.inf)


class Scans(Protocol):
    """Scans of one column of doubles x by an engine, none missing. Steps are its integers, growing with x."""

    def size(self) -> int:
        """Number of values."""
        ...

    def sample(self, share: float) -> NDArray[np.float64]:
        """About this share of the values, in any order, by any choice."""
        ...

    def below(self, end: float) -> int:
        """Number of values strictly below ``end``."""
        ...

    def inside(self, bracket: Bracket) -> RunLength:
        """The steps of the values within the closed bracket."""
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
    found = _windows(scans, [(first, last) for first, last in (*inner, *ends) if 1 <= first <= last <= size], size)
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


def _windows(scans: Scans, asked: Sequence[tuple[int, int]], size: int) -> dict[tuple[int, int], Integers]:
    """The window of each pair of ranks within 1..size."""
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
