"""Record-replay of fits: nothing they leave exceeds; and broken ones, each of which is refuted. Nothing is random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest

from reticent.conformance.findings import RunComparison
from reticent.conformance.neighbours import Family
from reticent.conformance.reader_replay import engine
from reticent.conformance.replay import QueryRunner
from reticent.learning import classifiers, moments, search
from reticent.learning.fit import array_check as given
from reticent.learning.fit import held_arrays
from reticent.learning.fit import scoring as scores
from reticent.learning.fit.estimator import Estimator
from reticent.learning.trees import Growth
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP
from reticent.statistics import scaling
from reticent.statistics.convex import descent
from reticent.statistics.regression import products
from reticent.statistics.scaling import UNIT, Scaling
from reticent.study.handles import Columns
from tests.assurance import fits, models

HONEST = fits.left_by
FITS = {fit.name: fit for fit in models.built_in()}
ONE = "add_remove, at most 1 row each"  # pure
FILTERED = "filtered, substitute, at most 1 row each"  # pure
ROBUST = [name for name in FITS if name.endswith(f"{models.PEOPLE} rows")]
PAIRS = 6
Replayed: TypeAlias = Callable[[str, int], list[RunComparison]]


@pytest.fixture(scope="module")
def replayed() -> Iterator[Replayed]:
    """Fits by name on some pairs; every family is opened once."""
    known: dict[str, tuple[Family, list[QueryRunner]]] = {}
    with engine() as opened:

        def compared(name: str, pairs: int) -> list[RunComparison]:
            fit = FITS[name]
            key = repr(fit.schema)
            if key not in known:
                made = models.tables(fit)
                known[key] = made, [opened(made, place) for place in range(len(made.tables))]
            return list(models.compared(fit, *known[key], pairs))

        yield compared


@pytest.fixture
def told(replayed: Replayed) -> Callable[[str], str]:
    """What is found of a fit under add/remove, one row each, where nothing else is named."""

    def found(name: str) -> str:
        seen = replayed(name if name in FITS else f"{name}, {ONE}", PAIRS)
        return "\n".join(f"{one.kind}: {one.words}" for comparison in seen for one in comparison.findings)

    return found


@pytest.mark.loop(16)
@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name in FITS if name not in ROBUST])
def test_no_fit_leaves_more_than_its_noise_lets_through(name: str, replayed: Replayed) -> None:
    found = replayed(name, 2)
    assert [one.findings for one in found] == [()] * len(found)
    assert all(one.calls for one in found)
    assert all(one.share is None or one.share <= 1 for one in found)


@pytest.mark.loop(6)
@pytest.mark.wide
@pytest.mark.parametrize("name", ROBUST)
def test_robust_regressions_deal_out_the_rows_alike(name: str, replayed: Replayed) -> None:
    found = replayed(name, PAIRS)
    assert [one.findings for one in found] == [()] * len(found)
    assert any(seen.ratio for one in found for seen in one.calls)


@pytest.mark.wide
def test_pairs_reach_what_is_declared(replayed: Replayed) -> None:
    for name in ("GaussianNB", "KMeans", "StandardScaler", "LinearSVC"):
        found = replayed(f"{name}, {ONE}", PAIRS)
        assert max(seen.ratio or 0 for one in found for seen in one.calls) == 1
        assert max(one.share or 0 for one in found) > 0.5


def once(shelf: Columns, guarantee: Guarantee) -> Guarantee:
    """A guarantee for people who come and go, said of people who are replaced."""
    return compose.grouped(guarantee, 1, neighbours=shelf.schema.person.with_one_cap())


@pytest.mark.parametrize("name", ["GaussianNB", "LinearRegression"])
def test_a_fit_of_filtered_rows_is_two_steps_and_no_single_one(
    name: str, replayed: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who is replaced may leave the rows, and the one who takes their place enters them: both are reached."""
    sound = replayed(f"{name}, {FILTERED}", PAIRS)
    assert [one.findings for one in sound] == [()] * len(sound)
    assert max(seen.ratio or 0 for one in sound for seen in one.calls) == 1
    monkeypatch.setattr(Columns, "steps", 1)
    monkeypatch.setattr(Columns, "lifted", once)
    broken = replayed(f"{name}, {FILTERED}", PAIRS)
    assert any(found.kind in ("sensitivity", "loss", "proof") for one in broken for found in one.findings)


