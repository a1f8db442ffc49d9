"""Asking the same person again: one permanent answer for each truth, so that nothing is learnt by averaging.

Fresh coins at every wave cost one epsilon each, and the average of many answers tells the truth. A device that keeps
its answer to each truth, and repeats it while that truth lasts, costs one answer however many waves there are. When the
truth changes the device draws another permanent answer: k changes cost at most k + 1 answers.

What is promised (docs/proofs/local.md, 5): two histories that change at the same waves are hidden at the cost of
min(k + 1, number of answers) draws. *That* somebody's truth changed is not hidden: an answer that changes shows it, and
one that never changes suggests that it did not. ``fresh`` hides that too, at one epsilon a wave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reticent.entropy import Entropy, system
from reticent.errors import PublicParameterError, door
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.survey import device
from reticent.survey.design_record import DesignRecord, Truth

LARGEST = 10_000  # waves


@dataclass(slots=True, repr=False)
class Memory:
    """Memory of one respondent's device: a permanent answer for each truth it has had. It never leaves the device.

    Parameters
    ----------
    design : DesignRecord
    entropy : Entropy
        The operating system's generator, unless a test replays.
    """

    design: DesignRecord
    entropy: Entropy = field(default_factory=system)
    _kept: dict[Truth, str] = field(default_factory=dict)

    def answer(self, truth: Truth) -> str:
        """The token to send at this wave: the permanent answer to this truth, drawn when it is first needed."""
        device.check(self.design, truth)
        key = truth if self.design.among else device.number(truth)  # 5 and "5.0" are one number, drawn once
        if key not in self._kept:
            self._kept[key] = device.one(self.design, truth, self.entropy)
        return self._kept[key]

    @property
    def drawn(self) -> int:
        """Number of permanent answers so far: this respondent's expense, in answers."""
        return len(self._kept)

    def __repr__(self) -> str:
        return "<Memory>"  # not what it holds


@door
def permanent(design: DesignRecord, changes: int) -> Guarantee:
    """Guarantee of all waves for a respondent whose truth changed at most ``changes`` times.

    Neighbours are histories that change at the same waves, and return to an earlier truth at the same waves.

    Returns
    -------
    Guarantee
        ``changes`` + 1 answers in sequence, or as many as there are answers to choose from if that is less.
    """
    draws = _waves(changes, "changes", 0) + 1
    if design.among:
        draws = min(draws, len(design.among))
    part = design.guarantee
    return part if draws == 1 else in_sequence([part] * draws, label="histories that change at the same waves")


@door
def fresh(design: DesignRecord, waves: int) -> Guarantee:
    """Guarantee of ``waves`` answers with fresh coins: any history of truths against any other."""
    _waves(waves, "waves", 1)
    return design.guarantee if waves == 1 else in_sequence([design.guarantee] * waves)


def changed(history: Sequence[str]) -> int:
    """Number of changes in a history of truths; ``permanent`` takes it, on the device that knows it."""
    return sum(before != after for before, after in pairwise(history))


def _waves(number: int, name: str, least: int) -> int:
    if type(number) is not int or not least <= number <= LARGEST:
        raise PublicParameterError(f"{name} must be an int in {least}..{LARGEST}, got {number}")
    return number
