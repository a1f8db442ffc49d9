"""From coins to laws: that each sampler, run on fair coins, has the law it is described by.

``coin_law`` walks the tree of all requests of a program for bits. Requests of up to ``exhaust`` bits are answered in
every way. Longer ones are cut into intervals on which the program goes on alike, told by what it does when all
further coins are 0 and when all are 1, and found by bisection; that an interval is alike throughout is read off at its
ends and at points inside, and holds for programs that only compare their words with thresholds, as all of ours do.
Strings that are undecided stay in the residual.

``table_law`` reads the law of an alias table off its integers, and ``table_draws`` runs the lookups of the product on
both sides of every threshold, so that the two together are the law of the program at 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import CheckError
from reticent.exact import sampling
from reticent.exact.alias_tables import CHUNK, AliasTable, scratch
from reticent.exact.coins import WIDTH
from tests.assurance.laws import BITS, ONE, Law, chances, form

GRID: Final = 6  # intervals are looked for between 2**GRID evenly spread words
FINE: Final = 607
PROBES: Final = tuple(isqrt(n << 2 * FINE) % (1 << FINE) for n in (2, 3, 5, 7))  # places inside, of 2**FINE
RARE: Final = 1 << (BITS - 128)  # values of smaller probability are left out of a law described
ENDLESS: Final = 32  # requests after which a program fed with one constant coin is taken to go on for ever

Key: TypeAlias = tuple[tuple[Hashable, tuple[int, ...]], ...]


class More(BaseException):
    """The tape is at its end, and ``count`` more bits are wanted; no program may catch it."""

    def __init__(self, count: int, calls: int) -> None:
        self.count, self.calls = count, calls


@dataclass(slots=True)
class _Tape:
    """An entropy that answers with the values given, then with a constant coin if there is one."""

    given: Sequence[int]
    fill: int | None = None
    place: int = 0
    calls: int = 0  # of ``words``

    def bits(self, count: int) -> int:
        """The next value."""
        return self._next(count, 0)

    def _next(self, count: int, calls: int) -> int:
        if self.place < len(self.given):
            value = self.given[self.place]
        elif self.fill is None:
            raise More(count, calls)
        elif self.place >= len(self.given) + ENDLESS:
            raise More(count, -1)
        else:
            value = ((1 << count) - 1) * self.fill
        self.place += 1
        return value

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next values, 64 bits each."""
        self.calls += 1
        return np.array([self._next(64, self.calls) for _ in range(count)], np.uint64)


@dataclass(slots=True)
class _Watched:
    """A tape that notes what was asked of it after the values given."""

    tape: _Tape
    counts: list[int]

    def bits(self, count: int) -> int:
        if self.tape.place >= len(self.tape.given):
            self.counts.append(count)
        return self.tape.bits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        if self.tape.place + count > len(self.tape.given):
            self.counts.append(64 * count)
        return self.tape.words(count)


def coin_law(
    program: Callable[[Entropy], object],
    *,
    exhaust: int = 12,
    least: Fraction = Fraction(1, 1 << 100),
    coarse: int | None = None,
) -> Law:
    """The law of ``program`` on fair coins; what is undecided below ``least`` is in the residual.

    Parameters
    ----------
    program : callable
        From an entropy, asked for coins, to an outcome.
    exhaust : int
        Requests of at most so many bits are answered in every way.
    least : Fraction
        Strings of coins of smaller probability are not followed.
    coarse : int, optional
        From the second call of ``words`` on, words take only 2**coarse evenly spread values: for random keys, whose
        order alone matters, and for which ties are then the common case.
    """
    masses: dict[Hashable, tuple[int, int]] = {}
    smallest = (least * ONE).__ceil__()
    waiting: list[tuple[tuple[int, ...], int]] = [((), ONE)]
    runs = seen = 0
    while waiting:
        given, mass = waiting.pop()
        runs += 1
        try:
            outcome = form(program(_Tape(given)))
        except More as more:
            for value, size in _parts(program, given, more, exhaust, coarse):
                if mass * size >> more.count >= smallest:
                    waiting.append(((*given, value), mass * size >> more.count))
        else:
            before, _ = masses.get(outcome, (0, 0))
            masses[outcome] = (before + mass, before + mass)
            seen += mass
    return Law(masses, ONE - seen, runs)


def _parts(
    program: Callable[[Entropy], object], given: tuple[int, ...], more: More, exhaust: int, coarse: int | None
) -> list[tuple[int, int]]:
    """Values of the next request and how many values each stands for."""
    count = more.count
    if count <= exhaust:
        return [(value, 1) for value in range(1 << count)]
    if coarse is not None and more.calls > 1:
        step = 1 << (count - coarse)
        return [((i + 1) * step - 1, step) for i in range(1 << coarse)]

    def key(value: int) -> Key:
        return _behaviour(program, (*given, value), 0), _behaviour(program, (*given, value), 1)

    step = 1 << (count - GRID)
    marks = {value: key(value) for i in range(1 << GRID) for value in (i * step, (i + 1) * step - 1)}
    for first, last in list(pairwise(sorted(marks))):
        _bisect(first, last, key, marks)
    ordered = sorted(marks)
    found: list[tuple[int, int]] = []
    start = 0
    for value, following in pairwise([*ordered, 1 << count]):
        if following == 1 << count or marks[following] != marks[value]:
            found.append((start, following - start))
            for inside in PROBES:
                if key(start + ((following - start) * inside >> FINE)) != marks[start]:
                    raise CheckError("the program does not go by thresholds of its words; enumerate it at fewer bits")
            start = following
    return found


