"""Classes A1 to A5, B1 to B3, E5: noise whose bits, coins or duration give the data away."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.conformance.events import Floats, Sample
from reticent.entropy import Entropy, Replayed, SystemEntropy, system
from reticent.errors import Refusal
from reticent.exact import sampling
from reticent.exact.grid import Grid
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.sensitivity import L1, Linf
from tests.assurance.broken.exhibit import (
    AnyExhibit,
    Drawn,
    Durations,
    Exact,
    Exhibit,
    OnCoins,
    Reach,
    Sampled,
    Stopwatch,
    Support,
    Tried,
    one_by_one,
)
from tests.assurance.reachability import reachable

NEAR: Final = Adjacency("add_remove")
ONE: Final = PureDP(Fraction(1))
COUNT: Final = Geometric(L1(Fraction(1), NEAR), Fraction(1))
GRID: Final = Grid(-20)


def uniforms(count: int, entropy: Entropy) -> Floats:
    """Floats as every library makes them: 53 fair bits."""
    return np.asarray((entropy.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _inverse(u: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.sign(u) * np.log1p(-2 * np.abs(u)), np.float64)


def on_the_grid(side: int, count: int, entropy: Entropy) -> Floats:
    """Ours: noise on a public grid, whose points are the same for all data."""
    made = Laplace(L1(Fraction(1), NEAR), Fraction(1), GRID)
    noise = sampling.discrete_laplace(made.steps / made.epsilon, count, entropy)
    return np.asarray(np.ldexp((noise + GRID.index(Fraction(side))).astype(np.float64), GRID.exponent))


# --- A: floats --------------------------------------------------------------------------------------------------------


def float_laplace(side: int, count: int, entropy: Entropy) -> Floats:
    """Laplace noise as the inverse distribution function of a uniform float. It takes only some of the floats, and
    after the answer is added these are others for each answer: one output may prove which data it was. Hit:
    diffprivlib #19, Presto #23002, Opacus #616; Mironov 2012."""
    return np.asarray(side + _inverse(uniforms(count, entropy) - 0.5))


def _possible(outputs: Floats, side: int) -> NDArray[np.bool_]:
    def forward(place: NDArray[np.int64]) -> Floats:
        return np.asarray(side + _inverse(np.ldexp(place.astype(np.float64), -53) - 0.5))

    def guess(values: Floats) -> NDArray[np.int64]:
        u = -np.sign(values - side) * np.expm1(-np.abs(values - side)) / 2 + 0.5
        return np.rint(np.ldexp(u, 53)).astype(np.int64)

    return reachable(outputs, forward, guess)


def _on_grid(outputs: Floats, side: int) -> NDArray[np.bool_]:
    steps = np.ldexp(outputs - side, -GRID.exponent)
    return np.asarray(steps == np.rint(steps))


def perfect_noise_added_in_floats(side: int, count: int, entropy: Entropy) -> Floats:
    """The noise is perfect to 2**-56, but the sum is rounded to the last place of the larger number. Its low bits
    therefore tell if something was added to 0 or to 1. Hit: diffprivlib #94, OpenDP #414; Haney et al. 2022.
    """
    noise = sampling.discrete_laplace(1 << 56, count, entropy).astype(np.float64)
    return np.asarray(np.ldexp(noise, -56) + side)


def four_uniforms_mixed(side: int, count: int, entropy: Entropy) -> Floats:
    """Several uniforms are mixed so that nobody can invert the sampler. The sum with the answer is still rounded, so
    the attack by low bits does not care. Hit: diffprivlib #94; Holohan and Braghin 2021."""
    u = [uniforms(count, entropy) for _ in range(4)]
    mixed = np.log1p(-u[0]) * np.cos(np.pi * u[1]) + np.log1p(-u[2]) * np.cos(np.pi * u[3])
    return np.asarray(side + mixed)


