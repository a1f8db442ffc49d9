"""The content of a result is all of it: results that differ anywhere differ in content, and equal ones do not."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.order_statistics import LARGEST, Integers, Needs, RunLength, fetched, ordered
from reticent.data.query import OrderedValues, Query, Records
from reticent.data.query_result import Counts, QueryResult, content
from reticent.data.schema import Person, Schema, real
from reticent.data.table import open_table

NEEDS = Needs(((1, 2),), ((1, 3),))


def whole(*values: int) -> Integers:
    return np.array(values, np.int64)


def results() -> list[QueryResult]:
    return [
        QueryResult(vectors=((1, 2),)),
        QueryResult(vectors=((1,), (2,))),
        QueryResult(ranks=(Counts(whole(1), whole(2)),)),
        QueryResult(ranks=(Counts(whole(2), whole(1)),)),
        QueryResult(orders=(RunLength(whole(1, 2), whole(1, 1)),)),
        QueryResult(orders=(RunLength(whole(1, 2), whole(1, 2)),)),
        QueryResult(orders=(ordered(whole(1, 2)),)),
        QueryResult(orders=(fetched(ordered(whole(1, 2)), NEEDS),)),
        QueryResult(orders=(fetched(ordered(whole(1, 2, 2)), NEEDS),)),  # only the sum differs
        QueryResult(records=whole(1, 2).reshape(1, 2)),
        QueryResult(records=whole(1, 2).reshape(2, 1)),
    ]


def test_results_are_alike_only_if_equal() -> None:
    again: list[Hashable] = [content(result) for result in results()]
    assert [content(result) for result in results()] == again
    assert len(set(again)) == len(again)


def test_an_unknown_order_is_not_overlooked() -> None:
    with pytest.raises(TypeError, match="unknown"):
        content(QueryResult(orders=(object(),)))  # type: ignore[arg-type]


@pytest.mark.parametrize("query", [OrderedValues("x", Fraction(1, 2)), OrderedValues("x", Fraction(1, 2), NEEDS)])
def test_one_value_more_is_another_content(query: Query) -> None:
    schema = Schema({"x": real()}, Person("add_remove"))
    tables = [open_table({"x": values}, schema) for values in ([1.0, 3.0], [1.0, 3.0, -float("inf")], [3.0, 1.0])]
    one, more, turned = (content(table.run([query], bytes(32))[0]) for table in tables)
    assert one == turned != more


def test_results_show_nothing() -> None:
    schema = Schema({"x": real()}, Person("add_remove"))
    for query in (
        OrderedValues("x", Fraction(1)),
        OrderedValues("x", Fraction(1), NEEDS),
        Records(("x",), (Fraction(1),)),
    ):
        (result,) = open_table({"x": [41.0, float("inf")]}, schema).run([query], bytes(32))
        shown = repr(result) + repr(result.orders)
        assert "41" not in shown
        assert str(LARGEST) not in shown
