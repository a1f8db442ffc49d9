"""Randomized response as 001 proves it: two lines, each the ratio of what is heard under one truth and the other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.mechanisms import randomized_response
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.numbers import Number, read


@dataclass(frozen=True, slots=True)
class Coins:
    """The table of a randomized response: for each answer heard, its chance under either truth and their ratio."""

    mechanism: RandomizedResponse

    def rows(self) -> tuple[tuple[str, Fraction, Fraction, Fraction], ...]:
        """(answer, P[heard | it is the truth], P[heard | it is not], their ratio), exactly."""
        told = {truth: self.mechanism.distribution(truth) for truth in ("yes", "no")}
        pairs = [("yes", told["yes"]["yes"], told["no"]["yes"]), ("no", told["no"]["no"], told["yes"]["no"])]
        return tuple((heard, true, false, true / false) for heard, true, false in pairs)

    def __str__(self) -> str:
        lines = []
        for (heard, true, false, ratio), other in zip(self.rows(), ("no", "yes"), strict=True):
            lines.append(
                f"P[hear {heard} | truth {heard}] / P[hear {heard} | truth {other}] = ({true}) / ({false}) = {ratio}"
            )
        width = max(line.index(" = ") for line in lines)
        aligned = [line[: (at := line.index(" = "))].ljust(width) + line[at:] for line in lines]
        largest, (epsilon, _) = self.mechanism.ratio, epsilon_delta(self.mechanism.guarantee.loss)
        aligned.append(f"so e^ε = {largest} and ε = ln {largest}, about {float(epsilon):.4f}")
        return "\n".join(aligned)


def coins(truth: Number, yes: Number) -> Coins:
    """The table of coins that let the truth through with probability ``truth``, else say yes with ``yes``."""
    return Coins(RandomizedResponse(read(truth, "truth"), read(yes, "yes")))


def two_coins() -> Coins:
    """The table of the slides' two fair coins: 3/4 over 1/4 on both lines, epsilon = ln 3."""
    return Coins(randomized_response.two_coins())
