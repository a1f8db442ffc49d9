"""Time and memory from the size of a file: told and refused at the curator's terminal alone, before the charge."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import reticent as rt
from reticent import learning as private
from reticent.cli import release
from reticent.cli.app import app
from reticent.cli.options import PublicGuess
from reticent.cli.output import Voice
from reticent.cli.plan import _say_size
from reticent.cli.release import ask_first, planner, refuse_too_large
from reticent.data.format import Limits
from reticent.data.schema import Schema
from reticent.data.table import Table
from reticent.errors import BudgetError, QuestionError, SpecError
from reticent.study.allocation import PreparedRelease
from reticent.study.cpu_time import of_rows
from reticent.study.memory_forecast import FITTING, FULL, StoredCells, kept_in_engine, memory_of_release, most_of
from reticent.study.size_forecast import SURE, TooLarge, _size_and_rows, is_small, size_forecast
from reticent.study.study import Study

ROWS = 100_000
LARGE = 1_500_000  # of which values and persons differ
STUDY = """
[study]
source = "{source}"
ledger = "visits.ledger"
[engine]
memory = "{memory}"
spill = "1MB"
[person]
column = "who"
rows = {{ at_most = 3 }}
adjacency = "add_remove"
people = 1000
[budget]
epsilon = "2"
[columns.x]
kind = "real"
low = 0
high = 100
[[release]]
name = "visits"
ask = ["mean(x)", "count"]
epsilon = "1"
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _csv(folder: Path, table: pa.Table) -> str:
    pyarrow.csv.write_csv(table, folder / "v.csv")
    return "v.csv"


def _gz(folder: Path, table: pa.Table) -> str:
    written = io.BytesIO()
    pyarrow.csv.write_csv(table, written)
    (folder / "v.csv.gz").write_bytes(gzip.compress(written.getvalue()))
    return "v.csv.gz"


def _parquet(folder: Path, table: pa.Table) -> str:
    for name, part in (("v1.parquet", table.slice(0, 5)), ("v2.parquet", table.slice(5))):
        pyarrow.parquet.write_table(part, folder / name)
    return "v*.parquet"


def _json(folder: Path, table: pa.Table) -> str:
    (folder / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), "utf-8")
    return "v.jsonl"


WRITERS = (_csv, _gz, _parquet, _json)


def opened(
    folder: Path,
    write: Callable[[Path, pa.Table], str] = _parquet,
    memory: str = "20MB",
    *,
    rows: int = ROWS,
    persons: int = 5000,
    values: int = 1000,
) -> Study:
    table = pa.table(
        {
            "who": [f"p{row % persons}" for row in range(rows)],
            "x": [(7 * row % values) * 100 / values for row in range(rows)],
        }
    )
    file = folder / "s.toml"
    file.write_text(STUDY.format(source=write(folder, table), memory=memory), "utf-8")
    return rt.open(file)


@pytest.mark.parametrize("write", WRITERS)
def test_rows_are_told_from_the_size_within_a_factor_of_three(
    write: Callable[[Path, pa.Table], str], tmp_path: Path
) -> None:
    study = opened(tmp_path, write)
    found = size_forecast(study, study.plan(["mean(x)"], epsilon=1)._prepared)
    assert found is not None
    assert ROWS / 3 < found.rows < ROWS * 3
    assert (found.rows == ROWS) == (write is _parquet)  # a footer tells
    assert str(ROWS) not in repr(found)


