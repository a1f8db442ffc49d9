"""What the mechanisms ask for where laws are too wide to list: the law, and what is made of the draws.

A mechanism is run with an ``Oracle`` that notes each law and answers with integers planted beforehand. The laws must be
those its parameters state, computed here again from sensitivity and epsilon; the output must be the exact numbers plus
what was planted. Then the loss between two inputs is their L1 distance over the scale, by the law of the noise, whose
sampler is ``recount``'s matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from reticent.exact import sampling
from reticent.exact.coins import Oracle
from reticent.exact.laplace import LARGEST
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, Loss, PureDP, words
from reticent.privacy.sensitivity import L1, L2, Linf
from tests.assurance.claims import Line, Verdict

COUNTS: Final = (1, 2, 64, 65, 256, 257, 1000)
LENGTHS: Final = (1, 2, 3, 65, 300)
BOUNDS: Final = (1, 1 << 13, 3 * (1 << 20) + 1, 1 << 40, LARGEST, LARGEST + 1)  # on both sides of every path of noise
EPSILONS: Final = (Fraction(1), Fraction(1, 3))
PLANTED: Final = (0, 1, -1, 7, -(1 << 20), (1 << 61) - 1)


def asked() -> Iterator[Line]:
    """Geometric and Gaussian noise on vectors of several lengths, at scales up to beyond 2**56."""
    near = Adjacency("add_remove")
    for epsilon in EPSILONS:
        cases = [(Geometric(L1(Fraction(bound), near), epsilon), Fraction(bound) / epsilon) for bound in BOUNDS]
        yield _line(
            "geometric", [(made, sampling.DiscreteLaplace(scale)) for made, scale in cases], PureDP(epsilon), "scales"
        )
    rho = Fraction(1, 2)
    squares = [Fraction(1), Fraction(1 << 26), Fraction(3 * (1 << 40) + 1), Fraction(1 << 112)]
    gaussians = [(Gaussian(L2(squared, near), rho), squared / (2 * rho)) for squared in squares]
    yield _choices()
    yield _line("gaussian", [(made, sampling.DiscreteGaussian(v)) for made, v in gaussians], ZCDP(rho), "variances")


def _line(name: str, cases: Sequence[tuple[Any, sampling.Law]], claim: Loss, kind: str) -> Line:
    right, runs = True, 0
    for made, law in cases:
        right = right and made.guarantee.loss == claim
        for length in LENGTHS:
            right = right and _as_stated(made, law, length)
            runs += 1
    shown = ", ".join(str(_size(law)) for _, law in cases)
    what = f"laws asked for, and what is made of draws planted; {runs} vectors of up to {LENGTHS[-1]}; {kind} {shown}"
    verdict: Verdict = "holds" if right else "refuted"
    none = Fraction(0)
    return Line(f"mechanism {name}, wide", what, words(claim), len(LENGTHS), 0, runs, none, none, None, verdict)


def _choices() -> Line:
    """Choices among few and many: the law asked for, weights and all, and the answer handed on as it is."""
    near, right, runs = Adjacency("add_remove"), True, 0
    bound = Fraction(3)
    for epsilon, count in product(EPSILONS, COUNTS):
        scores = tuple(place * 7 % 31 for place in range(count))
        weights = tuple(place % 5 + 1 for place in range(count))
        rate = epsilon / (2 * bound)
        exponents = tuple(rate * score for score in scores)
        listed = Candidates(np.array(scores, np.int64), np.array(weights, np.int64))
        cases: list[tuple[Any, object, sampling.Law]] = [
            (Exponential(Linf(bound, near), epsilon), listed, sampling.Categorical(exponents, weights)),
            (PermuteAndFlip(Linf(bound, near), epsilon), scores, sampling.PermuteAndFlipDraw(exponents)),
        ]
        for (made, exact, law), place in product(cases, (0, count // 2, count - 1)):
            told: list[sampling.Law] = []

            def answer(asked_for: sampling.Law, told: list[sampling.Law] = told, place: int = place) -> int:
                told.append(asked_for)
                return place

            right = right and made.guarantee.loss == PureDP(epsilon)
            right = right and made.sample(exact, Oracle(answer)) == place and told == [law]
            runs += 1
    what = f"laws asked for, and the answer handed on; {', '.join(map(str, COUNTS))} candidates"
    verdict: Verdict = "holds" if right else "refuted"
    none = Fraction(0)
    claim = " and ".join(f"ε {epsilon}" for epsilon in EPSILONS)
    name = "mechanism exponential and permute-and-flip, many"
    return Line(name, what, claim, len(COUNTS), 0, runs, none, none, None, verdict)


def _size(law: sampling.Law) -> Fraction:
    match law:
        case sampling.DiscreteLaplace(scale):
            return scale
        case sampling.DiscreteGaussian(variance):
            return variance
        case _:
            raise TypeError(type(law).__name__)


def _as_stated(made: Any, law: sampling.Law, length: int) -> bool:
    """One draw of the law for each integer, added to it and to no other; told by planting each number in each place."""
    exact = tuple(1000 * place + 17 for place in range(length))
    for first in range(len(PLANTED)):
        told: list[sampling.Law] = []

        def answer(asked_for: sampling.Law, told: list[sampling.Law] = told, first: int = first) -> int:
            told.append(asked_for)
            return PLANTED[(first + len(told)) % len(PLANTED)] + len(told)

        found = made.sample(exact, Oracle(answer))
        drawn = [PLANTED[(first + place) % len(PLANTED)] + place for place in range(1, length + 1)]
        if told != [law] * length or found != tuple(x + z for x, z in zip(exact, drawn, strict=True)):
            return False
    return True
