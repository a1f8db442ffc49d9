"""Partitions that never change: kept counts give what all rows give, and only new partitions are read."""

from __future__ import annotations

import io
import itertools
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent as rt
from reticent.cli.options import _engaged
from reticent.cli.output import Voice
from reticent.cli.release import watched
from reticent.data import partitions
from reticent.data.files import ParquetFiles
from reticent.data.format import Limits
from reticent.data.order_statistics import Needs
from reticent.data.partitions import FOLDER, PartitionedTable, in_partitions
from reticent.data.query import KeyHolders, Keys, Moments, OrderedValues, Query, Ranks, Records, Rows, Tally
from reticent.data.query_result import QueryResult, content
from reticent.data.schema import Person, Schema, Text, grid_by_width, real
from reticent.data.table import open_table
from reticent.errors import Refusal, SpecError
from tests.engines.test_against_reference import SECRET, arrays, columns, queries, random_rows

DAYS = ("2026-01-30", "2026-01-31", "2026-02-01")


def written(folder: Path, day: str, cells: Any, name: str = "a") -> None:
    import pyarrow.parquet as pq

    at = folder / f"day={day}"
    at.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(cells), at / f"{name}.parquet")


def visits(folder: Path, days: Sequence[str] = DAYS) -> str:
    chance = random.Random(7)
    for day in days:
        for name in "ab":
            cells = {"x": [chance.gauss(5, 2) for _ in range(60)], "g": [chance.choice("uvw") for _ in range(60)]}
            written(folder, day, cells, name)
    return f"{folder}/day=*/*.parquet"


SCHEMA = Schema({"x": real(0, 10), "g": rt.category(["u", "v"])}, Person("add_remove"))
ASKED: list[Query] = [
    Rows(),
    Rows(Keys("g", ("v", "u"), 1)),
    Moments("x", grid_by_width(Fraction(0), Fraction(10)), 4, Keys("g", ("v", "u"), 1)),
    Tally("x", edges=(Fraction(0), Fraction(5), Fraction(10))),
    Ranks("x", Keys("g", ("u", "v"), 1)),
    OrderedValues("x", Fraction(1, 8)),
    OrderedValues("x", Fraction(1, 8), Needs(((-1, 3), (60, 70)), ((0, 4), (20, 500))), Keys("g", ("u", "v"), 1)),
    Records(("x",), (Fraction(1, 8),)),
]


def table_of(source: str, changed: list[str] | None = None) -> PartitionedTable:
    return in_partitions(open_table(source, SCHEMA), "day", None if changed is None else changed.append)


def whole(source: str) -> list[object]:
    return [content(one) for one in open_table(source, SCHEMA).run(ASKED, SECRET)]


