"""Thresholdout: what was found elsewhere, checked against private holdout rows.

Each question comes with a public number: its mean on training rows that are public to the analyst, or the analyst's own
claim. A claim comes from an earlier answer or from a model whose privacy was paid. If the holdout's mean is close, that
number is the answer and nothing is spent. If it is not, the holdout's mean is shown with noise, and the round is over.
A round is a numeric sparse vector with one answer above, shares 1 : 1 : 2.

Statement. Take n rows of one row per person, sigma = 2 / (epsilon n) and means of [0, 1]. A round of epsilon then has
noise of scale 2 sigma on its threshold, 4 sigma on every comparison and sigma on the value shown: it costs 2 / (sigma
n).

Proof. Let S be the sum over holdout rows of (contribution - m), m the training mean or the claim in whole steps,
and D = STEPS. S moves by at most D (``row_functions``), and so do |S| and |S| - T, since T is public. With epsilon = e1
+ e2 + e3 split 1 : 1 : 2, the scales of ``sparse_vector`` are D / e1 = 4 D / epsilon, 2 D / e2 = 8 D / epsilon and D /
e3 = 2 D / epsilon; divided by n D to make them means, with sigma = 2 / (epsilon n): 2 sigma, 4 sigma, sigma. The answer
of a question that agrees is a function of a public number and of the mark. A claim may depend on all answers before it,
which adaptive composition allows. ∎

Source. Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015, "Generalization in adaptive data analysis and holdout
reuse", Figure 1 (Thresholdout) and Lemma 23; 002, remark 3 of its last section.

Deviations. The paper draws continuous noise on means; here it is geometric on sums of whole steps. Its training rows
are of the same private data, and are not protected: their means are released exactly. Here they must be rows the
analyst may see anyway, and they are no rows of the study. Under add/remove the number of rows is private, and is bought
noisy; T times it is then public. The paper stops at a budget of B answers; here each round is charged when it opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from reticent.entropy import Entropy
from reticent.mechanisms.geometric import laplace_radius
from reticent.mechanisms.sparse_vector import Conversation, SparseVector
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.numbers import rough
from reticent.privacy.sensitivity import Linf
from reticent.sessions.above_threshold import LEVEL, RowCount, comparison_radius, estimate
from reticent.sessions.row_functions import STEPS, GridRows, Question, apart

SHARES: Final = (1, 1, 2)
By: TypeAlias = Literal["training", "claim", "holdout"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer to one check.

    Attributes
    ----------
    value : float
        The training mean, or what was claimed, where the holdout agrees; else the holdout's mean with noise. Between 0
        and 1 but for noise.
    by : "training", "claim" or "holdout"
        Which of them it is. "holdout" says that the training rows were overfitted, or the claim is off, and ended a
        round.
    estimate : Estimate or None
        The holdout's mean with its interval, where it is shown.
    within : float or None
        How far the mean over the holdout's rows may be from ``value`` where they agree, but for 5 %: the threshold and
        the noise of the comparison. A comparison of few rows, or at a small epsilon, says little, and this says so.
    """

    value: float
    by: By
    estimate: Estimate | None = None
    within: float | None = None

    def __str__(self) -> str:
        shown = f"{self.value:,.4g}" if self.estimate is None else str(self.estimate)
        told = "as claimed" if self.by == "claim" else f"by the {self.by} rows"
        apart = "" if self.within is None else f": the holdout's mean is within ±{rough(self.within)} at 95 %"
        return f"{shown}, {told}{apart}"


def round_of(epsilon: Fraction, neighbours: Adjacency) -> SparseVector:
    """One round at ``epsilon``; for n rows, one each, sigma is 2 / (epsilon n)."""
    return SparseVector(Linf(Fraction(STEPS * neighbours.rows), neighbours), epsilon, 1, SHARES)


def sigma(made: SparseVector, size: RowCount) -> Fraction:
    """The scale of the noise on a mean that is shown."""
    return made.value_scale / (STEPS * size.count)


def check(
    talk: Conversation,
    made: SparseVector,
    rows: GridRows,
    question: Question,
    found: tuple[int, By],
    threshold: int,
    size: RowCount,
    entropy: Entropy,
) -> Checked:
    """One check: ``found`` is the training mean or the claim, and ``threshold`` the distance let pass, in steps.

    Parameters
    ----------
    talk : Conversation
        The open round.
    made : SparseVector
        Its mechanism.
    rows : GridRows
        Private rows of the holdout, as whole steps.
    question : Question
    found : pair of int and By
        The training mean or the claim, in steps of 2^-20, and which of them it is.
    threshold : int
        Distance let pass, in steps.
    size : RowCount
        The number of rows, public or noisy.
    entropy : Entropy

    Returns
    -------
    Checked
    """
    told, by = found
    moved = apart(question, rows, told)
    mark = talk.ask(abs(moved) - threshold * size.count, entropy, value=moved)
    if not mark.above:
        far = threshold * size.count + comparison_radius(made, 1, 1 - LEVEL)
        return Checked(told / STEPS, by, within=min(far / (STEPS * max(size.count - size.radius, 1)), 1.0))
    shown = estimate(told, mark.value, size, laplace_radius(float(made.value_scale), 1 - LEVEL))
    return Checked(shown.value, "holdout", shown)
