"""The laws behind the tables: shares in whole words, rounded down with certainty.

With q = exp(-1/scale), a geometric G on 0, 1, 2, ... splits into a high part and independent low bits,
G = 2**m H + L, and a discrete Laplace is G or its bitwise complement ~G = -1 - G, the latter with probability
q / (1 + q). ``Head`` is the law of the complement's coin and H together, ``LowBits`` that of up to 9 bits of L,
``GaussianSymbols`` a discrete Gaussian, and ``GaussianBlocks`` the proposal for a wide one. Each computes weights in
fixed point with an error bound and divides rounding down; proofs in ``docs/proofs/sampling.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.exact.exponential_bounds import exp_bounds

GUARD = 128  # places beyond the bits asked for; a share is short by more than its fraction with probability < 2**-64


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
        q_low, q_high = exp_bounds(1 / self.scale, places)
        step_low, step_high = exp_bounds((1 << self.m) / self.scale, places)
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
        low, _ = exp_bounds((1 << self.first) / self.scale, places)
        weights = _powers(low, 1 << self.count, places)
        # weights[l] <= true <= weights[l] + 2 l + 2 in the last place: each product loses at most that of its factors
        # and one more, and exp_bounds is at most 2 off.
        most = sum(weights) + 4 * (1 << self.count) ** 2
        inverse = (1 << (2 * places)) // most
        return [(weight * inverse) >> (2 * places - bits) for weight in weights]


@dataclass(frozen=True, slots=True)
class GaussianSymbols:
    """Symbols 0, 1, 2, 3, 4, ... are 0, 1, -1, 2, -2, ...: P(k) proportional to exp(-k**2 / (2 variance))."""

    variance: Fraction

    def value(self, symbol: int) -> int:
        """The integer itself."""
        return (symbol + 1) // 2 if symbol & 1 else -(symbol // 2)

    def floors(self, bits: int) -> list[int]:
        """Shares of ``2**bits``, rounded down."""
        half = _squares(self.variance, bits, twice_first=False)
        shares = [0] * (2 * len(half) - 1)
        shares[0], shares[1::2], shares[2::2] = half[0], half[1:], half[1:]
        return shares


@dataclass(frozen=True, slots=True)
class GaussianBlocks:
    """Symbol 2i is i, symbol 2i + 1 its complement: P proportional to exp(-(i * 2**b)**2 / (2 variance)).

    Block i holds i * 2**b + l, block ~i its complement, 0 <= l < 2**b.
    """

    variance: Fraction
    b: int

    def value(self, symbol: int) -> int:
        """The signed number of the block, in its place."""
        start = (symbol >> 1) << self.b
        return ~start if symbol & 1 else start

    def floors(self, bits: int) -> list[int]:
        """Shares of ``2**bits``, rounded down."""
        half = _squares(self.variance / (1 << (2 * self.b)), bits, twice_first=True)
        shares = [0] * (2 * len(half))
        shares[0::2], shares[1::2] = half, half
        return shares


def _powers(ratio: int, count: int, places: int) -> list[int]:
    weights = [1 << places]
    for _ in range(count - 1):
        weights.append((weights[-1] * ratio) >> places)
    return weights


def _squares(variance: Fraction, bits: int, *, twice_first: bool) -> list[int]:
    """Shares of exp(-k**2 / (2 variance)), k = 0, 1, 2, ..., when every k > 0 counts twice, and 0 once or twice.

    w(k+1) = w(k) t(k) and t(k+1) = t(k) c with t(0) = exp(-1 / (2 variance)) and c = t(0)**2. In units of the last
    place t(k) is short by at most 3 (k + 1) and w(k) by at most 2 (k + 1)**2, since both factors are at most 1.
    The sum leaves out what is below one unit; those terms fall faster than geometrically with ratio t(k).
    """
    places = bits + GUARD
    step, _ = exp_bounds(1 / (2 * variance), places)
    curve, _ = exp_bounds(1 / variance, places)
    weights, weight = [], 1 << places
    floor = 1 << (GUARD - 64)  # a weight below 2**-(bits + 64) has no whole share; its remainder is bounded below
    while weight >= floor:
        weights.append(weight)
        weight = (weight * step) >> places
        step = (step * curve) >> places
    count = len(weights)
    short = 2 * (count + 1) ** 2
    rest = ((weight + short) << places) // max((1 << places) - step - 3 * (count + 1), 1) + 1
    most = 2 * (sum(weights) + count * short + rest) - (0 if twice_first else weights[0])
    inverse = (1 << (2 * places)) // most
    shares = [(weight * inverse) >> (2 * places - bits) for weight in weights]
    while len(shares) > 1 and shares[-1] == 0:
        shares.pop()
    return shares
