"""Unary encoding: one bit for each of k answers, each bit through a coin of its own.

Statement. Bit v of the message is 1 with probability ``hit`` if v is the true answer and ``miss`` if not, on a coin of
its own. This is ln(hit (1 - miss) / (miss (1 - hit)))-differentially private in the local model. The symmetric form has
hit = s / (s + 1) = 1 - miss, s a rational at or below e^{epsilon / 2}. The optimised form has hit = 1/2, miss = 1 / (r
+ 1), r a rational at or below e^epsilon. It has the least variance for rare answers.

Source. Erlingsson, Pihur and Korolova 2014 (RAPPOR's permanent answer with one hash); Wang, Blocki, Li and Jha 2017,
section 4 (symmetric and optimised unary encoding).

Proof. Two truths v and w change the laws of bits v and w only. The ratio of the probabilities of a message is a product
over two bits. Bit v gives hit / miss or (1 - hit) / (1 - miss), and bit w gives the reverse. With hit >= miss the
product is largest for the message with bit v 1 and bit w 0: hit / miss (1 - miss) / (1 - hit). Symmetric: s^2.
Optimised: r.

Deviations. s and r replace e^{epsilon / 2} and e^epsilon; the loss stated is that of s^2 and r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL, coins, loss_of, place, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "unary_encoding",
    "a bit for each answer, each by a coin of its own: ln(hit (1 - miss) / (miss (1 - hit)))",
    "Wang, Blocki, Li and Jha 2017, section 4; Erlingsson, Pihur and Korolova 2014",
)
Form: TypeAlias = Literal["symmetric", "optimised"]
MOST: Final = 4096


@dataclass(frozen=True, slots=True)
class Unary:
    """A message of ``size`` bits, 2 .. 4,096; bit v of the integer heard is that of answer v."""

    size: int
    epsilon: Fraction
    form: Form = "optimised"

    def __post_init__(self) -> None:
        whole(self.size, "size", 2, MOST)
        ratio_below(self.epsilon / 2)
        if self.form not in get_args(Form):
            raise PublicParameterError(f"form is one of: {', '.join(get_args(Form))}")

    @property
    def hit(self) -> Fraction:
        """P(a bit is 1 | its answer is true)."""
        match self.form:
            case "symmetric":
                root = ratio_below(self.epsilon / 2)
                return root / (root + 1)
            case "optimised":
                return Fraction(1, 2)
            case _:
                assert_never(self.form)

    @property
    def miss(self) -> Fraction:
        """P(a bit is 1 | another answer is true)."""
        match self.form:
            case "symmetric":
                return 1 - self.hit
            case "optimised":
                return 1 / (ratio_below(self.epsilon) + 1)
            case _:
                assert_never(self.form)

    @property
    def ratio(self) -> Fraction:
        return self.hit * (1 - self.miss) / (self.miss * (1 - self.hit))

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            loss_of(self.ratio),
            LOCAL,
            THEOREM,
            size=str(self.size),
            epsilon=show(self.epsilon),
            form=self.form,
        )

    def mass(self, truth: int, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        if not 0 <= heard < 1 << self.size:
            return Fraction(0)
        ones = heard.bit_count() - (heard >> truth & 1)
        own = self.hit if heard >> truth & 1 else 1 - self.hit
        return own * self.miss**ones * (1 - self.miss) ** (self.size - 1 - ones)

    def sample(self, exact: int, entropy: Entropy) -> int:
        """The bits heard, as one integer."""
        place(exact, self.size)
        heard = 0
        for answer in range(self.size):
            heard |= bernoulli(self.hit if answer == exact else self.miss, entropy) << answer
        return heard

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        """The bits heard for each truth, array of 0 and 1 of shape (n, size)."""
        rows = len(places(exact, self.size))
        bits = coins(self.miss, rows * self.size, entropy).view(np.uint8).reshape(rows, self.size)
        bits[np.arange(rows), exact] = coins(self.hit, rows, entropy)
        return bits


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    form: Form = "symmetric" if parameters["form"] == "symmetric" else "optimised"
    return Unary(int(parameters["size"]), read(parameters["epsilon"], "epsilon"), form).guarantee


def _specimen(form: Form) -> Specimen[int, int]:
    made = Unary(2, Fraction(1), form)
    return Specimen(f"two bits, {form}", made, 0, 1, lambda truth, heard: float(made.mass(truth, heard)))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen("symmetric"), _specimen("optimised"))
