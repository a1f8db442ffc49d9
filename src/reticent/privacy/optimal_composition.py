"""Composition at a stated delta: the advanced and the optimal theorems (``least`` compares them with all others).

    advanced   equal parts    Dwork, Rothblum and Vadhan 2010, Theorem III.3
               unequal parts  Kairouz, Oh and Viswanath 2017, Theorem 3.5
    optimal    the least epsilon that holds for all mechanisms with the losses of the parts
               Kairouz, Oh and Viswanath 2017, Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5

A part that is (eps_i, delta_i)-DP costs at most what this coin costs: with probability delta_i it says which neighbour
it was, else its privacy loss is +eps_i with probability p_i = e^eps_i / (1 + e^eps_i) and -eps_i otherwise. So with
L the sum of independent such losses, k parts are (x, 1 - prod(1 - delta_i) (1 - D(x)))-DP with
D(x) = E max(0, 1 - e^{x - L}), and no smaller delta holds for all such parts.

Certainty. Masses are integers over 2^places, each rounded up; D is increasing in every mass and in every value of L,
so whatever is rounded is rounded up: masses, and values of L to a lattice where there are too many to list. Without
rounding of values the answer is exact to 12 digits; with it, it is never below and aims at ``MARGIN`` above.

Conditions. The mechanism of a step may depend on the answers before it; its (epsilon, delta) may not.

Deviations. The exact e^eps - 1 stands in the advanced theorem, never eps. Theorem 3.3 states epsilons (k - 2i) eps
only; D is exact between them too, so ``optimal`` gives the least epsilon and ``on_lattice`` the printed one. Murtagh
and Vadhan round the epsilons up to a lattice. If few kinds of parts occur often, rounding up the total loss of each
kind is as certain and cheaper. The coarser of the two lattices is used. Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import prod
from typing import Final, assert_never

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_bounds, exp_down, exp_up, log_up, round_down, round_up, sqrt_up
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, Renyi, words
from reticent.privacy.numbers import about, exact, read, show

ADVANCED: Final = Theorem(
    "advanced",
    "k parts alike: epsilon sqrt(2 k ln(1/delta')) + k epsilon (e^epsilon - 1)",
    "Dwork, Rothblum and Vadhan 2010, Theorem III.3",
)
ADVANCED_UNEQUAL: Final = Theorem(
    "advanced_unequal",
    "unequal parts: sum of epsilon (e^epsilon - 1) / (e^epsilon + 1), plus sqrt(2 ln(1/delta') sum of epsilon^2)",
    "Kairouz, Oh and Viswanath 2017, Theorem 3.5",
)
OPTIMAL: Final = Theorem(
    "optimal",
    "the least epsilon that holds for all parts with these losses",
    "Kairouz, Oh and Viswanath 2017, Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5",
)
NODES: Final = (ADVANCED.name, ADVANCED_UNEQUAL.name, OPTIMAL.name)
MARGIN: Final = Fraction(1, 200)  # what rounding to a lattice is meant to cost, as a share of epsilon
WIDEST: Final = 100  # the largest epsilon of a part that the advanced theorems are asked for: beyond, they give nothing
LISTED: Final = 4096  # up to so many values of the total loss are listed one by one
SPARE: Final = 64  # binary places beyond those of delta
Kinds = dict[Fraction, int]  # epsilon -> how many parts have it


@dataclass(frozen=True, slots=True)
class Losses:
    """The law of the total loss: values from the largest down, masses rounded up over 2^places."""

    values: tuple[Fraction, ...]
    masses: tuple[int, ...]
    certain: int  # mass counted as an infinite loss
    places: int


def advanced(parts: Sequence[Guarantee], delta: Fraction, *, label: str = "") -> Guarantee:
    """All ``parts`` in sequence at a total ``delta``, by the advanced composition theorem.

    Parameters
    ----------
    parts : sequence of Guarantee
        About the same neighbours, pure or approximate, their losses fixed before the first answer.
    delta : Fraction
        Of the whole, above the sum of the deltas of the parts; what is left of it is the theorem's delta'.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee
        It may have a larger epsilon than ``in_sequence``: compare with ``least``.

    Raises
    ------
    PublicParameterError
        For a part of too large an epsilon, or a delta too small for the parts.
    """
    pairs, adjacency = _pairs(parts), _neighbours(parts)
    if max(epsilon for epsilon, _ in pairs) > WIDEST:
        raise PublicParameterError(f"advanced composition is for parts of epsilon at most {WIDEST}; add them up")
    if len(set(pairs)) == 1:
        epsilon, each = pairs[0]
        spare = _inside(delta) - len(pairs) * each
        if spare <= 0:
            raise _too_small(len(pairs) * each)
        count = len(pairs)
        bound = epsilon * sqrt_up(2 * count * log_up(1 / spare)) + count * epsilon * (exp_up(epsilon) - 1)
        return _node(round_up(bound), delta, adjacency, ADVANCED, parts, delta, label)
    spare = _spare(pairs, delta)
    if spare <= 0:
        raise _too_small(_certain(pairs))
    squares = sum((epsilon**2 for epsilon, _ in pairs), Fraction(0))
    mean = sum((count * epsilon * _drift_up(epsilon) for epsilon, count in _kinds(pairs).items()), Fraction(0))
    log = min(log_up(1 / spare), log_up(exp_up(Fraction(1)) + sqrt_up(squares) / spare))
    return _node(round_up(mean + sqrt_up(2 * squares * log)), delta, adjacency, ADVANCED_UNEQUAL, parts, delta, label)


def _drift_up(epsilon: Fraction) -> Fraction:
    """At or above (e^eps - 1) / (e^eps + 1), which grows with e^eps, over 2^192."""
    grown = exp_up(epsilon)
    return Fraction(((grown - 1) / (grown + 1) * (1 << 192)).__ceil__(), 1 << 192)


def optimal(parts: Sequence[Guarantee], delta: Fraction, *, label: str = "") -> Guarantee:
    """All ``parts`` in sequence at a total ``delta``: the least epsilon their losses allow.

    Parameters
    ----------
    parts : sequence of Guarantee
        About the same neighbours, pure or approximate, their losses fixed before the first answer.
    delta : Fraction
        Of the whole, at least 1 - prod(1 - delta_i).
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee
        Exact to 12 digits, rounded up, where the kinds of parts are few; else above by about ``MARGIN``. Where
        epsilon reaches 0 the delta is the least that goes with it.

    Raises
    ------
    PublicParameterError
        For a delta too small for the parts.
    """
    pairs, adjacency = _pairs(parts), _neighbours(parts)
    spare = _spare(pairs, delta)
    if spare < 0:
        raise _too_small(_certain(pairs))
    kinds = _kinds(pairs)
    basic = sum((epsilon for epsilon, _ in pairs), Fraction(0))
    epsilon = basic
    if spare > 0 and kinds:
        epsilon = min(basic, _least_epsilon(_losses(kinds, spare, spare), spare))
    stated = delta if epsilon > 0 else min(delta, delta_at(pairs, Fraction(0)))
    return _node(epsilon, stated, adjacency, OPTIMAL, parts, delta, label)


def listed(parts: Sequence[Guarantee]) -> bool:
    """Tell if the total loss of ``parts`` has so few values that ``optimal`` is exact."""
    return _few(_kinds(_pairs(parts)))


def delta_at(pairs: Sequence[tuple[Fraction, Fraction]], epsilon: Fraction) -> Fraction:
    """The least delta at ``epsilon`` >= 0 of parts with these (epsilon_i, delta_i).

    Rounded up to 12 digits, or to about 2^-192 where it is smaller than that.
    """
    if exact(epsilon, "epsilon") < 0:
        raise PublicParameterError(f"epsilon must be >= 0, got {show(epsilon)}")
    kinds = _kinds(pairs)
    spend = _excess(_losses(kinds, Fraction(1, 1 << 192), Fraction(1, 10**6)), epsilon) if kinds else Fraction(0)
    return round_up(min(Fraction(1), 1 - (1 - _certain(pairs)) * (1 - min(spend, Fraction(1)))))


def on_lattice(epsilon: Fraction, count: int, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Theorem 3.3 as printed: the least (k - 2i) eps with delta_i <= ``delta``, and that delta_i (rounded up).

    Parameters
    ----------
    epsilon : Fraction
        Loss of each release, > 0.
    count : int
        Number k of releases, >= 1.
    delta : Fraction
        Greatest delta allowed, >= 0.

    Returns
    -------
    tuple of Fraction
        Epsilon of all releases together, and its delta.

    Raises
    ------
    AssertionError
        Never: delta_0 is 0, and i = 0 is tried last.
    """
    for i in range(count // 2, -1, -1):
        reached = delta_at([(epsilon, Fraction(0))] * count, (count - 2 * i) * epsilon)
        if reached <= delta:
            return (count - 2 * i) * epsilon, reached
    raise AssertionError("delta_0 is 0")  # pragma: no cover


def again(tree: Guarantee) -> Guarantee:
    """A stored node of this file's theorems, made again from its parts and its delta.

    Raises
    ------
    CheckError
        For another theorem, or a delta that cannot be.
    """
    if tree.by.name not in NODES:
        raise CheckError(f"'{tree.by.name}' is no theorem of composition at a stated delta")
    try:
        delta = read(tree.parameter("delta"), "delta")
        made = (optimal if tree.by.name == OPTIMAL.name else advanced)(tree.parts, delta, label=tree.label)
    except PublicParameterError as error:
        raise CheckError(f"'{tree.label or tree.by.name}' cannot be derived: {error}") from None
    if made.by.name != tree.by.name or made.adjacency != tree.adjacency:
        raise CheckError(f"'{tree.label or tree.by.name}' does not follow from its parts")
    return made


def _node(
    epsilon: Fraction,
    stated: Fraction,
    adjacency: Adjacency,
    by: Theorem,
    parts: Sequence[Guarantee],
    delta: Fraction,
    label: str,
) -> Guarantee:
    return Guarantee(ApproxDP(epsilon, stated), adjacency, by, tuple(parts), (("delta", show(delta)),), label)


# ---- the law of the total loss


def _losses(kinds: Kinds, spare: Fraction, aim: Fraction) -> Losses:
    """The law of the total loss, precise enough for a D as small as ``spare``; a lattice is made for one of ``aim``."""
    places = SPARE + (1 / spare).__ceil__().bit_length() + 2 * sum(kinds.values()).bit_length()
    if _few(kinds):
        return _listed(kinds, places)
    fine, coarse = _steps(kinds, aim)
    if coarse > fine:  # Murtagh and Vadhan: the epsilons themselves
        rounded: Kinds = {}
        for epsilon, count in kinds.items():
            up = -(-epsilon // coarse) * coarse
            rounded[up] = rounded.get(up, 0) + count
        return _bucketed(rounded, coarse, places, spare)
    return _bucketed(kinds, fine, places, spare)


def _few(kinds: Kinds) -> bool:
    return len(kinds) <= 1 or prod(count + 1 for count in kinds.values()) <= LISTED


def _steps(kinds: Kinds, aim: Fraction) -> tuple[Fraction, Fraction]:
    """Lattices for total losses of kinds (each moves up by at most a step), and for the epsilons of parts."""
    total = sum((epsilon * count for epsilon, count in kinds.items()), Fraction(0))
    squares = sum((epsilon**2 * count for epsilon, count in kinds.items()), Fraction(0))
    expected = min(total, squares / 2 + sqrt_up(2 * squares * log_up(1 / aim)))
    return round_down(MARGIN * expected / len(kinds), 3), round_down(MARGIN * squares / total, 3)


def _binomial(epsilon: Fraction, count: int, places: int) -> list[int]:
    """Masses, rounded up, of the loss (count - 2j) epsilon, j = 0..count: C(count, j) p^(count - j) (1 - p)^j.

    Weights relative to the largest are kept between bounds going outwards, then divided by the least their sum can be.
    """
    work = places + SPARE
    shrink_low, shrink_high = exp_bounds(-min(epsilon, Fraction(work)), work)
    low = (shrink_low * (1 << work)).__floor__() if epsilon <= work else 0
    high = (shrink_high * (1 << work)).__ceil__()
    top = int((count + 1) * shrink_low / (1 + shrink_low)) if low else 0
    least, most = [0] * (count + 1), [0] * (count + 1)
    least[top] = most[top] = 1 << work
    for at in range(top, count):
        least[at + 1] = (least[at] * (count - at) * low // (at + 1)) >> work
        most[at + 1] = -((-most[at] * (count - at) * high // (at + 1)) >> work)
    for at in range(top, 0, -1):
        least[at - 1] = (least[at] * at << work) // ((count - at + 1) * high)
        most[at - 1] = -((-most[at] * at << work) // ((count - at + 1) * low))
    whole = sum(least)
    return [-((-weight << places) // whole) for weight in most]


def _listed(kinds: Kinds, places: int) -> Losses:
    law: dict[Fraction, int] = {Fraction(0): 1 << places}
    for epsilon, count in kinds.items():
        step: dict[Fraction, int] = {}
        for minus, mass in enumerate(_binomial(epsilon, count, places)):
            for value, before in law.items():
                total = value + (count - 2 * minus) * epsilon
                step[total] = step.get(total, 0) + before * mass
        law = {value: -(-mass >> places) for value, mass in step.items()}
    order = sorted(law, reverse=True)
    return Losses(tuple(order), tuple(law[value] for value in order), 0, places)


def _bucketed(kinds: Kinds, step: Fraction, places: int, spare: Fraction) -> Losses:
    """Values rounded up to multiples of ``step``; the masses of all multiples stand side by side in one integer."""
    places += 32
    slot = (2 * places + 64 + 7) // 8  # bytes
    allowed = int(spare * (1 << places)) >> 20
    law, lowest, certain = 1 << places, 0, 0
    for epsilon in sorted(kinds):
        count, own = kinds[epsilon], _binomial(epsilon, kinds[epsilon], places)
        first, last, cut = _ends(own.__getitem__, count + 1, allowed // (4 * len(kinds)))
        shifts = [-(-(count - 2 * minus) * epsilon // step) for minus in range(first, last)]
        made = 0
        for shift, mass in zip(shifts, own[first:last], strict=True):
            made += (law * mass) << (8 * slot * (shift - shifts[-1]))
        slots = -(-made.bit_length() // (8 * slot))
        keep = ((1 << (8 * slot - places)) - 1).to_bytes(slot, "little") * slots
        ones = (1).to_bytes(slot, "little") * slots
        made = ((made >> places) & int.from_bytes(keep, "little")) + int.from_bytes(ones, "little")
        text = made.to_bytes(slots * slot, "little")
        low, high, ends = _ends(partial(_slot, text, slot), slots, allowed // (4 * len(kinds)))
        law = int.from_bytes(text[low * slot : high * slot], "little")
        lowest, certain = lowest + shifts[-1] + low, certain + cut + ends
    text = law.to_bytes(-(-law.bit_length() // (8 * slot)) * slot, "little")
    masses = [_slot(text, slot, n) for n in range(len(text) // slot)]
    values = [(lowest + n) * step for n in range(len(masses))]
    return Losses(tuple(reversed(values)), tuple(reversed(masses)), certain, places)


def _ends(weight: Callable[[int], int], size: int, allowed: int) -> tuple[int, int, int]:
    """The range left when both ends are cut while each weighs no more than ``allowed``, and what was cut.

    What is cut counts as an infinite loss.
    """
    first, last, below, above = 0, size, 0, 0
    while first < last - 1 and below + weight(first) <= allowed:
        below, first = below + weight(first), first + 1
    while last > first + 1 and above + weight(last - 1) <= allowed:
        above, last = above + weight(last - 1), last - 1
    return first, last, below + above


def _slot(text: bytes, slot: int, n: int) -> int:
    return int.from_bytes(text[n * slot : (n + 1) * slot], "little")


def _excess(law: Losses, x: Fraction) -> Fraction:
    """At or above D(x) = E max(0, 1 - e^{x - L})."""
    heavier, anchored, anchor = law.certain, 0, x
    shrink: dict[Fraction, int] = {}
    for value, mass in zip(law.values, law.masses, strict=True):
        if value <= x:
            break
        anchored = _shrunk(anchored, anchor - value, law.places, shrink) + mass
        heavier, anchor = heavier + mass, value
    return Fraction(heavier - _shrunk(anchored, anchor - x, law.places, shrink), 1 << law.places)


def _least_epsilon(law: Losses, spare: Fraction) -> Fraction:
    """The least x >= 0, rounded up to 12 digits, with D(x) <= ``spare``.

    Between two neighbouring values of L, D(x) = (mass above) - e^{x - anchor} (anchored mass), which is solved for x.
    """
    goal = (spare * (1 << law.places)).__floor__()
    heavier, anchored = law.certain, 0
    anchor = law.values[0]
    shrink: dict[Fraction, int] = {}
    for value, mass in zip(law.values, law.masses, strict=True):
        here = max(value, Fraction(0))
        at_here = _shrunk(anchored, anchor - here, law.places, shrink)
        if heavier - at_here > goal:
            break
        if value <= 0:
            return Fraction(0)
        heavier, anchored, anchor = heavier + mass, at_here + mass, value
    if not anchored:
        return anchor
    found = round_up(max(Fraction(0), anchor + log_up(Fraction(heavier - goal, anchored))))
    while _excess(law, found) > spare:  # the rounding of anchored mass may ask for one more unit in the last digit
        found = round_up(found * (1 + Fraction(1, 10**11)))
    return found


def _shrunk(mass: int, gap: Fraction, places: int, known: dict[Fraction, int]) -> int:
    """At or below ``mass`` times e^-gap."""
    if gap == 0 or mass == 0:
        return mass
    if gap > places:
        return 0
    if gap not in known:
        factor = exp_down(-gap, places + SPARE)
        known[gap] = (factor.numerator << places) // factor.denominator
    return mass * known[gap] >> places


# ---- what the parts cost


def _neighbours(parts: Sequence[Guarantee]) -> Adjacency:
    if not parts:
        raise PublicParameterError("a sequence needs at least one part")
    for part in parts:
        if part.adjacency != parts[0].adjacency:
            raise PublicParameterError(
                f"parts speak of different neighbours: {parts[0].adjacency.words()} and {part.adjacency.words()}"
            )
    return parts[0].adjacency


def _pairs(parts: Sequence[Guarantee]) -> list[tuple[Fraction, Fraction]]:
    pairs = []
    for part in parts:
        match part.loss:
            case PureDP(epsilon):
                pairs.append((epsilon, Fraction(0)))
            case ApproxDP(epsilon, delta):
                pairs.append((epsilon, delta))
            case ZCDP() | ApproxZCDP() | Renyi() | GaussianDP() | PLD():
                raise PublicParameterError(
                    f"{words(part.loss)}: convert it to (ε, δ) at a named δ first, or compare with least"
                )
            case _:
                assert_never(part.loss)
    return pairs


def _kinds(pairs: Sequence[tuple[Fraction, Fraction]]) -> Kinds:
    kinds: Kinds = {}
    for epsilon, _ in pairs:
        if epsilon > 0:
            kinds[epsilon] = kinds.get(epsilon, 0) + 1
    return dict(sorted(kinds.items()))


def _inside(delta: Fraction) -> Fraction:
    if not 0 < exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie between 0 and 1, got {show(delta)}")
    return delta


def _certain(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """At or above 1 - prod(1 - delta_i); exactly that while the fraction stays short."""
    kept = Fraction(1)
    for _, delta in pairs:
        if delta:
            kept *= 1 - delta
        if kept.denominator >> 4096:
            kept = Fraction((kept * (1 << 2048)).__floor__(), 1 << 2048)
    return 1 - kept


def _spare(pairs: Sequence[tuple[Fraction, Fraction]], delta: Fraction) -> Fraction:
    """The D that a total ``delta`` leaves: 1 - (1 - delta) / prod(1 - delta_i), rounded down; below 0 if none."""
    return 1 - (1 - _inside(delta)) / (1 - _certain(pairs))


def _too_small(needed: Fraction) -> PublicParameterError:
    return PublicParameterError(f"delta must be above what the parts fail with already, {about(needed)}")
