"""Vectors of integers, one for each group: their noise, its guarantee, and their margins.

    count by ward, year with totals        cells for each ward, for each year, for all: a label lacks what is summed

Margins are sums of released integers over groups, free, with intervals from the law of all noises. A margin is
post-processing: it reads the noisy integers of the cells and nothing else, so it costs nothing and agrees with them to
the last digit. The noises of its cells are independent, and its interval is that of their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from reticent.data.query import Keys
from reticent.mechanisms import gate
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Label
from reticent.statistics.context import IntegerNoise, Setting

if TYPE_CHECKING:
    from reticent.entropy import Entropy

Margin: TypeAlias = tuple[Label, tuple[int, ...]]  # the label, and the places of the groups that are summed


def noisy(
    vectors: Sequence[tuple[int, ...]], mechanism: IntegerNoise | None, entropy: Entropy
) -> list[tuple[int, ...]]:
    """The vectors with noise, drawn for all groups at once; unchanged where they are public.

    Parameters
    ----------
    vectors : sequence of tuple of int
        Exact integers of each group.
    mechanism : mechanism for integers, or None
        None where they are public.
    entropy : Entropy

    Returns
    -------
    list of tuple of int
    """
    if mechanism is None:
        return list(vectors)
    flat = [number for vector in vectors for number in vector]
    drawn = iter(gate.draw(mechanism, flat, entropy))
    return [tuple(next(drawn) for _ in vector) for vector in vectors]


def guarantee_of(mechanism: IntegerNoise | None, setting: Setting, label: str) -> Guarantee:
    """The guarantee of a step that draws from one mechanism, or from none.

    Parameters
    ----------
    mechanism : mechanism for integers, or None
        None where the numbers are public.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee
    """
    if mechanism is None:
        return compose.public(setting.neighbours, label=label)
    return compose.in_sequence([mechanism.guarantee], label=label)


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
