"""Before the charge nothing depends on rows: malformed tables and their neighbours are refused in the same words.

Some hundred random pairs of neighbouring tables, well or badly formed in every way a caller can manage: text, objects,
lists for cells, rows of another length, targets too short, tables without a row. Public are the types, the number of
columns, bounds and classes, and under substitution the number of rows. Nothing here is left to chance: the generator
has a seed, so red means a change. The mutants are what was refuted: a fit that refused by one cell, or told its length.
Every estimator is then given every list that is no table: bounds say how wide it is, and never its rows.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import pytest

import reticent as rt
from reticent import learning as private
from reticent.errors import Fault, PublicParameterError
from reticent.learning.fit import array_check, fit_release
from reticent.learning.fit.fit_release import Between
from reticent.learning.fit.held_arrays import CallerArrays
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics import scaling
from tests.assurance import models

Row: TypeAlias = tuple[object, object]  # what stands for a row of X, and its target
PAIRS: Final = 200
NOTHING: Final = PureDP(Fraction(0))
CELLS: Final[tuple[object, ...]] = (0.25, -0.5, 1, None, "a", float("nan"), 10**400, [1], (), 1j)
TARGETS: Final[tuple[object, ...]] = (0, 1, 0, 1, 0, 1, 2, None, "a", [1], [0, 1], [], object())
FORMS: Final = ("list", "rows", "objects", "numbers", "column")
LINE: Final[dict[str, Any]] = {"y_bounds": (0, 1)}
SIDES: Final[dict[str, Any]] = {"classes": [0, 1]}
MADE: Final[tuple[tuple[Callable[..., Any], dict[str, Any]], ...]] = (
    (private.GaussianNB, SIDES),
    (private.DecisionTreeClassifier, {**SIDES, "max_depth": 1}),
    (private.LogisticRegression, {**SIDES, "solver": "output"}),
    (private.LinearRegression, LINE),
    (private.StandardScaler, {}),
    (private.KMeans, {"n_clusters": 2, "max_iter": 1}),
)


@dataclass(frozen=True, slots=True)
class Case:
    """Two neighbouring tables in one form, an estimator, and how many targets are lost on the way."""

    here: tuple[Row, ...]
    there: tuple[Row, ...]
    form: str
    made: Callable[..., Any]
    own: dict[str, Any]
    adjacency: Between
    lost: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller sees: an error by kind and words without its reference, warnings, and what was charged."""

    kind: str
    words: str
    warned: tuple[str, ...]
    spent: object


def cases(kind: Between, seed: int = 7) -> Iterator[Case]:
    dice = np.random.default_rng(seed)

    def pick(among: tuple[Any, ...]) -> Any:
        return among[int(dice.integers(len(among)))]

    def row(form: str) -> Row:
        if form == "numbers":
            return [float(dice.normal()), pick((0.5, np.nan, np.inf))], float(pick((0, 1, 2, np.nan)))
        cells: list[object] = [pick(CELLS[:3]) if dice.random() < 0.7 else pick(CELLS) for _ in range(2)]
        if form in ("list", "rows") and dice.random() < 0.3:
            cells = pick(([0.5], [], [0.5, 1, 2], "ab", None, 7))
        return cells, pick(TARGETS)

    for _ in range(PAIRS):
        form, (made, own) = pick(FORMS), pick(MADE)
        here = [row(form) for _ in range(int(dice.integers(0 if kind == "add_remove" else 1, 6)))]
        place, there = int(dice.integers(len(here) + 1)), list(here)
        if kind == "add_remove":
            there.insert(place, row(form))
        else:
            there[min(place, len(here) - 1)] = row(form)
        yield Case(tuple(here), tuple(there), form, made, own, kind, int(dice.random() < 0.2))


