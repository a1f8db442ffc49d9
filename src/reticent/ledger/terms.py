"""Terms of a ledger: its currency, its changes, and a refusal where a study says other terms than the ledger."""

from __future__ import annotations

from datetime import date

from reticent.errors import LedgerError, PublicParameterError
from reticent.ledger.events import Amended, Withdrawn
from reticent.ledger.replay import Line, Replay, other_adjacency
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.loss import Loss, words


class AnotherSource(LedgerError):
    """The ledger counts for another source than the study names."""


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


def agree(
    replay: Replay,
    name: str,
    adjacency: Adjacency,
    person: str | None,
    budget: Loss,
    source: str | None,
    ends: date | None,
) -> None:
    """Refuse a study whose terms are not those of the ledger ``name``; columns of the source may differ.

    Parameters
    ----------
    replay : Replay
        State of the ledger.
    name : str
        Of the ledger, for the message.
    adjacency : Adjacency
    person : str or None
        The column that says who a person is.
    budget : Loss
    source : str or None
        Fingerprint of the table; None is not compared.
    ends : date or None
        The last day of charges.

    Raises
    ------
    LedgerError
        Where a term differs.
    """
    now, mine = replay.totals[0], replay.opening.adjacency
    if mine != adjacency:
        raise LedgerError(f"{name}: {other_adjacency(mine, adjacency)}")
    if replay.opening.person != person:
        raise LedgerError(f"{name}: {_other_person(replay.opening.person, person)}")
    if filters.currency(now) != filters.currency(budget):
        kept, asked = (_currency_words(filters.currency(loss)) for loss in (now, budget))
        raise LedgerError(
            f"{name} counts {kept}, the study {asked}. The currency of a ledger is fixed. Nothing was charged."
        )
    if filters.parts(now) != filters.parts(budget):
        raise LedgerError(_changed(name, f"has a budget of {words(now)}", words(budget)))
    if replay.ends != ends:
        raise LedgerError(_changed(name, f"ends {_day(replay.ends)}", _day(ends)))
    if _place(replay.source) != _place(source):
        raise AnotherSource(
            f"{name} is the ledger of another source. One ledger counts for one source: name another file. "
            "Nothing was charged."
        )


def amended(replay: Replay, budget: Loss, reason: str, approved: str | None, ends: date | None) -> Amended:
    """The entry of another budget, in the same currency and at least what is spent; ``ends`` None keeps the day.

    Parameters
    ----------
    replay : Replay
        State of the ledger.
    budget : Loss
        The new total, in the ledger's currency.
    reason : str
    approved : str or None
        Who approved it.
    ends : date or None
        The last day of charges; None keeps it.

    Returns
    -------
    Amended

    Raises
    ------
    LedgerError
        For another currency, or a budget that is too low.
    """
    now, spent = replay.totals
    if filters.currency(budget) != filters.currency(now):
        raise LedgerError("The currency of a ledger is fixed. Nothing was changed.")
    if not filters.admits(budget, filters.nothing(now), spent):
        raise LedgerError(f"{words(spent)} is spent already, so this budget is too low. Nothing was changed.")
    return Amended(budget, reason, approved, ends or replay.ends)


def withdrawn(line: Line | None, release: str, reason: str, who: str) -> Withdrawn:
    """The entry that withdraws a committed release.

    Parameters
    ----------
    line : Line or None
        Of the release, if there is one.
    release : str
        Number of the request, such as "r-0007".
    reason, who : str

    Returns
    -------
    Withdrawn

    Raises
    ------
    LedgerError
        Where there is no such release, none left, or it was withdrawn before.
    """
    if line is None:
        raise LedgerError(f"There is no {release} in this ledger. See: reticent ledger show. Nothing was changed.")
    if line.state != "committed":
        raise LedgerError(f"{release} is {line.state}: nothing was published under it, so nothing can be withdrawn.")
    if line.withdrawn is not None:
        raise LedgerError(f"{release} was withdrawn on {line.withdrawn[:10]} already: {line.why}")
    return Withdrawn(release, who, reason)


def _changed(name: str, mine: str, theirs: str) -> str:
    return (
        f"{name} {mine}, the study says {theirs}. A change is an entry of its own, with its reason: "
        "Ledger.amend, or reticent ledger amend. Else put the study back. Nothing was charged."
    )


def _place(source: str | None) -> str | None:
    """The part of a fingerprint that says where the source is, without its columns."""
    return None if source is None else source.split(" ", 1)[0]


def _day(day: date | None) -> str:
    return "on no day" if day is None else f"on {day.isoformat()}"


def _other_person(mine: str | None, asked: str | None) -> str:
    """Refusing another protected unit; both are names of the person column, None for a row."""
    kept = "row" if mine is None else f"'{mine}'"
    now = "every row" if asked is None else f"'{asked}'"
    return (
        f"This ledger protects each {kept}; the study now says {now}. The unit of a ledger is fixed: losses for one do "
        "not add up with losses for the other. Nothing was charged. Put the study back."
    )


def _currency_words(kind: Currency) -> str:
    return "ρ (zCDP)" if kind == "zcdp" else "(ε, δ)"
