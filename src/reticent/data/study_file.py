"""The study file: public facts only, in TOML, read strictly and with every number exact.

    text --tomllib, decimals kept--> tables --known keys only--> Spec(title, source, ledger, schema, budget, releases)

No row is read here, and nothing about rows is ever said: a warning shown for some rows only would be a release.
Whatever cannot be used is a ``SpecError`` that says what to type instead. ``study.schema.json`` is the same grammar
for editors; a test keeps the two in agreement.
"""

from __future__ import annotations

import datetime
import glob
import math
import re
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from reticent import calendar as days
from reticent.data import expression_tree
from reticent.data.columns import bounds_doubts, encoding_doubt, of_people, wanted
from reticent.data.file_kinds import TEXT, kind_of, meant_file, stem_of
from reticent.data.format import (
    Limits,
    in_database,
    toml_key,
)
from reticent.data.further_tables import (
    without_partners,
)
from reticent.data.schema import (
    Category,
    Integer,
    Real,
    Schema,
    code_doubts,
    value_words,
)
from reticent.data.source import names_of
from reticent.data.spec import (
    LARGE_DELTA,
    Budget,
    ReleaseSpec,
    Spec,
    Tables,
    check_budget,
    check_keys,
    number_at,
    read_passing,
    shown_cell,
    sizes_of,
    text_at,
)
from reticent.data.study_sections import (
    Numbers,
    Problems,
    _named,
    read_column,
    read_columns,
    read_delimiter,
    read_design,
    read_format,
    read_numbers,
    read_person,
    read_schema,
    read_snapshot,
    read_source,
    read_tables,
    section_of,
    without_kinds,
)
from reticent.errors import PublicParameterError, SpecError, first_of
from reticent.privacy.cost import OF_LISTED, refuse_weak
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, PureDP
from reticent.privacy.numbers import about, show

if TYPE_CHECKING:
    from reticent.data.expression_tree import Key


