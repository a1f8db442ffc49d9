"""Half-widths wanted of differences and totals: met by plan and release, at the least epsilon, or refused."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.error_law import ErrorLaw, combined
from reticent.study.linked_widths import linked_width
from reticent.study.plan import Plan
from reticent.study.study import Study

PEOPLE = 5_000
DIFFERENCE = "difference(mean(cost), mean(age))"


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(1)
    table = {
        "cost": rng.normal(50, 15, PEOPLE).clip(0, 100),
        "age": rng.integers(18, 90, PEOPLE),
        "ward": rng.choice(["n", "s", "e"], PEOPLE),
    }
    columns: dict[str, Column] = {
        "cost": rt.real(0, 100, complete=True),
        "age": rt.integer(0, 110, complete=True),
        "ward": rt.category(["n", "s", "e"], complete=True),
    }
    return rt.study(table, adjacency="add_remove", columns=columns, budget="5", people=PEOPLE)


def epsilons(plan: Plan) -> dict[str, Fraction]:
    found = {}
    for line in plan.lines:
        assert isinstance(line.loss, rt.PureDP)
        found[line.name] = line.loss.epsilon
    return found


def test_the_plan_meets_the_width_of_a_difference_and_so_does_the_release(study: Study) -> None:
    made = study.release(want={DIFFERENCE: 1.0}).difference("mean(cost)", "mean(age)")
    assert 0.9 < made.noise <= 1.01  # the number of people is noisy
    assert list(epsilons(study.plan(want={DIFFERENCE: 1.0}))) == ["mean(cost)", "mean(age)"]


def test_a_plan_tells_the_width_that_it_gives(study: Study) -> None:
    """A release has the noise that was planned but for the noisy number of people: within a tenth."""
    cells = "total(mean(cost) by ward · n, mean(cost) by ward · s)"
    planned = study.plan(want={DIFFERENCE: 1.0, cells: 3.0, "count": 50})
    (first, noise), (second, total) = planned.comparisons
    assert (first, second) == (DIFFERENCE, cells)
    assert 0.9 < noise <= 1.0
    assert 2.0 < total <= 3.0
    made = study.release(want={DIFFERENCE: 1.0, cells: 3.0, "count": 50})
    assert made.compare(DIFFERENCE).noise == pytest.approx(noise, rel=0.1)
    assert made.compare(cells).noise == pytest.approx(total, rel=0.1)
    assert f"{DIFFERENCE} ± {noise:.3g}" in " ".join(repr(planned).split())
    assert planned.to_json()["comparisons"] == {DIFFERENCE: noise, cells: total}
    assert pickle.loads(pickle.dumps(planned)) == planned
    assert study.plan(["count"], epsilon=1).comparisons == ()


def test_a_wanted_width_names_cells_of_two_keys() -> None:
    by = "mean(cost) by ward, sex"
    found = linked_width(f"difference({by} · n, f, {by} · s, m)", 1.0)
    assert found is not None
    assert found.parts == (f"{by} · n, f", f"{by} · s, m")
    assert found.answers == (by, by)


def test_the_epsilons_of_a_total_are_the_least(study: Study) -> None:
    """Every pair of the grid whose sum is less by two steps has a wider total."""
    found = epsilons(study.plan(want={"total(count, sum(age))": 500}))
    scales = {"count": 1.0, "sum(age)": 110.0}

    def width(own: dict[str, float]) -> float:
        return combined(
            [1, 1], [ErrorLaw(0.0, (s / own[name],), step=1.0) for name, s in scales.items()], {}
        ).half_width()

    assert width({name: float(epsilon) for name, epsilon in found.items()}) <= 500
    spent = float(sum(found.values()))
    for count in np.arange(0.02, spent - 0.4, 0.01):
        assert width({"count": float(count), "sum(age)": spent - 0.002 - float(count)}) > 500


def test_a_total_of_several_widths_costs_less_than_each_by_itself(study: Study) -> None:
    want = {"difference(count by ward · n, count by ward · s)": 30, "total(count by ward · n, count)": 30}
    both = study.plan(want=want)
    alone = [epsilons(study.plan(want={name: width})) for name, width in want.items()]
    assert sum(epsilons(both).values()) < sum(sum(each.values()) for each in alone)
    assert epsilons(both)["count by ward"] >= alone[0]["count by ward"]


def test_a_width_of_an_answer_is_kept_beside_that_of_its_difference(study: Study) -> None:
    found = epsilons(study.plan(want={DIFFERENCE: 1.0, "mean(age)": 0.2}))
    assert found["mean(age)"] == epsilons(study.plan(want={"mean(age)": 0.2}))["mean(age)"]
    assert found["mean(cost)"] < epsilons(study.plan(want={DIFFERENCE: 1.0}))["mean(cost)"]


def test_wider_wants_cost_less(study: Study) -> None:
    spent = [sum(epsilons(study.plan(want={DIFFERENCE: width})).values()) for width in (0.5, 1.0, 2.0)]
    assert all(more > less for more, less in pairwise(spent))


def test_another_spelling_of_an_answer_is_the_same_answer(study: Study) -> None:
    plan = study.plan(["mean(age)", "mean(cost)"], want={"difference( mean( cost ),mean(age) )": 1.0})
    assert epsilons(plan) == {
        name: epsilons(study.plan(want={DIFFERENCE: 1.0}))[name] for name in ("mean(age)", "mean(cost)")
    }


def test_a_bin_with_a_comma_is_one_part() -> None:
    found = linked_width("difference(histogram(x, edges=0:4:2) · [0, 2), histogram(x, edges=0:4:2) · [2, 4])", 1.0)
    assert found is not None
    assert found.parts == ("histogram(x, edges=0:4:2) · [0, 2)", "histogram(x, edges=0:4:2) · [2, 4]")


def test_too_small_an_epsilon_is_refused_with_the_least_that_would_do(study: Study) -> None:
    needed = sum(epsilons(study.plan(want={DIFFERENCE: 1.0})).values())
    with pytest.raises(QuestionError, match=f"need ε {float(needed)} at least, and the release has 0.1"):
        study.plan(epsilon="0.1", want={DIFFERENCE: 1.0})
    assert sum(epsilons(study.plan(epsilon=needed, want={DIFFERENCE: 1.0})).values()) == needed


@pytest.mark.parametrize(
    ("want", "words"),
    [
        ({"ratio(count, sum(age))": 1.0}, "as wide as its answers make it"),
        ({"difference(count)": 1.0}, "two answers"),
        ({"difference(count, sum(age))": 1e-5}, "cannot be planned"),
        ({"difference(count, mean(wages))": 1.0}, "wages"),
    ],
)
def test_what_no_epsilon_reaches_is_refused(study: Study, want: dict[str, float], words: str) -> None:
    with pytest.raises((QuestionError, PublicParameterError), match=words):
        study.plan(want=want)


def test_a_ledger_in_rho_pays_the_least_sum_of_squares() -> None:
    columns: dict[str, Column] = {"a": rt.integer(0, 1, complete=True), "b": rt.integer(0, 50, complete=True)}
    table = {"a": [0, 1] * 500, "b": [3, 9] * 500}

    def spent(budget: rt.PureDP | rt.ZCDP) -> tuple[float, float]:
        made = rt.study(table, adjacency="add_remove", columns=columns, people=1_000, budget=budget)
        prepared = made.plan(want={"total(sum(a), sum(b))": 300}).prepared_for(made.schema)
        each = [float(step.mechanism.epsilon) for step in prepared.steps]  # type: ignore[attr-defined]
        return sum(each), sum(one * one for one in each)

    pure, rho = spent(rt.PureDP(Fraction(5))), spent(rt.ZCDP(Fraction(1, 4)))
    assert pure[0] < rho[0]
    assert rho[1] < pure[1]


def in_rho(people: int = PEOPLE) -> Study:
    table = {"cost": np.full(people, 50.0), "age": np.full(people, 40)}
    columns: dict[str, Column] = {"cost": rt.real(0, 100, complete=True), "age": rt.integer(0, 110)}
    return rt.study(table, adjacency="add_remove", columns=columns, people=people, budget=rt.ZCDP(Fraction(1)))


@pytest.mark.parametrize("want", [{"mean(cost)": 0.5}, {"mean(age)": 1.0, "count": 20}, {DIFFERENCE: 1.0}])
def test_a_width_is_met_within_a_total_in_rho(want: dict[str, float]) -> None:
    """What is wanted costs the least rho that gives it: the same width of a tenth less is not met at it."""
    made = in_rho().plan(rho="1/2", want=want)
    assert isinstance(made.guarantee.loss, rt.ZCDP)
    found = {**{line.name: line.expected.noise for line in made.lines}, **dict(made.comparisons)}
    for name, width in want.items():
        noise = found[name]
        assert noise is not None
        assert 0.9 * width < noise <= width


def test_answers_without_a_width_share_the_rest_of_a_total_in_rho() -> None:
    made = in_rho().plan(["count", "sum(cost)"], rho="1/2", want={"mean(age)": 1.0})
    spent = {line.name: float(line.loss.rho) for line in made.lines if isinstance(line.loss, rt.ZCDP)}
    assert spent["count"] == pytest.approx(spent["sum(cost)"], rel=0.01)
    assert sum(spent.values()) == pytest.approx(0.5, rel=0.01)


def test_a_question_with_its_own_epsilon_is_asked_within_a_total_in_rho() -> None:
    """It has the noise of that epsilon, whatever the total is."""
    study, own = in_rho(), rt.mean("cost").at("0.3")
    alone, beside = study.plan([own], epsilon="0.3"), study.plan([own, "count"], rho="1/4")
    assert beside.lines[0].expected.noise == pytest.approx(alone.lines[0].expected.noise, rel=1e-3)


def test_too_small_a_rho_is_refused_with_the_least_that_would_do() -> None:
    with pytest.raises(PublicParameterError, match=r"need ρ 0\.\d+, and the release has ρ 0\.001\. Nothing was"):
        in_rho().plan(rho="0.001", want={"mean(cost)": 0.1})


def test_a_release_in_rho_has_the_width_that_was_wanted() -> None:
    study = in_rho()
    made = study.release(rho="1/4", want={"mean(cost)": 1.0})
    assert 0.9 < made["mean(cost)"].noise < 1.06  # .98 ± .014, since the number of people is noisy: fails 1 in 10^7
    left = study.left()
    assert isinstance(left, rt.ZCDP)
    assert left.rho > Fraction(9, 10)
