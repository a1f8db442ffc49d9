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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from reticent.data import expression_text
from reticent.data.compression import stem_of
from reticent.data.dates import from_table
from reticent.data.file_kinds import TEXT, kind_of, meant_file
from reticent.data.format import (
    Format,
    Limits,
    in_database,
    in_database_file,
    in_spark,
    refuse_address,
    section,
    spark_name,
    toml_key,
)
from reticent.data.further_tables import (
    Declared,
    TableSource,
    declared_table,
    joined_schema,
    pairs_of,
    with_name,
    without_partners,
)
from reticent.data.schema import (
    LONGEST_TEXT,
    Category,
    Column,
    Integer,
    Person,
    Real,
    Schema,
    Text,
    chosen_bounds,
    missing_as,
    value_words,
)
from reticent.data.spec import (
    LARGE_DELTA,
    NO_PERSON,
    NO_ROWS,
    Budget,
    ReleaseSpec,
    Spec,
    Tables,
    check_budget,
    check_keys,
    check_rows_alone,
    design_of,
    meant_word,
    number_at,
    person_of,
    read_passing,
    shown_cell,
    sizes_of,
    text_at,
    word_of,
)
from reticent.data.transformations import computed, described, filtered
from reticent.errors import PublicParameterError, QuestionError, SpecError
from reticent.privacy.adjacency import CHOOSE
from reticent.privacy.cost import OF_LISTED, refuse_exposure, refuse_weak
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, PureDP
from reticent.privacy.numbers import about, read, show

if TYPE_CHECKING:
    from reticent.data.design import SampleDesign

T = TypeVar("T")
Numbers: TypeAlias = tuple[Fraction | None, Fraction | None, Fraction | None]  # epsilon, delta, rho


KINDS: Final = ("real", "integer", "date", "datetime", "category", "text")


LONGEST_NAME: Final = 200  # bytes of a part of a path; files beside a source or a ledger have longer names


