"""Ledgers for tests: short builders, races of processes, and storms of kills.

Writers are forked, so that a round takes milliseconds. Each writer acknowledges a charge by appending its name to a
side file and syncing that file, which is what a release that has reached its reader amounts to.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from reticent.errors import BudgetError
from reticent.ledger import Ledger
from reticent.ledger.account import store_at
from reticent.ledger.claim_file import Source
from reticent.ledger.events import Closed, Committed
from reticent.ledger.fingerprint import SourceWitness
from reticent.ledger.replay import Row
from reticent.ledger.store import Store
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss, PureDP

PERSON = Adjacency("add_remove")
ONE = PureDP(Fraction(1))


def eps(value: int | str) -> PureDP:
    return PureDP(Fraction(value))


def ledger_at(path: Path | str | None, budget: Loss = ONE, adjacency: Adjacency = PERSON) -> Ledger:
    return Ledger.create(path, title="test", adjacency=adjacency, budget=budget)


def charge(ledger: Ledger, loss: Loss = ONE, what: str = "a table") -> str:
    return ledger.reserve(loss, adjacency=PERSON, what=what).id


def forked(work: Callable[[], None]) -> int:
    """Run ``work`` in a child process; its id. The child leaves with 0, or with 1 and a traceback."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException as problem:  # the child must never return into the test runner
        print(f"child: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
    os._exit(status)


def joined(children: list[int]) -> list[int]:
    """Exit codes, negative for a signal."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def stampede(place: Path | str, folder: Path, writers: int, start_after: float = 0.05) -> list[int]:
    """Grants of each of ``writers`` processes that charge 1 until refused, all starting at one moment."""
    start = time.monotonic() + start_after
    tallies = [folder / f"tally-{number}" for number in range(writers)]

    def race(tally: Path) -> None:
        ledger, grants = Ledger.open(place), 0
        time.sleep(max(0.0, start - time.monotonic()))
        try:
            while True:
                charge(ledger)
                grants += 1
        except BudgetError:
            tally.write_text(str(grants))

    codes = joined([forked(lambda tally=tally: race(tally)) for tally in tallies])  # type: ignore[misc]  # mypy: lambda
    assert codes == [0] * writers
    return [int(tally.read_text()) for tally in tallies]


@dataclass(frozen=True, slots=True)
class Damage:
    """What a storm did. ``excess`` counts charges that no one was told of, beyond one for each writer killed."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    over: int = 0
    excess: int = 0
    broken: int = 0

    def __add__(self, other: Damage) -> Damage:
        return Damage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


Writer = Callable[[Path | str, Callable[[str], None]], None]


def honest(place: Path | str, acknowledge: Callable[[str], None]) -> None:
    """Charge for ever; acknowledge what was charged."""
    ledger = Ledger.open(place)
    for token in _tokens():
        charge(ledger, what=token)
        acknowledge(token)


def hasty(place: Path | str, acknowledge: Callable[[str], None]) -> None:
    """The mutant: it acknowledges a charge, then makes it."""
    ledger = Ledger.open(place)
    for token in _tokens():
        acknowledge(token)
        charge(ledger, what=token)


def _tokens() -> Iterator[str]:
    return (f"{os.getpid()}-{time.monotonic_ns()}-{number}" for number in itertools.count())


def storm(
    place: Path | str,
    folder: Path,
    writers: Sequence[int],
    chance: random.Random,
    writer: Writer = honest,
    longest: float = 0.08,
) -> Damage:
    """For each number of ``writers``: start them, kill them all at an unforeseen moment, reopen the one ledger, count.

    Whom they told of a charge is written in ``folder``; each round ends after at most ``longest`` seconds.
    """
    if not store_at(place).found():
        ledger_at(place, eps(10**6))
    acks = folder / "acknowledged"
    total, known = Damage(), 0
    for number in writers:
        children = [forked(lambda: writer(place, _syncing(acks))) for _ in range(number)]
        time.sleep(chance.uniform(0.0, longest))
        for child in children:
            os.kill(child, signal.SIGKILL)
        joined(children)
        said = acks.read_text().split() if acks.exists() else []
        ledger = Ledger.open(place)
        if ledger.verify():
            return total + Damage(kills=number, broken=1)
        kept = {line.what for line in ledger.releases()}
        over = len(kept - set(said)) - known
        known += over
        lost = len(set(said) - kept) - total.lost
        total += Damage(number, len(said) - total.acknowledged, lost, over, max(0, over - number))
    return total


def _syncing(acks: Path) -> Callable[[str], None]:
    descriptor = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def acknowledge(text: str) -> None:
        os.write(descriptor, f"{text}\n".encode())
        os.fsync(descriptor)

    return acknowledge


def rows_at(place: Path | str) -> list[Row]:
    """Every row of a store, as it lies there."""
    with store_at(place).reading() as view:
        return list(view.rows(1))


def store_of(ledger: Ledger) -> Store:
    """The store below a handle, for tests that tamper with it."""
    return ledger._book.kept


def note_head(source: Source, ledger: Ledger) -> None:
    """What the claims of ``source`` are told of after a charge."""
    SourceWitness(source)(ledger.known.opening.identity, Closed(""), lambda: ledger.head)


def note_release(source: Source, ledger: Ledger, release: str) -> None:
    """What the claims of ``source`` are told of after a release."""
    SourceWitness(source)(ledger.known.opening.identity, Committed(release, ""), lambda: ledger.head)
