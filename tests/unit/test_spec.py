"""The study file: what it means, and the words for every mistake."""

from __future__ import annotations

import datetime
import json
import tomllib
import warnings as caught
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

import reticent as rt
from reticent.data.schema import Category, Integer, Person, Real
from reticent.data.source import names_of
from reticent.data.spec import KEYS, Budget, Spec
from reticent.data.study_file import read_spec, warnings
from reticent.data.template import ALONE, DIVIDED, skeleton, skeleton_words
from reticent.errors import PublicParameterError, ReticentError, SpecError
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP

GOOD = """
[study]
title  = "A study"
source = "t.csv"
ledger = "t.ledger"

[person]
column    = "who"
adjacency = "add_remove"
people    = 20000
rows      = { at_most = 5 }

[budget]
epsilon  = "3"
delta    = "1e-8"
approved = "the board"
ends     = 2027-12-31

[columns.age]
kind = "integer"
low  = 0
high = 120
why  = "no one is older"
missing = 40
[columns.x]
kind = "real"
[columns.y]
kind = "real"
low = 0.1
high = "1/3"
resolution = 0.001
[columns.town]
kind = "category"
among = ["a", "b"]
constant = true

[[release]]
name = "table 4"
epsilon = 0.1
ask = ["count", "mean(age)"]
want = { "mean(age)" = 0.5 }
"""


def spec_of(text: str, folder: Path) -> Spec:
    path = folder / "study.toml"
    path.write_text(text, "utf-8")
    return read_spec(path)


def words(text: str, folder: Path) -> str:
    with pytest.raises(SpecError) as refused:
        spec_of(text, folder)
    return str(refused.value)


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def test_a_study_file_is_read_exactly(tmp_path: Path) -> None:
    spec = spec_of(GOOD, tmp_path)
    assert (spec.title, spec.folder, spec.delimiter) == ("A study", tmp_path, ",")
    assert (spec.source, spec.ledger) == (str(tmp_path / "t.csv"), str(tmp_path / "t.ledger"))
    assert spec.schema.person == Person("add_remove", "who", 5, 20000)
    loss = ApproxDP(Fraction(3), Fraction(1, 10**8))
    assert spec.budget == Budget(loss, "the board", datetime.date(2027, 12, 31))
    assert spec.schema.columns["age"] == Integer(0, 120, "no one is older", Fraction(40))
    assert spec.schema.columns["x"] == Real()
    assert spec.schema.columns["y"] == Real(Fraction(1, 10), Fraction(1, 3), resolution=Fraction(1, 1000))
    assert spec.schema.columns["town"] == Category(("a", "b"), constant=True)
    (release,) = spec.releases
    assert (release.name, release.epsilon, release.ask) == ("table 4", Fraction(1, 10), ("count", "mean(age)"))
    assert dict(release.want) == {"mean(age)": 0.5}


@pytest.mark.parametrize("written", ['"0.1"', "0.1", "1e-1", '"1/10"'])
def test_one_tenth_is_one_tenth_however_written(written: str, tmp_path: Path) -> None:
    spec = spec_of(changed('epsilon  = "3"\ndelta    = "1e-8"', f"epsilon = {written}"), tmp_path)
    assert spec.budget.loss == PureDP(Fraction(1, 10))


def test_a_budget_may_be_rho(tmp_path: Path) -> None:
    spec = spec_of(changed('epsilon  = "3"\ndelta    = "1e-8"', 'rho = "0.5"'), tmp_path)
    assert spec.budget.loss == ZCDP(Fraction(1, 2))


def test_rows_one_each_without_a_column(tmp_path: Path) -> None:
    text = changed('column    = "who"\n', "").replace("{ at_most = 5 }", '"one_each"')
    assert spec_of(text, tmp_path).schema.person == Person("add_remove", None, 1, 20000)


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    assert spec_of(changed("t.csv", "/elsewhere/t.csv"), tmp_path).source == "/elsewhere/t.csv"


NO_PERSON = (
    'Who is one person here? Add [person] column = "…", or rows = "one_each" if every row is another person. '
    "Nothing was read."
)
ADJACENCY = (
    'Choose adjacency: "add_remove" hides whether someone is in the file; "substitute" hides what their record says '
    "and makes the number of people public. There is no default."
)
PERSON = GOOD[GOOD.index("[person]") : GOOD.index("[budget]")]

