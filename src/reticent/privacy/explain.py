"""Meaning of a guarantee in words and odds.

    odds       whatever someone believed about one person, with odds o, ends between o e^-eps and o e^eps
    power      a test that errs on a share a finds at most min(e^eps a + delta, 1 - e^-eps (1 - delta - a))
    incentive  P(A) <= e^eps P'(A) + delta for any later event A; E[c] <= e^eps E'[c] + delta max c for any cost c >= 0
    group      m records that go together: the same with the loss of m steps, e^{m eps} where delta = 0

``meant`` gives these as numbers, ``meaning`` as sentences. With delta > 0 the odds hold apart from an event of
probability delta; a loss that is no (epsilon, delta) is put in words at ``convert.VIEW_DELTA``.

Conditions. Odds: what is believed about the others does not depend on that person, or they are known. Power: none, the
test may know everybody else. Incentive: the event or cost depends on that person only through what is released.

Source: 002 section 3 (odds, power), with the conditions and numbers that section omits; 001 (incentives: "if you leave
the database, no outcome will change probability by very much"). Proofs: docs/theory/meaning.md. Under add/remove the
statements are about presence, and what a record says is a removal and an addition: two steps. Under substitution they
are about what a record says; presence is not protected, since the number of people is public.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from reticent.errors import PublicParameterError
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import ONE_OF
from reticent.privacy.convert import epsilon_delta, group_loss
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, known, words
from reticent.privacy.numbers import (
    at_most,
    chance,
    one_in,
    one_in_least,
    one_in_most,
    percent,
    percent_least,
    percent_most,
    percent_up,
    show,
)

LEVEL = Fraction(1, 20)  # the share of errors that a test is allowed where its power is stated
BEYOND = Fraction(11, 10)  # how far above e^epsilon the odds are followed where delta > 0
LARGEST = 700  # the largest exponent of a factor; beyond it nothing is promised


@dataclass(frozen=True, slots=True)
class Odds:
    """A prior probability and the least and greatest posterior that ``factor`` on the odds allows."""

    prior: float
    factor: float
    low: float
    high: float


def odds(epsilon: Fraction, prior: float, *, times: int = 1) -> Odds:
    """Odds between which a belief of probability ``prior`` in (0, 1) can move at ``times`` x ``epsilon``.

    Parameters
    ----------
    epsilon : Fraction
        The epsilon of one step, >= 0.
    prior : float
        Belief before the release, in (0, 1).
    times : int
        Number of steps.

    Returns
    -------
    Odds

    Raises
    ------
    PublicParameterError
        For a prior outside (0, 1).
    """
    if not 0 < prior < 1:
        raise PublicParameterError(f"prior must lie between 0 and 1, got {prior}")
    if times * epsilon > LARGEST:
        return Odds(prior, math.inf, 0.0, 1.0)
    factor = math.exp(float(times * epsilon))
    return Odds(prior, factor, prior / (prior + (1 - prior) * factor), prior * factor / (prior * factor + 1 - prior))


def outline(tree: Guarantee) -> str:
    """The tree as the outline of a proof: each part, its loss, its theorem and the source."""
    head = f"{words(tree.loss)}-DP · neighbours: {tree.adjacency.words()}"
    return "\n".join([head, *_branches(tree, "")])


def _branches(tree: Guarantee, indent: str) -> list[str]:
    lines: list[str] = []
    for part, alike in _shown(tree):
        statement = part.by.statement if part.parts else f"{part.by.statement} ({_numbers(part)})"
        lines.append(
            f"{indent} ├ {words(part.loss):<12} {part.label or part.by.name:<28} {statement}   [{part.by.source}]"
        )
        lines += _branches(part, indent + " │")
        if alike:
            lines.append(f"{indent} │   and {alike} more like it, of the same loss and other numbers")
    if tree.parts:
        lines.append(f"{indent} └ {tree.by.statement}   [{tree.by.source}]")
    return lines


def _shown(tree: Guarantee) -> list[tuple[Guarantee, int]]:
    """The parts to show; plans of one loss and shape of which one is run stand once, with how many more there are."""
    if tree.by != ONE_OF:
        return [(part, 0) for part in tree.parts]
    first: dict[object, Guarantee] = {}
    for part in tree.parts:
        first.setdefault(_shape(part), part)
    counts = Counter(_shape(part) for part in tree.parts)
    return [(part, counts[shape] - 1) for shape, part in first.items()]


def _shape(tree: Guarantee) -> object:
    return tree.loss, tree.by, tuple(_shape(part) for part in tree.parts)


def _numbers(part: Guarantee) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in part.parameters)


@dataclass(frozen=True, slots=True)
class Promise:
    """Bounds on any attack against one secret: the shift of odds, the power of a test, the factor of a cost.

    Attributes
    ----------
    loss : Loss or None
        What the numbers follow from; None where nothing is promised.
    epsilon, delta : Fraction
        Its view; delta = 1 where nothing is promised.
    odds : Odds
        From a stated prior; apart from an event of probability ``delta``.
    level : Fraction
        A test may err on at most this share of those for whom it should say no.
    """

    loss: Loss | None
    epsilon: Fraction
    delta: Fraction
    odds: Odds
    level: Fraction

    @property
    def power(self) -> Fraction:
        """The largest share a test finds of those for whom it should say yes, rounded up."""
        if self.loss is None or self.epsilon > LARGEST:
            return Fraction(1)
        from reticent.privacy import profiles

        return profiles.power(self.loss, self.level)

    @property
    def factor(self) -> float:
        """e^epsilon: the most by which odds, chances and expected costs grow (delta apart); infinite for delta = 1."""
        return self.odds.factor

    @property
    def beyond(self) -> tuple[float, Fraction]:
        """A factor a tenth larger, and the chance, seen from outside, that odds move further towards the truth."""
        return float(BEYOND) * self.factor, min(Fraction(1), self.delta / (1 - 1 / BEYOND))

    def chance(self, before: float) -> float:
        """The most probable that an event of probability ``before`` in [0, 1] becomes."""
        if not 0 <= before <= 1:
            raise PublicParameterError(f"a probability lies between 0 and 1, got {before}")
        return min(1.0, self.cost(before, 1.0))

    def cost(self, expected: float, largest: float | None = None) -> float:
        """The most that an expected cost >= 0 becomes; with delta > 0 the ``largest`` possible cost must be known."""
        if not expected >= 0 or (largest is not None and not largest >= expected):
            raise PublicParameterError("a cost is at least 0, and the largest at least the expected one")
        if self.delta and largest is None:
            raise PublicParameterError("with δ > 0 the bound needs the largest possible cost: name largest=")
        bound = self.factor * expected if expected else 0.0
        return bound if largest is None else min(bound + float(self.delta) * largest, largest)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A guarantee as numbers for people. Words: ``lines``.

    Attributes
    ----------
    loss, adjacency
        Of the guarantee.
    presence : Promise or None
        About whether one unit is in the file: under add/remove only.
    record : Promise
        About what the records of one unit say: two steps under add/remove, one else.
    members, together : int, Promise
        About that many units whose records go together.
    spent, budget : (Loss, Promise) or None
        About one unit (``own``), after everything so far, and if the whole budget is spent.
    """

    loss: Loss
    adjacency: Adjacency
    presence: Promise | None
    record: Promise
    members: int
    together: Promise
    spent: tuple[Loss, Promise] | None = None
    budget: tuple[Loss, Promise] | None = None

    @property
    def own(self) -> Promise:
        """The promise one step gives: about presence under add/remove, else about the record."""
        return self.presence or self.record

    def lines(self) -> tuple[str, ...]:
        """The sentences, one each."""
        if self.own.delta >= 1:
            return _protected(self.adjacency), NOTHING, NOT_PROMISED
        return (_protected(self.adjacency), *_promised(self), *_tested(self), _later(self), _others(self), NOT_PROMISED)


