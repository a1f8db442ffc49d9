"""A table of NumPy arrays that answers queries as ``data.table`` does: one row per person, for tests of statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import cells_on
from reticent.data.order_statistics import ABSENT, LARGEST, Integers, Order, fetched, ordered
from reticent.data.query import (
    POWER_ONE,
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
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
    keys_of,
)
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Category, Column, Person, Schema
from reticent.entropy import Entropy
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting, Step
from reticent.statistics.prepare import prepare
from reticent.statistics.statistic import Statistic


@dataclass(frozen=True)
class Fake:
    """Rows by column; NaN is missing. Groups are asked of a column of whole numbers."""

    schema: Schema
    rows: Mapping[str, NDArray[np.float64]]

    @property
    def size(self) -> int:
        return len(next(iter(self.rows.values())))

    def run(self, query: Query) -> QueryResult:
        keys = keys_of(query)
        if keys is None:
            parts = [np.arange(self.size)]
        else:
            parts = [np.flatnonzero(self.rows[keys.column] == key) for key in keys.among]
        if isinstance(query, Ranks):
            return QueryResult(ranks=tuple(self._ranks(query, part) for part in parts))
        if isinstance(query, OrderedValues):
            return QueryResult(orders=tuple(self._order(query, part) for part in parts))
        if isinstance(query, Records):
            return QueryResult(records=self._records(query))
        return QueryResult(vectors=tuple(self._vector(query, part) for part in parts))

    def _values(self, column: str, part: NDArray[np.int64]) -> NDArray[np.float64]:
        values, declared = self.rows[column][part], self.schema.columns[column]
        if declared.stand_in is not None:
            values = np.where(np.isnan(values), float(declared.stand_in), values)
        return values[~np.isnan(values)]

    def _ranks(self, query: Ranks, part: NDArray[np.int64]) -> Counts:
        cells = cells_on(query.on, self.schema.columns[query.column], query.column)
        if query.weight is not None:
            v = np.floor(self._clipped(query.weight, part) * 2.0**20 + 0.5).astype(np.int64)
            held, place = np.unique(cells.index(self._values(query.column, part)), return_inverse=True)
            sums = np.zeros(len(held), dtype=np.int64)
            np.add.at(sums, place, v if query.power == 1 else _parts(v)[2])
            return Counts(held.astype(np.int64), sums)
        held, counts = np.unique(cells.index(self._values(query.column, part)), return_counts=True)
        return Counts(held.astype(np.int64), counts.astype(np.int64))

    def _order(self, query: OrderedValues, part: NDArray[np.int64]) -> Order:
        whole = ordered(_steps(self._values(query.column, part), query.unit))
        return whole if query.needs is None else fetched(whole, query.needs)

    def _records(self, query: Records) -> Integers:
        cells = []
        for column in query.columns:
            values, declared = self.rows[column], self.schema.columns[column]
            if declared.stand_in is not None:
                values = np.where(np.isnan(values), float(declared.stand_in), values)
            cells.append(values)
        whole = ~np.any(np.isnan(cells), axis=0)
        steps = [_steps(np.where(whole, x, 0.0), unit) for x, unit in zip(cells, query.units, strict=True)]
        found = np.column_stack(steps)
        found[~whole, 0] = ABSENT
        return found[np.lexsort(found.T[::-1])]

    def _clipped(self, weight: Weighing, part: NDArray[np.int64]) -> NDArray[np.float64]:
        """Weights of rows as parts of the largest; no cell may be missing."""
        top = float(weight.highest)
        return np.clip(self.rows[weight.column][part], 0.0, top) / top

    def _vector(self, query: Query, part: NDArray[np.int64]) -> tuple[int, ...]:
        match query:
            case Rows() | DistinctPersons():
                return (len(part),)
            case CappedPersons():
                return (0,)
            case Incomplete(columns=columns):
                return (int(np.any([np.isnan(self.rows[name][part]) for name in columns], axis=0).sum()),)
            case PresentValues(column=column):
                return (len(self._values(column, part)),)
            case Total(column=column, grid=grid):
                values = self._values(column, part)
                return (int(np.clip(np.floor(values * 2.0**grid.bits), grid.lowest, grid.highest).sum()),)
            case Moments(column=column, grid=grid, order=order):
                steps = np.floor(self._values(column, part) * 2.0**grid.bits)
                x = np.clip(steps, grid.lowest, grid.highest).astype(np.int64) - grid.middle
                u = x / grid.reach
                higher = [int(np.floor(u**j * POWER_ONE + 0.5).astype(np.int64).sum()) for j in range(2, order + 1)]
                return (len(x), int(x.sum()), *higher)
            case Tally(column=column, edges=edges, among=among):
                values = self._values(column, part)
                if among:
                    return tuple(int((values == float(key)).sum()) for key in among)
                inner = np.array([float(edge) for edge in edges[1:-1]])
                return tuple(
                    np.bincount(np.searchsorted(inner, values, side="right"), minlength=len(edges) - 1).tolist()
                )
            case WeightedMoments(column=column, weight=weight, grid=grid, order=order):
                v = np.floor(self._clipped(weight, part) * 2.0**20 + 0.5).astype(np.int64)
                powers = [np.ones(len(part), dtype=np.int64)]
                if grid is not None and column is not None:
                    steps = np.clip(np.floor(self.rows[column][part] * 2.0**grid.bits), grid.lowest, grid.highest)
                    x = steps.astype(np.int64) - grid.middle
                    powers.append(x)
                    u = x / grid.reach
                    powers += [np.floor(u**j * POWER_ONE + 0.5).astype(np.int64) for j in range(2, order + 1)]
                return tuple(sum((own * power).tolist()) for own in _parts(v) for power in powers)
            case WeightedTally(column=column, weight=weight, among=among):
                v = np.floor(self._clipped(weight, part) * 2.0**20 + 0.5).astype(np.int64)
                chosen = [self.rows[column][part] == float(key) for key in among]
                return tuple(int(own[one].sum()) for one in chosen for own in _parts(v))
            case KeyHolders() | Ranks() | OrderedValues() | Records():
                raise TypeError("this is no vector")
            case _:
                assert_never(query)


def _parts(v: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """The three parts of weights."""
    square = v * v // 2**20
    return 2**20 - 2 * v + square, 2 * (v - square), square


def _steps(values: NDArray[np.float64], unit: Fraction) -> Integers:
    with np.errstate(over="ignore"):
        return np.floor(np.clip(values / float(unit), -float(LARGEST), float(LARGEST))).astype(np.int64)


def schema_of(column: Column, person: Person, *, groups: Category | None = None) -> Schema:
    return Schema({"x": column} if groups is None else {"x": column, "g": groups}, person)


def answered(step: Step, table: Fake, entropy: Entropy) -> Answer:
    return step.answer([table.run(query) for query in step.queries], entropy)


def ask(statistic: Statistic, table: Fake, setting: Setting, epsilon: str, entropy: Entropy) -> Answer:
    """Prepare, run and answer."""
    from reticent.privacy.numbers import read

    return answered(prepare(statistic, setting, read(epsilon, "epsilon")), table, entropy)
