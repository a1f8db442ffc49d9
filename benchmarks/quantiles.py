"""Measured coverage and width of medians, quantiles and quartile distances, on default options, wherever they lie.

    python benchmarks/quantiles.py [--runs 300] [--only median] [--write]

A run draws a table from a law, moved so that its quantile lies at a place given in units of the law's spread, and
answers from it by the released code with replayed entropy. The shares of epsilon and the reach of the candidates were
fixed on normal tables; all other laws are tests. ``--write`` makes docs/reference/coverage-quantiles.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.schema import Column, Person, integer, real  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.errors import QuestionError  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Kind  # noqa: E402
from reticent.statistics.context import Setting, Step  # noqa: E402
from reticent.statistics.grammar import parse  # noqa: E402
from reticent.statistics.prepare import prepare  # noqa: E402
from tests.support.stat_fake import Fake, answered, schema_of  # noqa: E402

Floats = NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
AGE = stats.norm(40.0, 15.0)


@dataclass(frozen=True)
class Law:
    """How tables are drawn, and the quantiles of the population."""

    draw: Callable[[np.random.Generator, int], Floats]
    quantile: Callable[[float], float]
    discrete: bool = False


def _mixed(q: float) -> float:
    law = stats.norm()
    found = optimize.brentq(lambda x: 0.7 * law.cdf(x) + 0.3 * law.cdf(x - 4.0) - q, -50.0, 50.0)
    return float(found)


def _zeros(q: float) -> float:
    return 0.0 if q <= 0.4 else float(stats.lognorm(1.0).ppf((q - 0.4) / 0.6))


LAWS = {
    "normal": Law(lambda g, n: g.standard_normal(n), stats.norm.ppf),
    "uniform": Law(lambda g, n: g.uniform(0.0, 1.0, n), stats.uniform.ppf),
    "exponential": Law(lambda g, n: g.exponential(1.0, n), stats.expon.ppf),
    "lognormal": Law(lambda g, n: g.lognormal(0.0, 1.0, n), stats.lognorm(1.0).ppf),
    "t3": Law(lambda g, n: g.standard_t(3, n), stats.t(3).ppf),
    "mixture": Law(lambda g, n: g.standard_normal(n) + 4.0 * (g.random(n) < 0.3), _mixed),
    "in tens": Law(
        lambda g, n: 10.0 * np.rint(AGE.ppf(g.random(n)) / 10.0), lambda q: 10.0 * round(AGE.ppf(q) / 10), True
    ),
    "40 % zeros": Law(lambda g, n: np.where(g.random(n) < 0.4, 0.0, g.lognormal(0.0, 1.0, n)), _zeros, True),
}
PLACED = (
    ("normal", 0.0), ("normal", 0.02), ("normal", 0.3), ("normal", 10.0), ("normal", 1e3), ("normal", 1e6),
    ("uniform", 0.02), ("exponential", 1e6), ("lognormal", 0.3), ("t3", 1e3), ("mixture", 10.0),
)  # fmt: skip
SIZES = (("10", 50), ("3", 200), ("1", 1_000), ("0.3", 5_000), ("0.1", 10_000), ("1", 10_000), ("0.1", 100_000))
OTHERS = ("quantile(x, 0.1)", "quantile(x, 0.9)")
FEW = {"add_remove": (("median(x)", 250), ("iqr(x)", 420)), "substitute": (("median(x)", 340), ("iqr(x)", 720))}
IQR = (("3", 500), ("1", 1_000), ("0.3", 5_000), ("1", 10_000))


@dataclass(frozen=True)
class Cell:
    """A question, the law and where its quantile lies, the column as declared, neighbours, epsilon and n."""

    question: str
    law: str
    place: float | None
    column: str
    kind: Kind
    epsilon: str
    size: int

    @property
    def level(self) -> float | None:
        verb = self.question.partition("(")[0]
        if verb == "iqr":
            return None
        return 0.5 if verb == "median" else float(self.question.partition(",")[2].strip(" )"))

    @property
    def truth(self) -> float:
        quantile = LAWS[self.law].quantile
        if self.level is None:
            return float(quantile(0.75) - quantile(0.25))
        return float(quantile(self.level)) if self.place is None else self.place

    @property
    def moved(self) -> float:
        if self.place is None:
            return 0.0
        return self.place - float(LAWS[self.law].quantile(0.5 if self.level is None else self.level))

    @property
    def declared(self) -> Column:
        far = max(100, 2 * int(self.place or 0.0))
        match self.column:
            case "bounds":
                return real(-100, far)
            case "n public":
                return real(missing=0)
            case "whole":
                return integer()
            case _:
                return real()

    def usual(self) -> float:
        """The half-width without privacy: 1.96 standard deviations of the sample's own figure."""
        generator, many = np.random.default_rng(1), min(self.size, 20_000)
        levels = [0.25, 0.75] if self.level is None else [self.level]
        found = [np.quantile(LAWS[self.law].draw(generator, many), levels) for _ in range(300)]
        figures = [one[-1] - one[0] if self.level is None else one[0] for one in found]
        return float(1.96 * np.std(figures) * math.sqrt(many / self.size))


