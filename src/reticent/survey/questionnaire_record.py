"""The value of a questionnaire: several designs for one respondent, and the sum of their losses.

Each answer is randomized with coins of its own, so the losses add (``in_sequence``) whatever the answers have to do
with each other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import about_up
from reticent.survey import description, device
from reticent.survey.design_record import DesignRecord, Truth, canonical


@dataclass(frozen=True, slots=True)
class QuestionnaireRecord:
    """Designs that one respondent answers, in order; ``survey.Questionnaire`` has its methods."""

    designs: tuple[DesignRecord, ...]

    def __post_init__(self) -> None:
        if len(self.designs) < 2:
            raise PublicParameterError("a questionnaire has at least two questions")
        if len({design.question for design in self.designs}) != len(self.designs):
            raise PublicParameterError("every question is asked once: a second answer to it is a second wave")

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all answers of one respondent together: the losses add."""
        return in_sequence([design.guarantee for design in self.designs])

    @property
    def fingerprint(self) -> str:
        """sha256 over all designs, in order."""
        return hashlib.sha256(json.dumps([canonical(design) for design in self.designs]).encode()).hexdigest()

    @property
    def code(self) -> str:
        """The first 12 places of ``fingerprint``, to travel with each set of answers."""
        return self.fingerprint[:12]


def randomize(questions: QuestionnaireRecord, truths: Mapping[str, Truth], entropy: Entropy) -> dict[str, str]:
    """See ``survey.Questionnaire.randomize``.

    Parameters
    ----------
    questions : QuestionnaireRecord
    truths : mapping of question to truth
    entropy : Entropy

    Returns
    -------
    dict of question to token

    Raises
    ------
    PublicParameterError
        Unless there is one truth for each question; nothing was drawn.
    """
    if truths.keys() != {design.question for design in questions.designs}:
        raise PublicParameterError("one truth for each question, by its text. Nothing was sent.")
    for design in questions.designs:
        device.check(design, truths[design.question])
    return {design.question: device.one(design, truths[design.question], entropy) for design in questions.designs}


def say(questions: QuestionnaireRecord) -> str:
    """See ``survey.Questionnaire.say``."""
    lines = [
        f"{number}. {design.question}\n   {description.say(design)}"
        for number, design in enumerate(questions.designs, 1)
    ]
    loss = questions.guarantee.loss
    total = f"ε {about_up(loss.epsilon)}" if isinstance(loss, PureDP) else "no finite ε"
    return "\n".join([*lines, f"All answers together: {total}."])
