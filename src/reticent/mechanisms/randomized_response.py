"""Randomized response: each person flips coins before answering yes or no.

Statement. Answer the truth with probability ``truth``, else say yes with probability ``yes``. With
p1 = P(yes | yes) = truth + (1 - truth) yes and p0 = P(yes | no) = (1 - truth) yes this is eps-differentially private
in the local model with e^eps = max(p1 / p0, (1 - p0) / (1 - p1)). Two fair coins give e^eps = 3.

Source. Warner 1965; 001 (the slides' claim of ln 3).

Proof. The two ratios are the largest over both answers; p1 >= p0, so the other two are at most 1.

Deviations. 002 section 2 lets every tail answer YES: then P(no | yes) = 0 and no finite eps holds. It is refused
here (``yes`` = 1); its true guarantee is (0, truth)-DP.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli
from reticent.exact.rounding import log_up, round_up
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import exact, read, show

THEOREM: Final = Theorem(
    "randomized_response",
    "the truth with a stated probability, else a coin: the log of the largest ratio of answer probabilities",
    "Warner 1965; 001",
)
LOCAL: Final = Adjacency("local")


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Tells the truth with probability ``truth`` in (0, 1), else says yes with probability ``yes`` in (0, 1)."""

    truth: Fraction
    yes: Fraction

    def __post_init__(self) -> None:
        for name, chance in (("truth", self.truth), ("yes", self.yes)):
            if not 0 < exact(chance, name) < 1:
                raise PublicParameterError(
                    f"{name} must lie strictly between 0 and 1, got {show(chance)}: an answer that only one truth can "
                    "give protects nobody who gives it"
                )

    def distribution(self, truth: str) -> dict[str, Fraction]:
        """Exact probabilities of the answer heard, given the truth "yes" or "no"."""
        if truth not in ("yes", "no"):
            raise PublicParameterError(f"{truth!r} is not one of: yes, no. It was not sent.")
        chance = (1 - self.truth) * self.yes + (self.truth if truth == "yes" else 0)
        return {"yes": chance, "no": 1 - chance}

    @property
    def ratio(self) -> Fraction:
        """e^epsilon, exactly."""
        told, other = self.distribution("yes"), self.distribution("no")
        return max(told["yes"] / other["yes"], other["no"] / told["no"])

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            _loss(self.ratio), LOCAL, THEOREM, ratio=show(self.ratio), truth=show(self.truth), yes=show(self.yes)
        )

    def sample(self, exact: str, entropy: Entropy) -> str:
        """The answer heard. An answer that is not on the list is refused, and nothing is drawn for it."""
        self.distribution(exact)
        if bernoulli(self.truth, entropy):
            return exact
        return "yes" if bernoulli(self.yes, entropy) else "no"


def two_coins() -> RandomizedResponse:
    """The slides' coins: tails, the truth; heads, a second coin decides. e^epsilon = 3."""
    return RandomizedResponse(Fraction(1, 2), Fraction(1, 2))


def _loss(ratio: Fraction) -> PureDP:
    return PureDP(round_up(log_up(ratio)))


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again; its neighbours can only be those of the local model."""
    return RandomizedResponse(read(parameters["truth"], "truth"), read(parameters["yes"], "yes")).guarantee


def _specimen() -> Specimen[str, str]:
    made = two_coins()
    return Specimen("two coins", made, "yes", "no", lambda truth, heard: float(made.distribution(truth)[heard]))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
