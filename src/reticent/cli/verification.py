"""``audit``: what can be verified by running the program, without a row of anybody's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli import boundary, layout
from reticent.cli.options import Asked, Delta, Epsilon, Json, Named, Rho, asked_of, study_of, voice_of
from reticent.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from reticent.audit.report import Named as NamedPlan
    from reticent.audit.report import Part, Verified
    from reticent.cli.voice import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.study.study import Study


def audit(
    ctx: typer.Context,
    study: Annotated[
        Path | None, typer.Argument(metavar="STUDY", help="Audit the plans of its releases, or the one asked for.")
    ] = None,
    release: Named = None,
    ask: Asked = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    triples: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Pairs of made-up tables a plan.  [default: 200; 50]")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="The exact laws on small domains.")] = False,
    kit: Annotated[bool, typer.Option("--kit", help="The conformance kit on every mechanism.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Of these, larger domains and more draws: minutes.")] = False,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page.")] = None,
    as_json: Json = False,
) -> None:
    """Verify the program on made-up rows. No row is read. Exit code 6 if anything is found.

    With a STUDY: its plans, before a release. With nothing: all of it, briefly, for a privacy officer.
    """
    from reticent.audit.plan import QUICK
    from reticent.audit.report import PARTS, verified

    if study is None and (release, ask, epsilon, delta, rho) != (None,) * 5:
        raise typer.BadParameter("Give the STUDY whose plan is meant.")
    everything = study is None and not exact and not kit
    if deep and not (exact or kit or everything):
        raise typer.BadParameter("--deep is about --exact and --kit.")
    if page is not None:
        _free(page)
    voice = voice_of(ctx)
    wanted: dict[Part, bool] = {"exact": exact, "kit": kit, "plans": False}
    parts = PARTS if everything else [part for part, is_wanted in wanted.items() if is_wanted]
    plans: tuple[NamedPlan, ...] = ()
    if study is not None:
        opened = study_of(study)
        items = _items(opened, release, ask, epsilon, delta, rho)
        plans = tuple(_audited(voice, opened, items, triples))
    found = verified(parts, deep=deep, triples=triples or QUICK, plans=plans, tell=lambda stage: _tell(voice, stage))
    written = [] if page is None else [_write(page, found)]
    shown = _brief(found) if everything else list(_parts(found))
    voice.result(
        {"verb": "audit", **found.to_json()},
        *shown,
        *(f"wrote {path}" for path in written),
    )
    raise typer.Exit(boundary.DONE if found.passed else boundary.CHECK)


def _free(page: Path) -> None:
    """Refuse a page that could not be written, before the work and not after it."""
    try:
        if page.exists():
            raise SpecError(f"{page} exists and is not overwritten. Name another file.")
    except (OSError, ValueError):
        raise SpecError(f"{str(page)[:40]}… is no name for a file: choose another.") from None
    if not os.access(page.parent, os.W_OK | os.X_OK):
        raise SpecError(f"{page} cannot be written: check that its folder exists and is yours.")


def _tell(voice: Voice, stage: str) -> None:
    voice.say(f"{stage} …")


def _items(
    study: Study, name: str | None, ask: list[str] | None, epsilon: str | None, delta: str | None, rho: str | None
) -> list[ReleaseSpec]:
    """What is audited: the release meant, or each of the study file where none is named."""
    if name is None and not ask and len(study.spec.releases) > 1:
        return [asked_of(study, item.name, None, epsilon, delta, rho) for item in study.spec.releases]
    return [asked_of(study, name, ask, epsilon, delta, rho)]


def _audited(voice: Voice, study: Study, items: list[ReleaseSpec], triples: int | None) -> Iterator[NamedPlan]:
    from reticent.audit.plan import TRIPLES

    for item in items:
        _tell(voice, f"made-up neighbours: {item.name or 'as asked'}")
        yield (
            item.name,
            study.audit(
                list(item.ask),
                epsilon=item.epsilon,
                rho=item.rho,
                delta=item.delta,
                want=item.want or None,
                triples=triples or TRIPLES,
            ),
        )


def _write(page: Path, found: Verified) -> Path:
    from reticent.audit.report import page as page_of

    try:
        with page.open("x", encoding="utf-8") as opened:
            opened.write(page_of(found))
    except OSError:
        raise SpecError(f"{page} cannot be written: check that its folder exists and is yours.") from None
    return page


def _brief(found: Verified) -> list[RenderableType]:
    """The report for a privacy officer."""
    parts: list[RenderableType] = [found.summary]
    for section in found.sections:
        lines = [("what", section.what), ("how", section.how), ("how much", section.extent), ("result", section.result)]
        parts += [f"\n{section.title}", layout.fields([*lines, *layout.under("FOUND", section.findings)])]
    return [*parts, "\nNot verified", layout.fields(("-", text) for text in found.not_verified)]


def _parts(found: Verified) -> Iterator[RenderableType]:
    """A table for each part, what was found, and one sentence."""
    from reticent.audit import report

    for name, audited in found.plans or ():
        if name:
            yield name
        yield layout.columns(report.PLAN_HEADS, report.plan_rows(audited), right=(1, 2), wrap=[0])
    if found.exact is not None:
        yield layout.columns(report.EXACT_HEADS, report.exact_rows(found.exact), right=range(3, 7), wrap=[1, 2, 7])
    if found.kit is not None:
        yield layout.columns(report.KIT_HEADS, report.kit_rows(found.kit), right=range(2, 5), wrap=[1])
    for section in found.sections:
        if section.findings:
            yield layout.fields(layout.under("FOUND", section.findings))
    yield found.summary
