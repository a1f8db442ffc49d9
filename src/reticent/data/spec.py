"""The specification of a study: what its file declares, or the arguments of ``rt.study``.

    Spec(title, source, ledger, schema, budget, releases)

Readers of what both spellings have stand below the values: persons, designs of samples, budgets, cells of tables. The
file itself is read by ``data/study_file.py``.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never, get_args

from reticent.data.expression_tree import key_text
from reticent.data.format import WRITTEN, Limits, check_title, nearest
from reticent.data.schema import Person, Schema
from reticent.errors import PublicParameterError, QuestionError, SpecError, restored
from reticent.privacy.adjacency import CHOOSE, Kind
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.cost import OF_BUDGET, refuse_exposure, refuse_weak
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, PureDP
from reticent.privacy.numbers import Number, read, show

if TYPE_CHECKING:
    from reticent.data.design import OfKeys, PublicMargins, SampleDesign
    from reticent.data.further_tables import TableSource

Tables: TypeAlias = Mapping[str, Any]  # what tomllib returns

NUMERIC: Final = (
    *("kind", "from", "low", "high", "floor", "ceiling", "share", "why", "missing"),
    *("resolution", "constant", "complete", "unit", "label"),
)
DATED: Final = ("kind", "from", "low", "high", "why", "missing", "constant", "complete", "format", "label")
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("study", "person", "budget", "columns", "tables", "engine", "release"),
    "engine": ("name", "memory", "spill", "threads", "temp", "partitions"),
    "study": (
        *("title", "source", "sheet", "ledger", "snapshot"),
        *WRITTEN,
        *("where", "weight", "design"),
    ),
    "table": (
        *("source", "sheet", *WRITTEN),
        *("public", "key", "person", "join", "rows", "keys", "owners", "columns"),
    ),
    "design": ("weights", "cluster", "likeness", "fraction", "strata", "margins"),
    "person": ("column", "unit", "household", "per_household", "adjacency", "people", "rows"),
    "budget": ("epsilon", "delta", "rho", "approved", "ends", "override"),
    "real": NUMERIC,
    "integer": tuple(key for key in NUMERIC if key != "resolution"),
    "computed": ("from", "unit", "label", "why"),
    "date": DATED,
    "datetime": (*DATED, "resolution", "zone"),
    "category": ("kind", "from", "among", "why", "constant", "complete", "label"),
    "text": ("kind", "longest", "why"),
    "release": ("name", "epsilon", "delta", "rho", "ask", "want", "override", "try_anyway", "passing", "request_id"),
}
LONGEST_SNAPSHOT: Final = 100
LARGE_DELTA: Final = Fraction(1, 10**5)

NO_PERSON: Final = (
    'Who is one person here? Add [person] column = "…", or rows = "one_each" if every row is another person. '
    "Nothing was read."
)
NO_ROWS: Final = (
    'One person may have any number of rows. Say rows = { at_most = 20 }, or rows = "one_each" if nobody has more '
    "than one. Nothing was read."
)


@dataclass(frozen=True, slots=True)
class Budget:
    """Approved budget: the limit, its approver, its end, and the reason if it exceeds ε 10."""

    loss: Counted
    approved: str = ""
    ends: datetime.date | None = None
    override: str = ""


@restored
@dataclass(frozen=True, slots=True)
class ReleaseSpec:
    """One planned release; ``ask`` holds the questions as text, ``want`` half-widths by question."""

    name: str
    ask: tuple[str, ...]
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    want: Mapping[str, float] = field(default_factory=dict)
    override: str = ""
    try_anyway: bool = False  # where an answer would most likely be no reply
    passing: Fraction | None = None  # the share of rows that a plan supposes to pass the filters, or to have a value
    request_id: str | None = None  # the same id gives the stored answer again


@restored
@dataclass(frozen=True, slots=True)
class Spec:
    """A study as its file declares it. ``source`` and ``ledger`` are absolute; ``folder`` is where the file is.

    ``snapshot`` is the curator's word for these rows: while it stays, the rows are declared to be the same.
    ``further`` has the sources of further tables, by name. ``engine`` names the one that reads, empty for any.
    ``has_decimal`` is True where the file says the decimal sign, which is then not doubted.
    """

    title: str
    source: str
    ledger: str | None
    schema: Schema
    budget: Budget
    releases: tuple[ReleaseSpec, ...]
    folder: Path
    delimiter: str = ","
    snapshot: str = ""
    further: Mapping[str, TableSource] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    engine: str = ""
    has_decimal: bool = False

    def __post_init__(self) -> None:
        check_title(self.title, "The title of a study")
        for release in self.releases:
            check_title(release.name, "The name of a release")

    def release(self, name: str | None = None) -> ReleaseSpec:
        """A release by its name; the only one where no name is given."""
        known = {item.name: item for item in self.releases}
        name = next(iter(known)) if name is None and len(known) == 1 else name
        if name is None or name not in known:
            listed = ", ".join(f'"{title}"' for title in known) or "none"
            if name is not None:
                meant = meant_word(name, tuple(known))
                raise QuestionError(f"There is no release '{name}'.{meant} The study file has: {listed}.")
            raise QuestionError(f"Which release? The study file has: {listed}. Name one with --release.")
        return known[name]


# --- the tables -------------------------------------------------------------------------------------------------------


def word_of(snapshot: str, where: str) -> str:
    """The word for a snapshot, which certificates print.

    Raises
    ------
    SpecError
        For one that is no short text of one line.
    """
    if not isinstance(snapshot, str) or len(snapshot) > LONGEST_SNAPSHOT or not (snapshot + "x").isprintable():
        raise SpecError(
            f'{where} is a text of at most {LONGEST_SNAPSHOT} characters, such as "2026-11". Nothing was read.'
        )
    return snapshot


def check_rows_alone(column: str | None, rows: object) -> None:
    """Refuse rows that no person has under any adjacency."""
    try:
        if rows is not None:
            person_of("add_remove", column, rows, None)
    except PublicParameterError as error:
        raise SpecError(f"[person] {error}") from None


def adjacency_problem(given: object) -> str:
    """Words for an adjacency that is no choice, with the one that is meant; empty where it is one."""
    if given in get_args(Kind):
        return ""
    near = nearest(given, get_args(Kind)[:2]) if isinstance(given, str) else None
    said = f"[person] adjacency = {shown_cell(given)} is no choice. Did you mean {near}? " if near else ""
    return f"{said}{CHOOSE}"


def person_of(adjacency: Kind, column: str | None, rows: object, people: int | None) -> Person:
    """A person by the declared ``rows``: "one_each", a cap, or candidates of a cap that each release chooses.

    Parameters
    ----------
    adjacency : Kind
        Relation between neighbours.
    column : str or None
        Column that names the person; None where every row is one.
    rows : object
        "one_each", ``{"at_most": 5}``, or a cap that is "auto".
    people : int or None
        Declared number of persons, if there is one.

    Returns
    -------
    Person
        The person of the schema.

    Raises
    ------
    SpecError, PublicParameterError
        For rows that are none of these; for several rows without a person column.
    """
    match rows:
        case "one_each":
            return Person(adjacency, column, 1, people)
        case {"at_most": "auto", **rest} if rest.keys() <= {"ceiling", "share", "typical"}:
            from reticent.data.caps import CapLadder

            if column is None:
                raise SpecError('rows = { at_most = "auto" } needs a person column: who has several rows?')
            ladder = CapLadder(**_told(rest, "ceiling"), **_told(rest, "share"))
            return Person(adjacency, column, ladder.ceiling, people, **_told(rest, "typical"), ladder=ladder)
        case {"at_most": int() as most, **rest} if not isinstance(most, bool) and rest.keys() <= {"ceiling", "typical"}:
            return Person(adjacency, column, most, people, **_told(rest, "typical"), **_told(rest, "ceiling"))
        case _:
            raise SpecError(
                f'Say [person] rows = "one_each" or rows = {{ at_most = 20 }}, got {shown_cell(rows)}. Beside at_most, '
                'typical = 3 tells plans the average. at_most = "auto" lets each release choose one, up to a ceiling.'
            )


def _told(rest: Mapping[Any, Any], key: str) -> dict[str, Any]:
    """One key of [person] rows as the argument it is, if it is there; a ceiling stays the integer it is."""
    if key not in rest:
        return {}
    return {key: rest[key] if key == "ceiling" else number_at(rest, key, "[person] rows")}


def design_of(weight: str | None, design: object) -> SampleDesign | None:
    """The design of a sample, as a word or a table: ``"fixed"`` or ``{ weights = "fixed", fraction = "0.1" }``.

    Parameters
    ----------
    weight : str or None
        The weight of questions that name none.
    design : object
        None where nothing is said.

    Raises
    ------
    SpecError
        A weight without a word of how it was made; weights that are not fixed; a number out of range.
    """
    if weight is None and design is None:
        return None
    from reticent.data.design import DECLARE, SampleDesign, check_weights

    where = "[study] design"
    if design is None:
        raise SpecError(f"[study] weight = {shown_cell(weight)}: {DECLARE}")
    told = {"weights": design} if isinstance(design, str) else design
    if not isinstance(told, Mapping):
        raise SpecError(f"{where} is a word or a table, got {shown_cell(design)}. {DECLARE}")
    check_keys(told, "design", where)
    try:
        check_weights(text_at(told, "weights", where) or "")
        several = isinstance(told.get("fraction"), Mapping)
        plain = ("likeness",) if several else ("likeness", "fraction")
        shares = {key: number_at(told, key, where) for key in plain if key in told}
        return SampleDesign(
            weight or "",
            told.get("cluster", 1),
            **shares,
            strata=text_at(told, "strata", where) or "",
            fractions=_of_keys(told["fraction"], f"{where} fraction") if several else (),
            margins=_margins(told, where),
        )
    except PublicParameterError as error:
        raise SpecError(f"{where}: {error}") from None


def _margins(told: Mapping[str, object], where: str) -> PublicMargins | None:
    """The public sizes of the groups of one category: ``{ sex = { f = 51000, m = 49000 } }``."""
    from reticent.data.design import PublicMargins

    found = told.get("margins")
    if found is None:
        return None
    if not isinstance(found, Mapping) or len(found) != 1:
        raise SpecError(
            f"{where} margins are of one column: margins = {{ sex = {{ f = 51000, m = 49000 }} }}. For several, "
            "compute a column of their combinations, and give its sizes."
        )
    ((column, sizes),) = found.items()
    return PublicMargins(str(column), _of_keys(sizes, f"{where} margins"))


def _of_keys(found: object, where: str) -> OfKeys:
    """A number for each key of a category, by the key's text."""
    if not isinstance(found, Mapping) or not found:
        raise SpecError(f"{where}: one number for each key is wanted, got {shown_cell(found)}")
    return tuple((key_text(key), number_at(found, key, where)) for key in found)


