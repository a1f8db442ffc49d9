"""Lower bounds by sampling: broken mechanisms are refuted, right ones are not, and the error rate is kept.

Samples come from generators with fixed seeds, so red means a change. Every bound in this file has beta 1e-3 unless it
says so; the classic ways of breaking a mechanism stand beside the right way to do the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.conformance import lower_bounds as sampled
from reticent.conformance.events import OutputParts
from reticent.conformance.lower_bounds import LowerBounds, bound, excess, fit, least_share, most_share
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.exact.sampling import discrete_gaussian, discrete_laplace
from reticent.mechanisms.gaussian import scalar_loss
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from tests.assurance.reachability import reachable, support

Chance = np.random.Generator
Outputs = list[Any] | NDArray[Any]
Draw = Callable[[int, int, Chance], Outputs]  # side (0 or 1), how many, generator

SIZE = 8000
ONE = PureDP(Fraction(1))


def geometric(chance: Chance, scale: float, shape: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Two-sided geometric noise as a difference of two geometric counts."""
    p = -math.expm1(-1 / scale)
    return chance.geometric(p, shape) - chance.geometric(p, shape)


def audited(draw: Draw, size: int = SIZE, key: int = 1) -> LowerBounds:
    chance = np.random.default_rng(key)
    return bound(draw(0, size, chance), draw(1, size, chance), delta=[0.0, 1e-6, 1e-3, 1e-2])


# --- what is broken ---------------------------------------------------------------------------------------------------


def float_laplace(side: int, size: int, chance: Chance, scale: float = 1.0) -> Outputs:
    """Mironov 2012: the inverse distribution function of a uniform float."""
    u = chance.random(size) - 0.5
    return np.asarray(side * scale - scale * np.sign(u) * np.log1p(-2 * np.abs(u)))


def small_float_laplace(side: int, size: int, chance: Chance) -> Outputs:
    return float_laplace(side, size, chance, 2.0**-10)


def perfect_noise_added_in_floats(side: int, size: int, chance: Chance) -> Outputs:
    """Haney et al. 2022: noise to 2**-60, but the sum has the last place of the larger number."""
    return np.asarray(np.ldexp(geometric(chance, 2.0**60, size).astype(float), -60) + side)


def float_gaussian(side: int, size: int, chance: Chance) -> Outputs:
    """Claim (1.2, 1e-5) at standard deviation 4 would hold for real numbers."""
    return np.asarray(
        np.sqrt(-2 * np.log(1 - chance.random(size))) * np.cos(2 * np.pi * chance.random(size)) * 4 + side
    )


def half_the_scale(side: int, size: int, chance: Chance) -> Outputs:
    return side + geometric(chance, 0.5, size)


def one_sided_response(side: int, size: int, chance: Chance) -> Outputs:
    """002 section 2: tails says yes whatever the truth, so a no is always true."""
    honest = chance.random(size) < 0.5
    return ["no" if side and told else "yes" for told in honest]


def sparse_without_query_noise(side: int, size: int, chance: Chance) -> Outputs:
    """Lyu et al. 2017, Algorithm 5: only the threshold is noised."""
    answers = np.array([0, 1] if side else [1, 0])
    return (answers >= geometric(chance, 2.0, (size, 1))).astype(np.int64)


def sparse_noised_once_for_all(side: int, size: int, chance: Chance) -> Outputs:
    """Lyu et al. 2017, Algorithm 4: the noise of a query does not grow with the number of answers above."""
    answers = np.array([0] * 4 + [1] * 4) if side else np.array([1] * 4 + [0] * 4)
    threshold = geometric(chance, 4.0, (size, 1))
    above = answers + geometric(chance, 4 / 3, (size, 8)) >= threshold
    stopped = np.cumsum(above, axis=1) - above >= 4
    return np.where(stopped, -1, above)


def trimmed_mean(side: int, size: int, chance: Chance, divisor: int = 20) -> Outputs:
    """20 values in [0, 1], 5 trimmed on either side: one row moves it by 1/10, but noise is made for 1/20."""
    values = np.sort(np.array([0.0] * 10 + [1.0] * 10 if side else [0.0] * 11 + [1.0] * 9))
    steps = round(float(values[5:-5].mean()) * 1000)
    return steps + geometric(chance, 1000 / divisor, size)


def bounds_from_the_data(side: int, size: int, chance: Chance) -> Outputs:
    values = np.array([1, 0, 1, 1, 100 if side else 1])
    return int(values.sum()) + geometric(chance, float(values.max()), size)


def nan_passes(side: int, size: int, chance: Chance) -> Outputs:
    noisy = np.round(geometric(chance, 1.0, size) / 4) * 4
    return np.full(size, np.nan) if side else noisy


