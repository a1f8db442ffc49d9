"""Several tables: the question of a hospital over three files, by a line of a study file and one of Python."""

from __future__ import annotations

import contextlib
import csv
import json
import pickle
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from fractions import Fraction
from operator import methodcaller
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.csv
import pytest

import reticent as rt
from reticent.data import further_tables
from reticent.errors import QuestionError
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.study.selection import Selection
from tests.support.cli_kit import run
from tests.support.replayed_noise import same_noise as same_noise

FILE = """
[study]
title = "visits"
source = "visits.csv"
ledger = "visits.ledger"
[person]
column = "patient"
adjacency = "add_remove"
rows = { at_most = 2 }
[budget]
epsilon = "9"
[columns]
cost = { kind = "real", low = 0, high = 20000 }
admitted = { kind = "date", low = 2024-01-01, high = 2024-12-31 }
discharged = { kind = "date", low = 2024-01-01, high = 2025-03-31 }
nights = { from = "days(discharged - admitted)" }
[tables.patients]
source = "patients.csv"
[tables.patients.columns]
age = { kind = "integer", low = 0, high = 110 }
sex = { kind = "category", among = ["f", "m"] }
[tables.wards]
source = "wards.csv"
public = true
key = "ward"
[[release]]
name = "table 1"
epsilon = "3"
ask = ["mean(cost) where patients.age >= 65 and nights > 2 by wards.name, month(admitted)"]
"""
SQL = """SELECT w.name AS ward, MONTH(admitted) AS month, AVG(v.cost) AS cost
         FROM visits v LEFT JOIN patients p ON v.patient = p.patient LEFT JOIN wards w USING (ward)
         WHERE p.age >= 65 AND nights > 2 GROUP BY w.name, month"""
ASK = "mean(cost) where patients.age >= 65 and nights > 2 by wards.name, month(admitted)"


def put(folder: Path, file: str, **columns: Any) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (folder / file).write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    generator, visits, people = np.random.default_rng(65), 6_000, 4_000
    first = np.datetime64("2024-01-01") + generator.integers(0, 366, visits)
    put(
        tmp_path,
        "visits.csv",
        patient=generator.integers(0, people, visits),
        ward=generator.choice(["n", "s", "x"], visits, p=[0.5, 0.4, 0.1]),
        cost=generator.gamma(2.0, 2000.0, visits).round(2),
        admitted=first,
        discharged=first + generator.integers(0, 12, visits),
    )
    age, sex = generator.integers(40, 100, people), generator.choice(["f", "m"], people)
    put(tmp_path, "patients.csv", patient=np.arange(people), age=age, sex=sex)
    put(tmp_path, "wards.csv", ward=["n", "s"], name=["North", "South"], beds=[20, 30])
    (tmp_path / "study.toml").write_text(FILE, "utf-8")
    return tmp_path / "study.toml"


def in_memory(folder: Path) -> rt.Study:
    visits, patients, wards = (pyarrow.csv.read_csv(folder / f"{name}.csv") for name in ("visits", "patients", "wards"))
    return rt.study(
        visits,
        person="patient",
        rows_each=2,
        adjacency="add_remove",
        budget=9,
        columns={
            "cost": rt.real(0, 20_000),
            "admitted": rt.date("2024-01-01", "2024-12-31"),
            "discharged": rt.date("2024-01-01", "2025-03-31"),
            "nights": (rt.col("discharged") - rt.col("admitted")).days(),
        },
        tables={
            "patients": rt.table(patients, columns={"age": rt.integer(0, 110), "sex": rt.category(["f", "m"])}),
            "wards": rt.table(wards, public=True, key="ward"),
        },
    )


def values(answer: rt.Answer) -> list[object]:
    return [cell.outcome.value.value for cell in answer if isinstance(cell.outcome, Reply)]


def keyed(selection: Selection) -> dict[tuple[str, str], object]:
    """The cost of each ward and month."""
    found = selection.columns()
    return dict(zip(zip(map(str, found["ward"]), map(str, found["month"]), strict=True), found["cost"], strict=True))


def of_answer(answer: rt.Answer) -> dict[tuple[str, ...], object]:
    return {tuple(str(key) for _, key in cell.label): value for cell, value in zip(answer, values(answer), strict=True)}


@pytest.mark.wide
def test_a_line_of_sql_joins_the_tables_as_the_study_declares(study: Path, same_noise: Callable[[], None]) -> None:
    opened = rt.open(study)
    assert str(opened.plan(SQL, epsilon=3).lines[0].name) == ASK
    same_noise()
    selected = opened.sql(SQL, epsilon=3)
    same_noise()
    (answer,) = in_memory(study.parent).release([ASK], epsilon=3).answers
    assert keyed(selected) == of_answer(answer)
    assert selected.release.certificate.verify(allow_unsigned=True).ok
    text = SQL.replace("LEFT JOIN", "JOIN")
    same_noise()
    inner = opened.sql(text, epsilon=3)
    joins = inner.release.certificate.document["study"]["tables"]
    assert [line.partition(" join ")[0] for line in joins] == ["inner", "inner"]
    assert "inner join patients on person = patients.patient rows at most 1" in joins
    changed = FILE.replace('source = "patients.csv"', 'source = "patients.csv"\njoin = "inner"')
    (study.parent / "inner.toml").write_text(changed.replace("public = true", 'public = true\njoin = "inner"'), "utf-8")
    same_noise()
    (declared,) = rt.open(study.parent / "inner.toml").release([ASK], epsilon=3).answers
    assert keyed(inner) == of_answer(declared) != keyed(selected)
    assert opened.rehearse(text, epsilon=1).answers[0].name == ASK
    with pytest.raises(QuestionError, match=r"study\.sql"):
        opened.release(text, epsilon=1)
    done = run("sql", str(study), text, "--epsilon", "1", "--plan")
    assert done.code == 0, done.err
    assert ASK in done.out


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_join_counts_rows_with_a_partner_and_hides_how_many(adjacency: Literal["add_remove", "substitute"]) -> None:
    """1,000 visits, 600 with a patient: at epsilon 5 the noise is beyond 12 with probability below 1e-9."""
    visits = {"patient": list(range(1_000)), "cost": [1.0] * 1_000}
    patients = rt.table({"patient": list(range(600)), "age": [50] * 600}, columns={"age": rt.integer(0, 110)})
    opened = rt.study(
        visits,
        person="patient",
        rows_each=1,
        adjacency=adjacency,
        columns={"cost": rt.real(0, 9)},
        budget=10,
        tables={"patients": patients},
    )
    found = opened.sql("SELECT COUNT(*) AS n FROM study v JOIN patients p ON v.patient = p.patient", epsilon=5)
    assert found.release.guarantee.loss == rt.PureDP(Fraction(5))
    (n,) = found.columns()["n"]
    assert 588 <= float(str(n)) <= 612
    left = opened.sql("SELECT COUNT(*) AS n FROM study v LEFT JOIN patients p USING (patient)", epsilon=5)
    (n,) = left.columns()["n"]
    assert 988 <= float(str(n)) <= 1012


