"""What the privacy of statistics without bounds rests on, over all neighbours of small tables with ties.

The lemma of slices, the sensitivity of every score, exact output laws of the joint quantiles, and for every statistic
the exact privacy loss of whole transcripts: outputs drawn on one table, their probability on both. Mutants are caught.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.data.candidates import Cells, Segment
from reticent.data.query_result import Counts
from reticent.data.value_scans import HeldScans, powers
from reticent.entropy import Entropy
from reticent.mechanisms.exponential import Exponential
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import Linf
from reticent.statistics.quantiles.group_size import unsure, values_and_ties
from reticent.statistics.ranks import Runs
from reticent.statistics.unbounded import (
    clipped_mean as clipped,
)
from reticent.statistics.unbounded import (
    clipping_radii,
    column_counts,
    confidence_bounds,
    joint,
    location,
    quantile_range,
    quantile_tree,
    rank_slices,
)
from reticent.statistics.unbounded import (
    trimmed_mean as trimmed,
)
from reticent.statistics.unbounded.clipped_mean import ClippedMean
from reticent.statistics.unbounded.coinpress import UNIT as STEPS
from reticent.statistics.unbounded.coinpress import CoinPressMean
from reticent.statistics.unbounded.column_counts import CROWD, Census, ColumnTerms
from reticent.statistics.unbounded.joint import JointQuantiles, QuantileShares, joint_quantiles
from reticent.statistics.unbounded.location import CandidateGrid, Huber
from reticent.statistics.unbounded.rank_slices import before, cut, runs_of, whole
from reticent.statistics.unbounded.scaled_level import UNIT, level_of
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean, distance, kappa, windows
from tests.assurance.claims import verify
from tests.support.unbounded_reference import huber_sums, losses, table, trimmed_reach

THREE = Cells((Segment(0, 2, 1), Segment(2, 3, 4)), Fraction(1), True)
Rows = tuple[int, ...]


def tables(size: int, cells: range = range(3)) -> list[Rows]:
    return list(itertools.combinations_with_replacement(cells, size))


def added(most: int, cells: range = range(3)) -> Iterator[tuple[Rows, Rows]]:
    for size in range(most):
        for rows in tables(size, cells):
            for row in cells:
                yield rows, tuple(sorted((*rows, row)))


def replaced(size: int, cells: range = range(3)) -> Iterator[tuple[Rows, Rows]]:
    for rest in tables(size - 1, cells):
        for old, new in itertools.combinations(cells, 2):
            yield tuple(sorted((*rest, old))), tuple(sorted((*rest, new)))


# --- slices ----------------------------------------------------------------------------------------------------------


def test_one_more_value_stands_before_a_slice_or_behind_it() -> None:
    for length in range(1, 9):
        for count in range(14):
            for edge in range(length + 1):
                assert before(count + 1, edge, length) - before(count, edge, length) in (0, 1)
            assert before(count, 0, length) == 0
            assert before(count, length, length) == count


def sides(rows: Rows, first: int, second: int) -> list[tuple[object, ...]]:
    """Four parts: cut, then both sides cut again."""
    low, high = cut(whole(THREE, table(rows)), first)
    inner = [part for side in (low, high) for part in cut(side, min(max(second, side.first), side.stop - 1))]
    return [(part.cells.tolist(), part.counts.tolist(), part.first, part.stop) for part in inner]


@pytest.mark.wide
def test_a_row_is_added_to_exactly_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_slices, "SLICES", 4)
    for rows, more in added(4):
        for first in range(0, 11):
            for second in range(0, 12, 3):
                here, there = sides(rows, first, second), sides(more, first, second)
                moved = [(a, b) for a, b in zip(here, there, strict=True) if a != b]
                assert len(moved) == 1
                ((a, b),) = moved
                assert sum(b[1]) - sum(a[1]) == 1  # type: ignore[call-overload]
                assert a[2:] == b[2:]


def test_scores_on_slices_move_by_no_more_than_the_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_slices, "SLICES", 4)
    for share in (Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), Fraction(999, 1000)):
        worst, level = 0, level_of(share, "add_remove")
        assert abs(Fraction(level.a, level.b) - share) < Fraction(1, UNIT)
        for rows, more in added(4):
            found = [runs_of(THREE, whole(THREE, table(r))) for r in (rows, more)]
            at = np.arange(12)
            scores = [
                r.scores(level.a, level.b, 0)[np.searchsorted(r.start, at, side="right") - 1]
                for r in found
                if isinstance(r, Runs)
            ]
            worst = max(worst, int(np.abs(scores[0] - scores[1]).max()))
        assert worst == UNIT == max(level.a, level.b - level.a)


# --- exact laws of joint quantiles -----------------------------------------------------------------------------------

SHARES = QuantileShares(Fraction(1, 2), Fraction(1, 2), Fraction(0))
QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def law_line(monkeypatch: pytest.MonkeyPatch, kind: str, claim: Fraction) -> str:
    """The verdict of enumerating all draws of three quantiles on all tables of three rows in two cells."""
    monkeypatch.setattr(rank_slices, "SLICES", 2)
    monkeypatch.setattr(joint, "SLICES", 2)
    monkeypatch.setattr(JointQuantiles, "feasible", lambda self, size, among=None: True)
    cells = Cells((Segment(0, 1, 1), Segment(1, 2, 3)), Fraction(1), True)
    made = JointQuantiles(cells, QUARTERS, ColumnTerms(Adjacency("substitute"), 3), Fraction(2), SHARES, ())

    def program(rows: Rows, entropy: Entropy) -> object:
        outcome = made.draw(table(rows), entropy)
        assert isinstance(outcome, Reply)
        return tuple(sorted(outcome.value.values.items()))

    if kind == "substitute":
        all_tables, pairs = tables(3, range(2)), list(replaced(3, range(2)))
    else:  # one row added costs half of what one replaced does
        all_tables = [rows for size in range(4) for rows in tables(size, range(2))]
        pairs = list(added(3, range(2)))
    places = {rows: place for place, rows in enumerate(all_tables)}
    neighbours = [(places[a], places[b]) for a, b in pairs]
    return verify("joint", program, all_tables, neighbours, PureDP(claim)).verdict


def test_the_exact_law_of_joint_quantiles_keeps_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    assert law_line(monkeypatch, "substitute", Fraction(2)) == "holds"
    assert law_line(monkeypatch, "add_remove", Fraction(1)) == "holds"


def both(part: rank_slices.CandidateRange, at: int) -> tuple[rank_slices.CandidateRange, rank_slices.CandidateRange]:
    """A cut that leaves every row on both sides, those beyond the cut at the cut."""
    low, high = np.minimum(part.cells, at // rank_slices.SLICES), np.maximum(part.cells, (at + 1) // rank_slices.SLICES)
    return (
        rank_slices.CandidateRange(Counts(low, part.counts), part.first, at + 1),
        rank_slices.CandidateRange(Counts(high, part.counts), min(at + 1, part.stop - 1), part.stop),
    )


def forgotten(self: JointQuantiles, share: Fraction, depth: int) -> Fraction:
    """A budget that is not divided among depths and rows."""
    return self.epsilon


@pytest.mark.parametrize("mutant", ["budget", "sensitivity"])
def test_the_enumeration_refutes_mutants(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    if mutant == "budget":
        monkeypatch.setattr(JointQuantiles, "_each", forgotten)
    else:
        monkeypatch.setattr(joint, "UNIT", UNIT // 3)
    assert law_line(monkeypatch, "add_remove", Fraction(1)) == "refuted"


# --- transcripts of whole statistics ---------------------------------------------------------------------------------

WIDE = Cells((Segment(-40, 41, 1),), Fraction(1), True)
TRANSCRIPTS = 2


def plans(terms: ColumnTerms, epsilon: Fraction) -> dict[str, Any]:
    made: dict[str, Any] = {
        "joint": joint_quantiles(WIDE, [Fraction(k, 5) for k in range(1, 5)], terms, epsilon),
        "spread": quantile_range.iqr(WIDE, terms, epsilon),
        "clipped": ClippedMean(WIDE, terms, epsilon),
        "huber": Huber(WIDE, terms, epsilon),
    }
    if terms.values is not None:
        made["trimmed"] = UnboundedTrimmedMean(WIDE, terms, epsilon, Fraction(1, 4))
    return made


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule of refusal, and few candidates: small tables are answered, quickly."""
    monkeypatch.setattr(JointQuantiles, "feasible", lambda self, size, among=None: True)
    monkeypatch.setattr(clipping_radii.Choice, "outweighs", lambda self, cells, size: True)
    monkeypatch.setattr(clipping_radii.Choice, "slack", property(lambda self: 0.5))
    rungs = np.exp2(np.arange(-4, 24) / 4.0)
    for module in (clipping_radii, clipped, location, trimmed):
        monkeypatch.setattr(module, "LADDER", rungs)
    monkeypatch.setattr(clipping_radii, "RUNGS", Cells((Segment(0, len(rungs), 1),), Fraction(1), True))
    monkeypatch.setattr(location, "STEPS", 16)
    monkeypatch.setattr(trimmed, "STEPS", 512)
    monkeypatch.setattr(trimmed, "CANDIDATES", np.arange(-512, 513))
    monkeypatch.setattr(confidence_bounds, "FINE", 1.0)
    for module in (rank_slices, joint, confidence_bounds):
        monkeypatch.setattr(module, "SLICES", 4)


