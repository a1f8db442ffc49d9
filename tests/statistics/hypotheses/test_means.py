"""Two means from noisy soft counts: Welch's statistic without noise, level with it, power, mutants on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
import scipy

from reticent.data.schema import grid_by_width
from reticent.statistics.hypotheses.means import BACK, Means, fit, law, soft
from reticent.statistics.hypotheses.null import Floats, least_seen
from reticent.statistics.moments.moment_step import UNIT, design
from tests.statistics.hypotheses.levels import least, most, noise, too_often

RUNS, DRAWS, LEVEL = 400, 199, 0.05
Draw = Callable[[np.random.Generator, int], Floats]

LAWS: dict[str, Draw] = {
    "normal": lambda generator, n: np.clip(generator.normal(0.0, 1 / 3, n), -1.0, 1.0),
    "skewed": lambda generator, n: np.clip(generator.lognormal(0.0, 1.0, n) / 10 - 1, -1.0, 1.0),
    "rare": lambda generator, n: np.where(generator.random(n) < 0.05, 1.0, -1.0),
    "constant": lambda generator, n: np.full(n, 0.3),
}


def asked(scale: float, alike: int = 1) -> Means:
    """On [-1, 1], so that y is the value itself."""
    return Means(("a", "b"), 1.0, scale, design("soft", 2, grid_by_width(Fraction(-1), Fraction(1))), alike)


def counts(draw: Draw, n: int, share: float, scale: Fraction, name: str, shift: float = 0.0, alike: int = 1) -> Floats:
    """Noisy soft counts of two groups, ``share`` of n in the first, whose values are moved by ``shift``."""
    generator, found = np.random.default_rng([n, alike]), np.empty((RUNS, 2, 3))
    for run in range(RUNS):
        first = int(generator.binomial(n // alike, share))
        one, other = draw(generator, first) + shift, draw(generator, n // alike - first)
        found[run] = alike * soft(np.clip(one, -1, 1)).sum(0), alike * soft(other).sum(0)
    return found + noise(scale * UNIT, found.shape, name) / UNIT


def rejections(test: Means, found: Floats) -> Iterator[bool]:
    return (test.test(table, DRAWS, f"{run}")[1].value <= LEVEL for run, table in enumerate(found))


def rejected(test: Means, found: Floats) -> int:
    return sum(rejections(test, found))


def test_soft_counts_give_back_number_sum_and_squares() -> None:
    values = np.array([-1.0, -0.3, 0.2, 0.9])
    assert soft(values).sum(0) @ BACK.T == pytest.approx([4.0, values.sum(), (values**2).sum()])
    exact = design("soft", 2, grid_by_width(Fraction(-1), Fraction(1)))
    assert np.array(exact.back, float) == pytest.approx(BACK)


def test_without_noise_the_statistic_is_welchs_about_the_common_mean() -> None:
    generator = np.random.default_rng(8)
    one, other = generator.uniform(-1, 1, 70), generator.uniform(-0.5, 1, 110)
    found = fit(np.stack([soft(one).sum(0), soft(other).sum(0)]), 0.0, 1)
    common = np.concatenate([one, other]).mean()
    spread = ((one - common) ** 2).mean() / 70 + ((other - common) ** 2).mean() / 110
    assert float(found.statistic) == pytest.approx((one.mean() - other.mean()) ** 2 / spread)
    welch = scipy.stats.ttest_ind(one, other, equal_var=False)
    simulated = asked(0.0).test(np.stack([soft(one).sum(0), soft(other).sum(0)]))[1].value
    assert simulated == pytest.approx(welch.pvalue, abs=0.012)


@pytest.mark.wide
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.1), (-0.8, 0.05), (0.3, 0.8), (0.5, 1e-4), (-0.99, 0.019)])
def test_the_law_simulated_has_the_moments_of_the_beta_law(mean: float, variance: float) -> None:
    values, weights = law(mean, variance)
    assert weights.sum() == pytest.approx(1.0)
    assert float(np.abs(values).max()) <= 1.0
    assert float(values @ weights) == pytest.approx(mean, abs=1e-9)
    assert float((values - mean) ** 2 @ weights) == pytest.approx(variance, rel=0.03)
    if variance > 1e-3:
        centre, spread = (1 + mean) / 2, min(variance / 4, 0.98 * (1 - mean**2) / 4)
        size = centre * (1 - centre) / spread - 1
        third = float((values - mean) ** 3 @ weights) / float((values - mean) ** 2 @ weights) ** 1.5
        assert third == pytest.approx(float(scipy.stats.beta(centre * size, (1 - centre) * size).stats("s")), abs=1e-6)


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(
    ("n", "share", "scale"), [(200, 0.5, 1), (200, 0.1, 10), (2_000, 0.05, 1), (2_000, 0.5, 10), (10_000, 0.01, 3)]
)
def test_level(kind: str, n: int, share: float, scale: int) -> None:
    """Rejections at .05 of 400 tables, skewed and with small groups: not above what the level leaves, at error 1e-4."""
    found = counts(LAWS[kind], n, share, Fraction(scale), f"level {kind} {n} {scale}")
    assert rejected(asked(float(scale)), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("n", [3_000, 20_000])
def test_a_small_group_that_varies_beside_a_large_one_that_does_not_keeps_the_level(n: int) -> None:
    """Their pooled variance is near 0, and said of the small group it rejected 16 to 24 tables of 100."""
    ends, found = np.random.default_rng(n), np.empty((RUNS, 2, 3))
    for run in range(RUNS):
        found[run] = soft(np.zeros(n)).sum(0), soft(ends.choice([-1.0, 1.0], 80)).sum(0)
    found += noise(Fraction(2) * UNIT, found.shape, f"small and wide {n}") / UNIT
    assert rejected(asked(2.0), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
def test_a_law_without_the_noise_is_refuted_and_one_with_too_much_is_seen() -> None:
    found = counts(LAWS["normal"], 400, 0.4, Fraction(10), "mutants")
    assert least(RUNS, LEVEL) <= rejected(asked(10.0), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(0.0), found), RUNS, LEVEL)
    assert too_often(rejections(asked(7.0), found), RUNS, LEVEL)
    assert rejected(asked(20.0), found) < least(RUNS, LEVEL)


@pytest.mark.wide
def test_a_person_in_both_groups_keeps_the_level_and_a_law_of_single_ones_does_not() -> None:
    """The worst case: who is high in one group is low in the other, which doubles the variance of the difference."""
    generator, found = np.random.default_rng(12), np.empty((RUNS, 2, 3))
    for run in range(RUNS):
        values = np.clip(generator.normal(0.0, 1 / 3, 500), -1.0, 1.0)
        found[run] = soft(values).sum(0), soft(-values).sum(0)
    found += noise(Fraction(2 * UNIT), found.shape, "both") / UNIT
    assert rejected(asked(2.0, alike=2), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(2.0), found), RUNS, LEVEL)


@pytest.mark.wide
def test_power_is_what_the_plan_says_and_less_with_twice_the_noise() -> None:
    test = asked(10.0)
    effect = least_seen(lambda at: test.power(at, 1_000, LEVEL), 2.0)
    assert effect is not None
    found = counts(LAWS["normal"], 1_000, 0.5, Fraction(10), "power", effect)
    assert least(RUNS, 0.74) <= rejected(test, found) <= most(RUNS, 0.88)
    doubled = counts(LAWS["normal"], 1_000, 0.5, Fraction(20), "twice", effect)
    assert rejected(asked(20.0), doubled) < least(RUNS, 0.74)


@pytest.mark.wide
def test_the_interval_covers() -> None:
    """95 % of 400 differences, at error 1e-4; and one that leaves out the noise does not."""
    found = counts(LAWS["normal"], 400, 0.3, Fraction(8), "cover", 0.1)
    effects = [asked(8.0)._difference(table) for table in found]
    assert sum(effect.low <= 0.1 <= effect.high for effect in effects) >= least(RUNS, 0.94)
    narrow = [asked(0.01)._difference(table) for table in found]
    assert sum(effect.low <= 0.1 <= effect.high for effect in narrow) < least(RUNS, 0.94)


@pytest.mark.wide
def test_nothing_noisy_is_too_awkward() -> None:
    """Empty and negative groups are answered, with a p-value of 1 and an interval that says nothing."""
    for table in ([(0, 0, 0), (0, 0, 0)], [(-UNIT, 5, 9), (900 * UNIT, 900 * UNIT, 0)]):
        told = asked(10.0).tell(table)
        assert told.p.value == 1.0
        assert (told.effect.low, told.effect.high) == (-2.0, 2.0)
    assert asked(10.0).power(1.0, 8, LEVEL) == 0.0
    assert asked(10.0).expected(8).noise is None


@pytest.mark.wide
def test_the_same_integers_give_the_same_answer() -> None:
    table = [(90 * UNIT, 50 * UNIT, 30 * UNIT), (70 * UNIT, 60 * UNIT, 40 * UNIT)]
    assert asked(1.0).tell(table) == asked(1.0).tell(table)
