"""The header line: no row gets into it, and no refusal repeats a word of it that is not declared."""

from __future__ import annotations

import gzip
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.data.format import LONGEST_NAME
from reticent.data.header import delimiter_hint, delimiter_of, looks_like_data
from reticent.data.schema import Column, Person, Schema
from reticent.data.source import names_of, open_source
from reticent.data.study_file import parse_spec
from reticent.data.template import skeleton, skeleton_words
from reticent.errors import SpecError
from tests.support.cli_kit import run

PERSON = {"adjacency": "add_remove", "rows": "one_each"}


def file(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def compressed(content: bytes, ending: str) -> bytes:
    return gzip.compress(content) if ending.endswith(".gz") else bytes(pa.Codec("zstd").compress(content))


def refused(path: Path, **more: Any) -> str:
    with pytest.raises(SpecError) as refusal:
        skeleton(path, **more)
    return str(refusal.value)


@pytest.mark.parametrize(
    "header",
    [
        '"id,age\n48213771,34\n48213772,35\n',
        'id,"age\n34"\n1,2\n',
        'id,"age\r34"\r1,2\r',
        'id,ag"e\n' + '"1,2\n' * 9 + '"',
        f"id,{'a' * (LONGEST_NAME + 1)}\n1,2\n",
        "id,a\x0bge\n1,2\n",
        "id,a\u2028ge\n1,2\n",
        "id\tage\n1\t2\n",
        f"id,{'x' * (1 << 20)}\n",
    ],
)
def test_a_header_that_is_not_short_names_on_one_line_is_refused(header: str, tmp_path: Path) -> None:
    path = file(tmp_path, header)
    if header.startswith('id,ag"e'):  # a quote inside a plain name is a letter of it; nothing is left open
        assert list(names_of(path)) == ["id", 'ag"e']
        return
    said = refused(path, header="names")
    assert not any(token in said for token in ("48213771", "aaa", "age", "34"))


def test_names_of_the_longest_length_and_closed_quotes_are_read(tmp_path: Path) -> None:
    long = "a" * LONGEST_NAME
    path = file(tmp_path, f'"a ""b"", c",{long}\n1,2\n')
    assert list(names_of(path)) == ['a "b", c', long]


PERSONS = [
    ["48213771", "34", "Berlin"],
    ["Ada", "1815-12-10", "London"],
    ["Ada", "10 Dec 1815", "London"],
    ["Ada", "Dec. 10, 1815", "London"],
    ["Ada", "12:30", "London"],
    ["ada@example.org", "f", "London"],
    ["DE89370400440532013000", "f", "London"],
    ["0b54ab3c-aaaa-bbbb-cccc-ddddeeeeffff", "f", "London"],
    ["Ada", "-1.5e3", "London"],
    ["Ada", "", "London"],
    ["yes", "no", "maybe", "yes"],
    ["Ada", "NA", "London"],
    ["Ada", "true", "London"],
    ["Ada", "€ 12", "12 kg"],
    ["Ada", "?", "London"],
    ["Ada", "1,977.61", "London"],
]
NAMES = [
    ["id", "age", "town"],
    ["who", "y1", "y2", "q12", "income2019"],
    ["Größe", "年齢", "maybe", "february"],
    ["mean of x", "p.value", "no", "male", "Sex (f/m)"],
    ["x"],
]


@pytest.mark.parametrize("cells", PERSONS)
def test_a_first_line_with_a_value_stops_init_until_it_is_said_to_hold_names(cells: list[str], tmp_path: Path) -> None:
    path = file(tmp_path, ",".join(f'"{cell}"' for cell in cells) + "\n")
    said = refused(path)
    assert "--header-is-names" in said
    assert not any(cell in said for cell in cells if len(cell) > 3)
    assert said == refused(file(tmp_path, "5\n"))  # the same words whatever was found
    assert "[columns" in skeleton(path, header="names")


@pytest.mark.parametrize("names", NAMES)
def test_a_first_line_of_names_is_taken_for_one(names: list[str], tmp_path: Path) -> None:
    assert not looks_like_data(names)
    skeleton(file(tmp_path, ",".join(names) + "\n"))


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("id;age;town", ";"),
        ("id,age,town", ","),
        ("id\tage", "\t"),
        ("id|age", "|"),
        ("id", ","),
        ('"a;b;c",x', ","),
        ("price, in euro;age;town", ";"),
    ],
)
def test_the_header_line_shows_the_delimiter(line: str, sign: str) -> None:
    assert delimiter_of(line) == sign


