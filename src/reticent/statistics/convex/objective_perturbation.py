"""A linear model as the least point of losses with a ridge, protected before it is sought or after.

    ObjectivePerturbation   a random slope is added, then the least point is released      pure
    CurvaturePerturbation   the same, and a noisy curvature at that point, for intervals   pure
    OutputPerturbation      the least point is released with noise for how far a row moves it
    planned                 which of these, or the descent, by a public rule

One solution costs as much as the many gradients of a descent together. Little noise is needed if epsilon and the rows
are worth a flat ridge. The solver stops by a public tolerance that is in the noise: 2^-42 for each row there may be. At
a least point the gradient of the losses is known but for the random slope, so that intervals need no other.

    ridge       1 / C or alpha; where objective perturbation would pay more than ``share`` of its price for the
                Jacobian, the least ridge for which it does not. The intercept has it too.

Source: Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012; Iyengar and others 2019. What differs,
and the proofs: docs/proofs/learning.md, sections 8 and 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, sqrt_up
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.objective import Objective, power_below
from reticent.privacy import convert
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, L2
from reticent.statistics.convex import losses
from reticent.statistics.convex.descent import LAPLACE, UNWEIGHED, Descent, LinearFit
from reticent.statistics.convex.intervals import AT_95, ScoreKnowledge, curvature, moved, whole
from reticent.statistics.convex.losses import Loss
from reticent.statistics.convex.newton import Problem
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.scaling import UNIT, Floats, Integers, Scaling, longest, shortened

Solver: TypeAlias = Literal["auto", "descent", "objective", "output"]
SOLVERS: Final = ("auto", "descent", "objective", "output")

SHARES: Final = ((20_000, Fraction(1, 5)), (2_000, Fraction(1, 10)), (0, Fraction(1, 20)))
# of the price, at most, for the Jacobian, from a strength on: public rows times epsilon over the length of the longest
STEEP: Final = 100  # coefficients of several classes, up to which a flat ridge is worth more noise
JACOBIAN: Final = Fraction(1, 10)  # the same, where intervals are bought
CURVATURE: Final = ((500, Fraction(3, 10)), (0, Fraction(1, 2)))
# of the price, for a curvature, from so many rows times epsilon over the squared length of the longest on
CLEAR: Final = 100  # the strength from which a descent tells a regression that so steep a ridge would hide
USUAL: Final = 10_000  # rows, for the choice of a solver, where their number is not public
LIGHT: Final = 1 / 3  # up to it one pure draw predicts no worse than the few steps that a delta pays for
USUAL_SQUARE: Final = 1 / 16  # the mean square of a usual column about its middle, in half-widths
SPARE: Final = Fraction(1, 1000)  # of what a least point costs, for what the solver leaves
NEAR: Final = 42  # bits by which a row's gradient is longer than its share of the tolerance
EXPECTED: Final = 1 << 20  # rows, where their number is not public; doubles do for ten times as many
MOST: Final = 2000  # coefficients that are solved for at once
FLATTEST: Final = 1000  # a ridge is at least the curvature of one row over this
FINE: Final = 10  # bits by which the grid of an output is finer than what one row moves


@dataclass(frozen=True)
class LeastPoint:
    """The public numbers of a least point: what a row can do to the objective.

    Attributes
    ----------
    loss : Loss
    scaling : Scaling
    price : Price
    clip : Fraction
        Length of the longest row in units of a bound: a sum of sizes where the price is pure, a Euclidean length else.
    people : int or None
        The public number of rows; None where it is private.
    penalty : Fraction
        > 0: asked for; of half the squared length of all coefficients.
    """

    loss: Loss
    scaling: Scaling
    price: Price
    clip: Fraction
    penalty: Fraction
    people: int | None = None

    def __post_init__(self) -> None:
        if self.clip <= 0 or self.penalty <= 0:
            raise PublicParameterError("clip must be > 0, and a least point needs a penalty > 0")
        if self.reach < 1:
            raise PublicParameterError(f"clip is shorter than a step, 1/{UNIT}")
        if self.people is not None and self.people < 1:
            raise PublicParameterError(f"people must be >= 1, got {self.people}")
        if self.size > MOST:
            raise PublicParameterError(
                f"a least point is sought for at most {MOST:,} coefficients, these are {self.size:,}; "
                'solver="descent" takes any number. Nothing was charged.'
            )

    @property
    def size(self) -> int:
        """Coefficients of all scores."""
        return losses.scores_of(self.loss) * self.scaling.width

    @cached_property
    def reach(self) -> Fraction:
        """The greatest length of a row in steps, squared for l2."""
        given = (self.clip * UNIT) ** 2 if self.price.norm == "l2" else self.clip * UNIT
        return min(Fraction(int(given)), longest(self.scaling.width, self.price.norm))

    @cached_property
    def squared(self) -> Fraction:
        """The greatest squared length of a row, in units of bounds: no entry exceeds 1."""
        if self.price.norm == "l2":
            return self.reach / UNIT**2
        return min(Fraction(self.scaling.width), self.reach / UNIT, (self.reach / UNIT) ** 2)

    @cached_property
    def tolerance(self) -> Fraction:
        """At which length of the gradient the solver stops: a power of two."""
        curve = max(4 * losses.turns(self.loss)[1], Fraction(1))  # what rounding of a score does to a slope
        whole = (
            (self.people or EXPECTED)
            * self.price.neighbours.rows
            * max(self.squared, Fraction(1))
            * losses.scores_of(self.loss)
            * curve
        )
        return Fraction(2) ** (power_below(whole) + 1 - NEAR)

    def problem(self, values: Floats, targets: Floats, shares: Integers | None = None) -> Problem:
        """Rows of shape (n, columns), shortened, and targets, numbers cut to [-1, 1]; without one a row is zeros.

        Shares are cut to [0, UNIT]: no row counts more than whole.

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns).
        targets : array of float
            Targets, shape (n,); NaN where a row has none.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        Problem
            Problem whose rows are in steps.
        """
        rows = shortened(self.scaling.whole(values), self.reach, self.price.norm)
        there = np.isfinite(targets)
        if losses.of_numbers(self.loss):
            targets = np.clip(targets, -1.0, 1.0)
        kept = None if shares is None else np.clip(shares, 0, UNIT)
        return Problem(self.loss, np.asarray(np.where(there[:, None], rows, 0)), np.where(there, targets, np.nan), kept)

    def linear(self, steps: tuple[int, ...], grid: int, rows: int | None) -> LinearFit:
        """Coefficients from steps of a grid.

        Parameters
        ----------
        steps : tuple of int
            Coefficients, score by score.
        grid : int
            Binary exponent of a step.
        rows : int or None
            Public number of rows; None where there is none.

        Returns
        -------
        LinearFit
            Coefficients of shape (scores, width).
        """
        found = np.array([math.ldexp(value, grid) for value in steps], np.float64)
        return LinearFit(found.reshape(-1, self.scaling.width), float(rows or 0))


@dataclass(frozen=True)
class ObjectivePerturbation(LeastPoint):
    """Objective perturbation; the price is pure.

    Guarantee
    ---------
    Within the price: ``mechanisms.objective``, with the L1 length of a row's gradient, or by scores the greatest size,
    and the rank of its curvature.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.price.delta:
            raise PublicParameterError('objective perturbation is pure: leave delta 0, or take solver="output"')

    @cached_property
    def bent(self) -> tuple[int, Fraction]:
        """The rank of what a person's rows add to the curvature, and what bounds the Jacobian of one."""
        directions, curve = losses.stretched(self.loss)
        return directions * self.price.neighbours.rows, curve * self.squared

    @cached_property
    def share(self) -> Fraction:
        """Share of the price for the Jacobian, by the public strength of rows against noise.

        A share s of epsilon buys a ridge in proportion to 1 / s, and leaves noise in proportion to 1 / (1 - s). Of k
        classes by chances the ridge is 4 (k - 1) / k times that of two, and the noise twice: so s / (1 - s) is the root
        of 2 (k - 1) / k times as much. Few coefficients are steep, and a ridge pulls these more: there it is twice
        that.
        """
        share = next(share for least, share in SHARES if self.strength(self.people or 0) >= least)
        if not isinstance(self.loss, losses.Logistic) or self.loss.classes == 2:
            return share
        classes = self.loss.classes
        odds = Fraction(math.isqrt(20_000 * (classes - 1) // classes), 100) * (2 if self.size <= STEEP else 1)
        return odds * share / (1 - share + odds * share)

    def strength(self, rows: int) -> Fraction:
        """Rows times epsilon over the length of the longest."""
        return rows * self.price.epsilon * UNIT / self.reach

    @cached_property
    def block(self) -> int:
        """Coordinates that have noise by the greatest size together: all of a score, or 1, whichever is the less noise.

        A row of one-hot columns is short and has Laplace noise; one of numbers is long, and no entry exceeds 1.
        """
        width, length = self.scaling.width, self.reach / UNIT
        by_size = Fraction((width + 1) * (width + 2), 3) * min(length, Fraction(1)) ** 2  # of the squared scale
        return width if by_size < 2 * length**2 else 1

    @property
    def hidden(self) -> bool:
        """Tell if the ridge would outweigh rows that a descent can tell from noise; labels do not mind a ridge."""
        rows = self.people or USUAL
        return losses.of_numbers(self.loss) and self.ridge > rows and self.strength(rows) >= CLEAR

    @property
    def light(self) -> bool:
        """Tell if ridge and noise move a usual slope by less than ``LIGHT`` of the largest plausible one."""
        told, ridge = (self.people or USUAL) * USUAL_SQUARE, float(self.ridge)
        return ridge + AT_95 * self.mechanism.deviation < LIGHT * (told + ridge)

    @cached_property
    def ridge(self) -> Fraction:
        """The penalty, or the least that keeps the Jacobian within its share of the price; a double."""
        turns, bend = self.bent
        grown = exp_down(self.share * self.price.epsilon / turns) - 1  # (1 + bend / ridge) may grow so far
        if grown <= 0:
            raise PublicParameterError("epsilon is too small for a solution by objective perturbation")
        return double_above(max(self.penalty, bend / grown))

    @property
    def paid(self) -> Fraction:
        """Epsilon of the point."""
        return self.price.epsilon

    @cached_property
    def mechanism(self) -> Objective:
        turns, bend = self.bent
        steep, _ = losses.steepest(self.loss)
        length = self.reach / UNIT if self.block == 1 else min(self.reach / UNIT, Fraction(1))
        slope = L1(self.price.moves * steep * length, self.price.neighbours)
        return Objective(slope, turns, bend, self.ridge, self.tolerance, self.size, self.paid, SPARE, self.block)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def note(self) -> str:
        if self.ridge <= double_above(self.penalty):
            return f"objective perturbation with ridge {float(self.ridge):.4g}; no intervals"
        return (
            f"objective perturbation with ridge {float(self.ridge):.4g} where {float(self.penalty):.4g} was asked: "
            f"the least that {self.share} of epsilon pays for; no intervals"
        )

    def draw(self, values: Floats, targets: Floats, entropy: Entropy, shares: Integers | None = None) -> LinearFit:
        """The model from rows of shape (n, columns) and targets of shape (n,).

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns).
        targets : array of float
            Targets, shape (n,); NaN where a row has none.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        LinearFit
            Coefficients in steps, and the number of rows.
        """
        steps = gate.draw(self.mechanism, self.problem(values, targets, shares), entropy)
        return self.linear(steps, self.mechanism.finest, self.people)


@dataclass(frozen=True)
class CurvaturePerturbation(ObjectivePerturbation):
    """Objective perturbation and a noisy curvature at its point; the price is pure.

    At the released point t the gradient of the losses is -(ridge t + slope), the random slope of a public law: the
    noise that intervals account for was paid for by the point.

    Guarantee
    ---------
    Within the price: the two in sequence, the second chosen by what the first released.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        losses.curvatures(self.loss, np.zeros((1, 1)), np.zeros(1))
        if losses.bend(self.loss) > 1:
            raise PublicParameterError("intervals need a loss whose curvature is at most 1")

    @cached_property
    def share(self) -> Fraction:
        return JACOBIAN

    @cached_property
    def block(self) -> int:
        """One: intervals are for independent noise of the coordinates."""
        return 1

    @cached_property
    def bought(self) -> Fraction:
        """Share of the price for the curvature: more if few rows let the noise hide it."""
        length = self.reach * self.reach * self.price.moves / (UNIT**2 * self.price.neighbours.rows)
        strength = (self.people or USUAL) * self.price.epsilon / length
        return next(share for least, share in CURVATURE if strength >= least)

    @property
    def paid(self) -> Fraction:
        return (1 - self.bought) * self.price.epsilon

    @cached_property
    def curved(self) -> Noise:
        """Noise of the upper triangle of the curvature."""
        row = moved(self.loss, self.reach, self.scaling.width, self.price.norm, self.price.neighbours)
        return self.price.noise(row, self.bought)

    @cached_property
    def parts(self) -> tuple[Guarantee, ...]:
        """Guarantees of all draws."""
        return (self.mechanism.guarantee, self.curved.guarantee)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole(self.parts, "a least point and its curvature")

    @property
    def note(self) -> str:
        return ""

    def draw(self, values: Floats, targets: Floats, entropy: Entropy, shares: Integers | None = None) -> LinearFit:
        """The model, with the noisy curvature that its intervals need.

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns).
        targets : array of float
            Targets, shape (n,); NaN where a row has none.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Not taken by fits with intervals.

        Returns
        -------
        LinearFit
            Coefficients in steps, the number of rows, and the intervals.

        Raises
        ------
        PublicParameterError
            Shares of losses.
        """
        if shares is not None:
            raise PublicParameterError(UNWEIGHED)
        problem = self.problem(values, targets)
        found = self.linear(gate.draw(self.mechanism, problem, entropy), self.mechanism.finest, self.people)
        data = problem.rows.astype(np.float64)
        exact = curvature(self.loss, problem.rows, data, problem.targets, found.scaled)
        upper = gate.draw(self.curved, exact.tolist(), entropy)
        at = found.scaled[0]
        pull = np.full(len(at), float(self.penalty))
        pull[: int(self.scaling.intercept)] = 0.0
        around = ScoreKnowledge(
            at=at,
            push=float(self.ridge) * at,
            bent=whole(upper, len(at)),
            away=np.zeros(len(at)),
            pull=pull,
            loud=math.sqrt(2.0) * float(self.mechanism.scale),
            off=deviation(self.curved) / UNIT**2,
            tail=LAPLACE,
            alike=self.price.neighbours.rows,
        )
        return LinearFit(around.values[None, :], found.rows, around=around)


@dataclass(frozen=True)
class OutputPerturbation(LeastPoint):
    """Output perturbation: geometric noise, or with a delta discrete Gaussian noise, on the least point.

    Guarantee
    ---------
    Within the price. A person's rows move the exact minimiser by at most moves x slope x length / ridge (strong
    convexity). The solver and the grid add a public distance on each side.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        least = losses.turns(self.loss)[1] * self.squared / FLATTEST
        if self.penalty < least:
            raise PublicParameterError(
                f"output perturbation needs a penalty (1 / C, or alpha) of at least {float(least):.2g} for rows this "
                "long: the noise is divided by it. Nothing was charged."
            )

    @cached_property
    def ridge(self) -> Fraction:
        return double_above(self.penalty)

    @cached_property
    def moved(self) -> Fraction:
        """Greatest distance between neighbours' exact minimisers."""
        _, steep = losses.steepest(self.loss)
        return self.price.moves * sqrt_up(steep * self.squared) / self.ridge

    @cached_property
    def grid(self) -> int:
        return power_below(self.moved / sqrt_up(Fraction(self.size))) - FINE

    @cached_property
    def away(self) -> Fraction:
        """Greatest distance of the point on the grid from the exact one: the solver and the rounding."""
        return self.tolerance / self.ridge + sqrt_up(Fraction(self.size)) * Fraction(2) ** (self.grid - 1)

    @cached_property
    def noise(self) -> Noise:
        steps = (self.moved + 2 * self.away) / Fraction(2) ** self.grid
        if self.price.delta:
            moved = L2(Fraction((steps**2).__floor__()), self.price.neighbours)  # squares of whole numbers are whole
            return Gaussian(moved, self.price.part * convert.rho_for(self.price.epsilon, self.price.delta))
        whole = Fraction((steps * sqrt_up(Fraction(self.size))).__floor__())
        return Geometric(L1(whole, self.price.neighbours), self.price.epsilon)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([self.noise.guarantee], "output perturbation")

    @property
    def note(self) -> str:
        return f"output perturbation with ridge {float(self.ridge):.4g}; no intervals"

    def draw(self, values: Floats, targets: Floats, entropy: Entropy, shares: Integers | None = None) -> LinearFit:
        """The model from rows of shape (n, columns) and targets of shape (n,).

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns).
        targets : array of float
            Targets, shape (n,); NaN where a row has none.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        LinearFit
            Coefficients in steps, and the number of rows.
        """
        exact = self.problem(values, targets, shares).least((0,) * self.size, 0, self.ridge, self.tolerance, self.grid)
        return self.linear(gate.draw(self.noise, exact, entropy), self.grid, self.people)


