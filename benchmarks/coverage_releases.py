"""Measured coverage of 95 % intervals of whole releases: bounds or caps that they choose, few weighted rows, CoinPress.

    python benchmarks/coverage_releases.py [--runs 400] [--only "auto"] [--write]

A run draws a table from a law and answers from it by the code of a release, on replayed entropy. An interval is judged
by what the answer names: values cut to the bounds that were chosen, rows or totals under the cap. Rows that a release
draws under a cap count by their chance. ``--write`` puts the rows into docs/reference/coverage.md.
"""

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
from coverage import KINDS, ROOT, SECTION, Row, line
from numpy.typing import NDArray

from reticent.data.caps import CapLadder
from reticent.data.design import SampleDesign
from reticent.data.schema import Column, Person, Schema, category, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.outcome import Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.answer import Answer
from reticent.study.bounds_candidates import settle_bounded
from reticent.study.formulas import understand
from reticent.study.release import draw

Floats = NDArray[np.float64]
Table = Mapping[str, NDArray[np.generic]]
CHOSEN, CAPS, WEIGHTS, FREE = "auto", "cap auto", "weights", "none"
MANY: Final = 1_000_000  # rows that stand for the population
COINPRESS: Final = "mean(x, method=coinpress, centre=0, radius=100, deviation=3)"
ALL_VALUES: Final = "sum(x), all values"

VALUES: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    "lognormal(7, 1)": lambda g, n: g.lognormal(7, 1, n),
    "Pareto 2 from 100": lambda g, n: 100 * (1 + g.pareto(2.0, n)),
    "60 % zeros, lognormal(6, 1)": lambda g, n: np.where(g.random(n) < 0.6, 0.0, g.lognormal(6, 1, n)),
    "two humps": lambda g, n: np.where(g.random(n) < 0.5, g.normal(200, 30, n), g.normal(900, 60, n)),
    "lognormal(5, .8), to fifties": lambda g, n: np.round(g.lognormal(5, 0.8, n) / 50) * 50,
    "four values": lambda g, n: g.choice([10.0, 20.0, 50.0, 500.0], n, p=[0.4, 0.35, 0.2, 0.05]),
    "normal(4, 1.5)": lambda g, n: g.normal(4, 1.5, n),
    "lognormal(0, 1)": lambda g, n: g.lognormal(0, 1, n),
    "80 % zeros, exponential(3)": lambda g, n: np.where(g.random(n) < 0.8, 0.0, g.exponential(3, n)),
}
MONEY, SMALL = tuple(VALUES)[:6], tuple(VALUES)[6:]
ROWS: Mapping[str, Callable[[np.random.Generator, int], NDArray[np.int64]]] = {
    "1 to 4 rows each": lambda g, n: g.integers(1, 5, n),
    "lognormal(0, 1) rows each": lambda g, n: np.ceil(g.lognormal(0, 1, n)).astype(np.int64),
}
WEIGHED: Mapping[str, Callable[[np.random.Generator, int], tuple[Floats, Floats]]] = {
    "normal(50, 10), lognormal weights": lambda g, n: (_weights(g, n), g.normal(50, 10, n)),
    "even, lognormal weights": lambda g, n: (_weights(g, n), g.uniform(0, 100, n)),
    "exponential(15), lognormal weights": lambda g, n: (_weights(g, n), np.minimum(g.exponential(15, n), 100)),
}


def _weights(g: np.random.Generator, n: int) -> Floats:
    return np.clip(g.lognormal(0, 0.6, n), 0.2, 6)


