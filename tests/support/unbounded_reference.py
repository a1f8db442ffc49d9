"""Laws of unbounded columns, and slow references for the statistics without bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells
from reticent.data.query_result import Counts
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Law:
    """A law with its quantiles and mean; ``spread`` is what errors are shown in."""

    name: str
    draw: Draw
    quantile: Callable[[float], float]
    mean: float
    spread: float


def _normal(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(level)


LAWS = {
    law.name: law
    for law in (
        Law("normal", lambda g, n: g.normal(100.0, 1.0, n), lambda q: 100.0 + _normal(q), 100.0, 1.0),
        Law(
            "lognormal", lambda g, n: g.lognormal(0.0, 0.5, n), lambda q: math.exp(_normal(q) / 2), math.exp(1 / 8), 0.6
        ),
        Law(
            "cauchy",
            lambda g, n: 100.0 + g.standard_cauchy(n),
            lambda q: 100.0 + math.tan(math.pi * (q - 0.5)),
            math.nan,
            1.0,
        ),
        Law("bernoulli", lambda g, n: (g.random(n) < 0.3).astype(np.float64), lambda q: float(q > 0.7), 0.3, 0.46),
        Law(
            "tied",
            lambda g, n: np.floor(g.normal(20.0, 4.0, n)),
            lambda q: math.floor(20.0 + 4.0 * _normal(q)),
            19.5,
            4.0,
        ),
    )
}


def counted(cells: Cells, values: NDArray[np.float64]) -> Counts:
    """What ``Ranks`` answers."""
    held, counts = np.unique(cells.index(values), return_counts=True)
    return Counts(held.astype(np.int64), counts.astype(np.int64))


def table(rows: Sequence[int]) -> Counts:
    """Counts of rows given as cells."""
    held, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Counts(held, counts.astype(np.int64))


def trimmed_reach(
    rows: Sequence[int], trimmed: int, domain: Sequence[int], most: int
) -> list[tuple[Fraction, Fraction]]:
    """Least and greatest trimmed mean after k = 0, 1, .., ``most`` rows were replaced, by trying all replacements."""
    from itertools import combinations, product

    found = []
    for k in range(most + 1):
        means = []
        for places in combinations(range(len(rows)), k):
            for new in product(domain, repeat=k):
                changed = list(rows)
                for place, value in zip(places, new, strict=True):
                    changed[place] = value
                changed.sort()
                inside = changed[trimmed : len(rows) - trimmed]
                means.append(Fraction(sum(inside), len(inside)))
        found.append((min(means), max(means)))
    return found


def huber_sums(away: Sequence[float], bend: float, candidates: Sequence[int], unit: int) -> list[int]:
    """The sum of psi at each candidate, one value at a time."""
    places = [round(x / bend * unit) for x in away]
    return [sum(min(max(place - at, -unit), unit) for place in places) for at in candidates]


class Transcript:
    """One run through the gate: outputs drawn once, or given, and the log-probability of each."""

    def __init__(self, stream: Replayed, outputs: Sequence[object] | None = None) -> None:
        self.stream, self.given = stream, None if outputs is None else list(outputs)
        self.outputs: list[object] = []
        self.logs: list[float] = []
        self.mechanisms: list[object] = []

    def respond(self, mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        """For ``gate.Recorder``."""
        drawn = self._drawn(mechanism, exact, start) if self.given is None else self.given[len(self.outputs)]
        self.outputs.append(drawn)
        self.mechanisms.append(mechanism)
        self.logs.append(log_chance(mechanism, exact, start, drawn))
        return drawn

    def _drawn(self, mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if start is None:
            assert isinstance(mechanism, Geometric)
            assert isinstance(exact, tuple | list)
            return mechanism.sample(exact, self.stream)
        assert isinstance(mechanism, Exponential)
        assert isinstance(exact, Candidates)
        return gate.choose(mechanism, exact, start, self.stream)


def log_chance(mechanism: object, exact: object, start: NDArray[np.int64] | None, drawn: object) -> float:
    """ln P(drawn | exact) from the laws the mechanisms state, up to a constant that does not depend on ``exact``."""
    if isinstance(mechanism, Geometric):
        assert isinstance(exact, tuple | list)
        assert isinstance(drawn, tuple)
        moved: int = sum(abs(a - b) for a, b in zip(exact, drawn, strict=True))
        return -moved / float(mechanism.scale)
    assert isinstance(mechanism, Exponential)
    assert isinstance(exact, Candidates)
    assert start is not None
    assert isinstance(drawn, int)
    place = int(np.searchsorted(start, drawn, side="right")) - 1
    rate = float(mechanism.rate)
    weights = np.array([float(w) for w in exact.weights])
    least = float(exact.scores.min())
    total = float((weights * np.exp(-rate * (exact.scores - least))).sum())
    each = weights[place] / float(start[place + 1] - start[place])
    return math.log(each) - rate * (float(exact.scores[place]) - least) - math.log(total)


def losses(
    draw: Callable[[Counts, Entropy], object], here: Counts, there: Counts, key: str
) -> tuple[float, list[tuple[object, float]]]:
    """The exact privacy loss of one transcript drawn on ``here``, against ``there``; and the part of each call."""
    first = Transcript(Replayed(key))
    one = draw(here, gate.Recorder(first.respond, Replayed(key)))
    second = Transcript(Replayed(key), first.outputs)
    other = draw(there, gate.Recorder(second.respond, Replayed(key)))
    if len(first.logs) != len(second.logs) or repr(one) != repr(other):
        return math.inf, []  # which draws are made, or the answer, depends on the rows beyond what was drawn
    parts = [(m, a - b) for m, a, b in zip(first.mechanisms, first.logs, second.logs, strict=True)]
    return sum(part for _, part in parts), parts
