"""What survey estimates claim: unbiased, of the variance stated, and covered as often as said.

Coverage of shares is computed exactly, from the binomial law of what is heard; no chance is involved, and a wrong gap
of the coins (a mutant on either side) leaves the range. The rest is simulated on replayed streams; each test states
the level at which it rejects a right program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent import survey
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.local_mean import LocalMean
from reticent.survey import Design, device
from reticent.survey.design_record import chances
from reticent.survey.estimate import Interval, _shares, bounds, of_tally
from reticent.survey.methods import CHOICES
from reticent.survey.regression import chance_heard, information
from reticent.survey.tally import ReportTally

LEVEL = 1e-6
SHARES = np.linspace(0, 1, 101)
DESIGNS = {
    "two coins": survey.two_coins("x"),
    "warner, 1/2": survey.warner("x", epsilon="0.5"),
    "warner, 2": survey.warner("x", epsilon=2),
    "warner, 3": survey.warner("x", epsilon=3),
    "forced": survey.forced("x", truth="0.7", yes="0.3"),
}


def coverage(design: Design, n: int, interval: Interval, gap: float = 1.0, level: float = 0.95) -> NDArray[np.float64]:
    """P(the interval holds the share) for each of SHARES; ``gap``: what the law of the coins is off by."""
    hit, miss = (float(chance) for chance in chances(design))
    heard = np.arange(n + 1)
    low, high = ((end - miss) / (hit - miss) for end in bounds(heard, n, level, interval))
    middle = (hit + miss) / 2
    found = []
    for share in SHARES:
        chance = middle + gap * (miss + share * (hit - miss) - middle)
        found.append(float(scipy.stats.binom.pmf(heard, n, chance)[(low <= share) & (share <= high)].sum()))
    return np.array(found)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("name", DESIGNS)
def test_wilson_mapped_covers_93_to_97_percent_and_exact_at_least_95(name: str, n: int) -> None:
    wilson = coverage(DESIGNS[name], n, "wilson")
    assert wilson.min() >= 0.93
    assert wilson.max() <= 0.97
    exact = coverage(DESIGNS[name], n, "exact")
    assert exact.min() >= 0.95
    assert exact.mean() < 0.965


@pytest.mark.parametrize("gap", [0.8, 1.25], ids=["coins too noisy", "coins too quiet"])
def test_coins_that_are_not_those_of_the_design_leave_the_range(gap: float) -> None:
    assert coverage(DESIGNS["warner, 2"], 1000, "wilson", gap).min() < 0.93


@pytest.mark.parametrize("n", [50, 200])
def test_a_share_that_few_messages_say_is_covered_and_by_no_wider_an_interval_than_exact(n: int) -> None:
    """At epsilon 6 nobody's answer is heard n / 400 times; Wilson's own interval, a mutant, covered .88 and .91."""
    design, heard, square = survey.warner("x", epsilon=6), np.arange(n + 1), 1.96**2
    found = coverage(design, n, "wilson")
    assert found.min() > 0.925
    assert found.mean() < 0.96 < coverage(design, n, "exact").mean()
    centre, radius = (heard + square / 2) / (n + square), square * (heard * (n - heard) / n + square / 4)
    low, high = centre - np.sqrt(radius) / (n + square), centre + np.sqrt(radius) / (n + square)
    miss = float(chances(design)[1])
    assert scipy.stats.binom.pmf(heard, n, miss)[(low <= miss) & (miss <= high)].sum() < 0.92
    ours = bounds(heard, n, 0.95, "wilson")
    assert (ours[0] <= low + 1e-4).all()
    assert (ours[1] >= high - 1e-4).all()


@pytest.mark.parametrize(("epsilon", "n"), [("3", 50), ("5", 50), ("5", 200)])
def test_answers_together_keep_their_level_for_an_answer_of_nobody(epsilon: str, n: int) -> None:
    """Each of 20 may miss in .0025 of surveys. By Wilson's interval, a mutant, it was .0058 to .036."""
    design = survey.choice("x", [str(place) for place in range(20)], epsilon=epsilon, method="kary")
    hit, miss = (float(chance) for chance in chances(design))
    shares, heard = np.array([0.0, 0.02, 0.1, 0.3]), np.arange(n + 1)
    law = scipy.stats.binom.pmf(heard[:, None], n, miss + shares * (hit - miss))
    tallies = (ReportTally(n, np.array([one, n - one, *[0] * 18])) for one in heard.tolist())
    ends = np.array([_shares(design, one, "wilson", 0.95)[0].together for one in tallies])
    missed = (law * ((shares < ends[:, :1]) | (ends[:, 1:] < shares))).sum(axis=0)
    assert missed.max() <= 0.0025
    assert missed.max() > 0.0025 / 5
    low, high = ((end - miss) / (hit - miss) for end in bounds(heard, n, 0.9975, "wilson"))
    wilson = (law * ((shares < low[:, None]) | (high[:, None] < shares))).sum(axis=0)
    assert wilson.max() > 0.0025


