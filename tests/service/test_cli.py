"""The verbs: what they print, on which stream, with which code, and in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reticent as rt
from reticent.cli import glossary
from reticent.cli.options import stem_of
from reticent.data.format import Format
from reticent.ledger import Ledger
from tests.support.cli_kit import clinic, run
from tests.support.cli_reference import PAGE


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return clinic(tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release of the clinic's table 4, signed; shared by tests that only read it."""
    folder = tmp_path_factory.mktemp("released")
    study = clinic(folder)
    assert run("init", "--key", str(folder / "officer")).code == 0
    key = str(folder / "officer.key")
    done = run("release", str(study), "--release", "table 4", "--key", key, "--out", str(folder / "table4"))
    assert done.code == 0, done.err
    return folder


def test_init_writes_a_skeleton_and_never_overwrites(study: Path) -> None:
    (study.parent / "x.csv").write_text("name,age\nHIV-positive,3\n", encoding="utf-8")
    done = run("init", "x.csv")
    assert done.code == 0
    assert "2 columns" in done.said
    assert "No row was read" in done.said
    assert "[columns.age]" in (study.parent / "x.toml").read_text("utf-8")
    again = run("init", "x.csv")
    assert again.code == 5
    assert "exists and is not overwritten" in again.said


def test_a_skeleton_in_another_folder_still_finds_its_source(study: Path) -> None:
    (study.parent / "plans").mkdir()
    assert run("init", "clinic.csv", "--out", "plans/new.toml").code == 0
    assert 'source = "../clinic.csv"' in (study.parent / "plans" / "new.toml").read_text("utf-8")


def test_init_takes_the_delimiter_from_the_header_line_and_says_what_it_assumed(study: Path) -> None:
    (study.parent / "y.csv").write_text('"";age;day\n1;HIV-positive;3\n', encoding="utf-8")
    done = run("init", "y.csv", "--dates", "day", "--decimal", ",")
    assert done.code == 0
    assert "with ';' between them" in done.said
    assert "You said: numbers like 1234,5; dates in day." in done.said
    assert (
        "Assumed: encoding utf-8; no sign between thousands; missing: empty cells; no symbol beside numbers; "
        "dates like 2024-12-31." in done.said
    )
    assert "To say otherwise: --encoding, --thousands, --na, --symbols, --date-format." in done.said
    assert "Dates that are written otherwise count as missing." in done.said
    assert "A column without a name is left out" in done.said
    assert "wrote y.toml: 2 columns" in done.said
    assert "often 1234,5" not in done.said
    text = (study.parent / "y.toml").read_text("utf-8")
    assert 'delimiter = ";"\ndecimal = ","' in text
    assert '[columns.day]\nkind = "date"' in text
    assert "HIV" not in done.said + text


def test_init_lists_the_symbols_of_the_header(study: Path) -> None:
    """Without them every cell such as 1.234,50 € was missing, and a whole release had no reply."""
    (study.parent / "y.csv").write_text("paid (€);rate %\n5 €;3 %\n", encoding="utf-8")
    assert "Assumed: encoding utf-8; numbers like 1234,5; no sign between thousands; missing: empty cells; € or %" in (
        run("init", "y.csv").said
    )
    assert 'symbols = ["€", "%"]' in (study.parent / "y.toml").read_text("utf-8")
    (study.parent / "y.toml").unlink()
    assert "You said: kg beside numbers." in run("init", "y.csv", "--symbols", "kg").said
    assert 'symbols = ["kg"]' in (study.parent / "y.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("spelling", "kind", "example"),
    [("dd.mm.yyyy", "date", "31.12.2024"), ("%d/%m/%Y %H:%M", "datetime", "31/12/2024 13:45")],
)
def test_init_writes_how_dates_are_written(spelling: str, kind: str, example: str, study: Path) -> None:
    """A format that was only in a comment left every date unread, and counts by date at 0."""
    (study.parent / "y.csv").write_text("age;day\n", encoding="utf-8")
    done = run("init", "y.csv", "--dates", "day", "--date-format", spelling)
    assert f"You said: dates in day; dates like {example}." in done.said
    assert "To say otherwise: --encoding, --decimal, --thousands, --na, --symbols." in done.said
    assert "Look at a cell." in done.said
    assert "say how it is written" not in done.said
    text = (study.parent / "y.toml").read_text("utf-8")
    assert f'[columns.day]\nkind = "{kind}"\nformat = "{spelling}"\n' in text
    for odd in (("--dates", "day", "--date-format", "dd.mm"), ("--date-format", "dd.mm.yyyy")):
        (study.parent / "y.toml").unlink(missing_ok=True)
        assert run("init", "y.csv", *odd).code in (2, 5)
        assert not (study.parent / "y.toml").exists()