def large(folder: Path, memory: str) -> Study:
    return opened(folder, memory=memory, rows=LARGE, persons=LARGE // 2, values=LARGE)


@pytest.mark.wide
def test_a_release_that_cannot_fit_is_refused_at_a_terminal_before_the_charge_and_fits_with_other_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = large(tmp_path, "1MB")
    (item,) = study.spec.releases
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(SpecError, match=r"spill=1GB\. Nothing was charged") as refused:
        refuse_too_large(Voice(), study, planner(Voice(), study, item, PublicGuess()))
    assert "1,500,000 rows" in str(refused.value)
    assert re.search(
        r"to keep [\d.]+ MB of them or more, and \[engine\] memory and spill allow it 2 MB", str(refused.value)
    )
    assert not (tmp_path / "visits.ledger").exists()
    quiet = Voice(as_json=True)  # a document is kept, and would tell the size
    refuse_too_large(quiet, study, planner(quiet, study, item, PublicGuess()))
    larger = large(tmp_path, "20MB")
    refuse_too_large(Voice(), larger, planner(Voice(), larger, item, PublicGuess()))


def test_a_release_of_a_large_file_at_a_terminal_is_planned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, plans = opened(tmp_path, memory="20MB"), list[object]()
    (item,) = study.spec.releases
    plain = Study.plan

    def counted(self: Study, *asked: Any, **told: Any) -> object:
        plans.append(asked)
        return plain(self, *asked, **told)

    monkeypatch.setattr(Study, "plan", counted)
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}", Terminal())
    monkeypatch.setattr(release, "confirm", lambda question, *, yes: None)
    monkeypatch.setattr(sys.modules["reticent.study.size_forecast"], "is_small", lambda study, limits: False)
    planned = planner(Voice(), study, item, PublicGuess())
    refuse_too_large(Voice(), study, planned)
    ask_first(Voice(), study, item, rt.Record(), planned)
    assert len(plans) == 1


@pytest.mark.wide
def test_nobody_but_the_terminal_of_the_curator_is_told_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = large(tmp_path, "1MB")
    (item,) = study.spec.releases
    made = study.plan(list(item.ask), epsilon=item.epsilon)
    for stream, told in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        _say_size(Voice(), study, made)
        assert ("1,500,000 rows" in " ".join(stream.getvalue().split())) == told
        if not told:
            refuse_too_large(Voice(), study, planner(Voice(), study, item, PublicGuess()))
    (tmp_path / "more").mkdir()
    fewer = opened(tmp_path / "more", memory="1MB")
    assert made.to_json() == fewer.plan(list(item.ask), epsilon=item.epsilon).to_json()


def test_a_plan_tells_memory_from_declared_people_whatever_the_file_holds(tmp_path: Path) -> None:
    study = opened(tmp_path)
    few, many = (study.plan(["mean(x)"], epsilon=1, people=people) for people in (1_000, 50_000_000))
    assert few.memory is not None
    assert many.memory is not None
    assert many.memory > 10**9 > few.memory
    assert "of memory" in many.footnote()
    assert "of memory" not in few.footnote()
    held = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=2)
    assert held.plan(["mean(x)"], epsilon=1).memory is None


def test_a_small_table_fits_the_least_limits(tmp_path: Path) -> None:
    """The program itself takes more, and no part of what the engine is allowed."""
    pyarrow.parquet.write_table(pa.table({"who": ["a"], "x": [1.0]}), tmp_path / "v.parquet")
    (tmp_path / "s.toml").write_text(STUDY.format(source="v.parquet", memory="1MB"), "utf-8")
    study = rt.open(tmp_path / "s.toml")
    assert is_small(study, study.spec.limits)
    found = size_forecast(study, study.plan(["mean(x)"], epsilon=1)._prepared)
    assert found is not None
    assert found.fits


