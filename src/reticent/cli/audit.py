"""``audit``: what can be verified by running the program, without a row of anybody's file."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.atomic_file import create
from reticent.cli import exit_codes, layout, options
from reticent.cli.options import Request, modules_of, study_of
from reticent.cli.output import typed
from reticent.cli.parser import AT_LEAST_ONE, PATH, Verb, argument
from reticent.conformance.alarm import Alarm
from reticent.errors import QuestionError, Refusal, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.conformance.alarm import Alarm
    from reticent.conformance.plan_audit import PlanAudit
    from reticent.conformance.report import AuditRefusal, Part, Verifications
    from reticent.conformance.report import Named as NamedPlan
    from reticent.data.spec import ReleaseSpec
    from reticent.statistics.extensions import Extension
    from reticent.study.study import Study


@click.command("audit", cls=Verb)
@argument(
    "study",
    type=PATH,
    required=False,
    metavar="STUDY",
    help="Audit the plans of its releases, or the one asked for.",
    shell_complete=options.completes("study_files"),
)
@options.request
@click.option(
    "--triples",
    type=AT_LEAST_ONE,
    metavar="NUMBER",
    help="Pairs of made-up tables a plan.  [default: 200; 50]",
)
@click.option("--kit", is_flag=True, help="The conformance kit on every mechanism.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first refutation.")
@click.option("--deep", is_flag=True, help="The kit with more draws: minutes.")
@click.option("--html", "page", type=PATH, metavar="FILE", help="Write the report as a page.")
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
def audit(
    voice: Voice,
    study: Path | None,
    request: Request,
    triples: int | None,
    kit: bool,
    fail_fast: bool,
    deep: bool,
    page: Path | None,
    extensions: tuple[str, ...],
) -> None:
    """Verify the program on made-up rows. No row is read. Exit code 6 if anything is found.

    With a STUDY: its plans, before a release; a question that is refused is named, and the others are run. With
    --with alone: the modules named. With nothing: built-in plans and the kit, for a privacy officer. Each refutation is
    printed as it is found.
    """
    from reticent.conformance.plan_audit import QUICK
    from reticent.conformance.report import PARTS, verified
    from reticent.statistics.extensions import read_extensions

    if study is None and not request.empty:
        raise click.BadParameter("Give the STUDY whose plan is meant.")
    given = read_extensions(modules_of(extensions))
    alone = given if study is None else ()
    everything = study is None and not kit and not given
    if deep and not (kit or study is None):
        raise click.BadParameter("--deep is about --kit.")
    if page is not None:
        _free(page)
    alarm = Alarm(lambda words: _found(voice, words), first=fail_fast)
    parts: tuple[Part, ...] = _of(alone) if alone else PARTS if everything else ("kit",) if kit else ()
    plans: list[NamedPlan] = []
    declined: list[AuditRefusal] = []
    title, day = "", ""
    if study is not None:
        opened = study_of(study, extensions)
        title, day = opened.title, datetime.now(UTC).date().isoformat()
        for item in _items(opened, request):
            if not alarm.over:
                _audited(voice, alarm, opened, item, triples, plans, declined)
        if not plans and not parts:
            raise QuestionError("\n".join(one.line if len(declined) > 1 else one.words for one in declined))
    found = verified(
        parts,
        deep=deep,
        triples=triples or QUICK,
        plans=plans,
        declined=declined,
        study=title,
        day=day,
        tell=lambda stage: _tell(voice, stage),
        alarm=alarm,
        extensions=alone,
    )
    written = [] if page is None else [_write(page, found)]
    shown = _brief(found) if everything else list(_parts(found))
    voice.end_line()
    voice.result(
        {"verb": "audit", **found.to_json()},
        *shown,
        *(f"wrote {path}" for path in written),
    )
    raise click.exceptions.Exit(_code(found))


def _tell(voice: Voice, stage: str) -> None:
    """The stage that begins, on a line of its own."""
    voice.end_line()
    voice.stage(stage)


def _found(voice: Voice, words: str) -> None:
    voice.end_line()
    voice.say(f"FOUND {words}")


def _of(extensions: Sequence[Extension]) -> tuple[Part, ...]:
    """Parts of an audit of extensions alone: their mechanisms and their statistics, as far as they have any."""
    mechanisms, statistics = (any(getattr(one, what) for one in extensions) for what in ("mechanisms", "statistics"))
    return (*(("kit",) if mechanisms else ()), *(("plans",) if statistics else ()))


def _code(found: Verifications) -> int:
    """6 where something was found; else 5 where something was refused."""
    if not found.passed:
        return exit_codes.CHECK
    return exit_codes.REFUSED if found.declined else exit_codes.DONE


def _free(page: Path) -> None:
    """Refuse a page that could not be written, before the work and not after it."""
    try:
        if page.exists():
            raise SpecError(f"{page} exists and is not overwritten. Name another file.")
    except (OSError, ValueError):
        raise SpecError(f"{str(page)[:40]}… is no name for a file: choose another.") from None
    if not os.access(page.parent, os.W_OK | os.X_OK):
        raise SpecError(f"{page} cannot be written: check that its folder exists and is yours.")


def _items(study: Study, request: Request) -> list[ReleaseSpec]:
    """Releases to audit: the named one, or all of the study file if none is named."""
    if request.named is None and not request.ask and len(study.spec.releases) > 1:
        return [replace(request, named=item.name).release(study) for item in study.spec.releases]
    return [request.release(study)]


def _audited(
    voice: Voice,
    alarm: Alarm,
    study: Study,
    item: ReleaseSpec,
    triples: int | None,
    plans: list[NamedPlan],
    declined: list[AuditRefusal],
) -> None:
    """Audit a release. If it is refused, find the questions it is refused for, and audit the others."""
    from reticent.conformance.report import AuditRefusal, refuted

    _tell(voice, f"made-up neighbours: {item.name or 'as asked'}")
    study = replace(study, on_rows=voice.rows if voice.at_terminal else None)
    try:
        plans += alarm.watch([(item.name, _run(study, item, triples))], refuted)
        return
    except Refusal as problem:
        whole = typed(str(problem))
    refused = {} if len(item.ask) < 2 or item.want else _refused_alone(study, item)
    kept = tuple(question for question in item.ask if question not in refused)
    if refused and kept:
        try:
            plans += alarm.watch([(item.name, _run(study, replace(item, ask=kept), triples))], refuted)
        except Refusal:
            refused = {}
    told = refused if refused and kept else {"" if len(item.ask) > 1 else "".join(item.ask): whole}
    declined += [AuditRefusal(item.name, question, words) for question, words in told.items()]


def _run(study: Study, item: ReleaseSpec, triples: int | None) -> PlanAudit:
    from reticent.conformance.plan_audit import TRIPLES

    return study.audit(
        list(item.ask),
        epsilon=item.epsilon,
        rho=item.rho,
        delta=item.delta,
        want=item.want or None,
        triples=triples or TRIPLES,
        override=item.override or study.spec.budget.override,
    )


def _refused_alone(study: Study, item: ReleaseSpec) -> dict[str, str]:
    """The questions of a release that are refused when they are asked alone, with the reason."""
    found = {}
    for question in item.ask:
        try:
            _run(study, replace(item, ask=(question,)), 1)
        except Refusal as problem:
            found[question] = typed(str(problem))
    return found


def _write(page: Path, found: Verifications) -> Path:
    from reticent.conformance.report import page as page_of

    try:
        create(page, page_of(found).encode())
    except OSError:
        raise SpecError(f"{page} cannot be written: check that its folder exists and is yours.") from None
    return page


def _brief(found: Verifications) -> list[Passage]:
    """The report for a privacy officer."""
    from reticent.conformance.report import program

    parts: list[Passage] = [found.summary]
    for section in found.sections:
        lines = [("what", section.what), ("how", section.how), ("how much", section.extent), ("result", section.result)]
        parts += [f"\n{section.title}", layout.fields([*lines, *layout.under("FOUND", section.findings)])]
    return [*parts, "\nNot verified", layout.fields(("-", text) for text in found.not_verified), f"\n{program()}"]


def _parts(found: Verifications) -> Iterator[Passage]:
    """A table for each part, what was found, and one sentence."""
    from reticent.conformance import report

    for name, audited in found.plans or ():
        if name:
            yield name
        yield layout.columns(report.PLAN_HEADS, report.plan_rows(audited), right=(1, 2), wrap=[0])
    if found.kit is not None:
        yield layout.columns(report.KIT_HEADS, report.kit_rows(found.kit), right=range(2, 5), wrap=[1])
    if found.plans and (notes := report.plan_notes(found.plans)):
        yield layout.fields(notes)
    for section in found.sections:
        if section.findings:
            yield layout.fields(layout.under("FOUND", section.findings))
    if found.declined:
        yield layout.fields(layout.under("REFUSED", [one.line for one in found.declined]))
    yield report.program()
    yield found.summary
