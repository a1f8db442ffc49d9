"""Lower bounds on epsilon from samples of the output: what anyone can measure who may run a mechanism often enough.

    bound(here, there, delta=[0, 1e-6, 1e-3], beta=1e-3)      outputs on two neighbours -> Lower

Statement. With probability at least 1 - beta over the two samples, every number in the result holds at once: for
every tested event E, P(E | here) >= ``least`` and P(E | there) <= ``most``, hence
epsilon(delta) >= ln((least - delta) / most) for every delta, listed or not.

Proof. Events are chosen on one half of the sample and tested on the other, which is independent of the choice. Each
test is two Clopper-Pearson bounds; their error rates, fixed on the first half too, add up to beta. See
docs/theory/auditing.md.

Source. Clopper and Pearson 1934. For the search of events Ding et al. 2018 (StatDP), Bichsel et al. 2021 (DP-Sniper),
Lokna et al. 2023 (Delta-Siege). Splitting as in Jagielski et al. 2020.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.conformance.events import Feature, Floats, OutputParts, Sample, features, read, with_score
from reticent.errors import PublicParameterError
from reticent.privacy import convert, profiles
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, PureDP

SHARES: Final = (0.7, 0.15, 0.1, 0.05)  # of the error rate of one delta, for its best event, second best, ...
CAUTION: Final = 3.0  # standard errors by which a promising event is judged on the part that picks
SETS: Final = 12  # sets of outputs at which two stated laws are compared with a loss
LEAST: Final = 40  # outputs a side without which nothing can be split


@dataclass(frozen=True, slots=True)
class EventTest:
    """One event on the half of the sample that did not choose it.

    Attributes
    ----------
    event : str
        The family it comes from and how large a part of the cells it takes.
    reverse : bool
        Whether ``there`` is the side on which it is the more likely; ``hits`` are of that side.
    hits, out_of, others, other_out_of : int
    least, most : float
        P(event) is at least ``least`` on its side, and at most ``most`` on the other.
    """

    event: str
    reverse: bool
    hits: int
    out_of: int
    others: int
    other_out_of: int
    least: float
    most: float

    def epsilon(self, delta: float) -> float:
        """Lower bound on epsilon by this event alone, at least 0."""
        over = self.least - delta
        return max(0.0, math.log(over / self.most)) if over > 0 else 0.0


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """Lower bounds on epsilon that hold together with probability 1 - ``beta``.

    Attributes
    ----------
    tested : tuple of EventTest
    deltas : tuple of float
        Where the search looked; the bounds hold at any other delta as well.
    beta : float
    """

    tested: tuple[EventTest, ...]
    deltas: tuple[float, ...]
    beta: float

    def epsilon(self, delta: float = 0.0) -> float:
        """The largest epsilon proved at ``delta`` in [0, 1)."""
        return max((one.epsilon(delta) for one in self.tested), default=0.0)

    def best(self, delta: float = 0.0) -> EventTest | None:
        """The event that proves it."""
        return max(self.tested, key=lambda one: one.epsilon(delta), default=None)

    def refutes(self, loss: Loss) -> EventTest | None:
        """An event more likely than ``loss`` allows; None where the loss withstands.

        No test of one neighbour against the other has more power than ``profiles.power`` at its level. This therefore
        compares with the whole privacy curve, for every kind of loss.
        """
        for one in self.tested:
            if one.least > one.most and one.least > float(profiles.power(loss, _up(one.most))) + 1e-12:
                return one
        return None

    def __str__(self) -> str:
        lines = []
        for delta in self.deltas:
            best = self.best(delta)
            if best is None or best.epsilon(delta) == 0:
                lines.append(f"ε >= 0 at δ {delta:g}")
                continue
            hits = f"{best.hits} of {best.out_of} against {best.others} of {best.other_out_of}"
            lines.append(f"ε >= {best.epsilon(delta):.3g} at δ {delta:g}: {best.event}, {hits}")
        return "\n".join(
            [*lines, f"all {len(self.tested)} events together wrong with probability at most {self.beta:g}"]
        )


def bound(here: Sample, there: Sample, *, delta: Sequence[float] = (0.0,), beta: float = 1e-3) -> LowerBounds:
    """Lower bounds on epsilon from independent outputs on two neighbours, in both directions.

    Parameters
    ----------
    here, there : sequence of outputs, or array of shape (n,) or (n, d)
        At least 40 each, independent. Numbers of any kind, texts, tuples, None, ``NoReply``, ``Reply``, exceptions
        (return them instead of raising).
    delta : sequence of float
        In [0, 1): where to look for events; one search serves all.
    beta : float
        In (0, 1): the probability that any of the bounds is too high.

    Returns
    -------
    Lower

    Raises
    ------
    PublicParameterError
        For too few outputs, or numbers out of range.
    """
    if min(len(here), len(there)) < LEAST:
        raise PublicParameterError(f"at least {LEAST} outputs a side are needed, got {min(len(here), len(there))}")
    if not 0 < beta < 1 or not delta or any(not 0 <= one < 1 for one in delta):
        raise PublicParameterError("beta must lie in (0, 1), and each delta in [0, 1)")
    data = read(here, there)
    sides = _Sides.of(data)
    return _tested(_chosen(data, sides, delta), sides, tuple(delta), beta)


# --- choosing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sides:
    """Row numbers by part: a quarter orders cells, a quarter picks events, a half tests. Index 0 is here, 1 there."""

    order: tuple[NDArray[np.int64], NDArray[np.int64]]
    pick: tuple[NDArray[np.int64], NDArray[np.int64]]
    test: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, data: OutputParts) -> _Sides:
        here, there = np.arange(data.here), np.arange(data.here, data.rows)
        tests = [np.concatenate([rows[1::4], rows[3::4]]) for rows in (here, there)]
        return cls((here[0::4], there[0::4]), (here[2::4], there[2::4]), (tests[0], tests[1]))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The cells ``cells`` of a feature, judged by what the part that picks saw of them."""

    feature: Feature
    cells: NDArray[np.int64]
    reverse: bool
    score: float
    seen: tuple[int, int]


