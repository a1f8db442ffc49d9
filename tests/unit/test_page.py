"""The page, the figure and the sheet of a release: complete, escaped, self-contained, the same every time."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reticent.certificate.certificate import Certificate
from reticent.certificate.keys import load_private, make_keys
from reticent.certificate.record import NOT_DURABLE, CertificateRecord, answer_to_json
from reticent.certificate.render.figure import bar, figure, svg
from reticent.certificate.render.notes import Notes, lines_of, notes
from reticent.certificate.render.page import NO_REPLY_WORDS, fragment, page
from reticent.certificate.render.tables import number, sheet, shown
from reticent.data.format import plain
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.answer import Answer, Cell
from tests.unit.test_certificate_example import (
    answers,
    document,
    estimate,
    model_document,
    released,
    session_document,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg></style><b>",
    "--> ]]> &amp; &#0;",
    "$\\frac{1}{$ $x^2$",
    "\x00\x0b\x1b[31m\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "北京 Ünïcode \U0001f600",
    "{{7*7}} %s {0}",
    "",
)
VOID = {"meta", "br", "img", "link", "hr"}


class Tags(HTMLParser):
    """The start tags and attributes of a page, and whether every tag is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.texts).split())


@cache
def made(*asked: Answer) -> Certificate:
    return Certificate.of({**document(), "answers": [answer_to_json(answer) for answer in asked]})


@cache
def hostile() -> Certificate:
    """Every text that someone can type, replaced by the worst of them."""
    everything = " ".join(HOSTILE)
    found = document()
    found.update(name=everything, purpose=everything, who=everything, override=everything, caveats=list(HOSTILE))
    found["study"] = {"title": everything, "approved": everything, "ends": everything, "source": everything}
    found["software"] = {everything: everything}
    found["guarantee"]["parts"][0]["label"] = everything
    found["guarantee"]["parts"][0]["theorem"]["statement"] = everything
    rows = tuple(Cell(((text, text),), estimate(3, 1, 1)) for text in HOSTILE)
    bars = tuple(Cell((("site", text), ("bin", text)), estimate(3, 1, 1)) for text in HOSTILE)
    asked = [Answer(text, (Cell((), estimate(3, 1, 1)),), HOSTILE) for text in HOSTILE]
    asked += [Answer("mean(x)", rows), Answer("histogram(x) " + everything, bars)]
    found["answers"] = [answer_to_json(answer) for answer in asked]
    return Certificate.of(found)


@cache
def hostile_model() -> Certificate:
    """A model whose every text is the worst of them, and whose numbers are none."""
    found, everything = model_document(), " ".join(HOSTILE)
    found["model"].update(name=everything, what=everything, columns=list(HOSTILE), target=everything)
    found["model"].update(parameters={everything: everything}, released={text: [text] for text in HOSTILE})
    found["model"]["released"]["estimates"] = [everything, {"value": everything}, {"value": 10**400}, None]
    return Certificate.of(found)


@cache
def hostile_session() -> Certificate:
    """A session of more answers than a page shows, each the worst of texts."""
    found, everything = session_document(), " ".join(HOSTILE)
    found["session"].update(what=everything, parameters={everything: everything})
    found["session"]["transcript"] = [[text, everything] for text in HOSTILE] * 101 + [[], ["a", "b", "c"]]
    return Certificate.of(found)


@cache
def extreme() -> Certificate:
    """Numbers at the ends of what can be."""
    big = Reply(Estimate(1e300, -1.7e308, 1.7e308, 1.7e308, 0.0))
    tiny = Reply(Estimate(-0.0, -5e-324, 5e-324, 5e-324, 0.0))
    exact = Reply(Estimate(7.0, 7.0, 7.0, 0.0, 0.0))
    bins = tuple(Cell((("x", k),), estimate(k, 3, 0) if k % 9 else NO_REPLY) for k in range(1200))
    outcomes: tuple[Outcome[Estimate], ...] = (big, tiny, exact, NO_REPLY)
    scalars = [Answer(f"mean({k})", (Cell((), outcome),)) for k, outcome in enumerate(outcomes)]
    many = Answer("mean(x) by k", tuple(Cell((("k", k), ("m", True)), estimate(k, 1, 1)) for k in range(80)))
    silent = Answer("histogram(z)", (Cell((("z", 1),), NO_REPLY), Cell((("z", 2),), NO_REPLY)))
    return made(*scalars, many, silent, Answer("histogram(x)", bins), Answer("none", ()))


