"""Integer alias tables with an exact remainder: one word, one value, and no rounding left over.

A table holds whole numbers of words for its symbols, never more than their true share of ``2**width`` words. The words
that are missing belong to one more symbol, RESIDUAL. A word that falls there, probability about ``2**-52``, is
continued with the next ``width`` binary digits of the same probabilities, and so on (Knuth & Yao 1976). The law of what
comes out is therefore the law itself, not an approximation to it. ``width`` is 64 in the product and 8 in the tests,
where all strings of coins are enumerated.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from os import getpid
from typing import TYPE_CHECKING, Protocol, TypeAlias

from reticent.entropy import Entropy, Forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GUARD = 128  # places of a law beyond the bits asked for; a share is short by more than its fraction with P < 2**-64
CHUNK = 32_768  # draws at a time: the working arrays stay in a core's cache
MOST = (1 << 63) - 1
SENTINEL = -(1 << 63)  # marks RESIDUAL in the array of outcomes; no symbol has this value


class Law(Protocol):
    """A probability law on symbols 0, 1, 2, ..., each of which stands for an integer."""

    def floors(self, bits: int) -> list[int]:
        """Integers e with ``e[i] <= P(i) * 2**bits``; as ``bits`` grows, ``sum(e) / 2**bits`` tends to 1."""
        ...

    def value(self, symbol: int) -> int:
        """The integer a symbol stands for."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the tables: public constants, smaller in the tests.

    Parameters
    ----------
    width : int
        Bits of a word.
    head : int
        Most columns of the table of a Laplace sign and high part, a power of two.
    scale : int
        Largest scale of that high part.
    low : int
        Low bits drawn from one table.
    direct : int
        Most columns of the single table of a Gaussian, a power of two.
    """

    width: int = 64
    head: int = 1024
    scale: int = 14
    low: int = 9
    direct: int = 65536


PRODUCT = Shape()
ROOMY = Shape(head=16384, scale=224, low=13)  # for long arrays: fewer words for a value, dearer to build


@dataclass(frozen=True, slots=True, eq=False)
class AliasTable:
    """An alias table of ``2**order`` columns over words of ``width`` bits.

    A word belongs to the column of its ``order`` leading bits. Below the column's threshold it gives the symbol whose
    number is the column's, from there on the column's alias. Symbol ``count`` is RESIDUAL, with ``residual`` words.
    """

    law: Law
    width: int
    order: int
    count: int
    residual: int
    thresholds: NDArray[np.uint64]
    aliases: NDArray[np.int32]
    outcomes: NDArray[np.int64]

    @property
    def emitted(self) -> list[int]:
        """Number of words of each symbol, computed again on each of its rare calls."""
        return self.law.floors(self.width)[: self.count]

    def draw(self, entropy: Entropy, out: NDArray[np.int64], scratch: Scratch) -> None:
        """Fill ``out``, at most ``len(scratch.index)`` long, with independent values.

        Parameters
        ----------
        entropy : Entropy
        out : array of shape (n,), int
            Filled in place.
        scratch : Scratch
            Room for at least n values.
        """
        import numpy as np

        size = len(out)
        words = entropy.words(size)
        if self.width < 64:
            words = words >> np.uint64(64 - self.width)
        index, limit, above = scratch.index[:size], scratch.limit[:size], scratch.above[:size]
        np.right_shift(words, np.uint64(self.width - self.order), out=index.view(np.uint64))
        np.take(self.thresholds, index, out=limit, mode="clip")
        np.greater_equal(words, limit, out=above)
        np.left_shift(index, 1, out=index)
        np.bitwise_or(index, above, out=index)
        np.take(self.outcomes, index, out=out, mode="clip")
        if int(out.min()) == SENTINEL:
            for place in np.flatnonzero(out == SENTINEL):
                value = self.law.value(self._continue(int(words[place]), entropy))
                out[place] = min(max(value, -MOST), MOST)

    def one(self, entropy: Entropy) -> int:
        """One value, of any size."""
        word = entropy.bits(self.width)
        column = word >> (self.width - self.order)
        symbol = column if word < int(self.thresholds[column]) else int(self.aliases[column])
        return self.law.value(symbol if symbol < self.count else self._continue(word, entropy))

    def _continue(self, word: int, entropy: Entropy) -> int:
        """The symbol of a word that fell on RESIDUAL: its rank among such words is uniform, and goes on."""
        rank = self._rank(word)
        emitted, bits = self.emitted, self.width
        while True:
            bits += self.width
            carried = [share << self.width for share in emitted]
            floors = self.law.floors(bits)
            carried += [0] * (len(floors) - len(carried))
            floors += [0] * (len(carried) - len(floors))
            emitted = [max(pair) for pair in zip(floors, carried, strict=True)]
            position = (rank << self.width) | entropy.bits(self.width)
            ends = list(accumulate(new - old for new, old in zip(emitted, carried, strict=True)))
            if position < ends[-1]:
                return bisect_right(ends, position)
            rank = position - ends[-1]

    def _rank(self, word: int) -> int:
        """The number of RESIDUAL words below ``word``."""
        import numpy as np

        height = 1 << (self.width - self.order)
        missing = self.count
        rank = max(min(word, int(self.thresholds[missing])) - missing * height, 0)
        for column in np.flatnonzero(self.aliases == missing).tolist():
            rank += max(min(word, (column + 1) * height) - int(self.thresholds[column]), 0)
        return rank


@dataclass(frozen=True, slots=True, eq=False)
class Scratch:
    """Working arrays for chunks of draws, so that nothing is allocated inside the loop."""

    index: NDArray[np.int64]
    limit: NDArray[np.uint64]
    above: NDArray[np.bool_]


def scratch(size: int) -> Scratch:
    """Working arrays for chunks of at most ``size``."""
    import numpy as np

    return Scratch(np.empty(size, np.int64), np.empty(size, np.uint64), np.empty(size, np.bool_))


def build(law: Law, width: int, most: int) -> AliasTable:
    """The table of a law in at most ``most`` columns, a power of two; symbols that do not fit join RESIDUAL.

    Parameters
    ----------
    law : Law
        Symbols with their exact probabilities.
    width : int
        Bits of a word.
    most : int
        Greatest number of columns, a power of two.

    Returns
    -------
    AliasTable
    """
    import numpy as np

    shares = [*law.floors(width)][: most - 1]
    while len(shares) > 1 and shares[-1] == 0:
        shares.pop()
    residual = (1 << width) - sum(shares)
    order = len(shares).bit_length()  # columns for the symbols and RESIDUAL
    thresholds, aliases = _alias([*shares, residual], width, order)
    fits = all(abs(law.value(symbol)) < 1 << 63 for symbol in (0, len(shares) - 1))
    values = [law.value(symbol) for symbol in range(len(shares))] if fits else [0] * len(shares)
    of_symbol = np.full(1 << order, SENTINEL, np.int64)
    of_symbol[: len(shares)] = values
    outcomes = np.stack([of_symbol, of_symbol[aliases]], axis=1).ravel()
    return AliasTable(law, width, order, len(shares), residual, thresholds, aliases.astype(np.int32), outcomes)


def _alias(shares: list[int], width: int, order: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Thresholds and aliases of whole-number shares that add up to ``2**width``: Walker's method by prefix sums.

    Columns that are too light are filled, in order, by the heavy symbols, in order. A heavy column that gave too much
    is filled by the next heavy one (the sweep of Huebschle-Schneider & Sanders 2019). All numbers are whole and below
    2**64, so nothing is rounded.
    """
    import numpy as np

    columns, height = 1 << order, 1 << (width - order)
    weight = np.zeros(columns, np.uint64)
    weight[: len(shares)] = np.array(shares, np.uint64)
    kept = np.full(columns, height, np.uint64)
    aliases = np.arange(columns, dtype=np.int64)
    tall = weight > np.uint64(height)
    light, heavy = np.flatnonzero(~tall), np.flatnonzero(tall)
    if len(heavy):
        needed = np.cumsum(np.uint64(height) - weight[light])
        supplied = np.cumsum(weight[heavy] - np.uint64(height))
        before = needed - (np.uint64(height) - weight[light])
        giver = np.minimum(np.searchsorted(supplied, before, side="right"), len(heavy) - 1)
        kept[light] = weight[light]
        aliases[light] = heavy[giver]
        full = weight[light] == np.uint64(height)
        aliases[light[full]] = light[full]
        last = np.searchsorted(needed, supplied, side="left")
        kept[heavy] = np.uint64(height) + supplied - needed[np.minimum(last, len(needed) - 1)]
        aliases[heavy[:-1]] = heavy[1:]
        full = kept[heavy] == np.uint64(height)
        aliases[heavy[full]] = heavy[full]
    starts = np.arange(columns, dtype=np.uint64) << np.uint64(width - order)
    # A full column keeps its own symbol on both sides, so its threshold may stay at its start (2**64 has no word).
    kept[aliases == np.arange(columns)] = 0
    return starts + kept, aliases


