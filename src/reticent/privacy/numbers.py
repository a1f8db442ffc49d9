"""Reading the numbers a guarantee rests on, exactly.

At the surface a privacy parameter may be an int, decimal text, Fraction, Decimal, or a float read by its
shortest decimal text. Below the surface it is a ``Fraction`` and a float is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex, TypeAlias, TypeVar

from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_up

A = TypeVar("A")
B = TypeVar("B")
Number: TypeAlias = int | str | Fraction | Decimal | float | SupportsIndex

MOST_DIGITS = 12
LONGEST_TEXT = 60
WIDEST_EXPONENT = 300  # beyond it a number is a slip, and arithmetic with it a way to stop a machine


def read(number: Number, name: str) -> Fraction:
    """The exact rational a caller meant.

    Raises
    ------
    PublicParameterError
        For a float of more than 12 digits (``0.1 + 0.2``), text that is no number, NaN, an infinity, a bool.
    """
    symbol = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}.get(name, name)
    if isinstance(number, bool):
        raise PublicParameterError(f"{name} must be a number, got {number}")
    if isinstance(number, float):
        shortest = repr(_as_it_is(float.__float__, number, name))
        try:
            digits = Decimal(shortest).as_tuple()
        except ArithmeticError:  # pragma: no cover - repr of a float always parses
            raise PublicParameterError(f"{name} must be a number") from None
        if not isinstance(digits.exponent, int):
            raise PublicParameterError(f"{name} must be finite, got {shortest}")
        if len(digits.digits) > MOST_DIGITS:
            meant = f"{float(shortest):.12g}"
            raise PublicParameterError(f'{symbol} {shortest} is a floating-point number. Write {name}="{meant}".')
        return Fraction(shortest)
    if isinstance(number, int):
        return _sane(Fraction(_plain(number, name)), name)
    if isinstance(number, Fraction):
        return _sane(Fraction(_plain(number.numerator, name), _plain(number.denominator, name)), name)
    if isinstance(number, Decimal):
        return _from_decimal(number, name)
    if isinstance(number, str):
        return _from_text(_as_it_is(str.__str__, number, name).strip().replace("_", ""), name)
    return _sane(Fraction(_whole(number, name)), name)


def _as_it_is(method: Callable[[A], B], number: A, name: str) -> B:
    """Value of the type's own ``method`` on ``number``, with any override in a subclass bypassed.

    An override would be called beside private sums, and could keep something of its own in the number that is read.
    """
    try:
        return method(number)
    except TypeError:  # it only says that it is of this type
        found = type(number).__name__
        raise PublicParameterError(f"{name} must be an int, decimal text, Fraction or Decimal, got {found}") from None


def _plain(number: int, name: str) -> int:
    """An ``int``, and no subclass of it."""
    return _as_it_is(int.__index__, number, name)


def _whole(number: SupportsIndex, name: str) -> int:
    """The integers of NumPy, which are no ``int``; anything else is refused."""
    try:
        return int.__index__(operator.index(number))
    except TypeError:
        found = type(number).__name__
        raise PublicParameterError(f"{name} must be an int, decimal text, Fraction or Decimal, got {found}") from None


def _from_decimal(number: Decimal, name: str) -> Fraction:
    if not _as_it_is(Decimal.is_finite, number, name):
        raise PublicParameterError(f'{name} must be a number such as "0.1" or "1/3", got {number}')
    if abs(Decimal.adjusted(number)) > WIDEST_EXPONENT:
        raise _too_wide(name)
    return Fraction(*Decimal.as_integer_ratio(number))


def _from_text(text: str, name: str) -> Fraction:
    words = f'{name} must be a number such as "0.1" or "1/3", got {text[:LONGEST_TEXT]!r}'
    if len(text) > 10 * LONGEST_TEXT:
        raise PublicParameterError(words)
    if "/" not in text:
        try:
            return _from_decimal(Decimal(text), name)
        except ArithmeticError:
            raise PublicParameterError(words) from None
    try:
        return _sane(Fraction(text), name)
    except (ValueError, ZeroDivisionError):
        raise PublicParameterError(words) from None


def _sane(value: Fraction, name: str) -> Fraction:
    size = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(size) > WIDEST_EXPONENT * 10 // 3:
        raise _too_wide(name)
    return value


def _too_wide(name: str) -> PublicParameterError:
    return PublicParameterError(f"{name} must lie within 1e-{WIDEST_EXPONENT} and 1e{WIDEST_EXPONENT} in size")


def exact(number: int | Fraction, name: str) -> Fraction:
    """``number`` as a Fraction; a float here is a programming error and is refused.

    So is a subclass, or a Fraction made of one: its arithmetic is its own, and a scale would be what it likes.
    """
    if type(number) is not int and not (
        type(number) is Fraction and type(number.numerator) is int and type(number.denominator) is int
    ):
        raise PublicParameterError(f"{name} must be an int or a Fraction here, got {type(number).__name__}")
    return Fraction(number)


def integers(numbers: Iterable[SupportsIndex], name: str) -> list[int]:
    """The numbers as plain integers; a float among them would carry its low bits past any integer noise."""
    try:
        return [int.__index__(operator.index(number)) for number in numbers]
    except TypeError:
        raise PublicParameterError(f"{name} must be integers here") from None


def positive(number: int | Fraction, name: str) -> Fraction:
    """``number`` as a Fraction above zero, and of a size that arithmetic can work with."""
    value = _sane(exact(number, name), name)
    if value <= 0:
        raise PublicParameterError(f"{name} must be > 0, got {show(value)}")
    return value


def stored(parameters: Mapping[str, str], name: str) -> Fraction:
    """A positive number of a stored guarantee; what is missing or not above zero is refused."""
    if name not in parameters:
        raise PublicParameterError(f"{name} is missing")
    return positive(read(parameters[name], name), name)


def show(number: int | Fraction) -> str:
    """Text that reads back to the same rational: a decimal where one exists (12 places), else ``a/b``."""
    value = Fraction(number)
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        places = 0
        while (value * 10**places).denominator != 1:
            places += 1
        digits = abs(int(value * 10**places))
        if places > 12 and len(str(digits)) <= 12:
            return f"{'-' if value < 0 else ''}{_scientific(digits, places)}"
        if places <= 12:
            text = str(digits).rjust(places + 1, "0")
            plain = f"{'-' if value < 0 else ''}{text[:-places]}.{text[-places:]}"
            return (
                plain
                if abs(value) >= Fraction(1, 10**4)
                else f"{'-' if value < 0 else ''}{_scientific(digits, places)}"
            )
    return f"{value.numerator}/{value.denominator}"


def _scientific(digits: int, places: int) -> str:
    text = str(digits)
    exponent = len(text) - 1 - places
    mantissa = text[0] + ("." + text[1:].rstrip("0") if text[1:].rstrip("0") else "")
    return f"{mantissa}e{exponent}"


def about(number: int | Fraction, digits: int = 4) -> str:
    """A short rounded text for people; never parsed back, never part of a guarantee."""
    exactly = show(number)
    if len(exactly) <= digits + 4 and "/" not in exactly:
        return exactly
    value = Fraction(number)
    if not value or abs(value.numerator.bit_length() - value.denominator.bit_length()) < 1000:
        return f"{float(value):.{digits}g}"
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.{digits - 1}e}"  # beyond what a float can hold


def about_up(number: int | Fraction) -> str:
    """A number >= 0 for people, exact where that is short, else rounded up to 6 digits: a loss never looks smaller."""
    exactly = show(number)
    return exactly if len(exactly) <= 14 else show(round_up(Fraction(number), 6))
