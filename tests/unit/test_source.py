"""Opening a source: refused with words before any row is read, or local to a cell afterwards."""

from __future__ import annotations

import copy
import csv
import datetime
import enum
import gzip
import io
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reticent as rt
from reticent.data import source as opened
from reticent.data import spark_table
from reticent.data.columns import MOST_COLUMNS
from reticent.data.files import _Records, damaged
from reticent.data.object_texts import texts_of_objects
from reticent.data.query import DistinctPersons, Moments, PresentValues, Query, Ranks, Rows, Tally, Total
from reticent.data.query_result import QueryResult
from reticent.data.schema import Key, Person, Schema, category, grid_by_width, integer, real
from reticent.data.source import names_of, open_source
from reticent.data.table import EngineFailure, Table, open_table
from reticent.errors import QuestionError, SpecError
from tests.support.cli_kit import run

KEY = bytes(32)
ALL = Person("add_remove")
GRID = grid_by_width(Fraction(0), Fraction(1))


def file(folder: Path, content: bytes | str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(source: object, schema: Schema) -> str:
    with pytest.raises(SpecError) as why:
        open_table(source, schema)
    return str(why.value)


X = Schema({"x": real()}, ALL)


def present(table: Table, name: str = "x") -> tuple[int, int]:
    """Rows, and how many of them have a value."""
    rows, known = table.run([Rows(), PresentValues(name)], KEY)
    return rows.vectors[0][0], known.vectors[0][0]


def values(source: object, schema: Schema = X) -> dict[int, int]:
    """Cells and counts of a column with unit cells."""
    (result,) = open_table(source, schema).run([Ranks("x")], KEY)
    return dict(zip(result.ranks[0].cells.tolist(), result.ranks[0].counts.tolist(), strict=True))


WHOLE = Schema({"x": integer(-100, 100)}, ALL)


@pytest.mark.wide
@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_csv_file_is_read_as_its_text_is(ending: str, tmp_path: Path) -> None:
    content = b"id;x\n" + b'"a;b";1\n"c";2\n' * 50_000
    packed = gzip.compress(content) if ending == ".gz" else bytes(pa.Codec("zstd").compress(content))
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(packed)
    table = open_table(path, WHOLE, delimiter=";")
    assert present(table) == (100_000, 100_000)
    path.write_bytes(packed[:-9])  # a part of a table must not pass for the whole
    with pytest.raises(EngineFailure):
        present(open_table(path, WHOLE, delimiter=";"))


# --- refused before rows are read -------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.csv", X) == "There is no file none.csv. Nothing was read."
    assert refused(tmp_path / "*.parquet", X) == "No file fits *.parquet. Nothing was read."


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "xlsx", "dta", "CSV"])
@pytest.mark.parametrize("pattern", ["x-*", "[ab]/x-1", "*/x-?"])
def test_a_pattern_of_other_files_says_that_patterns_are_of_parquet(ending: str, pattern: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("x-1", "x-2", "a/x-1"):
        (tmp_path / f"{name}.{ending}").write_text("x\n1\n", encoding="utf-8")
    name = Path(pattern).name
    assert refused(tmp_path / f"{pattern}.{ending}", X) == (
        f"{name}.{ending} is a pattern, and several files are one table where they are Parquet: write them as such, "
        f"{name}.parquet, or put their rows into one file. Nothing was read."
    )


def test_init_refuses_a_pattern_of_text_files_before_it_asks_for_a_name(tmp_path: Path) -> None:
    for typed in ([], ["--out", str(tmp_path / "study.toml")]):
        done = run("init", str(tmp_path / "*.csv"), *typed)
        assert done.code == 5
        assert "several files are one table where they are Parquet" in done.said
    assert "say --out" in run("init", str(tmp_path / "*.parquet")).said


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    assert refused(tmp_path / "d", X) == "d is a folder. Give a file, or a pattern such as d/**/*.parquet."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    assert refused(tmp_path / "t.csv", X) == "t.csv is not a regular file: a table must be readable more than once."


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, "x\n1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    assert refused(path, X) == "t.csv may not be read by this user. Nothing was read."


@pytest.mark.parametrize("content", ["", "\ufeff"])
def test_an_empty_file(content: str, tmp_path: Path) -> None:
    assert refused(file(tmp_path, content), X) == "t.csv is empty: its first line must name the columns."


def test_a_header_longer_than_a_mebibyte(tmp_path: Path) -> None:
    path = file(tmp_path, "x," + ",".join("y" * 100 for _ in range(11000)))
    assert refused(path, X) == "The header line of t.csv is longer than 1 MiB. No row was read."


def test_a_hundred_thousand_columns(tmp_path: Path) -> None:
    path = file(tmp_path, ",".join(f"c{i}" for i in range(100_000)) + "\n")
    assert refused(path, X) == "t.csv has more than 4,096 columns. Keep the ones you need."
    wide = pa.table({f"c{i}": [1] for i in range(MOST_COLUMNS + 1)})
    assert refused(wide, X) == "the table has more than 4,096 columns. Keep the ones you need."


@pytest.mark.parametrize("content", [b"x,\xff\xfe\n1,2\n", b"x,\xe9\n1,2\n"])
def test_a_header_that_is_not_utf8(content: bytes, tmp_path: Path) -> None:
    assert refused(file(tmp_path, content), X) == (
        "The header of t.csv is not UTF-8 text. Save the file as UTF-8, or say its encoding: "
        '[study] encoding = "windows-1252", init --encoding windows-1252.'
    )


def test_a_binary_file_called_csv(tmp_path: Path) -> None:
    assert "not text" in refused(file(tmp_path, b"x,\x00\x01\n"), X)


def test_a_quote_left_open_in_the_header(tmp_path: Path) -> None:
    path = file(tmp_path, '"x,y\n' + "1,2\n" * 100_000)
    assert refused(path, X) == ("The header of t.csv leaves a quote open: a name has no line end. No row was read.")


def test_a_column_named_twice(tmp_path: Path) -> None:
    assert (
        refused(file(tmp_path, "x,y,x\n1,2,3\n"), X)
        == "the header of t.csv names x twice: rename one of the two. Nothing was read."
    )
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert refused(twice, X) == "the table names x twice: rename one of the two. Nothing was read."


def test_a_column_not_asked_for_may_be_named_twice(tmp_path: Path) -> None:
    assert values(file(tmp_path, "y,x,y\n1,2,3\n"), WHOLE) == {2: 1}


def test_a_missing_column_is_named_and_none_that_is_there(tmp_path: Path) -> None:
    schema = Schema({"mdvis": real()}, ALL)
    said = (
        "names agree letter by letter, capitals and spaces too. Those that are there are not shown: they may be "
        "values. Nothing was read."
    )
    for source, where in ((file(tmp_path, "mdvsi,y\n1,2\n"), "the header of t.csv"), ({"mdvsi": [1]}, "the table")):
        assert refused(source, schema) == f"There is no column 'mdvis' in {where}: {said}"


def test_a_missing_person_column(tmp_path: Path) -> None:
    schema = Schema({"x": real()}, Person("add_remove", "who", rows=2))
    assert refused(file(tmp_path, "x\n1\n"), schema).startswith("There is no column 'who'")


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    said = "t.parquet is not a Parquet file, or its footer is damaged. No row was read."
    assert refused(file(tmp_path, b"PAR1 secret PAR1", "t.parquet"), X) == said


@pytest.mark.parametrize(
    ("cells", "kind", "found"),
    [
        ([[1]], pa.list_(pa.int64()), "list"),
        ([{"a": 1}], pa.struct({"a": pa.int64()}), "struct"),
        ([b"1"], pa.binary(), "binary"),
        ([0], pa.timestamp("s"), "timestamp"),
        ([0], pa.date32(), "date32"),
    ],
)
def test_a_type_that_cannot_be_a_number(cells: list[object], kind: pa.DataType, found: str, tmp_path: Path) -> None:
    array = pa.array(cells, kind)
    said = f"column x holds {found}, which is neither a number nor a text. Nothing was read."
    if found in ("list", "struct"):
        said = (
            f"column x holds {found}: a cell has several values. Write what is asked about as columns of their own "
            "first, or delete [columns.x]. Nothing was read."
        )
    if found in ("timestamp", "date32"):
        said = f'column x holds {found}. Declare it by kind = "date" or "datetime". Nothing was read.'
    assert refused(pa.table({"x": array}), X) == said
    pq.write_table(pa.table({"x": array}), tmp_path / "t.parquet")
    assert refused(tmp_path / "t.parquet", X) == said


def test_arrays_that_make_no_table() -> None:
    said = "column x must be a list or a one-dimensional array. Nothing was read."
    assert refused({"x": np.zeros((2, 2))}, X) == said
    assert refused({"x": "text"}, X) == said
    assert refused({"x": 1}, X) == said
    assert refused({"x": [1], "y": [1, 2]}, X) == "The columns have different lengths. Nothing was read."
    assert "numpy complex128" in refused({"x": np.zeros(2, dtype=complex)}, X)
    assert "numpy datetime64[D]" in refused({"x": np.array(["2020-01-01"], dtype="datetime64[D]")}, X)


@pytest.mark.parametrize("source", [3, None, object(), [1, 2]])
def test_what_is_no_table_is_refused(source: object) -> None:
    assert "is not a table this version can read" in refused(source, X)


def test_a_database_that_is_not_there_is_refused_with_words(tmp_path: Path) -> None:
    said = refused(f"postgresql:///cohort?host={tmp_path}&table=visits", X)
    assert said.startswith("The database cannot be reached")
    assert str(tmp_path) not in said


def test_a_reader_that_can_be_read_once_is_refused() -> None:
    table = pa.table({"x": [1]})
    assert "only once" in refused(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), X)


