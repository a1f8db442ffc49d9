"""Key selection: which keys of a column are listed, by how many persons hold each; p(n) is as large as it can be.

Statement. Let the number n of persons of a key change by at most 1 between neighbours, for at most c keys. Each key is
listed by a coin of its own with probability p(max(0, n - k)), where k is public, p(0) = 0 and

    p(n) <= min(e^eps p(n - 1) + delta, 1 - e^-eps (1 - p(n - 1) - delta), 1),    p(n) >= p(n - 1).

One key is then listed (eps, delta)-differentially privately, and the list is c such answers in sequence. A key without
persons is never listed, so it need not be known.

Source. Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1: with equality no rule lists a key more often.

Proof. docs/proofs/found_groups.md. Four inequalities between n - 1 and n: listed and not, in both directions. The two
with less on their left side hold because p does not fall; the other two are the first two terms of the minimum.

Deviations. p is a table of integers over 2^b, with b at least 64 above the digits of 1 / delta: each is the minimum
rounded down from the integer before it, so the inequalities hold exactly. Above an epsilon of 64 the rule is that of
64. ``at_least`` = k + 1 keeps keys of fewer persons from the list for certain. Several keys of a person are composed by
``in_sequence``; the paper states it for one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import dyadic
from reticent.exact.rounding import scaled_exp_bounds
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import ApproxDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.sensitivity import L1

THEOREM: Final = Theorem(
    "key_selection",
    "a key is listed with the largest probability that its number of persons allows; a key of nobody never is",
    "Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1",
)
PLACES: Final = 64
STEEPEST: Final = 64  # of epsilon: p reaches 1 within a few persons
LONGEST: Final = 1 << 20  # persons at which a key is listed for certain, at most
MOST_CHANGES: Final = 4096


@dataclass(frozen=True, slots=True)
class KeySelection:
    """Lists keys by their numbers of persons.

    Attributes
    ----------
    neighbours : Adjacency
    epsilon, delta : Fraction
        Loss of the answer for one key: epsilon > 0, delta in (0, 1).
    changes : int
        Keys whose number of persons may change between neighbours, by at most 1 each.
    at_least : int
        A key of fewer persons is not listed, for certain; >= 1.
    """

    neighbours: Adjacency
    epsilon: Fraction
    delta: Fraction
    changes: int = 1
    at_least: int = 1

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if positive(self.delta, "delta") >= 1:
            raise PublicParameterError(f"delta must be below 1, got {show(self.delta)}")
        for name, number in (("changes", self.changes), ("at_least", self.at_least)):
            if type(number) is not int or number < 1:
                raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")
        if self.changes > MOST_CHANGES:
            raise PublicParameterError(f"a person in so many keys ({self.changes:,}) leaves nothing for each of them")

    @property
    def guarantee(self) -> Guarantee:
        one = axiom(
            ApproxDP(self.epsilon, self.delta),
            self.neighbours,
            THEOREM,
            epsilon=show(self.epsilon),
            delta=show(self.delta),
        )
        return compose.in_sequence([one] * self.changes)

    @property
    def sensitivity(self) -> L1:
        """Sensitivity of the numbers of persons of all keys to one neighbour."""
        return L1(Fraction(self.changes), self.neighbours)

    def may_list(self, persons: int) -> bool:
        """True if a key of so many persons can be listed."""
        return self.chance(persons) > 0

    def chance(self, persons: int) -> Fraction:
        """Probability that a key of so many persons is listed, exactly."""
        table, places = law(self.epsilon, self.delta)
        return Fraction(table[min(max(0, persons - self.at_least + 1), len(table) - 1)], 1 << places)

    def persons(self, chance: Fraction) -> int:
        """The least number of persons at which a key is listed with at least this probability in (0, 1]."""
        table, places = law(self.epsilon, self.delta)
        return bisect_left(table, chance * (1 << places)) + self.at_least - 1

    def fewest(self, chance: Fraction) -> int:
        """The same number, since all persons of a key count alike."""
        return self.persons(chance)

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """1 for each key that is listed, else 0: as many coins of one length as there are keys."""
        table, places = law(self.epsilon, self.delta)
        before, last = self.at_least - 1, len(table) - 1
        found = integers(exact, "the numbers of persons")
        if any(number < 0 for number in found):
            raise PublicParameterError("no key has fewer than 0 persons")
        chances = [table[min(max(0, number - before), last)] for number in found]
        return tuple(int(dyadic(chance, places, entropy)) for chance in chances)

    def listed(self, persons: Mapping[str, int], entropy: Entropy) -> tuple[str, ...]:
        """The keys that are listed, sorted by their text: the order of ``persons`` is not told."""
        keys = sorted(persons)
        shown = self.sample([persons[key] for key in keys], entropy)
        return tuple(key for key, one in zip(keys, shown, strict=True) if one)


def key_list(
    neighbours: Adjacency, epsilon: Fraction, delta: Fraction, *, groups: int = 1, at_least: int = 1
) -> KeySelection:
    """The selection whose whole list costs (epsilon, delta), where each person counts in at most ``groups`` keys.

    A person who is replaced leaves so many keys and enters as many others.

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
    KeySelection
        Mechanism for one key.
    """
    changes = groups * (2 if neighbours.kind == "substitute" else 1)
    return KeySelection(neighbours, epsilon / changes, delta / changes, changes, at_least)


@lru_cache(maxsize=64)
def law(epsilon: Fraction, delta: Fraction) -> tuple[tuple[int, ...], int]:
    """p(0), p(1), ..., 1 as integers over 2^b, each rounded down; and b.

    Raises
    ------
    PublicParameterError
        Where a key would need more than a million persons to be listed for certain.
    """
    places = PLACES + (1 / delta).__ceil__().bit_length() + 2 * STEEPEST
    one = 1 << places
    _, fall = scaled_exp_bounds(min(epsilon, Fraction(STEEPEST)), places)  # e^-epsilon, not below it
    extra = (delta * one).__floor__()
    table = [0]
    while table[-1] < one:
        last = table[-1]
        grown = last * one // fall + extra
        left = one - (max(0, one - last - extra) * fall >> places) - 1
        table.append(max(last, min(grown, left)) if last + extra < one else one)
        if len(table) > LONGEST:
            raise PublicParameterError(
                f"At epsilon {show(epsilon)} and delta {show(delta)} no key of fewer than a million persons would be "
                "listed for certain: give the list more."
            )
    return tuple(table), places


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    return KeySelection(neighbours, stored(parameters, "epsilon"), stored(parameters, "delta")).guarantee


def _specimen(
    epsilon: Fraction, delta: Fraction, persons: int, at_least: int
) -> Specimen[Sequence[int], tuple[int, ...]]:
    made = KeySelection(Adjacency("add_remove"), epsilon, delta, at_least=at_least)

    def mass(exact: Sequence[int], output: tuple[int, ...]) -> float:
        listed = float(made.chance(exact[0]))
        return listed if output == (1,) else 1 - listed if output == (0,) else 0.0

    words = f"key selection, epsilon {show(epsilon)}, delta {show(delta)}, at least {at_least}"
    return Specimen(words, made, (persons,), (persons - 1,), mass)


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (
    _specimen(Fraction(1), Fraction(1, 100), 3, 1),
    _specimen(Fraction(1), Fraction(1, 20), 5, 4),
)
