"""The samplers whose laws are too wide to list: recounted part by part, and run on words chosen for every threshold.

A table is recounted when every symbol has the whole number of words just below its share, by a computation of the
shares that is not the table's own. A wide discrete Laplace is an exclusive or of independent parts: its sign and high
part, P(h, sign) proportional to exp(-h 2**m / scale) and exp(-1 / scale) for the sign, and groups of low bits,
P(l) proportional to exp(-l 2**first / scale). If the groups tile the m low bits, exponents add up to that of the value
and every integer arises once, so the product is the law. Then the public functions run, as a release calls them
(an array below and from ``MANY`` values on, one value), on words on both sides of every threshold: a table of another
scale gives another value on one of them.

Branches by size, each with a parameter here: one table, or low bits in one group or several, with a last one that is
shorter; short arrays, long ones and more than one ``CHUNK``; a scale at ``LARGEST``, beyond it (single values only) and
beyond 64 bits; a Gaussian in one table, in blocks, and at its ``LARGEST``; more candidates than 64 and than ``ROW``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from reticent.errors import CheckError, PublicParameterError
from reticent.exact import categorical, coins, gaussian, laplace, sampling
from reticent.exact.alias_tables import CHUNK, PRODUCT, ROOMY, AliasTable, Shape
from reticent.exact.laplace import MANY
from reticent.exact.rounding import exp_floor, scaled_exp_bounds
from tests.assurance.claims import Line, Verdict
from tests.assurance.coins import More, Planted, agree, coin_law, floors, side_words, table_draws, table_law
from tests.assurance.laws import BITS, ONE, Law, chances

SMALL: Final = Shape(width=8, head=64, scale=2, low=2)
WORD: Final = 1 << (BITS - coins.WIDTH)  # the mass of one word of 64 bits
SPARE: Final = 64  # more places for powers than for masses
WIDE_SCALES: Final = (
    Fraction(1 << 13),
    Fraction(3 * (1 << 20) + 1),
    Fraction(10**9 + 7, 3),
    Fraction(1 << 40),
    Fraction(laplace.LARGEST),
)
BEYOND: Final = (Fraction(laplace.LARGEST + 1), Fraction(1 << 80))  # one value at a time, and of more than 64 bits
WIDE_VARIANCES: Final = (
    Fraction((1 << 22) + 1),
    Fraction(1 << 23),
    Fraction(3 * (1 << 40) + 1),
    Fraction(gaussian.LARGEST),
)
BEYOND_VARIANCE: Final = Fraction(gaussian.LARGEST + 1)
MORE: Final = (65, 300)  # candidates


def sampler(name: str, what: str, laws: Sequence[Law], right: bool) -> Line:
    """The line of a sampler, with the most mass of one law that was not decided."""
    residual = max((Fraction(law.residual, ONE) for law in laws), default=Fraction(0))
    verdict: Verdict = "holds" if right else "refuted"
    runs = sum(law.runs for law in laws)
    what = f"{what}, {runs} strings or intervals" if runs > len(laws) else what
    return Line(f"sampler {name}", what, "the law described", 0, 0, 0, residual, residual, None, verdict)


def noise(*, deep: bool = False) -> Iterator[Line]:
    """The tables behind discrete_laplace, discrete_gaussian and their one_ forms, and permute-and-flip among many."""
    yield from _listed(deep)
    for shape, how in ((PRODUCT, "short arrays and single values"), (ROOMY, "long arrays")):
        yield _wide_laplace(shape, how)
    yield _beyond_laplace()
    yield _wide_gaussian(deep)
    yield _flips()


def holds(check: Callable[[], bool]) -> bool:
    """What ``check`` says; False where the program asks for more words than it was given, or for others."""
    try:
        return check()
    except (CheckError, More, AssertionError):
        return False


def _shown(parameters: Sequence[Fraction]) -> str:
    """A few parameters in words, many by their number."""
    return ", ".join(map(str, parameters)) if len(parameters) <= 6 else f"{len(parameters)} parameters"


# --- laws that can be listed -----------------------------------------------------------------------------------------


def _listed(deep: bool) -> Iterator[Line]:
    scales = [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(40)] + [Fraction(n, 3) for n in range(1, 42)] * deep
    variances = [Fraction(1, 3), Fraction(9), Fraction(100)] + [Fraction(n * n, 7) for n in range(1, 30)] * deep
    some = scales[:3]
    laws = [coin_law(laplace.laplace_tables(s, SMALL).one, least=Fraction(1, 1 << 22)) for s in some]
    right = all(agree(found, sampling.DiscreteLaplace(s)) for found, s in zip(laws, some, strict=True))
    yield sampler("discrete_laplace", f"all strings of 8 bits a word; scales {_shown(some)}", laws, right)
    for shape, how in ((PRODUCT, "short arrays and single values"), (ROOMY, "long arrays")):
        yield _tables("discrete_laplace", f"64-bit tables of {how}", scales, shape)
        if shape is PRODUCT:
            yield _tables("discrete_gaussian", f"64-bit tables of {how}", variances, shape)
    few = variances[:2]
    narrow = [gaussian.gaussian_tables(v, SMALL) for v in few]
    laws = [coin_law(table.one, least=Fraction(1, 1 << 22)) for table in narrow]
    right = all(agree(found, sampling.DiscreteGaussian(v)) for found, v in zip(laws, few, strict=True))
    yield sampler("discrete_gaussian", f"all strings of 8 bits a word; variances {_shown(few)}", laws, right)


def _tables(kind: str, name: str, parameters: Sequence[Fraction], shape: Shape) -> Line:
    laws, right, words = [], True, 0
    for parameter in parameters:
        try:
            found, law, drawn = _table(kind, parameter, shape)
        except (CheckError, More, AssertionError):
            right = False
            continue
        words += drawn
        laws.append(found)
        right = right and agree(found, law)
    what = f"{name}: integers recounted, {words} words drawn; {kind.removeprefix('discrete_')} {_shown(parameters)}"
    return sampler(kind, what, laws, right)


def _table(kind: str, parameter: Fraction, shape: Shape) -> tuple[Law, sampling.Law, int]:
    """The law of the program from its tables; a Laplace joins those of its head and of its low bits."""
    if kind == "discrete_gaussian":
        table = gaussian.gaussian_tables(parameter, shape)
        assert isinstance(table, AliasTable)
        law: sampling.Law = sampling.DiscreteGaussian(parameter)
        _floored(table, law)
        _same(parameter, table, gaussian.one_discrete_gaussian, gaussian.discrete_gaussian)
        return table_law(table), law, table_draws(table)
    tables = laplace.laplace_tables(parameter, shape)
    drawn = sum(table_draws(table) for table in (tables.head, *tables.lows))
    law = sampling.DiscreteLaplace(parameter)
    joined = table_law(tables.head)
    if not tables.lows:
        _floored(tables.head, law)
    for low in tables.lows:
        joined = _joined(joined, table_law(low))
    return joined, law, drawn + _through(parameter, shape, tables)


def _floored(table: AliasTable, law: sampling.Law) -> None:
    if not floors(table_law(table), law):
        raise CheckError("a share is not the floor of its probability")


def _joined(first: Law, second: Law) -> Law:
    """The law of the exclusive or of two independent values."""
    masses: dict[Any, tuple[int, int]] = {}
    for (one, (a, _)), (other, (b, _)) in product(first.masses.items(), second.masses.items()):
        assert isinstance(one, tuple)
        assert isinstance(other, tuple)
        value = ("int", one[1] ^ other[1])
        before = masses.get(value, (0, 0))[0]
        masses[value] = (before + (a * b >> BITS),) * 2
    return Law(masses, ONE - sum(mass for mass, _ in masses.values()), 1)


# --- the public functions, on chosen words ---------------------------------------------------------------------------


def _same(parameter: Fraction, table: AliasTable, one: Any, array: Any) -> None:
    """Whether the public functions of a single table look up this table."""
    values, words = side_words(table)
    if array(parameter, len(values), Planted(list(words))).tolist() != values:
        raise CheckError("an array is drawn from another table")
    if [one(parameter, Planted([word])) for word in words] != values:
        raise CheckError("a value is drawn from another table")


def _through(scale: Fraction, shape: Shape, tables: laplace.LaplaceTables) -> int:
    """Run the array sampler and the single one on both sides of every threshold; returns how many words."""
    sides = [side_words(table) for table in (tables.head, *tables.lows)]
    size = max(len(words) for _, words in sides)
    if shape is ROOMY:
        size = max(size, MANY + 1)  # the public function takes these tables, and more than one chunk
    columns = [[words[place % len(words)] for place in range(size)] for _, words in sides]
    values = [0] * size
    for some, _ in sides:
        values = [value ^ some[place % len(some)] for place, value in enumerate(values)]
    chunks = range(0, size, CHUNK)
    tape = [word for start in chunks for column in columns for word in column[start : start + CHUNK]]
    if laplace.discrete_laplace(scale, size, Planted(tape)).tolist() != values:
        raise CheckError("an array is joined to another value, or from other tables")
    if shape is PRODUCT:
        rows = zip(*columns, strict=True)
        if [laplace.one_discrete_laplace(scale, Planted(list(row))) for row in rows] != values:
            raise CheckError("a single value is joined to another value, or from other tables")
    return size * len(columns) * (2 if shape is PRODUCT else 1)


# --- a wide Laplace --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Values and their certified probabilities in units of 2**-BITS."""

    shares: dict[int, tuple[int, int]]

    def floors(self, table: AliasTable) -> bool:
        """Whether the table's words are these values', each with the whole number of words just below its share."""
        masses = {value: mass for (_, value), (mass, _) in _values(table_law(table))}
        if any(value not in self.shares and mass > 0 for value, mass in masses.items()):
            return False
        return all(
            masses.get(value, 0) <= high and low < masses.get(value, 0) + WORD
            for value, (low, high) in self.shares.items()
            if value in masses or low >= WORD
        )