@pytest.mark.wide
def test_three_files_answer_one_line_of_file_and_of_python(study: Path, same_noise: Callable[[], None]) -> None:
    same_noise()
    done = run("release", str(study), "--yes", "--json", "--out", str(study.parent / "file"))
    assert done.code == 0, done.err
    (filed,) = json.loads(done.out)["answers"]
    asked = (
        rt.mean("cost")
        .where((rt.col("age") >= 65) & (rt.col("nights") > 2))
        .by("wards.name", rt.col("admitted").month())
    )
    same_noise()
    release = in_memory(study.parent).release([asked], epsilon=3)
    (answer,) = release.answers
    assert len(answer.cells) == 24
    assert [cell["value"] for cell in filed["cells"]] == values(answer)
    assert answer.name == filed["name"] == ASK
    assert all(isinstance(value, float) and 1_000 < value < 9_000 for value in values(answer))
    assert release.certificate.verify(allow_unsigned=True).ok


def test_joined_counts_are_those_of_the_files(study: Path) -> None:
    opened = rt.open(study)
    release = opened.release(["count", "count by wards.name", "count by sex", "mean(wards.beds)"], epsilon="9")
    counts = {cell.label[0][1]: cell.outcome for cell in release["count by wards.name"]}
    visits = pyarrow.csv.read_csv(study.parent / "visits.csv").to_pandas()
    kept = visits.groupby("patient").ward.count().clip(upper=2).sum()
    assert abs(release["count"].value - kept) < 30
    north, south = (counts[name] for name in ("North", "South"))
    assert isinstance(north, Reply)
    assert isinstance(south, Reply)
    assert abs((north.value.value + south.value.value) / kept - 0.9) < 0.03  # ward x has no partner
    assert 23.5 < release["mean(wards.beds)"].value < 25.5


def test_certificate_says_the_joins_and_verify_reads_them(study: Path) -> None:
    certificate = rt.open(study).release(["mean(patients.age)"], epsilon="1").certificate
    lines = certificate.document["study"]["tables"]
    assert lines[0] == "left join patients on person = patients.patient rows at most 1"
    assert lines[1].startswith("left join wards on ward = wards.ward public sha256:")
    assert "joined tables read again: patients, wards" in str(certificate.verify(allow_unsigned=True))
    document = json.loads(certificate.to_json())
    document["study"]["tables"][0] = "left join patients on person = wards.patient rows at most 1"
    forged = study.parent / "forged.json"
    forged.write_text(json.dumps(document))
    assert not rt.read_certificate(forged).verify(allow_unsigned=True).ok


def test_a_changed_public_table_has_another_digest(study: Path) -> None:
    before = rt.open(study).schema.tables["wards"].digest
    put(study.parent, "wards.csv", ward=["s", "n"], name=["South", "North"], beds=[30, 20])
    assert rt.open(study).schema.tables["wards"].digest == before  # the order of rows says nothing
    put(study.parent, "wards.csv", ward=["s", "n"], name=["South", "North"], beds=[30, 21])
    assert rt.open(study).schema.tables["wards"].digest != before


def test_the_ledger_counts_for_every_private_file(study: Path) -> None:
    rt.open(study).release(["count"], epsilon="1")
    with pytest.raises(rt.LedgerError, match="already under"):
        rt.study(
            study.parent / "patients.csv",
            adjacency="add_remove",
            person="patient",
            rows_each=1,
            columns={"age": rt.integer(0, 110)},
            budget=1,
        )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('key = "ward"', "", "looked up by a key"),
        ('key = "ward"', 'key = { ward = "nmae" }', "nmae"),
        ('source = "wards.csv"', 'source = "visits.csv"', "is no unique key: two rows have"),
        ('source = "patients.csv"', 'source = "patient.csv"', "There is no file patient.csv"),
        ("[tables.patients]", "[tables.patients]\npublic = true", "looked up by a key"),
        ("[tables.patients]", '[tables.patients]\njoin = "outer"', 'join is "left"'),
        ("[tables.patients]", "[tables.patients]\nrows = 2", "at_most = 3"),
        (
            "[tables.patients]",
            '[tables.patients]\nkye = "x"',
            r"^\[tables.patients\] has an unknown key 'kye'. Did you mean key",
        ),
        ('column = "patient"\n', "", "needs a person column"),
        ('age = { kind = "integer", low = 0, high = 110 }', 'age = "x"', "must be a table"),
    ],
)
def test_problems_of_further_tables_are_said_with_their_name(study: Path, old: str, new: str, said: str) -> None:
    study.write_text(FILE.replace(old, new, 1), "utf-8")
    with pytest.raises(rt.SpecError, match=said):
        rt.open(study).release(["count"], epsilon="1")


