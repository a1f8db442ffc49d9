"""Exact choice: proposals lie above the true weights, sure acceptances below, and the law is the one claimed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.exact import categorical as module
from reticent.exact.categorical import categorical, categorical_scores, permute_and_flip
from tests.support.exact_coins import Tape
from tests.support.exact_laws import exp_minus

SCORES = [4, 5, 6, 7, 2, 2000]
COUNTS = [3, 1, 0, 5, 4, 10**6]
RATE = Fraction(1, 2)


def weights() -> np.ndarray:
    law = np.array([c * float(exp_minus(RATE * s)) for s, c in zip(SCORES, COUNTS, strict=True)])
    return np.asarray(law / law.sum())


def chi_square(counts: np.ndarray, law: np.ndarray) -> float:
    from scipy.stats import chi2

    used = law * counts.sum() > 5
    assert not counts[~used].any()
    expected = law[used] * counts.sum()
    return float(chi2.sf(((counts[used] - expected) ** 2 / expected).sum(), used.sum() - 1))


def counted(draw: object, size: int) -> np.ndarray:
    return np.bincount([draw() for _ in range(size)], minlength=len(SCORES))  # type: ignore[operator]


@pytest.mark.wide
def test_categorical_scores_fits_and_mutants_do_not() -> None:
    """Chi-square, error 1e-6 each way; replayed, so that red means a change."""
    stream = Replayed("scores")
    counts = counted(lambda: categorical_scores(np.array(SCORES), COUNTS, RATE, stream), 4_000)
    assert chi_square(counts, weights()) > 1e-6
    for factor in (Fraction(4, 5), Fraction(5, 4)):
        mutant = counted(lambda r=RATE * factor: categorical_scores(np.array(SCORES), COUNTS, r, stream), 4_000)
        assert chi_square(mutant, weights()) < 1e-6


@pytest.mark.wide
def test_categorical_fits_and_mutants_do_not() -> None:
    stream = Replayed("categorical")
    for factor, fits in ((Fraction(1), True), (Fraction(4, 5), False), (Fraction(5, 4), False)):
        exponents = [RATE * s * factor for s in SCORES]
        counts = counted(lambda x=exponents: categorical(x, COUNTS, stream), 4_000)
        assert (chi_square(counts, weights()) > 1e-6) is fits


def permute_and_flip_law(scores: list[int], rate: float) -> np.ndarray:
    """By all subsets of true coins: the chosen one is uniform among them."""
    chance = np.exp(-rate * (np.array(scores) - min(scores)))
    law = np.zeros(len(scores))
    for subset in range(1, 1 << len(scores)):
        inside = np.array([subset >> i & 1 for i in range(len(scores))], bool)
        law[inside] += np.prod(np.where(inside, chance, 1 - chance)) / inside.sum()
    return law


@pytest.mark.wide
def test_permute_and_flip_fits_and_mutants_do_not() -> None:
    stream = Replayed("flip")
    scores = [3, 1, 2, 1, 9, 400]
    law = permute_and_flip_law(scores, 0.5)
    assert abs(law.sum() - 1) < 1e-12
    for factor, fits in ((Fraction(1), True), (Fraction(4, 5), False), (Fraction(5, 4), False)):
        counts = counted(lambda r=RATE * factor: permute_and_flip(scores, r, stream), 4_000)
        assert (chi_square(counts, law) > 1e-6) is fits


def test_permute_and_flip_is_not_the_exponential_mechanism() -> None:
    law = permute_and_flip_law([3, 1, 2, 1, 9, 400], 0.5)
    exponential = np.exp(-0.5 * np.array([3, 1, 2, 1, 9, 400]))
    assert abs(law - exponential / exponential.sum()).max() > 0.01


@pytest.mark.wide
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**90)), min_size=1, max_size=30),
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**4, max_denominator=10**6),
)
def test_float_weights_enclose_the_true_ones(pairs: list[tuple[int, int]], rate: Fraction) -> None:
    """Whole-number weights are above the truth; lowered by the error, the float is below it."""
    assume(any(c for _, c in pairs))
    scores = np.array([s for s, _ in pairs], np.int64)
    behind = (scores - scores.min()).view(np.uint64)
    powers = module._powers(rate)
    chance = powers.of(behind)
    counts = module._counts([c for _, c in pairs])
    assert isinstance(counts, module._Counts)
    high = chance * counts.floats * (1.0 + 2 * module.ERROR)
    rows = module._WeightRows.of(high)
    for i, (_, count) in enumerate(pairs):
        x = rate * int(behind[i])
        if x > 3000:  # the decimal reference would need its exponent only; the bound is FAINT there
            assert chance[i] == module.FAINT
            continue
        truth = Fraction(exp_minus(x)) * count
        upper = Fraction(int(rows.weights[0, i])) * Fraction(2) ** rows.exponents[0]
        assert (upper > truth) if count else (upper == 0)
        if int(behind[i]) <= powers.last and count:
            assert Fraction(float(high[i] * (1 - 4 * module.ERROR))) < truth
            # and not by much: the part decided slowly is at most 2**-44 of the weight, or of the row's largest
            assert upper < truth * (1 + Fraction(1, 1 << 44)) + Fraction(2) ** (rows.exponents[0] + 1)


@pytest.mark.parametrize("steepness", [0, 1, 20, 300])
def test_the_slow_path_is_as_rare_as_stated(steepness: int) -> None:
    """The part of the proposals not surely accepted, over all candidates: below 2**-44."""
    scores = np.arange(5000, dtype=np.uint64) * np.uint64(steepness) % np.uint64(997)
    powers = module._powers(Fraction(1, 3))
    high = powers.of(scores) * 3.0 * (1.0 + 2 * module.ERROR)
    rows = module._WeightRows.of(high)
    sure = np.floor(np.ldexp(high * (1.0 - 4 * module.ERROR), -np.repeat(rows.exponents, module.ROW)[:5000]))
    gaps = rows.weights.ravel()[:5000] - sure.astype(np.int64)
    units = [Fraction(2) ** exponent for exponent in rows.exponents]
    gap = sum(int(g) * units[i // module.ROW] for i, g in enumerate(gaps.tolist()))
    total = sum(whole * unit for whole, unit in zip(rows.sums, units, strict=True))
    assert 0 < gap / total < Fraction(1, 1 << 44)


def test_places_between_the_bounds_are_decided_in_integers() -> None:
    """count * exp(-x) = 10 exp(-1) = 3.678794...: place 3 is taken with probability .678794..., 2 always, 4 never."""
    word = int((Decimal(10) * exp_minus(Fraction(1)) - 3) * 2**64)
    assert module._below(3, 10, Fraction(1), 0, Tape([word - 1], 64))
    assert not module._below(3, 10, Fraction(1), 0, Tape([word + 1], 64))
    # With the very word of the true digits, the next word decides.
    assert module._below(3, 10, Fraction(1), 0, Tape([word, 0], 64))
    assert not module._below(3, 10, Fraction(1), 0, Tape([word, 2**64 - 1], 64))
    assert module._below(2, 10, Fraction(1), 0, Tape([2**64 - 1], 64))
    assert not module._below(4, 10, Fraction(1), 0, Tape([0], 64))
    # A weight that is a whole number of units is covered to its end and no further.
    assert module._below(9, 10, Fraction(0), 0, Tape([2**64 - 1], 64))
    assert not module._below(10, 10, Fraction(0), 0, Tape([0], 64))
    assert not module._below(5, 11, Fraction(0), 1, Tape([2**63], 64))
    assert module._below(5, 11, Fraction(0), 1, Tape([2**63 - 1], 64))


def test_adding_a_constant_to_all_scores_changes_nothing() -> None:
    scores = np.array(SCORES)
    for shift in (0, 10**18, -(10**18)):
        stream = Replayed("shift")
        assert [categorical_scores(scores + shift, COUNTS, RATE, stream) for _ in range(30)] == [
            categorical_scores(scores, COUNTS, RATE, again) for again in [Replayed("shift")] for _ in range(30)
        ]


def test_extreme_scores_and_multiplicities() -> None:
    stream = Replayed("extreme")
    ends = np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max])
    assert {categorical_scores(ends, [1, 1, 1], Fraction(1), stream) for _ in range(20)} == {0}
    # A multiplicity beyond every float: exp(1400) < 2**2021 < 2**2100
    assert {categorical_scores(np.array([0, 1400]), [1, 1 << 2100], 1, stream) for _ in range(20)} == {1}
    even = [categorical_scores(np.array([0, 0]), [1 << 2100, 1 << 2100], 1, stream) for _ in range(60)]
    assert 10 < sum(even) < 50
    # Impossible candidates neither win nor set the least score.
    assert {categorical_scores(np.array([0, 10**6, 10**6 + 1]), [0, 1, 0], 1, stream) for _ in range(20)} == {1}
    assert {categorical([0, 10**6, 10**6 + 1], [0, 1, 0], stream) for _ in range(5)} == {1}
    for rate in (Fraction(1, 10**12), Fraction(10**12), Fraction(399), Fraction(401)):
        assert categorical_scores(np.arange(5), [1] * 5, rate, stream) < 5
        assert permute_and_flip(list(range(5)), rate, stream) < 5
    assert permute_and_flip([1 << 70, (1 << 70) + 10**9], 1, stream) == 0


@pytest.mark.wide
def test_many_candidates_in_one_law() -> None:
    """Two halves, the further one 1 behind: its share is 1 / (1 + e); 60 draws, six standard deviations."""
    size = 200_000
    scores = np.repeat(np.array([0, 1]), size // 2)
    counts = np.full(size, 7, np.uint64)
    stream = Replayed("many")
    far = sum(categorical_scores(scores, counts, Fraction(1), stream) >= size // 2 for _ in range(60))
    share = 1 / (1 + np.e)
    assert abs(far - 60 * share) < 6 * np.sqrt(60 * share * (1 - share))


INEXACT: Any = 0.5
RATIO: Any = Fraction(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: categorical_scores(np.array([1.0, 2.0]), [1, 1], 1, s),
        lambda s: categorical_scores(np.array([1, 2]), [1, INEXACT], 1, s),
        lambda s: categorical_scores(np.array([1, 2]), np.array([1.0, 1.0]), 1, s),
        lambda s: categorical_scores(np.array([1, 2]), [1, -1], 1, s),
        lambda s: categorical_scores(np.array([1, 2]), np.array([1, -1]), 1, s),
        lambda s: categorical_scores(np.array([1, 2]), [1], 1, s),
        lambda s: categorical_scores(np.array([1, 2]), [0, 0], 1, s),
        lambda s: categorical_scores(np.array([1, 2]), [1, 1], INEXACT, s),
        lambda s: categorical_scores(np.array([1, 2]), [1, 1], 0, s),
        lambda s: categorical([INEXACT, 1], [1, 1], s),
        lambda s: categorical([1, 1], [1, RATIO], s),
        lambda s: categorical([1], [1, 1], s),
        lambda s: categorical([-1], [1], s),
        lambda s: categorical([], [], s),
        lambda s: permute_and_flip([1, INEXACT], 1, s),
        lambda s: permute_and_flip(np.array([1.0]), 1, s),
        lambda s: permute_and_flip([], 1, s),
        lambda s: permute_and_flip([1], INEXACT, s),
    ],
)
def test_floats_and_bad_shapes_are_refused(call: object) -> None:
    with pytest.raises(PublicParameterError):
        call(Replayed(0))  # type: ignore[operator]
