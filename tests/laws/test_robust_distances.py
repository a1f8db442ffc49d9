"""Distances of robust statistics against shortest paths over all small tables, and how far neighbours move them.

A0 and A1 are exact under substitution; under add/remove A1 is exact and A0 never too large. The bin-free distance is
exact under substitution. Every distance moves by at most one with one row, and says "safe" only where it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data import order_statistics
from reticent.errors import PublicParameterError
from reticent.statistics.robust import median
from reticent.statistics.robust import reach as extent
from reticent.statistics.robust import trimmed_ptr as trimmed
from reticent.statistics.robust.ptr_test import squared_log
from reticent.statistics.robust.reach import ENDLESS, ZERO, LogGrid, Reach, reach
from tests.support import robust_reference as slow
from tests.support.robust_reference import END, Table

DOMAIN = (-END, 0, 1, 2, 4, 7, END)
FINITE = (-3, 0, 1, 2, 4)
FAR = 40  # more changes than any table here has values
COARSE, FINE = LogGrid(2, 2), LogGrid(2, 3)

Distance = Callable[[Table], int]


def column(table: Table) -> order_statistics.SortedColumn:
    return order_statistics.SortedColumn(np.array(table, np.int64))


def substituted(table: Table) -> tuple[Table, ...]:
    return slow.replaced(table, DOMAIN)


def any_change(table: Table) -> tuple[Table, ...]:
    return (*slow.added(table, DOMAIN), *slow.removed(table))


def pairs_of_ranks(n: int) -> Iterator[tuple[int, int]]:
    """Every pair."""
    for low in range(1, n + 1):
        for high in range(low + 1, n + 1):
            yield low, high


def pairs(found: Iterable[Table], kind: str) -> Iterator[tuple[Table, Table]]:
    for table in found:
        for other in slow.replaced(table, DOMAIN) if kind == "substitute" else slow.added(table, DOMAIN):
            yield table, other


@cache
def up_to(size: int) -> tuple[Table, ...]:
    return tuple(table for n in range(size + 1) for table in slow.tables(DOMAIN, n))


# A0


def a_zero(low: int, high: int, grid: LogGrid, shift: int) -> Distance:
    def distance(table: Table) -> int:
        found = reach(column(table), low, high, FAR)
        return extent.leave(found, grid.bounds(found.width, shift))

    return distance


@pytest.mark.wide
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_zero_is_the_fewest_substitutions_that_leave_the_bin(n: int) -> None:
    everything = slow.tables(DOMAIN, n)
    for low, high in pairs_of_ranks(n):
        for grid, shift in ((COARSE, 0), (COARSE, 1), (FINE, 1)):
            if n == 5 and (grid is FINE or (low, high) not in {(2, 4), (1, 4), (2, 5)}):
                continue

            def bin_of(table: Table, grid: LogGrid = grid, shift: int = shift, ends: Any = (low, high)) -> object:
                return slow.log_bin(slow.width(table, *ends), grid.binade, grid.span, shift)

            exact = slow.to_other_class(everything, substituted, bin_of)
            found = a_zero(low, high, grid, shift)
            assert {table: found(table) for table in everything} == {
                table: exact.get(table, FAR) for table in everything
            }


def test_a_zero_of_six_values() -> None:
    everything = slow.tables((-END, 0, 1, 3, END), 6)

    def bin_of(table: Table) -> object:
        return slow.log_bin(slow.width(table, 2, 5), 2, 2, 1)

    exact = slow.to_other_class(everything, lambda t: slow.replaced(t, (-END, 0, 1, 3, END)), bin_of)
    found = a_zero(2, 5, COARSE, 1)
    assert {table: found(table) for table in everything} == exact


@pytest.mark.parametrize("ranks", [(1, 2), (2, 3), (2, 4)])
def test_a_zero_never_exceeds_the_rows_to_add_or_remove(ranks: tuple[int, int]) -> None:
    """Fixed ranks: sizes 0 to 6, so that paths may go up and down; only tables of at most 3 are judged."""
    everything = [table for n in range(7) for table in slow.tables((-END, 0, 1, 3, END), n)]

    def near(table: Table) -> tuple[Table, ...]:
        return (*slow.added(table, (-END, 0, 1, 3, END)), *slow.removed(table))

    def bin_of(table: Table) -> object:
        return slow.log_bin(slow.width(table, *ranks), 2, 2, 0)

    exact = slow.to_other_class(everything, near, bin_of)
    found = a_zero(*ranks, COARSE, 0)
    assert all(1 <= found(table) <= exact.get(table, FAR) for table in everything if len(table) <= 3)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_every_scale_distance_moves_by_at_most_one(kind: str) -> None:
    for low, high in ((1, 2), (1, 3), (2, 3), (2, 4)):
        found: list[Distance] = [a_zero(low, high, COARSE, 0), a_zero(low, high, FINE, 1), free(low, high, FINE)]
        assert most_moved(found, up_to(5), kind) <= 1


def most_moved(found: list[Distance], judged: Iterable[Table], kind: str) -> int:
    worst = 0
    listed = [table for table in judged if kind == "substitute" or len(table) < 5]
    for distance in found:
        known = cache(distance)
        worst = max(worst, max(abs(known(a) - known(b)) for a, b in pairs(listed, kind)))
    return worst


def free(low: int, high: int, grid: LogGrid) -> Distance:
    return lambda table: extent.spread(reach(column(table), low, high, FAR), grid)


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_beyond_one_the_neighbours_share_a_bin_or_are_within_a_span(kind: str) -> None:
    for low, high in ((1, 3), (2, 4)):
        bins, spread = cache(a_zero(low, high, FINE, 1)), cache(free(low, high, FINE))
        judged = [table for table in up_to(5) if kind == "substitute" or len(table) < 5]
        for a, b in pairs(judged, kind):
            wide, other = slow.width(a, low, high), slow.width(b, low, high)
            if bins(a) > 1:
                assert slow.log_bin(wide, 2, 3, 1) == slow.log_bin(other, 2, 3, 1)
            if spread(a) > 1 or spread(b) > 1:
                assert abs(slow.log_cell(wide, 2) - slow.log_cell(other, 2)) <= 2


@pytest.mark.wide
def test_the_bin_free_distance_of_the_scale_is_never_below_the_bins() -> None:
    for low, high in ((1, 3), (2, 4)):
        for table in up_to(5):
            best = max(a_zero(low, high, FINE, shift)(table) for shift in FINE.shifts)
            assert free(low, high, FINE)(table) >= best


@pytest.mark.parametrize("direction", ["up", "down"])
def test_one_direction_of_a_zero_alone_is_found_out(direction: str) -> None:
    """Mutant: only the greatest or only the least reachable width is looked at."""
    everything = slow.tables(DOMAIN, 4)

    def half(table: Table) -> int:
        found = reach(column(table), 1, 3, FAR)
        low, high = COARSE.bounds(found.width, 0)
        bounds = (-1, high) if direction == "up" else (low, order_statistics.INFINITE + 1)
        return extent.leave(found, bounds)

    exact = slow.to_other_class(everything, substituted, lambda t: slow.log_bin(slow.width(t, 1, 3), 2, 2, 0))
    assert any(half(table) > exact.get(table, FAR) for table in everything)


def test_wrong_ranks_of_a_zero_are_found_out() -> None:
    everything = slow.tables(DOMAIN, 4)
    exact = slow.to_other_class(everything, substituted, lambda t: slow.log_bin(slow.width(t, 2, 3), 2, 2, 0))
    for ranks in ((1, 3), (2, 4), (1, 4)):
        assert any(a_zero(*ranks, COARSE, 0)(table) > exact.get(table, FAR) for table in everything)


def test_the_reach_is_what_changes_can_reach() -> None:
    for n in (2, 3, 4):
        for low, high in pairs_of_ranks(n):
            for table in slow.tables((-END, 0, 1, 3, END), n):
                around, found = {table}, reach(column(table), low, high, 5)
                for k in range(n + 1):
                    values = {slow.width(other, low, high) for other in around}
                    seen = {
                        math.inf if w == order_statistics.INFINITE else w for w in (found.least(k), found.greatest(k))
                    }
                    assert seen == {min(values), max(values)}
                    around |= {near for other in around for near in slow.replaced(other, (-END, 0, 1, 3, END))}


# A1 and windows


def a_one(rank: int, size: int, shift: int) -> Distance:
    def distance(table: Table) -> int:
        value = order_statistics.at(column(table), rank)
        return median.leave(column(table), rank, median.bins(value, size)[shift], FAR)

    return distance


def bin_of_value(rank: int, size: int, shift: int) -> Callable[[Table], object]:
    def bin_of(table: Table) -> object:
        value = slow.statistic(table, rank)
        return ("end", value) if abs(value) == END else (value - (size // 2 if shift else 0)) // size

    return bin_of


def unless_endless(found: dict[Table, int], rank: int) -> dict[Table, int]:
    """An infinite value is never safe: its distance is 1 by decree."""
    return {table: 1 if abs(slow.statistic(table, rank)) == END else k for table, k in found.items()}


@pytest.mark.wide
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_one_is_the_fewest_substitutions_that_leave_the_bin(n: int) -> None:
    everything = slow.tables(DOMAIN, n)
    for rank in range(1, n + 1):
        for size, shift in ((1, 0), (2, 0), (3, 1)):
            exact = unless_endless(slow.to_other_class(everything, substituted, bin_of_value(rank, size, shift)), rank)
            found = a_one(rank, size, shift)
            assert {table: found(table) for table in everything} == exact


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_one_is_the_fewest_rows_to_add_or_remove(rank: int) -> None:
    domain = (-END, 0, 1, 3, END)
    everything = [table for n in range(9) for table in slow.tables(domain, n)]

    def near(table: Table) -> tuple[Table, ...]:
        return (*slow.added(table, domain), *slow.removed(table))

    exact = unless_endless(slow.to_other_class(everything, near, bin_of_value(rank, 2, 1)), rank)
    found = a_one(rank, 2, 1)
    assert all(found(table) == exact[table] for table in everything if len(table) <= 4)


def windows(rank: int, size: int) -> Distance:
    return lambda table: median.narrow(column(table), rank, size, FAR)


def moves_far(rank: int, size: int, near: Callable[[Table], Iterable[Table]]) -> Callable[[Table], bool]:
    """Whether one change moves x_(rank) by more than ``size``, or it is infinite."""

    def far(table: Table) -> bool:
        here = slow.statistic(table, rank)
        return abs(here) == END or any(abs(slow.statistic(other, rank) - here) > size for other in near(table))

    return far


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", [1, 2])
def test_the_bin_free_distance_is_the_way_to_a_table_of_high_local_sensitivity(n: int, size: int) -> None:
    everything = slow.tables(DOMAIN, n)
    for rank in range(1, n + 1):
        exact = slow.paths(everything, substituted, moves_far(rank, size, substituted))
        found = windows(rank, size)
        assert {table: found(table) for table in everything} == {t: exact.get(t, FAR) for t in everything}


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_every_median_distance_moves_by_at_most_one(kind: str) -> None:
    for rank in (1, 2, 3):
        assert most_moved([a_one(rank, 2, 0), a_one(rank, 3, 1), windows(rank, 2)], up_to(5), kind) <= 1


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_the_median_moves_by_at_most_the_width_where_it_is_safe(kind: str) -> None:
    size = 3
    for rank in (1, 2, 3):
        loose, tight = cache(windows(rank, size)), cache(a_one(rank, size, 1))
        judged = [table for table in up_to(5) if kind == "substitute" or len(table) < 5]
        for a, b in pairs(judged, kind):
            moved = abs(slow.statistic(a, rank) - slow.statistic(b, rank))
            assert loose(a) == 0 or moved <= size
            assert tight(a) <= 1 or moved < size


@pytest.mark.wide
def test_bins_are_never_more_than_one_further_than_windows() -> None:
    for rank in (1, 2, 3):
        for size in (2, 3, 4):
            for table in up_to(5):
                best = max(a_one(rank, size, shift)(table) for shift in (0, 1))
                assert best <= windows(rank, size)(table) + 1


@pytest.mark.parametrize("off", [-1, 1])
def test_a_rank_wrong_by_one_is_found_out(off: int) -> None:
    everything = slow.tables(DOMAIN, 5)
    exact = slow.to_other_class(everything, substituted, bin_of_value(3, 2, 0))

    def mutant(table: Table) -> int:
        bounds = median.bins(order_statistics.at(column(table), 3), 2)[0]
        return median.leave(column(table), 3 + off, bounds, FAR)

    assert any(mutant(table) > exact[table] for table in everything)


def test_a_distance_counted_twice_moves_by_two() -> None:
    assert most_moved([lambda table: 2 * a_one(2, 2, 0)(table)], up_to(4), "substitute") == 2


# the trimmed mean


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_local_sensitivity_of_the_trimmed_sum_is_exact(n: int) -> None:
    domain = FINITE if n < 6 else FINITE[1:]
    for first in range(2, n):
        for last in range(first, n):
            for table in slow.tables(domain, n):
                ends = (*domain, -100, 100)  # far beyond the data is as far as anything goes
                moved = [
                    abs(sum(other[first - 1 : last]) - sum(table[first - 1 : last]))
                    for other in slow.replaced(table, ends)
                ]
                assert trimmed.local_sensitivity(column(table), first, last) == max(moved)


def test_a_row_added_or_removed_moves_the_trimmed_sum_by_no_more() -> None:
    for first, last in ((2, 2), (2, 3), (3, 4)):
        for n in range(last + 1, 7):
            for table in slow.tables(FINITE[1:], n):
                here = sum(table[first - 1 : last])
                near = [*slow.added(table, (*FINITE, -100, 100))]
                if n > last + 1:
                    near += slow.removed(table)
                moved = max(abs(sum(other[first - 1 : last]) - here) for other in near)
                assert moved <= trimmed.local_sensitivity(column(table), first, last)


def test_the_inequality_of_the_paper_is_false() -> None:
    """003 (8) at n = 11, alpha = .2: the sensitivity of its mean is 50/3, its bound 100 / 6.8."""
    table = (0, 0, 0, 1, 2, 3, 4, 5, 100, 100, 100)
    first, last = math.ceil(11 * Fraction(1, 10)) + 1, math.floor(11 * Fraction(9, 10)) - 1
    rows = last - first + 1
    moved = max(abs(sum(o[first - 1 : last]) - sum(table[first - 1 : last])) for o in slow.replaced(table, (0, 5, 100)))
    printed = Fraction(table[last] - table[first - 2]) / (Fraction(8, 10) * 11 - 2)
    assert Fraction(moved, rows) == Fraction(50, 3) > printed


# the column and the grid


def test_a_window_beyond_the_ends_is_infinite() -> None:
    found = column((3, 5))
    assert found.window(-1, 4).tolist() == [-END, -END, 3, 5, END, END]
    assert found.window(4, 5).tolist() == [END, END]
    assert found.window(-4, -3).tolist() == [-END, -END]
    assert column(()).window(-1, 1).tolist() == [-END, -END, END]


@given(st.lists(st.integers(-(2**61), 2**61), max_size=6), st.integers(-3, 9), st.integers(0, 6))
def test_a_total_is_the_sum_of_the_window(values: list[int], first: int, more: int) -> None:
    found = column(tuple(sorted(values)))
    assert found.total(first, first + more) == sum(int(x) for x in found.window(first, first + more))


@given(st.lists(st.integers(-5, 5), max_size=6), st.integers(-8, 8))
def test_counts_are_strict(values: list[int], value: int) -> None:
    assert column(tuple(sorted(values))).below(value) == sum(x < value for x in values)


def test_a_column_is_checked() -> None:
    for wrong in ([1.0, 2.0], [math.nan], [math.inf], [[1]], [True]):
        with pytest.raises(PublicParameterError):
            order_statistics.SortedColumn(np.array(wrong))
    for unsorted in ([2, 1], [0, 2**61 + 1], [-(2**61) - 1, 0]):
        with pytest.raises(PublicParameterError, match="sorted"):
            order_statistics.SortedColumn(np.array(unsorted, np.int64))
    with pytest.raises(PublicParameterError):
        order_statistics.ordered(np.array([1.5]))
    assert order_statistics.ordered(np.array([5, 2**62, -(2**62)])).values.tolist() == [-END, 5, END]


@given(st.integers(1, 2**62 - 1), st.integers(1, 400), st.integers(2, 9), st.integers(0, 8))
def test_bins_of_widths_are_a_partition(width: int, binade: int, span: int, shift: int) -> None:
    grid = LogGrid(binade, span)
    low, high = grid.bounds(width, shift)
    assert low <= width < high
    assert grid.bounds(low, shift) == grid.bounds(high - 1, shift) == (low, high)
    assert 2 ** grid.cell(width) <= width**binade < 2 ** (grid.cell(width) + 1)
    assert grid.cell(high - 1) - grid.cell(low) < span


def test_zero_and_infinity_are_bins_of_their_own() -> None:
    grid = LogGrid(3, 4)
    assert (grid.cell(0), grid.cell(order_statistics.INFINITE)) == (ZERO, ENDLESS)
    assert grid.bounds(0, 2) == (0, 1)
    assert grid.bounds(order_statistics.INFINITE, 0) == (order_statistics.INFINITE, order_statistics.INFINITE + 1)
    assert Reach(np.array([5]), np.array([END]), 0).width == order_statistics.INFINITE
    assert Reach(np.array([END]), np.array([END]), 0).width == order_statistics.INFINITE
    assert Reach(np.array([5]), np.array([5]), 0).width == 0


def test_cells_fall_where_the_slow_search_puts_them() -> None:
    for binade, span, shift in ((1, 2, 1), (2, 3, 1), (5, 4, 0)):
        grid = LogGrid(binade, span)
        for w in range(1, 40):
            assert grid.cell(w) == slow.log_cell(w, binade)
            inside = [
                v for v in range(1, 400) if slow.log_bin(v, binade, span, shift) == slow.log_bin(w, binade, span, shift)
            ]
            assert grid.bounds(w, shift) == (inside[0], inside[-1] + 1)


@given(st.integers(1, 2**60), st.integers(1, 10**6), st.fractions(min_value=0, max_value=1, max_denominator=9))
def test_the_proposed_width_is_the_floor(width: int, n: int, exponent: Fraction) -> None:
    found = median.root(width, n, exponent)
    power, times = exponent.denominator, n**exponent.numerator
    assert found >= 1
    assert found == 1 or found**power * times <= width**power
    assert (found + 1) ** power * times > width**power


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000, 22026, 22027, 10**6, 10**9])
def test_the_squared_logarithm_is_the_floor(n: int) -> None:
    assert squared_log(n) == math.floor(math.log(n) ** 2)


def test_ranks_are_symmetric_and_start_at_one() -> None:
    for n in range(1, 60):
        low, high = extent.ranks_of(n, (Fraction(1, 4), Fraction(3, 4)))
        assert (low, high) == (n // 4 + 1, n - n // 4)
        first, last = trimmed.trim_ranks(n, Fraction(2, 5))
        assert first - 1 == n - last == n // 5
