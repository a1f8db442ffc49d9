"""A leaderboard on private rows: a submission is told its score only where it beats the best by a step.

Statement. A submission is a question whose mean over the private rows is its score, in [0, 1]. Let best be the best
score shown so far (public). A submission is "better" if its noisy sum exceeds best + step. Only then is a noisy score
shown, and it becomes the best. A board with at most c improvements costs epsilon, however many submissions are made.

Proof. Best and step are public when a submission is made: they are made of what was shown. S, the sum over rows of
(contribution - best), moves by at most D = STEPS for one row each (``row_functions``), and so does S - step n, n public
or bought. The board is a numeric sparse vector with c answers above: ``mechanisms.sparse_vector``. ∎

Accuracy. But for probability beta over k submissions, with r the radius of a comparison and v that of a value: every
submission better than the best by step + r / n is shown, and none worse than the best by more than r / n - step. A
score shown is off by at most v / n. So the best shown is within step + (r + v) / n of the best true score among the
submissions, while improvements last.

Source. Blum and Hardt 2015, "The Ladder: a reliable leaderboard for machine learning competitions", Algorithm 1.

Deviations. Theirs has no noise: whether a submission beats the best by a step is an exact bit about the rows, so two
neighbours are told apart with certainty (``tests/assurance``). Its guarantee is about overfitting, not privacy.
Rounding a score to the step, as theirs does, would be processing of what is shown here, and is left to the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.entropy import Entropy
from reticent.mechanisms.geometric import laplace_radius
from reticent.mechanisms.sparse_vector import Conversation, SparseVector, split
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency
from reticent.sessions.above_threshold import LEVEL, RowCount, estimate, reach
from reticent.sessions.row_functions import STEPS, GridRows, Question, apart


@dataclass(frozen=True, slots=True)
class Standing:
    """Answer to a submission.

    Attributes
    ----------
    improved : bool
        Whether it beat the best by a step, as far as the noise lets see.
    best : float
        The best score shown so far, this one's where it improved; a submission that did not improve learns no more.
    estimate : Estimate or None
        The score of a submission that improved, with its interval.
    """

    improved: bool
    best: float
    estimate: Estimate | None = None

    def __str__(self) -> str:
        if self.estimate is None:
            return f"no step above the best, {self.best:,.4g}"
        return f"improved: {self.estimate!s}"


def board_of(epsilon: Fraction, improvements: int, neighbours: Adjacency) -> SparseVector:
    """The mechanism of a board: half of ``epsilon`` for comparisons, split to disturb them least, half for scores.

    Parameters
    ----------
    epsilon : Fraction
        Of the whole board.
    improvements : int
        Number of scores it may show.
    neighbours : Adjacency

    Returns
    -------
    SparseVector
    """
    threshold, questions = split(improvements)
    return SparseVector(reach(neighbours), epsilon, improvements, (threshold, questions, threshold + questions))


def submit(
    talk: Conversation,
    made: SparseVector,
    rows: GridRows,
    question: Question,
    best: int,
    step: int,
    size: RowCount,
    entropy: Entropy,
) -> tuple[Standing, int]:
    """The standing, and the best in whole steps after it; ``best`` and ``step`` are in whole steps.

    Parameters
    ----------
    talk : Conversation
        The open sparse vector.
    made : SparseVector
        Its mechanism.
    rows : GridRows
        Private rows, as whole steps.
    question : Question
    best, step : int
        The best score shown, and what must be gained, in steps of 2^-20.
    size : RowCount
        The number of rows, public or noisy.
    entropy : Entropy

    Returns
    -------
    pair of Standing, and int
    """
    moved = apart(question, rows, best)
    mark = talk.ask(moved - step * size.count, entropy, value=moved)
    if not mark.above:
        return Standing(False, best / STEPS), best
    shown = estimate(best, mark.value, size, laplace_radius(float(made.value_scale), 1 - LEVEL))
    after = min(max(best + round(Fraction(mark.value, size.count)), 0), STEPS)
    return Standing(True, after / STEPS, shown), after