def promise(loss: Loss, *, steps: int = 1, prior: float = 0.1, level: Fraction = LEVEL) -> Promise:
    """Promise of ``loss`` against neighbours ``steps`` apart.

    Parameters
    ----------
    loss : Loss
        Loss for neighbours one step apart.
    steps : int
        Number of steps, such as the members of a group; >= 1.
    prior : float
        Belief before the release, in (0, 1).
    level : Fraction
        Share of errors that a test of the two cases is allowed, in (0, 1).

    Returns
    -------
    Promise
        Loss, epsilon and delta at that distance, with the odds; no bound where the loss gives none.

    Raises
    ------
    PublicParameterError
        ``level`` or ``steps`` out of its range.
    """
    if not 0 < level < 1:
        raise PublicParameterError(f"level must lie between 0 and 1, got {level}")
    if steps < 1:
        raise PublicParameterError(f"a group has at least one member, got {steps}")
    apart = _steps_apart(known(loss), steps)
    if apart is None:
        nothing = replace(odds(Fraction(0), prior), factor=math.inf, low=0.0, high=1.0)
        return Promise(None, steps * epsilon_delta(loss)[0], Fraction(1), nothing, level)
    epsilon, delta = epsilon_delta(apart)
    return Promise(apart, epsilon, delta, odds(epsilon, prior), level)