@dataclass(frozen=True)
class Case:
    """A release: its questions, the law of the rows, how the column stands in the study, neighbours, epsilon and n."""

    questions: tuple[str, ...]
    law: str
    column: str
    kind: Kind
    epsilon: str
    size: int

    @cached_property
    def schema(self) -> Schema:
        match self.column:
            case "auto":
                return Schema({"x": real(0, "auto", complete=True)}, Person(self.kind))
            case "cap auto":
                columns: dict[str, Column] = {
                    "x": real(0, 100, complete=True),
                    "g": category(["a", "b"], complete=True),
                }
                return Schema(columns, Person(self.kind, "who", 1024, ladder=CapLadder()))
            case "weights":
                weighed: dict[str, Column] = {"w": real(0, 6, complete=True), "x": real(0, 100, complete=True)}
                return Schema(weighed, Person(self.kind), design=SampleDesign(weight="w"))
            case _:
                return Schema({"x": real(complete=True)}, Person(self.kind))

    def draw(self, g: np.random.Generator, size: int) -> Table:
        """A table of so many rows; of persons with a cap, so many persons."""
        if self.column == WEIGHTS:
            w, x = WEIGHED[self.law](g, size)
            return {"w": w, "x": x}
        if self.column == CAPS:
            rows = ROWS[self.law](g, size)
            who = np.repeat(np.arange(size), rows)
            own, rest = g.normal(size=size)[who], g.normal(size=len(who))
            x = np.clip(40 + 10 * own + 10 * rest + 5 * np.log(rows)[who], 0, 100)
            return {"who": who, "x": x, "g": np.where(g.random(len(who)) < 0.3, "a", "b")}
        return {"x": VALUES[self.law](g, size)}

    def truths(self, question: str, answer: Answer, table: Table) -> list[float]:
        """The number that each cell of the answer to a question names."""
        if self.column == WEIGHTS:
            w, x = (_population(self)[name].astype(float) for name in ("w", "x"))
            means = {"mean(x)": (w * x).sum() / w.sum(), "sum(x)": self.size * (w * x).mean()}
            return [float(means.get(question, self.size * w.mean()))]
        if self.column == CAPS:
            return list(_under_cap(self, question, answer, table))
        x = table["x"].astype(float)
        if question == ALL_VALUES:
            return [float(x.sum())]
        low, high = ends(answer.estimand)
        if question == "sum(x)":
            return [float(np.clip(x, low, high).sum())]
        many = _population(self)["x"].astype(float)
        if question.startswith("trimmed"):
            many = many[len(many) // 10 : -(len(many) // 10)]  # they are sorted
        return [float(np.clip(many, low, high).mean())]


def ends(estimand: str) -> tuple[float, float]:
    """The ends that values are cut to, as the answer names them."""
    match = re.search(r"cut to \[(\S+), (\S+)\]", estimand)
    assert match, estimand
    return float(match.group(1)), float(match.group(2))


@cache
def _population(case: Case) -> Table:
    table = case.draw(np.random.default_rng(99), MANY if case.column != CAPS else MANY // 20)
    return {"x": np.sort(table["x"])} if set(table) == {"x"} else table


def _under_cap(case: Case, question: str, answer: Answer, table: Table) -> Iterator[float]:
    """Of each cell: rows under the cap by their chance to be kept, sums of them, or totals of persons."""
    told = re.search(r"at most (\d+)", answer.estimand)
    total = re.search(r"each person cut to \[0, (\d+)\]", answer.estimand)
    cap = int(told.group(1)) if told else int(total.group(1)) // 100 if total else 0
    assert cap, answer.estimand
    of = _population(case) if question.startswith("mean") else table
    who, x = of["who"].astype(np.int64), of["x"].astype(float)
    rows = np.bincount(who)
    chance = (np.minimum(rows, cap) / rows)[who]
    for cell in answer.cells:
        inside = np.ones(len(who), bool) if not cell.label else of["g"] == cell.label[0][1]
        if question.startswith("count"):
            yield float(chance[inside].sum())
        elif question.startswith("mean"):
            yield float((chance * x)[inside].sum() / chance[inside].sum())
        elif cell.label:
            yield float((chance * x)[inside].sum())
        else:
            yield float(np.minimum(np.bincount(who, x), 100 * cap).sum())


def measure(case: Case, runs: int) -> list[Row]:
    """Coverage of each question by replayed releases; of an answer by group, of all its cells."""
    weight = " weight w" if case.column == WEIGHTS else ""
    asked = [question + weight for question in case.questions if question != ALL_VALUES]
    within = Cost.read(case.epsilon, None, "1e-9" if COINPRESS in case.questions else None)
    units = case.size if case.kind == "substitute" else None
    prepared = settle_bounded(understand(asked, case.schema), within, case.schema, units, "approximate")
    generator = np.random.default_rng(zlib.crc32(str(case).encode()))
    found: dict[str, list[tuple[float, ...]]] = {question: [] for question in case.questions}
    cells = dict.fromkeys(case.questions, 0)
    for run in range(runs):
        table = case.draw(generator, case.size)
        answers, _ = draw(prepared, open_table(table, case.schema), Replayed(f"{case} {run}"), lambda stage: None)
        for question in case.questions:
            place = 0 if question == ALL_VALUES else asked.index(question + weight)
            truths = case.truths(question, answers[place], table)
            cells[question] += len(truths)
            for cell, truth in zip(answers[place].cells, truths, strict=True):
                if isinstance(cell.outcome, Reply):
                    e = cell.outcome.value
                    parts = (e.high - e.low) / 2, e.noise, e.sampling
                    found[question].append((truth < e.low, truth > e.high, *parts))
    return [_row(case, question, found[question], cells[question]) for question in case.questions]


def _row(case: Case, question: str, found: list[tuple[float, ...]], cells: int) -> Row:
    table = np.array(found or [(math.nan,) * 5], dtype=float)
    below, above = table[:, :2].mean(axis=0).tolist()
    return Row(
        question, case.law, case.column, case.kind, case.epsilon, case.size, len(found), cells,
        1 - below - above, below, above, *np.median(table[:, 2:], axis=0).tolist(),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """The releases that are measured."""
    for kind in KINDS:
        trimmed = ("trimmed_mean(x)",) if kind == "substitute" else ()  # elsewhere the number of values is private
        for law in MONEY:
            yield Case(("sum(x)", ALL_VALUES, "mean(x)", *trimmed), law, CHOSEN, kind, "2", 3_000)
        for law in ROWS:
            yield Case(("count", "sum(x)", "mean(x)"), law, CAPS, kind, "4", 1_500)
            yield Case(("count by g", "sum(x) by g", "mean(x) by g"), law, CAPS, kind, "4", 1_500)
        for law in WEIGHED:
            yield Case(("mean(x)", "sum(x)", "count"), law, WEIGHTS, kind, "9", 60)
        for law in SMALL:
            yield Case((COINPRESS,), law, FREE, kind, "2", 200)


def _work(item: tuple[Case, int]) -> list[Row]:
    return measure(*item)


def section(rows: list[Row], runs: int) -> str:
    """The section of the page."""
    head = f"""{SECTION}

Made by `python benchmarks/coverage_releases.py --runs {runs} --write`: {runs:,} whole releases of the questions of a
law, whose ε they share. Each is judged by what its answer names. *auto* is a column from 0 to an end that the release
chooses, and *cap auto* a cap on rows that it chooses. *weights* is a study whose rows have weights up to 6, and *none*
a column without bounds. n is of persons under a cap. Of an answer by group all cells count, and rows that are drawn
under a cap count by their chance. *All values* is what no interval is for: the sum of values as they are, of which
the answer has those [moved into the chosen bounds](../how-to/caps.md).

| statistic | law | column | neighbours | ε | n | replies | covers | misses | half-width | parts |
|---|---|---|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(line(row) for row in rows) + "\n"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--only", default="")
    options.add_argument("--write", action="store_true")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    work = [(case, given.runs) for case in cases() if given.only in str(case)]
    with ProcessPoolExecutor(given.workers) as pool:
        rows: list[Row] = []
        for several in pool.map(_work, work):
            rows += several
            print("\n".join(map(line, several)), flush=True)
    if given.write:
        page = ROOT / "docs" / "reference" / "coverage.md"
        first, _, _ = page.read_text("utf-8").partition(SECTION)
        page.write_text(first + section(rows, given.runs), "utf-8")


if __name__ == "__main__":
    main()
