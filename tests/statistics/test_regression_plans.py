"""Regressions as a person meets them: error, coverage, declining, odd tables, refusals, and which is chosen and why."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
import scipy

from reticent.data.order_statistics import ABSENT
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import NO_REPLY, NoReply, Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.regression.coefficients import Coefficients, RegressionDesign
from reticent.statistics.regression.exponential import CoefficientAxis
from reticent.statistics.regression.plans import (
    Method,
    PlanChoice,
    RegressionOptions,
    plan,
    reply_probability,
    units_of,
)
from reticent.statistics.regression.rows import Integers
from reticent.statistics.regression.tukey_point import Middle
from reticent.statistics.unbounded.column_counts import ColumnTerms

UNIT = Fraction(1, 256)
MILLIONTH = Fraction(1, 10**6)
ERROR = 1e-3  # of one assertion on coverage, were it exactly .93
BOUNDS = (Fraction(-12), Fraction(12)), (Fraction(-4), Fraction(4))
SUCCESSORS: list[Method] = ["theil_sen", "block_medians", "tukey", "adassp", "over_beta"]


def chosen(
    method: Method,
    n: int,
    epsilon: str,
    kind: Kind = "substitute",
    columns: int = 1,
    *,
    delta: Fraction = Fraction(0),
    options: RegressionOptions | None = None,
) -> PlanChoice:
    return plan(
        method,
        columns=("y", tuple("abcdef"[:columns])),
        terms=ColumnTerms(Adjacency(kind), n if kind == "substitute" else None),
        epsilon=Fraction(epsilon),
        delta=delta,
        n=n,
        units=(UNIT,) * (columns + 1),
        bounds=(BOUNDS[0], *[BOUNDS[1]] * columns),
        blank="marked",
        options=options,
    )


def line(n: int, columns: int, key: int, law: str = "normal") -> tuple[Integers, float]:
    """y = 1 + 2 x + ... + error, and the least-squares slope of the last column."""
    draw = np.random.default_rng([key, n, columns])
    x = draw.normal(size=(n, columns))
    error = draw.normal(size=n) if law == "normal" else draw.laplace(size=n)
    y = 1 + 2 * x.sum(axis=1) + error
    slope = np.linalg.lstsq(np.column_stack([np.ones(n), x]), y, rcond=None)[0][-1]
    return np.rint(np.column_stack([y, x]) / float(UNIT)).astype(np.int64), float(slope)


def told(made: PlanChoice, table: Integers, key: object) -> Coefficients | None:
    match made.draw(table, Replayed(f"{key}")):
        case Reply(found):
            return found
        case NoReply():
            return None


@lru_cache(maxsize=8)
def runs(method: Method, n: int, epsilon: str, kind: Kind, columns: int, count: int) -> tuple[float, list[int], int]:
    """Median |error| of the last slope over least squares', how many intervals cover each coefficient, and replies."""
    made, errors, usual, replies = chosen(method, n, epsilon, kind, columns), [], [], 0
    covered = [0] * (columns + 1)
    for key in range(count):
        table, slope = line(n, columns, key)
        usual.append(abs(slope - 2))
        found = told(made, table, (method, key))
        if found is None:
            continue
        replies += 1
        errors.append(abs(found.estimates[-1].value - 2))
        for place, (estimate, true) in enumerate(zip(found.estimates, [1.0] + [2.0] * columns, strict=True)):
            covered[place] += estimate.low <= true <= estimate.high
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.noise > 0 < estimate.sampling
    return float(np.median(errors) / np.median(usual)), covered, replies


