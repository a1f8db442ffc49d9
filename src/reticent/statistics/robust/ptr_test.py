"""The test of Propose-Test-Release: an integer distance to the unsafe tables, its noise, its threshold, its delta.

Statement. Let A be an integer of sensitivity ``sensitivity``, and a proposal be unsafe only if A <= ``unsafe``. The
test replies iff min(A, cap) + Z >= unsafe + margin. Z is two-sided geometric of scale sensitivity / epsilon, and
cap >= unsafe + margin. P(reply) and P(no reply) change by a factor of at most e^epsilon between neighbours. If the
proposal is unsafe, P(reply) <= P(Z >= margin) = a^margin / (1 + a), a = e^(-epsilon / sensitivity).

``exact_test`` takes the least margin for a wanted delta; ``paper_test`` the threshold 003 prints, ln^2 n + 1, and
says what delta that really is. ``step`` makes a ``ptr.PtrStep`` of a test and the release behind it; only
``ptr.one_test``, ``ptr.first_reply`` and ``ptr.cascade`` make a guarantee of steps.

The cap bounds the ranks that an engine has to fetch. min(A, cap) has at most the sensitivity of A and is unsafe where A
is, so it is a distance as well. The cap changes a result only if the noise is below -(cap - threshold), which has
probability at most ``SPARE``.

Source. 003 sections 4 to 6 and Definition 24; docs/proofs/ptr.md; docs/proofs/robust.md, sections 2 and 3.

Deviations. 003 compares A + Lap(1/eps) with ln^2 n + 1, whatever eps is, which buys delta = n^(-eps ln n) / 2: more
than 1/n until n = e^(1/eps). Here the margin comes from delta, or the paper's own is refused where its delta is above
a policy cap. The noise is geometric, because the distance is an integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import log_bounds
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.numbers import about_up, exact, positive, show
from reticent.privacy.sensitivity import L1

SPARE: Final = 1e-9  # a capped distance ends otherwise than a full one with at most this probability
SILENT: Final = 2e-3  # a proposal made for n aims at replies but for this probability
LONGEST: Final = 1 << 50  # no public n beyond it

Mode: TypeAlias = Literal["exact", "paper"]
Search: TypeAlias = Literal["free", "bins"]


@dataclass(frozen=True, slots=True)
class Noisy:
    """A released number and the scale of its geometric noise, both in grid steps; the scale is part of the release."""

    value: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True)
class Test:
    """A noisy distance and the threshold it must reach.

    Attributes
    ----------
    neighbours : Adjacency
    epsilon : Fraction
        Loss of the test, > 0.
    margin : int
        Steps between the greatest unsafe distance and the threshold, >= 1.
    unsafe : int
        The greatest distance at which the proposal may be unsafe, >= 0.
    sensitivity : int
        Most the distance moves between neighbours, >= 1: 1 for a row where distances count rows.
    """

    neighbours: Adjacency
    epsilon: Fraction
    margin: int
    unsafe: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        for number, name, least in ((self.margin, "margin", 1), (self.unsafe, "unsafe", 0), (self.sensitivity, "", 1)):
            whole(number, name or "sensitivity", least)
        ptr.reply_chance(self.noise.scale, self.margin)  # refuses a margin beyond any noise

    @property
    def noise(self) -> Geometric:
        return Geometric(L1(Fraction(self.sensitivity), self.neighbours), self.epsilon)

    @property
    def threshold(self) -> int:
        """Replies come from noisy distances at or above it."""
        return self.unsafe + self.margin

    @property
    def cap(self) -> int:
        """Distances beyond it need not be told apart."""
        return self.threshold + max(1, self.noise.radius(2 * SPARE))

    @property
    def enough(self) -> int:
        """A distance that replies but for probability ``SILENT``: what proposals made for a public n aim at."""
        return self.threshold + self.noise.radius(2 * SILENT)

    @property
    def delta(self) -> Fraction:
        """At or above the probability of a reply where the proposal is unsafe: the true delta of one test."""
        return ptr.reply_chance(self.noise.scale, self.margin)

    def passes(self, distance: int, entropy: Entropy) -> bool:
        """Tell by one draw if the noisy distance reaches the threshold."""
        bar = gate.Bar(self.threshold, self.unsafe)
        return gate.passes(self.noise, min(distance, self.cap), bar, entropy)

    def chance(self, distance: int) -> float:
        """P(reply) at this distance. Of a public table only: for the file it would be an answer."""
        ratio, least = math.exp(-1 / float(self.noise.scale)), self.threshold - min(distance, self.cap)
        if least > 0:
            return ratio**least / (1 + ratio)
        return 1 - ratio ** (1 - least) / (1 + ratio)


def exact_test(epsilon: Fraction, delta: Fraction, neighbours: Adjacency, *, unsafe: int, sensitivity: int = 1) -> Test:
    """The test of least threshold whose unsafe replies have probability at most ``delta`` in (0, 1).

    Parameters
    ----------
    epsilon : Fraction
        Price of the test.
    delta : Fraction
        In (0, 1).
    neighbours : Adjacency
    unsafe : int
        Greatest distance at which the proposal may be too small, in rows.
    sensitivity : int
        Most that one step between neighbours moves the distance.

    Returns
    -------
    Test
    """
    scale = Fraction(sensitivity) / positive(epsilon, "epsilon")
    return Test(neighbours, epsilon, max(1, ptr.least_margin(scale, delta)), unsafe, sensitivity)


def paper_test(epsilon: Fraction, n: int, neighbours: Adjacency, *, unsafe: int, sensitivity: int = 1) -> Test:
    """The test as 003 prints it, A + Z > ln^2 n + 1 where A <= 1 is unsafe: its ``delta`` is what it is.

    Deviations. 003 writes the threshold for u = 1; for another greatest unsafe distance it is ln^2 n + u.

    Parameters
    ----------
    epsilon : Fraction
        Price of the test.
    n : int
        Public number of values.
    neighbours : Adjacency
    unsafe : int
        Greatest distance at which the proposal may be too small, in rows.
    sensitivity : int
        Most that one step between neighbours moves the distance.

    Returns
    -------
    Test
    """
    return Test(neighbours, epsilon, squared_log(n) + 1, unsafe, sensitivity)


def squared_log(n: int) -> int:
    """floor(ln^2 n), n >= 1, certified."""
    whole(n, "n", 1)
    if n == 1:
        return 0
    bits = 64
    while True:
        low, high = (math.floor(bound**2) for bound in log_bounds(Fraction(n), bits))
        if low == high:  # ln^2 n is no integer for n > 1, so the loop ends
            return low
        bits *= 2


def step(test: Test, release: Fraction, *, law: str, label: str = "") -> ptr.PtrStep:
    """The test and the release behind it, as a step of the theory.

    Parameters
    ----------
    test : Test
        Test of the distance.
    release : Fraction
        Loss of the release where the proposal is safe, >= 0; 0 for what is then the same for all neighbours.
    law : str
        Name of the law released.
    label : str
        Name of the part in the proof.

    Returns
    -------
    PtrStep
        Step of ``ptr``, which is no guarantee by itself.

    Raises
    ------
    PublicParameterError
        ``release`` below 0.

    Notes
    -----
    The release adds noise in proportion to what was proposed, which may have been computed from the rows. Its loss is
    the same for every proposal, so the part is stated for the proposal 1: geometric noise of sensitivity 1. Its
    dominating pair is the one of randomised response, which dominates whatever is ``release``-DP.
    """
    if exact(release, "release") < 0:
        raise PublicParameterError(f"release must be >= 0, got {show(release)}")
    parts = None
    if release > 0:
        parts = Geometric(L1(Fraction(1), test.neighbours), release).guarantee
    return ptr.measured(test.noise.guarantee, parts, margin=test.margin, law=law, label=label)


def refuse_large_delta(delta: Fraction, most: Fraction, what: str) -> None:
    """Refuse before rows are read where the delta that comes with a printed threshold is above the policy cap.

    Parameters
    ----------
    delta : Fraction
        That of the printed threshold.
    most : Fraction
        That of the release.
    what : str
        Name of the statistic, for the message.

    Raises
    ------
    PublicParameterError
    """
    if delta > most:
        raise PublicParameterError(
            f"the threshold printed for {what} has δ {about_up(delta)} here, above the most allowed, "
            f"{about_up(most)}: it is ln² n + 1 whatever ε is. Use mode exact, a larger ε, or more values."
        )


def refuse_unreachable(test: Test, farthest: Callable[[int], int], n: int, what: str) -> None:
    """Refuse before rows are read where no table of this public size can be as far from unsafe as the test asks.

    Parameters
    ----------
    test : Test
        Test of the distance.
    farthest : callable
        From a number of values to the greatest distance any table of that size has; grows with it.
    n : int
        Public number of values.
    what : str
        Name of the statistic, for the refusal.

    Raises
    ------
    QuestionError
    """
    if farthest(n) >= test.threshold:
        return
    low, high = n, max(2 * n, 2)
    while farthest(high) < test.threshold:
        low, high = high, 2 * high
        if high > LONGEST:
            raise QuestionError(f"{what} at this ε and δ cannot reply for any number of values. Nothing was charged.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if farthest(middle) >= test.threshold else (middle, high)
    raise QuestionError(
        f"{what} at this ε and δ cannot reply: with {n:,} values, changing {farthest(n):,} of them can move it "
        f"anywhere, and the test asks for {test.threshold:,}. At least {high:,} values, or a larger ε or δ, would do. "
        "Nothing was charged."
    )


def refuse_short(test: Test, unsafe: int) -> None:
    """Refuse a test made for other distances: they count rows, and are unsafe up to ``unsafe`` of them."""
    if test.sensitivity < test.neighbours.rows or test.unsafe < unsafe:
        raise PublicParameterError(
            f"neighbours differ by up to {test.neighbours.rows} rows: a distance in rows moves by as much, and a "
            f"proposal may be unsafe up to {unsafe}"
        )


def whole(number: int, name: str, least: int) -> int:
    """``number`` if it is an int of at least ``least``.

    Parameters
    ----------
    number : int
    name : str
        For the message.
    least : int

    Returns
    -------
    int

    Raises
    ------
    PublicParameterError
        For any other number.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise PublicParameterError(f"{name} must be an integer >= {least}, got {number}")
    return number


def level(number: Fraction, name: str) -> Fraction:
    """``number`` as a quantile level, strictly between 0 and 1."""
    if not 0 < exact(number, name) < 1:
        raise PublicParameterError(f"{name} must lie between 0 and 1")
    return Fraction(number)


def first_distance(exceeds: Callable[[int], bool], least: int, cap: int) -> int:
    """The first k in [least, cap) for which ``exceeds(k)``, which once true stays true; ``cap`` where there is none.

    Parameters
    ----------
    exceeds : function
        From a distance to a bool, which once true stays true.
    least, cap : int
        Ends of the search; ``cap`` is left out.

    Returns
    -------
    int
    """
    low, high = least, cap
    while low < high:
        middle = (low + high) // 2
        if exceeds(middle):
            high = middle
        else:
            low = middle + 1
    return low
