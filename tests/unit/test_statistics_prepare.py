"""What preparing gives: names, guarantees that can be derived again, and refusals before any row is read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import attrs
import pytest

from reticent.data.dates import date, datetime
from reticent.data.query import Keys, Tally
from reticent.data.schema import Column, Person, Schema, category, integer, real, value_words
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP
from reticent.privacy.rederivation import rederive
from reticent.statistics.context import Setting, Step, StepWork, work_of
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.registry import all_statistics

ASKED = [
    "count",
    "persons",
    "sum(x)",
    "mean(x)",
    "mean(x, per=person)",
    "mean(free, low=0, high=10)",
    "mean(x, interval=no)",
    "variance(x)",
    "sd(n)",
    "proportion(g, value=2)",
    "proportion(yes, value=yes)",
    "proportion(n, value=3)",
    "histogram(x, edges=0:100:10)",
    "histogram(g)",
    "median(x)",
    "median(free)",
    "median(x, per=person)",
    "quantiles(n, 0.25 0.75)",
    "iqr(x)",
    "iqr(free, low=0, high=60)",
    "median(x, interval=no)",
]
KINDS: list[Kind] = ["add_remove", "substitute"]


def schema(kind: Kind, rows: int = 1) -> Schema:
    return Schema(
        {
            "x": real(0, 100, missing=0),
            "n": integer(0, 50),
            "free": real(),
            "g": category([1, 2, 3]),
            "yes": category(["no", "yes"]),
        },
        Person(kind, column=None if rows == 1 else "who", rows=rows),
    )


def setting(kind: Kind, rows: int = 1, *, keyed: bool = False, units: int | None = None) -> Setting:
    keys = Keys("g", (1, 2, 3), min(3, rows)) if keyed else None
    return Setting(schema(kind, rows), 100_000 if kind == "substitute" else units, keys)


def loss(step: Step) -> Fraction:
    found = step.guarantee.loss
    assert isinstance(found, PureDP)
    return found.epsilon


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ASKED)
def test_a_step_costs_what_it_was_given_and_its_proof_can_be_repeated(
    text: str, kind: Kind, rows: int, keyed: bool
) -> None:
    asked = parse(text)
    here = setting(kind, rows, keyed=keyed)
    epsilon = Fraction(8, 10)
    step = prepare(asked, here, epsilon)
    public = kind == "substitute" and not keyed and (text == "persons" or (text == "count" and rows == 1))
    assert loss(step) == (0 if public else epsilon)
    assert step.guarantee.adjacency == here.neighbours
    assert rederive(step.guarantee, axiom_again) == step.guarantee.loss
    assert step.name == (f"{asked.name} by g" if keyed else asked.name)


def test_the_share_of_capped_people_costs_what_it_was_given() -> None:
    step = prepare(parse("capped"), setting("add_remove", 5), Fraction(1, 20))
    assert loss(step) == Fraction(1, 20)
    with pytest.raises(QuestionError, match="there is no cap"):
        prepare(parse("capped"), setting("add_remove"), Fraction(1))


@pytest.mark.parametrize(
    ("column", "edges", "ends"),
    [
        (integer(0, 120), tuple(range(122)), "[0, 120]"),
        (integer(1, 128), tuple(range(1, 130)), "[1, 128]"),
        (integer(0, 128), (*range(0, 121, 10), 128), "[0, 128]"),
        (integer(0, 400), tuple(range(0, 401, 20)), "[0, 400]"),
        (integer(-60, 1440), (-60, *range(0, 1401, 100), 1440), "[-60, 1440]"),
        (real(0, 1), tuple(Fraction(place, 20) for place in range(21)), "[0, 1]"),
        (
            real("-3.5", "4.2"),
            (Fraction("-3.5"), *(Fraction(place, 2) for place in range(-6, 9)), Fraction("4.2")),
            "[-3.5, 4.2]",
        ),
    ],
    ids=["ages", "128 values", "129 values", "401 values", "odd ends", "unit", "round"],
)
def test_numbers_with_bounds_have_bins_of_their_own(
    column: Column, edges: tuple[int | Fraction, ...], ends: str
) -> None:
    """A bin for each of 128 integers, else 8 to 20 of a round width; the caveat names the bounds."""
    step = prepare(parse("histogram(n)"), Setting(Schema({"n": column}, Person("add_remove")), None), Fraction(1))
    (query,) = step.queries
    assert isinstance(query, Tally)
    assert query.edges == tuple(map(Fraction, edges))
    assert step.guarantee.loss == PureDP(Fraction(1))
    assert f"values of n outside {ends} count in the nearer end bin" in getattr(step, "caveats", ())


@pytest.mark.parametrize(
    ("first", "last", "bins", "second"),
    [
        ("2024-01-01", "2024-01-10", 10, "2024-01-02"),  # each day has its bin
        ("2024-01-03", "2024-03-03", 9, "2024-01-08"),
        ("2024-01-03", "2024-06-30", 26, "2024-01-08"),
        ("2023-01-01", "2025-01-01", 24, "2023-02-01"),
        ("2020-02-15", "2026-12-31", 28, "2020-04-01"),
        ("2000-01-01", "2024-06-30", 25, "2001-01-01"),
        ("1925-01-01", "2024-06-30", 20, "1930-01-01"),
        ("0001-01-01", "9999-12-31", 10, "1000-01-01"),
        ("2024-01-01T10:00", "2024-01-03T12:00", 3, "2024-01-02T00:00:00"),
    ],
    ids=["days", "nine weeks", "weeks", "months", "quarters", "years", "five years", "all years", "times"],
)
def test_dates_with_bounds_have_bins_of_whole_periods(first: str, last: str, bins: int, second: str) -> None:
    column = datetime(first, last) if "T" in first else date(first, last)
    step = prepare(parse("histogram(n)"), Setting(Schema({"n": column}, Person("add_remove")), None), Fraction(1))
    (query,) = step.queries
    assert isinstance(query, Tally)
    assert len(query.edges) == bins + 1
    assert value_words(query.edges[1], column) == second
    assert value_words(query.edges[0], column).startswith(first)
    assert "T00:00" not in str(getattr(step, "labels", ())[1:])


def test_numbers_without_bounds_need_edges() -> None:
    for column in (integer(), real()):
        with pytest.raises(QuestionError, match="Numbers with bounds need none"):
            prepare(parse("histogram(n)"), Setting(Schema({"n": column}, Person("add_remove")), None), Fraction(1))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mean(free)", "mean(free) needs a range known without looking at the file: [columns.free] low = …, high = …."),
        ("sum(free)", "Nothing was charged."),
        ("mean(g)", "g is a category. Ask for proportion or histogram."),
        ("median(g)", "g is a category"),
        ("mean(xx)", "There is no column 'xx'. Did you mean x? Declared columns: x, n, free, g, yes."),
        ("proportion(x)", "needs a category or whole numbers"),
        ("proportion(n)", "Which share? proportion(n, value=…) with a whole number"),
        ("proportion(n, value=1.5)", "'1.5' is no whole number"),
        ("proportion(g, value=9)", "'9' is not one of the values of g: 1, 2, 3."),
        ("histogram(free)", "needs edges known without looking at the file"),
        ("histogram(g, edges=0 1)", "has no edges"),
        ("mean(n, low=0.5, high=3)", "low and high must be integers"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(QuestionError) as caught:
        prepare(parse(text), setting("add_remove"), Fraction(1))
    assert says in str(caught.value)


def test_a_share_needs_one_value_that_means_yes() -> None:
    unclear = Schema({"g": category([2, 3])}, Person("add_remove"))
    with pytest.raises(QuestionError, match="Which share"):
        prepare(parse("proportion(g)"), Setting(unclear, None), Fraction(1))
    for among in ([1, 2], [1], [0, 1, 2], ["a", "1"]):  # codes: 1 says nothing there
        coded = Schema({"g": category(among)}, Person("add_remove"))
        with pytest.raises(QuestionError, match="Which share"):
            prepare(parse("proportion(g)"), Setting(coded, None), Fraction(1))


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (category([0, 1]), "1"),
        (category([True, False]), "true"),
        (category(["no", "Yes"]), "Yes"),
        (category(["yes", "no", "unknown"]), "yes"),
        (integer(0, 1), "1"),
    ],
)
def test_a_share_that_nobody_named_is_named_by_its_answer(declared: Column, value: str) -> None:
    plain = Setting(Schema({"g": declared, "h": category(["a", "b"])}, Person("add_remove")), None)
    share = prepare(parse("proportion(g)"), plain, Fraction(1))
    assert share.name == f"proportion(g, value={value})"
    assert share.estimand == f"population share of g = {value}"
    assert parse(share.name).name == share.name
    compared = prepare(parse("test(g ~ h, kind=proportions)"), plain, Fraction(1))
    assert compared.name == f"test(g ~ h, kind=proportions, value={value})"


def test_every_share_of_one_value_is_settled_by_the_schema() -> None:
    shares = [kind for kind in all_statistics() if "value" in attrs.fields_dict(kind)]
    assert {kind.verb for kind in shares} == {"proportion", "test"}
    assert all("value" in kind.settles for kind in shares)


@pytest.mark.parametrize("text", ["quantile(x, 0.999)", "median(x)", "iqr(x)"])
def test_a_quantile_that_declared_people_cannot_support_is_refused_before(text: str) -> None:
    few = setting("add_remove", units=200)
    with pytest.raises(QuestionError, match="would be a guess"):
        prepare(parse(text), few, Fraction(1, 20))
    prepare(parse(text), setting("add_remove"), Fraction(1, 20))  # n private: nothing can be said beforehand


def test_epsilon_must_be_exact_and_positive() -> None:
    with pytest.raises(PublicParameterError):
        prepare(parse("count"), setting("add_remove"), 0.1)  # type: ignore[arg-type]
    with pytest.raises(PublicParameterError):
        prepare(parse("count"), setting("add_remove"), Fraction(0))


def test_bounds_and_caps_are_said_beside_the_number() -> None:
    step = prepare(parse("mean(x)"), setting("add_remove", 5), Fraction(1))
    assert "values of x outside [0, 100] count as the nearer bound" in getattr(step, "caveats")  # noqa: B009
    assert any("at most 5 rows of each person" in text for text in getattr(step, "caveats"))  # noqa: B009


WORK = {
    "mean(x)": StepWork(half_widths=1),
    "mean(x, method=clipped)": StepWork(half_widths=5),
    "median(x)": StepWork(sorts=True, half_widths=3),
    "quantiles(x, 0.1 0.5 0.9, method=joint)": StepWork(sorts=True, half_widths=5),
    "iqr(x, method=joint)": StepWork(sorts=True, half_widths=12),
    "regress(x ~ n, method=robust)": StepWork(pairs=True),
    "regress(x ~ n)": StepWork(),
    "test(x ~ yes)": StepWork(simulates=True),
    "density(x, method=histogram)": StepWork(),
    "density(x, n)": StepWork(searched=2),
}


@pytest.mark.parametrize("text", WORK)
def test_a_step_tells_the_work_that_its_plan_forecasts(text: str) -> None:
    given = replace(setting("add_remove", units=10_000), delta=Fraction(1, 10**7))
    assert work_of(prepare(parse(text), given, Fraction(4))) == WORK[text]


def test_a_step_of_an_extension_needs_no_work() -> None:
    assert work_of(object()) == StepWork()  # type: ignore[arg-type]
