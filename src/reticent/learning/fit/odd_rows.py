"""Share of incomplete rows beside a model: of those that lack a value, or a label that is one of the classes.

    VALUES, LABELS      which rows these are: of models without classes, and of classifiers
    odd_share(...)      the share as it is bought: 5 % of epsilon, or None where it would say too little
    by_complete(...)    the share by a number of complete rows that a fit buys anyway: post-processing, free
    Beside              the share as a fit asks for it: which rows are odd, and what takes the place of a label
    told(which, found)  the caveat

An incomplete row is odd: it does not count in a fit, and no message may depend on it. So how many there are is a
release of its own: rows that are odd and rows that are not, two counts of which a row is in one. If the number of rows
is public, the first alone. It is left out, announced beforehand, where public numbers say that it would be known to no
better than 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.certificate.snapshot import NOTHING, EarlierShares
from reticent.entropy import Entropy
from reticent.errors import warn
from reticent.learning.fit.array_check import cells
from reticent.learning.fit.fit_release import Circumstances
from reticent.outcome import Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import IncompleteRows
from reticent.statistics.scaling import Floats
from reticent.statistics.shares import SHARE, WIDEST, OddShare, again, share_of, words

Tell = Callable[[Mapping[str, object]], Statement]


ATTRIBUTE: Final = "incomplete_rows_"  # of a model that has the share
BESIDE: Final = "a fit, and the "
VALUES: Final = "lack a value that can be read"
LABELS: Final = f"{VALUES} or a label that is one of the classes"


def told(which: str, found: Outcome[Estimate] | None, origin: str = "") -> str:
    """The caveat beside a model; None where the share is left out; ``origin`` is the earlier release that told it.

    Parameters
    ----------
    which : str
        The columns, in words.
    found : Outcome or None
        Share of incomplete rows, in [0, 1].
    origin : str
        The earlier release that told it.

    Returns
    -------
    str
        Empty, or one sentence.
    """
    return f"{words(found, which, 'they do not count')}{again(origin)}"


def odd_share(here: Circumstances, epsilon: Fraction) -> OddShare | None:
    """The share of odd rows for 5 % of ``epsilon``; None where its half-width for the public number exceeds 10 %."""
    made = OddShare.of(here.neighbours, here.exact, SHARE * epsilon)
    return made if made.half_width(here.supposed) <= WIDEST else None


def by_complete(complete: float, spread: float, rows: int) -> Outcome[Estimate]:
    """The share of incomplete rows, by noisy ``complete`` ones with noise of deviation ``spread``.

    Of Laplace's law ``spread`` has 95 % within the interval, of a normal one .966, and of a sum of noises in between.

    Parameters
    ----------
    complete : float
        Noisy number of complete rows.
    spread : float
        Standard deviation of its noise, in rows.
    rows : int
        The public number of rows.

    Returns
    -------
    Outcome
        A share in [0, 1].
    """
    return share_of(rows - complete, rows, [spread / math.sqrt(2.0)])


@dataclass(frozen=True, slots=True, eq=False)
class FitOddShare:
    """The share of odd rows beside a fit of the same rows: ``odd`` is None where none is bought.

    With ``classes`` a row is odd by its label too, unless labels are ``vouched`` for: an odd one then counts as the
    first class. The share is ``known`` where no row can be odd, or where the fit tells it. ``columns`` are those of a
    study whose odd cells make a row odd, where nothing else does. ``told`` are the shares told earlier, and ``earlier``
    is that of these columns.
    """

    odd: OddShare | None
    classes: NDArray[np.generic] | None = None
    vouched: bool = False
    known: bool = False
    columns: tuple[str, ...] = ()
    told: EarlierShares = NOTHING
    earlier: IncompleteRows | None = None

    @classmethod
    def of(
        cls,
        here: Circumstances,
        epsilon: Fraction,
        classes: NDArray[np.generic] | None = None,
        *,
        vouched: bool = False,
        known: bool = False,
    ) -> FitOddShare:
        """The share for a part of ``epsilon``, or for none where it is known without: by the fit, or an earlier one.

        Parameters
        ----------
        here : Circumstances
            Circumstances of the fit.
        epsilon : Fraction
            Loss of which a part pays for the share.
        classes : array of any type, optional
            Declared classes of the target, shape (classes,); None for a target of numbers.
        vouched : bool
            True if whoever fits says that no row is odd.
        known : bool
            True if no row can be odd, or the fit tells the share.

        Returns
        -------
        FitOddShare
            The share, with its price if it is bought.
        """
        columns: tuple[str, ...] = ()
        told = NOTHING if here.shelf is None else here.shelf.known()
        if here.shelf is not None and not here.complete:
            target = () if here.target is None else (here.target,)
            if classes is None or not target or here.shelf.listed(target[0], classes.tolist()):
                columns = here.shelf.lacking(here.columns)
                known = known or not columns  # the filter of the study proves that no row is odd
        earlier = told.share(columns) if columns and not known else None
        odd = None if known or earlier is not None else odd_share(here, epsilon)
        return cls(odd, classes, vouched, known or earlier is not None, columns, told, earlier)

    @property
    def which(self) -> str:
        """The rows that are odd, in words."""
        return VALUES if self.classes is None else LABELS

    @property
    def share(self) -> Fraction:
        """The part of epsilon that is kept for it."""
        return SHARE if self.odd is not None else Fraction(0)

    @property
    def left_out(self) -> bool:
        """Tell if rows can be odd and nothing counts them."""
        return self.odd is None and not self.known

    def announce(self) -> None:
        """Warn before the charge that the share is left out."""
        for sentence in self.sentences:
            warn(f"{sentence}.")

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence where the share is left out; none where it is told."""
        return (told(self.which, None),) if self.left_out else ()

    def whole(self, fit: Guarantee) -> Guarantee:
        """The fit and the share in sequence."""
        if self.odd is None:
            return fit
        return compose.in_sequence([fit, self.odd.mechanism.guarantee], label=f"{BESIDE}share of incomplete rows")

    def judged(
        self, values: Floats, targets: NDArray[np.generic] | None
    ) -> tuple[NDArray[np.generic] | None, NDArray[np.bool_]]:
        """The targets as the fit meets them, and which rows are odd, where that is asked for."""
        if self.odd is None and not self.vouched:
            return targets, np.zeros(0, np.bool_)
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        if targets is None:
            return None, ~there
        if self.classes is None:
            return targets, ~(there & np.isfinite(cells(targets)))
        labelled = np.zeros(len(targets), np.bool_)
        for label in self.classes.tolist():
            labelled |= np.asarray(targets == label, np.bool_)
        if not self.vouched:
            return targets, ~(there & labelled)
        mended = targets.astype(object)
        mended[~labelled] = self.classes.tolist()[0]
        return mended, ~there

    def draw(self, odd: NDArray[np.bool_], entropy: Entropy) -> Mapping[str, object]:
        """The share, by its attribute; that of an earlier release where it is shown again."""
        if self.earlier is not None:
            return {ATTRIBUTE: self.earlier.outcome}
        return {} if self.odd is None else {ATTRIBUTE: self.odd.draw(int(odd.sum()), int((~odd).sum()), entropy)}

    def telling(self, tell: Tell) -> Tell:
        """Statement of a certificate, with the share that the fit found, or that it is left out."""

        def said(found: Mapping[str, object]) -> Statement:
            made, share = tell(found), found.get(ATTRIBUTE)
            if not isinstance(share, Reply | NoReply):
                return replace(made, caveats=(*made.caveats, told(self.which, None))) if self.left_out else made
            stated = self.earlier
            if stated is None and self.columns:
                stated = self.told.marked(IncompleteRows(self.columns, share))
            text = told(self.which, share, "" if stated is None else stated.origin)
            return replace(made, caveats=(*made.caveats, text), incomplete=() if stated is None else (stated,))

        return said


__all__ = ["ATTRIBUTE", "LABELS", "VALUES", "FitOddShare", "by_complete", "odd_share", "told"]
