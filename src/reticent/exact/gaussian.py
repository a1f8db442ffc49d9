"""Discrete Gaussian noise: P(k) proportional to exp(-k**2 / (2 variance)), as arrays and one at a time.

Up to a standard deviation of 2,048 one table holds the law. Beyond, a block of integers is proposed from a table, a
place in it uniformly, and the proposal is accepted with the exact probability: floats decide outside a certified
margin of 2**-50, integers inside. ``GaussianSymbols`` is the law of the one table, ``GaussianBlocks`` the proposal.
Proof and limits: ``docs/proofs/sampling.md``.

Source: Canonne, Kamath & Steinke (2020) for the law. Deviation: they reject from a discrete Laplace; blocks accept
about 97 % of proposals, and the number of tries does not depend on the value that comes out.
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
    AliasTable,
    BlockBuffer,
    Shape,
    build,
    ratio,
    scratch,
)
from reticent.exact.coins import Oracle, positive, resumed, whole
from reticent.exact.rounding import exp_floor, scaled_exp_bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 1 << 112  # variance up to which a value fits 64 bits but for probability 2**-11,000
FINE = 1024  # steps of the table of exp(-z), z < 1
SLACK = 2.0**-50  # more than the proved error of the float acceptance probability

_ahead = BlockBuffer()


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


def _squares(variance: Fraction, bits: int, *, twice_first: bool) -> list[int]:
    """Shares of exp(-k**2 / (2 variance)), k = 0, 1, 2, ..., when every k > 0 counts twice, and 0 once or twice.

    w(k+1) = w(k) t(k) and t(k+1) = t(k) c with t(0) = exp(-1 / (2 variance)) and c = t(0)**2. In units of the last
    place t(k) is short by at most 3 (k + 1) and w(k) by at most 2 (k + 1)**2, since both factors are at most 1.
    The sum leaves out what is below one unit; those terms fall faster than geometrically with ratio t(k).
    """
    places = bits + GUARD
    step, _ = scaled_exp_bounds(1 / (2 * variance), places)
    curve, _ = scaled_exp_bounds(1 / variance, places)
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


@dataclass(frozen=True, slots=True)
class WideGaussian:
    """A wide Gaussian: a block, a place in it, and acceptance with probability exp(-(k**2 - start**2) / (2 variance)).

    The block's start is its end nearest 0, so the exponent is never below 0; it stays below 0.6 for every block
    of the table.
    """

    variance: Fraction
    b: int
    blocks: AliasTable

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """The accepted among ``size`` proposals."""
        import numpy as np

        signed = np.empty(size, np.int64)
        self.blocks.draw(entropy, signed, scratch(size))
        low = (entropy.words(size) >> np.uint64(64 - self.b)).view(np.int64)
        coins = entropy.words(size)
        proposed = signed ^ low
        from_start = low - (signed >> 63)  # the complement's block begins one further out
        start = signed ^ (signed >> 63)
        # z = T / (2 variance) with T = from_start (2 start + from_start); relative error below 4.1 * 2**-53.
        z = from_start.astype(np.float64)
        z *= (2 * start + from_start).astype(np.float64)
        z *= _nearest(1 / (2 * self.variance))
        chance = _exp_table(z)
        uniform_part = (coins >> np.uint64(11)).astype(np.float64) * 2.0**-53
        accepted = uniform_part <= chance - SLACK
        unsure = (uniform_part <= chance + SLACK) & ~accepted
        for place in np.flatnonzero(unsure | (z >= 1.0)).tolist():
            exponent = self.exponent(int(start[place]), int(from_start[place]))
            accepted[place] = resumed(exponent, int(coins[place]), 64, entropy)
        return proposed[accepted]

    def exponent(self, start: int, from_start: int) -> Fraction:
        return from_start * (2 * start + from_start) / (2 * self.variance)

    def one(self, entropy: Entropy) -> int:
        while True:
            signed = self.blocks.one(entropy)
            low = entropy.bits(self.b)
            start, outer = (signed, 0) if signed >= 0 else (~signed, 1)
            if resumed(self.exponent(start, low + outer), 0, 0, entropy, self.blocks.width):
                return signed ^ low


@lru_cache(maxsize=1)
def _exp_steps() -> NDArray[np.float64]:
    import numpy as np

    return np.array([_nearest(Fraction(exp_floor(Fraction(n, FINE), 80), 1 << 80)) for n in range(FINE)])


def _exp_table(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-z) for z in [0, 1), within 4 * 2**-53 of the exponential of the exact exponent; additions and products only.

    No library exponential is trusted: the table is rounded from integers, the polynomial's remainder is below 2**-56,
    and IEEE 754 rounds every sum and product.
    """
    import numpy as np

    step = np.minimum(z * FINE, FINE - 1).astype(np.int64)
    rest = z - step * (1.0 / FINE)
    series = rest * (1.0 / 24.0)
    for coefficient in (-1.0 / 6.0, 0.5, -1.0):
        series += coefficient
        series *= rest
    series += 1.0
    series *= np.take(_exp_steps(), step, mode="clip")
    return series


