"""First guesses of people who know data frames: each is refused in words that say what to write."""

from __future__ import annotations

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
