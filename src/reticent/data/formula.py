"""Formulas: expressions as Python writes them, ``rt.col("age") >= 65``.

    (rt.col("age") >= 65) & rt.col("ward").isin(["north", "south"])        age >= 65 and ward in ("north", "south")

A formula is public and holds no cell: it is made of names, numbers and keys, and its text is what ``repr`` shows.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn, TypeAlias

from reticent import calendar
from reticent.data import expression_tree
from reticent.data.expression_tree import (
    Application,
    ColumnName,
    DateLiteral,
    KeyLiteral,
    NumberLiteral,
    Tree,
    joined,
    refusal,
)
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError, called_as, doors
from reticent.privacy import numbers

_BRACKETS = "Put each comparison in brackets: (x >= 65) & (y == 1). Python joins & and | before it compares."
Operand: TypeAlias = "Expression | Key | float | Fraction | datetime.date"


class Expression:
    """An expression over the cells of one row. Make one with ``rt.col``, by operators, or from text.

    Comparisons and ``&``, ``|``, ``~`` make conditions; ``+ - * /`` make numbers. In Python ``&`` and ``|`` bind
    tighter than comparisons: put each comparison in brackets.
    """

    __slots__ = ("tree",)
    __hash__ = None  # type: ignore[assignment]  # == makes a condition

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __repr__(self) -> str:
        return expression_tree.write(self.tree)

    # --- conditions ---------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._with("!=", other)

    def __lt__(self, other: Operand) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Operand) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Operand) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Operand) -> Expression:
        return self._with(">=", other)

    def __and__(self, other: Operand) -> Expression:
        return Expression(joined("and", self.tree, tree_of(other)))

    def __or__(self, other: Operand) -> Expression:
        return Expression(joined("or", self.tree, tree_of(other)))

    def __rand__(self, other: object) -> NoReturn:
        raise refusal(_BRACKETS)

    def __ror__(self, other: object) -> NoReturn:
        raise refusal(_BRACKETS)

    def __invert__(self) -> Expression:
        return self._with("not")

    def isin(self, values: Sequence[Key | float | Fraction]) -> Expression:
        """True where the value is one of a public list."""
        if isinstance(values, str) or not isinstance(values, Iterable) or not (listed := [*values]):
            raise refusal('isin takes a list of one value or more: rt.col("ward").isin(["north", "south"]).')
        return self._with("in", *listed)

    def between(self, low: Operand, high: Operand) -> Expression:
        """True from ``low`` to ``high``, both ends counted."""
        return (self >= low) & (self <= high)

    def is_missing(self) -> Expression:
        """True where there is no readable value."""
        return self._with("is missing")

    # --- numbers ------------------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Operand) -> Expression:
        return _formula(other)._with("+", self)

    def __sub__(self, other: Operand) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Operand) -> Expression:
        return _formula(other)._with("-", self)

    def __mul__(self, other: Operand) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Operand) -> Expression:
        return _formula(other)._with("*", self)

    def __truediv__(self, other: Operand) -> Expression:
        return self._with("/", other)

    def __neg__(self) -> Expression:
        return 0 - self

    def __abs__(self) -> Expression:
        return self._with("abs")

    def least(self, *others: Operand) -> Expression:
        """The least of this and others; missing where one of them is."""
        return self._with("least", *others)

    def greatest(self, *others: Operand) -> Expression:
        """The greatest of this and others; missing where one of them is."""
        return self._with("greatest", *others)

    def clamp(self, low: Operand, high: Operand) -> Expression:
        """The number moved to the nearer of two public bounds."""
        return self._with("clamp", low, high)

    def floor(self, step: Operand = 1) -> Expression:
        """The next multiple of a public step, downwards."""
        return self._with("floor", step)

    def log(self) -> Expression:
        """The natural logarithm; missing unless the number is above 0."""
        return self._with("log")

    def sqrt(self) -> Expression:
        """The square root; missing below 0."""
        return self._with("sqrt")

    # --- dates --------------------------------------------------------------------------------------------------------

    def year(self) -> Expression:
        """The year of a date."""
        return self._with("year")

    def quarter(self) -> Expression:
        """The quarter of a date, 1 to 4."""
        return self._with("quarter")

    def month(self) -> Expression:
        """The month of a date, 1 to 12."""
        return self._with("month")

    def week(self) -> Expression:
        """The week of a date by ISO 8601, 1 to 53."""
        return self._with("week")

    def weekday(self) -> Expression:
        """The day of the week, from 1 for Monday to 7."""
        return self._with("weekday")

    def day(self) -> Expression:
        """The day of the month."""
        return self._with("day")

    def hour(self) -> Expression:
        """The hour of a time, 0 to 23."""
        return self._with("hour")

    def trunc(self, period: str) -> Expression:
        """The first day of the "week", "month", "quarter" or "year" of a date; "day" of a time."""
        return self._with("trunc", period)

    def days(self) -> Expression:
        """The days of a difference of two dates: ``(rt.col("out") - rt.col("in")).days()``."""
        return self._with("days")

    def hours(self) -> Expression:
        """The hours of a difference of two dates or times."""
        return self._with("hours")

    def age(self, at: Operand) -> Expression:
        """Completed years from this date to another."""
        return self._with("age", at)

    # --- keys and values ----------------------------------------------------------------------------------------------

    def cut(self, edges: Sequence[Operand]) -> Expression:
        """The class between public edges; missing outside them."""
        return self._with("cut", *edges)

    def recode(self, pairs: Mapping[Key, Key]) -> Expression:
        """Another key for each listed one; missing for those that are not named."""
        return self._with("recode", *(key for pair in pairs.items() for key in pair))

    def lower(self) -> Expression:
        """The key in lower case."""
        return self._with("lower")

    def trim(self) -> Expression:
        """The key without blanks around it."""
        return self._with("trim")

    def left(self, count: int) -> Expression:
        """The first characters of the key."""
        return self._with("left", count)

    def coalesce(self, *others: Operand) -> Expression:
        """The value, or the first of others that is not missing."""
        return self._with("coalesce", *others)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _with(self, operation: str, *others: object) -> Expression:
        return Expression(Application(operation, (self.tree, *map(tree_of, others))))

    def __bool__(self) -> NoReturn:
        raise QuestionError(
            "A condition has a value in each row and none by itself. Join conditions by & | ~, each in brackets, and "
            "write x.between(0, 9) in place of 0 <= x <= 9."
        )

    def __iter__(self) -> NoReturn:
        raise QuestionError("A formula holds no values.")


doors(Expression)


@called_as('rt.col("age")')
def col(name: str) -> Expression:
    """A column, for conditions and computed columns: ``rt.col("age") >= 65``.

    Parameters
    ----------
    name : str

    Returns
    -------
    Expression
        Public: it holds the name alone. The schema is looked at when the question is asked.
    """
    if type(name) is not str:
        raise refusal(f'A column is named by text: rt.col("age"); got {type(name).__name__}.')
    return Expression(ColumnName(name))


@called_as('rt.case([(rt.col("age") >= 65, "old")], "young")')
def case(whens: Sequence[tuple[Expression, Operand]], otherwise: Operand) -> Expression:
    """The value beside the first condition that is true, else another.

    Parameters
    ----------
    whens : sequence of (condition, value)
    otherwise : value
        For rows in which no condition is true.

    Returns
    -------
    Expression
    """
    parts = [tree_of(part) for pair in whens for part in pair]
    return Expression(Application("case", (*parts, tree_of(otherwise))))


# --- what makes groups ------------------------------------------------------------------------------------------------


@called_as('rt.year("admitted")')
def year(column: str | Expression) -> Expression:
    """The year of a date, as ``rt.col(column).year()``."""
    return _named(column).year()


@called_as('rt.quarter("admitted")')
def quarter(column: str | Expression) -> Expression:
    """The quarter of a date, 1 to 4."""
    return _named(column).quarter()


@called_as('rt.month("admitted")')
def month(column: str | Expression) -> Expression:
    """The month of a date, 1 to 12: ``rt.count().by("ward", rt.month("admitted"))``."""
    return _named(column).month()


@called_as('rt.week("admitted")')
def week(column: str | Expression) -> Expression:
    """The week of a date by ISO 8601, 1 to 53."""
    return _named(column).week()


@called_as('rt.weekday("admitted")')
def weekday(column: str | Expression) -> Expression:
    """The day of the week, from 1 for Monday to 7."""
    return _named(column).weekday()


@called_as('rt.hour("admitted")')
def hour(column: str | Expression) -> Expression:
    """The hour of a time, 0 to 23."""
    return _named(column).hour()


@called_as('rt.trunc("admitted", "month")')
def trunc(column: str | Expression, period: str) -> Expression:
    """The first day of the "week", "month", "quarter" or "year" of a date; "day" of a time."""
    return _named(column).trunc(period)


@called_as('rt.cut("age", range(0, 101, 10))')
def cut(column: str | Expression, edges: Sequence[Operand]) -> Expression:
    """The class of a number between public edges: ``rt.count().by(rt.cut("age", range(0, 101, 10)))``."""
    return _named(column).cut(edges)


def _named(column: str | Expression) -> Expression:
    return column if isinstance(column, Expression) else col(column)


def _formula(given: Operand) -> Expression:
    return given if isinstance(given, Expression) else Expression(tree_of(given))


def tree_of(given: object) -> Tree:
    """The tree of a formula, a number or a key."""
    match given:
        case Expression(tree=tree):
            return tree
        case bool() | str():
            return KeyLiteral(given)
        case datetime.date():
            try:
                seconds, step = calendar.seconds(given)
            except PublicParameterError as error:
                raise refusal(f"{error}.") from None
            return DateLiteral(seconds // step, step)
        case int() | float() | Fraction():
            return NumberLiteral(numbers.read(given, "a number"))
        case _:
            raise refusal(f"An expression is made of columns, numbers and texts; got {type(given).__name__}.")


def read(given: object) -> Tree:
    """The tree of a condition or a column that is computed, from text or a formula."""
    if isinstance(given, Expression):
        return given.tree
    from reticent.data import expression_text

    return expression_text.read(given)  # type: ignore[arg-type]  # refused
