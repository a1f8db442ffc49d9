"""``survey``: a sensitive question asked by chance, from the design to the published estimate.

There is no ledger: what these verbs read was randomized before it was sent, and the true answers never arrive.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reticent.atomic_file import replace
from reticent.cli import exit_codes, layout, options
from reticent.cli.parser import AT_LEAST_ONE, NUMBER, PATH, Declared, Verb, argument
from reticent.cli.survey_design import designs_of, read_design
from reticent.data.format import LONGEST_TITLE, nearest
from reticent.data.source import names_of
from reticent.errors import QuestionError, SpecError, first_of

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.survey import Design, Questionnaire, Result
    from reticent.survey.rehearsal import SurveyRehearsal

MOST_SHOWN: Final = 12  # answers of a choice on a terminal; the files hold all

design_file = argument("design", type=PATH, metavar="DESIGN", help="The design, such as fair.survey.toml.")
design_option = click.option(
    "--design", type=PATH, required=True, metavar="DESIGN", help="The design the answers were drawn by."
)
force = click.option("--force", is_flag=True, help="Overwrite the file.")
level = click.option("--level", type=NUMBER, default=0.95, metavar="SHARE", help="Of intervals that hold the truth.")


def _out(name: str) -> Callable[[Declared], Declared]:
    return click.option("--out", "-o", type=PATH, default=Path(name), metavar="FILE", help="The file to write.")


# --- design -----------------------------------------------------------------------------------------------------------


# --- form and cards ---------------------------------------------------------------------------------------------------


@click.command("form", cls=Verb)
@design_file
@_out("page.html")
@click.option("--post", metavar="URL", help="An https address that takes answers by POST.")
@click.option(
    "--ask", multiple=True, metavar="NAME=A,B", help="Asked openly, sent as it is, for subgroups. May be repeated."
)
@click.option("--title", metavar="TEXT", help="The heading of the page.")
@click.option("--words", type=PATH, metavar="FILE", help="Words of the page: a language, consent, contact.")
@force
@options.as_json
@click.pass_obj
def form(
    voice: Voice,
    design: Path,
    out: Path,
    post: str | None,
    ask: tuple[str, ...],
    title: str | None,
    words: Path | None,
    force: bool,
) -> None:
    """Write the page that asks: one HTML file that draws on the respondent's device and sends only the result."""
    from reticent.survey.form import form as write

    made = read_design(design)
    asked = _open_questions(ask)
    _free(out, force=force)
    write(made, out, post, ask=asked, title=title or "", words=words)
    how = f"It sends to {post}." if post else "It sends nothing by itself: respondents hand in a file or a code."
    voice.result(
        {"verb": "survey form", "wrote": str(out), "code": made.code, "post": post, "open": asked},
        f"wrote {out}: one file, no network. {how}",
        *([f"Sent with no chance mixed in, and the page says so: {', '.join(asked)}."] if asked else []),
        f"Then: reticent survey collect FOLDER --design {shlex.quote(str(design))} --out answers.csv{_again(ask)}",
    )


def _again(texts: Sequence[str]) -> str:
    """The open questions once more, for ``collect``."""
    return "".join(f" --ask {shlex.quote(text)}" for text in texts)


