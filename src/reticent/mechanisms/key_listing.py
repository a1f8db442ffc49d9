"""Key listing: the list of keys that a selection makes of all texts there are, from those that somebody has.

    best_listing(near, epsilon, delta, groups=10)    by ``key_selection`` or ``weighted_selection``, by public numbers

Two rules have the same loss. Each lists a key of some number of persons half of the time. The rule with the smaller
number is taken, for persons in a little more than half as many keys as one may be in. Both numbers are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from reticent.entropy import Entropy
from reticent.mechanisms.key_selection import KeySelection, key_list, law
from reticent.mechanisms.weight_return import WeightReturn
from reticent.mechanisms.weighted_selection import WeightedSelection, weighted_list
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, L2

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class KeyListing:
    """The list of keys by one of the two rules; its exact input is a number for each key that somebody has."""

    selection: KeySelection | WeightedSelection

    @property
    def guarantee(self) -> Guarantee:
        return self.selection.guarantee

    @property
    def sensitivity(self) -> L1 | L2:
        """Sensitivity of the numbers of all keys to one neighbour."""
        return self.selection.sensitivity

    @property
    def is_weighted(self) -> bool:
        """True if persons with several keys weigh less in each."""
        return isinstance(self.selection, WeightedSelection)

    @property
    def returns(self) -> WeightReturn | None:
        """The rule by which keys of much weight give it back, if there is one."""
        return self.selection.returns if isinstance(self.selection, WeightedSelection) else None

    def numbers(
        self,
        holders: Mapping[str, int],
        degrees: Mapping[str, Sequence[int]],
        returned: Mapping[str, Sequence[int]],
    ) -> Mapping[str, int]:
        """The exact input: numbers of persons, or weights.

        Parameters
        ----------
        holders : mapping of str to int
            Persons of each key.
        degrees : mapping of str to sequence of int
            Those with one key, with two keys, and so on; read by weighted rules alone.
        returned : mapping of str to sequence of int
            Sums of the shares of their keys, in the same places; read where weight returns.

        Returns
        -------
        mapping of str to int
        """
        if isinstance(self.selection, WeightedSelection):
            return self.selection.weights(degrees, returned)
        return holders

    def may_list(self, number: int) -> bool:
        """True if a key with this number can be listed."""
        return self.selection.may_list(number)

    def sample(self, exact: Mapping[str, int], entropy: Entropy) -> tuple[str, ...]:
        return self.selection.listed(exact, entropy)


def best_listing(
    neighbours: Adjacency, epsilon: Fraction, delta: Fraction, *, groups: int = 1, at_least: int = 1
) -> KeyListing:
    """The listing whose whole list costs (epsilon, delta), by the rule that finds rarer keys.

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
    KeyListing
        Mechanism for the keys of one column.

    Raises
    ------
    PublicParameterError
        Where no key of fewer than a million persons would be listed for certain.
    """
    plain = key_list(neighbours, epsilon, delta, groups=groups, at_least=at_least)
    law(plain.epsilon, plain.delta)
    if groups > 1:
        weighted = weighted_list(neighbours, epsilon, delta, groups=groups, at_least=at_least)
        if weighted.persons(HALF, groups // 2 + 1) < plain.persons(HALF):
            return KeyListing(weighted)
    return KeyListing(plain)
