"""``release``: the verb that spends. Everything that can be refused is refused before the charge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.certificate.particulars import Record
from reticent.cli import exit_codes, layout
from reticent.cli.options import (
    Asked,
    Delta,
    Epsilon,
    Json,
    Named,
    Rho,
    StudyFile,
    With,
    Yes,
    asked_of,
    confirm,
    stem_of,
    study_of,
    voice_of,
)
from reticent.cli.plan import plan_parts
from reticent.errors import LedgerError, QuestionError, SpecError

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.study.release import Release
    from reticent.study.study import Study

SUFFIXES = (".csv", ".json", ".html", ".svg")


def release(
    ctx: typer.Context,
    study: StudyFile,
    named: Named = None,
    ask: Asked = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    out: Annotated[Path | None, typer.Option(metavar="STEM", help="Write STEM.csv, .json, .html, .svg.")] = None,
    xlsx: Annotated[bool, typer.Option("--xlsx", help="Write STEM.xlsx too, an Excel workbook.")] = False,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sign the certificate with this private key.")
    ] = None,
    purpose: Annotated[str, typer.Option(metavar="TEXT", help="What for; printed in the certificate.")] = "",
    who: Annotated[str, typer.Option(metavar="TEXT", help="Who releases; printed in the certificate.")] = "curator",
    override: Annotated[str, typer.Option(metavar="REASON", help="Why ε may be above 10; printed.")] = "",
    audit: Annotated[bool, typer.Option("--audit", help="Audit the plan on made-up rows first.")] = False,
    ledger: Annotated[Path | None, typer.Option(metavar="LEDGER", help="Charge this ledger instead.")] = None,
    same_people: Annotated[bool, typer.Option("--same-people", help="The file changed, the people did not.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier release.")] = False,
    extensions: With = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Publish: charge the ledger, read the rows, draw the noise, write answers and certificate.

    At a terminal it shows the price and asks first. Exit code 3: released, with at least one no reply.
    """
    voice = voice_of(ctx)
    voice.spends = True
    opened = with_ledger(study_of(study, extensions), study, ledger)
    item = asked_of(opened, named, ask, epsilon, delta, rho)
    stem = Path(stem_of(item.name)) if out is None else out
    suffixes = (*SUFFIXES, ".xlsx") if xlsx else SUFFIXES
    ready(opened, item, stem, force=force, same_people=same_people, suffixes=suffixes)
    reason = override or item.override or opened.spec.budget.override
    if not yes:
        ask_first(voice, opened, item, reason)

    voice.charged = "unknown"
    made = replace(opened, on_stage=voice.stage).release(
        list(item.ask),
        epsilon=item.epsilon,
        rho=item.rho,
        delta=item.delta,
        purpose=purpose,
        record=Record(name=item.name, who=who, key=key, override=reason),
        audit="quick" if audit else None,
    )
    _publish(voice, made, stem, suffixes)


def with_ledger(study: Study, path: Path, ledger: Path | None) -> Study:
    """The study with the ledger named on the command line, or else in its file."""
    if ledger is not None:
        return replace(study, spec=replace(study.spec, ledger=str(ledger)))
    if study.spec.ledger is None:
        raise SpecError(f'Name a ledger, which outlives this command: [study] ledger = "{path.stem}.ledger".')
    return study


def ready(
    study: Study,
    item: ReleaseSpec,
    stem: Path,
    *,
    force: bool,
    same_people: bool,
    suffixes: Sequence[str] = SUFFIXES,
) -> None:
    """Refuse, before the charge, everything that would be too late to find after it."""
    from reticent.certificate.render import workbook
    from reticent.ledger.fingerprint import source_changed

    if item.want:
        raise QuestionError(
            f"'{item.name}' states widths (want). See what they cost with reticent plan, then write epsilon into the "
            "questions."
        )
    if ".xlsx" in suffixes:
        workbook.ready()
    _writable(stem, suffixes, force=force)
    changed = None if same_people else source_changed(Path(study.spec.source))
    if changed is not None:
        again = " Give [study] snapshot another word." if study.spec.snapshot else ""
        raise LedgerError(f"{changed}{again} Nothing was charged.")