@pytest.mark.wide
def test_the_level_asked_for_is_the_level_covered() -> None:
    for level in (0.8, 0.99):
        assert coverage(DESIGNS["two coins"], 1000, "wilson", level=level).mean() == pytest.approx(level, abs=0.005)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("method", CHOICES)
def test_shares_of_a_choice_are_unbiased_with_the_variance_stated(method: str) -> None:
    """120 runs of 4000 answers: chi-square of the sum of squared errors, at 1e-6; epsilon 1.6 and 0.6 are refused.

    Errors of different answers are correlated, so each answer is tested alone.
    """
    made: Sequence[Design] = [survey.choice("x", list("abcdef"), epsilon=e, method=method) for e in ("1", "1.6", "0.6")]  # type: ignore[arg-type]  # CHOICES
    truths = np.repeat(np.arange(6), [2000, 1000, 500, 300, 200, 0])
    share = np.bincount(truths, minlength=6) / 4000
    hit, miss = (float(chance) for chance in chances(made[0]))
    # the truths are fixed, so the variance is that of the coins alone
    stated = (share * hit * (1 - hit) + (1 - share) * miss * (1 - miss)) / (hit - miss) ** 2 / 4000
    for design, right in zip(made, (True, False, False), strict=True):
        stream = Replayed(f"choice {method}")
        errors = (
            np.array([[one.value for one in design.estimate(device.many(design, truths, stream))] for _ in range(120)])
            - share
        )
        p = [float(scipy.stats.chi2.cdf(total, 120)) for total in (errors**2).sum(axis=0) / stated]
        z = np.abs(errors.mean(axis=0)) / np.sqrt(stated / 120)
        outside = [min(one, 1 - one) < LEVEL for one in p]
        if right:
            assert not any(outside)
            assert z.max() < 5.5  # 4e-8 for each of the six
        else:
            assert sum(outside) >= 3


@pytest.mark.wide
@pytest.mark.parametrize("method", ["kary", "subset", "hashing"])
def test_intervals_of_several_answers_hold_together(method: str) -> None:
    """300 runs of 1000 answers: at least 95 %, judged at 1e-6; half as wide ones are refused."""
    design = survey.choice("x", list("abcdefgh"), epsilon=1, method=method)  # type: ignore[arg-type]  # the list above
    share = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05, 0, 0])
    generator = np.random.default_rng(1)
    stream = Replayed(f"together {method}")
    all_in = half_in = 0
    for _ in range(300):
        truths = generator.choice(8, 1000, p=share)
        result = design.estimate(device.many(design, truths, stream))
        ends = np.array([one.together for one in result])
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        all_in += bool((np.abs(share - middle) <= half).all())
        half_in += bool((np.abs(share - middle) <= half / 2).all())
    assert scipy.stats.binom.cdf(all_in, 300, 0.95) > LEVEL
    assert scipy.stats.binom.cdf(half_in, 300, 0.95) < LEVEL


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("method", "epsilon"), [("duchi", "1"), ("piecewise", "1"), ("piecewise", "3")])
def test_the_interval_of_a_mean_covers(method: str, epsilon: str) -> None:
    """1500 runs of 200 answers from a skew law: 93 to 97 %, judged at 1e-6; narrower and wider ones are refused."""
    design = survey.mean("x", 0, 10, epsilon=epsilon, method=method)  # type: ignore[arg-type]  # the list above
    generator, stream = np.random.default_rng(2), Replayed(f"mean {method} {epsilon}")
    inside = {0.7: 0, 1.0: 0, 1.4: 0}
    for _ in range(1500):
        result = design.estimate(device.many(design, 10 * generator.beta(1, 4, 200), stream))
        for factor in inside:
            inside[factor] += abs(result.value - 2) <= factor * (result.high - result.value)
    assert scipy.stats.binom.cdf(inside[1.0], 1500, 0.93) > LEVEL
    assert scipy.stats.binom.sf(inside[1.0] - 1, 1500, 0.97) > LEVEL
    assert scipy.stats.binom.cdf(inside[0.7], 1500, 0.93) < LEVEL
    assert scipy.stats.binom.sf(inside[1.4] - 1, 1500, 0.97) < LEVEL


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3"])
def test_the_interval_of_two_points_covers_at_every_mean(epsilon: str, n: int) -> None:
    """Exactly, from the binomial law: 93 to 97 % for Wilson's, 95 % at least for the exact one, means 0 to 10."""
    design = survey.mean("x", 0, 10, epsilon=epsilon, method="duchi")
    hit = float(design.distribution(10)["1"])
    law = [
        scipy.stats.binom.pmf(np.arange(n + 1), n, 1 - hit + share * (2 * hit - 1)) for share in np.linspace(0, 1, 41)
    ]
    kinds: tuple[Interval, Interval] = ("wilson", "exact")
    for interval in kinds:
        found = [of_tally(design, ReportTally(n, np.array([n - one, one])), interval=interval) for one in range(n + 1)]
        low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
        truths = np.linspace(0, 10, 41)
        covered = [float(pmf[(low <= at) & (at <= high)].sum()) for pmf, at in zip(law, truths, strict=True)]
        least, most = (0.93, 0.97) if interval == "wilson" else (0.95 - 1e-9, 1.0)
        assert least <= min(covered)
        assert max(covered) <= most
        if (epsilon, n, interval) == ("3", 200, "wilson"):  # the normal interval is refused by the same test
            value = np.array([one.value for one in found])
            half = np.array([math.hypot(one.noise, one.sampling) for one in found])
            inside = [abs(value - at) <= half for at in truths]
            assert min(float(pmf[held].sum()) for pmf, held in zip(law, inside, strict=True)) < 0.93


