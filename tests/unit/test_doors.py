"""A refusal is raised where the caller asked: no frame of ours lies below the public call, and a fault has all."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import errors, learning
from reticent.errors import PublicParameterError, ReticentError, door, doors
from reticent.learning import LogisticRegression
from reticent.sessions.session import OpenSession
from reticent.statistics.grammar import parse
from reticent.statistics.registry import INSIDE, all_statistics
from reticent.statistics.statistic import Statistic
from reticent.study.release import Release
from reticent.study.study import Study
from reticent.study.terms import StudyTerms

ROWS = {"x": np.arange(400) % 40, "y": np.arange(400) % 7, "g": ["a", "b"] * 200}
COLUMNS: dict[str, Any] = {"x": rt.integer(0, 40), "y": rt.integer(0, 6), "z": rt.real(), "g": rt.category(["a", "b"])}


@pytest.fixture(scope="module")
def study() -> Study:
    rows = {**ROWS, "z": np.arange(400) / 7}
    return rt.study(rows, adjacency="add_remove", columns=COLUMNS, budget=4)


@pytest.fixture(scope="module")
def release(study: Study) -> Release:
    return study.release(["count"], epsilon=1)


Refused = Callable[[Any, Any], object]
REFUSED: dict[str, Refused] = {
    "rt.study": lambda s, r: rt.study(ROWS, adjacency="no", columns=COLUMNS, budget=1),  # type: ignore[arg-type]
    "rt.open": lambda s, r: rt.open("no.toml"),
    "rt.table": lambda s, r: rt.table(ROWS, notation={"no": 1}),
    "rt.read_certificate": lambda s, r: rt.read_certificate("{}"),
    "rt.read_release": lambda s, r: rt.read_release("{}"),
    "plan": lambda s, r: s.plan(["mean(z)"], epsilon=1),
    "rehearse": lambda s, r: s.rehearse(["mean(z)"], epsilon=1),
    "release": lambda s, r: s.release(["mean(z)"], epsilon=1),
    "release beyond the budget": lambda s, r: s.release(["count"], epsilon=9),
    "release of a test": lambda s, r: s.release(["test(z ~ g)"], epsilon=1),
    "sql": lambda s, r: s.sql("SELECT AVG(z) FROM study", epsilon=1),
    "synthesize": lambda s, r: s.synthesize("z", epsilon=1),
    "synthesis_plan": lambda s, r: s.synthesis_plan("z", epsilon=1),
    "where": lambda s, r: s.where("no > 3"),
    "by": lambda s, r: s.by("no"),
    "passing": lambda s, r: s.passing(3),
    "xy": lambda s, r: s.xy(["z"], "x"),
    "model_plan": lambda s, r: s.model_plan(learning.LinearRegression(), ["z"], "x"),
    "session_plan": lambda s, r: s.session_plan("holdout", ["z"], answers=3, epsilon=1),
    "holdout": lambda s, r: s.holdout(["z"], epsilon=1, rounds=3, threshold=1),
    "sparse_vector": lambda s, r: s.sparse_vector(["z"], epsilon=1, positives=1),
    "leaderboard": lambda s, r: s.leaderboard(["z"], epsilon=1, improvements=3, step=1),
    "noisy_answers": lambda s, r: s.noisy_answers(["z"], rho=1, answers=3),
    "session_prices": lambda s, r: s.session_prices(questions=0, positives=1, width=1),
    "named": lambda s, r: s.named("no"),
    "audit": lambda s, r: s.audit("no"),
    "fit": lambda s, r: learning.LinearRegression(epsilon=9).fit(*s.xy(["x"], "y")),
    "fit of a search": lambda s, r: learning.GridSearchCV(learning.LogisticRegression(), {}, epsilon=9).fit(
        *s.xy(["x"], "g")
    ),
    "release.difference": lambda s, r: r.difference("count", "no"),
    "release.synthetic": lambda s, r: r.synthetic(),
}
MADE: dict[str, tuple[Callable[[Any], object], str]] = {  # calls of rt that need no study
    "no column": (lambda r: r.mean(), 'Write rt.mean("x").'),
    "an option that is near": (lambda r: r.proportion("g", values=1), 'Did you mean value=? Write rt.proportion("g"'),
    "too many": (lambda r: r.mean("x", "y"), "rt.mean: too many positional arguments."),
    "an option of 0.1.0": (lambda r: r.mean("x", per="person"), 'Write: rt.mean(…).per("person")'),
    "a number for a column": (lambda r: r.median(3), 'such as "age", got 3'),
    "a method": (lambda r: r.mean("x", method="huber"), "Known: auto"),
    "bounds": (lambda r: r.sum("x", low=5, high=1), "low must be below high"),
    "a level": (lambda r: r.quantile("x", 90), "0.9"),
    "no level": (lambda r: r.quantile("x"), 'Write rt.quantile("x", 0.9).'),
    "by": (lambda r: r.mean("x").by(), 'by("g")'),
    "by twice": (lambda r: r.mean("x").by("g").by("h"), "grouped already"),
    "at": (lambda r: r.mean("x").at("one"), "epsilon must be a number"),
    "at of a question": (lambda r: r.mean("x").by("g").at("one"), "epsilon must be a number"),
    "where": (lambda r: r.count().where("x >"), "cannot be read"),
    "where of a question": (lambda r: r.count().by("g").where("x >"), "cannot be read"),
    "per": (lambda r: r.mean("x").per("house"), "person"),
    "weight": (lambda r: r.scale("x").weight("w"), "takes no weight"),
    "col": (lambda r: r.col(), 'Write rt.col("age").'),
    "a method of a column": (lambda r: r.col("x").isin(3), "a list of one value or more"),
    "cut": (lambda r: r.cut("x"), 'Write rt.cut("age", range(0, 101, 10)).'),
    "month": (lambda r: r.month(), 'Write rt.month("admitted").'),
    "integer": (lambda r: r.integer(9, 1), "low must be below high"),
    "category": (lambda r: r.category(), 'Write rt.category(["north", "south"])'),
    "regress": (lambda r: r.regress("x"), 'regress("y ~ a + b")'),
    "PTR": (lambda r: r.PTR(mode="x"), "Known: exact, paper"),
    "Detail": (lambda r: r.Detail(cell=3), "Did you mean cells=?"),
    "Normal": (lambda r: r.Normal(0, -1), "deviation must be > 0"),
    "CoinPress": (lambda r: r.CoinPress(), "Write rt.CoinPress("),
    "Clipped": (lambda r: r.Clipped(tails=3), "Did you mean tail=?"),
    "Record": (lambda r: r.Record(named="t"), "Did you mean name=?"),
}
NOT_REFUSED = {"same_people", "left"}  # they ask for nothing that could be refused of rows in memory


@pytest.mark.parametrize("asked", REFUSED)
def test_a_refusal_is_raised_where_the_caller_asked(study: Study, release: Release, asked: str) -> None:
    with pytest.raises(ReticentError) as caught:
        REFUSED[asked](study, release)
    below = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename != __file__]
    assert [frame.filename for frame in below] == [errors.__file__]


@pytest.mark.parametrize("made", MADE)
def test_a_value_that_cannot_be_made_is_refused_where_it_was_written(made: str) -> None:
    call, hint = MADE[made]
    with pytest.raises(ReticentError) as caught:
        call(rt)
    below = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename != __file__]
    assert {frame.filename for frame in below} == {errors.__file__}
    assert hint in str(caught.value)


@pytest.mark.parametrize("kind", all_statistics(), ids=lambda kind: kind.verb)
def test_every_statistic_refuses_wrong_arguments_with_a_call_that_works(kind: type[Statistic]) -> None:
    with pytest.raises(PublicParameterError) as caught:
        kind(nothing=1)  # type: ignore[call-arg]  # on purpose
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2
    call = str(caught.value).partition("Write ")[2].partition(")")[0] + ")"
    if kind.verb not in INSIDE:
        assert eval(call, {"rt": rt}) == parse(kind.examples[0]).statistic


def test_every_verb_of_a_study_is_among_them() -> None:
    verbs = {name for of in (Study, StudyTerms) for name, one in vars(of).items() if inspect.isfunction(one)}
    assert {name for name in verbs if not name.startswith("_")} <= {*REFUSED, *NOT_REFUSED}


def _public(of: type) -> list[Any]:
    return [one for name, one in vars(of).items() if inspect.isfunction(one) and not name.startswith("_")]


def test_every_public_method_of_a_study_a_session_and_a_model_is_a_door() -> None:
    models = [one for name in learning.__all__ if isinstance(one := getattr(learning, name), type)]
    classes = [Study, StudyTerms, Release, *OpenSession.__subclasses__()]
    classes += [one for one in models if hasattr(one, "fit")]
    assert len(classes) > 12
    for of in classes:
        for found in _public(of):
            assert found.__code__ is door(found).__code__, (of, found)


def test_a_fault_of_ours_shows_every_frame() -> None:
    def broken() -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError) as caught:
        door(broken)()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-2:] == ["opened", "broken"]


def test_a_door_keeps_its_name_its_signature_and_a_named_cause() -> None:
    class House:
        def entry(self, one: int, *, two: int = 2) -> int:
            """Add."""
            if one < 0:
                raise ReticentError("no") from ValueError("named")
            return one + two

    doors(House)
    assert House().entry(1) == 3
    assert str(inspect.signature(House.entry)) == "(self, one: 'int', *, two: 'int' = 2) -> 'int'"
    assert (House.entry.__name__, House.entry.__doc__) == ("entry", "Add.")
    with pytest.raises(ReticentError) as caught:
        House().entry(-1)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_study_without_a_file_says_what_to_declare_in_python(study: Study) -> None:
    for asked in ("release", "xy", "holdout", "synthesize", "model_plan"):
        with pytest.raises(ReticentError, match=r'columns=\{"z": rt\.real\(low, high\)\}'):
            REFUSED[asked](study, None)


MISFITS: dict[str, tuple[Callable[[Any], object], str]] = {
    "people": (lambda s: s.release(["count"], epsilon=1, people=9), "release has no people=. study.plan takes it."),
    "rows": (lambda s: s.release(["count"], epsilon=1, rows=2), "release has no rows=. study.plan takes it."),
    "passing": (lambda s: s.release(["count"], epsilon=1, passing=1), "no passing=. study.passing(…) says it."),
    "level": (lambda s: s.release(["count"], epsilon=1, level=1), "release has no level=. Others by their names: eps"),
    "epsilom": (lambda s: s.release(["count"], epsilom=1), "release has no epsilom=. Did you mean epsilon=?"),
    "row": (lambda s: s.plan(["count"], epsilon=1, row=1), "plan has no row=. Did you mean rows=?"),
    "synthesize": (lambda s: s.synthesize(["x"], epsilon=1, people=9), "no people=. study.synthesis_plan takes it."),
    "by": (lambda s: s.by("g").release(["count"], epsilon=1, rows=2), "release has no rows=. study.plan takes it."),
    "holdout": (lambda s: s.holdout(["x"], epsilon=1, people=9), "no people=. study.session_plan, "),
    "sql": (lambda s: s.sql("SELECT COUNT(*) FROM study", people=9), "sql has no people=. study.plan takes it."),
    "model": (
        lambda s: s.model_plan(LogisticRegression(), ["x"], "g", epsilon=1),
        "model_plan has no epsilon=. LogisticRegression(epsilon=…) takes it.",
    ),
    "place": (lambda s: s.release(["count"], 1), "release takes questions without a name, and no more. Others by"),
    "lacking": (lambda s: s.rehearse(), "rehearse missing a required argument: 'questions'."),
    "at": (lambda _: rt.count().at(epsilo=1), "at has no epsilo=. Did you mean epsilon=?"),  # type: ignore[call-arg]
    "open": (lambda _: rt.open("a.toml", extension=()), "Did you mean extensions=?"),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("asked", MISFITS)
def test_an_argument_that_no_method_takes_is_told_where_it_belongs(study: Study, asked: str) -> None:
    """Python's own words named a method of ours, through frames of ours."""
    call, words = MISFITS[asked]
    with pytest.raises(TypeError) as caught:
        call(study)
    assert words in str(caught.value)
    assert str(caught.value).endswith("Nothing was charged.")
    below = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename != __file__]
    assert {frame.filename for frame in below} == {errors.__file__}


