"""Cost of a release: the most it may spend, read and checked once at the door.

    int, text, Decimal, float  --Cost.read-->  Cost(epsilon, rho, delta, override)  -->  shares, steps, ledger

Below ``Cost.read`` every number is a ``Fraction``: nothing reads it again, and a range is checked by comparison. The
guarantee of a release is derived from its steps; ``Cost.admit`` compares the derived loss with the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.errors import PublicParameterError, SpecError
from reticent.exact.rounding import exp_up, round_down
from reticent.privacy.loss import ZCDP, Loss, PureDP
from reticent.privacy.numbers import Number, about, in_powers, positive, read, show

MOST_EPSILON: Final = 10
DIGITS: Final = 12  # of the delta of one step
UNNAMED: Final = "no epsilon was named"  # of a fit: its price is a default
NO_TOTAL: Final = 'Say what the release may cost: epsilon="1".'
Written: TypeAlias = tuple[Number | None, Number | None, Number | None]  # epsilon, rho and delta of a caller

OF_RELEASE: Final = (
    'Above 10 a release needs a reason, which the certificate prints: record=rt.Record(override="…"), and override="…" '
    "of a plan."
)
OF_LISTED: Final = (  # of a study file
    'Above 10 a release needs a reason, which the certificate prints: override = "…" in its [[release]].'
)
OF_BUDGET: Final = (
    'Above 10 a budget needs a reason, which certificates print: override = "…" in [budget]. A budget is the total of '
    "all releases: one of 10 pays for ten releases of ε 1."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The most a release may spend: epsilon, or rho with the delta its conversion is named at.

    Attributes
    ----------
    epsilon, rho : Fraction, optional
        The total, > 0; at most one of them. Without either the questions name their own epsilon.
    delta : Fraction, optional
        Above 0 and below 1. What a release spends of it is below 1 / (10 people) too (``refuse_exposure``).
    override : str
        The reason for an epsilon above 10.

    Raises
    ------
    PublicParameterError
        Both epsilon and rho; a number that is no exact rational above 0.
    SpecError
        Epsilon above 10 without a reason.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    override: str = ""

    def __post_init__(self) -> None:
        _one_total(self.epsilon, self.rho)
        for name, number in (("epsilon", self.epsilon), ("rho", self.rho), ("delta", self.delta)):
            if number is not None:
                positive(number, name)
        if self.delta is not None and self.delta >= 1:
            raise PublicParameterError(f"delta must be below 1, got {about(self.delta)}")
        if self.epsilon is not None:
            refuse_weak(self.epsilon, self.override)

    @classmethod
    def read(
        cls,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        override: str = "",
    ) -> Cost:
        """Read the cost that a caller wrote, exactly.

        Parameters
        ----------
        epsilon, rho : number, optional
            The total, > 0; at most one of them.
        delta : number, optional
            > 0.
        override : str
            The reason for an epsilon above 10.

        Returns
        -------
        Cost
            With exact fractions.

        Raises
        ------
        PublicParameterError, SpecError
            What ``numbers.read`` and ``Cost`` refuse, before any row is read.
        """
        _one_total(epsilon, rho)
        numbers = (_given(epsilon, "epsilon"), _given(rho, "rho"), _given(delta, "delta"))
        return cls(*numbers, override)

    def times(self, factor: int) -> Cost:
        """The cost at so many times the epsilon, or the rho that this is worth."""
        epsilon = None if self.epsilon is None else self.epsilon * factor
        return Cost(epsilon, None if self.rho is None else self.rho * factor**2, self.delta, self.override)

    def of_one_step(self, steps: int) -> Cost:
        """The cost of one step, which ``convert.group_loss`` lifts to ``steps`` steps at this cost at most.

        Raises
        ------
        PublicParameterError
            For a delta that no digits are left of.
        """
        if steps == 1:
            return self
        if self.rho is not None:
            return replace(self, rho=self.rho / steps**2)
        assert self.epsilon is not None
        epsilon, delta = self.epsilon / steps, self.delta
        if delta is not None:
            delta = round_down(delta / (steps * exp_up((steps - 1) * epsilon)), DIGITS)
            if delta <= 0:
                raise PublicParameterError("delta is too small to be shared by the steps of one person")
        return replace(self, epsilon=epsilon, delta=delta)

    def admit(self, loss: Loss, epsilon: Fraction) -> None:
        """Refuse a derived loss that the caller did not agree to; ``epsilon`` is its own (``convert.epsilon_delta``).

        Raises
        ------
        SpecError
            The questions' own epsilons, or a conversion of rho, come to more than epsilon 10 without a reason.
        AssertionError
            The derived loss is above the limit: a fault of ours, found before the charge.
        """
        match loss:
            case PureDP(total) if self.epsilon is not None and total > self.epsilon:
                raise AssertionError("derived loss above the limit")
            case ZCDP(total) if self.rho is not None and total > self.rho:
                raise AssertionError("derived loss above the limit")
            case _:
                refuse_weak(epsilon, self.override)


def refuse_weak(epsilon: Fraction, override: str, helps: str = OF_RELEASE) -> None:
    """Refuse a loss that protects no one, unless a reason is given.

    Parameters
    ----------
    epsilon : Fraction
    override : str
        The reason; empty where none is given.
    helps : str
        The sentences that tell where a reason is given.

    Raises
    ------
    SpecError
        Above 10 without a reason.
    """
    if epsilon > MOST_EPSILON and not override:
        power = math.floor(Fraction(epsilon) * Fraction(4342944819, 10**10))
        factor = "a number of more than a million digits"
        if power < 10**6:
            leading = round(math.exp(float(epsilon - Fraction(23025850930, 10**10) * power)))
            leading, power = (1, power + 1) if leading == 10 else (leading, power)
            factor = in_powers(f"{leading}e{power}")
        raise SpecError(f"ε {about(epsilon)} lets odds change by {factor}: this protects no one. {helps}")


def shares(own: Sequence[Fraction | None], within: Cost, free: Sequence[bool]) -> tuple[Fraction, ...]:
    """Amount of each question, an epsilon or a rho as ``within``: its own, or an equal part of the rest.

    Parameters
    ----------
    own : sequence of Fraction or None
        The amount that a question has of its own.
    within : Cost
        The price of the whole release.
    free : sequence of bool
        True for a question that takes no share.

    Returns
    -------
    tuple of Fraction
        An epsilon, or a rho, for each question.

    Raises
    ------
    PublicParameterError
        Questions without an amount where there is no total; own amounts that leave the others nothing.
    """
    if all(free):
        return tuple(Fraction(1) for _ in own)
    if any(free):
        paid = [amount for amount, costs_nothing in zip(own, free, strict=True) if not costs_nothing]
        rest = iter(shares(paid, within, [False] * len(paid)))
        return tuple(Fraction(1) if costs_nothing else next(rest) for costs_nothing in free)
    unit, total = ("ε", within.epsilon) if within.rho is None else ("ρ", within.rho)
    named = sum((amount for amount in own if amount is not None), Fraction(0))
    open_ones = own.count(None)
    if total is None and not open_ones:
        total = named
    if total is None:
        raise PublicParameterError(NO_TOTAL)
    if named > total or (named == total and open_ones):
        raise PublicParameterError(
            f"answers with an ε or a width of their own need {unit} {about(named)}, which leaves nothing of "
            f"{unit} {show(total)} for the others. Nothing was charged."
            if open_ones
            else f"answers with an ε or a width of their own need {unit} {about(named)}, and the release has {unit} "
            f"{show(total)}. Nothing was charged."
        )
    return tuple((total - named) / open_ones if amount is None else amount for amount in own)


def refuse_exposure(delta: Fraction, people: int | None) -> None:
    """Refuse a delta that lets people be exposed outright, where the number of people is public.

    Raises
    ------
    SpecError
        For delta of at least 1 / (10 people).
    """
    if people and delta >= Fraction(1, 10 * people):  # of nobody nothing is exposed
        most = Fraction(1, 10 * people)
        power = 1
        while Fraction(1, 10**power) > most:
            power += 1
        raise SpecError(
            f"δ {about(delta)} allows {about(delta * people)} of {people:,} people to be exposed outright. "
            f"Use 1e-{power + 1} or less, or your board's figure."
        )


def _one_total(epsilon: object, rho: object) -> None:
    if epsilon is not None and rho is not None:
        raise PublicParameterError("give epsilon or rho, not both")


def _given(number: Number | None, name: str) -> Fraction | None:
    return None if number is None else positive(read(number, name), name)
