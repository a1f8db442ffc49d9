"""Means of many groups at once are those of one group after another, for a cost that grows with their number."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from types import FrameType

import numpy as np
import pytest

from reticent.data.query import Keys
from reticent.data.schema import Integer, Person, Real, Schema
from reticent.entropy import SystemEntropy
from reticent.outcome import NO_REPLY, Reply
from reticent.statistics import intervals
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.moments import many_means
from reticent.statistics.moments.moment_step import UNIT, MomentStep
from reticent.statistics.prepare import prepare


def step_of(groups: int, rows: int = 3, asked: str = "mean(x)") -> MomentStep:
    schema = Schema(
        {"k": Integer(0, groups - 1), "x": Real(Fraction(0), Fraction(100))}, Person("add_remove", "who", rows=rows)
    )
    made = prepare(parse(asked), Setting(schema, None, Keys("k", tuple(range(groups)), rows)), Fraction(1))
    assert isinstance(made, MomentStep)
    return made


def released(step: MomentStep, groups: int) -> list[tuple[int, ...]]:
    """Soft counts of groups of a few to many values, some of them too few for a reply, with noise."""
    stream = np.random.default_rng(20)
    sizes = np.concatenate([stream.uniform(0, 200, groups // 2), 10 ** stream.uniform(2, 6, groups - groups // 2)])
    shares = stream.dirichlet(np.ones(step.design.order + 1) / 2, groups)
    noise = stream.laplace(0.0, float(step.mechanism.scale), shares.shape)
    return [tuple(map(int, one)) for one in np.rint(UNIT * sizes[:, None] * shares + noise)]


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("rows", [1, 3])
def test_means_at_once_are_those_of_one_group_after_another(rows: int) -> None:
    step = step_of(400, rows)
    moments = step.design.moments(released(step, 400))
    outcomes, errors = many_means.outcomes_of(step.many, moments)
    singles = [step._outcome(one) for one in moments]
    assert 20 < sum(isinstance(one, Reply) for one in singles) < 400  # both kinds are here
    for outcome, error, single, one in zip(outcomes, errors, singles, moments, strict=True):
        assert (outcome == NO_REPLY) == (single == NO_REPLY) == (error is None)
        if isinstance(outcome, Reply) and isinstance(single, Reply):
            mine, theirs = outcome.value, single.value
            assert mine.value == theirs.value
            near = 1e-6 * (theirs.high - theirs.low)
            for name in ("low", "high", "noise", "sampling"):
                assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=0, abs=near), name
            law, expected = error, step._error(one)
            assert law is not None
            assert expected is not None
            assert law.scales == pytest.approx(expected.scales)
            assert replace(law, scales=(), sampling=None) == replace(expected, scales=(), sampling=None)
            assert law.half_width() == pytest.approx(expected.half_width(), rel=1e-6)


def test_half_widths_of_rows_are_those_of_one_row_after_another() -> None:
    """Over six powers of ten of scales, with parts that are zero, and with variances that are sure."""
    stream, rows = np.random.default_rng(3), 300
    scales = 10.0 ** stream.uniform(-3, 3, (rows, 3)) * (stream.random((rows, 3)) > 0.3)
    laws = [
        intervals.plausible(stream.uniform(-50, 500), 10 ** stream.uniform(-2, 2.5), 0.0, stream.uniform(-50, 600))
        for _ in range(rows)
    ]
    least = np.array([law.values[0] for law in laws])
    apart = np.array([(law.values[-1] - law.values[0]) / (intervals.POINTS - 1) for law in laws])
    weights = np.array([(*law.weights, *[0.0] * (intervals.POINTS - len(law.weights))) for law in laws])
    zeros = np.zeros(rows)
    for found, normals in (
        (many_means.half_widths(least, apart, weights, scales), laws),
        (many_means.half_widths(zeros, zeros, None, scales), [intervals.NONE] * rows),
    ):
        expected = [intervals.half_width(one, wide) for one, wide in zip(normals, scales.tolist(), strict=True)]
        assert found == pytest.approx(expected, rel=2e-6, abs=1e-9)


@pytest.mark.parametrize("asked", ["mean(x)", "variance(x)"])
def test_released_integers_are_the_exact_products_rounded(asked: str) -> None:
    """The integers that are protected are those of exact fractions, halves up, and so are the sums read back."""
    step, stream = step_of(3, 3, asked), np.random.default_rng(4)
    design = step.design
    sums = [tuple(map(int, stream.integers(-(10**12), 10**12, design.order + 1))) for _ in range(200)]
    from reticent.data.query import POWER_ONE

    units = [Fraction(1), Fraction(1, design.reach), *[Fraction(1, POWER_ONE)] * (design.order - 1)]
    for one, found, back in zip(sums, design.integers(sums), design.moments(sums), strict=True):
        powers = [number * unit for number, unit in zip(one, units, strict=True)]
        exact = [sum(w * p for w, p in zip(row, powers, strict=True)) for row in design.forward]
        assert found == tuple((UNIT * value + Fraction(1, 2)).__floor__() for value in exact)
        assert back == tuple(float(sum(w * n for w, n in zip(row, one, strict=True)) / UNIT) for row in design.back)


def calls_of(groups: int) -> int:
    """Calls of Python functions and of built-in ones that the means of so many groups take."""
    from reticent.data.query_result import QueryResult

    step = step_of(groups)
    result = QueryResult(tuple((500, 0, 10**6) for _ in range(groups)))
    step.answer([result], SystemEntropy())
    counted = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        step.answer([result], SystemEntropy())
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.wide
def test_work_grows_with_the_number_of_groups_and_is_small_for_each() -> None:
    few, many = calls_of(500), calls_of(2000)
    assert many / few < 4.4
    assert (many - few) / 1500 < 400  # 163 at once, 970 one after another