@pytest.mark.parametrize(
    ("given", "written"), [((), 'decimal = ","'), (("--decimal", "."), 'decimal = "."'), (("--decimal", ","), ',"')]
)
def test_init_supposes_a_decimal_comma_between_semicolons(given: tuple[str, ...], written: str, study: Path) -> None:
    """It is written into the study file, so that check doubts nothing."""
    (study.parent / "y.csv").write_text("age;day\n", encoding="utf-8")
    said = run("init", "y.csv", *given).said
    assert written in (study.parent / "y.toml").read_text("utf-8")
    assert ("numbers like 1234.5" if given == ("--decimal", ".") else "numbers like 1234,5") in said
    assert "numbers are often 1234,5" not in said + run("check", "y.toml").said


def test_study_files_of_one_folder_share_neither_ledger_nor_release(study: Path) -> None:
    """Both named work.ledger, refused only at the release, and both wrote first.csv."""
    folder = study.parent
    for file in ("work.csv", "work.txt", "lone.csv"):
        (folder / file).write_text("age,day\n", encoding="utf-8")
    (folder / "lone.ledger").write_bytes(b"")
    (folder / "broken.toml").write_text("[study\n", encoding="utf-8")
    for file, out in (("work.csv", "work"), ("work.txt", "b"), ("work.csv", "again"), ("lone.csv", "lone")):
        assert run("init", file, "--out", f"{out}.toml").code == 0
    texts = {name: (folder / f"{name}.toml").read_text("utf-8") for name in ("work", "b", "again", "lone")}
    ledgers = {name: text.partition("ledger = ")[2].partition("\n")[0] for name, text in texts.items()}
    assert ledgers == {
        "work": '"work.ledger"',
        "b": '"work.txt.ledger"',
        "again": '"work.ledger"',  # of one source there is one ledger
        "lone": '"lone.csv.ledger"',
    }
    assert all(f'name = "{name}_first"' in text for name, text in texts.items())


def test_init_keeps_the_ledger_of_a_source_whose_study_file_was_lost(study: Path) -> None:
    asked = ("--ask", "count", "--epsilon", "1", "--yes", "--out", "out")
    text = study.read_text("utf-8")
    ledger = text.partition("ledger")[2].partition("\n")[0].strip(" =")
    assert run("release", str(study), *asked).code in (0, 3)
    study.unlink()
    run("init", "clinic.csv", "--out", "new.toml")
    assert f"ledger = {ledger}" in (study.parent / "new.toml").read_text("utf-8")


def test_init_supposes_windows_1252_where_the_header_is_not_utf_8(study: Path) -> None:
    """Nothing behind the header line is looked at: an accent of a row changes nothing."""
    (study.parent / "y.csv").write_bytes("größe,day\n".encode("cp1252"))
    said = run("init", "y.csv").said
    assert "Assumed: encoding windows-1252" in said
    text = (study.parent / "y.toml").read_text("utf-8")
    assert 'encoding = "windows-1252"' in text
    assert "größe" in text
    (study.parent / "z.csv").write_bytes("height,day\ngrößer,1\n".encode("cp1252"))
    assert "Assumed: encoding utf-8" in run("init", "z.csv").said
    assert "encoding" not in (study.parent / "z.toml").read_text("utf-8")


def test_init_supposes_the_encoding_of_each_further_table(study: Path) -> None:
    """The encoding of the first file had garbled the names of the second, which share a column then."""
    (study.parent / "m1.csv").write_bytes("prénom;clé\n".encode("cp1252"))
    (study.parent / "m2.csv").write_text("clé;âge\n", "utf-8")
    assert run("init", "m1.csv", "m2.csv").code == 0
    text = (study.parent / "m1.toml").read_text("utf-8")
    assert "[tables.m2]   # shares clé with the tables before it" in text
    assert 'source = "m2.csv"\nencoding = "utf-8"\n' in text
    assert "âge" in text


