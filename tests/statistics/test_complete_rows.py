"""With 40 % of the values missing and a public number of people, every estimate is that of the rows that lack nothing.

The class: whatever divides by a number of rows. At an epsilon at which noise is next to none, the answer of a table
with missing values is compared with that of the same table without those rows; n is public in both.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.data.schema import Category, Column, Person, Schema, integer, real
from reticent.entropy import Replayed
from reticent.learning.fit import fit_release
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from tests.support.stat_fake import Fake, answered

N = 6000
HUGE = Fraction(10**6)
DELTA = Fraction(1, 10**7)
COLUMNS: dict[str, Column] = {
    "y": real(-12, 12, resolution="0.01"),
    "a": real(-4, 4, resolution="0.01"),
    "b": real(-4, 4, resolution="0.01"),
    "k": integer(0, 3),
    "g": Category((0, 1, 2)),
}
QUESTIONS = [
    *(f"{verb}(y)" for verb in ("mean", "variance", "sd", "median", "iqr", "location")),
    "mean(y, method=clipped)",
    "quantile(y, 0.9)",
    "proportion(g, value=1)",
    "regress(y ~ a)",
    "regress(y ~ a + b)",
    "regress(y ~ a + b + g)",
    *(f"regress(y ~ a, method={method})" for method in ("theil_sen", "tukey", "block_medians", "adassp")),
    "test(y ~ g)",
    "test(a ~ b)",
    "test(y ~ k, kind=correlation)",
]


def table(key: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """A line of slopes 3 and 1, a category that moves it, and a count."""
    draw = np.random.default_rng(key)
    a, b, g = draw.normal(1, 0.8, N), draw.normal(-1, 0.8, N), draw.integers(0, 3, N).astype(float)
    y = np.clip(3 * a + b + g + draw.normal(size=N), -12, 12)
    k = np.clip(np.round(1.5 + 0.4 * a + 0.5 * draw.normal(size=N)), 0, 3)
    found = {"y": y, "a": np.clip(a, -4, 4), "b": np.clip(b, -4, 4), "k": k, "g": g}
    return {name: np.round(values, 2) for name, values in found.items()}


def missing(rows: dict[str, Any], key: int) -> tuple[dict[str, Any], np.ndarray[Any, np.dtype[np.bool_]]]:
    """The rows of which 40 % lack everything, and which those are."""
    gone = np.random.default_rng(key).random(N) < 0.4
    return {name: np.where(gone, np.nan, values) for name, values in rows.items()}, gone


def asked(question: str, rows: dict[str, Any]) -> Answer:
    people = len(rows["y"])
    schema = Schema(COLUMNS, Person("substitute", None, 1, people))
    statistic = parse(question)
    setting = Setting(schema, people, None, DELTA)
    return answered(prepare(statistic, setting, HUGE), Fake(schema, rows), Replayed(question))


@pytest.mark.wide
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_that_of_the_rows_that_lack_nothing(question: str) -> None:
    """Within a tenth of the interval's half-width, or all of it where rows are dealt out at random."""
    whole = table(1)
    some, gone = missing(whole, 2)
    rest = {name: values[~gone] for name, values in whole.items()}
    seen, best = asked(question, some), asked(question, rest)
    by_chance = any(word in question for word in ("theil_sen", "tukey", "block_medians"))
    for one, other in zip(seen.cells, best.cells, strict=True):
        assert isinstance(one.outcome, Reply), question
        assert isinstance(other.outcome, Reply), question
        value, right = one.outcome.value.value, other.outcome.value.value
        half = (other.outcome.value.high - other.outcome.value.low) / 2
        near = half if by_chance else max(half / 10, 1e-3 * abs(right), 1e-9)
        assert abs(value - right) <= near, (one.label, value, right, half)


# --- estimators -------------------------------------------------------------------------------------------------------