def test_check_warns_of_a_listed_key_that_a_public_table_lacks(study: Path) -> None:
    wards = '[columns]\nward = {{ kind = "category", among = [{}] }}\n'
    listed = [line.split(",")[0] for line in (study.parent / "wards.csv").read_text().splitlines()[1:]]
    study.write_text(FILE.replace("[columns]\n", wards.format(", ".join(f'"{key}"' for key in listed)), 1), "utf-8")
    assert "[tables.wards] has no" not in run("check", str(study)).err
    study.write_text(FILE.replace("[columns]\n", wards.format('"7", "8", "9", "10"'), 1), "utf-8")
    told = " ".join(run("check", str(study)).err.split())
    assert (
        "[tables.wards] has no ward 7, 8, 9 and 1 more, which columns.ward lists: such rows have missing cells" in told
    )


def test_init_proposes_further_tables_from_their_headers_alone(study: Path) -> None:
    (study.parent / "regions.csv").write_text("beds;size\n1;2\n", "utf-8")
    done = run("init", "visits.csv", "patients.csv", "wards.csv", "regions.csv", "--out", "begun.toml")
    assert done.code == 0, done.err
    text = (study.parent / "begun.toml").read_text("utf-8")
    found = tomllib.loads(text)["tables"]
    assert {name: table["source"] for name, table in found.items()} == {
        name: f"{name}.csv" for name in ("patients", "wards", "regions")
    }
    assert [sorted(table["columns"]) for table in found.values()] == [["age", "sex"], ["beds", "name"], ["size"]]
    assert '# key    = "ward"' in text
    assert '# key    = "wards.beds"' in text
    assert found["regions"]["delimiter"] == ";"
    put(study.parent, "rows.csv", **{"1962": [3]})
    assert run("init", "visits.csv", "rows.csv", "--out", "other.toml").code != 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cost = {", "price = {", "no column is called price"),
        ('column = "patient"', 'column = "person"', "no column is called person"),
        ('key = "ward"', 'key = { wrad = "ward" }', "no column is called wrad"),
        ("age = {", "years = {", "no column 'years'"),
    ],
)
def test_check_finds_a_column_that_no_file_has(study: Path, old: str, new: str, said: str) -> None:
    assert run("check", str(study)).code == 0
    rest, _, _ = FILE.replace(old, new, 1).partition("[[release]]")
    study.write_text(rest, "utf-8")
    done = run("check", str(study))
    assert done.code != 0
    assert said in " ".join(done.err.split())


def test_an_ambiguous_name_asks_which_table(study: Path) -> None:
    study.write_text(FILE.replace("sex = ", "name = "), "utf-8")
    with pytest.raises(rt.QuestionError, match=r"Say patients\.name or wards\.name"):
        rt.open(study).plan(["count by name"], epsilon=1)


def test_rows_without_a_partner_stay_or_go(study: Path) -> None:
    left = rt.open(study).release(["count"], epsilon="2")["count"].value
    study.write_text(FILE.replace('key = "ward"', 'key = "ward"\njoin = "inner"'), "utf-8")
    inner = rt.open(study).release(["count"], epsilon="2")["count"]
    assert 0.85 < inner.value / left < 0.97
    assert "of rows with a partner in wards" in inner.estimand


# --- rows that reach their person through a key -----------------------------------------------------------------------


def through_accounts(keys: int = 2, study: dict[str, Any] | None = None, **more: Any) -> rt.Study:
    """Persons 0 to 999, each with account i, of whom those below 100 share account 5000 + i with person i + 100."""
    shared = [(5_000 + i, owner) for i in range(100) for owner in (i, i + 100)]
    pairs = [*((i, i) for i in range(1_000)), *shared]
    accounts = {"account": [a for a, _ in pairs], "patient": [p for _, p in pairs]}
    rows = [*range(1_000), *(5_000 + i for i in range(100))]
    told: dict[str, Any] = {"rows_each": 3, "adjacency": "add_remove", "columns": {"cost": rt.real(0, 20)}}
    return rt.study(
        {"account": rows, "cost": [10.0] * len(rows)},
        person="accounts.patient",
        **told | (study or {}),
        tables={
            "accounts": rt.table(accounts, key="account", rows_each={"keys": keys, **more}),
            "patients": rt.table(
                {"patient": range(1_000), "age": [40] * 500 + [80] * 500}, columns={"age": rt.integer(0, 99)}
            ),
        },
        budget=60,
        override="made-up rows",
    )


@pytest.mark.parametrize(("keys", "more", "rows"), [(2, {}, 1_000), (2, {"owners": 2}, 1_200)])
def test_shared_keys_are_dropped_or_counted_for_each(keys: int, more: dict[str, int], rows: int) -> None:
    study = through_accounts(keys, None, **more)
    release = study.release(["count", "count where age >= 60"], epsilon=50, record=rt.Record(override="made-up rows"))
    assert abs(release["count"].value - rows) < 25
    assert abs(release["count where patients.age >= 60"].value - 500) < 25
    assert release.certificate.verify(allow_unsigned=True).ok


