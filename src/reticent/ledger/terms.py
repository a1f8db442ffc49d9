"""On what terms a ledger is used: what a charge must satisfy, and whether a study still says what the ledger says."""

from __future__ import annotations

from datetime import UTC, date, datetime

from reticent.errors import BudgetError, LedgerError, PublicParameterError
from reticent.ledger import refusals
from reticent.ledger.replay import Replay
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss, words


def in_currency(budget: Loss) -> Loss:
    """``budget`` in the one form a ledger stores: a delta of zero is left out.

    Raises
    ------
    LedgerError
        When it is no (epsilon, delta) and no rho.
    """
    try:
        return filters.enter(budget, budget)
    except PublicParameterError as problem:
        raise LedgerError(f"{problem} Nothing was changed.") from None


def price(replay: Replay, charge: Loss, adjacency: Adjacency) -> Loss:
    """``charge`` in the ledger's currency, once every reason to refuse it is ruled out.

    Raises
    ------
    BudgetError
        When too little is left, the approval has ended, or the ledger is closed.
    LedgerError
        For another adjacency, or a loss that has no price in this currency.
    """
    budget, spent = replay.totals
    if replay.opening.adjacency != adjacency:
        raise LedgerError(refusals.other_adjacency(replay.opening.adjacency, adjacency))
    if replay.closed is not None:
        raise BudgetError("This ledger is closed. Nothing was charged.")
    if replay.ends is not None and _today(replay) > replay.ends:
        raise BudgetError(
            f"The approval ended on {replay.ends.isoformat()}. Nothing was charged. A later day is an amendment of the "
            "ledger, with its reason."
        )
    try:
        cost = filters.enter(charge, budget)
    except PublicParameterError as problem:
        raise LedgerError(f"{problem} Nothing was charged.") from None
    if not filters.admits(budget, spent, cost):
        raise BudgetError(refusals.too_little(charge, budget, spent))
    return cost


def agree(
    replay: Replay,
    name: str,
    adjacency: Adjacency,
    person: str | None,
    budget: Loss,
    source: str | None,
    ends: date | None,
) -> None:
    """Refuse a study whose terms are not those of the ledger ``name``; columns of the source may differ."""
    now, mine = replay.totals[0], replay.opening.adjacency
    if mine != adjacency:
        raise LedgerError(f"{name}: {refusals.other_adjacency(mine, adjacency)}")
    if replay.opening.person != person:
        raise LedgerError(f"{name}: {refusals.other_person(replay.opening.person, person)}")
    if filters.currency(now) != filters.currency(budget):
        kept, asked = (refusals.currency_words(filters.currency(loss)) for loss in (now, budget))
        raise LedgerError(
            f"{name} counts {kept}, the study {asked}. The currency of a ledger is fixed. Nothing was charged."
        )
    if filters.parts(now) != filters.parts(budget):
        raise LedgerError(_changed(name, f"has a budget of {words(now)}", words(budget)))
    if replay.ends != ends:
        raise LedgerError(_changed(name, f"ends {_day(replay.ends)}", _day(ends)))
    if _place(replay.source) != _place(source):
        raise LedgerError(
            f"{name} is the ledger of another source. One ledger counts for one source: name another file with "
            "--ledger. Nothing was charged."
        )


def _today(replay: Replay) -> date:
    """Today, or the day of the latest entry if the clock was put back since."""
    today = datetime.now(UTC).date()
    return today if replay.last_day is None else max(today, replay.last_day)


def _changed(name: str, mine: str, theirs: str) -> str:
    return (
        f"{name} {mine}, the study says {theirs}. A change is an entry of its own, with its reason: amend the ledger, "
        "or put the study back. Nothing was charged."
    )


def _place(source: str | None) -> str | None:
    """The part of a fingerprint that says where the source is, without its columns."""
    return None if source is None else source.split(" ", 1)[0]


def _day(day: date | None) -> str:
    return "on no day" if day is None else f"on {day.isoformat()}"
