"""Least squares of many columns from a least point, with intervals and without: what a row moves, and which when."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.data.schema import Person, Real, Schema
from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.ledger import Ledger
from reticent.mechanisms.gate import Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.convert import rho_for
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.statistics.answer import NO_INTERVAL, Cell
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import NEVER, Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.price import Price
from reticent.statistics.regression.engine import engine
from reticent.statistics.regression.frame import CategoryKeys, Frame
from reticent.statistics.regression.point import Point
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.regression.squares_step import Squares
from reticent.statistics.scaling import Floats
from reticent.study.allocation import settle

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
    """At an epsilon of 400: the noise is small beside the sampling error, and beside its square."""
    plan, (x, y) = made("400", 20_000, delta=delta), rows(20_000, 1)
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


@pytest.mark.loop(1)
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


def plain(kind: Kind, delta: Fraction) -> PlainSquares:
    return PlainSquares(
        Frame((BOX,) * (WIDTH - 1) + ((Fraction(0), Fraction(1)),), BOX),
        Price(Fraction(20), delta, Adjacency(kind)),
        3000,
    )


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
@pytest.mark.parametrize("told", [True, False], ids=["with intervals", "without"])
def test_a_row_moves_no_sum_by_more_than_it_declares(kind: Kind, delta: Fraction, told: bool) -> None:
    """Of what is drawn after the point; the point itself is proved and replayed with the other least points."""
    plan = made("20", 3000, kind, delta) if told else plain(kind, delta)
    x, y = rows(3000, 2)
    x[:40] = np.sign(x[:40])
    y[:40] = np.sign(y[:40])
    x[40:50, 2] = np.nan

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


@pytest.mark.parametrize("delta", [Fraction(0), TINY], ids=["pure", "approximate"])
@pytest.mark.parametrize(
    ("columns", "people", "way"), [(2, 600, LeastSquares), (10, 3000, PlainSquares), (10, 90_000, Point)]
)
def test_the_way_is_public_and_costs_what_was_asked(columns: int, people: int, way: type, delta: Fraction) -> None:
    """Sums of few columns; of many a point, which buys intervals only where noise would not hide them."""
    plan = engine(Frame((BOX,) * columns, BOX), Price(Fraction(1), delta, Adjacency("add_remove")), people)
    assert isinstance(plan, way)
    loss = plan.guarantee.loss
    if isinstance(loss, ApproxDP):
        assert delta
        assert Fraction(9, 10) < loss.epsilon <= 1
    else:
        assert loss == PureDP(Fraction(1))


def test_intervals_that_cost_a_prediction_too_much_are_not_bought_for_it() -> None:
    """Nine columns at epsilon 3: sums tell slopes whose noise is more than the variance of y."""
    asked = Frame((BOX,) * 9, BOX), Price(Fraction(3), Fraction(0), Adjacency("substitute")), 5000
    assert isinstance(engine(*asked), LeastSquares)
    assert isinstance(engine(*asked, worth=0.02), PlainSquares)


def test_a_delta_is_left_where_one_draw_has_less_noise() -> None:
    def loss(columns: int) -> object:
        frame = Frame((BOX,) * columns, BOX)
        return PlainSquares(frame, Price(Fraction(1), TINY, Adjacency("substitute")), 3000).guarantee.loss

    assert isinstance(loss(6), PureDP)
    assert isinstance(loss(30), ApproxDP)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("columns", [1, 2, 4, 6, 12])
def test_a_delta_never_makes_a_line_worse(kind: Kind, columns: int) -> None:
    """Two sums had Gaussian noise of twice the size of the Laplace noise that the same epsilon pays for."""
    near = Adjacency(kind)
    frame = Frame((BOX,) * columns, BOX)
    with_delta, without = (engine(frame, Price(Fraction(1), delta, near), 90_000) for delta in (TINY, Fraction(0)))
    assert not isinstance(without, PlainSquares)
    assert not isinstance(with_delta, PlainSquares)
    assert with_delta.error() <= without.error()
    in_rho = engine(frame, Price(Fraction(1), TINY, near, currency="zcdp"), 90_000)
    assert isinstance(in_rho.guarantee.loss, ApproxDP)


def test_a_line_of_one_column_spends_no_delta_that_it_is_offered() -> None:
    schema = Schema({name: Real(Fraction(-1), Fraction(1)) for name in "xy"}, Person("substitute"))
    planned = settle([parse("regress(y ~ x, delta=1e-6)")], Cost(Fraction(1), delta=TINY), schema, 2000, "approximate")
    assert planned.guarantee.loss == PureDP(Fraction(1))


def test_in_rho_a_delta_pays_for_a_descent() -> None:
    """Six columns: the pure draw at epsilon 1 that an (epsilon, delta) ledger pays for costs 19 times this rho."""
    from reticent.learning import LinearRegression

    ledger = Ledger.create(None, title="rho", adjacency=Adjacency("substitute"), budget=ZCDP(Fraction(2)))
    asked: dict[str, Any] = {"bounds": (-1, 1), "y_bounds": (-1, 1), "adjacency": "substitute", "ledger": ledger}
    x, y = rows(3000, 4)
    LinearRegression(epsilon=1, delta="1e-6", **asked).fit(x[:, :6], y)
    spent = ledger.spent()
    assert isinstance(spent, ZCDP)
    assert spent.rho <= rho_for(Fraction(1), TINY)


@pytest.mark.parametrize(
    "within", [Cost(Fraction(1), delta=TINY), Cost(rho=Fraction(1, 10), delta=TINY)], ids=["ε", "ρ"]
)
def test_a_question_in_rho_is_planned_in_rho(within: Cost) -> None:
    names = [f"x{place}" for place in range(6)]
    schema = Schema({name: Real(Fraction(-1), Fraction(1)) for name in ("y", *names)}, Person("substitute"))
    question = parse(f"regress(y ~ {' + '.join(names)}, delta=1e-6)")
    (step,) = settle([question], within, schema, 2000, "zcdp").steps
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, Squares)
    assert isinstance(step.plan.plan, PlainSquares)
    assert not step.plan.plan.pure


def test_a_question_in_rho_spends_its_share_and_is_not_refused_for_less() -> None:
    """Its ε was sought from that of a pure draw: .84 of the share was spent, and 150 rows were refused as too few."""
    schema = Schema({name: Real(Fraction(-1), Fraction(1)) for name in "xy"}, Person("substitute"))
    question, rho = parse("regress(y ~ x, delta=1e-6)"), Fraction(1, 20)
    loss = settle([question], Cost(rho=rho, delta=TINY), schema, 150, "zcdp").guarantee.loss
    assert isinstance(loss, ZCDP)
    assert rho * Fraction(99, 100) < loss.rho <= rho


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_columns_of_zeros_and_ones_move_no_prediction_away(kind: Kind) -> None:
    """Nine columns mostly 0 and a y near its lower bound: rows of -1 were cut to 13/20, and predictions were off."""
    frame = Frame(((Fraction(0), Fraction(1)),) * 9, BOX)
    draw = np.random.default_rng(3)
    x = (draw.random((5000, 9)) < 0.1).astype(float)
    y = np.clip(-0.9 + 0.05 * x[:, 0] + 0.05 * draw.normal(size=5000), -1, 1)
    plan = PlainSquares(frame, Price(Fraction(3), Fraction(0), Adjacency(kind)), 5000)
    drawn = [plan.draw(x, y, Replayed(f"ones {key}")).values for key in range(12)]  # each is off by .01
    away = np.array([y - values[0] - x @ values[1:] for values in drawn])
    assert abs(away.mean()) < 0.01
    assert np.all(away.std(axis=1) < 0.1)


def test_a_regression_of_ten_columns_predicts_as_the_model_does() -> None:
    """R squared of ten narrow columns, 10,000 rows at epsilon 1, where sums gave no reply; no interval is said."""
    names = [f"x{place}" for place in range(10)]
    columns = {name: Real(Fraction(-1), Fraction(1)) for name in ("y", *names)}
    schema = Schema(columns, Person("add_remove", people=10_000))
    asked = parse(f"regress(y ~ {' + '.join(names)})")
    step = prepare(asked, Setting(schema, 10_000), Fraction(1))
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, Squares)
    assert "no intervals" in step.estimand
    assert step.expected(10_000).noise is None
    found = []
    for key in range(4):
        x, y = narrow(key)
        steps = np.floor(np.column_stack([y, x]) / np.array([float(unit) for unit in step.plan.units])).astype(np.int64)
        drawn = step.plan.draw(steps, Replayed(f"ten {key}"))
        values = np.array([one.value.value for one in drawn.outcomes if isinstance(one, Reply)])
        away = y - values[0] - x @ values[1:]
        found.append(1 - float((away**2).sum() / ((y - y.mean()) ** 2).sum()))
    assert np.mean(found) > 0.8
    cell = Cell(step.labels[1], drawn.outcomes[1])
    assert cell.as_it_is
    assert cell.label == ((NO_INTERVAL, "x0"),)


def asked(columns: int, people: int, epsilon: str, kind: Kind = "substitute") -> PlannedStep[Any]:
    names = [f"x{place}" for place in range(columns)]
    declared = {name: Real(Fraction(-1), Fraction(1)) for name in ("y", *names)}
    schema = Schema(declared, Person(kind, people=people if kind == "substitute" else None))
    public = people if kind == "substitute" else None
    step = prepare(parse(f"regress(y ~ {' + '.join(names)})"), Setting(schema, public), Fraction(epsilon))
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, Squares)
    assert isinstance(step.plan.plan, PlainSquares)
    return step


def test_coefficients_that_noise_or_ridge_would_hide_are_declined_beforehand() -> None:
    """Four columns of 303 rows, as of star98: the ridge left a tenth of a usual slope, and all were told."""
    with pytest.raises(QuestionError, match=r"hide every slope of 303 rows.*Nothing was charged"):
        asked(4, 303, "1")
    assert "11 of 11 are told, where noise and the ridge" in asked(10, 10_000, "1").expected(10_000).note


def test_the_plan_says_no_reply_where_the_private_number_of_rows_is_too_small() -> None:
    """The same rule by the released number of rows: told of 10,000, and of 300 none, without a remark on its rows."""
    step, few = asked(10, 10_000, "1", "add_remove"), np.zeros((300, 11), np.int64)
    assert isinstance(step.plan, Squares)
    assert step.expected(300).replies == NEVER
    drawn = step.plan.draw(few, Replayed("few"))
    assert all(one is NO_REPLY for one in drawn.outcomes)
    assert not drawn.words
    x, y = narrow(1)
    steps = np.floor(np.column_stack([y, x]) / np.array([float(unit) for unit in step.plan.units])).astype(np.int64)
    assert all(isinstance(one, Reply) for one in step.plan.draw(steps, Replayed("many")).outcomes)


def test_a_coefficient_is_declined_by_itself_where_its_keys_are_many() -> None:
    """A category of 40 keys beside numbers: a key's rows are a fortieth, and a number's spread a sixteenth."""
    frame, price = (
        Frame((BOX,) * 6 + (CategoryKeys(40, 0),), BOX),
        Price(Fraction(1), Fraction(0), Adjacency("add_remove")),
    )
    told = PlainSquares(frame, price, 10_000).tells(10_000)
    assert told[1:7] == (True,) * 6
    assert not any(told[7:])
    assert not any(PlainSquares(frame, price, 600).tells(600))


def narrow(key: int) -> tuple[Floats, Floats]:
    """Ten columns of a narrow spread, 10,000 rows."""
    draw = np.random.default_rng(key)
    x = np.clip(0.25 * draw.normal(size=(10_000, 10)), -1, 1)
    y = x @ draw.normal(size=10)
    return x, np.clip(0.3 * y / y.std() + 0.1 * draw.normal(size=10_000), -1, 1)


def alike(key: int) -> tuple[Floats, Floats]:
    """Three columns that one size moves and a fourth that it moves less closely, whose slope is told: it is -1."""
    draw = np.random.default_rng(key)
    size, own = draw.normal(size=20_000), np.array([0.06, 0.01, 0.01, 0.01]) * draw.normal(size=(20_000, 4))
    x = np.clip(np.array([-0.6, 0.1, -0.2, -0.5]) + 0.2 * size[:, None] + own, -1, 1)
    return x, np.clip(-0.4 + 0.3 * size - own[:, 0] + 0.1 * draw.normal(size=20_000), -1, 1)


def test_columns_alike_are_predicted_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """R squared of 8 tables at epsilon 8, by replayed streams, where plain least squares has .90.

    A slope with an interval was taken beside those that a ridge had shrunk, of another line: down to .21.
    """
    from reticent.learning import LinearRegression
    from reticent.mechanisms import gate

    budget = ApproxDP(Fraction(90), Fraction(1, 1000))
    ledger = Ledger.create(None, title="alike", adjacency=Adjacency("add_remove"), budget=budget)
    asked: dict[str, Any] = {"bounds": (-1, 1), "y_bounds": (-1, 1), "adjacency": "add_remove", "people": 20_000}
    apart = 0
    for key in range(8):
        monkeypatch.setattr(gate, "coins_for", lambda source, key=key: Replayed(f"alike {key}"))
        x, y = alike(key)
        model = LinearRegression(epsilon=8, ledger=ledger, **asked).fit(x, y)
        away = model.predict(x) - y
        assert 1 - float((away**2).sum() / ((y - y.mean()) ** 2).sum()) > 0.86
        told = [one for one in model.estimates_ if np.isfinite(one.low)]
        assert all(one.low <= one.value <= one.high for one in told)
        assert [one.value for one in model.estimates_] == [model.intercept_, *model.coef_]
        apart += 0 < len(told) < 5
    assert apart > 4


@pytest.mark.wide
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_beyond_seven_columns_it_predicts_no_worse_than_the_robust_line(delta: str) -> None:
    """Ten columns of a narrow spread, 10,000 rows at epsilon 1: R squared, of which sums of products had left .24."""
    from reticent.learning import HuberRegressor, LinearRegression

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
        x, y = narrow(key)
        for name, model in (("least squares", LinearRegression(**given)), ("robust", HuberRegressor(**given))):
            away = model.fit(x, y).predict(x) - y
            found[name].append(1 - float((away**2).sum() / ((y - y.mean()) ** 2).sum()))
    assert np.mean(found["least squares"]) > 0.8
    assert np.mean(found["least squares"]) > np.mean(found["robust"]) - 0.05
