"""Least squares by noisy sums: what a row moves, the noise that is told, what is left without noise, and the ways."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from reticent.entropy import Replayed
from reticent.mechanisms.gate import Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.statistics.price import Price
from reticent.statistics.regression import products, sandwich
from reticent.statistics.regression.frame import Block, CategoryKeys, Frame
from reticent.statistics.regression.products import Products
from reticent.statistics.regression.sandwich import Meat
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.regression.sums import Loads, NoisySums
from reticent.statistics.scaling import UNIT, Floats

BOX = (Fraction(-1), Fraction(1))
FAR = (Fraction(10), Fraction(14))
TINY = Fraction(1, 10**6)
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
BLOCKS: dict[str, tuple[Block, ...]] = {
    "one": (BOX,),
    "two": (BOX, FAR),
    "three": (BOX, FAR, BOX),
    "six": (BOX,) * 6,
    "a category": (CategoryKeys(3, 1), BOX),
    "two categories": (FAR, CategoryKeys(2), BOX, CategoryKeys(4, 3), BOX),
}


def engine(
    name: str,
    epsilon: Fraction = Fraction(1),
    kind: Kind = "add_remove",
    *,
    delta: Fraction = Fraction(0),
    people: int | None = None,
    complete: bool = False,
    intercept: bool = True,
    rows_each: int = 1,
) -> LeastSquares:
    frame = Frame(BLOCKS[name], BOX, intercept)
    return LeastSquares(frame, Price(epsilon, delta, Adjacency(kind, rows_each)), people, complete)


def extremes(frame: Frame, n: int, key: int) -> tuple[Floats, Floats]:
    """Rows at bounds, beyond them, between, without a value, and of keys that are none."""
    draw, columns = np.random.default_rng([key, len(frame.blocks)]), []
    for block in (*frame.blocks, frame.y):
        if isinstance(block, CategoryKeys):
            odd = draw.choice([-1, block.count, 0.5, np.nan], n)
            columns.append(np.where(draw.random(n) < 0.05, odd, draw.integers(0, block.count, n)))
            continue
        low, high = float(block[0]), float(block[1])
        whole = draw.choice([low, high, (low + high) / 2, 1e9, -1e300], n)
        found = np.where(draw.random(n) < 0.6, whole, draw.uniform(low, high, n))
        columns.append(np.where(draw.random(n) < 0.05, draw.choice([np.nan, np.inf], n), found))
    table = np.column_stack(columns)
    return table[:, :-1], table[:, -1]


def calls(made: LeastSquares, x: Floats, y: Floats, tape: list[object] | None) -> list[Any]:
    """Every draw of one fit, answered by the tape or from a fixed stream."""
    stream, answers = Replayed("noise"), iter(tape or [])

    def respond(mechanism: Any, exact: object, _: object) -> object:
        return mechanism.sample(exact, stream) if tape is None else next(answers)

    recorder = Recorder(respond, Replayed("coins"))
    made.draw(x, y, recorder)
    return recorder.calls


def moves(made: LeastSquares, one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> list[Fraction]:
    """For every draw the change between two tables, to what is declared; the second is told what the first was."""
    first = calls(made, *one, None)
    again = calls(made, *other, [call.output for call in first])
    found = []
    for a, b in zip(first, again, strict=True):
        apart = [abs(p - q) for p, q in zip(a.exact, b.exact, strict=True)]
        if isinstance(a.mechanism, Geometric):
            found.append(Fraction(sum(apart)) / a.mechanism.sensitivity.bound)
        else:
            assert isinstance(a.mechanism, Gaussian)
            found.append(Fraction(sum(part * part for part in apart)) / a.mechanism.sensitivity.squared)
    return found


# --- what a row moves -------------------------------------------------------------------------------------------------


@pytest.mark.loop(8)
@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [products.MOST_CELLS, 1], ids=["cells", "sums"])
@pytest.mark.parametrize("name", list(BLOCKS))
def test_a_row_moves_no_draw_by_more_than_it_declares(
    name: str, most: int, kind: Kind, delta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "MOST_CELLS", most)
    made = engine(name, Fraction(10), kind, delta=delta)
    x, y = extremes(made.frame, 200, 1)
    worst: list[Fraction] = []
    for place in range(12):
        other = np.delete(x, place, axis=0), np.delete(y, place)
        if kind == "substitute":
            other = np.insert(other[0], place, x[-1 - place], axis=0), np.insert(other[1], place, y[-1 - place])
        worst += moves(made, (x, y), other)
    assert 0 < max(worst) <= 1


@pytest.mark.parametrize("name", ["one", "three", "a category"])
def test_a_row_at_a_corner_moves_cells_and_squares_by_all_that_is_declared(name: str) -> None:
    """Noise is not wider than it must be, alone or in place of another."""
    made = engine(name)
    x = np.array([[float(block[1]) if not isinstance(block, CategoryKeys) else 0.0 for block in made.frame.blocks]])
    found = moves(made, (x, np.array([1.0])), (x[:0], np.zeros(0)))
    assert set(found[:-1]) == {Fraction(1)}
    instead = engine(name, kind="substitute")
    assert moves(instead, (x, np.array([1.0])), (x, np.array([-1.0])))[0] == 1


def test_persons_of_several_rows_move_as_many_times_as_much() -> None:
    made = engine("two", Fraction(10), "substitute", rows_each=3)
    x, y = extremes(made.frame, 60, 4)
    other = np.vstack([x[3:], x[10:13]]), np.concatenate([y[3:], y[10:13]])
    assert 0 < max(moves(made, (x, y), other)) <= 1


def test_a_meat_that_is_not_cut_and_shares_that_are_too_great_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine("two", Fraction(10))
    x, y = extremes(made.frame, 300, 2)
    x[-1], y[-1] = (1.0, 14.0), -1.0
    there = (x, y), (x[:-1], y[:-1])
    assert max(moves(made, *there)) <= 1
    caps = sandwich.SandwichTerms.caps.func  # type: ignore[attr-defined]  # a cached property
    with monkeypatch.context() as patched:  # all caps below a deviation, so that the cut is felt
        low = property(lambda self: caps(self) / 20)
        patched.setattr(sandwich.SandwichTerms, "caps", low)
        assert max(moves(made, *there)) <= 1
        patched.setattr(sandwich.np, "clip", lambda a, low, high: np.maximum(a, low))  # type: ignore[attr-defined]
        assert moves(made, *there)[-1] > 1
    honest = Products._shared
    with monkeypatch.context() as patched:
        patched.setattr(Products, "_shared", lambda self, steps, y: 1.5 * honest(self, steps, y))
        assert Fraction(9, 10) < moves(made, *there)[0] <= 1  # cut, by integers
        patched.setattr(products, "shortened", lambda rows, most, norm: rows)
        assert moves(made, *there)[0] > 1


# --- without noise ----------------------------------------------------------------------------------------------------


def rows(frame: Frame, n: int, key: int) -> tuple[Floats, Floats]:
    """Rows inside their bounds whose errors spread with the first column."""
    draw, columns = np.random.default_rng(key), []
    for block in frame.blocks:
        if isinstance(block, CategoryKeys):
            columns.append(draw.integers(0, block.count, n).astype(float))
        else:
            columns.append(draw.uniform(float(block[0]), float(block[1]), n))
    x = np.column_stack(columns)
    first = frame.featured(frame.held(x, np.zeros(n))) / UNIT
    y = 0.3 * first.sum(axis=1) / first.shape[1] + 0.2 * np.abs(first[:, -1]) * draw.normal(size=n)
    return x, np.clip(y, -1, 1)


def plain(frame: Frame, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Least squares and the sandwich's standard deviations, in units of the columns."""
    held = frame.held(x, y)
    z, target = frame.featured(held) / UNIT, held.y / UNIT
    inverse = np.linalg.inv(z.T @ z)
    model = inverse @ z.T @ target
    left = (target - z @ model)[:, None]
    start, turn = frame.back
    spread = turn @ inverse @ ((z * left**2).T @ z) @ inverse @ turn.T * len(z) / (len(z) - len(model))
    return start + turn @ model, np.sqrt(np.diag(spread))


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("most", [products.MOST_CELLS, 1], ids=["cells", "sums"])
@pytest.mark.parametrize("name", list(BLOCKS))
def test_without_noise_it_is_least_squares_of_complete_rows_with_the_sandwich(
    name: str, most: int, intercept: bool, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows in five lack a value, unless it is public that none does."""
    monkeypatch.setattr(products, "MOST_CELLS", most)
    if not intercept and "categor" in name:
        return
    made = engine(name, Fraction(10**9), "substitute", people=600, complete=complete, intercept=intercept)
    x, y = rows(made.frame, 600, 3)
    if not complete:
        x[::5, 0], y[1::5] = np.nan, np.nan
    found = made.draw(x, y, Replayed("no noise"))
    best, deviations = plain(made.frame, x, y)
    assert found.n == pytest.approx(600 if complete else 360, abs=1e-3)
    assert found.values == pytest.approx(best, abs=1e-5)
    told = [one for one in found.estimates if one is not None]
    assert len(told) == len(best)
    half = np.array([(one.high - one.low) / 2 for one in told])
    assert half == pytest.approx(1.959963985 * deviations, rel=3e-3)


# --- the noise that is told -------------------------------------------------------------------------------------------


@pytest.mark.loop(2)
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
@pytest.mark.parametrize("name", ["one", "three", "a category", "six"])
def test_noise_of_every_sum_has_the_deviation_that_is_told(name: str, delta: Fraction, complete: bool) -> None:
    """400 tables of five rows: the standard error of a variance of a sum of Laplace variables is below .12 of itself.

    A law with half or twice the deviation has 1/4 or 4 of the variance, far outside. Sums that are known do not move.
    """
    made = engine(name, Fraction(1), "substitute", delta=delta, people=5 if complete else None, complete=complete)
    x, y = rows(made.frame, 5, 1)
    held, many = made.frame.held(x, y), []
    for key in range(400):
        sums = made.products.draw(held, Replayed(f"{name} {key}"))
        upper = sums.gram[np.triu_indices(sums.width)]
        many.append(np.concatenate([upper, sums.cross, [sums.square, sums.n]]))
    found, told = np.var(many, axis=0), sums.spreads**2
    assert (found[told == 0] < 1e-18).all()
    assert bool((told == 0).any()) == (complete or name == "a category")
    ratio = found[told > 0] / told[told > 0]
    assert 0.55 < float(ratio.min()) <= float(ratio.max()) < 1.7


def test_noise_of_the_meat_has_the_deviation_that_is_told() -> None:
    """1,500 empty tables: the standard error of a variance of Laplace noise is .06 of itself."""
    for kind in KINDS:
        meat = Meat(Price(Fraction(1), Fraction(0), Adjacency(kind)), 3, Fraction(1, 10))
        drawn = np.array(meat.noise.sample([0] * 4500, Replayed(f"meat {kind}"))) / sandwich.WHOLE
        assert 0.8 < float(drawn.var()) / meat.deviation**2 < 1.25
        replaced = 2 if kind == "substitute" else 1  # a share less at one cap, and more at another
        assert meat.deviation == pytest.approx(2**0.5 * 3 * 10 * replaced, rel=1e-6)


# --- ways and prices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "way", "hopeless"),
    [
        (engine("one"), "cells", False),
        (engine("six"), "cells", False),
        (engine("two categories"), "cells", False),
        (engine("two", people=10**4), "cells", False),
        (engine("three", people=40), "cells", True),
        (engine("one", people=5000, delta=TINY), "sums", False),
        (
            LeastSquares(Frame((BOX,) * 10, BOX), Price(Fraction(1), Fraction(0), Adjacency("add_remove"))),
            "sums",
            False,
        ),
    ],
)
def test_the_way_is_public_and_costs_what_was_asked(made: LeastSquares, way: str, hopeless: bool) -> None:
    assert made.products.way == way
    assert made.hopeless == hopeless
    loss = made.guarantee.loss
    if made.price.delta:
        assert not isinstance(loss, PureDP)
        assert Fraction(9, 10) < loss.epsilon <= 1  # type: ignore[union-attr]  # approximate
    else:
        assert loss == PureDP(Fraction(1))


def test_the_way_that_is_taken_has_less_noise_in_a_slope() -> None:
    """Predicted by public numbers, and so it is: the noise told in a slope of 4,000 rows, of both ways."""
    for name in ("one", "three", "six"):
        told = {}
        for way, most in (("cells", 1024), ("sums", 1)):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(products, "MOST_CELLS", most)
                made = engine(name, Fraction(4))
                assert made.products.way == way
                estimate = made.draw(*rows(made.frame, 4000, 2), Replayed(way)).estimates[1]
                assert estimate is not None
                told[way] = estimate.noise, made.products.error(way)
        for at in (0, 1):
            assert told["cells"][at] < told["sums"][at]


def test_too_few_rows_give_a_mean_and_no_slopes() -> None:
    """40 rows at epsilon 1: the mean of y has noise of 2 sqrt 2 / 40 (and of n as much), and is all that is told."""
    made = engine("three", people=40)
    x, y = rows(made.frame, 40, 5)
    drawn = [made.draw(x, y, Replayed(f"mean {key}")) for key in range(200)]
    assert all(found.estimates == (None,) * 4 and not found.values[1:].any() for found in drawn)
    error = np.mean([(found.values[0] - y.mean()) ** 2 for found in drawn])
    assert error < 3 * 2 * (2 / 40) ** 2


# --- coverage ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def told_slopes(epsilon: str, kind: Kind, tables: int) -> tuple[Estimate | None, ...]:
    """Slopes of samples of a law whose errors are skewed and spread with the column's distance from its middle."""
    made, found = engine("one", Fraction(epsilon), kind), []
    for key in range(tables):
        draw = np.random.default_rng([key, 5])
        x = draw.uniform(-1, 1, 3000)
        y = 0.1 + 0.3 * x + 0.35 * x**2 * (draw.gamma(2, 1, 3000) - 2) / 2
        found.append(made.draw(x[:, None], np.clip(y, -1, 1), Replayed(f"covers {key}")).estimates[1])
    return tuple(found)


def covered(epsilon: str, kind: Kind, tables: int, times: float = 1.0) -> tuple[float, float]:
    """The share of slopes inside their intervals, half-widths ``times`` what was told, and the share that has one."""
    told = [one for one in told_slopes(epsilon, kind, tables) if one is not None]
    hits = [abs(one.value - true_slope()) <= times * (one.high - one.low) / 2 for one in told]
    return float(np.mean(hits)), len(told) / tables


@cache
def true_slope() -> float:
    """The slope of a million rows of that law, cut to its bounds: its error is below a thousandth."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, 2_000_000)
    y = np.clip(0.1 + 0.3 * x + 0.35 * x**2 * (draw.gamma(2, 1, len(x)) - 2) / 2, -1, 1)
    return float(np.polyfit(x, y, 1)[0])


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("epsilon", "kind"), [("8", "add_remove"), ("1", "add_remove"), ("1", "substitute")])
def test_intervals_cover_where_errors_spread_unequally_and_are_skewed(epsilon: str, kind: Kind) -> None:
    """600 tables: intervals that cover .95 have a share outside [.918, .978] about once in 2,000 runs."""
    share, told = covered(epsilon, kind, 600)
    assert told == 1.0
    assert 0.918 <= share <= 0.978
    assert covered(epsilon, kind, 600, 0.8)[0] < 0.918
    assert covered(epsilon, kind, 600, 1.3)[0] > 0.978


def far_out(key: int) -> tuple[Floats, Floats]:
    """Rows of which 3 in 100 lie far from the others, with five times their errors: most of the sandwich is theirs."""
    draw = np.random.default_rng([key, 17])
    apart = draw.random(1500) < 0.03
    x = np.clip(np.where(apart, 1.0, -0.5) + draw.normal(0, 0.05, 1500), -1, 1)
    return x, np.clip(0.2 * x + draw.normal(0, np.where(apart, 0.5, 0.1)), -1, 1)


def covered_far_out(tables: int) -> tuple[float, float]:
    """The share of slopes inside their intervals, and of those of the sandwich without privacy."""
    made, hits, plainly, slope = engine("one", Fraction(8)), [], [], 0.1935  # of four million rows, to .001
    for key in range(tables):
        x, y = far_out(key)
        (_, told) = made.draw(x[:, None], y, Replayed(f"far out {key}")).estimates
        assert told is not None
        hits.append(told.low <= slope <= told.high)
        value, deviations = plain(made.frame, x[:, None], y)
        plainly.append(abs(float(value[1]) - slope) <= 1.96 * float(deviations[1]))
    return float(np.mean(hits)), float(np.mean(plainly))


@pytest.mark.wide
def test_intervals_cover_where_few_rows_far_out_are_most_of_the_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 tables: of intervals that cover .93, fewer than .89 do about once in 700 runs. The mutant: the lowest cap."""
    share, without = covered_far_out(400)
    assert without > 0.9
    assert share > 0.89
    lowest = lambda self, at, shares: (float(shares.sum() * self.caps[at, 0] ** 2), 0.0)  # noqa: E731
    monkeypatch.setattr(sandwich.SandwichTerms, "_told", lowest)
    assert covered_far_out(100)[0] < 0.8


@pytest.mark.wide
def test_the_usual_formula_does_not_cover_this_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: one spread of errors at every x, as the noise-free formula has it."""
    monkeypatch.setattr(Meat, "draw", lambda self, rows, y, told, entropy, weights=None: _alike(told))
    assert covered("8", "add_remove", 299)[0] < 0.918  # other tables than those kept


def _alike(told: sandwich.SandwichTerms) -> Floats:
    mean = max(told.sums.rest(told.model), 0.0) / told.n
    found = np.array([mean * float(part @ row) for part, row in zip(told.parts, told.turn, strict=True)])
    return np.outer(found, np.eye(sandwich.CAPS)[0]) / told.caps[:, :1] ** 2  # all at the lowest cap


def covered_of_replies(chance: float, tables: int = 1_000) -> float:
    """Coverage given a reply that so many tables have, where nothing but noise of X'X moves the slope."""
    size, slope, noise = 1_000.0, 0.5, np.array([1.0, 1e-6, 1e-6, 1e-6])
    least = sandwich.AT_95 / math.sqrt(sandwich.CLEAR)
    silent = Meat(Price(Fraction(10**12), Fraction(0), Adjacency("add_remove")), 1, Fraction(1))
    usual = NormalDist()
    draw = np.random.default_rng(round(1 / chance))
    deviation = size / (least - usual.inv_cdf(1 - chance))
    held = 0
    for luck in draw.uniform(1 - chance, 1, tables):  # tables with a reply
        gram = np.array([[size + deviation * usual.inv_cdf(luck)]])
        loads = Loads.of(np.diag([1.0, 1.0, 1.0, 1.0]))
        sums = NoisySums(gram, np.array([slope * size]), 1e6, 1e6, loads, deviation * noise, 0.0)
        (found,) = sandwich.SandwichTerms(sums, np.eye(1), silent, 1e6).estimates(
            np.zeros((1, sandwich.CAPS)), np.zeros(1)
        )
        assert found is not None
        held += found.low <= slope <= found.high
    return held / tables


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("chance", [0.99, 0.5, 0.1, 0.03])
def test_an_interval_holds_given_a_reply_where_replies_are_rare(chance: float) -> None:
    """At .95 of 1,000 a share below .92 or above .98 has a chance of 1e-4 at most."""
    assert 0.92 <= covered_of_replies(chance) <= 0.98


@pytest.mark.wide
def test_without_regard_to_the_reply_rare_intervals_do_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandwich, "CHANCES", sandwich.CHANCES[:1])
    assert covered_of_replies(0.1, 200) < 0.85
    assert covered_of_replies(0.03, 200) < 0.5


def test_coefficients_are_told_one_by_one() -> None:
    """The second column hardly varies, so that noise hides its slope; that of the first has its interval."""
    made, seen = engine("two", Fraction(1)), []
    for key in range(20):
        draw = np.random.default_rng(key)
        x = np.column_stack([draw.uniform(-1, 1, 4000), 12 + 0.02 * draw.normal(size=4000)])
        y = np.clip(0.3 * x[:, 0] + 0.2 * draw.normal(size=4000), -1, 1)
        _, first, second = made.draw(x, y, Replayed(f"one by one {key}")).estimates
        seen.append((first is not None, second is not None))
    assert sum(first for first, _ in seen) >= 15
    assert sum(second for _, second in seen) <= 5