def as_given(rows: tuple[Row, ...], form: str) -> tuple[object, object]:
    """X and y in one form: lists, a list of targets each in a list, arrays of objects or of numbers."""
    x, y = [cells for cells, _ in rows], [target for _, target in rows]
    match form:
        case "list" | "rows":
            return x, y if form == "list" else [[target] for target in y]
        case "numbers":
            return np.array(x, np.float64).reshape(len(x), 2), np.array(y, np.float64)
        case _:
            targets = np.empty(len(y), object)
            targets[:] = y
            table = np.empty((len(x), 2), object)
            for place, cells in enumerate(x):
                for column, cell in enumerate(list(cells)[:2] if isinstance(cells, list) else ()):
                    table[place, column] = cell
            return table, targets[:, None] if form == "column" else targets


def seen(case: Case, rows: tuple[Row, ...]) -> Seen:
    budget = PureDP(Fraction(100))
    ledger = Ledger.create(None, title="malformed", adjacency=Adjacency(case.adjacency), budget=budget)
    model = case.made(epsilon=1, bounds=[(-1, 1)] * 2, adjacency=case.adjacency, ledger=ledger, **case.own)
    x, y = as_given(rows, case.form)
    kind = words = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(x, y[: len(rows) - case.lost])  # type: ignore[index]  # a list or an array
        except Exception as error:
            kind, words = type(error).__name__, re.sub(r"f-\w+", "", str(error))
    return Seen(kind, words, tuple(str(one.message) for one in caught), ledger.spent())


def differing(case: Case) -> str:
    """What tells the two tables apart before the charge, or makes an error of another kind after it."""
    one, other = seen(case, case.here), seen(case, case.there)
    if (one.warned, one.spent) != (other.warned, other.spent):
        return f"{one} and {other}"
    if one.spent != NOTHING:
        return "" if {one.kind, other.kind} <= {"", Fault.__name__} else f"{one} and {other}"
    return "" if one == other and one.kind else f"{one} and {other}"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("seed", [8, 7])
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_neighbours_are_refused_in_the_same_words_or_both_charged(kind: Between, seed: int) -> None:
    found = [told for case in cases(kind, seed) if (told := differing(case))]
    assert found == []


@pytest.mark.wide
def test_only_a_target_too_short_fails_after_the_charge() -> None:
    """A cell, a label or a row that cannot be read is missing: it makes no fault, which would be a bit about it."""
    for case in cases("add_remove"):
        found = seen(case, case.here)
        looked_at = case.made not in (private.StandardScaler, private.KMeans)
        assert found.kind == ("Fault" if case.lost and case.here and looked_at else "")


def test_a_table_too_long_to_sum_is_a_fault_where_its_length_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "MOST_ROWS", 3)
    rows: tuple[Row, ...] = tuple(([0.5, 0.5], 1) for _ in range(4))
    for kind, told in (("add_remove", "Fault"), ("substitute", "PublicParameterError")):
        case = Case(rows, rows, "numbers", private.GaussianNB, SIDES, kind, 0)  # type: ignore[arg-type]  # both kinds
        found = seen(case, rows)
        assert found.kind == told
        assert (found.spent == NOTHING) == (told != "Fault")
        assert seen(case, rows[:3]).kind == ""


def test_a_study_of_too_many_rows_to_sum_is_refused_where_their_number_is_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scaling, "MOST_ROWS", 39)
    table = {"x": [0.5] * 40, "y": [0.25] * 40}
    columns = {name: rt.real(-1, 1, complete=True) for name in table}
    for kind, told in (("add_remove", Fault), ("substitute", PublicParameterError)):
        study = rt.study(table, adjacency=kind, columns=columns, budget=9)  # type: ignore[arg-type]  # both kinds
        with pytest.raises(told):
            private.LinearRegression(epsilon=2).fit(*study.xy(["x"], "y"))
        with pytest.raises(told):
            study.release([rt.regress("y ~ x")], epsilon=2, record=rt.Record(try_anyway=True))
        assert study.ledger.spent() == PureDP(Fraction(4 if told is Fault else 0))


