"""The noise calls of a session against what was charged for it, sparse vectors by their rules.

A sparse vector is paid for as a whole, whatever number of questions it has, so its calls have no leaf each. Its rules:
one threshold for each part that was reserved, drawn for 0 and after the part was; a fresh noise for every question,
compared with that threshold; no more answers above than are paid for; a value, where values are, for each of them, of a
noise of its own; questions that are said to move together do; and scales whose losses come to what is charged at most.
Each is a step of the proof in ``mechanisms.sparse_vector``, and each of the variants that Lyu, Su and Li (2017) refute
breaks one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import cast

from reticent.conformance.diffs import change_of, declared_of
from reticent.conformance.findings import name_of
from reticent.conformance.proofs import below
from reticent.mechanisms.gate import Call
from reticent.mechanisms.sparse_vector import NoiseTerm, SparseVector
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, PureDP, words
from reticent.privacy.numbers import about


def by_rules(
    calls: Sequence[tuple[Call, Call]], reserved: Sequence[int], asked: Sequence[tuple[int, int]], charged: Guarantee
) -> tuple[Fraction | None, list[str]]:
    """The share of a pure charge that this pair accounts for, and what breaks a rule, in words.

    Parameters
    ----------
    calls : sequence of (here, there)
    reserved : sequence of int
        How many parts were reserved when each call was made.
    asked : sequence of (first, stop)
        The calls made for each question that was answered.
    charged : Guarantee
        Of all parts together.
    """
    walk = _Walk([leaf for leaf, _ in below(charged, 1)])
    for (call, other), parts in zip(calls, reserved, strict=True):
        walk.step(call, other, parts)
    walk.broken += _unanswered([here for here, _ in calls], asked)
    if not isinstance(charged.loss, PureDP) or walk.lost is None:
        return None, walk.broken
    if walk.lost > charged.loss.epsilon:
        walk.broken.append(f"ε {about(walk.lost)} was observed in all where {words(charged.loss)} is charged")
    return walk.lost / charged.loss.epsilon, walk.broken


def cost_of(whole: SparseVector) -> tuple[Fraction, Fraction, Fraction]:
    """The losses of threshold, questions and values, by their scales: the proof's steps (1), (3) and (4)."""
    reach, often = whole.sensitivity.bound, whole.positives * (2 if whole.direction == "either" else 1)
    values = whole.positives * reach / NoiseTerm(whole, "value").scale if whole.values else Fraction(0)
    return reach / NoiseTerm(whole, "threshold").scale, often * reach / NoiseTerm(whole, "question").scale, values


class _Walk:
    """One pass over the calls of both runs."""

    def __init__(self, leaves: list[Guarantee]) -> None:
        self.rest, self.begun = iter(leaves), 0
        self.broken: list[str] = []
        self.lost: Fraction | None = Fraction(0)
        self.talk: _Talk | None = None

    def step(self, call: Call, other: Call, parts: int) -> None:
        match call.mechanism:
            case NoiseTerm(whole, "threshold"):
                self.begun += 1
                self._begin(call, other, whole)
                if parts < self.begun:
                    self.broken.append(f"conversation {self.begun} is drawn before it is reserved")
            case NoiseTerm(whole, "question" | "value" as noise):
                if self.talk is None or self.talk.whole != whole:
                    self.broken.append(f"a {noise} of a conversation that has no threshold")
                    return
                self.broken += self.talk.question(call, other) if noise == "question" else self.talk.value(call, other)
                self._add(self.talk.last)
            case _:
                self._other(call, other)

    def _begin(self, call: Call, other: Call, whole: SparseVector) -> None:
        self.talk = _Talk(whole, _output(call))
        if (call.exact, other.exact) != ((0,), (0,)):
            self.broken.append("something else than 0 goes into a threshold")
        leaf = next((leaf for leaf in self.rest if leaf.parameters == whole.guarantee.parameters), None)
        if leaf is None:
            self.broken.append(f"no part of what is charged pays for conversation {self.begun}")
            return
        one, two, three = cost_of(whole)
        match leaf.loss:
            case PureDP(epsilon):
                beyond = one + two + three > epsilon
            case ZCDP(rho):
                beyond = (one + 2 * two + 2 * three) ** 2 / 8 > rho or whole.direction != "together"
                self.lost = None
            case _:
                beyond = True
        if beyond:
            self.broken.append(f"scales lose ε {about(one + two + three)} together where {words(leaf.loss)} is charged")

    def _other(self, call: Call, other: Call) -> None:
        stated = getattr(call.mechanism, "guarantee", None)
        leaf = next((leaf for leaf in self.rest if leaf == stated), None)
        if leaf is None:
            self.broken.append(f"no part of what is charged pays for {name_of(call)}")
            return
        declared = declared_of(call.mechanism)
        moved = None if declared is None else change_of(call, other).in_norm(declared.norm)
        if declared is None or moved is None or not isinstance(leaf.loss, PureDP):
            self.lost = None
        else:
            self._add(leaf.loss.epsilon * moved / declared.bound)

    def _add(self, more: Fraction) -> None:
        self.lost = None if self.lost is None else self.lost + more


class _Talk:
    """One conversation as far as it went. ``last`` is what the last call may have lost, for this pair of tables."""

    def __init__(self, whole: SparseVector, threshold: int) -> None:
        self.whole, self.threshold = whole, threshold
        self.above, self.due = 0, False
        self.moved, self.signs = 0, {0}
        self.last = Fraction(0)

    def question(self, call: Call, other: Call) -> Iterator[str]:
        (f,), (g,) = cast(tuple[int], call.exact), cast(tuple[int], other.exact)  # ``unlike`` saw one integer each
        bar = call.bar
        further = max(0, abs(g - f) - self.moved)
        self.moved += further
        self.signs.add((g > f) - (g < f))
        self.last = further / NoiseTerm(self.whole, "threshold").scale
        if self.whole.direction == "together" and {-1, 1} <= self.signs:
            yield "questions that are said to move together do not"
        if self.due:
            yield "an answer above is not followed by its value"
        if bar is None or bar.threshold != self.threshold:
            yield "a question is compared with something else than the threshold that was drawn"
            return
        if _output(call) >= bar.threshold:
            self.above += 1
            self.due = self.whole.values
            steps = 2 if self.whole.direction == "either" else 1
            self.last += steps * abs(g - f) / NoiseTerm(self.whole, "question").scale
        if self.above > self.whole.positives:
            yield f"{self.above} answers above, where {self.whole.positives} are paid for"

    def value(self, call: Call, other: Call) -> Iterator[str]:
        if not self.due or call.bar is not None:
            yield "a value that no answer above pays for"
        (f,), (g,) = cast(tuple[int], call.exact), cast(tuple[int], other.exact)  # as above
        self.due, self.last = False, abs(g - f) / NoiseTerm(self.whole, "value").scale


def _output(call: Call) -> int:
    (drawn,) = cast(tuple[int], call.output)  # one integer went in
    return drawn


def _unanswered(calls: Sequence[Call], asked: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Every answer is made by one noisy comparison, or one noisy number."""
    for place, (first, stop) in enumerate(asked, start=1):
        made = [call for call in calls[first:stop] if _answers(call)]
        if len(made) != 1:
            yield f"answer {place} is made by {len(made)} noises, not one"


def _answers(call: Call) -> bool:
    match call.mechanism:
        case NoiseTerm(_, noise):
            return noise == "question"
        case _:
            return True


__all__ = ["by_rules", "cost_of"]
