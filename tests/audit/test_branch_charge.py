"""What is drawn is paid for: every branch of every plan with a private branch, in both currencies, and mutants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.conformance.branch_charge import stated_by, unpaid
from reticent.conformance.built_in_plans import robust
from reticent.conformance.neighbours import families
from reticent.conformance.reader_replay import engine
from reticent.conformance.replay import QueryRunner, Replayer
from reticent.conformance.tape import Tape, Tosses
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.learning import DecisionTreeClassifier, GridSearchCV, LogisticRegression
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Call, Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import zcdp_of
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, PureDP
from reticent.privacy.sensitivity import L1, L2
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import auto
from reticent.synthesis.parameter_selection import Kind, tuned
from tests.assurance import fits, models

PERSON = Adjacency("add_remove")
BRANCHES = 12  # beyond them choices come round again
SIZES = (40, 100_000)  # what a bought number of rows is made to be


def planted(branch: int, size: int) -> Recorder:
    """An entropy whose choices name candidate ``branch`` and whose noisy counts are near ``size``."""
    stream = Replayed(f"branch {branch} of {size}")

    def respond(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if isinstance(exact, Candidates):
            places = np.flatnonzero(exact.weights > 0)
            place = int(places[branch % len(places)])
            return place if start is None else int(start[place])
        if isinstance(mechanism, PermuteAndFlip) and isinstance(exact, Sequence):
            return branch % len(exact)
        if isinstance(mechanism, Geometric | Gaussian) and isinstance(exact, Sequence):
            return tuple(size + value for value in exact)
        return gate.draw(cast(Any, mechanism), exact, stream)  # any other mechanism by its own law

    return Recorder(respond, Tosses(f"coins of branch {branch}"))


def both(tree: Guarantee, calls: Sequence[Call]) -> tuple[str, ...]:
    return (*unpaid(tree, calls), *unpaid(compose.in_zcdp(tree), calls))


def chosen(calls: Sequence[Call]) -> bool:
    return any(isinstance(call.mechanism, Exponential | PermuteAndFlip) for call in calls)


# --- fits -------------------------------------------------------------------------------------------------------------

SEARCHES = [f"GridSearchCV, {how}" for how in ("linear", "trees", "unlike trees 1", "unlike trees 2")]
NAMES = [
    f"{name}, {each}"
    for name in (*SEARCHES, "PCA", "KMeans", "DecisionTreeClassifier")
    for each in ("add_remove, at most 1 row each, in ρ", "substitute, at most 1 row each")
]


@cache
def fit_of(name: str) -> fits.Fit:
    return next(fit for fit in models.built_in() if fit.name == name)


@pytest.fixture(scope="module")
def opened() -> Iterator[Callable[[fits.Fit], QueryRunner]]:
    known: dict[str, QueryRunner] = {}
    with engine() as open_:

        def rows(fit: fits.Fit) -> QueryRunner:
            key = repr(fit.schema)
            if key not in known:
                known[key] = open_(models.tables(fit), 0)
            return known[key]

        yield rows


def runs(name: str, rows: QueryRunner, monkeypatch: pytest.MonkeyPatch, branches: int) -> Iterator[fits.Fitted]:
    for branch in range(branches):
        monkeypatch.setattr(fits, "recorded", lambda *_, branch=branch: planted(branch, SIZES[branch % 2]))
        yield fits.fitted(fit_of(name), rows, Tape())


@pytest.mark.parametrize("name", NAMES)
def test_every_branch_of_a_fit_is_paid_for_in_both_currencies(
    name: str, opened: Callable[[fits.Fit], QueryRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = 2 if name.startswith(("GridSearchCV", "DecisionTree")) else BRANCHES
    for ran in runs(name, opened(fit_of(name)), monkeypatch, few):
        assert ran.raised is None
        assert ran.wrong == ()
        assert ran.guarantee is not None
        assert chosen(ran.calls)
        assert both(ran.guarantee, ran.calls) == ()


@pytest.mark.wide
def test_refits_named_by_each_choice_cost_no_more_than_the_root_by_plain_addition(
    opened: Callable[[fits.Fit], QueryRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No partition is in these: what was drawn adds up call by call."""
    name = "GridSearchCV, linear, add_remove, at most 1 row each, in ρ"
    for ran in runs(name, opened(fit_of(name)), monkeypatch, 2):
        stated = [stated_by(call.mechanism) for call in ran.calls]
        together = compose.in_sequence([one for one in stated if one is not None])
        assert ran.guarantee is not None
        assert ran.charged is not None
        assert epsilon(together) <= epsilon(ran.guarantee)
        assert rho(together) <= zcdp_of(ran.charged.loss).rho


