"""The grammar of questions."""

from __future__ import annotations

from fractions import Fraction

import pytest

import reticent as rt
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import ask

SAME = [
    "count",
    "persons",
    "capped",
    "sum(x)",
    "mean(mdvis)",
    "mean(x, per=person)",
    "mean(x, low=0, high=60)",
    "mean(x, interval=no)",
    "variance(x)",
    "sd(x, low=-1.5, high=2)",
    "proportion(hlthg, value=1)",
    "median(disea)",
    "quantile(x, 0.9)",
    "quantiles(x, 0.1 0.5 0.9)",
    "histogram(mdvis, edges=0:50:5)",
    "histogram(x, edges=0 1 10)",
    "histogram(site)",
    "iqr(disea, low=0, high=60)",
    "iqr(x, low=0, high=60, per=person, interval=no)",
    "mean(x, method=clipped, low=0, high=60)",
    "mean(x, method=clipped, tail=normal)",
    "mean(x, method=clipped, tail=2.5)",
    "log_mean(x)",
    "geometric_mean(x, low=0.1, high=60, per=person)",
    "mean(x, method=coinpress, centre=-1.5, radius=1000, deviation=2, per=person)",
    "quantiles(x, 0.9 0.1, method=joint, interval=no)",
    "iqr(x, method=separate)",
    "trimmed_mean(x, trim=0.2, method=inverse, per=person)",
    "location(x, bend=1.5)",
]


@pytest.mark.parametrize("text", SAME)
def test_a_name_reads_back_to_the_same_question(text: str) -> None:
    asked = parse(text)
    assert asked.name == text
    assert asked.groups is None
    assert parse(asked.name) == asked


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Count ", "count"),
        ("count()", "count"),
        ("MEAN( x )", "mean(x)"),
        ("quantile(x, level=0.9)", "quantile(x, 0.9)"),
        ("quantiles(x, 0.1, 0.5, 0.9)", "quantiles(x, 0.1 0.5 0.9)"),
        ("quantiles(x, levels=0.1, 0.9)", "quantiles(x, 0.1 0.9)"),
        ("quantile(x, 1/4)", "quantile(x, 0.25)"),
        ("histogram(x, edges=0, 1, 10)", "histogram(x, edges=0 1 10)"),
        ("histogram(x, edges=0:1:0.25)", "histogram(x, edges=0:1:0.25)"),
        ("proportion(q, value='yes')", "proportion(q, value=yes)"),
        ("trimmed_mean(x, 0.2)", "trimmed_mean(x, trim=0.2)"),
        ("location(x, 2)", "location(x)"),
        ("quantiles(x, [0.25, 0.5])", "quantiles(x, 0.25 0.5)"),
        ("quantiles(x, (0.25, 0.5), low=0, high=9)", "quantiles(x, 0.25 0.5, low=0, high=9)"),
        ("quantiles(x, levels=(0.25 0.5))", "quantiles(x, 0.25 0.5)"),
        ("quantile(x, [0.5])", "quantile(x, 0.5)"),
        ("scale(x, [0.1, 0.9])", "scale(x, 0.1 0.9)"),
        ("histogram(x, edges=(0, 1, 10))", "histogram(x, edges=0 1 10)"),
        ("histogram(x, [0, 1, 10])", "histogram(x, edges=0 1 10)"),
        ("histogram(x, 0:50:5)", "histogram(x, edges=0:50:5)"),
        ("histogram(x, edges=[0:50:5])", "histogram(x, edges=0:50:5)"),
        ("density(x, atoms=(0, missing))", "density(x, atoms=0 missing)"),
        ("test(x ~ g, among=('a', \"b\"), kind='means')", "test(x ~ g, kind=means, among=a b)"),
        ("count by [g, h]", "count by g, h"),
        ("count by (g, h)", "count by g, h"),
        ("count by (g = 'a')", "count by (g = 'a')"),
        ("count where g in ['a', 'b']", 'count where g in ("a", "b")'),
    ],
)
def test_other_spellings_mean_the_same(text: str, name: str) -> None:
    assert parse(text).name == name


def test_a_question_may_name_its_groups_and_its_share() -> None:
    asked = parse("mean(mdvis, epsilon=0.1) by site")
    assert asked.groups == "site"
    assert asked == rt.mean("mdvis").by("site").at("0.1")
    assert asked.epsilon == Fraction(1, 10)
    assert parse("count by site") == rt.count().by("site")


