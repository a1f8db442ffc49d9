"""``plan``: the cost of a release, and the intervals to expect, without reading a row or spending anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from reticent.cli import layout, options
from reticent.cli.options import PublicGuess, Request, study_of, widths
from reticent.cli.output import typed
from reticent.cli.parser import AT_LEAST_ONE, Verb
from reticent.data.spec import ReleaseSpec
from reticent.errors import SpecError
from reticent.privacy.loss import words

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.sessions.outlook import SessionKind
    from reticent.study.plan import Plan
    from reticent.study.study import Study


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
    opened, wanted = study_of(study, extensions, engine), widths(want)
    if model is not None or session is not None or synth:
        if (model, session, synth or None).count(None) != 2 or columns is None or request.ask or wanted:
            raise click.BadParameter(
                "Give one of --model, --session and --synth, with --columns and without --ask and --want."
            )
        names = [name.strip() for name in columns.split(",")]
        if not all(names) or y == "":
            raise click.BadParameter("A name in --columns or --y is empty.")
        with voice.warning():
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
    with voice.warning():
        made = supposed.plan(opened, item, wanted)
    _show(voice, opened, made, item.name)


def _show(voice: Voice, opened: Study, made: Plan, name: str) -> None:
    voice.result({"verb": "plan", "release": name, **made.to_json()}, *plan_parts(made, name))
    if made.reason:
        voice.say("A release of this would be refused.")
    _say_size(voice, opened, made)


def _say_size(voice: Voice, opened: Study, made: Plan) -> None:
    """Tell the curator's terminal, and nobody else, what the size of the file means for this plan."""
    if not voice.at_terminal:
        return
    from reticent.study.size_forecast import ALONE, size_forecast

    try:
        found = size_forecast(opened, made._prepared or made._brought)
    except SpecError:  # of a header line: a release refuses it in words
        return
    if found is not None:
        voice.say(f"{found.words()} {ALONE}" if found.fits else found.refusal())


def _of_model(
    opened: Study, name: str, columns: list[str], y: str | None, request: Request, supposed: PublicGuess
) -> Plan:
    from reticent import learning
    from reticent.learning.fit.estimator import Estimator

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
