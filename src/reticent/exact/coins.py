"""Scalar draws: a uniform integer, a Bernoulli with rational probability, and one with probability exp(-x).

Source: the comparison of a uniform number with a real by their binary digits is von Neumann's and Knuth & Yao's
(1976); the proofs are in ``docs/proofs/sampling.md``.

Whoever computes with laws draws from an ``Oracle`` in place of coins. It is told the law of every draw, a frozen value
that stands beside the sampler:

    Uniform(bound)               0 .. bound - 1, each with probability 1 / bound                 (``coins``)
    Bernoulli(p)                 1 with probability p, else 0                                    (``coins``)
    BernoulliExp(x)              1 with probability exp(-x), else 0                              (``coins``)
    DiscreteLaplace(scale)       an integer k, P proportional to exp(-abs(k) / scale)            (``laplace``)
    DiscreteGaussian(variance)   an integer k, P proportional to exp(-k**2 / (2 variance))       (``gaussian``)
    Categorical(x, c)            an index i, P proportional to c_i exp(-x_i)                     (``categorical``)
    PermuteAndFlip(x)            an index: in random order, the first whose coin of probability
                                 exp(-(x_i - min x)) is 1                                        (``categorical``)

A sampler asks for the type of its entropy first; nothing else in the product does. An oracle may answer what it likes,
so nothing that charges a ledger takes one: a release asks for ``SystemEntropy``. That the samplers have these laws is
checked by ``tests.assurance.coins``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar, final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, Refusal
from reticent.exact.rounding import exp_floor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Law = TypeVar("Law", contravariant=True)  # frozen values that stand beside the samplers
MOST = (1 << 63) - 1


@final
@dataclass(frozen=True, slots=True)
class Oracle(Generic[Law]):
    """An ``Entropy`` by type, asked for laws and not for coins: each draw is whatever ``answer`` says.

    Parameters
    ----------
    answer : callable
        From the law of one draw to its value. Draws of an array come in order, one call each.
    """

    answer: Callable[[Law], int]

    def one(self, law: Law) -> int:
        """One draw, of any size."""
        return self.answer(law)

    def array(self, law: Law, size: int) -> NDArray[np.int64]:
        """``size`` draws; what does not fit 64 bits saturates, as in the samplers."""
        import numpy as np

        return np.array([min(max(self.answer(law), -MOST), MOST) for _ in range(size)], np.int64)

    def bits(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through the samplers of reticent.exact")

    def words(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through the samplers of reticent.exact")


WIDTH = 64  # bits of one word, in the product


def rational(number: int | Fraction, name: str) -> Fraction:
    """``number`` as a Fraction; a float, a bool or anything else is refused."""
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise PublicParameterError(f"{name} must be an int or a Fraction, got {type(number).__name__}")
    return Fraction(number)


def positive(number: int | Fraction, name: str) -> Fraction:
    """``number`` as a Fraction above 0."""
    value = rational(number, name)
    if value <= 0:
        raise PublicParameterError(f"{name} must be > 0, got {value}")
    return value


def whole(number: int, name: str) -> int:
    """``number`` if it is an int of at least 0."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise PublicParameterError(f"{name} must be an int >= 0")
    return number


@dataclass(frozen=True, slots=True)
class Uniform:
    """0 .. ``bound`` - 1, ``bound`` >= 1."""

    bound: int

    def __post_init__(self) -> None:
        if isinstance(self.bound, bool) or not isinstance(self.bound, int) or self.bound < 1:
            raise PublicParameterError("the bound of a uniform draw must be an int >= 1")


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """1 with probability ``p`` in [0, 1]."""

    p: Fraction

    def __post_init__(self) -> None:
        if not 0 <= rational(self.p, "p") <= 1:
            raise PublicParameterError(f"p must be in [0, 1], got {self.p}")


@dataclass(frozen=True, slots=True)
class BernoulliExp:
    """1 with probability exp(-``x``), ``x`` >= 0."""

    x: Fraction

    def __post_init__(self) -> None:
        if rational(self.x, "x") < 0:
            raise PublicParameterError("x must be >= 0")


