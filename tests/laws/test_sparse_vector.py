"""Sparse vector: its law is computed for all short sequences of questions and all answers, and so are its mutants'.

A transcript of an adaptive conversation is a sequence of questions, one chosen after each answer, with the answers; the
probability of the answers is that of the same questions asked in a row. So the worst ratio over all sequences covers
every adaptive questioner, and divergences are maximised over questioners by dynamic programming from the end.
Without chance, but for the tests of the sampler: chi-square at 1e-4 on replayed draws.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.conformance.kit import Case, Effort, check
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import exp_up
from reticent.mechanisms import sparse_vector
from reticent.mechanisms.registry import axiom_again
from reticent.mechanisms.sparse_vector import Direction, SparseVector, split
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, PureDP
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import Linf
from tests.assurance.claims import verify

NEAR = Adjacency("add_remove")
Z = np.arange(-500.0, 501.0)  # of the threshold's noise; what lies beyond is below 1e-60 for the scales used here
Floats = NDArray[np.float64]
Step = tuple[int, int]  # one question: f on either side


def made(
    epsilon: str = "1", positives: int = 1, shares: tuple[int, int, int] = (1, 1, 0), direction: Direction = "either"
) -> SparseVector:
    return SparseVector(Linf(Fraction(1), NEAR), Fraction(epsilon), positives, shares, direction)


@dataclass(frozen=True)
class Scales:
    """A sparse vector by what its program does: what it claims is another matter."""

    threshold: float
    question: float  # 0: no noise
    positives: int
    value: float = 0.0
    shown: str = "fresh"  # or "compared": the noisy number that was compared is shown


def scales_of(mechanism: SparseVector) -> Scales:
    return Scales(
        float(mechanism.threshold_scale),
        float(mechanism.question_scale),
        mechanism.positives,
        float(mechanism.value_scale) if mechanism.values else 0.0,
    )


def mass(scale: float, k: Floats) -> Floats:
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(k)


def at_least(scale: float, k: Floats) -> Floats:
    """P(X >= k)."""
    if scale == 0:
        return np.asarray(k <= 0, np.float64)
    ratio = math.exp(-1 / scale)
    upper = ratio ** np.maximum(k, 0) / (1 + ratio)
    return np.where(k >= 1, upper, 1 - ratio ** np.maximum(1 - k, 0) / (1 + ratio))


@cache
def yes(scale: float, f: int) -> Floats:
    """P(X >= z - f) for every z."""
    return at_least(scale, Z - f)


@cache
def no(scale: float, f: int) -> Floats:
    """P(X < z - f) for every z, without cancellation: X is symmetric."""
    return at_least(scale, 1 - Z + f) if scale else np.asarray(f < Z, np.float64)


@cache
def threshold(scale: float) -> Floats:
    return mass(scale, Z)


def transcript(scales: Scales, asked: tuple[int, ...], answers: tuple[int, ...], values: tuple[int, ...] = ()) -> float:
    """The probability of the answers to these questions; ``values`` of those above, where they are shown."""
    found = threshold(scales.threshold)
    shown = iter(values)
    for f, above in zip(asked, answers, strict=True):
        if not above:
            found = found * no(scales.question, f)
        elif scales.shown == "compared":
            y = next(shown)
            found = found * mass(scales.question, np.array([float(y - f)])) * (y >= Z)
        else:
            found = found * yes(scales.question, f)
            if values:
                found = found * mass(scales.value, np.array([float(next(shown) - f)]))
    return float(found.sum())


def patterns(length: int, positives: int) -> Iterator[tuple[int, ...]]:
    """All answers of a conversation of at most ``length`` questions that cannot go on, and those that stop early."""
    for answers in product((0, 1), repeat=length):
        if sum(answers[:-1]) < positives:
            yield answers


def worst(scales: Scales, length: int, steps: list[Step], values: tuple[int, ...] = (0,)) -> float:
    """The largest log ratio of a transcript over all questions of ``steps`` and all answers."""
    most = 0.0
    for answers in patterns(length, scales.positives):
        for asked in product(steps, repeat=length):
            sides = [tuple(side) for side in zip(*asked, strict=True)]
            shown = values[: sum(answers)] if scales.value or scales.shown == "compared" else ()
            here, there = (transcript(scales, side, answers, shown) for side in sides)
            if here > 1e-250 and there > 1e-250:
                most = max(most, abs(math.log(here / there)))
            elif max(here, there) > 1e-200:
                return math.inf
    return most


EITHER: list[Step] = [(f, f + d) for f in (-9, 0, 9) for d in (-1, 0, 1)]
TOGETHER: list[Step] = [(f, f + d) for f in (-9, 0, 9) for d in (0, 1)]
RIGHT = [
    made("1"),
    made("2", shares=(1, 4, 0)),
    made("1", positives=2),
    made("2", positives=2, shares=(1, 3, 2)),
    made("2", positives=1, shares=(1, 1, 2)),
    made("1", direction="together"),
    made("2", positives=2, shares=(2, 3, 0), direction="together"),
    made("2", positives=2, shares=(1, 1, 1), direction="together"),
]


@pytest.mark.parametrize("mechanism", RIGHT, ids=str)
def test_no_questioner_gets_more_than_epsilon_from_three_questions(mechanism: SparseVector) -> None:
    steps = EITHER if mechanism.direction == "either" else TOGETHER
    epsilon = float(mechanism.epsilon)
    for values in ((0, 0), (9, -9)):
        assert worst(scales_of(mechanism), 3, steps, values) <= epsilon + 1e-9


def thresholdout(scales: Scales, sums: tuple[int, ...], marks: tuple[int, ...], shown: int) -> float:
    """A round that compares |s| with 3 and shows s: the number shown is another than the one compared."""
    found = threshold(scales.threshold)
    for s, above in zip(sums, marks, strict=True):
        found = found * (yes if above else no)(scales.question, abs(s) - 3)
    last = mass(scales.value, np.array([float(shown - sums[-1])]))[0] if marks[-1] else 1.0
    return float(found.sum() * last)


def test_a_round_of_thresholdout_costs_its_epsilon() -> None:
    """All sums of two questions, in [-9, 9] by threes, their neighbours, all answers and values on either side.

    A round whose value has the noise of a comparison's share (shares 1 : 1 : 2 claimed, 1 : 1 : 4 drawn) is refuted.
    """
    near = [(s, s + d) for s in range(-9, 10, 3) for d in (-1, 0, 1)]
    right = scales_of(made("2", shares=(1, 1, 2)))
    most = {}
    for scales in (right, replace(right, value=right.value / 4)):
        most[scales.value] = max(
            abs(math.log(thresholdout(scales, here, marks, shown) / thresholdout(scales, there, marks, shown)))
            for asked in product(near, repeat=2)
            for here, there in [tuple(zip(*asked, strict=True))]
            for marks in ((0, 0), (0, 1))
            for shown in (-12, 12)
        )
    assert most[right.value] <= 2 + 1e-9
    assert most[right.value / 4] > 2 * 1.1


def test_every_small_question_and_every_answer() -> None:
    """All 15^3 sequences of answers within 2 of the threshold, beside all their neighbours."""
    near = [(f, f + d) for f in range(-2, 3) for d in (-1, 0, 1)]
    assert worst(scales_of(made("1", shares=(1, 2, 0))), 3, near) <= 1 + 1e-9


def test_epsilon_is_reached_but_for_little() -> None:
    """Two far above and answered below, one far below and answered above: no less noise would do."""
    mechanism = made("2", shares=(1, 4, 0))
    assert worst(scales_of(mechanism), 3, EITHER) > 0.95 * 2
    together = made("2", shares=(1, 3, 0), direction="together")
    assert worst(scales_of(together), 3, TOGETHER) > 0.95 * 2


def noise(mechanism: SparseVector, factor: float) -> Scales:
    right = scales_of(mechanism)
    return replace(right, threshold=right.threshold * factor, question=right.question * factor)


def test_too_little_noise_is_refuted_and_too_much_is_seen() -> None:
    mechanism = made("2", shares=(1, 4, 0))
    assert worst(noise(mechanism, 0.9), 3, EITHER) > 2 * 1.05
    assert worst(noise(mechanism, 1.25), 3, EITHER) < 2 * 0.85


MUTANTS: dict[str, tuple[Scales, float, list[Step], int]] = {
    # Lyu, Su and Li 2017, Figure 1: the algorithm of each number, with the epsilon it claims, 1
    "Algorithm 3 shows the number it compared": (Scales(2, 2, 1, 0, "compared"), 1, EITHER, 3),
    "Algorithm 4 has the noise of one positive for two": (Scales(4, 4 / 3, 2), 1, EITHER, 3),
    "Algorithm 5 has no noise on questions": (Scales(2, 0, 9), 1, EITHER, 2),
    "Algorithm 6 does not stop": (Scales(2, 2, 9), 1, EITHER, 3),
    # our own slips
    "questions that move either way with the noise of those that move together": (
        scales_of(made("1", shares=(1, 4, 0), direction="together")),
        1,
        EITHER,
        3,
    ),
    "positives forgotten in the noise": (
        replace(scales_of(made("2", shares=(1, 4, 0))), positives=2),
        2,
        [(9, 10), (-9, -10)],
        5,
    ),
    "values forgotten in epsilon": (
        replace(scales_of(made("1", shares=(1, 2, 0))), value=1.0),
        1,
        EITHER,
        3,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_not_private_is_refuted(name: str) -> None:
    scales, claimed, steps, length = MUTANTS[name]
    values = (12, 12) if scales.shown == "fresh" else (-3, 3)
    assert worst(scales, length, steps, values) > claimed * 1.1


# --- rho --------------------------------------------------------------------------------------------------------------


def divergence(scales: Scales, steps: list[Step], length: int, order: float) -> float:
    """The largest Rényi divergence of ``order`` over all adaptive questioners, from the end by dynamic programming."""

    def moment(here: Floats, there: Floats, left: int, positives: int) -> float:
        if left == 0 or positives == 0:
            p, q = float(here.sum()), float(there.sum())
            return float(p**order * q ** (1 - order))
        best = 0.0
        for f, g in steps:
            above = (here * yes(scales.question, f), there * yes(scales.question, g))
            under = (here * no(scales.question, f), there * no(scales.question, g))
            value = moment(*above, left - 1, positives - 1) + moment(*under, left - 1, positives)
            best = max(best, value)
        return best

    start = threshold(scales.threshold)
    return math.log(moment(start, start, length, scales.positives)) / (order - 1)


NARROW: list[Step] = [(f, f + d) for f in (-4, 0, 4) for d in (0, 1)]


@pytest.mark.parametrize("order", [1.5, 4.0, 16.0])
@pytest.mark.parametrize("shares", [(1, 1, 0), (2, 1, 0)])
def test_rho_of_questions_that_move_together_bounds_every_adaptive_questioner(
    order: float, shares: tuple[int, int, int]
) -> None:
    mechanism = made("2", shares=shares, direction="together")
    loss = mechanism.concentrated.loss
    assert isinstance(loss, ZCDP)
    assert loss.rho < mechanism.epsilon**2 / 2
    for steps in (NARROW, [(g, f) for f, g in NARROW]):
        assert divergence(scales_of(mechanism), steps, 3, order) <= float(loss.rho) * order + 1e-9


def test_rho_is_refuted_for_a_third_of_the_noise_and_twice_the_noise_is_seen() -> None:
    mechanism = made("1", shares=(1, 1, 0), direction="together")
    loss = mechanism.concentrated.loss
    assert isinstance(loss, ZCDP)
    close: list[Step] = [(f, f + d) for f in (-3, 0, 3) for d in (0, 1)]
    assert divergence(noise(mechanism, 1 / 3), close, 3, 4.0) > float(loss.rho) * 4
    assert divergence(noise(mechanism, 2), close, 3, 4.0) < divergence(scales_of(mechanism), close, 3, 4.0) / 2


def test_range_of_losses_when_questions_move_together() -> None:
    """The loss of every transcript lies in [-(e2), e1 + e2], whose length is what rho rests on."""
    mechanism = made("2", shares=(1, 1, 0), direction="together")
    scales, found = scales_of(mechanism), []
    for answers in patterns(3, 1):
        for asked in product(TOGETHER, repeat=3):
            here, there = (transcript(scales, tuple(side), answers) for side in zip(*asked, strict=True))
            if min(here, there) > 1e-250:
                found.append(math.log(here / there))
    assert min(found) >= -1 - 1e-9
    assert max(found) <= 2 + 1e-9
    assert max(found) > 1.3


# --- the program ------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_program_draws_this_law_exactly() -> None:
    """Over all draws of the shipped code, by certified bounds: one question, and its neighbours, at the claim."""
    mechanism = made("3", shares=(1, 2, 0))
    tables = [(f,) for f in (-1, 0, 1)]
    line = verify("sparse vector", mechanism.sample, tables, [(0, 1), (1, 2)], PureDP(Fraction(3)))
    assert line.verdict == "holds"
    tight = verify("sparse vector", mechanism.sample, tables, [(0, 1), (1, 2)], PureDP(Fraction(1, 2)))
    assert tight.verdict == "refuted"


def law(mechanism: SparseVector, asked: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Of ``sample`` without values: stopped questions are -1."""
    found = {}
    for length in range(1, len(asked) + 1):
        for answers in product((0, 1), repeat=length):
            over = sum(answers) == mechanism.positives and answers[-1] == 1
            if sum(answers[:-1]) < mechanism.positives and (over or length == len(asked)):
                rest = (-1,) * (len(asked) - length)
                found[(*answers, *rest)] = transcript(scales_of(mechanism), asked[:length], answers)
    return found


