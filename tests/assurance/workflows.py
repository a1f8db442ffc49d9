"""Record-replay of whole workflows: what scikit-learn's functions make of our estimators, on neighbouring arrays.

    Workflow      a few lines of scikit-learn around our estimators: a pipeline, clones, a cross-validation, a search
    Workflows     compares one on pairs of tables: what ``Fits`` is for single fits
    built_in()    the workflows that are promised to hold; ``audits`` runs them on some pairs

A fit on arrays cannot see who picked its rows. So here the whole program runs twice, on a table and on its neighbour,
with the same noise: what it returns must be equal, its calls of the gate the same calls, no exact number may move
further than its mechanism declares, and at no call may all numbers together have lost more than the ledger has been
charged by then. Folds by private labels fail on the last two. Where folds are dealt out by coins, the person who comes
or goes stands last, so that every coin meets the same person on both tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from reticent import learning
from reticent.conformance.diffs import alike
from reticent.conformance.findings import CallPair, Finding, RunComparison, cause_of, excess, raised, seen_of, unlike
from reticent.conformance.plan_audit import AuditTotals, PlanAudit
from reticent.conformance.tape import STYLES, Tape, recorded
from reticent.entropy import SystemEntropy
from reticent.learning.folds import Folds
from reticent.ledger import Ledger
from reticent.mechanisms.gate import Call, Recorder
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.adjacency import Kind as Relation
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, PureDP
from reticent.privacy.numbers import about

Floats: TypeAlias = NDArray[np.float64]
BUDGET: Final = PureDP(Fraction(1000))
EPSILON: Final = "1"
SCORED: Final = "0.25"  # epsilon of a score
OTHERS: Final = 24  # rows of the others
LIMITS: Final = ((-1, 1), (-1, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """A made-up table: rows of shape (n, 2) within ``LIMITS``, a side for each, and the person it belongs to."""

    rows: Floats
    sides: NDArray[np.int64]
    people: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """In the place of a study: its ledger, and a recorder for coins. Clones share it."""

    ledger: Ledger
    recorder: Recorder

    def coins(self) -> SystemEntropy:
        return cast(SystemEntropy, self.recorder)  # it has the same two methods

    def __deepcopy__(self, memo: dict[int, object]) -> Source:
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """What a workflow is given: the table, what estimators are told, and folds whose coins are recorded."""

    table: Arrays
    source: Source
    rows_each: int

    @property
    def told(self) -> dict[str, Any]:
        """Parameters of every estimator."""
        return {"epsilon": EPSILON, "bounds": LIMITS, "study": self.source, "rows_each": self.rows_each}

    @property
    def model(self) -> Any:
        """A classifier; its class has a class of scikit-learn's in common with no other type here."""
        return learning.GaussianNB(**self.told, classes=[0, 1], score_epsilon=SCORED)

    def folds(self, count: int) -> Folds:
        return Folds(count, self.source)