def answers(table: PartitionedTable) -> list[object]:
    return [content(one) for one in table.run(ASKED, SECRET)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Days of the files that are read from now on, but for the records of all."""
    found: list[str] = []
    batches = ParquetFiles.batches

    def noted(self: ParquetFiles, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        days = {file.parent.name.removeprefix("day=") for file in self.files}
        if len(days) == 1:
            found.extend(days)
        return batches(self, names)

    monkeypatch.setattr(ParquetFiles, "batches", noted)
    return found


def test_kept_counts_give_what_all_rows_give_and_only_a_new_day_is_read(tmp_path: Path, read: list[str]) -> None:
    source = visits(tmp_path, DAYS[:2])
    table = table_of(source)
    assert answers(table) == whole(source)
    assert read == [*DAYS[:2]]
    assert answers(table_of(source)) == whole(source)
    assert read == [*DAYS[:2]]  # none was read again
    visits(tmp_path, DAYS[2:])
    assert answers(table_of(source)) == whole(source)
    assert read == [*DAYS]


def test_a_question_more_reads_for_itself_alone_and_another_schema_shares_nothing(
    tmp_path: Path, read: list[str]
) -> None:
    source = visits(tmp_path, DAYS[:1])
    table, expected = table_of(source), whole(source)
    read.clear()
    table.run(ASKED[:2], SECRET)
    assert [content(one) for one in table.run(ASKED[:4], bytes(32))] == expected[:4]
    assert read == [DAYS[0], DAYS[0]]
    table.run(ASKED[1:4], bytes(32))
    assert len(read) == 2
    other = Schema({"x": real(0, 5), "g": rt.category(["u", "v"])}, Person("add_remove"))
    narrow = in_partitions(open_table(source, other), "day")
    found = content(narrow.run([ASKED[4]], SECRET)[0])
    assert len(read) == 3
    assert found == content(open_table(source, other).run([ASKED[4]], SECRET)[0])


@pytest.mark.wide
@pytest.mark.loop(1)  # every kind of query, once with groups and once without or with others
@pytest.mark.parametrize("part", range(3))
def test_every_query_over_random_tables_is_merged_exactly(part: int, tmp_path: Path) -> None:
    stream = random.Random(19)
    schema = Schema(columns(), Person("add_remove"), texts={"who": Text(5)})
    asked = [*queries()[part::3], KeyHolders("who", 1)]
    rows = pa.table({name: pa.array(cells) for name, cells in arrays(random_rows(stream, 120)).items()})
    for day, first, last in (("1", 0, 70), ("2", 70, 71), ("3", 71, 71), ("4", 71, 120)):
        written(tmp_path, day, rows.slice(first, last - first))
    source = f"{tmp_path}/day=*/*.parquet"
    expected = [content(one) for one in open_table(source, schema).run(asked, SECRET)]
    for _ in range(2):  # read, then kept
        table_ = in_partitions(open_table(source, schema), "day")
        assert [content(one) for one in table_.run(asked, SECRET)] == expected


@pytest.mark.wide
def test_a_changed_partition_is_read_again_and_told_to_the_curator_alone(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = visits(tmp_path, DAYS[:2])
    answers(table_of(source))
    read.clear()
    written(tmp_path, DAYS[1], {"x": [9.0] * 3, "g": ["u"] * 3}, "b")
    changed: list[str] = []
    assert answers(table_of(source, changed)) == whole(source)
    assert (read, changed) == ([DAYS[1]], [f"day={DAYS[1]}"])
    assert answers(table_of(source, changed)) == whole(source)
    assert len(changed) == 1
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=2)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, told in ((io.StringIO(), 0), (Terminal(), 1)):
        monkeypatch.setattr("sys.stderr", stream)
        voice = Voice()
        callback = watched(study, voice).on_changed
        if callback is not None:
            callback("day=2026-01-31")
        voice.receipt("r-0001")
        assert stream.getvalue().count("day=2026-01-31") == told


@pytest.mark.wide
def test_what_is_kept_is_for_its_owner_and_a_damaged_part_of_it_is_read_again(tmp_path: Path, read: list[str]) -> None:
    source = visits(tmp_path, DAYS[:2])
    answers(table_of(source))
    folder = tmp_path / FOLDER
    kept = sorted(folder.iterdir())
    assert [file.stat().st_mode & 0o777 for file in (folder, *kept)] == [0o700, 0o600, 0o600]
    for damage in (lambda told: told[:-30], lambda told: told.replace(b"[", b"[1, ", 1), lambda told: b""):
        kept[0].write_bytes(damage(kept[0].read_bytes()))
        expected = whole(source)
        read.clear()
        assert answers(table_of(source)) == expected
        assert len(read) == 1
    folder.chmod(0o750)
    with pytest.raises(SpecError, match="others may read it"):
        table_of(source)
    folder.chmod(0o700)
    other = tmp_path / "other"
    folder.rename(other)
    folder.symlink_to(other)
    with pytest.raises(SpecError, match="yours alone"):
        table_of(source)


def test_a_full_disk_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = visits(tmp_path, DAYS[:1])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(partitions, "replace_file", full)
    assert answers(table_of(source)) == whole(source)


def test_counts_of_files_that_changed_while_they_were_read_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, seconds = visits(tmp_path, DAYS[:1]), itertools.count()
    batches = ParquetFiles.batches

    def changing(self: ParquetFiles, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from batches(self, names)
        os.utime(self.files[0], times=(1, next(seconds)))

    monkeypatch.setattr(ParquetFiles, "batches", changing)
    answers(table_of(source))
    assert not (tmp_path / FOLDER).exists()


def study_of(source: object, **more: Any) -> rt.Study:
    told: dict[str, Any] = {"adjacency": "add_remove", "columns": {"x": rt.real(0, 10)}, "budget": 10} | more
    return rt.study(source, **told)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"person": "g", "rows_each": 2}, r"each row to be another person.*Leave partitions out.*write rows_each=1"),
        ({"engine": {"partitions": "month"}}, 'month"? needs Parquet files in folders'),
        ({"engine": {"partitions": 3}}, "partitions names a column of folders"),
        ({"tables": {"t": rt.table({"g": ["u"], "n": [1]}, public=True, key="g")}}, "no further table"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_the_charge(more: dict[str, Any], words: str, tmp_path: Path) -> None:
    source = visits(tmp_path, DAYS[:1])
    columns = {"x": rt.real(0, 10), "g": rt.category(["u", "v"])}
    with pytest.raises(SpecError, match=words):
        study_of(source, **({"engine": {"partitions": "day"}, "columns": columns} | more)).release(["count"], epsilon=1)
    assert not (tmp_path / FOLDER).exists()


def test_a_source_without_folders_and_another_engine_are_refused(tmp_path: Path) -> None:
    for source in ({"x": [1.0, 2.0]}, visits(tmp_path, DAYS[:1]).replace("day=*", f"day={DAYS[0]}")):
        study = study_of(source, engine={"partitions": "day"})
        with pytest.raises(SpecError, match="needs Parquet files in folders"):
            study.release(["count"], epsilon=1)
        assert study.left().epsilon == 10  # type: ignore[union-attr]


@pytest.mark.wide
def test_a_release_charges_and_answers_as_one_that_keeps_nothing(tmp_path: Path, read: list[str]) -> None:
    source = visits(tmp_path)
    asked = ["count", "mean(x)", "median(x)", "histogram(x, edges=0:10:5)"]
    plain, kept = study_of(source), study_of(source, engine={"partitions": "day"})
    for study in (plain, kept, kept):
        made = study.same_people().release(asked, epsilon=2)
        assert abs(made["count"].value - 360) < 60  # noise of epsilon .5: P(> 60) is e^-30
    assert read == [*DAYS]
    assert plain.left().epsilon == 8  # type: ignore[union-attr]
    assert kept.left().epsilon == 6  # type: ignore[union-attr]
    assert Limits(partitions="day") != Limits()
    with pytest.raises(Refusal, match="unknown key"):
        kept.release(asked, epsilon=1, limits={"partitions": "day"})


def test_a_study_file_names_its_partitions(tmp_path: Path) -> None:
    visits(tmp_path / "visits", DAYS[:2])
    (tmp_path / "s.toml").write_text(
        '[study]\ntitle = "V"\nsource = "visits/day=*/*.parquet"\nledger = "v.ledger"\n[person]\nrows = "one_each"\n'
        'adjacency = "add_remove"\n[engine]\npartitions = "day"\n[budget]\nepsilon = "3"\n[columns.x]\nkind = "real"\n'
        'low = 0\nhigh = 10\nwhy = "a scale"\n'
    )
    study = rt.open(tmp_path / "s.toml")
    assert _engaged(replace(study, spec=replace(study.spec, limits=Limits())), ["partitions=day"]).spec == study.spec
    made = study.release(["count"], epsilon=1)
    assert made["count"].value is not None
    assert len(list((tmp_path / "visits" / FOLDER).iterdir())) == 2


@pytest.mark.wide
def test_a_sum_over_parts_that_forgets_one_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with all rows rejects a merge that loses a part, and one that counts a part twice."""
    source = visits(tmp_path)
    merged = partitions.merged

    def mutant(results: Sequence[QueryResult], query: Query) -> QueryResult:
        return merged([*results, results[0]] if twice else results[:-1], query)

    monkeypatch.setattr(partitions, "merged", mutant)
    for twice in (False, True):  # noqa: B007 - the mutant looks at it
        assert all(one != other for one, other in zip(answers(table_of(source))[:-1], whole(source), strict=False))
