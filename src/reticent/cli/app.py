"""The verbs, put together: each with a line of help. The file of a verb is imported when the verb is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from reticent import __version__
from reticent.cli import completion
from reticent.cli.exit_codes import Program
from reticent.cli.parser import ListedVerb, Verbs

Lines = Mapping[str, tuple[str, str]]  # by verb: its file and function, and the first sentence of its help

VERBS: Final[Lines] = {
    "init": ("init:init", "Write a study file to fill in, from names and types alone; or a key pair with --key."),
    "check": ("check:check", "Read the study file and the names of columns: what is wrong, what to know."),
    "plan": ("plan:plan", "Plan a release: its cost, and the intervals to expect."),
    "rehearse": ("rehearse:rehearse", "The same release on made-up rows: free, repeatable, about nobody."),
    "release": ("release:release", "Publish: charge, read the rows, draw the noise, write answers and certificate."),
    "sql": ("sql:sql", "Ask in SQL: SELECT ward, AVG(cost) FROM study WHERE age >= 65 GROUP BY ward."),
    "synth": ("synth:synth", "Publish a density, and a file of made-up rows drawn from it."),
    "compare": (
        "compare:compare",
        "Compare answers of a saved release, with intervals that know what they have in common.",
    ),
    "explain": (
        "explain:explain",
        "A release in plain language, or a word: epsilon, no-reply, ledger … Without either: the list of words.",
    ),
    "verify": ("verify:verify", "Check a certificate: signature, ledger entry, chain, and the losses derived again."),
    "withdraw": ("withdraw:withdraw", "Withdraw a release."),
    "migrate": ("migrate:migrate", "Bring a ledger of an earlier version to today's form, with a copy beside it."),
    "audit": ("audit:audit", "Verify the program on made-up rows."),
    "registry": (
        "inventory:registry",
        "Every ledger of a folder: what was approved, spent and left, and who spent it.",
    ),
    "doctor": ("doctor:doctor", "Look at files, permissions, links, header, clock and ledger before a release."),
    "demo": ("demonstrate:demo", "Publish a public table as if it were private: answers, certificate, page, ledger."),
}
LEDGER: Final[Lines] = {
    "show": ("ledgers:ledger_show", "Show the approved and spent budget, and every request in order."),
    "verify": ("ledgers:ledger_verify", "Check every entry: order, digests, sums."),
    "export": (
        "ledgers:ledger_export",
        "The whole ledger as JSON, for an auditor or a place the operator cannot reach.",
    ),
    "close": ("ledgers:ledger_close", "Accept no charge from now on."),
    "amend": (
        "ledgers:ledger_amend",
        "Take over the budget and last day that the study file now states; what is spent stays spent.",
    ),
    "adopt": (
        "ledgers:ledger_adopt",
        "Go on with an older copy of a ledger when the newest is lost: all that is left counts as spent.",
    ),
}
SURVEY: Final[Lines] = {
    "design": (
        "survey_design:design",
        "Choose the coins of a question, write them to a file, and say what they promise and what they cost.",
    ),
    "form": (
        "survey:form",
        "Write the page that asks: one HTML file that draws on the respondent's device and sends only the result.",
    ),
    "cards": ("survey:cards", "Write a card to print, with a spinner and what both sides do; .pdf or .svg."),
    "collect": ("survey:collect", "Make one table of the files, codes and lines that respondents handed in."),
    "estimate": (
        "survey:estimate",
        "Estimate shares or a mean of everybody from the randomized answers, with intervals.",
    ),
    "check": ("survey:check", "Check the record of an estimate: design, proof and, with the answers, every number."),
    "simulate": (
        "survey:simulate",
        "Ask made-up people first: how wide the intervals would be, and how often they would hold the truth.",
    ),
}
GROUPS: Final[dict[str, tuple[str, Lines]]] = {
    "ledger": ("What was spent and what is left: show, verify, export, close, amend, adopt.", LEDGER),
    "survey": ("Ask a sensitive question by chance: design, form, cards, collect, estimate, check, simulate.", SURVEY),
}


def _listed(verbs: Lines) -> dict[str, click.Command]:
    return {name: ListedVerb(name, line, place) for name, (place, line) in verbs.items()}


def _groups() -> dict[str, click.Command]:
    return {
        name: Verbs(name, _listed(verbs), help=words, no_args_is_help=True) for name, (words, verbs) in GROUPS.items()
    }


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print(f"reticent {__version__}")
        ctx.exit()


@click.group(
    cls=Program,
    commands={**_listed(VERBS), **_groups()},
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--version", is_flag=True, expose_value=False, callback=_version, is_eager=True, help="Show the version and exit."
)
@completion.install
@completion.show
@click.pass_context
def app(ctx: click.Context) -> None:
    """Publish statistics about people without exposing any one of them.

    Start with `reticent demo`, or with your own file: `reticent init FILE`.
    Only `release`, `sql` and `synth` read rows and spend budget.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
