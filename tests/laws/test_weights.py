"""Weighted rows: no neighbour moves what is protected further than the noise is made for, and the engine agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Literal

import numpy as np
import pytest

from reticent.data.candidates import Cells, Segment, cells_on
from reticent.data.design import PublicMargins, SampleDesign
from reticent.data.query import (
    WEIGHT_ONE,
    Keys,
    Query,
    Ranks,
    Weighing,
    WeightedMoments,
    WeightedTally,
    stability,
)
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Person, Schema, category, grid_by_width, real
from reticent.data.table import open_table
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.loss import PureDP
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.group_size import values_and_ties
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.ranks import runs, sensitivity
from reticent.statistics.weighted.soft_weights import ALONE, SHARE, WeightDesign, weight_design
from reticent.statistics.weighted.weighted_step import WeightedStep
from tests.support.data_reference import Cell, Reference, Row

SECRET = bytes(range(32))
HIGHEST = Fraction(5)
WEIGHT = Weighing("w", HIGHEST)
GRID = grid_by_width(Fraction(-1), Fraction(2))
WEIGHTS: tuple[Cell, ...] = (None, -1.0, 0.3, 2.5, 5.0, 9.0)
VALUES: tuple[Cell, ...] = (None, -4.0, -1.0, 0.25, 2.0)
OTHERS: tuple[Row, ...] = (
    {"who": "p", "g": "a", "w": 1.7, "x": 0.3},
    {"who": "p", "g": "b", "w": 4.0, "x": 1.9},
    {"who": "q", "g": "b", "w": 0.1, "x": -0.8},
)
KEYS = Keys("g", ("a", "b"), 2)


def shape(person: Person) -> Schema:
    return Schema({"g": category(["a", "b"]), "w": real(0, 5), "x": real(-1, 2)}, person)


def mine(most: int) -> list[list[Row]]:
    """Every list of one to ``most`` rows of one person."""
    kinds = [("a", w, x) for w, x in product(WEIGHTS, VALUES)] + [("b", 5.0, 2.0), ("b", 2.5, -1.0)]
    sizes = range(1, most + 1)
    several = [
        rows for size in sizes for rows in combinations_with_replacement(kinds if size == 1 else kinds[::3], size)
    ]
    return [[{"who": "me", "g": g, "w": w, "x": x} for g, w, x in rows] for rows in several]


def tables(person: Person, query: Query, rows: Sequence[list[Row]]) -> list[tuple[tuple[int, ...], ...]]:
    schema = shape(person)
    return [Reference(schema, [*OTHERS, *own], ("g", "w", "x"), SECRET).answer(query) for own in rows]


def moved(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> int:
    return sum(abs(a - b) for first, second in zip(one, other, strict=True) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("keys", [None, KEYS])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_no_neighbour_moves_the_soft_counts_further_than_their_sensitivity(
    adjacency: str, rows: int, keys: Keys | None, order: int
) -> None:
    """All that is protected together, in L1; the largest move is reached up to the rounding of sums."""
    person = Person(adjacency, "who", rows)  # type: ignore[arg-type]
    design = WeightDesign(ALONE) if order == 0 else weight_design(order, GRID)
    query = WeightedMoments(None if order == 0 else "x", WEIGHT, GRID if order else None, order, keys)
    found = [[design.integers(vector) for vector in one] for one in tables(person, query, [[], *mine(rows)])]
    without, each = found[0], found[1:]
    if adjacency == "add_remove":
        most, steps = max(moved(one, without) for one in each), rows
    else:
        most, steps = max(moved(one, other) for one in each[:60] for other in each[-60:]), 2 * rows
    claimed = design.sensitivity(steps, min(steps, 1 if keys is None else 2))
    assert most <= claimed
    assert most >= steps * WEIGHT_ONE - 64  # a claim that is a row too small would have been caught


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbour_moves_a_share_or_a_bin_further_than_its_sensitivity(adjacency: str, rows: int) -> None:
    person = Person(adjacency, "who", rows)  # type: ignore[arg-type]
    steps = rows * (2 if adjacency == "substitute" else 1)
    chosen = WeightedTally("g", WEIGHT, among=("a",))
    present = WeightedMoments("g", WEIGHT, None, 0)
    bins = WeightedTally("x", WEIGHT, edges=(Fraction(-1), Fraction(0), Fraction(1), Fraction(2)), keys=KEYS)
    lists = [[], *mine(rows)]
    pairs = [
        [tuple(n for one, row in zip(a, b, strict=True) for n in (row - one, one))]
        for (a,), (b,) in zip(tables(person, chosen, lists), tables(person, present, lists), strict=True)
    ]
    for found in (pairs, tables(person, bins, lists)):
        base = found[:1] if adjacency == "add_remove" else found[1:]
        assert max(moved(one, other) for one in found[1:] for other in base) == steps * WEIGHT_ONE
    assert WeightDesign(SHARE).sensitivity(steps, 1) == steps * WEIGHT_ONE
    assert stability(bins, person, stands_in=False) == (Fraction(steps * WEIGHT_ONE),)


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_no_neighbour_moves_a_weighted_sum_further_than_its_stability(adjacency: str) -> None:
    person = Person(adjacency, "who", 2)  # type: ignore[arg-type]
    for query in (WeightedMoments("x", WEIGHT, GRID, 2, KEYS), WeightedMoments(None, WEIGHT, None, 0)):
        found = tables(person, query, [[], *mine(2)])
        base = found[:1] if adjacency == "add_remove" else found[1::7]
        claimed = stability(query, person, stands_in=False)
        for one, other in product(found[1:], base):
            for place, bound in enumerate(claimed):
                assert sum(abs(a[place] - b[place]) for a, b in zip(one, other, strict=True)) <= bound


def test_the_engine_weights_rows_as_the_reference_does() -> None:
    rows = [*OTHERS, *(row for own in mine(1) for row in own)]
    names = {f"p{place}": row for place, row in enumerate(rows)}
    told = [{**row, "who": who} for who, row in names.items()]
    schema = shape(Person("add_remove", "who", 1))
    queries: list[Query] = [
        WeightedMoments("x", WEIGHT, GRID, 2, KEYS),
        WeightedMoments(None, WEIGHT, None, 0),
        WeightedMoments("g", WEIGHT, None, 0),
        WeightedTally("g", WEIGHT, among=("b", "a")),
        WeightedTally("x", WEIGHT, edges=(Fraction(-1), Fraction(0), Fraction(2)), keys=KEYS),
    ]
    columns = {name: [row[name] for row in told] for name in ("who", "g", "w", "x")}
    found = open_table(columns, schema).run(queries, SECRET)
    reference = Reference(schema, told, ("g", "w", "x"), SECRET)
    assert [one.vectors for one in found] == [reference.answer(query) for query in queries]


def test_the_parts_of_a_weight_are_whole_and_come_to_one() -> None:
    schema = shape(Person("add_remove", None, 1))
    for w in (-1.0, 0.0, 1e-9, 0.3, 1.0, 2.5, 4.9999, 5.0, 9.0, float("inf")):
        row: Row = {"g": "a", "w": w, "x": 0.0}
        ((low, middle, high),) = Reference(schema, [row], ("w",), SECRET).answer(WeightedMoments(None, WEIGHT, None, 0))
        assert min(low, middle, high) >= 0
        assert low + middle + high == WEIGHT_ONE


# --- quantiles ------------------------------------------------------------------------------------------------------

COARSE = (0, 1, 3, 4)  # weights of a grid of four steps: every score moves as far as with 2**20
PLACES = (0, 1, 2)
LEVELS = (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10))
Weighted = tuple[tuple[int, int], ...]  # the place and the weight of each row


def counts_of(table: Weighted) -> Counts:
    sums = np.zeros(len(PLACES), dtype=np.int64)
    for place, weight in table:
        sums[place] += weight
    return Counts(np.array(PLACES, dtype=np.int64), sums)


def scores_of(table: Weighted, level: Fraction, shift: Fraction) -> list[int]:
    cells = Cells((Segment(0, len(PLACES), 1),), Fraction(1), True)
    made = runs(cells, counts_of(table))
    scores = made.scores(level.numerator, level.denominator, shift)
    return [int(scores[np.searchsorted(made.start, cell, side="right") - 1]) for cell in PLACES]


def rows_of(size: int) -> list[Weighted]:
    return list(combinations_with_replacement(tuple(product(PLACES, COARSE)), size))


@pytest.mark.parametrize("level", LEVELS)
def test_a_weighted_row_moves_no_score_further_than_the_largest_weight_does(level: Fraction) -> None:
    """The claim of a row that counts once, times the largest weight: reached, and never passed."""
    shift, added, replaced = Fraction(3, level.denominator), 0, 0
    for rest in [table for size in range(3) for table in rows_of(size)]:
        without = scores_of(rest, level, shift)
        with_one = [scores_of((*rest, row), level, shift) for (row,) in rows_of(1)]
        added = max(added, *(abs(a - b) for one in with_one for a, b in zip(one, without, strict=True)))
        replaced = max(
            replaced, *(abs(a - b) for one in with_one for two in with_one for a, b in zip(one, two, strict=True))
        )
    assert added == max(COARSE) * sensitivity(level, "add_remove")
    assert replaced == max(COARSE) * sensitivity(level, "substitute")


@pytest.mark.parametrize("swap", [False, True])
def test_a_weighted_row_moves_the_sizes_and_the_squares_by_the_largest_weight(swap: bool) -> None:
    """Under replacement by two of them, for the pair of sizes together and for the two sums of squares."""
    most, far, squared = max(COARSE), 0, 0
    for rest in [table for size in range(3) for table in rows_of(size)]:
        tables = [(*rest, row) for (row,) in rows_of(1)]
        pairs = [values_and_ties(counts_of(one), 2 * most, replaced=swap) for one in [*tables, rest]]
        sides = [squares_of(one) for one in [*tables, rest]]
        base = slice(None) if swap else slice(-1, None)
        far = max(far, *(sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p in pairs for q in pairs[base]))
        squared = max(
            squared, *(sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p in sides for q in sides[base])
        )
    assert far == (2 if swap else 1) * most
    assert squared == (2 if swap else 1) * most


def squares_of(table: Weighted, value: int = 1) -> tuple[int, int]:
    below = sum(w * w // max(COARSE) for place, w in table if place <= value)
    return below, sum(w * w // max(COARSE) for place, w in table) - below


def test_scores_of_many_weights_end_and_none_moves_further_by_it() -> None:
    """Levels of six decimals of many rows pass 64 bits: scores end at 2^62, in order, and neighbours stay as near."""
    cells, level = Cells((Segment(0, 3, 1),), Fraction(1), True), Fraction(1, 1_000_000)
    many, one = 1 << 45, 1 << 20
    ends = []
    for more in (0, one):
        made = runs(
            cells, Counts(np.array(PLACES, dtype=np.int64), np.array([many, many, many + more], dtype=np.int64))
        )
        scores = made.scores(level.numerator, level.denominator, 0)
        assert scores.dtype == np.int64
        assert int(scores.min()) >= 0
        assert int(scores.max()) == 1 << 62
        ends.append(scores)
    assert int(np.abs(ends[0] - ends[1]).max()) <= one * sensitivity(level, "add_remove")


@pytest.mark.parametrize(("adjacency", "keys"), [("add_remove", None), ("substitute", None), ("substitute", KEYS)])
def test_a_weighted_median_charges_every_draw_at_the_largest_weight(adjacency: str, keys: Keys | None) -> None:
    """All draws together cost epsilon; with the sensitivity of a row that counts once they would cost 2**20 times."""
    setting = Setting(shape(Person(adjacency, "who", 2)), None, keys, weight="w")  # type: ignore[arg-type]
    setting = replace(setting, schema=replace(setting.schema, design=SampleDesign()))
    step = prepare(parse("median(x)"), setting, Fraction(8))
    assert isinstance(step, QuantileStep)
    assert step.guarantee.loss == PureDP(Fraction(8))
    draws, way, level = step.draws, step.draws.pricing.plain, Fraction(1, 2)
    assert way == draws.pricing.among_ties
    drawn: list[Exponential | Geometric] = [*draws.value(level, way), *draws.ends(level, way), *draws.squares(way)]
    assert len(drawn) == 4
    assert all(one.sensitivity.bound % WEIGHT_ONE == 0 for one in drawn)


DESIGNS = (
    SampleDesign(strata="g"),
    SampleDesign(margins=PublicMargins("g", (("a", Fraction(3)), ("b", Fraction(1))))),
)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("question", ["mean(x)", "sum(x)", "proportion(g, value=a)"])
def test_no_row_moves_what_a_design_draws_further_than_its_noise_is_made_for(
    design: SampleDesign, adjacency: str, question: str
) -> None:
    """The sums of all rows and those of strata apart, each at its own price; what they cost together is epsilon."""
    schema = replace(shape(Person(adjacency, "who", 1)), design=design)  # type: ignore[arg-type]
    drawn_alone = replace(schema, person=Person(adjacency))  # type: ignore[arg-type]
    step = prepare(parse(question), Setting(drawn_alone, None, weight="w"), Fraction(2))
    assert isinstance(step, WeightedStep)
    assert step.guarantee.loss == PureDP(Fraction(2))
    half = len(step.queries) // 2 if step.strata is not None else len(step.queries)
    draws = [(step.queries[:half], step.mechanism)]
    if step.strata is not None:
        draws.append((step.queries[half:], step.strata.mechanism))
        assert (step.mechanism.epsilon, step.strata.mechanism.epsilon) == (Fraction(8, 5), Fraction(2, 5))
    assert (step.strata is None) == (step.calibration is not None)
    for queries, mechanism in draws:
        each = [
            list(step._protected([QueryResult(vectors=reference.answer(query)) for query in queries]))
            for reference in (Reference(schema, [*OTHERS[2:], *own], ("g", "w", "x"), SECRET) for own in [[], *mine(1)])
        ]
        base = each[1::5] if adjacency == "substitute" else each[:1]
        most = max(moved(one, other) for one in each[1:] for other in base)
        assert most <= mechanism.sensitivity.bound
        assert most >= (2 if adjacency == "substitute" else 1) * WEIGHT_ONE - 64


def test_the_engine_counts_weights_and_their_squares_by_cell() -> None:
    rows = [*OTHERS, *(row for own in mine(1) for row in own)]
    told = [{**row, "who": f"p{place}"} for place, row in enumerate(rows)]
    schema = shape(Person("add_remove", "who", 1))
    columns = {name: [row[name] for row in told] for name in ("who", "g", "w", "x")}
    reference = Reference(schema, told, ("g", "w", "x"), SECRET)
    powers: tuple[Literal[1, 2], ...] = (1, 2)
    for power in powers:
        query = Ranks("x", KEYS, weight=WEIGHT, power=power)
        (found,) = open_table(columns, schema).run([query], SECRET)
        for data, expected in zip(found.ranks, reference.values(query), strict=True):
            assert int(data.counts.sum()) == sum(expected.values())
            assert sorted(data.counts.tolist()) == sorted(by_cell(expected, schema).values())


def by_cell(values: dict[float, int], schema: Schema) -> dict[int, int]:
    cells, found = cells_on("column", schema.column("x"), "x"), dict[int, int]()
    for value, many in values.items():
        cell = int(cells.index(np.array([value]))[0])
        found[cell] = found.get(cell, 0) + many
    return found
