"""Lines of plans of tests, densities, models and sessions: price, accuracy, P(reply), processor time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, cast, get_args

import numpy as np
import pytest
import scipy

import reticent as rt
from reticent import learning
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column
from reticent.entropy import Entropy, Replayed
from reticent.learning.fit.estimator import Estimator
from reticent.outcome import Outcome, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.numbers import Number
from reticent.sessions.outlook import SessionKind
from reticent.statistics.density_distance import FAR
from reticent.statistics.density_step import DensityStep
from reticent.statistics.hypotheses.kinds import Kind as KindOfTest
from reticent.study.plan import Plan
from reticent.study.study import Study
from reticent.synthesis.density import Density
from reticent.synthesis.options import Method
from reticent.synthesis.partition import PartitionDensity

PEOPLE: Final = 2_000
CAPS: Final[dict[str, Number]] = {"at_most": "auto", "ceiling": 6}
TESTS: Final = {
    "means": "test(x ~ g)",
    "proportions": "test(k ~ g, kind=proportions, value=1)",
    "independence": "test(g ~ h)",
    "ranks": "test(x ~ h)",
    "correlation": "test(x ~ y)",
    "normal": "test(x, kind=normal)",
    "density": "test(x, kind=density, density=1)",
}


def made(
    kind: Kind = "add_remove",
    budget: rt.ZCDP | int = 9,
    people: int = PEOPLE,
    rows_each: Mapping[str, Number] | None = None,
) -> Study:
    """A study whose rows no plan reads; with ``rows_each`` a column names the person."""
    rows: dict[str, object] = {name: np.zeros(people) for name in "xyk"}
    columns: dict[str, Column] = {name: rt.real(0, 1, complete=True) for name in "xy"}
    columns["k"] = rt.integer(0, 1, complete=True)
    for name, keys in (("g", ("a", "b")), ("h", ("p", "q", "r"))):
        rows[name], columns[name] = np.full(people, keys[0]), rt.category(list(keys), complete=True)
    person = None if rows_each is None else "who"
    if person is not None:
        rows[person] = np.arange(people)
    return rt.study(rows, adjacency=kind, columns=columns, budget=budget, person=person, rows_each=rows_each)


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("total", ["rho", "epsilon"])
def test_the_lines_of_a_plan_in_rho_add_up_to_its_price(total: str) -> None:
    """A ledger in rho has lines in rho: a price in another currency could not be added to them."""
    asked = [*TESTS.values(), "mean(x)", "median(y)", "density(x)", "regress(y ~ x)"]
    study = made(budget=rt.ZCDP(Fraction(1, 4)))
    plan = study.plan(asked, rho="0.2") if total == "rho" else study.plan(asked, epsilon="0.3")
    assert isinstance(plan.guarantee.loss, rt.ZCDP)
    lines = [line.loss.rho for line in plan.lines if isinstance(line.loss, rt.ZCDP)]
    assert len(lines) == len(asked)
    assert sum(lines) == plan.guarantee.loss.rho


@pytest.mark.wide
def test_no_line_of_a_printed_plan_is_longer_than_80_columns() -> None:
    study = made()
    plan = study.plan([*TESTS.values(), "density(x)", "density(x, y, checks=0.1, method=sparse, cells=64)"], epsilon=9)
    for printed in (plan, study.session_plan("sparse_vector", ["x"], answers=3, epsilon=1)):
        assert max(map(len, repr(printed).splitlines())) <= 80
    assert "\ndensity(x, y, method=sparse, cells=64, checks=0.1)\n" in repr(plan)  # a long name is above its numbers


def shapes(study: Study, *questions: str) -> str:
    """The sentence of a plan's footnote that names the shapes of its ranges; empty if there is none."""
    _, _, told = study.plan(questions, epsilon=2).footnote().partition("the range over public shapes: ")
    return told.partition(". ")[0]


@pytest.mark.wide
def test_a_footnote_names_the_shapes_of_its_own_lines_alone() -> None:
    """It listed groups, weights, models and caps under every plan: eight lines below a table of two."""
    study = made()
    assert shapes(study, "mean(x)") == "usual, off the middle, at one end, narrow near one end, even"
    groups = "shares of 0.25 and one group of a quarter, one group of a tenth"
    assert shapes(study, "test(k ~ g, kind=proportions, value=1)") == f"usual, shares of 0.05, {groups}"
    assert "heaped" in shapes(study, "median(x)")
    for question in ("count", "histogram(g)"):
        assert not shapes(study, question), question
    plan = study.plan(["count", "mean(x)", "median(x)", "test(x ~ g)", "regress(y ~ x)"], epsilon=9)
    printed = repr(plan)
    footnote = printed[printed.index("\n* ") :].partition("\ncount")[0]
    assert footnote.count("\n") <= 6
    assert "gap between two groups" in plan.lines[2].expected.note


