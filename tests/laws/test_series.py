"""Orthogonal series: the sensitivity is the greatest change over all neighbours, exactly, and so is the loss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric, mass
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.synthesis import linear_queries as summed
from reticent.synthesis import series
from reticent.synthesis.axis import Axis
from reticent.synthesis.linear_queries import UNIT, DensityTerms, LinearSums, longest, widest
from reticent.synthesis.series import Series, grid

ONE = Fraction(1)
TINY = Fraction(1, 10**6)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")
LINE = grid([("x", Fraction(0), ONE, False)], cells=4)
PLANE = grid([("x", Fraction(0), ONE, False), ("k", Fraction(0), Fraction(2), True)], cells=3)
FIXED = DensityTerms(SUB, 3, fixed=True)
TERMS = [FIXED, DensityTerms(SUB), DensityTerms(SUB, 3), DensityTerms(ADD), DensityTerms(ADD, 3)]
TERMS += [DensityTerms(Adjacency("substitute", 2), rows=2), DensityTerms(Adjacency("add_remove", 2), rows=2)]
Integers = NDArray[np.int64]


def holdings(cells: int, rows: int) -> list[Integers]:
    """All a person can hold: up to ``rows`` records, as counts of cells."""
    found = []
    for held in range(rows + 1):
        for chosen in itertools.combinations_with_replacement(range(cells), held):
            found.append(np.bincount(np.array(chosen, np.int64), minlength=cells))
    return found


def neighbours(cells: int, terms: DensityTerms) -> Iterator[tuple[Integers, Integers]]:
    """Counts of cells of all pairs of neighbours: what the others hold, at most one record, and one person's."""
    everyone = holdings(cells, terms.rows)
    if terms.fixed:
        everyone = [one for one in everyone if one.sum() == 1]
    for others in holdings(cells, 1):
        for here in everyone:
            yield from ((others + here, others + there) for there in everyone if terms.neighbours.kind == "substitute")
            if terms.neighbours.kind == "add_remove":
                yield others + here, others
                yield others, others + here


def moved(table: Integers, terms: DensityTerms, power: Literal[1, 2]) -> int:
    """The greatest change of the sums over all neighbours, by enumeration."""
    pairs = neighbours(len(table), terms)
    return max(int((np.abs(here @ table - there @ table) ** power).sum()) for here, there in pairs)


def worst_loss(sums: LinearSums, scale: Fraction) -> Fraction:
    """The greatest log ratio of the output laws over neighbours and outputs, geometric noise of this scale.

    At an output beyond both answers in every coordinate each factor of the ratio is at its greatest, so the logarithm
    is the L1 distance over the scale.
    """
    return moved(sums.table, sums.terms, 1) / scale


@pytest.mark.parametrize("terms", TERMS, ids=repr)
@pytest.mark.parametrize("axes", [LINE, PLANE])
@pytest.mark.parametrize("delta", [Fraction(0), TINY])
def test_the_sensitivity_is_the_greatest_change_over_all_neighbours(
    terms: DensityTerms, axes: tuple[Axis, ...], delta: Fraction
) -> None:
    sums = Series(axes, terms, ONE, 2, delta).plan.sums
    assert sums.moved == moved(sums.table, terms, 2 if delta else 1)


@pytest.mark.parametrize("terms", TERMS, ids=repr)
def test_the_loss_is_epsilon_for_the_worst_neighbours_and_no_less(terms: DensityTerms) -> None:
    sums = Series(LINE, terms, ONE, 3).plan.sums
    assert isinstance(sums.mechanism, Geometric)
    assert sums.guarantee.loss == PureDP(ONE)
    assert worst_loss(sums, sums.mechanism.scale) == ONE
    assert worst_loss(sums, sums.mechanism.scale * Fraction(8, 10)) > ONE
    assert worst_loss(sums, sums.mechanism.scale * Fraction(125, 100)) < Fraction(9, 10)


@pytest.mark.parametrize("terms", TERMS, ids=repr)
def test_the_gaussian_form_spends_its_rho_for_the_worst_neighbours_and_no_less(terms: DensityTerms) -> None:
    sums = Series(LINE, terms, ONE, 3, TINY).plan.sums
    mechanism = sums.mechanism
    assert isinstance(mechanism, Gaussian)
    assert moved(sums.table, terms, 2) / (2 * mechanism.variance) == mechanism.rho
    loss = sums.guarantee.loss
    assert not isinstance(loss, PureDP)
    assert Fraction(99, 100) < loss.epsilon <= ONE  # type: ignore[union-attr]


