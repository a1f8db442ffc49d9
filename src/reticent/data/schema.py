"""Public knowledge of a table: its columns, and the unit that counts as a person. All of it the curator declared.

Kinds of columns and their bounds are in ``column_kinds``; their names are handed out here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from reticent.data.column_kinds import (
    EXACT_DOUBLE,
    LONGEST_LABEL,
    LONGEST_TEXT,
    SMALLEST,
    WIDEST,
    Category,
    Column,
    FixedPointGrid,
    Integer,
    Missing,
    Real,
    Text,
    category,
    check_words,
    chosen_bounds,
    grid_by_size,
    grid_by_width,
    grid_whole,
    integer,
    kind_of,
    missing_as,
    real,
    text,
    truth_of,
    value_words,
)
from reticent.data.expression_tree import LARGEST, Key, Tree, columns_of
from reticent.data.format import (
    PLAIN,
    Format,
    check_one_line,
    check_plain_names,
    exact,
    nearest,
    section,
    toml_key,
)
from reticent.data.joined_table import JoinedTable, chain, own_name, table_at
from reticent.errors import PublicParameterError, QuestionError, SpecError, first_of, restored
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.numbers import show

if TYPE_CHECKING:
    from reticent.data.caps import CapLadder
    from reticent.data.design import SampleDesign
    from reticent.privacy.guarantee import Guarantee

PRODUCTS: Final = Fraction(10) ** 50  # so that fifth powers of bounds, and their inverses, are normal doubles


@restored
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

    def __post_init__(self) -> None:
        if self.column is not None:
            object.__setattr__(self, "column", exact(self.column))
            check_plain_names([self.column], "The person column")
        Adjacency(self.adjacency, self.rows)
        check_words("", self.unit)
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

    @property
    def likeness_words(self) -> str:
        """Words about persons of one household, whose likeness no interval knows; empty where one of each is kept."""
        if self.household is None or self.moved == 1:
            return ""
        return (
            f"the sampling part takes persons of one {self.unit} for drawn one by one, and is too narrow where they "
            "are alike"
        )

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

    def counted(self, found: int) -> int:
        """The public number of persons that was found, unless another one is declared."""
        if self.people is not None and self.people != found:
            raise SpecError(
                f"people = {self.people:,} is declared, but under substitution the number of people is public and it "
                "is another. Correct people in the study, or leave it out."
            )
        return found

    def people_at_risk(self, units: int | None) -> int | None:
        """The number of people that a delta is compared with: the public number of ``units``, else those declared."""
        return units if self.neighbours().size_public else self.people

    @property
    def size_public(self) -> bool:
        """True if the number of persons who have a row here is the same for all neighbours."""
        return self.adjacency == "substitute" and not self.filtered


@restored
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
        names = [one for one in (*self.columns, *self.texts) if one not in self.computed]
        check_plain_names(names, "The list of columns")
        check_one_line(self.computed, "The list of columns")  # an expression, or a list of groups, may be longer
        if both := [name for name in self.texts if name in self.columns or name == self.person.column]:
            who = " It says who a person is, and needs no kind." if both[0] == self.person.column else ""
            raise SpecError(f"The column '{both[0]}' is declared as text and as something else.{who}")
        for name, column in self.columns.items():
            if isinstance(column, Category):
                _check_listed(name, column, self.format)

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

    def names_rows(self, name: str) -> bool:
        """True of a column by which rows belong to persons, meet those of other tables, or have a key to be found."""
        joined = any(name == ours for table in self.tables.values() for ours, _ in table.keys)
        return name not in self.columns or joined or name in self.named

    def compares_texts(self, name: str) -> bool:
        """True of a column whose cells are equal if their texts are: of one that names rows, and of a list of texts."""
        declared = self.columns.get(name)
        listed = isinstance(declared, Category) and isinstance(declared.among[0], str)
        return listed or self.names_rows(name)

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
                f"{name} is text without a public list. Ask for keys({name}), or by {name} keys=found, or declare its "
                f'values: kind = "category", among = […]. Nothing was charged.'
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
        raise unknown_column(name, list(self.texts or self.columns))

    def bounded(
        self, name: str, asked: str, *, instead: str | tuple[str, ...] = (), labels: str = ""
    ) -> tuple[Fraction, Fraction]:
        """The public bounds of a numeric column, or the refusal that tells how to declare them.

        Parameters
        ----------
        name : str
        asked : str
            The question, for the refusal.
        instead : str or tuple of str
            Words of a question that needs no bounds; or such questions, of which a plan names those that are accepted.
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
            inside = "" if "~" in asked else "low=…, high=… in the question, or "  # a formula has none
            own = f"{inside}clamp({name}, …, …)"  # an expression has no section
            where = own if name in self.computed and "(" in name else f"{section(name)} low = …, high = …"
            free = () if isinstance(instead, str) else instead
            told = words_of_instead(free) if free == instead else f" If you know none, {instead} may give no reply."
            raise QuestionError(
                f"{asked} needs a range known without looking at the file: {where}.{told} Nothing was charged.",
                instead=free,
            )
        low, high = Fraction(column.low), Fraction(column.high)
        if max(abs(low), abs(high)) > PRODUCTS or high - low < 1 / PRODUCTS:
            raise QuestionError(
                f"{asked} is out of reach: {name} lies between {show(low)} and {show(high)}, and products of such "
                "numbers are no doubles. Bounds lie within 1e50 of 0 here, and at least 1e-50 apart: ask in another "
                f"unit, a column computed as {name} * 1e6. Nothing was charged."
            )
        return low, high


