"""Exact noise: discrete Laplace and discrete Gaussian, as arrays and one at a time.

No floating-point number decides an outcome: every comparison a float makes has a certified margin, and what falls
inside the margin is decided in integers. With probability at most 2**-48 a value takes that slower path; otherwise the
instructions run do not depend on the value (chunks, tables and proposals are the same for all). Proofs and limits:
``docs/proofs/sampling.md``.

Source: Canonne, Kamath & Steinke, "The discrete Gaussian for differential privacy" (2020), for the laws; Knuth & Yao
(1976) and Walker (1977) for the method. Deviations: no rejection from a rational Bernoulli; tables of whole words with
an exact remainder instead.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy, SystemEntropy, lineage
from reticent.errors import PublicParameterError
from reticent.exact.categorical import categorical, categorical_scores, permute_and_flip
from reticent.exact.coins import bernoulli, bernoulli_exp, positive, resumed, uniform
from reticent.exact.exponential import exp_floor
from reticent.exact.laws import Blocks, Head, Low, Normal
from reticent.exact.tables import PRODUCT, Scratch, Shape, Table, build, scratch

__all__ = [
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "categorical_scores",
    "discrete_gaussian",
    "discrete_laplace",
    "one_discrete_gaussian",
    "one_discrete_laplace",
    "permute_and_flip",
    "uniform",
]

CHUNK = 32_768  # draws at a time: the working arrays stay in a core's cache
BLOCK = 512  # values made at once for callers that want one
KEPT = 64  # scales whose unused values a thread keeps
LARGEST = 1 << 56  # scale (or standard deviation) up to which a value fits 64 bits but for probability 2**-184
FINE = 1024  # steps of the table of exp(-z), z < 1
SLACK = 2.0**-50  # more than twice the proved error of the float acceptance probability


@dataclass(frozen=True, slots=True)
class _Laplace:
    """The tables of one scale: sign and high part, then the low bits."""

    head: Table
    lows: tuple[Table, ...]

    def fill(self, out: NDArray[np.int64], entropy: Entropy, room: Scratch, low_part: NDArray[np.int64]) -> None:
        self.head.draw(entropy, out, room)
        for table in self.lows:
            table.draw(entropy, low_part[: len(out)], room)
            np.bitwise_xor(out, low_part[: len(out)], out=out)

    def one(self, entropy: Entropy) -> int:
        value = self.head.law.value(self.head.symbol(entropy))
        for table in self.lows:
            value ^= table.law.value(table.symbol(entropy))
        return value


@lru_cache(maxsize=64)
def laplace_tables(scale: Fraction, shape: Shape = PRODUCT) -> _Laplace:
    m = 0
    while scale > shape.scale << m:
        m += 1
    head = build(Head(scale, m), shape.width, shape.head)
    firsts = range(0, m, shape.low)
    return _Laplace(
        head,
        tuple(build(Low(scale, first, min(shape.low, m - first)), shape.width, 2 << shape.low) for first in firsts),
    )


def discrete_laplace(
    scale: int | Fraction, size: int, entropy: Entropy, *, shape: Shape = PRODUCT
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
    shape : Shape
        Sizes of the tables; only tests change it.

    Returns
    -------
    array of int64
        A value beyond 64 bits saturates; at the largest scale this has probability below 2**-184. Where the exact
        answer lies within 2**62 of 0 and the noisy one is clamped to that range, the clamped law is exact all the same.

    Raises
    ------
    PublicParameterError
        For a float, a scale out of range or a negative size.
    """
    exact = positive(scale, "scale")
    if exact > LARGEST:
        raise PublicParameterError(f"the scale of an array of noise must be at most 2**56, got {exact}")
    out = _room(size)
    tables = laplace_tables(exact, shape)
    most = min(size, CHUNK)
    working, low_part = scratch(most), np.empty(most, np.int64)
    for start in range(0, size, CHUNK):
        tables.fill(out[start : start + CHUNK], entropy, working, low_part)
    return out


