"""Certificates that nobody issued: of releases, a model, a session; values replaced, fields doubled, bytes spoiled."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.keys import load_private, make_keys
from reticent.errors import CheckError
from reticent.learning import Level, LinearRegression
from tests.support.fuzz_bytes import TEXTS, odd_number, odd_text, spoiled
from tests.support.fuzz_kit import Room, Trouble, run_here, shown, tried
from tests.support.fuzz_study import BASE, rows_csv

COMMANDS: Final = (
    "explain --proof --checklist",
    "explain --json",
    "verify --allow-unsigned",
    "verify --key officer.pub",
    "verify --json --ledger rows.ledger",
)
QUESTIONS: Final = (
    ["count"],
    ["mean(age)", "persons by town"],
    ["median(cost)", "sum(cost)"],
    ["histogram(age, edges=0:100:50)"],
)
ZCDP: Final = (
    BASE.replace('epsilon = "1000"', 'rho = "100"').replace("rows.ledger", "rho.ledger").replace("rows.csv", "rho.csv")
)


def furnish(room: Room) -> None:
    """Signed certificates of a few releases, their ledgers and the officer's key."""
    for source in ("rows.csv", "rho.csv"):
        (room.work / source).write_text(rows_csv(room.canaries))
    (room.work / "study.toml").write_text(BASE)
    (room.work / "rho.toml").write_text(ZCDP)
    private, _ = make_keys(room.work / "officer")
    number = 0
    for study in (rt.open(room.work / "study.toml"), rt.open(room.work / "rho.toml")):
        for ask in QUESTIONS:
            made = study.release(ask, epsilon="0.1", record=rt.Record(key=None if number % 4 == 3 else private))
            (room.work / f"c{number}.json").write_text(made.certificate.to_json())
            number += 1
    for certificate in _of_others(rt.open(room.work / "study.toml")):
        (room.work / f"c{number}.json").write_text(certificate.sign(load_private(private)).to_json())
        number += 1
    room.keep()


def _of_others(study: rt.Study) -> tuple[Certificate, Certificate]:
    """Of a model and of a session, charged to the first study's ledger."""
    model = LinearRegression(epsilon="0.1").fit(*study.xy(["age"], "cost"))
    with study.sparse_vector(["age", "cost"], epsilon="0.1", positives=3, of="counts") as session:
        session.above(Level("age"), 5)
        session.above(Level("cost"), 5)
    return model.certificate_, session.certificate


def one(chance: random.Random, room: Room) -> list[Trouble]:
    """One certificate: read, and if that works shown, explained and verified; now and then by the command line."""
    number = chance.randrange(2 * len(QUESTIONS) + 2)
    whole = (room.work / f"c{number}.json").read_text()
    text = changed(whole, chance)
    file = room.work / "fuzzed.json"
    file.write_bytes(text)
    as_text = chance.random() < 0.5 and text.lstrip().startswith(b"{")
    source = text.decode("utf-8", "replace") if as_text else file
    read = tried(lambda: rt.read_certificate(source), "read")
    said, found = [read.said], list(read.troubles)
    room.endings[f"read {read.name}"] += 1
    if read.ending is not None and not isinstance(read.ending, CheckError):
        found.append(Trouble("code", f"read: {read.ending!r}"))
    if read.value is not None:
        found += _used(read.value, whole, number, chance, room, said)
    if chance.random() < 0.06:
        verb = chance.choice(COMMANDS).split()
        ran = run_here([*verb, "fuzzed.json"])
        said.append(ran.said)
        found += ran.troubles()
    return found + room.swept(b"\n".join(said), room.work / "rows.csv", room.work / "rho.csv")


