"""What is worked out of a row follows from that row alone: no row rounds another one differently, warns or fails.

A sensitivity of a sum over rows rests on this. Products of matrices in floats break it: the last rows of a table, those
beyond a multiple of four, take another path through the processor and round differently, so that one row more can turn
the labels of three others. The mutants below are what was used before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.learning import (
    BernsteinClassifier,
    DecisionTreeClassifier,
    GaussianNB,
    GridSearchCV,
    HuberRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    QuantileRegressor,
)
from reticent.learning.classifiers import Classifier
from reticent.learning.clusters import nearest
from reticent.learning.fit import fit_release
from reticent.learning.linear import Regressor
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.convex import losses
from reticent.statistics.convex.tabulated_loss import of_classes
from reticent.statistics.scaling import UNIT, Floats, Scaling, filled, scored, weighed

BATCHES = (*range(1, 18), 100)
LINE = np.linspace(-1.0, 1.0, 12)


def account() -> Ledger:
    return Ledger.open_or_create(
        None, title="rows", adjacency=Adjacency("add_remove", 1), person=None, budget=PureDP(Fraction(1000))
    )


def alone(of_rows: Callable[[Floats], NDArray[np.generic]], rows: Floats) -> bool:
    """Whether every row's numbers are the same, bit by bit, in tables of other sizes and layouts."""
    whole = of_rows(filled(rows, np.ones(len(rows), np.bool_)))
    for order in ("C", "F"):
        for count in BATCHES:
            for first in (0, 1, 3):
                part = np.array(rows[first : first + count], order=_layout(order))
                found = of_rows(filled(part, np.ones(len(part), np.bool_)))
                if found.tobytes() != np.ascontiguousarray(whole[first : first + count]).tobytes():
                    return False
    return True


def _layout(order: str) -> Literal["C", "F"]:
    return "C" if order == "C" else "F"


def some(columns: int, rows: int = 150) -> Floats:
    return np.asarray(np.random.default_rng(columns).uniform(-1.0, 1.0, (rows, columns)))


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("columns", [1, 2, 4, 9, 20])
@pytest.mark.parametrize("classes", [2, 3, 9])
def test_a_label_follows_from_its_row_alone(columns: int, classes: int) -> None:
    rows = some(columns)
    labels = np.random.default_rng(classes).integers(0, classes, len(rows))
    models: list[Classifier] = [
        LogisticRegression(intervals="no"),
        LinearSVC(),
        GaussianNB(),
        DecisionTreeClassifier(),
        *([BernsteinClassifier()] if columns <= 4 else []),
    ]
    for model in models:
        model.set_params(
            epsilon=5, bounds=(-1, 1), classes=range(classes), adjacency="add_remove", ledger=account()
        ).fit(rows, labels)
        for name in ("_scores", "_chances", "_mean", "decision_function", "_labelled"):
            if hasattr(model, name):
                assert alone(getattr(model, name), rows), (type(model).__name__, name)


@pytest.mark.parametrize("columns", [1, 2, 4, 9, 20])
def test_predictions_clusters_and_slopes_follow_from_their_row_alone(columns: int) -> None:
    rows = some(columns)
    made = np.random.default_rng(0).normal(size=(7, columns))
    model = HuberRegressor(y_bounds=(-5, 5), epsilon=5, bounds=(-1, 1), adjacency="add_remove", ledger=account())
    assert alone(model.fit(rows, rows.sum(axis=1))._predicted, rows)
    assert alone(lambda part: nearest(part, made), rows)
    whole = np.rint(rows * UNIT)
    named, _ = of_classes(lambda score, target: np.tanh(score - target), 7, Fraction(2), None)
    for loss in (losses.Logistic(7), losses.Hinge(7), named):
        assert alone(
            lambda part, loss=loss: losses.slopes(loss, scored(part, made), np.ones(len(part)), "l1"),  # type: ignore[misc]
            whole,
        )


def test_a_product_of_matrices_is_noticed() -> None:
    weights = np.random.default_rng(0).normal(size=(1, 12))
    assert alone(lambda part: weighed(part, weights, np.zeros(1)), some(12))
    assert not alone(lambda part: part @ weights.T, some(12))


def test_scores_of_whole_rows_are_exact() -> None:
    """Against rationals: the coefficients are off by the grid, and nothing is off besides."""
    source = np.random.default_rng(5)
    rows = source.integers(-UNIT, UNIT + 1, (20, 30)).astype(np.float64)
    for size in (1e-200, 1e-3, 1.0, 1e12):
        at = source.normal(size=(3, 30)) * size
        found, near = scored(rows, at), 2.0**-30 * float(np.abs(at).sum(axis=1).max())
        exact = rows @ at.T / UNIT
        assert np.abs(found - exact).max() <= near
        fine = Fraction(float(np.abs(at).sum(axis=1).max())) / (1 << 39)
        grid = Fraction(2) ** int(np.floor(np.log2(float(fine))))
        assert all((Fraction(value) * UNIT / grid).denominator == 1 for value in found.ravel().tolist())
    assert (scored(rows, np.full((3, 30), np.inf)) == 0.0).all()


def of_score(count: int, line: Floats, label: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Fraction, list[int]]:
    """What the noise of an accuracy was told its sums move by, and the sums, of ``count`` equal rows."""
    seen: list[tuple[Fraction, list[int]]] = []
    kept = gate.draw

    def spy(mechanism: Geometric, exact: Sequence[int], entropy: object) -> tuple[int, ...]:
        seen.append((mechanism.sensitivity.bound, list(exact)))
        return kept(mechanism, exact, entropy)  # type: ignore[arg-type]

    model = LogisticRegression(
        intervals="no", epsilon=5, bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=account()
    )
    model.fit(some(12), np.arange(150) % 2)
    model._coef, model._start = line[None, :], np.zeros(1)
    monkeypatch.setattr(gate, "draw", spy)
    row = edge(line)
    model.score(np.array(np.tile(row, (count, 1)), order="F"), np.full(count, label), epsilon=1)
    monkeypatch.setattr(gate, "draw", kept)
    return seen[0]


