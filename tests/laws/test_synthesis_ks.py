"""The release under Kolmogorov-Smirnov distance: its law against enumeration, and against all neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, combinations, combinations_with_replacement, product

import numpy as np
import pytest

from reticent.conformance.lower_bounds import fit
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms import ks
from reticent.mechanisms.ks import KolmogorovSmirnov
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import Linf
from tests.assurance.claims import verify
from tests.assurance.laws import ONE, law_of

Counts = tuple[int, ...]
Points = int | tuple[int, ...]


def made(kind: Kind, epsilon: Fraction, points: Points, rows: int = 1) -> KolmogorovSmirnov:
    return KolmogorovSmirnov(Linf(Fraction(rows), Adjacency(kind, rows)), epsilon, points)


def running(counts: Counts) -> Counts:
    return tuple(accumulate(counts))


def tables(cells: int, sizes: Sequence[int]) -> list[Counts]:
    return [one for one in product(range(max(sizes) + 1), repeat=cells) if sum(one) in sizes]


def apart(one: Counts, other: Counts, kind: Kind, rows: int) -> bool:
    """Whether one person with at most ``rows`` records makes the difference."""
    less, more = (sum(max(s * (a - b), 0) for a, b in zip(one, other, strict=True)) for s in (1, -1))
    return max(less, more) <= rows and (kind == "substitute" or min(less, more) == 0)


def multisets(cells: int, points: int) -> list[Counts]:
    listed = list(combinations_with_replacement(range(cells), points))
    return [tuple(places.count(cell) for cell in range(cells)) for places in listed]


def exact_law(counts: Counts, points: Points, ratio: Fraction) -> dict[Counts, Fraction]:
    """By the definition: all multisets, r to the level, over their sum; every number of points weighs the same."""
    n = sum(counts)
    weights = {}
    for number in (points,) if isinstance(points, int) else points:
        listed = multisets(len(counts), number)
        for one in listed:
            pairs = zip(running(counts), running(one), strict=True)
            gaps = [abs(Fraction(a) - Fraction(n * b, number)) for a, b in pairs]
            weights[one] = ratio ** max(gaps).__ceil__() / len(listed)
    total = sum(weights.values())
    return {one: weight / total for one, weight in weights.items()}


@pytest.mark.parametrize(
    ("kind", "cells", "sizes", "points"),
    [
        ("substitute", 4, (4,), 3),
        ("substitute", 3, (5,), 2),
        ("add_remove", 3, (0, 1, 2, 3, 4), 3),
        ("substitute", 3, (4,), (1, 2, 5)),
        ("add_remove", 2, (0, 1, 2, 3), (2, 3)),
    ],
)
def test_the_law_is_that_of_the_enumeration(kind: Kind, cells: int, sizes: Sequence[int], points: Points) -> None:
    """Every probability, between bounds 2^-200 apart, for every table."""
    mechanism = made(kind, Fraction(3, 4), points)
    ratio = ks.ratio_above(mechanism.rate)
    for counts in tables(cells, sizes):
        law = law_of(lambda entropy, counts=counts: mechanism.sample(running(counts), entropy))  # type: ignore[misc]
        truth = exact_law(counts, points, ratio)
        assert len(law.masses) == len(truth)
        for one, chance in truth.items():
            low, high = law.masses[("tuple", *(("int", cell) for cell in one))]
            assert low <= chance * ONE <= high
            assert high - low < 1 << 56


@pytest.mark.wide
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_no_neighbours_are_farther_apart_than_claimed_and_a_bolder_one_is_refuted(kind: Kind, rows: int) -> None:
    """All neighbours of all tables of three cells; with the score over the whole epsilon the claim is refuted."""
    epsilon = Fraction(1)
    sizes = (4,) if kind == "substitute" else (1, 2, 3, 4)
    listed = tables(3, sizes)
    pairs = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(listed), 2)
        if apart(a, b, kind, rows) and min(sum(a), sum(b)) > 0
    ]
    several: tuple[Points, ...] = (1, 2, (1, 3))
    for points in several:
        mechanism = made(kind, epsilon, points, rows)
        held = verify("ks", lambda c, e, m=mechanism: m.sample(running(c), e), listed, pairs, PureDP(epsilon))  # type: ignore[misc]
        assert held.verdict == "holds"
        bold = replace(mechanism, epsilon=3 * epsilon)
        wrong = verify("bold", lambda c, e, m=bold: m.sample(running(c), e), listed, pairs, PureDP(epsilon))  # type: ignore[misc]
        assert wrong.verdict == "refuted"


def test_nearly_all_of_epsilon_is_spent() -> None:
    """One point, two cells, steep: the odds of the neighbours go against each other."""
    epsilon = Fraction(8)
    listed = tables(2, (5,))
    pairs = [(i, i + 1) for i in range(len(listed) - 1)]
    mechanism = made("substitute", epsilon, 1)
    line = verify("ks", lambda c, e: mechanism.sample(running(c), e), listed, pairs, PureDP(epsilon))
    assert line.verdict == "holds"
    assert line.attained is not None
    assert line.attained > Fraction(9, 10)


@pytest.mark.parametrize(("kind", "sizes"), [("substitute", (5,)), ("add_remove", (8, 10))])
def test_a_person_with_two_records_is_not_hidden_by_the_noise_for_one(kind: Kind, sizes: Sequence[int]) -> None:
    epsilon, listed, points = Fraction(6), tables(2, sizes), 1 if kind == "substitute" else 2
    pairs = [(i, j) for (i, a), (j, b) in combinations(enumerate(listed), 2) if apart(a, b, kind, 2)]
    for rows, verdict in ((2, "holds"), (1, "refuted")):
        mechanism = made(kind, epsilon, points, rows)
        line = verify("two", lambda c, e, m=mechanism: m.sample(running(c), e), listed, pairs, PureDP(epsilon))  # type: ignore[misc]
        assert line.verdict == verdict


# --- the sampler for tables of any size -------------------------------------------------------------------------------


def bands() -> Iterator[ks._Band]:
    yield ks._Band((3, 3, 7, 20), 8)
    yield ks._Band((0, 0, 0, 0, 9), 3)
    yield ks._Band((5,), 4)
    yield ks._Band((0, 0, 0), 2)
    yield ks._Band(tuple(range(0, 300, 10)), 13)


def test_counts_are_those_of_the_enumeration_and_members_are_all_different() -> None:
    for counts, points in (((2, 0, 3, 1), 3), ((0, 4), 5), ((1, 1, 1), 1), ((6,), 2)):
        band = ks._Band(running(counts), points)
        levels = {one: ks.level_of(band.running, one) for one in multisets(len(counts), points)}
        for level in range(sum(counts) + 1):
            within = {one for one, own in levels.items() if own <= level}
            assert band.count(level) == len(within)
            assert {band.member(level, number) for number in range(len(within))} == within


@pytest.mark.parametrize("band", list(bands()), ids=repr)
def test_proposals_lie_above_the_weights_and_sure_places_below(band: ks._Band) -> None:
    for rate in (Fraction(1, 100), Fraction(1, 2), Fraction(9)):
        ratio = ks.ratio_above(rate)
        weights = ks._Weights.of(band, ratio)
        starts = [0, *weights.ends]
        for level in range(weights.last + 1):
            exact = weights.exact(band.count(level), level)
            assert weights.sure[level] <= exact <= weights.ends[level] - starts[level]
        tail = weights.exact(band.all, weights.last + 1) / (1 - ratio)
        assert tail <= weights.ends[-1] - weights.ends[-2]


def test_long_doubles_are_bounded_as_doubles_are() -> None:
    """More than 2^1000 multisets."""
    band = ks._Band(tuple(range(0, 9000, 10)), 400)
    if band.kind is None:
        pytest.skip("no floating-point type of this machine holds the counts")
    found = band.rounded(40)
    for level in (9, 20, 40):
        exact, double = band.count(level), int(found[level])
        assert abs(double - exact) * 2**40 <= exact * int(band.off * 2**40)
    assert band.kind is np.longdouble


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("last", [0, None, 2], ids=["a tail from level 1", "as it is", "a tail from level 3"])
@pytest.mark.parametrize("numbers", [(4,), (1, 4, 6)], ids=["one number of points", "several"])
def test_proposed_levels_have_the_law(
    last: int | None, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-square of 4,000 draws, error 1e-6; the law of a rate a quarter larger, or less, is rejected."""
    if last is not None:
        monkeypatch.setattr(ks, "last_level", lambda band, ratio: last)
    bands, ratio = [ks._Band((3, 4, 9), number) for number in numbers], ks.ratio_above(Fraction(1, 2))
    entropy = Replayed(f"levels {last} {numbers}")

    def law(ratio: Fraction, *, alike: bool = True) -> list[float]:
        ends = []
        for band in bands:
            own = [band.count(i) * (1 - ratio) * ratio**i for i in range(9)] + [band.all * ratio**9]
            ends += [end / (band.all if alike else 1) for end in own]
        return [float(end / sum(ends)) for end in ends]

    drawn = []
    for _ in range(4_000):
        band, level = ks._proposed(bands, ratio, entropy)
        drawn.append(10 * numbers.index(band.points) + level)
    assert fit(drawn, law(ratio).__getitem__) > 1e-6
    for wrong in (Fraction(5, 8), Fraction(3, 8)):
        assert fit(drawn, law(ks.ratio_above(wrong)).__getitem__) < 1e-6
    if len(numbers) > 1:  # were every multiset to weigh the same, the largest number would have nearly all
        assert fit(drawn, law(ratio, alike=False).__getitem__) < 1e-6


