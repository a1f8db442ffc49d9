"""Loss of a composition of dominating pairs: epsilon at a delta, delta at an epsilon, never below the exact value.

    epsilon_of, delta_of    of a whole list of parts
    Running                 the same for a list that grows: an entry costs one transform, however many came before

The law of every pair is moved to a lattice (``lattice``). It is tilted by e^{lambda loss}, so that the losses which
decide about the wanted delta become typical. It is then transformed, raised to the power of its count and multiplied.
The inverse transform is the tilted law of the total loss, and the tilt is taken back where delta is summed.

Certainty. Masses are upper bounds. Bounds are added for the transforms' rounding, for the mass that wraps round the
ends of the window (Chernoff) and for the rounding of losses. The last step rounds up. Proofs: docs/proofs/pairs.md.

Source: Koskela, Jälkö and Honkela 2020 (Fourier accountant); Gopi, Lee and Wutschitz 2021; Zhu, Dong and Wang 2022.

Deviations. The papers choose a window and bound the mass outside. Here the law is tilted first, so a delta of 1e-30
keeps as many digits as one of 1e-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, inf, log, log1p, sqrt
from typing import Final, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_up, log_up, round_up
from reticent.privacy import discretized_loss, highest
from reticent.privacy.discretized_loss import UNIT, Floats
from reticent.privacy.numbers import about, exact, show
from reticent.privacy.pairs import (
    Coin,
    DiscreteGaussianShift,
    GaussianShift,
    GeometricShift,
    Highest,
    LaplaceShift,
    Pair,
    Range,
    SampledPair,
    common_lattice,
    loss_lattice,
)

Part: TypeAlias = tuple[Pair, int]
Counts: TypeAlias = Mapping[Pair, int]

TILTS: Final[Floats] = np.asarray(1e-6 * 1.5 ** np.arange(125), dtype=np.float64)  # up to 1e15
REACHES: Final = (20.0, 25.0, 30.0, 36.0, 43.0, 52.0, 64.0, 80.0, 110.0, 200.0, 800.0)  # cuts a plan can be made for
MARGIN: Final = 6.0  # what is cut off is e^-6 of the wanted delta
OUTSIDE: Final = 14.0  # what may be lost above the window is e^-14 of it
COARSE: Final = 96  # groups of losses from which a plan is made
SMALLEST: Final = -2000.0  # ln of a delta: no tilt is steeper than this one asks for
LONGEST: Final = 1 << 19  # groups of one pair
STEEPEST: Final = 1e8  # largest ln E e^{tilt loss}: its rounding must not show
EASE: Final = 12.0  # the tilt may leave Chernoff's bound by this factor, as a logarithm
LEAST: Final = 1e-300  # stands for what underflows
FEWEST: Final = 1 << 12  # points, where finer is closer
LARGEST: Final = 1 << 18  # points of the lattice
EXACT: Final = 1 << 16  # a lattice on which nothing moves may have so many
SHARE: Final = 3e-4  # of epsilon, that the lattice may cost
GROWTH: Final = 2e-3  # of delta, that the lattice may cost


# ---- a plan: tilt, lattice and window, from rough figures; nothing here needs to be certain


@dataclass(frozen=True, slots=True)
class Window:
    """``tilt`` of the losses, a second one for what lies above the window, the lattice, and what may be cut off."""

    tilt: float
    beyond: float
    step: float
    points: int
    reach: float
    width: float  # of the window, in losses


@dataclass(frozen=True, slots=True)
class Sketch:
    """Rough ln E e^{tilt loss} at all ``TILTS`` of each direction; how many parts are on no lattice, and the rest's."""

    count: int
    loose: int
    common: Fraction  # greatest common divisor of the losses of parts that have one; 0 if none has
    curves: Floats  # shape (reaches, directions, tilts)
    sizes: Floats  # E |loss| of the tilted laws: (reaches, directions, tilts), of parts on no lattice
    all_sizes: Floats

    def add(self, pair: Pair, times: int) -> Sketch:
        (curve, size), grid = _curves(pair), loss_lattice(pair)
        return Sketch(
            self.count + times,
            self.loose + times * (grid is None),
            self.common if grid is None else common_lattice(self.common, grid),
            self.curves + times * curve,
            self.sizes + times * (grid is None) * size,
            self.all_sizes + times * size,
        )


