"""The plan uses a small set of operations, each with one meaning on every engine, and cannot overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, get_args

import ibis
import ibis.expr.operations as ops
import pytest

from reticent.data import query_compiler, query_expressions
from reticent.data.candidates import cells_of
from reticent.data.columns import Storage
from reticent.data.engines import rank_windows
from reticent.data.engines.duckdb import DUCKDB
from reticent.data.engines.row_choice import RowChoice
from reticent.data.format import LISTED_EDGES, NAMED_EDGES
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Keys,
    KeyShares,
    Moments,
    PresentValues,
    Query,
    Rows,
    Tally,
    Total,
    keys_of,
)
from reticent.data.schema import (
    Category,
    Person,
    Schema,
    Text,
    category,
    grid_by_size,
    grid_by_width,
    grid_whole,
    integer,
    real,
)
from reticent.data.table import open_table
from reticent.errors import QuestionError
from tests.engines.test_against_reference import columns, persons, queries
from tests.support.data_reference import Reference, Row

KEY = bytes(32)

# Not here, since engines differ (docs/decisions/0005-engine-and-plan.md): Round, FloorDivide, IsInf, Clip,
# Greatest, Least, Sqrt, Ln, Power, Hash, Mean, Variance, Quantile. RandomScalar
# only draws the sample that says where to look. Modulus is of integers that are not negative, where engines agree.
ALLOWED = {
    *("UnboundTable", "Field", "Literal", "Project", "Filter", "Aggregate", "SortKey"),
    *("JoinChain", "JoinLink", "JoinTable", "JoinReference", "DropColumns", "Distinct", "Union"),
    *("Abs", "Negate", "Add", "Subtract", "Multiply", "Divide", "Modulus", "Floor", "Cast", "TryCast"),
    *("And", "Or", "Not", "Equals", "NotEquals", "Less", "Greater", "NotNull", "IsNan", "InValues"),
    *("IfElse", "SearchedCase", "SimpleCase", "Coalesce"),
    *("Count", "CountDistinct", "CountStar", "Sum", "Min", "Max"),
    *("RowNumber", "DenseRank", "Lag", "WindowFunction"),
    *("RandomScalar", "HexDigest", "Lowercase", "RegexSearch"),
    *("StringConcat", "StringLength", "StringReplace", "Strip", "Substring"),
}


def expressions(part: int = 0, of: int = 1) -> Iterator[Any]:
    """Every ``of``-th expression of the plan, from the one at place ``part`` on."""
    return (made() for made in islice(makers(), part, None, of))


def makers() -> Iterator[Callable[[], Any]]:
    """Functions that make the expressions: to build one takes long."""
    for person in persons():
        schema = Schema(columns(), person)
        used = query_compiler.columns_of(queries(), schema)
        for storage in get_args(Storage):
            yield partial(query_compiler.cells, schema, used, dict.fromkeys((*used, "who"), storage))
        yield partial(query_compiler.chosen_rows, schema, used)
        groups = tuple(dict.fromkeys(keys for query in queries() if (keys := keys_of(query)) is not None))
        choice = RowChoice(schema, used, few=1, totals=tuple(enumerate(groups)))
        yield from kept(choice, groups)
        for query in queries():
            if query_compiler.goes_together(query, schema):
                yield partial(query_expressions.together, [query], choice)
            else:
                yield partial(query_expressions.aggregate, query, choice)
    schema = Schema({}, Person("add_remove", "who", rows=3), texts={"t": Text(5)})
    shares = KeyShares((7, 4), ((9, 5, 3), (14, 6, 2)))
    holders = (KeyHolders("t", 3), KeyHolders("t", 1), KeyHolders("t", 2, True), KeyHolders("t", 2, True, shares))
    for query in holders:
        yield partial(query_compiler.cells, schema, ["t"], {"t": "text", "who": "text"})
        yield partial(query_compiler.typed_rows, schema, ["t"])
        yield partial(query_expressions.aggregate, query, RowChoice(schema, ("t",)))
    for asked in get_args(query_expressions.Scan):
        for unit in (Fraction(1, 4), Fraction(3, 7)):
            yield partial(query_expressions.scan, asked, "values_kept", unit, of_group=True)
    yield partial(rank_windows.group_sizes, "values_kept")
    yield partial(rank_windows.ranked, "values_kept", "rank_windows")
    for column in (real(0, 1), real(0, 1, resolution="0.01"), real(), integer()):
        yield partial(rank_windows.crowds, "values_kept", cells_of(column, "x"), 8)
        yield partial(rank_windows.sizes, "values_kept", cells_of(column, "x"))


def kept(choice: RowChoice, groups: Sequence[Keys]) -> Iterator[Callable[[], Any]]:
    if choice.schema.person.column is not None:
        yield from (choice.over, choice.numbered, choice.base)
    for nth, keys in enumerate(groups):
        yield partial(choice.grouped, keys, nth)
        if choice.bound(keys, "kept") is not None:
            yield partial(choice.chosen, keys, nth)


@pytest.mark.wide
def test_the_plan_uses_allowed_operations_only() -> None:
    unsafe = []
    for expression in expressions():
        for node in expression.op().find(ops.Node):
            match node:
                case ops.Sum(arg=arg):
                    # exact sums; the number of persons above a cap sums zeros where nobody has several rows
                    safe = str(arg.dtype).startswith("decimal(38, 0") or arg.name == "turn"
                case ops.Modulus(left=left, right=right):
                    safe = left.dtype.is_int64() and right.dtype.is_integer()
                case ops.Divide(right=right):
                    safe = isinstance(right, ops.Count) or not list(right.find(ops.Field))
                case ops.Cast(arg=arg, to=to) if arg.dtype.is_floating() and not to.is_floating():
                    safe = isinstance(arg, ops.Floor) or to.is_string()
                case ops.RandomScalar():
                    # a sample, by group too, says where to look; what is found is counted, so no answer depends on it
                    safe = set(expression.columns) in ({"x"}, {"x", "place"})
                case ops.ScalarUDF():
                    safe = node.__func_name__ == "hexadecimal"  # each dialect writes it: thirteen digits as an integer
                case _:
                    safe = True
            if (not isinstance(node, ops.ScalarUDF) and type(node).__name__ not in ALLOWED) or not safe:
                unsafe.append(repr(node))
    assert unsafe == []


def test_the_search_for_operations_finds() -> None:
    table = ibis.table({"x": "float64"}, name="t")
    found = {type(node).__name__ for node in (table.x.round() // 2).op().find(ops.Node)}
    assert found - ALLOWED == {"Round", "FloorDivide"}


def test_a_statement_holds_the_key_and_its_cache_does_not() -> None:
    schema = Schema({"x": real(0, 1)}, Person("add_remove", "who", rows=1))
    texts = [
        query_compiler.statements(
            [Rows()], schema, {"x": "real", "who": "text"}, bytes([b]) * 32, DUCKDB.dialect
        ).further[0][2]
        for b in (1, 2)
    ]
    assert texts[0] != texts[1]
    assert texts[0].replace("01" * 32, "") == texts[1].replace("02" * 32, "")


@pytest.mark.wide
def test_queries_of_the_same_groups_share_a_statement_and_are_answered_as_if_alone() -> None:
    """With a place that is one off, counts would stand for sums. Nobody is above the cap: all rows are kept."""
    schema = Schema({"x": real(0, 8), "k": integer(0, 2)}, Person("add_remove", "who", rows=3))
    rows = {"who": [*"aaabbcde"], "x": [1.0, None, 3.5, 4, 8, 9, -1, 2], "k": [0, 1, 0, 1, 1, 0, 5, 0]}
    table, keys = open_table(rows, schema), Keys("k", (1, 0, 2), 3)
    grid = grid_by_width(Fraction(0), Fraction(8))
    asked: list[Query] = []
    for groups in (keys, None):
        asked += [Moments("x", grid, 3, groups), Rows(groups), PresentValues("x", groups), DistinctPersons(groups)]
        asked += [Total("x", grid, groups), Moments("x", grid, 1, groups), PresentValues("x", groups, "person")]
    asked += [Incomplete(("x",)), CappedPersons(), Incomplete(("x", "k")), *(Rows(keys) for _ in range(80))]
    together, alone = table.run(asked, KEY), [table.run([query], KEY)[0] for query in asked]
    assert [found.vectors for found in together] == [found.vectors for found in alone]
    told = query_compiler.statements(asked, schema, {"x": "real", "k": "whole", "who": "text"}, KEY, DUCKDB.dialect)
    assert told.places[:5] == [0, 4, 5, 6, 7]
    assert len(set(told.asked)) == 6  # two of the groups, one without, and three that are asked alone


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Rows(Keys("nix", ("a",), 1)), "There is no column 'nix'"),
        (Rows(Keys("x", (1,), 1)), "x is a real column, and groups need an integer or a category."),
        (Tally("town", edges=(Fraction(0), Fraction(1))), "town is a category: a histogram of it has no edges."),
        (Total("town", grid_whole(Fraction(0), Fraction(1))), "town is a category, and this needs numbers."),
    ],
)
def test_a_query_that_does_not_fit_is_refused(query: Query, said: str) -> None:
    with pytest.raises(QuestionError, match=said):
        query_compiler.columns_of([query], Schema({"x": real(), "town": category(["a"])}, Person("add_remove")))


def test_statements_of_many_bins_are_no_longer_than_of_few() -> None:
    schema = Schema({"x": real()}, Person("add_remove"))
    sizes = NAMED_EDGES - 1, 2**11, 2**13, 2**14
    tallies = [Tally("x", edges=tuple(Fraction(k, n) for k in range(n + 1))) for n in sizes]
    told = query_compiler.statements(tallies, schema, {"x": "real"}, KEY, DUCKDB.dialect)
    few, listed, many, most = told.asked
    assert 100 * NAMED_EDGES > len(few) > 50 * NAMED_EDGES  # each edge stands in it
    assert len(listed) < 3 * len(few)
    assert [table.num_rows * (table.num_columns - 1) for table in told.lists.values()] == [64 * 31]
    assert many == most
    assert LISTED_EDGES < 2**13
    rows: list[Row] = [{"x": place / 4999 - 0.1} for place in range(6000)]
    read = open_table({"x": [row["x"] for row in rows]}, schema).run(tallies[1:3], KEY)
    for size, found in zip(sizes[1:3], read, strict=True):
        wanted = [0] * size
        for row in rows:
            x = row["x"]
            assert isinstance(x, float)
            wanted[max(0, min(size - 1, math.floor(Fraction(x) * size)))] += 1
        assert found.vectors == (tuple(wanted),)


WIDE = [
    (Fraction(-(2**29)), Fraction(2**29)),
    (Fraction(2**53) - 2, Fraction(2**53) - 1),
    (Fraction(-(10**290)), Fraction(10**250)),
    (Fraction(1, 10**9), Fraction(3, 10**9)),
    (Fraction(0), Fraction(10**12)),
    (Fraction(0), Fraction(1, 10**17)),
    (Fraction(-1, 10**250), Fraction(1, 10**240)),
    (Fraction(0), Fraction(10**300)),
]


@pytest.mark.parametrize(("low", "high"), WIDE)
def test_sums_are_exact_at_the_ends_of_what_is_allowed(low: Fraction, high: Fraction) -> None:
    values = [float("-inf"), float(low), float(high), float("inf"), float((low + high) / 2), 1e308, -1e308, None]
    rows: list[Row] = [{"who": f"p{place % 5}", "x": value} for place, value in enumerate(values * 40)]
    schema = Schema({"x": real(low, high)}, Person("add_remove", "who", rows=(1 << 31) - 1))
    asked: list[Query] = [Total("x", grid_by_size(low, high)), Moments("x", grid_by_width(low, high), 4)]
    asked += [Moments("x", grid_by_width(low, high), 4, None, "person")]
    found = open_table({name: [row[name] for row in rows] for name in ("who", "x")}, schema).run(asked, KEY)
    reference = Reference(schema, rows, ("x",), KEY)
    assert [result.vectors for result in found] == [reference.answer(query) for query in asked]


def test_a_constant_column_is_the_least_value_of_its_person() -> None:
    who, town, x = ["p", "p", "p", "q"], ["b", None, "a", "z"], [1, 2, 3, 4]
    schema = Schema(
        {"town": Category(("a", "b"), constant=True), "x": integer(0, 9)}, Person("add_remove", "who", rows=3)
    )
    keys = Keys("town", ("a", "b"), 1)
    found = open_table({"who": who, "town": town, "x": x}, schema).run(
        [Rows(keys), Total("x", grid_whole(Fraction(0), Fraction(9)), keys)], KEY
    )
    assert [result.vectors for result in found] == [((3,), (0,)), ((6,), (0,))]