def _values(law: Law) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    for outcome, mass in law.masses.items():
        assert isinstance(outcome, tuple)
        yield (outcome[0], int(outcome[1])), mass


def _head(scale: Fraction, m: int, most: int) -> _Part:
    """P(h, +) = (1 - Q) Q**h / (1 + q) at h * 2**m, and q times it at the complement; Q = exp(-2**m / scale)."""
    work = BITS + SPARE
    one = 1 << work
    q_low, q_high = scaled_exp_bounds(1 / scale, work)
    step_low, step_high = scaled_exp_bounds((1 << m) / scale, work)
    low, high = ((one - step_high) << work) // (one + q_high), -((-(one - step_low) << work) // (one + q_low))
    shares: dict[int, tuple[int, int]] = {}
    place = 0
    while high >> SPARE >= WORD >> 8 and place <= most:  # what is fainter has no word
        shares[place << m] = low >> SPARE, -(-high >> SPARE)
        shares[~(place << m)] = low * q_low >> work + SPARE, -(-high * q_high >> work + SPARE)
        low, high = low * step_low >> work, -(-high * step_high >> work)
        place += 1
    return _Part(shares)


def _low(scale: Fraction, first: int, count: int) -> _Part:
    """P(l) = (1 - r) r**l / (1 - r**(2**count)) at l * 2**first, r = exp(-2**first / scale)."""
    work = BITS + SPARE + 2 * count + 64  # 1 - r is small where the scale is large
    work += 2 * max(0, scale.numerator.bit_length() - scale.denominator.bit_length())
    low, high = scaled_exp_bounds((1 << first) / scale, work)
    lows, highs = [1 << work], [1 << work]
    for _ in range((1 << count) - 1):
        lows.append(lows[-1] * low >> work)
        highs.append(-(-highs[-1] * high >> work))
    least, most = sum(lows), sum(highs)
    return _Part(
        {
            place << first: ((a << BITS) // most, -((-b << BITS) // least))
            for place, (a, b) in enumerate(zip(lows, highs, strict=True))
        }
    )


def _recounted(scale: Fraction, tables: laplace.LaplaceTables) -> bool:
    """Whether head and low bits have their laws and tile all integers."""
    counts = [(table.count - 1).bit_length() for table in tables.lows]
    firsts = [sum(counts[:place]) for place in range(len(counts))]
    parts = [(tables.head, _head(scale, sum(counts), tables.head.count))]
    parts += [
        (table, _low(scale, first, count)) for table, first, count in zip(tables.lows, firsts, counts, strict=True)
    ]
    return all(part.floors(table) for table, part in parts)


def _wide_laplace(shape: Shape, how: str) -> Line:
    right, words, residual = True, 0, 0
    for scale in WIDE_SCALES:
        tables = laplace.laplace_tables(scale, shape)
        every = (tables.head, *tables.lows)
        try:
            right = _recounted(scale, tables) and right
            words += sum(table_draws(table) for table in every) + _through(scale, shape, tables)
        except (CheckError, More, AssertionError):
            right = False
        residual = max(residual, sum(table.residual for table in every) * WORD)
    what = f"tables of {how} recounted, tiling checked, {words} words drawn; scales {_shown(WIDE_SCALES)}"
    return sampler("discrete_laplace, several tables", what, [Law({}, residual, 1)], right)


def _beyond_laplace() -> Line:
    """Scales an array refuses: single values, whose head no longer fits 64 bits."""
    right, words, residual = True, 0, 0
    for scale in BEYOND:
        tables = laplace.laplace_tables(scale)
        every = (tables.head, *tables.lows)
        right = holds(partial(_single, scale, tables)) and holds(partial(_recounted, scale, tables)) and right
        right = _refused(partial(laplace.discrete_laplace, scale, 2)) and right
        words += max(len(side_words(table)[1]) for table in every) * len(every)
        residual = max(residual, sum(table.residual for table in every) * WORD)
    what = f"single values recounted, {words} words drawn, arrays refused; scales 2**56 + 1, 2**80"
    return sampler("one_discrete_laplace, beyond 2**56", what, [Law({}, residual, 1)], right)


def _single(scale: Fraction, tables: laplace.LaplaceTables) -> bool:
    """Whether single values are joined from these tables, on both sides of every threshold."""
    sides = [side_words(table) for table in (tables.head, *tables.lows)]
    for place in range(max(len(words) for _, words in sides)):
        value = 0
        for some, _ in sides:
            value ^= some[place % len(some)]
        row = [words[place % len(words)] for _, words in sides]
        if laplace.one_discrete_laplace(scale, Planted(row)) != value:
            return False
    return True


def _refused(draw: Any) -> bool:
    try:
        draw(Planted([]))
    except PublicParameterError:
        return True
    except More:
        pass
    return False


# --- a wide Gaussian -------------------------------------------------------------------------------------------------


def _wide_gaussian(deep: bool) -> Line:
    """Beyond one table: the blocks recounted, and the coins on both sides of each acceptance threshold."""
    right, words, tried, laws = True, 0, 0, []
    for variance in WIDE_VARIANCES:
        wide = gaussian.gaussian_tables(variance)
        assert isinstance(wide, gaussian.WideGaussian)
        step = 1 if deep else 7
        columns = range(0, len(wide.blocks.thresholds), step)
        proposals = [(column, ((column * 37 << wide.b) // 1009 + 1) % (1 << wide.b)) for column in columns]
        # Block symbols 2i and 2i + 1 have P proportional to exp(-(i 2**b)**2 / (2 variance)); beyond 800: < 2**-150.
        exponents = tuple(Fraction(((symbol >> 1) << wide.b) ** 2) / (2 * variance) for symbol in range(800))
        shares = {symbol: (low, high) for symbol, low, high in chances(sampling.Categorical(exponents, (1,) * 800), 0)}
        places = [((symbol >> 1) << wide.b) ^ -(symbol & 1) for symbol in range(800)]
        part = _Part({places[symbol]: bounds for symbol, bounds in shares.items()})
        right = holds(partial(part.floors, wide.blocks)) and holds(partial(_accepted, wide, proposals)) and right
        words += table_draws(wide.blocks)
        tried += len(proposals)
        laws.append(table_law(wide.blocks))
    right = right and _refused(partial(gaussian.discrete_gaussian, BEYOND_VARIANCE, 2))
    what = (
        f"blocks recounted, {words} words drawn, acceptance of {tried} proposals at 64 bits, in arrays and singly, "
        f"larger arrays refused; variances {_shown(WIDE_VARIANCES)}"
    )
    return sampler("discrete_gaussian, wide", what, laws, right)


def _accepted(wide: gaussian.WideGaussian, proposals: Sequence[tuple[int, int]]) -> bool:
    """Whether the public functions accept each proposal on exactly its share of the 2**64 coins.

    An array of one value makes nine proposals. Eight are on the coin just above their share, the last is on the one
    just below its own, so that its value and no other comes out.
    """
    rows = list(_proposals(wide, proposals))
    for place in range(len(rows)):
        nine = [rows[(place + i) % len(rows)] for i in range(9)]
        coin = [share + 1 for _, _, _, share in nine[:8]] + [nine[8][3] - 1]
        tape = [word for word, _, _, _ in nine] + [low << (64 - wide.b) for _, low, _, _ in nine] + coin
        value = nine[8][2]
        if gaussian.discrete_gaussian(wide.variance, 1, Planted(tape)).tolist() != [value]:
            return False
        single = [number for i in (7, 8) for number in (nine[i][0], nine[i][1], coin[i])]
        if gaussian.one_discrete_gaussian(wide.variance, Planted(single)) != value:
            return False
    return True


def _proposals(
    wide: gaussian.WideGaussian, proposals: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    """A word of the block table, low bits, the value proposed, and how many coins accept it."""
    table = wide.blocks
    for column, low in proposals:
        word = column << (table.width - table.order)
        symbol = column if int(table.thresholds[column]) > word else int(table.aliases[column])
        if symbol < table.count:
            signed = table.law.value(symbol)
            value, start = signed ^ low, max(signed, ~signed)
            share = exp_floor(Fraction(value**2 - start**2) / (2 * wide.variance), coins.WIDTH)
            if 0 < share < (1 << coins.WIDTH) - 1:
                yield word, low, value, share


# --- permute-and-flip among many -------------------------------------------------------------------------------------


def _flips() -> Line:
    """Each candidate's coin on both sides of its share; of the accepted, the one of least key is returned.

    Candidate 0 has the least score and always accepts. Another is met with the least key: it comes out if it accepts,
    else candidate 0 does, whose key is the next; all others reject.
    """
    right, tried = True, 0
    for count, rate in ((count, rate) for count in MORE for rate in (Fraction(1, 2), Fraction(1, 1000))):
        scores = [0] + [1 + place * 5 % 31 for place in range(1, count)]
        share = [exp_floor(rate * score, coins.WIDTH) for score in scores]
        keys = [count + place for place in range(count)]
        for chosen in range(1, count, 1 + count // 60):
            for coin, expected in ((share[chosen] - 1, chosen), (share[chosen] + 1, 0)):
                toss = [0, *[one + 1 for one in share[1:]]]
                toss[chosen] = coin
                order = [*keys]
                order[0], order[chosen] = 1, 0
                tape = Planted([*toss, *order, 0])
                right = right and holds(partial(_flipped, scores, rate, tape, expected))
                tried += 1
    what = f"among {' and '.join(map(str, MORE))} candidates, {tried} coins on both sides of their shares of 64 bits"
    return sampler("permute_and_flip, many", what, [Law({}, 0, 1)], right)


def _flipped(scores: Sequence[int], rate: Fraction, tape: Planted, expected: int) -> bool:
    return categorical.permute_and_flip(np.array(scores, np.int64), rate, tape) == expected