def float_gaussian(side: int, count: int, entropy: Entropy) -> Floats:
    """Box and Muller in floats, standard deviation 4. The formula is right for real numbers; the floats are not. Hit:
    Qrlew (over the warehouse's RANDOM()), diffprivlib; Jin et al. 2022."""
    radius = np.sqrt(-2 * np.log1p(-uniforms(count, entropy)))
    return np.asarray(radius * np.cos(2 * np.pi * uniforms(count, entropy)) * 4 + side)


def weights_that_underflow(scores: Sequence[int], entropy: Entropy) -> int:
    """The exponential mechanism with weights exp(-score / 2) in floats. Far from 0 all weights are 0, and one
    neighbour divides by their sum. Hit: softmax of raw scores; Ilvento 2020, private-pgm PR #102."""
    first, second = (math.exp(-score / 2) for score in scores)
    return 1 - sampling.bernoulli(Fraction(first / (first + second)), entropy)


def ours_exponential(scores: Sequence[int], entropy: Entropy) -> int:
    made = Exponential(Linf(Fraction(1), NEAR), Fraction(1))
    return made.sample(Candidates(np.array(scores, np.int64), np.ones(len(scores), np.int64)), entropy)


def word_modulo_three(entropy: Entropy) -> int:
    """A choice among three by the remainder of a byte: the first is chosen 86 times of 256. Hit: samplers by ``%``,
    which are in most code that was written by hand; OpenDP PR #2639 mended a biased sampler of noise."""
    return entropy.bits(8) % 3


def ours_uniform(entropy: Entropy) -> int:
    return sampling.uniform(3, entropy)


# --- B: coins ---------------------------------------------------------------------------------------------------------

SEEDS: Final = 1 << 12
ANSWERS: Final = 5


@cache
def _streams() -> NDArray[np.int64]:
    """The noise of five answers for every state of a linear congruential generator."""
    state, columns = np.arange(SEEDS, dtype=np.uint64), []
    for _ in range(ANSWERS):
        state = (state * np.uint64(1103515245) + np.uint64(12345)) & np.uint64(0x7FFFFFFF)
        u = (state.astype(np.float64) + 0.5) / 2**31 - 0.5
        columns.append(np.rint(ANSWERS * np.sign(u) * np.log1p(-2 * np.abs(u))).astype(np.int64))
    return np.stack(columns, 1)


def generator_with_a_state_to_search(side: int, count: int, entropy: Entropy) -> Sample:
    """Five counts with noise of a generator that was made for simulation. Its 4,096 states stand for those of a
    Mersenne twister, which 624 outputs give away: try all, and the noise can be taken off. Hit: diffprivlib #27,
    PrivCount #65."""
    return _unmasked(_streams()[(entropy.words(count) % np.uint64(SEEDS)).astype(np.int64)] + side)


def ours_five_counts(side: int, count: int, entropy: Entropy) -> Sample:
    noise = sampling.discrete_laplace(ANSWERS, count * ANSWERS, entropy).reshape(count, ANSWERS)
    return _unmasked(noise + side)


@cache
def _known() -> frozenset[tuple[int, ...]]:
    return frozenset(tuple(row) for row in _streams().tolist())


def _unmasked(rows: NDArray[np.int64]) -> Sample:
    """For each output, the counts that some state of the generator explains."""
    explained = [[(rows - side).tolist(), side] for side in (0, 1)]
    return [str([side for values, side in explained if tuple(values[place]) in _known()]) for place in range(len(rows))]


def one_seed_for_two_questions(counts: tuple[int, int], entropy: Entropy) -> tuple[int, int]:
    """Two questions are asked with the same seed, so they get the same noise: the difference is exact. Hit:
    diffprivlib's ``random_state``, whose maintainers warn of it (#31)."""
    noise = sampling.one_discrete_laplace(2, entropy)
    return counts[0] + noise, counts[1] + noise


def ours_two_counts(counts: tuple[int, int], entropy: Entropy) -> tuple[int, ...]:
    return Geometric(L1(Fraction(1), NEAR), Fraction(1)).sample(counts, entropy)


