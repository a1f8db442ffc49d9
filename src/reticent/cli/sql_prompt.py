"""Prompt of ``reticent sql STUDY``: many statements, one after another, each planned and agreed to before its charge.

    sql> SELECT ward, AVG(cost) FROM study
    ...> GROUP BY ward;

A statement ends with a semicolon, at a terminal also with an empty line. Words with a dot tell what is public. Standard
input that is no terminal is read as a script, which ends at the first statement that fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reticent.cli import exit_codes, layout
from reticent.cli.exit_codes import UserAbort, ended
from reticent.cli.sql_release import SqlOptions, answer
from reticent.data.joined_table import own_name
from reticent.errors import QuestionError
from reticent.ledger import Ledger
from reticent.ledger.account import ledger_at
from reticent.ledger.state import state_folder
from reticent.privacy.loss import to_json, words
from reticent.privacy.numbers import positive, read, show
from reticent.study.selection import names_of_table
from reticent.study.terms import kind_words

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer

    from reticent.cli.output import Voice
    from reticent.data.schema import Schema
    from reticent.privacy.loss import Loss
    from reticent.study.study import Study

FIRST, NEXT = "sql> ", "...> "
HELP: Final[Mapping[str, str]] = {
    "SELECT …;": "the price first, then a question; yes releases it and charges the ledger",
    ".plan SELECT …;": "the price and the intervals to expect; free",
    ".epsilon 0.5": "what each statement may cost that does not say it; .epsilon alone tells it",
    ".left": "what is left of the budget",
    ".tables": "the names of the table, and further tables to join",
    ".columns": "its columns, and what is known of each",
    ".help": "these lines",
    ".quit": "leave; so does Ctrl-D. Ctrl-C drops what was typed",
}
KEYWORDS: Final = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "WITH", "AS", "AND", "OR", "NOT"),
    *("COUNT(*)", "COUNT(DISTINCT", "COUNT_IF(", "SUM(", "AVG(", "MEDIAN(", "VARIANCE(", "STDDEV("),
    *("PERCENTILE_CONT(", "WITHIN GROUP (ORDER BY", "FILTER (WHERE", "INTERVAL_LOW(", "INTERVAL_HIGH("),
    *("CASE WHEN", "THEN", "ELSE", "END", "BETWEEN", "IN (", "IS NULL", "COALESCE(", "YEAR(", "MONTH(", "DATE_TRUNC("),
)

Lines = Callable[[str], str]  # asks for a line with a prompt; EOFError at the end


@dataclass(slots=True)
class SqlConversation:
    """Statements and words of one prompt, and the options that the next statement has."""

    voice: Voice
    study: Study
    path: Path
    typed: SqlOptions

    def act(self, text: str) -> None:
        """Do what a statement or a word says."""
        if not text.startswith("."):
            self._ask(text, self.typed)
            return
        word, _, rest = text.partition(" ")
        match word.lower():
            case ".plan" if rest.strip():
                self._ask(rest, replace(self.typed, planned=True))
            case ".epsilon":
                self._cost(rest.strip())
            case ".left":
                left = self._left()
                self._tell({"left": to_json(left)}, f"{words(left)} is left")
            case ".tables":
                names = tables_of(self.study)
                self._tell({"tables": names}, *names)
            case ".columns":
                told = columns_of(self.study.schema)
                self._tell({"columns": told}, layout.fields(told.items()))
            case ".help":
                self._tell({"help": dict(HELP)}, layout.fields(HELP.items(), style=""))
            case _:
                raise QuestionError(f"There is no word {word} here. Write .help, or a SELECT that ends with ;")

    def _ask(self, text: str, typed: SqlOptions) -> None:
        try:
            answer(self.voice, self.study, self.path, text.strip().removesuffix(";"), typed)
        except KeyboardInterrupt:
            raise UserAbort from None

    def _cost(self, given: str) -> None:
        if given:
            positive(read(given, "epsilon"), "epsilon")
            self.typed = replace(self.typed, epsilon=given, rho=None)
        told = {name: value for name in ("epsilon", "rho") if (value := getattr(self.typed, name)) is not None}
        shown = [f"{name} {show(read(value, name))}" for name, value in told.items()]
        self._tell(told, shown[0] if shown else "No cost is set: .epsilon 0.5")

    def _left(self) -> Loss:
        place = self.study.spec.ledger
        return Ledger.open(place).left() if place and ledger_at(place) else self.study.spec.budget.loss

    def _tell(self, document: Mapping[str, object], *parts: object) -> None:
        self.voice.result({"verb": "sql", **document}, *parts)  # type: ignore[arg-type]  # texts and tables


def converse(voice: Voice, study: Study, path: Path, typed: SqlOptions) -> int:
    """Answer statements until the end of the input.

    Parameters
    ----------
    voice : Voice
    study : Study
    path : Path
        The study file.
    typed : SqlOptions
        The options of every statement.

    Returns
    -------
    int
        The exit code: at a terminal 0; of a script that of the statement that failed, 3 where some answer was no reply.
    """
    asked = SqlConversation(voice, study, path, replace(typed, out=typed.out or Path()))
    if typed.out is not None:
        _make_folder(typed.out)
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        voice.say(f"{study.title or path.stem}: {words(asked._left())} is left. Statements end with ;  .help  .quit")
    worst = exit_codes.DONE
    for text in statements(lines(study) if at_terminal else piped, at_terminal=at_terminal):
        voice.charged, voice.spends = "nothing", False
        code = ended(voice, partial(asked.act, text))
        if code not in (exit_codes.DONE, exit_codes.NO_REPLY) and not at_terminal:
            return code
        worst = max(worst, code)
    return exit_codes.DONE if at_terminal else worst


def _make_folder(out: Path) -> None:
    """Make the folder of the receipts, where it is missing; its parent is there."""
    try:
        out.mkdir(exist_ok=True)
    except OSError:
        raise click.BadParameter(
            "Without a statement, --out names a folder, which is made where it is missing: each release has its "
            f"receipt there. {out} can be none."
        ) from None


def statements(line: Lines, *, at_terminal: bool) -> Iterator[str]:
    """Each statement or word that is typed, until ``.quit`` or the end; what Ctrl-C drops is none."""
    text = ""
    while True:
        try:
            more = line(NEXT if text else FIRST)
        except KeyboardInterrupt:
            if not at_terminal:
                raise UserAbort from None
            text = ""
            continue
        except EOFError:
            if text.strip() and not at_terminal:
                yield text.strip()
            return
        if not text and more.strip().lower() in (".quit", ".exit"):
            return
        text = f"{text}{more}\n" if text or more.strip() else ""
        word = text.lstrip().startswith(".") and not text.lstrip().lower().startswith(".plan")
        if text and (word or text.rstrip().endswith(";") or (at_terminal and not more.strip())):
            yield text.strip()
            text = ""


def piped(_: str) -> str:
    """The next line of standard input, without a prompt."""
    found = sys.stdin.readline()
    if not found:
        raise EOFError
    return found.rstrip("\n")


def lines(study: Study) -> Lines:
    """Lines of a terminal: with history and completion where ``prompt_toolkit`` is there, else as they are typed."""
    if not sys.stdout.isatty():
        return _plain
    try:
        return _session(study).prompt
    except ImportError:
        return _plain


def _plain(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return piped(prompt)


def _session(study: Study) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    place = history_place()
    return PromptSession(
        history=InMemoryHistory() if place is None else FileHistory(str(place)),
        completer=completer(study),
        complete_while_typing=False,
    )


def completer(study: Study) -> Completer:
    """Completion of words, tables and columns, whatever their capitals."""
    import re

    from prompt_toolkit.completion import WordCompleter

    columns = columns_of(study.schema)
    words_of_help = [word.partition(" ")[0] for word in HELP if word.startswith(".")]
    own = [own_name(study.schema.tables, name) for name in columns if study.schema.table_of(name)]
    return WordCompleter(
        [*columns, *own, *tables_of(study), *KEYWORDS, *words_of_help],
        ignore_case=True,
        meta_dict=columns,
        pattern=re.compile(r"^(\w+(\.$)?|\.$)"),  # matched backwards: a dot counts at the beginning of a line alone
    )


def history_place() -> Path | None:
    """The file of what was typed, for its owner alone; None where it cannot be written."""
    place = state_folder() / "sql_history"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o600)
    except OSError:
        return None
    return place


def tables_of(study: Study) -> list[str]:
    """The names of the table of a study, and its further tables."""
    return [*names_of_table(study.spec.source), *study.schema.tables]


def columns_of(schema: Schema) -> dict[str, str]:
    """Each column, with what is public of it."""
    found = {name: kind_words(column) for name, column in schema.columns.items()}
    return {**found, **{name: f"text: keys({name})" for name in schema.texts}}
