"""Lower bounds on every private release: four theorems with their conditions, each with a plot.

    PointMass       all data in one unknown point: no pure release finds it on a continuum, nor on G for n < ln G / eps
    MeanRisk        the mean of d columns: d / n and d^3 / (n eps)^2, pure epsilon, never above the trivial risk
    SmallBall       the exponential mechanism under the KS distance: the bound of 002 with the sampling term it lacks
    FunctionError   a released function is off by about Delta / eps somewhere

Each holds with the constants written here, for n and eps as they are and not only in the limit; none reads a row. They
are plain floating-point numbers: no guarantee depends on them.

Source: 002 sections 5, 6.1 and 6.4; Blum, Ligett and Roth 2008; Wasserman and Zhou 2010; Barber and Duchi 2014; Alda
and Rubinstein 2017. Proofs: docs/proofs/densities.md, section 5.

Deviations. 002 states the first for every point: it holds for all but countably many, and not on a public grid. It
states the second for any differential privacy: it is for delta = 0, and where it exceeds the risk of a constant the
constant is the bound. Its third is false as printed (one row, large eps); its 3/16 shows which term was dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from reticent.errors import PublicParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["substitute", "add_remove"]

INK: Final = "#1f3b57"
GREY: Final = "#6b7280"
BLUES: Final = ("#9db7d1", "#6b93b8", "#3f6d97", "#1f3b57")
LOWEST: Final = 1e-12  # of a chance that is drawn
MOST_COLUMNS: Final = 500
PARTS: Final = 200  # of a search along one number


@dataclass(frozen=True, slots=True)
class PointMass:
    """All n records are one unknown point of ``grid`` points, or of a continuum (None).

    Attributes
    ----------
    epsilon : float
        Pure differential privacy, > 0.
    distance : float
        In (0, 1/2): the release counts as right where its distribution function is this near, in KS distance.
    grid : int or None
    neighbours : "substitute" or "add_remove"
        To change all n records takes n steps, or 2 n.
    """

    epsilon: float
    distance: float
    grid: int | None = None
    neighbours: Kind = "substitute"

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        if not 0 < self.distance < 0.5:
            raise PublicParameterError(f"distance must lie between 0 and 1/2, got {self.distance}")
        if self.grid is not None and self.grid < 2:
            raise PublicParameterError(f"a grid has at least 2 points, got {self.grid}")

    @property
    def together(self) -> int:
        """For how many points one release can be right: each has a jump of more than 1 - 2 distance at its point."""
        return math.floor(1.0 / (1.0 - 2.0 * self.distance) + 1e-12)

    def chance(self, n: int) -> float:
        """No release is right with more than this chance at every point of the grid, from n records."""
        if self.grid is None:
            return 0.0
        return min(1.0, self.together / (1.0 + (self.grid - 1) * math.exp(-min(self._loss(n), 700.0))))

    def least_n(self, chance: float) -> float:
        """Fewer records than this do not find every point with this chance; infinite on a continuum."""
        if not 0 < chance < 1:
            raise PublicParameterError(f"chance must lie between 0 and 1, got {chance}")
        if self.grid is None:
            return math.inf
        ratio = (self.grid - 1) * chance / (self.together - chance)
        return max(0.0, math.log(ratio) / self._loss(1)) if ratio > 0 else 0.0

    def plot(self, grids: Sequence[int] = (2**8, 2**16, 2**32, 2**64)) -> Figure:
        """The chance over n for grids of these sizes and for a continuum."""
        drawn, panel = _panel("records n, all at one point", "chance to be right at every point")
        last = 1.3 * PointMass(self.epsilon, self.distance, max(grids), self.neighbours).least_n(0.999)
        ns = np.unique(np.linspace(1, max(last, 10.0), PARTS).astype(int))
        for place, size in enumerate(sorted(grids)):
            one = PointMass(self.epsilon, self.distance, size, self.neighbours)
            colour = BLUES[place * len(BLUES) // len(grids)]
            panel.plot(ns, [one.chance(int(n)) for n in ns], color=colour, lw=1.4, label=f"at most, {_points(size)}")
        panel.plot(ns, np.zeros(len(ns)), color=GREY, lw=1.2, ls="--", label="at most, a continuum")
        rows = "one record replaced" if self.neighbours == "substitute" else "one record added or removed"
        return _finished(
            drawn,
            panel,
            f"pure ε = {self.epsilon:g}, right within KS distance {self.distance:g}",
            f"{rows}; all records at one unknown point",
        )

    def _loss(self, n: int) -> float:
        return self.epsilon * n * (2 if self.neighbours == "add_remove" else 1)


@dataclass(frozen=True, slots=True)
class MeanRisk:
    """The greatest expected squared error of an estimate of the mean of ``columns`` columns in [0, 1], over all laws.

    Attributes
    ----------
    columns : int
        d, 1 to 500.
    epsilon : float
        Pure differential privacy: for delta > 0 the part due to privacy is smaller by a factor d, up to logarithms.
    neighbours : "substitute" or "add_remove"
    """

    columns: int
    epsilon: float
    neighbours: Kind = "substitute"

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        if not 1 <= self.columns <= MOST_COLUMNS:
            raise PublicParameterError(f"columns must be 1 to {MOST_COLUMNS}, got {self.columns}")

    def sampling(self, n: int) -> float:
        """d / (4 (1 + sqrt n)^2): the minimax risk without privacy (Hodges and Lehmann 1950), attained."""
        return self.columns / (4.0 * (1.0 + math.sqrt(n)) ** 2)

    def privacy(self, n: int) -> float:
        """Lower bound by privacy alone: a packing of laws that one release cannot tell apart."""
        best, step = 0.0, self.epsilon * (2 if self.neighbours == "add_remove" else 1)
        for log_size, apart in packings(self.columns):
            # the factor t^2 x / (1 + x) is greatest near x of order 1, so t is looked for around ln(size) / step
            for moved in _around(log_size / step, n):
                x = math.expm1(log_size) * math.exp(-step * moved) if log_size < 700 else _large(log_size, step * moved)
                best = max(best, (moved / n) ** 2 * apart / 4.0 * x / (2.0 * (1.0 + x)))
        return best

    def least(self, n: int) -> float:
        """No pure release has a smaller worst risk."""
        return max(self.sampling(n), self.privacy(n))

    def printed(self, n: int) -> float:
        """The rate of 002, d / n + d^3 / (n eps)^2: no constants, and not above the trivial risk d / 4."""
        return min(self.columns / n + self.columns**3 / (n * self.epsilon) ** 2, self.columns / 4.0)

    def laplace(self, n: int) -> float:
        """Upper bound by the mean with Laplace noise, n public: d / (4 n) + 2 d^3 / (n eps)^2, or the constant."""
        return min(self.columns / (4.0 * n) + 2.0 * self.columns**3 / (n * self.epsilon) ** 2, self.columns / 4.0)

    def plot(self) -> Figure:
        """Both bounds and what is attained, over n."""
        drawn, panel = _panel("records n", "worst expected squared error")
        centre = 10.0 * self.columns / self.epsilon
        ns = np.unique(np.geomspace(max(centre / 100.0, 2.0), 1000.0 * centre, 60).astype(int))
        panel.loglog(ns, [self.laplace(int(n)) for n in ns], color=INK, lw=1.4, label="attained by Laplace noise")
        panel.loglog(ns, [self.least(int(n)) for n in ns], color=INK, lw=1.2, ls="--", label="at least, pure ε")
        panel.loglog(ns, [self.sampling(int(n)) for n in ns], color=GREY, lw=1.0, label="of which sampling")
        panel.loglog(ns, [self.privacy(int(n)) for n in ns], color=GREY, lw=1.0, ls=":", label="of which pure ε")
        return _finished(
            drawn,
            panel,
            f"mean of {self.columns} columns in [0, 1], pure ε = {self.epsilon:g}",
            "the worst law of the rows; for δ > 0 the dotted part is smaller by a factor d",
        )


@dataclass(frozen=True, slots=True)
class SmallBall:
    """The exponential mechanism under the KS distance, k points, density q(z | x) ~ exp(-n eps KS(F_x, F_z) / 2).

    Attributes
    ----------
    points : int
        k >= 1.
    epsilon : float
    ceiling : float
        sup p >= 1, where the base measure of one point has total mass 1.
    """

    points: int
    epsilon: float
    ceiling: float = 1.0

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        if self.points < 1 or self.ceiling < 1:
            raise PublicParameterError("there is at least one point, and a density is at least 1 somewhere")

    def ball(self, distance: float) -> float:
        """S(k, t): the chance that k points of a continuous law are within ``distance`` of it, in KS distance."""
        from scipy.stats import kstwo

        return float(kstwo.cdf(distance, self.points)) if distance > 0 else 0.0

    def printed(self, n: int, distance: float) -> float:
        """(sup p)^k e^(-3 eps distance n / 16) / S(k, distance / 2) as 002 has it, which is no bound."""
        return self._drawn(n, distance, distance / 16.0, self.ball(distance / 2.0))

    def bound(self, n: int, distance: float) -> float:
        """P(KS(F, F_z) > distance) is at most this: drawing and sampling, with the best split of the distance."""
        ball = self.ball(distance / 2.0)
        splits = [distance / 4.0 * part / PARTS for part in range(1, PARTS)]
        return min(1.0, min(self._drawn(n, distance, c, ball) + 2.0 * math.exp(-2.0 * n * c**2) for c in splits))

    def floor(self, n: int, distance: float) -> float:
        """P(KS(F, F_z) > distance) is at least this for every k-point release: 1 where distance < 1 / (2 k)."""
        return 1.0 if n >= 1 and distance < 1.0 / (2.0 * self.points) else 0.0

    def plot(self, n: int) -> Figure:
        """Printed and corrected bounds over the distance."""
        drawn, panel = _panel("KS distance", "chance to be farther than that")
        at = np.linspace(0.005, 1.0, 2 * PARTS)
        chances = [self.bound(n, float(t)) for t in at]
        last = next((place for place, chance in enumerate(chances) if chance < LOWEST), len(at) - 1)
        at = np.linspace(0.005, float(at[last]), PARTS)
        panel.semilogy(at, [self.bound(n, float(t)) for t in at], color=INK, lw=1.4, label="at most")
        printed = [min(self.printed(n, float(t)), 1.0) or math.nan for t in at]
        panel.semilogy(at, printed, color=GREY, lw=1.2, ls="--", label="as printed in 002: no bound")
        panel.semilogy(
            at, [self.floor(n, float(t)) or math.nan for t in at], color=INK, lw=1.2, ls=":", label="at least"
        )
        panel.set_ylim(LOWEST, 3.0)
        return _finished(
            drawn,
            panel,
            f"n = {n:,} records, k = {self.points} points, ε = {self.epsilon:g}",
            f"density at most {self.ceiling:g} times the base law of a point, which is continuous",
        )

    def _drawn(self, n: int, distance: float, split: float, ball: float) -> float:
        """The term of the mechanism where the sample is within ``split`` of the law."""
        if ball <= 0.0:
            return math.inf
        exponent = self.points * math.log(self.ceiling) - n * self.epsilon / 2.0 * (distance / 2.0 - 2.0 * split)
        return math.exp(min(exponent - math.log(ball), 700.0))


@dataclass(frozen=True, slots=True)
class FunctionError:
    """A function of the data is released; k neighbours away it differs by k x ``sensitivity`` at some point.

    Attributes
    ----------
    sensitivity : float
        Delta > 0, the change between neighbours at the point. The chain of neighbours must add it up at least
        ``longest`` times; a mean or a kernel estimate of n rows does so for n steps.
    epsilon : float
    delta : float
        In [0, 1).
    longest : int
    """

    sensitivity: float
    epsilon: float
    delta: float = 0.0
    longest: int = 1_000_000

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        _positive(self.sensitivity, "sensitivity")
        if not 0 <= self.delta < 1 or self.longest < 1:
            raise PublicParameterError("delta must be in [0, 1) and longest >= 1")

    def miss(self, steps: int) -> float:
        """For one of two tables so many steps apart: chance of an error of at least steps x sensitivity / 2."""
        loss = self.epsilon * steps
        if loss > 700.0:
            return 0.0
        slip = self.delta * math.expm1(loss) / math.expm1(self.epsilon)
        return max(0.0, (1.0 - slip) / (1.0 + math.exp(loss)))

    def expected(self) -> float:
        """The worst expected error is at least this: about .139 sensitivity / epsilon for small epsilon."""
        around = _around(1.278464542761074 / self.epsilon, self.longest)  # where x / (1 + e^x) is greatest
        return max(steps * self.sensitivity / 2.0 * self.miss(steps) for steps in around)

    def plot(self) -> Figure:
        """The bound and what Laplace noise for one point has, over epsilon."""
        drawn, panel = _panel("ε", "expected error at the point")
        at = np.geomspace(0.01, 5.0, 80)
        each = [FunctionError(self.sensitivity, float(e), self.delta, self.longest).expected() for e in at]
        panel.loglog(at, self.sensitivity / at, color=INK, lw=1.4, label="Laplace noise: Δ / ε")
        panel.loglog(at, each, color=INK, lw=1.2, ls="--", label="at least")
        return _finished(
            drawn,
            panel,
            f"function of sensitivity {self.sensitivity:g}, δ = {self.delta:g}",
            f"changes add up along {self.longest:,} neighbours; the worst of two tables",
        )


@lru_cache(maxsize=64)
def packings(columns: int) -> tuple[tuple[float, int], ...]:
    """(ln of a size, distance): sets of 0-1 vectors this large exist whose members differ in so many places or more.

    Greedy (Gilbert 1952): 2^d over the vectors that differ in fewer places from one.
    """
    found, ball = [], 0
    for radius in range(columns):
        ball += math.comb(columns, radius)
        size = -(-(1 << columns) // ball)
        if size < 2:
            break
        found.append((math.log(size), radius + 1))
    return tuple(found)


def _around(centre: float, most: int) -> tuple[int, ...]:
    """Whole numbers from 1 to ``most`` about a centre: all of them where they are few."""
    low, high = max(1, math.floor(centre / 4.0)), min(most, math.ceil(4.0 * centre) + 1)
    if low >= high:
        return (min(low, most),)
    return tuple(sorted({round(low + (high - low) * part / PARTS) for part in range(PARTS + 1)}))


def _large(log_size: float, loss: float) -> float:
    """e^(log_size - loss), where the first alone is beyond a float."""
    return math.exp(min(log_size - loss, 700.0))


def _positive(value: float, name: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise PublicParameterError(f"{name} must be > 0, got {value}")


def _panel(x: str, y: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6.4, 4.0), layout="constrained")
    panel = drawn.subplots()
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return drawn, panel


def _points(size: int) -> str:
    return f"2^{size.bit_length() - 1} points" if size & (size - 1) == 0 else f"{size:,} points"


def _finished(drawn: Figure, panel: Axes, title: str, conditions: str) -> Figure:
    panel.legend(frameon=False, fontsize=8)
    panel.set_title(conditions, fontsize=8, color=GREY)
    drawn.suptitle(title, fontsize=10)
    return drawn
