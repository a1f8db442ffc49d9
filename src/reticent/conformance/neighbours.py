"""Made-up tables and their neighbours, at the edges of what a table may hold; and made-up schemas and plans.

    key --Dice--> schema --family--> tables with pairs of neighbours among them
                  schema --random_plan--> prepared steps

Cells come from the declaration: its bounds, just beyond them, NaN, null, infinities, 2^53, 1e308, subnormals, -0.0,
empty and unlisted keys, texts that are almost numbers. The person who differs has up to two rows more than are kept,
and each *mood* makes all of these rows extreme in one way. Everything is deterministic in the key.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from reticent.data.columns import Storage
from reticent.data.expression_tree import Tree
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Column, Integer, Key, Person, Real, Schema
from reticent.data.table import Table
from reticent.entropy import Replayed

T = TypeVar("T")
Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]
Mood: TypeAlias = Literal["low", "high", "below", "above", "missing", "odd", "mixed", "inside"]

MOODS: Final[tuple[Mood, ...]] = ("low", "high", "below", "above", "missing", "odd", "mixed", "inside")
MOST_ROWS: Final = 200  # of the person who differs, however many rows may be kept
OTHERS: Final = 4  # persons besides, or households
HOUSEHOLD: Final = 1000  # more persons than are made up of one
NUMBERS: Final[tuple[Cell, ...]] = (
    math.nan,
    None,
    math.inf,
    -math.inf,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e308,
    -1e308,
    2.0**53,
    2**53 + 1,
    -(2**63),
    2**63 - 1,
    0.1,
    2.5,
)
TEXTS: Final[tuple[Cell, ...]] = (
    "",
    " ",
    "x",
    "nan",
    "inf",
    "-Infinity",
    "1e400",
    " 2.5 ",
    "1_000",
    "0x10",
    "１",
    "true",
)


class KeyedDice:
    """Choices from a key."""

    def __init__(self, key: bytes | str | int) -> None:
        self._stream = Replayed(key)

    def below(self, limit: int) -> int:
        return self._stream.bits(48) * limit >> 48

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]

    def some(self, among: Sequence[T], most: int) -> list[T]:
        """Between one and ``most`` different ones."""
        return self.shuffled(among)[: self.between(1, min(most, len(among)))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def bytes(self, count: int) -> bytes:
        return self._stream.bits(8 * count).to_bytes(count)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables of a family, by their places. ``same``: the same rows in another order."""

    here: int
    there: int
    same: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Tables over one schema, each of which has all columns, and the pairs of neighbours among them."""

    schema: Schema
    storage: Mapping[str, Storage]
    tables: tuple[tuple[Row, ...], ...]
    pairs: tuple[Pair, ...]

    def columns(self, place: int) -> dict[str, Any]:
        """One table as a dict of arrays, for ``open_table``."""
        rows = self.tables[place]
        return {name: stored([row[name] for row in rows], kind) for name, kind in self.storage.items()}


def families(schema: Schema, key: bytes | str | int) -> Iterator[Family]:
    """Families without end: first every mood on tables of nobody else, then moods and other people at random."""
    dice = KeyedDice(key)
    several = 8 if schema.person.adjacency == "substitute" else 4
    for turn in count():
        moods = MOODS if turn < 2 else dice.shuffled(MOODS)
        for first in range(0, len(moods), several):
            yield family(schema, dice, moods[first : first + several], 0 if turn == 0 else None)


def family(schema: Schema, dice: KeyedDice, moods: Sequence[Mood], others: int | None = None) -> Family:
    """Tables of some other people and of those who differ, one in each of ``moods``.

    Under add/remove: a table for each set of those who differ, and a pair wherever one set has one person more. Under
    substitution: a table for each of them, who is in each pair replaced by another, or by the same person with other
    rows. One table comes a second time in another order.

    Parameters
    ----------
    schema : Schema
    dice : Dice
    moods : sequence of Mood
        Five at most are sensible under add/remove.
    others : int, optional
        How many other persons there are; by default up to four.

    Returns
    -------
    Family
        Tables, and the pairs of neighbours among them.
    """
    storage = {name: _storage(column, dice) for name, column in schema.stored.items()}
    storage |= dict.fromkeys(schema.texts, "text")
    who = schema.person.column
    if who is not None:
        storage[who] = dice.pick(("text", "text", "whole", "real"))
    if schema.person.household is not None:
        storage[schema.person.household] = "text"
    many = dice.below(OTHERS + 1) if others is None else others
    make = _Maker(schema, storage, dice)
    first = max(OTHERS, many) + 1  # of those who differ: nobody else has their name
    rest = [row for number in range(many) for row in make.unit(number, dice.pick(MOODS), 3)]
    if who is not None and storage[who] == "text" and dice.chance(25):
        rest += [{**make.row("mixed", 0), who: nobody} for nobody in ("", None)]  # rows of nobody
    pairs: list[Pair] = []
    if schema.person.adjacency == "add_remove":
        mine = [make.unit(first + place, mood, MOST_ROWS) for place, mood in enumerate(moods)]
        sets = range(1 << len(mine))
        tables = [dice.shuffled(sum((mine[i] for i in range(len(mine)) if chosen >> i & 1), rest)) for chosen in sets]
        edges = [(chosen, chosen | 1 << i) for chosen in sets for i in range(len(mine)) if not chosen >> i & 1]
        pairs += [Pair(*(edge if dice.chance(50) else edge[::-1])) for edge in edges]
    else:
        mine = [make.person(first + place * dice.below(2), mood, MOST_ROWS) for place, mood in enumerate(moods)]
        tables = [dice.shuffled([*rest, *rows]) for rows in mine]
        pairs += [Pair(a, b) for b in range(len(tables)) for a in range(b)]
    tables.append(dice.shuffled(tables[-1]))
    pairs.append(Pair(len(tables) - 2, len(tables) - 1, same=True))
    return Family(schema, storage, tuple(tuple(table) for table in tables), tuple(pairs))


class _Maker:
    """Rows of made-up persons."""

    def __init__(self, schema: Schema, storage: Mapping[str, Storage], dice: KeyedDice) -> None:
        self.schema, self.storage, self.dice = schema, storage, dice

    def unit(self, number: int, mood: Mood, most: int) -> list[Row]:
        """The rows of one person, or of a household: often of as many persons as are kept, or one or two more.

        A person who names two households belongs to the least, which is this one.
        """
        home, kept = self.schema.person.household, self.schema.person.moved
        if home is None:
            return self.person(number, mood, most)
        found: list[Row] = []
        for place in range(max(1, min(most, self.dice.pick((1, kept, kept, kept + 1, kept + 2))))):
            rows = self.person(number * HOUSEHOLD + place, mood, most)
            own = [{**row, home: f"h{number}"} for row in rows]
            found += [own[0], *({**row, home: "other"} if self.dice.chance(10) else row for row in own[1:])]
        return found

    def person(self, number: int, mood: Mood, most: int) -> list[Row]:
        """One to ``most`` rows, often as many as are kept or one or two more."""
        who, kept = self.schema.person.column, self.schema.person.rows
        if who is None:
            return [self.row(mood, self.dice.below(8))]
        size = max(1, min(most, self.dice.pick((1, kept, kept, kept + 1, kept + 2, self.dice.between(1, kept)))))
        name: Cell = f"p{number}" if self.storage[who] == "text" else number
        start, step = self.dice.below(8), self.dice.below(2)  # all in one group, or each in the next one
        return [{**self.row(mood, start + step * place), who: name} for place in range(size)]

    def row(self, mood: Mood, turn: int) -> dict[str, Cell]:
        found = {name: self._cell(column, mood, turn) for name, column in self.schema.stored.items()}
        found |= {} if self.schema.person.household is None else {self.schema.person.household: "h"}
        return found | dict.fromkeys(self.schema.texts, _text(mood, turn))

    def _cell(self, column: Column, mood: Mood, turn: int) -> Cell:
        if mood == "mixed":
            mood = self.dice.pick(MOODS)
        if isinstance(column, Category):
            return self._key(column.among, mood, turn)
        low, high = (-10, 10) if column.low is None or column.high is None else (column.low, column.high)
        match mood:
            case "low":
                return _number(low, column)
            case "high":
                return _number(high, column)
            case "below" | "above":
                end, sign = (low, -1) if mood == "below" else (high, 1)
                near = int(end) + sign if isinstance(column, Integer) else math.nextafter(float(end), sign * math.inf)
                return self.dice.pick((near, sign * math.inf, sign * 1e308, sign * 2.0**53))
            case "missing":
                return self.dice.pick((None, math.nan))
            case "odd":
                return self.dice.pick((*NUMBERS, *TEXTS))
            case _:
                share = Fraction(self.dice.below(1 << 20), 1 << 20)
                return _number(low + (high - low) * share, column)

    def _key(self, among: tuple[Key, ...], mood: Mood, turn: int) -> Cell:
        match mood:
            case "missing":
                return None
            case "odd":
                first = among[0]
                more: tuple[Cell, ...] = ("new key", "", 99, 2.5, f" {first}", str(first).upper(), str(first))
                return self.dice.pick(more if isinstance(first, str) else (*more, float(first)))
            case _:
                return among[turn % len(among)]


def _text(mood: Mood, turn: int) -> Cell:
    """A text, without a coin: one of three, an odd one that is cut or unreadable, or none."""
    match mood:
        case "missing":
            return None
        case "odd":
            return ("  ", "two\nlines", " key", "a key longer than is told", "é")[turn % 5]
        case _:
            return ("key", "a key", "B")[turn % 3]


def _number(value: int | Fraction, column: Column) -> Cell:
    return math.floor(value) if isinstance(column, Integer) else float(value)


def _storage(column: Column, dice: KeyedDice) -> Storage:
    match column:
        case Real():
            return dice.pick(("real", "real", "text", "whole"))
        case Integer():
            return dice.pick(("whole", "real", "text"))
        case Category(among=(bool(), *_)):
            return dice.pick(("truth", "text", "whole", "real"))
        case Category(among=(int(), *_)):
            return dice.pick(("whole", "text", "real"))
        case Category():
            return "text"


def stored(cells: Sequence[Cell], storage: Storage) -> Any:
    """Cells as a column that arrives in ``storage``; what does not fit is missing there."""
    if storage == "text":
        return list(cells)
    if storage == "real":
        return np.array([_as_float(cell) for cell in cells], dtype=np.float64)
    known = [_as_int(cell) if storage == "whole" else _as_bool(cell) for cell in cells]
    values = np.array([cell or 0 for cell in known], dtype=np.int64 if storage == "whole" else np.bool_)
    return np.ma.MaskedArray(values, [cell is None for cell in known]) if None in known else values


def _as_float(cell: Cell) -> float:
    return math.nan if cell is None or isinstance(cell, str) else float(cell)


def _as_int(cell: Cell) -> int | None:
    if cell is None or isinstance(cell, str) or not math.isfinite(cell):
        return None
    return max(-(2**63), min(2**63 - 1, math.floor(cell)))


def _as_bool(cell: Cell) -> bool | None:
    return bool(cell) if cell in (0, 1) else None


# --- reading them -----------------------------------------------------------------------------------------------------


class MemoizedTable:
    """A table that remembers: what it answered once it answers again without reading."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: dict[tuple[tuple[Query, ...], bytes, tuple[Tree | None, Person] | None], list[QueryResult]] = {}

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """Answer queries, each once.

        Parameters
        ----------
        queries : sequence of Query
            Queries of a step.
        key : bytes
            Key of the random order of rows, 32 bytes.
        schema : Schema, optional
            Schema with the filter; None for that of the table.

        Returns
        -------
        list of QueryResult
            One result for each query.
        """
        asked = (tuple(queries), key, None if schema is None else (schema.where, schema.person))
        if asked not in self._known:
            self._known[asked] = self._table.run(queries, key, schema)
        return self._known[asked]
