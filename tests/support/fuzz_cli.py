"""Command lines that no one should type: every verb, with options of any verb, files of any kind, and odd words."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import reticent as rt
from reticent.certificate.keys import make_keys
from tests.support.fuzz_bytes import odd_number, odd_text
from tests.support.fuzz_kit import Ran, Room, Trouble, balance, run_here
from tests.support.fuzz_study import ASKS, BASE, question, rows_csv

VERBS: Final = (
    ("init",), ("check",), ("plan",), ("rehearse",), ("release",), ("release",), ("release",), ("explain",),
    ("verify",), ("ledger", "show"), ("ledger", "verify"), ("ledger", "export"), ("ledger", "close"),
    ("ledger", "amend"), ("ledger", "adopt"), ("demo",), (),
)  # fmt: skip
NAMES: Final = frozenset(words[0] for words in VERBS if words)
FLAGS: Final = (
    "--json", "--yes", "--force", "--same-people", "--proof", "--checklist", "--allow-unsigned", "--help", "-h",
    "--version", "--", "-", "--nonsense", "--epsilo",
)  # fmt: skip
OPTIONS: Final = (
    "--ask", "--ask", "--epsilon", "--epsilon", "--delta", "--rho", "--release", "--people", "--want", "--out",
    "--key", "--purpose", "--who", "--override", "--ledger", "--reason", "--head", "--prior",
)  # fmt: skip
FILES: Final = (
    "study.toml", "study.toml", "study.toml", "c.json", "rows.csv", "rows.ledger", "rows.parquet", "officer.pub",
    "officer.key", "none.toml", "none.json", "none.csv", ".", "empty.toml", "other.toml", "no/where.toml", "*.csv",
    "rows.csv.reticent",
)  # fmt: skip
SPENDS: Final = (b'"verb": "release"', b"guarantee  ")


def furnish(room: Room) -> None:
    """A folder with one file of each kind."""
    (room.work / "rows.csv").write_text(rows_csv(room.canaries))
    (room.work / "study.toml").write_text(BASE)
    (room.work / "other.toml").write_text(BASE.replace("rows.ledger", "other.ledger").replace("rows.csv", "other.csv"))
    (room.work / "other.csv").write_text(rows_csv(room.canaries))
    (room.work / "empty.toml").write_text("")
    (room.work / "rows.parquet").write_bytes(b"PAR1not a tablePAR1")
    private, _ = make_keys(room.work / "officer")
    made = rt.open(room.work / "study.toml").release(
        ["count", "mean(age)"], epsilon="0.1", record=rt.Record(key=private)
    )
    (room.work / "c.json").write_text(made.certificate.to_json())
    room.keep()


def one(chance: random.Random, room: Room) -> list[Trouble]:
    """One command line in this process."""
    return judged(command(chance), room, run_here)


def one_apart(chance: random.Random, room: Room) -> list[Trouble]:
    """One command line in a process of its own."""
    return judged(command(chance), room, run_apart)


def run_apart(words: list[str]) -> Ran:
    line = [word.encode("utf-8", "surrogateescape") for word in (sys.executable, "-m", "reticent", *words)]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
    return Ran(tuple(words), done.returncode, done.stdout, done.stderr)


def judged(words: list[str], room: Room, run: Any) -> list[Trouble]:
    """Run a command line; its ending, its bytes and the books."""
    ledgers = [file for file in room.work.rglob("*.ledger") if file.is_file()]
    before = {file: balance(file) for file in ledgers}
    ran: Ran = run(words)
    found = ran.troubles()
    room.endings[f"{words[0] if words[:1] and words[0] in NAMES else 'other'} {ran.code}"] += 1
    after = {file: balance(file) for file in room.work.rglob("*") if _is_ledger(file)}
    moved = any(spent != before.get(file) for file, spent in after.items() if spent is not None and _positive(spent))
    answered = words[:1] == ["release"] and ran.code in (0, 3) and any(mark in ran.out for mark in SPENDS)
    shown = " ".join(words)[:300]
    if answered and not moved:
        found.append(Trouble("charge", f"answers without a debit: {shown}"))
    if moved and ran.code in (2, 4, 5):
        found.append(Trouble("charge", f"a refusal that was charged: {shown}"))
    sources = [room.work / "rows.csv", room.work / "other.csv"]
    found += room.swept(ran.said, *sources)
    if ran.code == 0 and words[:2] in (["ledger", "close"], ["ledger", "adopt"], ["ledger", "amend"]):
        _again(room)  # a closed ledger would refuse everything from here on
    return found


def _again(room: Room) -> None:
    for file in room.files():
        if file.suffix in (".ledger", ".reticent"):
            file.unlink()
    for name in ("study.toml", "other.toml"):
        rt.open(room.work / name).release(["count"], epsilon="0.01")


def _is_ledger(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".") and file.read_bytes()[:15] == b"SQLite format 3"


def _positive(spent: Any) -> bool:
    return bool(getattr(spent, "epsilon", 0) or getattr(spent, "rho", 0))


def command(chance: random.Random) -> list[str]:
    """A command line: sound, nearly sound, or a heap of words."""
    way = chance.random()
    if way < 0.12:
        return [_word(chance) for _ in range(chance.randrange(6))]
    verb = list(chance.choice(VERBS[:-2]) if chance.random() < 0.97 else chance.choice(VERBS))
    if verb == ["demo"] and chance.random() < 0.95:
        return ["demo", "--out", chance.choice([".", "rows.csv", "no/where/x", "--json"])]
    if way < 0.5:
        return verb + _sound(verb, chance)
    words = [_file(chance)] if chance.random() < 0.9 else []
    for _ in range(chance.randrange(4)):
        words += [chance.choice(FLAGS)] if chance.random() < 0.35 else _option(chance)
    chance.shuffle(words) if chance.random() < 0.2 else None
    return [word.replace("\0", "") for word in verb + words]


def _sound(verb: list[str], chance: random.Random) -> list[str]:
    """Words that fit the verb, each value now and then odd."""
    study, json = ["study.toml" if chance.random() < 0.9 else _file(chance)], ["--json"] * (chance.random() < 0.3)
    ask = ["--ask", chance.choice(ASKS) if chance.random() < 0.7 else question(chance).replace("\0", "")]
    epsilon = ["--epsilon", chance.choice(["0.01", "0.1", odd_number(chance)])]
    match verb:
        case ["init"]:
            return [
                *chance.choice(
                    [["rows.csv", "--out", "new.toml"], ["--key", "new"], ["rows.parquet"], [_file(chance)]]
                ),
                *json,
            ]
        case ["plan"]:
            more = chance.choice([[], ["--want", f"{ask[1]}={odd_number(chance)}"], ["--people", odd_number(chance)]])
            return [*study, *ask, *epsilon, *more, *json]
        case ["rehearse"]:
            return [*study, *ask, *epsilon, "--people", chance.choice(["10", "1", "0", "x"]), *json]
        case ["release"]:
            more = chance.choice(
                [[], [], _option(chance), ["--key", "officer.key"], ["--rho", "1/1000"], ["--delta", "1e-9"]]
            )
            return [*study, *ask, *epsilon, "--out", chance.choice(["o", "o", "o", "o", "c", "x/y"]), *more, *json]
        case ["explain"]:
            return [
                chance.choice(["c.json", "c.json", "epsilon", "no-reply", odd_text(chance).replace("\0", "")]),
                *_flags(chance),
                *json,
            ]
        case ["verify"]:
            return [
                "c.json",
                *chance.choice([["--key", _file(chance)], ["--ledger", _file(chance)], ["--allow-unsigned"]]),
                *json,
            ]
        case ["ledger", "close" | "amend" | "adopt"]:
            return [*study, "--reason", odd_text(chance).replace("\0", ""), *json]
        case _:
            return [*study, *json]


def _flags(chance: random.Random) -> list[str]:
    return chance.choice([[], ["--proof"], ["--checklist"], ["--prior", odd_number(chance)], ["--prior", "0.5"]])


def _option(chance: random.Random) -> list[str]:
    name, other = chance.choice(OPTIONS), _word(chance)
    return [f"{name}={other}"] if chance.random() < 0.3 else [name, other]


def _word(chance: random.Random) -> str:
    ways: tuple[Callable[[random.Random], str], ...] = (odd_text, odd_number, question, _file, _flag, _any_verb)
    made = chance.choice(ways)(chance)
    return made.replace("\0", "") + ("\udcff" if chance.random() < 0.03 else "")


def _flag(chance: random.Random) -> str:
    return chance.choice((*FLAGS, *OPTIONS))


def _any_verb(chance: random.Random) -> str:
    return chance.choice(
        ["check", "plan", "release", "ledger", "show", "verify", "explain", "init", "frob", "rehearse"]
    )


def _file(chance: random.Random) -> str:
    return chance.choice(FILES)
