"""Mechanisms and samplers with one mistake each, which exact verification must refute, and a few helpers to say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.exact import sampling
from reticent.exact.alias_tables import AliasTable
from reticent.outcome import NO_REPLY
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.moments.moment_step import MomentStep


def geometric(scale: Fraction) -> Callable[[int, Entropy], object]:
    """One integer plus noise of this scale."""
    return lambda exact, entropy: exact + sampling.one_discrete_laplace(scale, entropy)


def exponential(rate: Fraction) -> Callable[[Sequence[int], Entropy], object]:
    return lambda scores, entropy: sampling.categorical_scores(
        np.array(scores, np.int64), [1] * len(scores), rate, entropy
    )


def flips(rate: Fraction) -> Callable[[Sequence[int], Entropy], object]:
    return lambda scores, entropy: sampling.permute_and_flip(list(scores), rate, entropy)


def one_sided(truth: str, entropy: Entropy) -> object:
    """Tails: the truth; heads: always yes. Whoever hears no knows."""
    return truth if sampling.bernoulli(Fraction(1, 2), entropy) else "yes"


def shown_above(limit: int, scale: Fraction) -> Callable[[int, Entropy], object]:
    """A key that one person has, with its noisy count, if that is above the limit; other keys are not looked at."""

    def program(persons: int, entropy: Entropy) -> object:
        noisy = persons + sampling.one_discrete_laplace(scale, entropy) if persons else limit
        return noisy if noisy > limit else None

    return program


def shown_from(limit: int, scale: Fraction) -> Callable[[int, Entropy], object]:
    """The same with >= for >."""

    def program(persons: int, entropy: Entropy) -> object:
        noisy = persons + sampling.one_discrete_laplace(scale, entropy) if persons else limit - 1
        return noisy if noisy >= limit else None

    return program


def fails_when_empty(exact: int, entropy: Entropy) -> object:
    noisy = exact + sampling.one_discrete_laplace(1, entropy)
    return noisy / max(exact, 0) if exact else 1 // exact


def sign_of_zero(exact: int, entropy: Entropy) -> object:
    """Equal numbers, different bits."""
    sampling.one_discrete_laplace(1, entropy)
    return 0.0 if exact else -0.0


@dataclass(frozen=True, slots=True)
class Peeking(MomentStep):
    """A mean that gives no reply where there are too few values: as they are, not as they were released."""

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (result,) = results
        told = MomentStep.answer(self, results, entropy)
        if result.vectors[0][0] < 2:
            return Answer(told.name, tuple(Cell(cell.label, NO_REPLY) for cell in told.cells), told.caveats)
        return told


# --- samplers --------------------------------------------------------------------------------------------------------


def moved(table: AliasTable, column: int, words: int) -> AliasTable:
    """The table with one threshold moved by a few words."""
    thresholds = table.thresholds.copy()
    thresholds[column] = int(thresholds[column]) + words
    return replace(table, thresholds=thresholds)


def by_remainder(bound: int, entropy: Entropy) -> int:
    """The classical bias: a word modulo the bound."""
    return entropy.bits(8) % bound


def by_float(p: float, entropy: Entropy) -> int:
    """A coin tossed with a float of 53 bits."""
    return int(entropy.bits(53) * 2.0**-53 < p)


def first_of_equals(scores: Sequence[int], rate: Fraction, entropy: Entropy) -> int:
    """Permute-and-flip whose ties of keys go to the first candidate."""
    flipped = [sampling.bernoulli_exp(rate * (score - min(scores)), entropy) for score in scores]
    keys = np.where(flipped, entropy.words(len(scores)), np.uint64(2**64 - 1))
    keys = np.where(flipped, entropy.words(len(scores)), keys)  # so that they are the second words asked for
    return int(np.flatnonzero((keys == keys.min()) & np.array(flipped))[0])
