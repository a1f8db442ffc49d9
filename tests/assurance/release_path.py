"""From the charge to the answer: what stands around the draws of a release, on made-up rows and the system's coins.

    print(check())                       part of ``reticent audit --kit``

A plan audit gives its own numbers for noise, and a mechanism that is tried alone sees no other. So here whole releases
run on a ledger in memory: the table says what the ledger held when its rows were asked for, answers of one release and
of several must have noise of their own, and a table that fails must leave the whole charge. Two of the noises are equal
by chance with probability below 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final, cast

from reticent.certificate.record import ReleaseMetadata
from reticent.conformance.kit import CaseCheck, KitReport
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Integer, Person, Schema
from reticent.data.table import EngineFailure
from reticent.entropy import system
from reticent.errors import Fault
from reticent.ledger import Ledger
from reticent.privacy.cost import Cost
from reticent.privacy.loss import Loss, PureDP
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from reticent.study.release import Release, run

if TYPE_CHECKING:
    from reticent.data.table import Table

CASE: Final = "a release, from charge to answer"
WIDEST: Final = 1 << 50  # bound of a sum: noise this wide hardly ever comes twice
RELEASES: Final = 20
EPSILON: Final = Fraction(2)


class Watched:
    """A table of public numbers that notes what the ledger had charged when its rows were asked for."""

    def __init__(self, ledger: Ledger, *, fails: bool) -> None:
        self._ledger, self._fails = ledger, fails
        self.seen: list[Loss] = []

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        self.seen.append(self._ledger.spent())
        if self._fails:
            raise EngineFailure("made up")
        return [QueryResult(vectors=((0,),)) for _ in queries]


def check() -> KitReport:
    """All lines; a right program fails one with probability below 1e-9."""
    return KitReport(tuple(_lines()))


def _lines() -> Iterator[CaseCheck]:
    plan, schema = _plan()
    spent, noises = [], []
    for _ in range(RELEASES):
        ledger, table = _start(plan, fails=False)
        made = _release(plan, schema, ledger, table)
        spent.append(table.seen == [plan.guarantee.loss] and ledger.spent() == plan.guarantee.loss)
        noises.append([int(answer.value) for answer in made.answers])
    yield _line("charged before rows are read", all(spent), f"{RELEASES} releases, the whole loss and once")
    flat = [noise for release in noises for noise in release]
    gaps = [b - a for release in noises for a, b in combinations(release, 2)]
    alone = len(flat) == len(set(flat)) and len(gaps) == len(set(gaps))
    yield _line("every answer has noise of its own", alone, f"{len(flat)} sums of nothing, none equal", 1e-10)
    ledger, table = _start(plan, fails=True)
    try:
        _release(plan, schema, ledger, table)
        told = ""
    except Fault as fault:
        told = str(fault)
    except EngineFailure:  # rows were asked for before there was a charge to keep
        told = ""
    kept = ledger.spent() == plan.guarantee.loss
    yield _line("a fault stays charged", bool(told) and kept, "a table that fails when its rows are asked for")


def _line(check: str, passed: bool, reason: str, error: float = 0.0) -> CaseCheck:
    return CaseCheck(CASE, check, "pass" if passed else "fail", reason, error)


def _plan() -> tuple[PreparedRelease, Schema]:
    """Two sums over columns of the same wide bounds: their noise has one law."""
    columns = {name: Integer(-WIDEST, WIDEST, missing=Fraction(0)) for name in ("x", "y")}
    schema = Schema(dict(columns), Person("add_remove", None, 1))
    asked = understand(("sum(x)", "sum(y)"), schema)
    return settle(asked, Cost(EPSILON), schema, None, "approximate"), schema


def _start(plan: PreparedRelease, *, fails: bool) -> tuple[Ledger, Watched]:
    budget = PureDP(2 * EPSILON)
    ledger = Ledger.create(None, title="made up", adjacency=plan.guarantee.adjacency, budget=budget)
    return ledger, Watched(ledger, fails=fails)


def _release(plan: PreparedRelease, schema: Schema, ledger: Ledger, table: Watched) -> Release:
    about = ReleaseMetadata("made up", "audit", "audit", "audit", "made up", "", None, None)
    rows = cast("Table", table)  # all that a release asks of a table is run
    return run(plan, rows, schema, ledger, about, system(), None, lambda stage: None)