def one_discrete_laplace(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer with P(k) proportional to exp(-abs(k) / scale), for any rational scale > 0.

    From the operating system's generator, values are made 512 at a time and kept for the thread and process that made
    them; each is given out once. From any other source the value is drawn directly, so that a replay repeats.

    Raises
    ------
    PublicParameterError
        For a float or a scale that is not above 0.
    """
    if type(entropy) is SystemEntropy:
        try:
            return _unused.laplace[lineage(), scale if type(scale) is int else _ratio(scale)].pop()
        except (KeyError, IndexError):
            return _first(discrete_laplace, _unused.laplace, positive(scale, "scale"), scale, LARGEST, entropy)
    return laplace_tables(positive(scale, "scale")).one(entropy)


@dataclass(frozen=True, slots=True)
class _Wide:
    """A wide Gaussian: a block, a place in it, and acceptance with probability exp(-(k**2 - start**2) / (2 variance)).

    The block's start is its end nearest 0, so the exponent is never below 0; it stays below 0.6 for every block
    of the table.
    """

    variance: Fraction
    b: int
    blocks: Table

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """The accepted among ``size`` proposals."""
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
            signed = self.blocks.law.value(self.blocks.symbol(entropy))
            low = entropy.bits(self.b)
            start, outer = (signed, 0) if signed >= 0 else (~signed, 1)
            if resumed(self.exponent(start, low + outer), 0, 0, entropy, self.blocks.width):
                return signed ^ low


@lru_cache(maxsize=1)
def _exp_steps() -> NDArray[np.float64]:
    return np.array([_nearest(Fraction(exp_floor(Fraction(n, FINE), 80), 1 << 80)) for n in range(FINE)])


def _exp_table(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-z) for z in [0, 1), within 4 * 2**-53 of the exponential of the exact exponent; additions and products only.

    No library exponential is trusted: the table is rounded from integers, the polynomial's remainder is below 2**-56,
    and IEEE 754 rounds every sum and product.
    """
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
def gaussian_tables(variance: Fraction, shape: Shape = PRODUCT) -> Table | _Wide:
    if variance <= (shape.direct // 32) ** 2:
        return build(Normal(variance), shape.width, shape.direct)
    b = ((variance.numerator // (256 * variance.denominator)).bit_length() - 1) // 2
    return _Wide(variance, b, build(Blocks(variance, b), shape.width, shape.head))


def discrete_gaussian(
    variance: int | Fraction, size: int, entropy: Entropy, *, shape: Shape = PRODUCT
) -> NDArray[np.int64]:
    """``size`` independent integers with P(k) proportional to exp(-k**2 / (2 * variance)).

    Parameters
    ----------
    variance : int or Fraction
        In (0, 2**112]; public. It is the parameter, and within 10**-8 the variance itself from 1 on.
    size : int
        At least 0; public.
    entropy : Entropy
        The coins.
    shape : Shape
        Sizes of the tables; only tests change it.

    Raises
    ------
    PublicParameterError
        For a float, a variance out of range or a negative size.
    """
    exact = positive(variance, "variance")
    if exact > LARGEST**2:
        raise PublicParameterError(f"the variance of an array of noise must be at most 2**112, got {exact}")
    out = _room(size)
    tables = gaussian_tables(exact, shape)
    if isinstance(tables, Table):
        working = scratch(min(size, CHUNK))
        for start in range(0, size, CHUNK):
            tables.draw(entropy, out[start : start + CHUNK], working)
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

    Blocks of 512 are made and kept as in :func:`one_discrete_laplace`.

    Raises
    ------
    PublicParameterError
        For a float or a variance that is not above 0.
    """
    if type(entropy) is SystemEntropy:
        try:
            return _unused.gaussian[lineage(), variance if type(variance) is int else _ratio(variance)].pop()
        except (KeyError, IndexError):
            pass
    return _one_gaussian(positive(variance, "variance"), entropy)


def _one_gaussian(variance: Fraction, entropy: Entropy) -> int:
    tables = gaussian_tables(variance)
    if isinstance(tables, Table):
        return tables.law.value(tables.symbol(entropy))
    return tables.one(entropy)


class _Unused(threading.local):
    """Values this thread drew in advance and has not given out, by process and parameter; they know no data."""

    def __init__(self) -> None:
        self.laplace: _Blocks = {}
        self.gaussian: _Blocks = {}


_unused = _Unused()


def _room(size: int) -> NDArray[np.int64]:
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise PublicParameterError("size must be an int >= 0")
    return np.empty(size, np.int64)
