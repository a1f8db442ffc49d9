"""Rows that lack a value: a fit that buys the number of complete rows tells their share, at no charge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.learning import PCA, LinearRegression
from reticent.ledger import Ledger
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

RNG = np.random.default_rng(3)
N = 4000
X = RNG.uniform(-1, 1, (N, 2))
Y = X[:, 0] / 2 + RNG.normal(0, 0.1, N)
X[:1000, 1] = np.nan  # a quarter of the rows


def fitted(name: str, kind: Any, delta: str = "0") -> tuple[Any, Ledger]:
    ledger = Ledger.create(None, title="x", adjacency=Adjacency(kind), budget=PureDP(Fraction(1000)))
    if delta != "0":
        ledger = Ledger.create(None, title="x", adjacency=Adjacency(kind), budget=approx())
    told: dict[str, Any] = {"epsilon": 2, "delta": delta, "bounds": (-1, 1), "adjacency": kind, "ledger": ledger}
    model: Any = PCA(**told) if name == "PCA" else LinearRegression(y_bounds=(-1, 1), **told)
    return model.fit(X, Y), ledger


def approx() -> Any:
    from reticent.privacy.loss import ApproxDP

    return ApproxDP(Fraction(1000), Fraction(1, 1000))


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("name", ["PCA", "LinearRegression"])
def test_of_a_public_number_of_rows_the_share_is_told_for_nothing(name: str, delta: str) -> None:
    """The noise is beyond ten half-widths with a probability below 1e-12."""
    model, ledger = fitted(name, "substitute", delta)
    share = model.incomplete_rows_
    assert isinstance(share, Reply)
    assert abs(share.value.value - 0.25) < 10 * share.value.noise
    assert 0 < share.value.noise < 0.2
    assert "lack a value that can be read: they do not count" in model.certificate_.caveats[0]
    assert model.certificate_.caveats[0] in model.summary()
    assert model.certificate_.document["model"]["released"]["incomplete_rows"]["value"]["value"] == share.value.value
    assert model.certificate_.verify(ledger, allow_unsigned=True).ok


@pytest.mark.parametrize("name", ["PCA", "LinearRegression"])
def test_of_a_private_number_of_rows_nothing_is_told(name: str) -> None:
    model, _ = fitted(name, "add_remove")
    assert not hasattr(model, "incomplete_rows_")


@pytest.mark.parametrize("name", ["PCA", "LinearRegression"])
def test_intervals_of_the_share_cover(name: str) -> None:
    """60 fits that each hold the share with probability .95: fewer than 48 do with a probability below 1e-4."""
    held = 0
    for _ in range(60):
        share = fitted(name, "substitute")[0].incomplete_rows_.value
        held += share.low <= 0.25 <= share.high
    assert held >= 48