NUMBER, ROUNDED, DISTINCT = (StoredCells(short, 8, False) for short in (4.9, 4.9, 8.0))
FILE = {
    "who": NUMBER,
    "name": StoredCells(6.2, 13, True),
    "k": StoredCells(1.3, 1.3, False),
    "x": ROUNDED,
    "y": DISTINCT,
    "z": DISTINCT,
    **{f"w{nth}": StoredCells(2.2, 2.4, False) for nth in range(10)},
}
BY_KEY = (rt.count(), rt.persons(), rt.sum("x"), rt.mean("x"))
TEN = tuple(rt.mean(f"w{nth}") for nth in range(10))
MEASURED: list[tuple[str | None, int, tuple[Any, ...], bool, float]] = [
    # person, millions of rows, questions, by key, bytes that a release took at most, in millions
    ("who", 1, BY_KEY, True, 308),
    ("who", 10, BY_KEY, True, 650),
    ("who", 100, BY_KEY, True, 4085),
    ("name", 1, BY_KEY, True, 341),
    ("name", 10, BY_KEY, True, 761),
    ("who", 10, (rt.mean("x"),), False, 304),
    ("name", 10, (rt.mean("x"),), False, 377),
    (None, 10, (rt.mean("x"),), False, 267),
    (None, 10, TEN, False, 308),
    (None, 10, (rt.histogram("x"), rt.histogram("y")), False, 261),
    ("who", 10, (rt.histogram("y"),), False, 374),
    (None, 10, (rt.sum("x"), rt.mean("x")), True, 432),
    ("who", 1, TEN, False, 338),
    ("who", 10, TEN, False, 549),
    ("who", 10, TEN, True, 1392),
    ("who", 10, (rt.median("x"),), False, 317),
    ("who", 1, (rt.median("y"),), False, 285),
    ("who", 10, (rt.median("y"),), False, 427),
    (None, 10, (rt.iqr("y"),), False, 301),
    (None, 10, (rt.quantiles("y", [0.1, 0.25, 0.5, 0.75, 0.9]),), False, 303),
    ("who", 10, (rt.median("x"),), True, 649),
    ("who", 10, (rt.regress("y ~ x + z"),), False, 5879),
    (None, 1, (rt.regress("y ~ x", method="theil_sen"),), False, 1108),
    ("who", 10, (rt.density("y"),), False, 2117),
    ("who", 10, (rt.test("x ~ y", kind="correlation"),), False, 1121),
]


SECONDS: list[tuple[str | None, tuple[Any, ...], bool, float]] = [
    # person, questions about ten million rows, by key, seconds of a processor beside the start of the program
    (None, (rt.mean("x"),), False, 0.5),
    (None, TEN, False, 5.0),
    (None, (rt.iqr("y"),), False, 1.5),
    (None, (rt.iqr("x"),), False, 1.4),
    ("who", (rt.mean("x"),), False, 4.2),
    ("who", TEN, False, 11.8),
    ("who", (rt.median("y"),), False, 5.8),
    ("who", BY_KEY, True, 6.8),
]


@pytest.mark.parametrize(("person", "asked", "by_key", "measured"), SECONDS)
def test_time_is_forecast_neither_half_of_what_releases_took_nor_two_and_a_half_times_it(
    person: str | None, asked: tuple[Any, ...], by_key: bool, measured: float
) -> None:
    """They are measured anew by ``benchmarks/engines.py --forecast``."""
    prepared, schema = _prepared(person, asked, by_key=by_key)
    columns, file = len(prepared.columns_asked(schema)), Path("table.parquet")
    assert 0.5 * measured < of_rows(prepared.all_steps, file, columns, 10**7, schema.person) < 2.5 * measured


def _memory(person: str | None, rows: int, asked: tuple[Any, ...], *, by_key: bool, **told: Any) -> int:
    prepared, schema = _prepared(person, asked, by_key=by_key, **told)
    return memory_of_release(prepared, schema, rows, FILE)


def _prepared(
    person: str | None, asked: tuple[Any, ...], *, by_key: bool, **told: Any
) -> tuple[PreparedRelease, Schema]:
    columns: dict[str, Any] = {name: rt.real(-5, 100) for name in FILE if name not in ("who", "name", "k")}
    columns["k"] = rt.integer(0, 999)
    told = {"rows_each": 25, "person": person, **told} if person else told
    table = {"who": [1], "name": ["a"], "k": [1]} | {name: [1.0] for name in columns if name != "k"}
    study = rt.study(table, adjacency="add_remove", columns=columns, budget=2, **told)
    view = study.by("k", among=range(1000)) if by_key else study
    prepared = view.plan(asked, epsilon=1)._prepared
    assert prepared is not None
    return prepared, view.schema


@pytest.mark.wide
@pytest.mark.loop(5)
@pytest.mark.parametrize(("person", "millions", "asked", "by_key", "measured"), MEASURED)
def test_memory_is_forecast_neither_a_tenth_below_what_releases_took_nor_twice_it(
    person: str | None, millions: int, asked: tuple[Any, ...], by_key: bool, measured: float
) -> None:
    """Constants that no longer hold are measured anew by ``benchmarks/engines.py --forecast``."""
    found = _memory(person, millions * 10**6, asked, by_key=by_key)
    assert 0.9 * measured < found / 10**6 < 2 * measured


