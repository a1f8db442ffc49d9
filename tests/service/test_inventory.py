"""``registry`` and ``doctor``: ledgers found in a folder, and a study's condition, without reading a row."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reticent.ledger import Ledger
from reticent.study import condition
from tests.support.cli_kit import clinic, leaks, run, words

ASKED = ("--ask", "count", "--epsilon", "0.5")


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A study with one release, in a folder of its own."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    study = clinic(folder, people=40)
    os.chmod(folder / "clinic.csv", 0o600)
    os.chmod(study, 0o600)
    assert run("release", str(study), *ASKED, "--out", str(folder / "out")).code == 0
    return study


def states(study: Path) -> dict[str, str]:
    """The worst state of each thing that doctor looked at."""
    order = ["ok", "warning", "failed"]
    found: dict[str, str] = {}
    for finding in run("doctor", str(study), "--json").document["findings"]:
        found[finding["about"]] = max(found.get(finding["about"], "ok"), finding["state"], key=order.index)
    return found


# --- registry ---------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_registry_finds_every_ledger_and_who_spent_what(released: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert run("release", str(clinic(other, people=40)), *ASKED, "--out", str(other / "out")).code == 0
    (tmp_path / "pyproject.toml").write_text("[tool]\n")  # another TOML file is no study
    done = run("registry", str(tmp_path), "--json")
    assert done.code == 0
    first, second = done.document["ledgers"]
    assert Path(first["ledger"]) == released.with_suffix(".ledger").resolve()
    assert Path(first["study"]) == released
    assert Path(second["study"]).parent == other
    assert first["spenders"] == {"curator": first["budget"]["spent"]}
    shown = run("registry", str(tmp_path)).out
    assert "clinic/clinic.ledger" in shown
    assert "curator ε 0.5" in shown


def test_a_public_entry_holds_no_path_fingerprint_or_time(released: Path, tmp_path: Path) -> None:
    out = tmp_path / "public.json"
    assert run("registry", str(tmp_path), "--public", str(out)).code == 0
    text = out.read_text()
    (entry,) = json.loads(text)
    assert entry["name"] == "clinic"
    assert entry["releases"][0]["state"] == "committed"
    ledger = Ledger.open(released.with_suffix(".ledger"))
    assert ledger.source is not None
    for secret in (str(tmp_path), "clinic.csv", "clinic.ledger", *ledger.source.split(), ledger.head, ledger.identity):
        assert secret not in text
    assert ":" not in entry["releases"][0]["date"]  # a day, no time


@pytest.mark.wide
def test_the_sheet_has_a_line_for_each_request_and_no_formula(released: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(released.with_suffix(".ledger"))
    ledger.note_refusal("=HYPERLINK(1)", code="budget")
    out = tmp_path / "all.csv"
    assert run("registry", str(tmp_path), "--csv", str(out)).code == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [(row["request"], row["loss"], row["state"]) for row in rows] == [
        ("r-0001", "ε 0.5", "committed"),
        ("", "", "refused"),
    ]
    assert rows[1]["what"] == "'=HYPERLINK(1)"
    assert run("registry", str(tmp_path), "--csv", str(out)).code == 5  # nothing is overwritten


@pytest.mark.wide
def test_a_damaged_ledger_is_named_and_fails(released: Path, tmp_path: Path) -> None:
    released.with_suffix(".ledger").write_bytes(b"no ledger")
    done = run("registry", str(tmp_path))
    assert done.code == 6
    assert "FAILED" in done.out


# --- doctor -----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_study_in_order_has_nothing_but_ok(released: Path) -> None:
    done = run("doctor", str(released))
    assert done.code == 0, done.said
    assert set(states(released).values()) == {"ok"}
    assert set(states(released)) == {"study file", "header", "ledger", "clock", "claim"}
    assert leaks([done.out, done.err]) == []


@pytest.mark.wide
def test_wide_permissions_links_and_second_names_are_told(released: Path, tmp_path: Path) -> None:
    source, ledger = released.with_suffix(".csv"), released.with_suffix(".ledger")
    os.chmod(source, 0o644)
    os.chmod(ledger, 0o640)
    assert states(released)["source"] == "warning"
    assert states(released)["ledger"] == "warning"
    os.chmod(source, 0o600)
    os.chmod(ledger, 0o600)
    os.link(source, tmp_path / "again.csv")
    assert states(released)["source"] == "warning"
    (tmp_path / "again.csv").unlink()
    moved = source.rename(tmp_path / "moved.csv")
    source.symlink_to(moved)
    assert states(released)["source"] == "warning"


@pytest.mark.wide
def test_a_header_that_does_not_fit_fails_without_a_word_of_the_rows(released: Path) -> None:
    source = released.with_suffix(".csv")
    rows = source.read_text().splitlines()[1:]
    source.write_text("\n".join(["pid,age,cost", *rows]) + "\n")
    done = run("doctor", str(released))
    assert done.code == 6, done.said
    assert leaks([done.out, done.err]) == []


@pytest.mark.wide
def test_another_ledger_a_missing_source_and_other_terms_fail(released: Path) -> None:
    text = released.read_text()
    released.write_text(text.replace('epsilon = "3"', 'epsilon = "4"', 1))
    assert states(released)["terms"] == "failed"
    released.write_text(text.replace("clinic.ledger", "second.ledger"))
    Ledger.create(
        released.parent / "second.ledger",
        title="second",
        adjacency=Ledger.open(released.with_suffix(".ledger")).adjacency,
        budget=Ledger.open(released.with_suffix(".ledger")).budget,
        person="pid",
    )
    assert states(released)["claim"] == "failed"
    released.write_text(text)
    released.with_suffix(".csv").unlink()
    assert states(released)["source"] == "failed"


@pytest.mark.wide
def test_a_clock_before_the_last_entry_fails(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(released)["clock"] == "ok"
    yesterday = datetime.now(UTC) - timedelta(days=1)
    monkeypatch.setattr(condition, "_now", lambda: yesterday)
    assert states(released)["clock"] == "failed"


@pytest.mark.wide
def test_a_new_ledger_is_its_owner_s_alone(released: Path) -> None:
    assert stat.S_IMODE(released.with_suffix(".ledger").stat().st_mode) == 0o600


def test_doctor_lists_each_problem_of_a_study_file_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text('[study]\ntitle = "bare"\nsource = "bare.csv"\n', "utf-8")
    done = run("doctor", str(file))
    assert done.code == 6
    assert "�" not in done.out
    assert done.out.count("FAILED") > 2
    found = run("doctor", str(file), "--json").document["findings"]
    assert len(found) == done.out.count("FAILED")


def test_doctor_says_that_a_source_has_changed_as_a_release_would(released: Path) -> None:
    assert "rows" not in states(released)
    with (released.parent / "clinic.csv").open("a", encoding="utf-8") as rows:
        rows.write("new,1,2,a,b\n")
    assert states(released)["rows"] == "warning"
    assert "The source has changed since r-0001" in run("doctor", str(released)).said


def test_doctor_fails_where_every_release_would_be_refused(released: Path) -> None:
    """Of an ended approval, of a spent budget and of a closed ledger a release is refused with exit code 4."""
    out = ("--out", str(released.parent / "again"))
    kept = released.read_text("utf-8")
    left = run("ledger", "show", str(released), "--json").document["left"]["epsilon"]
    assert run("doctor", str(released)).code == 0
    rest = ("--ask", "count", "--epsilon", left)
    assert run("release", str(released), *rest, "--out", str(released.parent / "b")).code == 0
    assert run("release", str(released), *ASKED, *out).code == 4
    assert states(released)["terms"] == "failed"
    assert "is spent" in words(run("doctor", str(released)).out)
    released.write_text(kept.replace("[budget]", "[budget]\nends = 2026-01-01"), "utf-8")
    assert run("ledger", "amend", str(released), "--reason", "a test", "--yes").code == 0
    assert run("release", str(released), *ASKED, *out).code == 4
    assert states(released)["clock"] == "failed"
    assert run("ledger", "close", str(released), "--reason", "a test", "--yes").code == 0
    done = run("doctor", str(released))
    assert done.code == 6
    assert "the ledger is closed" in words(done.out)


def test_doctor_says_that_the_ledger_of_a_source_is_gone_as_a_release_would(released: Path) -> None:
    ledger = released.with_suffix(".ledger")
    ledger.rename(ledger.with_suffix(".aside"))
    refused = run("release", str(released), *ASKED, "--out", str(released.parent / "again"))
    assert refused.code == 5
    done = run("doctor", str(released))
    assert done.code == 6
    assert "the ledger of this source, is gone" in words(refused.err)
    assert "the ledger of this source, is gone" in words(done.out)
    assert states(released)["ledger"] == "failed"


def test_registry_names_the_folder_it_looked_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("registry").out == "There is no ledger below this folder.\n"  # and not "..", its parent
