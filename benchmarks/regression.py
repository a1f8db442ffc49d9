"""Regression of Dwork and Lei: CPU times of its distances, and replies and errors of R_S and R_H.

    python benchmarks/regression.py [--quick]

y = 1 + 2 z_1 + ... + noise with standard normal z and noise, x = (1, z). Errors are medians of |slope - 2| over
replies, beside the least-squares slope's; epsilon is that of each test and release, the total stands beside it.
"""

from __future__ import annotations

import statistics
import sys
import time
from fractions import Fraction

import numpy as np

from reticent.entropy import Replayed
from reticent.outcome import NoReply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import words
from reticent.statistics.regression import lower
from reticent.statistics.regression.blocks import Blocks
from reticent.statistics.regression.cells import cells
from reticent.statistics.regression.lines import gap, rows_for, solutions
from reticent.statistics.regression.rays import ray_bound
from reticent.statistics.regression.robust import robust_regression
from reticent.statistics.regression.rows import ONE, Rows, rows
from reticent.statistics.regression.short_cut import ShortCut
from reticent.statistics.robust.median import scaled_median
from reticent.statistics.robust.scale import scale

PLACES = 14
DELTA = Fraction(1, 10**6)


def table(n: int, columns: int, key: int) -> tuple[Rows, float]:
    """Rows on a grid of 1/256, and the least-squares slope of the last column."""
    draw = np.random.default_rng(key)
    z = draw.normal(size=(n, columns - 1))
    y = 1 + 2 * z.sum(axis=1) + draw.normal(size=n)
    x = np.column_stack([np.ones(n), z])
    slope = float(np.linalg.lstsq(x, y, rcond=None)[0][-1])
    return rows(np.rint(256 * y).astype(np.int64), np.rint(256 * x).astype(np.int64), places=PLACES), slope


def seconds(start: float) -> str:
    return f"{time.process_time() - start:.2f} s CPU"


def distances(quick: bool) -> None:
    for n in (1000, 10_000) if quick else (1000, 10_000, 100_000):
        data, _ = table(n, 2, 1)
        start = time.process_time()
        centre = solutions(data).centre
        assert centre is not None
        near = cells((Fraction(1 << 12),) * 2).around(centre)
        found = [rows_for(gap(data, cell)) for cell in near]
        print(f"exact, p = 2, n = {n}, sides 1/4: {found}, {seconds(start)} (target at 10^4: 2 s)")
        start = time.process_time()
        print(f"  ray test: {[round(ray_bound(data, cell)) for cell in near]}, {seconds(start)}")
        known = lower.public(cells((Fraction(1 << 12),) * 2))
        start = time.process_time()
        shares = [
            bound / (float(gap(data, cell)) ** 0.5 / ONE)
            for bound, cell in zip(lower.lower_bounds(data, known).bounds, near, strict=True)
        ]
        print(f"  lower bound, share of the distance: {[round(share, 2) for share in shares]}, {seconds(start)}")
    for columns in (3,) if quick else (3, 4, 5):
        data, _ = table(10_000, columns, 1)
        known = lower.public(cells((Fraction(2 << PLACES),) * columns))
        start = time.process_time()
        bound, _ = lower.greatest(data, known, most=200)
        print(
            f"lower bound, p = {columns}, n = 10^4, sides 2, all shifts, capped at 200: {bound:.0f}, {seconds(start)}"
        )


def errors(quick: bool) -> None:
    neighbours = Adjacency("substitute")
    for n, epsilon in ((10_000, Fraction(1)), (100_000, Fraction(1))):
        seeds = 20 if quick or n > 10_000 else 100
        blocks = Blocks(n // 2, (0, 0), neighbours)
        spread = scale(blocks.count, neighbours, test=epsilon, release=epsilon, delta=DELTA)
        middle = scaled_median(blocks.count, neighbours, scale_test=epsilon, test=epsilon, release=epsilon, delta=DELTA)
        short = ShortCut(blocks, middle)
        robust = robust_regression(n, blocks, spread, test=epsilon, release=epsilon, delta=DELTA)
        misses: dict[str, list[float]] = {"least squares": [], "R_S": [], "R_H": []}
        for key in range(seeds):
            data, slope = table(n, 2, key)
            misses["least squares"].append(abs(slope - 2))
            for name, outcome in (
                ("R_S", short.sample(data, Replayed(key))),
                ("R_H", robust.sample(data, Replayed(key))),
            ):
                if not isinstance(outcome, NoReply):
                    misses[name].append(abs(float(outcome.value[1].value) / 2**PLACES - 2))
        print(f"n = {n}, eps = {epsilon}: R_S {words(short.guarantee.loss)}, R_H {words(robust.guarantee.loss)}")
        for name, found in misses.items():
            middle_error = statistics.median(found) if found else float("nan")
            print(f"  {name}: replies {len(found)}/{seeds}, median |error| of the slope {middle_error:.4f}")


if __name__ == "__main__":
    distances("--quick" in sys.argv)
    errors("--quick" in sys.argv)
