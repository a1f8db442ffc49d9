"""A further table: how a row of the main one reaches a row of it.

    JoinedTable(keys=(("ward", "ward"),))                               public, looked up by a unique key
    JoinedTable(person="patient", join="inner")                         private, joined on the person

A row of the main table reaches the rows of its own person alone, or those of public tables. So what it becomes depends
on nobody else (docs/proofs/joins.md). Its columns are those of the schema whose names begin with the table's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from reticent.data.format import PLAIN, Format, check_plain_names
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

Join: TypeAlias = Literal["left", "inner"]
MOST_ROWS: Final = 1 << 20
MOST_OWNED: Final = 100


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """The rows of a further table that stand beside a row of the main one.

    Attributes
    ----------
    keys : tuple of pairs
        Columns of the main table and of this one that agree; ``patients.ward`` is the ward of a further table.
    person : str or None
        The column of this table that names the person, or the key of the next table of a chain; None of a public table.
    join : "left" or "inner"
        A row without a partner stays, with missing cells, or is left out.
    rows : int
        The most rows of one person, and of one key where there are keys, that stand beside a row.
    format : Format
    most_keys : int
        Of the table that says whose a key is: the most keys kept of one person. 0 of every other table.
    owners : int
        The most persons of one key there; a key with more is left out.
    digest : str
        Of the content of a public table.
    content : Arrow table or None
        Of a public table, as it was read when the study was opened.
    """

    keys: tuple[tuple[str, str], ...] = ()
    person: str | None = None
    join: Join = "left"
    rows: int = 1
    format: Format = PLAIN
    most_keys: int = 0
    owners: int = 1
    digest: str = ""
    content: pa.Table | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.join not in get_args(Join):
            raise SpecError('join is "left" (rows without a partner stay) or "inner" (they are left out)')
        if type(self.rows) is not int or not 1 <= self.rows <= MOST_ROWS:
            raise SpecError(f"rows = {{ at_most = … }} of a further table is a whole number from 1 to {MOST_ROWS:,}")
        for name, number in (("keys", self.most_keys), ("owners", self.owners)):
            if type(number) is not int or not 0 <= number <= MOST_OWNED:
                raise SpecError(f"{name} = {{ at_most = … }} is a whole number from 1 to {MOST_OWNED}")
        if self.owners < 1 or (self.owners > 1 and not self.most_keys):
            raise SpecError("owners = { at_most = … } goes with keys = { at_most = … }, and is at least 1")
        if self.most_keys and (self.public or not self.keys or self.rows != 1):
            raise SpecError("the table that says whose a key is has a key, is about people, and has one row for each")
        if self.public and not self.keys:
            raise SpecError('a public table is looked up by a key: key = "ward"')
        if self.public and self.rows != 1:
            raise SpecError("a public table has one row for each key")
        theirs = [name for _, name in self.keys]
        check_plain_names([*(ours for ours, _ in self.keys), *theirs, self.person or "x"], "A key")
        if len(set(theirs)) < len(theirs):
            raise SpecError("key names a column twice")

    @property
    def public(self) -> bool:
        return self.person is None

    @property
    def always(self) -> bool:
        """True where it decides how many rows there are, so that it is joined whatever is asked."""
        return self.join == "inner" or self.rows > 1

    @property
    def one_each(self) -> bool:
        """True where a person has one row of it at most, so that its cells are constant for the person."""
        return not self.public and not self.keys and self.rows == 1

    @property
    def moved(self) -> int:
        """Steps of one person's rows by which tables differ where one has one person more (docs/proofs/joins.md)."""
        return 2 * self.owners - 1 if self.most_keys < 2 else 2 * self.most_keys * self.owners

    def moved_below(self, steps: int) -> int:
        """Steps of the rows of this table, where those of the next one of a chain make so many (Theorem 3)."""
        each = self.owners if self.most_keys < 2 else 2 * self.most_keys * self.owners
        return each * steps + 2 * self.most_keys * self.owners


def parted(tables: Iterable[str], column: str) -> tuple[str, str]:
    """The further table and its own name of a column such as ``patients.ward``; ("", the name) of the main table.

    A dot divides a name only behind the name of a table: ``Pat.No`` is one name where no table is called Pat.
    """
    table, dot, own = column.partition(".")
    return (table, own) if dot and own and table in tables else ("", column)


def table_at(tables: Iterable[str], key: str) -> str:
    """The further table that a key such as ``patients.ward`` is a column of; empty of one of the main table."""
    return parted(tables, key)[0]


def before_dot(column: str) -> str:
    """The part of a name that would be its table, if there were one of that name."""
    return column.partition(".")[0]


def own_name(tables: Iterable[str], column: str) -> str:
    """The name of a column in its own table: ``ward`` of ``patients.ward``."""
    return parted(tables, column)[1]


def chain(tables: Mapping[str, JoinedTable], person: str | None) -> tuple[str, ...]:
    """The tables through whose keys rows reach their person, the main table's first; none where rows name one."""
    found = [table_at(tables, person or "")]
    while found[0] and found[0] in tables:
        before = {table_at(tables, ours) for ours, _ in tables[found[0]].keys} - {""}
        linked = [one for one in before if one not in found and tables[one].most_keys]
        if not linked:
            break
        found.insert(0, linked[0])
    return tuple(filter(None, found))
