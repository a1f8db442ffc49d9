"""Cells of a released density as CSV text: the ends of each along every column, its mass, half-width and density."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.tables import safe
from reticent.errors import PublicParameterError
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import Density


def cells(record: CertificateRecord) -> str:
    """The cells of the one density of a release: the ends of each, its mass, half-width, and mass per unit.

    Raises
    ------
    PublicParameterError
        A release without a density, or with several.
    """
    found = [answer.law for answer in record.answers if isinstance(answer.law, Density)]
    if len(found) != 1:
        raise PublicParameterError(f".cells.csv is of a release with one density; this one has {len(found)}")
    return _csv(found[0])


def _csv(density: Density) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = [f"{one.column} {end}" for one in density.axes for end in ("low", "high")]
    writer.writerow([*(safe(name) for name in names), "mass", "noise", "density"])
    lone = [
        {float(one.edges[cell]): float(atom) for cell, atom in zip(one.lone, one.atoms, strict=True)}
        for one in density.axes
    ]
    for ends, mass, half in _rows_of(density):
        pairs = [(of[low], of[low]) if low in of else (low, high) for of, (low, high) in zip(lone, ends, strict=True)]
        flat = [_end(one, end) for one, pair in zip(density.axes, pairs, strict=True) for end in pair]
        size = float(np.prod([high - low for low, high in pairs]))
        writer.writerow([*flat, mass, "" if half is None else half, mass / size if size else ""])
    for value, mass in density.atoms:
        at = _end(density.axes[0], value)
        writer.writerow([at, at, mass, "", ""])
    if density.missing is not None:
        writer.writerow(["missing", *([""] * (2 * len(density.axes) - 1)), density.missing, "", ""])
    return out.getvalue()


def _end(one: Axis, value: float) -> float | str:
    return one.words(value) if one.step else value


def _rows_of(density: Density) -> Iterator[tuple[list[tuple[float, float]], float, float | None]]:
    cuts = [one.cuts for one in density.axes]
    masses = density.masses.ravel().tolist()
    bands = [None] * len(masses) if density.band is None else density.band.ravel().tolist()
    if density.boxes is None:
        every = product(*([(float(a), float(b)) for a, b in pairwise(cut)] for cut in cuts))
        for ends, mass, half in zip(every, masses, bands, strict=True):
            yield list(ends), mass, half
        return
    for box, mass, half in zip(density.boxes, masses, bands, strict=True):
        yield [(float(cut[a]), float(cut[b])) for cut, (a, b) in zip(cuts, box, strict=True)], mass, half
