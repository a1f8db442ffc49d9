"""Whole statistics on all tiny tables: read by the engine, prepared and answered by the code a release runs.

Tables are all multisets of up to a few persons, each with rows from a small alphabet with a missing value. The engine
reads each of them once, with one key for the choice of rows: the key is drawn before and apart from the data, so a
guarantee for every key is one for a random key. What was read goes through ``Step.answer`` as in a release.

Noise in units of 2**-20 of a row is too fine to enumerate. For ``Mean`` and ``Variance`` the integers the mechanism is
handed are watched instead: their largest distance over the scale is epsilon exactly, by the law of the mechanism, which
is enumerated elsewhere; and that the answer depends on the data through the released integers alone is checked by
planting the same released integers for all tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Final, TypeAlias, cast

import attrs

from reticent.data.query import Keys, Query
from reticent.data.query_result import QueryResult, content
from reticent.data.schema import Column, Person, Schema, category, integer
from reticent.data.table import KEY_BYTES, open_table
from reticent.entropy import Replayed
from reticent.errors import CheckError
from reticent.mechanisms.gate import Recorder
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP, words
from reticent.statistics.context import Setting, Step
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.persons import Persons
from reticent.statistics.counts.total import Sum
from reticent.statistics.moments.mean import Mean
from reticent.statistics.moments.moment_step import UNIT, MomentStep
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.moments.variance import Variance
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.median import Median
from reticent.statistics.quantiles.quantiles import Quantiles
from reticent.statistics.statistic import Statistic
from tests.assurance.claims import Line, Verdict, verify
from tests.assurance.laws import form

Row: TypeAlias = tuple[float | None, str | None]  # x, g
Record: TypeAlias = tuple[Row, ...]
Tiny: TypeAlias = tuple[Record, ...]
Read: TypeAlias = tuple[QueryResult, ...]

EDGES: Final = (Fraction(0), Fraction(1), Fraction(2))
GROUPS: Final = ("a", "b")
KEY: Final = bytes(range(KEY_BYTES))
ALPHABET: Final[tuple[Row, ...]] = ((0.0, "a"), (2.0, "a"), (None, "b"), (1.0, None))
FEW: Final[tuple[Row, ...]] = ((0.0, "a"), (2.0, "b"), (None, "b"))


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what it may cost for each row that may come or go between neighbours, and whether it is by group."""

    asked: Statistic
    epsilon: Fraction
    keyed: bool = False


MEDIAN: Final = Median("x", interval=False)
ALWAYS: Final = Median("y", interval=False)  # y is x with 1 for missing
CASES: Final = (
    Case(Count(), Fraction(2)),
    Case(Count(), Fraction(6), keyed=True),
    Case(Persons(), Fraction(2)),
    Case(Sum("x"), Fraction(2)),
    Case(Histogram("x", edges=EDGES), Fraction(6)),
    Case(Histogram("g"), Fraction(6)),
    Case(Proportion("g", value="a"), Fraction(8)),
)
WATCHED: Final = (
    Case(Mean("x"), Fraction(1)),
    Case(Mean("x", interval=False), Fraction(1)),
    Case(Mean("x"), Fraction(1), keyed=True),
    Case(Variance("x"), Fraction(1)),
)
SIZED: Final = (Case(ALWAYS, Fraction(20)),)  # where the number of values is public
ENOUGH: Final = (Case(attrs.evolve(ALWAYS, interval=True), Fraction(40)),)  # for eight values: an interval is possible
UNSIZED: Final = (Case(MEDIAN, Fraction(120)), Case(ALWAYS, Fraction(120)))
QUARTERS: Final = Quantiles("x", (Fraction(1, 4), Fraction(3, 4)), interval=False)
DEEP: Final = (
    Case(Histogram("x", edges=EDGES), Fraction(8), keyed=True),
    Case(QUARTERS, Fraction(240)),
)


