"""``sql``: one SELECT over a study, planned or published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reticent.certificate.particulars import Record
from reticent.cli import options
from reticent.cli.options import study_of
from reticent.cli.parser import PATH, Verb
from reticent.cli.release import SUFFIXES, ask_first, publish, ready, received, spending, stem_for, watched, with_ledger

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.data.spec import ReleaseSpec
    from reticent.sql.statement import SelectStatement


COSTS: Final = ("epsilon", "rho", "delta")


@click.command("sql", cls=Verb)
@options.study
@click.argument("statement")
@options.epsilon
@options.delta
@options.rho
@click.option("--plan", "planned", is_flag=True, help="Show the price and the intervals to expect; free.")
@click.option(
    "--out", type=PATH, metavar="STEM", help="Write STEM.csv, .json, .html, .svg; by receipt where it is a folder."
)
@click.option("--purpose", default="", show_default=False, metavar="TEXT", help="What for; printed in the certificate.")
@click.option("--who", default="curator", metavar="TEXT", help="Who releases; printed in the certificate.")
@options.try_anyway
@click.option("--force", is_flag=True, help="Overwrite the files of an earlier release.")
@options.yes
@options.quiet
@options.as_json
@click.pass_obj
def sql(
    voice: Voice,
    study: Path,
    statement: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    planned: bool,
    out: Path | None,
    purpose: str,
    who: str,
    try_anyway: bool,
    force: bool,
    yes: bool,
) -> None:
    """Ask in SQL: SELECT ward, AVG(cost) FROM study WHERE age >= 65 GROUP BY ward.

    Aggregates are released. Arithmetic on them, HAVING, ORDER BY and LIMIT are free.
    """
    from reticent.study.selection import selected, statement_of

    opened = study_of(study)
    found = statement_of(statement, opened.schema, opened.spec.source)
    item = _item(found, epsilon, rho, delta)
    if planned:
        from reticent.cli.plan import plan_parts

        made = opened.plan(found.asks, epsilon=item.epsilon, rho=item.rho, delta=item.delta)
        voice.result({"verb": "sql", "release": "", **made.to_json()}, *plan_parts(made, ""))
        return
    voice.spends = True
    opened = with_ledger(opened, study, None)
    stem = stem_for(out, item)
    ready(opened, item, stem, force=force, same_people=False)
    if not yes:
        ask_first(voice, opened, item, "")
    with voice.warning(), spending(voice, opened):
        release = watched(opened, voice).release(
            found.asks,
            epsilon=item.epsilon,
            rho=item.rho,
            delta=item.delta,
            purpose=purpose,
            record=Record(item.name, who, try_anyway=try_anyway),
        )
    publish(voice, release, received(stem, release.receipt), SUFFIXES, force=force, selection=selected(found, release))


def _item(found: SelectStatement, epsilon: str | None, rho: str | None, delta: str | None) -> ReleaseSpec:
    """The release that a statement means, at the cost of the command line or of the statement."""
    from reticent.data.spec import ReleaseSpec
    from reticent.privacy.numbers import read
    from reticent.study.selection import cost_of

    given = cost_of(found, epsilon, rho, delta)
    e, r, d = (None if cost is None else read(cost, name) for cost, name in zip(given, COSTS, strict=True))
    return ReleaseSpec("", tuple(map(str, found.asks)), epsilon=e, rho=r, delta=d)
