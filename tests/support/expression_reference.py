"""The value of an expression for one row of cells: the reference for every engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from reticent.data import expression
from reticent.data.expression import Cell, finite, type_of
from reticent.data.expression_tree import (
    Application,
    ColumnName,
    DateLiteral,
    KeyLiteral,
    NumberLiteral,
    Tree,
    key_text,
)
from reticent.data.expression_types import Dates, Numbers
from reticent.data.schema import Column


def cell_of(x: float | str | None, column: Column) -> Cell:
    """A typed cell of a column as an expression takes it: finite, within the declared bounds."""
    if not isinstance(x, float | int):
        return x
    kind = type_of(column)
    if isinstance(kind, Numbers | Dates) and kind.low is not None and kind.high is not None:
        x = min(max(x, float(kind.low)), float(kind.high))
    return finite(float(x))


def evaluate(tree: Tree, row: Mapping[str, Cell]) -> Cell:
    """The value of a bound tree for one row of cells: the reference for every engine."""
    match tree:
        case ColumnName(column=column):
            return row[column]
        case KeyLiteral(key=key):
            return key_text(key)
        case NumberLiteral(value=number):
            return float(number)
        case DateLiteral(count=count):
            return float(count)
        case Application(operation=name, operands=operands):
            cells = [evaluate(one, row) for one in operands]
            operation = expression.OPERATIONS[name]
            return None if operation.strict and None in cells else operation.meaning(cells)
        case _:
            assert_never(tree)
