"""Answers to the calls of a draw that hang on its law over cells alone, and not on how cells stand together in runs."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential

Stretches = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def stretches(exact: Candidates, start: NDArray[np.int64]) -> Stretches:
    """Stretches of equal scores: the first cell of each and the end of the last, the scores, and the public weights."""
    scores = np.asarray(exact.scores, np.int64)
    first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    weights = np.add.reduceat(np.asarray(exact.weights, np.float64), first)
    return np.append(start[:-1][first], start[-1]), scores[first], weights


def same_law(one: gate.Call, other: gate.Call) -> bool:
    """Tell if two calls ask the same of the same mechanism: of candidates, if every cell has the same score."""
    if one.mechanism != other.mechanism or not isinstance(one.exact, Candidates):
        return one.mechanism == other.mechanism and one.exact == other.exact
    assert isinstance(other.exact, Candidates)
    assert one.start is not None
    assert other.start is not None
    here, there = stretches(one.exact, one.start), stretches(other.exact, other.start)
    return all(map(np.array_equal, here[:2], there[:2])) and np.allclose(here[2], there[2], rtol=1e-9)


def recorder(seed: int, *, far: float = 0.0, beyond: float = 0.0, more: int = 0) -> gate.Recorder:
    """A recorder that draws each candidate by its law, from one uniform number for each call.

    Parameters
    ----------
    seed : int
    far : float
        Share of draws among the farthest cells whose scores have not ended.
    beyond : float
        Share of draws among the cells whose scores are the highest.
    more : int
        Noise of each integer.

    Returns
    -------
    Recorder
    """
    stream = np.random.default_rng(seed)

    def respond(asked: object, exact: object, start: object) -> object:
        if not isinstance(exact, Candidates):
            return tuple(max(number + more, 0) for number in cast("tuple[int, ...]", exact))
        how, side, u, inside = stream.random(4)
        first, scores, weights = stretches(exact, cast("NDArray[np.int64]", start))
        highest = int(scores.max())
        if how < far + beyond:
            wanted = scores == highest if how < beyond else scores == scores[scores < highest].max(initial=scores.min())
            among = np.flatnonzero(wanted & (weights > 0))
            if len(among):
                return _cell(first, int(among[0] if side < 0.5 else among[-1]), inside)
        logs = float(cast(Exponential, asked).rate) * (scores.min() - scores)
        ends = np.cumsum(weights * np.exp(logs))
        return _cell(first, int(np.searchsorted(ends, u * ends[-1], "right")), inside)

    return gate.Recorder(respond, Replayed("unused"))


def _cell(first: NDArray[np.int64], stretch: int, inside: float) -> int:
    low, high = int(first[stretch]), int(first[stretch + 1])
    return low + int(inside * (high - low))
