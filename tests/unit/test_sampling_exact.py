"""The law of the program, computed from all strings of coins, is the law it claims."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.entropy import Replayed
from reticent.exact.alias_tables import PRODUCT, ROOMY, AliasTable, Law, Shape, _alias, build, scratch
from reticent.exact.coins import bernoulli, bernoulli_exp, dyadic, resumed, uniform
from reticent.exact.gaussian import SLACK, GaussianBlocks, GaussianSymbols, WideGaussian, _exp_table, gaussian_tables
from reticent.exact.laplace import Head, LowBits, laplace_tables
from reticent.exact.rounding import exp_floor, scaled_exp_bounds
from tests.support.exact_coins import Tape, TapeEnd
from tests.support.exact_laws import exp_minus, gaussian_weights, laplace_weights, shares

WIDTH = 8
WORDS = 1 << WIDTH


def enumerated(table: AliasTable, depth: int) -> tuple[Counter[int], int]:
    """How many of the strings of ``depth`` words give each value, and how many want more words."""
    counts: Counter[int] = Counter()
    undecided: list[tuple[int, ...]] = [()]
    for level in range(depth):
        longer: list[tuple[int, ...]] = []
        for prefix, word in itertools.product(undecided, range(WORDS)):
            try:
                counts[table.one(Tape((*prefix, word), WIDTH))] += WORDS ** (depth - level - 1)
            except TapeEnd:
                longer.append((*prefix, word))
        undecided = longer
    return counts, len(undecided)


def head_weights(scale: Fraction, m: int, reach: int) -> dict[int, Decimal]:
    both = {}
    for h in range(reach):
        both[h << m] = exp_minus((h << m) / scale)
        both[~(h << m)] = exp_minus(((h << m) + 1) / scale)
    return both


CASES: list[tuple[Law, dict[int, Decimal]]] = [
    (Head(Fraction(1), 0), head_weights(Fraction(1), 0, 180)),
    (Head(Fraction(7, 2), 1), head_weights(Fraction(7, 2), 1, 320)),
    (LowBits(Fraction(7, 2), 0, 2), {v: exp_minus(v / Fraction(7, 2)) for v in range(4)}),
    (LowBits(Fraction(9), 1, 2), {v << 1: exp_minus(2 * v / Fraction(9)) for v in range(4)}),
    (GaussianSymbols(Fraction(2)), gaussian_weights(Fraction(2), 30)),
    (GaussianSymbols(Fraction(1, 3)), gaussian_weights(Fraction(1, 3), 15)),
]


@pytest.mark.parametrize(("law", "weights"), CASES, ids=lambda case: str(case)[:24])
def test_all_strings_of_two_words_give_the_floors_of_the_law(law: Law, weights: dict[int, Decimal]) -> None:
    counts, undecided = enumerated(build(law, WIDTH, 64), 2)
    expected = {value: floor for value, floor in shares(weights, 2 * WIDTH).items() if floor}
    assert dict(counts) == expected
    # What is missing is less than one string for each value, and belongs to the strings that want a third word.
    assert sum(expected.values()) + undecided == WORDS**2


@pytest.mark.wide
def test_symbols_without_a_column_are_reached_through_the_residual() -> None:
    """A table of 4 columns holds 3 symbols; the second word finds the others in the right proportion."""
    law = GaussianSymbols(Fraction(2))
    counts, undecided = enumerated(build(law, WIDTH, 4), 2)
    expected = {value: floor for value, floor in shares(gaussian_weights(Fraction(2), 30), 16).items() if floor}
    assert dict(counts) == expected
    assert sum(expected.values()) + undecided == WORDS**2


def test_a_wrong_share_is_noticed() -> None:
    class Moved:
        def floors(self, bits: int) -> list[int]:
            first, second, *rest = GaussianSymbols(Fraction(2)).floors(bits)
            return [first - 1, second + 1, *rest]

        def value(self, symbol: int) -> int:
            return GaussianSymbols(Fraction(2)).value(symbol)

    counts, _ = enumerated(build(Moved(), WIDTH, 64), 2)
    assert dict(counts) != {k: v for k, v in shares(gaussian_weights(Fraction(2), 30), 16).items() if v}


@pytest.mark.wide
def test_head_and_low_bits_join_to_the_discrete_laplace() -> None:
    """Every pair of words, and the product of the two tables' exact laws against exp(-abs(k) / scale)."""
    shape = Shape(width=WIDTH, head=64, scale=2, low=2)
    scale = Fraction(5)
    tables = laplace_tables(scale, shape)
    assert len(tables.lows) == 1
    seen: Counter[int] = Counter()
    lost = 0
    for pair in itertools.product(range(WORDS), repeat=2):
        try:
            seen[tables.one(Tape(pair, WIDTH))] += 1
        except TapeEnd:
            lost += 1
    target = shares(laplace_weights(scale, 900), 120)
    for value, count in seen.items():
        truth = Fraction(target[value], 1 << 120)
        assert Fraction(count, WORDS**2) <= truth <= Fraction(count + lost, WORDS**2)
    # Exactly: P(high part) P(low bits) = P(value), in proportion; 2 bits of 120 are lost to the floors.
    head = shares(head_weights(scale, 2, 240), 120)
    low = shares({v: exp_minus(v / scale) for v in range(4)}, 120)
    for (high, p), (bits, r) in itertools.product(list(head.items())[:40], low.items()):
        assert abs(Fraction(p * r, 1 << 240) - Fraction(target[high ^ bits], 1 << 120)) < Fraction(1, 1 << 118)


