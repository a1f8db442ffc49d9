"""Record-replay: one plan on two neighbouring made-up tables, with the same noisy numbers on both.

    first table   every call of the gate is noted, and the tape says what it drew
    second table  the same calls get the same outputs again

A plan may touch rows through its noise calls alone. So, given equal outputs, all that is published must be equal; the
calls must be the same calls; and the exact numbers that go in may differ by no more than each mechanism declares and,
taken together, by no more than the plan is charged. Published is also what is certified and written (``written``).
Whatever exceeds is a ``Finding``. The rows are made up, so its words may show values. What this can and cannot show:
docs/theory/replay.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from reticent.audit.changes import Change, alike, change_of, declared_of, unfit
from reticent.audit.proofs import Leaf, amount, charge_of, leaves_of, share_of
from reticent.audit.written import Paper, Written, first_difference
from reticent.data.query import Query
from reticent.data.table import EngineFailure, Result
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms.exponential import Candidates
from reticent.mechanisms.gate import Call, Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.specimen import Mechanism
from reticent.privacy import ptr
from reticent.privacy.compose import PROCESSED
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import about, show
from reticent.statistics.answer import Answer

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.data.table import Table
    from reticent.study.asking import Prepared

Kind: TypeAlias = Literal[
    "answer",
    "arithmetic",
    "bypass",
    "calls",
    "exception",
    "loss",
    "order",
    "proof",
    "public",
    "reader",
    "sensitivity",
    "type",
    "warning",
    "written",
]
Style: TypeAlias = Literal["law", "still", "many", "far"]

STYLES: Final[tuple[Style, ...]] = ("law", "many", "still", "far")
LIKELY: Final[tuple[Style, ...]] = ("law", "still")  # where a test that passes by luck is what delta is for
Published: TypeAlias = tuple[tuple[Answer, ...], tuple[str, ...]]

FAR: Final = 10**7  # so many values that no quantile is refused
KEY_BITS: Final = 256  # the one thing a release tosses outside the gate: the key by which rows are kept


class Rows(Protocol):
    """Anything that answers queries as ``Table.run`` does."""

    def run(self, queries: Sequence[Query], key: bytes) -> list[Result]: ...


@dataclass(frozen=True, slots=True)
class Tape:
    """What mechanisms are made to draw: by their own law, nothing added, much added, or far to either side.

    Every output of a tape is one the mechanism could have drawn, so a leak that any of them shows is a leak. ``coins``
    names the coins tossed outside the gate, which a release makes the key of (which rows of a person are kept).
    ``files``: the files of the release are written too, which takes longer than the certificate alone.
    """

    style: Style = "law"
    key: int = 0
    coins: int = 0
    files: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that should not be: what kind, at which answer, and in words."""

    kind: Kind
    answer: str
    words: str


@dataclass(frozen=True, slots=True)
class Seen:
    """One noise call as both runs made it. ``ratio`` is observed to declared, squared for an L2 norm; at most 1."""

    answer: str
    mechanism: str
    change: Change
    ratio: Fraction | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side.

    ``share`` is how much of the charged loss the exact numbers of this pair account for, at most 1; None where the
    losses of its parts do not say, or where nothing is charged. ``size`` is the number of cells published.
    """

    calls: tuple[Seen, ...]
    share: Fraction | None
    findings: tuple[Finding, ...]
    size: int = 0

    @property
    def ok(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run did."""

    calls: tuple[Call, ...]
    tossed: tuple[int, ...]
    published: object
    written: Written | None
    warned: tuple[str, ...]
    raised: str | None


