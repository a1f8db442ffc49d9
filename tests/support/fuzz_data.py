"""Tables that no one should have: spoiled CSV, spoiled Parquet, and odd objects in memory, each with canaries.

Only what follows the header line of a CSV file is spoiled where canaries are, since names of columns are public.
"""

from __future__ import annotations

import datetime
import decimal
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from csv import DictReader as reader
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import reticent as rt
from reticent.data.schema import Column
from reticent.study.release import Release
from tests.support.fuzz_bytes import NUMBERS, TEXTS, odd_bytes, spoiled
from tests.support.fuzz_kit import Canaries, Room, Tried, Trouble, debts, released, run_here, shown, size, tried
from tests.support.fuzz_study import BASE, rows_csv
from tests.support.workbooks import workbook as by_hand

ASKS: Final = (
    "count", "persons", "mean(age)", "sum(cost)", "median(age)", "histogram(age, edges=0:100:10)", "sd(cost)",
    "proportion(town, value=a)", "mean(cost) by town", "count by town", "capped", "quantile(cost, 0.9)",
)  # fmt: skip
STUDIES: Final = {
    "csv": BASE,
    "parquet": BASE.replace("rows.csv", "rows.parquet").replace("rows.ledger", "parquet.ledger"),
    "workbook": BASE.replace("rows.csv", "rows.xlsx").replace("rows.ledger", "workbook.ledger"),
    "lines": BASE.replace("rows.csv", "rows.jsonl").replace("rows.ledger", "lines.ledger"),
    "public": BASE.replace("add_remove", "substitute")
    .replace("rows.ledger", "public.ledger")
    .replace("rows.csv", "open.csv"),
    "each": BASE.replace("{ at_most = 3 }", '"one_each"')
    .replace('column = "pid"', "")
    .replace("rows.ledger", "each.ledger")
    .replace("rows.csv", "each.csv"),
    "written": BASE.replace("rows.ledger", "written.ledger").replace(
        'source = "rows.csv"',
        'source = "written.csv"\nencoding = "windows-1252"\ndecimal = ","\nthousands = "."\nna = ["NA", "7", "-999"]'
        '\nsymbols = ["€", "%"]',
    ),
}


def furnish(room: Room) -> None:
    for name, text in STUDIES.items():
        (room.work / f"{name}.toml").write_text(text)
    room.keep()


def one(chance: random.Random, room: Room) -> list[Trouble]:
    """One table, released through the library or the command line, or looked at by ``init``."""
    way = chance.random()
    if way < 0.15:
        return _in_memory(chance, room)
    if way < 0.2:
        return _without_names(chance, room)
    name = "parquet" if way < 0.4 else chance.choice([*["csv"] * 2, *MAKERS, "public", "each", "written"])
    study = rt.open(room.work / f"{name}.toml")
    source = room.work / study.spec.source.rsplit("/", 1)[1]
    source.write_bytes(MAKERS.get(name, csv)(chance, room.canaries))
    ask = chance.sample(ASKS, chance.randrange(1, 4))
    if chance.random() < 0.05 and name != "workbook":  # its first row may be spoiled away
        ran = run_here(["init", source.name, "--out", "new.toml", *["--json"] * chance.randrange(2)])
        return ran.troubles() + room.swept(ran.said, source)
    if chance.random() < 0.08:
        words = ["release", f"{name}.toml", "--epsilon", "0.01", "--out", "o", "--same-people", "--force"]
        ran = run_here([*words, *(word for text in ask for word in ("--ask", text)), *["--json"] * chance.randrange(2)])
        room.endings[f"{name} command {ran.code}"] += 1
        return ran.troubles() + room.swept(ran.said, source)
    made = released(study, ask, "0.01")
    room.endings[f"{name} {made.name}"] += 1
    return [*made.troubles, *room.swept(_said(made, study), source)]