def _used(
    read: Certificate, whole: str, number: int, chance: random.Random, room: Room, said: list[bytes]
) -> list[Trouble]:
    """Every use of a certificate that was readable; a changed one must not verify."""
    ledger, key = (
        room.work / ("rho.ledger" if number // len(QUESTIONS) == 1 else "rows.ledger"),
        room.work / "officer.pub",
    )
    calls: dict[str, Any] = {
        "explain": lambda: read.explain(prior=chance.choice([0.0, 0.1, 1.0])),
        "proof": read.proof,
        "checklist": read.checklist,
        "registry": lambda: read.to_registry(chance.choice([1, 2, 3])),
        "verify": lambda: read.verify(allow_unsigned=True),
        "again": lambda: rt.read_certificate(read.to_json()).digest == read.digest,
    }
    if chance.random() < 0.04:
        calls["save"] = lambda: _saved(read, room.work / "saved")
    found: list[Trouble] = []
    for name, call in calls.items():
        done = tried(call, name)
        said += [done.said, str(done.value).encode(errors="backslashreplace")]
        found += done.troubles
        if name == "again" and done.value is False:
            found.append(Trouble("believed", "written and read again, it is another certificate"))
    said.append(shown(read))
    if chance.random() < 0.15:
        checked = tried(lambda: read.verify(ledger, key), "verify with ledger and key")
        found += checked.troubles
        same = read.canonical == rt.read_certificate(whole).canonical
        if checked.value is not None and checked.value.ok and not same:
            found.append(Trouble("believed", "a changed certificate verifies"))
    return found


def _saved(read: Certificate, stem: Path) -> object:
    from reticent.study.release_files import FILES, save

    return save(read, stem, FILES)


# --- changes ----------------------------------------------------------------------------------------------------------


def changed(whole: str, chance: random.Random) -> bytes:
    """A certificate with values changed (most), texts changed, or bytes spoiled."""
    way = chance.random()
    if way < 0.15:
        return spoiled(whole.encode(), chance)
    document = json.loads(whole)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        _change(document, chance)
    text = json.dumps(document, indent=chance.choice([None, 2]), ensure_ascii=chance.random() < 0.5)
    for mark, raw in _RAW.items():
        text = text.replace(f'"{mark}"', raw(chance))
    if way < 0.25:
        text = _doubled(text, chance)
    return text.encode("utf-8", "surrogatepass")


_RAW: Final[dict[str, Any]] = {
    "@number": lambda chance: odd_number(chance) or "0",
    "@deep": lambda chance: "[" * (depth := chance.choice([70, 900, 20_000])) + "]" * depth,
    "@dict": lambda chance: '{"a":' * (depth := chance.choice([70, 900, 20_000])) + "1" + "}" * depth,
    "@nan": lambda chance: chance.choice(["NaN", "Infinity", "-Infinity", "1e400", "-0", "1E5", "0.1e1"]),
    "@escape": lambda chance: chance.choice(['"\\ud800"', '"\\u0000"', '"\\udc00\\ud800"', '"\\x"', '"\\u00e9"']),
}


def _change(document: Any, chance: random.Random) -> None:
    """Go down to some value and replace, remove, move or double it."""
    holder = document
    while True:
        if not holder:
            return
        key: Any = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if not isinstance(holder[key], dict | list) or chance.random() < 0.25:
            break
        holder = holder[key]
    match chance.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[odd_text(chance)] = holder[key]
        case 2 if isinstance(holder, list):
            holder.extend([holder[key]] * chance.choice([1, 2, 200]))
        case 3 if isinstance(holder[key], str):
            holder[key] = spoiled(holder[key].encode(), chance, 1).decode("utf-8", "replace")
        case 4 if isinstance(holder[key], str):
            holder[key] = odd_number(chance)
        case 5 if isinstance(holder, dict) and "parts" in holder:
            inner = json.loads(json.dumps(holder))
            for _ in range(chance.choice([1, 63, 70, 300])):
                inner = {**inner, "parts": [inner]}
            holder.update(parts=[inner])
        case _:
            holder[key] = chance.choice(
                [*_RAW, None, True, 0, -1, 1, 2**63, 0.5, [], {}, [[]], "local", "substitute", *TEXTS]
            )


def _doubled(text: str, chance: random.Random) -> str:
    """A field given twice, or text around the object."""
    match chance.randrange(4):
        case 0:
            return text.replace("{", '{"version": 1, "version": 1, ', 1)
        case 1:
            return text.replace('"format"', '"release": "r-9999", "format"', 1)
        case 2:
            return chance.choice(["\ufeff", " ", "//x\n", "[", "\x00"]) + text
        case _:
            return text + chance.choice([" ", "{}", "x", "]", "\x00", text])
