"""A density with charged checks: beside it, noisy counts of coarse tables of the real records, to compare rows with.

    epsilon -> (1 - share) to the density, share to the tables: each column in ten stretches, each pair in five by five

Where records crowd at 0 or at an end of the bounds, or at a value that is listed, a stretch would not show it: these
values are counted by themselves in the table of their column, whatever the method knows of them.

The tables are public partitions of the records, counted by one vector of geometric noise: one record is in one cell of
each, so a vector of T tables moves by T times what one of them does. What the density smooths away or misses shows as a
difference; ``Density.checks`` has the counts, and a comparison with any made-up rows is free.

Proof: docs/proofs/synthesis.md, sections 2 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough, show
from reticent.privacy.sensitivity import L1
from reticent.synthesis import size
from reticent.synthesis.axis import Axis
from reticent.synthesis.check import VAGUE, TableCheck, closeness
from reticent.synthesis.density import Density
from reticent.synthesis.histogram import RecordGrid, recut, unit_of
from reticent.synthesis.linear import DensityAccuracy
from reticent.synthesis.options import DensityMechanism
from reticent.synthesis.partition import candidates

MOST: Final = Fraction(1, 2)  # of epsilon
BETA: Final = 0.05
ALONE: Final = 10  # cells of a column
PAIRED: Final = 5  # cells of each of two columns
PAIR: Final = 2  # most columns of a table


@dataclass(frozen=True, eq=False, repr=False)
class FidelityRelease:
    """``plan``, then the counts of ``tables`` by ``mechanism``.

    Attributes
    ----------
    axes : tuple of Axis
        Of all columns, in the order of the question.
    people : int or None
        The public number of records, those without a value included; else it is one count more.
    """

    plan: DensityMechanism
    axes: tuple[Axis, ...]
    tables: tuple[RecordGrid, ...]
    mechanism: Geometric
    people: int | None

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.plan.guarantee, self.mechanism.guarantee], label="a density and its checks")

    @property
    def queries(self) -> tuple[Query, ...]:
        own = Records(tuple(one.column for one in self.axes), tuple(unit_of(one) for one in self.axes))
        return (*self.plan.queries, own)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        match self.plan.draw(results[:-1], entropy):
            case Reply(found):
                records = results[-1].records
                assert records is not None
                return Reply(replace(found, checks=self._counted(records, entropy), guarantee=self.guarantee))
            case NoReply():
                return NO_REPLY

    def _counted(self, records: NDArray[np.int64], entropy: Entropy) -> tuple[TableCheck, ...]:
        exact = [count for grid in self.tables for count in grid.counts(self._part(records, grid)).tolist()]
        total = [] if self.people is not None else [len(records)]
        noisy = list(gate.draw(self.mechanism, (*exact, *total), entropy))
        radius = self.mechanism.radius(BETA, len(noisy))
        n, off = (self.people, 0) if self.people is not None else (noisy.pop(), radius)
        found = []
        for grid in self.tables:
            length = grid.cells + len(grid.atoms) + 1
            counts, noisy = noisy[:length], noisy[length:]
            atoms = tuple(float(atom) for atom in grid.atoms)
            found.append(TableCheck(grid.axes, atoms, tuple(counts), radius, max(n, 1), off))
        return tuple(found)

    def _part(self, records: NDArray[np.int64], grid: RecordGrid) -> NDArray[np.int64]:
        """The columns of one table; a record that lacks any value lacks all."""
        names = [one.column for one in self.axes]
        part = records[:, [names.index(one.column) for one in grid.axes]].copy()
        part[records[:, 0] == ABSENT, 0] = ABSENT
        return part

    def expected(self, people: int) -> DensityAccuracy | size.DistributionAccuracy:
        found = self.plan.expected(people)
        each = 100.0 * told_to(self.tables, self.mechanism, self.people, people)
        said = f"shares of {len(self.tables)} tables are checked to about ± {rough(each)} points"
        if each > 100.0 * VAGUE:
            said += ", which would tell nothing: a larger ε, or checks=0, which saves their share"
        return replace(found, note="; ".join(part for part in (found.note, said) if part))


def told_to(tables: Sequence[RecordGrid], mechanism: Geometric, people: int | None, rows: int) -> float:
    """Typical upper end of the largest difference that checks leave, as a share of the records.

    Parameters
    ----------
    tables : sequence of RecordGrid
    mechanism : Geometric
        Of all their counts.
    people : int or None
        The public number of records.
    rows : int
        Records that are supposed.

    Returns
    -------
    float
    """
    length = sum(grid.cells + len(grid.atoms) + 1 for grid in tables) + (people is None)
    radius = mechanism.radius(BETA, length)
    return closeness(radius, rows, 0 if people is not None else radius)


def tables_of(axes: Sequence[Axis], atoms: Sequence[Fraction], most: int = PAIR) -> tuple[RecordGrid, ...]:
    """The tables that are checked: of every column, with 0 and its ends by themselves, and of every two.

    Parameters
    ----------
    axes : sequence of Axis
    atoms : sequence of Fraction
        Values that are counted by themselves.
    most : int
        Most columns of a table.

    Returns
    -------
    tuple of RecordGrid
    """
    alone = [recut(RecordGrid((one,), _beside(one, atoms)), ALONE) for one in axes]
    return (*alone, *(recut(RecordGrid(pair), PAIRED) for pair in combinations(axes, 2) if most == PAIR))


def _beside(one: Axis, atoms: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Values that are counted by themselves; few whole numbers are, anyway."""
    return tuple(atoms) if one.whole and one.steps[-1] <= ALONE else candidates(one, atoms)


