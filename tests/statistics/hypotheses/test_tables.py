"""Noisy tables: Pearson's statistic without noise, the level with it, power, and mutants on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import scipy

from reticent.errors import PublicParameterError
from reticent.statistics.hypotheses.independence import Independence, aligned, ends
from reticent.statistics.hypotheses.null import Floats, critical, geometric, least_seen, p_value, stream
from reticent.statistics.hypotheses.proportions import Proportions
from reticent.statistics.hypotheses.tables import TableLaw, exact_strength, noise_variance, parts, strength
from tests.statistics.hypotheses.levels import least, most, noise, too_often

RUNS, DRAWS, LEVEL = 400, 199, 0.05

MARGINS = {
    "even 2 x 2": ([0.5, 0.5], [0.5, 0.5]),
    "rare 2 x 2": ([0.97, 0.03], [0.9, 0.1]),
    "rare 4 x 3": ([0.6, 0.3, 0.08, 0.02], [0.8, 0.15, 0.05]),
}


def tables(cells: Floats, n: int, scale: Fraction, name: str, runs: int = RUNS, alike: int = 1) -> Floats:
    """Noisy tables of n rows, persons having ``alike`` equal ones."""
    generator = np.random.default_rng([n, alike, *cells.shape])
    exact = alike * generator.multinomial(n // alike, cells.ravel(), runs).reshape(runs, *cells.shape)
    return exact + noise(scale, exact.shape, name)


def rejections(law: TableLaw, found: Floats) -> Iterator[bool]:
    return (law.test(table, DRAWS, f"{run}")[1].value <= LEVEL for run, table in enumerate(found))


def rejected(law: TableLaw, found: Floats) -> int:
    return sum(rejections(law, found))


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3), (6, 6)])
def test_without_noise_the_statistic_is_pearsons(shape: tuple[int, int]) -> None:
    table = np.random.default_rng(4).integers(3, 60, shape).astype(np.float64)
    pearson = scipy.stats.chi2_contingency(table, correction=False)
    assert float(TableLaw(0.0).statistics(table)) == pytest.approx(pearson.statistic)
    many = shape[0] * shape[1] - sum(shape) + 1
    corrected = max(pearson.statistic - many, 0.0) / (table.sum() * (min(shape) - 1))
    assert strength(table, TableLaw(0.0)) == pytest.approx(math.sqrt(corrected))


def test_without_noise_the_p_value_is_near_the_chi_square_one() -> None:
    table = np.array([[120.0, 90.0, 60.0], [95.0, 100.0, 85.0]])
    exact = scipy.stats.chi2_contingency(table, correction=False).pvalue
    assert TableLaw(0.0).test(table)[1].value == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_residuals_have_the_variances_stated(shape: tuple[int, int]) -> None:
    """The mean of z_kl^2 is n + blur_kl under independence with known margins: 4,000 tables, 5 standard errors."""
    law, n = TableLaw(15.0), 4_000
    cells = np.outer(*[np.arange(1.0, size + 1) / np.arange(1.0, size + 1).sum() for size in shape])
    found = parts(law.draw(cells, n, 4_000, stream("residuals")), law.variance)
    drawn, stated = (found.z**2).mean(0), n + found.blur.mean(0)
    assert drawn == pytest.approx(stated, rel=0.13)
    assert not np.allclose(drawn, n, rtol=0.13)  # without the noise


def test_the_noise_simulated_is_the_mechanisms() -> None:
    scale = Fraction(3, 2)
    one, other = geometric(1.5, (40_000,), stream("noise")), noise(scale, (40_000,), "noise")
    values = np.arange(-6, 7)
    counted = np.array([[(drawn == value).sum() for value in values] for drawn in (one, other)])
    assert scipy.stats.chi2_contingency(counted).pvalue > 1e-4
    assert noise_variance(1.5) == pytest.approx(float(np.var(one)), rel=0.04)
    wrong = geometric(1.2, (40_000,), stream("noise"))
    counted[1] = [(wrong == value).sum() for value in values]
    assert scipy.stats.chi2_contingency(counted).pvalue < 1e-4


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize(("n", "scale"), [(200, Fraction(10)), (200, Fraction(2)), (2_000, Fraction(20, 3))])
def test_level(margins: str, n: int, scale: Fraction) -> None:
    """Rejections at .05 of 400 tables: not above what the level leaves, at error 1e-4."""
    cells = np.outer(*MARGINS[margins])
    found = tables(cells, n, scale, f"level {margins} {n} {scale}")
    assert rejected(TableLaw(float(scale)), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
def test_a_law_without_the_noise_is_refuted_and_one_with_too_much_is_seen() -> None:
    found = tables(np.outer(*MARGINS["even 2 x 2"]), 200, Fraction(10), "mutants")
    right = rejected(TableLaw(10.0), found)
    assert least(RUNS, LEVEL) <= right <= most(RUNS, LEVEL)
    assert too_often(rejections(TableLaw(0.0), found), RUNS, LEVEL)
    assert too_often(rejections(TableLaw(7.0), found), RUNS, LEVEL)
    assert rejected(TableLaw(20.0), found) < least(RUNS, LEVEL)


@pytest.mark.wide
def test_equal_rows_of_a_person_keep_the_level_and_a_law_that_takes_them_as_many_does_not() -> None:
    found = tables(np.outer(*MARGINS["even 2 x 2"]), 3_000, Fraction(3), "alike", alike=3)
    assert rejected(TableLaw(3.0, alike=3), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(TableLaw(3.0, alike=1), found), RUNS, LEVEL)


@pytest.mark.wide
def test_power_is_what_the_plan_says_and_less_with_twice_the_noise() -> None:
    asked = Independence((3, 3), TableLaw(20.0))
    effect = least_seen(lambda at: asked.power(at, 2_000, LEVEL), 1.0)
    assert effect is not None
    assert asked.power(effect, 2_000, LEVEL) == pytest.approx(0.8, abs=0.06)
    found = tables(aligned((3, 3), effect), 2_000, Fraction(20), "power")
    assert least(RUNS, 0.75) <= rejected(asked.law, found) <= most(RUNS, 0.87)
    doubled = tables(aligned((3, 3), effect), 2_000, Fraction(40), "twice")
    assert rejected(TableLaw(40.0), doubled) < least(RUNS, 0.75)


def test_the_score_sees_more_than_pearsons_statistic_where_cells_are_rare() -> None:
    """Of tables with rare cells, by both statistics with simulated critical values: 500 each, 4 standard errors."""
    p, q = (np.array(side) for side in MARGINS["rare 4 x 3"])
    apart = np.outer(p, q)
    lean = np.zeros_like(apart)
    lean[:2, :2] = [[1.0, -1.0], [-1.0, 1.0]]
    law = TableLaw(10.0)
    under = law.draw(apart, 2_000, 1_999, stream("under"))
    other = law.draw(apart + 0.03 * lean, 2_000, 1_999, stream("other"))

    def pearson(found: Floats) -> Floats:
        total = found.sum((1, 2), keepdims=True)
        expected = np.maximum(found.sum(2, keepdims=True) * found.sum(1, keepdims=True) / total, 0.5)
        return np.asarray(((found - expected) ** 2 / expected).sum((1, 2)))

    ours = (law.statistics(other) > critical(law.statistics(under), LEVEL)).mean()
    theirs = (pearson(other) > critical(pearson(under), LEVEL)).mean()
    assert ours > theirs + 4 * math.sqrt(0.5 / 1_999)


@pytest.mark.wide
@pytest.mark.parametrize("runs", [50, pytest.param(100, marks=pytest.mark.audit)])
def test_the_interval_of_cramers_v_covers(runs: int) -> None:
    """At V = .2 in so many tables: 95 %, at error 1e-4, and the truth .35 is not covered as often."""
    cells, scale = aligned((2, 3), 0.2), Fraction(4)
    assert exact_strength(cells) == pytest.approx(0.2)
    law, found = TableLaw(4.0), tables(cells, 600, scale, "cover", runs=runs)
    intervals = [ends(table, float(law.statistics(table)), law) for table in found]
    assert sum(low <= 0.2 <= high for low, high in intervals) >= least(runs, 0.93)
    assert sum(low <= 0.35 <= high for low, high in intervals) < least(runs, 0.93)


@pytest.mark.wide
def test_the_interval_of_a_difference_of_shares_covers() -> None:
    cells = np.array([[0.3 * 0.8, 0.3 * 0.2], [0.7 * 0.6, 0.7 * 0.4]])
    asked = Proportions((0, 1), 1, TableLaw(8.0))
    found = tables(cells, 500, Fraction(8), "shares", runs=400)
    effects = [asked._difference(table) for table in found]
    assert least(400, 0.94) <= sum(effect.low <= -0.2 <= effect.high for effect in effects)
    narrow = [Proportions((0, 1), 1, TableLaw(0.0))._difference(table) for table in found]
    assert sum(effect.low <= -0.2 <= effect.high for effect in narrow) < least(400, 0.94)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (5, 2), (4, 4)])
@pytest.mark.parametrize("wanted", [0.0, 0.3, 1.0])
def test_a_planned_table_has_the_strength_it_is_asked_for(shape: tuple[int, int], wanted: float) -> None:
    cells = aligned(shape, wanted)
    assert cells.shape == shape
    assert cells.sum() == pytest.approx(1.0)
    assert exact_strength(cells) == pytest.approx(wanted, abs=1e-7)


def test_p_values_count_and_their_range_is_exact() -> None:
    found = p_value(5.0, np.arange(99.0))
    assert found.value == (1 + 94) / 100
    none = p_value(1e9, np.arange(99.0))
    assert (none.value, none.low) == (0.01, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 99))


def test_a_simulated_critical_value_is_exceeded_by_the_level_at_most() -> None:
    under = np.arange(99.0)
    assert critical(under, 0.05) == 94.0
    assert (under > critical(under, 0.05)).mean() <= 0.05


def test_nothing_noisy_is_too_awkward() -> None:
    """Empty and negative tables are answered, with a p-value of 1."""
    for table in ([(0, 0), (0, 0)], [(-30, 2), (4, -9)]):
        told = Independence((2, 2), TableLaw(10.0)).tell(table)
        assert told.p.value == 1.0
        assert (told.effect.low, told.effect.high) == (0.0, 1.0)
        assert Proportions((0, 1), 0, TableLaw(10.0)).tell(table).p.value == 1.0
    lopsided = Independence((2, 2), TableLaw(10.0)).tell([(5_000, -20), (30, 4)])
    assert 0.0 < lopsided.p.value <= 1.0


def test_the_same_integers_give_the_same_answer() -> None:
    asked, table = Independence((2, 3), TableLaw(2.0)), [(80, 60, 20), (70, 90, 40)]
    assert asked.tell(table) == asked.tell(table)


@pytest.mark.parametrize("effect", [-0.1, 1.1])
def test_an_effect_that_cannot_be_is_refused(effect: float) -> None:
    with pytest.raises(PublicParameterError, match="between 0 and 1"):
        Independence((2, 2), TableLaw(1.0)).power(effect, 100, 0.05)


@pytest.mark.wide
def test_a_value_without_rows_hides_no_dependence_of_the_others() -> None:
    """Of 20 tables with an empty value: V as narrow as without it, and the estimate in an interval above 0."""
    cells = aligned((2, 2), 0.3)
    law, found = TableLaw(5.0), tables(np.hstack([cells, np.zeros((2, 1))]), 2_000, Fraction(5), "empty", runs=20)
    with_it = Independence((2, 3), law, ((1, 2), ("a", "b", "never")))
    without = Independence((2, 2), law, ((1, 2), ("a", "b")))
    planned = with_it.expected(2_000)
    for table in found:
        one, other = (
            asked.tell([tuple(int(count) for count in row) for row in part])
            for asked, part in ((with_it, table), (without, table[:, :2]))
        )
        assert one.effect == other.effect
        assert 0.0 < one.effect.low <= one.effect.value <= one.effect.high
        assert planned.noise is not None
        assert one.effect.noise < 2 * planned.noise
        assert "V leaves out values with too few noisy rows: never" in one.words


def test_one_value_with_rows_leaves_v_unknown() -> None:
    told = Independence((2, 2), TableLaw(5.0), ((1, 2), ("a", "b"))).tell([(900, 2), (800, -3)])
    assert (told.effect.low, told.effect.high) == (0.0, 1.0)
    assert any("too few values" in text for text in told.words)
