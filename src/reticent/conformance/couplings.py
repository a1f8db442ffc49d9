"""Records dealt out by coins: two neighbouring tables in an order in which the same coin meets the same record.

Blocks of rows, a test part, random pairs: coins fall on places and do not look at records, so every order of the
records has the same law. With the records of both tables in one order, those that both have first, neighbours are
compared as in the proofs: the same coins, and only the records of the person who differs go elsewhere.

A regression for a public number of records is given that many: made-up records of a normal shape, the same for both
tables, stand behind those that were read (``filled``). With so many, tests pass and what lies behind them is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from reticent.data.expression_tree import Tree
from reticent.data.order_statistics import Integers
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema

if TYPE_CHECKING:
    from reticent.study.allocation import PreparedRelease

KEY_BITS: Final = 256  # tossed outside the gate: the key by which rows are kept
WORD: Final = 64  # and a word for each record, where records are dealt out
UNKNOWN: Final = 60  # records more where no number is known


class QueryRunner(Protocol):
    """Anything that answers queries as ``Table.run`` does."""

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]: ...


@dataclass(slots=True)
class RecordCounter:
    """A table that notes how many records it gave, and of how many persons where it told whose they are."""

    rows: QueryRunner
    records: set[int] = field(default_factory=set)

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """Answer queries, and note the records that they gave.

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
        found = self.rows.run(queries, key, schema)
        self.records.update(len(one.records) for one in found if one.records is not None)
        self.records.update(int(one.owners.max(initial=-1)) + 1 for one in found if one.owners is not None)
        return found


@dataclass(slots=True)
class PairedResults:
    """The results of both tables with their records in one order, once for each pair."""

    known: dict[
        tuple[tuple[Query, ...], bytes, tuple[Tree | None, Person] | None], tuple[list[QueryResult], list[QueryResult]]
    ] = field(default_factory=dict)


@dataclass(slots=True)
class OrderedNeighbour:
    """One of two neighbours, whose records come in one order: those that both have, then its own."""

    here: QueryRunner
    there: QueryRunner
    together: PairedResults
    other: bool

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """Answer queries, with the records of both tables in one order.

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
        if asked not in self.together.known:
            pairs = zip(self.here.run(queries, key, schema), self.there.run(queries, key, schema), strict=True)
            mine, theirs = zip(*(_ordered(one, other) for one, other in pairs), strict=True)
            self.together.known[asked] = (list(mine), list(theirs))
        return self.together.known[asked][self.other]


def in_one_order(here: QueryRunner, there: QueryRunner) -> tuple[QueryRunner, QueryRunner]:
    """Both tables, read as they are, with their records in one order."""
    together = PairedResults()
    return OrderedNeighbour(here, there, together, other=False), OrderedNeighbour(here, there, together, other=True)


def _ordered(one: QueryResult, other: QueryResult) -> tuple[QueryResult, QueryResult]:
    if one.records is None or other.records is None:
        return one, other
    if one.owners is not None and other.owners is not None:
        return _ordered_by_person(one, one.records, one.owners, other, other.records, other.owners)
    mine, theirs = _counted(one.records), _counted(other.records)
    both = mine & theirs
    first, second = (
        np.array([*both.elements(), *(own - both).elements()], np.int64).reshape(records.shape)
        for own, records in ((mine, one.records), (theirs, other.records))
    )
    return replace(one, records=first), replace(other, records=second)


def _ordered_by_person(
    one: QueryResult, records: Integers, owners: Integers, other: QueryResult, others: Integers, theirs: Integers
) -> tuple[QueryResult, QueryResult]:
    """The persons that both tables have, then those of each, numbered in that order."""
    first, second = _persons(records, owners), _persons(others, theirs)
    both = first & second
    found = []
    for result, own in ((one, first), (other, second)):
        persons = [*both.elements(), *(own - both).elements()]
        rows = [record for person in persons for record in person]
        whose = [place for place, person in enumerate(persons) for _ in person]
        shape = (len(rows), records.shape[1])
        found.append(replace(result, records=np.array(rows, np.int64).reshape(shape), owners=np.array(whose, np.int64)))
    return found[0], found[1]


def _persons(records: Integers, owners: Integers) -> Counter[tuple[tuple[int, ...], ...]]:
    """The records of each person, as often as there are such persons."""
    of: dict[int, list[tuple[int, ...]]] = {}
    for record, owner in zip(records.tolist(), owners.tolist(), strict=True):
        of.setdefault(owner, []).append(tuple(record))
    return Counter(tuple(sorted(person)) for person in of.values())


def _counted(records: Integers) -> Counter[tuple[int, ...]]:
    return Counter(tuple(record) for record in records.tolist())


# --- as many as are public --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PaddedTable:
    """A table whose answers to some queries have more records, of which ``most`` is the number in all, if any."""

    rows: QueryRunner
    more: Mapping[Query, ExtraRecords]

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """Answer queries, with the records that were added.

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
        found = self.rows.run(queries, key, schema)
        return [
            _more(one, self.more[query]) if query in self.more else one
            for query, one in zip(queries, found, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ExtraRecords:
    """Made-up records, and how many there are to be with them; None where that is not public."""

    records: Integers
    most: int | None


def _more(one: QueryResult, more: ExtraRecords) -> QueryResult:
    assert one.records is not None
    some = more.records if more.most is None else more.records[: max(0, more.most - len(one.records))]
    return replace(one, records=np.concatenate([one.records, some]))


def filling(plan: PreparedRelease) -> dict[Query, ExtraRecords]:
    """For each regression of a plan records of a normal shape: as many as are public, or some where none are."""
    from reticent.statistics.column_step import PlannedStep
    from reticent.statistics.regression.plans import made_up_rows
    from reticent.statistics.regression.regression_step import ANY_N, CountedRegression, FixedSizeRegression

    found = {}
    for step in plan.all_steps:
        match step:
            case PlannedStep(plan=FixedSizeRegression() as known) as planned:
                design = known.chosen.design
                found[planned.query] = ExtraRecords(made_up_rows(design, "normal", 1), design.terms.values)
            case PlannedStep(plan=CountedRegression() as bought) as planned:
                design = replace(bought.make(ANY_N, bought.method, bought.epsilon).design, size=UNKNOWN)
                found[planned.query] = ExtraRecords(made_up_rows(design, "normal", 1), None)
            case _:
                continue
    return found
