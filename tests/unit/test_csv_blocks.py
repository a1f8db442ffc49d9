"""Plain blocks of a CSV file are read as the reader of records reads them, whatever the bytes and their blocks."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from reticent.data import csv_blocks, files
from reticent.data.files import open_files
from reticent.data.schema import Person, Schema, category, real

SCHEMA = Schema({"x": real(), "town": category(["a", "b"])}, Person("add_remove", "who", rows=3))
NAMES = ("x", "town", "who")
HEADER = b"who,x,other,town"
PLAIN = (b"1", b"-2.5", b"a", b"", b" b ", "é".encode(), b"1e400", "\N{EURO SIGN}".encode(), b"x" * 9, b"y" * 60)
ODD = (
    b'"',
    b'"a,b"',
    b'"two\nlines"',
    b'a"b',
    b"\r",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b'""',
    b"y" * 60,
    b"\n",
)


def text(draw: random.Random, odd: float) -> bytes:
    """Lines of cells, of which a share is odd, with ends and lengths that differ now and then."""
    lines = []
    for _ in range(draw.randrange(25)):
        width = draw.choice((1, 3, 5, 0)) if draw.random() < odd else 4
        cells = [draw.choice(ODD if draw.random() < odd else PLAIN) for _ in range(width)]
        lines.append(b",".join(cells) + (draw.choice((b"\r", b"\r\n", b"\n\n")) if draw.random() < odd else b"\n"))
    whole = b"".join(lines)
    return whole[: draw.randrange(len(whole) + 1)] if draw.random() < 0.3 else whole


def columns(path: Path, names: tuple[str, ...] = NAMES) -> list[list[object]]:
    """The cells of a file, column by column."""
    batches = list(open_files(path, SCHEMA, ",").batches(names))
    if not names:
        return [[sum(batch.num_rows for batch in batches)]]
    return pa.Table.from_batches(batches, pa.schema([(name, pa.string()) for name in names])).to_pydict().values()  # type: ignore[no-any-return]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[object]]]:
    """Read every block record by record."""

    def read(path: Path, names: tuple[str, ...] = NAMES) -> list[list[object]]:
        with monkeypatch.context() as patch:
            patch.setattr(files, "plain_columns", lambda *given: None)
            patch.setattr(csv_blocks, "SIZE", 1 << 20)
            return columns(path, names)

    return read


def differ(
    slow: Callable[..., list[list[object]]], path: Path, runs: int, odd: float, patch: pytest.MonkeyPatch
) -> bool:
    """Both readers read some file of a fixed stream otherwise; blocks and cells are short."""
    draw = random.Random(f"csv {odd}")
    patch.setattr(files, "LONGEST_CELL", 40)
    for _ in range(runs):
        mark = b"\xef\xbb\xbf" if draw.random() < 0.2 else b""
        content = mark + HEADER + draw.choice((b"\n", b"\r\n")) + text(draw, odd)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        names = draw.choice((NAMES, NAMES, ("town",), ()))
        patch.setattr(csv_blocks, "SIZE", draw.choice((1, 7, 32, 100, 1 << 20)))
        if list(columns(path, names)) != list(slow(path, names)):
            return True
    return False


@pytest.mark.parametrize("odd", [0.0, 0.02, 0.3])
def test_both_readers_agree(
    odd: float, slow: Callable[..., list[list[object]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not differ(slow, tmp_path / "t.csv", 60, odd, monkeypatch)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("name", "odd", "files"),
    [
        ("t.csv", 0.001, 1_500),
        ("t.csv", 0.05, 1_500),
        ("t.csv", 0.01, 1_500),  # so few odd cells that most blocks are plain
        ("t.csv", 0.6, 1_500),
        ("t.csv.gz", 0.001, 600),
        ("t.csv.gz", 0.001, 1_500),
        ("t.csv.gz", 0.05, 1_500),
        ("t.csv.gz", 0.6, 1_500),
        ("t.csv.gz", 0.01, 1_500),
    ],
)
def test_both_readers_agree_on_many_files(
    name: str,
    odd: float,
    files: int,
    slow: Callable[..., list[list[object]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not differ(slow, tmp_path / name, files, odd, monkeypatch)


@pytest.mark.wide
@pytest.mark.parametrize(
    "mutant",
    [
        lambda block, *rest: csv_blocks.plain_columns(block.replace(b'"', b""), *rest),
        lambda block, *rest: csv_blocks.plain_columns(block.replace(b"\0", b""), *rest),
        lambda block, delimiter, width, places, longest: csv_blocks.plain_columns(
            block, delimiter, width, places, 1 << 20
        ),
    ],
)
def test_the_comparison_finds_a_careless_reader(
    mutant: Callable[..., object],
    slow: Callable[..., list[list[object]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "plain_columns", mutant)
    assert differ(slow, tmp_path / "t.csv", 300, 0.05, monkeypatch)


def test_a_plain_file_is_never_read_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the header is; without the vectorised reader every row would be."""
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + b"\n" + b"p,1,,a\nq,2,,b\n" * 100_000)
    taken = []
    honest = files._Records.next

    def counted(records: files._Records) -> list[str] | None:
        taken.append(1)
        return honest(records)

    monkeypatch.setattr(files._Records, "next", counted)
    assert len(next(iter(columns(path, ("town",))))) == 200_000
    assert len(taken) < 10
