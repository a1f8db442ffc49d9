"""Public knowledge of a table: its columns, their bounds, and the unit that counts as a person.

Everything here was declared by the curator. Bounds are exact rationals read from decimal text. They alone fix the grids
on which sums are taken and the candidates that a quantile may be.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reticent.calendar import FIRST, LAST, Calendar
from reticent.calendar import text as calendar_text
from reticent.data.expression_tree import LARGEST as LARGEST
from reticent.data.expression_tree import Key as Key
from reticent.data.expression_tree import Tree, columns_of
from reticent.data.format import (
    PLAIN,
    Format,
    check_plain_names,
    exact,
    exact_key,
    is_text,
    nearest,
    on_one_line,
    section,
    toml_key,
)
from reticent.data.joined_table import JoinedTable, chain, own_name, table_at
from reticent.errors import PublicParameterError, QuestionError, SpecError, called_as, first_of
from reticent.outcome import restore
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.numbers import Number, read, show

if TYPE_CHECKING:
    from reticent.data.bounds import BoundsLadder
    from reticent.data.caps import CapLadder
    from reticent.data.design import SampleDesign
    from reticent.privacy.guarantee import Guarantee

Missing: TypeAlias = Literal["drop"] | Fraction

WIDEST: Final = 1 << 31  # the largest |fixed-point value|: 2^32 rows of them still sum inside int64
EXACT_DOUBLE: Final = 1 << 53
SMALLEST: Final = 1 / Fraction(10) ** 250
PRODUCTS: Final = Fraction(10) ** 50  # so that fifth powers of bounds, and their inverses, are normal doubles
LONGEST_UNIT: Final = 40
LONGEST_LABEL: Final = 60
LONGEST_TEXT: Final = 40  # characters of a key that nobody declared
MOST_CHARACTERS: Final = 1000
AUTO: Final = "auto"  # an end that each release chooses
End: TypeAlias = "Number | Mapping[str, Number] | None"
WholeEnd: TypeAlias = "int | Literal['auto'] | Mapping[str, Number] | None"
FINEST: Final = 1000  # bits of a fixed-point grid: 2^1000 and the grid's unit are normal doubles


@dataclass(frozen=True, slots=True)
class Real:
    """A real column. Values outside [low, high] are moved to the nearer bound; NaN and null are missing.

    ``missing`` is "drop" or the public value that stands in. ``resolution`` is the public step on which quantiles are
    released, by default about a millionth of the range. Made-up values are multiples of a declared one. ``complete``:
    the curator vouches that every cell can be read. A cell that cannot be read takes a public value, and nothing is
    said of the number of such cells. ``unit`` is what the numbers are measured in, "years"; axes of figures say it.
    ``label`` is what people call the column.
    With ``auto`` each release chooses the bounds privately, and elsewhere there are none.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    why: str = ""
    missing: Missing = "drop"
    resolution: Fraction | None = None
    constant: bool = False
    complete: bool = False
    unit: str = ""
    label: str = ""
    auto: BoundsLadder | None = None

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)

    @property
    def stand_in(self) -> Fraction | None:
        """The public value of a cell that cannot be read, or None where it is missing."""
        return _stand_in(self.missing, self.low, self.high, complete=self.complete)

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high)
        _check_words(self.label, self.unit)
        for name, found in (("low", self.low), ("high", self.high), ("missing", self.missing)):
            if isinstance(found, Fraction) and found and not SMALLEST <= abs(found) <= LARGEST:
                raise PublicParameterError(f"{name} must be 0 or between 1e-250 and 1e300 in size")
        if self.low is not None and self.high is not None and float(self.low) == float(self.high):
            raise PublicParameterError("low and high are too close together: they are the same double")
        if self.resolution is not None and self.resolution <= 0:
            raise PublicParameterError(f"resolution must be > 0, got {show(self.resolution)}")
        if self.resolution is not None and not SMALLEST <= self.resolution <= 1 / SMALLEST:
            raise PublicParameterError("resolution must be between 1e-250 and 1e250")


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer column; values that are no integers are missing. The rest is as for a real column.

    With a ``calendar`` it holds days or times, which count the calendar's steps since 1970.
    """

    low: int | None = None
    high: int | None = None
    why: str = ""
    missing: Missing = "drop"
    constant: bool = False
    complete: bool = False
    unit: str = ""
    label: str = ""
    calendar: Calendar | None = None
    auto: BoundsLadder | None = None

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)

    @property
    def stand_in(self) -> Fraction | None:
        """The public value of a cell that cannot be read, or None where it is missing."""
        found = _stand_in(self.missing, self.low, self.high, complete=self.complete)
        return None if found is None else Fraction(found.__floor__())

    def __post_init__(self) -> None:
        if self.calendar is not None:
            _check_moments(self.low, self.high, self.calendar)
        _check_bounds(self.low, self.high)
        _check_words(self.label, self.unit)
        stands_in = None if isinstance(self.missing, str) else self.missing
        given: dict[str, int | Fraction | None] = {"low": self.low, "high": self.high, "missing": stands_in}
        for name, found in given.items():
            if found is not None and not -EXACT_DOUBLE <= found <= EXACT_DOUBLE:
                raise PublicParameterError(f"{name} of an integer column must lie within 2^53 of zero")
        if self.missing != "drop" and self.missing.denominator != 1:
            raise PublicParameterError(f"missing of an integer column must be an integer, got {show(self.missing)}")


@dataclass(frozen=True, slots=True)
class Category:
    """A column with a public list of values; any other value is missing.

    ``constant``: every row of one person holds the same value (enforced by keeping each person's least one).
    ``complete``: the curator vouches that every value is listed, so any other one counts as the first of the list.
    With ``longest`` the list was found among texts, and a cell is read as one of these: stripped and cut.
    """

    among: tuple[Key, ...]
    why: str = ""
    constant: bool = False
    complete: bool = False
    label: str = ""
    longest: int | None = None

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)

    @property
    def stand_in(self) -> Key | None:
        """The listed value that any other one counts as, or None where that is missing."""
        return self.among[0] if self.complete else None

    def __post_init__(self) -> None:
        _check_words(self.label)
        if not self.among:
            raise PublicParameterError("among must list at least one value")
        if any(type(key) not in (str, int, bool) for key in self.among):
            object.__setattr__(self, "among", tuple(map(exact_key, self.among)))
        if not all(isinstance(key, str | int) for key in self.among):
            raise PublicParameterError("among must list text, integers, or truth values")
        if any(isinstance(key, str) and not is_text(key) for key in self.among):
            raise PublicParameterError("among lists something that cannot be written as UTF-8 text")
        if len({type(key) for key in self.among}) > 1:
            raise PublicParameterError("among mixes text, integers and truth values")
        if len(set(self.among)) != len(self.among):
            raise PublicParameterError("among lists a value twice")
        if any(isinstance(key, int) and abs(key) > EXACT_DOUBLE for key in self.among):
            raise PublicParameterError("an integer of among must lie within 2^53 of zero; list such codes as text")


@dataclass(frozen=True, slots=True)
class Text:
    """A column of texts without a public list. No cell is ever told: ``keys`` lists those that many persons share.

    A text is cut to its first ``longest`` characters. Blanks at its ends are no part of it.
    """

    longest: int = LONGEST_TEXT
    why: str = ""

    @property
    def constant(self) -> bool:
        """False: nobody vouches that a person has one text only."""
        return False

    def __post_init__(self) -> None:
        if type(self.longest) is not int or not 1 <= self.longest <= MOST_CHARACTERS:
            raise PublicParameterError(
                f"longest is a whole number of characters from 1 to {MOST_CHARACTERS}, got {self.longest!r}"
            )


Column: TypeAlias = Real | Integer | Category


def _check_words(label: object, unit: object = "") -> None:
    if not isinstance(label, str) or len(label) > LONGEST_LABEL or not on_one_line(label):
        raise PublicParameterError(f"label is text of at most {LONGEST_LABEL} characters on one line")
    if not isinstance(unit, str) or len(unit) > LONGEST_UNIT or not on_one_line(unit):
        raise PublicParameterError(f"unit is text of at most {LONGEST_UNIT} characters on one line, such as years")


def _stand_in(
    missing: Missing, low: int | Fraction | None, high: int | Fraction | None, *, complete: bool
) -> Fraction | None:
    """The value named by ``missing``; of a complete column else the middle of its range, or 0 without one."""
    if not isinstance(missing, str):
        return missing
    if not complete:
        return None
    return Fraction(0) if low is None or high is None else Fraction(low + high) / 2


@dataclass(frozen=True, slots=True)
class Person:
    """Definition of one person: the column that names them and the rows kept of them.

    ``column`` names the person, or is None where every row is another person. ``rows`` is the most rows kept per
    person. ``people`` is the declared public number of persons, if any. ``typical`` is a public guess of the average
    number of kept rows: plans, made-up rows and the choice of shares of incomplete rows follow it, and no number that
    is drawn does. One plan may suppose another number, ``supposed``, which a release does not know: nothing that is
    bought depends on it.
    ``filtered``: a condition chose the rows, so that a person may have none. ``ceiling`` is the most rows of a person
    that the ledger speaks of, where the cap is below it. ``ladder`` has the candidates of a cap that each release is to
    choose privately; ``rows`` is the largest of them until then. ``moved`` is by how many steps of one person's rows
    tables differ where one has one person more: above 1 where rows reach their person through a key.
    ``unit`` is the word for what is protected, where that is several people, "household"; empty of a person.
    ``household`` names the column of a unit coarser than the person, of whom at most ``moved`` are kept in each.
    """

    adjacency: Kind
    column: str | None = None
    rows: int = 1
    people: int | None = None
    typical: Fraction | None = None
    filtered: bool = False
    ceiling: int | None = None
    ladder: CapLadder | None = None
    moved: int = 1
    unit: str = ""
    supposed: Fraction | None = None
    household: str | None = None

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)

    def __post_init__(self) -> None:
        if self.column is not None:
            object.__setattr__(self, "column", exact(self.column))
            check_plain_names([self.column], "The person column")
        Adjacency(self.adjacency, self.rows)
        _check_words("", self.unit)
        if self.adjacency == "local":
            raise SpecError('adjacency "local" belongs to surveys; a table is "add_remove" or "substitute"')
        if self.column is None and self.rows != 1:
            raise SpecError("rows = { at_most = … } needs a person column: who has several rows?")
        if self.ceiling is not None and (type(self.ceiling) is not int or self.ceiling < self.rows):
            raise PublicParameterError(f"ceiling is an integer of at least at_most, {self.rows}")
        if self.ladder is not None and self.rows != self.ladder.ceiling:
            raise PublicParameterError("before a cap is chosen, rows is the ceiling of its candidates")
        if self.rows >= WIDEST:
            raise PublicParameterError(f"rows of one person must be < {WIDEST}, got {self.rows}")
        if self.people is not None and self.people < 1:
            raise PublicParameterError(f"people must be >= 1, got {self.people}")
        for each in (self.typical, self.supposed):
            if each is not None and not 1 <= each <= self.rows:
                raise PublicParameterError(
                    f"typical rows of a person lie between 1 and at_most, {self.rows}; got {show(each)}"
                )

    def neighbours(self) -> Adjacency:
        """The neighbours of the rows that are kept: of one person, who may be one of a household."""
        return Adjacency(
            self.adjacency, self.rows, named=self.unit if self.household is None or self.moved == 1 else ""
        )

    @property
    def protected(self) -> Adjacency:
        """The neighbours of a release and its ledger: those of the ceiling, where the cap is below it."""
        rows = self.rows if self.ceiling is None else self.ceiling
        return Adjacency(self.adjacency, rows if self.household is None else rows * self.moved, named=self.unit)

    @property
    def protected_column(self) -> str | None:
        """The column that names what is protected: the household, else the person; None where every row is one."""
        return self.column if self.household is None else self.household

    @property
    def nobodys(self) -> str:
        """Words about rows without a person, which are the same whatever the rows hold; none if every row is one."""
        return "" if self.column is None else f"a row whose {self.column} is empty belongs to nobody and is not counted"

    @property
    def household_words(self) -> str:
        """The line of a certificate that says who is kept of a household: ``home, at most 5 persons of each``."""
        persons = "1 person" if self.moved == 1 else f"{self.moved} persons"
        return "" if self.household is None else f"{self.household}, at most {persons} of each"

    def with_one_cap(self) -> Adjacency:
        """The neighbours of one step, for sessions and models, which know no cap but the declared one.

        Raises
        ------
        QuestionError
            Where the cap is chosen privately, or was chosen below a ceiling.
        """
        if self.ladder is not None or self.ceiling not in (None, self.rows):
            most = self.ladder.ceiling if self.ladder is not None else self.ceiling
            now = "a number that each release chooses" if self.ladder is not None else f"{self.rows:,}"
            raise QuestionError(
                f"Sessions and models keep as many rows of a person as the ledger counts for, {most:,}. This study "
                f"keeps {now}. Open it for them with rows = {{ at_most = {most} }}: the ledger is the same, and the "
                "noise grows with the rows. Nothing was charged."
            )
        return self.neighbours()

    def capped_at(self, rows: int) -> Person:
        """The same person with a chosen cap; the neighbours stay those of the ceiling, and the rows those supposed."""
        told = self.supposed if self.ladder is None or self.usual_rows is not None else self.supposed_rows
        typical, supposed = (None if each is None else min(each, Fraction(rows)) for each in (self.typical, told))
        ceiling = self.ceiling or self.rows
        return replace(self, rows=rows, typical=typical, supposed=supposed, ceiling=ceiling, ladder=None)

    def under(self, counted: Adjacency) -> Person:
        """The same person under a ledger that counts for more rows of each: those are the ceiling of the declared cap.

        A person as it is where a ceiling is declared, a release chooses the cap, or rows reach it through a household.
        """
        fixed = self.column is not None and self.household is None and self.ladder is None and self.ceiling is None
        if not fixed or counted.rows <= self.rows or counted != replace(self.neighbours(), rows=counted.rows):
            return self
        return replace(self, ceiling=counted.rows)

    @property
    def usual_rows(self) -> Fraction | None:
        """The average number of kept rows that a plan follows; None where nobody said one."""
        return self.typical if self.supposed is None else self.supposed

    @property
    def supposed_rows(self) -> Fraction:
        """The average number of kept rows that plans suppose: the public guess, else the most to the power 2/3.

        Rows of a person are skewed to the right: of tables with caps of 5 to 600 that was within a factor of 3. It is
        to the nearest half, and half-way up to a cap of 6.
        """
        most = self.rows if self.ladder is None else min(self.ladder.supposed, self.rows)
        return Fraction(round(2 * most ** (2 / 3)), 2) if self.usual_rows is None else self.usual_rows

    @property
    def as_declared(self) -> Person:
        """The same person as a release knows it, without what one plan supposes."""
        return replace(self, supposed=None)

    @property
    def size_public(self) -> bool:
        """True if the number of persons who have a row here is the same for all neighbours."""
        return self.adjacency == "substitute" and not self.filtered


@dataclass(frozen=True, slots=True)
class Schema:
    """The public shape of a table. Names of columns are plain text on one line.

    ``computed`` has the expressions of the columns that are computed and not read, ``where`` the condition that chose
    the rows (``transformations``). ``texts`` are columns of which keys may be listed, and nothing else is asked.
    ``tables`` are further ones, whose columns are here under two names, ``patients.age`` (``joined_table``).
    ``design`` says how rows were drawn from a population, where they have weights.
    """

    columns: Mapping[str, Column]
    person: Person
    format: Format = PLAIN
    computed: Mapping[str, Tree] = field(default_factory=dict)
    where: Tree | None = None
    texts: Mapping[str, Text] = field(default_factory=dict)
    tables: Mapping[str, JoinedTable] = field(default_factory=dict)
    design: SampleDesign | None = None

    def __post_init__(self) -> None:
        if any(type(name) is not str for name in self.columns):
            object.__setattr__(self, "columns", {exact(name): column for name, column in self.columns.items()})
        if any(type(name) is not str for name in self.texts):
            object.__setattr__(self, "texts", {exact(name): column for name, column in self.texts.items()})
        check_plain_names([*self.columns, *self.texts], "The list of columns")
        if both := [name for name in self.texts if name in self.columns or name == self.person.column]:
            raise SpecError(f"The column '{both[0]}' is declared as text and as something else.")
        for name, column in self.columns.items():
            if isinstance(column, Category):
                _check_listed(name, column, self.format)

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)

    @property
    def stored(self) -> Mapping[str, Column]:
        """The columns that the source has: those that are neither computed nor of a further table."""
        return {
            name: column
            for name, column in self.columns.items()
            if name not in self.computed and not self.table_of(name)
        }

    @property
    def stored_texts(self) -> Mapping[str, Text]:
        """The columns of texts that the source has."""
        return {name: text for name, text in self.texts.items() if not self.table_of(name)}

    def place_of(self, table: str) -> int:
        """The place of a further table among them, from 0, by which the engine calls it."""
        return list(self.tables).index(table)

    def table_of(self, name: str) -> str:
        """The further table that a column stands in; empty for a column of the main one, or one that is computed."""
        return table_at(self.tables, name) if self.tables and name not in self.computed else ""

    @property
    def owner(self) -> str:
        """The further table through whose key rows reach their person; empty where they name one themselves."""
        return "" if self.person.column is None else self.table_of(self.person.column)

    @property
    def owners(self) -> tuple[str, ...]:
        """The further tables from the main one to that of the person, where rows reach it through keys."""
        return chain(self.tables, self.person.column) if self.owner else ()

    @property
    def person_here(self) -> str | None:
        """The column of the main table that names the person, if one does."""
        return None if self.owner else self.person.column

    @property
    def household_here(self) -> str | None:
        """The column of the main table that names the household, if one does."""
        household = self.person.household
        return None if household is None or self.table_of(household) else household

    @property
    def named(self) -> list[str]:
        """The columns that name persons and households, of whichever table."""
        return [name for name in (self.person.column, self.person.household) if name is not None]

    def lifted(self, part: Guarantee) -> Guarantee:
        """The guarantee of what is promised for one step of a person, for neighbours ``Person.moved`` steps apart.

        The theorems that count the steps are 2 to 4 of docs/proofs/joins.md.
        """
        from reticent.privacy.compose import grouped

        if self.person.moved == 1:
            return part
        label = f"through {self.owner}" if self.owner else f"persons of a {self.person.unit}"
        return grouped(part, self.person.moved, neighbours=self.person.protected, label=label)

    def lift_words(self, what: str) -> str:
        """The reason for several steps, and the share of each, of a release, a model or a session; empty for one."""
        steps = self.person.moved
        if steps == 1:
            return ""
        share = f"so {what} is {steps} steps, each of 1/{steps} of its loss"
        if self.owner:
            through = " and ".join(self.owners)
            return f"rows reach their person through {through}: one person can change what is kept of others, {share}"
        return f"the guarantee is about one {self.person.unit}, of which at most {steps} persons are kept, {share}"

    def canonical(self, name: str) -> str:
        """A column by its full name: ``age`` stands for ``patients.age`` where no other table has an age.

        Raises
        ------
        QuestionError
            A name that several further tables have.
        """
        if not self.tables or name in self.columns or name in self.texts:
            return name
        found = [full for full in self.cells if self.table_of(full) and own_name(self.tables, full) == name]
        if len(found) > 1:
            raise QuestionError(f"'{name}' is a column of several tables. Say {' or '.join(found)}.")
        return found[0] if found else name

    @property
    def cells(self) -> Mapping[str, Column | Text]:
        """Every column that can be read or computed, texts last."""
        return {**self.columns, **self.texts}

    def column(self, name: str) -> Column:
        if name in self.texts:
            raise QuestionError(
                f"{name} is text without a public list. Ask for keys({name}), or by {name} keys=found. Nothing was "
                "charged."
            )
        if name not in self.columns and name == self.person.column:
            raise QuestionError(f"{name} names the person: ask for persons. Nothing was charged.")
        if name not in self.columns:
            raise unknown_column(name, list(self.columns))
        return self.columns[name]

    def text(self, name: str) -> Text:
        """The declaration of a column of texts, or the refusal that tells how to declare one."""
        if name in self.texts:
            return self.texts[name]
        if name in self.columns:
            raise QuestionError(
                f"The keys of {name} are public: the study file lists them, or has their range. Only a column of texts "
                "has keys to find. Nothing was charged."
            )
        raise unknown_column(name, list(self.texts))

    def bounded(self, name: str, asked: str, *, instead: str = "", labels: str = "") -> tuple[Fraction, Fraction]:
        """The public bounds of a numeric column, or the refusal that tells how to declare them.

        Parameters
        ----------
        name : str
        asked : str
            The question, for the refusal.
        instead : str
            The question that needs no bounds; by default those about one column.
        labels : str
            The question about a category in its place; by default those about one column.

        Returns
        -------
        pair of Fraction

        Raises
        ------
        QuestionError
            A category; a column without bounds, or with bounds of which products are no doubles.
        """
        column = self.column(name)
        if isinstance(column, Category) or column.low is None or column.high is None:
            kind = "a category" if isinstance(column, Category) else "no range"
            if kind == "a category":
                raise QuestionError(
                    f"{asked} needs numbers, and {name} is a category. {labels or 'Ask for proportion or histogram.'}"
                )
            own = f"low=…, high=… in the question, or clamp({name}, …, …)"  # an expression has no section
            plain = f"use median({name}), trimmed_mean({name}) or mean({name}, method=clipped): they"
            where = own if name in self.computed and "(" in name else f"{section(name)} low = …, high = …"
            raise QuestionError(
                f"{asked} needs a range known without looking at the file: {where}. "
                f"If you know none, {instead or plain} may give no reply. Nothing was charged."
            )
        low, high = Fraction(column.low), Fraction(column.high)
        if max(abs(low), abs(high)) > PRODUCTS or high - low < 1 / PRODUCTS:
            raise QuestionError(
                f"{asked} is out of reach: {name} lies between {show(low)} and {show(high)}, and products of such "
                "numbers are no doubles. Bounds lie within 1e50 of 0 here, and at least 1e-50 apart: ask in another "
                f"unit, a column computed as {name} * 1e6. Nothing was charged."
            )
        return low, high


@called_as("rt.real(0, 100), the range known without looking, or rt.real()")
def real(
    low: End = None,
    high: End = None,
    *,
    why: str = "",
    missing: Literal["drop"] | Number = "drop",
    resolution: Number | None = None,
    complete: bool = False,
    unit: str = "",
    label: str = "",
) -> Real:
    """A real column with public bounds (both or neither) or chosen ones, for ``study(columns={...})``.

    Parameters
    ----------
    low, high : number, "auto" or mapping, optional
        The range known without looking at the rows. "auto" lets each release choose that end privately, for a fifth of
        its loss. ``{"floor": 10, "ceiling": 5000, "share": "1/10"}`` names the least and the largest size of an end
        that may be chosen, and the price.
    why : str
        Where the range comes from; the certificate says it.
    missing : "drop" or number
        The public value that stands in for a cell that cannot be read.
    resolution : number, optional
        Public step on which quantiles are released, and of which made-up values are multiples.
    complete : bool
        You vouch that every cell is a number. No share of odd cells is bought then, and one takes ``missing``, else the
        middle of the range, else 0.
    unit : str
        What the numbers are measured in, for the axes of figures: "years". Columns of one unit share an axis.
    label : str
        Name of the column for people, in tables and figures: "Cost of stay".

    Returns
    -------
    Real
        The declaration; numbers are in the unit of the column.

    Raises
    ------
    PublicParameterError
        One bound without the other, low not below high, or a resolution that is not above 0.
    """
    first, last, auto = _ends(low, high, whole=False)
    return Real(
        first,
        last,
        why,
        missing_as(missing),
        None if resolution is None else read(resolution, "resolution"),
        complete=truth_of(complete, "complete"),
        unit=unit,
        label=label,
        auto=auto,
    )


@called_as("rt.integer(0, 110), the range known without looking, or rt.integer()")
def integer(
    low: WholeEnd = None,
    high: WholeEnd = None,
    *,
    why: str = "",
    missing: Literal["drop"] | int = "drop",
    complete: bool = False,
    unit: str = "",
    label: str = "",
) -> Integer:
    """An integer column with public bounds (both or neither).

    Parameters
    ----------
    low, high : int, "auto" or mapping, optional
        The range known without looking at the rows, or an end that each release chooses, as for ``real``.
    why : str
        Where the range comes from; the certificate says it.
    missing : "drop" or int
        The public value that stands in for a cell that is no integer.
    complete : bool
        You vouch that every cell is an integer, as for ``real``.
    unit : str
        What the numbers are measured in, as for ``real``.
    label : str
        Name of the column for people, in tables and figures: "Cost of stay".

    Returns
    -------
    Integer
        The declaration, for ``study(columns={...})``.

    Raises
    ------
    PublicParameterError
        A bound that is no integer, one bound without the other, or low not below high.
    """
    first, last, auto = _ends(low, high, whole=True)
    for name, given, bound in (("low", low, first), ("high", high, last)):
        if isinstance(given, bool) or (bound is not None and bound.denominator != 1):
            raise PublicParameterError(f"{name} of an integer column must be an integer, got {given}")
    return Integer(
        None if first is None else int(first),
        None if last is None else int(last),
        why,
        missing_as(missing),
        complete=truth_of(complete, "complete"),
        unit=unit,
        label=label,
        auto=auto,
    )


def kind_of(column: Column) -> str:
    """The word of a column's kind: real, integer, date, datetime or category."""
    dated = column.calendar if isinstance(column, Integer) else None
    return type(column).__name__.lower() if dated is None else dated.kind


def value_words(number: int | Fraction, column: Column) -> str:
    """A public value of a column in words: a number, or the date that it stands for."""
    calendar = column.calendar if isinstance(column, Integer) else None
    return show(number) if calendar is None else calendar_text(float(number), calendar.step)


def missing_as(given: Number) -> Missing:
    """Rule of a column for a missing value, in its given notation: "drop", or a public value that stands in.

    Raises
    ------
    PublicParameterError
        For another word, or what is no number.
    """
    if isinstance(given, str) and (word := given.strip())[:1].isalpha():
        if word == "drop":
            return "drop"
        near = difflib.get_close_matches(word.lower(), ["drop"], n=1, cutoff=0.5)
        hint = " Did you mean drop?" if near else ""
        raise PublicParameterError(f'missing is "drop", or the public number that stands in; got {word[:60]!r}.{hint}')
    return read(given, "missing")


@called_as("rt.text(longest=40)")
def text(*, longest: int = LONGEST_TEXT, why: str = "") -> Text:
    """A column of texts whose values nobody lists, of which ``keys`` finds those that many persons share.

    Parameters
    ----------
    longest : int
        Characters of a text that count, 1 to 1000; what is longer is cut.
    why : str
        Where that comes from; the certificate says it.

    Returns
    -------
    Text

    Raises
    ------
    PublicParameterError
        A length out of range.
    """
    return Text(longest, why)


@called_as('rt.category(["north", "south"]), the public list')
def category(
    among: Sequence[Key], *, why: str = "", constant: bool = False, complete: bool = False, label: str = ""
) -> Category:
    """A column whose values come from a public list.

    Parameters
    ----------
    among : sequence of text, of integers, or of truth values
        The public list.
    why : str
        Where it comes from; the certificate says it.
    constant : bool
        Every row of one person holds the same value.
    complete : bool
        You vouch that every value is listed; another one counts as the first of the list.
    label : str
        Name of the column for people, in tables and figures: "Hospital".

    Returns
    -------
    Category
        The declaration, for ``study(columns={...})``.

    Raises
    ------
    PublicParameterError
        A text in place of a list; an empty list, or one with a value twice.
    """
    if isinstance(among, str | bytes) or not isinstance(among, Iterable):
        raise PublicParameterError(f'among is a list of values: ["north", "south"], got {str(among)[:60]!r}')
    return Category(tuple(among), why, constant, truth_of(complete, "complete"), label)


def truth_of(given: bool, name: str) -> bool:
    """A truth value that was given for a name."""
    if not isinstance(given, bool):
        raise PublicParameterError(f"{name} is True or False, got {given!r}")
    return given


@dataclass(frozen=True, slots=True)
class FixedPointGrid:
    """A fixed-point grid: a value x becomes ``floor(clamp(x) * 2**bits)``, an integer in [lowest, highest]."""

    bits: int
    lowest: int
    highest: int

    def __post_init__(self) -> None:
        if not -EXACT_DOUBLE <= self.lowest < self.highest <= EXACT_DOUBLE or self.reach >= WIDEST:
            raise PublicParameterError("a fixed-point grid must lie within 2^53 of zero and reach less than 2^31")

    @property
    def middle(self) -> int:
        return (self.lowest + self.highest) // 2

    @property
    def reach(self) -> int:
        """Largest distance of a grid value from the middle."""
        return self.highest - self.middle

    @property
    def unit(self) -> Fraction:
        return Fraction(2) ** -self.bits


def grid_by_width(low: Fraction, high: Fraction) -> FixedPointGrid:
    """The finest grid whose values differ by less than 2**29: for moments about the middle."""
    return _grid(low, high, high - low)


def grid_by_size(low: Fraction, high: Fraction) -> FixedPointGrid:
    """The finest grid whose values lie within 2**29 of zero: for sums."""
    return _grid(low, high, max(abs(low), abs(high)))


def grid_whole(low: Fraction, high: Fraction) -> FixedPointGrid:
    """The grid of integers where they lie within 2**29 of zero, else ``grid_by_size``: for sums of integer columns.

    Only for columns declared integer: on a real column this grid would round every value down to an integer.
    """
    if low.denominator == high.denominator == 1 and max(abs(low), abs(high)) < WIDEST // 4:
        return FixedPointGrid(0, int(low), int(high))
    return grid_by_size(low, high)


def _grid(low: Fraction, high: Fraction, extent: Fraction) -> FixedPointGrid:
    largest = max(abs(low), abs(high))
    if largest > LARGEST:
        raise PublicParameterError("bounds are too large for a fixed-point sum")
    bits = min(_most_bits(Fraction(WIDEST // 4), extent), _most_bits(Fraction(EXACT_DOUBLE), largest))
    if bits > FINEST:
        raise PublicParameterError("bounds are too close to zero, or to each other, for a fixed-point sum")
    scale = Fraction(2) ** bits
    lowest, highest = (low * scale).__floor__(), (high * scale).__ceil__()
    return FixedPointGrid(bits, lowest, highest)


def _most_bits(limit: Fraction, extent: Fraction) -> int:
    """The most bits for which ``extent * 2**bits < limit``."""
    share = limit / extent
    bits = share.numerator.bit_length() - share.denominator.bit_length() + 1
    while Fraction(2) ** bits >= share:
        bits -= 1
    return bits


def _check_listed(name: str, column: Category, form: Format) -> None:
    """Refuse a listed value that the format says is missing."""
    for key in column.among:
        spelled = str(key).lower() if isinstance(key, bool) else str(key)
        if spelled in form.na or (type(key) is int and float(key) in form.missing_numbers):
            raise SpecError(
                f"columns.{toml_key(name)} lists {key!r}, and na says that it is missing. It is one of the two."
            )


def _ends(low: End, high: End, *, whole: bool) -> tuple[Fraction | None, Fraction | None, BoundsLadder | None]:
    """The ends of a column as they were given, or the candidates of those that are chosen."""
    told = {key: value for end in (low, high) if isinstance(end, Mapping) for key, value in end.items()}
    if odd := [key for key in told if key not in ("floor", "ceiling", "share")]:
        raise PublicParameterError(f"an end that is chosen has a floor, a ceiling and a share, got {odd[0]}")
    first, last = (AUTO if isinstance(end, Mapping) else end for end in (low, high))
    auto = chosen_bounds(first, last, *(told.get(key) for key in ("floor", "ceiling", "share")), whole=whole)
    if auto is not None:
        return None, None, auto
    return None if first is None else read(first, "low"), None if last is None else read(last, "high"), None


def chosen_bounds(
    low: Number | None,
    high: Number | None,
    floor: Number | None,
    ceiling: Number | None,
    share: Number | None,
    *,
    whole: bool,
) -> BoundsLadder | None:
    """The candidates of bounds of which one or both are "auto"; None where none is.

    Parameters
    ----------
    low, high : number or None
        Ends as they are declared: a number, "auto" or None.
    floor, ceiling : number or None
        Least and greatest candidate; None for the default.
    share : number or None
        Part of the loss that pays for the choice; None for the default.
    whole : bool
        True for a column of whole numbers.

    Returns
    -------
    BoundsLadder or None
        Candidates, or None.

    Raises
    ------
    PublicParameterError
        One end that is "auto" beside none; candidates that are out of range.
    """
    chosen = [isinstance(end, str) and end == AUTO for end in (low, high)]
    if not any(chosen):
        if any(given is not None for given in (floor, ceiling, share)):
            raise PublicParameterError('floor, ceiling and share are for bounds that are "auto"')
        return None
    if low is None or high is None:
        raise PublicParameterError(
            'an end that is chosen stands beside another: low = 0, high = "auto", or both "auto"'
        )
    from reticent.data.bounds import CEILING, FLOOR, SHARE, BoundsLadder

    first = None if chosen[0] else read(low, "low")
    last = None if chosen[1] else read(high, "high")
    most = CEILING if ceiling is None else read(ceiling, "ceiling")
    least = FLOOR if floor is None else read(floor, "floor")
    return BoundsLadder(first, last, most, SHARE if share is None else read(share, "share"), whole, least)


def _check_bounds(low: int | Fraction | None, high: int | Fraction | None) -> None:
    if (low is None) != (high is None):
        raise PublicParameterError("low and high come together: give both, or neither")
    if low is not None and high is not None and not low < high:
        raise PublicParameterError(f"low must be below high, got {show(low)} and {show(high)}. The smaller one is low.")


def _check_moments(low: int | None, high: int | None, calendar: Calendar) -> None:
    """Refuse bounds of dates that are left out, out of order, or in no year."""
    if low is None or high is None:
        raise PublicParameterError(
            f"a {calendar.kind} needs low and high: the first and the last day that can be, known without looking"
        )
    first, last = low * calendar.step, (high + 1) * calendar.step - 1
    if not FIRST <= first <= LAST or not FIRST <= last <= LAST:
        raise PublicParameterError("dates lie in the years 1 to 9999")
    if not low < high:
        ends = " and ".join(calendar_text(end, calendar.step) for end in (low, high))
        raise PublicParameterError(f"low must be below high, got {ends}")


def odd_in_call(text: str, known: Iterable[str]) -> list[str]:
    """The columns with other signs that stand without backticks in a call, such as ``cut(Age (y), 0:100:20)``."""
    odd = (one for one in known if re.search(r"\W", one) and re.search(r"\w\(", text.replace(one, "")))
    return [one for one in odd if re.search(rf"(?<![\w`]){re.escape(one)}(?![\w`])", text)]


def unknown_column(name: str, known: list[str]) -> QuestionError:
    """The refusal of a name that no declared column has, with the nearest one."""
    near = nearest(name, known)
    hint = f" Did you mean {near}?" if near else ""
    parts = [part for part in re.split(r"\W+", name) if part != "and"]
    if len(parts) > 1 and all(part in known for part in parts):
        hint = f" Several columns stand with commas: {', '.join(parts)}."
    if within := odd_in_call(name, known):
        hint = f" A name with other signs stands in backticks: {name.replace(within[0], f'`{within[0]}`')}."
    quoted = [one for one in known if f'"{one}"' in name or f"'{one}'" in name]
    if quoted:
        hint = f" A column stands plain or between backticks: `{quoted[0]}`."
    own = "" if hint else " A column of the file that is not declared is not read: declare it first."
    return QuestionError(f"There is no column '{name}'.{hint} Declared columns: {first_of(known)}.{own}")


def unfiltered(schema: Schema) -> Schema:
    """The schema of all rows, those without a partner in a further table included."""
    tables = MappingProxyType({name: replace(table, join="left") for name, table in schema.tables.items()})
    return replace(schema, where=None, person=replace(schema.person, filtered=False), tables=tables)


def needed(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The columns to read for ``used`` and the condition, in the schema's order: computed ones by what they read."""
    found: set[str] = set()
    waiting = [*used, *(() if schema.where is None else columns_of(schema.where))]
    while waiting:
        name = waiting.pop()
        if name in schema.computed:
            waiting += columns_of(schema.computed[name])
        found.add(name)
    return tuple(name for name in schema.cells if name in found)


def flat(schema: Schema) -> Schema:
    """The schema of the joined rows as one table: what made-up rows are drawn from."""
    return replace(schema, tables={}) if schema.tables else schema
