"""Record-replay of fits: one model fitted to two neighbouring made-up tables, with the same noise on both.

    Fit           a model, its columns, the schema of the tables, how the rows are held, whether it is scored too
    Fits          compares fits on pairs of tables: what ``Replayer`` is for plans
    built_in()    every estimator of ``reticent.learning``, under both relations, pure and with a delta

A fit is the public one, on handles of a study of made-up rows with a ledger in memory: charged, read, drawn, certified.
Given equal outputs of the gate all that a fit leaves must be equal (every attribute, the certificate, the ledger), the
calls must be the same calls, the guarantee must pay for all of them in the ledger's currency and in the other
(``drawn``), no exact number may move further than its mechanism declares, and together they may lose no more than is
charged. Where records are dealt out by coins (the test
part of a search, blocks), the same coin meets the same record on both tables (``dealt``).

Rows are columns of a study, or arrays the caller holds: then the records a study would read stand in an array of
objects, text where a value is missing. Where a fit is scored, the score is bought of the same rows after it, and the
two are in sequence.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, Literal, Protocol, TypeAlias, assert_never, cast

import numpy as np

from reticent.certificate.certificate import Certificate
from reticent.conformance.branch_charge import unpaid
from reticent.conformance.certificate_replay import said
from reticent.conformance.couplings import WORD, QueryRunner, in_one_order
from reticent.conformance.couplings import RecordCounter as CountedRows
from reticent.conformance.diffs import alike
from reticent.conformance.findings import CallPair, Finding, RunComparison, cause_of, excess, raised, seen_of, unlike
from reticent.conformance.proofs import charge_of, nodes
from reticent.conformance.tape import Tape, recorded
from reticent.data.expression_tree import write
from reticent.data.schema import Schema
from reticent.entropy import SystemEntropy
from reticent.learning.fit.estimator import Estimator
from reticent.learning.fit.handles import Handle
from reticent.learning.search import GridSearchCV
from reticent.mechanisms.gate import Call, Recorder
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import PROCESSED
from reticent.privacy.filters import enter
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, Loss, PureDP, words
from reticent.privacy.numbers import about
from reticent.study.handles import Columns
from reticent.study.memory import study as in_memory
from tests.assurance.session_replay import Made, Watched

BUDGET: Final = ApproxDP(Fraction(1000), Fraction(1, 5000))
IN_RHO: Final = ZCDP(Fraction(10**6))

Kind: TypeAlias = tuple[Loss, Adjacency, Theorem]
Held: TypeAlias = Literal["handles", "arrays"]
ABSENT: Final = "none"  # a text, which is no number and no label


class Model(Protocol):
    """Anything that is fitted to handles and then has a guarantee."""

    def fit(self, X: object, y: object = None) -> object: ...

    @property
    def guarantee_(self) -> Guarantee: ...


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of ``y`` by the columns ``x`` of tables over ``schema``; ``make`` gives it unfitted, each time anew.

    ``scored`` is the epsilon of a score of the same rows after the fit; None where there is none. ``budget`` is that of
    the ledger, and says in which currency the fit is charged.
    """

    name: str
    schema: Schema
    make: Callable[[], Any]  # estimators have no class in common with searches
    x: tuple[str, ...]
    y: str | None = None
    held: Held = "handles"
    scored: str | None = None
    budget: Counted = BUDGET


@dataclass(frozen=True, slots=True, eq=False)
class Shelf(Columns):
    """Columns of a study of made-up rows, which hand out a recorder where others have the system's coins."""

    recorder: Recorder = field(kw_only=True)

    def coins(self) -> SystemEntropy:
        return cast(SystemEntropy, self.recorder)  # it has the same two methods


@dataclass(frozen=True, slots=True)
class Fitted:
    """What one fit did and left. ``guarantee`` is as it was stated, ``charged`` in the ledger's currency.

    ``wrong`` is what is wrong with its charge, in words.
    """

    calls: tuple[Call, ...]
    tossed: tuple[int, ...]
    records: frozenset[int]
    left: object
    guarantee: Guarantee | None
    charged: Guarantee | None
    warned: tuple[str, ...]
    wrong: tuple[str, ...]
    raised: str | None


