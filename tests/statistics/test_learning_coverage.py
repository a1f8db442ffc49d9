"""Intervals of linear and logistic models cover the population's coefficients, with the noise of privacy in them.

Replayed entropy. 60 tables of 4 coefficients each: 240 answers, nearly independent, so that intervals that cover .95
have a share outside .90 to .985 about once in 500 runs, were they drawn anew. Intervals that leave the noise out, or
have it three times as wide, fall outside.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from reticent.entropy import Replayed
from reticent.learning.descent import Descent, Linear
from reticent.learning.losses import Logistic
from reticent.learning.price import Price
from reticent.learning.products import Products
from reticent.learning.scaling import Floats, Scaling
from reticent.privacy.adjacency import Adjacency

TABLES = 60
ROWS = 8000
BOX = ((Fraction(-1), Fraction(1)),) * 3
TRUE = {"linear": np.array([0.1, 0.3, -0.5, 0.2]), "logistic": np.array([0.3, 1.0, -2.0, 0.5])}
AT_95 = 1.959963984540054
ADD = Adjacency("add_remove")


@lru_cache(maxsize=200)
def drawn(model: str, delta: Fraction, key: int) -> Linear:
    """One made-up table and its model."""
    rng, entropy = np.random.default_rng(key), Replayed(f"{model} {key}")
    price = Price(Fraction(1) if model == "linear" else Fraction(1, 2), delta, ADD)  # noise as wide as sampling
    x = rng.uniform(-1, 1, (ROWS, 3))
    score = TRUE[model][0] + x @ TRUE[model][1:]
    if model == "linear":
        y = score + np.clip(0.2 * rng.normal(size=ROWS), -1, 1)
        clip = Fraction(1733, 1000) if delta else Fraction(3)
        found = Products(Scaling(BOX, intercept=False), price, clip).draw(x, y / 2.1, entropy)
        return found
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-score))).astype(float)
    clip = Fraction(2) if delta else Fraction(4)
    return Descent(Logistic(2), Scaling(BOX), price, clip, refined=True).draw(x, y, entropy)


def covered(model: str, delta: Fraction, times: float = 1.0) -> float:
    """The share of coefficients inside intervals whose noise variance is ``times`` what was told."""
    hits: list[Floats] = []
    for key in range(TABLES):
        found = drawn(model, delta, key)
        if found.sampled is None or found.noisy is None:
            continue
        half = AT_95 * np.sqrt(np.diag(found.sampled + times * found.noisy))
        true = TRUE[model] / (2.1 if model == "linear" else 1.0)
        hits.append(np.asarray(np.abs(found.scaled[0] - true) <= half, np.float64))
    assert len(hits) > TABLES * 9 // 10  # the noise does not hide these
    return float(np.mean(hits))


CASES = [("linear", Fraction(0)), ("linear", Fraction(1, 10**6)), ("logistic", Fraction(1, 10**6))]


@pytest.mark.parametrize(("model", "delta"), CASES)
def test_intervals_cover_and_neither_mutant_does(model: str, delta: Fraction) -> None:
    assert 0.9 <= covered(model, delta) <= 0.985
    assert covered(model, delta, 0.0) < 0.9  # sampling alone
    assert covered(model, delta, 9.0) > 0.985  # noise three times as wide
