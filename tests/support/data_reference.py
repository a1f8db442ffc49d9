"""An independent evaluator of queries: loops over rows, dicts, ints and Fractions; no engine, no arrays.

It follows the words of ``data/query.py`` and the module docstrings of ``data/query_compiler.py`` and
``data/query_expressions.py``, and shares with them nothing but the frozen dataclasses. Where an average is a double, it
is the same two roundings: of the exact sum, of the quotient.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
import string
from calendar import month_name
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias
from zoneinfo import ZoneInfo

from reticent.calendar import Calendar
from reticent.data.expression import Cell as Formulaic
from reticent.data.expression_tree import columns_of
from reticent.data.order_statistics import ABSENT
from reticent.data.query import (
    POWER_ONE,
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Keys,
    Moments,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    Weighing,
    WeightedMoments,
    WeightedTally,
    cells_read,
    keys_of,
)
from reticent.data.schema import Category, Column, FixedPointGrid, Integer, Key, Real, Schema, grid_by_width, needed
from tests.support.expression_reference import cell_of, evaluate

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]
Typed: TypeAlias = dict[str, "float | str | None"]
Vectors: TypeAlias = tuple[tuple[int, ...], ...]
Values: TypeAlias = tuple[dict[float, int], ...]

SPACE = " \t\r\n"


def number_of(cell: Cell) -> float | None:
    if cell is None:
        return None
    if isinstance(cell, str):
        text = cell.strip(SPACE)
        if not re.fullmatch(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|infinity)", text, re.I | re.A):
            return None
        return float(text) + 0.0
    if isinstance(cell, float) and math.isnan(cell):
        return None
    try:
        return float(cell) + 0.0
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def text_of(cell: Cell) -> str | None:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


def key_of(cell: Cell, among: Sequence[Key]) -> str | None:
    wanted = {("true" if key else "false") if isinstance(key, bool) else str(key) for key in among}
    if isinstance(among[0], bool):
        number = number_of(cell)
        word = cell.strip(SPACE).lower() if isinstance(cell, str) else ""
        found = "true" if number == 1 or word == "true" else "false" if number == 0 or word == "false" else None
    elif isinstance(among[0], int):
        number = number_of(cell)
        found = None if number is None or number % 1 else str(int(max(-(2.0**53), min(2.0**53, number))))
    else:
        found = text_of(cell)
        if isinstance(cell, str) and all(key.strip(string.whitespace) == key for key in wanted):
            found = cell.strip(string.whitespace)
    return found if found in wanted else None


def typed_of(cell: Cell, column: Column) -> float | str | None:
    match column:
        case Category(among=among):
            return key_of(cell, among)
        case Real():
            return number_of(cell)
        case Integer(calendar=Calendar() as calendar):
            return moment_of(cell, calendar)
        case Integer():
            number = number_of(cell)
            if number is None or (math.isfinite(number) and number != math.floor(number)):
                return None
            return number


def moment_of(cell: Cell, calendar: Calendar) -> float | None:
    """The integer of a date or time, read by Python's own datetime, or None."""
    text = "" if cell is None else str(cell).strip(SPACE)
    offset = None
    if calendar.format:
        parts = re.fullmatch(_spelling(calendar.format), text)
        if parts is None:
            return None
        found = _parts(parts.groupdict(), calendar.century)
        if found is None:
            return None
    else:
        day, time = r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)", r"(?P<H>\d\d):(?P<M>\d\d)(:(?P<S>\d\d)(\.\d+)?)?"
        parts = re.fullmatch(rf"{day}([T ]{time})?(?P<z>Z|[+-]\d\d:?\d\d)?", text, re.A)
        if parts is None or (parts["z"] and not calendar.zone):
            return None
        found = {name: int(parts[name] or 0) for name in "YmdHMS"}
        offset = parts["z"]
    try:
        moment = datetime.datetime(
            found["Y"], found["m"], found["d"], found.get("H", 0), found.get("M", 0), found.get("S", 0)
        )
        if offset:
            ahead = "+00:00" if offset == "Z" else offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"
            if int(ahead[1:3]) > 14 or int(ahead[4:]) > 59:
                return None
            aware = datetime.datetime.fromisoformat(f"{moment.isoformat()}{ahead}")
            moment = aware.astimezone(ZoneInfo(calendar.zone)).replace(tzinfo=None)
    except ValueError:
        return None
    except OverflowError:  # an instant beyond all years, and beyond all bounds
        return 1e15 if found["Y"] > 5000 else -1e15
    return float((moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=calendar.step))


