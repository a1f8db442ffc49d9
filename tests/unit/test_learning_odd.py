"""Odd labels of a fit: counted with noise beside the model, charged, told everywhere, and left out in words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import reticent as rt
from reticent import learning
from reticent.certificate.render.page import page
from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.learning import GaussianNB, GridSearchCV, LogisticRegression, cross_val_score, folds
from reticent.learning.fit_release import Between
from reticent.learning.odd import LABELS, OddRows, told
from reticent.ledger import Ledger
from reticent.mechanisms import Geometric, gate
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, PureDP
from reticent.privacy.sensitivity import L1
from reticent.statistics.shares import ASSUMED, SHARE, WIDEST

RNG: Final = np.random.default_rng(8)
N: Final = 4000
X: Final = RNG.uniform(-1, 1, (N, 2))
CLEAN: Final = np.array([int(value > 0) for value in X[:, 0]], object)
ODD: Final = CLEAN.copy()
ODD[:200], ODD[200:300], ODD[300:320] = "x", 7, None  # a text, out of list, missing: 8 % of the rows


def account(kind: Between = "add_remove", budget: Any = None) -> Ledger:
    return Ledger.create(None, title="odd", adjacency=Adjacency(kind), budget=budget or PureDP(Fraction(100)))


def naive(ledger: Ledger, **own: Any) -> Any:
    told = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "adjacency": ledger.adjacency.kind, "ledger": ledger}
    return GaussianNB(**{**told, **own})


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_the_share_of_odd_labels_is_told_with_its_noise_and_charged(kind: Between, silent: None) -> None:
    ledger = account(kind)
    model = naive(ledger).fit(X, ODD)
    share = model.odd_labels_.value
    assert ledger.spent() == model.guarantee_.loss == PureDP(Fraction(1))
    assert share.low <= 0.08 <= share.high or abs(share.value - 0.08) < 3 * share.noise
    assert 0.01 < share.noise < 0.02  # 60 rows of 4,000
    stated = model.certificate_.document
    assert stated["model"]["released"]["odd_labels"]["value"]["value"] == share.value
    assert told(LABELS, model.odd_labels_) in model.certificate_.caveats
    assert told(LABELS, model.odd_labels_) in model.summary()
    assert "unreadable or none of the classes" in page(model.certificate_)
    assert model.certificate_.verify(ledger, allow_unsigned=True).ok


@pytest.mark.wide
def test_intervals_of_the_share_cover() -> None:
    """2,000 draws: a share of 93 or of 97 % of 2,000 is 4 deviations from 95 %."""
    adjacency = Adjacency("add_remove")
    held = 0
    odd, entropy = np.arange(N) < 320, Replayed("odd")
    for _ in range(2000):
        found = OddRows(Geometric(L1(Fraction(1), adjacency), Fraction(1, 20)), None).draw(odd, entropy)
        assert isinstance(found, Reply)
        held += found.value.low <= 0.08 <= found.value.high
    assert 0.93 < held / 2000 < 0.97


def test_where_it_would_say_too_little_it_is_left_out_in_words_before_the_charge() -> None:
    ledger = account("substitute")
    model = naive(ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="no better than"):
            model.fit(X[:300], ODD[:300])  # 60 rows of 300
    assert ledger.spent() == PureDP(Fraction(0))
    with pytest.warns(UserWarning, match="no better than"):
        model.fit(X[:300], ODD[:300])
    assert not hasattr(model, "odd_labels_")
    assert told(LABELS, None) in model.certificate_.caveats
    assert len(model.guarantee_.parts) == 3  # counts, sums and squares alone have all of epsilon


@pytest.mark.parametrize(
    ("epsilon", "people", "bought"), [("0.1", 10_000, True), ("0.1", 5_000, False), ("0.05", None, False)]
)
def test_the_plan_goes_by_public_numbers(epsilon: str, people: int | None, bought: bool) -> None:
    here = naive(account(), people=people)._here(X, ODD)
    found = OddRows.of(here, Fraction(epsilon))
    assert (found is not None) == bought
    if found is not None:
        assert found.guarantee.loss == PureDP(SHARE * Fraction(epsilon))
        assert found.half_width(people or ASSUMED) <= WIDEST


def counted(kind: Between, labels: list[object]) -> tuple[Geometric, tuple[int, ...]]:
    """The mechanism and the exact counts of a table of these labels."""
    recorder = gate.Recorder(lambda mechanism, exact, start: exact, Replayed("none"))
    here = naive(account(kind))._here(np.zeros((len(labels), 2)), labels)
    beside = OddRows.of(replace(here, people=50_000), Fraction(10))
    assert beside is not None
    beside.draw(np.array([label not in (0, 1) for label in labels], np.bool_), recorder)
    (call,) = recorder.calls
    assert isinstance(call.mechanism, Geometric)
    assert isinstance(call.exact, tuple)
    return call.mechanism, call.exact


@pytest.mark.parametrize(
    ("kind", "others"),
    [
        ("add_remove", ([0, 1, "a", None, 0], [0, 1, "a", None, "b"])),
        ("substitute", ([0, 1, "a", 1], [0, "q", "a", None])),
    ],
)
def test_neighbours_move_the_counts_as_far_as_is_declared(kind: Between, others: tuple[list[object], ...]) -> None:
    mechanism, mine = counted(kind, [0, 1, "a", None])
    for other in others:
        _, theirs = counted(kind, other)
        assert sum(abs(a - b) for a, b in zip(mine, theirs, strict=True)) == mechanism.sensitivity.bound


def test_a_vouched_label_takes_the_first_class_and_buys_nothing(silent: None) -> None:
    ledger = account()
    model = naive(ledger, complete=True, epsilon=8).fit(X, ODD)
    assert not hasattr(model, "odd_labels_")
    assert not any("none of the classes" in text for text in model.certificate_.caveats)
    share = float(model.class_prior_[0])
    first = float(np.mean([label not in (1,) for label in ODD]))
    assert abs(share - first) < 0.01  # odd ones count as 0
    assert ledger.spent() == PureDP(Fraction(8))


def test_a_search_buys_the_share_once_and_a_cross_validation_does_not(silent: None) -> None:
    ledger = account()
    tree = learning.DecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=ledger)
    search = GridSearchCV(tree, {"max_depth": [1, 2]}, epsilon=4).fit(X, ODD)
    best: Any = search.best_estimator_
    assert abs(best.odd_labels_.value.value - 0.08) < 0.02
    spent = ledger.spent()
    assert isinstance(spent, PureDP)
    assert Fraction(399, 100) < spent.epsilon <= 4
    assert sum(part.loss == PureDP(Fraction(1, 5)) for part in search.guarantee_.parts) == 1
    assert told(LABELS, best.odd_labels_) in search.certificate_.caveats
    found = cross_val_score(naive(ledger, score_epsilon=1), X, ODD, cv=folds(2))
    assert not any("none of the classes" in text for text in found.certificate.caveats)


def test_in_rho_it_costs_half_its_square() -> None:
    ledger = account(budget=ZCDP(Fraction(10)))
    naive(ledger).fit(X, ODD)
    spent = ledger.spent()
    assert isinstance(spent, ZCDP)
    assert spent.rho < Fraction(1, 2)


def test_on_a_study_a_label_is_odd_whatever_the_other_columns_lack(silent: None) -> None:
    values = X[:, 0].copy()
    values[1000:3000] = np.nan  # half of the rows lack a value of X, and their labels are in order
    rows = {"a": values, "y": [str(label) for label in ODD]}
    columns: Any = {"a": rt.real(-1, 1), "y": rt.category(["0", "1"])}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    x, y = of.xy(["a"], "y")
    model: Any = LogisticRegression(epsilon=2).fit(x, y)
    assert abs(model.odd_labels_.value.value - 0.08) < 0.02
    search: Any = GridSearchCV(LogisticRegression(intervals="no"), {"C": [1, 10]}, epsilon=4).fit(x, y)
    assert abs(search.best_estimator_.odd_labels_.value.value - 0.08) < 0.02
    with pytest.raises(QuestionError, match="complete=True of the columns a, y"):
        LogisticRegression(epsilon=1, complete=True).fit(x, y)
    assert of.ledger.spent() == PureDP(model.guarantee_.loss.epsilon + search.guarantee_.loss.epsilon)


def test_what_was_told_is_forgotten_with_the_fit() -> None:
    ledger = account("substitute")
    model = naive(ledger).fit(X, ODD)
    assert hasattr(model, "odd_labels_")
    with pytest.warns(UserWarning, match="no better than"):
        model.fit(X[:300], ODD[:300])
    assert not hasattr(model, "odd_labels_")


def test_the_words_of_a_share() -> None:
    said = told(LABELS, Reply(Estimate(0.05, 0.043, 0.057, 0.007, 0.0)))
    assert said.startswith("5.0 % ± 0.7 % of rows have a label")
    assert "could not be told" in told(LABELS, NO_REPLY)


def test_a_column_that_is_declared_complete_buys_nothing(silent: None) -> None:
    columns: Any = {"a": rt.real(-1, 1), "y": rt.category(["0", "1"], complete=True)}
    rows = {"a": X[:, 0], "y": [str(label) for label in ODD]}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    model: Any = GaussianNB(epsilon=8).fit(*of.xy(["a"], "y"))
    assert not hasattr(model, "odd_labels_")
    assert model.certificate_.caveats == ()
    assert abs(model.class_prior_[0] - np.mean([label != 1 for label in ODD])) < 0.01
