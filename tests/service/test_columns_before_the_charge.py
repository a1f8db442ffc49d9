"""Columns are checked before the charge, whatever door asks for them: a release, a density, a fit, a session.

A column that the file lacks, one of another type, one that is not declared, and one that is no number are refused with
nothing charged. Each query that an engine is told after a charge was checked against the schema before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.data import columns as module
from reticent.data.query import Query, columns_read
from reticent.data.schema import Column, Schema
from reticent.data.table import Table
from reticent.errors import Refusal
from reticent.ledger import Ledger
from reticent.privacy.loss import PureDP
from reticent.sessions import session
from reticent.study import allocation, handles

Door: TypeAlias = Callable[[rt.Study, str], object]
PEOPLE: Final = 400
ROWS: Final[dict[str, list[Any]]] = {
    "x": [0.5] * PEOPLE,
    "y": [0.25] * PEOPLE,
    "c": ["a", "b"] * (PEOPLE // 2),
}
COLUMNS: Final[dict[str, Column]] = {"x": rt.real(0, 1), "y": rt.real(0, 1), "c": rt.category(["a", "b"])}
FILE: Final = """
[study]
title = "made up"
source = "rows.{kind}"
ledger = "made_up.ledger"
[person]
adjacency = "{adjacency}"
rows = "one_each"
[budget]
rho = "0.6"
[columns]
x = {{ kind = "real", low = 0, high = 1 }}
y = {{ kind = "real", low = 0, high = 1 }}
c = {{ kind = "category", among = ["a", "b"] }}
"""


def fitted(study: rt.Study, column: str) -> object:
    from reticent.learning import LinearRegression

    return LinearRegression(epsilon=1).fit(*study.xy(["x"], column))


def scaled(study: rt.Study, column: str) -> object:
    from reticent.learning import LinearRegression

    return LinearRegression(epsilon=1).fit(*study.xy(["x", column], "x"))


def searched(study: rt.Study, column: str) -> object:
    from reticent.learning import GridSearchCV, LogisticRegression

    model = LogisticRegression(epsilon=1, classes=[0, 1])
    return GridSearchCV(model, {"C": [1, 2]}).fit(*study.xy(["x"], column))


ROOM: Final = {True: "rows", False: "study"}  # of a SELECT: the name of a file, and of a table in memory
ANYWAY: Final = rt.Record(try_anyway=True)
DOORS: Final[dict[str, Door]] = {
    "release": lambda study, column: study.release([f"mean({column})"], rho="0.1", record=ANYWAY),
    "filter": lambda study, column: study.release([f"count where {column} > 0.1"], rho="0.1", record=ANYWAY),
    "density": lambda study, column: study.release([f"density({column})"], rho="0.1", record=ANYWAY),
    "synthesize": lambda study, column: study.synthesize([column], rho="0.1", record=ANYWAY),
    "sql": lambda study, column: study.sql(f"SELECT AVG({column}) FROM {ROOM[bool(study.spec.source)]}", rho="0.1"),
    "fit": fitted,
    "search": searched,
    "holdout": lambda study, column: study.holdout([column], epsilon=1, rounds=2, threshold="0.5"),
    "sparse vector": lambda study, column: study.sparse_vector([column], epsilon=1, positives=2),
    "leaderboard": lambda study, column: study.leaderboard([column], epsilon=1, improvements=2, step="0.1"),
    "noisy answers": lambda study, column: study.noisy_answers([column], rho="0.1", answers=2),
}
LISTS: Final = pa.table({**ROWS, "y": [[0.5]] * PEOPLE})
DATES: Final = pa.table({**ROWS, "y": pa.array([0] * PEOPLE, pa.timestamp("s"))})
FILES: Final[dict[str, pa.Table]] = {
    "lacks": pa.table({"x": ROWS["x"], "c": ROWS["c"]}),
    "lists": LISTS,
    "dates": DATES,
}


def asked(place: Path, kind: str, adjacency: str) -> rt.Study:
    (place / "study.toml").write_text(FILE.format(kind=kind, adjacency=adjacency), "utf-8")
    return rt.open(place / "study.toml")


def refused(study: rt.Study, door: Door, column: str) -> str:
    with pytest.raises(Refusal) as refusal:
        door(study, column)
    assert study.left() == study.spec.budget.loss
    return str(refusal.value)


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("name", DOORS)
def test_a_column_that_a_file_lacks_or_mistypes_is_refused_before_the_charge(
    name: str, adjacency: str, tmp_path: Path
) -> None:
    for kind, rows in FILES.items():
        (place := tmp_path / kind).mkdir()
        pq.write_table(rows, place / "rows.parquet")
        assert "Nothing was read." in refused(asked(place, "parquet", adjacency), DOORS[name], "y")
    (tmp_path / "rows.csv").write_text("x,c\n" + "0.5,a\n" * PEOPLE, "utf-8")
    assert "There is no column 'y'" in refused(asked(tmp_path, "csv", adjacency), DOORS[name], "y")


@pytest.mark.parametrize("name", DOORS)
def test_a_column_that_is_not_declared_is_refused_in_one_way(name: str) -> None:
    study = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=9, title="rows")
    said = refused_in_memory(study, DOORS[name], "z")
    assert "There is no column 'z'" in said
    assert said.endswith("Nothing was charged.")


@pytest.mark.parametrize("name", [name for name in DOORS if name not in ("filter", "search")])
def test_a_category_where_numbers_are_needed_is_refused_before_the_charge(name: str) -> None:
    study = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=9, title="rows")
    assert "c is a category" in refused_in_memory(study, DOORS[name], "c")


def refused_in_memory(study: rt.Study, door: Door, column: str) -> str:
    said = refused(study, door, column)
    assert study.ledger.spent() == PureDP(Fraction(0))
    return said


def kind_of(query: Query) -> tuple[type, frozenset[str]]:
    return type(query), frozenset(columns_read(query))


@pytest.mark.parametrize("name", DOORS)
def test_every_query_was_checked_before_the_charge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[tuple[type, frozenset[str]]] = []
    at_charge: list[tuple[type, frozenset[str]]] = []
    told: list[tuple[type, frozenset[str]]] = []
    whole, charge, run = module.columns_of, Ledger.reserve, Table.run

    def checking(queries: Sequence[Query], schema: Schema) -> tuple[str, ...]:
        checked.extend(map(kind_of, queries))
        return whole(queries, schema)

    def charging(self: Ledger, *given: Any, **named: Any) -> Any:
        at_charge[:] = checked
        return charge(self, *given, **named)

    def running(self: Table, queries: Sequence[Query], *given: Any) -> Any:
        if {*self.schema.columns} == {*COLUMNS}:  # else of the made-up table that an engine is checked by
            told.extend(map(kind_of, queries))
        return run(self, queries, *given)

    for door in (allocation, handles, session):
        monkeypatch.setattr(door, "columns_of", checking)
    monkeypatch.setattr(Ledger, "reserve", charging)
    monkeypatch.setattr(Table, "run", running)
    study = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=rt.ZCDP(Fraction(3, 5)), title="rows")
    DOORS[name](study, "c" if name == "search" else "y")
    assert told
    assert [query for query in told if query not in at_charge] == []
