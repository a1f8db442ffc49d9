"""A request id: the same id gives the same stored answer, charged once, whatever crashed in between."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.ledger import Ledger
from reticent.study.release import Release
from tests.support.cli_kit import run
from tests.support.ledger_kit import eps, forked, joined

STUDY = """
[study]
title = "clinic é"
source = "rows.csv"
ledger = "rows.ledger"

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "2"

[columns.x]
kind = "integer"
low = 0
high = 9

[[release]]
name = "table 4"
epsilon = "0.5"
ask = ["count", "mean(x)"]
request_id = "november"
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rt.Study:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x\n" + "1\n5\n9\n" * 40)
    (tmp_path / "study.toml").write_text(STUDY)
    return rt.open(tmp_path / "study.toml")


def ask(study: rt.Study, epsilon: str = "0.5", **more: object) -> Release:
    return study.release(["count", "mean(x)"], epsilon=epsilon, record=rt.Record(request_id="r1", **more))  # type: ignore[arg-type]


def test_the_same_id_gives_the_same_answer_and_is_charged_once(study: rt.Study, tmp_path: Path) -> None:
    first = ask(study)
    assert not first.stored
    assert "given again" not in repr(first) + first._repr_html_()
    for again in (ask(study), ask(rt.open(tmp_path / "study.toml"))):
        assert again.stored
        for told in (repr(again), again._repr_html_(), repr(pickle.loads(pickle.dumps(again)))):
            assert "stored answer of r-0001, given again: nothing was charged this time" in told
        assert again.certificate.document == first.certificate.document
        assert [cell.outcome for answer in again.answers for cell in answer] == [
            cell.outcome for answer in first.answers for cell in answer
        ]
        assert again.certificate.verify(tmp_path / "rows.ledger", allow_unsigned=True).ok
    assert study.ledger.spent() == eps("1/2")
    study.release(["count"], epsilon="1.5")
    (tmp_path / "rows.csv").unlink()  # no row is read, and no budget is needed
    assert ask(study).receipt == first.receipt


@pytest.mark.wide
def test_another_question_under_the_id_is_refused_in_words(study: rt.Study) -> None:
    ask(study)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: ask(study, "0.25"),
        lambda: ask(study.where("x > 2")),
        lambda: study.release(["count"], epsilon="0.5", record=rt.Record(request_id="r1")),
        lambda: study.by(rt.col("x") > 4).release(["count"], epsilon="0.5", record=rt.Record(request_id="r1")),
    )
    for attempt in attempts:
        with pytest.raises(rt.Refusal) as refusal:
            attempt()
        assert "charged" in str(refusal.value)
    with pytest.raises(rt.LedgerError, match="used for another request, r-0001"):
        ask(study, "0.25")
    ask(study, who="anna")  # an id belongs to whoever asks
    assert study.ledger.spent() == eps(1)