@pytest.mark.wide
def test_large_tables_are_drawn_close_and_of_the_right_size() -> None:
    """n = 10^4, k = 100, G = 256: levels beyond the bars have probability below 1e-6 (docs/proofs/synthesis.md)."""
    counts = np.bincount((np.arange(10_000) ** 2) % 256, minlength=256)
    exact = tuple(np.cumsum(counts).tolist())
    for epsilon, bar in ((Fraction(8), 130), (Fraction(1), 500)):
        drawn = made("substitute", epsilon, 100).sample(exact, Replayed(f"large {epsilon}"))
        assert sum(drawn) == 100
        assert ks.level_of(exact, drawn) <= bar
    assert ks.level_of(exact, made("substitute", Fraction(1, 10**6), 100).sample(exact, Replayed("none"))) > 130


def test_ratios_are_never_below_what_epsilon_allows() -> None:
    from reticent.exact.rounding import exp_bounds

    for rate in (Fraction(1, 10**30), Fraction(1, 3), Fraction(1), Fraction(63), Fraction(10**9)):
        ratio = ks.ratio_above(rate)
        assert exp_bounds(-min(rate, Fraction(ks.STEEP)), 400)[0] <= ratio < 1
        assert (1 - ratio) * 3 > min(rate, Fraction(1))


def test_ranges_are_refused() -> None:
    wrong_points: list[object] = [0, -1, True, 1.5, (), (2, 0), (2, 2), (3, 2), (1, True)]
    for points in wrong_points:
        with pytest.raises(PublicParameterError):
            made("substitute", Fraction(1), points)  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        KolmogorovSmirnov(Linf(Fraction(1, 2), Adjacency("substitute")), Fraction(1), 3)
    mechanism = made("substitute", Fraction(1), 2)
    wrongs: list[tuple[object, ...]] = [(), (-1, 3), (3, 2), (1.0, 2.0)]
    for wrong in wrongs:
        with pytest.raises(PublicParameterError):
            mechanism.sample(wrong, Replayed("x"))  # type: ignore[arg-type]
