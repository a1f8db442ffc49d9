"""Subsampling: a mechanism that draws its own secret sample of the units, adds up their integers and hands the sum on.

Statement. (a) ``Poisson``: let the mechanism behind it be (eps, delta)-DP if one unit is added or removed. Let each
unit take part with probability q by its own coin. The whole is then (ln(1 + q (e^eps - 1)), q delta)-DP if one unit is
added or removed. (b) ``WithoutReplacement``: let the mechanism behind it be (eps, delta)-DP if one unit is replaced,
and let a uniform subset of m of the n units take part. The whole is then (ln(1 + m/n (e^eps - 1)), m/n delta)-DP if one
of the n units is replaced.

Source. Li, Qardaji and Su 2012, Theorem 1; Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.

Proof. docs/proofs/amplification.md. What it asks of the program: the coins are exact and fresh in every call; one
entropy object serves the sample and the noise. The identity and number of those sampled is neither returned nor kept.
The sum is an exact integer. Every unit is added, times 0 or 1, so the work does not tell who took part.

Deviations. Nobody but this file can ask for the amplified loss: a rate claimed for rows that somebody picked earlier
proves nothing, because two answers from the same sample tell more than the two losses say. A mechanism proved in zCDP
is amplified through its dominating pair (add/remove only). Otherwise it is first read at a named ``delta`` as (eps,
delta). None of the amplification theorems for Renyi divergences is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Final, TypeAlias

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact import random_subset
from reticent.mechanisms.gate import Mechanism, Specimen
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.geometric import mass as geometric_mass
from reticent.privacy import amplify
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_approx
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PLD, ZCDP, ApproxZCDP, GaussianDP, Renyi
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1

Row: TypeAlias = tuple[int, ...]
Behind: TypeAlias = Mechanism[Sequence[int], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Poisson:
    """Each unit takes part with probability ``rate``; ``mechanism`` protects the sum of those who do.

    Parameters
    ----------
    mechanism : Mechanism
        Integers in, noisy integers out; its guarantee is about adding or removing one unit, whose contribution must
        respect the sensitivity it was built for.
    rate : Fraction
        Strictly between 0 and 1.
    length : int
        Public number of integers each unit contributes, >= 1.
    delta : Fraction or None
        Where the guarantee of ``mechanism`` is in zCDP without a dominating pair: the delta at which it is read as
        (epsilon, delta), in (0, 1). The whole then has rate * delta.

    Raises
    ------
    PublicParameterError
        For a rate outside (0, 1), a guarantee about other neighbours, a loss that is not amplified.

    Guarantee
    ---------
    (ln(1 + rate (e^epsilon - 1)), rate delta) under add/remove, and the sampled dominating pair.
    """

    mechanism: Behind
    rate: Fraction
    length: int = 1
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        _check_length(self.length)
        _ = self.guarantee  # refuses what is not amplified

    @property
    def guarantee(self) -> Guarantee:
        return amplify.poisson(_converted(self.mechanism, self.delta), self.rate)

    def sample(self, exact: Sequence[Row], entropy: Entropy) -> tuple[int, ...]:
        """The noisy sum over a fresh secret sample; multiply by 1 / rate for an unbiased sum over all.

        Raises
        ------
        PublicParameterError
            For rows that are no tuples of ``length`` ints; before anything is drawn.
        """
        _check_rows(exact, self.length)
        taking_part = random_subset.independent(len(exact), self.rate, entropy)
        return self.mechanism.sample(_sum(exact, taking_part, self.length), entropy)


@dataclass(frozen=True, slots=True)
class WithoutReplacement:
    """A uniform subset of ``size`` of the ``people`` units takes part; ``mechanism`` protects their sum.

    Parameters
    ----------
    mechanism : Mechanism
        Integers in, noisy integers out; its guarantee is about replacing one unit.
    size, people : int
        1 <= ``size`` < ``people``, public.
    length : int
        Public number of integers each unit contributes, >= 1.
    delta : Fraction or None
        Where the guarantee of ``mechanism`` is in zCDP: the delta at which it is read as (epsilon, delta).

    Raises
    ------
    PublicParameterError
        For sizes out of range, a guarantee about other neighbours, a loss that is not amplified.

    Guarantee
    ---------
    (ln(1 + size/people (e^epsilon - 1)), size/people delta) under substitution.
    """

    mechanism: Behind
    size: int
    people: int
    length: int = 1
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        _check_length(self.length)
        _ = self.guarantee

    @property
    def guarantee(self) -> Guarantee:
        return amplify.without_replacement(_converted(self.mechanism, self.delta), self.size, self.people)

    def sample(self, exact: Sequence[Row], entropy: Entropy) -> tuple[int, ...]:
        """The noisy sum over a fresh secret sample; multiply by people / size for an unbiased sum over all.

        Raises
        ------
        PublicParameterError
            Unless there are exactly ``people`` rows, tuples of ``length`` ints; before anything is drawn.
        """
        if len(exact) != self.people:
            raise PublicParameterError(f"made for {self.people} units: their number is public and fixed")
        _check_rows(exact, self.length)
        taking_part = random_subset.subset(self.people, self.size, entropy)
        return self.mechanism.sample(_sum(exact, taking_part, self.length), entropy)


def _converted(mechanism: Behind, delta: Fraction | None) -> Guarantee:
    part = mechanism.guarantee
    match part.loss:
        case ZCDP() | ApproxZCDP() | Renyi() | GaussianDP() | PLD() if delta is not None:
            return as_approx(part, delta)
        case _ if delta is not None:
            raise PublicParameterError(f"this mechanism is not read at a δ: it has its own, got {show(delta)}")
        case _:
            return part


def _check_length(length: int) -> None:
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise PublicParameterError(f"length must be an integer >= 1, got {length}")


def _check_rows(rows: Sequence[Row], length: int) -> None:
    for row in rows:
        if type(row) is not tuple or len(row) != length or any(type(value) is not int for value in row):
            raise PublicParameterError(f"every unit contributes a tuple of {length} int")


def _sum(rows: Iterable[Row], taking_part: Iterator[bool], length: int) -> Row:
    """Every row is added, times 0 or 1."""
    total = [0] * length
    for row, taken in zip(rows, taking_part, strict=True):
        for place, value in enumerate(row):
            total[place] += value * taken
    return tuple(total)


def poisson_sums(values: Sequence[int], rate: Fraction) -> dict[int, Fraction]:
    """The law of the sum over a sample of a few units, one integer each, by listing all samples."""
    law: dict[int, Fraction] = {}
    for taken in product((0, 1), repeat=len(values)):
        chance = math.prod((rate if one else 1 - rate for one in taken), start=Fraction(1))
        total = sum(value * one for value, one in zip(values, taken, strict=True))
        law[total] = law.get(total, Fraction(0)) + chance
    return law


def subset_sums(values: Sequence[int], size: int) -> dict[int, Fraction]:
    """The law of the sum over a uniform subset of a few units, one integer each, by listing all subsets."""
    law: dict[int, Fraction] = {}
    for taken in combinations(values, size):
        law[sum(taken)] = law.get(sum(taken), Fraction(0)) + Fraction(1, math.comb(len(values), size))
    return law


def _mass(sums: dict[int, Fraction], scale: float, output: int) -> float:
    return sum(float(chance) * geometric_mass(scale, total, output) for total, chance in sums.items())


def _specimens() -> tuple[Specimen[Sequence[Row], tuple[int, ...]], ...]:
    coins = Poisson(Geometric(L1(Fraction(1), Adjacency("add_remove")), Fraction(1)), Fraction(1, 3))
    drawn = WithoutReplacement(Geometric(L1(Fraction(2), Adjacency("substitute")), Fraction(1)), 2, 5)

    def by_coins(rows: Sequence[Row], output: tuple[int, ...]) -> float:
        return _mass(poisson_sums([row[0] for row in rows], coins.rate), 1.0, output[0])

    def by_draws(rows: Sequence[Row], output: tuple[int, ...]) -> float:
        return _mass(subset_sums([row[0] for row in rows], drawn.size), 2.0, output[0])

    return (
        Specimen("Poisson sampled at 1/3", coins, ((1,), (0,), (1,)), ((1,), (0,), (1,), (1,)), by_coins),
        Specimen(
            "2 of 5 without replacement",
            drawn,
            ((0,), (2,), (1,), (2,), (0,)),
            ((2,), (2,), (1,), (2,), (0,)),
            by_draws,
        ),
    )


SPECIMENS: Final = _specimens()