def worst_ratio(sums: LinearSums, scale: float) -> float:
    """The greatest ratio of the output probabilities of two neighbours, over all outputs near the answers."""
    reach, worst = 3 * int(np.abs(sums.table).max()) + 2, 0.0
    for here, there in neighbours(len(sums.table), sums.terms):
        laws = []
        for counts in (here, there):
            sides = [[mass(scale, int(at), y) for y in range(-reach, reach + 1)] for at in counts @ sums.table]
            laws.append(np.multiply.outer(*(np.array(side) for side in sides)))
        worst = max(worst, float((laws[0] / laws[1]).max()))
    return worst


@pytest.mark.parametrize("terms", TERMS, ids=repr)
def test_no_output_is_more_than_e_epsilon_times_as_likely_for_a_neighbour(terms: DensityTerms) -> None:
    sums = LinearSums(np.array([[3, 0], [1, -2], [0, 1]]), terms, ONE)
    assert isinstance(sums.mechanism, Geometric)
    scale = float(sums.mechanism.scale)
    assert worst_ratio(sums, scale) == pytest.approx(math.e)
    assert worst_ratio(sums, 0.8 * scale) > 1.2 * math.e
    assert worst_ratio(sums, 1.25 * scale) < 0.85 * math.e


def test_a_mutant_that_forgets_what_an_adjacency_moves_is_refuted() -> None:
    swapped = Series(LINE, FIXED, ONE, 3).plan.sums
    assert moved(swapped.table, FIXED, 1) > longest(swapped.table, 1)  # add/remove's constant under substitution
    missing = DensityTerms(SUB, 3)
    assert moved(swapped.table, missing, 1) >= widest(swapped.table, 1, origin=False)
    pair = DensityTerms(Adjacency("add_remove", 2), rows=2)
    assert moved(swapped.table, pair, 1) == 2 * longest(swapped.table, 1)


def continuous(degree: int, power: int) -> float:
    """sup over x, x' in [0, 1] of the distance of (psi_1, ..., psi_m), on a grid of its own."""
    points = np.linspace(0.0, 1.0, 1501)
    psi = math.sqrt(2.0) * np.cos(math.pi * np.multiply.outer(points, np.arange(1, degree + 1)))
    found = 0.0
    for row in psi:
        gap = np.abs(psi - row)
        found = max(found, float((gap.sum(axis=1) if power == 1 else (gap**2).sum(axis=1)).max()))
    return found if power == 1 else math.sqrt(found)


@pytest.mark.parametrize(
    ("degree", "first", "second"),
    [(1, 2.83, 2.83), (2, 4.42, 3.21), (3, 6.10, 4.0), (5, 9.52, 4.9), (10, 18.1, 6.4), (20, 35.3, 9.0)],
)
def test_the_sensitivity_of_cosines_is_the_supremum_over_the_line(degree: int, first: float, second: float) -> None:
    axes = grid([("x", Fraction(0), ONE, False)])
    terms = DensityTerms(SUB, 1000, fixed=True)
    l1 = Series(axes, terms, ONE, degree).plan.sums.moved / UNIT
    l2 = math.sqrt(Series(axes, terms, ONE, degree, TINY).plan.sums.moved) / UNIT
    assert l1 == pytest.approx(continuous(degree, 1), rel=2e-3)
    assert l2 == pytest.approx(continuous(degree, 2), rel=2e-3)
    assert l1 == pytest.approx(first, rel=5e-3)
    assert l2 == pytest.approx(second, rel=1.5e-2)


@pytest.mark.parametrize(("degree", "spent"), [(1, 2.83), (2, 2.21), (5, 1.90), (10, 1.81), (20, 1.77)])
def test_the_noise_002_prints_spends_more_than_epsilon(degree: int, spent: float) -> None:
    """E12: standard deviation m c0 / (n eps), so scale m / (n eps) with c0 = sqrt 2, for the cosine basis."""
    sums = Series(grid([("x", Fraction(0), ONE, False)]), DensityTerms(SUB, 1000, fixed=True), ONE, degree).plan.sums
    printed = Fraction(degree * UNIT)
    assert float(sums.moved / printed) == pytest.approx(spent, rel=5e-3)
    assert sums.moved / printed > ONE


def variance_ratio(draws: NDArray[np.float64], deviation: float) -> float:
    return float(np.mean(draws**2)) / deviation**2


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("delta", [Fraction(0), TINY])
def test_the_noise_that_is_drawn_has_the_stated_size(delta: Fraction) -> None:
    """20,000 draws: the mean square is within 7 % of its expectation but for 1e-4 (Laplace kurtosis 6)."""
    sums = Series(LINE, FIXED, ONE, 2, delta).plan.sums
    counts, entropy = np.array([2, 0, 1, 0]), Replayed("series noise")
    drawn = np.concatenate([sums.draw(counts, entropy) - counts @ sums.table for _ in range(10_000)])
    assert abs(variance_ratio(drawn, sums.deviation) - 1.0) < 0.07
    for factor in (0.8, 1.25):
        assert abs(variance_ratio(factor * drawn, sums.deviation) - 1.0) > 0.07


