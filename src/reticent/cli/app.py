"""The verbs, put together: the file of a verb is imported when the verb is typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from reticent.cli.exit_codes import Verbs

FILES: Final[dict[str, str]] = {
    "init": "plan:init",
    "check": "plan:check",
    "plan": "plan:plan",
    "rehearse": "plan:rehearse",
    "release": "release:release",
    "synth": "synth:synth",
    "explain": "ledgers:explain",
    "verify": "ledgers:verify",
    "audit": "verification:audit",
    "registry": "inventory:registry",
    "doctor": "inventory:doctor",
    "demo": "demonstrate:demo",
}
GROUPS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "ledger": (
        "What was spent and what is left: show, verify, export, close.",
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
        {verb: f"survey:{verb}" for verb in ("design", "form", "cards", "collect", "estimate", "check", "simulate")},
    ),
}


class Commands(Mapping[str, Any]):
    """The commands of the parser by name, each made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _group(name) if name in GROUPS else _command(name, FILES[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*FILES, *GROUPS))

    def __len__(self) -> int:
        return len(FILES) + len(GROUPS)


class Program(Verbs):
    """The group of all verbs, with commands that are made at first use."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = Commands()


def _function(place: str) -> Any:
    file, _, name = place.partition(":")
    return getattr(import_module(f"reticent.cli.{file}"), name)


def _command(name: str, place: str) -> Any:
    single = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    single.command(name)(_function(place))
    return get_command(single)


def _group(name: str) -> Any:
    words, verbs = GROUPS[name]
    group = typer.Typer(name=name, rich_markup_mode=None, no_args_is_help=True, help=words, add_completion=False)
    for verb, place in verbs.items():
        group.command(verb)(_function(place))
    return get_command(group)


app = typer.Typer(
    cls=Program,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