Run: TypeAlias = Callable[[Bench], object]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A program over a table, for neighbours of one kind; what it returns is published."""

    name: str
    run: Run
    kind: Relation = "add_remove"
    rows_each: int = 1


@dataclass(frozen=True, slots=True)
class Ran:
    """One run; ``spent`` is what the ledger had been charged at each call."""

    calls: tuple[Call, ...]
    spent: tuple[Loss, ...]
    published: object
    warned: tuple[str, ...]
    raised: str | None


@dataclass(slots=True)
class Workflows:
    """Compares runs of one workflow on pairs of tables; ``lost`` is the most that numbers of one pair lost."""

    workflow: Workflow
    lost: Fraction = field(default=Fraction(0))

    def compare(self, here: Arrays, there: Arrays, tape: Tape) -> RunComparison:
        """Two runs with the same outputs of the gate."""
        first = ran(self.workflow, here, tape)
        second = ran(self.workflow, there, tape, first.calls)
        name = self.workflow.name
        found = raised(first.raised, second.raised) or unlike(first.calls, second.calls)
        if found:
            return RunComparison((), None, tuple(found))
        seen = [seen_of(one, other, name) for one, other in zip(first.calls, second.calls, strict=True)]
        for call, other, one in zip(first.calls, second.calls, seen, strict=True):
            found += excess(call, other, one)
        share, beyond = self._charged(first, seen)
        found += [Finding("loss", name, what) for what in beyond]
        if first.warned != second.warned:
            what = f"warnings differ: {list(first.warned)[:2]} and {list(second.warned)[:2]}"
            found.append(Finding("warning", name, what))
        if not alike(first.published, second.published):
            found.append(
                Finding("answer", name, f"{first.published!r} and {second.published!r}, though noise is equal")
            )
        return RunComparison(tuple(seen), share, tuple(dict.fromkeys(found)))

    def _charged(self, first: Ran, seen: Sequence[CallPair]) -> tuple[Fraction | None, list[str]]:
        """The share of the charge that was lost in all, and the calls at which more was lost than had been charged."""
        lost, beyond, spent = Fraction(0), [], Fraction(0)
        for place, (call, one, charged) in enumerate(zip(first.calls, seen, first.spent, strict=True), start=1):
            stated = getattr(call.mechanism, "guarantee", None)
            if not isinstance(stated, Guarantee) or not isinstance(stated.loss, PureDP) or one.ratio is None:
                return None, ["a mechanism does not say what it lost"]
            assert isinstance(charged, PureDP)  # of ``BUDGET``
            lost, spent = lost + stated.loss.epsilon * one.ratio, charged.epsilon
            if lost > spent:
                beyond.append(f"ε {about(lost)} is lost at call {place}, and ε {about(spent)} had been charged")
        self.lost = max(self.lost, lost)
        return lost / spent if spent else None, beyond[-1:]


def ran(workflow: Workflow, table: Arrays, tape: Tape, earlier: Sequence[Call] = ()) -> Ran:
    """One run of the whole program, with a ledger of its own."""
    ledger = Ledger.create(None, title="made up", adjacency=Adjacency(workflow.kind, workflow.rows_each), budget=BUDGET)
    spent: list[Loss] = []
    recorder = recorded(tape, earlier, lambda: spent.append(ledger.spent()))
    bench = Bench(table, Source(ledger, recorder), workflow.rows_each)
    published, failed = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            lines = [(line.what, line.charge, line.state) for line in ledger.releases()]
            published = (workflow.run(bench), lines, ledger.spent())
        except Exception as cause:
            failed = cause_of(cause)
    warned = tuple(f"{item.category.__name__}: {item.message}" for item in caught)
    return Ran(tuple(recorder.calls), tuple(spent), published, warned, failed)


# --- neighbours -------------------------------------------------------------------------------------------------------


def pairs(kind: Relation, rows_each: int = 1) -> Iterator[tuple[Arrays, Arrays]]:
    """Tables and their neighbours: at ends of the bounds; the person who differs stands last, with either label."""
    places = np.arange(OTHERS)
    ends = np.where([places % 2, places * 5 % 8 < 4], 1.0, -1.0)  # so that a row in the place of another is seen
    others = Arrays(np.ascontiguousarray(ends.T), (places * 7 % 12 < 6).astype(np.int64), places)
    other = _with(others, -1.0, 0, rows_each)
    for at, side in ((1.0, 1), (-1.0, 1), (1.0, 0), (0.5, 0)):
        present = _with(others, at, side, rows_each)
        yield (others if kind == "add_remove" else other), present


def _with(others: Arrays, at: float, side: int, rows: int) -> Arrays:
    return Arrays(
        np.vstack([others.rows, np.full((rows, 2), at)]),
        np.append(others.sides, np.full(rows, side)),
        np.append(others.people, np.full(rows, OTHERS)),
    )


# --- the workflows there are ------------------------------------------------------------------------------------------


def fitted_and_scored(bench: Bench) -> object:
    """A pipeline of ``Clip`` and a classifier, a clone of it, and a score of both."""
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(learning.Clip(bounds=LIMITS), bench.model)
    table = bench.table
    return [clone(model).fit(table.rows, table.sides).score(table.rows, table.sides) for _ in range(2)]


def moved_first(bench: Bench) -> object:
    """A noisy scaler and noisy axes before a classifier: three charges for each fit."""
    from sklearn.pipeline import make_pipeline

    scaler, axes = learning.StandardScaler(**bench.told), learning.PCA(**{**bench.told, "bounds": (-4, 4)})
    model = make_pipeline(scaler, axes, bench.model.set_params(bounds=(-2, 2)))
    model.fit(bench.table.rows, bench.table.sides)
    return [step.certificate_.document["model"]["released"] for _, step in model.steps]


def cross_validated(bench: Bench) -> object:
    """scikit-learn's ``cross_val_score`` in folds by coins."""
    from sklearn.model_selection import cross_val_score

    table = bench.table
    groups = table.people if bench.rows_each > 1 else None
    return cross_val_score(bench.model, table.rows, table.sides, cv=bench.folds(3), groups=groups)


