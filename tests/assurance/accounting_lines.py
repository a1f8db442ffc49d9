"""Losses of mechanisms and of small compositions of every kind against listed laws, as lines of the exact report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from reticent.conformance.built_in_plans import built_in, robust
from reticent.conformance.kit import CaseCheck, KitReport
from reticent.privacy import compose, convert
from reticent.privacy.loss import words
from tests.assurance.accounting_check import Verdict, again
from tests.assurance.claims import Line

if TYPE_CHECKING:
    from reticent.privacy.guarantee import Guarantee

# --- small compositions of every kind ---------------------------------------------------------------------------------


def suite() -> Iterator[tuple[str, Callable[[], Guarantee]]]:
    """Mechanisms, and compositions, lifts and conversions of a few of them: a name, and how the theory derives it."""
    from reticent.exact.grid import Grid
    from reticent.mechanisms.exponential import Exponential
    from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
    from reticent.mechanisms.geometric import Geometric
    from reticent.mechanisms.ks import KolmogorovSmirnov
    from reticent.mechanisms.laplace import Laplace
    from reticent.mechanisms.permute_and_flip import PermuteAndFlip
    from reticent.mechanisms.randomized_response import two_coins
    from reticent.mechanisms.weighted_selection import weighted_list
    from reticent.privacy.adjacency import Adjacency
    from reticent.privacy.sensitivity import L1, L2, Linf

    row, person = Adjacency("add_remove", unit="row"), Adjacency("add_remove", 3)
    one, half, tenth = Fraction(1), Fraction(1, 2), Fraction(1, 10)
    count, wide = (
        Geometric(L1(one, row), half).guarantee,
        Geometric(L1(Fraction(5 << 20), row), Fraction(1, 3)).guarantee,
    )
    choice = Exponential(Linf(Fraction(3), row), tenth).guarantee
    noise = Gaussian(L2(one, row), Fraction(1, 8)).guarantee
    vector = Gaussian(L2(Fraction(7), row), half).guarantee
    scalar = ScalarGaussian(L1(Fraction(2), row), Fraction(16), half).guarantee
    broad = Gaussian(L2(Fraction(10**8), row), Fraction(1, 50)).guarantee
    yield "geometric", lambda: count
    yield "geometric, wide", lambda: wide
    yield "laplace on a grid, three answers", lambda: Laplace(L1(one / 3, row), one, Grid(-2), 3).guarantee
    yield "exponential", lambda: choice
    yield "points by KS distance", lambda: KolmogorovSmirnov(Linf(Fraction(3), row), one, 9).guarantee
    swapped = Adjacency("substitute", unit="row")
    yield "points by KS distance, replaced", lambda: KolmogorovSmirnov(Linf(one, swapped), tenth, 9).guarantee
    yield "permute and flip", lambda: PermuteAndFlip(Linf(one, row), tenth).guarantee
    listed = weighted_list(row, one, Fraction(1, 10**6), groups=3).guarantee
    yield "weighted keys", lambda: listed
    yield "two coins", lambda: two_coins().guarantee
    yield "gaussian", lambda: noise
    yield "gaussian on several integers", lambda: vector
    yield "gaussian, wide", lambda: broad
    yield "gaussian on one integer", lambda: scalar
    yield "two in sequence", lambda: compose.in_sequence([count, choice])
    yield "five in sequence", lambda: compose.in_sequence([count, choice, wide, count, choice])
    yield "with delta in sequence", lambda: compose.in_sequence([scalar, count, scalar])
    yield "conversations", lambda: compose.concurrent([count, choice, scalar])
    yield "across", lambda: compose.across([count, choice], neighbours=row)
    yield "across, under substitution", lambda: compose.across([count], neighbours=Adjacency("substitute", unit="row"))
    yield "one of two", lambda: compose.one_of([count, choice])
    yield "one of two, in rho", lambda: compose.in_zcdp(compose.one_of([count, noise]))
    yield "three rows of a person", lambda: compose.of_person(count, person, rows=3)
    yield "three rows, with delta", lambda: compose.of_person(scalar, person, rows=3)
    yield "three rows, in rho", lambda: compose.of_person(noise, person, rows=3)
    yield (
        "sequence of persons",
        lambda: compose.in_sequence(
            [compose.of_person(count, person, rows=3), compose.of_person(choice, person, rows=2)]
        ),
    )
    yield "pure in rho", lambda: compose.in_zcdp(compose.in_sequence([count, choice, noise]))
    yield "rho in sequence", lambda: compose.in_sequence([noise, vector, noise])
    yield "rho and delta in sequence", lambda: compose.in_sequence([noise, convert.as_zcdp(scalar)])
    for delta in (Fraction(1, 10**6), Fraction(1, 10**12)):
        yield f"rho at a delta of {float(delta):g}", lambda delta=delta: convert.as_approx(noise, delta)  # type: ignore[misc]
    yield (
        "rho in sequence, at a delta",
        lambda: convert.as_approx(compose.in_sequence([noise, vector]), Fraction(1, 10**9)),
    )
    rare = ScalarGaussian(L1(one, row), Fraction(16), one).guarantee
    mixed = compose.in_zcdp(compose.of_person(rare, person, rows=2))
    yield "rho and delta", lambda: compose.in_sequence([mixed, compose.of_person(noise, person, rows=2), mixed])
    yield "rho and delta, at a delta", lambda: convert.as_approx(mixed, Fraction(1, 100))
    yield "orders of a count", lambda: convert.as_renyi(count, [Fraction(2), Fraction(8)])
    yield "orders of noise", lambda: convert.as_renyi(vector, [Fraction(2), Fraction(8)])


def lines() -> Iterator[Line]:
    """A line of the exact report for each of ``suite``: "refuted" is a loss that is too small, "open" one too large."""
    for name, derive in suite():
        tree = derive()
        found = again(tree)
        worst = max(found, key=lambda one: RANK[one.verdict])
        least = min((one.share for one in found if one.share is not None), default=None)
        yield Line(
            f"losses again: {name}",
            "worst laws listed" if len(found) == 1 else f"worst laws listed, {len(found)} nodes",
            words(tree.loss),
            0,
            0,
            sum(one.outcomes for one in found),
            Fraction(0),
            Fraction(0),
            None if least is None or least.is_infinite() else Fraction(least),
            LINE_OF[worst.verdict],
        )


def check() -> KitReport:
    """A line for each built-in plan: no node of its proof states less than laws that can be listed lose."""
    return KitReport(tuple(_plans()))


def _plans() -> Iterator[CaseCheck]:
    for name, prepared, _ in (*built_in(), *robust()):
        found = again(prepared.guarantee)
        wrong = "; ".join(one.words for one in found if one.verdict == "too small")
        listed = f"{sum(one.share is not None for one in found)} of {len(found)} losses listed"
        yield CaseCheck(f"losses of {name}", "not below laws", "fail" if wrong else "pass", wrong or listed)


RANK: Final[dict[Verdict, int]] = {"holds": 0, "not listed": 1, "too large": 2, "too small": 3}
LINE_OF: Final[dict[Verdict, Literal["holds", "refuted", "open"]]] = {
    "holds": "holds",
    "not listed": "open",
    "too large": "open",
    "too small": "refuted",
}
