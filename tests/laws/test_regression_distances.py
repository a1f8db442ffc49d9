"""Regression on integer rows: solutions and distances against brute force, over every neighbour of tiny tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.statistics.regression import distance_bounds, subset_minimum
from reticent.statistics.regression.candidates import FINE, CoefficientBox, CoefficientCells, cells, inner_points
from reticent.statistics.regression.lines import gap, rows_for, solutions
from reticent.statistics.regression.projections import ray_bound
from reticent.statistics.regression.robust import distance
from reticent.statistics.regression.rows import ONE, RegressionRows, exact_dot, rows, value, value_at, weights
from reticent.statistics.regression.subset_minimum import SHARP
from tests.support import regression_reference as brute
from tests.support.regression_reference import Row, Table

DOMAINS: dict[int, list[Row]] = {
    1: [(y, x) for y in (-5, 0, 4) for x in (-1, 0, 2)],
    2: [(y, *x) for y in (0, 2) for x in product((0, 1, 2), (-1, 1))],
}


def made(table: Table, columns: int, places: int = 0) -> RegressionRows:
    array = np.array(table, np.int64).reshape(len(table), columns + 1)
    return rows(array[:, 0].copy(), array[:, 1:].copy(), places=places)


def tables(columns: int, most: int = 6) -> st.SearchStrategy[Table]:
    row = st.tuples(st.integers(-4, 4), *[st.integers(-2, 2)] * columns)
    return st.lists(row, max_size=most).map(tuple)


def drawn(key: int, columns: int, size: int, *, steps: int = 4) -> Table:
    from reticent.entropy import Replayed
    from reticent.exact.sampling import uniform

    coins = Replayed(key)
    return tuple(
        (uniform(2 * steps + 1, coins) - steps, *(uniform(5, coins) - 2 for _ in range(columns))) for _ in range(size)
    )


both = st.sampled_from([1, 2])


@given(st.data(), both, st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_solutions_are_the_best_crossings(data: st.DataObject, columns: int, places: int) -> None:
    table = data.draw(tables(columns))
    found = solutions(made(table, columns, places))
    assert set(found.corners) == (brute.best(table, places) if made(table, columns, places).spanned() else set())
    for corner in found.corners:
        assert value_at(made(table, columns, places), corner) == brute.objective(table, corner, places)


@pytest.mark.wide
@given(st.data(), both, st.integers(0, 2))
@settings(max_examples=80, deadline=None)
def test_the_distance_on_the_boundary_is_the_distance_outside(data: st.DataObject, columns: int, places: int) -> None:
    table = data.draw(tables(columns))
    table_rows = made(table, columns, places)
    centre = solutions(table_rows).centre
    if centre is None:
        return
    sides = data.draw(st.tuples(*[st.integers(1, 4)] * columns))
    for cell in CoefficientCells(tuple(side * (columns + 1) for side in sides)).around(centre):
        assert gap(table_rows, cell) == brute.outside(table, cell.low, cell.high, places)


def pairs(columns: int, kind: str, keys: range, size: int) -> Iterator[tuple[Table, Table]]:
    for key in keys:
        domain = DOMAINS[columns]
        table = tuple(domain[row] for row in (hash((key, i)) % len(domain) for i in range(size)))
        for other in brute.neighbours(table, domain, kind):
            yield table, other


def moved(columns: int, kind: str, sides: tuple[int, ...], keys: range, size: int) -> Iterator[tuple[int, int, bool]]:
    """Distances of all neighbours, and whether the centres are within a side of each other."""
    known: dict[Table, tuple[int, tuple[Fraction, ...]]] = {}
    lattice = CoefficientCells(sides)
    for table, other in pairs(columns, kind, keys, size):
        for one in (table, other):
            if one not in known:
                known[one] = distance(made(one, columns), lattice)
        (a, centre), (b, elsewhere) = known[table], known[other]
        near = all(abs(s - t) < side for s, t, side in zip(centre, elsewhere, sides, strict=True))
        yield a, b, near


@pytest.mark.loop(3)
@pytest.mark.parametrize(("columns", "sides"), [(1, (2,)), (2, (3, 6))])
@pytest.mark.parametrize(("kind", "most"), [("substitute", 2), ("add_remove", 1)])
def test_every_neighbour_is_as_near_as_claimed(columns: int, sides: tuple[int, ...], kind: str, most: int) -> None:
    found = [case for size in (3, 5, 7) for case in moved(columns, kind, sides, range(5), size)]
    assert max(abs(a - b) for a, b, _ in found) == most  # attained, so sensitivity 1 under substitution is refuted
    assert all(near for a, _, near in found if a > most)  # safe beyond ``most``
    assert not all(near for a, _, near in found if a <= most)  # and the inequality is not the other way round
    assert any(a > most for a, _, _ in found)


def known_for(sides: tuple[int, ...], points: int = 30) -> distance_bounds.PublicLattice:
    return distance_bounds.PublicLattice(
        CoefficientCells(sides), inner_points(sides, most=points), 2 * (len(sides) - 1)
    )


@pytest.mark.wide
@pytest.mark.parametrize("columns", [1, 2])
def test_the_lower_bound_is_below_the_distance(columns: int) -> None:
    positive = 0
    for key in range(25):
        table, known = drawn(key, columns, 4 + key % 6), known_for((96 * (columns + 1),) * columns)
        table_rows = made(table, columns, 6)
        centre = solutions(table_rows).centre
        found = distance_bounds.lower_bounds(table_rows, known)
        if centre is None:
            assert found.bounds == (0.0,) * (columns + 1)
            continue
        own = known.lattice.around(centre)
        for bound, cell, exact in zip(found.bounds, known.lattice.around(found.centre), own, strict=True):
            if bound > 0:
                positive += 1
                assert cell == exact
                squared = gap(table_rows, exact)
                assert bound <= math.sqrt(squared) / ONE + 1e-9
                assert distance_bounds.rows_of(bound) <= rows_for(squared)
    assert positive > 20


@pytest.mark.wide
def test_the_lower_bound_moves_by_at_most_one_row() -> None:
    moves = []
    for key in range(12):
        columns = 1 + key % 3
        known = known_for((64 * (columns + 1),) * columns)
        table = drawn(key, columns, columns + 3 + key % 4)
        first = distance_bounds.lower_bounds(made(table, columns, 6), known).bounds
        for other in [table[1:], (*table, (4, *[2] * columns)), (*table, (-4, 1, *[0] * (columns - 1)))]:
            second = distance_bounds.lower_bounds(made(other, columns, 6), known).bounds
            moves += [abs(a - b) for a, b in zip(first, second, strict=True)]
            assert all(
                abs(distance_bounds.rows_of(a) - distance_bounds.rows_of(b)) <= 1
                for a, b in zip(first, second, strict=True)
            )
    assert max(moves) <= 1 + 1e-6
    assert max(moves) > 0.9


def test_a_solver_as_bad_as_its_tolerance_is_covered_by_the_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    known = known_for((128,))
    true = subset_minimum.least

    def worse(
        data: RegressionRows, low: tuple[int, ...], high: tuple[int, ...], tolerance: int
    ) -> subset_minimum.BoxMinimum:
        found = true(data, low, high, tolerance)
        return subset_minimum.BoxMinimum(found.point, found.bound - tolerance)

    lost = 0.0
    for key in range(30):
        data = made(drawn(key, 1, 6 + key % 5, steps=2), 1, 6)
        good = distance_bounds.lower_bounds(data, known).bounds
        with monkeypatch.context() as patched:
            patched.setattr(distance_bounds, "least", worse)
            bad = distance_bounds.lower_bounds(data, known).bounds
        lost = max(lost, *(a - b for a, b in zip(good, bad, strict=True)))
    assert 0 < lost <= 1 / 8
    # one row, the tolerance of a minimum and the floats of two quotients: without the spread the distance jumps by two
    found = [(k / 64, k / 64 + 1 + 1 / 8 + 2 / 64) for k in range(640)]
    assert all(distance_bounds.rows_of(b) - distance_bounds.rows_of(a) <= 1 for a, b in found)
    assert any(math.ceil(b) - math.ceil(a) > 1 for a, b in found)


def test_a_centre_beyond_the_slack_would_need_clamping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solutions a hair inside a cell: a point outside is as good as the certificate asks, so the bound must be 0."""
    known = known_for((128,))
    data = made(((1, 10), (500, 10)), 1)  # solutions from 1/10 to 50
    cell = CoefficientBox((0,), (128,))
    assert known.lattice.around((Fraction(1),))[0] == cell
    assert distance_bounds.bound_of(data, cell, known) == 0.0
    outside = value(data, data.residuals((-300,), fine=FINE)) << SHARP
    inside = value(data, data.residuals((1 << FINE,), fine=FINE)) << SHARP
    assert outside - inside <= known.slack  # a centre the certificate allows, and not in the cell
    monkeypatch.setattr(distance_bounds.PublicLattice, "slack", 0)
    assert distance_bounds.bound_of(data, cell, known) > 0


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_exact_minimum_and_the_proposed_one_agree(columns: int) -> None:
    for key in range(8):
        data = made(drawn(key, columns, 3 + key), columns, 3)
        low, high = (-3 << FINE,) * columns, (5 << FINE,) * columns
        found, exact = subset_minimum.least(data, low, high, ONE << SHARP), subset_minimum.exactly(data, low, high)
        assert 0 <= exact.bound - found.bound <= ONE << SHARP
        assert all(a <= part <= b for a, part, b in zip(low, exact.point, high, strict=True))
        point = tuple(part / (1 << FINE) for part in exact.point)
        assert math.floor(value_at(data, point) * (1 << FINE + SHARP)) == exact.bound


