"""A design: one question, the answers it allows, and the mechanism each respondent's answer goes through.

    make (two_coins, choice, mean, ...) --> Design --> device (randomize) --> tokens --> tally --> estimate --> Result
                                               '-----> store (save, read)

What travels is a *token*, a short text: the label of an answer, a word of 0 and 1, a number, or ``function:value``.
The truth of one respondent meets the mechanism in ``device`` and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from reticent.entropy import system
from reticent.errors import PublicParameterError
from reticent.mechanisms import Hadamard, Hashing, KAry, LocalMean, OneSided, RandomizedResponse, Subset, Unary
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, show
from reticent.survey import variance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reticent.survey.result import Result

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
class Design:
    """One question asked through coins. Make one with ``survey.two_coins`` and its sisters, or ``survey.read``.

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
        """What one randomized answer tells about its truth."""
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

    def distribution(self, truth: Truth) -> dict[str, Fraction]:
        """The probability of each token, given the truth; for at most 65,536 tokens."""
        from reticent.survey import device

        return device.distribution(self, truth)

    def recipe(self) -> dict[str, object]:
        """What a device needs to draw by itself, in integers that JSON holds as text; see docs/theory/local.md."""
        from reticent.survey import device

        return device.recipe(self)

    def say(self) -> str:
        """The coins in plain words, for respondents and for a report."""
        from reticent.survey import words

        return words.say(self)

    def randomize(self, truth: Truth) -> str:
        """The token to send for one truth, with the operating system's coins.

        Raises
        ------
        PublicParameterError
            For a truth that is not on the list or not in the range; nothing is drawn, nothing is sent.
        """
        from reticent.survey import device

        return device.one(self, truth, system())

    def randomize_many(self, truths: Sequence[Truth] | NDArray[np.generic]) -> NDArray[np.generic]:
        """One randomized answer for each truth, with the operating system's coins.

        Parameters
        ----------
        truths : array or sequence of shape (n,)
            Labels; or, as integers where the labels are none, places in ``among``; or numbers in the range.

        Returns
        -------
        array
            Labels for yes-no and k-ary designs; 0 and 1 of shape (n, k) for unary and subset; integers else. What
            ``estimate`` takes.
        """
        from reticent.survey import device

        return device.many(self, truths, system())

    def design_effect(self, share: float | None = None) -> float:
        """Variance of the estimate over that of asking directly, for a true share; of a number, for its spread.

        Parameters
        ----------
        share : float
            In (0, 1), the share of an answer. For a number: the standard deviation of the truths, in its units.
        """
        return variance.design_effect(self, share)

    def people_for(self, margin: float, *, share: float | None = None, level: float = 0.95) -> int:
        """How many answers make the half-width ``margin``; at the worst share, unless ``share`` is named.

        Parameters
        ----------
        margin : float
            Half-width of the interval: a share such as 0.02, or the units of a number.
        """
        return variance.people_for(self, margin, share=share, level=level)

    def estimate(
        self,
        answers: Sequence[object] | Mapping[str, int] | NDArray[np.generic],
        *,
        groups: Mapping[str, Sequence[object]] | None = None,
        interval: Literal["wilson", "exact"] = "wilson",
        level: float = 0.95,
    ) -> Result:
        """The population share of each answer, or the mean, from randomized answers.

        Parameters
        ----------
        answers : sequence of tokens, array of ``randomize_many``, or mapping of tokens to counts
            None and empty text are counted as no answer; what the design cannot say is counted and left out.
        groups : mapping of name to one value per answer
            For ``Result.by``.
        interval : str
            "wilson", or "exact": at least ``level`` for every share and size.
        """
        from reticent.survey import estimate

        return estimate.of_answers(self, answers, groups=groups or {}, interval=interval, level=level)

    def estimate_table(
        self,
        path: str | Path,
        column: str,
        *,
        table: str | None = None,
        groups: Sequence[str] = (),
        respondent: str | None = None,
        code: str | None = None,
        interval: Literal["wilson", "exact"] = "wilson",
        level: float = 0.95,
    ) -> Result:
        """The same from a column of a CSV, Parquet or DuckDB file, counted in the engine.

        Parameters
        ----------
        path : path
            ``*.csv``, ``*.parquet`` or ``*.duckdb`` (then name the ``table``).
        respondent : str
            The column that says who answered: somebody who answered twice is refused.
        code : str
            The column that holds ``Design.code``: answers to another design are refused.
        """
        from reticent.survey import estimate

        return estimate.of_table(
            self,
            Path(path),
            column,
            table=table,
            groups=tuple(groups),
            respondent=respondent,
            code=code,
            interval=interval,
            level=level,
        )

    def shuffled(self, people: int, delta: Number, *, shuffler: str) -> Guarantee:
        """The central guarantee when only the counts of ``people`` answers are seen, and a shuffler is trusted.

        Raises
        ------
        PublicParameterError
            Where a condition of the theorem fails (docs/theory/amplification.md).
        """
        from reticent.survey import shuffle

        return shuffle.guarantee(self, people, delta, shuffler)

    def at(self, epsilon: Number) -> Design:
        """The same question and method at another epsilon."""
        from reticent.survey import make

        return make.at(self, epsilon)

    def form(
        self, path: str | Path, post: str | None = None, *, ask: Mapping[str, Sequence[str]] | None = None
    ) -> Path:
        """Write a page that asks the question and draws in the browser: ``reticent.survey.form``."""
        from reticent.survey import form

        return form.form(self, path, post, ask=ask)

    def cards(self, path: str | Path) -> Path:
        """Write a card with a spinner, for asking without a device: ``reticent.survey.cards``."""
        from reticent.survey import cards

        return cards.cards(self, path)

    def save(self, path: str | Path) -> Path:
        """Write the design to a new ``*.survey.toml`` file, with its fingerprint."""
        from reticent.survey import store

        return store.save(self, Path(path))

    def __str__(self) -> str:
        return f"{self.question}\n{self.say()}"


def check_among(among: tuple[str, ...]) -> None:
    """Refuse answers that cannot be told apart in a file."""
    if among and len(among) < 2:
        raise PublicParameterError("name at least two answers")
    for label in among:
        if not isinstance(label, str) or not label.isprintable() or label != label.strip() or not label:
            raise PublicParameterError(f"an answer is printable text without blanks at its ends, got {label!r}")
    if len(set(among)) != len(among):
        raise PublicParameterError("every answer is named once")


def settings(design: Design) -> dict[str, str]:
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


def canonical(design: Design) -> str:
    """One text for one design: what the fingerprint is of."""
    fields = {
        "among": list(design.among),
        "format": FORMAT,
        "method": design.method,
        "question": design.question,
        "settings": design.settings,
    }
    return json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def chances(design: Design) -> tuple[Fraction, Fraction]:
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
