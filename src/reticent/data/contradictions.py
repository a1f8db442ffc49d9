"""Contradictions of conditions: those that no row can meet whose cells lie within the declared bounds and lists.

    satisfiable(tree, columns)    False if public declarations alone make the condition false or missing in every row
    readable_columns(schema)      columns of which no row that passes the filter lacks a cell

``Truth.possible`` looks at one comparison at a time. Here every comparison that must hold narrows what it compares:
``age > 100 and age < 50`` leaves ``age`` no value. Narrowed columns narrow what is computed of them in turn. Of ``or``
each branch is tried, and what any of them leaves remains. A value that remains may still be impossible, so False is
certain and True is not. No cell is looked at (docs/proofs/transformations.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Final, TypeAlias, assert_never

from reticent.data.expression import OPERATIONS, kind_of, type_of
from reticent.data.expression_tree import Application, ColumnName, Tree, columns_of
from reticent.data.expression_types import Dates, Labels, Numbers, Spans, Truth, Type
from reticent.data.schema import Column, Key, Schema

PASSES: Final = 3  # a comparison narrows a column, the column what is computed of it, and that another column
MOST: Final = sys.float_info.max
OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Remainder:
    """Values that a part of a condition may still have.

    Attributes
    ----------
    intervals : tuple of pairs of float
        Closed, rising and apart: of numbers, and of dates as counts.
    keys : frozenset
        Of a category.
    missing : bool
        True if the part may be missing.
    """

    intervals: tuple[Interval, ...] = ()
    keys: frozenset[Key] = frozenset()
    missing: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there is no value, and the part cannot be missing."""
        return not (self.missing or self.intervals or self.keys)

    def __and__(self, other: Remainder) -> Remainder:
        both = tuple(_overlaps(self.intervals, other.intervals))
        return Remainder(both, self.keys & other.keys, self.missing and other.missing)

    def __or__(self, other: Remainder) -> Remainder:
        either: list[Interval] = []
        for low, high in sorted((*self.intervals, *other.intervals)):
            if either and low <= either[-1][1]:
                either[-1] = (either[-1][0], max(high, either[-1][1]))
            else:
                either.append((low, high))
        return Remainder(tuple(either), self.keys | other.keys, self.missing or other.missing)


MISSING: Final = Remainder(missing=True)
Known: TypeAlias = Mapping[Tree, Remainder]


def satisfiable(tree: Tree, columns: Mapping[str, Column]) -> bool:
    """False if a bound condition is false or missing in every row that the declarations of its columns allow."""
    kinds = {name: type_of(columns[name]) for name in columns_of(tree)}
    known: Known = {ColumnName(name): _any_of(kind) for name, kind in kinds.items()}
    for _ in range(PASSES):
        narrowed = _Reasoning(kinds).assumed(tree, known)
        if narrowed is None:
            return False
        known = narrowed
    return True


def readable_columns(schema: Schema) -> frozenset[str]:
    """Columns of which no row that passes the filter lacks a cell, by the structure of the filter alone.

    ``age >= 65`` is true of no row whose age cannot be read. A column with a public stand-in is none of them: the
    filter sees the stand-in, and the cell behind it may be odd (docs/proofs/transformations.md).
    """
    found = frozenset[str]() if schema.where is None else _read_where(schema.where, True, schema)
    return frozenset(name for name in found if schema.columns[name].stand_in is None)


def _read_where(tree: Tree, value: bool, schema: Schema) -> frozenset[str]:
    """The columns whose cells, or stand-ins, are there wherever a condition has a value."""
    match tree:
        case Application(operation="not", operands=(one,)):
            return _read_where(one, not value, schema)
        case Application(operation="and" | "or" as word, operands=operands):
            parts = [_read_where(one, value, schema) for one in operands]
            every = (word == "and") == value  # each operand has the value; else it is one of them, and none knows which
            return frozenset().union(*parts) if every else frozenset.intersection(*parts)
        case Application(operation="is missing", operands=(one,)):
            return frozenset() if value else _read_by(one, schema)
        case _:
            return _read_by(tree, schema)