@dataclass(frozen=True)
class Row:
    """What was measured of a cell: replies of runs, misses below and above, half-width over the usual one."""

    cell: Cell
    runs: int
    replies: int
    below: int
    above: int
    width: float

    @property
    def covered(self) -> float:
        return 1.0 - (self.below + self.above) / max(self.replies, 1)


def measure(cell: Cell, runs: int) -> Row:
    """Coverage of one cell, by replayed runs."""
    schema = schema_of(cell.declared, Person(cell.kind))
    setting = Setting(schema, cell.size if cell.kind == "substitute" else None)
    try:
        step: Step = prepare(parse(cell.question), setting, Fraction(cell.epsilon))
    except QuestionError:
        return Row(cell, runs, 0, 0, 0, math.nan)
    generator = np.random.default_rng(zlib.crc32(str(cell).encode()))
    below = above = 0
    widths = []
    for run in range(runs):
        values = LAWS[cell.law].draw(generator, cell.size) + cell.moved
        answer = answered(step, Fake(schema, {"x": values}), Replayed(f"{cell} {run}"))
        if isinstance(answer.outcome, Reply):
            e = answer.outcome.value
            below += cell.truth < e.low
            above += cell.truth > e.high
            widths.append((e.high - e.low) / 2)
    width = float(np.median(widths)) / cell.usual() if widths and not LAWS[cell.law].discrete else math.nan
    return Row(cell, runs, len(widths), below, above, width)


def cells() -> Iterator[Cell]:
    """What is measured."""
    for kind in KINDS:
        for epsilon, size in SIZES:
            for law, place in PLACED:
                yield Cell("median(x)", law, place, "no bounds", kind, epsilon, size)
        for epsilon, size in (("1", 1_000), ("0.1", 10_000)):
            for law, place in (("normal", 0.02), ("normal", 1e6), ("exponential", 1e6), ("lognormal", 0.3)):
                yield Cell("median(x)", law, place, "bounds", kind, epsilon, size)
            for law, column in (("in tens", "no bounds"), ("in tens", "whole"), ("40 % zeros", "no bounds")):
                yield Cell("median(x)", law, None, column, kind, epsilon, size)
        for question in OTHERS:
            for law, place in (("lognormal", 0.02), ("t3", 1e6)):
                yield Cell(question, law, place, "no bounds", kind, "1", 5_000)
        for epsilon, size in IQR:
            for law, place in (
                ("normal", 0.0),
                ("normal", 1e6),
                ("exponential", 0.02),
                ("lognormal", 1e3),
                ("t3", 0.3),
            ):
                yield Cell("iqr(x)", law, place, "no bounds", kind, epsilon, size)
        for question, size in FEW[kind]:  # with about as few values as have a reply
            for law, place in (("normal", 0.02), ("uniform", 0.3), ("lognormal", 0.3), ("t3", 0.3), ("mixture", 10.0)):
                yield Cell(question, law, place, "bounds", kind, "0.65", size)
    for law, place in (("normal", 0.02), ("lognormal", 1e3)):
        for question in ("median(x)", "iqr(x)"):
            yield Cell(question, law, place, "n public", "substitute", "1", 2_000)


