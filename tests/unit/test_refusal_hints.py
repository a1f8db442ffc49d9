"""Hints of refusals: each says what to type instead, in the words of where it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import reticent as rt
from reticent.data import expression_text
from reticent.data.file_kinds import meant_file
from reticent.data.files import check_file
from reticent.data.schema import unknown_column
from reticent.data.study_file import read_spec, warnings
from reticent.errors import PublicParameterError, QuestionError, Refusal, SpecError
from reticent.statistics.statistic import Statistic
from tests.support.cli_kit import clinic, run


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ("mean(x) by a and b", "Several columns stand with commas: a, b."),
        ("mean(x) by a b", "Several columns stand with commas: a, b."),
        ("mean(admitted + 2)", "days are not added to a date: write days(b - a) > 2"),
        ("count where admitted + 2 > 3", "days are not added to a date"),
        ("mean(y + 2)", "There is no column"),
        ('mean("x")', "A column stands plain or between backticks: `x`."),
        ('regress(x ~ "a")', "A column stands plain or between backticks: `a`."),
        ("mean(x) by 'a'", "A column stands plain or between backticks: `a`."),
        ("count by cut(Alter (Jahre), 0:100:20)", "stands in backticks: cut(`Alter (Jahre)`, 0:100:20)."),
        ("count by cut(Q (y), 0:9:3)", "A name with other signs stands in backticks: cut(`Q (y)`, 0:9:3)."),
        ("count by floor(Alter (Jahre) / 10)", "other signs stands in backticks: floor(`Alter (Jahre)` / 10)."),
        ("count by year(let in)", "A name with other signs stands in backticks: year(`let in`)."),
    ],
)
def test_a_refused_question_says_what_to_write(question: str, hint: str) -> None:
    rows = {"x": [1.0], "a": ["p"], "b": ["p"], "admitted": ["2024-01-01"], "let in": ["2024-01-01"]}
    study = rt.study(
        {**rows, "Alter (Jahre)": [1], "Q (y)": [1]},
        adjacency="add_remove",
        columns={
            "x": rt.real(0, 10),
            "a": rt.category(["p", "q"]),
            "b": rt.category(["p", "q"]),
            "admitted": rt.date("2020-01-01", "2025-12-31"),
            "let in": rt.date("2020-01-01", "2025-12-31"),
            "Alter (Jahre)": rt.integer(0, 100),
            "Q (y)": rt.integer(0, 9),
        },
        budget=5,
    )
    with pytest.raises(Refusal) as refused:
        study.plan([question], epsilon=1)
    assert hint in str(refused.value)


def test_the_command_line_is_told_its_own_options(tmp_path: Path) -> None:
    said = run("release", str(clinic(tmp_path)), "--ask", "count").said
    assert "--epsilon 1" in said
    assert 'epsilon="1"' not in said


@pytest.mark.parametrize("verb", ["release", "plan", "rehearse"])
def test_a_word_for_a_release_is_told_to_be_an_option(verb: str, tmp_path: Path) -> None:
    study = str(clinic(tmp_path))
    extra = run(verb, study, "table 4")
    assert (extra.code, "--release 'table 4'" in extra.said) == (2, True), extra.said
    unknown = run(verb, study, "--release", "tables 4")
    assert unknown.code == 5
    assert "There is no release 'tables 4'. Did you mean table 4?" in unknown.said
    assert "--release" not in run("check", study, "more").said  # which has no such option


def test_one_check_tells_all_problems(tmp_path: Path) -> None:
    study = clinic(tmp_path)
    text = study.read_text("utf-8")
    for right, wrong in (
        ("title =", "colour = 3\ntitle ="),
        ('"add_remove"', '"add"'),
        ("at_most = 3", "at_most = 0"),
        ("high = 100", "high = -1"),
        ("[columns.cost]", "[columns.costs]"),
        ("mean(age)", "mean(agee)"),
        ("persons by town", "maen(age)"),
        ("quantile(cost, 0.99)", "mean(age"),
    ):
        assert right in text
        text = text.replace(right, wrong)
    study.write_text(text, "utf-8")
    words = (
        "unknown key 'colour'",
        "Choose adjacency",
        "[person]",
        "low must be below high",
        "no column is called costs",
        "'table 4': mean(agee): There is no column 'agee'. Did you mean age?",
        "'table 4': maen(age): There is no statistic 'maen'",
        "'tail': 'mean(age' cannot be read",
    )
    problems = run("check", str(study), "--json").document["error"]["problems"]
    assert len(problems) == len(words), problems
    for found in (problems, [one["words"] for one in run("doctor", str(study), "--json").document["findings"]]):
        assert all(any(word in one for one in found) for word in words), found


@pytest.mark.parametrize(
    ("name", "begin", "hint"),
    [
        ("a.csv", "id,age\n1,2\n".encode("utf-16"), "Save it as UTF-8"),
        ("b.csv", b"PK\x03\x04rest", "end in .xlsx"),
        ("c.csv", b"\x1f\x8b\x08rest", "end in .gz"),
        ("d.csv.bz2", b"BZh91AY&SY", "compressed by bzip2"),
        ("e.csv", b"\x28\xb5\x2f\xfdrest", "end in .zst"),
        ("f.csv", b"PAR1\x15\x04", "end in .parquet"),
    ],
)
def test_a_file_of_another_kind_is_told_by_how_it_begins(name: str, begin: bytes, hint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(begin)
    refused = run("init", str(tmp_path / name))
    assert (refused.code, hint in refused.said) == (5, True), refused.said


def test_a_column_may_be_called_as_another_kind_begins(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("PAR1,BZh\n1,2\n", "utf-8")
    assert run("init", str(tmp_path / "a.csv"), "--header-is-names").code == 0


def test_an_unknown_encoding_is_refused_before_a_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n", "utf-8")
    for encoding in ("foo", "utf-16", "rot13"):
        refused = run("init", str(tmp_path / "a.csv"), "--encoding", encoding)
        assert (refused.code, "encoding is utf-8" in refused.said) == (5, True), refused.said


STUDY = """[study]
source = "t.csv"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "1"
[columns.age]
kind = "integer"
low = 0
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("low = 0", "low = 01.01.2024", "A date is written 2024-02-29, without quotes."),
        ("low = 0", "low = 1/2/24", "A date is written 2024-02-29, without quotes."),
        ("columns.age", "columns.Age (years)", 'stands in quotes: [columns."Age (years)"].'),
        ("columns.age", "columns.Größe", 'stands in quotes: [columns."Größe"].'),
        ("columns.age", "columns.hours.per", 'A name with a dot stands in quotes: [columns."hours.per"].'),
        ('"integer"', "integer", 'A text stands in quotes: kind = "integer".'),
        ("low = 0", "low = [", None),
    ],
)
def test_a_line_that_is_no_toml_is_told_how_it_is_written(old: str, new: str, told: str | None, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(STUDY.replace(old, new), "utf-8")
    with pytest.raises(SpecError) as refused:
        read_spec(tmp_path / "t.toml")
    if told is None:
        assert "written" not in str(refused.value)
        assert "quotes" not in str(refused.value)
    else:
        assert told in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            " seen >= 01.02.2024",
            "'seen >= 01.02.2024' cannot be read before .2024: the expression should end. A date is",
        ),
        ("hours.per.week > 40", "backticks: `hours.per.week`."),
        ("not hours per > 40", "backticks: `hours per`."),
        ("x > 1 and Patient No. = 3", "backticks: `Patient No.`."),
        ("a > 1 &", "Write and."),
    ],
)
def test_a_condition_that_cannot_be_read_is_told_how_names_and_dates_are_written(text: str, told: str) -> None:
    with pytest.raises(QuestionError) as refused:
        expression_text.read(text)
    assert told in str(refused.value)


