"""Composition of many releases of the same kind, by each theorem, in one picture.

    basic      epsilons add; deltas add                                    001
    advanced   Dwork, Rothblum and Vadhan 2010, Theorem III.3
    zCDP       rhos add, one conversion at the end                         Bun and Steinke 2016
    optimal    the least epsilon for all parts with these losses           Kairouz, Oh and Viswanath 2017
    own law    the least epsilon for this very mechanism, from its privacy-loss distribution

All hold at one total delta, so they can be compared. A mechanism whose loss has no epsilon without a delta is viewed at
a share of it: delta / k each for basic, delta / 2k each for advanced and optimal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.certificate.render.figure import GREY, INK, WIDTH, quiet
from reticent.certificate.render.odds import DASHES, LEADER, saved, spread
from reticent.errors import PublicParameterError
from reticent.lab.parts import Part, called, guarantee_of
from reticent.privacy import profiles as curves
from reticent.privacy.compose import in_sequence
from reticent.privacy.convert import as_approx, as_zcdp, epsilon_delta, pld_view
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, PureDP, pld_of
from reticent.privacy.numbers import Number, about, read, show
from reticent.privacy.optimal_composition import advanced, optimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS: Final = 40
MOST: Final = 1000
FARTHEST: Final = 2.5  # times basic composition: how far up the picture goes
MARKS: Final = ("o", "s", "^", "D", "x")


@dataclass(frozen=True, slots=True)
class Composition:
    """Epsilon after k releases, at a total delta, by each theorem that applies.

    Attributes
    ----------
    what : str
        What is released again and again.
    delta : Fraction
        Of all releases together.
    counts : tuple of int
        The numbers of releases, rising.
    curves : tuple of (theorem, epsilons)
        One epsilon for each of ``counts``; None where the theorem says nothing at this delta.
    """

    what: str
    delta: Fraction
    counts: tuple[int, ...]
    curves: tuple[tuple[str, tuple[Fraction | None, ...]], ...]

    def rows(self) -> tuple[tuple[str, int, Fraction | None], ...]:
        """(theorem, number of releases, epsilon), theorem by theorem."""
        return tuple(
            (name, count, epsilon)
            for name, epsilons in self.curves
            for count, epsilon in zip(self.counts, epsilons, strict=True)
        )

    def plot(self) -> Figure:
        """Releases on x, epsilon on y, each line named at its end."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        drawn = Figure(figsize=(WIDTH, 4.2))
        axes = drawn.add_axes((0.085, 0.125, 0.655, 0.79))
        top = self._top()
        ends = [end for place in range(len(self.curves)) for end in self._line(axes, place, top)]
        axes.set(xlim=(0, self.counts[-1]), ylim=(0, 1.05 * top))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        heights = [0.06 * top * (1 + name.count("\n")) for name, *_ in ends]
        for (name, x, y), at in zip(ends, spread([y for *_, y in ends], heights, 0, 1.05 * top), strict=True):
            axes.annotate(
                name,
                (x, y),
                (1.045 * self.counts[-1], at),
                fontsize=8,
                va="center",
                annotation_clip=False,
                arrowprops={**LEADER, "shrinkB": 4},
            )
        axes.set_xlabel("releases", fontsize=9)
        axes.set_ylabel(f"ε of all together, at δ {about(self.delta)}", fontsize=9)
        axes.set_title(f"{self.what}, released again and again", loc="left", fontsize=10, parse_math=False)
        axes.tick_params(labelsize=8, length=3, color=GREY)
        quiet(axes)
        return drawn

    def _line(self, axes: Axes, place: int, top: float) -> list[tuple[str, float, float]]:
        """Draw one theorem up to ``top``; its name and where the line ends."""
        name, epsilons = self.curves[place]
        known = [(k, float(e)) for k, e in zip(self.counts, epsilons, strict=True) if e is not None]
        shown = [(k, e) for k, e in known if e <= top]
        axes.plot(
            [k for k, _ in shown],
            [e for _, e in shown],
            color=INK,
            linewidth=1.2,
            linestyle=DASHES[place],
            marker=MARKS[place],
            markersize=4,
            markerfacecolor="white",
            markevery=max(1, len(shown) // 10),
            clip_on=False,
        )
        more = "" if shown[-1:] == known[-1:] else "\n(off the picture)"
        return [(f"{name}: {known[-1][1]:.3g}{more}", *shown[-1])] if shown else []

    def _top(self) -> float:
        """The largest epsilon shown; a theorem far above basic composition leaves the picture."""
        last = {name: float(e) for name, _, e in self.rows() if e is not None}
        most = max((float(e) for _, _, e in self.rows() if e is not None), default=1.0)
        return min(most, FARTHEST * last["basic"] if "basic" in last else most) or 1.0

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "composition")


