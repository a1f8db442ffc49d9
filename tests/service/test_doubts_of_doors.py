"""Doubts about how cells are written are told by every door before its charge: encoding, zone, decimal sign, format.

They come from the declarations alone. ``check`` tells all of them, and a door those of the columns that it asks about.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

import reticent as rt
from tests.support.cli_kit import run

Door: TypeAlias = Callable[[rt.Study, list[str]], object]
COLUMNS: Final = {
    "x": ('kind = "real", low = 0, high = 9', "numbers are often 1234,5"),
    "ward": ('kind = "category", among = ["Chirurgie", "Gynäkologie"]', "letters outside ASCII"),
    "seen": ('kind = "datetime", low = 2024-01-01T00:00:00, high = 2024-12-31T12:00:00', "has no zone"),
    "n": ('kind = "integer", low = 0, high = 9', ""),
}
ASKED: Final = {"x": "mean(x)", "ward": "count by ward", "seen": "median(seen)", "n": "mean(n)"}
FILE: Final = """
[study]
source = "t.csv"
ledger = "t.ledger"
delimiter = ";"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "9"
[columns]
"""
ANYWAY: Final = rt.Record(try_anyway=True)
DOORS: Final[dict[str, Door]] = {
    "plan": lambda study, asked: study.plan(asked, epsilon=1),
    "release": lambda study, asked: study.release(asked, epsilon=1, record=ANYWAY),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lines = "".join(f"{name} = {{ {kind} }}\n" for name, (kind, _) in COLUMNS.items())
    (tmp_path / "study.toml").write_text(FILE + lines, "utf-8")
    (tmp_path / "t.csv").write_text("x;ward;seen;n\n" + "1.5;Chirurgie;2024-03-01T10:00:00;3\n" * 60, "utf-8")
    return tmp_path


def said(work: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught if one.category is UserWarning]


def doubted(told: str) -> set[str]:
    return {name for name, (_, words) in COLUMNS.items() if words and words in " ".join(told.split())}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("door", DOORS)
def test_a_door_in_python_tells_the_doubts_of_its_columns(door: str, column: str, place: Path) -> None:
    study = rt.open(place / "study.toml")
    told = said(lambda: DOORS[door](study, [ASKED[column]]))
    assert doubted(" ".join(told)) == ({column} if COLUMNS[column][1] else set())


@pytest.mark.parametrize("column", ["x", "n"])
def test_a_fit_and_a_session_tell_the_doubts_of_their_columns(column: str, place: Path) -> None:
    study = rt.open(place / "study.toml")
    whole = {column} - {"n"}
    assert doubted(" ".join(said(lambda: study.xy([column])))) == whole
    assert doubted(" ".join(said(lambda: study.sparse_vector([column], epsilon=1, positives=1)))) == whole
    planned = said(lambda: study.session_plan("sparse_vector", [column], answers=1, epsilon=1))
    assert doubted(" ".join(planned)) == whole


@pytest.mark.wide
@pytest.mark.parametrize("column", COLUMNS)
def test_a_verb_of_the_command_line_tells_the_doubts_of_its_columns_once(column: str, place: Path) -> None:
    whole = {column} if COLUMNS[column][1] else set()
    given = (str(place / "study.toml"), "--ask", ASKED[column], "--epsilon", "1")
    planned = run("plan", *given)
    released = run("release", *given, "--yes", "--try-anyway", "--out", str(place / "out"))
    for told in (planned.err, released.err):
        assert doubted(told) == whole
        assert all(" ".join(told.split()).count(COLUMNS[one][1]) == 1 for one in whole)


def test_check_tells_every_doubt_once(place: Path) -> None:
    every = {name for name, (_, words) in COLUMNS.items() if words}
    told = json.loads(run("check", "--json", str(place / "study.toml")).out)["warnings"]
    assert doubted(" ".join(told)) == every
    assert all(sum(COLUMNS[one][1] in words for words in told) == 1 for one in every)


def test_rt_study_hints_the_adjacency_that_is_meant_as_a_study_file_does(place: Path) -> None:
    with pytest.raises(rt.SpecError, match=r'^adjacency="addremove" is no choice\. Did you mean add_remove\?'):
        rt.study({"n": [1]}, adjacency="addremove", columns={"n": rt.integer(0, 9)}, budget=1)  # type: ignore[arg-type]
    text = (place / "study.toml").read_text("utf-8").replace('"add_remove"', '"addremove"')
    (place / "study.toml").write_text(text, "utf-8")
    with pytest.raises(rt.SpecError, match=r"Did you mean add_remove\?"):
        rt.open(place / "study.toml")


@pytest.mark.parametrize("people", [None, 600])
def test_a_wanted_width_beyond_the_budget_is_refused_before_persons_are_counted(
    people: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.data.table import Table

    study = rt.study(
        {"x": [0.5] * 600, "g": ["a", "b"] * 300},
        adjacency="substitute",
        columns={"x": rt.real(0, 1), "g": rt.category(["a", "b"])},
        budget=1,
        people=people,
    )
    assert study.release([], want={"mean(x)": 0.1}, record=ANYWAY).replied

    def counted(self: Table) -> int:
        raise AssertionError("persons were counted")

    monkeypatch.setattr(Table, "units", counted)
    with pytest.raises(rt.BudgetError):
        study.release([], want={"count by g": 1}, record=ANYWAY)