def test_a_first_name_that_is_empty_is_left_out_and_said(tmp_path: Path) -> None:
    path = file(tmp_path, '"","age","town"\n"1",34,"Berlin"\n')  # as R and pandas write a table
    text = skeleton(path)
    assert "[columns.age]" in text
    assert '[columns.""]' not in text
    assert "A column without a name is left out" in text
    said = skeleton_words(names_of(path), "t.toml")
    assert "A column without a name is left out" in said
    assert "wrote t.toml: 2 columns" in said
    for cells in (["age", "", "town"], [""], ["", ""], ["", "34", "Berlin"]):
        assert looks_like_data(cells)


def test_a_delimiter_at_the_end_of_each_line_makes_no_column(tmp_path: Path) -> None:
    path = file(tmp_path, "\ufeffNr;Alter;Ort;\n1;34;Berlin;\n2;41;Bonn;\n")
    text = skeleton(path, delimiter=";")
    assert [line for line in text.splitlines() if line.startswith("[columns")] == [
        "[columns.Nr]",
        "[columns.Alter]",
        "[columns.Ort]",
    ]
    assert "A column without a name is left out" in text
    assert not looks_like_data(["Nr", "Alter", ""])
    for cells in (["Nr", "", ""], ["Nr", "34", ""], ["Nr", "Nr", ""], ["Nr", " "]):
        assert looks_like_data(cells)


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst"])
def test_a_compressed_file_is_asked_for_its_names(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"visits{ending}"
    path.write_bytes(compressed(b"id;age\n48213771;34\n" * 2000, ending))
    text = skeleton(path, delimiter=";", dates=["age"])
    assert 'title  = "visits"' in text
    assert 'ledger = "visits.ledger"' in text
    assert '[columns.age]\nkind = "date"' in text
    assert "48213771" not in text
    path.write_bytes(path.read_bytes()[:9])
    assert "compression is damaged" in refused(path)


def test_a_date_that_is_no_column_is_refused(tmp_path: Path) -> None:
    assert "No column is called 'agee'" in refused(file(tmp_path, "id,age\n"), dates=["agee"])


def test_the_first_line_alone_decides(tmp_path: Path) -> None:
    for behind in ("", "1,2\n", '"\n', "a,b\n" * 1000, "\xff\xfe\x00"):
        skeleton(file(tmp_path, f"id,age\n{behind}"))
        refused(file(tmp_path, f"7,age\n{behind}"))


def test_a_parquet_file_without_names_of_its_own_is_stopped_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"48213771": [1], "34": [2]}), tmp_path / "t.parquet")
    assert "48213771" not in refused(tmp_path / "t.parquet")
    assert "48213771" in skeleton(tmp_path / "t.parquet", header="names")


def test_init_stops_and_writes_nothing_until_told(tmp_path: Path) -> None:
    path = file(tmp_path, "48213771,34\n48213772,35\n")
    stopped = run("init", str(path))
    assert stopped.code == 5
    assert "48213771" not in stopped.out + stopped.err
    assert not (tmp_path / "t.toml").exists()
    assert run("init", str(path), "--header-is-names").code == 0
    assert "48213771" in (tmp_path / "t.toml").read_text()


# --- the class: whatever is refused, no name that is not declared is said ---------------------------------------------

TOKENS = ("48213771", "Adalovelace", "agee", "idd", "1815-12-10")  # near to declared names, so that hints would show


def tables(folder: Path) -> Iterator[object]:
    import pandas as pd
    import polars as pl

    columns = {name: [1.0] for name in TOKENS}
    yield file(folder, ",".join(TOKENS) + "\n1,2,3,4,5\n", "plain.csv")
    yield file(folder, ",".join([*TOKENS, "age", "age"]) + "\n", "twice.csv")
    yield file(folder, ",".join(TOKENS) + ',"age\n1\n', "open.csv")
    yield file(folder, ",".join([*TOKENS, "a" * 200]) + "\n", "long.csv")
    yield file(folder, ",".join(TOKENS).encode() + b",\xff\n", "bytes.csv")
    yield file(folder, ";".join(TOKENS) + "\n", "semicolons.csv")
    pq.write_table(pa.table(columns), folder / "t.parquet")
    yield folder / "t.parquet"
    yield columns
    yield {**columns, "Adalovelace": np.zeros((2, 2)), "age": [1], "id": ["a"]}
    yield {**columns, "48213771": [1, 2]}
    yield pd.DataFrame(columns)
    yield pl.DataFrame(columns)
    yield pl.LazyFrame(columns)
    yield pa.table(columns)
    yield pa.table({**columns, "id": pa.array([[1]])})


