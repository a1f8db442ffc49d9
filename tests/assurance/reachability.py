"""Outputs that only one of two neighbours can give: floats that a sampler can return, and the delta they prove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.conformance.events import Floats
from reticent.conformance.lower_bounds import least_share
from reticent.errors import PublicParameterError


def reachable(
    outputs: Floats,
    forward: Callable[[NDArray[np.int64]], Floats],
    guess: Callable[[Floats], NDArray[np.int64]],
    *,
    around: int = 8,
) -> NDArray[np.bool_]:
    """Mask of the float outputs that a sampler which maps whole-number draws by ``forward`` can give at all.

    Parameters
    ----------
    outputs : array of float
    forward : function
        From draws (``u * 2**53`` of a uniform float u) to outputs, in the sampler's own arithmetic; monotone.
    guess : function
        About which draw gives an output.
    around : int
        Draws on either side of the guess that are tried. An output that is not between those tried counts as reachable,
        so that "not reachable" stands whatever the guess.

    Returns
    -------
    array of bool
        Shape of ``outputs``.

    Raises
    ------
    PublicParameterError
        Unless ``around`` >= 1.
    """
    if around < 1:
        raise PublicParameterError(f"around must be >= 1, got {around}")
    centre = guess(outputs)
    hit = np.zeros(len(outputs), bool)
    for step in range(-around, around + 1):
        hit |= forward(centre + step) == outputs
    first, last = forward(centre - around), forward(centre + around)
    inside: NDArray[np.bool_] = (np.minimum(first, last) < outputs) & (outputs < np.maximum(first, last))
    return hit | ~inside


def support(impossible: NDArray[Any], *, beta: float = 1e-3) -> float:
    """The least delta any epsilon needs, from outputs of one neighbour that the other can never give.

    Parameters
    ----------
    impossible : array of bool
        For independent outputs on one neighbour, whether the other cannot give them; see ``reachable``.
    beta : float
        The probability that the bound is too high.
    """
    return least_share(int(np.count_nonzero(impossible)), len(impossible), beta)
