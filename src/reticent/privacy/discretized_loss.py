"""Laws of the privacy loss of one pair, moved to a lattice of losses so that no delta becomes smaller.

What is between two lattice points is split between them so that its mass and its mass times e^-loss are kept: the
delta at every epsilon can only grow, by an amount of order step^2 ("connecting the dots").

    losses(pair)   groups of outputs: one loss and one mass each; what is far out is bounded as a whole
    sides(pair)    the same for P against Q and for Q against P; sampling is applied here
    laws(pair)     both sides on the lattice step * integers

A group of outputs between two lattice points counts as one output: with masses p under P and q under Q it ends up at
the same two points with the same masses as the one loss ln p / q.

Certainty. Masses are logarithms, each raised by a bound of its own rounding error; a loss may be too low by ``blur``.
Proofs: docs/proofs/pairs.md. Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log, log1p, pi, sqrt
from typing import Final, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.errors import CheckError
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
    Symmetric,
)

Floats: TypeAlias = NDArray[np.float64]
Listed: TypeAlias = tuple[Floats, Floats]  # losses, and the logarithms of their masses under P
LEAST_REACH: Final = 12.0
UNIT: Final = 2.0**-53
MOST_ATOMS: Final = 1 << 17  # of a discrete Gaussian; beyond, its sums are bounded by integrals


@dataclass(frozen=True, slots=True)
class LossGroups:
    """Groups of outputs by loss: ``log_mass`` under P, rounded up; the rest above ``top`` and below ``bottom``."""

    at: Floats
    log_mass: Floats
    error: Floats | float = 0.0  # of ``at``, beyond rounding
    top: float = inf  # losses at or above it ...
    log_top: float = -inf  # ... have at most this mass under P
    bottom: float = -inf  # losses at or below it ...
    log_bottom: float = -inf  # ... have at most this mass under P,
    log_bottom_other: float = -inf  # and at most this under Q


@dataclass(frozen=True, slots=True)
class DirectedLoss:
    """One direction: finite losses with the logarithms of their masses, and of the mass counted as infinite."""

    at: Floats
    log_mass: Floats
    log_cut: float
    blur: float = 0.0


@dataclass(frozen=True, slots=True)
class LatticeLaw:
    """A side on the lattice: losses ``index`` times the step; the true loss is at most ``blur`` above."""

    index: NDArray[np.int64]
    log_mass: Floats
    log_cut: float
    blur: float
    lowest: int
    highest: int


def laws(pair: Pair, step: float, reach: float, listed: Listed | None = None) -> tuple[LatticeLaw, ...]:
    """The laws on the lattice: one of a symmetric pair; P against Q and Q against P of a sampled one.

    Parameters
    ----------
    pair : Pair
        Laws of the output under two neighbours.
    step : float
        Above 0; the lattice is its multiples, exactly.
    reach : float
        Mass below e^-reach may be cut off and counted as an infinite loss.
    listed : tuple of arrays, optional
        The law of the pair inside, if that is a ``Highest``: composition derives it, which stands above this file.

    Returns
    -------
    tuple of LatticeLaw
        One or two laws, whose masses are rounded up.
    """
    return tuple(_connected(side, step) for side in sides(pair, _edges(pair, step, reach), reach, listed))


def _connected(side: DirectedLoss, step: float) -> LatticeLaw:
    place = side.at / step
    near = np.rint(place)
    widest = float(np.max(np.abs(place)))
    tolerance = 16 * UNIT * (widest + 1)
    place = np.where(np.abs(place - near) <= tolerance, near, place)
    below = np.floor(place)
    into = (place - below) * step
    whole = expm1(-step)
    with np.errstate(divide="ignore"):
        up = np.log(np.minimum(np.expm1(-into) / whole, 1.0)) + 16 * UNIT
        down = np.log(np.minimum(np.expm1(into - step) / whole, 1.0)) - into + 16 * UNIT
    keep, moved = np.flatnonzero(down > -inf), np.flatnonzero(up > -inf)
    index = np.concatenate([below[keep], below[moved] + 1]).astype(np.int64)
    log_mass = np.concatenate([(side.log_mass + down)[keep], (side.log_mass + up)[moved]])
    log_mass = log_mass + 4 * UNIT * (1 + np.abs(log_mass))
    return LatticeLaw(
        index, log_mass, side.log_cut, 4 * tolerance * step + side.blur, int(index.min()), int(index.max())
    )


# ---- the two directions


def inside(pair: Pair) -> Symmetric:
    return pair.pair if isinstance(pair, SampledPair) else pair


def reach_inside(pair: Pair, reach: float) -> float:
    """Greatest loss to which the pair inside must be followed: events rare for a sample may be less rare there.

    Beyond a loss y of mass m under P, the sample has q m + (1 - q) m e^-y at most.
    """
    match pair:
        case SampledPair(GaussianShift(mu_squared), rate):
            slope, drift = sqrt(2 * mu_squared), float(mu_squared) / 2
        case SampledPair(DiscreteGaussianShift(variance, shift), rate):
            slope, drift = sqrt(2 * shift * shift / variance), 0.0
        case _:
            return reach
    low, high = 0.0, reach
    for _ in range(16):
        middle = (low + high) / 2
        rare = middle - float(np.logaddexp(log(rate), -drift - slope * sqrt(middle)))
        low, high = (low, middle) if rare >= reach else (middle, high)
    return max(high, LEAST_REACH)


def sides(pair: Pair, edges: Floats, reach: float, listed: Listed | None = None) -> tuple[DirectedLoss, ...]:
    """Losses of each direction, grouped between ``edges``.

    Parameters
    ----------
    pair : Pair
        Laws of the output under two neighbours.
    edges : array of shape (groups + 1,)
        Rising losses; those of the inner pair, if ``pair`` is sampled.
    reach : float
        Mass below e^-reach may be cut off and counted as an infinite loss.
    listed : tuple of arrays, optional
        As of ``laws``.

    Returns
    -------
    tuple of DirectedLoss
        One side of a symmetric pair; two of a sampled one, a row removed and a row added.
    """
    if not isinstance(pair, SampledPair):
        found = losses(pair, edges, reach, listed)
        at, log_mass = found.at + found.error, found.log_mass
        if found.log_bottom > -inf:
            at, log_mass = np.append(at, found.bottom), np.append(log_mass, found.log_bottom)
        return (DirectedLoss(at, log_mass, found.log_top),)
    found = losses(pair.pair, edges, reach_inside(pair, reach), listed)
    rate, kept = float(pair.rate), float(1 - pair.rate)
    high, middle, low, ends = (
        _mixed(y, rate, kept)
        for y in (found.at + found.error, found.at, found.at - found.error, np.array([found.bottom, found.top]))
    )
    above = found.log_top - found.top if found.log_top > -inf else -inf  # Q's mass above the top
    below = float(np.logaddexp(log(kept) + found.log_bottom_other, log(rate) + found.log_bottom))
    cut = float(np.logaddexp(log(rate) + found.log_top, log(kept) + above))
    blur = 16 * UNIT * float(np.max(np.abs(found.at))) * min(1.0, rate * exp(min(0.0, float(np.max(found.at)))))
    # (1 - q) Q + q P against Q: of an output of mass p and loss y, p e^{x - y} at the loss x = ln(1 - q + q e^y)
    mixture = found.log_mass + (middle - found.at) + 2 * found.error
    removed = _side(np.append(high, ends[0]), np.append(mixture, below), cut, blur)
    # Q against that: p e^{-y} at -x, which is at most -ln(1 - q)
    other = found.log_mass - found.at + found.error
    most = [-log(kept), -float(ends[1])]
    added = _side(np.concatenate([-low, most]), np.concatenate([other, [found.log_bottom_other, above]]), -inf, blur)
    return removed, added


def _side(at: Floats, log_mass: Floats, log_cut: float, blur: float) -> DirectedLoss:
    held = log_mass > -inf
    at, log_mass = at[held], log_mass[held]
    raised = log_mass + 16 * UNIT * (4 + np.abs(log_mass) + np.abs(at))
    return DirectedLoss(at, raised, log_cut + 16 * UNIT * (4 + abs(log_cut)) if log_cut > -inf else -inf, blur)


def _mixed(y: Floats, rate: float, kept: float) -> Floats:
    """ln(1 - q + q e^y), to a few units in the last place of the result, without overflow."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        grown = rate * np.expm1(np.minimum(y, 500.0))
        near = np.where(grown > -0.5, np.log1p(np.maximum(grown, -0.5)), np.log(kept + rate * np.exp(np.minimum(y, 0))))
        return np.where(y > 500, y + log(rate), near)  # beyond e^500 the 1 - q is below the last place


