"""Atoms that are found: what one person moves in every count, and that the price is that of a density without atoms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records, Rows, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import even
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import CENSUS, auto
from reticent.synthesis.partition import PartitionDensity, parted
from reticent.synthesis.search import SHARE, Search, search_for, step_of, worthwhile
from reticent.synthesis.sparse_histogram import Exceeding

Row = tuple[float, ...]  # NaN where missing
NAN: Final = float("nan")
ONE: Final = ("x", Fraction(0), Fraction(2), False)


def answered(plan: PartitionDensity, rows: Sequence[Row]) -> list[QueryResult]:
    """What a table of these rows says."""
    table = np.array(rows, np.float64).reshape(len(rows), len(plan.axes))
    held, found = ~np.isnan(table).any(axis=1), []
    for query in plan.queries:
        if isinstance(query, Tally):
            counts = np.histogram(table[held, 0], [float(edge) for edge in query.edges])[0]
            found.append(QueryResult(vectors=(tuple(map(int, counts)),)))
        elif isinstance(query, Rows):
            found.append(QueryResult(vectors=((len(rows),),)))
        else:
            assert isinstance(query, Records)
            read = np.full(table.shape, 0, np.int64)
            read[held] = np.floor(table[held] / [float(unit) for unit in query.units])
            read[~held, 0] = ABSENT
            found.append(QueryResult(records=read))
    return found


def asked(plan: PartitionDensity, rows: Sequence[Row], before: Sequence[gate.Call] = ()) -> list[gate.Call]:
    """All that the plan asks of a table, where the noise is 0 and the first of each choice is taken, or as before."""
    outputs = iter([call.output for call in before])

    def still(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if before:
            return next(outputs)
        if isinstance(mechanism, Exceeding):
            assert isinstance(exact, dict)
            return tuple(sorted(exact.items()))
        return exact if isinstance(mechanism, Geometric) else 0

    recorder = gate.Recorder(still, Replayed("still"))
    plan.draw(answered(plan, rows), recorder)
    return recorder.calls


def apart(here: object, there: object) -> int:
    if isinstance(here, dict) and isinstance(there, dict):
        return sum(abs(here.get(cell, 0) - there.get(cell, 0)) for cell in {*here, *there})
    return int(np.abs(np.asarray(here, np.int64) - np.asarray(there, np.int64)).sum())


def neighbours(kind: Kind, most: int, values: Sequence[Row]) -> list[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    """Tables of two other rows beside which a person of up to ``most`` rows comes, goes, or is replaced."""
    others = (values[0], values[-1])
    persons = [rows for count in range(1, most + 1) for rows in product(values, repeat=count)]
    if kind == "add_remove":
        return [((*others, *rows), others) for rows in persons]
    return [((*others, *here), (*others, *there)) for here, there in product(persons, persons)]


def moves(plan: PartitionDensity, kind: Kind, most: int, values: Sequence[Row]) -> tuple[int, int]:
    """The farthest that one person moves the counts of all parts, and what is declared."""
    worst = declared = 0
    for here, there in neighbours(kind, most, values):
        mine = asked(plan, here)
        for call, other in zip(mine, asked(plan, there, mine), strict=True):
            assert call.mechanism == other.mechanism
            if isinstance(call.mechanism, PermuteAndFlip):
                moved = np.abs(np.asarray(call.exact, np.int64) - np.asarray(other.exact, np.int64)).max()
                assert moved <= call.mechanism.sensitivity.bound
            elif call is mine[-1]:
                assert isinstance(call.mechanism, Geometric)
                worst, declared = max(worst, apart(call.exact, other.exact)), int(call.mechanism.sensitivity.bound)
    return worst, declared


@pytest.mark.parametrize(("kind", "rows"), [("add_remove", 1), ("substitute", 1), ("add_remove", 2), ("substitute", 2)])
@pytest.mark.parametrize("missing", [False, True])
def test_one_person_is_in_one_count_whatever_the_candidates(kind: Kind, rows: int, *, missing: bool) -> None:
    """All persons of one and two rows: at atoms, beside them, without a value. The declared change is attained."""
    near = Adjacency(kind, rows=rows)
    made = parted(ONE, DensityTerms(near, rows=rows), Fraction(1), listed=[Fraction(1)], missing=missing)
    assert made.listed == (Fraction(0), Fraction(1), Fraction(2))
    values: list[Row] = [(0.0,), (0.25,), (1.0,), (1.0 + 1e-9,), (2.0,), (NAN,)]
    worst, declared = moves(made, kind, rows, values if rows == 1 else [values[1], values[2]])
    assert worst == declared == rows * (2 if kind == "substitute" else 1)


def test_rows_that_are_counted_at_an_atom_and_beside_it_move_more_than_is_declared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mutant that the test before would find."""
    made = parted(ONE, DensityTerms(Adjacency("add_remove")), Fraction(1))
    right = PartitionDensity._parted

    def twice(self: PartitionDensity, results: object, listed: object) -> object:
        rest, parts, absent = right(self, results, listed)  # type: ignore[arg-type]
        return rest + sum(parts) * (np.arange(len(rest)) == 0), parts, absent

    monkeypatch.setattr(PartitionDensity, "_parted", twice)
    worst, declared = moves(made, "add_remove", 1, [(0.0,), (0.5,), (2.0,)])
    assert worst == 2 * declared


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_atoms_at_candidates_cost_nothing_and_a_search_its_share(kind: Kind) -> None:
    """Whatever the noisy number of records: with a search, or without."""
    terms = DensityTerms(Adjacency(kind))
    plain, made = auto(ONE, terms, Fraction(1)), parted(ONE, terms, Fraction(1))
    assert made.guarantee.loss == PureDP(Fraction(1))
    assert made.guarantee.adjacency == Adjacency(kind)
    census, either = made.guarantee.parts
    assert census == plain.guarantee.parts[0]
    assert either.by.name == "one_of"
    assert len(either.parts) == 2
    assert {part.loss for part in either.parts} == {PureDP(1 - CENSUS)}
    usual = plain.paid(plain.candidates[-1]).sums
    assert made.counter(made.after(None)).epsilon == usual.epsilon
    assert made.counter(made.after(None)).scale == usual.mechanism.scale  # type: ignore[union-attr]
    found = made.search(10**6)
    assert found is not None
    assert found.noise.epsilon == SHARE
    assert Fraction(94, 100) < made.after(found).left / made.after(None).left < Fraction(95, 100)
    assert made.search(100) is None
    assert compose.in_zcdp(made.guarantee).loss == compose.in_zcdp(plain.guarantee).loss


