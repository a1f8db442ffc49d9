"""R_S, the short-cut regression: the coefficients of random blocks, and a private median of each.

Statement. One row of the table changes one of m public records (``blocks``). Take a mechanism that is private for
tables of m records of which one is replaced. Run on one coordinate it is private for the rows. Losses add over
coordinates.

Source. 003 section 7.1, Example 36: 6 p eps by its own count; 4 p eps where the median's discretisation stays hidden.
Proof: docs/proofs/regression.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from reticent.data.order_statistics import Order, ordered
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.regression.blocks import Blocks, side_by_side
from reticent.statistics.regression.rows import RegressionRows

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ColumnMechanism(Protocol[T_co]):
    """A mechanism on a column of m integers, with the guarantee it has where one of them is replaced.

    The guarantee is stated for the neighbours of the rows: a person's rows change as many records.
    """

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[T_co]: ...


@dataclass(frozen=True, slots=True)
class ShortCut(Generic[T]):
    """Private median of the blocks' values of each coefficient, in steps of its grid, or no reply.

    Guarantee
    ---------
    p times the median's, by 003 Corollary 35 (its random partition) where it is made of steps, else in sequence.

    Accuracy
    --------
    That of the median on m least-squares coefficients of blocks; blocks that determine none hold the public default.
    """

    blocks: Blocks
    median: ColumnMechanism[T]

    def __post_init__(self) -> None:
        if self.median.guarantee.adjacency != self.blocks.neighbours:
            raise PublicParameterError("the median and the blocks speak of different neighbours")

    @property
    def guarantee(self) -> Guarantee:
        return side_by_side(self.median.guarantee, len(self.blocks.default), "short-cut regression")

    def sample(self, exact: RegressionRows, entropy: Entropy) -> Outcome[tuple[T, ...]]:
        found = self.blocks.coefficients(exact, entropy)
        outcomes = [self.median.sample(ordered(column), entropy) for column in found.T]
        if any(isinstance(outcome, NoReply) for outcome in outcomes):
            return NO_REPLY
        return Reply(tuple(outcome.value for outcome in outcomes if isinstance(outcome, Reply)))