def test_a_cut_is_below_the_objective_everywhere_whoever_proposed_it() -> None:
    data = made(drawn(5, 2, 9), 2, 4)
    wild = np.array([(-1) ** k * (k + 1) << 58 for k in range(9)], np.int64)
    cut = subset_minimum.cut_at(data, (3 << FINE, -(2 << FINE)), wild)
    for point in product(range(-40, 41, 20), repeat=2):
        here = (point[0] << FINE, point[1] << FINE)
        assert cut.least(here, here) <= value(data, data.residuals(here, fine=FINE)) << SHARP


DEGENERATE: list[tuple[int, Table]] = [
    (2, ()),
    (2, ((1, 1, 2),)),
    (2, ((1, 1, 2), (3, 2, 4), (5, -1, -2))),
    (2, ((1, 0, 0), (2, 0, 0), (3, 0, 0))),
    (3, ((1, 1, 2, 1), (0, 1, 1, 1))),
    (3, ((1, 1, 2, 0),) * 4),
    (1, ((1, 0),)),
    (3, ()),
]


@pytest.mark.parametrize(("columns", "table"), DEGENERATE)
def test_unbounded_solutions_are_at_no_distance(columns: int, table: Table) -> None:
    lattice = cells((Fraction(100),) * columns)
    assert distance(made(table, columns, 4), lattice) == (0, (Fraction(0),) * columns)