def made(name: str, ledger: Ledger) -> Any:
    import reticent.learning as ours

    given: dict[str, Any] = {
        "epsilon": 10**3 if name in SLOW else 10**6,
        "bounds": [(-4, 4), (-4, 4)],
        "adjacency": "substitute",
        "ledger": ledger,
    }
    of_y: dict[str, Any] = {"y_bounds": (-12, 12)}
    kinds: dict[str, Callable[[], Any]] = {
        "LinearRegression": lambda: ours.LinearRegression(**given, **of_y),
        "LinearRegression, through 0": lambda: ours.LinearRegression(fit_intercept=False, **given, **of_y),
        "LinearRegression, adassp": lambda: ours.LinearRegression(method="adassp", **given, **of_y),
        "HuberRegressor": lambda: ours.HuberRegressor(**given, **of_y),
        "QuantileRegressor": lambda: ours.QuantileRegressor(**given, **of_y),
        "LogisticRegression": lambda: ours.LogisticRegression(classes=[0, 1, 2], **given),
        "LinearSVC": lambda: ours.LinearSVC(classes=[0, 1], **given),
        "GaussianNB": lambda: ours.GaussianNB(classes=[0, 1, 2], **given),
        "StandardScaler": lambda: ours.StandardScaler(**given),
        "PCA": lambda: ours.PCA(**given),
        "KMeans": lambda: ours.KMeans(n_clusters=1, **given),
        "DecisionTreeClassifier": lambda: ours.DecisionTreeClassifier(classes=[0, 1, 2], max_depth=2, **given),
    }
    return kinds[name]()


ESTIMATORS = (
    *(f"LinearRegression{how}" for how in ("", ", through 0", ", adassp")),
    *("HuberRegressor", "QuantileRegressor", "LogisticRegression", "LinearSVC", "GaussianNB", "StandardScaler"),
    *("PCA", "KMeans", "DecisionTreeClassifier"),
)
SLOW = (
    "HuberRegressor",
    "QuantileRegressor",
    "LogisticRegression",
    "LinearSVC",
)  # the more exact the noise, the slower
NUMBERS = ("coef_", "intercept_", "mean_", "var_", "theta_", "class_prior_", "explained_variance_", "cluster_centers_")


def fitted(name: str, rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a fit found of a public number of rows, and its score of the same rows."""
    monkeypatch.setattr(fit_release, "MOST_EPSILON", 10**7)
    coins = Replayed(name)
    monkeypatch.setattr(gate, "coins_for", lambda source: coins)
    ledger = Ledger.create(None, title="x", adjacency=Adjacency("substitute"), budget=PureDP(Fraction(10**8)))
    x, y = np.column_stack([rows["a"], rows["b"]]), rows["y"]
    if name in ("LogisticRegression", "GaussianNB", "DecisionTreeClassifier"):
        y = rows["g"]
    if name == "LinearSVC":
        y = np.where(np.isnan(rows["y"]), np.nan, rows["y"] > 3)
    model = made(name, ledger).fit(x, y)
    found = {one: np.asarray(getattr(model, one)) for one in NUMBERS if hasattr(model, one)}
    if hasattr(model, "score"):
        found["score"] = np.array([model.score(x, y, epsilon=10**6)])
    return found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_is_that_of_the_rows_that_lack_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coins are replayed, so that red means a change: the error rate is 0."""
    whole = table(3)
    some, gone = missing(whole, 4)
    seen = fitted(name, some, monkeypatch)
    best = fitted(name, {key: values[~gone] for key, values in whole.items()}, monkeypatch)
    assert seen.keys() == best.keys()
    assert seen
    for one, right in best.items():
        assert seen[one] == pytest.approx(right, rel=0.01, abs=0.01), one


def test_a_number_of_rows_that_may_lack_a_value_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: every row counts, whatever it lacks."""
    monkeypatch.setattr(fit_release.Circumstances, "known", property(lambda here: here.people))
    whole = table(3)
    some, gone = missing(whole, 4)
    seen = fitted("PCA", some, monkeypatch)
    best = fitted("PCA", {key: values[~gone] for key, values in whole.items()}, monkeypatch)
    assert seen["mean_"] != pytest.approx(best["mean_"], rel=0.01, abs=0.01)


def test_rows_that_cannot_lack_a_value_are_counted_by_their_public_number() -> None:
    """A public stand-in for every column: the number of rows is n, and no noise is in it."""
    import reticent as rt

    kept = {"x": rt.real(-1, 1, missing=0), "y": rt.real(-1, 1, missing=0)}
    rows = {"x": np.linspace(-1, 1, 500), "y": np.linspace(-1, 1, 500)}
    for columns, complete in ((kept, True), ({**kept, "x": rt.real(-1, 1)}, False)):
        study = rt.study(rows, adjacency="add_remove", columns=columns, budget=4, people=500)
        x, y = study.xy(["x"], "y")
        assert x.shelf.people == 500
        assert fit_release.of_handles(x, y, None).complete == complete
