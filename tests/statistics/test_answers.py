"""Answers from real tables and from awkward ones: groups, persons, constants, nothing at all; and how long it takes."""

from __future__ import annotations

import math
import re
import time
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.query import Keys
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.outcome import Estimate, NoReply, Reply
from reticent.privacy.adjacency import Kind
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.least_epsilon import least_epsilon
from reticent.statistics.prepare import prepare
from tests.support.stat_fake import Fake, answered, schema_of

KINDS: list[Kind] = ["add_remove", "substitute"]
KEY = bytes(32)


def made(text: str, setting: Setting, epsilon: str = "1") -> Step:
    return prepare(parse(text), setting, Fraction(epsilon))


@pytest.mark.wide
def test_the_fake_answers_as_the_table_does() -> None:
    generator = np.random.default_rng(3)
    rows = {"x": generator.normal(50, 30, 300), "g": generator.integers(1, 4, 300).astype(float)}
    rows["x"][:20] = np.nan
    schema = schema_of(real(0, 100), Person("add_remove"), groups=category([1, 2, 3]))
    fake, table = Fake(schema, rows), open_table(rows, schema)
    for keys in (None, Keys("g", (1, 2, 3), 1)):
        setting = Setting(schema, None, keys)
        for text in ["count", "sum(x)", "mean(x)", "variance(x)", "proportion(g, value=2)", "median(x)"]:
            step = made(text, setting)
            for query, found in zip(step.queries, table.run(step.queries, KEY), strict=True):
                here = fake.run(query)
                assert here.vectors == found.vectors
                for a, b in zip(here.ranks, found.ranks, strict=True):
                    assert a.cells.tolist() == b.cells.tolist()
                    assert a.counts.tolist() == b.counts.tolist()


PERSONS = Schema(
    {"x": real(0, 10), "g": category([1, 2], constant=True), "y": category([0, 1])},
    Person("add_remove", column="who", rows=3),
)


def people(count: int) -> dict[str, object]:
    """Two to five rows each; x is the person's number modulo 10."""
    generator = np.random.default_rng(5)
    who = np.repeat(np.arange(count), generator.integers(2, 6, count))
    return {
        "who": [f"p{i}" for i in who],
        "x": (who % 10).astype(float),
        "g": (1 + who % 2).astype(np.int64),
        "y": (who % 2).astype(np.int64),
    }


@pytest.mark.wide
def test_persons_with_several_rows() -> None:
    table = open_table(people(3_000), PERSONS)

    def ask(text: str, keys: Keys | None = None) -> Answer:
        step = made(text, Setting(PERSONS, None, keys))
        return step.answer(table.run(step.queries, KEY), Replayed(text))

    assert ask("persons").value == pytest.approx(3_000, abs=30)
    share = ask("capped")
    assert share.value == pytest.approx(0.5, abs=0.05)
    (words,) = share.caveats
    assert words.endswith("of people had more than 3 rows: answers are of capped rows or totals, as each says")
    assert words.startswith(("49", "50", "51", "48", "52"))
    each = ask("mean(x, per=person)")
    assert each.low <= 4.5 <= each.high
    assert each.caveats == ("values of x outside [0, 10] count as the nearer bound",)
    assert "at most 3 rows of each person" in " ".join(ask("mean(x)").caveats)
    middle = ask("median(x)")
    assert middle.low <= 5
    assert middle.high >= 4
    grouped = ask("median(x)", Keys("g", (1, 2), 1))
    assert [cell.label for cell in grouped] == [(("g", 1),), (("g", 2),)]
    assert grouped.name == "median(x) by g"
    by_two = ask("mean(x)", Keys("g", (1, 2), 1))
    for cell, truth in zip(by_two, (4.0, 5.0), strict=True):
        assert isinstance(cell.outcome, Reply)
        assert cell.outcome.value.low - 0.2 <= truth <= cell.outcome.value.high + 0.2


ASKED = ["mean(x)", "variance(x)", "sd(x)", "median(x)", "iqr(x)", "quantiles(x, 0.25 0.75)", "proportion(g, value=1)"]