def test_a_delimiter_is_one_character(tmp_path: Path) -> None:
    path = file(tmp_path, "x;y\n1;2\n")
    with pytest.raises(SpecError, match="delimiter must be one character"):
        open_table(path, X, delimiter=";;")
    assert present(open_table(path, X, delimiter=";")) == (1, 1)


def test_opening_reads_no_row(tmp_path: Path) -> None:
    class Watched(list[int]):
        def __iter__(self) -> Iterator[int]:
            raise AssertionError("a row was read")

        def __getitem__(self, place: Any) -> Any:
            raise AssertionError("a row was read")

    open_table({"x": Watched([1, 2])}, X)
    path = file(tmp_path, b"x\n" + b"\xff" * 10_000_000)
    assert open_source(path, X).place == str(path)
    assert names_of(path) == {"x": ""}


# --- local to a cell --------------------------------------------------------------------------------------------------


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    for content in ("x,y", "x,y\n", "\ufeffx,y\r\n"):
        assert present(open_table(file(tmp_path, content), X)) == (0, 0)


def test_quotes_line_ends_and_a_mark_in_front(tmp_path: Path) -> None:
    schema = Schema({'a "b", c': integer(0, 9)}, ALL)
    for end in ("\n", "\r\n", "\r"):
        content = end.join(['\ufeff"a ""b"", c",y', "1,2", '"3","x\ny"', '4,"p,q"']) + end
        assert present(open_table(file(tmp_path, content), schema), 'a "b", c') == (3, 3)


