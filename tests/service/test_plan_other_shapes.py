"""Lines of a plan tell the widths that a release prints, also of a skewed column, a narrow one and a small group.

Each width is compared with a release of made-up rows of that shape. It follows released numbers, whose noise is small
beside it, so that one release tells it to a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.outcome import Reply
from reticent.statistics.hypotheses.independence import seeing
from reticent.study.study import Study

ROWS = 4_000
EPSILON = 2
RUNS = 3
CLOSE = 1.25


def studied(rows: Mapping[str, object], columns: Mapping[str, Any]) -> Study:
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=1000, override="a test", people=ROWS)


def widths(study: Study, question: str) -> tuple[dict[str, tuple[float | None, float | None]], list[rt.Estimate]]:
    """Half-widths of noise and sampling by shape, and the estimates of a release."""
    (line, *_) = study.plan([question], epsilon=EPSILON).lines
    told = {"usual": (line.expected.noise, line.expected.sampling)}
    told |= {shape: (noise, sampling) for shape, noise, sampling in line.expected.others}
    (answer,) = study.release([question], epsilon=EPSILON).answers
    return told, [cell.outcome.value for cell in answer.cells if isinstance(cell.outcome, Reply)]


def close(planned: tuple[float | None, float | None], seen: rt.Estimate) -> bool:
    pairs = zip(planned, (seen.noise, seen.sampling), strict=True)
    return all(one is not None and one / CLOSE <= other <= one * CLOSE for one, other in pairs)


@pytest.mark.parametrize("question", ["mean(x)", "sd(x)", "median(x)", "geometric_mean(x)", "mean(x) weight w"])
def test_the_first_width_of_an_amount_is_that_of_values_far_below_its_upper_bound(question: str) -> None:
    """From 0 to 20,000: it had been for a mean of a third of that, and a deviation of an eighth of it."""
    values = np.random.default_rng(3).exponential(20_000 / 14, ROWS)
    columns = {"x": rt.real(0, 20_000, resolution="0.01"), "w": rt.real("0.9", 1)}
    rows = {"x": np.clip(values, 0.01, 20_000), "w": np.ones(ROWS)}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=1000, override="a test", design="fixed")
    told = study.plan([question], epsilon=EPSILON, people=ROWS).lines[0].expected
    seen = [study.release([question], epsilon=EPSILON).answers[0].estimate for _ in range(RUNS)]
    assert told.typical == "an amount"
    noise, sampling = told.headline
    assert noise is not None
    assert sampling is not None
    planned, found = math.hypot(noise, sampling), fmean(math.hypot(one.noise, one.sampling) for one in seen)
    assert planned / 1.5 <= found <= planned * 1.5
    shapes = [shape for shape, *_ in told.others]
    assert any("off the middle" in shape for shape in shapes)


@pytest.mark.parametrize(
    "column",
    [rt.integer(0, 120), rt.real(1900, 2030), rt.real(-10_000, 10_000), rt.date("1970-01-01", "2026-01-01")],
)
def test_ages_years_changes_and_dates_are_no_amounts(column: Column) -> None:
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": column}, budget=9)
    for question in ("mean(x)", "median(x)"):
        told = study.plan([question], epsilon=1, people=ROWS).lines[0].expected
        assert told.typical != "an amount"
        assert "an amount" not in [shape for shape, *_ in told.others]


def drawn(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values between 0 and 100 of a public shape of plans."""
    made = np.random.default_rng(17)
    laws = {
        "usual": made.normal(50, 100 / 6, ROWS),
        "narrow": made.normal(50, 2, ROWS),
        "at one end": made.exponential(5, ROWS),
        "narrow near one end": made.normal(10, 2, ROWS),
        "even": made.uniform(0, 100, ROWS),
        "off the middle": made.normal(35, 12.5, ROWS),
    }
    return np.clip(np.abs(laws[name]), 0.001, 100)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("question", "shapes"),
    [
        ("geometric_mean(x)", ("usual", "narrow", "at one end", "even")),
        ("mean(x, method=clipped)", ("usual", "narrow", "at one end", "even")),
        ("location(x)", ("usual", "narrow")),
        ("variance(x)", ("usual", "narrow near one end", "even")),
    ],
)
def test_a_line_has_the_widths_of_each_public_shape(question: str, shapes: tuple[str, ...]) -> None:
    """The noise of a geometric mean was told as a share of it, that of a clipped mean as if no bounds ended a cut."""
    for shape in shapes:
        study = studied({"x": drawn(shape)}, {"x": rt.real(0, 100)})
        told, (seen, *more) = widths(study, question)
        for _ in range(RUNS):  # the ends of a cut are drawn
            more += widths(study, question)[1]
        parts = ((one.noise, one.sampling) for one in (seen, *more))
        seen = rt.Estimate(seen.value, seen.low, seen.high, *map(fmean, zip(*parts, strict=True)))
        if "narrow" in shape:  # its spread is hidden by noise, and sampling is as great as it may be
            seen = rt.Estimate(seen.value, seen.low, seen.high, seen.noise, told[shape][1] or 0.0)
        assert close(told[shape], seen), (shape, told, seen)


