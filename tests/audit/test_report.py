"""The report on the program: its plans ask everything that can be asked, and what was found is in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reticent.conformance import report
from reticent.conformance.built_in_plans import ALL, ONE_EACH, QUESTIONS, built_in, robust
from reticent.conformance.plan_audit import audit
from reticent.conformance.report import NEVER, NOT_HERE, NOT_RUN, AuditRefusal, Verifications, page
from reticent.conformance.source_digest import digest
from reticent.statistics.registry import KINDS
from tests.assurance.claims import Line
from tests.assurance.report import of_exact

VOID = {"meta", "br"}


class Nesting(HTMLParser):
    """The tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def line(verdict: str) -> Line:
    from fractions import Fraction

    none = Fraction(0)
    return Line("mechanism <b>", "all draws", "ε 1", 2, 1, 9, none, none, None, verdict)  # type: ignore[arg-type]


@pytest.mark.wide
def test_the_plans_ask_every_statistic_under_both_relations() -> None:
    asked = {re.split(r"\(| by | weight ", question)[0] for questions in QUESTIONS for question in questions}
    asked |= {question.split("(")[0] for _, questions in (*ALL, *ONE_EACH) for question in questions}
    made, sized = list(built_in()), list(robust())
    # capped and incomplete are asked where they apply; lists of keys are replayed by tests/service/test_key_list.py
    own = {"capped", "incomplete", "keys"}
    assert asked | own | {"quantile", "density"} == set(KINDS)
    for plans in (made, sized):
        assert {schema.person.adjacency for _, _, schema in plans} == {"add_remove", "substitute"}
        assert any(prepared.caveat is not None for _, prepared, _ in plans)
        assert len({name for name, _, _ in plans}) == len(plans)
    assert (len(made), len(sized)) == (48, 26)


@pytest.mark.wide
def test_a_report_says_what_was_not_run() -> None:
    none = Verifications(further=(of_exact([line("holds")]),))
    assert none.not_verified[:3] == (NOT_RUN["plans"], NOT_RUN["kit"], NOT_HERE["sessions_and_models"])
    assert none.not_verified[-len(NEVER) :] == NEVER
    assert [section.title for section in none.sections] == ["Exact laws"]


@pytest.mark.wide
def test_a_claim_that_is_open_is_no_pass() -> None:
    for verdict in ("open", "refuted"):
        found = Verifications(further=(of_exact([line("holds"), line(verdict)]),))
        assert not found.passed
        assert found.summary.startswith("NOT PASSED")
        assert "1 of 2 claims do not hold" in found.summary
        assert f"FOUND   {verdict}" in str(found)
    assert Verifications(further=(of_exact([line("holds")]),)).passed


@pytest.mark.wide
def test_the_page_is_whole_and_loads_nothing() -> None:
    name, prepared, schema = next(built_in())
    text = page(
        Verifications(further=(of_exact([line("refuted")]),), plans=((name, audit(prepared, schema, triples=5)),))
    )
    nesting = Nesting()
    nesting.feed(text)
    assert nesting.open == []
    assert re.search(r"<script|<link|src=|https?://", text) is None
    assert "mechanism &lt;b&gt;" in text
    assert "<b>" not in text


def test_a_study_its_day_and_its_refusals_are_named() -> None:
    name, prepared, schema = next(built_in())
    plans = ((name, audit(prepared, schema, triples=4)),)
    found = Verifications(
        plans=plans, own=True, study="A <study>", day="2026-11-21", declined=(AuditRefusal("t", "mean(z)", "No z."),)
    )
    assert found.sections[0].extent.startswith("1 plan of the study, 7 answers, 4 pairs of tables, ")
    assert Verifications(plans=plans * 2, own=True).sections[0].extent.startswith("2 plans of the study, 14 answers, ")
    assert Verifications(plans=plans).sections[0].extent.startswith("1 built-in plan, 7 answers, ")
    assert str(found).startswith("A <study> · 2026-11-21\nNothing was refuted. ")
    assert found.summary.endswith(" 1 question refused and not run.")
    assert "REFUSED t: mean(z): No z." in str(found)
    assert found.to_json()["refused"] == [{"release": "t", "question": "mean(z)", "words": "No z."}]
    text = page(found)
    assert "A &lt;study&gt; · 2026-11-21" in text
    assert "<td>t</td><td>mean(z)</td><td>No z.</td>" in text
    nesting = Nesting()
    nesting.feed(text)
    assert nesting.open == []


@pytest.mark.wide
def test_the_rows_that_nobody_asked_for_are_explained() -> None:
    made = list(built_in())
    one, several = made[0], next(plan for plan in made if plan[1].caveat is not None)
    plans = [(name, audit(prepared, schema, triples=1)) for name, prepared, schema in (one, several)]
    assert [report.plan_notes([named]) for named in plans] == [
        [("incomplete", report.INCOMPLETE_WORDS)],
        [("capped", report.CAPPED_WORDS), ("incomplete", report.INCOMPLETE_WORDS)],
    ]
    assert f"capped: {report.CAPPED_WORDS}." in page(Verifications(plans=tuple(plans)))


@pytest.mark.wide
def test_every_report_names_the_source_that_made_it() -> None:
    found = Verifications(further=(of_exact([line("holds")]),))
    assert found.to_json()["source"] == digest()
    assert str(found).endswith(f"source sha256 {digest()}")
    assert digest() in page(found)


@pytest.mark.wide
def test_the_digest_is_of_names_and_contents_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.py").write_text("2")
    seen = [digest(tmp_path)]
    (tmp_path / "b" / "c.pyc").write_text("compiled")
    assert digest(tmp_path) == seen[0]
    (tmp_path / "a.py").write_text("2")
    seen.append(digest(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "d.py")
    seen.append(digest(tmp_path))
    assert len(set(seen)) == 3
    assert re.fullmatch("[0-9a-f]{64}", digest())
