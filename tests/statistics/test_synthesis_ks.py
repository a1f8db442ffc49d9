"""The release under KS distance: how near it comes, what its band covers, how many points it has, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.conformance.lower_bounds import binomial_tail
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.synthesis.axis import even
from reticent.synthesis.density import LEFT_OUT, Density, sampling_error
from reticent.synthesis.ks import MEASURED, WORK_BOUGHT, Growth, KSRelease, ks_release, points_for, tried
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.options import Options, plan_for

SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")
ONE = Fraction(1)
UNIT = even("x", Fraction(0), ONE, 64)

Counts = tuple[int, ...]


def uniforms(count: int, key: str) -> NDArray[np.float64]:
    return (Replayed(key).words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def counted(values: NDArray[np.float64]) -> Counts:
    return tuple(np.histogram(values, UNIT.cuts)[0].tolist())


def spread_out(n: int, key: str) -> Counts:
    """Density 2 (1 - x)."""
    return counted(1.0 - np.sqrt(uniforms(n, key)))


def two_values(n: int, key: str) -> Counts:
    return counted(np.where(uniforms(n, key) < 0.5, 0.1, 0.9))


SHAPES = {
    spread_out: 1.0 - (1.0 - UNIT.cuts[1:]) ** 2,
    two_values: np.where(UNIT.cuts[1:] <= 0.1, 0.0, np.where(UNIT.cuts[1:] <= 0.9, 0.5, 1.0)),
}


def drawn(plan: KSRelease, counts: Counts, key: str) -> Density:
    outcome = plan.draw([QueryResult(vectors=(counts,))], Replayed(key))
    assert isinstance(outcome, Reply)
    return outcome.value


def distances(plan: KSRelease, n: int, runs: int, shape: object = spread_out) -> NDArray[np.float64]:
    """For each run: the distance to the records, that to the law, and the two half-widths: shape (runs, 4)."""
    rows = []
    for run in range(runs):
        counts = shape(n, f"rows {n} {run}")  # type: ignore[operator]  # of SHAPES
        found = drawn(plan, counts, f"ks {n} {run}")
        told = found.cdf(UNIT.cuts[1:])
        apart = [np.abs(told - truth).max() for truth in (np.cumsum(counts) / n, SHAPES[shape])]  # type: ignore[index]
        rows.append([*apart, found.wander, found.within])
    return np.array(rows)


def missed(found: NDArray[np.float64], shrunk: float = 1.0) -> tuple[int, int]:
    """How often each half-width, shrunk, is too small."""
    return tuple(int((found[:, k] > shrunk * found[:, 2 + k] + 1e-12).sum()) for k in (0, 1))  # type: ignore[return-value]


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("n", "runs", "shape", "points"),
    [
        (100, 300, spread_out, "root"),
        (300, 200, two_values, "root"),
        (1_000, 150, spread_out, "root"),
        (300, 120, spread_out, "auto"),
    ],
)
def test_bands_cover_the_records_and_the_law_and_half_as_wide_they_do_not(
    n: int, runs: int, shape: object, points: Growth
) -> None:
    """Public n. Records at 97.5 %, their law at 95 %; error 1e-4 each, and half the width is rejected at 1e-4."""
    found = distances(ks_release(UNIT, SUB, ONE, people=n, points=points), n, runs, shape)
    records, law = missed(found)
    assert binomial_tail(records, runs, LEFT_OUT) > 1e-4
    assert binomial_tail(law, runs, 2 * LEFT_OUT) > 1e-4
    assert binomial_tail(missed(found, 0.5)[0], runs, LEFT_OUT) < 1e-4


@pytest.mark.wide
@pytest.mark.parametrize(("factor", "covers"), [(Fraction(1), True), (Fraction(8), False)])
def test_a_band_that_forgets_the_noise_of_its_level_is_found_out(factor: Fraction, covers: bool) -> None:
    """The level measured at an eighth of what the radius is made for: misses far more often than one in 40."""
    plan = ks_release(UNIT, SUB, ONE, people=400)
    widened = replace(plan, measure=Geometric(plan.measure.sensitivity, plan.measure.epsilon / factor))
    rows = []
    for run in range(150):
        counts = spread_out(400, f"level {run}")
        found = drawn(widened, counts, f"level {factor} {run}")
        level = found.wander
        assert level is not None
        honest = level - (widened.measure.radius(2 * LEFT_OUT) - plan.measure.radius(2 * LEFT_OUT)) / 400
        rows.append(np.abs(found.cdf(UNIT.cuts[1:]) - np.cumsum(counts) / 400).max() > honest + 1e-12)
    assert (binomial_tail(sum(rows), 150, LEFT_OUT) > 1e-4) is covers


@pytest.mark.wide
def test_a_bought_number_of_records_widens_the_band_as_far_as_it_may_be_off() -> None:
    """n = 2,000, private: the stated half-widths cover, and the noise of n is part of them."""
    found = distances(ks_release(UNIT, ADD, ONE), 2_000, 100)
    records, law = missed(found)
    assert binomial_tail(records, 100, LEFT_OUT) > 1e-4
    assert binomial_tail(law, 100, 2 * LEFT_OUT) > 1e-4
    public = distances(ks_release(UNIT, ADD, Fraction(17, 18), people=2_000), 2_000, 20)  # as much for the points
    assert found[:, 2].mean() > public[:, 2].mean()
    few = drawn(ks_release(UNIT, ADD, ONE), (1,) * 64, "few")
    assert few.wander == 1.0  # a noisy n that might be none says nothing


@pytest.mark.wide
def test_the_distance_falls_nearly_as_the_root_of_n() -> None:
    """Means of 12 draws at 100, 1,000 and 10,000 records: slope -.45 or steeper; n^(2/3) points are no nearer."""
    axis = even("x", Fraction(0), ONE, 256)
    means = []
    for n in (100, 1_000, 10_000):
        plan, apart = ks_release(axis, SUB, ONE, people=n), []
        for run in range(12):
            values = np.random.default_rng(run).beta(2, 3, n)
            counts = tuple(np.histogram(values, axis.cuts)[0].tolist())
            found = drawn(plan, counts, f"slope {n} {run}")
            apart.append(np.abs(found.cdf(axis.cuts[1:]) - np.cumsum(counts) / n).max())
        means.append(float(np.mean(apart)))
    slope = np.polyfit(np.log([100, 1_000, 10_000]), np.log(means), 1)[0]
    assert -0.75 < slope <= -0.45


# --- how many points --------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_number_of_points_comes_from_a_public_or_a_bought_n() -> None:
    assert [points_for(10_000, ONE, growth) for growth in ("root", "two_thirds")] == [100, 464]
    public = ks_release(UNIT, SUB, ONE, people=10_000)
    assert (public.mechanism.points, public.mechanism.epsilon) == (94, 1 - MEASURED)  # sqrt(10,000 x 9/10)
    private = ks_release(UNIT, ADD, ONE)
    assert private.guarantee.loss.epsilon == public.guarantee.loss.epsilon == 1  # type: ignore[union-attr]
    found = drawn(private, (100,) * 64, "bought")
    steps = found.masses * points_for(found.n, Fraction(17, 20), "root")
    assert steps == pytest.approx(np.round(steps))


@pytest.mark.wide
@pytest.mark.parametrize(("size", "points"), [(None, 94), ("root", 94), ("two_thirds", 464), (30, 30)])
def test_the_number_of_points_is_named(size: object, points: int) -> None:
    column = [("x", Fraction(0), ONE, False)]
    terms = DensityTerms(SUB, 10_000, fixed=True)
    plan = plan_for(Options("ks", size=size), column, terms, ONE, Fraction(0))  # type: ignore[arg-type]  # of this list
    assert isinstance(plan, KSRelease)
    counts = tuple(np.bincount(np.arange(10_000) % 256, minlength=256).tolist())
    masses = drawn(plan, counts, f"named {size}").masses * points
    assert plan.mechanism.points == points
    assert masses == pytest.approx(np.round(masses))
    assert masses.sum() == pytest.approx(points)
    assert not np.allclose(masses / points * (points + 1), np.round(masses / points * (points + 1)))


@pytest.mark.wide
def test_a_number_that_is_drawn_with_the_points_suits_the_records() -> None:
    """Twelve draws: at two values few points come out and near, at even spread many and nearer than by the rule."""
    for shape, n, above in ((two_values, 300, 3), (lambda n, key: counted(uniforms(n, key)), 1_000, 1.1)):
        means, sizes = [], []
        for points in ("root", "auto"):
            apart, found = [], []
            for run in range(12):
                counts = shape(n, f"suits {run}")
                plan = ks_release(UNIT, SUB, ONE, people=n, points=points)
                came = drawn(plan, counts, f"suits {points} {run}")
                apart.append(np.abs(came.cdf(UNIT.cuts[1:]) - np.cumsum(counts) / n).max())
                found.append(1 / came.masses[came.masses > 0].min())
            means.append(np.mean(apart))
            sizes.append(np.median(found))
        assert means[0] > above * means[1]
        assert (sizes[1] < sizes[0] / 2) if shape is two_values else (sizes[1] > 2 * sizes[0])


@pytest.mark.wide
def test_the_numbers_that_are_tried_are_public_and_their_work_is_bounded() -> None:
    assert tried(256, 10_000, ONE, WORK_BOUGHT) == (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert tried(256, 100, ONE, WORK_BOUGHT) == (1, 2, 4, 8, 16, 32, 64)
    assert tried(4, 1, Fraction(1, 10), WORK_BOUGHT) == (1, 2)
    assert tried(256, 10**6, ONE, WORK_BOUGHT)[-1] < 10**4 < tried(256, 10**6, ONE, 64 * WORK_BOUGHT)[-1]
    private = ks_release(UNIT, ADD, ONE, points="auto")
    assert private._mechanism(10_000).numbers == tried(64, 10_000, Fraction(17, 20), WORK_BOUGHT)
    assert private.guarantee.loss.epsilon == 1  # type: ignore[union-attr]  # the choice costs nothing
    found = drawn(private, (100,) * 64, "several")
    assert any("was drawn with the places, among the powers of two from 4 to 1,024" in word for word in found.words)
    assert private.expected(10_000).noise is not None


@pytest.mark.wide
def test_many_records_whose_number_is_private_get_points_for_them_or_no_reply() -> None:
    """The work has a part that no number of points makes less: n G / 2."""
    plan = ks_release(UNIT, ADD, ONE)
    assert plan._mechanism(10**7).points == points_for(10**7, Fraction(17, 20), "root")
    assert plan._mechanism(10**8).numbers[0] > 1_000
    outcome = plan.draw([QueryResult(vectors=((10**9, *[0] * 63),))], Replayed("crowd"))
    assert outcome == NO_REPLY
    assert "no reply" in plan.expected(10**9).note


@pytest.mark.wide
def test_what_is_expected_is_near_what_comes() -> None:
    for kind, people in ((SUB, 10_000), (ADD, None)):
        plan = ks_release(even("x", Fraction(0), ONE, 256), kind, ONE, people=people)
        widths = [drawn(plan, (39,) * 255 + (55,), f"expected {run}").wander for run in range(9)]
        assert plan.expected(10_000).noise == pytest.approx(float(np.median(np.array(widths, float))), rel=0.2)


@pytest.mark.wide
def test_all_records_at_one_value_and_none_at_all_give_a_density() -> None:
    for counts in ((0,) * 63 + (500,), (0,) * 64, (1, *[0] * 63)):
        found = drawn(ks_release(UNIT, ADD, ONE), counts, f"{sum(counts)}")
        assert found.masses.sum() == pytest.approx(1.0)
        assert found.wander is not None
        assert 0.0 <= found.wander <= 1.0
    assert sampling_error(100) == pytest.approx((np.log(80) / 200) ** 0.5)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "epsilon", "people", "points", "said"),
    [
        (16, Fraction(1, 100), 100, "root", "n ε should be at least 8"),
        (64, ONE, 0, "root", "0 records"),
        (4096, ONE, 10**6, 10**4, "10,000 points on 4,096 cells take about"),
        (1 << 16, ONE, 10**5, "two_thirds", "65,536 cells take about"),
    ],
)
def test_what_would_say_nothing_or_take_too_long_is_refused_with_its_cost(
    cells: int, epsilon: Fraction, people: int, points: object, said: str
) -> None:
    with pytest.raises(QuestionError, match=said) as caught:
        ks_release(even("x", Fraction(0), ONE, cells), SUB, epsilon, people=people, points=points)  # type: ignore[arg-type]  # of this list
    assert str(caught.value).endswith("Nothing was charged.")


@pytest.mark.wide
def test_a_number_of_points_that_is_none_is_refused() -> None:
    for points in ("half", 0, True):
        with pytest.raises(PublicParameterError):
            ks_release(UNIT, SUB, ONE, people=1_000, points=points)  # type: ignore[arg-type]
