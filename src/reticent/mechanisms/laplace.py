"""Laplace mechanism on a public grid: rational answers, rounded to a power-of-two grid, plus geometric noise.

Statement. Let f have values in the rationals and L1 sensitivity D over d coordinates. Round every coordinate to the
nearest multiple of g (half-way cases down) and add g times two-sided geometric noise of scale s steps. The result is
eps-differentially private with eps = (ceil(D / g) + d - 1) / s.

Source. 002 section 4, 004 Theorem 2.5 (Dwork, McSherry, Nissim and Smith 2006), made discrete.

Proof. ``exact.grid`` proves that rounded neighbours are at most ceil(D / g) + d - 1 steps apart in L1. The rest is the
geometric mechanism. Nothing between the exact answer and the released grid value is a float.

Deviations. 002 prints the density exp(-w / lambda) and the deviation sqrt(2 lambda); the density is
exp(-|w| / lambda) and the deviation sqrt(2) lambda. Real Laplace noise in floats has holes that reveal the answer
(Mironov 2012), hence the grid, whose cost is in the sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.grid import Grid
from reticent.exact.laplace import discrete_laplace
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.geometric import laplace_radius, mass
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show, stored
from reticent.privacy.pairs import GeometricShift
from reticent.privacy.sensitivity import L1

THEOREM: Final = Theorem(
    "laplace",
    "rational answers rounded to a public grid, plus two-sided geometric noise on the grid",
    "Dwork, McSherry, Nissim and Smith 2006; 004 Theorem 2.5; the rounding is in the sensitivity",
)


@dataclass(frozen=True, slots=True)
class Laplace:
    """Protects ``size`` rational numbers of joint L1 sensitivity ``sensitivity`` at ``epsilon`` on ``grid``."""

    sensitivity: L1
    epsilon: Fraction
    grid: Grid
    size: int = 1

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.size < 1:
            raise PublicParameterError(f"size must be >= 1, got {self.size}")

    @property
    def steps(self) -> int:
        """The sensitivity in grid steps, rounding included."""
        return self.grid.sensitivity_l1(self.sensitivity.bound, self.size)

    @property
    def scale(self) -> Fraction:
        """Noise scale in units of the answer."""
        return self.grid.step * self.steps / self.epsilon

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM,
            pair=GeometricShift(self.steps / self.epsilon, self.steps),
            exponent=str(self.grid.exponent),
            scale=show(self.scale),
            sensitivity=show(self.sensitivity.bound),
            size=str(self.size),
        )

    def sample(self, exact: Sequence[Fraction], entropy: Entropy) -> tuple[Fraction, ...]:
        if len(exact) != self.size:
            raise PublicParameterError(f"made for {self.size} numbers, got {len(exact)}")
        noise = discrete_laplace(self.steps / self.epsilon, self.size, entropy)
        return tuple(
            self.grid.at(self.grid.index(value) + int(drawn)) for value, drawn in zip(exact, noise, strict=True)
        )

    def radius(self, beta: float) -> Fraction:
        """Least grid distance the noise of one coordinate exceeds with probability at most ``beta``."""
        return self.grid.at(laplace_radius(float(self.steps / self.epsilon), beta))


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    grid, size = Grid(int(parameters["exponent"])), int(parameters["size"])
    moved = L1(stored(parameters, "sensitivity"), neighbours)
    steps = grid.sensitivity_l1(moved.bound, size)
    return Laplace(moved, grid.step * steps / stored(parameters, "scale"), grid, size).guarantee


def _specimen() -> Specimen[Sequence[Fraction], tuple[Fraction, ...]]:
    made = Laplace(L1(Fraction(1, 3), Adjacency("substitute")), Fraction(1), Grid(-2))
    return Specimen(
        "laplace on a grid of 1/4, sensitivity 1/3",
        made,
        (Fraction(1, 10),),
        (Fraction(13, 30),),
        lambda exact, output: mass(
            float(made.steps / made.epsilon), made.grid.index(exact[0]), int(output[0] / made.grid.step)
        ),
    )


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