def check_budget(loss: Counted, override: str, people: int | None) -> None:
    """Refuse a budget that protects no one without a reason, or whose delta exposes somebody of a public number.

    Parameters
    ----------
    loss : Loss
        The whole budget.
    override : str
        The reason for an epsilon above 10.
    people : int or None
        The public number of people.

    Raises
    ------
    SpecError
        Epsilon, or that of a conversion, above 10 without a reason; a delta of at least 1 / (10 people).
    """
    refuse_weak(epsilon_delta(loss)[0], override, OF_BUDGET)
    refuse_exposure(sizes_of(loss)[1], people)


def sizes_of(loss: Counted) -> tuple[Fraction, Fraction]:
    """The size of a budget in its own currency, epsilon or rho, and its delta."""
    match loss:
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case ZCDP(rho):
            return rho, Fraction(0)
        case ApproxZCDP(rho, delta):
            return rho, delta
        case _:
            assert_never(loss)


def read_passing(written: Number, name: str = "passing") -> Fraction:
    """The share of rows that a plan supposes to pass the filters, or to have a value, above 0 and at most 1."""
    share = read(written, name)
    if not 0 < share <= 1:
        raise PublicParameterError(f"{name} is a share, above 0 and at most 1, got {show(share)}")
    return share


# --- reading cells of TOML --------------------------------------------------------------------------------------------


