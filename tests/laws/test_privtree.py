"""PrivTree: the laws of all small trees, the longest chains, what is drawn, noise that is too small or too large."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.privtree import Box, PrivTree, counts_of, parts_of
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.rederivation import rederive
from tests.assurance.claims import verify

ADD, SUB = Adjacency("add_remove"), Adjacency("substitute")
Counts = tuple[int, ...]  # of the cells of the finest grid, in row-major order


@dataclass(frozen=True)
class Noise:
    """The law of decisions, written apart from the program: scale and fall may be those of a mutant."""

    scale: float
    fall: int

    def halved(self, count: int, level: int) -> float:
        """P(max(-F, c - l F) + Z >= 0) for two-sided geometric noise."""
        score, ratio = max(-self.fall, count - level * self.fall), math.exp(-1.0 / self.scale)
        return ratio**-score / (1.0 + ratio) if score < 0 else 1.0 - ratio ** (score + 1) / (1.0 + ratio)

    def kept(self, count: int, level: int) -> float:
        """The rest, without a difference of nearly equal numbers."""
        score, ratio = max(-self.fall, count - level * self.fall), math.exp(-1.0 / self.scale)
        return ratio ** (score + 1) / (1.0 + ratio) if score >= 0 else 1.0 - ratio**-score / (1.0 + ratio)


def right(made: PrivTree) -> Noise:
    return Noise(float(made.scale), made.fall)


def laws(noise: Noise, axes: int, depth: int, counts: Counts) -> Iterator[tuple[frozenset[Box], float]]:
    """All trees with their probabilities, by recursion over boxes."""

    def below(level: int, at: Counts) -> list[tuple[frozenset[Box], float]]:
        stop = frozenset({(level, *at)})
        if level == depth:
            return [(stop, 1.0)]
        held = sum(
            count
            for cell, count in zip(product(range(1 << depth), repeat=axes), counts, strict=True)
            if all(place >> (depth - level) == mine for place, mine in zip(cell, at, strict=True))
        )
        chance = noise.halved(held, level)
        parts = [
            below(level + 1, tuple(2 * mine + up for mine, up in zip(at, half, strict=True)))
            for half in product((0, 1), repeat=axes)
        ]
        grown = [
            (frozenset().union(*(one for one, _ in each)), math.prod(p for _, p in each)) for each in product(*parts)
        ]
        return [(stop, noise.kept(held, level)), *((tree, chance * share) for tree, share in grown)]

    return iter(below(0, (0,) * axes))


def worst(noise: Noise, axes: int, depth: int, here: Counts, there: Counts) -> float:
    first, second = dict(laws(noise, axes, depth, here)), dict(laws(noise, axes, depth, there))
    assert sum(first.values()) == pytest.approx(1.0)
    return max(abs(math.log(first[tree] / second[tree])) for tree in first)


def more(counts: Counts, place: int) -> Counts:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


@pytest.mark.parametrize(("axes", "depth", "most"), [(1, 2, 3), (2, 1, 3), (1, 3, 1)])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(6)])
def test_no_neighbours_are_farther_apart_than_claimed(axes: int, depth: int, most: int, epsilon: Fraction) -> None:
    """All tables of few records, one record more or one replaced, on all trees."""
    cells = (1 << depth) ** axes
    added, moved = (right(PrivTree(near, epsilon, axes, depth)) for near in (ADD, SUB))
    tables = list(product(range(most + 1), repeat=cells))
    for counts in tables[:: max(len(tables) // 40, 1)]:
        for place in range(cells):
            assert worst(added, axes, depth, counts, more(counts, place)) <= float(epsilon) + 1e-9
        assert worst(moved, axes, depth, more(counts, 0), more(counts, cells - 1)) <= float(epsilon) + 1e-9


def chain(noise: Noise, levels: int) -> float:
    """The greatest loss of one record on a chain of boxes with scores F apart, over all offsets."""
    found = 0.0
    for last in range(1 - noise.fall, 2):
        counts = [last + back * noise.fall + (levels - 1 - back) * noise.fall for back in range(levels)]
        # of the boxes, from the last one up: level l = levels - 1 - back has score last + back F
        loss = sum(
            math.log(noise.halved(count, levels - 1 - back) / noise.halved(count - 1, levels - 1 - back))
            for back, count in enumerate(counts)
        )
        found = max(found, loss)
    return found


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize(("epsilon", "share", "little"), [(Fraction(1, 10), 0.85, 0.8), (Fraction(1), 0.85, 0.75)])
def test_the_longest_chains_cost_epsilon_little_less_and_more_at_less_noise(
    axes: int, epsilon: Fraction, share: float, little: float
) -> None:
    """Twelve levels. The bound is loose for a large epsilon, where noise is of a few units."""
    made = right(PrivTree(ADD, epsilon, axes, 12))
    loss = chain(made, 12)
    assert share * float(epsilon) < loss <= float(epsilon)
    assert chain(right(PrivTree(ADD, epsilon / Fraction(little), axes, 12)), 12) > float(epsilon)
    assert chain(right(PrivTree(ADD, epsilon / Fraction(3, 2), axes, 12)), 12) < share * float(epsilon)


def test_without_a_fall_every_level_costs() -> None:
    """Twelve boxes whose scores do not fall lose several times what is stated; noise of one count loses more, too."""
    made = right(PrivTree(ADD, Fraction(1), 1, 12))
    level = sum(math.log(Noise(made.scale, 0).halved(0, k) / (math.exp(-1 / made.scale) * 0.5)) for k in range(12))
    assert level > 3.0
    assert chain(Noise(1.0, 1), 12) > 1.25  # noise for one count, at the least fall


@pytest.mark.wide
def test_the_program_draws_this_law() -> None:
    """One axis, two levels, 8,000 trees: chi-square at 1e-4; noise of .75 and 1.33 of its scale is refused."""
    made = PrivTree(ADD, Fraction(3), 1, 2)
    exact: dict[tuple[int, ...], int] = {(0,): 1, (1,): 3, (3,): 2}
    stream = Replayed("trees")
    drawn = Counter(frozenset(made.sample(exact, stream)) for _ in range(8_000))

    def p_value(noise: Noise) -> float:
        law = dict(laws(noise, 1, 2, (1, 3, 0, 2)))
        assert set(drawn) <= set(law)
        return float(scipy.stats.chisquare([drawn[tree] for tree in law], [8_000 * p for p in law.values()]).pvalue)

    assert p_value(right(made)) > 1e-4
    for factor in (0.75, 4 / 3):
        assert p_value(Noise(float(made.scale) * factor, made.fall)) < 1e-4
    assert p_value(Noise(float(made.scale), made.fall + 1)) < 1e-4


def test_laws_of_the_program_itself_are_enumerated() -> None:
    """Two levels of one axis at epsilon 24, all draws followed; three times less noise is refuted."""
    tables: list[dict[tuple[int, ...], int]] = [{}, {(0,): 1}, {(0,): 2}, {(0,): 1, (1,): 1}]
    pairs = [(0, 1), (1, 2), (1, 3)]
    claim = PureDP(Fraction(24))
    for epsilon, verdict in ((Fraction(24), "holds"), (Fraction(72), "refuted")):
        made = PrivTree(ADD, epsilon, 1, 2)
        line = verify("tree", lambda rows, e, made=made: made.sample(rows, e), tables, pairs, claim)  # type: ignore[misc]
        assert line.verdict == verdict, line


def test_boxes_are_a_partition_and_counts_are_those_of_a_plain_count() -> None:
    made = PrivTree(SUB, Fraction(2), 2, 6)
    words = Replayed("places").words(4_000).reshape(-1, 2)
    cells = (words >> np.uint64(59)).astype(np.int64)  # half of the places: the others are empty
    exact = Counter(map(tuple, cells.tolist()))
    leaves = made.sample(exact, Replayed("partition"))
    covered = Counter(
        cell
        for level, *at in leaves
        for cell in product(*(range(place << (6 - level), (place + 1) << (6 - level)) for place in at))
    )
    assert len(covered) == 64**2
    assert set(covered.values()) == {1}
    boxes = np.array([(1, 0), (3, 3), (0, 0)], np.int64)
    shrunk = cells >> 3
    plain = [int((shrunk == box).all(axis=1).sum()) for box in boxes]
    assert counts_of(shrunk, np.ones(len(shrunk), np.int64), boxes).tolist() == plain
    assert parts_of(boxes[:1]).tolist() == [[2, 0], [2, 1], [3, 0], [3, 1]]


def test_detail_goes_where_records_are() -> None:
    made = PrivTree(ADD, Fraction(1), 1, 10)
    leaves = made.sample({(700,): 5_000}, Replayed("detail"))
    assert (10, 700) in leaves
    assert len(leaves) < 60
    assert len(made.sample({}, Replayed("nothing"))) < 40


def test_stored_parameters_prove_the_loss_again_and_ranges_are_refused() -> None:
    for near in (ADD, SUB, Adjacency("add_remove", rows=3)):
        for axes in (1, 4):
            made = PrivTree(near, Fraction(7, 10), axes, 5).guarantee
            assert axiom_again(made) == made
            assert rederive(made, axiom_again) == PureDP(Fraction(7, 10))
    for axes, depth, epsilon in ((0, 3, 1), (5, 3, 1), (1, 0, 1), (4, 16, 1), (1, 3, 0)):
        with pytest.raises(PublicParameterError):
            PrivTree(ADD, Fraction(epsilon), axes, depth)
    with pytest.raises(PublicParameterError):
        PrivTree(ADD, Fraction(1, 1 << 60), 1, 3)
    with pytest.raises(PublicParameterError):
        PrivTree(ADD, Fraction(1), 1, 2).sample({(4,): 1}, Replayed("outside"))