def test_where_every_record_is_public_a_replaced_one_may_still_leave_for_an_atom() -> None:
    """Substitution with a public number of records: one bar alone would not move, an atom and a bar do."""
    terms = DensityTerms(Adjacency("substitute"), 100, 1, True)
    made = parted(("k", Fraction(7), Fraction(8), True), terms, Fraction(1))
    assert made.counter(made.auto).sensitivity.bound == 2
    worst, declared = moves(made, "substitute", 1, [(7.0,), (8.0,)])
    assert worst == declared == 2


# --- the search -------------------------------------------------------------------------------------------------------


def search(low: int, high: int, *, whole: bool, epsilon: Fraction = Fraction(1)) -> Search:
    bounds = even("x", Fraction(low), Fraction(high), 1, whole=whole)
    return Search(bounds, Geometric(L1(Fraction(1), Adjacency("add_remove")), epsilon))


@pytest.mark.parametrize("made", [search(-3, 40, whole=True), search(0, 5_000, whole=True), search(-1, 7, whole=False)])
def test_each_value_has_one_number_and_round_ones_are_the_last(made: Search) -> None:
    some = np.unique(np.concatenate([np.arange(min(made.values, 6_000)), np.array(made.told)]))
    numbers = made._ordered(some.astype(np.int64))
    assert len({*numbers.tolist()}) == len(some)
    assert {*np.sort(numbers)[-len(made.told) :].tolist()} == {*range(made.values - len(made.told), made.values)}
    assert numbers.min() >= 0


@pytest.mark.parametrize(
    ("low", "high", "whole", "step"),
    [(0, 600, False, 1), (0, 1, False, Fraction(1, 500)), (0, 99_999, True, 200), (-5, 5, False, Fraction(1, 50))],
)
def test_round_values_are_multiples_of_one_two_or_five(low: int, high: int, whole: bool, step: Fraction) -> None:
    made = search(low, high, whole=whole)
    assert step_of(made.bounds) == step
    assert 400 <= len(made.told) <= 1_000
    values = [made._value(place) for place in made.told]
    assert all((value / step).denominator == 1 for value in values)


def test_a_search_of_little_noise_finds_the_values_that_are_there() -> None:
    """Round or not, at the ends or beyond; values next to each other are one, and whole numbers have to stand out."""
    made = search(0, 600, whole=False, epsilon=Fraction(50))
    values = [0.0] * 99 + [37.45] * 99 + [37.4500000001] * 98 + [20.0] * 99 + [700.0] * 99 + [123.4567] * 99
    read = np.floor(np.array(values) / float(made.unit)).astype(np.int64)
    assert made.draw(read, Replayed("search")) == tuple(map(Fraction, ("0", "20", "37.45", "123.4567", "600")))
    ages = search(0, 99, whole=True, epsilon=Fraction(50))
    crowd = np.repeat(np.arange(100), 50)
    heaped = np.concatenate([crowd, np.full(150, 40)])
    assert ages.draw(crowd, Replayed("even")) == ()
    assert ages.draw(heaped, Replayed("heap")) == (Fraction(40),)


def test_one_person_moves_a_search_by_its_rows_and_half_of_that_is_refuted() -> None:
    """Every value of a small grid, both adjacencies: the declared change is attained, so half of it is too little."""
    bounds = even("k", Fraction(0), Fraction(5), 1, whole=True)
    for kind, most in (("add_remove", 1), ("substitute", 2)):
        made = search_for(bounds, Adjacency(kind), Fraction(100))  # type: ignore[arg-type]
        assert made.noise.epsilon == 5
        worst = 0
        for here, there in product(range(-1, 7), range(-1, 7)):
            tables = [np.array([3, 3, here]), np.array([3, 3, there]) if most == 2 else np.array([3, 3])]
            exact = [dict(zip(*found, strict=True)) for found in (_told(made, table) for table in tables)]
            worst = max(worst, apart(*exact))
        assert worst == made.noise.sensitivity.bound == most


def _told(made: Search, read: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    calls: list[dict[int, int]] = []

    def note(mechanism: object, exact: object, start: object) -> object:
        assert isinstance(exact, dict)
        calls.append(exact)
        return ()

    made.draw(read, gate.Recorder(note, Replayed("told")))
    return list(calls[0]), list(calls[0].values())


def test_a_search_is_made_where_a_tenth_of_the_records_would_be_found() -> None:
    near = Adjacency("add_remove")
    wide = search_for(even("a", Fraction(0), Fraction(600), 1), near, Fraction(1))
    assert [worthwhile(wide, n) is not None for n in (2_500, 3_500)] == [False, True]
    few = search_for(even("k", Fraction(0), Fraction(9), 1, whole=True), near, Fraction(1))
    assert worthwhile(few, 2_500) is few  # of few values less is enough
