"""The 24 systems of the sources: for each a public call and a figure, exact or derived, with the place that states it.

000 to 004 are the sources: 000 and 003 on robust statistics and propose-test-release, 001 on the definition and its
meaning, 002 on densities and the holdout, 004 on noise and usefulness. Releases draw real coins; what is compared there
is a charge, a count, or holds but for one run in 10^6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import lab, learning, survey
from reticent.data.schema import Column
from reticent.exact.grid import Grid
from reticent.learning import Level
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.outcome import Reply
from reticent.privacy import compose, ptr
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, PureDP
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.regression.blocks import Blocks
from reticent.statistics.regression.robust import robust_regression
from reticent.statistics.robust.density_test import DensityTest
from reticent.statistics.robust.scale_ptr import scale
from reticent.study.study import Study
from reticent.synthesis import bernstein, bounds

ONE, HALF, DELTA = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)
LN3 = Fraction("1.09861228866")
NEAR, REPLACED = Adjacency("add_remove"), Adjacency("substitute")
N = 20_000
RNG = np.random.default_rng(24)
X = RNG.normal(0.0, 1.0, N)
TABLE = {
    "x": X,
    "y": 2.0 * X + RNG.normal(0.0, 1.0, N),
    "z": RNG.normal(0.0, 1.0, N),
    "u": RNG.random(N),
    "g": RNG.choice(["a", "b"], N),
    "b": (X > 0).astype(int),
}
FINE = rt.real(resolution="0.001", missing=0, complete=True)
COLUMNS: dict[str, Column] = {
    **dict.fromkeys("xyz", FINE),
    "u": rt.real(0, 1, missing=0, complete=True),
    "g": rt.category(["a", "b"], complete=True),
    "b": rt.integer(0, 1, missing=0, complete=True),
}


def study(kind: Kind = "substitute") -> Study:
    budget = ApproxDP(Fraction(500), Fraction(1, 1000))
    return rt.study(TABLE, adjacency=kind, columns=COLUMNS, budget=budget, override="a test of public rows")


def leaves(tree: Guarantee) -> Iterator[Guarantee]:
    if not tree.parts:
        yield tree
    for part in tree.parts:
        yield from leaves(part)


def epsilon_delta(loss: Loss) -> tuple[Fraction, Fraction]:
    match loss:
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case _:
            raise AssertionError(loss)


def only(question: rt.Answer | str, epsilon: int = 5, delta: str | None = "1e-6") -> rt.Answer:
    """One question under substitution, answered; its charge is within what was asked."""
    release = study().release([str(question)], epsilon=epsilon, delta=delta)
    spent = epsilon_delta(release.guarantee.loss)
    assert spent[0] <= epsilon
    assert spent[1] <= Fraction(delta or 0)
    return release.answers[0]


def test_01_both_definitions_and_both_adjacencies() -> None:
    """001 Definition 1; 002 section 2; 004 Definition 2.1: e^epsilon is reached; a count is free where n is public."""
    law = lab.neighbours(lab.geometric(1, "1/2"), 17, 18)
    assert law.largest_ratio == pytest.approx(math.exp(0.5))
    assert study("add_remove").plan(["count"], epsilon=1).guarantee.loss == PureDP(ONE)
    assert study("substitute").plan(["count"], epsilon=1).guarantee.loss == PureDP(Fraction(0))
    assert survey.one_sided("?", truth=HALF).guarantee.loss == ApproxDP(Fraction(0), HALF)


def test_02_group_privacy_with_delta() -> None:
    """001, Fact on groups: k epsilon; with a delta e^{(k-1) epsilon} + ... + 1 of them, and not k."""
    loss = lab.group(ApproxDP(ONE, DELTA), size=3)
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon == 3
    assert float(loss.delta) == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-5)


def test_03_post_processing_and_composition_basic_adaptive_advanced() -> None:
    """001; 003 Theorem 27; advanced: sqrt(2 k ln(1/delta)) eps + k eps (e^eps - 1) / (e^eps + 1), at most."""
    part = lab.geometric(1, "1/10")
    rows = {(name, times): epsilon for name, times, epsilon in lab.compose(part, times=100, delta="1e-6").rows()}
    assert rows["basic", 100] == 10
    advanced = rows["advanced", 100]
    assert advanced is not None
    printed = math.sqrt(200 * math.log(1e6)) * 0.1 + 100 * 0.1 * math.expm1(0.1)
    assert 0.95 * printed < float(advanced) <= printed * (1 + 1e-9)
    assert compose.processed(part.guarantee, label="rounded").loss == part.guarantee.loss


def test_04_randomized_response_two_coins_one_sided_and_its_estimator() -> None:
    """001: two coins are ln 3; 002 section 2: the estimator 2 (share of yes) - 1/2; one-sided has no epsilon."""
    coins = survey.two_coins("?")
    assert float(epsilon_delta(coins.guarantee.loss)[0]) == pytest.approx(math.log(3))
    found = coins.estimate(["yes"] * 400 + ["no"] * 600)
    assert found.value == pytest.approx(2 * 0.4 - 0.5)
    assert found.low < found.value < found.high
    assert found.design_effect == pytest.approx(0.24 / 0.25 / (0.3 * 0.7), rel=0.05)
    assert survey.one_sided("?", truth="1/2").guarantee.loss == ApproxDP(Fraction(0), HALF)


def test_05_laplace_noise_exact_on_a_public_grid() -> None:
    """000; 002 section 3; 004 Theorem 2.4: scale D / epsilon; P(|Y| > t) = e^{-t / b}, up to a step of the grid."""
    made = Laplace(L1(ONE, NEAR), HALF, Grid(-20))
    assert float(made.scale) == pytest.approx(2.0, abs=1e-5)
    assert float(made.radius(0.05)) == pytest.approx(2.0 * math.log(20), abs=1e-4)


def test_06_geometric_noise() -> None:
    """004 Theorem 2.7: P(k) = (1 - a) / (1 + a) a^|k| with a = e^{-epsilon}."""
    law = lab.neighbours(lab.geometric(1, "1/2"), 0, 1)
    a = math.exp(-0.5)
    told = dict(zip(law.outputs, law.masses, strict=True))
    for k in (0, 1, -3):
        assert told[str(k)][0] == pytest.approx((1 - a) / (1 + a) * a ** abs(k))


def test_07_usefulness_with_exact_tails() -> None:
    """004 Theorem 2.8, whose printed bound 2.9 is too small at epsilon .9, beta e^-2.61: the least integer is 3."""
    made = Geometric(L1(ONE, NEAR), Fraction("0.9"))
    assert made.radius(math.exp(-2.61)) == 3
    ratio = math.exp(-0.9)
    assert 2 * ratio**4 / (1 + ratio) <= math.exp(-2.61) < 2 * ratio**3 / (1 + ratio)


def test_08_posterior_odds_power_of_any_test_and_the_incentive() -> None:
    """001 and 002 section 2: odds move by e^epsilon, here 3: 1 in 10 to 1 in 4; at 5 % false alarms 15 % are found."""
    ((_, prior, low, high),) = lab.odds(PureDP(LN3)).rows([0.1])
    assert prior == 0.1
    assert high == pytest.approx(0.25)
    assert low == pytest.approx(1 / 28)
    certificate = study("add_remove").release(["count"], epsilon=LN3).certificate
    told = certificate.explain()
    assert "finds at most 15 % of those who are" in told
    assert "taking part multiplies its chance, and any expected cost, by at most 3" in told


def test_09_exponential_mechanism() -> None:
    """002 section 6: a candidate has mass in proportion to exp(-epsilon score / (2 D))."""
    made = Exponential(Linf(ONE, NEAR), Fraction(2))
    scores = Candidates(np.array([0, 1, 3], np.int64), np.ones(3, np.int64))
    law = lab.neighbours(made, scores, scores)
    weights = np.exp(-np.array([0.0, 1.0, 3.0]))
    assert [mass for mass, _ in law.masses] == pytest.approx((weights / weights.sum()).tolist())


def test_10_a_data_set_under_the_kolmogorov_smirnov_distance() -> None:
    """002 section 6.1: a made-up sample of k records, each a k-th of the mass, drawn by their distance to the table."""
    law = only("density(u, method=ks, size=60)", delta=None).density
    assert law is not None
    masses = np.asarray(getattr(law, "masses")) * 60  # noqa: B009 - a Density is a Law and more
    assert np.allclose(masses, np.rint(masses), atol=1e-9)
    assert masses.sum() == pytest.approx(60)
    assert float(law.quantile([0.5])[0]) == pytest.approx(0.5, abs=0.1)


def test_11_a_private_histogram_and_sampling_from_it() -> None:
    """002 section 6.2: noise for a sensitivity of 2 where a row is replaced, of 1 where it comes or goes."""
    cases: list[tuple[Kind, str]] = [("substitute", "2"), ("add_remove", "1")]
    for kind, moved in cases:
        release = study(kind).release(["density(u, method=histogram, cells=8)"], epsilon=5)
        first, *_ = leaves(release.guarantee)  # beside it stands the share of cells that cannot be read
        assert first.parameter("sensitivity") == moved
        law = release.answers[0].density
        assert law is not None
        assert float(law.quantile([0.5])[0]) == pytest.approx(0.5, abs=0.03)
        drawn = np.asarray(law.sample(500))
        assert drawn.size == 500
        assert drawn.min() >= 0
        assert drawn.max() <= 1


def test_12_orthogonal_series() -> None:
    """002 section 6.3: one geometric mechanism on coefficients; of a uniform law all but the first are near zero."""
    answer = only("density(u, method=series, degree=4)", delta=None)
    assert answer.density is not None
    assert answer.density.pdf([0.25, 0.5, 0.75]) == pytest.approx([1.0] * 3, abs=0.1)


def test_13_kernel_density_by_a_gaussian_process() -> None:
    """002 section 6.4: with a delta the noise is Gaussian, one width everywhere."""
    release = study().release(["density(u, method=kernel, bandwidth=0.1, delta=1e-9)"], epsilon=1)
    epsilon, delta = epsilon_delta(release.guarantee.loss)
    assert Fraction(99, 100) < epsilon <= 1
    assert delta == Fraction(1, 10**9)
    first, *_ = leaves(release.guarantee)
    assert first.by.name == "gaussian"
    law = release.answers[0].density
    assert law is not None
    assert law.pdf([0.5]) == pytest.approx([1.0], abs=0.15)


def test_14_bernstein_mechanism_and_what_is_made_with_it() -> None:
    """002 section 6.4: values on a lattice of k + 1 points; a linear function is its own polynomial, noise aside."""
    from reticent.entropy import system

    values = np.linspace(0.0, 1.0, 9)
    made = bernstein.release_function(values, sensitivity=Linf(DELTA, NEAR), epsilon=ONE, entropy=system())
    assert made.at([[0.3], [0.7]]) == pytest.approx([0.3, 0.7], abs=0.01)  # nine noises of scale 9e-6
    assert bernstein.amplified(8, 1, 1) == 1.0
    assert learning.stability_of_risk(1, "1/10", 1000) == Fraction(2 * 10, 1000)
    columns = study().xy(["u"], "b")
    for model in (learning.BernsteinClassifier(epsilon=1), learning.LogisticRegression(epsilon=1)):
        assert epsilon_delta(model.fit(*columns).guarantee_.loss)[0] <= 1


def test_15_lower_bounds() -> None:
    """002 section 5; ours for a grid: fewer than ln((G - 1) c / (1 - c)) / epsilon records find no point of G."""
    bound = bounds.PointMass(1.0, 0.25, grid=2**64)
    assert bound.least_n(0.5) == pytest.approx(math.log(2.0**64 - 1), abs=1.2)
    assert bounds.PointMass(1.0, 0.25).least_n(0.5) == math.inf
    assert bounds.MeanRisk(columns=5, epsilon=1.0).least(1000) > 0


def test_16_reusable_holdout() -> None:
    """002 section 7: a round, and no check in it, is charged; an agreeing check shows the training mean itself."""
    of = study()
    before = epsilon_delta(of.left())[0]
    with of.holdout(["b"], epsilon=4, rounds=2, threshold="0.2") as session:
        for _ in range(3):
            assert session.check(Level("b"), claimed="0.5").value == 0.5
    assert before - epsilon_delta(of.left())[0] == 2


def test_17_propose_test_release() -> None:
    """003 Theorem 17 and Example 38: (2^p + 3 p + 1) epsilon of steps declared so; computed of noise it is charged."""
    one = ptr.declared(ONE, DELTA, REPLACED)
    tree = ptr.in_stages([ptr.parallel([ptr.cascade([[one, one]])] * 2), ptr.cascade([[one] * 4])])
    assert tree.loss == ApproxDP(Fraction(11), 8 * DELTA)
    with pytest.raises(rt.PublicParameterError, match="declared"):
        ptr.chargeable(tree)


def printed(levels: int) -> tuple[Fraction, Fraction]:
    """003 Theorem 29 for so many levels of two discretisations, each step at epsilon 1 and its own delta."""
    one = ptr.declared(ONE, DELTA, REPLACED)
    epsilon, delta = epsilon_delta(ptr.cascade([[one, one]] * levels).loss)
    return epsilon, delta / DELTA


def inside(answer: rt.Answer, place: int, truth: float, width: float) -> bool:
    """Whether a reply holds the truth in five times its interval, which is no wider than ``width``."""
    outcome = answer.cells[place].outcome
    assert isinstance(outcome, Reply), outcome
    found = outcome.value
    return abs(found.value - truth) <= 5 * (found.high - found.low) / 2 and found.high - found.low < width


def test_18_scale_s_and_the_iqr() -> None:
    """000 and 003 Theorem 7: 3 epsilon, 2 delta as printed; here a quartile distance of 1.349 of a normal column."""
    assert printed(1) == (Fraction(3), Fraction(2))
    assert inside(only("scale(x)"), 0, 1.349, 0.2)
    assert inside(only("iqr(x, method=S)"), 0, 1.349, 0.2)


def test_19_trimmed_mean_tm() -> None:
    """003 section 5: 0 of a symmetric column; its certified noise is far below sampling at n = 20,000."""
    answer = only("trimmed_mean(x, method=TM)")
    assert inside(answer, 0, 0.0, 0.1)
    assert answer.noise < answer.sampling


def test_20_median_m() -> None:
    """003 Theorem 12: 6 epsilon, 4 delta as printed; 4 epsilon where the discretisation that replied is hidden."""
    assert printed(2) == (Fraction(6), Fraction(4))
    one = ptr.declared(ONE, DELTA, REPLACED, law="median")
    hidden = compose.in_sequence([ptr.first_reply([one, one], shown="value")] * 2)
    assert epsilon_delta(hidden.loss)[0] == 4
    assert inside(only("median(x, method=M)"), 0, 0.0, 0.3)


def test_21_short_cut_regression_r_s() -> None:
    """003 Example 36: 6 p epsilon, by Corollary 35; a slope of 2."""
    one = ptr.declared(ONE, DELTA, REPLACED, table="partition")
    for p in (2, 3):
        assert epsilon_delta(ptr.parallel([ptr.cascade([[one, one]] * 2)] * p).loss) == (Fraction(6 * p), 4 * p * DELTA)
    assert inside(only("regress(y ~ x, method=R_S)"), 1, 2.0, 0.8)


def test_22_robust_regression_r_h_for_any_number_of_columns() -> None:
    """003 Theorem 17 for p = 2: 11 epsilon; ours 3 p + 1 steps with corrected noise, for two columns and three."""
    assert inside(only("regress(y ~ x, method=R_H)"), 1, 2.0, 2.0)
    for p in (2, 3):
        blocks = Blocks(N // 2, (0,) * p, REPLACED)
        spread = scale(N // 2, REPLACED, test=ONE, release=ONE, delta=DELTA)
        made = robust_regression(N, blocks, spread, test=ONE, release=ONE, delta=DELTA)
        assert epsilon_delta(made.guarantee.loss)[0] == 3 * p + 1


def test_23_the_calculator_of_cascades() -> None:
    """003 sections 8 and 9: Theorem 29, Corollaries 32 and 35, Theorem 37, each by name in the proof."""
    one = ptr.declared(ONE, DELTA, REPLACED, law="one law")
    drawn = ptr.declared(ONE, DELTA, REPLACED, table="partition")
    cases = {
        "ptr_cascade": (ptr.cascade([[one, one], [one]]), 2 + 3),
        "ptr_parallel": (ptr.parallel([ptr.cascade([[one]])] * 2), 2 * 2),
        "ptr_general_parallel": (ptr.parallel([ptr.cascade([[drawn]])] * 2), 2 * 2),
        "ptr_stages": (ptr.in_stages([ptr.cascade([[one]]), ptr.cascade([[one, one]])]), 2 + 3),
        "ptr_first_reply": (ptr.first_reply([one, one], shown="value"), 2),
        "ptr_one_test": (ptr.one_test(one), 2),
    }
    for name, (tree, epsilons) in cases.items():
        assert tree.by.name == name
        assert epsilon_delta(tree.loss)[0] == epsilons


def test_24_private_number_of_rows_density_test_and_tests_of_hypotheses() -> None:
    """003 sections 2 and 10: n with noise of scale 1 / epsilon; the density at the median; private tests."""
    release = study("add_remove").release(
        ["count", rt.test("x", kind="density", against="0.2"), "test(x, kind=density, density=0.8)", "test(u ~ g)"],
        epsilon=8,
    )
    assert release["count"].value == pytest.approx(N, abs=10)  # noise of scale 1/2
    _, dense, flat, means = release.answers
    assert [rt_answer.p_value <= 0.05 for rt_answer in (dense, flat)] == [True, False]  # a density of .3989
    assert 0 <= means.p_value <= 1
    test: Any = DensityTest((5, 9), 3, NEAR, ONE, 4)
    assert test.guarantee.loss == PureDP(ONE)
    assert float(test.alpha) == pytest.approx(math.exp(-4) / (1 + math.exp(-1)))


def test_every_system_has_a_test_here() -> None:
    numbered = [name.split("_")[1] for name in globals() if name.startswith("test_") and name[5:7].isdigit()]
    assert numbered == [f"{place:02}" for place in range(1, 25)]