@pytest.mark.wide
def test_a_test_of_means_tells_the_widths_of_shapes_and_of_a_small_group() -> None:
    """One shape alone stood there: real tests had 1.5 to 6 times the noise that their plans told."""
    columns = {"x": rt.real(0, 100), "g": rt.category(["a", "b"])}
    for shape, share in (("usual", 0.5), ("at one end", 0.5), ("usual", 0.1)):
        groups = np.where(np.arange(ROWS) < share * ROWS, "a", "b")
        told, (seen, *_) = widths(studied({"x": drawn(shape), "g": groups}, columns), "test(x ~ g)")
        assert close(told[shape if share == 0.5 else "one group of a tenth"], seen), (shape, share, told, seen)


@pytest.mark.wide
def test_a_test_of_shares_and_of_ranks_tells_the_widths_of_a_small_group() -> None:
    columns = {
        "x": rt.real(0, 100),
        "k": rt.category(["no", "yes"]),
        "g": rt.category(["a", "b"]),
        "h": rt.category(["p", "q", "r"]),
    }
    place = np.arange(ROWS)
    groups = np.where(place < ROWS / 10, "a", "b")
    rows = {"x": drawn("usual"), "k": np.where(place % 2 == 0, "yes", "no"), "g": groups}
    rows["h"] = np.where(place < ROWS / 30, "p", np.where(place % 2 == 0, "q", "r"))
    study = studied(rows, columns)
    for question in ("test(k ~ g, kind=proportions, value=yes)", "test(x ~ g, kind=ranks)"):
        told, (seen, *_) = widths(study, question)
        assert close(told["one group of a tenth"], seen), (question, told, seen)
    told, _ = widths(study, "test(x ~ h)")
    assert (told["a group a tenth as large"][0] or 0.0) == pytest.approx(10 * (told["usual"][0] or 0.0), rel=0.01)


def test_a_test_of_correlation_tells_the_widths_of_even_columns() -> None:
    made = np.random.default_rng(5)
    rows = {"x": drawn("even"), "y": made.permutation(drawn("even"))}
    told, (seen, *_) = widths(studied(rows, {"x": rt.real(0, 100), "y": rt.real(0, 100)}), "test(x ~ y)")
    assert close(told["even"], seen), (told, seen)
    assert (told["even"][0] or 0.0) < 0.5 * (told["usual"][0] or 0.0)


def test_a_correlation_of_columns_whose_spread_the_noise_hides_is_planned_as_wide_as_it_can_be() -> None:
    """Skewed columns have little spread between their bounds: such a shape had been left out of the range."""
    columns = {"x": rt.real(0, 100), "y": rt.real(0, 100)}
    study = rt.study(
        {name: [0.0] for name in columns}, adjacency="add_remove", columns=columns, budget=10, people=1_000
    )
    (line, *_) = study.plan(["test(x ~ y)"], epsilon="0.5").lines
    told = {shape: noise for shape, noise, _ in line.expected.others}
    assert line.expected.noise is not None
    assert told["narrow near one end"] == 1.0 > line.expected.noise


def test_a_question_by_group_tells_the_widths_of_a_group_a_tenth_as_large() -> None:
    groups = np.where(np.arange(ROWS) < ROWS / 20, "a", "b")  # a tenth of half
    study = studied({"x": drawn("off the middle"), "g": groups}, {"x": rt.real(0, 100), "g": rt.category(["a", "b"])})
    told, (small, _) = widths(study, "mean(x) by g")
    assert close(told["a group a tenth as large"], small), (told, small)
    (line, *_) = study.plan(["median(x) by g"], epsilon="0.1").lines
    sizes = {shape.split(", ")[-1] for shape, _ in line.expected.replies}
    assert sizes == {"equal groups", "a group a tenth as large", "a group a hundredth as large"}
    (line, *_) = study.plan(["count by g"], epsilon=1).lines
    assert not line.expected.others  # a count has the same noise in each group


