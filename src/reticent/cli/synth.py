"""``synth``: made-up rows with the law of the real ones, as a file. It spends, once; drawing the rows is free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reticent.certificate.record import Record
from reticent.cli import exit_codes, layout, options
from reticent.cli.options import PublicGuess, study_of
from reticent.cli.parser import AT_LEAST_ONE, PATH, PLACE, Verb
from reticent.cli.release import (
    RECEIPT,
    ask_first,
    planner,
    ready,
    received,
    refuse_too_large,
    spending,
    watched,
    with_ledger,
)
from reticent.data.spec import ReleaseSpec
from reticent.errors import QuestionError
from reticent.privacy.explain import as_data, sentence
from reticent.privacy.loss import words
from reticent.privacy.numbers import read
from reticent.statistics.density import DensityOf
from reticent.statistics.grammar import parse
from reticent.study.release_files import save

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.statistics.statistic import Ask
    from reticent.study.release import Release

FORMATS: Final = (".csv", ".parquet")
BESIDE: Final = (".json", ".html", ".svg")
CHECKS: Final = "auto"  # a tenth of epsilon, where it tells something


@click.command("synth", cls=Verb)
@options.study
@click.option(
    "--ask",
    metavar="DENSITY",
    help='Such as "density(x, method=series)".',
    shell_complete=options.completes("columns"),
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Instead of --ask: the columns, with commas.",
    shell_complete=options.completes("columns"),
)
@options.epsilon
@options.delta
@click.option(
    "--checks",
    metavar="SHARE",
    help="With --columns: the share of ε for tables to check rows by; 0.1 where they tell.",
)
@click.option(
    "--rows", type=AT_LEAST_ONE, metavar="NUMBER", help="Rows to make up; by default as many as there may be."
)
@click.option(
    "--out",
    "-o",
    type=PATH,
    default=Path("synthetic.csv"),
    metavar="FILE",
    help="A .csv or .parquet file; .json, .html, .svg go beside it. By receipt where it is a folder.",
)
@click.option("--key", type=PATH, metavar="FILE", help="Sign the certificate with this private key.")
@click.option("--purpose", default="", show_default=False, metavar="TEXT", help="What for; printed in the certificate.")
@click.option("--who", default="curator", metavar="TEXT", help="Who releases; printed in the certificate.")
@click.option("--override", default="", show_default=False, metavar="REASON", help="Why ε may be above 10; printed.")
@options.try_anyway
@options.request_id
@click.option("--ledger", type=PLACE, metavar="LEDGER", help="Charge this ledger instead.")
@click.option("--same-people", is_flag=True, help="The file changed, the people did not.")
@click.option("--force", is_flag=True, help="Overwrite the files of an earlier release.")
@options.yes
@options.quiet
@options.as_json
@click.pass_obj
def synth(
    voice: Voice,
    study: Path,
    ask: str | None,
    columns: str | None,
    epsilon: str | None,
    delta: str | None,
    checks: str | None,
    rows: int | None,
    out: Path,
    key: Path | None,
    purpose: str,
    who: str,
    override: str,
    try_anyway: bool,
    request_id: str | None,
    ledger: str | None,
    same_people: bool,
    force: bool,
    yes: bool,
) -> None:
    """Publish a density, and a file of made-up rows drawn from it.

    Charges once, as release does; the rows are drawn from what was released. Exit code 3: no reply, and no rows.
    """
    from reticent.study.synthetic import check_rows, named_as

    voice.spends = True
    asked = _question(ask, columns, checks, delta)
    check_rows(rows)
    if out.is_dir():
        out = out / f"{RECEIPT}.csv"
    if out.suffix.lower() not in FORMATS:
        raise click.BadParameter("--out needs a file that ends in .csv or .parquet.")
    opened = with_ledger(study_of(study), study, ledger)
    if same_people:
        opened = opened.same_people()
    item, stem = _item(asked, epsilon, delta), out.with_suffix("")
    with named_as(asked, None if columns is None else f"--columns {columns}"):
        ready(opened, item, stem, force=force, suffixes=(out.suffix, *BESIDE))
        reason = override or opened.spec.budget.override
        plan = planner(voice, opened, replace(item, override=reason), PublicGuess())
        refuse_too_large(voice, opened, plan)
        name = f"made-up rows: {', '.join(asked.statistic.arguments)}"
        about = Record(name, who, key, reason, try_anyway, request_id=request_id)
        if not yes:
            ask_first(voice, opened, item, about, plan)
        with voice.warning(), spending(voice, opened):
            made = watched(opened, voice).release(
                [asked],
                epsilon=item.epsilon,
                delta=item.delta,
                purpose=purpose,
                record=about,
            )
    _publish(voice, made, rows, received(out, made.receipt), flags=columns is not None)


def _question(ask: str | None, columns: str | None, checks: str | None, delta: str | None) -> Ask:
    """The one density that is asked for."""
    if (ask is None) == (columns is None):
        raise click.BadParameter('Give --ask "density(x)", or --columns x,y.')
    if ask is not None and checks is not None:
        raise click.BadParameter('--checks goes with --columns; a question has its own: "density(x, checks=0.1)".')
    found = parse(ask if ask is not None else f"density({columns}, checks={checks or CHECKS})")
    if not isinstance(found.statistic, DensityOf) or found.groups is not None:
        raise QuestionError(f'synth draws rows from one density: --ask "density(x)", got {ask}. Nothing was charged.')
    return found if delta is None or found.delta is not None else found.at(found.epsilon, delta=delta)


def _item(asked: Ask, epsilon: str | None, delta: str | None) -> ReleaseSpec:
    cost = None if epsilon is None else read(epsilon, "epsilon")
    own = None if delta is None else read(delta, "delta")
    return ReleaseSpec("", (str(asked),), epsilon=cost, delta=own)


def _publish(voice: Voice, made: Release, rows: int | None, out: Path, *, flags: bool) -> None:
    voice.charged = "nothing" if made.stored else words(made.certificate.charged)
    written: list[str] = []
    good: tuple[str, ...] = ()
    drawn, (asked,) = 0, made.keys()
    try:
        if made.replied:
            rows_of = made.synthetic(rows=rows)
            drawn, good = len(rows_of), rows_of.good_for()
            if flags:  # as the columns were given
                good = tuple(text.replace("checks=", "--checks ") for text in good)
            (rows_of.to_csv if out.suffix.lower() == ".csv" else rows_of.to_parquet)(out)
            written.append(str(out))
        written += [str(path) for path in save(made.certificate, out.with_suffix(""), BESIDE)]
    except OSError:
        spent = "Nothing more was charged" if made.stored else f"{voice.charged} stays spent"
        voice.say(f"Not every file could be written. {spent}; --json holds the certificate.")
    promised = sentence(made.guarantee.loss, made.guarantee.adjacency)
    budget = made.certificate.heading["budget"]
    left, approved = (words(loss) for loss in (made.certificate.left, made.certificate.approved))
    once = [text for text in made.certificate.caveats if text not in good]
    ending = [*layout.under("note", once), *layout.under("good for", good[:-1]), *layout.under("", good[-1:])]
    if not made.replied:
        ending.append(("no reply", layout.ASK_WHY))
    ending += [("guarantee", promised), ("wrote", ", ".join(written))]
    ending += [("charged", made.given_again)] if made.stored else []
    ending.append(("ledger", f"{left} of {approved} {'was left then' if made.stored else 'is left'}"))
    voice.receipt(made.receipt)
    voice.result(
        {
            "verb": "synth",
            "release": made.receipt,
            "rows": drawn,
            "replied": made.replied,
            "stored": made.stored,
            "charged": made.certificate.heading["charged"],
            "left": budget["left"],
            "guarantee": as_data(made.guarantee.loss, made.guarantee.adjacency),
            "good_for": list(good),
            "caveats": list(made.certificate.caveats),
            "files": written,
            "certificate": made.certificate.document,
        },
        f"{drawn:,} made-up rows of {asked}" if made.replied else f"{asked}: no reply",
        layout.fields(ending),
    )
    raise click.exceptions.Exit(exit_codes.DONE if made.replied else exit_codes.NO_REPLY)