def tiny_tables(rows: Sequence[Row], *, persons: int, each: int = 1) -> list[Tiny]:
    """All tables of up to ``persons`` persons with 1 to ``each`` rows, up to the order of persons and of their rows."""
    records = [record for size in range(1, each + 1) for record in combinations_with_replacement(rows, size)]
    return [table for size in range(persons + 1) for table in combinations_with_replacement(records, size)]


def neighbours(tables: Sequence[Tiny], kind: Kind) -> Iterator[tuple[int, int]]:
    """All pairs that differ in one person: one more, or another record."""
    held = [Counter(table) for table in tables]
    for i, j in combinations(range(len(tables)), 2):
        apart = (held[i] - held[j]).total(), (held[j] - held[i]).total()
        if apart == (1, 1) if kind == "substitute" else apart in ((0, 1), (1, 0)):
            yield i, j


def schema_of(kind: Kind, rows: int) -> Schema:
    """Integers x and y from 0 to 2 and groups g; a person column where one person may have several rows."""
    columns: dict[str, Column] = {"x": integer(0, 2), "y": integer(0, 2, missing=1), "g": category(GROUPS)}
    return Schema(columns, Person(kind, None if rows == 1 else "who", rows))


def read(table: Tiny, queries: Sequence[Query], schema: Schema) -> dict[Query, QueryResult]:
    """What the engine answers."""
    import pyarrow as pa

    listed = [(f"p{place}", *row) for place, record in enumerate(table) for row in record]
    who, x, g = zip(*listed, strict=True) if listed else ((), (), ())
    numbers = pa.array(x, pa.float64())
    data = {"who": pa.array(who, pa.string()), "x": numbers, "y": numbers, "g": pa.array(g, pa.string())}
    if schema.person.column is None:
        del data["who"]
    found = open_table(pa.table(data), schema).run(queries, KEY)
    return dict(zip(queries, found, strict=True))


def verified(
    cases: Sequence[Case], kind: Kind, tables: Sequence[Tiny], *, rows: int = 1, size: int | None = None
) -> Iterator[Line]:
    """One line for each case, over all neighbours among ``tables``; ``size`` is the public number of persons."""
    schema = schema_of(kind, rows)
    plain = [table for table in tables if size is None or len(table) == size]
    moved = rows * (2 if kind == "substitute" else 1)
    steps = [prepare(case.asked, _setting(case, schema, size), case.epsilon * moved) for case in cases]
    queries = list(dict.fromkeys(query for step in steps for query in step.queries))
    engine = [read(table, queries, schema) for table in plain]
    pairs = list(neighbours(plain, kind))
    title = f"{kind}, at most {rows} rows each" + ("" if size is None else f", {size} persons")
    for step in steps:
        found = [tuple(one[query] for query in step.queries) for one in engine]
        yield judged(f"{step.name} ({title})", step, found, pairs)


def _setting(case: Case, schema: Schema, size: int | None) -> Setting:
    rows = schema.person.rows
    return Setting(schema, size, Keys("g", GROUPS, min(rows, len(GROUPS))) if case.keyed else None)


def judged(name: str, step: Step, found: Sequence[Read], pairs: Sequence[tuple[int, int]]) -> Line:
    """One step over tables as they were read. Tables that are read alike have one law; their pairs need no look."""
    places: dict[Hashable, int] = {}
    kinds = [places.setdefault(_content(one), len(places)) for one in found]
    distinct = [found[kinds.index(kind)] for kind in range(len(places))]
    apart = sorted({(min(kinds[i], kinds[j]), max(kinds[i], kinds[j])) for i, j in pairs if kinds[i] != kinds[j]})
    loss = step.guarantee.loss
    assert isinstance(loss, PureDP)
    if isinstance(step, MomentStep):
        line = _watched(name, step, distinct, apart)
    else:
        line = verify(name, lambda one, entropy: step.answer(one, entropy), distinct, apart, loss)
    return replace(line, tables=len(found), pairs=len(pairs))


