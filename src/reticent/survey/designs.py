"""Makers of designs: coins that people know by name, the best mechanism for k answers or for a number, and files.

Epsilon lies above 0 and is at most 10: beyond that one answer moves odds by a factor of 22,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

from reticent.errors import PublicParameterError, door
from reticent.exact.rounding import round_down
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import Number, about_up, show
from reticent.privacy.numbers import read as number
from reticent.survey import design_file
from reticent.survey.design import Design
from reticent.survey.design_record import YES_NO, DesignRecord, check_among
from reticent.survey.methods import (
    FIXED,
    Choice,
    Mean,
    at,
    best,
    frequency,
    limited,
    scale,
    statement,
    statements,
    within,
)
from reticent.survey.questionnaire import Questionnaire


@door
def two_coins(question: str) -> Design:
    """Two fair coins: tails, the truth; heads, a second coin says yes or no. e^epsilon = 3.

    Source: Warner 1965; 001.
    """
    return Design(question, "two_coins", YES_NO, RandomizedResponse(Fraction(1, 2), Fraction(1, 2)))


@door
def forced(question: str, *, truth: Number, yes: Number) -> Design:
    """Design of forced answers: the truth with probability ``truth``, else yes with probability ``yes``.

    Parameters
    ----------
    question : str
        The text that people are asked.
    truth, yes : number
        Probabilities, strictly between 0 and 1.

    Returns
    -------
    Design
        With answers yes and no.

    Raises
    ------
    PublicParameterError
        For ``yes`` = 1 or 0, which protects one answer only (``one_sided``), and where epsilon would pass 10.
    """
    if number(yes, "yes") in (0, 1):
        raise PublicParameterError(
            "a forced answer that is always the same protects one truth only: no finite ε holds. Its true guarantee "
            "is (0, truth); ask for it by name: survey.one_sided(question, truth=…)"
        )
    return limited(Design(question, "forced", YES_NO, RandomizedResponse(number(truth, "truth"), number(yes, "yes"))))


@door
def warner(question: str, *, epsilon: Number | None = None, truth: Number | None = None) -> Design:
    """Design of Warner: the respondent answers the statement with probability ``truth``, else its opposite.

    Source: Warner 1965: epsilon = ln(truth / (1 - truth)), the least variance of all yes-no designs of that epsilon.

    Parameters
    ----------
    question : str
        The statement.
    epsilon : number, optional
        Above 0, at most 10; either this or ``truth``.
    truth : number, optional
        Probability of the statement, strictly between 1/2 and 1.

    Returns
    -------
    Design
        With answers yes and no.

    Raises
    ------
    PublicParameterError
        Both or neither of the two, or one out of its range.
    """
    if (epsilon is None) == (truth is None):
        raise PublicParameterError("name epsilon= or truth=, one of them")
    if epsilon is not None:
        chance = statement(within(epsilon))
    else:
        chance = number(truth if truth is not None else 0, "truth")
    return limited(Design(question, "warner", YES_NO, statements(chance)))


@door
def unrelated(question: str, *, other_share: Number, truth: Number) -> Design:
    """Design of an unrelated question, which is asked instead with probability 1 - ``truth``.

    Source: Greenberg and others 1969, with a known share.

    Parameters
    ----------
    question : str
        The sensitive question.
    other_share : number
        Probability of yes to the innocent question, strictly between 0 and 1. It must be a coin's: a fact about the
        respondent that somebody can look up (a birthday) hides nothing from that somebody.
    truth : number
        Probability of the sensitive question, strictly between 0 and 1.

    Returns
    -------
    Design
        With answers yes and no.

    Raises
    ------
    PublicParameterError
        A probability out of its range, or an epsilon above 10.
    """
    made = RandomizedResponse(number(truth, "truth"), number(other_share, "other_share"))
    return limited(Design(question, "unrelated", YES_NO, made))


@door
def one_sided(question: str, *, truth: Number) -> Design:
    """The truth with probability ``truth``, else yes. (0, truth)-differentially private, for no epsilon with delta 0.

    Who says no has told the truth, and everybody knows. Source: 002 section 2, corrected.
    """
    return Design(question, "one_sided", YES_NO, OneSided(number(truth, "truth")))


@door
def choice(
    question: str, among: Sequence[str], *, epsilon: Number, method: Choice | Literal["auto"] = "auto"
) -> Design:
    """Design of a question with one of several answers.

    Parameters
    ----------
    question : str
        The text that people are asked.
    among : sequence of str
        2 or more; 4,096 at most for unary and subset, 65,536 for kary, 4 million for hadamard and hashing.
    epsilon : number
        Above 0, at most 10.
    method : str
        "auto" takes what ``best`` names.

    Returns
    -------
    Design
        Pure local epsilon.

    Raises
    ------
    PublicParameterError
        Too few or too many answers, or one twice; an epsilon out of its range.
    """
    answers = tuple(among)
    check_among(answers)
    if not answers:
        raise PublicParameterError("name at least two answers")
    limit = within(epsilon)
    chosen = best(len(answers), limit).method if method == "auto" else method
    return Design(question, chosen, answers, frequency(chosen, len(answers), limit))


@door
def mean(
    question: str, low: Number, high: Number, *, epsilon: Number, method: Mean | Literal["auto"] = "auto"
) -> Design:
    """Design of a question about a number between public bounds, for the mean of all.

    Parameters
    ----------
    question : str
        The text that people are asked.
    low, high : number
        Bounds in the unit of the question, ``low`` < ``high``.
    epsilon : number
        Above 0, at most 10.
    method : str
        "duchi" says one of two numbers, "piecewise" one of many; "auto" takes the one with the smaller worst variance:
        duchi up to an epsilon of about 1.18.

    Returns
    -------
    Design
        Pure local epsilon.

    Raises
    ------
    PublicParameterError
        ``low`` not below ``high``, or an epsilon out of its range.
    """
    bottom, top, limit = number(low, "low"), number(high, "high"), within(epsilon)
    if bottom >= top:
        raise PublicParameterError(f"low must be below high, got {show(bottom)} and {show(top)}")
    chosen, made = scale(top - bottom, limit, method)
    return Design(question, chosen, (), made, bottom, top)


@door
def several(designs: Sequence[Design], epsilon: Number) -> Questionnaire:
    """The questions with ``epsilon``, above 0 and at most 10, shared among them.

    Designs with fixed coins cost what they cost; the others share the rest equally.

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


@door
def read(path: str | Path) -> Design | Questionnaire:
    """The design, or the questionnaire, that ``save`` wrote.

    Raises
    ------
    SpecError
        Where there is no such file, or it was edited: its content does not have its fingerprint.
    """
    found = design_file.read(path)
    if isinstance(found, DesignRecord):
        return _held(found)
    return Questionnaire(tuple(_held(one) for one in found.designs))


def _held(found: DesignRecord) -> Design:
    """The design with the fields of a value."""
    return Design(found.question, found.method, found.among, found.mechanism, found.low, found.high)
