"""Least points: what a row can do to them, how near the solver gets, and what noise covers both.

Figures come from the law of Laplace noise, from rational arithmetic and from linear algebra on made-up rows; every
check has a mutant that it refutes. Draws use replayed entropy, and each test of them fails by chance with at most 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.conformance.diffs import change_of
from reticent.conformance.kit import Case, Effort, check
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.gate import Call, Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.objective import Objective, one_block, one_sided_down, turned
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.sensitivity import L1
from reticent.statistics.convex import exact_solver, losses, objective_perturbation, tabulated_loss
from reticent.statistics.convex import newton as minimum
from reticent.statistics.convex.descent import Descent
from reticent.statistics.convex.losses import CheckLoss, Hinge, HuberLoss, Logistic, Loss
from reticent.statistics.convex.newton import LossSum, Problem, newton
from reticent.statistics.convex.objective_perturbation import (
    CurvaturePerturbation,
    LeastPoint,
    ObjectivePerturbation,
    OutputPerturbation,
)
from reticent.statistics.price import Price
from reticent.statistics.scaling import UNIT, Floats, Integers, Norm, Scaling, lengths

ENDS = np.array([-1.0, 1.0])
LOSSES: tuple[Loss, ...] = (
    Logistic(2),
    Logistic(3),
    Hinge(2),
    Hinge(3, Fraction(1, 3)),
    HuberLoss(Fraction(1, 10)),
    CheckLoss(Fraction(1, 4), Fraction(1, 20)),
    tabulated_loss.of_classes(lambda z, t: -t * np.clip(1 - t * z, 0, 2), 2, Fraction(5, 2), None)[0],  # squared hinge
    tabulated_loss.of_classes(lambda z, t: -t / (1 + np.exp(t * z)), 3, Fraction(4), None)[0],
    tabulated_loss.of_numbers(lambda z, y: np.tanh(10 * (z - y)), ENDS, ENDS, None)[0],
)
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
BOX = Scaling(((Fraction(0), Fraction(1)), (Fraction(-3), Fraction(5)), (Fraction(10), Fraction(20))))
LINE = Scaling(((Fraction(-1), Fraction(1)),), intercept=False)
WIDE = Scaling(((Fraction(-1), Fraction(1)),) * 40)
LEVEL = 1e-6


def name(loss: Loss) -> str:
    return f"{type(loss).__name__} {losses.scores_of(loss)}"


def targets(loss: Loss, n: int, rng: np.random.Generator) -> Floats:
    if isinstance(loss, Logistic | Hinge) or (isinstance(loss, tabulated_loss.TabulatedLoss) and loss.classes):
        return rng.integers(0, loss.classes, n).astype(np.float64)
    return np.asarray(rng.uniform(-1.5, 1.5, n))


def problem(loss: Loss, n: int, width: int, key: int) -> Problem:
    rng = np.random.default_rng(key)
    rows = rng.integers(-UNIT, UNIT + 1, (n, width))
    y = targets(loss, n, rng)
    y[0] = np.nan
    rows[0] = 0
    return Problem(loss, rows, y)


def weighed(loss: Loss, n: int, width: int, key: int) -> Problem:
    """The same with shares of the losses, some of them 0 or whole."""
    made = problem(loss, n, width, key)
    shares = np.random.default_rng(key).integers(0, UNIT + 1, n)
    shares[1:3] = 0, UNIT
    return Problem(loss, made.rows, made.targets, shares)


def price(kind: Kind, delta: Fraction = Fraction(0), epsilon: Fraction = Fraction(1)) -> Price:
    return Price(epsilon, delta, Adjacency(kind))


# --- the density of the least point -----------------------------------------------------------------------------------


def masses(scale: float, ridge: float, ys: Sequence[float], edges: Floats) -> Floats:
    """P(least point between edges) from the law of noise: t* <= t iff b >= -h(t); Huber's loss, cut 1/10, x = 1."""
    h = ridge * edges + sum((np.clip((edges - y) * 10, -1, 1) for y in ys), np.zeros(len(edges)))
    above, below = -np.diff(scipy.stats.laplace.sf(h, scale=scale)), np.diff(scipy.stats.laplace.cdf(h, scale=scale))
    return np.asarray(np.where(h[:-1] > 0, above, below))


def steep(jacobian: Fraction, bend: Fraction) -> Objective:
    """One coefficient, rows in [-1, 1], slopes within 1: the Jacobian takes ``jacobian`` of epsilon 1, or nearly."""
    ridge = Fraction(float(bend) / math.expm1(jacobian))
    moved, near = L1(Fraction(1), Adjacency("add_remove")), Fraction(1, 2**40)
    return Objective(moved, 1, bend, ridge, near, 1, Fraction(1), Fraction(1, 1000))


def worst_ratio(scale: float, ridge: float) -> float:
    """The greatest log ratio of interval masses over tables with and without one more row."""
    edges, rng, found = np.linspace(-1, 1, 4001), np.random.default_rng(3), 0.0
    for ys in ([], [-1.0], [-1.0, -1.0], rng.uniform(-1, 1, 3).tolist()):
        for y in (0.5, -0.5, 1.0, -1.0):
            here, there = masses(scale, ridge, ys, edges), masses(scale, ridge, [*ys, y], edges)
            found = max(found, float(np.abs(np.log(here / there)).max()))
    return found


