"""Transformations of a table: a schema from a schema, with rows chosen by a condition or with a column computed.

    filtered(schema, condition)                 the rows for which the condition is true; missing counts as false
    computed(schema, name, expression)          one column more, whose bounds follow from the declared ones

Stability (docs/proofs/transformations.md). A cell that is computed, and the choice of a row, depend on the cells of
that row and on public constants. So tables that differ in the rows of one person still do so afterwards, and a person
has no more rows than before. What is left of a person may be nothing: under substitution a filter makes the number of
rows, and of persons who have one, private (``Person.filtered``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, assert_never

from reticent import calendar
from reticent.data.expression import Bound, as_condition, as_date_key, bind, cleaned
from reticent.data.expression_tree import Tree, columns_of, joined, refusal, renamed, write
from reticent.data.expression_types import Dates, Labels, Numbers, Spans, Truth, Type
from reticent.data.schema import Category, Column, Integer, Real, Schema
from reticent.privacy.numbers import show

MOST_KEYS: Final = 1_000
KEYS_OF: Final = {
    bool: "true or false. List its keys without quotes: among = [true, false]",
    int: "whole numbers. List its keys without quotes",
    str: "texts. List its keys in quotes",
}
SHORT: Final = 12  # characters of a bound
DIGITS: Final = 4  # of the width of a range, that a derived bound has where it would be longer


def filtered(schema: Schema, condition: Tree) -> Schema:
    """The schema of the rows for which a condition is true.

    Raises
    ------
    QuestionError
        What is no condition, one that is false for every row that the schema allows, or one about the person column.
    """
    from reticent.data.contradictions import satisfiable

    tree, kind = as_condition(bound(condition, schema))
    if not isinstance(kind, Truth):
        raise refusal(f"'{write(tree)}' is no condition. Write for example: age >= 65.")
    if True not in kind.possible or not satisfiable(tree, schema.columns):
        raise refusal(f"'{write(tree)}' is false for every row that the declared bounds and lists allow.")
    where = tree if schema.where is None else joined("and", schema.where, tree)
    if schema.where is not None and not satisfiable(where, schema.columns):
        raise refusal(f"'{write(tree)}' is false for every row that '{write(schema.where)}' leaves.")
    return replace(schema, where=where, person=replace(schema.person, filtered=True))


def bound(tree: Tree, schema: Schema) -> Bound:
    """The tree over the columns of a schema, each by its full name, with its type.

    Raises
    ------
    QuestionError
        Operands that do not fit, the person column.
    """
    refuse_person(schema, tree)
    tree = renamed(cleaned(tree), schema.canonical) if schema.tables else cleaned(tree)
    for name in columns_of(tree):
        if name in schema.texts:
            schema.column(name)  # which refuses it
    return bind(tree, schema.columns)


def computed(
    schema: Schema, name: str, expression: Tree, declared: Column | None = None, *, most_keys: int = MOST_KEYS
) -> Schema:
    """The schema with one computed column more.

    Parameters
    ----------
    schema : Schema
    name : str
    expression : Tree
    declared : Column, optional
        Its declaration; by default the one that follows from those of the columns it reads.
    most_keys : int
        Most keys of such a declaration.

    Returns
    -------
    Schema
        Schema with the column, and its bounds or keys.

    Raises
    ------
    QuestionError
        A name that is taken or read by the expression itself, operands that do not fit, the person column.
    """
    if name in schema.columns or name == schema.person.column:
        raise refusal(f"There is a column '{name}' already.")
    if name in columns_of(expression):
        raise refusal(f"The column '{name}' refers to itself.")
    tree, kind = bound(expression, schema)
    if isinstance(kind, Dates) and (isinstance(declared, Category) or (declared is None and kind.first_days)):
        tree, kind = as_date_key((tree, kind))
    column = declaration(name, kind, most_keys) if declared is None else _agreed(name, kind, declared)
    read = columns_of(tree)
    constant = bool(read) and all(schema.columns[one].constant for one in read)
    if column.constant and not constant:
        raise refusal(f"The column '{name}' is constant for a person only where every column it is made of is.")
    column = replace(column, constant=constant)
    return replace(
        schema,
        columns=MappingProxyType({**schema.columns, name: column}),
        computed=MappingProxyType({**schema.computed, name: tree}),
    )


def described(schema: Schema, name: str, *, why: str = "", unit: str = "", label: str = "") -> Schema:
    """The schema with words about a column whose declaration followed from others.

    Parameters
    ----------
    schema : Schema
        Schema with the computed column.
    name : str
        Name of the column.
    why : str
        Source of its bounds.
    unit : str
        Unit, of a column of numbers alone.
    label : str
        Words for people in place of the name.

    Returns
    -------
    Schema
        Schema with these words.

    Raises
    ------
    QuestionError
        A unit for a category.
    """
    column = schema.columns[name]
    if isinstance(column, Category) and unit:
        raise refusal(f"The column '{name}' is a category, which has no unit.")
    told = replace(column, why=why, label=label)
    told = told if isinstance(told, Category) else replace(told, unit=unit)
    return replace(schema, columns=MappingProxyType({**schema.columns, name: told}))


def declaration(name: str, kind: Type, most_keys: int = MOST_KEYS) -> Column:
    """The declaration that follows from a type. Rows that lack a cell lack the computed one.

    Parameters
    ----------
    name : str
        Name of the column, for refusals.
    kind : Type
        Type of its expression.
    most_keys : int
        Most keys of a category.

    Returns
    -------
    Column
        Declaration with the bounds of the type.

    Raises
    ------
    QuestionError
        A column with one value in every row, or with too many keys.
    """
    match kind:
        case Numbers(low=low, high=high, whole=True) if low is not None and high is not None and low < high:
            multiples = range(int(low), int(high) + 1, kind.step) if kind.step > 1 else ()
            return Integer(int(low), int(high), among=kind.among or multiples)
        case Numbers(low=low, high=high) if low is not None and high is not None and float(low) < float(high):
            return Real(*_shortened(low, high))
        case Numbers(low=low, high=high) if low is not None and low == high:
            raise refusal(f"The column '{name}' would have one value in every row.")
        case Numbers():
            return Real()
        case Labels(among=among) if len(among) <= most_keys:
            return Category(among)
        case Labels():
            raise refusal(f"The column '{name}' would have more than {most_keys:,} keys.")
        case Truth():
            return Category((False, True))
        case Dates(low=low, high=high, step=step) if low < high:
            return Integer(low, high, calendar=calendar.Calendar(step))
        case Dates():
            raise refusal(f"The column '{name}' would have one value in every row.")
        case Spans():
            raise refusal(f"The column '{name}' is a difference of dates: write days(b - a) or hours(b - a).")
        case _:
            assert_never(kind)


def _shortened(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of a computed column of at most so many digits as people read, moved outwards where they have more."""
    if len(show(low)) <= SHORT and len(show(high)) <= SHORT:
        return low, high
    step = Fraction(10) ** (math.floor(math.log10(high - low)) - DIGITS)
    return (low / step).__floor__() * step, (high / step).__ceil__() * step


