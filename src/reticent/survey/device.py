"""Respondent's side of a survey: the only place where a truth meets the mechanism.

``one`` and ``many`` take their coins from the entropy they are given; ``Design.randomize`` gives them the operating
system's. A truth that is not on the list is refused before a coin is tossed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, first_of
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_coins import coins
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.numbers import read, show
from reticent.survey.design_record import DesignRecord, Truth
from reticent.survey.tokens import token

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST: Final = 65_536  # tokens of a distribution
LISTED: Final = 20  # answers that a refusal repeats


def one(design: DesignRecord, truth: Truth, entropy: Entropy) -> str:
    """The token for one truth; see ``Design.randomize``.

    Parameters
    ----------
    design : DesignRecord
    truth : str, bool or number
        An answer that the design lists.
    entropy : Entropy

    Returns
    -------
    str
    """
    made = design.mechanism
    if isinstance(made, LocalMean):
        return token(design, made.sample(_in_cells(design, made, truth), entropy))
    at = _place(design, truth)
    if isinstance(made, RandomizedResponse | OneSided):
        return made.sample(design.among[at], entropy)
    return token(design, made.sample(at, entropy))


def check(design: DesignRecord, truth: Truth) -> None:
    """Refuse a truth that ``one`` would refuse, without a coin."""
    made = design.mechanism
    if isinstance(made, LocalMean):
        _in_cells(design, made, truth)
    else:
        _place(design, truth)


def many(design: DesignRecord, truths: Sequence[Truth] | NDArray[np.generic], entropy: Entropy) -> NDArray[np.generic]:
    """One randomized answer for each truth; see ``Design.randomize_many``.

    Parameters
    ----------
    design : DesignRecord
    truths : sequence, or array of shape (n,)
    entropy : Entropy

    Returns
    -------
    array of shape (n,)
        Tokens, in the order of the truths.
    """
    made = design.mechanism
    array = _vector(truths)
    if isinstance(made, LocalMean):
        return made.sample_many(_on_grid(design, made, array, entropy), entropy)
    at = _places(design, array)
    match made:
        case RandomizedResponse() | OneSided():
            labels = np.array(design.among)
            answer: NDArray[np.generic] = labels[_yes_no(made, at, entropy)]
            return answer
        case KAry():
            return np.array(design.among)[made.sample_many(at, entropy)]
        case Unary() | Subset() | Hadamard() | Hashing():
            return made.sample_many(at, entropy)
        case _:
            assert_never(made)


def _vector(truths: Sequence[Truth] | NDArray[np.generic]) -> NDArray[np.generic]:
    """Truths as they are: a list is not made into one kind, in which a missing answer would turn into a word."""
    kind = getattr(truths, "dtype", None)
    if isinstance(kind, np.dtype):
        array: NDArray[np.generic] = np.asarray(truths)
    else:
        listed = list(truths)
        whole = bool(listed) and all(type(truth) is int and abs(truth) < 1 << 63 for truth in listed)
        array = np.array(listed, np.int64) if whole else np.fromiter(listed, object, len(listed))
    if array.ndim != 1:
        raise PublicParameterError("truths are a vector")
    return array


def _yes_no(made: RandomizedResponse | OneSided, at: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    told = coins(made.truth, len(at), entropy)
    other = coins(made.yes if isinstance(made, RandomizedResponse) else Fraction(1), len(at), entropy)
    return np.where(told, at, np.where(other, 0, 1))


def _refused(design: DesignRecord, truth: object) -> PublicParameterError:
    return PublicParameterError(f"{truth!r} is not one of: {first_of(design.among, LISTED)}. It was not sent.")


def _place(design: DesignRecord, truth: object) -> int:
    if isinstance(truth, str) and truth in design.among:
        return design.among.index(truth)
    raise _refused(design, truth)


def _places(design: DesignRecord, array: NDArray[np.generic]) -> NDArray[np.int64]:
    """Places in ``among`` of labels, or of integers that are places already."""
    if array.dtype.kind in "iu":
        if any(label.lstrip("+-").isdigit() for label in design.among):
            raise PublicParameterError(
                "the answers are numbers themselves: give them as text, since an integer would be a place in the list. "
                "Nothing was sent."
            )
        places = array.astype(np.int64)
        wrong = (places < 0) | (places >= len(design.among))
        if wrong.any():
            raise _refused(design, array[int(np.flatnonzero(wrong)[0])].item())
        return places
    if array.dtype.kind == "O":
        listed = array.tolist()
        for truth in listed:
            if not isinstance(truth, str) or truth.endswith("\0"):  # which numpy would cut off
                raise _refused(design, truth)
        array = np.array(listed, dtype=str)
    if array.dtype.kind != "U" and len(array):
        raise _refused(design, array[0].item())
    labels = np.array(design.among)
    order = np.argsort(labels)
    at = order[np.minimum(np.searchsorted(labels, array, sorter=order), len(labels) - 1)]
    wrong = labels[at] != array
    if wrong.any():
        raise _refused(design, array[int(np.flatnonzero(wrong)[0])].item())
    return at.astype(np.int64)


def _in_cells(design: DesignRecord, made: LocalMean, truth: Truth) -> Fraction:
    """A number as an exact place in 0 .. cells."""
    low, high = _range(design)
    found = number(truth)
    if not low <= found <= high:
        raise PublicParameterError(f"{show(found)} is not between {show(low)} and {show(high)}. It was not sent.")
    return (found - low) / (high - low) * made.cells


def number(truth: object) -> Fraction:
    """A true number; of a float its shortest decimal text, however many digits it has.

    Raises
    ------
    PublicParameterError
        For what is no finite number.
    """
    plain = truth.item() if isinstance(truth, np.generic) else truth
    try:
        if isinstance(plain, float) and math.isfinite(plain):
            return Fraction(repr(plain))
        if isinstance(plain, int | str | Fraction | Decimal):
            return read(plain, "the answer")
    except PublicParameterError:
        pass
    raise PublicParameterError(f"{plain!r} is not a number. It was not sent.")


def _on_grid(design: DesignRecord, made: LocalMean, array: NDArray[np.generic], entropy: Entropy) -> NDArray[np.int64]:
    """Numbers as integers in 0 .. cells, rounded at random to a neighbour so that the expectation stays.

    The place of a float is rounded to a multiple of 2^-32 cells first (a shift below 1e-9 of a cell, of no account for
    privacy: any rounding is a map of the truth); the coin is then exact.
    """
    low, high = (float(bound) for bound in _range(design))
    plain = array.dtype.kind in "iuf"
    numbers = array.astype(np.float64) if plain else np.array([float(number(truth)) for truth in array], np.float64)
    wrong = ~((numbers >= low) & (numbers <= high))
    if wrong.any():
        found = numbers[int(np.flatnonzero(wrong)[0])].item()
        raise PublicParameterError(f"{found!r} is not between {low:g} and {high:g}. It was not sent.")
    fine = np.rint((numbers - low) / (high - low) * made.cells * 2.0**32).astype(np.int64)
    start, rest = fine >> 32, (fine & 0xFFFFFFFF).astype(np.uint64)
    up = (entropy.words(len(rest)) >> np.uint64(32)) < rest
    return start + up


def _range(design: DesignRecord) -> tuple[Fraction, Fraction]:
    if design.low is None or design.high is None:
        raise PublicParameterError("this design is not about a number")
    return design.low, design.high


def distribution(design: DesignRecord, truth: Truth) -> dict[str, Fraction]:
    """See ``Design.distribution``."""
    made = design.mechanism
    if isinstance(made, RandomizedResponse | OneSided):
        return made.distribution(design.among[_place(design, truth)])
    if isinstance(made, LocalMean):
        number = _in_cells(design, made, truth)
        return {str(place): made.mass(number, place) for place in range(made.places)}
    at, count = _place(design, truth), _tokens(made)
    if count > MOST:
        raise PublicParameterError(f"this design can say more than {MOST:,} things: use recipe()")
    masses = ((heard, made.mass(at, heard)) for heard in range(count))
    return {token(design, heard): mass for heard, mass in masses if mass}


def _tokens(made: KAry | Unary | Subset | Hadamard | Hashing) -> int:
    match made:
        case KAry():
            return made.size
        case Unary() | Subset():
            return 1 << made.size
        case Hadamard():
            return made.order
        case Hashing():
            return made.functions * made.values
        case _:
            assert_never(made)


def recipe(design: DesignRecord) -> dict[str, object]:
    """Recipe of a device's draw: steps of uniform integers and coins ``[numerator, denominator]``, as decimal text.

    ``answers``      with probability ``truth`` the truth, else "yes" with probability ``yes``, else "no"
    ``kary``         with probability ``keep`` the truth, else one of the others, evenly
    ``bits``         bit v is 1 with probability ``hit`` for the truth and ``miss`` for another
    ``subset``       the truth is in with probability ``keep``; the rest of ``chosen`` evenly among the others
    ``hadamard``     y even in 0 .. ``order`` - 1; if parity(y & (v + 1)) is not 0 with probability ``keep``, else 1,
                     y ^= lowest bit of v + 1
    ``hash``         function even in 0 .. ``functions`` - 1; h = sum of digit times digit of v in base ``values``, mod
                     ``values``; with probability ``keep`` h, else one of the other values, evenly
    ``window``       t = (x - low) / (high - low) ``cells``, rounded up with probability t - floor(t); with
                     probability ``keep`` t + even in 0 .. ``width`` - 1, else j even in 0 .. ``cells`` - 1, and
                     j + ``width`` if j >= t
    """
    made = design.mechanism
    match made:
        case RandomizedResponse():
            return {"kind": "answers", "truth": _pair(made.truth), "yes": _pair(made.yes)}
        case OneSided():
            return {"kind": "answers", "truth": _pair(made.truth), "yes": _pair(Fraction(1))}
        case KAry():
            return {"kind": "kary", "size": made.size, "keep": _pair(made.hit)}
        case Unary():
            return {"kind": "bits", "size": made.size, "hit": _pair(made.hit), "miss": _pair(made.miss)}
        case Subset():
            return {"kind": "subset", "size": made.size, "chosen": made.chosen, "keep": _pair(made.hit)}
        case Hadamard():
            return {"kind": "hadamard", "size": made.size, "order": made.order, "keep": _pair(made.hit)}
        case Hashing():
            return {
                "kind": "hash",
                "size": made.size,
                "values": made.values,
                "digits": made.digits,
                "functions": str(made.functions),
                "keep": _pair(made.hit),
            }
        case LocalMean():
            low, high = _range(design)
            return {
                "kind": "window",
                "cells": made.cells,
                "width": made.width,
                "keep": _pair(made.hit),
                "low": _pair(low),
                "high": _pair(high),
            }
        case _:
            assert_never(made)


def _pair(number: Fraction) -> list[str]:
    return [str(number.numerator), str(number.denominator)]