@pytest.mark.parametrize("jacobian", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_density_of_the_least_point_keeps_epsilon_and_without_the_jacobian_it_does_not(jacobian: Fraction) -> None:
    """A row pulls by 1 where it begins to bend: both factors are reached at once, so no smaller epsilon would do."""
    made = steep(jacobian, Fraction(10))
    assert 0.97 < worst_ratio(float(made.scale), float(made.ridge)) <= 1 + 1e-6
    assert worst_ratio(1.0, float(made.ridge)) > 0.97 + 0.9 * jacobian  # the mutant pays for the noise alone
    assert worst_ratio(float(made.scale), float(made.ridge) / 2) > 1 + 0.3 * jacobian  # and a ridge half as steep


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobian_is_within_its_share_and_one_row_alone_reaches_it(loss: Loss, kind: Kind) -> None:
    plan = ObjectivePerturbation(loss, BOX, price(kind), Fraction(5, 2), Fraction(1))
    made, rng = plan.mechanism, np.random.default_rng(5)
    share, worst = float(turned(made.turns, made.bend, made.ridge)), 0.0
    for size in (0, 1, 4, 20):
        for _ in range(20):
            x = rng.uniform([0, -3, 10], [1, 5, 20], (size + 2, 3))
            y = targets(loss, size + 2, rng)
            at = rng.normal(0, 0.3, (losses.scores_of(loss), 4))
            first = _volume(plan.problem(x[:-1], y[:-1]), at, made.ridge)
            other = np.delete(np.arange(size + 2), -2) if kind == "substitute" else np.arange(size)
            worst = max(worst, abs(first - _volume(plan.problem(x[other], y[other]), at, made.ridge)))
    assert 0 < worst <= share + 1e-9


def _volume(problem: Problem, at: Floats, ridge: Fraction) -> float:
    whole = LossSum(problem).curvature(at)
    return float(np.linalg.slogdet(whole + float(ridge) * np.eye(len(whole)))[1])


def test_the_share_of_the_jacobian_is_reached_by_one_row_and_a_rank_less_is_refuted() -> None:
    """A row at its bounds, on the parabola in every score, bends each by the most there is."""
    plan = ObjectivePerturbation(
        Hinge(3), Scaling(((Fraction(-1), Fraction(1)),)), price("add_remove"), Fraction(2), Fraction(1)
    )
    made = plan.mechanism
    x, y, at = np.array([[1.0]]), np.array([0.0]), np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    moved = _volume(plan.problem(x, y), at, made.ridge) - _volume(plan.problem(x[:0], y[:0]), at, made.ridge)
    assert moved == pytest.approx(float(turned(3, made.bend, made.ridge)), rel=1e-9)
    assert moved > float(turned(2, made.bend, made.ridge)) * 1.2


@pytest.mark.parametrize("classes", [3, 5, 10])
def test_equal_chances_of_classes_reach_the_jacobian_and_a_tenth_less_is_refuted(classes: int) -> None:
    line = Scaling(((Fraction(-1), Fraction(1)),))
    made = ObjectivePerturbation(Logistic(classes), line, price("add_remove"), Fraction(2), Fraction(1)).mechanism
    problem = ObjectivePerturbation(Logistic(classes), line, price("add_remove"), Fraction(2), Fraction(1)).problem
    x, y, at, rng = np.array([[1.0]]), np.array([0.0]), np.zeros((classes, 2)), np.random.default_rng(2)
    none = _volume(problem(x[:0], y[:0]), at, made.ridge)
    share = float(turned(classes - 1, made.bend, made.ridge))
    assert _volume(problem(x, y), at, made.ridge) - none == pytest.approx(share, rel=1e-9)
    assert share > float(turned(classes - 1, made.bend * Fraction(9, 10), made.ridge)) * 1.05
    apart = [_volume(problem(x, y), rng.normal(0, 2, (classes, 2)), made.ridge) - none for _ in range(50)]
    assert 0 < max(apart) < share
    assert made.bend == Fraction(2, classes)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_curvature_is_the_derivative_of_the_slopes(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    k = losses.scores_of(loss)
    y, at, step = targets(loss, 400, rng), rng.normal(0, 1, (400, k)), 1e-7
    for a in range(k):
        move = step * np.eye(k)[a]
        slope = (losses.real_slopes(loss, at + move, y) - losses.real_slopes(loss, at - move, y)) / (2 * step)
        off = np.abs(slope - losses.turnings(loss, at, y)[:, :, a]).max(axis=1)
        assert np.mean(off < 1e-5) > 0.99  # but where the step crosses the end of a parabola
    rank, most = losses.turns(loss)
    found = np.linalg.eigvalsh(losses.turnings(loss, at, y))
    assert found.max() <= float(most) * (1 + 1e-12)
    assert int((np.abs(found) > 1e-9).sum(axis=1).max()) <= rank


# --- the law of what is drawn -----------------------------------------------------------------------------------------


def test_the_floor_of_laplace_noise_is_drawn_exactly() -> None:
    """Chi-square of 20,000 draws; level 1e-6; noise a quarter wider or narrower is refused."""
    scale, stream = Fraction(3), Replayed("floor")
    drawn = np.array([one_sided_down(scale, stream) for _ in range(20_000)])

    def p(at: float) -> float:
        edges = np.arange(-15, 17)
        law = np.diff(scipy.stats.laplace.cdf(edges, scale=at))
        seen = np.array([(drawn == k).sum() for k in edges[:-1]])
        rest = len(drawn) - seen.sum(), max(1 - law.sum(), 1e-12)
        observed, expected = np.append(seen, rest[0]), np.append(law, rest[1]) * len(drawn)
        return float(scipy.stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1))

    assert p(3.0) > LEVEL
    assert p(3.0 * 1.25) < LEVEL
    assert p(3.0 / 1.25) < LEVEL
    shifted = drawn + 1  # rounding to zero or up is another law
    drawn = shifted
    assert p(3.0) < LEVEL


def of_blocks(scale: float, width: int) -> Floats:
    """P(m) of the greatest of z_j and -z_j - 1, by the number of cells that have it."""
    sizes = np.arange(120)
    chances = ((2.0 * sizes + 2) ** width - (2.0 * sizes) ** width) * np.exp(-sizes / scale)
    return np.asarray(chances / chances.sum())


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_block_of_noise_is_drawn_by_its_greatest_size(width: int) -> None:
    """Chi-square of 6,000 draws; level 1e-6; noise a quarter wider or narrower, or of a coordinate more, is refused."""
    scale, stream = Fraction(5, 2), Replayed(f"blocks of {width}")
    drawn = np.array([one_block(scale, width, stream) for _ in range(6_000)])
    greatest = np.maximum(drawn, -drawn - 1).max(axis=1)

    def p(law: Floats) -> float:
        common = law * len(drawn) >= 10
        seen = np.bincount(greatest, minlength=len(law))
        observed, expected = np.append(seen[common], seen[~common].sum()), law[common] * len(drawn)
        expected = np.append(expected, max(len(drawn) - expected.sum(), 1e-9))
        return float(scipy.stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1))

    assert p(of_blocks(2.5, width)) > LEVEL
    assert p(of_blocks(2.5 * 1.25, width)) < LEVEL
    assert p(of_blocks(2.5 / 1.25, width)) < LEVEL
    assert p(of_blocks(2.5, width + 1)) < LEVEL
    for size in (0, 3):  # cells of one size are alike: as many of each sign, and no coordinate is the greatest oftener
        signs, at = np.unique(drawn[greatest == size] >= 0, axis=0, return_counts=True)
        assert len(signs) == 2**width
        assert scipy.stats.chisquare(at).pvalue > LEVEL


