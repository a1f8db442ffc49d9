"""Scale, median and trimmed mean by propose-test-release: replies and errors, no bounds given.

    python benchmarks/robust.py [--quick]

Columns: share of replies, and the median |error| of the replies over that of the non-private estimator on the same
columns. Error is against the population. Seeds: 400, or 40 with --quick. Every line counts the whole charge: the total
epsilon is split as its name says, delta is 1e-6 for each test.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import SortedColumn, ordered
from reticent.entropy import system
from reticent.errors import Refusal
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import words
from reticent.statistics.robust import assumed_laws, median, reach
from reticent.statistics.robust import scale_ptr as scale
from reticent.statistics.robust import trimmed_ptr as trimmed

Floats = NDArray[np.float64]
Shape = Literal["normal", "lognormal", "cauchy"]

STEP = 2.0**-30
NEAR = Adjacency("substitute")
DELTA = Fraction(1, 10**6)
ALPHA = Fraction(1, 10)
SHAPES: tuple[Shape, ...] = ("normal", "lognormal", "cauchy")
MEDIANS = {"normal": 100.0, "lognormal": 1.0, "cauchy": 100.0}
QUARTILE = 0.6744897501960817
RANGES = {"normal": 2 * QUARTILE, "lognormal": float(np.exp(QUARTILE) - np.exp(-QUARTILE)), "cauchy": 2.0}
MEANS = {"normal": 100.0, "lognormal": 1.4142, "cauchy": 100.0}  # lognormal: replaced by a large sample's trimmed mean


@dataclass(frozen=True, slots=True)
class Method:
    """A way to estimate: its guarantee, and one noisy estimate of a column or None for no reply."""

    name: str
    guarantee: Guarantee
    estimate: Callable[[SortedColumn], float | None]


def columns(shape: Shape, n: int, runs: int) -> list[Floats]:
    """Sorted columns of the populations of the issue: normal(100, 1), lognormal(0, 1), Cauchy + 100."""
    rng = np.random.default_rng(20081114)
    found = []
    for _ in range(runs):
        match shape:
            case "normal":
                values = rng.normal(100.0, 1.0, n)
            case "lognormal":
                values = rng.lognormal(0.0, 1.0, n)
            case "cauchy":
                values = rng.standard_cauchy(n) + 100.0
        found.append(np.sort(values))
    return found


def on_grid(column: Floats) -> SortedColumn:
    return ordered(np.rint(np.clip(column / STEP, -(2.0**60), 2.0**60)).astype(np.int64))


def medians(n: int, epsilon: Fraction) -> list[Method]:
    """M at a total of ``epsilon``; as printed it has six steps by the paper's count and costs four of them."""
    eighth, sixth = epsilon / 8, epsilon / 6
    methods = []
    try:
        ours = median.scaled_median(n, NEAR, scale_test=eighth, test=2 * eighth, release=4 * eighth, delta=DELTA)
    except Refusal:
        print(f"  M is refused at n {n}, ε {epsilon}: n is too small")
        return []
    methods.append(Method("M: stable bin, least width, bin-free", ours.guarantee, value_of(ours)))
    level = median.level_for(n, NEAR, test=2 * eighth, release=4 * eighth, delta=DELTA)
    third = median.ScaledMedian(level, scale.stable_scale(n, NEAR, test=eighth, delta=DELTA), n)
    methods.append(Method("M: stable bin, n^(-1/3), bin-free", third.guarantee, value_of(third)))
    try:  # n too small for a step, or the delta of the printed threshold above 1 / (10 n)
        printed = median.ScaledMedian(
            median.level_for(n, NEAR, test=sixth, release=sixth, mode="paper"),
            scale.scale(n, NEAR, test=sixth, release=sixth, mode="paper"),
            n,
        )
        methods.append(Method("M as printed, 6 equal steps", printed.guarantee, value_of(printed)))
    except Refusal:
        print(f"  M as printed is refused at n {n}, ε {epsilon}: its δ is above 1 / (10 n), or n is too small")
    return methods


def value_of(mechanism: median.ScaledMedian) -> Callable[[SortedColumn], float | None]:
    coins = system()

    def estimate(column: SortedColumn) -> float | None:
        found = mechanism.sample(column, coins)
        return float(found.value.value) * STEP if isinstance(found, Reply) else None

    return estimate


def scales(n: int, epsilon: Fraction) -> list[Method]:
    """S at a total of ``epsilon``, half for the test."""
    half, coins, methods = epsilon / 2, system(), []
    free = float("inf")  # mechanisms that would refuse, because their noise is too wide, are measured all the same
    made: list[tuple[str, scale.ScalePtr]] = [
        ("S: bin-free, least bins", scale.scale(n, NEAR, test=half, release=half, delta=DELTA, most_factor=free)),
        (
            "S: bin-free, 1 + 1/ln n",
            scale.scale(n, NEAR, test=half, release=half, delta=DELTA, grid=scale.paper_grid(n), most_factor=free),
        ),
        (
            "S: one test on two binnings, 1 + 1/ln n",
            scale.scale(
                n, NEAR, test=half, release=half, delta=DELTA, search="bins", grid=scale.paper_grid(n), most_factor=free
            ),
        ),
    ]
    for name, mechanism in made:

        def estimate(column: SortedColumn, mechanism: scale.ScalePtr = mechanism) -> float | None:
            found = mechanism.sample(column, coins)
            return found.value.value * STEP if isinstance(found, Reply) else None

        methods.append(Method(name, mechanism.guarantee, estimate))
    return methods


