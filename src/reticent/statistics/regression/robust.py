"""R_H: the most bias-robust regression with noise in proportion to a private scale, by propose-test-release.

    1  S on every coordinate of the blocks' coefficients: p scales, or no reply
    2  cells with sides h_d = scale_d n^-exponent in p + 1 shifts; A = max over shifts of the rows to add or delete
    until
       some solution leaves its cell (exact for p <= 2, a lower bound from there on)
    3  reply iff A + noise reaches the threshold: a solution, with geometric noise of scale h_d / release in every
       coordinate

Statement. A changes by at most one for each row added or deleted, so by two where a row is replaced. If A exceeds
that, all solutions of all neighbours lie in the same cell as the centre. By ``ptr.one_test`` the third step
costs the test and p releases: with the p scales of S at 2 eps each, 2 p + 1 + p = 3 p + 1.

Source. 003 section 7.2, Theorem 17, Remark 18, Example 38. Proof: docs/proofs/regression.md.

Deviations. 003 gives the test noise for a sensitivity of 1 where it is 2, and charges p noisy coordinates as one: its
(2^p + 3p + 1) eps does not hold for R_H as printed (docs/proofs/ptr.md). It prints the threshold ln n^2 + 2; mode
paper takes ln^2 n + 2. One test on the greatest distance over p + 1 shifts replaces 2^p tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.data.order_statistics import INFINITE, ordered
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.regression import distance_bounds
from reticent.statistics.regression.blocks import Blocks, of_steps, side_by_side
from reticent.statistics.regression.candidates import LEAST, CoefficientCells, cells
from reticent.statistics.regression.lines import gap, rows_for, solutions
from reticent.statistics.regression.r_s import ColumnMechanism
from reticent.statistics.regression.rows import REACH, RegressionRows
from reticent.statistics.robust.ptr_test import (
    Mode,
    Noisy,
    Test,
    exact_test,
    paper_test,
    refuse_large_delta,
    refuse_unreachable,
    step,
    whole,
)
from reticent.statistics.robust.scale_ptr import WidthCell

LAW: Final = "solution plus noise of the proposed sides"
Place: TypeAlias = tuple[int, tuple[Fraction, ...]]


def moves(neighbours: Adjacency) -> int:
    """Most rows added or deleted between neighbours: a replaced row is one deleted and one added."""
    if neighbours.kind == "local":
        raise PublicParameterError("a regression needs the rows in one place")
    return neighbours.rows * (2 if neighbours.kind == "substitute" else 1)


def distance(data: RegressionRows, lattice: CoefficientCells, *, most: int = 1 << 40) -> Place:
    """Rows to add or delete until some solution leaves its cell, greatest over the shifts, and the centre in steps.

    Exact for p <= 2; a lower bound for more, with the tolerance of the solver taken off. 0 where no cell holds all
    solutions. At most ``most``.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps.
    lattice : CoefficientCells
        Cells of the coefficients.
    most : int
        Bound at which the search may stop.

    Returns
    -------
    Place
        Distance in rows, and the centre in steps of the lattice.
    """
    if data.columns > 2:
        bound, place = distance_bounds.greatest(
            data, distance_bounds.public(lattice), most=most * (1 + distance_bounds.SPREAD)
        )
        return min(most, distance_bounds.rows_of(bound)), place
    centre = solutions(data).centre
    if centre is None:
        return 0, (Fraction(0),) * data.columns
    near = [cell for cell in lattice.around(centre) if cell.near]
    return min(most, max((rows_for(gap(data, cell)) for cell in near), default=0)), centre


@dataclass(frozen=True, slots=True)
class SolutionStep:
    """Steps 2 and 3 for proposed sides: a solution with noise, or no reply."""

    test: Test
    release: Fraction
    columns: int

    def __post_init__(self) -> None:
        positive(self.release, "release")
        whole(self.columns, "columns", 1)
        least = moves(self.test.neighbours)
        if self.test.sensitivity < least or self.test.unsafe < least:
            raise PublicParameterError(
                f"neighbours differ by up to {least} rows added or deleted: the distance moves by as much, and a "
                f"proposal may be unsafe up to {least}"
            )

    @property
    def step(self) -> ptr.PtrStep:
        return step(self.test, self.release * self.columns, law=LAW, label="robust regression")

    @property
    def guarantee(self) -> Guarantee:
        return ptr.one_test(self.step, label="robust regression")

    def sample(self, data: RegressionRows, lattice: CoefficientCells, entropy: Entropy) -> Outcome[tuple[Noisy, ...]]:
        """Test the distance, then draw every coefficient.

        Parameters
        ----------
        data : RegressionRows
            Rows in steps.
        lattice : CoefficientCells
            Cells of the coefficients.
        entropy : Entropy
            Source of test and noise.

        Returns
        -------
        Outcome of tuple of Noisy
            One noisy number for each coefficient, or no reply.
        """
        found, centre = distance(data, lattice, most=self.test.cap)
        if not self.test.passes(found, entropy):
            return NO_REPLY
        noisy: list[Noisy] = []
        for part, side in zip(centre, lattice.sides, strict=True):
            nearest = -((part.denominator - 2 * part.numerator) // (2 * part.denominator))  # within the cell
            noise = Geometric(L1(Fraction(side), self.test.neighbours), self.release)
            (value,) = gate.draw(noise, (nearest,), entropy)
            noisy.append(Noisy(Fraction(value), noise.scale))
        return Reply(tuple(noisy))


@dataclass(frozen=True, slots=True)
class RobustRegression:
    """R_H: coefficients and their noise scales in steps of the coefficients' grid, or no reply.

    Guarantee
    ---------
    p times the scale's, then the test and p releases, by 003 Theorem 37 and ``ptr.one_test``: (3p + 1) eps where the
    scale costs 2 eps and all losses are eps.

    Accuracy
    --------
    Given a reply, the noise is geometric with scale side / release. It is centred at a solution of 003 (23). For p > 2
    it is centred at a point whose objective exceeds the minimum by at most an eighth of a row times the cell's least
    radius.
    """

    blocks: Blocks
    scale: ColumnMechanism[int | WidthCell]
    last: SolutionStep
    n: int
    exponent: Fraction
    least: int = LEAST

    def __post_init__(self) -> None:
        whole(self.n, "n", 1)
        whole(self.least, "the least side", LEAST)
        positive(self.exponent, "exponent")
        if {self.scale.guarantee.adjacency, self.last.test.neighbours} != {self.blocks.neighbours}:
            raise PublicParameterError("the scale, the blocks and the test speak of different neighbours")
        if self.last.columns != len(self.blocks.default):
            raise PublicParameterError("as many defaults as coefficients")

    @property
    def guarantee(self) -> Guarantee:
        scales = side_by_side(self.scale.guarantee, self.last.columns, "scales of the blocks")
        parts = [scales, self.last.guarantee]
        combine = ptr.in_stages if of_steps(scales) else in_sequence
        return combine(parts, label="robust regression")

    def sides(self, widths: list[int]) -> CoefficientCells:
        """Cells for released scales: h = scale n^-exponent, at least ``least`` steps (003 Remark 18)."""
        shrink = Fraction(self.n ** -float(self.exponent))  # public
        return cells(tuple(min(width * shrink, Fraction(REACH)) for width in widths), least=self.least)

    def sample(self, exact: RegressionRows, entropy: Entropy) -> Outcome[tuple[Noisy, ...]]:
        found = self.blocks.coefficients(exact, entropy)
        outcomes = [self.scale.sample(ordered(column), entropy) for column in found.T]
        widths = []
        for outcome in outcomes:
            match outcome:
                case Reply(WidthCell() as spread):
                    widths.append(spread.width)
                case Reply(int() as width):
                    widths.append(width)
        if len(widths) < len(outcomes) or max(widths) >= INFINITE:
            return NO_REPLY
        return self.last.sample(exact, self.sides(widths), entropy)


def robust_regression(
    n: int,
    blocks: Blocks,
    scale: ColumnMechanism[int | WidthCell],
    *,
    test: Fraction,
    release: Fraction,
    delta: Fraction | None = None,
    exponent: Fraction | None = None,
    mode: Mode = "exact",
    most_delta: Fraction | None = None,
) -> RobustRegression:
    """R_H for a public number of rows.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    blocks, scale
        How rows are dealt out, and S for a table of as many records as there are blocks.
    test, release : Fraction
        Losses of the test and of the release of each coefficient, > 0. 003 has them equal.
    delta : Fraction
        For mode exact: the greatest probability of a reply where some neighbour's solutions leave the cell.
    exponent : Fraction or None
        Sides are scale n^-exponent; None for 003's 1 / (2p), Remark 18.
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    most_delta : Fraction or None
        For mode paper: the most delta of the test that is accepted; None for 1 / (10 n).

    Returns
    -------
    RobustRegression
        Mechanism with its guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: out of range; a printed threshold whose delta is above ``most_delta``; n too small for the
        distance ever to reach the threshold.
    """
    far, columns = moves(blocks.neighbours), len(blocks.default)
    if mode == "paper":
        if delta is not None:
            raise PublicParameterError("mode paper has the delta of its threshold: leave delta out")
        tested = paper_test(test, whole(n, "n", 1), blocks.neighbours, unsafe=far, sensitivity=far)
        refuse_large_delta(tested.delta, most_delta or Fraction(1, 10 * n), "R_H")
    elif delta is None:
        raise PublicParameterError("mode exact needs a delta")
    else:
        tested = exact_test(test, delta, blocks.neighbours, unsafe=far, sensitivity=far)
    refuse_unreachable(tested, lambda size: size, n, "robust regression")
    power = exponent or Fraction(1, 2 * columns)
    least = max(LEAST, n >> 4)  # so that a rounded centre is near the exact one
    return RobustRegression(blocks, scale, SolutionStep(tested, release, columns), n, power, least)
