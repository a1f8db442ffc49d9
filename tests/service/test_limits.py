"""Limits of the engine: read before the charge, kept by the engine, and a timeout that draws nothing."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent import learning as private
from reticent.data import spark_table
from reticent.data.engines import duckdb
from reticent.data.format import Limits
from reticent.data.query import PresentValues
from reticent.data.schema import Integer, Person, Schema
from reticent.data.table import EngineFailure, Table, open_table
from tests.support.cli_kit import clinic, run
from tests.support.ledger_kit import eps

STUDY = """
[study]
title = "clinic"
source = "rows.csv"
ledger = "rows.ledger"

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "2"

[engine]
memory = "256MB"
spill = "1GB"
threads = 1
temp = "spare"

[columns.x]
kind = "integer"
low = 0
high = 9
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rt.Study:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rows.csv").write_text("x\n" + "1\n5\n9\n" * 40)
    (tmp_path / "spare").mkdir()
    (tmp_path / "study.toml").write_text(STUDY)
    return rt.open(tmp_path / "study.toml")


def test_the_engine_gets_the_limits_of_the_file(
    study: rt.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Limits] = []
    locked = duckdb._locked

    def seen(limits: Limits) -> Any:
        given.append(limits)
        return locked(limits)

    monkeypatch.setattr(duckdb, "_locked", seen)
    pickle.loads(pickle.dumps(study)).release(["count"], epsilon="0.5", limits={"timeout": 60})
    mine = Limits("256MB", "1GB", 1, str(tmp_path / "spare"))
    assert given[-1] == replace(mine, timeout=60)
    assert {replace(limits, timeout=None) for limits in given} == {mine}
    assert list((tmp_path / "spare").iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"256MB"', '"much"', "memory must be a size"),
        ('"1GB"', "1", "spill"),
        ("threads = 1", "threads = 0", "threads must be a whole number"),
        ("threads = 1", "threads = true", "threads must be a whole number"),
        ("threads = 1", "cores = 1", "cores"),
    ],
)
def test_a_limit_that_is_none_is_refused(study: rt.Study, tmp_path: Path, old: str, new: str, words: str) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(rt.Refusal, match=words):
        rt.open(tmp_path / "study.toml")


def test_a_folder_that_is_not_there_is_refused_before_the_charge(study: rt.Study, tmp_path: Path) -> None:
    (tmp_path / "spare").rmdir()
    with pytest.raises(rt.SpecError, match="temp must be a folder"):
        study.release(["count"], epsilon="0.5")
    (tmp_path / "spare").write_text("a program, and no folder")
    (tmp_path / "spare").chmod(0o755)
    with pytest.raises(rt.SpecError, match="temp must be a folder"):
        study.release(["count"], epsilon="0.5")
    assert study.ledger.spent() == eps(0)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "1", True])
def test_a_timeout_that_is_none_is_refused(study: rt.Study, timeout: Any) -> None:
    with pytest.raises(rt.PublicParameterError, match="timeout must be a number of seconds"):
        study.release(["count"], epsilon="0.5", limits={"timeout": timeout})
    assert study.ledger.spent() == eps(0)


