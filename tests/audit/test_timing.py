"""A stopwatch tells nothing about the noise of a draw; and what it tells about requests is bounded validly.

The default tier runs on a clock that the test moves, so it repeats. The long tier needs a quiet machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reticent.entropy import Replayed, system
from reticent.errors import PublicParameterError
from reticent.exact.sampling import one_discrete_gaussian, one_discrete_laplace
from tests.assurance.timing import correlation, judged, ranks, requests, timed


class Clock:
    """A clock that work moves: each unit of work takes about 100 ns, with a jitter that drifts."""

    def __init__(self, key: str) -> None:
        self.now = 0
        self.noise = Replayed(key)
        self.drift = 0

    def work(self, units: int) -> None:
        self.drift = max(0, self.drift + self.noise.bits(1) * 2 - 1)
        self.now += 100 * units + self.noise.bits(7) + self.drift

    def __call__(self) -> int:
        return self.now


def geometric_by_trials() -> int:
    """The mutant: a value that costs one coin a step, as textbook samplers do."""
    entropy, value = system(), 0
    while entropy.bits(4):
        value += 1
    return value


def test_equal_values_share_a_rank() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2.5, 0.0, 2.5, 1.0]
    assert correlation(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0])) == 0.0


def test_a_draw_that_takes_longer_for_larger_noise_is_seen() -> None:
    clock, stream = Clock("slow"), Replayed("values")

    def by_trials() -> int:
        value = stream.bits(5)
        clock.work(value)
        return value

    def at_once() -> int:
        clock.work(20)
        return stream.bits(5)

    assert timed(by_trials, 2000, clock=clock).correlation > 0.9
    assert timed(at_once, 20_000, clock=clock).correlation < 0.03  # its standard deviation is 0.007


def test_a_request_that_works_longer_for_one_neighbour_is_seen() -> None:
    clock = Clock("requests")
    found = requests(lambda: clock.work(10), lambda: clock.work(11), count=4000, entropy=Replayed("order"), clock=clock)
    assert found.epsilon > 0.5, str(found)


def test_a_request_that_fails_early_is_seen() -> None:
    clock = Clock("failing")

    def failing() -> None:
        clock.work(1)
        raise ValueError

    found = requests(lambda: clock.work(10), failing, count=400, entropy=Replayed("order"), clock=clock)
    assert found.epsilon > 2, str(found)


def test_equal_requests_on_a_drifting_clock_prove_nothing() -> None:
    """Chance of a false alarm: beta = 1e-3 a run."""
    clock = Clock("equal")
    for run in range(5):
        found = requests(lambda: clock.work(10), lambda: clock.work(10), count=2000, entropy=Replayed(run), clock=clock)
        assert found.epsilon == 0, str(found)


@pytest.mark.wide
def test_false_alarms_of_the_stopwatch_stay_below_their_rate() -> None:
    """500 tight channels of epsilon ln 3 at beta .1: at most 70 exceed it (more would have probability 2e-3 at .1)."""
    wrong = 0
    for run in range(500):
        words = Replayed(run).words(800)
        sides = (words[:400] & np.uint64(1)).astype(bool)
        slow = np.where(words[400:] & np.uint64(3) == 0, ~sides, sides)  # right three times out of four
        found = judged(slow.astype(np.float64) + (words[:400] >> np.uint64(40)).astype(np.float64) / 2**25, sides, 0.1)
        wrong += found.epsilon > np.log(3)
    assert 1 <= wrong <= 70


def test_a_stopwatch_that_cannot_learn_is_refused() -> None:
    with pytest.raises(PublicParameterError):
        requests(lambda: 1, lambda: 1, count=10)


@pytest.mark.audit
@pytest.mark.parametrize(
    "draw",
    [
        lambda: one_discrete_laplace(1000, system()),
        lambda: one_discrete_laplace(10**6, system()),
        lambda: one_discrete_gaussian(100, system()),
        lambda: one_discrete_gaussian(10**8, system()),
    ],
    ids=["laplace 1000", "laplace 1e6", "gaussian 100", "gaussian 1e8"],
)
def test_duration_does_not_correlate_with_the_noise(draw: Callable[[], int]) -> None:
    """abs(Spearman) over 10**5 draws, best of three: its standard deviation is 0.0032 where there is no relation."""
    assert min(timed(draw).correlation for _ in range(3)) < 0.02


@pytest.mark.audit
def test_the_stopwatch_sees_a_sampler_that_counts() -> None:
    assert timed(geometric_by_trials, 20_000).correlation > 0.3
