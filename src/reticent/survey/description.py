"""A design in plain words: how often which answer is heard, and how far one answer moves odds."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.numbers import show
from reticent.survey.design_record import DesignRecord


def say(design: DesignRecord) -> str:
    """See ``Design.say``."""
    made = design.mechanism
    match made:
        case OneSided():
            kept = times(1 - made.truth)
            return (
                f"If the truth is yes we hear yes every time; if no, {kept}. Who says no has told the truth, and we "
                f"know it: only a yes is protected. With probability {show(made.truth)} an answer is exposed outright; "
                "no ε holds."
            )
        case RandomizedResponse():
            yes, no = (made.distribution(truth)["yes"] for truth in ("yes", "no"))
            first = f"If the truth is yes we hear yes {times(yes)}; if no, {_bare(no)}."
        case KAry():
            first = f"We hear the true answer {times(made.hit)}, and each of the others {times(made.miss)}."
        case Unary():
            first = (
                f"We hear a 0 or 1 for each of the {made.size} answers: a 1 for the true one {times(made.hit)}, "
                f"for any other {times(made.miss)}."
            )
        case Subset():
            first = (
                f"We hear {made.chosen} of the {made.size} answers: the true one is among them {times(made.hit)}, "
                f"any other {times(made.miss)}."
            )
        case Hadamard():
            first = (
                f"We hear a number. Each answer has its own half of the numbers: ours is in the half of the true "
                f"answer {times(made.hit)}, in that of any other 50 times in 100."
            )
        case Hashing():
            first = (
                f"A function drawn at random sorts all answers into {made.values} classes. We hear the function and a "
                f"class: that of the true answer {times(made.hit)}, that of any other answer {times(made.miss)}."
            )
        case LocalMean():
            first = _number(design, made)
        case _:
            assert_never(made)
    return f"{first} One answer moves our odds by ×{factor(made.ratio)} at most."


def _number(design: DesignRecord, made: LocalMean) -> str:
    low, high = show(design.low or Fraction(0)), show(design.high or Fraction(0))
    if made.cells == 1 and made.width == 1:
        least = 1 - made.hit
        return (
            f"We hear high or low and not the number: high {times(made.hit)} if the number is {high}, {times(least)} "
            f"if it is {low}, and evenly in between."
        )
    return (
        f"We hear a place on a scale of {made.places}, not the number: {times(made.hit)} one of {made.width} around "
        "it, else any of the others."
    )


def times(chance: Fraction) -> str:
    """``75 times in 100``."""
    return f"{_bare(chance)} times in {_of(chance)}" if chance not in (0, 1) else ("never" if not chance else "always")


def _bare(chance: Fraction) -> str:
    return f"{float(chance * int(_of(chance).replace(',', ''))):.3g} in {_of(chance)}".removesuffix(
        f" in {_of(chance)}"
    )


def _of(chance: Fraction) -> str:
    return "100" if chance >= Fraction(1, 100) else "10,000"


def factor(ratio: Fraction) -> str:
    """e^epsilon to three digits, rounded up."""
    digits = max(0, 2 - (len(str(int(ratio))) - 1))
    scale = Fraction(10) ** digits
    up = -((-ratio * scale).__floor__()) / scale
    return f"{float(up):,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{int(up):,}"
