"""Differences, ratios and totals of a release: names, estimands, what is known of dependence, files."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.errors import CheckError, PublicParameterError, QuestionError
from reticent.outcome import Estimate, Reply
from reticent.statistics import comparison, multiple_comparisons
from reticent.statistics.answer import CLIPPED, DRAWN, Answer, Cell
from reticent.statistics.error_law import ErrorLaw, SampledVariance, combined, law_from_json
from reticent.statistics.intervals import COVERS, TIES, half_width, known
from reticent.study.release import Release

MEANS, BINS = "mean(cost) by ward", "histogram(age, edges=0:100:10)"


@pytest.fixture(scope="module")
def release() -> Release:
    rng = np.random.default_rng(1)
    size = 4_000
    table = {
        "cost": rng.normal(50, 15, size).clip(0, 100),
        "age": rng.integers(18, 90, size),
        "ward": rng.choice(["north", "south", "east"], size),
    }
    table["age"][:60] = [9] * 30 + [90] * 30  # no bin is empty: a noisy count below 0 is cut, and its ends with it
    study = rt.study(
        table,
        adjacency="add_remove",
        columns={
            "cost": rt.real(0, 100, complete=True),
            "age": rt.integer(0, 110, complete=True),
            "ward": rt.category(["north", "south", "east"], complete=True),
        },
        budget="10",
        people=size,
    )
    return study.release(
        [
            MEANS,
            "mean(cost)",
            "mean(age)",
            "count",
            "count by ward",
            "sum(cost)",
            "proportion(ward, value=north)",
            "proportion(ward, value=south)",
            "median(cost)",
            "median(cost) by ward",
            "test(cost ~ ward)",
            "test(age ~ ward)",
            BINS,
        ],
        epsilon="10",
    )


def cells(release: Release, *names: str) -> Iterator[comparison.ReleasedCell]:
    for name in names:
        yield comparison.one({name: release[name] for name in release}, name)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_cell_is_named_as_it_is_shown_by_a_tuple_and_within_its_answer(release: Release) -> None:
    shown = release.difference(f"{MEANS} · north", f"{MEANS} · south")
    assert shown == release.difference((MEANS, "north"), (rt.mean("cost").by("ward"), "south"))
    assert shown == release.difference("north", "south", of=MEANS)
    assert shown.name == f"difference({MEANS} · north, {MEANS} · south)"


@pytest.mark.wide
def test_a_bin_is_named_by_its_text(release: Release) -> None:
    assert release.total(["[20, 30)", "[30, 40)"], of=BINS).value == pytest.approx(
        sum(cell.error.value for cell in release[BINS].cells[2:4] if cell.error)
    )


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("mean(cost)", "mean(wages)", "has no answer"),
        (MEANS, "mean(cost)", "has 3 cells"),
        ("mean(cost)", "mean(cost)", "named twice"),
        ((MEANS, "west"), "mean(cost)", "has no cell west"),
        ("mean(cost)", "test(cost ~ ward)", "has 3 cells"),
        ("mean(cost)", ("test(cost ~ ward)", "p-value"), "no interval"),
        ((), "mean(cost)", "Name an answer"),
        (7, "mean(cost)", "named by text"),
    ],
)
def test_a_name_of_no_cell_is_refused_with_words(release: Release, one: object, other: object, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        release.difference(one, other)  # type: ignore[arg-type]


def two_keys() -> Release:
    size = 2_000
    table = {
        "cost": [place % 100 for place in range(size)],
        "ward": [("north", "south")[place % 2] for place in range(size)],
        "sex": [("f", "m")[place // 2 % 2] for place in range(size)],
    }
    study = rt.study(
        table,
        adjacency="add_remove",
        columns={
            "cost": rt.real(0, 100, complete=True),
            "ward": rt.category(["north", "south"], complete=True),
            "sex": rt.category(["f", "m"], complete=True),
        },
        budget="10",
    )
    return study.release(["mean(cost) by ward, sex", "count"], epsilon="10")


def test_cells_of_two_keys_are_named_in_a_text_although_names_have_commas() -> None:
    by, release = "mean(cost) by ward, sex", two_keys()
    expected = release.difference((by, "north", "f"), (by, "south", "m"))
    for text in (
        f"difference({by} · north, f, {by} · south, m)",
        f"difference({by} · north · f, {by} · south · m)",
        f"difference({by} · ward north · sex f,{by} · ward south · sex m)",
    ):
        assert release.compare(text) == expected, text
    for text in ("difference(north, f, south, m)", "difference(north · f, south · m)"):
        assert release.compare(text, of=by) == expected, text
    assert release.difference("north · f", "south, m", of=by) == expected
    assert release.compare(f"total({by}, count)").value == pytest.approx(release.total([by, "count"]).value, abs=1e-12)
    with pytest.raises(QuestionError, match="has 2 cells: north · f, north · m"):
        release.compare("difference(north, south)", of=by)
    with pytest.raises(QuestionError, match="of two answers, got 3"):
        release.compare("difference(count, count, count)")


def test_a_misspelt_answer_and_the_cells_there_are_told(release: Release) -> None:
    with pytest.raises(QuestionError, match=r"Did you mean median\(cost\)\?"):
        release.difference("medain(cost)", "mean(cost)")
    with pytest.raises(QuestionError, match=r"\[80, 90\), \[90, 100\]\."):
        release.total(["[5, 7)"], of=BINS)


def test_a_total_of_nothing_is_refused(release: Release) -> None:
    with pytest.raises(QuestionError, match="at least one"):
        release.total()
    with pytest.raises(QuestionError, match="in a list"):
        release.total("count")


# --- what is estimated ------------------------------------------------------------------------------------------------


def test_a_comparison_names_its_estimand_and_keeps_the_caveats_of_its_parts(release: Release) -> None:
    made = release.difference("north", "south", of=MEANS)
    assert made.estimand == (
        "population mean of cost, values cut to [0, 100], in ward north, less population mean of cost, values cut to "
        "[0, 100], in ward south"
    )
    assert "values of cost outside [0, 100] count as the nearer bound" in made.caveats
    assert release.ratio("sum(cost)", "count").estimand == (
        "sum of cost over this table, values cut to [0, 100], divided by number of rows of this table"
    )


def test_a_total_adds_numbers_as_they_were_drawn(release: Release) -> None:
    """An empty bin is shown at 0 where its noise was below: a sum of those is too large."""
    drawn = Answer(
        "histogram(age)",
        tuple(
            Cell((("age", k),), rt.Reply(rt.Estimate(max(v, 0.0), 0.0, 9.0, 9.0, 0.0)), ErrorLaw(v, (3.0,), step=1.0))
            for k, v in enumerate((-4.0, 5.0, -2.0))
        ),
        (CLIPPED,),
    )
    made = comparison.total(comparison.find({drawn.name: drawn}, drawn.name))
    assert made.value == -1.0
    assert CLIPPED not in made.caveats
    assert DRAWN in made.caveats
    shown = comparison.total(comparison.find({drawn.name: drawn}, (drawn.name, 1)))
    assert shown.value == 5.0
    assert DRAWN not in shown.caveats


def test_a_part_without_a_reply_gives_no_reply() -> None:
    answers = {name: Answer(name, (Cell((), rt.NO_REPLY),)) for name in ("mean(x)", "mean(y)")}
    one, other = (comparison.one(answers, name) for name in answers)
    assert comparison.difference(one, other).outcome == rt.NO_REPLY
    assert comparison.ratio(one, other).outcome == rt.NO_REPLY
    assert comparison.total([one, other]).outcome == rt.NO_REPLY


def test_a_divisor_that_may_be_0_gives_no_reply(release: Release) -> None:
    answers = {
        name: Answer(name, (Cell((), rt.Reply(rt.Estimate(v, 0, 0, 0, 0)), ErrorLaw(v, (10.0,), step=1.0)),))
        for name, v in (("count", 5.0), ("sum(x)", 90.0))
    }
    made = comparison.ratio(comparison.one(answers, "sum(x)"), comparison.one(answers, "count"))
    assert made.outcome == rt.NO_REPLY
    assert comparison.NO_RATIO in made.caveats


# --- dependence -------------------------------------------------------------------------------------------------------


def variance_of(answer: Answer) -> float:
    law = answer.cells[0].error
    assert law is not None
    assert law.sampling is not None
    return law.sampling.estimate


def test_groups_of_different_people_are_independent(release: Release) -> None:
    one, other = (comparison.find({MEANS: release[MEANS]}, (MEANS, ward))[0] for ward in ("north", "south"))
    assert comparison.covariance(one, other) == 0.0
    made = release.difference("north", "south", of=MEANS)
    assert variance_of(made) == pytest.approx(15**2 * 6 / 4_000, rel=0.15)
    assert comparison.SAFE not in made.caveats


def test_a_group_and_all_share_the_people_of_the_group(release: Release) -> None:
    made = release.difference(f"{MEANS} · north", "mean(cost)")
    assert variance_of(made) == pytest.approx(15**2 * (3 - 1) / 4_000, rel=0.15)
    assert comparison.SAFE not in made.caveats


def test_shares_of_one_category_have_a_negative_covariance(release: Release) -> None:
    made = release.difference("proportion(ward, value=north)", "proportion(ward, value=south)")
    assert variance_of(made) == pytest.approx((2 / 3) / 4_000, rel=0.05)


def test_means_of_two_columns_have_the_worst_covariance_and_say_so(release: Release) -> None:
    made = release.difference("mean(cost)", "mean(age)")
    assert math.sqrt(variance_of(made)) == pytest.approx((15 + 72 / math.sqrt(12)) / math.sqrt(4_000), rel=0.05)
    assert comparison.SAFE in made.caveats


def test_medians_of_groups_add_as_squares_and_those_on_the_same_rows_add_up(release: Release) -> None:
    groups = release.difference("north", "south", of="median(cost) by ward")
    assert comparison.APART in groups.caveats
    assert groups.estimate.level == 0.95
    same = release.difference("median(cost)", "mean(cost)")
    assert comparison.UNION in same.caveats
    assert same.estimate.level == 0.9
    median, mean = release["median(cost)"], release["mean(cost)"]
    assert same.high - same.low == pytest.approx(median.high - median.low + mean.high - mean.low)
    assert release.ratio("median(cost)", "mean(cost)").estimate.level == 0.9


def test_groups_that_share_people_are_not_taken_for_independent(release: Release) -> None:
    shared = {name: Answer(a.name, a.cells, a.caveats, estimand=a.estimand) for name, a in ((MEANS, release[MEANS]),)}
    one, other = (comparison.find(shared, (MEANS, ward))[0] for ward in ("north", "south"))
    assert comparison.covariance(one, other) is None
    assert variance_of(comparison.difference(one, other)) > 1.8 * variance_of(
        release.difference("north", "south", of=MEANS)
    )


def test_an_unknown_covariance_is_at_most_that_of_the_two_spreads() -> None:
    laws = [ErrorLaw(0.0, sampling=SampledVariance(v, 0.0, 0.0, 10.0)) for v in (4.0, 1.0)]
    worst = combined((1.0, -1.0), laws, {(0, 1): None}).sampling
    assert worst is not None
    assert worst.estimate == pytest.approx((2 + 1) ** 2)


# --- laws -------------------------------------------------------------------------------------------------------------


def test_the_radius_of_a_sum_of_integers_is_the_least_that_covers() -> None:
    scales, beta = (0.7, 1.9, 3.0), 0.05
    reach = np.arange(-120, 121)
    mass = np.ones(1)
    for scale in scales:
        ratio = math.exp(-1 / scale)
        mass = np.convolve(mass, (1 - ratio) / (1 + ratio) * ratio ** np.abs(reach))
    middle = len(mass) // 2
    within = [mass[middle - z : middle + z + 1].sum() for z in range(60)]
    assert ErrorLaw(0.0, scales, step=1.0).half_width(1 - beta) == next(
        z for z, p in enumerate(within) if p >= 1 - beta
    )


def test_noises_of_different_steps_have_no_step_in_common() -> None:
    """A sum with scale 9 less 4.4 times a count: the error of a ratio. 26.7 was taken, as if its step were 5.4."""
    law = combined((1.0, -4.4), [ErrorLaw(0.0, (9.0,), step=1.0), ErrorLaw(0.0, (1.0,), step=1.0)], {})
    assert law.half_width() == pytest.approx(half_width(known(0.0), [9.0, 4.4]) + 2.7)


def test_the_law_of_many_noises_reaches_past_the_widest() -> None:
    """Of 400 equal parts the sum is nearly normal; the series of a few parts wrapped it on itself."""
    assert half_width(known(0.0), [1.0] * 400) == pytest.approx(1.96 * math.sqrt(800), rel=0.005)


def test_a_p_value_is_that_of_its_law() -> None:
    assert ErrorLaw(0.0, (2.0,)).exceeds(6.0) == pytest.approx(math.exp(-3))
    normal = ErrorLaw(0.0, (), normal=1.0)
    assert normal.exceeds(1.959964) == pytest.approx(0.05, rel=1e-3)


# --- many at once -----------------------------------------------------------------------------------------------------


def test_simultaneous_intervals_are_wider_and_say_so(release: Release) -> None:
    (made,) = release.simultaneous([BINS])
    for wide, single in zip(made, release[BINS], strict=True):
        assert isinstance(wide.outcome, rt.Reply)
        assert isinstance(single.outcome, rt.Reply)
        assert wide.outcome.value.high > single.outcome.value.high
        assert wide.outcome.value.low >= 0.0
    assert "the 10 intervals hold together with probability 0.95" in made.caveats
    (one,) = release.simultaneous(["count"])
    assert one.estimate == release["count"].estimate


def test_simultaneous_intervals_of_quantiles_are_refused(release: Release) -> None:
    with pytest.raises(QuestionError, match="at 95 % alone"):
        release.simultaneous(["median(cost)"])
    with pytest.raises(PublicParameterError, match="level"):
        release.simultaneous(["count"], level=1.0)


def test_by_default_all_answers_hold_together_that_can(release: Release) -> None:
    found = [answer.name for answer in release.simultaneous()]
    assert {MEANS, "count", "sum(cost)", BINS} <= set(found)
    assert not {"median(cost)", "test(cost ~ ward)"} & set(found)


def test_discoveries_are_named(release: Release) -> None:
    assert release.discoveries([MEANS, "mean(age)"], null=50.0)[-1] == "mean(age)"
    assert set(release.discoveries()) <= {"test(cost ~ ward)", "test(age ~ ward)"}
    with pytest.raises(QuestionError, match="no test"):
        release.discoveries(["count"])


def test_dependent_p_values_pass_a_lower_line() -> None:
    def tests(ps: tuple[float, ...]) -> list[Answer]:
        label = (("test", "p-value"),)
        return [Answer(f"test(x{i})", (Cell(label, rt.Reply(rt.Estimate(p, p, p, 0, 0))),)) for i, p in enumerate(ps)]

    # of three the line of Benjamini and Yekutieli is .05 k / 3 / (1 + 1/2 + 1/3)
    assert multiple_comparisons.discoveries(tests((0.009, 0.5, 0.6)), rate=0.05, null=None) == ("test(x0)",)
    assert multiple_comparisons.discoveries(tests((0.010, 0.5, 0.6)), rate=0.05, null=None) == ()


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_release_that_was_read_from_its_file_compares_as_the_one_that_was_drawn(
    release: Release, tmp_path: Path
) -> None:
    release.save(tmp_path / "table", files=[".json"])
    opened = rt.read_release(tmp_path / "table.json")
    assert opened.difference("north", "south", of=MEANS) == release.difference("north", "south", of=MEANS)
    assert opened.ratio("sum(cost)", "count") == release.ratio("sum(cost)", "count")
    assert repr(opened) == repr(release)
    assert pickle.loads(pickle.dumps(opened)).total(of=BINS) == release.total(of=BINS)


def test_a_law_survives_its_file(release: Release) -> None:
    for answer in release.answers:
        for cell in answer:
            if cell.error is not None:
                assert law_from_json(json.loads(json.dumps(cell.error.to_json()))) == cell.error


def test_a_certificate_of_a_model_is_no_release() -> None:
    from reticent.learning import LinearRegression

    columns = {"x": rt.integer(0, 1, complete=True), "y": rt.integer(0, 1, complete=True)}
    study = rt.study({"x": [0, 1] * 500, "y": [0, 1] * 500}, adjacency="add_remove", columns=columns, budget=2)
    model = LinearRegression(epsilon=1).fit(*study.xy(["x"], "y"))
    with pytest.raises(CheckError, match="of a model"):
        rt.read_release(model.certificate_.to_json())


def test_a_frame_has_the_columns_it_had(release: Release) -> None:
    assert "error" not in release.frame().column_names  # type: ignore[attr-defined]  # a pyarrow Table


def test_a_total_of_groups_is_compared_as_the_groups_it_adds_up() -> None:
    """Its interval was that of a number whose law nobody knows: half-widths added up, at 90 %."""
    rows = {"g": ["a", "b", "b"] * 400, "k": ["x", "y", "z", "x"] * 300}
    study = rt.study(
        rows,
        adjacency="add_remove",
        columns={"g": rt.category(["a", "b"]), "k": rt.category(["x", "y", "z"])},
        budget=10,
    )
    asked = "count by g, k with totals"
    release = study.release([asked], epsilon=1)
    apart = release.difference("a", "b", of=asked).estimate
    whole = release.total(["a", "b"], of=asked).estimate
    cells = release.total([(g, k) for g in "ab" for k in "xyz"], of=asked).estimate
    assert apart.level == whole.level == 0.95
    assert whole.value == cells.value
    assert apart.noise == pytest.approx(whole.noise) == pytest.approx(cells.noise)
    assert apart.value == pytest.approx(release[asked]["a"].value - release[asked]["b"].value)
    rest = release.difference("a", ("a", "x"), of=asked).estimate  # the noise that both have is in neither
    assert rest.noise == pytest.approx(release.total([("a", "y"), ("a", "z")], of=asked).estimate.noise)
    assert rest.noise < apart.noise


def test_a_difference_of_two_columns_says_so(release: Release) -> None:
    """It subtracted them without a word."""
    told = "the two answers are of different columns, and a difference needs one unit: cost; age"
    apart = release.difference((MEANS, "north"), (BINS, "[0, 10)")).caveats
    assert told in apart
    alike = release.difference((MEANS, "north"), (MEANS, "south")).caveats
    assert not any("different columns" in caveat for caveat in alike)


def test_a_name_of_several_cells_is_answered_with_that_of_one(release: Release) -> None:
    with pytest.raises(QuestionError, match=r'Name one of them, such as "mean\(cost\) by ward · north"\.'):
        release.difference(MEANS, (MEANS, "south"))


def test_keys_behind_the_name_of_an_answer_are_answered_with_the_form_of_a_cell(release: Release) -> None:
    for text in (f"{MEANS} north", f"{MEANS}, north", f"{MEANS}  ward north"):
        with pytest.raises(QuestionError, match="Did you mean") as refusal:
            release.difference(text, f"{MEANS} · south")
        meant = str(refusal.value).split("Did you mean ")[1].split("? ")[0]
        assert meant.startswith(f"{MEANS} · ")
        release.difference(meant, f"{MEANS} · south")


def test_a_difference_below_95_percent_says_not_that_it_covers_more() -> None:
    tied = Answer("median(x)", (Cell((), Reply(Estimate(9.0, 7.0, 11.0, 1.0, 0.0))),), (TIES,))
    part = comparison.ReleasedCell(tied, tied.cells[0])
    low = Reply(Estimate(0.0, -4.0, 4.0, 1.0, 0.0, 0.9))
    assert comparison._result("difference", "", (part, part), low, ()).caveats == (TIES.removesuffix(COVERS),)
    full = Reply(Estimate(0.0, -4.0, 4.0, 1.0, 0.0))
    assert comparison._result("difference", "", (part, part), full, ()).caveats == (TIES,)
