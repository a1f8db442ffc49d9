"""Classes A6 to A8, C1 to C4, C8, C9, D1, D3 to D6, E4: right noise on a number that is not what was proved about.

A broken pipeline is a few lines from rows ``(who, x, group)`` to what is published. It is run twice by record-replay,
on two neighbours with the same noisy numbers; ours is a question to a study over the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from reticent.conformance.neighbours import MemoizedTable
from reticent.conformance.replay import STYLES, QueryRunner, RunComparison, Tape, replay
from reticent.data import query
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import open_table
from reticent.entropy import Entropy
from reticent.learning.folds import folds
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.cost import Cost
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import about
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Answer
from reticent.statistics.context import ExpectedAccuracy
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from tests.assurance.broken.exhibit import AnyExhibit, Effort, Exhibit, Found, judged

Row: TypeAlias = tuple[str, Any, str]  # who, x as it came, group
Pipeline: TypeAlias = Callable[[Sequence[Row], Geometric, Entropy], tuple[object, ...]]

SAID: Final = {
    "answer": "published numbers differ though all noise was equal",
    "public": "the mechanism itself depends on the rows",
    "exception": "fails on one neighbour only",
    "bypass": "coins are tossed outside the gate",
}
BIG: Final = 2**50
FOLDS: Final = 5
MIDDLE: Final = 2**21


@dataclass(frozen=True, slots=True, repr=False)
class Bare(QueryResult):
    """A result that is the rows themselves."""

    rows: Any = ()


@dataclass(frozen=True, slots=True)
class Published:
    """A step around a pipeline, so that a plan can be made of it. It has no place in a study: its table is a list."""

    pipeline: Pipeline
    noise: Geometric
    name: str = "pipeline"
    estimand: str = ""
    queries: tuple[Query, ...] = (query.Rows(),)

    @property
    def guarantee(self) -> Guarantee:
        return self.noise.guarantee

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (bare,) = results
        assert isinstance(bare, Bare)
        return Answer(self.name, (), tuple(repr(cell) for cell in self.pipeline(bare.rows, self.noise, entropy)))

    def expected(self, people: int) -> ExpectedAccuracy:
        return ExpectedAccuracy(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Listed:
    """A table that hands out its rows, as no engine of ours does."""

    rows: Any

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        return [Bare(rows=self.rows, records=np.zeros((len(self.rows), 1), np.int64)) for _ in queries]


@dataclass(frozen=True, slots=True)
class Replay:
    """Two runs with the same noisy numbers: ``conformance.replay``. The pipeline's mechanism declares ``moves``."""

    here: tuple[Row, ...]
    there: tuple[Row, ...]
    column: Column = field(default_factory=lambda: real(0, 10))
    moves: int = 1
    kind: Kind = "add_remove"
    rows_each: int = 1
    tool: str = "record-replay"

    @property
    def claimed(self) -> str:
        return "moves as declared, else nothing"

    def on(self, subject: Pipeline | str, effort: Effort) -> Found:
        if isinstance(subject, str):
            plan, tables = self._asked(subject)
        else:
            step = Published(subject, Geometric(L1(Fraction(self.moves), Adjacency(self.kind)), Fraction(1)))
            plan, tables = PreparedRelease((step,), None, step.guarantee), (Listed(self.here), Listed(self.there))
        return _told([replay(plan, *tables, tape=Tape(style, 1)) for style in STYLES])

    def _asked(self, question: str) -> tuple[PreparedRelease, tuple[QueryRunner, QueryRunner]]:
        schema = Schema({"x": self.column, "g": category(["a", "b"])}, Person(self.kind, "who", self.rows_each))
        people = len({row[0] for row in self.here}) if self.kind == "substitute" else None
        plan = settle(understand([question], schema), Cost.read(1, None, None), schema, people, "approximate")
        opened = [MemoizedTable(open_table(_columns(rows), schema)) for rows in (self.here, self.there)]
        return plan, (opened[0], opened[1])


def _columns(rows: Sequence[Row]) -> dict[str, Any]:
    kept = np.array([row[1] for row in rows])
    return {"who": [row[0] for row in rows], "x": kept, "g": [row[2] for row in rows]}


