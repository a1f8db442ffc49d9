"""Households: a unit of the guarantee that is coarser than a person.

    in_households(person, household="home", per_household=5)     the person of a schema, of whom so many are kept
    check(schema)                                                refuses a household that no column can tell

A person belongs to the least household that their rows name, so rows of two never tear a person apart. Neighbours
differ in all persons of one household, of whom at most so many are kept: as many steps of one person's rows
(docs/proofs/joins.md, Theorem 4).
"""

from __future__ import annotations

from dataclasses import replace

from reticent.data.format import check_plain_names, exact
from reticent.data.joined_table import MOST_OWNED
from reticent.data.schema import Person, Schema
from reticent.errors import SpecError


def in_households(person: Person, household: str | None, per_household: int | None) -> Person:
    """The person of a schema whose guarantee is about households; the person as it is where none is named.

    Parameters
    ----------
    person : Person
        Who one person is, and the rows kept of one.
    household : str or None
        Column that names the household of a person.
    per_household : int or None
        Most persons kept of a household, 1 to 100.

    Returns
    -------
    Person

    Raises
    ------
    SpecError
        One without the other, or what a person of a household cannot have.
    """
    if household is None:
        if per_household is not None:
            raise SpecError('per_household is the most persons kept of a household: name it, household = "home"')
        return person
    household = exact(household)
    check_plain_names([household], "The household column")
    if per_household is None:
        raise SpecError(
            "A household may have any number of persons. Say per_household = 5: the most that are kept of one."
        )
    if type(per_household) is not int or not 1 <= per_household <= MOST_OWNED:
        raise SpecError(f"per_household is a whole number from 1 to {MOST_OWNED}, got {per_household!r}")
    if person.column is None:
        raise SpecError(
            f'household needs a person column. Where every row is another person, column = "{household}" and rows = '
            f"{{ at_most = {per_household} }} say it: a row is a person then."
        )
    if household == person.column:
        raise SpecError(f"household and column are both {household}: one names households, the other persons.")
    if person.adjacency == "substitute":
        raise SpecError('household needs adjacency = "add_remove": how many persons a household has is private.')
    if person.ladder is not None or person.ceiling is not None:
        raise SpecError("Persons of a household have a declared cap: rows = { at_most = 5 }.")
    return replace(person, household=household, moved=per_household, filtered=True, unit=person.unit or "household")


def check(schema: Schema) -> None:
    """Refuse a household that stands where a row has several or none, and bounds that releases choose.

    Raises
    ------
    SpecError
        With the column, or the table.
    """
    household = schema.person.household
    if household is None:
        return
    if schema.owner:
        raise SpecError(
            f"[person] household needs rows that name their person, and these reach one through {schema.owner}. Say "
            f'column = "{household}" there, or put the person into the main table.'
        )
    if any(getattr(column, "auto", None) is not None for column in schema.columns.values()):
        raise SpecError('With household, columns have declared bounds: low = 0, high = 20000, no "auto".')
    table = schema.table_of(household)
    if table and (schema.tables[table].public or schema.tables[table].keys):
        raise SpecError(
            f"[person] household is {household}, and [tables.{table}] is not joined on the person alone: name a column "
            "of the main table, or of one with a row of each person."
        )