def _without_names(chance: random.Random, room: Room) -> list[Trouble]:
    """A file whose first line is a person, or whose header takes rows in: no verb and no refusal repeats them."""
    head, _, body = rows_csv(room.canaries).partition("\n")
    body = body[body.index(room.canaries.words[0]) :] if chance.random() < 0.5 else body
    text = chance.choice([body, f'"{body}', f'{head},"note\n{body}', f"{head},{'x' * 200}\n{body}"])
    source = room.work / "rows.csv"
    source.write_text(text)
    if chance.random() < 0.5:
        ran = run_here(["init", source.name, "--out", "new.toml", *["--json"] * chance.randrange(2)])
        return ran.troubles() + room.swept(ran.said, source)
    made = released(rt.open(room.work / "csv.toml"), ["count"], "0.01")
    return [*made.troubles, *room.swept(made.said, source)]


def _said(made: Tried, study: rt.Study) -> bytes:
    value = made.value
    objects = [] if value is None else [value, value.certificate, value.frame(), *value.answers]
    return made.said + shown(study, *objects) + b"".join(text.encode() for text in _texts(value))


def _texts(value: Release | None) -> list[str]:
    return (
        [] if value is None else [value.certificate.to_json(), value.proof(), value.explain(), str(list(value.caveats))]
    )


# --- CSV --------------------------------------------------------------------------------------------------------------


def csv(chance: random.Random, canaries: Canaries) -> bytes:
    """A header that stays, or has odd names and no canaries below it, and rows that are spoiled."""
    head, _, body = rows_csv(canaries, chance.choice([1, 6, 24, 24])).partition("\n")
    if chance.random() < 0.08:
        return spoiled(f"{head}\n1,2,3,a,b\n".encode(), chance)
    rows = [line.split(",") for line in body.splitlines()]
    for _ in range(chance.choice([0, 1, 3, 12])):
        row = chance.choice(rows)
        if row:
            row[chance.randrange(len(row))] = cell(chance)
    if chance.random() < 0.3:
        ragged = chance.choice(rows)
        ragged[:] = ragged * chance.choice([0, 2, 300]) if chance.random() < 0.5 else ragged[: chance.randrange(5)]
    text = (
        chance.choice(["\n", "\n", "\r\n", "\r"]).join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")
    )
    if chance.random() < 0.6:
        text = spoiled(text, chance)
    if chance.random() < 0.2:
        text = text.replace(b",", odd_bytes(chance), chance.choice([1, 5, -1]))
    ending = chance.choice([b"\n", b"\n", b"\r\n", b"\n\n", b'\n"', b"\n\xef\xbb\xbf", b"\n\x00"])
    return chance.choice([b"", b"", b"\xef\xbb\xbf"]) + head.encode() + ending + text


def cell(chance: random.Random) -> str:
    """One cell, with the delimiter and quotes in it or not."""
    text = chance.choice(
        [*NUMBERS, *TEXTS, "9" * 200_000, '"' * 7, "1,2,3", "2026-01-01", "0x1F", "1e308", " 7 ", "７", "TRUE"]
    )
    return chance.choice([text, text, f'"{text}"', f'"{text}', text.replace('"', '""')])


# --- JSON lines and workbooks -----------------------------------------------------------------------------------------


def json_lines(chance: random.Random, canaries: Canaries) -> bytes:
    """Lines with odd fields, then bytes spoiled half of the time."""
    odd: list[Any] = [*TEXTS, None, True, [1], {"a": 1}, 1e300, float("nan"), float("inf"), 10**40]
    rows: list[dict[str, Any]] = list(reader(io.StringIO(rows_csv(canaries))))
    for _ in range(chance.choice([0, 1, 9])):
        row = chance.choice(rows)
        row[chance.choice([*row])] = chance.choice(odd)
    whole = "\n".join(json.dumps(row) for row in rows).encode()
    return spoiled(whole, chance) if chance.random() < 0.5 else whole