def test_a_footnote_says_that_a_number_of_people_is_public() -> None:
    said = "The number of people is public here: people=… plans for it."
    assert said in made("substitute").plan(["count"], epsilon=1).footnote()
    assert said not in made("substitute").plan(["count"], epsilon=1, people=PEOPLE).footnote()
    assert said not in made("add_remove").plan(["count"], epsilon=1).footnote()


def test_a_footnote_spans_candidates_that_a_release_chooses_among() -> None:
    rows = {"who": np.repeat(np.arange(500), 4), "x": np.zeros(2_000)}
    study = rt.study(rows, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=9, person="who", rows_each=CAPS)
    told = shapes(study, "count")
    assert told.startswith("usual, a cap of 1 to ")
    assert told.count("a cap of") == 1


def answered(plan: Plan) -> None:
    """Every line has a price in the ledger's currency, an accuracy, P(reply) and processor time."""
    for line in plan.lines:
        assert isinstance(line.loss, type(plan.left)), line.name
        assert line.loss != rt.PureDP(Fraction(0)), line.name
        assert line.expected.noise is not None or line.expected.figures, line.name
        assert all(np.isfinite(value) for _, value in line.expected.figures), line.name
        assert line.expected.replies, line.name
        assert line.seconds is not None, line.name
    assert plan.seconds is not None
    assert plan.affordable
    assert max(map(len, repr(plan).splitlines())) <= 80


@pytest.mark.wide
def test_every_kind_of_test_has_the_four_figures() -> None:
    assert set(TESTS) == set(get_args(KindOfTest))  # a new kind comes here
    plan = made().plan(list(TESTS.values()), epsilon=7, people=PEOPLE)
    answered(plan)
    for line in plan.lines:
        (name, value), *more = line.expected.figures
        assert name.endswith("seen with power 0.8 at level 0.05")
        assert value > 0
        shapes = {shape for shape, *_ in line.expected.others}
        assert all(one.removeprefix(f"{name}, ") in shapes and other > 0 for one, other in more)
    told = plan.to_json()["statistics"]
    assert isinstance(told, list)
    assert all(one["figures"] for one in told)


@pytest.mark.wide
@pytest.mark.loop(5)
@pytest.mark.parametrize("kind", TESTS)
@pytest.mark.parametrize("rows_each", [None, {"at_most": 5, "typical": 3}])
def test_every_kind_of_test_has_a_curve_on_which_its_seen_effect_has_power_eight_tenths(
    rows_each: Mapping[str, Number] | None, kind: str
) -> None:
    """The line and the curve of a test are for the same values, also where a person has several rows."""
    plan = made(rows_each=rows_each).plan([TESTS[kind]], epsilon=1, people=PEOPLE)
    line = plan.lines[0]  # the share of persons above the cap is beside it
    _, seen = line.expected.figures[0]
    curve = plan.power(line.name, effects=[seen])
    assert curve.power[0] == pytest.approx(0.8, abs=0.08)
    usual = plan.power(line.name)
    assert usual.power[0] < 0.1
    assert usual.power[-1] > 0.9


@pytest.mark.wide
def test_every_method_of_a_density_has_the_four_figures() -> None:
    asked = [f"density(x, method={method})" for method in get_args(Method)]
    plan = made().plan(asked, epsilon=9, people=PEOPLE)
    answered(plan)
    assert {name for line in plan.lines for name, _ in line.expected.figures} == {FAR}
    answered(made().synthesis_plan(["x", "y"], epsilon=1, people=PEOPLE))


@pytest.mark.parametrize("kind", get_args(SessionKind))
def test_every_session_has_the_four_figures(kind: SessionKind) -> None:
    rho = kind == "noisy_answers"
    study = made(budget=rt.ZCDP(Fraction(1, 4))) if rho else made()
    cost = {"rho": "0.1"} if rho else {"epsilon": "1"}
    answered(study.session_plan(kind, ["x"], answers=3, people=PEOPLE, **cost))


def slope(score: float, target: float) -> float:
    """That of squared errors."""
    return score - target


