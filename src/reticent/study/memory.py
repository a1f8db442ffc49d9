"""Entry points: a study of a study file or of a table in memory, and reading a certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from reticent.data.format import (
    PLAIN,
    WRITTEN,
    Format,
    Limits,
    check_plain_names,
    exact,
    in_database,
    is_there,
    on_one_line,
    path_of,
    refuse_address,
)
from reticent.data.formula import Expression
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema, Text
from reticent.errors import CheckError, PublicParameterError, ReticentError, SpecError, called_as, door, warn
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, PureDP
from reticent.privacy.numbers import Number, read, show
from reticent.statistics.statistic import read_column
from reticent.study.study import Study
from reticent.study.terms import under_its_ledger

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate
    from reticent.data.design import SampleDesign
    from reticent.data.expression_tree import Tree
    from reticent.data.further_tables import TableSource
    from reticent.data.spec import Spec
    from reticent.ledger import Ledger
    from reticent.ledger.claim_file import Source as LedgerSource
    from reticent.study.release import Release

PERSONS: Final = re.compile(  # usual names of a column that says whose a row is
    r"(person|patient|participant|respondent)([_ .-]?(id|no|nr|number|key|code))?"
    r"|(subject|member|customer|client|user|employee|student|pupil|p|u|pat|subj|cust)[_ .-]?id|id|ssn",
    re.IGNORECASE,
)


@door
def open(path: str | Path, *, extensions: Sequence[ModuleType] = ()) -> Study:  # noqa: A001 - rt.open is the habit
    """The study described by a TOML file. No row is read.

    Parameters
    ----------
    path : str or Path
        The study file.
    extensions : sequence of modules, optional
        Statistics and mechanisms of third parties, in modules that you imported: docs/how-to/own_statistic.md.

    Returns
    -------
    Study
        Its rows are read by releases alone.

    Raises
    ------
    SpecError, PublicParameterError
        The file cannot be read or describes no study; a module extends nothing or uses a name that is taken.
    """
    from reticent.data.study_file import read_spec

    spec = under_its_ledger(read_spec(path))
    _check_public(spec, spec.source)
    if extensions == ():
        return Study(spec, None)
    from reticent.statistics.extensions import read_extensions

    return Study(spec, None, extensions=read_extensions(extensions))


def _in_python(_: object, refused: ReticentError) -> None:
    """Say what to declare as ``rt.study`` takes it."""
    from reticent.data.spelling_hints import in_python

    said = in_python(str(refused))
    each = "rows is the table, which stands first. Rows of a person are rows_each=1; without person= leave that out"
    refused.args = (said.replace("multiple values for argument 'rows'", each),)


@called_as(
    'rt.study("people.csv", adjacency="add_remove", columns={…}, budget=1, person="pid", rows_each=1)',
    word=_in_python,
)
def study(
    rows: object,
    *,
    adjacency: Kind | None = None,
    columns: Mapping[str, Column | Text | Expression] | None = None,
    budget: Number | Counted | None = None,
    delta: Number | None = None,
    person: str | None = None,
    rows_each: int | Literal["auto"] | Mapping[str, Number] | None = None,
    people: int | None = None,
    ledger: str | Path | None = None,
    title: str = "",
    override: str = "",
    delimiter: str = ",",
    encoding: str | None = None,
    decimal: Literal[".", ","] | None = None,
    thousands: str = "",
    na: Sequence[str] = (),
    symbols: Sequence[str] = (),
    snapshot: str = "",
    tables: Mapping[str, TableSource] | None = None,
    unit: str = "",
    household: str | None = None,
    per_household: int | None = None,
    weight: str | Expression | None = None,
    design: str | Mapping[str, object] | None = None,
    extensions: Sequence[ModuleType] = (),
    engine: str | Mapping[str, str | int] | None = None,
) -> Study:
    """A study of a table in memory: arrays by name, pandas, Polars, Arrow, or a DuckDB relation; or of a file.

    Parameters
    ----------
    rows : mapping of name to array, a data frame, a path to .csv or .parquet, the URL of a table, or a pair
        A pair is an open connection and the name of a table, ``(connection, "visits")``: of DuckDB, SQLite or Ibis, or
        an engine of SQLAlchemy. Only the columns named in ``columns``, and ``person``, are ever read.
    adjacency : "add_remove" or "substitute"
        Always needed: the first hides whether someone is in the table, the second makes the number of people public.
    columns : mapping of name to column or formula
        Always needed: ``{"age": rt.integer(0, 120), "site": rt.category([1, 2, 3])}``; bounds are public, never taken
        from the rows.
        A formula, ``{"stay": rt.col("out") - rt.col("in")}``, is computed from other columns.
    budget : number or loss
        Always needed: total epsilon (with ``delta``), or a loss such as ``ZCDP(Fraction(1, 2))``.
    delta : number, optional
        Delta of an epsilon in ``budget``; by default the budget has none.
    person : str, optional
        The column that names the person; without it every row is another person.
    rows_each : int, "auto" or mapping, optional
        Most rows kept per person; needed with ``person``. 1 without it says that nobody has two rows.
        ``{"at_most": 20, "typical": 5}`` also tells plans the average, a public guess. "auto" lets each release choose
        the cap privately, for a fifth of its loss; ``{"at_most": "auto", "ceiling": 256, "share": "1/5"}`` names the
        largest candidate and the price.
    people : int, optional
        The public number of persons, if there is one.
    ledger : path, optional
        A durable ledger file. Without it the ledger is in memory and the certificate says so. A file that is under a
        ledger already is asked under that one alone.
    title : str
        Title of the study, for the ledger and its certificates; by default the name of the file or table, else that of
        the ledger.
    override : str
        The reason for a budget above epsilon 10.
    delimiter, encoding : str
        Of a CSV file, by default "," and "utf-8". A listed label with an accent asks for the encoding.
    decimal, thousands : str
        How numbers are written in text: the decimal sign, and the sign between groups of three digits (``"1,977.61"``
        is a number with ``thousands=","`` only).
    na : sequence of str
        Texts and numbers that count as missing, such as ``["NA", "-999"]``.
    symbols : sequence of str
        Texts that may stand before or after a number, such as ``["€", "%"]``; the number is read without them.
    snapshot : str
        A word for these rows, such as "2026-11". Releases of one ledger and one word share what was once told of
        incomplete rows; give other rows another word.
    tables : mapping of name to table, optional
        Further tables, ``{"wards": rt.table("wards.csv", public=True, key="ward")}``. Their columns are asked for as
        ``wards.name``.
    unit : str
        What is protected, where that is several people: "household".
    household : str, optional
        The column that names the household of a person, or another unit of several. The guarantee is about one
        household then; ``person`` names who is counted in it.
    per_household : int, optional
        Most persons kept of a household; needed with ``household``.
    weight : str, optional
        The column by which every question weights rows; one may name another, or "1" for none.
    design : "fixed" or mapping, optional
        How the weights were made, needed for any weight: ``"fixed"``, or ``{"weights": "fixed", "cluster": 20,
        "likeness": "0.05", "fraction": "0.1"}`` with the most rows drawn together, how alike they are, and the least
        part of the population that was drawn. ``"strata": "region"`` names the category of which each key was sampled
        by itself; ``"margins": {"sex": {"f": 51000, "m": 49000}}`` are public sizes that answers are calibrated to.
    extensions : sequence of modules, optional
        Statistics and mechanisms of third parties, as for ``open``.
    engine : str or mapping, optional
        "duckdb", "postgres" or "spark", by default the one that has the rows; or the words of ``[engine]``, such as
        ``{"memory": "4GB", "threads": 2}``.

    Returns
    -------
    Study
        Its rows are read by releases alone.

    Raises
    ------
    SpecError, PublicParameterError
        A declaration that cannot be used, or a table that lacks a declared column. No row is read.
    """
    from reticent.data.engines.engine import read_engine
    from reticent.data.spec import Budget, Spec, adjacency_problem, check_budget, design_of, person_of, word_of

    rows = _of_pair(rows)
    if said := adjacency_problem(adjacency):
        raise SpecError(f"{said} Nothing was read.")
    assert adjacency is not None
    if budget is None:
        raise SpecError(
            'budget is missing: the total ε of all releases about these people, such as budget="3". Nothing was read.'
        )
    if person is not None and rows_each is None:
        raise SpecError(
            "One person may have any number of rows. Say rows_each=…: the most rows kept per person; the cut is "
            "reported in every release."
        )
    plain, formulas = _declared(columns)
    form = Format(
        encoding or PLAIN.encoding,
        decimal or ".",
        thousands,
        _texts(na),
        has_encoding=encoding is not None,
        symbols=_texts(symbols),
    )
    caps = rows_each if isinstance(rows_each, Mapping) else {"at_most": 1 if rows_each is None else rows_each}
    each = rows_each if isinstance(rows_each, str) and rows_each != "auto" else dict(caps)
    sample = design_of(None if weight is None else read_column(weight), design)
    of_person = replace(person_of(adjacency, person, each, people), unit=unit)
    if household is not None or per_household is not None:
        from reticent.data.households import in_households

        of_person = in_households(of_person, household, per_household)
    further = dict(tables or {})
    schema = _schema(plain, of_person, form, sample, further)
    if formulas:
        from reticent.data.transformations import computed

        for name, tree in formulas.items():
            schema = computed(schema, name, tree)
    loss = _total(budget, delta)
    check_budget(loss, override, people)
    reader, limits = read_engine(engine, Path().resolve(), "engine")
    _fits(rows, schema, delimiter, reader, limits)
    if person is None and rows_each is None:
        _ask_whose(rows, delimiter, form)
    spec = Spec(
        title=exact(title) or _name_of(rows, ledger),
        source="",
        ledger=None if ledger is None else str(ledger),
        schema=schema,
        budget=Budget(loss, "", None),
        releases=(),
        folder=Path(),
        delimiter=delimiter,
        snapshot=word_of(snapshot, "snapshot"),
        further=further,
        limits=limits,
        engine=reader,
        has_decimal=decimal is not None,
    )
    spec = under_its_ledger(spec)
    declared = sorted({*plain, *schema.named})
    files: Mapping[str, LedgerSource] = {}
    if further:
        from reticent.data.further_tables import check_further, places
        from reticent.data.joins import further_columns
        from reticent.ledger.fingerprint import further_names

        _check_public(spec, rows)
        check_further(schema, further)
        files = places(schema, further, public=False)
        declared += further_names(further_columns(schema), files)
    if extensions == ():
        return Study(spec, rows, _account(rows, declared, spec, files))
    from reticent.statistics.extensions import read_extensions

    theirs = read_extensions(extensions)  # refused before a ledger is made
    return Study(spec, rows, _account(rows, declared, spec, files), extensions=theirs)


def _texts(given: object) -> tuple[str, ...]:
    """A text, or several, as a tuple."""
    return (given,) if isinstance(given, str) else tuple(map(str, given)) if isinstance(given, Sequence) else ()


def _declared(
    columns: Mapping[str, Column | Text | Expression] | None,
) -> tuple[dict[str, Column | Text], dict[str, Tree]]:
    """Columns that are declared, and the formulas of those that are computed, by name."""
    if not isinstance(columns, Mapping):
        raise SpecError('columns says of each name what is public about it: columns={"age": rt.integer(0, 110)}.')
    formulas = {exact(name): column.tree for name, column in columns.items() if isinstance(column, Expression)}
    plain = {exact(name): column for name, column in columns.items() if not isinstance(column, Expression)}
    check_plain_names([*plain, *formulas], "The list of columns")
    for name, column in plain.items():
        if not isinstance(column, Real | Integer | Category | Text):
            raise SpecError(
                f"{name} is declared by {column!r}: say what it is, such as rt.real(0, 5), rt.integer(0, 5) or "
                'rt.category(["a", "b"]). Nothing was read.'
            )
    return plain, formulas


def _schema(
    plain: Mapping[str, Column | Text],
    person: Person,
    form: Format,
    sample: SampleDesign | None,
    further: Mapping[str, TableSource],
) -> Schema:
    """The schema of the declared columns and those of further tables, checked for households."""
    texts = {name: column for name, column in plain.items() if isinstance(column, Text)}
    listed = {name: column for name, column in plain.items() if not isinstance(column, Text)}
    schema = Schema(listed, person, form, texts=texts, design=sample)
    if further:
        from reticent.data.further_tables import joined_schema

        schema = joined_schema(schema, further)
    if person.household is not None:
        from reticent.data.households import check as check_households

        check_households(schema)
    return schema


def _total(budget: Number | Counted, delta: Number | None) -> Counted:
    """The loss that a budget allows, of a total epsilon with its delta, or as it is given."""
    if isinstance(budget, PureDP | ApproxDP | ZCDP | ApproxZCDP):
        return budget
    total = read(budget, "budget")
    if total <= 0:
        raise PublicParameterError(f"budget must be > 0, got {show(total)}")
    return PureDP(total) if delta is None else ApproxDP(total, read(delta, "delta"))


@door
def table(
    rows: object,
    *,
    columns: Mapping[str, Column | Text] | None = None,
    public: bool = False,
    key: str | Sequence[str] | Mapping[str, str] = (),
    person: str | None = None,
    join: Literal["left", "inner"] = "left",
    rows_each: int | Mapping[str, int] = 1,
    notation: Mapping[str, object] | None = None,
) -> TableSource:
    """A further table, for ``study(tables={"wards": rt.table(...)})``.

    Parameters
    ----------
    rows : mapping of name to array, a data frame, a path, the URL of a table in a database file, or a pair
        A pair is (connection, name), as for ``study``.
    columns : mapping of name to column, optional
        As for ``study``. A public table needs none: its columns are then what its cells are.
    public : bool
        Nobody is in it. It is read when the study is made.
    key : str, sequence of str, or mapping, optional
        Columns that agree; ``{"ward": "code"}`` where the main table has another name for one. A public table needs a
        key, which is unique. A private one is joined on the person, and on its keys too.
    person : str, optional
        The column that names the person; by default the name of it in the main table.
    join : "left" or "inner"
        A row without a partner stays, with missing cells, or is left out.
    rows_each : int or mapping
        Most rows of one person, and of one key, that stand beside a row of the main table. Where this table says whose
        a key is, ``{"keys": 2, "owners": 1}``: the most keys of a person, and persons of a key.
    notation : mapping, optional
        How a file is written, by the words of ``study``: ``{"delimiter": ";", "na": ["NA"]}``; "sheet" of a workbook.

    Returns
    -------
    TableSource

    Raises
    ------
    SpecError, PublicParameterError
        A declaration that cannot be used; of a public table a key that is not unique.
    """
    from reticent.data.further_tables import declared_table, pairs_of, tables_meant

    rows = _of_pair(rows)
    told = dict(notation or {})
    if unknown := told.keys() - {*WRITTEN, "sheet"}:
        known = f"{', '.join(WRITTEN)} and sheet"
        raise SpecError(f"notation has {known}, not {min(unknown)}.")
    delimiter, na, symbols = (
        str(told.pop("delimiter", ",")),
        _texts(told.pop("na", ())),
        _texts(told.pop("symbols", ())),
    )
    spelt: dict[str, Any] = {name: str(text) for name, text in told.items()}
    form = Format(**spelt, na=na, has_encoding="encoding" in told, symbols=symbols)
    owned = (0, 1)
    if isinstance(rows_each, Mapping):
        if "keys" not in rows_each or rows_each.keys() - {"keys", "owners"}:
            raise SpecError('rows_each is a number, or {"keys": 2, "owners": 1} of a table that says whose a key is.')
        owned, rows_each = (rows_each["keys"], rows_each.get("owners", 1)), 1
    given = {exact(name): column for name, column in (columns or {}).items()}
    return declared_table(
        rows,
        given,
        public=public,
        keys=pairs_of(key, tables_meant(key, rows, form, delimiter)),
        person=person,
        join=join,
        most=rows_each,
        form=form,
        delimiter=delimiter,
        owned=owned,
    )


def _of_pair(rows: object) -> object:
    """Rows as they were given, of a pair (connection, name) the table that it means."""
    if type(rows) is tuple and len(rows) == 2 and isinstance(rows[1], str):
        from reticent.data.database_files import of_pair

        return of_pair(*rows)
    return rows


def _ask_whose(rows: object, delimiter: str, form: Format) -> None:
    """Warn where a column has a usual name for persons, and nothing was said of whose a row is. Reads no row."""
    from reticent.data.source import names_of

    path, names = path_of(rows), list[object]()
    if not path:
        names += rows if isinstance(rows, Mapping) else _columns_of(rows)
    elif not in_database(path) and is_there(Path(path)):
        names += names_of(path, delimiter=delimiter, encoding=form.encoding, sheet=form.sheet)
    if found := next((name for name in map(exact, names) if PERSONS.fullmatch(name)), ""):
        warn(
            f"{found} is a usual name for persons. Without person= each row counts as another person, and one row is "
            f'hidden. Say person="{found}", rows_each=…; or rows_each=1 if nobody has two rows.'
        )


def _columns_of(frame: object) -> list[object]:
    """The names of the columns of a data frame, of whichever library."""
    schema = getattr(frame, "collect_schema", None)
    names = getattr(frame, "columns", ()) if schema is None else schema().names()
    return list(getattr(frame, "column_names", names))


def _name_of(rows: object, ledger: str | Path | None) -> str:
    """The name of a file or table, without its folder and ending; of rows in memory that of the ledger."""
    place = path_of(rows)
    if not place and ledger is None:
        return "study"
    from reticent.data.file_kinds import stem_of

    names = (stem_of(place), "" if ledger is None else stem_of(str(ledger)))
    return next((name for name in names if name and on_one_line(name)), "study")


def _fits(rows: object, schema: Schema, delimiter: str, engine: str, limits: Limits) -> None:
    """Refuse a table without the declared columns, or of types that cannot hold them, by its names and types alone."""
    from reticent.data.engines.engine import check_engine_settings
    from reticent.data.source import engine_of, open_source

    path = path_of(rows)
    refuse_address(path)
    if not path or in_database(path) or is_there(Path(path)):
        found = open_source(rows, schema, delimiter=delimiter, engine=engine)
        check_engine_settings(engine_of(found), engine, limits, schema)


def _account(rows: object, declared: Sequence[str], spec: Spec, files: Mapping[str, LedgerSource]) -> Ledger:
    """The ledger of ``spec``; of a file the one that counts for it, as for a study file: one file, one ledger."""
    from reticent.data.source import identity_of
    from reticent.ledger import Ledger

    near, person, budget = spec.schema.person.protected, spec.schema.person.protected_column, spec.budget.loss
    path = path_of(rows)
    known = path and (in_database(path) or is_there(Path(path)))
    if not known and not files:
        return Ledger.open_or_create(spec.ledger, title=spec.title, adjacency=near, person=person, budget=budget)
    from reticent.ledger.account import ledger_at
    from reticent.ledger.fingerprint import claim, claim_each, open_for, source_at

    source = source_at(identity_of(path)) if known else None
    bare = spec.ledger is not None and ledger_at(spec.ledger) and Ledger.open(spec.ledger).source is None
    if source is not None and not bare:
        return open_for(
            source,
            declared,
            spec.ledger,
            title=spec.title,
            adjacency=near,
            person=person,
            budget=budget,
            further=files,
        )
    made = Ledger.open_or_create(spec.ledger, title=spec.title, adjacency=near, person=person, budget=budget)
    if source is not None:  # a ledger that names no source, as 0.1.0 made them here
        claim(source, declared, made)
    claim_each(files.values(), declared, made)
    return made


def _check_public(spec: Spec, rows: object) -> None:
    """Refuse a table that is said to be about nobody where it is one about people."""
    if not spec.further:
        return
    from reticent.data.further_tables import places
    from reticent.data.source import identity_of
    from reticent.ledger.fingerprint import refuse_public, source_at

    if not (files := places(spec.schema, spec.further, public=True)):
        return
    place = path_of(rows)
    known = place and (in_database(place) or is_there(Path(place)))
    main = [source_at(identity_of(place))] if known else []
    named = {f"[tables.{name}]": file for name, file in files.items()}
    refuse_public(named, [*main, *places(spec.schema, spec.further, public=False).values()])


@door
def read_certificate(source: str | Path) -> Certificate:
    """The certificate in a file, or in the text of one; nothing in it is believed until ``verify``.

    Raises
    ------
    CheckError
        The text is no certificate.
    """
    from reticent.certificate import certificate

    return certificate.read_certificate(source)


@door
def read_release(source: str | Path) -> Release:
    """The release of a certificate in a file, or in JSON text: its answers, without the study and at no charge.

    Raises
    ------
    CheckError
        It cannot be read, is no certificate, or is that of a model or a session.
    """
    from reticent.study.release import Release

    certificate = read_certificate(source)
    if certificate.kind != "release":
        raise CheckError(f"This is the certificate of a {certificate.kind}, which has no answers.")
    return Release(certificate.answers, tuple(certificate.heading["caveats"]), certificate)
