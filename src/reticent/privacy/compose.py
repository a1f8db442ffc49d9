"""Combinators: the only way, besides an axiom beside its mechanism, to come by a guarantee.

    in_sequence   the parts all look at the same rows, each may depend on the answers before it: losses add
    across        each row (or person) is in at most one part of a partition fixed without the data
    grouped       from one row to the k rows of a person, or from one person to k persons
    processed     anything computed from an answer alone

``rederive`` computes the loss of a stored tree again from its leaves and the theorems named at its nodes.

Sources: 001 (composition, group privacy, post-processing), 003 Theorem 27, 004 Theorems 1.3 and 1.4. Deviations:
004's composition is stated for independent mechanisms and its post-processing for deterministic maps; both hold for
adaptive choice and randomised maps, which is what a ledger needs. 001 states group privacy for delta = 0 only; for
delta > 0 it is (k eps, delta (e^{k eps} - 1) / (e^eps - 1)), not (k eps, k delta).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, round_up
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import PURE_TO_ZCDP, ZCDP_TO_APPROX, as_approx, as_zcdp, zcdp_of
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from reticent.privacy.numbers import read

SEQUENCE = Theorem(
    "in_sequence",
    "in sequence, chosen adaptively: losses add",
    "001; Dwork and Lei 2009, Theorem 27; in rho, Bun and Steinke 2016",
)
ACROSS = Theorem(
    "across",
    "parts of a data-independent partition, each proved under add/remove: the dearest part",
    "McSherry 2009, Theorem 4",
)
GROUP = Theorem(
    "grouped",
    "k steps apart: k epsilon, delta (e^{k epsilon} - 1) / (e^epsilon - 1); k^2 rho",
    "001 (delta = 0); Bun and Steinke 2016, Prop. 1.9",
)
PROCESSED = Theorem("processed", "any randomised map of an answer costs nothing", "001; 004 Theorem 1.4")
PUBLIC = Theorem("public", "the same for all neighbours: no loss", "definition of the adjacency")


def in_sequence(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """All ``parts`` about the same neighbours: epsilons and deltas add, or rhos where one part is in zCDP."""
    if not parts:
        raise PublicParameterError("a sequence needs at least one part")
    adjacency = parts[0].adjacency
    for part in parts:
        if part.adjacency != adjacency:
            raise PublicParameterError(
                f"parts speak of different neighbours: {adjacency.words()} and {part.adjacency.words()}"
            )
    if len(parts) == 1:
        return replace(parts[0], label=label or parts[0].label)
    return Guarantee(_sum([part.loss for part in parts]), adjacency, SEQUENCE, tuple(parts), label=label)


def across(parts: Sequence[Guarantee], *, neighbours: Adjacency, label: str = "") -> Guarantee:
    """Parts of a partition that was fixed without looking: each unit is in at most one part.

    Every part must be proved under add/remove with its size private: the dearest part is the cost. ``neighbours`` is
    what the whole speaks of; a substitution is a removal and an addition, two steps, possibly inside one part, so
    there the cost is the group loss of two. (The sum of the two dearest parts, as McSherry's theorem is often quoted,
    forgets the person who stays in a part; docs/proofs/composition.md has the counter-example.)

    Raises
    ------
    PublicParameterError
        For a part proved only under substitution: moving a row between parts changes both their sizes.
    """
    if not parts:
        raise PublicParameterError("a partition needs at least one part")
    steps = Adjacency("add_remove", neighbours.rows, neighbours.unit)
    for part in parts:
        if part.adjacency.kind != "add_remove":
            raise PublicParameterError(
                "a part proved only for substitution with public n cannot be used in a partition"
            )
        if part.adjacency != steps:
            raise PublicParameterError("parts speak of another unit than the whole")
    whole = Guarantee(_largest([part.loss for part in parts]), steps, ACROSS, tuple(parts), label=label)
    match neighbours.kind:
        case "add_remove":
            return whole
        case "substitute":
            return grouped(whole, 2, neighbours=neighbours, label=label)
        case "local":
            raise PublicParameterError("the local model has no partition of a table")
        case _:
            assert_never(neighbours.kind)


def grouped(part: Guarantee, size: int, *, neighbours: Adjacency, label: str = "") -> Guarantee:
    """Lift ``part`` to ``neighbours`` that are at most ``size`` >= 1 of its own steps apart."""
    if size < 1:
        raise PublicParameterError(f"a group has at least one member, got {size}")
    return Guarantee(
        group_loss(part.loss, size), neighbours, GROUP, (part,), (("size", str(size)),), label or part.label
    )


def of_person(part: Guarantee, person: Adjacency, *, rows: int, label: str = "") -> Guarantee:
    """Lift a guarantee about one row (add/remove) to a person with at most ``rows`` of those rows.

    Adding or removing a person adds or removes at most ``rows`` rows; replacing one does both.
    """
    if part.adjacency != Adjacency("add_remove", unit="row"):
        raise PublicParameterError("only a guarantee about adding or removing one row is lifted to a person")
    return grouped(part, rows * (2 if person.kind == "substitute" else 1), neighbours=person, label=label)


def processed(part: Guarantee, *, label: str) -> Guarantee:
    """Post-processing: the same loss, under another label."""
    return Guarantee(part.loss, part.adjacency, PROCESSED, (part,), label=label)


def in_zcdp(tree: Guarantee) -> Guarantee:
    """The zCDP view of a tree, converted part by part: rhos of parts add up to less than the rho of their sum."""
    match tree.by.name:
        case SEQUENCE.name:
            return in_sequence([in_zcdp(part) for part in tree.parts], label=tree.label)
        case PROCESSED.name:
            return processed(in_zcdp(tree.parts[0]), label=tree.label)
        case _:
            return as_zcdp(tree)


def public(neighbours: Adjacency, *, label: str = "") -> Guarantee:
    """A number that is the same for all neighbours, such as the number of people under substitution: no loss."""
    if not neighbours.size_public:
        raise PublicParameterError("under add/remove no number of the rows is the same for all neighbours")
    return Guarantee(PureDP(Fraction(0)), neighbours, PUBLIC, label=label)


def group_loss(loss: Loss, size: int) -> Loss:
    """The loss against ``size`` steps at once, rounded up to 12 digits where it is not rational."""
    match loss:
        case PureDP(epsilon):
            return PureDP(size * epsilon)
        case ZCDP(rho):
            return ZCDP(size * size * rho)
        case ApproxDP(epsilon, delta):
            total = delta if size == 1 else round_up(delta * _series(epsilon, size))
            if total >= 1:
                raise PublicParameterError(f"against a group of {size}, delta would reach 1: nothing is promised")
            return ApproxDP(size * epsilon, total)
        case _:
            assert_never(loss)


def _series(epsilon: Fraction, size: int) -> Fraction:
    """At or above 1 + e^eps + ... + e^{(size - 1) eps}."""
    if epsilon == 0:
        return Fraction(size)
    by_ratio = (exp_up(size * epsilon) - 1) / (exp_down(epsilon) - 1)
    return min(by_ratio, size * exp_up((size - 1) * epsilon))


def _sum(losses: Sequence[Loss]) -> Loss:
    if any(isinstance(loss, ZCDP) for loss in losses):
        return ZCDP(sum((zcdp_of(loss) for loss in losses), Fraction(0)))
    pairs = [_pair(loss) for loss in losses]
    return _loss(sum((e for e, _ in pairs), Fraction(0)), sum((d for _, d in pairs), Fraction(0)))


def _largest(losses: Sequence[Loss]) -> Loss:
    if any(isinstance(loss, ZCDP) for loss in losses):
        return ZCDP(max(zcdp_of(loss) for loss in losses))
    pairs = [_pair(loss) for loss in losses]
    return _loss(max(e for e, _ in pairs), max(d for _, d in pairs))


def _pair(loss: Loss) -> tuple[Fraction, Fraction]:
    match loss:
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case ZCDP():
            raise PublicParameterError("convert zCDP to (ε, δ) at a named δ first")
        case _:
            assert_never(loss)


def _loss(epsilon: Fraction, delta: Fraction) -> Loss:
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)


def rederive(tree: Guarantee, axioms: Callable[[Guarantee], Loss]) -> Loss:
    """The loss of ``tree`` computed again from its leaves; ``axioms`` gives a leaf's loss from its parameters.

    Raises
    ------
    CheckError
        Where a node's stored loss, adjacency or theorem does not follow from its parts.
    """
    if tree.by.name == PUBLIC.name and not tree.parts:
        if not tree.adjacency.size_public:
            raise CheckError(f"'{tree.label}' is called public, and nothing is under these neighbours")
        loss = public(tree.adjacency).loss
    else:
        for part in tree.parts:
            rederive(part, axioms)
        made = _elsewhere(tree)
        if made is not None:
            loss = made.loss
        else:
            loss = _again(tree).loss if tree.parts else axioms(tree)
    if loss != tree.loss:
        raise CheckError(f"the loss stated at '{tree.label or tree.by.name}' does not follow from its parts")
    return loss


def _elsewhere(tree: Guarantee) -> Guarantee | None:
    """A node of the theorems that build on this module, made again; None for any other."""
    from reticent.privacy import optimal, ptr  # they import this module, so they are looked up when needed

    if tree.by.name in (optimal.ADVANCED.name, optimal.ADVANCED_UNEQUAL.name, optimal.OPTIMAL.name):
        return optimal.again(tree)
    return ptr.again(tree) if tree.by.name in ptr.NAMES else None


def _again(tree: Guarantee) -> Guarantee:
    parts, whole = tree.parts, tree.adjacency
    if len(parts) > 1 and tree.by.name not in (SEQUENCE.name, ACROSS.name):
        raise CheckError(f"'{tree.label or tree.by.name}' is about one part and names several")
    match tree.by.name:
        case SEQUENCE.name:
            made = in_sequence(parts)
        case ACROSS.name:
            made = across(parts, neighbours=whole)
        case GROUP.name:
            made = _group_again(tree)
        case PROCESSED.name:
            made = processed(parts[0], label="")
        case PURE_TO_ZCDP.name:
            made = as_zcdp(parts[0])
        case ZCDP_TO_APPROX.name:
            made = as_approx(parts[0], read(tree.parameter("delta"), "delta"))
        case other:
            raise CheckError(f"'{other}' is no theorem of this version")
    if made.adjacency != whole or made.by.name != tree.by.name:
        raise CheckError(f"the neighbours stated at '{tree.label or tree.by.name}' do not follow from its parts")
    return made


def _group_again(tree: Guarantee) -> Guarantee:
    """A stored lift is only believed where the number of steps follows from the two adjacencies."""
    part, size, whole = tree.parts[0], int(tree.parameter("size")), tree.adjacency
    steps = 2 if whole.kind == "substitute" and part.adjacency.kind == "add_remove" else 1
    from_row = part.adjacency == Adjacency("add_remove", unit="row") and whole.unit == "person"
    same_unit = (part.adjacency.unit, part.adjacency.rows) == (whole.unit, whole.rows)
    same_kind = part.adjacency.kind == whole.kind
    if not (from_row or (same_unit and (same_kind or steps == 2))) or size < steps:
        raise CheckError("group privacy between unrelated neighbours, or over too few steps")
    return grouped(part, size, neighbours=whole)
