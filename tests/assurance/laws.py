"""The output law of a program, with certified bounds, by walking the tree of all its draws.

A program is run again and again with an ``Oracle`` that answers each draw with the next value of that draw's law,
depth first. Every outcome gets a lower and an upper probability, integers in units of 2**-BITS rounded down and up.
Branches below ``least`` are not entered: their mass is in ``residual``, a certified upper bound on everything that was
not seen, and counts as *infinitely* bad in either direction. An exception is an outcome, its type.

What is proved is about the laws the program asks for; that the samplers have these laws is the matter of ``coins``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias, assert_never, cast

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import CheckError, Refusal
from reticent.exact import sampling
from reticent.exact.coins import Oracle
from reticent.exact.rounding import scaled_exp_bounds

BITS: Final = 256
ONE: Final = 1 << BITS
LEAST: Final = Fraction(1, 1 << 80)
WIDEST: Final = 1 << 16  # values of one draw
MOST_RUNS: Final = 1 << 22

Chance: TypeAlias = tuple[int, int, int]  # value, low, high
Program: TypeAlias = Callable[[Entropy], object]


# --- laws of single draws --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def chances(law: sampling.Law, least: int) -> tuple[Chance, ...]:
    """Values and certified probabilities in units of 2**-BITS, likeliest first; those below ``least`` left out."""
    match law:
        case sampling.Uniform(bound):
            if bound > WIDEST:
                raise CheckError(f"a uniform draw below {bound} is too wide to enumerate")
            return tuple((value, ONE // bound, -(-ONE // bound)) for value in range(bound))
        case sampling.Bernoulli(p):
            low = (p.numerator << BITS) // p.denominator
            return _two(low, low if low * p.denominator == p.numerator << BITS else low + 1)
        case sampling.BernoulliExp(x):
            return _two(*scaled_exp_bounds(x, BITS))
        case sampling.DiscreteLaplace(scale):
            return _both_sides(_laplace(scale, least))
        case sampling.DiscreteGaussian(variance):
            return _both_sides(_gaussian(variance, least))
        case sampling.Categorical(exponents, counts):
            lowest = min(x for x, count in zip(exponents, counts, strict=True) if count)
            bounds = [scaled_exp_bounds(max(x - lowest, Fraction(0)), BITS) for x in exponents]
            return _shares([(low * n, high * n) for (low, high), n in zip(bounds, counts, strict=True)])
        case sampling.PermuteAndFlipDraw(exponents):
            return _permuted([scaled_exp_bounds(x - min(exponents), BITS) for x in exponents])
        case _:
            assert_never(law)


def _two(low: int, high: int) -> tuple[Chance, ...]:
    return _sorted([(1, low, high), (0, ONE - high, ONE - low)])


def _sorted(found: list[Chance]) -> tuple[Chance, ...]:
    return tuple(sorted((one for one in found if one[2] > 0), key=lambda one: -one[2]))


def _both_sides(half: list[tuple[int, int]]) -> tuple[Chance, ...]:
    found = [(0, *half[0])]
    for k, (low, high) in enumerate(half[1:], 1):
        found += [(k, low, high), (-k, low, high)]
    return tuple(found)


def _laplace(scale: Fraction, least: int) -> list[tuple[int, int]]:
    """P(k) = (1 - q) / (1 + q) q**k for k = 0, 1, ..., q = exp(-1 / scale)."""
    work = BITS + 64
    whole = 1 << work
    below, above = scaled_exp_bounds(1 / scale, work)
    low, high = ((whole - above) << work) // (whole + above), -((below - whole << work) // (whole + below))
    half: list[tuple[int, int]] = []
    while not half or high >> 64 >= least:
        half.append((low >> 64, -(-high >> 64)))
        low, high = low * below >> work, -(-high * above >> work)
        if len(half) > WIDEST:
            raise CheckError("noise is too wide to enumerate: take a larger epsilon, or a smaller unit")
    return half


def _gaussian(variance: Fraction, least: int) -> list[tuple[int, int]]:
    """P(k) for k = 0, 1, ...: weights by their own bounds, their sum by a geometric series from the last ratio on."""
    weights = [(ONE, ONE)]
    while weights[-1][1] >= 2:
        weights.append(scaled_exp_bounds(Fraction(len(weights) ** 2) / (2 * variance), BITS))
        if len(weights) > WIDEST:
            raise CheckError("noise is too wide to enumerate")
    before, last = weights[-2], weights[-1]
    rest = 2 * last[1] * last[1] // max(before[0] - last[1], 1) + 1
    low = 2 * sum(w for w, _ in weights) - ONE
    high = 2 * sum(w for _, w in weights) - ONE + rest
    half = [((w << BITS) // high, -((-v << BITS) // low)) for w, v in weights]
    return [half[0], *(bounds for bounds in half[1:] if bounds[1] >= least)]


def _shares(weights: list[tuple[int, int]]) -> tuple[Chance, ...]:
    low_all, high_all = sum(low for low, _ in weights), sum(high for _, high in weights)
    found = []
    for i, (low, high) in enumerate(weights):
        least, most = low + high_all - high, high + low_all - low
        found.append((i, (low << BITS) // least if low else 0, min(-((-high << BITS) // most), ONE) if high else 0))
    return _sorted(found)


def _permuted(accept: list[tuple[int, int]]) -> tuple[Chance, ...]:
    """P(i) = p_i sum over k of P(k of the others are true) / (k + 1): all terms are positive, so bounds go through."""
    found = []
    for i, (own_low, own_high) in enumerate(accept):
        low, high = [ONE], [ONE]
        for j, (least, most) in enumerate(accept):
            if j != i:
                low = [(a * (ONE - most) + b * least) >> BITS for a, b in zip([*low, 0], [0, *low], strict=True)]
                high = [-(-(a * (ONE - least) + b * most) >> BITS) for a, b in zip([*high, 0], [0, *high], strict=True)]
        found.append(
            (
                i,
                own_low * sum(mass // (k + 1) for k, mass in enumerate(low)) >> BITS,
                -(-own_high * sum(-(-mass // (k + 1)) for k, mass in enumerate(high)) >> BITS),
            )
        )
    return _sorted(found)


# --- laws of programs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Law:
    """Certified probabilities of outcomes in units of 2**-BITS; at most ``residual`` of the mass is not in them."""

    masses: dict[Hashable, tuple[int, int]]
    residual: int
    runs: int

    def bounds(self, outcome: object) -> tuple[Fraction, Fraction]:
        """Lower and upper probability of an outcome, seen or not."""
        low, high = self.masses.get(form(outcome), (0, 0))
        return Fraction(low, ONE), Fraction(min(high + self.residual, ONE), ONE)


class _Faint(BaseException):
    """The branch has less mass than is looked for; no program may catch it."""


@dataclass(slots=True)
class _Frame:
    drawn: Hashable  # what was asked for
    among: tuple[Chance, ...]
    place: int
    low: int  # mass of the branch before this draw
    high: int


@dataclass(slots=True)
class Walk:
    """The branch that is being run: one frame for each draw; masses in units of 2**-BITS."""

    least: int
    path: list[_Frame] = field(default_factory=list)
    depth: int = 0

    def answer(self, law: sampling.Law) -> int:
        """The next value of a law."""
        return self.branch(law, lambda: chances(law, self.least))

    def branch(self, drawn: Hashable, among: Callable[[], tuple[Chance, ...]]) -> int:
        """The next value of what is drawn, by its name, among chances that are listed likeliest first."""
        if self.depth == len(self.path):
            low, high = self.mass()
            if high < self.least:
                raise _Faint
            self.path.append(_Frame(drawn, among(), 0, low, high))
        frame = self.path[self.depth]
        if frame.drawn != drawn:
            raise CheckError("the program is no function of its input and its draws: run again, it drew something else")
        self.depth += 1
        return frame.among[frame.place][0]

    def mass(self) -> tuple[int, int]:
        """Of the branch up to its last draw."""
        if not self.path:
            return ONE, ONE
        frame = self.path[-1]
        _, low, high = frame.among[frame.place]
        return frame.low * low >> BITS, -(-frame.high * high >> BITS)

    def advance(self) -> bool:
        """Go to the next branch that is heavy enough; False when there is none."""
        self.depth = 0
        while self.path:
            frame = self.path[-1]
            frame.place += 1
            if frame.place < len(frame.among) and frame.high * frame.among[frame.place][2] >> BITS >= self.least:
                return True
            self.path.pop()
        return False


def _oracle(walk: Walk) -> Entropy:
    return Oracle(walk.answer)


def law_of(program: Program, *, least: Fraction = LEAST, entropy: Callable[[Walk], Entropy] = _oracle) -> Law:
    """The law of what ``program`` returns, given an entropy it draws from through ``exact.sampling``.

    Parameters
    ----------
    program : callable
        A function of its draws and nothing else that changes.
    least : Fraction
        Branches of smaller probability are left in the residual.
    entropy : callable
        From the walk to what the program draws from: by default an oracle, asked for laws.

    Raises
    ------
    CheckError
        Where a draw is too wide, there are too many branches, or the program is no function of its draws.
    Refusal
        Where the program asks for coins.
    """
    walk = Walk((least * ONE).__ceil__())
    source = entropy(walk)
    masses: dict[Hashable, tuple[int, int]] = {}
    seen = runs = 0
    while True:
        runs += 1
        outcome: Hashable | None
        try:
            outcome = form(program(source))
        except _Faint:
            outcome = None
        except (CheckError, Refusal):
            raise
        except Exception as error:
            outcome = ("raised", type(error).__name__)
        if outcome is not None:
            low, high = walk.mass()
            before = masses.get(outcome, (0, 0))
            masses[outcome] = (before[0] + low, before[1] + high)
            seen += low
        if runs > MOST_RUNS:
            raise CheckError("too many branches to enumerate")
        if not walk.advance():
            return Law(masses, ONE - seen, runs)


def form(outcome: object) -> Hashable:
    """What can be told apart: types, every bit of a float, the words of an answer."""
    kind = type(outcome)
    if kind is str or kind is int or kind is bool or outcome is None:
        return kind.__name__, outcome
    if kind is float:
        return "float", struct.pack("<d", outcome)
    if kind is tuple or kind is list:
        return kind.__name__, *map(form, cast(Sequence[object], outcome))  # a tuple or a list, as just asked
    names = getattr(kind, "__dataclass_fields__", None)
    if names is not None:
        return kind.__name__, *[form(getattr(outcome, name)) for name in names]
    if isinstance(outcome, np.ndarray):
        return str(outcome.dtype), outcome.shape, outcome.tobytes()
    if isinstance(outcome, Hashable):
        return kind.__name__, outcome
    raise CheckError(f"an outcome of type {kind.__name__} cannot be compared")
