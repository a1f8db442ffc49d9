"""Share of odd rows beside a model: of those with an odd label, or of those that lack a value.

    LABELS, VALUES      the two kinds, and the words in which their shares are told
    OddRows.of(...)     the share as it is bought: 5 % of epsilon, or None where it would say too little
    by_complete(...)    the share by a number of complete rows that a fit buys anyway: post-processing, free
    Beside              the share as a fit asks for it: which rows are odd, and what takes the place of a label
    told(kind, found)   the caveat

A row that is odd is in a fit as a row without values, and no message may depend on it. So how many there are is a
release of its own: rows that are odd and rows that are not, two counts of which a row is in one; where the number of
rows is public, the first alone. It is left out, announced beforehand, where public numbers say that it would be known
to no better than 10 %.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.learning.array_check import cells
from reticent.learning.fit_release import Circumstances
from reticent.mechanisms import Geometric, gate
from reticent.outcome import Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics.intervals import NONE, half_width
from reticent.statistics.scaling import Floats
from reticent.statistics.shares import ASSUMED, SHARE, WIDEST, share_of, share_of_both, words

Tell = Callable[[Mapping[str, object]], Statement]


@dataclass(frozen=True, slots=True)
class Kind:
    """A way in which a row is odd: by ``name``, ``which`` rows these are, and ``then``, how they count."""

    name: str
    which: str
    then: str

    @property
    def attribute(self) -> str:
        """The attribute of a model that has the share."""
        return f"{self.name.replace(' ', '_')}_"


LABELS: Final = Kind(
    "odd labels",
    "have a label that is missing, unreadable or none of the classes",
    "they count as rows without values",
)
VALUES: Final = Kind("incomplete rows", "lack a value that can be read", "they do not count")


def told(kind: Kind, found: Outcome[Estimate] | None) -> str:
    """The caveat beside a model; None where the share is left out."""
    return words(found, kind.which, kind.then)


def caveats(found: Mapping[str, object]) -> tuple[str, ...]:
    """The caveats of the shares among what a fit found."""
    shares = [(kind, found.get(kind.attribute)) for kind in (LABELS, VALUES)]
    return tuple(told(kind, share) for kind, share in shares if isinstance(share, Reply | NoReply))


@dataclass(frozen=True, slots=True)
class OddRows:
    """The share of odd rows; ``rows`` is their number where it is public and exact."""

    mechanism: Geometric
    rows: int | None

    @classmethod
    def of(cls, here: Circumstances, epsilon: Fraction) -> OddRows | None:
        """For 5 % of ``epsilon``; None where its half-width for the public number of rows exceeds 10 %."""
        near, public = here.neighbours, here.exact
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
            return share_of(noisy, self.rows, [scale])
        noisy, rest = gate.draw(self.mechanism, (found, len(odd) - found), entropy)
        return share_of_both(noisy, rest, scale)


def by_complete(complete: float, spread: float, rows: int) -> Outcome[Estimate]:
    """The share of rows that lack a value, by noisy ``complete`` ones with noise of deviation ``spread``.

    Of Laplace's law ``spread`` has 95 % within the interval, and of a normal one .966.
    """
    return share_of(rows - complete, rows, [spread / math.sqrt(2.0)])


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """The share of odd rows beside a fit of the same rows: ``odd`` is None where none is bought.

    With ``classes``, of rows whose label is none of them; else of rows that lack a value. Where the curator vouches for
    labels (``complete``), nothing is bought, and an odd one counts as the first class.
    """

    odd: OddRows | None
    classes: NDArray[np.generic] | None = None
    complete: bool = False

    @property
    def kind(self) -> Kind:
        return VALUES if self.classes is None else LABELS

    @property
    def share(self) -> Fraction:
        """The part of epsilon that is kept for it."""
        return SHARE if self.odd is not None else Fraction(0)

    def announce(self, calls: int) -> None:
        """Warn before the charge that the share is left out; the user is so many ``calls`` away."""
        if self.odd is None and not self.complete:
            warnings.warn(f"{told(self.kind, None)}.", stacklevel=calls + 1)

    def whole(self, fit: Guarantee) -> Guarantee:
        """The fit and the share in sequence."""
        if self.odd is None:
            return fit
        return compose.in_sequence([fit, self.odd.guarantee], label=f"a fit, and the share of {self.kind.name}")

    def rows(self, here: Circumstances) -> tuple[Floats, NDArray[np.generic] | None, NDArray[np.bool_]]:
        """X and y as the fit meets them, and which rows are odd; labels are judged by y as it is read alone."""
        if self.classes is not None and self.odd is not None and here.owned is not None:
            values, targets, _, alone = here.owned()
        else:
            values, targets = here.read()
            alone = targets
        if self.classes is not None:
            assert targets is not None
            assert alone is not None
            return values, self.mended(targets), self.which(alone)
        there = np.isfinite(values).all(axis=1)
        if targets is not None:
            there &= np.isfinite(cells(targets))
        return values, targets, np.asarray(~there, np.bool_)

    def mended(self, targets: NDArray[np.generic]) -> NDArray[np.generic]:
        """The targets; where the curator vouches for them, with the first class in the place of an odd one."""
        if not self.complete or self.classes is None:
            return targets
        found = targets.astype(object)
        found[self.which(targets)] = self.classes.tolist()[0]
        return found

    def which(self, targets: NDArray[np.generic]) -> NDArray[np.bool_]:
        """The places of labels that are none of the classes."""
        known = np.zeros(len(targets), np.bool_)
        for label in () if self.classes is None else self.classes.tolist():
            known |= np.asarray(targets == label, np.bool_)
        return ~known

    def draw(self, odd: NDArray[np.bool_], entropy: Entropy) -> Mapping[str, object]:
        """The share, by its attribute."""
        return {} if self.odd is None else {self.kind.attribute: self.odd.draw(odd, entropy)}

    def telling(self, tell: Tell) -> Tell:
        """What a certificate says, with the caveat where the share is left out."""
        if self.odd is not None or self.complete:
            return tell

        def left_out(found: Mapping[str, object]) -> Statement:
            made = tell(found)
            return replace(made, caveats=(*made.caveats, told(self.kind, None)))

        return left_out


__all__ = ["LABELS", "VALUES", "Beside", "OddRows", "by_complete", "caveats", "told"]