def checked(
    plan: DensityMechanism,
    axes: Sequence[Axis],
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    people: int | None,
    atoms: Sequence[Fraction] = (),
    most: int = PAIR,
) -> FidelityRelease:
    """A plan with checks for ``epsilon`` more; of ``axes`` the bounds alone matter.

    Parameters
    ----------
    plan : DensityMechanism
    axes : sequence of Axis
        Their bounds alone matter.
    neighbours : Adjacency
    epsilon : Fraction
        Price of the checks.
    people : int or None
        The public number of records.
    atoms : sequence of Fraction
        Values that are counted by themselves.
    most : int
        Most columns of a table.

    Returns
    -------
    FidelityRelease
    """
    tables = tables_of(axes, atoms, most)
    return FidelityRelease(plan, tuple(axes), tables, _counting(tables, neighbours, epsilon, people), people)


def _counting(tables: Sequence[RecordGrid], neighbours: Adjacency, epsilon: Fraction, people: int | None) -> Geometric:
    """The mechanism of the counts of all tables, and of the number of records where that is not public."""
    total = 0 if people is not None else neighbours.rows
    return Geometric(L1(Fraction(len(tables) * size.swapped(neighbours) + total), neighbours), epsilon)


def worth(
    axes: Sequence[Axis],
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    people: int | None,
    atoms: Sequence[Fraction],
    rows: int,
) -> int:
    """Most columns of the tables that can tell a share to ``VAGUE`` by public facts: two, one, or none.

    Parameters
    ----------
    axes : sequence of Axis
    neighbours : Adjacency
    epsilon : Fraction
        Price of the checks.
    people : int or None
        The public number of records.
    atoms : sequence of Fraction
        Values that are counted by themselves.
    rows : int
        Records that are supposed.

    Returns
    -------
    int
    """
    for most in (PAIR, 1):
        tables = tables_of(axes, atoms, most)
        if told_to(tables, _counting(tables, neighbours, epsilon, people), people, rows) <= VAGUE:
            return most
    return 0


def split(epsilon: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
    """Shares of epsilon for the density and for the checks.

    Raises
    ------
    PublicParameterError
        For a share outside [0, 1/2].
    """
    if not 0 <= share <= MOST:
        raise PublicParameterError(f"checks is a share of epsilon, 0 to {show(MOST)}, got {show(share)}")
    return epsilon * (1 - share), epsilon * share
