"""How far two laws are apart, with certified bounds, and whether a claim holds over all neighbours of all tables given.

    holds     the certified upper bound on delta at the claimed epsilon is the claimed delta, up to 2**-50
    refuted   the certified lower bound is above the claim: some event on some pair of neighbours disproves it
    open      neither: too much was left unseen

The mass that was not seen counts as all of it on the wrong side. Laws are given by ``laws``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias, TypeVar

from reticent.entropy import Entropy
from reticent.errors import CheckError
from reticent.exact.rounding import exp_bounds, exp_down, log_down, log_up
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP, words
from tests.assurance.laws import BITS, LEAST, ONE, Law, law_of

UNSEEN: Final = Fraction(1, 1 << 50)  # a delta that only the unseen mass adds, and that is let pass
ORDERS: Final = (2, 3, 4, 8, 16)  # of the divergences a claim in zCDP is held against
LOOSE: Final = Fraction(95, 100)

T = TypeVar("T")
Verdict: TypeAlias = Literal["holds", "refuted", "open"]


@dataclass(frozen=True, slots=True)
class Line:
    """One verified claim.

    Attributes
    ----------
    name, what, claim : str
        Of what, what was enumerated, and what is claimed.
    tables, pairs, outcomes : int
        Data sets, unordered pairs of neighbours, and the most outcomes of one law.
    residual : Fraction
        The most mass of one law that was not seen.
    bound : Fraction
        Certified upper bound: of delta at the claimed epsilon, or in zCDP of the mass left out of the divergences.
    attained : Fraction or None
        Certified lower bound on the share of the claim that is reached: of epsilon, of a delta, of rho.
    verdict : str
        "holds", "refuted" or "open".
    """

    name: str
    what: str
    claim: str
    tables: int
    pairs: int
    outcomes: int
    residual: Fraction
    bound: Fraction
    attained: Fraction | None
    verdict: Verdict

    @property
    def loose(self) -> bool:
        """Whether the claim is more than 5 % above all that was attained: noise that these tables do not need."""
        return self.attained is not None and self.attained < LOOSE

    def __str__(self) -> str:
        share = (
            "" if self.attained is None else f", {float(self.attained):.1%} attained{' (loose)' if self.loose else ''}"
        )
        seen = f"{self.tables} tables, {self.pairs} pairs, {self.outcomes} outcomes; " if self.tables else ""
        return (
            f"{self.verdict:<8}{self.name}: {self.claim}{share} [{self.what}; {seen}"
            f"unseen {float(self.residual):.0e}, bound {float(self.bound):.1e}]"
        )


def verify(
    name: str,
    program: Callable[[T, Entropy], object],
    tables: Sequence[T],
    neighbours: Iterable[tuple[int, int]],
    claim: Loss,
    *,
    what: str = "all draws",
    least: Fraction | None = None,
) -> Line:
    """Whether ``program`` keeps ``claim`` between all pairs of neighbours, in both directions.

    Parameters
    ----------
    program : callable
        From a data set and an entropy, asked for laws through ``exact.sampling``, to an outcome.
    tables : sequence
        All data sets.
    neighbours : iterable of (int, int)
        Places in ``tables``, each pair once.
    claim : PureDP, ApproxDP or ZCDP
        In zCDP the divergences of orders 2, 3, 4, 8 and 16 are bounded.
    least : Fraction, optional
        Branches of smaller probability are not entered; by default 2**-80 / e^epsilon, so that the boundary of what is
        entered weighs next to nothing on either side.

    Raises
    ------
    CheckError
        For another claim, no tables, or a program that cannot be enumerated.
    """
    scale = exp_down(-claim.epsilon, 32) if isinstance(claim, PureDP | ApproxDP) else Fraction(1)
    fine = LEAST * scale if least is None else least
    laws = [law_of(partial(program, table), least=fine) for table in tables]
    return compared(name, laws, neighbours, claim, what=what)


def compared(name: str, laws: Sequence[Law], neighbours: Iterable[tuple[int, int]], claim: Loss, *, what: str) -> Line:
    """The line of a claim about laws that are known: of each data set one."""
    pairs = sorted({(min(pair), max(pair)) for pair in neighbours})
    ordered = [(laws[a], laws[b]) for i, j in pairs for a, b in ((i, j), (j, i))]
    bound, attained, verdict = judge(ordered, claim)
    return Line(
        name,
        what,
        words(claim),
        len(laws),
        len(pairs),
        max((len(law.masses) for law in laws), default=0),
        max((Fraction(law.residual, ONE) for law in laws), default=Fraction(0)),
        bound,
        attained,
        verdict,
    )


def judge(ordered: Sequence[tuple[Law, Law]], claim: Loss) -> tuple[Fraction, Fraction | None, Verdict]:
    """The bound, the share attained and the verdict over ordered pairs of laws."""
    match claim:
        case PureDP(epsilon):
            return _approximate(ordered, epsilon, Fraction(0))
        case ApproxDP(epsilon, delta):
            return _approximate(ordered, epsilon, delta)
        case ZCDP(rho):
            return _concentrated(ordered, rho)
        case _:
            raise CheckError(f"claims in {type(claim).__name__} are verified as (epsilon, delta): convert them first")


def _approximate(
    ordered: Sequence[tuple[Law, Law]], epsilon: Fraction, delta: Fraction
) -> tuple[Fraction, Fraction | None, Verdict]:
    found = [delta_bounds(here, there, epsilon) for here, there in ordered]
    low, high = max((d for d, _ in found), default=Fraction(0)), max((d for _, d in found), default=Fraction(0))
    verdict: Verdict = "refuted" if low > delta else "holds" if high <= delta + UNSEEN else "open"
    if delta:
        return high, low / delta, verdict
    most = max((epsilon_bounds(here, there, Fraction(0))[0] for here, there in ordered), default=Fraction(0))
    return high, most / epsilon if epsilon else None, verdict


def _concentrated(ordered: Sequence[tuple[Law, Law]], rho: Fraction) -> tuple[Fraction, Fraction | None, Verdict]:
    low, high, missed = Fraction(0), Fraction(0), Fraction(0)
    for here, there in ordered:
        for order in ORDERS:
            below, above, left = renyi_bounds(here, there, order)
            low, high, missed = max(low, below / order), max(high, above / order), max(missed, left)
    # The divergence given what was seen may be larger than without, by less than what was left out.
    fits = high <= rho * (1 + UNSEEN) + UNSEEN and missed <= UNSEEN
    return missed, low / rho if rho else None, "refuted" if low > rho else "holds" if fits else "open"


# --- two laws --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _grown(epsilon: Fraction) -> tuple[int, int]:
    low, high = exp_bounds(epsilon, BITS)
    return (low * ONE).__floor__(), (high * ONE).__ceil__()


def delta_bounds(here: Law, there: Law, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Certified bounds of sup over events S of P(S) - e^epsilon Q(S)."""
    least, most = _grown(epsilon)
    low, high = -most * there.residual >> BITS, here.residual
    for outcome, (p_low, p_high) in here.masses.items():
        q_low, q_high = there.masses.get(outcome, (0, 0))
        above = p_high - (least * q_low >> BITS)
        if above > 0:
            high += above
            low += max(0, p_low - (most * q_high >> BITS) - 1)
    return Fraction(max(low, 0), ONE), Fraction(min(high, ONE), ONE)


