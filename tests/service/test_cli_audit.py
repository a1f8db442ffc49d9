"""``audit`` and ``release --audit``: what they print, what they leave alone, and that a planted error is found."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reticent.certificate.certificate import read_certificate
from reticent.conformance import kit, report
from reticent.conformance.built_in_plans import built_in
from reticent.conformance.kit import Effort
from reticent.conformance.report import NOT_HERE
from reticent.conformance.source_digest import digest
from reticent.data.study_file import read_spec
from reticent.ledger import Ledger
from reticent.mechanisms import geometric
from reticent.privacy.loss import PureDP
from reticent.statistics import public_facts
from tests.assurance import (
    accounting_lines,
    certificate_changes,
    exact,
    local,
    models,
    reader_rows,
    release_path,
    session_replay,
    system_path,
)
from tests.assurance.__main__ import main
from tests.support.cli_kit import clinic, leaks, run, words

TABLE4 = ("--release", "table 4")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return clinic(tmp_path)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part on a small domain: the parts themselves have tests of their own."""
    plans = list(built_in())
    monkeypatch.setattr(report, "built_in", lambda: iter(plans[:1]))
    monkeypatch.setattr(report, "robust", lambda: iter(()))
    monkeypatch.setattr(models, "built_in", lambda: iter(()))
    monkeypatch.setattr(models, "sessions", lambda: iter(list(session_replay.built_in())[:1]))
    for part in (report, exact):  # what is put through the kit; certificates are derived again by the whole list
        monkeypatch.setattr(part, "registry", SimpleNamespace(ALL=(geometric,)))
    monkeypatch.setattr(exact, "samplers", lambda *, deep: iter(()))
    claims = exact.guarantees
    monkeypatch.setattr(exact, "guarantees", lambda *, deep: islice(claims(deep=deep), 3))
    monkeypatch.setattr(exact, "_conversations", lambda near: iter(()))
    monkeypatch.setattr(exact, "pipelines", lambda *, deep: iter(()))
    monkeypatch.setattr(exact, "robust", lambda *, deep: iter(()))
    monkeypatch.setattr(local, "lines", lambda *, deep: iter(()))
    monkeypatch.setattr(accounting_lines, "lines", lambda: iter(()))
    monkeypatch.setattr(system_path, "check", lambda: kit.KitReport(()))
    for part in (release_path, reader_rows, certificate_changes, accounting_lines):
        monkeypatch.setattr(part, "check", lambda: kit.KitReport(()))


