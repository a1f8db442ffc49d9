"""Condition of a study on this machine: files, permissions, links, header, clock and ledger, without reading a row.

    examined(study)   one ``Diagnosis`` for each thing looked at, in order

A finding is "ok", a "warning" that the curator should know, or "failed": every release would be refused, or would
protect less than it says. No row is looked at. If size or time of the source are not those of the last release, that is
said: it is for the curator alone, as it is where a release asks for --same-people.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from reticent.data.engines.engine import check_engine_settings, engine_at, refused_settings
from reticent.data.file_kinds import kind_of
from reticent.data.format import in_database, in_spark, spark_name
from reticent.data.further_tables import check_further
from reticent.data.source import engine_of, identity_of, open_source
from reticent.data.spec import Spec
from reticent.data.study_file import absent_files, header_problems, read_spec
from reticent.database_url import is_url
from reticent.errors import LedgerError, Refusal, SpecError
from reticent.ledger import Ledger
from reticent.ledger.account import ledger_at, may_make_ledger
from reticent.ledger.fingerprint import claimed_by, refuse_new_ledger, source_at, source_changed
from reticent.privacy.loss import ZCDP, Loss, words
from reticent.study.file_problems import more_problems
from reticent.study.terms import under_its_ledger

State: TypeAlias = Literal["ok", "warning", "failed"]

OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
WRITERS: Final = stat.S_IWGRP | stat.S_IWOTH
SLACK: Final = timedelta(minutes=5)  # by which clocks of two machines may differ


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing looked at: its name, its state and what to do about it."""

    about: str
    state: State
    words: str


def examined(study: Path) -> tuple[Diagnosis, ...]:
    """Everything about a study file and what it names that can be looked at without reading a row."""
    try:
        spec = read_spec(study)
    except SpecError as problem:
        return tuple(Diagnosis("study file", "failed", one) for one in (*problem.problems, *more_problems(study)))
    found = [Diagnosis("study file", "ok", f"{study.name} can be read")]
    found += _shared(study, "study file", WRITERS, "others may change it: chmod go-w")
    found += _table(spec) if in_database(spec.source) else _source(Path(spec.source), spec)
    found += [*_further(spec), *_engine(spec)]
    if spec.ledger is None:
        found.append(
            Diagnosis("ledger", "warning", "none is named: add [study] ledger, or the budget ends with the process")
        )
    else:
        found += _ledger(spec.ledger, spec)
    return tuple(found)


def _table(spec: Spec) -> Iterator[Diagnosis]:
    """Findings about a table in a database, by its catalog alone."""
    from reticent.data.database import DatabaseSource
    from reticent.data.database_files import DatabaseFile

    try:
        opened = open_source(spec.source, spec.schema)
        check_engine_settings(engine_of(opened), spec.engine, spec.limits, spec.schema)
        if isinstance(opened, DatabaseFile):
            yield from _shared(
                opened.at.file, "source", OTHERS, "other users of this machine can read the rows: chmod go-r"
            )
            told = f"{opened.at.table} of {opened.at.file.name} can be read"
        elif in_spark(spec.source):
            told = f"{spark_name(spec.source)} is known to Spark"
        else:
            assert isinstance(opened, DatabaseSource)
            told = f"{opened.catalog.schema}.{opened.catalog.name} can be read, and not written to"
    except Refusal as problem:
        yield Diagnosis("source", "failed", str(problem))
        return
    yield Diagnosis("source", "ok", told)
    yield Diagnosis("header", "ok", "every declared column is there")


def _source(source: Path, spec: Spec) -> Iterator[Diagnosis]:
    try:
        facts = source.lstat()
    except OSError:
        if not glob.has_magic(str(source)):
            yield Diagnosis("source", "failed", f"{source.name} is not there or cannot be reached")
            return
        yield from _header(source, spec)
        return
    if stat.S_ISLNK(facts.st_mode):
        yield Diagnosis("source", "warning", f"{source.name} is a link: its target can change without a word")
    elif stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
        yield Diagnosis(
            "source",
            "warning",
            f"{source.name} has hard links: under another name another user could open a second budget",
        )
    yield from _shared(source, "source", OTHERS, "other users of this machine can read the rows: chmod go-r")
    yield from _header(source, spec)


def _header(source: Path, spec: Spec) -> Iterator[Diagnosis]:
    """Findings about the names of columns: no other part of the source is read."""
    if problems := header_problems(source, spec):
        yield from (Diagnosis("header", "failed", problem) for problem in problems)
        return
    unnamed = kind_of(source) == "json lines"
    told = "names of fields stand in the rows: they are not looked at" if unnamed else "every declared column is there"
    yield Diagnosis("header", "ok", told)