def _told(runs: Sequence[RunComparison]) -> Found:
    findings = [finding for run in runs for finding in run.findings]
    most = max((seen.ratio for run in runs for seen in run.calls if seen.ratio is not None), default=Fraction(0))
    if not findings or findings[0].kind == "sensitivity":
        return judged(f"moved {about(most)} times what is declared", refuted=bool(findings))
    return judged(f"{findings[0].kind}: {SAID[findings[0].kind]}", refuted=True)


def _noisy(exact: Sequence[int], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    return gate.draw(noise, tuple(exact), entropy)


# --- A: arithmetic ----------------------------------------------------------------------------------------------------


def sum_in_floats(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """A sum of floats. Every addition rounds, so one row that changes by 1 can change the sum by 256, and another
    order of the rows by more. Hit: Google #126 and #127, OpenDP #314, Tumult Core; Casacuberta et al. 2022."""
    total = 0.0
    for _, x, _ in rows:
        total += x
    return _noisy([int(total)], noise, entropy)


def deviations_from_a_rounded_mean(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Squared deviations from the mean move little, but only from the exact mean: here it is rounded down first, and
    jumps. Hit: OpenDP #2923 (40.6 claimed, 63.9 seen)."""
    mean = sum(x for _, x, _ in rows) // len(rows)
    return _noisy([int(sum((x - mean) ** 2 for _, x, _ in rows))], noise, entropy)


def single_precision_taken_for_double(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """A column of 32-bit floats is added in 32 bits; the bound on rounding was computed for 64. Hit: OpenDP #2941
    (claim 1, log ratio 5.7 to 6.1)."""
    total = np.float32(0)
    for _, x, _ in rows:
        total += np.float32(x)
    return _noisy([int(total)], noise, entropy)


# --- C: sensitivity ---------------------------------------------------------------------------------------------------


def lower_bound_twice(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Values in [1, 10] are squared and added; the bound of a square was taken as low * low, not high * high. Hit:
    diffprivlib #104 and #105 (sensitivity 0 where 10,000 is needed)."""
    return _noisy([int(sum(min(max(x, 1), 10) ** 2 for _, x, _ in rows))], noise, entropy)


def clipped_copy_not_used(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The values are clipped, and then the values as they came are added. Hit: SmartNoise dp_covariance #622."""
    clipped = [min(max(x, 0), 1) for _, x, _ in rows]
    total = sum(x for _, x, _ in rows)
    return _noisy([int(total) if clipped else 0], noise, entropy)


def cut_to_an_even_number(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """An odd row is dropped to make pairs, so one person more is two rows more. Hit: OpenDP #2950."""
    return _noisy([len(rows) // 2 * 2], noise, entropy)


def capped_by_a_name_made_later(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """One row per person is kept, but "person" was redefined as the number of the row. Hit: OpenDP #2949 (rho 0.5
    charged, 5,000 needed)."""
    named = [(str(place), x, group) for place, (_, x, group) in enumerate(rows)]
    return _noisy([len({who for who, _, _ in named})], noise, entropy)


def largest_group_for_largest_change(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Groups hold one row at most, so one replaced row is said to move the counts by 1: it leaves one group and enters
    another. Hit: OpenDP #2945 (claim 1, log ratio 1.4 to 2.1)."""
    held = {group for _, _, group in rows}
    return _noisy([int(group in held) for group in "ab"], noise, entropy)


def folds_by_private_labels(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Five sums over the training rows of five folds, filled label by label so that each has its share of both. One
    person more moves the ends of all folds, and rows of others with them: a person is said to be in four sums. Hit:
    ``cross_val_score(cv=5)`` around any private estimator, the tutorial of this package 0.1.0 among them."""
    return _noisy(_trainings(rows, stratified([group for _, _, group in rows])), noise, entropy)


def folds_by_coins(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The same sums in folds that ``reticent.learning.folds`` deals out: a coin for each person."""
    return _noisy(_trainings(rows, folds(FOLDS).deal(np.arange(len(rows)), entropy).tolist()), noise, entropy)


def stratified(labels: Sequence[str]) -> list[int]:
    """The fold of each row, as scikit-learn's ``StratifiedKFold`` has them."""
    names, found = list(dict.fromkeys(labels)), [0] * len(labels)
    ordered = sorted(names.index(label) for label in labels)
    for code, name in enumerate(names):
        share = [ordered[fold::FOLDS].count(code) for fold in range(FOLDS)]
        ends = iter([fold for fold in range(FOLDS) for _ in range(share[fold])])
        for place, label in enumerate(labels):
            found[place] = next(ends) if label == name else found[place]
    return found


def _trainings(rows: Sequence[Row], dealt: Sequence[int]) -> list[int]:
    """For each fold the sum over the rows of all others."""
    return [int(sum(x for (_, x, _), own in zip(rows, dealt, strict=True) if own != fold)) for fold in range(FOLDS)]


def rows_that_cannot_be_missing(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The type says that no value is missing, so their number is public and published as it is. A cast made some
    missing. Hit: OpenDP #2938, #2939, #2940 (epsilon 0 charged, the exact count released)."""
    known = [x for _, x, _ in rows if not math.isnan(x)]
    return (len(known), *_noisy([int(sum(min(max(x, 0), 1) for x in known))], noise, entropy))


def distinct_before_the_bound(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Distinct values, each credited to the first who has it; then one value per person is kept. Whoever shares values
    with others takes them along. Hit: Privacy on Beam's DistinctPerKey, Google PR #84."""
    owner: dict[Any, str] = {}
    for who, x, _ in rows:
        owner.setdefault(x, who)
    return _noisy([len(set(owner.values()))], noise, entropy)


def histogram_of_the_other_relation(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Noise for a row that comes or goes, under a promise about a row that is replaced: two bins move. Hit:
    diffprivlib's histogram (epsilon 1.87 seen at claim 1)."""
    return _noisy([sum(group == one for _, _, group in rows) for one in "ab"], noise, entropy)


# --- D: what the rows decide beside the number ------------------------------------------------------------------------


def bounds_from_the_rows(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The noise is made for the largest value in the file. Hit: diffprivlib's default bounds, ``data_norm`` of its
    logistic regression; dpmm #18, dpart PR #6."""
    most = max(int(x) for _, x, _ in rows)
    widest = Geometric(L1(Fraction(most), noise.sensitivity.adjacency), Fraction(1))
    return _noisy([int(sum(x for _, x, _ in rows))], widest, entropy)


def groups_from_the_rows(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """One noisy count for each group in the file: a group of one appears with its person. Hit: four of six tools for
    made-up data in arXiv 2405.10994; OpenDP PR #1716."""
    found = sorted({group for _, _, group in rows})
    return _noisy([sum(group == one for _, _, group in rows) for one in found], noise, entropy)


def groups_in_the_order_of_the_file(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """Counts of public groups, listed as they were met. Hit: OpenDP #2185."""
    met = sorted("ab", key=[*(group for _, _, group in rows), "a", "b"].index)
    return (*met, *_noisy([sum(group == one for _, _, group in rows) for one in "ab"], noise, entropy))


def nan_passes_the_clamp(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """``x < low`` and ``x > high`` are both false for NaN, so it survives the clamp and the release fails for one
    person's sake. Hit: diffprivlib's mean, Google PR #405."""
    clamped = [0 if x < 0 else 1 if x > 1 else x for _, x, _ in rows]
    return _noisy([round(sum(clamped))], noise, entropy)


def sum_in_eight_bits(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The sum keeps the type of the column and wraps around: 100 + 100 is -56. Hit: diffprivlib's sum with
    ``dtype=int8`` (300 became 44); Google's integer means."""
    return _noisy([int(np.array([x for _, x, _ in rows]).astype(np.int8).sum(dtype=np.int8))], noise, entropy)


def number_of_rows_taken_as_public(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """A noisy sum over the exact number of rows, where that number is the secret. Hit: SmartNoise core #356,
    diffprivlib's StandardScaler."""
    (total,) = _noisy([int(sum(min(max(x, 0), 1) for _, x, _ in rows))], noise, entropy)
    return (Fraction(int(str(total)), len(rows)),)


def noise_beside_the_gate(rows: Sequence[Row], noise: Geometric, entropy: Entropy) -> tuple[object, ...]:
    """The mechanism is called directly, where no ledger and no audit can see it. Hit: diffprivlib (direct draws are
    recorded as 0)."""
    return noise.sample((len(rows),), entropy)


# --- neighbours -------------------------------------------------------------------------------------------------------


def people(values: Sequence[Any], groups: str = "a") -> tuple[Row, ...]:
    """One row each."""
    return tuple((f"p{place}", x, groups[place % len(groups)]) for place, x in enumerate(values))


CROWD: Final = people([0.0, 1.0, 1.0, 0.0], "ab")
LARGE: Final = people([float(BIG + 1)] * 1023)
SINGLE: Final = people([np.float32(MIDDLE + 1)] * 1023)
WITNESS: Final[Row] = ("me", 1.0, "a")


def _show(failure: str, broken: Pipeline, attack_by: Replay, question: str) -> AnyExhibit:
    made: Exhibit[Pipeline | str] = Exhibit(failure, broken, attack_by, question, f"study: {question}")
    return made


def _added(me: Row, column: Column | None = None, others: tuple[Row, ...] = CROWD, moves: int = 1) -> Replay:
    return Replay(others, (*others, me), column or real(0, 1), moves)


def _replaced(others: tuple[Row, ...], one: Any, other: Any, column: Column) -> Replay:
    return Replay((*others, ("me", one, "a")), (*others, ("me", other, "b")), column, kind="substitute")


LABELLED: Final = people([-1.0 if place in (3, 8, 11, 16) else 1.0 for place in range(19)], "ab")
SHARED: Final = tuple((f"p{place}", float(place), "a") for place in range(5))
OWNER: Final = tuple(("me", float(place), "a") for place in range(5))

EXHIBITS: Final[tuple[AnyExhibit, ...]] = (
    _show("A6", sum_in_floats, _replaced(LARGE, float(BIG + 1), float(BIG), real(BIG, BIG + 1)), "mean(x)"),
    _show("A7", deviations_from_a_rounded_mean, _replaced(people([1.0] * 99), 1.0, 0.0, real(0, 1)), "variance(x)"),
    _show(
        "A8",
        single_precision_taken_for_double,
        _replaced(SINGLE, np.float32(MIDDLE + 1), np.float32(MIDDLE), real(MIDDLE, MIDDLE + 1)),
        "mean(x)",
    ),
    _show("C1", lower_bound_twice, _added(("me", 10.0, "a"), real(1, 10)), "variance(x)"),
    _show("C2", clipped_copy_not_used, _added(("me", 1e6, "a")), "mean(x)"),
    _show("C3", cut_to_an_even_number, _added(WITNESS, others=CROWD[:3]), "count"),
    _show("C3", capped_by_a_name_made_later, Replay(CROWD, (*CROWD, *[WITNESS] * 100), real(0, 1)), "count"),
    _show("C3", largest_group_for_largest_change, _replaced((), 1.0, 1.0, real(0, 1)), "count by g"),
    Exhibit(
        "C3",
        folds_by_private_labels,
        _added(WITNESS, real(-1, 1), LABELLED, FOLDS - 1),
        folds_by_coins,
        f"learning.folds({FOLDS})",
    ),
    _show(
        "C4", rows_that_cannot_be_missing, _added(("me", 1.0, "a"), others=(*CROWD, ("q", math.nan, "b"))), "mean(x)"
    ),
    _show("C8", distinct_before_the_bound, Replay(SHARED, (*OWNER, *SHARED), real(0, 10)), "persons"),
    _show("C9", histogram_of_the_other_relation, _replaced(CROWD, 1.0, 1.0, real(0, 1)), "histogram(g)"),
    _show("D1", bounds_from_the_rows, _added(("me", 100.0, "a"), integer(0, 10)), "sum(x)"),
    _show("D1", groups_from_the_rows, _added(("me", 1.0, "c")), "count by g"),
    _show("D3", nan_passes_the_clamp, _added(("me", math.nan, "a")), "mean(x)"),
    _show("D4", groups_in_the_order_of_the_file, Replay((("p", 1.0, "b"),), (WITNESS, ("p", 1.0, "b"))), "count by g"),
    _show("D5", sum_in_eight_bits, _added(("me", 100, "a"), integer(0, 100), people([100]), moves=100), "sum(x)"),
    _show("D6", number_of_rows_taken_as_public, _added(WITNESS), "mean(x)"),
    _show("E4", noise_beside_the_gate, _added(WITNESS), "count"),
)

__all__ = ["EXHIBITS", "Listed", "Pipeline", "Published", "Replay"]
