"""Is the density at the median above a public threshold? A private test of level alpha, by order statistics.

For public ranks L < U around the median and a public width h, a column is *dense* where w = x_(U) - x_(L) <= h. Let

    A = rows to change until a dense column is not dense, at least 1
    A = 1 - (rows to change until one that is not dense becomes dense), at most 0.

A row changes A by at most one, so A + geometric noise is epsilon-differentially private. The verdict is "dense" if that
sum reaches a threshold, so it is post-processing. Under substitution A counts exactly.

The level. The mass of any continuous population between x_(L) and x_(U) has the law Beta(U - L, n - U + L + 1). If its
density is at most ``density`` all the way between them, that mass is at most density x w. The width h is the largest
at which that has probability at most alpha / 2. The threshold is the least that A + noise reaches with probability at
most alpha / 2 on a column that is not dense.

Source. 003 section 10: its first median algorithm tested the density privately, and M replaced that algorithm. 003
calls private testing of hypotheses an excellent topic and states no test. Proof: docs/proofs/robust.md, section 9.
Deviations. The test is ours. No delta: nothing is released that the test would have to be right for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.order_statistics import INFINITE, LARGEST, Needs, Order, around
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.ptr import least_margin, reply_chance
from reticent.privacy.sensitivity import L1
from reticent.statistics.robust.assumed_laws import AssumedTable
from reticent.statistics.robust.ptr_test import SPARE, first_distance, level, whole
from reticent.statistics.robust.reach import Reach, reach

HALF: Final = Fraction(1, 2)
LEVEL: Final = Fraction(1, 20)
ROUGH: Final = 0.8  # ranks on either side grow as n^(4/5), where variance and curvature of a density estimate balance


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on the density, and the noisy number of rows that would have to change for another verdict.

    ``dense`` holds exactly if ``changes`` is at least ``threshold``, so both come for one charge. The noise of
    ``changes`` has a public law.
    """

    dense: bool
    changes: int
    threshold: int


@dataclass(frozen=True, slots=True)
class DensityTest:
    """Private test if x_(U) - x_(L) is at most ``width``.

    Attributes
    ----------
    ranks : (int, int)
        Public, 1 <= L < U.
    width : int
        In grid steps, >= 1.
    epsilon : Fraction
        Loss, > 0.
    threshold : int
        "Dense" needs so many changes, noise included; >= 1.

    Guarantee
    ---------
    epsilon, pure, for ``neighbours``: substitution, or add/remove with ranks from a public n.

    Accuracy
    --------
    A column that is not dense is called dense with probability at most ``alpha``.
    """

    ranks: tuple[int, int]
    width: int
    neighbours: Adjacency
    epsilon: Fraction
    threshold: int

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if whole(self.ranks[0], "the lower rank", 1) >= self.ranks[1]:
            raise PublicParameterError("the lower rank must be below the upper one")
        if whole(self.width, "width", 1) >= INFINITE:
            raise PublicParameterError("a width is finite")
        whole(self.threshold, "threshold", 1)

    @property
    def noise(self) -> Geometric:
        return Geometric(L1(Fraction(self.neighbours.rows), self.neighbours), self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.noise.guarantee], label="density test")

    @property
    def alpha(self) -> Fraction:
        """At or above the probability that a column which is not dense is called dense."""
        return reply_chance(self.noise.scale, self.threshold)

    @property
    def cap(self) -> int:
        """Distances beyond it, on either side, need not be told apart."""
        return self.threshold + max(1, self.noise.radius(2 * SPARE))

    @property
    def needs(self) -> Needs:
        return Needs(around(self.ranks, self.cap))

    def distance(self, data: Order) -> int:
        """A, cut at -cap and cap."""
        return signed(reach(data, *self.ranks, self.cap), self.width)

    def sample(self, exact: Order, entropy: Entropy) -> Verdict:
        """The verdict. One draw; always an answer."""
        (noisy,) = self.noise.sample((self.distance(exact),), entropy)
        return Verdict(noisy >= self.threshold, noisy, self.threshold)

    def chance(self, public: AssumedTable) -> float:
        """P("dense") for a made-up table: the power of the test there."""
        ratio, least = math.exp(-1 / float(self.noise.scale)), self.threshold - self.distance(public.table)
        return ratio**least / (1 + ratio) if least > 0 else 1 - ratio ** (1 - least) / (1 + ratio)


def signed(found: Reach, width: int) -> int:
    """A for a column by what k changes can reach, cut at the reach."""
    if found.width <= width:
        return first_distance(lambda k: found.greatest(k) > width, 1, found.most)
    return 1 - first_distance(lambda k: found.least(k) <= width, 1, found.most)


def density_test(
    n: int,
    neighbours: Adjacency,
    *,
    density: Fraction,
    epsilon: Fraction,
    alpha: Fraction = LEVEL,
    quantile: Fraction = HALF,
    around_rank: int | None = None,
    sample: Fraction | None = None,
    at_most: int | None = None,
) -> DensityTest:
    """The test whether the density at the median exceeds ``density``.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    density : Fraction
        Threshold, > 0: the share of the population for each step of the grid. For values with a step g, the density
        times g.
    epsilon : Fraction
        Loss, > 0.
    alpha : Fraction
        Greatest probability of the verdict "dense" under the hypothesis: n independent values, and a density of at
        most ``density`` all the way between the two ranks. Half of it is for sampling and half for the noise.
    quantile : Fraction
        The level of the middle rank; the median by default.
    around_rank : int or None
        Ranks on either side of it, >= 1; None for n^(4/5) / 2.
    sample : Fraction or None
        What of ``alpha`` pays for the sample, at most half; None for half.
    at_most : int or None
        A number of values for the width, >= n, where ``n`` is noisy: more values make it narrower. None for ``n``.

    Returns
    -------
    DensityTest
        Test with its guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: out of range; n too small for any column to be called dense.

    Source
    ------
    003 section 10; docs/proofs/robust.md, section 9.
    """
    half = level(alpha, "alpha") / 2
    middle = math.ceil(whole(n, "n", 1) * level(quantile, "the level"))
    beside = math.ceil(n**ROUGH / 2) if around_rank is None else whole(around_rank, "around_rank", 1)
    low, high = middle - beside, middle + beside
    threshold = max(1, least_margin(neighbours.rows / positive(epsilon, "epsilon"), half))
    if min(low, n - high + 1) < threshold:
        raise QuestionError(
            f"the density test asks for {threshold:,} changes here, and so many of {n:,} values move anything "
            "anywhere. More values, a larger ε, or fewer ranks around the median would do. Nothing was charged."
        )
    share, values = half if sample is None else min(level(sample, "sample"), half), n if at_most is None else at_most
    width = math.floor(mass_below(max(n, values), high - low, float(share)) / positive(density, "density")) - 1
    if not 1 <= width < LARGEST:
        raise QuestionError(
            "at this density so many ranks lie within less than a step of the grid, or beyond it: "
            "take a finer grid, or another density. Nothing was charged."
        )
    return DensityTest((low, high), width, neighbours, epsilon, threshold)


def mass_below(n: int, ranks: int, share: float) -> Fraction:
    """The mass between two order statistics so many ranks apart is below this with probability ``share``: accuracy.

    Parameters
    ----------
    n, ranks : int
        Number of values, and distance of the ranks.
    share : float
        In (0, 1).

    Returns
    -------
    Fraction
        In [0, 1].
    """
    from scipy.special import betaincinv

    return Fraction(float(betaincinv(ranks, n - ranks + 1, share)))
