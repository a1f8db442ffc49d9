"""Losses listed again: the theory states what laws lose; wrong arithmetic is refused, in plans and in the suite.

No test here depends on chance. The mutants are wrong in the theory's code alone, which the listing does not call.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from reticent.data.schema import Person, Schema, category, real
from reticent.exact.grid import Grid
from reticent.mechanisms.gaussian import ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.ks import KolmogorovSmirnov
from reticent.mechanisms.weighted_selection import weighted_list
from reticent.privacy import compose, convert, profiles
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from reticent.privacy.sensitivity import L1, Linf
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from tests.assurance import accounting_check
from tests.assurance.accounting_check import DIGITS, again, coin, concentrated, gaussian, geometric, rounded
from tests.assurance.accounting_lines import check, lines

SCHEMA = Schema({"x": real(0, 1), "g": category(["a", "b"])}, Person("add_remove", "who", 3))


def verdicts() -> set[str]:
    return {line.verdict for line in lines()}


def plan(rho: str | None = None, delta: str | None = None) -> PreparedRelease:
    asked = understand(["count by g", "mean(x)", "median(x) by g"], SCHEMA)
    return settle(asked, Cost.read(None if rho else "1", rho, delta), SCHEMA, None, "approximate")


def found(prepared: PreparedRelease) -> set[str]:
    return {line.verdict for line in again(prepared.guarantee)}


@pytest.mark.wide
def test_every_line_holds_and_none_is_wide() -> None:
    listed = list(lines())
    assert len(listed) >= 25
    assert {line.verdict for line in listed} == {"holds"}
    assert all(
        line.attained is not None and Fraction(1, 2) < line.attained <= 1 + Fraction(1, 10**9) for line in listed
    )
    assert sum(line.attained > Fraction(9, 10) for line in listed if line.attained is not None) >= 24


@pytest.mark.wide
@pytest.mark.parametrize(("rho", "delta"), [(None, None), ("1/2", "0.000001")])
def test_every_node_of_a_plan_is_listed(rho: str | None, delta: str | None) -> None:
    nodes = again(plan(rho, delta).guarantee)
    assert {one.verdict for one in nodes} == {"holds"}
    assert len({one.name for one in nodes}) >= 3


@pytest.mark.wide
def test_every_built_in_plan_has_its_losses_listed() -> None:
    report = check()
    assert report.passed
    assert len(report.lines) > 60
    assert all("of" in line.reason and not line.reason.startswith("0 of") for line in report.lines)


@pytest.mark.wide
def test_a_built_in_plan_whose_losses_are_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "_sum", compose._largest)
    assert len(check().failures) > 20


@pytest.mark.wide
def test_what_cannot_be_listed_is_said_to_be() -> None:
    wide = Geometric(L1(Fraction(1), Adjacency("add_remove")), Fraction(1)).guarantee
    (one, *_) = again(convert.as_pld(wide))
    assert (one.verdict, one.share) == ("not listed", None)
    assert "was not listed" in one.words


# --- mutants ----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_sequence_that_takes_the_dearest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "_sum", compose._largest)
    assert verdicts() == {"holds", "refuted"}
    assert "too small" in found(plan())


@pytest.fixture
def halved_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = profiles.epsilon

    def halved(loss: Loss, delta: Fraction) -> Fraction:
        return honest(loss, delta) / 2 if isinstance(loss, ZCDP) else honest(loss, delta)

    monkeypatch.setattr(profiles, "epsilon", halved)


@pytest.mark.wide
def test_a_conversion_that_lacks_a_factor_of_two_is_refuted(halved_conversion: None) -> None:
    assert any(line.verdict == "refuted" for line in lines())


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("rho", ["1/2", "1/100"])
def test_a_conversion_that_lacks_a_factor_of_two_is_found(halved_conversion: None, rho: str) -> None:
    assert "too small" in found(plan(rho, "0.000001"))


@pytest.mark.wide
def test_a_group_whose_size_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "group_loss", lambda loss, size: loss)
    assert {line.name.split(": ")[1] for line in lines() if line.verdict == "refuted"} >= {
        "three rows of a person",
        "three rows, with delta",
        "three rows, in rho",
        "across, under substitution",
    }


@pytest.mark.wide
def test_a_group_with_k_times_delta_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = convert.group_loss

    def linear(loss: Loss, size: int) -> Loss:
        return ApproxDP(size * loss.epsilon, size * loss.delta) if isinstance(loss, ApproxDP) else honest(loss, size)

    monkeypatch.setattr(convert, "group_loss", linear)
    assert {line.name.split(": ")[1] for line in lines() if line.verdict == "refuted"} >= {"three rows, with delta"}


@pytest.mark.wide
def test_a_group_in_rho_that_is_linear_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = convert.group_loss
    monkeypatch.setattr(
        convert, "group_loss", lambda loss, k: ZCDP(k * loss.rho) if isinstance(loss, ZCDP) else honest(loss, k)
    )
    assert "refuted" in verdicts()


@pytest.mark.wide
def test_half_the_rho_of_a_pure_loss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = convert.zcdp_of
    monkeypatch.setattr(
        convert, "zcdp_of", lambda loss: ZCDP(loss.epsilon**2 / 4) if isinstance(loss, PureDP) else honest(loss)
    )
    made = Geometric(L1(Fraction(1), Adjacency("add_remove")), Fraction(1, 2)).guarantee
    assert "too small" in {one.verdict for one in again(convert.as_zcdp(made))}


@pytest.mark.wide
@pytest.mark.parametrize("times", [Fraction(9, 10), Fraction(2)])
def test_a_leaf_that_states_less_or_more_than_its_law_loses_is_found(times: Fraction) -> None:
    from dataclasses import replace

    honest = Geometric(L1(Fraction(3), Adjacency("add_remove")), Fraction(1)).guarantee
    wrong = replace(honest, loss=PureDP(times))
    assert [one.verdict for one in again(wrong)] == ["too small" if times < 1 else "too large"]
    scalar = ScalarGaussian(L1(Fraction(1), Adjacency("add_remove")), Fraction(4), Fraction(1)).guarantee
    assert isinstance(scalar.loss, ApproxDP)
    less = replace(scalar, loss=ApproxDP(scalar.loss.epsilon, scalar.loss.delta * Fraction(999, 1000)))
    assert [one.verdict for one in again(less)] == ["too small"]


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("rows", [1, 4])
def test_points_by_ks_distance_lose_all_of_epsilon_under_both_adjacencies(kind: Kind, rows: int) -> None:
    """And a leaf that states a tenth less, or a rate over the whole epsilon, is found."""
    from dataclasses import replace

    honest = KolmogorovSmirnov(Linf(Fraction(rows), Adjacency(kind, rows)), Fraction(2), 9).guarantee
    (one,) = again(honest)
    assert one.verdict == "holds"
    assert one.share is not None
    assert one.share > Decimal("0.999")
    assert [one.verdict for one in again(replace(honest, loss=PureDP(Fraction(9, 5))))] == ["too small"]
    rate = Fraction(str(honest.parameter("rate")))
    bold = dict(honest.parameters) | {"rate": str(2 * rate)}
    assert [one.verdict for one in again(replace(honest, parameters=tuple(bold.items())))] == ["too small"]


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(1), Fraction(1, 10**6)), (Fraction(1, 2), Fraction(1, 5))])
def test_weighted_keys_lose_what_is_stated_at_most(kind: Kind, epsilon: Fraction, delta: Fraction) -> None:
    """And a list that states a fifth of its delta, or has half the noise or a lower threshold, is found."""
    from dataclasses import replace

    honest = weighted_list(Adjacency(kind), epsilon, delta, groups=4).guarantee
    (one,) = again(honest)
    assert one.verdict == "holds"
    assert [one.verdict for one in again(replace(honest, loss=ApproxDP(epsilon, delta / 5)))] == ["too small"]
    for name, factor in (("deviation", Fraction(1, 2)), ("threshold", Fraction(3, 5))):
        bold = dict(honest.parameters)
        number = Fraction(bold[name]) * factor
        bold[name] = str(int(number) if name == "threshold" else number)
        assert [one.verdict for one in again(replace(honest, parameters=tuple(bold.items())))] == ["too small"]


# --- the laws themselves ----------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize(
    "law",
    [
        lambda: coin(Fraction(1)),
        lambda: coin(Fraction(1), Fraction(1, 10)),
        lambda: geometric(Fraction(7, 2), 3),
        lambda: geometric(Fraction(10**9), 10**8),
        lambda: gaussian(Fraction(9), 2),
        lambda: concentrated(Fraction(1, 8), 3),
        lambda: accounting_check.flipped(Fraction(1, 20), 2),
        lambda: next(accounting_check.candidates(Fraction(1, 20), 2)),
        lambda: list(accounting_check.ranged(Fraction(2)))[5],
        lambda: accounting_check.nearest(Fraction(1, 20), 3, "add_remove"),
        lambda: accounting_check.nearest(Fraction(2), 1, "substitute"),
    ],
)
def test_both_sides_of_a_listed_law_add_up_to_one(law: Any) -> None:
    with localcontext(DIGITS):
        for side in zip(*law(), strict=True):
            assert abs(sum(side) - 1) < Decimal("1e-25")
            assert min(side) >= 0


@pytest.mark.wide
def test_listed_divergences_are_those_of_closed_forms() -> None:
    """Gaussian noise of shift m and variance v: order times m^2 / 2v. A coin of epsilon 2 at order 2: ln(...)."""
    with localcontext(DIGITS):
        law = gaussian(Fraction(100), 5)
        assert law is not None
        assert abs(accounting_check._divergence([law], Decimal(3)) - Decimal(3 * 25) / 200) < Decimal("1e-20")
        e = Decimal(2).exp()
        assert abs(
            accounting_check._divergence([coin(Fraction(2))], Decimal(2)) - ((e**3 + 1) / (e * (e + 1))).ln()
        ) < (Decimal("1e-20"))


@pytest.mark.wide
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("sensitivity", ["1/3", "1/4", "1", "9/8", "1/1000"])
def test_the_rounding_of_a_grid_is_reached(size: int, sensitivity: str) -> None:
    moved, grid = Fraction(sensitivity), Grid(-2)
    assert rounded(moved, grid.step, size) == grid.sensitivity_l1(moved, size)


@pytest.mark.wide
def test_a_loss_as_large_as_thirty_is_listed() -> None:
    """Ratios of outcomes then have more digits than are kept after a point."""
    part = Geometric(L1(Fraction(1), Adjacency("add_remove")), Fraction(6)).guarantee
    nodes = again(compose.in_sequence([part] * 5))
    assert {one.verdict for one in nodes} == {"holds"}


@pytest.mark.wide
def test_a_delta_below_what_laws_are_cut_off_by_is_no_finding() -> None:
    """Two coins of delta 3e-39: sums of forty digits do not tell such a delta, and the epsilon is still listed."""
    tiny = Fraction(3, 10**39)
    with localcontext(DIGITS):
        both = accounting_check.NeighbourLaws(((coin(Fraction(1), tiny), coin(Fraction(1), tiny)),))
        right, wrong = both.share(ApproxDP(Fraction(2), 2 * tiny)), both.share(ApproxDP(Fraction(3, 2), 2 * tiny))
        assert right is not None
        assert Decimal("0.99") < right <= 1 + accounting_check.SLACK
        assert wrong is not None
        assert wrong > Decimal("1.3")
