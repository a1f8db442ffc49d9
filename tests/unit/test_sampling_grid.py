"""The public grid: rounding, and how far it can move two close answers apart."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.exact.grid import Grid, grid

exponents = st.integers(-40, 40)
rationals = st.fractions(max_denominator=10**6)


@given(exponents, rationals)
def test_index_is_nearest_and_ties_go_down(exponent: int, value: Fraction) -> None:
    lattice = Grid(exponent)
    offset = value - lattice.round(value)
    assert -lattice.step / 2 < offset <= lattice.step / 2
    assert lattice.index(lattice.at(lattice.index(value))) == lattice.index(value)


def test_half_way_cases_go_down() -> None:
    assert [Grid(0).index(Fraction(k, 2)) for k in (-3, -2, -1, 0, 1, 2, 3)] == [-2, -1, -1, 0, 0, 1, 1]


@pytest.mark.wide
@given(exponents, rationals, st.fractions(min_value=0, max_denominator=10**6))
def test_rounded_answers_move_at_most_the_ceiling(exponent: int, value: Fraction, bound: Fraction) -> None:
    lattice = Grid(exponent)
    moved = abs(lattice.index(value + bound) - lattice.index(value))
    assert moved <= lattice.sensitivity(bound) <= lattice.sensitivity_any(bound)


@given(exponents, st.fractions(min_value=Fraction(1, 10**6), max_denominator=10**6))
def test_the_ceiling_is_attained(exponent: int, bound: Fraction) -> None:
    lattice = Grid(exponent)
    start = lattice.step / 2
    assert lattice.index(start + bound) - lattice.index(start) == lattice.sensitivity(bound)


def test_ties_to_even_would_need_one_step_more() -> None:
    assert (
        round(Fraction(3, 2)) - round(Fraction(1, 2)) == 2 == Grid(0).sensitivity_any(1) == Grid(0).sensitivity(1) + 1
    )


@pytest.mark.wide
@given(st.integers(-6, 6), st.lists(st.tuples(rationals, rationals), min_size=1, max_size=6))
def test_vectors_stay_within_their_bounds(exponent: int, pairs: list[tuple[Fraction, Fraction]]) -> None:
    lattice = Grid(exponent)
    moves = [abs(lattice.index(a) - lattice.index(b)) for a, b in pairs]
    apart = [abs(a - b) for a, b in pairs]
    assert sum(moves) <= lattice.sensitivity_l1(sum(apart), len(pairs))
    squared = sum(d * d for d in apart)
    root = Fraction(squared.numerator * 10**12 // squared.denominator + 1)
    above = Fraction(isqrt(int(root)) + 1, 10**6)
    assert sum(m * m for m in moves) <= lattice.sensitivity_l2(above, len(pairs)) ** 2


def test_vector_bound_is_attained() -> None:
    lattice, tiny = Grid(0), Fraction(1, 1000)
    start = [Fraction(1, 2)] * 3
    end = [start[0] + tiny, start[1] + tiny, start[2] + 2 - 2 * tiny]
    moves = sum(lattice.index(b) - lattice.index(a) for a, b in zip(start, end, strict=True))
    assert moves == lattice.sensitivity_l1(2, 3) == 4
    assert lattice.sensitivity_l1(0, 3) == 0 == lattice.sensitivity_l2(0, 3)


@pytest.mark.parametrize("scale", [1, Fraction(1, 3), 1000, Fraction(1, 1 << 20), 10**30, Fraction(1023, 1024)])
def test_the_step_lies_just_below_the_scale_asked_for(scale: Fraction) -> None:
    step = grid(scale).step
    assert step <= Fraction(scale) / 1024 < 2 * step


@pytest.mark.parametrize(
    "call",
    [
        lambda: Grid(0.0),  # type: ignore[arg-type]
        lambda: Grid(0).index(0.5),  # type: ignore[arg-type]
        lambda: Grid(0).sensitivity(1.0),  # type: ignore[arg-type]
        lambda: Grid(0).sensitivity(-1),
        lambda: Grid(0).sensitivity_any(-1),
        lambda: Grid(0).sensitivity_l1(1, 0),
        lambda: Grid(0).sensitivity_l2(1, 0),
        lambda: Grid(0).sensitivity_l2(-1, 1),
        lambda: grid(0),
        lambda: grid(1.5),  # type: ignore[arg-type]
        lambda: grid(1, places=1.0),  # type: ignore[arg-type]
    ],
)
def test_floats_and_bad_ranges_are_refused(call: object) -> None:
    with pytest.raises(PublicParameterError):
        call()  # type: ignore[operator]
