"""Time and memory from the size of a file: told and refused at the curator's terminal alone, before the charge."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import reticent as rt
from reticent.cli import release
from reticent.cli.options import PublicGuess
from reticent.cli.output import Voice
from reticent.cli.plan import _say_size
from reticent.cli.release import ask_first, planner, refuse_too_large
from reticent.errors import SpecError
from reticent.study.memory_forecast import memory_of
from reticent.study.size_forecast import is_small, size_forecast
from reticent.study.study import Study

ROWS = 100_000
STUDY = """
[study]
source = "{source}"
ledger = "visits.ledger"
[engine]
memory = "{memory}"
spill = "1MB"
[person]
column = "who"
rows = {{ at_most = 3 }}
adjacency = "add_remove"
people = 1000
[budget]
epsilon = "2"
[columns.x]
kind = "real"
low = 0
high = 100
[[release]]
name = "visits"
ask = ["mean(x)", "count"]
epsilon = "1"
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _csv(folder: Path, table: pa.Table) -> str:
    pyarrow.csv.write_csv(table, folder / "v.csv")
    return "v.csv"


def _gz(folder: Path, table: pa.Table) -> str:
    written = io.BytesIO()
    pyarrow.csv.write_csv(table, written)
    (folder / "v.csv.gz").write_bytes(gzip.compress(written.getvalue()))
    return "v.csv.gz"


def _parquet(folder: Path, table: pa.Table) -> str:
    for name, part in (("v1.parquet", table.slice(0, 5)), ("v2.parquet", table.slice(5))):
        pyarrow.parquet.write_table(part, folder / name)
    return "v*.parquet"


def _json(folder: Path, table: pa.Table) -> str:
    (folder / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), "utf-8")
    return "v.jsonl"


WRITERS = (_csv, _gz, _parquet, _json)


def opened(folder: Path, write: Callable[[Path, pa.Table], str] = _parquet, memory: str = "20MB") -> Study:
    table = pa.table(
        {
            "who": [f"p{row % 5000}" for row in range(ROWS)],
            "x": [(7 * row % 1000) / 10 for row in range(ROWS)],
        }
    )
    file = folder / "s.toml"
    file.write_text(STUDY.format(source=write(folder, table), memory=memory), "utf-8")
    return rt.open(file)


@pytest.mark.parametrize("write", WRITERS)
def test_rows_are_told_from_the_size_within_a_factor_of_three(
    write: Callable[[Path, pa.Table], str], tmp_path: Path
) -> None:
    study = opened(tmp_path, write)
    found = size_forecast(study, study.plan(["mean(x)"], epsilon=1))
    assert found is not None
    assert ROWS / 3 < found.rows < ROWS * 3
    assert (found.rows == ROWS) == (write is _parquet)  # a footer tells
    assert str(ROWS) not in repr(found)


def test_a_release_that_cannot_fit_is_refused_at_a_terminal_before_the_charge_and_fits_with_other_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path, memory="2MB")
    (item,) = study.spec.releases
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(SpecError, match=r"spill=1GB\. Nothing was charged") as refused:
        refuse_too_large(Voice(), study, planner(Voice(), study, item, PublicGuess()))
    assert "100,000 rows" in str(refused.value)
    assert not (tmp_path / "visits.ledger").exists()
    quiet = Voice(as_json=True)  # a document is kept, and would tell the size
    refuse_too_large(quiet, study, planner(quiet, study, item, PublicGuess()))
    larger = opened(tmp_path, memory="20MB")
    refuse_too_large(Voice(), larger, planner(Voice(), larger, item, PublicGuess()))


def test_a_release_of_a_large_file_at_a_terminal_is_planned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, plans = opened(tmp_path, memory="20MB"), list[object]()
    (item,) = study.spec.releases
    plain = Study.plan

    def counted(self: Study, *asked: Any, **told: Any) -> object:
        plans.append(asked)
        return plain(self, *asked, **told)

    monkeypatch.setattr(Study, "plan", counted)
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}", Terminal())
    monkeypatch.setattr(release, "confirm", lambda question, *, yes: None)
    monkeypatch.setattr(sys.modules["reticent.study.size_forecast"], "is_small", lambda study: False)
    planned = planner(Voice(), study, item, PublicGuess())
    refuse_too_large(Voice(), study, planned)
    ask_first(Voice(), study, item, rt.Record(), planned)
    assert len(plans) == 1


def test_nobody_but_the_terminal_of_the_curator_is_told_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path, memory="2MB")
    (item,) = study.spec.releases
    made = study.plan(list(item.ask), epsilon=item.epsilon)
    for stream, told in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        _say_size(Voice(), study, made)
        assert ("100,000 rows" in " ".join(stream.getvalue().split())) == told
        if not told:
            refuse_too_large(Voice(), study, planner(Voice(), study, item, PublicGuess()))
    (tmp_path / "more").mkdir()
    fewer = opened(tmp_path / "more")
    assert made.to_json() == fewer.plan(list(item.ask), epsilon=item.epsilon).to_json()


def test_a_plan_tells_memory_from_declared_people_whatever_the_file_holds(tmp_path: Path) -> None:
    study = opened(tmp_path)
    few, many = (study.plan(["mean(x)"], epsilon=1, people=people) for people in (1_000, 50_000_000))
    assert few.memory is not None
    assert many.memory is not None
    assert many.memory > 10**9 > few.memory
    assert "of memory" in many.footnote()
    assert "of memory" not in few.footnote()
    held = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=2)
    assert held.plan(["mean(x)"], epsilon=1).memory is None


def test_a_small_table_fits_the_least_limits(tmp_path: Path) -> None:
    """The program itself takes more, and no part of what the engine is allowed."""
    pyarrow.parquet.write_table(pa.table({"who": ["a"], "x": [1.0]}), tmp_path / "v.parquet")
    (tmp_path / "s.toml").write_text(STUDY.format(source="v.parquet", memory="1MB"), "utf-8")
    study = rt.open(tmp_path / "s.toml")
    assert is_small(study)
    found = size_forecast(study, study.plan(["mean(x)"], epsilon=1))
    assert found is not None
    assert found.fits


def test_more_rows_columns_and_texts_take_more_memory(tmp_path: Path) -> None:
    schema = opened(tmp_path).schema
    assert memory_of([], schema, ["x"], 1_000) < memory_of([], schema, ["x"], 2_000)
    assert memory_of([], schema, [], 1_000) < memory_of([], schema, ["x"], 1_000)
