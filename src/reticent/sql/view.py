"""Views: rows of the table under names of columns, as FROM, WITH and subqueries give them.

    SELECT 'old' AS class, cost FROM study WHERE age >= 65 UNION ALL SELECT 'young', cost FROM study WHERE age < 65

Sides of a UNION ALL whose conditions exclude each other are one filter, and each column is a CASE of the sides. A row
that passed two sides would count twice, which no filter says, so that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.data.expression_tree import Application, DateLiteral, KeyLiteral, NumberLiteral, Tree, joined, write
from reticent.sql.syntax import refusal

MOST_SIDES: Final = 20
SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}

PublicValue: TypeAlias = Fraction | str | bool | int


@dataclass(frozen=True, slots=True)
class RowView:
    """Rows that a SELECT reads: what its names stand for, and which rows there are.

    Attributes
    ----------
    columns : mapping of str to Tree
        Names that need no table before them.
    condition : Tree or None
    names : frozenset of str
        The tables, in small letters.
    qualified : mapping of str to mapping
        The columns of each table, where there are several.
    joined : mapping of str to str
        Further tables with "inner" or "left".
    keys : mapping of str to str
        Names that the condition of a join may name, each with the declared column.
    table : str
        The further table whose rows these are; empty of the main one.
    elsewhere : mapping of str to str
        Words for names that are no columns of these rows, in small letters.
    tables : mapping of str to str
        What the statement calls its tables, in small letters, each with the declared table; empty of the main one.
    """

    columns: Mapping[str, Tree]
    condition: Tree | None = None
    names: frozenset[str] = frozenset()
    qualified: Mapping[str, Mapping[str, Tree]] = field(default_factory=dict)
    joined: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiteralRange:
    """Public values that a condition leaves an expression: a list, or those between two ends."""

    listed: frozenset[PublicValue] | None = None
    low: PublicValue | None = None
    high: PublicValue | None = None
    open_ends: bool = False

    def excludes(self, other: LiteralRange) -> bool:
        """True if no value is in both."""
        if self.listed is not None and other.listed is not None:
            kinds = {type(value) for value in self.listed | other.listed}  # '1' may be the key 1
            return len(kinds) <= 1 and not self.listed & other.listed
        if self.listed is not None or other.listed is not None:
            few, ends = (self, other) if self.listed is not None else (other, self)
            return all(_beyond(value, value, ends, sharp=ends.open_ends) for value in few.listed or ())
        return _beyond(self.low, self.high, other, sharp=self.open_ends or other.open_ends)


def narrowed(rows: RowView, condition: Tree) -> RowView:
    """The rows of a view for which a condition is true."""
    both = condition if rows.condition is None else joined("and", rows.condition, condition)
    return replace(rows, condition=both)


def united(sides: Sequence[RowView]) -> RowView:
    """The rows of all sides of a UNION ALL, under the names of the first.

    Raises
    ------
    QuestionError
        Sides with other numbers of columns; two that a row could pass.
    """
    if len(sides) > MOST_SIDES:
        raise refusal(f"UNION ALL has at most {MOST_SIDES} sides.")
    counts = [len(side.columns) for side in sides]
    if len(set(counts)) > 1:
        raise refusal(f"The sides of UNION ALL have {' and '.join(map(str, counts))} columns: name as many in each.")
    if any(side.table != sides[0].table for side in sides):
        raise refusal("The sides of UNION ALL are rows of one table, and these are of several.")
    if any(side.joined != sides[0].joined for side in sides):
        raise refusal("The sides of UNION ALL join other tables. Join the same ones in each.")
    conditions = [side.condition for side in sides]
    for place, one in enumerate(conditions):
        for other in conditions[:place]:
            if one is None or other is None or not exclusive(one, other):
                shown = "a side without WHERE" if one is None or other is None else f"{write(other)}, and {write(one)}"
                raise refusal(
                    f"A row could pass two sides of UNION ALL, and count twice: {shown}. Write one SELECT with OR, or "
                    "let the sides exclude each other: WHERE age < 65, and WHERE age >= 65."
                )
    columns = {
        name: _chosen([list(side.columns.values())[place] for side in sides], conditions)
        for place, name in enumerate(sides[0].columns)
    }
    condition = joined("or", *(one for one in conditions if one is not None))
    first, *others = sides
    alike = all(list(side.keys.values()) == list(first.keys.values()) for side in others)
    return RowView(columns, condition, joined=first.joined, keys=first.keys if alike else {}, table=first.table)


def _chosen(trees: Sequence[Tree], conditions: Sequence[Tree | None]) -> Tree:
    """A column of the union: that of the side which a row passes."""
    if len(set(trees)) == 1:
        return trees[0]
    pairs = [part for pair in zip(conditions[:-1], trees, strict=False) for part in pair if part is not None]
    return Application("case", (*pairs, trees[-1]))


def exclusive(one: Tree, other: Tree) -> bool:
    """True if it is plain that no row fulfils both conditions."""
    return any(_contradict(first, second) for first in _parts(one) for second in _parts(other))


def _parts(tree: Tree) -> tuple[Tree, ...]:
    return tree.operands if isinstance(tree, Application) and tree.operation == "and" else (tree,)


def _contradict(one: Tree, other: Tree) -> bool:
    if Application("not", (one,)) == other or Application("not", (other,)) == one:
        return True
    first, second = _range(one), _range(other)
    return first is not None and second is not None and first[0] == second[0] and first[1].excludes(second[1])


def _range(tree: Tree) -> tuple[Tree, LiteralRange] | None:
    """The expression and the values that a condition leaves it; None where it is no plain comparison."""
    match tree:
        case Application(operation="in", operands=(of, *listed)):
            values = [_value(one) for one in listed]
            known = frozenset(value for value in values if value is not None)
            return (of, LiteralRange(known)) if len(known) == len(values) else None
        case Application(operation=word, operands=(of, end)) if word in SWAPPED:
            if _value(end) is None:
                of, end, word = end, of, SWAPPED[word]
            value = _value(end)
            if value is None:
                return None
            if word == "=":
                return of, LiteralRange(frozenset([value]))
            sharp = word in ("<", ">")
            if word.startswith("<"):
                return of, LiteralRange(high=value, open_ends=sharp)
            return of, LiteralRange(low=value, open_ends=sharp)
        case _:
            return None


def _value(tree: Tree) -> PublicValue | None:
    match tree:
        case NumberLiteral(value=value):
            return value
        case KeyLiteral(key=key):
            return key
        case DateLiteral(count=count, step=step):
            return Fraction(count * step)
        case _:
            return None


def _beyond(low: PublicValue | None, high: PublicValue | None, ends: LiteralRange, *, sharp: bool) -> bool:
    """True if the values from ``low`` to ``high`` lie beyond an end; at it, too, where an end is left out."""
    return _above(low, ends.high, sharp=sharp) or _above(ends.low, high, sharp=sharp)


def _above(low: PublicValue | None, high: PublicValue | None, *, sharp: bool) -> bool:
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        return low > high or (sharp and low == high)
    if isinstance(low, str) and isinstance(high, str):
        return low > high or (sharp and low == high)
    return False