def boundless(column: str) -> tuple[str, ...]:
    """The questions about a column of numbers that need no bounds."""
    return f"median({column})", f"location({column})", f"mean({column}, method=clipped)"


def words_of_instead(questions: Sequence[str]) -> str:
    """The sentence that names questions without bounds; empty for none."""
    if not questions:
        return ""
    told = " or ".join(filter(None, [", ".join(questions[:-1]), questions[-1]]))
    return f" If you know none, use {told}: {'they' if len(questions) > 1 else 'it'} may give no reply."


def _check_listed(name: str, column: Category, form: Format) -> None:
    """Refuse a listed value that the format says is missing."""
    for key in column.among:
        spelled = str(key).lower() if isinstance(key, bool) else str(key)
        if spelled in form.na or (type(key) is int and float(key) in form.missing_numbers):
            raise SpecError(
                f"columns.{toml_key(name)} lists {key!r}, and na says that it is missing. It is one of the two."
            )


def odd_in_call(text: str, known: Iterable[str]) -> list[str]:
    """The columns with other signs that stand without backticks in a call, such as ``cut(Age (y), 0:100:20)``."""
    odd = (one for one in known if re.search(r"\W", one) and re.search(r"\w\(", text.replace(one, "")))
    return [one for one in odd if re.search(rf"(?<![\w`]){re.escape(one)}(?![\w`])", text)]


def unknown_column(name: str, known: list[str]) -> QuestionError:
    """The refusal of a name that no declared column has, with the nearest one."""
    near = nearest(name, known)
    hint = f" Did you mean {near}?" if near else ""
    if near and near != near.strip():
        hint = f" Did you mean '{near}', with a blank at an end?"
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


def read_columns(schema: Schema, used: Sequence[str]) -> tuple[str, ...]:
    """The columns of the source that are read for those used: themselves, and what computed ones are made of."""
    return tuple(name for name in needed(schema, used) if name not in schema.computed and not schema.table_of(name))


def flat(schema: Schema) -> Schema:
    """The schema of the joined rows as one table: what made-up rows are drawn from."""
    return replace(schema, tables={}) if schema.tables else schema


def code_doubts(schema: Schema) -> list[tuple[tuple[str, ...], str]]:
    """Doubts about codes of missing values that bounds make values, or stand-ins, each with its column.

    Codes outside the bounds are as they should be: they are missing before any number is moved into the bounds.
    """
    doubts: list[tuple[tuple[str, ...], str]] = []
    for name, column in schema.columns.items():
        if isinstance(column, Category) or column.low is None or column.high is None:
            continue
        if isinstance(column, Integer) and column.calendar is not None:
            continue
        table = schema.table_of(name)
        if table and schema.tables[table].public:
            continue
        form = schema.tables[table].format if table else schema.format
        inside = [show(Fraction(code)) for code in form.missing_numbers if column.low <= code <= column.high]
        if inside and name not in schema.computed:
            codes, them = first_of(inside), "each" if len(inside) > 1 else "it"
            words = (
                f"columns.{toml_key(name)}: na lists {codes}, between low = {show(column.low)} and high = "
                f"{show(column.high)}. So {them} counts as missing, where it is a true value too."
            )
            doubts.append(((name,), words))
        if not isinstance(column.missing, str) and not column.low <= column.missing <= column.high:
            nearer = column.low if column.missing < column.low else column.high
            words = (
                f"columns.{toml_key(name)}: missing = {show(column.missing)} is not between low and high, so a cell "
                f"that cannot be read counts as {show(nearer)}. If {show(column.missing)} is how the rows write a "
                f'missing value: [study] na = ["{show(column.missing)}"].'
            )
            doubts.append(((name,), words))
    return doubts


__all__ = [
    "EXACT_DOUBLE",
    "LARGEST",
    "LONGEST_LABEL",
    "LONGEST_TEXT",
    "SMALLEST",
    "Category",
    "Column",
    "FixedPointGrid",
    "Integer",
    "Key",
    "Missing",
    "Person",
    "Real",
    "Schema",
    "Text",
    "category",
    "chosen_bounds",
    "boundless",
    "code_doubts",
    "flat",
    "grid_by_size",
    "grid_by_width",
    "grid_whole",
    "integer",
    "kind_of",
    "missing_as",
    "needed",
    "odd_in_call",
    "real",
    "text",
    "truth_of",
    "unfiltered",
    "unknown_column",
    "value_words",
]
