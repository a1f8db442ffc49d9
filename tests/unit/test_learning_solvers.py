"""Solvers of the linear models, as estimators have them: the rule, what a fit says of itself, and what it costs."""

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
from reticent.errors import PublicParameterError, QuestionError
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.statistics.convex import newton
from tests.support.unfolded import unfolded

RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, (4000, 3))
LABELS = (X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=4000) > 0).astype(int)
NUMBERS = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * RNG.normal(size=4000)

MODELS: tuple[tuple[Callable[..., Any], dict[str, object], Any], ...] = (
    (private.LogisticRegression, {"classes": [0, 1], "intervals": "no"}, LABELS),
    (private.LinearSVC, {"classes": [0, 1]}, LABELS),
    (private.HuberRegressor, {"y_bounds": (-4, 4)}, NUMBERS),
    (private.QuantileRegressor, {"y_bounds": (-4, 4)}, NUMBERS),
)
IDS = [made.__name__ for made, *_ in MODELS]


def account(path: Path | None = None) -> Ledger:
    budget = ApproxDP(Fraction(10**4), Fraction(1, 100))
    return Ledger.create(path, title="solvers", adjacency=Adjacency("add_remove"), budget=budget)


def fitted(place: int, ledger: Ledger | None = None, x: Any = X, **own: object) -> Any:
    made, usual, y = MODELS[place]
    given = {"epsilon": 2, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger or account(), "people": 4000}
    return made(**{**given, **usual, **own}).fit(x, y[: len(x)])


@pytest.mark.parametrize("place", range(4), ids=IDS)
@pytest.mark.parametrize("solver", ["auto", "objective", "output", "descent"])
def test_a_solver_charges_its_epsilon_and_finds_the_line(place: int, solver: str) -> None:
    """The sign of every slope is 40 or more standard deviations of the noise away for a least point."""
    ledger = account()
    model = fitted(place, ledger, solver=solver, **({"C": "0.01"} if place < 2 else {"alpha": 100}))
    assert isinstance(model.guarantee_.loss, PureDP)
    assert Fraction(99, 100) * 2 < model.guarantee_.loss.epsilon <= 2
    assert ledger.spent() == model.guarantee_.loss
    slopes = np.ravel(model.coef_)
    assert slopes[0] > 0 > slopes[1]
    assert slopes.shape == (3,)


@pytest.mark.parametrize("solver", ["objective", "output"])
def test_a_least_point_says_that_it_has_no_intervals_and_which_ridge_it_has(solver: str) -> None:
    model = fitted(0, solver=solver, C=10, clip=2)
    text = unfolded(model.summary())
    assert f"{'objective' if solver == 'objective' else 'output'} perturbation with ridge" in text
    assert 'no intervals: intervals="yes" and solver="auto" buy them' in text
    assert all(math.isnan(one.low) and math.isnan(one.high) for one in model.estimates_)
    if solver == "objective":  # 1 + q / (4 R) within e^{1/5}, q = 2, of 95 % of epsilon
        assert model.ridge_ == pytest.approx(2 / (4 * math.expm1(0.19)), rel=1e-9)
        assert "where 0.1 was asked" in text
    else:
        assert model.ridge_ == pytest.approx(0.1, rel=1e-9)
    assert "perturbation" not in fitted(0, solver="descent").summary()


@pytest.mark.wide
def test_auto_buys_intervals_and_a_named_least_point_on_demand() -> None:
    bought = fitted(0, intervals="auto")
    assert "perturbation" not in bought.note_
    assert bought.ridge_ == 1
    assert math.isnan(fitted(0, intervals="auto", solver="objective").estimates_[0].low)
    for given in ({"solver": "objective"}, {"delta": "1e-6"}, {"fit_intercept": False}):
        found = fitted(0, intervals="yes", epsilon=10, **given)
        assert all(one.low < one.value < one.high for one in found.estimates_[-3:])
    text = fitted(0, intervals="yes", epsilon="0.1", solver="descent").summary()
    assert "the noise hides" in text
    assert "perturbation" in fitted(0, intervals="no").note_
    assert "perturbation" not in fitted(0, delta="1e-6").note_


@pytest.mark.parametrize(("people", "bought"), [(999, False), (1000, True)])
def test_intervals_are_bought_from_the_public_strength_on_that_tells_them(people: int, bought: bool) -> None:
    """Four coefficients ask for epsilon times rows of 50 x 4 x 5, at epsilon 1; nothing of the rows decides it."""
    model = fitted(0, x=X[:500], intervals="auto", epsilon=1, complete=True, people=people)
    assert ("no intervals were bought, as noise would hide them" in unfolded(model.summary())) is not bought
    if not bought:
        assert "ε times rows of about 1,000 where" in unfolded(model.summary())
        assert 'intervals="yes" buys them all the same' in unfolded(model.summary())


def test_replaced_rows_ask_for_twice_as_much_and_a_private_number_is_taken_for_ten_thousand() -> None:
    model = private.LogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1])
    budget = ApproxDP(Fraction(10), Fraction(1, 100))
    for kind, rows, bought in (("substitute", 1999, False), ("substitute", 2000, True), ("add_remove", 20, True)):
        ledger = Ledger.create(None, title="s", adjacency=Adjacency(kind), budget=budget)  # type: ignore[arg-type]
        found = model.set_params(ledger=ledger, adjacency=kind, complete=True).fit(X[:rows], LABELS[:rows])
        assert ("no intervals were bought" in unfolded(found.summary())) is not bought, (kind, rows)