MODELS: Final[dict[str, tuple[dict[str, object], Sequence[str], str | None]]] = {
    "BernsteinClassifier": ({}, ["x", "y"], "g"),
    "DecisionTreeClassifier": ({}, ["x", "y"], "g"),
    "EmpiricalRiskClassifier": ({"slope": slope}, ["x", "y"], "g"),
    "EmpiricalRiskRegressor": ({"slope": slope}, ["x"], "y"),
    "GaussianNB": ({}, ["x", "y"], "g"),
    "HuberRegressor": ({}, ["x"], "y"),
    "KMeans": ({"n_clusters": 2}, ["x", "y"], None),
    "LinearRegression": ({}, ["x"], "y"),
    "LinearSVC": ({}, ["x", "y"], "h"),
    "LogisticRegression": ({}, ["x", "y"], "g"),
    "PCA": ({"n_components": 1}, ["x", "y"], None),
    "QuantileRegressor": ({}, ["x"], "y"),
    "RandomForestClassifier": ({}, ["x", "y"], "g"),
    "StandardScaler": ({}, ["x", "y"], None),
}
OF_ARRAYS: Final = {"FunctionClassifier"}  # a study hands its rows to no program
FREE: Final = {"Clip"}


@pytest.mark.wide
def test_every_estimator_has_the_four_figures() -> None:
    kinds = {name for name in learning.__all__ if isinstance(getattr(learning, name), type)}
    estimators = {name for name in kinds if issubclass(getattr(learning, name), Estimator)}
    assert estimators == {*MODELS, *OF_ARRAYS, *FREE}  # a new one comes here
    study = made()
    for name, (options, columns, y) in MODELS.items():
        model = getattr(learning, name)(epsilon=4, **options)
        answered(study.model_plan(model, columns, y, people=PEOPLE))
    search = learning.GridSearchCV(learning.LogisticRegression(), {"C": [1, 2]}, epsilon=4)
    answered(study.model_plan(search, ["x", "y"], "g", people=PEOPLE))


@cache
def normal_rows(count: int, stream: int) -> tuple[int, ...]:
    """Counts of normal rows in 1,024 cells, as a plan assumes them; nothing of its own streams."""
    values = np.clip(0.5 + np.random.default_rng(stream).standard_normal(count) / 6, 0, 1)
    return tuple(np.histogram(values, 1024, (0, 1))[0].tolist())


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("method", ["tree", "series", "ks"])
def test_a_density_is_as_far_from_its_law_as_its_plan_says(method: str) -> None:
    """The mean of 24 draws is within 30 % of the plan's mean of 8; at a quarter of the rows it is not.

    A distance has a relative deviation of at most .3, so their ratio has one of .12 and is off by .3 in 1 % of streams;
    these are fixed.
    """
    plan = made().plan([f"density(x, method={method}, cells=1024)"], epsilon="1", people=PEOPLE)
    ((_, planned),) = plan.lines[0].expected.figures

    def found(rows: int) -> float:
        step = plan.prepared_for(made().schema).steps[0]
        assert isinstance(step, DensityStep)
        points = np.linspace(0, 1, 400)
        law = scipy.stats.norm.cdf((points - 0.5) * 6)
        far = []
        for run in range(24):
            drawn = step.plan.draw([QueryResult(vectors=(normal_rows(rows, run),))], Replayed(f"{method} {run}"))
            assert isinstance(drawn, Reply)
            far.append(float(np.abs(drawn.value.cdf(points) - law).max()))
        return float(np.mean(far))

    assert found(PEOPLE) == pytest.approx(planned, rel=0.3)
    assert found(PEOPLE // 4) > 1.5 * planned


@pytest.mark.wide
def test_a_plan_of_many_people_has_the_noise_of_their_number_in_its_distance() -> None:
    """A tree of 20,000 rows would be refused at this price, and of a million it is not."""
    study = made("substitute")
    plan = study.plan(["density(x, method=tree)"], epsilon="0.001", people=10**6)
    ((_, planned),) = plan.lines[0].expected.figures
    noise = plan.prepared_for(study.schema).steps[0].expected(10**6).noise  # of the distribution function
    assert noise is not None
    assert noise / 2 < planned < 2 * noise


@pytest.mark.wide
def test_each_coefficient_of_a_regression_has_its_line_and_unit() -> None:
    """The slope of a column of a range a thousand times wider is as many times smaller, and its line says so."""
    columns: dict[str, Column] = {"y": rt.real(0, 1, unit="kg"), "x": rt.real(0, 1), "g": rt.category(["a", "b"])}
    columns["wide"] = rt.real(0, 1000, unit="m")
    rows = {"y": [0.0], "x": [0.0], "wide": [0.0], "g": ["a"]}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=9)
    plan = study.plan(["regress(y ~ x + wide + g)"], epsilon=2, people=10 * PEOPLE)  # the spread of errors is noisy
    found = {one.name: one for one in plan.lines[0].expected.numbers}
    assert {name: one.unit for name, one in found.items()} == {
        "intercept": "kg",
        "x": "kg per x",
        "wide": "kg per m",
        "g=b": "kg",
    }
    x, wide = found["x"], found["wide"]
    assert x.noise is not None
    assert x.sampling is not None
    assert wide.noise is not None
    assert wide.sampling is not None
    assert (x.noise, x.sampling) == plan.lines[0].expected.headline
    of_wide = wide.noise, wide.sampling
    assert 500 < x.noise / wide.noise < 2000
    assert 500 < x.sampling / wide.sampling < 2000
    assert [name for name, *_ in plan.rows()][1:5] == [
        "  intercept, kg",
        "  x, kg per x",
        "  wide, kg per m",
        "  g=b, kg",
    ]
    statistics = cast("list[dict[str, list[object]]]", plan.to_json()["statistics"])  # JSON
    told = cast("dict[str, object]", statistics[0]["coefficients"][2])
    assert [told[word] for word in ("name", "noise", "sampling", "unit")] == ["wide", *of_wide, "kg per m"]
    assert told["reply"] == dict(wide.replies)


