"""Objective perturbation: the minimiser of a convex objective to which a random slope was added.

Statement. For every table D let F_D: R^d -> R be convex with a Lipschitz gradient, second derivatives H_D(t) at almost
every t; and for neighbours D, D', all such t and R > 0 let |grad F_D(t) - grad F_D'(t)|_1 <= S and det(H_D(t) + R) <=
(1 + B / R)^k det(H_D'(t) + R). With independent b_j of density proportional to
exp(-|b_j| / s), the minimiser t* of F_D(t) + R |t|^2 / 2 + b't is (S / s + k ln(1 + B / R))-differentially private.
``sample`` gives t* but for a public distance, with two-sided geometric noise for that distance, at a ``spare`` share.
By blocks: let S bound the sum over blocks of the greatest |grad F_D(t) - grad F_D'(t)|_j in each. With b of density
proportional to e^{-G(b) / s}, G(b) the sum over blocks of the greatest size, but constant on cells of side 2 H, the
minimiser is ((S + 2 H x blocks) / s + k ln(1 + B / R))-differentially private. A block of one has exact cells.

Source. Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9 (the idea); Kifer, Smith and Thakurta 2012, Theorem 2 (the
Jacobian by rank). Iyengar and others 2019 (approximate minima). Hardt and Talwar 2010, section 4 (noise by a norm). The
form below is derived here.

Proof. b = -(grad F_D(t) + R t) =: -h_D(t), and h_D is strongly monotone and Lipschitz, hence a bijection of R^d with
Lipschitz inverse; by the area formula t* has density p(-h_D(t)) |det h_D'(t)| for almost every t. The ratio of the
first factors is at most exp(|h_D(t) - h_D'(t)|_1 / s) <= e^{S / s}, that of the second at most (1 + B / R)^k. By
blocks a density is e^{-2 H m / s}, m the sum over blocks of the greatest max(z_j, -z_j - 1), z_j = floor(b_j / 2 H). As
2 H max(z, -z - 1) lies in (|b| - 2 H, |b|], that of a block moves by less than the greatest size and a cell.

The program, docs/proofs/learning.md, section 8, adds b rounded to the middle of a cell, drawn exactly.
Its answer lies within a public distance of t*. Given t*, neighbours' answers are integers at a public L1
distance, and the geometric mechanism covers them. In sequence, then t* is forgotten.

Deviations. Laplace coordinates, or greatest sizes, in place of a radial law; no float stands between the rows and the
noise that a proof rests on: what floats did is bounded by the solver's certificate, and the bound is in the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol, Self, runtime_checkable

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli, uniform
from reticent.exact.laplace import one_discrete_laplace
from reticent.exact.rounding import log_up, round_up, sqrt_up
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.sensitivity import L1

THEOREM: Final = Theorem(
    "objective",
    "the minimiser of a convex objective with a random slope: noise, and a Jacobian by rank",
    "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9; Kifer, Smith and Thakurta 2012, Theorem 2; derived",
)

BLOCKS: Final = Theorem(
    "objective_by_blocks",
    "the same, with a random slope that goes by the greatest size in each block of coordinates",
    "Hardt and Talwar 2010, section 4; Kifer, Smith and Thakurta 2012, Theorem 2; derived",
)


class ConvexObjective(Protocol):
    """A convex function whose gradient and curvature differ between neighbours by what the mechanism was told."""

    def least(
        self, tilt: Sequence[int], exponent: int, ridge: Fraction, tolerance: Fraction, grid: int
    ) -> tuple[int, ...]:
        """The nearest steps of 2^``grid`` to a point where a gradient is at most ``tolerance`` long; it always ends.

        The gradient is that of the function + ridge |t|^2 / 2 + 2^exponent tilt't.

        Parameters
        ----------
        tilt : sequence of int
            Noise of the gradient, in units of 2^exponent.
        exponent : int
        ridge : Fraction
            Weight of half the squared length.
        tolerance : Fraction
            Length of a gradient that is near enough.
        grid : int
            The output has steps of 2^grid.

        Returns
        -------
        tuple of int
        """
        ...


@runtime_checkable
class ComparableObjective(Protocol):
    """Convex function that an audit can compare: the distance of its gradient from a neighbour's, at some point.

    It is the sum over blocks of so many coordinates of the greatest size in each: the L1 distance for blocks of one.
    """

    def apart(self, other: Self, block: int) -> Fraction: ...


@dataclass(frozen=True, slots=True)
class Objective:
    """Protects the least point of a convex function.

    Parameters
    ----------
    sensitivity : L1
        Of the gradient, at any one point; of blocks, of the greatest size in each.
    turns : int
        >= 0: the rank of what one person's rows can add to the curvature (k).
    bend : Fraction
        > 0: with rank k and ridge R, one row multiplies det(H + R) by at most (1 + B / R)^k (B): its greatest
        eigenvalue, or a bound of the mean of the k.
    ridge : Fraction
        > 0 (R).
    tolerance : Fraction
        > 0, public: the length of the gradient at which a solver may stop.
    size : int
        Coordinates.
    epsilon : Fraction
        > 0: of both.
    spare : Fraction
        In (0, 1): the share of epsilon that covers what a solver may leave; the least point has the rest.
    block : int
        Coordinates in a row whose noise goes by the greatest size; a divisor of ``size``. Of 1 they are independent.
    """

    sensitivity: L1
    turns: int
    bend: Fraction
    ridge: Fraction
    tolerance: Fraction
    size: int
    epsilon: Fraction
    spare: Fraction
    block: int = 1

    def __post_init__(self) -> None:
        for name in ("bend", "ridge", "tolerance", "epsilon", "spare"):
            positive(getattr(self, name), name)
        if self.size < 1 or self.turns < 0:
            raise PublicParameterError("size must be >= 1 and turns >= 0")
        if self.block < 1 or self.size % self.block:
            raise PublicParameterError(f"block must divide {self.size}, got {self.block}")
        if self.spare >= 1:
            raise PublicParameterError(f"spare must be a share below 1, got {self.spare}")
        if turned(self.turns, self.bend, self.ridge) >= self.main:
            raise PublicParameterError("the ridge is so small that the Jacobian alone costs epsilon")

    @property
    def main(self) -> Fraction:
        """Epsilon charged for the minimiser of the perturbed function, Jacobian included."""
        return (1 - self.spare) * self.epsilon

    @property
    def scale(self) -> Fraction:
        """Scale s of the noise in the slope."""
        return (self.sensitivity.bound + self.cells) / (self.main - turned(self.turns, self.bend, self.ridge))

    @property
    def cells(self) -> Fraction:
        """Addition to the sensitivity by the cells of blocks; those of independent coordinates are exact."""
        return Fraction(0) if self.block == 1 else self.size // self.block * Fraction(2) ** (self.half + 1)

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate of the slope: its block is a gamma number times a uniform point."""
        return math.sqrt((self.block + 1) * (self.block + 2) / 3) * float(self.scale)

    @property
    def half(self) -> int:
        """Half a cell of the slope is 2^half: cells so small that all of them move the gradient by ``tolerance``."""
        return power_below(self.tolerance / root(self.size))

    @property
    def finest(self) -> int:
        """The answer is in steps of 2^finest: rounding moves it by at most ``tolerance`` / ``ridge``."""
        return power_below(2 * self.tolerance / (self.ridge * root(self.size)))

    @property
    def away(self) -> Fraction:
        """Greatest L1 distance of an answer from the minimiser.

        It adds up the solver's error, the rounding of the slope to a cell, and the grid.
        """
        cells, steps = Fraction(2) ** self.half, Fraction(2) ** (self.finest - 1)
        return (self.tolerance + root(self.size) * cells) / self.ridge + root(self.size) * steps

    @property
    def last(self) -> Geometric:
        """Noise for twice that distance, its L1 length at most sqrt(size) times it."""
        steps = 2 * self.away * root(self.size) / Fraction(2) ** self.finest
        return Geometric(L1(Fraction(steps.__floor__()), self.sensitivity.adjacency), self.spare * self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        near, moved = self.sensitivity.adjacency, self.sensitivity.bound
        terms = SlopeTerms(moved, self.cells, self.scale, self.turns, self.bend, self.ridge)
        first = terms.independent(near) if self.block == 1 else terms.by_blocks(near)
        return compose.in_sequence([first, self.last.guarantee], label="objective perturbation")

    def sample(self, exact: ConvexObjective, entropy: Entropy) -> tuple[int, ...]:
        """The least point in steps of 2^finest, with both noises."""
        cell, half, finest, last = _grids(self)
        blocks = (one_block(cell, self.block, entropy) for _ in range(self.size // self.block))
        tilt = tuple(2 * place + 1 for block in blocks for place in block)
        found = integers(exact.least(tilt, half, self.ridge, self.tolerance, finest), "the least point")
        if len(found) != self.size:
            raise PublicParameterError(f"made for {self.size} numbers")
        return last.sample(found, entropy)


@lru_cache(maxsize=8)
def _grids(made: Objective) -> tuple[Fraction, int, int, Geometric]:
    """The scale of the slope's noise in cells, exponents of half a cell and of the grid, and the last noise."""
    return made.scale / Fraction(2) ** (made.half + 1), made.half, made.finest, made.last


def one_sided_down(scale: Fraction, entropy: Entropy) -> int:
    """floor of continuous Laplace noise of this scale, exactly.

    P(k) = (1 - a) a^k / 2 for k >= 0 and for k = -1, -2, ... that of -k - 1, a = e^{-1/scale}. Two-sided geometric Z
    is, given Z >= 0, geometric on 0, 1, ..., and so is -Z - 1 given Z < 0; a fair coin chooses between Z and -Z - 1.
    """
    drawn = one_discrete_laplace(scale, entropy)
    return drawn if uniform(2, entropy) else -drawn - 1


def one_block(scale: Fraction, width: int, entropy: Entropy) -> tuple[int, ...]:
    """The cell z of a block of noise, exactly: P(z) proportional to e^{-m(z) / scale}.

    m(z) is the greatest of z_j and -z_j - 1. (2 M + 2)^width cells have m <= M: so z is uniform among these for an M of
    P(M) proportional to (M + 1)^width e^{-M / scale}. The sum N of width + 1 geometric numbers has binomial(N + width,
    width) in the place of the power, and is taken with probability prod (N + 1) / (N + i), i = 2 ... width.

    Parameters
    ----------
    scale : Fraction
        In cells.
    width : int
        Coordinates of the block.
    entropy : Entropy

    Returns
    -------
    tuple of int
        Of length ``width``.
    """
    if width == 1:
        return (one_sided_down(scale, entropy),)
    while True:
        drawn = [one_sided_down(scale, entropy) for _ in range(width + 1)]
        most = sum(place if place >= 0 else -place - 1 for place in drawn)
        if all(bernoulli(Fraction(most + 1, most + i), entropy) for i in range(2, width + 1)):
            return tuple(uniform(2 * most + 2, entropy) - most - 1 for _ in range(width))


@lru_cache(maxsize=64)
def root(size: int) -> Fraction:
    """At or above sqrt(size): the sizes of so many numbers sum to at most so many times their Euclidean length."""
    return sqrt_up(Fraction(size))


@lru_cache(maxsize=64)
def turned(turns: int, bend: Fraction, ridge: Fraction) -> Fraction:
    """k ln(1 + B / R), rounded up: the loss of the Jacobian.

    Parameters
    ----------
    turns : int
        The number k of directions that a row bends.
    bend : Fraction
        Greatest curvature B of one row.
    ridge : Fraction
        Least curvature R of the rest.

    Returns
    -------
    Fraction
        A loss.
    """
    return round_up(turns * log_up(1 + bend / ridge))


def power_below(x: Fraction) -> int:
    """The greatest e with 2^e <= x, x > 0."""
    found = x.numerator.bit_length() - x.denominator.bit_length()
    return found if Fraction(2) ** found <= x else found - 1


@dataclass(frozen=True, slots=True)
class SlopeTerms:
    """Numbers that the loss of a least point follows from: S, what its cells add, s, k, B and R.

    Guarantee
    ---------
    (S + cells) / s + k ln(1 + B / R), pure.
    """

    sensitivity: Fraction
    cells: Fraction
    scale: Fraction
    turns: int
    bend: Fraction
    ridge: Fraction

    def __post_init__(self) -> None:
        for name in ("sensitivity", "scale", "bend", "ridge"):
            positive(getattr(self, name), name)
        if self.turns < 0 or self.cells < 0:
            raise PublicParameterError("turns and cells must be >= 0")

    @property
    def loss(self) -> PureDP:
        return PureDP((self.sensitivity + self.cells) / self.scale + turned(self.turns, self.bend, self.ridge))

    def independent(self, neighbours: Adjacency) -> Guarantee:
        """The guarantee of independent coordinates, whose cells are exact."""
        return self._by(THEOREM, neighbours)

    def by_blocks(self, neighbours: Adjacency) -> Guarantee:
        """The guarantee of blocks."""
        return self._by(BLOCKS, neighbours, cells=show(self.cells))

    def _by(self, theorem: Theorem, neighbours: Adjacency, **more: str) -> Guarantee:
        return axiom(
            self.loss,
            neighbours,
            theorem,
            pair=None,
            bend=show(self.bend),
            ridge=show(self.ridge),
            scale=show(self.scale),
            sensitivity=show(self.sensitivity),
            turns=str(self.turns),
            **more,
        )

    @classmethod
    def of(cls, parameters: dict[str, str], cells: Fraction) -> Self:
        """The numbers of a stored leaf."""
        bound, scale, bend, ridge = (stored(parameters, name) for name in ("sensitivity", "scale", "bend", "ridge"))
        return cls(bound, cells, scale, int(parameters["turns"]), bend, ridge)


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again: its loss follows from its noise and its ridge."""
    return SlopeTerms.of(parameters, Fraction(0)).independent(neighbours)


def again_by_blocks(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf of blocks, stated again."""
    return SlopeTerms.of(parameters, stored(parameters, "cells")).by_blocks(neighbours)


# --- a specimen -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CutResiduals:
    """Rows whose slopes at t are t - y cut to [-1, 1], of one coefficient: the least point is rational.

    Its solver stops where the gradient is ``off`` times the tolerance, -1 <= off <= 1, which is as bad as it may be.
    """

    ys: tuple[Fraction, ...]
    off: int

    def least(
        self, tilt: Sequence[int], exponent: int, ridge: Fraction, tolerance: Fraction, grid: int
    ) -> tuple[int, ...]:
        """Steps of 2^grid nearest to a point where the gradient is at most ``tolerance`` long.

        Parameters
        ----------
        tilt : sequence of int
            Noise of the gradient, in units of 2^exponent.
        exponent : int
        ridge : Fraction
            Weight of half the squared length.
        tolerance : Fraction
            Length of a gradient that is near enough.
        grid : int
            The output has steps of 2^grid.

        Returns
        -------
        tuple of int
        """
        pull = tilt[0] * Fraction(2) ** exponent - self.off * tolerance
        ends = sorted(y + side for y in self.ys for side in (-1, 1))
        below = sum(self.slope(end) + ridge * end + pull < 0 for end in ends)  # the ends that lie below the least point
        near = ends[below - 1] if below else ends[0] if ends else Fraction(0)
        bends = ridge + sum(y - 1 <= near < y + 1 if below else False for y in self.ys)
        return (round((near - (self.slope(near) + ridge * near + pull) / bends) / Fraction(2) ** grid),)

    def slope(self, at: Fraction) -> Fraction:
        return sum((max(Fraction(-1), min(at - y, Fraction(1))) for y in self.ys), Fraction(0))


@lru_cache(maxsize=8)
def _law(made: Objective, exact: CutResiduals) -> dict[int, float]:
    """Chances of the point before its last noise: a sum over the cells of the slope, but for 1e-18 of them."""
    found: dict[int, float] = {}
    cell = float(made.scale) / 2.0 ** (made.half + 1)
    for k in range(math.ceil(42 * cell)):
        chance = -math.expm1(-1 / cell) * math.exp(-k / cell) / 2
        for z in (k, -k - 1):
            (point,) = exact.least((2 * z + 1,), made.half, made.ridge, made.tolerance, made.finest)
            found[point] = found.get(point, 0.0) + chance
    return found


def _specimen() -> Specimen[CutResiduals, tuple[int, ...]]:
    """One row more, which pulls by 1 up to 1/2 and begins to bend there; solvers that are off against each other."""
    moved, one = L1(Fraction(1), Adjacency("add_remove")), Fraction(1)
    made = Objective(moved, 1, one, 2 * one, Fraction(1, 4), 1, Fraction(7, 2), Fraction(1, 2))

    def mass(exact: CutResiduals, output: tuple[int, ...]) -> float:
        tail = math.exp(-1 / float(made.last.scale))
        of_noise = (1 - tail) / (1 + tail)
        return sum(p * of_noise * tail ** abs(output[0] - point) for point, p in _law(made, exact).items())

    return Specimen("least point of a row", made, CutResiduals((), -1), CutResiduals((Fraction(3, 2),), 1), mass)


AXIOMS: Final[Axioms] = ((THEOREM, again), (BLOCKS, again_by_blocks))
SPECIMENS: Final = (_specimen(),)
