"""Candidates of quantiles: ordered, disjoint, of the mass the prior says, and each value in the cell that holds it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data.cells import FINE, LEAST, MOST, Cells, cells_of
from reticent.data.schema import category, integer, real
from reticent.errors import PublicParameterError, QuestionError

ALL = {
    "bounded": cells_of(real(-3, "7.3"), "x"),
    "stepped": cells_of(real(0, 10, resolution="0.1"), "x"),
    "stepped without bounds": cells_of(real(resolution="0.1"), "x"),
    "prior": cells_of(real(), "x"),
    "whole": cells_of(integer(-4, 11), "x"),
    "whole prior": cells_of(integer(), "x"),
}
VALUES = st.floats(allow_nan=False) | st.integers(-(2**62), 2**62).map(float)


def one(cells: Cells, value: float) -> int:
    return int(cells.index(np.array([value]))[0])


@pytest.mark.parametrize("cells", ALL.values(), ids=ALL)
def test_segments_are_in_order_and_disjoint(cells: Cells) -> None:
    ends = [end for segment in cells.segments for end in (segment.first, segment.stop)]
    assert ends == sorted(ends)
    assert all(segment.first < segment.stop and segment.weight > 0 for segment in cells.segments)


@pytest.mark.parametrize("cells", ALL.values(), ids=ALL)
@given(value=VALUES)
def test_a_value_is_in_its_cell(cells: Cells, value: float) -> None:
    index = one(cells, value)
    assert cells.lowest <= index <= cells.highest
    low, high = cells.edges(index)
    assert low <= cells.value(index) <= high
    inside = cells.edges(cells.lowest)[0] <= exact(value) <= cells.edges(cells.highest)[1]
    if inside and cells.step != Fraction(1, 10) and not (cells.whole and not value.is_integer()):
        assert low <= exact(value) <= high


def exact(value: float) -> Fraction:
    return Fraction(value) if math.isfinite(value) else Fraction(10) ** 400 * (1 if value > 0 else -1)


@pytest.mark.parametrize("cells", ALL.values(), ids=ALL)
@given(values=st.lists(VALUES, min_size=2, max_size=20))
def test_cells_grow_with_the_value(cells: Cells, values: list[float]) -> None:
    index = cells.index(np.array(sorted(values)))
    assert list(index) == sorted(index)


@pytest.mark.parametrize("cells", ALL.values(), ids=ALL)
def test_infinities_fall_on_the_ends(cells: Cells) -> None:
    assert (one(cells, math.inf), one(cells, -math.inf)) == (cells.highest, cells.lowest)


def test_cells_do_not_overlap_and_leave_no_gap() -> None:
    for name in ("bounded", "stepped", "prior"):
        cells = ALL[name]
        for index in (-5, -2, -1, 0, 1, 2, (7 << FINE), (7 << FINE) + 1):
            if cells.lowest <= index < cells.highest:
                assert cells.edges(index)[1] == cells.edges(index + 1)[0]


def test_the_prior_gives_every_binade_and_zero_the_same_mass() -> None:
    prior = ALL["prior"]
    negative, zero, positive = prior.segments
    assert (positive.stop - positive.first) * positive.weight == (MOST - LEAST) * zero.weight
    assert (negative.stop - negative.first) * negative.weight == (MOST - LEAST) * zero.weight
    assert prior.edges(prior.highest)[1] == 2**MOST
    masses = {(segment.stop - segment.first) * segment.weight for segment in ALL["whole prior"].segments}
    assert len(masses) == 1


def test_bounded_cells_cover_the_bounds() -> None:
    for name, low, high in (("bounded", Fraction(-3), Fraction("7.3")), ("stepped", Fraction(0), Fraction(10))):
        cells = ALL[name]
        assert cells.edges(cells.lowest)[0] <= low
        assert cells.edges(cells.highest)[1] >= high
    assert 2**FINE <= ALL["bounded"].highest - ALL["bounded"].lowest <= 2 ** (FINE + 1)


def test_what_has_no_cells_is_refused() -> None:
    with pytest.raises(QuestionError, match="town is a category"):
        cells_of(category(["a"]), "town")
    with pytest.raises(PublicParameterError, match="too fine"):
        cells_of(real(0, 10**6, resolution="1e-9"), "x")


@pytest.mark.parametrize("high", ["1e-250", "1e-17", "1e300"])
def test_cells_of_a_range_of_any_size(high: str) -> None:
    cells = cells_of(real(0, high), "x")
    index = cells.index(np.array([-np.inf, 0.0, float(high) / 2, float(high), np.inf]))
    assert cells.lowest == index[0] == index[1] < index[2] < index[3] <= index[4] == cells.highest
    assert abs(float(cells.value(int(index[2]))) / float(high) - 0.5) < 1e-5


def test_a_resolution_without_bounds_counts_the_prior_in_steps() -> None:
    cells = cells_of(real(resolution="0.1"), "x")
    values = np.array([-0.35, -0.05, 0.0, 0.05, 10.57626, 1e300, -np.inf])
    assert cells.index(values).tolist()[:5] == [-3, 0, 0, 1, 106]
    assert cells.index(values).tolist()[5:] == [cells.highest, cells.lowest]
    assert cells.edges(106) == (Fraction("10.55"), Fraction("10.65"))
    assert cells.value(106) == Fraction("10.6")
    mass = [(s.stop - s.first) * s.weight for s in cells.segments]
    assert len(set(mass)) == 1, "every binade weighs the same"
