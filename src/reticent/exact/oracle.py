"""Laws in place of coins, for those who compute with the laws.

An ``Oracle`` is told the law of every draw, a frozen value that stands beside the sampler:

    Uniform(bound)               0 .. bound - 1, each with probability 1 / bound                 (``coins``)
    Bernoulli(p)                 1 with probability p, else 0                                    (``coins``)
    BernoulliExp(x)              1 with probability exp(-x), else 0                              (``coins``)
    DiscreteLaplace(scale)       an integer k, P proportional to exp(-abs(k) / scale)            (``laplace``)
    DiscreteGaussian(variance)   an integer k, P proportional to exp(-k**2 / (2 variance))       (``gaussian``)
    Categorical(x, c)            an index i, P proportional to c_i exp(-x_i)                     (``categorical``)
    PermuteAndFlip(x)            an index: in random order, the first whose coin of probability
                                 exp(-(x_i - min x)) is 1                                        (``categorical``)

A sampler asks for the type of its entropy first; nothing else in the product does. An oracle may answer what it likes,
so nothing that charges a ledger takes one: a release asks for ``SystemEntropy``. That the samplers have these laws is
proved in ``docs/proofs/sampling.md`` and checked by ``tests.assurance.coins``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar, final

from reticent.errors import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Law = TypeVar("Law", contravariant=True)  # frozen values that stand beside the samplers
MOST = (1 << 63) - 1


@final
@dataclass(frozen=True, slots=True)
class Oracle(Generic[Law]):
    """An ``Entropy`` by type, asked for laws and not for coins: each draw is whatever ``answer`` says.

    Parameters
    ----------
    answer : callable
        From the law of one draw to its value. Draws of an array come in order, one call each.
    """

    answer: Callable[[Law], int]

    def one(self, law: Law) -> int:
        """One draw, of any size."""
        return self.answer(law)

    def array(self, law: Law, size: int) -> NDArray[np.int64]:
        """``size`` draws; what does not fit 64 bits saturates, as in the samplers."""
        import numpy as np

        return np.array([min(max(self.answer(law), -MOST), MOST) for _ in range(size)], np.int64)

    def bits(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through the samplers of reticent.exact")

    def words(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through the samplers of reticent.exact")
