"""All methods of whole-data-set release on one public column, each beside the truth.

    lab.density_zoo().plot()                                 the packaged public table, one panel a method
    lab.density_zoo(values, low=0, high=100, epsilon="1/2")  a column of your own that is nobody's secret

Every panel is one release by ``study.release`` with a ledger in memory: the code and the noise that a release
has. Here the truth stands beside it, so the column must be public. One command:

    python -c "from reticent import lab; lab.density_zoo(epsilon='0.1').save('densities.png')"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.certificate.record import Record
from reticent.certificate.render.odds import saved
from reticent.data.schema import real
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy.loss import PureDP, words
from reticent.privacy.numbers import Number, read
from reticent.statistics.density import DensityOf, Detail
from reticent.statistics.statistic import Ask, ask
from reticent.study.memory import study
from reticent.synthesis import drawing
from reticent.synthesis.density import Density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

COLUMN: Final = "xage"  # of the packaged table: age in years
BOUNDS: Final = (0, 67)  # only people younger than 62 were enrolled, for at most five years
DELTA: Final = "1e-6"  # for noise that is Gaussian
BARS: Final = 60  # of the truth
WIDE: Final = 3  # panels in a row
SAMPLE_BARS: Final = 20
SHOWN: Final = 1200  # points at which distribution functions are compared


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ZooEntry:
    """One method: its name here, what was asked, and what came out."""

    name: str
    asked: Ask
    outcome: Outcome[Density]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Zoo:
    """Densities of one public column by every method.

    Attributes
    ----------
    column : str
    low, high : float
    values : array
        The public column.
    loss : PureDP
        What each release cost, apart from the delta of those with Gaussian noise.
    specimens : tuple of ZooEntry
    """

    column: str
    low: float
    high: float
    values: Floats
    loss: PureDP
    specimens: tuple[ZooEntry, ...]

    def rows(self) -> tuple[tuple[str, float, float], ...]:
        """(method, greatest difference of distribution functions, of shares of ``BARS`` bars half the sum).

        Both against the column itself; NaN for a method that gave no reply.
        """
        return tuple((one.name, *self._errors(one.outcome)) for one in self.specimens)

    def plot(self) -> Figure:
        """A panel for each method: the column in grey, the released density with its noise band in blue."""
        from matplotlib.figure import Figure

        tall = -(-len(self.specimens) // WIDE)
        drawn = Figure(figsize=(3.4 * WIDE, 2.4 * tall + 0.4), layout="constrained")
        panels = drawn.subplots(tall, WIDE, squeeze=False, sharex=True, sharey=True).ravel()
        heights, cuts = np.histogram(self.values, bins=BARS, range=(self.low, self.high), density=True)
        for one, panel in zip(self.specimens, panels, strict=False):
            panel.stairs(heights, cuts, fill=True, color="#dfe3e8")
            _drawn(one, self._errors(one.outcome)[0], panel)
        for panel in panels[len(self.specimens) :]:
            panel.set_visible(False)
        panels[0].set_ylim(0.0, 1.35 * float(np.sort(heights)[-2]))
        drawn.supxlabel(f"{self.column}   (grey: the public column; blue: released, shade: noise, 95 %)", fontsize=9)
        drawn.suptitle(f"{len(self.values):,} rows, {words(self.loss)}, add or remove one row", fontsize=10)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the figure as .svg, .png or .pdf."""
        saved(self.plot(), path, "density zoo")

    def _errors(self, outcome: Outcome[Density]) -> tuple[float, float]:
        match outcome:
            case NoReply():
                return float("nan"), float("nan")
            case Reply(found):
                points = np.linspace(self.low, self.high, SHOWN + 1)
                truth = np.searchsorted(np.sort(self.values), points, side="right") / len(self.values)
                told = found.cdf(points)
                every = SHOWN // BARS
                shares = [np.diff(np.append(0.0, run[every::every])) for run in (truth, told)]
                return float(np.abs(truth - told).max()), float(np.abs(shares[0] - shares[1]).sum() / 2.0)

    def __repr__(self) -> str:
        wide = max(len(one.name) for one in self.specimens)
        lines = [f"{name:<{wide}}  {ks:.4f}  {bars:.4f}" for name, ks, bars in self.rows()]
        return "\n".join([f"{'method':<{wide}}  KS      bars", *lines])


