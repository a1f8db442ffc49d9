"""The mechanisms of the local model, exactly: their laws add up to 1, their worst ratio is the one stated, and drawing
many at once has the same law as drawing one.

Laws are compared as Fractions. Drawn ones: chi-square at 1e-6 per test on replayed streams, fewer than 60 tests, so a
change that is right trips one with probability below 1e-4; mutants with 1.3 times the loss, and 1/1.3, are rejected at
the same level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, exp_up
from reticent.mechanisms import local_coins, one_sided
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.registry import axiom_again
from reticent.mechanisms.shuffled_answers import ShuffledAnswers
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.privacy.loss import ApproxDP, PureDP

Finite = KAry | Unary | Subset | Hadamard | Hashing | LocalMean
ONE = Fraction(1)
MADE: dict[str, Callable[[Fraction], Finite]] = {
    "kary": lambda epsilon: KAry(5, epsilon),
    "unary": lambda epsilon: Unary(4, epsilon, "symmetric"),
    "optimised unary": lambda epsilon: Unary(4, epsilon, "optimised"),
    "subset": lambda epsilon: Subset(5, 2, epsilon),
    "subset of one": lambda epsilon: Subset(4, 1, epsilon),
    "hadamard": lambda epsilon: Hadamard(5, epsilon),
    "hashing by 2": lambda epsilon: Hashing(5, 2, epsilon),
    "hashing by 3": lambda epsilon: Hashing(9, 3, epsilon),
    "hashing by 7": lambda epsilon: Hashing(5, 7, epsilon),
    "two points": lambda epsilon: LocalMean(1, 1, epsilon),
    "window": lambda epsilon: LocalMean(5, 3, epsilon),
}
LEVEL = 1e-6


def truths(made: Finite) -> range:
    return range(made.cells + 1 if isinstance(made, LocalMean) else made.size)


def messages(made: Finite) -> range:
    match made:
        case KAry():
            return range(made.size)
        case Unary() | Subset():
            return range(1 << made.size)
        case Hadamard():
            return range(made.order)
        case Hashing():
            return range(made.functions * made.values)
        case LocalMean():
            return range(made.places)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(7)], ids=str)
@pytest.mark.parametrize("name", MADE)
def test_the_worst_ratio_over_all_truths_and_messages_is_the_ratio_stated(name: str, epsilon: Fraction) -> None:
    made = MADE[name](epsilon)
    law = {truth: [made.mass(truth, heard) for heard in messages(made)] for truth in truths(made)}
    assert all(sum(masses) == 1 for masses in law.values())
    worst = max(
        a / b for one, other in product(law.values(), repeat=2) for a, b in zip(one, other, strict=True) if a or b
    )
    assert worst == made.ratio
    assert made.ratio <= exp_down(epsilon)
    assert made.ratio > exp_up(epsilon) * (1 - Fraction(1, 10**9))
    loss = made.guarantee.loss
    assert isinstance(loss, PureDP)
    assert made.ratio <= exp_up(loss.epsilon)
    assert loss.epsilon <= epsilon
    assert axiom_again(made.guarantee) == made.guarantee


@pytest.mark.parametrize("name", [name for name in MADE if "window" not in name and "points" not in name])
def test_hit_and_miss_are_the_chances_of_support(name: str) -> None:
    made = MADE[name](ONE)
    assert not isinstance(made, LocalMean)
    for truth, answer in product(truths(made), repeat=2):
        chance = sum(made.mass(truth, heard) for heard in messages(made) if supported(made, answer, heard))
        assert chance == (made.hit if truth == answer else made.miss)


def supported(made: Finite, answer: int, heard: int) -> bool:
    match made:
        case KAry():
            return heard == answer
        case Unary() | Subset():
            return bool(heard >> answer & 1)
        case Hadamard():
            return bin((answer + 1) & heard).count("1") % 2 == 0
        case Hashing():
            return made.hash(heard // made.values, answer) == heard % made.values
        case LocalMean():
            raise AssertionError


@pytest.mark.parametrize(("cells", "width"), [(1, 1), (5, 3), (4, 9), (12, 1)])
def test_a_number_is_unbiased_without_remainder(cells: int, width: int) -> None:
    made = LocalMean(cells, width, Fraction(3, 2))
    for truth in [*map(Fraction, range(cells + 1)), Fraction(1, 3), cells - Fraction(1, 7)]:
        assert sum(made.mass(truth, place) * made.value(place) for place in range(made.places)) == truth


def test_two_points_are_those_of_duchi_jordan_and_wainwright() -> None:
    """Section 3.2: on [-1, 1] the values are (e^eps + 1)/(e^eps - 1) and its negative; here [-1, 1] is [0, 1]."""
    made = LocalMean(1, 1, ONE)
    size = (made.ratio + 1) / (made.ratio - 1)
    assert [2 * made.value(place) - 1 for place in (0, 1)] == [-size, size]


@pytest.mark.wide
def test_the_window_tends_to_the_piecewise_mechanism() -> None:
    """Wang and others 2019, Lemma 1: the variance at the end of [-1, 1] is 4 e^{eps/2} / (3 (e^{eps/2} - 1)^2)."""
    epsilon, cells = 2.0, 4000
    made = LocalMean(cells, round(cells * math.exp(-epsilon / 2)), Fraction(2))
    values = np.array([float(made.value(place)) for place in range(made.places)])
    masses = np.array([float(made.mass(cells, place)) for place in range(made.places)])
    variance = 4 * (masses @ values**2 - cells**2) / cells**2
    root = math.exp(epsilon / 2)
    assert variance == pytest.approx(4 * root / (3 * (root - 1) ** 2), rel=1e-3)


def test_the_one_sided_form_has_its_true_guarantee_and_no_epsilon() -> None:
    made = OneSided(Fraction(1, 3))
    assert made.guarantee.loss == ApproxDP(Fraction(0), Fraction(1, 3))
    assert axiom_again(made.guarantee) == made.guarantee
    yes, no = made.distribution("yes"), made.distribution("no")
    for epsilon in (0, 1, 20):
        excess = sum(max(Fraction(0), no[heard] - Fraction(3) ** epsilon * yes[heard]) for heard in ("yes", "no"))
        assert excess == Fraction(1, 3)
    with pytest.raises(PublicParameterError, match="protects nobody"):
        RandomizedResponse(Fraction(1, 3), ONE)
    heard = Counter(one_sided.ONE.mechanism.sample("no", Replayed("one-sided")) for _ in range(2))
    assert set(heard) <= {"yes", "no"}


def test_the_one_sided_form_draws_its_law() -> None:
    stream = Replayed("one-sided law")
    heard = sum(OneSided(Fraction(1, 3)).sample("no", stream) == "no" for _ in range(6000))
    assert scipy.stats.binomtest(heard, 6000, 1 / 3).pvalue > LEVEL
    for wrong in (1 / 3 * 1.3, 1 / 3 / 1.3):
        assert scipy.stats.binomtest(heard, 6000, wrong).pvalue < LEVEL
    assert all(OneSided(Fraction(1, 3)).sample("yes", stream) == "yes" for _ in range(50))


def heard_by_many(made: Finite, truth: int, size: int, key: str) -> Counter[int]:
    drawn = made.sample_many(np.full(size, truth, np.int64), Replayed(key))
    if drawn.ndim == 2:
        drawn = drawn.astype(np.int64) @ (1 << np.arange(drawn.shape[1], dtype=np.int64))
    return Counter(drawn.tolist())


def p_value(found: Counter[int], made: Finite, truth: int) -> float:
    chances = {heard: float(made.mass(truth, heard)) for heard in messages(made)}
    assert all(chances[heard] > 0 for heard in found)
    size = sum(found.values())
    kept = [heard for heard, chance in chances.items() if chance > 0]
    expected = [chances[heard] * size for heard in kept]
    return float(scipy.stats.chisquare([found[heard] for heard in kept], expected, sum_check=False).pvalue)


@pytest.mark.parametrize("name", MADE)
def test_many_at_once_have_the_law_of_one(name: str) -> None:
    made = MADE[name](ONE)
    truth = truths(made)[-2]
    found = heard_by_many(made, truth, 60_000, name)
    assert p_value(found, made, truth) > LEVEL
    for factor in (Fraction(13, 10), Fraction(10, 13)):
        assert p_value(heard_by_many(MADE[name](factor), truth, 60_000, name), made, truth) < LEVEL


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("name", MADE)
def test_one_at_a_time_has_the_law_too(name: str) -> None:
    made, stream = MADE[name](ONE), Replayed(f"one {name}")
    truth = truths(made)[0]
    assert p_value(Counter(made.sample(truth, stream) for _ in range(4000)), made, truth) > LEVEL


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 256), Fraction(1), Fraction(0), Fraction(999, 1000)])
def test_many_coins_are_exact_in_every_digit(chance: Fraction) -> None:
    tossed = local_coins.coins(chance, 1_000_000, Replayed(f"coins {chance}"))
    if chance in (0, 1):
        assert tossed.all() == (chance == 1)
        assert tossed.any() == (chance == 1)
        return
    assert scipy.stats.binomtest(int(tossed.sum()), 1_000_000, float(chance)).pvalue > LEVEL
    bias = min(0.01, float(chance * (1 - chance)) / 2)
    for biased in (float(chance) - bias, float(chance) + bias):
        assert scipy.stats.binomtest(int(tossed.sum()), 1_000_000, biased).pvalue < LEVEL


class Bytes:
    """An entropy of the bytes given, then zeros."""

    def __init__(self, *given: int) -> None:
        self.given = [*given]

    def bits(self, count: int) -> int:
        raise AssertionError

    def words(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        head, self.given = self.given[: 8 * count], self.given[8 * count :]
        return np.array(head + [0] * (8 * count - len(head)), np.uint8).view(np.uint64)


def test_an_equal_byte_decides_nothing() -> None:
    """1/3 is 0.555... in base 256 (85 = 0x55): below, above, and equal followed by below or above."""
    first = [84, 86, 85, 85, 0, 0, 0, 0]
    second = [84, 86, 0, 0, 0, 0, 0, 0]
    tossed = local_coins.coins(Fraction(1, 3), 4, Bytes(*first, *second))
    assert tossed.tolist() == [True, False, True, False]
    assert local_coins.coins(Fraction(85, 256), 3, Bytes(*first)).tolist() == [True, False, False]


def test_orders_with_a_tie_are_drawn_again() -> None:
    class Tied:
        calls = 0

        def bits(self, count: int) -> int:
            raise AssertionError

        def words(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
            self.calls += 1
            return np.array([5, 5, 1, 7, 2, 9] if self.calls == 1 else [3, 2, 1], np.uint64)[:count]

    entropy = Tied()
    assert local_coins.orders(2, 3, entropy).tolist() == [[2, 1, 0], [1, 0, 2]]
    assert entropy.calls == 2


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1), Fraction(1000), Fraction(1, 10**14)], ids=str)
def test_an_epsilon_out_of_range_is_refused(bad: Fraction) -> None:
    for make in MADE.values():
        with pytest.raises(PublicParameterError):
            make(bad)


def test_sizes_and_truths_out_of_range_are_refused() -> None:
    for wrong in (
        lambda: KAry(1, ONE),
        lambda: KAry(True, ONE),
        lambda: Subset(4, 4, ONE),
        lambda: Subset(4, 0, ONE),
        lambda: Hashing(4, 4, ONE),
        lambda: Unary(2, ONE, "other"),  # type: ignore[arg-type]  # the refusal is tested
        lambda: LocalMean(0, 1, ONE),
        lambda: KAry(3, ONE).sample(3, Replayed("x")),
        lambda: KAry(3, ONE).sample_many(np.array([3]), Replayed("x")),
        lambda: KAry(3, ONE).sample_many(np.array([0.5]), Replayed("x")),
        lambda: LocalMean(3, 1, ONE).sample(Fraction(10, 3), Replayed("x")),
        lambda: LocalMean(3, 1, ONE).sample(0.5, Replayed("x")),  # type: ignore[arg-type]  # the same
    ):
        with pytest.raises(PublicParameterError):
            wrong()


def test_shuffled_answers_show_the_multiset_and_state_less_than_one_answer() -> None:
    made = ShuffledAnswers(KAry(4, ONE), 2000, Fraction(1, 10**6), "the post office")
    loss = made.guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert Fraction(0) < loss.epsilon < Fraction(1, 2)
    shown = made.sample([truth % 4 for truth in range(2000)], Replayed("shuffled"))
    assert list(shown) == sorted(shown)
    assert len(shown) == 2000
    with pytest.raises(PublicParameterError):
        made.sample([0], Replayed("x"))
    with pytest.raises(PublicParameterError):
        ShuffledAnswers(KAry(4, Fraction(9)), 50, Fraction(1, 10**6), "the post office")
