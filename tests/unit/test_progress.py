"""Progress: rows and time left at a terminal alone, after two seconds, and nothing of it stays."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest

import reticent as rt
from reticent.cli import progress
from reticent.cli.output import Voice
from reticent.cli.progress import Progress, clock, line
from reticent.cli.release import watched as watched_by
from reticent.data.columns import Reading
from reticent.data.format import Format
from reticent.data.query import Rows
from reticent.data.schema import Person, Schema, real
from reticent.data.table import open_table
from reticent.demo.run import prepare, publish
from reticent.study.study import Study


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_has_a_bar_where_the_whole_is_known() -> None:
    assert line(65.2, 0, 0.0) == "1:05"
    assert line(10, 1_200_000, 0.25) == f"{'█' * 6}{'░' * 18}  25%  1,200,000 rows  0:30 left"
    assert clock(59.6) == "1:00"


def test_it_is_drawn_after_a_while_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.001)
    stream = Terminal()
    bar = Progress(stream)
    bar.stage("read … ")
    bar.rows(7, 0.5)
    until = time.monotonic() + 10
    while "7 rows" not in stream.getvalue() and time.monotonic() < until:
        time.sleep(0.001)
    bar.stop()
    assert "50%  7 rows" in stream.getvalue()
    assert stream.getvalue().endswith("read … ")


def test_nothing_is_drawn_of_a_short_run() -> None:
    stream = Terminal()
    bar = Progress(stream)
    bar.stage("read … ")
    bar.stop()
    assert stream.getvalue() == "read … "


def test_work_without_stages_is_named_at_a_terminal_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.001)
    for stream, quiet, told in ((Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)):
        monkeypatch.setattr("sys.stderr", stream)
        with Voice(quiet=quiet).waiting("planning"):
            until = time.monotonic() + 10
            while told and "planning … 0:00" not in stream.getvalue() and time.monotonic() < until:
                time.sleep(0.001)
            if not told:
                time.sleep(0.02)
        assert ("planning … 0:00" in stream.getvalue()) is told
        assert stream.getvalue().endswith("\r\x1b[K" if told else "")
        assert bool(stream.getvalue()) is told


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_only_a_terminal_that_is_not_quiet_is_told_of_rows(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    assert Voice().at_terminal is stream.isatty()
    assert not Voice(quiet=True).at_terminal
    voice = Voice(quiet=True)
    voice.stage("read")
    voice.rows(5, 0.5)
    voice.end_line()
    assert stream.getvalue() == ""


def test_whoever_watches_a_table_is_told_of_all_its_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 150_000)
    seen: list[tuple[int, float]] = []
    table = open_table(
        tmp_path / "t.csv", Schema({"x": real()}, Person("add_remove")), seen=lambda *told: seen.append(told)
    )
    table.run([Rows()], bytes(32))
    assert seen[-1] == (150_000, 1.0)
    assert [count for count, _ in seen] == sorted(count for count, _ in seen)
    assert "0." not in repr(Reading(0.5))


def test_an_audit_tells_which_share_of_it_is_done() -> None:
    seen: list[tuple[int, float]] = []
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=2)
    audited = replace(study, on_rows=lambda *told: seen.append(told)).audit(["sum(x)"], epsilon=1, triples=6)
    assert audited.triples == 6
    assert [count for count, _ in seen] == [0] * 6
    assert [share for _, share in seen] == [pytest.approx(done / 6) for done in range(1, 7)]


@pytest.mark.wide
def test_the_demonstration_tells_its_stages_and_rows(tmp_path: Path) -> None:
    stages: list[str] = []
    shares: list[float] = []

    def watched(study: Study) -> Study:
        return replace(study, on_stage=stages.append, on_rows=lambda _, share: shares.append(share))

    publish(prepare(tmp_path / "demo"), watched)
    assert stages == ["reserve", "read", "draw", "commit"]
    assert shares[-1] == 1.0


QUOTED = '2,"two\nlines",5\n'
MANY = '3,"' + "line\n" * 200 + '",6\n'


@pytest.mark.parametrize("encoding", ["utf-8", "iso8859-1"])
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1,a,2\n" * 300, False),
        ("1,a,2\n" * 300 + "4,b,3", False),  # no end of its last line
        (QUOTED * 300, False),
        (QUOTED * 300 + '5,"closed",1', False),
        (QUOTED + "1,a,2\n" * 50 + '5,"open,1\n' + "1,a,2\n" * 3, True),
        (QUOTED + '5,"open', True),
        ("1,a,2\n" + MANY + "1,a,2\n", True),
        ('5,"' + "long" * 50_000 + "\n", True),
        ('5,"' + "long" * 50_000 + '",3\n', False),
    ],
)
def test_the_curator_is_told_of_a_quote_that_takes_in_lines(
    rows: str, told: bool, encoding: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("k,note,x\n" + rows, "utf-8")
    seen: list[bool] = []
    schema = Schema({"x": real()}, Person("add_remove"), format=Format(encoding))
    table = open_table(tmp_path / "t.csv", schema, swallowed=lambda: seen.append(True))
    table.run([Rows()], bytes(32))
    assert bool(seen) is told


def test_only_a_terminal_is_told_of_a_quote_and_a_quiet_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=2)
    for stream, told in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        for voice in (Voice(), Voice(quiet=True)):
            callback = watched_by(study, voice).on_swallowed
            assert (callback is not None) is told
            if callback is not None:
                callback()
            voice.receipt("r-0001")
        assert stream.getvalue().count("never closed") == 2 * told
