"""What every statistic is prepared from, and what preparing gives: all of it public, no row read.

    asked (Statistic) --prepare(setting, epsilon)--> Step --run queries--> integers --answer(entropy)--> Answer

A ``Step`` has its guarantee before any row is read. ``answer`` turns exact integers into noisy ones by the step's
mechanisms and everything after that is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from reticent.data.query import Keys, Query
from reticent.data.schema import Schema
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Answer


@dataclass(frozen=True, slots=True)
class Setting:
    """The public circumstances of a question.

    Attributes
    ----------
    schema : Schema
    units : int or None
        The public number of persons: read under substitution, declared as ``people`` otherwise, else None.
    size_public : bool
        Whether ``units`` is exact (substitution) and may stand for the number of rows where each person has one.
    keys : Keys or None
        Public groups, if the question is asked by group.
    delta : Fraction or None
        The delta that this question may spend; None where none is offered, or none is needed.
    """

    schema: Schema
    units: int | None
    keys: Keys | None = None
    delta: Fraction | None = None

    @property
    def neighbours(self) -> Adjacency:
        return self.schema.person.neighbours()

    @property
    def size_public(self) -> bool:
        return self.neighbours.size_public and self.units is not None


@dataclass(frozen=True, slots=True)
class Expected:
    """What a plan shows: half-widths at 95 % for an assumed shape and public n, and words; never from the file.

    ``reply`` is the probability of a reply for that shape, where it is below 1 by design of the method.
    """

    noise: float | None
    sampling: float | None
    note: str = ""
    reply: float | None = None


class Step(Protocol):
    """A prepared question."""

    @property
    def name(self) -> str: ...

    @property
    def estimand(self) -> str:
        """The quantity that the answer estimates, in words, from public facts."""
        ...

    @property
    def queries(self) -> tuple[Query, ...]: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer: ...

    def expected(self, people: int) -> Expected: ...
