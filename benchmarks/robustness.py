"""What the ledger and the readers of files take: kills, races, power cuts, failing disks, changed bytes, fuzzed inputs.

    python benchmarks/robustness.py [--rounds 1] [--only storm,fuzz] [--state build/robustness.json] [--again]

Each round adds to the figures of the rounds before it, which stand in the state file; a round goes on with other
kills, limits, places and inputs than any before. ``--again`` forgets them. The target of every figure called bad is 0.
Where strace is missing, what needs it is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reticent.ledger import Ledger  # noqa: E402
from reticent.privacy.loss import PureDP  # noqa: E402
from tests.support.fuzz_faults import (  # noqa: E402
    ERRORS,
    Harm,
    call_fails,
    calls_of,
    limited_files,
    release_fails,
    tampering,
)
from tests.support.fuzz_runs import MIX, apart  # noqa: E402
from tests.support.ledger_kit import Damage, eps, ledger_at, stampede, storm  # noqa: E402
from tests.support.ledger_power import can_trace, survivors, traced  # noqa: E402

Figures = dict[str, float]
INPUTS = 100  # fuzzed inputs of one round


def storms(folder: Path, number: int) -> Figures:
    """Ten kills of 1 to 8 writers each."""
    chance = random.Random(f"storm {number}")
    seen: Damage = storm(folder / "rand.ledger", folder, [chance.randint(1, 8) for _ in range(10)], chance)
    found = asdict(seen)
    return {"storms": 10, **found, "bad": seen.lost + seen.excess + seen.broken}


def stampedes(folder: Path, number: int) -> Figures:
    """Sixteen processes, a budget of twenty."""
    file = folder / "rand.ledger"
    ledger_at(file, eps(20))
    granted = sum(stampede(file, folder, writers=16))
    ledger = Ledger.open(file)
    bad = int(granted != 20 or ledger.spent() != PureDP(Fraction(20)) or ledger.verify() != ())
    return {"races": 1, "granted": granted, "bad": bad}


def power(folder: Path, number: int) -> Figures:
    """Every disk that a power cut may leave of a traced writer, subsets and torn writes included."""
    if not can_trace():
        return {"left out": 1}
    (folder / "work").mkdir()
    calls = traced(folder / "work" / "rand.ledger", charges=2, beside=number % 2)
    tried, lost, unreadable = survivors(calls, folder / "image", random.Random(f"power {number}"), most=8)
    return {"disks": tried, "lost": lost, "unreadable": unreadable, "bad": lost + unreadable}


def calls(folder: Path, number: int) -> Figures:
    """Eight system calls of a writer that fail."""
    if not can_trace():
        return {"left out": 1}
    every = [(call, place, error) for error in ERRORS for call, place in calls_of(folder / "a")]
    random.Random("the one order in which they come").shuffle(every)
    first = 8 * number % len(every)
    return _harm([call_fails(folder / "b", *point) for point in (every + every)[first : first + 8]])


def short(folder: Path, number: int) -> Figures:
    """Ten limits on the size of files."""
    return _harm([limited_files(folder / "a", 200 + 5003 * (10 * number + turn) % 48_000) for turn in range(10)])


def steps(folder: Path, number: int) -> Figures:
    """Four steps of a whole release that fail, before or after they were done."""
    _, most = release_fails(folder / "a", 0, after=False)
    places = [(4 * number + turn) * 37 % (2 * most) for turn in range(4)]
    return _harm([release_fails(folder / "a", place // 2 + 1, after=bool(place % 2))[0] for place in places])


def tamper(folder: Path, number: int) -> Figures:
    """A hundred changed ledgers."""
    found = tampering(folder / "a", random.Random(f"tamper {number}"), 100)
    return {**found, "bad": found["missed"] + found["untyped"]}


def fuzz(folder: Path, number: int) -> Figures:
    """Fuzzed study files, certificates, command lines and tables, each kind in a process of its own."""
    found: Figures = {"bad": 0}
    for part, share in MIX.items():
        size = -(-INPUTS * share // 1000)
        done = apart(part, "robustness", number * size, size)
        found[part] = done.inputs
        found["cpu seconds"] = found.get("cpu seconds", 0) + done.seconds
        found["bad"] += len(done.findings)
        for finding in done.findings:
            print(f"  {finding}")
    return found


def _harm(seen: list[Harm]) -> Figures:
    total = sum(seen, Harm())
    return {**asdict(total), "bad": total.bad}


KINDS: dict[str, Callable[[Path, int], Figures]] = {
    "storm": storms,
    "stampede": stampedes,
    "power": power,
    "calls": calls,
    "short": short,
    "steps": steps,
    "tamper": tamper,
    "fuzz": fuzz,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--only", default=",".join(KINDS))
    options.add_argument("--state", type=Path, default=ROOT / "build" / "robustness.json")
    options.add_argument("--again", action="store_true")
    chosen = options.parse_args()
    state: dict[str, Figures] = {}
    if chosen.state.exists() and not chosen.again:
        state = json.loads(chosen.state.read_text())
    for _ in range(chosen.rounds):
        for kind in chosen.only.split(","):
            figures = state.setdefault(kind, {"rounds": 0, "seconds": 0.0})
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                found = KINDS[kind](Path(folder), int(figures["rounds"]))
            for name, value in {"rounds": 1, "seconds": time.monotonic() - start, **found}.items():
                figures[name] = figures.get(name, 0) + value
            _write(chosen.state, state)
    for kind, figures in state.items():
        told = " · ".join(f"{name} {value:,.0f}" for name, value in figures.items() if name != "bad")
        print(f"{kind:<9} {told} · bad {figures.get('bad', 0):,.0f} (target 0)")
    sys.exit(1 if any(figures.get("bad") for figures in state.values()) else 0)


def _write(file: Path, state: dict[str, Figures]) -> None:
    """All at once, so that a stop between two rounds loses neither."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(state, indent=2) + "\n")
    draft.replace(file)


if __name__ == "__main__":
    main()
