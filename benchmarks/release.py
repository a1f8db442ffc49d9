"""Whole-data-set release: error beside the same estimate without noise, slopes, sensitivities, voids.

    python benchmarks/release.py [--runs 50] [--only smooth,bernstein,voids,bars,near,points,choices,details]

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
from collections.abc import Callable, Mapping
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
from reticent.lab.density import voids  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Adjacency, Kind  # noqa: E402
from reticent.synthesis.axis import Axis  # noqa: E402
from reticent.synthesis.bernstein import Bernstein, degree_for  # noqa: E402
from reticent.synthesis.histogram import histogram, unit_of  # noqa: E402
from reticent.synthesis.kernel import Kernel, bandwidth_for  # noqa: E402
from reticent.synthesis.ks import Growth, ks_release  # noqa: E402
from reticent.synthesis.linear import LinearDensity, settled, shares_of  # noqa: E402
from reticent.synthesis.linear_queries import DensityTerms  # noqa: E402
from reticent.synthesis.options import DensityMechanism, Method, Options, plan_for  # noqa: E402
from reticent.synthesis.parameter_selection import LADDER, OPTION  # noqa: E402
from reticent.synthesis.parameter_selection import Kind as Tunable  # noqa: E402
from reticent.synthesis.series import Series, grid  # noqa: E402
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
WITHIN: Final = 1.02
STEEP: Final = -0.45
COVERED: Final = 0.95
BESIDE: Final = 1.3
PARTS: Final = 1 << 14  # of a column, for densities that are compared point by point
WORTH: Final = (10, 100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
METHOD_NAMES: Final[tuple[Method, ...]] = ("auto", "histogram", "series", "kernel", "bernstein", "adaptive")
COLOURS: Final[dict[str, tuple[str, str]]] = {
    "histogram": ("#b5651d", "--"),
    "series": ("#2a7f62", "--"),
    "kernel": ("#7b4fa3", "--"),
    "bernstein": ("#c23b5a", ":"),
    "adaptive": ("#6b7280", "-."),
}
KINDS: Final[tuple[Kind, ...]] = ("substitute", "add_remove")
TABLES: Final[Mapping[str, Callable[[np.random.Generator, int], Floats]]] = {
    "Beta(2, 3)": lambda g, n: g.beta(2, 3, n),
    "uniform": lambda g, n: g.random(n),
    "exponential, mean .1": lambda g, n: np.minimum(g.exponential(0.1, n), 0.999),
    "a needle of 30 %": lambda g, n: np.where(g.random(n) < 0.3, 0.37 + 0.004 * g.random(n), g.random(n)),
    "one value": lambda g, n: np.full(n, 0.3),
    "two values": lambda g, n: np.where(g.random(n) < 0.5, 0.1, 0.9),
    "five values": lambda g, n: g.integers(0, 5, n) / 5 + 0.03,
}
GROWTHS: Final[Mapping[Growth, str]] = {
    "root": "sqrt(n eps)",
    "two_thirds": "n^(2/3), as 002",
    "auto": "drawn with them",
}


def public(n: int) -> DensityTerms:
    return DensityTerms(Adjacency("substitute"), n, fixed=True)


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


def without_noise(plan: LinearDensity, counts: NDArray[np.int64]) -> Floats:
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


def drawn_from(axes: tuple[Axis, ...], values: Floats) -> list[QueryResult]:
    """Records of shape (n, columns) as the query of a histogram has them."""
    units = [float(unit_of(one)) for one in axes]
    return [QueryResult(records=np.floor(values / units).astype(np.int64))]


def half_slope(dimension: int, n: int, generator: np.random.Generator) -> Floats:
    """Records with density prod (1/2 + x_k) on the unit cube."""
    uniform = generator.random((n, dimension))
    return np.minimum((np.sqrt(1.0 + 8.0 * uniform) - 1.0) / 2.0, 1.0 - 2.0**-40)


def half_slope_error(masses: Floats) -> float:
    """Integrated squared error of a histogram of equal cells against prod (1/2 + x_k)."""
    cuts = np.linspace(0.0, 1.0, masses.shape[0] + 1)
    one = np.diff(cuts / 2.0 + cuts**2 / 2.0)
    within = np.ones(())
    for _ in range(masses.ndim):
        within = np.multiply.outer(within, one)
    whole = (1.0 / 3.0 * (1.5**3 - 0.5**3)) ** masses.ndim
    return float(whole + masses.size * (masses**2 - 2.0 * masses * within).sum())


def bars(runs: int) -> None:
    few, n = max(min(runs // 5, 10), 1), 300_000
    print(f"\nHistogram, epsilon 1, n = {n:,}, n^(1/(2+d)) cells a column, mean of {few} runs\n")
    print("| columns | adjacency | cells | error | without noise | ratio | CPU a release |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for dimension in (1, 2):
        for kind in KINDS:
            axes = grid([(f"x{k}", Fraction(0), ONE, False) for k in range(dimension)], 1)
            plan = histogram(
                axes, Adjacency("substitute" if kind == "substitute" else "add_remove"), ONE, people=n, cells=0
            )
            found, beside, spent = [], [], 0.0
            for run in range(few):
                values = half_slope(dimension, n, np.random.default_rng(run))
                held = drawn_from(plan.grid.axes, values)
                start = time.process_time()
                outcome = plan.draw(held, Replayed(f"bars {kind} {dimension} {run}"))
                spent += time.process_time() - start
                assert isinstance(outcome, Reply)
                found.append(half_slope_error(outcome.value.masses))
                shape = outcome.value.masses.shape
                counts = np.histogramdd(values, bins=shape, range=[(0, 1)] * dimension)[0]
                beside.append(half_slope_error(counts / n))
            ratio = float(np.mean(found) / np.mean(beside))
            judged = "" if ratio <= WITHIN else f", misses {WITHIN}"
            cells = f"{math.prod(one.cells for one in plan.grid.axes):,}"
            print(
                f"| {dimension} | {kind} | {cells} | {np.mean(found):.3g} | {np.mean(beside):.3g} "
                f"| {ratio:.4f}{judged} | {1000 * spent / few:.0f} ms |"
            )


def near(runs: int) -> None:
    sizes = (100, 316, 1_000, 3_162, 10_000)
    print(
        f"\nExponential mechanism under KS distance, epsilon 1, 256 cells, Beta(2, 3), mean of {runs} draws, n public\n"
    )
    print(
        "Distance from the true distribution function; in brackets how many bands held it, and the band's half-width.\n"
    )
    print("| records released | " + " | ".join(f"n = {n:,}" for n in sizes) + " | slope | CPU of the last draw |")
    print("|---" * (len(sizes) + 3) + "|")
    axis = grid([("x", Fraction(0), ONE, False)], 256)[0]
    truth = stats.beta(2, 3).cdf(axis.cuts[1:])
    for growth, name in GROWTHS.items():
        errors, lines, spent = [], [], 0.0
        for n in sizes:
            plan = ks_release(axis, Adjacency("substitute"), ONE, people=n, points=growth)
            found, widths = [], []
            for run in range(runs):
                sample = np.random.default_rng(run).beta(2, 3, n)
                counts = tuple(np.histogram(sample, axis.cuts)[0].tolist())
                start = time.process_time()
                outcome = plan.draw([QueryResult(vectors=(counts,))], Replayed(f"near {growth} {n} {run}"))
                spent = time.process_time() - start
                assert isinstance(outcome, Reply)
                found.append(float(np.abs(outcome.value.cdf(axis.cuts[1:]) - truth).max()))
                widths.append(outcome.value.within or 0.0)
            errors.append(float(np.mean(found)))
            held = float(np.mean(np.array(found) <= np.array(widths)))
            judged = "" if held >= COVERED else f", misses {COVERED}"
            lines.append(f"{errors[-1]:.4f} ({held:.0%}{judged}, ±{np.mean(widths):.3f})")
        found_slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
        judged = f", misses {STEEP}" if growth == "root" and found_slope > STEEP else ""
        print(f"| {name} | " + " | ".join(lines) + f" | {found_slope:.3f}{judged} | {spent:.2f} s |")


def points(runs: int) -> None:
    few, axis = max(min(runs // 4, 12), 2), grid([("x", Fraction(0), ONE, False)], 256)[0]
    fixed = tuple(1 << power for power in range(11))
    print(f"\nHow many records are released under KS distance: epsilon 1, 256 cells, n public, mean of {few} tables\n")
    print("Distance from the records; in brackets the number, where one is best of the powers of two.\n")
    print("| records | n | " + " | ".join(GROWTHS.values()) + " | best | drawn over best |")
    print("|---|--:" + "|--:" * (len(GROWTHS) + 2) + "|")
    for name, draw in TABLES.items():
        for n in (100, 1_000, 10_000):
            found: dict[Growth | int, list[float]] = {}
            for run in range(few):
                sample = draw(np.random.default_rng(run), n)
                counts = tuple(np.histogram(sample, axis.cuts)[0].tolist())
                for asked in (*GROWTHS, *(size for size in fixed if size <= max(n, 64))):
                    plan = ks_release(axis, Adjacency("substitute"), ONE, people=n, points=asked)
                    outcome = plan.draw([QueryResult(vectors=(counts,))], Replayed(f"points {asked} {name} {n} {run}"))
                    assert isinstance(outcome, Reply)
                    apart = np.abs(outcome.value.cdf(axis.cuts[1:]) - np.cumsum(counts) / n).max()
                    found.setdefault(asked, []).append(float(apart))
            mean = {asked: float(np.mean(apart)) for asked, apart in found.items()}
            best = min((asked for asked in mean if isinstance(asked, int)), key=mean.__getitem__)
            over = "1.0" if mean["auto"] <= mean[best] else f"{mean['auto'] / mean[best]:.1f}"
            lines = " | ".join(f"{mean[growth]:.4f}" for growth in GROWTHS)
            print(f"| {name} | {n:,} | {lines} | {mean[best]:.4f} ({best}) | {over} |", flush=True)


def choices(runs: int) -> None:
    few = max(min(runs // 2, 25), 2)
    print(f"\nA private choice, its whole cost counted, beside each method by its public rule, mean of {few} runs\n")
    print("Integrated squared error, epsilon 1, add or remove one row, number of rows private. Target: 1.3 in most.\n")
    print("| density | n | " + " | ".join(METHOD_NAMES) + " | auto over the best |")
    print("|---|--:" + "|--:" * (len(METHOD_NAMES) + 1) + "|")
    column, within, every = [("x", Fraction(0), ONE, False)], 0, 0
    curves: dict[str, dict[str, list[float]]] = {name: {method: [] for method in METHOD_NAMES} for name in SHAPES}
    for name, height in SHAPES.items():
        for n in WORTH:
            for method in METHOD_NAMES:
                plan = plan_for(Options(method), column, DensityTerms(Adjacency("add_remove")), ONE, Fraction(0))
                curves[name][method].append(chosen_error(plan, method, height, n, few))
            each = {method: curves[name][method][-1] for method in METHOD_NAMES}
            over = each["auto"] / min(error for method, error in each.items() if method != "auto")
            within, every = within + (over <= BESIDE), every + 1
            print(
                f"| {name} | {n:,} | " + " | ".join(f"{e:.4f}" for e in each.values()) + f" | {over:.2f} |", flush=True
            )
    print(f"\nWithin {BESIDE} of the best in {within} of {every}.")
    drawn(curves)
    print("\nOther shapes, the same way\n")
    print("| density | n | auto | the best other | auto over it |")
    print("|---|--:|--:|---|--:|")
    for name, height in OTHERS.items():
        for n in WORTH[1::2]:
            each = {}
            for method in METHOD_NAMES:
                plan = plan_for(Options(method), column, DensityTerms(Adjacency("add_remove")), ONE, Fraction(0))
                each[method] = chosen_error(plan, method, height, n, few)
            best = min(METHOD_NAMES[1:], key=lambda method: each[method])
            told = f"{each['auto']:.4f} | {each[best]:.4f}, {best} | {each['auto'] / each[best]:.2f}"
            print(f"| {name} | {n:,} | {told} |", flush=True)
    planes(runs)


def details(runs: int) -> None:
    """A detail chosen privately, beside every detail of its ladder as if it had been known, and the public rule."""
    few = max(min(runs // 2, 25), 2)
    print(f"\nA private detail beside all of its ladder and the public rule, mean of {few} runs\n")
    print("| method | density | n | auto | the best detail | the public rule | auto over the best | over the rule |")
    print("|---|---|--:|--:|---|--:|--:|--:|")
    column, terms = [("x", Fraction(0), ONE, False)], DensityTerms(Adjacency("add_remove"))
    for kind in OPTION:
        for name in ("normal", "two bumps", "two spikes"):
            for n in SIZES[::2]:

                def measured(asked: Options, named: str = name, records: int = n) -> float:
                    plan = plan_for(asked, column, terms, ONE, Fraction(0))
                    return chosen_error(plan, asked.method, SHAPES[named], records, few)

                each = {detail: measured(with_detail(kind, detail)) for detail in LADDER[kind][1]}
                best = min(each, key=each.__getitem__)
                rule, auto = measured(Options(kind)), measured(with_detail(kind, None))
                told = f"{each[best]:.4f} ({'1/' if kind == 'kernel' else ''}{best:,}) | {rule:.4f}"
                print(
                    f"| {kind} | {name} | {n:,} | {auto:.4f} | {told} | {auto / each[best]:.2f} | {auto / rule:.2f} |",
                    flush=True,
                )


def with_detail(kind: Tunable, detail: int | None) -> Options:
    """A method with one detail of its ladder, or None for a private choice."""
    match kind:
        case "histogram":
            return Options(kind, cells=detail or "auto")
        case "series":
            return Options(kind, degree=detail or "auto")
        case "kernel":
            return Options(kind, bandwidth="auto" if detail is None else Fraction(1, detail))
        case "bernstein":
            return Options(kind, degree=detail or "auto", bandwidth=None if detail is None else Fraction(1, detail))


def planes(runs: int) -> None:
    """Two columns, the same way; the true heights of 96 x 96 cells are those of two million records."""
    few, sides = max(min(runs // 5, 10), 2), 96
    print(f"\nTwo columns, mean of {few} runs\n")
    print("| density | n | auto | the best other | auto over it |")
    print("|---|--:|--:|---|--:|")
    points = (np.stack(np.meshgrid(*[np.arange(sides)] * 2, indexing="ij"), axis=-1).reshape(-1, 2) + 0.5) / sides
    columns = [(name, Fraction(0), ONE, False) for name in ("x", "y")]
    for name in PLANES:
        counts = np.histogramdd(plane(name, 2_000_000, np.random.default_rng(99)), [sides] * 2, [(0, 1)] * 2)[0]
        heights = counts.ravel() / counts.mean()
        for n in (300, 3_000, 30_000):
            each: dict[str, float] = {}
            for method in METHOD_NAMES:
                plan = plan_for(Options(method), columns, DensityTerms(Adjacency("add_remove")), ONE, Fraction(0))
                (query,) = plan.queries
                assert isinstance(query, Records)
                found = []
                for run in range(few):
                    values = plane(name, n, np.random.default_rng(run))
                    held = QueryResult(
                        records=np.floor(values / [float(unit) for unit in query.units]).astype(np.int64)
                    )
                    outcome = plan.draw([held], Replayed(f"plane {method} {n} {run}"))
                    told = outcome.value.pdf(points) if isinstance(outcome, Reply) else np.ones(len(points))
                    found.append(float(np.mean((told - heights) ** 2)))
                each[method] = float(np.mean(found))
            best = min(METHOD_NAMES[1:], key=lambda method: each[method])
            told_as = f"{each['auto']:.3f} | {each[best]:.3f}, {best} | {each['auto'] / each[best]:.2f}"
            print(f"| {name} | {n:,} | {told_as} |", flush=True)


def plane(name: str, n: int, generator: np.random.Generator) -> Floats:
    """Records in the unit square: a correlated normal law, two clusters, a line, an even square with a hole."""
    normal, uniform = generator.normal(size=(4 * n, 2)), generator.random((4 * n, 2))
    match name:
        case "normal":
            found = 0.5 + 0.15 * np.stack([normal[:, 0], normal @ [0.8, 0.6]], axis=1)
        case "two clusters":
            found = np.where(uniform[:, :1] < 0.5, 0.3, 0.7) + 0.06 * normal
        case "a line":
            found = uniform[:, :1] + 0.02 * normal
        case _:
            found = uniform[~(np.abs(uniform - 0.5) < 0.2).all(axis=1)]
    return np.asarray(found[((found > 0) & (found < 1)).all(axis=1)][:n], np.float64)


def drawn(curves: dict[str, dict[str, list[float]]]) -> None:
    """The errors over n, a panel for each density, as docs/_static/auto.png."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(11.0, 3.2), layout="constrained")
    panels = picture.subplots(1, len(curves), sharey=True)
    for panel, (name, errors) in zip(panels, curves.items(), strict=True):
        for method, values in errors.items():
            thick = method == "auto"
            colour, style = ("#1f3b57", "-") if thick else COLOURS[method]
            panel.loglog(
                WORTH, values, style, color=colour, lw=2.2 if thick else 1.0, label=method, zorder=3 if thick else 2
            )
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("n", fontsize=8)
        panel.set_ylim(1e-4, 30.0)
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("integrated squared error", fontsize=8)
    panels[-1].legend(frameon=False, fontsize=7, loc="lower left")
    picture.suptitle("ε = 1, rows added or removed, n private", fontsize=9)
    picture.savefig(ROOT / "docs" / "_static" / "auto.png", dpi=110)