def compose(part: Part, times: int = 10, delta: Number = "1e-6") -> Composition:
    """Loss of ``part``, released up to ``times`` times, by each theorem.

    Parameters
    ----------
    part : Loss, Guarantee or a mechanism
    times : int
        1 to 1000; above 40 only some numbers of releases are computed.
    delta : number
        Of all releases together, in (0, 1).

    Returns
    -------
    Composition

    Raises
    ------
    PublicParameterError
        For ``times`` or ``delta`` outside these ranges.
    """
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MOST:
        raise PublicParameterError(f"times must be an integer from 1 to {MOST}, got {times}")
    total = read(delta, "delta")
    if not 0 < total < 1:
        raise PublicParameterError(f"delta must lie between 0 and 1, got {show(total)}")
    one = guarantee_of(part)
    step = -(-times // MOST_POINTS)
    counts = (*range(times, 0, -step),)[::-1]
    theorems: tuple[tuple[str, Callable[[Guarantee, int, Fraction], Fraction]], ...] = (
        ("basic", _basic),
        ("advanced", _advanced),
        ("zCDP", _concentrated),
        ("optimal", _optimal),
        ("own law", _own_law),
    )
    found = [(name, tuple(_if_any(rule, one, count, total) for count in counts)) for name, rule in theorems]
    applying = tuple((name, epsilons) for name, epsilons in found if any(e is not None for e in epsilons))
    return Composition(called(part), total, counts, applying)


def _if_any(
    rule: Callable[[Guarantee, int, Fraction], Fraction], one: Guarantee, count: int, delta: Fraction
) -> Fraction | None:
    try:
        return rule(one, count, delta)
    except PublicParameterError:  # the theorem does not apply, or not at this delta
        return None


def _basic(one: Guarantee, count: int, delta: Fraction) -> Fraction:
    return _within(in_sequence([as_approx(one, delta / count)] * count).loss, delta)


def _advanced(one: Guarantee, count: int, delta: Fraction) -> Fraction:
    return _within(advanced([as_approx(one, delta / (2 * count))] * count, delta).loss, delta)


def _optimal(one: Guarantee, count: int, delta: Fraction) -> Fraction:
    return _within(optimal([as_approx(one, delta / (2 * count))] * count, delta).loss, delta)


def _concentrated(one: Guarantee, count: int, delta: Fraction) -> Fraction:
    return curves.epsilon(in_sequence([as_zcdp(one)] * count).loss, delta)


def _own_law(one: Guarantee, count: int, delta: Fraction) -> Fraction:
    if one.pair is None and isinstance(one.loss, PureDP | ApproxDP):
        raise PublicParameterError("a bare loss has no law of its own; the optimal theorem speaks of all that have it")
    parts = ((one.pair, 1),) if one.pair is not None else pld_view(one.loss).pairs
    return curves.epsilon(pld_of([(pair, times * count) for pair, times in parts]), delta)


def _within(loss: Loss, delta: Fraction) -> Fraction:
    """The epsilon of a composed loss, refused where its delta is above the total."""
    epsilon, stated = epsilon_delta(loss)
    if stated > delta:
        raise PublicParameterError(f"δ {about(stated)} is above {about(delta)}")
    return epsilon
