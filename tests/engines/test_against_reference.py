"""The engine gives what the reference gives: every query, every kind of source, one thread and two, any row order.

Tables are random (a fixed stream) and hold what files hold: missing cells, NaN, infinities, -0.0, huge integers,
words among numbers, persons without a name, more rows than the cap.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data import order_statistics
from reticent.data.candidates import cells_on
from reticent.data.format import Limits
from reticent.data.order_statistics import (
    ABSENT,
    LARGEST,
    FetchedColumn,
    Needs,
    Order,
    RunLength,
    SortedColumn,
    fetched,
)
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    Keys,
    Moments,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    Weighing,
)
from reticent.data.query_compiler import columns_of
from reticent.data.query_result import QueryResult
from reticent.data.schema import (
    Category,
    Integer,
    Person,
    Real,
    Schema,
    category,
    grid_by_size,
    grid_by_width,
    grid_whole,
    integer,
    real,
)
from reticent.data.table import open_table
from reticent.errors import PublicParameterError, QuestionError
from tests.support.data_reference import Cell, Reference, Row

SECRET = bytes(range(100, 132))

REALS: tuple[Cell, ...] = (None, 0.0, -0.0, 0.1, -2.5, 1e-9, 7.25, 1e300, -1e300, math.inf, -math.inf, math.nan, 3.0)
WORDS: tuple[Cell, ...] = (
    "1",
    " 2 ",
    "2.5",
    "1e2",
    "x",
    "",
    None,
    "1_0",
    "inf",
    "-Inf",
    "nan",
    "1e999",
    "-7",
    "0x1",
    "+.5",
)
WHOLES: tuple[Cell, ...] = (None, 0, 1, -3, 12, 2**40, -(2**62), 5)
FLAGS: tuple[Cell, ...] = (None, True, False)
TOWNS: tuple[Cell, ...] = (None, "a", "b", "é'\"x", "c", "", " a", "b\t", "\n é'\"x \r", "a b", " ", "\xa0a")
NAMES: tuple[Cell, ...] = (None, "p", "q", "r:1", "1:r", "", "s")


NEEDS = Needs(((-2, 1), (3, 9), (12, 12), (28, 40), (500, 501)), ((0, 3), (2, 30), (4, 4), (20, 900)))
UNITS = (Fraction(1), Fraction(1, 8), Fraction(3))
WITHIN = (Fraction(-3), Fraction("7.3"))
TOWN = Records(("town",), (Fraction(1),), ("town",))


def columns() -> dict[str, Real | Integer | Category]:
    return {
        "x": real(-3, "7.3"),
        "free": real(),
        "stands": real(missing="0.5"),
        "word": real(0, 50, missing=1),
        "whole": integer(-4, 11),
        "site": integer(),
        "flag": category([True, False]),
        "town": category(["a", "b", "é'\"x"]),
        "code": category([1, 12, -3], constant=True),
        "whole_x": real("-3", "7.3", complete=True),
        "whole_site": integer(complete=True),
        "whole_k": integer(-4, 11, complete=True),
        "whole_town": category(["b", "a"], complete=True),
        "whole_code": category([12, 1], complete=True),
        "whole_flag": category([False, True], complete=True),
    }


def random_rows(stream: random.Random, size: int) -> list[Row]:
    return [
        {
            "who": stream.choice(NAMES),
            "x": stream.choice(REALS),
            "free": stream.choice(REALS),
            "stands": stream.choice(REALS),
            "word": stream.choice(WORDS),
            "whole": stream.choice(WHOLES),
            "site": stream.choice(WHOLES),
            "flag": stream.choice(FLAGS),
            "town": stream.choice(TOWNS),
            "code": stream.choice(WHOLES),
            "whole_x": stream.choice(REALS),
            "whole_site": stream.choice(WHOLES),
            "whole_k": stream.choice(WHOLES),
            "whole_town": stream.choice(TOWNS),
            "whole_code": stream.choice(WHOLES),
            "whole_flag": stream.choice(FLAGS),
        }
        for _ in range(size)
    ]


def queries() -> list[Query]:
    town = Keys("town", ("b", "é'\"x", "a", "nowhere"), 2)
    site, code = Keys("site", (0, 1, 12), 3), Keys("code", (1, -3), 1)
    width, size = grid_by_width(Fraction(-3), Fraction("7.3")), grid_by_size(Fraction(-3), Fraction("7.3"))
    whole = grid_whole(Fraction(-4), Fraction(11))
    asked: list[Query] = [CappedPersons(), CappedPersons((1, 2, 3)), DistinctPersons(), Rows()]
    for keys in (None, town, site, code):
        asked += [
            Rows(keys),
            DistinctPersons(keys),
            Total("x", size, keys),
            Total("x", width, keys),  # on the grid of moments
            Total("x", size, keys, "kept"),
            Total("x", width, keys, "kept"),
            Total("whole", whole, keys),
            Total("word", whole, keys),
        ]
        asked += [Tally("free", edges=tuple(map(Fraction, ("-3", "0.1", "0.3", "4"))), keys=keys)]
        asked += [Tally("town", among=("a", "b"), keys=keys), Tally("flag", among=(True, False), keys=keys)]
        for per in ("row", "person"):
            asked += [
                PresentValues("stands", keys, per),
                PresentValues("town", keys, per),
                Moments("x", width, 4, keys, per),
            ]
            asked += [Moments("whole", grid_by_width(Fraction(-4), Fraction(11)), 2, keys, per)]
            asked += [Ranks(name, keys, per) for name in ("x", "free", "word", "whole", "site")]
            asked += [Ranks(name, keys, per, "binades") for name in ("x", "whole")]
        weight = Weighing("whole", Fraction(7))
        asked += [Ranks("x", keys, weight=weight), Ranks("stands", keys, weight=weight, power=2)]
        asked += [
            OrderedValues("free", Fraction(1, 4), None, keys),
            OrderedValues("word", Fraction(3, 7), None, keys, "person"),
        ]
        asked += [
            OrderedValues("x", Fraction(1, 8), None, keys, "row", WITHIN),
            OrderedValues("x", UNITS[2], None, keys, "person", WITHIN),
        ]
        asked += [OrderedValues("free", Fraction(1, 2), NEEDS, keys, within=(Fraction(0), Fraction(5)))]
        asked += [
            OrderedValues("stands", Fraction(1, 2), NEEDS, keys),
            OrderedValues("site", Fraction(1), NEEDS, keys, "person"),
        ]
    asked += [Records(("free",), (Fraction(1, 4),)), Records(("site", "stands", "x"), UNITS)]
    asked += [Records(("flag", "x", "code"), (Fraction(1), *UNITS[:2]), ("flag", "code")), TOWN]
    complete, place = Keys("whole_town", ("a", "b"), 2), Keys("whole_code", (1, 12), 1)
    asked += [
        Rows(complete),
        DistinctPersons(place),
        Total("whole_x", size, complete),
        PresentValues("whole_town", None, "person"),
    ]
    asked += [Tally("whole_town", among=("b", "a")), Tally("whole_flag", among=(True, False), keys=place)]
    asked += [Moments("whole_x", width, 2), Ranks("whole_site"), Ranks("whole_k", complete, "person")]
    asked += [Records(("whole_x", "whole_town"), (Fraction(1, 4), Fraction(1)), ("whole_town",))]
    asked += [Incomplete(("x",)), Incomplete(("town", "code", "whole")), Incomplete(("whole_town", "stands"))]
    asked += [Tally("site", among=(0, 5)), Moments("word", grid_by_width(Fraction(0), Fraction(50)), 1)]
    return asked


def expected(schema: Schema, rows: list[Row], asked: list[Query]) -> list[object]:
    reference = Reference(schema, rows, columns_of(asked, schema), SECRET, asked)
    found: list[object] = []
    for query in asked:
        match query:
            case Ranks():
                found.append([ranked(values, query, schema) for values in reference.values(query)])
            case OrderedValues():
                found.append([ordered_as(np.array(steps, np.int64), query) for steps in reference.order(query)])
            case Records():
                found.append(reference.records(query))
            case _:
                found.append(reference.answer(query))
    return found


def ranked(values: dict[float, int], query: Ranks, schema: Schema) -> list[tuple[int, int]]:
    cells = cells_on(query.on, schema.column(query.column), query.column)
    counts: dict[int, int] = {}
    for value, many in values.items():
        cell = int(cells.index(np.array([value]))[0])
        counts[cell] = counts.get(cell, 0) + many
    return sorted(counts.items())


def ordered_as(steps: NDArray[np.int64], query: OrderedValues) -> object:
    if query.needs is not None:
        return shown_order(fetched(SortedColumn(steps), query.needs))
    values, counts = np.unique(steps, return_counts=True)
    return shown_order(RunLength(values, counts.astype(np.int64)))


def shown_order(order: Order) -> object:
    match order:
        case RunLength():
            return order.values.tolist(), order.counts.tolist()
        case FetchedColumn():
            return [window.tolist() for window in order.windows], list(order.totals)
        case _:
            raise AssertionError(order)


def shown(results: list[QueryResult]) -> list[object]:
    found: list[object] = []
    for result in results:
        if result.ranks:
            found.append([list(zip(c.cells.tolist(), c.counts.tolist(), strict=True)) for c in result.ranks])
        elif result.orders:
            found.append([shown_order(order) for order in result.orders])
        else:
            found.append(result.vectors if result.records is None else result.records.tolist())
    return found


def persons() -> list[Person]:
    return [
        Person("add_remove", "who", rows=1),
        Person("add_remove", "who", rows=3),
        Person("substitute", "who", rows=2),
        Person("add_remove"),
    ]


def arrays(rows: list[Row]) -> dict[str, list[Cell]]:
    return (
        {name: [row[name] for row in rows] for name in rows[0]} if rows else {name: [] for name in ("who", *columns())}
    )


def as_dict(rows: list[Row], folder: Path) -> object:
    return arrays(rows)


def as_numpy(rows: list[Row], folder: Path) -> object:
    found: dict[str, object] = dict(arrays(rows))
    for name in ("x", "free", "stands"):
        found[name] = np.array([math.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)
    return found


def as_csv(rows: list[Row], folder: Path) -> object:
    path = folder / "t.csv"
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(arrays(rows))
        for row in rows:
            writer.writerow(
                ["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row.values()]
            )
    return path


def as_json_lines(rows: list[Row], folder: Path) -> object:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def as_workbook(rows: list[Row], folder: Path) -> object:
    """As Excel has it: an infinite number is a text, since no cell holds one."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    sheet.append([*arrays(rows)])
    for row in rows:
        sheet.append(
            [repr(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row.values()]
        )
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def as_spss(rows: list[Row], folder: Path) -> object:
    """Every column as text, since no number of SPSS is infinite."""
    import pandas as pd
    import pyreadstat

    texts = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows]
    pyreadstat.write_sav(pd.DataFrame(texts, columns=[*arrays(rows)], dtype=object), str(folder / "t.sav"))
    return folder / "t.sav"