def _further(spec: Spec) -> Iterator[Diagnosis]:
    """Findings about further tables, by their names of columns alone."""
    try:
        check_further(spec.schema, spec.further)
    except Refusal as problem:
        yield Diagnosis("tables", "failed", str(problem))
        return
    absent = [words for words in absent_files(spec) if "[tables." in words]
    yield from (Diagnosis("tables", "failed", words) for words in absent)
    if spec.further and not absent:
        yield Diagnosis("tables", "ok", f"{', '.join(spec.further)}: every declared column is there")


def _engine(spec: Spec) -> Iterator[Diagnosis]:
    """Limits of the engine that a release refuses."""
    refused = refused_settings(engine_at(spec.source, spec.engine), spec.limits, spec.schema, spec.source)
    yield from (Diagnosis("engine", "failed", words) for words in refused)


def _ledger(place: str, spec: Spec) -> Iterator[Diagnosis]:
    name = place if is_url(place) else Path(place).name
    if not is_url(place):
        yield from _shared(Path(place), "ledger", OTHERS | WRITERS, "others may read or change it: chmod 600")
    try:
        if not ledger_at(place):
            yield _new_ledger(spec.source, place, name)
            return
        ledger = Ledger.open(place)
        problems = ledger.verify()
    except Refusal as problem:
        problems = (str(problem),)
    if problems:
        yield Diagnosis("ledger", "failed", f"{name}: {problems[0]}")
        return
    yield Diagnosis("ledger", "ok", f"chain ok: {len(ledger.entries())} entries, head {ledger.head[:16]}…")
    yield from _terms(ledger, spec)
    yield from _clock(ledger)
    yield from _claim(spec.source, ledger)


def _new_ledger(source: str, place: str, name: str) -> Diagnosis:
    try:
        refuse_new_ledger(source_at(identity_of(source)), place)
    except SpecError:  # the source has its own finding
        pass
    except LedgerError as problem:
        return Diagnosis("ledger", "failed", str(problem))
    if is_url(place) and not may_make_ledger(place):
        return Diagnosis(
            "ledger",
            "failed",
            f"{name} has no tables yet, and its role may not make them: release first as the owner of the schema",
        )
    return Diagnosis("ledger", "ok", f"{name} will be made by the first release")


def _terms(ledger: Ledger, spec: Spec) -> Iterator[Diagnosis]:
    """Differences between what the study file says and what the ledger was opened with."""
    if ledger.adjacency != under_its_ledger(spec).schema.person.protected:
        yield Diagnosis("terms", "failed", "the study file has another adjacency or cap on rows than its ledger")
    if ledger.budget != spec.budget.loss:
        yield Diagnosis("terms", "failed", "the study file has another budget than its ledger: reticent ledger amend")
    if ledger.closed:
        yield Diagnosis("terms", "failed", "the ledger is closed: it accepts no charge")
    elif _is_spent(ledger.left()):
        yield Diagnosis("terms", "failed", f"all of {words(ledger.budget)} is spent")


def _is_spent(left: Loss) -> bool:
    return (left.rho if isinstance(left, ZCDP) else getattr(left, "epsilon", None)) == 0


def _clock(ledger: Ledger) -> Iterator[Diagnosis]:
    now, last = _now(), datetime.fromisoformat(ledger.entries()[-1].when)
    if last - now > SLACK:
        yield Diagnosis("clock", "failed", "the ledger's last entry lies in the future: set the clock of this machine")
    elif ledger.ends is not None and now.date() > ledger.ends:
        yield Diagnosis("clock", "failed", f"the approval ended on {ledger.ends.isoformat()}")
    else:
        yield Diagnosis("clock", "ok", "not before the last entry of the ledger")


def _now() -> datetime:
    return datetime.now(UTC)


def _claim(place: str, ledger: Ledger) -> Iterator[Diagnosis]:
    try:
        source = source_at(identity_of(place))
        if not claimed_by(source, ledger):
            yield Diagnosis("claim", "warning", "the source names no ledger yet: the first release records it")
            return
        yield Diagnosis("claim", "ok", "the source names this ledger, and the ledger has every entry it names")
        if changed := source_changed(source):
            yield Diagnosis("rows", "warning", changed)
    except (LedgerError, SpecError) as problem:
        yield Diagnosis("claim", "failed", str(problem))


def _shared(file: Path, about: str, bits: int, advice: str) -> Iterator[Diagnosis]:
    """A warning where the system knows permissions and they are wider than they should be."""
    if os.name != "posix":
        return
    try:
        mode = file.stat().st_mode
    except OSError:
        return
    if mode & bits:
        yield Diagnosis(about, "warning", f"{file.name}: {advice}")