def epsilon_bounds(here: Law, there: Law, delta: Fraction) -> tuple[Fraction, Fraction | None]:
    """Certified bounds of the least epsilon at ``delta``: from one outcome for delta 0, and from all of them.

    The upper one is None where what was not seen outweighs ``delta``.
    """
    attained = Fraction(0)
    best = -1.0
    ranked = []
    for outcome, (p_low, p_high) in here.masses.items():
        q_low, q_high = there.masses.get(outcome, (0, 0))
        ratio = p_low / (q_high + there.residual + 1)
        if ratio > best:
            best, attained = ratio, Fraction(p_low, q_high + there.residual + 1)
        if p_high > q_low:
            ranked.append((p_high / q_low if q_low else float("inf"), p_high, q_low))
    low = max(Fraction(0), log_down(attained)) if attained > 0 else Fraction(0)
    ranked.sort(reverse=True)
    # delta(t) = sum of (p - t q)+ falls with t: the least t for which the outcomes above it hold no more than delta
    budget = (delta * ONE).__floor__() - here.residual
    p_all = q_all = 0
    ratio_needed = Fraction(1)
    for _, p_high, q_low in ranked:
        p_all, q_all = p_all + p_high, q_all + q_low
        if p_all > budget:
            if q_all == 0:
                return low, None
            ratio_needed = max(ratio_needed, Fraction(p_all - budget, q_all))
    return low, (None if budget < 0 else log_up(ratio_needed))


def renyi_bounds(here: Law, there: Law, order: int) -> tuple[Fraction, Fraction, Fraction]:
    """Bounds of the divergence of a whole ``order`` >= 2 between the laws given what both have shown; what both miss.

    The first holds for the laws themselves. The second for the laws given the events of what was seen of both, which
    have all the mass but the third.
    """
    low = high = seen_here = seen_there = 0
    for outcome, (p_low, p_high) in here.masses.items():
        q_low, q_high = there.masses.get(outcome, (0, 0))
        if q_low > 0:
            high += -(-(p_high**order) // q_low ** (order - 1))
            low += p_low**order // (q_high + there.residual) ** (order - 1)
            seen_here, seen_there = seen_here + p_low, seen_there + q_low
    missed = Fraction(ONE - min(seen_here, seen_there), ONE)
    if not high:
        return Fraction(0), Fraction(0), Fraction(1)
    given = Fraction(high, ONE) / Fraction(seen_here, ONE) ** order
    below = log_down(Fraction(low, ONE)) / (order - 1) if low else Fraction(0)
    return max(below, Fraction(0)), max(log_up(given), Fraction(0)) / (order - 1), missed