def test_a_density_on_cells_loses_a_cell_beyond_the_greatest_size_and_no_more() -> None:
    """Of two slopes m differs by less than the greatest size of their difference, in cells, and one."""
    rng, most = np.random.default_rng(4), -1.0
    for spread in (0.3, 1.0, 5.0):
        here = rng.normal(0, spread, (20_000, 3))
        there = here + rng.uniform(-1, 1, here.shape) * rng.choice([0.01, 0.5, 2.0], (len(here), 1))
        sizes = [np.maximum(np.floor(b), -np.floor(b) - 1).max(axis=1) for b in (here, there)]
        most = max(most, float((np.abs(sizes[0] - sizes[1]) - np.abs(here - there).max(axis=1)).max()))
    assert 0.9 < most < 1


def test_blocks_are_taken_where_they_are_less_noise_and_pay_for_their_cells() -> None:
    def plan(clip: int, scaling: Scaling = BOX) -> ObjectivePerturbation:
        return ObjectivePerturbation(Logistic(3), scaling, price("substitute"), Fraction(clip), Fraction(1), 100)

    long, short = plan(3).mechanism, plan(2).mechanism
    assert (long.block, long.sensitivity.bound, long.size) == (4, Fraction(2 * 2), 12)
    assert (short.block, short.sensitivity.bound) == (1, Fraction(2 * 2 * 2))
    assert long.cells == 3 * Fraction(2) ** (long.half + 1) > 0 == short.cells
    assert long.deviation == pytest.approx(math.sqrt(10) * float(long.scale))
    assert long.deviation < replace(long, block=1, sensitivity=L1(Fraction(4 * 3), Adjacency("substitute"))).deviation
    assert short.deviation == pytest.approx(math.sqrt(2) * float(short.scale))
    assert plan(6, WIDE).mechanism.block == 1  # a short row of many columns, as of categories
    assert CurvaturePerturbation(Logistic(2), BOX, price("substitute"), Fraction(3), Fraction(1)).mechanism.block == 1
    leaf = long.guarantee.parts[0]
    assert leaf.by.name == "objective_by_blocks"
    assert axiom_again(leaf) == leaf
    with pytest.raises(PublicParameterError, match="block"):
        replace(long, block=5)


@pytest.mark.wide
def test_the_kit_accepts_blocks_and_refutes_a_third_of_their_noise() -> None:
    """2,000 draws a side, level 1e-6 in every line of chance. Both coordinates move by one: the greatest size is 1."""

    def made(epsilon: Fraction) -> Objective:
        moved, one = L1(Fraction(1), Adjacency("add_remove")), Fraction(1)
        return Objective(moved, 0, one, one, Fraction(1, 2**20), 2, epsilon, Fraction(1, 1000), 2)

    case = Case("objective, a plane", made(Fraction(1)), Straight(0), Straight(1), None, made)
    found = check([case], effort=Effort(draws=2000, factors=(Fraction(3),)))
    assert found.passed, str(found)
    verdicts = {line.check: line.verdict for line in found.lines}
    for name in ("loss derived again", "JSON and back", "audited below its claim", "audit refutes too little noise"):
        assert verdicts[name] == "pass"


