"""Batches of fuzzed inputs: in this process, or in one of their own that may crash without taking the count along.

    python -m tests.support.fuzz_runs PART KEY FIRST NUMBER      runs them again and prints what was found, as JSON

The canaries depend on the key, an input on the key, the part and its number: the same words make the same input.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.support import fuzz_certificate, fuzz_cli, fuzz_data, fuzz_study
from tests.support.fuzz_kit import Canaries, Room, Slow, Trouble, limited, room

One = Callable[[random.Random, Room], list[Trouble]]
PARTS: Final[dict[str, tuple[Callable[[Room], None], One]]] = {
    "study": (fuzz_study.furnish, fuzz_study.one),
    "data": (fuzz_data.furnish, fuzz_data.one),
    "certificate": (fuzz_certificate.furnish, fuzz_certificate.one),
    "cli": (fuzz_cli.furnish, fuzz_cli.one),
    "process": (fuzz_cli.furnish, fuzz_cli.one_apart),
}
MIX: Final = {"study": 500, "certificate": 420, "cli": 60, "data": 18, "process": 2}  # of each thousand inputs
ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """A trouble and the words that make it again."""

    part: str
    key: str
    number: int
    kind: str
    words: str

    def __str__(self) -> str:
        again = f"python -m tests.support.fuzz_runs {self.part} {self.key} {self.number} 1"
        return f"{self.kind}: {self.words}    [{again}]"


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch came to. ``slowest`` is the most CPU of one input, in seconds."""

    part: str
    inputs: int
    seconds: float
    slowest: float
    endings: dict[str, int]
    findings: tuple[Finding, ...]


def batch(part: str, key: str, first: int, number: int, folder: Path | None = None) -> Batch:
    """Inputs ``first`` to ``first + number - 1`` of a part, in this process."""
    furnish, one = PARTS[part]
    found: list[Finding] = []
    slowest, start = 0.0, time.process_time()
    canaries = Canaries.drawn(random.Random(key))
    with tempfile.TemporaryDirectory(dir=folder) as place, room(Path(place) / "room", canaries) as here:
        furnish(here)
        for which in range(first, first + number):
            began = time.process_time()
            try:
                with limited():
                    troubles = one(random.Random(f"{key}/{part}/{which}"), here)
            except Slow:
                troubles = [Trouble("slow", "more CPU than an input may take")]
            slowest = max(slowest, time.process_time() - began)
            found += [Finding(part, key, which, trouble.kind, trouble.words) for trouble in troubles]
    return Batch(part, number, time.process_time() - start, slowest, dict(here.endings), tuple(found))


def apart(part: str, key: str, first: int, number: int) -> Batch:
    """The same in a process of its own; one that dies is a finding."""
    words = [sys.executable, "-m", "tests.support.fuzz_runs", part, key, str(first), str(number)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
        words = f"exit {done.returncode}: {done.stderr[-300:]}".split()
        return Batch(part, number, 0.0, 0.0, {}, (Finding(part, key, first, "crash", " ".join(words)),))
    found = json.loads(done.stdout.splitlines()[0])
    return Batch(**{**found, "findings": tuple(Finding(**one) for one in found["findings"])})


def main() -> None:
    part, key, first, number = sys.argv[1:]
    done = batch(part, key, int(first), int(number))
    print(json.dumps(asdict(done)))
    for finding in done.findings:
        print(finding, file=sys.stderr)
    sys.exit(1 if done.findings else 0)


if __name__ == "__main__":
    main()
