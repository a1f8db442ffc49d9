"""``check``, ``plan``, ``rehearse``: what can be done without reading a row or spending anything."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.options import PublicGuess, Request, study_of, widths
from reticent.cli.parser import AT_LEAST_ONE, Verb
from reticent.data.format import in_database, sign_words, toml_key
from reticent.data.schema import Integer, Real
from reticent.errors import Refusal, SpecError
from reticent.privacy.loss import words

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.data.spec import ReleaseSpec, Spec
    from reticent.sessions.outlook import SessionKind
    from reticent.study.plan import Plan
    from reticent.study.study import Study

MANY: Final = 10**8  # people of a study that is larger than any question needs


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
    from reticent.data.study_file import absent_files, warnings

    try:
        opened = study_of(study, extensions)
    except SpecError as refused:
        from reticent.cli.extensions import modules_of
        from reticent.study.file_problems import more_problems

        raise SpecError(*refused.problems, *more_problems(study, modules_of(extensions))) from None
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
    """Words about declared columns that no file has; none where the source is not there yet, or in a database.

    A Parquet file alone is not opened: its reader takes longer to load than the rest of a check.
    """
    if in_database(spec.source) or not glob.glob(spec.source):
        return []
    from reticent.data.file_kinds import kind_of

    if kind_of(Path(spec.source)) == "parquet" and not spec.further:
        return []
    from reticent.data.columns import wanted
    from reticent.data.further_tables import check_further
    from reticent.data.source import absence, absent_columns

    try:
        if missing := absent_columns(Path(spec.source), spec.schema, spec.delimiter):
            form = spec.schema.format
            return [
                absence(
                    missing,
                    Path(spec.source),
                    delimiter=spec.delimiter,
                    encoding=form.encoding,
                    declared=wanted(spec.schema),
                )
            ]
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
        said = [f"[[release]] '{item.name}': {problem}" for problem in _refusals(opened, item, None)]
        person = opened.schema.person
        enough = person.people is None and person.neighbours().size_public and not _refusals(opened, item, MANY)
        if said and enough:
            doubts += [f"{problem} (People were assumed: [person] people is not declared.)" for problem in said]
        else:
            problems += said
    return doubts, problems


def _refusals(opened: Study, item: ReleaseSpec, people: int | None) -> list[str]:
    """Why a release would be refused: for each question that is refused alone, else for the whole; empty if not."""
    try:
        planned(opened, item, PublicGuess(people))
    except Refusal as problem:
        whole = str(problem)
    else:
        return []
    alone: list[str] = []
    for question in item.ask if len(item.ask) > 1 and not item.want else ():
        try:
            planned(opened, replace(item, ask=(question,)), PublicGuess(people))
        except Refusal as problem:
            alone.append(str(problem))
    return alone or [whole]


def planned(opened: Study, item: ReleaseSpec, supposed: PublicGuess, want: dict[str, float] | None = None) -> Plan:
    """The plan of a release, with the public numbers and the half-widths that were typed besides.

    Parameters
    ----------
    opened : Study
    item : ReleaseSpec
    supposed : PublicGuess
    want : dict of name to half-width, optional

    Returns
    -------
    Plan

    Raises
    ------
    Refusal
        As the release would be refused.
    """
    wanted = {**item.want, **(want or {})}
    passing = item.passing if supposed.passing is None else supposed.passing
    return (opened if passing is None else opened.passing(passing)).plan(
        list(item.ask),
        epsilon=item.epsilon,
        rho=item.rho,
        delta=item.delta,
        people=supposed.people,
        rows=supposed.rows,
        want=wanted or None,
        override=item.override or opened.spec.budget.override,
    )


def _notes(spec: Spec) -> tuple[str, ...]:
    """The budget in odds, and columns whose made-up values are off the grid of the records."""
    from reticent.privacy.convert import epsilon_delta
    from reticent.privacy.explain import odds

    epsilon, _ = epsilon_delta(spec.budget.loss)
    once, twice = (f"×{odds(epsilon, 0.5, times=times).factor:,.3g}" for times in (1, 2))
    said = f"{spec.schema.person.adjacency} with a budget of {words(spec.budget.loss)}"
    if spec.schema.person.adjacency == "add_remove":
        said += f": one person's presence changes any odds by at most {once}; what their record says, {twice}."
    else:
        said += f": what one person's record says changes any odds by at most {once}; presence is not hidden."
    return (said, *_unround(spec))


def _unround(spec: Spec) -> Iterator[str]:
    """A note on each column of a density that declares no resolution."""
    from reticent.statistics.grammar import parse

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
    from reticent.data.file_kinds import kind_of

    form = spec.schema.format
    if kind_of(Path(spec.source)) != "csv":
        return () if form.plain and not form.na else (f"text is read as: {form.words().partition(', ')[2]}",)
    doubt = "" if spec.has_decimal else form.doubt(spec.delimiter)
    doubt = f'. {doubt} To say so: decimal = "," in [study].' if doubt else ""
    dates = "".join(
        f", {name} like {column.calendar.forms}"
        for name, column in spec.schema.stored.items()
        if isinstance(column, Integer) and column.calendar is not None
    )
    signs = "" if form.symbols else '. A cell such as 5 % or € 5 is no number; symbols = ["%", "€"] would make it one'
    return (f"the file is read as: {sign_words(spec.delimiter)} between cells, {form.words()}{dates}{signs}{doubt}",)


@click.command("plan", cls=Verb)
@options.study
@options.request
@options.supposed
@click.option(
    "--want",
    multiple=True,
    metavar="QUESTION=WIDTH",
    help='Accuracy first: "mean(x)=0.02". May be repeated.',
    shell_complete=options.completes("columns"),
)
@click.option("--model", metavar="NAME", help="Plan a fit of this model, such as LinearRegression, to --columns.")
@click.option("--session", metavar="KIND", help="Plan a session about --columns, such as sparse_vector.")
@click.option("--synth", is_flag=True, help="Plan made-up rows with --columns.")
@click.option(
    "--columns",
    metavar="NAMES",
    help="Of a model, a session or made-up rows, with commas.",
    shell_complete=options.completes("columns"),
)
@click.option(
    "--y",
    metavar="NAME",
    help="The column that a model is to tell.",
    shell_complete=options.completes("columns"),
)
@click.option("--answers", type=AT_LEAST_ONE, metavar="NUMBER", help="Rounds, or answers above, of a session.")
@options.engine
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("planning")
def plan(
    voice: Voice,
    study: Path,
    request: Request,
    supposed: PublicGuess,
    want: tuple[str, ...],
    model: str | None,
    session: str | None,
    synth: bool,
    columns: str | None,
    y: str | None,
    answers: int | None,
    engine: tuple[str, ...],
    extensions: tuple[str, ...],
) -> None:
    """Plan a release: its cost, and the intervals to expect. Free: no row is read, nothing is charged.

    With --model, --session or --synth: the plan of one fit, of one session, or of made-up rows.
    """
    from reticent.data.spec import ReleaseSpec

    opened, wanted = study_of(study, extensions, engine), widths(want)
    if model is not None or session is not None or synth:
        if (model, session, synth or None).count(None) != 2 or columns is None or request.ask or wanted:
            raise click.BadParameter(
                "Give one of --model, --session and --synth, with --columns and without --ask and --want."
            )
        names = [name.strip() for name in columns.split(",")]
        if not all(names) or y == "":
            raise click.BadParameter("A name in --columns or --y is empty.")
        if model is not None:
            single = _of_model(opened, model, names, y, request, supposed)
        elif synth:
            single = opened.synthesis_plan(
                names,
                epsilon=request.epsilon,
                rho=request.rho,
                delta=request.delta,
                people=supposed.people,
                rows=supposed.rows,
            )
        else:
            single = _of_session(opened, str(session), names, answers, request, supposed)
        _show(voice, opened, single, "")
        return
    alone = wanted is not None and not request.ask and request.named is None
    item = request.at_cost(ReleaseSpec("", ())) if alone else request.release(opened)
    made = planned(opened, item, supposed, wanted)
    _show(voice, opened, made, item.name)


def _show(voice: Voice, opened: Study, made: Plan, name: str) -> None:
    say_doubts(voice, opened, made)
    voice.result({"verb": "plan", "release": name, **made.to_json()}, *plan_parts(made, name))
    if not made.affordable:
        voice.say("A release of this would be refused.")
    _say_size(voice, opened, made)


def _say_size(voice: Voice, opened: Study, made: Plan) -> None:
    """Tell the curator's terminal, and nobody else, what the size of the file means for this plan."""
    if not voice.at_terminal:
        return
    from reticent.study.size_forecast import ALONE, size_forecast

    try:
        found = size_forecast(opened, made)
    except SpecError:  # of a header line: a release refuses it in words
        return
    if found is not None:
        voice.say(f"{found.words()} {ALONE}" if found.fits else found.refusal())