def whole(outcome: object) -> bool:
    """A reply of finite numbers in order, or no reply."""
    if isinstance(outcome, NoReply):
        return True
    assert isinstance(outcome, Reply)
    e = outcome.value
    assert isinstance(e, Estimate)
    return all(math.isfinite(v) for v in (e.value, e.low, e.high, e.noise, e.sampling)) and e.low <= e.value <= e.high


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["empty", "one", "missing", "constant", "ends", "infinite"])
def test_awkward_tables_give_whole_replies_or_none(what: str, kind: Kind, text: str) -> None:
    size = {"empty": 0, "one": 1}.get(what, 2_000)
    x = {
        "missing": np.full(size, np.nan),
        "constant": np.full(size, 7.0),
        "ends": np.where(np.arange(size) % 2 == 0, -1e300, 1e300),
        "infinite": np.full(size, np.inf),
    }.get(what, np.full(size, 3.0))
    schema = schema_of(real(0, 10), Person(kind), groups=category([1, 2]))
    fake = Fake(schema, {"x": x, "g": np.ones(size)})
    setting = Setting(schema, max(size, 2_000) if kind == "substitute" else None)
    for run in range(10):
        answer = answered(made(text, setting), fake, Replayed(f"{what} {kind} {text} {run}"))
        assert all(whole(cell.outcome) for cell in answer)
        if what in ("empty", "one", "missing"):
            assert all(isinstance(cell.outcome, NoReply) for cell in answer) or text.startswith("proportion")
        if what == "constant" and text in ("mean(x)", "median(x)"):
            assert answer.value == pytest.approx(7.0, abs=0.05)


@pytest.mark.wide
@pytest.mark.parametrize("column", [integer(0, 9), integer(), real()])
def test_atoms_are_found_without_bounds(column: object) -> None:
    assert isinstance(column, type(integer()) | type(real()))
    schema = schema_of(column, Person("add_remove"))
    fake = Fake(schema, {"x": np.repeat([2.0, 5.0, 6.0], [500, 2_000, 500])})
    answer = answered(made("median(x)", Setting(schema, None)), fake, Replayed("atoms"))
    assert answer.value == pytest.approx(5.0, rel=1e-6)
    assert answer.low <= 5.0 <= answer.high


@pytest.mark.wide
def test_a_far_quantile_of_few_people_is_no_reply() -> None:
    schema = schema_of(real(0, 10_000), Person("add_remove"))
    fake = Fake(schema, {"x": np.arange(5_000.0)})
    for run in range(20):
        answer = answered(made("quantile(x, 0.999)", Setting(schema, None), "0.1"), fake, Replayed(run))
        assert isinstance(answer.outcome, NoReply)


@pytest.mark.wide
def test_public_numbers_carry_no_noise() -> None:
    schema = schema_of(real(0, 1), Person("substitute"))
    fake = Fake(schema, {"x": np.zeros(123)})
    answer = answered(made("count", Setting(schema, 123)), fake, Replayed(1))
    assert (answer.value, answer.low, answer.high, answer.noise) == (123, 123, 123, 0)


@pytest.mark.wide
def test_ends_beyond_the_possible_are_shown_at_the_bound_and_said() -> None:
    schema = schema_of(real(0, 100), Person("add_remove"))
    fake = Fake(schema, {"x": np.zeros(300)})
    answer = answered(made("mean(x)", Setting(schema, None), "0.2"), fake, Replayed(2))
    assert answer.low == 0.0
    assert any("shown at the nearest possible one" in text for text in answer.caveats)
    bins = answered(made("histogram(x, edges=0:100:10)", Setting(schema, None), "0.2"), fake, Replayed(3))
    assert all(isinstance(c.outcome, Reply) and 0 <= c.outcome.value.low <= c.outcome.value.value for c in bins)
    assert any("shown at the nearest possible one" in text for text in bins.caveats)


@pytest.mark.wide
@pytest.mark.parametrize("text", ["count", "histogram(x, edges=0:20:2)", "sum(x)"])
def test_a_count_below_zero_keeps_a_half_width_above_it(text: str) -> None:
    """Of no rows: a number that noise moved below 0 had the interval 0 to 0, or one shorter than its noise."""
    schema = schema_of(integer(0, 20), Person("add_remove"))
    step = made(text, Setting(schema, None, None), "1/10")
    fake = Fake(schema, {"x": np.zeros(0)})
    found = [cell.outcome for run in range(8) for cell in answered(step, fake, Replayed(f"{text} {run}"))]
    below = [one.value for one in found if isinstance(one, Reply) and one.value.value == 0.0]
    assert len(below) > 1
    assert all((one.low, one.high) == (0.0, one.noise) for one in below)
    assert any(isinstance(one, Reply) and one.value.high > one.value.noise for one in found)


def test_a_million_different_values_are_drawn_from_in_seconds() -> None:
    schema = schema_of(real(), Person("add_remove"))
    values = np.random.default_rng(1).lognormal(0, 3, 1_000_000)
    step = made("median(x)", Setting(schema, None))
    results = [Fake(schema, {"x": values}).run(query) for query in step.queries]
    started = time.process_time()
    answer = step.answer(results, Replayed("million"))
    assert answer.value == pytest.approx(1.0, abs=0.02)
    assert time.process_time() - started < 20  # about 1; no speed claim, only that it is not quadratic


