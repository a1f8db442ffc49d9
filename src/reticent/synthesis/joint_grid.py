r"""Several columns: each by itself first, then all together, in cells that lie where the released columns have records.

    each column --density with atoms, half of epsilon for all--> margins --> cells along each column
    all columns --one vector of noisy counts, the other half---> shares of the cells -> Density

Cells of equal width hide a relation of columns whose records crowd in a part of their bounds: there are few cells where
most records are. Here half of the cells along a column is for equal shares of its released records, so that ranks keep
their relation. Half is for its tails, so that values keep theirs: Panter and Dite's cube root of its density. A value
or bar with enough records has a cell of its own. Inside a cell a column is spread as its margin says, and the columns
are independent.

A margin says little of a tail in which its noise is as large as what it shows. Spread over the rest of the bounds this
noise would hide any correlation. So it falls off from where the margin ends to be sure: ``trimmed``.

Where the cells lie is a function of released numbers. The cells, with the records without a value, are a partition, so
one record is in one count. Margins and counts are paid in sequence.

Source: Panter and Dite 1951 for the cube root. Proof: docs/proofs/densities.md, Proposition 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Final

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis, Steps, with_atoms
from reticent.synthesis.density import NORMAL, Density, Floats
from reticent.synthesis.histogram import projected, unit_of
from reticent.synthesis.linear import DensityAccuracy
from reticent.synthesis.linear_queries import DensityTerms, Integers
from reticent.synthesis.method_selection import Auto, auto
from reticent.synthesis.mixture import laid_out
from reticent.synthesis.options import Columns
from reticent.synthesis.partition import PartitionDensity, parted
from reticent.synthesis.remarks import sentence
from reticent.synthesis.size import RecordCount, pooled, swapped

METHOD: Final = "joint counts between released quantiles"
ALONE: Final = Fraction(1, 2)  # of epsilon, for the margins together
RULE: Final = 4.0  # cells in all for each root of n epsilon
MOST: Final = {2: 64, 3: 16, 4: 8}  # cells along each column
BETA: Final = 0.05
SURE: Final = 2.0  # half-widths of an end's noise that it has to exceed: it is looked at at every length
STEEP: Final = 0.3  # of the length before an end that holds as much as it: half of the end lies so near
NOTHING: Final = 1e-12  # weight of a cell in which the margin shows nothing

Margin = Auto | PartitionDensity


@dataclass(frozen=True, slots=True)
class JointCells:
    """Cells along one column.

    Attributes
    ----------
    axis : Axis
        Its fine cells, weighted by the margin.
    starts : tuple of int
        Fine cells at which the cells begin; the last one is the number of fine cells.
    """

    axis: Axis
    starts: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def places(self, values: Integers) -> Integers:
        """The cell of each record, whose values are in units; what lies beyond the bounds counts as the nearer one."""
        one, unit = self.axis, unit_of(self.axis)
        ends = (math.floor(one.edges[0] / unit), math.floor((one.edges[-1] - one.whole) / unit))
        read = np.clip(values, *ends)
        inner = np.array([math.floor(one.edges[start] / unit) for start in self.starts[1:-1]], np.int64)
        found = np.searchsorted(inner, read, side="right").astype(np.int64)
        for atom, lone in zip(one.atoms, one.lone.tolist(), strict=True):
            found[read == math.floor(atom / unit)] = int(np.searchsorted(self.starts, lone, side="right")) - 1
        return found


@dataclass(frozen=True, eq=False, repr=False)
class JointDensity:
    """A density of two to four columns.

    Attributes
    ----------
    margins : tuple of Auto or PartitionDensity
        The release of each column.
    counter : Geometric
        Noise of the joint counts.
    terms : DensityTerms
    missing : bool
        Records without a value are counted, too.

    Guarantee
    ---------
    epsilon, pure: the margins and one vector of counts of a partition in sequence.
    """

    margins: tuple[Margin, ...]
    counter: Geometric
    terms: DensityTerms
    missing: bool = False

    @property
    def guarantee(self) -> Guarantee:
        counts = replace(self.counter.guarantee, label="joint counts, wherever their cells are")
        return compose.in_sequence(
            [*(one.guarantee for one in self.margins), counts], label="columns, then their cells"
        )

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(one.axes[0] for one in self.margins)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Records(tuple(one.column for one in self.axes), tuple(map(unit_of, self.axes))),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        (result,) = results
        assert result.records is not None
        records = result.records[result.records[:, 0] != ABSENT]
        margins = []
        for place, plan in enumerate(self.margins):
            match plan.draw([QueryResult(records=records[:, [place]])], entropy):
                case Reply(found):
                    margins.append(found)
                case NoReply():
                    return NO_REPLY
        n = self.terms.size or fmean(one.n for one in margins)
        cells = [cut(of(margin), self.along(n)) for margin in margins]
        absent = [len(result.records) - len(records)] if self.missing else []
        exact = (*joint_counts(cells, records).tolist(), *absent)
        noisy = np.array(gate.draw(self.counter, exact, entropy), np.float64)
        return self._density(margins, cells, noisy)

    def along(self, n: float) -> int:
        """Cells along each column for n records: a public rule."""
        worth, columns = max(n, 1.0) * float(min(self.counter.epsilon, Fraction(1))), len(self.margins)
        wanted = math.exp(math.log(RULE * math.sqrt(worth)) / columns)
        return min(max(round(wanted), 2), MOST[columns])

    def _density(self, margins: Sequence[Density], cells: Sequence[JointCells], noisy: Floats) -> Outcome[Density]:
        sides = [one.count for one in cells]
        total, unsure = pooled(RecordCount(self.terms.size), self.terms.size, noisy.tolist(), self.counter)
        if total <= unsure:
            return NO_REPLY
        shares = projected(noisy, total) / total
        missing = float(shares[-1]) if self.missing else None
        here = max(total * (1.0 - (missing or 0.0)), 1.0)
        masses = shares[: math.prod(sides)]
        if not masses.any():
            return NO_REPLY
        masses = masses / masses.sum()
        starts = [np.array(one.starts, np.int64) for one in cells]
        each = [np.stack([edges[:-1], edges[1:]], axis=1) for edges in starts]
        index = np.indices(sides).reshape(len(sides), -1)
        radius = self.counter.radius(BETA)
        said = f"{' x '.join(map(str, sides))} cells lie between values of the released columns"
        return Reply(
            Density(
                tuple(one.axis for one in cells),
                masses,
                METHOD,
                self.guarantee,
                max(round(here), 1),
                boxes=np.stack([ends[at] for ends, at in zip(each, index, strict=True)], axis=1),
                missing=missing,
                band=np.minimum(np.hypot(radius, NORMAL * unsure * masses) / here, 1.0),
                words=(
                    f"{said}; each count has noise of ±{radius:,} at 95 %, together they hold {here:,.0f} records",
                    *(sentence(one.axes[0].column, one.noticed) for one in margins),
                ),
                beside=None if missing is None else min(math.hypot(radius, NORMAL * unsure * missing) / here, 1.0),
                noticed=tuple(found for one in margins for found in one.noticed),
                margins=tuple(replace(one, missing=None) for one in margins),
                counts=noisy[: len(masses)],
            )
        )

    def expected(self, people: int) -> DensityAccuracy:
        """The errors of the margin that is known worst, at a typical point."""
        found = [one.expected(people) for one in self.margins]
        worst = max(found, key=lambda one: one.noise or 0.0)
        side = self.along(self.terms.size or people)
        told = f"{side} cells along each column, between values of the released columns"
        notes = [f"{one.column}: {each.note}" for one, each in zip(self.axes, found, strict=True) if each.note]
        return replace(worst, note="; ".join([told, *notes]))


def joint(
    columns: Columns,
    terms: DensityTerms,
    epsilon: Fraction,
    *,
    seek: bool = True,
    missing: bool = False,
    steps: Steps = MappingProxyType({}),
) -> JointDensity:
    """The plan for two to four columns.

    Parameters
    ----------
    columns : sequence of (name, low, high, whole numbers)
    terms : DensityTerms
        Neighbours, and the number of records where it is public.
    epsilon : Fraction
        Price of the whole release.
    seek : bool
        True if values that many records share are looked for.
    missing : bool
        True if records without a value are counted.
    steps : mapping of column to int or Fraction
        Of columns of dates the seconds of one unit, of real ones a declared resolution.

    Returns
    -------
    JointDensity
        Plan with its guarantee.

    Raises
    ------
    PublicParameterError
        Another number of columns.
    """
    if len(columns) not in MOST:
        raise PublicParameterError(f"a density has 1 to {max(MOST)} columns, got {len(columns)}")
    each, terms = epsilon * ALONE / len(columns), replace(terms, fixed=False)
    margins = tuple(parted(one, terms, each, steps=steps) if seek else auto(one, terms, each, steps) for one in columns)
    near = terms.neighbours
    counter = Geometric(L1(Fraction(swapped(near)), near), epsilon * (1 - ALONE))
    return JointDensity(margins, counter, terms, missing)


def joint_counts(cells: Sequence[JointCells], records: Integers) -> Integers:
    """Records in each cell of all columns, in row-major order; ``records`` have values in units."""
    flat = np.zeros(len(records), np.int64)
    for place, one in enumerate(cells):
        flat = flat * one.count + one.places(records[:, place])
    return np.bincount(flat, minlength=math.prod(one.count for one in cells)).astype(np.int64)


# --- cells out of a released column -----------------------------------------------------------------------------------


def of(margin: Density) -> Axis:
    """Fine cells of a released column, weighted by what it says, without tails of noise."""
    (one,) = margin.axes
    bounds = {float(edge): edge for edge in (one.edges[0], one.edges[-1])}  # 4/5 is no double
    atoms = [bounds.get(value, Fraction(value)) for value, _ in margin.atoms]
    try:
        fine = with_atoms(one, atoms) if atoms else one
    except PublicParameterError:  # too close for cells of their own
        fine = one
    weights = laid_out(trimmed(margin), one, fine)
    np.add.at(
        weights, fine.lone if fine.atoms else fine.cell(list(map(float, atoms))), [mass for _, mass in margin.atoms]
    )
    floor = max(float(weights.sum()), NOTHING) * NOTHING
    return replace(fine, weights=tuple((weights + floor).tolist()))


def trimmed(margin: Density) -> Floats:
    """Masses of the cells of a margin, whose ends of noise fall off; up to an atom, which is no noise.

    An end is as long as the sum of its masses is below ``SURE`` times the half-width of that sum at 95 %. It keeps this
    sum, and falls off from there: half of it within ``STEEP`` of the length that holds as much before.
    """
    (one,) = margin.axes
    masses, noise = margin.masses.copy(), margin.grain if margin.grain is not None else np.zeros(one.cells)
    held = one.cell([value for value, _ in margin.atoms])
    for side in (slice(None), slice(None, None, -1)):
        spread = np.cumsum(noise[side] ** 2)  # what lies outside has the same noise
        upto = np.cumsum(masses[side])
        small = upto <= SURE * np.sqrt(np.minimum(spread, spread[-1] - spread))
        small[np.isin(np.arange(one.cells)[side], held)] = False
        stop = 0 if small.all() else int(np.argmin(small))
        if stop and upto[stop - 1] > 0.0:
            masses[side][:stop] = upto[stop - 1] * falling(upto, np.cumsum(one.lengths[side]), stop)
    return masses


def falling(upto: Floats, length: Floats, stop: int) -> Floats:
    """Shares of the first ``stop`` cells, which fall off towards the first as fast as the cells after them say.

    Parameters
    ----------
    upto, length : array of float
        Mass and length of the first cells.
    stop : int
        Number of cells of the end, at least 1.

    Returns
    -------
    array of float, shape (stop,)
    """
    twice = min(int(np.searchsorted(upto, 2.0 * upto[stop - 1])), len(upto) - 1)
    before = max(float(length[twice] - length[stop - 1]), float(length[0]))  # holds as much again
    edges = np.concatenate([[0.0], length[:stop]])
    beyond = np.exp2((edges - edges[-1]) / (STEEP * before))
    found: Floats = np.diff(beyond) / (1.0 - beyond[0])
    return found


def cut(one: Axis, count: int) -> JointCells:
    """About ``count`` cells: half for equal weights and half for equal cube roots of the density.

    Parameters
    ----------
    one : Axis
        Weighted.
    count : int
        At least 1.

    Returns
    -------
    JointCells
        A fine cell with so much has a cell of its own.
    """
    share = one.sizes / one.sizes.sum()
    root = np.cbrt(share * one.lengths**2)
    root[one.lone] = 0.0
    due = (share + root / root.sum()) / 2.0 if root.any() else share
    large = np.flatnonzero(due >= 1.0 / count)
    ends = sorted({0, one.cells, *large.tolist(), *(large + 1).tolist()})
    upto = np.concatenate([[0.0], np.cumsum(due)])
    left = (count - len(large)) / max(1.0 - float(due[large].sum()), NOTHING)
    starts = {*ends}
    for first, stop in pairwise(ends):
        parts = max(round((upto[stop] - upto[first]) * left), 1) if stop - first > 1 else 1
        for part in range(1, parts):
            level = upto[first] + (upto[stop] - upto[first]) * part / parts
            starts.add(first + int(np.argmin(np.abs(upto[first : stop + 1] - level))))
    return JointCells(one, tuple(sorted(starts)))
