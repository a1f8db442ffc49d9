"""Kernel density with Gaussian noise: one draw of finitely many coefficients answers every evaluation.

Hall, Rinaldo and Wasserman add sigma G to a kernel estimate, G a Gaussian process whose covariance is the kernel. On
[0, 1] with reflecting ends the Gaussian kernel of bandwidth h is sum_j l_j psi_j(x) psi_j(y) with
l_j = exp(-(pi j h)^2 / 2), so estimate and process are the sequences l_j beta_j and sqrt(l_j) N_j: releasing
sqrt(l_j) beta_j + sigma N_j and multiplying by sqrt(l_j) is the same release. Both are cut where l_j < 10^-4, and N_j
is discrete. Nothing is ever drawn again: whoever evaluates, evaluates the same coefficients.

Source: 002 section 6.4; Hall, Rinaldo and Wasserman 2013. Proof: docs/proofs/densities.md, section 3.

Deviations. The factor of 002, C / (n eps h^(d/2)), is for a process of variance h^-d; with unit variance it is too
small by h^(d/2). It is only (epsilon, delta); with delta = 0 the same coefficients have geometric noise, which is pure.
The sensitivity is of the coefficients themselves, exactly; no process is sampled in floating-point numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import Outcome
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive, show
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import Density
from reticent.synthesis.linear import DensityAccuracy, LinearDensity, Settle
from reticent.synthesis.linear_queries import DensityTerms, Integers
from reticent.synthesis.series import cosines, frequencies

LEAST: Final = 1e-4  # of an eigenvalue that is kept
LEAST_BANDWIDTH: Final = {1: 10, 2: 60, 3: 155}  # in 1/1000, by columns: finer ones need too many coefficients


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A kernel density estimate.

    Parameters
    ----------
    axes : sequence of Axis
        One to three columns with public bounds.
    terms : Terms
    epsilon, delta : Fraction
        With delta > 0 discrete Gaussian noise, as in the source; with delta = 0 geometric noise.
    bandwidth : Fraction
        h in shares of the range of each column, in (0, 1/2]. Public: never one that was chosen by looking.

    Raises
    ------
    PublicParameterError
        For a bandwidth so small that more than 512 coefficients, or more than the cells, would be needed.

    Guarantee
    ---------
    (epsilon, delta) by discrete Gaussian noise and the conversion of zCDP; epsilon, pure, at delta = 0.

    Source
    ------
    002 section 6.4; Hall, Rinaldo and Wasserman 2013.
    """

    axes: tuple[Axis, ...]
    terms: DensityTerms
    epsilon: Fraction
    bandwidth: Fraction
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    def __post_init__(self) -> None:
        if positive(self.bandwidth, "bandwidth") > Fraction(1, 2):
            raise PublicParameterError(
                f"bandwidth is a share of the range, above 0 and at most 1/2, got {show(self.bandwidth)}"
            )
        cells = min(one.cells for one in self.axes)
        if _highest(self.bandwidth) >= cells > 1:
            least = math.ceil(1000.0 * _highest(Fraction(1)) / (cells - 1)) / 1000.0
            raise PublicParameterError(
                f"bandwidth {show(self.bandwidth)} is finer than {cells:,} cells along a column can show: {least:g} or "
                "more, or more cells"
            )
        _kept(self.axes, self.bandwidth)

    @cached_property
    def plan(self) -> LinearDensity:
        indices = _kept(self.axes, self.bandwidth)
        with np.errstate(under="ignore"):  # a wave that is too short has factor 0
            root = np.exp(-((math.pi * float(self.bandwidth)) ** 2) * (indices**2).sum(axis=1) / 4.0)
        name = f"kernel estimate of bandwidth {float(self.bandwidth):.3g}"
        return cosines(self.axes, indices, root, self.terms, (self.epsilon, self.delta), name, self.settle)

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.plan.queries

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        return self.plan.draw(results, entropy)

    def expected(self, people: int) -> DensityAccuracy:
        return self.plan.expected(people)


def bandwidth_for(people: int, columns: int = 1) -> Fraction:
    """A public bandwidth of the usual order, people^(-1 / (4 + columns)) / 4 of the range, on a grid of 1/1000.

    In several columns it is no less than what 512 coefficients can show.
    """
    if people < 1 or columns < 1:
        raise PublicParameterError("people and columns must be >= 1")
    least = LEAST_BANDWIDTH.get(columns, max(LEAST_BANDWIDTH.values()))
    return Fraction(min(max(round(250.0 * people ** (-1.0 / (4 + columns))), least), 500), 1000)


def _kept(axes: Sequence[Axis], bandwidth: Fraction) -> Integers:
    """The frequencies whose eigenvalue is at least ``LEAST``."""
    return frequencies(axes, max(_highest(bandwidth), 1.0))


def _highest(bandwidth: Fraction) -> float:
    """The frequency at which an eigenvalue is ``LEAST``."""
    return math.sqrt(-2.0 * math.log(LEAST)) / (math.pi * float(bandwidth))
