"""The adaptive grid: what it gives away, that it finds what a coarse grid would miss, atoms and missing values."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy, Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.privtree import PrivTree
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.adaptive_grid import Adaptive, adaptive
from reticent.synthesis.axis import axis, even
from reticent.synthesis.density import Density
from tests.assurance.claims import verify

ONE = Fraction(1)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")


def drawn(plan: Adaptive, records: NDArray[np.int64], entropy: Entropy) -> Density:
    found = plan.draw((QueryResult(records=records),), entropy)
    assert isinstance(found, Reply)
    return found.value


@pytest.mark.wide
def test_boxes_and_counts_cost_what_they_say_and_noise_of_one_part_is_refuted() -> None:
    """Whole numbers 0 and 1 and a missing value at epsilon 24, all draws followed.

    What is seen are boxes and noisy counts, in place of the density made from them. Counts at all of epsilon, and a
    tree at three times its share, are refuted.
    """
    epsilon = Fraction(24)
    plan = adaptive([axis("k", [0, 1, 2], whole=True)], ADD, epsilon, depth=1)
    assert plan.guarantee.loss == PureDP(epsilon)
    tables = [(), (0,), (ABSENT,), (0, 1)]
    pairs = [(0, 1), (0, 2), (1, 3)]
    seen: list[object] = []

    class Telling(Adaptive):
        """Tells the boxes and counts that are released."""

        def _density(self, boxes: object, noisy: NDArray[np.float64]) -> Density:
            seen.append((boxes, tuple(noisy.tolist())))
            return Density((self.grid.axes), np.array([0.5, 0.5]), "told", self.guarantee, 1)

    def program(made: Adaptive, rows: tuple[int, ...], entropy: Entropy) -> object:
        told = Telling(made.grid, made.tree, made.each, made.people)
        told.draw((QueryResult(records=np.array(rows, np.int64).reshape(-1, 1)),), entropy)
        return seen.pop()

    loud = replace(plan, each=Geometric(L1(ONE, ADD), epsilon))
    wild = replace(
        plan, tree=PrivTree(ADD, 3 * plan.tree.epsilon, 1, 1), each=Geometric(L1(ONE, ADD), epsilon * 9 / 10)
    )
    for made, verdict in ((plan, "holds"), (loud, "refuted"), (wild, "refuted")):
        line = verify("adaptive", lambda rows, e, m=made: program(m, rows, e), tables, pairs, PureDP(epsilon))  # type: ignore[misc]
        assert line.verdict == verdict, line


def test_two_calls_of_noise_whatever_the_rows() -> None:
    """An empty table and a full one ask for the same two mechanisms; the counts are of as many boxes as there are."""
    plan = adaptive([even("x", Fraction(0), ONE, 1)], SUB, ONE, depth=6, atoms=[ONE])
    for records in (np.zeros((0, 1), np.int64), np.full((5_000, 1), 3, np.int64)):
        seen: list[object] = []
        stream = Replayed("levels")

        def answer(made: object, exact: object, start: object, seen: list[object] = seen) -> object:
            seen.append(made)
            if isinstance(made, PrivTree) and isinstance(exact, dict):
                return made.sample(exact, stream)  # noqa: B023 - called before the next turn
            assert isinstance(made, Geometric)
            assert isinstance(exact, tuple)
            return made.sample(exact, stream)  # noqa: B023 - as above

        drawn(plan, records, gate.Recorder(answer, Replayed("coins")))
        assert seen == [plan.tree, plan.each]


def test_noise_of_the_counts_is_that_of_the_adjacency() -> None:
    """Scale 2 / epsilon where records are replaced, 1 / epsilon where they are added, times the rows of a person."""
    for near, moved in ((SUB, 2), (ADD, 1), (Adjacency("add_remove", rows=3), 3)):
        plan = adaptive([even("x", Fraction(0), ONE, 1)], near, ONE, depth=4)
        assert plan.each.scale == moved / plan.each.epsilon
        assert plan.each.epsilon + plan.tree.epsilon == ONE
        assert plan.tree.scale == PrivTree(ADD, plan.tree.epsilon / moved, 1, 4).scale


def test_a_narrow_peak_is_found_and_empty_space_is_left_in_large_boxes() -> None:
    """9,000 of 10,000 records in 1/256 of each axis, two columns, epsilon 1."""
    axes = [even("x", Fraction(0), ONE, 1), even("y", Fraction(0), ONE, 1)]
    plan = adaptive(axes, SUB, ONE, depth=8, people=10_000)
    unit = [int(1 / step) for step in plan.grid.query.units]
    wide = (Replayed("wide").words(2_000) >> np.uint64(11)).astype(np.float64).reshape(-1, 2) * 2.0**-53
    peak = np.tile([0.7012, 0.3001], (9_000, 1))
    records = np.floor(np.concatenate([wide, peak]) * np.array(unit)).astype(np.int64)
    density = drawn(plan, records, Replayed("peak"))
    assert density.boxes is not None
    assert len(density.masses) < 400
    low = [k / 256 for k in (179, 76)]
    assert density.probability(low, [end + 1 / 256 for end in low]).value > 0.85
    assert density.masses.sum() == pytest.approx(1.0)


def test_atoms_and_missing_values_have_their_shares_and_the_rest_its_shape() -> None:
    """A fifth is missing, a fifth is 0, the rest in the upper half; both adjacencies."""
    for near, people in ((ADD, None), (SUB, 5_000)):
        plan = adaptive(
            [even("x", Fraction(0), ONE, 1)], near, Fraction(2), depth=6, people=people, atoms=[Fraction(0)]
        )
        unit = int(1 / plan.grid.query.units[0])
        values = [ABSENT] * 1_000 + [0] * 1_000 + [unit // 2 + k * unit // 6_001 for k in range(3_000)]
        density = drawn(plan, np.array(values, np.int64).reshape(-1, 1), Replayed(f"parts {near.kind}"))
        assert density.missing == pytest.approx(0.2, abs=0.01)
        assert density.atoms[0][0] == 0.0
        assert density.atoms[0][1] == pytest.approx(0.25, abs=0.01)
        assert density.n == pytest.approx(4_000, abs=150)
        assert density.probability(0.5, 1).value == pytest.approx(0.75, abs=0.02)


def test_whole_numbers_missing_values_and_no_records() -> None:
    plan = adaptive([axis("k", list(range(33)), whole=True)], ADD, Fraction(4), depth=5)
    half = np.where(np.arange(2_000) % 2 == 0, ABSENT, 7).reshape(-1, 1).astype(np.int64)
    density = drawn(plan, half, Replayed("half"))
    assert density.missing == pytest.approx(0.5, abs=0.02)
    assert density.pdf([7])[0] > 0.95
    for key in range(8):
        found = drawn(plan, np.zeros((0, 1), np.int64), Replayed(f"none {key}"))
        assert found.masses.sum() == pytest.approx(1.0)
        every = drawn(plan, np.full((3, 1), ABSENT, np.int64), Replayed(f"absent {key}"))
        assert every.masses.sum() == pytest.approx(1.0)


def test_ranges_are_refused() -> None:
    one = [even("x", Fraction(0), ONE, 1)]
    for depth in (0, 13):
        with pytest.raises(PublicParameterError):
            adaptive(one, SUB, ONE, depth=depth)
    with pytest.raises(PublicParameterError):
        adaptive([axis("k", [0, 1, 2, 3], whole=True)], SUB, ONE, depth=2)
    with pytest.raises(QuestionError):
        adaptive(one, SUB, Fraction(1, 1000), depth=8, people=1_000)
