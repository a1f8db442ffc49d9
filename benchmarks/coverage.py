"""Measured coverage of the 95 % intervals: statistic, law, neighbours, epsilon and n, thousands of runs a cell.

    python benchmarks/coverage.py [--runs 4000] [--only mean,sd] [--write]

A run draws a table from a law, answers from it by the released code with replayed entropy, and looks whether the
interval covers the value of the clipped law. ``--write`` puts the table into docs/reference/coverage.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.schema import Column, Person, category  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.errors import QuestionError  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Kind  # noqa: E402
from reticent.statistics.context import Setting, Step  # noqa: E402
from reticent.statistics.grammar import parse  # noqa: E402
from reticent.statistics.prepare import prepare  # noqa: E402
from tests.support.stat_fake import Fake, answered, schema_of  # noqa: E402
from tests.support.stat_laws import LAWS, Law  # noqa: E402

KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
EPSILONS = ("0.1", "1")
SIZES = (1_000, 10_000)
SECTION = "## Releases that choose, weigh or search"  # of the page, by coverage_releases.py


@dataclass(frozen=True)
class Row:
    """One cell of the table of results."""

    question: str
    law: str
    bounds: str
    kind: str
    epsilon: str
    size: int
    replies: int
    runs: int
    covered: float
    below: float
    above: float
    width: float
    noise: float
    sampling: float

    @property
    def error(self) -> float:
        return math.sqrt(self.covered * (1 - self.covered) / max(self.replies, 1))


def measure(question: str, law: Law, column: Column, bounds: str, kind: str, epsilon: str, size: int, runs: int) -> Row:
    """Coverage of one cell, by replayed runs."""
    person = Person("add_remove" if kind == "add_remove" else "substitute")
    schema = schema_of(column, person)
    setting = Setting(schema, size if kind == "substitute" else None)
    truth = law.truth(question)
    try:
        step: Step = prepare(parse(question), setting, Fraction(epsilon))
    except QuestionError:
        return Row(question, law.name, bounds, kind, epsilon, size, 0, runs, math.nan, 0, 0, 0, 0, 0)
    generator = np.random.default_rng(zlib.crc32(f"{question} {law.name} {kind} {epsilon} {size}".encode()))
    below = above = replies = 0
    widths: list[tuple[float, float, float]] = []
    for run in range(runs):
        values = law.draw(generator, size)
        answer = answered(
            step, Fake(schema, {"x": values}), Replayed(f"{question} {law.name} {kind} {epsilon} {size} {run}")
        )
        if isinstance(answer.outcome, Reply):
            e = answer.outcome.value
            replies += 1
            below += truth < e.low
            above += truth > e.high
            widths.append(((e.high - e.low) / 2, e.noise, e.sampling))
    if not replies:
        return Row(question, law.name, bounds, kind, epsilon, size, 0, runs, math.nan, 0, 0, 0, 0, 0)
    width, noise, sampling = np.median(np.array(widths), axis=0).tolist()
    covered = 1 - (below + above) / replies
    return Row(
        question, law.name, bounds, kind, epsilon, size, replies, runs, covered,
        below / replies, above / replies, width, noise, sampling,
    )  # fmt: skip


def cells(only: tuple[str, ...]) -> Iterator[tuple[str, Law, Column, str]]:
    """Questions with the laws and the columns they are measured on."""
    for law in LAWS:
        for question in ("mean(x)", "variance(x)", "sd(x)"):
            if not only or question.partition("(")[0] in only:
                yield question, law, law.column, "bounds"
        if law.discrete and (not only or "proportion" in only):
            yield "proportion(x)", law, category([0, 1]), "category"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=4_000)
    options.add_argument("--only", default="")
    options.add_argument("--law", default="")
    options.add_argument("--write", action="store_true")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    only = tuple(filter(None, given.only.split(",")))
    work = [
        (question, law.name, bounds, kind, epsilon, size, given.runs)
        for question, law, _, bounds in cells(only)
        for kind in KINDS
        for epsilon in EPSILONS
        for size in SIZES
        if given.law in law.name
    ]
    with ProcessPoolExecutor(given.workers) as pool:
        rows = []
        for row in pool.map(_work, work):
            rows.append(row)
            print(line(row), flush=True)
    if given.write:
        path = ROOT / "docs" / "reference" / "coverage.md"
        _, mark, releases = path.read_text("utf-8").partition(SECTION)
        path.write_text(f"{page(rows, given.runs)}\n{mark}{releases}" if mark else page(rows, given.runs), "utf-8")


def _work(item: tuple[str, str, str, str, str, int, int]) -> Row:
    question, law_name, bounds, kind, epsilon, size, runs = item
    (law,) = [law for law in LAWS if law.name == law_name]
    column: Column = law.column
    if bounds == "category":
        column = category([0, 1])
    return measure(question, law, column, bounds, kind, epsilon, size, runs)


def line(row: Row) -> str:
    """One row as it is printed and put into the page."""
    head = f"| {row.question} | {row.law} | {row.bounds} | {row.kind} | {row.epsilon} | {row.size:,} "
    if not row.replies:
        return head + "| refused | | | | |"
    share = row.replies / row.runs
    return head + (
        f"| {100 * share:.0f} % | {row.covered:.3f} ± {row.error:.3f} | {row.below:.3f} / {row.above:.3f} "
        f"| {row.width:.3g} | {row.noise:.3g} / {row.sampling:.3g} |"
    )


def page(rows: list[Row], runs: int) -> str:
    """The page of the documentation."""
    head = f"""# Measured coverage

Made by `python benchmarks/coverage.py --runs {runs} --write`. A cell is {runs:,} tables drawn from the law and
answered with replayed entropy. *Covers* is the share of replies whose 95 % interval holds the value of the clipped law,
with its standard error. *Misses* are the shares that lie below and above the interval, and *half-width* is the median
one.
*Parts* are the medians of its noise and sampling parts. *replies* is the share of runs that were answered. *Refused*
means that the question is declined before any row is read, or that no run was answered. Integer answers, and intervals
of many equal values, may cover more. Where fewer than one run in ten was answered, a noisy number of values happened to
be large; those few replies are not judged. Counts and sums are exact laws, and tested as such. Medians, quantiles and
quartile distances have [a page of their own](coverage-quantiles.md), and so have
[means of skewed values](coverage-means.md).

| statistic | law | column | neighbours | ε | n | replies | covers | misses | half-width | parts |
|---|---|---|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(line(row) for row in rows) + "\n"


if __name__ == "__main__":
    main()
