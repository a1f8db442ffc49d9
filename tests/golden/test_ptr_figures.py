"""Figures of 000 and 003 for propose-test-release, and ours beside them. Every figure comes out of a theorem.

eps and delta are whatever hypothesis draws: a figure is a statement about coefficients.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss
from reticent.privacy.ptr import PtrStep, as_declared, cascade, declared, first_reply, in_stages, one_test, parallel
from reticent.privacy.sensitivity import L1

REPLACE = Adjacency("substitute")
UNSAFE = Fraction(1, 10**6)

epsilons = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=100)
deltas = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10**4), max_denominator=10**9)
coefficients = st.integers(1, 5)


def step(epsilon: Fraction, delta: Fraction, table: ptr.Table = "same", law: str = "value") -> PtrStep:
    return declared(epsilon, delta, REPLACE, table=table, law=law)


def tight(one: PtrStep) -> Guarantee:
    """Two discretisations, the one that replied not shown."""
    return first_reply([one, one], shown="value")


@given(epsilons, deltas)
def test_scale_is_three_epsilon_in_the_paper_and_two_where_the_discretisation_stays_hidden(
    epsilon: Fraction, delta: Fraction
) -> None:
    """000 and the proof of 003 Theorem 7: 3 eps (its statement says 4). Theorem 29 with K = 1, J = 2."""
    one = step(epsilon, delta)
    assert cascade([[one, one]]).loss == ApproxDP(3 * epsilon, 2 * delta)
    assert tight(one).loss == ApproxDP(2 * epsilon, 2 * delta)
    assert one_test(one).loss == ApproxDP(2 * epsilon, delta)
    assert first_reply([one, one], shown="value and step") == cascade([[one, one]])


@given(epsilons, deltas)
def test_median_is_six_epsilon_in_the_paper_and_four_tight(epsilon: Fraction, delta: Fraction) -> None:
    """003 Theorem 12: K = 2, J = (2, 2)."""
    one = step(epsilon, delta)
    assert cascade([[one, one], [one, one]]).loss == ApproxDP(6 * epsilon, 4 * delta)
    assert in_sequence([tight(one), tight(one)]).loss == ApproxDP(4 * epsilon, 4 * delta)
    assert in_sequence([one_test(one), one_test(one)]).loss == ApproxDP(4 * epsilon, 2 * delta)


@given(epsilons, deltas, coefficients)
def test_short_cut_regression_is_six_p_epsilon_in_the_paper_and_four_p_tight(
    epsilon: Fraction, delta: Fraction, p: int
) -> None:
    """003 Example 36: L = p medians of blocks of one random partition, by Corollary 35."""
    one = step(epsilon, delta, table="partition")
    paper = parallel([cascade([[one, one], [one, one]]) for _ in range(p)])
    assert paper.loss == ApproxDP(6 * p * epsilon, 4 * p * delta)
    assert paper.by == (ptr.GENERAL_PARALLEL if p > 1 else ptr.GENERAL_CASCADE)
    ours = parallel([in_sequence([tight(one), tight(one)]) for _ in range(p)])
    assert ours.loss == ApproxDP(4 * p * epsilon, 4 * p * delta)
    fewest = parallel([in_sequence([one_test(one), one_test(one)]) for _ in range(p)])
    assert fewest.loss == ApproxDP(4 * p * epsilon, 2 * p * delta)


@given(epsilons, deltas, coefficients)
def test_regression_of_declared_steps_is_two_to_the_p_plus_three_p_plus_one(
    epsilon: Fraction, delta: Fraction, p: int
) -> None:
    """003 Theorem 17 (11 eps at p = 2) and Example 38, by Theorem 37, for steps declared PTR."""
    scale, cell = step(epsilon, delta, table="partition"), step(epsilon, delta)
    whole = in_stages([parallel([cascade([[scale, scale]]) for _ in range(p)]), cascade([[cell] * 2**p])])
    assert whole.loss == ApproxDP((2**p + 3 * p + 1) * epsilon, (2 * p + 2**p) * delta)
    assert whole.by == ptr.STAGES
    assert p != 2 or whole.loss == ApproxDP(11 * epsilon, 8 * delta)


def cell_step(epsilon: Fraction, p: int, *, scale: Fraction) -> PtrStep:
    """A test of R_H from its noise: the distance has sensitivity 2, the release p coordinates at epsilon each."""
    test = Geometric(L1(Fraction(2), REPLACE), 2 / scale).guarantee
    each = Geometric(L1(Fraction(1), REPLACE), epsilon).guarantee
    return ptr.measured(test, in_sequence([each] * p), margin=ptr.least_margin(scale, UNSAFE), law="solution")


@given(epsilons, coefficients)
def test_regression_as_printed_is_refused_the_figure_of_declared_steps(epsilon: Fraction, p: int) -> None:
    """003 prints Lap(1/eps) for a distance of sensitivity 2, and p coordinates at eps: neither is in Definition 24."""
    printed = cell_step(epsilon, p, scale=1 / epsilon)
    with pytest.raises(PublicParameterError, match="test costs"):
        as_declared(printed, epsilon)
    repaired = cell_step(epsilon, p, scale=2 / epsilon)
    if p == 1:
        assert as_declared(repaired, epsilon).release == epsilon
    else:
        with pytest.raises(PublicParameterError, match="a reply costs"):
            as_declared(repaired, epsilon)


@given(epsilons, deltas, coefficients)
def test_regression_costs_what_its_noise_says(epsilon: Fraction, delta: Fraction, p: int) -> None:
    scale = step(epsilon, delta, table="partition")
    printed = cell_step(epsilon, p, scale=1 / epsilon)
    repaired = cell_step(epsilon, p, scale=2 / epsilon)
    assert 0 < repaired.delta <= UNSAFE

    def cost(scales: Guarantee, last: Guarantee) -> Fraction:
        return epsilon_of(in_stages([parallel([scales] * p), last]).loss) / epsilon

    paper, ours = cascade([[scale, scale]]), tight(scale)
    assert cost(paper, cascade([[printed] * 2**p])) == 2 * 2**p + p + 3 * p  # 16 at p = 2
    assert cost(paper, cascade([[repaired] * 2**p])) == 2**p + 4 * p  # 12 at p = 2
    assert cost(ours, first_reply([printed] * 2**p, shown="value")) == max(2 * 2**p, 2 + p) + 2 * p  # 12 at p = 2
    assert cost(ours, first_reply([repaired] * 2**p, shown="value")) == max(2**p, 1 + p) + 2 * p  # 8 at p = 2
    assert cost(ours, one_test(repaired)) == 3 * p + 1  # 7 at p = 2
    last = in_stages([parallel([one_test(scale)] * p), one_test(repaired)])
    assert last.loss == ApproxDP((3 * p + 1) * epsilon, p * delta + repaired.delta)


def epsilon_of(loss: Loss) -> Fraction:
    assert isinstance(loss, ApproxDP)
    return loss.epsilon


@given(epsilons, deltas, st.integers(1, 6))
def test_another_noise_magnitude_costs_one_test_each_and_one_release(
    epsilon: Fraction, delta: Fraction, proposals: int
) -> None:
    """003 section 4, "or suggests another noise magnitude": the magnitude shows in the value, so Theorem 29."""
    magnitudes = [step(epsilon, delta, law=f"noise {2**k}") for k in range(proposals)]
    assert cascade([magnitudes]).loss == ApproxDP((proposals + 1) * epsilon, proposals * delta)
    if proposals > 1:
        with pytest.raises(PublicParameterError, match="different laws"):
            first_reply(magnitudes, shown="value")


@given(epsilons, deltas)
def test_a_random_subsample_is_a_neighbouring_table(epsilon: Fraction, delta: Fraction) -> None:
    """003 section 9: without replacement, the same coins give tables that differ in at most one row."""
    one, drawn = step(epsilon, delta), step(epsilon, delta, table="subsample")
    mixed = cascade([[drawn, drawn], [one]])
    assert mixed.loss == ApproxDP(5 * epsilon, 3 * delta)
    assert mixed.by == ptr.GENERAL_CASCADE
    assert cascade([[one, one], [one]]).by == ptr.CASCADE
    assert parallel([mixed, mixed]).by == ptr.GENERAL_PARALLEL


def test_the_thresholds_of_delta_one_in_a_million() -> None:
    """Laplace noise needs more than 14.1, 27.2, 132.2 at eps 1, 1/2, 1/10 (u = 1): the next integer, u + margin."""
    found = [ptr.least_margin(1 / epsilon, Fraction(1, 10**6)) for epsilon in map(Fraction, ("1", "1/2", "1/10"))]
    assert [1 + margin for margin in found] == [15, 28, 133]
