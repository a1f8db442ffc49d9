"""What a stopwatch tells: of the noise of one draw, and of which of two neighbours a request was about.

    correlation(durations, values)       rank correlation of durations and sizes of noise
    timed(draw, count)                   durations and values of single draws
    requests(here, there, count=...)     a lower bound on epsilon from the durations of requests

Statement (``requests``). If, whatever happened before, the duration of a request about one neighbour is epsilon-close
to that about the other, the number returned exceeds epsilon with probability at most beta, however the machine drifts.

Proof. Before each request a fair coin chooses the neighbour. Given all durations so far and this one, the odds of the
coin are at most e^epsilon, so a guess is right with probability at most r = e^epsilon / (1 + e^epsilon). Guesses are
made for durations in a set fixed on the first half of the requests; of the first k of them, k fixed too, the number
of right ones is stochastically at most Binomial(k, r). Fewer than k guesses prove nothing. The bound is the
Clopper-Pearson bound of r. Independence of the durations, which no real machine grants, is not needed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.conformance.lower_bounds import least_share
from reticent.entropy import Entropy, system
from reticent.errors import PublicParameterError

Clock = Callable[[], int]

KEPT: Final = 0.8  # of the guesses expected in the second half: as many are waited for
CELLS: Final = 40  # quantiles of the durations among which a set of guesses is looked for
FEWEST: Final = 80  # requests below which nothing can be learned


@dataclass(frozen=True, slots=True)
class Timed:
    """Durations in nanoseconds and the size of what was drawn, one each."""

    durations: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @property
    def correlation(self) -> float:
        """abs(Spearman) of the two."""
        return correlation(self.durations, self.sizes)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """A lower bound on the epsilon of the durations alone.

    Attributes
    ----------
    epsilon : float
        0 where nothing was learned.
    right, guesses : int
        How many of the guesses counted were right.
    requests : int
    beta : float
        The probability that ``epsilon`` is too high.
    """

    epsilon: float
    right: int
    guesses: int
    requests: int
    beta: float

    def __str__(self) -> str:
        told = f"{self.right} of {self.guesses} guesses right" if self.guesses else "nothing was learned"
        return f"ε >= {self.epsilon:.3g} from {self.requests} durations ({told}), wrong with probability {self.beta:g}"


def timed(draw: Callable[[], float], count: int = 100_000, *, clock: Clock = time.perf_counter_ns) -> Timed:
    """Durations and absolute values of ``count`` single draws."""
    durations, sizes = np.empty(count), np.empty(count)
    for place in range(count):
        start = clock()
        value = draw()
        durations[place] = clock() - start
        sizes[place] = abs(value)
    return Timed(durations, sizes)


def correlation(durations: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """abs(Spearman): its standard deviation is 1 / sqrt(count - 1) where there is no relation; 0 if one is constant."""
    first, second = ranks(durations), ranks(sizes)
    if first.min() == first.max() or second.min() == second.max():
        return 0.0
    return float(abs(np.corrcoef(first, second)[0, 1]))


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found: NDArray[np.float64] = ((2 * ends - counts - 1) / 2.0)[place.ravel()]
    return found


def requests(
    here: Callable[[], object],
    there: Callable[[], object],
    *,
    count: int = 10_000,
    beta: float = 1e-3,
    entropy: Entropy | None = None,
    clock: Clock = time.perf_counter_ns,
) -> Stopwatch:
    """A lower bound on epsilon from the durations of requests about two neighbours, asked in random order.

    Parameters
    ----------
    here, there : function
        One request each; what they return is thrown away, an exception is part of the request.
    count : int
        Requests in all, >= 80.
    beta : float
        In (0, 1): the probability that the bound is too high.
    entropy : Entropy, optional
        For the order; the operating system's by default.
    clock : function
        Nanoseconds.

    Raises
    ------
    PublicParameterError
        For too few requests or a ``beta`` out of range.
    """
    if count < FEWEST or not 0 < beta < 1:
        raise PublicParameterError(f"at least {FEWEST} requests and beta in (0, 1) are needed")
    source = system() if entropy is None else entropy
    sides, durations = np.empty(count, bool), np.empty(count)
    for place in range(count):
        sides[place] = source.bits(1) == 1
        asked = there if sides[place] else here
        start = clock()
        with suppress(Exception):  # how long a failure takes is part of what is measured
            asked()
        durations[place] = clock() - start
    return judged(durations, sides, beta)


def judged(durations: NDArray[np.float64], sides: NDArray[np.bool_], beta: float) -> Stopwatch:
    """The bound, from durations in the order they were taken and the fair coins that chose the sides."""
    half = len(durations) // 2
    edges = np.unique(np.quantile(durations[:half], np.linspace(0, 1, CELLS + 1)[1:-1]))
    cells = np.searchsorted(edges, durations, side="right")
    guess, taken = _guesses(cells[:half], sides[:half], len(edges) + 1)
    members = taken[cells]
    wanted = int(KEPT * np.count_nonzero(members[:half]))
    counted = np.flatnonzero(members[half:])[:wanted] + half
    if wanted == 0 or len(counted) < wanted:
        return Stopwatch(0.0, 0, 0, len(durations), beta)
    right = int(np.count_nonzero(guess[cells[counted]] == sides[counted]))
    share = least_share(right, wanted, beta)
    epsilon = max(0.0, math.log(share / (1 - share))) if 0 < share < 1 else 0.0
    return Stopwatch(epsilon, right, wanted, len(durations), beta)


def _guesses(
    cells: NDArray[np.int64], sides: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The likelier side of each cell, and the cells worth a guess: those that promise the largest bound together."""
    there = np.bincount(cells[sides], minlength=size)
    here = np.bincount(cells[~sides], minlength=size)
    guess = there > here
    right, total = np.maximum(here, there), here + there
    surest = np.argsort(-(right + 1) / (total + 2), kind="stable")
    r, t = np.cumsum(right[surest]), np.maximum(np.cumsum(total[surest]), 1)
    promised = r / t - 3 * np.sqrt(np.maximum((r / t) * (1 - r / t), 1 / t) / t)
    taken = np.zeros(size, bool)
    taken[surest[: int(np.argmax(promised)) + 1]] = True
    return guess, taken
