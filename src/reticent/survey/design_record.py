"""The value of a design: one question, the answers it allows, and the mechanism each respondent's answer goes through.

Every other file of this folder takes this value and imports this file; this file imports none of them. ``design`` adds
the methods that people call, and ``designs`` makes designs:

    designs (two_coins, choice, ...) --> Design --> device (randomize) --> tokens --> tally --> estimate --> Result
                                            '-----> design_file (save, read)

A *token* is the short text that travels: the label of an answer, a word of 0 and 1, a number, or ``function:value``.
The truth of one respondent meets the mechanism in ``device`` and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, show

Mechanism: TypeAlias = RandomizedResponse | OneSided | KAry | Unary | Subset | Hadamard | Hashing | LocalMean
Frequency: TypeAlias = KAry | Unary | Subset | Hadamard | Hashing
Truth: TypeAlias = Number
Method: TypeAlias = Literal[
    "two_coins",
    "forced",
    "warner",
    "unrelated",
    "one_sided",
    "kary",
    "unary",
    "optimised_unary",
    "subset",
    "hadamard",
    "hashing",
    "duchi",
    "piecewise",
]
FORMAT: Final = 1
LONGEST: Final = 2000  # characters of a question
YES_NO: Final = ("yes", "no")


@dataclass(frozen=True, slots=True)
class DesignRecord:
    """Fields and checks of one question asked through coins; ``survey.Design`` has its methods.

    Attributes
    ----------
    question : str
    method : str
        How the coins are worded: ``two_coins``, ``warner``, ``kary`` and so on.
    among : tuple of str
        The answers allowed, in order; ("yes", "no") for a yes-no question, empty for a number.
    mechanism : Mechanism
        One of ``reticent.mechanisms``, every probability a Fraction.
    low, high : Fraction or None
        The range of a number.

    Guarantee
    ---------
    That of ``mechanism``: any answer of one respondent against any other, in the local model. No ledger is charged:
    what the survey team holds is randomized already, and any number of analyses of it costs nothing more.
    """

    question: str
    method: Method
    among: tuple[str, ...]
    mechanism: Mechanism
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.question.strip() or len(self.question) > LONGEST or not self.question.isprintable():
            raise PublicParameterError(f"a question has 1 to {LONGEST} printable characters")
        check_among(self.among)
        if (self.low is None) != (self.high is None) or (self.low is None) != bool(self.among):
            raise PublicParameterError("a design has answers to choose among, or low and high")

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of one randomized answer, for its truth."""
        return self.mechanism.guarantee

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon, exactly; None for the one-sided form, which has none."""
        return None if isinstance(self.mechanism, OneSided) else self.mechanism.ratio

    @property
    def settings(self) -> dict[str, str]:
        """The public numbers of the mechanism, as exact text."""
        return settings(self)

    @property
    def fingerprint(self) -> str:
        """sha256 of everything that defines the design, in hexadecimal."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()

    @property
    def code(self) -> str:
        """The first 12 places of ``fingerprint``, to travel with each answer."""
        return self.fingerprint[:12]


def check_among(among: tuple[str, ...]) -> None:
    """Refuse answers that cannot be told apart in a file."""
    if among and len(among) < 2:
        raise PublicParameterError("name at least two answers")
    for label in among:
        if not isinstance(label, str) or not label.isprintable() or label != label.strip() or not label:
            raise PublicParameterError(f"an answer is printable text without blanks at its ends, got {label!r}")
    if len(set(among)) != len(among):
        raise PublicParameterError("every answer is named once")


def settings(design: DesignRecord) -> dict[str, str]:
    """The numbers that, with question, method and answers, define a design."""
    made = design.mechanism
    found: dict[str, str]
    match made:
        case RandomizedResponse():
            found = {"truth": show(made.truth), "yes": show(made.yes)}
        case OneSided():
            found = {"truth": show(made.truth)}
        case KAry() | Unary() | Hadamard():
            found = {"epsilon": show(made.epsilon)}
        case Subset():
            found = {"epsilon": show(made.epsilon), "chosen": str(made.chosen)}
        case Hashing():
            found = {"epsilon": show(made.epsilon), "values": str(made.values)}
        case LocalMean():
            found = {"epsilon": show(made.epsilon), "cells": str(made.cells), "width": str(made.width)}
        case _:
            assert_never(made)
    if design.low is not None and design.high is not None:
        found |= {"low": show(design.low), "high": show(design.high)}
    return found


def canonical(design: DesignRecord) -> str:
    """One text for one design: what the fingerprint is of."""
    fields = {
        "among": list(design.among),
        "format": FORMAT,
        "method": design.method,
        "question": design.question,
        "settings": design.settings,
    }
    return json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def chances(design: DesignRecord) -> tuple[Fraction, Fraction]:
    """P(an answer is supported | true), P(it is | another is true): of yes for yes-no designs."""
    made = design.mechanism
    match made:
        case RandomizedResponse() | OneSided():
            return made.distribution("yes")["yes"], made.distribution("no")["yes"]
        case KAry() | Unary() | Subset() | Hadamard() | Hashing():
            return made.hit, made.miss
        case LocalMean():
            raise PublicParameterError("a design for a number has no answers to choose among")
        case _:
            assert_never(made)


def whole_up(number: float) -> int:
    """The least integer at or above ``number``, but for a last digit."""
    return math.ceil(number * (1 - 1e-12))
