"""No message quotes rows: a column or a table that is given in place of a public value is told by its type alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import reticent as rt
from reticent import survey
from reticent.errors import ReticentError


@cache
def rows() -> Any:
    """A table whose cells are in no message."""
    import pandas as pd

    return pd.DataFrame({"age": [31_337.5, 41_441.25] * 3, "who": ["id-31337", "id-41441"] * 3})


@cache
def held() -> dict[str, Any]:
    """The rows in the forms that people hold."""
    table = rows()
    return {
        "a column": table["age"],
        "texts": table["who"],
        "a table": table,
        "an array": table["age"].to_numpy(),
        "a list": table["age"].tolist(),
        "records": table.to_dict("records"),
        "lists": table.to_dict("list"),
    }


USUAL = {"question": "mean(age)", "questions": "mean(age)", "formula": "age ~ cost", "level": "0.5", "epsilon": "1"}
USUAL |= {"edges": "0:100:50", "among": "a", "statistic": "count", "low": "0", "high": "100", "k": "3"}
LISTED = {("save", "files", "texts")}  # endings of files, each of which is refused by its name
OF_NOTEBOOKS = "load_ipython_extension", "import_module"


def _study() -> rt.Study:
    import pandas as pd

    table = pd.DataFrame({"age": [30, 50] * 600, "edu": ["none", "uni"] * 600, "cost": [1.5, 2.0] * 600})
    columns: Any = {"age": rt.integer(18, 99), "edu": rt.category(["none", "uni"]), "cost": rt.real(0, 100)}
    return rt.study(table, adjacency="add_remove", columns=columns, budget=10_000, override="a test")


def _objects() -> dict[str, object]:
    study = _study()
    release = study.release([rt.mean("age"), rt.mean("cost").by("edu")], epsilon=8)
    return {
        "rt": rt,
        "survey": survey,
        "study": study,
        "release": release,
        "answer": release["mean(age)"],
        "question": rt.mean("age").by("edu"),
    }


def _doors(of: object) -> Iterator[tuple[str, Callable[..., object]]]:
    for name in (one for one in dir(of) if one == "__getitem__" or not one.startswith("_")):
        try:
            door = getattr(of, name)
        except ReticentError:  # a property of another kind of answer
            continue
        odd = inspect.isclass(door) and issubclass(door, BaseException)
        if callable(door) and not odd and name not in OF_NOTEBOOKS and not isinstance(door, type(Any | None)):
            yield name, door


def _called(door: Callable[..., object], at: inspect.Parameter, rows: object) -> None:
    """A call whose parameter ``at`` has rows, and whose others are usual."""
    given, named = list[object](), dict[str, object]()
    for one in inspect.signature(door).parameters.values():
        if one is not at and one.name != at.name and one.default is not one.empty:
            continue
        if one.kind is one.VAR_KEYWORD or (one.kind is one.VAR_POSITIONAL and one.name != at.name):
            continue
        value = rows if one.name == at.name else USUAL.get(one.name, "age")
        if one.kind is one.KEYWORD_ONLY:
            named[one.name] = value
        else:
            given.append(value)
    door(*given, **named)


def _quotes(words: str) -> bool:
    return ("31337.5" in words and "41441.25" in words) or ("id-31337" in words and "id-41441" in words)


@pytest.mark.parametrize("kind", ["rt", "survey", "study", "release", "answer", "question"])
def test_no_refusal_quotes_rows(kind: str) -> None:
    quoted, met = [], 0
    for name, door in _doors(_objects()[kind]):
        try:
            parameters = inspect.signature(door).parameters
        except ValueError:
            continue
        for at in parameters.values():
            for what, given in held().items():
                try:
                    _called(door, at, given)
                except ReticentError as refused:
                    met += 1
                    if _quotes(str(refused)) and (name, at.name, what) not in LISTED:
                        quoted.append((name, at.name, what, str(refused)[:80]))
                except Exception as problem:  # of Python itself, or of a library
                    if _quotes(str(problem)):
                        quoted.append((name, at.name, what, str(problem)[:80]))
    assert quoted == []
    assert met > (5 if kind == "answer" else 30)


def test_a_refusal_makes_no_text_of_the_rows() -> None:
    """A relation would run its query for it, and an error there quotes a cell in place of the refusal."""

    class Rows(dict[str, list[float]]):
        def __repr__(self) -> str:
            raise ValueError("id-31337 cannot be converted")

    for given in (Rows(age=[1.0, 2.0]), {"age": Rows(age=[1.0])}):
        with pytest.raises(rt.SpecError, match="no column 'nope'"):
            rt.study(given, adjacency="add_remove", columns={"nope": rt.real(0, 5)}, budget=1)
    with pytest.raises(rt.SpecError, match="no column 'nope'"):
        rt.study(_failing(), adjacency="add_remove", columns={"nope": rt.real(0, 5)}, budget=1)
    study = rt.study({"age": [1.0]}, adjacency="add_remove", columns={"age": rt.real(0, 5)}, budget=1)
    with pytest.raises(rt.ReticentError) as refused:
        study.release(_failing(), epsilon=1)
    assert "id-31337" not in str(refused.value)


def _failing() -> Any:
    """A relation of one text that is no number, though the query says so."""
    import duckdb

    made = duckdb.connect().sql("SELECT CASE WHEN i = 3 THEN 'id-31337' ELSE '5' END AS t FROM range(9) q(i)")
    return made.select("CAST(t AS INTEGER) AS age")


def test_a_column_in_place_of_its_name_is_told_by_its_type() -> None:
    study, ages = _study(), rows()["age"]
    for call, words in (
        (lambda: rt.mean(ages), r"a column is named by plain text, such as \"age\", got a Series"),
        (lambda: rt.mean("age").by(ages), "got a Series"),
        (lambda: study.release(ages, epsilon=1), "questions is public, and got a Series"),
        (lambda: study.xy(ages, "edu"), "columns is public, and got a Series"),
        (lambda: study.xy(["age"], ages), "y is public, and got a Series"),
        (lambda: rt.regress(rows()), "a DataFrame cannot be read"),
        (lambda: rt.quantile("age", "2"), "between 0 and 1, got 2"),
    ):
        with pytest.raises(rt.ReticentError, match=words):
            call()


def test_a_number_or_a_text_of_numpy_is_quoted_as_one_of_python_is() -> None:
    import numpy as np

    study = _study()
    for call in (
        lambda one: rt.quantile("age", one(2)),
        lambda one: study.release([rt.mean("age")], epsilon=one(20_000)),
        lambda one: study.release([rt.mean("cost"), rt.mean("age1")], epsilon=one(1)),
    ):
        said = []
        for one in (int, np.int64):
            with pytest.raises(rt.ReticentError) as refused:
                call(one)
            said.append(str(refused.value))
        assert said[0] == said[1]
        assert "an int64" not in said[1]
    for text in ("", "age"):
        with pytest.raises(
            rt.ReticentError, match=rf"is named by plain text, such as \"age\", got np.str_\('{text}'\)"
        ):
            rt.mean(np.str_(text))


def test_a_cell_is_found_as_it_is_printed_and_has_numbers() -> None:
    release = _study().release([rt.count(), rt.mean("cost").by("edu")], epsilon=8)
    answer = release["mean(cost) by edu"]
    assert [(cell.where, cell.value, cell.low, cell.high) for cell in answer] == [
        (key, answer[key].value, answer[key].low, answer[key].high) for key in ("none", "uni")
    ]
    assert release["mean(cost) by edu · uni"].value == answer["uni"].value
    with pytest.raises(rt.QuestionError, match="no answer 'mean"):
        release["mean(cost) by edu · no"]
