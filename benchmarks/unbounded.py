"""Statistics without bounds beside what they estimate: median absolute error over the non-private estimator's.

    python benchmarks/unbounded.py [--runs 400] [--workers 2] [--only median,iqr]

One run draws a table, answers it by the code of a release on replayed entropy and with NumPy, and looks whether the
interval covers what the answer names: the value of the population, or the mean of values cut to released ends.
Both adjacencies, no bounds; n is public under substitution. Tables are those of NumPy's generator seeded by the line's
own text, entropy by line and run. A line that misses its target says so, judged as printed.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.query import Query  # noqa: E402
from reticent.data.query_result import QueryResult  # noqa: E402
from reticent.data.schema import Person, Schema, real  # noqa: E402
from reticent.data.table import Table as Rows  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.errors import QuestionError  # noqa: E402
from reticent.outcome import Estimate, Reply  # noqa: E402
from reticent.privacy.cost import Cost  # noqa: E402
from reticent.study.allocation import settle  # noqa: E402
from reticent.study.formulas import understand  # noqa: E402
from reticent.study.release import draw  # noqa: E402
from tests.support.stat_fake import Fake, schema_of  # noqa: E402
from tests.support.unbounded_reference import LAWS, Law  # noqa: E402

Kind = Literal["substitute", "add_remove"]
KINDS: tuple[Kind, ...] = ("substitute", "add_remove")
DELTA = "1e-9"  # of CoinPress
QUANTILES = tuple(Fraction(k, 10) for k in range(1, 10))
Table = NDArray[np.float64]
Answer = tuple[Estimate, tuple[float, float] | None] | None  # with the clip, where a clipped mean is what is estimated


@dataclass(frozen=True)
class Case:
    """One line: what is asked, of which law, and the figure to reach."""

    name: str
    law: str
    size: int
    epsilon: str
    kind: Kind
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """What was measured."""

    case: Case
    replies: float
    ratio: float
    worst: float
    covered: float
    heavy: float
    width: float


@dataclass(frozen=True)
class Read:
    """What a release asks of a table, answered by NumPy."""

    table: Fake

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None) -> list[QueryResult]:
        return [self.table.run(query) for query in queries]


QUESTIONS = {
    "median()": "median(x)",
    "median() alone": "median(x, interval=no)",
    "iqr": "iqr(x)",
    "iqr alone": "iqr(x, interval=no)",
    "iqr separate": "iqr(x, method=separate)",
    "mean": "mean(x, method=clipped)",
    "mean, tail": "mean(x, method=clipped, tail=normal)",
    "huber": "location(x)",
    "trimmed": "trimmed_mean(x)",
    "coinpress": "mean(x, method=coinpress, centre=0, radius=1000, deviation=2)",
    "joint": "quantiles(x, 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9)",
}


def asked(case: Case) -> Callable[[Table, str], Answer]:
    """How a table is answered: by the code of a release, on replayed entropy."""
    name, _, level = case.name.partition(" ") if case.name.startswith("joint") else (case.name, "", "")
    schema = schema_of(real(missing=0), Person(case.kind))
    units = case.size if case.kind == "substitute" else None
    within = Cost.read(case.epsilon, None, DELTA)
    prepared = settle(understand([QUESTIONS[name]], schema), within, schema, units, "approximate")
    place = QUANTILES.index(Fraction(level)) if level else 0

    def answer(table: Table, key: str) -> Answer:
        rows = cast("Rows", Read(Fake(schema, {"x": table})))
        ((found,), _) = draw(prepared, rows, Replayed(key), lambda stage: None)
        outcome = found.cells[place].outcome
        return (outcome.value, clip_of(found.estimand)) if isinstance(outcome, Reply) else None

    return answer


def clip_of(estimand: str) -> tuple[float, float] | None:
    """Where values were cut, if the mean of those is what is estimated."""
    match = re.match(r"mean of x cut to \[(\S+), (\S+)\]", estimand)
    return None if match is None else (float(match.group(1)), float(match.group(2)))


def clipped_mean(law: Law, low: float, high: float) -> float:
    """The population mean of values clipped to [low, high]."""
    levels = (np.arange(20_000) + 0.5) / 20_000
    if law.name not in LEVELLED:
        LEVELLED[law.name] = np.array([law.quantile(float(q)) for q in levels])
    return float(np.clip(LEVELLED[law.name], low, high).mean())


LEVELLED: dict[str, Table] = {}


def without_privacy(case: Case, law: Law, table: Table) -> tuple[float, float]:
    """The usual estimate, and the value of the population."""
    if case.name in ("mean", "mean, tail", "coinpress"):
        return float(table.mean()), law.mean
    if case.name.startswith("iqr"):
        low, high = np.quantile(table, [0.25, 0.75])
        return float(high - low), law.quantile(0.75) - law.quantile(0.25)
    if case.name in ("huber", "trimmed"):  # symmetric laws only
        return float(table.mean() if law.name == "normal" else np.median(table)), law.quantile(0.5)
    level = float(Fraction(case.name.partition(" ")[2])) if case.name.startswith("joint") else 0.5
    return float(np.quantile(table, level)), law.quantile(level)


def measure(case: Case, runs: int) -> Row:
    """All runs of one line."""
    law = LAWS[case.law]
    generator = np.random.default_rng(zlib.crc32(str(case).encode()))
    try:
        answer = asked(case)
    except QuestionError:
        return Row(case, 0.0, math.nan, math.nan, math.nan, math.nan, math.nan)
    errors, usual, covered, heavy, widths = [], [], [], [], []
    for run in range(runs):
        table = law.draw(generator, case.size)
        plain, truth = without_privacy(case, law, table)
        usual.append(abs(plain - truth))
        found = answer(table, f"{case} {run}")
        if found is not None:
            estimate, says = found
            errors.append(abs(estimate.value - truth))
            meant = truth if says is None else clipped_mean(law, *says)
            covered.append(estimate.low <= meant <= estimate.high)
            heavy.append(says is not None)
            widths.append((estimate.high - estimate.low) / 2.0)
    if not errors:
        return Row(case, 0.0, math.nan, math.nan, math.nan, math.nan, math.nan)
    base = float(np.median(usual))
    return Row(
        case,
        len(errors) / runs,
        float(np.median(errors)) / base,
        float(np.max(errors)) / law.spread,
        float(np.mean(covered)),
        float(np.mean(heavy)),
        float(np.median(widths)),
    )


def cases() -> Iterator[Case]:
    """The figures to reach, then what else is worth knowing."""
    for kind in KINDS:
        for law in ("normal", "lognormal", "cauchy"):
            for name in ("median()", "median() alone"):
                yield Case(name, law, 1_000, "1", kind, 1.15)
                yield Case(name, law, 10_000, "0.1", kind, 1.3)
                yield Case(name, law, 100_000, "1", kind, 1.05)
            for name in ("iqr", "iqr alone", "iqr separate"):
                yield Case(name, law, 1_000, "1", kind, 1.2)
                yield Case(name, law, 10_000, "0.1", kind, 2.2)
                yield Case(name, law, 1_000, "0.1", kind)
        for law, high, low in (("normal", 1.1, 2.5), ("lognormal", 1.5, 4.0)):
            yield Case("mean", law, 10_000, "1", kind, high)
            yield Case("mean", law, 10_000, "0.1", kind, low)
            yield Case("mean", law, 1_000, "1", kind, 1.7 if law == "normal" else None)
            yield Case("mean", law, 1_000, "0.1", kind)
        for size, epsilon in ((1_000, "1"), (10_000, "0.1"), (10_000, "1")):
            yield Case("mean, tail", "normal", size, epsilon, kind)
        for size, epsilon in ((10_000, "1"), (10_000, "0.1"), (1_000, "1")):
            yield Case("mean", "cauchy", size, epsilon, kind)
            yield Case("mean", "bernoulli", size, epsilon, kind)
            yield Case("coinpress", "normal", size, epsilon, kind)
            for law in ("normal", "cauchy"):
                yield Case("huber", law, size, epsilon, kind)
                if kind == "substitute":
                    yield Case("trimmed", law, size, epsilon, kind)
        for level in ("1/10", "1/2", "9/10"):
            for law in ("normal", "cauchy"):
                yield Case(f"joint {level}", law, 10_000, "1", kind)


def line(row: Row) -> str:
    """One line of the report."""
    case = row.case
    head = f"{case.name:16}{case.law:11}{case.kind:12}{case.epsilon:>5}{case.size:>9,}{row.replies:>9.2f}"
    if not row.replies:
        return head + "   declines"
    target = ""
    if case.target is not None:
        target = f"  <= {case.target:g}: {'met' if row.ratio <= case.target else 'MISSED'}"
    ratio = "      -" if math.isnan(row.ratio) else f"{row.ratio:7.2f}"
    says = f"  for cut values in {row.heavy:.0%}" if row.heavy else ""
    return f"{head}{ratio}{row.covered:7.3f}{row.width:>12.3g}{row.worst:>10.2g}{target}{says}"


def _work(item: tuple[Case, int]) -> Row:
    return measure(*item)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--only", default="")
    given = options.parse_args()
    only = tuple(filter(None, given.only.split(",")))
    print(f"{'':16}{'law':11}{'neighbours':12}{'eps':>5}{'n':>9}{'replies':>9}  ratio covers  half-width  worst/sd")
    wanted = [(case, given.runs) for case in cases() if not only or case.name.startswith(only)]
    with ProcessPoolExecutor(given.workers) as pool:
        for row in pool.map(_work, wanted):
            print(line(row), flush=True)


if __name__ == "__main__":
    main()
