"""What is verified exactly, as one report: samplers on coins, mechanisms on laws, statistics on tiny tables.

    for line in report():              seconds; ``report(deep=True)`` takes minutes
        print(line)

Layers, each a proof by enumeration on the domain it states: (1) run on coins, a sampler has the law it is
described by; (2) run on laws, a mechanism keeps its guarantee between all neighbours; (3) so does a statistic, from
the rows the engine reads to the answer that is printed, or draw by draw where candidates are too many to list.
Together: the program keeps its guarantee on fair coins, on those domains. What is not covered:
``docs/theory/verification.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from reticent.entropy import Entropy
from reticent.exact import categorical, coins, random_subset, sampling
from reticent.exact.grid import Grid
from reticent.mechanisms import one_sided, registry
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.mechanisms.sparse_vector import SparseVector
from reticent.mechanisms.weighted_selection import weight_of, weighted_list
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss
from reticent.privacy.sensitivity import L1, L2, Linf
from tests.assurance import accounting_lines, exact_ptr, local, stepwise
from tests.assurance.claims import Line, judge, verify
from tests.assurance.coins import agree, coin_law
from tests.assurance.grids import grids
from tests.assurance.pipelines import pipelines
from tests.assurance.requests import asked
from tests.assurance.sampler_enumeration import noise, sampler

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def report(*, deep: bool = False) -> tuple[Line, ...]:
    """Everything that is verified exactly; with ``deep`` larger domains, in minutes.

    Returns
    -------
    tuple of Line
        A line per claim. A proof has no line that is not "holds".
    """
    return tuple(line for _, stage in stages(deep=deep) for line in stage)


def stages(*, deep: bool = False) -> Iterator[tuple[str, Iterator[Line]]]:
    """The parts of the report in order, each with the words that announce it: the page and ``report`` run the same."""
    yield "samplers on coins", samplers(deep=deep)
    yield "mechanisms", guarantees(deep=deep)
    yield "statistics on all tiny tables", pipelines(deep=deep)
    yield "propose-test-release, and choices draw by draw", robust(deep=deep)
    yield "surveys, from truth to token", local.lines(deep=deep)
    yield "losses once more", accounting_lines.lines()


# --- samplers on coins -----------------------------------------------------------------------------------------------


def samplers(*, deep: bool = False) -> Iterator[Line]:
    """One line for each sampler and way of looking at it."""
    bounds = range(1, 65 if deep else 18)
    fractions = [Fraction(n, d) for d in range(1, 12 if deep else 7) for n in range(d + 1)]
    exponents = [Fraction(n, 4) for n in range(0, 24, 1 if deep else 5)]
    by_width = ((3, "all strings of 3 bits a word"), (coins.WIDTH, "thresholds of 64-bit words"))
    for width, how in by_width:
        least = Fraction(1, 1 << (24 if width < 64 else 100))
        yield _coins(
            "uniform", how, [(sampling.Uniform(b), partial(coins.uniform, b, width=width)) for b in bounds], least
        )
        yield _coins(
            "bernoulli",
            how,
            [(sampling.Bernoulli(p), partial(coins.bernoulli, p, width=width)) for p in fractions],
            least,
        )
        yield _coins(
            "bernoulli_exp",
            how,
            [(sampling.BernoulliExp(x), partial(coins.bernoulli_exp, x, width=width)) for x in exponents],
            least,
        )
    yield _coins("categorical", "thresholds of its integers", _choices(deep), Fraction(1, 1 << 80))
    yield _coins("categorical_scores", "thresholds of its integers", _by_scores(deep), Fraction(1, 1 << 60))
    yield _coins(
        "permute_and_flip", "thresholds of 64-bit coins, all keys of 2 bits", _flips(deep), Fraction(1, 1 << 60), 2
    )
    yield _coins("subsets", "thresholds of 64-bit words", _subsets(4 if deep else 3), Fraction(1, 1 << 60))
    yield from noise(deep=deep)


Task = tuple[sampling.Law, Callable[[Entropy], object]]


def _choices(deep: bool) -> list[Task]:
    weights = [((Fraction(0), HALF, Fraction(3)), (1, 0, 5)), ((THIRD, THIRD), (1, 1)), ((HALF,), (3,))]
    if deep:
        weights += [(tuple(Fraction(k, 3) for k in xs), (1, 2, 3)) for xs in product((0, 1, 4), repeat=3)]
    return [(sampling.Categorical(x, c), partial(categorical.categorical, x, c)) for x, c in weights]


def _by_scores(deep: bool) -> list[Task]:
    cases = [([3, 1, 1], [1, 0, 5], Fraction(1))]
    cases.append(([0, 900], [1, 1], Fraction(1)))  # an exponent beyond DEPTH
    cases.append(([0, 700], [1, 1], Fraction(1, 1000)))  # powers from more than one table
    rows = {3: 1, 259: 7}  # more candidates than share a row of weights, most of them impossible
    cases.append(([place % 5 for place in range(260)], [rows.get(place, 0) for place in range(260)], HALF))
    if deep:
        cases += [(list(s), [1, 2, 3], THIRD) for s in product((0, 1, 4), repeat=3)]
    return [
        (
            sampling.Categorical(tuple(rate * s for s in scores), tuple(counts)),
            partial(categorical.categorical_scores, np.array(scores, np.int64), counts, rate),
        )
        for scores, counts, rate in cases
    ]


def _flips(deep: bool) -> list[Task]:
    cases = [([0, 1, 3], HALF), ([2, 2], Fraction(1)), ([5], HALF)]
    if deep:
        cases += [(list(s), THIRD) for s in product((0, 1, 4), repeat=3)]
    return [
        (
            sampling.PermuteAndFlipDraw(tuple(rate * s for s in scores)),
            partial(categorical.permute_and_flip, scores, rate),
        )
        for scores, rate in cases
    ]


def _subsets(count: int) -> list[Task]:
    """Who takes part, as the number of the set among all sets, or among all of its size."""
    tasks: list[Task] = []
    for size in range(count + 1):
        sets = [tuple(place in some for place in range(count)) for some in combinations(range(count), size)]
        tasks.append((sampling.Uniform(len(sets)), partial(_place, sets, partial(random_subset.subset, count, size))))
    sets = list(product((False, True), repeat=count))
    weights = tuple(2 ** (count - sum(some)) for some in sets)  # each takes part with probability 1/3
    law = sampling.Categorical((Fraction(0),) * len(sets), weights)
    return [*tasks, (law, partial(_place, sets, partial(random_subset.independent, count, THIRD)))]


def _place(sets: Sequence[tuple[bool, ...]], sampler: Callable[[Entropy], Iterator[bool]], entropy: Entropy) -> object:
    return sets.index(tuple(sampler(entropy)))


def _coins(name: str, how: str, tasks: Sequence[Task], least: Fraction, coarse: int | None = None) -> Line:
    laws = [(coin_law(program, least=least, coarse=coarse), law) for law, program in tasks]
    right = all(agree(found, law) for found, law in laws)
    return sampler(name, f"{how}; {len(tasks)} parameters", [found for found, _ in laws], right)


# --- mechanisms on laws ----------------------------------------------------------------------------------------------


def guarantees(*, deep: bool = False) -> Iterator[Line]:
    """Every specimen of every mechanism, then all neighbouring inputs of a small domain for each mechanism."""
    for module in registry.ALL:
        for specimen in module.SPECIMENS:
            yield _mechanism(specimen.name, specimen.mechanism, [specimen.here, specimen.there], [(0, 1)])
    near, most = Adjacency("add_remove"), 4 if deep else 3
    for reach, coordinates in ((3, 1), (1, 2), *(((2, 2), (1, 3)) if deep else ())):
        vectors = list(product(range(-reach, reach + 1), repeat=coordinates))
        close = _within(vectors, partial(_apart, reach))
        made = Geometric(L1(Fraction(reach), near), Fraction(4))
        yield _mechanism(f"geometric, vectors of {coordinates} within {reach}", made, vectors, close)
    values = [(Fraction(n, 7),) for n in range(-7, 8)]
    near_values = _within(values, lambda a, b: abs(a[0] - b[0]) <= THIRD)
    yield _mechanism("laplace on a grid", Laplace(L1(THIRD, near), Fraction(1), Grid(-2)), values, near_values)
    integers = [(n,) for n in range(-2, 3)]
    two = _within(integers, partial(_apart, 2))
    yield _mechanism("gaussian, one integer", ScalarGaussian(L1(Fraction(2), near), Fraction(9), HALF), integers, two)
    plane = list(product(range(2), repeat=2))
    corner = _within(plane, lambda a, b: sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) <= 2)
    yield _mechanism("gaussian, vectors of 2", Gaussian(L2(Fraction(2), near), Fraction(1)), plane, corner)
    scores = list(product(range(3), repeat=most))
    moved = _within(scores, lambda a, b: max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 1)
    flip = PermuteAndFlip(Linf(Fraction(1), near), Fraction(1))
    yield _mechanism(f"permute-and-flip, {most} scores", flip, scores, moved)
    listed = [Candidates(np.array(s, np.int64), np.array((1, 3, 2, 1)[:most], np.int64)) for s in scores]
    yield _mechanism(f"exponential, {most} scores", Exponential(Linf(Fraction(1), near), Fraction(1)), listed, moved)
    for count in (65, 300):  # a score falls where the others rise: the worst there is
        low, high = (0, *(1,) * (count - 1)), (1, *(0,) * (count - 1))
        many = [Candidates(np.array(s, np.int64), np.ones(count, np.int64)) for s in (low, high)]
        chosen = Exponential(Linf(Fraction(1), near), Fraction(1))
        yield _mechanism(f"exponential, {count} scores", chosen, many, [(0, 1)])
    yield _mechanism("permute-and-flip, 65 scores", flip, [(0, *(1,) * 64), (1, *(0,) * 64)], [(0, 1)])
    listed_by = weighted_list(near, Fraction(1), Fraction(1, 20), groups=2)
    own = (weight_of(2) * listed_by.parts,) * 2
    yield _mechanism("weighted selection, keys of one person", listed_by, [own, (0, 0)], [(0, 1)])
    yield from _conversations(near)
    coin = one_sided.ONE
    yield _mechanism(coin.name, coin.mechanism, [coin.here, coin.there], [(0, 1)])
    yield from asked()
    yield from grids()
    for truth, yes in ((HALF, HALF), (THIRD, Fraction(1, 5)), (Fraction(9, 10), Fraction(99, 100))):
        made_up = RandomizedResponse(truth, yes)
        yield _mechanism(f"randomized response {truth}, {yes}", made_up, ["yes", "no"], [(0, 1)])


def _conversations(near: Adjacency) -> Iterator[Line]:
    """Sparse vector on two or three questions, asked at once: one falls where the others rise, e1 small.

    With e1 : e2 = 1 : 8 the first answers "below" drive the threshold up and the last, "above", has to reach it: the
    order of answers that costs most of what is paid, so that noise which is drawn once, or half as wide, is refuted.
    With one answer "below" it is cheaper to explain it by the question's own noise, at e2 / 2; with two by the
    threshold's, at e1, and all that is paid is reached.
    """
    apart, swapped, more = [(2, -2), (3, -3)], [(0, 1), (1, 0)], [(1, 1, -1), (2, 2, -2)]
    for words, shares, epsilon, questions in (
        ("three questions", (1, 8, 0), Fraction(18), more),
        ("questions far apart", (1, 8, 0), Fraction(18), apart),
        ("two questions that change places", (1, 8, 0), Fraction(18), swapped),
        ("with values", (1, 8, 9), Fraction(36), apart),
    ):
        made = SparseVector(Linf(Fraction(1), near), epsilon, 1, shares)
        yield _mechanism(f"sparse vector, {words}", made, questions, [(0, 1)])


def _apart(most: int, one: Sequence[int], other: Sequence[int]) -> bool:
    return sum(abs(x - y) for x, y in zip(one, other, strict=True)) <= most


def _within(values: Sequence[Any], close: Callable[[Any, Any], bool]) -> list[tuple[int, int]]:
    return [(i, j) for (i, a), (j, b) in combinations(enumerate(values), 2) if close(a, b)]


def _mechanism(name: str, made: Any, inputs: Sequence[Any], pairs: Sequence[tuple[int, int]]) -> Line:
    loss: Loss = made.guarantee.loss
    return verify(f"mechanism {name}", lambda one, entropy: made.sample(one, entropy), inputs, pairs, loss)


# --- statistics without bounds, by propose-test-release or draw by draw ----------------------------------------------


def robust(*, deep: bool = False) -> Iterator[Line]:
    """Propose-test-release and smooth sensitivity to the answer; joint choices, clipped means and slopes by draws."""
    yield from exact_ptr.lines(deep=deep)
    yield from stepwise.lines(deep=deep)


__all__ = ["Line", "guarantees", "judge", "pipelines", "report", "robust", "samplers", "stages", "verify"]
