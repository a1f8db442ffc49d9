"""A plan tells which questions bring cells out of the engine: what it leaves out brings small tables of integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.data.engines.duckdb import DuckDBSession
from reticent.data.format import LISTED_EDGES, NAMED_EDGES
from reticent.data.query import OrderedValues, Rows, Tally
from reticent.data.schema import Person, Schema
from reticent.data.table import open_table
from reticent.learning import LinearRegression
from reticent.study.terms import StudyTerms
from reticent.study.transfer import NEAR, NEAR_OR_TIED, ROWS, TEXTS, cells_of, notes
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
def test_queries_bring_the_cells_that_a_plan_tells_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of query, of a table whose numbers all differ: few integers where nothing is told, else many cells."""
    schema = Schema(columns(), Person("add_remove", None, rows=1))
    numbers = [nth / 64 for nth in range(SIZE)]
    places = {"town": "b", "flag": True, "whole_town": "b", "whole_flag": True}
    held: dict[str, list[Any]] = {name: [places[name]] * SIZE if name in places else numbers for name in schema.columns}
    held |= {name: [*range(SIZE)] for name in ("word", "whole", "site", "whole_site", "whole_k")}
    held |= {name: [1] * SIZE for name in ("code", "whole_code")}
    table, found, cells = open_table(held, schema), told(monkeypatch), set()
    fine = [Tally("x", edges=tuple(Fraction(at, 16) for at in range(many + 1))) for many in (NAMED_EDGES, LISTED_EDGES)]
    for query in [*queries(), *fine]:
        found.clear()
        table.run([query], SECRET)
        windows = isinstance(query, OrderedValues) and (query.needs is not None or query.within is not None)
        if not cells_of(query):
            assert sum(found) <= max(MOST, getattr(query, "bins", 0)), query
        elif not windows and getattr(query, "keys", None) is None and getattr(query, "on", "") != "binades":
            cells.add(type(query).__name__)
            assert sum(found) > MOST, query
    assert cells == {"Records", "Ranks", "OrderedValues", "Tally"}


def test_nothing_is_told_of_rows_that_are_read_in_this_process() -> None:
    asked = [("count", [Rows()]), ("a fit", None)]
    assert notes("duckdb", asked) == ()
    assert [note.split(" leave ")[0] for note in notes("spark", asked)] == [f"a fit: {ROWS}"]


@pytest.mark.wide
@pytest.mark.parametrize(("engine", "place"), [("postgres", "the database"), ("spark", "the cluster")])
def test_plans_tell_what_leaves_the_rows_place(monkeypatch: pytest.MonkeyPatch, engine: str, place: str) -> None:
    """As if the rows were there; whole numbers and means bring none."""
    study = rt.study(
        {"x": [1.0, 2.0] * 50, "y": [1.0, 3.0] * 50},
        adjacency="add_remove",
        columns={"x": rt.real(0, 10), "y": rt.real(0, 5)},
        budget=5,
        ledger=None,
    )
    asked = ["count", "mean(x)", "median(x)", "quantile(y, 0.9)", "iqr(y)", "regress(y ~ x)"]
    asked += ["quantiles(x, 0.1 0.5 0.9)"]
    assert place not in str(study.plan(asked, epsilon=1, people=20_000))
    monkeypatch.setattr(StudyTerms, "_engine", engine)
    monkeypatch.setattr(StudyTerms, "_place", "spark:a.b")  # notes are of a source elsewhere
    text = " ".join(str(study.plan(asked, epsilon=1, people=20_000)).split())
    assert f"median(x), quantile(y, 0.9): {NEAR} leave {place} for this process, which draws the noise." in text
    assert f"iqr(y), quantiles(x, 0.1 0.5 0.9): {NEAR_OR_TIED} leave {place}" in text
    assert f"regress(y ~ x): {ROWS} leave {place}" in text
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
        told = notes("spark", brought)
        found.append([note.split(" leave ")[0] for note in told])
        return told

    monkeypatch.setattr(StudyTerms, "_transferred", noted)
    study.plan(["mean(x)"], epsilon=1, people=20_000)
    study = rt.study({"drug": ["a"] * 9}, adjacency="add_remove", columns={"drug": rt.text()}, budget=5, delta="1e-6")
    study.plan(["count by drug keys=found"], epsilon=1, delta="1e-7", people=20_000)
    assert found == [[], [f"keys of drug: {TEXTS}"]]
