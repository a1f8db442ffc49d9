"""A sparse vector over rows: is this mean, or this count, at least so much? Paid by the few that are.

    question, threshold -> integers (``row_functions``) -> conversation (``mechanisms.sparse_vector``) -> Above | Below

What is asked may depend on every answer before it. The conversation was charged when it was started; this module holds
no ledger. ``docs/theory/sessions.md`` says how sure a comparison is, ``docs/proofs/sessions.md`` proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.entropy import Entropy
from reticent.mechanisms.geometric import laplace_radius
from reticent.mechanisms.sparse_vector import Conversation, Mark, SparseVector
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.sessions.row_functions import STEPS, GridRows, Question, apart, contributions

LEVEL: Final = 0.95
NORMAL: Final = 1.959963984540054  # the 97.5 % point


@dataclass(frozen=True, slots=True)
class RowCount:
    """Number of rows of a mean: public, or noisy and within ``radius`` of the truth at 95 %. At least 1."""

    count: int
    radius: int = 0


@dataclass(frozen=True, slots=True)
class Above:
    """The answer is at least the threshold, as far as the noise lets see; ``estimate`` where values are paid for."""

    estimate: Estimate | None

    def __str__(self) -> str:
        return "above" if self.estimate is None else f"above: {self.estimate!s}"


@dataclass(frozen=True, slots=True)
class Below:
    """The answer is less than the threshold, as far as the noise lets see. Any number of these costs nothing."""

    def __str__(self) -> str:
        return "below"


Found: TypeAlias = Above | Below


def reach(neighbours: Adjacency) -> Linf:
    """Sensitivity of the sum over rows of (contribution - reference), for any reference in [0, 1]."""
    return Linf(Fraction(STEPS * neighbours.rows), neighbours)


def mean_above(
    talk: Conversation,
    made: SparseVector,
    rows: GridRows,
    question: Question,
    at_least: int,
    size: RowCount,
    entropy: Entropy,
) -> Found:
    """Tell if the mean is at least ``at_least`` steps; the size serves to show the value, not to compare.

    Parameters
    ----------
    talk : Conversation
        The open sparse vector, with its threshold.
    made : SparseVector
        Its mechanism.
    rows : GridRows
        Private rows, as whole steps.
    question : Question
    at_least : int
        The threshold, in steps of 2^-20.
    size : RowCount
        The number of rows, public or noisy.
    entropy : Entropy

    Returns
    -------
    Above or Below
    """
    mark = talk.ask(apart(question, rows, at_least), entropy)
    return found(made, mark, at_least, size)


def count_above(
    talk: Conversation, made: SparseVector, rows: GridRows, question: Question, at_least: int, entropy: Entropy
) -> Found:
    """Tell if the contributions sum to at least ``at_least`` rows; under add/remove all such questions move together.

    The estimate is a number of rows of this table.

    Parameters
    ----------
    talk : Conversation
        The open sparse vector, with its threshold.
    made : SparseVector
        Its mechanism.
    rows : GridRows
        Private rows, as whole steps.
    question : Question
    at_least : int
        The threshold, in rows.
    entropy : Entropy

    Returns
    -------
    Above or Below
    """
    mark = talk.ask(int(contributions(question, rows).sum()) - at_least * STEPS, entropy)
    if not mark.above:
        return Below()
    if not made.values:
        return Above(None)
    value, noise = at_least + mark.value / STEPS, _radius(made) / STEPS
    return Above(Estimate(value, value - noise, value + noise, noise, 0.0))


def found(made: SparseVector, mark: Mark, reference: int, size: RowCount) -> Found:
    """A mark in words, with the mean where a value was released.

    Parameters
    ----------
    made : SparseVector
    mark : Mark
        The released comparison, with its value if any.
    reference : int
        The threshold, in steps of 2^-20.
    size : RowCount
        The number of rows, public or noisy.

    Returns
    -------
    Above or Below
    """
    if not mark.above:
        return Below()
    return Above(estimate(reference, mark.value, size, _radius(made)) if made.values else None)


def estimate(reference: int, moved: int, size: RowCount, radius: float) -> Estimate:
    """The mean whose distance from ``reference`` steps came out as ``moved``, noise at 95 % within ``radius``.

    The interval adds the half-widths of noise and of sampling. It covers at least as often as 95 % for a question fixed
    before the rows were drawn. After a choice by earlier answers the noise part alone is certain.

    Parameters
    ----------
    reference : int
        In steps of 2^-20.
    moved : int
        The released sum of distances from the reference, in steps.
    size : RowCount
        The number of rows, public or noisy.
    radius : float
        Half-width of the noise at 95 %, in steps of the sum.

    Returns
    -------
    Estimate
        A mean in [0, 1].
    """
    unit = STEPS * size.count
    value = reference / STEPS + moved / unit
    noise = radius / unit + abs(moved) / unit * size.radius / max(1, size.count - size.radius)
    share = min(max(value, 1 / (size.count + 1)), 1 - 1 / (size.count + 1)) if size.count > 1 else 0.5
    sampling = NORMAL * math.sqrt(share * (1 - share) / size.count)  # a mean of [0, 1] varies least like a coin
    half = noise + sampling
    return Estimate(value, value - half, value + half, noise, sampling)


def comparison_radius(made: SparseVector, questions: int, beta: float, rounds: int = 1) -> float:
    """But for probability ``beta``, all comparisons of all ``questions`` err by less, in steps of the sum.

    An answer further than this above its threshold is above, further below it is below: the threshold's noise (one for
    each of ``rounds``) and the questions' noise each stay within their radius but for half of ``beta``.

    Parameters
    ----------
    made : SparseVector
    questions : int
        Number of comparisons.
    beta : float
        In (0, 1).
    rounds : int
        Number of thresholds drawn.

    Returns
    -------
    float
        In steps of the sum.
    """
    threshold = laplace_radius(float(made.threshold_scale), beta / 2 / rounds)
    return threshold + laplace_radius(float(made.question_scale), beta / 2 / questions)


def _radius(made: SparseVector) -> int:
    return laplace_radius(float(made.value_scale), 1 - LEVEL)
