"""Magnitudes that S, M and TM buy of a column without bounds: replayed under both relations, and refuted if unpaid."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reticent.conformance.built_in_plans import COLUMNS, SIZED
from reticent.conformance.plan_audit import audit
from reticent.conformance.schemas import PEOPLE
from reticent.data.schema import Person, Schema
from reticent.privacy import compose
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.robust.plans import ANY_N, MagnitudePlan, unit_of
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand

DELTA = "delta=0.000001"  # lifted to three rows of a person it is below a tenth of 1 / people
PLANS = (
    (f"scale(y, {DELTA})", f"median(y, method=M, {DELTA})"),
    (f"trimmed_mean(y, method=TM, {DELTA})", f"iqr(y, method=S, {DELTA}) by b"),
)
CASES = [
    pytest.param(asked, kind, rows, id=f"{place}-{kind}-{rows}")
    for place, asked in enumerate(PLANS)
    for kind in ("add_remove", "substitute")
    for rows in (1, 3)
]


def planned(asked: tuple[str, ...], kind: Kind, rows: int) -> tuple[PreparedRelease, Schema]:
    people = SIZED if rows == 1 else None
    schema = Schema(COLUMNS, Person(kind, None if rows == 1 else "who", rows, people))
    within = Cost(Fraction(20), override="made up")
    return settle(understand(asked, schema), within, schema, people or PEOPLE, "approximate"), schema


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_bought_magnitude_moves_no_further_than_is_declared(kind: Kind) -> None:
    found = audit(*planned(PLANS[0], kind, 1), triples=6)
    assert found.verdict == "passed", found.words


@pytest.mark.audit
@pytest.mark.parametrize(("asked", "kind", "rows"), CASES)
def test_bought_magnitudes_by_many_neighbours(asked: tuple[str, ...], kind: Kind, rows: int) -> None:
    found = audit(*planned(asked, kind, rows), triples=200)
    assert found.verdict == "passed", found.words


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_magnitude_that_nothing_pays_for_is_refuted(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpaid(self: MagnitudePlan) -> Guarantee:
        made = self.make(unit_of(self.cells, None), self.n or ANY_N, self.price)
        before = [] if self.census is None else [self.census.guarantee]
        return compose.in_sequence([*before, made.guarantee], label=self.label)

    monkeypatch.setattr(MagnitudePlan, "guarantee", property(unpaid))
    found = audit(*planned(PLANS[0][:1], kind, 1), triples=2)
    assert found.verdict == "refuted"
    assert "pays for" in str(found), found.words
