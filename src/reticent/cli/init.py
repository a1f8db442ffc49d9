"""``init``: a study file to fill in, from names and types alone, or a key pair."""

from __future__ import annotations

import glob
import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from reticent.certificate.keys import make_keys
from reticent.cli import options
from reticent.cli.options import write_new
from reticent.cli.output import clean
from reticent.cli.parser import PATH, PLACE, Verb, argument
from reticent.data.database_files import FileAddress, file_address, kind_of_database, tables_of_file
from reticent.data.file_kinds import bare, kind_of, stem_of
from reticent.data.files import delimiter_in
from reticent.data.format import PLAIN, Format, in_database, in_database_file, symbols_in
from reticent.data.header import encoding_of
from reticent.data.source import names_of
from reticent.data.template import further_skeletons, like, skeleton, skeleton_words
from reticent.errors import SpecError
from reticent.ledger.claim_file import claimed_here

if TYPE_CHECKING:
    from reticent.cli.output import Voice

ISO: Final = "2024-12-31"


@click.command("init", cls=Verb)
@argument("file", type=PLACE, required=False, metavar="FILE", help="A file that holds a table, or the URL of one.")
@argument("more", type=PATH, nargs=-1, metavar="FILES", help="Further tables that are joined to it.")
@click.option("--out", "-o", type=PATH, metavar="STUDY", help="Where to write it; by default FILE.toml.")
@click.option("--key", type=PATH, metavar="NAME", help="Write a key pair NAME.key and NAME.pub instead.")
@click.option("--header-is-names", is_flag=True, help="The first line holds names, although one looks like a value.")
@click.option("--sheet", default="", show_default=False, metavar="NAME", help="Of a workbook with several sheets.")
@click.option("--table", default="", show_default=False, metavar="NAME", help="Of a DuckDB or SQLite file.")
@click.option("--delimiter", metavar="SIGN", help="Between the cells of a CSV file; by default as in its first line.")
@click.option(
    "--encoding", metavar="NAME", help="Of a CSV file, such as windows-1252.  [default: utf-8, where the header is]"
)
@click.option("--decimal", metavar="SIGN", help="The decimal sign of numbers.  [default: ., or , between ;]")
@click.option("--dates", multiple=True, metavar="COLUMN", help="A column of dates or times. May be repeated.")
@click.option("--date-format", metavar="FORMAT", help="How they are written, such as dd.mm.yyyy.  [default: ISO]")
@click.option(
    "--thousands", default="", show_default=False, metavar="SIGN", help="The sign between groups of three digits."
)
@click.option("--na", multiple=True, metavar="TEXT", help="A text that counts as missing. May be repeated.")
@click.option(
    "--symbols", multiple=True, metavar="TEXT", help="Beside numbers, such as € or %.  [default: those in the header]"
)
@options.as_json
@click.pass_obj
def init(
    voice: Voice,
    file: str | None,
    more: tuple[Path, ...],
    out: Path | None,
    key: Path | None,
    header_is_names: bool,
    sheet: str,
    table: str,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
    dates: tuple[str, ...],
    date_format: str | None,
    thousands: str,
    na: tuple[str, ...],
    symbols: tuple[str, ...],
) -> None:
    """Write a study file to fill in, from names and types alone; or a key pair with --key.

    No row is read, so the decimal sign, the encoding and dates are asked for at a terminal, and assumed elsewhere.
    Bounds are left empty on purpose: only you can state them without looking.
    """
    if (file is None) == (key is None):
        raise click.BadParameter("Give a FILE, or --key NAME.")
    if file is None:
        assert key is not None
        _keys(voice, key)
        return
    if place := _in_database(file, table):
        _of_database(voice, place, out, more)
        return
    _of_file(
        voice,
        Path(file),
        more,
        out,
        header_is_names,
        sheet,
        delimiter,
        encoding,
        decimal,
        dates,
        date_format,
        thousands,
        na,
        symbols,
    )


