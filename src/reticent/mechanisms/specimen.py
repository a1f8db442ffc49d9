"""Specimens: one value of each mechanism in a form that any machine can test.

A mechanism is a frozen value with ``guarantee`` and ``sample(exact, entropy)``: exact integers in, noisy integers out,
no tables and no people. A specimen is one such value with a pair of neighbouring inputs and the law of the output. The
tests draw from it, compare with the law, and check the ratio of the two laws against the guarantee. ``AXIOMS`` of its
module say how a stored guarantee is stated again: without them no certificate can be verified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeAlias, TypeVar

from reticent.entropy import Entropy
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem

In = TypeVar("In")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
Again: TypeAlias = Callable[[dict[str, str], Adjacency], Guarantee]  # a leaf, from its stored parameters and neighbours
Axioms: TypeAlias = tuple[tuple[Theorem, Again], ...]  # of a module: every theorem it states, and how it does it again


class Mechanism(Protocol[In_contra, Out_co]):
    """Anything with a derived guarantee that turns an exact answer into a protected one."""

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, exact: In_contra, entropy: Entropy) -> Out_co: ...


@dataclass(frozen=True, slots=True)
class Specimen(Generic[In, Out]):
    """One mechanism, two neighbouring inputs, and the probability of each output given an input.

    ``make`` builds the mechanism for another epsilon, where no parameter alone sets the noise.
    """

    name: str
    mechanism: Mechanism[In, Out]
    here: In
    there: In
    mass: Callable[[In, Out], float]
    make: Callable[[Fraction], Mechanism[In, Out]] | None = None