# --- broken fits ------------------------------------------------------------------------------------------------------


def raw(rows: scaling.Integers, most: Any, norm: Any) -> scaling.Integers:
    scaling.lengths(rows, norm)  # the length is looked at, and the rows go on as they were
    return rows


@pytest.mark.wide
@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression, three classes", "LinearRegression"])
def test_rows_that_are_shortened_and_then_used_raw_are_found(
    name: str, told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (descent, products):
        if hasattr(module, "shortened"):
            monkeypatch.setattr(module, "shortened", lambda rows, most, norm: 4 * raw(rows, most, norm))
    assert "sensitivity: " in told(name)


@pytest.mark.wide
def test_a_bound_used_twice_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    def low_twice(self: Scaling, values: Any) -> scaling.Integers:
        low = np.array(self.bounds, np.float64)[:, 0]
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        cut = np.maximum(np.where(there[:, None], values, 0.0), low) + 10  # low twice, high never
        middle, half = self.frame
        return np.asarray(np.rint(np.clip((cut - middle) / half, -1e6, 1e6) * UNIT).astype(np.int64))

    monkeypatch.setattr(Scaling, "whole", low_twice)
    assert "sensitivity: " in told("GaussianNB")


@pytest.mark.wide
def test_a_row_counted_in_two_folds_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "Candidates", lambda scores, weights: Candidates(2 * scores, weights))
    assert "sensitivity: Exponential declares" in told("GridSearchCV, trees")


@pytest.mark.wide
def test_a_row_in_two_classes_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = scaling.product
    monkeypatch.setattr(moments, "product", lambda left, right: honest(left + np.roll(left, 1, axis=1), right))
    assert "sensitivity: " in told("GaussianNB")


@pytest.mark.wide
def test_labels_taken_from_the_rows_are_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    honest = classifiers.indices

    def indices(targets: Any, labels: Any) -> Any:
        kept.append(np.unique(np.asarray(targets)[np.isfinite(np.asarray(targets, float))]))
        return honest(targets, labels)

    note = Estimator._note

    def noted(self: Any, *given: Any) -> None:
        note(self, *given)
        self.classes_ = kept[-1]

    monkeypatch.setattr(moments, "indices", indices)
    monkeypatch.setattr(Estimator, "_note", noted)
    assert "answer: model: classes_: " in told("GaussianNB")