def _in_database(typed: str, table: str) -> str:
    """The URL of a table in a database, as it was typed or of a file and a table; empty for another file."""
    if in_database(typed):
        if table:
            raise click.BadParameter("The URL names its table: ?table=NAME. Leave --table out.")
        return typed
    kind = kind_of_database(Path(typed))
    if not kind:
        if table:
            raise click.BadParameter("--table is of a DuckDB or SQLite file.")
        return ""
    if not table:
        listed = ", ".join(tables_of_file(Path(typed), kind)) or "none"
        raise click.BadParameter(f"Name a table: --table NAME. Tables that are there: {clean(listed)}.")
    return FileAddress(kind, Path(typed), table).url


def _of_database(voice: Voice, place: str, out: Path | None, more: tuple[Path, ...]) -> None:
    """Write the study file of a table in a database, by its catalog alone."""
    if more:
        raise click.BadParameter("init takes one table of a database. Add others by hand: [tables.NAME] source, key.")
    target = out or Path(f"{stem_of(place)}.toml")
    text = skeleton(place, release=_release_name(target), ledger=_ledger_name(target, place))
    names = names_of(place)
    if in_database_file(place):  # a source is named as seen from the study file
        at = file_address(place)
        path = os.path.relpath(at.file.resolve(), target.resolve().parent)
        text = text.replace(_quoted(place), _quoted(FileAddress(at.kind, Path(path), at.table).url), 1)
    write_new(target, text, hint="Name another file: --out STUDY.toml")
    voice.result(
        {"verb": "init", "wrote": str(target), "columns": list(names), "delimiter": ","},
        *skeleton_words(names, str(target), kind="database").split("\n"),
        f"Then: reticent check {shlex.quote(str(target))}",
    )


def _of_file(
    voice: Voice,
    file: Path,
    more: tuple[Path, ...],
    out: Path | None,
    header_is_names: bool,
    sheet: str,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
    dates: tuple[str, ...],
    date_format: str | None,
    thousands: str,
    na: tuple[str, ...],
    symbols: tuple[str, ...],
) -> None:
    """Write the study file of a file, and ask at a terminal how it is written."""
    if out is None and glob.has_magic(str(file)) and kind_of(file) == "parquet" and not file.exists():
        raise click.BadParameter("Several files have no one name: say --out STUDY.toml.")
    encoding = None if encoding is None else Format(encoding).encoding  # refused before a file is opened with it
    seen = delimiter_in(file, encoding or "utf-8")
    target = out or _beside(file)
    if target.exists():  # before anything is asked
        write_new(target, "", hint="Name another file: --out STUDY.toml")
    options_given = {
        "--encoding": encoding,
        "--decimal": decimal,
        "--thousands": thousands,
        "--na": na,
        "--symbols": symbols,
        "--dates": dates,
        "--date-format": date_format,
    }
    said = {option for option, given in options_given.items() if given}
    usual = PLAIN.encoding if seen is None else encoding_of(file)
    encoding = _told(encoding, "Encoding", usual, asked=seen is not None)
    sign = delimiter or seen or ","
    decimal = _told(decimal, "Decimal sign of numbers", "," if sign == ";" else ".", asked=seen is not None)
    if not dates and seen is not None:
        listed = _told(None, "Columns of dates, with commas between", "none", asked=True)
        dates = () if listed == "none" else tuple(filter(None, map(str.strip, listed.split(","))))
    if dates:
        date_format = _told(date_format, "How these dates are written, such as dd.mm.yyyy", ISO, asked=seen is not None)
    elif date_format is not None:
        raise click.BadParameter("--date-format goes with --dates COLUMN.")
    spelling = "" if date_format in (None, ISO) else str(date_format)
    names = names_of(file, delimiter=sign, encoding=encoding, sheet=sheet)
    beside = symbols or (symbols_in(names) if seen is not None else ())
    form = Format(encoding, decimal, thousands, na, sheet, has_encoding="--encoding" in said, symbols=beside)
    header: Literal["names", "unsure"] = "names" if header_is_names else "unsure"
    text = skeleton(
        file,
        delimiter=sign,
        form=form,
        header=header,
        dates=dates,
        spelling=spelling,
        release=_release_name(target),
        ledger=_ledger_name(target, file),
    )
    if more:
        if {kind_of(one) for one in (file, *more)} == {"parquet"} and all(names_of(one) == names for one in more):
            raise SpecError(
                f"These {len(more) + 1} Parquet files have the same columns. If they are one table, put the pattern "
                "in quotes, so that the shell leaves it as it is: reticent init 'visits/**/*.parquet'."
            )
        body, mark, rest = text.rpartition("\n[[release]]")
        text = body + further_skeletons(file, more, delimiter=sign, form=form) + mark + rest
    for one in (file, *more):
        if target.resolve().parent != one.resolve().parent:  # a source is named as seen from the study file
            path = os.path.relpath(one.resolve(), target.resolve().parent)
            text = text.replace(f"source = {_quoted(one.name)}", f"source = {_quoted(path)}", 1)
    write_new(target, text, hint="Name another file: --out STUDY.toml")
    told = dict.fromkeys(dates, like(spelling))
    words = skeleton_words(names, str(target), kind=kind_of(file), delimiter=sign, form=form, dates=told, said=said)
    voice.result(
        {"verb": "init", "wrote": str(target), "columns": list(names), "delimiter": sign},
        *words.split("\n"),
        *([f"Further tables: {', '.join(one.name for one in more)}. Say of each how it is reached."] if more else []),
        f"Then: reticent check {shlex.quote(str(target))}",
    )


