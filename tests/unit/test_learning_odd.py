"""Labels that are missing or not listed: such rows are incomplete, in one share with those that lack a value of X."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
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
from reticent.learning.fit.fit_release import Between
from reticent.learning.fit.odd_rows import LABELS, VALUES, odd_share, told
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, PureDP
from reticent.statistics.shares import ASSUMED, SHARE, WIDEST, OddShare
from tests.support.unfolded import unfolded

RNG: Final = np.random.default_rng(8)
N: Final = 4000
X: Final = RNG.uniform(-1, 1, (N, 2))
CLEAN: Final = np.array([int(value > 0) for value in X[:, 0]], object)
ODD: Final = CLEAN.copy()
ODD[:200], ODD[200:300], ODD[300:320] = "x", 7, None  # a text, out of list, missing: 8 % of the rows
LACKING: Final = X.copy()
LACKING[300:1000, 1] = np.nan  # 17.5 % of the rows, of which 20 have no label: 25 % lack one or the other


def account(kind: Between = "add_remove", budget: Any = None) -> Ledger:
    return Ledger.create(None, title="odd", adjacency=Adjacency(kind), budget=budget or PureDP(Fraction(100)))


def made(model: Callable[..., Any], ledger: Ledger, **own: Any) -> Any:
    given = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "adjacency": ledger.adjacency.kind, "ledger": ledger}
    return model(**{**given, **own})


def tree(ledger: Ledger, **own: Any) -> Any:
    return made(learning.DecisionTreeClassifier, ledger, **own)


def naive(ledger: Ledger, **own: Any) -> Any:
    return made(GaussianNB, ledger, **own)


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_one_share_of_odd_labels_and_missing_values_is_told_with_its_noise_and_charged(
    kind: Between, silent: None
) -> None:
    """The noise is beyond ten half-widths with a probability below 1e-12."""
    ledger = account(kind)
    model = tree(ledger).fit(LACKING, ODD)
    share = model.incomplete_rows_.value
    assert ledger.spent() == model.guarantee_.loss == PureDP(Fraction(1))
    assert abs(share.value - 0.25) < 10 * share.noise
    assert 0.01 < share.noise < 0.02  # 60 rows of 4,000
    stated = model.certificate_.document
    assert stated["model"]["released"]["incomplete_rows"]["value"]["value"] == share.value
    assert told(LABELS, model.incomplete_rows_) in model.certificate_.caveats
    assert told(LABELS, model.incomplete_rows_) in unfolded(model.summary())
    assert "or a label that is one of the classes: they do not count" in page(model.certificate_)
    assert model.certificate_.verify(ledger, allow_unsigned=True).ok


@pytest.mark.parametrize(("classes", "within"), [(2, 10), (1000, 4)])
def test_counts_of_classes_tell_it_free_where_the_number_of_rows_is_public(
    classes: int, within: int, silent: None
) -> None:
    """Most of 1,000 classes have no rows, and their noise below 0 counts. Beyond ``within``: a chance below 1e-12."""
    ledger = account("substitute")
    labels = ODD.copy()
    labels[200:300] = None
    model = naive(ledger, classes=list(range(classes)), epsilon=8).fit(LACKING, labels)
    share = model.incomplete_rows_.value
    assert abs(share.value - 0.25) < within * share.noise < 0.2
    assert ledger.spent() == model.guarantee_.loss == PureDP(Fraction(8))
    assert len(model.guarantee_.parts) == 3  # counts, sums and squares alone have all of epsilon
    assert told(LABELS, model.incomplete_rows_) in model.certificate_.caveats


def test_a_search_tells_it_free_by_the_counts_of_its_refit(silent: None) -> None:
    """Of so few rows a bought share would be left out. Ten half-widths: a chance below 1e-12."""
    ledger = account("substitute")
    search = GridSearchCV(naive(ledger), {"purpose": ["one", "other"]}, epsilon=4).fit(LACKING[200:400], ODD[200:400])
    best: Any = search.best_estimator_
    share = best.incomplete_rows_
    assert abs(share.value.value - 1.0) < 10 * share.value.noise
    assert [text for text in search.certificate_.caveats if VALUES in text] == [told(LABELS, share)]


@pytest.mark.wide
def test_intervals_of_the_share_cover() -> None:
    """2,000 draws: a share of 93 or of 97 % of 2,000 is 4 deviations from 95 %."""
    adjacency = Adjacency("add_remove")
    held = 0
    entropy = Replayed("odd")
    for _ in range(2000):
        found = OddShare.of(adjacency, None, Fraction(1, 20)).draw(320, N - 320, entropy)
        assert isinstance(found, Reply)
        held += found.value.low <= 0.08 <= found.value.high
    assert 0.93 < held / 2000 < 0.97


def test_where_it_would_say_too_little_it_is_left_out_in_words_before_the_charge() -> None:
    ledger = account("substitute")
    model = made(LogisticRegression, ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="no better than"):
            model.fit(X[:300], ODD[:300])  # 60 rows of 300
    assert ledger.spent() == PureDP(Fraction(0))
    with pytest.warns(UserWarning, match="no better than"):
        model.fit(X[:300], ODD[:300])
    assert not hasattr(model, "incomplete_rows_")
    assert told(LABELS, None) in model.certificate_.caveats
    assert "incomplete rows" not in model.guarantee_.label


@pytest.mark.parametrize(
    ("epsilon", "people", "bought"), [("0.1", 10_000, True), ("0.1", 5_000, False), ("0.05", None, False)]
)
def test_the_plan_goes_by_public_numbers(epsilon: str, people: int | None, bought: bool) -> None:
    here = naive(account(), people=people)._here(X, ODD)
    found = odd_share(here, Fraction(epsilon))
    assert (found is not None) == bought
    if found is not None:
        assert found.mechanism.guarantee.loss == PureDP(SHARE * Fraction(epsilon))
        assert found.half_width(people or ASSUMED) <= WIDEST


def counted(kind: Between, labels: list[object]) -> tuple[Geometric, tuple[int, ...]]:
    """The mechanism and the exact counts of a table of these labels."""
    recorder = gate.Recorder(lambda mechanism, exact, start: exact, Replayed("none"))
    here = naive(account(kind))._here(np.zeros((len(labels), 2)), labels)
    beside = odd_share(replace(here, people=50_000), Fraction(10))
    assert beside is not None
    odd = sum(label not in (0, 1) for label in labels)
    beside.draw(odd, len(labels) - odd, recorder)
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
    assert not hasattr(model, "incomplete_rows_")
    assert not any(VALUES in text for text in model.certificate_.caveats)
    share = float(model.class_prior_[0])
    first = float(np.mean([label not in (1,) for label in ODD]))
    assert abs(share - first) < 0.01  # odd ones count as 0
    assert ledger.spent() == PureDP(Fraction(8))


def test_a_search_buys_the_share_once_and_a_cross_validation_does_not(silent: None) -> None:
    ledger = account()
    search = GridSearchCV(tree(ledger), {"max_depth": [1, 2]}, epsilon=4).fit(LACKING, ODD)
    best: Any = search.best_estimator_
    assert abs(best.incomplete_rows_.value.value - 0.25) < 0.03
    spent = ledger.spent()
    assert isinstance(spent, PureDP)
    assert Fraction(399, 100) < spent.epsilon <= 4
    assert sum(part.loss == PureDP(Fraction(1, 5)) for part in search.guarantee_.parts) == 1
    assert told(LABELS, best.incomplete_rows_) in search.certificate_.caveats
    found = cross_val_score(naive(ledger, score_epsilon=1), X, ODD, cv=folds(2))
    assert not any(VALUES in text for text in found.certificate.caveats)


def test_in_rho_it_costs_half_its_square() -> None:
    ledger = account(budget=ZCDP(Fraction(10)))
    naive(ledger).fit(X, ODD)
    spent = ledger.spent()
    assert isinstance(spent, ZCDP)
    assert spent.rho < Fraction(1, 2)


def test_on_a_study_a_row_is_incomplete_by_a_column_of_x_or_by_its_label(silent: None) -> None:
    values = X[:, 0].copy()
    values[1000:2680] = np.nan  # 42 % of the rows lack a value of X, and their labels are in order
    rows = {"a": values, "y": [str(label) for label in ODD]}
    columns: Any = {"a": rt.real(-1, 1), "y": rt.category(["0", "1"])}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    x, y = of.xy(["a"], "y")
    model: Any = LogisticRegression(epsilon=2).fit(x, y)
    assert abs(model.incomplete_rows_.value.value - 0.5) < 0.03
    search: Any = GridSearchCV(LogisticRegression(intervals="no"), {"C": [1, 10]}, epsilon=4).fit(x, y)
    assert abs(search.best_estimator_.incomplete_rows_.value.value - 0.5) < 0.03
    with pytest.raises(QuestionError, match="complete=True of the columns a, y"):
        LogisticRegression(epsilon=1, complete=True).fit(x, y)
    assert of.ledger.spent() == PureDP(model.guarantee_.loss.epsilon + search.guarantee_.loss.epsilon)


def test_what_was_told_is_forgotten_with_the_fit() -> None:
    ledger = account("substitute")
    model = tree(ledger).fit(X, ODD)
    assert hasattr(model, "incomplete_rows_")
    with pytest.warns(UserWarning, match="no better than"):
        model.fit(X[:300], ODD[:300])
    assert not hasattr(model, "incomplete_rows_")


def test_the_words_of_a_share() -> None:
    said = told(LABELS, Reply(Estimate(0.05, 0.043, 0.057, 0.007, 0.0)))
    assert said == (
        "5.0 % ± 0.7 % of rows lack a value that can be read or a label that is one of the classes: they do not count"
    )
    assert "could not be told" in told(LABELS, NO_REPLY)


def test_columns_that_are_declared_complete_buy_nothing_and_a_complete_label_leaves_x_to_be_told(silent: None) -> None:
    columns: Any = {
        "a": rt.real(-1, 1, complete=True),
        "b": rt.real(-1, 1),
        "y": rt.category(["0", "1"], complete=True),
        "z": rt.integer(0, 7, complete=True),
    }
    sevens = [int(label) if label in (0, 1) else 7 for label in ODD]
    rows = {"a": X[:, 0], "b": LACKING[:, 1], "y": [str(label) for label in ODD], "z": sevens}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    some: Any = GaussianNB(epsilon=2, classes=[0, 1]).fit(*of.xy(["a", "b"], "z"))  # a 7 counts as a 0
    assert abs(some.incomplete_rows_.value.value - 0.175) < 0.02
    model: Any = GaussianNB(epsilon=8).fit(*of.xy(["a"], "y"))
    assert not hasattr(model, "incomplete_rows_")
    assert model.certificate_.caveats == ()
    assert abs(model.class_prior_[0] - np.mean([label != 1 for label in ODD])) < 0.01