@pytest.mark.wide
def test_check_does_not_doubt_a_decimal_point_that_was_said(study: Path) -> None:
    (study.parent / "clinic.csv").write_text("pid;age;cost;town;diagnosis\n", "utf-8")
    for decimal, doubted in (("", True), ('decimal = "."\n', False)):
        text = study.read_text("utf-8").replace("[study]", f'[study]\ndelimiter = ";"\n{decimal}')
        place = study.parent / "said.toml"
        place.write_text(text, "utf-8")
        assert ("numbers are often 1234,5" in run("check", str(place)).said) is doubted


def test_words_quote_the_name_of_a_file_as_a_shell_takes_it(study: Path) -> None:
    (study.parent / "our visits.csv").write_text("age,day\n", encoding="utf-8")
    assert "Then: reticent check 'our visits.toml'" in run("init", "our visits.csv").said
    assert "by reticent init 'our visits.csv'" in run("check", "our visits.csv").said
    assert "--key 'the officer.key'" in run("init", "--key", "the officer").said


def test_a_certificate_that_is_not_there_is_said_to_be_missing(study: Path) -> None:
    done = run("verify", "table1.json")
    assert done.code == 6
    assert "There is no certificate table1.json. A release writes one: STEM.json." in done.said


@pytest.mark.wide
def test_check_names_a_tab_between_cells(study: Path) -> None:
    text = study.read_text("utf-8").replace("[study]", '[study]\ndelimiter = "\\t"')
    study.write_text(text, "utf-8")
    (study.parent / "clinic.csv").write_text("pid\tage\tcost\ttown\tdiagnosis\n", "utf-8")
    assert "The file is read as: a tab between cells" in run("check", str(study)).said


@pytest.mark.wide
def test_check_says_that_a_cell_with_a_sign_is_no_number(study: Path) -> None:
    """It is said before a charge: all cells of such a column are missing (docs/how-to/own_csv.md)."""
    assert "A cell such as 5 % or € 5 is no number" in run("check", str(study)).said
    assert '1,977.61 is no number; thousands = "," would make it one' in run("check", str(study)).said
    for cell in ("5 %", "5%", "€ 5", "$5"):
        assert Format().number(cell) is None


def test_notes_and_warnings_of_a_check_are_sentences(study: Path) -> None:
    told = json.loads(run("check", str(study), "--json").out)
    for text in (*told["notes"], *told["warnings"]):
        assert text.endswith("."), text


