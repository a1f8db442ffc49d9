"""Influence: 003's four examples, the limits against large samples and against the definition, every figure legible.

Samples are evenly spaced quantiles of a population, so nothing here depends on chance but the rows of the regression,
which are replayed.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent import lab
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.lab.influence import ALPHA, HUBER, Estimator, Population, estimate, gross_error_sensitivity, law

COLUMN: tuple[Estimator, ...] = ("mean", "median", "trimmed mean", "iqr", "huber")
SHAPES: tuple[Population, ...] = ("normal", "lognormal", "cauchy")


def quantiles(shape: Population, n: int) -> list[float]:
    """n values whose empirical law is nearest to the population's."""
    found: list[float] = law(shape).quantiles((np.arange(n) + 0.5) / n).tolist()
    return found


# --- 003 section 1.4, Examples 1 to 4 ---------------------------------------------------------------------------------


def test_example_1_the_influence_on_a_mean_has_no_bound() -> None:
    found = lab.influence("mean", quantiles("normal", 101), at=[1e3, 1e4])
    assert [round(y / x, 6) for x, y in found.points] == [1, 1]
    assert found.far == pytest.approx(1e6)
    assert gross_error_sensitivity("mean", "normal") == math.inf


def test_example_2_without_density_at_the_median_the_influence_grows_as_n() -> None:
    """And the local sensitivity, influence over n + 1, is the width of the gap, whatever n is."""
    found = [lab.influence("median", quantiles("gap", n)) for n in (100, 1000)]
    assert found[1].far / found[0].far == pytest.approx(10, rel=0.02)
    assert [one.moved for one in found] == pytest.approx([2, 2], rel=0.02)
    assert gross_error_sensitivity("median", "gap") == math.inf


@pytest.mark.parametrize("shape", SHAPES)
def test_example_3_with_density_the_influence_on_a_median_stays_and_its_sensitivity_vanishes(shape: Population) -> None:
    found = [lab.influence("median", quantiles(shape, n)) for n in (101, 1001, 4001)]
    for one in found[1:]:
        assert one.far == pytest.approx(2 * gross_error_sensitivity("median", shape), rel=0.02)
    assert found[2].moved < found[0].moved / 30


@pytest.mark.parametrize("shape", SHAPES)
def test_example_4_the_influence_on_a_trimmed_mean_stays(shape: Population) -> None:
    found = [lab.influence("trimmed mean", quantiles(shape, n)).far for n in (200, 2000)]
    assert found[1] < 2 * gross_error_sensitivity("trimmed mean", shape)
    assert found[1] < 1.3 * found[0]


# --- limits -----------------------------------------------------------------------------------------------------------


