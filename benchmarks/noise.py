"""Exact noise beside its peers, in one run: CPU time, minimum of five, values per CPU second, ratios.

Run by ``make bench`` in an environment that holds OpenDP, Google's python-dp and NumPy beside this package:

    python benchmarks/noise.py [--quick]

NumPy's Laplace is not private (its low bits name the data); it is the speed of light here, not a peer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import system
from reticent.exact import sampling
from reticent.exact.alias_tables import ROOMY
from reticent.exact.gaussian import gaussian_tables
from reticent.exact.laplace import laplace_tables

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: values per CPU second, and the ratio asked of it."""

    name: str
    rate: float
    build: float | None = None
    ratio: float | None = None
    against: str = ""
    target: float | None = None


def fastest(work: Callable[[], object], times: int = 5) -> float:
    """CPU seconds of the fastest of ``times`` runs."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def build_time(make: Callable[[], object], clear: Callable[[], None]) -> float:
    """CPU milliseconds to build the tables of one scale from nothing, the fastest of five."""

    def once() -> None:
        clear()
        make()

    return 1000 * fastest(once)


def opendp_rates(size: int, times: int) -> dict[str, float]:
    """Values per CPU second of OpenDP's integer vector mechanisms."""
    import opendp.prelude as dp  # type: ignore[import-not-found]

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    wide = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    zeros = np.zeros(size, np.int64)  # an array goes in faster than a list
    rates = {}
    for scale in (1.0, 10.0, 1000.0, 1e6):
        laplace = dp.m.make_laplace(*space, scale=scale)
        rates[f"laplace {scale:g}"] = size / fastest(partial(laplace, zeros), times)
    for variance in (100.0, 1e6):
        gaussian = dp.m.make_gaussian(*wide, scale=variance**0.5)
        rates[f"gaussian {variance:g}"] = size / fastest(partial(gaussian, zeros), times)
    return rates


def google_seconds(count: int, times: int) -> float:
    """CPU seconds of one integer Laplace draw of python-dp, one at a time."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism  # type: ignore[import-not-found]

    mechanism = LaplaceMechanism(epsilon=0.1, sensitivity=1.0)
    return fastest(lambda: [mechanism.add_noise(0) for _ in range(count)], times) / count


def report(quick: bool) -> list[Row]:
    """Every measurement of this page."""
    entropy = system()
    size, times = (MILLION // 10, 3) if quick else (MILLION, 5)
    opendp = opendp_rates(20_000 if quick else 100_000, times)
    unsafe = np.random.default_rng()
    numpy_rate = size / fastest(lambda: unsafe.laplace(0.0, 10.0, size), times)
    rows = [Row("NumPy Laplace, not private", numpy_rate)]
    rows += [Row(f"OpenDP {name}", rate) for name, rate in opendp.items()]
    laplace_cases: list[tuple[int, float | None]] = [(1, 80), (10, 200), (1000, 80), (10**6, 80), (2**50, None)]
    for scale, target in laplace_cases:
        rate = size / fastest(partial(sampling.discrete_laplace, scale, size, entropy), times)
        built = build_time(partial(laplace_tables, Fraction(scale), ROOMY), laplace_tables.cache_clear)
        peer = opendp.get(f"laplace {scale:g}", opendp["laplace 1e+06"])
        rows.append(Row(f"discrete Laplace {scale:g}", rate, built, rate / peer, "OpenDP", target))
        if scale == 10:
            rows.append(Row(f"discrete Laplace {scale:g}", rate, None, rate / numpy_rate, "NumPy", 0.6))
    gaussian_cases: list[tuple[int, float | None]] = [(100, 200), (10**6, 200), (4 * 10**6, None), (10**12, None)]
    for variance, target in gaussian_cases:
        rate = size / fastest(partial(sampling.discrete_gaussian, variance, size, entropy), times)
        built = build_time(partial(gaussian_tables, Fraction(variance)), gaussian_tables.cache_clear)
        peer = opendp.get(f"gaussian {variance:g}", opendp["gaussian 1e+06"])
        rows.append(Row(f"discrete Gaussian, variance {variance:g}", rate, built, rate / peer, "OpenDP", target))
    count = size // 5
    one_google = google_seconds(count, times)
    rows.append(Row("python-dp, one at a time", 1 / one_google))
    one_at_a_time: list[tuple[str, Callable[[], object]]] = [
        ("Laplace 10", lambda: [sampling.one_discrete_laplace(10, entropy) for _ in range(count)]),
        ("Laplace 1e+06", lambda: [sampling.one_discrete_laplace(10**6, entropy) for _ in range(count)]),
        ("Gaussian 100", lambda: [sampling.one_discrete_gaussian(100, entropy) for _ in range(count)]),
    ]
    for name, work in one_at_a_time:
        each = fastest(work, times) / count
        rows.append(Row(f"discrete {name}, one at a time", 1 / each, None, one_google / each, "python-dp", 5))
    return rows


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks with ties shared, for Spearman's coefficient."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    return np.asarray((ends - (count - 1) / 2)[place])


def timing_correlation(draw: Callable[[], int], count: int = 100_000) -> float:
    """abs(Spearman(duration, abs(value))) over ``count`` single draws: how much a stopwatch tells about the noise."""
    clock = time.perf_counter_ns
    durations, values = np.empty(count), np.empty(count)
    for i in range(count):
        start = clock()
        value = draw()
        durations[i] = clock() - start
        values[i] = abs(value)
    return float(abs(np.corrcoef(ranks(durations), ranks(values))[0, 1]))


def show(rows: list[Row]) -> None:
    """Print the rows; a line that misses its target says so."""
    print(f"{'':42}{'M values / CPU s':>18}{'build, ms':>11}{'ratio':>10}  against, target")
    for row in rows:
        build = "" if row.build is None else f"{row.build:.1f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        target = ""
        if row.ratio is not None and row.target is not None:
            target = f" >= {row.target:g}: {'met' if row.ratio >= row.target else 'MISSED'}"
        print(f"{row.name:42}{row.rate / MILLION:>18.3f}{build:>11}{ratio:>10}  {row.against}{target}")


def main() -> None:
    """Measure and print."""
    show(report("--quick" in sys.argv))
    entropy = system()
    cases: list[tuple[str, Callable[[], int]]] = [
        ("Laplace 1000", lambda: sampling.one_discrete_laplace(1000, entropy)),
        ("Gaussian 100", lambda: sampling.one_discrete_gaussian(100, entropy)),
        ("Gaussian 1e8", lambda: sampling.one_discrete_gaussian(10**8, entropy)),
    ]
    for name, draw in cases:
        best = min(timing_correlation(draw) for _ in range(3))
        print(f"abs(Spearman(time, abs(value))), {name:14} best of three {best:.4f}  target < 0.02")


if __name__ == "__main__":
    main()