def workbook(chance: random.Random, canaries: Canaries) -> bytes:
    """A workbook with odd cells, then bytes of it or of a part spoiled most of the time."""
    rows = [line.split(",") for line in rows_csv(canaries).splitlines()]
    cells = [[_xml_cell(chance, text) for text in row] for row in rows[1:]]
    head = "".join(f'<c t="str"><v>{name}</v></c>' for name in rows[0])
    sheet = f"<row>{head}</row>" + "".join(f"<row>{''.join(row)}</row>" for row in cells)
    with tempfile.TemporaryDirectory() as folder:
        path = by_hand(Path(folder) / "t.xlsx", sheet, texts="<si><t>a</t></si>", formats=("yyyy-mm-dd",))
        whole = path.read_bytes()
        with zipfile.ZipFile(path) as package:
            parts = {name: package.read(name) for name in package.namelist()}
    if chance.random() < 0.4:
        return spoiled(whole, chance)
    name = chance.choice(sorted(parts))
    said = io.BytesIO()
    with zipfile.ZipFile(said, "w") as package:
        for part, content in {**parts, name: spoiled(parts[name], chance)}.items():
            package.writestr(part, content)
    return said.getvalue()


def _xml_cell(chance: random.Random, text: str) -> str:
    kind = chance.choice(["str", "str", "n", "n", "s", "b", "d", "e", "unheard"]) if chance.random() < 0.2 else "str"
    return f'<c t="{kind}" s="{chance.choice((0, 1, 99))}"><v>{text}</v></c>'


# --- Parquet ----------------------------------------------------------------------------------------------------------


