"""The kernel release: exact L2 sensitivity, the whole rho spent and no more, one draw for every evaluation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.gate import Recorder
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.synthesis.kernel import Kernel, bandwidth_for
from reticent.synthesis.linear_queries import UNIT, DensityTerms
from reticent.synthesis.series import grid
from tests.laws.test_series import TERMS, TINY, moved

ONE = Fraction(1)
SUB = Adjacency("substitute")
TINY_LINE = grid([("x", Fraction(0), ONE, False)], cells=5)
LINE = grid([("x", Fraction(0), ONE, False)])
PUBLIC = DensityTerms(SUB, 1000, fixed=True)
WIDE = Fraction(4, 10)


@pytest.mark.parametrize("terms", TERMS, ids=repr)
def test_the_whole_loss_is_spent_for_the_worst_neighbours_and_no_more(terms: DensityTerms) -> None:
    sums = Kernel(TINY_LINE, terms, ONE, WIDE, TINY).plan.sums
    mechanism = sums.mechanism
    assert isinstance(mechanism, Gaussian)
    found = Fraction(moved(sums.table, terms, 2))
    assert found / (2 * mechanism.variance) == mechanism.rho
    assert found / (2 * mechanism.variance * Fraction(64, 100)) > mechanism.rho  # noise at .8
    assert found / (2 * mechanism.variance * Fraction(15625, 10000)) < Fraction(9, 10) * mechanism.rho  # at 1.25
    pure = Kernel(TINY_LINE, terms, ONE, WIDE).plan.sums
    assert isinstance(pure.mechanism, Geometric)
    assert moved(pure.table, terms, 1) / pure.mechanism.scale == ONE
    assert pure.guarantee.loss == PureDP(ONE)


def reflected(x: float, y: float, h: float) -> float:
    """The reflecting Gaussian kernel by its images, apart from the code."""
    turns = range(-4, 5)
    parts = [math.exp(-((x - s * y + 2 * k) ** 2) / (2 * h * h)) for k in turns for s in (1, -1)]
    return sum(parts) / (h * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("bandwidth", ["0.05", "0.1", "0.2"])
def test_the_sensitivity_is_the_distance_of_two_kernels_in_their_own_space(bandwidth: str) -> None:
    """Squared: K(x, x) + K(y, y) - 2 K(x, y), greatest at the ends; cut eigenvalues take off below 1 %."""
    h = float(bandwidth)
    sums = Kernel(LINE, PUBLIC, ONE, Fraction(bandwidth), TINY).plan.sums
    ends = reflected(0, 0, h) + reflected(1, 1, h) - 2 * reflected(0, 1, h)
    assert sums.moved / UNIT**2 == pytest.approx(ends, rel=0.01)


@pytest.mark.parametrize("bandwidth", ["0.05", "0.2"])
def test_the_factor_002_prints_spends_more_than_it_says(bandwidth: str) -> None:
    """E14: with a process of unit variance h^(-1/2) in place of h^(-1) divides the variance by 1 / h."""
    h = Fraction(bandwidth)
    mechanism = Kernel(LINE, PUBLIC, ONE, h, TINY).plan.sums.mechanism
    assert isinstance(mechanism, Gaussian)
    spent = mechanism.sensitivity.squared / (2 * mechanism.variance * h)
    assert spent == mechanism.rho / h
    assert spent > mechanism.rho


def test_one_draw_answers_every_evaluation() -> None:
    plan = Kernel(LINE, PUBLIC, ONE, Fraction(1, 10), TINY)
    counts = np.bincount(np.full(1000, 300), minlength=1024)
    recorder = Recorder(lambda mechanism, exact, start: tuple(exact), Replayed(1))  # type: ignore[arg-type]
    found = plan.draw([QueryResult(vectors=(tuple(counts.tolist()),))], recorder)
    assert isinstance(found, Reply)
    assert len(recorder.calls) == 1
    assert recorder.tossed == []
    assert recorder.calls[0].exact == tuple((counts @ plan.plan.sums.table).tolist())
    points = np.linspace(0.0, 0.999, 50)
    assert (found.value.pdf(points) == found.value.pdf(points)).all()
    assert len(recorder.calls) == 1
    # without noise it is the kernel estimate: a reflecting Gaussian about the one value
    exactly = np.array([reflected(300.5 / 1024, float(point), 0.1) for point in points])
    assert found.value.pdf(points) == pytest.approx(exactly, abs=0.02)


def test_a_bandwidth_is_public_and_of_the_usual_order() -> None:
    assert [float(bandwidth_for(n)) for n in (300, 10_000, 100_000)] == [0.08, 0.04, 0.025]
    assert bandwidth_for(10_000, 3) > bandwidth_for(10_000)
    for columns, people in ((1, 10**12), (2, 10**12), (3, 10**12)):  # what is named can be released
        axes = grid([(name, Fraction(0), ONE, False) for name in "xyz"[:columns]])
        assert Kernel(axes, PUBLIC, ONE, bandwidth_for(people, columns), TINY).axes == axes
    for make in (
        lambda: Kernel(LINE, PUBLIC, ONE, Fraction(6, 10)),
        lambda: Kernel(LINE, PUBLIC, ONE, Fraction(0)),
        lambda: Kernel(TINY_LINE, PUBLIC, ONE, Fraction(1, 100)),
        lambda: bandwidth_for(0),
    ):
        with pytest.raises(PublicParameterError):
            make()