@pytest.mark.wide
def test_the_least_point_is_drawn_by_its_law() -> None:
    """Kolmogorov-Smirnov, 1,000 draws, level 1e-6: sees noise halved and doubled. Five rows, one coefficient."""
    made = steep(Fraction(1, 2), Fraction(1, 4))
    xs, ys = [1.0, -0.5, 0.25, 1.0, -1.0], [1, 0, 0, 1, 1]
    exact = Problem(Logistic(2), (np.array(xs)[:, None] * UNIT).astype(np.int64), np.array(ys, np.float64))
    stream = Replayed("least points")
    drawn = np.array([made.sample(exact, stream)[0] for _ in range(1000)]) * 2.0**made.finest

    def p(scale: float) -> float:
        def below(t: Floats) -> Floats:
            h = float(made.ridge) * t + sum(x * (1 / (1 + np.exp(-x * t)) - y) for x, y in zip(xs, ys, strict=True))
            return np.asarray(scipy.stats.laplace.cdf(h, scale=scale))

        return float(scipy.stats.kstest(drawn, below).pvalue)

    assert p(float(made.scale)) > LEVEL
    assert p(2 * float(made.scale)) < LEVEL
    assert p(float(made.scale) / 2) < LEVEL


@dataclass(frozen=True)
class Straight:
    """A linear function of one number; its least point is rational."""

    slope: int

    def least(
        self, tilt: Sequence[int], exponent: int, ridge: Fraction, tolerance: Fraction, grid: int
    ) -> tuple[int, ...]:
        """As the mechanism asks, with no gap."""
        step = Fraction(2) ** grid
        return tuple(round(-(self.slope + t * Fraction(2) ** exponent) / ridge / step) for t in tilt)


@pytest.mark.wide
def test_the_kit_accepts_the_mechanism_and_refutes_a_third_of_its_noise() -> None:
    """2,000 draws a side, level 1e-6 in every line of chance."""

    def made(epsilon: Fraction) -> Objective:
        moved, one = L1(Fraction(1), Adjacency("add_remove")), Fraction(1)
        return Objective(moved, 0, one, one, Fraction(1, 2**20), 1, epsilon, Fraction(1, 1000))

    case = Case("objective, a line", made(Fraction(1)), Straight(0), Straight(1), None, made)
    found = check([case], effort=Effort(draws=2000, factors=(Fraction(3),)))
    assert found.passed, str(found)
    verdicts = {line.check: line.verdict for line in found.lines}
    for name in ("loss derived again", "JSON and back", "audited below its claim", "audit refutes too little noise"):
        assert verdicts[name] == "pass"


def test_scale_ridge_and_shares_are_the_theorems() -> None:
    """Clip 1, replaced rows, epsilon 1: 2 / s + ln(1 + 1 / (4 R)) = 999 / 1000, and 1 / 1000 for the solver."""
    plan = ObjectivePerturbation(Logistic(2), LINE, price("substitute"), Fraction(1), Fraction(1, 100))
    ridge = 1 / (4 * math.expm1(0.05))
    assert float(plan.ridge) == pytest.approx(ridge, rel=1e-9)
    assert float(plan.mechanism.scale) == pytest.approx(2 / (0.999 - math.log1p(1 / (4 * ridge))), rel=1e-9)
    assert plan.guarantee.loss == PureDP(Fraction(1))
    person = Price(Fraction(1), Fraction(0), Adjacency("substitute", 3))
    rows = ObjectivePerturbation(Logistic(3), LINE, person, Fraction(1), Fraction(1)).mechanism
    assert (rows.sensitivity.bound, rows.turns, rows.bend) == (Fraction(2 * 3 * 2), 3 * 2, Fraction(1, 3))
    several = ObjectivePerturbation(Logistic(5), LINE, price("substitute"), Fraction(1), Fraction(1, 100))
    odds = Fraction(126, 100) / 19  # of two classes, times the root of 8 / 5
    assert several.share == 2 * odds / (1 + 2 * odds)  # and twice that for few coefficients
    assert replace(several, scaling=WIDE).share == odds / (1 + odds)
    assert float(several.ridge) == pytest.approx(0.2 / math.expm1(float(several.share) / 4), rel=1e-9)
    flat = ObjectivePerturbation(Logistic(2), LINE, price("substitute"), Fraction(1), Fraction(7))
    assert flat.ridge == 7
    assert "where" not in flat.note
    assert "that 1/20 of epsilon pays" in plan.note
    many = ObjectivePerturbation(Logistic(2), LINE, price("substitute"), Fraction(1), Fraction(1, 100), 2000)
    assert float(many.ridge) == pytest.approx(1 / (4 * math.expm1(0.1)), rel=1e-9)
    assert replace(many, people=1999).ridge == plan.ridge
    assert float(replace(many, people=20_000).ridge) == pytest.approx(1 / (4 * math.expm1(0.2)), rel=1e-9)
    moved = ObjectivePerturbation(
        CheckLoss(Fraction(1, 4), Fraction(1, 20)), LINE, price("add_remove"), Fraction(1), Fraction(1)
    )
    assert moved.mechanism.sensitivity.bound == Fraction(3, 4)


def test_the_stored_leaf_proves_its_loss_again_and_a_smaller_scale_does_not() -> None:
    first, last = ObjectivePerturbation(Logistic(3), BOX, price("substitute"), Fraction(2), Fraction(1)).guarantee.parts
    assert axiom_again(first) == first
    assert axiom_again(last) == last
    stored = {**dict(first.parameters), "ridge": "1/1000"}
    from reticent.mechanisms import objective

    assert objective.again(stored, first.adjacency).loss.epsilon > first.loss.epsilon  # type: ignore[union-attr]