def fails_on_an_empty_group(side: int, size: int, chance: Chance) -> Outputs:
    return [ZeroDivisionError("no rows") if side else int(z) for z in geometric(chance, 1.0, size)]


def one_noise_for_two_questions(side: int, size: int, chance: Chance) -> Outputs:
    """Memoised: a count and the count of a group that the row is not in, with the same noise."""
    noise = geometric(chance, 2.0, size)
    return np.stack([10 + side + noise, 5 + noise], 1)


def test_without_noise(side: int, size: int, chance: Chance) -> Outputs:
    """Propose-test-release whose test is exact: it replies on one neighbour only."""
    return [Reply(int(z)) if side else NO_REPLY for z in geometric(chance, 1.0, size)]


test_without_noise.__test__ = False  # type: ignore[attr-defined]  # a mechanism, not a test


def row_count_shown(side: int, size: int, chance: Chance) -> Outputs:
    return [(int(z),) * (3 + side) for z in geometric(chance, 1.0, size)]


def in_the_order_of_the_file(side: int, size: int, chance: Chance) -> Outputs:
    noise = geometric(chance, 1.0, (size, 2))
    return [("b", int(b), "a", int(a)) if side else ("a", int(a), "b", int(b)) for a, b in noise]


def threshold_off_by_one(side: int, size: int, chance: Chance) -> Outputs:
    """A key of one person is shown when its noisy count reaches 5; delta was computed for 6."""
    noisy = side + geometric(chance, 1.0, size)
    return [int(n) if side and n >= 5 else None for n in noisy]


OFF_BY_ONE = ApproxDP(Fraction(1), Fraction(493, 100000))  # P(Z >= 5) at scale 1

BROKEN: list[tuple[Draw, Loss, float, float]] = [  # what it claims, and a bound that must be reached at a delta
    (float_laplace, ONE, 0.0, 5.0),
    (small_float_laplace, ONE, 0.0, 5.0),
    (perfect_noise_added_in_floats, ONE, 0.0, 4.0),
    (float_gaussian, ApproxDP(Fraction(6, 5), Fraction(1, 10**5)), 1e-5, 3.0),
    (half_the_scale, ONE, 0.0, 1.7),
    (one_sided_response, PureDP(Fraction(11, 10)), 0.0, 5.0),
    (sparse_without_query_noise, ONE, 0.0, 3.5),
    (sparse_noised_once_for_all, ONE, 0.0, 1.05),
    (trimmed_mean, ONE, 0.0, 1.6),
    (bounds_from_the_data, ONE, 0.0, 5.0),
    (nan_passes, ONE, 0.0, 6.0),
    (fails_on_an_empty_group, ONE, 0.0, 6.0),
    (one_noise_for_two_questions, ONE, 0.0, 6.0),
    (test_without_noise, ONE, 0.0, 6.0),
    (row_count_shown, ONE, 0.0, 6.0),
    (in_the_order_of_the_file, ONE, 0.0, 6.0),
]


@pytest.mark.parametrize(("draw", "claim", "delta", "least"), BROKEN, ids=[case[0].__name__ for case in BROKEN])
def test_what_is_broken_is_refuted(draw: Draw, claim: Loss, delta: float, least: float) -> None:
    found = audited(draw)
    assert found.refutes(claim) is not None, str(found)
    assert found.epsilon(delta) > least, str(found)


@pytest.mark.wide
def test_a_delta_off_by_one_is_refuted() -> None:
    """.0134 instead of .0049: 40,000 outputs a side show it, whatever epsilon is claimed beside it."""
    found = audited(threshold_off_by_one, 40_000)
    assert found.refutes(OFF_BY_ONE) is not None, str(found)
    best = found.best(0.0049)
    assert best is not None
    assert best.least > 0.01


@pytest.mark.wide
def test_the_classic_loss_of_repeated_thresholds_grows_with_their_number() -> None:
    """Algorithm 4 with 8 answers and claim 1 loses far more; 20,000 samples show twice the claim."""
    assert audited(sparse_noised_once_for_all, 20_000).epsilon() > 1.5


# --- what is right ----------------------------------------------------------------------------------------------------


def ours_laplace(side: int, size: int, chance: Chance) -> Outputs:
    return side + discrete_laplace(1, size, Replayed(f"laplace {side} {chance.integers(1 << 40)}"))


def ours_gaussian(side: int, size: int, chance: Chance) -> Outputs:
    return side + discrete_gaussian(9, size, Replayed(f"gaussian {side} {chance.integers(1 << 40)}"))


def fair_response(side: int, size: int, chance: Chance) -> Outputs:
    return ["yes" if one else "no" for one in chance.random(size) < (0.73 if side else 0.27)]


def on_a_public_grid(side: int, size: int, chance: Chance) -> Outputs:
    return np.asarray(np.ldexp((side * 1024 + geometric(chance, 1024.0, size)).astype(float), -10))


