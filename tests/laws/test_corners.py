"""Least squares by corners: what a row moves, the noise of every sum, which way is taken, and what is made of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as product_of
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.learning import least_squares, products
from reticent.learning.least_squares import Sums, solved
from reticent.learning.price import Price
from reticent.learning.products import Products, shared, shared_in_three, signs
from reticent.learning.scaling import UNIT, Floats, Scaling
from reticent.mechanisms import Geometric
from reticent.mechanisms.gate import Recorder
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP

BOX = (Fraction(-1), Fraction(1))
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")


def plan(
    width: int, epsilon: Fraction = Fraction(1), kind: Kind = "add_remove", people: int | None = None, delta: int = 0
) -> Products:
    """Columns in [-1, 1] whose rows are as long as there are; ``delta`` in millionths."""
    price = Price(epsilon, Fraction(delta, 10**6), Adjacency(kind))
    return Products(Scaling((BOX,) * width, intercept=False), price, Fraction(width), people)


def exact_of(made: Products, x: Floats, y: Floats) -> list[tuple[int, ...]]:
    """What goes into every draw."""

    def as_it_is(_: object, exact: object, __: object) -> object:
        return exact

    recorder = Recorder(as_it_is, Replayed("no coins"))
    made.sums(x, y, recorder)
    assert all(isinstance(call.exact, list) for call in recorder.calls)
    return [tuple(call.exact) for call in recorder.calls]  # type: ignore[arg-type]  # lists of integers


def moves(made: Products, one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> list[Fraction]:
    """For every draw the change between two tables, to what is declared."""
    found = []
    for noise, a, b in zip(made.noises, exact_of(made, *one), exact_of(made, *other), strict=True):
        assert isinstance(noise, Geometric)
        found.append(Fraction(sum(abs(p - q) for p, q in zip(a, b, strict=True))) / noise.sensitivity.bound)
    return found


def extremes(width: int, key: int) -> Floats:
    """Rows of (x, y): at bounds, beyond them, in between, and without a value."""
    rng = np.random.default_rng([key, width])
    whole = rng.choice([-1.0, 1.0, 0.0, 1e9, -1e300, 1 / 3], (40, width + 1))
    some = np.where(rng.random((40, width + 1)) < 0.5, whole, rng.uniform(-1, 1, (40, width + 1)))
    some[:4, 0], some[4:6, -1] = np.nan, np.inf
    return np.asarray(some)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("people", [None, 40])
@pytest.mark.parametrize("width", [1, 2, 5, 7])
def test_a_row_moves_no_draw_by_more_than_it_declares(width: int, people: int | None, kind: Kind) -> None:
    made = plan(width, Fraction(100), kind, people)
    assert made.way == "corners"
    rows = extremes(width, 1)
    most: list[Fraction] = []
    for place in range(20):
        other = np.delete(rows, place, axis=0)
        if kind == "substitute":
            other = np.insert(other, place, rows[-1 - place], axis=0)
        most += moves(made, (rows[:, :-1], rows[:, -1]), (other[:, :-1], other[:, -1]))
    assert 0 < max(most) <= 1


@pytest.mark.parametrize("width", [1, 3, 6])
def test_a_row_at_a_corner_moves_every_draw_by_all_that_is_declared(width: int) -> None:
    """Noise is not wider than it must be; nor is it where one corner replaces another."""
    made, nothing = plan(width), np.zeros((0, width + 1))
    for corner in product_of((-1.0, 1.0), repeat=width + 1):
        row = np.array([corner])
        assert set(moves(made, (row[:, :-1], row[:, -1]), (nothing[:, :-1], nothing[:, -1]))) == {Fraction(1)}
    instead = plan(width, kind="substitute")
    one, other = np.ones((1, width + 1)), np.array([[-1.0] * width + [1.0]])
    assert moves(instead, (one[:, :-1], one[:, -1]), (other[:, :-1], other[:, -1]))[0] == 1


def test_shares_that_are_too_great_are_cut_and_without_the_cut_it_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, row = products.shared, np.full((1, 3), 0.3)
    monkeypatch.setattr(products, "shared", lambda rows: 1.5 * honest(rows))
    three = products.shared_in_three
    monkeypatch.setattr(products, "shared_in_three", lambda rows: 1.5 * three(rows))
    single = moves(plan(1), (row[:, :1], row[:, 1]), (row[:0, :1], row[:0, 1]))
    assert Fraction(99, 100) < single[0] <= 1
    cut = moves(plan(2), (row[:, :-1], row[:, -1]), (row[:0, :-1], row[:0, -1]))
    assert Fraction(99, 100) < cut[0] <= 1
    monkeypatch.setattr(products, "shortened", lambda rows, most, norm: rows)
    assert moves(plan(2), (row[:, :-1], row[:, -1]), (row[:0, :-1], row[:0, -1]))[0] > 1


def test_corners_with_signs_are_sums_of_products() -> None:
    rows = np.random.default_rng(3).integers(-UNIT, UNIT + 1, (30, 4))
    told, places = signs(shared(rows).sum(axis=0)), rows / UNIT
    for k in range(16):
        held = [i for i in range(4) if k >> i & 1]
        assert told[k] == pytest.approx(places[:, held].prod(axis=1).sum(), abs=1e-12)


@pytest.mark.parametrize(("width", "people"), [(1, None), (3, 300), (5, None), (6, 300)])
def test_without_noise_it_is_least_squares(width: int, people: int | None) -> None:
    rng = np.random.default_rng(width)
    x = np.rint(rng.uniform(-1, 1, (300, width)) * 512) / 512  # on the grid of the sums
    y = np.rint(np.clip(0.2 + x @ rng.uniform(-0.2, 0.2, width) + rng.normal(size=300) / 9, -1, 1) * 512) / 512
    found = plan(width, Fraction(10**9), people=people).draw(x, y, Replayed("no noise"))
    best = np.linalg.lstsq(np.column_stack([np.ones(300), x]), y, rcond=None)[0]
    assert found.scaled[0] == pytest.approx(best, abs=1e-5)
    assert found.noisy is not None


def test_a_row_that_lacks_a_value_is_none_where_rows_are_bought_and_zeros_where_they_are_public() -> None:
    x, y = np.array([[0.5], [np.nan], [-0.25]]), np.array([0.5, 1.0, 0.25])
    bought, public = plan(1, Fraction(10**6)), plan(1, Fraction(10**6), people=3)
    for made, rows in ((bought, 2), (public, 3)):
        found = made.sums(x, y, Replayed("missing"))
        assert found.gram[0, 0] == pytest.approx(rows, abs=1e-3)
        assert found.gram[1, 1] == pytest.approx(0.25 + 0.0625, abs=1e-3)
        assert found.square == pytest.approx(0.25 + 0.0625, abs=1e-3)
        assert found.cross[1] == pytest.approx(0.25 - 0.0625, abs=1e-3)


def test_three_shares_of_one_column_tell_its_squares_too() -> None:
    rows = np.random.default_rng(4).integers(-UNIT, UNIT + 1, (50, 2))
    (x, y), shares = rows.T / UNIT, shared_in_three(rows)
    assert shares.min() >= 0
    assert shares.sum(axis=1) == pytest.approx(np.ones(50))
    told = products.BACK @ shares.sum(axis=0).reshape(2, 3).T @ np.array([[1, -1], [1, 1]])
    right = [[50, y.sum()], [x.sum(), (x * y).sum()], [(x * x).sum(), (x * x * y).sum()]]
    assert told == pytest.approx(np.array(right), abs=1e-11)


@pytest.mark.parametrize("people", [None, 5])
def test_noise_of_one_column_has_the_deviation_that_is_told(people: int | None) -> None:
    """No rows, or five at the corner (1, 1): 1,500 tables, a standard error of 5 % of a variance; half or twice the
    deviation is far outside."""
    made, x = plan(1, people=people), np.ones((people or 0, 1))
    assert made.way == ("corners" if people is None else "mean")
    made = plan(1, Fraction(10), people=people)  # the same in units of the noise, and enough for slopes of five rows
    many = [made.sums(x, x[:, 0], Replayed(f"one column {people} {key}")) for key in range(1_500)]
    scale = float(made.noises[0].scale) / products.WHOLE  # type: ignore[union-attr]  # pure noise is geometric
    number, square = ([6.0], 6.0) if people is None else ([0.0], 16.0 / 3.0)
    told = np.array([*number, 4.0, square, 6.0, 4.0]) * 2 * scale**2
    first = many[0]
    claimed = [first.of_gram[0, 0], first.of_gram[0, 1], first.of_gram[1, 1], *first.of_cross]
    assert np.array(claimed) ** 2 == pytest.approx(told)
    drawn = np.array([[one.gram[0, 0], one.gram[0, 1], one.gram[1, 1], *one.cross] for one in many])
    kept = slice(1 if people else 0, None)
    found = (np.mean((drawn - np.mean(drawn, axis=0)) ** 2, axis=0))[kept]
    if people is None:  # the number of rows is not below 1 where it is told
        found, told = found[1:], told[1:]
    assert found == pytest.approx(told[kept] if people else told, rel=0.2)
    assert np.mean(drawn, axis=0)[kept][-3:] == pytest.approx(np.full(3, float(people or 0)), abs=4 * scale)


@pytest.mark.parametrize("width", [2, 4, 6])
def test_noise_has_the_deviation_that_is_told(width: int) -> None:
    """Empty tables: the standard error of a variance of 300 sums of many Laplace variables is below .12 of itself.

    A law with half or twice the deviation has 1/4 or 4 of the variance, far outside.
    """
    made, nothing = plan(width), np.zeros((0, width))
    many = [made.sums(nothing, np.zeros(0), Replayed(f"empty {width} {key}")) for key in range(300)]
    told = many[0]
    scale = float(made.noises[0].scale) / products.WHOLE  # type: ignore[union-attr]  # pure noise is geometric
    assert told.of_cross[1] == pytest.approx(scale * np.sqrt(2.0 ** (width + 2)))
    cross = np.var([found.cross for found in many], axis=0)
    gram = np.var([found.gram - np.diag(np.full(width + 1, found.gram[0, 0] / 2)) for found in many], axis=0)
    own = np.hypot(told.of_gram[1, 1], 0.0) ** 2 - (told.of_gram[0, 0] / 2) ** 2
    assert 0.55 < float((cross / told.of_cross**2).min()) <= float((cross / told.of_cross**2).max()) < 1.6
    assert gram[1:, 1:].diagonal() == pytest.approx(np.full(width, own), rel=0.5)
    assert gram[0, 1:] == pytest.approx(told.of_gram[0, 1:] ** 2, rel=0.5)


@pytest.mark.parametrize(
    ("made", "way"),
    [
        (plan(1), "corners"),
        (plan(7), "corners"),
        (plan(8), "sums"),
        (plan(2, delta=1), "sums"),
        (plan(3, people=10**4), "corners"),
        (plan(3, people=40), "mean"),
        (plan(9, people=60, delta=1), "mean"),
        (Products(Scaling((BOX,) * 3, False), plan(1).price, Fraction(1)), "sums"),
    ],
)
def test_the_way_is_public_and_costs_what_was_asked(made: Products, way: str) -> None:
    assert made.way == way
    if not made.price.delta:
        assert made.guarantee.loss == PureDP(Fraction(1))
    else:
        loss = made.guarantee.loss
        assert not isinstance(loss, PureDP)
        assert Fraction(9, 10) < loss.epsilon <= 1  # type: ignore[union-attr]  # approximate


def test_rows_too_few_for_slopes_give_a_mean_and_no_intervals() -> None:
    """60 rows of four columns at epsilon 1: the mean of y has noise of 1.4 / 60, and is all that is told.

    Mean of 200 squared errors: (1.41 / 60)^2 = .00055, standard error 8 % (kurtosis 6); twice the noise is 4 times it.
    """
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, (60, 4)), rng.uniform(-1, 1, 60)
    drawn = [plan(4, people=60).draw(x, y, Replayed(f"mean {key}")) for key in range(200)]
    assert all(found.noisy is None and not found.scaled[0, 1:].any() for found in drawn)
    error = np.mean([(found.scaled[0, 0] - y.mean()) ** 2 for found in drawn])
    assert 0.5 < error / (2 / 60**2) < 2.0


def line(n: int, key: int) -> tuple[Floats, Floats]:
    """A column far from the middle of its bounds, r = .6, as body mass index and a disease."""
    rng = np.random.default_rng(key)
    x = np.clip(-0.33 + 0.35 * rng.normal(size=n), -1, 1)
    y = np.clip(-0.13 + 0.75 * (x + 0.33) + 0.35 * rng.normal(size=n), -1, 1)
    return x[:, None], y


def lost(made: Products, n: int, runs: int, name: str) -> float:
    """Mean squared error against the plain line, as a share of the variance of y."""
    found = []
    for key in range(runs):
        x, y = line(n, key)
        slope, start = np.polyfit(x[:, 0], y, 1)
        (got,) = made.draw(x, y, Replayed(f"{name} {key}")).scaled
        found.append(float(np.mean((got[0] - start + (got[1] - slope) * x[:, 0]) ** 2) / y.var()))
    return float(np.mean(found))


def test_a_line_of_few_rows_loses_little_and_one_by_one_it_loses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """353 rows at epsilon 1, 100 tables: .02 of the variance of y at most; products one by one lose twice as much."""
    made = plan(1, people=353)
    assert lost(made, 353, 100, "line") < 0.02
    assert lost(plan(1, people=40), 40, 100, "few") < 1.0  # noise moves the line, and is not made greater
    monkeypatch.setattr(products, "MOST", 0)
    by_sums = plan(1, people=353)
    assert by_sums.way == "sums"
    assert lost(by_sums, 353, 100, "line") > 2 * lost(made, 353, 100, "line")


def test_noise_of_the_mean_moves_no_slope() -> None:
    """Where a ridge is needed the line goes through the noisy means, whatever they are."""
    of = np.full((2, 2), 20.0)
    gram: NDArray[np.float64] = np.array([[400.0, -120.0], [-120.0, 100.0]])

    def sums(of_y: float) -> Sums:
        cross = np.array([of_y, 60.0 - 0.3 * of_y])  # the same covariance with x about any mean of y
        return Sums(gram, cross, 80.0, of, np.full(2, 1e-3), 1.0)

    one, other = solved(sums(0.0)), solved(sums(40.0))
    assert one.noisy is None
    mean = least_squares.shrunk(gram[0, 1:] / 400, of[0, 1:] / 400)[0]
    assert one.scaled[0] @ [1, mean] == pytest.approx(0.0, abs=1e-9)
    assert other.scaled[0] @ [1, mean] == pytest.approx(0.1, rel=1e-3)
    assert one.scaled[0, 1] == pytest.approx(other.scaled[0, 1], rel=0.01)
    assert one.scaled[0, 1] > 0.3


def test_a_fit_says_that_it_has_no_slopes() -> None:
    from reticent.ledger import Ledger
    from reticent.sklearn import LinearRegression

    ledger = Ledger.create(None, title="few", adjacency=Adjacency("add_remove"), budget=PureDP(Fraction(9)))
    x, y = line(20, 1)
    kept: Any = {"bounds": [(-1, 1)], "y_bounds": (-1, 1), "ledger": ledger, "adjacency": "add_remove"}
    model = LinearRegression(epsilon="0.1", people=20, **kept).fit(x, y)
    assert model.coef_.tolist() == [0.0]
    assert "noise hides" in model.summary()
