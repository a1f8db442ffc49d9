"""A plan tells which questions bring cells out of the engine: what it leaves out brings small tables of integers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.data.engines.duckdb import DuckDBSession
from reticent.data.format import LISTED_EDGES, NAMED_EDGES
from reticent.data.order_statistics import ABSENT
from reticent.data.query import OrderedValues, Records, Rows, Tally
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import open_table
from reticent.learning import LinearRegression
from reticent.study.terms import StudyTerms
from reticent.study.transfer import COUNTS, NEAR, NEAR_OR_TIED, ROWS, TEXTS, cells_of, notes
from tests.engines.test_against_reference import SECRET, columns, queries

SIZE = 600
MOST = 20  # integers by group and bin: the greatest list of keys has 4, and of bins 4


def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows of each result that a session hands over."""
    found: list[int] = []
    rows, arrow, batches = DuckDBSession.rows, DuckDBSession.arrow, DuckDBSession.batches

    def noted_rows(self: DuckDBSession, statement: str) -> Any:
        result = rows(self, statement)
        found.append(len(result))
        return result

    def noted_arrow(self: DuckDBSession, statement: str) -> Any:
        result = arrow(self, statement)
        found.append(result.num_rows)
        return result

    def noted_batches(self: DuckDBSession, statement: str) -> Any:
        for batch in batches(self, statement):
            found.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(DuckDBSession, "rows", noted_rows)
    monkeypatch.setattr(DuckDBSession, "arrow", noted_arrow)
    monkeypatch.setattr(DuckDBSession, "batches", noted_batches)
    return found


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("part", range(2))
def test_queries_bring_the_cells_that_a_plan_tells_of(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of query, of a table whose numbers all differ: few integers where nothing is told, else many cells."""
    schema = Schema(columns(), Person("add_remove", None, rows=1))
    numbers = [nth / 64 for nth in range(SIZE)]
    places = {"town": "b", "flag": True, "whole_town": "b", "whole_flag": True}
    held: dict[str, list[Any]] = {name: [places[name]] * SIZE if name in places else numbers for name in schema.columns}
    held |= {name: [*range(SIZE)] for name in ("word", "whole", "site", "whole_site", "whole_k")}
    held |= {name: [1] * SIZE for name in ("code", "whole_code")}
    table, found, cells = open_table(held, schema), told(monkeypatch), set()
    fine = [Tally("x", edges=tuple(Fraction(at, 16) for at in range(many + 1))) for many in (NAMED_EDGES, LISTED_EDGES)]
    for query in [*queries()[part::2], *fine]:
        found.clear()
        table.run([query], SECRET)
        windows = isinstance(query, OrderedValues) and (query.needs is not None or query.within is not None)
        if not cells_of(query, schema.columns):
            assert sum(found) <= max(MOST, getattr(query, "bins", 0)), query
        elif cells_of(query, schema.columns) == COUNTS:
            assert sum(found) < SIZE, query
        elif not windows and getattr(query, "keys", None) is None and getattr(query, "on", "") != "binades":
            cells.add(type(query).__name__)
            assert sum(found) > MOST, query
    assert cells == {"Records", "Ranks", "OrderedValues", "Tally"}


def test_records_of_few_cells_are_counted_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each different row comes once, whatever the number of rows; the array is that of all of them, in order."""
    held: dict[str, list[Any]] = {
        "age": [*(nth * 7 % 50 for nth in range(SIZE)), None, 40, 99],
        "sex": [*("MF"[nth % 3 % 2] for nth in range(SIZE)), "M", "x", "F"],
    }
    declared: dict[str, Column] = {"age": integer(0, 49), "sex": category(["M", "F"])}
    query = Records(("age", "sex"), (Fraction(1), Fraction(1)), ("sex",))
    cells = [*zip(held["age"], held["sex"], strict=True)]
    rows = [(age, "MF".index(sex)) for age, sex in cells if age is not None and sex != "x"]
    brought = told(monkeypatch)
    (found,) = open_table(held, Schema(declared, Person("add_remove"))).run([query], SECRET)
    assert found.records is not None
    assert [tuple(row) for row in found.records.tolist()] == sorted([*rows, *[(ABSENT, 0)] * 2])
    assert max(brought) <= 50 * 2 + 2 < SIZE
    assert cells_of(query, declared) == COUNTS
    fine = replace(query, units=(Fraction(1, 1 << 14), Fraction(1)))
    assert cells_of(fine, {**declared, "age": real(0, 49)}) == ROWS
    assert cells_of(fine, {**declared, "age": real(0, 49, resolution="0.5")}) == COUNTS
    for other in (integer(0, 1 << 16), integer()):
        assert cells_of(query, {**declared, "age": other}) == ROWS
    assert cells_of(replace(query, owners="told"), declared) == ROWS


def test_nothing_is_told_of_rows_that_are_read_in_this_process() -> None:
    asked = [("count", [Rows()]), ("a fit", None)]
    assert notes("duckdb", asked, {}) == ()
    assert [note.split(" leave ")[0] for note in notes("spark", asked, {})] == [f"a fit: {ROWS}"]


@pytest.mark.wide
@pytest.mark.parametrize(("engine", "place"), [("postgres", "the database"), ("spark", "the cluster")])
def test_plans_tell_what_leaves_the_rows_place(monkeypatch: pytest.MonkeyPatch, engine: str, place: str) -> None:
    """As if the rows were there; whole numbers and means bring none."""
    study = rt.study(
        {"x": [1.0, 2.0] * 50, "y": [1.0, 3.0] * 50, "k": [1, 2] * 50, "m": [3, 4] * 50},
        adjacency="add_remove",
        columns={"x": rt.real(0, 10), "y": rt.real(0, 5), "k": rt.integer(0, 9), "m": rt.integer(0, 5)},
        budget=5,
        ledger=None,
    )
    asked = ["count", "mean(x)", "median(x)", "quantile(y, 0.9)", "iqr(y)", "regress(y ~ x)"]
    asked += ["quantiles(x, 0.1 0.5 0.9)", "regress(k ~ m)"]
    assert place not in str(study.plan(asked, epsilon=1, people=20_000))
    monkeypatch.setattr(StudyTerms, "_engine", engine)
    monkeypatch.setattr(StudyTerms, "_place", "spark:a.b")  # notes are of a source elsewhere
    text = " ".join(str(study.plan(asked, epsilon=1, people=20_000)).split())
    assert f"median(x), quantile(y, 0.9): {NEAR} leave {place} for this process, which draws the noise." in text
    assert f"iqr(y), quantiles(x, 0.1 0.5 0.9): {NEAR_OR_TIED} leave {place}" in text
    assert f"regress(y ~ x): {ROWS} leave {place}" in text
    assert f"regress(k ~ m): {COUNTS} leave {place}" in text
    model = study.model_plan(LinearRegression(epsilon=1), ["x"], "y", people=20_000)
    assert f"LinearRegression(x; y): {ROWS} leave {place}" in " ".join(str(model).split())


def test_a_choice_before_the_answers_tells_what_it_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are found need all texts; bounds that are chosen need integers alone, as a mean or a count does."""
    study = rt.study(
        {"x": [1.0, 2.0] * 50, "drug": ["a", "b"] * 50},
        adjacency="add_remove",
        columns={"x": rt.real(0, "auto"), "drug": rt.text()},
        budget=5,
        delta="1e-6",
    )
    found: list[list[str]] = []

    def noted(self: StudyTerms, brought: Any) -> tuple[str, ...]:
        told = notes("spark", brought, {})
        found.append([note.split(" leave ")[0] for note in told])
        return told

    monkeypatch.setattr(StudyTerms, "_transferred", noted)
    study.plan(["mean(x)"], epsilon=1, people=20_000)
    study = rt.study({"drug": ["a"] * 9}, adjacency="add_remove", columns={"drug": rt.text()}, budget=5, delta="1e-6")
    study.plan(["count by drug keys=found"], epsilon=1, delta="1e-7", people=20_000)
    assert found == [[], [f"keys of drug: {TEXTS}"]]
