"""Share of rows with an odd label, one that is missing, cannot be read or is none of the classes, beside a classifier.

    OddLabels.of(...)   the share as it is bought: 5 % of epsilon, or None where it would say too little
    draw(odd, ...)      the noisy share of the rows that are odd
    Labels              both together, as a classifier asks for them: which labels are odd, and what takes their place
    words(...)          the caveat

A row with an odd label is in a fit as a row without values, and no message may depend on it. So how many there are is
a release of its own: rows that are odd and rows that are not, two counts of which a row is in one; where the number
of rows is public, the first alone. It is left out, announced beforehand, where public numbers say that it would be
known to no better than 10 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.learning.circumstances import Circumstances
from reticent.mechanisms import Geometric, gate
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics.intervals import NONE, half_width, too_few
from reticent.statistics.scaling import Floats

ATTRIBUTE: Final = "odd_labels_"
SHARE: Final = Fraction(1, 20)
WIDEST: Final = 0.1
ASSUMED: Final = 10_000  # rows, where their number is private and was not declared
WHICH: Final = "a label that is missing, unreadable or none of the classes"
LEFT_OUT: Final = f"how many rows have {WHICH} is not told, as it would be known to no better than ± 10 %"


@dataclass(frozen=True, slots=True)
class OddLabels:
    """The share of rows with an odd label; ``rows`` is their number where it is public and exact."""

    mechanism: Geometric
    rows: int | None

    @classmethod
    def of(cls, here: Circumstances, epsilon: Fraction) -> OddLabels | None:
        """For 5 % of ``epsilon``; None where its half-width for the public number of rows exceeds 10 %."""
        near = here.neighbours
        public = here.people if near.kind == "substitute" and near.rows == 1 else None
        moves = near.rows * (2 if near.kind == "substitute" and public is None else 1)
        made = cls(Geometric(L1(Fraction(moves), near), SHARE * epsilon), public)
        return made if made.half_width(here.people or ASSUMED) <= WIDEST else None

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def half_width(self, rows: int) -> float:
        """Of the share, at 95 %, for so many rows of which few are odd."""
        return half_width(NONE, [float(self.mechanism.scale)]) / max(rows, 1)

    def draw(self, odd: NDArray[np.bool_], entropy: Entropy) -> Outcome[Estimate]:
        """The noisy share; no reply where the noise hides how many rows there are."""
        found, scale = int(odd.sum()), float(self.mechanism.scale)
        if self.rows is not None:
            (noisy,) = gate.draw(self.mechanism, (found,), entropy)
            return _share(noisy, self.rows, [scale])
        noisy, rest = gate.draw(self.mechanism, (found, len(odd) - found), entropy)
        if too_few(noisy + rest, [scale, scale]):
            return NO_REPLY
        part = min(max(noisy / (noisy + rest), 0.0), 1.0)
        return _share(noisy, noisy + rest, [scale * (1.0 - part), scale * part])


def _share(odd: int, rows: int, scales: list[float]) -> Outcome[Estimate]:
    if rows < 1:
        return NO_REPLY
    share, radius = min(max(odd / rows, 0.0), 1.0), half_width(NONE, scales) / rows
    return Reply(Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), radius, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What a classifier buys beside a fit: the share of odd labels among the declared ``classes``, if any is bought.

    Where the curator vouches for labels (``complete``), nothing is bought, and an odd one counts as the first class.
    """

    classes: NDArray[np.generic]
    odd: OddLabels | None
    complete: bool = False

    @property
    def share(self) -> Fraction:
        return SHARE if self.odd is not None else Fraction(0)

    def whole(self, fit: Guarantee) -> Guarantee:
        """The fit and the share in sequence."""
        if self.odd is None:
            return fit
        return compose.in_sequence([fit, self.odd.guarantee], label="a fit, and the share of odd labels")

    def rows(self, here: Circumstances) -> tuple[Floats, NDArray[np.generic], NDArray[np.generic]]:
        """X, y as the fit meets it, and y as it is read alone."""
        if here.owned is not None and self.odd is not None:
            values, given, _, alone = here.owned()
        else:
            values, given = here.read()
            alone = given
        assert given is not None
        assert alone is not None
        return values, self.mended(given), alone

    def mended(self, targets: NDArray[np.generic]) -> NDArray[np.generic]:
        """The targets; where the curator vouches for them, with the first class in the place of an odd one."""
        if not self.complete:
            return targets
        found = targets.astype(object)
        found[self._odd(targets)] = self.classes.tolist()[0]
        return found

    def draw(self, alone: NDArray[np.generic], entropy: Entropy) -> Mapping[str, object]:
        """The share, by its attribute."""
        if self.odd is None:
            return {}
        return {ATTRIBUTE: self.odd.draw(self._odd(alone), entropy)}

    def _odd(self, targets: NDArray[np.generic]) -> NDArray[np.bool_]:
        known = np.zeros(len(targets), np.bool_)
        for label in self.classes.tolist():
            known |= np.asarray(targets == label, np.bool_)
        return ~known

    def telling(self, tell: Callable[[Mapping[str, object]], Statement]) -> Callable[[Mapping[str, object]], Statement]:
        """What a certificate says, with the caveat."""
        if self.complete:
            return tell

        def told(found: Mapping[str, object]) -> Statement:
            share = found.get(ATTRIBUTE)
            return replace(tell(found), caveats=(words(share) if isinstance(share, Reply | NoReply) else LEFT_OUT,))

        return told


def words(found: Outcome[Estimate]) -> str:
    """The caveat beside a model."""
    match found:
        case Reply(share):
            value, low, high = (f"{100 * part:.1f}" for part in (share.value, share.low, share.high))
            told = f"{value} % of rows, {low} to {high} %, have {WHICH}"
        case NoReply():
            told = f"how many rows have {WHICH} could not be told"
    return f"{told}: they count as rows without values"


__all__ = ["LEFT_OUT", "SHARE", "Labels", "OddLabels", "words"]
