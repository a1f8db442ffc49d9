"""Statistics of several choices among many candidates, on all tiny tables: what each draw may lose, added up exactly.

Candidates of a quantile without bounds are too many to list branch by branch, and what is drawn decides what is drawn
next. So one path of released values is planted, the same for all tables: each answers as in a release, and every call
is told the numbers of its own table. Between neighbours a call loses at most

    a choice     rate x (greatest - least change of a candidate's score)
    an integer   the L1 distance over the scale of the noise

The first because P(c) is m(c) exp(-rate s(c)) / Z, and ln Z falls by at most the rate times the greatest change; that
the mechanisms have these laws is enumerated elsewhere. The sum along a path is what sequential composition charges for
these tables; the largest over all pairs and paths is held against the claim. Control flow, mechanisms, weights and the
answer to a planted path must not depend on the table. It is a proof for the paths planted: each starts at another table
and visits other edges of its runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, Final, TypeAlias, cast
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from reticent.data.query_result import QueryResult, content
from reticent.data.schema import Column, Person, Schema, integer, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.errors import CheckError
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Call, Recorder
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP, words
from reticent.statistics import rank_blocks
from reticent.statistics.context import Setting, Step
from reticent.statistics.moments.log_mean import LogMean
from reticent.statistics.moments.mean import Mean
from reticent.statistics.options import Clipped
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.median import Median
from reticent.statistics.quantiles.quantiles import Quantiles
from reticent.statistics.regression.regress import Regression
from reticent.statistics.robust.location import Location
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.statistic import Statistic
from tests.assurance.claims import Line, Verdict
from tests.assurance.laws import form
from tests.assurance.pipelines import KEY

UNENDED: Final = 1 << 30  # of ``rank_blocks.SURE``: a ceiling above all scores here
PATHS: Final = 4
Row: TypeAlias = tuple[int, ...]
Rows: TypeAlias = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A question and its tables, all of ``sizes`` rows: under substitution that number is public, else it is not."""

    asked: Statistic
    kind: Kind
    sizes: tuple[int, ...]
    epsilon: Fraction
    rows: Rows = ((0,), (3,), (9,))


LINE: Final = ((0, 0), (4, 1), (1, 9))
SIZES: Final[tuple[tuple[Kind, tuple[int, ...]], ...]] = (("substitute", (5,)), ("add_remove", (5, 6)))
LARGER: Final[tuple[tuple[Kind, tuple[int, ...]], ...]] = (("substitute", (24,)), ("add_remove", (24, 25)))
QUARTERS: Final = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def cases(*, deep: bool = False) -> Iterator[Case]:
    """Both relations where both are offered."""
    many = Fraction(600)
    columns: tuple[Statistic, ...] = (
        Quantiles("x", QUARTERS, method="joint"),
        Iqr("x", method="joint"),
        Location("x"),
    )
    few = ((0,), (3,), (9,)) if deep else ((0,), (9,))
    for (kind, size), asked in product(SIZES, columns):
        yield Case(asked, kind, size, many, few)
    for (kind, size), asked in product(LARGER, free_columns(deep=deep)):
        yield Case(asked, kind, size, many, ((-3,), (1000,)))
    for kind, size in (("substitute", (12,)), SIZES[1]):  # fewer values of a public number have no answer
        yield Case(Mean("x", method="clipped"), kind, size, many, few)
        yield Case(Mean("x", method=Clipped(tail="normal")), kind, size, many, few)
        yield Case(LogMean("x"), kind, size, many, few)
    yield Case(TrimmedMean("x", Fraction(1, 5), method="inverse"), "substitute", (5,), many, few)
    for slope in (Regression("y ~ x", method="theil_sen"), Regression("y ~ x", method="block_medians")):
        yield Case(slope, "substitute", (8,) if deep else (6,), many, LINE)


def free_columns(*, deep: bool = False) -> Iterator[Statistic]:
    """Questions of columns without bounds, real and whole: a magnitude, and draws about it."""
    for column in ("free", "whole") if deep else ("free",):
        yield Median(column)
        yield Iqr(column)
        if deep:
            yield Iqr(column, method="separate")
            yield Location(column)


def lines(*, deep: bool = False) -> Iterator[Line]:
    """A line for each case."""
    for case in cases(deep=deep):
        yield verified(case, paths=4 * PATHS if deep else PATHS)


