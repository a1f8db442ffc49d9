"""Several questions to one respondent: one budget, split and composed.

Each answer is randomized with coins of its own, so the losses add (``in_sequence``) whatever the answers have to do
with each other. Designs with fixed coins cost what they cost; the others share the rest equally.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_down
from reticent.mechanisms import OneSided
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import Number, about_up, show
from reticent.survey.design import Design, Truth, canonical
from reticent.survey.make import at, within

FIXED = ("two_coins", "forced", "unrelated", "one_sided")


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Designs that one respondent answers, in order. Make one with ``survey.several``."""

    designs: tuple[Design, ...]

    def __post_init__(self) -> None:
        if len(self.designs) < 2:
            raise PublicParameterError("a questionnaire has at least two questions")
        if len({design.question for design in self.designs}) != len(self.designs):
            raise PublicParameterError("every question is asked once: a second answer to it is a second wave")

    @property
    def guarantee(self) -> Guarantee:
        """What all answers of one respondent tell together: the losses add."""
        return in_sequence([design.guarantee for design in self.designs])

    @property
    def fingerprint(self) -> str:
        """sha256 over all designs, in order."""
        return hashlib.sha256(json.dumps([canonical(design) for design in self.designs]).encode()).hexdigest()

    @property
    def code(self) -> str:
        """The first 12 places of ``fingerprint``, to travel with each set of answers."""
        return self.fingerprint[:12]

    def randomize(self, truths: Mapping[str, Truth]) -> dict[str, str]:
        """One token for each question; all truths are checked before a coin is tossed, so nothing is sent by halves."""
        if truths.keys() != {design.question for design in self.designs}:
            raise PublicParameterError("one truth for each question, by its text. Nothing was sent.")
        from reticent.survey import device

        for design in self.designs:
            device.check(design, truths[design.question])
        return {design.question: design.randomize(truths[design.question]) for design in self.designs}

    def say(self) -> str:
        """Every question's coins, and what all answers tell together."""
        lines = [f"{number}. {design.question}\n   {design.say()}" for number, design in enumerate(self.designs, 1)]
        loss = self.guarantee.loss
        total = f"ε {about_up(loss.epsilon)}" if isinstance(loss, PureDP) else "no finite ε"
        return "\n".join([*lines, f"All answers together: {total}."])

    def form(
        self, path: str | Path, post: str | None = None, *, ask: Mapping[str, Sequence[str]] | None = None
    ) -> Path:
        """Write a page that asks all questions and draws in the browser: ``reticent.survey.form``."""
        from reticent.survey import form

        return form.form(self, path, post, ask=ask)

    def save(self, path: str | Path) -> Path:
        """Write a new ``*.survey.toml`` file, with a fingerprint over all questions."""
        from reticent.survey import store

        return store.save(self, Path(path))


def several(designs: Sequence[Design], epsilon: Number) -> Questionnaire:
    """The questions with ``epsilon``, above 0 and at most 10, shared among them.

    Parameters
    ----------
    designs : sequence of Design
        What each is asked with; those without fixed coins are made anew at their share.

    Returns
    -------
    Questionnaire
        Its ``guarantee`` composes the parts; the total is at most ``epsilon``.

    Raises
    ------
    PublicParameterError
        Where the fixed coins alone cost more, and for a one-sided design, which has no epsilon.
    """
    total = within(epsilon)
    spent = Fraction(0)
    free = 0
    for design in designs:
        if isinstance(design.mechanism, OneSided):
            raise PublicParameterError("a one-sided design has no ε to be shared: ask it by itself")
        if design.method in FIXED and isinstance(design.guarantee.loss, PureDP):
            spent += design.guarantee.loss.epsilon
        else:
            free += 1
    if spent > total or (free and spent == total):
        raise PublicParameterError(
            f"the fixed coins cost ε {about_up(spent)} of {show(total)}: nothing is left for the others"
        )
    share = round_down((total - spent) / free) if free else Fraction(0)
    return Questionnaire(tuple(design if design.method in FIXED else at(design, share) for design in designs))