def test_ragged_rows_touch_only_their_own_cells(tmp_path: Path) -> None:
    path = file(tmp_path, "y,x\n1\n1,2\n1,3,4,5,6\n\n,\n1,7\n")
    assert values(path, WHOLE) == {2: 1, 3: 1, 7: 1}
    assert present(open_table(path, WHOLE)) == (5, 3)


@pytest.mark.parametrize(
    "bad", [b"abc", b"\xff\xfe", b"\x00", b'a"b', b"1,5", b'"1""2"', b"--1", b"1e", b"0x10", b"1_0"]
)
def test_one_bad_cell_is_one_missing_cell(bad: bytes, tmp_path: Path) -> None:
    path = file(tmp_path, b"x\n1\n" + bad + b"\n3\n")
    rows, known = present(open_table(path, WHOLE))
    assert (rows, known) == (3, 3 if bad == b"1,5" else 2)


def test_an_undeclared_column_may_hold_anything(tmp_path: Path) -> None:
    path = file(tmp_path, b"x,junk\n1,\xff\xff\x00\n2," + b"y" * 100_000 + b"\n3,[]{}\n")
    assert values(path, WHOLE) == {1: 1, 2: 1, 3: 1}


def test_a_quote_never_closed_takes_the_rest_into_its_cell(tmp_path: Path) -> None:
    assert present(open_table(file(tmp_path, 'x\n1\n"2\n3\n4\n'), WHOLE)) == (2, 1)


LONG = "7" * 200_000


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (f"x,junk\n1,a\n{LONG},b\n3,c\n", 2),
        (f'x,junk\n1,a\n2,"{LONG}\n{LONG}"\n3,c\n', 3),
        (f"x,junk\n1,a\n2,b,{LONG}\n3,c\n", 3),
        (f'x,junk\n1,a\n2,"{"5,5" * 70_000}""{LONG}"\r\n3,c\n', 3),
        (f"x,junk\n1,a\n2{',' * 200_000}\r3,c\n", 3),
    ],
)
def test_a_cell_beyond_every_size_is_a_missing_cell(content: str, known: int, tmp_path: Path) -> None:
    """The person in the second row chooses what is in it; the run ends as it does without them."""
    neighbour = "x,junk\n1,a\n2,b\n3,c\n"
    assert present(open_table(file(tmp_path, neighbour), X)) == (3, 3)
    assert present(open_table(file(tmp_path, content), X)) == (3, known)


def test_a_quote_never_closed_before_much_text_is_one_missing_cell(tmp_path: Path) -> None:
    path = file(tmp_path, 'x,junk\n1,a\n2,"b\n' + "3,c\n" * 100_000)
    assert present(open_table(path, X)) == (2, 2)
    assert present(open_table(file(tmp_path, 'junk,x\na,1\nb,"2\n' + "c,3\n" * 100_000), X)) == (2, 1)


def test_a_limit_that_other_code_gave_to_the_csv_module_changes_nothing(tmp_path: Path) -> None:
    before = csv.field_size_limit(3)
    try:
        assert values(file(tmp_path, 'x\n12\n"00000012"\n7\n'), WHOLE) == {12: 2, 7: 1}
    finally:
        csv.field_size_limit(before)


PIECES = st.sampled_from(["a", "1", ",", '"', '""', "\n", "\r", "\r\n", " ", "\x00", "bcdefgh"])


@example(pieces=["\x001\x00", "\r", "11\x001", "\r", "1"], longest=3)  # lines cut at a carriage return
@given(pieces=st.lists(PIECES, max_size=40), longest=st.integers(2, 12))
def test_both_ways_to_read_a_record_agree(pieces: list[str], longest: int) -> None:
    text = "".join(pieces)
    wanted = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.data.files.LONGEST_CELL", longest)
        found = _Records(io.StringIO(text, newline=""), ",", 100).block()
    assert found == [["" if len(cell) > longest else cell for cell in row] for row in wanted]


def test_a_text_that_is_not_utf8_is_a_missing_cell(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32).tobytes())
    array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"1\xff2")])
    assert values(pa.table({"x": array}), WHOLE) == {1: 1, 2: 1}
    pq.write_table(pa.table({"x": array}), tmp_path / "t.parquet")
    assert values(tmp_path / "t.parquet", WHOLE) == {1: 1, 2: 1}


@pytest.mark.parametrize("whole", [2**53 + 1, -(2**63), 5])
def test_whole_numbers_beside_doubles_become_the_nearest_double(whole: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, whole]}), tmp_path / "t-1.parquet")
    pq.write_table(pa.table({"x": [2.5, 3.0]}), tmp_path / "t-2.parquet")
    assert present(open_table(tmp_path / "t-*.parquet", X)) == (4, 4)


def nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


class Silent:
    def __str__(self) -> str:
        raise ValueError(CANARY)


ODD = (lambda: 10**5000, lambda: nested(100_000), Silent, lambda: b"\xff", lambda: "\ud800", lambda: None)


@pytest.mark.parametrize("make", ODD, ids=("int", "list", "Silent", "bytes", "str", "NoneType"))
def test_an_object_without_a_text_is_a_missing_cell(make: Callable[[], object]) -> None:
    import pandas as pd

    cells = np.empty(3, dtype=object)
    cells[:] = [1, None, 2]
    cells[1] = make()
    sources: list[object] = [{"x": cells}, {"x": list(cells)}, pd.DataFrame({"x": pd.Series(cells, dtype=object)})]
    for source in sources:
        assert values(source, WHOLE) == {1: 1, 2: 1}


