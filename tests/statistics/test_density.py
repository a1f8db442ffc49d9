"""The density test: its distance by shortest paths, its laws on all tiny columns, its level, its power; mutants caught.

The test with draws replays them: 2,000 columns, and binomial bounds of the error rates it states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy

from reticent.data.order_statistics import SortedColumn, fetched, ordered
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.rederivation import rederive
from reticent.statistics.robust import assumed_laws
from reticent.statistics.robust.density_test import DensityTest, density_test, mass_below, signed
from reticent.statistics.robust.reach import reach
from tests.assurance.claims import verify
from tests.support.robust_reference import END, Table, added, paths, replaced, tables, width

SUBSTITUTE, ADD_REMOVE = Adjacency("substitute"), Adjacency("add_remove")
DOMAIN = (-END, 0, 1, 2, 4, 9, END)
ONE, RANKS, WIDTH = Fraction(1), (2, 4), 3


def column(table: Table) -> SortedColumn:
    return SortedColumn(np.array(table, np.int64))


def made(near: Adjacency, *, threshold: int = 2, width: int = WIDTH) -> DensityTest:
    return DensityTest(RANKS, width, near, ONE, threshold)


def uniform(key: str, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return ((Replayed(key).words(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def near_pairs(near: Adjacency) -> list[tuple[Table, Table]]:
    if near.kind == "substitute":
        return [(a, b) for a in tables(DOMAIN, 5) for b in replaced(a, DOMAIN) if a < b]
    return [(a, b) for n in range(6) for a in tables(DOMAIN, n) for b in added(a, DOMAIN)]


def test_the_distance_is_the_fewest_replacements_that_change_the_answer() -> None:
    every = tables(DOMAIN, 5)
    dense = {table: width(table, *RANKS) <= WIDTH for table in every}
    away = {
        goal: paths(every, lambda table: replaced(table, DOMAIN), lambda table, goal=goal: dense[table] is goal)  # type: ignore[misc]
        for goal in (True, False)
    }
    for table in every:
        wanted = away[False][table] if dense[table] else 1 - away[True][table]
        assert signed(reach(column(table), *RANKS, 9), WIDTH) == wanted
    assert {True, False} == set(dense.values())


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("near", [SUBSTITUTE, ADD_REMOVE], ids=["substitute", "add_remove"])
def test_the_distance_moves_by_one_at_most_and_the_law_keeps_its_epsilon_and_no_less(near: Adjacency) -> None:
    test = made(near)
    assert test.guarantee.loss == PureDP(ONE)
    assert rederive(test.guarantee, axiom_again) == PureDP(ONE)
    moved = [(test.distance(column(a)), test.distance(column(b))) for a, b in near_pairs(near)]
    assert {abs(a - b) for a, b in moved} == {0, 1}
    distances = sorted({d for pair in moved for d in pair})
    assert distances[0] < 0 < distances[-1]
    pairs = [(distances.index(a), distances.index(b)) for a, b in moved]
    (sample,) = {test.noise.sample}
    line = verify(
        "density", lambda d, entropy: sample((d,), entropy)[0] >= test.threshold, distances, pairs, PureDP(ONE)
    )
    assert line.verdict == "holds"
    assert line.attained is not None
    assert line.attained > Fraction(9, 10)


def one_sided(test: DensityTest, table: Table) -> int:
    """0 for all columns that are not dense, however near: as PTR would have it, but with 2 for the dense ones."""
    return max(test.distance(column(table)), -1) + (test.distance(column(table)) > 0)


MUTANTS: dict[str, Callable[[DensityTest, Table], int]] = {
    "no step between the sides left": one_sided,
    "counted twice": lambda test, table: 2 * test.distance(column(table)),
    "the width itself": lambda test, table: 9 if width(table, *RANKS) <= test.width else -9,
    "no noise to speak of where it is not dense": lambda test, table: (
        d if (d := test.distance(column(table))) > 0 else -9
    ),
}


@pytest.mark.loop(2)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name: str) -> None:
    test = made(SUBSTITUTE)
    moved = {(MUTANTS[name](test, a), MUTANTS[name](test, b)) for a, b in near_pairs(SUBSTITUTE)}
    distances = sorted({d for pair in moved for d in pair})
    pairs = [(distances.index(a), distances.index(b)) for a, b in moved]
    line = verify(
        name, lambda d, entropy: test.noise.sample((d,), entropy)[0] >= test.threshold, distances, pairs, PureDP(ONE)
    )
    assert line.verdict == "refuted"


@pytest.mark.wide
@pytest.mark.parametrize(("scale", "verdict"), [(Fraction(4, 5), "refuted"), (Fraction(5, 4), "holds")])
def test_noise_at_another_scale(scale: Fraction, verdict: str) -> None:
    """Too little is refuted; too much holds, and reaches no more than its own epsilon of 0.8."""
    noise = DensityTest(RANKS, WIDTH, SUBSTITUTE, ONE / scale, 2).noise
    line = verify("noise", lambda d, entropy: noise.sample((d,), entropy)[0], [0, 1], [(0, 1)], PureDP(ONE))
    assert line.verdict == verdict
    assert line.attained is not None
    assert abs(float(line.attained) - 1 / float(scale)) < 1e-6


@pytest.mark.wide
def test_a_column_that_is_not_dense_is_called_so_with_the_stated_probability() -> None:
    for epsilon in (Fraction(1, 10), ONE):
        test = density_test(1000, SUBSTITUTE, density=Fraction(1, 4 << 20), epsilon=epsilon)
        assert test.alpha <= Fraction(1, 40)
        assert DensityTest(test.ranks, test.width, SUBSTITUTE, epsilon, test.threshold - 1).alpha > Fraction(1, 40)
        ratio = math.exp(-float(epsilon))
        assert float(test.alpha) == pytest.approx(ratio**test.threshold / (1 + ratio))


@pytest.mark.wide
def test_the_width_is_the_beta_quantile_of_a_spacing() -> None:
    """The mass between ranks of a sample of uniforms, by counting points: P(Beta <= t) = P(Binomial(n, t) >= ranks)."""
    for n, ranks, share in ((100, 20, 0.025), (1000, 252, 0.025), (1000, 10, 0.3)):
        t = float(mass_below(n, ranks, share))
        assert float(scipy.stats.binom.sf(ranks - 1, n, t)) == pytest.approx(share, rel=1e-6)


def share_dense(
    n: int, density: float, *, runs: int, change: Callable[[DensityTest], DensityTest] = lambda t: t
) -> int:
    """How often uniform values of width 1 / density, in steps of 2^-20, are called of density above 1."""
    test = change(density_test(n, SUBSTITUTE, density=Fraction(1, 1 << 20), epsilon=ONE))
    coins = Replayed("density")
    found = 0
    for key in range(runs):
        values = np.rint(uniform(f"{density} {key}", n) / density * (1 << 20)).astype(np.int64)
        found += test.sample(ordered(values), coins).dense
    return found


def spacing_as_it_is(test: DensityTest) -> DensityTest:
    """Mutant: the width at which the estimated density is the threshold, without room for the sample."""
    return replace(test, width=(test.ranks[1] - test.ranks[0]) * (1 << 20) // 200)


@pytest.mark.wide
def test_the_level_holds_at_the_border_and_not_without_room_for_the_sample() -> None:
    """Density 1 against a threshold of 1, 2,000 columns: the share of verdicts is at most .05, and some are given.

    Error rates: 1e-6 that a share of .05 is refused or that the mutant's passes by chance, 1e-4 that .001 passes.
    """
    found, runs = share_dense(200, 1.0, runs=2000), 2000
    assert scipy.stats.binom.sf(found - 1, runs, 0.05) > 1e-6
    assert scipy.stats.binom.sf(found - 1, runs, 0.001) < 1e-4
    mutant = share_dense(200, 1.0, runs=400, change=spacing_as_it_is)
    assert scipy.stats.binom.sf(mutant - 1, 400, 0.05) < 1e-6


@pytest.mark.wide
def test_a_density_half_as_high_again_is_found() -> None:
    assert share_dense(1000, 1.5, runs=200) >= 190
    assert share_dense(1000, 0.7, runs=200) <= 2


@pytest.mark.wide
def test_the_power_for_public_shapes_and_a_gap_at_the_median() -> None:
    """Of a normal column the density at the median, .4 a unit, is above .1; two heaps with nothing between are not."""
    near, quarter = SUBSTITUTE, Fraction(1, 10 * 2 * assumed_laws.UNIT)  # units are one to two of UNIT steps
    test = density_test(1000, near, density=quarter, epsilon=ONE)
    assert assumed_laws.reply_probability(test, "normal", 1000, tables=20) > 0.99
    heaps = np.sort(
        np.concatenate([np.arange(500) * 20, np.arange(500) * 20 + 40 * assumed_laws.UNIT]).astype(np.int64)
    )
    assert test.distance(ordered(heaps)) == 1 - test.cap
    assert not test.sample(ordered(heaps), Replayed("heaps")).dense
    assert test.distance(ordered(np.zeros(1000, np.int64))) == test.cap


@pytest.mark.wide
def test_what_is_fetched_beforehand_answers_bit_for_bit() -> None:
    test = density_test(1000, SUBSTITUTE, density=Fraction(1, 1 << 20), epsilon=ONE)
    table = assumed_laws.made_up("normal", 1000, 1).table
    assert test.sample(fetched(table, test.needs), Replayed(3)) == test.sample(table, Replayed(3))
    found = test.sample(table, Replayed(3))
    assert found.dense is (found.changes >= found.threshold)


@pytest.mark.wide
def test_refusals() -> None:
    fine = Fraction(1, 1 << 20)
    for wrong, words in (
        (lambda: density_test(1000, SUBSTITUTE, density=Fraction(0), epsilon=ONE), "density must be > 0"),
        (lambda: density_test(1000, SUBSTITUTE, density=ONE, epsilon=0.5), "Fraction here, got float"),  # type: ignore[arg-type]
        (lambda: density_test(1000, SUBSTITUTE, density=fine, epsilon=ONE, alpha=ONE), "between 0 and 1"),
        (lambda: density_test(1000, SUBSTITUTE, density=ONE, epsilon=ONE), "finer grid"),
        (lambda: density_test(5, SUBSTITUTE, density=fine, epsilon=ONE), "More values"),
        (lambda: density_test(1000, SUBSTITUTE, density=fine, epsilon=ONE / 1000), "Nothing was charged"),
        (lambda: DensityTest((3, 3), 1, SUBSTITUTE, ONE, 1), "below the upper"),
        (lambda: DensityTest((2, 3), 0, SUBSTITUTE, ONE, 1), "width must be"),
        (lambda: DensityTest((2, 3), 1 << 62, SUBSTITUTE, ONE, 1), "finite"),
        (lambda: DensityTest((2, 3), 1, SUBSTITUTE, ONE, 0), "threshold must be"),
        (lambda: DensityTest((0, 3), 1, SUBSTITUTE, ONE, 1), "lower rank"),
    ):
        with pytest.raises((PublicParameterError, QuestionError), match=words):
            wrong()  # type: ignore[no-untyped-call]  # lambdas of one list differ in what they return
