"""``check``: mistakes of a study file, without reading a row."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.options import PublicGuess, modules_of, study_of
from reticent.cli.parser import Verb
from reticent.data.expression_tree import WORDS
from reticent.data.file_kinds import kind_of
from reticent.data.format import in_database, sign_words, toml_key
from reticent.data.further_tables import check_further
from reticent.data.schema import Integer, Real
from reticent.data.study_file import absent_files, header_problems, warnings
from reticent.errors import Refusal, SpecError, first_of
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.explain import odds
from reticent.privacy.loss import words
from reticent.privacy.numbers import at_most
from reticent.statistics.grammar import parse
from reticent.statistics.shares import MANY
from reticent.study.formulas import of_question

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec, Spec
    from reticent.study.study import Study


@click.command("check", cls=Verb)
@options.study
@click.option("--no-source", is_flag=True, help="The source is elsewhere: that it is not here is no failure.")
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("planning the releases")
def check(voice: Voice, study: Path, no_source: bool, extensions: tuple[str, ...]) -> None:
    """Read the study file and the names of columns: what is wrong, what to know. No row is read.

    Exit code 6 if the source is not there, unless --no-source says that it is elsewhere.
    """
    try:
        opened = study_of(study, extensions)
    except SpecError as refused:
        from reticent.study.file_problems import more_problems

        raise SpecError(*refused.problems, *more_problems(study, modules_of(extensions))) from None
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # of a plan: all columns are warned of below
        doubts, problems = _askable(opened)
    problems += _header_problems(opened.spec)
    if problems:
        raise SpecError(*problems)
    warned, noted = (*warnings(opened.spec), *doubts), (*_notes(opened.spec), *_layout(opened.spec))
    names = [item.name for item in opened.spec.releases]
    absent = () if no_source else absent_files(opened.spec)
    voice.result(
        {
            "verb": "check",
            "study": opened.title,
            "ok": not absent,
            "warnings": list(warned),
            "notes": list(noted),
            "releases": names,
            "format": format_to_json(opened.spec),
        },
        f"{study}  {'FAILED' if absent else 'ok'}",
        *([] if not noted else [layout.fields(layout.under("note", noted))]),
    )
    if warned:
        voice.say(layout.fields(layout.under("warning", warned), style="yellow"))
    if absent:
        voice.say("If the source is elsewhere on purpose: check --no-source.")
    raise click.exceptions.Exit(exit_codes.CHECK if absent else exit_codes.DONE)


def _header_problems(spec: Spec) -> list[str]:
    """Words about declared columns that no file has, or has in a type that cannot be read.

    There are none where the source is not there yet, or in a database.
    """
    if in_database(spec.source) or not glob.glob(spec.source, recursive=True):
        return []
    if found := header_problems(Path(spec.source), spec):
        return [*found]
    try:
        check_further(spec.schema, spec.further)
    except SpecError as error:
        return list(error.problems)
    return []


def _askable(opened: Study) -> tuple[list[str], list[str]]:
    """Plan every release of the file: doubts, and problems that would refuse one.

    If the number of people is public but not declared, a plan assumes one. A question that only more people would allow
    then gets a warning, not a refusal.
    """
    doubts: list[str] = []
    problems: list[str] = []
    for item in opened.spec.releases:
        refused, noted = _refusals(opened, item, None)
        said = [f"[[release]] '{item.name}': {problem}" for problem in refused]
        doubts += [f"[[release]] '{item.name}': {note}." for note in noted]
        person = opened.schema.person
        enough = person.people is None and person.neighbours().size_public and not _refusals(opened, item, MANY)[0]
        if said and enough:
            doubts += [f"{problem} (People were assumed: [person] people is not declared.)" for problem in said]
        else:
            problems += said
    return doubts, problems


def _refusals(opened: Study, item: ReleaseSpec, people: int | None) -> tuple[list[str], tuple[str, ...]]:
    """Why a release would be refused: for each question that is refused alone, else for the whole. Else its notes."""
    try:
        return [], PublicGuess(people).plan(opened, item).noted
    except Refusal as problem:
        whole = str(problem)
    alone: list[str] = []
    for question in item.ask if len(item.ask) > 1 and not item.want else ():
        try:
            PublicGuess(people).plan(opened, replace(item, ask=(question,)))
        except Refusal as problem:
            alone.append(of_question(question, str(problem)))
    return alone or [whole], ()


def _notes(spec: Spec) -> tuple[str, ...]:
    """The budget in odds, and columns whose made-up values are off the grid of the records."""
    epsilon, _ = epsilon_delta(spec.budget.loss)
    once, twice = (f"×{at_most(odds(epsilon, 0.5, times=times).factor)}" for times in (1, 2))
    said = f"{spec.schema.person.adjacency} with a budget of {words(spec.budget.loss)}"
    if spec.schema.person.adjacency == "add_remove":
        said += f": one person's presence changes any odds by at most {once}; what their record says, {twice}."
    else:
        said += f": what one person's record says changes any odds by at most {once}; presence is not hidden."
    return (said, *_worded(spec), *_unround(spec))


def _worded(spec: Spec) -> Iterator[str]:
    """A note on columns that are named like a word of the grammar."""
    if named := [name for name in spec.schema.cells if name.lower() in WORDS]:
        yield f"A filter or a formula reads {first_of(named)} as its own word: write `{named[0]}` there, in backticks."


def _unround(spec: Spec) -> Iterator[str]:
    """A note on each column of a density that declares no resolution."""
    asked: list[str] = []
    for text in dict.fromkeys(text for item in spec.releases for text in item.ask if text.startswith("density")):
        asked += getattr(parse(text).statistic, "names", ())  # of a density; its module is not loaded for it
    for name in dict.fromkeys(asked):
        column = spec.schema.columns.get(name)
        if isinstance(column, Real) and column.resolution is None:
            where = f"[columns.{toml_key(name)}] resolution"
            yield f"Made-up values of {name} are not round. If those of the records are, say so: {where}."


def format_to_json(spec: Spec) -> dict[str, object]:
    """The format of the source as the study file declares it."""
    form = spec.schema.format
    numbers = {"decimal": form.decimal, "thousands": form.thousands, "na": list(form.na)}
    if form.symbols:
        numbers["symbols"] = list(form.symbols)
    return {"delimiter": spec.delimiter, "encoding": form.encoding, **numbers}


def _layout(spec: Spec) -> tuple[str, ...]:
    """Reading of text in the source: all of it in CSV files, else numbers and missing values."""
    form = spec.schema.format
    if kind_of(Path(spec.source)) != "csv":
        return () if form.plain and not form.na else (f"Text is read as: {form.words().partition(', ')[2]}.",)
    dates = "".join(
        f", {name} like {column.calendar.forms}"
        for name, column in spec.schema.stored.items()
        if isinstance(column, Integer) and column.calendar is not None
    )
    signs = "" if form.symbols else ' A cell such as 5 % or € 5 is no number; symbols = ["%", "€"] would make it one.'
    if not form.thousands:
        sample, other = ("1.977,61", ".") if form.decimal == "," else ("1,977.61", ",")
        signs += f' {sample} is no number; thousands = "{other}" would make it one.'
    return (f"The file is read as: {sign_words(spec.delimiter)} between cells, {form.words()}{dates}.{signs}",)
