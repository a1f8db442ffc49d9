"""Statistics without bounds beside what they estimate: median absolute error over the non-private estimator's.

    python benchmarks/unbounded.py [--runs 400] [--workers 2] [--only median,iqr]

One run draws a table, answers with replayed entropy and with NumPy, and looks whether the interval covers: the value of
the population, or the mean of the clipped law where the answer says that this is meant. Both adjacencies, no bounds; n
is public under substitution. A line that misses its target says so, judged as printed.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.cells import cells_of  # noqa: E402
from reticent.data.schema import Person, real  # noqa: E402
from reticent.data.table import Result  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.errors import QuestionError  # noqa: E402
from reticent.outcome import Estimate, NoReply, Reply  # noqa: E402
from reticent.privacy.adjacency import Adjacency  # noqa: E402
from reticent.statistics.questions import median  # noqa: E402
from reticent.statistics.prepare import prepare  # noqa: E402
from reticent.statistics.setting import Setting  # noqa: E402
from reticent.statistics.unbounded.census import Terms  # noqa: E402
from reticent.statistics.unbounded.clipped import ClippedMean  # noqa: E402
from reticent.statistics.unbounded.coinpress import CoinPress  # noqa: E402
from reticent.statistics.unbounded.joint import joint_quantiles  # noqa: E402
from reticent.statistics.unbounded.location import Huber  # noqa: E402
from reticent.statistics.unbounded.spread import Spread, iqr  # noqa: E402
from reticent.statistics.unbounded.trimmed import TrimmedMean  # noqa: E402
from tests.support.stat_fake import schema_of  # noqa: E402
from tests.support.unbounded_reference import LAWS, Law, counted  # noqa: E402

Kind = Literal["substitute", "add_remove"]
KINDS: tuple[Kind, ...] = ("substitute", "add_remove")
CELLS = cells_of(real(), "x")
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


def asked(case: Case) -> Callable[[Table, str], Answer]:
    """How a table is answered."""
    epsilon = Fraction(case.epsilon)
    terms = Terms(Adjacency(case.kind), case.size if case.kind == "substitute" else None)
    if case.name.startswith("median()"):
        setting = Setting(schema_of(real(), Person(case.kind)), terms.values)
        step = prepare(median("x", interval=case.name == "median()"), setting, epsilon)

        def existing(table: Table, key: str) -> Answer:
            outcome = step.answer([Result(ranks=(counted(CELLS, table),))], Replayed(key)).outcome
            return (outcome.value, None) if isinstance(outcome, Reply) else None

        return existing
    if case.name == "mean":
        clipped = ClippedMean(CELLS, terms, epsilon)

        def mean(table: Table, key: str) -> Answer:
            match clipped.draw(counted(CELLS, table), Replayed(key)):
                case Reply(found):
                    return found.estimate, (found.low, found.high) if found.heavy else None
                case NoReply():
                    return None

        return mean
    if case.name.startswith("joint"):
        joint = joint_quantiles(CELLS, QUANTILES, terms, epsilon)
        place = QUANTILES.index(Fraction(case.name.partition(" ")[2]))

        def ninth(table: Table, key: str) -> Answer:
            match joint.draw(counted(CELLS, table), Replayed(key)):
                case Reply(drawn):
                    return joint.estimates(drawn)[place], None
                case NoReply():
                    return None

        return ninth
    plans: dict[str, Callable[[], Spread | Huber | TrimmedMean | CoinPress]] = {
        "iqr": lambda: iqr(CELLS, terms, epsilon),
        "iqr alone": lambda: iqr(CELLS, terms, epsilon, interval=False),
        "huber": lambda: Huber(CELLS, terms, epsilon),
        "trimmed": lambda: TrimmedMean(CELLS, terms, epsilon),
        "coinpress": lambda: CoinPress(CELLS, terms, epsilon**2 / 2, Fraction(0), Fraction(1000), Fraction(2)),
    }
    plan = plans[case.name]()

    def other(table: Table, key: str) -> Answer:
        outcome = plan.draw(counted(CELLS, table), Replayed(key))
        return (outcome.value, None) if isinstance(outcome, Reply) else None

    return other


def clipped_mean(law: Law, low: float, high: float) -> float:
    """The population mean of values clipped to [low, high]."""
    levels = (np.arange(20_000) + 0.5) / 20_000
    if law.name not in LEVELLED:
        LEVELLED[law.name] = np.array([law.quantile(float(q)) for q in levels])
    return float(np.clip(LEVELLED[law.name], low, high).mean())


LEVELLED: dict[str, Table] = {}


def without_privacy(case: Case, law: Law, table: Table) -> tuple[float, float]:
    """The usual estimate, and the value of the population."""
    if case.name in ("mean", "coinpress"):
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
            for name in ("iqr", "iqr alone"):
                yield Case(name, law, 1_000, "1", kind, 1.2)
                yield Case(name, law, 10_000, "0.1", kind, 2.2)
                yield Case(name, law, 1_000, "0.1", kind)
        for law, high, low in (("normal", 1.1, 2.5), ("lognormal", 1.5, 4.0)):
            yield Case("mean", law, 10_000, "1", kind, high)
            yield Case("mean", law, 10_000, "0.1", kind, low)
            yield Case("mean", law, 1_000, "1", kind, 1.7 if law == "normal" else None)
            yield Case("mean", law, 1_000, "0.1", kind)
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
    says = f"  clipped mean in {row.heavy:.0%}" if row.heavy else ""
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