LONGEST_PATH: Final = 3000


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
        raise SpecError(f"{path.name} cannot be read as UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        if path.suffix.lower() not in ("", ".toml"):
            raise SpecError(
                f"{path.name} is no study file, which is TOML. A table has one by reticent init "
                f"{shlex.quote(path.name)}, or is opened by rt.study({str(path)!r}, columns=…)."
            ) from None
        raise SpecError(f"{path.name} is not TOML: {error}.{_toml_hint(path, str(error))}") from None
    except ValueError:  # a number of more digits than Python reads, a month that is none
        raise SpecError(f"{path.name} holds a number or a date that cannot be read.") from None
    except RecursionError:
        raise SpecError(f"{path.name} is nested too deeply.") from None
    try:
        return parse_spec(tables, path.resolve().parent)
    except RecursionError:
        raise SpecError(f"{path.name} is nested too deeply.") from None


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
    if expression_text.DATE_OTHERWISE.search(line):
        return " A date is written 2024-02-29, without quotes."
    if name := re.fullmatch(r"\[((?:tables\.\w+\.)?columns)\.([^\"'\]]+)\]", line):
        return f" A name with other signs stands in quotes: [{name[1]}.{toml_key(name[2])}]."
    if pair := re.fullmatch(r"([A-Za-z_]+)\s*=\s*([^\W\d][\w ]*)", line):
        return f" A text stands in quotes: {pair[1]} = {shown_cell(pair[2])}."
    return ""


@dataclass(frozen=True, slots=True)
class Problems:
    """Problems of a study file, gathered part by part, so that all are said at once."""

    found: list[str] = field(default_factory=list)

    def of(self, part: Callable[..., T], *given: Any) -> T | None:
        """A part as it is read; None where it cannot be used, and then the reason is kept."""
        try:
            return part(*given)
        except SpecError as error:
            self.found.extend(error.problems)
        except PublicParameterError as error:
            self.found.append(str(error))
        return None

    def refuse(self) -> None:
        """Raise one refusal of all that was found, if anything was."""
        if self.found:
            raise SpecError(*self.found)


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
    study = _table(tables, "study")
    check_keys(study, "study", "[study]")
    person = _person(tables)
    budget = _budget(_table(tables, "budget"), person.people)
    further = read_tables(_table(tables, "tables"), folder, study)
    engine, limits = _engine(tables, folder)
    return Spec(
        title=text_at(study, "title", "[study]") or "",
        source=_source(study, folder),
        ledger=_ledger(study, folder),
        schema=_schema(_columns(tables), person, study, further),
        budget=budget,
        releases=_releases(tables, budget.override, person.people),
        folder=folder,
        delimiter=_delimiter(study),
        snapshot=_snapshot(study),
        further=further,
        limits=limits,
        engine=engine,
        has_decimal="decimal" in study,
    )


def _problems(tables: Tables, folder: Path) -> tuple[str, ...]:
    """Whatever keeps the parts from being read, each part by itself."""
    problems = Problems()
    problems.of(check_keys, tables, "", "the study file")
    study, budgeted, declared = (problems.of(_table, tables, name) or {} for name in ("study", "budget", "columns"))
    problems.of(check_keys, study, "study", "[study]")
    problems.of(text_at, study, "title", "[study]")
    problems.of(_source, study, folder)
    problems.of(_ledger, study, folder)
    for part in (_delimiter, _format, _snapshot, _design):
        problems.of(part, study)
    person = problems.of(_person, tables)
    people = None if person is None else person.people
    problems.of(_columns, tables)
    problems.of(_engine, tables, folder)
    read = {name: table for name, table in declared.items() if not (isinstance(table, dict) and "from" in table)}
    before = len(problems.found)
    blank = [name for name, table in read.items() if table == {}]
    if len(blank) > 1:  # a skeleton that is not filled in
        problems.found.append(_no_kinds(blank))
    for name, table in read.items():
        if len(blank) < 2 or name not in blank:
            problems.of(_column, name, table)
    further = problems.of(read_tables, problems.of(_table, tables, "tables") or {}, folder, study)
    if person is not None and further is not None and len(problems.found) == before and declared:
        problems.of(_schema, declared, person, study, further)
    budget = problems.of(_budget, budgeted, people)
    problems.of(_releases, tables, str(budgeted.get("override", "")) if budget is None else budget.override, people)
    return tuple(dict.fromkeys(problems.found))


def _source(study: Tables, folder: Path, where: str = "[study]") -> str:
    source = text_at(study, "source", where)
    if not source:
        raise SpecError(f'{where} source = "…" is missing: a file that holds a table, such as visits.csv.')
    _named(source, f"{where} source".strip())
    if in_database(source) and not in_database_file(source):
        if in_spark(source):
            spark_name(source)  # refused where it names no catalog or no schema
            return source
        from reticent.data.database import address

        address(source)  # refused where it holds a password or names no table
        return source
    if in_database_file(source):
        from reticent.data.database_files import file_address

        return file_address(source, folder).url
    refuse_address(source)
    return str(folder / source)


def _named(place: str, what: str) -> None:
    """Refuse a path that no file of this machine can have, so that nothing below meets it."""
    names = [len(part.encode("utf-8", "replace")) for part in Path(place).parts]
    if "\x00" in place or max(names, default=0) > LONGEST_NAME or sum(names) > LONGEST_PATH:
        raise SpecError(f"{what} is no name of a file: each part of a path has at most {LONGEST_NAME} bytes")


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
    given = _table(tables, "engine")
    check_keys(given, "engine", "[engine]")
    if not given:
        return "", Limits()
    from reticent.data.engine_settings import check_place, read_engine

    found = read_engine(given, folder)
    if found[0]:
        check_place(_source(_table(tables, "study"), folder), found[0])
    return found


def _delimiter(study: Tables, where: str = "[study]") -> str:
    delimiter = text_at(study, "delimiter", where)
    if delimiter is None:
        return ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise SpecError(f"{where} delimiter must be one character, such as ',' or ';'")
    return delimiter


def _snapshot(study: Tables) -> str:
    return word_of(text_at(study, "snapshot", "[study]") or "", "[study] snapshot")


def _format(study: Tables, where: str = "[study]") -> Format:
    """Notation of numbers, missing values and text in the source."""
    words = study.get("na", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise SpecError(f'{where} na must list texts, such as na = ["NA", "-999"]')
    told = {key: text_at(study, key, where) for key in ("encoding", "decimal", "thousands", "sheet")}
    try:
        return Format(**{key: text for key, text in told.items() if text is not None}, na=tuple(words))
    except PublicParameterError as error:
        raise SpecError(f"{where} {error}") from None


def _person(tables: Tables) -> Person:
    table, problems = _table(tables, "person"), Problems()
    problems.of(check_keys, table, "person", "[person]")
    column, rows = problems.of(text_at, table, "column", "[person]"), table.get("rows")
    if rows is None:
        problems.found.append(NO_PERSON if column is None else NO_ROWS)
    people = table.get("people")
    if people is not None and (isinstance(people, bool) or not isinstance(people, int)):
        problems.found.append(f"[person] people must be an integer >= 1, got {shown_cell(people)}")
    adjacency: Any = table.get("adjacency")
    if adjacency not in ("add_remove", "substitute", "local"):
        problems.found.append(CHOOSE)
    if problems.found:
        problems.of(check_rows_alone, column, rows)
    problems.refuse()
    try:
        found = replace(person_of(adjacency, column, rows, people), unit=text_at(table, "unit", "[person]") or "")
        if not table.keys() & {"household", "per_household"}:
            return found
        from reticent.data.households import in_households

        return in_households(found, text_at(table, "household", "[person]"), table.get("per_household"))
    except PublicParameterError as error:
        raise SpecError(f"[person] {error}") from None


def _columns(tables: Tables) -> Tables:
    columns = _table(tables, "columns")
    if not columns:
        raise SpecError('No column is declared. Add [columns.NAME] kind = "real", "integer", "date" or "category".')
    return columns


def _schema(tables: Tables, person: Person, study: Tables, further: Mapping[str, TableSource]) -> Schema:
    """The declared columns, those of further tables, those that are computed, then the filter of the whole study."""
    given = {name: table for name, table in tables.items() if isinstance(table, dict) and "from" in table}
    read = {name: _column(name, table) for name, table in tables.items() if name not in given}
    plain = {name: column for name, column in read.items() if not isinstance(column, Text)}
    texts = {name: column for name, column in read.items() if isinstance(column, Text)}
    schema = Schema(
        MappingProxyType(plain), person, _format(study), texts=MappingProxyType(texts), design=_design(study)
    )
    schema = joined_schema(schema, further)
    if person.household is not None:
        from reticent.data.households import check as check_households

        check_households(schema)
    for name, table in given.items():
        where = section(name)
        check_keys(table, str(table.get("kind", "computed")), where)
        text = text_at(table, "from", where) or ""
        rest = {key: value for key, value in table.items() if key != "from"}
        try:
            declared = _column(name, rest) if "kind" in rest else None
            if isinstance(declared, Text):
                raise SpecError(f"{where} is computed, and text is only read.")
            schema = computed(schema, name, expression_text.read(text), declared)
            if declared is None and rest:
                schema = described(schema, name, **{key: text_at(rest, key, where) or "" for key in rest})
        except (QuestionError, PublicParameterError) as refusal:
            raise SpecError(f"{where} {refusal}") from None
    condition = text_at(study, "where", "[study]")
    try:
        return schema if condition is None else filtered(schema, expression_text.read(condition))
    except QuestionError as refusal:
        raise SpecError(f"[study] where: {refusal}") from None


def _design(study: Tables) -> SampleDesign | None:
    return design_of(text_at(study, "weight", "[study]"), study.get("design"))


def read_tables(tables: Tables, folder: Path, study: Tables) -> Mapping[str, TableSource]:
    """The further tables of [tables.NAME]; what a table does not say of its notation is as for [study].

    Parameters
    ----------
    tables : Tables
        The sections [tables.NAME] of a study file, by name.
    folder : Path
        Folder that relative paths start from.
    study : Tables
        The section [study], whose notation is the default.

    Returns
    -------
    mapping of str to TableSource
        Sources by name, read-only.

    Raises
    ------
    SpecError
        With the problems of every table.
    """
    problems = Problems()
    found = {
        name: problems.of(with_name, name, _further, table, folder, study, [*tables]) for name, table in tables.items()
    }
    problems.refuse()
    return MappingProxyType({name: table for name, table in found.items() if table is not None})


def _further(table: object, folder: Path, study: Tables, names: Sequence[str]) -> TableSource:
    if not isinstance(table, dict):
        raise SpecError('must be a table: source = "…", and how it is reached')
    check_keys(table, "table", "")
    form = {key: study[key] for key in ("delimiter", "encoding", "decimal", "thousands", "na") if key in study} | table
    public, key = _flag(table, "public", ""), table.get("key", [])
    if not isinstance(key, str | list | dict):
        raise SpecError('key names columns: key = "ward", ["ward", "day"], or { ward = "code" }')
    most, most_keys, owners = (
        _at_most(table, name, least) for name, least in (("rows", 1), ("keys", 0), ("owners", 1))
    )
    return declared_table(
        _source(table, folder, ""),
        {
            name: _public_column(name, one) if public else _column(name, one)
            for name, one in _table(table, "columns").items()
        },
        public=public,
        keys=pairs_of(key, names),
        person=text_at(table, "person", ""),
        join=text_at(table, "join", "") or "left",
        most=most,
        form=_format(form, ""),
        delimiter=_delimiter(form, ""),
        owned=(most_keys, owners),
    )


def _at_most(table: Tables, name: str, least: int) -> int:
    """The number of ``rows = { at_most = 3 }``, or ``least`` where nothing is said."""
    match table.get(name, {"at_most": least}):
        case {"at_most": int() as most, **rest} if not rest and not isinstance(most, bool):
            return most
        case found:
            raise SpecError(f"{name} must be {{ at_most = 3 }}, got {shown_cell(found)}")


def _public_column(name: str, table: object) -> Declared:
    """A column of a public table: its kind alone where bounds or list are those of its cells."""
    match table:
        case {"kind": "category" | "real" | "integer" as kind, **rest} if not rest:
            word: Declared = kind
            return word
        case _:
            return _column(name, table)


def _kinds() -> str:
    *first, last = (f'"{one}"' for one in KINDS)
    return f"{', '.join(first)} or {last}"


def _no_kinds(names: Sequence[str]) -> str:
    shown = ", ".join([*names[:12], *["…"] * (len(names) > 12)])
    return (
        f"{len(names)} columns have no kind: {shown}. Give each kind = {_kinds()}, and delete those that "
        "nothing is asked of."
    )


def _column(name: str, table: object) -> Column | Text:
    where = section(name)
    if not isinstance(table, dict):
        raise SpecError(f'{where} must be a table: {where} kind = "real", "integer", "date" or "category"')
    kind = table.get("kind")
    if kind not in KINDS:
        if kind is None and (below := [key for key, one in table.items() if isinstance(one, dict)]):
            whole = section(f"{name}.{below[0]}")
            raise SpecError(f"{where} has no kind. A name with a dot stands in quotes: {whole}.")
        raise SpecError(f"{where} kind must be {_kinds()}, got {shown_cell(kind)}.{meant_word(str(kind), KINDS)}")
    check_keys(table, str(kind), where)
    try:
        if kind == "text":
            return Text(table.get("longest", LONGEST_TEXT), text_at(table, "why", where) or "")
        if kind == "category":
            return _category(table, where)
        if kind in ("date", "datetime"):
            texts = {key: text_at(table, key, where) for key in ("why", "format", "resolution", "zone", "label")}
            return from_table(table, {key: text for key, text in texts.items() if text is not None})
        return _numeric(table, where, str(kind))
    except PublicParameterError as error:
        raise SpecError(f"{where} {error}") from None


def _numeric(table: Tables, where: str, kind: str) -> Real | Integer:
    named = (table.get(key) for key in ("low", "high", "floor", "ceiling", "share"))
    auto = chosen_bounds(*named, whole=kind == "integer")
    told = {} if auto is not None else table
    low, high = (None if told.get(key) is None else read(told[key], key) for key in ("low", "high"))
    why, constant = text_at(table, "why", where) or "", _flag(table, "constant", where)
    missing, complete = missing_as(table.get("missing", "drop")), _flag(table, "complete", where)
    unit, label = (text_at(table, key, where) or "" for key in ("unit", "label"))
    if kind == "real":
        resolution = None if table.get("resolution") is None else read(table["resolution"], "resolution")
        return Real(low, high, why, missing, resolution, constant, complete, unit, label, auto)
    for key, bound in (("low", low), ("high", high)):
        if bound is not None and bound.denominator != 1:
            raise SpecError(f"{where} {key} of an integer column must be an integer, got {show(bound)}")
    ends = (None if low is None else int(low), None if high is None else int(high))
    return Integer(*ends, why, missing, constant, complete, unit, label, auto=auto)


def _category(table: Tables, where: str) -> Category:
    among = table.get("among")
    if isinstance(among, str):
        raise SpecError(f'{where} among is a list: among = ["…", "…"], got {shown_cell(among)}')
    if not isinstance(among, list) or not among:
        raise SpecError(
            f"{where} among = […] is missing: the public list of values. Values found in the file are not public, "
            "so they cannot be taken from there."
        )
    if not all(isinstance(key, str | int) for key in among):
        raise SpecError(f"{where} among must list text, integers, or true and false")
    why, constant = text_at(table, "why", where) or "", _flag(table, "constant", where)
    return Category(tuple(among), why, constant, _flag(table, "complete", where), text_at(table, "label", where) or "")


def _budget(table: Tables, people: int | None) -> Budget:
    check_keys(table, "budget", "[budget]")
    loss = _loss(_numbers(table, "[budget]"), "[budget]")
    if loss is None:
        raise SpecError('[budget] epsilon = "…" is missing (or rho = "…"): the most this study may ever spend.')
    override = text_at(table, "override", "[budget]") or ""
    check_budget(loss, override, people)
    ends = table.get("ends")
    if ends is not None and (isinstance(ends, datetime.datetime) or not isinstance(ends, datetime.date)):
        raise SpecError("[budget] ends must be a date such as 2027-12-31, without quotes")
    return Budget(loss, text_at(table, "approved", "[budget]") or "", ends, override)


def _numbers(table: Tables, where: str) -> Numbers:
    """Epsilon, delta and rho of a table, each read once."""
    epsilon, delta, rho = (
        None if table.get(key) is None else number_at(table, key, where) for key in ("epsilon", "delta", "rho")
    )
    return epsilon, delta, rho


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


def _releases(tables: Tables, override: str, people: int | None) -> tuple[ReleaseSpec, ...]:
    found = tables.get("release", [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise SpecError("a release is written [[release]], with two brackets")
    problems = Problems()
    read = [problems.of(_release, table, place, override, people) for place, table in enumerate(found, start=1)]
    names = [release.name for release in read if release is not None]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problems.found.append(f"Two releases are called '{name}'. Give each its own name.")
    problems.refuse()
    return tuple(release for release in read if release is not None)


def _release(table: Tables, place: int, default: str, people: int | None) -> ReleaseSpec:
    if "synthesize" in table:
        raise SpecError("synthesize is not in this version: ask for statistics.")
    name = text_at(table, "name", f"[[release]] number {place}")
    if not name:
        raise SpecError(f'[[release]] number {place} has no name. Write name = "table 1".')
    where = f"[[release]] '{name}'"
    check_keys(table, "release", where)
    epsilon, delta, rho = numbers = _numbers(table, where)
    _loss(numbers, where)
    override = text_at(table, "override", where) or ""
    if epsilon is not None:
        refuse_weak(epsilon, override or default, OF_LISTED)
    refuse_exposure(delta or Fraction(0), people)
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


def _table(tables: Tables, name: str) -> Tables:
    found = tables.get(name, {})
    if not isinstance(found, dict):
        raise SpecError(f"[{name}] must be a table")
    return found


def _flag(table: Tables, key: str, where: str) -> bool:
    found = table.get(key, False)
    if not isinstance(found, bool):
        raise SpecError(f"{where} {key} must be true or false, got {shown_cell(found)}")
    return found


def warnings(spec: Spec) -> tuple[str, ...]:
    """Warnings of ``check`` about a study file, independent of the rows."""
    said = _about_the_study(spec)
    public = {name for name, table in spec.schema.tables.items() if table.public}
    asked = {name: column for name, column in spec.schema.columns.items() if spec.schema.table_of(name) not in public}
    typed = _typed(spec)
    listed = [name for name, column in asked.items() if isinstance(column, Category)]
    for complete in (False, True):
        names = [name for name in listed if spec.schema.columns[name].complete is complete]
        if names:
            instead = "count as the first of their list (complete = true)" if complete else "count as missing"
            said.append(f"Values of {', '.join(names)} that are not listed, letter by letter, {instead}.")
    for name, column in asked.items():
        if isinstance(column, Category) or name in spec.schema.computed:
            continue
        if column.low is None:
            said.append(
                f"columns.{toml_key(name)} has no bounds: mean and sum will be refused; "
                "median, iqr, trimmed mean may give no reply."
            )
        for key, bound in (("low", column.low), ("high", column.high)):
            dated = isinstance(column, Integer) and column.calendar is not None
            if bound is not None and not column.why and not dated and _oddly_exact(Fraction(bound)):
                said.append(
                    f"columns.{toml_key(name)}: {key} = {show(bound)} is oddly exact. If it is the file's "
                    f"{key}est value, it is one person's value. Say in 'why' where it comes from."
                )
        if not typed[spec.schema.table_of(name)]:
            kind = "integers" if isinstance(column, Integer) else "numbers"
            if isinstance(column, Integer) and column.calendar is not None:
                kind = "dates" if column.calendar.kind == "date" else "times"
            said.append(f"Values of {name} that are not {kind} {_instead(column)}.")
    said += [words for _, words in notation_doubts(spec)]
    return (*absent_files(spec), *said, *without_partners(spec.schema))


def notation_doubts(spec: Spec) -> list[tuple[tuple[str, ...], str]]:
    """Doubts about the spelling of dates and times in text, by the declarations alone, each with its columns.

    They are warnings of ``check``, and of a plan that asks about one of the columns.
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
        words = (
            f"{', '.join(bare)} {'have' if len(bare) > 1 else 'has'} no format, so cells are read as 2024-02-29 and in "
            'no other form: others are missing. Say how they are written, such as format = "dd.mm.yyyy" or '
            f'"yyyy-mm-dd"{f"; {spelt[0]} has {shown_cell(dated[spelt[0]].format)}" if spelt else ""}.'
        )
        doubts.append((bare, words))
    for name, calendar in dated.items():
        if calendar.kind == "datetime" and not calendar.zone and not calendar.format:
            words = (
                f"columns.{toml_key(name)} has no zone: cells with an offset, 2024-02-29T13:05:00Z, cannot be read. "
                'Say zone = "UTC", or the zone whose clocks count.'
            )
            doubts.append(((name,), words))
    return doubts


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
        if path and not in_database(path) and not (glob.glob(path) or Path(path).exists())
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
    if spec.ledger is None:
        said.append(f'No ledger is named. Add [study] ledger = "{stem_of(spec.source)}.ledger": a release needs one.')
    return said


def _oddly_exact(bound: Fraction) -> bool:
    """More digits than people choose: above three, or three with some behind the point."""
    text = show(abs(bound))
    if "/" in text:
        return False
    digits = text.partition("e")[0].replace(".", "").strip("0")
    return len(digits) > 3 or (len(digits) == 3 and bound.denominator != 1)