DRAWS = 10_000


def p_value(mechanism: SparseVector, stated: dict[tuple[int, ...], float], asked: tuple[int, ...]) -> float:
    stream = Replayed("sparse vector law")
    found = Counter(mechanism.sample(asked, stream) for _ in range(DRAWS))
    assert set(found) <= set(stated)
    observed = [found[outcome] for outcome in stated]
    expected = [chance * DRAWS for chance in stated.values()]
    return float(scipy.stats.chisquare(observed, [e * DRAWS / sum(expected) for e in expected]).pvalue)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("positives", [1, 2])
def test_it_draws_its_law_and_half_more_or_less_noise_is_seen(positives: int) -> None:
    mechanism, asked = made("2", positives=positives, shares=(1, 3, 0)), (-2, 3, 1, -1)
    stated = law(mechanism, asked)
    assert sum(stated.values()) == pytest.approx(1, abs=1e-12)
    assert p_value(mechanism, stated, asked) > 1e-4
    for factor in (Fraction(2, 3), Fraction(3, 2)):
        assert p_value(replace(mechanism, epsilon=mechanism.epsilon * factor), stated, asked) < 1e-4


@pytest.mark.wide
def test_values_are_geometric_around_the_answer_of_their_own_noise() -> None:
    """A value tells nothing of how the comparison came out: its law given "above" is that of fresh noise."""
    mechanism, stream = made("4", shares=(1, 1, 2)), Replayed("values")
    shown = [out[1] for _ in range(DRAWS) if (out := mechanism.sample((0,), stream))[0] == 1]
    support = np.arange(-4.0, 5.0)
    chance = mass(float(mechanism.value_scale), support)
    counts = [sum(value == k for value in shown) for k in support]
    expected = np.append(chance, 1 - chance.sum()) * len(shown)
    assert scipy.stats.chisquare([*counts, len(shown) - sum(counts)], expected).pvalue > 1e-4
    for wrong in (0.8, 1.25):
        bent = mass(float(mechanism.value_scale) * wrong, support)
        expected = np.append(bent, 1 - bent.sum()) * len(shown)
        assert scipy.stats.chisquare([*counts, len(shown) - sum(counts)], expected).pvalue < 1e-4


