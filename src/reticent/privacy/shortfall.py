"""Words for a charge that a budget does not cover: what it needs, what is left, and what would fit.

Every number here is public: a budget, what was spent and what was asked. Advice is rounded down so that it fits.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Final

from reticent.privacy.filters import currency, enter, left, parts
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, words
from reticent.privacy.numbers import about_up, show

_WIDER: Final = (
    (Fraction(11, 10), "a tenth wider"),
    (Fraction(6, 5), "a fifth wider"),
    (Fraction(5, 4), "a quarter wider"),
    (Fraction(4, 3), "a third wider"),
    (Fraction(3, 2), "half as wide again"),
    (Fraction(7, 4), "three quarters wider"),
    (Fraction(2), "twice as wide"),
    (Fraction(5, 2), "two and a half times as wide"),
    (Fraction(3), "three times as wide"),
)


def too_little(charge: Loss, budget: Loss, spent: Loss) -> str:
    """Why ``charge`` does not fit, and the largest one of its shape that would.

    Parameters
    ----------
    charge : Loss
        The loss that is asked for.
    budget, spent : Loss
        The loss that is allowed in all, and its part that is spent, in the budget's currency.

    Returns
    -------
    str
        Words of public numbers alone. What would fit is rounded down.
    """
    price, rest, limit = enter(charge, budget), left(budget, spent), budget
    (asked, asked_delta), (free, free_delta), (top, top_delta) = parts(price), parts(rest), parts(limit)
    kind = currency(budget)
    symbol = "ρ" if kind == "zcdp" else "ε"
    said = [f"This needs {_needs(charge, price)}; {_some(free)} of {_some(top)} is left."]
    if asked_delta > top_delta == 0:
        said = [f"This budget has no δ; {words(charge)} needs {_some(asked_delta)} of it."]
    elif asked <= free:
        said = [f"This needs δ {_some(asked_delta)}; {_some(free_delta)} of {_some(top_delta)} is left."]
    elif asked_delta > free_delta:
        said = [
            f"This needs {words(price)}; {symbol} {_some(free)} of {_some(top)} and "
            f"δ {_some(free_delta)} of {_some(top_delta)} are left."
        ]
    said.append("Nothing was charged.")
    if asked > free > 0 and asked_delta <= free_delta:
        said.append(_smaller(charge, price, free))
    elif asked <= free and free_delta > 0:
        said.append(f'With delta="{_at_most(free_delta)}" it would fit.')
    return " ".join(said)


def widening(ratio: Fraction) -> str:
    """``a quarter wider``, ``twice as wide``: how a noise wider by ``ratio`` > 1 is said; ``about`` beyond 2 %."""
    if ratio < Fraction(21, 20):
        return "hardly wider"
    if ratio >= 100:
        return "more than a hundred times as wide"
    nearest, phrase = min(_WIDER, key=lambda item: abs(item[0] - ratio))
    if ratio > 3:
        nearest = Fraction(round(ratio))
        phrase = f"{nearest} times as wide" if nearest != 3 else "three times as wide"
    return phrase if abs(nearest - ratio) <= ratio / 50 else f"about {phrase}"


def _needs(charge: Loss, price: Loss) -> str:
    match charge:
        case PureDP() | ApproxDP() if price != charge and isinstance(price, ZCDP | ApproxZCDP):
            return f"{words(price)}, which is ε {about_up(charge.epsilon)} squared and halved"
        case GaussianDP():
            return f"{words(price)}, which is {words(charge)} squared and halved"
        case ApproxDP(epsilon, _):
            return f"ε {show(epsilon)}"
        case _:
            return words(charge)


def _smaller(charge: Loss, price: Loss, free: Fraction) -> str:
    """The option to name, and what it does to the noise: as 1/epsilon, or as one over the root of rho."""
    asked, _ = parts(price)
    match charge, price:
        case ((ZCDP() | ApproxZCDP()), _):
            option, ratio = f'rho="{_at_most(free)}"', _root(asked / free)
        case ((PureDP(epsilon) | ApproxDP(epsilon)), (ZCDP() | ApproxZCDP())):
            fits = _root(2 * free)
            option, ratio = f'epsilon="{_at_most(fits)}"', epsilon / fits if fits else Fraction(0)
        case GaussianDP(), _:
            return f"A μ of {_at_most(_root(2 * free))} would fit."
        case _:
            option, ratio = f'epsilon="{_at_most(free)}"', asked / free
    return f"With {option} the noise would be {widening(ratio)}." if ratio else ""


def _root(number: Fraction) -> Fraction:
    """A square root rounded down to six places."""
    return Fraction(isqrt(number.numerator * 10**12 // number.denominator), 10**6)


def _some(number: Fraction) -> str:
    """Exact where that is short, else rounded down: what is left must not read as more than it is."""
    text = show(number)
    return text if len(text) <= 8 and "/" not in text else _at_most(number)


def _at_most(number: Fraction) -> str:
    """Decimal text of at most four digits, never above ``number``."""
    if number <= 0:
        return "0"
    places = 3
    while number * 10**places >= 10**4:
        places -= 1
    while number * 10**places < 10**3:
        places += 1
    scale = Fraction(10) ** places
    return show(Fraction(number * scale // 1) / scale)