def _nearest(value: Fraction) -> float:
    """The float nearest to a rational (Python divides integers with correct rounding); never decides by itself."""
    return value.numerator / value.denominator


@lru_cache(maxsize=16)
def gaussian_tables(variance: Fraction, shape: Shape = PRODUCT) -> AliasTable | WideGaussian:
    """The tables of a public variance."""
    if variance <= (shape.direct // 32) ** 2:
        return build(GaussianSymbols(variance), shape.width, shape.direct)
    # The largest block width 2**b up to a sixteenth of the standard deviation.
    b = ((variance.numerator // (256 * variance.denominator)).bit_length() - 1) // 2
    return WideGaussian(variance, b, build(GaussianBlocks(variance, b), shape.width, shape.head))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """All integers k, P proportional to exp(-k**2 / (2 ``variance``)), ``variance`` > 0."""

    variance: Fraction

    def __post_init__(self) -> None:
        positive(self.variance, "variance")


def discrete_gaussian(
    variance: int | Fraction, size: int, entropy: Entropy, *, shape: Shape = PRODUCT
) -> NDArray[np.int64]:
    """``size`` independent integers with P(k) proportional to exp(-k**2 / (2 * variance)).

    Parameters
    ----------
    variance : int or Fraction
        In (0, 2**112]; public. It is the parameter; the variance itself is never more and, from 1 on, hardly less.
    size : int
        At least 0; public.
    entropy : Entropy
        The coins.
    shape : Shape
        Sizes of the tables; only tests change it.

    Returns
    -------
    array of int
        Shape (size,).

    Raises
    ------
    PublicParameterError
        For a float, a variance out of range or a negative size.
    """
    import numpy as np

    exact = positive(variance, "variance")
    if type(entropy) is Oracle:
        return entropy.array(DiscreteGaussian(exact), whole(size, "size"))
    if exact > LARGEST:
        raise PublicParameterError(f"the variance of an array of noise must be at most 2**112, got {exact}")
    out = np.empty(whole(size, "size"), np.int64)
    tables = gaussian_tables(exact, shape)
    if isinstance(tables, AliasTable):
        room = scratch(min(size, CHUNK))
        for start in range(0, size, CHUNK):
            tables.draw(entropy, out[start : start + CHUNK], room)
        return out
    done = 0
    while done < size:
        wanted = size - done
        accepted = tables.draw(min(CHUNK, wanted + wanted // 24 + 8), entropy)[:wanted]
        out[done : done + len(accepted)] = accepted
        done += len(accepted)
    return out


def one_discrete_gaussian(variance: int | Fraction, entropy: Entropy) -> int:
    """One integer with P(k) proportional to exp(-k**2 / (2 * variance)), for any rational variance > 0.

    Blocks are made and kept as in :func:`reticent.exact.laplace.one_discrete_laplace`.

    Raises
    ------
    PublicParameterError
        For a float or a variance that is not above 0.
    """
    if type(entropy) is SystemEntropy:
        try:
            return _ahead.blocks[getpid(), Forks.count, variance if type(variance) is int else ratio(variance)].pop()
        except KeyError:
            many = FIRST
        except IndexError:
            many = AGAIN
        exact = positive(variance, "variance")
        if exact <= LARGEST:
            return _ahead.keep(variance, discrete_gaussian(exact, many, entropy).tolist())
    exact = positive(variance, "variance")
    if type(entropy) is Oracle:
        return entropy.one(DiscreteGaussian(exact))
    return gaussian_tables(exact).one(entropy)