@pytest.mark.wide
def test_many_numbers_have_the_law_of_one() -> None:
    """Chi-square of 60,000 draws at 1e-6, for a number between two cells; another number is refused."""
    design = survey.mean("x", 0, 10, epsilon=1, method="duchi")
    heard = np.bincount(device.many(design, np.full(60_000, 3.3), Replayed("numbers")).astype(np.int64), minlength=2)
    for number, right in ((3.3, True), (2.8, False), (3.8, False)):
        law = design.distribution(number)
        expected = [60_000 * float(law[text]) for text in ("0", "1")]
        assert (scipy.stats.chisquare(heard, expected).pvalue > (LEVEL if right else 1e-4)) == right


@pytest.mark.wide
def test_the_noise_part_of_an_interval_is_that_of_the_coins() -> None:
    made = DESIGNS["two coins"]
    result = of_tally(made, ReportTally(1000, np.array([400, 600])))
    hit, miss, share = 0.75, 0.25, 0.3
    coins = (share * hit * (1 - hit) + (1 - share) * miss * (1 - miss)) / 0.25 / 1000
    assert result.noise == pytest.approx(1.959964 * math.sqrt(coins), rel=1e-6)


# --- heavy hitters ----------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("method", ["hashing", "hadamard"])
def test_heavy_hitters_are_found_and_false_ones_are_rare(method: str) -> None:
    """100 runs over 2000 answers: some false one is named in at most 5 % (judged at 1e-6), the heavy one in 95 %."""
    design = survey.choice("x", [f"site {n}" for n in range(2000)], epsilon=2, method=method)  # type: ignore[arg-type]  # the list above
    stream = Replayed(f"heavy {method}")
    sure = survey.heavy(design, device.many(design, np.arange(5000) % 1999, stream)).sure
    count = math.ceil(5000 * sure)
    held = np.concatenate([np.full(count, 1999), np.arange(5000 - count) % 500])
    false = missed = careless = 0
    for _ in range(100):
        sent = device.many(design, held, stream)
        found = {one.label for one in survey.heavy(design, sent, false=0.05).found}
        missed += "site 1999" not in found
        false += any(500 <= int(label[5:]) < 1999 for label in found)
        loose = {one.label for one in survey.heavy(design, sent, false=0.5).found}
        careless += any(500 <= int(label[5:]) < 1999 for label in loose)
    assert scipy.stats.binom.sf(false - 1, 100, 0.05) > LEVEL
    assert scipy.stats.binom.sf(missed - 1, 100, 0.05) > LEVEL
    assert scipy.stats.binom.sf(careless - 1, 100, 0.05) < 1e-3  # a threshold for one half is told from one for 5 %
    assert "hardly missed" in str(survey.heavy(design, device.many(design, held, stream)))


