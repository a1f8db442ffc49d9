"""Ranks in noisy public bins: Kruskal and Wallis's statistic without noise, level with it, power, mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy

import reticent as rt
from reticent.data.schema import Column, category, integer, real
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.hypotheses.null import Floats, least_seen
from reticent.statistics.hypotheses.ranks import GroupRanks, statistic
from tests.statistics.hypotheses.levels import least, most, noise, too_often
from tests.statistics.hypotheses.test_kinds import findings, made, setting

RUNS, DRAWS, LEVEL = 300, 199, 0.05
Draw = Callable[[np.random.Generator, int], Floats]
EDGES = np.linspace(-4.0, 4.0, 13)

LAWS: dict[str, Draw] = {
    "normal": lambda generator, n: generator.normal(0.0, 1.0, n),
    "skewed": lambda generator, n: generator.lognormal(0.0, 1.0, n) - 3.5,
    "tied": lambda generator, n: generator.choice([-3.0, 0.0, 0.2, 3.0], n, p=[0.7, 0.1, 0.1, 0.1]),
    "narrow": lambda generator, n: generator.normal(0.0, 0.02, n),
}


def asked(scale: float, groups: int = 2, alike: int = 1) -> GroupRanks:
    return GroupRanks(tuple(range(groups)), scale, alike, (1 / 12,) * 12, "", (True,) * 12, DRAWS)


def counted(values: Sequence[Floats]) -> Floats:
    """Groups by bins."""
    return np.array([np.histogram(np.clip(one, EDGES[0], EDGES[-1]), EDGES)[0] for one in values], float)


def tables(draw: Draw, sizes: Sequence[int], scale: int, name: str, shift: float = 0.0, alike: int = 1) -> Floats:
    """Noisy tables of groups of these sizes, the values of the last moved by ``shift``."""
    generator, found = np.random.default_rng([*sizes, alike]), []
    for _ in range(RUNS):
        values = [draw(generator, size // alike) for size in sizes]
        values[-1] = values[-1] + shift
        found.append(alike * counted(values))
    return np.array(found) + noise(Fraction(scale), (RUNS, len(sizes), 12), name)


def told(test: GroupRanks, table: Floats) -> tuple[float, Estimate]:
    found = test.tell([tuple(int(count) for count in row) for row in table])
    return found.p.value, found.effect


def rejections(test: GroupRanks, found: Floats) -> Iterator[bool]:
    return (told(test, table)[0] <= LEVEL for table in found)


def rejected(test: GroupRanks, found: Floats) -> int:
    return sum(rejections(test, found))


@pytest.mark.wide
@pytest.mark.parametrize("sizes", [(40, 70), (30, 50, 20, 90)])
def test_without_noise_the_statistic_is_kruskal_and_walliss_of_the_bins(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(5)
    values = [generator.normal(shift / 4, 1.0, size) for shift, size in enumerate(sizes)]
    table = counted(values)
    right = scipy.stats.kruskal(*(np.repeat(np.arange(12), row.astype(int)) for row in table)).statistic
    n = table.sum()
    assert float(statistic(table, 0.0, 1)) == pytest.approx(right * n / (n - 1))  # its variance divides by n - 1


def test_without_noise_the_effect_is_mann_and_whitneys_share_of_pairs() -> None:
    generator = np.random.default_rng(6)
    table = counted([generator.normal(0.0, 1.0, 200), generator.normal(0.3, 1.2, 300)])
    first, second = (np.repeat(np.arange(12), row.astype(int)) for row in table)
    right = scipy.stats.mannwhitneyu(second, first).statistic / (200 * 300)
    assert told(asked(1e-9), table)[1].value == pytest.approx(right - 0.5)


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(
    ("sizes", "scale"),
    [((100, 100), 1), ((20, 180), 1), ((100, 1_900), 3), ((5_000, 5_000), 10), ((20, 80, 300, 600), 2)],
)
def test_level(kind: str, sizes: tuple[int, ...], scale: int) -> None:
    """Rejections at .05 of 300 tables, tied, skewed and with small groups: not above what the level leaves (1e-4)."""
    found = tables(LAWS[kind], sizes, scale, f"level {kind} {sizes}")
    assert rejected(asked(float(scale), len(sizes)), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
def test_a_law_without_the_noise_is_refuted_and_one_with_too_much_is_seen() -> None:
    found = tables(LAWS["normal"], (150, 150), 6, "mutants")
    assert least(RUNS, LEVEL) <= rejected(asked(6.0), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(0.01), found), RUNS, LEVEL)
    assert too_often(rejections(asked(3.0), found), RUNS, LEVEL)
    assert rejected(asked(13.0), found) < least(RUNS, LEVEL)


@pytest.mark.wide
def test_rows_of_one_person_keep_the_level_and_a_law_of_single_rows_does_not() -> None:
    found = tables(LAWS["normal"], (300, 300), 3, "alike", alike=3)
    assert rejected(asked(3.0, alike=3), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(3.0), found), RUNS, LEVEL)


@pytest.mark.wide
def test_power_is_what_the_plan_says_and_less_with_twice_the_noise() -> None:
    found = made("test(income ~ sex, kind=ranks)").hypothesis
    assert isinstance(found, GroupRanks)
    test = replace(found, draws=DRAWS)
    effect = least_seen(lambda away: test.power(away, 500, LEVEL), 0.4)
    assert effect is not None
    assert test.power(effect, 500, LEVEL) == pytest.approx(0.8, abs=0.05)
    assert test.power(0.0, 500, LEVEL) == pytest.approx(LEVEL, abs=0.02)
    assert replace(test, scale=3 * test.scale).power(effect, 500, LEVEL) < 0.6
    shift = np.sqrt(2.0) * scipy.stats.norm.ppf(0.5 + effect)
    generator, edges, hits = np.random.default_rng(3), np.linspace(-3.0, 3.0, test.bins + 1), 0
    drawn = noise(Fraction(round(test.scale)), (RUNS, 2, test.bins), "power")
    for run in range(RUNS):
        values = (generator.normal(0.0, 1.0, 250), generator.normal(shift, 1.0, 250))
        table = [np.histogram(np.clip(one, -3, 3), edges)[0] for one in values] + drawn[run]
        hits += told(test, table)[0] <= LEVEL
    assert least(RUNS, 0.72) <= hits <= most(RUNS, 0.88)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(("sizes", "scale"), [((100, 100), 1), ((60, 340), 2), ((5_000, 5_000), 10)])
def test_the_interval_covers_the_share_of_pairs(sizes: tuple[int, int], scale: int) -> None:
    """At a chance of .93 at least, of the law in these bins; an interval without the noise does not."""
    found = tables(LAWS["normal"], sizes, scale, f"cover {sizes}", 0.5)
    shares = np.diff(scipy.stats.norm.cdf(EDGES, [[0.0], [0.5]]), axis=1)
    shares[:, [0, -1]] += np.stack([scipy.stats.norm.cdf(-4, [0, 0.5]), scipy.stats.norm.sf(4, [0, 0.5])], 1)
    truth = float(shares[0] @ (1.0 - np.cumsum(shares[1]) + shares[1] / 2)) - 0.5
    inside = {
        size: sum(one.low <= truth <= one.high for one in (asked(size)._chance(table)[0] for table in found))
        for size in (float(scale), scale / 20)
    }
    assert inside[float(scale)] >= least(RUNS, 0.93)
    if scale > 1:
        assert inside[scale / 20] < least(RUNS, 0.93)


@pytest.mark.wide
def test_the_farthest_mean_rank_has_an_interval_that_covers() -> None:
    found = tables(LAWS["normal"], (300, 300, 300), 1, "far", 0.4)
    held = [told(asked(1.0, 3), table)[1] for table in found]
    generator = np.random.default_rng(1)
    many = counted([generator.normal(shift, 1.0, 400_000) for shift in (0.0, 0.0, 0.4)])
    pooled = many.sum(0) / many.sum()
    truth = abs(float(many[2] @ (np.cumsum(pooled) - pooled / 2) / many[2].sum()) - 0.5)
    assert sum(one.low <= truth <= one.high for one in held) >= least(RUNS, 0.93)
    assert np.mean([one.value for one in held]) == pytest.approx(truth, abs=0.01)


@pytest.mark.loop(2)
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("kind", ["skewed", "tied"])
def test_the_interval_covers_the_effect_in_the_values_which_ties_in_bins_hide(kind: str, groups: int) -> None:
    """Four bins tie most values: the interval of the binned effect misses, that of the values does not (1e-4)."""
    edges, generator = np.array([-4.0, 0.5, 2.0, 30.0, 200.0]), np.random.default_rng(groups)
    test = GroupRanks(tuple(range(groups)), 1.0, 1, (1 / 4,) * 4, "", (False,) * 4, DRAWS)
    pools = [LAWS[kind](generator, 100_000) * (1.0 - 0.3 * (place == groups - 1)) for place in range(groups)]
    if groups == 2:
        truth = scipy.stats.mannwhitneyu(pools[1], pools[0]).statistic / len(pools[0]) ** 2 - 0.5
    else:
        ranks = scipy.stats.rankdata(np.concatenate(pools)).reshape(groups, -1).mean(axis=1) / (groups * 100_000)
        truth = float(np.abs(ranks - 0.5).max())
    inside, blind = 0, 0
    for drawn in noise(Fraction(1), (100, groups, 4), f"hidden {kind} {groups}"):
        rows = [np.histogram(generator.choice(pool, 1_500), edges)[0] for pool in pools]
        _, effect = told(test, np.array(rows, float) + drawn)
        inside += effect.low <= truth <= effect.high
        blind += told(replace(test, single=(True,) * 4), np.array(rows, float) + drawn)[1].high >= abs(truth) > 0.02
    assert inside >= least(100, 0.95)
    assert blind < least(100, 0.95)


@pytest.mark.wide
def test_bins_of_one_whole_number_hide_nothing_and_the_answer_says_what_the_others_hide() -> None:
    edges = "test(age ~ sex, kind=ranks, edges={})"
    for asked_, alone in (("0:5:1", (True,) * 4 + (False,)), ("0.5:5.5:1", (True,) * 5), ("0 2 3", (False,) * 2)):
        found = made(edges.format(asked_)).hypothesis
        assert isinstance(found, GroupRanks)
        assert found.single == alone
    step = made("test(age ~ sex, kind=ranks)", setting(age=integer(1, 5)))
    assert isinstance(step.hypothesis, GroupRanks)
    assert all(step.hypothesis.single)
    assert "order" not in " ".join(step.hypothesis.tell([(90,) * 5, (80,) * 5]).words)
    wide = made("test(age ~ sex, kind=ranks)", setting(age=integer(1, 1_000)))
    assert "ties one half, values cut to [1, 1000]" in wide.estimand
    bins = len(wide.hypothesis.assumed) if isinstance(wide.hypothesis, GroupRanks) else 0
    assert "any order of values within a bin" in " ".join(wide.hypothesis.tell([(90,) * bins, (80,) * bins]).words)
    assert "for the order within bins" in wide.hypothesis.expected(1_000).note


@pytest.mark.parametrize(("epsilon", "bins"), [("1/50", 6), ("1/10", 10), ("1/5", 16), ("1", 50), ("10", 128)])
def test_bins_are_as_many_as_the_noise_leaves_room_for(epsilon: str, bins: int) -> None:
    """Of 1,000 rows that are assumed: few bins tie most values of a skewed law, and each bin adds noise."""
    found = made("test(income ~ sex, kind=ranks)", epsilon=epsilon).hypothesis
    assert isinstance(found, GroupRanks)
    assert found.bins == bins


@pytest.mark.wide
def test_too_noisy_a_table_is_no_error() -> None:
    p, effect = told(asked(1_000.0), np.array([[30.0] * 12, [-40.0] * 12]))
    assert (p, effect.low, effect.high) == (1.0, -0.5, 0.5)
    assert told(asked(1.0), np.full((2, 12), -3.0))[0] == 1.0


@pytest.mark.wide
def test_a_group_without_rows_is_left_out_in_words() -> None:
    table = np.array([[30.0] * 12, [0.0] * 12, [10.0] * 6 + [50.0] * 6])
    found = asked(1.0, 3).tell([tuple(int(count) for count in row) for row in table])
    assert found.p.value < 0.02
    assert "left out for having too few noisy rows: 1" in found.words
    alone = asked(1.0, 2).tell([tuple(int(count) for count in row) for row in table[[0, 2]]])
    assert found.statistic == pytest.approx(alone.statistic)


@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_noise_is_that_of_one_row_whatever_the_bins(adjacency: Kind) -> None:
    for text in ("test(income ~ edu)", "test(age ~ edu)", "test(free ~ edu, edges=0 10 20 40)"):
        step = made(text, setting(adjacency, 3), "1/2")
        assert step.mechanism.scale == (12 if adjacency == "substitute" else 6)


@pytest.mark.wide
def test_whole_numbers_are_not_cut_by_bins() -> None:
    step = made("test(age ~ edu)", setting(), "1/10")
    (query,) = step.queries
    assert all(edge.denominator == 1 for edge in query.edges)  # type: ignore[union-attr]  # a Tally
    assert query.edges[0] == 18  # type: ignore[union-attr]
    assert query.edges[-1] >= 91  # type: ignore[union-attr]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("test(free ~ edu)", "public bins"),
        ("test(ill ~ edu, kind=ranks)", "ranks need numbers"),
        ("test(income ~ age, kind=ranks)", "must be known without looking"),
        ("test(income ~ edu, edges=0 50)", "two bins or more"),
    ],
)
def test_what_has_no_ranks_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        made(text)


@pytest.mark.wide
def test_record_replay_finds_nothing_and_half_the_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "test(free ~ edu, edges=0 30 60)"
    assert findings([text], "add_remove", 2, 6) == set()
    assert findings([text], "substitute", 1, 6) == set()
    whole = public_facts.geometric

    def half(bound: Fraction, where: object, epsilon: Fraction) -> Geometric | None:
        right = whole(bound, where, epsilon)  # type: ignore[arg-type]  # as the step gives it
        return (
            None if right is None else Geometric(L1(right.sensitivity.bound / 2, right.sensitivity.adjacency), epsilon)
        )

    monkeypatch.setattr("reticent.statistics.hypotheses.ranks.public_facts.geometric", half)
    assert "sensitivity" in findings([text], "substitute", 2, 6)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_study_answers_ranks_correlation_and_normality(adjacency: Kind) -> None:
    """Effects are those of the table within ten half-widths of the noise, which fails with a chance below 1e-9."""
    generator, n = np.random.default_rng(20), 3_000
    income = generator.gamma(4.0, 10.0, n)
    rows = {"income": income, "age": np.rint(np.clip(0.3 * income + generator.normal(40, 6, n), 18, 90))}
    rows["edu"] = np.where(generator.random(n) < 0.5, "low", "high")
    columns: dict[str, Column] = {"income": real(0, 200), "age": integer(18, 90), "edu": category(["low", "high"])}
    study = rt.study(rows, adjacency=adjacency, columns=columns, budget=9)
    asked = ["test(income ~ edu, kind=ranks)", "test(income ~ age)", "test(income)"]
    plan, release = study.plan(asked, epsilon=9, people=n), study.release(asked, epsilon=9)
    low, high = (income[rows["edu"] == key] for key in ("low", "high"))
    right = [scipy.stats.mannwhitneyu(high, low).statistic / (len(low) * len(high)) - 0.5]
    right.append(float(np.corrcoef(np.clip(income, 0, 200), rows["age"]).item(1)))
    for line, text, truth, slack in zip(plan.lines, asked, right, (0.01, 0.002), strict=False):
        effect = release[text].cells[0].outcome
        assert isinstance(effect, Reply)
        assert abs(effect.value.value - truth) < 10 * effect.value.noise + slack  # bins tie, steps round
        assert line.expected.noise == pytest.approx(effect.value.noise, rel=3)
        assert "is seen with power 0.8 at level 0.05" in line.expected.note
    ps = [cell.outcome for text in asked for cell in release[text].cells[2:]]
    assert [isinstance(p, Reply) and p.value.value < 0.01 for p in ps] == [False, True, True]  # far from it, all three
    assert release.guarantee.loss == rt.PureDP(Fraction(9))


def test_a_price_for_millions_of_people_is_found_without_simulated_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 14 prices had simulated a power curve, 11 s of a processor: now the plan that is printed does."""
    drawn: list[int] = []
    tables = GroupRanks._tables

    def counted(self: GroupRanks, sizes: Any, shares: Any, draws: int, source: Any) -> Any:
        drawn.append(draws)
        return tables(self, sizes, shares, draws, source)

    monkeypatch.setattr(GroupRanks, "_tables", counted)
    columns: dict[str, Column] = {"x": rt.real(0, 100), "g": rt.category(["a", "b", "c"])}
    study = rt.study({"x": [1.0], "g": ["a"]}, columns=columns, adjacency="add_remove", rows_each=1, budget=9)
    plan = study.plan([], want={"test(x ~ g, kind=ranks)": 0.01}, people=10**7)
    assert 0 < len(drawn) <= 30
    assert 0 < dict(plan.lines[0].expected.figures)["mean rank's distance seen with power 0.8 at level 0.05"] < 0.01
