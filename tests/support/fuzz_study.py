"""Study files that no one should write: by a grammar, by spoiled tokens and lines, by spoiled bytes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import reticent as rt
from tests.support.fuzz_bytes import odd_number, odd_text, spoiled
from tests.support.fuzz_kit import GOING_ON, Canaries, Room, Trouble, balance, released, run_here, shown, tried

BASE: Final = """
[study]
title = "clinic"
source = "rows.csv"
ledger = "rows.ledger"

[person]
column = "pid"
rows = { at_most = 3 }
adjacency = "add_remove"

[budget]
epsilon = "1000"
override = "a test"
approved = "board"

[columns.age]
kind = "integer"
low = 0
high = 100

[columns.cost]
kind = "real"
low = 0
high = 1000.5
missing = 3

[columns.town]
kind = "category"
among = ["a", "b"]
constant = true

[[release]]
name = "table 4"
epsilon = "0.1"
ask = ["count", "mean(age)", "persons by town"]

[[release]]
name = "tail"
epsilon = "0.1"
ask = ["quantile(cost, 0.99)", "sum(cost)"]
"""
ASKS: Final = (
    "count", "persons", "capped", "mean(age)", "sum(cost)", "median(age)", "quantile(cost, 0.9)",
    "quantiles(age, 0.1 0.5)", "histogram(age, edges=0:100:10)", "proportion(town, value=a)", "variance(age)",
    "sd(cost)", "iqr(age)", "mean(cost) by town", "count by town", "mean(age, per=person)",
    "median(cost, low=0, high=10)", "sum(age, epsilon=0.01)",
)  # fmt: skip


def rows_csv(canaries: Canaries, people: int = 24) -> str:
    """A table with a canary in every kind of cell."""
    lines = ["pid,age,cost,town,note"]
    for number in range(people):
        age = str(canaries.numbers[number % 3]) if number % 7 == 0 else str(number % 90)
        cost = f"{canaries.numbers[3 + number % 3]}.5" if number % 5 == 0 else f"{number}.25"
        town = canaries.words[1] if number % 9 == 0 else "ab"[number % 2]
        pid = canaries.words[0] if number == 3 else f"{canaries.words[2]}{number}"
        lines.append(f"{pid},{age},{cost},{town},{canaries.words[3]}")
    return "\n".join(lines) + "\n"


def furnish(room: Room) -> None:
    """The private table beside a sound study of it."""
    (room.work / "rows.csv").write_text(rows_csv(room.canaries))
    (room.work / "study.toml").write_text(BASE)
    room.keep()


def one(chance: random.Random, room: Room) -> list[Trouble]:
    """One study file: opened, shown, pickled, planned; sometimes checked, rehearsed, released."""
    file, rows = room.work / "study.toml", room.work / "rows.csv"
    file.write_bytes(study_bytes(chance))
    opened = tried(lambda: rt.open(file), "open")
    said, found = [opened.said], list(opened.troubles)
    room.endings[f"open {opened.name}"] += 1
    if opened.value is not None:
        study: rt.Study = opened.value
        said.append(shown(study, study.schema, study.spec))
        for item in study.spec.releases[:3]:
            for call in _uses(chance, study, item.ask, str(item.epsilon or "0.1"), dict(item.want) or None):
                done = tried(call, f"plan or rehearse {list(item.ask)}"[:200])
                room.endings[f"plan {done.name}"] += 1
                said += [done.said, shown(done.value)] if done.value is not None else [done.said]
                found += done.troubles
        if chance.random() < 0.05 and _inside(study, room.work):
            made = released(study, [chance.choice(ASKS)], "0.01")
            room.endings[f"release {made.name}"] += 1
            said += [made.said, shown(made.value, *made.value.answers) if made.value is not None else b""]
            found += made.troubles
    if chance.random() < 0.1:
        ran = run_here([*chance.choice([["check"], ["plan", "--release", "tail"]]), "study.toml"])
        said.append(ran.said)
        found += ran.troubles()
    found += room.swept(b"\n".join(said), rows)
    for left in room.files():  # a ledger on the terms of this study would refuse most of those to come
        if left.name.endswith(GOING_ON):
            left.unlink()
    return found


def _uses(chance: random.Random, study: rt.Study, ask, epsilon: str, want):  # type: ignore[no-untyped-def]
    yield lambda: study.plan(list(ask), epsilon=epsilon, want=want)
    if chance.random() < 0.03:
        yield lambda: study.rehearse(list(ask), epsilon=epsilon, people=50)


def _inside(study: rt.Study, folder: Path) -> bool:
    """Whether a release would touch nothing but this folder; a study may name any path."""
    places = (study.spec.source, study.spec.ledger or "")
    inside = all(len(place) < 200 and "\0" not in place and Path(place).parent == folder for place in places)
    return inside and Path(places[0]).name == "rows.csv" and _sound(Path(places[1]))


def _sound(ledger: Path) -> bool:
    return ledger.suffix == ".ledger" and tried(lambda: balance(ledger), "ledger").ending is None


def study_bytes(chance: random.Random) -> bytes:
    """One file: a third by the grammar, a third with odd values or lines, a third with spoiled bytes."""
    way = chance.random()
    if way < 0.35:
        return grammar(chance).encode("utf-8", "surrogatepass")
    lines = BASE.split("\n")
    for _ in range(chance.choice([1, 1, 1, 3])):
        _change(lines, chance)
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return text if way < 0.75 else spoiled(text, chance)


def _change(lines: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            lines.insert(at, chance.choice(lines))
        case 1 if len(lines) > 1:
            del lines[at]
        case 2:
            lines.insert(at, f"{_key(chance)} = {value(chance)}")
        case 3:
            lines.insert(at, chance.choice(["[", "[["]) + _key(chance) + chance.choice(["]", "]]"]))
        case _:
            name, mark, _ = lines[at].partition(" = ")
            if mark:
                lines[at] = f"{name} = {value(chance)}"


def _key(chance: random.Random) -> str:
    names = [
        "study", "person", "budget", "columns", "columns.age", "release", "title", "source", "epsilon", "delta",
        "rho", "rows", "people", "low", "high", "kind", "among", "ask", "want", "ends", "missing", "resolution",
        "constant", "delimiter", "override", "synthesize", "why", "a.b.c", "want.'mean(age)'", '""', "columns.''",
        "1", "ledger", "adjacency", "decimal", "thousands", "encoding", "na", "complete",
    ]  # fmt: skip
    return chance.choice(names) if chance.random() < 0.85 else f'"{_quoted(odd_text(chance))}"'


def _quoted(text: str) -> str:
    return (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\0", "\\u0000")
        .replace("\x1b", "\\u001b")
    )


def value(chance: random.Random, depth: int = 0) -> str:
    """A TOML value, or nearly one."""
    match chance.randrange(14):
        case 0 | 1 | 2:
            return odd_number(chance)
        case 3 | 4:
            return f'"{odd_number(chance)}"'
        case 5 | 6:
            return f'"{_quoted(odd_text(chance))}"'
        case 7:
            return chance.choice(
                ["true", "false", "2027-01-01", "1000-01-01", "2027-01-01T00:00:00Z", "07:32:00", "inf", "-nan"]
            )
        case 8 if depth < 3:
            return f"[{', '.join(value(chance, depth + 1) for _ in range(chance.randrange(5)))}]"
        case 9 if depth < 3:
            return (
                "{ "
                + ", ".join(f"{_key(chance)} = {value(chance, depth + 1)}" for _ in range(chance.randrange(3)))
                + " }"
            )
        case 10:
            deep = chance.choice([3, 60, 400, 2000])
            return "[" * deep + "]" * deep
        case 11:
            return f'["{chance.choice(ASKS)}", "{_quoted(question(chance))}"]'
        case 12:
            return chance.choice(
                ["'''a\nb'''", '"""x"""', "'a", '"', "", "1979-05-27 07:32:00", "[1, [2], 'x']", "{a=1}", "\\"]
            )
        case _:
            return chance.choice(
                ['"one_each"', "{ at_most = 3 }", '"add_remove"', '"substitute"', '"local"', '"real"', '"drop"']
            )


def question(chance: random.Random) -> str:
    """A question, or nearly one."""
    if chance.random() < 0.3:
        return spoiled(chance.choice(ASKS).encode(), chance, 1).decode("utf-8", "replace")
    verb = chance.choice(
        [
            "count",
            "mean",
            "sum",
            "median",
            "quantile",
            "quantiles",
            "histogram",
            "sd",
            "iqr",
            "proportion",
            "capped",
            "incomplete",
        ]
    )
    options = ["level=", "low=", "high=", "edges=", "value=", "per=", "epsilon=", "levels=", "interval=", ""]
    inner = [chance.choice(["age", "cost", "town", "pid", odd_text(chance)])]
    inner += [chance.choice(options) + odd_number(chance) for _ in range(chance.randrange(3))]
    return f"{verb}({', '.join(inner)})" + chance.choice(["", "", " by town", " by age", " by " + odd_text(chance)])


def grammar(chance: random.Random) -> str:
    """A whole file from the grammar, each place now and then filled by something else."""
    said: list[str] = []

    def put(name: str, *usual: str, share: float = 1.0) -> None:
        if chance.random() < share:
            said.append(f"{name} = {chance.choice(usual) if chance.random() < 0.98 else value(chance)}")

    said.append("[study]")
    put("title", '"t"', '"x y"')
    put("source", '"rows.csv"')
    put("ledger", '"rows.ledger"')
    put("decimal", '"."', '","', share=0.3)
    put("symbols", '["€", "%"]', '["5"]', '"€"', share=0.2)
    put("thousands", '""', '","', '" "', share=0.3)
    put("encoding", '"utf-8"', '"windows-1252"', '"latin-1"', '"utf-16"', share=0.3)
    put("na", '["NA", "-999"]', "[]", '["a"]', share=0.3)
    said.append("[person]")
    put("adjacency", '"add_remove"', '"substitute"')
    put("rows", '"one_each"', "{ at_most = 3 }")
    put("column", '"pid"')
    put("people", "24", "1000", "1", share=0.5)
    said.append("[budget]")
    if chance.random() < 0.3:
        put("rho", '"5"', "0.5", '"1/3"')
        put("override", '"test"')
    else:
        put("epsilon", '"3"', "10", "0.5")
        put("delta", '"1e-8"', '"1e-6"')
    put("ends", "2099-12-31", "2001-01-01", share=0.3)
    for place in range(chance.randrange(1, 4)):
        said.append(f"[columns.{('age', 'cost', f'c{place}')[place]}]")
        put("kind", '"real"', '"integer"')
        if chance.random() < 0.8:
            put("low", "0", "-5", "1", share=0.98)
            put("high", "100", "1000", '"7"', share=0.98)
        put("missing", "3", '"drop"', share=0.7)
        put("complete", "true", "false", share=0.3)
    if chance.random() < 0.7:
        said += ["[columns.town]", 'kind = "category"']
        put("among", '["a", "b"]', "[1, 2]", '["a"]')
        put("constant", "true", "false", share=0.5)
    for place in range(chance.randrange(4)):
        said.append("[[release]]")
        put("name", f'"r{place}"')
        put(chance.choice(["epsilon", "epsilon", "rho"]), '"0.1"', "1", "0.01")
        asked = [
            chance.choice(ASKS) if chance.random() < 0.8 else _quoted(question(chance))
            for _ in range(chance.randrange(1, 4))
        ]
        put("ask", "[" + ", ".join(f'"{ask}"' for ask in asked) + "]")
        put("want", f'{{ "{asked[0]}" = 5 }}', share=0.2)
    return "\n".join(said) + "\n"
