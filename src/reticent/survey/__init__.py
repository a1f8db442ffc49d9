"""Surveys in the local model: the coin is flipped on the respondent's side, and nobody has to be trusted.

    from reticent import survey

    design = survey.two_coins("Have you had an affair while married?")
    design.say()                       what a respondent should know
    design.randomize("yes")            what the device runs; only its outcome is sent
    design.simulate(2000)              2,000 made-up people: ± 4.2 points, asked openly ± 2.0 points; ...
    design.estimate(answers)           31.7 % (95 % 29.3 to 34.2), design effect 4.4

A ``Design`` is one question with its mechanism; a ``Questionnaire`` several with one budget. The mathematics is in
docs/theory/local.md.
"""

from __future__ import annotations

from reticent.survey.design import Design
from reticent.survey.design_record import Mechanism, Method
from reticent.survey.designs import choice, forced, mean, one_sided, read, several, two_coins, unrelated, warner
from reticent.survey.heavy_hitters import Hitters, heavy
from reticent.survey.memoization import Memory, fresh, permanent
from reticent.survey.methods import Advice, best
from reticent.survey.questionnaire import Questionnaire
from reticent.survey.regression import Fit, logistic
from reticent.survey.rehearsal import SurveyRehearsal
from reticent.survey.result import Result, Share

__all__ = [
    "Advice",
    "Design",
    "Fit",
    "Hitters",
    "Mechanism",
    "Memory",
    "Method",
    "Questionnaire",
    "Result",
    "Share",
    "SurveyRehearsal",
    "best",
    "choice",
    "forced",
    "fresh",
    "heavy",
    "logistic",
    "mean",
    "one_sided",
    "permanent",
    "read",
    "several",
    "two_coins",
    "unrelated",
    "warner",
]