def density_zoo(
    values: ArrayLike | None = None,
    *,
    column: str = COLUMN,
    low: Number = BOUNDS[0],
    high: Number = BOUNDS[1],
    epsilon: Number = 1,
) -> Zoo:
    """Release a public column by every method, each at the same epsilon.

    Parameters
    ----------
    values : array, shape (n,), optional
        A public column, each row of another person; by default ``column`` of the packaged public table.
    column : str
        Name of the column.
    low, high : number
        Bounds that are known without the column.
    epsilon : number
        Of each release.

    Returns
    -------
    Zoo

    Raises
    ------
    PublicParameterError
        For values that are not one column of at least one number.
    """
    cost, bounds = read(epsilon, "epsilon"), (read(low, "low"), read(high, "high"))
    known = _packaged(column) if values is None else np.asarray(values, np.float64)
    known = np.clip(known[np.isfinite(known)], float(bounds[0]), float(bounds[1]))
    if known.ndim != 1 or not len(known):
        raise PublicParameterError("a zoo is of one column with at least one value")
    opened = study(
        {column: known},
        adjacency="add_remove",
        columns={column: real(*bounds)},
        budget=cost * len(asked(column)) + 1,
        delta="1e-5",
        override="a public column, shown beside the truth",
    )
    found, about = [], Record(override="a public column")
    for name, question in asked(column):
        made = opened.release([question], epsilon=cost, delta=question.delta, record=about)
        law = made[question.name].law
        found.append(ZooEntry(name, question, Reply(law) if isinstance(law, Density) else NO_REPLY))
    return Zoo(column, float(bounds[0]), float(bounds[1]), known, PureDP(cost), tuple(found))


def asked(column: str) -> Sequence[tuple[str, Ask]]:
    """Every method, with about as many cells where it has a grid; else what its public rule says, or suits ages."""
    fine, wave, narrow = Detail(cells=64), Detail(degree=20), Detail(bandwidth="0.03")
    return (
        ("auto (private choice)", ask(DensityOf(column))),
        ("histogram", ask(DensityOf(column, method="histogram", detail=fine))),
        ("sparse grid", ask(DensityOf(column, method="sparse", detail=fine))),
        ("adaptive grid", ask(DensityOf(column, method="adaptive", detail=fine))),
        ("tree, 256 cells", ask(DensityOf(column, method="tree", detail=Detail(cells=256)))),
        ("KS exponential", ask(DensityOf(column, method="ks"))),
        ("orthogonal series", ask(DensityOf(column, method="series", detail=wave))),
        ("kernel, Gaussian noise", DensityOf(column, method="kernel", detail=narrow).at(delta=DELTA)),
        ("Bernstein", ask(DensityOf(column, method="bernstein"))),
    )


def _drawn(one: ZooEntry, error: float, panel: Axes) -> None:
    match one.outcome:
        case Reply(found):
            if _method(one.asked) in ("ks", "tree"):  # a small sample, or made for the distribution function: as bars
                _bars(found, panel)
            else:
                drawing.curve(found, panel)
        case NoReply():
            panel.text(0.5, 0.5, "no reply", transform=panel.transAxes, ha="center")
    panel.set_title(f"{one.name}   KS {error:.3f}", fontsize=9)
    panel.set_xlabel("")
    panel.set_ylabel("")


def _bars(found: Density, panel: Axes) -> None:
    """Wide bars with the noise band of each, from the bound on the distribution function at its two ends."""
    cuts = np.linspace(found.axes[0].low, found.axes[0].high, SAMPLE_BARS + 1)
    told = [found.probability(low, high) for low, high in pairwise(cuts.tolist())]
    wide = cuts[1] - cuts[0]
    heights, half = (np.array(part) / wide for part in zip(*((one.value, one.noise) for one in told), strict=True))
    low, high = np.maximum(heights - half, 0.0), heights + half
    panel.fill_between(
        cuts, np.append(low, low[-1]), np.append(high, high[-1]), step="post", color=drawing.SHADE, alpha=0.5, lw=0
    )
    panel.stairs(heights, cuts, color=drawing.INK, lw=1.2)


def _packaged(column: str) -> Floats:
    """A column of the packaged public table."""
    from importlib import resources
    from io import BytesIO

    import pyarrow.parquet as pq

    held = (resources.files("reticent.demo") / "randhie.parquet").read_bytes()
    table = pq.read_table(BytesIO(held), columns=[column])
    found: Floats = np.asarray(table.column(0).to_numpy(zero_copy_only=False), np.float64)
    return found


def _method(asked: Ask) -> str:
    """The method of a density."""
    assert isinstance(asked.statistic, DensityOf)
    return asked.statistic.method
