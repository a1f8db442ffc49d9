"""R_S and R_H: blocks, costs, and the exact law of the last step over pairs of tiny tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data.order_statistics import LARGEST
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.registry import axiom_again
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP
from reticent.privacy.rederivation import rederive
from reticent.statistics.regression.blocks import Blocks, permutation, solve, uniforms
from reticent.statistics.regression.candidates import CoefficientCells
from reticent.statistics.regression.r_s import ShortCut
from reticent.statistics.regression.robust import RobustRegression, SolutionStep, distance, robust_regression
from reticent.statistics.regression.rows import REACH, RegressionRows, rows
from reticent.statistics.robust import ptr_test
from reticent.statistics.robust.median import scaled_median
from reticent.statistics.robust.ptr_test import exact_test
from reticent.statistics.robust.scale_ptr import ScalePtr, scale
from tests.support import regression_reference as brute
from tests.support.regression_reference import Row, Table

REPLACE, ADD = Adjacency("substitute"), Adjacency("add_remove")
MILLIONTH = Fraction(1, 10**6)
ONE_EPS = Fraction(1)


def made(table: Table, columns: int, places: int = 0) -> RegressionRows:
    array = np.array(table, np.int64).reshape(len(table), columns + 1)
    return rows(array[:, 0].copy(), array[:, 1:].copy(), places=places)


def line(n: int, columns: int, places: int, key: int = 1) -> RegressionRows:
    """y = 1 + 2 z + noise, on a grid of 1/64."""
    words = (Replayed(key).words(n * (columns + 11)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    parts = words.reshape(n, columns + 11)
    z = 2 * parts[:, : columns - 1] - 1
    y = 1 + 2 * z.sum(axis=1) + (parts[:, columns:].sum(axis=1) - 5.5) / 2
    x = np.column_stack([np.full(n, 64), np.rint(64 * z)]).astype(np.int64)
    return rows(np.rint(64 * y).astype(np.int64), x, places=places)


def tight(columns: int, epsilon: Fraction, neighbours: Adjacency = REPLACE, n: int = 100_000) -> RobustRegression:
    blocks = Blocks(n // (2 * columns), (0,) * columns, neighbours)
    inner = scale(blocks.count, neighbours, test=epsilon, release=epsilon, delta=MILLIONTH)
    return robust_regression(n, blocks, inner, test=epsilon, release=epsilon, delta=MILLIONTH)


def epsilon_of(tree: Guarantee) -> Fraction:
    assert isinstance(tree.loss, ApproxDP)
    return tree.loss.epsilon


@pytest.mark.wide
@given(
    st.integers(1, 6), st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2)]), st.sampled_from([REPLACE, ADD])
)
def test_robust_regression_costs_three_p_plus_one(columns: int, epsilon: Fraction, neighbours: Adjacency) -> None:
    """7 at p = 2, where 003 prints 11 for noise that does not pay for it."""
    whole = tight(columns, epsilon, neighbours)
    assert epsilon_of(whole.guarantee) == (3 * columns + 1) * epsilon
    assert rederive(whole.guarantee, axiom_again) == whole.guarantee.loss
    assert isinstance(whole.guarantee.loss, ApproxDP)
    assert whole.guarantee.loss.delta == columns * inner_delta(whole) + whole.last.test.delta
    assert whole.guarantee.adjacency == neighbours


def inner_delta(whole: RobustRegression) -> Fraction:
    assert isinstance(whole.scale, ScalePtr)
    return whole.scale.test.delta


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_printed_noise_is_refused(columns: int) -> None:
    """Lap(1/eps) on a distance that moves by two, and p coordinates charged as one (003 Theorem 17)."""
    printed = exact_test(ONE_EPS, MILLIONTH, REPLACE, unsafe=2, sensitivity=1)
    with pytest.raises(PublicParameterError, match="added or deleted"):
        SolutionStep(printed, ONE_EPS, columns)
    true = exact_test(2 * ONE_EPS, MILLIONTH, REPLACE, unsafe=2, sensitivity=2)  # noise of scale 1/eps, honestly priced
    with pytest.raises(PublicParameterError, match="test costs"):
        ptr.as_declared(SolutionStep(true, ONE_EPS, columns).step, ONE_EPS)
    repaired = SolutionStep(exact_test(ONE_EPS, MILLIONTH, REPLACE, unsafe=2, sensitivity=2), ONE_EPS, columns)
    if columns > 1:
        with pytest.raises(PublicParameterError, match="a reply costs"):
            ptr.as_declared(repaired.step, ONE_EPS)
    else:
        assert ptr.as_declared(repaired.step, ONE_EPS).release == ONE_EPS


def test_an_unsafe_distance_counts_both_rows_of_a_substitution() -> None:
    with pytest.raises(PublicParameterError, match="unsafe up to 2"):
        SolutionStep(exact_test(ONE_EPS, MILLIONTH, REPLACE, unsafe=1, sensitivity=2), ONE_EPS, 2)
    SolutionStep(exact_test(ONE_EPS, MILLIONTH, ADD, unsafe=1, sensitivity=1), ONE_EPS, 2)


def test_the_short_cut_adds_its_medians_over_coordinates() -> None:
    for columns in (1, 2, 4):
        blocks = Blocks(5000, (0,) * columns, REPLACE)
        inner = scaled_median(5000, REPLACE, scale_test=ONE_EPS, test=ONE_EPS, release=ONE_EPS, delta=MILLIONTH)
        whole = ShortCut(blocks, inner).guarantee
        assert epsilon_of(whole) == columns * epsilon_of(inner.guarantee)
        assert rederive(whole, axiom_again) == whole.loss
        if columns > 1:
            assert whole.by == ptr.GENERAL_PARALLEL  # 003 Corollary 35: the steps read a random partition


def test_neighbours_of_another_kind_are_refused() -> None:
    inner = scaled_median(5000, ADD, scale_test=ONE_EPS, test=ONE_EPS, release=ONE_EPS, delta=MILLIONTH)
    with pytest.raises(PublicParameterError, match="different neighbours"):
        ShortCut(Blocks(5000, (0, 0), REPLACE), inner)


def test_a_table_too_small_to_reply_is_refused_before_it_is_read() -> None:
    blocks = Blocks(1000, (0, 0), REPLACE)
    inner = scale(1000, REPLACE, test=ONE_EPS, release=ONE_EPS, delta=MILLIONTH)
    with pytest.raises(QuestionError, match="cannot reply"):
        robust_regression(25, blocks, inner, test=ONE_EPS, release=ONE_EPS, delta=MILLIONTH)
    with pytest.raises(PublicParameterError, match="δ"):  # 003's threshold at eps .1: delta above 1 / (10 n)
        robust_regression(3000, blocks, inner, test=Fraction(1, 10), release=ONE_EPS, mode="paper")


# --- blocks


def reference(table: list[Row], places: int) -> list[Fraction] | None:
    """Least squares by Gauss on fractions, None where singular."""
    columns = len(table[0]) - 1 if table else 0
    system = [
        [Fraction(sum(r[i + 1] * r[j + 1] for r in table)) for j in range(columns)]
        + [Fraction(sum(r[i + 1] * (r[0] << places) for r in table))]
        for i in range(columns)
    ]
    for k in range(columns):
        rows_ = [i for i in range(k, columns) if system[i][k] != 0]
        if not rows_:
            return None
        system[k], system[rows_[0]] = system[rows_[0]], system[k]
        system[k] = [part / system[k][k] for part in system[k]]
        for i in range(columns):
            if i != k:
                system[i] = [a - system[i][k] * b for a, b in zip(system[i], system[k], strict=True)]
    return [part[-1] for part in system] if table else None


rows_of_two = st.tuples(st.integers(-9, 9), st.integers(-3, 3), st.integers(-3, 3))


@given(st.lists(rows_of_two, max_size=14), st.integers(1, 4), st.integers(0, 9))
def test_blocks_are_solved_exactly_and_singular_ones_take_the_default(
    table: list[Row], count: int, places: int
) -> None:
    blocks = Blocks(count, (7, -8), REPLACE)
    labels = np.arange(len(table), dtype=np.int64) % count
    found = solve(made(tuple(table), 2, places), labels, blocks)
    for block in range(count):
        exact = reference(table[block::count], places)
        expected = [7, -8] if exact is None else [math.ceil(part - Fraction(1, 2)) for part in exact]
        assert found[block].tolist() == [max(-REACH, min(REACH, part)) for part in expected]


def test_an_endless_default_is_of_either_sign_in_turn() -> None:
    found = solve(made((), 2), np.zeros(0, np.int64), Blocks(5, (LARGEST, 3), REPLACE))
    assert found.tolist() == [[LARGEST, 3], [-LARGEST, 3], [LARGEST, 3], [-LARGEST, 3], [LARGEST, 3]]
    with pytest.raises(PublicParameterError, match="beyond"):
        Blocks(5, (LARGEST - 1, 0), REPLACE)


@pytest.mark.wide
@given(st.lists(rows_of_two, min_size=1, max_size=9), rows_of_two, st.integers(0, 99))
def test_one_row_changes_one_block(table: list[Row], other: Row, key: int) -> None:
    replaced = Blocks(3, (LARGEST, LARGEST), REPLACE)
    one = replaced.coefficients(made(tuple(table), 2), Replayed(key))
    two = replaced.coefficients(made((*table[:-1], other), 2), Replayed(key))
    assert (one != two).any(axis=1).sum() <= 1
    added = Blocks(3, (LARGEST, LARGEST), ADD)
    labels = added.labels(len(table) + 1, Replayed(key))  # every row keeps its own coin
    less = solve(made(tuple(table), 2), labels[:-1], added)
    more = solve(made((*table, other), 2), labels, added)
    assert (less != more).any(axis=1).sum() <= 1


def test_a_shuffle_kept_for_a_removed_row_would_change_more_blocks() -> None:
    """The mutant: under add/remove the same random order, dealt out anew, moves many rows to other blocks."""
    table = tuple((k * k % 7, k % 3 + 1, k % 5 - 2) for k in range(12))
    worst = 0
    for key in range(5):
        same = Blocks(4, (0, 0), REPLACE)
        one = same.coefficients(made(table, 2), Replayed(key))
        two = same.coefficients(made(table[:-1], 2), Replayed(key))
        worst = max(worst, int((one != two).any(axis=1).sum()))
    assert worst > 1


def test_the_coins_of_blocks_are_uniform() -> None:
    orders = [tuple(permutation(3, Replayed(key)).tolist()) for key in range(3000)]
    counts = np.array([orders.count(order) for order in sorted(set(orders))])
    assert len(counts) == 6
    assert ((counts - 500) ** 2 / 500).sum() < 30  # chi-square of 5 degrees: below 1e-5 beyond
    drawn = np.bincount(uniforms(7, 70_000, Replayed(5)), minlength=7)
    assert ((drawn - 10_000) ** 2 / 10_000).sum() < 37
    assert uniforms(1, 4, Replayed(5)).tolist() == [0] * 4


# --- the law of the last step


def hockey_stick(one: Ending, two: Ending, epsilon: float, release: float) -> float:
    """sup over events of P(one) - e^epsilon P(two): no reply, or a vector of shifted two-sided geometric values."""
    worst = max(0.0, (1 - one.reply) - math.exp(epsilon) * (1 - two.reply))
    laws = [
        (shifted(a, one.side, release), shifted(b, two.side, release))
        for a, b in zip(one.centre, two.centre, strict=True)
    ]
    p = q = np.ones(1)
    for left, right in laws:
        p, q = np.outer(p, left).ravel(), np.outer(q, right).ravel()
    return worst + float(np.maximum(0, one.reply * p - math.exp(epsilon) * two.reply * q).sum())


class Ending:
    def __init__(self, reply: float, centre: tuple[int, ...], side: int) -> None:
        self.reply, self.centre, self.side = reply, centre, side


REACHED = 60


def shifted(centre: int, side: int, release: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    ratio = math.exp(-release / side)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-REACHED, REACHED + 1) - centre).astype(np.float64)


def endings(test: ptr_test.Test, side: int, kind: str) -> Iterator[tuple[Ending, Ending]]:
    """The last step on every pair of neighbours among small tables of one coefficient."""
    domain: list[Row] = [(y, x) for y in (-6, -1, 4) for x in (-1, 1)]
    lattice = CoefficientCells((side,))
    for size in (2, 4, 6, 8):
        for key in range(6):
            table = tuple(domain[(key * 7 + k * (key + 1)) % 6] if k % 3 else domain[3] for k in range(size))
            for other in brute.neighbours(table, domain, kind):
                pair = []
                for one in (table, other):
                    found, centre = distance(made(one, 1), lattice)
                    pair.append(Ending(test.chance(found), (math.ceil(centre[0] - Fraction(1, 2)),), side))
                yield pair[0], pair[1]
                yield pair[1], pair[0]


@pytest.mark.parametrize(("neighbours", "rows_moved"), [(REPLACE, 2), (ADD, 1)])
def test_the_last_step_keeps_its_claim_on_every_pair(neighbours: Adjacency, rows_moved: int) -> None:
    test = ptr_test.Test(neighbours, ONE_EPS, 2, rows_moved, rows_moved)
    claim = SolutionStep(test, ONE_EPS, 1).guarantee.loss
    assert isinstance(claim, ApproxDP)
    worst = max(hockey_stick(one, two, float(claim.epsilon), 1.0) for one, two in endings(test, 2, neighbours.kind))
    assert worst <= float(claim.delta) + 1e-12


@pytest.mark.wide
def test_a_sensitivity_of_one_under_substitution_is_caught() -> None:
    """The noise 003 prints, at the price it prints: no reply moves by more than e^eps."""
    true = ptr_test.Test(REPLACE, ONE_EPS, 3, 2, 2)
    printed = ptr_test.Test(REPLACE, ONE_EPS, 3, 2, 1)
    pairs = list(endings(printed, 2, "substitute"))
    assert max(math.log((1 - two.reply) / (1 - one.reply)) for one, two in pairs) > 1.2
    honest = list(endings(true, 2, "substitute"))
    assert max(math.log((1 - two.reply) / (1 - one.reply)) for one, two in honest) <= 1 + 1e-9


@pytest.mark.parametrize("columns", [1, 2])
def test_the_price_of_the_release_is_tight(columns: int) -> None:
    """Two safe tables whose solutions are at opposite corners of a cell: (1 + p) eps is needed, 2 eps is not enough."""
    test = ptr_test.Test(REPLACE, ONE_EPS, 8, 2, 2)
    one, two = Ending(test.chance(5), (0,) * columns, 2), Ending(test.chance(3), (2,) * columns, 2)
    assert hockey_stick(one, two, 1.0 + columns, 1.0) <= 1e-12
    assert hockey_stick(one, two, 0.95 * (1 + columns), 1.0) > 1e-6
    if columns > 1:
        assert hockey_stick(one, two, 2.0, 1.0) > 1e-4  # 003's 2 eps of Definition 24


@pytest.mark.wide
def test_an_inverted_inequality_is_caught() -> None:
    """Replying where the distance is at most two, as 003 Lemma 16 prints for its median, releases unsafe centres."""
    test = ptr_test.Test(REPLACE, ONE_EPS, 8, 2, 2)
    found = 0.0
    for one, two in endings(test, 2, "substitute"):
        inverted = [Ending(1 - end.reply, end.centre, end.side) for end in (one, two)]
        found = max(found, hockey_stick(inverted[0], inverted[1], 2.0, 1.0))
    assert found > 0.05


# --- whole mechanisms


@pytest.mark.wide
@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_robust_regression_finds_a_line(neighbours: Adjacency) -> None:
    whole, data = tight(2, Fraction(3, 2), neighbours, n=16_000), line(16_000, 2, 14)
    replies = [whole.sample(data, Replayed(key)) for key in range(5)]
    values = [reply.value for reply in replies if isinstance(reply, Reply)]
    assert len(values) >= 4
    for value in values:
        assert abs(value[0].value / 2**14 - 1) < 1.5
        assert abs(value[1].value / 2**14 - 2) < 1.5


@pytest.mark.wide
def test_three_coefficients_use_the_lower_bound() -> None:
    whole, data = tight(3, Fraction(3), n=6000), line(6000, 3, 14)
    found, centre = distance(data, CoefficientCells((1 << 14,) * 3), most=whole.last.test.cap)
    assert found >= whole.last.test.threshold
    assert max(abs(part / 2**14 - true) for part, true in zip(centre, (1, 2, 2), strict=True)) < 0.2


def test_degenerate_tables_get_no_reply() -> None:
    whole = tight(2, Fraction(1, 2), n=4000)
    for table in [(), ((1, 2, 2),) * 50, ((0, 0, 0),) * 50]:
        assert whole.sample(made(table, 2, 14), Replayed(3)) == NO_REPLY


def test_sides_follow_remark_18_and_never_vanish() -> None:
    whole = tight(2, ONE_EPS)
    wide, thin = whole.sides([1 << 20, 0]).sides
    assert thin == -(-whole.least // 3) * 3 >= 64
    assert abs(wide / 2**20 * whole.n**0.25 - 1) < 1e-3
    assert wide % 3 == 0
