"""A plan that supposes rows of a person asks and buys what the release does, which does not know them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import PublicParameterError

QUESTIONS = ["mean(y)", "sd(x)", "mean(x) by g"]


def visits(adjacency: Any, typical: str = "") -> rt.Study:
    who = np.repeat(np.arange(200), 3)
    made = np.random.default_rng(5)
    rows = {
        "who": [f"p{one}" for one in who],
        "y": made.normal(50, 10, len(who)),
        "x": made.normal(0, 1, len(who)),
        "g": made.choice(["a", "b"], len(who)),
    }
    columns: dict[str, Any] = {"y": rt.real(0, 100), "x": rt.real(-5, 5), "g": rt.category(["a", "b"])}
    each: dict[str, Any] = {"at_most": 5, **({"typical": typical} if typical else {})}
    return rt.study(
        rows, adjacency=adjacency, columns=columns, budget=1000, override="a test", person="who", rows_each=each
    )


@pytest.mark.parametrize("typical", ["", "2"])
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_supposed_rows_change_nothing_that_is_bought(adjacency: Any, typical: str) -> None:
    """Shares of incomplete rows are bought where they would be known well, which more rows of a person decide."""
    study, seen = visits(adjacency, typical), set()
    for epsilon in ("0.02", "0.05", "0.1", "0.5", "2", "8", "30", "90"):
        people = 200 if adjacency == "substitute" else None
        plain, *supposing = (
            study.plan(QUESTIONS, epsilon=epsilon, people=people, rows=rows, override="a test")
            for rows in (None, 1, "2.5", 5)
        )
        bought = [(line.name, line.loss) for line in plain.lines]
        seen.add(len(bought))
        for one in supposing:
            assert [(line.name, line.loss) for line in one.lines] == bought
            assert one.guarantee == plain.guarantee
    assert len(seen) > 1  # with and without a share


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_release_proves_the_guarantee_that_every_plan_of_it_states(adjacency: Any) -> None:
    study = visits(adjacency)
    for epsilon in ("2", "8"):
        made = study.release(QUESTIONS, epsilon=epsilon)
        for rows in (None, "2.5", 5):
            assert study.plan(QUESTIONS, epsilon=epsilon, people=200, rows=rows).guarantee == made.guarantee


def test_a_wanted_width_costs_what_the_release_pays_for_it() -> None:
    """The price follows the declared rows, and the width that is shown follows the supposed ones."""
    study = visits("substitute", "2")
    one, five = (study.plan([], want={"mean(y)": 1.0}, people=200, rows=rows, epsilon=10) for rows in (1, "4.5"))
    assert one.guarantee == five.guarantee
    assert one.lines[0].expected.noise is not None
    assert five.lines[0].expected.noise is not None
    assert one.lines[0].expected.noise > five.lines[0].expected.noise


def test_supposed_rows_lie_between_one_and_the_most() -> None:
    with pytest.raises(PublicParameterError, match="between 1 and at_most, 5; got 6"):
        visits("add_remove").plan(["count"], epsilon=1, rows=6)


HOUSEHOLDS: dict[str, Any] = {"person": "who", "rows_each": {"at_most": 1}, "household": "home", "per_household": 2}
PRIVATE: list[tuple[str, Any, dict[str, Any]]] = [
    ('mean(x) where g = "a"', "add_remove", {}),
    ('mean(x) where g = "a"', "substitute", {}),
    ("mean(x)", "add_remove", HOUSEHOLDS),
    ('mean(x) where g = "a"', "add_remove", HOUSEHOLDS),
]


@pytest.mark.parametrize(("question", "adjacency", "given"), PRIVATE)
def test_a_share_is_bought_only_where_the_declared_people_would_get_a_reply(
    question: str, adjacency: Any, given: dict[str, Any]
) -> None:
    """Where a filter or a household hides the number of people, no more of them are supposed than are declared."""
    bought = {}
    for people in (60, 5_000):
        each = range(people)
        rows = {
            "x": [1.0] * people,
            "g": ["a", "b"] * (people // 2),
            "who": [f"p{one}" for one in each],
            "home": [f"h{one // 2}" for one in each],
        }
        columns: dict[str, Any] = {"x": rt.real(0, 10), "g": rt.category(["a", "b"])}
        study = rt.study(rows, adjacency=adjacency, columns=columns, budget=10, people=people, **given)
        lines = study.plan([question], epsilon="1.5").lines
        shares = [line for line in lines if line.name.startswith("incomplete")]
        assert all(chance > 0.5 for line in shares for _, chance in line.expected.replies)
        bought[people] = len(shares)
    assert bought == {60: 0, 5_000: 1}
