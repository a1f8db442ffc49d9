"""Release, or plan, of one statement of SQL, by the options of ``sql``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.certificate.record import Record
from reticent.cli.options import PublicGuess
from reticent.cli.plan import plan_parts
from reticent.cli.release import (
    ask_first,
    files_for,
    planner,
    publish,
    ready,
    received,
    refuse_too_large,
    spending,
    watched,
    with_ledger,
)
from reticent.data.spec import ReleaseSpec
from reticent.privacy.numbers import read
from reticent.study.selection import cost_of, joined_spec, selected, statement_of

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.sql.statement import SelectStatement
    from reticent.study.study import Study


COSTS: Final = ("epsilon", "rho", "delta")


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """The options of ``sql``, as typed."""

    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    planned: bool = False
    people: int | None = None
    rows: str | None = None
    passing: str | None = None
    out: Path | None = None
    purpose: str = ""
    who: str = "curator"
    try_anyway: bool = False
    force: bool = False
    yes: bool = False
    request_id: str | None = None
    same_people: bool = False
    more: tuple[str, ...] = ()  # endings of further files
    key: Path | None = None
    override: str = ""
    ledger: str | None = None
    audit: bool = False
    timeout: float | None = None


def answer(voice: Voice, opened: Study, path: Path, statement: str, typed: SqlOptions) -> None:
    """Plan or publish one statement.

    Parameters
    ----------
    voice : Voice
    opened : Study
    path : Path
        The study file, for the words of a refusal.
    statement : str
    typed : SqlOptions

    Raises
    ------
    Refusal
        Before any row is read.
    Exit
        After a release, with the exit code.
    """
    found = statement_of(statement, opened.schema, opened.spec.source)
    item = _item(found, typed)
    opened = replace(opened, spec=joined_spec(opened.spec, found)).passing(typed.passing)
    reason = typed.override or opened.spec.budget.override
    if typed.planned:
        with voice.waiting("planning"), voice.warning():
            made = opened.plan(
                found.asks,
                epsilon=item.epsilon,
                rho=item.rho,
                delta=item.delta,
                people=typed.people,
                rows=typed.rows,
                override=reason,
            )
        voice.result({"verb": "sql", "release": "", **made.to_json()}, *plan_parts(made, ""))
        return
    voice.spends = True
    opened = with_ledger(opened.same_people() if typed.same_people else opened, path, typed.ledger)
    stem, suffixes = files_for(typed.out, item, typed.more)
    ready(opened, item, stem, force=typed.force, suffixes=suffixes)
    planned = planner(
        voice, opened, replace(item, override=reason), PublicGuess(typed.people, typed.rows, typed.passing)
    )
    limits = None if typed.timeout is None else {"timeout": typed.timeout}
    refuse_too_large(voice, opened, planned, limits)
    about = Record(
        item.name,
        typed.who,
        typed.key,
        reason,
        try_anyway=typed.try_anyway,
        audit="quick" if typed.audit else None,
        request_id=typed.request_id,
    )
    if not typed.yes:
        ask_first(voice, opened, item, about, planned)
    with voice.warning(), spending(voice, opened):
        release = watched(opened, voice).release(
            found.asks,
            epsilon=item.epsilon,
            rho=item.rho,
            delta=item.delta,
            purpose=typed.purpose,
            record=about,
            limits=limits,
        )
    publish(
        voice, release, received(stem, release.receipt), suffixes, force=typed.force, selection=selected(found, release)
    )


def _item(found: SelectStatement, typed: SqlOptions) -> ReleaseSpec:
    """The release that a statement means, at the cost of the command line or of the statement."""
    given = cost_of(found, typed.epsilon, typed.rho, typed.delta)
    e, r, d = (None if cost is None else read(cost, name) for cost, name in zip(given, COSTS, strict=True))
    return ReleaseSpec("", tuple(map(str, found.asks)), epsilon=e, rho=r, delta=d)
