"""Tokens: how what a mechanism says is written down, and read again without guessing.

yes-no, k-ary       the label of the answer
unary, subset       one 0 or 1 for each answer, in order
hadamard, number    the integer
hashing             function:value
"""

from __future__ import annotations

from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.survey.design_record import YES_NO, DesignRecord


def token(design: DesignRecord, heard: int) -> str:
    """Token to send for the number that a mechanism drew; of yes and no the number is the place in ``among``."""
    made = design.mechanism
    match made:
        case RandomizedResponse() | OneSided() | KAry():
            return design.among[heard]
        case Unary() | Subset():
            return "".join("1" if heard >> place & 1 else "0" for place in range(made.size))
        case Hadamard() | LocalMean():
            return str(heard)
        case Hashing():
            return f"{heard // made.values}:{heard % made.values}"


def heard(design: DesignRecord, text: str) -> int | None:
    """The number behind a token, None for a text the design cannot say."""
    made = design.mechanism
    match made:
        case RandomizedResponse() | OneSided() | KAry():
            return design.among.index(text) if text in design.among else None
        case Unary() | Subset():
            if len(text) != made.size or text.strip("01"):
                return None
            found = int(text[::-1], 2)
            return None if isinstance(made, Subset) and found.bit_count() != made.chosen else found
        case Hadamard():
            return _below(text, made.order)
        case LocalMean():
            return _below(text, made.places)
        case Hashing():
            function, _, value = text.partition(":")
            first, second = _below(function, made.functions), _below(value, made.values)
            return None if first is None or second is None else first * made.values + second


def _below(text: str, bound: int) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or str(int(text)) != text:
        return None
    return int(text) if int(text) < bound else None


def truth_place(design: DesignRecord, label: object) -> int | None:
    """The place of a true answer in ``among``; None where it is not on the list."""
    return design.among.index(label) if isinstance(label, str) and label in design.among else None


__all__ = ["YES_NO", "heard", "token", "truth_place"]
