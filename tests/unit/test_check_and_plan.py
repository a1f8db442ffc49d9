"""What ``check`` knows and a plan should say too: files that are not there, cells that may be spelt otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent as rt
from reticent.study.allocation import PreparedRelease
from tests.support.cli_kit import run

STUDY = """
[study]
source = "stays.csv"
ledger = "stays.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "2"
[columns.came]
kind = "date"
low = 2024-01-01
high = 2024-12-31
format = "%d.%m.%Y"
[columns.went]
kind = "date"
low = 2024-01-01
high = 2024-12-31
[columns.nights]
from = "days(went - came)"
[columns.age]
kind = "integer"
low = 0
high = 110
"""
ROWS = "came,went,age\n01.01.2024,02.01.2024,40\n"


def study(folder: Path, text: str = STUDY, *, source: bool = True) -> str:
    if source:
        (folder / "stays.csv").write_text(ROWS, "utf-8")
    (folder / "s.toml").write_text(text, "utf-8")
    return str(folder / "s.toml")


@pytest.mark.parametrize("source", ["stays.csv", "stays*.csv", "stays-2024.parquet"])
def test_a_check_fails_where_no_file_is_the_source_and_says_how_it_need_not(source: str, tmp_path: Path) -> None:
    file = study(tmp_path, STUDY.replace("stays.csv", source), source=False)
    done = run("check", file)
    assert (done.code, "FAILED" in done.out, "--no-source" in done.err) == (6, True, True)
    assert f"There is no file {source}" in " ".join(done.err.split())
    assert run("check", file, "--json").document["ok"] is False
    meant = run("check", file, "--no-source")
    assert (meant.code, "FAILED" in meant.out, f"no file {source}" in " ".join(meant.err.split())) == (0, False, True)


def test_a_check_passes_where_every_file_is_there(tmp_path: Path) -> None:
    done = run("check", study(tmp_path, STUDY), "--json")
    assert (done.code, done.document["ok"]) == (0, True)


@pytest.mark.parametrize(("name", "noted"), [("when", True), ("By", True), ("month", False), ("age", False)])
def test_a_check_notes_a_column_that_is_named_like_a_word_of_the_grammar(
    name: str, noted: bool, tmp_path: Path
) -> None:
    text = STUDY.replace("[columns.age]", f"[columns.{name}]")
    (tmp_path / "stays.csv").write_text(ROWS.replace("age", name), "utf-8")
    done = run("check", study(tmp_path, text, source=False), "--json")
    assert (done.code, any(f"`{name}`" in note for note in done.document["notes"])) == (0, noted)


@pytest.mark.parametrize(
    ("asked", "warned"),
    [("mean(age)", False), ("mean(nights)", True), ("median(went)", True), ("count where went > 2024-02-01", True)],
)
def test_a_plan_warns_of_the_columns_it_asks_about_alone(asked: str, warned: bool, tmp_path: Path) -> None:
    file = study(tmp_path, STUDY)
    done = run("plan", file, "--ask", asked, "--epsilon", "1", "--people", "5000")
    assert done.code == 0, done.said
    assert ("went has no format" in " ".join(done.err.split())) is warned
    assert "went has no format" in " ".join(run("check", file).err.split())


def test_a_release_warns_once_of_what_a_plan_doubts_before_its_charge(tmp_path: Path) -> None:
    times = STUDY.replace('[columns.went]\nkind = "date"', '[columns.went]\nkind = "datetime"')
    times = times.replace('[columns.nights]\nfrom = "days(went - came)"\n', "")
    file = study(tmp_path, times)
    out = str(tmp_path / "out")
    done = run("release", file, "--ask", "count where went > 2024-02-01", "--epsilon", "1", "--yes", "--out", out)
    said = " ".join(done.err.split())
    assert said.count("columns.went has no zone: cells with an offset") == 1
    assert said.index("has no zone") < said.index("reserve")
    plain = run("release", file, "--ask", "mean(age)", "--epsilon", "1", "--yes", "--out", out + "2")
    assert "has no zone" not in plain.err


def test_a_list_of_groups_is_longer_than_a_name_and_a_name_is_not(tmp_path: Path) -> None:
    first, second = "a" * 86, "b" * 107
    listed = "".join(f'[columns.{name}]\nkind = "category"\namong = [1, 2]\n' for name in (first, second))
    rows = f"came,went,age,{first},{second}\n" + "01.01.2024,02.01.2024,40,1,2\n" * 20
    file = study(tmp_path, STUDY + listed)
    (tmp_path / "stays.csv").write_text(rows, "utf-8")
    out = str(tmp_path / "one")
    done = run("release", file, "--ask", f"count by `{first}`, `{second}`", "--epsilon", "1", "--yes", "--out", out)
    assert done.code == 0, done.said
    assert run("verify", str(tmp_path / "one.json"), "--allow-unsigned").code == 0
    for long in (f'[columns.{"c" * 129}]\nkind = "integer"\n', f'[columns.{"c" * 129}]\nfrom = "age + 1"\n'):
        assert "more than 128 characters" in " ".join(run("check", study(tmp_path, STUDY + long)).said.split())


def test_a_refusal_of_one_of_several_questions_names_it(tmp_path: Path) -> None:
    asks = '[[release]]\nname = "one"\nepsilon = "1"\nask = ["mean(age)", "mean(agee)"]\n'
    assert "'one': mean(agee): " in " ".join(run("check", study(tmp_path, STUDY + asks)).said.split())


def test_a_computed_column_is_not_said_to_have_cells_that_are_not_listed(tmp_path: Path) -> None:
    old = '[columns.old]\nfrom = "age > 64"\n[columns.ward]\nkind = "category"\namong = ["a"]\n'
    said = " ".join(run("check", study(tmp_path, STUDY + old, source=False), "--no-source").err.split())
    assert "Values of ward that are not listed" in said


def test_a_category_on_the_left_of_a_line_is_sent_to_a_classifier(tmp_path: Path) -> None:
    file = study(tmp_path, STUDY + '[columns.old]\nfrom = "age > 64"\n')
    for question in ("regress(old ~ age)", "regress(old ~ age, method=least_squares)"):
        done = run("plan", file, "--ask", question, "--epsilon", "1", "--people", "5000")
        assert "LogisticRegression of reticent.learning" in " ".join(done.said.split())


def test_a_header_with_a_long_name_is_refused_by_its_position_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"age,{'secret ' * 20},ward\n", "utf-8")
    said = " ".join(run("init", str(tmp_path / "t.csv")).said.split())
    assert "more than 128 characters, number 2 of 3. Give it a shorter one there" in said
    assert "secret" not in said


def test_groups_of_whole_numbers_without_a_range_are_told_to_declare_one_first(tmp_path: Path) -> None:
    file = study(tmp_path, STUDY.replace("low = 0\nhigh = 110\n", ""))
    said = " ".join(run("plan", file, "--ask", "count by age", "--epsilon", "1").said.split())
    assert 'List them: [columns.age] low = …, high = …, or kind = "category"' in said


def test_one_check_tells_the_adjacency_that_is_meant_and_every_unknown_column(tmp_path: Path) -> None:
    asks = '[[release]]\nname = "one"\nepsilon = "1"\nask = ["count by wardd, agee", "mean(age) where wnt == june"]\n'
    text = STUDY.replace("add_remove", "addremove") + asks * 2
    said = " ".join(run("check", study(tmp_path, text)).said.split())
    assert '[person] adjacency = "addremove" is no choice. Did you mean add_remove? Choose adjacency' in said
    assert "Two releases are called 'one'" in said
    for name in ("wardd", "agee", "wnt", "june"):
        assert f"There is no column '{name}'" in said


def test_the_work_of_a_plan_grows_with_its_questions_and_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {f"c{nth}": rt.real(0, 1) for nth in range(24)}
    study = rt.study({name: [0.5] for name in columns}, adjacency="add_remove", columns=columns, budget=9)
    looked, views = list[object](), PreparedRelease.views

    def counted(prepared: PreparedRelease) -> tuple[object, ...]:
        looked.append(prepared)
        return views.fget(prepared)  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(PreparedRelease, "views", property(counted))
    found = []
    for many in (6, 24):
        looked.clear()
        study.plan([f"mean(c{nth})" for nth in range(many)], epsilon=1)
        found.append(len(looked))
    assert found[1] < 5 * found[0]
