"""Bins of numbers are counted in the engine: a value is compared with the same doubles as by NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.format import LISTED_EDGES, NAMED_EDGES
from reticent.data.query import Keys, Query, Tally, Weighing, WeightedTally
from reticent.data.schema import Person, Real, Schema, category
from reticent.data.table import open_table
from tests.support.engine_places import EVERY, Place, placed

KEY = bytes(range(32))
ODD = [0.0, -0.0, 5e-324, -5e-324, 0.1, 1 / 3, 2.0**53, 2.0**53 + 2, 1e300, -1e300, math.inf, -math.inf, math.pi]
EDGES = [
    tuple(map(Fraction, (0, 1))),
    (Fraction(-1), Fraction(0), Fraction(1)),
    (Fraction(-(10**300)), Fraction(1, 10), Fraction(1, 3), Fraction(2**53 + 1), Fraction(10**300)),
    *(
        tuple(Fraction(place, 7) for place in range(-30, many - 30))
        for many in (NAMED_EDGES, NAMED_EDGES + 1, 2 * NAMED_EDGES + 1, 2 * NAMED_EDGES + 2, 1000)
    ),
]
LONG = [tuple(Fraction(place, 700) for place in range(-1000, many - 1000)) for many in (LISTED_EDGES, LISTED_EDGES + 1)]
SCHEMA = Schema({"x": Real(), "w": Real(Fraction(0), Fraction(1)), "g": category(["a", "b"])}, Person("add_remove"))


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with placed(request.param) as put:
        yield put


def values() -> list[float]:
    """Odd doubles, edges, their neighbours and numbers between them."""
    edges = sorted({float(edge) for each in EDGES for edge in each})
    beside = [float(np.nextafter(edge, to)) for edge in edges for to in (-math.inf, math.inf)]
    return [*ODD, *edges, *beside, *np.random.default_rng(20081114).normal(0, 3, 300).tolist()]


@pytest.mark.parametrize("several", [EDGES, LONG], ids=["few", "many"])
def test_bins_are_those_of_numpy(place: Place, several: list[tuple[Fraction, ...]]) -> None:
    x = values()
    keys = Keys("g", ("a", "b"), 1)
    groups = ["ab"[nth % 2] for nth in range(len(x))]
    table = open_table(place({"x": x, "w": [1.0] * len(x), "g": groups}), SCHEMA)
    asked: list[Query] = [Tally("x", edges=edges, keys=some) for edges in several for some in (None, keys)]
    weighted = [WeightedTally("x", Weighing("w", Fraction(1)), edges=edges) for edges in several]
    found = table.run([*asked, *weighted], KEY)
    held = np.array(x)
    for nth, edges in enumerate(several):
        bins = np.searchsorted([float(edge) for edge in edges[1:-1]], held, side="right")
        counts = np.bincount(bins, minlength=len(edges) - 1)
        assert found[2 * nth].vectors == (tuple(counts.tolist()),)
        parts = [np.bincount(bins[np.array(groups) == group], minlength=len(edges) - 1) for group in "ab"]
        assert found[2 * nth + 1].vectors == tuple(tuple(part.tolist()) for part in parts)
        (sums,) = found[len(asked) + nth].vectors
        assert np.array_equal(np.reshape(sums, (len(counts), -1)).sum(1), counts << 20)