def searched(bench: Bench) -> object:
    """scikit-learn's ``GridSearchCV`` in folds by coins, its refit and a score of that."""
    from sklearn.model_selection import GridSearchCV

    grid = {"epsilon": ["0.5", "1"]}
    search = GridSearchCV(bench.model, grid, cv=bench.folds(2)).fit(bench.table.rows, bench.table.sides)
    return search.best_params_, search.score(bench.table.rows, bench.table.sides)


def in_jobs(bench: Bench) -> object:
    """Fits of clones handed to joblib's threads, one after the other, so that the calls have an order."""
    from joblib import Parallel, delayed
    from sklearn.base import clone

    def one(model: Any) -> object:
        return model.fit(bench.table.rows, bench.table.sides).theta_

    jobs = Parallel(n_jobs=2, backend="threading", pre_dispatch=1, batch_size=1)
    return jobs(delayed(one)(clone(bench.model)) for _ in range(3))


def scored_by_ours(bench: Bench) -> object:
    """Our ``cross_val_score``, which charges a person's share of the fits."""
    table = bench.table
    groups = table.people if bench.rows_each > 1 else None
    found = learning.cross_val_score(bench.model, table.rows, table.sides, cv=bench.folds(3), groups=groups)
    return found.scores


def searched_by_ours(bench: Bench) -> object:
    """Our ``GridSearchCV``, which reserves once."""
    model = learning.LinearSVC(**bench.told, classes=[0, 1], solver="output")
    found = learning.GridSearchCV(model, {"C": ["0.01", "0.1"]}, epsilon=2)
    return found.fit(bench.table.rows, bench.table.sides).best_params_


def searched_in_folds(bench: Bench) -> object:
    """Our ``GridSearchCV`` in folds: a person trains all but one."""
    table = bench.table
    model = learning.LinearSVC(**bench.told, classes=[0, 1], solver="output")
    found = learning.GridSearchCV(model, {"C": ["0.01", "0.1"]}, epsilon=2, cv=bench.folds(3))
    return found.fit(table.rows, table.sides, table.people if bench.rows_each > 1 else None).best_params_


BY_SCIKIT: Final[Mapping[str, Run]] = {
    "a pipeline, clones and scores": fitted_and_scored,
    "a scaler and axes in a pipeline": moved_first,
    "cross_val_score(cv=folds(3))": cross_validated,
    "GridSearchCV(cv=folds(2))": searched,
    "clones in joblib's threads": in_jobs,
}
BY_US: Final[Mapping[str, Run]] = {
    "reticent's cross_val_score": scored_by_ours,
    "reticent's GridSearchCV": searched_by_ours,
    "reticent's GridSearchCV(cv=folds(3))": searched_in_folds,
}


def built_in() -> Iterator[Workflow]:
    """Every workflow under both relations; those in folds also for persons of two rows."""
    several = {cross_validated, scored_by_ours, searched_in_folds}
    runs = {**(BY_SCIKIT if find_spec("sklearn") else {}), **BY_US}
    kinds: tuple[Relation, ...] = ("add_remove", "substitute")
    for kind, (name, run) in product(kinds, runs.items()):
        yield Workflow(f"{name}, {kind}", run, kind)
        if run in several:
            yield Workflow(f"{name}, {kind}, at most 2 rows each", run, kind, 2)


def audits(most: int, tell: Callable[[str], None] = lambda what: None) -> Iterator[tuple[str, PlanAudit]]:
    """Each workflow on at most so many pairs of tables, with one tape of noise each."""
    for workflow in built_in():
        tell(f"made-up neighbours: workflows, {workflow.name}")
        tally, compared = AuditTotals((workflow.name,)), Workflows(workflow)
        for nth, (here, there) in zip(range(most), pairs(workflow.kind, workflow.rows_each), strict=False):
            tally.add(compared.compare(here, there, Tape(STYLES[nth % len(STYLES)], nth, nth)))
        yield workflow.name, tally.audited()


__all__ = ["Arrays", "Bench", "Workflow", "Workflows", "audits", "built_in", "pairs"]
