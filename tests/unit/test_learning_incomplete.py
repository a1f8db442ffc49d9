"""Rows that lack a value: their share stands beside every model, free where it can be, else charged."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
import pytest

import reticent as rt
from reticent import learning
from reticent.errors import QuestionError
from reticent.learning.fit.odd_rows import LABELS, VALUES, told
from reticent.ledger import Ledger
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.shares import SHARE
from tests.support.unfolded import unfolded

RNG: Final = np.random.default_rng(3)
N: Final = 4000
X: Final = RNG.uniform(-1, 1, (N, 2))
Y: Final = X[:, 0] / 2 + RNG.normal(0, 0.1, N)
WHOLE: Final = X.copy()
X[:1000, 1] = np.nan  # a quarter of the rows
WIDE: Final = {"by a least point": (8, "10"), "for prediction": (16, "2")}  # columns, epsilon
OF_Y: Final = ("LinearRegression", "HuberRegressor", "QuantileRegressor", "theil_sen", *WIDE)
CLASSES: Final = ("GaussianNB", "LogisticRegression", "LinearSVC", "DecisionTreeClassifier", "RandomForestClassifier")
FREE: Final = (
    "PCA",
    "KMeans",
    "StandardScaler",
    "LinearRegression",
    "for prediction",
    "GaussianNB",
)  # by complete rows
MODELS: Final = tuple(dict.fromkeys((*FREE, *OF_Y, *CLASSES)))


def fitted(name: str, kind: Any, delta: str = "0", x: Any = X, epsilon: str = "2", **more: Any) -> tuple[Any, Ledger]:
    ledger = Ledger.create(
        None,
        title="x",
        adjacency=Adjacency(kind),
        budget=PureDP(Fraction(1000)) if delta == "0" else ApproxDP(Fraction(1000), Fraction(1, 1000)),
    )
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": (-1, 1), "adjacency": kind, "ledger": ledger}
    given |= {"y_bounds": (-1, 1)} if name in OF_Y else {}
    given |= {"n_clusters": 2} if name == "KMeans" else {}
    given |= {"classes": [False, True]} if name in CLASSES else {}
    given |= {"people": N} if name == "theil_sen" else {}
    if name in WIDE:
        columns, given["epsilon"] = WIDE[name]
        x = np.hstack([x, *[WHOLE] * (columns // 2 - 1)])
    if name == "theil_sen":
        given["method"], x = name, x[:, 1:]
    model: Any = getattr(learning, name, learning.LinearRegression)(**{**given, **more})
    return model.fit(x, (Y > 0 if name in CLASSES else Y)[: len(x)]), ledger


def caveat(name: str, share: Any) -> str:
    return told(LABELS if name in CLASSES else VALUES, share)


def bought(model: Any) -> bool:
    """Whether the share is a part of the guarantee."""
    whole = model.guarantee_
    return bool(whole.label.endswith("share of incomplete rows") and whole.parts[-1].loss == share_of(model))


def share_of(model: Any) -> PureDP:
    return PureDP(SHARE * Fraction(model.epsilon))


@pytest.mark.loop(14)
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", MODELS)
def test_the_share_is_told_beside_every_model_and_the_whole_costs_no_more(name: str, kind: str) -> None:
    """The noise is beyond ten half-widths with a probability below 1e-12."""
    model, ledger = fitted(name, kind)
    share = model.incomplete_rows_
    assert isinstance(share, Reply)
    assert abs(share.value.value - 0.25) < 10 * share.value.noise
    assert 0 < share.value.noise < 0.2
    assert caveat(name, share) in model.certificate_.caveats
    assert caveat(name, share) in unfolded(model.summary())
    assert model.certificate_.document["model"]["released"]["incomplete_rows"]["value"]["value"] == share.value.value
    assert model.certificate_.verify(ledger, allow_unsigned=True).ok
    assert ledger.spent() == model.guarantee_.loss
    assert model.guarantee_.loss.epsilon <= Fraction(model.epsilon)
    assert bought(model) == (name not in FREE or kind != "substitute")


@pytest.mark.parametrize("name", FREE)
def test_with_a_delta_it_is_as_free(name: str) -> None:
    model, _ = fitted(name, "substitute", "1e-6")
    assert abs(model.incomplete_rows_.value.value - 0.25) < 10 * model.incomplete_rows_.value.noise


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", FREE)
def test_intervals_of_the_share_cover(name: str, kind: str) -> None:
    """60 fits that each hold the share with probability .95: fewer than 44 do with a probability below 1e-9."""
    held = 0
    for _ in range(60):
        share = fitted(name, kind)[0].incomplete_rows_.value
        held += share.low <= 0.25 <= share.high
    assert held >= 44


def test_of_few_rows_without_slopes_the_number_of_rows_tells_it_too() -> None:
    """As few as that are averaged alone, and the average buys the number of complete rows."""
    model, _ = fitted("LinearRegression", "substitute", x=X[900:1000], epsilon="0.5")
    assert model.note_
    assert model.incomplete_rows_.value.high == 1.0


@pytest.mark.parametrize("name", ["KMeans", "HuberRegressor", "LogisticRegression"])
def test_where_it_would_say_too_little_it_is_left_out_in_words_before_the_charge(name: str) -> None:
    few: dict[str, Any] = {"x": X[:300], "people": 300, "epsilon": "1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"lack a value that can be read.* is not told"):
            fitted(name, "add_remove", **few)
    with pytest.warns(UserWarning, match="no better than"):
        model, ledger = fitted(name, "add_remove", **few)
    assert not hasattr(model, "incomplete_rows_")
    assert caveat(name, None) in model.certificate_.caveats
    assert ledger.spent() == model.guarantee_.loss
    assert not bought(model)


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", MODELS)
def test_vouched_rows_buy_none_and_the_middle_of_the_bounds_stands_in(name: str, kind: str) -> None:
    model, _ = fitted(name, kind, complete=True)
    assert not hasattr(model, "incomplete_rows_")
    assert not any("lack a value" in text for text in model.certificate_.caveats)
    assert not bought(model)
    if name == "StandardScaler":
        spread = np.var(np.where(np.isnan(X[:, 1]), 0.0, X[:, 1]))
        assert abs(model.var_[1] - spread) < 0.05  # of complete rows .33, of all with the middle .25


def test_columns_of_a_study_that_can_hold_no_odd_cell_buy_none() -> None:
    columns: Any = {"a": rt.real(-1, 1), "b": rt.real(-1, 1, complete=True), "y": rt.real(-1, 1, complete=True)}
    rows = {"a": WHOLE[:, 0], "b": X[:, 1], "y": Y}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    vouched: Any = learning.HuberRegressor(epsilon=2).fit(*of.xy(["b"], "y"))
    assert not hasattr(vouched, "incomplete_rows_")
    assert vouched.certificate_.caveats == ()
    some: Any = learning.HuberRegressor(epsilon=2).fit(*of.xy(["a", "b"], "y"))
    assert some.incomplete_rows_.value.value < 0.05  # b has a public value where it is odd
    with pytest.raises(QuestionError, match="complete=True of the columns b, y"):
        learning.HuberRegressor(epsilon=2, complete=True).fit(*of.xy(["b"], "y"))
    assert of.ledger.spent() == PureDP(vouched.guarantee_.loss.epsilon + some.guarantee_.loss.epsilon)


@pytest.mark.parametrize("model", [learning.LogisticRegression, learning.LinearSVC])
def test_a_classifier_says_once_what_its_coefficients_estimate(model: type) -> None:
    X = np.random.default_rng(1).uniform(-1.0, 1.0, (400, 2))
    near = Adjacency("substitute")
    ledger = Ledger.create(None, title="x", adjacency=near, budget=PureDP(Fraction(2)))
    asked = model(epsilon=2, bounds=[(-1, 1)] * 2, classes=[0, 1], adjacency="substitute", ledger=ledger)
    said = asked.fit(X, (X[:, 0] > 0) * 1).summary()
    assert said.count("Estimates: coefficients of least penalised loss, every number cut to its bounds") == 1


def test_told_intervals_of_a_logistic_model_say_what_they_suppose() -> None:
    """That the chances follow the model; and of a cap on rows, that it is in what is estimated."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (4_000, 1))
    y = (X[:, 0] > rng.uniform(-1.0, 1.0, 4_000)) * 1
    near = Adjacency("add_remove", 2)

    def said(intervals: Literal["yes", "no"]) -> str:
        ledger = Ledger.create(None, title="x", adjacency=near, budget=PureDP(Fraction(9)))
        asked = learning.LogisticRegression(
            epsilon=9,
            bounds=[(-1, 1)],
            classes=[0, 1],
            adjacency="add_remove",
            rows_each=2,
            ledger=ledger,
            intervals=intervals,
        )
        return " ".join(asked.fit(X, y).summary().split())

    assert "suppose that the chances of the classes follow the model" in said("yes")
    assert "suppose" not in said("no")
    assert ", of at most 2 rows of each person" in said("no")