# --- the solver and its certificate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_error_of_a_gradient_is_within_its_bound(loss: Loss) -> None:
    rng = np.random.default_rng(7)
    for key, spread in enumerate((1.0, 30.0, 1e5)):
        made = (weighed if key == 1 else problem)(loss, 150, 3, key)
        at = rng.normal(0, spread, made.shape)
        found, bound = made.gradient(at)
        assert bound < 1e-10 * max(spread, 10)
        off = np.array(
            [float(Fraction(v) - w) for v, w in zip(found.ravel().tolist(), _gradient(made, at), strict=True)]
        )
        assert float(np.linalg.norm(off)) <= bound


def _gradient(made: Problem, at: Floats) -> list[Fraction]:
    """In rationals, slopes within 2^-90."""
    k, d = at.shape
    total = [Fraction(0)] * (k * d)
    point = [[Fraction(v) for v in line] for line in at.tolist()]
    shares = [UNIT] * len(made.rows) if made.shares is None else made.shares.tolist()
    for row, y, share in zip(made.rows.tolist(), made.targets.tolist(), shares, strict=True):
        if y == y:
            scores = [sum((x * t for x, t in zip(row, line, strict=True)), Fraction(0)) / UNIT for line in point]
            for a, slope in enumerate(exact_solver.slopes(made.loss, scores, Fraction(y), 90)):
                for j, x in enumerate(row):
                    total[a * d + j] += slope * share * x / UNIT**2
    return total


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_slow_and_fast_meet_within_the_public_distance(loss: Loss) -> None:
    made, ridge, tolerance = weighed(loss, 10, 2, 1), Fraction(3), Fraction(1, 2**33)
    tilt = [int(v) for v in np.random.default_rng(2).integers(-3000, 3000, 2 * made.shape[0])]
    fast = newton(LossSum(made), tilt, -10, 3.0, float(tolerance))
    assert fast is not None
    exact = exact_solver.slowly(made.loss, made.rows, made.targets, tilt, -10, ridge, tolerance, made.shares)
    away = math.sqrt(sum(float(Fraction(a) - b) ** 2 for a, b in zip(fast.ravel().tolist(), exact, strict=True)))
    assert away <= 2 * float(tolerance / ridge)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_newton_gets_there_on_tables_that_are_hard(loss: Loss) -> None:
    """Separable rows, equal columns, no rows, one row a thousand times; a flat ridge and a steep slope."""
    rng = np.random.default_rng(11)
    line = np.where(rng.random(2000) < 0.5, UNIT, -UNIT)
    y = np.where(line > 0, 1.0, 0.0)
    for rows in (line[:, None] * np.ones((1, 3), np.int64), np.zeros((0, 3), np.int64), np.full((1000, 3), UNIT)):
        made = Problem(loss, rows, y[: len(rows)])
        k, curve = made.shape[0], float(losses.turns(loss)[1])
        near = 2000 * k * 3 * max(1.0, 4 * curve) * 2.0**-42  # as in Minimum.tolerance
        for tilt in ((0,) * 3 * k, tuple(10 * (-1) ** place for place in range(3 * k))):
            assert newton(LossSum(made), tilt, 0, 0.01, near) is not None


def test_where_doubles_fail_the_slow_way_gives_the_same_point(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ridge, tolerance = problem(Logistic(2), 10, 2, 4), Fraction(2), Fraction(1, 2**36)
    first = made.least((5, -7), 0, ridge, tolerance, -30)
    monkeypatch.setattr(minimum, "newton", lambda *_: None)
    again = made.least((5, -7), 0, ridge, tolerance, -30)
    assert max(abs(a - b) for a, b in zip(first, again, strict=True)) <= 1


@pytest.mark.parametrize("exponent", [0, 60, 3000])
def test_no_slope_is_too_great(exponent: int) -> None:
    """A slope of 2^3000 is beyond doubles, and one of 2^60 beyond what they can certify; both have an answer."""
    made = problem(Logistic(2), 6, 2, 5)
    (found, _) = made.least((3, -1), exponent, Fraction(2), Fraction(1, 2**30), -20)
    slope = 3 * 2**exponent
    assert abs(found + Fraction(slope, 2) * 2**20) <= 6 * 2**20  # the rows pull by at most 1 each


# --- output perturbation ----------------------------------------------------------------------------------------------


def stepped(plan: OutputPerturbation, x: Floats, y: Floats) -> NDArray[np.object_]:
    found = plan.problem(x, y).least((0,) * plan.size, 0, plan.ridge, plan.tolerance, plan.grid)
    return np.array(found, dtype=object)


def excess(plan: OutputPerturbation, one: NDArray[np.object_], other: NDArray[np.object_]) -> Fraction:
    """Observed to declared change, squared for L2."""
    moved = one - other
    match plan.noise:
        case Geometric(sensitivity=declared):
            return Fraction(int(np.abs(moved).sum())) / declared.bound
        case Gaussian(sensitivity=declared_squared):
            return Fraction(int((moved**2).sum())) / declared_squared.squared


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)], ids=["pure", "approximate"])
def test_no_neighbour_moves_the_released_point_by_more_than_declared(loss: Loss, kind: Kind, delta: Fraction) -> None:
    plan = OutputPerturbation(loss, BOX, price(kind, delta), Fraction(2), Fraction(3), people=10)
    rng = np.random.default_rng(13)
    worst = Fraction(0)
    for n in (1, 2, 6, 6):
        plain = rng.uniform([0, -3, 10], [1, 5, 20], (n, 3))
        strange = rng.choice([-1e9, 0.0, 1.0, 5.0, 20.0, 1e300, np.nan], (n, 3))
        x, y = np.where(rng.random((n, 3)) < 0.2, strange, plain), targets(loss, n, rng) * 3
        x[-1], y[-1] = (1.0, 5.0, 20.0), 1.0
        other = np.vstack([x[:-1], [[0.0, -3.0, 10.0]]]), np.append(y[:-1], 0.0)
        near = (x[:-1], y[:-1]) if kind == "add_remove" else other
        worst = max(worst, excess(plan, stepped(plan, x, y), stepped(plan, *near)))
    assert 0 < worst <= 1


