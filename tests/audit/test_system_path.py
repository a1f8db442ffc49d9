"""The path of a release: what is wrong on the system's coins only is seen by the kit, and what is right passes.

These lines draw fresh coins. Each fails a right program with probability below 1e-9, and there are fewer than 50: a
false alarm has probability below 5e-8. Mutants are so wrong that missing one has a smaller probability still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.conformance.kit import CaseCheck
from reticent.entropy import Entropy, Forks, Replayed, SystemEntropy
from reticent.exact import alias_tables, categorical, gaussian, laplace
from reticent.mechanisms import exponential, geometric, permute_and_flip, registry
from reticent.mechanisms.geometric import Geometric
from tests.assurance import system_path
from tests.assurance.system_path import LEVEL, gaussian_fit, laplace_fit, tail

pytestmark = pytest.mark.fresh

Lines = Callable[[], Iterator[CaseCheck]]


def failed(lines: Lines) -> set[str]:
    return {line.check for line in lines() if line.verdict == "fail"}


@pytest.mark.wide
@pytest.mark.parametrize("lines", [system_path._coins, system_path._ahead, system_path._arrays, system_path._choices])
def test_coins_values_drawn_ahead_arrays_and_choices_conform(lines: Lines) -> None:
    found = list(lines())
    assert {line.verdict for line in found} <= {"pass", "not applicable"}, found
    assert all(line.error < 1e-9 for line in found)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("part", range(3))
def test_mechanisms_conform_on_the_coins_of_the_system(part: int) -> None:
    """A third of the specimens: their laws on coins that repeat are in ``test_exact`` and ``test_conformance``."""
    listed = system_path.specimens()[part::3]
    assert len(listed) > 8
    assert {line.verdict for line in system_path._mechanisms(listed)} == {"pass"}


@pytest.mark.audit
def test_the_path_of_a_release_conforms() -> None:
    report = system_path.check()
    assert report.passed, str(report)
    assert {line.verdict for line in report.lines} <= {"pass", "not applicable"}
    assert all(line.error < 1e-9 for line in report.lines)
    assert report.false_alarm < 5e-8


def test_a_line_that_passes_says_the_same_every_time() -> None:
    once, again = (list(system_path._coins()) for _ in range(2))
    assert once == again


def test_the_bound_on_a_count_is_above_the_binomial_tail() -> None:
    """P(X <= 2) + P(X >= 8) of ten fair coins is 112 / 1024; and 0 of 40 has probability 2**-40, twice is bounded."""
    assert 112 / 1024 <= tail([(2, 10, 0.5)]) < 1
    assert 2.0**-39 <= tail([(0, 40, 0.5)]) < 2.0**-38
    assert tail([(5, 10, 0.5)]) == tail([(0, 9, 0.0)]) == 1.0
    assert tail([(1, 9, 0.0)]) == 0.0


@pytest.mark.wide
@pytest.mark.parametrize("wrong", [Fraction(4, 5), Fraction(1), Fraction(5, 4)])
def test_noise_that_is_a_fifth_too_small_or_a_quarter_too_large_does_not_fit(wrong: Fraction) -> None:
    """A right law is refused with probability 1e-10; of 20,000 values a wrong one passes with a smaller one."""
    scale = Fraction(3 * (1 << 20) + 1)
    values = laplace.discrete_laplace(scale * wrong, 20_000, Replayed("laplace"))
    assert (laplace_fit(values, scale) >= LEVEL) == (wrong == 1)
    variance = Fraction(100)
    values = gaussian.discrete_gaussian(variance * wrong**2, 20_000, Replayed("gaussian"))
    assert (gaussian_fit(values, variance) >= LEVEL) == (wrong == 1)


@pytest.mark.parametrize("bit", [0, 7, 12, 20])
def test_one_low_bit_that_is_stuck_does_not_fit(bit: int) -> None:
    scale = Fraction(3 * (1 << 20) + 1)
    values = laplace.discrete_laplace(scale, 20_000, Replayed("bit"))
    assert laplace_fit(values & ~np.int64(1 << bit), scale) < LEVEL


# --- coins -----------------------------------------------------------------------------------------------------------

honest_words, honest_bits = SystemEntropy.words, SystemEntropy.bits


def biased(self: SystemEntropy, count: int) -> NDArray[np.uint64]:
    """The leading bit is 1 more than half of the time: 9/16."""
    words = honest_words(self, count)
    seldom = honest_words(self, count) >> np.uint64(61) == np.uint64(0)
    return np.asarray(words | seldom.astype(np.uint64) << np.uint64(63), np.uint64)


def repeating(self: SystemEntropy, count: int) -> NDArray[np.uint64]:
    """The last word of each request is its first."""
    words = honest_words(self, count).copy()
    words[-1] = words[0]
    return words


def of_32_bits(self: SystemEntropy, count: int) -> NDArray[np.uint64]:
    words = honest_words(self, count) & np.uint64(2**32 - 1)
    return words | words << np.uint64(32)


def in_pairs(self: SystemEntropy, count: int) -> NDArray[np.uint64]:
    """Each second word has the upper half of the one before."""
    words = honest_words(self, count).copy()
    words[1::2] = words[: len(words) // 2 * 2 : 2] & ~np.uint64(2**32 - 1) | words[1::2] & np.uint64(2**32 - 1)
    return words


@pytest.mark.parametrize("words", [biased, repeating, of_32_bits, in_pairs])
def test_words_that_are_biased_repeated_or_dependent(words: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemEntropy, "words", words)
    assert failed(system_path._coins)


def test_numbers_without_their_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemEntropy, "bits", lambda self, count: honest_bits(self, count) & ~1)
    assert failed(system_path._coins) == {"bits of numbers are even"}


def test_a_pool_that_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent import entropy

    def read(size: int) -> bytes:
        found = honest(size)
        if size < entropy.POOL // 4 and entropy._pool.stream.tell() >= size:
            entropy._pool.stream.seek(-8, 1)  # one word back
        return found

    honest = entropy._read
    monkeypatch.setattr(entropy, "_read", read)
    monkeypatch.setattr(entropy._pool, "owner", None)
    assert "no word twice" in failed(system_path._coins)


# --- values drawn ahead ----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_values_drawn_ahead_of_a_scale_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four fifths of the noise, and only where values are drawn ahead: nothing that replays would see it."""
    honest = laplace.discrete_laplace

    def less(scale: Any, size: int, entropy: Entropy, **shape: Any) -> NDArray[np.int64]:
        return honest(scale * Fraction(4, 5) if type(entropy) is SystemEntropy else scale, size, entropy, **shape)

    monkeypatch.setattr(laplace, "discrete_laplace", less)
    monkeypatch.setattr(laplace, "_ahead", alias_tables.BlockBuffer())
    found = failed(system_path._ahead)
    assert {f"draws its law, Laplace of scale {scale}" for scale in system_path.SCALES} <= found