@pytest.mark.wide
def test_an_attribute_with_the_number_of_rows_is_found(
    told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Estimator._drawn

    def counted(self: Any, work: Any, values: Any, *rest: Any) -> Any:
        found = drawn(self, work, values, *rest)
        self.n_samples_seen_ = len(values)
        return found

    monkeypatch.setattr(Estimator, "_drawn", counted)
    assert "answer: model: n_samples_seen_: " in told("StandardScaler")


@pytest.mark.wide
def test_a_certificate_with_the_number_of_rows_is_found(
    told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Estimator._drawn

    def counted(self: Any, work: Any, values: Any, *rest: Any) -> Any:
        return {**drawn(self, work, values, *rest), "rows_": len(values)}

    monkeypatch.setattr(Estimator, "_drawn", counted)
    assert "answer: model: certificate_: model: released: rows: " in told("StandardScaler")


@pytest.mark.wide
def test_noise_beside_the_gate_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "draw", lambda mechanism, exact, entropy: mechanism.sample(exact, entropy))
    assert told("StandardScaler").startswith(("answer: ", "bypass: "))


@pytest.mark.wide
def test_a_split_without_noise_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    def best(self: Growth, rows: Any, here: Any, seen: Any, entropy: Any) -> tuple[int, int]:
        return 0, min(int(rows.bins[0, here].max(initial=0)), len(self.edges[0]) - 1)

    monkeypatch.setattr(Growth, "split", best)
    assert "answer: " in told("DecisionTreeClassifier")


@pytest.mark.wide
def test_a_fit_that_is_charged_in_part_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = Ledger.reserve

    def half(self: Any, charge: Any, **named: Any) -> Any:
        return reserve(self, PureDP(charge.epsilon / 2) if isinstance(charge, PureDP) else charge, **named)

    monkeypatch.setattr(Ledger, "reserve", half)
    assert "loss: ε 2 is charged for ε 4" in told("StandardScaler")


@pytest.mark.wide
def test_noise_for_less_than_is_said_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that no part of the guarantee pays for."""
    draw = gate.draw

    def louder(mechanism: Any, exact: Any, entropy: Any) -> Any:
        named = hasattr(mechanism, "epsilon") and hasattr(mechanism, "sensitivity")
        return draw(replace(mechanism, epsilon=2 * mechanism.epsilon) if named else mechanism, exact, entropy)

    monkeypatch.setattr(gate, "draw", louder)
    assert "proof: no part of the proof pays for Geometric" in told("StandardScaler")


# --- arrays and scores ------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_pairs_reach_what_a_score_and_a_program_declare(replayed: Replayed) -> None:
    for name in ("GaussianNB, scored", "LinearRegression, scored", "GaussianNB, arrays"):
        found = replayed(f"{name}, {ONE}", PAIRS)
        assert max(seen.ratio or 0 for one in found for seen in one.calls) == 1
    program = replayed(f"FunctionClassifier, arrays, {ONE}", PAIRS)
    assert max(seen.ratio or 0 for one in program for seen in one.calls) > 0.25  # not everywhere does a label turn
    with_score, alone = (replayed(f"GaussianNB{how}, {ONE}", 1)[0] for how in (", scored", ""))
    assert len(with_score.calls) == len(alone.calls) + 1


@pytest.mark.wide
def test_cells_that_fail_before_the_charge_are_found(
    told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_arrays, "array", lambda x, name: np.asarray(given.array(x, name), np.float64))
    assert "exception: it fails on both neighbours: ValueError: could not convert" in told("KMeans, arrays")


@pytest.mark.wide
def test_a_score_that_counts_a_row_twice_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = scores.ScoreSums.draw

    def twice(self: Any, parts: Any, entropy: Any) -> Any:
        return honest(self, np.repeat(parts, 2, axis=0), entropy)

    monkeypatch.setattr(scores.ScoreSums, "draw", twice)
    assert "sensitivity: Geometric declares" in told("GaussianNB, scored")
    assert "sensitivity: " not in told("GaussianNB")


@pytest.mark.wide
def test_a_score_of_another_model_is_found(told: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate of a score names the fit by its digest; two that name none differ."""
    stating = Estimator._stating

    def of_another(self: Any, what: str) -> Any:
        tell = stating(self, what)
        return lambda found: tell({**found, "of": len(found["of"]) * "0"} if "of" in found else found)

    monkeypatch.setattr(Estimator, "_stating", of_another)
    assert "released: of: " not in told("GaussianNB, scored")  # the same wrong digest on both
    monkeypatch.setattr(Estimator, "_stating", stating)
    monkeypatch.setattr(fits, "left_by", lambda model, before, fit=None: HONEST(model, before))
    assert "score_certificate_: model: released: of: " in told("GaussianNB, scored")


@pytest.mark.wide
def test_a_program_that_moves_further_than_claimed_is_found(told: Callable[[str], str]) -> None:
    name = f"FunctionClassifier, arrays, {ONE}"
    kept = FITS[name]
    FITS[name] = replace(kept, make=lambda: kept.make().set_params(stability="0.5"))
    try:
        assert "sensitivity: Geometric declares" in told(name)
    finally:
        FITS[name] = kept


@pytest.mark.wide
def test_a_label_that_is_not_declared_says_nothing() -> None:
    """What the mutants above change is there to be changed."""
    assert np.isnan(classifiers.indices(np.array([7]), np.array([0, 1]))).all()
