"""The Bernstein mechanism: tight sensitivity by enumeration, the generic one above it, and what iterating does."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis import bernstein, linear
from reticent.synthesis.bernstein import Bernstein, Lattice, basis, iterated, lattice, release_function
from reticent.synthesis.linear_queries import UNIT, DensityTerms, widest
from reticent.synthesis.options import Options, plan_for
from reticent.synthesis.series import grid
from tests.laws.test_series import TERMS, TINY, moved

ONE = Fraction(1)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")
TINY_LINE = grid([("x", Fraction(0), ONE, False)], cells=5)
LINE = grid([("x", Fraction(0), ONE, False)])
PUBLIC = DensityTerms(SUB, 1000, fixed=True)


@pytest.mark.parametrize("terms", TERMS, ids=repr)
def test_the_whole_loss_is_spent_for_the_worst_neighbours_and_no_more(terms: DensityTerms) -> None:
    made = Bernstein(TINY_LINE, terms, ONE, 3, Fraction(1, 5))
    sums = made.plan.sums
    assert isinstance(sums.mechanism, Geometric)
    found, scale = moved(sums.table, terms, 1), sums.mechanism.scale
    assert found / scale == ONE
    assert found / (scale * Fraction(8, 10)) > ONE
    assert found / (scale * Fraction(125, 100)) < Fraction(9, 10)
    assert found <= made.generic
    assert made.guarantee.loss == PureDP(ONE)
    gaussian = Bernstein(TINY_LINE, terms, ONE, 3, Fraction(1, 5), delta=TINY).plan.sums
    assert isinstance(gaussian.mechanism, Gaussian)
    assert moved(gaussian.table, terms, 2) / (2 * gaussian.mechanism.variance) == gaussian.mechanism.rho


@pytest.mark.parametrize(
    ("degree", "bandwidth", "tight", "generic"), [(7, 80, 14, 40), (22, 40, 44, 232), (46, 25, 92, 750)]
)
def test_the_tight_sensitivity_is_a_third_of_the_generic_one_or_less(
    degree: int, bandwidth: int, tight: float, generic: float
) -> None:
    """The plain Gaussian kernel's generic constant is (k + 1) / (h sqrt(2 pi)); the reflecting one's is no less."""
    made = Bernstein(LINE, PUBLIC, ONE, degree, Fraction(bandwidth, 1000))
    plain = (degree + 1) / (bandwidth / 1000 * math.sqrt(2 * math.pi))
    assert plain == pytest.approx(generic, rel=0.015)
    assert made.plan.sums.moved / made.unit == pytest.approx(tight, rel=0.01)
    assert made.generic / made.unit >= 0.99 * plain
    assert plain / (made.plan.sums.moved / made.unit) > 2.5


def test_more_columns_keep_the_sensitivity_exact_and_far_below_the_generic_one() -> None:
    plane = grid([(name, Fraction(0), ONE, False) for name in "xy"], cells=12)
    for terms in (DensityTerms(ADD), PUBLIC):
        made = Bernstein(plane, terms, ONE, 5, Fraction(1, 8))
        assert made.plan.sums.moved * 5 < made.generic
    assert made.plan.sums.moved == widest(made.plan.sums.table, 1, origin=False)


def test_the_polynomials_are_bernsteins() -> None:
    points = np.linspace(0.0, 1.0, 9)
    for degree in (1, 4, 30):
        found = basis(degree, points)
        theory = [[math.comb(degree, j) * x**j * (1 - x) ** (degree - j) for j in range(degree + 1)] for x in points]
        assert found == pytest.approx(np.array(theory), abs=1e-12)
        nodes = np.arange(degree + 1) / degree
        assert found @ nodes == pytest.approx(points)
        assert found @ nodes**2 == pytest.approx(points**2 + points * (1 - points) / degree)


def test_iterating_takes_off_bias_and_multiplies_noise_by_at_most_its_bound() -> None:
    degree, points = 12, np.linspace(0.0, 1.0, 41)
    nodes, smooth = np.arange(13) / 12, basis(12, points)
    errors = []
    for times in (1, 2, 4, 8):
        values = iterated(np.sin(3 * nodes)[None], times)[0]
        errors.append(float(np.abs(smooth @ values - np.sin(3 * points)).max()))
        assert 1.0 <= bernstein.amplified(degree, 1, times) <= 2**times - 1
        operator = iterated(np.eye(13), times)
        noise = np.abs(smooth @ operator.T).sum(axis=1).max()
        assert noise <= bernstein.amplified(degree, 1, times) + 1e-12
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 20
    with_matrix = np.eye(13) - basis(12, nodes)
    theory = np.eye(13) + with_matrix + with_matrix @ with_matrix
    assert np.allclose(iterated(np.eye(13), 3).T, theory)


@pytest.mark.parametrize(("columns", "degree"), [(1, 12), (2, 5), (3, 3), (4, 2)])
@pytest.mark.parametrize("times", [1, 2, 5, 16])
def test_the_way_back_is_the_iterated_polynomial_of_the_sums(columns: int, degree: int, times: int) -> None:
    """By products over columns and powers at once, and as it is defined: step by step on the whole lattice."""
    axes = grid([(f"x{place}", Fraction(0), ONE, False) for place in range(columns)], cells=5)
    made = Bernstein(axes, PUBLIC, ONE, degree, Fraction(1, 4), times)
    sums = np.random.default_rng(2).normal(size=made.plan.sums.table.shape[1:])
    weights = np.ones(1)
    for _ in range(columns):
        weights = np.multiply.outer(weights, np.array([0.5, *[1.0] * (degree - 1), 0.5]))
    values = iterated(sums.reshape(weights.shape) / weights / made.unit, times)[0]
    for _ in range(columns):
        values = np.tensordot(values, basis(degree, (np.arange(5) + 0.5) / 5), axes=(0, 1))
    assert made.plan.back @ sums == pytest.approx(values.ravel(), rel=1e-8, abs=1e-8 * float(np.abs(values).max()))


@pytest.mark.wide
def test_three_columns_have_the_exact_sensitivity_and_what_is_expected_is_that_of_all_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = grid([(name, Fraction(0), ONE, False) for name in "xyz"])
    found = Bernstein(space, PUBLIC, ONE, 10, Fraction(1, 11)).plan
    assert found.sums.moved < 2 * int(found.sums.table.sum(axis=1).max())  # less than the bound
    some = found.expected(1000)
    monkeypatch.setattr(linear, "LARGE", 1 << 30)
    every = found.expected(1000)
    assert some.noise == pytest.approx(every.noise, rel=0.03)
    assert some.sampling == pytest.approx(every.sampling, rel=0.03)
    assert some != every  # some cells stood for all


@pytest.mark.parametrize("stated", [Linf(Fraction(1, 7), SUB), L1(Fraction(1, 3), ADD)])
def test_values_put_on_the_grid_move_by_no_more_than_the_mechanism_allows(stated: L1 | Linf) -> None:
    """All positions of a value within a step, at the stated difference: rounding adds no more than is allowed for."""
    made = Lattice(1, 1, stated, ONE, step=Fraction(1, 10))
    bound = made.mechanism.sensitivity.bound
    worst = 0
    parts = [Fraction(part, 60) for part in range(13)]
    most = stated.bound if isinstance(stated, Linf) else stated.bound / 2
    for first in parts:
        for second in parts:
            here = [math.floor(value * 10 + Fraction(1, 2)) for value in (first, second)]
            there = [math.floor((value + most) * 10 + Fraction(1, 2)) for value in (first, second)]
            worst = max(worst, sum(abs(a - b) for a, b in zip(here, there, strict=True)))
    assert worst <= bound
    assert worst >= bound - 1  # and hardly less: half of it would be refuted
    assert worst > bound / 2


@pytest.mark.parametrize(("columns", "degree"), [(1, 22), (2, 10), (3, 8)])
def test_a_private_number_of_records_is_counted_without_the_bias_of_the_polynomial(columns: int, degree: int) -> None:
    """At h k = .9 a record counts 1 but for 2 e^(-2 (.9 pi)^2) = 3e-7 a column and the rounding of the table."""
    axes = grid([(f"x{place}", Fraction(0), ONE, False) for place in range(columns)], cells=12)
    made = Bernstein(axes, DensityTerms(ADD), ONE, degree, Fraction(9, 10 * degree)).plan
    assert made.counting is not None
    assert np.abs(made.sums.table @ made.counting - 1.0).max() < 2e-5
    own = linear.shares_of(axes) @ made.back
    assert np.abs(made.sums.table @ own - 1.0).max() > 0.01  # the integral of the polynomial
    counts = np.zeros(12**columns, np.int64)
    counts[0], counts[12**columns // 3] = 100_000, 40_000
    outcome = made.release(counts, Replayed(f"records {columns}"))
    assert isinstance(outcome, Reply)
    assert abs(outcome.value.n - 140_000) <= 2 * made.unsure + 3  # 8e-5 of all draws are farther off
    assert abs(counts @ made.sums.table @ own - 140_000) > 2 * made.unsure + 3


def test_where_the_lattice_is_too_wide_for_the_kernel_the_lesser_bias_is_taken() -> None:
    wide = Bernstein(LINE, DensityTerms(ADD), ONE, 22, Fraction(1, 170)).plan
    own = linear.shares_of(LINE) @ wide.back
    even = np.full(23, 1.0 / 22) / Bernstein(LINE, DensityTerms(ADD), ONE, 22, Fraction(1, 170)).unit
    off = [float(np.abs(wide.sums.table @ weights - 1.0).max()) for weights in (own, even)]
    assert (wide.counting is None) == (off[0] <= off[1])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sensitivity": 0.1}, "sensitivity is L1"),
        ({"values": np.full((3, 3), np.nan)}, "finite"),
        ({"values": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]}, "same number of points"),
        ({"values": 3.0}, "same number of points"),
        ({"epsilon": 1.0}, "epsilon must be an int or a Fraction"),
        ({"iterations": 2.5}, "iterations must be a whole number"),
        ({"iterations": 17}, "iterations must be 1 to 16"),
    ],
)
def test_the_hook_refuses_in_words(wrong: dict[str, Any], said: str) -> None:
    given = {"values": np.zeros((3, 3)), "sensitivity": Linf(Fraction(1, 9), SUB), "epsilon": ONE, **wrong}
    with pytest.raises(PublicParameterError, match=said):
        release_function(given.pop("values"), entropy=Replayed("hook"), **given)
    found = release_function(
        np.zeros((3, 3)), sensitivity=Linf(Fraction(1, 9), SUB), epsilon=ONE, entropy=Replayed("hook")
    )
    assert found.at([0.5, 0.5]).shape == (1,)
    for points, words in (([[0.1, 0.2, 0.3]], r"shape \(p, 2\)"), ([[2.0, 0.0]], "between 0 and 1")):
        with pytest.raises(PublicParameterError, match=words):
            found.at(points)


def test_the_hook_releases_any_function_with_a_stated_sensitivity() -> None:
    points = lattice(8, 2)
    values = (points[:, 0] * points[:, 1]).reshape(9, 9)
    found = release_function(
        values, sensitivity=Linf(Fraction(1, 10_000), SUB), epsilon=Fraction(5), entropy=Replayed("hook")
    )
    assert found.guarantee.loss == PureDP(Fraction(5))
    at = np.array([[0.25, 0.5], [1.0, 1.0], [0.0, 0.3]])
    assert found.at(at) == pytest.approx(at[:, 0] * at[:, 1], abs=found.radius)  # B keeps x y
    assert found.radius < 0.05
    tight = release_function(values, sensitivity=L1(Fraction(1, 1000), SUB), epsilon=ONE, entropy=Replayed("hook"))
    loose = release_function(values, sensitivity=Linf(Fraction(1, 1000), SUB), epsilon=ONE, entropy=Replayed("hook"))
    assert loose.radius > 50 * tight.radius


@pytest.mark.wide
def test_the_radius_covers_the_noise_of_all_points_together() -> None:
    """200 releases: at least 93 % within, and a radius of half the size is refuted. Error of a binomial: 1e-3."""
    made = Lattice(10, 1, Linf(Fraction(1, 100), SUB), ONE)
    entropy, inside, half = Replayed("radius"), 0, 0
    points = np.linspace(0, 1, 11)
    for _ in range(200):
        most = float(np.abs(made.draw(np.zeros(11), entropy).values).max())
        inside, half = inside + (most <= made.noise), half + (most <= made.noise / 2)
        assert np.abs(made.draw(np.zeros(11), entropy).at(points)).max() < 10 * made.radius
    assert inside >= 181
    assert half < 181


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bernstein(LINE, PUBLIC, ONE, 0, ONE / 10),
        lambda: Bernstein(LINE, PUBLIC, ONE, 200, ONE / 10),
        lambda: Bernstein(LINE, PUBLIC, ONE, 10, ONE),
        lambda: Bernstein(LINE, PUBLIC, ONE, 10, ONE / 10, 17),
        lambda: Bernstein(grid([(name, Fraction(0), ONE, False) for name in "xyz"], 24), PUBLIC, ONE, 15, ONE / 10),
        lambda: lattice(2, 5),
        lambda: Lattice(1, 1, Linf(ONE, SUB), Fraction(0)),
        lambda: release_function(np.zeros((2, 3)), sensitivity=L1(ONE, SUB), epsilon=ONE, entropy=Replayed(1)),
        lambda: release_function(np.array([np.nan, 0]), sensitivity=L1(ONE, SUB), epsilon=ONE, entropy=Replayed(1)),
        lambda: release_function(np.zeros(3), sensitivity=L1(ONE, SUB), epsilon=ONE, entropy=Replayed(1)).at([1.5]),
    ],
)
def test_what_cannot_be_released_is_refused(make: object) -> None:
    with pytest.raises(PublicParameterError):
        make()  # type: ignore[operator]


def test_a_degree_is_public_and_of_the_usual_order() -> None:
    assert [bernstein.degree_for(n) for n in (300, 10_000, 100_000)] == [7, 22, 46]
    assert bernstein.degree_for(10**9, 4) == 7
    assert bernstein.degree_for(10**9, 4, 8**4) == 5  # 2^23 entries of a table


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("whole", [False, True])
def test_what_a_public_rule_says_can_be_had_for_every_number_of_columns(columns: int, whole: bool) -> None:
    known = [(name, Fraction(0), Fraction(99), whole) for name in "abcd"[:columns]]
    made = plan_for(Options("bernstein"), known, DensityTerms(Adjacency("add_remove")), Fraction(1), Fraction(0))
    assert isinstance(made, Bernstein)
    assert len(made.axes) == columns
    assert UNIT == 1 << 16