def epsilon(tree: Guarantee) -> Fraction:
    assert isinstance(tree.loss, PureDP)
    return tree.loss.epsilon


def rho(tree: Guarantee) -> Fraction:
    loss = compose.in_zcdp(tree).loss
    assert isinstance(loss, ZCDP)
    return loss.rho


def by_epsilon(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """The maximum of one currency, as it was once taken."""
    return replace(max(parts, key=lambda part: zcdp_of(part.loss).rho), label=label)


@pytest.mark.wide
@pytest.mark.parametrize("which", [1, 2])
def test_a_maximum_in_epsilon_is_refuted_in_a_ledger_of_rho(
    which: int, opened: Callable[[fits.Fit], QueryRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equal epsilons ``max`` takes the first; the other refit is paid for by nothing."""
    name = f"GridSearchCV, unlike trees {which}, add_remove, at most 1 row each, in ρ"
    monkeypatch.setattr("reticent.learning.search.compose.one_of", by_epsilon)
    found = [
        both(ran.guarantee, ran.calls) for ran in runs(name, opened(fit_of(name)), monkeypatch, 2) if ran.guarantee
    ]
    assert [bool(words) for words in found] == [False, True]


# --- the searches of the report ---------------------------------------------------------------------------------------


def spent(search: GridSearchCV, ledger: Ledger) -> Fraction:
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1, 1, (300, 2))
    search.fit(rows, rows[:, 0] > 0)
    return zcdp_of(ledger.spent()).rho


@pytest.mark.wide
@pytest.mark.parametrize(
    ("make", "grid", "total", "needed"),
    [
        (DecisionTreeClassifier, {"splitter": ["best", "random"]}, 5, "2.949"),
        (DecisionTreeClassifier, {"splitter": ["random", "best"]}, 5, "2.949"),
        (LogisticRegression, {"steps": [*range(60, 51, -1), 1]}, 2, "0.319"),
    ],
)
def test_a_search_charges_its_dearest_refit_in_rho(
    make: Any, grid: dict[str, list[Any]], total: int, needed: str
) -> None:
    ledger = Ledger.create(None, title="made up", adjacency=PERSON, budget=ZCDP(Fraction(100)))
    own: dict[str, Any] = {"solver": "descent", "intervals": "no"} if make is LogisticRegression else {}
    own["complete"] = True  # so that no part of epsilon is kept for a share of odd labels
    model = make(bounds=(-1, 1), classes=[False, True], ledger=ledger, adjacency="add_remove", **own)
    search = GridSearchCV(model, grid, epsilon=total)
    assert spent(search, ledger) >= Fraction(needed)
    tree = search.certificate_.guarantee
    assert tree.parts[-1].by == compose.ONE_OF
    assert search.certificate_.verify(ledger, allow_unsigned=True).ok


# --- densities --------------------------------------------------------------------------------------------------------

KINDS: tuple[Kind | None, ...] = (None, "histogram", "series", "kernel", "bernstein")


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
@pytest.mark.parametrize(("kind", "delta"), [*((kind, Fraction(0)) for kind in KINDS), ("series", Fraction(1, 10**6))])
def test_every_branch_of_a_density_is_paid_for_in_both_currencies(
    kind: Kind | None, delta: Fraction, near: Any
) -> None:
    """Bars chosen by "auto", and details of one method chosen privately; many tries name every candidate."""
    columns = [("x", Fraction(0), Fraction(1), False)]
    size = None if near == "add_remove" else 1000
    terms = DensityTerms(Adjacency(near), size, 1, size is not None)
    plan = (
        auto(columns[0], terms, Fraction(1))
        if kind is None
        else tuned(kind, columns, terms, Fraction(1), delta, "simplex")
    )
    cells = math.prod(one.cells for one in plan.axes)
    named = set()
    for branch in range(BRANCHES // 2):
        recorder = planted(branch, SIZES[1] if size is None else 0)
        plan.draw([QueryResult(vectors=(((size or 1) // cells,) * cells,))], cast(Any, recorder))
        assert chosen(recorder.calls)
        named.add(next(call.output for call in recorder.calls if isinstance(call.mechanism, PermuteAndFlip)))
        assert both(plan.guarantee, recorder.calls) == ()
    assert len(named) >= 2
    assert [part for part in plan.guarantee.parts if part.by == compose.ONE_OF]


# --- what is found ----------------------------------------------------------------------------------------------------


def call(mechanism: object) -> Call:
    return Call(mechanism, (0,), None, (0,))


HALF, WHOLE = Geometric(L1(Fraction(1), PERSON), Fraction(1, 2)), Geometric(L1(Fraction(1), PERSON), Fraction(1))
TWO = compose.in_sequence([HALF.guarantee] * 2)


@pytest.mark.wide
def test_calls_beyond_the_proof_are_named() -> None:
    assert unpaid(TWO, [call(HALF), call(HALF)]) == ()
    assert unpaid(TWO, [call(HALF)]) == ()  # a test declined
    assert "3 calls of Geometric" in unpaid(TWO, [call(HALF)] * 3)[0]
    assert "pays for 0" in unpaid(TWO, [call(WHOLE)])[0]
    assert unpaid(TWO, [call(object())]) == ("object states no guarantee, so nothing pays for it",)


@pytest.mark.wide
def test_one_of_pays_for_one_branch_and_a_partition_for_any_number_of_groups() -> None:
    either = compose.one_of([WHOLE.guarantee, TWO])
    assert unpaid(either, [call(WHOLE)]) == unpaid(either, [call(HALF)] * 2) == ()
    assert unpaid(either, [call(WHOLE), call(HALF)]) != ()
    groups = compose.across([HALF.guarantee] * 2, neighbours=PERSON)
    assert unpaid(groups, [call(HALF)] * 9) == ()
    assert unpaid(groups, [call(WHOLE)]) != ()


@pytest.mark.wide
def test_a_leaf_pays_for_parts_of_it_but_not_for_another_sensitivity_nor_another_loss_in_rho() -> None:
    assert unpaid(WHOLE.guarantee, [call(HALF)] * 2) == ()
    wide = Geometric(L1(Fraction(3), PERSON), Fraction(1))
    assert unpaid(WHOLE.guarantee, [call(wide)]) != ()
    one = Gaussian(L2(Fraction(1), PERSON), Fraction(1, 2))
    quarter = Gaussian(L2(Fraction(1), PERSON), Fraction(1, 8))
    assert unpaid(one.guarantee, [call(quarter)] * 4) == ()
    assert unpaid(one.guarantee, [call(quarter)] * 5) != ()


@pytest.mark.wide
def test_a_leaf_pays_for_its_own_kind_before_it_pays_for_parts_of_others() -> None:
    """Many leaves that could pay for several kinds each: what is drawn is still found among the ways to pay."""
    sizes = [Fraction(1, part) for part in (1, 2, 4, 5, 10, 20)] * 4
    kinds = [Geometric(L1(Fraction(wide), PERSON), size) for wide, size in enumerate(sizes, start=1)]
    tree = compose.in_sequence([kind.guarantee for kind in kinds])
    assert both(tree, [call(kind) for kind in kinds]) == ()
    assert len(both(tree, [call(kind) for kind in (*kinds, kinds[-1])])) == 2


@pytest.mark.wide
@pytest.mark.parametrize("place", [0, 5])
def test_a_release_behind_a_private_test_is_paid_for_whatever_was_proposed(place: int) -> None:
    """Test and release have one epsilon here; the leaf of the release stands for proposals of any width."""
    name, plan, schema = list(robust())[place]
    with engine() as open_:
        rows = cast(Any, open_(next(iter(families(schema, "paid"))), 0))  # all that is asked of a table is run
        ran = Replayer(plan, schema)._run(rows, Tape("many"), ())
    assert ran.raised is None, name
    assert both(plan.guarantee, ran.calls) == ()