def neighbours(kind: str, rows: int) -> list[tuple[Counts, Counts]]:
    """Pairs with atoms, gaps and extremes; a person has up to ``rows`` rows."""
    base: list[list[int]] = [
        [-3, -1, 0, 0, 0, 2, 4, 9, 9, 11, 12, 15],
        [5] * 12,
        [0] * 6 + [1] * 6,
        [-40, -7, -7, -7, -2, 0, 1, 1, 3, 8, 30, 40],
    ]
    pairs = []
    for values in base:
        for old, new in ((0, 40), (5, 0)):
            kept = values[:]
            gone = [kept.pop(min(old, len(kept) - 1)) for _ in range(rows)]
            if kind == "substitute":
                pairs.append((table(kept + gone), table(kept + [new] * rows)))
            else:
                pairs += [(table(kept), table(kept + gone)), (table(kept), table(kept + [new] * rows))]
    return pairs


def worst(plan: Any, kind: str, rows: int = 1, transcripts: int = TRANSCRIPTS) -> float:
    """The greatest loss of any transcript, either way; infinite where more than the draws depends on the rows."""
    most = 0.0
    for number, (here, there) in enumerate(neighbours(kind, rows)):
        for run in range(transcripts):
            for a, b in ((here, there), (there, here)):
                most = max(most, abs(losses(plan.draw, a, b, f"{number} {run}")[0]))
                if most == float("inf"):
                    return most
    return most


