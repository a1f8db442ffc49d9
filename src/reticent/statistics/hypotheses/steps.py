"""From a test as asked and its setting to a step. No row is read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from reticent.errors import QuestionError
from reticent.statistics.hypotheses.asked import HypothesisTest
from reticent.statistics.setting import Setting

if TYPE_CHECKING:
    from reticent.statistics.setting import Step


def test(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers a test for exactly ``epsilon``."""
    raise QuestionError(f"{asked.name} is not answered. Nothing was charged.")