def _chosen(data: OutputParts, sides: _Sides, deltas: Sequence[float]) -> list[list[_Candidate]]:
    """For each delta the most promising events, best first."""
    training = np.concatenate([*sides.order, *sides.pick])
    known = with_score(features(data, training), *sides.order)
    found: list[list[_Candidate]] = [[] for _ in deltas]
    for feature in known:
        ordering = [np.bincount(feature.codes[rows], minlength=feature.cells) for rows in sides.order]
        picking = [np.bincount(feature.codes[rows], minlength=feature.cells) for rows in sides.pick]
        for cells, reverse in _orders(feature, ordering):
            for place, candidate in _best(feature, cells, reverse, picking, sides, deltas):
                found[place].append(candidate)
    return [_different(candidates) for candidates in found]


def _orders(feature: Feature, counts: list[NDArray[np.int64]]) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Orders of the cells whose beginnings are events: by likelihood ratio, and by value, each both ways."""
    ratio = (counts[0] + 0.5) / (counts[1] + 0.5)
    falling = np.argsort(-ratio, kind="stable")
    yield falling, False
    yield falling[::-1], True
    if feature.ordered and feature.cells > 3:
        rising = np.arange(feature.cells)
        for cells in (rising, rising[::-1]):
            yield cells, False
            yield cells, True


def _best(
    feature: Feature,
    cells: NDArray[np.int64],
    reverse: bool,
    picking: list[NDArray[np.int64]],
    sides: _Sides,
    deltas: Sequence[float],
) -> Iterator[tuple[int, _Candidate]]:
    """The most promising beginning of an order, for each delta."""
    first, second = (1, 0) if reverse else (0, 1)
    hits, others = np.cumsum(picking[first][cells])[:-1], np.cumsum(picking[second][cells])[:-1]
    least = _cautious(hits, len(sides.pick[first]), -CAUTION)
    most = _cautious(others, len(sides.pick[second]), CAUTION)
    for place, delta in enumerate(deltas):
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(least > delta, np.log((least - delta) / most), -np.inf)
        best = int(np.argmax(scores))
        if scores[best] > -np.inf:
            taken = cells[: best + 1]
            seen = (int(hits[best]), int(others[best]))
            yield place, _Candidate(feature, taken, reverse, float(scores[best]), seen)


def _cautious(hits: NDArray[np.int64], size: int, z: float) -> Floats:
    """An end of Wilson's interval: good enough to choose by."""
    share = hits / size
    spread = np.sqrt(share * (1 - share) / size + z * z / (4.0 * size * size))
    found: Floats = (share + z * z / (2.0 * size) + z * spread) / (1 + z * z / size)
    return found


