"""Numbers that a guarantee rests on, read exactly, and probabilities as text, rounded towards the weaker promise.

At the surface a privacy parameter may be an int, decimal text, Fraction, Decimal, or a float read by its
shortest decimal text. Below the surface it is a ``Fraction`` and a float is an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, SupportsIndex, TypeAlias, TypeVar

from reticent import outcome
from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_down, round_up

A = TypeVar("A")
B = TypeVar("B")
Number: TypeAlias = int | str | Fraction | Decimal | float | SupportsIndex

MOST_DIGITS = 12
LONGEST_TEXT = 60
WIDEST_EXPONENT = 300  # beyond it a number is a slip, and arithmetic with it a way to stop a machine
RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def read(number: Number, name: str) -> Fraction:
    """The exact rational a caller meant.

    Raises
    ------
    PublicParameterError
        For a float of more than 12 digits (``0.1 + 0.2``), text that is no number, NaN, an infinity, a bool; for a
        ``delta`` below 0, or of 1 or more.
    """
    value = _read(number, name)
    if name == "delta" and not 0 <= value < 1:
        raise PublicParameterError(f"δ must be a probability, above 0 and below 1, such as 1e-9, got {about(value)}")
    return value


def _read(number: Number, name: str) -> Fraction:
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


def two_digits(number: int) -> int:
    """A whole number of which two digits are kept, for a guess."""
    unit: int = 10 ** max(len(str(number)) - 2, 0)
    return round(number / unit) * unit


def in_powers(text: str) -> str:
    """A number in words with a power of ten as people write it: ``1.2 × 10²⁶`` of ``1.2e+26``; another as it is."""
    mantissa, sign, power = text.partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(RAISED)}" if sign else text


def to_digits(value: float, digits: int = 6) -> str:
    """A released number in words, to so many digits: ``12.5``, ``9.53674 × 10⁻⁷``."""
    return in_powers(f"{value:.{digits}g}")


def rough(value: float, digits: int = 2) -> str:
    """A number of public words, to two digits or so many: ``0.0042``, ``100``, ``1,200``.

    Parameters
    ----------
    value : float
    digits : int
        Digits that are kept, of a fraction without zeros at its end.

    Returns
    -------
    str
    """
    if value == 0 or not math.isfinite(value):
        return outcome.number(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    text = outcome.number(value, places)
    if places < 0 and "e" not in text:
        text = f"{round(value, places):,.0f}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else in_powers(text)


def about_up(number: int | Fraction) -> str:
    """A number >= 0 for people, exact where that is short, else rounded up to 6 digits: a loss never looks smaller."""
    exactly = show(number)
    return exactly if len(exactly) <= 14 else show(round_up(Fraction(number), 6))


def percent(probability: float) -> str:
    """``23 %``; two significant digits below one percent, two places above ninety-nine."""
    share = 100 * probability
    if share > 99:
        return "100 %" if share > 99.99 else f"{share:.4g} %"
    return f"{share:.0f} %" if share >= 1 else f"{share:.2g} %"


def at_most(factor: float) -> str:
    """``2.72``: three digits, never below the factor (to nine digits, so that e^{ln 3} is 3)."""
    return "no limit" if factor == math.inf else to_digits(float(_outward(factor, round_up)), 3)


def percent_most(probability: float) -> str:
    """``23.2 %``: three digits, never too low."""
    share = 100 * probability
    return "100 %" if share > 99.99 else f"{float(_outward(share, round_up)):.4g} %"


def percent_least(probability: float) -> str:
    """``3.92 %``: three digits, never too high."""
    return f"{float(_outward(100 * probability, round_down)):.4g} %"


def _outward(number: float, rounded: Callable[[Fraction, int], Fraction]) -> Fraction:
    slack = Fraction(1, 10**9) if rounded is round_down else -Fraction(1, 10**9)
    return rounded(Fraction(number) * (1 + slack), 4 if 99 < number < 100 else 3)


def percent_up(probability: Fraction) -> str:
    """``14 %`` for 0.136: a share of errors or of those found, never stated too low."""
    share = 100 * probability
    if share > 99 and share < 100:
        return f"{float(round_up(share, 4)):g} %"
    return f"{math.ceil(share)} %" if share >= 1 or share == 0 else f"{float(round_up(share, 2)):g} %"


def one_in(probability: float) -> str:
    """``1 in 4.3``; a percentage where it is more likely than not."""
    if probability > 0.5:
        share = 100 * probability
        return (
            f"{share:.0f} %"
            if share <= 99
            else f"{math.floor(share * 100) / 100:g} %"
            if share < 99.99
            else "near certain"
        )
    return f"1 in {1 / probability:.2g}" if probability > 0.01 else f"1 in {round(1 / probability):,}"


def one_in_most(probability: float) -> str:
    """``1 in 4.3`` or ``69.1 %``: never a smaller chance."""
    if probability > 0.5:
        return "near certain" if probability > 0.9999 else percent_most(probability)
    return f"1 in {_once(1 / probability * (1 + 1e-9), round_down)}"


def one_in_least(probability: float) -> str:
    """``1 in 26``: never a larger chance."""
    if probability <= 0:
        return "never"
    return percent_least(probability) if probability > 0.5 else f"1 in {_once(1 / probability * (1 - 1e-9), round_up)}"


def _once(times: float, rounded: Callable[[Fraction, int], Fraction]) -> str:
    whole = float(rounded(Fraction(times), 2 if times < 100 else 3))
    return f"{whole:g}" if whole < 1000 else f"{whole:,.0f}"


def chance(delta: Fraction) -> str:
    """``1 in a billion``, ``1 in 90 million``, ``1 in 7``: two digits, never a smaller chance than it is."""
    once = 1 / delta
    if once >= 10**15:
        return f"1 in 10^{len(str(once.__floor__())) - 1}"
    for power, name in ((12, "trillion"), (9, "billion"), (6, "million"), (3, "thousand")):
        size = 10**power
        if once == size:
            return f"1 in a {name}"
        if once >= size:
            few = round_down(once / size, 2)
            return f"1 in {int(few * size):,}" if power == 3 else f"1 in {about(few)} {name}"
    return f"1 in {about(round_down(once, 2))}"
