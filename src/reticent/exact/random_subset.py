"""Random subsets, exactly uniform: which of n units take part.

Proof. ``subset``: units are passed in order; unit i of n is taken with probability (still wanted) / (still to pass),
an exact rational coin. The probability of one set of m units is a product of n factors whose numerators are m!
(n - m)! in some order and whose denominators are n!: 1 / C(n, m), whatever the set. Exactly m are taken, because the
probability reaches 1 when as many pass as are wanted, and 0 when none is wanted.

Source: Fan, Muller and Rezucha 1962; Knuth, The Art of Computer Programming 2, section 3.4.2, Algorithm S. The coins
are those of ``coins``. Each unit takes one coin, whatever came before it, so the work tells nothing of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli, rational, uniform, whole


def independent(count: int, rate: Fraction, entropy: Entropy) -> Iterator[bool]:
    """Membership of each of ``count`` units: one coin of probability ``rate`` in [0, 1] each, tossed in order.

    Parameters
    ----------
    count : int
        Number of units.
    rate : Fraction
        In [0, 1].
    entropy : Entropy

    Returns
    -------
    iterator of bool

    Raises
    ------
    PublicParameterError
        A rate outside [0, 1].
    """
    whole(count, "count")
    if not 0 <= rational(rate, "rate") <= 1:
        raise PublicParameterError(f"rate must be in [0, 1], got {rate}")
    return (bernoulli(rate, entropy) for _ in range(count))


def subset(count: int, size: int, entropy: Entropy) -> Iterator[bool]:
    """Membership of each of ``count`` units in a uniform subset of exactly ``size`` of them, in order.

    Parameters
    ----------
    count, size : int
        Number of units, and of those chosen.
    entropy : Entropy

    Returns
    -------
    iterator of bool

    Raises
    ------
    PublicParameterError
        Unless 0 <= ``size`` <= ``count``; before anything is drawn.
    """
    if whole(size, "size") > whole(count, "count"):
        raise PublicParameterError(f"size must be at most {count}, got {size}")
    return _passing(count, size, entropy)


def _passing(count: int, wanted: int, entropy: Entropy) -> Iterator[bool]:
    for left in range(count, 0, -1):
        taken = uniform(left, entropy) < wanted
        wanted -= taken
        yield taken