def chosen_error(plan: DensityMechanism, method: str, height: Callable[[Floats], Floats], n: int, runs: int) -> float:
    """Mean integrated squared error; a no reply counts as the uniform density."""
    points, found = (np.arange(PARTS) + 0.5) / PARTS, []
    heights = height(points) / float(np.mean(height(points)))
    (query,) = plan.queries
    for run in range(runs):
        generator = np.random.default_rng(run)
        cells = generator.multinomial(n, heights / heights.sum())
        if isinstance(query, Tally):
            edges = np.array([float(edge) for edge in query.edges])
            place = np.minimum(np.searchsorted(edges, points, side="right") - 1, len(edges) - 2)
            counts = np.bincount(place, weights=cells, minlength=len(edges) - 1).astype(np.int64)
            held = [QueryResult(vectors=(tuple(counts.tolist()),))]
        else:
            values = (np.repeat(np.arange(PARTS), cells) + generator.random(n)) / PARTS
            held = drawn_from(grid([("x", Fraction(0), ONE, False)], 1), values[:, None])
        outcome = plan.draw(held, Replayed(f"choice {method} {n} {run}"))
        told = outcome.value.pdf(points) if isinstance(outcome, Reply) else np.ones(PARTS)
        found.append(float(np.mean((told - heights) ** 2)))
    return float(np.mean(found))