EXAMPLE = Certificate.of(document())


@cache
def text_of(certificate: Certificate) -> str:
    """The page, made once for all tests."""
    return page(certificate)


@cache
def picture_of(certificate: Certificate) -> str:
    """The figure, made once for all tests."""
    return svg(certificate)


# page


@pytest.mark.wide
def test_a_page_says_the_caveats_of_a_release_above_the_table() -> None:
    certificate, _ = released(None)
    text = text_of(certificate)
    whole = notes(certificate).whole
    assert whole
    for caveat in (*whole, NOT_DURABLE):
        assert text.index(caveat) < text.index("<table")
    assert NOT_DURABLE not in text_of(EXAMPLE)


def test_a_caveat_of_one_answer_stands_with_it_once_and_short() -> None:
    """Sixteen bullets stood before the table, each after the name of its answer."""
    several = (Cell((("site", 1),), estimate(3, 1, 1)), Cell((("site", 2),), estimate(4, 1, 1)))
    asked = (
        Answer("mean(age)", (Cell((), estimate(3, 1, 1)),), ("only of ages", "of two")),
        Answer("mean(cost) by site", several, ("only of costs",)),
        Answer("count", (Cell((), estimate(9, 1, 0)),), ("of two",)),
    )
    for text in (page(made(*asked)), fragment(made(*asked))):
        assert [text.count(words) for words in ("only of ages", "only of costs", "of two")] == [1, 1, 1]
        assert "mean(age), count: of two" in text
        assert "mean(age): only" not in text.split("<table")[0]
    text = page(made(*asked))
    assert text.index("of two") < text.index("<table") < text.index("mean(cost) by site") < text.index("only of costs")
    assert text.index("only of costs") < text.index("site 1") < text.index("site 2")


def test_a_note_that_the_estimand_says_is_not_said_again() -> None:
    bounds = "values of age outside [0, 90] count as the nearer bound"
    told = "population mean of age, values cut to [0, 90], among rows with a readable age"
    one, other = estimate(3, 1, 1), estimate(4, 1, 1)
    mean = Answer("mean(age)", (Cell((), one),), (bounds,), estimand=told)
    slope = Answer("regress(age ~ x)", (Cell((("coefficient", "x"),), other),), (bounds,), estimand="coefficients")
    whole = tuple(document()["caveats"])
    assert notes(made(mean)) == Notes(whole, ((),))
    assert notes(made(mean, slope)) == Notes(whole, ((), (bounds,)))
    assert lines_of(made(mean, slope)) == (("mean(age)", told), ("regress(age ~ x)", f"coefficients; {bounds}"))
    assert bounds in made(mean).caveats  # the certificate keeps it
    far = Answer("mean(age)", (Cell((), one),), (bounds.replace("90", "99"),), estimand=told)
    assert notes(made(far)).whole == (*whole, *far.caveats)


@pytest.mark.wide
def test_a_page_shows_every_answer_with_its_interval() -> None:
    said = Tags(text_of(EXAMPLE)).said
    for answer in answers():
        assert answer.name in said
    for row in ("2.857 2.783 to 2.932 0.042 0.061", "20,187 20,125 to 20,249 62 –", "−4 −66 to 58 62 –", "site 4 2.20"):
        assert row in said


def test_a_no_reply_is_a_grey_row_with_words_and_never_a_number() -> None:
    tags = Tags(text_of(EXAMPLE))
    assert sum(attributes.get("class") == "silent" and tag == "tr" for tag, attributes in tags.found) == 2
    assert NO_REPLY_WORDS in tags.said
    assert "nan" not in tags.said.lower().split()
    assert NO_REPLY_WORDS not in text_of(made(answers()[0]))


@pytest.mark.wide
def test_the_privacy_label_has_seven_lines(tmp_path: Path) -> None:
    tags = Tags(text_of(EXAMPLE))
    assert [tag for tag, _ in tags.found].count("dt") == 7
    for words in (
        "one person, with at most 5 rows",
        "add or remove one person (at most 5 rows each)",
        "ε 1 of (ε 3, δ 1e-8), approved: Ethics board 2026-11-04, minute 7, until 2027-12-31",
        "10 % likely that you took part could end between 3.92 % and 23.2 %",
        "geometric (6 parts)",
        "nobody: this certificate is unsigned",
    ):
        assert words in tags.said
    signed = EXAMPLE.sign(load_private(make_keys(tmp_path / "officer")[0]))
    assert signed.document["signature"]["public_key"] in text_of(signed)