def _bisect(first: int, last: int, key: Callable[[int], Key], marks: dict[int, Key]) -> None:
    """Add marks so that between neighbouring marks nothing changes, or nothing lies."""
    waiting = [(first, last)]
    while waiting:
        low, high = waiting.pop()
        if marks[low] != marks[high] and high - low > 1:
            middle = (low + high) // 2
            marks[middle] = key(middle)
            waiting += [(low, middle), (middle, high)]


def _behaviour(
    program: Callable[[Entropy], object], given: tuple[int, ...], fill: int
) -> tuple[Hashable, tuple[int, ...]]:
    watched = _Watched(_Tape(given, fill), [])
    try:
        return form(program(watched)), tuple(watched.counts)
    except More:
        return "endless", tuple(watched.counts)


def agree(found: Law, law: sampling.Law) -> bool:
    """Whether the law on coins can be the law described: inside its bounds but for the residual, value by value."""
    described = {value: (low, high) for value, low, high in chances(law, 1 << (BITS - 128))}
    for outcome, (mass, _) in found.masses.items():
        value = outcome[1] if isinstance(outcome, tuple) else outcome
        low, high = described.pop(
            int(str(value)) if not isinstance(value, bool) else int(value), (0, 1 << (BITS - 127))
        )
        if not (mass <= high and low <= mass + found.residual):
            return False
    return all(low <= found.residual for low, _ in described.values())


def _value(outcome: Hashable) -> int:
    """The integer or truth value behind a form."""
    assert isinstance(outcome, tuple)
    return int(outcome[1])


# --- tables ----------------------------------------------------------------------------------------------------------


def table_law(table: AliasTable) -> Law:
    """The values of a table's symbols with the words they own; RESIDUAL is the residual.

    Raises
    ------
    CheckError
        Where a threshold lies outside its column, or the words of RESIDUAL are not as many as the table says.
    """
    words = _words(table)
    if words[table.count] != table.residual or any(words[table.count + 1 :]):
        raise CheckError("the residual of the table is not what its columns hold")
    scale = BITS - table.width
    masses: dict[Hashable, tuple[int, int]] = {}
    for symbol, own in enumerate(words[: table.count]):
        masses["int", table.law.value(symbol)] = (own << scale, own << scale)
    return Law(masses, table.residual << scale, 1)


def _words(table: AliasTable) -> list[int]:
    """How many words each symbol owns, from thresholds and aliases."""
    height = 1 << (table.width - table.order)
    words = [0] * (1 << table.order)
    for column, (threshold, alias) in enumerate(zip(table.thresholds.tolist(), table.aliases.tolist(), strict=True)):
        own = threshold - column * height
        if not 0 <= own <= height:
            raise CheckError("a threshold lies outside its column")
        words[column] += own
        words[alias] += height - own
    return words


def floors(found: Law, law: sampling.Law, width: int = WIDTH) -> bool:
    """Whether every symbol has the whole number of words just below its share: all that is left is rounding."""
    described = {value: (low, high) for value, low, high in chances(law, RARE)}
    for outcome, (mass, _) in found.masses.items():
        low, high = described.get(_value(outcome), (0, RARE))
        if not (mass <= high and low < mass + (1 << (BITS - width))):
            return False
    return True


def table_draws(table: AliasTable) -> int:
    """Run the lookups on both sides of every threshold, one at a time and as an array; returns how many words.

    Raises
    ------
    CheckError
        Where a word gives another value than the column's own symbol below the threshold, and its alias from there on.
    """
    height = 1 << (table.width - table.order)
    words: list[int] = []
    expected: list[int] = []
    for column, (threshold, alias) in enumerate(zip(table.thresholds.tolist(), table.aliases.tolist(), strict=True)):
        sides = [(column, column * height, threshold - 1), (alias, threshold, (column + 1) * height - 1)]
        for symbol, first, last in sides:
            if first <= last and symbol < table.count:
                words += [first, last]
                expected += [table.law.value(symbol)] * 2
    for start in range(0, len(words), CHUNK):
        some, wanted = words[start : start + CHUNK], expected[start : start + CHUNK]
        out = np.empty(len(some), np.int64)
        table.draw(planted(word << (64 - table.width) for word in some), out, scratch(len(some)))
        if out.tolist() != wanted or [table.one(planted([word])) for word in some] != wanted:
            raise CheckError("a lookup gives another value than its column says")
    return len(words)


def side_words(table: AliasTable) -> tuple[list[int], list[int]]:
    """Values and words on both sides of every threshold, words of RESIDUAL left out."""
    height = 1 << (table.width - table.order)
    values: list[int] = []
    words: list[int] = []
    for column, (threshold, alias) in enumerate(zip(table.thresholds.tolist(), table.aliases.tolist(), strict=True)):
        for symbol, word in ((column, threshold - 1), (alias, threshold)):
            if symbol < table.count and column * height <= word < (column + 1) * height:
                values.append(table.law.value(symbol))
                words.append(word)
    return values, words


@dataclass(slots=True)
class Planted:
    """An entropy that gives out the words it was made with, and stops at their end."""

    left: list[int]

    def bits(self, count: int) -> int:
        """The next number, which must have at most ``count`` bits."""
        if not self.left:
            raise More(count, 0)
        assert self.left[0] < 1 << count
        return self.left.pop(0)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` numbers."""
        taken, self.left = self.left[:count], self.left[count:]
        if len(taken) < count:
            raise More(64 * count, 0)
        return np.array(taken, np.uint64)


def planted(words: Iterable[int]) -> Planted:
    """A tape of given words."""
    return Planted([int(word) for word in words])
