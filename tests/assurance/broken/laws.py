"""Classes C5 to C7, C10, C11, C13, D7 to D9: right noise, and a law that is not what the formula says."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from reticent.conformance.events import Sample
from reticent.entropy import Entropy
from reticent.exact import sampling
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian, least_variance
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.sparse_vector import SparseVector
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy import compose, filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.ptr import least_margin, reply_chance
from reticent.privacy.sensitivity import L1, L2, Linf
from tests.assurance.broken.exhibit import AnyExhibit, Exact, Exhibit, Sampled

NEAR: Final = Adjacency("add_remove")
ONE: Final = PureDP(Fraction(1))
RARE: Final = Fraction(1, 200)
MARGIN: Final = least_margin(Fraction(1), RARE)
SHOWN: Final = ApproxDP(Fraction(1), reply_chance(Fraction(1), MARGIN))


def counts(bound: int, epsilon: Fraction | int = 1) -> Geometric:
    return Geometric(L1(Fraction(bound), NEAR), Fraction(epsilon))


# --- C: composition and calibration -----------------------------------------------------------------------------------


def one_draw_for_all_cells(cells: tuple[int, ...], entropy: Entropy) -> tuple[int, ...]:
    """Noise is drawn before the table is spread out, so every cell gets a copy of one draw, and differences of cells
    are exact. Hit: OpenDP #2344."""
    noise = sampling.one_discrete_laplace(1, entropy)
    return tuple(cell + noise for cell in cells)


def key_shown_from_the_threshold_on(persons: int, entropy: Entropy) -> int | None:
    """A group that one person makes is shown if its noisy count reaches the threshold; delta was computed for above
    it. Hit: OpenDP #2922 (delta .0049 claimed, .0134 seen), Google PR #101."""
    noisy = persons + sampling.one_discrete_laplace(1, entropy)
    return noisy if persons and noisy >= MARGIN else None


def ours_shown(persons: int, entropy: Entropy) -> int | None:
    """The noise of one person must reach the margin that ``ptr.least_margin`` gives for this delta."""
    noisy = persons + sampling.one_discrete_laplace(1, entropy)
    return noisy if persons and noisy - persons >= MARGIN else None


def flips_at_the_rate_of_the_other(scores: Sequence[int], entropy: Entropy) -> int:
    """Permute-and-flip is drawn and the exponential mechanism's rho, epsilon squared over 8, is charged: it has no
    bounded range. Hit: OpenDP #2911, whose attached proof was about the other algorithm."""
    return PermuteAndFlip(Linf(Fraction(1), NEAR), Fraction(1)).sample(scores, entropy)


def ours_exponential(scores: Sequence[int], entropy: Entropy) -> int:
    made = Exponential(Linf(Fraction(1), NEAR), Fraction(1))
    return made.sample(Candidates(np.array(scores, np.int64), np.ones(len(scores), np.int64)), entropy)


def root_of_k_for_k(count: int, entropy: Entropy) -> tuple[int, ...]:
    """Two answers at epsilon 1 are charged as 3/2: deviations grow with the root of their number, pure losses with the
    number itself. Hit: tensorflow-privacy #166 (epsilon 0), SmartNoise's odometer #621, OpenDP PR #2820."""
    return tuple(count + sampling.one_discrete_laplace(1, entropy) for _ in range(2))


def groups_that_overlap(cells: tuple[int, int], entropy: Entropy) -> tuple[int, ...]:
    """Two groups are charged as one, because groups are disjoint. These are not: one person is in both. Hit: Tumult
    Core's page of known vulnerabilities."""
    return tuple(cell + sampling.one_discrete_laplace(1, entropy) for cell in cells)


FEW: Final = Fraction(1, 10**5)
WIDE: Final = ApproxDP(Fraction(10), FEW)
TEXTBOOK: Final = Fraction(47, 200)  # (2 ln(1.25 / delta)) / epsilon**2


def textbook_gaussian(count: int, entropy: Entropy) -> int:
    """Variance 2 ln(1.25 / delta) / epsilon^2, the formula of every textbook, whose proof needs epsilon below 1: here
    epsilon is 10. Hit: any library that takes epsilon as it comes; Balle and Wang 2018."""
    return count + sampling.one_discrete_gaussian(TEXTBOOK, entropy)


OURS_WIDE: Final = ScalarGaussian(L1(Fraction(1), NEAR), least_variance(1, Fraction(10), FEW), Fraction(10))


def ours_gaussian(count: int, entropy: Entropy) -> int:
    return OURS_WIDE.sample((count,), entropy)[0]