@pytest.mark.wide
@pytest.mark.parametrize("text", ["count", "mean(x)", "sd(x)", "median(x)", "iqr(x)", "proportion(g, value=1)"])
def test_the_least_epsilon_reaches_the_width_and_no_smaller_one_does(text: str) -> None:
    schema = schema_of(real(0, 100), Person("add_remove"), groups=category([1, 2]))
    setting, asked = Setting(schema, None), parse(text)
    width = prepare(asked, setting, Fraction(1, 2)).expected(20_000).headline[0]
    assert width is not None
    epsilon = least_epsilon(asked, setting, width, 20_000)
    assert epsilon.denominator <= 1000
    assert Fraction(2, 5) < epsilon <= Fraction(1, 2)
    less = prepare(asked, setting, epsilon - Fraction(1, 1000)).expected(20_000).headline[0]
    assert less is None or less > width


@pytest.mark.wide
@pytest.mark.parametrize("text", ["mean(x)", "sd(x)", "median(x)", "proportion(g, value=1)"])
def test_a_plan_for_too_few_people_says_no_reply(text: str) -> None:
    schema = schema_of(real(0, 100), Person("add_remove"), groups=category([1, 2]))
    expected = prepare(parse(text), Setting(schema, None), Fraction(1, 10)).expected(30)
    assert expected.noise is None
    assert expected.note.startswith("no reply")


BOUNDED = ("mean(x)", "sd(x)", "proportion(g, value=1)", "median(x)", "iqr(x)", "log_mean(x)")
FREE = ("mean(x, method=clipped)", "median(x)", "iqr(x)", "quantile(x, 0.9)", "log_mean(x)")


@pytest.mark.parametrize(
    ("column", "text"), [*((real(0, 100), text) for text in BOUNDED), *((real(), text) for text in FREE)]
)
def test_a_plan_for_persons_with_several_rows_tells_both_ends(column: Column, text: str) -> None:
    """No question is called hopeless that is answered if persons have as many rows as may be kept of them."""
    schema = schema_of(column, Person("add_remove", "p", 12), groups=category([1, 2]))
    step = prepare(parse(text), Setting(schema, None), Fraction(1, 5))
    plans = [step.expected(2**k) for k in range(1, 23)]
    assert plans[0].note.startswith("no reply")
    told = [{name for name, *_ in plan.others} & {*plan.apart} for plan in plans]
    some = next(plan for plan, names in zip(plans, told, strict=True) if "one row each" not in names and names)
    assert "12 rows each" in told[plans.index(some)]
    assert {name.rpartition(", ")[2] for name, _ in some.replies} == {"one row each", "5 rows each", "12 rows each"}
    found = re.match(r"noise ± (\S+) if each person has one row, ± (\S+) if 12; ", plans[-1].note)
    assert found is not None
    one, twelve = (float(width.replace(",", "")) for width in found.groups())
    first = plans[-1].headline[0]  # the ends are of its shape
    assert first is not None
    assert one / 2 > first > 1.2 * twelve


@pytest.mark.wide
def test_a_width_that_no_epsilon_reaches_is_refused_with_the_reason() -> None:
    schema = schema_of(real(0, 100), Person("add_remove"))
    for text, width, reason in [("mean(x)", 1e-9, "cannot be planned"), ("quantile(x, 0.999)", 1.0, "no reply")]:
        with pytest.raises(Exception, match=reason):
            least_epsilon(parse(text), Setting(schema, None), width, 300)


@pytest.mark.wide
@pytest.mark.parametrize("text", ["mean(x)", "variance(x)", "median(x)", "iqr(x)"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_expects_what_the_answer_has(kind: Kind, text: str) -> None:
    """On values with the assumed shape: a sixth of the range as standard deviation."""
    schema = schema_of(real(0, 60), Person(kind))
    setting = Setting(schema, 20_000 if kind == "substitute" else None)
    values = np.random.default_rng(8).normal(30, 10, 20_000)
    step = made(text, setting)
    expected = step.expected(20_000)
    answer = answered(step, Fake(schema, {"x": values}), Replayed(f"plan {kind} {text}"))
    assert expected.noise is not None
    assert expected.sampling is not None
    assert answer.noise == pytest.approx(expected.noise, rel=0.5)
    assert answer.sampling == pytest.approx(expected.sampling, rel=0.5)
