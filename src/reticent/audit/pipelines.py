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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Final, TypeAlias, cast

from reticent.audit.claims import Line, verify
from reticent.audit.laws import form
from reticent.data.query import Keys, Query
from reticent.data.schema import Column, Person, Schema, category, integer
from reticent.data.table import KEY_BYTES, Result, open_table
from reticent.entropy import Entropy, Replayed
from reticent.errors import CheckError
from reticent.mechanisms import Geometric
from reticent.privacy.adjacency import Kind
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP, words
from reticent.statistics.asked import Count, Histogram, Mean, People, Proportion, Quantiles, Statistic, Sum, Variance
from reticent.statistics.moments import MomentStep
from reticent.statistics.prepare import prepare
from reticent.statistics.setting import Setting, Step
from reticent.statistics.soft import UNIT

Row: TypeAlias = tuple[float | None, str | None]  # x, g
Record: TypeAlias = tuple[Row, ...]
Tiny: TypeAlias = tuple[Record, ...]
Read: TypeAlias = tuple[Result, ...]

EDGES: Final = (Fraction(0), Fraction(1), Fraction(2))
GROUPS: Final = ("a", "b")
KEY: Final = bytes(range(KEY_BYTES))
ALPHABET: Final[tuple[Row, ...]] = ((0.0, "a"), (2.0, "a"), (None, "b"), (1.0, None))
FEW: Final[tuple[Row, ...]] = ((0.0, "a"), (2.0, "b"), (None, "b"))


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what it may cost, whether it is asked by group, and the smallest branch that is entered."""

    asked: Statistic
    epsilon: Fraction
    keyed: bool = False
    least: Fraction | None = None


FAINT: Final = Fraction(1, 1 << 60)
MEDIAN: Final = Quantiles("x", (Fraction(1, 2),), verb="median", interval=False)
ALWAYS: Final = Quantiles("y", (Fraction(1, 2),), verb="median", interval=False)  # y is x with 1 for missing
CASES: Final = (
    Case(Count(), Fraction(1)),
    Case(Count(), Fraction(4), keyed=True),
    Case(People(), Fraction(1)),
    Case(Sum("x"), Fraction(1)),
    Case(Histogram("x", edges=EDGES), Fraction(4)),
    Case(Histogram("g"), Fraction(4)),
    Case(Proportion("g", value="a"), Fraction(6)),
    Case(ALWAYS, Fraction(60), least=FAINT),
)
WATCHED: Final = (
    Case(Mean("x"), Fraction(1)),
    Case(Mean("x", interval=False), Fraction(1)),
    Case(Mean("x"), Fraction(1), keyed=True),
    Case(Variance("x"), Fraction(1)),
)
DEEP: Final = (
    Case(Histogram("x", edges=EDGES), Fraction(8), keyed=True),
    Case(MEDIAN, Fraction(60), least=FAINT),
    Case(replace(ALWAYS, interval=True), Fraction(120), least=FAINT),
    Case(Quantiles("x", (Fraction(1, 4), Fraction(3, 4)), interval=False), Fraction(100), least=FAINT),
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


def read(table: Tiny, queries: Sequence[Query], schema: Schema) -> dict[Query, Result]:
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
    steps = [prepare(case.asked, _setting(case, schema, size), case.epsilon) for case in cases]
    queries = list(dict.fromkeys(query for step in steps for query in step.queries))
    engine = [read(table, queries, schema) for table in plain]
    pairs = list(neighbours(plain, kind))
    title = f"{kind}, at most {rows} rows each" + ("" if size is None else f", {size} persons")
    for case, step in zip(cases, steps, strict=True):
        found = [tuple(one[query] for query in step.queries) for one in engine]
        yield _line(f"{step.name} ({title})", step, case, found, pairs)


def _setting(case: Case, schema: Schema, size: int | None) -> Setting:
    rows = schema.person.rows
    return Setting(schema, size, Keys("g", GROUPS, min(rows, len(GROUPS))) if case.keyed else None)


def _line(name: str, step: Step, case: Case, found: Sequence[Read], pairs: Sequence[tuple[int, int]]) -> Line:
    """Tables that are read alike have one law; their pairs need no look."""
    places: dict[Hashable, int] = {}
    kinds = [places.setdefault(_content(one), len(places)) for one in found]
    distinct = [found[kinds.index(kind)] for kind in range(len(places))]
    apart = sorted({(min(kinds[i], kinds[j]), max(kinds[i], kinds[j])) for i, j in pairs if kinds[i] != kinds[j]})
    loss = step.guarantee.loss
    assert isinstance(loss, PureDP)
    if isinstance(step, MomentStep):
        line = _watched(name, step, distinct, apart)
    else:
        line = verify(name, lambda one, entropy: step.answer(one, entropy), distinct, apart, loss, least=case.least)
    return replace(line, tables=len(found), pairs=len(pairs))


def _content(found: Read) -> Hashable:
    return tuple((one.vectors, tuple((r.cells.tobytes(), r.counts.tobytes()) for r in one.ranks)) for one in found)


# --- noise too fine to enumerate -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Watched:
    """A geometric mechanism that notes what it is handed, and releases what was planted."""

    mechanism: Geometric
    planted: tuple[int, ...] = ()
    handed: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def scale(self) -> Fraction:
        return self.mechanism.scale

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """What was planted, cut to the length of what is handed."""
        self.handed.append(tuple(exact))
        return tuple(self.planted[i % len(self.planted)] for i in range(len(exact)))


def _planted() -> list[tuple[int, ...]]:
    """Released integers of few and of many rows, even and uneven, below and above what is possible."""
    sizes = (0, 3 * UNIT, 40 * UNIT, 400 * UNIT)
    shapes = ((1, 1, 1, 1, 1), (1, 2, 1, 3, 1), (5, 1, -1, 1, 2), (2, -1, 1, 0, 1))
    return [tuple(size * share + 7 * share for share in shape) for size in sizes for shape in shapes]


def _watched(name: str, step: MomentStep, found: Sequence[Read], pairs: Sequence[tuple[int, int]]) -> Line:
    """Epsilon from what the mechanism was handed; the answer from what it released and nothing else."""
    watched = Watched(step.mechanism)
    shown = replace(step, mechanism=cast(Geometric, watched))  # stands in for what the step uses of one
    handed: list[tuple[int, ...]] = []
    answers: list[set[Hashable]] = []
    for planted in _planted():
        watched.planted, watched.handed = planted, []
        answers.append({form(shown.answer(one, Replayed(0))) for one in found})
        if handed and handed != watched.handed:
            raise CheckError("what is handed to the mechanism depends on what it released before")
        handed = watched.handed
    if len(handed) != len(found):
        raise CheckError("the mechanism was not called once for each table")
    moved = [sum(abs(a - b) for a, b in zip(handed[i], handed[j], strict=True)) for i, j in pairs]
    loss = step.guarantee.loss
    assert isinstance(loss, PureDP)
    reached = Fraction(max(moved, default=0)) / step.mechanism.scale
    alone = all(len(one) == 1 for one in answers)
    return Line(
        name,
        f"integers handed to the mechanism; {len(answers)} planted releases answered alike by all tables",
        words(loss),
        len(found),
        len(pairs),
        len(answers),
        Fraction(0),
        Fraction(0),
        reached / loss.epsilon,
        "holds" if reached <= loss.epsilon and alone else "refuted",
    )


def pipelines(*, deep: bool = False) -> Iterator[Line]:
    """Every case, under both relations: one row each, then persons with up to two rows."""
    alone = tiny_tables(ALPHABET, persons=3 if deep else 2)
    with_rows = tiny_tables(ALPHABET[:3] if deep else FEW[:2], persons=2, each=2)
    cases = (*CASES, *WATCHED, *(DEEP if deep else ()))
    yield from verified(cases, "add_remove", alone)
    yield from verified(cases, "add_remove", with_rows, rows=2)
    for size in (1, 2, 3) if deep else (2,):
        yield from verified(cases, "substitute", alone, size=size)
    yield from verified(cases, "substitute", with_rows, rows=2, size=2)
