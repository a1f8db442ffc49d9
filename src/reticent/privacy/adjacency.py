"""Neighbours: whose difference a guarantee hides.

Two tables are neighbours under ``add_remove`` when one has one protected unit more, and under ``substitute``
when one unit's records are replaced. Substitution makes the number of units public; add/remove hides it.
``local`` is the local model: each respondent alone, any truth against any other.

The unit is one person, holding at most ``rows`` rows of the table (1 if every row is another person). A step proved row
by row speaks of one ``row`` and is lifted later by ``compose.grouped``.

A table that a program hands over is the rows in it. A splitter that looks at rows, to balance labels for instance,
breaks this: tables that differ in one unit then give tables that differ in more: ``HANDED`` is what is then said.

Source: 001 (add/remove), 002 and 004 (replace one coordinate). The three are not interchangeable: see
docs/theory/adjacency.md and the note E21 there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from reticent.errors import PublicParameterError, restored

Kind: TypeAlias = Literal["add_remove", "substitute", "local"]
Unit: TypeAlias = Literal["person", "row"]

LONGEST: Final = 40  # characters of the word for a unit
HANDED: Final = (
    "The guarantee is about the rows this program handed over, and holds if they were picked without looking at any "
    "row, as cv=folds(5) does. It does not cover rows picked by an integer cv, by stratified, grouped or seeded "
    "splitters, or by bagging, bootstrap, oversampling or calibration."
)


CHOOSE: Final = (
    'Choose adjacency: "add_remove" hides whether someone is in the file; "substitute" hides what their record says '
    "and makes the number of people public. There is no default."
)


@restored
@dataclass(frozen=True, slots=True)
class Adjacency:
    """Relation that makes two tables neighbours: one unit replaced, or one unit added or removed.

    ``rows`` is the most rows one unit can have, >= 1. ``named`` is the word for a unit of several people, "household";
    it is empty of a person, and tells no relation from another.
    """

    kind: Kind
    rows: int = 1
    unit: Unit = "person"
    named: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise PublicParameterError(CHOOSE)
        if type(self.rows) is not int or self.rows < 1:  # a subclass would multiply as it likes
            raise PublicParameterError(f"rows of one person must be an integer >= 1, got {self.rows}")
        if self.unit not in get_args(Unit):
            raise PublicParameterError(f"unit is one of {', '.join(get_args(Unit))}, got {self.unit!r}")
        if self.unit == "row" and self.rows != 1:
            raise PublicParameterError("one row has one row")
        if not isinstance(self.named, str) or len(self.named) > LONGEST or not f"{self.named} ".isprintable():
            raise PublicParameterError(f"the word for a unit is text of at most {LONGEST} characters on one line")

    @property
    def size_public(self) -> bool:
        """True if the number of units (persons, or rows if each is one person) is public."""
        return self.kind == "substitute"

    @property
    def who(self) -> str:
        """The word for one protected unit: person, household, row."""
        return self.named if self.named and self.unit == "person" else self.unit

    def words(self) -> str:
        """The phrase every printed guarantee ends with."""
        if self.kind == "local":
            return "any answer of one respondent against any other (local model)"
        verb = "add or remove" if self.kind == "add_remove" else "replace the records of"
        if self.unit == "row":
            return f"{verb} one row"
        rows = "one row each" if self.rows == 1 else f"at most {self.rows} rows each"
        return f"{verb} one {self.who} ({rows})"
