"""Sampling and shuffling draw the laws they state: exactly where the coins can be listed, else by replayed draws.

Exact part: every outcome of every coin a program asks for is tried once, so the law is an exact fraction. Chi-square
part: 5,000 replayed draws (3,000 of shuffled answers), rejection at 1e-4 per test; a correct change trips one of the 4
with chance below 1e-3, and mutants must be rejected at the same level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.exact import random_subset
from reticent.mechanisms import shuffled_response, subsampling
from reticent.mechanisms.gate import Specimen
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.randomized_response import RandomizedResponse, two_coins
from reticent.mechanisms.shuffled_response import ShuffledResponse
from reticent.mechanisms.subsampling import Poisson, WithoutReplacement, poisson_sums, subset_sums
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.sensitivity import L1

ADD = Adjacency("add_remove")
SUB = Adjacency("substitute")
LEVEL = 1e-4
SPECIMENS: list[Specimen[Any, Any]] = [*subsampling.SPECIMENS, *shuffled_response.SPECIMENS]
NAMES = [specimen.name for specimen in SPECIMENS]


# ---- exact laws, by trying every coin


class Chosen:
    """Entropy whose uniform integers come out as told: the k-th asked for is ``values[k]`` of ``bounds[k]``."""

    def __init__(self, values: Sequence[int], bounds: Sequence[int]) -> None:
        self.left = list(zip(values, bounds, strict=True))

    def bits(self, count: int) -> int:
        value, bound = self.left.pop(0)
        return -(-(value << count) // bound)

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError("nothing here draws arrays")


class Bare:
    """A mechanism without noise, which shows what it is given. Its guarantee is borrowed."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency

    @property
    def guarantee(self) -> Guarantee:
        return Geometric(L1(Fraction(1), self.adjacency), Fraction(1)).guarantee

    def sample(self, exact: Sequence[int], entropy: object) -> tuple[int, ...]:
        return tuple(exact)


def law_of(run: Callable[[Chosen], Hashable], bounds: Sequence[int]) -> dict[Hashable, Fraction]:
    """The exact law of a program that asks for one uniform integer below each bound."""
    found: Counter[Hashable] = Counter()
    for values in product(*map(range, bounds)):
        entropy = Chosen(values, bounds)
        found[run(entropy)] += 1
        assert not entropy.left  # it asked for all of them, whatever they were
    return {out: Fraction(times, math.prod(bounds)) for out, times in found.items()}


@pytest.mark.parametrize(("size", "people"), [(0, 3), (1, 4), (2, 5), (3, 5), (5, 5), (3, 6)])
def test_every_subset_is_equally_likely(size: int, people: int) -> None:
    law = law_of(lambda entropy: tuple(random_subset.subset(people, size, entropy)), range(people, 0, -1))
    assert law == {
        tuple(i in taken for i in range(people)): Fraction(1, math.comb(people, size))
        for taken in combinations(range(people), size)
    }


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2, 5), Fraction(3, 4)])
def test_each_unit_takes_part_on_a_coin_of_its_own(rate: Fraction) -> None:
    law = law_of(lambda entropy: tuple(random_subset.independent(4, rate, entropy)), [rate.denominator] * 4)
    assert law == {
        taken: math.prod((rate if one else 1 - rate for one in taken), start=Fraction(1))
        for taken in product((False, True), repeat=4)
    }


def test_what_is_handed_on_is_the_sum_over_the_sample_and_nothing_else() -> None:
    values = (5, -2, 1, 1)
    coins = Poisson(Bare(ADD), Fraction(2, 5))
    rows = [(value,) for value in values]
    law = law_of(lambda entropy: coins.sample(rows, entropy)[0], [5] * 4)
    assert law == poisson_sums(values, Fraction(2, 5))
    drawn = WithoutReplacement(Bare(SUB), 2, 4)
    law = law_of(lambda entropy: drawn.sample(rows, entropy)[0], range(4, 0, -1))
    assert law == subset_sums(values, 2)


def test_vectors_are_added_place_by_place_and_without_limit() -> None:
    rows = [(1 << 80, -1, 0), (1, 1, 1), (7, 0, -(1 << 90))]
    coins = Poisson(Bare(ADD), Fraction(1, 2), length=3)
    law = law_of(lambda entropy: coins.sample(rows, entropy), [2] * 3)
    assert law[(0, 0, 0)] == law[((1 << 80) + 8, 0, 1 - (1 << 90))] == Fraction(1, 8)
    assert len(law) == 8


