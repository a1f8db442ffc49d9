"""Sections of a study file that say what stands in a row: [person], [columns] and [tables], read strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from reticent.data import expression_text
from reticent.data.dates import from_table
from reticent.data.format import (
    WRITTEN,
    Format,
    check_plain_names,
    in_database,
    in_database_file,
    in_spark,
    refuse_address,
    section,
    spark_name,
)
from reticent.data.further_tables import Declared, TableSource, declared_table, joined_schema, pairs_of, with_name
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
)
from reticent.data.spec import (
    NO_PERSON,
    NO_ROWS,
    Tables,
    adjacency_problem,
    check_keys,
    check_rows_alone,
    design_of,
    meant_word,
    number_at,
    person_of,
    shown_cell,
    text_at,
    word_of,
)
from reticent.data.transformations import computed, described, filtered
from reticent.errors import PublicParameterError, QuestionError, SpecError, first_of
from reticent.privacy.numbers import read, show

if TYPE_CHECKING:
    from reticent.data.design import SampleDesign

T = TypeVar("T")
Numbers: TypeAlias = tuple[Fraction | None, Fraction | None, Fraction | None]  # epsilon, delta, rho
KINDS: Final = ("real", "integer", "date", "datetime", "category", "text")
LONGEST_NAME: Final = 200  # bytes of a part of a path; files beside a source or a ledger have longer names
LONGEST_PATH: Final = 3000


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


def read_source(study: Tables, folder: Path, where: str = "[study]") -> str:
    """The path or address of a table, with the folder of the study file before a path that is not whole.

    Parameters
    ----------
    study : Tables
        Section [study], or the section of a further table.
    folder : Path
        Folder of the study file.
    where : str
        Words for the section.

    Returns
    -------
    str

    Raises
    ------
    SpecError
        There is none, or it names no file and no table.
    """
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


def read_delimiter(study: Tables, where: str = "[study]") -> str:
    delimiter = text_at(study, "delimiter", where)
    if delimiter is None:
        return ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise SpecError(f"{where} delimiter must be one character, such as ',' or ';'")
    return delimiter


def read_snapshot(study: Tables) -> str:
    return word_of(text_at(study, "snapshot", "[study]") or "", "[study] snapshot")


def read_format(study: Tables, where: str = "[study]") -> Format:
    """Notation of numbers, missing values and text in the source."""
    lists = {"na": '"NA", "-999"', "symbols": '"€", "%"'}
    for key, usual in lists.items():
        words = study.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise SpecError(f"{where} {key} must list texts, such as {key} = [{usual}]")
    told: dict[str, Any] = {key: text_at(study, key, where) for key in ("encoding", "decimal", "thousands", "sheet")}
    try:
        return Format(
            **{key: text for key, text in told.items() if text is not None},
            na=tuple(study.get("na", ())),
            symbols=tuple(study.get("symbols", ())),
            has_encoding="encoding" in study,
        )
    except PublicParameterError as error:
        raise SpecError(f"{where} {error}") from None


def read_person(tables: Tables) -> Person:
    table, problems = section_of(tables, "person"), Problems()
    problems.of(check_keys, table, "person", "[person]")
    column, rows = problems.of(text_at, table, "column", "[person]"), table.get("rows")
    if rows is None:
        problems.found.append(NO_PERSON if column is None else NO_ROWS)
    people = table.get("people")
    if people is not None and (isinstance(people, bool) or not isinstance(people, int)):
        problems.found.append(f"[person] people must be an integer >= 1, got {shown_cell(people)}")
    adjacency: Any = table.get("adjacency")
    if said := adjacency_problem(adjacency):
        problems.found.append(said)
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


def read_columns(tables: Tables) -> Tables:
    columns = section_of(tables, "columns")
    if not columns:
        raise SpecError('No column is declared. Add [columns.NAME] kind = "real", "integer", "date" or "category".')
    return columns


def read_schema(tables: Tables, person: Person, study: Tables, further: Mapping[str, TableSource]) -> Schema:
    """The declared columns, those of further tables, those that are computed, then the filter of the whole study.

    Parameters
    ----------
    tables : Tables
        Section [columns].
    person : Person
    study : Tables
        Section [study].
    further : mapping of str to TableSource
        Further tables by name.

    Returns
    -------
    Schema

    Raises
    ------
    SpecError
        What a section says is none of what may be said there.
    """
    given = {name: table for name, table in tables.items() if isinstance(table, dict) and "from" in table}
    read = {name: read_column(name, table) for name, table in tables.items() if name not in given}
    plain = {name: column for name, column in read.items() if not isinstance(column, Text)}
    texts = {name: column for name, column in read.items() if isinstance(column, Text)}
    schema = Schema(
        MappingProxyType(plain), person, read_format(study), texts=MappingProxyType(texts), design=read_design(study)
    )
    schema = joined_schema(schema, further)
    if person.household is not None:
        from reticent.data.households import check as check_households

        check_households(schema)
    for name, table in given.items():
        check_plain_names([name], "[columns]")
        where = section(name)
        check_keys(table, str(table.get("kind", "computed")), where)
        text = text_at(table, "from", where) or ""
        rest = {key: value for key, value in table.items() if key != "from"}
        try:
            declared = read_column(name, rest) if "kind" in rest else None
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


def read_design(study: Tables) -> SampleDesign | None:
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
    form = {key: study[key] for key in WRITTEN if key in study} | table
    public, key = _flag(table, "public", ""), table.get("key", [])
    if not isinstance(key, str | list | dict):
        raise SpecError('key names columns: key = "ward", ["ward", "day"], or { ward = "code" }')
    most, most_keys, owners = (
        _at_most(table, name, least) for name, least in (("rows", 1), ("keys", 0), ("owners", 1))
    )
    return declared_table(
        read_source(table, folder, ""),
        {
            name: _public_column(name, one) if public else read_column(name, one)
            for name, one in section_of(table, "columns").items()
        },
        public=public,
        keys=pairs_of(key, names),
        person=text_at(table, "person", ""),
        join=text_at(table, "join", "") or "left",
        most=most,
        form=read_format(form, ""),
        delimiter=read_delimiter(form, ""),
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
            return read_column(name, table)


def _kinds() -> str:
    *first, last = (f'"{one}"' for one in KINDS)
    return f"{', '.join(first)} or {last}"


def without_kinds(names: Sequence[str]) -> str:
    return (
        f"{len(names)} columns have no kind: {first_of(names)}. Give each kind = {_kinds()}, and delete those that "
        "nothing is asked of."
    )


def read_column(name: str, table: object) -> Column | Text:
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


def read_numbers(table: Tables, where: str) -> Numbers:
    """Epsilon, delta and rho of a table, each read once."""
    epsilon, delta, rho = (
        None if table.get(key) is None else number_at(table, key, where) for key in ("epsilon", "delta", "rho")
    )
    return epsilon, delta, rho


def section_of(tables: Tables, name: str) -> Tables:
    found = tables.get(name, {})
    if not isinstance(found, dict):
        raise SpecError(f"[{name}] must be a table")
    return found


def _flag(table: Tables, key: str, where: str) -> bool:
    found = table.get(key, False)
    if not isinstance(found, bool):
        raise SpecError(f"{where} {key} must be true or false, got {shown_cell(found)}")
    return found