def say_doubts(voice: Voice, opened: Study, made: Plan) -> None:
    """Warn of the columns of a plan whose cells may be spelt otherwise than declared, as ``check`` does of all.

    Parameters
    ----------
    voice : Voice
    opened : Study
    made : Plan
    """
    from reticent.data.study_file import notation_doubts

    doubts = notation_doubts(opened.spec)
    if not doubts or made._prepared is None:
        return
    asked = made._prepared.columns_asked(opened.schema)
    said = [words for columns, words in doubts if asked & {*columns}]
    if said:
        voice.doubt(said, layout.fields(layout.under("warning", said), style="yellow"))


def _of_model(
    opened: Study, name: str, columns: list[str], y: str | None, request: Request, supposed: PublicGuess
) -> Plan:
    from reticent import learning
    from reticent.learning.estimator import Estimator

    kinds = [getattr(learning, one) for one in learning.__all__]
    known = {kind.__name__: kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Estimator)}
    del known["Clip"]  # it learns nothing and is free
    if name not in known:
        raise click.BadParameter(f"There is no model {name}. Known: {', '.join(known)}.")
    if request.epsilon is None:
        raise click.BadParameter("A fit needs --epsilon.")
    model = known[name](epsilon=request.epsilon, delta=request.delta or 0)
    return opened.model_plan(model, columns, y, people=supposed.people, rows=supposed.rows)


