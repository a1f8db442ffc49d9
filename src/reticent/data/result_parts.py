"""Results of disjoint parts of the rows, put together as the result of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reticent.data.order_statistics import Integers, RunLength, by_group
from reticent.data.query_result import Counts, QueryResult, SortedCells
from reticent.data.sorted_cells import repeated, together


def added(parts: Sequence[QueryResult]) -> QueryResult:
    """The result for all persons, of those for disjoint sets of them; of a query whose answers add up.

    Parameters
    ----------
    parts : sequence of QueryResult
        At least one.

    Returns
    -------
    QueryResult
    """
    vectors = tuple(
        tuple(map(sum, zip(*each, strict=True))) for each in zip(*(part.vectors for part in parts), strict=True)
    )
    ranks = _ranks_together([part.ranks for part in parts])
    orders = [tuple((run.values, run.counts) for run in part.orders if isinstance(run, RunLength)) for part in parts]
    return QueryResult(vectors, ranks, tuple(RunLength(*held) for held in counted_together(orders)))


def _ranks_together(parts: Sequence[Sequence[Counts]]) -> tuple[Counts, ...]:
    """Cells with their counts of each group, of those of several parts."""
    if any(isinstance(held, SortedCells) for part in parts for held in part):
        groups = [
            [held.each if isinstance(held, SortedCells) else repeated(held.cells, held.counts) for held in each]
            for each in zip(*parts, strict=True)
        ]
        return tuple(SortedCells(together(each)) for each in groups)
    pairs = [[(held.cells, held.counts) for held in part] for part in parts]
    return tuple(Counts(*held) for held in counted_together(pairs))


def counted_together(parts: Sequence[Sequence[tuple[Integers, Integers]]]) -> list[tuple[Integers, Integers]]:
    """Values with their counts of each group, of those of several parts.

    Parameters
    ----------
    parts : sequence of sequence of pairs of arrays of shape (n,), int
        Of each part and group the values and their counts.

    Returns
    -------
    list of pairs of arrays
        Of each group, its values rising.
    """
    groups = len(parts[0])
    if not groups:
        return []
    sizes = [len(values) for part in parts for values, _ in part]
    where = np.repeat(np.tile(np.arange(groups), len(parts)), sizes)
    values, counts = (np.concatenate([held[at] for part in parts for held in part]) for at in (0, 1))
    return by_group(where, values, counts, groups)
