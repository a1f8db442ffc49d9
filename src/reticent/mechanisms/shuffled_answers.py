"""Shuffled answers through any randomizer of the local model: everybody's message, in no order, and nothing else.

Statement. Let n people each give one answer through the same eps0-differentially private randomizer of this package.
Let a trusted shuffler publish the multiset of messages and nothing else. When the truth of one of the n people is
replaced, the whole is (eps, delta)-DP with the eps of ``amplify.shuffled``.

Source. Feldman, McMillan and Talwar 2021 (Hiding among the clones), Theorems 3.1 and 3.2.

Proof. docs/proofs/amplification.md, where nothing is asked of the alphabet of messages: a clone appears with chance at
least e^-eps0 per other person. The conditions are those in ``shuffled``: public n, one answer per person, one
randomizer, pure eps0, nothing that comes with an answer, a named shuffler, a crowd of its own for each subgroup.

Deviations. As in ``shuffled``, which is this for yes and no, where a truth of two values gives more clones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy import amplify
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee

Randomizer: TypeAlias = KAry | Unary | Subset | Hadamard | Hashing | LocalMean
ONE_EACH: Final = Adjacency("substitute")


@dataclass(frozen=True, slots=True)
class ShuffledAnswers:
    """The messages of ``people`` respondents, sorted, after each truth has gone through ``randomizer``.

    Parameters
    ----------
    randomizer : Randomizer
        The same for everybody.
    people : int
        Public number of those whose messages are shown together, >= 2.
    delta : Fraction
        In (0, 1).
    shuffler : str
        Who is trusted to drop order and senders.

    Raises
    ------
    PublicParameterError
        Where a condition of the theorem fails.

    Guarantee
    ---------
    (epsilon, delta) under substitution, by the theorem that gives the least epsilon.
    """

    randomizer: Randomizer
    people: int
    delta: Fraction
    shuffler: str

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, KAry | Unary | Subset | Hadamard | Hashing | LocalMean):
            raise PublicParameterError("everybody answers through one and the same randomizer of the local model")
        _ = self.guarantee  # refuses where a condition fails

    @property
    def guarantee(self) -> Guarantee:
        return amplify.shuffled(
            self.randomizer.guarantee,
            people=self.people,
            delta=self.delta,
            shuffler=self.shuffler,
            neighbours=ONE_EACH,
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """The messages in ascending order: the multiset and nothing more.

        Raises
        ------
        PublicParameterError
            Unless there are exactly ``people`` truths.
        """
        if len(exact) != self.people:
            raise PublicParameterError(f"made for {self.people} answers: others need a mechanism with their own number")
        return tuple(sorted(self.randomizer.sample(truth, entropy) for truth in exact))
