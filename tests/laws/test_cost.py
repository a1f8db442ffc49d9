"""A release with a bad number ends before its rows are read and before the ledger is asked for anything."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.data.table import Table
from reticent.errors import PublicParameterError, Refusal, SpecError
from reticent.ledger import Ledger
from reticent.privacy.cost import Cost, refuse_exposure
from reticent.privacy.loss import ZCDP, PureDP


class SlyFloat(float):
    """A float that says it is 1."""

    def __repr__(self) -> str:
        return "1.0"

    def __float__(self) -> float:
        return 1.0

    def __le__(self, other: object) -> bool:
        return False


class SlyInt(int):
    """An integer that says it is 1."""

    def __index__(self) -> int:
        return 1

    def __le__(self, other: object) -> bool:
        return False


class SlyFraction(Fraction):
    """A fraction that is never below anything."""

    def __le__(self, other: object) -> bool:
        return False


class SlyText(str):
    """A text that strips to 1."""

    __slots__ = ()

    def strip(self, chars: str | None = None, /) -> str:
        return "1"


NO_NUMBERS: Final[tuple[Any, ...]] = (
    *(
        "nan",
        "NaN",
        "sNaN",
        "inf",
        "-Infinity",
        "",
        " ",
        "1/0",
        "0/1",
        "one",
        "0x1",
        "1e",
        "--1",
        "1/2/3",
        "½",
        "9" * 700,
    ),
    *(float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.1 + 0.2),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-0"), Decimal("1e400"), Decimal("-1")),
    *(True, False, 1j, b"1", [1], (), {}, object(), PureDP(Fraction(1)), 10**400, Fraction(1, 10**400), -1, 0),
    *(SlyFloat(-1.0), SlyFloat("nan"), SlyInt(-1), SlyFraction(-1), SlyText("-1"), SlyText("nan")),
)
BAD: Final[st.SearchStrategy[Any]] = st.one_of(
    st.sampled_from(NO_NUMBERS),
    st.fractions(max_value=0),
    st.fractions(max_value=0).map(str),
    st.floats(max_value=0),
    st.decimals(max_value=0, allow_nan=False),
    st.integers(301, 10**9).map(lambda power: f"1e{power}"),
    st.integers(301, 10**9).map(lambda power: f"1e-{power}"),
    st.floats(min_value=5e-324, max_value=1e-301),
    st.text(max_size=12).filter(lambda text: not any(letter.isdigit() for letter in text)),
)
NUMBERS: Final = st.sampled_from(("epsilon", "rho", "delta"))


def around(name: str, number: object) -> dict[str, Any]:
    """The numbers of a release in which only ``name`` is wrong."""
    return {"epsilon": "1", "delta": number} if name == "delta" else {name: number}


@pytest.fixture(scope="module")
def study() -> rt.Study:
    return rt.study(
        {"x": [1.0, 2.0, 3.0] * 50},
        adjacency="add_remove",
        columns={"x": rt.real(0, 5)},
        budget="9",
        delta="1e-5",
    )


@pytest.fixture(scope="module")
def unreachable() -> Any:
    """Rows and ledger that end the test where a refused release touches them."""
    with pytest.MonkeyPatch.context() as patch:
        for place, name in ((Ledger, "reserve"), (Table, "run")):

            def touched(*_: object, called: str = name, **__: object) -> None:
                raise AssertionError(f"a refused release reached {called}")

            patch.setattr(place, name, touched)
        yield


@pytest.mark.wide
@given(name=NUMBERS, number=BAD)
@settings(max_examples=400, deadline=None)
def test_a_bad_number_never_reaches_the_ledger(study: rt.Study, unreachable: Any, name: str, number: object) -> None:
    with pytest.raises(Refusal):
        study.release(["mean(x)"], **around(name, number))
    assert study.left() == study.spec.budget.loss


@pytest.mark.wide
@given(name=NUMBERS, number=BAD)
@settings(max_examples=200, deadline=None)
def test_a_bad_number_is_refused_by_the_value_itself(name: str, number: Any) -> None:
    """``Cost`` takes exact rationals: whatever was not read is refused, and so is what was read and is not above 0."""
    with pytest.raises(Refusal):
        Cost(**around(name, number))
    with pytest.raises(Refusal):
        Cost.read(**around(name, number))


@pytest.mark.parametrize("number", ["-1", "0", "nan", "inf", "1e999", "1/0", "one"])
@pytest.mark.parametrize("name", ["epsilon", "rho", "delta"])
def test_a_bad_number_of_a_study_file_never_reaches_the_ledger(
    tmp_path: Path, unreachable: Any, name: str, number: str
) -> None:
    (tmp_path / "rows.csv").write_text("x\n1\n2\n")
    numbers = "\n".join(f'{key} = "{value}"' for key, value in around(name, number).items())
    file = tmp_path / "study.toml"
    file.write_text(
        f'[study]\nsource = "rows.csv"\nledger = "rows.ledger"\n[person]\nadjacency = "add_remove"\nrows = "one_each"\n'
        f'[budget]\nepsilon = "9"\n[columns.x]\nkind = "real"\nlow = 0\nhigh = 5\n'
        f'[[release]]\nname = "one"\nask = ["mean(x)"]\n{numbers}\n'
    )

    def released() -> None:
        study = rt.open(file)
        item = study.named("one")
        study.release(item.ask, epsilon=item.epsilon, rho=item.rho, delta=item.delta)

    with pytest.raises(Refusal):
        released()


@pytest.mark.wide
@given(epsilon=st.fractions(min_value=Fraction(1, 10**9), max_value=20), reason=st.sampled_from(("", "a reason")))
def test_more_than_ten_needs_a_reason(epsilon: Fraction, reason: str) -> None:
    if epsilon > 10 and not reason:
        with pytest.raises(SpecError, match="protects no one"):
            Cost(epsilon, override=reason)
    else:
        assert Cost.read(str(epsilon), override=reason) == Cost(epsilon, override=reason)


@pytest.mark.wide
@given(delta=st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(99, 100)), people=st.integers(1, 10**6))
def test_a_delta_exposes_no_tenth_of_a_person(delta: Fraction, people: int) -> None:
    if delta >= Fraction(1, 10 * people):
        with pytest.raises(SpecError, match="exposed outright"):
            refuse_exposure(delta, people)
    else:
        refuse_exposure(delta, people)


@pytest.mark.parametrize("name", ["epsilon", "rho", "delta"])
def test_a_good_number_does_reach_the_rows_or_the_ledger(study: rt.Study, unreachable: Any, name: str) -> None:
    """The other side: without it the tests above would pass for a study that refuses everything."""
    number = "1e-7" if name == "delta" else "1/2"
    more: dict[str, Any] = {"delta": "1e-7"} if name == "rho" else {}
    with pytest.raises(AssertionError, match="a refused release reached"):
        study.release(["mean(x)"], **around(name, number), **more)


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [
        ("11", "6 × 10⁴"),
        ("11.5", "1 × 10⁵"),
        ("1000", "2 × 10⁴³⁴"),
        ("1e300", "a number of more than a million digits"),
    ],
)
def test_a_loss_that_protects_no_one_has_a_factor_to_read(epsilon: str, factor: str) -> None:
    """One digit before the power, and no power of hundreds of digits."""
    with pytest.raises(SpecError, match=f"change by {factor}: this protects no one"):
        Cost.read(epsilon)


def test_one_total_is_named() -> None:
    with pytest.raises(PublicParameterError, match="epsilon or rho, not both"):
        Cost(Fraction(1), Fraction(1))
    with pytest.raises(PublicParameterError, match="epsilon or rho, not both"):
        Cost.read("nan", "nan")


def test_a_derived_loss_above_the_limit_is_a_fault_of_ours() -> None:
    for cost, loss in ((Cost(Fraction(1)), PureDP(Fraction(2))), (Cost(rho=Fraction(1)), ZCDP(Fraction(2)))):
        with pytest.raises(AssertionError):
            cost.admit(loss, Fraction(2))
    with pytest.raises(SpecError, match="protects no one"):
        Cost().admit(PureDP(Fraction(11)), Fraction(11))
    Cost(override="a reason").admit(PureDP(Fraction(11)), Fraction(11))
