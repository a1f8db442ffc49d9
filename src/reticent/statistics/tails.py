"""Declared tails: the most that cutting values at a released distance can move a mean, if a tail is as was said.

    k         from a released radius on the share beyond falls at least like distance^-k, up to a factor of 2
    normal    it falls at least like that of a normal law with the same share beyond the radius, up to a factor of 2

Nothing in a table can show that a tail is so (Bahadur and Savage 1956): whoever declares one vouches for it. A noisy
count of the values beyond can refute it, and then the declaration is not used.
Proof: docs/proofs/unbounded.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.numbers import Number, read, show

Tail: TypeAlias = Fraction | Literal["normal"]

FLATTEST, STEEPEST = Fraction(11, 10), Fraction(100)  # indices that can be declared; at 1 a law has no mean
SLACK: Final = 2.0  # the factor within which a tail is as declared
RANKS: Final = 1.25  # the radius may leave out a little more than it aims at
WIDE, NARROW = 3.0, 2.0  # the cut, in radii: where tails may be powers of the distance, and where they are normal
NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class TailAllowance:
    """Limits of a tail beyond a cut: the share of values there, and the shift of the mean by cutting, in radii."""

    share: float
    moved: float


def read_tail(text: Number | None) -> Tail | None:
    """A tail as it is written: "normal", or the index of a power."""
    if text is None or text == "normal":
        return None if text is None else "normal"
    try:
        return read(text, "tail")
    except PublicParameterError as refused:
        raise QuestionError(f'tail is "normal" or a number such as 3: {refused}') from None


def check_tail(tail: Tail | None) -> None:
    """Refuse an index at which a mean is not there, or no power is meant."""
    if isinstance(tail, Fraction) and not FLATTEST <= tail <= STEEPEST:
        raise PublicParameterError(
            f"tail is between {show(FLATTEST)} and {show(STEEPEST)}, the power of the distance by which the share "
            f"beyond falls, or normal; got {show(tail)}"
        )


def stretch(tail: Tail | None) -> float:
    """The cut in released radii."""
    return NARROW if tail == "normal" else WIDE


def allowed(tail: Tail, outside: float, counted: float) -> TailAllowance:
    """The most a tail allows, with a share ``outside`` beyond the radius and at most ``counted`` beyond the cut.

    Parameters
    ----------
    tail : Tail
        Declared tail: its index, or "normal".
    outside : float
        Share of the values beyond the radius, in (0, 1).
    counted : float
        Greatest share beyond the cut, by a noisy count.

    Returns
    -------
    TailAllowance
        Share beyond the cut, and the shift of the mean in radii.
    """
    cut, most = stretch(tail), RANKS * outside
    if tail == "normal":
        z = NORMAL.inv_cdf(1.0 - min(most, 0.9) / 2.0)
        share = 2.0 * SLACK * _above(cut * z)
        return TailAllowance(share, 2.0 * SLACK * max(NORMAL.pdf(cut * z) - cut * z * _above(cut * z), 0.0) / z)
    k = float(tail)
    share = SLACK * most * cut**-k
    return TailAllowance(share, min(share, SLACK * counted) * cut / (k - 1.0))


def _above(z: float) -> float:
    return NORMAL.cdf(-z)


def near(centre: Fraction, radius: Fraction, deviation: Fraction) -> str:
    """Premises of CoinPress, in the words of an estimand.

    Parameters
    ----------
    centre, radius, deviation : Fraction
        In the unit of the column.

    Returns
    -------
    str
    """
    return (
        f"if it is within {show(radius)} of {show(centre)} and tails are no heavier than those of a normal law of "
        f"standard deviation {show(deviation)}"
    )


def declared(tail: Tail) -> str:
    """A declared tail, in the words of an estimand."""
    if tail == "normal":
        return "if its tails are no heavier than normal"
    return f"if its tails fall at least like distance^-{show(tail)} from the median, beyond a third of the cut"