@pytest.mark.parametrize(("question", "epsilon"), [("median(x) by g", "3"), ("mean(x) by g", "0.1")])
def test_the_chance_of_a_reply_of_a_group_a_hundredth_as_large_is_in_the_range(question: str, epsilon: str) -> None:
    """A plan said .999 for groups of which a small one was never answered: it stopped at a tenth."""
    groups = np.where(np.arange(ROWS) < ROWS // 200, "a", "b")
    study = studied({"x": drawn("usual"), "g": groups}, {"x": rt.real(0, 100), "g": rt.category(["a", "b"])})
    (line, *_) = study.plan([question], epsilon=epsilon).lines
    chances: dict[str, list[float]] = {}
    for shape, chance in line.expected.replies:
        chances.setdefault(shape.split(", ")[-1], []).append(chance)
    assert max(chances["a group a tenth as large"]) > 0.9
    assert max(chances["a group a hundredth as large"]) < 0.1
    replies = [study.release([question], epsilon=epsilon).answers[0].cells[0].outcome for _ in range(5)]
    assert sum(isinstance(one, Reply) for one in replies) <= 2


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("shape", ["at one end", "narrow near one end", "even", "one group of a tenth"])
def test_a_test_sees_the_effect_that_its_plan_tells_for_each_shape(shape: str) -> None:
    """Power of one shape stood there: a difference of a third or of twice that was seen as often.

    Of 40 releases at power .8 fewer than 24 or more than 38 reject once in 500 runs each.
    """
    columns = {"x": rt.real(0, 100, complete=True), "g": rt.category(["a", "b"], complete=True)}
    group = np.arange(ROWS) < ROWS * (0.1 if "group" in shape else 0.5)
    groups, made = np.where(group, "a", "b"), np.random.default_rng(29)
    (line, *_) = studied({"x": np.zeros(ROWS), "g": groups}, columns).plan(["test(x ~ g)"], epsilon=1).lines
    seen = dict(line.expected.figures)[f"difference seen with power 0.8 at level 0.05, {shape}"]
    rejected = 0
    for _ in range(40):
        values = made.permutation(drawn("usual" if "group" in shape else shape)) + np.where(group, seen / 2, -seen / 2)
        rows = {"x": np.clip(values, 0, 100), "g": groups}
        p = studied(rows, columns).release(["test(x ~ g)"], epsilon=1).answers[0].cells[-1].outcome
        assert isinstance(p, Reply)
        rejected += p.value.value <= 0.05
    assert 24 <= rejected <= 38


def test_a_test_of_independence_tells_the_widths_of_uneven_margins() -> None:
    """Nine in ten rows in one row and column of the table: V had four times the noise of even margins."""
    made = np.random.default_rng(11)
    rows = {name: np.where(made.uniform(size=ROWS) < 0.9, *keys) for name, keys in (("g", "ab"), ("k", "cd"))}
    study = studied(rows, {"g": rt.category(["a", "b"]), "k": rt.category(["c", "d"])})
    told, (seen, *_) = widths(study, "test(g ~ k)")
    assert close(told["margins of 0.9"], seen), (told, seen)
    assert (told["margins of 0.9"][0] or 0.0) > 3 * (told["usual"][0] or 0.0)


@pytest.mark.wide
def test_a_plan_of_a_test_tells_the_effect_that_is_seen_over_its_shapes() -> None:
    columns = {"x": rt.real(0, 100), "g": rt.category(["a", "b"]), "k": rt.category(["no", "yes"])}
    study = studied({name: np.zeros(ROWS) for name in columns}, columns)
    for question in ("test(x ~ g)", "test(k ~ g, kind=proportions, value=yes)", "test(x ~ g, kind=ranks)"):
        (line, *_) = study.plan([question], epsilon=1).lines
        first, *further = [effect for _, effect in line.expected.figures]
        assert len(further) == len(line.expected.others)
        typical = f", {line.expected.typical}"
        printed = next(effect for name, effect in line.expected.figures if name.endswith(typical))
        assert f"{printed:.2g} ({min(first, *further):.2g}–{max(first, *further):.2g}) is seen" in line.expected.note
    none = seeing(0.1, 0.1, 0.5, "V", "even margins", others=[("narrow", 0.3, 0.1)], most=1.0)
    assert "a V of 0.5 (0.5 and more) is seen" in none.note  # the other shape would need more than there is
    assert len(none.figures) == 1


@pytest.mark.parametrize("question", ["density(x, method=histogram)", "density(x, method=bernstein)"])
def test_a_density_has_the_widths_of_the_shares_that_its_answer_prints(question: str) -> None:
    """A line told the noise of the height at a typical point: 2 to 60 times that of any number that was printed."""
    study = studied({"x": drawn("usual")}, {"x": rt.real(0, 100)})
    told, seen = widths(study, question)
    noise, sampling = fmean(one.noise for one in seen), fmean(one.sampling for one in seen)
    whole = rt.Estimate(0.0, 0.0, 0.0, noise, sampling)
    assert close(told["usual"], whole), (told, whole)


@pytest.mark.loop(5)  # every method and every shape
@pytest.mark.parametrize("method", ["auto", "series", "kernel", "bernstein"])
@pytest.mark.parametrize("shape", ["heaped", "few distinct values", "narrow"])
def test_a_density_of_a_column_unlike_the_usual_one_lies_in_the_range_of_its_plan(method: str, shape: str) -> None:
    """One shape stood there: a density of rounded values had 2 to 5 times its noise, and one of few values a tenth."""
    rows = drawn("narrow" if shape == "narrow" else "usual")
    rows = rows if shape == "narrow" else np.round(rows / 5) * 5 if shape == "heaped" else np.round(rows / 20) * 20
    study = studied({"x": np.clip(rows, 0, 100)}, {"x": rt.real(0, 100)})
    question = "density(x)" if method == "auto" else f"density(x, method={method})"
    told, seen = widths(study, question)
    for place, found in enumerate((fmean(one.noise for one in seen), fmean(one.sampling for one in seen))):
        every = [width for pair in told.values() if (width := pair[place]) is not None]
        assert min(every) / 1.2 <= found <= 1.2 * max(every), (place, told, found)
    assert ("few distinct values" in told) == (method == "auto")


@pytest.mark.wide
def test_a_density_of_three_columns_has_the_usual_shape_alone() -> None:
    columns = {name: rt.real(0, 100) for name in "xyz"}
    study = studied({name: np.zeros(ROWS) for name in "xyz"}, columns)
    (line, *_) = study.plan(["density(x, y, z)"], epsilon=EPSILON).lines
    assert not line.expected.others


def test_a_standard_deviation_between_bounds_far_too_wide_has_the_noise_of_a_plan_shape() -> None:
    """Gifts below 20 between bounds up to 1,000: the release had 2.5 times the greatest noise that the plan told.

    At this loss the noise of the variance is an eighth of it, and the half-width varies by a sixteenth.
    """
    values = np.random.default_rng(2).exponential(10, ROWS)
    study = studied({"x": values}, {"x": rt.real(0, 1000)})
    (line, *_) = study.plan(["sd(x)"], epsilon=50, override="a test").lines
    (answer,) = study.release(["sd(x)"], epsilon=50, record=rt.Record(override="a test")).answers
    seen, wide = answer.estimate, "at one end of wide bounds"
    noises = {shape: noise or 0.0 for shape, noise, _ in line.expected.others}
    assert noises[wide] / CLOSE <= seen.noise <= noises[wide] * CLOSE
    assert seen.noise > 1.5 * max(noise for shape, noise in noises.items() if shape != wide)
    assert line.expected.typical == "an amount"
    assert "closer bounds less" in line.expected.note


@pytest.mark.wide
def test_slopes_of_correlated_columns_are_planned_for_them() -> None:
    """Columns on the right were made up as if they told nothing of each other: their slopes had too little noise."""
    made = np.random.default_rng(4).normal(size=(4, ROWS))
    x, z = (25 + 12.5 * (made[0] + one) / math.sqrt(2) for one in made[1:3])
    y = 25 + 12.5 * (made[0] / 2 + made[3] * math.sqrt(0.75))
    columns = {name: rt.real(0, 100) for name in "xyz"}
    study = studied({"x": x, "z": z, "y": y}, columns)
    told, (_, first, *_) = widths(study, "regress(y ~ x + z)")
    alone, _ = widths(study, "regress(y ~ x)")
    planned = told["a deviation of 1/8"][0] or 0.0
    assert planned / CLOSE <= first.noise <= planned * CLOSE
    assert planned > 1.1 * (alone["a deviation of 1/8"][0] or 0.0)
    (line, single, *_) = study.plan(["regress(y ~ x + z)", "regress(y ~ x)"], epsilon=EPSILON).lines
    assert "any two of them correlated at 0.5. Half of that deviation or a correlation of 0.9 has" in line.expected.note
    assert "correlat" not in single.expected.note


@pytest.mark.parametrize("people", [(6_000, 8_000), (2_000, 20_000)])
def test_medians_by_group_have_ranges_that_hold_the_width_of_more_rows(people: tuple[int, int]) -> None:
    """Values of more rows count as equal, and the first width of more rows was the greater one, without a word."""
    columns: dict[str, Any] = {"x": rt.real(0, 1000), "g": rt.category(list("abcdefghij"))}
    study = rt.study({"x": [1.0], "g": ["a"]}, adjacency="add_remove", columns=columns, budget=9)
    few, many = (study.plan(["median(x) by g"], epsilon=1, people=one).lines[0].expected for one in people)
    for one, other in ((few, many), (many, few)):
        noises = [noise for _, noise, _ in one.others if noise is not None]
        assert min(noises) <= (other.headline[0] or 0.0) <= max(noises)
    assert "times as much if many values count as equal" in few.note
    assert "times as much" not in many.note