def test_a_step_range_includes_its_end() -> None:
    asked = parse("histogram(mdvis, edges=0:50:5)")
    assert asked == ask(rt.histogram("mdvis", edges=range(0, 51, 5)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("meen(x)", "Did you mean mean?"),
        ("average(x)", "Did you mean mean?"),
        ("stddev(x)", "Did you mean sd?"),
        ("mean(x, lo=3)", "Did you mean low?"),
        ("mean(x, per=persn)", "Did you mean person?"),
        ("mean", "mean of which column?"),
        ("mean()", "mean of which column?"),
        ("mean(x, y)", "one too many"),
        ("regress(y ~ a, b)", "Write regress(y ~ a + b)."),
        ("quantile(x)", "which level?"),
        ("count(x)", "count takes no column. Write count, or count where x is not missing."),
        ("count(*)", "count takes no column. Write count."),
        ("sum(x) / count", "compares answers. Ask each, or one by group, and then, at no charge, release.ratio"),
        ("difference(mean(x), mean(y))", "compares answers. Ask each, or one by group,"),
        ("ratio(mean(x) by g)", "on the command line: reticent compare."),
        ("mean(x)-mean(y)", "compares answers"),
        ("count(distinct x)", "Write persons for the number of different persons, or count by g"),
        ("persons(x)", "persons takes no column. Write persons."),
        ("count(edges=3)", "There is no option of count 'edges'"),
        ("proportion(g = a)", "Write for example: proportion(g, value=a)."),
        ("mean(x, low=0, low=1)", "given twice"),
        ("mean(x,, low=0)", "empty place"),
        ("mean(low=0, x)", "must stand before"),
        ("histogram(x, edges=0:50)", "three numbers"),
        ("histogram(x, edges=0:50:7)", "do not reach 50. Write edges=0:49:7 or edges=0:56:7"),
        ("histogram(x, edges=0.5:1:2)", "do not reach 1. Write edges=0.5:2.5:2"),
        ("histogram(x, edges=50:0:5)", "start below stop"),
        ("histogram(x, edges=0:1e12:1)", "bins"),
        ("SELECT * FROM t", "Rows cannot be released"),
        ("*", "Rows cannot be released"),
        ("mean(x", "cannot be read"),
        ("", "cannot be read"),
        ("mean(x) by", "cannot be read"),
        ("mean(x, interval=maybe)", "interval"),
        ("mean(x, method=cliped)", "Did you mean clipped?"),
        ("mean(x, method=coinpress, centre=0, radius=5)", "come together"),
        ("mean(x, method=coinpress, center=0)", "Did you mean centre?"),
        ("huber(x)", "Did you mean location?"),
        ("quantile(x, [0.5, 0.9])", "quantiles(x, 0.5 0.9)"),
        ("count by g keys=['a', 'b']", "among = ['a', 'b']"),
        ("count where g in ('a', 'b']", ") is expected"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_hint(text: str, says: str) -> None:
    with pytest.raises(QuestionError) as caught:
        parse(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "quantile(x, 0)",
        "quantile(x, 1)",
        "quantile(x, 1.5)",
        "quantile(x, 0.1234567)",
        "quantiles(x, 0.5 0.5)",
        "mean(x, low=1)",
        "mean(x, low=2, high=1)",
        "mean(x, epsilon=0)",
        "mean(x, epsilon=much)",
        "histogram(x, edges=1 1)",
        "histogram(x, edges=1)",
    ],
)
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(PublicParameterError):
        parse(text)


def test_what_coinpress_is_told_reads_back() -> None:
    asked = parse("mean(x, method=coinpress, centre=0, radius=1000, deviation=0.5, delta=1e-9)")
    assert asked == rt.mean("x", method=rt.CoinPress(centre=0, radius=1000, deviation=0.5)).at(delta="1e-9")
    assert "delta" not in asked.name


def test_constructors_read_floats_by_their_shortest_text() -> None:
    assert rt.quantile("x", 0.9).levels == (Fraction(9, 10),)
    assert rt.iqr("x", low=0, high=60.5).high == Fraction(121, 2)
    with pytest.raises(PublicParameterError):
        rt.mean("x").at(0.1 + 0.2)
    with pytest.raises(QuestionError):
        rt.quantiles("x", "0.1 0.5")


@pytest.mark.parametrize(
    "text",
    [
        "count",
        "mean(cost) where age >= 65 by ward, month(admitted)",
        "mean(cost, per=person) where age < 18",
        'mean(cost, epsilon=1/3) weight w where ward in ("north", "south") by ward with totals',
        "count by drug keys=found at_least=20 groups=2",
        "regress(cost ~ age) where admitted >= 2024-02-29",
    ],
)
def test_a_question_is_printed_in_python_as_the_text_reads_it(text: str) -> None:
    asked = parse(text)
    assert repr(asked) == str(asked) == text
    assert parse(repr(asked)) == asked
    assert repr(asked.statistic) == asked.statistic.name


def test_python_spells_the_parts_of_a_date_that_make_groups() -> None:
    admitted, age = rt.col("admitted"), rt.col("age")
    asked = rt.mean("cost").where(age >= 65).by("ward", rt.month("admitted"))
    assert repr(asked) == "mean(cost) where age >= 65 by ward, month(admitted)"
    pairs = [
        (rt.year("admitted"), admitted.year()),
        (rt.quarter("admitted"), admitted.quarter()),
        (rt.month(admitted), admitted.month()),
        (rt.week("admitted"), admitted.week()),
        (rt.weekday("admitted"), admitted.weekday()),
        (rt.hour("admitted"), admitted.hour()),
        (rt.trunc("admitted", "month"), admitted.trunc("month")),
        (rt.cut("age", range(0, 101, 10)), age.cut([*range(0, 101, 10)])),
    ]
    for short, long in pairs:
        assert short.tree == long.tree