def read_spec(path: str | Path) -> Spec:
    """The study a file declares.

    Raises
    ------
    SpecError
        With words, before anything else is opened.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except FileNotFoundError:
        raise SpecError(f"There is no study file {path.name}. Write one with: reticent init FILE") from None
    except (OSError, UnicodeDecodeError):
        raise SpecError(_no_study(path) or f"{path.name} cannot be read as UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        if words := _no_study(path):
            raise SpecError(words) from None
        raise SpecError(f"{path.name} is not TOML: {error}.{_toml_hint(path, str(error))}") from None
    except ValueError:  # a number of more digits than Python reads, a month that is none
        raise SpecError(f"{path.name} holds a number or a date that cannot be read.") from None
    except RecursionError:
        raise SpecError(f"{path.name} is nested too deeply.") from None
    try:
        return parse_spec(tables, path.resolve().parent)
    except RecursionError:
        raise SpecError(f"{path.name} is nested too deeply.") from None


def _no_study(path: Path) -> str:
    """Words for a file whose ending is not that of a study file; empty for one that may be a study file."""
    ending, typed = path.suffix.lower(), shlex.quote(path.name)
    if ending in ("", ".toml") or not path.is_file():
        return ""
    if ending == ".json":
        return f"{path.name} is no study file, which is TOML. A certificate is looked at by reticent explain {typed}."
    return (
        f"{path.name} is no study file, which is TOML. A table has one by reticent init {typed}, or is opened by "
        f"rt.study({str(path)!r}, columns=…)."
    )


LONGEST_LINE: Final = 200


CURLY: Final = "“”„«»‘’"


OF_TOML: Final = re.compile(r"\[|[\w.\"-]+\s*=")


def _toml_hint(path: Path, error: str) -> str:
    """A hint for a line that is no TOML, with the line if it is of a study file and holds no password."""
    found = re.search(r"at line ([0-9]+)", error)
    lines = path.read_text("utf-8-sig").split("\n")
    line = lines[int(found[1]) - 1].strip() if found and int(found[1]) <= len(lines) else ""
    shown = f" The line: {line}" if len(line) <= LONGEST_LINE and OF_TOML.match(line) and "://" not in line else ""
    return f"{shown}{'.' if shown else ''}{_meant(line, error)}"


def _meant(line: str, error: str) -> str:
    """Spelling of a line that is no TOML, where it is known; else an empty text."""
    if "twice" in error:
        return " This table stands in the file already: keep one, with all of its lines."
    if "overwrite" in error:
        return " This name stands in its table already: keep one of the two lines."
    if any(quote in line for quote in CURLY):
        return ' Texts stand in straight quotes: "…".'
    if pair := re.fullmatch(r"([A-Za-z_]+)\s*=\s*(-?\d+),(\d+)", line):
        return f" A decimal number has a point, and no sign between thousands: {pair[1]} = {pair[2]}.{pair[3]}."
    if line.count('"') % 2 and "Illegal character" in error:
        return " A quote is missing: a text ends with the sign it begins with."
    if expression_tree.DATE_OTHERWISE.search(line):
        return " A date is written 2024-02-29, without quotes."
    if name := re.fullmatch(r"\[((?:tables\.\w+\.)?columns)\.([^\"'\]]+)\]", line):
        return f" A name with other signs stands in quotes: [{name[1]}.{toml_key(name[2])}]."
    if pair := re.fullmatch(r"([A-Za-z_]+)\s*=\s*([^\W\d][\w ]*)", line):
        return f" A text stands in quotes: {pair[1]} = {shown_cell(pair[2])}."
    return ""


def parse_spec(tables: Tables, folder: Path) -> Spec:
    """The study that parsed TOML declares; relative paths are relative to ``folder``.

    Raises
    ------
    SpecError, PublicParameterError
        With every problem: the first of each key of [study], column and release.
    """
    try:
        return _spec(tables, folder)
    except (SpecError, PublicParameterError) as error:
        found = _problems(tables, folder)
        if not found or found == (str(error),):
            raise
    raise SpecError(*found)


def _spec(tables: Tables, folder: Path) -> Spec:
    check_keys(tables, "", "the study file")
    study = section_of(tables, "study")
    check_keys(study, "study", "[study]")
    person = read_person(tables)
    budget = _budget(section_of(tables, "budget"), person.people)
    further = read_tables(section_of(tables, "tables"), folder, study)
    engine, limits = _engine(tables, folder)
    return Spec(
        title=text_at(study, "title", "[study]") or "",
        source=read_source(study, folder),
        ledger=_ledger(study, folder),
        schema=read_schema(read_columns(tables), person, study, further),
        budget=budget,
        releases=_releases(tables, budget.override),
        folder=folder,
        delimiter=read_delimiter(study),
        snapshot=read_snapshot(study),
        further=further,
        limits=limits,
        engine=engine,
        has_decimal="decimal" in study,
    )


def _problems(tables: Tables, folder: Path) -> tuple[str, ...]:
    """Whatever keeps the parts from being read, each part by itself."""
    problems = Problems()
    problems.of(check_keys, tables, "", "the study file")
    study, budgeted, declared = (problems.of(section_of, tables, name) or {} for name in ("study", "budget", "columns"))
    problems.of(check_keys, study, "study", "[study]")
    problems.of(text_at, study, "title", "[study]")
    problems.of(read_source, study, folder)
    problems.of(_ledger, study, folder)
    for part in (read_delimiter, read_format, read_snapshot, read_design):
        problems.of(part, study)
    person = problems.of(read_person, tables)
    people = None if person is None else person.people
    problems.of(read_columns, tables)
    problems.of(_engine, tables, folder)
    read = {name: table for name, table in declared.items() if not (isinstance(table, dict) and "from" in table)}
    before = len(problems.found)
    blank = [name for name, table in read.items() if table == {}]
    if len(blank) > 1:  # a skeleton that is not filled in
        problems.found.append(without_kinds(blank))
    for name, table in read.items():
        if len(blank) < 2 or name not in blank:
            problems.of(read_column, name, table)
    further = problems.of(read_tables, problems.of(section_of, tables, "tables") or {}, folder, study)
    if person is not None and further is not None and len(problems.found) == before and declared:
        problems.of(read_schema, declared, person, study, further)
    budget = problems.of(_budget, budgeted, people)
    problems.of(_releases, tables, str(budgeted.get("override", "")) if budget is None else budget.override)
    return tuple(dict.fromkeys(problems.found))


def _ledger(study: Tables, folder: Path) -> str | None:
    ledger = text_at(study, "ledger", "[study]")
    if ledger is None:
        return None
    if in_database(ledger):
        from reticent.database_url import is_url, parted

        if not is_url(ledger):
            raise SpecError("[study] ledger is a file, or postgresql://host/database?schema=name. Nothing was read.")
        parted(ledger, ("schema",), "ledger")  # refused where it holds a password
        return ledger
    _named(ledger, "[study] ledger")
    return str(folder / ledger)


def _engine(tables: Tables, folder: Path) -> tuple[str, Limits]:
    given = section_of(tables, "engine")
    check_keys(given, "engine", "[engine]")
    if not given:
        return "", Limits()
    from reticent.data.engines.engine import check_place, read_engine

    found = read_engine(given, folder)
    if found[0]:
        check_place(read_source(section_of(tables, "study"), folder), found[0])
    return found


def _budget(table: Tables, people: int | None) -> Budget:
    check_keys(table, "budget", "[budget]")
    loss = _loss(read_numbers(table, "[budget]"), "[budget]")
    if loss is None:
        raise SpecError('[budget] epsilon = "…" is missing (or rho = "…"): the most this study may ever spend.')
    override = text_at(table, "override", "[budget]") or ""
    check_budget(loss, override, people)
    ends = table.get("ends")
    if ends is not None and (isinstance(ends, datetime.datetime) or not isinstance(ends, datetime.date)):
        raise SpecError("[budget] ends must be a date such as 2027-12-31, without quotes")
    return Budget(loss, text_at(table, "approved", "[budget]") or "", ends, override)


def _loss(numbers: Numbers, where: str) -> Counted | None:
    epsilon, delta, rho = numbers
    if rho is not None and epsilon is not None:
        raise SpecError(f"{where} is either epsilon (and delta) or rho (and delta), not both")
    try:
        if rho is not None:
            return ApproxZCDP(rho, delta) if delta else ZCDP(rho)
        if epsilon is None:
            return None
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    except PublicParameterError as error:
        raise SpecError(f"{where} {error}") from None


def _releases(tables: Tables, override: str) -> tuple[ReleaseSpec, ...]:
    found = tables.get("release", [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise SpecError("a release is written [[release]], with two brackets")
    problems = Problems()
    read = [problems.of(_release, table, place, override) for place, table in enumerate(found, start=1)]
    names = [release.name for release in read if release is not None]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problems.found.append(f"Two releases are called '{name}'. Give each its own name.")
    problems.refuse()
    return tuple(release for release in read if release is not None)


def _release(table: Tables, place: int, default: str) -> ReleaseSpec:
    if "synthesize" in table:
        raise SpecError("synthesize is not in this version: ask for statistics.")
    name = text_at(table, "name", f"[[release]] number {place}")
    if not name:
        raise SpecError(f'[[release]] number {place} has no name. Write name = "table 1".')
    where = f"[[release]] '{name}'"
    check_keys(table, "release", where)
    epsilon, delta, rho = numbers = read_numbers(table, where)
    _loss(numbers, where)
    override = text_at(table, "override", where) or ""
    if epsilon is not None:
        refuse_weak(epsilon, override or default, OF_LISTED)
    ask = table.get("ask")
    if not isinstance(ask, list) or not ask or not all(isinstance(text, str) for text in ask):
        raise SpecError(f'{where} ask must list questions as text, such as ["count", "mean(age)"]')
    anyway = table.get("try_anyway", False)
    if not isinstance(anyway, bool):
        raise SpecError(f"{where} try_anyway is true or false")
    passing = None if "passing" not in table else read_passing(number_at(table, "passing", where), f"{where} passing")
    wanted = _want(table.get("want", {}), where)
    request = text_at(table, "request_id", where)
    return ReleaseSpec(name, tuple(ask), epsilon, delta, rho, wanted, override, anyway, passing, request)


def _want(table: object, where: str) -> Mapping[str, float]:
    if not isinstance(table, dict):
        raise SpecError(f'{where} want must be a table, such as want = {{ "mean(age)" = 0.2 }}')
    want = {}
    for question, width in table.items():
        number = None if isinstance(width, bool) or not isinstance(width, int | Decimal) else float(width)
        if number is None or not 0 < number < math.inf:
            raise SpecError(f"{where} want of {question} must be a half-width > 0, got {shown_cell(width)}")
        want[str(question)] = number
    return MappingProxyType(want)


def warnings(spec: Spec) -> tuple[str, ...]:
    """Warnings of ``check`` about a study file, independent of the rows."""
    said = [*_about_the_study(spec), *(words for _, words in (*bounds_doubts(spec.schema), *code_doubts(spec.schema)))]
    asked = of_people(spec.schema)
    typed = _typed(spec)
    listed = [
        name for name, column in asked.items() if isinstance(column, Category) and name not in spec.schema.computed
    ]
    for complete in (False, True):
        names = [name for name in listed if spec.schema.columns[name].complete is complete]
        if names:
            instead = "count as the first of their list (complete = true)" if complete else "count as missing"
            said.append(f"Values of {first_of(names)} that are not listed, letter by letter, {instead}.")
    endless: list[str] = []
    odd: dict[str, list[str]] = {}  # columns by what is said of a cell that is no number
    for name, column in asked.items():
        if isinstance(column, Category) or name in spec.schema.computed:
            continue
        if column.low is None:
            endless.append(f"columns.{toml_key(name)}")
        if not typed[spec.schema.table_of(name)]:
            kind = "integers" if isinstance(column, Integer) else "numbers"
            if isinstance(column, Integer) and column.calendar is not None:
                kind = "dates" if column.calendar.kind == "date" else "times"
            odd.setdefault(f"that are not {kind} {_instead(column)}", []).append(name)
    if endless:
        said.append(
            f"{first_of(endless)} {'has' if len(endless) == 1 else 'have'} no bounds: mean and sum will be refused; "
            "median, iqr, trimmed mean may give no reply."
        )
    said += [f"Values of {first_of(names)} {words}." for words, names in odd.items()]
    said += [words for _, words in notation_doubts(spec)]
    return (*absent_files(spec), *said, *without_partners(spec.schema))


def notation_doubts(spec: Spec, keys: Mapping[str, tuple[Key, ...]] | None = None) -> list[tuple[tuple[str, ...], str]]:
    """Doubts about the spelling of cells in text, by the declarations alone, each with its columns.

    They are warnings of ``check``, and of a plan, a release, a fit or a session that asks about one of the columns.
    ``keys`` are those that questions name of columns of texts.
    """
    typed = _typed(spec)
    dated = {
        name: column.calendar
        for name, column in spec.schema.columns.items()
        if isinstance(column, Integer) and column.calendar is not None
        if name not in spec.schema.computed and not typed[table := spec.schema.table_of(name)]
        if table not in spec.schema.tables or not spec.schema.tables[table].public
    }
    doubts: list[tuple[tuple[str, ...], str]] = []
    spelt = [name for name, calendar in dated.items() if calendar.format]
    text = {name: _is_text(one.path) for name, one in spec.further.items()} | {"": _is_text(spec.source)}
    bare = tuple(
        name
        for name, calendar in dated.items()
        if not (calendar.format or calendar.zone) and (spelt or text[spec.schema.table_of(name)])
    )
    if bare:
        forms = {dated[name].kind: dated[name].forms for name in bare}
        read = " and ".join(
            f"cells{f' of a {kind}' if len(forms) > 1 else ''} are read like {form}" for kind, form in forms.items()
        )
        clock = "" if "date" in forms else " hh:mm"
        words = (
            f"{first_of(bare)} {'have' if len(bare) > 1 else 'has'} no format, so {read}, and in no "
            f'other form: others are missing. Say how they are written, such as format = "dd.mm.yyyy{clock}" or '
            f'"yyyy-mm-dd{clock}"{f"; {spelt[0]} has {shown_cell(dated[spelt[0]].format)}" if spelt else ""}.'
        )
        doubts.append((bare, words))
    for name, calendar in dated.items():
        if calendar.kind == "datetime" and not calendar.zone and not calendar.format:
            words = (
                f"columns.{toml_key(name)} has no zone: cells with an offset, 2024-02-29T13:05:00Z, cannot be read. "
                'Say zone = "UTC", or the zone whose clocks count.'
            )
            doubts.append(((name,), words))
    for name, column in spec.schema.columns.items():
        if isinstance(column, Integer) and name not in spec.schema.computed and (words := high_doubt(name, column)):
            doubts.append(((name,), words))
    doubt = "" if spec.has_decimal or kind_of(Path(spec.source)) != "csv" else spec.schema.format.doubt(spec.delimiter)
    reals = tuple(name for name, column in spec.schema.stored.items() if isinstance(column, Real))
    if doubt and reals:
        words = f'{doubt} If yours are: [study] decimal = ",". If they are 1234.5: [study] decimal = ".".'
        doubts.append((reals, words))
    listed = encoding_doubt(spec.schema, spec.source, {name: one.path for name, one in spec.further.items()}, keys)
    return doubts if listed is None else [*doubts, listed]


def high_doubt(name: str, column: Integer) -> str:
    """Words about an upper bound at 00:00; empty for other bounds, and at the first of a month, where the last ends."""
    calendar = column.calendar
    if calendar is None or calendar.step == days.DAY or column.high is None:
        return ""
    if column.high * calendar.step % days.DAY:
        return ""
    end = days.text(column.high * calendar.step // days.DAY, days.DAY)
    if end.endswith("-01"):
        return ""
    last = days.text((column.high + days.DAY // calendar.step - 1) * calendar.step, 1)  # TOML has seconds in every time
    return (
        f"high of {name} is 00:00 on {end}, and later times count as that. If the whole day is meant, write "
        f"high = {last}."
    )


def _typed(spec: Spec) -> dict[str, bool]:
    """True of each table whose cells have types of their own; the empty name is that of the main one."""
    found = {name: one.path for name, one in spec.further.items()} | {"": spec.source}
    kinds = {name: kind_of(Path(path)) for name, path in found.items()}
    return {name: kinds[name] in ("parquet", "database") and not _is_text(path) for name, path in found.items()}


def _is_text(source: str) -> bool:
    """True of files whose cells are texts: their dates have no type."""
    return kind_of(Path(source)) in TEXT or source.lower().startswith("sqlite:")


def absent_files(spec: Spec) -> tuple[str, ...]:
    """Words for the source and each further table that no file is of; none for a database."""
    named = [("the source", spec.source), *((f"[tables.{name}]", one.path) for name, one in spec.further.items())]
    return tuple(
        f"There is no file {Path(path).name} where {what} should be.{meant_file(Path(path))}"
        for what, path in named
        if path and not in_database(path) and not (glob.glob(path, recursive=True) or Path(path).exists())
    )


def _instead(column: Real | Integer) -> str:
    """Treatment of a cell that cannot be read, and the statement about the number of such cells."""
    if column.stand_in is None:
        return 'count as missing (missing = "drop"). A noisy share of them stands beside the answers'
    value = value_words(column.stand_in, column)
    if column.complete:
        return f"count as {value} (complete = true). How many there are is not said"
    return f"count as {value} (missing = …). A noisy share of them stands beside the answers"


def _about_the_study(spec: Spec) -> list[str]:
    """Oddities of budget, releases and files, as far as they show without opening any file."""
    said: list[str] = []
    limit, delta = sizes_of(spec.budget.loss)
    if delta > LARGE_DELTA:
        said.append(
            f"δ {about(delta)} is the chance of a failure that promises nothing. Below 1e-5 is usual, or 1/(10 n)."
        )
    for item in spec.releases:
        asked = item.epsilon if isinstance(spec.budget.loss, PureDP | ApproxDP) else item.rho
        if asked is not None and asked > limit:
            said.append(f"release '{item.name}' asks {show(asked)}, and the whole budget is {show(limit)}.")
    if spec.limits != Limits():
        from reticent.data.engines.engine import engine_at, refused_settings

        said += refused_settings(engine_at(spec.source, spec.engine), spec.limits, spec.schema, spec.source)
    if spec.ledger is None:
        said.append(
            f'No ledger is named. Add [study] ledger = "{stem_of(spec.source) or "study"}.ledger": a release needs one.'
        )
    return said


def absent_columns(path: Path, schema: Schema, delimiter: str) -> list[str]:
    """Declared columns that a file has not, by the names of its columns alone; none of a file without a header.

    Parameters
    ----------
    path : Path
        The file, of which the header or the schema is read and no row.
    schema : Schema
        Schema of the study.
    delimiter : str
        Sign between the cells of a CSV file.

    Returns
    -------
    list of str
        Names, in the order of the schema.

    Raises
    ------
    SpecError
        A file whose names of columns cannot be read.
    """
    form = schema.format
    names = names_of(path, delimiter=delimiter, encoding=form.encoding, sheet=form.sheet)
    return [name for name in wanted(schema) if names and name not in names]


def absence(
    missing: Sequence[str], path: Path, *, delimiter: str, encoding: str, declared: Collection[str] = ()
) -> str:
    """Words for declared columns that a file has not, with its likely delimiter where that is another one.

    Parameters
    ----------
    missing : sequence of str
        Declared names.
    path : Path
        The file, of which the header line is read and no row.
    delimiter, encoding : str
        Of a CSV file, as declared.
    declared : collection of str
        All declared names: where the header has one of them, a name that is near a missing one is said.

    Returns
    -------
    str
    """
    from reticent.data.header import delimiter_hint, first_line, meant_names

    said = f"no column is called {first_of(missing)}, which the study file declares."
    if kind_of(path) != "csv":
        return said
    names = list(names_of(path, delimiter=delimiter, encoding=encoding))
    hint = delimiter_hint(first_line(path, encoding), delimiter)
    return said + meant_names(missing, names, declared) + hint


def header_problems(source: Path, spec: Spec) -> tuple[str, ...]:
    """Refusals of a release that the header or the schema of a file decides; empty where there are none.

    The file is opened as a release opens it, so that no refusal of names and types is missed. No row is read.
    """
    from reticent.data.files import damaged, open_files

    if kind_of(source) == "parquet" and (cut := damaged(source)):
        return tuple(cut)
    written = {"delimiter": spec.delimiter, "encoding": spec.schema.format.encoding}
    try:
        if missing := absent_columns(source, spec.schema, spec.delimiter):
            return (absence(missing, source, **written, declared=wanted(spec.schema)),)
        open_files(source, spec.schema, spec.delimiter)
    except SpecError as refused:
        return refused.problems
    return ()
