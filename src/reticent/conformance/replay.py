"""Record-replay: one plan on two neighbouring made-up tables, with the same noisy numbers on both.

    first table   every call of the gate is noted, and the tape says what it drew
    second table  the same calls get the same outputs again

A plan may touch rows through its noise calls alone. So, given equal outputs, all that is published must be equal, and
the calls must be the same calls. Their exact inputs may differ by no more than each mechanism declares. Together they
may differ by no more than the plan is charged. Published is also what is certified and written (``written``). Whatever
exceeds is a ``Finding``. The rows are made up, so its words may show values. What this can and cannot show:
docs/theory/replay.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, cast

from reticent.conformance import scratch_ledger
from reticent.conformance.branch_charge import unpaid
from reticent.conformance.certificate_replay import CertificateInputs, Written, first_difference
from reticent.conformance.couplings import (
    KEY_BITS,
    WORD,
    PaddedTable,
    QueryRunner,
    RecordCounter,
    filling,
    in_one_order,
)
from reticent.conformance.diffs import alike
from reticent.conformance.findings import (
    CallPair,
    Finding,
    Kind,
    RunComparison,
    cause_of,
    excess,
    name_of,
    raised,
    seen_of,
    unlike,
)
from reticent.conformance.proofs import ProofLeaf, amount, as_drawn, charge_of, leaves_of, share_of
from reticent.conformance.tape import LIKELY, STYLES, Style, Tape, recorded
from reticent.data.query import Records
from reticent.mechanisms.gate import Call
from reticent.privacy import ptr
from reticent.privacy.compose import PROCESSED, SEQUENCE
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, PureDP
from reticent.statistics.answer import Answer
from reticent.study import release

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.data.table import Table
    from reticent.study.allocation import PreparedRelease

Published: TypeAlias = tuple[tuple[Answer, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Payment:
    """Payment for one call: a leaf of the proof, its place, and the number of such calls it pays for."""

    leaf: ProofLeaf
    place: int
    among: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Record of one run; ``records`` are the numbers of records it read, table by table."""

    calls: tuple[Call, ...]
    tossed: tuple[int, ...]
    records: frozenset[int]
    published: object
    written: Written | None
    warned: tuple[str, ...]
    raised: str | None


def replay(
    plan: PreparedRelease,
    here: QueryRunner,
    there: QueryRunner,
    *,
    tape: Tape | None = None,
    same: bool = False,
    schema: Schema | None = None,
) -> RunComparison:
    """Run ``plan`` on two neighbouring tables with the same noisy numbers, and compare.

    Parameters
    ----------
    plan : Prepared
        Steps with their guarantee, as a release has them.
    here, there : tables
        Neighbours in the sense of the plan's guarantee. They are read with the same key.
    tape : Tape, optional
        By default what the mechanisms draw by their own law.
    same : bool
        The two tables hold the same rows in another order: then nothing at all may change.
    schema : Schema, optional
        The public schema. With it, what is certified and written is compared too.

    Returns
    -------
    RunComparison
        Noise calls of both runs, with what differs between them.
    """
    return Replayer(plan, schema).compare(here, there, tape or Tape(), same=same)


