"""Programs of the caller, which name a loss: they meet a public grid and no row, and fail before the charge or not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent import learning as private
from reticent.errors import PublicParameterError
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.convex import tabulated_loss
from reticent.statistics.convex.tabulated_loss import CELLS, FINE, TabulatedLoss
from reticent.statistics.scaling import Floats

WILD = np.array([[1e308, -1e308], [np.inf, np.nan], [5e-324, 0.0], [1.0, -1.0]] * 5)
CALM = np.random.default_rng(3).uniform(-1, 1, (20, 2))
ODD = np.array([0, 1, np.nan, "x"] * 5, object)
SIDES = np.array([0, 1, 1, 0] * 5)

SLOPES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "a jump": lambda z, t: np.sign(z - t),
    "flat but for the ends": lambda z, t: np.where(z >= 8, 1.0, np.where(z <= -8, -1.0, 0.0)),
    "as large as doubles are": lambda z, t: 1e308 * np.tanh(z - t),
    "hardly there": lambda z, t: 1e-299 * np.tanh(z - t),
    "without a zero": lambda z, t: np.exp(z) + t + 2,
}


def named(**own: object) -> dict[str, Any]:
    budget = ApproxDP(Fraction(1000), Fraction(1, 1000))
    ledger = Ledger.create(None, title="programs", adjacency=Adjacency("add_remove"), budget=budget)
    return {"epsilon": 1, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger, **own}


@pytest.mark.parametrize("solver", ["descent", "objective", "output"])
@pytest.mark.parametrize("name", SLOPES)
def test_no_slope_and_no_rows_together_make_a_fault(name: str, solver: str) -> None:
    """Else a fault would tell whether somebody's row is far beyond its bounds."""
    own = {"slope": SLOPES[name], "solver": solver}
    for rows, targets in ((WILD, ODD), (CALM, SIDES)):
        with np.errstate(all="raise"):
            of_classes = private.EmpiricalRiskClassifier(**named(classes=[0, 1], C="0.1", **own)).fit(rows, targets)
            assert 0 <= of_classes.score(rows, targets, epsilon="0.1") <= 1
            of_numbers: Any = private.EmpiricalRiskRegressor(
                **named(y_bounds=(-1, 1), reach=(-8, 8), inverse_link=np.exp, alpha=10, **own)
            ).fit(rows, targets)
            assert of_numbers.score(rows, targets, epsilon="0.1") <= 1


def test_a_score_that_is_no_number_is_in_no_cell_of_an_inverse_link() -> None:
    at = np.array([np.nan, np.inf, -np.inf, 0.0])
    found = tabulated_loss.between(np.linspace(-3, 3, CELLS + 1), at)
    assert np.isnan(found[0])
    assert found[1:].tolist() == [3, -3, 0]


@pytest.mark.parametrize("made", [private.EmpiricalRiskClassifier, private.EmpiricalRiskRegressor])
def test_what_a_program_sees_is_the_same_for_any_rows(made: Callable[..., Any]) -> None:
    seen: list[list[tuple[bytes, bytes]]] = []
    for rows, targets in ((WILD, ODD), (CALM, SIDES), (CALM[:3], SIDES[:3])):
        asked: list[tuple[bytes, bytes]] = []

        def slope(z: Floats, t: Floats, asked: list[tuple[bytes, bytes]] = asked) -> Floats:
            asked.append((z.tobytes(), t.tobytes()))
            return np.asarray(np.tanh(z - t))

        own = {"classes": [0, 1]} if made is private.EmpiricalRiskClassifier else {"y_bounds": (-1, 1)}
        model = made(**named(slope=slope, **own)).fit(rows, targets)
        model.predict(CALM)
        model.score(rows, targets, epsilon="0.1")
        seen.append(asked)
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 1  # so that one which changes its mind is asked for one opinion


def test_what_a_program_writes_later_into_its_own_array_is_not_in_the_table() -> None:
    kept: list[Floats] = []

    def slope(z: Floats, t: Floats) -> Floats:
        kept.append(np.asarray(z - t))
        return kept[-1]

    found = tabulated_loss.asked(slope, np.linspace(-1, 1, 5), np.array([-1.0, 1.0]))
    kept[0][:] = np.nan  # a thread of the caller's
    assert np.isfinite(found).all()


def test_a_table_is_checked_as_it_is_kept() -> None:
    values = np.tile(np.arange(CELLS + 1), (2, 1)).astype(np.int64)
    made = TabulatedLoss(values, 0, 2)
    values[0, 0] = 7 * FINE
    assert int(made.values.max()) == CELLS
    least = np.full((2, CELLS + 1), np.iinfo(np.int64).min)  # whose size, as a number of 64 bits, is below zero
    least[:, CELLS // 2 :] = -FINE
    with pytest.raises(PublicParameterError, match="bound"):
        TabulatedLoss(least, 0, 2)


def test_a_program_that_changes_the_estimator_pays_what_the_certificate_says() -> None:
    def slope(z: Floats, t: Floats) -> Floats:
        model.set_params(epsilon=2)
        return np.asarray(z - t)

    given = named(classes=[0, 1], slope=slope)
    model = private.EmpiricalRiskClassifier(**given)
    model.fit(CALM, SIDES)
    assert model.guarantee_.loss == given["ledger"].spent() == model.certificate_.charged
    assert isinstance(model.guarantee_.loss, PureDP)
    assert Fraction(1) < model.guarantee_.loss.epsilon <= 2
    assert model.certificate_.document["model"]["parameters"]["epsilon"] == 2


@pytest.mark.parametrize("given", [lambda z, t: (one for one in z), lambda z, t: z[:-1], lambda z, t: None, 1])
def test_what_is_no_slope_is_refused_uncharged(given: object) -> None:
    own = named(classes=[0, 1], slope=given)
    with pytest.raises(PublicParameterError, match="Nothing was charged"):
        private.EmpiricalRiskClassifier(**own).fit(CALM, SIDES)
    assert own["ledger"].spent() == PureDP(Fraction(0))
