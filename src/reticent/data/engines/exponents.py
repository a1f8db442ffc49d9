"""Exponents that a double of a plan can have, from the shape of its expression alone: no row is looked at.

PostgreSQL fails where a product or a sum overflows, or where a product vanishes. Where neither can happen the engine's
own operation stands in the statement, which is some ten times as fast as a function that is total.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

LEAST, MOST = -1074, 1023  # exponents of the least double, and of the largest power of two
WHOLE: Final = 127  # whole numbers of the plan are below 2^127


class Exponents(NamedTuple):
    """A double is zero or from 2^least to 2^most in size; ``nonzero`` says that it is not zero."""

    least: int
    most: int
    nonzero: bool = False

    @property
    def safe(self) -> bool:
        """True if no such double, once rounded, is infinite or vanishes."""
        return self.least >= LEAST and self.most <= MOST


@lru_cache(maxsize=1024)
def exponents(expression: Any) -> Exponents | None:
    """Exponents of an Ibis operation, or None where its shape tells none.

    Parameters
    ----------
    expression : Node
        Operation of Ibis, with a number.

    Returns
    -------
    Exponents or None
    """
    import ibis.expr.operations as ops

    if expression.dtype.is_integer() or (expression.dtype.is_decimal() and expression.dtype.scale == 0):
        return Exponents(0, WHOLE)
    match expression:
        case ops.Cast(arg=ops.Literal(value=str() as digits)):
            return _of_literal(float(digits))
        case ops.Cast(arg=arg) if arg.dtype.is_integer() or arg.dtype.is_decimal():
            return exponents(arg)
        case ops.SearchedCase():
            return _of_clamp(expression)
        case ops.Multiply(left=left, right=right):
            return _product(exponents(left), exponents(right))
        case ops.Divide(left=left, right=right):
            return _quotient(exponents(left), exponents(right))
        case ops.Add(left=left, right=right) | ops.Subtract(left=left, right=right):
            return _sum(exponents(left), exponents(right))
        case _:
            return None


def _of_literal(value: float) -> Exponents | None:
    if not math.isfinite(value):
        return None
    _, most = math.frexp(value)
    return Exponents(most - 1, most, nonzero=True) if value else Exponents(0, 0)


def _of_clamp(expression: Any) -> Exponents | None:
    """Those of a value between two literals: ``numbers.clamp``, which moves infinities and NaN to an end."""
    import ibis.expr.operations as ops

    match expression.cases, expression.results:
        case (ops.Less(left=one, right=low), ops.Greater(left=other, right=high)), (first, second):
            if not (one == other == expression.default and (low, high) == (first, second)):
                return None
            ends = [exponents(end) for end in (low, high)]
            if any(end is None or not isinstance(at, ops.Cast) for end, at in zip(ends, (low, high), strict=True)):
                return None
            return Exponents(LEAST, max(end.most for end in ends if end is not None))
        case _:
            return None


def _product(one: Exponents | None, other: Exponents | None) -> Exponents | None:
    if one is None or other is None:
        return None
    return _if_safe(Exponents(one.least + other.least, one.most + other.most, one.nonzero and other.nonzero))


def _quotient(one: Exponents | None, other: Exponents | None) -> Exponents | None:
    if one is None or other is None or not other.nonzero:
        return None
    return _if_safe(Exponents(one.least - other.most, one.most - other.least, one.nonzero))


def _sum(one: Exponents | None, other: Exponents | None) -> Exponents | None:
    """Those of a sum or a difference, which is a multiple of the least double."""
    if one is None or other is None:
        return None
    return _if_safe(Exponents(LEAST, max(one.most, other.most) + 1))


def _if_safe(found: Exponents) -> Exponents | None:
    return found if found.safe else None
