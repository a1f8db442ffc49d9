"""Outputs of a SELECT: group keys, weighted sums of released answers, quotients of two, and ends of their intervals.

    SUM(cost) / COUNT(*) - 2        a quotient: (sum - 2 count) / count

Arithmetic is worked out here in fractions, before anything is released. What no interval would hold for is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from reticent.sql.syntax import refusal


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The key of a group, by its place in GROUP BY."""

    place: int


@dataclass(frozen=True, slots=True)
class TotalFlag:
    """1 in rows that are a total over a column of GROUP BY, by its place, and 0 in others."""

    place: int


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Answers by name with their weights, and a constant."""

    weights: tuple[tuple[str, Fraction], ...]
    constant: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Quotient:
    """A weighted sum divided by another."""

    above: WeightedSum
    below: WeightedSum


@dataclass(frozen=True, slots=True)
class IntervalEnd:
    """The lower or upper end of the interval of a number."""

    of: WeightedSum | Quotient
    end: str


Output: TypeAlias = GroupKey | TotalFlag | WeightedSum | Quotient | IntervalEnd


def names_of(name: str, output: Output) -> tuple[str, ...]:
    """The columns of a data frame that an output fills: of a number its value and the ends of its interval."""
    return (name,) if isinstance(output, GroupKey | TotalFlag | IntervalEnd) else (name, f"{name}_low", f"{name}_high")


def plus(one: WeightedSum | Quotient, other: WeightedSum | Quotient, sign: Fraction) -> WeightedSum | Quotient:
    """The sum of two outputs, the second times ``sign``.

    Parameters
    ----------
    one, other : WeightedSum or Quotient
        Outputs of a SELECT.
    sign : Fraction
        Factor of the second, 1 or -1.

    Returns
    -------
    WeightedSum or Quotient
        The sum as one output.

    Raises
    ------
    QuestionError
        A quotient plus anything but a number.
    """
    if isinstance(one, WeightedSum) and isinstance(other, WeightedSum):
        return _added(one, other, sign)
    # a quotient plus a number: (a + c b) / b
    if isinstance(one, Quotient) and isinstance(other, WeightedSum) and not other.weights:
        return Quotient(_added(one.above, _scaled(one.below, other.constant), sign), one.below)
    if isinstance(other, Quotient) and isinstance(one, WeightedSum) and not one.weights:
        return plus(times(other, sign), one, Fraction(1))
    raise refusal("A quotient of aggregates is added to nothing but a number: no interval would hold.")


def _added(one: WeightedSum, other: WeightedSum, sign: Fraction) -> WeightedSum:
    weights = dict(one.weights)
    for name, weight in other.weights:
        weights[name] = weights.get(name, Fraction(0)) + sign * weight
    return WeightedSum(
        tuple((name, weight) for name, weight in weights.items() if weight), one.constant + sign * other.constant
    )


def times(one: WeightedSum | Quotient, by: Fraction) -> WeightedSum | Quotient:
    """An output times a public number."""
    return Quotient(_scaled(one.above, by), one.below) if isinstance(one, Quotient) else _scaled(one, by)


def _scaled(one: WeightedSum, by: Fraction) -> WeightedSum:
    return WeightedSum(tuple((name, weight * by) for name, weight in one.weights if by), one.constant * by)


def product(one: WeightedSum | Quotient, other: WeightedSum | Quotient) -> WeightedSum | Quotient:
    """The product of two outputs, one of which is a public number."""
    for first, second in ((one, other), (other, one)):
        if isinstance(first, WeightedSum) and not first.weights:
            return times(second, first.constant)
    raise refusal("Aggregates are multiplied by numbers: a product of two has no interval here.")


def divided(one: WeightedSum | Quotient, other: WeightedSum | Quotient) -> WeightedSum | Quotient:
    """The quotient of two outputs."""
    if isinstance(other, WeightedSum) and not other.weights:
        if not other.constant:
            raise refusal("The statement divides by 0.")
        return times(one, 1 / other.constant)
    if isinstance(one, WeightedSum) and isinstance(other, WeightedSum):
        return Quotient(one, other)
    raise refusal("A quotient of aggregates is divided by a number alone.")
