"""Least squares of many columns from a least point: what it finds, its intervals, what a row moves, and when it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.entropy import Replayed
from reticent.ledger import Ledger
from reticent.mechanisms import Gaussian, Geometric
from reticent.mechanisms.gate import Recorder
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.price import Price
from reticent.statistics.regression.frame import Frame
from reticent.statistics.regression.point import Point
from reticent.statistics.scaling import Floats

BOX = (Fraction(-1), Fraction(1))
TINY = Fraction(1, 10**6)
WIDTH = 8


def made(epsilon: str, people: int, kind: Kind = "add_remove", delta: Fraction = Fraction(0)) -> Point:
    return Point(Frame((BOX,) * WIDTH, BOX), Price(Fraction(epsilon), delta, Adjacency(kind)), people)


def rows(n: int, key: int, spread: float = 1.0) -> tuple[Floats, Floats]:
    """Slopes from -.1 to .1, errors in proportion to the first column."""
    draw = np.random.default_rng(key)
    x = spread * draw.uniform(-1, 1, (n, WIDTH))
    error = (0.05 + 0.2 * np.abs(x[:, 0])) * draw.normal(size=n)
    return x, np.clip(x @ np.linspace(-0.1, 0.1, WIDTH) + error, -1, 1)


@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
def test_it_is_least_squares_with_a_sandwich(delta: Fraction) -> None:
    """At an epsilon of 100: the noise is small beside the sampling error."""
    plan, (x, y) = made("100", 20_000, delta=delta), rows(20_000, 1)
    x[::3, 0] = np.nan
    found = plan.draw(x, y, Replayed("wide"))
    there = np.isfinite(x[:, 0])
    z = np.column_stack([np.ones(there.sum()), x[there]])
    inverse = np.linalg.inv(z.T @ z)
    model = inverse @ z.T @ y[there]
    left = (y[there] - z @ model)[:, None]
    half = 1.96 * np.sqrt(np.diag(inverse @ ((z * left**2).T @ z) @ inverse))
    told = [one for one in found.estimates if one is not None]
    assert len(told) == WIDTH + 1
    assert np.abs(found.values - model).max() < half.max()
    assert np.array([one.sampling for one in told]) == pytest.approx(half, rel=0.1)


@pytest.mark.wide
@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
def test_intervals_cover(delta: Fraction) -> None:
    """30 tables of nine coefficients at epsilon 2: intervals that cover .95 have a share below .89 once in 5,000 runs,
    and half as wide ones cover .67."""
    plan, true, hits = made("2", 10_000, delta=delta), np.concatenate([[0.0], np.linspace(-0.1, 0.1, WIDTH)]), []
    for key in range(30):
        found = plan.draw(*rows(10_000, key), Replayed(f"covers {key}"))
        told = [(one, value) for one, value in zip(found.estimates, true, strict=True) if one is not None]
        hits += [((one.high - one.low) / 2, abs(one.value - value)) for one, value in told]
    assert len(hits) > 250
    assert 0.89 <= np.mean([off <= half for half, off in hits]) <= 0.985
    assert np.mean([off <= half / 2 for half, off in hits]) < 0.89


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
def test_a_row_moves_no_sum_by_more_than_it_declares(kind: Kind, delta: Fraction) -> None:
    """Of what is drawn after the point; the point itself is proved and replayed with the other least points."""
    plan, (x, y) = made("20", 3000, kind, delta), rows(3000, 2)
    x[:40] = np.sign(x[:40])
    y[:40] = np.sign(y[:40])
    x[40:50, 2] = np.nan
    assert plan.refined

    def calls(x: Floats, y: Floats, tape: list[object] | None) -> list[Any]:
        stream, answers = Replayed("noise"), iter(tape or [])

        def respond(mechanism: Any, exact: object, _: object) -> object:
            return mechanism.sample(exact, stream) if tape is None else next(answers)

        recorder = Recorder(respond, Replayed("coins"))
        plan.draw(x, y, recorder)
        return recorder.calls

    first, worst = calls(x, y, None), []
    for place in (0, 7, 41):
        other = np.delete(x, place, axis=0), np.delete(y, place)
        if kind == "substitute":
            other = np.insert(other[0], place, -x[place + 1], axis=0), np.insert(other[1], place, 1.0)
        for a, b in zip(first, calls(*other, [call.output for call in first]), strict=True):
            if not isinstance(a.mechanism, Geometric | Gaussian):
                continue
            apart = [abs(p - q) for p, q in zip(a.exact, b.exact, strict=True)]
            if isinstance(a.mechanism, Geometric):
                worst.append(Fraction(sum(apart)) / a.mechanism.sensitivity.bound)
            else:
                worst.append(Fraction(sum(part * part for part in apart)) / a.mechanism.sensitivity.squared)
    assert 0 < max(worst) <= 1


@pytest.mark.wide
@pytest.mark.parametrize(("people", "refined"), [(600, False), (50_000, True)])
def test_it_costs_what_was_asked_with_intervals_and_without(people: int, refined: bool) -> None:
    plan = made("1", people)
    assert plan.refined == refined
    assert plan.guarantee.loss == PureDP(Fraction(1))
    loss = made("1", people, delta=TINY).guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert Fraction(9, 10) < loss.epsilon <= 1


@pytest.mark.wide
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_beyond_seven_columns_it_predicts_no_worse_than_the_robust_line(delta: str) -> None:
    """Ten columns of a narrow spread, 10,000 rows at epsilon 1: R squared, of which sums of products had left .24."""
    from reticent.sklearn import HuberRegressor, LinearRegression

    budget = ApproxDP(Fraction(90), Fraction(1, 1000))
    ledger = Ledger.create(None, title="wide", adjacency=Adjacency("add_remove"), budget=budget)
    given: dict[str, Any] = {
        "epsilon": 1,
        "delta": delta,
        "bounds": (-1, 1),
        "y_bounds": (-1, 1),
        "adjacency": "add_remove",
        "people": 10_000,
        "ledger": ledger,
    }
    found: dict[str, list[float]] = {"least squares": [], "robust": []}
    for key in range(4):
        draw = np.random.default_rng(key)
        x = np.clip(0.25 * draw.normal(size=(10_000, 10)), -1, 1)
        y = x @ draw.normal(size=10)
        y = np.clip(0.3 * y / y.std() + 0.1 * draw.normal(size=10_000), -1, 1)
        for name, model in (("least squares", LinearRegression(**given)), ("robust", HuberRegressor(**given))):
            away = model.fit(x, y).predict(x) - y
            found[name].append(1 - float((away**2).sum() / ((y - y.mean()) ** 2).sum()))
    assert np.mean(found["least squares"]) > 0.8
    assert np.mean(found["least squares"]) > np.mean(found["robust"]) - 0.05
