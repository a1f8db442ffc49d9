"""Formulas of an engine: what ``expression.OPERATIONS`` means, in the engine's own operations.

No cell makes one fail or warn: numbers stay finite, and only public numbers are divided by. Integers are cast after a
clamp. Where an engine's function treats missing cells otherwise (``LEAST`` leaves them out), comparisons stand instead.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any, Final, TypeAlias, assert_never

import ibis

from reticent.calendar import DATE_PARTS, SPANS
from reticent.data.engines import moments
from reticent.data.engines.casts import clamp, double, whole_text
from reticent.data.expression import OPERATIONS, Cell, kind_of, type_of
from reticent.data.expression_tree import DateLiteral, KeyLiteral, NumberLiteral, Tree, key_text
from reticent.data.expression_types import Dates, Labels, Numbers, Spans, Truth, Type, cross_text, cut_labels
from reticent.data.schema import EXACT_DOUBLE, Column

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text
LARGEST: Final = sys.float_info.max


def literal(tree: NumberLiteral | DateLiteral | KeyLiteral) -> Expr:
    """A public number, date or key."""
    if isinstance(tree, KeyLiteral):
        return ibis.literal(key_text(tree.key), "string")
    return double(float(_value(tree)))


def operand(x: Expr, column: Column) -> Expr:
    """A cell as expressions take it: finite, within the declared bounds."""
    kind = type_of(column)
    if not isinstance(kind, Numbers | Dates):
        return x
    if kind.low is None or kind.high is None:
        return finite(x)
    return clamp(x, float(kind.low), float(kind.high))


def finite(x: Expr) -> Expr:
    """The number, or null where it is infinite or NaN (which engines sort above all numbers, or compare as false)."""
    return ibis.ifelse((x >= double(-LARGEST)) & (x <= double(LARGEST)), x, ibis.null("float64"))


def call(name: str, found: Sequence[Expr], operands: Sequence[Tree], columns: Mapping[str, Column]) -> Expr:
    """One operation on operands that are there: columns of a table, and literals.

    An operation may use an operand several times, so operands are no larger expressions (``formula_levels``).

    Parameters
    ----------
    name : str
        Of the operation.
    found : sequence of Expr
        The operands, compiled.
    operands : sequence of Tree
        The operands, as trees.
    columns : mapping of name to Column

    Returns
    -------
    Expr

    Raises
    ------
    TypeError
        A name of no operation.
    """
    match name, found:
        case "+", (a, b):
            return finite(a + b)
        case "-", (a, b):
            return finite(a - b)
        case "*", (a, b):
            return finite(a * b)
        case "/", (a, b):
            return finite(a / b)
        case "abs", (x,):
            return x.abs()
        case "least", _:
            a, b = found
            return _either(a <= b, a, b)
        case "greatest", _:
            a, b = found
            return _either(a >= b, a, b)
        case "clamp", (x, _, _):
            return clamp(x, *(float(_value(one)) for one in operands[1:]))
        case "floor", (x, step):
            return finite(_floor(x / step) * step)
        case "log", (x,):
            return finite(ibis.ifelse(x > double(0), x, ibis.null("float64")).ln())
        case "sqrt", (x,):
            return finite(ibis.ifelse(x >= double(0), x, ibis.null("float64")).sqrt())
        case "=", (a, b):
            return a == b
        case "!=", (a, b):
            return a != b
        case "<", (a, b):
            return a < b
        case "<=", (a, b):
            return a <= b
        case ">", (a, b):
            return a > b
        case ">=", (a, b):
            return a >= b
        case "in", (x, *among):
            return x.isin(among)
        case "and", _:
            return _together(found, operator.and_)
        case "or", _:
            return _together(found, operator.or_)
        case "not", (x,):
            return ~x
        case "is missing", (x,):
            return x.isnull()
        case "coalesce", _:
            return ibis.coalesce(*found)
        case "case", (*pairs, other):
            return ibis.cases(*zip(pairs[::2], pairs[1::2], strict=True), else_=other)
        case "date key", (x,):
            return moments.spelt(x)
        case _, (x, _) if name in DATE_PARTS:
            return moments.part(name, x, int(_value(operands[1])))
        case "trunc", (x, _, _):
            assert isinstance(operands[1], KeyLiteral)
            return moments.truncated(x, int(_value(operands[2])), str(operands[1].key))
        case _, (x, step) if name in SPANS:
            return x * step / double(SPANS[name])
        case "age", (born, at, _, _):
            return moments.age(born, int(_value(operands[2])), at, int(_value(operands[3])))
        case "recode", (x, *pairs):
            return _mapped(x, list(zip(pairs[::2], pairs[1::2], strict=True)))
        case "cut", (x, *_):
            return _class(x, [float(_value(one)) for one in operands[1:]])
        case "cross", _:
            return _side_by_side(found, operands, columns)
        case (("lower" | "trim" | "left"), (x, *_)):
            return _renamed(name, x, operands, columns)
        case _:
            raise TypeError(f"no engine formula for {name}")


def _either(first: Expr, a: Expr, b: Expr) -> Expr:
    """``a`` where the comparison is true, ``b`` where it is false, null where it is null."""
    return ibis.cases((first, a), (~first, b), else_=ibis.null("float64"))


def _together(found: Sequence[Expr], by: Callable[[Expr, Expr], Expr]) -> Expr:
    """Conditions joined in pairs: an engine reads a statement of few levels."""
    if len(found) == 1:
        return found[0]
    half = len(found) // 2
    return by(_together(found[:half], by), _together(found[half:], by))


def _value(tree: Tree) -> Fraction:
    assert isinstance(tree, NumberLiteral | DateLiteral)
    return Fraction(tree.count) if isinstance(tree, DateLiteral) else tree.value


def _floor(ratio: Expr) -> Expr:
    """The integer below; a double beyond 2^53 is one."""
    limit = float(EXACT_DOUBLE)
    inside = clamp(ratio, -limit, limit).floor().cast("float64")
    return ibis.ifelse((ratio > double(-limit)) & (ratio < double(limit)), inside, ratio)


def _mapped(x: Expr, pairs: Sequence[tuple[Expr, Expr]]) -> Expr:
    return ibis.cases(*((x == old, new) for old, new in pairs), else_=ibis.null("string"))


def _class(x: Expr, edges: Sequence[float]) -> Expr:
    keys = cut_labels([Fraction(edge) for edge in edges])
    last = len(keys) - 1
    found = [
        ((x >= double(low)) & ((x <= double(high)) if place == last else (x < double(high))), keys[place])
        for place, (low, high) in enumerate(pairwise(edges))
    ]
    return ibis.cases(*found, else_=ibis.null("string"))


def _side_by_side(found: Sequence[Expr], operands: Sequence[Tree], columns: Mapping[str, Column]) -> Expr:
    """Keys joined by commas; null where one is."""
    texts = [_key(x, kind_of(one, columns), alone=len(found) == 1) for x, one in zip(found, operands, strict=True)]
    return reduce(lambda a, b: a + ", " + b, texts)


def _key(x: Expr, kind: Type, *, alone: bool) -> Expr:
    """The text of a key, as a part of several."""
    match kind:
        case Numbers():
            return whole_text(x)
        case Truth():
            return ibis.cases((x, "true"), (~x, "false"), else_=ibis.null("string"))
        case Labels(among=among):
            told = [(key_text(key), cross_text(key)) for key in among]
            if alone or all(old == new for old, new in told):
                return x
            return _mapped(x, [(ibis.literal(old, "string"), ibis.literal(new, "string")) for old, new in told])
        case Dates() | Spans():
            raise TypeError("dates are keys before they stand side by side")
        case _:
            assert_never(kind)


def _renamed(name: str, x: Expr, operands: Sequence[Tree], columns: Mapping[str, Column]) -> Expr:
    """A function of listed texts, worked out for each of them: letters are this program's, and no engine's."""
    kind = kind_of(operands[0], columns)
    assert isinstance(kind, Labels)
    more: list[Cell] = [float(_value(one)) for one in operands[1:]]
    pairs = [(str(key), OPERATIONS[name].meaning([str(key), *more])) for key in kind.among]
    return _mapped(x, [(ibis.literal(old, "string"), ibis.literal(str(new), "string")) for old, new in pairs])


__all__ = ["call", "finite", "literal", "operand"]