MISTAKES = [
    (PERSON, "", NO_PERSON),
    (PERSON, '[person]\nadjacency = "add_remove"\n', NO_PERSON),
    ("rows      = { at_most = 5 }", "", "One person may have any number of rows. Say rows = { at_most = 20 }"),
    ('adjacency = "add_remove"', "", ADJACENCY),
    ('"add_remove"', '"neighbours"', ADJACENCY),
    ('"add_remove"', '"local"', 'adjacency "local" belongs to surveys'),
    ("{ at_most = 5 }", "{ at_most = 0 }", "[person] rows of one person must be an integer >= 1, got 0"),
    ("{ at_most = 5 }", "{ at_most = 2147483648 }", "[person] rows of one person must be < 2147483648"),
    ("{ at_most = 5 }", "{ at_least = 5 }", 'Say [person] rows = "one_each" or rows = { at_most = 20 }'),
    ("{ at_most = 5 }", "5", 'Say [person] rows = "one_each" or rows = { at_most = 20 }, got 5'),
    ('column    = "who"\n', "", "rows = { at_most = … } needs a person column: who has several rows?"),
    ("people    = 20000", "people = 0", "[person] people must be >= 1, got 0"),
    ("people    = 20000", "people = true", "[person] people must be an integer >= 1, got true"),
    ("people    = 20000", "peple = 20000", "[person] has an unknown key 'peple'. Did you mean people?"),
    ("low  = 0\nhigh = 120", "low  = 120\nhigh = 0", "[columns.age] low must be below high, got 120 and 0"),
    ("high = 120\n", "", "[columns.age] low and high come together: give both, or neither"),
    ("high = 120", "high = 120.5", "[columns.age] high of an integer column must be an integer, got 120.5"),
    ("high = 120", "hihg = 120", "[columns.age] has an unknown key 'hihg'. Did you mean high?"),
    ("high = 120", "high = nan", "[columns.age] high must be a number"),
    ("high = 120", "high = inf", "[columns.age] high must be a number"),
    ("missing = 40", 'missing = "lost"', '[columns.age] missing is "drop", or the public number'),
    ("missing = 40", "missing = 40.5", "[columns.age] missing of an integer column must be an integer, got 40.5"),
    ("resolution = 0.001", "resolution = 0", "[columns.y] resolution must be > 0, got 0"),
    (
        'kind = "integer"',
        'kind = "intger"',
        '[columns.age] kind must be "real", "integer", "date", "datetime", "category" or "text", got "intger".',
    ),
    (
        'kind = "integer"',
        "",
        '[columns.age] kind must be "real", "integer", "date", "datetime", "category" or "text", got nothing.',
    ),
    ('among = ["a", "b"]\n', "", "[columns.town] among = […] is missing: the public list of values."),
    ('["a", "b"]', "[]", "[columns.town] among = […] is missing"),
    ('["a", "b"]', '["a", "a"]', "[columns.town] among lists a value twice"),
    ('["a", "b"]', '["a", 1]', "[columns.town] among mixes text, integers and truth values"),
    ('["a", "b"]', "[0.5]", "[columns.town] among must list text, integers, or true and false"),
    ("constant = true", "constant = 1", "[columns.town] constant must be true or false, got 1"),
    ('epsilon  = "3"', 'epsilon = "50"', "ε 50 lets odds change by 5 × 10²¹: this protects no one. Above 10 a budget"),
    ('epsilon  = "3"', 'epsilon = "0.1 + 0.2"', "[budget] epsilon must be a number such as"),
    ('epsilon  = "3"', 'epsilon = "-1"', "[budget] epsilon must be >= 0, got -1"),
    ('epsilon  = "3"\ndelta    = "1e-8"\n', "", '[budget] epsilon = "…" is missing (or rho = "…")'),
    (
        'epsilon  = "3"',
        'epsilon = "3"\nrho = "1"',
        "[budget] is either epsilon (and delta) or rho (and delta), not both",
    ),
    (
        '"1e-8"',
        '"0.01"',
        "δ 0.01 allows 200 of 20,000 people to be exposed outright. Use 1e-7 or less, or your board's figure.",
    ),
    ('"1e-8"', '"1.5"', "[budget] δ must be a probability, above 0 and below 1, such as 1e-9, got 1.5"),
    ("2027-12-31", '"2027-12-31"', "[budget] ends must be a date such as 2027-12-31, without quotes"),
    ("2027-12-31", "2027-12-31T10:00:00", "[budget] ends must be a date"),
    ('source = "t.csv"', "", '[study] source = "…" is missing'),
    ('"t.csv"', "1", "[study] source must be text in quotes, got 1"),
    ('"t.csv"', '"postgresql:///c?tabel=t"', "Name the table"),
    ('"t.csv"', '"https://example.org/t.csv"', "source must be a file on this machine"),
    ("[study]", "[stduy]", "the study file has an unknown key 'stduy'. Did you mean study?"),
    ("[[release]]", "[release]", "a release is written [[release]], with two brackets"),
    ('name = "table 4"', "", "[[release]] number 1 has no name"),
    ('ask = ["count", "mean(age)"]', "ask = []", "[[release]] 'table 4' ask must list questions as text"),
    ('ask = ["count", "mean(age)"]', 'synthesize = { columns = ["age"] }', "synthesize is not in this version"),
    ("= 0.5 }", "= 0 }", "[[release]] 'table 4' want of mean(age) must be a half-width > 0, got 0"),
    ("= 0.5 }", "= nan }", "[[release]] 'table 4' want of mean(age) must be a half-width > 0"),
    ("epsilon = 0.1", "epsilon = 11", "ε 11 lets odds change by 6 × 10⁴: this protects no one."),
    ("epsilon = 0.1", "eps = 0.1", "[[release]] 'table 4' has an unknown key 'eps'"),
    ("[study]", "[study", "study.toml is not TOML"),
    ('title  = "A study"', 'title = "a"\ntitle = "b"', "study.toml is not TOML"),
    ("[columns.x]", "[columns.age]", "study.toml is not TOML"),
    ('ledger = "t.ledger"', 'ledger = "' + "a" * 201 + '"', "[study] ledger is no name of a file"),
    ('ledger = "t.ledger"', 'ledger = "a\\u0000"', "[study] ledger is no name of a file"),
    ('ledger = "t.ledger"', 'ledger = "' + "a/" * 3001 + 'b"', "[study] ledger is no name of a file"),
    ('source = "t.csv"', 'source = "' + "ä" * 101 + '.csv"', "[study] source is no name of a file"),
    ("high = 120", 'high = "auto"\nceiling = 0', "leave no two candidates"),
    ("high = 120", "high = " + "9" * 5000, "study.toml holds a number or a date that cannot be read"),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_a_mistake_is_refused_with_its_words(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert said in words(changed(old, new), tmp_path)


def test_two_releases_of_one_name_are_refused(tmp_path: Path) -> None:
    again = GOOD + '\n[[release]]\nname = "table 4"\nask = ["count"]\n'
    assert words(again, tmp_path) == "Two releases are called 'table 4'. Give each its own name."


def test_no_column_is_refused(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("[columns.age]")]
    assert words(text, tmp_path).startswith("No column is declared.")


def test_a_large_epsilon_needs_a_reason(tmp_path: Path) -> None:
    spec = spec_of(changed('epsilon  = "3"', 'epsilon = "50"\noverride = "public already"'), tmp_path)
    assert spec.budget.override == "public already"


def test_typical_rows_are_read_exactly_and_lie_below_the_most(tmp_path: Path) -> None:
    person = spec_of(changed("{ at_most = 5 }", "{ at_most = 5, typical = 2.5 }"), tmp_path).schema.person
    assert (person.rows, person.typical) == (5, Fraction(5, 2))
    assert "typical rows of a person lie between 1 and at_most, 5; got 6" in words(
        changed("{ at_most = 5 }", "{ at_most = 5, typical = 6 }"), tmp_path
    )


def test_a_budget_in_rho_is_weak_where_its_epsilon_is(tmp_path: Path) -> None:
    """rho 4 is epsilon 21 at a delta of 1e-6, as ``rt.study`` says."""
    with pytest.raises(SpecError, match=r"ε 21\.32 lets odds change"):
        spec_of(changed('epsilon  = "3"', 'rho = "4"'), tmp_path)


def test_delta_without_a_public_number_of_people_is_left_to_the_release(tmp_path: Path) -> None:
    text = changed("people    = 20000\n", "").replace('"1e-8"', '"0.01"')
    assert spec_of(text, tmp_path).schema.person.people is None


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="There is no study file"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="cannot be read as UTF-8"):
        read_spec(tmp_path)
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="cannot be read as UTF-8"):
        read_spec(tmp_path / "bad.toml")