def two_bumps(points: Floats) -> Floats:
    return np.asarray(stats.norm(0.3, 0.05).pdf(points) + stats.norm(0.7, 0.1).pdf(points))


def spiky(points: Floats) -> Floats:
    spikes = stats.norm(0.2, 0.004).pdf(points) + stats.norm(0.65, 0.004).pdf(points)
    return np.asarray(0.4 + 0.3 * spikes)


SHAPES: Final[dict[str, Callable[[Floats], Floats]]] = {
    "normal": lambda points: np.asarray(stats.norm(0.5, 0.12).pdf(points)),
    "two bumps": two_bumps,
    "lognormal": lambda points: np.asarray(stats.lognorm(0.6, scale=0.15).pdf(points)),
    "uniform with a void": lambda points: np.where((points > 0.4) & (points < 0.6), 0.0, 1.25),
    "two spikes": spiky,
}
PLANES: Final = ("normal", "two clusters", "a line", "a square with a hole")
OTHERS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "Beta(1/2, 1/2)": lambda points: np.asarray(stats.beta(0.5, 0.5).pdf(points)),
    "Beta(2, 3)": lambda points: np.asarray(stats.beta(2, 3).pdf(points)),
    "narrow lognormal": lambda points: np.asarray(stats.lognorm(1.0, scale=0.05).pdf(points)),
    "two steps": lambda points: np.where(points < 0.37, 0.3, np.where(points < 0.71, 2.0, 0.6)),
    "sawtooth": lambda points: (4.0 * points) % 1.0 + 0.1,
}


SECTIONS: Final[dict[str, Callable[[int], None]]] = {
    "smooth": smooth,
    "bernstein": bernstein,
    "voids": empty,
    "bars": bars,
    "near": near,
    "points": points,
    "choices": choices,
    "details": details,
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
