"""A histogram on a grid too large to write down: the noisy counts that reach a bar, and no others.

    records -> held cells with counts -> noise on them, and which of the empty cells reach the bar -> boxes

The law is that of noise on every cell, the ones below the bar thrown away: post-processing of the geometric mechanism
over the whole grid, so the guarantee is its guarantee. Empty cells are not visited: how many of them reach the bar is
binomial, which ones is uniform, and by how much is geometric. All three are drawn exactly
(docs/proofs/synthesis.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.coins import uniform
from reticent.exact.laplace import one_discrete_laplace
from reticent.exact.rounding import scaled_exp_bounds
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import integers
from reticent.privacy.sensitivity import L1
from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis, even
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.histogram import BETA, RecordGrid
from reticent.synthesis.size import SHARE, DistributionAccuracy, RecordCount, buy, deviation, swapped

METHOD: Final = "sparse histogram"
MOST: Final = 1 << 60  # cells
LISTED: Final = 1 << 10  # cells on which noise is drawn one by one
CROWD: Final = 4096  # empty cells above the bar that are expected at most

Cells = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Exceeding:
    """Geometric noise on ``cells`` counts, of which those of at least ``bar`` >= 1 and the last ``told`` are shown."""

    noise: Geometric
    cells: int
    bar: int
    told: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= MOST:
            raise PublicParameterError(f"a grid has 1 to 2^60 cells, got {self.cells}")
        if self.bar < 1:
            raise PublicParameterError(f"the bar must be >= 1, got {self.bar}")
        if not 0 <= self.told <= self.cells:
            raise PublicParameterError(f"told is a number of the {self.cells} cells, got {self.told}")

    @property
    def guarantee(self) -> Guarantee:
        return compose.processed(self.noise.guarantee, label="the counts that reach the bar")

    @property
    def sensitivity(self) -> L1:
        """L1 sensitivity of the counts to one neighbour, over all cells."""
        return self.noise.sensitivity

    @property
    def chance(self) -> float:
        """P(an empty cell reaches the bar) = a^bar / (1 + a), a = e^(-1 / scale); for people."""
        fall = 1.0 / float(self.noise.scale)
        return math.exp(-fall * self.bar) / (1.0 + math.exp(-fall))

    def sample(self, exact: Cells, entropy: Entropy) -> tuple[tuple[int, int], ...]:
        """Cells and noisy counts, in order of cells; ``exact`` holds the counts that are not 0."""
        sure = range(self.cells - self.told, self.cells)
        held = sorted({*exact, *sure})
        if held and not 0 <= held[0] <= held[-1] < self.cells:
            raise PublicParameterError("counts are of cells of the grid")
        if self.cells <= LISTED:
            noisy = self.noise.sample([exact.get(cell, 0) for cell in range(self.cells)], entropy)
            return tuple((cell, count) for cell, count in enumerate(noisy) if count >= self.bar or cell in sure)
        counts = self.noise.sample(integers([exact.get(cell, 0) for cell in held], "counts"), entropy) if held else ()
        above = [(cell, count) for cell, count in zip(held, counts, strict=True) if count >= self.bar or cell in sure]
        empty = self.cells - len(held)
        number = binomial_of_tail(empty, self.noise.scale, self.bar, entropy)
        found = [skipping(rank, held) for rank in distinct(number, empty, entropy)]
        above += [(cell, self.bar + _upward(self.noise.scale, entropy)) for cell in found]
        return tuple(sorted(above))


def binomial_of_tail(trials: int, scale: Fraction, bar: int, entropy: Entropy) -> int:
    """Binomial(``trials``, a^bar / (1 + a)), a = e^(-1 / scale), exactly: a uniform number against certified sums.

    Parameters
    ----------
    trials : int
    scale : Fraction
        Of the noise, in records.
    bar : int
        In records.
    entropy : Entropy

    Returns
    -------
    int
    """
    places, drawn = 0, 0
    while True:  # the digits of one uniform number, as many as decide
        places += 64
        drawn = (drawn << 64) | entropy.bits(64)
        number = _placed(trials, scale, bar, drawn, places)
        if number is not None:
            return number


def _placed(trials: int, scale: Fraction, bar: int, drawn: int, places: int) -> int | None:
    """The k with F(k - 1) <= U < F(k) for all U that begin with these digits; None where that is not certain."""
    mean = trials * math.exp(-bar / float(scale))
    work = places + 64 + 2 * trials.bit_length() + int(2.0 * mean)
    one = 1 << work
    up, low_ratio = (bounds for bounds in (scaled_exp_bounds(bar / scale, work), scaled_exp_bounds(1 / scale, work)))
    p = (up[0] * one // (one + low_ratio[1]), -(-up[1] * one // (one + low_ratio[0])))
    q = (one - p[1], one - p[0])
    odds = (p[0] * one // q[1], -(-p[1] * one // q[0]))
    term = _power(q, trials, work)
    low = high = 0
    first, last = drawn << (work - places), (drawn + 1) << (work - places)
    for number in range(trials + 1):
        before = high
        low, high = low + term[0], high + term[1]
        if last <= low:
            return number if first >= before else None
        if first < high:
            return None
        step = (trials - number, number + 1)
        term = (term[0] * odds[0] * step[0] // (one * step[1]), -(-term[1] * odds[1] * step[0] // (one * step[1])))
    return trials


def _power(base: tuple[int, int], times: int, work: int) -> tuple[int, int]:
    """Bounds of a power of a number in [0, 1]."""
    low, high, result = base[0], base[1], (1 << work, 1 << work)
    while times:
        if times & 1:
            result = (result[0] * low >> work, -(-result[1] * high >> work))
        low, high = low * low >> work, -(-high * high >> work)
        times >>= 1
    return result


def distinct(number: int, among: int, entropy: Entropy) -> list[int]:
    """So many different integers below ``among``, every set alike: one after another, a repeated one drawn again.

    Parameters
    ----------
    number, among : int
    entropy : Entropy

    Returns
    -------
    list of int
    """
    found: set[int] = set()
    if 2 * number > among:
        left = set(distinct(among - number, among, entropy))
        return [place for place in range(among) if place not in left]
    while len(found) < number:
        found.add(uniform(among, entropy))
    return sorted(found)


def skipping(rank: int, held: Sequence[int]) -> int:
    """The cell of this rank among those not held; ``held`` ascends."""
    low, high = 0, len(held)
    while low < high:
        middle = (low + high) // 2
        if held[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


def _upward(scale: Fraction, entropy: Entropy) -> int:
    """g >= 0 with probability (1 - a) a^g: the noise, given that it is not below 0."""
    while True:
        noise = one_discrete_laplace(scale, entropy)
        if noise >= 0:
            return noise


@dataclass(frozen=True, slots=True)
class SparseHistogram:
    """The noisy counts of a large grid that reach a public bar, as boxes of one cell, and those of atoms and missing.

    What is below the bar is lost, so the counts do not tell how many records there are: ``size`` does. The half-width
    of the distribution function has the share that is lost, wherever it may have been, and the noise of all counts.
    """

    grid: RecordGrid
    mechanism: Exceeding
    size: RecordCount

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([*self.size.parts, self.mechanism.guarantee], label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.grid.query,)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        records = result.records
        assert records is not None
        everyone = self.size.draw(len(records), entropy)
        assert everyone is not None
        places, counts = np.unique(self.grid.places(records), return_counts=True)
        exact = dict(zip(places.tolist(), counts.tolist(), strict=True))
        return Reply(self._density(gate.draw(self.mechanism, exact, entropy), everyone))

    def _density(self, found: Sequence[tuple[int, int]], everyone: int) -> Density:
        inside = [(cell, count) for cell, count in found if cell < self.grid.cells]
        beside = [float(max(count, 0)) for cell, count in found if cell >= self.grid.cells]
        lacking, seen = beside.pop(), float(sum(count for _, count in inside))
        here = max(everyone - lacking, 1.0)  # records with a value
        apart = sum(beside) / max(here, sum(beside))  # the share of all atoms
        atoms = tuple(
            (float(at), apart * count / sum(beside) if count else 0.0)
            for at, count in zip(self.grid.atoms, beside, strict=True)
        )
        lost = max(1.0 - seen / max(here - sum(beside), 1.0), 0.0)
        wander = min((1.0 - apart) * lost + self._reach(len(found)) / here, 1.0)
        axes, boxes, band = self.grid.axes, None, None
        if inside:
            boxes = _boxes(np.array([cell for cell, _ in inside], np.int64), axes)
            masses = (1.0 - apart) * np.array([count for _, count in inside], np.float64) / seen
            band = np.minimum(self.mechanism.noise.radius(BETA, self.mechanism.cells) / here + lost * masses, 1.0)
        else:
            axes = tuple(even(a.column, a.edges[0], a.edges[-1] - a.whole, 1, whole=a.whole) for a in axes)
            masses = np.full((1,) * len(axes), 1.0 - apart)
        words = (
            f"cells with a noisy count below {self.mechanism.bar} hold nothing here, about {100 * lost:.0f} % of what "
            f"is no atom: small groups are lost, and {self.mechanism.chance * self.grid.cells:.2g} empty cells are "
            "expected to hold something",
        )
        missing = min(lacking / max(float(everyone), lacking, 1.0), 1.0)
        n = max(round(here), 1)
        own = self.mechanism.noise.radius(BETA)
        unsure = 0.0 if self.size.bought is None else NORMAL * deviation(self.size.bought)
        most = max(missing, *(mass for _, mass in atoms), 0.0)  # of a share, what the number of records is off by
        density = Density(
            axes,
            masses,
            METHOD,
            self.guarantee,
            n,
            boxes,
            atoms=atoms,
            missing=missing,
            band=band,
            wander=wander,
            words=words,
            beside=float(np.minimum(np.hypot(own, unsure * most) / here, 1.0)),
        )
        return emptied(density, [value for value, _ in atoms])

    def _reach(self, shown: int) -> float:
        """Records by which noise may move a sum over cells that are shown.

        They are shown because their noise was not low, up to a scale for each and the bar for one that is empty. The
        rest is twice the 95 % point of a normal sum.
        """
        noise = deviation(self.mechanism.noise) * math.sqrt(shown)
        if self.size.bought is not None:
            noise = math.hypot(noise, deviation(self.size.bought))
        return shown * float(self.mechanism.noise.scale) + self.mechanism.bar + 2.0 * NORMAL * noise

    def expected(self, people: int) -> DistributionAccuracy:
        """The noise of one cell: that of a sum over cells depends on how many hold something."""
        n = max(people, 1)
        return DistributionAccuracy(
            self.mechanism.noise.radius(BETA) / n, NORMAL / (2.0 * math.sqrt(n)), "of a single cell"
        )


def sparse(
    axes: Sequence[Axis],
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    people: int | None = None,
    crowd: int = 1,
    atoms: Sequence[Fraction] = (),
) -> SparseHistogram:
    """The plan: the least bar that at most ``crowd`` empty cells are expected to reach.

    Parameters
    ----------
    axes : sequence of Axis, one to four
        Public grids.
    neighbours : Adjacency
        Of persons with at most ``neighbours.rows`` records.
    epsilon : Fraction
        Price of the whole release.
    people : int, optional
        The public number of records, those without a value included; without it a twentieth of epsilon buys one.
    crowd : int
        Number of empty cells that may be expected to reach the bar.
    atoms : sequence of Fraction
        Public values of one column that have a count of their own, such as 0.

    Returns
    -------
    SparseHistogram
        The plan: its guarantee, its queries and ``draw``.

    Raises
    ------
    QuestionError
        Before rows are read: for more than 2^60 cells, or a bar that all records together could not reach.
    """
    grid = RecordGrid(tuple(axes), tuple(atoms))
    if grid.cells >= MOST - len(grid.atoms):
        raise QuestionError(f"{grid.cells:,} cells are more than 2^60: take fewer. Nothing was charged.")
    if not 1 <= crowd <= CROWD:
        raise PublicParameterError(f"crowd must be in [1, {CROWD}], got {crowd}")
    size = RecordCount(people) if people is not None else buy(neighbours, epsilon * SHARE)
    own = epsilon if people is not None else epsilon * (1 - SHARE)
    noise = Geometric(L1(Fraction(swapped(neighbours)), neighbours), own)
    bar = max(math.ceil(float(noise.scale) * math.log((grid.cells + 1) / crowd)), 1)
    if people is not None and bar > people:
        raise QuestionError(
            f"A cell needs {bar:,} records to be told from noise at this ε, and there are {people:,}. "
            "Nothing was charged."
        )
    told = len(grid.atoms) + 1
    return SparseHistogram(grid, Exceeding(noise, grid.cells + told, bar, told), size)


def _boxes(cells: NDArray[np.int64], axes: Sequence[Axis]) -> NDArray[np.int64]:
    places = np.stack(np.unravel_index(cells, [one.cells for one in axes]), axis=1)
    return np.stack([places, places + 1], axis=2).astype(np.int64)
