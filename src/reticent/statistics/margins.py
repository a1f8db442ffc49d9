"""Margins of grouped answers: sums of released integers over groups, free, with intervals from the law of all noises.

    count by ward, year with totals        cells for each ward, for each year, for all: a label lacks what is summed

A margin is post-processing: it reads the noisy integers of the cells and nothing else, so it costs nothing and agrees
with them to the last digit. The noises of its cells are independent, and its interval is that of their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

from reticent.data.query import Keys
from reticent.statistics.answer import Label

Margin: TypeAlias = tuple[Label, tuple[int, ...]]  # the label, and the places of the groups that are summed


def margins_of(keys: Keys) -> tuple[Margin, ...]:
    """The margins of a product of groups, those of most columns first; the sum over all groups is the last."""
    labels = keys.labels
    columns = range(len(labels[0]))
    found: list[Margin] = []
    for size in reversed(columns):
        for chosen in combinations(columns, size):
            places: dict[Label, list[int]] = {}
            for place, label in enumerate(labels):
                places.setdefault(tuple(label[column] for column in chosen), []).append(place)
            found += [(label, tuple(several)) for label, several in places.items()]
    return tuple(found)


def summed(vectors: Sequence[tuple[int, ...]], places: Sequence[int]) -> tuple[int, ...]:
    """The sum of the vectors at some places."""
    return tuple(map(sum, zip(*(vectors[place] for place in places), strict=True)))
