"""A condition that names a column of odd signs, or a date in another spelling, is told how each is written."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.data import spelling_hints
from reticent.data.schema import Column
from reticent.errors import QuestionError

ODD = ("Age (years)", "hours.per.week", "Total cost €", "Patient No.", "in", "2nd visit", "cost/day", "a-b")
COLUMNS: dict[str, Column] = {name: rt.integer(0, 100) for name in ODD}
COLUMNS |= {"admitted": rt.date("2020-01-01", "2025-12-31"), "x": rt.real(), "y": rt.integer(0, 9)}


@pytest.fixture(scope="module")
def study() -> rt.Study:
    cells = {name: ["2024-01-01"] * 50 if name == "admitted" else list(range(50)) for name in COLUMNS}
    return rt.study(cells, adjacency="add_remove", columns=COLUMNS, budget=5)


def refused(study: rt.Study, question: str) -> str:
    with pytest.raises(QuestionError) as found:
        study.plan([question], epsilon=1)
    return str(found.value)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("written", ["{}", '"{}"', "[{}]", "y > 1 and {}"])
def test_a_bare_column_of_odd_signs_is_named_in_backticks_once(study: rt.Study, name: str, written: str) -> None:
    said = refused(study, f"mean(y) where {written.format(name)} > 4")
    assert said.count(f"The column {name} stands in backticks: `{name}`.") == 1
    assert said.count("backticks") == 1
    with pytest.raises(QuestionError, match="backticks"):
        study.where(f"{written.format(name)} > 4")


@pytest.mark.parametrize("name", ODD)
def test_in_backticks_it_is_read_and_elsewhere_it_is_no_matter(study: rt.Study, name: str) -> None:
    assert study.plan([f"mean(y) where `{name}` > 4"], epsilon=1).lines
    assert study.where(f"`{name}` > 4") is not None
    for question in (f"mean(y) where `{name}` > 'a'", f"mean(x) where `{name}` > 4", f"median({name}, trimm=1)"):
        assert "backticks" not in refused(study, question)


@pytest.mark.parametrize("name", ["in", "a-b", "cost/day"])
@pytest.mark.parametrize("written", ["count by cut({}, 0:50:10)", "mean({} - 1)", "mean(y) by floor({}, 5)"])
def test_in_a_formula_anywhere_in_a_question_it_stands_in_backticks(study: rt.Study, name: str, written: str) -> None:
    assert study.plan([written.format(f"`{name}`")], epsilon=1).lines
    said = refused(study, written.format(name))
    assert (f"`{name}`" in said, said.count("backticks")) == (True, 1)


@pytest.mark.parametrize("asked", ["count where g = uni", "count where uni = g", "count where g in (none, uni)"])
def test_a_listed_text_without_quotes_is_told_with_them(asked: str) -> None:
    columns: dict[str, Column] = {"g": rt.category(["none", "uni"]), "unit": rt.integer(0, 9)}
    of = rt.study({"g": ["uni"], "unit": [1]}, adjacency="add_remove", columns=columns, budget=5)
    said = refused(of, asked)
    assert "Did you mean" not in said
    assert re.search('text of g stands in quotes: g = "(uni|none)"', said)


@pytest.mark.parametrize("asked", ["g like 'u%'", 'g LIKE "u%"', "g not like 'u%'", "g ilike 'u%'"])
def test_like_is_told_with_what_to_write_for_it(asked: str) -> None:
    columns: dict[str, Column] = {"g": rt.category(["none", "uni"])}
    of = rt.study({"g": ["uni"]}, adjacency="add_remove", columns=columns, budget=5)
    said = refused(of, f"count where {asked}")
    assert ("backticks" in said, 'left(g, 1) = "a"' in said) == (False, True)
    assert of.plan(['count where left(g, 1) = "u"'], epsilon=1).lines


@pytest.mark.parametrize("date", ["2024/02/01", "01.02.2024", "1/2/2024", '"2024/02/01"', "'01.02.2024'"])
def test_a_date_in_another_spelling_is_told_the_one_that_is_read(study: rt.Study, date: str) -> None:
    said = refused(study, f"count where admitted >= {date}")
    assert said.count("date is written 2024-02-29") == 1
    assert said.endswith("Nothing was charged.")
    assert study.plan(["count where admitted >= 2024-02-01"], epsilon=1).lines


def test_a_column_of_a_further_table_is_not_odd() -> None:
    wards = rt.table({"ward": ["a", "b"], "beds": [3, 4]}, public=True, key="ward")
    columns: dict[str, Any] = {"age": rt.integer(0, 110), "ward": rt.category(["a", "b"])}
    rows = {"age": [30] * 50, "ward": ["a"] * 50}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=5, tables={"wards": wards})
    assert "backticks" not in refused(study, "mean(age) where wards.beds > 'x'")


# --- the words of who declares ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "argument"),
    [
        ("mean(x)", 'columns={"x": rt.real(low, high)}'),
        ("sum(Ward No.)", 'columns={"Ward No.": rt.real(low, high)}'),
        ("proportion(x)", 'columns={"x": rt.category([...])}'),
        ("count by x", 'columns={"x": rt.category([...])}'),
    ],
)
def test_a_study_of_rows_is_told_arguments_and_one_of_a_file_its_lines(
    question: str, argument: str, tmp_path: Path
) -> None:
    columns: dict[str, Column] = {"x": rt.real(), "Ward No.": rt.real()}
    cells = {"x": [1.0] * 50, "Ward No.": [1.0] * 50}
    said = refused(rt.study(cells, adjacency="add_remove", columns=columns, budget=5), question)
    assert argument in said
    assert "[columns." not in said
    (tmp_path / "t.csv").write_text("x,Ward No.\n1,1\n", "utf-8")
    (tmp_path / "t.toml").write_text(
        '[study]\nsource = "t.csv"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n[budget]\nepsilon = "5"\n'
        '[columns.x]\nkind = "real"\n[columns."Ward No."]\nkind = "real"\n',
        "utf-8",
    )
    assert "columns={" not in refused(rt.open(tmp_path / "t.toml"), question)


def test_a_likely_no_reply_is_told_in_no_words_of_a_file() -> None:
    study = rt.study({"age": [30] * 50}, adjacency="add_remove", columns={"age": rt.integer(0, 110)}, budget=5)
    with pytest.warns(UserWarning, match=r"declares people=…\.") as told:
        study.release(["median(age)"], epsilon="0.001")
    assert not any("[person]" in str(one.message) for one in told)


LINE_OF_A_FILE = re.compile(r"\[(?:study|person|budget|columns|tables)\b|(?<!\w)[a-z_]+ = (?:\{|\"|…|\d|true)")
SILENT = ("median(x)", "iqr(wild) by g", "mean(x)", "quantiles(x, 0.25 0.75)")


def spread() -> rt.Study:
    """A study of few persons with many rows, where hardly anything has a reply."""
    columns: dict[str, Column] = {"x": rt.real(0, 9), "wild": rt.real(), "g": rt.category([0, 1])}
    cells = {"who": list(range(50)), "x": [1.0] * 50, "wild": [1.0] * 50, "g": [0, 1] * 25}
    cap: dict[str, Any] = {"person": "who", "rows_each": {"at_most": 30}}
    return rt.study(cells, adjacency="add_remove", columns=columns, budget=5, delta="1e-6", **cap)


@pytest.mark.wide
def test_no_text_of_a_study_of_rows_has_a_line_of_a_study_file() -> None:
    study = spread()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        study.release(SILENT, epsilon="0.1")
        release = study.release(SILENT, epsilon="0.1", record=rt.Record(try_anyway=True))
    again = pickle.loads(pickle.dumps(release))
    told = [repr(study), repr(study.plan(SILENT, epsilon="0.1")), repr(release), *(str(one.message) for one in warned)]
    assert any('rows_each={"at_most": …, "typical": …}' in text for text in told)
    for text in told:
        assert LINE_OF_A_FILE.search(text) is None, text
    assert repr(again) == repr(release)
    said = " ".join(repr(release).split())
    assert 'rows_each={"at_most": …, "ceiling": 30}' in said
    assert 'columns={"wild": rt.real(low, high)}' in said
    assert '"median(x, per=person)", which is about the mean of each person' in said
    assert LINE_OF_A_FILE.search(repr(rt.read_release(release.certificate.to_json())))  # which knows no study


def test_a_category_is_told_how_it_is_declared_as_whole_numbers() -> None:
    with pytest.raises(QuestionError, match=r'whole numbers: columns={"g": rt\.integer\(0, 1\)}\.'):
        spread().plan([rt.density("g")], epsilon=1)


def test_a_study_of_rows_shows_that_each_counts_as_a_person_unless_a_column_says_whose_it_is() -> None:
    columns: dict[str, Column] = {"age": rt.integer(0, 110)}
    cells = {"age": [30] * 50, "who": list(range(50))}
    note = "each row counts as another person"
    assert note in repr(rt.study(cells, adjacency="add_remove", columns=columns, budget=5))
    of = rt.study(cells, adjacency="add_remove", columns=columns, budget=5, person="who", rows_each=2)
    assert note not in repr(of)


def test_a_column_that_is_in_no_question_costs_a_refusal_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 300 columns each refusal had made 900 patterns, more than are kept: a check took 36 s."""
    made, plain = list[str](), re.escape

    def escape(name: str) -> str:
        made.append(name)
        return plain(name)

    monkeypatch.setattr(re, "escape", escape)
    names = [f"item {place}?" for place in range(300)]
    told = spelling_hints.hinted("'x' cannot be read.", ["mean(item 7?) where item 7? > 2"], names)
    assert "stands in backticks: `item 7?`" in told
    assert set(made) == {"item 7?"}