# --- values drawn ahead, for callers that want one at a time ----------------------------------------------------------
#
# A block of exact draws costs little more than one. What a thread has drawn and not given out is kept by parameter, and
# by the process that drew it: a fork begins with none. Unused noise depends on public parameters only; it is entropy.

FIRST = 512  # values drawn at once for a new parameter
AGAIN = 4096  # and for one whose block was used up
KEPT = 64  # parameters whose values a thread keeps

Key: TypeAlias = tuple[int, int, int | tuple[int, int] | None]  # process, forks, parameter


def ratio(parameter: object) -> tuple[int, int] | None:
    """A Fraction as a hashable pair, None for what is no Fraction: a float never finds the block of its equal."""
    return (parameter.numerator, parameter.denominator) if type(parameter) is Fraction else None


class BlockBuffer(threading.local):
    """The blocks of one law, one set for each thread.

    ``list.pop`` is a single step of the interpreter. No value is given out twice, even if a signal handler draws in the
    middle of a draw.
    """

    def __init__(self) -> None:
        self.blocks: dict[Key, list[int]] = {}

    def keep(self, parameter: int | Fraction, block: list[int]) -> int:
        """Store a block under a parameter and give out its last value; the oldest parameter makes room."""
        value = block.pop()
        while len(self.blocks) >= KEPT:
            self.blocks.pop(next(iter(self.blocks)), None)
        self.blocks[getpid(), Forks.count, parameter if type(parameter) is int else ratio(parameter)] = block
        return value