def test_too_many_pairs_give_a_bound_and_never_less(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Series(PLANE, DensityTerms(SUB), ONE, 2).plan.sums.table
    exactly = [widest(table, power, origin=True) for power in (1, 2)]
    monkeypatch.setattr(summed, "PAIRS", 1)
    for power, found in zip((1, 2), exactly, strict=True):
        assert found <= widest(table, power, origin=True) <= 2**power * longest(table, power)  # type: ignore[arg-type]


@pytest.mark.parametrize("power", [1, 2])
def test_the_search_for_the_farthest_pair_finds_it(power: Literal[1, 2]) -> None:
    """400 tables of all kinds: dense, of few values, with many zeros, with equal rows, far from zero."""
    generator = np.random.default_rng(11)
    early = 0
    for turn in range(400):
        rows, columns = generator.integers(1, 40), generator.integers(1, 7)
        table = generator.integers(-(10 ** (turn % 5)), 10 ** (turn % 7) + 1, (rows, columns))
        if turn % 3 == 0:
            table = np.where(generator.random(table.shape) < 0.7, 0, np.abs(table))
        if turn % 4 == 0:
            table = np.vstack([table, table]) + 1000
        for origin in (False, True):
            every = np.vstack([table, np.zeros_like(table[:1])]) if origin else table
            gaps = np.abs(every[:, None, :] - every[None, :, :]) ** power
            true = int(gaps.sum(axis=2).max())
            assert widest(table, power, origin=origin) == true
            low = every.min(axis=0)
            sizes = summed._sizes(every - low, -low, power)
            assert np.all(gaps.sum(axis=2) <= sizes[:, None] + sizes[None, :])
            early += int(np.sort(sizes)[-2:].sum()) == true and len(every) > 1
    assert early > 20  # tables in which the two greatest sizes prove the first pair at once


@pytest.mark.parametrize("power", [1, 2])
def test_distances_are_exact_where_entries_are_large(power: Literal[1, 2]) -> None:
    table = np.array([[1 << 24, 5], [(1 << 24) - 1, 9], [(1 << 24) - 3, 5]])
    assert widest(table, power, origin=False) == (6 if power == 1 else 20)
    with pytest.raises(PublicParameterError):
        widest(np.array([[1 << 26] * 9, [0] * 9]) << (26 * (2 - power)), power, origin=False)
    with pytest.raises(PublicParameterError, match="too large"):
        longest(np.array([[1 << (62 // power)] * 2]), power)


def test_frequencies_are_a_ball_and_orthonormal_on_the_grid() -> None:
    axes = grid([("x", Fraction(0), ONE, False), ("y", Fraction(-1), ONE, False)], cells=12)
    indices = series.frequencies(axes, 3)
    assert len(indices) == 10
    assert (np.linalg.norm(indices, axis=1) <= 3).all()
    psi = series.waves(axes, indices)
    assert psi.T @ psi / len(psi) == pytest.approx(np.eye(10), abs=1e-12)


def test_a_degree_follows_the_class_and_the_noise() -> None:
    free = [series.degree_for(2, 1, n, Fraction(10**6)) for n in (10**3, 10**4, 10**5)]
    assert free == sorted(free)
    assert free[2] > free[0]
    assert series.degree_for(2, 1, 1000, Fraction(1, 100)) < series.degree_for(2, 1, 1000, ONE)
    assert series.degree_for(1, 1, 10**5, ONE, TINY) >= series.degree_for(1, 1, 10**5, Fraction(1, 10), TINY)
    assert series.degree_for(2, 1, 10**4, ONE, columns=3) >= 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Series(LINE, FIXED, ONE, 4),
        lambda: Series(LINE, FIXED, ONE, 0),
        lambda: Series(LINE, FIXED, Fraction(0), 2).guarantee,
        lambda: Series(LINE, FIXED, ONE, 2, Fraction(1)).guarantee,
        lambda: Series(grid([(name, Fraction(0), ONE, False) for name in "abcd"]), FIXED, ONE, 2),
        lambda: Series(grid([(name, Fraction(0), ONE, False) for name in "abc"]), FIXED, ONE, 15),
        lambda: grid([("x", ONE, ONE, False)]),
        lambda: DensityTerms(SUB, 0),
        lambda: DensityTerms(ADD, 3, fixed=True),
        lambda: DensityTerms(SUB, rows=2),
        lambda: DensityTerms(Adjacency("local")),
        lambda: series.degree_for(0, 1, 10, ONE),
        lambda: LinearSums(np.zeros((3, 2), np.int64), FIXED, ONE),
        lambda: LinearSums(np.full((3, 2), 1 << 30, np.int64), FIXED, ONE),
    ],
)
def test_what_cannot_be_released_is_refused_before_rows_are_read(make: object) -> None:
    with pytest.raises(PublicParameterError):
        make()  # type: ignore[operator]
