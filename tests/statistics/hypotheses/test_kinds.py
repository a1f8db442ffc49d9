"""Tests as questions of a study: kinds by declared types, refusals, plans with power, releases, audits and mutants."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import reticent as rt
from reticent.conformance.plan_audit import audit
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.privacy.sensitivity import L1
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.hypotheses import groups, kinds, means
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.step import HypothesisStep
from reticent.statistics.moments.moment_step import UNIT, MomentBasis
from reticent.statistics.prepare import prepare
from reticent.statistics.statistic import ask
from reticent.study.allocation import settle
from reticent.study.formulas import understand
from reticent.study.plan import Plan

COLUMNS: dict[str, Column] = {
    "income": real(0, 100),
    "free": real(),
    "age": integer(18, 90),
    "sex": category(["f", "m"]),
    "edu": category(["low", "mid", "high"]),
    "ill": category(["no", "yes"]),
    "one": category(["only"]),
}
ASKED = ["test(income ~ sex)", "test(ill ~ sex, kind=proportions)", "test(edu ~ sex)"]
Rows = dict[str, NDArray[np.generic]]
RELATIONS: list[Kind] = ["add_remove", "substitute"]


def setting(adjacency: Kind = "add_remove", rows: int = 1, **columns: Column) -> Setting:
    person = Person(adjacency, None if rows == 1 else "who", rows)
    return Setting(Schema({**COLUMNS, **columns}, person), None)


def made(text: str, where: Setting | None = None, epsilon: str = "1") -> HypothesisStep:
    step = prepare(parse(text), where or setting(), Fraction(epsilon))
    assert isinstance(step, HypothesisStep)
    return step


def rows(n: int) -> Rows:
    generator = np.random.default_rng(n)
    sex = generator.choice(["f", "m"], n)
    return {
        "sex": sex,
        "income": generator.normal(40, 12, n) + 4.0 * (sex == "m"),
        "edu": generator.choice(["low", "mid", "high"], n),
        "ill": np.where(generator.random(n) < np.where(sex == "m", 0.3, 0.2), "yes", "no"),
    }


def a_study(n: int = 3_000, adjacency: Kind = "add_remove") -> rt.Study:
    columns = {name: COLUMNS[name] for name in ("sex", "income", "edu", "ill")}
    return rt.study(rows(n), adjacency=adjacency, columns=columns, budget="10")


# --- kinds and refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("test(income ~ sex)", "means"),
        ("test(income ~ edu)", "ranks"),
        ("test(income ~ edu, among=low high)", "means"),
        ("test(edu ~ sex)", "independence"),
        ("test(ill ~ sex, value=yes)", "proportions"),
        ("test(income ~ age)", "correlation"),
        ("test(income ~ age, among=20 30)", "means"),
        ("test(income)", "normal"),
    ],
)
def test_auto_takes_the_kind_that_the_declared_columns_leave(text: str, kind: str) -> None:
    asked = parse(text).statistic
    assert isinstance(asked, HypothesisTest)
    assert kinds.kind_of(asked, setting()) == kind


def test_the_answer_says_which_kind_auto_took() -> None:
    assert "kind auto: means" in made("test(income ~ sex)").caveats[0]
    assert not any("auto" in text for text in made("test(income ~ sex, kind=means)").caveats)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("test(sex ~ income)", r"ask test\(income ~ sex\)"),
        ("test(free ~ sex)", "need a range"),
        ("test(income ~ edu, kind=means)", "two groups"),
        ("test(edu ~ income, kind=independence)", "must be known without looking"),
        ("test(income ~ sex, kind=proportions)", "shares of a category"),
        ("test(edu ~ sex, kind=proportions)", "Which share"),
        ("test(edu ~ sex, kind=proportions, value=none)", "is not one of the values of edu"),
        ("test(income ~ sex, among=f x)", "'x' is not one of the values of sex"),
        ("test(income ~ age, among=20 x)", "no integer"),
        ("test(income ~ one)", "two groups"),
        ("test(one ~ sex)", "two groups of one"),
        ("test(income ~ nothing)", "no column"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        made(text)


def test_a_test_is_not_asked_by_group() -> None:
    with pytest.raises(QuestionError, match="takes no by: its groups stand in the formula"):
        settle(
            understand(["test(income ~ sex) by edu"], setting().schema),
            Cost.read("1", None, None),
            setting().schema,
            None,
            "approximate",
        )


def test_a_table_of_too_many_cells_is_refused() -> None:
    many = category(list(range(30)))
    with pytest.raises(QuestionError, match="900 cells"):
        made("test(a ~ b)", setting(a=many, b=many))


def test_a_refusal_charges_nothing() -> None:
    study = a_study(50)
    before = study.left()
    with pytest.raises(QuestionError):
        study.release(["test(sex ~ income)"], epsilon="1")
    assert study.left() == before


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adjacency", "cap", "scale"),
    [("add_remove", 1, 4), ("substitute", 1, 8), ("add_remove", 3, 12), ("substitute", 3, 24)],
)
def test_a_table_of_counts_costs_one_epsilon_at_the_scale_stated(adjacency: Kind, cap: int, scale: int) -> None:
    for text in ASKED[1:]:
        step = made(text, setting(adjacency, cap), "1/4")
        assert step.mechanism.scale == scale
        assert step.guarantee.loss == rt.PureDP(Fraction(1, 4))


def test_a_person_of_several_rows_counts_once_in_each_group_of_a_test_of_means() -> None:
    plain = made("test(income ~ sex)", setting()).mechanism.scale
    fixed = made("test(income ~ sex)", setting(rows=5, sex=category(["f", "m"], constant=True)))
    both = made("test(income ~ sex)", setting(rows=5))
    assert fixed.mechanism.scale == plain
    assert plain * Fraction(19, 10) < both.mechanism.scale < plain * Fraction(21, 10)
    assert isinstance(both.hypothesis, means.Means)
    assert both.hypothesis.alike == 2
    assert any("may be in both groups" in text for text in both.caveats)
    assert "each person counting once in a group, with the mean of their rows there" in fixed.estimand


def test_rows_of_one_person_are_said_to_be_taken_as_equal() -> None:
    assert any("errs upwards" in text for text in made("test(edu ~ sex)", setting(rows=3)).caveats)
    assert not any("errs upwards" in text for text in made("test(edu ~ sex)").caveats)


# --- releases and plans -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_a_release_answers_with_effect_statistic_and_p_value(adjacency: Kind) -> None:
    study = a_study(adjacency=adjacency)
    found = study.release(ASKED, epsilon="3")
    names = [
        "difference of means (f less m)",
        "difference of shares (f less m)",
        "Cramer's V",
    ]
    for text, effect in zip(ASKED, names, strict=True):
        answer = found[parse(text).name]
        assert [cell.label for cell in answer] == [(("test", part),) for part in (effect, "statistic", "p-value")]
        for cell in answer:
            assert isinstance(cell.outcome, Reply)
            assert cell.outcome.value.low <= cell.outcome.value.value <= cell.outcome.value.high
        assert any("hides" in text for text in answer.caveats)
    effects = [_estimate(found[text].cells[0].outcome) for text in ASKED]
    for told, truth in zip(effects, _apart(rows(3_000)), strict=False):
        assert abs(told.value - truth) < 10 * told.noise + 1e-6  # fails with a chance below 1e-9
    assert effects[2].low == 0.0
    for text, seen in zip(ASKED, (True, True, False), strict=True):
        assert (_estimate(found[text].cells[2].outcome).value < 0.01) == seen  # far from it by the table itself
    assert found.guarantee.loss == rt.PureDP(Fraction(3))
    assert "Cramer's V" in found.certificate.to_json()


def _apart(made_up: Rows) -> tuple[float, float]:
    """Differences of means and of shares in the table itself."""
    first = made_up["sex"] == "f"
    income, ill = np.clip(made_up["income"], 0, 100), made_up["ill"] == "yes"
    return income[first].mean() - income[~first].mean(), ill[first].mean() - ill[~first].mean()


def _estimate(outcome: rt.Outcome[Estimate]) -> Estimate:
    assert isinstance(outcome, Reply)
    return outcome.value


def test_a_question_of_the_library_and_its_text_are_one() -> None:
    asked = rt.test("income ~ sex", kind="means").at("1/2")
    assert parse(asked.name) == ask(rt.test("income ~ sex", kind="means"))


def test_the_figure_shows_the_effect_on_its_own_scale_and_says_the_p_value() -> None:
    drawn = a_study().release(["test(edu ~ sex)"], epsilon="1").plot()
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Cramer's V"]
    assert "p-value" in axes.get_title("left")
    assert axes.get_xlim()[1] < 1.2  # the statistic is not on this axis


def test_a_release_of_a_test_has_effect_statistic_and_p_value() -> None:
    study = a_study()
    answer = study.release([rt.test("income ~ sex")], epsilon=2)["test(income ~ sex)"]
    assert [cell.label[0][1] for cell in answer] == ["difference of means (f less m)", "statistic", "p-value"]
    assert study.left().epsilon == 8  # type: ignore[union-attr]
    assert isinstance(rt.test("income ~ sex"), HypothesisTest)


@pytest.mark.wide
def test_the_numbers_of_every_kind_are_plain_ones() -> None:
    """A scalar of an array is no number of an answer: texts and files take it otherwise, after the charge."""
    table = {**rows(3_000), "age": np.arange(3_000) % 50}
    columns = {name: COLUMNS[name] for name in table}
    study = rt.study(table, adjacency="add_remove", columns=columns, budget="10")
    kinds = ["income ~ sex", "income ~ edu", "edu ~ sex", "ill ~ sex, value=yes", "income ~ age", "income"]
    release = study.release([f"test({kind})" for kind in kinds], epsilon="10")
    for cell in (cell for answer in release.answers for cell in answer):
        found = _estimate(cell.outcome)
        for number in (found.value, found.low, found.high, found.noise, found.sampling):
            assert type(number) in (int, float), cell.label


@pytest.mark.wide
def test_a_plan_says_which_effect_is_seen_and_draws_the_power_curve() -> None:
    plan = a_study().plan(ASKED, epsilon="1", people=4_000)
    tests = [line for line in plan.lines if line.name.startswith("test(")]
    assert len(tests) == len(ASKED)
    for line in tests:
        assert "is seen with power 0.8 at level 0.05" in line.expected.note
        assert line.expected.noise is not None
    curve = plan.power("test(income~sex)", effects=[0, 1, 2, 4])
    assert curve.people == 4_000
    assert curve.power[0] == pytest.approx(0.05, abs=0.01)
    assert list(curve.power) == sorted(curve.power)
    assert curve.seen == 2 or curve.seen == 4
    assert "power" in repr(curve)
    assert curve.plot().axes[0].get_ylabel() == "power at level 0.05"
    more = plan.power("test(income ~ sex)", effects=[1], people=40_000)
    assert more.power[0] > curve.power[1]
    dear = a_study().plan(ASKED, epsilon="10", people=4_000).power("test(income ~ sex)", effects=[1])
    assert dear.power[0] >= curve.power[1]


@cache
def planned() -> Plan:
    """One plan for several tests: its powers are simulated."""
    return a_study().plan(["count", *ASKED], epsilon="4", people=2_000)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("text", ASKED)
def test_a_power_curve_without_effects_goes_from_the_level_to_nearly_one(text: str) -> None:
    curve = planned().power(text)
    assert curve.effects[0] == 0.0
    assert curve.power[0] < 0.08
    assert curve.power[-1] > 0.9


@pytest.mark.wide
def test_power_that_cannot_be_told_is_refused() -> None:
    plan = planned()
    with pytest.raises(QuestionError, match="no test 'count'"):
        plan.power("count")
    with pytest.raises(PublicParameterError, match="level"):
        plan.power(ASKED[0], level=1.0)
    with pytest.raises(PublicParameterError, match="too few"):
        plan.power(ASKED[0], people=5)
    with pytest.raises(PublicParameterError, match="between -1 and 1"):
        plan.power(ASKED[1], effects=[1.5])
    for wrong in ("abc", 0.1, ["a"], [0.1, None], [float("nan")], [True], b"ab"):
        with pytest.raises(PublicParameterError, match=r"effects is a list of numbers, such as \[0, 0.1, 0.2\], got"):
            plan.power(ASKED[0], effects=wrong)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PublicParameterError, match="people must be an integer"):
        plan.power(ASKED[0], people="many")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PublicParameterError, match="level must lie between 0 and 1, got 'x'"):
        plan.power(ASKED[0], level="x")  # type: ignore[arg-type]  # on purpose


# --- audits -----------------------------------------------------------------------------------------------------------


def findings(texts: list[str], adjacency: Kind, cap: int, triples: int = 8) -> set[str]:
    schema = setting(adjacency, cap).schema
    units = 10_000 if adjacency == "substitute" else None
    prepared = settle(understand(texts, schema), Cost.read("10", None, None), schema, units, "approximate")
    return {found.kind for found in audit(prepared, schema, triples=triples).findings}


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("adjacency", "cap"), [("add_remove", 1), ("substitute", 1), ("add_remove", 3), ("substitute", 2)]
)
def test_record_replay_finds_nothing(adjacency: Kind, cap: int) -> None:
    assert findings(ASKED, adjacency, cap) == set()


@pytest.fixture
def _halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sensitivities of counts and of soft counts, taken for half of what they are."""
    whole = groups.counting

    def half(where: Setting, epsilon: Fraction) -> Geometric:
        right = whole(where, epsilon).sensitivity
        return Geometric(L1(right.bound // 2 + Fraction(0), right.adjacency), epsilon)

    for module in ("independence", "proportions"):
        monkeypatch.setattr(f"reticent.statistics.hypotheses.{module}.counting", half)
    monkeypatch.setattr(MomentBasis, "sensitivity", lambda self, rows, groups: Fraction(rows * UNIT // 2))


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.usefixtures("_halved")
@pytest.mark.parametrize("text", ASKED)
def test_half_the_sensitivity_is_found(text: str) -> None:
    assert findings([text], "substitute", 2) >= {"sensitivity"}


def test_an_answer_to_a_test_has_its_p_value_by_name() -> None:
    study = rt.study(
        {"x": [0.1, 0.9] * 200, "g": ["a", "b"] * 200},
        adjacency="add_remove",
        columns={"x": rt.real(0, 1), "g": rt.category(["a", "b"])},
        budget=5,
    )
    release = study.release(["test(x ~ g)", "count"], epsilon=5)
    found = release["test(x ~ g)"]
    (last,) = [cell.outcome for cell in found if cell.label == (("test", "p-value"),)]
    assert isinstance(last, rt.Reply)
    assert found.p_value == last.value.value < 0.01
    with pytest.raises(rt.QuestionError, match="no test"):
        _ = release["count"].p_value


def test_means_of_a_column_without_bounds_are_refused_with_the_test_of_ranks_that_can_be_asked() -> None:
    with pytest.raises(QuestionError, match="compare ranks: ") as refusal:
        made("test(free ~ sex)")
    said = str(refusal.value).split("compare ranks: ")[1]
    asked = said[: said.index("),") + 1]
    assert asked == "test(free ~ sex, kind=ranks, edges=0:50:5)"
    assert made(asked).name.startswith("test(free ~ sex, kind=ranks")