NONE: Final[Floats] = np.zeros((1, 1, len(TILTS)))
NOTHING: Final = Sketch(0, 0, Fraction(0), NONE, NONE, NONE)


@lru_cache(maxsize=1024)
def _curves(pair: Pair) -> tuple[Floats, Floats]:
    """ln E e^{tilt loss}, and E |loss| under the law tilted so: each of shape (reaches, directions, tilts)."""
    match pair:
        case GaussianShift(mu_squared):
            return _normal_curves(float(mu_squared))
        case DiscreteGaussianShift(variance, shift) if variance > 100:
            return _normal_curves(float(shift * shift / variance))
        case Range(epsilon):
            eps = float(epsilon)
            top = np.log1p(-np.exp(-(2 * TILTS + 1) * eps)) - np.log(2 * TILTS + 1)
            return (TILTS * eps + top - log(-expm1(-eps)))[None, None], np.full((1, 1, len(TILTS)), eps)
        case LaplaceShift(epsilon):
            eps = float(epsilon)
            top = np.log1p(TILTS + TILTS * np.exp(-(2 * TILTS + 1) * eps)) - np.log(2 * TILTS + 1)
            return (TILTS * eps + top)[None, None], np.full((1, 1, len(TILTS)), eps)
        case SampledPair(DiscreteGaussianShift(variance, shift), rate) if variance > 100:
            return _curves(SampledPair(GaussianShift(shift * shift / variance), rate))
        case SampledPair(GaussianShift() | DiscreteGaussianShift()):
            found = [_curves_within(pair, reach) for reach in REACHES]
        case _:
            found = [_curves_within(pair, REACHES[-1])]
    return np.array([curve for curve, _ in found]), np.array([size for _, size in found])


def _curves_within(pair: Pair, reach: float) -> tuple[Floats, Floats]:
    low, high = discretized_loss.span(discretized_loss.inside(pair), discretized_loss.reach_inside(pair, reach))
    near = (high - low) * 1.5 ** -np.arange(4.0, 40.0)  # the steeper a tilt, the nearer to the end it looks
    edges = np.sort(np.concatenate([np.linspace(low, high, COARSE + 1), low + near, high - near]))
    found = discretized_loss.sides(pair, edges, reach, _listed(pair))
    sums = [_sums(side.at, side.log_mass) for side in found]
    return np.array([curve for curve, _ in sums]), np.array([size for _, size in sums])


def _listed(pair: Pair) -> discretized_loss.Listed | None:
    """The law of a highest profile, from the compositions of its branches; None for every other pair."""
    within = discretized_loss.inside(pair)
    return highest.law(within, running) if isinstance(within, Highest) else None


def _normal_curves(mu_squared: float) -> tuple[Floats, Floats]:
    curve, size = mu_squared / 2 * TILTS * (TILTS + 1), mu_squared * (TILTS + 0.5) + sqrt(mu_squared)
    return curve[None, None], size[None, None]


def _sums(at: Floats, log_mass: Floats) -> tuple[Floats, Floats]:
    exponents = log_mass + np.outer(TILTS, at)
    most = exponents.max(axis=1)
    weights = np.exp(exponents - most[:, None])
    whole = weights.sum(axis=1)
    return most + np.log(whole), weights @ np.abs(at) / whole


def _envelope(tilts: Floats) -> Floats:
    """ln of the largest (1 - e^{-y}) e^{-tilt y}: delta is at most that times E e^{tilt (loss - epsilon)}."""
    return np.asarray(tilts * np.log(tilts / (1 + tilts)) - np.log1p(tilts))


