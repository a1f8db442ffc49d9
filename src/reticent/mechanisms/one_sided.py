"""The one-sided answer: yes whatever the truth, or the truth. It protects one answer only.

Statement. With probability ``truth`` say the truth, else say yes. Then P(no | yes) = 0, so no finite epsilon holds. The
two laws differ by ``truth`` in total variation, so this is (0, truth)-differentially private in the local model. No
epsilon gives a smaller delta.

Source. 002 section 2, which states it as differentially private.

Proof. P(yes | yes) = 1 and P(yes | no) = 1 - truth. Over the events {}, {yes}, {no}, {yes, no} the largest difference
is P(no | no) - P(no | yes) = truth. At any epsilon, P(no | no) <= e^epsilon P(no | yes) + delta asks delta >= truth.

Deviations. 002 section 2 claims a finite epsilon; it is refused here and in ``randomized_response``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import ApproxDP
from reticent.privacy.numbers import exact as exactly
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "one_sided",
    "the truth with a stated probability, else yes: (0, that probability) and no better",
    "002 section 2, corrected",
)


@dataclass(frozen=True, slots=True)
class OneSided:
    """Tells the truth with probability ``truth`` in (0, 1), else says yes: a no is the truth, and everybody knows."""

    truth: Fraction

    def __post_init__(self) -> None:
        if not 0 < exactly(self.truth, "truth") < 1:
            raise PublicParameterError(f"truth must lie strictly between 0 and 1, got {show(self.truth)}")

    @property
    def guarantee(self) -> Guarantee:
        return axiom(ApproxDP(Fraction(0), self.truth), LOCAL, THEOREM, truth=show(self.truth))

    def distribution(self, truth: str) -> dict[str, Fraction]:
        """Exact probabilities of the answer heard, given the truth "yes" or "no"."""
        if truth not in ("yes", "no"):
            raise PublicParameterError(f"{truth!r} is not one of: yes, no. It was not sent.")
        no = Fraction(0) if truth == "yes" else self.truth
        return {"yes": 1 - no, "no": no}

    def sample(self, exact: str, entropy: Entropy) -> str:
        """The answer heard."""
        self.distribution(exact)
        return exact if bernoulli(self.truth, entropy) else "yes"


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    return OneSided(read(parameters["truth"], "truth")).guarantee


def _specimen() -> Specimen[str, str]:
    made = OneSided(Fraction(1, 2))
    return Specimen("one-sided coin", made, "no", "yes", lambda truth, heard: float(made.distribution(truth)[heard]))


ONE: Final = _specimen()  # not among SPECIMENS: at epsilon 0 there is no smaller epsilon at which a test could fail it
AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final[tuple[Specimen[str, str], ...]] = ()