@pytest.mark.parametrize(
    ("millions", "megabytes", "passed"), [(2, 51, True), (6, 51, True), (20, 80, True), (20, 51, False)]
)
def test_what_is_carried_out_is_no_part_of_the_room_that_a_release_needs(
    millions: int, megabytes: int, passed: bool
) -> None:
    """Measured: ages, costs and wards of persons who are texts, whatever the whole process takes."""
    file = {"age": StoredCells(0.9, 0.9, False), "cost": DISTINCT, "ward": StoredCells(0.3, 0.3, True),
            "who": StoredCells(6.5, 11.5, True)}  # fmt: skip
    study = rt.study(
        {"age": [40], "cost": [1.0], "ward": ["n"], "who": ["a"]},
        adjacency="add_remove",
        columns={"age": rt.integer(0, 110), "cost": rt.real(0, 500), "ward": rt.category(["n", "s", "e"])},
        person="who",
        rows_each=6,
        budget=9,
    )
    asked = ["count", "persons", "mean(age) by ward", "median(cost)", "sum(cost) by ward"]
    prepared = study.plan(asked, epsilon=3)._prepared
    assert prepared is not None
    kept = kept_in_engine(prepared, study.schema, millions * 10**6, file) / SURE
    assert (kept < megabytes * 10**6) == passed
    assert memory_of_release(prepared, study.schema, millions * 10**6, file) > 4 * megabytes * 10**6


@pytest.mark.wide
def test_nothing_is_told_of_rows_that_a_filter_may_leave_out(tmp_path: Path) -> None:
    study = large(tmp_path, "1MB")
    found = [size_forecast(one, one.plan(["mean(x)"], epsilon=1)._prepared) for one in (study, study.where("x < 1"))]
    assert [one is not None and one.fits for one in found] == [False, True]


@pytest.mark.wide
def test_records_of_declared_people_are_no_more_than_the_cap_of_each() -> None:
    asked = (rt.regress("y ~ x + z"),)
    few = _memory("who", 10**7, asked, by_key=False, people=4000)
    assert few < _memory("who", 10**7, asked, by_key=False) / 5


def test_a_footer_tells_distinct_values_from_few_and_texts_from_numbers(tmp_path: Path) -> None:
    draw = random.Random(20081114)
    values = [100 * draw.random() for _ in range(ROWS)]
    table: dict[str, list[Any]] = {"who": [f"p{row % 5000}" for row in range(ROWS)]}
    table |= {"x": values, "few": [round(x, 1) for x in values]}
    for name, part in (("v1.parquet", slice(0, 5)), ("v2.parquet", slice(5, None))):
        pyarrow.parquet.write_table(pa.table({key: cells[part] for key, cells in table.items()}), tmp_path / name)
    (tmp_path / "s.toml").write_text(STUDY.format(source="v*.parquet", memory="20MB"), "utf-8")
    found = _size_and_rows(rt.open(tmp_path / "s.toml"))
    assert found is not None
    size, rows, stored = found
    assert rows == ROWS
    assert stored["few"].short < FULL <= stored["x"].short < 11  # beside a list of values that was given up
    assert {name: cells.is_text for name, cells in stored.items()} == {"who": True, "x": False, "few": False}
    assert sum(cells.short for cells in stored.values()) * ROWS < size


@pytest.mark.parametrize("asked", [["median(x)"], ["mean(x)", "count"], ["density(x)"]])
def test_no_release_is_forecast_to_take_more_than_a_file_that_needs_no_plan_may(
    asked: list[str], tmp_path: Path
) -> None:
    study = opened(tmp_path)
    forecast = size_forecast(study, study.plan(asked, epsilon=1)._prepared)
    assert forecast is not None
    assert forecast.memory < most_of(study.schema, ROWS) + FITTING