Fit: TypeAlias = Descent | ObjectivePerturbation | CurvaturePerturbation | OutputPerturbation


def planned(
    solver: str,
    loss: Loss,
    scaling: Scaling,
    price: Price,
    clip: Fraction,
    penalty: Fraction,
    people: int | None,
    *,
    steps: int | None = None,
    refined: bool = False,
) -> Fit:
    """The plan of a fit.

    "auto" is objective perturbation if the price is pure, the penalty above 0, coefficients at most ``MOST`` and no
    ``steps`` are asked for. It is the descent otherwise, or if its ridge would hide a regression.

    Parameters
    ----------
    solver : str
        "auto" or the name of a solver.
    loss : Loss
        Loss of a row.
    scaling : Scaling
        Bounds of the columns, in steps.
    price : Price
        Loss of the fit, in the currency of the ledger.
    clip : Fraction
        Greatest norm of a row, in units of bounds.
    penalty : Fraction
        Factor of the squares, for the mean loss, >= 0.
    people : int or None
        Public number of persons; None where it is counted with noise.
    steps : int, optional
        Rounds of the descent; None for the planned number.
    refined : bool
        True if the fit is to have intervals.

    Returns
    -------
    Fit
        Plan with its guarantee; no row is read.

    Raises
    ------
    PublicParameterError
        For a solver that is none, for steps of another than the descent, and for intervals of output perturbation.
    """
    if solver not in SOLVERS:
        raise PublicParameterError(f"solver is one of {', '.join(SOLVERS)}, got {solver!r}")
    perturbed = CurvaturePerturbation if refined else ObjectivePerturbation
    if solver == "auto":
        few = losses.scores_of(loss) * scaling.width <= MOST
        direct = few and penalty > 0 and not price.delta and steps is None
        if direct and not (auto := perturbed(loss, scaling, price, clip, penalty, people)).hidden:
            return auto
        solver = "descent"
    if solver == "descent":
        return Descent(loss, scaling, price, clip, penalty, people, steps, refined)
    if steps is not None:
        raise PublicParameterError('steps are of solver="descent"')
    if solver == "objective":
        return perturbed(loss, scaling, price, clip, penalty, people)
    if refined:
        raise PublicParameterError('output perturbation has no intervals: leave solver="auto", or take "descent"')
    return OutputPerturbation(loss, scaling, price, clip, penalty, people)


def double_above(number: Fraction) -> Fraction:
    """The least double at or above a number > 0, so that a solver in doubles has it exactly."""
    try:
        near = float(number)
    except OverflowError:
        raise PublicParameterError("a penalty this great is beyond doubles") from None
    found = Fraction(near)
    return found if found >= number and near else Fraction(math.nextafter(near, math.inf))


__all__ = [
    "Fit",
    "CurvaturePerturbation",
    "LeastPoint",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Solver",
    "planned",
]