@pytest.mark.wide
def test_the_conformance_kit_accepts_it() -> None:
    """All lines at 4,000 draws a side, each failing a right mechanism with probability 1e-6 at most."""
    mechanism, here, there = made("1", shares=(1, 3, 0)), (-1, -1, 3), (0, 0, 2)
    case = Case("sparse vector", mechanism, here, there, lambda x, out: law(mechanism, x)[out])
    report = check([case], effort=Effort(draws=4000))
    assert report.passed, str(report)


def test_stored_parameters_prove_the_loss_again() -> None:
    for mechanism in RIGHT:
        assert axiom_again(mechanism.guarantee) == mechanism.guarantee
        if mechanism.direction == "together":
            assert axiom_again(mechanism.concentrated) == mechanism.concentrated
        assert rederive(mechanism.guarantee, axiom_again) == PureDP(mechanism.epsilon)
    with pytest.raises(PublicParameterError):
        _ = made().concentrated


def test_factors_of_the_proof_hold_for_whole_numbers() -> None:
    """Step (3): P(X >= m) <= e^(j / scale) P(X >= m + j), the inequality that lets two steps cost e2 / c."""
    for scale in (0.7, 2.0, 5.0):
        m = np.arange(-30, 31).astype(float)
        for j in (1, 2):
            ratio = at_least(scale, m) / at_least(scale, m + j)
            assert ratio.max() <= float(exp_up(Fraction(j / scale))) * (1 + 1e-9)


