"""Mechanisms, one file each: values in, noisy values out, the guarantee proved beside the code."""

from __future__ import annotations

from typing import Final

from reticent.errors import CheckError
from reticent.mechanisms import (
    exponential,
    gaussian,
    geometric,
    hadamard,
    hashing,
    kary,
    ks,
    laplace,
    local_mean,
    objective,
    one_sided,
    permute_and_flip,
    privtree,
    randomized_response,
    smooth,
    sparse_vector,
    subset_selection,
    unary_encoding,
)
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.ks import KolmogorovSmirnov
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.objective import Objective
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.privtree import PrivTree
from reticent.mechanisms.randomized_response import RandomizedResponse, two_coins
from reticent.mechanisms.shuffled import Shuffled
from reticent.mechanisms.smooth import Smooth
from reticent.mechanisms.sparse_vector import SparseVector
from reticent.mechanisms.specimen import Again
from reticent.mechanisms.subsampled import Poisson, WithoutReplacement
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.guarantee import Guarantee

LOCAL: Final = (randomized_response, kary, unary_encoding, subset_selection, hadamard, hashing, local_mean, one_sided)
# The one list of mechanisms that state axioms: certificates are verified by it, and the kit and the report go by it.
ALL: Final = (
    geometric,
    laplace,
    gaussian,
    exponential,
    permute_and_flip,
    ks,
    privtree,
    smooth,
    sparse_vector,
    objective,
    *LOCAL,
)


def axiom_again(leaf: Guarantee) -> Guarantee:
    """A stored leaf, stated again from its parameters by the mechanism that stated it."""
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


__all__ = [
    "ALL",
    "Candidates",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Hadamard",
    "Hashing",
    "KAry",
    "KolmogorovSmirnov",
    "LOCAL",
    "Laplace",
    "LocalMean",
    "Objective",
    "OneSided",
    "PermuteAndFlip",
    "Poisson",
    "PrivTree",
    "RandomizedResponse",
    "ScalarGaussian",
    "Shuffled",
    "Smooth",
    "SparseVector",
    "Subset",
    "Unary",
    "WithoutReplacement",
    "axiom_again",
    "two_coins",
]
