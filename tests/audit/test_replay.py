"""Record-replay of random plans on random neighbours: nothing exceeds; and broken plans, each of which is refuted.

Most triples here read their rows by the reference evaluator (``Referenced``), which is compared with the engine in
``tests/engines`` and again below; the rest, the mutants and the long tier run on the engine itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.conformance import plan_audit as audit_plan
from reticent.conformance.diffs import alike
from reticent.conformance.neighbours import MOODS, Family, KeyedDice, MemoizedTable, families, family
from reticent.conformance.plan_audit import audit
from reticent.conformance.reader_replay import engine
from reticent.conformance.replay import STYLES, Finding, QueryRunner, Replayer, RunComparison, Tape, replay
from reticent.conformance.schemas import random_plan, random_schema
from reticent.data import query as asked_of
from reticent.data import query_compiler, query_expressions, source
from reticent.data.candidates import cells_of
from reticent.data.engines import casts, row_choice
from reticent.data.engines.row_choice import RowChoice
from reticent.data.files import CsvFile, ParquetFiles
from reticent.data.json_lines import JsonLines
from reticent.data.query import KeyHolders, OrderedValues, Query, Ranks, Records, Tally, stability
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.spreadsheet import Spreadsheet
from reticent.entropy import Entropy, Replayed, SystemEntropy
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.cost import Cost
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, L2, Linf
from reticent.statistics import context, public_facts, ranks
from reticent.statistics.answer import Answer
from reticent.statistics.context import Step
from reticent.statistics.counts import count_step as counts
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest, OfTest
from reticent.statistics.moments import moment_step as moments
from reticent.statistics.moments import proportion_step as proportions
from reticent.statistics.quantiles import quantile_step as quantiles
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.quantiles.quantile_draws import QuantileDraws
from reticent.study import release
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from tests.assurance import reader_rows
from tests.assurance.reader_rows import uneven
from tests.support.data_reference import Reference

COLUMNS: dict[str, Column] = {"x": real(0, 10), "k": integer(0, 100), "g": category(["a", "b", "c"])}


class Referenced:
    """A table of a family, read by the reference evaluator."""

    def __init__(self, made: Family, place: int) -> None:
        self.schema = made.schema
        columns = {name: _cells(column) for name, column in made.columns(place).items()}
        size = len(made.tables[place])
        self.rows = [{name: cells[nth] for name, cells in columns.items()} for nth in range(size)]
        self.known: dict[tuple[tuple[Query, ...], bytes], list[QueryResult]] = {}

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        asked = (tuple(queries), key)
        if asked not in self.known:
            found = Reference(self.schema, self.rows, query_compiler.columns_of(queries, self.schema), key, queries)
            self.known[asked] = [self._result(found, query) for query in queries]
        return self.known[asked]

    def _result(self, found: Reference, query: Query) -> QueryResult:
        if not isinstance(query, Ranks):
            return QueryResult(vectors=found.answer(query))
        cells = cells_of(self.schema.column(query.column), query.column)
        return QueryResult(
            ranks=tuple(_counts(cells.index(np.array(list(v), dtype=np.float64)), v) for v in found.values(query))
        )


def _cells(column: Any) -> list[Any]:
    if isinstance(column, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(column).tolist()
        return [None if gone else cell for cell, gone in zip(np.ma.getdata(column).tolist(), masked, strict=True)]
    return list(column) if isinstance(column, list) else list(column.tolist())


def _counts(index: Any, values: dict[float, int]) -> Counts:
    cells, inverse = np.unique(index, return_inverse=True)
    sums = np.zeros(len(cells), dtype=np.int64)
    np.add.at(sums, inverse, np.array(list(values.values()), dtype=np.int64))
    return Counts(cells.astype(np.int64), sums)


def compared(
    prepared: PreparedRelease, made: Family, opened: Callable[[Family, int], QueryRunner], turn: int = 0
) -> Iterator[RunComparison]:
    """Every pair of a family, with the tapes in turn."""
    replayer, held = Replayer(prepared), [opened(made, place) for place in range(len(made.tables))]
    for nth, pair in enumerate(made.pairs):
        tape = Tape(STYLES[nth % len(STYLES)], nth, turn)
        yield replayer.compare(held[pair.here], held[pair.there], tape, same=pair.same)


def by_reference(
    prepared: PreparedRelease, opened: Callable[[Family, int], QueryRunner]
) -> Callable[[Family, int], QueryRunner]:
    """The reference where it knows what a plan asks; it does not list records, or values in order."""
    asked = (query for step in prepared.all_steps for query in step.queries)
    return opened if any(isinstance(query, KeyHolders | OrderedValues | Records) for query in asked) else Referenced


def made_up(key: object) -> tuple[PreparedRelease, Iterator[Family]]:
    """A plan and families of tables for it, from a key."""
    dice = KeyedDice(f"replay {key}")
    schema = random_schema(dice)
    return random_plan(schema, dice), families(schema, f"families {key}")


# --- random plans on random neighbours --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_engine() -> Iterator[Callable[[Family, int], QueryRunner]]:
    with engine() as opened:
        yield opened


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(key=st.integers(min_value=0, max_value=2**32))
def test_no_pair_of_neighbours_exceeds_what_is_declared(
    key: int, on_engine: Callable[[Family, int], QueryRunner]
) -> None:
    prepared, found = made_up(key)
    next(found)
    for comparison in compared(prepared, next(found), by_reference(prepared, on_engine)):
        assert comparison.findings == ()


@pytest.mark.wide
@pytest.mark.parametrize("key", range(2))
def test_no_pair_of_neighbours_exceeds_what_is_declared_on_the_engine(key: int) -> None:
    prepared, found = made_up(f"engine {key}")
    with engine() as opened:
        for comparison in compared(prepared, next(found), opened):
            assert comparison.findings == ()


@pytest.mark.wide
def test_the_reference_reads_these_tables_as_the_engine_does() -> None:
    prepared, found = made_up("both")
    queries = list(dict.fromkeys(query for step in prepared.all_steps for query in step.queries))
    with engine() as opened:
        made = next(found)
        for place in range(0, len(made.tables), 3):
            one, other = (table.run(queries, bytes(32)) for table in (opened(made, place), Referenced(made, place)))
            assert alike(one, other)


@pytest.mark.wide
def test_everything_is_reached(on_engine: Callable[[Family, int], QueryRunner]) -> None:
    """Every mechanism of a statistic, both relations, replies and refusals: so that 'no excess' says something."""
    drawn: Counter[str] = Counter()
    relations, currencies, largest = set(), set(), Fraction(0)
    for key in range(28):
        prepared, found = made_up(f"reach {key}")
        relations.add((prepared.guarantee.adjacency.kind, prepared.guarantee.adjacency.rows > 1))
        currencies.add(type(prepared.guarantee.loss).__name__)
        for nth, comparison in enumerate(compared(prepared, next(found), by_reference(prepared, on_engine))):
            drawn.update(seen.mechanism for seen in comparison.calls)
            largest = max([largest, *(seen.ratio for seen in comparison.calls if seen.ratio is not None)])
            if nth == 8:
                break
    assert drawn["Geometric"] > 100
    assert drawn["Exponential"] > 100
    assert len(relations) == 4
    assert currencies == {"PureDP", "ZCDP", "ApproxDP"}
    assert largest == 1


@pytest.mark.wide
def test_each_kind_of_test_is_made_and_none_exceeds(on_engine: Callable[[Family, int], QueryRunner]) -> None:
    """A few plans of tests, the first of each kind and relation, on a few pairs."""
    seen: set[tuple[str, str]] = set()
    every = set(get_args(OfTest)) - {"auto"}
    for key in range(2_000):
        if {kind for kind, _ in seen} == every:
            break
        dice = KeyedDice(f"tests {key}")
        schema = random_schema(dice)
        prepared = random_plan(schema, dice, 2, [HypothesisTest])
        asked = {found[1] for step in prepared.steps if (found := re.search(r"^test\(.*kind=(\w+)", step.name))}
        kinds = {(kind, schema.person.adjacency) for kind in asked}
        if kinds <= seen:
            continue
        seen |= kinds
        made = next(families(schema, f"families tests {key}"))
        few = replace(made, pairs=made.pairs[::16])
        assert [one.findings for one in compared(prepared, few, on_engine)] == [()] * len(few.pairs)
    assert {kind for kind, _ in seen} == every
    assert {relation for _, relation in seen} == {"add_remove", "substitute"}


@pytest.mark.wide
def test_a_family_is_the_same_again_for_its_key() -> None:
    schema = random_schema(KeyedDice("again"))
    one, other = (next(families(schema, 7)) for _ in range(2))
    assert repr(one) == repr(other)
    assert repr(one) != repr(next(families(schema, 8)))


@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("column", ["who", None])
def test_pairs_of_a_family_are_neighbours(adjacency: Kind, column: str | None) -> None:
    schema = Schema(COLUMNS, Person(adjacency, column, 2 if column else 1))
    made = family(schema, KeyedDice(1), MOODS[:4])
    for pair in made.pairs:
        here, there = (Counter(repr(row) for row in made.tables[place]) for place in (pair.here, pair.there))
        if pair.same:
            assert here == there
            continue
        gone, come = list((here - there).elements()), list((there - here).elements())
        people = [{row.split("'who': ")[-1] for row in rows} if column else rows for rows in (gone, come)]
        if adjacency == "add_remove":
            assert sorted(map(len, people)) == [0, 1]
        else:
            assert max(map(len, people)) <= 1


@pytest.mark.wide
@pytest.mark.parametrize(
    ("a", "b"),
    [(0.0, -0.0), (1, True), (1, 1.0), ((1,), [1]), (np.zeros(1), np.zeros((1, 1))), (np.zeros(1), np.zeros(1, int))],
)
def test_what_compares_equal_and_is_not_the_same_is_told_apart(a: object, b: object) -> None:
    assert not alike(a, b)
    assert alike([a, float("nan"), {"k": b}], [a, float("nan"), {"k": b}])


# --- the gate ---------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_gate_adds_nothing_to_a_draw() -> None:
    near = Adjacency("add_remove")
    noise = Geometric(L1(Fraction(1), near), Fraction(1, 10))
    assert gate.draw(noise, (1, 2, 3), Replayed(1)) == noise.sample((1, 2, 3), Replayed(1))
    choice = Exponential(Linf(Fraction(1), near), Fraction(1))
    exact = Candidates(np.array([3, 0, 1]), np.array([10, 5, 10]))
    found = [gate.choose(choice, exact, np.array([0, 10, 15, 25]), Replayed(key)) for key in range(50)]
    assert set(found) <= set(range(25))
    assert sum(10 <= cell < 15 for cell in found) > 15


@pytest.mark.wide
def test_a_recorder_is_no_entropy_of_a_release() -> None:
    recorder = Recorder(lambda mechanism, exact, start: exact, Replayed(1))
    assert not isinstance(recorder, SystemEntropy)
    assert not hasattr(SystemEntropy(), "noise")
    assert "17" not in repr((recorder.noise("m", (17,)), recorder)[1]) + repr(recorder.calls)


@pytest.mark.wide
def test_every_norm_is_measured_in_its_own_units() -> None:
    near = Adjacency("add_remove")
    in_l1 = Geometric(L1(Fraction(4), near), Fraction(1))
    in_l2 = Gaussian(L2(Fraction(10), near), Fraction(1))
    for mechanism, ratio in ((in_l1, Fraction(3, 4)), (in_l2, Fraction(1, 2))):
        plan = PreparedRelease((cast(Step, One(mechanism)),), None, mechanism.guarantee)
        found = replay(plan, Fixed((0, 0)), Fixed((1, -2)))
        assert [seen.ratio for seen in found.calls] == [ratio]
        assert found.share == ratio
        assert found.ok


class Fixed:
    """A table whose only vector is given."""

    def __init__(self, vector: tuple[int, ...]) -> None:
        self.vector = vector

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        return [QueryResult(vectors=(self.vector,))]


class One:
    """A step with one mechanism."""

    name, estimand = "one", ""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.guarantee: Guarantee = mechanism.guarantee
        self.queries = (asked_of.Rows(),)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        gate.draw(self.mechanism, results[0].vectors[0], entropy)
        return Answer("one", ())


# --- mutants ----------------------------------------------------------------------------------------------------------


def findings(
    questions: Sequence[str], adjacency: Kind = "add_remove", rows: int = 2, triples: int = 20
) -> tuple[Finding, ...]:
    """What the audit of a plan finds, compiled anew."""
    query_compiler.forget()
    schema = Schema(COLUMNS, Person(adjacency, "who", rows))
    units = 10_000 if adjacency == "substitute" else None
    prepared = settle(understand(questions, schema), Cost.read("10", None, None), schema, units, "approximate")
    return audit(prepared, schema, triples=triples).findings


def kinds(questions: Sequence[str], adjacency: Kind = "add_remove", rows: int = 2, triples: int = 20) -> set[str]:
    return {found.kind for found in findings(questions, adjacency, rows, triples)}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    query_compiler.forget()


@pytest.mark.wide
def test_the_plans_below_are_sound_as_they_are() -> None:
    everything = ["count by g", "sum(k)", "mean(x)", "median(x) by g", "histogram(g)", "proportion(g, value=a)"]
    assert findings(everything, "substitute", triples=29) == ()


@pytest.mark.wide
def test_a_forgotten_clip_is_found(broken: pytest.MonkeyPatch) -> None:
    broken.setattr(query_expressions, "clamp", lambda x, low, high: x)
    assert kinds(["mean(x)"]) & {"sensitivity", "exception"}


@pytest.mark.wide
def test_a_forgotten_clip_of_totals_is_found(broken: pytest.MonkeyPatch) -> None:
    broken.setattr(query_expressions, "_within", lambda x, low, high: x)
    assert "sensitivity" in kinds(["sum(k)"])


@pytest.mark.wide
def test_half_the_sensitivity_is_found(broken: pytest.MonkeyPatch) -> None:
    whole = public_facts.stability_of
    broken.setattr(public_facts, "stability_of", lambda *given, **named: whole(*given, **named) / 2)
    assert "sensitivity" in kinds(["count"])


@pytest.mark.wide
def test_a_forgotten_cap_of_rows_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = RowChoice.rows
    broken.setattr(RowChoice, "rows", lambda choice, of: honest(choice, "all"))
    broken.setattr(RowChoice, "bound", lambda choice, keys, of: None)
    broken.setattr(row_choice, "_counts", lambda rows: rows.turn < 100)  # of persons with more rows than are kept
    assert "sensitivity" in kinds(["count"])


@pytest.mark.wide
def test_keys_read_from_the_data_are_found(broken: pytest.MonkeyPatch) -> None:
    honest = counts.CountStep.answer

    def answer(self: counts.CountStep, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        found = honest(self, results, entropy)
        held = [cell for cell, vector in zip(found, results[0].vectors, strict=True) if sum(vector)]
        return Answer(found.name, tuple(held), found.caveats, found.discrete)

    broken.setattr(counts.CountStep, "answer", answer)
    assert kinds(["count by g"]) == {"answer"}


@pytest.mark.wide
def test_groups_read_from_the_data_are_found(broken: pytest.MonkeyPatch) -> None:
    def noisy(vectors: Any, mechanism: Any, entropy: Entropy) -> Any:
        drawn = gate.draw(mechanism, [number for (number,) in vectors if number], entropy)
        return [(number,) for number in [*drawn, 0, 0, 0][: len(vectors)]]

    broken.setattr(counts, "noisy", noisy)
    assert "public" in kinds(["count by g"])


@pytest.mark.wide
def test_a_nan_that_passes_through_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = casts.number

    def through(column: Any, storage: Any, *form: Any) -> Any:
        return column if storage == "real" else honest(column, storage, *form)

    broken.setattr(casts, "number", through)
    assert kinds(["median(x)"], triples=132) & {"warning", "exception", "answer"}  # where x comes as doubles


@pytest.mark.wide
def test_a_group_count_without_noise_is_found(broken: pytest.MonkeyPatch) -> None:
    def released(self: moments.MomentStep, exact: list[tuple[int, ...]], entropy: Entropy) -> list[tuple[int, ...]]:
        drawn = context.noisy(exact, self.mechanism, entropy)
        return [(true[0], *noisy[1:]) for true, noisy in zip(exact, drawn, strict=True)]

    broken.setattr(moments.MomentStep, "_released", released)
    assert kinds(["mean(x) by g"]) == {"answer"}


@pytest.mark.wide
def test_a_size_that_is_read_is_found(broken: pytest.MonkeyPatch) -> None:
    def sizes(self: quantiles.QuantileStep, result: QueryResult, entropy: Entropy) -> list[GroupSize]:
        sizes = [1000.0 * float(data.counts.sum()) for data in result.ranks]
        return [GroupSize(size, False, size) for size in sizes]

    broken.setattr(quantiles.QuantileStep, "_sizes", sizes)
    assert kinds(["median(x)"]) & {"calls", "answer"}


@pytest.mark.wide
def test_a_share_of_the_true_number_of_rows_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = proportions.ProportionStep.answer

    def answer(self: proportions.ProportionStep, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        rows = results[1].vectors[0][0]
        return Answer(self.name, honest(self, results, entropy).cells, (f"of {rows} rows",))

    broken.setattr(proportions.ProportionStep, "answer", answer)
    assert kinds(["proportion(g, value=a)"]) == {"answer"}


@pytest.mark.wide
def test_a_histogram_at_the_price_of_one_bin_is_found_under_substitution(broken: pytest.MonkeyPatch) -> None:
    honest = stability

    def cheap(query: Query, person: Person, *, stands_in: bool) -> tuple[Fraction, ...]:
        return (Fraction(person.rows),) if isinstance(query, Tally) else honest(query, person, stands_in=stands_in)

    broken.setattr(public_facts, "stability", cheap)
    assert kinds(["histogram(g)"], "add_remove") == set()
    assert "sensitivity" in kinds(["histogram(g)"], "substitute")


@pytest.mark.wide
def test_a_lopsided_quantile_score_is_found(broken: pytest.MonkeyPatch) -> None:
    def scores(self: ranks.Runs, a: int, b: int, shift: int | Fraction) -> Any:
        aim = int(shift * b)
        over = b * self.below - a * (self.total - self.below) - aim
        under = a * self.above - (b - a) * (self.total - self.above) + aim
        return np.maximum(np.maximum(over, under), 0)

    broken.setattr(ranks.Runs, "scores", scores)
    assert "sensitivity" in kinds(["quantile(x, 0.9)"])


@pytest.mark.wide
def test_candidates_read_from_the_data_are_found(broken: pytest.MonkeyPatch) -> None:
    honest = ranks.runs

    def runs(cells: Any, data: Counts) -> ranks.Runs:
        found = honest(cells, data)
        return (
            found
            if not len(data.cells)
            else ranks.Runs(found.start[1:], found.below[1:], found.above[1:], found.weights[1:], found.total)
        )

    broken.setattr(quantiles, "runs", runs)
    assert "public" in kinds(["median(x)"])


@pytest.mark.wide
def test_weights_read_from_the_data_are_found(broken: pytest.MonkeyPatch) -> None:
    honest = ranks.runs

    def runs(cells: Any, data: Counts) -> ranks.Runs:
        found = honest(cells, data)
        return replace(found, weights=found.weights * (1 + int(data.counts.sum())))

    broken.setattr(quantiles, "runs", runs)
    assert "public" in kinds(["median(x)"])


@pytest.mark.wide
def test_an_int8_that_wraps_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy

    def noisy(vectors: Any, mechanism: Any, entropy: Entropy) -> Any:
        wrapped = [tuple(np.array(vector).astype(np.int8).tolist()) for vector in vectors]
        return honest(wrapped, mechanism, entropy)

    broken.setattr(counts, "noisy", noisy)
    assert "sensitivity" in kinds(["sum(k)"], rows=1)


@pytest.mark.wide
def test_a_float_at_the_gate_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy

    def noisy(vectors: Any, mechanism: Any, entropy: Entropy) -> Any:
        floats: list[Any] = [tuple(np.array(vector, dtype=np.float64)) for vector in vectors]
        return honest(floats, mechanism, entropy)

    broken.setattr(counts, "noisy", noisy)
    assert kinds(["sum(k)"]) == {"type", "exception"}


@pytest.mark.wide
def test_truncation_to_an_even_number_of_rows_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = source._from_array
    broken.setattr(source, "_from_array", lambda column, *of: honest(column[: len(column) // 2 * 2], *of))
    assert kinds(["count"], rows=1) & {"sensitivity", "order"}


@pytest.mark.wide
def test_what_depends_on_the_order_of_rows_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = source._from_array

    def first_wins(column: Any, *of: Any) -> Any:
        return honest([*column[:1], *[0 if isinstance(c, float | np.integer) else c for c in column[1:]]], *of)

    broken.setattr(source, "_from_array", first_wins)
    assert kinds(["mean(x)"], triples=66) & {"order", "sensitivity"}
    assert "arrays" in {form for form, _ in uneven(Schema(COLUMNS, Person("add_remove", "who", 2)))}


# --- mutants before the plan: readers of files ------------------------------------------------------------------------


def read_as_broken(broken: pytest.MonkeyPatch, kind: type[Any], change: Callable[[Any], Any]) -> None:
    """``kind`` of files gives ``change`` of its rows, as an Arrow table, in place of the rows."""
    honest = kind.batches

    def batches(self: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        whole = list(honest(self, names))
        if whole:
            yield from change(pa.Table.from_batches(whole)).to_batches()

    broken.setattr(kind, "batches", batches)


def without_the_last_of_an_even_number(rows: Any) -> Any:
    return rows.slice(0, rows.num_rows - 1) if rows.num_rows % 2 == 0 else rows


def without_repeated_rows(rows: Any) -> Any:
    texts = [repr(row) for row in rows.to_pylist()]
    return rows.filter(pa.array([text not in texts[:place] for place, text in enumerate(texts)], pa.bool_()))


def numbers_only_where_all_are(rows: Any) -> Any:
    """A column is numbers if every cell of it is one, else every cell of it is missing: types that are guessed."""

    def guessed(column: Any) -> Any:
        cells = column.to_pylist()
        whole = all(cell is None or str(cell).strip("-.").replace(".", "").isdigit() for cell in cells)
        return column if whole else pa.array([None] * len(cells), column.type)

    return pa.table([guessed(column) for column in rows.columns], names=rows.column_names)


FILES: dict[type[Any], str] = {CsvFile: "csv", ParquetFiles: "parquet", JsonLines: "lines", Spreadsheet: "workbook"}


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "change", [without_the_last_of_an_even_number, without_repeated_rows, numbers_only_where_all_are]
)
def test_a_reader_of_files_that_looks_at_other_rows_is_found(
    broken: pytest.MonkeyPatch, kind: type[Any], change: Callable[[Any], Any]
) -> None:
    read_as_broken(broken, kind, change)
    assert [found for found, _ in uneven(Schema(COLUMNS, Person("add_remove", "who", 2)))] == [FILES[kind]]


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("kind", FILES)
def test_the_report_says_which_reader_of_files_looks_at_other_rows(broken: pytest.MonkeyPatch, kind: type[Any]) -> None:
    assert list(uneven(Schema(COLUMNS, Person("add_remove", "who", 2)))) == []
    read_as_broken(broken, kind, without_repeated_rows)
    assert FILES[kind] in "".join(line.reason for line in reader_rows.check().failures)


@pytest.mark.wide
def test_a_reader_that_fails_on_some_rows_is_found(broken: pytest.MonkeyPatch) -> None:
    def refused(rows: Any) -> Any:
        if any(cell is None for cell in rows.column(0).to_pylist()):
            raise ValueError("a missing cell")
        return rows

    read_as_broken(broken, ParquetFiles, refused)
    schema = Schema(COLUMNS, Person("add_remove", "who", 2))
    assert list(uneven(schema)) == [("parquet", "the reader raises ValueError: a missing cell")]


@pytest.mark.wide
def test_a_row_that_a_file_drops_moves_the_answers_of_a_plan_too(broken: pytest.MonkeyPatch) -> None:
    """Not only row by row: families come as files through the whole plan, a quarter of the pairs each."""
    read_as_broken(broken, CsvFile, without_the_last_of_an_even_number)
    assert "sensitivity" in kinds(["count"], rows=1, triples=40)


@pytest.mark.wide
def test_every_audit_reads_files_and_columns_of_text() -> None:
    schema = Schema(COLUMNS, Person("add_remove", "who", 2))
    for triples in (4, 33, 200):
        batches = list(audit_plan._batches(schema, triples))
        assert {form for form, _, _ in batches} == {"arrays", "csv", "parquet", "text"}
        assert sum(len(pairs) for _, _, pairs in batches) == triples
    with engine() as opened:
        made = next(families(schema, "text"))
        found = {form: opened(made, 0, form)._table._source.storage for form in ("text", "csv")}  # type: ignore[union-attr]
    assert set(found["text"].values()) == {"text"}
    assert found["csv"] == {"x": "real", "k": "real", "g": "text", "who": "text"}  # numbers are read of its text


# --- mutants behind the draw: what is certified and written -----------------------------------------------------------


def noticed(broken: pytest.MonkeyPatch) -> list[int]:
    """The true number of rows of every table that is drawn from, kept behind the back of the plan."""
    seen: list[int] = []
    honest = source._from_array

    def reading(column: Any, *of: Any) -> Any:
        seen.append(sum(cell is not None and cell == cell for cell in list(column)))
        return honest(column, *of)

    broken.setattr(source, "_from_array", reading)
    return seen


def certified_as_broken(broken: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], object]) -> None:
    honest = release.certified

    def certified(*given: Any) -> dict[str, object]:
        document: dict[str, Any] = honest(*given)
        change(document)
        return document

    broken.setattr(release, "certified", certified)


def written(questions: Sequence[str]) -> list[str]:
    """The words of what differs in the writing. Tables are read again for every run, so that the mutants see them."""
    found = findings(questions, rows=1, triples=20)
    assert {one.kind for one in found} == {"written"}
    return [one.words for one in found]


@pytest.fixture
def reread(broken: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    broken.setattr(MemoizedTable, "run", lambda self, queries, key, schema=None: self._table.run(queries, key, schema))
    return broken


@pytest.mark.wide
def test_a_certificate_that_carries_the_true_count_is_found(reread: pytest.MonkeyPatch) -> None:
    seen = noticed(reread)
    certified_as_broken(reread, lambda document: document.update(people=1 + seen[-1]))
    assert all(" at people, and " in words for words in written(["count"]))


@pytest.mark.wide
def test_a_certificate_that_dates_itself_by_the_data_is_found(reread: pytest.MonkeyPatch) -> None:
    seen = noticed(reread)
    certified_as_broken(reread, lambda document: document.update(when=f"2026-01-{1 + seen[-1] % 28:02}T00:00:00Z"))
    assert all(" at when, and " in words for words in written(["count"]))


@pytest.mark.wide
def test_a_caveat_that_appears_only_if_a_null_exists_is_found(reread: pytest.MonkeyPatch) -> None:
    nulls = [False]
    honest = ParquetFiles.batches

    def batches(self: ParquetFiles, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        nulls.append(False)
        for batch in honest(self, names):
            nulls[-1] |= any(column.null_count for column in batch.columns)
            yield batch

    reread.setattr(ParquetFiles, "batches", batches)
    caveat = "Some cells were missing."
    certified_as_broken(reread, lambda document: document["caveats"].extend([caveat] * nulls[-1]))
    assert all(" at caveats, and " in words for words in written(["count by g"]))


@pytest.mark.wide
def test_groups_in_the_order_of_their_sizes_are_found(reread: pytest.MonkeyPatch) -> None:
    seen = noticed(reread)
    certified_as_broken(
        reread, lambda document: document["answers"][0]["cells"].sort(key=str, reverse=seen[-1] % 2 > 0)
    )
    assert all(" at answers[0].cells" in words for words in written(["count by g"]))


@pytest.mark.wide
def test_a_printed_release_that_says_more_than_its_certificate_is_found(reread: pytest.MonkeyPatch) -> None:
    seen = noticed(reread)
    honest = release.Release.__repr__
    reread.setattr(audit_plan, "FILES", 1)
    reread.setattr(release.Release, "__repr__", lambda self: f"{honest(self)}\nrows {seen[-1]}")
    assert all(words.startswith("the text says 'rows ") for words in written(["count"]))


@pytest.mark.wide
def test_an_exception_for_some_rows_only_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy

    def noisy(vectors: Any, mechanism: Any, entropy: Entropy) -> Any:
        1 / sum(sum(vector) for vector in vectors)
        return honest(vectors, mechanism, entropy)

    broken.setattr(counts, "noisy", noisy)
    assert kinds(["count"]) == {"exception"}


@pytest.mark.wide
def test_a_warning_for_some_rows_only_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy

    def noisy(vectors: Any, mechanism: Any, entropy: Entropy) -> Any:
        if not vectors[0][0]:
            warnings.warn("no rows", stacklevel=1)
        return honest(vectors, mechanism, entropy)

    broken.setattr(counts, "noisy", noisy)
    assert kinds(["count"]) == {"warning"}


@pytest.mark.wide
def test_noise_beside_the_gate_is_found(broken: pytest.MonkeyPatch) -> None:
    broken.setattr(counts, "noisy", lambda vectors, mechanism, entropy: [mechanism.sample(v, entropy) for v in vectors])
    assert kinds(["count"]) == {"bypass"}


@pytest.mark.wide
def test_noise_that_nobody_pays_for_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy
    broken.setattr(counts, "noisy", lambda vectors, m, e: [honest([vector], m, e)[0] for vector in vectors])
    assert "proof" in kinds(["count by g"])


@pytest.mark.wide
def test_a_mechanism_with_more_than_its_share_is_found(broken: pytest.MonkeyPatch) -> None:
    honest = context.noisy
    broken.setattr(counts, "noisy", lambda vectors, m, e: honest(vectors, Geometric(m.sensitivity, 2 * m.epsilon), e))
    assert kinds(["count"]) == {"proof"}


@pytest.mark.wide
def test_parallel_groups_that_one_person_shares_are_found(broken: pytest.MonkeyPatch) -> None:
    def of_person(part: Guarantee, person: Adjacency, *, rows: int, label: str = "") -> Guarantee:
        return compose.grouped(part, 1, neighbours=person, label=label)

    broken.setattr(compose, "of_person", of_person)
    broken.setattr(QuantileDraws, "steps", property(lambda self: 1))
    assert "loss" in kinds(["median(x) by g"])


# --- the long tier ----------------------------------------------------------------------------------------------------

TRIPLES = 100_000
CHUNKS = 50


@pytest.mark.audit
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_hundred_thousand_triples_on_the_engine_have_no_excess(chunk: int) -> None:
    """In chunks, so that ``make audit`` goes on where it stopped; each adds its figures to build/replay.jsonl."""
    done: Counter[str] = Counter()
    refuted: list[tuple[int, Finding]] = []
    with engine() as opened:
        while done["triples"] < TRIPLES // CHUNKS:
            prepared, found = made_up(f"long {chunk} {done['plans']}")
            for turn in range(2):
                for comparison in compared(prepared, next(found), opened, turn):
                    done.update(triples=1, calls=len(comparison.calls), excess=len(comparison.findings))
                    refuted += [(done["plans"], finding) for finding in comparison.findings]
            done.update(plans=1)
    log = Path(os.environ.get("AUDIT_LOG", "build/audit.jsonl")).with_name("replay.jsonl")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(json.dumps({"commit": commit(), "chunk": chunk, **done}) + "\n")
    assert refuted == []


def commit() -> str:
    """So that figures of one commit can be added up."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()