def as_arrow(rows: list[Row], folder: Path) -> object:
    import pyarrow as pa

    return pa.table({name: pa.array(cells) for name, cells in arrays(rows).items()})


def as_parquet(rows: list[Row], folder: Path) -> object:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = as_arrow(rows, folder)
    assert isinstance(table, pa.Table)
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), folder / "t-1.parquet")
    pq.write_table(table.slice(half), folder / "t-2.parquet")
    return folder / "t-*.parquet"


def as_pandas(rows: list[Row], folder: Path) -> object:
    import pandas as pd

    return pd.DataFrame(arrays(rows))


def as_polars(rows: list[Row], folder: Path) -> object:
    import polars as pl

    return pl.DataFrame(arrays(rows), strict=False)


def as_lazy(rows: list[Row], folder: Path) -> object:
    import polars as pl

    return pl.DataFrame(arrays(rows), strict=False).lazy()


def as_relation(rows: list[Row], folder: Path) -> object:
    import duckdb

    connection = duckdb.connect()
    return connection.from_arrow(as_arrow(rows, folder))


SOURCES: list[Callable[[list[Row], Path], object]] = [
    as_dict,
    as_numpy,
    as_csv,
    as_json_lines,
    as_workbook,
    as_spss,
    as_arrow,
    as_parquet,
    as_pandas,
    as_polars,
    as_lazy,
    as_relation,
]