def replay(
    plan: Prepared,
    here: Rows,
    there: Rows,
    *,
    tape: Tape | None = None,
    same: bool = False,
    schema: Schema | None = None,
) -> Comparison:
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
    """
    return Replayer(plan, schema).compare(here, there, tape or Tape(), same=same)


class Replayer:
    """``replay`` for many pairs of one plan: what follows from the plan alone is worked out once."""

    def __init__(self, plan: Prepared, schema: Schema | None = None) -> None:
        self.plan = plan
        self._paper = None if schema is None else Paper.of(plan, schema)
        self.leaves: tuple[Leaf, ...] = tuple(leaves_of(plan))
        self.charge = charge_of(plan.guarantee)
        self.styles = LIKELY if _tests(plan.guarantee) else STYLES
        self._stated: dict[object, Guarantee] = {}

    def compare(self, here: Rows, there: Rows, tape: Tape, *, same: bool = False) -> Comparison:
        first = self._run(here, tape, ())
        second = self._run(there, tape, first.calls)
        if first.raised is not None or second.raised is not None:
            return self._ended(_raised(first, second))
        findings = [*_tossed(first, second), *_unlike(first.calls, second.calls)]
        if findings:
            return self._ended(findings)
        found, leaves = self._matched(first.calls)
        seen = [
            self._seen(one, other, leaf) for one, other, leaf in zip(first.calls, second.calls, leaves, strict=True)
        ]
        for call, other, one, leaf in zip(first.calls, second.calls, seen, leaves, strict=True):
            found += _excess(call, other, one, leaf, same=same)
        share = self._total(leaves, seen, found)
        found += _published(first, second)
        return Comparison(tuple(seen), share, tuple(found), _size(first))

    def _ended(self, findings: list[Finding]) -> Comparison:
        return Comparison((), None, tuple(findings))

    # --- running ------------------------------------------------------------------------------------------------------

    def _run(self, rows: Rows, tape: Tape, earlier: tuple[Call, ...]) -> Ran:
        from reticent.study.release import draw

        reply = _reply(tape)
        place = 0

        def respond(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
            nonlocal place
            place += 1
            if place <= len(earlier) and _alike(earlier[place - 1], mechanism, exact, start):
                return earlier[place - 1].output
            return reply(mechanism, exact, start)

        recorder = Recorder(respond, Replayed(f"audit coins {tape.coins}"))
        published, written = None, None
        raised = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                # draw asks a table for nothing but ``run``
                published = draw(self.plan, cast("Table", rows), recorder, lambda stage: None)
                written = None if self._paper is None else self._paper.write(*published, files=tape.files)
            except Exception as cause:
                raised = _cause(cause)
        warned = tuple(f"{item.category.__name__}: {item.message}" for item in caught)
        return Ran(tuple(recorder.calls), tuple(recorder.tossed), published, written, warned, raised)

    # --- calls against the proof --------------------------------------------------------------------------------------

    def _matched(self, calls: Sequence[Call]) -> tuple[list[Finding], list[Leaf | None]]:
        """The leaf of the proof that pays for each call, in order; leaves may be left over where no reply was given."""
        findings: list[Finding] = []
        matched: list[Leaf | None] = []
        rest = iter(self.leaves)
        for call in calls:
            stated = self._guarantee(call.mechanism)
            leaf = None if stated is None else next((leaf for leaf in rest if _equal(leaf.guarantee, stated)), None)
            if leaf is None:
                findings.append(Finding("proof", "", f"no part of the proof pays for {_name(call)}"))
            matched.append(leaf)
        return findings, matched

    def _guarantee(self, mechanism: object) -> Guarantee | None:
        if mechanism not in self._stated:
            stated = getattr(mechanism, "guarantee", None)
            if not isinstance(stated, Guarantee):
                return None
            while stated.by == PROCESSED:  # what is paid for is what was processed
                (stated,) = stated.parts
            self._stated[mechanism] = stated
        return self._stated[mechanism]

    def _seen(self, call: Call, other: Call, leaf: Leaf | None) -> Seen:
        change = change_of(call, other)
        answer, times = ("", 1) if leaf is None else (leaf.answer, leaf.times)
        declared = declared_of(call.mechanism)
        moved = None if declared is None else change.in_norm(declared.norm)
        if declared is None or moved is None:
            return Seen(answer, _name(call), change, None)
        return Seen(
            answer, _name(call), change, moved / (declared.bound * times ** (2 if declared.norm == "L2" else 1))
        )

    def _total(self, leaves: Sequence[Leaf | None], seen: Sequence[Seen], found: list[Finding]) -> Fraction | None:
        """The share of the charge this pair lost; every node whose parts lose more than it says is a finding."""
        by_leaf = {id(leaf): one.ratio for leaf, one in zip(leaves, seen, strict=True) if leaf is not None}
        amounts = iter([by_leaf.get(id(leaf), Fraction(0)) for leaf in self.leaves])  # 0: not drawn, after no reply
        beyond: list[tuple[str, str]] = []
        lost = amount(self.plan.guarantee, amounts, beyond)
        found += [Finding("loss", label, what) for label, what in beyond]
        return share_of(lost, self.charge)


# --- the tape ---------------------------------------------------------------------------------------------------------


def _reply(tape: Tape) -> Callable[[object, object, NDArray[np.int64] | None], object]:
    stream = Replayed(f"audit tape {tape.key}")

    def choice(exact: Candidates, start: NDArray[np.int64] | None) -> int:
        """A candidate of public weight: the best, or the first, or the last."""
        places = np.array([place for place, weight in enumerate(exact.weights.tolist()) if weight > 0])
        scores = exact.scores[places]
        place = int(places[{"still": int(np.argmin(scores)), "many": 0}.get(tape.style, -1)])
        return place if start is None else int(start[place])

    def reply(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if tape.style != "law" and isinstance(exact, Candidates):
            return choice(exact, start)
        if tape.style != "law" and isinstance(mechanism, Geometric | Gaussian) and isinstance(exact, Sequence):
            far = FAR * int(mechanism.scale if isinstance(mechanism, Geometric) else mechanism.variance) + FAR
            added = {"still": 0, "many": far}.get(tape.style)
            return tuple(
                int(value) + (added if added is not None else far if stream.bits(1) else -far) for value in exact
            )
        return _by_law(cast("Mechanism[object, object]", mechanism), exact, start, stream)  # it came by the gate

    return reply


def _by_law(
    mechanism: Mechanism[object, object], exact: object, start: NDArray[np.int64] | None, stream: Entropy
) -> object:
    from reticent.mechanisms import gate

    if start is None:
        return gate.draw(mechanism, exact, stream)
    # a choice among runs is one of candidates
    return gate.choose(cast("Mechanism[Candidates, int]", mechanism), cast(Candidates, exact), start, stream)


def _alike(earlier: Call, mechanism: object, exact: object, start: object) -> bool:
    """Whether the second run asks what the first one did, so that the same output is a possible one."""
    return (
        earlier.mechanism == mechanism
        and (earlier.start is None) == (start is None)
        and (start is not None or _length(earlier.exact) == _length(exact))
    )


# --- comparing --------------------------------------------------------------------------------------------------------


def _raised(first: Ran, second: Ran) -> list[Finding]:
    if first.raised == second.raised:
        return [Finding("exception", "", f"the plan fails on both neighbours: {first.raised}")]
    one, other = (ran.raised or "nothing" for ran in (first, second))
    return [Finding("exception", "", f"one neighbour raises {one}; the other raises {other}")]


def _cause(cause: Exception) -> str:
    """Type and text; the engine's text but for its reference, which differs each time."""
    return type(cause).__name__ if isinstance(cause, EngineFailure) else f"{type(cause).__name__}: {cause}"