def test_a_page_holds_the_outline_of_the_proof() -> None:
    said = Tags(text_of(EXAMPLE)).said
    for line in EXAMPLE.proof().splitlines():
        assert " ".join(line.split()) in said


@pytest.mark.loop(3)
@pytest.mark.parametrize("certificate", [EXAMPLE, hostile(), extreme(), made(), hostile_model(), hostile_session()])
def test_a_page_runs_nothing_and_loads_nothing(certificate: Certificate) -> None:
    text = text_of(certificate)
    tags = Tags(text)
    assert tags.open == []
    assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in tags.found}
    for tag, attributes in tags.found:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"src", "srcset"} & set(attributes)
        reference = attributes.get("href") or attributes.get("xlink:href") or "#"
        assert reference.startswith("#"), tag
    assert not re.search(r"@import|url\((?!#)", text)


@pytest.mark.wide
@pytest.mark.parametrize("certificate", [EXAMPLE, hostile(), extreme(), hostile_model(), hostile_session()])
def test_a_page_can_be_read_aloud(certificate: Certificate) -> None:
    tags = Tags(text_of(certificate))
    assert dict(tags.found)["html"] == {"lang": "en"}
    assert all(attributes.get("scope") for tag, attributes in tags.found if tag == "th")
    pictures = [attributes for tag, attributes in tags.found if tag == "svg"]
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    assert [tag for tag, _ in tags.found].count("h1") == 1


@pytest.mark.parametrize("certificate", [hostile(), hostile_model(), hostile_session()])
def test_what_someone_typed_is_shown_as_text(certificate: Certificate) -> None:
    text = text_of(certificate)
    said = Tags(text).said
    for typed in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}} %s {0}", "北京 Ünïcode"):
        assert typed in said
    for control in ("\x00", "\x0b", "\x1b", "\u202e"):
        assert control not in text
    assert plain("\u202ea\x00b") == "�a�b"


def test_a_page_of_a_model_or_a_session_shows_what_was_let_out() -> None:
    model = Tags(text_of(Certificate.of(model_document()))).said
    assert "What was let out A fit of LogisticRegression to mdvis and disea, target physlm." in model
    assert "coef [[0.25, −1.5]]" in model  # of which not every number is an estimate
    assert "intercept 0.125 (95 % 0.100 to 0.150, noise ± 0.010)" in model
    assert "mdvis 0.25 " in model  # without an interval
    assert "Public parameters: C 0.5, classes [0, 1], epsilon 1" in model
    session = Tags(text_of(Certificate.of(session_document()))).said
    assert "1 answer of a session (holdout) in 2 rounds." in session
    assert "number of rows 5,912 ± 31 level(mdvis) Checked(value=0.25, by='training', estimate=None)" in session
    assert text_of(hostile_session()).count("<tr>") == 1 + 1000 + 1
    assert "the rest is in the certificate" in text_of(hostile_session())


def test_parameters_of_a_search_are_words_and_no_dump() -> None:
    made = model_document()
    nested = {"estimator": {"C": "1", "clip": None}, "param_grid": {"class_weight": [None, "balanced"]}}
    made["model"] = {**made["model"], "parameters": {"epsilon": "2", **nested}}
    said = Tags(text_of(Certificate.of(made))).said
    assert "Public parameters: epsilon 2, estimator (C 1), param_grid (class_weight [none, balanced])" in said


@pytest.mark.wide
def test_an_override_is_a_caveat() -> None:
    assert "because we must" in text_of(Certificate.of({**document(), "override": "because we must"}))


@pytest.mark.wide
def test_the_fragment_for_a_notebook_is_escaped_and_complete() -> None:
    for certificate in (EXAMPLE, hostile(), extreme()):
        tags = Tags(fragment(certificate))
        assert tags.open == []
        assert not {"script", "img"} & {tag for tag, _ in tags.found}
        for answer in certificate.answers:
            assert " ".join(plain(answer.name).split()) in tags.said or not answer.cells
    assert fragment(EXAMPLE).count("<svg") == 16


