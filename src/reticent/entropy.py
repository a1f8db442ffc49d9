"""Random bits: the ``Entropy`` protocol, and the one implementation shipped, the operating system's generator."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Entropy(Protocol):
    """A source of independent fair coins."""

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count); ``count`` >= 0."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent words, each uniform on [0, 2**64)."""
        ...