def a_third_of_the_stability(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for one row of a person who has three."""
    whole = public_facts.stability_of
    monkeypatch.setattr(public_facts, "stability_of", lambda *given, **named: whole(*given, **named) / 3)


# --- the plans of a study ---------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_each_answer_has_a_line_and_the_summary_is_last(study: Path) -> None:
    one, two = (run("audit", str(study), *TABLE4, "--triples", "10") for _ in range(2))
    assert one == two
    assert one.code == 0
    lines = one.out.splitlines()
    assert lines[1].split() == ["answer", "noise", "calls", "observed", "/", "declared", "verdict"]
    names = ["count", "mean(age)", "persons", "capped", "incomplete(town)"]
    assert [line.split()[0] for line in lines[2:7]] == names
    assert all(line.split()[-2:] == ["1.000", "passed"] for line in lines[2:7])
    explained = " ".join(lines[7:-2])
    assert explained.startswith("capped ")
    for said in ("the share of people who had more rows than are kept. ", "the share of rows with a cell that is "):
        assert said in words(explained)
    told = words(one.out).partition("source sha256 ")[2]
    assert told.startswith(f"{digest()} Nothing was refuted. Plans on made-up neighbours: all passed on 10 made-up")
    assert one.err == "made-up neighbours: table 4 … \n"


@pytest.mark.wide
def test_every_release_of_the_file_is_audited_where_none_is_named(study: Path) -> None:
    found = run("audit", str(study), "--triples", "10", "--json").document
    assert [plan["release"] for plan in found["plans"]] == ["table 4", "tail"]
    assert (found["passed"], "exact" in found, found["kit"]) == (True, False, None)
    assert [plan["triples"] for plan in found["plans"]] == [10, 10]
    asked = run("audit", str(study), "--ask", "count", "--epsilon", "1", "--triples", "10", "--json").document
    assert [plan["release"] for plan in asked["plans"]] == [""]


@pytest.mark.wide
def test_neither_the_source_nor_the_ledger_is_opened(study: Path) -> None:
    (study.parent / "clinic.csv").unlink()
    (study.parent / "clinic.ledger").write_text("no ledger", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in study.parent.iterdir()}
    assert run("audit", str(study), "--triples", "10").code == 0
    assert {path.name: path.read_bytes() for path in study.parent.iterdir()} == before


@pytest.mark.wide
def test_a_release_that_states_widths_is_audited(study: Path) -> None:
    text = study.read_text("utf-8").replace(
        'epsilon = "0.1"\nask = ["quantile(cost, 0.99)"]', 'ask = ["count"]\nwant = { count = 20 }'
    )
    study.write_text(text, encoding="utf-8")
    found = run("audit", str(study), "--release", "tail", "--triples", "10")
    assert found.code == 0, found
    assert "count" in found.out


@pytest.mark.wide
def test_a_planted_error_ends_with_six(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_third_of_the_stability(monkeypatch)
    done = run("audit", str(study), "--ask", "count", "--ask", "mean(age)", "--epsilon", "1", "--triples", "10")
    assert done.code == 6
    assert "3.000  refuted" in done.out
    assert "FOUND  as asked: count: " in done.out
    assert "NOT PASSED: do not release with this program." in done.out
    told = run("audit", str(study), "--ask", "count", "--epsilon", "1", "--triples", "10", "--json")
    assert (told.code, told.document["passed"]) == (6, False)
    assert told.document["plans"][0]["verdict"] == "refuted"


@pytest.mark.wide
def test_one_refused_question_does_not_stop_the_others(study: Path) -> None:
    asked = ("--ask", "count", "--ask", "mean(agee)", "--ask", "mean(age)", "--epsilon", "1", "--triples", "10")
    done = run("audit", str(study), *asked, "--html", "page.html")
    assert done.code == 5
    assert "REFUSED  mean(agee): There is no column 'agee'." in done.out
    assert [line.split()[0] for line in done.out.splitlines() if line.endswith(" passed")] == [
        "count",
        "mean(age)",
        "capped",
    ]
    assert done.out.splitlines()[-2].endswith(" 1 question refused and not run.")
    page = (study.parent / "page.html").read_text("utf-8")
    assert "<td>mean(agee)</td><td>There is no column" in page
    told = run("audit", str(study), *asked, "--json").document
    assert [(one["release"], one["question"]) for one in told["refused"]] == [("", "mean(agee)")]
    assert [moved["name"] for moved in told["plans"][0]["answers"]] == [
        "count",
        "mean(age)",
        "capped",
    ]


@pytest.mark.wide
def test_a_refused_question_and_a_finding_end_with_six(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_third_of_the_stability(monkeypatch)
    done = run("audit", str(study), "--ask", "count", "--ask", "mean(agee)", "--epsilon", "1", "--triples", "10")
    assert (done.code, "REFUSED" in done.out, "FOUND" in done.out) == (6, True, True)


def test_a_missing_cost_is_told_as_it_is_typed(study: Path) -> None:
    done = run("audit", str(study), "--ask", "count")
    assert (done.code, done.out) == (5, "")
    assert "Say what the release may cost: --epsilon 1." in done.said


@pytest.mark.wide
def test_the_page_names_the_study_and_the_day(study: Path) -> None:
    run("audit", str(study), *TABLE4, "--triples", "10", "--html", "page.html")
    page = (study.parent / "page.html").read_text("utf-8")
    title = read_spec(study).title
    assert re.search(rf'<h1>What was verified</h1>\n<p class="about">{re.escape(title)} · 20\d\d-\d\d-\d\d</p>', page)
    assert "<dd>1 plan of the study, 5 answers, 10 pairs of tables, " in page
    assert digest() in page


@pytest.mark.parametrize("word", ["audit", "capped", "replay"])
def test_the_words_of_an_audit_are_explained(word: str) -> None:
    assert run("explain", word).code == 0


def test_what_cannot_be_asked_is_refused(study: Path) -> None:
    assert run("audit", str(study), "--ask", "mean(agee)", "--epsilon", "1").code == 5
    assert run("audit", "missing.toml").code == 5
    for typed in (
        ("audit", "--ask", "count"),
        ("audit", "--epsilon", "1"),
        ("audit", str(study), "--deep"),
        ("audit", str(study), "--triples", "0"),
    ):
        done = run(*typed)
        assert (done.code, done.out) == (2, ""), typed


# --- the program ------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.usefixtures("brief")
def test_with_nothing_it_is_a_report_of_what_was_verified_and_what_not(study: Path) -> None:
    done = run("audit", "--triples", "4", "--html", "page.html")
    assert done.code == 0, done
    for head in ("Plans on made-up neighbours", "Conformance of the mechanisms", "Not verified"):
        assert f"\n{head}\n" in done.out
    assert "this time" not in done.out  # nothing was left out
    assert " ".join(NOT_HERE["exact"].split()) in " ".join(done.out.split())
    page = (study.parent / "page.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "What was not verified" in page
    assert run("audit", "--triples", "4").out == done.out.replace("wrote page.html\n", "")
    assert run("audit", "--triples", "4", "--html", "other.html").code == 0
    assert (study.parent / "other.html").read_text("utf-8") == page


@pytest.mark.wide
@pytest.mark.usefixtures("brief")
def test_the_kit_alone_prints_its_table_and_says_what_was_left_out() -> None:
    kit_only = run("audit", "--kit")
    assert kit_only.code == 0
    assert kit_only.out.startswith("verdict   mechanism")
    assert "conforms  geometric, epsilon 0.5, sensitivity 1" in kit_only.out
    told = run("audit", "--kit", "--json").document
    assert told["plans"] is None
    assert sum("this time" in text for text in told["not_verified"]) == 1
    assert set(NOT_HERE.values()) <= set(told["not_verified"])
    json.dumps(told, allow_nan=False)


@pytest.mark.wide
@pytest.mark.usefixtures("brief")
def test_the_source_tree_reports_exact_laws_sessions_and_models_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--html", str(tmp_path / "whole.html")]) == 0
    told = capsys.readouterr()
    for head in ("Sessions and models on made-up neighbours", "Exact laws", "Conformance of the mechanisms"):
        assert f"\n{head}\n" in told.out
    assert "this time" not in told.out
    assert not any(words in told.out for words in NOT_HERE.values())
    assert "exact laws: mechanisms …\n" in told.err
    assert (tmp_path / "whole.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert main(["--exact", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kit"], found["plans"]) == (None, None)
    assert found["exact"][0]["name"] == "mechanism geometric, epsilon 0.5, sensitivity 1"


@pytest.mark.wide
@pytest.mark.usefixtures("brief")
def test_a_study_may_be_audited_with_the_kit(study: Path) -> None:
    told = run("audit", str(study), *TABLE4, "--triples", "10", "--kit", "--json").document
    assert [plan["release"] for plan in told["plans"]] == ["table 4"]
    assert told["kit"]


@pytest.mark.wide
@pytest.mark.usefixtures("brief")
def test_a_claim_or_a_check_that_fails_ends_with_six(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap = replace(geometric.SPECIMENS[0].mechanism.guarantee, loss=PureDP(Fraction(1, 10)))
    monkeypatch.setattr(geometric.Geometric, "guarantee", property(lambda self: cheap))
    assert main(["--exact"]) == 6
    assert "refuted mechanism geometric" in capsys.readouterr().out
    kit = run("audit", "--kit")
    assert kit.code == 6
    assert "fails" in kit.out
    assert "law within the claim" in kit.out
    whole = run("audit")
    assert whole.code == 6
    assert whole.out.startswith("NOT PASSED: do not release with this program.")
    assert "FOUND" in whole.out


def test_deep_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def noted(*, deep: bool) -> list[Any]:
        seen.append(deep)
        return []

    def checked(module: object, *, effort: Effort, **_: object) -> kit.KitReport:
        seen.append(effort)
        return kit.KitReport(())

    for name in ("samplers", "guarantees", "pipelines", "robust"):
        monkeypatch.setattr(exact, name, noted)
    monkeypatch.setattr(local, "lines", noted)
    monkeypatch.setattr(accounting_lines, "lines", lambda: [])
    monkeypatch.setattr(system_path, "check", lambda: kit.KitReport(()))
    for part in (release_path, reader_rows, certificate_changes, accounting_lines):
        monkeypatch.setattr(part, "check", lambda: kit.KitReport(()))
    monkeypatch.setattr(kit, "check", checked)
    assert main(["--exact", "--kit", "--deep"]) == 0
    assert seen[:5] == [True] * 5
    assert set(seen[5:]) == {Effort()}
    seen.clear()
    assert run("audit", "--kit", "--deep").code == 0
    assert set(seen) == {Effort()}


@pytest.mark.parametrize("name", ["clinic.toml", ".", "nowhere/page.html", "clinic.csv/page.html", "x" * 300])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(study: Path, name: str) -> None:
    done = run("audit", "--html", name)
    assert (done.code, done.out) == (5, "")
    assert "… \n" not in done.err.replace("… is no name", "")


# --- a release --------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_release_may_carry_its_audit(study: Path) -> None:
    done = run("release", str(study), *TABLE4, "--audit")
    assert done.code == 0, done
    assert "audit … reserve … read … draw … commit" in " ".join(done.err.split())
    assert "plan audit passed: 50 made-up pairs of neighbours" in done.out
    certificate = read_certificate(study.parent / "table4.json")
    assert certificate.document["audit"]["verdict"] == "passed"
    assert certificate.document["audit"]["source"] == digest()
    assert "plan audit passed" in (study.parent / "table4.html").read_text("utf-8")
    shown = run("verify", "table4.json", "--ledger", "clinic.ledger", "--allow-unsigned")
    assert (shown.code, "plan audit passed: 50" in shown.out, digest() in shown.out) == (0, True, True)
    assert leaks([certificate.to_json(), done.out, done.err]) == []


@pytest.mark.wide
def test_without_being_asked_nothing_is_audited(study: Path) -> None:
    assert run("release", str(study), *TABLE4, "--json").document["audit"] is None


@pytest.mark.wide
def test_a_finding_refuses_the_release_uncharged(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_third_of_the_stability(monkeypatch)
    asked = ("--ask", "count", "--ask", "mean(age)", "--epsilon", "1", "--out", "table4")
    done = run("release", str(study), *asked, "--audit")
    assert done.code == 5
    assert "The plan audit found an error in this release, on made-up rows: count: " in done.said
    assert done.said.endswith("Nothing was charged.")
    assert list(study.parent.glob("table4.*")) == []
    ledger = Ledger.open("clinic.ledger")
    assert (ledger.releases(), [line.state for line in ledger.refusals()]) == ((), ["refused"])
    assert ledger.left() == ledger.budget
    told = run("release", str(study), *asked, "--audit", "--json").document["error"]
    assert (told["kind"], told["charged"], told["exit"]) == ("question", "nothing", 5)
    assert run("release", str(study), *asked).code == 0  # which is why one should ask