def _open_questions(texts: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        name, mark, words = text.partition("=")
        if not mark or not name.strip() or name.strip() in found:
            raise click.BadParameter(
                f"--ask needs a name and its answers, such as \"region=north,south\", got '{text}'."
            )
        found[name.strip()] = [word.strip() for word in words.split(",")]
    return found


def _free(path: Path, *, force: bool) -> None:
    """Refuse a file that is there, before the work."""
    if path.is_dir():
        raise SpecError(f"{path} is a folder: choose another name with --out.")
    if path.exists() and not force:
        raise SpecError(f"{path} exists. Choose another name with --out, or overwrite it with --force.")


@click.command("cards", cls=Verb)
@design_file
@_out("card.pdf")
@force
@options.as_json
@click.pass_obj
def cards(voice: Voice, design: Path, out: Path, force: bool) -> None:
    """Write a card to print, with a spinner and what both sides do; .pdf or .svg. Several questions: one card each."""
    from reticent.survey.cards import cards as write
    from reticent.survey.cards import parts_of

    listed = designs_of(read_design(design))
    for one in listed:
        parts_of(one)  # or none of the cards is written
    single = len(listed) == 1
    targets = [
        out if single else out.with_name(f"{out.stem}-{place}{out.suffix}") for place in range(1, len(listed) + 1)
    ]
    for target in targets:
        _free(target, force=force)
    for one, target in zip(listed, targets, strict=True):
        write(one, target)
    voice.result(
        {"verb": "survey cards", "wrote": [str(target) for target in targets]},
        f"wrote {', '.join(str(target) for target in targets)}",
    )


# --- collect and estimate ---------------------------------------------------------------------------------------------


@click.command("collect", cls=Verb)
@argument(
    "paths", type=PATH, nargs=-1, required=True, metavar="FILES", help="Files or codes from the page, or folders."
)
@design_option
@click.option("--ask", multiple=True, metavar="NAME=A,B", help="As given to form: no other open answer is taken.")
@_out("answers.csv")
@force
@options.as_json
@click.pass_obj
def collect(voice: Voice, paths: tuple[Path, ...], design: Path, ask: tuple[str, ...], out: Path, force: bool) -> None:
    """Make one table of the files, codes and lines that respondents handed in. Nothing is guessed."""
    from reticent.survey.answers import collect as gather

    _free(out, force=force)
    made = read_design(design)
    found = gather(made, paths, ask=_open_questions(ask) if ask else None)
    _write(out, found.csv())
    left = [f"{count:,} {why}" for why, count in found.left_out.items()]
    voice.result(
        {
            "verb": "survey collect",
            "wrote": str(out),
            "answers": len(found.rows),
            "columns": list(found.header),
            "left_out": dict(found.left_out),
        },
        f"wrote {out}: {len(found.rows):,} answers; columns {', '.join(found.header)}",
        *([layout.fields(layout.under("left out", left))] if left else []),
        f"Then: reticent survey estimate {shlex.quote(str(out))} --design {shlex.quote(str(design))}",
    )


def _write(path: Path, text: str) -> None:
    try:
        replace(path, text.encode())
    except OSError:
        raise SpecError(f"{path} cannot be written: check that its folder exists and is yours.") from None


@click.command("estimate", cls=Verb)
@argument("answers", type=PATH, metavar="ANSWERS", help="A .csv, .parquet or .duckdb file.")
@design_option
@click.option("--column", metavar="COLUMN", help="The answers; by default 'answer'.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Also by subgroup. May be repeated.")
@click.option("--respondent", metavar="COLUMN", help="Who answered; by default 'receipt', if there is one.")
@click.option("--code", metavar="COLUMN", help="The design's code; by default 'design', if there is one.")
@click.option("--table", metavar="NAME", help="The table of a .duckdb file.")
@click.option(
    "--interval", default="wilson", metavar="KIND", help="wilson, or exact: at least the level for every share."
)
@level
@click.option("--out", "-o", type=PATH, metavar="FILE.json", help="Write the record.")
@click.option("--html", "page", type=PATH, metavar="FILE", help="Write a page.")
@click.option("--plot", type=PATH, metavar="FILE.svg", help="Write the figure.")
@force
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("estimating")
def estimate(
    voice: Voice,
    answers: Path,
    design: Path,
    column: str | None,
    by: tuple[str, ...],
    respondent: str | None,
    code: str | None,
    table: str | None,
    interval: str,
    level: float,
    out: Path | None,
    page: Path | None,
    plot: Path | None,
    force: bool,
) -> None:
    """Estimate shares or a mean of everybody from the randomized answers, with intervals. As often as you like."""
    from reticent.survey import report
    from reticent.survey.result import figure

    made = read_design(design)
    for target in (out, page, plot):
        if target is not None:
            _free(target, force=force)
    if interval not in ("wilson", "exact"):
        raise click.BadParameter("--interval is wilson or exact.")
    found, columns = [], _columns(made, answers, column, respondent, code, by)
    for one, (where, who, which) in zip(designs_of(made), columns, strict=True):
        result = one.estimate_table(
            answers,
            where,
            table=table,
            groups=by,
            respondent=who,
            code=which,
            interval="exact" if interval == "exact" else "wilson",
            level=level,
        )
        found.append((one, result))
    whole = None if len(found) == 1 else made.guarantee
    records = [
        report.record(one, result, report.AnswerSource(answers, where, table, who, which, interval), together=whole)
        for (one, result), (where, who, which) in zip(found, columns, strict=True)
    ]
    if out is not None:
        _write(out, json.dumps(records[0] if len(records) == 1 else records, ensure_ascii=False, indent=2) + "\n")
    if page is not None:
        _write(page, report.page(found, records, together=whole))
    if plot is not None:
        _write(plot, report.svg(figure([result for _, result in found])))
    written = [str(target) for target in (out, page, plot) if target is not None]
    voice.result(
        {"verb": "survey estimate", "estimates": records, "files": written},
        *(part for one, result in found for part in _estimated(one, result)),
        *([] if whole is None else [f"{report.TOGETHER} {report.promise(whole)}"]),
        *([layout.fields(layout.under("note", _unchecked(columns)))] if _unchecked(columns) else []),
        *([f"wrote {', '.join(written)}"] if written else []),
    )


def _columns(
    made: Design | Questionnaire,
    answers: Path,
    column: str | None,
    respondent: str | None,
    code: str | None,
    by: Sequence[str],
) -> list[tuple[str, str | None, str | None]]:
    """For each question the column of its answers, and those of respondents and codes, if any."""
    names = _names(answers)
    who = respondent if respondent is not None else "receipt" if "receipt" in names else None
    size = len(designs_of(made))
    if size > 1 and (column is not None or code is not None):
        raise click.BadParameter("The answers to several questions are in answer_1, answer_2 and so on.")
    found = []
    for place in range(1, size + 1):
        suffix = f"_{place}" if size > 1 else ""
        where = column or f"answer{suffix}"
        which = code if code is not None else f"design{suffix}" if f"design{suffix}" in names else None
        found.append((where, who, which))
        for wanted in (where, who, which, *by):
            if names and wanted is not None and wanted not in names:
                near = nearest(where, names) if wanted == where and column is None and size == 1 else None
                hint = f" The column of the answers is named by --column, such as --column {near}." if near else ""
                raise QuestionError(f"There is no column '{wanted}'.{hint} Columns: {first_of(names)}.")
    return found


def _unchecked(columns: list[tuple[str, str | None, str | None]]) -> list[str]:
    """Checks that were left out because the table lacks their column."""
    found = []
    if any(who is None for _, who, _ in columns):
        found.append("Whether somebody answered twice was not checked: --respondent names the column that says who.")
    if any(which is None for _, _, which in columns):
        found.append("Whether all answers are to this design was not checked: --code names the column of its code.")
    return found


def _names(answers: Path) -> tuple[str, ...]:
    """The columns of a file that says them in its header; none for a database."""
    if answers.suffix.lower() == ".duckdb":
        return ()
    marks = ",;\t|" if answers.suffix.lower() == ".csv" else ","  # as some spreadsheets write; the engine finds it, too
    names: tuple[str, ...] = ()
    refused: SpecError | None = None
    for mark in marks:
        try:
            names = tuple(names_of(answers, delimiter=mark, longest=LONGEST_TITLE)) or names
        except SpecError as problem:  # a tab is no part of a name, but may part names
            refused = refused or problem
        if len(names) > 1:
            return names
    if refused is not None and not names:
        raise refused
    return names


def _estimated(one: Design, result: Result) -> Iterator[Passage]:
    from reticent.survey.report import NAMES, epsilon_words, lines, notes, promise
    from reticent.survey.result import every

    yield one.question
    each = epsilon_words(one.guarantee)
    yield f"{result.answers:,} answers, {NAMES[one.method]}, {each} for each respondent, local model"
    rows, cut = [], 0
    for name, part in every(result):
        shown = list(lines(part, name))
        cut += max(0, len(shown) - MOST_SHOWN)
        rows += [(line.name, line.estimate, line.interval, line.answers, line.openly) for line in shown[:MOST_SHOWN]]
    heads = ("", "estimate", f"{100 * result.level:g} % interval", "answers", "as asking openly")
    yield layout.columns(heads, rows, right=(1, 2, 3, 4), wrap=[0])
    told = list(notes(result))
    if cut:
        told.append(f"{cut:,} more lines are in the record (--out) and with --json.")
    yield layout.fields([*layout.under("note", told), ("guarantee", promise(one.guarantee))])


# --- check -----------------------------------------------------------------------------------------------------------


@click.command("check", cls=Verb)
@argument("record", type=PATH, metavar="RECORD", help="What 'survey estimate --out' wrote.")
@click.option("--answers", type=PATH, metavar="ANSWERS", help="The file of answers: the estimate is made again.")
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("checking the record")
def check(voice: Voice, record: Path, answers: Path | None) -> None:
    """Check the record of an estimate: design, proof and, with the answers, every number. Exit code 6 if one fails."""
    from reticent.survey.verification import check as checked
    from reticent.survey.verification import passed

    found = checked(record, answers)
    voice.result(
        {
            "verb": "survey check",
            "ok": passed(found),
            "checks": [{"name": line.name, "ok": line.ok, "words": line.words} for line in found],
        },
        layout.fields(("ok" if line.ok else "FAILED", f"{line.name}: {line.words}") for line in found),
    )
    raise click.exceptions.Exit(exit_codes.DONE if passed(found) else exit_codes.CHECK)


# --- simulate ---------------------------------------------------------------------------------------------------------


@click.command("simulate", cls=Verb)
@design_file
@click.option("--people", type=AT_LEAST_ONE, default=1000, metavar="NUMBER", help="How many people to make up.")
@click.option("--share", metavar="A,B", help="Their true shares; for yes or no that of yes, such as 0.3.")
@click.option("--runs", type=AT_LEAST_ONE, metavar="NUMBER", help="How many surveys.  [default: 400]")
@level
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("asking made-up people")
def simulate(voice: Voice, design: Path, people: int, share: str | None, runs: int | None, level: float) -> None:
    """Ask made-up people first: how wide the intervals would be, and how often they would hold the truth."""
    from reticent.survey.rehearsal import simulate as rehearse

    shares = [text.strip() for text in share.split(",")] if share else []
    listed = designs_of(read_design(design))
    if shares and len(listed) > 1:
        raise click.BadParameter("--share is about one question: simulate the design of each.")
    found = [(one, rehearse(one, people, shares, runs=runs, level=level)) for one in listed]
    voice.result(
        {"verb": "survey simulate", "surveys": [{"question": one.question, **made.to_json()} for one, made in found]},
        *(part for one, made in found for part in _simulated(one, made)),
    )


def _sd(made: SurveyRehearsal) -> float:
    """The standard deviation of the share covered, in points; the answers of one survey go together."""
    return 100 * sqrt(made.first.level * (1 - made.first.level) / made.runs)


def _simulated(one: Design, made: SurveyRehearsal) -> Iterator[Passage]:
    from reticent.survey.report import lines

    number = one.low is not None
    unit, scale = ("", 1.0) if number else (" points", 100.0)
    truths = ", ".join(
        f"{label} {scale * value:g}{'' if number else ' %'}" for label, value in made.truths[:MOST_SHOWN]
    )
    yield one.question
    yield layout.fields(
        [
            ("made up", f"{made.people:,} people ({truths}), {made.runs:,} surveys; nobody was asked"),
            *layout.under(
                "one survey", [f"{x.name} {x.estimate} ({x.interval})" for x in lines(made.first)][:MOST_SHOWN]
            ),
            (
                "interval",
                f"± {scale * made.half_width:.2g}{unit} on average: coins ± {scale * made.noise:.2g}, "
                f"sampling ± {scale * made.sampling:.2g}",
            ),
            (
                "coverage",
                f"{made.covered:,} of {made.intervals:,} held the truth ({100 * made.covered / made.intervals:.1f} %; "
                f"{made.runs:,} surveys tell it to about ± {2 * _sd(made):.1g} points)",
            ),
            ("outside", f"{made.outside:,} estimates were beyond what is possible, and would be shown clipped"),
        ]
    )