def verified(case: Case, *, paths: int = PATHS) -> Line:
    """The line of one case, with scores that do not end: where they do, so small a table loses less than it may."""
    with patch.object(rank_blocks, "SURE", UNENDED):
        return _verified(case, paths)


def _verified(case: Case, paths: int) -> Line:
    schema = schema_of(case.kind)
    n = case.sizes[0] if case.kind == "substitute" else None
    step = prepare(case.asked, Setting(schema, n, None, None), case.epsilon)
    tables, pairs = neighbouring(case)
    found = [read(table, step, schema) for table in tables]
    return judged(f"{step.name} ({case.kind}, {' or '.join(map(str, case.sizes))} rows)", step, found, pairs, paths)


def schema_of(kind: Kind) -> Schema:
    """Columns with and without bounds; a value stands for a missing one, so that n is public under substitution."""
    columns: dict[str, Column] = {"x": integer(0, 9, missing=0), "y": integer(0, 9, missing=0)}
    columns |= {"free": real(missing=0), "whole": integer(missing=0)}
    return Schema(columns, Person(kind))


def neighbouring(case: Case) -> tuple[list[Rows], list[tuple[int, int]]]:
    """Tables, and pairs where one row in its place is another, or one row is gone.

    Columns: all of them. Rows of several columns keep their places, for what is dealt out by coins is dealt out alike
    to neighbours: a few tables and all their neighbours.
    """
    if case.kind == "add_remove":
        tables = [table for size in case.sizes for table in combinations_with_replacement(case.rows, size)]
    elif len(case.rows[0]) == 1:
        tables = list(combinations_with_replacement(case.rows, case.sizes[0]))
    else:
        mixed = [tuple(case.rows[turn * place % len(case.rows)] for place in range(case.sizes[0])) for turn in (1, 2)]
        tables = list(dict.fromkeys(table for one in mixed for table in (one, *_replaced(one, case.rows))))
    places = {table: place for place, table in enumerate(tables)}
    other = _removed if case.kind == "add_remove" else lambda table: _replaced(table, case.rows)
    found = {(places[near], i) for table, i in places.items() for near in other(table) if near in places}
    return tables, sorted({(min(pair), max(pair)) for pair in found})


def _replaced(table: Rows, rows: Rows) -> list[Rows]:
    """One row is another; a single column has no order of rows."""
    changed = [
        (*table[:place], row, *table[place + 1 :])
        for place, row in product(range(len(table)), rows)
        if row != table[place]
    ]
    return [tuple(sorted(one)) for one in changed] if len(rows[0]) == 1 else changed


def _removed(table: Rows) -> list[Rows]:
    return [(*table[:place], *table[place + 1 :]) for place in range(len(table))]


def read(table: Rows, step: Step, schema: Schema) -> tuple[QueryResult, ...]:
    """What the engine answers."""
    import pyarrow as pa

    names = ("x", "y")[: len(table[0])]
    data = {name: pa.array([row[place] for row in table], pa.float64()) for place, name in enumerate(names)}
    data |= dict.fromkeys(("free", "whole"), data["x"])
    for name in schema.columns.keys() - data.keys():
        data[name] = pa.array([0.0] * len(table), pa.float64())
    return tuple(open_table(pa.table(data), schema).run(step.queries, KEY))


