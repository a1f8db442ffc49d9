"""Time of a ledger by its length: opening it in a new process, a release of a warm study, connections of one.

    python -m benchmarks.ledger                      the table of docs/reference/benchmarks-ledger.md
    python -m benchmarks.ledger --entries 10 2000    other lengths

Long ledgers are made in memory by the same code that charges, then written to a file in one transaction. Each
figure is the median of several tries, and the tries of all lengths take turns, so that a busy moment of the machine is
shared by all.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Final

import reticent as rt
from reticent.ledger import Ledger, sqlite_store, store
from reticent.ledger.claim_file import fingerprint
from reticent.ledger.fingerprint import claim
from reticent.ledger.replay import Row
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

ENTRIES: Final = (10, 2_000, 100_000)
OPENINGS: Final = 7
RELEASES: Final = 25
STUDY: Final = """
[study]
title = "bench"
source = "rows.csv"
ledger = "rows.ledger"

[person]
column = "pid"
adjacency = "add_remove"
rows = { at_most = 1 }

[budget]
epsilon = "1000"
override = "a benchmark"

[columns.age]
kind = "integer"
low = 0
high = 120
"""
OPEN: Final = """
import sys, time
from reticent.ledger import Ledger
from reticent.ledger.account import store_at
import reticent.ledger.sqlite_store, sqlite3
start = time.process_time()
Ledger.open(sys.argv[1]).spent()
print(time.process_time() - start)
"""


def long_ledger(folder: Path, entries: int) -> None:
    """A study of twenty rows in ``folder`` whose ledger has about that many entries: charges, each one settled."""
    (folder / "rows.csv").write_text("pid,age\n" + "".join(f"{n},{n}\n" for n in range(20)))
    (folder / "study.toml").write_text(STUDY)
    source = folder / "rows.csv"
    person = Adjacency("add_remove")
    made = Ledger.create(
        None,
        title="bench",
        adjacency=person,
        budget=PureDP(Fraction(1000)),
        person="pid",
        source=fingerprint(source, ["age", "pid"]),
    )
    while made.known.number < entries:
        receipt = made.reserve(PureDP(Fraction(1, 1000)), adjacency=person, what="count")
        made.commit(receipt, digest="0" * 64)
    rows = tuple(Row(entry.number, entry.body, entry.digest) for entry in made.entries())
    place = sqlite_store.SqliteStore("rows.ledger", folder / "rows.ledger")
    assert place.build(rows[0])
    with contextlib.closing(sqlite3.connect(place.file)) as connection:
        sqlite_store.extract(connection).add(store.Addition(rows[1:]))
        connection.commit()
    claim(source, ["age", "pid"], Ledger.open(place.file))


def opening(folder: Path) -> float:
    """CPU seconds from opening to the total, in a process that did nothing else before."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(folder / "rows.ledger")], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


@contextlib.contextmanager
def connections() -> Iterator[list[int]]:
    """How many connections SQLite is asked for while this is open."""
    connect, counted = sqlite3.connect, [0]

    def counting(*words: object, **named: object) -> sqlite3.Connection:
        counted[0] += 1
        return connect(*words, **named)  # type: ignore[call-overload, no-any-return]  # as they came

    sqlite3.connect = counting  # type: ignore[assignment]
    try:
        yield counted
    finally:
        sqlite3.connect = connect


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians for one length: CPU seconds to open, CPU and wall seconds of a release, connections of a release."""

    opening: float
    release: float
    wall: float
    connections: int


def measured(folders: Sequence[Path]) -> list[Measured]:
    """The medians for each folder."""
    opened = [[opening(folder) for folder in folders] for _ in range(OPENINGS)]
    studies = [rt.open(folder / "study.toml") for folder in folders]
    for study in studies:
        study.release(["count"], epsilon="0.001")
    released, walls, counts = [], [], [0] * len(folders)
    for _ in range(RELEASES):
        turn, wall = [], []
        for place, study in enumerate(studies):
            with connections() as counted:
                start, begun = time.process_time(), time.perf_counter()
                study.release(["count"], epsilon="0.001")
                turn.append(time.process_time() - start)
                wall.append(time.perf_counter() - begun)
            counts[place] = max(counts[place], counted[0])
        released.append(turn)
        walls.append(wall)
    columns = zip(zip(*opened, strict=True), zip(*released, strict=True), zip(*walls, strict=True), counts, strict=True)
    return [Measured(median(o), median(r), median(w), count) for o, r, w, count in columns]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, nargs="+", default=ENTRIES)
    sizes = parser.parse_args().entries
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = str(Path(name) / "state")
        folders = [Path(name) / str(size) for size in sizes]
        for folder, size in zip(folders, sizes, strict=True):
            folder.mkdir()
            long_ledger(folder, size)
        print("| entries | opening, CPU ms | release, CPU ms | against the first | release, ms | connections |")
        print("|---|---|---|---|---|---|")
        found = measured(folders)
        for size, one in zip(sizes, found, strict=True):
            ratio = one.release / found[0].release
            times = f"{1e3 * one.opening:.1f} | {1e3 * one.release:.1f} | {ratio:.2f} | {1e3 * one.wall:.0f}"
            print(f"| {size:,} | {times} | {one.connections} |")


if __name__ == "__main__":
    main()