@pytest.mark.parametrize(
    ("asked", "changed"),
    [
        ("mean(x)", {"x": rt.real(0, 5)}),
        ("mean(x)", {"x": rt.real(0, 9, missing=0)}),
        ("proportion(g, value=a)", {"g": rt.category(["a", "b", "c"])}),
        ("mean(x) where k > 1 by month(d)", {"k": rt.integer(0, 8)}),
        ("mean(x) by month(d)", {"d": rt.date("2024-01-01", "2025-12-31")}),
        ("median(y)", {"y": rt.real(0, 100)}),
        ("mean(a)", {"a": rt.real(0, "auto", missing=0)}),
    ],
)
def test_an_answer_of_other_bounds_is_not_given_again(asked: str, changed: dict[str, Any], tmp_path: Path) -> None:
    lines = (
        f"{nth % 9},{nth % 50},{nth % 70},{'ab'[nth % 2]},{nth % 3},2024-0{1 + nth % 9}-11,w{nth % 2}"
        for nth in range(2_000)
    )
    (tmp_path / "t.csv").write_text("\n".join(["x,a,y,g,k,d,t", *lines]))
    declared: dict[str, Any] = {"x": rt.real(0, 9), "y": rt.real(), "g": rt.category(["a", "b"])}
    declared |= {"k": rt.integer(0, 9)} | ({"a": rt.real(0, "auto")} if "a" in changed else {})
    declared |= {"d": rt.date("2024-01-01", "2024-12-31"), "t": rt.text(longest=9)}

    beside = "count" if "a" in changed else "count by t keys=found"  # keys are not found beside chosen bounds

    def again(**columns: Any) -> Release:
        made = rt.study(
            tmp_path / "t.csv",
            adjacency="add_remove",
            columns=declared | columns,
            budget=9,
            delta="0.001",
            ledger=tmp_path / "t.ledger",
        )
        record = rt.Record(request_id="r1")
        return made.release([asked, beside], epsilon=4, delta="1e-6", record=record)

    assert not again().stored
    reasons = {"x": rt.real(0, 9, why="known", unit="m"), "t": rt.text(longest=9, why="free")}
    assert again(**({} if "x" in changed else reasons)).stored
    with pytest.raises(rt.LedgerError, match=f"when {next(iter(changed))} had another declaration"):
        again(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        *({"rows_each": 2}, {"na": ["9"]}, {"decimal": ","}, {"encoding": "latin-1"}),
        *(
            {"columns": {"x": rt.real(0, 9, resolution=1), "g": rt.category(["a"])}},
            {"columns": {"x": rt.real(0, 9), "g": rt.category(["a"], constant=True)}},
        ),
    ],
)
def test_an_answer_of_another_cap_or_notation_is_not_given_again(changed: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,x,g\n" + "".join(f"p{nth % 90},{nth % 10},a\n" for nth in range(300)))

    def again(**terms: Any) -> Release:
        told: dict[str, Any] = {"rows_each": 3, "columns": {"x": rt.real(0, 9), "g": rt.category(["a"])}}
        made = rt.study(
            tmp_path / "t.csv",
            adjacency="add_remove",
            person="who",
            budget=9,
            ledger=tmp_path / "t.ledger",
            **told | terms,
        )
        return made.release(["mean(x)"], epsilon=1, record=rt.Record(request_id="r1"))

    assert not again().stored
    assert again().stored
    with pytest.raises(rt.LedgerError, match="used for another request"):
        again(**changed)


def test_an_id_that_is_none_is_refused(study: rt.Study) -> None:
    for wrong in ("", "x" * 201, 7):
        with pytest.raises(rt.PublicParameterError, match="request_id is text"):
            study.release(["count"], epsilon="0.5", record=rt.Record(request_id=wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("stage", ["read", "draw", "commit"])
def test_a_crash_after_the_charge_says_what_was_charged_and_charges_no_more(study: rt.Study, stage: str) -> None:
    def kill(now: str) -> None:
        if now == stage:
            os.kill(os.getpid(), signal.SIGKILL)

    assert joined([forked(lambda: print(ask(replace(study, on_stage=kill))))]) == [-signal.SIGKILL]
    with pytest.raises(rt.LedgerError, match=r"r-0001 was charged ε 0\.5 under this request id .* no answer yet"):
        ask(study)
    assert study.ledger.spent() == eps("1/2")
    assert study.release(["count", "mean(x)"], epsilon="0.5", record=rt.Record(request_id="r2")).receipt == "r-0002"


def test_a_crash_before_the_charge_leaves_the_id_free(study: rt.Study) -> None:
    def kill(now: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    assert joined([forked(lambda: print(ask(replace(study, on_stage=kill))))]) == [-signal.SIGKILL]
    assert ask(study).receipt == "r-0001"


def test_a_fault_is_the_same_fault_again(study: rt.Study, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"x\n" + b"1\n" * 50 + b'"open')

    def spoil(now: str) -> None:
        if now == "draw":
            raise RuntimeError

    for of in (replace(study, on_stage=spoil), study):
        with pytest.raises(rt.Fault, match="f-0001"):
            ask(of)
    assert study.ledger.spent() == eps("1/2")


def test_processes_that_ask_at_once_are_charged_once(study: rt.Study, tmp_path: Path) -> None:
    def child() -> None:
        try:
            ask(rt.open(tmp_path / "study.toml"))
        except rt.LedgerError as running:
            os._exit(0 if "no answer yet" in str(running) else 3)

    assert joined([forked(child) for _ in range(4)]) == [0] * 4
    assert study.ledger.spent() == eps("1/2")
    assert ask(study).receipt == "r-0001"


@pytest.mark.parametrize("change", ["UPDATE answers SET text = replace(text, '0.5', '0.6')", "DELETE FROM answers"])
def test_a_changed_answer_is_noticed(study: rt.Study, tmp_path: Path, change: str) -> None:
    ask(study)
    with sqlite3.connect(tmp_path / "rows.ledger") as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(rt.LedgerError, match="gone or was changed"):
        ask(study)
    assert Ledger.open(tmp_path / "rows.ledger").verify() == ("the stored answer of r-0001 is gone or was changed",)
    assert study.ledger.spent() == eps("1/2")


@pytest.mark.wide
def test_the_file_the_command_line_and_sql_take_an_id(study: rt.Study, tmp_path: Path) -> None:
    for out in ("a", "b"):
        assert run("release", "study.toml", "--yes", "--out", out).code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert study.ledger.spent() == eps("1/2")
    for out in ("c", "d"):
        asked = ("--ask", "count", "--epsilon", "0.5", "--request-id", "x", "--yes", "--out", out)
        assert run("release", "study.toml", *asked).code == 0
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()
    made = [study.sql("SELECT COUNT(*) FROM study", epsilon="0.5", record=rt.Record(request_id="y")) for _ in range(2)]
    assert made[0].release.certificate.digest == made[1].release.certificate.digest
    assert study.ledger.spent() == eps("3/2")


def test_a_stored_answer_leaves_its_files_as_they_are(study: rt.Study, tmp_path: Path) -> None:
    asked = ("release", "study.toml", "--ask", "count", "--epsilon", "0.5", "--request-id", "x", "--yes")
    assert run(*asked).code == 0
    (tmp_path / "r-0001.html").write_text("withdrawn")
    (tmp_path / "r-0001.svg").unlink()
    assert [run(*asked).code for _ in range(2)] == [0, 0]
    assert {path.name for path in tmp_path.glob("r-*")} == {
        f"r-0001{end}" for end in (".csv", ".json", ".html", ".svg")
    }
    assert (tmp_path / "r-0001.html").read_text() == "withdrawn"
    (tmp_path / "r-0001.json").write_text("of somebody else")
    assert [run(*asked).code for _ in range(2)] == [0, 0]
    assert (tmp_path / "r-0001.json").read_text() == "of somebody else"
    assert len([*tmp_path.glob("?*-r-0001.json")]) == 1  # behind the name of the table
    assert study.ledger.spent() == eps("0.5")


def test_made_up_rows_come_again_from_the_stored_density(study: rt.Study) -> None:
    first = study.synthesize(["x"], epsilon="0.5", record=rt.Record(request_id="rows"))
    again = study.synthesize(["x"], epsilon="0.5", record=rt.Record(request_id="rows"), rows=7)
    assert (again.certificate.digest, len(again)) == (first.certificate.digest, 7)
    assert study.ledger.spent() == eps("0.5")
    with pytest.raises(rt.LedgerError, match="used for another request"):
        study.synthesize(["x"], epsilon="0.4", record=rt.Record(request_id="rows"))


def test_a_session_says_which_verbs_take_an_id_or_an_audit(study: rt.Study) -> None:
    for about in (rt.Record(request_id="s"), rt.Record(audit="quick")):
        with pytest.raises(rt.QuestionError, match=r"study\.release, study\.sql and study\.synthesize do"):
            study.sparse_vector(["x"], epsilon=1, positives=1, record=about)
    with pytest.raises(rt.QuestionError, match=r"study\.release, study\.sql and study\.synthesize do"):
        study.sparse_vector(["x"], epsilon=1, positives=1, request_id="s")  # type: ignore[call-arg]


@pytest.mark.parametrize("verb", ["release", "sql", "synthesize"])
def test_an_option_that_moved_into_the_record_says_so(study: rt.Study, verb: str) -> None:
    asked = {"release": ["count"], "sql": "SELECT COUNT(*) FROM study", "synthesize": ["x"]}[verb]
    with pytest.raises(rt.QuestionError, match=r"record=rt\.Record\(request_id=…\)"):
        getattr(study, verb)(asked, epsilon=1, request_id="s")
    assert study.ledger.spent() == eps(0)


@pytest.mark.wide
@pytest.mark.parametrize(
    "typed",
    [
        ("sql", "study.toml", "SELECT AVG(x) FROM study", "--out", "one"),
        ("synth", "study.toml", "--columns", "x", "--out", "one.csv"),
    ],
    ids=["sql", "synth"],
)
def test_a_verb_asked_again_under_its_id_is_charged_once(study: rt.Study, typed: tuple[str, ...]) -> None:
    made = [run(*typed, "--epsilon", "0.5", "--request-id", "n", "--yes", "--force") for _ in range(2)]
    assert [one.code for one in made] == [0, 0]
    assert ["nothing was charged this time" in one.said + one.out for one in made] == [False, True]
    assert ["is left" in one.said + one.out for one in made] == [True, False]  # what was left then may be spent by now
    assert study.ledger.spent() == eps("0.5")


def test_a_selection_given_again_says_that_nothing_was_charged(study: rt.Study) -> None:
    made = [study.sql("SELECT AVG(x) FROM study", epsilon="0.5", record=rt.Record(request_id="n")) for _ in range(2)]
    for told in ([repr(one) for one in made], [one._repr_html_() for one in made]):
        assert ["nothing was charged this time" in text for text in told] == [False, True]


def test_a_prompt_takes_no_id(study: rt.Study) -> None:
    assert run("sql", "study.toml", "--request-id", "n").code == 2


def test_an_answer_of_another_table_or_file_is_not_given_again(tmp_path: Path) -> None:
    """They are under one ledger: a table of a database file, and one file of a pattern."""
    import sqlite3

    import pyarrow as pa
    import pyarrow.parquet as pq

    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        for name in "ab":
            made.execute(f"CREATE TABLE {name} (x REAL)")
            made.executemany(f"INSERT INTO {name} VALUES (?)", [(float(nth % 9),) for nth in range(300)])
        made.commit()
    for name in "ab":
        pq.write_table(pa.table({"x": [float(nth % 9) for nth in range(300)]}), tmp_path / f"{name}.parquet")

    def again(source: str, **terms: Any) -> Release:
        ledger = tmp_path / ("database.ledger" if ".db" in source else "files.ledger")
        told: dict[str, Any] = {"columns": {"x": rt.real(0, 9)}, "budget": 9, "ledger": ledger}
        study = rt.study(source, adjacency="add_remove", **told | terms)
        return study.release(["mean(x)"], epsilon=1, record=rt.Record(request_id="r1"))

    for first, other in (("sqlite:///{}/a.db?table=a", "sqlite:///{}/a.db?table=b"), ("{}/*.parquet", "{}/a.parquet")):
        assert not again(first.format(tmp_path)).stored
        assert again(first.format(tmp_path)).stored
        with pytest.raises(rt.LedgerError, match="used for another request"):
            again(other.format(tmp_path))
        with pytest.raises(rt.LedgerError, match="another declaration"):
            again(first.format(tmp_path), people=300)


def test_a_file_of_two_delimiters_has_two_answers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,a;x;b\n" + "1,1;9;3\n" * 300)

    def again(delimiter: str) -> Release:
        told: dict[str, Any] = {"columns": {"x": rt.real(0, 9)}, "budget": 9, "ledger": tmp_path / "t.ledger"}
        study = rt.study(tmp_path / "t.csv", adjacency="add_remove", delimiter=delimiter, **told)
        return study.release(["mean(x)"], epsilon=1, record=rt.Record(request_id="r1"))

    assert not again(",").stored
    with pytest.raises(rt.LedgerError, match="used for another request"):
        again(";")