@pytest.mark.parametrize("content", [b"PK\x03\x04\xff\xfe", b"x,y\n1,2\n"])
@pytest.mark.parametrize("name", ["t.xlsx", "t.parquet", "t.csv", "t.csv.gz"])
def test_a_table_where_a_study_file_is_wanted_is_told_the_way_to_one(content: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SpecError, match=f"A table has one by reticent init {name}"):
        read_spec(tmp_path / name)


def test_a_certificate_is_no_study_file_and_a_study_file_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"format": 1}', "utf-8")
    with pytest.raises(SpecError, match=r"A certificate is looked at by reticent explain t\.json"):
        read_spec(tmp_path / "t.json")
    (tmp_path / "t.toml").write_text("[study]\n", "utf-8")
    with pytest.raises(SpecError, match=r"Is it a study file\? Its table is meant"):
        names_of(tmp_path / "t.toml")


# --- the grammar for editors ------------------------------------------------------------------------------------------


def grammar() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(files("reticent.data").joinpath("study.schema.json").read_text("utf-8"))
    return loaded


def as_json(text: str) -> Any:
    tables = tomllib.loads(text, parse_float=Decimal)
    return json.loads(json.dumps(tables, default=lambda cell: float(cell) if isinstance(cell, Decimal) else str(cell)))