def squares_forgotten(cells: tuple[int, int], entropy: Entropy) -> tuple[int, ...]:
    """Two counts of one person each get Gaussian noise for a change of 1; the length of (1, 1) is the root of 2. Hit:
    PipelineDP's vector sums, #551 and #552."""
    return tuple(cell + sampling.one_discrete_gaussian(1, entropy) for cell in cells)


def ours_vector(cells: tuple[int, int], entropy: Entropy) -> tuple[int, ...]:
    return Gaussian(L2(Fraction(2), NEAR), Fraction(1, 2)).sample(cells, entropy)


PRICES: Final = (Fraction(1, 2), Fraction(4))


def budget_asked_before_the_price(count: int, entropy: Entropy) -> tuple[int, ...]:
    """An answer is given while something is left, whatever it costs; who asks for a dear one last has them all. Hit:
    accountants that look at what is spent and not at what would be; Rogers et al. 2016."""
    spent, told = Fraction(0), []
    for price in PRICES:
        if spent < 1:
            spent += price
            told.append(count + sampling.one_discrete_laplace(1 / price, entropy))
    return tuple(told)


def ours_filter(count: int, entropy: Entropy) -> tuple[int, ...]:
    spent, told = PureDP(Fraction(0)), []
    for price in PRICES:
        if filters.admits(ONE, spent, PureDP(price)):
            spent = PureDP(spent.epsilon + price)
            told.append(count + sampling.one_discrete_laplace(1 / price, entropy))
    return tuple(told)


# --- C13: sparse vector -----------------------------------------------------------------------------------------------


def sparse_vector_without_query_noise(answers: Sequence[int], entropy: Entropy) -> tuple[bool, ...]:
    """Only the threshold is noised: with answers (0, 1) and (1, 0) each pattern belongs to one of them. Hit: Lyu, Su
    and Li 2017, Algorithm 5, from a published paper."""
    threshold = sampling.one_discrete_laplace(2, entropy)
    return tuple(answer >= threshold for answer in answers)


def sparse_vector_noised_for_one(answers: tuple[int, ...], count: int, entropy: Entropy) -> Sample:
    """The noise of a query does not grow with the number of answers above. Hit: Lyu, Su and Li 2017, Algorithm 4, from
    a published paper; autodp PR #27 is about the same split."""
    size = len(answers)
    threshold = sampling.discrete_laplace(4, count, entropy).reshape(count, 1)
    noise = sampling.discrete_laplace(Fraction(4, 3), count * size, entropy).reshape(count, size)
    above = np.array(answers) + noise >= threshold
    stopped = np.cumsum(above, axis=1) - above >= size // 2
    return np.where(stopped, -1, above)


BETTER: Final = SparseVector(Linf(Fraction(1), NEAR), Fraction(3))


def ladder_without_noise(scores: tuple[int, ...], entropy: Entropy) -> tuple[int, ...]:
    """A leaderboard tells a score where it beats the best by a step of 2, and is called safe since it tells so little.
    Whether it does is an exact bit about the rows. Hit: the Ladder of Blum and Hardt 2015, Algorithm 1, where it is
    taken for private; what its authors prove is about overfitting."""
    best, told = 0, []
    for score in scores:
        best = score if score >= best + 2 else best
        told.append(best)
    return tuple(told)


def ours_board(scores: tuple[int, ...], entropy: Entropy) -> tuple[int, ...]:
    """Tell if a score beats the best by 2, by a sparse vector; ``makers.ladder`` shows noisy scores as well."""
    return BETTER.sample([score - 2 for score in scores], entropy)


def ours_largest(answers: Sequence[int], entropy: Entropy) -> int:
    """Index of the largest answer, by permute-and-flip: ours beside the two above, whose laws are too wide to
    enumerate.
    """
    return PermuteAndFlip(Linf(Fraction(1), NEAR), Fraction(1)).sample([-answer for answer in answers], entropy)


def ours_largest_often(answers: tuple[int, ...], count: int, entropy: Entropy) -> Sample:
    return [ours_largest(answers, entropy) for _ in range(count)]


# --- D: declining, remembering, cutting off ---------------------------------------------------------------------------


def exact_test(state: tuple[int, str], entropy: Entropy) -> object:
    """Propose-test-release whose test has no noise: it replies from one row on and not before. Hit: OpenDP's
    ``make_base_stability``, withdrawn in 0.4; textbooks that state the test in words."""
    distance, release = state
    return Reply(release) if distance >= 1 else NO_REPLY