def _read_by(tree: Tree, schema: Schema) -> frozenset[str]:
    """The columns whose cells, or stand-ins, are there wherever a part is not missing."""
    match tree:
        case ColumnName(column=name):
            inner = schema.computed.get(name)
            known = inner is not None and schema.columns[name].stand_in is None
            return frozenset((name,)) | (_read_by(inner, schema) if known and inner is not None else frozenset())
        case Application(operation=operation, operands=operands) if OPERATIONS[operation].strict:
            return frozenset().union(*(_read_by(one, schema) for one in operands))
        case _:
            return frozenset()


@dataclass(frozen=True, slots=True)
class _Reasoning:
    """Narrowing by what is assumed, over columns of these types; None stands for a contradiction."""

    kinds: Mapping[str, Type]

    def assumed(self, tree: Tree, known: Known, *, value: bool = True) -> Known | None:
        """Remaining values of each part where a condition has a value."""
        match tree:
            case Application(operation="not", operands=(one,)):
                return self.assumed(one, known, value=not value)
            case Application(operation="and" | "or" as word, operands=operands):
                return (self._all if (word == "and") == value else self._any)(operands, known, value)
            case Application(operation="is missing", operands=(one,)):
                kind = self._type(one, known)
                return self._narrowed(one, MISSING if value else _present(kind), known)
            case Application(operation="in", operands=(one, *listed)):
                kind = self._type(one, known)
                among = reduce(Remainder.__or__, (_present(self._type(key, known)) for key in listed))
                return self._narrowed(one, among if value else _without(kind, among), known)
            case Application(operation=sign, operands=(a, b)) if sign in OPPOSITES:
                return self._compared(sign if value else OPPOSITES[sign], a, b, known)
            case _:
                kind = self._type(tree, known)
                return known if not isinstance(kind, Truth) or value in kind.possible else None

    def _all(self, trees: Sequence[Tree], known: Known, value: bool) -> Known | None:  # of each
        found: Known | None = known
        for one in sorted(trees, key=_is_branched):
            found = None if found is None else self.assumed(one, found, value=value)
        return found

    def _any(self, trees: Sequence[Tree], known: Known, value: bool) -> Known | None:  # of one
        branches = [found for one in trees if (found := self.assumed(one, known, value=value)) is not None]
        if not branches:
            return None
        shared = set(branches[0]).intersection(*branches[1:])
        return {part: _union([one[part] for one in branches]) for part in shared}

    def _compared(self, sign: str, a: Tree, b: Tree, known: Known) -> Known | None:
        """Remaining values where ``a sign b`` is true."""
        if a == b and sign in ("!=", "<", ">"):
            return None
        found = self._narrowed(a, _related(sign, self._type(a, known), self._type(b, known)), known)
        if found is None:
            return None
        return self._narrowed(b, _related(MIRRORED[sign], self._type(b, found), self._type(a, found)), found)

    def _narrowed(self, tree: Tree, to: Remainder, known: Known) -> Known | None:
        """Remaining values where a part has one of these: no strict operation on a missing cell has one."""
        kind = self._type(tree, known)
        left = _of_steps(kind, known.get(tree, _any_of(kind)) & _any_of(kind) & to)
        if left.is_empty:
            return None
        found: Known | None = {**known, tree: left}
        if isinstance(tree, Application) and OPERATIONS[tree.operation].strict and not left.missing:
            for one in tree.operands:
                found = None if found is None else self._narrowed(one, _present(self._type(one, found)), found)
        return found

    def _type(self, tree: Tree, known: Known) -> Type:
        """The type of a bound part, narrower than declared where its columns are."""
        match tree:
            case ColumnName(column=column):
                return _narrower(self.kinds[column], known[tree])
            case Application(operation=name, operands=operands):
                return OPERATIONS[name].kind([self._type(one, known) for one in operands])
            case _:
                return kind_of(tree, {})