def test_the_grammar_names_the_same_keys_as_the_reader() -> None:
    schema = grammar()
    jsonschema.Draft202012Validator.check_schema(schema)
    top = schema["properties"]
    found = {"": top, **{name: top[name]["properties"] for name in ("study", "person", "budget", "engine")}}
    found |= {
        kind: schema["$defs"][kind]["properties"]
        for kind in ("real", "integer", "date", "datetime", "category", "text", "computed", "design")
    }
    found["release"] = top["release"]["items"]["properties"]
    found["table"] = top["tables"]["additionalProperties"]["properties"]
    assert {name: set(keys) for name, keys in found.items()} == {name: set(keys) for name, keys in KEYS.items()}


def test_the_grammar_accepts_what_the_reader_accepts(tmp_path: Path) -> None:
    demo = files("reticent").joinpath("demo/rand.toml").read_text("utf-8")
    for text in (GOOD, demo):
        jsonschema.validate(as_json(text), grammar())
        spec_of(text, tmp_path)


STRUCTURAL = (
    "unknown key",
    "must be text",
    "must be true",
    "has no name",
    "kind must be",
    "both, or neither",
    "rows must",
)


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for old, new, said in MISTAKES if any(word in said for word in STRUCTURAL)]
)
def test_the_grammar_refuses_mistakes_of_form(old: str, new: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(as_json(changed(old, new)), grammar())


# --- check and init ---------------------------------------------------------------------------------------------------


def test_check_says_the_same_whatever_the_rows_hold(tmp_path: Path) -> None:
    spec = spec_of(GOOD, tmp_path)
    (tmp_path / "t.csv").write_text("")
    said = warnings(spec)
    beside = "A noisy share of them stands beside the answers."
    assert f"Values of age that are not integers count as 40 (missing = …). {beside}" in said
    assert f'Values of x, y that are not numbers count as missing (missing = "drop"). {beside}' in said
    assert "columns.x has no bounds: mean and sum will be refused; median, iqr, trimmed mean may give no reply." in said
    for rows in ("", "who,age,x,y,town\n", "who,age,x,y,town\np,old,1,2,a\n"):
        (tmp_path / "t.csv").write_text(rows)
        assert warnings(spec) == said


@pytest.mark.parametrize(
    ("bound", "odd"),
    [
        ("58.6", True),
        ("120", False),
        ("25000", False),
        ("0.5", False),
        ("10123", True),
        ("2006", False),
        ("9999", False),
    ],
)
def test_an_oddly_exact_bound_is_noted_unless_its_reason_is_given(bound: str, odd: bool, tmp_path: Path) -> None:
    text = changed('low = 0.1\nhigh = "1/3"', f"low = 0\nhigh = {bound}")
    note = f"columns.y: high = {bound} is oddly exact. If it is the file's highest value, it is one person's value."
    assert any(line.startswith(note) for line in warnings(spec_of(text, tmp_path))) is odd
    told = text.replace(f"low = 0\nhigh = {bound}", f'low = 0\nhigh = {bound}\nwhy = "from the protocol"')
    assert not any("oddly" in line for line in warnings(spec_of(told, tmp_path)))


def test_a_release_in_python_doubts_an_oddly_exact_bound_of_what_it_asks_about() -> None:
    columns = {"x": rt.real(0, 58.6), "y": rt.real(0, 12.34)}
    one = rt.study({"x": [1.0] * 300, "y": [1.0] * 300}, adjacency="add_remove", columns=columns, budget=9)
    with pytest.warns(UserWarning, match="high=58.6 is oddly exact") as said:
        one.release(["mean(x)"], epsilon=1)
    assert not any("12.34" in str(one.message) for one in said)


def test_parquet_has_no_sentence_about_parsing(tmp_path: Path) -> None:
    said = warnings(spec_of(changed("t.csv", "t.parquet"), tmp_path))
    assert not any("that are not integers" in line or "that are not numbers" in line for line in said)
    assert "Values of town that are not listed, letter by letter, count as missing." in said


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("t.csv", "none.csv", "There is no file none.csv where the source should be."),
        ('ledger = "t.ledger"\n', "", 'No ledger is named. Add [study] ledger = "t.ledger": a release needs one.'),
        (
            'delta    = "1e-8"\napproved = "the board"\nends     = 2027-12-31',
            'delta = "2e-6"',
            None,
        ),
        ("epsilon = 0.1\n", "epsilon = 4\n", "release 'table 4' asks 4, and the whole budget is 3."),
    ],
)
def test_check_warns_of_what_shows_in_the_study_file(old: str, new: str, note: str | None, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    usual = set(warnings(spec_of(GOOD, tmp_path)))
    assert "Values of town that are not listed, letter by letter, count as missing." in usual
    assert set(warnings(spec_of(changed(old, new), tmp_path))) - usual == ({note} if note else set())


def test_a_large_delta_is_noted(tmp_path: Path) -> None:
    text = changed("people    = 20000\n", "").replace('"1e-8"', '"1e-3"')
    assert any(
        line.startswith("δ 0.001 is the chance of a failure that promises nothing")
        for line in warnings(spec_of(text, tmp_path))
    )
    assert not any("promises nothing" in line for line in warnings(spec_of(GOOD, tmp_path)))


def test_init_writes_names_and_types_and_no_bounds(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": ["u", "v"], "n": [77123, 5], "x": [0.25, 9.75], "an odd.name": [True, False]})
    pq.write_table(table, tmp_path / "t.parquet")
    text = skeleton(tmp_path / "t.parquet")
    tables = tomllib.loads(text)
    assert {name: column["kind"] for name, column in tables["columns"].items()} == {
        "id": "category",
        "n": "integer",
        "x": "real",
        "an odd.name": "category",
    }
    for private in ("77123", "9.75", "0.25", "2 rows"):
        assert private not in text + skeleton_words(names_of(tmp_path / "t.parquet"), "t.toml", kind="parquet")
    assert NO_PERSON in words(text, tmp_path)


def test_init_of_a_csv_looks_at_the_first_line_only(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('id,"x ""y"""\n77123,9.75\n')
    text = skeleton(tmp_path / "t.csv")
    assert set(tomllib.loads(text)["columns"]) == {"id", 'x "y"'}
    assert "77123" not in text
    said = skeleton_words(names_of(tmp_path / "t.csv"), "t.toml")
    assert said.startswith("wrote t.toml: 2 columns, names from the first line of the file, with ',' between them.")
    assert "No row was read." in said
    assert ALONE not in said


def test_init_asks_for_a_title_where_it_finds_one_column(tmp_path: Path) -> None:
    """A line of title above the names has one cell, in a text and in a workbook alike."""
    (tmp_path / "t.csv").write_text("Visits of 2025\n\nid,x\n77123,9.75\n")
    assert f"{ALONE}{DIVIDED}" in skeleton_words(names_of(tmp_path / "t.csv"), "t.toml")
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["Visits of 2025"], [], ["id", "x"], [77123, 9.75]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    said = skeleton_words(names_of(tmp_path / "t.xlsx"), "t.toml", kind="workbook")
    assert ALONE in said
    assert DIVIDED not in said


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    text = changed("[study]", '[study]\nledgerr = "x"').replace(PERSON, "[person]\n").replace('"integer"', '"integral"')
    with pytest.raises(SpecError) as refused:
        spec_of(f'{text}\n[[release]]\nname = "t"\nask = []\n[[release]]\nepsilon = 1\n', tmp_path)
    told = refused.value.problems
    parts = ("'ledgerr'", NO_PERSON, ADJACENCY, '"integral"', "'t' ask must list", "number 3 has no name")
    assert len(told) == len(parts)
    assert all(any(part in problem for problem in told) for part in parts)
    assert str(refused.value).startswith("There are 6 problems.\n  ")


def test_columns_that_nobody_has_filled_in_are_one_problem(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(14)]
    blank = "".join(f"[columns.{name}]\n# kind = …\n" for name in names)
    file = tmp_path / "skeleton.toml"
    file.write_text(
        '[study]\nsource = "s.csv"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n[budget]\nepsilon = "1"\n'
        + blank,
        "utf-8",
    )
    with pytest.raises(SpecError) as refused:
        read_spec(file)
    (told,) = refused.value.problems
    assert told.startswith(f"14 columns have no kind: {', '.join(names[:12])} and 2 more. Give each kind = ")


def test_a_problem_of_several_questions_is_said_once() -> None:
    assert str(SpecError("no column w", "no column w")) == "no column w"
    assert SpecError("no column w", "no kind", "no column w").problems == ("no column w", "no kind")


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(SpecError, ReticentError)


def test_a_skeleton_says_each_hint_once(tmp_path: Path) -> None:
    """For a header, for dates of a text and for types: a hint at the first line that needs it, and all lines stay."""
    (tmp_path / "visits.csv").write_text("day,cost,age,left,born\n2026-01-02,3,4,,\n", encoding="utf-8")
    text = skeleton(tmp_path / "visits.csv", dates=("left", "born"))
    columns = text[text.index("[columns.day]") : text.index("[[release]]")]
    hints = [line.split("  # ", 1)[1] for line in columns.splitlines() if "  # " in line]
    assert len(hints) == len(set(hints)) == 3
    assert columns.count("# kind = …") == 3
    assert columns.count('kind = "date"') == 2
    assert columns.count("\n# low  = ") == 5
    assert "known without looking" in hints[1]


def test_a_skeleton_suggests_no_kind_for_a_header_and_says_that_columns_may_go(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("day,cost\n2026-01-02,3\n", encoding="utf-8")
    text = skeleton(tmp_path / "visits.csv")
    day = text[text.index("[columns.day]") : text.index("[columns.cost]")]
    assert "# kind = …" in day
    assert '"date"' in day
    guide = text[text.index("[budget]") : text.index("[columns.day]")]
    assert "Delete" in guide


@pytest.mark.parametrize(
    ("column", "na", "told"),
    [
        ("low = 0\nhigh = 110", '["-9", "99", "NA"]', "na lists 99, between low = 0 and high = 110. So it counts as"),
        ("low = -10\nhigh = 110", '["-9", "99"]', "na lists -9, 99, between low = -10 and high = 110. So each counts"),
        ("low = 0\nhigh = 98", '["-9", "99", "NA"]', ""),
        ("low = 0\nhigh = 98\nmissing = -9", "[]", "so a cell that cannot be read counts as 0. If -9 is how the rows"),
        ("low = 0\nhigh = 98\nmissing = 99", "[]", "so a cell that cannot be read counts as 98."),
        ("low = 0\nhigh = 98\nmissing = 98", "[]", ""),
        ("", '["-9"]', ""),
    ],
)
@pytest.mark.parametrize("kind", ["integer", "real"])
def test_codes_of_missing_values_are_doubted_where_bounds_make_them_values(
    kind: str, column: str, na: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n", "utf-8")
    text = f"""
[study]
title = "T"
source = "t.csv"
ledger = "t.ledger"
na = {na}
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "3"
[columns.age]
kind = "{kind}"
{column}
why = "ages"
"""
    (tmp_path / "t.toml").write_text(text, "utf-8")
    said = [words for words in warnings(read_spec(tmp_path / "t.toml")) if "na lists" in words or "missing =" in words]
    said = [words for words in said if words.startswith("columns.age:")]
    assert len(said) == (1 if told else 0)
    assert all(told in words for words in said)


def test_a_code_between_bounds_is_doubted_before_a_release_of_its_column_until_why_is_said() -> None:
    def asked(why: str) -> None:
        columns = {"age": rt.integer(0, 110, why=why)}
        rows = {"age": [3, 99]}
        study = rt.study(rows, adjacency="add_remove", columns=columns, budget="3", rows_each=1, na=["99"])
        study.plan(["histogram(age)"], epsilon=1)

    with pytest.warns(UserWarning, match="na lists 99"):
        asked("")
    with caught.catch_warnings():
        caught.simplefilter("error")
        asked("ages; 99 is missing")


def test_a_list_in_place_of_a_stand_in_is_told_where_codes_stand() -> None:
    with pytest.raises(PublicParameterError, match=r'na = \["-9"\]'):
        rt.integer(0, 9, missing=[-9, 99])  # type: ignore[arg-type]
