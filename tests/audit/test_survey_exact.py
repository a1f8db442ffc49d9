"""The local model by enumeration: what is stated of surveys is proved, and what is wrong is refuted.

Nothing here is random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent import survey
from reticent.entropy import Entropy
from reticent.exact import sampling
from reticent.mechanisms import local_coins
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_coins import LOCAL, Peak, drawn
from reticent.mechanisms.one_sided import OneSided
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.survey import Method, device
from tests.assurance import local as audit
from tests.assurance.claims import verify
from tests.assurance.laws import law_of

ONE = Fraction(1)


@pytest.mark.wide
def test_every_method_keeps_what_it_states_from_truth_to_token_and_many_at_once() -> None:
    found = list(audit.lines())
    assert [str(line) for line in found if line.verdict != "holds"] == []
    named = " ".join(line.name for line in found)
    assert [method for method in get_args(Method) if f"survey {method}," not in named] == []
    kept = [line.attained for line in found if line.attained is not None]
    assert len(kept) > 25
    assert min(kept) > Fraction(99, 100)
    assert all(line.residual < Fraction(1, 1 << 60) for line in found if not line.name.startswith("sampler many"))
    assert all(line.residual < Fraction(1, 100) for line in found)


@pytest.mark.parametrize(
    ("factor", "verdict", "loose"), [("0.9", "refuted", False), ("1", "holds", False), ("1.5", "holds", True)]
)
def test_a_loss_that_is_stated_too_small_or_too_large_is_told(factor: str, verdict: str, loose: bool) -> None:
    for made in (survey.warner("?", epsilon=1), survey.choice("?", ["a", "b", "c"], epsilon=1, method="hadamard")):
        stated = made.guarantee.loss
        assert isinstance(stated, PureDP)
        claim = PureDP(stated.epsilon * Fraction(factor))
        line = verify("x", partial(device.one, made), list(made.among), [(0, 1)], claim)
        assert line.verdict == verdict
        assert line.attained is not None
        assert (line.attained < Fraction(7, 10)) == loose


@pytest.mark.parametrize(("delta", "verdict"), [("0.49", "refuted"), ("0.5", "holds")])
@pytest.mark.parametrize("epsilon", [0, 1, 30])
def test_the_one_sided_form_needs_its_delta_at_every_epsilon(epsilon: int, delta: str, verdict: str) -> None:
    made = OneSided(Fraction(1, 2))
    claim = ApproxDP(Fraction(epsilon), Fraction(delta))
    line = verify("x", lambda truth, entropy: made.sample(truth, entropy), ["yes", "no"], [(0, 1)], claim)
    assert line.verdict == verdict


def test_a_coin_of_the_one_sided_form_that_is_off_is_told() -> None:
    """Told with another chance, more or less often, the law is no longer the one stated."""
    stated = {heard: chance for heard, chance in OneSided(Fraction(1, 2)).distribution("no").items() if chance}
    for truth, right in (("0.5", True), ("0.55", False), ("0.45", False)):
        other = OneSided(Fraction(truth))
        law = law_of(partial(other.sample, "no"))
        assert audit.same(law, stated, Fraction(0)) == right


@dataclass(frozen=True, slots=True)
class Shifted(KAry):
    """Many at once with another chance of the truth than one at a time."""

    off: Fraction = Fraction(0)

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        shift = drawn(Peak(self.size, self.hit + self.off), len(exact), entropy)
        return (shift + exact) % self.size


@dataclass(frozen=True, slots=True)
class Unmoved(Hadamard):
    """The number is not moved into the half that the coin named."""

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        return local_coins.even(self.order, len(exact), entropy)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("made", "right"),
    [
        (Shifted(3, ONE), True),
        (Shifted(3, ONE, Fraction(1, 1000)), False),
        (Shifted(3, ONE, Fraction(-1, 1000)), False),
        (Unmoved(3, ONE), False),
    ],
    ids=["right", "too often", "too rarely", "unmoved"],
)
def test_many_at_once_with_another_law_is_told(made: Any, right: bool) -> None:
    line = audit._one_row("x", made, range(3), audit.COARSE)
    assert (line.verdict == "holds") == right


@pytest.mark.wide
def test_coins_that_take_an_equal_byte_for_an_answer_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(chance: Fraction, size: int, entropy: Entropy) -> NDArray[np.bool_]:
        given = entropy.words((size + 7) >> 3).view(np.uint8)[:size]
        return np.asarray(given < (256 * chance).__floor__())

    assert audit._coins().verdict == "holds"
    monkeypatch.setattr(local_coins, "coins", hasty)
    assert audit._coins().verdict == "refuted"


@pytest.mark.wide
def test_orders_that_keep_a_tie_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def stable(rows: int, columns: int, entropy: Entropy) -> NDArray[np.int64]:
        return np.asarray(np.argsort(entropy.words(rows * columns).reshape(rows, columns), axis=1, kind="stable"))

    assert audit._orders(3).verdict == "holds"
    monkeypatch.setattr(local_coins, "orders", stable)
    assert audit._orders(3).verdict == "refuted"


@pytest.mark.wide
def test_a_token_of_another_law_is_told() -> None:
    """A design that tells the truth a little more often than ``distribution`` says."""
    design = survey.choice("?", ["a", "b", "c"], epsilon=1, method="kary")
    other = replace(design, mechanism=KAry(3, Fraction(101, 100)))
    law = law_of(partial(device.one, other, "a"))
    assert not audit.same(law, design.distribution("a"), Fraction(0))
    assert audit.same(law, other.distribution("a"), Fraction(0))
    assert design.guarantee.adjacency == LOCAL


def test_a_sampler_that_answers_off_the_list_is_told() -> None:
    made = KAry(3, ONE)
    law = law_of(lambda entropy: made.sample(0, entropy) + 5 * sampling.bernoulli(Fraction(1, 9), entropy))
    assert not audit.same(law, {heard: made.mass(0, heard) for heard in range(3)}, Fraction(1, 2))