@pytest.mark.loop(5)
@pytest.mark.parametrize(("kind", "rows"), [("substitute", 1), ("add_remove", 1), ("add_remove", 2)])
@pytest.mark.parametrize("name", ["joint", "spread", "clipped", "huber", "trimmed"])
def test_no_transcript_loses_more_than_is_claimed(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: Any, rows: int
) -> None:
    always(monkeypatch)
    terms = ColumnTerms(Adjacency(kind, rows), 12 if kind == "substitute" else None)
    if name == "trimmed" and kind != "substitute":
        return
    epsilon = Fraction(8)
    plan = plans(terms, epsilon)[name]
    claim = plan.guarantee.loss
    assert isinstance(claim, PureDP)
    assert claim.epsilon <= epsilon
    assert plan.guarantee.adjacency == terms.neighbours
    found = worst(plan, kind, rows)
    assert 0.02 * float(epsilon) < found <= float(claim.epsilon) * (1 + 1e-9)


def parts_that_move(plan: JointQuantiles) -> int:
    """How many of the two draws of the second depth a row can move: calls are census, root, 2/5, 4/5, 1/5."""
    most = 0
    for number, (here, there) in enumerate(neighbours("add_remove", 1)):
        for run in range(2):
            _, parts = losses(plan.draw, here, there, f"parts {number} {run}")
            most = max(most, sum(abs(parts[place][1]) > 1e-12 for place in (2, 3)))
    return most


