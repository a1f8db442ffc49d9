"""Laws with known population values, clipped to sensible public bounds, for the tests of coverage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.schema import Column, integer, real

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Law:
    """A law, the public bounds of its column, and its quantile function before clipping."""

    name: str
    column: Column
    draw: Draw
    low: float
    high: float
    discrete: bool = False

    def truth(self, question: str) -> float:
        """The population value of a question about the clipped law."""
        return _truth(self.name, question)


def _normal(generator: np.random.Generator, size: int) -> NDArray[np.float64]:
    return generator.normal(50.0, 10.0, size)


def _bernoulli(generator: np.random.Generator, size: int) -> NDArray[np.float64]:
    return (generator.random(size) < 0.3).astype(np.float64)


def _lognormal(generator: np.random.Generator, size: int) -> NDArray[np.float64]:
    return generator.lognormal(0.0, 0.5, size)


LAWS = (
    Law("normal(50, 10)", real(0, 100), _normal, 0.0, 100.0),
    Law("Bernoulli(0.3)", integer(0, 1), _bernoulli, 0.0, 1.0, discrete=True),
    Law("lognormal(0, 1/2)", real(0, 10), _lognormal, 0.0, 10.0),
)


@lru_cache(maxsize=64)
def _truth(name: str, question: str) -> float:
    from scipy import stats

    verb = question.partition("(")[0]
    level = {"median": 0.5, "quantile": 0.0}.get(verb, 0.0)
    if verb == "quantile":
        level = float(question.partition(",")[2].strip(" )"))
    if name.startswith("Bernoulli"):
        known = {"mean": 0.3, "proportion": 0.3, "variance": 0.21, "sd": math.sqrt(0.21), "median": 0.0}
        return known[verb]
    law = stats.norm(50, 10) if name.startswith("normal") else stats.lognorm(0.5)
    if level:
        return float(law.ppf(level))
    if verb == "iqr":
        return float(law.ppf(0.75) - law.ppf(0.25))
    high = 100.0 if name.startswith("normal") else 10.0
    grid = np.linspace(0.0, high, 200_001)
    density = law.pdf(grid)
    ends = {0.0: float(law.cdf(0.0)), high: float(law.sf(high))}

    def moment(power: int) -> float:
        inner = float(np.trapezoid(grid**power * density, grid))
        return inner + sum(end**power * mass for end, mass in ends.items() if end or power == 0)

    mean = moment(1)
    variance = moment(2) - mean * mean
    return {"mean": mean, "variance": variance, "sd": math.sqrt(variance)}[verb]


def in_two_lengths(
    cases: Sequence[tuple[object, ...]], kept: Sequence[int], short: tuple[object, ...], long: tuple[object, ...]
) -> list[Any]:
    """Cases of a coverage test: short runs of those at the places kept, and for the audit long runs of all.

    A mutant that short runs refute in one case may pass them in another.
    """
    return [
        *(pytest.param(*cases[place], *short) for place in kept),
        *(pytest.param(*case, *long, marks=pytest.mark.audit) for case in cases),
    ]
