"""The figure of a release: which answers share an axis, what stands beside it, and that it is drawn in lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import reticent as rt
from reticent import calendar
from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.certificate.render import figure as drawing
from reticent.certificate.render.figure import bar, figure, pdf, svg
from reticent.certificate.render.listing import listing
from reticent.certificate.render.page import fragment, page
from reticent.certificate.render.panels import Panel, PanelScale, edges_of, noise_ends, panels, panels_of
from reticent.certificate.render.tables import row_words
from reticent.certificate.render.ticks import apart, date_ticks
from reticent.errors import PublicParameterError, SpecError
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.answer import Answer, Cell
from reticent.study.release import Release
from reticent.synthesis.axis import Axis
from reticent.synthesis.drawing import curve
from tests.unit.test_certificate_example import document

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

AGE = {"kind": "integer", "low": "0", "high": "99", "unit": "years"}
COLUMNS = {
    "age": AGE,
    "since": AGE,
    "cost": {"kind": "real", "unit": "dollars"},
    "ward": {"kind": "category", "among": ["a", "b", "c"]},
    "sex": {"kind": "category", "among": ["f", "m"]},
}


def reply(value: float, half: float = 1.0) -> Reply[Estimate]:
    return Reply(Estimate(value, value - half, value + half, half / 2, half / 2))


def one(name: str, outcome: Outcome[Estimate]) -> Answer:
    return Answer(name, (Cell((), outcome),))


def made(*asked: Answer) -> Certificate:
    answers = [answer_to_json(answer) for answer in asked]
    return Certificate.of({**document(), "columns": COLUMNS, "answers": answers})


def by(name: str, values: dict[str, Outcome[Estimate]]) -> Answer:
    return Answer(f"{name} by ward", tuple(Cell((("ward", key),), outcome) for key, outcome in values.items()))


def test_the_noise_is_drawn_within_the_interval() -> None:
    """An interval cut to what is possible, or with one short side, as those of medians: the noise is cut alike."""
    from matplotlib.collections import LineCollection

    short = Estimate(10.6, 10.25, 10.65, 0.15, 0.05)
    assert noise_ends(short) == pytest.approx((10.45, 10.65))
    drawn = bar(Cell((), Reply(short)))
    assert drawn is not None
    assert drawn.left >= drawn.low
    assert drawn.right <= drawn.high
    (axes,) = figure(made(one("median(cost)", Reply(short)))).axes
    thick, thin = (found.get_segments()[0][:, 0] for found in axes.collections if isinstance(found, LineCollection))
    assert thin[0] <= thick[0] < thick[1] <= thin[1]


def test_answers_of_one_kind_and_unit_share_an_axis() -> None:
    asked = [one("mean(age)", reply(40)), one("mean(cost)", reply(9)), one("median(since)", reply(7))]
    spread = [one("sd(age)", reply(3)), one("count", reply(100)), one("persons", reply(90))]
    names = [panel.names for panel in panels(made(*asked, *spread, one("quantile(age, 0.9)", NO_REPLY)))]
    assert names == [
        ("mean(age)", "median(since)", "quantile(age, 0.9)"),
        ("mean(cost)",),
        ("sd(age)",),
        ("count",),
        ("persons",),
    ]


def test_axes_name_columns_and_units() -> None:
    asked = [one("mean(age)", reply(40)), one("mean(cost)", reply(9)), one("sd(cost)", reply(3))]
    found = figure(made(*asked, one("proportion(sex)", reply(0.5, 0.1)), one("count", reply(10)))).axes
    assert [axes.get_xlabel() for axes in found] == [
        *("age (years)", "cost (dollars)", "spread of cost (dollars)", "share", "rows")
    ]
    both = figure(made(one("mean(age)", reply(40)), one("median(since)", reply(7)))).axes
    assert [axes.get_xlabel() for axes in both] == ["years"]


@pytest.mark.parametrize("name", ["count", "persons", "sum(age)"])
def test_groups_that_add_up_have_a_scale_from_zero(name: str) -> None:
    """The number of all rows is no reference for groups of them: beside it all of them were pressed to one side."""
    release = made(one(name, reply(9000)), by(name, {"a": reply(80), "b": reply(95)}))
    overall, panel = panels(release)
    assert panel.reference is None
    assert panel.scale.zero
    assert not overall.scale.zero
    first, second = figure(release).axes
    assert first.get_xlim()[0] > second.get_xlim()[1]
    assert second.get_xlim()[0] < 0.0 < 10.0 < second.get_xlim()[1] < 110.0


def test_groups_keep_their_order_and_stand_beside_the_answer_for_all_rows() -> None:
    groups = by("mean(age)", {"a": reply(30), "b": NO_REPLY, "c": reply(50)})
    release = made(one("mean(age)", reply(40)), groups)
    overall, panel = panels(release)
    assert panel.names == ("a", "b", "c")  # as declared; the title names their column
    assert panel.reference == 40.0
    first, second = figure(release).axes
    assert first.get_xlim() == second.get_xlim()
    assert overall.reference is None
    assert [float(np.ravel(line.get_xdata())[0]) for line in dashed(second)] == [40.0]
    assert "dashed: all groups together" in svg(release)


def dashed(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if line.is_dashed()]


def test_effects_are_drawn_from_zero_and_each_slope_has_its_unit() -> None:
    cells = tuple(Cell((("coefficient", key),), reply(value, 0.1)) for key, value in (("intercept", 5), ("age", 3)))
    keys = (Cell((("coefficient", "ward b"),), reply(4, 0.1)), Cell((("coefficient", "ward c"),), reply(2, 0.1)))
    found = panels(made(Answer("regress(cost ~ age + ward)", (*cells, *keys))))
    assert [panel.scale.label for panel in found] == ["dollars", "dollars per year", "dollars"]
    assert [panel.scale.zero for panel in found] == [False, True, True]
    assert [panel.names for panel in found] == [("intercept",), ("age",), ("ward b", "ward c")]
    drawn = figure(made(Answer("regress(cost ~ age + ward)", (*cells, *keys)))).axes
    assert [axes.get_xlim()[0] <= 0 for axes in drawn] == [False, True, True]


def table(rows: str, bins: str, inner: str = "bin") -> Answer:
    cells = [
        Cell((("sex", row), (inner, key)), reply(10 * at + place) if (row, key) != ("m", bins[0]) else NO_REPLY)
        for at, row in enumerate(rows)
        for place, key in enumerate(bins)
    ]
    return Answer("histogram(ward) by sex" if inner == "ward" else "histogram(age) by sex", tuple(cells))


def test_a_two_way_table_is_a_map_with_its_numbers() -> None:
    from matplotlib.collections import QuadMesh

    release = made(table("fm", "abc", "ward"))
    (panel,) = panels(release)
    assert (panel.form, panel.columns, panel.note) == ("map", ("a", "b", "c"), "each ± 1 by noise; × is no reply")
    axes = figure(release).axes[0]
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "×", "11", "12"]
    assert any(isinstance(found, QuadMesh) for found in axes.collections)


def test_a_histogram_by_group_is_small_multiples_of_one_height() -> None:
    release = made(table("fmx", "abcd"))
    (panel,) = panels(release)
    assert panel.form == "multiples"
    found = figure(release).axes
    assert [axes.get_title(loc="left") for axes in found] == [
        "histogram(age) by sex   (× is no reply)\nsex f",
        "sex m",
        "sex x",
    ]
    assert len({axes.get_ylim() for axes in found}) == 1
    assert found[-1].get_xlabel() == "age (years)"


@cache
def released(*asked: str) -> Release:
    rows = {"x": np.arange(3000) % 97, "y": np.arange(3000) % 89}
    columns = {"x": rt.integer(0, 100, unit="weeks"), "y": rt.integer(0, 100)}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget="10").release([*asked], epsilon="5")


def test_a_density_has_its_unit_and_its_distribution_function_with_both_bands() -> None:
    from matplotlib.collections import PolyCollection

    drawn = figure(released("density(x)").certificate).axes
    curve, running = (axes for axes in drawn if axes.get_xlabel() == "x (weeks)")
    assert curve.get_ylabel() == "probability of each whole number"
    assert running.get_ylabel() == "probability up to a value"
    assert sum(isinstance(found, PolyCollection) for found in running.collections) == 2
    assert "band: privacy noise" in svg(released("density(x)").certificate)


def test_a_density_of_two_columns_is_told_to_be_shades() -> None:
    """Its legend spoke of a line."""
    told = svg(released("density(x, y, method=histogram)").certificate)
    assert "shade: density of two columns, as the bar beside it says" in told
    assert "line: density" not in told


@pytest.mark.wide
def test_the_scale_of_a_density_has_units_and_short_ticks() -> None:
    law = rt.study(
        {"x": np.arange(4_000) % 90.0, "y": 2_500.0 * np.arange(4_000)},
        adjacency="add_remove",
        columns={"x": rt.real(0, 90, unit="weeks"), "y": rt.real(0, 1e7, label="Wages", unit="euros")},
        budget=9,
    ).release(["density(x, y)"], epsilon=4)
    shade = next(axes for axes in figure(law.certificate).axes if axes.get_ylabel().startswith("density"))
    assert re.fullmatch(r"density per week and euro \(10⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]+\)", shade.get_ylabel())
    told = [shade.yaxis.get_major_formatter()(tick, 0) for tick in shade.get_yticks()]
    assert len(told) > 1
    assert all(float(text) < 10 and len(text) <= 4 for text in told)


@pytest.mark.wide
def test_figures_are_lines_and_text_without_pixels() -> None:
    for release in (made(table("fm", "abc", "ward")), released("density(x, y)").certificate):
        assert "<image" not in svg(release)
        drawn = pdf(release)
        assert drawn.startswith(b"%PDF")
        assert b"/CreationDate" not in drawn
        assert b"/Subtype /Image" not in drawn


@pytest.mark.wide
def test_a_release_is_saved_as_pdf(tmp_path: object) -> None:
    (path,) = released("mean(x)").save(f"{tmp_path}/one", files=[".pdf"])
    assert path.read_bytes().startswith(b"%PDF")


def test_colours_stay_apart_in_grey() -> None:
    from matplotlib.colors import to_rgb

    def light(colour: str) -> float:
        return float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))

    for one_colour, other in ((drawing.DOT, drawing.NOISE), (drawing.BOTH, drawing.NOISE), (drawing.DOT, drawing.BAR)):
        assert abs(light(one_colour) - light(other)) > 0.3


def test_a_unit_is_declared_in_a_study_file_or_in_python_and_certified(tmp_path: object) -> None:
    certificate = released("mean(x)").certificate
    assert certificate.document["columns"]["x"]["unit"] == "weeks"
    assert "unit" not in released("mean(y)").certificate.document["columns"]["y"]
    for wrong in ("x" * 41, "a\nb", 7):
        with pytest.raises((PublicParameterError, SpecError), match="unit"):
            rt.real(0, 1, unit=wrong)  # type: ignore[arg-type]  # what a caller may hand


def test_ticks_on_a_scale_of_shades_standapart() -> None:
    """The shades grow with the root, so that ticks in equal steps ran into each other at the dark end."""
    assert apart([0.0, 40.0, 80.0, 120.0, 160.0], 123.0) == [0.0, 40.0, 80.0, 120.0]  # up to the darkest
    assert apart([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], 101.0) == [0.0, 20.0, 60.0, 100.0]
    assert apart([0.0, 0.5, 1.0], 1.0) == [0.0, 0.5, 1.0]


def test_a_map_leaves_the_others_their_width_and_has_a_scale_of_its_shades() -> None:
    """The scale of shades stood beyond the figures of the strips, and took a quarter of the width from all."""
    strip = one("mean(age)", reply(40))
    few, many = table("fm", "abc", "ward"), table("fm", "abcdefghijklmnopqr", "ward")
    alone, beside = (figure(made(*asked)) for asked in ((strip,), (strip, many)))
    for drawn in (alone, beside):
        drawn.draw_without_rendering()
    assert beside.axes[0].get_position().width > 0.97 * alone.axes[0].get_position().width
    assert [len(figure(made(asked)).axes[0].child_axes) for asked in (few, many)] == [1, 1]
    (scale,) = beside.axes[1].child_axes
    assert scale.get_ylabel() == "rows"


def two_way(rows: str, columns: str) -> Answer:
    cells = [
        Cell((("sex", row), ("ward", column)), reply(10 * at + place))
        for at, row in enumerate(rows)
        for place, column in enumerate(columns)
    ]
    return Answer("mean(age) by sex, ward", tuple(cells))


def test_means_by_two_columns_of_many_keys_are_a_map_with_their_intervals_and_a_scale() -> None:
    release = made(two_way("fmxyz", "abcd"))
    (panel,) = panels(release)
    assert (panel.form, panel.names, panel.columns) == ("map", tuple("fmxyz"), tuple("abcd"))
    assert (panel.up, panel.across, panel.down) == ("age (years)", "ward", "sex")
    axes = figure(release).axes[0]
    written = [text.get_text() for text in axes.texts]
    assert len(written) == 20
    assert all(" ± " in text for text in written)
    (scale,) = axes.child_axes
    assert scale.get_ylabel() == "age (years)"
    assert "<image" not in svg(release)
    wide = made(two_way("fmxyz", "abcdefghi"))
    assert panels(wide)[0].note.startswith("each ± ")
    assert " ± " not in "".join(text.get_text() for text in figure(wide).axes[0].texts)


def test_shades_are_in_the_order_of_the_numbers_in_grey_too() -> None:
    from matplotlib.collections import QuadMesh

    (found,) = [one for one in figure(made(two_way("fmxyz", "abcd"))).axes[0].collections if isinstance(one, QuadMesh)]
    values = np.asarray(found.get_array()).ravel()
    grey = (np.asarray(found.cmap(found.norm(np.sort(values)))) @ (0.299, 0.587, 0.114, 0.0)).tolist()
    assert grey == sorted(grey, reverse=True)
    assert grey[0] - grey[-1] > 0.7


def test_means_by_two_columns_one_of_few_keys_are_a_strip_each_in_one_order() -> None:
    found = panels(made(two_way("fm", "abcd")))
    assert [panel.form for panel in found] == ["strip", "strip"]
    assert [panel.title for panel in found] == ["mean(age) by sex, ward · sex f", "mean(age) by sex, ward · sex m"]
    assert [panel.names for panel in found] == [("a", "b", "c", "d")] * 2
    assert len({panel.scale.key for panel in found}) == 1


def test_bars_of_a_scale_have_the_edges_between_them_in_place_of_names() -> None:
    edges = ("[0, 5)", "[5, 10)", "[10, 15]")
    axes = figure(made(Answer("histogram(age)", tuple(Cell((("bin", key),), reply(9)) for key in edges)))).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "5", "10", "15"]
    assert list(axes.get_xticks()) == [-0.5, 0.5, 1.5, 2.5]
    assert edges_of(("[0, 5)", "[6, 10)")) == edges_of(("[0, 5)", "a")) == edges_of(()) == []


def test_counts_of_weighted_rows_are_not_called_rows() -> None:
    bins = tuple(Cell((("bin", key),), reply(9)) for key in ("[0, 5)", "[5, 10]"))
    asked = (one("count", reply(9)), one("count weight cost", reply(90)), Answer("histogram(age) weight cost", bins))
    plain, weighed, bars = figure(made(*asked)).axes
    assert (plain.get_xlabel(), weighed.get_xlabel(), bars.get_ylabel()) == ("rows", "weighted rows", "weighted rows")


def test_the_effect_of_a_test_has_its_whole_name_and_its_unit() -> None:
    words = "difference of means (treated less untreated)"
    cells = tuple(Cell((("test", part),), reply(1)) for part in (words, "statistic", "p-value"))
    axes = figure(made(Answer("test(age ~ ward, among=a b)", cells))).axes[0]
    (name,) = axes.get_yticklabels()
    assert name.get_text().replace("\n", " ") == words
    assert axes.get_xlabel() == "age (years)"


def test_a_long_name_of_a_test_is_cut_only_where_it_would_not_fit() -> None:
    cells = tuple(Cell((("test", part),), reply(1)) for part in ("correlation r", "statistic", "p-value"))
    name = "test(age ~ since, kind=correlation)"
    assert name in figure(made(Answer(name, cells))).axes[0].get_title(loc="left")


def test_ticks_of_dates_are_firsts_of_periods_and_their_texts_standapart() -> None:
    day = calendar.DAY
    june = calendar.count("2023-06-10", day)
    assert [calendar.text(tick, day) for tick in date_ticks(june - 40, june, day)] == ["2023-05-01", "2023-06-01"]
    for width in (1.0, 5.5, 40.0, 300.0, 5_000.0, 10.0**7):
        for step in (day, 3_600, 60, 1):
            ticks = date_ticks(june * day / step - width, june * day / step + width, step)
            assert 1 <= len(ticks) <= (4 if step == day else 3)
            assert all(abs(tick - june * day / step) <= width for tick in ticks)


def test_groups_of_a_scale_keep_its_order() -> None:
    years = tuple(Cell((("year(since)", year),), reply(value)) for year, value in ((2020, 3), (2021, 9), (2022, 1)))
    (panel,) = panels(made(Answer("mean(age) by year(since)", years)))
    assert panel.names == ("2020", "2021", "2022")
    (both,) = panels(made(Answer("mean(age) by year(since), ward", years)))
    assert [float(name.rpartition(" ")[2]) for name in both.names] == [2020, 2021, 2022]


def test_groups_of_a_column_of_whole_numbers_keep_their_order() -> None:
    months = tuple(Cell((("month", month),), reply(value)) for month, value in ((1, 3), (2, 9), (3, 1)))
    of = made(Answer("mean(age) by month", months))
    assert [panel.names for panel in panels(of)] == [("1", "2", "3")]  # keys of a list, as declared
    document = of.document
    document["columns"]["month"] = {**document["columns"]["age"], "kind": "integer", "low": "1", "high": "12"}
    assert [panel.names for panel in panels(Certificate.of(document))] == [("1", "2", "3")]


def test_keys_that_were_found_are_sorted_by_their_values() -> None:
    document = made(by("mean(age)", {"a": reply(30), "b": NO_REPLY, "c": reply(50)})).document
    document["columns"] = {**COLUMNS, "ward": {"kind": "text"}}
    (panel,) = panels(Certificate.of(document))
    assert panel.names == ("c", "a", "b")


@pytest.mark.parametrize("name", ["histogram(ward)", "histogram(ward) where age >= 65", "density(ward, low=0, high=9)"])
def test_rows_of_one_column_say_its_name_once(name: str) -> None:
    answer = Answer(name, tuple(Cell((("ward", key),), reply(at)) for key, at in (("a", 30), ("b", 40))))
    assert [row_words(answer, cell) for cell in answer] == ["a", "b"]
    assert str(answer).startswith(f"{name} · a: 30")
    told = made(one("persons", reply(900)), answer)
    assert not any("ward a" in text for text in (page(told), fragment(told), listing(told)))


def test_rows_of_two_columns_say_which() -> None:
    labels = (("age", "0 to 9"),), (("cost", "0 to 5"),), (("site", 1), ("age", "0 to 9"))
    answer = Answer("density(age, cost)", tuple(Cell(label, reply(0.5)) for label in labels))
    assert [row_words(answer, cell) for cell in answer] == ["age 0 to 9", "cost 0 to 5", "site 1 · age 0 to 9"]


def test_rows_of_a_list_of_keys_have_an_axis_of_their_own_and_no_name_of_the_column() -> None:
    listed = Answer("keys(ward)", tuple(Cell((("ward", key),), reply(at)) for key, at in (("a", 30), ("b", 40))))
    release = made(one("persons", reply(900)), listed)
    _, panel = panels(release)
    assert panel.names == ("a", "b")
    assert panel.scale.zero
    first, second = figure(release).axes
    assert first.get_xlim()[0] > second.get_xlim()[1]
    assert [row_words(listed, cell) for cell in listed] == ["a", "b"]
    assert "ward a" not in page(release)
    assert panels(made(one("keys(ward)", NO_REPLY)))[0].names == ("keys(ward)",)


def keyed(name: str, keys: Sequence[str | int], values: Sequence[float]) -> Answer:
    """Counts by one expression, whose keys have these values."""
    column = name.partition(" by ")[2]
    return Answer(name, tuple(Cell(((column, key),), reply(value)) for key, value in zip(keys, values, strict=True)))


@pytest.mark.parametrize(
    ("group", "keys"),
    [
        ('trunc(since, "month")', ["2015-01-01", "2015-02-01", "2015-03-01"]),
        ('trunc(seen, "hour")', ["2015-01-01 05:00", "2015-01-01 06:00", "2015-01-01 07:00"]),
        ("cut(age, 0 18 65 120)", ["[0, 18)", "[18, 65)", "[65, 120]"]),
        ("ages", ["18-25", "26-40", "41+"]),
        ("quarter(since)", [1, 2, 3]),
        ("year(since) * 100 + month(since)", [201501, 201502, 201503]),
    ],
)
def test_dates_their_parts_bins_and_spans_keep_their_order(group: str, keys: list[str | int]) -> None:
    of = made(keyed(f"count by {group}", keys, (3, 9, 1)))
    told = of.document
    told["columns"][group] = {**told["columns"]["age"], "kind": "integer" if isinstance(keys[0], int) else "category"}
    for release in (of, Certificate.of(told)):  # an older certificate states no derived column
        assert [panel.names for panel in panels(release)] == [tuple(map(str, keys))]


def test_counts_of_weeks_do_not_share_the_axis_of_counts_of_months() -> None:
    months, weeks = keyed("count by month(since)", [1, 2], (900, 950)), keyed("count by week(since)", [1, 2], (90, 95))
    first, second = figure(made(months, weeks)).axes
    assert first.get_xlim()[1] > 4 * second.get_xlim()[1]


def test_a_long_name_has_two_lines_and_long_keys_stand_alone() -> None:
    long = "mean(cost) where age >= 50 and ward = 'b'"
    keys: dict[str, Outcome[Estimate]] = {"a": reply(1), "Frontier Airlines Incorporated": reply(2)}
    first, second = panels(made(one(long, reply(1)), by("sum(cost)", keys)))
    assert first.names == ("mean(cost)\nwhere age >= 50 and ward = 'b'",)
    assert second.names == ("a", "Frontier Airlines Incorpora…")
    (axes,) = figure(made(one(long, reply(1)))).axes
    assert [label.get_fontsize() for label in axes.get_yticklabels()] == [6.8]  # two lines within one row


def test_a_figure_of_no_replies_explains_no_dots() -> None:
    assert "dot: answer" not in svg(made(one("median(cost)", NO_REPLY)))
    assert "dot: answer" in svg(made(one("median(cost)", reply(1))))


def test_clips_are_named_by_what_is_written_of_them() -> None:
    def drawn(name: str, width: str) -> str:
        return f'<path clip-path="url(#{name})"/><clipPath id="{name}"><rect width="{width}"/></clipPath>'

    assert drawing._same_names(drawn("pa3", "1.5"), "x") == drawing._same_names(drawn("pb4", "1.5"), "x")
    assert drawing._same_names(drawn("pa3", "1.5"), "x") != drawing._same_names(drawn("pa3", "1.6"), "x")


@pytest.mark.wide
def test_of_many_whole_numbers_in_a_row_the_round_ones_are_named() -> None:
    for first, count, told in (
        (40, 201, [*range(40, 241, 20)]),
        (-7, 60, [*range(-5, 53, 5)]),
        (3, 9, [*range(3, 12)]),
        (0, 401, [*range(0, 401, 50)]),
    ):
        bars = tuple(Cell((("power", first + place),), reply(9)) for place in range(count))
        axes = figure(made(Answer("histogram(power)", bars))).axes[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == [str(key) for key in told]
        assert [int(tick) for tick in axes.get_xticks()] == [key - first for key in told]
    years = tuple(Cell((("power", key),), reply(9)) for key in range(0, 80, 2))
    axes = figure(made(Answer("histogram(power)", years))).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(key) for key in range(0, 80, 8)]


@pytest.mark.parametrize(("column", "label"), [("price (€)", ""), ("price", "`its` price (€)")])
def test_a_label_has_its_unit_once_and_no_marks_of_a_parser(column: str, label: str) -> None:
    from matplotlib.text import Text

    columns = {**COLUMNS, column: {"kind": "real", "unit": "€", "label": label}}
    name = column if column.isidentifier() else f"`{column}`"
    group = Answer("mean(age) by `the ward`", tuple(Cell((("`the ward`", key),), reply(3.0)) for key in "ab"))
    answers = (one(f"mean({name})", reply(2.0)), group, one(f"sd({name}) where `the age` > 2", reply(1.0)))
    shown = [text.get_text() for text in drawing.figure_of(panels_of(answers, columns)).findobj(Text)]
    assert any(text.endswith("price (€)") for text in shown)
    assert not any("(€) (€)" in text or "`" in text for text in shown)


def test_the_title_of_every_panel_ends_within_the_figure() -> None:
    from matplotlib.text import Text

    long = "test(temp_max ~ weather, among=rain sun fog snow)"
    parts = ("difference of means of rain and sun", "statistic", "p-value")
    other = one("mean(cost_of_all_wards_and_of_each_day)", reply(3.0))
    drawn = figure(made(Answer(long, tuple(Cell((("test", what),), reply(34.55)) for what in parts)), other))
    drawn.draw_without_rendering()
    titles = [one for one in drawn.findobj(Text) if isinstance(one, Text) and one.get_text().startswith("test(")]
    assert len(titles) == 1
    assert "p-value" in titles[0].get_text()
    assert titles[0].get_window_extent().x1 <= drawn.bbox.x1


def test_a_cell_prints_like_the_line_of_its_answer() -> None:
    cell = Cell((("ward", "a"),), reply(3.0))
    assert str(cell) == "ward a: 3 (95 % 2 to 4)"
    assert str(Cell((), NO_REPLY)) == "no reply"


def test_long_ticks_of_a_strip_stand_apart_and_short_ones_are_many() -> None:
    """Sums of seven digits ran into each other: seven ticks were asked of every strip."""
    drawn = figure(made(one("sum(income)", reply(1_436_806, 14_604)), one("proportion(g, value=1)", reply(0.5, 0.1))))
    drawn.draw_without_rendering()
    for axes in drawn.axes:
        boxes = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
        assert len(boxes) >= 2
        assert all(left.x1 + 2 < right.x0 for left, right in pairwise(boxes))
    assert len(drawn.axes[1].get_xticks()) > len(drawn.axes[0].get_xticks())


def test_a_p_value_is_not_broken_over_two_lines() -> None:
    panel = Panel(
        "strip", "test(Body mass ~ flipper_length_mm)", PanelScale(()), note="statistic 103.8, p-value ≤ 0.00010"
    )
    assert panel.heading.splitlines()[-1].endswith("p-value ≤ 0.00010)")


@pytest.mark.parametrize(("heaped", "apart"), [(0.012, False), (0.5, True)])
def test_a_single_whole_number_shares_the_axis_unless_it_towers(heaped: float, apart: bool) -> None:
    """The first and the last day stood at the foot of an axis up to 1, and the curve fell to zero beside them."""
    from matplotlib.figure import Figure

    edges = tuple(Fraction(edge) for edge in range(101))
    axis = Axis("day", edges, whole=True, atoms=(Fraction(0),))
    masses = np.full(100, (1.0 - heaped) / 99)
    masses[0] = 0.0
    density = SimpleNamespace(axes=(axis,), masses=masses, boxes=None, atoms=((0.0, heaped),), band=None)
    drawn = Figure()
    curve(density, drawn.add_subplot())
    assert (len(drawn.axes) == 2) is apart
    if apart:
        assert heaped < drawn.axes[1].get_ylim()[1] < 1.2 * heaped
    else:
        (steps,) = drawn.axes[0].patches
        assert steps.get_data().values[0] == heaped  # type: ignore[attr-defined]  # of stairs