def _different(candidates: list[_Candidate]) -> list[_Candidate]:
    """The best few that the picking part could tell apart."""
    kept: list[_Candidate] = []
    for one in sorted(candidates, key=lambda candidate: -candidate.score):
        if all((one.seen, one.reverse) != (other.seen, other.reverse) for other in kept):
            kept.append(one)
        if len(kept) == len(SHARES):
            break
    return kept


# --- testing ---------------------------------------------------------------------------------------------------------


def _tested(chosen: list[list[_Candidate]], sides: _Sides, deltas: tuple[float, ...], beta: float) -> LowerBounds:
    """Every chosen event on the other half; equal events of several deltas are tested once, with their shares added."""
    events: dict[tuple[str, bool, bytes], tuple[_Candidate, float]] = {}
    for candidates in chosen:
        whole = sum(SHARES[: len(candidates)])
        for candidate, share in zip(candidates, SHARES, strict=False):
            key = (candidate.feature.name, candidate.reverse, np.sort(candidate.cells).tobytes())
            before = events[key][1] if key in events else 0.0
            events[key] = (candidate, before + share / whole / len(deltas))
    return LowerBounds(tuple(_one(one, sides, share * beta) for one, share in events.values()), deltas, beta)


def _one(candidate: _Candidate, sides: _Sides, error: float) -> EventTest:
    feature, reverse = candidate.feature, candidate.reverse
    member = np.zeros(feature.cells, bool)
    member[candidate.cells] = True
    counts = [int(member[feature.codes[rows]].sum()) for rows in sides.test]
    sizes = [len(rows) for rows in sides.test]
    first, second = (1, 0) if reverse else (0, 1)
    hits, others = counts[first], counts[second]
    words = f"{feature.name}, {len(candidate.cells)} of {feature.cells} cells"
    lower_share = 1 - _upper_share(candidate, sides)
    return EventTest(
        words,
        reverse,
        hits,
        sizes[first],
        others,
        sizes[second],
        least_share(hits, sizes[first], lower_share * error),
        most_share(others, sizes[second], error - lower_share * error),
    )


def _upper_share(candidate: _Candidate, sides: _Sides) -> float:
    """The part of the error rate that goes to the rarer side, whose logarithm is the less certain; from training."""
    first, second = (1, 0) if candidate.reverse else (0, 1)
    p = (candidate.seen[0] + 1) / (len(sides.pick[first]) + 2)
    q = (candidate.seen[1] + 1) / (len(sides.pick[second]) + 2)
    rare, common = math.sqrt((1 - q) / q), math.sqrt((1 - p) / p)
    return min(max(rare / (rare + common), 0.5), 0.95)


def least_share(hits: int, size: int, error: float) -> float:
    """At or below the probability of an event seen ``hits`` times in ``size``, but for ``error``.

    Parameters
    ----------
    hits, size : int
    error : float
        Probability that the bound is too high.

    Returns
    -------
    float
        In [0, 1].
    """
    from scipy.special import betaincinv

    return 0.0 if hits == 0 else float(betaincinv(hits, size - hits + 1, error))