MODELS: list[tuple[Any, str | None, int, float, float]] = [
    # model, what it tells, columns, millions of rows, bytes that a fit took, in millions
    (private.LinearRegression(epsilon=1), "y", 2, 1, 862),
    (private.LinearRegression(epsilon=1), "y", 6, 1, 828),
    (private.LinearRegression(epsilon=1), "y", 2, 4, 2606),
    (private.HuberRegressor(epsilon=1), "y", 6, 1, 532),
    (private.QuantileRegressor(epsilon=1), "y", 6, 1, 592),
    (private.LogisticRegression(epsilon=1), "c", 2, 1, 467),
    (private.LogisticRegression(epsilon=1), "c", 6, 4, 1937),
    (private.LogisticRegression(epsilon=1), "k", 2, 1, 2191),
    (private.LinearSVC(epsilon=1), "c", 6, 1, 586),
    (private.GaussianNB(epsilon=1), "c", 6, 1, 608),
    (private.StandardScaler(epsilon=1), None, 6, 1, 587),
    (private.PCA(epsilon=1), None, 2, 1, 391),
    (private.PCA(epsilon=1), None, 6, 4, 2846),
    (private.KMeans(3, epsilon=1), None, 6, 1, 572),
    (private.KMeans(20, epsilon=1), None, 2, 1, 684),
    (private.DecisionTreeClassifier(epsilon=1), "c", 2, 1, 384),
    (private.RandomForestClassifier(epsilon=1), "c", 6, 4, 1376),
    (private.GridSearchCV(private.LogisticRegression(), {"C": [0.1, 1, 10]}, epsilon=1), "c", 2, 1, 566),
    (private.GridSearchCV(private.LogisticRegression(), {"C": [0.1, 1, 10]}, epsilon=1), "c", 6, 1, 735),
]


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A file of five rows, whose plans suppose as many as were measured."""
    folder = tmp_path_factory.mktemp("models")
    names = [*(f"x{nth}" for nth in range(6)), "y"]
    rows: dict[str, list[Any]] = {"who": [1, 2, 3, 4, 5], **{name: [0.5] * 5 for name in names}}
    pyarrow.parquet.write_table(pa.table(rows | {"c": [0, 1] * 2 + [0], "k": [0] * 5}), folder / "v.parquet")
    columns = [f'[columns.{name}]\nkind = "real"\nlow = 0\nhigh = 1\n' for name in names]
    columns += [f'[columns.{name}]\nkind = "integer"\nlow = 0\nhigh = {top}\n' for name, top in (("c", 1), ("k", 9))]
    (folder / "s.toml").write_text(
        '[study]\nsource = "v.parquet"\nledger = "v.ledger"\n[person]\ncolumn = "who"\nrows = { at_most = 25 }\n'
        f'adjacency = "add_remove"\n[budget]\nepsilon = "8"\n{"".join(columns)}',
        "utf-8",
    )
    return rt.open(folder / "s.toml")


@pytest.mark.loop(5)
@pytest.mark.parametrize(("model", "y", "columns", "millions", "measured"), MODELS)
def test_memory_of_a_fit_is_forecast_neither_a_tenth_below_what_it_took_nor_twice_it(
    modelled: Study, model: Any, y: str | None, columns: int, millions: int, measured: float
) -> None:
    plan = modelled.model_plan(model, [f"x{nth}" for nth in range(columns)], y, people=millions * 10**5, rows=10)
    assert plan.memory is not None
    assert 0.9 * measured < plan.memory / 10**6 < 2 * measured
    assert plan.to_json()["memory_bytes"] == plan.memory
    assert ("of memory" in plan.footnote()) == (plan.memory > 10**9)


@pytest.mark.parametrize(("columns", "measured"), [(2, 339), (6, 522)])
def test_memory_of_a_session_is_forecast_too(modelled: Study, columns: int, measured: float) -> None:
    names = [f"x{nth}" for nth in range(columns)]
    plan = modelled.session_plan("sparse_vector", names, answers=2, epsilon=1, people=10**5, rows=10)
    assert plan.memory is not None
    assert 0.9 * measured < plan.memory / 10**6 < 2 * measured


@pytest.mark.wide
def test_a_plan_of_a_fit_tells_the_terminal_of_the_curator_alone_what_the_file_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = large(tmp_path, "1MB")
    made = study.model_plan(private.PCA(epsilon=1), ["x"])
    for stream, told in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        _say_size(Voice(), study, made)
        said = " ".join(stream.getvalue().split())
        assert ("1,500,000 rows" in said) == told
        assert ("Raise them: --engine spill=1GB" in said) == told


BOUGHT: list[tuple[str, Callable[[Study], object]]] = [
    ("fit", lambda study: private.PCA(epsilon=1).fit(study.xy(["x"])[0])),
    (
        "search",
        lambda study: private.GridSearchCV(private.QuantileRegressor(epsilon=1), {"quantile": [0.4, 0.5]}).fit(
            *study.xy(["x"], "y")
        ),
    ),
    ("session", lambda study: study.sparse_vector(["x"], epsilon=1, positives=1)),
    ("release", lambda study: study.release(["mean(x)"], epsilon=1)),
    ("made-up rows", lambda study: study.synthesize(["x"], epsilon=1)),
]


@pytest.mark.parametrize("buy", [pytest.param(buy, id=name) for name, buy in BOUGHT])
def test_what_cannot_fit_is_refused_before_the_charge_in_python_at_a_terminal_alone(
    buy: Callable[[Study], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"who": range(ROWS), "x": [row / ROWS for row in range(ROWS)], "y": [0.5] * ROWS})
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    study = rt.study(
        tmp_path / "v.parquet",
        adjacency="add_remove",
        columns={"x": rt.real(0, 1), "y": rt.real(0, 1)},
        person="who",
        rows_each=1,
        budget=8,
    )
    monkeypatch.setattr(Limits, "room", property(lambda limits: 1000))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert not study.ledger.releases()  # a ledger is there, which is shown to others
    with pytest.raises(SpecError, match=r'engine=\{"spill": "1GB"\}\. Nothing was charged\. Only this') as refused:
        buy(study)
    assert f"{ROWS:,} rows" in str(refused.value)
    assert not study.ledger.releases()
    assert not study.ledger.refusals()
    monkeypatch.setattr("sys.stderr", io.StringIO())  # of a job, whose log others may read
    buy(study)
    assert len(study.ledger.releases()) == 1


@pytest.mark.parametrize(
    "buy",
    [
        lambda study: study.noisy_answers(["x"], rho="0.01", answers=2, delta="1e-6"),
        lambda study: study.release(["mean(x)"], epsilon=1),
    ],
)
def test_what_cannot_fit_is_refused_before_persons_are_counted(
    buy: Callable[[Study], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is public where rows are replaced; a count that did not fit had been a fault, which is charged."""
    opened(tmp_path, memory="50MB")
    text = (tmp_path / "s.toml").read_text("utf-8").replace("add_remove", "substitute").replace("people = 1000\n", "")
    (tmp_path / "s.toml").write_text(text.replace('epsilon = "2"', 'epsilon = "2"\ndelta = "1e-6"'), "utf-8")
    study = rt.open(tmp_path / "s.toml")
    monkeypatch.setattr(Limits, "room", property(lambda limits: 1000))
    monkeypatch.setattr("sys.stderr", Terminal())

    def counted(self: Table) -> int:
        raise AssertionError("rows were read")

    monkeypatch.setattr(Table, "units", counted)
    with pytest.raises(TooLarge, match="Nothing was charged"):
        buy(study)
    assert not study.ledger.releases()


