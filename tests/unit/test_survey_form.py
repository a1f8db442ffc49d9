"""The page, the card and the table of answers, without a browser: self-contained, escaped, exact, nothing guessed."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reticent import survey
from reticent.errors import PublicParameterError, QuestionError, SpecError
from reticent.mechanisms.registry import axiom_again
from reticent.pages.markup import stylesheet
from reticent.privacy.rederivation import rederive
from reticent.privacy.serialization import from_json
from reticent.survey import Design, Questionnaire, cards, form, form_words, rehearsal, report
from reticent.survey import answers as handed_in
from tests.unit.test_survey_design import ALL

AFFAIR = survey.two_coins("Have you had an affair?")
COLOUR = survey.choice("Which colour?", ("red", "green", "blue"), epsilon=1, method="kary")
BOTH = Questionnaire((AFFAIR, COLOUR))
HOSTILE = "<script>alert(1)</script>\"'&<!--@title@ </title>"


class Tags(HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def content(text: str, tag: str) -> str:
    (found,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
    return str(found)


def policy(text: str) -> dict[str, str]:
    (found,) = [a["content"] for tag, a in Tags(text).found if a.get("http-equiv") == "Content-Security-Policy"]
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in (found or "").split(";"))}


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("post", [None, "https://survey.example/in?key=1"])
def test_only_the_script_and_the_style_of_the_page_may_run(post: str | None) -> None:
    text = form.page(BOTH, post, ask={"region": ["north", "south"]})
    rules = policy(text)
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(content(text, tag).encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == ("'none'" if post is None else "https://survey.example/in")


def test_the_page_loads_nothing_and_no_control_holds_a_state() -> None:
    tags = Tags(form.page(BOTH, None, ask={"region": ["north", "south"]})).found
    assert [tag for tag, attributes in tags if {"src", "action", "srcset", "onclick", "style"} & set(attributes)] == []
    assert [a["href"] for tag, a in tags if "href" in a] == ["data:,"]
    assert [
        tag for tag, attributes in tags if {"checked", "selected", "value"} & set(attributes) and tag == "option"
    ] == []
    assert [tag for tag, attributes in tags if "checked" in attributes] == []
    asked = [attributes for tag, attributes in tags if tag in ("input", "select", "form")]
    assert len(asked) == 1 + 2 + 3 + 2
    assert {attributes["autocomplete"] for attributes in asked} == {"off"}


def test_every_control_has_a_name_that_is_read_aloud() -> None:
    long = survey.choice("Where?", [f"place {number}" for number in range(30)], epsilon=1)
    text = form.page(Questionnaire((AFFAIR, long, survey.mean("How much?", 0, 9, epsilon=1))), None, ask={})
    assert '<html lang="en">' in text
    assert re.findall(r"<label><input[^>]*> <span[^>]*>(\w+)</span></label>", text) == ["yes", "no"]
    named = [a.get("aria-label") for tag, a in Tags(text).found if tag == "select" or a.get("type") == "text"]
    assert named == ["Where?", "How much?"]
    assert text.count("<fieldset") == text.count("<legend") == 3


def test_the_colours_can_be_told_apart() -> None:
    style = stylesheet()
    for block in re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL):
        colour = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        pairs = [
            ("ink", "paper"),
            ("quiet", "paper"),
            ("ink", "note"),
            ("on-act", "act"),
            ("wrong", "paper"),
            ("act", "paper"),
        ]
        assert [pair for pair in pairs if contrast(colour[pair[0]], colour[pair[1]]) < 4.5] == []
        assert contrast(colour["line"], colour["paper"]) > 3
    assert contrast("#777777", "#888888") < 4.5


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_what_somebody_typed_is_text_and_not_markup() -> None:
    design = survey.choice(HOSTILE, (HOSTILE, "b", "c"), epsilon=1, method="kary")
    text = form.page(design, None, ask={HOSTILE: [HOSTILE, "x"]}, title=HOSTILE)
    assert "<script>alert" not in text
    assert text.count("<script>") == text.count("</script>") == text.count("<title>") == 1
    assert "<" not in content(text, "script").split("\n")[1]
    facts = json.loads(content(text, "script").split("\n")[1].removeprefix("const SURVEY = ").rstrip(";"))
    assert facts["questions"][0]["among"][0] == HOSTILE
    assert facts["questions"][0]["recipe"] == design.recipe()


def test_a_truth_is_in_the_script_only_where_it_is_what_can_be_sent() -> None:
    hidden = survey.choice("Where?", ("here", "there", "elsewhither"), epsilon=1, method="hadamard")
    assert "elsewhither" not in content(form.page(hidden, None, ask={}), "script")
    assert "elsewhither" in form.page(hidden, None, ask={})


def test_the_page_states_the_odds_of_all_answers_together() -> None:
    said = form.page(BOTH, None, ask={})
    factor = AFFAIR.ratio * COLOUR.ratio if AFFAIR.ratio and COLOUR.ratio else Fraction(0)
    assert 8.15 < factor < 8.16
    assert "your 2 answers together can change the odds of it by a factor of at most 8.16" in said
    assert "at most 47.6\N{NO-BREAK SPACE}%" in said  # 1 in 10, odds 1 to 9, times 8.155
    assert "gives your choice away" in form.page(survey.one_sided("Q?", truth="1/2"), None, ask={})


@pytest.mark.parametrize(
    "post",
    [
        "http://survey.example/a",
        "ftp://survey.example/a",
        "https://",
        "https://user:secret@survey.example/",
        "https://survey.example/; script-src *",
        "https://survey.example/' 'unsafe-inline'",
        "https://survey.example/a#b",
        "javascript:alert(1)",
        "//survey.example",
        "",
    ],
)
def test_an_address_that_is_unsafe_is_refused(post: str) -> None:
    with pytest.raises(SpecError, match="address to send to"):
        form.page(AFFAIR, post, ask={})


@pytest.mark.parametrize(
    "ask", [{"region": ["north"]}, {"region": ["a", "a"]}, {" ": ["a", "b"]}, {"region": ["a", ""]}]
)
def test_an_open_question_needs_answers_to_choose_from(ask: dict[str, list[str]]) -> None:
    with pytest.raises(QuestionError, match=r"list of two or more|cannot be a name or an answer"):
        form.page(AFFAIR, None, ask=ask)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"Answer": ["a", "b"]}, "column of every table"),
        ({"design_2": ["a", "b"]}, "column of every table"),
        ({"receipt": ["a", "b"]}, "column of every table"),
        ({"age": ["-20", "20-40"]}, "cannot be a name or an answer"),
        ({"=x": ["a", "b"]}, "cannot be a name or an answer"),
        ({"a": ["x\u2028", "y"]}, "cannot be a name or an answer"),
        ({"a": ["x", " y"]}, "cannot be a name or an answer"),
        ({"region": ["a", "b"], "Region": ["a", "b"]}, "different names"),
        ({f"c{n}": ["a", "b"] for n in range(51)}, "at most 50"),
    ],
)
def test_what_collect_would_leave_out_is_not_asked(ask: dict[str, list[str]], words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        form.page(AFFAIR, None, ask=ask)
    with pytest.raises(QuestionError, match=words):
        handed_in.collect(AFFAIR, [], ask=ask)


def test_a_list_too_long_for_a_page_is_refused() -> None:
    with pytest.raises(QuestionError, match="too many"):
        form.page(survey.choice("Q?", [str(n) for n in range(2001)], epsilon=1), None, ask={})


# --- its words --------------------------------------------------------------------------------------------------------


def translated(**change: str) -> dict[str, str]:
    """Every word in another language, its placeholders kept."""
    ours = form_words.english_words()
    made = {name: f"ü {text}" for name, text in ours.items() if name not in (*form_words.NAMES, *form_words.FREE)}
    return {**made, "lang": "de", "direction": "ltr", **change}


def written(path: Path, words: dict[str, str]) -> Path:
    path.write_text("".join(f"{name} = {json.dumps(text)}\n" for name, text in words.items()), "utf-8")
    return path


def test_how_often_chance_speaks_is_said_in_plain_words() -> None:
    words = form_words.english_words()
    assert form.plainly(AFFAIR, words) == "In 25 of 100 cases this page sends the opposite of what you chose."
    assert form.plainly(AFFAIR, words) in form.page(AFFAIR, None, ask={})
    assert form.plainly(survey.forced("Q?", truth="2/3", yes="1/5"), words).startswith(
        "If you choose yes, this page sends no in 26.6 of 100 cases. If you choose no, it sends yes in 6.6 of"
    )
    assert form.plainly(survey.one_sided("Q?", truth="1/2"), words).startswith("If you choose yes, this page always")
    assert "is protected less" in form.page(AFFAIR, None, ask={})


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_cases_stated_are_never_more_than_the_chance(name: str) -> None:
    """A respondent is promised no more chance than there is: cases are rounded down, and all methods have words."""
    said = form.plainly(ALL[name], form_words.english_words())
    assert "{" not in said
    assert "this page" in said.lower()
    for chance in (Fraction(1, 3), Fraction(2, 301), Fraction(9999, 10000), Fraction(1, 4)):
        n, of = form.cases(chance)
        assert Fraction(n) / int(of.replace(",", "")) <= chance


def test_a_page_is_in_the_language_of_its_file(tmp_path: Path) -> None:
    words = form_words.read_words(written(tmp_path / "de.toml", translated(direction="rtl", lang="he")))
    text = form.page(BOTH, "https://survey.example/in", ask={"region": ["a", "b"]}, words=words)
    assert '<html lang="he" dir="rtl">' in text
    for name in ("intro", "promise_head", "table_head", "once_head", "draw", "result_head", "send", "old", "screen"):
        assert words[name] in html.unescape(text), name
    facts = json.loads(content(text, "script").split("\n")[1].removeprefix("const SURVEY = ").rstrip(";"))
    assert facts["words"] == {name: words[name] for name in form_words.SCRIPT}
    script = form._source_code()
    assert re.findall(r"SURVEY\.words\.(\w+)", script)
    assert set(re.findall(r"SURVEY\.words\.(\w+)", script)) == set(form_words.SCRIPT)
    plain_text = re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script|details).*?</\1>", " ", text, flags=re.DOTALL))
    ours = [sentence for sentence in form_words.english_words().values() if len(sentence) > 20 and "{" not in sentence]
    assert [one for one in ours if one in html.unescape(plain_text).replace(f"ü {one}", "")] == []


def test_consent_and_contact_are_shown_where_they_say_something(tmp_path: Path) -> None:
    bare = form.page(AFFAIR, None, ask={})
    assert 'id="consent"' not in bare
    assert "Who asks" not in bare
    file = written(tmp_path / "en.toml", {"consent": "I am 18 <b>or older.\nI agree.", "contact": "a@b.example"})
    text = form.page(AFFAIR, None, ask={}, words=form_words.read_words(file))
    assert '<input type="checkbox" id="consent" autocomplete="off">' in text
    assert "I am 18 &lt;b&gt;or older." in text
    assert "a@b.example" in text
    assert "consent.checked" in content(text, "script")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"nonsense": "x"}, "No page says"),
        ({"lang": "de"}, "two languages"),
        ({"opposite": "In {n} cases."}, "must have"),
        ({"opposite": "In {n!r} of {of:>9} cases"}, "must have"),
        ({"intro": "{n.__class__}"}, "no braces"),
        ({"intro": "{"}, "no braces"),
        ({"intro": " "}, "says nothing"),
        ({"intro": "a\nb"}, "on one line"),
        ({"direction": "up"}, "ltr"),
        ({"lang": '"><script>'}, "two languages|code of a language"),
    ],
)
def test_words_that_make_no_page_are_refused(tmp_path: Path, words: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        form_words.read_words(written(tmp_path / "w.toml", words))
    with pytest.raises(SpecError, match="cannot be read"):
        form_words.read_words(tmp_path / "none.toml")


# --- the card ---------------------------------------------------------------------------------------------------------


def spoken(design: Design) -> dict[str, dict[str, Fraction]]:
    """The law of the answers of somebody who does what the disc says."""
    parts = cards.parts_of(design)
    assert sum(part.chance for part in parts) == 1
    law = {truth: dict.fromkeys(design.among, Fraction(0)) for truth in design.among}
    for truth, answers in law.items():
        for part in parts:
            answers[truth if part.true else part.words[5:-1]] += part.chance
    return law


@pytest.mark.parametrize(
    "design",
    [
        AFFAIR,
        COLOUR,
        survey.forced("Q?", truth="2/3", yes="1/5"),
        survey.warner("Q?", epsilon=2),
        survey.unrelated("Q?", other_share="1/10", truth="1/2"),
        survey.one_sided("Q?", truth="1/2"),
    ],
    ids=lambda design: design.method,
)
def test_who_does_what_the_disc_says_answers_by_the_design_s_law(design: Design) -> None:
    for truth, law in spoken(design).items():
        stated = design.distribution(truth)
        assert law == {answer: stated.get(answer, Fraction(0)) for answer in design.among}


@pytest.mark.wide
def test_the_angles_of_the_disc_are_the_chances() -> None:
    from matplotlib.patches import Wedge

    drawn = cards.card(COLOUR)
    wedges = [patch for patch in drawn.axes[0].patches if isinstance(patch, Wedge) and patch.get_fill()]
    angles = [wedge.theta2 - wedge.theta1 for wedge in wedges]
    assert angles == pytest.approx([float(360 * part.chance) for part in cards.parts_of(COLOUR)])
    assert wedges[0].theta2 == 90


@pytest.mark.wide
def test_a_card_is_one_file_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.pdf", "b.pdf"):
        cards.cards(AFFAIR, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    words = "".join(ET.fromstring((tmp_path / "a.svg").read_text("utf-8")).itertext())
    assert AFFAIR.question in words
    assert AFFAIR.fingerprint in words
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_what_fits_on_no_disc_is_refused(tmp_path: Path) -> None:
    many = survey.choice("Q?", [str(n) for n in range(12)], epsilon=1, method="kary")
    bits = survey.choice("Q?", ("a", "b", "c"), epsilon=1, method="optimised_unary")
    for design in (many, bits, survey.mean("Q?", 0, 1, epsilon=1)):
        with pytest.raises(QuestionError, match="A card is for"):
            cards.cards(design, tmp_path / "card.svg")
    with pytest.raises(SpecError, match=r"\.svg or \.pdf"):
        cards.cards(AFFAIR, tmp_path / "card.png")
    with pytest.raises(QuestionError, match="do not fit"):
        cards.cards(survey.two_coins("Why " * 300 + "?"), tmp_path / "card.svg")


# --- what comes back --------------------------------------------------------------------------------------------------


def sent(number: int, answer: str = "yes", **change: Any) -> dict[str, Any]:
    answers = [{"design": AFFAIR.code, "answer": answer}]
    made = {"format": form.FORMAT, "survey": AFFAIR.code, "receipt": f"{number:024x}", "answers": answers, "open": {}}
    return {**made, **change}


def coded(answer: dict[str, Any]) -> str:
    import zlib

    text = json.dumps(answer).encode()
    return f"reticent1.{base64.urlsafe_b64encode(text).decode().rstrip('=')}.{zlib.crc32(text):08x}"


def gathered(folder: Path, *answers: object) -> handed_in.AnswerTable:
    (folder / "in.json").write_text(json.dumps(list(answers)), "utf-8")
    return handed_in.collect(AFFAIR, [folder / "in.json"])


def test_files_lists_lines_and_codes_make_one_table(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(sent(3, "no", open={"region": "north"})), "utf-8")
    (tmp_path / "two.json").write_text(json.dumps([sent(2), sent(1)]), "utf-8")
    (tmp_path / "three.jsonl").write_text("\n".join(json.dumps(sent(n)) for n in (5, 4)), "utf-8")
    (tmp_path / "codes.txt").write_text(f"\n{coded(sent(6))}\n", "utf-8")
    found = handed_in.collect(AFFAIR, [tmp_path])
    assert found.header == ("receipt", "design", "answer", "region")
    assert [row[0] for row in found.rows] == [f"{n:024x}" for n in (1, 2, 3, 4, 5, 6)]  # not in the order they came
    assert found.rows[2][1:] == (AFFAIR.code, "no", "north")
    assert found.left_out == {}
    assert next(csv.reader(io.StringIO(found.csv()))) == list(found.header)


def test_what_comes_twice_counts_once_and_what_was_changed_does_not_count(tmp_path: Path) -> None:
    found = gathered(tmp_path, sent(1), sent(1), sent(2), sent(2, "no"), sent(3))
    assert [row[0][-1] for row in found.rows] == ["1", "3"]
    assert sum(found.left_out.values()) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("text", "could not be read"),
        (None, "could not be read"),
        (sent(1, format="other"), "could not be read"),
        (sent(1, receipt="short"), "could not be read"),
        (sent(1, answers=[]), "could not be read"),
        (sent(1, answers=[{"design": AFFAIR.code, "answer": "yes"}] * 2), "could not be read"),
        (sent(1, answers=[{"design": AFFAIR.code, "answer": 1}]), "could not be read"),
        (sent(1, survey=COLOUR.code), "belong to another design: they were drawn with other chances"),
    ],
)
def test_what_is_no_answer_is_left_out_and_counted(tmp_path: Path, answer: object, why: str) -> None:
    found = gathered(tmp_path, answer, sent(2))
    assert len(found.rows) == 1
    assert found.left_out == {why: 1}


def test_open_answers_make_no_column_twice_and_no_more_than_fit(tmp_path: Path) -> None:
    """One hostile sheet among good ones: the columns of every table stay what they are."""
    hostile = [{"answer": "yes"}, {"Receipt": "x"}, {"design_1": "x"}, {f"c{n}": "x" for n in range(3000)}]
    sheets = [sent(n, open=found) for n, found in enumerate(hostile)]
    good = [sent(n, open={"region": "north"}) for n in range(10, 13)]
    found = gathered(tmp_path, *sheets, *good)
    assert found.header[:4] == ("receipt", "design", "answer", "region")
    assert len(found.rows) == 7
    assert len(found.header) == 3 + form.MOST_OPEN
    assert sum(found.left_out.values()) == 1
    told = gathered(tmp_path, sent(1, open={"Region": "x"}), *good)
    assert told.header[3:] == ("region",)


def test_with_the_open_questions_named_nothing_else_is_taken(tmp_path: Path) -> None:
    sheets = [sent(1, open={"region": "north"}), sent(2, open={"region": "moon"}), sent(3, open={"note": "north"})]
    (tmp_path / "in.json").write_text(json.dumps(sheets), "utf-8")
    found = handed_in.collect(AFFAIR, [tmp_path / "in.json"], ask={"region": ["north", "south"]})
    assert found.header[3:] == ("region",)
    assert [row[3] for row in found.rows] == ["north", "", ""]
    assert list(found.left_out.values()) == [2]


def test_other_ends_of_lines_inside_an_answer_end_no_line(tmp_path: Path) -> None:
    line = json.dumps(sent(1, open={"region": "a\u2028b"}), ensure_ascii=False)
    (tmp_path / "kept.jsonl").write_text(f"{line}\n{json.dumps(sent(2))}\n", "utf-8")
    found = handed_in.collect(AFFAIR, [tmp_path / "kept.jsonl"])
    assert (len(found.rows), found.left_out) == (2, {})


def test_a_token_off_the_list_stays_one_and_open_words_cannot_act(tmp_path: Path) -> None:
    hostile = {"region": "=cmd()", "note": "fine", "+x": "y"}
    found = gathered(tmp_path, sent(1, "maybe"), sent(2, "yes", open=hostile))
    assert [row[2] for row in found.rows] == ["?", "yes"]
    assert found.header[3:] == ("note",)
    assert AFFAIR.estimate([row[2] for row in found.rows]).off_list == 1


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: c.replace("A", "B", 1), lambda c: c[5:], lambda c: ""])
def test_a_code_that_lost_a_letter_is_refused(damage: Callable[[str], str]) -> None:
    whole = coded(sent(1))
    assert handed_in.decoded(whole) == sent(1)
    with pytest.raises(SpecError, match="no code"):
        handed_in.decoded(damage(whole))


def test_several_questions_have_columns_of_their_own(tmp_path: Path) -> None:
    answers = [{"design": AFFAIR.code, "answer": "yes"}, {"design": COLOUR.code, "answer": "blue"}]
    (tmp_path / "in.json").write_text(json.dumps(sent(1, survey=BOTH.code, answers=answers)), "utf-8")
    found = handed_in.collect(BOTH, [tmp_path / "in.json"])
    assert found.header == ("receipt", "design_1", "answer_1", "design_2", "answer_2")
    assert found.rows[0][1:] == (AFFAIR.code, "yes", COLOUR.code, "blue")


# --- rehearsal and record ---------------------------------------------------------------------------------------------


def test_a_rehearsal_is_the_same_every_time_and_its_intervals_hold() -> None:
    first, again = (rehearsal.simulate(AFFAIR, 500, ["0.1"], runs=200) for _ in range(2))
    assert first == again
    assert first.truths == (("yes", 0.1), ("no", 0.9))
    assert 0.90 < first.covered / first.intervals < 0.99  # binomial(200, 0.95): outside with probability below 0.01
    assert first.half_width == pytest.approx(1.96 * (0.3 * 0.7 * 4 / 500) ** 0.5, rel=0.02)  # heard: .1 * 3/4 + .9 / 4


@pytest.mark.parametrize("shares", [["0.5", "0.6"], ["-1", "2"], ["1.5"], ["0.1", "0.2", "0.7"]])
def test_shares_that_are_no_law_are_refused(shares: list[str]) -> None:
    with pytest.raises(PublicParameterError, match="add up to 1"):
        rehearsal.simulate(AFFAIR, 100, shares)
    with pytest.raises(PublicParameterError, match="spread evenly"):
        rehearsal.simulate(survey.mean("Q?", 0, 1, epsilon=1), 100, shares)


def test_the_record_can_be_checked_again(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("answer,region\n" + "yes,a\nno,b\nno,a\nyes,b\nno,a\nno,b\n" * 50, "utf-8")
    result = AFFAIR.estimate_table(file, "answer", groups=["region"])
    record = report.record(AFFAIR, result, report.AnswerSource(file, "answer"))
    kept = json.loads(json.dumps(record, allow_nan=False))
    tree = from_json(kept["guarantee"])
    assert rederive(tree, axiom_again) == AFFAIR.guarantee.loss
    assert kept["answers"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert kept["design"]["fingerprint"] == AFFAIR.fingerprint
    text = report.page([(AFFAIR, result)], [record])
    assert ("everybody · yes" in text) == bool(result.groups)
    assert f"{report.epsilon_words(AFFAIR.guarantee)}, any answer" in text
    assert "<script" not in text
    assert "region a · yes" in text
    assert kept["result"]["shares"][0]["value"] == pytest.approx((1 / 3 - 1 / 4) / (1 / 2))


@pytest.mark.wide
def test_the_tutorial_counts_the_women_of_the_data_set() -> None:
    from statsmodels.api import datasets

    people = datasets.fair.load_pandas().data
    page = (Path(__file__).parents[2] / "docs" / "tutorials" / "survey.md").read_text("utf-8")
    (line,) = re.findall(r"^women = (\{.*?\})", page, flags=re.MULTILINE)
    for (level, stated), number in zip(re.findall(r'"(\w+)": \(([\d, ]+)\)', line), (1, 2, 3, 4), strict=True):
        there = people[people.religious == number]
        assert stated == f"{len(there)}, {int((there.affairs > 0).sum())}", level
