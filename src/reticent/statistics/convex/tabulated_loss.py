"""A convex loss the caller names by its slope: a public table of integers, of which rows read a line each.

    slope(score, target)  asked on a public grid before any row is read, and never again
    table                 divided by its greatest size and rounded to 2^-20; a line for each target, rising in the score
    a row                 between two lines by its target, between two nodes by its score; constant beyond the ends

So the program of the caller meets no row, and the loss of every row is convex whatever the program is. Its slope is
piecewise linear with numbers that doubles hold exactly. Targets are -1 and 1 for a class and for the others, or numbers
in [-1, 1]. docs/proofs/learning.md, section 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from reticent.errors import PublicParameterError
from reticent.statistics.scaling import Floats, Integers

Slope: TypeAlias = Callable[[Floats, Floats], object]  # or of two floats

BITS: Final = 9
HALF: Final = 1 << BITS  # cells of scores on either side of 0
CELLS: Final = 2 * HALF
LINES: Final = 256  # cells of targets that are numbers
FINE: Final = 1 << 20  # a slope at its bound is so many
PARTS: Final = 1 << 10  # of a cell of targets
WHOLE: Final = FINE * PARTS
WIDEST: Final = 20  # scores are tabled within 2^20 at most, and over 2^-20 at least
FALLS: Final = 1e-9  # of the greatest slope: what rounding in a rising function may seem to fall by
NODES: Final = np.arange(-HALF, HALF + 1) / HALF


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedLoss:
    """A convex loss by its slopes.

    Attributes
    ----------
    values : integers of shape (targets, CELLS + 1), in [-FINE, FINE]
        Slopes in steps of 1 / FINE; no line falls, and one rises. Two targets, -1 and 1, for classes; else LINES + 1.
    power : int
        Nodes lie from -2^power to 2^power.
    classes : int
        One score for two, one for each against the rest of more; 0 for targets that are numbers.
    bent : Fraction
        The greatest difference quotient of the table.
    """

    values: Integers
    power: int
    classes: int = 0
    bent: Fraction = field(init=False)

    def __post_init__(self) -> None:
        shape, kept = (2 if self.classes else LINES + 1, CELLS + 1), np.array(self.values)
        if kept.shape != shape or kept.dtype != np.int64 or self.classes in (1, *range(-9, 0)):
            raise PublicParameterError(f"a table of slopes has whole numbers in the shape {shape}")
        if not -WIDEST <= self.power <= WIDEST:
            raise PublicParameterError(f"scores are tabled within 2^{WIDEST}, and over 2^-{WIDEST} at least")
        if kept.min() < -FINE or kept.max() > FINE:
            raise PublicParameterError("slopes lie within their bound")
        rises = np.diff(kept, axis=1)
        if rises.min() < 0 or not rises.max():
            raise PublicParameterError("slopes rise with the score")
        kept.flags.writeable = False
        object.__setattr__(self, "values", kept)
        object.__setattr__(self, "bent", Fraction(int(rises.max()) * HALF, FINE) / Fraction(2) ** self.power)

    @property
    def scores(self) -> int:
        """Scores of a row."""
        return self.classes if self.classes > 2 else 1

    @property
    def digest(self) -> str:
        """SHA-256 of the table: power and classes, then slopes as little-endian integers, line by line."""
        head = f"{self.power} {self.classes} ".encode()
        return hashlib.sha256(head + self.values.astype("<i8").tobytes()).hexdigest()

    def slopes(self, scores: Floats, targets: Floats) -> Floats:
        """Slopes in [-1, 1] of shape (n, scores); NaN where a score is.

        Accuracy
        --------
        Within 5 units of 2^-53 of the exact ones: nodes are whole numbers, and positions powers of two times scores.
        """
        lines, cell, beyond = self._lines(targets), *self._places(scores)
        left, right = self._node(lines, cell), self._node(lines, cell + 1)
        return np.asarray((left + beyond * (right - left)) / WHOLE)

    def curvatures(self, scores: Floats, targets: Floats) -> Floats:
        """Second derivatives of shape (n, scores): 0 beyond the ends, and of either side at a node."""
        cell, _ = self._places(scores)
        rise = self._rise(self._lines(targets), cell)
        return np.asarray(np.where(np.abs(scores) <= 2.0**self.power, rise, 0.0))

    def near(self, scores: Floats, targets: Floats, off: Floats) -> Floats:
        """A bound of the curvature in every score at any score within ``off``; all of shape (n, scores).

        Parameters
        ----------
        scores, targets, off : arrays of shape (n, scores), float
            Scores, targets, and the distance within which the true scores are.

        Returns
        -------
        array of shape (n, scores), float
        """
        lines, (cell, _) = self._lines(targets), self._places(scores)
        found = [self._rise(lines, np.clip(cell + step, 0, CELLS - 1)) for step in (-1, 0, 1)]
        bound = np.where(np.abs(scores) - off > 2.0**self.power, 0.0, np.max(found, axis=0))
        close = np.ldexp(off, BITS - self.power) <= 1.0  # a cell at most, so within the cells beside it
        return np.asarray(np.where(close, bound, float(self.bent)))

    def exactly(self, scores: Sequence[Fraction], target: Fraction) -> list[Fraction]:
        """The slopes of one row in rationals."""
        lines, found = self._lines(np.array([float(target)])), []  # a target is a double
        for place, score in enumerate(scores):
            at = min(max(score * HALF / Fraction(2) ** self.power, Fraction(-HALF)), Fraction(HALF))
            cell = min(at.__floor__() + HALF, CELLS - 1)
            one = tuple(line[:, place : place + 1] for line in lines)
            left, right = (int(self._node(one, np.array([[cell + step]]))[0, 0]) for step in (0, 1))
            found.append((left + (at + HALF - cell) * (right - left)) / WHOLE)
        return found

    def _lines(self, targets: Floats) -> tuple[Integers, ...]:
        """The line below every target and the part of a cell beyond it, both of shape (n, scores)."""
        if self.classes:
            here = targets[:, None] == (np.arange(self.classes) if self.classes > 2 else 1)
            return here.astype(np.int64), np.zeros(here.shape, np.int64)
        steps = np.rint((np.clip(targets, -1.0, 1.0) + 1.0) * (LINES // 2 * PARTS)).astype(np.int64)[:, None]
        line = np.minimum(steps // PARTS, LINES - 1)
        return line, steps - line * PARTS

    def _places(self, scores: Floats) -> tuple[Integers, Floats]:
        """The cell of every score, and how far beyond its left end it lies, in cells."""
        at = np.clip(np.ldexp(scores, BITS - self.power), -HALF, HALF)
        cell = np.minimum(np.floor(np.nan_to_num(at)).astype(np.int64) + HALF, CELLS - 1)
        return cell, at - (cell - HALF)

    def _node(self, lines: tuple[Integers, ...], node: Integers) -> Integers:
        """Slopes at nodes, in steps of 1 / WHOLE."""
        line, part = lines
        above = np.minimum(line + 1, len(self.values) - 1)
        return np.asarray(self.values[line, node] * (PARTS - part) + self.values[above, node] * part)

    def _rise(self, lines: tuple[Integers, ...], cell: Integers) -> Floats:
        rise = self._node(lines, cell + 1) - self._node(lines, cell)
        return np.asarray(np.ldexp(rise / WHOLE, BITS - self.power))


def of_classes(slope: Slope, classes: int, reach: Fraction, steepest: Fraction | None) -> tuple[TabulatedLoss, float]:
    """The loss of a score and -1 or 1, within ``reach`` of 0, and the slope that is 1 in the table.

    Parameters
    ----------
    slope : function
        The derivative of the loss in the score, of score and target.
    classes : int
        Number of classes.
    reach : Fraction
        Greatest size of a score in the table.
    steepest : Fraction or None
        Size that slopes are cut to; None for the greatest within reach.

    Returns
    -------
    pair of TabulatedLoss, and float

    Raises
    ------
    PublicParameterError
        A reach out of range.
    """
    if not Fraction(1, 1 << WIDEST) <= reach <= 1 << WIDEST:
        raise PublicParameterError(f"reach must lie between 2^-{WIDEST} and 2^{WIDEST}")
    power = next(power for power in range(-WIDEST, WIDEST + 1) if Fraction(2) ** power >= reach)
    scores = np.clip(NODES * 2.0**power, -float(reach), float(reach))
    values, bound = _rising(asked(slope, scores, np.array([-1.0, 1.0])), steepest)
    return TabulatedLoss(values, power, classes), bound


def of_numbers(slope: Slope, scores: Floats, targets: Floats, steepest: Fraction | None) -> tuple[TabulatedLoss, float]:
    """The loss of a score and a number, each within (low, high), and the slope that is 1 in the table.

    Parameters
    ----------
    slope : function
        The derivative of the loss in the score, of score and target.
    scores, targets : array of shape (2,), float
        Low and high end of each, in the unit of y.
    steepest : Fraction or None
        Size that slopes are cut to; None for the greatest within reach.

    Returns
    -------
    pair of TabulatedLoss, and float
    """
    values, bound = _rising(
        asked(slope, placed(NODES, scores), placed(np.linspace(-1, 1, LINES + 1), targets)), steepest
    )
    return TabulatedLoss(values, 0), bound


def placed(nodes: Floats, ends: Floats) -> Floats:
    """Points of [-1, 1] between two ends."""
    low, high = ends.tolist()
    return np.asarray((low + high) / 2 + nodes * ((high - low) / 2))


def between(values: Floats, at: Floats) -> Floats:
    """Straight lines through values at the nodes, shape (CELLS + 1,), at points in [-1, 1]; constant beyond.

    NaN at NaN, which is what a row far beyond its bounds may have for a score: it is in no cell, and must fail nothing.
    """
    place = np.clip(at * HALF, -HALF, HALF) + HALF
    cell = np.minimum(np.floor(np.nan_to_num(place)).astype(np.int64), CELLS - 1)
    return np.asarray(values[cell] + (place - cell) * (values[cell + 1] - values[cell]))


def asked(slope: Slope, scores: Floats, targets: Floats, name: str = "slope") -> Floats:
    """Values of the caller's function on a grid, shape (targets, scores): of arrays, or number by number.

    Parameters
    ----------
    slope : function
        The caller's, of score and target.
    scores, targets : arrays of float
        Ends of the grid along each side.
    name : str
        Of the function, for the message.

    Returns
    -------
    array of shape (targets, scores), float

    Raises
    ------
    PublicParameterError
        Where it fails, or says what is no finite number.
    """
    z, y = np.tile(scores, len(targets)), np.repeat(targets, len(scores))
    with np.errstate(all="ignore"):
        try:
            found = np.array(slope(z.copy(), y.copy()), np.float64)  # a copy: the caller may still write into its own
        except Exception:  # a function of numbers fails on arrays in many ways; what else is wrong is told below
            found = np.empty(0)
        if found.shape != z.shape:
            found = _one_by_one(slope, z, y, name)
    if not np.isfinite(found).all():
        raise PublicParameterError(f"{name} must be finite at every score within reach. Nothing was charged.")
    return found.reshape(len(targets), len(scores))


def _one_by_one(slope: Slope, z: Floats, y: Floats, name: str) -> Floats:
    try:
        return np.array(
            [float(slope(a, b)) for a, b in zip(z.tolist(), y.tolist(), strict=True)]  # type: ignore[arg-type]  # floats
        )
    except Exception as cause:
        raise PublicParameterError(
            f"{name} takes arrays, or numbers, and gave {type(cause).__name__} on its public grid. Nothing was charged."
        ) from cause


def _rising(found: Floats, steepest: Fraction | None) -> tuple[Integers, float]:
    """Slopes as whole numbers of 1 / FINE of the greatest, or of ``steepest`` if that is less; and that slope."""
    bound = float(np.abs(found).max())
    if steepest is not None:
        if steepest <= 0:
            raise PublicParameterError("steepest must be > 0")
        bound = min(bound, float(steepest))
    with np.errstate(over="ignore"):
        rises = np.diff(found, axis=1)
    if not bound > 1e-300 or not rises.any():
        raise PublicParameterError("slope is the same at every score: such a loss has no least point")
    if float(rises.min()) < -FALLS * bound:
        raise PublicParameterError(
            "slope falls somewhere as the score rises: the loss is not convex in the score. Nothing was charged."
        )
    shares = np.clip(np.maximum.accumulate(found, axis=1) / bound, -1.0, 1.0)
    values = np.rint(shares * FINE).astype(np.int64)
    if not np.diff(values, axis=1).any():
        raise PublicParameterError("slope rises by less than a millionth of its greatest size")
    return values, bound


__all__ = ["CELLS", "NODES", "Slope", "TabulatedLoss", "asked", "between", "of_classes", "of_numbers", "placed"]
