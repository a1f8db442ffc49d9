"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

import typer

from reticent.cli.exit_codes import UserAbort
from reticent.cli.output import Voice, clean
from reticent.errors import QuestionError, SpecError

if TYPE_CHECKING:
    from reticent.data.spec import ReleaseSpec
    from reticent.study.study import Study

StudyFile: TypeAlias = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file, such as rand.toml.")]
LedgerFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="LEDGER", help="A ledger, or the study file that names it.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Named: TypeAlias = Annotated[
    str | None, typer.Option("--release", metavar="NAME", help="A release of the study file, by its name.")
]
Asked: TypeAlias = Annotated[
    list[str] | None, typer.Option("--ask", metavar="QUESTION", help='Ask this, such as "mean(x)". May be repeated.')
]
Epsilon: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="What the release may cost in all, instead of the study file's.")
]
Delta: TypeAlias = Annotated[str | None, typer.Option(metavar="NUMBER", help="δ, where something needs it.")]
Rho: TypeAlias = Annotated[str | None, typer.Option(metavar="NUMBER", help="The cost in zCDP, instead of epsilon.")]
With: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="MODULE",
        help="Statistics and mechanisms of your own: a module, or a path FILE.py. Its code is run. May be repeated.",
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask at a terminal.")]


def voice_of(ctx: typer.Context) -> Voice:
    return cast(Voice, ctx.obj)  # put there by boundary.Verbs


def study_of(path: Path, extensions: list[str] | None = None) -> Study:
    """The study of a file, with the modules that ``--with`` names."""
    from reticent.study.memory import open as open_study

    if not extensions:
        return open_study(path)
    from reticent.cli.extensions import modules_of

    return open_study(path, extensions=modules_of(extensions))


def asked_of(
    study: Study,
    name: str | None,
    ask: list[str] | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
) -> ReleaseSpec:
    """The release meant: one of the study file, or one made of ``--ask``; costs on the command line come first."""
    from reticent.data.spec import ReleaseSpec
    from reticent.privacy.numbers import read

    if name is not None and ask:
        raise typer.BadParameter("Give --release or --ask, not both.")
    found = ReleaseSpec("", tuple(ask)) if ask else study.named(name)
    if epsilon is not None or rho is not None:
        found = replace(
            found,
            epsilon=None if epsilon is None else read(epsilon, "epsilon"),
            rho=None if rho is None else read(rho, "rho"),
        )
    return found if delta is None else replace(found, delta=read(delta, "delta"))


def widths(texts: list[str] | None) -> dict[str, float] | None:
    """``["mean(x)=0.02"]`` as a mapping; the name may itself hold ``=``."""
    if not texts:
        return None
    found = {}
    for text in texts:
        name, mark, number = text.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            mark = ""
        if not mark or not name.strip():
            raise typer.BadParameter(
                f"--want needs a question and a half-width, such as \"mean(x)=0.02\", got '{text}'."
            )
    return found


def stem_of(name: str) -> str:
    """``table 4`` gives ``table4``, ``Public use file`` gives ``public-use-file``, no name gives ``answers``."""
    plain = "-".join(re.findall(r"\w+", name.lower()))
    return re.sub(r"-(?=\d)", "", plain).encode()[:100].decode(errors="ignore") or "answers"


def confirm(question: str, *, yes: bool) -> None:
    """Ask at a terminal; elsewhere, or with ``--yes``, go on.

    Raises
    ------
    Stopped
        When the answer is not yes.
    """
    if yes or not sys.stdin.isatty():
        return
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserAbort


def write_new(path: Path, text: str, *, newline: str | None = None, hint: str = "Name another file.") -> None:
    """Write a file that is not there yet.

    Raises
    ------
    SpecError
        When it exists, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", newline=newline) as opened:
            opened.write(text)
    except FileExistsError:
        raise SpecError(f"{path} exists and is not overwritten. {hint}") from None
    except OSError:
        raise SpecError(f"{path} cannot be written: check that its folder exists and is yours.") from None


def ledger_place(path: Path) -> Path:
    """The ledger meant by a ledger file or a study file."""
    if path.suffix.lower() != ".toml":
        return path
    from reticent.data.spec import read_spec

    named = read_spec(path).ledger
    if named is None:
        raise QuestionError(f'{path.name} names no ledger. Add [study] ledger = "{path.stem}.ledger".')
    return Path(named)
