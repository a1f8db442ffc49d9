"""Candidates of quantiles: ordered, disjoint, of the mass the prior says, and each value in the cell that holds it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data.candidates import (
    FINE,
    FINEST,
    LEAST,
    MOST,
    REACH,
    USUAL,
    Cells,
    cells_of,
    cells_on,
    coarser,
    moved,
    prior,
)
from reticent.data.schema import category, integer, real
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.ranks import within

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


def mass(cells: Cells, low: int, high: int) -> int:
    """The public weight of the positive binades 2^low .. 2^high."""
    first, last = (Fraction(2) ** e for e in (low, high))
    inside = [s for s in cells.segments if first <= cells.value(s.first) and cells.value(s.stop - 1) <= last]
    return sum((s.stop - s.first) * s.weight for s in inside)


def test_the_prior_gives_every_usual_binade_and_zero_the_same_mass_and_others_a_sixteenth() -> None:
    found = ALL["prior"]
    zero = found.segments[len(found.segments) // 2]
    assert (zero.first, zero.stop) == (0, 1)
    assert mass(found, LEAST, MOST) == (MOST - LEAST) * zero.weight
    assert USUAL * mass(found, MOST, REACH) == (REACH - MOST) * zero.weight
    assert USUAL * mass(found, -REACH, LEAST) == (REACH + LEAST) * zero.weight
    assert found.edges(found.highest)[1] == 2**REACH == -found.edges(found.lowest)[0]
    plain = prior()
    assert len(plain.segments) == 3
    assert mass(plain, LEAST, MOST) == (MOST - LEAST) * plain.segments[1].weight
    masses = {(segment.stop - segment.first) * segment.weight for segment in ALL["whole prior"].segments}
    assert len(masses) == 1


@pytest.mark.parametrize("bits", [20, 24, 39])
def test_merged_cells_have_the_mass_and_the_values_of_what_they_are_merged_from(bits: int) -> None:
    for name in ("prior", "bounded"):
        fine = ALL[name]
        few = coarser(fine, bits)
        values = np.array([-1e99, -2.5, -1e-30, 0.0, 3e-7, 0.75, 3.0, 5.1, 7.2999, 2e40])
        there = fine.index(values)
        held = moved(fine, few, there)
        assert held.tolist() == sorted(held.tolist())
        for value, at in zip(fine.values(there), held, strict=True):
            low, high = few.edges(int(at))
            assert low - Fraction(few.step or 0) / 1000 <= Fraction(value) <= high + Fraction(few.step or 0) / 1000
    few, fine = coarser(ALL["prior"], bits), ALL["prior"]
    for start, stop in ((LEAST, MOST), (MOST, REACH)):
        assert mass(few, start, stop) << (FINEST - bits) == mass(fine, start, stop)


def test_whole_numbers_and_declared_steps_are_not_merged() -> None:
    for name in ("whole", "whole prior", "stepped without bounds"):
        assert coarser(ALL[name], 2) is ALL[name]
    assert coarser(ALL["stepped"], 20) == ALL["stepped"]


def test_bounds_end_the_freedom_of_a_column() -> None:
    free = {name for name, cells in ALL.items() if cells.free}
    assert free == {"prior", "whole prior", "stepped without bounds"}
    assert not any(within(ALL[name], Fraction(1), Fraction(50)).free for name in free)


def test_bounded_cells_cover_the_bounds() -> None:
    for name, low, high in (("bounded", Fraction(-3), Fraction("7.3")), ("stepped", Fraction(0), Fraction(10))):
        cells = ALL[name]
        assert cells.edges(cells.lowest)[0] <= low
        assert cells.edges(cells.highest)[1] >= high
    assert 2**FINEST <= ALL["bounded"].highest - ALL["bounded"].lowest <= 2 ** (FINEST + 1)


def test_what_has_no_cells_is_refused() -> None:
    with pytest.raises(QuestionError, match="town is a category"):
        cells_of(category(["a"]), "town")
    with pytest.raises(PublicParameterError, match="too fine"):
        cells_of(real(0, 10**6, resolution="1e-9"), "x")


def test_binades_have_no_use_for_the_resolution_of_a_column() -> None:
    """Found by record-replay: a log-scale mean of such a column was refused while rows were read, after the charge."""
    assert cells_on("binades", real(0, 10**6, resolution="1e-9"), "x") == cells_of(real(), "x")
    with pytest.raises(PublicParameterError, match="too fine"):
        cells_on("column", real(0, 10**6, resolution="1e-9"), "x")
    with pytest.raises(QuestionError, match="town is a category"):
        cells_on("binades", category(["a"]), "town")


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
    masses = [(s.stop - s.first) * s.weight for s in cells.segments]
    assert len(set(masses)) == 1, "every binade weighs the same"
