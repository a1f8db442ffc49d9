"""Tests of ranks, correlation and normality: level, power beside tests without privacy, and the literature.

    python benchmarks/hypotheses_laws.py [ranks|correlation|intervals|normal|literature ...] [--quick]

Rates of rejection at .05 over 400 tables a cell (100 with --quick), standard error .011 at the level. A p-value is of
399 simulated tables here; a release simulates 4,999 of ranks and 9,999 of the others.

literature: the private tests of Couch, Kazan, Shi, Bray and Groce (2019) on the same values: Kruskal and Wallis's with
absolute values (sensitivity 8), and Mann and Whitney's with a noisy size of the smaller group, delta 1e-6, at the best
of four splits of epsilon. They hold for replaced rows and a public number of rows and need no bounds; so ours replace
rows too, on bounds of 8 and of 40 deviations.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.data.schema import Column, Person, Schema, category, real
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting
from reticent.statistics.hypotheses.correlation import Correlation, products
from reticent.statistics.hypotheses.distance import from_any, steps
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.kinds import test
from reticent.statistics.hypotheses.kolmogorov import nearest
from reticent.statistics.hypotheses.normal import NormalityHypothesis
from reticent.statistics.hypotheses.null import geometric
from reticent.statistics.hypotheses.ranks import GroupRanks
from reticent.statistics.hypotheses.step import HypothesisStep

Floats = NDArray[np.float64]
Draw = Callable[[int], Floats]
LEVEL, DRAWS = 0.05, 399
AROUND = np.array([-1.96, 1.96])
RNG = np.random.default_rng(20261122)
SIZES = ((200, "0.3"), (200, "1"), (1_000, "0.1"), (1_000, "1"), (10_000, "0.1"), (10_000, "1"))
LAWS: dict[str, Draw] = {
    "normal": lambda n: RNG.normal(0, 1, n),
    "lognormal": lambda n: RNG.lognormal(0, 1, n) - 4,
    "four values": lambda n: RNG.choice([-3.0, 0.0, 0.2, 3.0], n, p=[0.7, 0.1, 0.1, 0.1]),
}


def runs() -> int:
    return 100 if "--quick" in sys.argv else 400


def made(kind: str, n: int, epsilon: str, adjacency: Kind, *, wide: int = 4, groups: int = 2) -> HypothesisStep:
    columns: dict[str, Column] = {"x": real(-wide, wide), "y": real(-wide, wide), "g": category(list(range(groups)))}
    where = Setting(Schema(columns, Person(adjacency, people=n)), n)
    formula = {"ranks": "y ~ g", "correlation": "y ~ x", "normal": "y"}[kind]
    found = test(HypothesisTest(formula, kind=kind), where, Fraction(epsilon))  # type: ignore[arg-type]  # one of them
    assert isinstance(found, HypothesisStep)
    return found


def rate(found: list[float]) -> float:
    return float(np.mean(np.array(found) <= LEVEL))


# --- ranks ------------------------------------------------------------------------------------------------------------


def p_of_ranks(step: HypothesisStep, groups: list[Floats], *, ignore: bool = False) -> float:
    assert isinstance(step.hypothesis, GroupRanks)
    edges = [float(edge) for edge in step.queries[0].edges]  # type: ignore[union-attr]  # a Tally
    counts = np.array([np.histogram(np.clip(one, edges[0], edges[-1]), edges)[0] for one in groups])
    table = counts + geometric(step.hypothesis.scale, counts.shape, RNG)
    kind = replace(step.hypothesis, draws=DRAWS, scale=0.01 if ignore else step.hypothesis.scale)
    return kind.tell([tuple(row) for row in table.tolist()]).p.value


def ranks() -> None:
    print(
        f"{'values':14}{'n':>8}{'ε':>6}{'first':>7}{'add_remove':>12}{'substitute':>12}{'4 groups':>10}"
        f"{'noise ignored':>15}"
    )
    worst = 0.0
    for name, draw in LAWS.items():
        for n, epsilon in SIZES:
            for share in (0.5, 0.1) if n > 200 else (0.5,):
                sizes = [round(share * n), n - round(share * n)]
                shown = [
                    rate([p_of_ranks(step, [draw(size) for size in sizes]) for _ in range(runs())])
                    for step in (made("ranks", n, epsilon, near) for near in ("add_remove", "substitute"))
                ]
                four, many = (
                    made("ranks", n, epsilon, "add_remove", groups=4),
                    [round(n * w) for w in (0.1, 0.2, 0.3, 0.4)],
                )
                shown.append(rate([p_of_ranks(four, [draw(size) for size in many]) for _ in range(runs())]))
                worst = max(worst, *shown)
                step = made("ranks", n, epsilon, "add_remove")
                wrong = rate(
                    [p_of_ranks(step, [draw(size) for size in sizes], ignore=True) for _ in range(runs() // 4)]
                )
                print(
                    f"{name:14}{n:>8,}{epsilon:>6}{share:>7g}{shown[0]:>12.3f}{shown[1]:>12.3f}{shown[2]:>10.3f}{wrong:>15.3f}"
                )
    print(f"greatest level {worst:.3f}\n")
    print(f"{'apart by':>9}{'n':>8}{'ε':>6}{'ours':>8}{'planned':>9}{'bounds 5 times':>16}{'no privacy':>12}")
    for n, apart in ((200, 0.5), (1_000, 0.25), (10_000, 0.08)):
        for epsilon in ("0.1", "0.3", "1"):
            tight, loose = (made("ranks", n, epsilon, "add_remove", wide=wide) for wide in (4, 20))
            pairs = [[RNG.normal(0, 1, n // 2), RNG.normal(apart, 1, n // 2)] for _ in range(runs())]
            ours, wide = (rate([p_of_ranks(step, pair) for pair in pairs]) for step in (tight, loose))
            usual = rate([stats.mannwhitneyu(*pair).pvalue for pair in pairs])
            # the plan assumes a sixth of the range, 4/3 of a deviation here
            planned = tight.hypothesis.power(float(stats.norm.cdf(apart / np.sqrt(2))) - 0.5, n, LEVEL)
            print(f"{apart:>9g}{n:>8,}{epsilon:>6}{ours:>8.3f}{planned:>9.3f}{wide:>16.3f}{usual:>12.3f}")


# --- correlation ------------------------------------------------------------------------------------------------------


def p_of_correlation(step: HypothesisStep, columns: tuple[Floats, Floats], *, ignore: bool = False) -> float:
    kind = step.hypothesis
    assert isinstance(kind, Correlation)
    noisy = noisy_counts(step, kind, columns)
    return replace(kind, draws=DRAWS, scale=kind.scale * (1e-3 if ignore else 1)).tell([noisy]).p.value


def noisy_counts(step: HypothesisStep, kind: Correlation, columns: tuple[Floats, Floats]) -> tuple[int, ...]:
    units = [float(unit) for unit in step.queries[0].units]  # type: ignore[union-attr]  # Records
    records = np.stack([np.floor(column / unit) for column, unit in zip(columns, units, strict=True)], 1)
    exact = np.array(products(records.astype(np.int64), kind.origins, kind.steps), float)
    return tuple(int(part) for part in exact + RNG.laplace(0, kind.scale * kind.whole, 9))


def correlated(n: int, r: float) -> tuple[Floats, Floats]:
    one, other = RNG.normal(size=(2, n))
    return one, r * one + np.sqrt(1 - r * r) * other


def crossed(n: int) -> tuple[Floats, Floats]:
    one = RNG.normal(size=n)
    return one, one * RNG.choice([-1, 1], n)


def bowl(n: int) -> tuple[Floats, Floats]:
    one = RNG.normal(size=n)
    return one, one**2 - 1 + 0.3 * RNG.normal(size=n)


def correlation() -> None:
    print(f"{'columns, uncorrelated':34}{'n':>8}{'ε':>6}{'add_remove':>12}{'substitute':>12}{'noise ignored':>15}")
    worst = 0.0
    pairs: dict[str, Callable[[int], tuple[Floats, Floats]]] = {
        "normal": lambda n: correlated(n, 0.0),
        "lognormal": lambda n: (LAWS["lognormal"](n), LAWS["lognormal"](n)),
        "y = x or - x": crossed,
        "y = x^2 and a little noise": bowl,
    }
    for name, pair in pairs.items():
        for n, epsilon in SIZES:
            steps_ = [made("correlation", n, epsilon, near) for near in ("add_remove", "substitute")]
            shown = [rate([p_of_correlation(step, pair(n)) for _ in range(runs())]) for step in steps_]
            wrong = rate([p_of_correlation(steps_[0], pair(n), ignore=True) for _ in range(runs() // 4)])
            worst = max(worst, *shown)
            print(f"{name:34}{n:>8,}{epsilon:>6}{shown[0]:>12.3f}{shown[1]:>12.3f}{wrong:>15.3f}")
    print(f"greatest level {worst:.3f}\n\n{'r':>5}{'n':>8}{'ε':>6}{'ours':>8}{'planned':>9}{'no privacy':>12}")
    for n, r in ((200, 0.4), (1_000, 0.2), (10_000, 0.06)):
        for epsilon in ("0.1", "0.3", "1"):
            step = made("correlation", n, epsilon, "add_remove", wide=3)
            found = [correlated(n, r) for _ in range(runs())]
            ours = rate([p_of_correlation(step, pair) for pair in found])
            usual = rate([stats.pearsonr(*pair).pvalue for pair in found])
            print(f"{r:>5g}{n:>8,}{epsilon:>6}{ours:>8.3f}{step.hypothesis.power(r, n, LEVEL):>9.3f}{usual:>12.3f}")


def heavy(n: int, r: float) -> tuple[Floats, Floats]:
    one, other = RNG.standard_t(5, size=(2, n)) / np.sqrt(5 / 3)
    return one, r * one + np.sqrt(1 - r * r) * other


def skewed(n: int, r: float) -> tuple[Floats, Floats]:
    one, other = RNG.exponential(size=(2, n)) - 1
    return one, r * one + np.sqrt(1 - r * r) * other


INTERVALS: tuple[tuple[str, Callable[[int, float], tuple[Floats, Floats]], int, str, float, int], ...] = (
    ("normal", correlated, 569, "0.2", 0.3, 5),
    ("normal", correlated, 569, "0.5", 0.3, 5),
    ("normal", correlated, 569, "1", 0.3, 5),
    ("normal", correlated, 569, "0.5", 0.9, 5),
    ("normal", correlated, 300, "1", 0.95, 4),
    ("normal", correlated, 2_000, "1", 0.0, 6),
    ("normal", correlated, 10_000, "0.1", -0.5, 4),
    ("t with 5 degrees", heavy, 2_000, "1", 0.5, 8),
    ("exponential", skewed, 2_000, "1", 0.4, 8),
    ("exponential", skewed, 569, "0.5", 0.8, 8),
)


def intervals() -> None:
    print("| columns | n | ε | r | bounds, in deviations | covered | mean width | all of it | no privacy |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, draw, n, epsilon, r, wide in INTERVALS:
        step = made("correlation", n, epsilon, "add_remove", wide=wide)
        many = draw(400_000, r)
        one, other = (stats.zscore(np.clip(column, -wide, wide)) for column in many)
        true = float(np.mean(one * other))
        told = [effect_of(step, draw(n, r)) for _ in range(runs())]
        covered, width = np.mean([low <= true <= high for low, high in told]), np.mean([b - a for a, b in told])
        full, usual = np.mean([b - a > 1.999 for a, b in told]), np.ptp(np.tanh(np.arctanh(true) + AROUND / n**0.5))
        shown = f"{covered:.3f} | {width:.2f} | {full:.2f} | {usual:.2f} |"
        print(f"| {name} | {n:,} | {epsilon} | {true:.2f} | {wide} | {shown}", flush=True)


def effect_of(step: HypothesisStep, columns: tuple[Floats, Floats]) -> tuple[float, float]:
    kind = step.hypothesis
    assert isinstance(kind, Correlation)
    told = replace(kind, draws=19).tell([noisy_counts(step, kind, columns)]).effect
    return told.low, told.high


# --- normality --------------------------------------------------------------------------------------------------------


def p_of_normal(step: HypothesisStep, values: Floats, *, ignore: bool = False) -> float:
    kind = step.hypothesis
    assert isinstance(kind, NormalityHypothesis)
    found, counts = np.unique(np.floor(values * (1 << 13)).astype(np.int64), return_counts=True)
    exact = np.array([from_any(steps(found, counts)), len(values)])
    noisy = tuple((exact + geometric(kind.scale, (2,), RNG)).tolist())
    return replace(kind, draws=DRAWS, scale=0.05 if ignore else kind.scale).tell([noisy]).p.value


SHAPES: dict[str, Draw] = {
    "normal": lambda n: RNG.normal(0, 1, n),
    "t with 3 degrees": lambda n: RNG.standard_t(3, n),
    "uniform": lambda n: RNG.uniform(-1, 1, n),
    "gamma(4)": lambda n: RNG.gamma(4, 1, n),
    "exponential": lambda n: RNG.exponential(1, n),
}


def normal() -> None:
    print(
        f"{'values':18}{'n':>8}{'ε':>6}{'ours':>8}{'nearest law, no noise':>23}{'Lilliefors':>12}{'noise ignored':>15}"
    )
    for n in (200, 1_000, 10_000):
        least = np.quantile(nearest(np.sort(RNG.normal(size=(2_000, min(n, 1_000))), axis=1)), 0.95) * np.sqrt(
            min(n, 1_000)
        )
        fitted = np.quantile([lilliefors(RNG.normal(size=n)) for _ in range(2_000)], 0.95)
        for name, draw in SHAPES.items():
            found = [draw(n) for _ in range(runs())]
            some = np.stack([np.sort(values) for values in found[:100]])
            pure = float(np.mean(nearest(some) * np.sqrt(n) > least))
            usual = float(np.mean([lilliefors(values) > fitted for values in found]))
            for epsilon in ("0.1", "0.3", "1"):
                step = made("normal", n, epsilon, "add_remove")
                ours = rate([p_of_normal(step, values) for values in found])
                wrong = (
                    rate([p_of_normal(step, values, ignore=True) for values in found]) if name == "normal" else np.nan
                )
                print(f"{name:18}{n:>8,}{epsilon:>6}{ours:>8.3f}{pure:>23.3f}{usual:>12.3f}{wrong:>15.3f}")


def lilliefors(values: Floats) -> float:
    return float(stats.kstest((values - values.mean()) / values.std(ddof=1), stats.norm.cdf).statistic)


# --- literature -------------------------------------------------------------------------------------------------------


def literature() -> None:
    print(
        f"{'groups':>7}{'apart':>7}{'n':>7}{'ε':>6}{'ours':>8}{'bounds 5 times':>16}"
        f"{'Couch et al.':>14}{'no privacy':>12}"
    )
    cases = ((3, 0.0, 300, "1"), (3, 1.0, 100, "1"), (3, 0.5, 300, "1"), (3, 0.5, 1_000, "0.3"), (3, 0.2, 2_000, "1"))
    for groups, apart, n, epsilon in cases:
        tables = [[RNG.normal(apart * place, 1, n // groups) for place in range(groups)] for _ in range(runs())]
        show(groups, apart, n, epsilon, tables, absolute([n // groups] * groups, float(Fraction(epsilon))))
    for share, apart, n, epsilon in (
        (0.5, 0.0, 200, "1"),
        (0.5, 0.5, 200, "1"),
        (0.5, 1.0, 200, "0.3"),
        (0.5, 0.2, 1_000, "1"),
        (0.1, 0.5, 500, "1"),
    ):
        sizes = [round(share * n), n - round(share * n)]
        tables = [[RNG.normal(apart * place, 1, size) for place, size in enumerate(sizes)] for _ in range(runs())]
        splits = [pairs(float(Fraction(epsilon)), part) for part in (0.1, 0.25, 0.5, 0.65)]
        best = max(splits, key=lambda kind: rate([kind(table) for table in tables]))
        show(2, apart, n, epsilon, tables, best)


def show(
    groups: int, apart: float, n: int, epsilon: str, tables: list[list[Floats]], theirs: Callable[[list[Floats]], float]
) -> None:
    ours = [
        rate([p_of_ranks(made("ranks", n, epsilon, "substitute", wide=wide, groups=groups), table) for table in tables])
        for wide in (4, 20)
    ]
    usual = rate([stats.kruskal(*table).pvalue for table in tables])
    other = rate([theirs(table) for table in tables])
    print(f"{groups:>7}{apart:>7g}{n:>7,}{epsilon:>6}{ours[0]:>8.3f}{ours[1]:>16.3f}{other:>14.3f}{usual:>12.3f}")


def absolute(sizes: list[int], epsilon: float) -> Callable[[list[Floats]], float]:
    """Kruskal and Wallis's with absolute values plus Laplace noise of scale 8 / epsilon."""
    n, ends = sum(sizes), np.cumsum(sizes)[:-1]

    def of(order: NDArray[np.floating]) -> float:
        means = [part.mean() for part in np.split(order, ends)]
        return float(4 * (n - 1) / n**2 * sum(s * abs(m - (n + 1) / 2) for s, m in zip(sizes, means, strict=True)))

    under = np.array([of(RNG.permutation(n) + 1.0) for _ in range(2_000)]) + RNG.laplace(0, 8 / epsilon, 2_000)

    def p(table: list[Floats]) -> float:
        found = of(stats.rankdata(np.concatenate(table))) + RNG.laplace(0, 8 / epsilon)
        return float((1 + (under >= found).sum()) / (1 + len(under)))

    return p


