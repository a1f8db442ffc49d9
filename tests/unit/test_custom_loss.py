"""Losses named by their slopes: who asks the caller's functions and when, what is refused, and what comes out."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent import learning as private
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.ledger import Ledger
from reticent.mechanisms.gate import Recorder
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.convex import losses, tabulated_loss
from reticent.statistics.convex.descent import Descent
from reticent.statistics.convex.losses import Logistic, Loss
from reticent.statistics.convex.newton import Problem
from reticent.statistics.convex.tabulated_loss import CELLS, FINE, LINES, TabulatedLoss
from reticent.statistics.price import Price
from reticent.statistics.scaling import UNIT, Floats, Scaling

CANARY = 3.141592653589793 / 4
RNG = np.random.default_rng(21)
X = RNG.uniform(-1, 1, (3000, 2))
LABELS = (X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=3000) > 0).astype(int)
COUNTS = RNG.poisson(np.exp(0.5 + X @ np.array([1.0, -0.5]))).astype(float)
ENDS = np.array([-1.0, 1.0])
SOLVERS = ("descent", "objective", "output")


def logistic(z: Floats, t: Floats) -> Floats:
    return np.asarray(-t / (1 + np.exp(t * z)))


def poisson(z: Floats, k: Floats) -> Floats:
    return np.asarray(np.exp(z) - k)


def account(path: Path | None = None) -> Ledger:
    budget = ApproxDP(Fraction(10**4), Fraction(1, 100))
    return Ledger.create(path, title="risk", adjacency=Adjacency("add_remove"), budget=budget)


def classifier(ledger: Ledger, **own: Any) -> Any:
    given = {"epsilon": 4, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger, "people": 3000}
    return private.EmpiricalRiskClassifier(**{**given, "classes": [0, 1], "slope": logistic, **own})


def regressor(ledger: Ledger, **own: Any) -> Any:
    given = {"epsilon": 4, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger, "people": 3000}
    usual = {"slope": poisson, "y_bounds": (0, 12), "reach": (-3, 3), "inverse_link": np.exp}
    return private.EmpiricalRiskRegressor(**{**given, **usual, **own})


class Spy:
    """A function that notes what it was asked, and whether anything had been charged by then."""

    def __init__(self, of: Callable[..., Floats], ledger: Ledger) -> None:
        self.of, self.ledger, self.seen, self.late = of, ledger, [set[float]() for _ in range(2)], 0

    def __call__(self, *given: Floats) -> Floats:
        self.late += len(self.ledger.releases())
        for known, part in zip(self.seen, given, strict=False):
            known.update(np.asarray(part).ravel().tolist())
        return self.of(*given)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_callers_functions_are_asked_on_the_public_grid_and_before_the_charge(solver: str) -> None:
    rows, counts, ledger = X.copy(), COUNTS.copy(), account()
    rows[0], counts[0] = (CANARY, -CANARY), CANARY
    spy, link = Spy(poisson, ledger), Spy(np.exp, ledger)
    model = regressor(ledger, slope=spy, inverse_link=link, solver=solver).fit(rows, counts)
    model.score(rows, counts, epsilon=1)
    model.predict(rows)
    assert (spy.late, link.late) == (0, 0)
    assert spy.seen[0] == link.seen[0] == set((3 * tabulated_loss.NODES).tolist())
    assert spy.seen[1] == set((6 + 6 * np.linspace(-1, 1, LINES + 1)).tolist())
    ledger = account()
    spy = Spy(logistic, ledger)
    classifier(ledger, slope=spy, solver=solver, reach=5).fit(rows, LABELS)
    assert spy.late == 0
    assert spy.seen[1] == {-1.0, 1.0}
    assert len(spy.seen[0]) <= CELLS + 1
    assert max(spy.seen[0]) == 5


def test_a_loss_that_hands_scores_of_rows_to_the_caller_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = account()
    spy = Spy(logistic, ledger)

    def leaking(self: TabulatedLoss, scores: Floats, targets: Floats) -> Floats:
        return spy(scores, 2 * targets[:, None] - 1)

    monkeypatch.setattr(TabulatedLoss, "slopes", leaking)
    classifier(ledger, slope=spy, solver="descent", steps=3).fit(X, LABELS)
    assert spy.late > 0
    assert len(spy.seen[0]) > CELLS + 1


def falls(z: Floats, t: Floats) -> Floats:  # Tukey's biweight: its slope turns back
    return np.asarray((z - t) * np.clip(1 - (z - t) ** 2, 0, None) ** 2)


def breaks(z: Floats, t: Floats) -> Floats:
    raise KeyError("a table")


def test_what_is_no_convex_loss_is_refused_uncharged() -> None:
    ledger = account()
    refused: tuple[tuple[object, str], ...] = (
        (None, "slope"),
        (falls, "not convex"),
        (lambda z, t: -logistic(z, t), "not convex"),
        (lambda z, t: 0 * z + t, "no least point"),
        (lambda z, t: 0 * z, "no least point"),
        (lambda z, t: 1.0, "no least point"),
        (lambda z, t: 1 / z, "finite"),
        (lambda z, t: np.where(z > 2, np.nan, z), "finite"),
        (lambda z, t: "steep", "ValueError"),
        (breaks, "KeyError"),
    )
    for slope, word in refused:
        for model, y in ((classifier(ledger, slope=slope), LABELS), (regressor(ledger, slope=slope), COUNTS)):
            with pytest.raises(PublicParameterError, match=word):
                model.fit(X, y)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"reach": 0}, "reach"),
        ({"steepest": 0}, "steepest"),
        ({"reach": 10**7}, "reach"),
    )
    for own, word in wrong:
        with pytest.raises(PublicParameterError, match=word):
            classifier(ledger, **own).fit(X, LABELS)
    wrong = (
        ({"reach": (1, 1)}, "reach"),
        ({"inverse_link": lambda z: 1 / z}, "inverse_link must be finite"),
        ({"steps": 3, "solver": "output"}, "descent"),
    )
    for own, word in wrong:
        with pytest.raises(PublicParameterError, match=word):
            regressor(ledger, **own).fit(X, COUNTS)
    assert ledger.spent() == PureDP(Fraction(0))


def test_a_table_that_falls_or_is_too_great_cannot_be_made() -> None:
    honest, _ = tabulated_loss.of_classes(logistic, 2, Fraction(8), None)
    for values in (honest.values[:, ::-1], 2 * honest.values, honest.values[:, :-1], 0 * honest.values):
        with pytest.raises(PublicParameterError):
            TabulatedLoss(np.ascontiguousarray(values), 3, 2)
    with pytest.raises(ValueError, match="read-only"):
        honest.values[0, 0] = 0


def test_numbers_one_by_one_make_the_table_that_arrays_make() -> None:
    def branching(z: Floats, t: Floats) -> Floats:
        return -t * (1 - t * z) if t * z < 1 else 0 * z

    def at_once(z: Floats, t: Floats) -> Floats:
        return np.asarray(-t * np.clip(1 - t * z, 0, None))

    one, other = (tabulated_loss.of_classes(slope, 2, Fraction(3), None) for slope in (branching, at_once))
    assert one[0].digest == other[0].digest
    assert one[1] == other[1] == 4
    assert one[0].digest != tabulated_loss.of_classes(at_once, 2, Fraction(3), Fraction(2))[0].digest
    single, many = (
        tabulated_loss.of_numbers(slope, ENDS, ENDS, None)[0] for slope in (lambda z, y: math.tanh(z - y), lag)
    )
    assert single.digest == many.digest


def lag(z: Floats, y: Floats) -> Floats:
    return np.asarray(np.tanh(z - y))


def test_slopes_are_those_of_the_function_and_constant_beyond() -> None:
    """Straight lines over cells of width h miss a function by at most h^2 / 8 of its curvature, and a half of 2^-20."""
    made, bound = tabulated_loss.of_classes(logistic, 2, Fraction(8), None)
    z, y = np.linspace(-8, 8, 4001)[:, None], np.resize([0.0, 1.0], 4001)
    exact = logistic(z, 2 * y[:, None] - 1) / bound
    assert np.abs(made.slopes(z, y) - exact).max() < 0.1 * 2.0**-12 / 8 + 2.0**-20
    assert made.slopes(np.array([[1e9], [8.0]]), np.zeros(2)).tolist() == [[1.0], [1.0]]
    assert float(made.bent) == pytest.approx(0.25 / bound, rel=1e-3)
    assert not made.curvatures(np.array([[-9.0], [1e300]]), np.ones(2)).any()
    counts, bound = tabulated_loss.of_numbers(poisson, 3 * ENDS, np.array([0.0, 20.0]), None)
    assert bound == pytest.approx(math.exp(3))
    z, k = np.linspace(-1, 1, 999)[:, None], np.resize(np.arange(21.0), 999)
    exact = (np.exp(3 * z) - k[:, None]) / bound
    assert np.abs(counts.slopes(z, k / 10 - 1) - exact).max() < 9 * 2.0**-18 / 8 + 2.0**-19


@pytest.mark.parametrize("classes", [2, 3, 0])
def test_slopes_in_doubles_are_within_five_units_of_those_in_rationals(classes: int) -> None:
    made = (
        tabulated_loss.of_classes(logistic, classes, Fraction(5), None)[0]
        if classes
        else tabulated_loss.of_numbers(lag, ENDS, ENDS, None)[0]
    )
    rng = np.random.default_rng(classes)
    scores = rng.normal(0, 2.0**made.power, (300, made.scores))
    scores[:3, 0] = 2.0**made.power, -(2.0**made.power), 0.0
    y = rng.integers(0, classes, 300).astype(float) if classes else rng.uniform(-1.2, 1.2, 300)
    found = made.slopes(scores, y)
    for row, target, doubles in zip(scores.tolist(), y.tolist(), found.tolist(), strict=True):
        exact = made.exactly([Fraction(score) for score in row], Fraction(target))
        assert max(abs(Fraction(a) - b) for a, b in zip(doubles, exact, strict=True)) <= 5 * Fraction(1, 2**53)


def test_a_bound_of_the_curvature_holds_near_a_score() -> None:
    made, _ = tabulated_loss.of_numbers(lambda z, y: np.clip(20 * (z - y), -1, 1), ENDS, ENDS, None)
    rng = np.random.default_rng(4)
    scores, y = rng.uniform(-1.1, 1.1, (2000, 1)), rng.uniform(-1, 1, 2000)
    for off in (1e-12, 1e-3, 0.1):
        near = made.near(scores, y, np.full((2000, 1), off))
        for step in (-1.0, -0.3, 0.0, 0.5, 1.0):
            assert (made.curvatures(scores + step * off, y) <= near).all()
    assert (made.near(scores, y, np.full((2000, 1), 1e-12)) == 0).mean() > 0.5  # and is not the greatest everywhere


# --- what comes out ---------------------------------------------------------------------------------------------------


def noiseless(loss: Loss) -> Floats:
    """The end of a descent whose noise is 0."""
    price, box = Price(Fraction(4), Fraction(0), Adjacency("add_remove")), Scaling(((Fraction(-1), Fraction(1)),) * 2)
    plan = Descent(loss, box, price, Fraction(3), people=3000, steps=40)
    recorder = Recorder(lambda mechanism, exact, start: exact, Replayed("coins"))
    return plan.draw(X, LABELS.astype(float), recorder).scaled


def test_the_slope_of_logistic_regression_is_logistic_regression() -> None:
    ours = noiseless(tabulated_loss.of_classes(logistic, 2, Fraction(8), Fraction(1))[0])
    theirs = noiseless(Logistic(2))
    assert np.abs(ours - theirs).max() < 0.01 * np.abs(theirs).max()
    other = noiseless(tabulated_loss.of_classes(lambda z, t: logistic(2 * z, t), 2, Fraction(8), Fraction(1))[0])
    assert np.abs(ours - other).max() > 0.1 * np.abs(theirs).max()


def test_the_least_point_of_a_table_is_that_of_its_loss() -> None:
    """Poisson regression, ridge 5: Newton's method on the loss itself, in half-widths, its slope divided by e^3."""
    made, bound = tabulated_loss.of_numbers(poisson, 3 * ENDS, np.array([0.0, 20.0]), None)
    rows = np.rint(np.column_stack([np.ones(3000), X]) * UNIT)
    design, at = rows / UNIT, np.zeros(3)
    for _ in range(40):
        mean = np.exp(3 * design @ at)
        slope = design.T @ (mean - COUNTS) / bound + 5 * at
        at = at - np.linalg.solve((design * (3 * mean / bound)[:, None]).T @ design + 5 * np.eye(3), slope)
    assert np.abs(design @ at).max() < 1
    exact = Problem(made, rows.astype(np.int64), COUNTS / 10 - 1)
    found = np.array(exact.least((0, 0, 0), 0, Fraction(5), Fraction(1, 2**30), -30)) / 2.0**30
    assert np.abs(found - at).max() < 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_line_and_the_certificate_names_the_table(solver: str) -> None:
    """The sign of every slope is 20 or more standard deviations of the noise away."""
    ledger = account()
    model = classifier(ledger, solver=solver, C="0.05").fit(X, LABELS)
    assert model.coef_[0, 0] > 0 > model.coef_[0, 1]
    assert Fraction(99, 100) * 4 < model.guarantee_.loss.epsilon <= 4
    assert ledger.spent() == model.guarantee_.loss
    loss, bound = tabulated_loss.of_classes(logistic, 2, Fraction(8), None)
    assert (model.table_, model.steepest_) == (loss.digest, bound)
    assert np.mean(model.predict(X) == LABELS) > 0.8
    assert (model.decision_function(X[:9]) > 0).tolist() == model.predict(X[:9]).astype(bool).tolist()
    counts = regressor(ledger, solver=solver, alpha=30).fit(X, COUNTS)
    assert counts.coef_[0] > 0 > counts.coef_[1]
    assert counts.table_ in counts.certificate_.to_json()
    for one in (model, counts):
        assert all(check.ok for check in one.certificate_.verify(ledger, allow_unsigned=True).checks)