def test_a_coin_of_one_third_is_exact_where_a_float_is_not() -> None:
    """At the border of 66 drawn bits more are asked for; the float nearest to 1/3 would decide at once, and wrongly."""

    class Border:
        def __init__(self, first: int, then: int) -> None:
            self.left = [first, then]

        def bits(self, count: int) -> int:
            return self.left.pop(0)

        def words(self, count: int) -> NDArray[np.uint64]:
            raise AssertionError

    border = (1 << 66) // 3
    assert list(random_subset.independent(1, Fraction(1, 3), Border(border, 0))) == [True]
    assert list(random_subset.independent(1, Fraction(1, 3), Border(border, (1 << 64) - 1))) == [False]
    entropy = Border(border >> 12, 0)
    assert list(random_subset.independent(1, Fraction(1 / 3), entropy)) == [
        False
    ]  # the mutant, and nothing more is drawn
    assert entropy.left == [0]


# ---- what is refused, and when


class Silent:
    """Entropy that must not be asked."""

    def bits(self, count: int) -> int:
        raise AssertionError("something was drawn")

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError("something was drawn")


@pytest.mark.parametrize("row", [(1, 2), (), (1.0,), (True,), [1], (Fraction(1),)], ids=repr)
def test_rows_that_are_no_integer_vectors_are_refused_before_anything_is_drawn(row: Any) -> None:
    with pytest.raises(PublicParameterError, match="tuple of 1 int"):
        Poisson(Bare(ADD), Fraction(1, 2)).sample([(1,), row], Silent())
    with pytest.raises(PublicParameterError, match="tuple of 1 int"):
        WithoutReplacement(Bare(SUB), 1, 2).sample([(1,), row], Silent())


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_of_rows_than_stated_is_refused_before_anything_is_drawn(count: int) -> None:
    with pytest.raises(PublicParameterError, match="number is public"):
        WithoutReplacement(Bare(SUB), 1, 3).sample([(1,)] * count, Silent())
    made = ShuffledResponse(RandomizedResponse(Fraction(1, 10), Fraction(1, 2)), 150, Fraction(1, 1000), "ballot box")
    with pytest.raises(PublicParameterError, match="their own number"):
        made.sample(["yes"] * (150 + count - 3), Silent())


def test_an_empty_table_is_a_table() -> None:
    assert Poisson(Bare(ADD), Fraction(1, 2), length=2).sample([], Silent()) == (0, 0)


@pytest.mark.parametrize("length", [0, -1, True, 1.0])
def test_a_length_out_of_range_is_refused(length: Any) -> None:
    with pytest.raises(PublicParameterError, match="length"):
        Poisson(Bare(ADD), Fraction(1, 2), length)


@pytest.mark.parametrize("answer", ["maybe", ("yes", 34), None, 1, ["yes"]], ids=repr)
def test_an_answer_with_something_attached_is_refused_before_anything_is_drawn(answer: Any) -> None:
    made = ShuffledResponse(RandomizedResponse(Fraction(1, 10), Fraction(1, 2)), 150, Fraction(1, 1000), "ballot box")
    with pytest.raises(PublicParameterError, match="nothing attached") as caught:
        made.sample(["yes"] * 149 + [answer], Silent())
    assert "maybe" not in str(caught.value)


@pytest.mark.parametrize("randomizer", [[two_coins()] * 1000, None, Bare(ADD)], ids=["one each", "none", "another"])
def test_more_than_one_randomizer_is_refused(randomizer: Any) -> None:
    with pytest.raises(PublicParameterError, match="one and the same"):
        ShuffledResponse(randomizer, 1000, Fraction(1, 10**6), "ballot box")


@pytest.mark.parametrize("size", [1, 3, 6])
def test_every_unit_takes_one_coin_whether_it_takes_part_or_not(size: int) -> None:
    class Counted:
        def __init__(self, key: int) -> None:
            self.stream, self.asked = Replayed(key), 0

        def bits(self, count: int) -> int:
            self.asked += 1
            return self.stream.bits(count)

        def words(self, count: int) -> NDArray[np.uint64]:
            raise AssertionError("nothing here draws arrays")

    for key in range(40):
        entropy = Counted(key)
        assert sum(random_subset.subset(6, size, entropy)) == size
        assert entropy.asked == 6
        assert len(list(random_subset.independent(6, Fraction(1, 3), entropy))) == 6
        assert entropy.asked == 12


@pytest.mark.parametrize("size", [-1, 4, 1.0, True])
def test_a_subset_of_no_such_size_is_refused_before_anything_is_drawn(size: Any) -> None:
    with pytest.raises(PublicParameterError):
        random_subset.subset(3, size, Silent())