def _writable(stem: Path, suffixes: Sequence[str], *, force: bool) -> None:
    try:
        for place in targets(stem, suffixes):
            if place.is_dir():
                raise SpecError(f"{place} is a folder: choose another name with --out.")
            if place.exists() and not force:
                raise SpecError(f"{place} exists. Choose another name with --out, or overwrite it with --force.")
    except (OSError, ValueError):
        raise SpecError(f"{str(stem)[:40]}… is no name for files: choose another with --out.") from None
    if not os.access(stem.parent, os.W_OK | os.X_OK):
        raise SpecError(f"The answers could not be written to {stem.parent}: it is missing or not yours.")


def targets(stem: Path, suffixes: Sequence[str] = SUFFIXES) -> tuple[Path, ...]:
    """The files a release writes."""
    return tuple(stem.with_name(stem.name + suffix) for suffix in suffixes)


def ask_first(voice: Voice, study: Study, item: ReleaseSpec, reason: str) -> None:
    """At a terminal: the plan, then the question."""
    import sys

    from reticent.privacy.loss import words

    if not sys.stdin.isatty():
        return
    made = study.plan(list(item.ask), epsilon=item.epsilon, rho=item.rho, delta=item.delta, override=reason)
    voice.say(*plan_parts(made, item.name))
    confirm(f"Release, and spend {words(made.guarantee.loss)}?", yes=False)


def _publish(voice: Voice, made: Release, stem: Path, suffixes: Sequence[str]) -> None:
    """Write the files, then print; the answers are printed even where they cannot be written."""
    from reticent.privacy.loss import words

    voice.charged = words(made.certificate.charged)
    try:
        written = [str(path) for path in made.save(stem, files=suffixes)]
    except OSError:
        written = []
    show(voice, made, written)
    if not written:
        voice.say(
            f"The files could not be written. {voice.charged} stays spent: what is printed here is the only copy. "
            "With --json it holds every number."
        )
        raise typer.Exit(exit_codes.FAULT)
    raise typer.Exit(exit_codes.DONE if made.replied else exit_codes.NO_REPLY)


def show(voice: Voice, made: Release, written: Sequence[str]) -> None:
    """A release on standard output, what surrounds it on standard error."""
    from reticent.certificate.verify import audit_words
    from reticent.privacy.explain import as_data, sentence
    from reticent.privacy.loss import words
    from reticent.statistics.answer import estimates

    document = made.certificate.document
    promised = sentence(made.guarantee.loss, made.guarantee.adjacency)
    left, approved = (words(loss) for loss in (made.certificate.left, made.certificate.approved))
    ending = [
        *layout.under("estimates", estimates(made.answers)),
        *layout.under("note", made.certificate.caveats),
    ]
    if not made.replied:
        ending.append(("no reply", layout.ASK_WHY))
    ending.append(("guarantee", promised))
    if document["audit"] is not None:
        ending.append(("audit", audit_words(document["audit"])))
    if written:
        ending.append(("wrote", ", ".join(written)))
    ending.append(("ledger", f"{left} of {approved} is left"))
    title = " · ".join(text for text in (document["name"], document["study"]["title"]) if text)
    voice.say(f"   {made.receipt}")
    voice.result(
        {
            "verb": "release",
            "release": made.receipt,
            "name": document["name"],
            "charged": document["charged"],
            "left": document["budget"]["left"],
            "guarantee": as_data(made.guarantee.loss, made.guarantee.adjacency),
            "replied": made.replied,
            "signed": made.certificate.signed,
            "answers": document["answers"],
            "caveats": list(made.certificate.caveats),
            "files": list(written),
            "audit": document["audit"],
        },
        *([title] if title else []),
        layout.answers(made.answers),
        layout.fields(ending),
    )
    if not made.replied:
        voice.say(layout.AGAIN)
    if not made.certificate.signed:
        voice.say("The certificate is unsigned. To sign: reticent init --key officer, then release … --key officer.key")
