"""Large grids: the cells that reach the bar have the law of noise on every cell."""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reticent.conformance.lower_bounds import fit
from reticent.data.order_statistics import ABSENT
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis import sparse_histogram as module
from reticent.synthesis.axis import even
from reticent.synthesis.sparse_histogram import Exceeding, binomial_of_tail, distinct, skipping, sparse
from tests.assurance.claims import verify

ADD = Adjacency("add_remove")


def above(cells: int, bar: int, epsilon: Fraction) -> Exceeding:
    return Exceeding(Geometric(L1(Fraction(1), ADD), epsilon), cells, bar)


def test_two_cells_written_down_keep_epsilon_and_no_less() -> None:
    tables: list[dict[int, int]] = [{}, {0: 1}, {1: 1}, {0: 1, 1: 1}]
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    made = above(2, 1, Fraction(3))
    claims = [(Fraction(3), "holds"), (Fraction(2), "refuted")]
    for claim, verdict in claims:
        line = verify("above", lambda table, e: made.sample(table, e), tables, pairs, PureDP(claim))
        assert line.verdict == verdict


@pytest.mark.parametrize("bar", [1, 2])
def test_without_visiting_empty_cells_the_law_is_the_same(bar: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cells, one of them held: the pattern of cells with counts, against the product of exact laws; 1e-6.

    Laws of noise a quarter too small or too large are rejected.
    """
    monkeypatch.setattr(module, "LISTED", 0)
    entropy, made = Replayed(f"sparse {bar}"), above(4, bar, Fraction(1))
    drawn = [made.sample({2: 2}, entropy) for _ in range(6_000)]
    tops = [tuple(sorted((cell, min(count, bar + 1)) for cell, count in one)) for one in drawn]

    def law(scale: float) -> dict[tuple[tuple[int, int], ...], float]:
        a = math.exp(-1.0 / scale)
        mass = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-80, 81)}
        found: dict[tuple[tuple[int, int], ...], float] = {(): 1.0}
        for cell in range(4):
            true = 2 if cell == 2 else 0
            least = sum(chance for k, chance in mass.items() if k + true < bar)
            single, more = mass[bar - true], sum(chance for k, chance in mass.items() if k + true > bar)
            found = {
                (*held, *extra): chance * times
                for held, chance in found.items()
                for extra, times in (((), least), (((cell, bar),), single), (((cell, bar + 1),), more))
            }
        return found

    assert fit(tops, lambda one: law(1.0).get(one, 0.0)) > 1e-6
    for wrong in (0.75, 1.33):
        bent = law(wrong)
        assert fit(tops, lambda one, bent=bent: bent.get(one, 0.0)) < 1e-6  # type: ignore[misc]


@pytest.mark.parametrize(("trials", "bar", "scale"), [(5, 1, 1), (10**6, 12, 1), (10**12, 50, 2), (3, 1, 50)])
def test_the_number_above_the_bar_is_binomial(trials: int, bar: int, scale: int) -> None:
    """2,000 draws, 1e-6; twice the probability is rejected, and half of it."""
    a = math.exp(-1 / scale)
    p, entropy = a**bar / (1 + a), Replayed(f"binomial {trials}")
    drawn = [binomial_of_tail(trials, Fraction(scale), bar, entropy) for _ in range(2_000)]

    def mass(p: float, k: int) -> float:
        log = sum(math.log((trials - j) / (j + 1)) for j in range(k))
        return math.exp(log + k * math.log(p) + (trials - k) * math.log1p(-p)) if 0 <= k <= trials else 0.0

    assert fit(drawn, lambda k: mass(p, k)) > 1e-6
    for factor in (0.5, 1.9):
        assert fit(drawn, lambda k, f=factor: mass(f * p, k)) < 1e-6  # type: ignore[misc]


def test_a_binomial_number_is_decided_by_the_exact_distribution() -> None:
    """Digits on either side of F(0) and F(1), from the probability to 60 places."""
    trials, scale, bar = 7, Fraction(3, 2), 2
    a = Fraction(math.exp(-2 / 3))
    p = a**bar / (1 + a)
    ends = [(1 - p) ** 7, (1 - p) ** 7 + 7 * p * (1 - p) ** 6]
    for number, end in enumerate(ends):
        for shift, expected in ((-(2**20), number), (2**20, number + 1)):
            digits = int(end * 2**64) + shift
            assert module._placed(trials, scale, bar, digits, 64) == expected


def test_cells_that_are_not_held_are_counted_past_those_that_are() -> None:
    held = [0, 3, 4, 9]
    assert [skipping(rank, held) for rank in range(6)] == [1, 2, 5, 6, 7, 8]
    entropy = Replayed("sets")
    sets = Counter(tuple(distinct(2, 4, entropy)) for _ in range(3_000))
    assert fit(list(sets.elements()), lambda one: 1 / 6) > 1e-6
    assert len(distinct(9, 10, entropy)) == 9


def test_a_grid_of_a_billion_cells_keeps_what_stands_out() -> None:
    """Three places of 2^30 cells hold 900 records in all: they come out, and at most a few cells beside them."""
    axes = [even(name, Fraction(0), Fraction(1), 1024) for name in ("x", "y", "z")]
    plan = sparse(axes, ADD, Fraction(1))
    units = plan.grid.query.units
    where = [[int(Fraction(k, 4) / unit) + 1 for unit in units] for k in (0, 1, 3)]
    records = np.array([where[k % 3] for k in range(900)], np.int64)
    outcome = plan.draw((QueryResult(records=records),), Replayed("billion"))
    assert isinstance(outcome, Reply)
    density = outcome.value
    assert density.boxes is not None
    assert 3 <= len(density.masses) <= 12
    for k in (0, 1, 3):
        low = [k / 4] * 3
        assert density.probability(low, [k / 4 + 1 / 1024] * 3).value == pytest.approx(1 / 3, abs=0.03)
    assert density.sample(50).shape == (50, 3)
    nobody = plan.draw((QueryResult(records=np.zeros((0, 3), np.int64)),), Replayed("nobody"))
    assert isinstance(nobody, Reply)
    assert abs(nobody.value.masses.sum() - 1.0) < 1e-9


@pytest.mark.wide
def test_ranges_are_refused() -> None:
    with pytest.raises(QuestionError):
        sparse([even(name, Fraction(0), Fraction(1), 2**15) for name in "abcd"], ADD, Fraction(1))
    with pytest.raises(QuestionError):
        sparse([even("x", Fraction(0), Fraction(1), 2**12)], ADD, Fraction(1, 2), people=10)
    for wrong in (0, -1):
        with pytest.raises(PublicParameterError):
            above(wrong, 1, Fraction(1))
        with pytest.raises(PublicParameterError):
            above(3, wrong, Fraction(1))
    with pytest.raises(PublicParameterError):
        above(3, 1, Fraction(1)).sample({3: 1}, Replayed("x"))


@pytest.mark.wide
@pytest.mark.parametrize("near", [ADD, Adjacency("substitute")])
def test_atoms_missing_values_and_the_number_of_records_are_told_though_small_cells_are_lost(near: Adjacency) -> None:
    """6,000 records: 1,000 missing, 1,000 of the value 0, 4,000 spread so thinly that no cell reaches the bar."""
    people = 6_000 if near.kind == "substitute" else None
    plan = sparse([even("x", Fraction(0), Fraction(1), 1 << 16)], near, Fraction(1), people=people, atoms=[Fraction(0)])
    assert plan.guarantee.loss == PureDP(Fraction(1))
    unit = int(1 / plan.grid.query.units[0])
    values = [ABSENT] * 1_000 + [0] * 1_000 + [unit * (k + 1) // 4_001 for k in range(4_000)]
    outcome = plan.draw(
        (QueryResult(records=np.array(values, np.int64).reshape(-1, 1)),), Replayed(f"thin {near.kind}")
    )
    assert isinstance(outcome, Reply)
    density = outcome.value
    assert density.missing == pytest.approx(1 / 6, abs=0.01)
    assert density.n == pytest.approx(5_000, abs=150)
    assert density.atoms[0][1] == pytest.approx(0.2, abs=0.01)
    assert re.search("about (9[5-9]|100) % of what is no atom", density.words[0])


def test_cells_that_are_told_have_noise_like_all_others() -> None:
    """Two cells, one told in any case: epsilon 3 holds, 2 is refuted; exact, of the program."""
    made = Exceeding(Geometric(L1(Fraction(1), ADD), Fraction(3)), 2, 2, 1)
    tables: list[dict[int, int]] = [{}, {0: 1}, {1: 1}, {0: 1, 1: 1}]
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    for claim, verdict in ((Fraction(3), "holds"), (Fraction(2), "refuted")):
        assert verify("told", made.sample, tables, pairs, PureDP(claim)).verdict == verdict
    many = Exceeding(Geometric(L1(Fraction(1), ADD), Fraction(3)), 1 << 40, 50, 2)
    last = (1 << 40) - 1
    assert [cell for cell, _ in many.sample({5: 1000, last: 3}, Replayed("told"))] == [5, last - 1, last]
    with pytest.raises(PublicParameterError):
        Exceeding(Geometric(L1(Fraction(1), ADD), Fraction(3)), 2, 2, 3)