def test_the_price_of_keys_is_shown_and_charged() -> None:
    plan = through_accounts(2).plan(["count"], epsilon=4)
    assert "one person makes 4 steps" in str(plan)
    one = through_accounts(1).plan(["count"], epsilon=1)
    assert plan.lines[0].expected.noise == one.lines[0].expected.noise  # 4 steps of 1 each
    study = through_accounts(2)
    release = study.release(["count"], epsilon=4)
    assert study.ledger.spent() == rt.PureDP(4)  # type: ignore[arg-type]  # equal to a Fraction
    (line,) = [text for text in release.certificate.document["study"]["tables"] if "accounts" in text]
    assert line.endswith("keys at most 2 owners at most 1")
    assert any("through accounts" in note for note in release.caveats)


@pytest.mark.wide
def test_households_are_reached_through_accounts_and_patients() -> None:
    """1,000 persons of 500 households with an account each; households with cost above 10 are those of age 80."""
    patients = {"patient": range(1_000), "house": [i // 2 for i in range(1_000)], "age": [40] * 500 + [80] * 500}
    tables = {  # in any order: each is reached by the one before
        "patients": rt.table(
            patients, key="accounts.patient", rows_each={"keys": 2}, columns={"age": rt.integer(0, 99)}
        ),
        "accounts": rt.table({"account": range(1_000), "patient": range(1_000)}, key="account", rows_each={"keys": 2}),
    }
    study = rt.study(
        {"account": range(1_000), "cost": [10.0] * 500 + [20.0] * 500},
        person="patients.house",
        unit="household",
        rows_each=2,
        adjacency="add_remove",
        columns={"cost": rt.real(0, 20)},
        tables=tables,
        budget=900,
        override="made-up rows",
    )
    assert study.schema.person.moved == 20
    release = study.release(
        ["count", "mean(cost) where age >= 60"], epsilon=800, record=rt.Record(override="made-up rows")
    )
    assert abs(release["count"].value - 1_000) < 20  # noise beyond that with probability below 1e-30
    assert release["mean(cost) where patients.age >= 60"].value > 19
    assert release.certificate.verify(allow_unsigned=True).ok
    lines = release.certificate.document["study"]["tables"]
    assert lines[0].startswith("inner join accounts on patients.patient = accounts.patient and account = ")
    assert lines[1].startswith(
        "inner join patients on person = patients.house and accounts.patient = patients.patient "
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"patients": {"key": "account"}}, "says whose a key is"),
        ({"accounts": {"rows_each": 1, "columns": {"kind": rt.integer(0, 9)}}}, "how many are kept of one person"),
        ({"accounts": {"key": "patients.account"}}, "keys of one another"),
        ({"patients": {"key": ["accounts.patient", "account"]}}, "by one key, accounts.patient"),
        ({"accounts": {"rows_each": {"keys": 90, "owners": 90}}}, "would make"),
        ({"wards": {"public": True, "key": "patients.ward"}}, "name a column of the main table"),
    ],
)
def test_a_chain_that_cannot_be_followed_is_refused_in_words(change: dict[str, dict[str, Any]], words: str) -> None:
    rows = {name: [1] for name in ("account", "patient", "house", "age", "ward", "kind")}
    declared: dict[str, dict[str, Any]] = {
        "accounts": {"key": "account", "rows_each": {"keys": 1}},
        "patients": {"key": "accounts.patient", "rows_each": {"keys": 1}, "columns": {"age": rt.integer(0, 99)}},
    }
    for name, told in change.items():
        declared[name] = {**declared.get(name, {}), **told}
    with pytest.raises(rt.SpecError, match=words):
        rt.study(
            rows,
            person="patients.house",
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={},
            tables={name: rt.table(rows, **told) for name, told in declared.items()},
        )


def test_a_public_table_is_looked_up_by_a_column_of_another_one() -> None:
    """300 of 1,000 persons live in ward n, and wards n and s are in regions a and b: three tables deep."""
    study = rt.study(
        {"patient": list(range(1_000)), "cost": [1.0] * 1_000},
        person="patient",
        rows_each=1,
        adjacency="add_remove",
        budget=30,
        override="made-up rows",
        columns={"cost": rt.real(0, 2)},
        tables={
            "regions": rt.table({"region": ["a", "b"], "size": [7, 9]}, public=True, key="wards.region"),
            "wards": rt.table({"ward": ["n", "s"], "region": ["a", "b"]}, public=True, key="patients.ward"),
            "patients": rt.table(
                {"patient": range(1_000), "ward": ["n"] * 300 + ["s"] * 700}, columns={"ward": rt.category(["n", "s"])}
            ),
        },
    )
    text = """SELECT r.size, COUNT(*) AS n FROM study v LEFT JOIN patients p ON v.patient = p.patient
              LEFT JOIN wards w ON p.ward = w.ward LEFT JOIN regions r ON w.region = r.region GROUP BY r.size"""
    found = study.sql(text, epsilon=20, record=rt.Record(override="made-up rows"))
    assert [round(float(str(n)), -2) for n in found.columns()["n"][::2]] == [300, 700]
    lines = found.release.certificate.document["study"]["tables"]
    assert [line.partition(" public")[0] for line in lines[1:]] == [
        "left join wards on patients.ward = wards.ward",
        "left join regions on wards.region = regions.region",
    ]
    assert found.release.certificate.verify(allow_unsigned=True).ok


@pytest.mark.wide
def test_a_release_behind_a_key_is_audited_and_rehearsed() -> None:
    study = through_accounts(1)
    made = study.release(["count", "mean(cost)"], epsilon=4, record=rt.Record(audit=2))
    assert made.certificate.document["audit"]["verdict"] == "passed"
    joins = "JOIN accounts a USING (account) LEFT JOIN patients p ON a.patient = p.patient"
    text = f"SELECT AVG(p.age) AS a FROM study v {joins}"
    assert study.rehearse(text, epsilon=4).answers[0].name == "mean(patients.age)"
    assert study.audit(text, epsilon=4, triples=2).verdict == "passed"


