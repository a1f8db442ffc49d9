"""Lower bounds against mechanisms that attain them, and against laws computed apart from them; voids and clusters."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy

from reticent.errors import PublicParameterError
from reticent.lab.density import voids
from reticent.synthesis.bounds import FunctionError, MeanRisk, PointMass, SmallBall, packings


@pytest.mark.parametrize(("epsilon", "n", "grid"), [(1.0, 5, 100), (0.3, 20, 1_000), (2.0, 1, 10)])
def test_randomised_response_over_a_grid_finds_a_point_as_often_as_any_release_can(
    epsilon: float, n: int, grid: int
) -> None:
    """k-ary response at n eps is an eps-private release of n equal records; at 1.25 eps it is not, and is refuted."""
    bound = PointMass(epsilon, 0.2, grid).chance(n)
    assert math.exp(n * epsilon) / (math.exp(n * epsilon) + grid - 1) == pytest.approx(bound)
    assert math.exp(1.25 * n * epsilon) / (math.exp(1.25 * n * epsilon) + grid - 1) > bound


def test_a_point_of_a_continuum_is_never_found_and_a_point_of_a_grid_is() -> None:
    continuum, million = PointMass(1.0, 0.2), PointMass(1.0, 0.2, 10**6)
    assert [continuum.chance(n) for n in (1, 100, 10**9)] == [0.0, 0.0, 0.0]
    assert continuum.least_n(0.5) == math.inf
    assert million.least_n(0.5) == pytest.approx(math.log(10**6 - 1))
    assert million.chance(math.ceil(million.least_n(0.9))) >= 0.9 > million.chance(math.floor(million.least_n(0.9)))
    assert PointMass(1.0, 0.2, 10**6, "add_remove").chance(10) == million.chance(20)
    assert [PointMass(1.0, distance).together for distance in (0.1, 0.25, 0.3, 0.4)] == [1, 2, 2, 5]


def test_packings_exist_where_they_can_be_found_by_hand() -> None:
    for columns in (1, 3, 5):
        every = list(itertools.product((0, 1), repeat=columns))
        for log_size, apart in packings(columns):
            chosen: list[tuple[int, ...]] = []
            for word in every:
                if all(sum(a != b for a, b in zip(word, other, strict=True)) >= apart for other in chosen):
                    chosen.append(word)
            assert len(chosen) >= round(math.exp(log_size))


@pytest.mark.wide
def test_no_estimate_of_a_mean_beats_the_bound_and_laplace_noise_is_near_it() -> None:
    for columns, epsilon in itertools.product((1, 5, 40, 300), (0.1, 1.0)):
        risk = MeanRisk(columns, epsilon)
        for n in (1, 30, 1_000, 10**5, 10**7):
            assert risk.least(n) <= risk.laplace(n) <= columns / 4
            assert risk.privacy(n) <= columns / 8
        assert risk.laplace(10**11) / risk.least(10**11) < 1.1
    assert MeanRisk(1, 1.0).sampling(1) == 1 / 16  # Hodges and Lehmann: one coin, worst risk of the best estimate
    assert MeanRisk(1, 1.0).sampling(10**6) == pytest.approx(0.25e-6, rel=0.01)


def test_the_price_of_privacy_grows_with_the_cube_of_the_columns_and_falls_with_the_square_of_n_epsilon() -> None:
    small, large = MeanRisk(100, 1.0).privacy(10**5), MeanRisk(200, 1.0).privacy(10**5)
    assert math.log2(large / small) == pytest.approx(3.0, abs=0.2)
    assert MeanRisk(100, 1.0).privacy(10**6) == pytest.approx(small / 100, rel=0.05)
    assert MeanRisk(100, 0.5).privacy(10**5) == pytest.approx(4 * small, rel=0.05)
    assert MeanRisk(100, 1.0, "add_remove").privacy(10**5) == pytest.approx(small / 4, rel=0.05)
    assert MeanRisk(100, 1.0).printed(10) == 25.0  # not above the trivial risk


def test_the_privacy_part_holds_against_a_release_in_one_column() -> None:
    """Sum of n bits plus geometric noise: its worst risk is above the bound, and at a twentieth of the noise below."""
    for n, epsilon in ((20, 0.05), (50, 0.01)):
        bound = MeanRisk(1, epsilon).privacy(n)
        ratio = math.exp(-epsilon)
        variance = 2 * ratio / (1 - ratio) ** 2
        assert min(variance / n**2, 0.25) >= bound
        assert variance / 400 / n**2 < bound


def law_of_one_row(points: int, epsilon: float, distance: float) -> float:
    """P(|x - share of points below x| > distance), one uniform row: at most P(KS > distance)."""
    counts = np.arange(points + 1)
    level = np.maximum(counts, points - counts) / points

    def at(x: float) -> float:
        weight = scipy.stats.binom.pmf(counts, points, x) * np.exp(-epsilon * level / 2)
        return float(weight[np.abs(x - counts / points) > distance].sum() / weight.sum())

    return float(scipy.integrate.quad(at, 0, 1, limit=200, points=[0.1, 0.9])[0])


def test_the_small_ball_bound_is_false_as_printed_and_holds_with_its_sampling_term() -> None:
    """E8: one row and a large epsilon. F_z puts half its points on either side of the row, wherever that is."""
    ball = SmallBall(6, 500.0)
    really = law_of_one_row(6, 500.0, 0.4)
    assert really > 0.15
    assert ball.printed(1, 0.4) < 1e-10
    assert ball.bound(1, 0.4) >= really
    for points, epsilon, distance in ((4, 2.0, 0.45), (10, 40.0, 0.3)):
        assert SmallBall(points, epsilon).bound(1, distance) >= law_of_one_row(points, epsilon, distance)


def test_the_printed_exponent_is_the_term_at_a_split_of_a_sixteenth() -> None:
    ball = SmallBall(20, 1.0, 2.0)
    n, distance = 2_000, 0.5
    theory = 2.0**20 * math.exp(-3 * 1.0 * distance * n / 16) / scipy.stats.kstwo.cdf(distance / 2, 20)
    assert ball.printed(n, distance) == pytest.approx(theory)
    assert ball.bound(n, distance) > 2 * math.exp(-2 * n * (distance / 4) ** 2)  # DKW at the widest split there is
    assert ball.bound(10**5, 0.5) < 1e-12
    assert [SmallBall(4, 1.0).floor(100, at) for at in (0.1, 0.125, 0.2)] == [1.0, 0.0, 0.0]


def test_the_error_of_a_function_is_a_seventh_of_delta_over_epsilon_at_least() -> None:
    assert FunctionError(3.0, 0.01).expected() == pytest.approx(0.1392 * 3.0 / 0.01, rel=1e-3)
    for epsilon in (0.01, 0.3, 1.0, 4.0):
        made = FunctionError(1.0, epsilon)
        assert made.expected() <= 1.0 / epsilon  # Laplace noise
        # two tables, two answers, the right one with e^eps / (1 + e^eps): private, and it attains the bound
        assert made.miss(1) == pytest.approx(1.0 / (1.0 + math.exp(epsilon)))
        assert 1.0 / (1.0 + math.exp(1.25 * epsilon)) < made.miss(1)
    assert FunctionError(1.0, 1.0, 0.1).miss(1) == pytest.approx(0.9 / (1 + math.e))
    assert FunctionError(1.0, 0.01, longest=1).expected() == pytest.approx(0.25, rel=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PointMass(0.0, 0.2),
        lambda: PointMass(1.0, 0.5),
        lambda: PointMass(1.0, 0.2, 1),
        lambda: PointMass(1.0, 0.2).least_n(1.0),
        lambda: MeanRisk(0, 1.0),
        lambda: MeanRisk(3, math.inf),
        lambda: SmallBall(0, 1.0),
        lambda: SmallBall(3, 1.0, 0.5),
        lambda: FunctionError(0.0, 1.0),
        lambda: FunctionError(1.0, 1.0, 1.0),
        lambda: voids("ring", cells=1),
        lambda: voids("line", columns=4, cells=100),
    ],
)
def test_what_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises(PublicParameterError):
        make()  # type: ignore[operator]


@pytest.mark.wide
def test_every_bound_has_its_picture(tmp_path: Path) -> None:
    drawn = [
        PointMass(1.0, 0.2).plot(),
        MeanRisk(10, 1.0).plot(),
        SmallBall(30, 1.0).plot(2_000),
        FunctionError(1.0, 1.0).plot(),
        voids("clusters", size=2_000, cells=16, key="picture").plot(),
    ]
    for place, figure in enumerate(drawn):
        file = tmp_path / f"{place}.png"
        figure.savefig(file)
        assert file.stat().st_size > 5_000
        assert all(axes.lines or axes.images for axes in figure.axes)


def test_empty_space_fills_by_clipping_and_hardly_by_projecting() -> None:
    """Rows on a line in three columns, 32,768 cells: the cut puts most of the mass where no row is."""
    line = voids("line", cells=32, columns=3, key="line")
    (_, none, same), (_, clipped, _), (_, projected, off) = line.rows()
    assert (none, same) == (0.0, 0.0)
    assert clipped > 0.5
    assert projected <= 0.02
    assert off <= 0.05
    for found in (line.truth, line.clipped, line.projected):
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
    assert voids("ring", key="a").rows() == voids("ring", key="a").rows()
    assert voids("ring", size=500).rows() != voids("ring", size=500).rows()
