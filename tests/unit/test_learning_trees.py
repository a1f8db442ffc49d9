"""What trees and forests choose by themselves: levels, trees, weights of thresholds, and that those levels are good."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.entropy import Replayed
from reticent.learning import DecisionTreeClassifier, RandomForestClassifier
from reticent.learning.fit.fit_release import Between
from reticent.learning.trees import THRESHOLDS, Growth, Tree
from reticent.ledger import Ledger
from reticent.mechanisms.exponential import Candidates
from reticent.mechanisms.gate import Call, Recorder
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.scaling import Floats

ROW = Adjacency("add_remove")
COLUMNS = 8
BOX = ((Fraction(-1), Fraction(1)),) * COLUMNS
ROWS = 450
FITS = 25


def grown(
    made: type[DecisionTreeClassifier] | type[RandomForestClassifier],
    epsilon: str,
    people: int,
    *,
    adjacency: Between = "add_remove",
    classes: int = 2,
    **own: object,
) -> list[Tree]:
    """The trees of a fit of a few rows, of whom ``people`` is said to be the public number."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (people if adjacency == "substitute" else 40, 2))
    ledger = Ledger.create(None, title="t", adjacency=Adjacency(adjacency), budget=PureDP(Fraction(100)))
    model = made(
        epsilon=epsilon,
        bounds=(-1, 1),
        adjacency=adjacency,
        ledger=ledger,
        people=None if adjacency == "substitute" else people,
        classes=list(range(classes)),
        **own,  # type: ignore[arg-type]  # parameters of either
    )
    fitted: Any = model.fit(x, (x[:, 0] > 0).astype(int))
    return list(fitted._trees)


def levels(tree: Tree) -> int:
    return (len(tree.column) + 1).bit_length() - 1


@pytest.mark.parametrize(
    ("epsilon", "people", "deep"),
    [("0.1", 455, 1), ("0.1", 2990, 1), ("0.1", 3000, 2), ("1", 1000, 3), ("1", 10_000, 4), ("10", 5_000, 5)],
)
def test_levels_go_by_epsilon_times_rows(epsilon: str, people: int, deep: int) -> None:
    for made in (DecisionTreeClassifier, RandomForestClassifier):
        (tree,) = grown(made, epsilon, people)
        assert levels(tree) == deep


@pytest.mark.parametrize(("classes", "deep"), [(2, 1), (3, 2), (4, 2), (5, 3), (10, 4)])
def test_every_class_can_have_a_leaf(classes: int, deep: int) -> None:
    (tree,) = grown(DecisionTreeClassifier, "0.1", 455, classes=classes)
    assert levels(tree) == deep


def test_a_replaced_row_costs_two_and_levels_know_it() -> None:
    assert levels(*grown(DecisionTreeClassifier, "1", 599, adjacency="substitute")) == 1
    assert levels(*grown(DecisionTreeClassifier, "1", 600, adjacency="substitute")) == 2


def test_trees_of_a_forest_go_by_epsilon_times_rows_and_levels_by_the_share_of_each() -> None:
    for people, many in ((9_999, 1), (10_000, 2), (200_000, 10)):
        forest = grown(RandomForestClassifier, "10", people)
        assert len(forest) == many
        assert {levels(tree) for tree in forest} == {5}
    assert [levels(tree) for tree in grown(RandomForestClassifier, "1", 900, n_estimators=3)] == [2, 2, 2]


def test_random_splits_go_deep_and_a_named_depth_is_kept() -> None:
    assert levels(*grown(DecisionTreeClassifier, "0.1", 455, splitter="random")) == 5
    assert levels(*grown(DecisionTreeClassifier, "0.1", 455, max_depth=3)) == 3


# --- what the levels are good for -------------------------------------------------------------------------------------


def table(key: int) -> tuple[Floats, Floats]:
    """Rows and classes; eight columns lean towards a class, as measurements of one illness do."""
    rng = np.random.default_rng(key)
    y = (rng.random(ROWS) < 0.4).astype(np.float64)
    lean = np.linspace(0.1, 0.6, COLUMNS)
    return np.clip(0.3 * rng.normal(size=(ROWS, COLUMNS)) + lean * (y[:, None] - 0.5), -1, 1), y


def right(depth: int, epsilon: Fraction) -> float:
    """The share of other rows that trees of ``depth`` label rightly, mean over fits with replayed noise."""
    found = []
    for key in range(FITS):
        x, y = table(key)
        tree = Growth(BOX, 2, depth, epsilon, ROW).draw(x, y, Replayed(f"levels {key}"))
        other, told = table(FITS + key)
        found.append(float((tree.votes(other).argmax(axis=1) == told).mean()))
    return float(np.mean(found))


@pytest.mark.wide
def test_one_level_is_better_at_little_epsilon_and_several_at_much() -> None:
    """At epsilon times rows of 45 and of 4,500; replayed, so that red means a change.

    A share of right labels has a standard deviation of at most 1/2 over fits, 1/10 for a mean of 25.
    """
    little, much = Fraction(1, 10), Fraction(10)
    assert right(1, little) > 0.75  # 0.6 is what the commoner class alone gets
    assert right(1, little) > right(3, little) + 0.02
    assert right(3, much) > right(1, much) + 0.02


def test_noise_for_a_tenth_of_epsilon_is_noticed_as_too_much_and_for_ten_times_as_too_little() -> None:
    honest = right(1, Fraction(1, 10))
    assert right(1, Fraction(1, 100)) < honest - 0.1
    assert right(1, Fraction(1)) > honest + 0.02


# --- columns in [0, 1] ------------------------------------------------------------------------------------------------


def choices(bounds: tuple[tuple[int, int], ...], x: Floats, y: Floats, epsilon: int) -> tuple[Tree, list[Call]]:
    exact = tuple((Fraction(low), Fraction(high)) for low, high in bounds)
    coins = Replayed("choices")
    recorder = Recorder(lambda mechanism, exact, start: mechanism.sample(exact, coins), coins)  # type: ignore[attr-defined]  # every mechanism has it
    return Growth(exact, 2, 1, Fraction(epsilon), ROW).draw(x, y, recorder), recorder.calls


def test_an_indicator_has_the_weight_of_one_threshold_elsewhere() -> None:
    x = np.array([[0.0, -0.5], [1.0, 0.5]])
    _, calls = choices(((0, 1), (-1, 1)), x, np.array([0.0, 1.0]), 1)
    offered = calls[0].exact
    assert isinstance(offered, Candidates)
    weights = [int(weight) for weight in offered.weights]
    assert sum(weights[:THRESHOLDS]) == weights[THRESHOLDS]
    assert len(set(offered.scores[:THRESHOLDS].tolist())) == 1  # wherever it is cut


def test_a_column_of_numbers_in_the_unit_interval_is_cut_where_it_matters() -> None:
    """The class of 2,000 rows turns at 1/4; at epsilon 10 a threshold beside it has a chance below 1e-100."""
    x = np.random.default_rng(3).random((2000, 1))
    tree, _ = choices(((0, 1),), x, (x[:, 0] > 0.25).astype(np.float64), 10)
    assert tree.threshold.tolist() == [0.25]
