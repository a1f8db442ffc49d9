"""Template of a study file for ``init``, from names and types alone, with the bounds left empty on purpose.

Bounds, lists of values, the person and the budget are public facts that only the curator can state. They are never
filled in from the file: a minimum, a maximum or a list of values found there is somebody's value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from reticent.calendar import DAY, Calendar
from reticent.data.columns import is_nested
from reticent.data.file_kinds import FileKind, bare, kind_of, stem_of
from reticent.data.files import delimiter_in
from reticent.data.format import PLAIN, Format, in_database, sign_words, toml_key, usual_name
from reticent.data.header import check_header, encoding_of
from reticent.data.source import fields_of
from reticent.errors import SpecError


def skeleton(
    source: str | Path,
    *,
    delimiter: str = ",",
    form: Format = PLAIN,
    header: Literal["names", "unsure"] = "unsure",
    dates: Sequence[str] = (),
    spelling: str = "",
    release: str = "",
    ledger: str = "",
) -> str:
    """A study file to fill in, from the header or the schema of the file alone; bounds are left out on purpose.

    Parameters
    ----------
    source : path, or URL of a table
    delimiter, form
        How the file is written; what is not the default is written into the study file.
    header : "names" or "unsure"
        "names": the curator has looked, and the first line holds names although one looks like a value.
    dates : sequence of str
        Columns of text that hold dates; their kind is "date".
    spelling : str
        How these are written, such as "dd.mm.yyyy"; empty for ISO 8601.
    release : str
        Name of its first release, and of the files that this writes; by default after the source.
    ledger : str
        Name of the ledger's file; by default after the source.

    Returns
    -------
    str
        Text of the study file.

    Raises
    ------
    SpecError
        Where the source is missing or no table, or its first line looks like a row, or a date is no column of it.
    """
    path, placed = Path(source), in_database(source)
    place = str(source) if placed else path.name
    fields = fields_of(source, delimiter=delimiter, encoding=form.encoding, sheet=form.sheet)
    if header == "unsure" and not placed:
        check_header([name for name, _ in fields], f"The first line of {path.name}")
    names = dict(fields)
    for name in dates:
        if not name or name not in names:
            raise SpecError(f"No column is called '{name}': --dates names columns letter by letter. No row was read.")
    like(spelling)  # refused before anything is written
    stem, labels = stem_of(place if placed else str(path.absolute())) or "study", dict[str, str]()
    if kind_of(path) == "statistical":
        from reticent.data.statistical_files import label_lines

        labels = label_lines(path)
    plain = kind_of(path) == "csv" and "".join(names).isascii()
    head = (
        "# One file describes the study and what is to be published. It holds public facts only.\n"
        "# Three things only you can say: who a person is, what range a value can have, and the budget.\n\n"
        "[study]\n"
        f"title  = {_quoted(stem)}\n"
        f"source = {_quoted(place)}\n"
        f"ledger = {_quoted(ledger or f'{stem}.ledger')}\n{_written(delimiter, form, plain=plain)}\n"
        "[person]\n"
        '# column  = "person_id"       # who one person is, when a person can have several rows\n'
        '# rows    = "one_each"        # or { at_most = 20, typical = 5 }: most kept of one person, average for plans\n'
        '# household = "home"          # optional: protects whole households; then per_household = 5 too\n'
        '# adjacency = "add_remove"    # hides whether someone is in the file; "substitute" makes their number public\n'
        "# people  = 20000             # optional: the number of people, if it is public\n\n"
        "[budget]\n"
        '# epsilon  = "1"              # text, so that 0.1 means one tenth\n'
        '# delta    = "1e-8"\n'
        '# approved = "…"              # who approved it\n'
    )
    told = {name: DATED if name in dates and not kind else kind for name, kind in names.items() if name}
    body = _once(
        "".join(_skeleton_column(name, kind, labels.get(name, ""), spelling=spelling) for name, kind in told.items())
    )
    return (
        head
        + COLUMNS
        + (FIELDS if kind_of(path) == "json lines" else "")
        + (f"# {NAMELESS}\n" if "" in names else "")
        + body
        + f'\n[[release]]\nname = {_quoted(release or f"{stem}_first")}\n# epsilon = "0.5"\nask = ["count"]\n'
    )


def further_skeletons(
    main: str | Path, others: Sequence[str | Path], *, delimiter: str = ",", form: Format = PLAIN
) -> str:
    """The sections of further tables to fill in, from their headers alone: what they share with tables before them.

    Parameters
    ----------
    main : path
        The source of the study.
    others : sequence of path
    delimiter, form
        How the main file is written, and what another one has its numbers in.

    Returns
    -------
    str

    Raises
    ------
    SpecError
        A file that is missing or no table, or whose first line looks like a row.
    """
    first = [name for name, _ in fields_of(Path(main), delimiter=delimiter, encoding=form.encoding, sheet=form.sheet)]
    known, made = {name: name for name in first}, list[str]()
    for path in map(Path, others):
        encoding = encoding_of(path, form.encoding) if kind_of(path) == "csv" else form.encoding
        sign = delimiter_in(path, encoding) or delimiter
        fields = dict(fields_of(path, delimiter=sign, encoding=encoding))
        check_header(list(fields), f"The first line of {path.name}")
        table = re.sub(r"\W", "_", bare(path).stem)
        shared = [known[name] for name in fields if name in known and name]
        told = f"shares {', '.join(shared)} with the tables before it" if shared else "shares no name of a column"
        keys = ", ".join(map(_quoted, shared)) if shared else '{ here = "there" }'
        keys = f"[{keys}]" if len(shared) > 1 else keys
        lines = [
            f"\n[tables.{table}]   # {told}",
            f"source = {_quoted(path.name)}",
            *([f"delimiter = {_quoted(sign)}"] if sign != delimiter else []),
            *([f"encoding = {_quoted(usual_name(encoding))}"] if encoding != form.encoding else []),
            "# public = true               # if nobody is in it: then its key is unique. Else it is about people,",
            "# person = …                  # and is joined on the person, by this column where it has another name",
            f"# key    = {keys:<17} # columns that agree, but for the person",
            '# join   = "left"             # "inner" leaves out rows without a partner',
        ]
        made.append("\n".join(lines) + "\n")
        columns = (
            _skeleton_column(name, kind, "", f"tables.{table}.columns")
            for name, kind in fields.items()
            if name and name not in known
        )
        made.append(_once("".join(columns)))
        known |= {name: f"{table}.{name}" for name in fields if name not in known}
    return "".join(made)


WINDOWS: Final = "windows-1252"
DATED: Final = "date of a text"
GRID: Final = '# resolution = "…"           # of values on a grid, "0.01" or "1000": made-up values keep to it\n'
SPELT: Final = '                # or "datetime"; format = "dd.mm.yyyy" where cells are spelt otherwise than 2024-02-29'

COLUMNS: Final = (
    "\n# Columns. Delete those that nothing is asked of: a column that does not stand here is never read.\n"
)
FIELDS: Final = (
    "# JSON lines have no header: names of fields stand in the rows, which were not read. Name those that you need.\n\n"
    '# [columns.age]\n# kind = "integer"\n# low  = …\n# high = …\n'
)
NAMELESS: Final = (
    "A column without a name is left out, such as names of rows that R and pandas write first, or what stands behind a "
    "last delimiter."
)


ALONE: Final = (
    "Only one column was found. Does a title stand above the names? Delete its row, and those without cells below it."
)
DIVIDED: Final = " Does another sign divide the columns? Say --delimiter."


def _written(delimiter: str, form: Format, *, plain: bool) -> str:
    """The lines of [study] that say how the file is written, where that is not as by default, or would be doubted.

    ``plain`` is True of the header of a CSV file in ASCII, which tells nothing of the encoding.
    """
    told = {
        "sheet": form.sheet,
        "delimiter": delimiter,
        "encoding": usual_name(form.encoding),
        "decimal": form.decimal,
        "thousands": form.thousands,
    }
    usual = {
        "sheet": "",
        "delimiter": ",",
        "encoding": "" if form.has_encoding else PLAIN.encoding,
        "decimal": "" if form.doubt(delimiter) else PLAIN.decimal,
        "thousands": PLAIN.thousands,
    }
    lines = [f"{key} = {_quoted(text)}\n" for key, text in told.items() if text != usual[key]]
    if plain and unclear_encoding(delimiter, form):
        lines.append(f"# encoding = {_quoted(WINDOWS)}   # if an older Excel wrote the file; the header cannot tell\n")
    if form.na:
        lines.append(f"na = [{', '.join(map(_quoted, form.na))}]\n")
    if form.symbols:
        lines.append(
            f"symbols = [{', '.join(map(_quoted, form.symbols))}]   # beside numbers, which are read without them\n"
        )
    return "".join(lines)


def unclear_encoding(delimiter: str, form: Format) -> bool:
    """Tell if a file may well be in another encoding than UTF-8: ``;`` between its cells, and nobody said."""
    return delimiter == ";" and form.encoding == PLAIN.encoding and not form.has_encoding


def _once(text: str) -> str:
    """The text with each hint at the end of a line at its first line alone."""
    told: set[str] = set()
    made = []
    for line in text.splitlines(keepends=True):
        found = re.fullmatch(r"(\S.*?) +# (.+)\n", line)
        if found is not None and found[2] in told:
            line = f"{found[1]}\n"
        elif found is not None:
            told.add(found[2])
        made.append(line)
    return "".join(made)


def _skeleton_column(name: str, kind: str, labels: str, where: str = "columns", *, spelling: str = "") -> str:
    title = f"\n[{where}.{toml_key(name)}]\n{labels}"
    bounds = '# low  = …                   # known without looking at the file\n# high = …\n# why  = "…"\n'
    if kind.startswith(("int", "uint")):
        return f'{title}kind = "integer"\n{bounds}'
    if kind.startswith(("float", "double", "half", "decimal")):
        return f'{title}kind = "real"\n{bounds}{GRID}'
    if kind.startswith(("date", "timestamp")):
        days = bounds.replace("low  = …         ", "low  = 2020-01-01")
        spelling = spelling if kind == DATED else ""
        directives = Calendar(DAY, format=spelling).format
        timed = kind.startswith("timestamp") or "%H" in directives or "%I" in directives
        word = "datetime" if timed else "date"
        spelt = f"\nformat = {_quoted(spelling)}" if spelling else SPELT if kind == DATED else ""
        return f'{title}kind = "{word}"{spelt}\n{days}'
    if is_nested(kind):
        return f"{title}# holds several values in a cell: nothing can be asked of it. Delete these lines\n"
    if kind.startswith(("time", "duration")):
        return f"{title}# holds times of a day: write them as text or as a number first, or delete these lines\n"
    if kind:
        return f'{title}kind = "category"\n# among = […]                # the public list of values\n'
    kinds = '"real", "integer", "date", "datetime", "text", or "category" with among = […]'
    return f"{title}# kind = …                   # {kinds}\n{bounds}"


def like(spelling: str) -> str:
    """A date as such a format has it, ``"31.12.2024"`` of ``"dd.mm.yyyy"``.

    Raises
    ------
    PublicParameterError
        For a format that spells no date.
    """
    return Calendar(DAY, format=spelling).example


def skeleton_words(
    names: Mapping[str, str],
    wrote: str,
    *,
    kind: FileKind = "csv",
    delimiter: str = ",",
    form: Format = PLAIN,
    dates: Mapping[str, str] = MappingProxyType({}),
    said: Collection[str] = (),
) -> str:
    """The words of ``init``: what it did, what it assumed since it read no row, and what only the curator can say.

    Parameters
    ----------
    names : mapping of name to type
        Columns of the file.
    wrote : str
        Name of the study file.
    kind : FileKind
        Format of the source.
    delimiter : str
    form : Format
        Way in which the file writes numbers.
    dates : mapping of name to str
        Columns of dates, each with an example of how they are written.
    said : collection of str
        The options that the curator gave, such as "--decimal"; the others are assumed.

    Returns
    -------
    str
    """
    named = len(names) - ("" in names)
    columns = f"{named:,} column{'' if named == 1 else 's'}"
    told = []
    if kind == "json lines":
        told.append(
            f"wrote {wrote}, without columns: names of fields stand in the rows of JSON lines, and no row was read. "
            "Name those that you need."
        )
    elif kind == "workbook":
        told += [
            f"wrote {wrote}: {columns}, names from the first row of the sheet. No other row was read.",
            "Numbers, dates and truth values are read as the workbook holds them.",
        ]
    elif kind == "statistical":
        told.append(
            f"wrote {wrote}: {columns}, names, types and value labels from the header of the file. No row was read. "
            "Confirm each label: it is public only if you say so."
        )
    elif kind == "database":
        told.append(f"wrote {wrote}: {columns}, names and types from the catalog of the database. No row was read.")
    elif kind == "parquet":
        told.append(
            f"wrote {wrote}: {columns}, names and types from the Parquet schema. No row was read, and the minima, "
            "maxima and row counts that a Parquet footer holds were not shown: they are private values."
        )
    else:
        sign = sign_words(delimiter)
        told += [
            f"wrote {wrote}: {columns}, names from the first line of the file, with {sign} between them. No row was "
            "read.",
            *_notation_words(form, dates, said),
        ]
        if "".join(names).isascii() and unclear_encoding(delimiter, form):
            told.append(
                "The header is plain ASCII, which cannot tell the encoding. If an older Excel wrote the file: "
                f"--encoding {WINDOWS}, or encoding = {_quoted(WINDOWS)} in [study]. Else labels with accents match "
                "no row."
            )
        if dates:
            how = ', and say how it is written: --date-format dd.mm.yyyy, or format = "dd.mm.yyyy" in the study file.'
            told.append(
                "Dates that are written otherwise count as missing. Look at a cell"
                f"{'.' if '--date-format' in said else how}"
            )
    if named == 1 and kind in ("csv", "workbook"):
        told.append(f"{ALONE}{DIVIDED if kind == 'csv' else ''}")
    if "" in names:
        told.append(NAMELESS)
    told.append(
        "Three things only you can say: who a person is ([person]), what range a value can have ([columns.*]), "
        "the budget ([budget])."
    )
    return "\n".join(told)


def _notation_words(form: Format, dates: Mapping[str, str], said: Collection[str]) -> list[str]:
    """Sentences on how the file is written: what the curator said, and what is assumed, with the options for it."""
    split = form.thousands
    facts = {
        "--encoding": f"encoding {usual_name(form.encoding)}",
        "--decimal": f"numbers like 1{split}234{form.decimal}5",
        "--thousands": f"thousands like 1{split}234" if split else "no sign between thousands",
        "--na": f"missing: {', '.join(form.na) or 'empty cells'}",
        "--symbols": f"{' or '.join(form.symbols) or 'no symbol'} beside numbers",
        "--dates": f"dates in {', '.join(dates) or 'no column'}",
        **({"--date-format": f"dates like {next(iter(dates.values()))}"} if dates else {}),
    }
    given = [words for option, words in facts.items() if option in said]
    left = {option: words for option, words in facts.items() if option not in said}
    return [
        *([f"You said: {'; '.join(given)}."] if given else []),
        *([f"Assumed: {'; '.join(left.values())}. To say otherwise: {', '.join(left)}."] if left else []),
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
