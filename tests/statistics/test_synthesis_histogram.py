"""Histograms as densities: accuracy, empty cells, refusals, and what a draw looks like from real tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, integer, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.synthesis.axis import axis, even
from reticent.synthesis.density import Density
from reticent.synthesis.histogram import HistogramDensity, Shape, histogram, unit_of

SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")
ONE = Fraction(1)


def unit_axes(columns: int, cells: int) -> list:  # type: ignore[type-arg]
    return [even(f"x{place}", Fraction(0), ONE, cells) for place in range(columns)]


def read(plan: HistogramDensity, values: NDArray[np.float64]) -> QueryResult:
    """What the data layer gives for values in memory: floor(x / unit)."""
    table = values if values.ndim == 2 else values.reshape(-1, 1)
    units = [float(unit_of(one)) for one in plan.grid.axes]
    records = np.floor(np.nan_to_num(table) / units).astype(np.int64)
    records[np.isnan(table).any(axis=1)] = [ABSENT, *[0] * (len(units) - 1)]
    return QueryResult(records=records)


def drawn(plan: HistogramDensity, values: NDArray[np.float64], key: str) -> Density:
    found = plan.draw((read(plan, values),), Replayed(key))
    assert isinstance(found, Reply)
    return found.value


def uniforms(count: int, key: str) -> NDArray[np.float64]:
    return (Replayed(key).words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


# --- accuracy ---------------------------------------------------------------------------------------------------------


def squared_error(density: Density) -> float:
    """Integrated squared distance from the density 1/2 + x on [0, 1]."""
    fine = (np.arange(20_000) + 0.5) / 20_000
    return float(((density.pdf(fine) - 0.5 - fine) ** 2).mean())


def test_at_300_000_records_privacy_costs_less_than_two_percent() -> None:
    """Against the same bins without noise; mean of 8 draws. With 20 times the noise it costs more than that."""
    n = 300_000
    values = np.sqrt(0.25 + 2.0 * uniforms(n, "wedge")) - 0.5
    plan = histogram(unit_axes(1, 1), SUB, ONE, people=n, cells=0)
    assert plan.grid.cells == 67
    counts = np.bincount((values * 67).astype(np.int64), minlength=67)
    plain = Density(plan.grid.axes, counts / n, "plain", plan.guarantee, n)
    best = squared_error(plain)
    ours = [squared_error(drawn(plan, values, f"wedge {key}")) for key in range(8)]
    assert np.mean(ours) < 1.02 * best
    loud = histogram(unit_axes(1, 67), SUB, Fraction(1, 20), people=n)
    assert squared_error(drawn(loud, values, "loud")) > 1.02 * best


def mass_on_empty(shape: Shape, key: str) -> float:
    """A line in three dimensions, n = 20,000, 32,768 cells, epsilon 1."""
    line = uniforms(20_000, "line")
    values = np.stack([line, line, line], axis=1)
    plan = histogram(unit_axes(3, 32), SUB, ONE, people=20_000, shape=shape)
    density = drawn(plan, values, key)
    return 1.0 - float(sum(density.masses[k, k, k] for k in range(32)))


def test_projection_leaves_empty_cells_empty_and_clipping_fills_them() -> None:
    """release.md section 5: .015 against .617."""
    assert mass_on_empty("simplex", "line") < 0.02
    assert mass_on_empty("clip", "line") > 0.5


@pytest.mark.wide
def test_the_total_is_bought_from_the_counts_where_it_is_private() -> None:
    values = uniforms(5_000, "private n")
    plan = histogram(unit_axes(1, 10), ADD, ONE)
    assert plan.mechanism.scale == 1
    density = drawn(plan, values, "private n")
    assert abs(density.n - 5_000) < 60
    chosen = histogram(unit_axes(1, 1), ADD, ONE, cells=0)
    assert drawn(chosen, values, "cells").masses.shape == (17,)


# --- what a column may hold -------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_zeros_whole_numbers_and_missing_values_have_masses_of_their_own() -> None:
    values = np.concatenate([np.zeros(3_000), uniforms(5_000, "mixed"), np.full(2_000, np.nan)])
    plan = histogram(unit_axes(1, 5), SUB, ONE, people=10_000, atoms=[Fraction(0)])
    density = drawn(plan, values, "mixed")
    assert density.missing == pytest.approx(0.2, abs=0.003)
    assert density.atoms[0][1] == pytest.approx(3 / 8, abs=0.003)
    assert density.masses == pytest.approx(np.full(5, 1 / 8), abs=0.01)
    assert density.cdf([0.0])[0] == pytest.approx(3 / 8, abs=0.003)
    whole = histogram([axis("k", range(0, 8), whole=True)], SUB, ONE, people=7_000)
    counts = drawn(whole, np.repeat(np.arange(7.0), 1_000), "whole")
    assert counts.pdf([3.0])[0] == pytest.approx(1 / 7, abs=0.005)


@pytest.mark.wide
@pytest.mark.parametrize(
    "plan", [histogram(unit_axes(1, 4), SUB, ONE, people=10), histogram(unit_axes(2, 3), ADD, ONE)]
)
def test_only_noise_below_zero_gives_the_uniform(plan: HistogramDensity) -> None:
    density = plan._density(plan.grid, np.full(plan.grid.cells + 1, -3.0), plan.size.known)
    assert density.masses == pytest.approx(np.full(density.masses.shape, 1 / plan.grid.cells))
    clip = histogram(unit_axes(1, 4), SUB, ONE, people=10, shape="clip")
    assert clip._density(clip.grid, np.full(5, -1.0), 10).masses == pytest.approx(np.full(4, 0.25))


@pytest.mark.wide
@pytest.mark.parametrize("values", [np.zeros(0), np.full(500, 0.3), np.full(400, np.nan), np.full(300, 7.0)])
def test_no_record_one_value_and_values_out_of_bounds_give_a_density(values: NDArray[np.float64]) -> None:
    for key in range(5):
        density = drawn(histogram(unit_axes(1, 6), ADD, ONE), values, f"odd {key}")
        assert density.masses.sum() == pytest.approx(1.0)
        assert density.axes[0].high == 1.0


@pytest.mark.wide
def test_questions_that_cannot_be_answered_are_refused_with_their_cost() -> None:
    with pytest.raises(QuestionError, match="1,048,576"):
        histogram(unit_axes(4, 40), SUB, ONE, people=10**6)
    with pytest.raises(QuestionError, match="only the uniform"):
        histogram(unit_axes(1, 4), SUB, Fraction(1, 1000), people=100)
    with pytest.raises(PublicParameterError):
        histogram(unit_axes(2, 4), SUB, ONE, people=100, atoms=[Fraction(0)])
    with pytest.raises(PublicParameterError):
        histogram(unit_axes(1, 4), SUB, ONE, people=100, atoms=[Fraction(9)])


# --- from a table -----------------------------------------------------------------------------------------------------


def results(plan: HistogramDensity, columns: dict[str, Sequence[object]], schema: Schema) -> list[QueryResult]:
    return open_table(columns, schema).run(plan.queries, bytes(32))


@pytest.mark.wide
def test_rows_go_from_a_table_to_a_density() -> None:
    schema = Schema({"x": real(0, 1), "k": integer(0, 3)}, Person("substitute"))
    columns: dict[str, Sequence[object]] = {
        "x": [0.05, 0.55, None, 0.95] * 500,
        "k": [0, 1, 2, 3] * 500,
    }
    axes = [even("x", Fraction(0), ONE, 2), even("k", Fraction(0), Fraction(3), 4, whole=True)]
    plan = histogram(axes, SUB, Fraction(4), people=2000)
    outcome = plan.draw(results(plan, columns, schema), Replayed("table"))
    assert isinstance(outcome, Reply)
    truth = np.array([[1, 0, 0, 0], [0, 1, 0, 1]]) / 3
    assert outcome.value.masses == pytest.approx(truth, abs=0.01)
    assert outcome.value.missing == pytest.approx(0.25, abs=0.01)


@pytest.mark.wide
def test_what_is_expected_is_near_what_comes() -> None:
    plan = histogram(unit_axes(1, 50), SUB, ONE, people=10_000)
    assert plan.expected(10_000).noise == pytest.approx(1.96 * 2.8 * 50**0.5 / 2 / 10_000, rel=0.05)
