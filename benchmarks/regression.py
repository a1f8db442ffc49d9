"""Regression: CPU times of R_H's distances, and every method's error, coverage and replies at one total epsilon.

    OPENBLAS_NUM_THREADS=1 python benchmarks/regression.py [--quick] [--distances | --methods | --heaped] [--seeds N]

y = 1 + 2 z_1 + ... + noise with standard normal z and noise. Errors are medians of |slope - 2| over replies, over that
of the least-squares slope on the same tables; the whole charge counts. One row of a Markdown table for each method.
"""

from __future__ import annotations

import statistics
import sys
import time
from fractions import Fraction
from typing import Final, cast

import numpy as np
from least_squares import Table, prepared
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.outcome import NoReply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics.regression import distance_bounds
from reticent.statistics.regression.candidates import cells
from reticent.statistics.regression.lines import gap, rows_for, solutions
from reticent.statistics.regression.plans import Method, plan
from reticent.statistics.regression.projections import ray_bound
from reticent.statistics.regression.rows import ONE, RegressionRows, rows
from reticent.statistics.regression.theil_sen import ORDERS, pair_slopes
from reticent.statistics.unbounded.column_counts import ColumnTerms

PLACES: Final = 14


def table(n: int, columns: int, key: int) -> tuple[RegressionRows, float]:
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
        known = distance_bounds.public(cells((Fraction(1 << 12),) * 2))
        start = time.process_time()
        shares = [
            bound / (float(gap(data, cell)) ** 0.5 / ONE)
            for bound, cell in zip(distance_bounds.lower_bounds(data, known).bounds, near, strict=True)
        ]
        print(f"  lower bound, share of the distance: {[round(share, 2) for share in shares]}, {seconds(start)}")
    for columns in (3,) if quick else (3, 4, 5):
        data, _ = table(10_000, columns, 1)
        known = distance_bounds.public(cells((Fraction(2 << PLACES),) * columns))
        start = time.process_time()
        bounds = [round(bound) for bound in distance_bounds.lower_bounds(data, known).bounds]
        print(f"lower bound, p = {columns}, n = 10^4, sides 2, all shifts: {bounds}, {seconds(start)}")


DELTA: Final = Fraction(1, 10**6)
BOUNDS: Final = ((Fraction(-10), Fraction(10)), (Fraction(-4), Fraction(4)))
UNIT: Final = Fraction(1, 256)
CASES: Final[tuple[tuple[int, str, int, Kind, tuple[str, ...]], ...]] = (
    (3_000, "1", 1, "substitute", ("theil_sen", "tukey", "adassp", "least_squares")),
    (
        10_000,
        "1",
        1,
        "substitute",
        ("theil_sen", "tukey", "block_medians", "over_beta", "adassp", "least_squares", "R_S", "R_H"),
    ),
    (10_000, "1", 1, "add_remove", ("theil_sen", "tukey", "block_medians", "adassp", "least_squares")),
    (10_000, "1", 3, "substitute", ("tukey", "block_medians", "adassp", "least_squares")),
    (10_000, "0.3", 1, "substitute", ("theil_sen", "tukey", "adassp", "least_squares")),
    (10_000, "8", 1, "substitute", ("theil_sen", "least_squares", "R_S", "R_H")),
    (100_000, "1", 1, "substitute", ("theil_sen", "tukey", "adassp", "least_squares", "R_S", "R_H")),
    (100_000, "0.1", 1, "add_remove", ("theil_sen", "tukey", "adassp", "least_squares")),
)


def drawn(n: int, columns: int, key: int) -> tuple[NDArray[np.int64], float]:
    """Rows on a grid of 1/256, y first, and the least-squares slope of the last column."""
    draw = np.random.default_rng([key, n, columns])
    z = draw.normal(size=(n, columns))
    y = 1 + 2 * z.sum(axis=1) + draw.normal(size=n)
    slope = float(np.linalg.lstsq(np.column_stack([np.ones(n), z]), y, rcond=None)[0][-1])
    return np.rint(256 * np.column_stack([y, z])).astype(np.int64), slope


