"""Numbers a guarantee rests on are read exactly, or refused with words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.numbers import at_most, exact, positive, read, rough, show, to_digits


@pytest.mark.parametrize("given_as", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10"])
def test_one_tenth_is_one_tenth_however_it_is_written(given_as: object) -> None:
    assert read(given_as, "epsilon") == Fraction(1, 10)  # type: ignore[arg-type]  # the union is spelled out above


def test_a_sum_of_floats_is_refused_with_the_words_to_type() -> None:
    with pytest.raises(PublicParameterError) as refusal:
        read(0.1 + 0.2, "epsilon")
    assert str(refusal.value) == 'ε 0.30000000000000004 is a floating-point number. Write epsilon="0.3".'


@pytest.mark.parametrize(
    "wrong", ["nan", "inf", "one", "", float("nan"), float("inf"), True, None, [1], Decimal("NaN")]
)
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with pytest.raises(PublicParameterError):
        read(wrong, "epsilon")  # type: ignore[arg-type]  # refused at run time as well


class Whole(int):
    """Its arithmetic is its own, and would be shown what it meets."""

    @property
    def numerator(self) -> Whole:
        return self

    def __index__(self) -> Whole:
        return self

    __rmul__ = __rsub__ = __mul__ = __index__  # type: ignore[assignment]


class Share(Fraction):
    @property
    def numerator(self) -> Whole:
        return Whole(3)


class Number(Decimal):
    def as_integer_ratio(self) -> tuple[int, int]:
        return Whole(3), Whole(1)


class Text(str):
    __slots__ = ()

    def strip(self, *_: object) -> Text:
        return self


class Double(float):
    def __repr__(self) -> str:
        return Text("3")


class Index:
    def __index__(self) -> int:
        return Whole(3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of an index that is no plain int
@pytest.mark.parametrize("made", [Whole(3), Share(3), Number(3), Text("3"), Double(3), Index()])
def test_a_number_of_the_callers_own_kind_is_read_as_a_plain_one(made: object) -> None:
    """What is read meets private sums later: nothing of the caller's may be left in it."""
    found = read(made, "claimed")  # type: ignore[arg-type]
    assert found == 3
    assert type(found) is Fraction
    assert {type(found.numerator), type(found.denominator)} == {int}


@pytest.mark.parametrize("wrong", [Whole(3), Share(3), Fraction(Whole(3)), np.int64(3)])
def test_below_the_surface_a_number_of_the_callers_own_kind_is_refused(wrong: object) -> None:
    """Its quotients would be noise of any size: a release at epsilon 1 would tell an exact count."""
    for reader in (exact, positive):
        with pytest.raises(PublicParameterError):
            reader(wrong, "epsilon")  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        PureDP(wrong)  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        Adjacency("add_remove", rows=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", [int, float, str, Decimal])
def test_what_only_says_that_it_is_a_number_is_refused(spec: type) -> None:
    with pytest.raises(PublicParameterError):
        read(Mock(spec=spec), "epsilon")


@pytest.mark.parametrize("wrong", [0.5, "0.5", True])
def test_below_the_surface_a_float_is_an_error(wrong: object) -> None:
    with pytest.raises(PublicParameterError):
        exact(wrong, "epsilon")  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        PureDP(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, Fraction(-1, 3)])
def test_positive_means_above_zero(wrong: int | Fraction) -> None:
    with pytest.raises(PublicParameterError):
        positive(wrong, "epsilon")


def test_a_delta_of_one_is_no_guarantee() -> None:
    with pytest.raises(PublicParameterError):
        ApproxDP(Fraction(1), Fraction(1))


@pytest.mark.wide
@given(st.fractions())
def test_shown_then_read_is_the_same_number(number: Fraction) -> None:
    assert read(show(number), "epsilon") == number


@given(st.integers(-(10**9), 10**9), st.integers(0, 15))
def test_decimals_are_shown_as_decimals_where_they_are_short(digits: int, places: int) -> None:
    number = Fraction(digits, 10**places)
    assert read(show(number), "epsilon") == number
    assert "/" not in show(number) or places > 12


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(3), "3"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(1, 20000), "5e-5"),
    ],
)
def test_show_writes_what_people_write(number: Fraction, text: str) -> None:
    assert show(number) == text


@given(st.floats(-1e14, 1e14), st.integers(1, 4))
def test_a_rough_number_has_its_digits_and_no_power_of_ten(value: float, digits: int) -> None:
    told = rough(value, digits)
    if value == 0 or 1e-4 <= abs(value) < 9e14:
        assert "e" not in told
        assert float(told.replace(",", "")) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
        assert len(told.replace(",", "").replace(".", "").strip("-0")) <= digits


def test_a_rough_number_of_a_hundred_points_is_written_out() -> None:
    assert [rough(value) for value in (99.7, 123_456, 0.0042, 1.50, 0.0)] == ["100", "120,000", "0.0042", "1.5", "0"]


@given(st.floats(1e-12, 1e30))
def test_a_number_in_words_has_its_power_of_ten_raised(value: float) -> None:
    told = (rough(value), at_most(value), to_digits(value), to_digits(-value))
    assert not any("e" in one for one in told), told


def test_powers_of_ten_are_written_as_people_write_them() -> None:
    assert (to_digits(2.0**-20), to_digits(2.0**60), to_digits(12.5)) == ("9.53674 × 10⁻⁷", "1.15292 × 10¹⁸", "12.5")
    assert (rough(1.2e18), at_most(1.1419e26)) == ("1.2 × 10¹⁸", "1.15 × 10²⁶")