def test_a_type_error_of_ours_is_no_wrong_argument() -> None:
    def broken(one: int) -> None:
        raise TypeError(f"ours {one}")

    with pytest.raises(TypeError, match=r"^ours 1$"):
        door(broken)(1)


def test_several_columns_of_a_density_are_told_to_be_a_list() -> None:
    with pytest.raises(PublicParameterError, match=r'list of several columns, rt\.density\(\["x", "y"\]\)'):
        rt.density("x", "y")  # type: ignore[arg-type, call-arg]


# --- kinds of columns -------------------------------------------------------------------------------------------------

KINDS = [
    name
    for name in rt.__all__
    if inspect.isfunction(one := getattr(rt, name))
    and inspect.signature(one).return_annotation in ("Real", "Integer", "Category", "Text")
]
GOOD: dict[str, tuple[object, ...]] = {
    "real": (0, 1),
    "integer": (0, 1),
    "category": (["a"],),
    "text": (),
    "date": ("2020-01-01", "2021-01-01"),
    "datetime": ("2020-01-01", "2021-01-01"),
}
WRONG = [None, object(), "", b"x", [1], [[1]], {"floor": 1}, float("nan"), 1j, True, -1, 10**400, ("a",), range(3)]
WRONG += [np.array([1, 2]), np.nan, {1, 2}, lambda: 1]


