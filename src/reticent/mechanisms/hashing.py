"""Local hashing: the respondent draws a public hash function, hashes the answer to few values, and randomizes that.

Statement. Write answer v of k in base q, q prime, as a vector of m digits, q^m >= k. Draw a uniform vector a of m
digits; hash h(v) = a . v mod q; say a, and the value h(v) with probability r / (r + q - 1), else each other value with
1 / (r + q - 1). This is ln r-differentially private in the local model; r is a rational at or below e^epsilon.

Source. Wang, Blocki, Li and Jha 2017, section 4.4 (optimal local hashing); Carter and Wegman 1979 (the family).

Proof. a does not depend on the truth; given a, the value is q-ary randomized response (``kary``) of h(v), so no ratio
passes r, and it is attained where h(v) != h(w). Family: for v != w some digit of v - w is not 0, so a . (v - w) is
uniform mod q and P(h(v) = h(w)) = 1 / q exactly. Hence P(h(w) is said | v true) = r / (r + q - 1) / q +
(1 - 1 / q) / (r + q - 1) = 1 / q exactly, which makes the estimator unbiased.

Deviations. The source takes any hash function that behaves well; here the collision probability is exact, at the price
that q is prime: at most 3 % in variance for epsilon up to 6. r replaces e^epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli, uniform
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL, Peak, drawn, even, loss_of, place, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "local_hashing",
    "a public hash function drawn by the respondent, and the hash value by q-ary randomized response: ln r",
    "Wang, Blocki, Li and Jha 2017, section 4.4; Carter and Wegman 1979",
)
MOST: Final = 1 << 22
LARGEST: Final = 30_011  # of a prime


@dataclass(frozen=True, slots=True)
class Hashing:
    """Says a hash function and a value below the prime ``values``: the integer function * ``values`` + value.

    ``size`` answers, 2 .. 2^22; the number of a function has its digits in base ``values``, the lowest first.
    """

    size: int
    values: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole(self.size, "size", 2, MOST)
        whole(self.values, "values", 2, LARGEST)
        if any(self.values % divisor == 0 for divisor in range(2, int(self.values**0.5) + 1)):
            raise PublicParameterError(f"values must be a prime, got {self.values}")
        ratio_below(self.epsilon)

    @property
    def digits(self) -> int:
        """m, the length of an answer in base ``values``."""
        count, reach = 1, self.values
        while reach < self.size:
            count, reach = count + 1, reach * self.values
        return count

    @property
    def functions(self) -> int:
        return int(self.values**self.digits)

    @property
    def ratio(self) -> Fraction:
        return ratio_below(self.epsilon)

    @property
    def hit(self) -> Fraction:
        """P(the value said is the hash of an answer | the answer is true)."""
        return self.ratio / (self.ratio + self.values - 1)

    @property
    def miss(self) -> Fraction:
        """P(the value said is the hash of an answer | another is true)."""
        return Fraction(1, self.values)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            loss_of(self.ratio),
            LOCAL,
            THEOREM,
            size=str(self.size),
            values=str(self.values),
            epsilon=show(self.epsilon),
        )

    def hash(self, function: int, answer: int) -> int:
        """h(answer) of one function."""
        total = 0
        for _ in range(self.digits):
            total += (function % self.values) * (answer % self.values)
            function, answer = function // self.values, answer // self.values
        return total % self.values

    def mass(self, truth: int, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        function, value = divmod(heard, self.values)
        if not 0 <= function < self.functions:
            return Fraction(0)
        told = self.hash(function, truth) == value
        return (self.hit if told else 1 / (self.ratio + self.values - 1)) / self.functions

    def sample(self, exact: int, entropy: Entropy) -> int:
        """The function and the value heard, as one integer."""
        place(exact, self.size)
        function = uniform(self.functions, entropy)
        value = self.hash(function, exact)
        if not bernoulli(self.hit, entropy):
            value = (value + 1 + uniform(self.values - 1, entropy)) % self.values
        return function * self.values + value

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Function and value for each truth, as one integer each, array of shape (n,)."""
        answers = places(exact, self.size)
        function, value = np.zeros(len(answers), np.int64), np.zeros(len(answers), np.int64)
        power = 1
        for _ in range(self.digits):
            digit = even(self.values, len(answers), entropy)
            value += digit * (answers // power % self.values)
            function += digit * power
            power *= self.values
        value += drawn(Peak(self.values, self.hit), len(answers), entropy)
        return function * self.values + value % self.values


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    epsilon = read(parameters["epsilon"], "epsilon")
    return Hashing(int(parameters["size"]), int(parameters["values"]), epsilon).guarantee


def _specimen() -> Specimen[int, int]:
    made = Hashing(3, 2, Fraction(1))
    return Specimen("three answers hashed to a bit", made, 0, 1, lambda truth, heard: float(made.mass(truth, heard)))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
