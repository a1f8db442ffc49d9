"""Values drawn ahead, for callers that want one at a time.

A block of exact draws costs little more than one. What a thread has drawn and not given out is kept by parameter, and
by the process that drew it: a fork begins with none. Unused noise depends on public parameters only; it is entropy.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from os import getpid
from typing import TypeAlias

from reticent.entropy import Forks

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
