"""Weighted selection: which keys of a column are listed, where a person with several keys weighs less in each.

Statement. A person with d <= t keys gives each of them the weight w(d) = floor(U / sqrt d), in units of 1 / U. A key is
listed by a coin of its own. Its probability p(w) is that of w + sigma U N being at least a public threshold, N standard
normal. A key of weight 0 is never listed. With one person more or less the list is (eps, delta)-differentially private
for delta = excess(1 / sigma, eps) + max over d of d p(w(d)). There excess(mu, eps) is the largest
P(N + mu in S) - e^eps P(N in S). A person who is replaced makes it excess(sqrt 2 / sigma, eps) + 2 max over d of
d p(w(d)).

With ``returns`` keys of much weight give it back by ``weight_return``, which keeps the bound on a person's change. Many
keys then change, of which all but those of the person have a positive weight on both sides.

Source. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin 2020, Theorem 5.2 (weights, Gaussian noise, threshold);
Balle and Wang 2018, Theorem 8 (excess).

Proof. docs/proofs/found_groups.md, Propositions 4 to 6. Keys that both tables have are a Gaussian mechanism of L2
sensitivity 1, or sqrt 2. Each key that one table alone has is listed with the probability p(w(d)) at most; the other
lists none.

Deviations. Weights are integers, rounded down, and p is a multiple of 2^-b, rounded down; delta counts what rounding
may add. ``at_least`` = k takes the k - 1 largest weights off each key, so a key of fewer persons is not listed, for
certain; then no weight returns. Above an epsilon of 64 the rule is that of 64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import dyadic, dyadic_late
from reticent.exact.normal import normal_quantile_bounds, normal_tail_bounds, shift_excess_bounds
from reticent.exact.rounding import exp_up, sqrt_up
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.weight_return import FULL, WeightReturn
from reticent.mechanisms.weight_return import MOST as MOST_RETURN
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import ApproxDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.sensitivity import L2

THEOREM: Final = Theorem(
    "weighted_selection",
    "keys are listed by coins of noisy weights, of which a person with several keys gives less to each",
    "Gopi et al. 2020, Theorem 5.2; Balle and Wang 2018, Theorem 8",
)
UNIT: Final = 1 << 20  # of weights
GRID: Final = 32  # public weights of which the probability is kept, for each deviation
REACH: Final = 10  # deviations from the threshold up to which it is
STEEPEST: Final = Fraction(64)  # of epsilon
MOST: Final = 4096  # keys of a person
NARROWEST: Final = Fraction(1, 1 << 10)  # deviation
FINE: Final = 1 << 24  # denominator of a deviation
ENOUGH: Final = 4  # deviations above the threshold at which a key begins to give back: 1 of 30,000 is not listed
ROWS: Final = 63  # bits of the number of keys in a table


@dataclass(frozen=True, slots=True)
class WeightedSelection:
    """Lists keys by the weights of their persons.

    Attributes
    ----------
    neighbours : Adjacency
    epsilon, delta : Fraction
        Loss of the whole list: epsilon > 0, delta in (0, 1).
    groups : int
        Most keys that a person counts in.
    deviation : Fraction
        Of the noise, as a multiple of the weight of a person with one key.
    threshold : int
        Weight at which a key is listed half of the time.
    at_least : int
        A key of fewer persons is not listed, for certain; >= 1.
    returns : WeightReturn, optional
        Rule by which keys of much weight give it back; none where ``at_least`` is above 1.
    """

    neighbours: Adjacency
    epsilon: Fraction
    delta: Fraction
    groups: int
    deviation: Fraction
    threshold: int
    at_least: int = 1
    returns: WeightReturn | None = None

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if positive(self.delta, "delta") >= 1:
            raise PublicParameterError(f"delta must be below 1, got {show(self.delta)}")
        for name, number in (("groups", self.groups), ("at_least", self.at_least), ("threshold", self.threshold)):
            if type(number) is not int or number < 1:
                raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")
        if self.groups > MOST:
            raise PublicParameterError(f"a person in so many keys ({self.groups:,}) leaves nothing for each of them")
        if positive(self.deviation, "deviation") < NARROWEST:
            raise PublicParameterError(f"the deviation is at least {show(NARROWEST)}, got {show(self.deviation)}")
        if self.returns is not None:
            if self.at_least > 1:
                raise PublicParameterError("no weight returns where a key needs several persons")
            if self.returns.weights != _weights(self.groups):
                raise PublicParameterError("weight returns by the weights of the list")
        if self._spent > self.delta:
            raise PublicParameterError(f"so little noise spends a delta above {show(self.delta)}")

    @property
    def sides(self) -> int:
        """Tables of a pair of neighbours in which somebody stands who is not in the other."""
        return _sides(self.neighbours)

    @property
    def changes(self) -> int:
        """Keys whose number of persons may change between neighbours, by at most 1 each."""
        return self.groups * self.sides

    @property
    def sensitivity(self) -> L2:
        """Sensitivity of all weights to one neighbour."""
        return L2(Fraction(self.sides * (UNIT * self.parts) ** 2), self.neighbours)

    @property
    def parts(self) -> int:
        """Number of parts of a unit of weight: weights that return are finer."""
        return 1 if self.returns is None else FULL

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            ApproxDP(self.epsilon, self.delta),
            self.neighbours,
            THEOREM,
            epsilon=show(self.epsilon),
            delta=show(self.delta),
            groups=str(self.groups),
            deviation=show(self.deviation),
            threshold=str(self.threshold),
            pair=None,
            **({} if self.returns is None else {"returns": str(self.returns.enough)}),
        )

    @property
    def places(self) -> int:
        """Bits of a coin."""
        return _places(self.epsilon, self.delta, self._changed)

    @property
    def _changed(self) -> int:
        """Keys whose weight may change when a person comes: their own, or all there are."""
        return self.groups if self.returns is None else 1 << ROWS

    @property
    def _spent(self) -> Fraction:
        noise = _noise_delta(self.epsilon, self.deviation, self.sides)
        return noise + self.sides * self._new() + _rounding(self.epsilon, self.delta, self._changed)

    def _new(self) -> Fraction:
        """At or above the probability that a key of one person alone is listed, with all of that person's keys."""
        more = self.returns is not None  # what returns adds less than a unit to a weight of the fewest keys
        most = _largest(self.groups, lambda few, many: many * (self._chance((weight_of(few) + more) * self.parts) + 2))
        return Fraction(most, 1 << self.places)

    def _chance(self, weight: int) -> int:
        """The probability of a coin, as a multiple of 2^-places."""
        return _tail(self.threshold - Fraction(weight, self.parts), self.deviation, self.places) if weight else 0

    def at(self, weight: int) -> Fraction:
        """Probability that a key of a weight, in ``parts`` of a unit, is listed: within two units of its last place."""
        return Fraction(self._chance(weight), 1 << self.places)

    def chance(self, persons: int) -> Fraction:
        """Probability that a key of so many persons is listed, if each of them has ``groups`` keys; at least that."""
        weight = max(0, persons - self.at_least + 1) * weight_of(self.groups)
        return self.at(self.parts * (weight if self.returns is None else min(weight, self.returns.enough)))

    def fewest(self, chance: Fraction) -> int:
        """The least number of persons of one key each at which that is so: no key of fewer is listed as often."""
        return self.persons(chance, 1)

    def persons(self, chance: Fraction, keys: int | None = None) -> int:
        """The least number of persons at which a key is listed with at least a probability.

        Parameters
        ----------
        chance : Fraction
            In (0, 1).
        keys : int, optional
            Keys of each of the persons; by default as many as one can have, so that it holds whatever they have.

        Returns
        -------
        int
        """
        each = weight_of(keys or self.groups)
        reach = -normal_quantile_bounds(chance)[0] * self.deviation * UNIT if chance != Fraction(1, 2) else Fraction(0)
        number = max(1, math.ceil((self.threshold - reach) / each))
        while self.at(number * each * self.parts) < chance:
            number += 1
        return number + self.at_least - 1

    def may_list(self, weight: int) -> bool:
        """True if a key of this weight can be listed."""
        return weight > 0

    def weights(self, degrees: Mapping[str, Sequence[int]], returned: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The weight of each key, in ``parts`` of a unit.

        Parameters
        ----------
        degrees : mapping of str to sequence of int
            Persons of a key with one key, with two keys, and so on.
        returned : mapping of str to sequence of int
            Sum over these persons of the shares that their keys give back; empty where no weight returns.

        Returns
        -------
        dict of str to int
        """
        if self.returns is None:
            return {key: _weight(counts, self.at_least) for key, counts in degrees.items()}
        return {key: self.returns.weight(counts, returned[key]) for key, counts in degrees.items()}

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """1 for each key that is listed, else 0: as many coins of one length as there are keys."""
        found = integers(exact, "the weights")
        if any(number < 0 for number in found):
            raise PublicParameterError("no key has a weight below 0")
        return tuple(int(self._tossed(weight, entropy)) for weight in found)

    def _tossed(self, weight: int, entropy: Entropy) -> bool:
        """The coin of a weight; kept probabilities of public weights decide nearly always."""
        if weight <= 0:
            return dyadic(0, self.places, entropy)
        step, kept = _kept(self.deviation, self.places)
        place, last = (weight // self.parts - self.threshold) // step + REACH * GRID, len(kept) - 1
        least = kept[min(place, last)] if place >= 0 else 0
        most = kept[max(place + 1, 0)] if place < last else 1 << self.places
        return dyadic_late((least, most), lambda: self._chance(weight), self.places, entropy)

    def listed(self, weights: Mapping[str, int], entropy: Entropy) -> tuple[str, ...]:
        """The keys that are listed, sorted by their text: the order of ``weights`` is not told."""
        keys = sorted(weights)
        shown = self.sample([weights[key] for key in keys], entropy)
        return tuple(key for key, one in zip(keys, shown, strict=True) if one)


def weight_of(keys: int) -> int:
    """The weight that a person with so many keys gives to each, rounded down."""
    return math.isqrt(UNIT**2 // keys)


def _weights(groups: int) -> tuple[int, ...]:
    return tuple(map(weight_of, range(1, groups + 1)))


def _weight(counts: Sequence[int], at_least: int) -> int:
    """The weight of a key without its ``at_least`` - 1 largest parts."""
    total, off = 0, at_least - 1
    for place, number in enumerate(counts):
        total += max(0, number - off) * weight_of(place + 1)
        off = max(0, off - number)
    return total


def weighted_list(
    neighbours: Adjacency, epsilon: Fraction, delta: Fraction, *, groups: int, at_least: int = 1
) -> WeightedSelection:
    """The selection whose whole list costs (epsilon, delta): half of delta for the noise, half for keys of one person.

    Parameters
    ----------
    neighbours : Adjacency
        Relation between neighbours.
    epsilon, delta : Fraction
        Loss of the whole list.
    groups : int
        Most keys that a person counts in, >= 1.
    at_least : int
        Least number of persons of a listed key.

    Returns
    -------
    WeightedSelection
        Mechanism for the weights of all keys.

    Raises
    ------
    PublicParameterError
        Unless epsilon is a Fraction above 0.
    """
    positive(epsilon, "epsilon")
    back = at_least == 1 and 2 <= groups <= MOST_RETURN
    changed = 1 << ROWS if back else groups
    deviation, threshold = _calibrated(epsilon, delta, groups, _sides(neighbours), changed)
    enough = max(UNIT, threshold + math.ceil(ENOUGH * deviation * UNIT))
    returns = WeightReturn(_weights(groups), enough) if back else None
    return WeightedSelection(neighbours, epsilon, delta, groups, deviation, threshold, at_least, returns)


@lru_cache(maxsize=64)
def _calibrated(epsilon: Fraction, delta: Fraction, groups: int, sides: int, changed: int) -> tuple[Fraction, int]:
    """Deviation and threshold for a loss; of more changed keys than a person has, weights are a unit higher."""
    places, more = _places(epsilon, delta, changed), changed > groups
    half = delta / 2
    high = Fraction(1)
    while _noise_delta(epsilon, high, sides) > half:
        high *= 2
    low = high / 2
    while low > NARROWEST and _noise_delta(epsilon, low, sides) <= half:
        low, high = low / 2, low
    high = max(high, NARROWEST)
    while high - low > high / (1 << 12):
        middle = Fraction(math.ceil((low + high) / 2 * FINE), FINE)
        if not low < middle < high:
            break
        low, high = (low, middle) if _noise_delta(epsilon, middle, sides) <= half else (middle, high)
    left = (half - _rounding(epsilon, delta, changed)) / sides
    return high, _largest(groups, lambda few, many: _above(left / many, high, places) + weight_of(few) + more)


def _largest(groups: int, value: Callable[[int, int], int]) -> int:
    """The largest ``value(d, d)`` for d from 1 to ``groups``, of a value that falls in its first number only.

    It rises in the second one. So ``value(a, b)`` is at or above that of each d from a to b, and few d are looked at.
    """
    found, left = max(value(1, 1), value(groups, groups)), [(1, groups)]
    while left:
        low, high = left.pop()
        middle = (low + high) // 2
        if low < middle and value(low, high) > found:
            found = max(found, value(middle, middle))
            left += [(low, middle), (middle, high)]
    return found


def _above(chance: Fraction, deviation: Fraction, places: int) -> int:
    """Distance of the threshold from a weight that is listed with at most this probability."""
    far = math.ceil(max(Fraction(0), normal_quantile_bounds(chance)[1]) * deviation * UNIT)
    while Fraction(_tail(far, deviation, places) + 2, 1 << places) > chance:
        far += 1
    return far


def _sides(neighbours: Adjacency) -> int:
    return 2 if neighbours.kind == "substitute" else 1


def _places(epsilon: Fraction, delta: Fraction, changed: int) -> int:
    grown = math.ceil(min(epsilon, STEEPEST) * 3 / 2)  # log2(e) < 3/2
    return 40 + (1 / delta).__ceil__().bit_length() + grown + changed.bit_length()


def _noise_delta(epsilon: Fraction, deviation: Fraction, sides: int) -> Fraction:
    """At or above the delta of the noise at an epsilon."""
    return shift_excess_bounds(sqrt_up(Fraction(sides)) / deviation, min(epsilon, STEEPEST))[1]


def _rounding(epsilon: Fraction, delta: Fraction, changed: int) -> Fraction:
    """Delta for coins that are rounded down: at most two units in each of the keys that change, on either side."""
    grown = exp_up(min(epsilon, STEEPEST))
    return (1 + grown) * 2 * changed * 2 / (1 << _places(epsilon, delta, changed))


def _tail(distance: int | Fraction, deviation: Fraction, places: int) -> int:
    """P(sigma U N >= distance) as a multiple of 2^-places, rounded down by less than two of them."""
    low, _ = normal_tail_bounds(Fraction(distance) / (deviation * UNIT), max(places + 16, 128))
    return math.floor(low * (1 << places))


@lru_cache(maxsize=64)
def _kept(deviation: Fraction, places: int) -> tuple[int, tuple[int, ...]]:
    """The distance of public weights about the threshold, and their probabilities.

    All are made at once: one by one, the time of a list would tell which weights are among its own.
    """
    step = max(1, math.ceil(deviation * UNIT / GRID))
    far = REACH * GRID
    return step, tuple(_tail(-place * step, deviation, places) for place in range(-far, far + 1))


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    groups, threshold = (stored(parameters, name) for name in ("groups", "threshold"))
    if groups.denominator != 1 or threshold.denominator != 1:
        raise PublicParameterError("the number of keys and the threshold are whole numbers")
    epsilon, delta, deviation = (stored(parameters, name) for name in ("epsilon", "delta", "deviation"))
    made = WeightedSelection(neighbours, epsilon, delta, int(groups), deviation, int(threshold))
    if "returns" not in parameters:
        return made.guarantee
    enough = stored(parameters, "returns")
    if enough.denominator != 1:
        raise PublicParameterError("a weight that is enough is a whole number")
    return replace(made, returns=WeightReturn(_weights(made.groups), int(enough))).guarantee


def _specimen(epsilon: Fraction, delta: Fraction, held: Sequence[int]) -> Specimen[Sequence[int], tuple[int, ...]]:
    def make(at: Fraction) -> WeightedSelection:
        return weighted_list(Adjacency("add_remove"), at, delta, groups=len(held))

    made = make(epsilon)
    held = tuple(weight * made.parts for weight in held)
    moved = tuple(weight + weight_of(len(held)) * made.parts for weight in held)

    def mass(exact: Sequence[int], output: tuple[int, ...]) -> float:
        found = 1.0
        for weight, one in zip(exact, output, strict=True):
            chance = float(made.at(weight))
            found *= chance if one == 1 else 1 - chance if one == 0 else 0.0
        return found

    words = f"weighted selection, epsilon {show(epsilon)}, delta {show(delta)}, {len(held)} keys"
    return Specimen(words, made, moved, held, mass, make)


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (
    _specimen(Fraction(1), Fraction(1, 20), (UNIT, UNIT)),
    _specimen(Fraction(3), Fraction(1, 100), (UNIT * 23 // 20, 0, UNIT * 23 // 20)),
)
