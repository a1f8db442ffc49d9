"""The price of a fit that names none is told, no share is bought that a filter proves 0, and plans say what helps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.render.card import card
from reticent.learning import GridSearchCV, LinearRegression, LogisticRegression, StandardScaler
from reticent.privacy.loss import PureDP

UNNAMED = "no epsilon was named: a fit costs ε 1 then, and epsilon=… names another price"
DRAWN = np.random.default_rng(4)


def study(kind: Any = "add_remove", people: int | None = None) -> rt.Study:
    x = DRAWN.uniform(0, 10, 3_000).round(1)
    return rt.study(
        {"x": x, "y": (x / 2 + DRAWN.normal(0, 1, 3_000)).clip(0, 10), "g": np.where(x > 5, "a", "b")},
        adjacency=kind,
        rows_each=1,
        columns={"x": rt.real(0, 10), "y": rt.real(0, 10), "g": rt.category(["a", "b"])},
        budget=90,
        override="made-up rows",
        people=people,
    )


@pytest.mark.parametrize("model", [LinearRegression, LogisticRegression, StandardScaler])
def test_a_fit_that_names_no_epsilon_says_what_it_costs(model: Any) -> None:
    from sklearn.base import clone

    made, target = study(), {LinearRegression: "y", LogisticRegression: "g"}.get(model)
    assert UNNAMED in made.model_plan(model(), ["x"], target).lines[0].expected.note
    assert UNNAMED not in made.model_plan(model(epsilon=1), ["x"], target).lines[0].expected.note
    fitted = clone(model()).fit(*made.xy(["x"], target))
    assert UNNAMED in fitted.certificate_.caveats
    assert UNNAMED in fitted.summary()
    assert dict(card(fitted.certificate_))["Price"] == f"ε 1; {UNNAMED}."
    named = model(epsilon=2).fit(*made.xy(["x"], target))
    assert UNNAMED not in named.certificate_.caveats
    assert dict(card(named.certificate_))["Price"] == "ε 2."
    assert made.ledger.spent() == PureDP(Fraction(3))


@pytest.mark.wide
def test_a_search_that_names_no_epsilon_says_so_and_its_model_does_not() -> None:
    made, grid = study(), {"C": [0.1, 1]}
    search = GridSearchCV(LogisticRegression(), grid)
    assert made.model_plan(search, ["x"], "g").lines[0].expected.note.count(UNNAMED) == 1
    named = GridSearchCV(LogisticRegression(), grid, epsilon=4)
    assert UNNAMED not in made.model_plan(named, ["x"], "g").lines[0].expected.note
    assert UNNAMED not in named.fit(*made.xy(["x"], "g")).certificate_.caveats


def test_no_share_is_bought_behind_a_filter_that_proves_the_columns_readable() -> None:
    made = study()
    proved, other = made.where("x > 1 and y >= 0"), made.where("x > 1")
    fitted, beside = (LinearRegression(epsilon=4).fit(*of.xy(["x"], "y")) for of in (proved, other))
    assert not hasattr(fitted, "incomplete_rows_")
    assert hasattr(beside, "incomplete_rows_")
    assert not [text for text in fitted.certificate_.caveats if "lack a value" in text]
    assert "share of incomplete rows" not in str(fitted.certificate_.document["guarantee"])
    assert fitted.guarantee_.loss == beside.guarantee_.loss  # what it would have cost goes to the fit
    labelled = made.where("x > 1 and (g = 'a' or g = 'b')")
    assert not hasattr(LogisticRegression(epsilon=4).fit(*labelled.xy(["x"], "g")), "incomplete_rows_")
    some = LogisticRegression(epsilon=4, classes=["a", "z"]).fit(*labelled.xy(["x"], "g"))
    assert hasattr(some, "incomplete_rows_")  # rows of b are none of the classes


def test_a_plan_of_a_model_that_has_no_reply_says_what_helps_and_it_does() -> None:
    made = study()
    planned = made.model_plan(LinearRegression(epsilon="0.1"), ["x"], "y", people=300)
    assert planned.silent == ("LinearRegression(x; y)",)
    (dearer,) = (text for text in planned.helps if text.startswith("epsilon="))
    (people,) = (text for text in planned.helps if "people" in text)
    assert f"What helps: {'; '.join(planned.helps)}." in planned.footnote()
    epsilon = dearer.split('"')[1]
    for again in (
        made.model_plan(LinearRegression(epsilon=epsilon), ["x"], "y", people=300),
        made.model_plan(LinearRegression(epsilon="0.1"), ["x"], "y", people=int(people.split(" ")[0].replace(",", ""))),
    ):
        assert again.silent == again.helps == ()
    assert made.model_plan(LinearRegression(epsilon=4), ["x"], "y", people=3_000).helps == ()