def test_slopes_have_lines_where_only_columns_far_apart_tell_them() -> None:
    """Of so few people no made-up table of the usual shapes tells a slope, and moments of further ones do."""
    columns: dict[str, Column] = {"y": rt.real(0, 1), "x": rt.real(0, 1), "wide": rt.real(0, 1000)}
    rows = {name: [0.0] for name in columns}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=9)
    expected = study.plan(["regress(y ~ x + wide)"], epsilon="0.4", people=300).lines[0].expected
    assert "columns of this shape: at both ends beside a narrow y" in expected.note
    intercept, x, wide = expected.numbers
    assert intercept.noise is not None
    assert expected.headline == (None, None)  # of the typical column, which has no reply
    assert (expected.apart[0], x.noise, x.sampling) in expected.others
    assert x.noise is not None
    assert wide.noise == pytest.approx(x.noise / 1000)


@pytest.mark.wide
def test_a_plan_of_made_up_rows_draws_few_tables_and_its_widths_are_those_of_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every shape was drawn of both columns and their joint cells: 24 columns, of which 14 tell the same."""
    generator, columns = np.random.default_rng(8), {"x": rt.real(0, 10_000), "y": rt.real(0, 120)}
    table = {"x": generator.normal(5_000, 1_667, 20_000), "y": generator.normal(60, 20, 20_000)}
    study = rt.study(table, adjacency="add_remove", columns=columns, budget=9)
    drawn: list[str] = []
    draw = PartitionDensity.draw

    def counted(self: PartitionDensity, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        drawn.append(self.axes[0].column)
        return draw(self, results, entropy)

    monkeypatch.setattr(PartitionDensity, "draw", counted)
    (line, *_) = study.plan(["density(x, y)"], epsilon=1, people=20_000).lines
    assert len(drawn) <= 14
    shapes = {shape for shape, *_ in line.expected.others}
    assert {"narrow", "at one end", "many at one bound"} <= shapes
    (answer,) = study.release(["density(x, y)"], epsilon=1).answers
    noise = [cell.outcome.value.noise for cell in answer.cells if isinstance(cell.outcome, Reply)]
    assert line.expected.noise is not None
    assert line.expected.noise == pytest.approx(float(np.mean(noise)), rel=0.5)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("asked", "typical"),
    [
        ("mean(x)", "off the middle"),
        ("test(x ~ h)", "off the middle"),
        ("test(x ~ y)", "off the middle"),
        ("density(x)", "heaped"),
        ("density(x, y)", "heaped"),
        ("density(x, method=histogram, cells=64)", "heaped"),
    ],
)
def test_a_line_begins_with_the_width_of_a_typical_column(asked: str, typical: str) -> None:
    columns: dict[str, Column] = {"x": rt.real(0, 100), "y": rt.real(0, 100), "h": rt.category(["a", "b"])}
    table = {"x": [1.0], "y": [1.0], "h": ["a"]}
    plan = rt.study(table, adjacency="add_remove", columns=columns, budget=9).plan([asked], epsilon=1, people=4_000)
    line = plan.lines[0].expected
    widths = {name: (noise, sampling) for name, noise, sampling in line.others}
    assert line.typical == typical
    assert line.headline == widths[typical] != (line.noise, line.sampling)
    assert (plan.lines[0].noise, plan.lines[0].sampling) == widths[typical]
    (told,) = cast("list[dict[str, object]]", plan.to_json()["statistics"][:1])  # type: ignore[index]  # JSON
    assert (told["typical"], told["noise"], told["sampling"]) == (typical, *widths[typical])
    shapes = cast("dict[str, dict[str, float]]", told["other_shapes"])
    assert shapes["usual"] == {"noise": line.noise, "sampling": line.sampling}
    assert typical not in shapes
    assert "The first width is that of a typical column: no plan knows yours." in plan.footnote()
