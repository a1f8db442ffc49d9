"""Mechanisms, one file each: values in, noisy values out, the guarantee proved beside the code.

A file is imported when something of it is first asked for: a mean imports no mechanism of a survey.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from reticent.errors import CheckError

if TYPE_CHECKING:
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

    LOCAL: tuple[ModuleType, ...]
    ALL: tuple[ModuleType, ...]

# The one list of mechanisms that state axioms: certificates are verified by it, and the kit and the report go by it.
CENTRAL_NAMES: Final = (
    "geometric",
    "laplace",
    "gaussian",
    "exponential",
    "permute_and_flip",
    "ks",
    "privtree",
    "smooth",
    "sparse_vector",
    "objective",
)
LOCAL_NAMES: Final = (
    "randomized_response",
    "kary",
    "unary_encoding",
    "subset_selection",
    "hadamard",
    "hashing",
    "local_mean",
    "one_sided",
)
HOMES: Final = {
    "Candidates": "exponential",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "Geometric": "geometric",
    "Hadamard": "hadamard",
    "Hashing": "hashing",
    "KAry": "kary",
    "KolmogorovSmirnov": "ks",
    "Laplace": "laplace",
    "LocalMean": "local_mean",
    "Objective": "objective",
    "OneSided": "one_sided",
    "PermuteAndFlip": "permute_and_flip",
    "Poisson": "subsampled",
    "PrivTree": "privtree",
    "RandomizedResponse": "randomized_response",
    "ScalarGaussian": "gaussian",
    "Shuffled": "shuffled",
    "Smooth": "smooth",
    "SparseVector": "sparse_vector",
    "Subset": "subset_selection",
    "Unary": "unary_encoding",
    "WithoutReplacement": "subsampled",
    "two_coins": "randomized_response",
}


def __getattr__(name: str) -> object:
    """Import a mechanism, or the modules of a list, at the first use of the name."""
    found: object
    if name in HOMES:
        found = getattr(_module(HOMES[name]), name)
    elif name == "LOCAL":
        found = tuple(_module(one) for one in LOCAL_NAMES)
    elif name == "ALL":
        found = tuple(_module(one) for one in (*CENTRAL_NAMES, *LOCAL_NAMES))
    elif name in CENTRAL_NAMES or name in LOCAL_NAMES:
        found = _module(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


def axiom_again(leaf: Guarantee) -> Guarantee:
    """State a stored leaf again from its parameters, by the mechanism that stated it."""
    try:
        return _again(leaf.by.name)(dict(leaf.parameters), leaf.adjacency)
    except (KeyError, ValueError, ArithmeticError):
        raise CheckError(f"the numbers of '{leaf.label or leaf.by.name}' cannot be what the mechanism stated") from None


def _again(name: str) -> Again:
    """Restatement of a leaf for the theorem ``name``, looked up in the ``AXIOMS`` of the modules in ``ALL``."""
    for module in sys.modules[__name__].ALL:
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
