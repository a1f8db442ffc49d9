"""What the privacy of the regressions without bounds rests on, over neighbours of small tables; mutants are caught.

The exact law of the deep point, scores of coefficients against brute force over every neighbour, sensitivities of sums
of products at all corners, and the exact loss of whole transcripts, with coins that are the same for the rows that
neighbours share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from reticent.conformance.lower_bounds import binomial_tail
from reticent.data.candidates import Cells, Segment, cells_of
from reticent.data.query_result import Counts
from reticent.data.schema import real
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.registry import axiom_again
from reticent.outcome import Reply
from reticent.privacy import convert
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import Linf
from reticent.statistics.ranks import Runs, runs
from reticent.statistics.regression import block_medians, exponential, theil_sen
from reticent.statistics.regression.adassp import UNIT, AdaSSP
from reticent.statistics.regression.block_medians import BlockMedians
from reticent.statistics.regression.coefficients import CONSTANT, RegressionDesign
from reticent.statistics.regression.depth import deepest
from reticent.statistics.regression.exponential import CoefficientAxis, ExponentialRegression, scores
from reticent.statistics.regression.rows import Integers, RegressionRows, rows
from reticent.statistics.regression.theil_sen import TheilSen
from reticent.statistics.regression.tukey_point import Middle
from reticent.statistics.unbounded.column_counts import ColumnTerms
from tests.assurance.claims import verify
from tests.assurance.laws import law_of
from tests.support import regression_reference as brute
from tests.support.regression_reference import Row, Table
from tests.support.unbounded_reference import Transcript

CELLS = cells_of(real(), "x")
ONE = Fraction(1)

# --- the deep point --------------------------------------------------------------------------------------------------

THREE = Cells((Segment(0, 1, 1), Segment(1, 2, 3), Segment(2, 3, 2)), Fraction(1), True)
PAIR = Adjacency("substitute")
Record = tuple[int, int] | None  # None says nothing
Records = tuple[Record, ...]


@cache
def columns_of(records: Records) -> list[Runs]:
    found = []
    for place in (0, 1):
        cells, counts = np.unique(np.array([r[place] for r in records if r], np.int64), return_counts=True)
        found.append(runs(THREE, Counts(cells.astype(np.int64), counts.astype(np.int64))))
    return found


def score_of(records: Records, point: tuple[int, ...]) -> int:
    """By how many records one side outweighs the other, in the worse column: one record at a time."""
    kept = [r for r in records if r]
    found = 0
    for place in (0, 1):
        below = sum(r[place] < point[place] for r in kept)
        above = sum(r[place] > point[place] for r in kept)
        found = max(found, 2 * below - len(kept), 2 * above - len(kept))
    return found


ALL_RECORDS: list[Records] = [
    records
    for size in (2, 3)
    for records in itertools.combinations_with_replacement([None, (0, 0), (0, 2), (1, 1), (2, 1)], size)
]


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_the_law_of_the_point_is_the_exponential_mechanism_over_points(epsilon: Fraction) -> None:
    mechanism = Exponential(Linf(Fraction(2), PAIR), epsilon)
    weights = {0: 1, 1: 3, 2: 2}
    for records in ALL_RECORDS[::6]:
        law = law_of(lambda entropy: deepest(THREE, columns_of(records), mechanism, entropy))  # noqa: B023
        masses = {
            point: weights[point[0]] * weights[point[1]] * math.exp(-float(epsilon) / 4 * score_of(records, point))
            for point in itertools.product(range(3), repeat=2)
        }
        total = sum(masses.values())
        for point, mass in masses.items():
            low, high = law.bounds(point)
            assert float(low) - 1e-12 <= mass / total <= float(high) + 1e-12
        # a rate a tenth too great or too small is another law
        for wrong in (1.1, 0.9):
            other = {
                p: m * math.exp(-float(epsilon) / 4 * (wrong - 1) * score_of(records, p)) for p, m in masses.items()
            }
            if len({score_of(records, p) for p in other}) > 1:
                assert any(abs(float(law.bounds(p)[0]) - m / sum(other.values())) > 1e-4 for p, m in other.items())


def verdict(moved: int, epsilon: Fraction) -> str:
    """Whether the point keeps epsilon where one record is replaced, drawn for scores that move by ``moved``."""
    mechanism = Exponential(Linf(Fraction(moved), PAIR), epsilon)
    tables = list(itertools.product([None, (0, 0), (1, 2), (2, 1)], repeat=2))
    places = {records: at for at, records in enumerate(tables)}
    neighbours = [
        (places[a], places[b])
        for a, b in itertools.combinations(tables, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]

    def program(records: Records, entropy: Entropy) -> object:
        return deepest(THREE, columns_of(records), mechanism, entropy)

    return verify("deep point", program, tables, neighbours, PureDP(epsilon)).verdict


@pytest.mark.wide
def test_the_point_keeps_its_claim_and_a_sensitivity_of_one_does_not() -> None:
    assert verdict(2, Fraction(4)) == "holds"
    assert verdict(1, Fraction(4)) == "refuted"


# --- the distance as a score -----------------------------------------------------------------------------------------

DOMAINS: dict[int, list[Row]] = {
    1: [(y, x) for y in (-5, 0, 4) for x in (-1, 0, 2)],
    2: [(y, *x) for y in (0, 2) for x in itertools.product((0, 1, 2), (-1, 1))],
}
AXES = (CoefficientAxis(-4, 1, 9), CoefficientAxis(-3, 1, 7))


def made(table: Table, columns: int) -> RegressionRows:
    array = np.array(table, np.int64).reshape(len(table), columns + 1)
    return rows(array[:, 0].copy(), array[:, 1:].copy(), places=0)


def by_force(table: Table, columns: int, target: tuple[int, ...]) -> list[int]:
    """The least subgradient, shifted, at every point of the grid, in rows and rounded up."""
    found = []
    for point in itertools.product(*[range(a.low, a.high + 1, a.step) for a in AXES[:columns]]):
        here = tuple(Fraction(part) for part in point)
        corners = brute.subgradients(table, here, 0)
        moved = sorted({tuple(g - t * brute.UNIT for g, t in zip(c, target, strict=True)) for c in corners})
        square = brute.squared_distance(moved)
        k = 0
        while k * k * brute.UNIT**2 < square:
            k += 1
        found.append(k)
    return found


@pytest.mark.wide
@pytest.mark.parametrize("columns", [1, 2])
def test_scores_of_coefficients_are_those_of_brute_force(columns: int) -> None:
    domain = DOMAINS[columns]
    for key in range(14):
        table = tuple(domain[hash((key, i, columns)) % len(domain)] for i in range(key % 6))
        for target in [(0,) * columns, (2,) * columns, (0, -3)[:columns]]:
            found = scores(made(table, columns), AXES[:columns], target)
            assert found.reshape(-1).tolist() == by_force(table, columns, target)


@pytest.mark.wide
@pytest.mark.parametrize(("kind", "most"), [("substitute", 2), ("add_remove", 1)])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_row_moves_the_score_by_one_and_a_replaced_one_by_two(columns: int, kind: str, most: int) -> None:
    domain, worst = DOMAINS[columns], 0
    for key in range(4):
        table = tuple(domain[hash((key, i, 5)) % len(domain)] for i in range(3 + key))
        for target in [(0,) * columns, (5,) * columns]:
            here = scores(made(table, columns), AXES[:columns], target)
            for other in brute.neighbours(table, domain, kind):
                there = scores(made(other, columns), AXES[:columns], target)
                worst = max(worst, int(np.abs(here - there).max()))
    assert worst == most  # attained, so half of it under substitution is refuted


# --- sums of products ------------------------------------------------------------------------------------------------


def sufficient(kind: Kind, columns: int, *, delta: Fraction = Fraction(0), rows_each: int = 1) -> AdaSSP:
    values = 4 if kind == "substitute" and rows_each == 1 else None
    names = tuple("abc"[: columns - 1])
    terms = ColumnTerms(Adjacency(kind, rows_each), values)
    design = RegressionDesign("y", names, (ONE,) * columns, terms, 4, blank="marked")
    return AdaSSP(design, ((-ONE, ONE),) * columns, ONE, delta)


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_sums_of_products_move_by_no_more_than_is_claimed(kind: Kind, columns: int) -> None:
    plan, exact = sufficient(kind, columns), sufficient(kind, columns, delta=Fraction(1, 10**6))
    assert isinstance(plan.mechanism, Geometric)
    assert isinstance(exact.mechanism, Gaussian)
    corners = np.array(list(itertools.product((-1, 0, 1), repeat=columns)), np.int64)
    empty = np.zeros((0, columns), np.int64)
    each = [np.array(plan_products(plan, row[None, :])) for row in corners] + [np.array(plan_products(plan, empty))]
    pairs = itertools.combinations(each, 2) if kind == "substitute" else ((a, each[-1]) for a in each[:-1])
    found = [(int(np.abs(a - b).sum()), int(((a - b).astype(object) ** 2).sum())) for a, b in pairs]
    most, squared = max(a for a, _ in found), max(b for _, b in found)
    assert most <= plan.mechanism.sensitivity.bound
    assert squared <= exact.mechanism.sensitivity.squared
    share = float(most / plan.mechanism.sensitivity.bound)
    assert share == 1 if kind == "add_remove" else share > 0.7  # the bound is not made of slack
    if kind == "substitute":  # the bound of one row added would be too little
        d = columns + 1
        assert most > d * (d + 1) // 2 * UNIT**2 * 0.99 or d < 3


def plan_products(plan: AdaSSP, table: Integers) -> tuple[int, ...]:
    """Without the check of the public number of rows."""
    from dataclasses import replace

    free = replace(plan, design=replace(plan.design, terms=ColumnTerms(Adjacency("add_remove"))))
    return free.products(table)


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_intervals_from_sums_of_few_rows_hold_the_slope_or_there_is_no_reply(kind: Kind) -> None:
    """150 rows, whose sums noise nearly hides: of all replies 95 % hold, error 1e-4; a quarter as wide they do
    not. By the noisy products in place of the exact ones, without the factor 1 / (1 - k), a third was missed."""
    n, cent = 150, Fraction(1, 100)
    terms = ColumnTerms(Adjacency(kind), n if kind == "substitute" else None)
    plan = AdaSSP(
        RegressionDesign("y", ("x",), (cent, cent), terms, n, blank="marked"), ((-ONE, ONE),) * 2, Fraction(3)
    )
    replies, missed, plain = 0, 0, 0
    for key in range(300):
        draw = np.random.default_rng(key)
        x = draw.normal(-0.35, 0.25, n).clip(-1, 1)
        y = (0.9 * (x + 0.35) - 0.24 + draw.normal(0.0, 0.3, n)).clip(-1, 1)
        outcome = plan.draw(np.rint(100 * np.column_stack([y, x])).astype(np.int64), Replayed(f"few {kind} {key}"))
        if isinstance(outcome, Reply):
            slope = outcome.value.estimates[-1]
            replies += 1
            missed += not slope.low <= 0.88 <= slope.high  # a little below .9, for both are cut to [-1, 1]
            plain += abs(slope.value - 0.88) > (slope.high - slope.low) / 8
    assert replies > 20
    assert binomial_tail(missed, replies, 0.05) > 1e-4
    assert binomial_tail(plain, replies, 0.05) < 1e-4


def test_persons_with_several_rows_move_sums_by_as_many() -> None:
    one, three = sufficient("add_remove", 2).mechanism, sufficient("add_remove", 2, rows_each=3).mechanism
    assert isinstance(one, Geometric)
    assert isinstance(three, Geometric)
    assert three.sensitivity.bound == 3 * one.sensitivity.bound


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(4)])
def test_rho_is_the_greatest_on_its_grid(epsilon: Fraction) -> None:
    delta = Fraction(1, 10**6)
    rho = convert.rho_for(epsilon, delta)
    here, beyond = (convert.approx_of(ZCDP(part), delta) for part in (rho, rho + Fraction(1, 1 << 20)))
    assert isinstance(here, ApproxDP)
    assert here.epsilon <= epsilon < beyond.epsilon
    loss = sufficient("add_remove", 2, delta=delta).guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon <= 1
    assert loss.delta == delta


# --- transcripts -----------------------------------------------------------------------------------------------------

SIZE, EPSILON = 12, Fraction(8)


def same_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels by the place of a row: rows that neighbours share keep their coins, in every round others."""
    calls = itertools.count()

    def labels(self: RegressionDesign, n: int, count: int, entropy: Entropy) -> Integers:
        turn = next(calls) % 3 + 1
        return (np.arange(n, dtype=np.int64) * turn * 7 // 3 + turn) % count

    monkeypatch.setattr(RegressionDesign, "labels", labels)
    monkeypatch.setattr(theil_sen, "ORDERS", 1)  # a label is a cell, and its rows stand as they come
    monkeypatch.setattr(Middle, "feasible", lambda self, size: True)
    monkeypatch.setattr(TheilSen, "_settled", True)
    monkeypatch.setattr(ExponentialRegression, "hopeful", True)


def plans(kind: Kind, people: int = 1) -> dict[str, Any]:
    """Three rounds; the plans in which every draw passes the gate as one."""
    terms = ColumnTerms(Adjacency(kind, people), SIZE if kind == "substitute" and people == 1 else None)
    design = RegressionDesign("y", ("x",), (ONE, ONE), terms, SIZE, blank="marked")
    axes = (CoefficientAxis(-6 * 64, 64, 13), CoefficientAxis(-5 * 64 * CONSTANT, 64 * CONSTANT, 11))
    return {
        "theil_sen": TheilSen(design, CELLS, EPSILON, 3),
        "block_medians": BlockMedians(design, CELLS, EPSILON, 4, 3, places=6),
        "adassp": AdaSSP(design, ((Fraction(-9), Fraction(9)),) * 2, EPSILON),
        "over_beta": ExponentialRegression(design, EPSILON, axes, places=6),
    }


def tables_near(kind: Kind) -> Iterator[tuple[Integers, Integers]]:
    """The last row is replaced, or is there or not."""
    draw = np.random.default_rng(3)
    for key in range(6):
        table = draw.integers(-4, 5, size=(SIZE, 2)).astype(np.int64)
        if key % 2:
            table[:, 0] = 2 * table[:, 1]
        if kind == "add_remove":
            yield table[:-1], table
            continue
        for row in ((9, 1), (-9, 9), (-(1 << 63), 0)):
            other = table.copy()
            other[-1] = row
            yield table, other


def loss_of(plan: Any, here: Integers, there: Integers, key: str) -> float:
    """The exact loss of a transcript drawn on one table, against the other."""
    first = Transcript(Replayed(key))
    plan.draw(here, gate.Recorder(first.respond, Replayed(key)))
    second = Transcript(Replayed(key), first.outputs)
    plan.draw(there, gate.Recorder(second.respond, Replayed(key)))
    if len(first.logs) != len(second.logs):
        return math.inf
    return abs(sum(first.logs) - sum(second.logs))


def worst(plan: Any, kind: Kind) -> float:
    return max(
        loss_of(plan, a, b, f"{number} {run}")
        for number, (here, there) in enumerate(tables_near(kind))
        for a, b in ((here, there), (there, here))
        for run in range(3)
    )


@pytest.mark.loop(5)
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", ["theil_sen", "block_medians", "adassp", "over_beta"])
def test_no_transcript_loses_more_than_is_claimed(monkeypatch: pytest.MonkeyPatch, name: str, kind: Kind) -> None:
    same_coins(monkeypatch)
    plan = plans(kind)[name]
    assert plan.guarantee.loss == PureDP(EPSILON)
    assert plan.guarantee.adjacency == Adjacency(kind)
    assert rederive(plan.guarantee, axiom_again) == plan.guarantee.loss
    found = worst(plan, kind)
    assert 0.02 * float(EPSILON) < found <= float(EPSILON) * (1 + 1e-9)


@pytest.mark.wide
def test_several_rounds_charged_as_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: a row is in three blocks, but the score is said to move as for one."""
    same_coins(monkeypatch)

    def cheap(self: Middle, share: Fraction) -> Exponential:
        return Exponential(
            Linf(Fraction(max(1, self.moved // 3)), self.neighbours), self.epsilon * Fraction(9, 10) * share
        )

    for module, name in ((theil_sen, "theil_sen"), (block_medians, "block_medians")):
        assert module.Middle is Middle
        honest = worst(plans("substitute")[name], "substitute")
        with monkeypatch.context() as patched:
            patched.setattr(Middle, "_choice", cheap)
            assert worst(plans("substitute")[name], "substitute") > 1.5 * honest


def test_half_the_sensitivity_under_substitution_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """R_H's distance moves by two where a row is replaced: with one, a transcript loses more than is claimed."""
    same_coins(monkeypatch)
    table = np.array([(-4, 1)] * 2 + [(0, 1)] * 3 + [(4, 1)] * 2, np.int64)
    other = table.copy()
    other[0] = (4, 1)
    design = RegressionDesign(
        "y", ("x",), (ONE, ONE), ColumnTerms(Adjacency("substitute"), 7), 7, intercept=False, blank="marked"
    )

    def lost() -> float:
        plan = ExponentialRegression(design, EPSILON, (CoefficientAxis(-2, 4, 2),), places=0)
        runs_ = [(a, b, f"{k}") for k in range(8) for a, b in ((table, other), (other, table))]
        return max(loss_of(plan, *run) for run in runs_)

    assert lost() <= float(EPSILON)
    monkeypatch.setattr(exponential, "moves", lambda neighbours: 1)
    assert lost() > float(EPSILON)