def _steps_apart(loss: Loss, steps: int) -> Loss | None:
    """The loss of a group: by its own theorem where there is one, else by that of its (epsilon, delta).

    None where nothing is promised.
    """
    epsilon, delta = epsilon_delta(loss)
    if delta >= 1 or (steps > 1 and delta and steps * epsilon > LARGEST):
        return None
    if steps == 1:
        return loss
    for each in (loss, ApproxDP(epsilon, delta)):
        try:
            return group_loss(each, steps)
        except PublicParameterError:  # no theorem of its own; or delta would reach 1
            continue
    return None


def meant(
    loss: Loss,
    adjacency: Adjacency,
    *,
    prior: float = 0.1,
    level: Fraction = LEVEL,
    members: int = 3,
    spent: Loss | None = None,
    budget: Loss | None = None,
) -> Meaning:
    """The guarantee in numbers.

    Parameters
    ----------
    loss, adjacency
        Of what was released.
    prior : float
        What somebody believed before, in (0, 1).
    level : Fraction
        The share of errors a test is allowed, in (0, 1).
    members : int
        The size of a group whose records go together, >= 1.
    spent, budget : Loss, optional
        Of everything released about the same people so far, and approved in all.

    Returns
    -------
    Meaning
    """

    def against(what: Loss, steps: int) -> Promise:
        return promise(what, steps=steps, prior=prior, level=level)

    one = against(loss, 1)
    hides_presence = adjacency.kind == "add_remove"
    return Meaning(
        loss,
        adjacency,
        one if hides_presence else None,
        against(loss, 2) if hides_presence else one,
        members,
        against(loss, members),
        None if spent is None else (spent, against(spent, 1)),
        None if budget is None else (budget, against(budget, 1)),
    )


def meaning(
    loss: Loss, adjacency: Adjacency, *, prior: float = 0.1, spent: Loss | None = None, budget: Loss | None = None
) -> tuple[str, ...]:
    """Explain a guarantee in sentences, for a person who believed with probability ``prior``.

    Parameters
    ----------
    loss : Loss
        Loss of the release.
    adjacency : Adjacency
        Neighbours that the loss is about.
    prior : float
        Belief before the release, in (0, 1).
    spent, budget : Loss, optional
        Loss of all releases so far, and the whole budget; each adds a sentence.

    Returns
    -------
    tuple of str
        One sentence each.
    """
    return meant(loss, adjacency, prior=prior, spent=spent, budget=budget).lines()


NOT_PROMISED = (
    "What is not promised: that nothing can be learned about people like you. If the study finds smokers fall ill, "
    "that holds with or without you."
)


NOTHING = "What is promised: nothing. The failure chances of the parts add up to 1."


def _protected(adjacency: Adjacency) -> str:
    rows = "one row each" if adjacency.rows == 1 else f"at most {adjacency.rows} rows each"
    return f"Who is protected: one {adjacency.who} ({rows})."


def _promised(told: Meaning) -> list[str]:
    own, prior = told.own, percent(told.own.odds.prior)
    failure = "" if own.delta == 0 else f", apart from a failure chance of {chance(own.delta)}"
    condition = "(if what they believe about the others does not depend on you)"
    moved = (
        f"change the odds by a factor of at most {at_most(own.factor)}. From {prior} to no more than "
        f"{percent_most(own.odds.high)} and no less than {percent_least(own.odds.low)}{failure}."
    )
    match told.adjacency.kind:
        case "add_remove":
            record = told.record
            lines = [
                f"What is promised: whatever someone believed about whether you are in the file {condition}, "
                f"everything in this release lets them {moved}",
                f"Against a guess about your answer rather than your presence: {_said(record)}; "
                f"{prior} to at most {percent_most(record.odds.high)}.",
            ]
        case "substitute":
            lines = [
                f"What is promised: whatever someone believed about what your record says {condition}, everything in "
                f"this release lets them {moved}",
                "Whether you are in the file is not hidden: the number of people is public.",
            ]
        case "local":
            lines = [
                f"What is promised: whatever someone believed about your truth, your answer lets them {moved}",
            ]
        case _:
            assert_never(told.adjacency.kind)
    if own.delta:
        factor, rare = own.beyond
        lines.append(
            "Nobody sees that failure happen. By what is published, the odds move towards the truth by a factor above "
            f"{at_most(factor)} with a chance of at most {chance(rare)}."
        )
    return lines


