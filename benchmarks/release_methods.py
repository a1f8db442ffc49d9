"""Every method of a released density on the same tables, and beside the noisy histograms of other libraries.

    python benchmarks/release_methods.py --only methods [--runs 50]
    python benchmarks/release_methods.py --only planes
    python benchmarks/release_methods.py --only plans
    .bench-venv/bin/python benchmarks/release_methods.py --only peers

Epsilon 1, one row added or removed, the number of rows private and paid for. Each method goes by its own public rule,
which takes 10,000 rows for granted. Run number r has the table of generator r and the noise of a stream named after
density, method, n and r, so that a line can be made again. A no reply counts as the uniform density.
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

from reticent.data.query import Records, Tally  # noqa: E402
from reticent.data.query_result import QueryResult  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Adjacency  # noqa: E402
from reticent.synthesis.bernstein import Bernstein  # noqa: E402
from reticent.synthesis.density import Density  # noqa: E402
from reticent.synthesis.kernel import Kernel  # noqa: E402
from reticent.synthesis.linear_queries import DensityTerms  # noqa: E402
from reticent.synthesis.options import Columns, DensityMechanism, Method, Options, plan_for  # noqa: E402
from reticent.synthesis.series import Series  # noqa: E402

Floats = NDArray[np.float64]
ONE: Final = Fraction(1)
TERMS: Final = DensityTerms(Adjacency("add_remove"))
SIZES: Final = (1_000, 10_000, 100_000)
POINTS: Final = {1: 1 << 14, 2: 1 << 8}  # along each column, where densities are compared
METHODS: Final[tuple[Method, ...]] = (
    "histogram",
    "sparse",
    "adaptive",
    "tree",
    "ks",
    "series",
    "kernel",
    "bernstein",
)
SMOOTH: Final[tuple[tuple[Method, int], ...]] = (("series", 3), ("kernel", 3), ("bernstein", 4))  # and columns
OURS: Final[tuple[Method, ...]] = ("histogram", "adaptive", "series", "kernel", "bernstein")
THEIRS: Final = ("OpenDP", "diffprivlib")


@dataclass(frozen=True, slots=True)
class Law:
    """A density on the unit cube, in one column or two, with a sampler."""

    columns: int
    height: Callable[[Floats], Floats]
    draw: Callable[[np.random.Generator, int], Floats]

    @property
    def heights(self) -> Floats:
        """At the middles of a fine grid: shape (points,) * columns, with mean 1."""
        found = self.height(middles(self.columns))
        return np.asarray(found / found.mean(), np.float64).reshape((POINTS[self.columns],) * self.columns)


@dataclass(frozen=True, slots=True)
class Found:
    """Means over the runs: integrated squared error, its standard error, distance of the laws, seconds."""

    squared: float
    off: float
    apart: float
    seconds: float


def middles(columns: int) -> Floats:
    """The points of the fine grid: shape (points^columns, columns)."""
    side = (np.arange(POINTS[columns]) + 0.5) / POINTS[columns]
    return np.stack([part.ravel() for part in np.meshgrid(*[side] * columns, indexing="ij")], axis=1)


def spikes(generator: np.random.Generator, n: int) -> Floats:
    """Two needles of 30 % each, 1/250 of the range wide, on an even ground."""
    which, even = generator.random(n), generator.random(n)
    near = np.where(which < 0.3, 0.2, 0.65) + 0.004 * generator.standard_normal(n)
    return np.where(which < 0.6, near, even)[:, None]


def clusters(generator: np.random.Generator, n: int) -> Floats:
    """Three equal round clusters of width .04."""
    centres = np.array(CENTRES)[generator.integers(0, 3, n)]
    return np.clip(centres + 0.04 * generator.standard_normal((n, 2)), 0.0, 1.0)


CENTRES: Final = ((0.25, 0.25), (0.7, 0.35), (0.45, 0.75))
LINES: Final[dict[str, Law]] = {
    "Beta(3, 4)": Law(
        1,
        lambda points: np.asarray(stats.beta(3, 4).pdf(points[:, 0])),
        lambda generator, n: generator.beta(3, 4, (n, 1)),
    ),
    "two spikes": Law(
        1,
        lambda points: np.asarray(
            0.4 + 0.3 * stats.norm(0.2, 0.004).pdf(points[:, 0]) + 0.3 * stats.norm(0.65, 0.004).pdf(points[:, 0])
        ),
        spikes,
    ),
}
PLANES: Final[dict[str, Law]] = {
    "Beta(3, 4) twice": Law(
        2,
        lambda points: np.asarray(stats.beta(3, 4).pdf(points).prod(axis=1)),
        lambda generator, n: generator.beta(3, 4, (n, 2)),
    ),
    "three clusters": Law(
        2,
        lambda points: sum(
            (np.exp(-(((points - centre) / 0.04) ** 2).sum(axis=1) / 2.0) for centre in CENTRES),
            np.zeros(len(points)),
        ),
        clusters,
    ),
}


def columns_of(law: Law) -> Columns:
    return [(f"x{place}", Fraction(0), ONE, False) for place in range(law.columns)]


def held(plan: DensityMechanism, values: Floats) -> list[QueryResult]:
    """What an engine returns for the queries of a plan, of records of shape (n, columns)."""
    found = []
    for query in plan.queries:
        if isinstance(query, Tally):
            edges = np.array([float(edge) for edge in query.edges])
            place = np.clip(np.searchsorted(edges, values[:, 0], side="right") - 1, 0, query.bins - 1)
            found.append(QueryResult(vectors=(tuple(np.bincount(place, minlength=query.bins).tolist()),)))
        else:
            assert isinstance(query, Records)
            units = np.array([float(unit) for unit in query.units])
            found.append(QueryResult(records=np.floor(values / units).astype(np.int64)))
    return found


def squared(told: Floats, truth: Floats) -> float:
    """Integrated squared error on the fine grid."""
    return float(np.mean((told - truth) ** 2))


def heights_of(density: Density | None, law: Law) -> Floats:
    """A density at the points of the fine grid; of no reply, the uniform one."""
    shape = (POINTS[law.columns],) * law.columns
    if density is None:
        return np.ones(shape)
    sizes = np.ones(1)
    cells = np.zeros([one.cells for one in density.axes])
    for one in density.axes:
        sizes = np.multiply.outer(sizes, one.sizes / one.steps[-1])
    if density.boxes is None:
        cells = density.masses / sizes[0]
    else:
        for box, mass in zip(density.boxes, density.masses.tolist(), strict=True):
            inside = tuple(slice(first, stop) for first, stop in box.tolist())
            cells[inside] = mass / sizes[0][inside].sum()
    side = (np.arange(shape[0]) + 0.5) / shape[0]
    return np.asarray(cells[np.ix_(*[one.cell(side) for one in density.axes])], np.float64)


def apart(told: Floats, truth: Floats) -> float:
    """The greatest difference of two distribution functions on the fine grid."""
    rest = (told - truth) / truth.size
    for axis in range(truth.ndim):
        rest = np.cumsum(rest, axis=axis)
    return float(np.abs(rest).max())


def measured(name: str, law: Law, method: Method, n: int, runs: int) -> Found:
    """A method by its public rule, drawn ``runs`` times; seconds are those of a draw, the plan made before."""
    plan = plan_for(Options(method), columns_of(law), TERMS, ONE, Fraction(0))
    truth, errors, distances, spent = law.heights, [], [], 0.0
    for run in range(runs):
        results = held(plan, law.draw(np.random.default_rng(run), n))
        start = time.process_time()
        outcome = plan.draw(results, Replayed(f"{name} {method} {n} {run}"))
        spent += time.process_time() - start
        told = heights_of(outcome.value if isinstance(outcome, Reply) else None, law)
        errors.append(squared(told, truth))
        distances.append(apart(told, truth))
    off = float(np.std(errors)) / math.sqrt(runs)
    return Found(float(np.mean(errors)), off, float(np.mean(distances)), spent / runs)


def lines_of(laws: dict[str, Law], methods: tuple[Method, ...], sizes: tuple[int, ...], runs: int) -> None:
    """A table of every method at every size; the least of a column is in bold."""
    print(f"\nEvery method by its public rule, epsilon 1, rows added or removed, n private, mean of {runs} runs\n")
    for name, law in laws.items():
        found = {(method, n): measured(name, law, method, n, runs) for n in sizes for method in methods}
        worst = max(one.off / one.squared for one in found.values())
        print(f"{name} (standard errors of the squared error up to {worst:.0%}):\n")
        print("| method | " + " | ".join(f"squared, n = {n:,}" for n in sizes), end=" | ")
        print(" | ".join(f"apart, n = {n:,}" for n in sizes) + " | CPU a draw |")
        print("|---|" + "--:|" * (2 * len(sizes) + 1))
        least = {n: min(found[method, n].squared for method in methods) for n in sizes}
        closest = {n: min(found[method, n].apart for method in methods) for n in sizes}
        for method in methods:
            ones = [found[method, n] for n in sizes]
            cells = [marked(one.squared, least[n], 5) for one, n in zip(ones, sizes, strict=True)]
            cells += [marked(one.apart, closest[n], 4) for one, n in zip(ones, sizes, strict=True)]
            print(f"| {method} | " + " | ".join(cells) + f" | {1000 * ones[-1].seconds:.0f} ms |", flush=True)
        print()


def marked(value: float, least: float, places: int) -> str:
    text = f"{value:.{places}f}" if value < 1 else f"{value:.3g}"
    return f"**{text}**" if value <= least else text


def methods(runs: int) -> None:
    lines_of(LINES, METHODS, SIZES, runs)


def planes(runs: int) -> None:
    names: tuple[Method, ...] = ("histogram", "sparse", "adaptive", "series", "kernel", "bernstein")
    lines_of(PLANES, names, (10_000, 100_000), max(runs // 2, 2))


def plans(runs: int) -> None:
    """CPU seconds until the guarantee and the expected half-widths stand, the least of three; no row is drawn."""
    del runs
    public = DensityTerms(Adjacency("substitute"), 10_000, fixed=True)
    print("\nCPU seconds of a plan, its sensitivity proved: one row added or removed, or replaced with n public\n")
    print("| method | columns | cells x numbers | add_remove | substitute |")
    print("|---|--:|--:|--:|--:|")
    for method, most in SMOOTH:
        for columns in range(1, most + 1):
            law = [(f"x{place}", Fraction(0), ONE, False) for place in range(columns)]
            times = []
            for terms in (TERMS, public):
                spent = []
                for _ in range(3):
                    start = time.process_time()
                    plan = plan_for(Options(method), law, terms, ONE, Fraction(0))
                    plan.expected(10_000)
                    assert plan.guarantee.loss
                    spent.append(time.process_time() - start)
                times.append(min(spent))
            assert isinstance(plan, Series | Kernel | Bernstein)
            shape = " x ".join(f"{side:,}" for side in plan.plan.sums.table.shape)
            print(f"| {method} | {columns} | {shape} | {times[0]:.2f} s | {times[1]:.2f} s |", flush=True)


def peers(runs: int) -> None:
    """Noisy histograms of OpenDP and diffprivlib on the bins of ours: the same tables, the same epsilon, one run."""
    try:
        import diffprivlib.tools  # type: ignore[import-not-found]  # it lives in the peers' environment
        import opendp.prelude as dp  # type: ignore[import-not-found]
    except ImportError:
        print("\nOther libraries: run this in the environment that make bench makes\n")
        return
    dp.enable_features("contrib")
    geometric = dp.m.make_geometric(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1.0)
    print(f"\nNoisy histograms of others on the same bins, epsilon 1, add or remove one row, mean of {runs} runs\n")
    print("Integrated squared error; theirs clipped and divided by the sum, as is usual.\n")
    print("| density | n | bins | " + " | ".join((*(f"ours, {name}" for name in OURS), *THEIRS)) + " | best of ours |")
    print("|---|--:|--:|" + "--:|" * (len(OURS) + len(THEIRS)) + "---|")
    for name, law in LINES.items():
        truth = law.heights
        for n in SIZES:
            bins = round(n ** (1 / 3))
            found: dict[str, list[float]] = {each: [] for each in (*OURS, *THEIRS)}
            plans = {
                each: plan_for(
                    Options(each, cells=bins) if each == "histogram" else Options(each),
                    columns_of(law),
                    TERMS,
                    ONE,
                    Fraction(0),
                )
                for each in OURS
            }
            for run in range(runs):
                values = law.draw(np.random.default_rng(run), n)
                for each, plan in plans.items():
                    outcome = plan.draw(held(plan, values), Replayed(f"peers {name} {each} {n} {run}"))
                    density = outcome.value if isinstance(outcome, Reply) else None
                    found[each].append(squared(heights_of(density, law), truth))
                counts = np.histogram(values[:, 0], bins, (0, 1))[0]
                noisy, _ = diffprivlib.tools.histogram(values[:, 0], epsilon=1, bins=bins, range=(0, 1))
                for other, theirs in (("OpenDP", geometric(counts.tolist())), ("diffprivlib", noisy)):
                    found[other].append(squared(bars_of(np.asarray(theirs, np.float64)), truth))
            told(name, n, bins, found)


def bars_of(noisy: Floats) -> Floats:
    """Bars of clipped counts divided by their sum, at the points of the fine grid."""
    kept = np.maximum(noisy, 0.0)
    shares = kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1.0 / len(kept))
    place = (middles(1)[:, 0] * len(kept)).astype(np.int64)
    return np.asarray(shares[place] * len(kept), np.float64)


def told(name: str, n: int, bins: int, found: dict[str, list[float]]) -> None:
    mean = {each: float(np.mean(values)) for each, values in found.items()}
    off = {each: float(np.std(values)) / math.sqrt(len(values)) for each, values in found.items()}
    best = min(OURS, key=lambda each: mean[each])
    worse = [each for each in THEIRS if mean[best] > mean[each] + math.hypot(off[each], off[best])]
    same = [each for each in THEIRS if mean["histogram"] > mean[each] + math.hypot(off[each], off["histogram"])]
    judged = f"worse than {' and '.join(worse)}" if worse else "not worse than either"
    judged += f"; the histogram is worse than {' and '.join(same)}" if same else "; nor is the histogram"
    cells = " | ".join(f"{mean[each]:.5f} ± {off[each]:.5f}" for each in found)
    print(f"| {name} | {n:,} | {bins} | {cells} | {best}: {judged} |", flush=True)


SECTIONS: Final[dict[str, Callable[[int], None]]] = {
    "methods": methods,
    "planes": planes,
    "plans": plans,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default=",".join(SECTIONS))
    asked = parser.parse_args()
    for name in asked.only.split(","):
        SECTIONS[name](asked.runs)


if __name__ == "__main__":
    main()
