"""Bounds at the ends of what may be declared: an answer, or words before the charge, and never a charged fault."""

from __future__ import annotations

from contextlib import suppress

import pytest

import reticent as rt
from reticent.errors import Refusal

ASKS = [
    *("mean(x)", "sum(x)", "variance(x)", "sd(x)", "median(x)", "quantile(x, 0.9)", "histogram(x, bins=4)"),
    *("mean(x) where x > 3", "trimmed_mean(x)", "mean(x * 2)", "mean(x / 3)", "regress(y ~ x)", "correlation(x, y)"),
    *("mean(x, per=person)", "mean(x) by g", "density(x)", "mean(abs(x))", "mean(greatest(x, y))", "mean(x) weight w"),
    *("covariance(x, y)", "t_test(x, g)"),
]


def study(low: str, high: str) -> rt.Study:
    return rt.study(
        {"who": [i // 2 for i in range(80)], "x": [1.0, float(high)] * 40, "y": [1.0, 2.0] * 40, "g": ["a", "b"] * 40}
        | {"w": [1.0] * 80},
        person="who",
        rows_each=2,
        adjacency="add_remove",
        budget=9,
        design="fixed",
        columns={"x": rt.real(low, high), "y": rt.real(0, 9), "g": rt.category(["a", "b"]), "w": rt.real(0, 2)},
    )


def check(asked: str, low: str, high: str) -> bool:
    """True where the question is answered; a refusal costs nothing, and anything else is raised."""
    opened = study(low, high)
    with suppress(Refusal):
        opened.release([asked], epsilon=1)
        return True
    assert opened.ledger.spent() == rt.PureDP(0)  # type: ignore[arg-type]  # equal to a Fraction
    return False


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    ("low", "high"), [("-9e299", "9e299"), ("0", "1e51"), ("-1e50", "1e50"), ("0", "1e-50"), ("0", "1e-160")]
)
def test_questions_of_far_bounds_end_in_an_answer_or_in_words(low: str, high: str) -> None:
    answered = [check(asked, low, high) for asked in ASKS]
    assert any(answered)


@pytest.mark.parametrize(
    ("asked", "high"), [("mean(x)", "1e299"), ("regress(y ~ x)", "1e100"), ("density(x)", "1e-250")]
)
def test_products_of_bounds_that_are_no_doubles_are_refused_before_the_charge(asked: str, high: str) -> None:
    """Squares of such bounds overflowed after the charge."""
    with pytest.raises(rt.QuestionError, match=r"Bounds lie within 1e50 of 0 here.*Nothing was charged"):
        study("0", high).release([asked], epsilon=1)
    assert check(asked, "0", "1e6")