def _tossed(first: Ran, second: Ran) -> list[Finding]:
    if first.tossed == second.tossed == (KEY_BITS,):
        return []
    sizes = " and ".join(str(list(ran.tossed)[:8]) for ran in (first, second))
    return [Finding("bypass", "", f"coins are tossed outside the gate, in bits: {sizes}; expected [{KEY_BITS}]")]


def _unlike(first: Sequence[Call], second: Sequence[Call]) -> list[Finding]:
    """Whether the same calls were made, in the same order, with the same public parts."""
    if len(first) != len(second):
        return [Finding("calls", "", f"{len(first)} noise calls on one neighbour, {len(second)} on the other")]
    found = []
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        if type(one.mechanism) is not type(other.mechanism):
            found.append(Finding("calls", "", f"call {place} is {_name(one)} on one neighbour, {_name(other)} there"))
        elif one.mechanism != other.mechanism:
            what = f"{one.mechanism!r} and {other.mechanism!r}"
            found.append(Finding("public", "", f"call {place}: the mechanism depends on the rows: {what}"))
        elif (why := unfit(one, other)) is not None:
            found.append(Finding(why.kind, "", f"call {place}, {_name(one)}: {why.words}"))
    return found


def _excess(call: Call, other: Call, seen: Seen, leaf: Leaf | None, *, same: bool) -> Iterator[Finding]:
    declared = declared_of(call.mechanism)
    if same and (seen.change.linf or 0) > 0:
        what = f"{seen.mechanism} gets other numbers when the rows stand in another order: {_values(call, other)}"
        yield Finding("order", seen.answer, what)
    elif declared is not None and seen.ratio is not None and seen.ratio > 1:
        moved = seen.change.in_norm(declared.norm)
        limit = declared.bound * (1 if leaf is None else leaf.times ** (2 if declared.norm == "L2" else 1))
        what = f"{seen.mechanism} declares that {declared.words} moves by {show(limit)} at most, and it moved by "
        yield Finding("sensitivity", seen.answer, f"{what}{about(moved or Fraction(0))}: {_values(call, other)}")


def _size(ran: Ran) -> int:
    answers, _ = cast("Published", ran.published)  # what ``draw`` gives
    return sum(len(answer.cells) for answer in answers)


def _published(first: Ran, second: Ran) -> Iterator[Finding]:
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


def _equal(leaf: Guarantee, stated: Guarantee) -> bool:
    """Of one loss by one theorem. Parameters may be in other units (a bin, or parts of it): what moved is compared with
    what the mechanism that drew declares, and the loss is what is paid."""
    return (leaf.loss, leaf.adjacency, leaf.by) == (stated.loss, stated.adjacency, stated.by)


def _tests(tree: Guarantee) -> bool:
    """Whether a release in the tree is made only after a test."""
    return tree.by.name in ptr.NAMES or any(_tests(part) for part in tree.parts)


def _name(call: Call) -> str:
    return type(call.mechanism).__name__


def _length(exact: object) -> int | None:
    return len(exact.scores) if isinstance(exact, Candidates) else len(exact) if isinstance(exact, Sequence) else None


def _values(call: Call, other: Call) -> str:
    shown = [repr(item.exact.scores if isinstance(item.exact, Candidates) else item.exact) for item in (call, other)]
    return " and ".join(text if len(text) <= 60 else text[:57] + "…" for text in shown)