def test_whatever_else_is_refused_is_noted_whether_rows_fit_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a ledger without the line would tell that they do not."""
    study = opened(tmp_path, memory="50MB")
    monkeypatch.setattr(Limits, "room", property(lambda limits: 1000))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert not study.ledger.releases()
    with pytest.raises(QuestionError, match="Most likely no reply"):
        study.release(["sd(x)"], epsilon="0.01")
    with pytest.raises(BudgetError):
        study.sparse_vector(["x"], epsilon=3, positives=1)
    assert [line.note for line in study.ledger.refusals()] == ["5", "4"]


def test_a_program_without_a_standard_error_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window has none, a server may put a writer of its log there, and close it."""
    study, closed = opened(tmp_path, memory="50MB", rows=1000), io.StringIO()
    closed.close()
    for stream in (None, SimpleNamespace(write=print, flush=print), closed):
        monkeypatch.setattr("sys.stderr", stream)
        study.release(["count"], epsilon="0.1")
        study.sparse_vector(["x"], epsilon="0.1", positives=1)
    assert len(study.ledger.releases()) == 6


def test_a_document_of_the_command_line_is_told_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = opened(tmp_path, memory="50MB")
    monkeypatch.setattr(Limits, "room", property(lambda limits: 1000))
    monkeypatch.setattr("sys.stderr", Terminal())
    release.watched(study, Voice(as_json=True)).release(["mean(x)"], epsilon=1)
    assert len(study.ledger.releases()) == 1


