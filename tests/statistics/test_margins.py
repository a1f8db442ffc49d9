"""Margins of grouped answers: sums of released integers to the last digit, with intervals that cover.

Replayed entropy and fixed or sampled tables. An assertion about coverage fails with probability below ERROR were the
coverage exactly at the edge, .93 or .97. The mutants are the interval of one cell, and the sum of all intervals.
"""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.query import Keys
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, category, real
from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.outcome import Reply
from reticent.statistics.answer import Answer, Cell, Label
from reticent.statistics.context import Setting, Step, margins_of
from reticent.statistics.counts.count_step import CountStep
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.study.release import answered as told
from tests.support.stat_fake import Fake, answered

ERROR = 1e-2
G, H = (0, 1), ("a", "b", "c")
KEYS = Keys("gh", tuple(range(6)), 1, (("g", G), ("h", H)))
SCHEMA = Schema(
    {"x": real(0, 100), "yes": category([0, 1]), "gh": category(list(range(6)))},
    Person("add_remove"),
)
ALL: Label = ()
MARGIN: Label = (("g", 1),)
COUNTS = ((40,), (900,), (0,), (3,), (77,), (250,))


def step_of(text: str, epsilon: str = "1/5", keys: Keys = KEYS, delta: Fraction | None = None) -> Step:
    asked = attrs.evolve(parse(text), groups=keys)
    setting = Setting(SCHEMA, None, keys, delta, totals=asked.totals)
    return prepare(asked, setting, Fraction(epsilon))


def cell(answer: Answer, label: Label) -> Cell:
    (found,) = (one for one in answer if one.label == label)
    return found


def too_low(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.cdf(covered, runs, 0.93) < ERROR)


def too_high(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.sf(covered - 1, runs, 0.97) < ERROR)


def test_margins_name_each_group_of_each_column_and_all() -> None:
    found = dict(margins_of(KEYS))
    assert list(found) == [(("g", 0),), (("g", 1),), (("h", "a"),), (("h", "b"),), (("h", "c"),), ()]
    assert found[(("h", "b"),)] == (1, 4)
    assert found[ALL] == tuple(range(6))
    cube = margins_of(Keys("k", tuple(range(8)), 1, (("a", G), ("b", G), ("c", G))))
    assert len(cube) == 3**3 - 2**3
    assert margins_of(Keys("g", G, 1)) == (((), (0, 1)),)


@pytest.mark.parametrize("text", ["count by g, h with totals", "count(mechanism=gaussian) by g, h with totals"])
def test_a_margin_is_the_sum_of_the_numbers_as_they_were_drawn(text: str) -> None:
    delta = Fraction(1, 10**6) if "gaussian" in text else None
    step, plain = (step_of(one, delta=delta) for one in (text, text.removesuffix(" with totals")))
    assert step.guarantee.loss == plain.guarantee.loss
    for run in range(40):
        answer, alone = (one.answer([QueryResult(COUNTS)], Replayed(run)) for one in (step, plain))
        assert answer.body == alone.cells  # the same noise: totals are free
        for label, places in margins_of(KEYS):
            drawn = [one.error.value for one in alone.cells if one.error is not None]
            whole = cell(answer, label).outcome
            assert isinstance(whole, Reply)
            assert whole.value.value == max(sum(drawn[place] for place in places), 0)


@pytest.mark.wide
def test_margins_of_counts_cover_and_mutants_do_not() -> None:
    runs, step = 1_000, step_of("count by g, h with totals")
    assert isinstance(step, CountStep)
    for label, places in ((ALL, tuple(range(6))), (MARGIN, (3, 4, 5))):
        truth, covered, one, every = sum(COUNTS[place][0] for place in places), 0, 0, 0
        for run in range(runs):
            outcome = cell(step.answer([QueryResult(COUNTS)], Replayed(run)), label).outcome
            assert isinstance(outcome, Reply)
            e = outcome.value
            covered += e.low <= truth <= e.high
            one += abs(e.value - truth) <= step._radius()
            every += abs(e.value - truth) <= step._radius() * len(places)
        assert not too_low(covered, runs)
        assert not too_high(covered, runs)
        assert too_low(one, runs)
        assert too_high(every, runs)


def sample(generator: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Values whose mean differs by group, so that a margin is no average of the cells; groups of unequal size."""
    group = generator.choice(6, 3_000, p=[0.3, 0.1, 0.2, 0.1, 0.1, 0.2]).astype(np.float64)
    x = np.clip(generator.normal(30.0 + 6.0 * group, 10.0), 0.0, 100.0)
    return {"x": x, "yes": (generator.random(3_000) < 0.2 + 0.1 * group).astype(np.float64), "gh": group}


SHARES = np.array([0.3, 0.1, 0.2, 0.1, 0.1, 0.2])


MEANS, OF_YES = "mean(x) by g, h with totals", "proportion(yes, value=1) by g, h with totals"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("text", "runs"), [(MEANS, 400), (OF_YES, 200), (OF_YES, 400)])
def test_margins_of_means_and_shares_cover_the_population_and_mutants_do_not(text: str, runs: int) -> None:
    generator, step = np.random.default_rng(7), step_of(text, "1/4")
    tables = ((run, Fake(SCHEMA, sample(generator))) for run in range(runs))
    answers = [told(step, answered(step, table, Replayed(f"{run}"))) for run, table in tables]
    cells = 30.0 + 6.0 * np.arange(6) if "mean" in text else 0.2 + 0.1 * np.arange(6)
    for label, places in ((ALL, list(range(6))), (MARGIN, [3, 4, 5])):
        truth = float(cells[places] @ SHARES[places] / SHARES[places].sum())
        covered, narrow, wide = 0, 0, 0
        for answer in answers:
            outcome = cell(answer, label).outcome
            assert isinstance(outcome, Reply)
            e = outcome.value
            half, off = (e.high - e.low) / 2, abs(truth - (e.high + e.low) / 2)
            covered, narrow, wide = covered + (off <= half), narrow + (off <= 0.6 * half), wide + (off <= 2 * half)
        assert not too_low(covered, runs), covered
        assert not too_high(covered, runs), covered
        assert too_low(narrow, runs)
        assert too_high(wide, runs)


@pytest.mark.parametrize("text", ["median(x)", "quantile(x, 0.9)", "mean(x, method=clipped)", "geometric_mean(x)"])
def test_what_is_no_sum_of_released_integers_has_no_totals(text: str) -> None:
    with pytest.raises(QuestionError, match="have totals"):
        step_of(f"{text} by g, h with totals", delta=Fraction(1, 10**6))


def test_persons_who_can_be_in_several_groups_have_no_total() -> None:
    several = Schema(dict(SCHEMA.columns), Person("add_remove", "who", 3))
    keys = Keys("gh", KEYS.among, 3, KEYS.parts)
    for text in ("persons by g, h with totals", "mean(x, per=person) by g, h with totals"):
        asked = attrs.evolve(parse(text), groups=keys)
        with pytest.raises(QuestionError, match="a person can be in 3 groups"):
            prepare(asked, Setting(several, None, keys, totals=True), Fraction(1))
