"""The noisy curvature moves by what it declares, and an interval is what the noises leave unrefuted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product as product_of

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.mechanisms.gate import Call, Recorder
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.objective import Objective
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.statistics.convex.intervals import AT_95, ScoreKnowledge, curvature, moved
from reticent.statistics.convex.losses import HuberLoss, Logistic, Loss
from reticent.statistics.convex.objective_perturbation import CurvaturePerturbation
from reticent.statistics.price import Price
from reticent.statistics.scaling import UNIT, Floats, Integers, Norm, Scaling, lengths, longest, shortened

BOX = ((Fraction(-1), Fraction(1)),) * 2
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
NORMS: tuple[Norm, ...] = ("l1", "l2")


def price(kind: Kind, rows: int = 1) -> Price:
    return Price(Fraction(1), Fraction(0), Adjacency(kind, rows))


def extremes(width: int, key: int) -> Iterator[Integers]:
    """Rows at corners and on edges of the box, and between."""
    rng = np.random.default_rng(key)
    yield from np.array([*product_of((-UNIT, 0, UNIT), repeat=width)], np.int64)
    yield from rng.integers(-UNIT, UNIT + 1, (40, width))


def triangle(rows: Integers, at: Floats) -> list[int]:
    found = curvature(Logistic(2), rows, rows.astype(np.float64), np.zeros(len(rows)), at)
    return [int(value) for value in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_the_curvature_of_any_number_of_columns_can_be_bought(delta: Fraction, kind: Kind) -> None:
    """A category has more columns than a row is long: what a replaced row moves is then no whole number by itself."""
    every: tuple[Loss, ...] = (Logistic(2), HuberLoss(Fraction(1)))
    for loss, (times, width) in product_of(every, product_of((1, 2, 3), (3, 5, 7, 12, 15, 33))):
        near = Price(Fraction(1), delta, Adjacency(kind, times))
        for long in {2, width // 2 + 1, width - 1, width}:
            reach = Fraction(long * UNIT) if near.norm == "l1" else Fraction(long * UNIT**2)
            near.noise(moved(loss, reach, width, near.norm, near.neighbours), Fraction(1, 10))


@pytest.mark.loop(11)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("width", "clip"), [(1, 1), (2, 2), (3, 3), (3, 2), (4, 1)])
def test_no_neighbour_moves_the_curvature_by_more_than_declared(norm: Norm, width: int, clip: int, kind: Kind) -> None:
    """Pairs of extreme rows, one and two for a person, at points where they weigh alike and where they do not."""
    reach = min(Fraction((clip * UNIT) ** 2 if norm == "l2" else clip * UNIT), longest(width, norm))
    rows = np.unique(shortened(np.array([*extremes(width, 1)]), reach, norm), axis=0)
    assert lengths(rows, norm).max() <= reach
    nearest, rng = Fraction(0), np.random.default_rng(2)
    for times in (1, 2):
        bound = moved(Logistic(2), reach, width, norm, Adjacency(kind, times))
        moves = times * (2 if kind == "substitute" else 1)
        for at in (np.array([[far] * width]) for far in (0.0, 0.7, 3.0)):
            for _ in range(120):
                chosen = rows[rng.integers(0, len(rows), 2 * times)]
                before = triangle(chosen[:times], at)
                after = triangle(chosen[times:], at) if kind == "substitute" else [0] * len(before)
                apart = [abs(a - b) for a, b in zip(before, after, strict=True)]
                size = sum(a * a for a in apart) if norm == "l2" else sum(apart)
                nearest = max(nearest, size / (bound * (moves**2 if norm == "l2" else moves)))
    assert nearest <= 1
    assert nearest > Fraction(2, 5)  # half the claim, as if a replaced row were one that came, would be refuted
    if kind == "add_remove" and clip >= width:
        assert nearest > Fraction(99, 100)


def test_a_diagonal_is_replaced_and_not_doubled() -> None:
    """One coordinate: a curvature of [0, 1/4] moves by 1/4 at most when its row is replaced, as when one comes."""
    reach = Fraction(UNIT)
    came = moved(Logistic(2), reach, 1, "l1", Adjacency("add_remove"))
    assert came == Fraction(UNIT**2, 4)
    assert moved(Logistic(2), reach, 1, "l1", Adjacency("substitute")) * 2 == came
    assert moved(Logistic(2), reach**2, 1, "l2", Adjacency("substitute")) * 4 == came**2


# --- a least point and its curvature ----------------------------------------------------------------------------------


def replayed(plan: CurvaturePerturbation, x: Floats, y: Floats, answers: list[object] | None = None) -> list[Call]:
    stream, given = Replayed("noise"), iter(answers or [])

    def respond(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if answers is not None:
            return next(given)
        return mechanism.sample(exact, stream)  # type: ignore[attr-defined]  # every mechanism has it

    recorder = Recorder(respond, Replayed("coins"))
    plan.draw(x, y, recorder)
    return recorder.calls


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_with_intervals_draws_a_point_and_a_curvature_for_its_price(kind: Kind) -> None:
    rng = np.random.default_rng(4)
    plan = CurvaturePerturbation(Logistic(2), Scaling(BOX), price(kind), Fraction(3), Fraction(1), 20)
    point, noise = plan.guarantee.parts
    assert plan.guarantee.loss == PureDP(Fraction(1))
    assert isinstance(point.loss, PureDP)
    assert point.loss.epsilon == 1 - plan.bought == Fraction(1, 2)
    assert noise == plan.curved.guarantee
    greatest = Fraction(0)
    assert isinstance(plan.curved, Geometric)
    for _ in range(40):
        x, y = rng.choice([-1e9, -1.0, 1.0, np.nan], (20, 2), p=[0.3, 0.3, 0.3, 0.1]), rng.choice([0.0, 1.0], 20)
        first = replayed(plan, x, y)
        there = x[:-1] if kind == "add_remove" else np.vstack([x[:-1], rng.choice([-1.0, 1.0], (1, 2))])
        again = replayed(plan, there, y[: len(there)], [call.output for call in first])
        assert [type(call.mechanism) for call in first] == [Objective, Geometric]
        assert [call.mechanism for call in first] == [call.mechanism for call in again]
        one, other = first[1].exact, again[1].exact
        assert isinstance(one, list)
        assert isinstance(other, list)
        apart = Fraction(sum(abs(a - b) for a, b in zip(one, other, strict=True)))
        greatest = max(greatest, apart / plan.curved.sensitivity.bound)
    assert Fraction(1, 5) < greatest <= 1


def test_the_price_of_a_curvature_follows_from_public_strength() -> None:
    def bought(kind: Kind, people: int | None, clip: int = 3) -> Fraction:
        return CurvaturePerturbation(Logistic(2), Scaling(BOX), price(kind), Fraction(clip), Fraction(1), people).bought

    assert bought("add_remove", 4499) == Fraction(1, 2)
    assert bought("add_remove", 4500) == Fraction(3, 10)  # 4500 x 1 / 3^2
    assert bought("substitute", 8999) == Fraction(1, 2)
    assert bought("substitute", 9000) == Fraction(3, 10)
    assert bought("add_remove", None) == Fraction(3, 10)  # as of 10,000
    plan = CurvaturePerturbation(Logistic(2), Scaling(BOX), price("add_remove"), Fraction(3), Fraction(1, 1000))
    turns, bend = plan.bent
    assert math.log(1 + bend / plan.ridge) * turns == pytest.approx(0.1, rel=1e-9)


@pytest.mark.wide
def test_the_random_slope_is_the_noise_of_the_gradient_at_the_point() -> None:
    """At the point the gradient of the losses is -(ridge t + slope): what is left of it has Laplace's deviation."""
    rng = np.random.default_rng(7)
    plan = CurvaturePerturbation(Logistic(2), Scaling(BOX), price("add_remove"), Fraction(3), Fraction(1), 2000)
    x = rng.uniform(-1, 1, (2000, 2))
    y = (rng.random(2000) < 1 / (1 + np.exp(-x[:, 0]))).astype(np.float64)
    problem = plan.problem(x, y)
    left: list[Floats] = []
    for key in range(60):
        around = plan.draw(x, y, Replayed(f"slopes {key}")).around
        assert around is not None
        left.append((around.push + problem.gradient(around.at[None, :])[0][0]) / around.loud)
    assert 0.85 < float(np.sqrt(np.mean(np.square(left)))) < 1.15  # 180 numbers: off by .08 in three of a hundred runs