def test_a_rate_outside_zero_and_one_is_refused_before_anything_is_drawn() -> None:
    for rate in (Fraction(-1, 2), Fraction(3, 2), 0.5):
        with pytest.raises(PublicParameterError):
            random_subset.independent(3, rate, Silent())  # type: ignore[arg-type]  # a float is the point


# ---- replayed draws


def draws_of(specimen: Specimen[Any, Any]) -> int:
    return 3_000 if "shuffled" in specimen.name else 5_000


def drawn(specimen: Specimen[Any, Any]) -> Counter[Hashable]:
    stream = Replayed(specimen.name)
    return Counter(specimen.mechanism.sample(specimen.here, stream) for _ in range(draws_of(specimen)))


def p_value(found: Counter[Hashable], mass: Callable[[Any], float]) -> float:
    """Chi-square of the draws against a law, outcomes of expectation below 10 pooled."""
    total = sum(found.values())
    common = [out for out in found if mass(out) * total >= 10]
    observed, expected = [found[out] for out in common], [mass(out) * total for out in common]
    if total - sum(expected) >= 1:
        observed.append(total - sum(observed))
        expected.append(total - sum(expected))
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(scipy.stats.chi2.sf(statistic, len(observed) - 1))


def shuffled(people: int) -> Specimen[Any, Any]:
    """As the specimen, of so few answers that they are soon drawn."""
    answer = RandomizedResponse(Fraction(1, 10), Fraction(1, 2))
    made = ShuffledResponse(answer, people, Fraction(1, 2), "the program itself")
    here, there = (("yes",) * yes + ("no",) * (people - yes) for yes in (people // 5, people // 5 + 1))
    chance = shuffled_response.mass
    return Specimen(
        f"{people} shuffled answers", made, here, there, lambda truths, counts: chance(answer, truths, counts[0])
    )


@pytest.mark.wide
@pytest.mark.parametrize(
    "specimen",
    [
        SPECIMENS[0],
        shuffled(40),
        *(pytest.param(specimen, marks=pytest.mark.audit) for specimen in SPECIMENS[1:]),
    ],
    ids=attrgetter("name"),
)
def test_it_draws_the_law_it_states_and_no_law_near_it(specimen: Specimen[Any, Any]) -> None:
    found = drawn(specimen)
    law = {out: specimen.mass(specimen.here, out) for out in found}
    assert p_value(found, law.__getitem__) > LEVEL
    for power in (1.25, 0.8):
        total = sum(mass**power for mass in law.values())
        assert p_value(found, {out: mass**power / total for out, mass in law.items()}.__getitem__) < LEVEL


def alphabet(specimen: Specimen[Any, Any]) -> Iterator[Any]:
    if "shuffled" in specimen.name:
        yield from ((heard, 150 - heard) for heard in range(151))
    else:
        yield from ((out,) for out in range(-60, 70))


@pytest.mark.parametrize("specimen", SPECIMENS, ids=NAMES)
def test_the_law_keeps_the_guarantee_between_the_neighbours_and_hardly_less(specimen: Specimen[Any, Any]) -> None:
    laws = [[specimen.mass(side, out) for out in alphabet(specimen)] for side in (specimen.here, specimen.there)]
    assert all(math.isclose(sum(law), 1, abs_tol=1e-9) for law in laws)
    match specimen.mechanism.guarantee.loss:
        case PureDP(epsilon):
            worst = max(abs(math.log(a / b)) for a, b in zip(*laws, strict=True))
            assert 0.8 * float(epsilon) < worst <= float(epsilon) + 1e-9
        case ApproxDP(epsilon, delta):
            for here, there in (laws, laws[::-1]):
                assert _hockey(here, there, float(epsilon)) <= float(delta)
                assert _hockey(here, there, 0.8 * float(epsilon)) > float(delta)
        case other:
            raise AssertionError(other)


def _hockey(here: Sequence[float], there: Sequence[float], epsilon: float) -> float:
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("module", [subsampling, shuffled_response], ids=lambda module: module.__name__)
def test_every_mechanism_carries_statement_source_proof_and_deviations(module: Any) -> None:
    for heading in ("Statement.", "Source.", "Proof.", "Deviations."):
        assert heading in (module.__doc__ or ""), heading


def test_the_same_stream_gives_the_same_draw_and_another_call_another_sample() -> None:
    for specimen in SPECIMENS:
        stream = Replayed("again")
        first = [specimen.mechanism.sample(specimen.here, stream) for _ in range(20)]
        assert first[0] == specimen.mechanism.sample(specimen.here, Replayed("again"))
        assert len(set(first)) > 1
