"""``%%reticent``: SQL in a cell of a notebook, after ``%load_ext reticent``.

    %%reticent study --epsilon 0.5
    SELECT ward, AVG(cost) FROM study GROUP BY ward

The first word is a study of the notebook, or a study file. The cell gives what ``study.sql`` gives, shown as a table.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from reticent.certificate.record import Record
from reticent.cli import options
from reticent.cli.options import study_of
from reticent.cli.output import typed
from reticent.cli.parser import Verb, argument
from reticent.errors import QuestionError, ReticentError
from reticent.study.study import Study

if TYPE_CHECKING:
    from reticent.study.plan import Plan
    from reticent.study.selection import Selection
    from reticent.study.study import Study


class NotebookShell(Protocol):
    """The shell of IPython, as far as it is used: its names, and its register of magics."""

    user_ns: dict[str, object]

    def register_magic_function(self, func: object, magic_kind: str, magic_name: str) -> None: ...


@click.command("%%reticent", cls=Verb)
@argument("study", metavar="STUDY", help="A study of this notebook by its name, or a study file.")
@options.epsilon
@options.delta
@options.rho
@click.option("--plan", "planned", is_flag=True, help="Show the price and the intervals to expect; free.")
@options.people
@click.option("--into", metavar="NAME", help="Keep the result under this name, too.")
@click.option("--purpose", default="", show_default=False, metavar="TEXT", help="What for; printed in the certificate.")
@click.option("--who", default="curator", metavar="TEXT", help="Who releases; printed in the certificate.")
@options.try_anyway
@click.pass_obj
def cell(
    given: tuple[NotebookShell, str],
    study: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    planned: bool,
    people: int | None,
    into: str | None,
    purpose: str,
    who: str,
    try_anyway: bool,
) -> Plan | Selection:
    """Ask in SQL: the cell is one SELECT. Running the cell again is a new release, and is charged again."""
    shell, text = given
    if into is not None and not into.isidentifier():
        raise click.BadParameter(f"--into needs a name of Python, got '{into}'.")
    opened, statement = _study(study, shell.user_ns), text.strip().removesuffix(";")
    found: Plan | Selection
    if planned:
        found = opened.plan(statement, epsilon=epsilon, rho=rho, delta=delta, people=people)
    else:
        record = Record(who=who, try_anyway=try_anyway)
        found = opened.sql(statement, epsilon=epsilon, rho=rho, delta=delta, purpose=purpose, record=record)
    if into is not None:
        shell.user_ns[into] = found
    return found


def register(shell: NotebookShell) -> None:
    """Make ``%%reticent`` known to a notebook."""
    shell.register_magic_function(partial(_run, shell), "cell", "reticent")


def _run(shell: NotebookShell, line: str, text: str) -> Plan | Selection | None:
    """The result of a cell, or the words of a refusal without a traceback, which end the run of a notebook."""
    from IPython.core.error import UsageError

    try:
        words = shlex.split(line)
    except ValueError:
        raise UsageError(f"A quotation mark is not closed: {line}") from None
    try:
        found = cell.main(words, "%%reticent", standalone_mode=False, obj=(shell, text))
    except click.ClickException as error:
        raise UsageError(f"{error.format_message()} See: %%reticent --help") from None
    except ReticentError as error:
        raise UsageError(typed(str(error))) from None
    return None if isinstance(found, int) else found


def _study(name: str, names: Mapping[str, object]) -> Study:
    found = names.get(name)
    if isinstance(found, Study):
        return found
    if name.isidentifier():
        raise QuestionError(f"'{name}' is no study of this notebook: {name} = rt.open(\"study.toml\"), or its file.")
    return study_of(Path(name))
