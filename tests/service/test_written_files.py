"""Files that a release writes: never the table it was made from, under any name, and where --out says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import reticent as rt
from reticent.errors import SpecError
from reticent.study.release_files import CELLS, KNOWN
from tests.support.cli_kit import clinic, run

ASK = ("--ask", "count", "--epsilon", "0.1")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return clinic(tmp_path)


@pytest.mark.parametrize("out", ["clinic", "other", "link"])
def test_the_rows_are_never_overwritten_not_even_by_force(out: str, study: Path) -> None:
    rows = Path("clinic.csv").read_bytes()
    os.link("clinic.csv", "other.csv")
    os.symlink("clinic.csv", "link.csv")
    for force in ((), ("--force",)):  # without it no words may propose it
        refused = run("release", study.name, *ASK, "--out", out, *force)
        assert (refused.code, "--force" in refused.said) == (5, False), refused.said
        assert "never overwritten" in refused.said
        assert "Nothing was charged" in refused.said
    assert Path("clinic.csv").read_bytes() == rows
    assert not Path("clinic.ledger").exists()


def test_rows_of_further_tables_and_of_synth_are_kept_too(study: Path) -> None:
    Path("patients.csv").write_text("pid,sex\ncanary-7731-0,f\n", "utf-8")
    joined = '\n[tables.patients]\nsource = "patients.csv"\nperson = "pid"\n'
    joined += '[tables.patients.columns.sex]\nkind = "category"\namong = ["f", "m"]\n'
    study.write_text(study.read_text("utf-8") + joined, "utf-8")
    for out in ("patients.csv", "clinic.csv"):
        refused = run("synth", study.name, "--ask", "density(age)", "--epsilon", "1", "--out", out, "--force")
        assert (refused.code, "never overwritten" in refused.said) == (5, True), refused.said
    assert "canary" in Path("patients.csv").read_text("utf-8")


@pytest.mark.wide
def test_save_keeps_rows_that_are_under_a_ledger(study: Path) -> None:
    rows = Path("clinic.csv").read_bytes()
    made = rt.open(study).release(["count", rt.density("age")], epsilon="1")
    for write in (
        lambda: made.save("clinic"),
        lambda: made.synthetic(rows=5).to_csv("clinic.csv"),
        lambda: made.synthetic(rows=5).to_parquet("clinic.csv"),
        lambda: made.synthetic(rows=5).to_csv("clinic.ledger"),
    ):
        with pytest.raises(SpecError, match="never overwritten"):
            write()
    assert Path("clinic.csv").read_bytes() == rows
    assert not Path("clinic.json").exists()  # nothing of it was written
    assert len(made.save("answers")) == len(made.save("answers")) == 4  # its own files it replaces


def test_an_ending_of_out_is_no_part_of_the_stem(study: Path) -> None:
    done = run("release", study.name, *ASK, "--out", "t.csv", "--xlsx")
    assert done.code == 0, done.said
    assert {path.name for path in Path().glob("t.*")} == {"t.csv", "t.json", "t.html", "t.svg", "t.xlsx"}
    done = run("sql", study.name, "SELECT COUNT(*) FROM study", "--epsilon", "0.1", "--out", "v1.2")
    assert Path("v1.2.csv").exists(), done.said  # no ending of ours
    assert run("release", study.name, *ASK, "--out", "b.XLSX").code == 0
    assert {path.name for path in Path().glob("b.*")} == {"b.csv", "b.json", "b.html", "b.svg", "b.xlsx"}


@pytest.mark.parametrize("ending", [one for one in KNOWN if one != CELLS])
def test_a_name_with_an_ending_is_the_file_that_is_saved(ending: str, study: Path, tmp_path: Path) -> None:
    """``save("out.xlsx")`` wrote out.xlsx.csv and three more, and no workbook."""
    made = rt.open(study).release(["count"], epsilon="0.1")
    assert made.save(tmp_path / f"one{ending}") == (tmp_path / f"one{ending}",)
    assert made.save(f"{tmp_path}/two", files=ending.removeprefix(".")) == (tmp_path / f"two{ending}",)
    assert {path.name for path in tmp_path.glob("*o*") if path.stem in ("one", "two")} == {
        f"one{ending}",
        f"two{ending}",
    }


def test_a_name_with_one_ending_and_files_of_others_is_refused(study: Path, tmp_path: Path) -> None:
    made = rt.open(study).release(["count"], epsilon="0.1")
    with pytest.raises(rt.PublicParameterError, match=r"out\.xlsx names one file"):
        made.save(tmp_path / "out.xlsx", files=[".csv", ".json"])
    assert not [*tmp_path.glob("out*")]
    assert made.save(tmp_path / ".csv")[0] == tmp_path / ".csv.csv"  # an ending alone is a name


@pytest.mark.parametrize("verb", [("release", *ASK), ("sql", "SELECT COUNT(*) FROM study", "--epsilon", "0.1")])
def test_a_folder_that_is_not_there_is_refused_before_the_charge(verb: tuple[str, ...], study: Path) -> None:
    refused = run(verb[0], study.name, *verb[1:], "--out", "new/")
    assert (refused.code, "There is no folder new/" in refused.said) == (5, True), refused.said
    assert not Path("clinic.ledger").exists()
    Path("new").mkdir()
    assert run(verb[0], study.name, *verb[1:], "--out", "new/").code == 0
    assert {path.name for path in Path("new").iterdir()} == {f"r-0001.{x}" for x in ("csv", "json", "html", "svg")}


def test_quiet_leaves_the_receipt_alone_on_its_line(study: Path) -> None:
    assert run("release", study.name, *ASK, "--out", "a", "--quiet").err.splitlines()[0] == "r-0001"
    assert (
        run("release", study.name, *ASK, "--out", "b").err.splitlines()[0] == "reserve … read … draw … commit   r-0002"
    )
