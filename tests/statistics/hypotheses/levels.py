"""How often a test rejects, and the bounds that its level, or its power, leaves for that number.

Tables are made up by a generator of the tests' own; the noise is the mechanism's sampler on replayed entropy.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.exact import sampling

Floats = NDArray[np.float64]
SURE = 1e-4  # chance that a correct test is outside the bounds of one assertion, on one side, were the entropy fresh


def noise(scale: Fraction, shape: tuple[int, ...], name: str) -> Floats:
    """Two-sided geometric noise by the exact sampler."""
    drawn = sampling.discrete_laplace(scale, int(np.prod(shape)), Replayed(name))
    return drawn.reshape(shape).astype(np.float64)


def most(runs: int, share: float) -> int:
    """The number of rejections that a chance of at most ``share`` exceeds with chance ``SURE``."""
    return int(scipy.stats.binom.isf(SURE, runs, share))


def least(runs: int, share: float) -> int:
    """The number of rejections that a chance of at least ``share`` falls short of with chance ``SURE``."""
    return int(scipy.stats.binom.ppf(SURE, runs, share))


def too_often(rejections: Iterable[bool], runs: int, share: float) -> bool:
    """Tell if more runs than ``most`` reject; the runs after the one that decides it are not made."""
    left = most(runs, share)
    for rejects in rejections:
        left -= rejects
        if left < 0:
            return True
    return False