# --- one path --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    """The outputs of a path: chosen while its first table is answered, repeated for the others."""

    path: int
    outputs: list[object] = field(default_factory=list)
    place: int = 0

    def respond(self, mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if self.place == len(self.outputs):
            self.outputs.append(self._chosen(mechanism, exact, start))
        self.place += 1
        return self.outputs[self.place - 1]

    def _chosen(self, mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        turn = self.path * (2 * self.place + 3) + self.place
        if start is not None:
            edges = np.unique(np.concatenate([start[:-1], start[1:] - 1]))
            return int(edges[turn % len(edges)])
        if isinstance(exact, Candidates):
            return turn % len(exact.scores)  # a short public list
        assert isinstance(mechanism, Geometric)
        away = (turn % 3 - 1) * round(mechanism.scale)
        return tuple(x + away for x in cast(Sequence[int], exact))  # integers, by its type


@dataclass(frozen=True, slots=True)
class _Answered:
    """What one table showed on one path."""

    terms: tuple[_Term, ...]  # one for each call
    answer: Hashable


def _answered(step: Step, one: tuple[QueryResult, ...], told: _Told) -> _Answered:
    told.place = 0
    recorder = Recorder(told.respond, Replayed("rows are dealt out alike"))
    answer = form(step.answer(one, recorder))
    return _Answered(tuple(_Term.of(call) for call in recorder.calls), answer)


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """The numbers one call was handed."""

    mechanism: object
    exact: tuple[int, ...] = ()
    start: NDArray[np.int64] | None = None
    scores: NDArray[np.int64] | None = None
    weights: NDArray[Any] | None = None

    @classmethod
    def of(cls, call: Call) -> _Term:
        if isinstance(call.mechanism, Geometric):
            return cls(call.mechanism, tuple(cast(Sequence[int], call.exact)))  # integers, by its type
        if isinstance(call.mechanism, Exponential) and isinstance(call.exact, Candidates):
            start = np.arange(len(call.exact.scores) + 1) if call.start is None else call.start
            return cls(call.mechanism, (), start, call.exact.scores, np.asarray(call.exact.weights))
        raise CheckError(f"a call of {type(call.mechanism).__name__} is not compared draw by draw")

    def loss(self, there: _Term) -> Fraction | None:
        """The most of abs(ln P(here) / P(there)) over all outputs; None where the public part differs."""
        if self.mechanism != there.mechanism or (self.start is None) != (there.start is None):
            return None
        if isinstance(self.mechanism, Geometric):
            return sum(abs(x - y) for x, y in zip(self.exact, there.exact, strict=True)) / self.mechanism.scale
        assert isinstance(self.mechanism, Exponential)
        moved = self._moved(there)
        return None if moved is None else self.mechanism.rate * moved

    def _moved(self, there: _Term) -> int | None:
        """The range of changes of possible candidates' scores; None where candidates or weights differ."""
        assert self.start is not None
        assert there.start is not None
        if self.start[0] != there.start[0] or self.start[-1] != there.start[-1]:
            return None
        edges = np.unique(np.concatenate([self.start, there.start]))[:-1]
        (here_s, here_w), (there_s, there_w) = self._at(edges), there._at(edges)
        if here_w != there_w:
            return None
        possible = np.array([weight > 0 for weight in here_w], bool)
        change = (there_s - here_s)[possible]
        return int(change.max()) - int(change.min())

    def _at(self, edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Fraction | int]]:
        """The score and the weight of the candidates that begin at each edge."""
        assert self.start is not None
        assert self.scores is not None
        assert self.weights is not None
        place = np.searchsorted(self.start, edges, side="right") - 1
        lengths = np.diff(self.start)
        if (lengths == 1).all():
            return self.scores[place], [int(weight) for weight in self.weights[place]]
        each = [Fraction(int(w), int(k)) if k else Fraction(0) for w, k in zip(self.weights, lengths, strict=True)]
        return self.scores[place], [each[at] for at in place.tolist()]


# --- all paths -------------------------------------------------------------------------------------------------------


def judged(
    name: str,
    step: Step,
    found: Sequence[tuple[QueryResult, ...]],
    pairs: Sequence[tuple[int, int]],
    paths: int = PATHS,
) -> Line:
    """The largest sum of losses over pairs and paths, against the claim; tables that are read alike need no look."""
    loss = step.guarantee.loss
    assert isinstance(loss, PureDP)
    reached, alike, calls = Fraction(0), True, 0
    apart = [pair for pair in pairs if content_of(found[pair[0]]) != content_of(found[pair[1]])]
    for path in range(paths):
        told = _Told(path)
        first = path * (len(found) // paths + 1) % len(found)
        base = _answered(step, found[first], told)
        seen = [base if place == first else _answered(step, one, told) for place, one in enumerate(found)]
        alike = alike and len({one.answer for one in seen}) == 1 and len({len(one.terms) for one in seen}) == 1
        if not alike:
            break
        calls = max(calls, len(base.terms))
        for i, j in apart:
            terms = [here.loss(there) for here, there in zip(seen[i].terms, seen[j].terms, strict=True)]
            known = [term for term in terms if term is not None]
            alike = alike and len(known) == len(terms)
            reached = max(reached, sum(known, Fraction(0)))
    verdict: Verdict = "holds" if reached <= loss.epsilon and alike else "refuted"
    what = f"draw by draw, {calls} draws, losses added up; {paths} planted paths, each answered alike for all tables"
    none, attained = Fraction(0), reached / loss.epsilon
    return Line(name, what, words(loss), len(found), len(pairs), paths, none, none, attained, verdict)


def content_of(found: tuple[QueryResult, ...]) -> Hashable:
    """All that was read."""
    return tuple(content(one) for one in found)