def test_one_row_alone_moves_it_by_nearly_all_that_is_declared() -> None:
    plan = OutputPerturbation(
        HuberLoss(Fraction(1, 10)), LINE, price("add_remove"), Fraction(1), Fraction(100), people=1
    )
    x, y = np.array([[1.0]]), np.array([1.0])
    assert excess(plan, stepped(plan, x, y), stepped(plan, x[:0], y[:0])) > Fraction(99, 100)


def test_a_solver_that_stops_early_is_refuted_where_its_gap_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours on two sides of a loose tolerance: one takes a step of Newton's more than the other."""
    plan = OutputPerturbation(Logistic(2), LINE, price("add_remove"), Fraction(1), Fraction(4), people=400)
    x, y = np.ones((400, 1)), np.ones(400)
    honest, norms = newton, []
    for rows in (x, x[:-1]):
        exact = LossSum(plan.problem(rows, y[: len(rows)]))
        at = np.zeros((1, 1))
        for _ in range(2):
            sums, _ = exact.gradient(at)
            total = sums + 4 * at
            step = np.asarray(-np.linalg.solve(exact.curvature(at) + 4 * np.eye(1), total.ravel()).reshape(1, 1))
            at = at + minimum.pace(exact, at, step, np.zeros((1, 1)), 4.0) * step
        norms.append(float(np.linalg.norm(exact.gradient(at)[0] + 4 * at)))
    loose = sum(norms) / 2
    assert max(norms) / min(norms) > 1.0001
    monkeypatch.setattr(minimum, "newton", lambda s, t, e, r, _: honest(s, t, e, r, loose))
    early = excess(plan, stepped(plan, x, y), stepped(plan, x[:-1], y[:-1]))
    assert early > 1
    gap = 2 * Fraction(loose) / plan.ridge / Fraction(2) ** plan.grid
    moved = stepped(plan, x, y) - stepped(plan, x[:-1], y[:-1])
    assert abs(int(moved[0])) <= plan.moved / Fraction(2) ** plan.grid + gap + 2  # with the gap it is covered
    monkeypatch.setattr(minimum, "newton", honest)
    assert excess(plan, stepped(plan, x, y), stepped(plan, x[:-1], y[:-1])) <= 1


# --- objective perturbation, neighbour by neighbour -------------------------------------------------------------------


def given(plan: ObjectivePerturbation, exact: Problem, point: Floats) -> tuple[int, ...]:
    """What the solver makes of the slope that has its least point at ``point``, rounded as the mechanism rounds it."""
    made = plan.mechanism
    slope = -(exact.gradient(point)[0] + float(plan.ridge) * point).ravel()
    cells = [math.floor(Fraction(v) / Fraction(2) ** (made.half + 1)) for v in slope.tolist()]
    return exact.least([2 * k + 1 for k in cells], made.half, plan.ridge, made.tolerance, made.finest)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_given_the_least_point_answers_differ_by_what_the_last_noise_covers(loss: Loss, kind: Kind) -> None:
    plan = ObjectivePerturbation(loss, BOX, price(kind), Fraction(3), Fraction(1))
    rng = np.random.default_rng(17)
    for n in (1, 3, 40):
        x, y = rng.uniform([0, -3, 10], [1, 5, 20], (n + 1, 3)), targets(loss, n + 1, rng)
        point = rng.normal(0, 0.5, (losses.scores_of(loss), 4))
        near = (x[:-1], y[:-1]) if kind == "add_remove" else (x[1:], y[1:])
        first = (x, y) if kind == "add_remove" else (x[:-1], y[:-1])
        one = given(plan, plan.problem(*first), point)
        other = given(plan, plan.problem(*near), point)
        covered = plan.mechanism.last.sensitivity.bound
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= covered


def test_given_the_least_point_a_solver_that_stops_early_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ObjectivePerturbation(Logistic(2), BOX, price("add_remove"), Fraction(3), Fraction(1))
    x, y = np.random.default_rng(0).uniform([0, -3, 10], [1, 5, 20], (50, 3)), np.array([0.0, 1.0] * 25)
    honest = newton
    monkeypatch.setattr(minimum, "newton", lambda s, t, e, r, tolerance: honest(s, t, e, r, 2.0**22 * tolerance))
    point = np.array([[0.3, -0.2, 0.1, 0.4]])
    one, other = (given(plan, plan.problem(x[:n], y[:n]), point) for n in (50, 49))
    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) > plan.mechanism.last.sensitivity.bound


def replayed(plan: LeastPoint, x: Floats, y: Floats, answer: object = None, shares: Integers | None = None) -> Call:
    recorder = Recorder(lambda m, exact, start: answer or (0,) * plan.size, Replayed("coins"))
    plan.draw(x, y, recorder, shares)  # type: ignore[attr-defined]  # both kinds of plans have it
    (call,) = recorder.calls
    assert not recorder.tossed  # nothing is drawn beside the gate
    return call


