"""Weight return: keys far above the threshold give weight back to their persons, who give some of it to all their keys.

Statement. A person with d keys gives each the weight w(d), where d w(d)^2 <= w(1)^2. A key of the whole weight B gives
back the share R(B) / F of the weights of its persons with two keys or more. Such a person gives each of their d keys
b(d) times the sum of the shares of these keys, where d b(d) <= a w(d). No weight falls when a person comes, and the L2
norm of the change is at most w(1). A key of at most ``enough`` before the return has no less after it; any other has
no less than ``enough``.

Source. Chen, Cohen-Addad, Epasto and Zadimoghaddam 2025 (keys of much weight pass it on, independent of order).

Proof. docs/proofs/found_groups.md, Propositions 5 and 6.

Deviations. The source spreads an equal part of every person's unit, with bounds on the number of keys of those who
return. Here the weights are those of Gopi et al. 2020, and all of them may return. R is made of straight pieces with
whole slopes, so that nothing is divided and all engines have the same integers. Persons with one key do not take part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from reticent.errors import PublicParameterError

FULL: Final = 1 << 56  # share of all
PIECES: Final = 24
MOST: Final = 100  # keys of a person: the sum of their shares is an integer of 63 bits
FINE: Final = 1 << 32  # denominator of what is given again


@dataclass(frozen=True, slots=True)
class WeightReturn:
    """Rule by which keys of much weight give it back.

    Attributes
    ----------
    weights : tuple of int
        Weight that a person with one key gives, with two keys to each, and so on.
    enough : int
        Weight above which a key gives back; at least that of one person.
    """

    weights: tuple[int, ...]
    enough: int

    def __post_init__(self) -> None:
        if not 2 <= len(self.weights) <= MOST:
            raise PublicParameterError(f"weight returns to persons in 2 to {MOST} keys, got {len(self.weights)}")
        whole = self.weights[0]
        if any(type(one) is not int or one < 1 for one in self.weights) or type(self.enough) is not int:
            raise PublicParameterError("weights are whole numbers >= 1")
        if any(keys * one**2 > whole**2 for keys, one in enumerate(self.weights, 1)):
            raise PublicParameterError("the weights of a person are longer than that of a person with one key")
        if self.enough < whole:
            raise PublicParameterError(f"a key of one person gives nothing back: enough is at least {whole:,}")

    @property
    def pieces(self) -> tuple[tuple[int, int, int], ...]:
        """Start, length and slope of the straight pieces of the share that a key gives back, by its weight."""
        return _pieces(self.enough)

    @property
    def again(self) -> tuple[int, ...]:
        """b(1), b(2), ...: what a person gives each of so many keys of a weight of ``FULL`` shares that came back."""
        return _again(self.weights, part_again(len(self.weights)))

    def share(self, weight: int) -> int:
        """R(B): share that a key of this weight gives back, of ``FULL``."""
        return sum(slope * min(max(weight - start, 0), length) for start, length, slope in self.pieces)

    def weight(self, persons: Sequence[int], returned: Sequence[int]) -> int:
        """The weight of a key after the return, in units of 1 / ``FULL``.

        Parameters
        ----------
        persons : sequence of int
            Persons of the key with one key, with two keys, and so on.
        returned : sequence of int
            Sum over these persons of the shares of all their keys.

        Returns
        -------
        int
        """
        given = [number * one for number, one in zip(persons, self.weights, strict=True)]
        whole = sum(given)
        again = sum(one * shares for one, shares in zip(self.again, returned, strict=True))
        return FULL * whole - self.share(whole) * (whole - given[0]) + again


@lru_cache(maxsize=64)
def _again(weights: tuple[int, ...], part: Fraction) -> tuple[int, ...]:
    return (0, *(math.floor(part * one / keys) for keys, one in enumerate(weights[1:], 2)))


@lru_cache(maxsize=64)
def part_again(keys: int) -> Fraction:
    """a: the part of what came back that is given again, where a person is in at most so many keys.

    It is the largest a <= 1/2 with 2 a s (s - 1) + a^2 (1 + t (s - 1)) <= s^2 for s from 2 to t, rounded down.
    """

    def most(s: int) -> int:
        root = math.isqrt(((s - 1) ** 2 + 1 + keys * (s - 1)) * FINE**2) + 1
        return s * FINE**2 // ((s - 1) * FINE + root)

    return Fraction(min(FINE // 2, *map(most, range(2, keys + 1))), FINE)


@lru_cache(maxsize=64)
def _pieces(enough: int) -> tuple[tuple[int, int, int], ...]:
    """Pieces of R from ``enough`` on, each a quarter longer, as steep as B R(B) may rise by F at most for each unit."""
    pieces, start, share = [], enough, 0
    for _ in range(PIECES):
        length = max(1, start // 4)
        slope = (FULL - share) // (start + 2 * length - 1)
        pieces.append((start, length, slope))
        start, share = start + length, share + slope * length
    return tuple(pieces)
