"""Validity of a density: shapes, masses that add up to 1, half-widths that are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import PublicParameterError
from reticent.privacy.guarantee import Guarantee
from reticent.synthesis.axis import Axis

Floats = NDArray[np.float64]

OFF: Final = 1e-9  # by which masses may fail to add up to 1
MOST_AXES: Final = 4


class DensityParts(Protocol):
    """The parts of a ``Density`` that are checked or drawn. ``density`` imports these files, and not the other way."""

    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def masses(self) -> Floats: ...
    @property
    def boxes(self) -> NDArray[np.int64] | None: ...
    @property
    def atoms(self) -> tuple[tuple[float, float], ...]: ...
    @property
    def missing(self) -> float | None: ...
    @property
    def band(self) -> Floats | None: ...
    @property
    def wander(self) -> float | None: ...
    @property
    def beside(self) -> float | None: ...
    @property
    def grain(self) -> Floats | None: ...
    @property
    def counts(self) -> Floats | None: ...
    @property
    def shift(self) -> Floats | None: ...
    @property
    def margins(self) -> Sequence[DensityParts]: ...
    @property
    def n(self) -> int: ...
    @property
    def within(self) -> float | None: ...
    @property
    def method(self) -> str: ...
    @property
    def guarantee(self) -> Guarantee: ...
    def cdf(self, points: ArrayLike) -> Floats: ...
    def marginal(self, column: str) -> DensityParts: ...
    def _along(self, place: int, masses: Floats) -> Floats: ...


def _widths(found: Floats | float) -> bool:
    if isinstance(found, str | bool):
        return False
    values = np.asarray(found, np.float64)
    return bool(np.isfinite(values).all() and (values >= 0).all())


def check(found: DensityParts) -> None:
    """Refuse fields that make no density, with the reason."""
    if not 1 <= len(found.axes) <= MOST_AXES or len({one.column for one in found.axes}) != len(found.axes):
        raise PublicParameterError(f"a density has 1 to {MOST_AXES} different columns")
    shape = tuple(one.cells for one in found.axes) if found.boxes is None else (len(found.boxes),)
    if found.masses.shape != shape or any(
        one is not None and one.shape != shape for one in (found.band, found.grain, found.counts, found.shift)
    ):
        raise PublicParameterError(f"masses have shape {shape}, got {found.masses.shape}")
    if found.boxes is not None:
        cells = np.array([one.cells for one in found.axes])
        if found.boxes.shape != (len(found.masses), len(found.axes), 2) or not np.all(
            (found.boxes[:, :, 0] >= 0)
            & (found.boxes[:, :, 0] < found.boxes[:, :, 1])
            & (found.boxes[:, :, 1] <= cells)
        ):
            raise PublicParameterError("boxes are blocks of cells inside the grid")
    if found.margins and [one.axes[0].column for one in found.margins] != [one.column for one in found.axes]:
        raise PublicParameterError("margins are one density for each column, in the same order")
    if found.atoms and len(found.axes) > 1:
        raise PublicParameterError("atoms belong to a density of one column")
    if any(not found.axes[0].low <= value <= found.axes[0].high for value, _ in found.atoms):
        raise PublicParameterError("atoms lie within the bounds")
    shares = np.concatenate([found.masses.ravel(), [mass for _, mass in found.atoms]])
    if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1.0) <= OFF):
        raise PublicParameterError("masses must be >= 0 and add up to 1, atoms included")
    if found.missing is not None and not 0.0 <= found.missing <= 1.0:
        raise PublicParameterError("the share that is missing must be in [0, 1]")
    widths = [found.band, found.grain, found.wander, found.beside]
    if not all(_widths(one) for one in widths if one is not None):
        raise PublicParameterError("half-widths are finite numbers >= 0")
    if found.shift is not None and not np.isfinite(found.shift).all():
        raise PublicParameterError("what was added to a mass is a finite number")
    if isinstance(found.n, bool) or not isinstance(found.n, int) or found.n < 1:
        raise PublicParameterError(f"n must be an integer >= 1, got {found.n}")