# --- what an interval is ----------------------------------------------------------------------------------------------


def one(bent: float, *, loud: float = 0.0, off: float = 0.0, tail: float = 0.0, push: float = 0.0) -> ScoreKnowledge:
    nothing = np.zeros(1)
    return ScoreKnowledge(np.array([0.2]), np.array([push]), np.array([[bent]]), nothing, nothing, loud, off, tail)


def test_without_noise_an_interval_is_that_of_the_likelihood() -> None:
    found = one(400.0, push=4.0).interval(np.ones(1))
    assert found is not None
    low, high, sampling = found
    assert (low + high) / 2 == pytest.approx(0.2 + 4 / 400, abs=1e-3)
    assert (high - low) / 2 == pytest.approx(1.96 / 20, rel=1e-2)  # the curvature is that of one point
    assert sampling == pytest.approx(1.96 / 20, rel=1e-3)


def test_rows_of_a_person_count_as_equal() -> None:
    found, alike = (replace(one(4e4), alike=rows).interval(np.ones(1)) for rows in (1, 4))
    assert found is not None
    assert alike is not None
    assert alike[2] == pytest.approx(2 * found[2], rel=1e-6)
    assert alike[1] - alike[0] == pytest.approx(2 * (found[1] - found[0]), rel=1e-2)


