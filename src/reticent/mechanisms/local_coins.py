"""Exact coins of the mechanisms of the local model, for many respondents at once, with a rational e^epsilon.

A probability is a Fraction everywhere. ``ratio_below`` replaces e^epsilon by a rational of 12 digits at or below it.
The loss stated is the logarithm of the ratio used, rounded up: it never passes the epsilon asked for.

Many at once. ``drawn`` reads an alias table of words whose rare undecided words go on with more digits of the same
rationals (``exact.alias_tables``). ``coins`` compares a byte with the first digit of the chance in base 256. An equal
byte decides nothing; the next byte is compared with the next digit. A uniform number lies below the chance exactly if
its first digit that differs does. Both laws are therefore exact (Knuth and Yao 1976; docs/proofs/sampling.md). The
``orders`` of a row are the ranks of words without a tie: a row with one is drawn again, which treats all places alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact import alias_tables
from reticent.exact.rounding import exp_down, log_up, round_down, round_up
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show

LOCAL: Final = Adjacency("local")
WIDEST: Final = 100  # an epsilon beyond it hides nothing, and its ratio is a long number
COINS: Final = 1 << 22  # at a time
COLUMNS: Final = 1 << 20


def ratio_below(epsilon: Fraction) -> Fraction:
    """A decimal of 12 digits at or below e^epsilon, and above 1.

    Raises
    ------
    PublicParameterError
        Unless 0 < ``epsilon`` <= 100, and where 12 digits cannot tell e^epsilon from 1.
    """
    if positive(epsilon, "epsilon") > WIDEST:
        raise PublicParameterError(f"epsilon must be at most {WIDEST}, got {show(epsilon)}")
    ratio = round_down(exp_down(epsilon))
    if ratio <= 1:
        raise PublicParameterError(f"epsilon must be at least 1e-10, got {show(epsilon)}")
    return ratio


def loss_of(ratio: Fraction) -> PureDP:
    """The loss of a mechanism whose largest ratio of probabilities is ``ratio``: ln ``ratio``, rounded up."""
    return PureDP(round_up(log_up(ratio)))


def whole(number: int, name: str, least: int, most: int) -> int:
    """``number`` if it is an int in ``least`` .. ``most``.

    Parameters
    ----------
    number : int
    name : str
        For the message.
    least, most : int
        Ends of the range, both included.

    Returns
    -------
    int

    Raises
    ------
    PublicParameterError
        For any other number.
    """
    if type(number) is not int or not least <= number <= most:
        raise PublicParameterError(f"{name} must be an int in {least}..{most}, got {number}")
    return number


def place(truth: int, size: int) -> int:
    """``truth`` if it is the number of one of ``size`` answers; the message does not repeat it."""
    if type(truth) is not int or not 0 <= truth < size:
        raise PublicParameterError(f"a truth is an int in 0..{size - 1}: nothing was sent")
    return truth


def places(truths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """``truths`` if all of them are numbers of answers."""
    if truths.dtype != np.int64 or truths.ndim != 1:
        raise PublicParameterError("truths are a vector of int64")
    if len(truths) and (int(truths.min()) < 0 or int(truths.max()) >= size):
        raise PublicParameterError(f"truths are ints in 0..{size - 1}: nothing was sent")
    return truths


@dataclass(frozen=True, slots=True)
class Peak:
    """A law on 0 .. ``size`` - 1: 0 with probability ``first`` in (0, 1], all others alike."""

    size: int
    first: Fraction

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 < self.first <= 1 or (self.size == 1) != (self.first == 1):
            raise PublicParameterError("probabilities are above 0 and add up to 1")

    def floors(self, bits: int) -> list[int]:
        head = (self.first.numerator << bits) // self.first.denominator
        if self.size == 1:
            return [head]
        other = (1 - self.first) / (self.size - 1)
        return [head] + [(other.numerator << bits) // other.denominator] * (self.size - 1)

    def value(self, symbol: int) -> int:
        return symbol


@lru_cache(maxsize=16)
def _table(law: Peak) -> alias_tables.AliasTable:
    return alias_tables.build(law, 64, COLUMNS)


def drawn(law: Peak, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """``size`` independent draws.

    Parameters
    ----------
    law : Peak
    size : int
    entropy : Entropy

    Returns
    -------
    array of shape (size,), int
    """
    out = np.zeros(size, np.int64)
    if law.size == 1:
        return out
    table = _table(law)
    scratch = alias_tables.scratch(min(size, alias_tables.CHUNK))
    for start in range(0, size, alias_tables.CHUNK):
        table.draw(entropy, out[start : start + alias_tables.CHUNK], scratch)
    return out


def even(bound: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """``size`` independent integers, uniform on [0, ``bound``).

    Parameters
    ----------
    bound, size : int
    entropy : Entropy

    Returns
    -------
    array of shape (size,), int
    """
    if bound & (bound - 1) == 0:
        kept = 64 - (bound.bit_length() - 1)
        if kept == 64:
            return np.zeros(size, np.int64)
        return (entropy.words(size) >> np.uint64(kept)).astype(np.int64)
    return drawn(Peak(bound, Fraction(1, bound)), size, entropy)


def coins(chance: Fraction, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """``size`` independent coins that are True with probability ``chance`` in [0, 1].

    Parameters
    ----------
    chance : Fraction
        In [0, 1].
    size : int
    entropy : Entropy

    Returns
    -------
    array of shape (size,), bool
    """
    out = np.empty(size, np.bool_)
    for start in range(0, size, COINS):
        part = out[start : start + COINS]
        part[:] = _coins(chance, len(part), entropy)
    return out


def _coins(chance: Fraction, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    if chance.denominator == 1:
        return np.full(size, chance == 1)
    scaled = 256 * chance
    digit = scaled.__floor__()
    drawn_bytes = entropy.words((size + 7) >> 3).view(np.uint8)[:size]
    out: NDArray[np.bool_] = drawn_bytes < digit
    undecided = np.flatnonzero(drawn_bytes == digit)
    if len(undecided):
        out[undecided] = _coins(scaled - digit, len(undecided), entropy)
    return out


def orders(rows: int, columns: int, entropy: Entropy) -> NDArray[np.int64]:
    """``rows`` independent uniformly random orders of 0 .. ``columns`` - 1, as an array of shape (rows, columns).

    Parameters
    ----------
    rows, columns : int
    entropy : Entropy

    Returns
    -------
    array of shape (rows, columns), int
    """
    keys = entropy.words(rows * columns).reshape(rows, columns)
    order = np.argsort(keys, axis=1)
    ranked = np.take_along_axis(keys, order, axis=1)
    tied = np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1))
    if len(tied):
        order[tied] = orders(len(tied), columns, entropy)
    return order