# --- lists, whose length and width are private ------------------------------------------------------------------------

FEW: Final[dict[str, Any]] = {"solver": "output"}
TREE: Final = private.DecisionTreeClassifier
EVERY: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "BernsteinClassifier": (private.BernsteinClassifier, SIDES),
    "DecisionTreeClassifier": (TREE, {**SIDES, "max_depth": 1}),
    "EmpiricalRiskClassifier": (
        private.EmpiricalRiskClassifier,
        {**SIDES, **FEW, "slope": models.squared_hinge, "reach": 3},
    ),
    "EmpiricalRiskRegressor": (
        private.EmpiricalRiskRegressor,
        {**LINE, **FEW, "slope": models.log_cosh, "inverse_link": np.arctan},
    ),
    "FunctionClassifier": (
        private.FunctionClassifier,
        {**SIDES, "train": models.nearest, "stability": 2, "degree": 2},
    ),
    "GaussianNB": (private.GaussianNB, SIDES),
    "HuberRegressor": (private.HuberRegressor, {**LINE, **FEW}),
    "KMeans": (private.KMeans, {"n_clusters": 2, "max_iter": 1}),
    "LinearRegression": (private.LinearRegression, LINE),
    "LinearSVC": (private.LinearSVC, {**SIDES, **FEW}),
    "LogisticRegression": (private.LogisticRegression, {**SIDES, **FEW}),
    "PCA": (private.PCA, {}),
    "QuantileRegressor": (private.QuantileRegressor, {**LINE, "solver": "descent", "steps": 2}),
    "RandomForestClassifier": (private.RandomForestClassifier, {**SIDES, "max_depth": 1}),
    "StandardScaler": (private.StandardScaler, {}),
}
NESTED: Final = [[[0.5, 0.5]], [[0.5, 0.5]]]
UNTABLED: Final[dict[str, tuple[list[object], list[object]]]] = {
    "empty": ([], []),
    "one None": ([None], [0]),
    "one row without cells": ([[]], [0]),
    "ragged": ([[0.5], [0.5, 0.5], [0.5, 0.5, 0.5]], [0, 1, 0]),
    "mostly of another width": ([[0.5], [0.5], [0.5, 0.5]], [0, 1, 0]),
    "scalars": ([0.5, 1], [0, 1]),
    "nested": (list(NESTED), [0, 1]),
    "texts": (["ab", "cd"], ["a", "b"]),
    "a target too short": ([[0.5, 0.5], [0.5, 0.5]], [0]),
    "a table": ([[0.5, 0.5], [-0.5, 0.5]], [0, 1]),
}


def opened(kind: Between) -> Ledger:
    return Ledger.create(None, title="lists", adjacency=Adjacency(kind), budget=PureDP(Fraction(10**4)))


def fits_of(name: str, bounds: object, ledger: Ledger, kind: Between) -> list[Any]:
    """The estimator, and the searches and scores that are made of it."""
    made, own = EVERY[name]
    given_ = {"epsilon": 1, "bounds": bounds, "adjacency": kind, "ledger": ledger, **own}
    found: list[Any] = [made(**given_)]
    if name == "DecisionTreeClassifier":
        found.append(private.GridSearchCV(made(**given_), {"max_depth": [1, 2]}))
    return found


def test_the_list_names_every_estimator_that_charges() -> None:
    charging = {name for name in private.__all__ if hasattr(getattr(private, name), "fit")} - {"Clip", "GridSearchCV"}
    assert charging == set(EVERY)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("name", EVERY)
def test_a_list_with_one_pair_of_bounds_is_refused_in_one_sentence(name: str, kind: Between) -> None:
    ledger, told = opened(kind), set()
    for x, y in UNTABLED.values():
        for fit in (*fits_of(name, (-1, 1), ledger, kind), private.Clip(bounds=(-1, 1))):
            with pytest.raises(PublicParameterError) as refusal:
                fit.fit(x, y)
            told.add(str(refusal.value))
    (words,) = told
    assert "one pair of bounds for each" in words
    assert ledger.spent() == NOTHING


