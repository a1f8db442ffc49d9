"""Declarations, and the fixed-point grids computed from them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data.query import Keys, Tally
from reticent.data.schema import (
    Category,
    FixedPointGrid,
    Integer,
    Person,
    Real,
    Schema,
    category,
    grid_by_size,
    grid_by_width,
    grid_whole,
    integer,
    real,
)
from reticent.errors import PublicParameterError, QuestionError, ReticentError

BOUNDS = st.tuples(
    st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**9),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**12, max_denominator=10**9),
).map(lambda pair: (pair[0], pair[0] + pair[1]))


@pytest.mark.wide
@given(BOUNDS)
def test_a_grid_holds_its_bounds_exactly_enough(bounds: tuple[Fraction, Fraction]) -> None:
    low, high = bounds
    for grid in (grid_by_width(low, high), grid_by_size(low, high), grid_whole(low, high)):
        assert grid.lowest * grid.unit <= low < high <= grid.highest * grid.unit
        assert max(abs(grid.lowest), abs(grid.highest)) <= 2**53
        assert float(grid.lowest * grid.unit) == grid.lowest * grid.unit
        assert 0 < grid.reach < 2**31
        assert grid.middle - grid.lowest <= grid.reach


@pytest.mark.wide
@given(BOUNDS)
def test_grids_are_fine(bounds: tuple[Fraction, Fraction]) -> None:
    low, high = bounds
    width, size = grid_by_width(low, high), grid_by_size(low, high)
    assert width.highest - width.lowest <= 2**29 + 2
    assert width.highest - width.lowest >= 2**27 or max(abs(width.lowest), abs(width.highest)) >= 2**51
    assert 2**27 <= max(abs(size.lowest), abs(size.highest)) <= 2**29 + 1


def test_a_real_column_between_integers_is_not_rounded_to_integers() -> None:
    assert grid_by_width(Fraction(0), Fraction(1)).bits >= 28
    assert grid_by_size(Fraction(0), Fraction(120)).bits >= 21


def test_the_grid_of_an_integer_column_is_the_integers() -> None:
    grid = grid_whole(Fraction(-3), Fraction(50))
    assert (grid.bits, grid.lowest, grid.highest) == (0, -3, 50)
    assert grid_whole(Fraction(0), Fraction(10**12)).bits < 0


def test_bounds_beyond_every_grid_are_refused() -> None:
    with pytest.raises(PublicParameterError, match="too large for a fixed-point sum"):
        grid_by_width(Fraction(0), Fraction(10) ** 400)

    with pytest.raises(PublicParameterError, match="too close to zero"):
        grid_by_width(Fraction(0), 1 / Fraction(10) ** 300)


@pytest.mark.parametrize("high", ["1e-250", "1e-60", "1e-17", "1e17", "1e300"])
def test_a_grid_fits_a_range_of_any_size(high: str) -> None:
    for grid in (grid_by_width(Fraction(0), Fraction(high)), grid_by_size(-Fraction(high), Fraction(high))):
        assert grid.highest >= 2**27
        assert 0 < math.ldexp(1.0, grid.bits) < math.inf
        assert Fraction(math.ldexp(grid.highest, -grid.bits)) == grid.highest * grid.unit


def test_bounds_of_an_integer_column_are_kept_as_integers() -> None:
    assert integer(1.0, 3.0) == integer(1, 3)  # type: ignore[arg-type]
    assert type(integer(1.0, 3.0).low) is int  # type: ignore[arg-type]
    assert integer(-(2**53), 2**53) == Integer(-(2**53), 2**53)


def test_declarations_are_read_exactly() -> None:
    assert real(0.1, "1/3") == Real(Fraction(1, 10), Fraction(1, 3))
    assert integer(0, 5, missing=2) == Integer(0, 5, missing=Fraction(2))
    assert category(["a", "b"], constant=True) == Category(("a", "b"), constant=True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: real(1), "low and high come together"),
        (lambda: real(2, 2), "low must be below high, got 2 and 2"),
        (lambda: real(0.1 + 0.2, 1), 'Write low="0.3"'),
        (lambda: real(0, 1, resolution=0), "resolution must be > 0"),
        (lambda: real(0, 1, missing=float("nan")), "missing must be finite"),
        (lambda: Integer(0, 1, missing=Fraction(1, 2)), "must be an integer"),
        (lambda: category([]), "among must list at least one value"),
        (lambda: category([1, True]), "among mixes text, integers and truth values"),
        (lambda: category([2, 2]), "among lists a value twice"),
        (lambda: Real(Fraction(0), Fraction(10) ** 301), "high must be 0 or between 1e-250 and 1e300"),
        (lambda: real(0, "1e-299"), "high must be 0 or between 1e-250 and 1e300"),
        (lambda: real("-1e-251", 0), "low must be 0 or between 1e-250 and 1e300"),
        (lambda: Real(missing=-(Fraction(10) ** 301)), "missing must be 0 or between 1e-250 and 1e300"),
        (lambda: real("1", "1.00000000000000000001"), "they are the same double"),
        (lambda: real(resolution="1e260"), "resolution must be between"),
        (lambda: real(0, 1, resolution="1e-299"), "resolution must be between"),
        (lambda: integer(0, 2**53 + 1), "high of an integer column must lie within 2\\^53"),
        (lambda: integer(-(2**70), 0), "low of an integer column must lie within 2\\^53"),
        (lambda: integer(missing=2**53 + 1), "missing of an integer column must lie within 2\\^53"),
        (lambda: category(["a", "\ud800"]), "cannot be written as UTF-8"),
        (lambda: category(["a\x00"]), "cannot be written as UTF-8"),
        (lambda: category([1.5]), "among must list text, integers, or truth values"),  # type: ignore[list-item]
        (lambda: Tally("x", edges=(Fraction(0), Fraction(10) ** 301)), "edges must lie within 1e300"),
        (lambda: category([2**60]), "must lie within 2\\^53 of zero"),
        (lambda: Person("add_remove", rows=2), "needs a person column"),
        (lambda: Person("add_remove", "who", rows=2**31), "must be <"),
        (lambda: Person("add_remove", people=0), "people must be >= 1"),
        (lambda: Person("local"), "belongs to surveys"),
        (lambda: FixedPointGrid(0, 0, 2**33), "must lie within"),
        (lambda: FixedPointGrid(0, 2**60, 2**60 + 1), "must lie within"),
        (lambda: FixedPointGrid(0, 1, 1), "must lie within"),
        (lambda: Keys("town", ("a",), 0), "must be >= 1"),
        (lambda: Keys("town", (), 1), "at least one"),
        (lambda: Keys("town", ("a", "a"), 1), "different values"),
    ],
)
def test_a_declaration_out_of_range_is_refused(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(ReticentError, match=said):
        make()


def test_an_unknown_column_has_a_hint() -> None:
    schema = Schema({"mdvis": real(), "town": category(["a"])}, Person("add_remove"))
    with pytest.raises(QuestionError, match=r"'mdvsi'\. Did you mean mdvis\? Declared columns: mdvis, town\."):
        schema.column("mdvsi")
    with pytest.raises(QuestionError, match="mean\\(mdvis\\) needs a range known without looking at the file"):
        schema.bounded("mdvis", "mean(mdvis)")
    with pytest.raises(QuestionError, match="town is a category"):
        schema.bounded("town", "mean(town)")
