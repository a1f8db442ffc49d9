"""The arithmetic of losses once more, by listing laws: what a guarantee states against what its parts really lose.

    again(tree)      a line for each different node of a guarantee

A leaf is compared with the law of its mechanism, listed for the worst neighbours. Another node is compared with the
worst laws that its parts' stated losses allow: a coin for (epsilon, delta), discrete Gaussian noise for rho, a chain of
k neighbours for a group. Products of laws are multiplied out. What is stated may not be below what is found, and not
above it by more than a stated factor. Nothing of ``privacy`` computes here: of its modules the names of theorems and
the types of losses are read, and numbers are decimals of 40 digits. A node that nobody can list is said to be not
listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import erfc, isqrt, sqrt
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reticent.privacy import compose, convert
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, words

if TYPE_CHECKING:
    from reticent.privacy.guarantee import Guarantee

Verdict: TypeAlias = Literal["holds", "too small", "too large", "not listed"]
Law: TypeAlias = tuple[tuple[Decimal, Decimal], ...]  # of two neighbours: the probability of each outcome

DIGITS: Final = Context(prec=40)
ALIKE: Final = Context(prec=25)  # ratios of outcomes that agree so far are one
FINEST: Final = Decimal("1e-30")  # no delta below it is told from what laws are cut off by
SLACK: Final = Decimal("1e-9")  # losses are rounded up to 12 digits, laws are cut off at 1e-30
FACTOR: Final = Decimal("1.5")  # above what is listed; more where a theorem is known to be wider, see ``_factor``
ORDERS: Final = tuple(map(Decimal, ("1.01", "2", "3", "4", "8", "16")))
WIDEST: Final = 64  # outcomes between two geometric laws; more are put together, which loses nothing of the extremes
DEVIATION: Final = 8  # of the discrete Gaussian law that stands for a rho, at least
REACH: Final = 13  # standard deviations listed
LONGEST: Final = 6000  # outcomes of one law
MOST_ATOMS: Final = 4096  # of a product of laws; those that lose least are left out
LEAST, MOST = Fraction(1, 10**6), Fraction(50)  # losses that are listed
WHOLE: Final = 1 << 20  # weight of a person with one key
SEVERAL: Final = 8  # keys of a person that are listed together


@dataclass(frozen=True, slots=True)
class LossCheck:
    """One stated loss and what was found.

    ``share`` is what was found to what is stated, at most 1 where the statement holds; None where nothing was listed.
    """

    name: str
    claim: str
    outcomes: int
    share: Decimal | None
    verdict: Verdict

    @property
    def words(self) -> str:
        if self.share is None:
            return f"{self.name}: {self.claim} was not listed"
        return f"{self.name} is stated as {self.claim}, and laws that can be listed lose {float(self.share):.4g} of it"


def again(tree: Guarantee) -> tuple[LossCheck, ...]:
    """Every different node of ``tree`` against laws, and the tree as a whole against the laws of its leaves."""
    with localcontext(DIGITS):
        nodes = {_key(node): node for node in _nodes(tree)}
        found = [_checked(node.by.name, node.loss, _laws(node), _factor(node)) for node in nodes.values()]
        most = _most(tree, 1) if tree.parts and isinstance(tree.loss, PureDP) else None
        if most is not None and isinstance(tree.loss, PureDP) and tree.loss.epsilon:
            found.append(_judged("the whole", tree.loss, 0, most / _decimal(tree.loss.epsilon), FACTOR))
        return tuple(found)


def _key(node: Guarantee) -> tuple[object, ...]:
    return node.by.name, node.loss, node.parameters, tuple((part.loss, part.by.name) for part in node.parts)


def _nodes(tree: Guarantee) -> Iterator[Guarantee]:
    yield tree
    for part in tree.parts:
        yield from _nodes(part)


def _checked(name: str, claim: Loss, found: NeighbourLaws | None, factor: Decimal) -> LossCheck:
    share = None if found is None else found.share(claim)
    return _judged(name, claim, 0 if found is None else found.outcomes, share, factor)


def _judged(name: str, claim: Loss, outcomes: int, share: Decimal | None, factor: Decimal) -> LossCheck:
    verdict: Verdict = "holds"
    if share is None:
        verdict = "not listed"
    elif share > 1 + SLACK:
        verdict = "too small"
    elif share * factor < 1:
        verdict = "too large"
    return LossCheck(name, words(claim), outcomes, share, verdict)


def _factor(node: Guarantee) -> Decimal:
    """Greatest factor by which a statement may exceed the listed loss.

    Conversions to rho are wide for a large epsilon: a coin loses at most epsilon, and epsilon^2 / 2 is stated.
    Permute-and-flip reaches its bound with many candidates only. Half of the delta of weighted keys is for a noise of
    which coins tell less.
    """
    epsilons = [part.loss.epsilon for part in (node, *node.parts) if isinstance(part.loss, PureDP | ApproxDP)]
    if isinstance(node.loss, ZCDP | ApproxZCDP | Renyi) and epsilons:
        return FACTOR * max(Decimal(1), _decimal(max(epsilons)))
    return FACTOR * (2 if node.by.name in ("permute_and_flip", "weighted_selection") else 1)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


# --- laws -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NeighbourLaws:
    """Laws of neighbours: several independent ones at once (``together``), for one or more ways to be neighbours."""

    ways: tuple[tuple[Law, ...], ...]

    @property
    def outcomes(self) -> int:
        return max(sum(map(len, way)) for way in self.ways)

    def share(self, claim: Loss) -> Decimal | None:
        """The most that is lost in any way and in either direction, as a share of ``claim``."""
        both = [turned for way in self.ways for turned in (way, tuple(_turned(law) for law in way))]
        found = [_share(way, claim) for way in both]
        known = [share for share in found if share is not None]
        return max(known) if len(known) == len(found) else None


def _turned(law: Law) -> Law:
    return tuple((q, p) for p, q in law)


def _share(way: tuple[Law, ...], claim: Loss) -> Decimal | None:
    match claim:
        case PureDP(epsilon):
            most = max(p / q if q else Decimal("Infinity") for p, q in _product(way) if p)
            return _of(most.ln(), epsilon)
        case ApproxDP(epsilon, delta):
            whole, stated = _product(way), _decimal(delta)
            lost = _of(_least_epsilon(whole, max(stated, FINEST)), epsilon)
            return lost if 0 < stated < FINEST else max(lost, _of(_delta(whole, epsilon), delta))
        case ZCDP(rho):
            return _of(_rho(way), rho) if not any(_only_here(law) for law in way) else Decimal("Infinity")
        case ApproxZCDP(rho, delta):
            kept = Decimal(1)
            for law in way:
                kept *= 1 - _only_here(law)
            return max(_of(_rho([_given(law) for law in way]), rho), _of(1 - kept, delta))
        case Renyi(curve):
            listed = [(_decimal(order), epsilon) for order, epsilon in curve if order <= 16 and epsilon]
            return max((_of(_divergence(way, order), epsilon) for order, epsilon in listed), default=None)
        case _:
            return None


def _of(found: Decimal, stated: Fraction) -> Decimal:
    if not stated:
        return Decimal(1) if abs(found) <= SLACK else Decimal("Infinity")
    return found / _decimal(stated)


def _only_here(law: Law) -> Decimal:
    return sum((p for p, q in law if not q), Decimal(0))


def _given(law: Law) -> Law:
    """The law but for what one side only can give."""
    seen = [(p, q) for p, q in law if p and q]
    here, there = sum(p for p, _ in seen), sum(q for _, q in seen)
    return tuple((p / here, q / there) for p, q in seen)


def _product(way: Sequence[Law]) -> Law:
    """The law of all outcomes together; outcomes of one ratio are one."""
    whole: Law = ((Decimal(1), Decimal(1)),)
    for law in way:
        merged: dict[Decimal, tuple[Decimal, Decimal]] = {}
        for p, q in whole:
            for a, b in law:
                here, there = p * a, q * b
                ratio = ALIKE.divide(here, there) if there else Decimal("Infinity")
                before = merged.get(ratio, (Decimal(0), Decimal(0)))
                merged[ratio] = before[0] + here, before[1] + there
        whole = tuple(merged[ratio] for ratio in sorted(merged, reverse=True)[:MOST_ATOMS])
    return whole


def _delta(law: Law, epsilon: Fraction | Decimal) -> Decimal:
    grown = (_decimal(epsilon) if isinstance(epsilon, Fraction) else epsilon).exp()
    return sum((max(Decimal(0), p - grown * q) for p, q in law), Decimal(0))


def _least_epsilon(law: Law, delta: Decimal) -> Decimal:
    """The least epsilon >= 0 at which the law loses no more than ``delta``, from below, by halving."""
    allowed = delta * (1 + SLACK)
    low, high = Decimal(0), Decimal(1)
    if _delta(law, low) <= allowed:
        return low
    while _delta(law, high) > allowed:
        low, high = high, 2 * high
        if high > 2000:
            return Decimal("Infinity")
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(law, middle) > allowed else (low, middle)
    return low


def _rho(way: Sequence[Law]) -> Decimal:
    return max(_divergence(way, order) / order for order in ORDERS)


def _divergence(way: Sequence[Law], order: Decimal) -> Decimal:
    """The Renyi divergence of independent laws: the sum over all outcomes together is a product of sums."""
    return sum((_log_moment(law, order) for law in way), Decimal(0)) / (order - 1)


@lru_cache(maxsize=512)
def _log_moment(law: Law, order: Decimal) -> Decimal:
    logs = _logs(law)
    return sum(((order * p + (1 - order) * q).exp() for p, q in logs), Decimal(0)).ln()


@lru_cache(maxsize=128)
def _logs(law: Law) -> tuple[tuple[Decimal, Decimal], ...]:
    return tuple((p.ln(), q.ln()) for p, q in law if p and q)


def coin(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Law:
    """The worst (epsilon, delta) allows: the truth with odds e^epsilon, and with probability delta openly."""
    grown, open_ = _decimal(epsilon).exp(), _decimal(delta)
    a, b = (1 - open_) * grown / (1 + grown), (1 - open_) / (1 + grown)
    law = ((a, b), (b, a))
    return ((open_, Decimal(0)), *law, (Decimal(0), open_)) if delta else law


@lru_cache(maxsize=256)
def geometric(scale: Fraction, shift: int) -> Law:
    """Two-sided geometric noise on 0 and on ``shift``: both tails, and what lies between in up to WIDEST pieces."""

    def power(steps: int) -> Decimal:
        return (-_decimal(Fraction(steps) / scale)).exp()

    r = power(1)
    all_, cuts = (1 + r) / (1 - r), sorted({shift * place // WIDEST for place in range(WIDEST + 1)} | {0, shift + 1})
    law = [(r / (1 - r), power(shift + 1) / (1 - r))]
    law += [
        (power(a) * (1 - power(b - a)) / (1 - r), power(shift - b + 1) * (1 - power(b - a)) / (1 - r))
        for a, b in pairwise(cuts)
    ]
    law.append((power(shift + 1) / (1 - r), r / (1 - r)))
    return tuple((p / all_, q / all_) for p, q in law)


@lru_cache(maxsize=256)
def gaussian(variance: Fraction, shift: int) -> Law | None:
    """Discrete Gaussian noise on 0 and on ``shift``, outcome by outcome; None where there are too many."""
    reach = REACH * (isqrt(int(variance)) + 1)
    if 2 * reach + shift > LONGEST:
        return None
    twice = _decimal(2 * variance)
    weight = {k: (-Decimal(k * k) / twice).exp() for k in range(reach + shift + 1)}
    whole = 2 * sum(weight[k] for k in range(reach + 1)) - 1
    return tuple((weight[abs(y)] / whole, weight[abs(y - shift)] / whole) for y in range(-reach, reach + shift + 1))


def concentrated(rho: Fraction, steps: int = 1) -> Law | None:
    """A law of exactly ``rho`` for one step, between neighbours ``steps`` apart."""
    shift = isqrt(int(2 * rho * DEVIATION**2)) + 1
    return gaussian(Fraction(shift * shift) / (2 * rho), shift * steps)


def ranged(epsilon: Fraction) -> Iterator[Law]:
    """Two outcomes whose log ratios are ``epsilon`` apart, for several probabilities of the first."""
    grown = _decimal(epsilon).exp()
    for place in (*range(1, 32, 2), Decimal("31.999999")):
        p = Decimal(place) / 32
        first = p + (1 - p) * grown
        yield ((p, p / first), (1 - p, (1 - p) * grown / first))


def candidates(rate: Fraction, sensitivity: int) -> Iterator[Law]:
    """The exponential mechanism on two candidates, one of many equal ones: scores (s, 0) and (0, s)."""
    t = (-_decimal(rate * sensitivity)).exp()
    for weight in (1, 10, 10**3, 10**12):
        here, there = t + weight, 1 + weight * t
        yield ((t / here, 1 / there), (weight / here, weight * t / there))


def flipped(rate: Fraction, sensitivity: int) -> Law:
    """Permute-and-flip on two candidates, by both orders: scores (s, 0) and (0, s)."""
    t = (-_decimal(rate * sensitivity)).exp()
    return ((t / 2, 1 - t / 2), (1 - t / 2, t / 2))


def nearest(rate: Fraction, sensitivity: int, kind: str) -> Law:
    """A data set under KS distance, by its definition: points in the first of two cells, of ``sensitivity`` + 1.

    The records lie so that those of one person bring the likeliest outcome a whole person nearer and take another one
    away. Everything else is as good as impossible: both sides of the bound are reached.

    Parameters
    ----------
    rate : Fraction
        Epsilon for a distance of one record.
    sensitivity : int
        Records of a person.
    kind : "add_remove" or "substitute"

    Returns
    -------
    Law
    """
    points, far = sensitivity + 1, int(200 / rate) + 2 * sensitivity + 2
    size, held = points * far + 1, far - 2 * sensitivity

    def weights(size: int, held: int) -> list[Decimal]:
        levels = [-(-abs(points * held - size * there) // points) for there in range(min(points, WIDEST) + 1)]
        return [(-_decimal(rate * level)).exp() for level in levels]

    here = weights(size, held)
    there = weights(size + (0 if kind == "substitute" else sensitivity), held + sensitivity)
    return tuple((p / sum(here), q / sum(there)) for p, q in zip(here, there, strict=True))


def selected(epsilon: Fraction, delta: Fraction) -> list[Law]:
    """A key listed or not for n persons and n - 1, by the closed form of the optimal rule, where its pieces meet."""
    grown, extra = _decimal(epsilon).exp(), _decimal(delta)
    steps = ((grown + 2 * extra - 1) / (extra * (grown + 1))).ln() / _decimal(epsilon)
    turn = 1 + max(0, int(steps))
    most = extra * (grown**turn - 1) / (grown - 1)

    def chance(n: int) -> Decimal:
        if n <= turn:
            return extra * (grown**n - 1) / (grown - 1)
        left = grown ** (turn - n)
        return min(Decimal(1), (1 - left) * (1 + extra / (grown - 1)) + left * most)

    places = {n for n in (1, 2, turn // 2, turn, turn + 1, turn + 2) if n >= 1}
    both = [(chance(n), chance(n - 1)) for n in sorted(places)]
    return [((p, q), (1 - p, 1 - q)) for p, q in both]


def weighed(deviation: Fraction, threshold: int, groups: int, kind: str) -> Iterator[tuple[Law, ...]]:
    """The keys of a person, listed or not: nobody else's, or near the threshold without the person.

    Under substitution the other person has as many keys, as far on the other side of the threshold.

    Parameters
    ----------
    deviation : Fraction
        Of the noise, as a multiple of the weight of a person with one key.
    threshold : int
        Weight at which a key is listed half of the time.
    groups : int
        Most keys of a person.
    kind : str
        Adjacency.

    Yields
    ------
    tuple of Law
        Laws of all keys of the person, or of both.
    """

    def chance(weight: Fraction | int) -> Decimal:
        return Decimal(erfc(float((threshold - weight) / (deviation * WHOLE)) / sqrt(2)) / 2)

    def shared(before: Fraction, more: int) -> Law:
        p, q = chance(before + more), chance(before)
        return (p, q), (1 - p, 1 - q)

    for keys in sorted({1, min(groups, SEVERAL), groups}):
        each = isqrt(WHOLE * WHOLE // keys)
        one = 1 - (1 - chance(each)) ** keys
        new = ((one, Decimal(0)), (1 - one, Decimal(1)))
        yield (new,) if kind == "add_remove" else (new, _turned(new))
        for half in range(-6, 7) if keys <= SEVERAL else ():
            far = half * deviation * WHOLE / 2
            mine, other = shared(threshold + far - each, each), _turned(shared(threshold - far - each, each))
            if abs(far) + each < threshold:
                yield (mine,) * keys if kind == "add_remove" else (mine, other) * keys


# --- which law belongs to a node --------------------------------------------------------------------------------------


def _laws(node: Guarantee) -> NeighbourLaws | None:
    name = node.by.name
    if not node.parts:
        return _of_leaf(node)
    if name in (compose.SEQUENCE.name, compose.CONCURRENT.name):
        worst = [_worst(part.loss) for part in node.parts]
        return None if None in worst else NeighbourLaws((tuple(law for law in worst if law is not None),))
    if name in (compose.ACROSS.name, compose.ONE_OF.name):
        return _either(_worst(part.loss) for part in node.parts)
    if name == compose.GROUP.name:
        return _either([_worst(node.parts[0].loss, int(node.parameter("size")))])
    if name == convert.PAIR_TO_ZCDP.name or (name == convert.TO_RENYI.name and not node.parts[0].parts):
        return _of_leaf(node.parts[0])
    if name in (compose.PROCESSED.name, compose.CAPPED.name, *convert.NAMES):
        return _either([_worst(node.parts[0].loss)])
    return None


def _either(laws: Iterable[Law | None]) -> NeighbourLaws | None:
    ways = [law for law in laws if law is not None]
    return NeighbourLaws(tuple((law,) for law in ways)) if ways else None


def _worst(loss: Loss, steps: int = 1) -> Law | None:
    """The worst law that a loss allows, between neighbours ``steps`` apart; None where it cannot be listed."""
    match loss:
        case PureDP(epsilon) if epsilon == 0:
            return coin(epsilon)
        case PureDP(epsilon) if epsilon >= LEAST and epsilon * steps <= MOST:
            return coin(epsilon) if steps == 1 else geometric(1 / epsilon, steps)
        case ApproxDP(epsilon, delta) if epsilon * steps <= MOST:
            return coin(epsilon, delta) if steps == 1 else _chain(epsilon, delta, steps)
        case ZCDP(rho) if LEAST <= rho * steps * steps <= MOST:
            return concentrated(rho, steps)
        case GaussianDP(mu_squared) if LEAST <= mu_squared * steps * steps <= MOST:
            return concentrated(mu_squared / 2, steps)
        case ApproxZCDP(rho, delta) if steps == 1 and LEAST <= rho <= MOST:
            law, open_ = concentrated(rho), _decimal(delta)
            if law is None:
                return None
            return ((open_, Decimal(0)), *((p * (1 - open_), q * (1 - open_)) for p, q in law), (Decimal(0), open_))
        case _:
            return None


def _chain(epsilon: Fraction, delta: Fraction, steps: int) -> Law | None:
    """Yes and no along a chain of neighbours: p of yes becomes e^epsilon p + delta at each step, from 0 on."""
    grown, extra = _decimal(epsilon).exp(), _decimal(delta)
    p = Decimal(0)
    for _ in range(steps):
        further = grown * p + extra
        if further > 1 or 1 - p > grown * (1 - further) + extra:  # then it is no chain of neighbours
            return None
        p = further
    return ((p, Decimal(0)), (1 - p, Decimal(1)))


def _of_leaf(leaf: Guarantee) -> NeighbourLaws | None:
    """The law of the mechanism whose axiom this is, on the worst neighbours, from the numbers it was made with."""
    given = {name: _number(text) for name, text in leaf.parameters}
    match leaf.by.name:
        case "geometric":
            return _either([geometric(given["scale"], int(given["sensitivity"]))])
        case "laplace":
            step = Fraction(2) ** int(given["exponent"])
            steps = rounded(given["sensitivity"], step, int(given["size"]))
            return _either([geometric(given["scale"] / step, steps)])
        case "exponential":
            sensitivity = int(given["sensitivity"])
            return _either([*candidates(given["rate"], sensitivity), *ranged(2 * given["rate"] * sensitivity)])
        case "exponential_by_spread":
            spread = int(given["spread"])
            return _either([*candidates(given["rate"] / 2, spread), *ranged(given["rate"] * spread)])
        case "permute_and_flip":
            return _either([flipped(given["rate"], int(given["sensitivity"]))])
        case "ks_release":
            return _either([nearest(given["rate"], int(given["sensitivity"]), leaf.adjacency.kind)])
        case "randomized_response":
            lie = (1 - given["truth"]) * given["yes"]
            here, there = _decimal(given["truth"] + lie), _decimal(lie)
            return _either([((here, there), (1 - here, 1 - there))])
        case "gaussian":
            return _in_coordinates(given["variance"], given["squared_sensitivity"])
        case "gaussian_scalar":
            shifts = range(1, int(given["sensitivity"]) + 1)
            return _either(gaussian(given["variance"], shift) for shift in shifts)
        case "key_selection":
            return _either(selected(given["epsilon"], given["delta"]))
        case "weighted_selection":
            threshold, groups = int(given["threshold"]), int(given["groups"])
            return NeighbourLaws(tuple(weighed(given["deviation"], threshold, groups, leaf.adjacency.kind)))
        case compose.PUBLIC.name:
            return _either([((Decimal(1), Decimal(1)),)])
        case _:
            return None


def _number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        return Fraction(0)  # no number: of a mechanism that is not listed


def rounded(sensitivity: Fraction, step: Fraction, size: int) -> int:
    """Number of grid steps that ``size`` answers move together.

    One answer moves by nearly all of them, each of the others across a half-way case.

    Parameters
    ----------
    sensitivity : Fraction
        L1 distance, in the unit of the answers.
    step : Fraction
        Of the grid, in the same unit.
    size : int
        Number of answers.

    Returns
    -------
    int
    """

    def index(x: Fraction) -> int:  # to the nearest, half-way cases down
        return -((Fraction(1, 2) - x / step).__floor__())

    def moves(by: Fraction) -> int:
        starts = [step * Fraction(place, 8) for place in range(8)]
        return max(abs(index(x + by) - index(x)) for x in starts)

    little = min(sensitivity, step) / (1000 * size)
    return max(moves(sensitivity), moves(sensitivity - (size - 1) * little) + (size - 1) * moves(little))


def _in_coordinates(variance: Fraction, squared: Fraction) -> NeighbourLaws | None:
    """Gaussian noise on integers that move by at most sqrt(``squared``) together: up to four of them do.

    A law too wide to list is listed on every h-th integer: its sums differ by less than exp(-2 pi^2 variance / h^2).
    """
    thin = max(1, isqrt(int(variance)) // (2 * DEVIATION))
    total = int(squared)
    if thin > 1:
        shift = round(isqrt(total) / thin)
        if not shift:
            return None
        return _either([gaussian(variance * shift * shift / squared, shift)])  # the same rho, in units of thin
    shifts = _four_squares(total)
    laws = [gaussian(variance, shift) for shift in shifts]
    return None if None in laws else NeighbourLaws((tuple(law for law in laws if law is not None),))


def _four_squares(total: int) -> tuple[int, ...]:
    """Whole numbers whose squares add up to ``total`` (Lagrange): the largest that leaves a rest with the others."""
    return next(_squares(total, 4))


def _squares(total: int, left: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    elif left:
        for first in range(isqrt(total), 0, -1):
            yield from ((first, *rest) for rest in _squares(total - first * first, left - 1))


# --- the tree as a whole ----------------------------------------------------------------------------------------------


def _most(node: Guarantee, steps: int) -> Decimal | None:
    """The most that the leaves' laws lose together, ``steps`` apart, at delta 0; stored losses are not looked at."""
    if not node.parts:
        listed = _of_leaf(node)
        share = None if listed is None else listed.share(PureDP(Fraction(1)))
        return None if share is None else share * steps
    parts = [_most(part, steps * _apart(node)) for part in node.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    alone = node.by.name in (compose.ACROSS.name, compose.ONE_OF.name)
    return max(known) if alone else sum(known, Decimal(0))


def _apart(node: Guarantee) -> int:
    return int(node.parameter("size")) if node.by.name == compose.GROUP.name else 1