def _content(found: Read) -> Hashable:
    return tuple(content(one) for one in found)


# --- noise too fine to enumerate -------------------------------------------------------------------------------------


def _planted() -> list[tuple[int, ...]]:
    """Released integers of few and of many rows, even and uneven, below and above what is possible."""
    sizes = (0, 3 * UNIT, 40 * UNIT, 400 * UNIT)
    shapes = ((1, 1, 1, 1, 1), (1, 2, 1, 3, 1), (5, 1, -1, 1, 2), (2, -1, 1, 0, 1))
    return [tuple(size * share + 7 * share for share in shape) for size in sizes for shape in shapes]


def _handed(step: MomentStep, one: Read, planted: tuple[int, ...]) -> tuple[Sequence[int], Hashable]:
    """What the mechanism is handed for one table, and the answer to what was planted."""
    recorder = Recorder(lambda mechanism, exact, start: _cut(planted, exact), Replayed(0))
    answer = step.answer(one, recorder)
    if len(recorder.calls) != 1 or recorder.calls[0].mechanism != step.mechanism or recorder.tossed:
        raise CheckError("the step does not draw once, from its own mechanism")
    return cast(Sequence[int], recorder.calls[0].exact), form(answer)  # what a geometric mechanism is handed


def _cut(planted: tuple[int, ...], exact: object) -> tuple[int, ...]:
    assert isinstance(exact, Sequence)
    return tuple(planted[place % len(planted)] for place in range(len(exact)))


def _watched(name: str, step: MomentStep, found: Sequence[Read], pairs: Sequence[tuple[int, int]]) -> Line:
    """Epsilon from what the mechanism is handed; the answer from what it released and nothing else."""
    seen = [[_handed(step, one, planted) for one in found] for planted in _planted()]
    exact = [vector for vector, _ in seen[0]]
    alone = all([v for v, _ in row] == exact and len({answer for _, answer in row}) == 1 for row in seen)
    moved = [sum(abs(a - b) for a, b in zip(exact[i], exact[j], strict=True)) for i, j in pairs]
    loss = step.guarantee.loss
    assert isinstance(loss, PureDP)
    reached = Fraction(max(moved, default=0)) / step.mechanism.scale
    what = f"integers handed to the mechanism; {len(seen)} planted releases, each answered alike for all tables"
    verdict: Verdict = "holds" if reached <= loss.epsilon and alone else "refuted"
    none = Fraction(0)
    attained = reached / loss.epsilon
    return Line(name, what, words(loss), len(found), len(pairs), len(seen), none, none, attained, verdict)


def pipelines(*, deep: bool = False) -> Iterator[Line]:
    """Every case, under both relations: one row each, then persons with up to two rows."""
    alone = tiny_tables(ALPHABET, persons=3 if deep else 2)
    couples = tiny_tables(FEW if deep else FEW[:2], persons=2, each=2)
    cases = (*CASES, *WATCHED)
    yield from verified(cases, "add_remove", alone)
    yield from verified(cases, "add_remove", couples, rows=2)
    for size in (1, 2, 3) if deep else (2,):
        yield from verified((*cases, *SIZED), "substitute", alone, size=size)
    yield from verified(cases, "substitute", couples, rows=2, size=2)
    if deep:
        yield from verified((*DEEP, *UNSIZED), "add_remove", tiny_tables(ALPHABET, persons=2))
        yield from verified(DEEP, "substitute", tiny_tables(ALPHABET[:3], persons=2), size=2)
        yield from verified(UNSIZED, "add_remove", tiny_tables(FEW[:2], persons=2, each=2), rows=2)
        yield from verified(ENOUGH, "substitute", tiny_tables(FEW[:2], persons=8), size=8)
    else:
        yield from verified(UNSIZED[:1], "add_remove", tiny_tables(ALPHABET, persons=1))
