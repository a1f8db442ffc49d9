"""Blocks of rows by coins that do not look at them, and the exact coefficients of every block on the public grid.

    substitute   rows in a random order, dealt out to m blocks in turn: sizes are public, a replaced row changes one
    block add_remove   every row goes to one of m blocks by a coin of its own: a row more or less changes one block

Either way a table of m public records, one of which changes with a row: what reads it runs as under substitution with
public m. A block whose rows do not determine the coefficients, be they too few or alike, counts as a public default:
``LARGEST`` for infinity, upwards in blocks of even number and downwards in the others. So it moves no median, and where
too many blocks determine nothing the quartiles are infinite, which is never a reply.

Source. 003 section 7.1 and section 9 (random partition); issue of add/remove: docs/proofs/regression.md, section 7.
Deviations. 003 takes m = floor(n / p) blocks of p rows and does not define singular blocks. Here m is a public
argument. Larger blocks are solved by least squares, which is 003's X^-1 Y for p rows. A default of 0 would be released
with narrow noise where no block determines anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import LARGEST
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.regression.rows import REACH, Integers, RegressionRows
from reticent.statistics.robust.ptr_test import whole

LOW: int = 23  # bits of a target summed apart


@dataclass(frozen=True, slots=True)
class Blocks:
    """``count`` >= 1 blocks; ``default`` holds the coefficients, in steps, of a block that has none.

    ``LARGEST`` is of either sign in turn.
    """

    count: int
    default: tuple[int, ...]
    neighbours: Adjacency

    def __post_init__(self) -> None:
        whole(self.count, "the number of blocks", 1)
        if self.neighbours.kind == "local":
            raise PublicParameterError("rows are put into blocks where all of them are in one place")
        if any(abs(part) > REACH and part != LARGEST for part in self.default):
            raise PublicParameterError("the default coefficients lie beyond those that are looked at")

    def labels(self, n: int, entropy: Entropy) -> Integers:
        """The block of each of n rows."""
        if self.neighbours.kind == "substitute":
            return (permutation(n, entropy) % self.count).astype(np.int64)
        return uniforms(self.count, n, entropy)

    def coefficients(self, data: RegressionRows, entropy: Entropy) -> Integers:
        """Least squares of every block, rounded to the nearest step and clamped to +-REACH, shape (count, p); exact."""
        return solve(data, self.labels(len(data), entropy), self)


def solve(data: RegressionRows, labels: Integers, blocks: Blocks) -> Integers:
    """The coefficients of blocks with these labels: normal equations, fraction-free, on exact integers.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps.
    labels : array of int
        Block of each row, shape (n,).
    blocks : Blocks
        Number of blocks and the public default of an unsolvable one.

    Returns
    -------
    array of int
        Coefficients in steps, shape (blocks, columns).

    Raises
    ------
    PublicParameterError
        A number of defaults that is not that of the coefficients.
    """
    if len(blocks.default) != data.columns:
        raise PublicParameterError(f"one default for each of {data.columns} coefficients")
    found, singular = solved(data, labels, blocks.count)
    default = np.tile(np.array(blocks.default, np.int64), (blocks.count, 1))
    turned = (default == LARGEST) & (np.arange(blocks.count)[:, None] % 2 == 1)
    return np.asarray(np.where(singular[:, None], np.where(turned, -LARGEST, default), found))


def solved(data: RegressionRows, labels: Integers, m: int) -> tuple[Integers, NDArray[np.bool_]]:
    """The coefficients of every block, and which blocks determine none.

    Parameters
    ----------
    data : RegressionRows
    labels : array of shape (n,), int
        Block of each row.
    m : int
        Number of blocks.

    Returns
    -------
    pair of arrays of shape (m, p), int, and (m,), bool
    """
    p = data.columns
    system = np.empty((p, p + 1, m), object)
    for i in range(p):
        for j in range(i, p):
            system[i, j] = system[j, i] = _sums(data.x[:, i] * data.x[:, j], labels, m)
        high = _sums(data.x[:, i] * (data.target >> LOW), labels, m)
        system[i, p] = (high << LOW) + _sums(data.x[:, i] * (data.target & (1 << LOW) - 1), labels, m)
    singular, before = np.zeros(m, bool), np.full(m, 1, object)
    for k in range(p):
        singular |= (system[k, k] == 0).astype(bool)  # a leading minor of a Gram matrix is 0 only where it is singular
        pivot = np.where(singular, 1, system[k, k])
        top = system[k].copy()
        for i in range(p):
            if i != k:
                system[i] = (system[i] * pivot - system[i, k].copy() * top) // before
        before = pivot
    found = np.empty((m, p), np.int64)
    for i in range(p):
        bottom = np.where(singular, 1, system[i, i])
        nearest = -((bottom - 2 * system[i, p]) // (2 * bottom))
        found[:, i] = np.clip(nearest, -REACH, REACH).astype(np.int64)
    return found, singular


def _sums(values: Integers, labels: Integers, count: int) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Sums of ``values`` (below 2^38 in size) within every label, as integers of any size."""
    found = np.zeros(count, np.int64)
    np.add.at(found, labels, values)
    return found.astype(object)


def permutation(n: int, entropy: Entropy) -> Integers:
    """A uniform permutation of n: the order of n distinct random words, drawn again where two are equal."""
    while True:
        words = entropy.words(n)
        if len(np.unique(words)) == n:
            return np.argsort(words, kind="stable").astype(np.int64)


def uniforms(bound: int, size: int, entropy: Entropy) -> Integers:
    """``size`` integers uniform on [0, bound): as many words as a multiple of ``bound`` count, others drawn again.

    Parameters
    ----------
    bound, size : int
    entropy : Entropy

    Returns
    -------
    array of shape (size,), int
    """
    words = entropy.words(size).copy()
    least = np.uint64((1 << 64) % bound)
    while (late := np.flatnonzero(words < least)).size:
        words[late] = entropy.words(late.size)
    return (words % np.uint64(bound)).astype(np.int64)


def side_by_side(one: Guarantee, columns: int, label: str) -> Guarantee:
    """The same mechanism on every coordinate of the blocks' table: 003 Corollary 35, or in sequence for any other.

    Parameters
    ----------
    one : Guarantee
        Guarantee of the mechanism on one coordinate.
    columns : int
        Number of coordinates.
    label : str
        Name of the part in the proof.

    Returns
    -------
    Guarantee
        Guarantee of all coordinates.
    """
    parts = [_drawn(one)] * columns
    return ptr.parallel(parts, label=label) if of_steps(one) else in_sequence(parts, label=label)


def of_steps(tree: Guarantee) -> bool:
    """Tell if a guarantee is a composition of propose-test-release steps."""
    return tree.by.name in ptr.NAMES or (tree.by.name == "in_sequence" and all(map(of_steps, tree.parts)))


def _drawn(tree: Guarantee) -> Guarantee:
    """``tree`` with every step said to read a random partition, where the adjacency is the one of 003."""
    if tree.adjacency.kind != "substitute" or tree.adjacency.rows != 1:
        return tree
    fields = tuple(
        (name, "partition" if name.startswith("step ") and name.endswith(" table") else text)
        for name, text in tree.parameters
    )
    return replace(tree, parameters=fields, parts=tuple(_drawn(part) for part in tree.parts))