@pytest.mark.wide
@pytest.mark.loop(10)  # ten sources, and every query once
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", SOURCES)
def test_every_source_gives_what_the_reference_gives(
    make: Callable[[list[Row], Path], object], seed: int, tmp_path: Path
) -> None:
    """Each source is asked a tenth of the queries by each seed."""
    rows = random_rows(random.Random(seed), 60)
    person = persons()[(SOURCES.index(make) + seed // 2) % 4]
    schema = Schema(columns(), person)
    asked = queries()[seed + 5 * (SOURCES.index(make) // 6) :: 10]
    table = open_table(make(rows, tmp_path), schema, limits=Limits(threads=1 + seed % 2))
    assert shown(table.run(asked, SECRET)) == expected(schema, rows, asked)


@pytest.mark.wide
@pytest.mark.loop(3)  # half of the queries
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("person", persons())
def test_row_order_and_threads_change_nothing(person: Person, part: int) -> None:
    rows = random_rows(random.Random(7), 80)
    schema = Schema(columns(), person)
    asked = queries()[part::6]
    wanted = expected(schema, rows, asked)
    for threads, seed in ((1, 1), (2, 2)):
        random.Random(seed).shuffle(rows)
        table = open_table(arrays(rows), schema, limits=Limits(threads=threads))
        assert shown(table.run(asked, SECRET)) == wanted


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("make", SOURCES)
def test_a_table_without_rows_gives_zeros(make: Callable[[list[Row], Path], object], tmp_path: Path) -> None:
    rows = random_rows(random.Random(3), 20)
    if make in (as_arrow, as_parquet, as_relation):
        nothing = make(rows, tmp_path)
        source = nothing.slice(0, 0) if make is as_arrow else make([{**row, "who": None} for row in rows], tmp_path)  # type: ignore[attr-defined]
    else:
        source = make([], tmp_path)
    schema = Schema(columns(), Person("add_remove", "who", rows=2))
    asked = queries()[SOURCES.index(make) :: len(SOURCES)]
    assert shown(open_table(source, schema).run(asked, SECRET)) == expected(schema, [], asked)


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("person", persons())
@pytest.mark.parametrize("size", [7, 300])
def test_order_statistics_are_exact_wherever_the_engine_looks(
    person: Person, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With samples of a few values, so narrow that many a bracket misses: each run draws others."""
    monkeypatch.setattr(order_statistics, "SAMPLE", 6)
    monkeypatch.setattr(order_statistics, "WIDTHS", 0.3)
    schema = Schema(columns(), person)
    rows: list[Row] = [{**row, "who": f"p{nth % 90}"} for nth, row in enumerate(random_rows(random.Random(size), size))]
    asked: list[Query] = [query for query in queries() if isinstance(query, OrderedValues)]
    assert shown(open_table(arrays(rows), schema).run(asked, SECRET)) == expected(schema, rows, asked)


ATOMS: dict[str, list[Cell]] = {
    "equal": [2.5] * 200,
    "infinite": [*[-math.inf] * 70, *[math.inf] * 130],
    "one atom": [*[0.0] * 100, *(place / 8 for place in range(100))],
    "all missing": [None, math.nan] * 100,
    "sorted": [float(place) for place in range(200)],
}


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("narrow", [4.0, 0.3])
def test_atoms_and_infinities_have_exact_order_statistics(
    name: str, narrow: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_statistics, "SAMPLE", 40)
    monkeypatch.setattr(order_statistics, "WIDTHS", narrow)
    needs = Needs(((-3, 2), (48, 52), (60, 140), (199, 203)), ((1, 200), (50, 150), (-1, 201)))
    asked: list[Query] = [OrderedValues("x", Fraction(1, 4), needs), OrderedValues("x", Fraction(1, 4))]
    schema = Schema({"x": real()}, Person("add_remove"))
    rows: list[Row] = [{"x": x} for x in ATOMS[name]]
    found = open_table({"x": ATOMS[name]}, schema).run(asked, SECRET)
    assert shown(found) == expected(schema, rows, asked)
    (whole,) = found[1].orders
    assert shown_order(fetched(whole, needs)) == shown_order(found[0].orders[0])


def test_records_of_a_category_are_the_places_of_its_keys_and_an_unlisted_value_is_missing() -> None:
    schema = Schema({"g": category(["b", "a"]), "x": integer(0, 9)}, Person("add_remove"))
    rows = {"g": ["a", "b", "c", None, "a"], "x": [1, 2, 3, 4, None]}
    query = Records(("g", "x"), (Fraction(1), Fraction(1)), ("g",))
    records = open_table(rows, schema).run([query], SECRET)[0].records
    assert records is not None
    assert records.tolist() == [[ABSENT, 0]] * 3 + [[0, 2], [1, 1]]
    with pytest.raises(QuestionError, match="needs numbers"):
        open_table(rows, schema).run([Records(("g", "x"), (Fraction(1), Fraction(1)))], SECRET)
    with pytest.raises(PublicParameterError):
        Records(("g",), (Fraction(1),), ("x",))


def test_records_of_one_person_are_as_many_as_its_kept_rows() -> None:
    schema = Schema({"y": real(), "x": integer(0, 9, missing=5)}, Person("add_remove", "who", rows=2))
    rows = {"who": ["p", "p", "p", "q", "q"], "y": [None, None, None, 1.5, math.inf], "x": [1, 2, 3, None, 12]}
    query = Records(("y", "x"), (Fraction(1, 2), Fraction(1)))
    records = open_table(rows, schema).run([query], SECRET)[0].records
    assert records is not None
    assert records.tolist() == [[ABSENT, 0], [ABSENT, 0], [3, 5], [LARGEST, 12]]