@pytest.mark.wide
@pytest.mark.parametrize(("timeout", "outcome"), [(1e-6, "refused"), (0.2, "told"), (3600, "nothing")])
def test_a_timeout_below_the_forecast_is_told_at_a_terminal_and_refused_where_no_machine_keeps_it(
    timeout: float, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path, memory="50MB", rows=LARGE)
    (item,) = study.spec.releases
    prepared = study.plan(list(item.ask), epsilon=item.epsilon).prepared_for(study.schema)
    monkeypatch.setattr("sys.stderr", io.StringIO())  # of a job, whose log others may read
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study._refuse_too_large(prepared, {"timeout": timeout})
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    command = partial(refuse_too_large, Voice(), study, planner(Voice(), study, item, PublicGuess()))
    if outcome == "refused":
        words = r"A timeout of 1e-06 s is over before they are read\. Allow more\. Nothing was charged\. Only this"
        for door in (partial(study._refuse_too_large, prepared), command):
            with pytest.raises(TooLarge, match=words):
                door({"timeout": timeout})
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        study._refuse_too_large(prepared, {"timeout": timeout})
    words = "A timeout of 0.2 s may end the release before its draw, and the charge then stays."
    assert [words in str(one.message) for one in told] == [True] * (outcome == "told")
    command({"timeout": timeout})
    assert (words in " ".join(terminal.getvalue().split())) == (outcome == "told")


def test_the_command_line_hands_its_timeout_to_the_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tmp_path, memory="50MB", rows=1000)
    monkeypatch.setattr(Voice, "curator", property(lambda voice: True))
    asked = ["release", str(tmp_path / "s.toml"), "--timeout", "1e-9", "--out", str(tmp_path / "v")]
    found = CliRunner().invoke(app, asked)
    assert "A timeout of 1e-09 s is over before they are read." in " ".join(found.output.split())
    assert not (tmp_path / "visits.ledger").exists()


@pytest.mark.wide
def test_a_full_disk_of_temporary_files_is_told_and_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path, memory="50MB", rows=LARGE, persons=LARGE // 2, values=LARGE)
    monkeypatch.setattr(Limits, "memory_bytes", property(lambda limits: 1000))
    monkeypatch.setattr(Limits, "room", property(lambda limits: 10**9))
    monkeypatch.setattr("sys.stderr", Terminal())
    forecast = sys.modules["reticent.study.size_forecast"]
    for free, fits in ((10**6, False), (10**9, True)):
        monkeypatch.setattr(forecast, "disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        found = size_forecast(study, study.plan(["mean(x)"], epsilon=1)._prepared)
        assert found is not None
        assert found.fits == fits
        if not fits:
            assert "the disk of temporary files leave it 1 MB. Free room there" in found.refusal()
            with pytest.raises(SpecError, match=r"name another folder as temp\. Nothing was charged"):
                study._refuse_too_large(study.plan(["mean(x)"], epsilon=1).prepared_for(study.schema))


@pytest.mark.wide
def test_values_that_are_sorted_in_a_file_are_compared_with_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path, memory="50MB", rows=LARGE, persons=LARGE // 2, values=LARGE)
    schema = replace(study.schema, person=replace(study.schema.person, people=None))
    study = replace(study, spec=replace(study.spec, schema=schema))
    forecast = sys.modules["reticent.study.size_forecast"]
    monkeypatch.setattr("sys.stderr", Terminal())
    for asked, free, fits in (("median(x)", 10**6, False), ("median(x)", 10**8, True), ("mean(x)", 10**6, True)):
        monkeypatch.setattr(forecast, "disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        prepared = study.plan([asked], epsilon=1).prepared_for(study.schema)
        found = size_forecast(study, prepared)
        assert found is not None
        assert found.fits == fits
        if not fits:
            with pytest.raises(TooLarge, match=r"file of 4 MB or more, and its disk has 1 MB\. Free room"):
                study._refuse_too_large(prepared)