@pytest.mark.parametrize("text", ["x >", "x between 1 or 2", "case when x then y", "`a b c` > > 1", "x = 'a b c' )"])
def test_a_condition_without_such_names_has_no_such_hint(text: str) -> None:
    with pytest.raises(QuestionError) as refused:
        expression_text.read(text)
    assert "backticks" not in str(refused.value)


def test_a_misspelt_source_is_said_before_the_ledger_of_another(tmp_path: Path) -> None:
    text = STUDY.replace('"t.csv"', '"t.csv"\nledger = "t.ledger"') + "high = 9\n"
    (tmp_path / "t.csv").write_text("age\n1\n", "utf-8")
    (tmp_path / "t.toml").write_text(text, "utf-8")
    assert rt.open(tmp_path / "t.toml").left() is not None  # the ledger is made
    (tmp_path / "t.toml").write_text(text.replace('"t.csv"', '"tt.csv"'), "utf-8")
    asks: tuple[Callable[[rt.Study], object], ...] = (
        lambda study: study.left(),
        lambda study: study.plan(["count"], epsilon=1),
        lambda study: study.release(["count"], epsilon=1),
        lambda study: study.xy(["age"]),
    )
    for ask in asks:
        with pytest.raises(SpecError) as refused:
            ask(rt.open(tmp_path / "t.toml"))
        assert str(refused.value) == "There is no file tt.csv. Did you mean t.csv? Nothing was read."
    (tmp_path / "t.toml").write_text(text.replace("t.ledger", "u.ledger").replace('"t.csv"', '"tt.csv"'), "utf-8")
    assert warnings(read_spec(tmp_path / "t.toml"))[0] == (
        "There is no file tt.csv where the source should be. Did you mean t.csv?"
    )
    (tmp_path / "t.csv").unlink()  # a study whose rows are elsewhere
    (tmp_path / "t.toml").write_text(text, "utf-8")
    assert rt.open(tmp_path / "t.toml").left() is not None