class Fits:
    """Compares fits of one model to pairs of tables."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit

    def compare(self, here: QueryRunner, there: QueryRunner, tape: Tape, *, same: bool = False) -> RunComparison:
        """Two fits with the same outputs of the gate; the ``same`` rows in another order may change nothing at all."""
        first = fitted(self.fit, here, tape)
        if first.tossed:
            here, there = in_one_order(here, there)
            first = fitted(self.fit, here, tape)
        second = fitted(self.fit, there, tape, first.calls)
        name = self.fit.name
        found = raised(first.raised, second.raised) or [*_tossed(first, second), *unlike(first.calls, second.calls)]
        if found or first.guarantee is None or first.charged is None:
            return RunComparison((), None, tuple(found))
        found = [Finding("loss", name, text) for text in dict.fromkeys((*first.wrong, *second.wrong))]
        found += [Finding("proof", name, text) for text in unpaid(first.charged, first.calls)]
        times, seen = paying(first.guarantee, first.calls), []
        for call, other, often in zip(first.calls, second.calls, times, strict=True):
            if not often:
                found.append(Finding("proof", name, f"no part of the proof pays for {type(call.mechanism).__name__}"))
            seen.append(seen_of(call, other, name, often or 1))
            found += excess(call, other, seen[-1], often or 1, same=same)
        share = _share(first.charged, first.calls, seen, times)
        if share is not None and share > 1:
            what = f"{about(share)} of what is charged, {words(first.charged.loss)}, was lost in all"
            found.append(Finding("loss", name, what))
        if first.warned != second.warned:
            found.append(Finding("warning", name, f"warnings differ: {list(first.warned)} and {list(second.warned)}"))
        if not alike(first.left, second.left):
            found.append(Finding("answer", name, _differing(first.left, second.left)))
        return RunComparison(tuple(seen), share, tuple(found), len(first.records))


def fitted(fit: Fit, rows: QueryRunner, tape: Tape, earlier: tuple[Call, ...] = ()) -> Fitted:
    """One fit, and what it left."""
    person = fit.schema.person
    before = datetime.now(UTC)
    made_up = in_memory(
        {name: [] for name in (*fit.schema.columns, *filter(None, [person.column]))},
        adjacency=person.adjacency,
        columns=fit.schema.columns,
        budget=fit.budget,
        person=person.column,
        rows_each=person.rows,
        people=person.people,
        override="made up",
    )
    if fit.schema.where is not None:
        made_up = made_up.where(write(fit.schema.where))
    ledger, recorder, counted = made_up.ledger, recorded(tape, earlier), CountedRows(rows)
    made = Made(counted, ledger.spent, hashlib.sha256(f"audit key {tape.coins}".encode()).digest())
    study = Watched(made_up.spec, {}, ledger, made=made, recorder=recorder)
    left, guarantee, charged, failed = None, None, None, None
    wrong: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit.make()
            x, y = _given(model, study, fit, recorder)
            made.read.clear()  # a caller has arrays before there is anything to charge
            guarantee, charges = _bought(model, x, y, fit.scored, ledger.spent)
            charged = compose.in_zcdp(guarantee) if ledger.currency == "zcdp" else guarantee
            lines = [(line.what, line.charge, line.state) for line in ledger.releases()]
            left = {"model": left_by(model, before), "ledger": lines}
            whole = enter(charged.loss, fit.budget) == enter(ledger.spent(), fit.budget)
            wrong += [] if whole else [f"{words(ledger.spent())} is charged for {words(charged.loss)}"]
            early = made.read != ([] if fit.held == "arrays" else charges)
            wrong += ["rows are read before all of it is charged"] if early else []
        except Exception as cause:
            failed = cause_of(cause)
    warned = tuple(f"{item.category.__name__}: {item.message}" for item in caught)
    calls, tossed = tuple(recorder.calls), tuple(recorder.tossed)
    return Fitted(calls, tossed, frozenset(counted.records), left, guarantee, charged, warned, tuple(wrong), failed)


def _bought(
    model: Any, x: object, y: object, scored: str | None, spent: Callable[[], Loss]
) -> tuple[Guarantee, list[Loss]]:
    """A fit, and a score where there is one: what both guarantee, and what was charged after each."""
    model.fit(x, y)
    after_fit, fit = spent(), cast(Model, model).guarantee_  # as ``Fit`` says
    if scored is None:
        return fit, [after_fit]
    model.score(x, y, epsilon=scored)
    both = compose.in_sequence([fit, model.score_certificate_.guarantee], label="a fit and its score")
    return both, [after_fit, spent()]


def _given(model: Any, study: Watched, fit: Fit, recorder: Recorder) -> tuple[object, object]:
    """X and y, as they are held."""
    x, y = _shelved(study, fit, recorder)
    match fit.held:
        case "handles":
            return x, y
        case "arrays":
            return _as_arrays(model, study, x, y)
        case _:
            assert_never(fit.held)


def _as_arrays(model: Any, study: Watched, x: Handle, y: Handle | None) -> tuple[object, object]:
    """The records the study would read, as a caller would hold them; the model is told what a study tells by itself."""
    columns = (*x.columns, *(() if y is None else y.columns))
    found, person = x.shelf.read(columns), study.schema.person
    told: Any = model.estimator if isinstance(model, GridSearchCV) else model
    told.set_params(study=study, bounds=x.bounds, rows_each=person.rows, people=x.shelf.people)
    rows = found[:, : len(x.columns)]
    held = np.where(np.isfinite(rows), rows.astype(object), ABSENT)
    if y is None:
        return held, None
    if "classes" in told.get_params():
        told.set_params(classes=y.shelf.labels(y.columns[0]))
    else:
        told.set_params(y_bounds=y.bounds[0])
    target = y.shelf.named(y.columns[0], found[:, -1]).astype(object)
    return held, [ABSENT if value is None or value != value else value for value in target.tolist()]


def _shelved(study: Watched, fit: Fit, recorder: Recorder) -> tuple[Handle, Handle | None]:
    """The handles a study gives, on a shelf that hands out the recorder."""
    x, y = study.xy(fit.x, fit.y)
    kept = x.shelf
    assert isinstance(kept, Columns)
    shelf = Shelf(kept.schema, kept.ledger, kept.place, kept.rows, kept.known, kept.keys, recorder=recorder)
    return replace(x, shelf=shelf), None if y is None else replace(y, shelf=shelf)


# --- what a fit leaves ------------------------------------------------------------------------------------------------


def left_by(model: object, before: datetime, fit: Certificate | None = None) -> object:
    """All a fit wrote into a model: what is no parameter, estimators within taken apart, certificates without ids.

    ``fit`` is the certificate that one of a score names by its digest, in which times and ids are.
    """
    match model:
        case Certificate():
            document = model.document
            released = document["model"]["released"]
            if fit is not None and released.get("of") == fit.digest:
                released["of"] = "the fit"
            return said(document, before)
        case Estimator() | GridSearchCV():
            given = {item.name for item in fields(model) if item.init}
            mine = {name: value for name, value in sorted(vars(model).items()) if name not in given}
            return {name: left_by(value, before, model.certificate_) for name, value in mine.items()}
        case list() | tuple():
            return [left_by(one, before) for one in model]
        case _:
            return model


def _differing(one: object, other: object) -> str:
    """The first name that differs, and how, in short."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *other]:
            if not alike(one.get(name), other.get(name)):
                return f"{name}: {_differing(one.get(name), other.get(name))}"
    shown = [text if len(text := repr(value)) <= 80 else f"{text[:79]}…" for value in (one, other)]
    return f"{shown[0]} and {shown[1]}, though every noisy number was the same"