def _plan(sketch: Sketch, direction: int, *, log_delta: float | None = None, epsilon: float | None = None) -> Window:
    """For a wanted delta, or at an epsilon."""
    which, best, at, reach = (0, 0), 0, 0.0, 0.0
    for row, within in enumerate(REACHES):
        which = min(row, sketch.curves.shape[0] - 1), min(direction, sketch.curves.shape[1] - 1)
        curve = sketch.curves[which]
        steep = np.abs(curve) >= STEEPEST
        if log_delta is not None:
            reached = np.where(steep, inf, (curve + _envelope(TILTS) - log_delta) / TILTS)
            best, at = int(np.argmin(reached)), log_delta
        else:
            assert epsilon is not None
            spent = np.where(steep, inf, curve - TILTS * epsilon + _envelope(TILTS))
            best = int(np.argmin(np.maximum(spent, SMALLEST)))
            at = min(float(spent[best]), 0.0)
        reach = MARGIN - at + log(sketch.count)
        if reach <= within:
            break
    curve, log_delta = sketch.curves[which], at
    if epsilon is None:
        epsilon = max(float((curve[best] + _envelope(TILTS)[best] - at) / TILTS[best]), 0.0)
    decisive = float(TILTS[best])
    bounds = curve[: best + 1] - TILTS[: best + 1] * epsilon + _envelope(TILTS[: best + 1])
    ease = EASE - min(EASE, log(sketch.count) / 2)
    easier = int(np.argmax(bounds <= bounds[best] + ease))  # a lesser tilt wraps less; digits are left for that
    best = max(easier, best - 5)
    tilt, others = float(TILTS[best]), np.abs(curve) < STEEPEST
    others[: best + 1] = False
    above, below = np.flatnonzero(others), np.arange(best)
    top = (curve[best:] - (log_delta - OUTSIDE)) / TILTS[best:]  # delta above it is small by Chernoff, and so ...
    top[1:][~others[best + 1 :]] = inf
    beyond = int(np.argmin(top))
    ends = (curve[above] - curve[best] + ease + 6) / (TILTS[above] - tilt)  # ... is the tilted mass
    high = max(float(top[beyond]), float(np.min(ends, initial=inf)) if len(above) else -inf)
    mirrored = sketch.curves[which[0], sketch.curves.shape[1] - 1 - which[1]]  # at -1 - tilt, the other direction's
    starts = (curve[best] - np.append(curve[below], mirrored) - ease - 6) / (tilt - np.append(TILTS[below], -1 - TILTS))
    low = float(np.max(starts))
    low = min(low, epsilon - (high - epsilon) / 16)
    allowed = max(SHARE * epsilon, GROWTH / decisive)
    # the lattice adds E (x - x0) (x1 - x) (1 + tilt) / 2 of a part to epsilon: below step^2 / 4 and step E |x|
    by_count, by_size = 12 * allowed / (1 + decisive), 2 * allowed / (1 + decisive)
    step = max(sqrt(by_count / max(sketch.loose, 1)), by_size / max(float(sketch.sizes[which][best]), 1e-300))
    step = min(step, (high - low) / FEWEST)
    common = float(sketch.common)
    if common and sketch.loose == 0 and (high - low) / common <= EXACT:
        step = common
    elif common >= step:
        step = common / ceil(common / step)
    elif common:
        step = max(sqrt(by_count / sketch.count), by_size / float(sketch.all_sizes[which][best]))
        step = min(step, (high - low) / FEWEST)
    step = max(step, (high - low) / (LARGEST - 8))
    points = 1 << max(6, ceil(log((high - low) / step + 8, 2)))
    return Window(tilt, float(TILTS[best + beyond]), step, points, reach, high - low)


# ---- the law of the total