def _parts(texts: dict[str, str], century: int) -> dict[str, int] | None:
    """Year, month, day, hour, minute and second of the groups of a format, or None of what is no time of a clock."""
    found = {name: int(text) for name, text in texts.items() if name in "YmdHMS"}
    if "y" in texts:
        found["Y"] = next(year for year in range(century, century + 100) if f"{year:04}".endswith(texts["y"]))
    for name, size in (("b", 3), ("B", None)):
        if name in texts:
            named = [month[:size].lower() for month in month_name]
            if texts[name].lower() not in named[1:]:
                return None
            found["m"] = named.index(texts[name].lower())
    if "I" in texts:
        if not 1 <= int(texts["I"]) <= 12 or texts["p"].lower() not in ("am", "pm"):
            return None
        found["H"] = int(texts["I"]) % 12 + 12 * (texts["p"].lower() == "pm")
    return found


def _spelling(text: str) -> str:
    digits = {"%Y": r"(?P<Y>[0-9]{4})"} | {f"%{letter}": rf"(?P<{letter}>[0-9]{{1,2}})" for letter in "mdHMSI"}
    if re.search("%[A-Za-z]%[A-Za-z]", text):
        digits |= {f"%{letter}": rf"(?P<{letter}>[0-9]{{2}})" for letter in "mdHMSI"}
    digits |= {"%y": "(?P<y>[0-9]{2})"} | {f"%{letter}": f"(?P<{letter}>[A-Za-z]+)" for letter in "bBp"}
    return "".join(digits.get(part, re.escape(part)) for part in re.split("(%[A-Za-z])", text))


