"""What is too wide to list, answers half-way between grid points, and choices among many: each mutant is refuted.

Nothing here is random. A mutant is planted in the program, and the claim that is part of ``reticent audit --exact``
must not hold any more; without it, it holds (``test_exact``). Each kind of mutant has one case in the change tier, at
two scales and two variances; other cases, and all scales, are in the long tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.exact import categorical, gaussian, laplace
from reticent.exact.alias_tables import PRODUCT, ROOMY, Shape
from reticent.exact.grid import Grid
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from tests.assurance import exact, sampler_enumeration
from tests.assurance.claims import Line
from tests.assurance.grids import grids, nearest
from tests.assurance.requests import asked

FIFTH = Fraction(4, 5)
LARGE = 1 << 20


def audit(parameter: object) -> Any:
    """A case of the long tier."""
    return pytest.param(parameter, marks=pytest.mark.audit)


def refuted(lines: Iterator[Line]) -> set[str]:
    return {line.name for line in lines if line.verdict != "holds"}


def short() -> Iterator[Line]:
    yield sampler_enumeration._wide_laplace(PRODUCT, "short arrays and single values")


def single() -> Iterator[Line]:
    yield sampler_enumeration._beyond_laplace()


def blocks() -> Iterator[Line]:
    yield sampler_enumeration._wide_gaussian(False)


def wide() -> Iterator[Line]:
    """Everything but what can be listed."""
    yield from short()
    yield sampler_enumeration._wide_laplace(ROOMY, "long arrays")
    yield from single()
    yield from blocks()


ALL_SCALES, ALL_VARIANCES = sampler_enumeration.WIDE_SCALES, sampler_enumeration.WIDE_VARIANCES


@pytest.fixture(autouse=True)
def _fresh_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tables are made anew before a mutant is looked at, and after it; two scales are enough but for the long tier."""
    for cached in (laplace.laplace_tables, gaussian.gaussian_tables):
        cached.cache_clear()
    if request.node.get_closest_marker("audit") is None:
        monkeypatch.setattr(sampler_enumeration, "WIDE_SCALES", (ALL_SCALES[1], ALL_SCALES[3]))
        monkeypatch.setattr(sampler_enumeration, "WIDE_VARIANCES", (ALL_VARIANCES[1], ALL_VARIANCES[3]))
    yield
    for cached in (laplace.laplace_tables, gaussian.gaussian_tables):
        cached.cache_clear()


SEVERAL, BEYOND, BLOCKS = (
    "sampler discrete_laplace, several tables",
    "sampler one_discrete_laplace, beyond 2**56",
    "sampler discrete_gaussian, wide",
)


@pytest.mark.audit
def test_the_scales_are_in_the_claim_and_every_branch_has_one() -> None:
    lines = {line.name + line.what[:20]: line for line in wide()}
    assert {line.verdict for line in lines.values()} == {"holds"}
    assert sum("8192, 3145729" in line.what and str(1 << 40) in line.what for line in lines.values()) == 2
    groups = {
        (shape.low, len(laplace.laplace_tables(scale, shape).lows))
        for scale in sampler_enumeration.WIDE_SCALES
        for shape in SHAPES
    }
    assert {low for low, count in groups if count > 2} == {PRODUCT.low, ROOMY.low}
    short = [laplace.laplace_tables(scale).lows[-1].count for scale in sampler_enumeration.WIDE_SCALES]
    assert any(count < 1 << PRODUCT.low for count in short)
    assert any(count == 1 << PRODUCT.low for count in short)
    assert laplace.laplace_tables(sampler_enumeration.BEYOND[-1]).head.outcomes.max() == 0  # no 64 bits hold its values


SHAPES = (PRODUCT, ROOMY)