def _agreed(name: str, kind: Type, declared: Column) -> Column:
    """A declaration in the curator's words, where it fits what is computed."""
    dated = declared.calendar if isinstance(declared, Integer) else None
    if isinstance(kind, Dates):
        if dated is None or dated.step != kind.step:
            raise refusal(f"The column '{name}' is computed as dates or times, and declared otherwise.")
        return declared
    if dated is not None or isinstance(kind, Spans):
        raise refusal(
            f"The column '{name}' is computed as no dates, and declared so. Write days(b - a) of a difference."
        )
    numeric = isinstance(kind, Numbers)
    if numeric == isinstance(declared, Category):
        raise refusal(f"The column '{name}' is computed as {'numbers' if numeric else 'keys'}, and declared otherwise.")
    if isinstance(declared, Category) and not isinstance(kind, Numbers):
        keys = kind.among if isinstance(kind, Labels) else (False, True)
        if type(keys[0]) is not type(declared.among[0]):
            raise refusal(f"The column '{name}' is computed as {KEYS_OF[type(keys[0])]}.")
    return declared


def refuse_person(schema: Schema, tree: Tree) -> None:
    """Refuse an expression that names the column of persons."""
    if schema.person.column is not None and schema.person.column in columns_of(tree):
        raise refusal(f"{schema.person.column} names the person: it stands in no expression.")
