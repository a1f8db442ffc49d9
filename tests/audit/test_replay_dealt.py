"""Record-replay where records are dealt out by coins, and of statistics without bounds: sound, and broken ones refuted.

The coins are the same on both neighbours and the records stand in one order, so a block is the same block unless the
person who differs is in it. Nothing here is random.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.conformance.built_in_plans import ALL, COLUMNS, ONE_EACH, SIZED
from reticent.conformance.couplings import PaddedTable, filling, in_one_order
from reticent.conformance.findings import Finding
from reticent.conformance.plan_audit import PlanAudit, audit
from reticent.conformance.tape import Tosses
from reticent.data.query import Query, Records, Rows
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.regression import block_medians, blocks, coefficients
from reticent.statistics.regression.robust import SolutionStep
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand

KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
DELTA = "delta=0.00001"
SHORT_CUT, ROBUST = f"regress(k ~ x, method=R_S, {DELTA})", f"regress(k ~ x, method=R_H, {DELTA})"


def prepared(
    questions: tuple[str, ...], kind: Kind = "add_remove", epsilon: int = 20
) -> tuple[PreparedRelease, Schema]:
    schema = Schema(COLUMNS, Person(kind, None, 1, SIZED))
    within = Cost(Fraction(epsilon), None, None, "made up")
    return settle(understand(questions, schema), within, schema, SIZED, "approximate"), schema


def audited(*questions: str, kind: Kind = "add_remove", triples: int = 8) -> PlanAudit:
    return audit(*prepared(questions, kind), triples=triples)


def kinds(*questions: str, kind: Kind = "add_remove", triples: int = 8) -> set[str]:
    return {found.kind for found in audited(*questions, kind=kind, triples=triples).findings}


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(len(ONE_EACH)))
def test_regressions_by_blocks_pass_and_reach_what_they_declare(place: int, kind: Kind) -> None:
    found = audited(*ONE_EACH[place][1], kind=kind)
    assert found.findings == ()
    assert max(moved.ratio or 0 for moved in found.answers) == 1


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("place", range(len(ALL)))
def test_statistics_without_bounds_pass_by_group_too(place: int) -> None:
    epsilon, questions = ALL[place]
    found = audit(*prepared(questions, "add_remove", epsilon), triples=6)
    assert found.findings == ()
    assert found.calls >= 12


# --- records in one order ---------------------------------------------------------------------------------------------


class Fixed:
    """A table of given records."""

    def __init__(self, *records: tuple[int, ...]) -> None:
        self.records = np.array(records, np.int64).reshape(len(records), 2)

    def run(self, queries: Any, key: bytes, schema: Any = None) -> list[QueryResult]:
        return [
            QueryResult(records=self.records) if isinstance(query, Records) else QueryResult(vectors=((7,),))
            for query in queries
        ]


ASKED: tuple[Query, ...] = (Records(("x", "k"), (Fraction(1), Fraction(1))), Rows())


@pytest.mark.wide
def test_what_both_tables_have_comes_first_and_nothing_is_lost() -> None:
    here, there = Fixed((1, 1), (5, 5), (2, 2), (2, 2)), Fixed((2, 2), (9, 9), (1, 1))
    one, other = (side.run(ASKED, b"")[0].records for side in in_one_order(here, there))
    assert one is not None
    assert other is not None
    assert one[:2].tolist() == other[:2].tolist()
    assert sorted(one.tolist()) == sorted(here.records.tolist())
    assert sorted(other.tolist()) == sorted(there.records.tolist())
    assert in_one_order(here, there)[0].run(ASKED, b"")[1].vectors == ((7,),)


def test_a_regression_is_given_as_many_records_as_are_public() -> None:
    plan, _ = prepared((SHORT_CUT,))
    (query,) = plan.steps[0].queries
    more = filling(plan)
    (found,) = PaddedTable(Fixed((1, 1)), more).run([query], b"")
    assert found.records is not None
    assert len(found.records) == 1 + SIZED  # declared, so not public: some more
    plan, _ = prepared((SHORT_CUT,), "substitute")
    (found,) = PaddedTable(Fixed((1, 1), (2, 2)), filling(plan)).run([plan.steps[0].queries[0]], b"")
    assert found.records is not None
    assert len(found.records) == SIZED
    assert filling(prepared(("count",))[0]) == {}


@pytest.mark.wide
def test_a_word_for_each_record_is_the_same_word_whatever_the_number() -> None:
    one, other = Tosses("k"), Tosses("k")
    assert one.words(5).tolist() == other.words(6)[:5].tolist()
    assert one.words(5).tolist() == other.words(5).tolist()  # the next request, too
    assert one.bits(64) != one.bits(64)


# --- broken ones ------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_blocks_that_look_at_the_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted blocks: one row more moves many rows to another block."""
    honest = blocks.Blocks.coefficients

    def looking(self: Any, data: Any, entropy: Any) -> Any:
        honest(self, data, entropy)
        order = np.argsort(data.target, kind="stable")
        labels = np.empty(len(data), np.int64)
        labels[order] = np.arange(len(data)) * self.count // len(data)
        return blocks.solve(data, labels, self)

    monkeypatch.setattr(blocks.Blocks, "coefficients", looking)
    assert "sensitivity" in kinds(SHORT_CUT, triples=12)


