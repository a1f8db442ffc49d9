"""Error budgets of the proof pages: the bounds that a table states hold where they are used."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from reticent.statistics.regression import distance_bounds
from reticent.statistics.regression.candidates import CoefficientBox, CoefficientCells


@pytest.mark.wide
def test_a_rounded_curvature_never_exceeds_its_bound() -> None:
    """docs/proofs/learning.md, section 4: two roundings are within the factor 1 - 2^-50."""
    dice = np.random.default_rng(4)
    x = dice.integers(1, 1 << 12, 200_000)
    weights = dice.integers(1, 1 << 20, 200_000) / dice.integers(1, 1 << 12, 200_000)  # products at and near integers
    bent = np.trunc(x * weights * (1 - 2.0**-50)).astype(np.int64)
    assert all(int(u) <= Fraction(w) * int(n) for u, w, n in zip(bent, weights, x, strict=True))
    rounded = np.trunc(x * weights).astype(np.int64)
    assert not all(int(u) <= Fraction(w) * int(n) for u, w, n in zip(rounded, weights, x, strict=True))


@pytest.mark.parametrize("columns", range(1, 9))
def test_the_diameter_is_within_4096_radii_of_a_piece(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/proofs/regression.md, section 4: pieces of cells of any shape, down random ways of their trees."""
    monkeypatch.setattr(distance_bounds._Search, "height", lambda *_: 0)
    dice, worst = random.Random(columns), 0.0
    for _ in range(6):
        sides = tuple((columns + 1) * dice.choice([1, 3, 1 << dice.randrange(20)]) for _ in range(columns))
        known, cell = distance_bounds.public(CoefficientCells(sides)), CoefficientBox((0,) * columns, sides)
        search = object.__new__(distance_bounds._Search)
        search.corner, search.middle, search.base = (0,) * columns, tuple(side << 13 for side in sides), 0
        search.points = known.points.astype(float), np.zeros(len(known.points))
        for low, high in dice.sample(distance_bounds._facets(cell), 2):
            box = search.box(low, high, None, 0)
            while box.depth < known.depth:
                box = search.box(*dice.choice(distance_bounds._halves(box)), box, 0)
            worst = max(worst, math.hypot(*(side << 14 for side in sides)) / float(search.radii(box).min()))
    assert worst <= 1 << 12
