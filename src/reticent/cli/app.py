"""The verbs, put together: the file of a verb is imported when the verb is typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import click

from reticent import __version__
from reticent.cli import completion
from reticent.cli.exit_codes import Program
from reticent.cli.parser import Verbs

FILES: Final[dict[str, str]] = {
    "init": "init:init",
    "check": "plan:check",
    "plan": "plan:plan",
    "rehearse": "plan:rehearse",
    "release": "release:release",
    "sql": "sql:sql",
    "synth": "synth:synth",
    "compare": "compare:compare",
    "explain": "ledgers:explain",
    "verify": "ledgers:verify",
    "withdraw": "upkeep:withdraw",
    "migrate": "upkeep:migrate",
    "audit": "verification:audit",
    "registry": "inventory:registry",
    "doctor": "inventory:doctor",
    "demo": "demonstrate:demo",
}
GROUPS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "ledger": (
        "What was spent and what is left: show, verify, export, close, amend, adopt.",
        {
            "show": "ledgers:ledger_show",
            "verify": "ledgers:ledger_verify",
            "export": "ledgers:ledger_export",
            "close": "ledgers:ledger_close",
            "amend": "ledgers:ledger_amend",
            "adopt": "ledgers:ledger_adopt",
        },
    ),
    "survey": (
        "Ask a sensitive question by chance: design, form, cards, collect, estimate, check, simulate.",
        {"design": "survey_design:design"}
        | {verb: f"survey:{verb}" for verb in ("form", "cards", "collect", "estimate", "check", "simulate")},
    ),
}


class Commands(Mapping[str, Any]):
    """Commands of the parser by name, each imported when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _group(name) if name in GROUPS else _command(FILES[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*FILES, *GROUPS))

    def __len__(self) -> int:
        return len(FILES) + len(GROUPS)


def _command(place: str) -> click.Command:
    file, _, name = place.partition(":")
    found = getattr(import_module(f"reticent.cli.{file}"), name)
    assert isinstance(found, click.Command)
    return found


def _group(name: str) -> click.Group:
    words, verbs = GROUPS[name]
    return Verbs(name, {verb: _command(place) for verb, place in verbs.items()}, help=words, no_args_is_help=True)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print(f"reticent {__version__}")
        ctx.exit()


@click.group(
    cls=Program,
    commands=Commands(),
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
