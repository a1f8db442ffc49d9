"""Where answers fall half-way between two grid points: the rule, the distance it allows, and the mechanism on them.

Ties arise in one place: ``exact.grid``, where a rational answer goes to the nearest multiple of the step, half-way
cases down. The data side takes floors, which have none; a person's mean is put on the grid before anything is added
up, and one person moves one value within its bounds however it was rounded. The rule matters: one that is not
invariant under whole steps, such as ties to even or away from zero, moves two answers one step apart by two.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Final

from reticent.exact.grid import Grid
from reticent.mechanisms.laplace import Laplace
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1
from tests.assurance.claims import Line, Verdict, verify

EXPONENTS: Final = (-40, -2, 0, 1, 40)
PARTS: Final = (2, 3, 8)  # of a step: halves are ties
REACH: Final = 5  # steps on either side of 0


def grids() -> Iterator[Line]:
    """The rounding rule and its sensitivities by listing; then the mechanism on whole and half steps."""
    yield _rule()
    near, quarter = Adjacency("add_remove"), Grid(-2)
    line = [(Fraction(n, 8),) for n in range(-7, 8)]
    for bound, claim in ((Fraction(1, 8), Fraction(1)), (Fraction(1, 4), Fraction(1)), (Fraction(1, 2), Fraction(2))):
        made = Laplace(L1(bound, near), claim, quarter)
        pairs = [(i, j) for (i, (a,)), (j, (b,)) in combinations(enumerate(line), 2) if abs(a - b) <= bound]
        name = f"mechanism laplace on a grid of 1/4, answers in half steps, sensitivity {bound}"
        yield verify(name, made.sample, line, pairs, made.guarantee.loss)
    plane = list(product([Fraction(n, 8) for n in (-1, 0, 1, 3)], repeat=2))
    flat = Laplace(L1(Fraction(1, 4), near), Fraction(8), quarter, 2)
    pairs = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(plane), 2)
        if sum(abs(x - y) for x, y in zip(a, b, strict=True)) <= Fraction(1, 4)
    ]
    yield verify("mechanism laplace on a grid, pairs in half steps", flat.sample, plane, pairs, flat.guarantee.loss)


def nearest(value: Fraction, step: Fraction) -> int:
    """The number of the multiple of ``step`` nearest to ``value``, of two equally near ones the lower: by comparing."""
    below = value // step
    return below if value - below * step <= (below + 1) * step - value else below + 1


def _rule() -> Line:
    """Every multiple of a half, a third and an eighth of a step, and every distance between two of them."""
    right, seen, pairs = True, 0, 0
    for exponent, parts in product(EXPONENTS, PARTS):
        made = Grid(exponent)
        step = Fraction(2) ** exponent
        values = [n * step / parts for n in range(-REACH * parts, REACH * parts + 1)]
        places = [nearest(value, step) for value in values]
        right = right and made.step == step and [made.index(value) for value in values] == places
        right = right and [made.round(value) for value in values] == [place * step for place in places]
        for apart in range(3 * parts):
            moved = {places[i + apart] - places[i] for i in range(len(places) - apart)}
            right = right and max(moved) == made.sensitivity(apart * step / parts)
            right = right and made.sensitivity_any(apart * step / parts) == apart // parts + 1
            pairs += len(places) - apart
        seen += len(values)
    verdict: Verdict = "holds" if right else "refuted"
    what = f"{seen} values compared with both neighbours, in halves, thirds and eighths of a step; {pairs} distances"
    none = Fraction(0)
    return Line("grid rounding", what, "nearest, ties down", seen, pairs, seen, none, none, None, verdict)