def test_what_has_no_lift_is_refused() -> None:
    study = through_accounts(2)
    with pytest.raises(rt.QuestionError, match="of the whole release"):
        study.plan([rt.count().at(1)])
    with pytest.raises(rt.QuestionError, match="cannot be wanted"):
        study.plan(["count"], epsilon=1, people=1_000, want={"count": 50})
    for name, given, words in (
        ("adjacency", "substitute", "need adjacency"),
        ("rows_each", {"at_most": "auto"}, "have a declared cap"),
        ("columns", {"cost": rt.real(0, "auto")}, "have declared bounds"),
    ):
        with pytest.raises(rt.SpecError, match=words):
            through_accounts(2, study={name: given})
    nobody = {"account": [1], "patient": [1], "y": [1]}
    with pytest.raises(rt.SpecError, match="how many are kept of one person"):
        rt.study(
            {"account": [1], "x": [1]},
            person="accounts.patient",
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={"x": rt.integer(0, 1)},
            tables={"accounts": rt.table(nobody, columns={"y": rt.integer(0, 1)}, key="account")},
        )


def test_a_household_is_one_person_of_the_guarantee(study: Path) -> None:
    study.write_text(FILE.replace('column = "patient"', 'column = "patient"\nunit = "household"', 1), "utf-8")
    opened = rt.open(study)
    release = opened.release(["count"], epsilon="1")
    assert release.certificate.document["study"]["unit"] == "household"
    assert any("one person of the guarantee" in note and "one household" in note for note in release.caveats)
    assert release.certificate.verify(allow_unsigned=True).ok
    for asked in (rt.persons(), rt.mean("cost").per("person")):
        with pytest.raises(rt.QuestionError, match="names a household"):
            opened.plan([asked], epsilon=1)


@pytest.mark.parametrize("form", ["each row of a household", "persons of a household"])
def test_every_sentence_on_a_guarantee_names_the_household(form: str, tmp_path: Path) -> None:
    """The plan, the release and its page, certificate and table, the officer's list, and the ledger."""
    rows = {"home": [i // 4 for i in range(800)], "cost": [10.0] * 800}
    told: dict[str, Any] = {"person": "home", "unit": "household", "rows_each": 4, "budget": 9}
    told |= {"adjacency": "add_remove", "columns": {"cost": rt.real(0, 20)}}
    opened = rt.study(rows, **told) if form == "each row of a household" else in_homes()
    plan = opened.plan(["count"], epsilon=1)
    release = opened.release(["count"], epsilon=1)
    certificate, page = release.certificate, tmp_path / "page.html"
    certificate.save(page)
    texts = {
        "plan": str(plan),
        "plan, as data": str(plan.to_json()),
        "plan, as a table": plan._repr_html_(),
        "meaning": certificate.explain(),
        "proof": certificate.proof(),
        "checklist": certificate.checklist(),
        "page": page.read_text("utf-8"),
        "release": str(release),
        "ledger": opened.ledger.adjacency.words(),
        "guarantee": repr(release.guarantee),
    }
    for name, text in texts.items():
        lines = [line for line in text.split("\n") if "add or remove one" in line or "Who is protected" in line]
        assert "one household" in text, name
        assert not [line for line in lines if "one person" in line], name
    assert certificate.verify(allow_unsigned=True).ok
    adjacency = certificate.document["adjacency"]
    assert (adjacency["unit"], adjacency["named"]) == ("person", "household")
    for word in ("house\nhold", "\x1b[2J", "x" * 41):
        with pytest.raises(rt.PublicParameterError, match="word for a unit"):
            Adjacency("add_remove", named=word)


def test_the_word_for_a_unit_tells_no_relation_from_another() -> None:
    person, household = Adjacency("add_remove", 4), Adjacency("add_remove", 4, named="household")
    assert person == household
    assert hash(person) == hash(household)
    assert pickle.loads(pickle.dumps(household)).named == "household"
    old = Adjacency.__new__(Adjacency)
    methodcaller("__setstate__", ["add_remove", 4, "person"])(old)
    assert (old, old.named) == (person, "")


def in_homes(study: dict[str, Any] | None = None, *, inside: bool = True) -> rt.Study:
    """1,000 persons with two rows each, in homes of four; the home stands in the main table or in that of patients."""
    homes = [i // 4 for i in range(1_000)]
    rows: dict[str, Any] = {"patient": [*range(1_000)] * 2, "cost": [10.0] * 2_000}
    told: dict[str, Any] = {"household": "home", "per_household": 4, "rows_each": 1, "adjacency": "add_remove"}
    told |= {"person": "patient", "columns": {"cost": rt.real(0, 20)}, "override": "made-up rows", "budget": 90}
    if inside:
        return rt.study(rows | {"home": homes * 2}, **told | (study or {}))
    patients = {"patient": range(1_000), "home": homes, "age": [40] * 1_000}
    table = rt.table(patients, columns={"age": rt.integer(0, 99)})
    return rt.study(rows, **told | {"household": "patients.home"} | (study or {}), tables={"patients": table})


@pytest.mark.parametrize("most", [4, 1])
def test_intervals_of_a_household_say_that_they_do_not_know_its_likeness(most: int) -> None:
    """Homes of four equal persons: an interval as of 1,000 persons is half as wide as one that holds the mean."""
    opened = in_homes({"per_household": most})
    said = "takes persons of one household for drawn one by one, and is too narrow where they are alike"
    release = opened.release(["mean(cost)"], epsilon=4)
    plan = opened.plan(["mean(cost)"], epsilon=4)
    for told in (str(release), str(plan), " ".join(release.certificate.document["caveats"])):
        assert (said in " ".join(told.split())) == (most > 1)


@pytest.mark.loop(3)
@pytest.mark.wide
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("most", [4, 3, 1])
def test_persons_of_a_household_are_counted_up_to_its_cap(most: int, inside: bool) -> None:
    opened = in_homes({"per_household": most}, inside=inside)
    asked: list[Any] = ["count", "persons", rt.mean("cost").per("person")]
    release = opened.release(asked, epsilon=80, record=rt.Record(override="made-up rows", audit=2))
    kept = 250 * most  # the noise is beyond 12 with probability below 1e-60
    assert all(abs(release[name].value - kept) < 12 for name in ("count", "persons"))
    assert abs(release["mean(cost, per=person)"].value - 10) < 0.5
    assert release.certificate.verify(allow_unsigned=True).ok
    document = release.certificate.document
    number = "1 person" if most == 1 else f"{most} persons"
    assert document["study"]["household"] == f"{'' if inside else 'patients.'}home, at most {number} of each"
    assert document["adjacency"]["rows"] == most
    assert document["audit"]["verdict"] == "passed"
    assert any("one household, of which" in note for note in release.caveats)
    assert opened.sql("SELECT COUNT(DISTINCT patient) AS n FROM study", epsilon=4).columns()["n"]
    assert opened.rehearse(["persons"], epsilon=4).answers[0].name == "persons"


def test_each_person_of_a_household_has_a_part_of_the_loss() -> None:
    plan = in_homes().plan(["count"], epsilon=4)
    assert "one household: its persons are 4 steps" in str(plan)
    one = in_homes({"per_household": 1}).plan(["count"], epsilon=1)
    assert plan.lines[0].expected.noise == one.lines[0].expected.noise
    opened = in_homes()
    opened.release(["count"], epsilon=4)
    assert opened.ledger.spent() == rt.PureDP(4)  # type: ignore[arg-type]  # equal to a Fraction
    assert opened.ledger.person == "home"


def test_a_ledger_about_households_is_no_ledger_about_persons(study: Path) -> None:
    homes = 'column = "patient"\nhousehold = "patients.home"\nper_household = 3'
    put(
        study.parent,
        "patients.csv",
        patient=range(9),
        age=range(40, 49),
        sex=["f"] * 9,
        home=[1, 1, 1, 2, 2, 2, 3, 3, 3],
    )
    study.write_text(FILE.replace('column = "patient"', homes, 1), "utf-8")
    assert run("check", str(study)).code == 0
    rt.open(study).release(["persons"], epsilon=1)
    study.write_text(FILE, "utf-8")
    with pytest.raises(rt.LedgerError, match=r"protects each 'patients.home'"):
        rt.open(study).release(["count"], epsilon=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"per_household": None}, "any number of persons"),
        ({"per_household": 0}, "from 1 to 100"),
        ({"household": None}, "name it"),
        ({"household": "patient"}, "one names households"),
        ({"household": "house"}, "no column 'house'"),
        ({"adjacency": "substitute"}, "needs adjacency"),
        ({"rows_each": "auto"}, "have a declared cap"),
        ({"columns": {"cost": rt.real(0, "auto")}}, "have declared bounds"),
        ({"person": None, "rows_each": None}, "needs a person column"),
    ],
)
def test_a_household_that_cannot_be_protected_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(rt.SpecError, match=words):
        in_homes(change)


