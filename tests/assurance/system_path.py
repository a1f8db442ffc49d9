"""The path of a release: the operating system's coins, values drawn ahead, arrays of wide noise, choices among many.

    print(check())                       seconds; part of ``reticent audit --kit``

A release draws from ``SystemEntropy``, where small requests are served from a pool and single values from blocks. A
program could be right on coins that repeat and wrong here. So these lines draw fresh coins: what they print does not
depend on what came out, as long as they pass. Each is a set of events whose probabilities are known; that the number
of hits of any is as far off as seen has a probability of at most 2 exp(-n KL(hits / n, p)) (Chernoff's bound), times
the number of events. A line fails below ``LEVEL``. Of 20,000 values a scale wrong by a fifth is seen, and each line of
a law says so by trying it. Two of the values that must not repeat are equal by chance with probability below 1e-9.

What this cannot see: bits that are fair to every count here and still known to somebody, such as the output of a
generator whose seed was chosen; a program that does otherwise after more draws, on another day or for other parameters.
"""

from __future__ import annotations

import math
import os
import select
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.conformance import lower_bounds as sampled
from reticent.conformance.kit import CaseCheck, KitReport
from reticent.entropy import Entropy, Replayed, system
from reticent.exact import gaussian, laplace, sampling
from reticent.exact.alias_tables import KEPT
from reticent.mechanisms import registry
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Specimen
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1, Linf

LEVEL: Final = 1e-10
DRAWS: Final = 20_000
FEWER: Final = 4_000  # of choices and of noise by several coins, which are dearer
WORDS: Final = 1 << 14  # from the pool, and as many straight from the system
ALIKE: Final = 10_000  # values of the widest noise: two of them alike with probability below 2e-10
AMONG: Final = 300
TAILS: Final = (0.1, 0.3, 0.7, 1.0, 1.5, 2.5, 4.0)  # in scales
WRONG: Final = (Fraction(4, 5), Fraction(5, 4))
SCALES: Final = (Fraction(5, 2), Fraction(3 * (1 << 20) + 1), Fraction(1 << 40))
VARIANCES: Final = (Fraction(100), Fraction(1 << 23))
PATIENCE: Final = 20  # seconds for a child

CHEAP: Final = (Geometric, Laplace, Gaussian, ScalarGaussian, RandomizedResponse)

Event: TypeAlias = tuple[int, int, float]  # hits, out of, probability
Test: TypeAlias = Callable[[NDArray[np.int64], Fraction], float]


def check() -> KitReport:
    """All lines; a right program fails any with probability below 1e-9, and all together below ``false_alarm``."""
    return KitReport((*_coins(), *_ahead(), *_mechanisms(), *_arrays(), *_choices()))


def _line(case: str, name: str, passed: bool, reason: str, error: float = LEVEL) -> CaseCheck:
    return CaseCheck(case, name, "pass" if passed else "fail", reason, error)


def tail(events: Sequence[Event]) -> float:
    """At most the probability that some event is as far from its expectation as seen, by Chernoff's bound."""
    least = min((_chernoff(*event) for event in events), default=1.0)
    return min(1.0, len(events) * least)


def _chernoff(hits: int, size: int, p: float) -> float:
    share = hits / size
    if p <= 0.0 or p >= 1.0:
        return 1.0 if share == p else 0.0
    apart = share * math.log(share / p) if share else 0.0
    apart += (1 - share) * math.log((1 - share) / (1 - p)) if share < 1 else 0.0
    return min(1.0, 2 * math.exp(-size * max(apart, 0.0)))


# --- coins -----------------------------------------------------------------------------------------------------------


