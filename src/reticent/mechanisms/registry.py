"""All mechanisms that state axioms: certificates are verified by this list, and the kit and the report go by it."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from reticent.errors import CheckError
from reticent.mechanisms import (
    exponential,
    gaussian,
    geometric,
    hadamard,
    hashing,
    kary,
    key_selection,
    ks,
    laplace,
    local_mean,
    objective,
    one_sided,
    permute_and_flip,
    privtree,
    randomized_response,
    smooth_noise,
    sparse_vector,
    subset_selection,
    unary_encoding,
    weighted_selection,
)
from reticent.mechanisms.gate import Again
from reticent.privacy.guarantee import Guarantee

CENTRAL: Final[tuple[ModuleType, ...]] = (
    geometric,
    laplace,
    gaussian,
    exponential,
    permute_and_flip,
    ks,
    privtree,
    smooth_noise,
    sparse_vector,
    objective,
    key_selection,
    weighted_selection,
)
LOCAL: Final[tuple[ModuleType, ...]] = (
    randomized_response,
    kary,
    unary_encoding,
    subset_selection,
    hadamard,
    hashing,
    local_mean,
    one_sided,
)
ALL: Final[tuple[ModuleType, ...]] = (*CENTRAL, *LOCAL)


def axiom_again(leaf: Guarantee) -> Guarantee:
    """State a stored leaf again from its parameters, by the mechanism that stated it."""
    try:
        return _again(leaf.by.name)(dict(leaf.parameters), leaf.adjacency)
    except (KeyError, ValueError, ArithmeticError):
        raise CheckError(f"the numbers of '{leaf.label or leaf.by.name}' cannot be what the mechanism stated") from None


def _again(name: str) -> Again:
    """Restatement of a leaf for the theorem ``name``, looked up in the ``AXIOMS`` of the modules in ``ALL``."""
    for module in ALL:
        for theorem, again in module.AXIOMS:
            if theorem.name == name:
                found: Again = again
                return found
    raise CheckError(f"'{name}' is no mechanism of this version")