def test_equal_rows_and_two_rows_are_solved() -> None:
    two: Table = ((1, 1, 0), (2, 0, 1))
    assert solutions(made(two, 2)).corners == ((Fraction(1), Fraction(2)),)
    assert solutions(made(two * 3, 2)).corners == ((Fraction(1), Fraction(2)),)
    assert solutions(made(((4, 2), (6, 2)), 1)).corners == ((Fraction(2),), (Fraction(3),))
    lattice = cells((Fraction(64),) * 2)
    assert distance(made(two * 3, 2, 6), lattice)[0] == 3  # three of either must go, or be outweighed


def test_the_ray_bound_is_below_the_distance_and_moves_by_at_most_one_row() -> None:
    shares = []
    for key in range(30):
        table = drawn(key, 2, 5 + key % 7)
        centre = solutions(made(table, 2, 4)).centre
        if centre is None:
            continue
        for cell in CoefficientCells((48, 96)).around(centre):
            bound, exact = ray_bound(made(table, 2, 4), cell), gap(made(table, 2, 4), cell)
            assert bound <= math.sqrt(exact) / ONE + 1e-9
            shares.append(bound > 0)
            for other in (table[1:], (*table, (3, 1, 2))):
                assert abs(ray_bound(made(other, 2, 4), cell) - bound) <= 1 + 1e-9
    assert any(shares)


def test_weights_are_the_floor_of_the_inverse_length() -> None:
    x = np.array([[0, 0], [1, 0], [3, 4], [-(1 << 15), 1 << 15], [1, 1]], np.int64)
    assert weights(x).tolist() == [0, 1 << 30, (1 << 30) // 5, brute.weight((1 << 15, 1 << 15)), brute.weight((1, 1))]
    data = rows(np.zeros(5, np.int64), x, places=0)
    assert all(a * a + b * b <= ONE * ONE for a, b in data.pull.tolist())


@given(st.lists(st.tuples(st.integers(-(2**52) + 1, 2**52 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_products_do_not_overflow(terms: list[tuple[int, int]]) -> None:
    a, b = (np.array([term[k] for term in terms], np.int64) for k in (0, 1))
    assert exact_dot(a, b) == sum(s * t for s, t in terms)


def test_one_of_the_shifts_keeps_every_coordinate_away_from_the_edges() -> None:
    for columns in (1, 2, 3, 5):
        lattice = cells((Fraction(600),) * columns)
        for key in range(40):
            point = tuple(Fraction(part * 997, 7) for part in drawn(key, columns - 1, 1, steps=900)[0])
            away = [
                min(min(part - low, high - part) for part, low, high in zip(point, cell.low, cell.high, strict=True))
                for cell in lattice.around(point)
            ]
            assert max(away) >= Fraction(lattice.sides[0], 2 * (columns + 1))


def test_rows_are_refused_in_another_shape_and_clamped_one_by_one() -> None:
    with pytest.raises(PublicParameterError):
        rows(np.zeros(2), np.zeros((2, 1), np.int64), places=0)  # type: ignore[arg-type]  # floats are refused
    with pytest.raises(PublicParameterError):
        rows(np.zeros(2, np.int64), np.zeros((2, 9), np.int64), places=0)
    wild = rows(np.array([2**60, 1], np.int64), np.array([[2**50], [1]], np.int64), places=4)
    assert wild.target.tolist() == [1 << 46, 16]
    assert wild.x.tolist() == [[1 << 15], [1]]