def stand_in_of(column: Column) -> float | str | None:
    """The public value that an odd cell takes, by the words of the study file."""
    if isinstance(column, Category):
        first = column.among[0]
        return None if not column.complete else str(first).lower() if isinstance(first, bool) else str(first)
    if column.missing != "drop":
        return float(column.missing)
    if not column.complete:
        return None
    if column.low is None or column.high is None:
        return 0.0
    middle = (Fraction(column.low) + Fraction(column.high)) / 2
    return float(math.floor(middle)) if isinstance(column, Integer) else float(middle)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def on_ring(size: int, most: int, draw: int) -> list[int]:
    """The numbers below ``size`` that count: from a place on the ring on, one of each stretch."""
    found = []
    start = draw % size
    for stretch in range(most):
        inside = [j for j in range(size) if j * most // size == stretch]
        shift = (draw % (2**31 - 1) * (stretch * size % (2**31 - 1)) + draw % (2**29 - 3)) % (2**31 - 1)
        found.append((inside[shift % len(inside)] - start) % size)
    return found


class Reference:
    """The answers for some rows; ``used`` are the columns the whole run reads, for the queries ``asked``."""

    def __init__(
        self, schema: Schema, rows: Sequence[Row], used: Sequence[str], key: bytes, asked: Sequence[Query] = ()
    ) -> None:
        self.schema, self.cap, self.key = schema, schema.person.rows, key
        self.persons: dict[str, list[Typed]] = defaultdict(list)
        column = schema.person.column
        for place, row in enumerate(rows):
            who = str(place) if column is None else text_of(row[column])
            if who:
                read = [name for name in needed(schema, used) if name not in schema.computed]
                self.persons[who].append({name: typed_of(row[name], schema.columns[name]) for name in read})
        for who, mine in [*self.persons.items()]:
            self._make_constant(mine, used)
            mine[:] = [row for row in map(self._transformed, mine) if row is not None]
            if not mine:
                del self.persons[who]
            first = self._first(asked)
            ordered = [name for name in used if first is None or name != first.column or self._is_read(asked, first)]
            mine.sort(key=lambda row: [(row[name] is None, row[name]) for name in ordered])
            if first is not None:  # groups in which totals are asked for go before the values
                mine.sort(key=lambda row: self._place(row, first))

    def _transformed(self, row: Typed) -> Typed | None:
        """The row with its computed cells, by the meaning of each operation; None where the filter is not true."""
        columns = self.schema.columns
        cells = {name: self._formula_cell(cell, columns[name]) for name, cell in row.items()}
        for name, tree in self.schema.computed.items():
            if set(columns_of(tree)) <= set(cells):
                found = evaluate(tree, cells)
                row[name] = str(found).lower() if isinstance(found, bool) else found
                cells[name] = self._formula_cell(row[name], columns[name])
        return row if self.schema.where is None or evaluate(self.schema.where, cells) is True else None

    def _formula_cell(self, cell: float | str | None, column: Column) -> Formulaic:
        return cell_of(stand_in_of(column) if cell is None else cell, column)

    def _make_constant(self, mine: list[Typed], used: Sequence[str]) -> None:
        for name in mine[0]:
            if self.schema.columns[name].constant:
                known = [row[name] for row in mine if row[name] is not None]
                least = min(known, default=None)  # type: ignore[type-var]
                for row in mine:
                    row[name] = least

    def kept(self, who: str) -> list[Typed]:
        mine = self.persons[who]
        if len(mine) <= self.cap:
            return mine
        return [mine[nth] for nth in sorted(on_ring(len(mine), self.cap, self._draw(who, 0)))]

    def _draw(self, who: str, nth: int) -> int:
        return int(digest(f"person:{self.key.hex()}:{who}")[13 * nth : 13 * nth + 13], 16)

    def _first(self, asked: Sequence[Query]) -> Keys | None:
        lists = dict.fromkeys(keys for query in asked if (keys := keys_of(query)) is not None)
        totals = {query.keys for query in asked if isinstance(query, Total) and query.of == "all"}
        return next((keys for keys in lists if keys in totals), None) if self.schema.person.column else None

    def _is_read(self, asked: Sequence[Query], first: Keys) -> bool:
        """True if the column of these groups is read for anything but them."""
        lists = {keys for query in asked if (keys := keys_of(query)) is not None and keys.column == first.column}
        return len(lists) > 1 or any(first.column in cells_read(query) for query in asked)

    def _place(self, row: Typed, keys: Keys) -> float:
        group, wanted = self._group(row, keys), _groups(keys)
        return wanted.index(group) if group in wanted else math.inf

    def _group(self, row: Typed, keys: Keys) -> str | None:
        found = row[keys.column]
        if found is None:
            found = stand_in_of(self.schema.columns[keys.column])
        return str(int(found)) if isinstance(found, float) and math.isfinite(found) else found  # type: ignore[return-value]

    def by_group(self, who: str, rows: list[Typed], keys: Keys | None) -> dict[str, list[Typed]]:
        """The rows of one person by group, at most ``touch`` groups; one nameless group without keys."""
        if keys is None:
            return {"": rows}
        wanted = _groups(keys)
        groups: dict[str, list[Typed]] = defaultdict(list)
        for row in rows:
            group = self._group(row, keys)
            if group in wanted:
                assert group is not None
                groups[group].append(row)
        order = sorted(groups, key=wanted.index)
        if len(order) > keys.touch:
            order = [order[nth] for nth in on_ring(len(order), keys.touch, self._draw(who, 1))]
        return {group: groups[group] for group in order}

    def answer(self, query: Query) -> Vectors:
        assert not isinstance(query, KeyHolders | Ranks | OrderedValues | Records)
        if isinstance(query, CappedPersons):
            above = query.above or (self.cap,)
            return (tuple(sum(len(mine) > limit for mine in self.persons.values()) for limit in above),)
        if isinstance(query, Incomplete):
            kept = [row for who in self.persons for row in self.kept(who)]
            return ((sum(any(row[name] is None for name in query.columns) for row in kept),),)
        sums: dict[str, Counter[int]] = defaultdict(Counter)
        for who in self.persons:
            every = isinstance(query, Total) and query.of == "all"
            rows = self.persons[who] if every else self.kept(who)
            for group, mine in self.by_group(who, rows, query.keys).items():
                for place, amount in enumerate(self._contribution(query, mine)):
                    sums[group][place] += amount
        width = len(self._contribution(query, []))
        return tuple(tuple(sums[group][place] for place in range(width)) for group in _groups(query.keys))

    def order(self, query: OrderedValues) -> list[list[int]]:
        """The integers of every group, in order."""
        low, high = (-math.inf, math.inf) if query.within is None else map(float, query.within)
        return [
            sorted(
                steps_of(min(max(value, low), high), query.unit) for value, many in values.items() for _ in range(many)
            )
            for values in self.values(query)
        ]

    def records(self, query: Records) -> list[list[int]]:
        """The kept rows as integers, in order."""
        found = []
        for who in self.persons:
            for row in self.kept(who):
                cells = [self._cell(row, name) for name in query.columns]
                steps = [steps_of(x, unit) for cell, unit in zip(cells, query.units, strict=True) for x in cell]
                found.append(steps if len(steps) == len(cells) else [ABSENT] + [0] * (len(cells) - 1))
        return sorted(found)

    def _cell(self, row: Typed, name: str) -> list[float]:
        """The number of one cell, of a category the place of its key; nothing where it is missing."""
        column, found = self.schema.columns[name], row[name]
        if found is None and isinstance(column, Category):
            found = stand_in_of(column)
        if not isinstance(column, Category):
            return self.present([row], name)
        texts = [("true" if key else "false") if isinstance(key, bool) else str(key) for key in column.among]
        return [float(texts.index(found))] if isinstance(found, str) else []

    def values(self, query: Ranks | OrderedValues) -> Values:
        """Values with how often they occur."""
        found: dict[str, Counter[float]] = defaultdict(Counter)
        for who in self.persons:
            for group, mine in self.by_group(who, self.kept(who), query.keys).items():
                if isinstance(query, Ranks) and query.weight is not None:
                    for own, value in self._weighed(query.weight, query.column, mine):
                        found[group][float(value)] += own[1] // 2 + own[2] if query.power == 1 else own[2]
                    continue
                known = self.present(mine, query.column)
                if query.per == "person" and self.schema.person.column is not None and known:
                    known = [self._mean(known, query.column)]
                found[group].update(known)
        return tuple(dict(found[group]) for group in _groups(query.keys))

    def present(self, rows: list[Typed], name: str) -> list[float]:
        column = self.schema.columns[name]
        stand_in = stand_in_of(column)
        cells = [row[name] if row[name] is not None else stand_in for row in rows]
        return [cell for cell in cells if cell is not None]  # type: ignore[misc]

    def _mean(self, known: list[float], name: str) -> float:
        column = self.schema.columns[name]
        assert not isinstance(column, Category)
        if column.low is not None and column.high is not None:
            grid = grid_by_width(Fraction(column.low), Fraction(column.high))
            total = sum(fixed_of(value, grid) - grid.middle for value in known)
            return (float(total) / len(known) + float(grid.middle)) * 2.0**-grid.bits
        limit = Fraction(2) ** 60
        steps = [math.floor(max(-limit, min(limit, exact(value))) * 2**40) for value in known]
        return float(sum(steps)) / len(known) * 2.0**-40

    def _contribution(self, query: Query, mine: list[Typed]) -> list[int]:
        """What one person adds to each integer of one group."""
        match query:
            case Rows():
                return [len(mine)]
            case DistinctPersons():
                return [min(1, len(mine))]
            case PresentValues(column=column, per=per):
                many = len(self.present(mine, column))
                return [min(1, many) if per == "person" else many]
            case Total(column=column, grid=grid):
                total = sum(fixed_of(value, grid) for value in self.present(mine, column))
                return [max(min(0, self.cap * grid.lowest), min(max(0, self.cap * grid.highest), total))]
            case Moments(column=column, grid=grid, order=order, per=per):
                steps = [fixed_of(value, grid) - grid.middle for value in self.present(mine, column)]
                if per == "person" and self.schema.person.column is not None and steps:
                    steps = [_nearest(steps, grid)]
                return [len(steps), *(sum(_power(step, grid, j) for step in steps) for j in range(1, order + 1))]
            case WeightedMoments(column=column, weight=weight, grid=grid, order=order):
                sums = [0] * (3 * (order + 1))
                for own, value in self._weighed(weight, column, mine):
                    powers = [1]
                    if grid is not None:
                        x = fixed_of(float(value), grid) - grid.middle
                        powers += [_power(x, grid, j) for j in range(1, order + 1)]
                    for nth, amount in enumerate(part * power for part in own for power in powers):
                        sums[nth] += amount
                return sums
            case WeightedTally(column=column, weight=weight, edges=edges, among=among):
                sums = [0] * (3 * query.bins)
                for own, value in self._weighed(weight, column, mine):
                    bin_of = _bin_of(value, edges, among)
                    for nth, part in enumerate(own if bin_of is not None else ()):
                        sums[3 * (bin_of or 0) + nth] += part
                return sums
            case Tally(column=column, edges=edges, among=among):
                bins = [0] * query.bins
                for value in self.present(mine, column):
                    place = _bin_of(value, edges, among)
                    if place is not None:
                        bins[place] += 1
                return bins
            case _:
                raise AssertionError(query)

    def _weighed(
        self, weight: Weighing, column: str | None, mine: list[Typed]
    ) -> list[tuple[tuple[int, int, int], float]]:
        """The three parts of the weight of each row that has one, and its value in another column."""
        found: list[tuple[tuple[int, int, int], float]] = []
        top = float(weight.highest)
        for row in mine:
            weights = self.present([row], weight.column)
            values = [0.0] if column is None else self.present([row], column)
            if weights and values:
                v = math.floor(min(max(weights[0], 0.0), top) / top * 2.0**20 + 0.5)
                square = v * v // 2**20
                found.append(((2**20 - 2 * v + square, 2 * (v - square), square), values[0]))
        return found


def _groups(keys: Keys | None) -> list[str]:
    if keys is None:
        return [""]
    return [("true" if key else "false") if isinstance(key, bool) else str(key) for key in keys.among]


def exact(value: float) -> Fraction:
    """The rational a double is; infinities become something larger than every bound."""
    return Fraction(value) if math.isfinite(value) else Fraction(2) ** 1100 * (1 if value > 0 else -1)


def fixed_of(value: float, grid: FixedPointGrid) -> int:
    return max(grid.lowest, min(grid.highest, math.floor(exact(value) * Fraction(2) ** grid.bits)))


def steps_of(value: float, unit: Fraction) -> int:
    """floor(value / unit) within 2^61 of zero, of the nearest double unless the unit is a power of two."""
    top, bottom = unit.numerator, unit.denominator
    if top & (top - 1) == 0 and bottom & (bottom - 1) == 0:
        ratio = exact(value) / unit
    else:
        ratio = exact(value / float(unit))
    return max(-(2**61), min(2**61, math.floor(ratio)))


def _nearest(steps: list[int], grid: FixedPointGrid) -> int:
    mean = math.floor(float(sum(steps)) / len(steps) + 0.5)
    return max(grid.lowest - grid.middle, min(grid.highest - grid.middle, mean))


def _power(step: int, grid: FixedPointGrid, j: int) -> int:
    if j == 1:
        return step
    share, product = step / grid.reach, 1.0
    for _ in range(j):
        product *= share
    return math.floor(product * POWER_ONE + 0.5)


def _bin_of(value: float | str, edges: Sequence[Fraction], among: Sequence[Key]) -> int | None:
    if not edges:
        for place, key in enumerate(among):
            if isinstance(value, str):
                if value == (("true" if key else "false") if isinstance(key, bool) else str(key)):
                    return place
            elif value == key:
                return place
        return None
    assert isinstance(value, float)
    return sum(value >= float(edge) for edge in edges[1:-1])
