"""Parquet folders that name columns, ``year=2013/month=1``: declared, read and counted for like one file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.data.source import names_of
from tests.support.cli_kit import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for month, size in (("1", 100), ("2", 300), ("__HIVE_DEFAULT_PARTITION__", 50)):
        place = tmp_path / "flights" / "carrier=A%20B" / f"month={month}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"who": [f"{month}-{n}" for n in range(size)], "x": [1.0] * size}), place / "0.parquet")
    return tmp_path


def study(place: str, ledger: str = "first.ledger", **more: Column) -> rt.Study:
    return rt.study(
        place,
        person="who",
        rows_each=1,
        adjacency="add_remove",
        budget=90,
        override="made-up rows",
        ledger=ledger,
        columns={"x": rt.real(0, 2), "month": rt.integer(1, 12), **more},
    )


def test_folders_name_columns(folder: Path) -> None:
    pattern = str(folder / "flights" / "**" / "*.parquet")
    opened = study(pattern, carrier=rt.category(["A B", "C"]))
    asked = ["count by month", "count by carrier", "count where month is missing", "mean(month)"]
    release = opened.release(asked, epsilon=60, record=rt.Record(override="made-up rows"))
    months = [round(cell.outcome.value.value, -1) for cell in release["count by month"]]  # type: ignore[union-attr]
    assert months[:3] == [100, 300, 0]
    assert round(release["count where month is missing"].value, -1) == 50
    assert round(next(iter(release["count by carrier"])).outcome.value.value, -1) == 450  # type: ignore[union-attr]
    assert abs(release["mean(month)"].value - 1.75) < 0.05
    assert list(names_of(Path(pattern))) == ["who", "x", "carrier", "month"]
    with pytest.raises(rt.LedgerError, match="already under"):  # every file of the pattern is under the first ledger
        study("flights/carrier=A%20B/month=2*/*.parquet", "second.ledger")


def test_only_folders_below_the_fixed_part_name_columns(folder: Path) -> None:
    with pytest.raises(rt.SpecError, match="no column 'month'"):
        study(str(folder / "flights" / "carrier=A%20B" / "month=2" / "*.parquet"))
    opened = study(str(folder / "flights" / "carrier=A%20B" / "*" / "*.parquet"))
    assert abs(opened.release(["count"], epsilon=9)["count"].value - 450) < 20


def test_init_names_the_columns_of_folders(folder: Path) -> None:
    done = run("init", "flights/**/*.parquet", "--out", "flights.toml")
    assert done.code == 0, done.err
    assert "month" in (folder / "flights.toml").read_text("utf-8")
