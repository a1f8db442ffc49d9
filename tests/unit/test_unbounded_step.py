"""What is asked without bounds: prices that can be derived again, refusals before rows are read, what a plan shows."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import reticent as rt
from reticent.data.candidates import cells_of
from reticent.data.query import Keys
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.registry import axiom_again
from reticent.outcome import Estimate
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.convert import approx_of, rho_within
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.rederivation import rederive
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import SPANNING, TIES
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.column_plan import ColumnPlan, ColumnResult
from reticent.statistics.unbounded.joint import joint_quantiles
from reticent.statistics.unbounded.quantile_tree import widths
from reticent.statistics.unbounded.scaled_level import UNIT, level_of
from reticent.statistics.unbounded.unbounded_step import terms

COIN = "mean(x, method=coinpress, centre=0, radius=1000, deviation=2)"
ASKED = [
    "mean(x, method=clipped)",
    "mean(n, method=clipped, per=person)",
    "mean(free, method=clipped)",
    "mean(free, method=clipped, low=0, high=60)",
    "mean(free, method=clipped, tail=normal)",
    "log_mean(x)",
    "geometric_mean(free, low=0.5, high=60, per=person)",
    "log_mean(n)",
    "quantiles(free, 0.1 0.9)",
    "quantiles(x, 0.9 0.1 0.5, method=joint)",
    "quantiles(n, 0.1 0.5 0.9, interval=no)",
    "iqr(free)",
    "iqr(n, method=joint, per=person)",
    "iqr(free, method=joint, interval=no)",
    "location(x)",
    "location(free, bend=1.5, per=person)",
    "location(step)",
]
KINDS: list[Kind] = ["add_remove", "substitute"]
DELTA = Fraction(1, 10**7)


def setting(
    kind: Kind, rows: int = 1, *, keyed: bool = False, units: int | None = None, delta: Fraction | None = None
) -> Setting:
    columns: dict[str, Column] = {
        "x": real(0, 100, missing=0),
        "n": integer(),
        "age": integer(0, 120, missing=0),
        "free": real(),
        "filled": real(missing=1),
        "step": real(resolution="0.5", missing=0),
        "g": category([1, 2, 3]),
    }
    keys = Keys("g", (1, 2, 3), min(3, rows)) if keyed else None
    people = 1_000_000 if kind == "substitute" and units is None else units
    return Setting(Schema(columns, Person(kind, None if rows == 1 else "who", rows)), people, keys, delta)


def prepared(text: str, here: Setting, epsilon: str = "0.8") -> Step:
    return prepare(parse(text), here, Fraction(epsilon))


# --- prices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ASKED)
def test_a_step_costs_what_it_was_given_and_its_proof_can_be_repeated(
    text: str, kind: Kind, rows: int, keyed: bool
) -> None:
    here = setting(kind, rows, keyed=keyed)
    step = prepared(text, here)
    found = step.guarantee.loss
    assert isinstance(found, PureDP)
    assert found.epsilon == Fraction("0.8")
    assert step.guarantee.adjacency == here.neighbours
    assert rederive(step.guarantee, axiom_again) == found
    assert step.name == (f"{parse(text).name} by g" if keyed else parse(text).name)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_coinpress_spends_the_largest_rho_that_stays_within_epsilon(kind: Kind, rows: int, keyed: bool) -> None:
    here = setting(kind, rows, keyed=keyed, delta=DELTA)
    step = prepared(COIN, here)
    found = step.guarantee.loss
    assert isinstance(found, ApproxDP)
    assert found.delta == DELTA
    assert Fraction("0.799999") < found.epsilon <= Fraction("0.8")
    assert step.guarantee.adjacency == here.neighbours
    assert rederive(step.guarantee, axiom_again) == found
    inside = compose.in_zcdp(step.guarantee).loss  # what a release in rho pays: the conversion is undone
    assert isinstance(inside, ZCDP)
    assert approx_of(inside, DELTA).epsilon == found.epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [("0.001", "1e-9"), ("1", "1e-6"), ("10", "1e-12")])
def test_no_larger_rho_would_do(epsilon: str, delta: str) -> None:
    rho = rho_within(Fraction(epsilon), Fraction(delta))
    assert approx_of(ZCDP(rho), Fraction(delta)).epsilon <= Fraction(epsilon)
    assert approx_of(ZCDP(rho * (1 + Fraction(1, 10**6))), Fraction(delta)).epsilon > Fraction(epsilon)


def test_a_delta_that_would_hide_everything_buys_no_more_than_epsilon_itself() -> None:
    assert rho_within(Fraction("0.0001"), Fraction("0.01")) == Fraction("0.0001") ** 2 / 2


def test_coinpress_is_part_of_a_release_in_rho_where_it_names_its_delta() -> None:
    study = rt.study(
        {"x": [1.0] * 50}, adjacency="substitute", columns={"x": rt.real(missing=0)}, budget=ZCDP(Fraction(1, 2))
    )
    for delta in ("1e-9", "0.001"):
        asked = rt.mean("x", method=rt.CoinPress(centre=0, radius=10, deviation=1)).at(delta=delta)
        loss = study.plan([asked], rho="0.1", people=50).guarantee.loss
        assert isinstance(loss, ZCDP)
        assert Fraction("0.07") < loss.rho <= Fraction("0.1")


def test_a_person_who_is_averaged_has_one_value_whatever_their_rows() -> None:
    here = setting("substitute", 5)
    assert terms("filled", here, "person") == ColumnTerms(here.neighbours, 1_000_000, 1)
    assert terms("filled", here, "row") == ColumnTerms(here.neighbours, None, 5)
    keyed = terms("filled", setting("add_remove", 5, keyed=True), "row")
    assert (keyed.rows, keyed.together, keyed.neighbours.unit) == (1, 5, "row")
    with pytest.raises(PublicParameterError, match="at least one value"):
        ColumnTerms(Adjacency("add_remove", 2), None, 3)


def test_a_level_is_such_that_a_row_moves_its_score_by_the_same_amount() -> None:
    for share in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), 1 - Fraction(1, 10**6)):
        added, replaced = level_of(share, "add_remove"), level_of(share, "substitute")
        assert max(added.a, added.b - added.a) == replaced.b == UNIT
        for level in (added, replaced):
            assert abs(Fraction(level.a, level.b) - share) <= Fraction(1, UNIT)


def test_the_draws_of_every_depth_are_known_beforehand() -> None:
    assert [widths(levels) for levels in (1, 2, 3, 4, 9)] == [(1,), (1, 1), (1, 2), (1, 2, 1), (1, 2, 4, 2)]
    assert all(sum(widths(levels)) == levels for levels in range(1, 40))


def test_the_rank_errors_of_the_deeper_levels_have_those_of_the_cuts_in_them() -> None:
    levels = [Fraction(k, 4) for k in (1, 2, 3)]
    made = joint_quantiles(cells_of(real(), "x"), levels, ColumnTerms(Adjacency("add_remove")), Fraction(1))
    low, middle, high = (made.errors[level] for level in made.levels)
    assert low == pytest.approx(high)
    each = 2.0**0.5 / float(made.depths[1])  # at the level of a half a rank costs epsilon
    assert low == pytest.approx((each**2 + (middle / 2.0) ** 2) ** 0.5, rel=1e-3)
    assert made.own[made.levels[0]] == pytest.approx(each / 2.0**0.5, rel=1e-3)


# --- what auto means -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "jointly"),
    [
        ("iqr(free)", True),
        ("iqr(free, interval=no)", True),
        ("quantiles(free, 0.25 0.75)", False),
        ("quantiles(free, 0.25 0.5 0.75)", True),
        ("quantiles(free, 0.25 0.75, interval=no)", False),
        ("quantiles(x, 0.1 0.5 0.9, interval=no)", True),
    ],
)
def test_auto_says_how_it_drew(text: str, jointly: bool) -> None:
    step = prepared(text, setting("add_remove"))
    assert isinstance(step, PlannedStep if jointly else QuantileStep)
    assert f"by {'joint' if jointly else 'separate'} exponential mechanisms" in step.caveats
    for method in ("joint", "separate"):
        named = prepared(f"{text[:-1]}, method={method})", setting("add_remove"))
        assert isinstance(named, PlannedStep if method == "joint" else QuantileStep)
        assert not any("exponential mechanisms" in caveat for caveat in named.caveats)


@pytest.mark.parametrize(
    ("text", "units", "jointly"),
    [
        ("quantiles(x, 0.25 0.5 0.75)", None, True),
        ("quantiles(x, 0.25 0.5 0.75)", 500, True),
        ("quantiles(x, 0.25 0.5 0.75)", 5_000, False),
        ("quantiles(age, 0.25 0.5 0.75)", None, False),
        ("quantiles(age, 0.25 0.5 0.75)", 500, True),
        ("quantiles(age, 0.1 0.25 0.5 0.75 0.9)", None, True),
        ("quantiles(age, 0.1 0.25 0.5 0.75 0.9)", 20_000, False),
        ("iqr(age)", None, True),
        ("iqr(age)", 20_000, False),
        ("iqr(x)", 20_000, True),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_auto_is_separate_where_public_facts_say_that_values_are_enough(
    text: str, units: int | None, jointly: bool, kind: Kind
) -> None:
    """Quartiles of 944 ages were drawn together, and their intervals were twice as wide."""
    step = prepared(text, setting("add_remove" if units is None else kind, units=units), "1")
    assert isinstance(step, PlannedStep if jointly else QuantileStep)


def test_one_level_is_drawn_by_itself() -> None:
    assert isinstance(prepared("median(free)", setting("add_remove")), QuantileStep)
    with pytest.raises(QuestionError, match="two or more levels"):
        prepared("median(free, method=joint)", setting("add_remove"))


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("trimmed_mean(free)", "add_remove", "location(free) needs none of these"),
        ("trimmed_mean(free)", "substitute", "a value for missing ones"),
        ("mean(x, method=coinpress)", "substitute", "centre=…, radius=…, deviation=…"),
        (COIN, "substitute", "needs a δ"),
        ("mean(x, method=clipped, interval=no)", "substitute", "leave interval=no out"),
        ("iqr(free, mode=paper)", "add_remove", "mode would change nothing in iqr(free, mode=paper)"),
        ("median(free, method=separate, delta=1e-9)", "add_remove", "spends a δ"),
        ("trimmed_mean(filled, unit=0.1)", "substitute", "unit would change nothing in trimmed_mean(filled, unit=0.1)"),
        ("iqr(free, low=-1e200, high=1e200)", "add_remove", "within 1e100 of zero"),
        ("iqr(free, method=separate, low=-1e200, high=1e200)", "add_remove", "within 1e100 of zero"),
        ("mean(x, method=coinpress, centre=0, radius=1e300, deviation=1)", "substitute", "within 1e100 of zero"),
        ("mean(x, method=coinpress, centre=0, radius=1, deviation=1e-300)", "substitute", "within 1e100 of zero"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(text: str, kind: Kind, says: str) -> None:
    with pytest.raises(QuestionError) as caught:
        prepared(text, setting(kind))
    assert says in str(caught.value)
    assert "Nothing was charged." in str(caught.value)


def test_a_category_has_no_quantiles_and_no_mean() -> None:
    for text in ("location(g)", "mean(g, method=clipped)", "iqr(g)", "trimmed_mean(g)"):
        with pytest.raises(QuestionError, match="g is a category"):
            prepared(text, setting("add_remove"))


def test_a_trimmed_mean_has_a_reply_where_every_person_has_a_value_and_is_replaced() -> None:
    assert prepared("trimmed_mean(filled)", setting("substitute")).guarantee.loss == PureDP(Fraction("0.8"))
    prepared("trimmed_mean(filled, per=person)", setting("substitute", 5))
    for here in (setting("substitute", 5), setting("substitute", keyed=True)):
        with pytest.raises(QuestionError, match="public number of values"):
            prepared("trimmed_mean(filled)", here)


@pytest.mark.parametrize(
    "text", ["mean(free, method=clipped)", "iqr(free)", "quantiles(free, 0.1 0.9)", "location(free)"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_so_few_people_cannot_support_is_refused_before(text: str, kind: Kind) -> None:
    with pytest.raises(QuestionError, match=r"would be a guess: (with )?300 values.*Nothing was charged"):
        prepared(text, setting(kind, units=300), "0.1")
    prepared(text, setting(kind, units=300_000), "0.1")
    prepared(text, setting("add_remove"), "0.1")  # n private: nothing can be said beforehand


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mean(x, centre=1, radius=2, deviation=3)", "are for method=coinpress"),
        ("mean(x, method=clipped, delta=1e-9)", "delta would change nothing"),
        ("mean(x, method=coinpress, centre=1, radius=0, deviation=3)", "radius"),
        ("mean(x, method=coinpress, centre=1, radius=1, deviation=-3)", "deviation"),
        (
            "mean(x, method=coinpress, centre=1, radius=1, deviation=1, delta=1)",
            "δ must be a probability",
        ),
    ],
)
def test_numbers_of_coinpress_out_of_place_are_refused(text: str, says: str) -> None:
    with pytest.raises((PublicParameterError, QuestionError), match=says):
        parse(text)


# --- what a plan shows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ASKED)
def test_more_epsilon_and_more_people_give_less_noise(text: str, kind: Kind) -> None:
    here = setting(kind, units=20_000)
    few, more = (prepared(text, here, epsilon).expected(20_000) for epsilon in ("1", "2"))
    many = prepared(text, setting(kind, units=80_000), "1").expected(80_000)
    for found in (few, more, many):
        assert found.noise is not None
        assert found.sampling is not None
    assert more.noise < 0.6 * few.noise  # type: ignore[operator]
    assert more.sampling == few.sampling
    assert many.noise < 0.5 * few.noise  # type: ignore[operator]
    assert many.sampling == pytest.approx(few.sampling / 2, rel=0.01)  # type: ignore[operator]
    bounded = "low=0" in text or "(x" in text
    assert (re.search("1/[68] of the range", few.note) is not None) == bounded


def test_a_plan_that_would_decline_says_so() -> None:
    for text in ASKED:
        step = prepared(text, setting("add_remove"), "0.1")
        assert step.expected(100).noise is None
        assert step.expected(100).note.startswith("no reply")


@pytest.mark.wide
def test_a_width_in_the_unit_of_a_column_without_bounds_is_refused() -> None:
    """Its plan is in a unit of the column: ± 1000 of these would be had for next to nothing."""
    columns: dict[str, Column] = {"x": rt.real(), "b": rt.real(0, 10), "g": rt.category([1, 2])}
    study = rt.study(
        {name: [1.0] for name in columns}, adjacency="add_remove", columns=columns, budget=10, people=20_000
    )
    total = "difference(median(x) by g · 1, median(x) by g · 2)"
    for text in ("median(x)", "location(x)", "geometric_mean(x)", "median(b) by g", total):
        if "b)" in text:
            assert study.plan(want={text: 5.0}).lines[0].expected.unit == ""
            continue
        with pytest.raises(QuestionError, match=r"planned in (quartile|standard|shares).*Nothing was charged"):
            study.plan(want={text: 1000.0})
        assert study.plan(want={text: 0.5}).lines[0].expected.unit in ("sd", "iqr", "of it")
    shown = {row[0]: row[2] for row in study.plan(["median(x)", "mean(b)", "regress(x ~ b)"], epsilon=3).rows()}
    assert shown["median(x)"].partition(" (")[0].endswith(" iqr")
    assert shown["regress(x ~ b)"].partition(" (")[0].endswith(" sd")
    assert "sd" not in shown["mean(b)"]
    said = study.plan(["geometric_mean(x)", "mean(b)"], epsilon=1).to_json()["statistics"]
    assert isinstance(said, list)
    assert [one.get("unit") for one in said[:2]] == ["of it", None]


@pytest.mark.wide
def test_the_least_epsilon_for_a_width_is_found() -> None:
    study = rt.study({"x": [0.0]}, adjacency="add_remove", columns={"x": rt.real()}, budget=10, people=20_000)
    for text, width in (("iqr(x)", 0.02), ("mean(x, method=clipped)", 0.01), ("location(x)", 0.01)):
        line = study.plan(want={text: width}).lines[0]
        found = line.expected.headline[0]
        assert found is not None
        assert 0.9 * width < found <= width


@pytest.mark.parametrize("text", ["iqr(x, method=joint)", "quantiles(x, 0.25 0.5 0.75, method=joint)"])
def test_a_joint_interval_as_wide_as_the_bounds_says_so_and_not_that_values_are_equal(text: str) -> None:
    step = prepared(text, setting("add_remove"))
    assert isinstance(step, PlannedStep)
    plan = step.plan
    assert isinstance(plan, ColumnPlan)
    wide, short = (Estimate(20.0, 5.0, high, 5.0, 5.0) for high in (80.0, 30.0))
    assert plan._said(ColumnResult([short, wide], (TIES,))) == (SPANNING,)
    assert plan._said(ColumnResult([short, short], (TIES,))) == (TIES,)