def test_a_conversation_ends_after_its_positives() -> None:
    stream = Replayed("ends")
    talk = made("5", positives=2).start(stream)
    assert not talk.ask(-1000, stream).above
    assert talk.ask(1000, stream) == (True, 0)
    assert talk.left == 1
    assert talk.ask(1000, stream).above
    with pytest.raises(QuestionError, match="over"):
        talk.ask(-1000, stream)


def test_an_interrupted_answer_ends_the_conversation() -> None:
    stream = Replayed("interrupted")
    talk = made("5", positives=3).start(stream)

    class Broken:
        def bits(self, count: int) -> int:
            raise KeyboardInterrupt

        def words(self, count: int) -> NDArray[np.uint64]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk.ask(0, Broken())
    with pytest.raises(QuestionError, match="over"):
        talk.ask(0, stream)


def test_a_conversation_is_not_copied() -> None:
    talk = made().start(Replayed("copy"))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(QuestionError, match="paid for once"):
            copied(talk)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused() -> None:
    stream = Replayed("fork")
    talk = made().start(stream)
    child = os.fork()
    if child == 0:
        try:
            talk.ask(0, stream)
        except QuestionError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not talk.ask(-1000, stream).above


def test_threads_share_its_positives() -> None:
    """Sixteen threads ask what is surely above: exactly three get an answer, whoever comes first."""
    talk, start, told = made("5", positives=3).start(Replayed("threads")), threading.Barrier(16), []

    def ask(number: int) -> None:
        start.wait()
        try:
            told.append(talk.ask(10_000, Replayed(number)).above)
        except QuestionError:
            return

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": Fraction(0)},
        {"positives": 0},
        {"positives": True},
        {"shares": (0, 1, 0)},
        {"shares": (1, 1)},
        {"shares": (1, 1, -1)},
        {"direction": "up"},
        {"sensitivity": Linf(Fraction(1, 2), NEAR)},
    ],
    ids=str,
)
def test_what_is_out_of_range_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(PublicParameterError):
        replace(made(), **change)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PublicParameterError, match="integers"):
        made().sample([0.5], Replayed("float"))  # type: ignore[list-item]  # on purpose


def test_the_split_is_the_best_there_is() -> None:
    """1 : (k c)^(2/3) makes the variance of X - Z least: no split in sixty-fourths beats it by a thousandth."""
    for positives, direction in product((1, 5, 50), ("either", "together")):
        k = 2 if direction == "either" else 1

        def spread(one: float, two: float, steps: int = k * positives) -> float:
            whole = one + two
            return (whole / one) ** 2 + (steps * whole / two) ** 2

        chosen = spread(*split(positives, "either" if direction == "either" else "together"))
        assert chosen <= min(spread(1, two / 16) for two in range(1, 2000)) * 1.001
    assert sparse_vector.SPECIMENS == ()