def generator_with_a_state() -> Replayed:
    """A generator of the process's own. A fork, a pickled worker or a snapshot of the machine copies its state, and
    both copies draw the same noise. Hit: numpy.random, randomgen, a stream cipher held in memory."""
    return Replayed("started once")


def _copied(start: Any) -> str:
    source = start()
    try:
        twin = copy.deepcopy(source)
    except Refusal:
        return ""
    same = source.bits(128) == twin.bits(128)
    return "a copy gives the same 128 bits" if same else ""


def ours_system() -> SystemEntropy:
    return system()


# --- E5: time ---------------------------------------------------------------------------------------------------------


def geometric_by_trials(entropy: Entropy) -> int:
    """A geometric variable by tossing until the first success: large noise takes long. Hit: OpenDP's integer Laplace
    (rank correlation .31 to .39 measured); Andrysco et al. 2015, Jin et al. 2022."""
    value = 0
    while entropy.bits(4):
        value += 1
    return value


def ours_geometric(entropy: Entropy) -> int:
    return sampling.one_discrete_laplace(16, entropy)


def search_that_stops_early(rows: Sequence[int]) -> bool:
    """Look somebody up in the file until found, and add noise to the answer: the noise hides the answer, and the
    duration tells it. Hit: any service without a fixed schedule of answers; Haeberlen, Pierce and Narayan 2011.
    """
    found = any(row == 1 for row in rows)
    return found ^ bool(system().bits(1))


def ours_counted(rows: Sequence[int]) -> tuple[int, ...]:
    """A sum of fixed length, then noise."""
    return COUNT.sample((sum(row == 1 for row in rows),), system())


FAR: Final = (0,) * 20_000
ours_laplace: Final[Drawn] = on_the_grid
GAUSSIAN: Final = ScalarGaussian(L1(Fraction(1), NEAR), Fraction(16), Fraction(6, 5))


def _gaussian(side: int, entropy: Entropy) -> int:
    return GAUSSIAN.sample((side,), entropy)[0]


ours_gaussian: Final = one_by_one(_gaussian)


EXHIBITS: Final[tuple[AnyExhibit, ...]] = (
    Exhibit("A1", Reach(float_laplace, _possible), Support(ONE), Reach(on_the_grid, _on_grid), "mechanisms.Laplace"),
    Exhibit("A2", perfect_noise_added_in_floats, Sampled(0, 1, ONE), ours_laplace, "mechanisms.Laplace"),
    Exhibit("A3", four_uniforms_mixed, Sampled(0, 1, ONE), ours_laplace, "mechanisms.Laplace"),
    Exhibit(
        "A4",
        float_gaussian,
        Sampled(0, 1, ApproxDP(Fraction(6, 5), Fraction(1, 10**5)), (0.0, 1e-5)),
        ours_gaussian,
        "mechanisms.ScalarGaussian",
    ),
    Exhibit(
        "A5",
        weights_that_underflow,
        Exact(((1490, 1492), (1491, 1493)), ONE),
        ours_exponential,
        "mechanisms.Exponential",
    ),
    Exhibit("A5", word_modulo_three, OnCoins(sampling.Uniform(3), "a fair choice"), ours_uniform, "exact.uniform"),
    Exhibit("B1", generator_with_a_state_to_search, Sampled(0, 1, ONE), ours_five_counts, "exact.discrete_laplace"),
    Exhibit("B2", one_seed_for_two_questions, Exact(((1, 1), (0, 1)), ONE), ours_two_counts, "mechanisms.Geometric"),
    Exhibit(
        "B3",
        generator_with_a_state,
        Tried(_copied, "coins used once", "refuses to be copied", "copy"),
        ours_system,
        "entropy.SystemEntropy",
    ),
    Exhibit("E5", geometric_by_trials, Durations(), ours_geometric, "exact.one_discrete_laplace"),
    Exhibit(
        "E5",
        search_that_stops_early,
        Stopwatch((1, *FAR), (*FAR, 0)),
        ours_counted,
        "mechanisms.Geometric",
        machine=True,
    ),
)