def test_arrays_and_single_draws_read_the_same_table() -> None:
    shape = Shape(width=WIDTH, head=64, scale=2, low=2)
    tables = laplace_tables(Fraction(5), shape)
    for table in (tables.head, *tables.lows, build(GaussianSymbols(Fraction(3)), WIDTH, 64)):
        single, array = [], np.empty(WORDS, np.int64)
        missing = [word for word in range(WORDS) if _needs_more(table, word)]
        for word in range(WORDS):
            single.append(table.one(Tape([word, 77], WIDTH)))
        table.draw(Tape([*range(WORDS), *[77] * len(missing)], WIDTH), array, scratch(WORDS))
        assert array.tolist() == single


def _needs_more(table: AliasTable, word: int) -> bool:
    try:
        table.one(Tape([word], WIDTH))
    except TapeEnd:
        return True
    return False


@pytest.mark.parametrize("shape", [PRODUCT, ROOMY], ids=["product", "roomy"])
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(14), Fraction(1000), Fraction(1 << 56)])
def test_tables_of_the_product_hold_the_certified_floors(scale: Fraction, shape: Shape) -> None:
    """At 64 bits the columns of a table add up to its shares, and 64 further bits change no share already given."""
    tables = laplace_tables(scale, shape)
    for table in (tables.head, *tables.lows):
        check_columns(table)
        assert table.residual < 1 << 16  # probability of the slower path below 2**-48
        deeper = table.law.floors(128)
        for share, more in zip(table.emitted, deeper, strict=False):
            assert share == more >> 64
    assert sum(table.residual for table in (tables.head, *tables.lows)) < 1 << 16


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(100), Fraction(10**6)])
def test_tables_of_gaussians_hold_the_certified_floors(variance: Fraction) -> None:
    table = gaussian_tables(variance)
    assert isinstance(table, AliasTable)
    check_columns(table)
    assert table.residual < 1 << 16
    deeper = table.law.floors(128)
    assert all(share == more >> 64 for share, more in zip(table.emitted, deeper, strict=False))


def check_columns(table: AliasTable) -> None:
    """Recount the words of every symbol from thresholds and aliases."""
    height = 1 << (table.width - table.order)
    words = [0] * (1 << table.order)
    for column, (threshold, alias) in enumerate(zip(table.thresholds.tolist(), table.aliases.tolist(), strict=True)):
        own = threshold - column * height
        assert 0 <= own < height
        words[column] += own
        words[alias] += height - own
    assert words[: table.count] == table.emitted
    assert words[table.count] == table.residual == (1 << table.width) - sum(table.emitted)
    assert not any(words[table.count + 1 :])


def test_wide_gaussian_accepts_with_the_exact_probability() -> None:
    """All words of block, place and coin: the accepted coins are the floor of 256 times the exact probability."""
    variance = Fraction(40)
    wide = WideGaussian(variance, 1, build(GaussianBlocks(variance, 1), WIDTH, 64))
    table = wide.blocks
    for block, low in itertools.product(range(0, WORDS, 5), range(2)):
        if _needs_more(table, block):
            continue
        signed = table.one(Tape([block], WIDTH))
        accepted = undecided = 0
        value = signed ^ low
        for coin in range(WORDS):
            try:
                assert wide.one(Tape([block, coin], WIDTH, [low])) == value
                accepted += 1
            except TapeEnd:
                # Either rejected, and a new proposal is wanted, or the coin's next digits are.
                undecided += coin == exp_floor(wide.exponent(max(signed, ~signed), low + (signed < 0)), WIDTH)
        start = max(signed, ~signed)
        assert accepted == exp_floor(Fraction(value**2 - start**2) / (2 * variance), WIDTH)
        assert undecided <= 1


def test_float_acceptance_stays_within_its_certified_margin() -> None:
    z = np.concatenate([np.linspace(0, 1, 2001)[:-1], np.nextafter(np.arange(1, 1025) / 1024, 0)])
    got = _exp_table(z.copy())
    for point, value in zip(z.tolist(), got.tolist(), strict=True):
        truth = exp_minus(Fraction(point))
        assert abs(Decimal(value) - truth) < Decimal(SLACK) / 4