# figure


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("certificate", [EXAMPLE, hostile(), extreme(), made()])
def test_the_figure_is_xml_without_scripts_or_addresses(certificate: Certificate) -> None:
    text = picture_of(certificate)
    ET.fromstring(text)
    assert text.startswith("<svg")
    assert not re.search(r"<script|<metadata|<!DOCTYPE|<!ENTITY", text)
    assert all(reference.startswith("#") for reference in re.findall(r'href="([^"]*)"', text))


@pytest.mark.wide
def test_the_figure_says_no_reply_where_the_number_would_be() -> None:
    assert picture_of(EXAMPLE).count(">no reply<") == 2
    assert "no reply" not in picture_of(made(answers()[0]))


@pytest.mark.wide
def test_the_same_certificate_gives_the_same_figure() -> None:
    assert svg(EXAMPLE) == svg(EXAMPLE)


@pytest.mark.wide
def test_the_figure_has_a_panel_for_every_answer_and_for_every_group_of_a_histogram() -> None:
    drawn = svg(EXAMPLE)
    assert all(f">{answer.name}<" in drawn for answer in answers())
    by_site = Answer("histogram(x)", tuple(Cell((("s", s), ("x", x)), estimate(1, 1, 0)) for s in (1, 2) for x in "ab"))
    assert [axes.get_title(loc="left") for axes in figure(made(by_site)).axes] == ["histogram(x)\ns 1", "s 2"]


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore:Glyph")
def test_every_word_of_the_figure_lies_inside_it() -> None:
    for certificate in (EXAMPLE, hostile(), extreme()):
        drawn = figure(certificate)
        drawn.draw_without_rendering()
        width, height = drawn.bbox.size
        for axes in drawn.axes:
            box = axes.get_tightbbox()
            assert box is not None
            assert box.x0 > -1
            assert box.x1 < width + 1, axes.get_title(loc="left")
            assert box.y0 > -1
            assert box.y1 < height + 1


