"""Bars made smooth: what comes out of exact bars, of nothing but noise, and how far Stein's estimate is right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.privacy.adjacency import Adjacency
from reticent.synthesis import bar_smoothing
from reticent.synthesis.linear import LinearDensity, shares_of
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import bars
from reticent.synthesis.series import grid

Floats = NDArray[np.float64]

NEAR = DensityTerms(Adjacency("add_remove"))


def made(count: int, cells: int = 256, columns: int = 1) -> LinearDensity:
    axes = grid([(f"x{k}", Fraction(0), Fraction(1), False) for k in range(columns)], cells)
    return bars(axes, count, NEAR)


def smoothed(release: LinearDensity, noisy: Floats, variance: float, n: float) -> Floats:
    heights, response = bar_smoothing.smoothed(release.axes, noisy, variance, n, bar_smoothing.bar_of(release.sums))
    assert response.shape == (len(heights), len(noisy))
    return heights


def law(cells: int) -> Floats:
    """1 + .5 cos(3 pi t) + .3 cos(5 pi t), in the mean over each cell."""
    cuts = np.linspace(0.0, 1.0, cells + 1)
    upto = cuts + 0.5 * np.sin(3 * np.pi * cuts) / (3 * np.pi) + 0.3 * np.sin(5 * np.pi * cuts) / (5 * np.pi)
    return np.asarray(np.diff(upto) * cells, np.float64)


def test_exact_bars_of_waves_come_out_without_steps() -> None:
    """16 bars of a density of two waves give it back on 256 cells; the bars themselves are off by .1."""
    release, n = made(16), 1e9
    exact = n * law(256).reshape(16, 16).mean(axis=1) / 16
    heights = smoothed(release, exact, 1.0, n)
    assert np.abs(heights - law(256)).max() < 2e-3
    assert np.abs(np.repeat(exact * 16 / n, 16) - law(256)).max() > 0.1


def test_bars_as_fine_as_the_cells_come_out_as_they_are_where_all_is_detail() -> None:
    release, n = made(64, 64), 1e9
    counts = n * np.random.default_rng(2).dirichlet(np.full(64, 0.3))
    np.testing.assert_allclose(smoothed(release, counts, 1.0, n), counts * 64 / n, atol=1e-4)


@pytest.mark.parametrize(("columns", "count", "cells"), [(1, 64, 256), (2, 12, 24)])
def test_noise_alone_comes_out_nearly_even_and_a_shape_does_not(columns: int, count: int, cells: int) -> None:
    """20 tables of even records and noise: a tenth of the bars' own error is left; half of a real wave stays."""
    release, n, generator = made(count, cells, columns), 2_000.0, np.random.default_rng(4)
    size, left, own = count**columns, 0.0, 0.0
    wave = 1.0 + 0.8 * np.cos(np.pi * (np.arange(count) + 0.5) / count)
    along = np.multiply.outer(wave, np.ones(size // count)).ravel()
    for _ in range(20):
        noisy = generator.poisson(n / size, size) + generator.laplace(0.0, 1.0, size)
        left += float(np.mean((smoothed(release, noisy, 2.0, n) - 1.0) ** 2))
        own += float(np.mean((noisy * size / n - 1.0) ** 2))
        assert np.abs(smoothed(release, along * noisy, 2.0, n) - 1.0).max() > 0.5
    assert left < 0.1 * own


def test_the_estimate_of_an_error_is_right_in_the_mean() -> None:
    """Stein's, with variances as they are: for five weights within 4 standard errors; at half the variance not."""
    generator, lengths = np.random.default_rng(6), np.arange(1.0, 33.0)
    truth = 1.0 / lengths**1.5
    listed = bar_smoothing._weights(lengths)[::20]
    noise = 0.2
    true, told, half = (np.zeros((400, len(listed))) for _ in range(3))
    for run in range(400):
        found = truth + noise * generator.standard_normal(32)
        true[run] = ((listed * found - truth) ** 2).sum(axis=1)
        for kept, variance in ((told, noise**2), (half, noise**2 / 2)):
            kept[run] = listed**2 @ found**2 - 2 * listed @ (found**2 - variance) + (truth**2).sum()
    error = (told - true).std(axis=0) / 20.0
    assert np.all(np.abs((told - true).mean(axis=0)) <= 4 * error + 1e-12)
    assert np.any(np.abs((half - true).mean(axis=0)) > 8 * error)


def test_factors_lie_between_nothing_and_all_and_less_noise_keeps_more() -> None:
    lengths = np.arange(1.0, 65.0)
    found = np.random.default_rng(8).standard_normal(64) / lengths
    kept = [bar_smoothing.shrunk(found, np.full(64, noise), lengths) for noise in (1e-8, 1e-3, 1e-1)]
    assert all(((one >= 0.0) & (one <= 1.0)).all() for one in kept)
    assert kept[0].sum() > kept[1].sum() > kept[2].sum()
    assert kept[0].min() > 0.9


def test_the_grain_holds_every_set_of_bars() -> None:
    """v (bars) + u (P^2 - 2 P s) against the sum of squares, for random shapes and sets; at half of it for many not."""
    release, generator = made(16, 64), np.random.default_rng(9)
    own, each = release.sums.deviation**2, bar_smoothing.radius_of(release.sums) ** 2 / 3.8415
    assert each >= own  # a radius is a whole number that covers
    below = 0
    for _ in range(300):
        bar_masses = generator.dirichlet(np.full(16, 0.3))
        masses = np.repeat(bar_masses / 4, 4)
        weight = generator.uniform(0.3, 1.0)
        unsure = np.sqrt(weight * 16 * each)
        widths = bar_smoothing.grain(release, masses, unsure, 1.0 * 10**6) * 10**6
        held = generator.random(16) < generator.random()
        share, mass = held.mean(), float(bar_masses[held].sum())
        true = each * held.sum() + unsure**2 * (mass**2 - 2 * mass * share)
        told = float((widths[np.repeat(held, 4)] ** 2).sum()) / 3.8415
        assert told >= true * (1 - 1e-3)
        below += told / 2 < true
    assert below > 100
    assert shares_of(release.axes).sum() == pytest.approx(1.0)


def test_two_numbers_of_records_are_weighed_by_their_variances() -> None:
    here, weight, unsure = bar_smoothing.pooled(90.0, 10.0, bar_smoothing.NoisySize(120.0, 20.0))
    assert here == pytest.approx(96.0)
    assert weight == pytest.approx(0.8)
    assert unsure**2 == pytest.approx(1.0 / (1.0 / 100 + 1.0 / 400))
    assert bar_smoothing.pooled(90.0, 10.0, bar_smoothing.NoisySize(100.0, 0.0)) == (100.0, 0.0, 0.0)