def parquet(chance: random.Random, canaries: Canaries) -> bytes:
    """Columns of odd types, then bytes spoiled half of the time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = arrow_columns(chance, canaries, chance.choice([0, 1, 30, 30]))
    said = io.BytesIO()
    packed = chance.choice(["none", "none", "snappy", "gzip"])
    pq.write_table(pa.table(columns), said, compression=packed, use_dictionary=chance.random() < 0.5)
    whole = said.getvalue()
    match chance.randrange(8):
        case 0:
            return whole[: chance.randrange(len(whole))]
        case 1:
            return whole[:-4] + b"PAR2"
        case 2:
            return b"PAR0" + whole[4:]
        case 3:
            at = chance.randrange(len(whole) - 12, len(whole))
            return whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :]
        case 4 | 5:
            flips = [chance.randrange(len(whole)) for _ in range(chance.choice([1, 1, 4, 20]))]
            return bytes(byte ^ (1 << chance.randrange(8)) if at in flips else byte for at, byte in enumerate(whole))
        case _:
            return whole


def arrow_columns(chance: random.Random, canaries: Canaries, size: int) -> dict[str, Any]:
    """A column of each name, of a type that fits or of any other."""
    import pyarrow as pa

    numbers = [canaries.numbers[n % 6] if n % 5 == 0 else n % 90 for n in range(size)]
    reals: list[float | None] = [
        chance.choice([n + 0.5, n + 0.5, float("nan"), float("inf"), 1e308, -0.0, None]) for n in numbers
    ]
    words = [canaries.words[n % 4] if n % 4 == 0 else "ab"[n % 2] for n in range(size)]
    day = datetime.date(2020, 1, 1)
    makers: Sequence[Callable[[], Any]] = (
        lambda: pa.array(numbers, pa.int64()),
        lambda: pa.array(numbers, pa.uint64()),
        lambda: pa.array([n % 100 for n in numbers], pa.int8()),
        lambda: pa.array(reals, pa.float64()),
        lambda: pa.array(reals, pa.float32()),
        lambda: pa.array([decimal.Decimal(n) for n in numbers], pa.decimal128(20, 3)),
        lambda: pa.array(words),
        lambda: pa.array(words, pa.large_string()),
        lambda: pa.array(words).dictionary_encode(),
        lambda: pa.array([str(n) for n in numbers]),
        lambda: pa.array([word.encode() + b"\xff" for word in words], pa.binary()),
        lambda: pa.array([n % 2 == 0 for n in numbers]),
        lambda: pa.array([day] * size, pa.date32()),
        lambda: pa.array(numbers, pa.timestamp("us")),
        lambda: pa.nulls(size),
        lambda: pa.array([[n] for n in numbers]),
        lambda: pa.array([{"x": n} for n in numbers]),
        lambda: _not_utf8(words),
    )
    usual = {"pid": (0, 6, 9), "age": (0, 2, 3), "cost": (3, 4, 5), "town": (6, 8, 7), "note": (6, 9, 10)}
    return {
        name: (makers[chance.choice(places)] if chance.random() < 0.85 else chance.choice(makers))()
        for name, places in usual.items()
    }


def _not_utf8(words: Sequence[str]) -> Any:
    import pyarrow as pa

    raw = pa.array([word.encode() + b"\xff\xfe" for word in words], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


# --- in memory --------------------------------------------------------------------------------------------------------


class Sour:
    """An object that tells a canary whenever it is asked for anything."""

    def __init__(self, word: str) -> None:
        self._word = word

    def __str__(self) -> str:
        raise ValueError(self._word)

    __repr__ = __str__

    def __float__(self) -> float:
        raise OverflowError(self._word)


MAKERS: Final[dict[str, Callable[[random.Random, Canaries], bytes]]] = {
    "parquet": parquet,
    "workbook": workbook,
    "lines": json_lines,
}


def _in_memory(chance: random.Random, room: Room) -> list[Trouble]:
    columns: dict[str, Column] = {"age": rt.integer(0, 100), "cost": rt.real(0, 1000), "town": rt.category(["a", "b"])}
    each = chance.random() < 0.5
    opened = tried(
        lambda: rt.study(
            _table(chance, room.canaries),
            adjacency=chance.choice(["add_remove", "substitute"]),
            columns=columns,
            budget=3,
            person=None if each else "pid",
            rows_each=None if each else 2,
        ),
        "study",
    )
    if opened.value is None:
        return [*opened.troubles, *room.swept(opened.said)]
    study: rt.Study = opened.value
    before = study.ledger.spent()
    made = tried(lambda: study.release(chance.sample(ASKS, 2), epsilon="0.1"), "release of rows in memory")
    found = [*made.troubles, *debts(made, size(study.ledger.spent()) - size(before))]
    room.endings[f"memory {made.name}"] += 1
    return [*found, *room.swept(_said(made, study) + shown(study.ledger))]


def _table(chance: random.Random, canaries: Canaries) -> object:
    size = chance.choice([0, 1, 20])
    arrays = arrow_columns(chance, canaries, size)
    if chance.random() < 0.3:
        import pyarrow as pa

        return pa.table(arrays)
    lists: dict[str, Any] = {name: array.to_pylist() for name, array in _listable(arrays).items()}
    odd = [
        Sour(canaries.words[0]), 10**5000, float("nan"), b"\xff", [canaries.words[1]], None, True,
        decimal.Decimal("1e9999"), {"x": canaries.numbers[0]}, "x" * 200_000, "\ud800", complex(1, 2), -0.0,
        datetime.date(1, 1, 1), "",
    ]  # fmt: skip
    for name in lists:
        for _ in range(chance.choice([0, 1, 4]) if size else 0):
            lists[name][chance.randrange(size)] = chance.choice(odd)
    if chance.random() < 0.1 and size:
        lists[chance.choice([*lists])].pop()
    if chance.random() < 0.3 and find_spec("pandas"):
        frame = tried(lambda: _pandas(lists), "a frame").value
        return lists if frame is None else frame
    return lists


def _pandas(lists: dict[str, Any]) -> object:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in lists.items()})


def _listable(arrays: dict[str, Any]) -> dict[str, Any]:
    """Columns whose cells Python can hold."""
    import pyarrow as pa

    def fits(array: Any) -> bool:
        try:
            array.to_pylist()
        except (UnicodeDecodeError, ValueError, OverflowError):
            return False
        return True

    return {name: array if fits(array) else pa.nulls(len(array)) for name, array in arrays.items()}
