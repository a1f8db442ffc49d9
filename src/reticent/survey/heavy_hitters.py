"""Heavy hitters: which of very many answers are frequent, without naming many that nobody gave.

An answer that nobody holds is supported by Bin(n, miss) messages, exactly. The threshold is the least count c with
P(Bin(n, miss) >= c) <= false / k, so over all k answers the chance that any without a holder is named is at most
``false``. Counting is one transform (``tally``), not k passes over n messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.errors import PublicParameterError, door
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.survey.design_record import DesignRecord, chances
from reticent.survey.estimate import bounds
from reticent.survey.tally import Answers, ReportTally, tally


@dataclass(frozen=True, slots=True)
class Hitter:
    """A frequent answer: unbiased share, and an interval that holds for all answers of the domain together."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Hitters:
    """Frequent answers, the most frequent first.

    ``threshold`` is the least estimated share that an answer needs to be named.

    ``sure``: an answer of at least this true share is named with probability 0.95 or more.
    """

    found: tuple[Hitter, ...]
    answers: int
    threshold: float
    sure: float
    false: float

    def __str__(self) -> str:
        lines = [
            f"{one.label}: {100 * one.value:.1f} % ({100 * max(one.low, 0):.1f} to {100 * one.high:.1f})"
            for one in self.found
        ]
        lines.append(
            f"Of {self.answers:,} answers. Named above {100 * self.threshold:.2g} %; the chance that any answer nobody "
            f"gave is named is at most {self.false:g}. Shares above {100 * self.sure:.2g} % are hardly missed."
        )
        return "\n".join(lines)


@door
def heavy(design: DesignRecord, answers: Answers | ReportTally, *, false: float = 0.05) -> Hitters:
    """The answers that more people gave than coins explain.

    Parameters
    ----------
    design : DesignRecord
        Of ``choice``; for many answers with method "hashing" or "hadamard".
    answers : what ``Design.estimate`` takes, or a Tally
    false : float
        In (0, 1/2]: the most probability that any answer nobody holds is named.

    Returns
    -------
    Hitters
        Shares in [0, 1] with intervals, the greatest share first.

    Raises
    ------
    PublicParameterError
        Another kind of design, ``false`` out of its range, or no answers.

    Accuracy
    --------
    The binomial tail is exact; intervals are Clopper and Pearson's at 1 - 0.05 / k: all hold together at 95 %.
    """
    from scipy.stats import binom

    if isinstance(design.mechanism, LocalMean | OneSided | RandomizedResponse):
        raise PublicParameterError("heavy hitters are answers to a choice: survey.choice(question, among, …)")
    if not 0 < false <= 0.5:
        raise PublicParameterError(f"false lies in (0, 0.5], got {false}")
    heard = answers if isinstance(answers, ReportTally) else tally(design, answers)
    if heard.answers == 0:
        raise PublicParameterError("there is no answer to estimate from")
    n, k = heard.answers, len(heard.support)
    hit, miss = (float(chance) for chance in chances(design))
    cut = int(binom.isf(false / k, n, miss)) + 1
    while binom.sf(cut - 1, n, miss) > false / k:
        cut += 1
    named = np.flatnonzero(heard.support >= cut)
    ranked = named[np.argsort(-heard.support[named], kind="stable")]
    ends = bounds(heard.support[ranked], n, 1 - 0.05 / k, "exact")
    low, high = (np.asarray((end - miss) / (hit - miss)) for end in ends)
    found = tuple(
        Hitter(
            design.among[place],
            float((heard.support[place] / n - miss) / (hit - miss)),
            float(low[rank]),
            float(high[rank]),
        )
        for rank, place in enumerate(ranked.tolist())
    )
    return Hitters(found, n, (cut / n - miss) / (hit - miss), _sure(n, cut, hit, miss), false)


def _sure(n: int, cut: int, hit: float, miss: float) -> float:
    """The share at which the support reaches ``cut`` with probability 0.95."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    def missed(share: float) -> float:
        return float(binom.cdf(cut - 1, n, miss + share * (hit - miss)) - 0.05)

    return float(brentq(missed, 0.0, 1.0)) if missed(1.0) < 0 else 1.0