@pytest.mark.wide
def test_the_figure_leaves_no_state_behind() -> None:
    program = (
        "import sys; from tests.unit.test_certificate_example import document;"
        "from reticent.certificate.render.page import page;"
        "from reticent.certificate.certificate import Certificate; assert 'matplotlib' not in sys.modules;"
        "page(Certificate.of(document())); assert 'matplotlib.pyplot' not in sys.modules;"
        "import matplotlib; assert matplotlib.rcParams['svg.hashsalt'] is None"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.wide
def test_odds_are_drawn_for_the_release_so_far_and_the_whole_budget(tmp_path: Path) -> None:
    certificate = EXAMPLE
    drawn = certificate.odds_plot(tmp_path / "odds.svg")
    said = [text.get_text() for text in drawn.axes[0].texts]
    assert [text.split("\nodds")[0] for text in said] == [
        "no change",
        "this release and\neverything so far\nε 1",
        "the whole budget\n(ε 3, δ 1e-8)",
    ]
    ET.fromstring((tmp_path / "odds.svg").read_text("utf-8"))
    certificate.odds_plot(tmp_path / "odds.png")
    with pytest.raises(PublicParameterError):
        certificate.odds_plot(tmp_path / "odds.doc")


def test_a_bar_is_small_and_inside_its_box() -> None:
    cell = Cell((), estimate(2.0, 0.5, 0.5))
    for span in (None, (0.0, 10.0), (2.1, 2.2)):
        found = bar(cell, span)
        assert found is not None
        assert all(0 <= x <= 120 for x in (found.low, found.high, found.left, found.right, found.value))
    (text,) = re.findall("<svg.*?</svg>", fragment(made(answers()[0])))
    ET.fromstring(text)
    assert len(text) < 500
    assert bar(Cell((), NO_REPLY)) is None
    assert bar(Cell((), Reply(Estimate(1, 1, 1, 0, 0)))) is None


# numbers and sheet


@pytest.mark.parametrize(
    ("value", "noise", "sampling", "text"),
    [
        (2.8573, 0.042, 0.061, ("2.857", "0.042", "0.061")),
        (2.8573, 0.0142, 0.0001, ("2.857", "0.014", "0.0001")),
        (20187.4, 62.3, 0, ("20,187", "62", "–")),
        (-0.0004, 0.5, 0.5, ("0.00", "0.50", "0.50")),
        (-1234567.8, 900.0, 0, ("−1,234,568", "900", "–")),
        (1.2345e-9, 2e-11, 0, ("1.234e-09", "2e-11", "–")),
        (3.5, 0, 0, ("3.5", "–", "–")),
        (1.5e15, 2e10, 0, ("1.5e+15", "20,000,000,000", "–")),
    ],
)
def test_numbers_have_the_digits_their_interval_is_worth(
    value: float, noise: float, sampling: float, text: tuple[str, str, str]
) -> None:
    found = shown(estimate(value, noise, sampling).value)
    assert (found.value, found.noise, found.sampling) == text


def test_zero_has_no_sign() -> None:
    assert number(-0.0, 2) == number(-0.001, 2) == "0.00"


def test_the_sheet_holds_every_cell_with_every_digit() -> None:
    rows = list(csv.DictReader(io.StringIO(sheet(EXAMPLE))))
    assert list(rows[0]) == [
        *("name", "mdvis", "site", "outcome", "value", "low", "high", "noise", "sampling", "level", "estimand"),
        *("incomplete", "incomplete_low", "incomplete_high", "printed"),
    ]
    cells = [(answer, cell) for answer in answers() for cell in answer]
    assert len(rows) == len(cells)
    for row, (answer, cell) in zip(rows, cells, strict=True):
        assert row["name"] == answer.name
        match cell.outcome:
            case Reply(estimated):
                assert row["outcome"] == "reply"
                assert [float(row[name]) for name in ("value", "low", "high", "noise", "sampling", "level")] == [
                    *(estimated.value, estimated.low, estimated.high),
                    *(estimated.noise, estimated.sampling, estimated.level),
                ]
            case _:
                assert row["outcome"] == "no_reply"
                assert row["value"] == row["low"] == row["level"] == ""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-cmd", "'-cmd"),
        ("@sum", "'@sum"),
        ("\t=1", "'\t=1"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+5.5e3", "+5.5e3"),
        ("-inf", "'-inf"),
        ("a,b", "a,b"),
        ('say "x"\nplease', 'say "x"\nplease'),
        (-5, "-5"),
        (True, "true"),
    ],
)
def test_text_is_never_a_formula_and_numbers_are_untouched(key: str | int | bool, text: str) -> None:
    certificate = made(Answer("mean(x)", (Cell((("k", key),), estimate(-3, 1, 1)),)))
    (row,) = csv.DictReader(io.StringIO(sheet(certificate), newline=""))
    assert row["k"] == text
    assert row["value"] == "-3"


def test_names_and_headers_are_never_formulas_and_never_hide_a_column() -> None:
    labels = (("=x", 1), ("value", 2))
    rows = list(csv.reader(io.StringIO(sheet(made(Answer("@mean", (Cell(labels, estimate(3, 1, 1)),)))))))
    assert rows[0][:5] == ["name", "'=x", "value (group)", "outcome", "value"]
    assert rows[1][:5] == ["'@mean", "1", "2", "reply", "3"]


def test_a_table_ends_where_a_browser_would_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.certificate.render.page.MOST_SHOWN", 3)
    cells = tuple(Cell((("ward", f"w{place}"),), estimate(place, 1, 0)) for place in range(5))
    certificate = made(Answer("count by ward", cells))
    for text, where in (
        (page(certificate), "the files .csv and .json have all"),
        (fragment(certificate), "frame() has all"),
    ):
        assert "w2" in text
        assert f"the first 3 are shown, and 2 more are not: {where}" in text
    assert "w3" not in fragment(certificate)
    assert page(certificate).split("<svg")[0].count('class="sub"') == 3


def test_a_page_parses_its_answers_at_most_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the digest alone: a page of 100,000 groups parsed them some fifteen times, which took most of its time."""
    certificate, parsed = Certificate.of(document()), list[str]()

    def counted(self: CertificateRecord) -> dict[str, object]:
        parsed.append(self.text)
        return dict(json.loads(self.text))

    monkeypatch.setattr(CertificateRecord, "document", property(counted))
    page(certificate)
    assert len(parsed) == 1
    assert {**certificate.heading, "answers": certificate.document["answers"]} == certificate.document
