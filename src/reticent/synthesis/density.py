"""A released density: masses on a public grid of cells, and all that can be computed from them for free.

    release["density(x)"].density -> pdf, cdf, quantile, probability, mean, marginal, sample, plot, to_json

Everything in a ``Density`` has been released; whatever is computed from it is post-processing. Mass is spread evenly
inside a cell (over its length, or over its whole numbers). The density is thus exactly the law of a random record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent import calendar
from reticent.calendar import Moment
from reticent.entropy import Replayed, system
from reticent.errors import CheckError, PublicParameterError, first_of, restored
from reticent.outcome import Estimate
from reticent.privacy import serialization
from reticent.privacy.guarantee import Guarantee
from reticent.synthesis import axis, check, density_validity, drawing
from reticent.synthesis import remarks as noticed
from reticent.synthesis.axis import Axis, Steps
from reticent.synthesis.check import TableCheck
from reticent.synthesis.record_sampling import sampled
from reticent.synthesis.remarks import NoticedAtoms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Points: TypeAlias = ArrayLike | Moment | Sequence[Moment]  # dates for a column of dates
Corner: TypeAlias = float | Moment | Sequence[float | Moment]

NORMAL: Final = 1.959963984540054  # 97.5 % point
LEFT_OUT: Final = 0.025  # of all data sets, or of all noise: both together leave out 5 %
KEY: Final = 32  # bytes of the key of a stream of sampled rows
CHUNK: Final = 1 << 22  # comparisons of points with boxes at a time


@restored
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Density:
    """A released law of one record, on a public grid.

    Attributes
    ----------
    axes : tuple of Axis
        One to four columns with their public edges.
    masses : array of float64
        Probabilities >= 0. Without ``boxes`` of shape (cells of axis 0, cells of axis 1, ...); with them of shape (m,).
        Masses and the masses of ``atoms`` add up to 1.
    method : str
        The name of the mechanism.
    guarantee : Guarantee
        What releasing it cost.
    n : int
        The number of records, >= 1: public or itself released.
    boxes : array of int64, shape (m, axes, 2), or None
        Blocks of cells [first, stop) that share no cell and hold ``masses``, evenly spread; other cells hold nothing.
        For grids too large to write down.
    atoms : tuple of (value, mass)
        Of one column: public or released values with a probability of their own, beside that of their cell. Of several
        columns such values are ``atoms`` of an axis, which are cells.
    missing : float or None
        The share of records without a value. All else is about records that have one.
    band : array like masses, or None
        Half-width of each mass due to the noise, at 95 %.
    wander : float or None
        Half-width due to the noise of all values of the distribution function together, at 95 % or more: that of
        the records is inside, at the edges of cells.
    words : tuple of str
        What has to be said about it.
    beside : float or None
        Half-width due to the noise of each atom's mass, and of the share that is missing, at 95 %. Of several columns
        that of each part: records at an atom of some columns, and at none of the others.
    noticed : tuple of Noticed
        Which values of which column would have been found to have a mass of their own, where such were looked for.
    checks : tuple of Check
        Noisy counts of tables of the real records, where they were bought: made-up rows are compared with them.
    margins : tuple of Density
        Of several columns the density of each, where these were released by themselves.
    counts : array like masses, or None
        Noisy counts of records beside ``margins``, as they were drawn: below 0, too. ``masses`` are made of them.
    shift : array like masses, or None
        What was added to each noisy mass to make all of them a density. Intervals are about masses without it.
    """

    axes: tuple[Axis, ...]
    masses: Floats
    method: str
    guarantee: Guarantee
    n: int
    boxes: NDArray[np.int64] | None = None
    atoms: tuple[tuple[float, float], ...] = ()
    missing: float | None = None
    band: Floats | None = None
    wander: float | None = None
    words: tuple[str, ...] = ()
    checks: tuple[TableCheck, ...] = ()
    beside: float | None = None
    grain: Floats | None = None
    noticed: tuple[NoticedAtoms, ...] = ()
    margins: tuple[Density, ...] = ()
    counts: Floats | None = None
    shift: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("masses", "band", "grain", "counts", "shift"):
            found = getattr(self, name)
            if found is not None:
                object.__setattr__(self, name, _fixed(np.array(found, np.float64)))
        if self.boxes is not None:
            object.__setattr__(self, "boxes", _fixed(np.array(self.boxes, np.int64)))
        density_validity.check(self)

    # --- one record ---------------------------------------------------------------------------------------------------

    def pdf(self, points: Points) -> Floats:
        """The density at each point, per unit of each column (per whole number on a whole-number axis).

        Parameters
        ----------
        points : array, shape (p,) for one column, (p, columns) for several
            Atoms are not part of it, and a point outside the bounds has density 0.
        """
        table = self._points(points)
        cells = np.stack([one.cell(table[:, place]) for place, one in enumerate(self.axes)], axis=1)
        single = np.zeros(len(cells), np.bool_)
        for place, one in enumerate(self.axes):
            single |= np.isin(cells[:, place], one.lone)
        if self.boxes is None:
            density = self.masses
            for place, one in enumerate(self.axes):
                density = density / one.sizes.reshape([-1 if place == k else 1 for k in range(len(self.axes))])
            found = density[tuple(np.maximum(cells, 0).T)]
            held: Floats = np.where((cells >= 0).all(axis=1) & ~single, found, 0.0)
            return held
        heights = self.masses / np.prod(self._spans(), axis=1)
        places = np.maximum(cells, 0).T
        steep = [one.sizes[at] / one.lengths[at] for one, at in zip(self.axes, places, strict=True)]
        found = np.empty(len(cells))
        size = max(CHUNK // max(len(heights), 1), 1)
        for first in range(0, len(cells), size):
            part = cells[first : first + size, None]
            inside = (self.boxes[None, :, :, 0] <= part) & (part < self.boxes[None, :, :, 1])
            found[first : first + size] = inside.all(axis=2).astype(np.float64) @ heights
        return np.where(single, 0.0, found * np.prod(steep, axis=0))

    def cdf(self, points: Points) -> Floats:
        """The probability that every column is at most the point's; atoms counted.

        Parameters
        ----------
        points : array, shape (p,) for one column, (p, columns) for several
        """
        table = self._points(points)
        runs = np.stack([one.upto(table[:, place]) for place, one in enumerate(self.axes)], axis=1)
        found = self._gridded(runs) if self.boxes is None else self._boxed(runs)
        for value, mass in self.atoms:
            found = found + mass * (table[:, 0] >= value)
        return np.clip(found, 0.0, 1.0)

    def quantile(self, levels: ArrayLike) -> NDArray[Any]:
        """The least value with at least this probability up to it, for levels in [0, 1]; of one column.

        Of a column of dates it is a date, as ``datetime64``.

        Raises
        ------
        PublicParameterError
            For several columns (take ``marginal``), or a level outside [0, 1].
        """
        return self.axes[0].moments(self._level_values(levels))

    def _level_values(self, levels: ArrayLike) -> Floats:
        wanted = np.asarray(levels, np.float64)
        if len(self.axes) != 1:
            raise PublicParameterError("a quantile is of one column: density.marginal(column).quantile(...)")
        if not np.all((wanted >= 0) & (wanted <= 1)):
            raise PublicParameterError("levels must be in [0, 1]")
        start, size, jump, spread = self._pieces()
        ends = np.cumsum(jump + spread)
        level = np.minimum(np.maximum(wanted, np.nextafter(0.0, 1.0)), ends[-1])
        piece = np.searchsorted(ends, level, side="left")
        over = level - (ends - spread)[piece]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(spread[piece] > 0, np.clip(over / spread[piece], 0.0, 1.0), 0.0)
        steps = share * size[piece]
        if self.axes[0].whole:
            steps = np.clip(np.ceil(steps - 1e-9 * size[piece]) - 1.0, 0.0, None)
        found: Floats = np.clip(start[piece] + steps, self.axes[0].low, self.axes[0].high)
        return self.axes[0].snapped(found)

    def probability(self, low: Corner, high: Corner) -> Estimate:
        """The probability of low <= value <= high, in every column, with its interval at 95 %; dates are ends, too.

        The noise part takes the noises of cells as independent, or comes from ``wander`` if there is one. The sampling
        part is normal, for the law the ``n`` records were drawn from. The interval is about the noisy masses before
        they were made a density (``shift``), which moves noise into empty cells, and holds the value. It is wider by
        the mass of the cells that the range cuts, since their records may be at one side. The bias of a smooth method,
        or of an ``auto`` one, is in no part of it.
        """
        ends = [axis.corner(self.axes, end) for end in (low, high)]
        shares = [one.share(float(ends[0][k]), float(ends[1][k])) for k, one in enumerate(self.axes)]
        weights = self._weights(shares)
        value = float((self.masses * weights).sum())
        value += sum(mass for at, mass in self.atoms if ends[0][0] <= at <= ends[1][0])
        value = min(max(value, 0.0), 1.0)
        noise = self._noise(weights)
        if self.beside is not None:
            apart = self.beside * math.sqrt(sum(ends[0][0] <= at <= ends[1][0] for at, _ in self.atoms))
            if not self._beside_atoms(shares):
                noise = apart
            elif self.wander is None:  # else it is part of that
                noise = math.hypot(noise, apart)
        sampling = NORMAL * math.sqrt(value * (1.0 - value) / self.n)
        radius, (less, more) = math.hypot(noise, sampling), self._cut(weights)
        at = value - (0.0 if self.shift is None else float((self.shift * weights).sum()))
        at = min(max(at, 0.0), 1.0)  # a share below 0 is the noise of none
        low, high = max(min(at - radius, value) - less, 0.0), min(max(at + radius, value) + more, 1.0)
        return Estimate(value, min(low, value), max(high, value), noise, sampling)

    def _cut(self, weights: Floats) -> tuple[float, float]:
        """Mass of cells that a range cuts: inside it, and outside. Where in a cell its records are nobody knows."""
        cut = (weights > 0.0) & (weights < 1.0)
        held, share = self.masses[cut], weights[cut]
        return float((held * share).sum()), float((held * (1.0 - share)).sum())

    @property
    def within(self) -> float | None:
        """Half-width around ``cdf``, at the edges, for that of the law the records came from; None without ``wander``.

        ``wander`` and the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant at 97.5 %. All edges
        together: at 95 % for a ``wander`` that is left with 2.5 %, as that of the KS release; else at 92.5 %.
        """
        return None if self.wander is None else min(self.wander + sampling_error(self.n), 1.0)

    def quantile_interval(self, level: float) -> Estimate:
        """``quantile(level)`` with its interval at 95 %: values that ``probability`` up to them cannot tell from it.

        An end is an edge of a cell or an atom, since nobody knows where in a cell its records are.

        Raises
        ------
        PublicParameterError
            For several columns, or a level outside [0, 1].
        """
        (value,) = self._level_values([level]).tolist()
        up_to = self.probability(self.axes[0].low, value)
        noise, sampling = up_to.noise, NORMAL * math.sqrt(level * (1.0 - level) / self.n)
        radii = np.array([-noise, noise, -sampling, sampling, *(math.hypot(noise, sampling) * np.array([-1.0, 1.0]))])
        ends = self._level_values(np.clip(level + radii, 0.0, 1.0))
        ends = np.where(level + radii <= 0.0, self.axes[0].low, ends)  # what is shown may begin and end too late
        ends = np.where(level + radii >= 1.0, self.axes[0].high, ends)
        a, b, c, d, low, high = ends.tolist()
        (low, _), (_, high) = self._stretch(low), self._stretch(high)
        if self.shift is not None:  # where the noisy masses come near the level
            low, high = self._unshifted(level, math.hypot(noise, sampling))
        found, step = (value, min(low, value), max(high, value), (b - a) / 2.0, (d - c) / 2.0), self.axes[0].step
        return Estimate(*found, step=step, unit=calendar.Calendar(step).units if step else "")

    def _unshifted(self, level: float, radius: float) -> tuple[float, float]:
        """Ends of the values up to which the noisy masses, before they were made a density, come near a level."""
        assert self.shift is not None
        start, size, jump, spread = self._pieces(self.masses - self.shift)
        upto = np.cumsum(jump + spread)
        first, beyond = np.flatnonzero(upto >= level - radius), np.flatnonzero(upto <= level + radius)
        stop = min(int(beyond[-1]) + 1, len(upto) - 1) if len(beyond) else 0
        at_atom = jump[stop] > 0.0 and upto[stop] - spread[stop] > level + radius
        high = start[stop] if at_atom else start[stop] + max(size[stop] - self.axes[0].whole, 0.0)
        return float(start[first[0]]) if len(first) else self.axes[0].high, min(float(high), self.axes[0].high)

    def _stretch(self, value: float) -> tuple[float, float]:
        """The ends of the cell that a value lies in; an edge and an atom are by themselves."""
        one = self.axes[0]
        if value in dict(self.atoms) or (not one.whole and value in one.cuts):
            return value, value
        place = int(np.searchsorted(one.cuts, value, side="right"))
        return float(one.cuts[place - 1]), float(one.cuts[place]) - one.whole

    def mean(self) -> NDArray[Any]:
        """The mean of each column, atoms counted: shape (columns,). Of dates it is a date; see ``sample``."""
        alone = self.margins or (self,)
        found = [one._mean(place) for one in alone for place in range(len(one.axes))]
        for place, one in enumerate(alone):
            found[place] += sum(value * mass for value, mass in one.atoms)
        told: NDArray[Any] = axis.told(self.axes, np.array([found]))[0]
        return told

    def marginal(self, column: str) -> Density:
        """The density of one of the columns: the released one of ``margins``, where there is one."""
        names = [one.column for one in self.axes]
        if column not in names:
            raise PublicParameterError(f"the density has the columns {first_of(names)}")
        place = names.index(column)
        if self.margins:
            return replace(self.margins[place], missing=self.missing, guarantee=self.guarantee)
        masses, band = self._along(place, self.masses).copy(), None
        one, atoms, beside = self.axes[place], self.atoms, self.beside
        if one.atoms:
            atoms = tuple((float(value), float(mass)) for value, mass in zip(one.atoms, masses[one.lone], strict=True))
            masses[one.lone] = 0.0
        if len(self.axes) > 1 and beside is not None:
            beside = min(beside * math.sqrt(self._parts / (1 + len(one.atoms))), 1.0)
        if self.band is not None and self.wander is None:  # of noises that hang together no sum is known
            band = np.sqrt(self._along(place, self.band**2, squared=True))
        return Density(
            (replace(one, atoms=()) if one.atoms else one,),
            masses / max(masses.sum() + sum(mass for _, mass in atoms), 1e-300),
            self.method,
            self.guarantee,
            self.n,
            atoms=atoms,
            missing=self.missing,
            band=band,
            wander=self.wander,
            words=self.words,
            beside=beside,
            grain=None if self.grain is None else np.sqrt(self._along(place, self.grain**2, squared=True)),
            shift=None if self.shift is None or one.atoms else self._along(place, self.shift),
            noticed=tuple(found for found in self.noticed if found.column == column),
        )

    @property
    def _parts(self) -> int:
        """Number of parts of several columns: records at each atom, and at none, in every column."""
        return math.prod(1 + len(one.atoms) for one in self.axes)

    # --- rows, pictures, text -----------------------------------------------------------------------------------------

    def sample(self, count: int) -> NDArray[Any]:
        """``count`` made-up records: shape (count,) for one column, (count, columns) for several.

        Of one column of dates they are ``datetime64``. Of several columns with dates among them the array holds Python
        objects: ``datetime.date``, ``datetime.datetime`` and floats. ``release.synthetic`` makes a table.

        Free: the density was paid for. The stream has a key of its own, 32 fresh bytes of the system's generator, and
        is read in counter mode. No noise ever came from it, so rows tell nothing of any generator. Every call has a new
        key. Records without a value are not made up: ``missing`` says how many there would be.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise PublicParameterError(f"the number of rows must be an integer >= 0, got {count}")
        rows = sampled(self, count, Replayed(system().bits(8 * KEY).to_bytes(KEY, "little")))
        return axis.told(self.axes, rows)

    def declared(self, steps: Steps) -> Density:
        """The same density, whose columns of dates and of a declared resolution say so."""
        if not any(steps.values()):
            return self
        checks = tuple(replace(one, axes=axis.declared(one.axes, steps)) for one in self.checks)
        margins, axes = tuple(one.declared(steps) for one in self.margins), axis.declared(self.axes, steps)
        atoms = dict[float, float]()
        for value, mass in self.atoms:
            (near,) = axes[0].snapped(np.array([value])).tolist()
            atoms[near] = atoms.get(near, 0.0) + mass
        return replace(self, axes=axes, atoms=tuple(atoms.items()), checks=checks, margins=margins)

    def plot(self) -> Figure:
        """The density with its band as a matplotlib figure; it belongs to no window and no pyplot state."""
        return drawing.figure(self)

    def to_json(self) -> str:
        """All of it as JSON; ``from_json`` gives the same numbers back, bit for bit."""
        fields: dict[str, object] = {
            "reticent": "density 1",
            "axes": [one.to_json() for one in self.axes],
            "masses": self.masses.tolist(),
            "boxes": None if self.boxes is None else self.boxes.tolist(),
            "atoms": [list(atom) for atom in self.atoms],
            "missing": self.missing,
            "band": None if self.band is None else self.band.tolist(),
            "wander": self.wander,
            "n": self.n,
            "method": self.method,
            "words": list(self.words),
            "guarantee": serialization.to_json(self.guarantee),
        }
        if self.checks:
            fields["checks"] = [one.to_json() for one in self.checks]
        if self.beside is not None:
            fields["beside"] = self.beside
        if self.grain is not None:
            fields["grain"] = self.grain.tolist()
        if self.noticed:
            fields["noticed"] = [one.to_json() for one in self.noticed]
        if self.margins:
            fields["margins"] = [json.loads(one.to_json()) for one in self.margins]
        if self.counts is not None:
            fields["counts"] = self.counts.tolist()
        if self.shift is not None:
            fields["shift"] = self.shift.tolist()
        return json.dumps(fields, ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        columns = " x ".join(f"{one.column} ({one.cells:,})" for one in self.axes)
        parts = "" if self.boxes is None else f" in {len(self.masses):,} boxes"
        return f"<density of {columns} cells{parts} by {self.method}, n = {self.n:,}, {self.guarantee!r}>"

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Density) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.method, self.n, self.masses.tobytes()))

    # --- inside -------------------------------------------------------------------------------------------------------

    def _points(self, points: Points) -> Floats:
        return axis.table(self.axes, points)

    def _gridded(self, runs: Floats) -> Floats:
        """The cumulated masses, linear between edges along every axis: exact for even spread in each cell."""
        total = np.zeros([one.cells + 1 for one in self.axes])
        inner = self.masses
        for place in range(len(self.axes)):
            inner = np.cumsum(inner, axis=place)
        total[(slice(1, None),) * len(self.axes)] = inner
        at = [np.interp(runs[:, place], one.steps, np.arange(one.cells + 1.0)) for place, one in enumerate(self.axes)]
        floors = [
            np.minimum(np.floor(place).astype(np.int64), one.cells - 1)
            for place, one in zip(at, self.axes, strict=True)
        ]
        found = np.zeros(len(runs))
        for corner in np.ndindex(*(2,) * len(self.axes)):
            weight = np.ones(len(runs))
            for up, place, floor in zip(corner, at, floors, strict=True):
                weight = weight * ((place - floor) if up else (1.0 - place + floor))
            found += weight * total[tuple(floor + up for floor, up in zip(floors, corner, strict=True))]
        return found

    def _boxed(self, runs: Floats) -> Floats:
        boxes, spans = self._boxes(), self._spans()
        starts = np.stack([one.steps[boxes[:, place, 0]] for place, one in enumerate(self.axes)], axis=1)
        found = np.empty(len(runs))
        size = max(CHUNK // max(len(boxes), 1), 1)
        for first in range(0, len(runs), size):
            part = runs[first : first + size, None]
            found[first : first + size] = np.prod(np.clip((part - starts) / spans, 0.0, 1.0), axis=2) @ self.masses
        return found

    def _weights(self, shares: Sequence[Floats]) -> Floats:
        """The share of each cell or box inside a range with these shares along each axis."""
        if self.boxes is None:
            product = shares[0]
            for share in shares[1:]:
                product = np.multiply.outer(product, share)
            return product
        weights = np.ones(len(self.masses))
        for place, (one, share) in enumerate(zip(self.axes, shares, strict=True)):
            run = np.concatenate([[0.0], np.cumsum(share * one.sizes)])
            weights *= (run[self.boxes[:, place, 1]] - run[self.boxes[:, place, 0]]) / self._spans()[:, place]
        return weights

    def _beside_atoms(self, shares: Sequence[Floats]) -> bool:
        """Tell if a range has anything but atoms; also true if no mass is shown there, since some may be hidden."""
        inside = shares[0] > 0.0
        if self.atoms and self.axes[0].whole:  # a cell that is an atom holds nothing of the rest
            (one, alone) = (self.axes[0], self.axes[0].sizes == 1.0)
            inside &= ~(alone & np.isin(one.cuts[:-1], [value for value, _ in self.atoms]))
        return bool(inside.any() and all(share.any() for share in shares))

    def _boxes(self) -> NDArray[np.int64]:
        assert self.boxes is not None
        return self.boxes

    def _spans(self) -> Floats:
        """The measure of each box along each axis."""
        boxes = self._boxes()
        return np.stack(
            [one.steps[boxes[:, k, 1]] - one.steps[boxes[:, k, 0]] for k, one in enumerate(self.axes)], axis=1
        )

    def _noise(self, weights: Floats) -> float:
        """Half-width of the noise of a weighted sum of masses.

        Where the distribution function has a bound of its own the noises of cells hang together: a single cell has its
        band (beside boxes there may be more than they show), and any other region the bound at its corners. Elsewhere
        the noises are independent.
        """
        if self.wander is None:
            return 0.0 if self.band is None else float(np.sqrt(((self.band * weights) ** 2).sum()))
        corners = min(2.0 ** len(self.axes) * self.wander, 1.0)
        if self.band is not None and self.boxes is None and np.count_nonzero(weights) == 1:
            return min(float((self.band * weights).sum()), corners)
        if self.grain is None:
            return corners
        inside, outside = (float(np.sqrt(((self.grain * part) ** 2).sum())) for part in (weights, 1.0 - weights))
        apart = len(self.atoms) if len(self.axes) == 1 else math.sqrt(self._parts - 1)
        atoms = apart * (self.beside or 0.0)  # each moves the number of records, and so every share
        return min(math.hypot(min(inside, outside), atoms), corners)  # what lies outside has the same noise

    def _along(self, place: int, masses: Floats, *, squared: bool = False) -> Floats:
        """Masses of the cells of one axis; ``squared``: the shares of boxes are squared, as those of variances."""
        if self.boxes is None:
            others = tuple(k for k in range(len(self.axes)) if k != place)
            summed: Floats = masses.sum(axis=others)
            return summed
        one, spans = self.axes[place], self._spans()[:, place]
        found = np.zeros(one.cells)
        for (first, stop), span, mass in zip(self._boxes()[:, place], spans, masses, strict=True):
            share = one.sizes[first:stop] / span
            found[first:stop] += mass * (share**2 if squared else share)
        return found

    def _mean(self, place: int) -> float:
        return float(self._along(place, self.masses) @ self.axes[place].middles)

    def _pieces(self, held: Floats | None = None) -> tuple[Floats, Floats, Floats, Floats]:
        """Starts of stretches between edges and atoms, their measures, the atom at the start, the mass spread after.

        ``held`` stands for ``masses``.
        """
        one = self.axes[0]
        jumps = dict(self.atoms)
        end = float(one.edges[-1])
        start = np.array(sorted({*one.cuts.tolist(), *jumps}))
        stop = np.append(start[1:], end)
        masses = self._along(0, self.masses if held is None else held)
        place = np.minimum(np.searchsorted(one.cuts, start, side="right") - 1, one.cells - 1)
        size = stop - start
        return (
            start,
            size,
            np.array([jumps.get(value, 0.0) for value in start.tolist()]),
            (masses[place] * size / one.sizes[place]),
        )


def sampling_error(n: int) -> float:
    """Greatest distance of the distribution function of n records from that of their law, but for ``LEFT_OUT``."""
    return math.sqrt(math.log(2.0 / LEFT_OUT) / (2.0 * n))


def from_json(text: str) -> Density:
    """The density ``to_json`` wrote.

    Raises
    ------
    CheckError
        Where the text is no density.
    """
    try:
        fields: dict[str, Any] = json.loads(text)
        boxes, band = fields["boxes"], fields["band"]
        return Density(
            tuple(map(axis.from_json, fields["axes"])),
            np.array(fields["masses"], np.float64),
            str(fields["method"]),
            serialization.from_json(fields["guarantee"]),
            fields["n"],
            None if boxes is None else np.array(boxes, np.int64),
            tuple((float(value), float(mass)) for value, mass in fields["atoms"]),
            fields["missing"],
            None if band is None else np.array(band, np.float64),
            fields["wander"],
            tuple(str(line) for line in fields["words"]),
            tuple(map(check.from_json, fields.get("checks", []))),
            None if fields.get("beside") is None else float(fields["beside"]),
            None if fields.get("grain") is None else np.array(fields["grain"], np.float64),
            tuple(map(noticed.from_json, fields.get("noticed", []))),
            tuple(from_json(json.dumps(one)) for one in fields.get("margins", [])),
            None if fields.get("counts") is None else np.array(fields["counts"], np.float64),
            None if fields.get("shift") is None else np.array(fields["shift"], np.float64),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError):
        raise CheckError("this is not a density that was written by to_json") from None


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    values.setflags(write=False)
    return values