def _tested(told: Meaning) -> list[str]:
    own = told.own
    errs, finds = percent_up(own.level), percent_up(own.power)
    match told.adjacency.kind:
        case "add_remove":
            said = (
                "A test may try to tell whether you are in the file, knowing all other records. If it errs on at most "
                f"{errs} of those who are not, it finds at most {finds} of those who are. A test of what your record "
                f"says: {percent_up(told.record.power)}."
            )
        case "substitute":
            said = (
                "A test may try to tell which of two things your record says, knowing all other records. If it errs on "
                f"at most {errs} of those with the one, it finds at most {finds} of those with the other."
            )
        case "local":
            said = (
                f"A test may try to tell which of two things your truth is. If it errs on at most {errs} of those with "
                f"the one, it finds at most {finds} of those with the other."
            )
        case _:
            assert_never(told.adjacency.kind)
    return [said]


def _later(told: Meaning) -> str:
    own = told.own
    match told.adjacency.kind:
        case "add_remove":
            asked, change = "Should you take part?", "taking part"
        case "substitute":
            asked, change = "Should you answer truthfully?", "what your record says"
        case "local":
            asked, change = "Should you answer truthfully?", "your truth"
        case _:
            assert_never(told.adjacency.kind)
    more = "" if own.delta == 0 else f", plus {chance(own.delta)} of the largest possible cost"
    return (
        f"{asked} For anything that may happen later and depends on you only through this release, {change} multiplies "
        f"its chance, and any expected cost, by at most {at_most(own.factor)}{more}."
    )


def _others(told: Meaning) -> str:
    several = {2: "two", 3: "three", 4: "four", 5: "five"}.get(told.members, str(told.members))
    family = f"A family of {several}, or {several} people whose records go together: {_said(told.together)}."
    so_far = in_all = ""
    if told.spent is not None:
        loss, after = told.spent
        so_far = (
            f" With everything this study had released by the time of this release ({words(loss)}): {_factor(after)}."
        )
    if told.budget is not None:
        loss, after = told.budget
        in_all = f" If all of {words(loss)} is spent: {_factor(after)}."
    return family + so_far + in_all


def _said(kept: Promise) -> str:
    if kept.delta >= 1:
        return "nothing is promised"
    return f"factor {_factor(kept)}" + (f", failure chance {chance(kept.delta)}" if kept.delta else "")


def _factor(kept: Promise) -> str:
    return at_most(kept.factor) if kept.delta < 1 else "no limit"


def sentence(loss: Loss, adjacency: Adjacency, prior: float = 0.1) -> str:
    """Summarise a release in one line: the loss, the neighbours and the odds.

    Parameters
    ----------
    loss : Loss
        Loss of the release.
    adjacency : Adjacency
        Neighbours that the loss is about.
    prior : float
        Belief before the release, in (0, 1).

    Returns
    -------
    str
        The line.
    """
    epsilon, _ = epsilon_delta(loss)
    seen = odds(epsilon, prior)
    before = f"{100 * prior:.4g} % likely"
    return _line(loss, adjacency, before, percent_least(seen.low), percent_most(seen.high))


def former_sentence(loss: Loss, adjacency: Adjacency) -> str:
    """The line as files of 0.1.0 have it: each chance in a form of its own."""
    seen = odds(epsilon_delta(loss)[0], 0.1)
    return _line(loss, adjacency, one_in(0.1), one_in_least(seen.low), one_in_most(seen.high))


def _line(loss: Loss, adjacency: Adjacency, before: str, least: str, most: str) -> str:
    delta = epsilon_delta(loss)[1]
    believed = "that you took part" if adjacency.kind == "add_remove" else "about your record"
    failure = "" if delta == 0 else f" (apart from a failure chance of {chance(delta)})"
    return (
        f"{words(loss)}, {adjacency.words()}. Someone who thought it {before} {believed} could end between "
        f"{least} and {most}{failure}."
    )


def as_data(loss: Loss, adjacency: Adjacency) -> dict[str, object]:
    """The guarantee for a program, with its sentence: numbers as text, rho null where the loss is in epsilon."""
    rho: Fraction | None = None
    epsilon: Fraction | None = None
    match loss:
        case ZCDP(rho):
            delta = Fraction(0)
        case ApproxZCDP(rho, delta):
            pass
        case _:
            epsilon, delta = epsilon_delta(loss)
    return {
        "words": sentence(loss, adjacency),
        "epsilon": None if epsilon is None else show(epsilon),
        "delta": show(delta),
        "rho": None if rho is None else show(rho),
        "adjacency": adjacency.kind,
        "unit": adjacency.who,
        "rows": adjacency.rows,
    }
