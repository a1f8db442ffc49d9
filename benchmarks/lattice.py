"""Classifiers of one to three columns on ten laws of two classes: what each loses to the best possible rule.

    OPENBLAS_NUM_THREADS=1 python benchmarks/lattice.py [--seeds N] [--columns 1 2 3]

Laws: a plane, a ball, alternating boxes, a wave and a small ball of a rarer class, each with uniform and with normal
rows. Printed are means over laws and seeds of the accuracy of the best rule less that of the model, both by the true
chances at 2,000 points, in percent; ``+-`` is the standard error over seeds. The kernel classifier is shown with its
own public rule for degree and bandwidth, and with those that were best for all ten laws, in hindsight.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.learning import BernsteinClassifier, DecisionTreeClassifier, LogisticRegression
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

Floats = NDArray[np.float64]
LAWS = ("plane", "ball", "boxes", "wave", "rare")
SIZES = (1_000, 10_000)
EPSILONS = ("0.1", "1")
POINTS = 2_000


def chance(law: str, x: Floats) -> Floats:
    """Of the second class at every point."""
    columns = x.shape[1]
    match law:
        case "plane":
            score = 6 * (x - 0.5).sum(axis=1) / np.sqrt(columns)
        case "ball":
            score = 25 * (((x - 0.5) ** 2).sum(axis=1) - 0.075 * columns)
        case "boxes":
            score = 2 * np.prod(np.sign(x - 0.5), axis=1)
        case "wave":
            last = x[:, -1] - 0.5 if columns > 1 else 0.0
            score = 8 * (last - 0.3 * np.sin((2 if columns > 1 else 3) * np.pi * x[:, 0]))
        case _:
            score = -2.2 + 3.5 * (((x - 0.7) ** 2).sum(axis=1) < 0.06 * columns)
    return np.asarray(1 / (1 + np.exp(-score)), np.float64)


def rows(rng: np.random.Generator, n: int, columns: int, shape: str) -> Floats:
    """Rows in the unit box."""
    if shape == "uniform":
        return rng.random((n, columns))
    return np.asarray(np.clip(0.5 + 0.17 * rng.normal(size=(n, columns)), 0, 1))


def models(epsilon: str) -> dict[str, Any]:
    """What is compared, each with its public rules."""
    budget = Ledger.create(None, title="b", adjacency=Adjacency("add_remove"), budget=PureDP(Fraction(10**6)))
    given: dict[str, Any] = {"epsilon": epsilon, "bounds": (0, 1), "classes": [0, 1]}
    given |= {"adjacency": "add_remove", "ledger": budget}
    found: dict[str, Any] = {
        "kernels on a lattice": BernsteinClassifier(**given),
        "tree": DecisionTreeClassifier(**given),
        "logistic": LogisticRegression(**given, intervals="no"),
    }
    for degree, bandwidth in product((3, 6, 12, 20, 60), ("0.04", "0.08", "0.16")):
        found[f"degree {degree}, {bandwidth}"] = BernsteinClassifier(**given, degree=degree, bandwidth=bandwidth)
    return found


def lost(model: Any, columns: int, n: int, seeds: int) -> Floats:
    """Accuracy lost, of shape (seeds,), mean over the laws."""
    found = np.zeros(seeds)
    for seed, law, shape in product(range(seeds), LAWS, ("uniform", "normal")):
        rng = np.random.default_rng([seed, LAWS.index(law), len(shape), n])
        x, points = rows(rng, n, columns, shape), rows(rng, POINTS, columns, shape)
        told = chance(law, points)
        model.fit(x, (rng.random(n) < chance(law, x)).astype(int))
        right = np.where(model.predict(points) == 1, told, 1 - told)
        found[seed] += float((np.maximum(told, 1 - told) - right).mean()) / (2 * len(LAWS))
    return found


def line(columns: int, n: int, epsilon: str, seeds: int) -> str:
    """One line of the table."""
    listed = models(epsilon)
    shown = []
    for name in [name for name in listed if "degree" not in name]:
        found = 100 * lost(listed.pop(name), columns, n, seeds)
        shown.append(f"{name} {found.mean():.1f} +- {found.std() / np.sqrt(seeds):.1f}")
    most = 4096 ** (1 / columns) - 1
    grid = {
        name: 100 * float(lost(model, columns, n, max(1, seeds // 2)).mean())
        for name, model in listed.items()
        if model.degree <= most
    }
    best = min(grid, key=grid.__getitem__)
    return f"{columns} columns, {n:>6,} rows, eps {epsilon:>3}: {'; '.join(shown)}; {best}: {grid[best]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--columns", type=int, nargs="*", default=[1, 2, 3])
    asked = parser.parse_args()
    for columns, n, epsilon in product(asked.columns, SIZES, EPSILONS):
        print(line(columns, n, epsilon, asked.seeds), flush=True)


if __name__ == "__main__":
    main()
