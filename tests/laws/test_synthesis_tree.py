"""Trees of counts: what one person moves, least squares, and how far the distribution function is off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import even
from reticent.synthesis.density import Density
from reticent.synthesis.histogram import projected
from reticent.synthesis.tree import CountTree, consistent, isotonic, nodes, tree
from tests.assurance.claims import verify

ONE = Fraction(1)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_the_sensitivity_is_the_largest_change_over_all_persons(kind: Kind, rows: int) -> None:
    """A person's records are any cells or none (a value may be missing), replaced by any others, or removed."""
    plan = tree(even("x", Fraction(0), ONE, 4), Adjacency(kind, rows), ONE)
    own = [
        tuple(held.count(cell) for cell in range(4))
        for size in range(rows + 1)
        for held in combinations_with_replacement(range(4), size)
    ]
    pairs = combinations(own, 2) if kind == "substitute" else ((one, (0, 0, 0, 0)) for one in own)
    moved = [sum(abs(a - b) for a, b in zip(nodes(x, 2), nodes(y, 2), strict=True)) for x, y in pairs]
    assert max(moved) == plan.mechanism.sensitivity.bound == (4 if kind == "substitute" else 3) * rows


def test_noise_for_one_level_alone_is_refuted() -> None:
    """A root and two leaves: as if each level had all of epsilon."""
    epsilon = Fraction(6)
    right = tree(even("x", Fraction(0), ONE, 2), ADD, epsilon)
    assert right.mechanism.sensitivity.bound == 2
    wrong = replace(right, mechanism=Geometric(L1(ONE, ADD), epsilon))
    tables = [(0, 0), (1, 0), (0, 1)]
    for plan, verdict in ((right, "holds"), (wrong, "refuted")):

        def program(counts: tuple[int, int], entropy: object, plan: CountTree = plan) -> tuple[int, ...]:
            return plan.mechanism.sample(nodes(counts, 1)[:2], entropy)  # type: ignore[arg-type]

        line = verify("tree", program, tables, [(0, 1), (0, 2)], PureDP(epsilon))
        assert line.verdict == verdict


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_estimate_is_that_of_least_squares(depth: int) -> None:
    leaves = 1 << depth
    design = np.array([nodes([int(k == leaf) for k in range(leaves)], depth) for leaf in range(leaves)], np.float64).T
    noisy = (Replayed(f"tree {depth}").words(2 * leaves - 1) >> np.uint64(40)).astype(np.float64)
    best, *_ = np.linalg.lstsq(design, noisy, rcond=None)
    assert consistent(noisy[None, :], depth)[0] == pytest.approx(best)


def test_the_isotonic_sequence_is_the_nearest_rising_one() -> None:
    assert isotonic(np.array([1.0, 3.0, 2.0, 2.0, 5.0])) == pytest.approx([1, 7 / 3, 7 / 3, 7 / 3, 5])
    assert isotonic(np.array([3.0, 2.0, 1.0])) == pytest.approx([2, 2, 2])
    values = (Replayed("rise").words(200) >> np.uint64(54)).astype(np.float64)
    found = isotonic(values)
    assert (np.diff(found) >= -1e-12).all()
    truth = np.sort(values)
    assert np.abs(found - truth).max() <= np.abs(values - truth).max()
    assert (values - found) @ found == pytest.approx(0.0, abs=1e-6)


def distance(density: Density, counts: NDArray[np.int64]) -> float:
    return float(np.abs(density.cdf(density.axes[0].cuts[1:]) - np.cumsum(counts) / counts.sum()).max())


def drawn(plan: CountTree, counts: NDArray[np.int64], key: str) -> Density:
    found = plan.draw((QueryResult(vectors=(tuple(counts.tolist()),)),), Replayed(key))
    assert isinstance(found, Reply)
    return found.value


@pytest.mark.wide
def test_on_a_fine_grid_it_is_nearer_than_a_histogram_and_as_near_as_it_says() -> None:
    """n = 1,000, G = 4,096, epsilon 1: release.md section 4 measures .073 against .205 for the simplex; 12 draws."""
    where = (Replayed("fine").words(1_000) >> np.uint64(52)).astype(np.int64)
    counts = np.bincount(np.maximum(where, (where * 7) % 4096), minlength=4096)
    plan = tree(even("x", Fraction(0), ONE, 4096), SUB, ONE, people=1_000)
    found = [drawn(plan, counts, f"fine {key}") for key in range(12)]
    far = [distance(density, counts) for density in found]
    assert np.mean(far) < 0.12
    assert sum(a > (b.wander or 0.0) for a, b in zip(far, found, strict=True)) <= 4  # error 2e-4
    assert sum(a > (b.wander or 0.0) / 2 for a, b in zip(far, found, strict=True)) >= 4
    flat = Geometric(L1(Fraction(2), SUB), ONE).sample(counts.tolist(), Replayed("flat"))
    cells = projected(np.array(flat, np.float64), 1_000.0) / 1_000.0
    assert np.abs(np.cumsum(cells) - np.cumsum(counts) / 1_000).max() > 1.5 * np.mean(far)


def test_no_records_give_the_uniform_and_a_grid_need_not_be_a_power_of_two() -> None:
    plan = tree(even("k", Fraction(0), Fraction(9), 10, whole=True), ADD, ONE)
    assert plan.depth == 4
    for key in range(6):
        assert drawn(plan, np.zeros(10, np.int64), f"none {key}").masses.sum() == pytest.approx(1.0)
    density = drawn(plan, np.full(10, 5_000), "ten")
    assert density.masses == pytest.approx(np.full(10, 0.1), abs=0.005)
    assert density.n == pytest.approx(50_000, abs=100)
    with pytest.raises(QuestionError):
        tree(even("x", Fraction(0), ONE, 64), SUB, Fraction(1, 100), people=500)