@pytest.mark.wide
def test_a_row_moves_one_part_of_a_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    plan = plans(ColumnTerms(Adjacency("add_remove")), Fraction(8))["joint"]
    assert parts_that_move(plan) == 1
    monkeypatch.setattr(quantile_tree, "cut", both)
    assert parts_that_move(plan) == 2


MUTANTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a budget not divided": ("joint", lambda m: m.setattr(JointQuantiles, "_each", forgotten)),
    "a score of sensitivity too small": (
        "huber",
        lambda m: m.setattr(location.Huber, "_choice", lambda self, share: _finer(self, share)),
    ),
    "a clip read from the data": ("clipped", lambda m: m.setattr(clipping_radii.Choice, "rung", _greatest)),
    "a trimmed distance off by a factor": ("trimmed", lambda m: m.setattr(trimmed, "distance", _doubled)),
}


def _finer(plan: Huber, share: Fraction) -> Any:
    return Exponential(Linf(Fraction(location.UNIT, 4), plan.terms.neighbours), plan.epsilon * share)


def _greatest(self: Any, steps: Any, outside: float, entropy: Entropy) -> int:
    """The last rung that holds a value, uncharged."""
    held = np.flatnonzero(np.diff(np.append(steps.below, steps.total)))
    return int(steps.start[held[-1]]) if len(held) else 0


def _doubled(sums: Any, inside: int) -> Any:
    return 20 * distance(sums, inside)


@pytest.mark.wide
@pytest.mark.parametrize("mutant", MUTANTS)
def test_transcripts_of_mutants_lose_more(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    always(monkeypatch)
    name, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    plan = plans(ColumnTerms(Adjacency("substitute"), 12), Fraction(8))[name]
    assert worst(plan, "substitute") > 8.0 * (1 + 1e-9)


# --- scores ----------------------------------------------------------------------------------------------------------


def test_the_trimmed_distance_is_the_number_of_values_to_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimmed, "CANDIDATES", np.arange(-8, 9))
    for rows in ((0, 0, 1, 3, 4), (2, 2, 2, 2, 2), (-3, 0, 0, 0, 5), (0, 1, 1, 6, 7, 8)):
        for g in (1, 2):
            inside = len(rows) - 2 * g
            sums = windows(np.array(sorted(rows), dtype=np.int64), g)
            reach = trimmed_reach(rows, g, (-50, 50), g)
            assert [Fraction(int(sums[g + k]), inside) for k in range(g + 1)] == [high for _, high in reach]
            assert [Fraction(int(sums[g - k]), inside) for k in range(g + 1)] == [low for low, _ in reach]
            for t, found in zip(range(-8, 9), distance(sums, inside).tolist(), strict=True):
                needed = [k for k, (low, high) in enumerate(reach) if low <= t <= high]
                assert found == (needed[0] if needed else g + 1)


def test_replacing_a_value_moves_the_trimmed_distance_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimmed, "CANDIDATES", np.arange(-3, 9))
    worst_found = 0
    for size in (3, 5):
        for here, there in replaced(size, range(-2, 7, 2)):
            one, two = (windows(np.array(rows, dtype=np.int64), 1) for rows in (here, there))
            for score in (distance, kappa):
                worst_found = max(worst_found, int(np.abs(score(one, size - 2) - score(two, size - 2)).max()))
    assert worst_found == 1


def test_the_sums_of_huber_are_exact_and_move_by_one_bend() -> None:
    grid = CandidateGrid(1.0, 2.0, 3.0)
    at = grid.centres().tolist()
    away = np.array([-50.0, -2.0, -2.0, 0.0, 0.4, 3.3, 1e300])
    counts = np.array([1, 2, 1, 3, 1, 1, 1])
    places = np.rint(np.clip(away / grid.bend, -grid.reach, grid.reach) * location.UNIT).astype(np.int64)
    sums = grid.sums(places, counts)
    chosen = range(0, len(at), 401)
    slow = huber_sums(
        np.repeat(np.clip(away, -100.0, 100.0), counts).tolist(), 3.0, [at[i] for i in chosen], location.UNIT
    )
    assert [int(sums[i]) for i in chosen] == slow
    for place in range(len(away)):
        fewer = counts.copy()
        fewer[place] -= 1
        assert np.abs(sums - grid.sums(places, fewer)).max() <= location.UNIT
        assert 0 <= grid.squares(places, counts, 99) - grid.squares(places, fewer, 99) <= location.UNIT


