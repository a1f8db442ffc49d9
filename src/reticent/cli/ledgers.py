"""``ledger``, ``explain``, ``verify``: what was spent, what it means, whether it holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import exit_codes, glossary, layout, options
from reticent.cli.extensions import modules_of
from reticent.cli.options import confirm, ledger_place, write_new
from reticent.cli.output import put
from reticent.cli.parser import NUMBER, PATH, PLACE, Verb, argument
from reticent.errors import LedgerError
from reticent.privacy.loss import to_json
from reticent.privacy.loss import to_json as loss_json
from reticent.privacy.loss import words as loss_words

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.ledger import Ledger, Line

# --- ledger -----------------------------------------------------------------------------------------------------------


def ledger_of(place: str | Path) -> Ledger:
    from reticent.ledger import Ledger

    return Ledger.open(ledger_place(place))


@click.command("show", cls=Verb)
@options.ledger
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the ledger")
def ledger_show(voice: Voice, ledger: str) -> None:
    """Show the approved and spent budget, and every request in order."""
    found = ledger_of(ledger)
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
    found = ledger_of(ledger)
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
    document = ledger_of(ledger).export()
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
    found = ledger_of(ledger)
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
    from reticent.data.study_file import read_spec

    spec = read_spec(study)
    found = ledger_of(study)
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
    from reticent.data.further_tables import places
    from reticent.data.joins import further_columns
    from reticent.data.source import identity_of
    from reticent.data.study_file import read_spec
    from reticent.ledger.fingerprint import adopt, further_names, source_at

    spec = read_spec(study)
    found = ledger_of(study)
    confirm(f"Adopt {found.name}? All that it has left is charged.", yes=yes)
    declared = [*spec.schema.stored, *spec.schema.named]
    files = places(spec.schema, spec.further, public=False)
    for source in dict.fromkeys((source_at(identity_of(spec.source)), *files.values())):  # of one file once
        adopt(source, [*declared, *further_names(further_columns(spec.schema), files)], found, reason=reason)
    voice.result(
        {"verb": "ledger adopt", "left": loss_json(found.left()), "head": found.head},
        f"{found.name} counts for the source again; {loss_words(found.left())} is left: {reason}",
    )


# --- explain ----------------------------------------------------------------------------------------------------------


@click.command("explain", cls=Verb)
@argument("what", required=False, metavar="CERTIFICATE|WORD", help="A file, or a word.")
@click.option("--prior", type=NUMBER, default=0.1, metavar="P", help="What someone believed before, 0 to 1.")
@click.option("--proof", is_flag=True, help="Every part with its theorem and source.")
@click.option("--checklist", is_flag=True, help="An officer's questions, answered.")
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the certificate")
def explain(voice: Voice, what: str | None, prior: float, proof: bool, checklist: bool) -> None:
    """A release in plain language, or a word: epsilon, no-reply, ledger … Without either: the list of words."""
    if what is None:
        voice.result(
            {"verb": "explain", "about": "words", "words": list(glossary.listed())},
            f"Words: {', '.join(glossary.listed())}.",
            "Or the certificate of a release: reticent explain table4.json --prior 0.1",
        )
        return
    word = glossary.word_of(what)
    if word is not None and not _exists(what):
        told = glossary.explained(word)
        voice.result(
            {"verb": "explain", "about": "word", "word": word, "lines": list(told)},
            *(part for place, text in enumerate(told) for part in ([""] * (place > 0) + [_paragraph(text)])),
        )
        return
    if not _exists(what) and not what.endswith(".json"):
        raise glossary.unknown(what)
    _certificate(voice, what, prior, proof=proof, checklist=checklist)


def _exists(what: str) -> bool:
    try:
        return Path(what).exists()
    except (OSError, ValueError):  # longer than a name of a file can be
        return False


def _paragraph(text: str) -> Passage:
    """A paragraph of several lines is a list: what each line is about, and its text."""
    if "\n" not in text:
        return text
    return layout.fields(((line.split()[0], " ".join(line.split()[1:])) for line in text.split("\n")), style="bold")


def _certificate(voice: Voice, path: str, prior: float, *, proof: bool, checklist: bool) -> None:
    from reticent.certificate.certificate import read_certificate
    from reticent.privacy.convert import epsilon_delta
    from reticent.privacy.explain import odds

    found = read_certificate(Path(path))
    moved = odds(epsilon_delta(found.guarantee.loss)[0], prior)
    parts = [found.explain(prior=prior)]
    parts += [found.proof()] * proof + [found.checklist()] * checklist
    voice.result(
        {
            "verb": "explain",
            "about": "certificate",
            "release": found.heading["release"],
            "kind": found.kind,
            "lines": parts[0].split("\n"),
            "odds": {"prior": moved.prior, "factor": moved.factor, "low": moved.low, "high": moved.high},
            "proof": found.proof().split("\n") if proof else None,
            "checklist": found.checklist().split("\n") if checklist else None,
        },
        layout.fields(("-", line) for line in found.explain(prior=prior).split("\n")),
        *(f"\n{text}" for text in parts[1:]),
    )


# --- verify -----------------------------------------------------------------------------------------------------------


@click.command("verify", cls=Verb)
@argument("certificate", type=PATH, metavar="CERTIFICATE", help="The .json file of a release, a model or a session.")
@click.option("--ledger", type=PLACE, metavar="LEDGER", help="The ledger that was charged.")
@click.option("--key", type=PATH, metavar="FILE", help="The officer's public key.")
@click.option("--allow-unsigned", is_flag=True, help="Do not ask for a signature; a wrong one still fails.")
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("deriving the losses again")
def verify(
    voice: Voice,
    certificate: Path,
    ledger: str | None,
    key: Path | None,
    allow_unsigned: bool,
    extensions: tuple[str, ...],
) -> None:
    """Check a certificate: signature, ledger entry, chain, and the losses derived again. Exit code 6 if one fails."""
    from reticent.certificate.certificate import read_certificate
    from reticent.certificate.verify import UNSIGNED

    found = read_certificate(certificate).verify(
        None if ledger is None else ledger_place(ledger),
        key,
        allow_unsigned=allow_unsigned,
        extensions=modules_of(extensions),
    )
    voice.result(
        {
            "verb": "verify",
            "ok": found.ok,
            "checks": [
                {"name": check.name, "ok": check.ok, "looked": check.looked, "words": check.words}
                for check in found.checks
            ],
        },
        layout.fields((check.state, check.words) for check in found.checks),
    )
    if found.ok and sum(not check.looked for check in found.checks) > 1:
        voice.say("Nobody can tell from this whether the numbers were changed: give the ledger, or the officer's key.")
    if [check.words for check in found.checks if not check.ok] == [UNSIGNED]:
        voice.say("Nothing else failed. To check a certificate without a signature: --allow-unsigned.")
    raise click.exceptions.Exit(exit_codes.DONE if found.ok else exit_codes.CHECK)