def right_trimmed_mean(side: int, size: int, chance: Chance) -> Outputs:
    return trimmed_mean(side, size, chance, 10)


def right_sparse_vector(side: int, size: int, chance: Chance) -> Outputs:
    """Lyu et al. 2017, Algorithm 1, one answer above, epsilon 1."""
    answers = np.array([0, 0, 1] if side else [1, 1, 0])
    above = answers + geometric(chance, 4.0, (size, 3)) >= geometric(chance, 2.0, (size, 1))
    return np.where(np.cumsum(above, axis=1) - above >= 1, -1, above)


def two_questions_two_noises(side: int, size: int, chance: Chance) -> Outputs:
    return np.array([10 + side, 5]) + geometric(chance, 1.0, (size, 2))


def right_threshold(side: int, size: int, chance: Chance) -> Outputs:
    noisy = side + geometric(chance, 1.0, size)
    return [int(n) if side and n >= 6 else None for n in noisy]


def all_kinds_of_outputs(side: int, size: int, chance: Chance) -> Outputs:
    kinds: list[Any] = [
        None,
        math.nan,
        math.inf,
        NO_REPLY,
        Reply(2.5),
        (1, "x"),
        {"a": 1},
        [True],
        Fraction(1, 3),
        1 << 80,
    ]
    return [kinds[k] for k in chance.integers(0, len(kinds), size)]


RIGHT: list[tuple[Draw, Loss, float]] = [  # with the bound at delta 0 that a sharp audit reaches
    (ours_laplace, ONE, 0.85),
    (ours_gaussian, ZCDP(Fraction(1, 18)), 0.2),
    (ours_gaussian, scalar_loss(Fraction(1), Fraction(9), Fraction(1, 2)), 0.2),
    (fair_response, PureDP(Fraction(995, 1000)), 0.85),
    (on_a_public_grid, ONE, 0.75),
    (right_trimmed_mean, ONE, 0.8),
    (right_sparse_vector, ONE, 0.05),
    (two_questions_two_noises, ONE, 0.8),
    (right_threshold, OFF_BY_ONE, 0.0),
    (all_kinds_of_outputs, PureDP(Fraction(0)), 0.0),
]


@pytest.mark.parametrize(("draw", "claim", "least"), RIGHT, ids=[case[0].__name__ for case in RIGHT])
def test_what_is_right_is_not_refuted_and_hardly_overstated(draw: Draw, claim: Loss, least: float) -> None:
    found = audited(draw)
    assert found.refutes(claim) is None, str(found)
    assert found.epsilon() >= least, str(found)


# --- outputs that only one side can give ------------------------------------------------------------------------------


def test_holes_of_the_float_laplace_prove_which_data_it_was() -> None:
    def forward(place: NDArray[np.int64]) -> NDArray[np.float64]:
        u = np.ldexp(place.astype(np.float64), -53) - 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(0.0 - np.sign(u) * np.log1p(-2 * np.abs(u)), np.float64)

    def guess(outputs: NDArray[np.float64]) -> NDArray[np.int64]:
        u = -np.sign(outputs) * np.expm1(-np.abs(outputs)) / 2 + 0.5
        return np.rint(np.ldexp(u, 53)).astype(np.int64)

    chance = np.random.default_rng(5)
    own, other = (np.asarray(float_laplace(side, 4000, chance)) for side in (0, 1))
    assert support(~reachable(own, forward, guess)) == 0
    assert support(~reachable(other, forward, guess)) > 0.1
    with pytest.raises(PublicParameterError):
        reachable(own, forward, guess, around=0)


# --- the bound itself -------------------------------------------------------------------------------------------------


def response(epsilon: float, size: int, chance: Chance) -> tuple[NDArray[Any], NDArray[Any]]:
    """Randomized response that is exactly epsilon-private, as zeros and ones; ``size`` answers in the tested half."""
    share = 1 / (1 + math.exp(-epsilon))
    one, two = ((chance.random(2 * size) < p).astype(np.int64) for p in (share, 1 - share))
    return one, two


@pytest.mark.parametrize(("truth", "size"), [(2.0, 110), (1.25, 1151), (1.1, 6851)])
def test_samples_needed_to_see_more_than_one(truth: float, size: int) -> None:
    """In at least half of 40 runs; by the kit's figures of 1,151 and 6,851 samples a side at 99.9 %."""
    chance = np.random.default_rng(7)
    assert np.mean([bound(*response(truth, size, chance)).epsilon() > 1 for _ in range(40)]) >= 0.5


@pytest.mark.wide
def test_tightness_at_sixteen_thousand_is_94_hundredths() -> None:
    chance = np.random.default_rng(8)
    assert np.mean([bound(*response(1.0, 16_000, chance)).epsilon() for _ in range(20)]) > 0.93


