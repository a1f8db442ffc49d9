"""A test as it is typed: lists as in Python, and no option that would be ignored."""

from __future__ import annotations

import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import ask


def study() -> rt.Study:
    columns: dict[str, Column] = {
        "age": rt.integer(18, 90),
        "sex": rt.category(["f", "m", "x"]),
        "ill": rt.category(["no", "yes"]),
    }
    rows = {"age": [30, 40], "sex": ["f", "m"], "ill": ["no", "yes"]}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=5)


@pytest.mark.parametrize("text", ["f m", "f, m", "[f, m]", '["f", "m"]', "['f','m']", "[f m]"])
def test_a_list_is_read_as_it_is_written_in_python_too(text: str) -> None:
    asked = rt.test("age ~ sex", among=["f", "m"])
    assert parse(f"test(age ~ sex, among={text})") == ask(asked)
    assert parse(asked.name) == ask(asked)


def test_edges_and_levels_in_brackets_are_those_without() -> None:
    assert parse("histogram(age, edges=[0, 50, 100])") == parse("histogram(age, edges=0 50 100)")
    assert parse("quantiles(age, levels=[0.1, 0.9])") == parse("quantiles(age, levels=0.1 0.9)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("test(age ~ ill, edges=1 2 3)", "a test of means, which has no use for edges; kind=ranks and kind=normal has"),
        ("test(age ~ ill, value=yes)", "no use for value; kind=proportions has"),
        ("test(age ~ ill, centre=0, deviation=1)", "no use for centre"),
        ("test(age, kind=normal, value=3)", "no use for value"),
        ("test(sex ~ ill, edges=1 2 3)", "a test of independence, which has no use for edges"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        study().plan([text], epsilon=1, people=500)


def test_a_refusal_names_the_option_and_what_to_write() -> None:
    with pytest.raises(QuestionError, match=r"^width would change nothing in median\(age, width=1\)"):
        study().plan(["median(age, width=1)"], epsilon=1, people=500)
    with pytest.raises(QuestionError, match=r"method=least_squares takes categories on the right"):
        study().plan(["regress(age ~ ill, method=robust)"], epsilon=1, people=500)
    with pytest.raises(PublicParameterError, match=r"against is rt\.Normal\(centre, deviation\).*got \(0, 1\)"):
        rt.test("age", kind="normal", against=(0, 1))  # type: ignore[arg-type]  # a mistake
    rows = {"x": [1.0] * 500, "y": [2.0] * 500}
    both = {"x": rt.real(0, 10, missing=0), "y": rt.real(0, 10, missing=0)}
    made = rt.study(rows, adjacency="substitute", columns=both, budget=5, delta="1e-6")
    with pytest.raises(QuestionError, match=r"^regress\(y ~ x, method=robust\):.*method=theil_sen needs no δ"):
        made.plan(["regress(y ~ x, method=robust, delta=1e-6)"], epsilon=1, people=2_000)


def test_evenly_spaced_edges_of_a_test_are_written_as_a_range() -> None:
    assert rt.test("age", edges=range(0, 101)).name == "test(age, edges=0:100:1)"
    assert parse("test(age, edges=0:100:1)").statistic == rt.test("age", edges=range(0, 101))


def test_what_is_no_formula_is_refused_in_words() -> None:
    with pytest.raises(QuestionError, match="'3' cannot be read"):
        rt.test(3)  # type: ignore[arg-type]  # a mistake