def most_share(hits: int, size: int, error: float) -> float:
    """At or above the probability of an event seen ``hits`` times in ``size``, but for ``error``.

    Parameters
    ----------
    hits, size : int
    error : float
        Probability that the bound is too low.

    Returns
    -------
    float
        In [0, 1].
    """
    from scipy.special import betainccinv

    return 1.0 if hits == size else float(betainccinv(hits + 1, size - hits, error))


def binomial_tail(hits: int, size: int, share: float) -> float:
    """P(at least ``hits`` in ``size``) for an event of probability ``share``.

    Parameters
    ----------
    hits, size : int
    share : float
        In [0, 1].

    Returns
    -------
    float
        In [0, 1].
    """
    from scipy.special import bdtrc

    return float(bdtrc(hits - 1, size, share))


def _up(share: float) -> Fraction:
    return min(Fraction(1), Fraction(share) + Fraction(1, 10**12))


def claims(guarantee: Guarantee) -> tuple[Loss, ...]:
    """Losses that outputs may refute.

    They are the stated loss and, if it is no epsilon, the dominating pair of the same proof.
    """
    if guarantee.pair is None or guarantee.parts or isinstance(guarantee.loss, PureDP):
        return (guarantee.loss,)
    return (guarantee.loss, convert.as_pld(guarantee).loss)


# --- samples against a stated law ------------------------------------------------------------------------------------


def fit(outputs: Sequence[Hashable], mass: Callable[[Any], float]) -> float:
    """A p-value of independent outputs against a stated law: small where they do not fit.

    Half of it goes to exact binomial tests of every common output and every set of the likeliest ones (Bonferroni). The
    other half goes to Pearson's chi-square with cells of at least 50 expected, taken at a hundredth of its level: the
    chi-square law holds in the limit only.
    """
    from scipy.special import bdtr, bdtrc, chdtrc

    counts, size = Counter(outputs), len(outputs)
    likely = sorted(((mass(output), count) for output, count in counts.items()), key=lambda pair: -pair[0])
    if likely[-1][0] <= 0:
        return 0.0
    chances, seen = np.array([pair[0] for pair in likely]), np.array([pair[1] for pair in likely])
    common = chances * size >= 5
    shares = np.minimum(np.concatenate([chances[common], np.cumsum(chances)]), 1.0)
    hits = np.concatenate([seen[common], np.cumsum(seen)])
    tails = np.minimum(bdtrc(hits - 1, size, shares), bdtr(hits, size, shares))
    exact = float(tails.min()) * 2 * len(shares)
    cells = chances * size >= 50
    expected, observed = chances[cells] * size, seen[cells]
    if size - expected.sum() >= 50:
        expected, observed = np.append(expected, size - expected.sum()), np.append(observed, size - observed.sum())
    if len(expected) < 2:
        return min(1.0, 2 * exact)
    limit = float(chdtrc(len(expected) - 1, ((observed - expected) ** 2 / expected).sum()))
    return min(1.0, 2 * exact, 2 * 100 * limit)


def excess(loss: Loss, here: Sequence[float], there: Sequence[float]) -> tuple[float, float] | None:
    """A set of outputs more likely under the law ``here`` than ``loss`` allows: its two probabilities, or None.

    The laws are given on some of their outputs, in one order; sets of those with the largest ratios are looked at.

    Parameters
    ----------
    loss : Loss
    here, there : sequence of float
        Probabilities of the same outputs under either law.

    Returns
    -------
    pair of float, or None
    """
    a, b = np.array(here), np.array(there)
    for first, second in ((a, b), (b, a)):
        order = np.argsort(-(first + 1e-300) / (second + 1e-300), kind="stable")
        p, q = np.cumsum(first[order]), np.cumsum(second[order])
        for place in sorted({round(k) for k in np.linspace(0, len(p) - 1, SETS)}):
            if p[place] > float(profiles.power(loss, min(Fraction(1), Fraction(float(q[place]))))) + 1e-9:
                return float(p[place]), float(q[place])
    return None
