"""Measured coverage of the 95 % intervals of logistic coefficients, and how many coefficients have one.

    OPENBLAS_NUM_THREADS=1 python benchmarks/logistic.py [--tables 300] [--only fair4] [--epsilon 1 3 5]

A cell is so many tables, each fitted with replayed entropy as ``LogisticRegression`` plans it by default. Made-up rows
have known coefficients. ``fair2`` and ``fair4`` are statsmodels' fair (6,366 rows): affairs by age and years married,
then by religiousness and education too; rows are drawn with replacement, answers from the coefficients that fit the
whole table.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics.convex.losses import Logistic
from reticent.statistics.convex.objective_perturbation import planned
from reticent.statistics.price import Price
from reticent.statistics.scaling import Scaling

Floats = NDArray[np.float64]
FAIR = {"age": (17.5, 42), "yrs_married": (0.5, 23), "religious": (1, 4), "educ": (9, 20)}
STEEP = (0.3, 1.0, -2.0, 0.5, 0.2, -1.0)
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")


def uniform(rows: int, truth: tuple[float, ...]) -> tuple[Callable[[np.random.Generator], Floats], Floats]:
    """Columns that fill their bounds."""

    def drawn(rng: np.random.Generator) -> Floats:
        return np.column_stack([np.ones(rows), rng.uniform(-1, 1, (rows, len(truth) - 1))])

    return drawn, np.array(truth)


def ones(rows: int) -> tuple[Callable[[np.random.Generator], Floats], Floats]:
    """Columns of -1 and 1 with shares of .1, .3 and .5."""

    def drawn(rng: np.random.Generator) -> Floats:
        return np.column_stack([np.ones(rows), 2.0 * (rng.random((rows, 3)) < (0.1, 0.3, 0.5)) - 1])

    return drawn, np.array([-0.5, 0.5, -1.0, 0.3])


def lognormal(rows: int) -> tuple[Callable[[np.random.Generator], Floats], Floats]:
    """Columns that keep to the low end of their bounds."""

    def drawn(rng: np.random.Generator) -> Floats:
        return np.column_stack([np.ones(rows), 2 * np.clip(rng.lognormal(-2.2, 0.8, (rows, 2)), 0, 1) - 1])

    return drawn, np.array([1.0, 2.0, -1.0])


def fair(columns: int) -> tuple[Callable[[np.random.Generator], Floats], Floats]:
    """Rows of the table, scaled, and the coefficients that fit all of it."""
    import statsmodels.api as sm  # of the benchmarks' environment

    table: Any = sm.datasets.fair.load_pandas().data
    scaled = [(table[c] - (low + high) / 2) / ((high - low) / 2) for c, (low, high) in list(FAIR.items())[:columns]]
    whole = np.column_stack([np.ones(len(table)), np.clip(np.column_stack(scaled), -1, 1)])
    truth = np.asarray(sm.Logit((table["affairs"] > 0).to_numpy(float), whole).fit(disp=0).params, np.float64)
    return lambda rng: whole[rng.integers(0, len(whole), len(whole))], truth


CASES: dict[str, Callable[[], tuple[Callable[[np.random.Generator], Floats], Floats]]] = {
    "uniform, 2,000 rows, 2 columns": lambda: uniform(2000, (0.3, 1.0, -1.0)),
    "uniform, 2,000 rows, 3 columns": lambda: uniform(2000, STEEP[:4]),
    "uniform, 8,000 rows, 3 columns": lambda: uniform(8000, STEEP[:4]),
    "uniform, 20,000 rows, 5 columns": lambda: uniform(20_000, STEEP),
    "zeros and ones, 10,000 rows, 3 columns": lambda: ones(10_000),
    "lognormal, 20,000 rows, 2 columns": lambda: lognormal(20_000),
    "fair2": lambda: fair(2),
    "fair4": lambda: fair(4),
}


def cell(name: str, epsilon: str, delta: Fraction, kind: Kind, tables: int) -> tuple[Floats, float, int]:
    """The share told of each coefficient, the share covered of those that were, and how many these were."""
    draw, truth = CASES[name]()
    size = len(truth)
    clip = Fraction(math.isqrt(size * 1024**2 - 1) + 1, 1024) if delta else Fraction(size)
    price, scaling = (
        Price(Fraction(epsilon), delta, Adjacency(kind)),
        Scaling(((Fraction(-1), Fraction(1)),) * (size - 1)),
    )
    hits = np.full((tables, size), np.nan)
    for key in range(tables):
        rng = np.random.default_rng([0, key])
        x = draw(rng)
        y = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ truth))).astype(np.float64)
        people = len(x) if kind == "substitute" else None
        plan = planned("auto", Logistic(2), scaling, price, clip, Fraction(1), people, refined=True)
        around = plan.draw(x[:, 1:], y, Replayed(f"{name} {epsilon} {delta} {kind} {key}")).around
        assert around is not None
        for place, row in enumerate(np.eye(size)):
            if (ends := around.interval(row)) is not None:
                hits[key, place] = ends[0] <= truth[place] <= ends[1]
    told = np.isfinite(hits)
    return told.mean(axis=0), float(hits[told].mean()) if told.any() else math.nan, int(told.sum())


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--tables", type=int, default=300)
    given.add_argument("--only", nargs="*", default=list(CASES))
    given.add_argument("--epsilon", nargs="*", default=["1", "3", "5"])
    asked = given.parse_args()
    print("| rows | ε | δ | neighbours | told, each coefficient | covered | of |")
    for name, epsilon, delta, kind in product(asked.only, asked.epsilon, (Fraction(0), Fraction(1, 10**6)), KINDS):
        told, covered, count = cell(name, epsilon, delta, kind, asked.tables)
        shares = " ".join(f"{share:.2f}" for share in told)
        print(f"| {name} | {epsilon} | {float(delta):g} | {kind} | {shares} | {covered:.3f} | {count:,} |", flush=True)


if __name__ == "__main__":
    main()