def _coins() -> Iterator[CaseCheck]:
    """Words of the pool and of large requests, and numbers of few bits."""
    case, coins = "the system's coins", system()
    pool = [coins.words(1 + place % 100) for place in range(WORDS // 48)]
    large = [coins.words(WORDS // 2) for _ in range(2)]
    parts = {"pool": np.concatenate(pool)[:WORDS], "large requests": np.concatenate(large)}
    words = np.concatenate(list(parts.values()))
    repeats = len(words) - len(np.unique(words))
    yield _line(case, "no word twice", not repeats, f"{len(words):,} words of pool and large requests")
    for name, some in parts.items():
        others = [_balance(some ^ (some >> np.uint64(apart)), 64 - apart) for apart in (1, 32)]
        fair = tail([*_balance(some), *_balance(some[1:] ^ some[:-1]), *others[0], *others[1]])
        what = f"each bit alone, against those 1 and 32 on, and against the last word's: {len(some):,} words"
        yield _line(case, f"bits of words are even, {name}", fair >= LEVEL, what)
    events: list[Event] = []
    for count in (1, 2, 3, 8, 13, 31, 53, 64, 100):
        numbers = [coins.bits(count) for _ in range(2000)]
        inside = all(0 <= number < 1 << count for number in numbers)
        events += [(sum(number >> bit & 1 for number in numbers), 2000, 0.5) for bit in range(count)]
        events += [] if inside else [(1, 1, 0.0)]
    yield _line(case, "bits of numbers are even", tail(events) >= LEVEL, "2,000 numbers of each of 9 widths, each bit")


def _balance(words: NDArray[np.uint64], bits: int = 64) -> list[Event]:
    ones = [int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(bits)]
    return [(count, len(words), 0.5) for count in ones]


# --- values drawn ahead ----------------------------------------------------------------------------------------------


def _ahead() -> Iterator[CaseCheck]:
    """Single values, of several parameters in turn as a release asks for them."""
    case = "values drawn ahead"
    by_scale: list[list[int]] = [[] for _ in SCALES]
    by_variance: list[list[int]] = [[] for _ in VARIANCES]
    for _ in range(DRAWS):
        for scale, drawn in zip(SCALES, by_scale, strict=True):
            drawn.append(sampling.one_discrete_laplace(scale, system()))
        for variance, drawn in zip(VARIANCES, by_variance, strict=True):
            drawn.append(sampling.one_discrete_gaussian(variance, system()))
    for scale, drawn in zip(SCALES, by_scale, strict=True):
        yield _law(case, f"Laplace of scale {scale}", np.array(drawn, np.int64), scale, laplace_fit)
    for variance, drawn in zip(VARIANCES, by_variance, strict=True):
        yield _law(case, f"Gaussian of variance {variance}", np.array(drawn, np.int64), variance, gaussian_fit)
    widest = (
        ("Laplace", sampling.one_discrete_laplace, laplace.LARGEST),
        ("Gaussian", sampling.one_discrete_gaussian, gaussian.LARGEST),
    )
    for name, draw, parameter in widest:
        values = [draw(parameter, system()) for _ in range(ALIKE)]
        values += [draw(Fraction(parameter), system()) for _ in range(10)]
        alone = len(values) == len(set(values))
        yield _line(case, f"no {name} twice", alone, f"{len(values):,} values, from several blocks", 3e-10)
    yield _parameters(case)
    yield _forked(case)


def _law(case: str, name: str, values: NDArray[np.int64], parameter: Fraction, fit: Test) -> CaseCheck:
    """The law, and whether the line would see another: the parameter times 4/5 and 5/4, of a variance squared."""
    power = 2 if fit is gaussian_fit else 1
    others = [fit(values, parameter / wrong**power) for wrong in WRONG]
    sharp = max(others) < LEVEL
    reason = f"{len(values):,} values; noise 4/5 and 5/4 as wide is refused"
    if not sharp:
        reason = f"{len(values):,} values do not tell this noise from one 4/5 or 5/4 as wide"
    return _line(case, f"draws its law, {name}", sharp and fit(values, parameter) >= LEVEL, reason)


def laplace_fit(values: NDArray[np.int64], scale: Fraction) -> float:
    """A bound on the chance of values as far from P(k) proportional to exp(-abs(k) / scale), scale >= 1.

    k or its complement ~k is a geometric number g >= 0, whose sign and bits are independent: P(k < 0) = q / (1 + q) and
    P(bit j of g is 1) = r / (1 + r) with q = exp(-1 / scale), r = exp(-2**j / scale).
    """
    size, width = len(values), float(scale)
    g = np.where(values < 0, ~values, values)
    odds = [math.exp(-(2.0**bit) / width) for bit in range(max(1, math.ceil(width).bit_length()))]
    below = math.exp(-1.0 / width) / (1 + math.exp(-1.0 / width))
    events = [(int((values < 0).sum()), size, below)]
    # the bits of k are those of g, turned round where k < 0: a bit that sticks in k does not in g
    events += [
        (int((values >> bit & 1).sum()), size, ((1 - below) * odd + below) / (1 + odd)) for bit, odd in enumerate(odds)
    ]
    events += [(int((g >> bit & 1).sum()), size, odd / (1 + odd)) for bit, odd in enumerate(odds)]
    events += [(int((g >= t).sum()), size, math.exp(-t / width)) for t in (math.ceil(c * width) for c in TAILS)]
    return tail(events)


def gaussian_fit(values: NDArray[np.int64], variance: Fraction) -> float:
    """The same for P(k) proportional to exp(-k**2 / (2 variance)): signs and the shares beyond some distances."""
    size, std = len(values), math.sqrt(variance)
    weights = np.exp(-(np.arange(math.ceil(12 * std) + 2, dtype=np.float64) ** 2) / (2 * float(variance)))
    total = 2 * float(weights.sum()) - 1
    events = [(int((values < 0).sum()), size, (total - 1) / 2 / total)]
    for t in (math.ceil(c * std) for c in TAILS):
        events.append((int((np.abs(values) >= t).sum()), size, 2 * float(weights[t:].sum()) / total))
    return tail(events)


def _parameters(case: str) -> CaseCheck:
    """More parameters than are kept, each asked again and again: the values are of the parameter's own size.

    abs(Z) is at least t with a probability within 2**-19 of exp(-t / scale) at scales from 2**21 on.
    """
    scales = [Fraction(1 << 20) * (1 << place // 2) * (3 if place % 2 else 2) for place in range(KEPT + 6)]
    hits, many = [0] * len(TAILS), 40
    for _ in range(2):
        for scale in scales:
            for _ in range(many):
                g = abs(sampling.one_discrete_laplace(scale, system()))
                for place, share in enumerate(TAILS):
                    hits[place] += g >= math.ceil(share * scale)
    size = 2 * many * len(scales)
    fit = tail([(hit, size, math.exp(-share)) for hit, share in zip(hits, TAILS, strict=True)])
    return _line(case, "each parameter has its own", fit >= LEVEL, f"{size:,} values of {len(scales)} parameters")


def _forked(case: str) -> CaseCheck:
    """A child of this process draws other words and other values than its parent goes on to draw."""
    name = "no word or value twice across a fork"
    if not hasattr(os, "fork"):
        return CaseCheck(case, name, "not applicable", "no fork on this system")
    _many()  # pool and blocks are open when the process forks
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child draws, writes and ends; it takes no lock
        child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            os.write(writer, ",".join(map(str, _many())).encode())
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], PATIENCE)
        if not ready:
            os.kill(child, signal.SIGKILL)
            return CaseCheck(case, name, "not applicable", "the child did not answer")
        told = _all(reader)
    finally:
        os.close(reader)
        os.waitpid(child, 0)
    theirs, ours = set(map(int, told.split(b","))), set(_many())
    return _line(case, name, len(theirs) == len(ours) == 2 * 64 and not theirs & ours, "64 words and 64 values a side")


def _many() -> list[int]:
    """64 words in small requests, and 64 values of the widest noise."""
    words = [int(system().words(1)[0]) for _ in range(64)]
    return [*words, *[sampling.one_discrete_laplace(laplace.LARGEST, system()) for _ in range(64)]]


def _all(reader: int) -> bytes:
    found = b""
    while part := os.read(reader, 1 << 16):
        found += part
    return found


# --- mechanisms ------------------------------------------------------------------------------------------------------


def specimens() -> list[Specimen[Any, Any]]:
    """Every specimen whose law is stated."""
    return [specimen for module in registry.ALL for specimen in module.SPECIMENS]


def _mechanisms(listed: Sequence[Specimen[Any, Any]] | None = None) -> Iterator[CaseCheck]:
    """Specimens, by default all of them, drawn as a release draws."""
    case = "mechanisms on the system's coins"
    for specimen in specimens() if listed is None else listed:
        many = DRAWS if isinstance(specimen.mechanism, CHEAP) else FEWER
        values = [specimen.mechanism.sample(specimen.here, system()) for _ in range(many)]

        def mass(output: Any, specimen: Any = specimen) -> float:
            return float(specimen.mass(specimen.here, output))

        fits = sampled.fit(values, mass) >= LEVEL
        yield _line(case, f"draws its law, {specimen.name}", fits, f"{many:,} draws")


# --- arrays of wide noise, choices among many ------------------------------------------------------------------------


def _streams(name: str) -> Iterator[tuple[str, Entropy]]:
    yield "coins that repeat", Replayed(name)
    yield "the system's coins", system()


def _arrays() -> Iterator[CaseCheck]:
    """Vectors of the sizes and scales of means, through the mechanism, from the smaller tables and the larger ones."""
    case, near = "wide noise in arrays", Adjacency("add_remove")
    for scale in SCALES[1:]:
        made = Geometric(L1(scale, near), Fraction(1))
        for size in (DRAWS, laplace.MANY + 1):
            exact = tuple(range(size))
            for how, stream in _streams(f"{scale} {size}"):
                noisy = np.array(made.sample(exact, stream), np.int64) - np.arange(size)
                yield _law(case, f"scale {scale}, {size:,} at once, {how}", noisy, scale, laplace_fit)


def _choices(verbs: Sequence[str] = ("exponential", "permute-and-flip")) -> Iterator[CaseCheck]:
    """One of many candidates, all of them possible; scores rise by one, so that chances fall geometrically."""
    case, near = f"a choice among {AMONG}", Adjacency("add_remove")
    scores = np.arange(AMONG, dtype=np.int64)
    rate = Fraction(1, 20)
    listed = Candidates(scores, np.ones(AMONG, np.int64))
    ways: list[tuple[str, Any, Any, Callable[[float], NDArray[np.float64]]]] = [
        ("exponential", Exponential(Linf(Fraction(1), near), 2 * rate), listed, _exponential),
        ("permute-and-flip", PermuteAndFlip(Linf(Fraction(1), near), 2 * rate), scores, _flips),
    ]
    for name, made, exact, law in (way for way in ways if way[0] in verbs):
        for how, stream in _streams(name):
            values = [int(made.sample(exact, stream)) for _ in range(FEWER)]
            own, *others = (_fit(values, law(float(rate * wrong))) for wrong in (Fraction(1), *WRONG))
            sharp = max(others) < LEVEL
            reason = f"{FEWER:,} draws; a rate 4/5 and 5/4 as large {'is' if sharp else 'is not'} refused"
            yield _line(case, f"draws its law, {name}, {how}", sharp and own >= LEVEL, reason)


def _fit(values: Sequence[int], law: NDArray[np.float64]) -> float:
    """By the shares of the first candidates, and of every second one."""
    size, beyond = len(values), np.cumsum(law)
    found = np.cumsum(np.bincount(values, minlength=len(law)))
    events = [(int(found[k]), size, min(float(beyond[k]), 1.0)) for k in range(0, len(law) - 1, 5)]
    return tail([*events, (sum(value % 2 for value in values), size, float(law[1::2].sum()))])


def _exponential(rate: float) -> NDArray[np.float64]:
    weights = np.exp(-rate * np.arange(AMONG))
    return np.asarray(weights / weights.sum(), np.float64)


def _flips(rate: float) -> NDArray[np.float64]:
    """P(i) = p_i times the integral over u in [0, 1] of the product of 1 - p_j u, j other than i, by Gauss: exact."""
    accept = np.exp(-rate * np.arange(AMONG))
    nodes, weights = np.polynomial.legendre.leggauss(AMONG // 2 + 1)
    u = (nodes + 1) / 2
    logs = np.log1p(-np.outer(accept, u))
    return np.asarray(accept * (np.exp(logs.sum(axis=0) - logs) @ (weights / 2)), np.float64)