def _release_name(target: Path) -> str:
    """The name of the first release, after the study file: its files are no other study's, and not the source."""
    return f"{target.stem}_first"


def _ledger_name(target: Path, source: str | Path) -> str:
    """The name of a ledger: that of the same source where there is one, else one that nothing else has.

    A source that is under a ledger already keeps the usual name: whoever lost the study file finds it again.
    """
    folder = target.resolve().parent
    known = dict(_ledgers_beside(folder))
    if (here := _placed(str(source), Path())) in known:
        return known[here]
    stem, file = stem_of(str(source.absolute() if isinstance(source, Path) else source)) or "study", Path(source).name
    if isinstance(source, Path) and claimed_here(source.resolve()):
        return f"{stem}.ledger"
    kinds = [f"{file}.ledger"] if isinstance(source, Path) and not glob.has_magic(file) else []
    tries = (f"{stem}.ledger", *kinds, *(f"{stem}_{number}.ledger" for number in range(2, 1_000)))
    return next(one for one in tries if not (folder / one).exists() and one not in known.values())


def _ledgers_beside(folder: Path) -> Iterator[tuple[str, str]]:
    """The source and the ledger of each study file in a folder; files that cannot be read name none."""
    import tomllib

    for file in sorted(folder.glob("*.toml")):
        with suppress(OSError, ValueError):
            study = tomllib.loads(file.read_text("utf-8")).get("study")
            if isinstance(study, dict) and {"source", "ledger"} <= study.keys():
                yield _placed(str(study["source"]), folder), str(study["ledger"])


def _placed(source: str, folder: Path) -> str:
    """A source by its whole path, as seen from a folder; a table of a server by its URL."""
    if in_database_file(source):
        at = file_address(source)
        return f"{(folder / at.file).resolve()}?{at.table}"
    return source if in_database(source) else str((folder / source).resolve())


def _beside(file: Path) -> Path:
    """The study file of a table: visits.toml of visits.csv.gz."""
    return bare(file).with_suffix(".toml")


def _told(given: str | None, question: str, default: str, *, asked: bool) -> str:
    """An option as it was given; else the answer at a terminal. The default is an empty line's answer, and nobody's."""
    if given is not None or not asked or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default if given is None else given
    sys.stderr.write(f"{clean(question)} [{default}]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or default


def _keys(voice: Voice, name: Path) -> None:
    private, public = make_keys(name)
    voice.result(
        {"verb": "init", "private": str(private), "public": str(public)},
        f"wrote {private} (keep it to yourself: it signs) and {public} (give it to everyone: it checks)",
        f"sign with:   reticent release STUDY --key {shlex.quote(str(private))}",
        f"check with:  reticent verify CERTIFICATE --key {shlex.quote(str(public))}",
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
