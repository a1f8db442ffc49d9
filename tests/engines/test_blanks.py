"""Blanks at the ends of a cell are no part of a listed text, unless the list has some; persons keep theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reticent.data.format import PLAIN, Format
from reticent.data.query import DistinctPersons, Tally
from reticent.data.schema import Person, Schema, category
from reticent.data.table import open_table
from tests.support.engine_places import EVERY, Place, placed

KEY = bytes(range(32))
CELLS = (
    "HR",
    "HR ",
    " HR",
    "\tHR\r\n",
    "\x0bHR\x0c",
    "H R",
    "hr",
    "v HR",
    "HR\\v",
    "NA ",
    "NA",
    " ",
    "it's ",
    "\xa0HR",
)


@pytest.fixture(scope="module", params=EVERY)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with placed(request.param) as put:
        yield put


def counts(place: Place, among: tuple[str, ...], form: Format = PLAIN) -> list[int]:
    """Rows of each listed text, and persons."""
    schema = Schema({"g": category(among)}, Person("add_remove", "who", rows=99), form)
    source = place({"g": list(CELLS), "who": ["p", "p ", *"abcdefghijkl"]})
    tally, persons = open_table(source, schema).run([Tally("g", among=among), DistinctPersons()], KEY)
    return [*tally.vectors[0], *persons.vectors[0]]


@pytest.mark.parametrize("more", [0, 100])
def test_blanks_at_the_ends_of_a_cell_are_no_part_of_a_listed_text(place: Place, more: int) -> None:
    among = ("HR", "H R", "it's", *(f"k{number}" for number in range(more)))
    assert counts(place, among) == [5, 1, 1, *[0] * more, len(CELLS)]


@pytest.mark.parametrize("more", [0, 100])
def test_a_list_with_a_blank_at_an_end_is_taken_letter_by_letter(place: Place, more: int) -> None:
    among = ("HR", "HR ", "it's", *(f"k{number}" for number in range(more)))
    assert counts(place, among) == [1, 1, 0, *[0] * more, len(CELLS)]


def test_what_counts_as_missing_is_missing_letter_by_letter(place: Place) -> None:
    assert counts(place, ("HR", "hr"), Format(na=("HR ", "NA"))) == [4, 1, len(CELLS)]
