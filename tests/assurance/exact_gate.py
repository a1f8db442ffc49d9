"""The law of a whole statistic, where a draw is one branch for each thing it can let out.

A ``Gate`` stands between the statistic and the tree of draws (``laws.Walk``). What a mechanism lets out has a law of
its own, computed once by enumerating the mechanism's program (``law_of``), and the statistic goes on once for each
value of it: a test of propose-test-release has two, whatever noise decided it. So the branches are those of the answer.
The comparison with the threshold is made by ``mechanisms.gate`` itself, after the value that stands for its side.

A choice among runs of candidates is one branch for each candidate: the run has the law of the program, and the
candidates of a run share its chance evenly, as the gate has it. That is for a few hundred, such as binades.

Noise in 2**-20 of a row cannot be listed. ``wide`` mechanisms are answered by one planted value, and the exact numbers
they were handed are kept beside the answer (``Gate.handed``): by the law of the noise they cost their distance over the
scale, and the rest of the claim is for the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy, Replayed
from reticent.errors import CheckError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Bar, Recorder
from reticent.mechanisms.geometric import Geometric
from tests.assurance.laws import ONE, Chance, Law, Walk, law_of

WIDE: Final = 1 << 10  # scales of noise that is not listed
PLANTED: Final = 0  # what stands for it
MOST: Final = 1 << 10  # candidates of one choice


@dataclass(frozen=True, slots=True)
class Listed:
    """What a mechanism lets out, with certified chances by place, likeliest first."""

    values: tuple[object, ...]
    chances: tuple[Chance, ...]


class Gate(Recorder):
    """An entropy that takes every value of every call of the gate in turn, and has no coins."""

    __slots__ = ("_walk", "handed")

    def __init__(self, walk: Walk) -> None:
        super().__init__(_never, Replayed("no coins"))
        self._walk = walk
        self.handed: list[tuple[Geometric, tuple[int, ...]]] = []

    def noise(
        self, mechanism: object, exact: object, start: NDArray[np.int64] | None = None, bar: Bar | None = None
    ) -> object:
        """The next value of what this call lets out."""
        if bar is None and isinstance(mechanism, Geometric) and mechanism.scale >= WIDE:
            inside = tuple(cast(Sequence[int], exact))  # what a geometric mechanism is handed
            self.handed.append((mechanism, inside))
            return (PLANTED,) * len(inside)
        if isinstance(mechanism, Exponential) and isinstance(exact, Candidates) and start is not None:
            return self._chosen(mechanism, exact, start)
        if start is not None or not isinstance(exact, tuple):
            raise CheckError("a choice is listed by its candidates, in runs that share a score")
        name: Hashable = (mechanism, exact, bar)
        listed = _listed(mechanism, exact, bar, self._walk.least)
        return listed.values[self._walk.branch(name, lambda: listed.chances)]

    def _chosen(self, mechanism: Exponential, exact: Candidates, start: NDArray[np.int64]) -> int:
        """The next candidate of a choice."""
        scores, weights = (tuple(map(int, some)) for some in (exact.scores, exact.weights))
        name = (mechanism, scores, weights, tuple(map(int, start)))
        listed = _candidates(*name, self._walk.least)
        return cast(int, listed.values[self._walk.branch(name, lambda: listed.chances)])  # as listed below

    def bits(self, count: int) -> int:
        raise CheckError("coins outside of a mechanism have no law here")

    def words(self, count: int) -> NDArray[np.uint64]:
        raise CheckError("coins outside of a mechanism have no law here")


def _never(*_: object) -> object:
    raise CheckError("a gate answers by itself")


@lru_cache(maxsize=1 << 14)
def _listed(mechanism: Any, exact: tuple[int, ...], bar: Bar | None, least: int) -> Listed:
    """By enumerating the program of the mechanism; of a test only the side of the threshold is let out."""
    if bar is None:
        found = law_of(lambda entropy: mechanism.sample(exact, entropy), least=Fraction(least, ONE))
        return _places(found, [_values(outcome) for outcome in found.masses])

    def side(entropy: Entropy) -> bool:
        return gate.passes(mechanism, exact[0], bar, entropy)

    found = law_of(side, least=Fraction(least, ONE))
    sides = [(bar.threshold if outcome == ("bool", True) else bar.threshold - 1,) for outcome in found.masses]
    return _places(found, sides)


@lru_cache(maxsize=1 << 8)
def _candidates(
    mechanism: Exponential, scores: tuple[int, ...], weights: tuple[int, ...], start: tuple[int, ...], least: int
) -> Listed:
    """By enumerating the program for the run; each of its candidates then has an even share of the run."""
    if start[-1] - start[0] > MOST:
        raise CheckError("a choice among many candidates is compared draw by draw, not listed")
    exact = Candidates(np.array(scores, dtype=np.int64), np.array(weights, dtype=object))
    found = law_of(lambda entropy: mechanism.sample(exact, entropy), least=Fraction(least, ONE))
    masses: dict[Hashable, tuple[int, int]] = {}
    for outcome, (low, high) in found.masses.items():
        assert isinstance(outcome, tuple)
        among = range(start[outcome[1]], start[outcome[1] + 1])
        masses |= dict.fromkeys(among, (low // len(among), -(-high // len(among))))
    return _places(replace(found, masses=masses), list(masses))


def _places(found: Law, values: Sequence[object]) -> Listed:
    """Chances likeliest first; what was not seen may belong to any value."""
    bounds = [(low, min(high + found.residual, ONE)) for low, high in found.masses.values()]
    order = sorted(range(len(bounds)), key=lambda place: -bounds[place][1])
    chances = tuple((at, *bounds[place]) for at, place in enumerate(order))
    return Listed(tuple(values[place] for place in order), chances)


def _values(outcome: Hashable) -> tuple[int, ...]:
    """The integers behind the form of a tuple of them."""
    assert isinstance(outcome, tuple)
    kind, *parts = outcome
    if kind != "tuple" or any(part[0] != "int" for part in parts):
        raise CheckError("a mechanism lets out something else than integers")
    return tuple(part[1] for part in parts)


def through_gate(program: Callable[[Gate], object], *, least: Fraction) -> Law:
    """The law of what a program makes of what its mechanisms let out."""
    return law_of(lambda entropy: program(cast(Gate, entropy)), least=least, entropy=Gate)  # entropy= made it
