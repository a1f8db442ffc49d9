"""Numbers of a column of text are those that the format says of each cell, in whatever company it stands."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from reticent.data import text_numbers
from reticent.data.files import open_files
from reticent.data.format import THOUSANDS, Format, Limits
from reticent.data.joined_table import JoinedTable
from reticent.data.joins import with_tables
from reticent.data.query import Keys, Moments, OrderedValues, Query, Rows, Tally, Total
from reticent.data.query_result import content
from reticent.data.schema import Person, Schema, category, grid_by_width, integer, real
from reticent.data.source import with_numbers
from reticent.data.table import Table, open_table
from reticent.data.text_numbers import number_columns, numbers_of

PLAIN = Format()
FORMATS = [PLAIN] + [
    Format(decimal=decimal, thousands=sign) for decimal in (".", ",") for sign in THOUSANDS if sign != decimal
]
PARTS = ("0", "1", "23", "9" * 20, ".", ",", "+", "-", "e", "E5", "e-400", "inf", "INFINITY", "nan", "_", "'", "\u2019")
ODD = ("\u00a0", "\u202f", " ", "\t", "\r", "\n", "\0", "x", "0x", "１", "٣", "é", "000", "1e308", "4.9e-324", "(", ")")
NUMBERS = ("1", "-2.5", "+3", ".5", "5.", "1e3", "-0", "0.1", "1e400", "9007199254740993", "inf", "1,000", "1.000,5")


def cells(draw: random.Random, odd: float) -> list[str | None]:
    """Texts of a column: numbers, and a share of what is none, or is spelled oddly."""
    found: list[str | None] = []
    for _ in range(draw.randrange(1, 12)):
        if draw.random() >= odd:
            found.append(draw.choice((*NUMBERS, None)))
        else:
            found.append("".join(draw.choices((*PARTS, *ODD), k=draw.randrange(1, 6))))
    return found


def differ(runs: int, odd: float) -> int:
    """How many columns of a fixed stream are read otherwise than cell by cell."""
    draw, found = random.Random(f"numbers {odd}"), 0
    for _ in range(runs):
        texts, form = cells(draw, odd), draw.choice(FORMATS)
        said = [None if cell is None else form.number(cell) for cell in texts]
        read = numbers_of(pa.array(texts, pa.string()), form).to_pylist()
        found += list(map(repr, read)) != list(map(repr, said))
    return found


@pytest.mark.parametrize("odd", [0.0, 0.05, 0.5, 1.0])
def test_a_column_is_read_as_its_cells_are(odd: float) -> None:
    assert differ(400, odd) == 0


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("columns", "odd"), [(30_000, 0.02), (30_000, 0.2), (4_000, 0.2), (30_000, 0.9)])
def test_many_columns_are_read_as_their_cells_are(columns: int, odd: float) -> None:
    assert differ(columns, odd) == 0


@pytest.mark.parametrize("word", ["nan", "NaN", "-nan", "1_0", " 7 ", "+inf", "+5", "-", "", "0x1", "1,5"])
def test_one_odd_cell_is_read_as_the_format_says(word: str) -> None:
    found = numbers_of(pa.array(["1", word, None, "-0.0"]), PLAIN).to_pylist()
    assert list(map(repr, found)) == list(map(repr, [1.0, PLAIN.number(word), None, 0.0]))


def test_the_comparison_finds_a_cast_without_the_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A careless reader trims and casts whatever the format says: 1_0 is no number, and 1,5 one of a few formats."""
    monkeypatch.setattr(text_numbers, "_spelled", lambda texts, form: pc.replace_substring(texts, ",", ""))
    assert differ(400, 0.2) > 0


ROWS = (
    "who,x,k,code",
    "p,1,1,1",
    "p, 2.5 ,2.0,12",
    "q,nan,2.5,1.0",
    "r,1_0,x,-3",
    "01,-0,0,12",
    "1,+inf,1,1",
    "q,-999,,",
)
SCHEMA = Schema(
    {"x": real(-3, 9), "k": integer(0, 2), "code": category([1, 12])},
    Person("add_remove", "who", rows=2),
    Format(na=("-999",)),
)


def asked() -> list[Query]:
    keys, grid = Keys("k", (0, 1, 2), 2), grid_by_width(Fraction(-3), Fraction(9))
    return [
        Rows(keys),
        Total("x", grid),
        Moments("x", grid, 2, keys),
        Tally("code", among=(1, 12)),
        OrderedValues("x", Fraction(1, 8)),
    ]


def test_a_file_gives_the_same_answers_with_numbers_as_with_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(ROWS))
    texts = open_files(path, SCHEMA, ",")
    assert set(texts.storage.values()) == {"text"}
    read = with_numbers(texts, SCHEMA)
    assert read.storage == {"who": "text", "x": "real", "k": "real", "code": "real"}
    here, there = Table(texts, SCHEMA, Limits(), None), open_table(path, SCHEMA)
    for key in (bytes(32), bytes(range(32))):
        assert list(map(content, here.run(asked(), key))) == list(map(content, there.run(asked(), key)))


def test_a_number_that_names_a_person_or_a_row_stays_text(tmp_path: Path) -> None:
    """01 and 1 are two persons, and 7 and 7.0 two keys of another table."""
    alone = Schema({"who": integer(), "site": integer(), "x": real(0, 1)}, Person("add_remove", "who", rows=2))
    assert number_columns(alone) == {"site", "x"}
    wards = JoinedTable((("site", "ward"),), "who", rows=1)
    assert number_columns(with_tables(alone, {"wards": (wards, {"beds": integer(0, 9)}, {})})) == {"x"}