def line(row: Row) -> str:
    """One row as it is printed and put into the page."""
    cell = row.cell
    where = "as it is" if cell.place is None else f"{cell.place:g}"
    head = f"| {cell.question} | {cell.law} | {where} | {cell.column} | {cell.kind} | {cell.epsilon} | {cell.size:,} "
    if not row.replies:
        return head + "| refused | | | |"
    width = "" if math.isnan(row.width) else f"{row.width:.2f}"
    missed = f"{row.below / row.replies:.3f} / {row.above / row.replies:.3f}"
    return head + f"| {row.replies:,} of {row.runs:,} | {row.covered:.3f} | {missed} | {width} |"


def pooled(rows: list[Row]) -> Iterator[str]:
    """Coverage of all continuous laws together, by question, neighbours, epsilon and n."""
    groups: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        if not LAWS[row.cell.law].discrete and row.replies > row.runs / 10:
            key = (row.cell.question.partition("(")[0], row.cell.kind, row.cell.epsilon, row.cell.size)
            groups.setdefault(key, []).append(row)
    for (verb, kind, epsilon, size), found in groups.items():
        replies = sum(row.replies for row in found)
        missed = sum(row.below + row.above for row in found)
        share = 1 - missed / replies
        error = math.sqrt(share * (1 - share) / replies)
        width = np.median([row.width for row in found])
        yield (
            f"| {verb} | {kind} | {epsilon} | {size:,} | {len(found)} | {share:.3f} ± {error:.3f} "
            f"| {min(row.covered for row in found):.3f} to {max(row.covered for row in found):.3f} | {width:.2f} |"
        )


def page(rows: list[Row], runs: int) -> str:
    """The page of the documentation."""
    head = f"""# Measured coverage of quantiles

Made by `python benchmarks/quantiles.py --runs {runs} --write`, on default options: up to {runs:,} tables a cell (a
third at 100,000 rows), answered with replayed entropy. The law is moved so that its quantile (for `iqr` the median)
lies at *place*, in units of the law's own spread. *covers* is the share of replies whose 95 % interval holds the
population value; of {runs:,} replies it has a standard error of about {math.sqrt(0.95 * 0.05 / runs):.3f}. *misses* are
the shares below and above the interval, *width* is the median half-width over 1.96 standard deviations of the sample's
own figure. *replies* are how many of the tables were answered; *refused* means before any row is read. Laws with atoms
may cover more, and have no width.

## All continuous laws together

| statistic | neighbours | ε | n | cells | covers | least and most of one cell | width |
|---|---|---|---|---|---|---|---|
"""
    detail = """

## Cell by cell

| statistic | law | place | column | neighbours | ε | n | replies | covers | misses | width |
|---|---|---|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(pooled(rows)) + detail + "\n".join(line(row) for row in rows) + "\n"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--only", default="")
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    rows, start = [], time.monotonic()
    for cell in cells():
        if cell.question.startswith(given.only):
            rows.append(measure(cell, given.runs // 3 if cell.size > 50_000 else given.runs))
            print(line(rows[-1]), f"{time.monotonic() - start:.0f} s", flush=True)
            if given.write:
                (ROOT / "docs" / "reference" / "coverage-quantiles.md").write_text(page(rows, given.runs), "utf-8")
    print("\n".join(pooled(rows)))


if __name__ == "__main__":
    main()
