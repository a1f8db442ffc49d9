"""Levels of formulas: views in which each operation of computed columns and of the filter is worked out once.

    typed rows --level1--> with the operations on columns --level2--> with those on the ones before --...--> base

An operation uses its operands several times (``least``, a test for infinity). An operand that stood in it as text would
double the statement at each level. So each is a column of the level before, which the engine keeps as a table until
the next is there. Equal operations share one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import ibis

from reticent.data.engines.casts import key_text, with_stand_in
from reticent.data.engines.engine import Names
from reticent.data.engines.formulas import call, literal, operand
from reticent.data.expression import kind_of
from reticent.data.expression_tree import Application, ColumnName, Tree
from reticent.data.expression_types import Labels, Truth
from reticent.data.schema import Category, Schema, needed

Table: TypeAlias = Any  # Ibis is not typed; these never leave ``plan`` but as SQL text
Expr: TypeAlias = Any


class FormulaLevels:
    """The operations of the computed columns that are used and of the filter, by the level of each."""

    def __init__(self, schema: Schema, used: Sequence[str], names: Names) -> None:
        self.schema, self.names = schema, names
        self.computed = {name: tree for name, tree in schema.computed.items() if name in needed(schema, used)}
        self.level: dict[Application, int] = {}
        self.column: dict[Application, str] = {}
        for tree in (*self.computed.values(), *(() if schema.where is None else (schema.where,))):
            self._place(tree)

    def _place(self, tree: Tree) -> int:
        """The level at which a tree is known: 0 for what is typed or public."""
        if isinstance(tree, ColumnName):
            return self._place(self.computed[tree.column]) if tree.column in self.computed else 0
        if not isinstance(tree, Application):
            return 0
        if tree not in self.level:
            self.level[tree] = 1 + max(map(self._place, tree.operands))
            self.column[tree] = f"f{len(self.column)}"
        return self.level[tree]

    def value(self, rows: Table, tree: Tree) -> Expr:
        """A tree as a later level sees it: a column, or a literal."""
        if isinstance(tree, ColumnName):
            name, column = tree.column, self.schema.columns[tree.column]
            x = self.result(rows, name) if name in self.computed else rows[self.names[name]]
            return operand(with_stand_in(x, column), column)
        return rows[self.column[tree]] if isinstance(tree, Application) else literal(tree)

    def result(self, rows: Table, name: str) -> Expr:
        """The cell of a computed column; a condition becomes the key "true" or "false"."""
        tree = self.computed[name]
        x = self.value(rows, tree)
        kind = kind_of(tree, self.schema.columns)
        if isinstance(kind, Truth):
            x = ibis.cases((x, "true"), (~x, "false"), else_=ibis.null("string"))
        declared = self.schema.columns[name]
        listed = isinstance(kind, Labels) and isinstance(declared, Category) and kind.among == declared.among
        among = declared.among if isinstance(declared, Category) and not listed else ()
        return ibis.ifelse(x.isin([key_text(key) for key in among]), x, ibis.null("string")) if among else x

    def views(self, rows: Table) -> dict[str, Table]:
        """The typed rows and each level over the one before, by view; none where nothing is computed or chosen."""
        if not self.computed and self.schema.where is None:
            return {}
        found = {"level0": rows}
        for level in range(1, max(self.level.values(), default=0) + 1):
            before = ibis.table(rows.schema(), name=f"level{level - 1}")
            made = {
                self.column[tree]: call(
                    tree.operation,
                    [self.value(before, one) for one in tree.operands],
                    tree.operands,
                    self.schema.columns,
                )
                for tree, at in self.level.items()
                if at == level
            }
            rows = before.mutate(**made)
            found[f"level{level}"] = rows
        return found


def levels(schema: Schema, used: Sequence[str], names: Names, rows: Table) -> dict[str, Table]:
    """The views between "cells" and "base", by name, in order.

    Parameters
    ----------
    schema : Schema
    used : sequence of str
        Columns that the queries read.
    names : Names
    rows : Table
        An Ibis expression of the parsed cells.

    Returns
    -------
    dict of name to Table
    """
    return FormulaLevels(schema, used, names).views(rows)


def chosen(schema: Schema, used: Sequence[str], names: Names, rows: Table) -> Table:
    """Rows with their computed columns, of which the filter keeps those that it is true for.

    Parameters
    ----------
    schema : Schema
    used : sequence of str
        Columns that the queries read.
    names : Names
    rows : Table
        An Ibis expression of the parsed cells.

    Returns
    -------
    Table
    """
    formulas = FormulaLevels(schema, used, names)
    views = formulas.views(rows)
    if not views:
        return rows
    last = list(views)[-1]
    rows = ibis.table(views[last].schema(), name=last)
    if schema.where is not None:
        rows = rows.filter(formulas.value(rows, schema.where).fill_null(False))
    computed = {names[name]: formulas.result(rows, name) for name in formulas.computed}
    return rows.mutate(**computed) if computed else rows