def test_wide_gaussian_arrays_decide_as_the_integers_do() -> None:
    variance = Fraction(10**11) / 7
    wide = gaussian_tables(variance)
    assert isinstance(wide, WideGaussian)
    size = 1500
    words = Replayed("wide").words(3 * size).tolist()
    got = wide.draw(size, Tape(words, 64)).tolist()
    expected = []
    for block, place, coin in zip(words[:size], words[size : 2 * size], words[2 * size :], strict=True):
        signed, low = wide.blocks.one(Tape([block], 64)), place >> (64 - wide.b)
        start = max(signed, ~signed)
        value = signed ^ low
        exponent = Fraction(value**2 - start**2) / (2 * variance)
        if resumed(exponent, coin, 64, Tape([], 64)):
            expected.append(value)
    assert got == expected
    assert len(got) > 0.95 * size


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(20)])
def test_bernoulli_exp_over_all_coins(x: Fraction) -> None:
    true = lost = 0
    for first in range(WORDS):
        for second in range(WORDS):
            try:
                true += bernoulli_exp(x, Tape([first, second], WIDTH), WIDTH)
            except TapeEnd:
                lost += 1
    assert true == exp_floor(x, 2 * WIDTH)
    assert lost == (x != 0)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 8])
def test_uniform_over_all_coins(bound: int) -> None:
    length = (bound - 1).bit_length()
    count = length if bound == 1 << length else length + WIDTH
    got: Counter[int] = Counter()
    lost = 0
    for drawn in range(1 << count):
        try:
            got[uniform(bound, Tape([drawn] if count == WIDTH else [], WIDTH, [drawn]), WIDTH)] += 1
        except TapeEnd:
            lost += 1
    assert sorted(got) == list(range(bound))
    # Value v owns the integers u with v 2**count <= u bound and (u + 1) bound <= (v + 1) 2**count.
    for value, seen in got.items():
        first, end = -(-(value << count) // bound), ((value + 1) << count) // bound
        assert seen == end - first
    assert lost < bound


def test_bernoulli_over_all_coins() -> None:
    got: Counter[object] = Counter()
    for drawn in range(1 << 11):
        try:
            got[bernoulli(Fraction(2, 5), Tape([], WIDTH, [drawn]), WIDTH)] += 1
        except TapeEnd:
            got["lost"] += 1
    assert got[True] <= Fraction(2, 5) * 2**11 <= got[True] + got["lost"]
    assert got["lost"] <= 4
    assert bernoulli(0, Tape([], WIDTH, [0])) is False
    assert bernoulli(1, Tape([], WIDTH, [0])) is True


@pytest.mark.parametrize("over", [0, 1, 12, 31, 32])
def test_dyadic_over_all_coins_takes_the_same_coins_whatever_its_probability(over: int) -> None:
    assert sum(dyadic(over, 5, Tape([], WIDTH, [drawn])) for drawn in range(32)) == over


@pytest.mark.parametrize("bits", [8, 64, 200])
def test_exp_bounds_enclose(bits: int) -> None:
    for x in (Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(99, 7), Fraction(137), Fraction(5000)):
        low, high = scaled_exp_bounds(x, bits)
        truth = Fraction(exp_minus(x)) * (1 << bits)  # 80 digits, against bounds of at most 61
        assert low < truth < high
        assert high - low <= 2
    assert scaled_exp_bounds(Fraction(0), bits) == (1 << bits, 1 << bits)


def test_columns_hold_any_shares_to_the_word() -> None:
    """300 sets of random shares, many of them tiny or zero, at 8, 16 and 64 bits."""
    stream = Replayed("columns")
    for _ in range(300):
        width = (8, 16, 64)[uniform(3, stream)]
        order = 1 + uniform(6, stream)
        reach = 1 << (width if uniform(2, stream) else width - 6)
        cuts = sorted(uniform(reach, stream) for _ in range(1 + uniform((1 << order) - 1, stream)))
        shares_of_words = [end - start for start, end in itertools.pairwise([0, *cuts, 1 << width])]
        if max(shares_of_words) >> 64:
            continue
        thresholds, aliases = _alias(shares_of_words, width, order)
        height = 1 << (width - order)
        words = [0] * (1 << order)
        for column, (threshold, alias) in enumerate(zip(thresholds.tolist(), aliases.tolist(), strict=True)):
            own = threshold - column * height
            assert 0 <= own < height
            words[column] += own
            words[alias] += height - own
        assert words[: len(shares_of_words)] == shares_of_words
        assert not any(words[len(shares_of_words) :])


@pytest.mark.wide
@settings(max_examples=15, deadline=None)
@given(st.fractions(min_value=Fraction(1, 20), max_value=4, max_denominator=1000))
def test_shares_of_any_scale_are_the_floors(scale: Fraction) -> None:
    table = build(Head(scale, 0), 64, 1024)
    target = shares(head_weights(scale, 0, int(70 * scale) + 70), 64)
    assert all(share == target[table.law.value(symbol)] for symbol, share in enumerate(table.emitted))
    assert sum(floor > 0 for floor in target.values()) == table.count