def test_a_household_stands_where_each_person_has_one() -> None:
    for key, public in (("patient", True), ("cost", False)):
        table = rt.table(
            {"patient": [1], "cost": [2], "home": [3]}, columns={"home": rt.integer(0, 9)}, key=key, public=public
        )
        with pytest.raises(rt.SpecError, match="not joined on the person alone"):
            in_homes({"household": "wards.home", "tables": {"wards": table}})


def test_a_file_about_people_cannot_be_declared_public(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the study itself, by another name too; then one that another study's ledger counts for."""
    nobody = '[tables.own]\nsource = "{}"\npublic = true\nkey = "patient"\n[[release]]'
    folder = study.parent
    (folder / "second.csv").symlink_to(folder / "patients.csv")
    (folder / "hard.csv").hardlink_to(folder / "patients.csv")
    for file in ("patients.csv", "second.csv", "hard.csv"):
        study.write_text(FILE.replace("[[release]]", nobody.format(file)), "utf-8")
        with pytest.raises(rt.SpecError, match=r"\[tables.own\] is declared public, and .* in this study"):
            rt.open(study)
    study.write_text(FILE, "utf-8")
    rt.open(study).release(["count"], epsilon=1)
    put(folder, "staff.csv", patient=[1, 2], ward=["n", "s"])
    head = FILE.replace("visits.", "staff.").partition("[columns]")[0]
    columns = '[columns]\nward = { kind = "category", among = ["n", "s"] }\n'
    told = head + columns + nobody.format("patients.csv").removesuffix("[[release]]")
    (folder / "staff.toml").write_text(told, "utf-8")
    monkeypatch.setattr(further_tables, "_public", lambda *_: pytest.fail("a file under a ledger was read"))
    with pytest.raises(
        rt.SpecError, match=r"\[tables.own\] .* patients.csv holds rows of people under .*visits.ledger"
    ):
        rt.open(folder / "staff.toml")
    with pytest.raises(rt.SpecError, match=r"patients.csv holds rows of people under .*visits.ledger"):
        rt.table(folder / "patients.csv", public=True, key="patient")


def test_a_ledger_in_memory_leaves_no_claim_on_the_file_of_a_further_table(study: Path) -> None:
    """Nobody could find that ledger again, and the file would be under it for ever."""
    for _ in range(2):
        opened = rt.study(
            {"patient": [1, 2], "cost": [1, 2]},
            person="patient",
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={"cost": rt.integer(0, 9)},
            tables={"patients": rt.table(study.parent / "patients.csv", columns={"age": rt.integer(0, 110)})},
        )
        opened.release(["count"], epsilon=1)
    assert not list(study.parent.glob("*.reticent"))
    rt.open(study).release(["count"], epsilon=1)


def test_a_total_of_a_complete_column_leaves_out_rows_without_a_partner() -> None:
    """3,000 visits, 1,000 of someone aged 100: the middle of the range, 55, would stand in for the others."""
    opened = rt.study(
        {"patient": list(range(3_000))},
        person="patient",
        rows_each=1,
        adjacency="add_remove",
        budget=9,
        columns={},
        tables={
            "patients": rt.table(
                {"patient": list(range(1_000)), "age": [100] * 1_000},
                columns={"age": rt.integer(0, 110, complete=True)},
            )
        },
    )
    (answer,) = opened.release(["sum(age)"], epsilon=9).answers
    assert abs(answer.value - 100_000) < 1_000  # the noise is beyond that with probability below 1e-30
    assert any("missing" in caveat for caveat in answer.caveats)


@pytest.mark.parametrize("name", ["wear and tear", "x` and `y", "rows at most 3", "q = wards.z"])
def test_verify_reads_a_join_by_a_column_of_any_name(name: str) -> None:
    opened = rt.study(
        {"who": [1, 2], name: [1, 2], "cost": [1, 2]},
        person="who",
        rows_each=1,
        adjacency="add_remove",
        budget=1,
        columns={"cost": rt.integer(0, 9)},
        tables={"wards": rt.table({name: [1, 2], "beds": [5, 6]}, public=True, key=name)},
    )
    certificate = opened.release(["mean(wards.beds)"], epsilon=1).certificate
    assert certificate.verify(allow_unsigned=True).ok


def test_a_public_table_in_memory_stays_what_its_digest_is_of() -> None:
    beds = np.array([5.0, 7.0])
    opened = rt.study(
        {"who": [1, 2], "ward": [0, 1]},
        person="who",
        rows_each=1,
        adjacency="add_remove",
        budget=1,
        columns={},
        tables={"wards": rt.table({"ward": np.array([0, 1]), "beds": beds}, public=True, key="ward")},
    )
    beds[:] = 6
    content = opened.schema.tables["wards"].content
    assert content is not None
    assert content.column("beds").to_pylist() == [5.0, 7.0]


def test_a_select_in_a_study_with_weights_has_its_rows() -> None:
    """500 rows of each weight, 1 and 2: the noise of the weighted count is beyond 100 with probability below 1e-9."""
    opened = rt.study(
        {"w": [1, 2] * 500, "g": ["a", "b"] * 500},
        adjacency="add_remove",
        budget=9,
        columns={"w": rt.real(0, 2), "g": rt.category(["a", "b"])},
        weight="w",
        design="fixed",
    )
    found = opened.sql("SELECT g, COUNT(*) AS n FROM study GROUP BY g ORDER BY g", epsilon=9).columns()["n"]
    assert all(abs(float(str(n)) - size) < 100 for n, size in zip(found, (500, 1_000), strict=True))


@pytest.mark.parametrize("person", ["Pat.No", "Patient No.", ".no", "a.b.c", "wards.", "visit.wards.no"])
def test_a_dot_divides_a_name_only_behind_a_table(person: str, tmp_path: Path) -> None:
    """One name of the person in both tables, and one of the key of a public one, in Python and in a study file."""
    ward = person.replace("o", "u").replace("a", "e").replace("r", "l") + "."
    visits = {person: [*range(500)] * 2, "cost": [1.0] * 1_000, ward: ["n"] * 1_000}
    patients = {person: [*range(500)], "age": [40] * 500}
    wards = {ward: ["n", "s"], "beds": [7, 9]}
    study = rt.study(
        visits,
        person=person,
        rows_each=2,
        adjacency="add_remove",
        budget=10,
        columns={"cost": rt.real(0, 2)},
        tables={
            "patients": rt.table(patients, columns={"age": rt.integer(0, 110)}),
            "wards": rt.table(wards, public=True, key=ward),
        },
    )
    found = study.release(["mean(patients.age)", "mean(wards.beds)"], epsilon=10)
    assert [round(answer.value) for answer in found.answers[:2]] == [40, 7]
    assert found.certificate.verify(allow_unsigned=True).ok
    for name, table in (("visits", visits), ("patients", patients), ("wards", wards)):
        pyarrow.csv.write_csv(pyarrow.table(table), tmp_path / f"{name}.csv")
    text = FILE.partition("[columns]")[0].replace('column = "patient"', f'column = "{person}"')
    text += '[columns.cost]\nkind = "real"\nlow = 0\nhigh = 2\n[tables.patients]\nsource = "patients.csv"\n'
    text += '[tables.patients.columns]\nage = { kind = "integer", low = 0, high = 110 }\n'
    text += f'[tables.wards]\nsource = "wards.csv"\npublic = true\nkey = "{ward}"\n'
    (tmp_path / "study.toml").write_text(text, "utf-8")
    assert rt.open(tmp_path / "study.toml").schema.tables == study.schema.tables
    assert run("check", str(tmp_path / "study.toml")).code == 0


# --- tables of database files -----------------------------------------------------------------------------------------


def in_database(folder: Path, kind: str, database: str, *tables: str) -> None:
    """Put CSV files of the folder into a database file, each as a table; times and dates as texts in SQLite."""
    import duckdb

    file = folder / database
    if kind == "duckdb":
        with duckdb.connect(str(file)) as made:
            for name in tables:
                made.execute(f"CREATE TABLE {name} AS FROM read_csv('{folder}/{name}.csv')")
        return
    with contextlib.closing(sqlite3.connect(file)) as lite, lite:
        for name in tables:
            names, *rows = csv.reader((folder / f"{name}.csv").read_text("utf-8").splitlines())
            lite.execute(f"CREATE TABLE {name} ({', '.join(names)})")
            lite.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", rows)


KINDS = pytest.mark.parametrize("kind", ["duckdb", "sqlite"])


@pytest.mark.wide
@KINDS
def test_tables_of_database_files_give_what_files_of_text_give(
    study: Path, kind: str, same_noise: Callable[[], None]
) -> None:
    """People in one database file, wards in another; then people's tables apart, with the main one in CSV."""
    folder = study.parent
    in_database(folder, kind, "clinic.db", "visits", "patients")
    in_database(folder, kind, "places.db", "wards")
    same_noise()
    (wanted,) = in_memory(folder).release([ASK], epsilon=3).answers
    patients, wards = (
        f"{kind}:///{file}.db?table={name}" for file, name in (("clinic", "patients"), ("places", "wards"))
    )
    text = FILE.replace('"patients.csv"', f'"{patients}"').replace('"wards.csv"', f'"{wards}"')
    text = text.replace("[columns]\n", '[columns]\nward = { kind = "category", among = ["n", "s", "x"] }\n')
    visits = f"{kind}:///clinic.db?table=visits"
    for number, main in enumerate(("visits.csv", visits)):
        shutil.rmtree(folder / "state", ignore_errors=True)
        for claim in folder.glob("*.reticent"):
            claim.unlink()
        study.write_text(
            text.replace('"visits.csv"', f'"{main}"').replace("visits.ledger", f"{number}.ledger"), "utf-8"
        )
        opened = rt.open(study)
        assert not list(folder.glob(f"{number}.ledger"))
        same_noise()
        (answer,) = opened.release([ASK], epsilon=3).answers
        assert of_answer(answer) == of_answer(wanted)
        assert (folder / "clinic.db.reticent").exists()
        assert not (folder / "places.db.reticent").exists()
        with pytest.raises(rt.LedgerError, match="already under"):
            rt.study(
                f"{kind}:///{folder}/clinic.db?table=patients",
                adjacency="add_remove",
                person="patient",
                rows_each=1,
                columns={"age": rt.integer(0, 110)},
                budget=1,
            )
        assert run("check", str(study)).code == 0
        assert run("doctor", str(study)).code == 0
    done = run("ledger", "adopt", str(study), "--reason", "lost", "--yes")
    assert done.code == 0, done.err


@pytest.mark.parametrize("main", ["visits.csv", "visits.jsonl"])
def test_a_further_table_that_is_not_there_fails_doctor(study: Path, main: str) -> None:
    study.write_text(FILE.replace("visits.csv", main), "utf-8")
    (study.parent / "visits.jsonl").write_text("{}\n", "utf-8")
    assert run("doctor", str(study)).code == 0
    (study.parent / "patients.csv").unlink()
    done = run("doctor", str(study))
    assert (done.code, "There is no file patients.csv" in " ".join(done.said.split())) == (6, True)


@KINDS
def test_a_public_table_in_a_database_file_of_people_is_refused(study: Path, kind: str) -> None:
    """Before the first release and after it: a ledger counts for the whole of a database file."""
    folder = study.parent
    in_database(folder, kind, "clinic.db", "visits", "patients", "wards")
    text = FILE.replace('"patients.csv"', f'"{kind}:///clinic.db?table=patients"')
    study.write_text(text, "utf-8")
    public = text.replace('"wards.csv"', f'"{kind}:///clinic.db?table=wards"')
    other = study.with_name("other.toml")
    other.write_text(public, "utf-8")
    with pytest.raises(rt.SpecError, match=r"clinic.db holds rows of people in this study.*a file of its own"):
        rt.open(other)
    rt.open(study).release(["count"], epsilon=1)
    with pytest.raises(rt.SpecError, match=r"clinic.db holds rows of people under .*visits.ledger"):
        rt.open(other)
    with pytest.raises(rt.SpecError, match=r"clinic.db holds rows of people under .*visits.ledger"):
        rt.table(f"{kind}:///{folder}/clinic.db?table=wards", public=True, key="ward")


@KINDS
def test_a_pair_of_connection_and_name_is_a_further_table(study: Path, kind: str) -> None:
    import duckdb

    in_database(study.parent, kind, "places.db", "wards")
    file = study.parent / "places.db"
    with contextlib.closing(duckdb.connect(str(file)) if kind == "duckdb" else sqlite3.connect(file)) as connection:
        wards = rt.table((connection, "wards"), public=True, key="ward")
    assert wards.columns.keys() == {"ward", "name", "beds"}
    named = rt.table(f"{kind}:///{file}?table=wards", public=True, key="ward")
    assert wards.joined.digest == named.joined.digest


@KINDS
def test_a_table_that_a_database_file_has_not_is_refused_in_words(study: Path, kind: str) -> None:
    in_database(study.parent, kind, "clinic.db", "patients")
    url = f"{kind}:///{study.parent}/clinic.db?table="
    with pytest.raises(rt.SpecError, match="no table called people"):
        rt.table(url + "people", public=True, key="patient")
    people = rt.table(url + "patients", columns={"weight": rt.integer(0, 110)})
    with pytest.raises(rt.SpecError, match=r"^The table patients: .*weight"):
        rt.study(
            {"patient": ["a"]},
            person="patient",
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={},
            tables={"patients": people},
        )
