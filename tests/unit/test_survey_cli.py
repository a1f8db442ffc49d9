"""``reticent survey``: from a question to a published estimate, and what is refused on the way."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from reticent import survey
from reticent.survey import form
from tests.support.cli_kit import Run, run

QUESTION = "Have you had an affair?"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*typed: str) -> Run:
    found = run("survey", *typed)
    assert found.code == 0, found.said
    return found


def handed_in(folder: Path, design: survey.Design, answers: list[str], region: list[str]) -> None:
    """What a server kept of the page: one line for each respondent."""
    lines = [
        {
            "format": form.FORMAT,
            "survey": design.code,
            "receipt": f"{number:024x}",
            "answers": [{"design": design.code, "answer": answer}],
            "open": {"region": where},
        }
        for number, (answer, where) in enumerate(zip(answers, region, strict=True))
    ]
    (folder / "kept.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")


@pytest.mark.wide
def test_from_a_question_to_a_published_estimate(here: Path) -> None:
    said = done("design", "affair", "--question", QUESTION).said
    assert "75 times in 100" in said
    assert "9,604 answers" in said
    design = survey.read("affair.survey.toml")
    assert isinstance(design, survey.Design)
    assert design == survey.two_coins(QUESTION)

    done("form", "affair.survey.toml", "-o", "page.html", "--ask", "region=north,south")
    assert design.fingerprint in (here / "page.html").read_text("utf-8")
    done("cards", "affair.survey.toml", "-o", "card.svg")
    assert (here / "card.svg").stat().st_size > 1000

    answers = ["yes"] * 420 + ["no"] * 580 + ["maybe"]
    handed_in(here, design, answers, ["north", "south"] * 500 + ["north"])
    found = done("collect", "kept.jsonl", "--design", "affair.survey.toml", "--json").document
    assert (found["answers"], found["columns"]) == (1001, ["receipt", "design", "answer", "region"])

    files = ("-o", "estimate.json", "--html", "estimate.html", "--plot", "estimate.svg")
    shown = done("estimate", "answers.csv", "--design", "affair.survey.toml", "--by", "region", *files).said
    assert "yes 34.0 %" in shown  # (0.42 - 1/4) / (1/2)
    assert "region north · yes" in shown
    assert "1 of 1,001 answers are none this design can give" in shown
    kept = json.loads((here / "estimate.json").read_text("utf-8"))
    assert kept["result"]["shares"][0]["value"] == pytest.approx(0.34)
    assert kept["guarantee"]["loss"]["epsilon"] == "1.09861228867"
    assert all((here / name).exists() for name in ("estimate.html", "estimate.svg"))


def test_open_questions_go_from_form_to_collect(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    told = done("form", "affair.survey.toml", "-o", "page.html", "--ask", "where now=far north,south").said
    assert "--ask 'where now=far north,south'" in " ".join(told.split())
    design = survey.read("affair.survey.toml")
    assert isinstance(design, survey.Design)
    handed_in(here, design, ["yes", "no", "no"], ["north", "moon", "south"])
    typed = ("kept.jsonl", "--design", "affair.survey.toml", "--ask", "region=north,south")
    found = done("collect", *typed, "--json").document
    assert found["columns"] == ["receipt", "design", "answer", "region"]
    assert sum(found["left_out"].values()) == 1
    assert (
        "region (not given)" in done("estimate", "answers.csv", "--design", "affair.survey.toml", "--by", "region").said
    )


def test_json_holds_the_whole_record(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    (here / "answers.csv").write_text("answer\n" + "yes\nno\n" * 50, "utf-8")
    found = done("estimate", "answers.csv", "--design", "affair.survey.toml", "--json").document
    (record,) = found["estimates"]
    assert found["verb"] == "survey estimate"
    assert record["result"]["answers"] == 100
    assert record["design"]["code"] == survey.two_coins(QUESTION).code


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_that_a_spreadsheet_saved_is_read(here: Path, mark: str) -> None:
    done("design", "affair", "--question", QUESTION)
    rows = "answer,region\n" + "yes,north\nno,south\n" * 50
    (here / "answers.csv").write_text(rows.replace(",", mark), "utf-8-sig")
    found = done("estimate", "answers.csv", "--design", "affair.survey.toml", "--by", "region", "--json").document
    (only,) = found["estimates"]
    assert (only["result"]["answers"], only["result"]["shares"][0]["value"]) == (100, 0.5)
    assert set(only["result"]["groups"]["region"]) == {"north", "south"}


def estimated(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    design = survey.read("affair.survey.toml")
    assert isinstance(design, survey.Design)
    handed_in(here, design, ["yes"] * 42 + ["no"] * 58, ["north", "south"] * 50)
    done("collect", "kept.jsonl", "--design", "affair.survey.toml")
    done("estimate", "answers.csv", "--design", "affair.survey.toml", "--by", "region", "-o", "kept.json")


def test_a_record_is_checked_against_its_design_its_proof_and_its_answers(here: Path) -> None:
    estimated(here)
    said = done("check", "kept.json", "--answers", "answers.csv").said
    assert "the same numbers" in said
    assert "FAILED" not in said
    assert done("check", "kept.json", "--json").document["ok"] is True


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("Have you had an affair?", "Have you?", "design"),
        ('"truth": "0.5"', '"truth": "0.6"', "design"),
        ("75 times in 100", "70 times in 100", "design"),
        ('"epsilon": "1.09861228867"', '"epsilon": "0.5"', "guarantee"),
        ('"protects": "', '"protects": "Nothing. ', "guarantee"),
        ('"ratio": "3"', '"ratio": "2"', "guarantee"),
        ('"answers": 100', '"answers": 101', "estimate"),
        ('"value": 0.33999999', '"value": 0.34999999', "estimate"),
        ('"low": 0.1', '"low": 0.2', "estimate"),
        ('"interval": "wilson"', '"interval": "exact"', "estimate"),
        ('"respondent": "receipt"', '"respondent": "region"', "estimate"),
        ('"respondent": "receipt"', '"respondent": 7', "estimate"),
    ],
)
def test_a_record_that_was_changed_is_told(here: Path, old: str, new: str, name: str) -> None:
    estimated(here)
    text = (here / "kept.json").read_text("utf-8")
    assert old in text
    (here / "kept.json").write_text(text.replace(old, new), "utf-8")
    found = run("survey", "check", "kept.json", "--answers", "answers.csv", "--json")
    assert found.code == 6
    assert [line["name"] for line in found.document["checks"] if not line["ok"]] == [name]


@pytest.mark.wide
def test_answers_that_were_changed_are_told_and_other_files_are_no_record(here: Path) -> None:
    estimated(here)
    text = (here / "answers.csv").read_text("utf-8")
    (here / "answers.csv").write_text(text.replace(",yes,", ",no,", 1), "utf-8")
    found = run("survey", "check", "kept.json", "--answers", "answers.csv")
    assert (found.code, "is not the file" in found.said) == (6, True)
    for content in ("no json", "{}", "[]", '{"format": "reticent survey estimate", "version": 9}', "[" * 100_000):
        (here / "other.json").write_text(content, "utf-8")
        assert run("survey", "check", "other.json").code == 6, content
    assert run("survey", "check", "missing.json").code == 5


@pytest.mark.wide
def test_several_questions_state_what_one_person_tells_in_all(here: Path) -> None:
    """Twice ln 3; each question alone states half of what a respondent spent."""
    for name in ("one", "two"):
        done("design", name, "--question", f"{name}?")
    done("design", "both", "--join", "one.survey.toml", "--join", "two.survey.toml", "--epsilon", "2.2")
    both = survey.read("both.survey.toml")
    assert isinstance(both, survey.Questionnaire)
    rows = "answer_1,answer_2\n" + "yes,no\nno,yes\nno,no\n" * 34
    (here / "answers.csv").write_text(rows, "utf-8")
    files = ("-o", "kept.json", "--html", "page.html")
    said = done("estimate", "answers.csv", "--design", "both.survey.toml", *files).said
    assert "All answers of one respondent together: ε 2.1973," in " ".join(said.split())
    assert "Whether somebody answered twice was not checked" in " ".join(said.split())
    assert "together: ε 2.1973," in (here / "page.html").read_text("utf-8")
    assert "together: ε 2.1973," in done("check", "kept.json", "--answers", "answers.csv").said
    text = (here / "kept.json").read_text("utf-8")
    (here / "kept.json").write_text(text.replace('"2.19722457734"', '"1.5"'), "utf-8")
    assert run("survey", "check", "kept.json").code == 6


def test_answers_in_a_column_of_another_name_are_found_by_the_option_that_a_refusal_names(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    (here / "answers.csv").write_text("Answer\n" + "yes\nno\nno\n" * 40, "utf-8")
    typed = ("survey", "estimate", "answers.csv", "--design", "affair.survey.toml")
    assert "such as --column Answer." in run(*typed).said
    assert run(*typed, "--column", "Answer").code == 0


def test_answers_that_contradict_the_design_end_with_code_6(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    (here / "answers.csv").write_text("answer\n" + "Yes\nno\nno\n" * 40, "utf-8")
    refused = run("survey", "estimate", "answers.csv", "--design", "affair.survey.toml", "-o", "kept.json")
    assert refused.code == 6
    assert "Did you mean 'yes'?" in refused.said
    assert (refused.out, (here / "kept.json").exists()) == ("", False)


@pytest.mark.wide
def test_several_questions_share_a_budget_and_are_estimated_one_by_one(here: Path) -> None:
    done("design", "a", "--question", QUESTION)
    done("design", "b", "--question", "Which?", "--among", "red, green,blue", "--epsilon", "1", "--method", "kary")
    made = done(
        "design", "both", "--join", "a.survey.toml", "--join", "b.survey.toml", "--epsilon", "2", "--json"
    ).document
    assert 0 <= 2 - Fraction(made["guarantee"]["loss"]["epsilon"]) < Fraction(1, 10**9)
    both = survey.read("both.survey.toml")
    assert isinstance(both, survey.Questionnaire)
    codes = [design.code for design in both.designs]
    rows = [f"{codes[0]},yes,{codes[1]},red", f"{codes[0]},no,{codes[1]},blue"] * 27
    rows += [f"{codes[0]},no,{codes[1]},green"] * 26
    (here / "answers.csv").write_text("\n".join(["design_1,answer_1,design_2,answer_2", *rows]), "utf-8")
    found = done("estimate", "answers.csv", "--design", "both.survey.toml", "--json").document
    assert [record["design"]["question"] for record in found["estimates"]] == [QUESTION, "Which?"]
    done("cards", "both.survey.toml", "-o", "card.svg")
    assert sorted(path.name for path in here.glob("card*")) == ["card-1.svg", "card-2.svg"]


def test_simulate_says_what_an_estimate_would_look_like(here: Path) -> None:
    done("design", "affair", "--question", QUESTION)
    found = done(
        "simulate", "affair.survey.toml", "--people", "400", "--share", "0.2", "--runs", "50", "--json"
    ).document
    (only,) = found["surveys"]
    assert (only["people"], only["runs"], only["intervals"], only["made_up"]) == (400, 50, 50, True)
    assert "nobody was asked" in done("simulate", "affair.survey.toml", "--people", "100", "--runs", "5").said


@pytest.mark.parametrize(
    ("typed", "method"),
    [
        (("--epsilon", "1"), "warner"),
        (("--method", "warner", "--truth", "3/4"), "warner"),
        (("--method", "forced", "--truth", "2/3", "--yes", "1/2"), "forced"),
        (("--method", "unrelated", "--truth", "1/2", "--other-share", "1/6"), "unrelated"),
        (("--method", "one_sided", "--truth", "1/2"), "one_sided"),
        (("--among", "a,b,c,d,e", "--epsilon", "1/2", "--method", "hadamard"), "hadamard"),
        (("--low", "0", "--high", "40", "--epsilon", "1"), "duchi"),
        (("--low", "0", "--high", "40", "--epsilon", "1", "--method", "piecewise"), "piecewise"),
    ],
)
def test_every_design_has_its_options(here: Path, typed: tuple[str, ...], method: str) -> None:
    found = done("design", "q", "--question", "Q?", *typed, "--json").document
    assert found["questions"][0]["method"] == method


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ((), "Give --question"),
        (("--question", "Q?", "--method", "coins"), "--method is one of"),
        (("--question", "Q?", "--method", "forced", "--truth", "1/2"), "forced needs --yes"),
        (("--question", "Q?", "--truth", "1/2"), "two_coins has no use for --truth"),
        (("--question", "Q?", "--among", "a,b"), "--among needs --epsilon"),
        (("--question", "Q?", "--low", "0"), "needs --low and --high"),
        (("--join", "a.survey.toml"), "--join needs --epsilon"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(here: Path, typed: tuple[str, ...], words: str) -> None:
    found = run("survey", "design", "q", *typed)
    assert (found.code, words in found.said) == (2, True), found.said
    assert not (here / "q.survey.toml").exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("design", "q", "--question", "Q?", "--epsilon", "0"), "above 0"),
        (("design", "q", "--question", "Q?", "--epsilon", "11"), "protects no one"),
        (("design", "q", "--question", "Q?", "--method", "forced", "--truth", "1/2", "--yes", "1"), "no finite ε"),
        (("design", "affair", "--question", "Q?"), "exists and is not overwritten"),
        (("form", "no.survey.toml"), "There is no design file"),
        (("form", "affair.survey.toml", "--post", "http://a.example/"), "must begin with https"),
        (("form", "affair.survey.toml", "-o", "there.html"), "exists. Choose another name"),
        (("cards", "affair.survey.toml", "-o", "card.png"), ".svg or .pdf"),
        (("collect", "none.json", "--design", "affair.survey.toml", "-o", "new.csv"), "cannot be read"),
        (("collect", "there.html", "--design", "affair.survey.toml", "-o", "new.csv"), "is no .json"),
        (("estimate", "none.csv", "--design", "affair.survey.toml"), "no file none.csv"),
        (("estimate", "answers.csv", "--design", "affair.survey.toml", "--column", "nope"), "no column 'nope'"),
        (("estimate", "answers.csv", "--design", "affair.survey.toml", "--by", "regio"), "no column 'regio'"),
        (("estimate", "mixed.csv", "--design", "affair.survey.toml"), "several designs"),
        (("estimate", "twice.csv", "--design", "affair.survey.toml"), "more than once"),
        (("estimate", "answers.csv", "--design", "edited.survey.toml"), "was edited"),
        (("simulate", "affair.survey.toml", "--share", "2"), "add up to 1"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(here: Path, typed: tuple[str, ...], words: str) -> None:
    done("design", "affair", "--question", QUESTION)
    edited = (here / "affair.survey.toml").read_text("utf-8").replace(QUESTION, "Have you?")
    (here / "edited.survey.toml").write_text(edited, "utf-8")
    (here / "there.html").write_text("", "utf-8")
    code = survey.two_coins(QUESTION).code
    (here / "answers.csv").write_text("answer\nyes\nno\n", "utf-8")
    (here / "mixed.csv").write_text(f"design,answer\n{code},yes\nffffffffffff,no\n", "utf-8")
    (here / "twice.csv").write_text(f"receipt,design,answer\nr1,{code},yes\nr1,{code},no\n", "utf-8")
    found = run("survey", *typed)
    assert (found.code, words in found.said) == (5, True), found.said


def test_a_card_that_cannot_be_made_leaves_no_other_behind(here: Path) -> None:
    survey.Questionnaire((survey.two_coins("A?"), survey.mean("B?", 0, 1, epsilon=1))).save(here / "q.survey.toml")
    assert run("survey", "cards", "q.survey.toml", "-o", "card.svg").code == 5
    assert list(here.glob("card*")) == []


def test_headers_may_be_whole_questions_and_the_check_rounds_the_epsilon_up(here: Path) -> None:
    survey.two_coins(QUESTION).save("affair.survey.toml")
    asked = f"In the last twelve months, {'how often, and ' * 12}where did you worry?"
    lines = [f"{number},{'yes' if number % 2 else 'no'},{'ab'[number % 3 == 0]}" for number in range(300)]
    (here / "answers.csv").write_text("\n".join([f'receipt,answer,"{asked}"', *lines]), "utf-8")
    done("estimate", "--design", "affair.survey.toml", "answers.csv", "--by", asked, "--out", "r.json")
    said = " ".join(done("check", "r.json", "--answers", "answers.csv").said.split())
    assert "guarantee: ε 1.0987, any answer" in said
    assert "the same numbers" in said
    (here / "long.csv").write_text(f"answer,{'x' * 3000}\nyes,a\n", "utf-8")
    refused = run("survey", "estimate", "--design", "affair.survey.toml", "long.csv")
    assert "more than 2,000 characters" in " ".join(refused.said.split())


def test_a_design_file_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    found = run("survey", "form", str(tmp_path / "none.survey.toml"))
    assert (found.code, "There is no design file none.survey.toml" in " ".join(found.said.split())) == (5, True)
