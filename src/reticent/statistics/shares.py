"""Share of odd rows in all rows, by noisy counts: its 95 % interval, and the words in which it is told.

OddShare                       the share as it is bought, beside an answer as beside a model
share_of(odd, rows, scales)    the share by a noisy number of odd rows, or by rows less those that are not odd
idle(found)                    True for a share that is released and said nowhere else: none, or one in a hundred
share_of_both(odd, rest, ...)  the share by the noisy odd rows and the noisy rest
words(found, which, then)      the share in words, or that it is left out, or could not be told
in_short(words)                the same beside an estimand that says which rows count
again(origin)                  the release that told a share, in words, where it is shown again

Odd rows and the others are protected together: adding or removing a person moves the pair by at most the rows of one
person, replacing one by twice that. Let every person have one row and their number be public. A replaced person moves
the number of odd rows by 1 then, and that number alone is drawn. If the number of rows is bought besides, subtracting
the rows that are not odd gives a second estimate of the odd ones. The two estimates are averaged by their precision.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1
from reticent.statistics.intervals import NONE, half_width, noise_half_width, too_few

SHARE: Final = Fraction(1, 20)  # of the loss of what a share stands beside
IDLE: Final = 0.01  # a share that may be none, and is at most this, changes nothing that a reader must know
VAGUE: Final = 0.1  # a share that may be none, and may be more than this, is told as what it is: hardly known
FEW: Final = "too few people for this ε to tell better"
MOST: Final = 0.75  # rows of which so many are odd are likely written otherwise than declared
WIDEST: Final = 0.1  # a share that would be known less well than this is not bought
_LEFT_OUT: Final = re.compile(
    r"(how many|.+? of) rows have (.+?)( is not told, as .+?| could not be told|): they are left out( \(told by .+\))?"
)
SPELT: Final = "that is listed letter by letter"
DECLARED: Final = "if most of those cells are filled, declare how they are written: "
MANY: Final = 10**8  # people of a study that is larger than any question needs
ASSUMED: Final = 10_000  # rows, where their number is private and was not declared


@dataclass(frozen=True, slots=True)
class OddShare:
    """Purchase of the share of odd rows.

    ``rows`` is the number of all rows if that is public and exact. ``of_rows`` is the noise scale of a number of rows
    that is bought besides; None if none is.
    """

    mechanism: Geometric
    rows: int | None
    of_rows: Fraction | None = None

    @classmethod
    def of(cls, near: Adjacency, rows: int | None, epsilon: Fraction, of_rows: Fraction | None = None) -> OddShare:
        """For ``epsilon``; a public number of ``rows`` goes with one row a person alone.

        Parameters
        ----------
        near : Adjacency
        rows : int or None
            Public number of rows.
        epsilon : Fraction
            Price of the share.
        of_rows : Fraction, optional
            Scale of the noise of a bought number of rows.

        Returns
        -------
        OddShare
        """
        moves = near.rows * (2 if near.kind == "substitute" and rows is None else 1)
        return cls(Geometric(L1(Fraction(moves), near), epsilon), rows, of_rows)

    def draw(self, odd: int, rest: int, entropy: Entropy, bought: float | None = None) -> Outcome[Estimate]:
        """The noisy share; ``bought`` is a noisy number of rows. No reply where noise hides how many there are.

        Parameters
        ----------
        odd, rest : int
            Private numbers of odd rows and of the others.
        entropy : Entropy
        bought : float, optional
            Noisy number of all rows.

        Returns
        -------
        Outcome
            A share in [0, 1].
        """
        if self.rows is not None:
            (noisy,) = gate.draw(self.mechanism, (odd,), entropy)
            return share_of(noisy, self.rows, [self.scale])
        noisy, others = gate.draw(self.mechanism, (odd, rest), entropy)
        alone = share_of_both(noisy, others, self.scale)
        if isinstance(alone, NoReply) or bought is None or self.of_rows is None:
            return alone
        if too_few(bought, [float(self.of_rows)]):
            return alone
        share = alone.value.value
        weight = self._weight(share)
        return share_of(weight * noisy + (1.0 - weight) * (bought - others), bought, self._scales(weight, share))

    def half_width(self, rows: int, odd: float = 0.0) -> float:
        """Half-width of the share, at 95 %, for so many rows of which this share is odd."""
        if self.rows is not None:
            scales = [self.scale]
        elif self.of_rows is None:
            scales = [self.scale * (1.0 - odd), self.scale * odd]
        else:
            scales = self._scales(self._weight(odd), odd)
        return noise_half_width(scales) / max(rows, 1)

    @property
    def scale(self) -> float:
        """The scale of the noise of each count."""
        return float(self.mechanism.scale)

    def _weight(self, share: float) -> float:
        """Weight of the noisy odd rows beside the number of rows less the others: the least variance of the share."""
        one, two = self.scale**2, float(self.of_rows or 0) ** 2
        return (one + (1.0 - share) * two) / (2.0 * one + two)

    def _scales(self, weight: float, share: float) -> list[float]:
        """The scales of the noises of both looks and of the number of rows, as they enter the share."""
        of_rows = float(self.of_rows or 0)
        return [self.scale * weight, self.scale * (1.0 - weight), of_rows * (1.0 - weight - share)]


def share_of(odd: float, rows: float, scales: Sequence[float]) -> Outcome[Estimate]:
    """The share of noisy ``odd`` in ``rows``, with the scales of the noises in ``odd - share x rows``.

    Parameters
    ----------
    odd, rows : float
        Noisy numbers.
    scales : sequence of float
        Scales of the noises in ``odd - share x rows``, in rows.

    Returns
    -------
    Outcome
        A share in [0, 1].
    """
    if rows < 1:
        return NO_REPLY
    share, radius = min(max(odd / rows, 0.0), 1.0), half_width(NONE, list(scales)) / rows
    return Reply(Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), radius, 0.0))


def share_of_both(odd: float, rest: float, scale: float) -> Outcome[Estimate]:
    """The share of noisy ``odd`` rows in these and a noisy ``rest``, both with noise of ``scale``.

    No reply where the noise hides how many rows there are.

    Parameters
    ----------
    odd, rest : float
        Noisy numbers of odd rows and of the others.
    scale : float
        Of either noise, in rows.

    Returns
    -------
    Outcome
        A share in [0, 1].
    """
    if too_few(odd + rest, [scale, scale]):
        return NO_REPLY
    share = min(max(odd / (odd + rest), 0.0), 1.0)
    return share_of(odd, odd + rest, [scale * (1.0 - share), scale * share])


def idle(found: Outcome[Estimate] | None) -> bool:
    """Tell if a released share shows that what it counts may not be there, and is at most one in a hundred."""
    return isinstance(found, Reply) and found.value.low <= 0.0 and found.value.high <= IDLE


def unclear(found: Outcome[Estimate] | None) -> bool:
    """Tell if a released share leaves open whether few or many rows are odd; of none that is told, too."""
    return not isinstance(found, Reply) or (found.value.low <= 0.0 and found.value.high > VAGUE)


def most(found: Outcome[Estimate] | None) -> bool:
    """Tell if a released share is above three quarters: surely, or as far as it is known."""
    if not isinstance(found, Reply):
        return False
    share = found.value
    return share.low > MOST or (share.low > 0.0 and share.value > MOST and share.noise > VAGUE)


def words(found: Outcome[Estimate] | None, which: str, then: str) -> str:
    """The share of rows ``which`` have something odd, and ``then`` what becomes of these; None: it is left out.

    Parameters
    ----------
    found : Outcome or None
        Share of odd rows, in [0, 1].
    which, then : str
        What the rows have, and what becomes of them.

    Returns
    -------
    str
    """
    match found:
        case None:
            return f"how many rows {which} is not told, as it would be known to no better than ± 10 %: {then}"
        case Reply(estimate) if estimate.low > 0.0 or estimate.high <= MOST:
            return f"{percent(estimate)} of rows {which}: {then}"
        case _:
            return f"how many rows {which} could not be told: {then}"


def in_short(text: str) -> str:
    """The words of a share beside an estimand that names the rows that count; other words as they are."""
    found = _LEFT_OUT.fullmatch(text)
    if found is None:
        return text
    lack = "a readable value"
    if "unlisted" in found[2] and not found[3]:
        lack = f"{lack}, or one {SPELT}," if "unreadable" in found[2] else f"a value {SPELT}"
    return f"{found[1]} rows lack {lack} and are left out{found[3]}{found[4] or ''}"


def again(origin: str) -> str:
    """The release that told a share, in words after it; none where ``origin`` is empty."""
    return f" (told by {origin} of this snapshot, not charged again)" if origin else ""


def percent(estimate: Estimate) -> str:
    """``1.2 % ± 0.4 %``, to the digits that the half-width is worth; ``at most 0.4 %`` where none may be there.

    Where none may be there, or many, ``0 % to 22 %``, and why: "at most" would sound as if there were many. Where all
    may be there, ``at least 51 %``.
    """
    radius = 100 * estimate.noise
    digits = 0 if radius >= 0.95 else min(max(1, -math.floor(math.log10(radius))), 6) if radius > 0 else 1

    def upwards(number: float) -> str:
        step = 10.0**-digits
        return f"{math.ceil(number / step - 1e-9) * step:.{digits}f} %"

    if estimate.high >= 1.0 and estimate.low > 0.0:
        return f"at least {math.floor(100 * estimate.low * 10**digits + 1e-9) / 10**digits:.{digits}f} %"
    if estimate.low <= 0.0 and estimate.high > VAGUE:
        return f"0 % to {upwards(100 * estimate.high)} ({FEW})"
    if estimate.low <= 0.0:
        return f"at most {upwards(100 * estimate.high)}"
    return f"{100 * estimate.value:.{digits}f} % ± {upwards(radius)}"


__all__ = [
    "ASSUMED",
    "SHARE",
    "WIDEST",
    "OddShare",
    "again",
    "idle",
    "in_short",
    "most",
    "percent",
    "share_of",
    "share_of_both",
    "unclear",
    "words",
]
