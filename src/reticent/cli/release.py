"""``release``: the verb that spends. Everything that can be refused is refused before the charge."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.atomic_file import create
from reticent.atomic_file import replace as overwrite
from reticent.certificate.record import Record, audit_words
from reticent.certificate.render import workbook
from reticent.certificate.render.no_replies import cause, likelier
from reticent.certificate.render.notes import lines_of, notes
from reticent.certificate.render.tables import column_words, labels_of
from reticent.cli import exit_codes, layout, options
from reticent.cli.exit_codes import UserAbort
from reticent.cli.options import PublicGuess, Request, confirm, stem_of, study_of
from reticent.cli.parser import NUMBER, PATH, PLACE, Verb
from reticent.cli.plan import plan_parts
from reticent.data.file_kinds import stem_of as name_of
from reticent.errors import LedgerError, PublicParameterError, QuestionError, SpecError
from reticent.ledger import Ledger
from reticent.ledger.account import ledger_at
from reticent.ledger.events import Reserved
from reticent.ledger.fingerprint import refuse_replacing
from reticent.privacy.cost import Cost
from reticent.privacy.explain import as_data, sentence
from reticent.privacy.loss import words
from reticent.statistics.public_facts import listed
from reticent.statistics.shares import DECLARED
from reticent.study.release_files import ALWAYS, PICTURES, parted, save

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.privacy.loss import Loss
    from reticent.study.allocation import PreparedRelease
    from reticent.study.memory_forecast import BroughtRecords
    from reticent.study.plan import Plan
    from reticent.study.release import Release
    from reticent.study.selection import Selection
    from reticent.study.study import Study

SUFFIXES = (".csv", ".json", ".html", ".svg")
RECEIPT = "{receipt}"


@click.command("release", cls=Verb)
@options.study
@options.request
@options.supposed
@options.out_stem
@click.option("--xlsx", is_flag=True, help="Write STEM.xlsx too, an Excel workbook.")
@click.option("--pdf", is_flag=True, help="Write STEM.pdf too, the figure in vectors.")
@click.option("--key", type=PATH, metavar="FILE", help="Sign the certificate with this private key.")
@click.option("--purpose", default="", show_default=False, metavar="TEXT", help="What for; printed in the certificate.")
@click.option("--who", default="curator", metavar="TEXT", help="Who releases; printed.")
@click.option("--override", default="", show_default=False, metavar="REASON", help="Why ε may be above 10; printed.")
@options.try_anyway
@options.request_id
@click.option("--audit", is_flag=True, help="Audit the plan on made-up rows first.")
@click.option(
    "--timeout",
    type=NUMBER,
    metavar="SECONDS",
    help="End a longer reading; the charge stays.",
)
@options.engine
@click.option("--ledger", type=PLACE, metavar="LEDGER", help="Charge this ledger instead.")
@click.option("--same-people", is_flag=True, help="The file changed, the people did not.")
@click.option("--force", is_flag=True, help="Overwrite the files of an earlier release.")
@options.extensions
@options.yes
@options.quiet
@options.as_json
@click.pass_obj
def release(
    voice: Voice,
    study: Path,
    request: Request,
    supposed: PublicGuess,
    out: Path | None,
    xlsx: bool,
    pdf: bool,
    key: Path | None,
    purpose: str,
    who: str,
    override: str,
    try_anyway: bool,
    request_id: str | None,
    audit: bool,
    timeout: float | None,
    engine: tuple[str, ...],
    ledger: str | None,
    same_people: bool,
    force: bool,
    extensions: tuple[str, ...],
    yes: bool,
) -> None:
    """Publish: charge, read the rows, draw the noise, write answers and certificate.

    A terminal is asked first. Exit code 3: released, with at least one no reply.
    """
    voice.spends = True
    opened = with_ledger(study_of(study, extensions, engine), study, ledger)
    if same_people:
        opened = opened.same_people()
    item = request.release(opened)
    if (passing := item.passing if supposed.passing is None else supposed.passing) is not None:
        opened = opened.passing(passing)  # of which the warning of the release is, as its plan
    stem, suffixes = files_for(out, item, (*([".xlsx"] if xlsx else []), *([".pdf"] if pdf else [])))
    ready(opened, item, stem, force=force, suffixes=suffixes)
    reason = override or item.override or opened.spec.budget.override
    limits = None if timeout is None else {"timeout": timeout}
    refuse_too_large(voice, opened, plan := planner(voice, opened, replace(item, override=reason), supposed), limits)
    about = Record(
        item.name,
        who,
        key,
        reason,
        try_anyway or item.try_anyway,
        audit="quick" if audit else None,
        request_id=request_id or item.request_id,
    )
    if not yes:
        ask_first(voice, opened, item, about, plan)

    with voice.warning(), spending(voice, opened):
        made = watched(opened, voice).release(
            list(item.ask),
            epsilon=item.epsilon,
            rho=item.rho,
            delta=item.delta,
            purpose=purpose,
            record=about,
            limits=limits,
        )
    publish(voice, made, received(stem, made.receipt), suffixes, force=force)


def files_for(out: Path | None, item: ReleaseSpec, more: Sequence[str] = ()) -> tuple[Path, tuple[str, ...]]:
    """The stem and endings of the files: as told, else by the release's name; by receipt for no name or in a folder.

    Parameters
    ----------
    out : Path or None
        Stem or file that was typed. The ending of a file is one of those written.
    item : ReleaseSpec
        Release, with its name.
    more : sequence of str
        Endings wanted beside the usual ones.

    Returns
    -------
    pair of Path and tuple of str

    Raises
    ------
    PublicParameterError
        An ending of a picture that no file of a release has.
    """
    if out is None:
        return Path(stem_of(item.name) if item.name else RECEIPT), (*SUFFIXES, *more)
    try:
        stem, ending = (out / RECEIPT, "") if out.is_dir() else parted(out, (*ALWAYS, *PICTURES))
    except (OSError, ValueError):
        stem, ending = out, ""  # refused with its words where files are looked for
    if ending in PICTURES:
        raise PublicParameterError(f"--out writes no {ending}: the figure is written as .svg, and as .pdf with --pdf")
    return stem, tuple(dict.fromkeys((*SUFFIXES, *more, *([ending] if ending else []))))


def received(stem: Path, receipt: str) -> Path:
    return stem.with_name(stem.name.replace(RECEIPT, receipt))


def watched(study: Study, voice: Voice) -> Study:
    """The study with its stages told, and its rows where somebody sits at a terminal; its size was seen to."""
    return replace(
        study,
        on_stage=voice.stage,
        on_rows=voice.rows if voice.at_terminal else None,
        on_swallowed=voice.swallowed if voice.curator else None,
        on_changed=voice.changed if voice.curator else None,
        _size_checked=True,
    )


@contextlib.contextmanager
def spending(voice: Voice, study: Study) -> Iterator[None]:
    """Whatever charges; after Ctrl-C the ledger is asked for what was."""
    voice.charged, before = "unknown", _standing(study)
    try:
        yield
    except KeyboardInterrupt:
        after = None if before is None else _charged_since(study, before)
        if after is not None:
            voice.charged = " and ".join(map(words, after)) or "nothing"
        raise UserAbort from None


def _standing(study: Study) -> int | None:
    """The number of the last entry of the ledger, 0 where there is none yet; None where it cannot be read."""
    try:
        place = study.spec.ledger or ""
        return Ledger.open(place).standing().number if ledger_at(place) else 0
    except (LedgerError, OSError):
        return None


def _charged_since(study: Study, number: int) -> list[Loss] | None:
    """The charges after that entry; None where the ledger cannot be read."""
    try:
        place = study.spec.ledger or ""
        found = Ledger.open(place).entries(after=number) if ledger_at(place) else ()
    except (LedgerError, OSError):
        return None
    return [entry.event.charge for entry in found if isinstance(entry.event, Reserved)]


def with_ledger(study: Study, path: Path, ledger: str | None) -> Study:
    """The study with the ledger named on the command line, or else in its file.

    Parameters
    ----------
    study : Study
        Study as its file declares it.
    path : Path
        The study file, whose name the refusal proposes for the ledger.
    ledger : str or None
        File or URL named on the command line, or None.

    Returns
    -------
    Study
        Study with this ledger.

    Raises
    ------
    SpecError
        Neither the command line nor the study file names a ledger.
    """
    if ledger is not None:
        return replace(study, spec=replace(study.spec, ledger=ledger))
    if study.spec.ledger is None:
        raise SpecError(f'Name a ledger, which outlives this command: [study] ledger = "{path.stem}.ledger".')
    return study


def ready(
    study: Study,
    item: ReleaseSpec,
    stem: Path,
    *,
    force: bool,
    suffixes: Sequence[str] = SUFFIXES,
) -> None:
    """Refuse, before the charge, everything that would be too late to find after it.

    Parameters
    ----------
    study : Study
        Study that will pay.
    item : ReleaseSpec
        Release of the study file.
    stem : Path
        Path of the files without suffix.
    force : bool
        True if files that exist are replaced.
    suffixes : sequence of str
        Endings of the files that will be written.

    Raises
    ------
    QuestionError
        A release that states half-widths in place of losses.
    SpecError
        A file that exists or cannot be written, or a source that changed.
    """
    if item.want:
        raise QuestionError(
            f"'{item.name}' states widths (want). See what they cost with reticent plan, then write epsilon into the "
            "questions."
        )
    if ".xlsx" in suffixes:
        workbook.ready()
    _writable(stem, suffixes, _inputs(study), force=force)
    study._refuse_changed("--same-people")


def planner(voice: Voice, study: Study, item: ReleaseSpec, supposed: PublicGuess) -> Callable[[], Plan]:
    """A function that plans the release where it is first called, and gives that plan ever after.

    Where public numbers were typed it plans at once, so that a wrong one is refused before the charge.

    Parameters
    ----------
    voice : Voice
    study : Study
    item : ReleaseSpec
    supposed : PublicGuess
        The public numbers of the plan.

    Returns
    -------
    function
    """

    @cache
    def made() -> Plan:
        with voice.waiting("planning"), voice.warning():
            return supposed.plan(study, item)

    if supposed != PublicGuess():
        made()
    return made


def refuse_too_large(
    voice: Voice, study: Study, planned: Callable[[], Plan], limits: Mapping[str, float] | None = None
) -> None:
    """Refuse rows that cannot fit or be read in time, before the charge, at the terminal of who asks for no document.

    Parameters
    ----------
    voice : Voice
    study : Study
    planned : function
        Gives the plan of the release.
    limits : mapping of name to limit, optional
        Other limits than the study's, for this release.

    Raises
    ------
    SpecError
        The rows that the engine keeps need more memory and temporary files than the limits allow, or more time.
    """
    if not voice.curator or voice.as_json:  # a refusal elsewhere, or in a document that is kept, would tell the size
        return

    from reticent.study import size_forecast

    def asked() -> PreparedRelease | BroughtRecords | None:
        made = planned()
        return made._prepared or made._brought

    with voice.warning():
        size_forecast.refuse_too_large(study, asked, study._limited(limits), size_forecast.ON_THE_LINE)


def _inputs(study: Study) -> list[str]:
    """Files of the study that a release must leave as they are."""
    spec = study.spec
    places = [one.known_as for one in spec.further.values() if one.path]
    further = [str(place) for place in places if isinstance(place, Path)]
    return [spec.source, *further, *([] if spec.ledger is None else [spec.ledger])]


def _writable(stem: Path, suffixes: Sequence[str], inputs: Sequence[str], *, force: bool) -> None:
    try:
        for place in targets(stem, suffixes):
            if place.is_dir():
                raise SpecError(f"{place} is a folder: choose another name with --out.")
            refuse_replacing(place, inputs)
            if os.path.lexists(place) and not force:
                raise SpecError(f"{place} exists. Choose another name with --out, or overwrite it with --force.")
    except (OSError, ValueError):
        raise SpecError(f"{str(stem)[:40]}… is no name for files: choose another with --out.") from None
    if not os.access(stem.parent, os.W_OK | os.X_OK):
        raise SpecError(f"The answers could not be written to {stem.parent}: it is missing or not yours.")


def targets(stem: Path, suffixes: Sequence[str] = SUFFIXES) -> tuple[Path, ...]:
    """The files a release writes."""
    return tuple(stem.with_name(stem.name + suffix) for suffix in suffixes)


def ask_first(
    voice: Voice,
    study: Study,
    item: ReleaseSpec,
    about: Record,
    planned: Callable[[], Plan],
) -> None:
    """At a terminal: the plan, then the question; of a request that is answered already, that it costs nothing.

    Parameters
    ----------
    voice : Voice
    study : Study
    item : ReleaseSpec
    about : Record
        Who asks, the request id, and why epsilon may be above 10.
    planned : function
        Gives the plan of the release.

    Raises
    ------
    UserAbort
        When the answer is not yes.
    """
    import sys

    if not sys.stdin.isatty():
        return
    if (receipt := _stored_under(study, item, about)) is not None:
        confirm(f"Give the stored answer of {receipt} again? Nothing is charged.", yes=False)
        return
    made = planned()
    voice.say(*plan_parts(made, item.name, estimands=False))
    confirm(f"Release, and spend {words(made.guarantee.loss)}?", yes=False)


def _stored_under(study: Study, item: ReleaseSpec, about: Record) -> str | None:
    """The receipt of the release that was made under this request id; None where there is none."""
    if about.request_id is None:
        return None
    from reticent.study.preparation import read_questions
    from reticent.study.stored_answer import earlier, request_digest

    within = Cost.read(item.epsilon, item.rho, item.delta, about.override)
    digest = request_digest(read_questions(study, item.ask), within, None, study)
    found = earlier(study, (about.request_id, digest), about.who)
    return None if found is None else found[1].id


def publish(
    voice: Voice,
    made: Release,
    stem: Path,
    suffixes: Sequence[str],
    *,
    force: bool,
    selection: Selection | None = None,
) -> None:
    """Write the files, then print; the answers are printed even where they cannot be written.

    A name that was taken since it was looked at keeps its file; then these have the receipt in theirs. Where a stored
    answer is given again, its files stay as they are.

    Parameters
    ----------
    voice : Voice
        Output of the command.
    made : Release
        The release, already charged.
    stem : Path
        Path of the files without suffix.
    suffixes : sequence of str
        Endings of the files to write.
    force : bool
        True if files that exist are replaced.
    selection : Selection, optional
        Rows of a SELECT, printed in place of the answers.

    Raises
    ------
    SpecError
        The files cannot be written; the answers are printed by then.
    """
    voice.charged = "nothing" if made.stored else words(made.certificate.charged)
    try:
        stem, put = (stem, overwrite) if force else _free(made, stem, suffixes)
        written = [str(path) for path in save(made.certificate, stem, suffixes, put)]
    except OSError:
        written = []
    show(voice, made, written, selection)
    if not written:
        spent = "The ledger keeps the answer" if made.stored else f"{voice.charged} stays spent"
        only = "nothing more was charged." if made.stored else "what is printed here is the only copy."
        voice.say(f"The files could not be written. {spent}: {only} With --json it holds every number.")
        raise click.exceptions.Exit(exit_codes.FAULT)
    raise click.exceptions.Exit(exit_codes.DONE if made.replied else exit_codes.NO_REPLY)


def _free(made: Release, stem: Path, suffixes: Sequence[str]) -> tuple[Path, Callable[[Path, bytes], None]]:
    """A stem that is free or has this very release already, and how a file of it is written."""
    before = name_of(made.certificate.heading["study"]["source"]) if stem.name == made.receipt else stem.name
    behind = stem.with_name(f"{before or stem.name}-{made.receipt}")  # another study of this folder took its number
    for place in (stem, behind):
        if not any(map(os.path.lexists, targets(place, suffixes))):
            return place, create
        if _holds(place, made):
            return place, _add
    return behind, create  # refuses in its own words


def _holds(stem: Path, made: Release) -> bool:
    """True if the certificate of this release lies there."""
    try:
        return stem.with_name(f"{stem.name}.json").read_bytes() == made.certificate.to_json().encode()
    except OSError:
        return False


def _add(path: Path, content: bytes) -> None:
    if not os.path.lexists(path):
        create(path, content)


def show(voice: Voice, made: Release, written: Sequence[str], selection: Selection | None = None) -> None:
    """A release on standard output, what surrounds it on standard error.

    Parameters
    ----------
    voice : Voice
        Output of the command.
    made : Release
        The release.
    written : sequence of str
        Paths of the files that were written.
    selection : Selection, optional
        Rows of a SELECT, printed in place of the answers.
    """
    document = made.certificate.document
    promised, called = sentence(made.guarantee.loss, made.guarantee.adjacency), labels_of(made.certificate)
    left, approved = (words(loss) for loss in (made.certificate.left, made.certificate.approved))
    ending = [
        *layout.under("estimates", [f"{name}: {text}" for name, text in lines_of(made.certificate)]),
        *layout.under("columns", column_words(made.certificate)),
        *layout.under("note", (*(() if selection is None else selection.notes), *notes(made.certificate).whole)),
    ]
    if not made.replied:
        ending.append(("no reply", f"{cause(made.certificate)}. {layout.HOW_PROBABLE}"))
    ending.append(("guarantee", promised))
    if document["audit"] is not None:
        ending.append(("audit", audit_words(document["audit"])))
    if written:
        ending.append(("wrote", ", ".join(written)))
    if made.stored:
        ending.append(("charged", made.given_again))
    ending.append(("ledger", f"{left} of {approved} {'was left then' if made.stored else 'is left'}"))
    title = " · ".join(text for text in (document["name"], document["study"]["title"]) if text)
    voice.receipt(made.receipt)
    voice.result(
        {
            "verb": "release" if selection is None else "sql",
            "release": made.receipt,
            "name": document["name"],
            "charged": document["charged"],
            "stored": made.stored,
            "left": document["budget"]["left"],
            "guarantee": as_data(made.guarantee.loss, made.guarantee.adjacency),
            "replied": made.replied,
            "signed": made.certificate.signed,
            "answers": document["answers"],
            "caveats": list(made.certificate.caveats),
            "files": list(written),
            "audit": document["audit"],
            **({} if selection is None else {"columns": selection.columns()}),
        },
        *([title] if title else []),
        layout.selection(selection) if selection is not None else layout.answers(made.answers, called=called),
        layout.fields(ending),
    )
    if unread := [text for text in made.certificate.caveats if DECLARED in text]:
        voice.say(layout.fields(layout.under("warning", unread), style="yellow"))
    if not made.replied:
        voice.say(f"{layout.AGAIN} {listed(likelier(made.certificate), 'or')}.")
    if not made.certificate.signed:
        voice.say("The certificate is unsigned. To sign: reticent init --key officer, then release … --key officer.key")
