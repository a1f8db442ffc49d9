"""Goodness of fit of the noise, and of the tests themselves: a scale 20 % less or 25 % more is rejected.

Error rate 1e-6 for each assertion. The stream is replayed, so that red means a change and never bad luck.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.entropy import Replayed, system
from reticent.errors import PublicParameterError
from reticent.exact.sampling import (
    discrete_gaussian,
    discrete_laplace,
    one_discrete_gaussian,
    one_discrete_laplace,
)
from tests.support.exact_laws import chi_square, kolmogorov

ERROR = 1e-6
FACTORS = [(Fraction(1), True), (Fraction(4, 5), False), (Fraction(5, 4), False)]


def laplace_cdf(scale: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    def cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = 0.5 * np.exp(-np.abs(x) / scale)
        return np.where(x < 0, tail, 1 - tail)

    return cdf


def gaussian_cdf(std: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    return lambda x: np.asarray(scipy.special.ndtr(x / std), np.float64)


@pytest.mark.parametrize(("factor", "fits"), FACTORS)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(37, 2)])
def test_discrete_laplace_cell_by_cell(scale: Fraction, factor: Fraction, fits: bool) -> None:
    values = discrete_laplace(scale * factor, 20_000, Replayed("laplace"))
    p = chi_square(values, lambda k: np.exp(-abs(k) / float(scale)), int(20 * scale) + 2)
    assert (p > ERROR) is fits


@pytest.mark.parametrize(("factor", "fits"), FACTORS)
@pytest.mark.parametrize("scale", [1000, 10**6, 2**50, 2**55])
def test_discrete_laplace_of_large_scale(scale: int, factor: Fraction, fits: bool) -> None:
    values = discrete_laplace(scale * factor, 40_000, Replayed("laplace"))
    assert (kolmogorov(values, laplace_cdf(scale)) > ERROR) is fits


@pytest.mark.parametrize(("factor", "fits"), FACTORS)
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(1), Fraction(100)])
def test_discrete_gaussian_cell_by_cell(variance: Fraction, factor: Fraction, fits: bool) -> None:
    values = discrete_gaussian(variance * factor**2, 20_000, Replayed("gaussian"))
    p = chi_square(values, lambda k: np.exp(-k * k / (2 * float(variance))), int(8 * variance) + 2)
    assert (p > ERROR) is fits


@pytest.mark.parametrize(("factor", "fits"), FACTORS)
@pytest.mark.parametrize("variance", [10**6, 5 * 10**6, 10**12, 2**111])
def test_discrete_gaussian_of_large_variance(variance: int, factor: Fraction, fits: bool) -> None:
    values = discrete_gaussian(variance * factor**2, 40_000, Replayed("gaussian"))
    assert (kolmogorov(values, gaussian_cdf(variance**0.5)) > ERROR) is fits


@pytest.mark.parametrize("shift", [0, 1])
def test_large_tables_of_long_arrays_give_the_same_law(shift: int) -> None:
    """From 65,536 values on, other tables serve; a shift by one is noticed."""
    values = discrete_laplace(20, 70_000, Replayed("long")) + shift
    assert (chi_square(values, lambda k: np.exp(-abs(k) / 20), 400) > ERROR) is (shift == 0)


@pytest.mark.wide
@pytest.mark.parametrize(("factor", "fits"), FACTORS)
def test_single_draws(factor: Fraction, fits: bool) -> None:
    stream = Replayed("single")
    laplace = np.array([one_discrete_laplace(10 * factor, stream) for _ in range(6000)])
    assert (chi_square(laplace, lambda k: np.exp(-abs(k) / 10), 150) > ERROR) is fits
    gaussian = np.array([one_discrete_gaussian(100 * factor**2, stream) for _ in range(6000)])
    assert (chi_square(gaussian, lambda k: np.exp(-k * k / 200), 80) > ERROR) is fits
    wide = np.array([one_discrete_gaussian(10**10 * factor**2, stream) for _ in range(10_000)])
    assert (kolmogorov(wide, gaussian_cdf(1e5)) > ERROR) is fits
    beyond = np.array([float(one_discrete_laplace(10**30 * factor, stream)) for _ in range(10_000)])
    assert (kolmogorov(beyond, laplace_cdf(1e30)) > ERROR) is fits
    further = np.array([float(one_discrete_gaussian(10**60 * factor**2, stream)) for _ in range(10_000)])
    assert (kolmogorov(further, gaussian_cdf(1e30)) > ERROR) is fits


def test_low_bits_of_wide_noise_are_fair() -> None:
    """At scale 2**50 the low 20 bits are uniform to 2**-30; the low bit of single values is a fair coin."""
    values = discrete_laplace(2**50, 60_000, Replayed("bits"))
    for bit in range(0, 20, 3):
        assert abs(int((values >> bit & 1).sum()) - 30_000) < 6 * np.sqrt(15_000)
    values = discrete_gaussian(2**100, 60_000, Replayed("bits"))
    for bit in range(0, 20, 3):
        assert abs(int((values >> bit & 1).sum()) - 30_000) < 6 * np.sqrt(15_000)


def test_neighbouring_values_are_uncorrelated() -> None:
    for values in (discrete_laplace(1000, 60_000, Replayed(1)), discrete_gaussian(10**8, 60_000, Replayed(1))):
        for lag in (1, 2, 512):
            left, right = values[:-lag].astype(float), values[lag:].astype(float)
            assert abs(np.corrcoef(left, right)[0, 1]) < 6 / np.sqrt(60_000)


def test_noise_of_tiny_scale_is_zero_but_not_by_rule() -> None:
    assert not discrete_laplace(Fraction(1, 1000), 5000, Replayed(0)).any()
    assert not discrete_gaussian(Fraction(1, 10**6), 5000, Replayed(0)).any()
    assert one_discrete_laplace(Fraction(1, 10**9), Replayed(0)) == 0
    # P(nonzero) at scale 1/5 is 2 / (1 + e**5) = 0.0134
    seen = np.count_nonzero(discrete_laplace(Fraction(1, 5), 20_000, Replayed(0)))
    assert abs(seen - 267.7) < 6 * np.sqrt(264)


def test_the_largest_scale_stays_inside_64_bits() -> None:
    values = discrete_laplace(2**56, 40_000, Replayed("edge"))
    assert np.abs(values).max() < 2**61
    assert kolmogorov(values, laplace_cdf(2**56)) > ERROR


def test_values_of_a_replayed_stream_are_pinned() -> None:
    assert discrete_laplace(10, 6, Replayed("pin")).tolist() == PINNED[0]
    assert discrete_laplace(10**6, 6, Replayed("pin")).tolist() == PINNED[1]
    assert discrete_gaussian(100, 6, Replayed("pin")).tolist() == PINNED[2]
    assert discrete_gaussian(10**10, 6, Replayed("pin")).tolist() == PINNED[3]
    stream = Replayed("pin")
    assert [one_discrete_laplace(10**6, stream) for _ in range(3)] == PINNED[4]
    assert [one_discrete_gaussian(10**10, stream) for _ in range(3)] == PINNED[5]


@pytest.mark.parametrize("source", [system(), Replayed(1)], ids=["system", "replayed"])
@pytest.mark.parametrize("parameter", [0, -1, 1.0, 10.0, True, "1", None, float("nan")])
def test_floats_and_bad_ranges_are_refused(parameter: object, source: Replayed) -> None:
    one_discrete_laplace(10, source)  # a kept block of 10 must not answer for 10.0, nor one of 1 for True
    one_discrete_laplace(1, source)
    one_discrete_gaussian(10, source)
    one_discrete_gaussian(1, source)
    for draw in (one_discrete_laplace, one_discrete_gaussian):
        with pytest.raises(PublicParameterError):
            draw(parameter, source)  # type: ignore[arg-type]
    for draw_many in (discrete_laplace, discrete_gaussian):
        with pytest.raises(PublicParameterError):
            draw_many(parameter, 3, source)  # type: ignore[arg-type]


def test_sizes_and_scales_out_of_range_are_refused() -> None:
    stream = Replayed(1)
    for size in (-1, 1.0, True):
        with pytest.raises(PublicParameterError):
            discrete_laplace(1, size, stream)  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        discrete_laplace(2**56 + 1, 1, stream)
    with pytest.raises(PublicParameterError):
        discrete_gaussian(2**112 + 1, 1, stream)
    assert discrete_laplace(1, 0, stream).shape == (0,) == discrete_gaussian(10**9, 0, stream).shape


PINNED: list[list[int]] = [
    [-6, -7, 12, 10, 3, 7],
    [-615465, 783531, -1258968, -1417695, -279172, -681229],
    [5, -5, -9, 3, -2, 6],
    [42190, 50818, -86282, 20876, -19492, 56892],
    [-590918, -1334140, 2740907],
    [35060, 77358, 59914],
]
