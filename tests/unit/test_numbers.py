"""Numbers a guarantee rests on are read exactly, or refused with words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.numbers import exact, positive, read, show


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