def edge(line: Floats) -> Floats:
    """A row on the boundary but for rounding, whose label a product of matrices turns with the number of rows."""
    source = np.random.default_rng(1)
    for _ in range(20_000):
        row = source.uniform(-1.0, 1.0, 12)
        row[-1] = -float(row[:-1] @ line[:-1]) / float(line[-1])
        seven, eight = (np.array(np.tile(row, (count, 1)), order="F") @ line > 0 for count in (7, 8))
        if abs(row[-1]) < 1.0 and int((seven != eight[:7]).sum()) >= 2:
            return np.asarray(row)
    pytest.skip("this processor multiplies every row alike")


def test_one_row_moves_an_accuracy_by_what_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven and eight rows on the boundary: a product of matrices moved the sums by 5 where 2 were declared.

    With the label that the rows get, one row moves them by all of 2: its label is right, and it is there.
    """
    line, moved = np.random.default_rng(3).normal(size=12), []
    for label in (0, 1):
        (bound, seven), (_, eight) = (of_score(count, line, label, monkeypatch) for count in (7, 8))
        moved.append(sum(abs(one - other) for one, other in zip(seven, eight, strict=True)))
        assert moved[-1] <= bound
    assert max(moved) == 2 * UNIT


def test_a_search_pays_for_all_rows_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows with a label nobody declared are wrong by every candidate; rows that lack a value are by none."""
    ledger = Ledger.open_or_create(
        None, title="rows", adjacency=Adjacency("substitute", 2), person=None, budget=PureDP(Fraction(1000))
    )
    seen: list[tuple[Fraction, list[int]]] = []
    kept = gate.draw

    def spy(mechanism: object, exact: object, entropy: object) -> object:
        if isinstance(mechanism, Exponential) and isinstance(exact, Candidates):
            seen.append((mechanism.sensitivity.bound, exact.scores.tolist()))
        return kept(mechanism, exact, entropy)  # type: ignore[arg-type]

    monkeypatch.setattr(gate, "draw", spy)
    monkeypatch.setattr("reticent.learning.search.TESTS", 1)
    for value in (0.5, np.nan):
        x = np.full((6, 2), np.nan)
        x[:2] = value
        tree = DecisionTreeClassifier(
            bounds=(-1, 1), classes=[0, 1], adjacency="substitute", rows_each=2, ledger=ledger, splitter="random"
        )
        GridSearchCV(tree, {"max_depth": [1, 2]}, epsilon=1).fit(x, np.full(6, 7))
    (bound, there), (_, absent) = seen
    assert (there, absent) == ([2, 2], [0, 0])
    assert bound >= 2


def test_arrays_are_read_after_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    of_arrays, ledger, spent = fit_release.of_arrays, account(), []

    def watched(*given: object) -> fit_release.Circumstances:
        here = of_arrays(*given)  # type: ignore[arg-type]

        def read() -> tuple[Floats, NDArray[np.generic] | None]:
            spent.append(ledger.spent())
            return here.read()

        return replace(here, read=read)

    monkeypatch.setattr("reticent.learning.fit.estimator.of_arrays", watched)
    model = GaussianNB(epsilon=1, bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=ledger)
    model.fit(some(2), np.arange(150) % 2).score(some(2), np.arange(150) % 2, epsilon=1)
    assert spent == [PureDP(Fraction(1)), PureDP(Fraction(2))]


HOSTILE: tuple[tuple[object, ...], ...] = (
    (10**400, 0, 1),
    ("a", 0, 1),
    (None, 0, 1),
    (1e308, 0, 1),
    (float("nan"), 0, 1),
)


@pytest.mark.parametrize("first", HOSTILE, ids=["huge", "text", "none", "far", "nan"])
@pytest.mark.parametrize("kind", [LinearRegression, HuberRegressor, QuantileRegressor])
def test_no_target_makes_a_fit_or_a_score_fail_or_warn(kind: type[Regressor], first: object) -> None:
    y = np.array([first, *[0.5] * 30], dtype=object)
    x = np.full((len(y), 2), 0.25)
    x[0] = [1e308, -1e308]
    model = kind(y_bounds=(0, "1e-20"), epsilon=1, bounds=(-1, 1), adjacency="add_remove", ledger=account())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(x, y)
        model._coef = np.full((1, 2), 1e10)
        model.score(x, y, epsilon=1)


def test_no_row_makes_a_score_of_labels_warn() -> None:
    x = some(2)
    x[0] = [1.7e308, 1.7e308]
    for model in (LogisticRegression(intervals="no"), GaussianNB()):
        model.set_params(epsilon=1, bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=account())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(x, np.arange(150) % 2).score(x, np.arange(150) % 2, epsilon=1)


@pytest.mark.parametrize(
    ("low", "high"), [("0", "5e-324"), ("0", "1e-301"), ("-1e300", "1e301")], ids=["least", "narrow", "far"]
)
def test_bounds_that_doubles_cannot_tell_apart_are_refused(low: str, high: str) -> None:
    """Half-widths of 0 made rows of -2^63, whose length overflowed and passed for short."""
    with pytest.raises(PublicParameterError, match="apart"):
        Scaling(((Fraction(low), Fraction(high)),))
