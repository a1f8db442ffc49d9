"""Laws of noise and usefulness: every number of 004's theorems and of the pages that correct them."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.mechanisms import geometric, noise
from reticent.mechanisms.noise import GaussianLaw, GeometricLaw, LaplaceLaw, Law, beta_of, printed_bound, useful
from tests.conventions.test_docs_examples import blocks
from tests.conventions.tree import ROOT

HALF, ONE = Fraction(1, 2), Fraction(1)
LAWS: list[Law] = [
    law
    for size in (Fraction(1, 3), ONE, Fraction(10, 9), Fraction(25))
    for law in (LaplaceLaw(size), GeometricLaw(size), GaussianLaw(size))
]


def weights(scale: Fraction, reach: int) -> dict[int, Decimal]:
    """The two-sided geometric law to 60 digits, by adding up."""
    with localcontext() as context:
        context.prec = 60
        each = {k: (-Decimal(abs(k)) * scale.denominator / scale.numerator).exp() for k in range(-reach, reach + 1)}
        whole = sum(each.values(), Decimal(0))
        return {k: weight / whole for k, weight in each.items()}


# ---- 004 Theorem 2.4


def test_laplace_moments_and_tail() -> None:
    from scipy.integrate import quad

    law = LaplaceLaw(Fraction(3, 2))
    assert law.mean == 0
    assert law.variance == Fraction(9, 2)

    def density(z: float) -> float:
        return math.exp(-z / 1.5) / 3

    def square(z: float) -> float:
        return z * z * density(z)

    assert 2 * quad(square, 0, 80)[0] == pytest.approx(4.5)
    assert float(law.tail(Fraction(2))) == pytest.approx(2 * quad(density, 2, 80)[0], rel=1e-9)
    assert float(law.tail(Fraction(2))) == pytest.approx(math.exp(-4 / 3), rel=1e-11)


# ---- 004 Theorem 2.7


@pytest.mark.parametrize("scale", [Fraction(1, 3), ONE, Fraction(10, 9), Fraction(7)])
def test_geometric_moments_and_tail_by_adding_up(scale: Fraction) -> None:
    law, masses = GeometricLaw(scale), weights(scale, 1200)
    assert law.mean == 0
    assert abs(sum((k * w for k, w in masses.items()), Decimal(0))) < Decimal(10) ** -25
    added = sum((k * k * w for k, w in masses.items()), Decimal(0))
    assert float(law.variance) == pytest.approx(float(added), rel=1e-11)
    for z in (Fraction(0), HALF, ONE, Fraction(29, 10), Fraction(12)):
        added = sum((w for k, w in masses.items() if abs(k) > z), Decimal(0))
        assert float(law.tail(z)) == pytest.approx(float(added), rel=1e-11)
        if z.denominator == 1:  # 004's bound, for integers
            assert float(law.tail(z)) <= math.exp(-z / scale)


def test_the_variance_of_a_wide_geometric_law_keeps_its_digits() -> None:
    assert GeometricLaw(Fraction(10**15)).variance == 2 * Fraction(10) ** 30  # less 1/6, far below the 12th digit


def test_gaussian_tail_against_the_error_function() -> None:
    law = GaussianLaw(Fraction(2))
    assert law.variance == 4
    for z in ("0", "0.002", "1", "2", "5.5", "12", "40", "70"):
        assert float(law.tail(Fraction(z))) == pytest.approx(math.erfc(float(z) / 2 / math.sqrt(2)), rel=1e-10)
    with localcontext() as context:  # Mills: 1 - 1/z^2 < tail / (sqrt(2 / pi) e^(-z^2/2) / z) < 1 - 1/z^2 + 3/z^4
        context.prec = 40
        limit = (Decimal(2) / Decimal("3.14159265358979323846")).sqrt() * Decimal(-800).exp() / 40
        share = Fraction(GaussianLaw(ONE).tail(Fraction(40))) / Fraction(limit)
    assert 1 - Fraction(1, 1600) < share < 1 - Fraction(1, 1600) + Fraction(3, 1600**2)
    assert float(useful(GaussianLaw(ONE), Fraction(1, 20))) == pytest.approx(1.9599639845, abs=1e-9)


# ---- 004 Definition 2.1 and Theorems 2.5, 2.8


def test_one_laplace_coordinate_is_as_printed_and_more_are_less() -> None:
    for size in (1, 2, 10, 1000):
        printed = printed_bound(Fraction(2), HALF, Fraction(1, 20), size)
        exactly = useful(LaplaceLaw(Fraction(4)), Fraction(1, 20), size)
        assert exactly <= printed
        assert (exactly == printed) == (size == 1)
    assert float(printed_bound(ONE, ONE, Fraction(1, 20), 10)) == pytest.approx(math.log(200), rel=1e-11)
    assert float(useful(LaplaceLaw(ONE), Fraction(1, 20), 10)) == pytest.approx(5.2753, abs=1e-4)


def test_the_counter_example_to_004_theorem_2_8() -> None:
    found = noise.counter_example()
    assert float(found.beta) == pytest.approx(math.exp(-2.61), rel=1e-11)
    assert f"{float(found.beta):.4f}" == "0.0735"
    assert f"{float(found.printed):.4f}" == "2.9000"
    assert f"{float(found.failure):.4f}" == "0.0956"
    assert found.failure > found.beta
    assert found.least == 3
    assert f"{float(beta_of(found.law, found.least)):.4f}" == "0.0389"


def holds(epsilon: Fraction, beta: Fraction) -> bool:
    return beta_of(GeometricLaw(1 / epsilon), printed_bound(ONE, epsilon, beta)) <= beta


@given(st.fractions(Fraction(1, 20), 1, max_denominator=50), st.fractions(Fraction(1, 10**4), HALF))
@settings(deadline=None)
def test_the_printed_bound_holds_just_where_its_fraction_is_small(epsilon: Fraction, beta: Fraction) -> None:
    bound = float(printed_bound(ONE, epsilon, beta))
    fraction, allowed = bound % 1, math.log((1 + math.exp(epsilon)) / 2) / float(epsilon)
    if min(abs(fraction - allowed), fraction, 1 - fraction) > 1e-9:
        assert holds(epsilon, beta) == (fraction <= allowed)


@pytest.mark.parametrize("size", [1, 3, 40])
@pytest.mark.parametrize("z", [1, 2, 5, 30])
def test_at_an_integer_the_printed_bound_holds(z: int, size: int) -> None:
    scale = Fraction(10, 9)
    beta = size * Fraction(math.exp(-z / scale))
    if beta < 1:
        assert beta_of(GeometricLaw(scale), Fraction(z), size) <= beta


# ---- useful and beta_of are inverse


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("beta", ["1/2", "1/20", "1e-9", "1e-40"])
@pytest.mark.parametrize("size", [1, 2, 17, 10**6])
def test_the_half_width_holds_and_a_smaller_one_does_not(law: Law, beta: str, size: int) -> None:
    chance = Fraction(beta)
    width = useful(law, chance, size)
    assert beta_of(law, width, size) <= chance * (1 + Fraction(1, 10**8))  # 12 digits of the width, fewer of its tail
    less = width - 1 if isinstance(law, GeometricLaw) else width * (1 - Fraction(1, 10**9))
    if width > 0:
        assert beta_of(law, less, size) > chance


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_failure_grows_with_dimension_and_stays_below_the_union_bound(law: Law) -> None:
    one = beta_of(law, Fraction(60))
    many = [beta_of(law, Fraction(60), size) for size in (1, 2, 5, 1000)]
    assert many == sorted(many)
    assert all(
        chance <= size * one * (1 + Fraction(1, 10**10)) for chance, size in zip(many, (1, 2, 5, 1000), strict=True)
    )


def test_more_coordinates_multiply_and_do_not_add() -> None:
    tail = GeometricLaw(ONE).tail(ONE)
    assert float(beta_of(GeometricLaw(ONE), ONE, 3)) == pytest.approx(float(1 - (1 - tail) ** 3), rel=1e-11)
    assert float(beta_of(GeometricLaw(ONE), ONE, 3)) < float(3 * tail)


def test_the_radius_of_the_mechanism_agrees() -> None:
    for scale in (Fraction(1, 4), ONE, Fraction(10, 9), Fraction(50)):
        for beta in (0.5, 0.05, 0.001):
            assert geometric.laplace_radius(float(scale), beta) == useful(GeometricLaw(scale), Fraction(str(beta)))


def test_a_tail_one_step_off_is_caught() -> None:
    law, masses = GeometricLaw(ONE), weights(ONE, 200)
    added = float(sum((w for k, w in masses.items() if abs(k) > 2), Decimal(0)))
    ratio = math.exp(-1)
    for mutant in (2 * ratio**2 / (1 + ratio), 2 * ratio**4 / (1 + ratio), ratio**3):
        assert mutant != pytest.approx(added, rel=1e-3)
    assert float(law.tail(Fraction(2))) == pytest.approx(added, rel=1e-11)


# ---- 004 Theorems 1.4 and 2.5 (privacy), on small cases


@given(st.lists(st.integers(1, 30), min_size=6, max_size=6), st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_post_processing_keeps_the_ratio(masses: list[int], map_to: list[int]) -> None:
    here = [Fraction(m, sum(masses)) for m in masses]
    there = list(reversed(here))
    worst = max(p / q for p, q in zip(here, there, strict=True))
    for value in set(map_to):
        chance = sum((p for p, to in zip(here, map_to, strict=True) if to == value), Fraction(0))
        other = sum((p for p, to in zip(there, map_to, strict=True) if to == value), Fraction(0))
        assert chance <= worst * other


def test_the_factor_004_drops_from_its_proof_is_reached() -> None:
    # S = (-inf, 0], f(X1) = 0, f(X2) = 1, epsilon 1: P(X1 in S) = e P(X2 in S), so the last step is no equality
    nearer, further = 0.5, float(LaplaceLaw(ONE).tail(ONE)) / 2
    assert nearer == pytest.approx(math.e * further, rel=1e-11)
    assert nearer > 2.7 * further


# ---- the pages


@pytest.mark.parametrize("name", ["composition", "usefulness"])
def test_the_python_of_the_theory_pages_runs(name: str) -> None:
    page = ROOT / "docs" / "theory" / f"{name}.md"
    found = list(blocks(page, "python"))
    assert found
    for block in found:
        exec(compile(block, str(page), "exec"), {})


# ---- refusals


def test_what_cannot_be_is_refused() -> None:
    for made in (LaplaceLaw, GeometricLaw, GaussianLaw):
        for size in (Fraction(0), Fraction(-1)):
            with pytest.raises(PublicParameterError):
                made(size)
        with pytest.raises(PublicParameterError):
            made(0.5)  # type: ignore[arg-type]  # a float is what is refused
        with pytest.raises(PublicParameterError):
            made(ONE).tail(Fraction(-1))
    for beta in (Fraction(0), ONE, Fraction(-1)):
        with pytest.raises(PublicParameterError, match="beta"):
            useful(LaplaceLaw(ONE), beta)
    with pytest.raises(PublicParameterError, match="dimension"):
        useful(LaplaceLaw(ONE), HALF, 0)
    with pytest.raises(PublicParameterError, match="epsilon"):
        printed_bound(ONE, Fraction(0), HALF)