def _is_branched(tree: Tree) -> bool:
    """True of what is looked at after comparisons have narrowed their columns."""
    return isinstance(tree, Application) and tree.operation in ("and", "or", "not")


def _union(found: Sequence[Remainder]) -> Remainder:
    first = found[0]
    return first if all(one is first for one in found) else reduce(Remainder.__or__, found)


def _overlaps(mine: Sequence[Interval], others: Sequence[Interval]) -> Iterator[Interval]:
    """The intersections of two rising lists of intervals."""
    i = j = 0
    while i < len(mine) and j < len(others):
        low, high = max(mine[i][0], others[j][0]), min(mine[i][1], others[j][1])
        if low <= high:
            yield low, high
        if mine[i][1] < others[j][1]:
            i += 1
        else:
            j += 1


def _ends(kind: Numbers | Dates | Spans) -> Interval:
    return -MOST if kind.low is None else float(kind.low), MOST if kind.high is None else float(kind.high)


def _any_of(kind: Type) -> Remainder:
    """Every value of a type, or missing."""
    match kind:
        case Numbers() | Dates() | Spans():
            return Remainder((_ends(kind),), missing=True)
        case Labels(among=among):
            return Remainder(keys=frozenset(among), missing=True)
        case Truth(possible=possible):
            return Remainder(keys=frozenset(possible), missing=True)
        case _:
            assert_never(kind)


def _present(kind: Type) -> Remainder:
    return replace(_any_of(kind), missing=False)


def _without(kind: Type, excluded: Remainder) -> Remainder:
    """Every value of a type but the excluded ones, of which each interval is one number."""
    lows = [-MOST, *(math.nextafter(high, math.inf) for _, high in excluded.intervals)]
    highs = [*(math.nextafter(low, -math.inf) for low, _ in excluded.intervals), MOST]
    every, others = _present(kind), tuple(pair for pair in zip(lows, highs, strict=True) if pair[0] <= pair[1])
    return Remainder(tuple(_overlaps(every.intervals, others)), every.keys - excluded.keys)


def _related(sign: str, kind: Type, other: Type) -> Remainder:
    """The values of a type that stand in a relation to some value of the other."""
    values = _present(other)
    if sign == "=":
        return values
    if sign == "!=":
        single = len(values.keys) == 1 or any(low == high for low, high in values.intervals)
        return _without(kind, values) if single else _present(kind)
    ((low, high),) = values.intervals
    match sign:
        case "<":
            return Remainder(((-MOST, math.nextafter(high, -math.inf)),))
        case "<=":
            return Remainder(((-MOST, high),))
        case ">":
            return Remainder(((math.nextafter(low, math.inf), MOST),))
        case _:
            return Remainder(((low, MOST),))


def _of_steps(kind: Type, left: Remainder) -> Remainder:
    """Intervals that end in values of a type of whole numbers, the ones without such a value left out."""
    step = kind.step if isinstance(kind, Numbers) and kind.whole else 1
    if not left.intervals or (isinstance(kind, Numbers) and not kind.whole):
        return left
    ends = ((math.ceil(low / step) * step, math.floor(high / step) * step) for low, high in left.intervals)
    return replace(left, intervals=tuple((float(low), float(high)) for low, high in ends if low <= high))


def _narrower(kind: Type, left: Remainder) -> Type:
    """A type with the values that are left; the same where none is, since the part is missing then."""
    low, high = (left.intervals[0][0], left.intervals[-1][1]) if left.intervals else (-MOST, MOST)
    match kind:
        case Numbers() if left.intervals:
            ends = (None if low == -MOST else Fraction(low), None if high == MOST else Fraction(high))
            return replace(kind, low=ends[0], high=ends[1])
        case Dates() | Spans() if left.intervals:
            return replace(kind, low=int(low), high=int(high))
        case Labels(among=among) if left.keys:
            return Labels(tuple(key for key in among if key in left.keys))
        case _:
            return kind