@pytest.mark.parametrize(
    ("named", "near"),
    [
        ("visit.csv", "visits.csv"),
        ("visits.parquet", "visits.csv"),
        ("notes.csv", None),
        ("stays.csv", "stays.csv.gz"),
        ("visits.txt", "visits.csv"),
    ],
)
def test_a_missing_file_is_told_with_the_nearest_table_beside_it(named: str, near: str | None, tmp_path: Path) -> None:
    for name in ("visits.csv", "visits.toml", "stays.csv.gz", "note.md"):
        (tmp_path / name).touch()
    told = "" if near is None else f" Did you mean {near}?"
    assert meant_file(tmp_path / named) == told
    with pytest.raises(SpecError) as refused:
        check_file(tmp_path / named)
    assert str(refused.value) == f"There is no file {named}.{told} Nothing was read."
    assert meant_file(tmp_path / "none" / named) == ""


def test_a_study_of_a_file_that_is_not_there_shows_it(tmp_path: Path) -> None:
    def shown() -> str:
        return repr(rt.study(tmp_path / "n.csv", adjacency="add_remove", columns={"age": rt.integer(0, 9)}, budget=1))

    assert "There is no file n.csv: is the source misspelt?" in shown()
    (tmp_path / "n.csv").write_text("age\n1\n", "utf-8")
    assert "no file" not in shown()


def test_a_blank_at_the_end_of_a_name_is_told() -> None:
    assert "Did you mean 'State ', with a blank at an end?" in str(unknown_column("State", ["State ", "age"]))
    assert "Did you mean age?" in str(unknown_column("agee", ["State ", "age"]))


def of_three_columns() -> rt.Study:
    listed = rt.category(["x", "y"])
    rows = {"a": [1.0], "g": ["x"], "h": ["y"]}
    return rt.study(rows, columns={"a": rt.real(0, 10), "g": listed, "h": listed}, adjacency="add_remove", budget=1)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("median(a, low=5)", "median(a, low=5): low and high come together"),
        ("quantile(a)", "quantile(a): which level?"),
        (rt.mean("b"), "mean(b): There is no column 'b'."),
        ("proportion(a)", "proportion(a) needs a category"),
    ],
)
def test_a_refusal_of_one_of_several_questions_says_which(question: str | Statistic, said: str) -> None:
    study = of_three_columns()
    with pytest.raises((QuestionError, PublicParameterError)) as refused:
        study.plan(["count", question, "mean(a)"], epsilon=1)
    assert str(refused.value).startswith(said)


def test_an_unknown_name_in_a_filter_lists_no_expression_of_the_other_questions() -> None:
    study = of_three_columns()
    with pytest.raises(QuestionError, match=r"^mean\(a\) where b > 3: .* Declared columns: a, g, h\. Nothing"):
        study.plan(["mean(a) by g, h", "mean(a * 2)", "mean(a) where b > 3"], epsilon=1)