@pytest.mark.wide
def test_heavy_hitters_are_for_choices() -> None:
    with pytest.raises(PublicParameterError):
        survey.heavy(DESIGNS["two coins"], ["yes"])
    with pytest.raises(PublicParameterError):
        survey.heavy(survey.choice("x", ["a", "b"], epsilon=1), ["a"], false=0.9)


# --- logistic regression ----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_logistic_regression_recovers_coefficients_and_covers_them() -> None:
    """250 runs of 3000 answers: coverage of each of 3 coefficients 95 % (judged at 1e-6); naive ones are far off."""
    design, true = DESIGNS["warner, 2"], np.array([-0.5, 0.8, -0.4])
    generator, stream = np.random.default_rng(3), Replayed("logistic")
    inside, values = np.zeros(3), []
    for _ in range(250):
        matrix = np.column_stack([3 + generator.normal(size=3000), generator.integers(0, 2, 3000) * 10.0])
        scaled = np.column_stack([np.ones(3000), matrix[:, 0] - 3, matrix[:, 1] / 10])
        truths = np.where(generator.random(3000) < chance_heard(scaled, true, 1.0, 0.0), "yes", "no")
        fit = survey.logistic(design, device.many(design, truths, stream), matrix, names=["age", "urban"])
        want = np.array([true[0] - 3 * true[1], true[1], true[2] / 10])
        inside += [one.low <= goal <= one.high for one, goal in zip(fit.coefficients, want, strict=True)]
        values.append(fit["age"].value)
    assert all(scipy.stats.binom.cdf(count, 250, 0.95) > LEVEL for count in inside)
    assert all(scipy.stats.binom.sf(count - 1, 250, 0.97) > LEVEL for count in inside)
    error = float(np.std(values)) / math.sqrt(250)
    assert abs(float(np.mean(values)) - 0.8) < 5 * error + 0.02  # maximum likelihood has a bias of order 1 / n
    assert abs(float(np.mean(values)) - 0.8 * math.tanh(1.0)) > 5 * error  # what a fit that ignores the coins gives


@pytest.mark.wide
def test_the_information_is_the_curvature_of_the_likelihood() -> None:
    generator = np.random.default_rng(4)
    matrix = np.column_stack([np.ones(50), generator.normal(size=(50, 2))])
    at = np.array([0.3, -1.0, 0.5])
    chance = chance_heard(matrix, at, 0.9, 0.2)

    def expected(b: NDArray[np.float64]) -> float:
        told = chance_heard(matrix, b, 0.9, 0.2)
        return float((chance * np.log(told) + (1 - chance) * np.log1p(-told)).sum())

    step = 1e-4
    curvature = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        a, b = np.eye(3)[i] * step, np.eye(3)[j] * step
        curvature[i, j] = -(expected(at + a + b) - expected(at + a - b) - expected(at - a + b) + expected(at - a - b))
    assert information(matrix, at, 0.9, 0.2) == pytest.approx(curvature / (4 * step**2), rel=1e-4, abs=1e-4)


@pytest.mark.wide
def test_logistic_regression_refuses_what_has_no_answer() -> None:
    design = DESIGNS["two coins"]
    matrix = np.arange(40.0).reshape(20, 2)
    told = ["yes", "no"] * 10
    for answers, covariates in (
        (told, matrix[:5]),
        (told, np.column_stack([matrix[:, 0], matrix[:, 0]])),
        (told, np.ones((20, 1))),
        (told, np.full((20, 1), math.nan)),
        (["yes"] * 20, matrix[:, :1]),
        (told[:3], matrix[:3]),
    ):
        with pytest.raises(PublicParameterError):
            survey.logistic(design, answers, covariates)
    with pytest.raises(PublicParameterError, match="yes-no"):
        survey.logistic(survey.mean("x", 0, 1, epsilon=1), told, matrix)
    fit = survey.logistic(design, ["yes", "no", "no", "dunno"] * 300, np.arange(1200.0)[:, None] % 7)
    assert (fit.answers, fit.left_out) == (900, 300)
    assert "Covariates were not randomized" in str(fit)


@pytest.mark.wide
def test_the_scale_of_a_number_is_that_of_the_mechanism() -> None:
    made = survey.mean("x", 0, 10, epsilon=1, method="piecewise").mechanism
    assert isinstance(made, LocalMean)
    assert made.cells % 10 == 0  # whole numbers are on the grid
