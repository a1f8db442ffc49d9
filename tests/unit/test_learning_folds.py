"""Folds by coins: no row moves another, sizes are nobody's choice, and a person pays all fits but one, one score."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

import reticent as rt
from reticent import learning
from reticent.conformance.tape import Tosses
from reticent.entropy import Replayed
from reticent.errors import BudgetError, PublicParameterError, QuestionError
from reticent.learning import Clip, GaussianNB, LinearRegression, LogisticRegression, cross_val_score, folds
from reticent.learning.fit.fit_release import Between
from reticent.learning.folds import Folds, numbered, of_person
from reticent.ledger import Ledger
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import zcdp_of
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.sensitivity import L1

RNG: Final = np.random.default_rng(3)
X: Final = RNG.uniform(-1, 1, (2000, 2))
LABELS: Final = (X[:, 0] + 0.3 * RNG.normal(size=2000) > 0).astype(int)
ONE: Final = Adjacency("add_remove")


def account(kind: Between = "add_remove", rows: int = 1) -> Ledger:
    return Ledger.create(None, title="folds", adjacency=Adjacency(kind, rows), budget=PureDP(Fraction(1000)))


def naive(ledger: Ledger, **own: Any) -> Any:
    kind, rows = ledger.adjacency.kind, ledger.adjacency.rows
    told = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "score_epsilon": "0.25"}
    return GaussianNB(**{**told, "adjacency": kind, "rows_each": rows, "ledger": ledger, **own})


# --- coins ------------------------------------------------------------------------------------------------------------


def test_every_row_is_in_one_fold_and_trains_all_others() -> None:
    parts = list(folds(4).split(X))
    assert folds(4).get_n_splits(X, LABELS) == len(parts) == 4
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(len(X)))
    for train, test in parts:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(X)))


def test_one_person_more_moves_nobody_else() -> None:
    for count in (2, 3, 5, 10):
        here, there = (Folds(count).deal(np.arange(n), Tosses("coins")) for n in (100, 101))
        assert here.tolist() == there[:100].tolist()


def test_a_splitter_that_fills_folds_moves_others() -> None:
    """The mutant: equal sizes are a promise about all rows together."""
    selection = pytest.importorskip("sklearn.model_selection")
    for splitter in (selection.KFold(5), selection.KFold(5, shuffle=True, random_state=0)):
        dealt = []
        for n in (100, 104):
            own = np.zeros(n, int)
            for fold, (_, test) in enumerate(splitter.split(np.zeros((n, 1)))):
                own[test] = fold
            dealt.append(own)
        assert (dealt[0] != dealt[1][:100]).sum() >= 5


def test_coins_are_even_and_not_balanced() -> None:
    """20,000 coins: a chi-square of 4 degrees above 40 has probability 4e-8; folds of equal sizes would have 0."""
    dealt = Folds(5).deal(np.arange(20_000), Replayed("even"))
    counts = np.bincount(dealt, minlength=5)
    square = float(((counts - 4000) ** 2 / 4000).sum())
    assert 0.01 < square < 40
    again = Folds(5).deal(np.arange(20_000), Replayed("even too"))
    assert 0.15 < (dealt == again).mean() < 0.25


def test_all_rows_of_a_person_are_in_one_fold() -> None:
    who = np.repeat([f"person {place}" for place in range(500)], 4)
    for _, test in folds(5).split(X, groups=who):
        assert set(who[test]).isdisjoint(set(who) - set(who[test]))
        assert len(test) % 4 == 0
    assert numbered(["a", "b", "a", None, float("nan"), object(), ["b"]]).tolist() == [0, 1, 0, 2, 2, 2, 1]


def test_a_fold_has_no_seed_no_size_and_no_memory() -> None:
    assert list(inspect.signature(folds).parameters) == ["count"]
    assert repr(folds(5)) == "folds(5)"
    assert folds(5) == copy.deepcopy(folds(5))
    first, second = (np.concatenate([test for _, test in folds(5).split(X)]) for _ in range(2))
    assert first.tolist() != second.tolist()
    for count in (0, 1, 51, True, 2.0, "5"):
        with pytest.raises(PublicParameterError, match="2 to 50"):
            folds(count)  # type: ignore[arg-type]  # what is refused


# --- the price --------------------------------------------------------------------------------------------------------


def test_the_loss_of_a_person_is_that_of_the_dearest_coin_in_every_view() -> None:
    def pure(epsilon: str) -> Any:
        return Geometric(L1(Fraction(1), ONE), Fraction(epsilon)).guarantee

    whole = of_person([pure("1")] * 5, [pure("0.25")] * 5, "whole")
    assert whole.loss == PureDP(Fraction(17, 4))
    uneven = of_person([pure("1"), pure("2"), pure("3")], [pure("0.5"), pure("1"), pure("4")], "uneven")
    assert uneven.loss == PureDP(Fraction(7))  # 1 + 2 + 4 beats 2 + 3 + .5 and 1 + 3 + 1
    rho = zcdp_of(of_person([pure("1")] * 3, [], "fits alone").loss)
    assert rho == ZCDP(Fraction(2))


@pytest.mark.parametrize("count", [2, 3])
def test_over_all_coins_a_person_moves_all_training_sums_but_one(count: int) -> None:
    """Every string of coins of four people, with and without the last: fits and scores that move, in their own units.

    The law over coins is a mixture of these, so its log ratio is at most the greatest; and the greatest is reached.
    """
    values = np.array([1, -1, 1, 1])
    lost = set()
    for coins in product(range(count), repeat=4):
        dealt = np.array(coins)
        sums = [
            [sum(values[:n][dealt[:n] != fold]) for fold in range(count)]
            + [sum(values[:n][dealt[:n] == fold]) for fold in range(count)]
            for n in (3, 4)
        ]
        moved = np.abs(np.array(sums[0]) - np.array(sums[1]))
        lost.add((int(moved[:count].sum()), int(moved[count:].sum())))
    assert lost == {(count - 1, 1)}


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_cross_validation_is_one_line_and_costs_all_fits_but_one(kind: Between) -> None:
    ledger = account(kind)
    found = cross_val_score(naive(ledger), X, LABELS, cv=folds(5))
    assert ledger.spent() == found.guarantee.loss == PureDP(Fraction(17, 4))
    (line,) = ledger.releases()
    assert line.state == "committed"
    assert found.certificate.verify(ledger, allow_unsigned=True).ok
    assert found.certificate.document["model"]["parameters"]["folds"] == 5
    assert found.certificate.document["model"]["released"]["scores"] == found.scores.tolist()
    assert len(found) == 5
    assert 0.8 < found.mean() < 1
    assert float(np.mean(found)) == found.mean()
    assert "ε 4.25" in repr(found)


def test_a_cross_validation_in_rho_and_with_a_delta() -> None:
    ledger = Ledger.create(None, title="rho", adjacency=ONE, budget=ZCDP(Fraction(50)))
    cross_val_score(naive(ledger), X, LABELS, cv=folds(3))
    spent = ledger.spent()
    assert isinstance(spent, ZCDP)
    assert spent.rho <= 2 * Fraction(1, 2) + Fraction(1, 32)
    budget = ApproxDP(Fraction(50), Fraction(1, 1000))
    approximate = Ledger.create(None, title="delta", adjacency=ONE, budget=budget)
    found = cross_val_score(naive(approximate, delta="1e-6"), X, LABELS, cv=folds(3))
    assert isinstance(found.guarantee.loss, ApproxDP)
    assert found.guarantee.loss.delta == Fraction(2, 10**6)


def test_an_empty_fold_is_answered() -> None:
    for kind, rows in product(("add_remove", "substitute"), (0, 1, 2)):
        found = cross_val_score(naive(account(kind)), X[:rows], LABELS[:rows], cv=folds(6))  # type: ignore[arg-type]
        assert len(found) == 6
        assert np.isfinite(found.scores).all()


def test_a_regression_and_a_pipeline_are_scored_too() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    ledger = account()
    line = LinearRegression(
        epsilon=2, bounds=(-1, 1), y_bounds=(-2, 2), adjacency="add_remove", ledger=ledger, score_epsilon=1
    )
    model = pipeline(Clip(bounds=(-1, 1)), line)
    assert cross_val_score(model, 3 * X, np.clip(2 * X[:, 0], -2, 2), cv=folds(3)).mean() > 0.4
    assert ledger.spent() == PureDP(Fraction(5))


def test_a_fit_that_gives_no_reply_has_no_score() -> None:
    line = LinearRegression(
        epsilon=5, bounds=(-1, 1), y_bounds=(-2, 2), adjacency="add_remove", ledger=account(), score_epsilon=1,
        method="theil_sen", people=1000,
    )  # fmt: skip
    scores = cross_val_score(line, X[:1000, :1], np.clip(2 * X[:1000, 0], -2, 2), cv=folds(2)).scores
    assert all(np.isnan(score) or score > 0.5 for score in scores.tolist())


def test_what_cannot_be_scored_is_refused_uncharged() -> None:
    ledger = account()
    model = naive(ledger)
    refused: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: cross_val_score(model, X, LABELS, cv=5), r"cv=folds\(5\)"),  # type: ignore[arg-type]
        (lambda: cross_val_score(learning.KMeans(bounds=(-1, 1)), X, LABELS), "classifier or a regressor"),
        (lambda: cross_val_score(naive(ledger, score_epsilon=None), X, LABELS), "score_epsilon"),
        (lambda: cross_val_score(naive(account(rows=2)), X, LABELS), "groups="),
        (lambda: cross_val_score(model, learning.public(X), LABELS), "public rows needs no privacy"),
        (lambda: cross_val_score(naive(ledger, epsilon=50), X, LABELS), "protects no one"),
    )
    for ask, words in refused:
        with pytest.raises((QuestionError, PublicParameterError), match=words):
            ask()
    assert ledger.spent() == PureDP(Fraction(0))
    poor = Ledger.create(None, title="poor", adjacency=ONE, budget=PureDP(Fraction(4)))
    with pytest.raises(BudgetError):
        cross_val_score(naive(poor), X, LABELS, cv=folds(5))
    assert poor.spent() == PureDP(Fraction(0))


# --- searches ---------------------------------------------------------------------------------------------------------


def test_a_search_in_folds_costs_its_epsilon_and_each_fit_a_share_for_all_folds_but_one() -> None:
    ledger = account()
    tree = learning.DecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=ledger)
    search = learning.GridSearchCV(tree, {"max_depth": [1, 4]}, epsilon=8, cv=folds(3)).fit(X, LABELS)
    assert search.best_params_["max_depth"] in (1, 4)
    assert ledger.spent() == search.guarantee_.loss
    spent = search.guarantee_.loss
    assert isinstance(spent, PureDP)
    assert Fraction(799, 100) < spent.epsilon <= 8
    trained, *_ = search.guarantee_.parts
    assert trained.by.name == "one_of"
    assert isinstance(trained.loss, PureDP)
    assert Fraction(379, 100) < trained.loss.epsilon <= Fraction(19, 5)  # two folds of two, and incomplete rows
    assert search.certificate_.verify(ledger, allow_unsigned=True).ok
    assert search.certificate_.document["model"]["parameters"]["folds"] == 3
    assert repr(search).endswith("epsilon=8, cv=folds(3))")


def test_a_search_takes_folds_by_name_and_persons_where_they_have_several_rows() -> None:
    ledger = account(rows=2)
    model = naive(ledger)
    for cv, groups, words in ((3, None, r"cv=folds\(3\)"), (folds(3), None, "groups=")):
        with pytest.raises((QuestionError, PublicParameterError), match=words):
            learning.GridSearchCV(model, {"delta": [0]}, cv=cv).fit(X, LABELS, groups)  # type: ignore[arg-type]
    assert ledger.spent() == PureDP(Fraction(0))
    tree = learning.DecisionTreeClassifier(
        bounds=(-1, 1), classes=[0, 1], adjacency="add_remove", ledger=ledger, rows_each=2
    )
    learning.GridSearchCV(tree, {"max_depth": [1]}, cv=folds(3)).fit(X, LABELS, np.arange(2000) // 2)
    learning.GridSearchCV(tree, {"max_depth": [1]}).fit(X, LABELS)


# --- a study ----------------------------------------------------------------------------------------------------------


def study(**own: Any) -> rt.Study:
    rows = {"a": X[:, 0], "b": X[:, 1], "y": LABELS, "who": [f"p{place // 2}" for place in range(len(X))]}
    columns: Any = {"a": rt.real(-1, 1), "b": rt.real(-1, 1), "y": rt.integer(0, 1)}
    return rt.study(rows, **{"adjacency": "add_remove", "columns": columns, "budget": 10, **own})


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_study_is_cross_validated_and_its_persons_stay_together(kind: Between) -> None:
    of = study(adjacency=kind, person="who", rows_each=2)
    handles, target = of.xy(["a", "b"], "y")
    found = cross_val_score(LogisticRegression(epsilon=2, score_epsilon="0.5"), handles, target, cv=folds(4))
    assert of.ledger.spent() == found.guarantee.loss == PureDP(Fraction(13, 2))
    assert found.mean() > 0.6
    rows, owners = handles.shelf.owned(("a", "b", "y"))
    assert len(rows) == len(owners) == len(X)
    assert np.bincount(owners).tolist() == [2] * (len(X) // 2)
    pairs = {tuple(sorted(np.round(X[place : place + 2, 0], 3))) for place in range(0, len(X), 2)}
    seen = {tuple(sorted(np.round(rows[owners == person, 0], 3))) for person in range(20)}
    assert len(seen & pairs) >= 15  # steps of the grid may round a third digit


def test_rows_of_one_person_each_are_persons_of_their_own() -> None:
    handles, target = study().xy(["a", "b"], "y")
    _, owners = handles.shelf.owned(("a", "y"))
    assert sorted(owners.tolist()) == list(range(len(X)))
    with pytest.raises(QuestionError, match="knows its persons"):
        cross_val_score(LogisticRegression(score_epsilon=1), handles, target, groups=[1, 2])


def test_scikit_learns_splitters_and_searches_are_refused_on_handles_and_ours_named() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    ensemble = pytest.importorskip("sklearn.ensemble")
    of = study()
    x, y = of.xy(["a", "b"], "y")
    model = LogisticRegression(score_epsilon=1)
    asks: tuple[Callable[[], object], ...] = (
        lambda: selection.cross_val_score(model, x, y, cv=5),
        lambda: selection.cross_val_score(model, x, y, cv=folds(5)),
        lambda: selection.cross_validate(model, x, y),
        lambda: selection.cross_val_predict(model, x, y),
        lambda: selection.GridSearchCV(model, {"C": [1, 2]}).fit(x, y),
        lambda: selection.RandomizedSearchCV(model, {"C": [1, 2]}, n_iter=1).fit(x, y),
        lambda: selection.train_test_split(x, y),
        lambda: list(selection.KFold(3).split(x)),
        lambda: list(selection.StratifiedKFold(3).split(x, y)),
        lambda: selection.learning_curve(model, x, y),
        lambda: ensemble.BaggingClassifier(model).fit(x, y),
        lambda: list(folds(5).split(x)),
    )
    for ask in asks:
        with pytest.raises(
            QuestionError, match=r"cross_val_score\(model, X, y, cv=folds\(5\)\).*GridSearchCV of reticent"
        ):
            ask()
    assert of.ledger.spent() == PureDP(Fraction(0))


# --- scikit-learn on arrays -------------------------------------------------------------------------------------------


def test_folds_are_what_scikit_learn_takes_for_cv() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    ledger = account()
    model = naive(ledger)
    assert selection.check_cv(folds(3)) == folds(3)
    assert len(selection.cross_val_score(model, X, LABELS, cv=folds(3))) == 3
    assert ledger.spent() == PureDP(3 * Fraction(5, 4))  # a fit does not know who asks: every one is charged
    search = base.clone(selection.GridSearchCV(model, {"score_epsilon": ["0.1", "0.2"]}, cv=folds(2))).fit(X, LABELS)
    assert search.cv == folds(2)
    before = ledger.spent()
    grouped = selection.cross_val_score(model, X, LABELS, cv=folds(3), groups=np.arange(2000) // 2)
    assert len(grouped) == 3
    assert isinstance(before, PureDP)
    assert ledger.spent() == PureDP(before.epsilon + 3 * Fraction(5, 4))
    with pytest.importorskip("sklearn").config_context(enable_metadata_routing=True):
        selection.cross_val_score(model, X, LABELS, cv=folds(2), params={"groups": np.arange(2000) // 2})
