"""The tree of a guarantee against what one pair of neighbours really lost at its leaves.

A leaf of the tree is one noise call. Let a call's numbers move by the share r of the declared change. An epsilon-DP
call then lost r epsilon and a rho-zCDP call r^2 rho. Every node above must be charged at least the joint loss of its
parts. Below a node of group privacy over k steps the parts speak of nearer neighbours, so there a share may be as large
as k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxZCDP, Loss, PureDP, words
from reticent.privacy.numbers import about
from reticent.statistics.counts.found_keys import FoundKeysStep

if TYPE_CHECKING:
    from reticent.mechanisms.gate import Call
    from reticent.study.allocation import PreparedRelease


@dataclass(frozen=True, slots=True)
class ProofLeaf:
    """One noise call the proof pays for: its guarantee, the answer, and how many steps the neighbours may be apart."""

    guarantee: Guarantee
    answer: str
    times: int


@dataclass(frozen=True, slots=True)
class PairLoss:
    """Loss of a pair below a node, in the currencies that all its parts can state."""

    epsilon: Fraction | None
    rho: Fraction | None


NOTHING = PairLoss(Fraction(0), Fraction(0))
UNKNOWN = PairLoss(None, None)


def leaves_of(plan: PreparedRelease) -> Iterator[ProofLeaf]:
    """The noise calls a plan pays for, in the order of its proof, which is the order of drawing."""
    steps = plan.all_steps
    if plan.at_keys is not None:  # the list of keys is drawn first
        steps = (*steps[-1:], *steps[:-1])
    elif plan.choice is not None:  # of a cap on rows: it is drawn first, and proved beside the release at every cap
        steps = (plan.choice, *(step for made in plan.by_choice for step in made.all_steps))
    names = [step.name for step in steps for _ in below(step.guarantee, 1)]
    whole = list(below(plan.guarantee, 1))
    if len(names) != len(whole):
        names = [""] * len(whole)
    yield from (ProofLeaf(leaf, name, times) for (leaf, times), name in zip(whole, names, strict=True))


def as_drawn(plan: PreparedRelease, calls: Sequence[Call]) -> PreparedRelease:
    """The plan at the keys of groups that a run has found; itself, where none are to be found."""
    if plan.at_keys is None or not calls:
        return plan

    assert isinstance(plan.choice, FoundKeysStep)
    return plan.at_keys(plan, plan.choice.used(cast("Sequence[str]", calls[0].output)))  # the list is drawn first


def charge_of(tree: Guarantee) -> Loss | None:
    """The charge that observed losses are measured against: the root's, or that of what it was converted from."""
    match tree.loss:
        case PureDP() | ZCDP() | ApproxZCDP():
            return tree.loss
        case _:
            return charge_of(tree.parts[0]) if len(tree.parts) == 1 else None


def share_of(lost: PairLoss, charge: Loss | None) -> Fraction | None:
    """Share of a charge that a pair lost; None if it is not known, or if nothing is charged."""
    match charge:
        case PureDP(epsilon) if epsilon and lost.epsilon is not None:
            return lost.epsilon / epsilon
        case ZCDP(rho) | ApproxZCDP(rho, _) if rho and lost.rho is not None:
            return lost.rho / rho
        case _:
            return None


def amount(tree: Guarantee, shares: Iterator[Fraction | None], beyond: list[tuple[str, str]]) -> PairLoss:
    """Total loss of a pair.

    Parameters
    ----------
    tree : Guarantee
    shares : iterator
        For each leaf, observed to declared change of the whole pair (squared for an L2 norm), as ``CallPair.ratio``
        has it. It is 0 if nothing was drawn, and None if it is not known.
    beyond : list
        Takes label and words of each node whose parts lost more than it is charged.

    Returns
    -------
    PairLoss
        Loss that the draws of the pair used, beside the loss declared.
    """
    return _amount(tree, 1, shares, beyond)


def _amount(node: Guarantee, times: int, shares: Iterator[Fraction | None], beyond: list[tuple[str, str]]) -> PairLoss:
    """``times`` of the node's own steps lie between the pair, so its loss counts that often (rho: squared)."""
    if not node.parts:
        return NOTHING if node.by.name == compose.PUBLIC.name else _at_leaf(node, next(shares), times)
    parts = [_amount(part, times * _steps(node), shares, beyond) for part in node.parts]
    epsilon, rho = _sum([part.epsilon for part in parts]), _sum([part.rho for part in parts])
    match node.loss, node.parts[0].loss:
        case (ZCDP(cost), PureDP(whole)) if len(parts) == 1 and epsilon is not None and whole > 0:
            rho = cost * (epsilon / whole) ** 2  # a conversion of one part
        case _:
            pass
    match node.loss:
        case PureDP(limit) if epsilon is not None and epsilon > limit * times:
            beyond.append(_words(node, f"ε {about(epsilon)}"))
        case ZCDP(limit) | ApproxZCDP(limit, _) if rho is not None and rho > limit * times**2:
            beyond.append(_words(node, f"ρ {about(rho)}"))
        case _:
            pass
    return PairLoss(epsilon, rho)


def _at_leaf(leaf: Guarantee, share: Fraction | None, times: int) -> PairLoss:
    if share is None:
        return UNKNOWN
    match leaf.loss:
        case PureDP(epsilon):
            return PairLoss(epsilon * share * times, None)
        case ZCDP(rho):
            return PairLoss(None, rho * share * times**2)
        case _:
            return NOTHING if share == 0 else UNKNOWN


def below(tree: Guarantee, times: int) -> Iterator[tuple[Guarantee, int]]:
    """Every leaf with how many steps of its own neighbours lie between those of the tree."""
    if not tree.parts and tree.by.name != compose.PUBLIC.name:
        yield tree, times
    for part in tree.parts:
        yield from below(part, times * _steps(tree))


def nodes(tree: Guarantee, times: int) -> Iterator[tuple[Guarantee, int]]:
    """Every node, as ``below`` has the leaves: a mechanism may be composed of others."""
    yield tree, times
    for part in tree.parts:
        yield from nodes(part, times * _steps(tree))


def _steps(node: Guarantee) -> int:
    """Number of steps of its part's neighbours between neighbours of the node."""
    return int(node.parameter("size")) if node.by.name == compose.GROUP.name else 1


def _sum(amounts: Sequence[Fraction | None]) -> Fraction | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Fraction(0)) if len(known) == len(amounts) else None


def _words(node: Guarantee, observed: str) -> tuple[str, str]:
    what = f"{observed} was observed in all where '{node.label or node.by.name}' is charged {words(node.loss)}"
    return node.label, what