def most_moved(plan: ObjectivePerturbation, kind: Kind) -> float:
    """The greatest observed to declared change of the gradient over random neighbours and points."""
    rng = np.random.default_rng(19)
    worst = 0.0
    for _ in range(8):
        strange = rng.choice([-1e9, 0.0, 1.0, 5.0, 20.0, 1e300, np.nan], (12, 3))
        plain = rng.uniform([0, -3, 10], [1, 5, 20], (12, 3))
        x, y = np.where(rng.random((12, 3)) < 0.2, strange, plain), targets(plan.loss, 12, rng) * rng.choice([1, 3], 12)
        x[-1] = (1.0, 5.0, 20.0)
        near = (x[:-1], y[:-1])
        if kind == "substitute":
            near = np.vstack([x[:-1], [[0.0, -3.0, 10.0]]]), np.append(y[:-1], 0.0)
        one, other = replayed(plan, x, y), replayed(plan, *near)
        assert one.mechanism == other.mechanism == plan.mechanism
        assert isinstance(one.exact, Problem)
        assert isinstance(other.exact, Problem)
        moved = one.exact.apart(other.exact, plan.mechanism.block)
        worst = max(worst, float(moved / plan.mechanism.sensitivity.bound))
    return worst


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_no_neighbour_moves_the_gradient_by_more_than_declared(loss: Loss, kind: Kind) -> None:
    plan = ObjectivePerturbation(loss, BOX, price(kind), Fraction(3), Fraction(1), people=12)
    assert 0.2 < most_moved(plan, kind) <= 1


def test_replay_compares_gradients_and_refutes_half_a_sensitivity() -> None:
    plan = ObjectivePerturbation(HuberLoss(Fraction(1, 10)), LINE, price("add_remove"), Fraction(1), Fraction(1))
    x, y = np.array([[0.2], [1.0]]), np.array([0.1, 1.0])
    one, other = replayed(plan, x, y), replayed(plan, x[:1], y[:1])
    moved = change_of(one, other).in_norm("L1")
    assert moved is not None
    bound = plan.mechanism.sensitivity.bound
    assert bound / 2 < Fraction(99, 100) * bound < moved <= bound


def test_a_share_above_the_whole_is_cut_and_uncut_it_is_noticed() -> None:
    plan = ObjectivePerturbation(HuberLoss(Fraction(1, 10)), LINE, price("add_remove"), Fraction(1), Fraction(1))
    x, y = np.array([[0.2], [1.0]]), np.array([0.1, 1.0])
    many = np.array([UNIT, 3 * UNIT])
    one, other = replayed(plan, x, y, shares=many), replayed(plan, x[:1], y[:1], shares=many[:1])
    moved = change_of(one, other).in_norm("L1")
    assert moved is not None
    bound = plan.mechanism.sensitivity.bound
    assert Fraction(99, 100) * bound < moved <= bound
    assert isinstance(one.exact, Problem)
    assert isinstance(other.exact, Problem)
    raw = Problem(one.exact.loss, one.exact.rows, one.exact.targets, many)
    assert raw.apart(other.exact, 1) > 2 * bound


def test_rows_that_are_not_shortened_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def raw(rows: Integers, most: Fraction, norm: Norm) -> Integers:
        assert lengths(rows, norm).shape == (len(rows),)
        return rows

    monkeypatch.setattr(objective_perturbation, "shortened", raw)
    plan = ObjectivePerturbation(Logistic(2), BOX, price("add_remove"), Fraction(1), Fraction(1))
    assert most_moved(plan, "add_remove") > 1


def test_a_missing_target_or_value_makes_a_row_of_zeros() -> None:
    plan = ObjectivePerturbation(Logistic(2), BOX, price("add_remove"), Fraction(3), Fraction(1))
    made = plan.problem(np.array([[0.5, 1.0, 12.0], [np.nan, 1.0, 12.0]]), np.array([np.nan, 1.0]))
    assert not made.rows.any()
    numbers = ObjectivePerturbation(HuberLoss(), BOX, price("add_remove"), Fraction(3), Fraction(1))
    assert numbers.problem(np.ones((2, 3)), np.array([1e300, -7.0])).targets.tolist() == [1.0, -1.0]


# --- what is refused, and the rule ------------------------------------------------------------------------------------


def test_a_delta_is_for_output_perturbation_and_is_used() -> None:
    with pytest.raises(PublicParameterError, match="pure"):
        ObjectivePerturbation(Logistic(2), BOX, price("substitute", Fraction(1, 10**6)), Fraction(2), Fraction(1))
    made = OutputPerturbation(Logistic(2), BOX, price("substitute", Fraction(1, 10**6)), Fraction(2), Fraction(1))
    assert isinstance(made.guarantee.loss, ApproxDP)
    assert isinstance(made.noise, Gaussian)


def test_what_no_solution_serves_is_refused() -> None:
    wide = Scaling(((Fraction(0), Fraction(1)),) * 2001)
    with pytest.raises(PublicParameterError, match="2,000"):
        ObjectivePerturbation(Logistic(2), wide, price("substitute"), Fraction(2), Fraction(1))
    with pytest.raises(PublicParameterError, match="penalty"):
        OutputPerturbation(Logistic(2), BOX, price("substitute"), Fraction(2), Fraction(1, 10**6))
    with pytest.raises(PublicParameterError, match="penalty"):
        ObjectivePerturbation(Logistic(2), BOX, price("substitute"), Fraction(2), Fraction(0))
    with pytest.raises(PublicParameterError, match="clip"):
        ObjectivePerturbation(Logistic(2), BOX, price("substitute"), Fraction(1, 5000), Fraction(1))
    one = Fraction(1)
    with pytest.raises(PublicParameterError, match="Jacobian"):
        Objective(L1(one, Adjacency("add_remove")), 1, one, one, one, 1, one, Fraction(1, 2))
    with pytest.raises(PublicParameterError, match="spare"):
        Objective(L1(one, Adjacency("add_remove")), 1, one, one, one, 1, Fraction(9), one)