def check_keys(table: Tables, kind: str, where: str) -> None:
    """Refuse a key that a table of this kind does not have, with the nearest one that it has.

    Parameters
    ----------
    table : mapping
        Of TOML, or as Python spells it.
    kind : str
        One of ``KEYS``.
    where : str
        Name of the table, for the message.

    Raises
    ------
    SpecError
        Each such key, in one line.
    """
    known = KEYS[kind]
    odd = [
        f"{where} has an unknown key '{key}'.{meant_word(key, known)} Known: {', '.join(known)}."
        for key in table
        if key not in known
    ]
    if odd:
        raise SpecError(*odd)


def meant_word(word: str, known: tuple[str, ...]) -> str:
    """The end of a refusal that names the nearest known word, if one is near."""
    same = {one: key for one, key in OTHER_KEYS.items() if key in known}
    near = nearest(word, known, same)
    return f" Did you mean {near}?" if near else ""


OTHER_KEYS: Final = {"min": "low", "minimum": "low", "max": "high", "maximum": "high", "values": "among"}


def text_at(table: Tables, key: str, where: str) -> str | None:
    """The text of a cell; None where it is not there.

    Parameters
    ----------
    table : mapping
        Of TOML, or as Python spells it.
    key : str
    where : str
        Name of the table, for the message.

    Returns
    -------
    str or None

    Raises
    ------
    SpecError
        Something else than text.
    """
    found = table.get(key)
    if found is not None and not isinstance(found, str):
        raise SpecError(f"{where} {key} must be text in quotes, got {shown_cell(found)}")
    return found


def number_at(table: Tables, key: str, where: str) -> Fraction:
    """The number of a cell, exactly.

    Parameters
    ----------
    table : mapping
        Of TOML, or as Python spells it.
    key : str
    where : str
        Name of the table, for the message.

    Returns
    -------
    Fraction

    Raises
    ------
    SpecError
        Something else than a number.
    """
    try:
        return read(table[key], key)
    except PublicParameterError as error:
        raise SpecError(f"{where} {error}") from None


def shown_cell(found: object) -> str:
    """The text of a cell as TOML spells it."""
    match found:
        case None:
            return "nothing"
        case bool():
            return "true" if found else "false"
        case str():
            return json.dumps(found, ensure_ascii=False)
        case _:
            return str(found)
