"""Shuffled randomized response: everybody's answer is randomized by coins of their own, and only the counts are shown.

Statement. Let n people each give one answer through the same eps0-differentially private randomizer. Let a trusted
shuffler publish the multiset of answers and nothing else. When the truth of one of the n people is replaced, the whole
is (eps, delta)-DP with the eps of ``amplify.shuffled``, far below eps0 for large n.

Source. Feldman, McMillan and Talwar 2021 (Hiding among the clones), Theorems 3.1 and 3.2.

Proof. docs/proofs/amplification.md. What it asks of the world, each refused where it can be seen to fail: (1) n is
public, and neighbours replace one truth; (2) one answer per person; (3) one randomizer for all, purely eps0-private;
(4) eps0 <= ln(n / (16 ln(2 / delta))); (5) nothing comes with an answer: no sender, no time, no covariate, no order;
(6) somebody, who is named, is trusted to see to (5); (7) whoever is counted apart is a crowd apart: a subgroup has a
mechanism with its own n, whatever the number of people in all.

Deviations. The answers are randomized here, by the curator's program, which therefore sees the truths: a shuffler in
the sense of the paper sees randomized answers only. The guarantee about what is *published* is the same. (4) is a
condition of the paper's closed form alone; the clones are proved without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms.gate import Specimen
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy import amplify
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee

ANSWERS: Final = ("yes", "no")
ONE_EACH: Final = Adjacency("substitute")


@dataclass(frozen=True, slots=True)
class ShuffledResponse:
    """Counts of yes and no among ``people`` answers, each drawn through ``randomizer``.

    Parameters
    ----------
    randomizer : RandomizedResponse
        The same for everybody.
    people : int
        Public number of those counted together, >= 2; a subgroup has a ``ShuffledResponse`` of its own.
    delta : Fraction
        In (0, 1).
    shuffler : str
        Who is trusted to show counts only; part of the guarantee's parameters.
    neighbours : Adjacency
        Substitution of one person with one answer.

    Raises
    ------
    PublicParameterError
        Where a condition of the theorem fails.

    Guarantee
    ---------
    (epsilon, delta) under substitution, by the theorem that gives the least epsilon.
    """

    randomizer: RandomizedResponse
    people: int
    delta: Fraction
    shuffler: str
    neighbours: Adjacency = ONE_EACH

    def __post_init__(self) -> None:
        if type(self.randomizer) is not RandomizedResponse:
            raise PublicParameterError("everybody answers through one and the same RandomizedResponse")
        _ = self.guarantee  # refuses where a condition fails

    @property
    def guarantee(self) -> Guarantee:
        return amplify.shuffled(
            self.randomizer.guarantee,
            people=self.people,
            delta=self.delta,
            shuffler=self.shuffler,
            neighbours=self.neighbours,
        )

    def sample(self, exact: Sequence[str], entropy: Entropy) -> tuple[int, int]:
        """Draw the reported numbers of yes and no, in this order.

        Raises
        ------
        PublicParameterError
            Unless there are exactly ``people`` answers, each "yes" or "no" and nothing more; before anything is drawn.
        """
        if len(exact) != self.people:
            raise PublicParameterError(
                f"made for {self.people} answers: others, such as a subgroup's, need a mechanism with their own number"
            )
        if any(type(answer) is not str or answer not in ANSWERS for answer in exact):
            raise PublicParameterError('every answer is "yes" or "no", with nothing attached')
        heard = sum(self.randomizer.sample(answer, entropy) == "yes" for answer in exact)
        return heard, self.people - heard


def mass(randomizer: RandomizedResponse, truths: Sequence[str], heard: int) -> float:
    """P(``heard`` answers are yes).

    Parameters
    ----------
    randomizer : RandomizedResponse
    truths : sequence of str
        One truth for each respondent.
    heard : int
        Number of answers yes.

    Returns
    -------
    float
    """
    chances = [float(randomizer.distribution(truth)["yes"]) for truth in ("yes", "no")]
    yes = truths.count("yes")
    laws = [
        [math.comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)]
        for count, chance in zip((yes, len(truths) - yes), chances, strict=True)
    ]
    first, second = laws
    return sum(first[k] * second[heard - k] for k in range(len(first)) if 0 <= heard - k < len(second))


def _specimen() -> Specimen[Sequence[str], tuple[int, int]]:
    randomizer = RandomizedResponse(Fraction(1, 10), Fraction(1, 2))
    made = ShuffledResponse(randomizer, 150, Fraction(1, 1000), "the program itself")
    return Specimen(
        "150 shuffled answers",
        made,
        ("yes",) * 30 + ("no",) * 120,
        ("yes",) * 31 + ("no",) * 119,
        lambda truths, counts: mass(randomizer, truths, counts[0]),
    )


SPECIMENS: Final = (_specimen(),)