def false_alarms(runs: int, key: int) -> int:
    """Tight audits at beta .1 that refute the truth: randomized response and geometric noise, three deltas."""
    chance, wrong = np.random.default_rng(key), 0
    for run in range(runs):
        if run % 10:
            found = bound(*response(math.log(3), 200, chance), delta=(0.0, 0.01), beta=0.1)
            wrong += found.refutes(PureDP(Fraction(math.log(3)))) is not None
        else:
            noise = discrete_laplace(1, 800, Replayed(f"{key} {run}"))
            found = bound(noise[:400], noise[400:] + 1, delta=(0.0, 0.01), beta=0.1)
            wrong += found.refutes(ONE) is not None
    return wrong


@pytest.mark.wide
def test_false_alarms_of_eight_hundred_tight_audits_stay_below_beta() -> None:
    """At beta .1 at most 80 are allowed; the noise repeats, so this is a count and not a test of chance."""
    wrong = false_alarms(800, 11)
    print(f"false alarms at beta 0.1: {wrong} of 800")
    assert wrong <= 80


@pytest.mark.audit
def test_false_alarms_of_twenty_thousand_tight_audits_stay_below_beta() -> None:
    wrong = false_alarms(20_000, 12)
    print(f"false alarms at beta 0.1: {wrong} of 20000")
    assert wrong <= 2000


@pytest.mark.wide
def test_testing_on_the_part_that_chose_breaks_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: one half orders, chooses and tests. Equal samples then look different far more often than beta."""
    chance = np.random.default_rng(13)
    pairs = [(chance.integers(0, 60, (400, 3)), chance.integers(0, 60, (400, 3))) for _ in range(60)]
    assert sum(bound(one, two, beta=0.1).epsilon() > 0 for one, two in pairs) <= 12
    honest = sampled._Sides.of

    def peeking(data: OutputParts) -> sampled._Sides:
        sides = honest(data)
        return sampled._Sides(sides.test, sides.test, sides.test)

    monkeypatch.setattr(sampled._Sides, "of", staticmethod(peeking))
    assert sum(bound(one, two, beta=0.1).epsilon() > 0 for one, two in pairs) > 12


def test_the_ends_of_clopper_and_pearson() -> None:
    assert (least_share(0, 10, 0.05), most_share(10, 10, 0.05)) == (0, 1)
    assert most_share(0, 100, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100))  # (1 - p)^100 = .05
    assert least_share(100, 100, 0.05) == pytest.approx(0.05 ** (1 / 100))
    assert least_share(731, 1000, 1e-3) < 0.731 < most_share(731, 1000, 1e-3)


def test_a_bound_holds_at_deltas_that_were_not_searched() -> None:
    found = audited(nan_passes)
    assert found.epsilon(0.5) > 5
    assert found.epsilon(0.999999) == 0
    assert found.best(0.5) is not None
    assert "kind" in str(found)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(PublicParameterError):
        bound([1] * 39, [1] * 39)
    for delta, beta in (([], 0.1), ([1.0], 0.1), ([0.0], 0.0), ([-0.1], 0.1)):
        with pytest.raises(PublicParameterError):
            bound([1] * 40, [1] * 40, delta=delta, beta=beta)


# --- a stated law -----------------------------------------------------------------------------------------------------


def test_samples_fit_their_law_and_no_other() -> None:
    drawn = [int(k) for k in discrete_laplace(4, 5000, Replayed("fit"))]

    def law(scale: float) -> Callable[[int], float]:
        ratio = math.exp(-1 / scale)
        return lambda k: (1 - ratio) / (1 + ratio) * ratio ** abs(k)

    assert fit(drawn, law(4.0)) > 0.01
    assert fit(drawn, law(3.4)) < 1e-6
    assert fit(drawn, law(4.7)) < 1e-6
    assert fit([*drawn, 10**6], law(4.0)) < 1e-6  # an output the law calls impossible


def test_p_values_of_a_law_are_no_smaller_than_they_say() -> None:
    """Of 1,000 samples at most 70 below .05, where 50 are allowed on average (more: probability 3e-3)."""
    chance = np.random.default_rng(17)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    low = sum(
        fit([int(k) for k in chance.choice(5, 400, p=shares)], lambda k: float(shares[k])) < 0.05 for _ in range(1000)
    )
    assert low <= 70


def test_a_law_beyond_its_claim_is_found() -> None:
    one, two = [0.75, 0.25], [0.25, 0.75]
    assert excess(PureDP(Fraction(11, 10)), one, two) is None
    assert excess(PureDP(Fraction(1)), one, two) is not None
    assert excess(ApproxDP(Fraction(1), Fraction(1, 10)), one, two) is None