@pytest.mark.wide
def test_half_the_noise_of_a_test_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = gate.passes

    def louder(mechanism: Any, distance: int, bar: Any, entropy: Any) -> bool:
        return passes(Geometric(mechanism.sensitivity, 2 * mechanism.epsilon), distance, bar, entropy)

    monkeypatch.setattr(gate, "passes", louder)
    assert kinds(SHORT_CUT) == {"proof"}


@pytest.mark.wide
def test_a_test_of_the_exact_distance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "passes", lambda mechanism, distance, bar, entropy: distance > bar.threshold)
    assert kinds(SHORT_CUT, triples=16) & {"calls", "answer", "proof"}


@pytest.mark.wide
def test_coordinates_with_the_noise_of_the_whole_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """R_H charges the loss of all its coordinates together; each of them with all of it is paid once, not twice."""
    sample = SolutionStep.sample

    def greedy(self: SolutionStep, data: Any, lattice: Any, entropy: Any) -> Any:
        draw = gate.draw

        def louder(mechanism: Any, exact: Any, coins: Any) -> Any:
            return draw(Geometric(mechanism.sensitivity, self.columns * mechanism.epsilon), exact, coins)

        with monkeypatch.context() as for_a_while:
            for_a_while.setattr(gate, "draw", louder)
            return sample(self, data, lattice, entropy)

    monkeypatch.setattr(SolutionStep, "sample", greedy)
    assert "proof" in kinds(ROBUST, triples=12)


@pytest.mark.wide
def test_noise_from_the_coins_that_deal_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = gate.draw

    def beside(mechanism: Any, exact: Any, entropy: Any) -> Any:
        if isinstance(mechanism, Geometric) and hasattr(entropy, "calls"):
            return tuple(int(x) + int(entropy.bits(8)) for x in exact)
        return draw(mechanism, exact, entropy)

    monkeypatch.setattr(gate, "draw", beside)
    assert kinds(SHORT_CUT, triples=12) == {"bypass"}


@pytest.mark.wide
def test_a_number_of_rows_that_is_not_public_in_the_labels_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = coefficients.RegressionDesign.labels

    def labels(self: Any, n: int, count: int, entropy: Any) -> Any:
        return (honest(self, n, count, entropy) + n) % count

    assert block_medians.ROUNDS > 1
    monkeypatch.setattr(coefficients.RegressionDesign, "labels", labels)
    found: list[Finding] = list(audited("regress(k ~ x, method=block_medians)", triples=12).findings)
    # every block has another number, and no coefficient moves: names of blocks are no output
    assert found == []

    def fewer(self: Any, n: int, count: int, entropy: Any) -> Any:
        return honest(self, n, count, entropy) // (1 + n % 2)

    monkeypatch.setattr(coefficients.RegressionDesign, "labels", fewer)
    assert "sensitivity" in kinds("regress(k ~ x, method=block_medians)", triples=12)
