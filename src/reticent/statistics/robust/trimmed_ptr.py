"""TM: the mean between two ranks, with noise in proportion to a certified width, by propose-test-release.

For public ranks 2 <= first <= last, the mean of x_(first), ..., x_(last). One row changed, added or removed moves the
sum by at most max(x_(last + 1) - x_(first), x_(last) - x_(first - 1)), exactly (Proposition 9), so by at most
w = x_(last + 1) - x_(first - 1). The stable bin of w is the same for all neighbours where it is safe; its greatest
width bounds w there. Reply: sum + geometric noise of that sensitivity, over the number of ranks.

Source. 003 section 5. Proofs: docs/proofs/robust.md, section 7.

Deviations. 003 trims one value more on top than below and divides by less than (8) allows for. It names the alpha
quantiles where the alpha/2 quantiles are needed. It releases with Lap(1) and a noisy scale times n^kappa. The loss of
that release is not bounded by eps (docs/proofs/robust.md), so it is not offered. Mode paper keeps the threshold and the
equal split of 003. The certified scale replaces n^kappa, and the cost is 003's 3 eps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from reticent.data.order_statistics import INFINITE, Needs, Order, widths
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.robust.assumed_laws import AssumedTable
from reticent.statistics.robust.ptr_test import Mode, Noisy, level, refuse_large_delta, refuse_unreachable, whole
from reticent.statistics.robust.reach import LogGrid, farthest
from reticent.statistics.robust.scale_ptr import StableScale, test_for


def local_sensitivity(data: Order, first: int, last: int) -> int:
    """Most that one row changed, added or removed moves the sum of x_(first), ..., x_(last).

    Parameters
    ----------
    data : Order
        Ordered values, private.
    first, last : int
        Public ranks.

    Returns
    -------
    int
        In steps.
    """
    low, high = data.window(first - 1, first), data.window(last, last + 1)
    return int(widths(low, high).max())


def trim_ranks(n: int, alpha: Fraction) -> tuple[int, int]:
    """Ranks g + 1 and n - g, g = floor(n alpha / 2): the same number from each end."""
    cut = math.floor(n * level(alpha, "alpha") / 2)
    return cut + 1, n - cut


@dataclass(frozen=True, slots=True)
class TrimmedMeanPtr:
    """The mean of the order statistics ``first`` to ``last``, or no reply.

    Guarantee
    ---------
    (2 tests + release, two deltas) by ``ptr.cascade``: which discretisation replied shows in the noise. For the
    neighbours of the test.

    Accuracy
    --------
    Given a reply the noise is geometric of scale rows x edge / release over the number of ranks, with
    edge < 2^(span / binade) w + 1. Under add/remove with a public n other than the size, as many more or fewer values
    are trimmed on top.
    """

    first: int
    last: int
    scale: StableScale
    release: Fraction

    def __post_init__(self) -> None:
        positive(self.release, "release")
        if not 2 <= whole(self.first, "first", 1) <= whole(self.last, "last", 1):
            raise PublicParameterError("a trimmed mean leaves out at least one value on either side")
        if self.scale.ranks != (self.first - 1, self.last + 1):
            raise PublicParameterError("the scale of a trimmed mean is the width one rank beyond those it adds up")

    @property
    def guarantee(self) -> Guarantee:
        return ptr.cascade([self.scale.steps(self.release)], label="trimmed mean")

    @property
    def needs(self) -> Needs:
        return Needs(self.scale.needs.windows, ((self.first, self.last),))

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[Noisy]:
        """The noisy mean, an integer over the number of ranks, and the scale of its noise, which tells the edge."""
        test, total = self.scale.test, exact.total(self.first, self.last)
        passed = [(test.passes(distance, entropy), edge) for distance, edge in self.scale.distances(exact)]
        for replies, edge in passed:
            if replies:
                if edge >= INFINITE - 1:
                    return NO_REPLY
                rows = test.neighbours.rows
                noise = Geometric(L1(Fraction(rows * edge), test.neighbours), self.release)
                (noisy,) = gate.draw(noise, (total,), entropy)
                size = self.last - self.first + 1
                return Reply(Noisy(Fraction(noisy, size), noise.scale / size))
        return NO_REPLY

    def chance(self, public: AssumedTable) -> float:
        """P(reply) for a made-up table."""
        return self.scale.chance(public)


def trimmed_mean(
    n: int,
    neighbours: Adjacency,
    *,
    alpha: Fraction,
    test: Fraction,
    release: Fraction,
    delta: Fraction | None = None,
    mode: Mode = "exact",
    grid: LogGrid | None = None,
    most_delta: Fraction | None = None,
) -> TrimmedMeanPtr:
    """The alpha-trimmed mean for a public number of values: floor(n alpha / 2) left out on either side.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    alpha : Fraction
        Share left out in all, strictly between 0 and 1.
    test, release : Fraction
        Losses of each of the two tests and of the release, > 0.
    delta : Fraction
        For mode exact: the greatest probability of an unsafe reply, of each test.
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    grid : LogGrid or None
        None for bins of a factor of two.
    most_delta : Fraction or None
        For mode paper: the most delta in all that is accepted; None for 1 / (10 n).

    Returns
    -------
    TrimmedMeanPtr
        Mechanism with its guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: out of range; nothing trimmed; a printed threshold whose delta is above ``most_delta``; n
        too small for the distance ever to reach the threshold.

    Source
    ------
    003 section 5, algorithm TM.
    """
    first, last = trim_ranks(n, alpha)
    tested = test_for(mode, test, delta, n, neighbours, unsafe=neighbours.rows)

    def most(size: int) -> int:
        low, high = trim_ranks(size, alpha)
        return farthest((low - 1, high + 1), size)

    refuse_unreachable(tested, most, n, "the trimmed mean")
    if mode == "paper":
        refuse_large_delta(2 * tested.delta, most_delta or Fraction(1, 10 * n), "TM")
    return TrimmedMeanPtr(first, last, StableScale((first - 1, last + 1), grid or LogGrid(2, 2), tested), release)
