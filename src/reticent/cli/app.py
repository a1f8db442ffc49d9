"""The verbs, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli import demonstrate, inventory, ledgers, plan, release, synth, verification
from reticent.cli import survey as surveys
from reticent.cli.exit_codes import Verbs

app = typer.Typer(
    cls=Verbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ledger = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="What was spent and what is left: show, verify, export, close."
)
survey = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Ask a sensitive question by chance: design, form, cards, collect, estimate, check, simulate.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from reticent import __version__

        print(f"reticent {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def reticent(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Publish statistics about people without exposing any one of them.

    Start with `reticent demo`, or with your own file: `reticent init FILE`.
    Only `release` and `synth` read rows and spend budget.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


app.command()(plan.init)
app.command()(plan.check)
app.command()(plan.plan)
app.command()(plan.rehearse)
app.command()(release.release)
app.command()(synth.synth)
app.add_typer(ledger, name="ledger")
app.add_typer(survey, name="survey")
app.command()(ledgers.explain)
app.command()(ledgers.verify)
app.command()(verification.audit)
app.command()(inventory.registry)
app.command()(inventory.doctor)
app.command()(demonstrate.demo)

ledger.command("show")(ledgers.ledger_show)
ledger.command("verify")(ledgers.ledger_verify)
ledger.command("export")(ledgers.ledger_export)
ledger.command("close")(ledgers.ledger_close)
ledger.command("amend")(ledgers.ledger_amend)
ledger.command("adopt")(ledgers.ledger_adopt)

survey.command("design")(surveys.design)
survey.command("form")(surveys.form)
survey.command("cards")(surveys.cards)
survey.command("collect")(surveys.collect)
survey.command("estimate")(surveys.estimate)
survey.command("check")(surveys.check)
survey.command("simulate")(surveys.simulate)