@pytest.mark.parametrize(
    ("among", "counts"),
    [
        (("True", "False"), (3, 1)),
        (("TRUE", "FALSE"), (3, 1)),
        (("true", "false"), (3, 1)),
        ((1, 0), (3, 1)),
        ((True, False), (3, 1)),
        (("yes", "no"), (0, 0)),
        (("true", "True"), (3, 0)),
    ],
)
@pytest.mark.parametrize("read", [list, lambda cells: np.array(cells, object)])
def test_truth_values_in_a_list_are_the_listed_words(
    among: tuple[Key, ...], counts: tuple[int, int], read: Callable[[list[object]], object]
) -> None:
    schema = Schema({"x": category(among)}, Person("add_remove"))
    odd: list[list[object]] = [[True, False, True, True], [True, np.False_, np.True_, True, None, "z"]]
    for cells in odd:
        (result,) = open_table({"x": read(cells)}, schema).run([Tally("x", among=among)], KEY)
        assert tuple(result.vectors[0]) == counts


class Spelt(str):
    """A text that is shown as another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "two"


@pytest.mark.parametrize("odd", ["b", "\ud800", "", None, Spelt("one"), b"b", 2, float("nan"), np.str_("b")])
def test_texts_all_at_once_are_those_one_by_one(odd: object) -> None:
    cells = ["a", odd, None, "ø", "a"]
    one_by_one = [texts_of_objects([cell, None, 1]).to_pylist()[0] for cell in cells]
    spelt = opened._spell(Schema({"x": integer(0, 9)}, Person("add_remove")), "x")
    assert spelt(cells).to_pylist() == one_by_one
    if isinstance(odd, str) and type(odd) is not Spelt:
        array = np.array(["a", odd, "ø"])
        expected = [texts_of_objects([cell, None, 1]).to_pylist()[0] for cell in array]
        assert opened._from_array(array, "text", spelt).to_pylist() == expected


def test_times_are_refused_where_text_is_wanted_and_dates_are_text() -> None:
    day = pa.array([0, 20778], pa.date32())
    schema = Schema({"x": category(["2026-11-21"])}, ALL)
    (result,) = open_table(pa.table({"x": day}), schema).run([Tally("x", among=("2026-11-21",))], KEY)
    assert result.vectors == ((1,),)
    interval = pa.array([pa.MonthDayNano([1, 2, 3])])
    for array in (pa.array([0], pa.timestamp("s")), pa.array([0], pa.time32("s")), interval):
        assert "column x holds times" in refused(pa.table({"x": array}), schema)
    assert "month_day_nano_interval" in refused(pa.table({"x": interval}), X)


def test_numbers_as_text(tmp_path: Path) -> None:
    cells = ["12", " 12 ", "+12", "12.0", "1.2e1", "12.5", "99999999999999999999", "-1e400", "inf", "nan", "twelve", ""]
    found = values(file(tmp_path, "x\n" + "\n".join(f'"{cell}"' for cell in cells)), WHOLE)
    assert found == {12: 5, 100: 2, -100: 1}  # whole values only; beyond the bounds, on the bounds


@pytest.mark.parametrize(
    "cells",
    [
        [1, 2, None, 2**70, -(2**70), 12.5],
        np.array([1, 2, np.nan, np.inf, -np.inf, 12.5]),
        np.array([1, 2, None, "1e30", float("-inf"), "x"], dtype=object),
        np.array(["1", "2", "", "inf", "-inf", "2.5"]),
        np.ma.masked_array([1, 2, 7, 10**9, -(10**9), 8], mask=[False, False, True, False, False, True]),
    ],
)
def test_arrays_hold_what_files_hold(cells: Any) -> None:
    assert values({"x": cells}, WHOLE) == {-100: 1, 1: 1, 2: 1, 100: 1}


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
)
def test_every_number_type_at_its_ends(dtype: str) -> None:
    info: Any = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    array = np.array([info.min, info.max, 3], dtype=dtype)
    wanted = {max(-100, int(info.min)): 1, 100: 1, 3: 1}
    import pandas as pd
    import polars as pl

    sources: list[object] = [{"x": array}, pd.DataFrame({"x": array})]
    sources += [pa.table({"x": array}), pl.DataFrame({"x": array})]
    for source in sources:
        assert values(source, WHOLE) == wanted


def test_arrow_types_that_hold_numbers() -> None:
    arrays = [
        pa.array([1, 2, None]).dictionary_encode(),
        pa.array(["1", "2", "x"], pa.large_string()),
        pa.array(["1", "2", None], pa.string_view()),
        pa.array([1, 2, None], pa.decimal128(20, 3)),
        pa.array([True, None], pa.bool_()),
        pa.array([None, None], pa.null()),
    ]
    found = [values(pa.table({"x": array}), WHOLE) for array in arrays]
    assert found == [{1: 1, 2: 1}] * 4 + [{1: 1}, {}]


def test_pandas_types_that_hold_numbers() -> None:
    import pandas as pd

    series = [
        pd.array([1, 2, None], dtype="Int64"),
        pd.array([1.0, 2.0, None], dtype="Float32"),
        pd.Categorical([1, 2, None]),
        np.array([1, "2", None], dtype=object),
        pd.array(["1", "2", None], dtype="string"),
        pd.array([1, 2, None], dtype=pd.ArrowDtype(pa.int32())),
    ]
    assert [values(pd.DataFrame({"x": one}), WHOLE) for one in series] == [{1: 1, 2: 1}] * 6


def test_anything_that_streams_arrow_is_a_table() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"y": [8, 9], "x": [1, 2]}).__arrow_c_stream__(requested_schema)

    assert values(Stream(), WHOLE) == {1: 1, 2: 1}
    assert values(pa.record_batch({"y": [8, 9], "x": [1, 2]}), WHOLE) == {1: 1, 2: 1}
    assert values(pa.table({"y": [[1]], "x": [1]}), WHOLE) == {1: 1}  # a nested column nobody asked for


def test_a_pattern_takes_the_files_that_fit_it(tmp_path: Path) -> None:
    folder = tmp_path / "odd [a-z]"
    folder.mkdir()
    for number in (1, 2):
        pq.write_table(pa.table({"x": [number]}), folder / f"t-{number}.parquet")
    pq.write_table(pa.table({"x": [9.0], "y": [1]}), folder / "t-3.parquet")
    assert values(folder / "t-*.parquet", WHOLE) == {1: 1, 2: 1, 9: 1}
    assert values(str(tmp_path / "*" / "t-1.parquet"), WHOLE) == {1: 1}
    pq.write_table(pa.table({"y": [1]}), folder / "t-4.parquet")
    assert "There is no column 'x'" in refused(folder / "t-*.parquet", WHOLE)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (pa.array(["3"]), "numbers and texts"),
        (pa.array([True]), "numbers and true and false"),
        (pa.array(["3"]).dictionary_encode(), "numbers and texts"),
        (pa.array([3.0]), ""),
        (pa.array([3], pa.uint64()), ""),
        (pa.array([3], pa.decimal128(9, 2)), ""),
        (pa.array([None], pa.null()), ""),
    ],
)
def test_files_of_a_pattern_whose_cells_are_not_read_alike_are_refused(
    cells: pa.Array, found: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t-1.parquet")
    pq.write_table(pa.table({"x": cells}), tmp_path / "t-2.parquet")
    place, schema = tmp_path / "t-*.parquet", Schema({"x": integer(0, 9)}, ALL)
    if found:
        said = f"column x holds {found}, in different files of t-*.parquet. They would not be read alike: "
        assert refused(place, schema) == f"{said}write it in all files with one type. Nothing was read."
        assert "Nothing was read." in refused(place, Schema({}, Person("add_remove", "x", rows=2)))
    else:
        assert values(place, schema) == {1: 1, 2: 1} | ({} if cells.null_count else {3: 1})


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (pa.array([12]), pa.array([12], pa.decimal128(9, 2)), "numbers and numbers with 2 digits behind the point"),
        (pa.array([12.0]), pa.array([12], pa.decimal128(9, 2)), "numbers and numbers with 2 digits behind the point"),
        (pa.array(["012"]), pa.array([12], pa.uint64()), "numbers and texts"),
        (pa.array(["012"]), pa.array([12], pa.decimal128(9, 0)), "numbers and texts"),
        (pa.array([10.0**10]), pa.array([10**10], pa.uint64()), "fractions and long numbers"),
        (pa.array([12]), pa.array([12], pa.uint64()), ""),
        (pa.array([2**53, 2**53 + 1]), pa.array([12.0, 12.0]), "fractions and whole numbers"),
        (pa.array([12]), pa.array([12], pa.decimal128(9, 0)), ""),
    ],
)
def test_a_person_is_one_in_all_files_of_a_pattern_or_they_are_refused(
    first: pa.Array, second: pa.Array, found: str, tmp_path: Path
) -> None:
    """Of typed numbers some are spelt 12 and some 12.00: one person had been two, each with rows of a whole one.

    Of whole numbers beside fractions two beyond 2^53 are one: who leaves would let the rows of another in.
    """
    for number, who in enumerate((first, second)):
        pq.write_table(pa.table({"who": who, "x": [1] * len(who)}), tmp_path / f"t-{number}.parquet")
    place = tmp_path / "t-*.parquet"
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=2))
    if found:
        assert f"column who holds {found}, in different files" in refused(place, schema)
    else:
        (persons,) = open_table(place, schema).run([DistinctPersons()], KEY)
        assert persons.vectors == ((1,),)


def test_a_file_without_a_date_leaves_the_dates_of_others_as_they_are(tmp_path: Path) -> None:
    """Its column may have no type at all; dates had then become texts, in another form than declared."""
    pq.write_table(pa.table({"d": pa.array([date(2024, 2, 3)])}), tmp_path / "t-1.parquet")
    pq.write_table(pa.table({"d": pa.array([None], pa.null())}), tmp_path / "t-2.parquet")
    schema = Schema({"d": rt.date("2024-01-01", "2024-12-31", format="dd.mm.yyyy")}, ALL)
    assert present(open_table(tmp_path / "t-*.parquet", schema), "d") == (2, 1)


def test_names_that_differ_only_in_case_are_different_columns(tmp_path: Path) -> None:
    schema = Schema({"x": integer(0, 9), "X": integer(0, 9)}, ALL)
    path = file(tmp_path, "x,X\n1,5\n,6\n")
    assert [present(open_table(path, schema), name) for name in ("x", "X")] == [(2, 1), (2, 2)]


def test_rows_without_a_person_are_no_ones(tmp_path: Path) -> None:
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=2))
    path = file(tmp_path, 'who,x\na,1\n,2\n"",3\nb,4\n\xff,5\nb,6\nb,7\n'.encode("latin-1"))
    rows, persons = open_table(path, schema).run([Rows(), DistinctPersons()], KEY)
    assert (rows.vectors, persons.vectors) == (((3,),), ((2,),))


@pytest.mark.parametrize("names", [[7, 7, 8], ["7", "7", "8"], [7.0, 7.0, 8.0], [True, True, False]])
def test_a_person_may_be_any_value(names: list[object]) -> None:
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=1))
    rows, persons = open_table({"who": names, "x": [1, 2, 3]}, schema).run([Rows(), DistinctPersons()], KEY)
    assert (rows.vectors, persons.vectors) == (((2,),), ((2,),))


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    A = "a"

    def __str__(self) -> str:
        return "Word.A"  # as a str that is an Enum has it


def _noon(hours: int) -> datetime.datetime:
    return datetime.datetime(2024, 5, 1, 12 + hours, tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))


def _one_person() -> dict[str, list[object]]:
    """Lists of cells that are equal in Python, or as NumPy or Arrow counts."""
    import pandas as pd

    day = datetime.datetime(2024, 5, 1)
    return {
        "twelve": [
            *(12, 12.0, Decimal("12.00"), Decimal("1.2E+1"), "12", np.int8(12), np.float32(12), np.longdouble(12)),
            *(Fraction(12), 12 + 0j, np.array(12.0), pa.scalar(12.0), b"12", bytearray(b"12"), np.str_("12")),
        ],
        "half": [0.5, Decimal("0.50"), Fraction(1, 2), "0.5", np.float16(0.5)],
        "tenth": [0.1, Decimal("0.10"), Fraction(1, 10)],
        "third": [Fraction(1, 3), Fraction(2, 6)],
        "zero": [0, 0.0, -0.0, Decimal("-0.0"), "0"],
        "long": [10**16, 1e16, Decimal("1E+16"), "10000000000000000"],
        "one": [1, Level.LOW, 1.0],
        "letter": ["a", Word.A, b"a", memoryview(b"a"), np.bytes_(b"a"), np.str_("a"), Spelt("a")],
        "day": [
            *(day, datetime.date(2024, 5, 1), pd.Timestamp(day), np.datetime64("2024-05-01"), "2024-05-01"),
            *(np.datetime64("2024-05-01", "ns"), np.datetime64("2024-05-01T00")),
        ],
        "noon": [_noon(0), _noon(2), pd.Timestamp(_noon(-5)), pd.Timestamp(_noon(0)).tz_convert("Asia/Tokyo")],
        "hour": [datetime.timedelta(hours=1), pd.Timedelta("1h"), np.timedelta64(1, "h"), np.timedelta64(3600, "s")],
        "complex": [2j, complex(-0.0, 2), np.complex64(2j), complex(0, 2.0)],
        "noon of any day": [datetime.time(12, tzinfo=datetime.UTC), _noon(3).timetz(), _noon(-2).timetz()],
        "nanoseconds": [pd.Timestamp(5), np.datetime64(5, "ns"), np.datetime64(5000, "ps"), pd.Timestamp(5).asm8],
        "short": [pd.Timedelta(5), np.timedelta64(5, "ns"), np.timedelta64(5000, "ps")],
        "interval": [pd.Interval(0, 1), pd.Interval(0.0, 1.0), pd.Interval(np.int64(0), np.float64(1))],
        "pair": [(12, "a"), (Decimal("12.00"), "a"), (12.0, Word.A), (np.int64(12), "a")],
        "nobody": [
            *(None, float("nan"), Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT, np.datetime64("NaT"), {1, 2}),
            *(pa.scalar(None, pa.int64()), Decimal("1E+999999999"), {"a": 1}, "", "\ud800"),
            *(range(0, 3, 2), range(0, 4, 2), slice(2), ({1}, "a"), ((frozenset(), 1), 2)),
        ],
    }


@pytest.mark.parametrize("name", list(_one_person()))
def test_cells_that_are_equal_are_one_person_whatever_their_types(name: str) -> None:
    import pandas as pd

    names = _one_person()[name]
    found = 0 if name == "nobody" else 1
    cells = np.empty(len(names), object)
    for nth, cell in enumerate(names):
        cells[nth] = cell
    place = list(range(len(names)))
    schema = Schema({"x": integer(0, 99)}, Person("add_remove", "who", rows=2))
    for who in (names, cells, pd.Series(cells, dtype=object)):
        source: object = {"who": who, "x": place}
        persons, rows = open_table(source, schema).run([DistinctPersons(), Rows()], KEY)
        assert (persons.vectors[0][0], rows.vectors[0][0]) == (found, 2 * found)


def test_cells_that_differ_are_several_persons() -> None:
    who = [2**53, 2**53 + 1, 0.1, Fraction(1, 10) + Fraction(1, 10**30), True, 1, "1.0", "01", " 1", "A", "a", "1/3"]
    who += [datetime.datetime(2024, 5, 1, 12), _noon(0), (1, "2"), ("1", "2"), ("1, 2",), 2**0.5, 1j]
    who += [np.datetime64(5, "ns"), np.datetime64(6, "ns"), np.timedelta64(5, "ns"), np.timedelta64(5, "ps"), (None,)]
    who += [np.datetime64(5, "ps"), datetime.time(12), datetime.time(12, tzinfo=datetime.UTC), _noon(1).time(), 1 - 1j]
    schema = Schema({"x": integer(0, 99)}, Person("add_remove", "who", rows=2))
    (persons,) = open_table({"who": who, "x": list(range(len(who)))}, schema).run([DistinctPersons()], KEY)
    assert persons.vectors == ((len(who),),)


@pytest.mark.parametrize(
    "array", [pa.array([1, None, 1]), pa.chunked_array([[1.0, None, 1.0]]), pa.array(["1", None, "1"])]
)
def test_a_dict_of_arrow_arrays_is_the_table_of_them(array: object) -> None:
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=2))
    for source in ({"who": array, "x": array}, pa.table({"who": array, "x": array})):
        persons, rows = open_table(source, schema).run([DistinctPersons(), Rows()], KEY)
        assert (persons.vectors, rows.vectors) == (((1,),), ((2,),))


def test_the_person_column_may_be_declared_as_a_column_too(tmp_path: Path) -> None:
    import polars as pl

    schema = Schema({"x": integer(0, 9), "y": integer(0, 9)}, Person("add_remove", "x", rows=1))
    rows = {"y": [5, 6, 7], "x": [1, 1, 2]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    csv_file = file(tmp_path, "y,x\n5,1\n6,1\n7,2\n")
    sources: list[object] = [rows, pa.table(rows), pl.DataFrame(rows), csv_file, tmp_path / "t.parquet"]
    for source in sources:
        tally, rows_kept = open_table(source, schema).run([Tally("x", among=(1, 2)), Rows()], KEY)
        assert (tally.vectors, rows_kept.vectors) == (((1, 1),), ((2,),))


def test_a_category_is_compared_as_it_was_declared(tmp_path: Path) -> None:
    path = file(tmp_path, 'x\n1\n1.0\n" 1"\ntrue\nTRUE\n0\nb\nB\n')

    def bins(*among: str | int | bool) -> tuple[int, ...]:
        schema = Schema({"x": category(among)}, ALL)
        return open_table(path, schema).run([Tally("x", among=among)], KEY)[0].vectors[0]

    assert bins(1, 0) == (3, 1)
    assert bins("1", "b") == (2, 1)
    assert bins(True, False) == (5, 1)


@pytest.mark.wide
def test_two_thousand_categories() -> None:
    among = [f"k{i}" for i in range(2000)]
    schema = Schema({"x": category(among)}, ALL)
    (result,) = open_table({"x": [*among, "k0", "zz"]}, schema).run([Tally("x", among=tuple(among))], KEY)
    assert result.vectors[0] == (2, *[1] * 1999)


# --- the handle -------------------------------------------------------------------------------------------------------

HANDLE = "X is a handle on private rows. Its length is a statistic: study.release([rt.count()], epsilon=…)."


@pytest.mark.parametrize("look", [len, list, bool, iter, np.asarray, lambda t: 1 in t, lambda t: t[0]])
def test_a_table_shows_nothing(look: Any) -> None:
    with pytest.raises(QuestionError) as why:
        look(open_table({"x": [1, 2]}, X))
    assert str(why.value) == HANDLE


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_table_cannot_be_copied(copied: Any) -> None:
    with pytest.raises(QuestionError, match="cannot be copied or pickled"):
        copied(open_table({"x": [1, 2]}, X))


def test_the_number_of_people_is_public_under_substitution_only(tmp_path: Path) -> None:
    rows = {"who": ["a", "a", None, "b"], "x": [1, 2, 3, 4]}
    assert open_table(rows, Schema({"x": real()}, Person("substitute", "who", rows=1))).units() == 2
    assert open_table(rows, Schema({"x": real()}, Person("substitute"))).units() == 4
    with pytest.raises(QuestionError, match="The number of people is private here"):
        open_table(rows, X).units()


def test_the_contract_is_light() -> None:
    modules = ", ".join(f"reticent.data.{name}" for name in ("schema", "query", "candidates", "spec", "table"))
    heavy = ("ibis", "duckdb", "pyarrow", "pandas", "polars", "sqlglot", "scipy")
    check = f"import sys, {modules}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.wide
def test_the_engine_tests_itself_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.data import table as tables
    from reticent.data.engines import duckdb as engine

    monkeypatch.setattr(engine, "_PASSED", set())
    ran: list[int] = []
    run = tables.Table.run

    def counted(table: tables.Table, queries: Sequence[Query], key: bytes) -> list[QueryResult]:
        ran.append(1)
        return run(table, queries, key)

    monkeypatch.setattr(tables.Table, "run", counted)
    for _ in range(3):
        open_table({"x": [1]}, X).probe()
    assert len(ran) == 1
    monkeypatch.setattr(engine, "_state", lambda digest: (digest, "another version"))
    open_table({"x": [1]}, X).probe()
    assert len(ran) == 2


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r'CASE WHEN ISNAN\(("t0"\."c\d")\) THEN .*? ELSE "t0"\."c\d" END', r"\1"),  # NaN is not missing
        (r"sha256", "md5"),
        (r"9007199254740992\.0", "9007199254740991.0"),
        (r'PARTITION BY ("t\d+"\."who")', r"PARTITION BY LOWER(\1)"),
    ],
)
def test_the_self_test_tells_engines_that_compute_something_else(
    right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.data import query_compiler
    from reticent.data.engines import duckdb as engine
    from reticent.data.table import EngineFailure

    write, changed = engine.DuckDBDialect.write, set()

    def other(dialect: engine.DuckDBDialect, expression: object) -> str:
        text = write(dialect, expression)
        found = re.sub(right, wrong, text, flags=re.IGNORECASE | re.DOTALL)
        changed.add(found != text)
        return found

    monkeypatch.setattr(engine, "_PASSED", set())
    monkeypatch.setattr(engine.DuckDBDialect, "write", other)
    query_compiler.forget()
    try:
        with pytest.raises(EngineFailure):
            open_table({"x": [1]}, X).probe()
    finally:
        query_compiler.forget()
    assert True in changed


def test_a_closed_table_is_refused() -> None:
    table = open_table({"x": [1]}, X)
    table.close()
    with pytest.raises(QuestionError, match="This table was closed"):
        table.run([Rows()], KEY)


CANARY = "zebra77123"


def test_no_value_of_a_row_is_in_a_message_a_repr_or_an_exception(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, f"x\n{CANARY}\n77123\n")
    table = open_table(path, X)

    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.data.engines.duckdb.DuckDBSession.rows", broken)
        with pytest.raises(EngineFailure) as failed:
            table.run([Rows()], KEY)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    memory = open_table({"x": np.array([77123.0])}, X)
    (result,) = memory.run([Ranks("x")], KEY)
    shown = [repr(failed.value), repr(table), repr(memory), str(memory), repr(result), repr(result.ranks[0])]
    shown += [repr(memory._source), caplog.text, *capfd.readouterr()]
    assert not any("77123" in text or "zebra" in text for text in shown)


def test_the_engine_failing_says_a_constant_and_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str]] = []
    table = open_table({"x": [1]}, X, log=lambda *entry: said.append(entry))

    def broken(*_: object) -> None:
        raise RuntimeError(f"{CANARY} {KEY.hex()}")

    monkeypatch.setattr("reticent.data.engines.duckdb.DuckDBSession.rows", broken)
    with pytest.raises(EngineFailure) as failed:
        table.run([Rows()], KEY)
    reference = failed.value.reference
    assert str(failed.value) == (
        f"The engine failed. Reference {reference}. The cause is in the curator's protected log, if one was set up."
    )
    assert said == [(reference, f"RuntimeError: {CANARY} …")]


@pytest.mark.parametrize("query", [Ranks("town"), Moments("town", GRID, 1), Total("town", GRID)])
def test_a_query_that_does_not_fit_is_refused_before_rows_are_read(query: Query) -> None:
    class Unread:
        dtype = np.dtype("O")
        ndim = 1

        def __len__(self) -> int:
            return 1

    table = open_table({"town": Unread()}, Schema({"town": category(["a"])}, ALL))
    with pytest.raises(QuestionError, match="town is a category, and this needs numbers"):
        table.run([query], KEY)


@pytest.mark.parametrize("place", ["s3://bucket/x.parquet", "https://a.example/x.csv", "abfss://c@a/*.parquet"])
def test_an_address_elsewhere_is_refused_and_says_which_engine_reads_it(place: str) -> None:
    with pytest.raises(SpecError, match="Spark reads object stores"):
        rt.study(place, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=1)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            "Cannot find catalog plugin class for catalog 'lake': org.apache.iceberg.spark.SparkCatalog.\n\tat x",
            "lacks the library of Iceberg for table lake.s.visits. Name it in spark-defaults.conf, in the release for "
            "your Spark: spark.jars.packages org.apache.iceberg:iceberg-spark-runtime",
        ),
        (
            "Cannot find catalog plugin class for catalog 'c': org.apache.spark.sql.delta.catalog.DeltaCatalog.",
            "spark.jars.packages io.delta:delta-spark",
        ),
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make", "spark.jars.packages io.delta:delta"),
        ("no table\n\tat org.apache.iceberg.spark.SparkCatalog.load", "has no table lake.s.visits that can be read"),
    ],
)
def test_a_missing_library_of_spark_is_named_with_the_setting_that_brings_it(
    error: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def table(name: str) -> object:
        raise RuntimeError(error)

    monkeypatch.setattr(spark_table, "started", lambda: SimpleNamespace(table=table))
    for asked in (
        lambda: spark_table.fields_in_spark("spark:lake.s.visits"),
        lambda: spark_table.open_catalog_table("spark:lake.s.visits", Schema({"x": real(0, 1)}, Person("add_remove"))),
    ):
        with pytest.raises(SpecError) as refused:
            asked()
        assert words in str(refused.value)
        assert "Nothing was read." in str(refused.value)


def _holed(file: Path) -> None:
    """Take bytes out of the rows, and leave the footer."""
    whole = file.read_bytes()
    file.write_bytes(whole[:50] + whole[-len(whole) // 2 :])


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _beheaded(file: Path) -> None:
    file.write_bytes(b"none" + file.read_bytes()[4:])


@pytest.mark.parametrize(
    ("damage", "said", "at_once"),
    [
        (_holed, "is damaged: its footer tells of rows that it lacks", False),
        (_cut, "is not a Parquet file, or its footer is damaged", True),
        (_beheaded, "is damaged: its footer tells of rows that it lacks", True),
    ],
)
def test_one_damaged_file_of_a_folder_is_named_by_its_footer(
    damage: Callable[[Path], None], said: str, at_once: bool, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": np.arange(10_000.0)}), tmp_path / f"{name}.parquet", row_group_size=1000)
    assert open_source(tmp_path / "*.parquet", X).storage == {"x": "real"}
    assert damaged(tmp_path / "*.parquet") == []
    damage(tmp_path / "b.parquet")
    assert refused(tmp_path / "*.parquet", X) == f"b.parquet {said}. No row was read."
    assert len(damaged(tmp_path / "*.parquet")) == at_once


def test_a_file_of_no_row_is_not_damaged_whoever_wrote_it(tmp_path: Path) -> None:
    """A day without rows, as some writers leave it: a group of none, whose pieces have no place in the file."""
    for name, rows in (("a", 0), ("b", 3)):
        table = pa.table({"x": np.arange(float(rows))})
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", table.schema, use_dictionary=False) as writer:
            for batch in table.to_batches() or [pa.record_batch(table.columns[0].chunks, names=["x"])]:
                writer.write_batch(batch)
    assert pq.read_metadata(tmp_path / "a.parquet").row_group(0).column(0).data_page_offset == 0
    table = open_table(tmp_path / "*.parquet", X)
    (found,) = table.run([Rows()], KEY)
    assert found.vectors == ((3,),)


def test_one_file_of_a_folder_without_a_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1.0]}), tmp_path / "b.parquet")
    assert refused(tmp_path / "*.parquet", X).startswith("There is no column 'x' in b.parquet")
