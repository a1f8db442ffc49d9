"""What the theory refuses: each a typed error, before anything is computed, with words that name the slip."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from reticent.errors import Refusal
from reticent.ledger import Ledger
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.subsampling import Poisson
from reticent.privacy import compose, profiles, ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.cost import refuse_exposure
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, Renyi
from reticent.privacy.numbers import read
from reticent.privacy.sensitivity import L1, L2
from reticent.privacy.tightest import least

PEOPLE, OTHERS = Adjacency("add_remove"), Adjacency("substitute")
ONE = Fraction(1)
wrong: Any = 0.1


def count(neighbours: Adjacency = PEOPLE) -> Geometric:
    return Geometric(L1(ONE, neighbours), ONE)


def charged_step() -> None:
    step: Any = ptr.declared(ONE, Fraction(1, 10**6), OTHERS)
    ledger = Ledger.create(None, title="a study", adjacency=OTHERS, budget=PureDP(ONE))
    ledger.reserve(step, adjacency=OTHERS, what="a median")


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda: Geometric(L1(ONE, PEOPLE), Fraction(0)), "epsilon must be > 0"),
        (lambda: Gaussian(L2(ONE, PEOPLE), Fraction(0)), "rho must be > 0"),
        (lambda: PureDP(Fraction(-1)), "epsilon must be >= 0"),
        (lambda: ApproxDP(ONE, Fraction(1)), "delta must be < 1"),
        (lambda: ApproxZCDP(ONE, Fraction(-1)), "delta must be >= 0"),
        (lambda: GaussianDP(Fraction(-1)), "mu squared must be >= 0"),
        (lambda: Renyi(((ONE, ONE),)), "orders must be > 1"),
        (lambda: read(float("nan"), "epsilon"), "finite"),
        (lambda: read("NaN", "epsilon"), "must be a number"),
        (lambda: read(Decimal("Infinity"), "epsilon"), "must be a number"),
        (lambda: read(0.1 + 0.2, "epsilon"), "floating-point number"),
        (lambda: PureDP(wrong), "got float"),
        (lambda: ApproxDP(ONE, wrong), "got float"),
        (lambda: Geometric(L1(ONE, PEOPLE), wrong), "got float"),
        (lambda: count().sample([wrong], object()), "integers"),  # type: ignore[arg-type]  # refused before it draws
        (lambda: least([count().guarantee], wrong), "got float"),
        (lambda: least([count().guarantee], Fraction(0)), "between 0 and 1"),
        (lambda: profiles.delta(PureDP(ONE), wrong), "got float"),
        (lambda: compose.in_sequence([count().guarantee, count(OTHERS).guarantee]), "different neighbours"),
        (lambda: least([count().guarantee, count(OTHERS).guarantee], Fraction(1, 2)), "different neighbours"),
        (lambda: compose.across([count(OTHERS).guarantee], neighbours=OTHERS), "cannot be used in a partition"),
        (lambda: Poisson(count(OTHERS), Fraction(1, 2)).guarantee, "add"),
        (lambda: refuse_exposure(Fraction(1, 1000), 100), "δ"),
        (charged_step, "not a guarantee.* Nothing was charged"),
        (lambda: compose.concurrent([_approximate(), _approximate()]), "no theorem covers interleaved"),
        (lambda: profiles.epsilon(ZCDP(ONE), Fraction(0)), "δ"),
    ],
)
def test_it_is_refused_in_words(refused: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        refused()


def _approximate() -> Any:
    from reticent.privacy.guarantee import Guarantee, Theorem

    return Guarantee(ApproxZCDP(ONE, Fraction(1, 10**6)), PEOPLE, Theorem("a test", "stated by a test", "nowhere"))


def test_no_refusal_charges() -> None:
    ledger = Ledger.create(None, title="a study", adjacency=OTHERS, budget=PureDP(ONE))
    with pytest.raises(Refusal):
        ledger.reserve(ptr.declared(ONE, Fraction(1, 10**6), OTHERS), adjacency=OTHERS, what="x")  # type: ignore[arg-type]  # that is the point
    assert ledger.spent() == PureDP(Fraction(0))


def test_small_epsilon_is_never_taken_for_its_exponential() -> None:
    """e^eps - 1 in place of eps, or eps in place of e^eps - 1, would show at epsilon 1: 1.72 and 1."""
    assert float(profiles.delta(PureDP(ONE), Fraction(0))) == pytest.approx(0.46211715726, rel=1e-9)  # tanh(1/2)
    grown = Poisson(count(), Fraction(1, 2)).guarantee.loss
    assert isinstance(grown, PureDP)
    assert float(grown.epsilon) == pytest.approx(0.62011450695, rel=1e-9)  # ln(1 + (e - 1) / 2)
