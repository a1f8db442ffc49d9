"""The bar slide: what a mechanism answers for two neighbouring inputs, side by side, with the ratio against e^epsilon.

Source: 001 ("if you leave the database, no outcome will change probability by very much"). The masses are those the
tests of the mechanisms compare their samplers with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from reticent.certificate.render.figure import DOT, GREY, INK, WIDTH, quiet
from reticent.certificate.render.odds import DASHES, saved
from reticent.errors import PublicParameterError
from reticent.lab.parts import Mechanism, called
from reticent.mechanisms import gaussian, permute_and_flip
from reticent.mechanisms import geometric as two_sided
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.numbers import Number, about, read, show
from reticent.privacy.sensitivity import L1, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEFT_OUT: Final = 0.01  # of the probability, on outputs that are not shown
MOST_SHOWN: Final = 41
OTHER: Final = "#cfd4da"  # the neighbour's bars, hatched as well
Exact: TypeAlias = int | str | Sequence[int] | Candidates
Laws: TypeAlias = tuple[tuple[str, ...], tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two laws of one mechanism, for neighbouring inputs.

    Attributes
    ----------
    title, here, there : str
        The mechanism, and the two inputs in words.
    outputs : tuple of str
        The outputs shown.
    masses : tuple of (float, float)
        The probability of each output, for the one input and the other.
    epsilon, delta : Fraction
        What the mechanism promises.
    """

    title: str
    here: str
    there: str
    outputs: tuple[str, ...]
    masses: tuple[tuple[float, float], ...]
    epsilon: Fraction
    delta: Fraction

    def rows(self) -> tuple[tuple[str, float, float, float], ...]:
        """(output, probability here, probability there, ratio)."""
        return tuple((out, p, q, p / q) for out, (p, q) in zip(self.outputs, self.masses, strict=True))

    @property
    def largest_ratio(self) -> float:
        """The largest ratio either way, of the outputs shown."""
        return max(max(p / q, q / p) for p, q in self.masses)

    @property
    def excess(self) -> float:
        """The sum of P - e^epsilon Q over the outputs shown where it is positive: never above delta."""
        grown = math.exp(self.epsilon)
        return sum(max(0.0, p - grown * q) for p, q in self.masses)

    def plot(self) -> Figure:
        """Bars above, ratios below; the lines there are e^epsilon and e^-epsilon."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(WIDTH, 4.6), layout="constrained")
        above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _bars(above, self)
        _ratios(below, self)
        drawn.align_ylabels()
        above.set_title(self.title, loc="left", fontsize=10, parse_math=False)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "neighbours")


def geometric(sensitivity: int, epsilon: Number) -> Geometric:
    """The geometric mechanism for a count that one person can move by ``sensitivity``, under add/remove."""
    return Geometric(L1(Fraction(sensitivity), Adjacency("add_remove")), read(epsilon, "epsilon"))


def neighbours(mechanism: Mechanism, here: Exact, there: Exact) -> Neighbours:
    """The laws of ``mechanism`` for two neighbouring inputs.

    Parameters
    ----------
    mechanism
        ``Geometric``, ``Gaussian`` or ``ScalarGaussian`` with two integers; ``RandomizedResponse`` with "yes" and
        "no"; ``Exponential`` with two ``Candidates``, ``PermuteAndFlip`` with two lists of scores.
    here, there
        The exact answers for the one input and its neighbour.

    Returns
    -------
    Neighbours
        Probabilities of every output under both inputs, with the claimed epsilon and delta.

    Raises
    ------
    PublicParameterError
        For inputs further apart than the sensitivity, which are no neighbours.
    """
    outputs, masses = _laws(mechanism, here, there)
    epsilon, delta = epsilon_delta(mechanism.guarantee.loss)
    title = f"{called(mechanism)}, for two neighbours"
    return Neighbours(title, _input(here, "one input"), _input(there, "its neighbour"), outputs, masses, epsilon, delta)


def _input(value: Exact, otherwise: str) -> str:
    return f"the truth is {value}" if isinstance(value, int | str) else f"for {otherwise}"


def _laws(mechanism: Mechanism, here: Exact, there: Exact) -> Laws:
    match mechanism, here, there:
        case Geometric(), int(), int():
            _near(abs(here - there), mechanism.sensitivity.bound)
            scale = float(mechanism.scale)
            return _integers(here, there, lambda at, out: two_sided.mass(scale, at, out))
        case ((Gaussian() | ScalarGaussian()), int(), int()):
            bound = mechanism.sensitivity
            _near((here - there) ** 2, bound.bound**2 if isinstance(bound, L1) else bound.squared)
            variance = float(mechanism.variance)
            return _integers(here, there, lambda at, out: gaussian.mass(variance, at, out))
        case RandomizedResponse(), str(), str():
            one, other = mechanism.distribution(here), mechanism.distribution(there)
            return tuple(f"hear {word}" for word in one), tuple((float(one[w]), float(other[w])) for w in one)
        case Exponential(), Candidates(), Candidates():
            scores = [[int(score) for score in of.scores] for of in (here, there)]
            if list(here.weights) != list(there.weights):
                raise PublicParameterError("neighbours have the same candidates with the same weights")
            _near(_moved(*scores, together=isinstance(mechanism.sensitivity, Spread)), mechanism.sensitivity.bound)
            weights = [int(weight) for weight in here.weights]
            return _choices(*(_exponential(of, weights, float(mechanism.rate)) for of in scores))
        case PermuteAndFlip(), [*one_scores], [*other_scores]:
            _near(_moved(one_scores, other_scores), mechanism.sensitivity.bound)
            rate = float(mechanism.rate)
            return _choices(permute_and_flip.law(one_scores, rate), permute_and_flip.law(other_scores, rate))
        case _:
            raise PublicParameterError(f"there is no picture of {called(mechanism)} for such inputs")


def _near(apart: int, most: Fraction) -> None:
    if apart > most:
        raise PublicParameterError(
            f"these inputs are {apart} apart and neighbours at most {show(most)}: for groups, see lab.group"
        )


def _moved(one: Sequence[int], other: Sequence[int], *, together: bool = False) -> int:
    """The largest change of a score, or the spread of the changes where they count ``together``."""
    if len(one) != len(other):
        raise PublicParameterError("neighbours score the same candidates")
    changes = [a - b for a, b in zip(one, other, strict=True)]
    return max(changes) - min(changes) if together else max(map(abs, changes))


def _integers(here: int, there: int, mass: Callable[[int, int], float]) -> Laws:
    """Outputs around both inputs that leave little probability out."""
    low, high = min(here, there), max(here, there)
    reach = 2
    while high - low + 2 * reach + 3 <= MOST_SHOWN and _outside(mass, low, low - reach, high + reach) > LEFT_OUT:
        reach += 1
    shown = range(low - reach, high + reach + 1)
    return tuple(str(out) for out in shown), tuple((mass(here, out), mass(there, out)) for out in shown)


def _outside(mass: Callable[[int, int], float], at: int, low: int, high: int) -> float:
    return 1 - sum(mass(at, out) for out in range(low, high + 1))


def _choices(one: Sequence[float], other: Sequence[float]) -> Laws:
    return tuple(f"choice {place}" for place in range(1, len(one) + 1)), tuple(zip(one, other, strict=True))


def _exponential(scores: Sequence[int], weights: Sequence[int], rate: float) -> list[float]:
    least = min(scores)
    raw = [weight * math.exp(-rate * (score - least)) for score, weight in zip(scores, weights, strict=True)]
    return [mass / sum(raw) for mass in raw]


# the figure


def _bars(axes: Axes, shown: Neighbours) -> None:
    places = range(len(shown.outputs))
    axes.bar([x - 0.2 for x in places], [p for p, _ in shown.masses], 0.38, color=DOT, label=shown.here)
    axes.bar(
        [x + 0.2 for x in places],
        [q for _, q in shown.masses],
        0.38,
        color=OTHER,
        edgecolor=INK,
        linewidth=0.5,
        hatch="////",
        label=shown.there,
    )
    axes.set_ylabel("probability", fontsize=8)
    axes.set_ylim(0, 1.18 * max(max(pair) for pair in shown.masses))
    axes.legend(fontsize=8, frameon=False, loc="upper right", ncols=2)
    axes.tick_params(labelsize=8, length=3, color=GREY, labelbottom=False)
    quiet(axes)


def _ratios(axes: Axes, shown: Neighbours) -> None:
    """On a scale of factors, so that twice and half are equally far from 1."""
    places, bound = range(len(shown.outputs)), float(shown.epsilon)
    logs = [math.log(p / q) for p, q in shown.masses]
    axes.vlines(places, 0, logs, color=DOT, linewidth=1.4)
    axes.plot(places, logs, "o", color=DOT, markersize=4.5)
    axes.axhline(0, color=INK, linewidth=0.6)
    for height in (bound, -bound):
        axes.axhline(height, color=INK, linewidth=1, linestyle=DASHES[1])
    reach = 1.25 * max(bound, *map(abs, logs))
    axes.set(ylim=(-reach, reach), xlim=(-0.6, len(shown.outputs) - 0.4))
    note = f"\nat δ {about(shown.delta)}" if shown.delta else ""
    names = [f"e$^{{-ε}}$ = {math.exp(-bound):.3g}", "1", f"e$^{{ε}}$ = {math.exp(bound):.3g}{note}"]
    axes.set_yticks([-bound, 0.0, bound], names)
    axes.set_ylabel("ratio", fontsize=8)
    step = -(-len(shown.outputs) // 21)
    axes.set_xticks(list(places)[::step], shown.outputs[::step], parse_math=False)
    axes.set_xlabel("what comes out", fontsize=8)
    axes.tick_params(labelsize=8, length=3, color=GREY)
    quiet(axes)
