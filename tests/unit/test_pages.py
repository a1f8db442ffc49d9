"""Templates of pages: whatever someone typed is shown as text by every one of them, and nothing is loaded or run."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Final

import jinja2
import pytest

import reticent as rt
from reticent import survey
from reticent.certificate.render.page import fragment, page
from reticent.conformance.report import AuditRefusal, ReportPart, Section, Verifications
from reticent.conformance.report import page as verification
from reticent.data.schema import Column
from reticent.pages import markup
from reticent.survey import Questionnaire, form, report
from tests.unit.test_page import HOSTILE, hostile, hostile_model, hostile_session

ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = files("reticent.pages").joinpath("templates")
SHARED: Final = {"base", "parts"}
TYPED: Final = "<script>alert(1)</script>\"'&<!--{{7*7}} </title></style></textarea>"
SELECT: Final = 'SELECT site AS "{}", COUNT(*) AS n FROM study GROUP BY site'.format(TYPED.replace('"', '""'))
CONTROLLED: Final = f"{TYPED} \x00\x1b[2J\n\u202e\u2028\u061c"
RUNS: Final = {"script", "img", "iframe", "object", "embed", "base", "link", "textarea", "form"}


class Tags(HTMLParser):
    """Start tags with their attributes, and the text between tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


@cache
def study() -> rt.Study:
    columns: dict[str, Column] = {TYPED: rt.real(0, 9), "site": rt.category([TYPED, "b"])}
    rows = {TYPED: [1.0, 2.0] * 50, "site": [TYPED, "b"] * 50}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=3, title=TYPED)


def survey_report() -> str:
    design = survey.choice(TYPED, (TYPED, "b"), epsilon=1, method="kary")
    result = design.estimate([TYPED] * 40 + ["b"] * 40)
    record = {"answers": {"file": CONTROLLED, "sha256": CONTROLLED}, "software": {"reticent": CONTROLLED}}
    return report.page([(design, result), (design, result)], [record], together=design.guarantee)


def survey_form() -> str:
    many = survey.choice(TYPED + "?", [TYPED, *(f"place {place}" for place in range(30))], epsilon=1)
    asked = Questionnaire((survey.choice(TYPED, (TYPED, "b"), epsilon=1, method="kary"), many))
    return form.page(asked, "https://survey.example/in", ask={TYPED: [TYPED, "b"]}, title=TYPED)


def report_page() -> str:
    section = Section(CONTROLLED, CONTROLLED, CONTROLLED, CONTROLLED, CONTROLLED, False, (CONTROLLED,))
    table = (CONTROLLED, (CONTROLLED,), ((CONTROLLED,),))
    declined = (AuditRefusal(CONTROLLED, CONTROLLED, CONTROLLED),)
    return verification(
        Verifications(further=(ReportPart("x", section, (table,), ()),), study=CONTROLLED, declined=declined)
    )


PAGES: dict[str, Callable[[], str]] = {
    "release": lambda: page(hostile()),
    "release of a model": lambda: page(hostile_model()),
    "release of a session": lambda: page(hostile_session()),
    "release_table": lambda: fragment(hostile()),
    "plan_table": lambda: study().plan([rt.mean(TYPED).by("site")], epsilon=1)._repr_html_(),
    "selection_table": lambda: study().sql(SELECT, epsilon=1)._repr_html_(),
    "text": lambda: study()._repr_html_(),
    "verification": report_page,
    "survey_report": survey_report,
    "survey_form": survey_form,
}
WHOLE: Final = [name for name in PAGES if name not in ("release_table", "plan_table", "selection_table", "text")]


@cache
def text_of(name: str) -> str:
    """The page with hostile texts everywhere, made once for all tests."""
    return PAGES[name]()


def test_every_table_scrolls_by_itself_where_a_screen_is_narrow() -> None:
    """On a phone a wide table would make the page scroll sideways: each stands in a box that does."""
    for one in files("reticent.pages").joinpath("templates").iterdir():
        text = one.read_text("utf-8")
        inside = re.findall(r'<div (?:class="wide(?: broad)?"|style="overflow-x:auto")[^>]*>\s*<table', text)
        assert len(inside) == text.count("<table"), one.name


def test_every_template_is_tried() -> None:
    there = {name.partition(".")[0] for name in (one.name for one in TEMPLATES.iterdir()) if name.endswith(".html")}
    assert there - SHARED == {name.partition(" ")[0] for name in PAGES}


@pytest.mark.wide
@pytest.mark.parametrize("name", PAGES)
def test_what_someone_typed_is_shown_as_text(name: str) -> None:
    text, tags = text_of(name), Tags(text_of(name))
    assert (HOSTILE[0] if name.startswith("release") else TYPED) in tags.said
    own = ["form", "link", "script", "textarea"] if name == "survey_form" else []
    assert sorted(tag for tag, _ in tags.found if tag in RUNS) == own
    assert [tag for tag, attributes in tags.found if any(key.startswith("on") for key in attributes)] == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("name", WHOLE)
def test_a_page_may_load_nothing(name: str) -> None:
    tags = Tags(text_of(name))
    (policy,) = [a["content"] or "" for tag, a in tags.found if a.get("http-equiv") == "Content-Security-Policy"]
    rules = {part.split()[0]: part.split()[1:] for part in policy.split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert ("script-src" in rules) == (name == "survey_form")
    assert [a["href"] for _, a in tags.found if "href" in a and not (a["href"] or "").startswith("#")] == (
        ["data:,"] if name == "survey_form" else []
    )
    assert {"src", "srcset"} & {key for _, a in tags.found for key in a} == set()
    assert dict(tags.found)["html"] == {"lang": "en"}
    assert text_of(name).count(markup.stylesheet()) == 1


def test_markup_is_written_in_templates_alone() -> None:
    """A page built by hand in Python can forget to escape; a template cannot, as none switches that off."""
    tag = re.compile(
        r"</(?:a|b|body|code|dd|details|div|dl|dt|fieldset|h\d|html|li|p|pre|section|span|table|td|th|tr|ul)>"
    )
    sources = sorted((ROOT / "src" / "reticent").rglob("*.py"))
    assert [path.name for path in sources if tag.search(path.read_text("utf-8"))] == []
    escapes = re.compile(r"from html import|import html\b|html\.escape")
    assert [path.name for path in sources if escapes.search(path.read_text("utf-8"))] == []
    for one in TEMPLATES.iterdir():
        assert not re.search(r"\|\s*safe|autoescape|Markup", one.read_text("utf-8")), one.name


def test_what_says_it_is_markup_is_text_unless_it_was_made_here() -> None:
    class Sly(str):
        def __html__(self) -> str:
            return "<b>"

        __str__ = __html__

    assert markup.render("text", {"lines": [Sly("<i>")]}) == "<pre>&lt;b&gt;</pre>"
    assert markup.render("text", {"lines": [markup.trusted("<i>")]}) == "<pre><i></pre>"
    assert markup.render("text", {"lines": ["a\nb", "c"]}) == "<pre>a\N{REPLACEMENT CHARACTER}b\nc</pre>"


def test_a_value_that_a_template_misses_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        markup.render("text", {})