def contaminated(estimator: Estimator, values: np.ndarray[Any, Any], x: float, share: int) -> float:
    """Definition 2 as it is printed, with a share 1 / share of the population put at x."""
    more = np.full(len(values) // (share - 1), x)
    before, after = estimate(estimator, values), estimate(estimator, np.concatenate([values, more]))
    return (after - before) * (len(values) + len(more)) / len(more)


@pytest.mark.parametrize("estimator", COLUMN)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_influence_function_is_the_limit_of_its_definition(estimator: Estimator, shape: Population) -> None:
    if (estimator, shape) == ("mean", "cauchy"):
        with pytest.raises(PublicParameterError, match="no mean"):
            lab.influence_function(estimator, shape)
        return
    values, limit = np.array(quantiles(shape, 40_000)), lab.influence_function(estimator, shape)
    for x in (-3.0, -0.9, 0.3, 0.75, 1.2, 4.0):
        assert contaminated(estimator, values, x, 401) == pytest.approx(limit(x), rel=0.03, abs=0.03)


@pytest.mark.parametrize("estimator", COLUMN[1:])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gross_error_sensitivity_is_the_most_of_the_influence_function(
    estimator: Estimator, shape: Population
) -> None:
    limit = lab.influence_function(estimator, shape)
    most = max(abs(limit(float(x))) for x in [*np.linspace(-9, 9, 721), -FAR, FAR])
    assert gross_error_sensitivity(estimator, shape) == pytest.approx(most, rel=1e-6)


FAR = 1e6


def test_gross_error_sensitivities_in_closed_form() -> None:
    """Hampel and others 1986, section 2.1: sqrt(pi / 2) for a normal median; k / P(|X| < k) for Huber; x_(.9) / .8."""
    normal = law("normal")
    assert gross_error_sensitivity("median", "normal") == pytest.approx(math.sqrt(math.pi / 2))
    assert gross_error_sensitivity("median", "cauchy") == pytest.approx(math.pi / 2)
    within = 2 * normal.below(HUBER) - 1
    assert gross_error_sensitivity("huber", "normal") == pytest.approx(HUBER / within, rel=1e-4)
    assert gross_error_sensitivity("trimmed mean", "normal") == pytest.approx(1.2815516 / (1 - ALPHA), rel=1e-6)
    quartile = normal.quantile(0.75)
    assert gross_error_sensitivity("iqr", "normal") == pytest.approx(1 / (2 * normal.density(quartile)), rel=1e-9)
    # E[z^2 / sqrt(1 + z^2)] by adding up
    z = np.linspace(-12, 12, 200_001)
    second = np.sum(z**2 / np.sqrt(1 + z**2) * np.exp(-(z**2) / 2)) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    assert gross_error_sensitivity("slope", "normal") == pytest.approx(1 / (2 * normal.density(0) * second), rel=1e-6)


def line(n: int) -> list[tuple[float, float]]:
    """n rows of y = 1 + 2 z + e, z and e normal, replayed."""
    words = (Replayed("line").words(2 * n) >> np.uint64(11)).astype(np.float64)
    values = law("normal").quantiles((words + 0.5) * 2.0**-53)
    z, e = values[:n], values[n:]
    return list(zip(z.tolist(), (1 + 2 * z + e).tolist(), strict=True))


def test_one_row_moves_the_slope_of_r_h_by_no_more_than_its_estimating_equation_says() -> None:
    found = lab.influence("slope", line(400), shape="normal", at=[-1e4, 1.0, 5.0, 1e4])
    assert found.gross is not None
    assert found.far < 2.5 * found.gross  # the empirical influence steps from vertex to vertex
    assert found.points[0][1] < 0 < found.points[3][1]
    assert found.curve[0][1] == pytest.approx(-found.gross / math.sqrt(2))
    many = [(1 + z, 1 + 2 * (1 + z) + e) for z, e in itertools.product(np.linspace(-2, 0, 9), (-1, -0.5, 0.5, 1))]
    assert estimate("slope", np.array(many)) == pytest.approx(2, abs=0.3)


# --- figures and refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [*COLUMN, "slope"])
def test_every_word_of_a_figure_lies_inside_it(estimator: Estimator, tmp_path: Path) -> None:
    sample: Any = line(60) if estimator == "slope" else quantiles("normal", 60)
    from matplotlib.text import Text

    made = lab.influence(estimator, sample, shape="normal")
    drawn = made.plot()
    drawn.draw_without_rendering()
    width, height = drawn.bbox.size
    (axes,) = drawn.axes
    ends = ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
    unseen = {t.label1 for axis, (low, high) in ends for t in axis.get_major_ticks() if not low <= t.get_loc() <= high}
    for text in drawn.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen:
            box = Text.get_window_extent(text)
            assert -1 < box.x0 < box.x1 < width + 1, text.get_text()
            assert -1 < box.y0 < box.y1 < height + 1, text.get_text()
    made.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert len(made.rows()) == len(made.points)
    assert all(limit is not None for _, _, limit in made.rows())


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: lab.influence("mode", [1, 2, 3, 4]), "estimator is one of"),  # type: ignore[arg-type]
        (lambda: lab.influence("mean", [1, 2]), "4 to 5,000"),
        (lambda: lab.influence("mean", [1, 2, 3, math.nan]), "finite"),
        (lambda: lab.influence("slope", [1, 2, 3, 4]), "pairs of them"),
        (lambda: lab.influence("mean", [1, 2, 3, 4], shape="cauchy"), "no mean"),
    ],
)
def test_what_is_no_toy_is_refused(use: Any, words: str) -> None:
    with pytest.raises(PublicParameterError, match=words):
        use()


def test_without_a_population_there_is_no_limit() -> None:
    assert lab.influence("iqr", [1, 2, 4, 8, 16]).rows()[0][2] is None