@dataclass(frozen=True, slots=True)
class TotalLoss:
    """The transform of the tilted law of the total loss in one direction, and bounds of everything it may miss."""

    plan: Window
    direction: int
    spectrum: NDArray[np.complex128]
    log_scale: float  # true mass at j <= e^{log_scale - tilt j} times the law of ``spectrum``
    log_beyond: float  # ln E e^{beyond loss}, at or above
    size: float  # of the terms ``log_scale`` is the sum of
    noise: float  # Euclidean norm of the error of the law
    growth: float  # at or above its mass
    log_cut: float  # mass counted as an infinite loss
    blur: float
    highest: int  # largest loss, in steps

    def add(self, pair: Pair, times: int) -> TotalLoss:
        """The total with ``times`` more parts: one transform and one product."""
        plan = self.plan
        found = discretized_loss.laws(pair, plan.step, plan.reach, _listed(pair))
        law = found[min(self.direction, len(found) - 1)]
        log_scale, weights = discretized_loss.tilted(law, plan.tilt * plan.step)
        log_beyond, _ = discretized_loss.tilted(law, plan.beyond * plan.step)
        places = law.index % plan.points
        crowd = int(np.bincount(places).max())  # terms of one sum
        folded = np.asarray(np.bincount(places, weights, plan.points), dtype=np.float64)
        folded = folded * (1 + (64 + crowd) * UNIT)
        transform = 32 * UNIT * log(plan.points, 2)
        each = (transform + 4 * UNIT) * float(np.sqrt(np.dot(folded, folded)))
        growth = float(folded.sum()) ** times  # just above 1
        return TotalLoss(
            plan,
            self.direction,
            self.spectrum * discretized_loss.power(np.fft.rfft(folded), times),
            self.log_scale + times * log_scale,
            self.log_beyond + times * log_beyond,
            self.size + times * max(abs(log_scale), abs(log_beyond)),
            (self.noise + self.growth * (times * each + 4 * UNIT)) * growth * (1 + 8 * UNIT),
            self.growth * growth,
            float(np.logaddexp(self.log_cut, log(times) + law.log_cut)),
            self.blur + times * law.blur,
            self.highest + times * law.highest,
        )

    def tail(self, low: int) -> Tail:
        """The tilted law from ``low`` on, as delta needs it."""
        points = self.plan.points
        law = np.fft.irfft(self.spectrum, points)
        norm = float(np.sqrt(np.dot(law, law)))
        noise = (self.noise + 32 * UNIT * log(points, 2) * (norm + self.noise)) * 1.0001
        return Tail(self, low, np.maximum(np.roll(law, -(low % points)), 0.0), noise)


@dataclass(frozen=True, slots=True)
class Tail:
    """The law in a window: the entry i belongs to the loss (low + i) steps."""

    total: TotalLoss
    low: int
    law: Floats
    noise: float

    @property
    def log_wrapped(self) -> float:
        """ln of a bound of the mass above the window."""
        end, plan = self.low + len(self.law), self.total.plan
        if end > self.total.highest:
            return -inf
        return min(0.0, self.total.log_beyond - plan.beyond * plan.step * end + self._slack(plan.beyond))

    @property
    def slack(self) -> float:
        """Greatest rounding error of a logarithm here."""
        return self._slack(self.total.plan.tilt)

    def _slack(self, tilt: float) -> float:
        reach = abs(self.low) + len(self.law)
        return 16 * UNIT * (self.total.size + tilt * self.total.plan.step * reach + 64)

    def log_excess(self, place: float) -> float:
        """ln of a bound of E (1 - e^{place - loss})+ at ``place`` steps; what is cut off is not in it."""
        plan = self.total.plan
        first = max(floor(place) + 1, self.low)
        law = self.law[first - self.low :]
        beyond = np.arange(len(law))
        weights = np.exp(-plan.tilt * plan.step * beyond) * -np.expm1(-plan.step * (beyond + (first - place)))
        found = discretized_loss.added(law, weights) * (1 + 1e-12) + self.noise * float(
            np.sqrt(np.dot(weights, weights))
        )
        main = self.total.log_scale - plan.tilt * plan.step * first + log(found + LEAST) + self.slack
        return float(np.logaddexp(main, self.log_wrapped))

    def least(self, log_room: float) -> float:
        """A loss at which ``log_excess`` is at most ``log_room``, as small as this law can tell."""
        plan, size = self.total.plan, len(self.law)
        wrapped = exp(min(0.0, self.log_wrapped - log_room))
        if wrapped >= 1:
            return inf
        log_room += log1p(-wrapped) - 4 * UNIT
        theta, base = plan.tilt * plan.step, self.total.log_scale + self.slack - log_room
        gaps = np.arange(size)
        decay = np.exp(-theta * gaps)
        weights = decay * -np.expm1(-plan.step * (gaps + 1))
        norm = self.noise * float(np.sqrt(np.dot(weights, weights))) + LEAST

        def fits(i: int) -> bool:
            found = discretized_loss.added(self.law[i + 1 :], weights[: size - i - 1]) * (1 + 1e-12) + norm
            return log(found) + base - theta * (self.low + i + 1) <= 0

        bad, good = max(-1, -self.low - 1), size - 1
        while good - bad > 1:
            middle = (bad + good) // 2
            bad, good = (bad, middle) if fits(middle) else (middle, good)
        if not fits(good):
            return inf
        # between two points delta is (mass above) - e^{epsilon} (mass above, times e^-loss), to be solved for epsilon
        j, shrunk = self.low + good, decay * np.exp(-plan.step * gaps)
        anchored = float(np.dot(self.law[good:], shrunk[: size - good]))
        above = float(np.dot(self.law[good + 1 :], weights[: size - good - 1])) * exp(-theta)
        room = exp(min(theta * j - base, 700.0)) - above * (1 + 1e-12) - norm * 1.01
        into = 1.0
        if 0 <= room < anchored * -expm1(-plan.step):
            into = -log1p(-room / anchored) / plan.step * (1 - 1e-9)
        for less in (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.03, 0.3, 0.7, 0.95):
            if self.log_excess(j - into * (1 - less)) <= log_room:
                return j - into * (1 - less)
        return float(j)


