"""Answers about a column with bounds lie within them, and so do the ends of their intervals. Replayed entropy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reticent.data.schema import Person, Real, real
from reticent.entropy import Replayed
from reticent.outcome import Reply
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import SPANNING, TIES
from reticent.statistics.prepare import prepare
from tests.support.stat_fake import Fake, answered, schema_of

DELTA = Fraction(1, 10**6)
MOVED = "shown at the nearest possible one"
QUESTIONS = ["median(x)", "quantiles(x, 0.25 0.5)", "quantiles(x, 0.25 0.5, method=separate)", "median(x, method=M)"]
QUESTIONS += ["quantile(x, 0.3, method=M)", "trimmed_mean(x, method=TM)", "trimmed_mean(x)", "median(x, method=smooth)"]


def cells(question: str, column: Real, run: int, values: np.ndarray) -> tuple[list[Reply], tuple[str, ...]]:  # type: ignore[type-arg]
    schema = schema_of(column, Person("substitute"))
    step = prepare(parse(question), Setting(schema, len(values), None, DELTA), Fraction(2))
    answer = answered(step, Fake(schema, {"x": values}), Replayed(f"{question} {run}"))
    return [cell.outcome for cell in answer if isinstance(cell.outcome, Reply)], answer.caveats


@pytest.mark.parametrize("question", QUESTIONS)
def test_values_and_ends_lie_between_declared_bounds(question: str) -> None:
    values = np.random.default_rng(3).exponential(0.5, 4_000).clip(0.25, 60.0)
    low, high = Fraction(1, 4), Fraction(60)
    for run in range(6):
        found, _ = cells(question, Real(low, high, missing=low), run, values)
        for reply in found:
            assert 0.25 <= reply.value.low <= reply.value.value <= reply.value.high <= 60.0


@pytest.mark.parametrize("question", ["iqr(x)", "iqr(x, method=separate)", "iqr(x, method=S)"])
def test_a_distance_of_quartiles_lies_between_0_and_that_of_bounds(question: str) -> None:
    values = np.repeat([0.0, 1.0], 2_000)
    for run in range(6):
        found, _ = cells(question, Real(Fraction(0), Fraction(1), missing=Fraction(0)), run, values)
        for reply in found:
            assert 0.0 <= reply.value.low <= reply.value.value <= reply.value.high <= 1.0


def test_an_end_that_was_moved_is_said() -> None:
    values = np.random.default_rng(3).exponential(0.5, 4_000)
    moved = [cells("median(x, method=M)", real(0.25, 60, missing=0), run, values - 0.09) for run in range(6)]
    assert all(any(MOVED in text for text in said) == (found[0].value.low == 0.25) for found, said in moved if found)
    assert any(MOVED in text for _, said in moved for text in said)
    _, free = cells("median(x, method=M)", real(missing=0), 0, values)
    assert not any(MOVED in text for text in free)


@pytest.mark.parametrize("question", ["median(x)", "median(x, method=separate)"])
def test_an_interval_over_most_of_the_bounds_says_what_tells_more_and_blames_no_ties(question: str) -> None:
    """Of two heaps near the bounds, an even number of each; of the same in one, nothing is said but of ties."""
    schema = schema_of(real(0, 600_000), Person("add_remove"))
    step = prepare(parse(question), Setting(schema, None), Fraction(1))
    for heaps, wide in (((10.0, 599_990.0), True), ((10.0, 40.0), False)):
        for run in range(8):
            answer = answered(step, Fake(schema, {"x": np.repeat(heaps, 2_000)}), Replayed(f"{question} {run}"))
            (reply,) = (cell.outcome for cell in answer)
            assert isinstance(reply, Reply)
            assert (SPANNING in answer.caveats) is (reply.value.high - reply.value.low > 300_000) is wide
            assert (TIES in answer.caveats) is not wide