def test_an_end_is_where_noise_and_score_cease_to_explain_the_gradient() -> None:
    """One coefficient: (H t - push)^2 = z^2 (H + loud^2 + off^2 t^2) at the ends, up to the change of curvature."""
    around = one(4000.0, loud=90.0, off=800.0, push=800.0)
    found = around.interval(np.ones(1))
    assert found is not None
    for end in found[:2]:
        way = np.array([end - 0.2])
        explained = float(around.sampled(way)[0, 0]) + 90.0**2 + (800.0 * (end - 0.2)) ** 2
        assert (4000.0 * (end - 0.2) - 800.0) ** 2 == pytest.approx(1.96**2 * explained, rel=1e-3)
    assert found[1] - 0.4 > 0.4 - found[0]  # further from the point E says less


def test_a_curvature_that_noise_hides_leaves_everything_open() -> None:
    assert one(400.0, loud=30.0, off=100.0).interval(np.ones(1)) is not None
    for bent, off in ((400.0, 210.0), (0.0, 10.0), (-50.0, 40.0), (-500.0, 40.0)):
        hidden = one(bent, loud=30.0, off=off)
        assert hidden.interval(np.ones(1)) is None
        assert hidden.told == (False,)
        assert np.isfinite(hidden.values).all()


def test_a_direction_that_is_hidden_hides_no_other() -> None:
    nothing, push = np.zeros(3), np.array([5.0, 9.0, 3.0])
    around = ScoreKnowledge(nothing, push, np.diag([900.0, 500.0, 10.0]), nothing, nothing, 10.0, 20.0, 3.0)
    assert around.told == (True, True, False)
    assert around.interval(np.array([1.0, 0.0, 1.0])) is None
    assert around.values[0] == pytest.approx(5 / 900)
    assert 0 < around.values[2] < 3 / 10  # held back


def test_few_laplace_noises_take_wider_points_and_many_do_not() -> None:
    """One Laplace noise alone: 95 % lie within 2.118 deviations; its fourth cumulant makes 2.17 of it."""
    way = np.zeros(1)
    assert one(400.0, loud=30.0, tail=3.0).points(np.ones(1), way, 900.0) == pytest.approx(2.166, abs=1e-3)
    assert one(400.0, loud=30.0).points(np.ones(1), way, 900.0) == pytest.approx(1.96, abs=1e-3)
    assert one(400.0, loud=30.0, tail=3.0).points(np.ones(1), way, 9000.0) == pytest.approx(1.96, abs=3e-3)


def test_values_have_the_ridge_that_was_asked_for() -> None:
    around = one(400.0, push=80.0)
    shrunk = replace(around, pull=np.array([100.0]))
    assert around.values[0] == pytest.approx(0.2 + 80 / 400)
    assert shrunk.values[0] == pytest.approx((400 * 0.2 + 80) / 500)  # H t = H at + push, and 100 t pulls back
    assert shrunk.interval(np.ones(1)) == around.interval(np.ones(1))


def test_the_points_of_a_normal_law_are_its_own() -> None:
    assert math.erf(AT_95 / math.sqrt(2)) == pytest.approx(0.95, abs=1e-12)