# ---- answers


class Running:
    """The total of a growing list of parts; ``add`` gives a new one and leaves this one as it is.

    The transforms made for one answer are kept and multiplied with those of later parts. They are made anew if the
    total has grown so much that they no longer fit, about each time it doubles.
    """

    __slots__ = ("_bound", "_counts", "_gauss", "_kept", "_sketch", "_totals")

    def __init__(
        self,
        counts: Counts,
        gauss: Fraction,
        sketch: Sketch,
        kept: tuple[Fraction, Fraction],
        bound: tuple[Fraction, Fraction] | None,
        totals: Mapping[int, TotalLoss],
    ) -> None:
        self._counts = dict(counts)
        self._gauss = gauss  # sum of mu^2: normal losses add up to one normal loss
        self._sketch = sketch
        self._kept = kept  # chance of no infinite loss, in either direction
        self._bound = bound  # sums of the largest losses in either direction; None if one is unbounded
        self._totals = dict(totals)  # a cache

    @staticmethod
    def empty() -> Running:
        return Running({}, Fraction(0), NOTHING, (Fraction(1), Fraction(1)), (Fraction(0), Fraction(0)), {})

    def add(self, pair: Pair, times: int = 1) -> Running:
        """Total with ``times`` >= 1 more parts dominated by ``pair``."""
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise PublicParameterError(f"a part occurs at least once, got {times}")
        if isinstance(pair, GaussianShift):
            gauss = self._gauss + times * pair.mu_squared
            return Running(self._counts, gauss, self._sketch, self._kept, None, self._totals)
        removed, added = (
            _short(kept * (1 - lost) ** times) for kept, lost in zip(self._kept, _certain(pair), strict=True)
        )
        most = _largest(pair)
        bound = None
        if self._bound is not None and most is not None:
            bound = self._bound[0] + times * most[0], self._bound[1] + times * most[1]
        if isinstance(pair, Coin) and pair.epsilon == 0:
            return Running(self._counts, self._gauss, self._sketch, (removed, added), bound, self._totals)
        counts = dict(self._counts)
        counts[pair] = counts.get(pair, 0) + times
        totals = {direction: total.add(pair, times) for direction, total in self._totals.items()}
        if isinstance(pair, SampledPair) and self._sketch.curves.shape[1] == 1:
            totals = {}  # from now on the two directions differ
        return Running(counts, self._gauss, self._sketch.add(pair, times), (removed, added), bound, totals)

    def epsilon(self, delta: Fraction) -> Fraction:
        """At or above the least epsilon at ``delta``, 12 digits."""
        return self._epsilon(delta, 2)

    def delta(self, epsilon: Fraction) -> Fraction:
        """At or above the least delta at ``epsilon``, 12 digits."""
        return self._delta(epsilon, 2)

    def _epsilon(self, delta: Fraction, spare: int) -> Fraction:
        if not 0 <= exact(delta, "delta") < 1:
            raise PublicParameterError(f"delta must lie in [0, 1), got {show(delta)}")
        room = delta - max(1 - kept for kept in self._kept)
        if room < 0 or (room == 0 and self._bound is None):
            raise PublicParameterError(f"delta must be above what the parts fail with already, {about(delta - room)}")
        return round_up(max(self._least(direction, delta, spare) for direction in range(2)))

    def _least(self, direction: int, delta: Fraction, spare: int) -> Fraction:
        """The epsilon of one direction: of the two, for losses that are symmetric, only the first is worked out."""
        found = [self._bound[direction]] if self._bound is not None else []
        if direction >= self._sketch.curves.shape[1]:
            return Fraction(0)
        if delta > 1 - self._kept[direction] and (self._counts or self._gauss):
            end = self._epsilon_one(direction, delta, spare)
            if end < inf:
                found.append(Fraction(end))
        if not found:
            raise PublicParameterError(f"no epsilon up to {about(10**9)} is enough at delta {about(delta)}")
        return min(found)

    def _epsilon_one(self, direction: int, delta: Fraction, spare: int) -> float:
        room = delta - (1 - self._kept[direction])
        log_room = log(room.numerator) - log(room.denominator)
        log_room -= 8 * UNIT * (abs(log_room) + log(room.denominator) + 4)
        plan = _plan(self._all(), direction, log_delta=log_room)
        tail = self._tail(direction, plan, log_room, spare)
        total = tail.total
        lost = exp(min(0.0, total.log_cut - log_room))
        if lost >= 1:
            return inf
        place = tail.least(log_room + log1p(-lost) - 4 * UNIT * abs(log_room))
        return max(0.0, place * total.plan.step * (1 + 8 * UNIT) + total.blur * (1 + 8 * UNIT))

    def _delta(self, epsilon: Fraction, spare: int) -> Fraction:
        if exact(epsilon, "epsilon") < 0:
            raise PublicParameterError(f"epsilon must be >= 0, got {show(epsilon)}")
        certain = max(1 - kept for kept in self._kept)
        if not (self._counts or self._gauss) or (self._bound is not None and max(self._bound) <= epsilon):
            return round_up(certain)
        found = [self._delta_one(direction, epsilon, spare) for direction in range(self._sketch.curves.shape[1])]
        return round_up(min(Fraction(1), max(found)))

    def _delta_one(self, direction: int, epsilon: Fraction, spare: int) -> Fraction:
        plan = _plan(self._all(), direction, epsilon=float(epsilon))
        log_delta = MARGIN + log(self._all().count) - plan.reach
        tail = self._tail(direction, plan, log_delta, spare)
        total = tail.total
        place = (float(epsilon) * (1 - 4 * UNIT) - total.blur) / total.plan.step
        place -= 4 * UNIT * abs(place)
        spent = float(np.logaddexp(tail.log_excess(place), total.log_cut))
        spent = min(0.0, spent + 8 * UNIT * (abs(spent) + 4))
        return 1 - self._kept[direction] + (exp_up(Fraction(spent)) if spent > -inf else 0)

    def _all(self) -> Sketch:
        return self._sketch.add(GaussianShift(self._gauss), 1) if self._gauss else self._sketch

    def _all_pairs(self) -> Iterable[Pair]:
        yield from self._counts
        if self._gauss:
            yield GaussianShift(self._gauss)

    def _tail(self, direction: int, plan: Window, log_delta: float, spare: int) -> Tail:
        """The law of the total near its end, from the kept transform where that serves the plan."""
        total = self._totals.get(direction)
        if total is None or not _serves(total.plan, plan):
            step = max([plan.step, *(discretized_loss.width(pair, plan.reach) / LONGEST for pair in self._all_pairs())])
            roomy = Window(plan.tilt, plan.beyond, step, plan.points * spare, plan.reach + log(spare), plan.width)
            total = _nothing(roomy, direction)
            for pair, times in self._counts.items():
                total = total.add(pair, times)
            self._totals[direction] = total
        if self._gauss:
            total = total.add(GaussianShift(self._gauss), 1)
        top = (total.log_beyond - (log_delta - OUTSIDE)) / total.plan.beyond
        end = min(ceil(top / total.plan.step), total.highest) + 2
        return total.tail(end - total.plan.points)