@pytest.mark.wide
def test_what_takes_too_long_draws_nothing_and_stays_charged(study: rt.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, stages = Table._watched, list[str]()

    def slow(self: Table, *given: Any) -> Iterator[Any]:
        time.sleep(0.6)
        yield from watched(self, *given)

    def noted(name: str) -> None:
        stages.append(name)

    study.release(["mean(x)"], epsilon="0.5", limits={"timeout": 600})  # the engine has passed its test from here on
    monkeypatch.setattr(Table, "_watched", slow)
    told = replace(study, on_stage=noted)
    with pytest.raises(rt.Fault) as fault:
        told.release(["mean(x)"], epsilon="0.5", limits={"timeout": 0.5})
    broken = rt.Fault(fault.value.reference, fault.value.charged)
    assert str(fault.value) == str(broken)  # the same words for a limit and for a fault
    assert "ε 0.5 stays spent" in str(fault.value)
    assert stages[-1] == "read"
    assert study.ledger.spent() == eps(1)


def test_the_command_line_has_the_limit_on_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, release = list[Any](), rt.Study.release

    def seen(self: rt.Study, *asked: Any, **named: Any) -> Any:
        given.append((named["limits"] or {}).get("timeout"))
        return release(self, *asked, **named)

    monkeypatch.setattr(rt.Study, "release", seen)
    asked = ("release", str(clinic(tmp_path, people=40)), "--ask", "count", "--epsilon", "0.5")
    out = ("--out", str(tmp_path / "out"), "--timeout")
    assert run(*asked, *out, "0").code == 5
    assert not (tmp_path / "clinic.ledger").exists()
    assert run(*asked, *out, "600").code == 0
    assert given == [0, 600]


VERBS = {
    "release": ("--ask", "count", "--epsilon", "0.5"),
    "plan": ("--ask", "count", "--epsilon", "0.5"),
    "rehearse": ("--ask", "count", "--epsilon", "0.5"),
    "sql": ("SELECT COUNT(*) FROM study", "--epsilon", "0.5"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_has_the_words_of_the_engine(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, locked = list[Limits](), duckdb._locked

    def seen(limits: Limits) -> Any:
        given.append(limits)
        return locked(limits)

    monkeypatch.setattr(duckdb, "_locked", seen)
    file = clinic(tmp_path, people=40)
    file.write_text(file.read_text() + '\n[engine]\nspill = "1GB"\nmemory = "512MB"\n')
    out = ("--out", str(tmp_path / "out")) if verb in ("release", "sql") else ()
    words = ("--engine", "duckdb", "--engine", "memory=256MB", "--engine", "threads=1")
    found = run(verb, str(file), *VERBS[verb], *out, *words)
    assert found.code == 0, found.err
    if verb in ("release", "sql"):
        assert given[-1] == Limits(memory="256MB", spill="1GB", threads=1)
    else:
        assert not (tmp_path / "clinic.ledger").exists()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("memory=lots",), "memory must be a size"),
        (("memory=",), "--engine needs a name"),
        (("threads=0",), "threads must be a whole number"),
        (("threads=" + "9" * 5000,), "threads must be a whole number"),
        (("memroy=1GB",), "Did you mean memory?"),
        (("timeout=5",), "unknown key 'timeout'"),
        (("duck",), "Did you mean duckdb?"),
        (("postgres",), "cannot read this source"),
        (("memory=1GB", "memory=2GB"), "says memory twice"),
    ],
)
def test_a_word_of_the_engine_that_is_none_is_refused_before_the_charge(
    verb: str, words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    typed = [part for word in words for part in ("--engine", word)]
    found = run(verb, str(clinic(tmp_path, people=40)), *VERBS[verb], *typed)
    assert found.code != 0
    assert told in " ".join(found.err.split())
    assert not (tmp_path / "clinic.ledger").exists()


def test_the_time_of_all_readings_counts_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where people are counted first, an audit before the charge made a release a charged fault."""
    asked, watched, passed = [PresentValues("x")], Table._watched, [0.0]
    schema = Schema({"x": Integer(0, 9)}, Person("substitute"))
    table = open_table({"x": np.arange(9)}, schema, limits=Limits(timeout=1000))

    def slow(self: Table, *given: Any) -> Iterator[Any]:
        passed[0] += 600
        yield from watched(self, *given)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0], time_ns=time.time_ns)
    monkeypatch.setattr("reticent.data.table.time", clock)
    table.run(asked, b"k" * 32)
    passed[0] += 2000
    assert table.run(asked, b"k" * 32)[0].vectors == ((9,),)
    monkeypatch.setattr(Table, "_watched", slow)
    table.run(asked, b"k" * 32)
    with pytest.raises(EngineFailure):
        table.run(asked, b"k" * 32)


def test_a_query_that_runs_is_stopped_at_its_end() -> None:
    """The engine itself is interrupted: the product of all pairs would take far longer."""
    rows = {"x": np.arange(2_000) % 10}
    schema = rt.study(rows, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=1, title="t").schema
    table = open_table(rows, schema, limits=Limits(timeout=0.3))
    start = time.monotonic()
    pairs = "SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b"
    with pytest.raises(EngineFailure):
        table._reading(lambda engine: engine.rows(pairs), b"k" * 32)  # type: ignore[arg-type,return-value]  # any work
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("memory", ["1MB", "25MB", "49MB"])
def test_a_limit_on_memory_that_long_tables_do_not_fit_is_refused_whatever_the_rows(
    study: rt.Study, tmp_path: Path, memory: str
) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("256MB", memory))
    tight = rt.open(tmp_path / "study.toml")
    assert "Write 50MB or more" in tight.plan(["count"], epsilon="0.5").reason
    for one, limits in ((tight, None), (study, {"memory": memory})):
        with pytest.raises(rt.SpecError, match=f"memory of {memory} is too little.* Write 50MB or more"):
            one.release(["count"], epsilon="0.5", limits=limits)
    assert study.ledger.spent() == eps(0)
    tight.release(["count"], epsilon="0.5", limits={"memory": "50MB"})


@pytest.mark.parametrize(("memory", "asked", "threads"), [("50MB", 8, 1), ("2GB", 8, 8), ("90MB", None, 2)])
def test_no_more_threads_work_than_find_room_in_the_memory(
    memory: str, asked: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three threads that number the rows of persons above a cap fail in 60 MB of two million rows; one does not."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    with duckdb.DUCKDB.session(Limits(memory, threads=asked)) as session:
        assert session.rows("SELECT current_setting('threads')") == [(threads,)]


@pytest.mark.parametrize(
    ("engine", "person", "words"),
    [
        ('temp = "scratch"', "", "temp must be a folder that this program may write to"),
        (
            'partitions = "day"',
            'column = "who"\nrows = { at_most = 3 }',
            "partitions needs each row to be another person",
        ),
        ('partitions = "month"', "", "needs Parquet files in folders of that name"),
        ('name = "spark"\nspill = "1GB"', "", "spill is a limit of rows that are read here"),
    ],
)
def test_check_plan_and_release_tell_alike_what_a_release_refuses_of_its_engine(
    engine: str, person: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, folder = tmp_path / "s.toml", tmp_path / "visits" / "day=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1], "z": [1], "who": ["a"]}), folder / "a.parquet")
    text = STUDY.replace("rows.csv", "visits/day=*/*.parquet")
    text = text[: text.index("[engine]")] + f"[engine]\n{engine}\n" + text[text.index("\n[columns.x]") :]
    text += '[columns.z]\nkind = "integer"\nlow = 0\nhigh = 9\n'
    study.write_text(text.replace('rows = "one_each"', person) if person else text, "utf-8")
    told = run("check", str(study))
    assert (told.code, words in told.said) == (0, True), told.said
    opened = rt.open(study)
    plans = [
        opened.plan(["count"], epsilon=1),
        opened.session_plan("sparse_vector", ["x"], answers=2, epsilon=1),
        opened.model_plan(private.LinearRegression(epsilon=1), ["x"], "z"),
    ]
    for plan in plans:
        assert (plan.affordable, words in plan.reason, words in " ".join(repr(plan).split())) == (True, True, True)
    told = run("plan", str(study), "--ask", "count", "--epsilon", "1")
    assert (told.code, "A release of this would be refused." in told.said) == (0, True), told.said
    monkeypatch.setattr(spark_table, "started", lambda: pytest.fail("Spark was started"))
    with pytest.raises(rt.SpecError, match=f"{words}.* Nothing was read."):
        opened.release(["count"], epsilon=1)
    (tmp_path / "scratch").mkdir()
    assert (words in run("check", str(study)).said) == (words in rt.open(study).plan(["count"], epsilon=1).reason)
    assert not (tmp_path / "rows.ledger").exists()


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_what_the_ledger_alone_refuses_is_refused_before_the_rows_and_the_engine_are_opened(
    adjacency: str, study: rt.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = STUDY.replace("add_remove", adjacency) + '[columns.z]\nkind = "integer"\nlow = 0\nhigh = 9\n'
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "rows.csv").write_text("x,z\n" + "1,2\n5,3\n9,4\n" * 40)
    opened = rt.open(tmp_path / "study.toml")
    monkeypatch.setattr(type(opened), "_table", lambda *_: pytest.fail("the rows were opened"))
    monkeypatch.setattr(type(opened), "_probe", lambda *_: pytest.fail("the engine was opened"))
    for _ in range(2):  # without a ledger, and with one
        with pytest.raises(rt.BudgetError, match="is left"):
            opened.release(["mean(x)"], epsilon=3)
        with pytest.raises(rt.BudgetError, match="is left"):
            opened.sparse_vector(["x"], epsilon=3, positives=1)
        assert opened.ledger.spent() == eps(0)
    if adjacency == "substitute":  # under which a fit counts persons first
        return
    with pytest.raises(rt.BudgetError, match="is left"):
        private.LinearRegression(epsilon=3).fit(*opened.xy(["x"], "z"))


def test_a_question_that_costs_nothing_is_answered_under_an_empty_ledger(study: rt.Study, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("add_remove", "substitute"))
    opened = rt.open(tmp_path / "study.toml")
    opened.release(["mean(x)"], epsilon=2)
    assert opened.release(["count"], epsilon=1)["count"].value == 120
    with pytest.raises(rt.BudgetError):
        opened.release(["count", "mean(x)"], epsilon=1)
