"""Parts of the command line's parser: commands, groups, arguments with a help text, and types."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from reticent.errors import SpecError

Declared = TypeVar("Declared", bound=Callable[..., Any] | click.Command)


class TypedPath(click.Path):
    """Path as it was typed. Whoever opens the file says what is wrong with it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn a typed text into a path; it is not looked at.

        Parameters
        ----------
        value : object
            Text of the command line.
        param : Parameter or None
            Parameter that it is for.
        ctx : Context or None
            Context of the command.

        Returns
        -------
        object
            Path.
        """
        return Path(value)


class TypedStem(TypedPath):
    """Path of several files without their endings, or a folder for them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn a typed text into a path.

        Parameters
        ----------
        value : object
            Text of the command line.
        param : Parameter or None
            Parameter that it is for.
        ctx : Context or None
            Context of the command.

        Returns
        -------
        object
            Path.

        Raises
        ------
        SpecError
            A folder, by the sign at its end, that is not there.
        """
        path, ended = Path(value), str(value).endswith(("/", os.sep))
        try:
            folder = path.is_dir()
        except (OSError, ValueError):  # a name that no file can have is refused where files are looked for
            folder = False
        if ended and not folder:
            raise SpecError(f"There is no folder {value}. Make it first; without its last sign it names files.")
        return path


class TypedPlace(click.types.StringParamType):
    """Path or URL as it was typed."""

    name = "path"


class AtLeastOne(click.IntRange):
    """Integer from 1 on."""

    name = "integer"  # of a text that is none, click would say "is not a valid integer range"

    def __init__(self) -> None:
        super().__init__(min=1)


class Number(click.types.FloatParamType):
    """Decimal number."""

    name = "number"


PATH: Final = TypedPath()
STEM: Final = TypedStem()
PLACE: Final = TypedPlace()
AT_LEAST_ONE: Final = AtLeastOne()
NUMBER: Final = Number()


class Argument(click.Argument):
    """Positional parameter, whose text stands under ``Arguments`` in every supported version of click."""

    def __init__(self, *given: Any, text: str, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.text = text

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        several = "..." if self.nargs != 1 else ""
        return [f"{self.metavar if self.required else f'[{self.metavar}]'}{several}"]

    def row(self) -> tuple[str, str]:
        """Name and text, as ``--help`` shows them."""
        return self.human_readable_name, f"{self.text}  [required]" if self.required else self.text


def argument(name: str, *, metavar: str, help: str, **settings: Any) -> Callable[[Declared], Declared]:  # noqa: A002
    """Declare a positional parameter of a command.

    Parameters
    ----------
    name : str
        Name of the parameter in Python.
    metavar : str
        Name in the help.
    help : str
        One sentence on it.
    **settings : object
        Further settings of ``click.argument``.

    Returns
    -------
    function
        Decorator of the command.
    """
    return click.argument(name, cls=Argument, metavar=metavar, text=help, **settings)


class Verb(click.Command):
    """Command whose help lists arguments before options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [given.row() for given in self.get_params(ctx) if isinstance(given, Argument)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        with formatter.section("Options"):
            options = (given for given in self.get_params(ctx) if isinstance(given, click.Option))
            formatter.write_dl([row for given in options if (row := given.get_help_record(ctx)) is not None])

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: newer versions of click call this for the arguments, which stand before the options."""


class ListedVerb(click.Command):
    """Verb as the help of its group and a shell list it: its file is imported when it is typed.

    Its place is the name of a file of this room and of a function in it, with a colon between.
    """

    def __init__(self, name: str, line: str, place: str) -> None:
        super().__init__(name, help=line)
        self._place = place

    def command(self) -> click.Command:
        """The verb itself, with its options."""
        file, _, name = self._place.partition(":")
        found = getattr(import_module(f"reticent.cli.{file}"), name)
        assert isinstance(found, click.Command)
        return found

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read what was typed after the verb, by its own options.

        Parameters
        ----------
        info_name : str or None
            Name of the verb, as typed.
        args : list of str
            Words after it.
        parent : Context or None
            Context of its group.
        **extra : object
            Settings of the context.

        Returns
        -------
        Context
            Context of the verb itself.
        """
        return self.command().make_context(info_name, args, parent, **extra)


class Verbs(click.Group):
    """Group whose commands keep the order in which they are declared."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)
