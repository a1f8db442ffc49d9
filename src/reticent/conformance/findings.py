"""Findings of a replay: two runs side by side, call by call, and every difference that should not be.

    unlike(first, second)      other calls, other mechanisms, other public parts
    excess(...)                numbers that moved further than their mechanism declares
    differs(first, second)     failures, warnings and coins of one run only

The rows are made up, so that words may show values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from reticent.conformance.diffs import Change, change_of, declared_of, unfit
from reticent.data.table import EngineFailure
from reticent.mechanisms.exponential import Candidates
from reticent.mechanisms.gate import Call
from reticent.privacy.numbers import about, show

Kind: TypeAlias = Literal[
    "answer",
    "bypass",
    "calls",
    "certificate",
    "exception",
    "ledger",
    "loss",
    "order",
    "proof",
    "public",
    "release",
    "sensitivity",
    "type",
    "warning",
    "written",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that should not be: what kind, at which answer, and in words."""

    kind: Kind
    answer: str
    words: str


@dataclass(frozen=True, slots=True)
class CallPair:
    """One noise call as both runs made it. ``ratio`` is observed to declared, squared for an L2 norm; at most 1."""

    answer: str
    mechanism: str
    change: Change
    ratio: Fraction | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side.

    ``share`` is the part of the charged loss that the exact numbers of this pair account for, at most 1. It is None if
    the losses of its parts do not say, or if nothing is charged. ``size`` is the number of cells published.
    """

    calls: tuple[CallPair, ...]
    share: Fraction | None
    findings: tuple[Finding, ...]
    size: int = 0

    @property
    def ok(self) -> bool:
        return not self.findings


def unlike(first: Sequence[Call], second: Sequence[Call]) -> list[Finding]:
    """Findings on calls that differ between the runs in number, order or public parts."""
    if len(first) != len(second):
        return [Finding("calls", "", f"{len(first)} noise calls on one neighbour, {len(second)} on the other")]
    found = []
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        if type(one.mechanism) is not type(other.mechanism):
            found.append(
                Finding("calls", "", f"call {place} is {name_of(one)} on one neighbour, {name_of(other)} there")
            )
        elif one.mechanism != other.mechanism:
            what = f"{one.mechanism!r} and {other.mechanism!r}"
            found.append(Finding("public", "", f"call {place}: the mechanism depends on the rows: {what}"))
        elif one.bar != other.bar:
            found.append(Finding("public", "", f"call {place}: what is reached depends on the rows: {name_of(one)}"))
        elif (why := unfit(one, other)) is not None:
            found.append(Finding(why.kind, "", f"call {place}, {name_of(one)}: {why.words}"))
    return found


def seen_of(call: Call, other: Call, answer: str = "", times: int = 1) -> CallPair:
    """Observed change of a pair of calls; ``times`` steps of the mechanism's own neighbours lie between the tables.

    Parameters
    ----------
    call, other : Call
        The same noise call on two tables.
    answer : str
        Name of the answer.
    times : int
        Steps of the mechanism's neighbours between the tables.

    Returns
    -------
    CallPair
    """
    change, declared = change_of(call, other), declared_of(call.mechanism)
    moved = None if declared is None else change.in_norm(declared.norm)
    if declared is None or moved is None:
        return CallPair(answer, name_of(call), change, None)
    bound = declared.bound * times ** (2 if declared.norm == "L2" else 1)
    return CallPair(answer, name_of(call), change, moved / bound)


def excess(call: Call, other: Call, seen: CallPair, times: int = 1, *, same: bool = False) -> Iterator[Finding]:
    """A finding where numbers moved too far, or at all where the same rows only stand in another order.

    Parameters
    ----------
    call, other : Call
        The same noise call on two tables.
    seen : CallPair
        Their observed change.
    times : int
        Steps of the mechanism's neighbours between the tables.
    same : bool
        True if both tables hold the same rows.

    Returns
    -------
    iterator of Finding
    """
    declared = declared_of(call.mechanism)
    if same and (seen.change.linf or 0) > 0:
        what = f"{seen.mechanism} gets other numbers when the rows stand in another order: {values_of(call, other)}"
        yield Finding("order", seen.answer, what)
    elif declared is not None and seen.ratio is not None and seen.ratio > 1:
        moved = seen.change.in_norm(declared.norm)
        limit = declared.bound * times ** (2 if declared.norm == "L2" else 1)
        what = f"{seen.mechanism} declares that {declared.words} moves by {show(limit)} at most, and it moved by "
        yield Finding("sensitivity", seen.answer, f"{what}{about(moved or Fraction(0))}: {values_of(call, other)}")


def raised(one: str | None, other: str | None) -> list[Finding]:
    """Findings on runs that failed, with the failure."""
    if one is None and other is None:
        return []
    if one == other:
        return [Finding("exception", "", f"it fails on both neighbours: {one}")]
    return [Finding("exception", "", f"one neighbour raises {one or 'nothing'}; the other raises {other or 'nothing'}")]


def cause_of(cause: Exception) -> str:
    """Type and text; the engine's text but for its reference, which differs each time."""
    return type(cause).__name__ if isinstance(cause, EngineFailure) else f"{type(cause).__name__}: {cause}"


def name_of(call: Call) -> str:
    """The class of the mechanism."""
    return type(call.mechanism).__name__


def values_of(call: Call, other: Call) -> str:
    """Inputs on either side, in short."""
    shown = [repr(item.exact.scores if isinstance(item.exact, Candidates) else item.exact) for item in (call, other)]
    return " and ".join(text if len(text) <= 60 else text[:57] + "…" for text in shown)