def uniform(bound: int, entropy: Entropy, width: int = WIDTH) -> int:
    """An integer uniform on [0, bound).

    The integer part of ``bound`` times a uniform real U: as many digits of U are drawn as decide it, and the first
    ``width`` beyond the length of ``bound`` do with probability above 1 - 2**-width. There is no rejection, so the
    work tells neither the value nor, beyond its length, the bound.

    Parameters
    ----------
    bound : int
        At least 1.
    entropy : Entropy
    width : int
        Bits drawn beyond the length of ``bound``.

    Returns
    -------
    int

    Raises
    ------
    PublicParameterError
        Unless ``bound`` is an int of at least 1.
    """
    if type(entropy) is Oracle:
        return entropy.one(Uniform(bound))
    if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
        raise PublicParameterError("the bound of a uniform draw must be an int >= 1")
    count = (bound - 1).bit_length()
    if bound == 1 << count:
        return entropy.bits(count)
    count += width
    drawn = entropy.bits(count)
    while True:
        value = (drawn * bound) >> count
        if value == (drawn * bound + bound - 1) >> count:
            return value
        drawn = (drawn << width) | entropy.bits(width)
        count += width


def bernoulli(p: int | Fraction, entropy: Entropy, width: int = WIDTH) -> bool:
    """True with probability ``p``, a rational in [0, 1].

    Parameters
    ----------
    p : int or Fraction
        In [0, 1].
    entropy : Entropy
    width : int
        Bits drawn at a time.

    Returns
    -------
    bool

    Raises
    ------
    PublicParameterError
        A probability outside [0, 1].
    """
    chance = rational(p, "p")
    if type(entropy) is Oracle:
        return bool(entropy.one(Bernoulli(chance)))
    if not 0 <= chance <= 1:
        raise PublicParameterError(f"p must be in [0, 1], got {chance}")
    return uniform(chance.denominator, entropy, width) < chance.numerator


def dyadic(over: int, places: int, entropy: Entropy) -> bool:
    """True with probability ``over`` / 2**``places``, on ``places`` bits whatever the probability is.

    Parameters
    ----------
    over : int
        Numerator, from 0 to 2**``places``.
    places : int
        Number of random bits, >= 0.
    entropy : Entropy
        Source of the bits.

    Returns
    -------
    bool
        One toss.
    """
    if type(entropy) is Oracle:
        return bool(entropy.one(Bernoulli(Fraction(over, 1 << places))))
    return uniform(1 << places, entropy) < over


def dyadic_late(bounds: tuple[int, int], over: Callable[[], int], places: int, entropy: Entropy) -> bool:
    """True with probability ``over()`` / 2**``places``, a number that is found only where its bounds do not decide.

    Parameters
    ----------
    bounds : tuple of int
        At most and at least ``over()``: a draw below the first is True, one from the second on is not.
    over : callable
        Gives the numerator, which is dear to find.
    places : int
        Number of random bits, >= 0.
    entropy : Entropy
        Source of the bits.

    Returns
    -------
    bool
        One toss.
    """
    if type(entropy) is Oracle:
        return dyadic(over(), places, entropy)
    drawn = uniform(1 << places, entropy)
    return drawn < bounds[0] or (drawn < bounds[1] and drawn < over())


def bernoulli_exp(x: int | Fraction, entropy: Entropy, width: int = WIDTH) -> bool:
    """True with probability exp(-x), for a rational x >= 0.

    The digits of a uniform number are compared with the digits of exp(-x), ``width`` at a time; a second round is
    needed with probability 2**-width. At x = 0 a word is drawn all the same, so that the work does not show it.

    Parameters
    ----------
    x : int or Fraction
        At least 0.
    entropy : Entropy
    width : int
        Bits drawn at a time.

    Returns
    -------
    bool

    Raises
    ------
    PublicParameterError
        ``x`` below 0.
    """
    exponent = rational(x, "x")
    if type(entropy) is Oracle:
        return bool(entropy.one(BernoulliExp(exponent)))
    if exponent < 0:
        raise PublicParameterError("x must be >= 0")
    return resumed(exponent, 0, 0, entropy, width)


def resumed(x: Fraction, drawn: int, count: int, entropy: Entropy, width: int = WIDTH) -> bool:
    """Tell if a uniform number whose first ``count`` binary digits are ``drawn`` lies below exp(-x).

    Parameters
    ----------
    x : Fraction
        At least 0.
    drawn : int
        The first digits of the uniform number.
    count : int
        How many digits they are.
    entropy : Entropy
    width : int
        Bits drawn at a time.

    Returns
    -------
    bool
    """
    while True:
        if count:
            digits = exp_floor(x, count)
            if drawn != digits:
                return drawn < digits
        drawn = (drawn << width) | entropy.bits(width)
        count += width
