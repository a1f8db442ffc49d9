"""First guesses of people who know data frames: each is refused in words that say what to write."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from tests.support.cli_kit import clinic, run

ROWS = {"age": [31, 62] * 50}


@pytest.fixture
def study() -> rt.Study:
    return rt.study(ROWS, columns={"age": rt.integer(0, 110)}, adjacency="add_remove", budget=1)


@pytest.mark.parametrize("name", [0, (), ["count"], slice(1)])
def test_an_answer_by_place_says_how_it_is_found(study: rt.Study, name: Any) -> None:
    release = study.release(["count"], epsilon="0.5")
    with pytest.raises(rt.QuestionError, match=r"found by its name.*frame\(\)\.to_pandas\(\).*save"):
        release[name]


def test_a_list_of_columns_says_what_a_column_needs() -> None:
    columns: Any = ["age"]
    with pytest.raises(rt.SpecError, match=r'columns=\{"age": rt\.integer\(0, 110\)\}'):
        rt.study(ROWS, columns=columns, adjacency="add_remove", budget=1)


def test_the_length_of_a_study_speaks_of_the_study(study: rt.Study) -> None:
    of: Any = study
    with pytest.raises(rt.QuestionError, match=r"^A study is a handle"):
        len(of)


def test_a_table_opened_as_a_study_file_is_told_from_broken_toml(tmp_path: Path) -> None:
    (tmp_path / "rand.csv").write_text("age,cost\n1,2\n")
    with pytest.raises(rt.SpecError, match=r"rand\.csv is no study file.*rt\.study"):
        rt.open(tmp_path / "rand.csv")
    (tmp_path / "rand.toml").write_text("age,cost")
    with pytest.raises(rt.SpecError, match="is not TOML"):
        rt.open(tmp_path / "rand.toml")


def test_a_refusal_is_told_in_the_words_of_who_asks(study: rt.Study, tmp_path: Path) -> None:
    """In Python an argument, on the command line an option."""
    with pytest.raises(rt.BudgetError, match='With epsilon="1" the noise') as python:
        study.release(["count"], epsilon=2)
    assert "--" not in str(python.value)
    told = run("release", str(clinic(tmp_path, people=40)), "--ask", "count", "--epsilon", "9")
    assert told.code == 4
    assert "With --epsilon" in told.said


# --- whose a row is ---------------------------------------------------------------------------------------------------


def told_of(rows: Any, **more: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rt.study(rows, adjacency="add_remove", columns={"age": rt.integer(0, 120)}, budget=1, **more)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("name", ["patient", "Patient_ID", "subject id", "pid", "customer-id", "id", "respondent.no"])
def test_a_usual_name_for_persons_is_asked_about_where_nothing_was_said_of_rows(name: str, tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rows = {name: [1, 1, 2], "age": [3, 4, 5]}
    file = tmp_path / "visits.csv"
    file.write_text(f"{name},age\n1,3\n", encoding="utf-8")
    for table in (rows, pa.table(rows), pd.DataFrame(rows), pl.DataFrame(rows), file):
        (said,) = told_of(table)
        assert f'person="{name}"' in said
        assert told_of(table, rows_each=1) == told_of(table, person=name, rows_each=2) == []


@pytest.mark.parametrize("name", ["student", "idea", "paid", "person_years", "customers", "member", "identity"])
def test_another_name_is_not(name: str) -> None:
    assert told_of({name: [1, 1, 2], "age": [3, 4, 5]}) == []


def test_a_study_in_python_has_the_name_of_its_file_or_of_its_ledger(tmp_path: Path) -> None:
    (tmp_path / "visits 2026.csv").write_text("age\n3\n", encoding="utf-8")
    given: dict[str, Any] = {"adjacency": "add_remove", "columns": {"age": rt.integer(0, 120)}, "budget": 1}
    study = rt.study(tmp_path / "visits 2026.csv", ledger=tmp_path / "a.ledger", **given)
    study.release(["count"], epsilon="0.1")
    shown = run("ledger", "show", str(tmp_path / "a.ledger"))
    assert shown.out.splitlines()[0] == "visits 2026"
    assert str(tmp_path) not in shown.out
    rows = {"age": [1]}
    assert rt.study(rows, ledger=tmp_path / "clinic.ledger", **given).title == "clinic"
    assert rt.study(rows, **given).title == "study"
    assert rt.study(rows, title="Visits", **given).title == "Visits"