def _unmixed(x: Floats, rate: float, kept: float) -> Floats:
    """The y with ln(1 - q + q e^y) = x, for x above ln(1 - q)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        above = x + np.log1p(kept / rate * -np.expm1(-np.maximum(x, 0)))
        near = np.log1p(np.expm1(np.minimum(x, 0)) / rate)
        far = np.log((np.exp(np.minimum(x, 0)) - kept) / rate)
        return np.where(x >= 0, above, np.where(x > -0.7, near, far))


def width(pair: Pair, reach: float) -> float:
    """The width of the losses between which groups are made; 0 where each output stands alone."""
    reach = reach_inside(pair, reach)
    low, high = span(inside(pair), reach)
    if _listed(inside(pair), reach):
        return 0.0
    if isinstance(pair, SampledPair):
        low, high = _mixed(np.array([low, high]), float(pair.rate), float(1 - pair.rate))
    return float(high - low)


def _listed(pair: Symmetric, reach: float) -> bool:
    """Tell if the outputs are few enough to be taken one by one."""
    match pair:
        case Coin() | Highest():
            return True
        case GeometricShift(_, shift):
            return shift <= MOST_ATOMS // 16
        case DiscreteGaussianShift(variance):
            return 4 * _last(variance, reach) <= MOST_ATOMS
        case Range() | LaplaceShift() | GaussianShift():
            return False
        case _:
            assert_never(pair)


def _edges(pair: Pair, step: float, reach: float) -> Floats:
    """Edges of the groups of outputs: the lattice points, as losses of the pair inside."""
    reach = reach_inside(pair, reach)
    low, high = span(inside(pair), reach)
    if _listed(inside(pair), reach):
        return np.array([low, high])
    if not isinstance(pair, SampledPair):
        return _between(low, high, np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step)
    rate, kept = float(pair.rate), float(1 - pair.rate)
    first, last = _mixed(np.array([low, high]), rate, kept)
    points = np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step
    return _between(low, high, _unmixed(points[points > log(kept)], rate, kept))


def _between(low: float, high: float, points: Floats) -> Floats:
    inside = points[(points > low) & (points < high)]
    return np.concatenate([[low], inside, [high]])


# ---- the losses of symmetric pairs


def span(pair: Symmetric, reach: float) -> tuple[float, float]:
    """The least and the largest loss that is not cut off."""
    match pair:
        case Coin(epsilon) | Range(epsilon) | LaplaceShift(epsilon):
            most = float(epsilon)
        case Highest():
            most = float(pair.most)
        case GeometricShift(scale, shift):
            most = float(shift / scale)
        case GaussianShift(mu_squared):
            most = float(mu_squared) / 2 + sqrt(mu_squared) * sqrt(2 * reach)
        case DiscreteGaussianShift(variance, shift):
            most = float(Fraction(shift * (shift + 2 * _last(variance, reach))) / (2 * variance))
        case _:
            assert_never(pair)
    return -most, most


def losses(pair: Symmetric, edges: Floats, reach: float, listed: Listed | None = None) -> LossGroups:
    """Groups of outputs whose losses lie between two neighbouring ``edges``.

    Parameters
    ----------
    pair : Symmetric
        Laws P and Q of the output under two neighbours.
    edges : array of shape (groups + 1,)
        Rising losses; the first and the last are the span.
    reach : float
        Mass below e^-reach may be cut off.
    listed : tuple of arrays, optional
        As of ``laws``.

    Returns
    -------
    LossGroups
        Losses with the logarithms of their masses under P, and the masses beyond the span.

    Raises
    ------
    CheckError
        A highest profile without its law.
    """
    match pair:
        case Coin(epsilon, delta):
            eps, rest = float(epsilon), log1p(-float(delta)) - float(np.logaddexp(0.0, -float(epsilon)))
            lost = log(delta) + 4 * UNIT * (1 - log(delta)) if delta else -inf
            found = _raised(np.array([eps, -eps]), np.array([rest, rest - eps]))
            return LossGroups(found.at, found.log_mass, 0.0, log_bottom_other=lost)  # what P alone does is ``certain``
        case Highest():
            if listed is None:
                raise CheckError("a highest profile comes with its law")
            return _raised(*listed)
        case Range(epsilon):
            return _raised(*_band(edges, -float(epsilon) / 2 - log(-expm1(-float(epsilon)))))
        case LaplaceShift(epsilon):
            at, log_mass = _band(edges, -float(epsilon) / 2 - log(2))
            ends = [-float(epsilon), float(epsilon)]
            return _raised(np.append(at, ends), np.append(log_mass, [ends[0] - log(2), -log(2)]))
        case GeometricShift(scale, shift):
            return _geometric(scale, shift, edges)
        case GaussianShift(mu_squared):
            return _gaussian(sqrt(mu_squared), edges, reach)
        case DiscreteGaussianShift(variance, shift):
            return _discrete_gaussian(variance, shift, edges, reach)
        case _:
            assert_never(pair)


def _raised(at: Floats, log_mass: Floats) -> LossGroups:
    return LossGroups(at, log_mass + 16 * UNIT * (2 + np.abs(log_mass)))


def _band(edges: Floats, log_top: float) -> tuple[Floats, Floats]:
    """Density e^{log_top} e^{x/2} / 2: between u and v the mass e^{v/2} - e^{u/2}, times e^{log_top}, at the middle."""
    low, high = edges[:-1], edges[1:]
    with np.errstate(divide="ignore"):
        log_mass = log_top + high / 2 + np.log(-np.expm1((low - high) / 2))
    held = log_mass > -inf
    return ((low + high) / 2)[held], log_mass[held]


def _geometric(scale: Fraction, shift: int, edges: Floats) -> LossGroups:
    """Outputs j = 0..shift steps from the nearer value: loss (shift - 2j) / scale; the ends hold all beyond them.

    Between j = a and b the masses e^{-j/scale} add up to a geometric sum, at the loss of the middle.
    """
    wide, each = float(scale), float(1 / scale)
    if shift <= len(edges) or len(edges) == 2:
        first = last = np.arange(1, shift, dtype=np.float64)
    else:
        below = np.clip(np.floor((shift - edges * wide) / 2), 0, shift - 1)  # the largest j with a loss >= the edge
        first, last = below[1:] + 1, below[:-1]
        held = last >= first
        first, last = first[held], last[held]
    ends = -log1p(np.exp(-each))
    log_mass = ends - first * each + np.log(-np.expm1(-(last - first + 1) * each))
    farthest = float(shift / scale)
    at = np.concatenate([(shift - first - last) * each, [farthest, -farthest]])
    return _raised(at, np.concatenate([log_mass, [ends, ends - farthest]]))


def _gaussian(mu: float, edges: Floats, reach: float) -> LossGroups:
    """Under P the loss is normal with mean mu^2/2 and variance mu^2, under Q with mean -mu^2/2."""
    z = edges / mu - mu / 2
    z_other = edges / mu + mu / 2
    z[-1] = z_other[0] = sqrt(2 * reach)  # exactly what is cut off, on either side
    z_other[0] = -z_other[0]
    log_p, error_p = _normal_cells(z)
    log_q, error_q = _normal_cells(z_other)
    at = np.clip(log_p - log_q, edges[:-1], edges[1:])
    far = -reach - log(2) + 64 * UNIT * (1 + reach)  # P(Z > z) <= e^{-z^2/2} / 2
    return LossGroups(at, log_p + error_p, error_p + error_q, float(edges[-1]), far, float(edges[0]), far, far)


def _normal_cells(z: Floats) -> tuple[Floats, Floats]:
    """Log masses of the standard normal law between neighbours of ``z``, rising, and bounds of their errors."""
    from scipy.special import log_ndtr  # heavy

    low, high = z[:-1], z[1:]
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)  # tails do not cancel on the left
    least, most = log_ndtr(low), log_ndtr(high)
    apart = np.maximum(most - least, UNIT)
    error = UNIT * (64 + 8 * low * low)
    shrunk = np.exp(-apart)
    return most + np.log(-np.expm1(-apart)), error * (1 + 2 * shrunk / -np.expm1(-apart))


def _last(variance: Fraction, reach: float) -> int:
    """The last k that is not cut off."""
    return int(sqrt(2 * reach * float(variance))) + 1


def _discrete_gaussian(variance: Fraction, shift: int, edges: Floats, reach: float) -> LossGroups:
    """P(k) proportional to e^{-k^2 / 2v} has loss (shift^2 + 2 shift k) / 2v; Q is P moved by -shift.

    The weights add up to at least sqrt(2 pi v) (Poisson summation), and those beyond k to at most that times P(N > k).
    """
    wide, last, far = float(variance), _last(variance, reach), -reach + 64 * UNIT * (1 + reach)
    low, high = float(edges[0]), float(edges[-1])
    if _listed(DiscreteGaussianShift(variance, shift), reach):
        near = np.arange(-last, last + 1, dtype=np.float64)
        total = max(float(np.sum(np.exp(-near * near / (2 * wide)))) * (1 - 64 * UNIT), sqrt(2 * pi * wide))
        k = np.union1d(near, near - shift)  # what may lie between has at most half of ``far``, like the two ends
        exponent = k * k / (2 * wide)
        log_mass = -exponent - log(total) + 16 * UNIT * (2 + exponent + len(near))
        return LossGroups(shift * (shift + 2 * k) / (2 * wide), log_mass, 0.0, high, far, low, far, far)
    bounds = np.unique(np.floor(np.clip(edges * wide / shift - shift / 2, -last - shift - 1, last)) + 0.5)
    log_p, error_p = _normal_cells(bounds / sqrt(wide))
    log_q, error_q = _normal_cells((bounds + shift) / sqrt(wide))
    # the midpoint rule: a term differs from its integral by at most (k^2 / v + 1) / 24 v of the largest value nearby
    k = np.maximum(np.abs(bounds[:-1]), np.abs(bounds[1:])) + shift + 1
    error = (k * k / wide + 1) / (12 * wide) * np.exp(np.minimum(k / wide, 50.0))
    return LossGroups(log_p - log_q, log_p + error_p + error, error_p + error_q + 2 * error, high, far, low, far, far)


def tilted(law: LatticeLaw, theta: float) -> tuple[float, Floats]:
    """ln E e^{theta index} =: s and the tilted masses w, at or above: no true mass exceeds e^{s - theta index} w."""
    exponents = law.log_mass + theta * law.index
    exponents += 8 * UNIT * (np.abs(law.log_mass) + np.abs(theta * law.index) + 2)
    most = float(exponents.max())
    weights = np.exp(exponents - most)
    whole = float(weights.sum())
    return most + log(whole) + 8 * UNIT * (abs(most) + len(weights)), weights / whole


def added(law: Floats, weights: Floats) -> float:
    """Sum of products of numbers that are not negative, off by less than 64 units in the last place.

    ``np.dot`` keeps a few running sums, and each may lose a unit at every term; ``np.sum`` adds by halves.
    """
    return float(np.sum(law * weights))


def power(base: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """By squaring: an error below 3 units in the last place a factor."""
    found: NDArray[np.complex128] | None = None
    while True:
        if times & 1:
            found = base if found is None else found * base
        times >>= 1
        if not times:
            assert found is not None
            return found
        base = base * base
