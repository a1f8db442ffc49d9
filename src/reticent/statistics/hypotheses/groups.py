"""Public facts about the groups of a test: the keys right of ``~``, what one person moves, what several rows mean."""

from __future__ import annotations

from fractions import Fraction

from reticent.data.format import section
from reticent.data.query import Keys
from reticent.data.schema import Integer, Key
from reticent.errors import QuestionError, first_of, in_list
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.sensitivity import L1
from reticent.statistics.context import Setting
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.moments.proportion import listed_in


def keys_of(asked: HypothesisTest, setting: Setting) -> Keys:
    """The groups of ``on``: those named in the question, else those declared.

    Raises
    ------
    QuestionError
        Where there is no public list of groups.
    """
    assert asked.on is not None  # asked only of kinds with two columns
    declared = setting.schema.column(asked.on)
    among = among_of(asked.on, asked.among, setting)
    touch = 1 if declared.constant else min(len(among), setting.schema.person.rows)
    return Keys(asked.on, among, touch)


def among_of(column: str, named: tuple[Key, ...], setting: Setting) -> tuple[Key, ...]:
    """The public values of a column that are meant, as the declaration spells them.

    Parameters
    ----------
    column : str
    named : tuple of keys
        Empty for all declared values.
    setting : Setting

    Returns
    -------
    tuple of keys

    Raises
    ------
    QuestionError
        Where there is no public list, or it lacks a value that is named.
    """
    declared = setting.schema.column(column)
    listed = listed_in(declared)
    found: tuple[Key, ...]
    match declared:
        case Integer() if named:
            found = tuple(_whole(column, key) for key in named)
        case _ if listed:
            found = tuple(_spelled(column, key, listed) for key in named) or listed
        case _:
            raise QuestionError(
                f"the groups of {column} must be known without looking at the file: "
                f'{section(column)} kind = "category", among = [...]. Nothing was charged.'
            )
    if len(set(found)) < max(2, len(named)):
        raise QuestionError(f"a test needs two groups of {column} or more, each named once. Nothing was charged.")
    return found


def _spelled(column: str, key: Key, listed: tuple[Key, ...]) -> Key:
    for declared in listed:
        if type(declared) is type(key) and declared == key:
            return declared
    for declared in listed:
        if str(declared).lower() == str(key).lower():  # the text of a question, where True is "true"
            return declared
    raise QuestionError(f"'{key}' is not one of the values of {column}: {first_of(map(in_list, listed))}.")


def _whole(column: str, key: Key) -> int:
    try:
        return int(key)
    except ValueError:
        raise QuestionError(f"{column} is an integer column, and '{key}' is no integer.") from None


def counting(setting: Setting, epsilon: Fraction) -> Geometric:
    """The mechanism for a table of counts in which every kept row is in at most one cell, and two cells or more.

    A row that comes or goes moves one cell by 1; a replaced one leaves a cell and enters another.
    """
    rows = setting.schema.person.rows
    steps = 2 * rows if setting.neighbours.kind == "substitute" else rows
    return Geometric(L1(Fraction(steps), setting.neighbours), epsilon)


def several_rows(setting: Setting) -> tuple[str, ...]:
    """Caveat of a test of rows if one person may have several of them."""
    person = setting.schema.person
    if person.rows == 1:
        return ()
    return (
        f"at most {person.rows} rows of each person count; rows of one person may be alike, and the law under the "
        f"hypothesis takes them as equal, {person.rows} by {person.rows}: the p-value errs upwards",
    )


__all__ = ["among_of", "counting", "keys_of", "several_rows"]
