"""Losses computed again from the leaves of a stored proof: every node from its parts, by the theorem it names.

Nothing in a stored proof is believed because it says so. ``certificate.verify`` asks for this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from reticent.errors import CheckError
from reticent.privacy import amplify, convert, optimal_composition, ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import (
    ACROSS,
    CAPPED,
    CONCURRENT,
    GROUP,
    ONE_OF,
    PROCESSED,
    PUBLIC,
    SEQUENCE,
    across,
    capped,
    concurrent,
    grouped,
    in_sequence,
    one_of,
    processed,
    public,
)
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss

COMBINATORS: Final = frozenset(
    (
        *(theorem.name for theorem in (ACROSS, CAPPED, CONCURRENT, GROUP, ONE_OF, PROCESSED, PUBLIC, SEQUENCE)),
        *optimal_composition.NODES,
        *ptr.NAMES,
        *amplify.NAMES,
        *convert.NAMES,
    )
)
"""Names of the theorems that are derived here; the names of axioms are others."""


def rederive(tree: Guarantee, axioms: Callable[[Guarantee], Guarantee]) -> Loss:
    """The loss of ``tree`` computed again from its leaves; ``axioms`` states a leaf again from its parameters.

    Raises
    ------
    CheckError
        Where a node's stored loss, adjacency or theorem does not follow from its parts.
    """
    return _node(tree, axioms).loss


def _node(tree: Guarantee, axioms: Callable[[Guarantee], Guarantee]) -> Guarantee:
    stored = replace(tree, parts=tuple(_node(part, axioms) for part in tree.parts))
    made = _again(stored, axioms)
    if not convert.follows(tree, made):
        raise CheckError(f"the loss stated at '{_named(tree)}' does not follow from its parts")
    if made.adjacency != tree.adjacency or made.by.name != tree.by.name:
        raise CheckError(f"the neighbours stated at '{_named(tree)}' do not follow from its parts")
    return replace(made, loss=tree.loss, label=tree.label)


def _again(tree: Guarantee, axioms: Callable[[Guarantee], Guarantee]) -> Guarantee:
    parts, whole, name = tree.parts, tree.adjacency, tree.by.name
    if not parts and name == PUBLIC.name:
        if not whole.size_public:
            raise CheckError(f"'{tree.label}' is called public, and nothing is under these neighbours")
        return public(whole)
    if name in optimal_composition.NODES:
        return optimal_composition.again(tree)
    if name in ptr.NAMES:
        return ptr.again(tree)
    if name in amplify.NAMES:
        return amplify.again(tree)
    if not parts:
        return axioms(tree)
    if len(parts) > 1 and name not in (SEQUENCE.name, CONCURRENT.name, ACROSS.name, ONE_OF.name):
        raise CheckError(f"'{_named(tree)}' is about one part and names several")
    if name in convert.NAMES:
        return convert.again(tree)
    match name:
        case SEQUENCE.name:
            return in_sequence(parts)
        case CONCURRENT.name:
            return concurrent(parts)
        case ACROSS.name:
            return across(parts, neighbours=whole)
        case ONE_OF.name:
            return one_of(parts)
        case GROUP.name:
            return _group_again(tree)
        case PROCESSED.name:
            return processed(parts[0], label="")
        case CAPPED.name:
            return capped(parts[0], neighbours=whole)
        case other:
            raise CheckError(f"'{other}' is no theorem of this version")


def _named(tree: Guarantee) -> str:
    return tree.label or tree.by.name


def _group_again(tree: Guarantee) -> Guarantee:
    """A stored lift is only believed where the number of steps follows from the two adjacencies."""
    part, size, whole = tree.parts[0], int(tree.parameter("size")), tree.adjacency
    steps = 2 if whole.kind == "substitute" and part.adjacency.kind == "add_remove" else 1
    from_row = part.adjacency == Adjacency("add_remove", unit="row") and whole.unit == "person"
    from_persons = part.adjacency.unit == "person"
    same_unit = (part.adjacency.unit, part.adjacency.rows) == (whole.unit, whole.rows)
    same_kind = part.adjacency.kind == whole.kind
    # a household: to add or remove so many persons of these rows, one after the other
    several = Adjacency("add_remove", part.adjacency.rows * size) == whole and same_kind and from_persons
    if not (from_row or several or (same_unit and (same_kind or steps == 2))) or size < steps:
        raise CheckError("group privacy between unrelated neighbours, or over too few steps")
    return grouped(part, size, neighbours=whole)
