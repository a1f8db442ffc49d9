"""``ledger``: what was spent and what is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.options import confirm, ledger_place, write_new
from reticent.cli.output import put
from reticent.cli.parser import PATH, Verb
from reticent.data.further_tables import places
from reticent.data.joins import further_columns
from reticent.data.source import identity_of
from reticent.data.study_file import read_spec
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.ledger.fingerprint import adopt, further_names, source_at
from reticent.privacy.loss import to_json
from reticent.privacy.loss import to_json as loss_json
from reticent.privacy.loss import words as loss_words

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.ledger import Ledger, Line


@click.command("show", cls=Verb)
@options.ledger
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the ledger")
def ledger_show(voice: Voice, ledger: str) -> None:
    """Show the approved and spent budget, and every request in order."""
    found = Ledger.open(ledger_place(ledger))
    problems = found.verify()
    if problems:
        raise LedgerError(f"{found.name} is damaged: {problems[0]}. Nothing in it can be relied on.")
    voice.result(_ledger_document(found), *ledger_parts(found))


def _ledger_document(found: Ledger) -> dict[str, object]:
    return {
        "verb": "ledger show",
        "title": found.title,
        "protects": found.adjacency.words(),
        "approved": to_json(found.budget),
        "approved_by": found.approved,
        "ends": None if found.ends is None else found.ends.isoformat(),
        "spent": to_json(found.spent()),
        "left": to_json(found.left()),
        "closed": found.closed,
        "releases": [_line(line) for line in found.releases()],
        "refusals": [_line(line) for line in found.refusals()],
        "entries": len(found.entries()),
        "head": found.head,
    }


def ledger_parts(found: Ledger) -> list[Passage]:
    """A ledger as a terminal shows it."""
    lines = sorted((*found.releases(), *found.refusals()), key=lambda line: line.when)
    until = "" if found.ends is None else f" until {found.ends.isoformat()}"
    heading = (
        f"approved {loss_words(found.budget)}{until} · spent {loss_words(found.spent())} · "
        f"left {loss_words(found.left())}{' · closed' if found.closed else ''}"
    )
    heads = ("id", "when (UTC)", "who", "what", "loss", "state")
    return [
        *([found.title] if found.title else []),
        heading,
        layout.columns(heads, map(_row, lines), right=(), wrap=(2, 3, 5)) if lines else "nothing was released yet",
        f"chain ok: {len(found.entries())} entries, head {found.head[:16]}…",
    ]


def _row(line: Line) -> tuple[str, str, str, str, str, str]:
    spent = "–" if line.charge is None else loss_words(line.charge)
    states = {
        "reserved": "reserved: running or lost, spent either way",
        "failed": f"fault {line.note}, spent",
        "refused": f"refused ({line.note}), nothing charged",
    }
    if line.withdrawn is not None:
        states[line.state] = f"withdrawn {line.withdrawn[:10]}: {line.why}"
    when = line.when[:16].replace("T", " ")
    return line.id or "–", when, line.who, line.what, spent, states.get(line.state, line.state)


def _line(line: Line) -> dict[str, object]:
    return {
        "id": line.id,
        "when": line.when,
        "who": line.who,
        "what": line.what,
        "purpose": line.purpose,
        "charge": None if line.charge is None else to_json(line.charge),
        "state": line.state,
        "digest": line.digest,
        "note": line.note,
        "withdrawn": line.withdrawn,
        "why": line.why,
    }


@click.command("verify", cls=Verb)
@options.ledger
@click.option("--head", metavar="DIGEST", help="A head kept elsewhere: it must be there.")
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the ledger")
def ledger_verify(voice: Voice, ledger: str, head: str | None) -> None:
    """Check every entry: order, digests, sums. Exit code 6 if anything is wrong."""
    found = Ledger.open(ledger_place(ledger))
    problems = found.verify(head=head)
    entries = 0 if problems else len(found.entries())
    said = [f"chain ok: {entries} entries, head {found.head}"] if not problems else [f"FAILED  {p}" for p in problems]
    voice.result(
        {
            "verb": "ledger verify",
            "ok": not problems,
            "problems": list(problems),
            "entries": entries,
            "head": None if problems else found.head,
        },
        *said,
    )
    raise click.exceptions.Exit(exit_codes.CHECK if problems else exit_codes.DONE)


@click.command("export", cls=Verb)
@options.ledger
@click.option("--out", "-o", type=PATH, metavar="FILE", help="Write it there instead.")
@options.as_json
@click.pass_obj
def ledger_export(voice: Voice, ledger: str, out: Path | None) -> None:
    """The whole ledger as JSON, for an auditor or a place the operator cannot reach."""
    document = Ledger.open(ledger_place(ledger)).export()
    if out is None:
        put(document, sys.stdout, indent=None if voice.as_json else 2)
        return
    write_new(out, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    head = str(document["head"])
    voice.result(
        {"verb": "ledger export", "wrote": str(out), "head": head},
        f"wrote {out}. Keep its head elsewhere: {head}",
    )


@click.command("close", cls=Verb)
@options.ledger
@click.option("--reason", required=True, metavar="TEXT", help="Why; it becomes an entry.")
@options.yes
@options.as_json
@click.pass_obj
def ledger_close(voice: Voice, ledger: str, reason: str, yes: bool) -> None:
    """Accept no charge from now on. This cannot be undone."""
    found = Ledger.open(ledger_place(ledger))
    confirm(f"Close {found.name} for good?", yes=yes)
    found.close(reason)
    voice.result(
        {"verb": "ledger close", "closed": True, "head": found.head},
        f"{found.name} is closed: {reason}",
    )


@click.command("amend", cls=Verb)
@options.study
@click.option("--reason", required=True, metavar="TEXT", help="Why; it becomes an entry.")
@options.yes
@options.as_json
@click.pass_obj
def ledger_amend(voice: Voice, study: Path, reason: str, yes: bool) -> None:
    """Take over the budget and last day that the study file now states; what is spent stays spent."""
    spec = read_spec(study)
    found = Ledger.open(ledger_place(study))
    confirm(f"Change the budget of {found.name} to {loss_words(spec.budget.loss)}?", yes=yes)
    found.amend(spec.budget.loss, reason=reason, approved=spec.budget.approved or None, ends=spec.budget.ends)
    voice.result(
        {
            "verb": "ledger amend",
            "budget": loss_json(found.budget),
            "left": loss_json(found.left()),
            "head": found.head,
        },
        f"{found.name} now allows {loss_words(found.budget)}; {loss_words(found.left())} is left: {reason}",
    )


@click.command("adopt", cls=Verb)
@options.study
@click.option("--reason", required=True, metavar="TEXT", help="Why; it becomes an entry.")
@options.yes
@options.as_json
@click.pass_obj
def ledger_adopt(voice: Voice, study: Path, reason: str, yes: bool) -> None:
    """Go on with an older copy of a ledger when the newest is lost: all that is left counts as spent."""
    spec = read_spec(study)
    found = Ledger.open(ledger_place(study))
    confirm(f"Adopt {found.name}? All that it has left is charged.", yes=yes)
    declared = [*spec.schema.stored, *spec.schema.named]
    files = places(spec.schema, spec.further, public=False)
    for source in dict.fromkeys((source_at(identity_of(spec.source)), *files.values())):  # of one file once
        adopt(source, [*declared, *further_names(further_columns(spec.schema), files)], found, reason=reason)
    voice.result(
        {"verb": "ledger adopt", "left": loss_json(found.left()), "head": found.head},
        f"{found.name} counts for the source again; {loss_words(found.left())} is left: {reason}",
    )