CASES: list[tuple[Method, int, str, Kind, int, float]] = [
    ("theil_sen", 3000, "1", "substitute", 1, 1.8),
    ("theil_sen", 3000, "1", "add_remove", 1, 1.8),
    ("block_medians", 5000, "1", "add_remove", 1, 2.8),
    ("tukey", 5000, "1", "substitute", 1, 1.8),
    ("tukey", 6000, "2", "add_remove", 2, 1.8),
    ("adassp", 1000, "8", "substitute", 2, 4.0),
]


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(("method", "n", "epsilon", "kind", "columns", "most"), CASES)
def test_slopes_are_nearly_as_good_as_least_squares_and_intervals_cover(
    method: Method, n: int, epsilon: str, kind: Kind, columns: int, most: float
) -> None:
    """Coverage at least .93, each at a stated error of 1e-3; the ratio of medians of 40 has a standard error of .2."""
    ratio, covered, replies = runs(method, n, epsilon, kind, columns, 40)
    assert replies >= 38
    assert 0.6 < ratio < most
    for times in covered:
        assert scipy.stats.binom.cdf(times, replies, 0.93) > ERROR


@pytest.mark.wide
def test_intervals_that_leave_out_the_noise_or_a_part_of_sampling_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants of the width: with a fifth of it coverage fails; and it is not made of slack: twice it always covers."""
    honest = Middle.reach
    with monkeypatch.context() as patched:
        patched.setattr(Middle, "reach", lambda self, away, entropy: honest(self, away, entropy) / 5)
        narrow = runs.__wrapped__("tukey", 5000, "1", "substitute", 1, 30)
    assert any(scipy.stats.binom.cdf(times, narrow[2], 0.93) < ERROR for times in narrow[1])
    usual = chosen("tukey", 20_000, "1")
    found = told(usual, line(20_000, 1, 1)[0], 1)
    assert found is not None
    slope = found.estimates[1]
    assert slope.high - slope.low < 3 * 2 * 1.96 / 20_000**0.5  # within three times the non-private interval


@pytest.mark.wide
def test_noise_of_the_medians_is_neither_more_nor_less_than_priced() -> None:
    """1500 medians of 400 records on a grid: rank errors are two-sided geometric; a scale off by a fifth is caught.

    Chi-square of at most 8 degrees: the honest law is refused with probability 1e-4.
    """
    from reticent.data.candidates import Cells, Segment
    from reticent.statistics.rank_blocks import draw
    from reticent.statistics.ranks import runs as runs_of

    cells = Cells((Segment(0, 400, 1),), Fraction(1), True)
    middle = Middle(cells, Adjacency("substitute"), 2, 4, 400, 1, Fraction(1))
    held = runs_of(cells, middle.counted(np.arange(400.0)))
    drawn = np.array([draw(held, Fraction(1, 2), 0, middle.value, Replayed(f"m{key}")) for key in range(1500)])

    def far(rate: float) -> float:
        ranks = np.maximum(np.maximum(2 * np.arange(400) - 400, 2 * np.arange(399, -1, -1) - 400), 0)
        mass = np.exp(-rate * ranks)
        edges = np.unique(np.searchsorted(np.cumsum(mass / mass.sum()), np.arange(1, 9) / 9))
        share = np.diff(np.concatenate([[0.0], np.cumsum(mass / mass.sum())[edges], [1.0]]))
        seen = np.diff(np.concatenate([[0], [(drawn <= edge).sum() for edge in edges], [len(drawn)]]))
        return float(scipy.stats.chi2.sf(((seen - len(drawn) * share) ** 2 / (len(drawn) * share)).sum(), len(edges)))

    honest = float(middle.value.rate)
    assert far(honest) > 1e-4
    assert far(honest * 1.25) < 1e-4
    assert far(honest / 1.25) < 1e-4


# --- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("method", SUCCESSORS)
def test_a_plan_costs_what_was_asked_for_before_rows_are_read(method: Method, kind: Kind) -> None:
    made = chosen(method, 20_000, "1", kind)
    assert made.guarantee.loss == PureDP(Fraction(1))
    assert made.guarantee.adjacency == Adjacency(kind)


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("method", ["R_S", "R_H"])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_tested_ones_stay_within_epsilon_and_delta(method: Method, kind: Kind, columns: int) -> None:
    made = chosen(method, 40_000, "8", kind, columns, delta=MILLIONTH)
    loss = made.guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon == 8
    assert MILLIONTH / 20 < loss.delta <= MILLIONTH
    assert made.guarantee.adjacency == Adjacency(kind)


def test_the_printed_thresholds_are_refused_where_their_delta_is_above_what_was_asked() -> None:
    made = plan(
        "R_S",
        columns=("y", ("a",)),
        terms=ColumnTerms(Adjacency("substitute"), 100_000),
        epsilon=Fraction(8),
        delta=MILLIONTH,
        units=(UNIT, UNIT),
        mode="paper",
    )
    assert isinstance(made.guarantee.loss, ApproxDP)
    assert made.guarantee.loss.epsilon == 8
    assert made.guarantee.loss.delta < Fraction(1, 10**20)
    with pytest.raises(PublicParameterError, match="δ"):
        plan(
            "R_S",
            columns=("y", ("a",)),
            terms=ColumnTerms(Adjacency("substitute"), 3000),
            epsilon=Fraction(1, 2),
            delta=MILLIONTH,
            units=(UNIT, UNIT),
            mode="paper",
        )


@pytest.mark.wide
@pytest.mark.parametrize("method", ["R_S", "R_H"])
def test_r_s_and_r_h_reply_with_intervals(method: Method) -> None:
    made, covered, replies = chosen(method, 16_000, "8", delta=MILLIONTH), 0, 0
    for key in range(12):
        found = told(made, line(16_000, 1, key)[0], key)
        if found is None:
            continue
        replies += 1
        covered += found["a"].low <= 2 <= found["a"].high
        assert abs(found["a"].value - 2) < 0.5
    assert replies >= 11
    assert scipy.stats.binom.cdf(covered, replies, 0.93) > ERROR


@pytest.mark.wide
def test_persons_with_several_rows_cost_as_many() -> None:
    design = RegressionDesign("y", ("x",), (UNIT, UNIT), ColumnTerms(Adjacency("add_remove", 3)), 30_000)
    made = plan("tukey", columns=("y", ("x",)), terms=design.terms, n=30_000, epsilon=Fraction(1), units=(UNIT, UNIT))
    assert made.guarantee.adjacency.rows == 3
    assert made.guarantee.loss == PureDP(Fraction(1))
    with pytest.raises(QuestionError, match="one row each"):
        plan(
            "R_S",
            columns=("y", ("x",)),
            terms=ColumnTerms(Adjacency("substitute", 3)),
            n=30_000,
            epsilon=Fraction(8),
            delta=MILLIONTH,
            units=(UNIT, UNIT),
        )


# --- choosing, refusing ----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_auto_picks_and_says_why() -> None:
    one, two, few = chosen("auto", 5000, "1"), chosen("auto", 20_000, "1", columns=2), chosen("auto", 300, "1")
    assert (one.method, two.method, few.method) == ("theil_sen", "tukey", "adassp")
    assert "no bounds" in one.why
    assert "too few" in few.why
    with pytest.raises(QuestionError, match="bounds of every column"):
        plan(
            "auto",
            columns=("y", ("a",)),
            terms=ColumnTerms(Adjacency("substitute"), 300),
            epsilon=Fraction(1),
            units=(UNIT, UNIT),
        )


@pytest.mark.wide
@pytest.mark.parametrize(
    ("method", "bounds", "units", "n", "says"),
    [
        ("auto", (), (), 5000, "Name a unit"),
        ("adassp", (), (UNIT, UNIT), 5000, "bounds of every column"),
        ("theil_sen", (), (UNIT, UNIT), None, "Declare people"),
        ("theil_sen", (), (UNIT, UNIT), 100, "outweigh"),
        ("tukey", (), (UNIT, UNIT), 100, "outweigh"),
        ("over_beta", (), (UNIT, UNIT), 100, "guess"),
        ("R_S", (), (UNIT, UNIT), 5000, "needs a delta"),
    ],
)
def test_refusals_say_what_to_declare(
    method: Method, bounds: tuple[()], units: tuple[Fraction, ...], n: int | None, says: str
) -> None:
    with pytest.raises(QuestionError, match=says):
        plan(
            method,
            columns=("y", ("a",)),
            terms=ColumnTerms(Adjacency("add_remove")),
            epsilon=Fraction(1),
            n=n,
            units=units,
            bounds=bounds,
        )


@pytest.mark.wide
def test_a_line_through_zero_is_not_for_theil_sen() -> None:
    with pytest.raises(QuestionError, match="through 0"):
        plan(
            "theil_sen",
            columns=("y", ("a",)),
            terms=ColumnTerms(Adjacency("substitute"), 5000),
            epsilon=Fraction(1),
            units=(UNIT, UNIT),
            intercept=False,
        )


@pytest.mark.wide
def test_units_are_made_of_bounds() -> None:
    y, x, named = units_of(("y", "x", "z"), (None, None, UNIT), ((Fraction(-3), Fraction(100)), BOUNDS[1], None))
    assert named == UNIT
    assert 100 / y <= 1 << 24 < 2 * 100 / y
    assert 4 / x == 1 << 15


# --- odd tables ------------------------------------------------------------------------------------------------------


def odd(n: int) -> dict[str, Integers]:
    k = np.arange(n, dtype=np.int64)
    return {
        "nothing varies": np.column_stack([k % 7, np.full(n, 3)]),
        "all zeros": np.zeros((n, 2), np.int64),
        "nobody answered": np.column_stack([np.full(n, ABSENT), k]),
        "one who did": np.vstack([np.column_stack([np.full(n - 1, ABSENT), k[1:]]), [[5, 5]]]),
    }


@pytest.mark.wide
@pytest.mark.parametrize("method", ["theil_sen", "block_medians", "tukey", "adassp", "over_beta"])
@pytest.mark.parametrize("name", list(odd(3)))
def test_tables_that_determine_no_line_get_no_reply(method: Method, name: str) -> None:
    made = chosen(method, 6000, "1", options=RegressionOptions(rounds=2) if method != "over_beta" else None)
    assert [made.draw(odd(6000)[name], Replayed(f"odd {key}")) for key in range(4)] == [NO_REPLY] * 4


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("method", ["R_S", "R_H"])
@pytest.mark.parametrize("name", list(odd(3)))
def test_blocks_that_determine_nothing_are_no_answer_of_zero(method: Method, name: str, kind: Kind) -> None:
    made = chosen(method, 12_000, "8", kind, delta=MILLIONTH)
    assert [made.draw(odd(12_000)[name], Replayed(f"odd {key}")) for key in range(4)] == [NO_REPLY] * 4


@pytest.mark.wide
def test_singular_blocks_do_not_pull_the_median_towards_a_default() -> None:
    """A third of the rows has no x, so every ninth block of two rows is singular; the slope is 2, far from 0."""
    table = line(24_000, 1, 3)[0]
    table[::3, 1] = 0
    made = chosen("R_S", 24_000, "24", delta=MILLIONTH, options=RegressionOptions(blocks=12_000))
    found = [told(made, table, key) for key in range(6)]
    assert all(one is not None and abs(one["a"].value - 2) < 0.3 for one in found)


@pytest.mark.wide
@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("method", ["theil_sen", "tukey", "adassp", "over_beta"])
def test_next_to_no_rows_get_no_reply(method: Method, size: int) -> None:
    made = chosen(method, 6000, "1", "add_remove")
    assert made.draw(line(size + 2, 1, 1)[0][:size], Replayed("few")) == NO_REPLY


@pytest.mark.wide
def test_a_table_of_another_size_is_refused_where_n_is_public() -> None:
    with pytest.raises(PublicParameterError, match="n is public"):
        chosen("tukey", 6000, "1").draw(line(5999, 1, 1)[0], Replayed("x"))


@pytest.mark.wide
def test_rows_that_lack_a_value_say_nothing() -> None:
    table, _ = line(9000, 1, 4)
    missing = np.vstack([table, np.full((3000, 2), 0)])
    missing[9000:, 0] = ABSENT
    for method in ("theil_sen", "tukey", "adassp"):
        found = told(chosen(method, 12_000, "2"), missing, method)
        assert found is not None
        assert abs(found["a"].value - 2) < 0.2
        assert abs(found["intercept"].value - 1) < 0.2


@pytest.mark.wide
def test_rows_of_zeros_are_values_unless_a_design_says_otherwise() -> None:
    """A quarter of the rows at (0, 0), beside a line through (0, 1)."""
    table = np.vstack([line(9000, 1, 4)[0], np.zeros((3000, 2), np.int64)])
    for blank, low, high in (("marked", 0.5, 0.95), ("zeros", 0.95, 1.05)):
        made = plan(
            "adassp",
            columns=("y", ("a",)),
            terms=ColumnTerms(Adjacency("substitute"), 12_000),
            epsilon=Fraction(8),
            units=(UNIT, UNIT),
            bounds=BOUNDS,
            blank=blank,  # type: ignore[arg-type]  # one of the two
        )
        found = told(made, table, blank)
        assert found is not None
        assert low < found["intercept"].value < high


@pytest.mark.wide
def test_a_few_wild_rows_move_the_robust_ones_little_and_least_squares_much() -> None:
    table, _ = line(6000, 1, 8)
    wild = table.copy()
    wild[:60] = (1 << 40, 1 << 14)
    for method in ("theil_sen", "tukey"):
        found = told(chosen(method, 6000, "2"), wild, method)
        assert found is not None
        assert abs(found["a"].value - 2) < 0.4
    assert abs(np.polyfit(wild[:, 1].astype(float), wild[:, 0].astype(float), 1)[0] - 2) > 1000


@pytest.mark.wide
def test_ties_are_found_and_widen_the_interval() -> None:
    """y in {0, 1} on x in {0, ..., 4}: most slopes of pairs are atoms, and that of most pairs is 0."""
    draw = np.random.default_rng(2)
    x = draw.integers(0, 5, 8000)
    y = (draw.random(8000) < 0.2).astype(np.int64)
    made = plan(
        "theil_sen",
        columns=("y", ("x",)),
        terms=ColumnTerms(Adjacency("substitute"), 8000),
        epsilon=Fraction(1),
        units=(Fraction(1), Fraction(1)),
        blank="marked",
    )
    found = told(made, np.column_stack([y, x]).astype(np.int64), 1)
    assert found is not None
    assert found["x"].low <= 0 <= found["x"].high


@pytest.mark.wide
def test_a_named_grid_is_searched_for_all_of_epsilon() -> None:
    step = 1 << 9  # a 32nd of a slope; the intercept's constant is 256 steps, as is 1 in x
    axes = (CoefficientAxis(-4 << 14, step, 257), CoefficientAxis(-4 << 14, step, 257))
    made = chosen("over_beta", 4000, "2", options=RegressionOptions(axes=axes))
    found = told(made, line(4000, 1, 5)[0], 5)
    assert found is not None
    assert abs(found["a"].value - 2) < 0.15
    assert abs(found["intercept"].value - 1) < 0.15


@pytest.mark.wide
def test_the_chance_of_a_reply_is_told_for_public_shapes_alone() -> None:
    sure = chosen("R_S", 16_000, "8", delta=MILLIONTH)
    rare = chosen("R_S", 1500, "8", delta=MILLIONTH)
    assert reply_probability(sure, "normal", tables=6) == 1.0
    assert reply_probability(rare, "cauchy", tables=6) < 1.0