def test_what_does_not_go_together_is_refused_uncharged() -> None:
    ledger = account()
    for own, word in (
        ({"solver": "lbfgs"}, "solver"),
        ({"solver": "objective", "steps": 5}, "steps"),
        ({"solver": "output", "intervals": "yes"}, "intervals"),
        ({"solver": "objective", "delta": "1e-6"}, "pure"),
        ({"solver": "output", "C": 10**6}, "penalty"),
    ):
        with pytest.raises((PublicParameterError, QuestionError), match=word):
            fitted(0, ledger, **own)
    for place, name, value in ((1, "bend", 0), (2, "cut", "1e-9"), (3, "bend", 0)):
        with pytest.raises(PublicParameterError, match="between"):
            fitted(place, ledger, **{name: value})
    assert ledger.spent() == PureDP(Fraction(0))


def test_a_delta_of_output_perturbation_is_charged() -> None:
    model = fitted(1, solver="output", delta="1e-6", C="0.01")
    assert isinstance(model.guarantee_.loss, ApproxDP)
    assert model.guarantee_.loss.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("solver", ["objective", "output"])
def test_a_least_point_of_three_classes(solver: str) -> None:
    y = np.where(X[:, 2] > 0.4, 2, LABELS)
    own: dict[str, Any] = {"classes": [0, 1, 2], "solver": solver, "C": "0.02", "ledger": account()}
    made: Any = private.LogisticRegression(epsilon=8, bounds=(-1, 1), adjacency="add_remove", **own).fit(X, y)
    assert made.coef_.shape == (3, 3)
    assert np.mean(made.predict(X[:500]) == y[:500]) > 0.7


@pytest.mark.parametrize("solver", ["objective", "output"])
def test_a_solver_keeps_no_row(solver: str, tmp_path: Path) -> None:
    model = fitted(0, account(tmp_path / "a.ledger"), solver=solver)
    whole = pickle.dumps(model)
    assert not any(np.float64(value).tobytes() in whole for value in X[:50].ravel())
    assert not any(round(value * 4096).to_bytes(8, "little", signed=True) * 2 in whole for value in X[:50, 0])


def test_a_search_over_solvers_is_charged_once() -> None:
    ledger = account()
    search = private.GridSearchCV(
        estimator=private.LogisticRegression(
            bounds=(-1, 1), adjacency="add_remove", ledger=ledger, classes=[0, 1], intervals="no"
        ),
        param_grid={"C": ["0.01", 1], "solver": ["objective", "descent"]},
        epsilon=4,
    ).fit(X, LABELS)
    assert len(ledger.releases()) == 1
    assert search.best_params_["solver"] in ("objective", "descent")
    assert np.mean(search.predict(X[:500]) == LABELS[:500]) > 0.7


def test_a_fit_whose_solver_gives_up_has_the_same_answer_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "newton", lambda *_: None)
    model = fitted(0, x=X[:4], solver="objective", people=4, epsilon=10)
    assert np.isfinite(model.coef_).all()


def stones() -> tuple[Any, Any]:
    """16,000 rows of columns that nearly follow from one another, far from the middle of their bounds."""
    draw = np.random.default_rng(4)
    carat = np.clip(draw.lognormal(-0.4, 0.6, 16_000), 0.2, 5)
    sides = [long * carat ** (1 / 3) * (1 + 0.02 * draw.normal(size=16_000)) for long in (6.4, 6.4, 4.0)]
    shape = [np.clip(60 + 2 * draw.normal(size=16_000), 40, 100) for _ in range(2)]
    y = np.clip(5_000 * carat**1.6 * np.exp(0.2 * draw.normal(size=16_000)), 0, 20_000)
    return np.column_stack([carat, *shape, *sides]), y


def of_stones(**own: object) -> float:
    """R squared, the mean of four fits."""
    x, y = stones()
    given: dict[str, Any] = {
        "epsilon": 3,
        "delta": "1e-6",
        "bounds": [(0, 5), (40, 80), (40, 100), (0, 11), (0, 60), (0, 32)],
        "y_bounds": (0, 20_000),
        "adjacency": "add_remove",
        "people": 16_000,
    }
    models = [private.HuberRegressor(ledger=account(), **{**given, **own}).fit(x, y) for _ in range(4)]
    return float(np.mean([1 - ((y - model.predict(x)) ** 2).sum() / ((y - y.mean()) ** 2).sum() for model in models]))


@pytest.mark.wide
def test_a_larger_epsilon_with_a_delta_predicts_no_worse() -> None:
    """More steps of a descent swing for longer, and one pure draw does not swing: .893 against .858."""
    assert of_stones() > of_stones(solver="descent") + 0.02


def test_a_delta_is_left_where_the_ridge_of_one_draw_is_light() -> None:
    """By public numbers; never in a budget of rho, where a pure epsilon costs many times as much, nor with a clip."""
    rho = Ledger.create(None, title="rho", adjacency=Adjacency("add_remove"), budget=ZCDP(Fraction(10)))
    usual: dict[str, Any] = {"delta": "1e-6", "epsilon": 8}
    assert isinstance(fitted(2, **usual).guarantee_.loss, PureDP)
    for own in ({"epsilon": "0.1"}, {"clip": 2}, {"steps": 9}, {"solver": "descent"}, {"ledger": rho}, {"alpha": 5000}):
        assert not isinstance(fitted(2, **{**usual, **own}).guarantee_.loss, PureDP), own
    assert not isinstance(fitted(3, **usual).guarantee_.loss, PureDP)
