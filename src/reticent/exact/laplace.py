"""Discrete Laplace noise: P(k) proportional to exp(-abs(k) / scale), as arrays and one at a time.

With q = exp(-1/scale), a geometric G on 0, 1, 2, ... splits into a high part and independent low bits,
G = 2**m H + L, and a discrete Laplace is G or its bitwise complement ~G = -1 - G, the latter with probability
q / (1 + q). ``Head`` is the law of the complement's coin and H together. ``LowBits`` is that of up to 9 low bits. Each
computes weights in fixed point with an error bound, and divides rounding down.

A sign and high part come from one table, the low bits, which are independent of it, from others; they are joined by
exclusive or. No floating-point number takes part, nothing is rejected, and but for an event of probability below
2**-48 the instructions run do not depend on the value. Proof and limits: ``docs/proofs/sampling.md``.

Source: the law is that of Ghosh, Roughgarden & Sundararajan (2012). Canonne, Kamath & Steinke (2020) draw it from
Bernoullis with rejection; tables of whole words with an exact remainder replace that here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from os import getpid
from typing import TYPE_CHECKING

from reticent.entropy import Entropy, Forks, SystemEntropy
from reticent.errors import PublicParameterError
from reticent.exact.alias_tables import (
    AGAIN,
    CHUNK,
    FIRST,
    GUARD,
    PRODUCT,
    ROOMY,
    AliasTable,
    BlockBuffer,
    Scratch,
    Shape,
    build,
    ratio,
    scratch,
)
from reticent.exact.coins import Oracle, positive, whole
from reticent.exact.rounding import scaled_exp_bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 1 << 56  # scale up to which a value fits 64 bits but for probability 2**-184
MANY = 1 << 16  # values from which the larger tables, which need fewer words, are worth building

_ahead = BlockBuffer()


@dataclass(frozen=True, slots=True)
class Head:
    """Symbol 2h is h * 2**m, symbol 2h + 1 its complement: P proportional to exp(-h * 2**m / scale) times 1 or q."""

    scale: Fraction
    m: int

    def value(self, symbol: int) -> int:
        """The signed high part, shifted to its place."""
        high = (symbol >> 1) << self.m
        return ~high if symbol & 1 else high

    def floors(self, bits: int) -> list[int]:
        """Shares of ``2**bits``, rounded down."""
        places = bits + GUARD
        one = 1 << places
        q_low, q_high = scaled_exp_bounds(1 / self.scale, places)
        step_low, step_high = scaled_exp_bounds((1 << self.m) / self.scale, places)
        # P(h, 0) = (1 - Q) Q**h / (1 + q) with Q = exp(-2**m / scale)
        plain = ((one - step_high) << places) // (one + q_high)
        shares: list[int] = []
        while True:
            share = plain >> GUARD
            if share == 0:
                return shares
            shares += [share, (plain * q_low) >> (places + GUARD)]
            plain = (plain * step_low) >> places


@dataclass(frozen=True, slots=True)
class LowBits:
    """``count`` bits of L from bit ``first`` on: symbol l has P proportional to exp(-l * 2**first / scale)."""

    scale: Fraction
    first: int
    count: int

    def value(self, symbol: int) -> int:
        """The bits in their place."""
        return symbol << self.first

    def floors(self, bits: int) -> list[int]:
        """Shares of ``2**bits``, rounded down."""
        places = bits + GUARD
        low, _ = scaled_exp_bounds((1 << self.first) / self.scale, places)
        weights = _powers(low, 1 << self.count, places)
        # weights[l] <= true <= weights[l] + 2 l + 2 in the last place: each product loses at most that of its factors
        # and one more, and scaled_exp_bounds is at most 2 off.
        most = sum(weights) + 4 * (1 << self.count) ** 2
        inverse = (1 << (2 * places)) // most
        return [(weight * inverse) >> (2 * places - bits) for weight in weights]


def _powers(ratio: int, count: int, places: int) -> list[int]:
    weights = [1 << places]
    for _ in range(count - 1):
        weights.append((weights[-1] * ratio) >> places)
    return weights


@dataclass(frozen=True, slots=True)
class LaplaceTables:
    """The tables of one scale: sign and high part, then the low bits."""

    head: AliasTable
    lows: tuple[AliasTable, ...]

    def fill(self, out: NDArray[np.int64], entropy: Entropy, room: Scratch, low: NDArray[np.int64]) -> None:
        """Fill ``out`` with independent values; ``low`` is room for as many.

        Parameters
        ----------
        out : array of shape (n,), int
            Filled in place.
        entropy : Entropy
        room : Scratch
        low : array of shape (n,), int
            Room for as many values.
        """
        import numpy as np

        self.head.draw(entropy, out, room)
        for table in self.lows:
            table.draw(entropy, low[: len(out)], room)
            np.bitwise_xor(out, low[: len(out)], out=out)

    def one(self, entropy: Entropy) -> int:
        """One value, of any size."""
        value = self.head.one(entropy)
        for table in self.lows:
            value ^= table.one(entropy)
        return value


@lru_cache(maxsize=32)
def laplace_tables(scale: Fraction, shape: Shape = PRODUCT) -> LaplaceTables:
    """The tables of a public scale."""
    m = 0
    while scale > shape.scale << m:
        m += 1
    head = build(Head(scale, m), shape.width, shape.head)
    counts = [(first, min(shape.low, m - first)) for first in range(0, m, shape.low)]
    return LaplaceTables(
        head, tuple(build(LowBits(scale, first, count), shape.width, 2 << count) for first, count in counts)
    )


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """All integers k, P proportional to exp(-abs(k) / ``scale``), ``scale`` > 0."""

    scale: Fraction

    def __post_init__(self) -> None:
        positive(self.scale, "scale")


def discrete_laplace(
    scale: int | Fraction, size: int, entropy: Entropy, *, shape: Shape | None = None
) -> NDArray[np.int64]:
    """``size`` independent integers with P(k) proportional to exp(-abs(k) / scale).

    Parameters
    ----------
    scale : int or Fraction
        In (0, 2**56]; public.
    size : int
        At least 0; public.
    entropy : Entropy
        The coins.
    shape : Shape, optional
        Sizes of the tables, by default chosen by ``size``; only tests name one.

    Returns
    -------
    array of int64
        A value beyond 64 bits saturates; at the largest scale this has probability below 2**-184. Where the exact
        answer lies within 2**61 of 0 and the noisy one is clamped to that range, the clamped law is exact all the same.

    Raises
    ------
    PublicParameterError
        For a float, a scale out of range or a negative size.
    """
    import numpy as np

    exact = positive(scale, "scale")
    if type(entropy) is Oracle:
        return entropy.array(DiscreteLaplace(exact), whole(size, "size"))
    if exact > LARGEST:
        raise PublicParameterError(f"the scale of an array of noise must be at most 2**56, got {exact}")
    out = np.empty(whole(size, "size"), np.int64)
    tables = laplace_tables(exact, shape or (ROOMY if size >= MANY else PRODUCT))
    most = min(size, CHUNK)
    room, low = scratch(most), np.empty(most, np.int64)
    for start in range(0, size, CHUNK):
        tables.fill(out[start : start + CHUNK], entropy, room, low)
    return out


def one_discrete_laplace(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer with P(k) proportional to exp(-abs(k) / scale), for any rational scale > 0.

    From the operating system's generator, values are made in blocks and kept for the thread and process that made
    them; each is given out once. From any other source, and for scales above 2**56, the value is drawn directly, so
    that a replay repeats.

    Raises
    ------
    PublicParameterError
        For a float or a scale that is not above 0.
    """
    if type(entropy) is SystemEntropy:
        try:
            return _ahead.blocks[getpid(), Forks.count, scale if type(scale) is int else ratio(scale)].pop()
        except KeyError:
            many = FIRST
        except IndexError:
            many = AGAIN
        exact = positive(scale, "scale")
        if exact <= LARGEST:
            return _ahead.keep(scale, discrete_laplace(exact, many, entropy).tolist())
    exact = positive(scale, "scale")
    if type(entropy) is Oracle:
        return entropy.one(DiscreteLaplace(exact))
    return laplace_tables(exact).one(entropy)