def test_a_row_changes_one_of_the_numbers_of_the_census() -> None:
    for size in (0, CROWD - 1, CROWD, CROWD + 1):
        for row in (0, 1):
            (a, b), (c, d) = (
                values_and_ties(data, CROWD, replaced=False) for data in (table([0] * size), table([0] * size + [row]))
            )
            assert abs(a - c) + abs(b - d) == 1
    assert column_counts.CROWD == CROWD


def test_a_replaced_row_moves_the_pair_by_two_and_half_their_sum_by_what_the_values_are_more() -> None:
    """A row is a cell or, at -1, lacks a value; all tables of up to five of them, cells crowded from the second on."""

    def held(rows: tuple[int, ...]) -> Counts:
        return table([row for row in rows if row >= 0])

    worst = 0
    for size in range(1, 6):
        for others in itertools.combinations_with_replacement((-1, 0, 1), size - 1):
            for old, new in itertools.permutations((-1, 0, 1), 2):
                one, two = ((*others, old), (*others, new))
                (a, b), (c, d) = (values_and_ties(held(rows), 1, replaced=True) for rows in (one, two))
                worst = max(worst, abs(a - c) + abs(b - d))
                assert a + b == 2 * sum(row >= 0 for row in one)
    assert worst == 2
    for epsilon in (Fraction(1, 10), Fraction(1)):
        made = Census(ColumnTerms(Adjacency("substitute")), epsilon).mechanism
        alone = Census(ColumnTerms(Adjacency("add_remove")), epsilon).mechanism
        assert made.sensitivity.bound == worst
        assert unsure(made, replaced=True) == pytest.approx(unsure(alone, replaced=False))


def test_the_moments_of_a_clipped_value_move_by_no_more_than_their_mechanism_says() -> None:
    for kind, n in (("substitute", 3), ("substitute", None), ("add_remove", None)):
        step = ClippedMean(WIDE, ColumnTerms(Adjacency(kind), n), Fraction(1)).moments  # type: ignore[arg-type]
        values = [np.array(v) for v in ((-1.0,), (-0.3,), (0.0,), (0.5,), (1.0,), (7.0,), ())]
        found = step.design.integers([powers(v, np.ones(len(v), dtype=np.int64)) for v in values])
        skip = 0 if n is None else 1
        for a, b in itertools.combinations(range(len(found)), 2):
            if kind == "substitute" and n is not None and 6 in (a, b):
                continue  # the number of values is public
            if kind == "add_remove" and 6 not in (a, b):
                continue
            moved = sum(abs(x - y) for x, y in zip(found[a][skip:], found[b][skip:], strict=True))
            assert moved <= step.mechanism.sensitivity.bound


@pytest.mark.parametrize(("kind", "n"), [("substitute", 2), ("substitute", None), ("add_remove", None)])
def test_a_value_moves_the_vector_of_coinpress_by_no_more_than_its_squared_sensitivity(
    kind: Any, n: int | None
) -> None:
    terms = ColumnTerms(Adjacency(kind), n)
    plan = CoinPressMean(WIDE, terms, Fraction(1), Fraction(0), Fraction(10), Fraction(1), rounds=2)
    cells = Cells((Segment(-20, 21, 1),), Fraction(3, 50), False)
    one, none = np.ones(1, np.int64), np.zeros(0, np.int64)
    for place, last in ((0, False), (1, True)):
        points = (HeldScans(cells, one * index, one) for index in range(-20, 21))  # from -1.2 to 1.2
        vectors = [plan._sums(point, 0.0, 1.0, last=last) for point in points]
        nothing = plan._sums(HeldScans(cells, none, none), 0.0, 1.0, last=last)
        if kind == "add_remove" or n is None:
            pairs = [(v, nothing) for v in vectors]
        else:
            pairs = list(itertools.combinations(vectors, 2))
        worst_found = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in pairs)
        steps = 1 if n is not None else terms.steps  # shown for one row; several rows add up
        assert worst_found <= plan.steps[place].sensitivity.squared / steps**2
        assert worst_found >= STEPS**2