def test_the_kinds_are_all_here() -> None:
    assert sorted(KINDS) == sorted(GOOD)


@pytest.mark.parametrize("kind", GOOD)
def test_a_call_that_python_would_refuse_is_refused_with_an_example(kind: str) -> None:
    make = getattr(rt, kind)
    assert make(*GOOD[kind]) is not None
    calls = [((), {"max": 3}), ((1, 2, 3), {}), *([((), {})] if kind in ("category", "date", "datetime") else [])]
    for given, named in calls:
        with pytest.raises(rt.PublicParameterError, match=rf"^rt\.{kind}: .*Write rt\.{kind}\("):
            make(*given, **named)


@pytest.mark.parametrize("kind", GOOD)
def test_a_wrong_argument_of_a_kind_is_refused_in_our_words_or_taken(kind: str) -> None:
    make = getattr(rt, kind)
    names = list(inspect.signature(make).parameters)
    for name in names:
        for wrong in WRONG:
            with suppress(ReticentError):
                make(**{**dict(zip(names, GOOD[kind], strict=False)), name: wrong})


@pytest.mark.parametrize("given", [{"rows": "one_each"}, {"epsilon": 1}])
def test_a_study_says_which_arguments_it_takes(given: dict[str, object]) -> None:
    """The words of a study file, ``rows = "one_each"``, ended in Python's own error."""
    with pytest.raises(PublicParameterError, match=r"rt\.study: .* Write rt\.study\(.*rows_each=1\)"):
        rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=1, **given)  # type: ignore[arg-type]


def test_the_rows_of_a_person_are_not_the_table() -> None:
    with pytest.raises(PublicParameterError, match=r"rows is the table, .* without person= leave that out"):
        rt.study(ROWS, rows="one_each", adjacency="add_remove", columns=COLUMNS, budget=1)  # type: ignore[misc]