def asking(source: object) -> Iterator[Callable[[], object]]:
    declared: dict[str, Column] = {"age": rt.integer(0, 120), "id": rt.category(["a", "b"])}

    def study() -> rt.Study:
        return rt.study(source, adjacency="add_remove", columns=declared, budget="9")

    yield lambda: study().release(["mean(age)"], epsilon="1")
    yield lambda: study().release(["mean(agee)"], epsilon="1")
    yield lambda: study().release(["count by idd"], epsilon="1")
    yield lambda: study().plan(["mean(ages)"], epsilon="1")
    yield lambda: open_source(source, Schema(declared, Person("add_remove")))
    if isinstance(source, Path):
        yield lambda: skeleton(source)
        yield lambda: skeleton(source, header="names") and None
        named = {"source": str(source), "encoding": "ascii"}
        columns = {"age": {"kind": "real"}, "id": {"kind": "category", "among": ["a"]}}
        tables = {"study": named, "person": PERSON, "budget": {"epsilon": "1"}, "columns": columns}
        yield lambda: open_source(source, parse_spec(tables, source.parent).schema)


ASKED = ("agee", "idd")


def words_of(ask: Callable[[], object]) -> tuple[str, BaseException | None]:
    """The words of a refusal and its cause; nothing where there is none."""
    try:
        ask()
    except rt.Refusal as refusal:
        return "".join(traceback.format_exception_only(refusal)), refusal.__cause__
    return "", None


def test_no_refusal_says_a_name_of_the_source_that_is_not_declared(tmp_path: Path) -> None:
    refusals = 0
    for source in tables(tmp_path):
        for ask in asking(source):
            said, cause = words_of(ask)
            refusals += said != ""
            for token in TOKENS:  # those of ``ASKED`` are typed by whoever asks, once each
                assert said.count(token) <= (token in ASKED and f"'{token}'" in said), said
            assert cause is None
    assert refusals > 50


def test_no_verb_says_a_name_of_the_source_that_is_not_declared(tmp_path: Path) -> None:
    path = file(tmp_path, ",".join(TOKENS) + "\n1,2,3,4,5\n")
    study = tmp_path / "s.toml"
    study.write_text(
        '[study]\nsource = "t.csv"\nledger = "l.ledger"\n[person]\nadjacency = "add_remove"\nrows = "one_each"\n'
        '[budget]\nepsilon = "1"\n[columns.age]\nkind = "real"\nlow = 0\nhigh = 9\n'
    )
    for words in (("release", str(study), "--ask", "mean(age)", "--epsilon", "1", "--yes"), ("init", str(path))):
        found = run(*words)
        assert found.code == 5
        assert not any(token in found.out + found.err for token in TOKENS)


@pytest.mark.parametrize(
    ("sign", "shown"), [(";", "';' in it: delimiter = \";\""), ("\t", 'a tab in it: delimiter = "\\t"')]
)
def test_another_delimiter_in_the_header_is_told_wherever_a_column_is_missing(
    sign: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"age{sign}sex{sign}x\n44{sign}f{sign}1\n", "utf-8")
    with pytest.raises(SpecError) as refused:
        rt.study(tmp_path / "t.csv", adjacency="add_remove", columns={"age": rt.integer(0, 9)}, budget=1)
    assert shown.replace(" = ", "=") in str(refused.value)  # an argument
    (tmp_path / "t.toml").write_text(
        '[study]\nsource = "t.csv"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n[budget]\nepsilon = "1"\n'
        '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 9\n[[release]]\nname = "a"\nepsilon = "1"\nask = ["count"]\n',
        "utf-8",
    )
    for verb in ("check", "doctor"):
        found = run(verb, str(tmp_path / "t.toml"))
        assert found.code != 0
        assert shown in found.said
    (tmp_path / "broken.toml").write_text((tmp_path / "t.toml").read_text().replace("add_remove", "none"), "utf-8")
    assert (shown in run("check", str(tmp_path / "broken.toml")).said) is (sign == ";")  # names of a tab file are none


@pytest.mark.parametrize(
    ("line", "delimiter"), [("a,b", ","), ("a,b;c", ","), ("a", ","), ('"a;b;c",d', ","), ("a|b|c", "|")]
)
def test_a_header_of_the_declared_delimiter_raises_no_question(line: str, delimiter: str) -> None:
    assert delimiter_hint(line, delimiter) == ""


def test_a_title_a_repeated_name_and_a_row_have_one_answer_that_names_each(tmp_path: Path) -> None:
    """The words do not depend on the line, which may be a person's; each case is told what to do."""
    said = set()
    for line in ("a,b,a", "Table 1,,", "1,2,3"):
        (tmp_path / "t.csv").write_text(f"{line}\n1,2,3\n", "utf-8")
        said.add(run("init", str(tmp_path / "t.csv"), "--out", str(tmp_path / "t.toml")).err)
    (words,) = said
    for advice in ("twice, or empty? Rename", "a title above the names? Delete", "a row? Write a header"):
        assert advice in words.replace("\n", " ")
