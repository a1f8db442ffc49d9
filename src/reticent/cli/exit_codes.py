"""Every ending of a run, turned into words and an exit code. No traceback passes here.

0 done    2 usage    3 released, one no reply or more    4 budget    5 refused    6 a check failed    70 fault
130 stopped by the user
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from reticent.cli.output import Voice, put, typed, write
from reticent.cli.parser import Verbs
from reticent.errors import (
    BudgetError,
    CheckError,
    Fault,
    LedgerError,
    PublicParameterError,
    QuestionError,
    Refusal,
    ReticentError,
    SpecError,
    uncharged,
)

DONE: Final = 0
USAGE: Final = 2
NO_REPLY: Final = 3
BUDGET: Final = 4
REFUSED: Final = 5
CHECK: Final = 6
FAULT: Final = 70
STOPPED: Final = 130

UNKNOWN: Final = (
    "Whether anything was charged is not known here; the ledger knows: reticent ledger show STUDY. If it was, it stays "
    "spent."
)


class UserAbort(Exception):
    """The user said no, or pressed Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Ending of a run that did not succeed."""

    kind: str
    words: str
    charged: str
    code: int
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        told = {"kind": self.kind, "words": self.words, "charged": self.charged, "exit": self.code}
        return {"error": {**told, "problems": list(self.problems)} if self.problems else told}


class Program(Verbs):
    """The group of all verbs; the one place where a run begins and ends."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its code.

        Parameters
        ----------
        args : sequence of str, optional
            Words of the command line; by default those of the process.
        prog_name : str, optional
            Name of the program in its help.
        complete_var, standalone_mode, windows_expand_args, **extra : str or None
            Accepted for Click and not used: the program always ends the process itself.

        Returns
        -------
        object
            Never returned, since the process ends.
        """
        _prepare_streams()
        typed = list(sys.argv[1:] if args is None else args)
        before = typed[: typed.index("--")] if "--" in typed else typed
        voice = Voice(as_json="--json" in before, quiet="--quiet" in before)
        sys.exit(ended(voice, partial(super().main, typed, prog_name, standalone_mode=False, obj=voice)))


def ended(voice: Voice, act: Callable[[], object]) -> int:
    """The exit code of an act, told in words where it did not succeed."""
    try:
        code = act()
    except click.exceptions.Exit as leaving:
        code = leaving.exit_code
    except Exception as error:  # the last stop: whatever it is, its text could quote rows
        with contextlib.suppress(OSError):
            voice.end_line()
        ending = ending_of(error, voice)
        _tell(ending, voice)
        code = ending.code
    return code if isinstance(code, int) else DONE


def ending_of(error: BaseException, voice: Voice) -> Ending:
    """The words and the code for an exception."""
    match error:
        case Fault():
            return Ending("fault", str(error), error.charged, FAULT)
        case Refusal() if voice.charged not in ("nothing", "unknown"):  # of what was to be done with what was released
            return Ending(_kind(error), f"{error}. {_charge(voice)}", voice.charged, FAULT)
        case BudgetError():
            return Ending("budget", _uncharged(str(error), voice), "nothing", BUDGET)
        case Refusal():
            problems = error.problems if isinstance(error, SpecError) else ()
            return Ending(_kind(error), _uncharged(str(error), voice), _of_refusal(error), REFUSED, problems)
        case CheckError():
            return Ending("check", str(error), voice.charged, CHECK)
        case ReticentError():
            return Ending("engine", f"{error} {_charge(voice)}", voice.charged, FAULT)
        case UserAbort() | click.Abort():
            return Ending("stopped", f"Stopped. {_charge(voice)}", voice.charged, STOPPED)
        case click.ClickException():
            return Ending("usage", _usage(error), "nothing", USAGE)
        case OSError() if voice.charged not in ("nothing", "unknown"):
            words = f"What was released could not be printed; look at its files. {_charge(voice)}"
            return Ending("internal", words, voice.charged, FAULT)
        case _:
            # The type of an exception is a name in a program; its text could be anything.
            what = "" if voice.spends else f" ({type(error).__name__})"
            return Ending("internal", f"Internal fault{what}. {_charge(voice)}", voice.charged, FAULT)


def _usage(error: click.ClickException) -> str:
    """The parser's words, and where the help for that verb is."""
    if isinstance(error, click.NoSuchOption) and error.possibilities == ["--help"]:  # near to most short words
        error = click.NoSuchOption(error.option_name, ctx=error.ctx)
    words = error.format_message().rstrip(".")
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # the words are the help
        return words
    context = getattr(error, "ctx", None)
    verb = getattr(context, "command_path", "reticent")
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", words, re.DOTALL)
    if extra and context is not None:
        words += _named(context, shlex.quote(extra[1]))
    return f"{words}{'' if words.endswith(('?', '?)')) else '.'} See: {verb} --help"


def _named(context: click.Context, extra: str) -> str:
    """The option that a word was meant for: columns beside ``plan --synth``, a folder, the release of a study file."""
    if context.info_name == "demo":
        return f". The new folder is named by an option: --out {extra}"
    if any(context.params.get(alone) for alone in ("synth", "model", "session")):
        return f". Columns are named by an option: --columns {extra}"
    if any("--release" in given.opts for given in context.command.params):
        return f". A release is named by an option: --release {extra}"
    return ""


def _kind(error: Refusal) -> str:
    match error:
        case PublicParameterError():
            return "number"
        case SpecError():
            return "study_file"
        case QuestionError():
            return "question"
        case LedgerError():
            return "ledger"
        case _:
            return "refused"


def _of_refusal(error: Refusal) -> str:
    """A disk that took the charge or did not is the one refusal that does not know."""
    from reticent.ledger.store import SyncError

    return "unknown" if isinstance(error, SyncError) else "nothing"


def _uncharged(words: str, voice: Voice) -> str:
    """A refusal in the options of the command line, where it speaks of arguments."""
    return uncharged(typed(words)) if voice.spends else typed(words)


def _charge(voice: Voice) -> str:
    match voice.charged:
        case "nothing":
            return "Nothing was charged."
        case "unknown":
            return UNKNOWN
        case charged:
            return f"{charged} stays spent."


def _tell(ending: Ending, voice: Voice) -> None:
    with contextlib.suppress(OSError):  # what cannot be written cannot be told either; the code still says it
        if voice.as_json:
            put(ending.to_json(), sys.stdout)
    with contextlib.suppress(OSError):
        write([ending.words], sys.stderr)


def _prepare_streams() -> None:
    """Keep streams from failing for reasons of their own after a charge.

    A closed stream goes nowhere, and a terminal that cannot show a letter gets an escape for it.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open until the process ends
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
