"""Parquet folders that name columns, ``year=2013/month=1``: declared, read and counted for like one file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.data.source import names_of
from reticent.study.condition import examined
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


def visits(folder: Path) -> list[str]:
    """Files of two days, of which one has visits without a ward."""
    made = []
    for day, ward, code in (("2024-01-01", "3", "a"), ("2024-02-29", "__HIVE_DEFAULT_PARTITION__", "7")):
        place = folder / "visits" / f"day={day}" / f"ward={ward}" / f"code={code}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"who": [f"{day}-{n}" for n in range(90)], "x": [1.0] * 90}), place / "0.parquet")
        made.append(str((place / "0.parquet").relative_to(folder)))
    return made


def test_init_tells_days_and_whole_numbers_of_folders_from_texts(folder: Path) -> None:
    visits(folder)
    assert run("init", "visits/**/*.parquet", "--out", "v.toml").code == 0
    written = (folder / "v.toml").read_text("utf-8")
    kinds = {name: written.split(f"[columns.{name}]\n")[1].splitlines()[0] for name in ("day", "ward", "code")}
    assert kinds == {"day": 'kind = "date"', "ward": 'kind = "integer"', "code": 'kind = "category"'}
    assert "2024-0" not in written  # what folders hold is as private as rows
    days = {"day": rt.date("2024-01-01", "2024-12-31")}
    opened = rt.study("visits/**/*.parquet", person="who", rows_each=1, adjacency="add_remove", budget=9, columns=days)
    assert abs(opened.release(["count where day >= 2024-02-01"], epsilon=9).answers[0].outcome.value.value - 90) < 10  # type: ignore[union-attr]


def test_init_of_a_pattern_that_the_shell_spread_asks_for_quotes(folder: Path) -> None:
    done = run("init", *visits(folder), "--out", "v.toml")
    assert done.code == 5
    assert "These 2 Parquet files have the same columns" in done.said
    assert not (folder / "v.toml").exists()


def test_a_pattern_of_folders_alone_needs_a_name_for_the_study_file(folder: Path) -> None:
    assert "say --out STUDY.toml" in run("init", "flights/carrier=*/month=1/0.parquet").said


@pytest.mark.parametrize("pattern", ["visits/**/*.parquet", "visits/day=*/ward=*/code=*/0.parquet"])
def test_a_study_file_of_a_pattern_passes_its_checks(folder: Path, pattern: str) -> None:
    visits(folder)
    (folder / "v.toml").write_text(
        f'[study]\nsource = "{pattern}"\nledger = "v.ledger"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n'
        '[budget]\nepsilon = "1"\n[columns.x]\nkind = "real"\nlow = 0\nhigh = 2\n'
    )
    assert run("check", "v.toml").code == 0
    found = {one.about: one.state for one in examined(folder / "v.toml")}
    assert found["header"] == "ok"
    assert found.get("source") != "failed"
    last = sorted((folder / "visits").rglob("*.parquet"))[-1]
    whole = last.read_bytes()
    for damaged, said in (
        (whole[:-9], "0.parquet is not a Parquet file, or its footer is damaged."),
        (whole[:40] + whole[41:], "0.parquet is damaged: its footer tells of rows that it lacks."),
    ):
        last.write_bytes(damaged)
        assert run("check", "v.toml").code == 5
        assert [one.words for one in examined(folder / "v.toml") if one.about == "header"] == [
            f"{said} No row was read."
        ]