Made = Callable[..., object]


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ({}, ObjectivePerturbation),
        ({"solver": "objective"}, ObjectivePerturbation),
        ({"solver": "output"}, OutputPerturbation),
        ({"solver": "descent"}, Descent),
        ({"steps": 5}, Descent),
        ({"refined": True}, CurvaturePerturbation),
        ({"refined": True, "solver": "objective"}, CurvaturePerturbation),
        ({"refined": True, "delta": Fraction(1, 10**6)}, Descent),
        ({"refined": True, "steps": 5}, Descent),
        ({"delta": Fraction(1, 10**6)}, Descent),
        ({"penalty": Fraction(0)}, Descent),
        ({"scaling": Scaling(((Fraction(0), Fraction(1)),) * 2001)}, Descent),
    ],
)
def test_auto_is_a_public_rule(asked: dict[str, object], got: type) -> None:
    values: dict[str, object] = {
        "solver": "auto",
        "scaling": BOX,
        "delta": Fraction(0),
        "penalty": Fraction(1),
        **asked,
    }
    scaling, delta, penalty = values["scaling"], values["delta"], values["penalty"]
    assert isinstance(scaling, Scaling)
    assert isinstance(delta, Fraction)
    assert isinstance(penalty, Fraction)
    steps = 5 if "steps" in asked else None
    plan = objective_perturbation.planned(
        str(values["solver"]), Logistic(2), scaling, price("add_remove", delta), Fraction(2), penalty, None,
        steps=steps, refined="refined" in asked,
    )  # fmt: skip
    assert type(plan) is got


def test_a_ridge_that_would_hide_a_regression_is_left_to_the_descent() -> None:
    def made(loss: Loss, people: int | None) -> type:
        return type(
            objective_perturbation.planned("auto", loss, BOX, price("substitute"), Fraction(2), Fraction(1), people)
        )

    narrow = HuberLoss(Fraction(1, 100))  # ridge: 100 x 2 / (e^{1/20} - 1), about 3,900; strength: rows / 2
    assert [made(narrow, n) for n in (199, 200, 3800, 4000)] == [
        ObjectivePerturbation,
        Descent,
        Descent,
        ObjectivePerturbation,
    ]
    assert made(narrow, None) is ObjectivePerturbation  # as of 10,000 rows
    assert made(HuberLoss(Fraction(1, 1000)), None) is Descent
    assert made(Hinge(2, Fraction(1, 1000)), 3800) is ObjectivePerturbation


@pytest.mark.parametrize("solver", ["objective", "output"])
def test_steps_are_of_the_descent_and_output_perturbation_has_no_intervals(solver: str) -> None:
    given = (Logistic(2), BOX, price("add_remove"), Fraction(2), Fraction(1), None)
    with pytest.raises(PublicParameterError, match="descent"):
        objective_perturbation.planned(solver, *given, steps=3)
    if solver == "output":
        with pytest.raises(PublicParameterError, match="intervals"):
            objective_perturbation.planned(solver, *given, refined=True)
    with pytest.raises(PublicParameterError, match="solver"):
        objective_perturbation.planned("lbfgs", *given)
    with pytest.raises(PublicParameterError, match="intervals"):
        objective_perturbation.planned("auto", Hinge(2, Fraction(1)), *given[1:], refined=True)


@pytest.mark.parametrize("size", [1, 2])
def test_the_last_noise_covers_the_worst_solver_cell_and_grid(size: int) -> None:
    """One coordinate: solver and cell off by all they may, in opposite directions, then rounded to the grid.

    Whole numbers of two points that are x steps apart differ by up to floor(x) + 1.
    """
    for ridge in (Fraction(1, 3), Fraction(1), Fraction(50)):
        for tolerance in (Fraction(1, 1000), Fraction(1, 4), Fraction(7, 8)):
            made = Objective(
                L1(Fraction(2), Adjacency("substitute")),
                1,
                Fraction(1),
                ridge,
                tolerance,
                size,
                Fraction(10),
                Fraction(1, 10),
            )
            off = (tolerance + Fraction(2) ** made.half) / ridge
            assert made.last.sensitivity.bound >= (2 * off / Fraction(2) ** made.finest).__floor__() + 1
            without = replace(made, tolerance=tolerance / 2)  # whose cells and solver are half as coarse
            assert without.half < made.half


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_on_a_least_point_covers_the_solver_twice(kind: Kind) -> None:
    """Exact points as far apart as they may be, a solver off by all it may on either side, then rounded."""
    scaling = Scaling(((Fraction(-1), Fraction(1)),), intercept=False)
    for penalty in (Fraction(1, 7), Fraction(1), Fraction(30)):
        plan = OutputPerturbation(Logistic(2), scaling, price(kind), Fraction(1), penalty, people=1000)
        coarse = replace(plan)
        for tolerance in (Fraction(1, 1 << 30), Fraction(1, 1000), Fraction(1, 3)):
            coarse.__dict__["tolerance"] = tolerance
            for name in ("noise", "away"):
                coarse.__dict__.pop(name, None)
            steps = (plan.moved + 2 * tolerance / plan.ridge) / Fraction(2) ** plan.grid
            assert isinstance(coarse.noise, Geometric)
            assert coarse.noise.sensitivity.bound >= steps.__floor__() + 1