def pairs(epsilon: float, part: float) -> Callable[[list[Floats]], float]:
    """Mann and Whitney's U of the lesser side; the smaller group bought at ``part`` of epsilon, delta 1e-6."""

    def p(table: list[Floats]) -> float:
        first, second = (len(one) for one in table)
        n, about = first + second, min(first, second) + RNG.laplace(0, 1 / (part * epsilon))
        least = min(max(round(about + np.log(2e-6) / (part * epsilon)), 0), n // 2)
        scale = (n - least) / ((1 - part) * epsilon)
        u = stats.mannwhitneyu(*table).statistic
        found = min(u, first * second - u) + RNG.laplace(0, scale)
        held = min(max(round(about), 1), n // 2)
        mean, spread = held * (n - held) / 2, np.sqrt(held * (n - held) * (n + 1) / 12)
        under = mean - np.abs(RNG.normal(0, spread, DRAWS)) + RNG.laplace(0, scale, DRAWS)
        return float((1 + (under <= found).sum()) / (1 + DRAWS))

    return p


PARTS = {"ranks": ranks, "correlation": correlation, "intervals": intervals, "normal": normal, "literature": literature}


def main() -> None:
    for part in [part for part in PARTS if part in sys.argv] or PARTS:
        began = time.perf_counter()
        print(f"\n{part}")
        PARTS[part]()
        print(f"{time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