def ours_test(state: tuple[int, str], entropy: Entropy) -> object:
    """The noisy distance must reach ``ptr.least_margin``; at distance 0 a neighbour may release something else."""
    distance, release = state
    return Reply(release) if distance + sampling.one_discrete_laplace(1, entropy) >= MARGIN else NO_REPLY


def noise_remembered_by_the_count(cells: tuple[int, int], entropy: Entropy) -> tuple[int, ...]:
    """Sticky noise: equal counts get equal noise, so that averaging does not help. Whether two counts are equal is then
    told exactly. Hit: designs with noise by a hash of the answer; compare RAPPOR's memo, which is charged once."""
    remembered: dict[int, int] = {}
    for cell in cells:
        if cell not in remembered:
            remembered[cell] = sampling.one_discrete_laplace(2, entropy)
    return tuple(cell + remembered[cell] for cell in cells)


def noise_cut_off(count: int, entropy: Entropy) -> int:
    """Noise that never exceeds 6, so that no answer looks absurd, under a claim without delta: the last value belongs
    to one neighbour alone. Hit: bounded noise sold as pure; thresholds and tails whose delta is not in the account."""
    sizes = [abs(k) for k in range(-6, 7)]
    return count - 6 + sampling.categorical([Fraction(k) for k in sizes], [1] * 13, entropy)


def _geometric(made: Geometric, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
    return made.sample(exact, entropy)


def ours_count(count: int, entropy: Entropy) -> tuple[int, ...]:
    return counts(1).sample((count,), entropy)


def ours_two(count: int, entropy: Entropy) -> tuple[int, ...]:
    """Two answers whose losses ``compose.in_sequence`` adds up to 3/2."""
    return tuple(EACH.sample((count,), entropy)[0] for _ in range(2))


AWAY: Final = ((0, "another"), *((distance, "the same") for distance in range(9)))
EACH: Final = counts(1, Fraction(3, 4))
CHARGED: Final = compose.in_sequence([EACH.guarantee] * 2).loss
NEXT: Final = ((1, 1), (0, 1))
BOTH: Final = ((0, 0), (1, 1))
SCORES: Final = ((0, 1), (1, 0))
ABOVE: Final = ((1,) * 10 + (0,) * 10, (0,) * 10 + (1,) * 10)
TWICE: Final = partial(_geometric, counts(2))

EXHIBITS: Final[tuple[AnyExhibit, ...]] = (
    Exhibit("C5", one_draw_for_all_cells, Exact(NEXT, ONE), partial(_geometric, counts(1)), "mechanisms.Geometric"),
    Exhibit("C6", key_shown_from_the_threshold_on, Exact((0, 1), SHOWN), ours_shown, "privacy.ptr.least_margin"),
    Exhibit(
        "C7",
        flips_at_the_rate_of_the_other,
        Exact(SCORES, ZCDP(Fraction(1, 8))),
        ours_exponential,
        "mechanisms.Exponential",
    ),
    Exhibit("C10", root_of_k_for_k, Exact((0, 1), CHARGED), ours_two, "compose.in_sequence"),
    Exhibit("C10", groups_that_overlap, Exact(BOTH, ONE), TWICE, "mechanisms.Geometric"),
    Exhibit("C10", textbook_gaussian, Exact((0, 1), WIDE), ours_gaussian, "mechanisms.ScalarGaussian"),
    Exhibit("C10", squares_forgotten, Exact(BOTH, ZCDP(Fraction(1, 2))), ours_vector, "mechanisms.Gaussian"),
    Exhibit("C11", budget_asked_before_the_price, Exact((0, 1), ONE), ours_filter, "privacy.filters.admits"),
    Exhibit(
        "C13",
        sparse_vector_without_query_noise,
        Exact(((1, 0), (0, 1)), ONE),
        ours_largest,
        "mechanisms.PermuteAndFlip",
    ),
    Exhibit("C13", sparse_vector_noised_for_one, Sampled(*ABOVE, ONE), ours_largest_often, "mechanisms.PermuteAndFlip"),
    Exhibit(
        "C13", ladder_without_noise, Exact(((2,), (1,)), BETTER.guarantee.loss), ours_board, "mechanisms.SparseVector"
    ),
    Exhibit("D7", exact_test, Exact(AWAY, SHOWN), ours_test, "privacy.ptr.least_margin"),
    Exhibit(
        "D8", noise_remembered_by_the_count, Exact(NEXT, ONE), partial(_geometric, counts(1)), "mechanisms.Geometric"
    ),
    Exhibit("D9", noise_cut_off, Exact((0, 1), ONE), ours_count, "mechanisms.Geometric"),
)
