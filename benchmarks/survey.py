"""Surveys: mean squared error against the theory and the peers, coverage, speed, and a column of 10^7 answers.

Run in an environment that holds OpenDP and diffprivlib beside this package (sections without their peer are left out):

    python benchmarks/survey.py [--quick]

The optimum of a design is the variance of its own estimator with e^epsilon itself in place of the rational at or below
it; that of a number the variance published for Duchi, Jordan and Wainwright's two points, and for Wang and others'
piecewise mechanism, whose width our window improves on.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent import survey
from reticent.entropy import system
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.subset_selection import Subset
from reticent.survey import Design, device
from reticent.survey.design_record import chances
from reticent.survey.estimate import Interval, bounds, of_tally
from reticent.survey.methods import CHOICES, Mean
from reticent.survey.tally import ReportTally
from reticent.survey.variance import worst_mean

MILLION = 1_000_000
GENERATOR = np.random.default_rng(1)  # of the truths, never of the coins


def has(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


def zipf(k: int) -> NDArray[np.float64]:
    weight = 1 / np.arange(1, k + 1)
    return np.asarray(weight / weight.sum())


def optimum(design: Design, epsilon: float, share: NDArray[np.float64]) -> float:
    """The mean over answers of n times the variance, with e^epsilon as it is; truths fixed."""
    ratio, k = math.exp(epsilon), len(design.among)
    made = design.mechanism
    match design.method:
        case "kary" | "warner":
            hit, miss = ratio / (ratio + k - 1), 1 / (ratio + k - 1)
        case "unary":
            hit = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)
            miss = 1 - hit
        case "optimised_unary":
            hit, miss = 0.5, 1 / (ratio + 1)
        case "subset":
            assert isinstance(made, Subset)
            d = made.chosen
            hit = d * ratio / (d * ratio + k - d)
            miss = (d - hit) / (k - 1)
        case "hadamard":
            hit, miss = ratio / (ratio + 1), 0.5
        case _:
            assert isinstance(made, Hashing)
            hit, miss = ratio / (ratio + made.values - 1), 1 / made.values
    return float(np.mean(share * hit * (1 - hit) + (1 - share) * miss * (1 - miss)) / (hit - miss) ** 2)


def error(design: Design, truths: NDArray[np.int64], share: NDArray[np.float64], repeats: int) -> tuple[float, float]:
    """n times the mean squared error, over answers and repeats: of the unbiased shares, and of the consistent ones."""
    unbiased = consistent = 0.0
    for _ in range(repeats):
        result = design.estimate(device.many(design, truths, system()))
        goal = share[: len(result.shares)]
        unbiased += float(((np.array([one.value for one in result]) - goal) ** 2).mean())
        consistent += float(((np.array([one.consistent for one in result]) - goal) ** 2).mean())
    return len(truths) * unbiased / repeats, len(truths) * consistent / repeats


def against_theory(repeats: int) -> None:
    print("\n## Mean squared error over the optimum of each design\n")
    print("| design | answers | ε | n MSE | its law says | optimum | measured / optimum | law / optimum |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for epsilon in ("0.5", "1", "3"):
        truths, share = fixed(2, 2000)
        line(survey.warner("x", epsilon=epsilon), epsilon, truths, share, 16 * repeats)
        for method in CHOICES:
            truths, share = fixed(32, 2000)
            design = survey.choice("x", [f"a{n}" for n in range(32)], epsilon=epsilon, method=method)
            line(design, epsilon, truths, share, repeats)
    for epsilon in ("0.5", "1", "3"):
        numbers(epsilon, "duchi", 24 * repeats)
        numbers(epsilon, "piecewise", 24 * repeats)


def fixed(k: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    truths = np.sort(GENERATOR.choice(k, n, p=zipf(k))).astype(np.int64)
    return truths, np.bincount(truths, minlength=k) / n


def line(design: Design, epsilon: str, truths: NDArray[np.int64], share: NDArray[np.float64], repeats: int) -> None:
    (found, _), best = error(design, truths, share, repeats), optimum(design, float(epsilon), share)
    hit, miss = (float(chance) for chance in chances(design))
    stated = float(np.mean(share * hit * (1 - hit) + (1 - share) * miss * (1 - miss)) / (hit - miss) ** 2)
    row(design.method, f"{len(design.among)}", epsilon, found, stated, best)


def row(method: str, answers: str, epsilon: str, found: float, stated: float, best: float) -> None:
    print(
        f"| {method} | {answers} | {epsilon} | {found:.4g} | {stated:.4g} | {best:.4g} | {found / best:.3f} | "
        f"{stated / best:.6f} |"
    )


def numbers(epsilon: str, method: Mean, repeats: int) -> None:
    """The mean of 500 equal numbers where the mechanism is worst: the middle for two points, the end for a window."""
    design = survey.mean("x", -1, 1, epsilon=epsilon, method=method)
    made = design.mechanism
    assert isinstance(made, LocalMean)
    ratio, root = math.exp(float(epsilon)), math.exp(float(epsilon) / 2)
    at = 1.0 if method == "piecewise" else 0.0
    truths = np.full(500, at)
    errors = [design.estimate(device.many(design, truths, system())).value - at for _ in range(repeats)]
    best = 4 * root / (3 * (root - 1) ** 2) if method == "piecewise" else ((ratio + 1) / (ratio - 1)) ** 2
    row(method, "number", epsilon, 500 * float(np.mean(np.square(errors))), 4 * worst_mean(made), best)


def against_peers(repeats: int) -> None:
    print("\n## Against the peers' randomized response, debiased, at the same ε: n MSE\n")
    print("| answers | ε | design | unbiased | consistent | peer | theirs | theirs / ours, unbiased |")
    print("|--:|--:|---|--:|--:|---|--:|--:|")
    for epsilon in ("0.5", "1", "3"):
        for k in (2, 8, 32):
            truths, share = fixed(k, 200)
            labels = ["yes", "no"] if k == 2 else [f"a{n}" for n in range(k)]
            design = survey.warner("x", epsilon=epsilon) if k == 2 else survey.choice("x", labels, epsilon=epsilon)
            times = 10 * repeats if k == 2 else 2 * repeats
            ours, near = error(design, truths, share, times)
            for name, peer in peers(k, float(epsilon)):
                theirs = 200 * sum(float(((peer(truths) - share) ** 2).mean()) for _ in range(times)) / times
                row = (k, epsilon, design.method, f"{ours:.4g}", f"{near:.4g}", name, f"{theirs:.4g}")
                print(f"| {' | '.join(map(str, row))} | {theirs / ours:.2f} |")


Peer = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def peers(k: int, epsilon: float) -> Sequence[tuple[str, Peer]]:
    found: list[tuple[str, Peer]] = []
    if has("opendp"):
        found.append(("OpenDP randomized_response", opendp(k, epsilon)))
        if k > 2:
            found.append(("OpenDP bitvec", opendp_bits(k, epsilon)))
    if has("diffprivlib") and k == 2:
        found.append(("diffprivlib Binary", diffprivlib(epsilon)))
    return found


def debiased(heard: NDArray[np.int64], k: int, keep: float) -> NDArray[np.float64]:
    other = (1 - keep) / (k - 1)
    return np.asarray((np.bincount(heard, minlength=k) / len(heard) - other) / (keep - other))


def opendp(k: int, epsilon: float) -> Peer:
    import opendp.prelude as dp  # type: ignore[import-not-found]

    dp.enable_features("contrib")
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1) * (1 - 1e-12)
    made: Any = dp.m.make_randomized_response([*range(k)], keep)
    return lambda truths: debiased(np.array([made(truth) for truth in truths.tolist()]), k, keep)


def opendp_bits(k: int, epsilon: float) -> Peer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    flip = 2 / (math.exp(epsilon / 2) + 1) * (1 + 1e-12)  # epsilon = 2 ln((2 - f) / f) for one bit that is 1
    made: Any = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), flip)
    size = -(-k // 8)

    def ask(truths: NDArray[np.int64]) -> NDArray[np.float64]:
        heard = [
            made(bytes((1 << truth % 8) if place == truth // 8 else 0 for place in range(size))) for truth in truths
        ]
        bits = np.unpackbits(np.frombuffer(b"".join(bytes(one) for one in heard), np.uint8), bitorder="little")
        share = bits.reshape(len(truths), -1)[:, :k].mean(axis=0)
        return np.asarray((share - flip / 2) / (1 - flip))

    return ask


def diffprivlib(epsilon: float) -> Peer:
    from diffprivlib.mechanisms import Binary  # type: ignore[import-not-found]

    made: Any = Binary(epsilon=epsilon, value0="0", value1="1")
    keep = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return lambda truths: debiased(np.array([int(made.randomise(str(t))) for t in truths.tolist()]), 2, keep)


def covered() -> None:
    print("\n## Coverage of a share at 95 %, exact, over 201 shares from 0 to 1\n")
    print("| design | n | Wilson least | mean | most | exact least | mean |\n|---|--:|--:|--:|--:|--:|--:|")
    named = [("two coins", survey.two_coins("x"))]
    named += [(f"Warner, ε {e}", survey.warner("x", epsilon=e)) for e in ("0.5", "1", "2", "3", "4", "6")]
    for name, design in named:
        hit, miss = (float(chance) for chance in chances(design))
        for n in (50, 200, 1000):
            heard, cells = np.arange(n + 1), []
            kinds: tuple[Interval, ...] = ("wilson", "exact")
            for kind in kinds:
                low, high = bounds(heard, n, 0.95, kind)
                at = miss + np.linspace(0, 1, 201) * (hit - miss)
                inside = (low[:, None] <= at) & (at <= high[:, None])
                cells.append((stats.binom.pmf(heard[:, None], n, at) * inside).sum(axis=0))
            wilson, exact = cells
            print(
                f"| {name} | {n} | {wilson.min():.3f} | {wilson.mean():.3f} | {wilson.max():.3f} | {exact.min():.3f} | "
                f"{exact.mean():.3f} |"
            )


def covered_together(runs: int = 20_000) -> None:
    """Of a choice by k-ary coins: three answers of .6, .3 and .1, and others that nobody holds."""
    print(f"\n## Coverage of all answers of a choice together at 95 %, {runs:,} surveys each\n")
    print("| answers | ε | n | together | Wilson's at the same levels |\n|--:|--:|--:|--:|--:|")
    for k, epsilon, n in product((5, 20), ("1", "3", "5"), (50, 200, 1000)):
        hit, miss = map(float, chances(survey.choice("x", list(map(str, range(k))), epsilon=epsilon, method="kary")))
        law = miss + np.array([0.6, 0.3, 0.1, *[0.0] * (k - 3)]) * (hit - miss)
        heard = np.random.default_rng(k * n).multinomial(n, law, runs)
        kinds: tuple[Interval, ...] = ("exact", "wilson")
        ends = (bounds(np.arange(n + 1), n, 1 - 0.05 / k, kind) for kind in kinds)
        shown = [((low[heard] <= law) & (law <= high[heard])).all(axis=1).mean() for low, high in ends]
        print(f"| {k} | {epsilon} | {n} | {shown[0]:.3f} | {shown[1]:.3f} |")


def covered_means(runs: int) -> None:
    """Of two points exactly, of a scale by simulation of its law; truths all alike, where the law is most skew."""
    print(f"\n## Coverage of a mean at 95 %, over 41 means; of a scale 5 means, {runs:,} surveys each\n")
    print("| design | ε | n | least | mean | most | exact least |\n|---|--:|--:|--:|--:|--:|--:|")
    for epsilon in ("0.5", "1", "2", "3"):
        for n in (200, 1000):
            wilson, exact = two_points(epsilon, n, "wilson"), two_points(epsilon, n, "exact")
            middle = f"{wilson.min():.3f} | {wilson.mean():.3f} | {wilson.max():.3f}"
            print(f"| duchi | {epsilon} | {n} | {middle} | {exact.min():.3f} |")
    for epsilon in ("1", "2", "3"):
        for n in (200, 1000):
            found = scale(epsilon, n, runs)
            print(f"| piecewise | {epsilon} | {n} | {found.min():.3f} | {found.mean():.3f} | {found.max():.3f} | – |")


def two_points(epsilon: str, n: int, interval: Interval) -> NDArray[np.float64]:
    design = survey.mean("x", 0, 1, epsilon=epsilon, method="duchi")
    hit, truths = float(design.distribution(1)["1"]), np.linspace(0, 1, 41)
    found = [of_tally(design, ReportTally(n, np.array([n - one, one])), interval=interval) for one in range(n + 1)]
    low, high = np.array([[one.low for one in found], [one.high for one in found]])
    law = stats.binom.pmf(np.arange(n + 1)[:, None], n, 1 - hit + truths * (2 * hit - 1))
    return np.asarray((law * ((low[:, None] <= truths) & (truths <= high[:, None]))).sum(axis=0))


def scale(epsilon: str, n: int, runs: int) -> NDArray[np.float64]:
    design = survey.mean("x", 0, 1, epsilon=epsilon, method="piecewise")
    made = design.mechanism
    assert isinstance(made, LocalMean)
    out = []
    for truth in (0, made.cells // 32, made.cells // 10, made.cells // 4, made.cells // 2):
        law = np.array([float(made.mass(truth, place)) for place in range(made.places)])
        held = 0
        for told in GENERATOR.multinomial(n, law / law.sum(), size=runs):
            result = of_tally(design, ReportTally(n, told.astype(np.int64)))
            held += result.low <= truth / made.cells <= result.high
        out.append(held / runs)
    return np.array(out)


def timed(name: str, work: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    print(f"| {name} | {time.process_time() - cpu:.2f} | {time.perf_counter() - wall:.2f} |")


def speed() -> None:
    print("\n## Seconds for 10^6 answers\n\n| work | CPU | wall |\n|---|--:|--:|")
    labels = [f"a{n}" for n in range(128)]
    places = np.arange(MILLION) % 128
    for method in CHOICES:
        design = survey.choice("x", labels, epsilon=1, method=method)
        timed(f"randomize, {method} of 128", lambda design=design: design.randomize_many(places))  # type: ignore[misc]
        heard = design.randomize_many(places)
        timed(f"estimate, {method} of 128", lambda design=design, heard=heard: design.estimate(heard))  # type: ignore[misc]
    coins, told = survey.two_coins("x"), np.where(places < 40, "yes", "no")
    timed("randomize, two coins, from labels", lambda: coins.randomize_many(told))
    timed("randomize, number by a window", lambda: survey.mean("x", 0, 127, epsilon=2).randomize_many(places))
    sites = survey.choice("x", [f"site {n}" for n in range(100_000)], epsilon=2, method="hashing")
    heard = sites.randomize_many(places * 700)
    timed("heavy hitters among 100,000", lambda: survey.heavy(sites, heard))


def in_the_engine(rows: int) -> None:
    import resource

    import duckdb

    print(f"\n## A column of {rows:,} answers in a DuckDB file\n\n| work | CPU | wall |\n|---|--:|--:|")
    coins = survey.two_coins("x")
    wide = survey.choice("x", [f"a{n}" for n in range(16)], epsilon=1, method="optimised_unary")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                f"CREATE TABLE told AS SELECT CASE WHEN hash(i) % 100 < 41 THEN 'yes' ELSE 'no' END AS answer, "
                f"i AS who, CASE i % 3 WHEN 0 THEN 'n' WHEN 1 THEN 's' ELSE 'w' END AS region, "
                f"right(lpad(bin(hash(i)), 64, '0'), 16) AS bits FROM range({rows}) t(i)"
            )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        timed("two coins", lambda: coins.estimate_table(path, "answer", table="told"))
        timed("two coins by region", lambda: coins.estimate_table(path, "answer", table="told", groups=["region"]))
        timed("unary of 16", lambda: wide.estimate_table(path, "bits", table="told"))
        timed("each respondent once", lambda: coins.estimate_table(path, "answer", table="told", respondent="who"))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"\nMemory grew by {grown:,.0f} MB, the engine's own.")


def main() -> None:
    quick = "--quick" in sys.argv
    against_theory(100 if quick else 500)
    against_peers(40 if quick else 200)
    covered()
    covered_together()
    covered_means(1000 if quick else 4000)
    speed()
    in_the_engine(MILLION if quick else 10 * MILLION)


if __name__ == "__main__":
    main()