def epsilon_of(parts: Sequence[Part], delta: Fraction) -> Fraction:
    """At or above the least epsilon of all ``parts`` together at ``delta``, 12 digits.

    Parameters
    ----------
    parts : sequence of (Pair, int)
        Dominating pairs and how often each occurs; composed adaptively.
    delta : Fraction
        In [0, 1), above what the parts fail with for certain; 0 only if all losses are bounded.
    """
    return running(parts)._epsilon(delta, 1)


def delta_of(parts: Sequence[Part], epsilon: Fraction) -> Fraction:
    """At or above the least delta of all ``parts`` together at ``epsilon`` >= 0, 12 digits; at most 1."""
    return running(parts)._delta(epsilon, 1)


def forget() -> None:
    """Empties the caches, for measurements."""
    _curves.cache_clear()
    _largest.cache_clear()


def running(parts: Iterable[Part]) -> Running:
    """The total of all ``parts``."""
    counts: dict[Pair, int] = {}
    for pair, times in parts:
        counts[pair] = counts.get(pair, 0) + times
    total = Running.empty()
    for pair, times in counts.items():
        total = total.add(pair, times)
    return total


def _nothing(plan: Window, direction: int) -> TotalLoss:
    spectrum = np.ones(plan.points // 2 + 1, np.complex128)
    return TotalLoss(plan, direction, spectrum, 0.0, 0.0, 0.0, 0.0, 1.0, -inf, 0.0, 0)


def _serves(kept: Window, wanted: Window) -> bool:
    """Tell if a transform of the plan ``kept`` has nearly the tilt of ``wanted``, its resolution and its window."""
    return (
        0.4 <= wanted.tilt / kept.tilt <= 2.5
        and kept.step <= 1.3 * wanted.step
        and wanted.width <= kept.step * kept.points
        and wanted.reach - 1 <= kept.reach
    )


def _certain(pair: Pair) -> tuple[Fraction, Fraction]:
    """The chance of an infinite loss, in either direction."""
    match pair:
        case Coin(_, delta):
            return delta, delta
        case SampledPair(Coin(_, delta), rate):
            return rate * delta, Fraction(0)
        case _:
            return Fraction(0), Fraction(0)


def _short(kept: Fraction) -> Fraction:
    """At or below, with a short denominator."""
    return Fraction((kept * (1 << 2048)).__floor__(), 1 << 2048) if kept.denominator >> 4096 else kept


@lru_cache(maxsize=1024)
def _largest(pair: Pair) -> tuple[Fraction, Fraction] | None:
    """At or above the largest finite loss in either direction; None if there is none."""
    match pair:
        case Coin(epsilon) | Range(epsilon) | LaplaceShift(epsilon):
            return epsilon, epsilon
        case GeometricShift(scale, shift):
            return shift / scale, shift / scale
        case Highest():
            return pair.most, pair.most
        case GaussianShift() | DiscreteGaussianShift():
            return None
        case SampledPair(inner, rate):
            most = _largest(inner)
            if most is None:
                return None
            grown = round_up(log_up(1 + rate * (exp_up(most[0]) - 1))) if most[0] < 1000 else most[0]
            hidden = isinstance(inner, Coin) and inner.delta > 0  # then Q says something that P never says
            return grown, round_up(log_up(1 / (1 - rate))) if hidden else grown
        case _:
            assert_never(pair)