@pytest.mark.wide
def test_a_block_that_is_given_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = alias_tables.BlockBuffer.keep

    def twice(self: alias_tables.BlockBuffer, parameter: Any, block: list[int]) -> int:
        return honest(self, parameter, block + block)

    monkeypatch.setattr(alias_tables.BlockBuffer, "keep", twice)
    monkeypatch.setattr(laplace, "_ahead", alias_tables.BlockBuffer())
    monkeypatch.setattr(gaussian, "_ahead", alias_tables.BlockBuffer())
    assert {"no Laplace twice", "no Gaussian twice"} <= failed(system_path._ahead)


def test_parameters_that_share_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "ratio", lambda scale: (scale.numerator % 7, 1))
    monkeypatch.setattr(alias_tables, "ratio", lambda scale: (scale.numerator % 7, 1))
    monkeypatch.setattr(laplace, "_ahead", alias_tables.BlockBuffer())
    assert system_path._parameters("shared").verdict == "fail"


def test_a_fork_that_nobody_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process id is taken once, and the hook counts nothing."""
    from reticent import entropy

    for module in (entropy, laplace, gaussian, alias_tables):
        monkeypatch.setattr(module, "getpid", lambda: 1)
    assert system_path._forked("fork").verdict == "pass"  # the hook alone is enough
    monkeypatch.setattr(Forks, "note", classmethod(lambda cls: None))

    class Still:
        count = 0

    for module in (entropy, laplace, gaussian, alias_tables):
        monkeypatch.setattr(module, "Forks", Still)
    assert system_path._forked("fork").verdict == "fail"


# --- mechanisms ------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_mechanism_that_asks_which_coins_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Geometric.sample

    def less(self: Geometric, exact: Any, entropy: Entropy) -> tuple[int, ...]:
        if type(entropy) is not SystemEntropy:
            return honest(self, exact, entropy)
        return honest(Geometric(self.sensitivity, self.epsilon * Fraction(5, 4)), exact, entropy)

    monkeypatch.setattr(Geometric, "sample", less)
    monkeypatch.setattr(registry, "ALL", (geometric,))
    assert len([check for check in failed(system_path._mechanisms) if "geometric" in check]) == 2


@pytest.mark.wide
def test_wide_noise_in_arrays_that_is_a_fifth_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Geometric.sample

    def less(self: Geometric, exact: Any, entropy: Entropy) -> tuple[int, ...]:
        noisy = honest(self, exact, entropy)
        if self.scale <= 1 << 20:
            return noisy
        return tuple(x + (y - x) * 4 // 5 for x, y in zip(exact, noisy, strict=True))

    monkeypatch.setattr(Geometric, "sample", less)
    lines = list(system_path._arrays())
    assert {line.verdict for line in lines} == {"fail"}


@pytest.mark.wide
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("categorical_scores", Fraction(4, 5)),
        pytest.param("categorical_scores", Fraction(2), marks=pytest.mark.audit),
        pytest.param("permute_and_flip", Fraction(4, 5), marks=pytest.mark.audit),
        ("permute_and_flip", Fraction(2)),
    ],
)
def test_a_choice_among_more_than_64_at_another_rate(
    name: str, factor: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest: Any = getattr(categorical, name)

    def wrong(scores: Any, *others: Any) -> int:
        *middle, rate, entropy = others
        found: int = honest(scores, *middle, rate * factor if len(scores) > 64 else rate, entropy)
        return found

    monkeypatch.setattr(exponential if name == "categorical_scores" else permute_and_flip, name, wrong)
    verb = "exponential" if name == "categorical_scores" else "permute-and-flip"
    assert len(failed(partial(system_path._choices, [verb]))) == 2