def trimmed_means(n: int, epsilon: Fraction) -> list[Method]:
    """TM at a total of ``epsilon``, half for the two tests."""
    quarter, coins = epsilon / 4, system()
    try:
        made = trimmed.trimmed_mean(n, NEAR, alpha=ALPHA, test=quarter, release=2 * quarter, delta=DELTA)
    except Refusal:
        print(f"  TM is refused at n {n}, ε {epsilon}: n is too small")
        return []

    def estimate(column: SortedColumn) -> float | None:
        found = made.sample(column, coins)
        return float(found.value.value) * STEP if isinstance(found, Reply) else None

    return [Method("TM: stable bin, alpha .1", made.guarantee, estimate)]


def compare(
    found: list[Floats], methods: list[Method], truth: float, plain: Callable[[Floats], float], title: str
) -> None:
    """One line for each method."""
    base = float(np.median([abs(plain(column) - truth) for column in found]))
    for method in methods:
        start = time.process_time()
        errors = [estimate - truth for column in found if (estimate := method.estimate(on_grid(column))) is not None]
        each = 1000 * (time.process_time() - start) / len(found)
        ratio = f"{float(np.median(np.abs(errors))) / base:.3g}" if errors else "-"
        share = len(errors) / len(found)
        print(f"{title:40}{method.name:42}{words(method.guarantee.loss):>22}{share:>9.3f}{ratio:>9}{each:>9.1f}")


def replies() -> None:
    """The reply probabilities the issue asks for."""
    one, half, n = Fraction(1), Fraction(1, 2), 1000
    level = median.level_for(n, NEAR, test=one, release=one, delta=DELTA)
    with_bin = median.ScaledMedian(level, scale.stable_scale(n, NEAR, test=one, delta=DELTA), n)
    wide = scale.scale(10**4, NEAR, test=half, release=half, delta=DELTA)
    paper = scale.scale(10**4, NEAR, test=half, release=half, delta=DELTA, grid=scale.paper_grid(10**4))
    iqr_of = {"normal": 2 * QUARTILE, "lognormal": RANGES["lognormal"], "cauchy": 2.0}
    print(f"\n{'probability of a reply':60}{'normal':>10}{'lognormal':>11}{'cauchy':>9}  target >= .99")
    rows: list[tuple[str, Callable[[Shape], assumed_laws.Chance], int]] = [
        (
            "M, scale given, n 1,000, ε of each step 1",
            lambda s: median.MedianPtr(level, round(iqr_of[s] * assumed_laws.UNIT / 10)),
            n,
        ),
        ("M, base-2 stable bin, n 1,000, ε of each step 1", lambda s: with_bin, n),
        ("S, n 10,000, ε of each step .5", lambda s: wide, 10**4),
        ("S with bins of 1 + 1/ln n, n 10,000, ε of each step .5", lambda s: paper, 10**4),
    ]
    for name, mechanism, size in rows:
        chances = [assumed_laws.reply_probability(mechanism(s), s, size, tables=400) for s in SHAPES]
        met = "met" if min(chances) >= 0.99 else "MISSED"
        print(f"{name:60}{chances[0]:>10.4f}{chances[1]:>11.4f}{chances[2]:>9.4f}  {met}")


def main() -> None:
    """Measure and print."""
    runs = 40 if "--quick" in sys.argv else 400
    one, tenth = Fraction(1), Fraction(1, 10)
    print(f"{'column':40}{'method':42}{'(ε, δ)':>22}{'replies':>9}{'ratio':>9}{'ms':>9}")
    for shape in SHAPES:
        for n, epsilon in ((10**3, one), (10**4, one), (10**4, tenth), (10**5, one), (10**5, tenth)):
            found = columns(shape, n, runs)
            title = f"{shape}, n {n:,}, ε {float(epsilon):g}"
            compare(found, medians(n, epsilon), MEDIANS[shape], lambda x: float(np.median(x)), f"median {title}")
            quartiles = reach.ranks_of(n, scale.QUARTILES)
            compare(
                found,
                scales(n, epsilon),
                RANGES[shape],
                lambda x, q=quartiles: float(x[q[1] - 1] - x[q[0] - 1]),  # type: ignore[misc]
                f"iqr {title}",
            )
            first, last = trimmed.trim_ranks(n, ALPHA)
            truth = MEANS[shape] if shape != "lognormal" else trimmed_lognormal()
            compare(
                found,
                trimmed_means(n, epsilon),
                truth,
                lambda x, a=first, b=last: float(np.mean(x[a - 1 : b])),  # type: ignore[misc]
                f"trimmed mean {title}",
            )
    replies()


def trimmed_lognormal() -> float:
    """The population's mean between its 5 % and 95 % quantiles."""
    from statistics import NormalDist

    normal, end = NormalDist(), NormalDist().inv_cdf(1 - float(ALPHA) / 2)
    share = normal.cdf(end - 1) - normal.cdf(-end - 1)
    return float(np.exp(0.5)) * share / (1 - float(ALPHA))


if __name__ == "__main__":
    main()