class Replayer:
    """``replay`` for many pairs of one plan: what follows from the plan alone is worked out once."""

    def __init__(self, plan: PreparedRelease, schema: Schema | None = None) -> None:
        self.plan = plan
        self._paper = None if schema is None else CertificateInputs.of(plan, schema)
        self.leaves: tuple[ProofLeaf, ...] = tuple(leaves_of(plan))
        self.charge = charge_of(plan.guarantee)
        self.styles = LIKELY if _tests(plan.guarantee) or _deals(plan) else STYLES
        self._stated: dict[object, Guarantee] = {}
        self._looked: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._more = filling(plan) if _deals(plan) else {}
        self._by_keys: dict[object, Replayer] = {}

    def made_up_release(self, rows: QueryRunner, schema: Schema) -> tuple[Finding, ...]:
        """Findings on a release of the plan on made-up rows, charged to a ledger of its own (``scratch``)."""
        rows = PaddedTable(rows, self._more) if self._more else rows
        ran = self._run(rows, Tape(), ())
        if ran.raised is not None:
            return tuple(raised(ran.raised, ran.raised))
        return tuple(dict.fromkeys(scratch_ledger.found(self.plan, schema, rows, ran.calls)))

    def compare(self, here: QueryRunner, there: QueryRunner, tape: Tape, *, same: bool = False) -> RunComparison:
        """Run the plan on two neighbouring tables with the same noisy numbers.

        Parameters
        ----------
        here, there : QueryRunner
            Neighbouring tables.
        tape : Tape
            Noisy numbers of the first run.
        same : bool
            True if both tables hold the same rows.

        Returns
        -------
        RunComparison
        """
        if self._more:
            here, there = PaddedTable(here, self._more), PaddedTable(there, self._more)
        first = self._run(here, tape, ())
        if len(first.tossed) > 1:  # records are dealt out by coins: those of both tables in one order
            here, there = in_one_order(here, there)
            first = self._run(here, tape, ())
        second = self._run(there, tape, first.calls)
        failed = raised(first.raised, second.raised)
        if failed:
            return self._ended(failed)
        findings = [*_tossed(first, second), *unlike(first.calls, second.calls)]
        if findings:
            return self._ended(findings)
        proof = self._proof(first.calls)
        found, paid = proof._matched(first.calls)
        found += [Finding("proof", "", text) for text in proof._unpaid(first.calls)]
        seen = [
            seen_of(one, other, *(("", 1) if by is None else (by.leaf.answer, by.leaf.times)))
            for one, other, by in zip(first.calls, second.calls, paid, strict=True)
        ]
        for call, other, one, by in zip(first.calls, second.calls, seen, paid, strict=True):
            found += excess(call, other, one, 1 if by is None else by.leaf.times, same=same)
        share = proof._total(paid, seen, found)
        found += _published(first, second)
        return RunComparison(tuple(seen), share, tuple(found), _size(first))

    def _proof(self, calls: Sequence[Call]) -> Replayer:
        """The proof at the keys of groups that a run has found: with more of them it has more leaves."""
        drawn = as_drawn(self.plan, calls)
        if drawn is self.plan:
            return self
        keys = drawn.chosen, tuple(item.keys for item in drawn.asked)
        if keys not in self._by_keys:
            self._by_keys[keys] = Replayer(drawn)
        return self._by_keys[keys]

    def _ended(self, findings: list[Finding]) -> RunComparison:
        return RunComparison((), None, tuple(findings))

    # --- running ------------------------------------------------------------------------------------------------------

    def _run(self, rows: QueryRunner, tape: Tape, earlier: tuple[Call, ...]) -> RunRecord:
        recorder, counted = recorded(tape, earlier), RecordCounter(rows)
        published, written = None, None
        failed = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                # draw asks a table for nothing but ``run``
                published = release.draw(self.plan, cast("Table", counted), recorder, lambda stage: None)
                written = None if self._paper is None else self._paper.write(*published, files=tape.files)
            except Exception as cause:
                failed = cause_of(cause)
        warned = tuple(f"{item.category.__name__}: {item.message}" for item in caught)
        calls, tossed = tuple(recorder.calls), tuple(recorder.tossed)
        return RunRecord(calls, tossed, frozenset(counted.records), published, written, warned, failed)

    # --- calls against the proof --------------------------------------------------------------------------------------

    def _matched(self, calls: Sequence[Call]) -> tuple[list[Finding], list[Payment | None]]:
        """The leaf of the proof that pays for each call, in order; leaves may be left over where no reply was given.

        A leaf may pay for several calls: coordinates that are drawn one by one, whose losses come to the leaf's.
        """
        findings: list[Finding] = []
        matched: list[Payment | None] = []
        at, left, last = 0, 0, None
        for call in calls:
            stated = self._guarantee(call.mechanism)
            if left and last is not None and stated is not None and _among(last.leaf.guarantee, stated) == last.among:
                left -= 1
                matched.append(last)
                continue
            coins = () if stated is None or stated.by != SEQUENCE else stated.parts
            last = None if stated is None else self._next(at, coins[0] if coins else stated)
            if last is not None and coins:  # one call of several equal parts: their leaves stand side by side
                several = [leaf.guarantee for leaf in self.leaves[last.place : last.place + len(coins)]]
                last = replace(last, place=last.place + len(coins) - 1) if several == list(coins) else None
            if last is None:
                findings.append(Finding("proof", "", f"no part of the proof pays for {name_of(call)}"))
            else:
                at, left = last.place + 1, last.among - 1
            matched.append(last)
        return findings, matched

    def _unpaid(self, calls: Sequence[Call]) -> tuple[str, ...]:
        """Calls that the proof does not pay for; the same kinds of calls are looked at once."""
        kinds = tuple(call.mechanism for call in calls)
        if kinds not in self._looked:
            self._looked[kinds] = unpaid(self.plan.guarantee, calls)
        return self._looked[kinds]

    def _next(self, at: int, stated: Guarantee) -> Payment | None:
        """The next leaf of the loss stated, else the next that is a multiple of it."""
        several = None
        for place in range(at, len(self.leaves)):
            among = _among(self.leaves[place].guarantee, stated)
            if among == 1:
                return Payment(self.leaves[place], place, 1)
            if among > 1 and several is None:
                several = Payment(self.leaves[place], place, among)
        return several

    def _guarantee(self, mechanism: object) -> Guarantee | None:
        if mechanism not in self._stated:
            stated = getattr(mechanism, "guarantee", None)
            if not isinstance(stated, Guarantee):
                return None
            while stated.by == PROCESSED:  # what is paid for is what was processed
                (stated,) = stated.parts
            self._stated[mechanism] = stated
        return self._stated[mechanism]

    def _total(self, paid: Sequence[Payment | None], seen: Sequence[CallPair], found: list[Finding]) -> Fraction | None:
        """The share of the charge this pair lost; every node whose parts lose more than it says is a finding."""
        by_leaf: dict[int, Fraction | None] = {}
        for by, one in zip(paid, seen, strict=True):
            if by is not None:
                before = by_leaf.get(id(by.leaf), Fraction(0))
                by_leaf[id(by.leaf)] = None if before is None or one.ratio is None else before + one.ratio / by.among
        amounts = iter([by_leaf.get(id(leaf), Fraction(0)) for leaf in self.leaves])  # 0: not drawn, after no reply
        beyond: list[tuple[str, str]] = []
        lost = amount(self.plan.guarantee, amounts, beyond)
        found += [Finding("loss", label, what) for label, what in beyond]
        return share_of(lost, self.charge)