def test_predictions_are_the_inverse_link_of_scores() -> None:
    model = regressor(account()).fit(X, COUNTS)
    scores = model.linear_predictor(X)
    assert np.abs(scores).max() < 3
    assert model.predict(X) == pytest.approx(np.exp(scores), abs=math.exp(3) * (6 / CELLS) ** 2 / 8)
    plain = regressor(account(), inverse_link=None).fit(X, COUNTS)
    assert (plain.predict(X) == plain.linear_predictor(X)).all()


def test_three_classes_have_a_score_each() -> None:
    y = np.where(X[:, 0] < -0.4, 2, LABELS)
    for solver in SOLVERS:
        own = {"classes": [0, 1, 2], "solver": solver, "C": "0.05", "epsilon": 10}
        model = classifier(account(), **own).fit(X, y)
        assert model.coef_.shape == (3, 2)
        assert np.mean(model.predict(X) == y) > 0.6


def test_nothing_fitted_holds_a_row(tmp_path: Path) -> None:
    rows = X.copy()
    rows[0] = (CANARY, -CANARY)
    for model, y in ((classifier, LABELS), (regressor, COUNTS)):
        fitted = model(account(tmp_path / f"{model.__name__}.ledger"), purpose="a canary").fit(rows, y)
        whole = pickle.dumps(fitted)
        assert not any(np.float64(value).tobytes() in whole for value in rows[:20].ravel())


def test_steps_of_slopes_are_cut_whatever_a_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = tabulated_loss.of_classes(logistic, 2, Fraction(8), None)
    scores, y = np.array([[9.0], [-9.0], [0.1]]), np.array([0.0, 1.0, 0.0])
    honest = losses.slopes(made, scores, y, "l1")
    assert honest[:2].ravel().tolist() == [UNIT, -UNIT]
    monkeypatch.setattr(TabulatedLoss, "slopes", lambda self, scores, targets: np.full((3, 1), 7.0))
    assert np.abs(losses.slopes(made, scores, y, "l1")).max() == UNIT
    assert FINE % UNIT == 0