def methods(seeds: int, only: str) -> None:
    """Every case, fewer seeds where n is large."""
    print("| n | epsilon | columns | neighbours | method | replies | error over least squares' | covered | s a draw |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n, epsilon, columns, kind, names in CASES:
        count = max(3, seeds if n <= 10_000 else seeds // 5)
        for name in (name for name in names if only in name):
            print(f"| {n} | {epsilon} | {columns} | {kind} | {name} | {row(name, n, epsilon, columns, kind, count)} |")


def row(name: str, n: int, epsilon: str, columns: int, kind: Kind, seeds: int) -> str:
    if name == "least_squares":
        return squares(n, epsilon, columns, kind, seeds)
    try:
        made = plan(
            cast("Method", name),
            columns=("y", tuple("abcdef"[:columns])),
            terms=ColumnTerms(Adjacency(kind), n if kind == "substitute" else None),
            epsilon=Fraction(epsilon),
            delta=DELTA if name in ("R_S", "R_H") else Fraction(0),
            n=n,
            units=(UNIT,) * (columns + 1),
            bounds=(BOUNDS[0], *[BOUNDS[1]] * columns) if name == "adassp" else (),
            blank="marked",
        )
    except QuestionError:
        return "refused before rows are read | - | - | -"
    errors, usual, covered, start = list[float](), list[float](), 0, time.process_time()
    for key in range(seeds):
        rows_, slope = drawn(n, columns, key)
        usual.append(abs(slope - 2))
        outcome = made.draw(rows_, Replayed(f"{name} {key}"))
        if not isinstance(outcome, NoReply):
            found = outcome.value.estimates[-1]
            errors.append(abs(found.value - 2))
            covered += found.low <= 2 <= found.high
    return told(errors, usual, covered, (time.process_time() - start) / seeds)


def told(errors: list[float], usual: list[float], covered: int, took: float) -> str:
    """Replies, the ratio of median errors, coverage and time, as they are printed."""
    if not errors:
        return f"0/{len(usual)} | - | - | {took:.2f}"
    ratio = statistics.median(errors) / statistics.median(usual)
    return f"{len(errors)}/{len(usual)} | {ratio:.2f} | {covered}/{len(errors)} | {took:.2f}"


def squares(n: int, epsilon: str, columns: int, kind: Kind, seeds: int) -> str:
    """What ``regress`` does by default where bounds are declared: those of AdaSSP."""
    formula = f"y ~ {' + '.join('abcdef'[:columns])}"
    limits = tuple((float(low), float(high)) for low, high in (BOUNDS[0], *[BOUNDS[1]] * columns))
    made = prepared(Table("made up", formula, limits, lambda: np.zeros((0, 0))), (n, epsilon, "0", kind))
    if made is None:
        return "refused before rows are read | - | - | -"
    errors, usual, covered, start = list[float](), list[float](), 0, time.process_time()
    for key in range(seeds):
        rows_, slope = drawn(n, columns, key)
        usual.append(abs(slope - 2))
        found = made.draw(rows_[:, 1:] / 256, rows_[:, 0] / 256, Replayed(f"least squares {key}")).estimates[-1]
        if found is not None:
            errors.append(abs(found.value - 2))
            covered += found.low <= 2 <= found.high
    return told(errors, usual, covered, (time.process_time() - start) / seeds)


HEAPED: Final[tuple[tuple[Kind, int], ...]] = (("substitute", 4_000), ("add_remove", 4_000), ("substitute", 20_000))


def heaped(seeds: int) -> None:
    """Theil-Sen's slope where many slopes are equal: samples of a public population, whose median slope is known."""
    print("| columns | n | neighbours | median slope | covered | mean half-width | deviation of the value |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for name, people in populations().items():
        for kind, n in HEAPED:
            true, told = median_slope(people), []
            terms = ColumnTerms(Adjacency(kind), n if kind == "substitute" else None)
            units = (Fraction(1), Fraction(1))
            made = plan("theil_sen", columns=("y", ("x",)), terms=terms, epsilon=Fraction(1), n=n, units=units)
            for key in range(seeds):
                sample = people[np.random.default_rng([key, n]).integers(0, len(people), n)]
                found = made.draw(sample, Replayed(f"{name} {kind} {n} {key}"))
                assert not isinstance(found, NoReply)
                told.append(found.value.estimates[1])
            covered = sum(one.low <= true <= one.high for one in told)
            half = np.mean([one.high - one.low for one in told]) / 2
            shown = f"{covered}/{seeds} | {half:.3f} | {np.std([one.value for one in told]):.3f} |"
            print(f"| {name} | {n:,} | {kind} | {true:.3f} | {shown}", flush=True)


def populations() -> dict[str, NDArray[np.int64]]:
    """y first, whole numbers."""
    from statsmodels.datasets import randhie

    rng, table = np.random.default_rng(0), randhie.load_pandas().data
    x = rng.integers(0, 6, 200_000)
    two = rng.integers(0, 2, 200_000)
    wide = np.clip(np.rint(40 + 8 * rng.normal(size=200_000)), 0, 80)
    exact = 0.5 * wide + 6 * rng.normal(size=200_000)
    fives = np.where(rng.random(200_000) < 0.5, 5 * np.rint(exact / 5), np.rint(exact))
    found = {
        "visits by diseases (randhie)": np.column_stack([table["mdvis"], np.rint(table["disea"])]),
        "a line of slope 2, rounded": np.column_stack([np.rint(2 * x + rng.normal(size=200_000)), x]),
        "a column of two values": np.column_stack([np.rint(3 * two + 2 * rng.normal(size=200_000)), two]),
        "half of the values in fives": np.column_stack([fives, wide]),
    }
    return {name: columns.astype(np.int64) for name, columns in found.items()}


def median_slope(people: NDArray[np.int64]) -> float:
    """Of 300,000 random pairs."""
    rng, size = np.random.default_rng(1), 600_000
    sample = people[rng.integers(0, len(people), size)]
    return float(np.median(pair_slopes(sample, np.arange(size) // 2 * ORDERS)))


if __name__ == "__main__":
    asked = sys.argv[1:]
    parts = [part for part in ("--distances", "--methods", "--heaped") if part in asked]
    many = int(asked[asked.index("--seeds") + 1]) if "--seeds" in asked else (20 if "--quick" in asked else 400)
    if "--distances" in parts or not parts:
        distances("--quick" in asked)
    if "--methods" in parts or not parts:
        methods(many, asked[asked.index("--only") + 1] if "--only" in asked else "")
    if "--heaped" in parts or not parts:
        heaped(many)
