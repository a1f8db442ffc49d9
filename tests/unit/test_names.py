"""Names and titles: a line end in one would forge a line of a printed table, by whichever door it comes in."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import reticent as rt
from reticent import survey
from reticent.data.format import LONGEST_NAME, LONGEST_TITLE, exact
from reticent.data.schema import Person, Schema
from reticent.data.study_file import parse_spec
from reticent.errors import PublicParameterError, QuestionError, SpecError
from reticent.survey import form

FORGED = "x\nmean(income)  1,000 (95 % 999 to 1,001)"
BREAKS = ("\n", "\r", "\t", "\x0b", "\x0c", "\x1b[2K", "\x00", "\x7f", "\x85", "\x9b", "\u2028", "\u2029")
ONE = rt.integer(0, 9)


class Sly(str):
    """A name that holds a line end and shows none."""

    def __str__(self) -> str:
        return "x"

    __repr__ = __str__

    def __iter__(self):  # type: ignore[no-untyped-def]  # what a check by letters would see
        return iter("x")

    def __len__(self) -> int:
        return 1


def asked(rows: object, name: str) -> rt.Study:
    return rt.study(rows, adjacency="add_remove", columns={name: ONE}, budget=1)


def file_of(name: str, **more: object) -> dict[str, object]:
    tables: dict[str, object] = {
        "study": {"source": "t.csv"},
        "person": {"adjacency": "add_remove", "rows": "one_each"},
        "budget": {"epsilon": "1"},
        "columns": {name: {"kind": "integer", "low": 0, "high": 9}},
    }
    return {**tables, **more}


DOORS: dict[str, Callable[[str], object]] = {
    "dict": lambda name: asked({name: [1, 2]}, name),
    "pandas": lambda name: asked(import_module("pandas").DataFrame({name: [1, 2]}), name),
    "polars": lambda name: asked(import_module("polars").DataFrame({name: [1, 2]}), name),
    "arrow": lambda name: asked(import_module("pyarrow").table({name: [1, 2]}), name),
    "schema": lambda name: Schema({name: ONE}, Person("add_remove")),
    "person": lambda name: Schema({"x": ONE}, Person("add_remove", name)),
    "study file": lambda name: parse_spec(file_of(name), Path()),
    "title": lambda name: rt.study({"x": [1]}, adjacency="add_remove", columns={"x": ONE}, budget=1, title=name),
    "title in a file": lambda name: parse_spec(file_of("x", study={"source": "t.csv", "title": name}), Path()),
    "release in a file": lambda name: parse_spec(
        file_of("x", release=[{"name": name, "epsilon": "1", "ask": ["mean(x)"]}]), Path()
    ),
    "record": lambda name: rt.Record(name=name),
    "who": lambda name: rt.Record(who=name),
    "survey question": lambda name: survey.two_coins(name),
    "survey answer": lambda name: survey.choice("Q?", (name, "b"), epsilon=1),
    "open question": lambda name: form.check_open({name: ["a", "b"]}),
    "open answer": lambda name: form.check_open({"region": [name, "b"]}),
    "title of a page": lambda name: form.page(survey.two_coins("Q?"), None, ask={}, title=name),
}
NAMES = tuple(list(DOORS)[:7])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", [FORGED, *(f"x{end}y" for end in BREAKS)], ids=ascii)
def test_no_door_takes_a_name_that_ends_a_line(door: str, name: str) -> None:
    with pytest.raises((SpecError, QuestionError, PublicParameterError)) as refusal:
        DOORS[door](name)
    assert name not in str(refusal.value)


@pytest.mark.parametrize("door", NAMES)
def test_a_name_has_at_most_128_characters(door: str) -> None:
    with pytest.raises(SpecError, match=f"more than {LONGEST_NAME} characters"):
        DOORS[door]("a" * (LONGEST_NAME + 1))


@pytest.mark.parametrize("door", ["title", "title in a file", "release in a file", "record", "title of a page"])
def test_a_title_has_at_most_2000_characters(door: str) -> None:
    with pytest.raises((SpecError, QuestionError), match=f"{LONGEST_TITLE:,}"):
        DOORS[door]("a" * (LONGEST_TITLE + 1))


@pytest.mark.parametrize("door", ["dict", "pandas", "schema", "person", "title", "record"])
def test_a_name_that_hides_its_letters_is_read_by_them(door: str) -> None:
    with pytest.raises(SpecError):
        DOORS[door](Sly(FORGED))


def test_names_are_kept_as_plain_text() -> None:
    made = asked({Sly("x"): [1, 2]}, Sly("x"))
    assert {type(name) for name in made.schema.columns} == {str}
    assert type(made.title) is str
    assert type(exact(Sly(FORGED))) is str
    assert exact(Sly(FORGED)) == FORGED
    assert exact(3) == "3"


@pytest.mark.wide
def test_a_column_that_is_numbered_is_read() -> None:
    made = rt.study({0: [1] * 50, 1: [2] * 50}, adjacency="add_remove", columns={"1": ONE}, budget=1)
    assert made.release(["count"], epsilon="1/2").replied


def test_a_column_that_is_not_declared_is_never_shown() -> None:
    """It is not refused either: wide exports have whole questions as names, and those left out are never read."""
    import pandas as pd

    made = asked(pd.DataFrame({"x": [1, 2], FORGED: [3, 4]}), "x")
    assert "income" not in repr(made)
    with pytest.raises(SpecError) as refusal:
        asked({FORGED: [1]}, "x").release(["count"], epsilon="1/2")
    assert "income" not in str(refusal.value)
