"""Whole-data-set release: error beside the same estimate without noise, slopes, sensitivities, voids.

    python benchmarks/release.py [--runs 50] [--only smooth,bernstein,voids]

Records are drawn from Beta(3, 4) on [0, 1]; epsilon 1, delta 10^-6 where noise is Gaussian, substitution with public n.
Run number r has the table of generator r and the noise of a stream named after method, n and r, so that a line can be
made again. "Without noise" is the same coefficients, lattice and projection. Targets stand beside what was measured; a
line that misses one says so.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.entropy import Replayed  # noqa: E402
from reticent.lab.density import voids  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Adjacency  # noqa: E402
from reticent.synthesis.bernstein import Bernstein, degree_for  # noqa: E402
from reticent.synthesis.kernel import Kernel, bandwidth_for  # noqa: E402
from reticent.synthesis.series import Linear, Series, Terms, grid, settled, shares_of  # noqa: E402
from reticent.synthesis.series import degree_for as order_for  # noqa: E402

Floats = NDArray[np.float64]
ONE: Final = Fraction(1)
DELTA: Final = Fraction(1, 10**6)
AXES: Final = grid([("x", Fraction(0), ONE, False)])
CELLS: Final = AXES[0].cells
TRUTH: Final = stats.beta(3, 4).pdf((np.arange(CELLS) + 0.5) / CELLS)
SIZES: Final = (1_000, 3_162, 10_000, 31_623, 100_000)
FLATTER: Final = 0.05
LESS: Final = 2.5


def public(n: int) -> Terms:
    return Terms(Adjacency("substitute"), n, fixed=True)


def two_fifths(n: int) -> int:
    """m = 2 n^(1/5), the order for two derivatives."""
    return round(2 * math.pow(n, 0.2))


METHODS: Final[dict[str, Callable[[int], Series | Kernel | Bernstein]]] = {
    "series, geometric, m = 2 n^(1/5)": lambda n: Series(AXES, public(n), ONE, two_fifths(n)),
    "series, Gaussian, m = 2 n^(1/5)": lambda n: Series(AXES, public(n), ONE, two_fifths(n), DELTA),
    "series, geometric, m of the class (2, 1)": lambda n: Series(AXES, public(n), ONE, order_for(2, 1, n, ONE)),
    "kernel, Gaussian, h = n^(-1/5) / 4": lambda n: Kernel(AXES, public(n), ONE, bandwidth_for(n), DELTA),
    "Bernstein, geometric, k = n^(1/3)": lambda n: Bernstein(AXES, public(n), ONE, degree_for(n), bandwidth_for(n)),
}


@dataclass(frozen=True, slots=True)
class Line:
    """Mean integrated squared errors of a method over the sizes, and seconds a release."""

    private: tuple[float, ...]
    plain: tuple[float, ...]
    spread: tuple[float, ...]
    seconds: float


def error(heights: Floats) -> float:
    return float(np.mean((heights - TRUTH) ** 2))


def without_noise(plan: Linear, counts: NDArray[np.int64]) -> Floats:
    heights = plan.back @ (counts @ plan.sums.table) / counts.sum() + (1.0 if plan.base else 0.0)
    return settled(heights, shares_of(AXES), "simplex")


def line(name: str, runs: int) -> Line:
    private, plain, spread, spent = [], [], [], 0.0
    for n in SIZES:
        plan = METHODS[name](n).plan
        found, beside = [], []
        for run in range(runs):
            sample = np.random.default_rng(run).beta(3, 4, n)
            counts = np.histogram(sample, CELLS, (0, 1))[0].astype(np.int64)
            start = time.process_time()
            outcome = plan.release(counts, Replayed(f"{name} {n} {run}"))
            spent += time.process_time() - start
            assert isinstance(outcome, Reply)
            found.append(error(outcome.value.masses * CELLS))
            beside.append(error(without_noise(plan, counts)))
        private.append(float(np.mean(found)))
        plain.append(float(np.mean(beside)))
        spread.append(float(np.std(found)) / math.sqrt(runs))
    return Line(tuple(private), tuple(plain), tuple(spread), spent / (runs * len(SIZES)))


def slope(errors: tuple[float, ...]) -> float:
    return float(np.polyfit(np.log(SIZES), np.log(errors), 1)[0])


def smooth(runs: int) -> None:
    print(f"\nIntegrated squared error, mean of {runs} runs, over that of the same estimate without noise\n")
    print("| method | " + " | ".join(f"n = {n:,}" for n in SIZES) + " | slope | without noise | flatter by | CPU |")
    print("|---" * (len(SIZES) + 5) + "|")
    for name in METHODS:
        found = line(name, runs)
        cells = [f"{a:.5f} ({a / b:.2f})" for a, b in zip(found.private, found.plain, strict=True)]
        mine, other = slope(found.private), slope(found.plain)
        judged = "" if mine - other <= FLATTER else f" misses {FLATTER}"
        times = f"{1000 * found.seconds:.0f} ms"
        print(
            f"| {name} | "
            + " | ".join(cells)
            + f" | {mine:.3f} | {other:.3f} | {mine - other:+.3f}{judged} | {times} |"
        )
        worst = max(s / p for s, p in zip(found.spread, found.private, strict=True))
        print(f"  (standard error at most {worst:.0%})", file=sys.stderr)


def bernstein(runs: int) -> None:
    print("\nNoise of the Bernstein mechanism, in units of 1 / n: the exact L1 sensitivity and the generic constants\n")
    print("| k | h | exact | generic, plain kernel | generic, reflecting kernel | plain over exact |")
    print("|--:|--:|--:|--:|--:|--:|")
    for n in (300, *SIZES):
        degree, h = degree_for(n), bandwidth_for(n)
        made = Bernstein(AXES, public(n), ONE, degree, h)
        exact, reflecting = made.plan.sums.moved / made.unit, made.generic / made.unit
        plain = (degree + 1) / (float(h) * math.sqrt(2 * math.pi))
        judged = "" if plain / exact >= LESS else f", misses {LESS}"
        ends = f"{plain:.0f} | {reflecting:.0f} | {plain / exact:.1f}{judged}"
        print(f"| {degree} | {float(h):.3f} | {exact:.1f} | {ends} |")
    print("\nIterations at n = 10,000: error and how far noise can be multiplied\n")
    print("| iterations | error | without noise | noise of a point |")
    print("|--:|--:|--:|--:|")
    for times in (1, 2, 4, 8):
        plan = Bernstein(AXES, public(10_000), ONE, 22, bandwidth_for(10_000), times).plan
        found, beside = [], []
        for run in range(runs):
            counts = np.histogram(np.random.default_rng(run).beta(3, 4, 10_000), CELLS, (0, 1))[0].astype(np.int64)
            outcome = plan.release(counts, Replayed(f"iterations {times} {run}"))
            assert isinstance(outcome, Reply)
            found.append(error(outcome.value.masses * CELLS))
            beside.append(error(without_noise(plan, counts)))
        print(f"| {times} | {np.mean(found):.5f} | {np.mean(beside):.5f} | {plan.expected(10_000).noise:.4f} |")


def empty(runs: int) -> None:
    few = max(min(runs // 5, 10), 1)
    print(f"\nMass on cells without rows: 20,000 rows, epsilon 1, substitution, mean of {few} runs\n")
    print("| rows | cells | clip and renormalise | simplex projection |")
    print("|---|--:|--:|--:|")
    for shape, cells, columns in (
        ("line", 12, 2),
        ("line", 64, 2),
        ("line", 32, 3),
        ("ring", 64, 2),
        ("clusters", 64, 2),
    ):
        made = [voids(shape, cells=cells, columns=columns, key=f"{run}").rows() for run in range(few)]  # type: ignore[arg-type]
        clipped, projected = (float(np.mean([rows[place][1] for rows in made])) for place in (1, 2))
        print(f"| {shape}, {columns} columns | {cells**columns:,} | {clipped:.3f} | {projected:.3f} |")


SECTIONS: Final[dict[str, Callable[[int], None]]] = {"smooth": smooth, "bernstein": bernstein, "voids": empty}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default=",".join(SECTIONS))
    asked = parser.parse_args()
    for name in asked.only.split(","):
        SECTIONS[name](asked.runs)


if __name__ == "__main__":
    main()
