"""What one person can do to the counts of a histogram, and what the noise of 002 would give away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import axis
from reticent.synthesis.histogram import HistogramDensity, RecordGrid, histogram, projected
from tests.assurance.claims import verify

Row = tuple[int, int]
Rows = tuple[Row, ...]

AXES = (axis("k", [0, 1, 3], whole=True), axis("j", [0, 2, 3], whole=True))
VALUES: tuple[Row, ...] = ((0, 0), (1, 2), (2, 0), (-7, 9), (ABSENT, 0))


def table(rows: Rows) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, 2)


def neighbours(kind: Kind, persons: int, rows: int) -> Iterator[tuple[Rows, Rows]]:
    """All tables of so many persons, and the same with one person's records added, removed or replaced."""
    own = [one for size in range(rows + 1) for one in combinations_with_replacement(VALUES, size)]
    for others in combinations_with_replacement(own, persons):
        rest = tuple(row for one in others for row in one)
        pairs = combinations(own, 2) if kind == "substitute" else ((one, ()) for one in own if one)
        yield from (((*rest, *a), (*rest, *b)) for a, b in pairs)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_the_sensitivity_is_the_largest_change_over_all_neighbours(kind: Kind, rows: int) -> None:
    plan = histogram(AXES, Adjacency(kind, rows), Fraction(1))
    moved = [
        int(np.abs(plan.grid.counts(table(a)) - plan.grid.counts(table(b))).sum()) for a, b in neighbours(kind, 1, rows)
    ]
    assert max(moved) == plan.mechanism.sensitivity.bound


def release(plan: HistogramDensity, rows: Rows, entropy: Entropy) -> tuple[int, ...]:
    return gate.draw(plan.mechanism, plan.grid.counts(np.array(rows, np.int64).reshape(-1, 1)).tolist(), entropy)


def one_column(kind: Kind, epsilon: Fraction) -> tuple[HistogramDensity, list[tuple[Row, ...]], list[tuple[int, int]]]:
    plan = histogram([axis("k", [0, 1], whole=True)], Adjacency(kind), epsilon, atoms=[])
    sizes = (2,) if kind == "substitute" else (1, 2)
    listed = [one for size in sizes for one in combinations_with_replacement(((0,), (ABSENT,)), size)]
    near = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(listed), 2)
        if sum(abs(a.count(v) - b.count(v)) for v in set(a + b)) <= (2 if kind == "substitute" else 1)
    ]
    return plan, listed, near  # type: ignore[return-value]  # rows of one number


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_the_noise_keeps_epsilon_and_002_s_constants_do_not(kind: Kind) -> None:
    """E11: scale 1 / epsilon under replacement spends 2 epsilon; 2 / epsilon under add/remove only half of it."""
    epsilon = Fraction(4)
    plan, listed, near = one_column(kind, epsilon)

    def with_sensitivity(bound: int) -> HistogramDensity:
        return replace(plan, mechanism=Geometric(L1(Fraction(bound), Adjacency(kind)), epsilon))

    def line(made: HistogramDensity, claim: Fraction) -> str:
        found = verify("histogram", lambda rows, e: release(made, rows, e), listed, near, PureDP(claim))
        return found.verdict

    assert line(plan, epsilon) == "holds"
    if kind == "substitute":
        assert line(with_sensitivity(1), epsilon) == "refuted"
        assert line(with_sensitivity(1), 2 * epsilon) == "holds"
    else:
        assert line(with_sensitivity(2), epsilon / 2) == "holds"
        assert line(plan, epsilon / 2) == "refuted"


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_a_bought_number_of_records_is_part_of_the_price(kind: Kind) -> None:
    plan = histogram([axis("x", [0, 1])], Adjacency(kind, 3), Fraction(2), cells=0)
    assert plan.guarantee.loss == PureDP(Fraction(2))
    assert [part.loss for part in plan.guarantee.parts] == [PureDP(Fraction(1, 10)), PureDP(Fraction(19, 10))]
    assert plan.size.bought is not None
    assert plan.size.bought.sensitivity.bound == 3


def cases() -> Sequence[tuple[list[float], float]]:
    return [([3, -1, 2], 4), ([5, 5, 5], 3), ([0, -2, -9], 1), ([1, 2, 3, 4], 10), ([7], 2), ([1, 1, -50], 8)]


@pytest.mark.parametrize(("counts", "total"), cases())
def test_the_projection_is_the_nearest_point_of_the_simplex(counts: list[float], total: float) -> None:
    """Kuhn and Tucker: one amount is taken from all that stay above 0, and no other would have."""
    given = np.array(counts, np.float64)
    found = projected(given, total)
    assert found.sum() == pytest.approx(total)
    taken = given - found
    amount = taken[found > 0]
    assert np.ptp(amount) < 1e-9
    assert (given[found == 0] <= amount[0] + 1e-9).all()


def test_cells_are_those_of_the_edges() -> None:
    grid = RecordGrid(AXES)
    rows = table(((0, 0), (1, 1), (2, 2), (-9, 9), (9, -9), (ABSENT, 0)))
    assert grid.places(rows).tolist() == [0, 2, 3, 1, 2, 4]
    atoms = RecordGrid((axis("x", [0, Fraction(1, 2), 1]),), (Fraction(0), Fraction(1, 2)))
    step = atoms.query.units[0]
    steps = [(value / step).__floor__() for value in map(Fraction, ("0", "1/2", "0.49", "0.51", "7"))]
    assert atoms.places(np.array([*steps, ABSENT]).reshape(-1, 1)).tolist() == [2, 3, 0, 1, 1, 4]
