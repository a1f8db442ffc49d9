"""``init``, ``check``, ``plan``, ``rehearse``: what can be done without reading a row or spending anything."""

from __future__ import annotations

import contextlib
import glob
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from reticent.cli import layout
from reticent.cli.options import (
    Asked,
    Delta,
    Epsilon,
    Json,
    Named,
    Rho,
    StudyFile,
    With,
    asked_of,
    study_of,
    voice_of,
    widths,
    write_new,
)
from reticent.errors import SpecError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reticent.data.format import Format
    from reticent.data.spec import ReleaseSpec, Spec
    from reticent.study.plan import Plan
    from reticent.study.study import Study

MANY: Final = 10**8  # people of a study that is larger than any question needs
Rows = Annotated[str | None, typer.Option(metavar="NUMBER", help="Rows of a person to assume, on average.")]
People = Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="How many people to assume.")]


def init(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A .csv or .parquet file.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="STUDY", help="Where to write it; by default FILE.toml.")] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="NAME", help="Write a key pair NAME.key and NAME.pub instead.")
    ] = None,
    header_is_names: Annotated[
        bool, typer.Option("--header-is-names", help="The first line holds names, although one looks like a value.")
    ] = False,
    delimiter: Annotated[str, typer.Option(metavar="SIGN", help="Between the cells of a CSV file.")] = ",",
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Of a CSV file, such as windows-1252.")] = "utf-8",
    decimal: Annotated[str, typer.Option(metavar="SIGN", help="The decimal sign of numbers.")] = ".",
    thousands: Annotated[str, typer.Option(metavar="SIGN", help="The sign between groups of three digits.")] = "",
    na: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text that counts as missing. May be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a study file to fill in, from names and types alone; or a key pair with --key.

    No row is read, and bounds are left empty on purpose: only you can state them without looking.
    """
    from reticent.data.format import Format

    if (file is None) == (key is None):
        raise typer.BadParameter("Give a FILE, or --key NAME.")
    if key is not None:
        _keys(ctx, key)
    elif file is not None:
        form = Format(encoding, decimal, thousands, tuple(na or ()))
        _study_file(ctx, file, out, delimiter, form, "names" if header_is_names else "unsure")


def _keys(ctx: typer.Context, name: Path) -> None:
    from reticent.certificate.keys import make_keys

    private, public = make_keys(name)
    voice_of(ctx).result(
        {"verb": "init", "private": str(private), "public": str(public)},
        f"wrote {private} (keep it to yourself: it signs) and {public} (give it to everyone: it checks)",
        f"sign with:   reticent release STUDY --key {private}",
        f"check with:  reticent verify CERTIFICATE --key {public}",
    )


def _study_file(
    ctx: typer.Context, file: Path, out: Path | None, delimiter: str, form: Format, header: Literal["names", "unsure"]
) -> None:
    from reticent.data.source import names_of
    from reticent.data.template import skeleton, skeleton_words

    if out is None and glob.has_magic(file.name):
        raise typer.BadParameter("Several files have no one name: say --out STUDY.toml.")
    text = skeleton(file, delimiter=delimiter, form=form, header=header)
    names = names_of(file, delimiter=delimiter, encoding=form.encoding)
    target = file.with_suffix(".toml") if out is None else out
    if target.resolve().parent != file.resolve().parent:  # the source is named as seen from the study file
        seen = os.path.relpath(file.resolve(), target.resolve().parent)
        text = text.replace(f"source = {_quoted(file.name)}", f"source = {_quoted(seen)}", 1)
    write_new(target, text, hint="Name another file: --out STUDY.toml")
    voice_of(ctx).result(
        {"verb": "init", "wrote": str(target), "columns": list(names)},
        " ".join(skeleton_words(names, str(target)).split()),
        f"Then: reticent check {target}",
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def check(ctx: typer.Context, study: StudyFile, extensions: With = None, as_json: Json = False) -> None:
    """Read the study file: what is wrong, what to know. The data are not opened."""
    from reticent.data.spec import warnings

    opened = study_of(study, extensions)
    doubts = [doubt for item in opened.spec.releases for doubt in _askable(opened, item)]
    warned, noted = (*warnings(opened.spec), *doubts), (*_notes(opened.spec), *_layout(opened.spec))
    voice = voice_of(ctx)
    names = [item.name for item in opened.spec.releases]
    voice.result(
        {
            "verb": "check",
            "study": opened.title,
            "ok": True,
            "warnings": list(warned),
            "notes": list(noted),
            "releases": names,
            "format": format_to_json(opened.spec),
        },
        f"{study}  ok",
        *([] if not noted else [layout.fields(layout.under("note", noted))]),
    )
    if warned:
        voice.say(layout.fields(layout.under("warning", warned), style="yellow"))


def _askable(opened: Study, item: ReleaseSpec) -> tuple[str, ...]:
    """Plan a release of the file, so that a question that cannot be asked is found before anyone releases.

    If the number of people is public but not declared, a plan assumes one. A question that only more people would allow
    then gets a warning, not a refusal.
    """
    from reticent.errors import Refusal

    person = opened.schema.person
    try:
        _planned(opened, item, None, None, None)
    except Refusal as problem:
        said = f"[[release]] '{item.name}': {problem}"
        if person.people is not None or not person.neighbours().size_public:
            raise SpecError(said) from None
        with contextlib.suppress(Refusal):
            _planned(opened, item, MANY, None, None)
            return (f"{said} (People were assumed: [person] people is not declared.)",)
        raise SpecError(said) from None
    return ()


def _planned(
    opened: Study, item: ReleaseSpec, people: int | None, rows: str | None, want: dict[str, float] | None
) -> Plan:
    wanted = {**item.want, **(want or {})}
    return opened.plan(
        list(item.ask),
        epsilon=item.epsilon,
        rho=item.rho,
        delta=item.delta,
        people=people,
        rows=rows,
        want=wanted or None,
        override=item.override or opened.spec.budget.override,
    )


def _notes(spec: Spec) -> tuple[str, ...]:
    """The budget in odds."""
    from reticent.privacy.explain import epsilon_delta, odds
    from reticent.privacy.loss import words

    epsilon, _ = epsilon_delta(spec.budget.loss)
    once, twice = (f"×{odds(epsilon, 0.5, times=times).factor:,.3g}" for times in (1, 2))
    said = f"{spec.schema.person.adjacency} with a budget of {words(spec.budget.loss)}"
    if spec.schema.person.adjacency == "add_remove":
        return (f"{said}: one person's presence changes any odds by at most {once}; what their record says, {twice}.",)
    return (f"{said}: what one person's record says changes any odds by at most {once}; presence is not hidden.",)


def format_to_json(spec: Spec) -> dict[str, object]:
    """The format of the source as the study file declares it."""
    form = spec.schema.format
    numbers = {"decimal": form.decimal, "thousands": form.thousands, "na": list(form.na)}
    return {"delimiter": spec.delimiter, "encoding": form.encoding, **numbers}


def _layout(spec: Spec) -> tuple[str, ...]:
    """Reading of text in the source: all of it in CSV files, else numbers and missing values."""
    form = spec.schema.format
    if Path(spec.source).suffix.lower() in {".parquet", ".pq"}:
        return () if form.plain and not form.na else (f"text is read as: {form.words().partition(', ')[2]}",)
    return (f"the file is read as: cells between '{spec.delimiter}', {form.words()}",)


def plan(
    ctx: typer.Context,
    study: StudyFile,
    release: Named = None,
    ask: Asked = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    people: People = None,
    rows: Rows = None,
    want: Annotated[
        list[str] | None,
        typer.Option(metavar="QUESTION=WIDTH", help='Accuracy first: "mean(x)=0.02". May be repeated.'),
    ] = None,
    extensions: With = None,
    as_json: Json = False,
) -> None:
    """Plan a release: its cost, and the intervals to expect. Free: no row is read, nothing is charged."""
    from reticent.data.spec import ReleaseSpec

    opened, wanted = study_of(study, extensions), widths(want)
    alone = wanted is not None and not ask and release is None
    item = ReleaseSpec("", ()) if alone else asked_of(opened, release, ask, epsilon, delta, rho)
    made = _planned(opened, item, people, rows, wanted)
    voice = voice_of(ctx)
    voice.result(
        {"verb": "plan", "release": item.name, **made.to_json()},
        *plan_parts(made, item.name),
    )
    if not made.affordable:
        voice.say("A release of this would be refused.")


def plan_parts(made: Plan, name: str) -> list[RenderableType]:
    """A plan as a heading, a table, its notes and estimands, each said once."""
    from reticent.privacy.loss import words

    title = f"{name} · " if name else ""
    estimands = [f"{names}: {text}" for names, text in made.estimands()]
    rows, notes = made.marked()
    heads = ("statistic", "loss", "± noise", "± sampling*", "")
    return [
        f"{title}{words(made.guarantee.loss)} · {made.guarantee.adjacency.words()}",
        layout.columns(heads, rows, right=(1, 2, 3), wrap=[0]),
        layout.fields([*notes, ("*", made.footnote().removeprefix("* "))]),
        layout.fields(layout.under("estimates", estimands)),
    ]


def rehearse(
    ctx: typer.Context,
    study: StudyFile,
    release: Named = None,
    ask: Asked = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    people: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many people to make up.")] = 1000,
    rows: Rows = None,
    extensions: With = None,
    as_json: Json = False,
) -> None:
    """The same release on made-up rows: free, repeatable, about nobody. Your file is not read."""
    from reticent.certificate.answers import answer_to_json
    from reticent.privacy.explain import as_data, sentence

    opened = study_of(study, extensions)
    item = asked_of(opened, release, ask, epsilon, delta, rho)
    found = opened.rehearse(
        list(item.ask),
        epsilon=item.epsilon,
        rho=item.rho,
        delta=item.delta,
        people=people,
        rows=rows,
        override=item.override or opened.spec.budget.override,
    )
    promised = sentence(found.guarantee.loss, found.guarantee.adjacency)
    voice_of(ctx).result(
        {
            "verb": "rehearse",
            "made_up": True,
            "people": people,
            "answers": [answer_to_json(answer) for answer in found.answers],
            "caveats": list(found.caveats),
            "guarantee": as_data(found.guarantee.loss, found.guarantee.adjacency),
        },
        f"Made-up rows for {people:,} people; your file was not read and nothing was charged.",
        layout.answers(found.answers),
        layout.fields([*layout.under("note", found.caveats), ("guarantee", promised)]),
    )
