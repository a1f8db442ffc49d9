"""The trade-off of tests: who guesses from what is published whether someone is in the file errs in two ways.

Type I: says "in" of one who is not. Type II: misses one who is. A loss bounds from below the second for each value of
the first. The curve of a loss that hides everything is the diagonal, and the nearer to the corner, the less is hidden.

Source: 002 section 3, whose "no test with non-trivial power" holds for small losses only (docs/theory/meaning.md);
Dong, Roth and Su 2022, Definitions 2 and 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from reticent.certificate.render.figure import DOT, GREY, INK, WIDTH, quiet
from reticent.certificate.render.odds import DASHES, LEADER, saved, spread
from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_up, round_up
from reticent.lab.parts import Part, guarantee_of
from reticent.privacy import profiles
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.explain import LARGEST, LEVEL
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, words
from reticent.privacy.numbers import Number, percent_up, read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE: Final = 60  # epsilons whose lines make a curve
COARSE: Final = 24  # where each of them takes long


@dataclass(frozen=True, slots=True)
class TradeOff:
    """The least type II error for each type I error, for one loss or several.

    Attributes
    ----------
    losses : tuple of Loss
        At most five.
    level : Fraction
        A type I error, in (0, 1), that is followed in words.
    """

    losses: tuple[Loss, ...]
    level: Fraction = LEVEL

    def __post_init__(self) -> None:
        if not 1 <= len(self.losses) <= len(DASHES):
            raise PublicParameterError(f"a picture of tests has 1 to {len(DASHES)} losses, got {len(self.losses)}")
        if not 0 < self.level < 1:
            raise PublicParameterError(f"level must lie between 0 and 1, got {self.level}")

    @property
    def powers(self) -> tuple[Fraction, ...]:
        """Greatest power of a test at ``level``, for each loss."""
        return tuple(profiles.power(loss, self.level) for loss in self.losses)

    def rows(self) -> tuple[tuple[str, Fraction, Fraction], ...]:
        """(loss, type I error, least type II error), loss by loss."""
        return tuple((words(loss), alpha, beta) for loss in self.losses for alpha, beta in _curve(loss))

    def plot(self) -> Figure:
        """Type I error on x, type II error on y, each curve named where both are equal."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(WIDTH, 4.6))
        axes = drawn.add_axes((0.085, 0.12, 0.555, 0.8))
        axes.plot([0, 1], [1, 0], color=GREY, linewidth=0.8)
        axes.axvline(float(self.level), color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.text(float(self.level) + 0.01, 1.0, f"level {percent_up(self.level)}", fontsize=8, color=INK, va="top")
        names = [("nothing learned", 0.5, 1)]
        for place, (loss, power) in enumerate(zip(self.losses, self.powers, strict=True)):
            curve = [(float(alpha), float(beta)) for alpha, beta in _curve(loss)]
            axes.plot(*zip(*curve, strict=True), color=INK, linewidth=1.3, linestyle=DASHES[place])
            axes.plot([float(self.level)], [float(1 - power)], "o", color=DOT, markersize=4.5, zorder=3)
            names.append(
                (f"{words(loss)}\nat {percent_up(self.level)} finds {percent_up(power)} at most", _middle(curve), 2)
            )
        heights = [0.05 * lines + 0.03 for *_, lines in names]
        for (text, at, _), height in zip(names, spread([y for _, y, _ in names], heights, 0, 1), strict=True):
            axes.annotate(
                text,
                (at, at),
                (1.04, height),
                fontsize=8,
                va="center",
                annotation_clip=False,
                parse_math=False,
                arrowprops=dict(LEADER),
            )
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.set_xlabel("type I error: says “in” of one who is not", fontsize=9)
        axes.set_ylabel("type II error: misses one who is", fontsize=9)
        axes.set_title("The errors of any test for who is in the file", loc="left", fontsize=10)
        axes.tick_params(labelsize=8, length=3, color=GREY)
        quiet(axes)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "trade-off")


def trade_off(*parts: Part, level: Number = "0.05") -> TradeOff:
    """The trade-off curves of up to five losses, guarantees or mechanisms.

    Parameters
    ----------
    parts : Loss, Guarantee or a mechanism
    level : number
        The type I error to mark, in (0, 1).
    """
    return TradeOff(tuple(guarantee_of(part).loss for part in parts), read(level, "level"))


@cache
def _curve(loss: Loss) -> tuple[tuple[Fraction, Fraction], ...]:
    """The corners of the highest of finitely many lines that no test lies below: between them the lines are straight.

    Each epsilon of the loss gives two: 1 - delta - e^epsilon alpha, and e^-epsilon (1 - delta - alpha).
    """
    match loss:
        case PureDP() | ApproxDP():
            pairs = [epsilon_delta(loss)]
        case ZCDP() | ApproxZCDP() | Renyi() | GaussianDP() | PLD():
            most = min(epsilon_delta(loss)[0], Fraction(LARGEST)) + 1
            steps = COARSE if isinstance(loss, PLD) else FINE
            pairs = [(most * (k / steps) ** 2, Fraction(0)) for k in map(Fraction, range(steps + 1))]
            pairs = [(epsilon, profiles.delta(loss, epsilon)) for epsilon, _ in pairs]
        case _:
            assert_never(loss)
    lines = [(Fraction(0), Fraction(0))]  # (slope, height at 0)
    for epsilon, delta in pairs:
        grown = round_up(exp_up(min(epsilon, Fraction(LARGEST))))
        lines += [(-grown, 1 - delta), (-1 / grown, (1 - delta) / grown)]
    return tuple(_highest(lines))


def _highest(lines: list[tuple[Fraction, Fraction]]) -> Iterator[tuple[Fraction, Fraction]]:
    """The corners, in [0, 1], of the largest of falling lines."""
    at, (slope, height) = Fraction(0), max(lines, key=lambda line: (line[1], line[0]))
    yield at, height
    while at < 1:
        later = [((height - b) / (m - slope), m, b) for m, b in lines if m > slope]
        if not later:
            break
        next_at, _, _ = first = min(later, key=lambda found: (found[0], -found[1]))
        if next_at >= 1:
            break
        at = next_at
        _, slope, height = first
        yield at, height + slope * at
    yield Fraction(1), height + slope


def _middle(curve: list[tuple[float, float]]) -> float:
    """Point at which the falling curve crosses the diagonal from the origin."""
    for (x0, y0), (x1, y1) in itertools.pairwise(curve):
        if y1 <= x1:
            share = (y0 - x0) / ((y0 - x0) + (x1 - y1)) if y0 > x0 else 0.0
            return x0 + share * (x1 - x0)
    return 0.0
