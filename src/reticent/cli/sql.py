"""``sql``: one SELECT over a study, planned or published; without one, a prompt for many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import options
from reticent.cli.options import study_of
from reticent.cli.parser import NUMBER, PATH, PLACE, Verb, argument
from reticent.cli.sql_release import SqlOptions, answer

if TYPE_CHECKING:
    from reticent.cli.output import Voice


@click.command("sql", cls=Verb)
@options.study
@argument("statement", metavar="STATEMENT", required=False, help="One SELECT; without it, a prompt opens.")
@options.epsilon
@options.delta
@options.rho
@click.option("--plan", "planned", is_flag=True, help="Show the price and the intervals to expect; free.")
@options.people
@options.rows
@options.passing
@options.out_stem
@click.option("--xlsx", is_flag=True, help="Write STEM.xlsx too, an Excel workbook.")
@click.option("--pdf", is_flag=True, help="Write STEM.pdf too, the figure in vectors.")
@click.option("--key", type=PATH, metavar="FILE", help="Sign the certificate with this private key.")
@click.option("--purpose", default="", show_default=False, metavar="TEXT", help="What for; printed in the certificate.")
@click.option("--who", default="curator", metavar="TEXT", help="Who releases; printed in the certificate.")
@click.option("--override", default="", show_default=False, metavar="REASON", help="Why ε may be above 10; printed.")
@options.try_anyway
@options.request_id
@click.option("--audit", is_flag=True, help="Audit the plan on made-up rows first.")
@click.option("--timeout", type=NUMBER, metavar="SECONDS", help="End a longer reading; the charge stays.")
@options.engine
@click.option("--ledger", type=PLACE, metavar="LEDGER", help="Charge this ledger instead.")
@click.option("--same-people", is_flag=True, help="The file changed, the people did not.")
@click.option("--force", is_flag=True, help="Overwrite the files of an earlier release.")
@options.yes
@options.quiet
@options.as_json
@click.pass_obj
def sql(
    voice: Voice,
    study: Path,
    statement: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    planned: bool,
    people: int | None,
    rows: str | None,
    passing: str | None,
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
    yes: bool,
) -> None:
    """Ask in SQL: SELECT ward, AVG(cost) FROM study WHERE age >= 65 GROUP BY ward.

    Arithmetic on the aggregates, HAVING, ORDER BY and LIMIT are free. Without a statement a prompt,
    or standard input, is read.
    """
    opened = study_of(study, engine=engine)
    typed = SqlOptions(
        epsilon,
        delta,
        rho,
        planned,
        people,
        rows,
        passing,
        out,
        purpose,
        who,
        try_anyway,
        force,
        yes,
        request_id,
        same_people,
        (*([".xlsx"] if xlsx else []), *([".pdf"] if pdf else [])),
        key,
        override,
        ledger,
        audit,
        timeout,
    )
    if statement is not None:
        answer(voice, opened, study, statement, typed)
        return
    if request_id is not None:
        raise click.BadParameter("--request-id names one statement: give it on the command line.")
    from reticent.cli.sql_prompt import converse

    raise click.exceptions.Exit(converse(voice, opened, study, typed))
