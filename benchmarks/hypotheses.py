"""Tests of hypotheses: how often they reject under the hypothesis, and how often they see an effect.

    python benchmarks/hypotheses.py [means|tables|power|literature|figure ...] [--runs=200]

means, tables   rejections at .05 under the hypothesis, 1,000 tables a cell (a standard error of .007) or as many as are
                named; the greatest of all cells last
power           rejections of ours, what the plan said, and those of the usual test without privacy on the same tables
figure          writes docs/_static/power.png: lines as planned, dots as measured
literature      the same tables and noise by the test of Gaboardi, Lim, Rogers and Vadhan (2016) for independence

One p-value is of 199 simulated tables here, and of 999 for power (a release simulates 9,999): few keep the level and
cost power, most where noise outweighs sampling.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.data.schema import grid_by_width
from reticent.statistics.hypotheses.independence import Independence, aligned
from reticent.statistics.hypotheses.means import Means, soft
from reticent.statistics.hypotheses.null import geometric
from reticent.statistics.hypotheses.proportions import Proportions
from reticent.statistics.hypotheses.tables import TableLaw
from reticent.statistics.moments.moment_step import design

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
LEVEL, DRAWS, MORE = 0.05, 199, 999
GRID = grid_by_width(Fraction(-1), Fraction(1))

LAWS: dict[str, Draw] = {
    "normal, sd 1/6 of the range": lambda rng, n: np.clip(rng.normal(0, 1 / 3, n), -1, 1),
    "lognormal(0, 1) on [0, 20]": lambda rng, n: np.clip(rng.lognormal(0, 1, n) / 10 - 1, -1, 1),
    "1 with probability .05, else 0": lambda rng, n: np.where(rng.random(n) < 0.05, 1.0, -1.0),
    "all equal": lambda rng, n: np.full(n, 0.3),
}
MARGINS: dict[str, tuple[list[float], list[float]]] = {
    "2 x 2, even": ([0.5, 0.5], [0.5, 0.5]),
    "2 x 2, .03 and .1": ([0.97, 0.03], [0.9, 0.1]),
    "4 x 5, even": ([0.25] * 4, [0.2] * 5),
    "4 x 3, .02 and .05": ([0.6, 0.3, 0.08, 0.02], [0.8, 0.15, 0.05]),
}
SIZES = ((200, 0.1), (200, 0.3), (200, 1.0), (2_000, 0.1), (2_000, 1.0), (10_000, 0.1), (10_000, 1.0))


@dataclass(frozen=True)
class Bench:
    """Runs a cell, and a generator that no test uses."""

    runs: int
    rng: np.random.Generator

    def tables(self, cells: Floats, n: int, scale: float) -> tuple[Floats, Floats]:
        exact = self.rng.multinomial(n, cells.ravel(), self.runs).reshape(self.runs, *cells.shape).astype(np.float64)
        return exact, exact + geometric(scale, exact.shape, self.rng)

    def groups(self, draw: Draw, n: int, share: float, shift: float = 0.0) -> list[tuple[Floats, Floats]]:
        """Two groups of n in all, the values of the second moved."""
        found = []
        for _ in range(self.runs):
            first = int(self.rng.binomial(n, share))
            found.append((draw(self.rng, first), np.clip(draw(self.rng, n - first) + shift, -1, 1)))
        return found

    def noisy(self, groups: list[tuple[Floats, Floats]], scale: float) -> Floats:
        exact = np.array([[soft(one).sum(0), soft(other).sum(0)] for one, other in groups])
        return exact + self.rng.laplace(0, scale, exact.shape)


def means_of(scale: float) -> Means:
    return Means((1, 2), 1.0, scale, design("soft", 2, GRID))


def tested(test: Means | TableLaw, found: Iterable[Floats], draws: int) -> float:
    """The share of tables rejected, each by simulated tables of its own."""
    return rate([test.test(table, draws, f"{run}")[1].value for run, table in enumerate(found)])


def rate(found: list[float]) -> float:
    return float(np.mean([p <= LEVEL for p in found]))


def level_of_means(bench: Bench) -> None:
    print(f"{'values':34}{'n':>8}{'first':>7}{'ε':>6}  add_remove  substitute")
    worst = 0.0
    for name, draw in LAWS.items():
        for share in (0.5, 0.05):
            for n, epsilon in SIZES:
                shown = []
                for moved in (1, 2):
                    test = means_of(moved / epsilon)
                    found = bench.noisy(bench.groups(draw, n, share), moved / epsilon)
                    shown.append(tested(test, found, DRAWS))
                worst = max(worst, *shown)
                print(f"{name:34}{n:>8,}{share:>7g}{epsilon:>6g}  {shown[0]:>10.3f}  {shown[1]:>10.3f}", flush=True)
    print(f"greatest {worst:.3f}; bound .05 + 3 standard errors = {bound(bench.runs):.3f}")


def level_of_tables(bench: Bench) -> None:
    print(f"{'margins':24}{'n':>8}{'ε':>6}  add_remove  substitute")
    worst = 0.0
    for name, margins in MARGINS.items():
        for n, epsilon in SIZES:
            shown = []
            for moved in (1, 2):
                law = TableLaw(moved / epsilon)
                found = bench.tables(np.outer(*margins), n, moved / epsilon)[1]
                shown.append(tested(law, found, DRAWS))
            worst = max(worst, *shown)
            print(f"{name:24}{n:>8,}{epsilon:>6g}  {shown[0]:>10.3f}  {shown[1]:>10.3f}", flush=True)
    print(f"greatest {worst:.3f}; bound .05 + 3 standard errors = {bound(bench.runs):.3f}")


def bound(runs: int) -> float:
    return LEVEL + 3 * float(np.sqrt(LEVEL * (1 - LEVEL) / runs))


def power(bench: Bench) -> None:
    print(f"{'test':44}{'n':>8}{'ε':>6}{'ours':>8}{'planned':>9}{'no privacy':>12}{'noise ignored, its level':>26}")
    normal = LAWS["normal, sd 1/6 of the range"]
    for n, effect in ((200, 0.2), (2_000, 0.06), (10_000, 0.025)):
        for epsilon in (0.1, 0.3, 1.0):
            groups, test = bench.groups(normal, n, 0.5, effect), means_of(1 / epsilon)
            ours = tested(test, bench.noisy(groups, 1 / epsilon), MORE)
            usual = rate([stats.ttest_ind(one, other, equal_var=False).pvalue for one, other in groups])
            ignoring, same = means_of(0.0), bench.noisy(bench.groups(normal, n, 0.5), 1 / epsilon)
            wrong = tested(ignoring, same, MORE)
            name = f"means, apart by {effect / 2:g} of the range"
            planned = test.power(effect, n, LEVEL)
            print(f"{name:44}{n:>8,}{epsilon:>6g}{ours:>8.3f}{planned:>9.3f}{usual:>12.3f}{wrong:>26.3f}", flush=True)
    for shape, n, effect in (((2, 2), 2_000, 0.07), ((4, 5), 2_000, 0.065), ((2, 2), 10_000, 0.03)):
        for epsilon in (0.1, 0.3, 1.0):
            law = TableLaw(1 / epsilon)
            exact, found = bench.tables(aligned(shape, effect), n, 1 / epsilon)
            ours = tested(law, found, MORE)
            usual = rate([stats.chi2_contingency(table, correction=False).pvalue for table in exact])
            same = bench.tables(aligned(shape, 0.0), n, 1 / epsilon)[1]
            wrong = tested(TableLaw(0.0), same, MORE)
            name = f"independence, {shape[0]} x {shape[1]}, V = {effect:g}"
            planned = Independence(shape, law).power(effect, n, LEVEL)
            print(f"{name:44}{n:>8,}{epsilon:>6g}{ours:>8.3f}{planned:>9.3f}{usual:>12.3f}{wrong:>26.3f}", flush=True)
    shares(bench)


def shares(bench: Bench) -> None:
    """Shares of .5 and .6, and of .05 and .07."""
    for first, second, n in ((0.45, 0.55, 1_000), (0.05, 0.07, 10_000)):
        for epsilon in (0.1, 0.3, 1.0):
            law = TableLaw(1 / epsilon)
            cells = 0.5 * np.array([[1 - first, first], [1 - second, second]])
            exact, found = bench.tables(cells, n, 1 / epsilon)
            ours = tested(law, found, MORE)
            usual = rate([stats.chi2_contingency(table, correction=False).pvalue for table in exact])
            planned = Proportions((1, 2), 1, law).power(second - first, n, LEVEL) if first > 0.4 else float("nan")
            name = f"proportions, {first:g} and {second:g}"
            print(f"{name:44}{n:>8,}{epsilon:>6g}{ours:>8.3f}{planned:>9.3f}{usual:>12.3f}", flush=True)


def monte_carlo_independence(table: Floats, scale: float, rng: np.random.Generator) -> float:
    """Gaboardi et al. 2016, MCIndep with Laplace noise: Pearson's statistic of the noisy table, its law simulated.

    Margins from the noisy table with negative cells at 0; where an expected cell is below 5 it does not reject.
    """
    size = table.sum()
    kept = np.maximum(table, 0.0)
    expected = size * np.outer(kept.sum(1), kept.sum(0)) / max(kept.sum(), 1e-9) ** 2
    if size <= 0 or expected.min() < 5:
        return 1.0
    exact = rng.multinomial(round(size), (expected / expected.sum()).ravel(), DRAWS).reshape(DRAWS, *table.shape)
    simulated = exact + rng.laplace(0, scale, exact.shape)
    return float((1 + (pearson(simulated) >= pearson(table)).sum()) / (1 + DRAWS))


def pearson(tables: Floats) -> Floats:
    kept = np.maximum(tables, 0.0)
    total = kept.sum((-1, -2), keepdims=True)
    expected = np.maximum(kept.sum(-1, keepdims=True) * kept.sum(-2, keepdims=True) / np.maximum(total, 1e-9), 1e-9)
    return np.asarray(((tables - expected) ** 2 / expected).sum((-1, -2)))


def literature(bench: Bench) -> None:
    """Tables with the margins above and a lean along their first rows and columns; scale 2 / ε, rows replaced."""
    print(f"{'margins':24}{'V':>7}{'n':>8}{'ε':>6}{'ours':>8}{'Gaboardi et al.':>17}{'no privacy':>12}")
    for name, margins in MARGINS.items():
        apart = np.outer(*margins)
        lean = np.zeros_like(apart)
        lean[:2, :2] = [[1.0, -1.0], [-1.0, 1.0]]
        for n, epsilon, effect in ((1_000, 1.0, 0.1), (2_000, 0.3, 0.1), (10_000, 0.1, 0.06), (10_000, 0.3, 0.0)):
            reach = min(apart[0, 1], apart[1, 0])
            tilt = min(effect / float(np.sqrt((lean**2 / apart).sum() / (min(apart.shape) - 1))), reach)
            cells, scale = apart + tilt * lean, 2 / epsilon
            exact, found = bench.tables(cells, n, scale)
            ours = tested(TableLaw(scale), found, DRAWS)
            theirs = rate([monte_carlo_independence(table, scale, bench.rng) for table in found])
            usual = rate(
                [
                    1.0
                    if not table.any(0).all() or not table.any(1).all()
                    else stats.chi2_contingency(table, correction=False).pvalue
                    for table in exact
                ]
            )
            shown = tilt * float(np.sqrt((lean**2 / apart).sum() / (min(apart.shape) - 1)))
            print(f"{name:24}{shown:>7.3f}{n:>8,}{epsilon:>6g}{ours:>8.3f}{theirs:>17.3f}{usual:>12.3f}", flush=True)


def figure(bench: Bench) -> None:
    """Power curves of two tests with 2,000 people at several epsilons, as the plan says and as measured."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.4, 3.5), layout="constrained")
    left, right = drawn.subplots(1, 2, sharey=True)
    normal, n = LAWS["normal, sd 1/6 of the range"], 2_000
    for epsilon, colour in ((0.1, "#b8d4ee"), (0.3, "#5f9fd6"), (1.0, "#0b4f85")):
        test, law = means_of(1 / epsilon), TableLaw(1 / epsilon)
        apart = np.linspace(0.0, 0.12, 13)
        planned = [test.power(effect, n, LEVEL) for effect in apart]
        left.plot(apart / 2, planned, color=colour, label=f"ε {epsilon:g}")
        seen = []
        for effect in apart[::3]:
            noisy = bench.noisy(bench.groups(normal, n, 0.5, effect), 1 / epsilon)
            seen.append(tested(test, noisy, MORE))
        left.plot(apart[::3] / 2, seen, "o", color=colour, markersize=4)
        strengths = np.linspace(0.0, 0.15, 13)
        right.plot(
            strengths,
            [Independence((3, 3), law).power(v, n, LEVEL) for v in strengths],
            color=colour,
            label=f"ε {epsilon:g}",
        )
        seen = []
        for strength in strengths[::3]:
            found = bench.tables(aligned((3, 3), strength), n, 1 / epsilon)[1]
            seen.append(tested(law, found, MORE))
        right.plot(strengths[::3], seen, "o", color=colour, markersize=4)
    left.set_xlabel("difference of means, in ranges of the column")
    right.set_xlabel("Cramer's V of a 3 x 3 table")
    left.set_ylabel("power at level .05")
    for axes in (left, right):
        axes.axhline(LEVEL, color="#6b7280", linewidth=0.8, linestyle=":")
        axes.axhline(0.8, color="#6b7280", linewidth=0.8, linestyle=":")
        axes.set_ylim(0, 1.02)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, title=f"{n:,} people", loc="lower right")
    drawn.savefig("docs/_static/power.png", dpi=110)
    print("docs/_static/power.png")


PARTS: dict[str, Callable[[Bench], None]] = {
    "means": level_of_means,
    "tables": level_of_tables,
    "power": power,
    "literature": literature,
    "figure": figure,
}


def main() -> None:
    runs = next((int(part[7:]) for part in sys.argv if part.startswith("--runs=")), 1_000)
    named = [part for part in PARTS if part in sys.argv]
    for part in named or PARTS:
        began = time.perf_counter()
        print(f"\n{part}")
        PARTS[part](Bench(runs, np.random.default_rng(20261121)))
        print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
