"""Voids and clusters: what becomes of empty space when counts get noise. Toy data only.

    lab.density.voids("ring").plot()            rows, clip and renormalise, simplex projection
    lab.density.voids("line", cells=32, columns=3).rows()

002 ends with the remark that structure in the data, such as voids and manifolds, is destroyed by differential privacy.
Most of that is done after the noise: if negative counts are cut off and the rest is divided by its total, half of the
empty cells keep a positive count. Together they may outweigh the data. The projection onto the simplex takes the same
number off every cell instead; the same noisy counts go into both pictures.

Source: 002 sections 6.2 and 7. The rows are made up, so the truth may stand beside the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.render.odds import saved
from reticent.entropy import Replayed, system, uniforms
from reticent.errors import PublicParameterError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, read
from reticent.privacy.sensitivity import L1
from reticent.synthesis.linear import settled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Shape: TypeAlias = Literal["line", "ring", "clusters"]

MOST: Final = 1 << 21  # cells
MOST_ROWS: Final = 1 << 20
HIGH: Final = 99.5  # percentile of the true counts at which a colour is full


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Voids:
    """Shares of cells of the unit cube: of the made-up rows, and after noise with either way to a density.

    Attributes
    ----------
    shape : "line", "ring" or "clusters"
    size : int
        Rows.
    guarantee : Guarantee
        What releasing the noisy counts would cost.
    truth, clipped, projected : arrays, shape (cells, ..., cells)
    """

    shape: Shape
    size: int
    guarantee: Guarantee
    truth: Floats
    clipped: Floats
    projected: Floats

    def rows(self) -> tuple[tuple[str, float, float], ...]:
        """(picture, its mass on cells without rows, half the sum of its differences to the rows' shares)."""
        empty = self.truth == 0.0
        pictures = (
            ("rows", self.truth),
            ("clip and renormalise", self.clipped),
            ("simplex projection", self.projected),
        )
        return tuple(
            (name, float(found[empty].sum()), float(np.abs(found - self.truth).sum() / 2.0)) for name, found in pictures
        )

    def plot(self) -> Figure:
        """Three maps of the first two columns, in the same colours."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(9.6, 3.6), layout="constrained")
        pictures = (self.truth, self.clipped, self.projected)
        maps = [found.sum(axis=tuple(range(2, found.ndim))) for found in pictures]
        most = float(np.percentile(maps[0][maps[0] > 0], HIGH))
        for panel, found, (name, outside, _) in zip(
            drawn.subplots(1, 3, squeeze=False)[0], maps, self.rows(), strict=True
        ):
            panel.imshow(found.T, origin="lower", cmap="Blues", vmin=0.0, vmax=most, extent=(0, 1, 0, 1))
            panel.set_title(f"{name}\n{outside:.1%} on empty cells", fontsize=9)
            panel.set_xticks([0, 1])
            panel.set_yticks([0, 1])
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the figure as .svg, .png or .pdf."""
        saved(self.plot(), path, "voids")

    def __repr__(self) -> str:
        (_, clipped, _), (_, projected, _) = self.rows()[1:]
        return f"<{self.shape}: mass on empty cells {clipped:.3f} clipped, {projected:.3f} projected>"


def voids(
    shape: Shape = "ring",
    *,
    size: int = 20_000,
    cells: int = 64,
    columns: int = 2,
    epsilon: Number = 1,
    adjacency: Literal["substitute", "add_remove"] = "substitute",
    key: str | None = None,
) -> Voids:
    """Rows on a line, a ring or in three clusters, counted in cells, with geometric noise.

    Parameters
    ----------
    shape : "line", "ring" or "clusters"
        A line is the diagonal of the cube; beyond two columns a ring and clusters are thin in the others.
    size : int
        Rows, 1 to 2^20.
    cells : int
        Along each column; at most 2^21 in all.
    columns : int
        2 to 4.
    epsilon : number
    adjacency : "substitute" or "add_remove"
        A replaced row moves two counts, so the noise is twice as wide.
    key : str or None
        Of a stream to replay; None: new rows and new noise.

    Returns
    -------
    Voids
        The counts and the noisy counts, side by side.

    Raises
    ------
    PublicParameterError
        A number of rows, columns or cells out of range.
    """
    if not 1 <= size <= MOST_ROWS or not 2 <= columns <= 4 or cells < 2 or cells**columns > MOST:
        raise PublicParameterError("a toy has 1 to 2^20 rows in 2 to 4 columns and at most 2^21 cells")
    entropy = Replayed(key if key is not None else system().bits(256).to_bytes(32, "little"))
    shares = [uniforms(size, entropy) for _ in range(columns + 1)]
    place = np.clip((_points(shape, shares) * cells).astype(np.int64), 0, cells - 1)
    flat = np.ravel_multi_index(tuple(place), (cells,) * columns)
    counts = np.bincount(flat, minlength=cells**columns)
    moved = Fraction(2 if adjacency == "substitute" else 1)
    mechanism = Geometric(L1(moved, Adjacency(adjacency)), read(epsilon, "epsilon"))
    noisy = np.array(mechanism.sample(counts.tolist(), entropy), np.float64)
    even = np.full(len(noisy), 1.0 / len(noisy))
    total = float(size) if adjacency == "substitute" else max(float(noisy.sum()), 1.0)  # n is public, or it is noisy
    form = (cells,) * columns
    projected = settled(noisy / total * len(noisy), even, "simplex") * even
    clipped = settled(noisy / total * len(noisy), even, "clip") * even
    return Voids(
        shape,
        size,
        mechanism.guarantee,
        (counts / size).reshape(form),
        clipped.reshape(form),
        projected.reshape(form),
    )


def _points(shape: Shape, shares: list[Floats]) -> Floats:
    """Rows in the unit cube: shape (columns, rows). The last share tells rows of a line from each other."""
    *others, along = shares
    thin = [0.48 + 0.04 * other for other in others[2:]]
    match shape:
        case "line":
            return np.stack([along for _ in others])
        case "ring":
            radius = 0.36 + 0.04 * others[0]
            turn = 2.0 * np.pi * along
            return np.stack([0.5 + radius * np.cos(turn), 0.5 + radius * np.sin(turn), *thin])
        case "clusters":
            which = np.minimum((3.0 * along).astype(np.int64), 2)
            middle = np.array([[0.2, 0.25], [0.75, 0.3], [0.5, 0.8]])[which]
            return np.stack([middle[:, 0] + 0.1 * (others[0] - 0.5), middle[:, 1] + 0.1 * (others[1] - 0.5), *thin])
        case _:
            assert_never(shape)