@pytest.mark.loop(8)
@pytest.mark.parametrize("name", EVERY)
def test_a_list_is_as_wide_as_its_bounds_and_every_fit_of_one_is_charged(name: str) -> None:
    """Under add/remove; whatever cannot be read is missing, and a target too short is found after the charge."""
    for x, y in UNTABLED.values():
        for form in (list, objects_of):
            for fit in fits_of(name, [(-1, 1)] * 2, ledger := opened("add_remove"), "add_remove"):
                with suppress(Fault):
                    assert fit.fit(form(x), y).n_features_in_ == 2
            assert ledger.spent() != NOTHING


def objects_of(rows: list[object]) -> object:
    """The rows of a list in an array of objects with one dimension, as ragged rows come."""
    found = np.empty(len(rows), object)
    for place, row in enumerate(rows):
        found[place] = row
    return found


def test_a_list_is_scored_and_transformed_by_the_width_of_the_fit() -> None:
    ledger = opened("add_remove")
    given_: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger}
    x, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    model, scaler = private.GaussianNB(**given_, **SIDES).fit(x, y), private.StandardScaler(**given_).fit(x)
    for rows, targets in UNTABLED.values():
        if len(rows) == len(targets):
            assert 0 <= model.score(rows, targets, epsilon=1) <= 1
        assert scaler.transform(rows).shape == (len(rows), 2)


# --- prices that are not taken ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*EVERY, "GridSearchCV", "Clip"])
@pytest.mark.parametrize("price", ["rho", "eps", "mu", "budget", "score_epsilon"])
def test_a_price_that_is_not_taken_is_refused_in_our_words(name: str, price: str) -> None:
    kind = getattr(private, name)
    if price in {one.name for one in fields(kind)}:
        return
    first = (private.GaussianNB(), {"rows_each": [1]}) if name == "GridSearchCV" else ()
    with pytest.raises(PublicParameterError, match=f"{name} has no {price}: a fit is priced by epsilon="):
        kind(*first, **{price: 1})
    with pytest.raises(PublicParameterError, match=f"{name} has no {price}"):
        kind(*first).set_params(**{price: 1})
    with pytest.raises(TypeError, match="unexpected keyword"):  # any other name is Python's to refuse
        kind(*first, elbow=1)


# --- what was refuted -------------------------------------------------------------------------------------------------


def of_shapes(x: Any, y: Any, columns: int | None, size: str) -> CallerArrays:
    """Arrays as they were read before: shape and type of all rows first."""
    values = array_check.table(x)
    targets = None if y is None else array_check.column(y, len(values))
    known = len(values) if size == "public" else None
    return CallerArrays(
        values.shape[1],
        known,
        lambda: (array_check.cells(values), None if targets is None else array_check.labels(targets)),
    )


@pytest.mark.wide
def test_a_fit_that_refuses_by_a_cell_or_tells_its_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_release, "held", of_shapes)
    found = "\n".join(told for case in cases("add_remove") if (told := differing(case)))
    assert "Every row must be a list of one length" in found
    assert "got shape (" in found
    assert "0 sample(s)" in found


@pytest.mark.parametrize(("y", "fails"), [([0, 1, [1]], False), ([0, 1], True)])
def test_a_label_in_a_list_and_a_short_target_are_charged(y: list[object], fails: bool) -> None:
    """The two ways in which a cell or a length was read out of a refusal, uncharged."""
    rows: tuple[Row, ...] = tuple(([0.0, 0.0], target) for target in [*y, 1][:3])
    found = seen(Case(rows, rows, "list", private.GaussianNB, SIDES, "add_remove", int(fails)), rows)
    assert found.kind == ("Fault" if fails else "")
    assert not re.search(r"[23]|shape|list", found.words)
    assert found.spent == PureDP(Fraction(1))