# --- comparing --------------------------------------------------------------------------------------------------------


def _tossed(first: RunRecord, second: RunRecord) -> list[Finding]:
    """Coins outside the gate: the key, then for each dealing one word for each record."""
    keys = first.tossed[:1] == second.tossed[:1] == (KEY_BITS,)
    words = all(size in {WORD * n for n in ran.records} for ran in (first, second) for size in ran.tossed[1:])
    if keys and words and len(first.tossed) == len(second.tossed):
        return []
    sizes = " and ".join(str(list(ran.tossed)[:8]) for ran in (first, second))
    return [Finding("bypass", "", f"coins are tossed outside the gate, in bits: {sizes}; expected [{KEY_BITS}]")]


def _size(ran: RunRecord) -> int:
    """The cells published, and a tenth of the records read: what a pair takes, in time."""
    answers, _ = cast("Published", ran.published)  # what ``draw`` gives
    return sum(len(answer.cells) for answer in answers) + sum(ran.records) // 10


def _published(first: RunRecord, second: RunRecord) -> Iterator[Finding]:
    if first.warned != second.warned:
        yield Finding("warning", "", f"warnings differ: {list(first.warned)} and {list(second.warned)}")
    if not alike(first.published, second.published):
        for name, what in _differing(first.published, second.published):
            yield Finding("answer", name, f"{what}, though every noisy number was the same")
    elif first.written is not None and second.written is not None and first.written != second.written:
        what = first_difference(first.written, second.written)
        yield Finding("written", "", f"{what}, though every noisy number and every answer was the same")


def _differing(one: object, other: object) -> Iterator[tuple[str, str]]:
    """The name of each answer that differs, with how."""
    (mine, caveats), (theirs, others) = cast("Published", one), cast("Published", other)  # what ``draw`` gives
    if len(mine) != len(theirs):
        yield "", f"{len(mine)} answers on one neighbour, {len(theirs)} on the other"
    for a, b in zip(mine, theirs, strict=False):
        if not alike(a, b):
            yield a.name, _differs(a, b)
    if caveats != others:
        yield "", f"the caveats are {list(caveats)} and {list(others)}"


def _differs(a: Answer, b: Answer) -> str:
    if a.name != b.name:
        return f"the answer is '{a.name}' on one neighbour and '{b.name}' on the other"
    if a.caveats != b.caveats:
        return f"the caveats are {list(a.caveats)} and {list(b.caveats)}"
    if not alike([cell.label for cell in a], [cell.label for cell in b]):
        return f"the labels are {[c.label for c in a][:4]} and {[c.label for c in b][:4]}"
    for one, other in zip(a, b, strict=True):
        if not alike(one, other):
            return f"{one.label or 'the answer'} is {one.outcome!r} and {other.outcome!r}"
    return "the words about it differ"


def _among(leaf: Guarantee, stated: Guarantee) -> int:
    """Number of calls of the loss ``stated`` that a leaf of the same theorem pays for; 0 for none.

    Parameters may be in other units (a bin, or parts of it): what moved is compared with what the mechanism that drew
    declares, and the loss is what is paid.
    """
    if (leaf.adjacency, leaf.by) != (stated.adjacency, stated.by):
        return 0
    match leaf.loss, stated.loss:
        case (PureDP(whole), PureDP(part)) | (ZCDP(whole), ZCDP(part)) if part and (whole / part).denominator == 1:
            return int(whole / part)
        case _:
            return int(leaf.loss == stated.loss)


def _deals(plan: PreparedRelease) -> bool:
    """Tell if records are read: dealing them out into a bought number of blocks is slow for absurd numbers."""
    return any(isinstance(query, Records) for step in plan.all_steps for query in step.queries)


def _tests(tree: Guarantee) -> bool:
    """Tell if a release in the tree is made only after a test."""
    return tree.by.name in ptr.NAMES or any(_tests(part) for part in tree.parts)


__all__ = [
    "STYLES",
    "RunComparison",
    "Finding",
    "Kind",
    "Replayer",
    "QueryRunner",
    "CallPair",
    "Style",
    "Tape",
    "replay",
]
