"""Questions made to be misread: groups of one's own making, deltas of a question's own, one name for two answers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
import pytest

import reticent as rt
from reticent.data.query import Keys
from reticent.errors import Refusal
from reticent.privacy.loss import PureDP


def study(people: int = 400) -> rt.Study:
    return rt.study(
        {"who": [*range(people)] * 2, "x": [1.0, 2.0] * people, "g": ["a", "b"] * people, "k": [1, 2] * people},
        adjacency="substitute",
        person="who",
        rows_each=3,
        columns={"x": rt.real(0, 5), "g": rt.category(["a", "b"]), "k": rt.integer(0, 9)},
        budget=10,
        delta="0.0001",
    )


WRONG: tuple[Callable[[], object], ...] = (
    lambda: rt.persons().by(Keys("k", (1, "1"), 1)),  # type: ignore[arg-type]
    lambda: rt.count().by(Keys("g", ("zzz",), 1)),  # type: ignore[arg-type]
    lambda: rt.count().by(["g"]),  # type: ignore[arg-type]
    lambda: rt.count().by(None),  # type: ignore[arg-type]
    lambda: rt.count().by(5),  # type: ignore[arg-type]
    lambda: rt.Ask("count"),  # type: ignore[arg-type]
    lambda: "capped by g",
    lambda: "median(x, method=M, delta=0.4)",
    lambda: "density(x, method=series, delta=0.4)",
)


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_a_question_that_would_be_misread_is_refused_and_costs_nothing(place: int) -> None:
    of = study()
    before = of.left()
    with pytest.raises(Refusal):
        of.release([WRONG[place](), "count"], epsilon=5, delta="0.00001")  # type: ignore[list-item]
    assert of.left() == before


@pytest.mark.wide
def test_groups_of_ones_own_making_are_those_of_the_schema() -> None:
    of = study()
    with pytest.raises(Refusal, match="plain text"):
        rt.count().by(Keys("g", ("a", "b"), 1))  # type: ignore[arg-type]
    found = of.release([attrs.evolve(rt.count().by("g"), groups=Keys("g", ("a", "b"), 1))], epsilon=1)
    assert found.keys() == ("count by g",)


def test_rows_are_drawn_from_a_density_alone() -> None:
    of = study()
    with pytest.raises(Refusal, match="from a density"):
        of.synthesize(rt.mean("x").at(3), epsilon=5)
    with pytest.raises(Refusal, match="whole number"):
        of.by("g", groups=True)


@pytest.mark.wide
def test_an_answer_is_found_by_its_question_and_by_other_spellings_of_it() -> None:
    found = study(9_000).release([rt.quantiles("x", ["0.1", "0.5"])], epsilon=5)
    assert found[rt.quantiles("x", ["0.1", "0.5"])] is found["quantiles(x, 0.1, 0.5)"]


def test_one_question_needs_no_list() -> None:
    """A text, a statistic or a question with its filter, in a plan, a rehearsal and a release; a SELECT as before."""
    study = rt.study({"x": [1, 2, 3] * 300}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=9)
    filtered = rt.mean("x").where(rt.col("x") > 1)
    for asked, name in (("mean(x)", "mean(x)"), (rt.count(), "count"), (filtered, "mean(x) where x > 1")):
        assert study.release(asked, epsilon=1).keys() == (name,)
        assert study.plan(asked, epsilon=1).lines[0].name == name
        assert name in study.rehearse(asked, epsilon=1, people=9)
    assert study.plan("SELECT AVG(x) FROM study", epsilon=1).lines[0].name == "mean(x)"
    for odd in (3, b"x", object()):
        with pytest.raises(rt.QuestionError, match=r"Ask a list of questions|is no question"):
            study.release(odd, epsilon=1)  # type: ignore[arg-type]
    assert study.left() == PureDP(Fraction(6))