def _tossed(first: Fitted, second: Fitted) -> list[Finding]:
    """Coins outside the gate: of public number, or a word for each record."""
    sizes = list(zip(first.tossed, second.tossed, strict=False))
    alike_or_dealt = all(
        mine == theirs or (mine % WORD == 0 == theirs % WORD and {mine // WORD, theirs // WORD} <= both)
        for both in (first.records | second.records,)
        for mine, theirs in sizes
    )
    if len(first.tossed) == len(second.tossed) and alike_or_dealt:
        return []
    shown = " and ".join(str(list(one.tossed)[:8]) for one in (first, second))
    return [Finding("bypass", "", f"the coins tossed outside the gate depend on the rows, in bits: {shown}")]


# --- calls against the guarantee --------------------------------------------------------------------------------------


def paying(paid: Guarantee, calls: Sequence[Call]) -> list[int]:
    """For each call how many steps of its own neighbours lie between two tables; 0 where nothing is like it.

    A leaf of a partition stands for any number of calls, so calls are not counted off here: ``unpaid`` does.
    """
    leaves: dict[Kind, int] = {}
    for node, often in nodes(paid, 1):
        leaves[kind_of(node)] = max(often, leaves.get(kind_of(node), 0))
    found = []
    for call in calls:
        stated = getattr(call.mechanism, "guarantee", None)
        while isinstance(stated, Guarantee) and stated.by == PROCESSED:
            (stated,) = stated.parts
        found.append(leaves.get(kind_of(stated), 0) if isinstance(stated, Guarantee) else 0)
    return found


def _share(tree: Guarantee, calls: Sequence[Call], seen: list[CallPair], times: list[int]) -> Fraction | None:
    """What all calls lost by their numbers, of what is charged; None where a mechanism does not say."""
    charge, in_rho = charge_of(tree), dict(_converted(tree))
    lost = Fraction(0)
    for call, one, often in zip(calls, seen, times, strict=True):
        stated = cast(Guarantee, call.mechanism.guarantee)  # type: ignore[attr-defined]  # a mechanism has one
        match charge, stated.loss, one.ratio:
            case (PureDP(), PureDP(epsilon), Fraction() as ratio):
                lost += epsilon * ratio * often
            case (ZCDP() | ApproxZCDP(), ZCDP(rho), Fraction() as ratio):
                lost += rho * ratio * often**2
            case (ZCDP() | ApproxZCDP(), PureDP(), Fraction() as ratio) if kind_of(stated) in in_rho:
                lost += in_rho[kind_of(stated)] * (ratio * often) ** 2
            case _:
                return None
    match charge:
        case PureDP(total):
            return lost / total
        case ZCDP(total) | ApproxZCDP(total, _):
            return lost / total
        case _:
            return None


def kind_of(stated: Guarantee) -> Kind:
    """What one noise costs, to whom and by which theorem: parameters may be in other units."""
    return stated.loss, stated.adjacency, stated.by


def _converted(tree: Guarantee) -> Iterator[tuple[Kind, Fraction]]:
    """The rho of every pure leaf that is converted by itself."""
    match tree.loss, [part.loss for part in tree.parts]:
        case ZCDP(rho), [PureDP()]:
            yield kind_of(tree.parts[0]), rho
        case _:
            for part in tree.parts:
                yield from _converted(part)
