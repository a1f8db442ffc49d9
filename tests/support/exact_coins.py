"""A tape of given words, so that a test can try every string of coins a sampler can see."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class TapeEnd(Exception):
    """The sampler wants more coins than the tape holds: the rest of the probability is further down this branch."""


class Tape:
    """Entropy that answers with the words given, ``width`` bits each; other lengths are cut from their own list."""

    def __init__(self, words: Iterable[int], width: int, others: Iterable[int] = ()) -> None:
        self._words = list(words)
        self._others = list(others)
        self._width = width

    def bits(self, count: int) -> int:
        source = self._words if count == self._width else self._others
        if not source:
            raise TapeEnd
        word = source.pop(0)
        assert 0 <= word < 1 << count
        return word

    def words(self, count: int) -> NDArray[np.uint64]:
        if len(self._words) < count:
            raise TapeEnd
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, np.uint64) << np.uint64(64 - self._width)
