"""The numbers of a release are read once, at the door: a trace of one warm release of one mean."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pytest

import reticent as rt
from reticent.ledger import events
from reticent.privacy import cost, loss, numbers
from tests.support.cli_kit import run

READ: Final = numbers.read.__code__
DOOR: Final = cost.Cost.read.__func__.__code__  # type: ignore[attr-defined]  # a class method has its function
STORED: Final = loss.from_json.__code__  # the one reader of losses from stored text
EARLIER: Final = 1  # releases in the ledger before the one that is traced

# After the door text is read where it was stored, and nowhere else. Each loss has an epsilon and a delta:
LEDGER: Final = 2 * (1 + 2 * EARLIER)  # the budget, and for each earlier release its charge and the sum; once
ENTRY: Final = 2 * 2  # the entry of this release, read back before it is written: charge and sum
CERTIFICATE: Final = 2 * (3 + 4)  # three nodes of the proof; charged, approved, spent, left: checked as it is made


def traced(work: Callable[[], object]) -> tuple[Counter[CodeType], Counter[str]]:
    """Calls after the door by code, with those of the door itself, and who asked for a number to be read there."""
    calls: Counter[CodeType] = Counter()
    readers: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        if frame.f_code is DOOR or (calls[DOOR] and not through_door(frame)):
            calls[frame.f_code] += 1
            if frame.f_code is READ:
                readers[place(frame)] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls, readers


def through_door(frame: FrameType) -> bool:
    above: FrameType | None = frame
    while above is not None:
        if above.f_code is DOOR:
            return True
        above = above.f_back
    return False


def place(frame: FrameType) -> str:
    """The reader of a stored loss: ledger or certificate; else the name of the caller."""
    above = frame.f_back
    assert above is not None
    if above.f_code is not STORED:
        return above.f_code.co_qualname
    while above is not None:
        if above.f_code is events.parse.__code__:
            return "ledger"
        if above.f_code.co_name == "_stated":
            return "certificate"
        above = above.f_back
    return "a stored loss elsewhere"


def visits(folder: Path) -> Path:
    (folder / "visits.csv").write_text("age\n" + "".join(f"{20 + place % 50}\n" for place in range(400)))
    file = folder / "study.toml"
    file.write_text(
        '[study]\nsource = "visits.csv"\nledger = "visits.ledger"\n'
        '[person]\nadjacency = "add_remove"\nrows = "one_each"\n'
        '[budget]\nepsilon = "3"\n[columns.age]\nkind = "real"\nlow = 0\nhigh = 100\ncomplete = true\nmissing = 0\n'
        '[[release]]\nname = "one"\nask = ["mean(age)"]\nepsilon = "0.5"\n'
    )
    return file


def by_command(file: Path) -> None:
    assert run("release", str(file), "--release", "one", "--force").code == 0


def by_python(file: Path) -> None:
    rt.open(file).release([rt.mean("age")], epsilon="0.5")


@pytest.mark.parametrize("release", [by_command, by_python])
def test_the_numbers_of_a_release_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Callable[[Path], None]
) -> None:
    """Before ``Cost`` 107 readings and 3 checks of epsilon: a reading of text counted twice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = visits(tmp_path)
    release(file)
    calls, readers = traced(lambda: release(file))
    assert calls[DOOR] == 1
    assert readers.keys() <= {"ledger", "certificate"}
    assert readers["ledger"] <= LEDGER + ENTRY
    assert readers["certificate"] <= CERTIFICATE
    assert calls[cost.refuse_weak.__code__] == 1  # of the derived loss, which may be more than what was asked
    assert calls[cost.refuse_exposure.__code__] == 1  # of the derived delta, which is 0