def test_check_refuses_a_parquet_column_that_holds_lists(tmp_path: Path) -> None:
    """A release refuses it too; ``init`` says so of the column and proposes no kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [1, 2], "tags": [["a"], []], "who": [{"a": 1}, {"a": 2}]}), tmp_path / "t.parquet")
    made = run("init", str(tmp_path / "t.parquet"), "--out", str(tmp_path / "t.toml"))
    text = (tmp_path / "t.toml").read_text("utf-8")
    assert made.code == 0
    assert text.count("holds several values in a cell") == 2
    head = text.partition("[columns.tags]")[0]
    head = head.replace("[person]", '[person]\nrows = "one_each"\nadjacency = "add_remove"')
    head = head.replace("[budget]", '[budget]\nepsilon = "1"')
    end = '[[release]]\nname = "first"\nepsilon = "0.5"\nask = ["count"]\n'
    (tmp_path / "t.toml").write_text(head + end, "utf-8")
    assert run("check", str(tmp_path / "t.toml")).code == 0
    column = '[columns.tags]\nkind = "category"\namong = ["a"]\n'
    (tmp_path / "t.toml").write_text(head + column + end, "utf-8")
    done = run("check", str(tmp_path / "t.toml"))
    assert done.code == 5
    assert "column tags holds list: a cell has several values" in done.said


@pytest.mark.wide
def test_check_doubts_a_decimal_point_between_semicolons(study: Path) -> None:
    """As ``init`` does; a declared decimal comma, and commas between cells, are not doubted."""
    for sign, decimal, doubted in ((";", "", True), (";", 'decimal = ","\n', False), (",", "", False)):
        text = study.read_text("utf-8").replace("[study]", f'[study]\ndelimiter = "{sign}"\n{decimal}')
        place = study.parent / "doubted.toml"
        place.write_text(text, "utf-8")
        (study.parent / "clinic.csv").write_text("pid,age,cost,town,diagnosis\n".replace(",", sign), "utf-8")
        said = run("check", str(place)).said
        assert ("numbers are often 1234,5. If yours are: [study] decimal" in said) is doubted, said


@pytest.mark.parametrize(
    ("declared", "example"),
    [("", "2024-12-31"), ('format = "dd.mm.yyyy"\n', "31.12.2024"), ('format = "%m/%d/%Y"\n', "12/31/2024")],
)
def test_check_says_how_dates_are_spelt(study: Path, declared: str, example: str) -> None:
    text = study.read_text("utf-8")
    day = f'[columns.day]\nkind = "date"\nlow = 2024-01-01\nhigh = 2024-12-31\n{declared}\n'
    study.write_text(text.replace("[columns.age]", f"{day}[columns.age]"), "utf-8")
    (study.parent / "clinic.csv").write_text("pid,age,cost,town,diagnosis,day\n", "utf-8")
    assert f"numbers like 1234.5, day like {example}" in run("check", str(study)).said


@pytest.mark.parametrize(("written", "warned"), [("31.12.2024", True), ("2024-12-31", False)])
def test_a_release_warns_of_dates_that_were_not_read(written: str, warned: bool, tmp_path: Path) -> None:
    """Counts of 0 stood there, and one clause far below."""
    (tmp_path / "s.csv").write_text("day\n" + f"{written}\n" * 4000, "utf-8")
    (tmp_path / "s.toml").write_text(
        '[study]\nsource = "s.csv"\nledger = "s.ledger"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n'
        '[budget]\nepsilon = "1"\n[columns.day]\nkind = "date"\nlow = 2024-01-01\nhigh = 2024-12-31\n',
        "utf-8",
    )
    asked = ("--ask", "count by month(day)", "--epsilon", "1", "--yes", "--out", str(tmp_path / "out"))
    done = run("release", str(tmp_path / "s.toml"), *asked)
    assert done.code == 0, done.said
    said = " ".join(done.err.split())
    assert ("warning" in said and "declare how they are written: na, format" in said) is warned, said


def test_check_names_every_problem_at_once(study: Path) -> None:
    text = study.read_text("utf-8").replace('"mean(age)"', '"mean(agee)", "mode(age)"')
    study.write_text(text.replace('["quantile(cost, 0.99)"]', '["sd(towns)"]'), encoding="utf-8")
    done = run("check", str(study), "--json")
    assert done.code == 5
    problems = done.document["error"]["problems"]
    assert len(problems) == 3
    assert all(word in told for word, told in zip(("agee", "mode", "towns"), problems, strict=True))


def test_a_folder_takes_files_by_receipt_and_a_taken_name_is_kept(study: Path) -> None:
    (study.parent / "out").mkdir()
    words = ("release", str(study), "--ask", "count", "--epsilon", "0.1")
    assert run(*words, "--out", "out").code == 0
    assert run(*words, "--out", "out/count-{receipt}").code == 0
    assert {path.name for path in (study.parent / "out").glob("*.json")} == {"r-0001.json", "count-r-0002.json"}
    (study.parent / "out" / "r-0003.csv").write_text("of another study of this folder", "utf-8")
    assert run(*words, "--out", "out").code == 0
    assert (study.parent / "out" / "clinic-r-0003.json").is_file()
    (study.parent / "late.csv").symlink_to(study.parent / "elsewhere")  # a link that leads nowhere yet
    refused = run(*words, "--out", "late")
    assert refused.code == 5
    assert not (study.parent / "elsewhere").exists()


def test_init_writes_keys_that_only_their_owner_reads(study: Path) -> None:
    done = run("init", "--key", "officer", "--json")
    assert done.document == {"verb": "init", "private": "officer.key", "public": "officer.pub"}
    assert (study.parent / "officer.key").stat().st_mode & 0o777 == 0o600
    assert run("init", "--key", "officer").code == 5


def test_check_tells_the_odds_of_the_budget(study: Path) -> None:
    done = run("check", str(study))
    assert done.code == 0
    odds = "add_remove with a budget of (ε 3, δ 1e-8): one person's presence changes any odds by at most ×20.1"
    assert odds in " ".join(done.out.split())
    assert "×404" in done.out  # e^6 is 403.4, and "at most ×403" was too little
    assert "columns.cost has no bounds" in done.err
    assert "Values of age that are not integers count as missing" in done.err


def test_check_finds_a_release_that_cannot_be_asked(study: Path) -> None:
    study.write_text(study.read_text("utf-8").replace("mean(age)", "mean(agee)"), encoding="utf-8")
    done = run("check", str(study))
    assert done.code == 5
    assert "[[release]] 'table 4': mean(agee): There is no column 'agee'. Did you" in " ".join(done.said.split())


def test_check_warns_of_what_depends_on_the_number_of_people(study: Path) -> None:
    text = study.read_text("utf-8").replace('adjacency = "add_remove"', 'adjacency = "substitute"')
    study.write_text(text.replace("quantile(cost, 0.99)", "quantile(age, 0.999)"), encoding="utf-8")
    done = run("check", str(study))
    assert done.code == 0
    assert "what one person's record says changes any odds by at most ×20.1; presence is not hidden" in done.said
    assert "[[release]] 'tail': quantile(age, 0.999) at this ε would be a guess" in done.said
    study.write_text(text.replace("quantile(cost, 0.99)", "quantile(aged, 0.99)"), encoding="utf-8")
    assert run("check", str(study)).code == 5


def test_plan_is_free_and_says_when_too_little_is_left(study: Path) -> None:
    done = run("plan", str(study), "--ask", "count", "--epsilon", "4")
    assert done.code == 0
    assert "would be refused" in done.err
    assert "is left. Nothing was charged." in " ".join(done.said.split())
    assert not (study.parent / "clinic.ledger").exists()
    assert run("plan", str(study), "--ask", "count", "--epsilon", "1", "--json").document["affordable"] is True


def test_plan_from_a_wanted_width(study: Path) -> None:
    found = run("plan", str(study), "--want", "count=20", "--want", "histogram(age, edges=0:100:50)=40", "--json")
    assert [line["name"] for line in found.document["statistics"]][:2] == ["count", "histogram(age, edges=0:100:50)"]
    less = run("plan", str(study), "--want", "count=20", "--epsilon", "0.001")
    assert (less.code, "These half-widths need ε" in less.err) == (5, True)
    assert run("plan", str(study), "--want", "count").code == 2
    assert run("plan", str(study), "--want", "count=-1").code == 5


@pytest.mark.wide
def test_a_test_of_ranks_is_printed(tmp_path: Path) -> None:
    """Its noise was a scalar of an array, which no text takes: an internal fault after the charge."""
    study = clinic(tmp_path)
    asked = ("--ask", "test(age ~ town, kind=ranks)", "--epsilon", "2", "--try-anyway")
    done = run("release", str(study), *asked, "--out", str(tmp_path / "ranks"))
    assert done.code == 0, done.said
    assert "p-value" in done.out


def test_rehearse_says_that_the_rows_are_made_up(study: Path) -> None:
    one, two = (run("rehearse", str(study), "--release", "table 4", "--people", "50") for _ in range(2))
    assert one == two
    assert one.code == 0
    assert one.out.startswith("Made-up rows for 50 people; your file was not read and nothing was charged.")
    found = rt.open(study).rehearse(["count"], epsilon=1, people=50)
    assert repr(found).startswith("made-up rows for 50 people; your file was not read and nothing was charged")
    assert not (study.parent / "clinic.ledger").exists()


@pytest.mark.wide
def test_release_prints_answers_and_writes_four_files(study: Path) -> None:
    done = run("release", str(study), "--release", "table 4")
    assert done.code == 0, done.err
    for piece in (
        "count",
        "mean(age)",
        "town a",
        "95 % interval",
        "half-widths:",
        "noise",
        "guarantee",
        "10 % likely",
    ):
        assert piece in done.out
    assert "(ε 2, δ 1e-8) of (ε 3, δ 1e-8) is left" in done.said
    assert "reserve … read … draw … commit r-0001" in " ".join(done.err.split())
    assert "unsigned" in done.err
    assert {path.name for path in study.parent.glob("table4.*")} == {
        f"table4.{x}" for x in ("csv", "json", "html", "svg")
    }
    assert [line.state for line in Ledger.open("clinic.ledger").releases()] == ["committed"]


@pytest.mark.wide
def test_a_second_release_of_that_name_is_refused_before_the_charge(study: Path) -> None:
    (study.parent / "table4.svg").write_text("mine", encoding="utf-8")
    done = run("release", str(study), "--release", "table 4")
    assert (done.code, "Nothing was charged" in done.said) == (5, True)
    assert not (study.parent / "clinic.ledger").exists()
    assert run("release", str(study), "--release", "table 4", "--force").code == 0
    assert (study.parent / "table4.svg").read_text("utf-8") != "mine"


@pytest.mark.wide
def test_a_no_reply_is_shown_and_ends_with_three(study: Path) -> None:
    done = run("release", str(study), "--release", "tail")
    assert done.code == 3
    assert "no reply" in done.out
    assert "reticent explain no-reply" in done.said
    assert "Asking again is a new release and is charged again" in done.said
    told = run("release", str(study), "--release", "tail", "--out", "again", "--json").document
    assert told["replied"] is False
    assert told["answers"][0]["cells"] == [{"label": [], "outcome": "no_reply"}]


@pytest.mark.wide
def test_the_budget_refuses_with_four(study: Path) -> None:
    done = run("release", str(study), "--ask", "count", "--epsilon", "3.5")
    assert done.code == 4
    assert "Nothing was charged" in done.said
    told = run("release", str(study), "--ask", "count", "--epsilon", "3.5", "--json").document
    assert (told["error"]["kind"], told["error"]["charged"], told["error"]["exit"]) == ("budget", "nothing", 4)


@pytest.mark.wide
def test_a_changed_file_is_noticed_before_the_charge(study: Path) -> None:
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1").code == 0
    with (study.parent / "clinic.csv").open("a", encoding="utf-8") as table:
        table.write("new,30,1.5,a,none\n")
    done = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b")
    assert done.code == 5
    assert "The source has changed since r-0001" in done.said
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b", "--same-people").code == 0


@pytest.mark.wide
def test_a_second_ledger_for_one_file_is_refused(study: Path) -> None:
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1").code == 0
    done = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b", "--ledger", "other.ledger")
    assert done.code == 5
    assert "Two ledgers for one file would promise twice what is true" in done.said


def test_a_study_without_a_ledger_cannot_release(study: Path) -> None:
    study.write_text(study.read_text("utf-8").replace('ledger = "clinic.ledger"\n', ""), encoding="utf-8")
    done = run("release", str(study), "--ask", "count", "--epsilon", "0.1")
    assert done.code == 5
    assert 'ledger = "clinic.ledger"' in done.said


@pytest.mark.wide
def test_ledger_shows_verifies_and_closes(study: Path) -> None:
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--who", "anna").code == 0
    shown = run("ledger", "show", str(study))
    assert re.search(r"r-0001 .* anna +count +ε 0\.1 +committed", shown.out)
    assert "chain ok: 3 entries" in shown.out
    head = run("ledger", "show", "clinic.ledger", "--json").document["head"]
    assert run("ledger", "verify", "clinic.ledger", "--head", head).code == 0
    assert run("ledger", "verify", "clinic.ledger", "--head", "0" * 64).code == 6
    assert run("ledger", "export", "clinic.ledger").document["head"] == head
    assert run("ledger", "export", "clinic.ledger", "--out", "export.json").code == 0
    assert json.loads((study.parent / "export.json").read_text("utf-8"))["head"] == head
    assert run("ledger", "export", "clinic.ledger", "--out", "export.json").code == 5
    assert run("ledger", "close", "clinic.ledger", "--reason", "study over").code == 0
    done = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b")
    assert (done.code, "closed" in done.said) == (4, True)


@pytest.mark.wide
def test_a_ledger_takes_over_the_budget_of_the_study_file(study: Path) -> None:
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1").code == 0
    text = study.read_text("utf-8")
    changed = re.sub(r'epsilon( *)= "3"', r'epsilon\1= "4"', text, count=1)
    assert changed != text
    study.write_text(changed, encoding="utf-8")
    refused = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b")
    assert (refused.code, "amend" in refused.said) == (5, True)
    assert run("ledger", "amend", str(study), "--reason", "minute 9").code == 0
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b").code == 0


@pytest.mark.wide
def test_an_older_copy_is_adopted_with_nothing_left(study: Path) -> None:
    folder = study.parent
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1").code == 0
    older = (folder / "clinic.ledger").read_bytes()
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "b").code == 0
    for file in folder.glob("clinic.ledger*"):
        file.unlink()
    (folder / "clinic.ledger").write_bytes(older)
    refused = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "c")
    assert (refused.code, "older copy" in refused.said) == (5, True)
    assert run("ledger", "adopt", str(study), "--reason", "the disk died").code == 0
    assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", "c").code == 4


def test_a_certificate_is_explained(released: Path) -> None:
    done = run("explain", str(released / "table4.json"), "--prior", "0.1")
    assert done.code == 0
    assert "factor of at most 2.72. From 10 % to no more than 23.2 %" in done.said
    more = run("explain", str(released / "table4.json"), "--proof", "--checklist").out
    assert "└" in more
    assert "2 Unit of privacy" in more
    for prior in ("0", "1", "nan", "-0.5"):
        assert run("explain", str(released / "table4.json"), "--prior", prior).code == 5


@pytest.mark.parametrize("word", [*glossary.TEXTS, "ε", "No reply", "NO_REPLY", "add-remove", "exit code", "P(reply)"])
def test_words_are_explained(word: str) -> None:
    done = run("explain", word)
    assert done.code == 0
    assert len(done.out) > 100


@pytest.mark.wide
def test_other_words_name_the_nearest() -> None:
    done = run("explain", "epsillon")
    assert done.code == 5
    assert "Did you mean epsilon?" in done.said
    assert all(word in run("explain").out for word in glossary.TEXTS)


def test_verify_tells_each_check(released: Path) -> None:
    certificate, ledger, key = (str(released / name) for name in ("table4.json", "clinic.ledger", "officer.pub"))
    done = run("verify", certificate, "--ledger", ledger, "--key", key)
    assert done.code == 0, done.said
    assert "signature ok (Ed25519, officer.pub)" in done.out
    assert "losses re-derived: ε 1 equal" in done.out
    unknown = run("verify", certificate)
    assert (unknown.code, "FAILED" in unknown.out) == (6, True)
    alone = run("verify", certificate, "--allow-unsigned")
    assert alone.code == 0
    assert "not checked" in alone.out
    assert "whether the numbers were changed" in alone.err


def test_verify_says_how_to_check_a_certificate_without_a_signature(released: Path, tmp_path: Path) -> None:
    unsigned = json.loads((released / "table4.json").read_text("utf-8")) | {"signature": None}
    (tmp_path / "unsigned.json").write_text(json.dumps(unsigned), "utf-8")
    done = run("verify", str(tmp_path / "unsigned.json"))
    assert done.code == 6
    assert "Nothing else failed. To check a certificate without a signature: --allow-unsigned." in done.err
    assert run("verify", str(tmp_path / "unsigned.json"), "--allow-unsigned").code == 0


def test_verify_finds_a_changed_certificate(released: Path, tmp_path: Path) -> None:
    changed = json.loads((released / "table4.json").read_text("utf-8"))
    changed["answers"][0]["cells"][0]["value"] += 1
    (tmp_path / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    done = run("verify", str(tmp_path / "changed.json"), "--key", str(released / "officer.pub"), "--json")
    assert done.code == 6
    assert done.document["ok"] is False
    assert [check["ok"] for check in done.document["checks"]].count(False) == 1


@pytest.mark.wide
def test_json_has_the_documented_fields(released: Path, study: Path) -> None:
    (study.parent / "one.csv").write_text("x\n1\n", encoding="utf-8")
    certificate, ledger = str(released / "table4.json"), str(released / "clinic.ledger")
    table4 = ("--release", "table 4")
    commands = {
        "`init FILE`": ("init", "one.csv"),
        "`init --key`": ("init", "--key", "a"),
        "`check`": ("check", str(study)),
        "`plan`": ("plan", str(study), *table4),
        "`rehearse`": ("rehearse", str(study), "--ask", "count", "--epsilon", "1", "--people", "9"),
        "`release`": ("release", str(study), "--ask", "count", "--epsilon", "0.1"),
        "`sql`": ("sql", str(study), "SELECT COUNT(*) FROM study", "--epsilon", "0.1", "--force"),
        "`synth`": ("synth", str(study), "--columns", "age", "--epsilon", "0.1"),
        "`ledger show`": ("ledger", "show", ledger),
        "`ledger verify`": ("ledger", "verify", ledger),
        "`explain`": ("explain",),
        "`explain WORD`": ("explain", "delta"),
        "`explain CERTIFICATE`": ("explain", certificate),
        "`verify`": ("verify", certificate),
        "`compare`": ("compare", certificate, "--discoveries", "--null", "1"),
        "`audit`": ("audit", str(study), *table4, "--triples", "3"),
        "`doctor`": ("doctor", str(study)),
        "`registry`": ("registry", str(released)),
        "`ledger amend`": ("ledger", "amend", str(study), "--reason", "as before"),
        "`withdraw`": ("withdraw", str(study), "r-0001", "--reason", "wrong"),
        "`migrate`": ("migrate", str(study)),
        "`ledger adopt`": ("ledger", "adopt", str(study), "--reason", "lost"),
        "`ledger close`": ("ledger", "close", "clinic.ledger", "--reason", "over"),
    }
    documented = {
        row[0].strip(): re.findall(r"`(\w+)`", row[1])
        for row in re.findall(
            r"^\| (`[^|]+`) \| (`[a-z_]+`(?:, `[a-z_]+`)*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
        )
        if not row[0].startswith("`survey")  # tests/unit/test_survey_cli.py runs those
    }
    assert set(documented) == {*commands, "`demo`"}
    for name, command in commands.items():
        assert list(run(*command, "--json").document)[1:] == documented[name], name


def test_stems_are_made_of_names() -> None:
    assert [stem_of(name) for name in ("table 4", "Public use file", "", "a/../b", "  ")] == [
        "table4",
        "public-use-file",
        "answers",
        "a-b",
        "answers",
    ]


@pytest.mark.wide
def test_json_gives_the_guarantee_as_data(tmp_path: Path) -> None:
    study = clinic(tmp_path)
    asked = ("--ask", "count", "--epsilon", "0.1", "--json")
    for verb in ("rehearse", "release"):
        out = ("--out", str(tmp_path / "out")) if verb == "release" else ()
        found = run(verb, str(study), *asked, *out).document["guarantee"]
        assert found.pop("words").startswith("ε 0.1, add or remove one person")
        assert found == {
            **{"epsilon": "0.1", "delta": "0", "rho": None},
            **{"adjacency": "add_remove", "unit": "person", "rows": 3},
        }


@pytest.mark.wide
def test_check_plan_and_release_agree_on_a_release_with_a_reason_for_its_price(study: Path) -> None:
    text = study.read_text("utf-8")
    text = re.sub(r"(?m)^epsilon = .*$", 'epsilon = "30"\noverride = "made-up rows"', text, count=1)
    stated = '\n[[release]]\nname = "dear"\nepsilon = "12"\nask = ["mean(age)"]\n'
    study.write_text(f'{text}{stated}override = "made-up rows"\n', encoding="utf-8")
    dear = ("--release", "dear")
    for verb in (
        ("check",),
        ("plan", *dear),
        ("rehearse", *dear),
        ("audit", *dear, "--triples", "3"),
        ("release", *dear),
    ):
        done = run(verb[0], str(study), *verb[1:])
        assert done.code == 0, done.err
    without = text.replace('override = "made-up rows"\n', "").replace('epsilon = "30"', 'epsilon = "9"')
    study.write_text(f"{without}{stated}", encoding="utf-8")
    assert {run(verb, str(study), *more).code for verb, *more in (("check",), ("release", "--release", "dear"))} == {5}


def test_a_picture_for_out_and_an_option_near_to_help_alone_are_refused_in_plain_words(study: Path) -> None:
    done = run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--out", str(study.parent / "t.png"))
    assert done.code == 5
    assert "--out writes no .png: the figure is written as .svg" in done.err
    assert "Nothing was charged" in done.err
    assert list(study.parent.glob("t.png*")) == []
    done = run("ledger", "amend", str(study), "--delta", "3")
    assert "No such option '--delta'. See: reticent ledger amend --help" in " ".join(done.err.split())
