"""Requests with an id of the caller's: the same id gives the same stored answer, and is charged once.

The id goes into the entry of the charge, with a digest of what was asked. The certificate is stored with the
commitment, in one transaction, so a release that is committed has its answer. Whoever asks again under that id
gets this answer, the same fault, or the words for a run that never ended. Nothing more is charged and no row is read.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from reticent.certificate.certificate import Certificate, read_certificate
from reticent.certificate.record import columns_to_json
from reticent.data.expression_tree import write
from reticent.data.format import Format
from reticent.data.joins import lines
from reticent.data.query import Keys
from reticent.data.schema import Column, Real
from reticent.errors import Fault, LedgerError, first_of
from reticent.privacy.loss import words
from reticent.privacy.serialization import canonical, digest_of

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.ledger import Ledger, Line
    from reticent.privacy.cost import Cost
    from reticent.statistics.statistic import Ask
    from reticent.study.terms import StudyTerms

WORDS: Final = ("why", "label", "unit")  # of a declaration, which change no answer
ENDS: Final = ("low", "high")  # which a release may choose
FOUND: Final = ("among",)  # keys of a text that a release found
NOTATION: Final = ("encoding", "decimal", "thousands", "na", "sheet", "symbols")


def request_digest(asked: Sequence[Ask], within: Cost, want: Mapping[str, float] | None, study: StudyTerms) -> str:
    """Digest of what a request asks: its questions, filter and formulas, what it may cost, and how rows are read.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    want : mapping of str to float or None
        Half-widths by name, or None.
    study : StudyTerms
        Study that is asked, with its filter, formulas and tables, and how and where its rows are read.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    schema = study.schema
    return digest_of(
        canonical(
            {
                "asked": [_ask(ask) for ask in asked],
                "cost": [str(within.epsilon), str(within.rho), str(within.delta)],
                "want": {name: repr(float(width)) for name, width in (want or {}).items()},
                "where": "" if schema.where is None else write(schema.where),
                "tables": list(lines(schema)),
                "computed": {name: write(tree) for name, tree in schema.computed.items()},
                **_read(study),
            }
        )
    )


def _read(study: StudyTerms) -> dict[str, object]:
    """The terms by which rows are read, where they are not the usual ones: so ids from before these were told stay."""
    schema, delimiter = study.schema, study.spec.delimiter
    form, usual = schema.format, Format()
    told = {name: getattr(form, name) for name in NOTATION if getattr(form, name) != getattr(usual, name)}
    columns = {name: _unrecorded(column) for name, column in schema.columns.items()}
    found = {
        "notation": told,
        "rows": "" if schema.person.rows == 1 else schema.person.rows,
        "delimiter": "" if delimiter == "," else delimiter,
        "part": _part(study._place),
        "design": "" if schema.design is None or schema.design.cluster == 1 else schema.design.cluster,
        "columns": {name: facts for name, facts in columns.items() if facts},
    }
    return {name: value for name, value in found.items() if value}


def _part(place: str) -> str:
    """The table of a database file, or the pattern of files, of which one ledger counts for all; else empty."""
    if place.startswith(("sqlite:", "duckdb:")):
        return place.partition("?")[2]
    return place if glob.has_magic(place) and "://" not in place else ""


def _unrecorded(column: Column) -> dict[str, object]:
    """The facts of a declaration that certificates do not have."""
    resolution = column.resolution if isinstance(column, Real) else None
    return {
        **({} if resolution is None else {"resolution": str(resolution)}),
        **({"constant": True} if column.constant else {}),
    }


def earlier(study: StudyTerms, request: tuple[str, str], who: str) -> tuple[Ledger, Line] | None:
    """The ledger and the line of the request that ``who`` made under this id; None where there is none yet.

    Parameters
    ----------
    study : StudyTerms
        Study whose ledger is asked.
    request : tuple of str and str
        The id, and the digest of what is asked under it.
    who : str
        The person who asks.

    Returns
    -------
    tuple of Ledger and Line, or None

    Raises
    ------
    LedgerError
        The id was used for another request, or for columns that were declared otherwise.
    """
    ledger = study._existing()
    line = None if ledger is None else ledger.asked_before(*request, who=who)
    if ledger is None or line is None:
        return None
    text = None if line.withdrawn is not None else ledger.answer(line.id)
    if text is not None and (found := read_certificate(text)).digest == line.digest:
        check_declared(found, line, study.schema)
    return ledger, line


def stored(ledger: Ledger, line: Line) -> Certificate:
    """Certificate of a request that was charged before.

    Parameters
    ----------
    ledger : Ledger
    line : Line
        Of the request.

    Returns
    -------
    Certificate
        As it left.

    Raises
    ------
    LedgerError
        When it has not ended, was withdrawn, or its answer is gone; the words say what was charged.
    Fault
        When it ended in one, which is charged once.
    """
    assert line.charge is not None
    if line.state == "failed":
        raise Fault(line.note, words(line.charge))
    if line.state == "reserved":
        raise LedgerError(
            f"{line.id} was charged {words(line.charge)} under this request id on {line.when}, and has no answer yet: "
            "it is still running, or was lost in a crash. That charge stays spent, and nothing more was charged. If it "
            "was lost, ask under a new request id, which is a new charge."
        )
    if line.withdrawn is not None:
        raise LedgerError(
            f"{line.id} was charged {words(line.charge)} under this request id and withdrawn on {line.withdrawn[:10]}: "
            f"{line.why.rstrip('.')}. Nothing more was charged."
        )
    text = ledger.answer(line.id)
    found = None if text is None else read_certificate(text)
    if found is None or found.digest != line.digest:
        raise LedgerError(
            f"{line.id} was charged {words(line.charge)} under this request id, and its answer is not stored. Nothing "
            "more was charged."
        )
    return found


def check_declared(found: Certificate, line: Line, schema: Schema) -> None:
    """Refuse a stored answer about what is declared otherwise now: bounds or a list of a column, or the people.

    Parameters
    ----------
    found : Certificate
        As it left.
    line : Line
        Of its request.
    schema : Schema
        Of the study that asks again.

    Raises
    ------
    LedgerError
        With the columns.
    """
    then: Mapping[str, Mapping[str, object]] = found.heading["columns"]
    now: Mapping[str, Any] = columns_to_json(schema, then)
    odd = list[str]()
    for name in (name for name in then if name in now):
        chosen = getattr(schema.columns.get(name), "auto", None) is not None
        left_out = {*WORDS, *(ENDS if chosen else ()), *(FOUND if "longest" in then[name] else ())}
        facts = then[name].keys() & now[name].keys() - left_out
        odd += [name] if any(then[name][fact] != now[name][fact] for fact in facts) else []
    people, declared = found.heading["people"], schema.person.people
    if people != declared and (declared is not None or schema.person.adjacency == "add_remove"):
        odd.append("[person] people")
    if odd and line.charge is not None:
        raise LedgerError(
            f"{line.id} was charged {words(line.charge)} under this request id, when {first_of(odd)} had another "
            "declaration. Nothing more was charged. Declare it as then, or ask under a new request id, which is a new "
            "charge."
        )


def _ask(ask: Ask) -> list[object]:
    groups = ask.groups
    named = [groups.column, *map(str, groups.among)] if isinstance(groups, Keys) else [groups or ""]
    name = attrs.evolve(ask, statistic=ask.as_asked or ask.statistic).name
    return [name, named, str(ask.epsilon), str(ask.delta), ask.unit, str(ask.totals), ask.weights or ""]
