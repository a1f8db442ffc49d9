"""``rehearse``: a release on made-up rows, without reading a row or spending anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.certificate.record import answer_to_json
from reticent.cli import layout, options
from reticent.cli.options import Request, study_of
from reticent.cli.parser import AT_LEAST_ONE, Verb
from reticent.privacy.explain import as_data, sentence

if TYPE_CHECKING:
    from reticent.cli.output import Voice


@click.command("rehearse", cls=Verb)
@options.study
@options.request
@click.option("--people", type=AT_LEAST_ONE, metavar="NUMBER", help="People to make up, instead of those declared.")
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
    people: int | None,
    rows: str | None,
    engine: tuple[str, ...],
    extensions: tuple[str, ...],
) -> None:
    """The same release on made-up rows: free, repeatable, about nobody. Your file is not read."""
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
            "people": found.people,
            "answers": [answer_to_json(answer) for answer in found.answers],
            "caveats": list(found.caveats),
            "guarantee": as_data(found.guarantee.loss, found.guarantee.adjacency),
        },
        f"Made-up rows for {found.people:,} people; your file was not read and nothing was charged.",
        layout.answers(found.answers),
        layout.fields([*layout.under("note", found.caveats), ("guarantee", promised)]),
    )
