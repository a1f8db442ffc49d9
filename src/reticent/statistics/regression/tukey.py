"""TukeyEM without bounds and without delta: a point of great depth among the coefficients of blocks.

    blocks   rows into public blocks, several rounds; each block's least-squares coefficients (``blocks``)
    point    the exponential mechanism over points, by coordinatewise depth (``depth``)
    widths   the median distance of every coefficient from the point's, for its interval (``middle``)

The point has about 2.4 times less noise than a median of each coefficient: it needs one draw in all and not one for
each coefficient. It declines if too few blocks determine coefficients, by a noisy count, to outweigh the public prior
in all columns at once.

Source: Amin, Joseph, Ribero and Vassilvitskii 2022, Algorithm 1. Deviations: theirs draws among points of at least a
quarter of the greatest depth. That support depends on the rows. So theirs needs a propose-test-release step, a delta
and a test that fails if the coefficients of blocks spread unevenly. Here the candidates are all points of a public
product of priors. So privacy is pure, at about 19 nats for each coefficient in place of ln(1 / delta). Rounds, widths
and both adjacencies are ours. Proof: docs/proofs/regression.md, section 11.
"""

from __future__ import annotations

from fractions import Fraction

from reticent.data.candidates import Cells
from reticent.statistics.regression.block_medians import ROUNDS, BlockMedians, block_medians
from reticent.statistics.regression.coefficients import RegressionDesign


def tukey(design: RegressionDesign, cells: Cells, epsilon: Fraction, *, rounds: int = ROUNDS) -> BlockMedians:
    """The plan with the largest blocks that outweigh the prior; refused before rows are read where none would.

    Parameters
    ----------
    design : RegressionDesign
    cells : Cells
        Candidates of a coefficient, with their weights.
    epsilon : Fraction
        Price of the point.
    rounds : int
        Number of times that rows are dealt out.

    Returns
    -------
    BlockMedians

    Guarantee
    ---------
    epsilon-differential privacy for the neighbours of the design, by the exponential mechanism in sequence.
    """
    return block_medians(design, cells, epsilon, rounds=rounds, law="joint")