def _of_session(
    opened: Study, kind: str, columns: list[str], answers: int | None, request: Request, supposed: PublicGuess
) -> Plan:
    if answers is None:
        raise click.BadParameter("A session needs --answers: its rounds, answers above, improvements or answers.")
    return opened.session_plan(
        cast("SessionKind", kind),  # checked there
        columns,
        answers=answers,
        epsilon=request.epsilon,
        rho=request.rho,
        delta=request.delta,
        people=supposed.people,
        rows=supposed.rows,
    )


def plan_parts(made: Plan, name: str, *, estimands: bool = True) -> list[Passage]:
    """A plan as a heading, a table, its notes and estimands, each said once.

    Parameters
    ----------
    made : Plan
    name : str
        Of the release; empty where it has none.
    estimands : bool
        False where a release will print them with its answers.

    Returns
    -------
    list of Passage
    """
    from reticent.cli.glossary import typed
    from reticent.study.plan_text import HEADS

    title = f"{name} · " if name else ""
    told = [f"{names}: {text}" for names, text in made.estimands()] if estimands else []
    rows, notes = made.marked()
    return [
        f"{title}{words(made.guarantee.loss)} · {made.guarantee.adjacency.words()}",
        typed(made.supposition()),
        layout.columns(HEADS, rows, right=(1, 2, 3, 4), wrap=[0], ranges=(2, 3, 4)),
        layout.fields(
            [*((f"{mark}:", note) for mark, note in notes), ("*", typed(made.footnote().removeprefix("* ")))]
        ),
        *([layout.fields(layout.under("estimates", told))] if told else []),
    ]


@click.command("rehearse", cls=Verb)
@options.study
@options.request
@click.option("--people", type=AT_LEAST_ONE, default=1000, metavar="NUMBER", help="How many people to make up.")
@options.rows
@options.engine
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("rehearsing on made-up rows")
def rehearse(
    voice: Voice,
    study: Path,
    request: Request,
    people: int,
    rows: str | None,
    engine: tuple[str, ...],
    extensions: tuple[str, ...],
) -> None:
    """The same release on made-up rows: free, repeatable, about nobody. Your file is not read."""
    from reticent.certificate.record import answer_to_json
    from reticent.privacy.explain import as_data, sentence

    opened = study_of(study, extensions, engine)
    item = request.release(opened)
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
    voice.result(
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
