"""Check of the noise calls of one run against the charged proof: every call is paid for, in every currency.

    unpaid(tree, calls)    what the proof does not pay for, in words; empty where it pays for all

A leaf pays for one call of its kind, or for several that come to it, or for none, where a test declined. Parts in
sequence pay together, ``one_of`` pays for one of its parts, a partition for any number of runs on disjoint groups.
Calls and leaves are compared in epsilon, delta and rho. A surplus in one currency therefore pays for no deficit in
another. No number of the rows is looked at: which kinds were drawn, and how often, is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from reticent.conformance.findings import name_of
from reticent.mechanisms.gate import Call
from reticent.privacy import compose, ptr
from reticent.privacy.compose import PROCESSED
from reticent.privacy.convert import as_zcdp
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, PureDP, words

ENDLESS: Final = 1 << 40  # runs of a part of a partition
MOST: Final = 512  # ways to pay that are followed; the ones that pay for most

Paid: TypeAlias = tuple[int, ...]  # how many calls of each kind drawn


def unpaid(tree: Guarantee, calls: Sequence[Call]) -> tuple[str, ...]:
    """Calls that the proof does not pay for, a sentence for each kind; empty if it pays for all.

    Parameters
    ----------
    tree : Guarantee
        What was charged, in the currency of the ledger or before its conversion.
    calls : sequence of Call
        What one run drew through the gate.
    """
    drawn: Counter[Guarantee] = Counter()
    names: dict[Guarantee, str] = {}
    for call in calls:
        stated = stated_by(call.mechanism)
        if stated is None:
            return (f"{name_of(call)} states no guarantee, so nothing pays for it",)
        drawn[stated] += 1
        names[stated] = name_of(call)
    kinds = tuple(drawn)
    ways = Payments(kinds, tuple(drawn.values())).ways(tree)
    best = max(ways, key=lambda way: sum(min(had, drawn[kind]) for had, kind in zip(way, kinds, strict=True)))
    return tuple(
        f"{drawn[kind]} calls of {names[kind]} at {cost(kind)} were drawn, and the proof pays for {had}"
        for had, kind in zip(best, kinds, strict=True)
        if had < drawn[kind]
    )


def stated_by(mechanism: object) -> Guarantee | None:
    """The guarantee a mechanism states, without its label; of what was processed that of the answer itself."""
    found = getattr(mechanism, "guarantee", None)
    if not isinstance(found, Guarantee):
        return None
    while found.by == PROCESSED:
        (found,) = found.parts
    return replace(found, label="")


def cost(stated: Guarantee) -> str:
    """The loss in words, in both currencies."""
    rho = _rho(stated)
    return words(stated.loss) if rho is None or rho == stated.loss else f"{words(stated.loss)} ({words(rho)})"


class Payments:
    """Number of times that a proof can pay for each of the ``kinds``, of which ``wanted`` were drawn."""

    def __init__(self, kinds: tuple[Guarantee, ...], wanted: Paid) -> None:
        self.kinds, self.wanted = kinds, wanted
        self._none: Paid = (0,) * len(kinds)

    def ways(self, node: Guarantee, *, tested: bool = False) -> list[Paid]:
        """The ways in which a run of ``node`` can pay, none of them below another; ``tested`` behind a private test."""
        tested = tested or node.by.name in ptr.NAMES
        itself = self._itself(node, tested)
        if not node.parts:
            return self._best(itself)
        each = [self.ways(part, tested=tested) for part in node.parts]
        match node.by.name:
            case compose.ONE_OF.name:
                found = [way for ways in each for way in ways]
            case compose.ACROSS.name | compose.CONCURRENT.name:
                every = [
                    sum(counts) for counts in zip(self._none, *(way for ways in each for way in ways), strict=True)
                ]
                found = [tuple(ENDLESS if count else 0 for count in every)]
            case _:
                found = [self._none]
                for ways in each:
                    found = self._best([self._sum(one, other) for one in found for other in ways])
        return self._best([*found, *itself])

    def _itself(self, node: Guarantee, tested: bool) -> list[Paid]:
        """The node as one mechanism: of each kind alone that it pays for; of its own kind, where that was drawn.

        Behind a private test a leaf stands for every proposal, so there its own kind comes before no other.
        """
        bare = replace(node, label="")
        if bare in self.kinds and not tested:
            kinds = [(self.kinds.index(bare), 1)]
        else:
            kinds = [(place, times) for place, kind in enumerate(self.kinds) if (times := _pays(bare, kind, tested))]
        return [
            self._none,
            *(tuple(times if i == place else 0 for i in range(len(self.kinds))) for place, times in kinds),
        ]

    def _sum(self, one: Paid, other: Paid) -> Paid:
        """Both, no further than what was drawn."""
        return tuple(min(a + b, most) for a, b, most in zip(one, other, self.wanted, strict=True))

    def _best(self, found: Iterable[Paid]) -> list[Paid]:
        kept: list[Paid] = []
        for way in sorted(set(found), key=sum, reverse=True):
            if not any(all(a <= b for a, b in zip(way, other, strict=True)) for other in kept):
                kept.append(way)
        return kept[:MOST]


@lru_cache(maxsize=4096)
def _pays(node: Guarantee, stated: Guarantee, tested: bool) -> int:
    """For how many calls of the loss stated a node pays, in each currency; 0 for none.

    One of the same loss has the same parameters too, as others lose something else in a third view. Behind a private
    test one leaf stands for all proposals, of which it is the dearest in every view: docs/proofs/ptr.md.
    """
    if stated.parts:  # a mechanism of parts: as a whole, or as it is seen in the other currency
        return int(node == stated or node == replace(compose.in_zcdp(stated), label=""))
    if node.parts or (node.adjacency, node.by) != (stated.adjacency, stated.by):
        return 0
    if node.loss == stated.loss:
        return int(tested or node.parameters == stated.parameters)
    epsilon, rho = _ratio(node.loss, stated.loss), _ratio(_rho(node), _rho(stated))
    return 0 if epsilon is None or rho is None else int(min(epsilon, rho))


def _ratio(whole: object, part: object) -> Fraction | None:
    """Ratio of one loss to another; None if they are of different kinds."""
    match whole, part:
        case (PureDP(a), PureDP(b)) | (ZCDP(a), ZCDP(b)) if b:
            return a / b
        case (ApproxDP(a, c), ApproxDP(b, d)) | (ApproxZCDP(a, c), ApproxZCDP(b, d)) if b and d:
            return min(a / b, c / d)
        case _:
            return Fraction(int(whole == part))


@lru_cache(maxsize=4096)
def _rho(stated: Guarantee) -> ZCDP | ApproxZCDP | None:
    found = compose.in_zcdp(stated) if stated.parts else as_zcdp(stated)
    return found.loss if isinstance(found.loss, ZCDP | ApproxZCDP) else None


__all__ = ["cost", "stated_by", "unpaid"]