# --- noise too wide to list ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [audit(7168), audit(LARGE), 1 << 39])
def test_tables_of_a_scale_a_fifth_too_small(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = laplace.laplace_tables.__wrapped__

    @cache
    def less(scale: Fraction, shape: Shape = PRODUCT) -> laplace.LaplaceTables:
        return honest(scale * FIFTH if scale > limit else scale, shape)

    monkeypatch.setattr(laplace, "laplace_tables", less)
    assert refuted(short()) | refuted(single()) == {SEVERAL, BEYOND}


@pytest.mark.wide
@pytest.mark.parametrize("name", ["discrete_laplace", audit("one_discrete_laplace")])
def test_a_scale_that_changes_on_its_way_to_the_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Any = getattr(laplace, name)

    def less(scale: Fraction, *others: Any) -> object:
        return honest(scale * (1 - Fraction(1, 10**6)) if scale > LARGE else scale, *others)

    monkeypatch.setattr(laplace, name, less)
    assert refuted(short()) == {SEVERAL}


@pytest.mark.wide
def test_low_bits_that_are_even_where_there_are_several_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = laplace.LowBits.floors

    def even(self: laplace.LowBits, bits: int) -> list[int]:
        return honest(self, bits) if self.first < 9 else [(1 << bits) >> self.count] * (1 << self.count)

    monkeypatch.setattr(laplace.LowBits, "floors", even)
    assert refuted(short()) == {SEVERAL}


@pytest.mark.wide
def test_a_group_of_low_bits_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = laplace.laplace_tables.__wrapped__

    @cache
    def fewer(scale: Fraction, shape: Shape = PRODUCT) -> laplace.LaplaceTables:
        made = honest(scale, shape)
        return replace(made, lows=made.lows[:-1]) if len(made.lows) > 1 else made

    monkeypatch.setattr(laplace, "laplace_tables", fewer)
    assert refuted(short()) | refuted(single()) == {SEVERAL, BEYOND}


@pytest.mark.wide
def test_long_arrays_from_tables_of_another_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = laplace.laplace_tables.__wrapped__

    @cache
    def less(scale: Fraction, shape: Shape = PRODUCT) -> laplace.LaplaceTables:
        return honest(scale * FIFTH if shape is ROOMY and scale > LARGE else scale, shape)

    monkeypatch.setattr(laplace, "laplace_tables", less)
    lines = [line for line in wide() if line.name == SEVERAL]
    assert [line.verdict for line in lines] == ["holds", "refuted"]


@pytest.mark.wide
@pytest.mark.parametrize("limit", [audit((1 << 22) + 1), audit(1 << 30), 1 << 100])
def test_a_wide_gaussian_of_a_variance_too_small(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = gaussian.gaussian_tables.__wrapped__

    @cache
    def less(variance: Fraction, shape: Shape = PRODUCT) -> object:
        made = honest(variance, shape)
        if not isinstance(made, gaussian.WideGaussian) or variance <= limit:
            return made
        other = honest(variance * FIFTH, shape)
        assert isinstance(other, gaussian.WideGaussian)
        return gaussian.WideGaussian(variance, other.b, other.blocks)  # the blocks alone

    monkeypatch.setattr(gaussian, "gaussian_tables", less)
    assert refuted(blocks()) == {BLOCKS}


@pytest.mark.wide
def test_a_wide_gaussian_that_accepts_for_another_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = gaussian.WideGaussian.exponent

    def off(self: gaussian.WideGaussian, start: int, from_start: int) -> Fraction:
        return honest(self, start, from_start) * (1 + Fraction(1, 10**12))

    monkeypatch.setattr(gaussian.WideGaussian, "exponent", off)
    assert refuted(blocks()) == {BLOCKS}


@pytest.mark.wide
def test_an_array_of_gaussians_of_another_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = gaussian.discrete_gaussian

    def less(variance: Fraction, *others: Any) -> NDArray[np.int64]:
        return honest(variance * FIFTH if variance > 1 << 24 else variance, *others)

    monkeypatch.setattr(gaussian, "discrete_gaussian", less)
    assert refuted(blocks()) == {BLOCKS}


# --- what mechanisms ask for -----------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_geometric_mechanism_of_less_noise_where_the_scale_is_that_of_a_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Geometric.sample

    def less(self: Geometric, exact: Any, entropy: Entropy) -> tuple[int, ...]:
        other = Geometric(self.sensitivity, self.epsilon / FIFTH) if self.scale > LARGE else self
        return honest(other, exact, entropy)

    monkeypatch.setattr(Geometric, "sample", less)
    assert refuted(asked()) == {"mechanism geometric, wide"}


@pytest.mark.wide
def test_the_noise_of_a_mean_times_four_fifths(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an array only, after the draw."""
    honest = Geometric.sample

    def less(self: Geometric, exact: Any, entropy: Entropy) -> tuple[int, ...]:
        noisy = honest(self, exact, entropy)
        if self.scale <= LARGE or len(exact) == 1:
            return noisy
        return tuple(x + int((y - x) * 0.8) for x, y in zip(exact, noisy, strict=True))

    monkeypatch.setattr(Geometric, "sample", less)
    assert refuted(asked()) == {"mechanism geometric, wide"}


@pytest.mark.wide
def test_one_draw_that_serves_two_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, name in ((Geometric, "geometric"), (Gaussian, "gaussian")):
        honest: Callable[..., Any] = kind.sample

        def twice(self: Any, exact: Any, entropy: Entropy, honest: Callable[..., Any] = honest) -> tuple[int, ...]:
            noisy = honest(self, exact, entropy)
            return (*noisy[:-1], exact[-1] + noisy[0] - exact[0]) if len(noisy) > 64 else noisy

        monkeypatch.setattr(kind, "sample", twice)
        assert refuted(asked()) == {f"mechanism {name}, wide"}
        monkeypatch.undo()


def at_another_rate(kind: Any, factor: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = kind.sample

    def wrong(self: Any, exact: Any, entropy: Entropy) -> int:
        many = len(exact.scores if kind is Exponential else exact) > 64
        found: int = honest(kind(self.sensitivity, self.epsilon * factor) if many else self, exact, entropy)
        return found

    monkeypatch.setattr(kind, "sample", wrong)


BOTH_KINDS = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
BOTH_WAYS = pytest.mark.parametrize("factor", [Fraction(2), FIFTH])


@pytest.mark.wide
@BOTH_KINDS
@BOTH_WAYS
def test_a_choice_at_another_rate_among_more_than_64(
    kind: Any, factor: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_another_rate(kind, factor, monkeypatch)
    assert refuted(asked()) == {"mechanism exponential and permute-and-flip, many"}


@pytest.mark.audit
@BOTH_KINDS
def test_a_choice_at_twice_its_rate_enumerated(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_another_rate(kind, Fraction(2), monkeypatch)
    named = {"mechanism exponential, 65 scores", "mechanism exponential, 300 scores"}
    assert (named if kind is Exponential else {"mechanism permute-and-flip, 65 scores"}) <= refuted(exact.guarantees())


@pytest.mark.wide
@pytest.mark.parametrize("limit", [audit(64), 256])
def test_the_sampler_of_a_choice_at_another_rate_among_many(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest_scores, honest_flips = categorical.categorical_scores, categorical.permute_and_flip

    def scores(some: Any, counts: Any, rate: Fraction, entropy: Entropy) -> int:
        return honest_scores(some, counts, rate * (2 if len(some) > limit else 1), entropy)

    def flips(some: Any, rate: Fraction, entropy: Entropy) -> int:
        return honest_flips(some, rate * (1 + Fraction(len(some) > limit, 10**9)), entropy)

    monkeypatch.setattr(categorical, "categorical_scores", scores)
    monkeypatch.setattr(categorical, "permute_and_flip", flips)
    assert sampler_enumeration._flips().verdict == "refuted"
    tasks = [task for task in exact._by_scores(False) if len(task[0].counts) > limit]  # type: ignore[union-attr]
    assert exact._coins("choice", "", tasks, Fraction(1, 1 << 60)).verdict == "refuted"


# --- half-way cases --------------------------------------------------------------------------------------------------


def to_even(self: Grid, value: int | Fraction) -> int:
    return round(Fraction(value) / self.step)


def half_up(self: Grid, value: int | Fraction) -> int:
    return (Fraction(value) / self.step + Fraction(1, 2)).__floor__()


def away_from_zero(self: Grid, value: int | Fraction) -> int:
    size = half_up(self, abs(Fraction(value)))
    return size if value >= 0 else -size


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("index", [to_even, away_from_zero, half_up])
def test_another_rule_for_ties(index: Callable[[Grid, Any], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that are not invariant under whole steps break the guarantee; half up keeps it, and is not what is said."""
    monkeypatch.setattr(Grid, "index", index)
    found = refuted(grids())
    assert "grid rounding" in found
    broken = {name for name in found if name.startswith("mechanism laplace")}
    assert bool(broken) == (index is not half_up)


@pytest.mark.wide
def test_a_sensitivity_that_forgets_the_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Grid, "sensitivity_l1", lambda self, bound, dimension: -(-bound // self.step)
    )  # no carry of a second coordinate
    assert refuted(grids()) == {"mechanism laplace on a grid, pairs in half steps"}


@pytest.mark.wide
def test_nearest_by_hand() -> None:
    halves = [Fraction(n, 2) for n in range(-3, 4)]
    assert [nearest(value, Fraction(1)) for value in halves] == [-2, -1, -1, 0, 0, 1, 1]
