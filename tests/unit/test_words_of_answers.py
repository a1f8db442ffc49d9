"""What tests of hypotheses and sessions answer, as people see it printed."""

from __future__ import annotations

import csv
import io
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.certificate.render.figure import svg
from reticent.certificate.render.listing import HANGING, folded, listing
from reticent.certificate.render.notes import lines_of, notes
from reticent.certificate.render.page import fragment, page
from reticent.certificate.render.tables import sheet
from reticent.certificate.render.workbook import workbook
from reticent.cli import layout
from reticent.data.schema import Integer, Real
from reticent.errors import QuestionError
from reticent.ledger import Ledger
from reticent.outcome import NO_REPLY, Estimate, Reply, shown
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.sessions.above_threshold import Above, Below
from reticent.sessions.holdout import Checked
from reticent.sessions.leaderboard import Standing
from reticent.statistics.answer import Answer, Cell, group_words
from reticent.study.release import Release
from reticent.study.release_files import table
from tests.unit.test_certificate_example import document

ESTIMATE = Estimate(0.28356261771202684, 0.26693280633918026, 0.3001924290848734, 0.005, 0.011)


@pytest.fixture(scope="module")
def made() -> Release:
    rows = np.random.default_rng(1)
    study = rt.study(
        {"age": rows.integers(18, 91, 500), "sex": rows.choice(["f", "m"], 500)},
        adjacency="add_remove",
        columns={"age": rt.integer(18, 90), "sex": rt.category(["f", "m"])},
        budget=5,
    )
    return study.release([rt.test("age ~ sex"), rt.test("age"), rt.count()], epsilon=3)


@pytest.mark.wide
def test_the_statistic_of_a_test_has_no_interval_wherever_it_is_printed(made: Release) -> None:
    effect, statistic, p = made["test(age ~ sex)"]
    assert statistic.as_it_is
    assert not effect.as_it_is
    assert p.as_it_is
    named = {line.split("  ")[1]: line for line in repr(made).splitlines() if line.startswith("  ")}
    assert " to " in named["difference of means (f less m)"]
    assert named["statistic"].split()[2:] == ["–"] * 3
    assert named["p-value"].replace("≤ ", "").split()[2:] == ["–"] * 3
    rows = [row for row in csv.DictReader(io.StringIO(sheet(made.certificate))) if row["name"] == "test(age ~ sex)"]
    assert [bool(row["low"]) for row in rows] == [True, False, False]
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(workbook(made.certificate)))
    assert [row[3] is None for row in book["test(age ~ sex)"].values] == [False, False, True, True]
    frame: Any = made.frame()
    assert frame.column("low").null_count == 4  # statistic and p-value of two tests
    assert "95 %" not in str(made["test(age ~ sex)"]).splitlines()[1]
    assert layout.numbers(statistic)[1] == "–"
    assert layout.numbers(effect)[1] != "–"
    for text in (page(made.certificate), fragment(made.certificate)):
        row = text.partition(">statistic<" if ">statistic<" in text else "· statistic<")[2].partition("</tr>")[0]
        assert "<td" in row
        assert " to " not in row


def test_the_parts_of_a_test_are_named_without_the_name_of_their_axis(made: Release) -> None:
    answer = made["test(age ~ sex)"]
    assert [group_words(answer, cell) for cell in answer] == [
        "difference of means (f less m)",
        "statistic",
        "p-value",
    ]
    assert "test p-value" not in page(made.certificate)
    assert "test(age ~ sex) · statistic:" in str(made["test(age ~ sex)"])


def test_a_caveat_names_its_answers_and_stands_once(made: Release) -> None:
    found = made.certificate.caveats
    assert len(set(found)) == len(found)
    for answer in made.answers:
        for text in answer.caveats:
            (line,) = [one for one in found if one.endswith(text)]
            assert answer.name in line.removesuffix(text)
    printed = " ".join(str(made).split())
    assert all(f"{name}: {text}" in printed for name, text in lines_of(made.certificate))
    assert all(text in printed for text in notes(made.certificate).whole)


@pytest.mark.parametrize(("p", "said"), [((1e-4, 0.0, 3.7e-4), "≤ 0.00010"), ((2e-4, 1e-5, 6e-4), "0.00020")])
def test_a_p_value_that_no_simulated_table_reached_is_at_most_its_floor(
    p: tuple[float, float, float], said: str
) -> None:
    answer = Answer(
        "test(age ~ sex)",
        tuple(
            Cell((("test", part),), Reply(Estimate(*ends, 0.0, 0.0)))
            for part, ends in (("difference", (1.0, 0.5, 1.5)), ("statistic", (9.0, 9.0, 9.0)), ("p-value", p))
        ),
    )
    of = Certificate.of({**document(), "answers": [answer_to_json(answer)]})
    assert str(answer).splitlines()[-1] == f"test(age ~ sex) · p-value: {said}"
    assert f"p-value {said}" in " ".join(listing(of).split())
    assert f"p-value {said}" in svg(of)
    for text in (page(of), fragment(of), sheet(of)):
        assert said in text
        assert ("≤ 0.0" in text) == said.startswith("≤")
    assert layout.numbers(answer.cells[-1])[0] == said


NOT_TOLD = "how many rows have {} is not told, as it would be known to no better than ± 10 %: they are left out"


def test_what_an_estimand_says_of_rows_is_not_said_again_and_stands_once() -> None:
    """The rows that count are named by the estimand; how many do not is said once for all answers that share it."""

    def told(*answers: tuple[str, str]) -> str:
        found = [
            Answer(f"mean({place})", (Cell((), Reply(ESTIMATE)),), (caveat,), estimand=f"mean of {place}{among}")
            for place, (among, caveat) in enumerate(answers)
        ]
        return listing(Certificate.of({**document(), "answers": [answer_to_json(answer) for answer in found]}))

    readable = [f", among rows with a readable {name}" for name in "abc"]
    text = " ".join(told(*((among, NOT_TOLD.format(among[-1])) for among in readable)).split())
    assert (
        "how many rows lack a readable value and are left out is not told, as it would be known to no better than "
        in text
    )
    assert text.count("is not told") == 1
    one = " ".join(
        told(
            (readable[0], NOT_TOLD.format("a")), (readable[1], "at most 2 % of rows have b: they are left out")
        ).split()
    )
    assert (
        "0: mean of 0, among rows with a readable a; how many rows lack a readable value and are left out is not told"
        in one.replace("mean(0)", "0")
    )
    assert "among rows with a readable b; at most 2 % of rows lack a readable value and are left out" in one
    for kept in ("3 % ± 1 % of rows have a missing a: they are left out, but for b 2 stands in", "anything"):
        assert kept in " ".join(told((readable[0], kept), ("", "")).split())
    alone = "2 % ± 1 % of rows have a missing a: they are left out (told by r-1 of this snapshot, not charged again)"
    assert alone in " ".join(told(("", alone), ("", "")).split())
    unlisted = "2 % of rows have a missing or unlisted a: they are left out"
    said = "2 % of rows lack a value that is listed letter by letter and are left out"
    assert said in " ".join(told((readable[0], unlisted), ("", "")).split())
    both = unlisted.replace("a missing or unlisted a", "a missing or unreadable b, or a missing or unlisted a")
    said = "2 % of rows lack a readable value, or one that is listed letter by letter, and are left out"
    assert said in " ".join(told((readable[0], both), ("", "")).split())
    again = " ".join(told((readable[0], alone), ("", "")).split())
    assert (
        "a; 2 % ± 1 % of rows lack a readable value and are left out (told by r-1 of this snapshot, not charged again)"
        in again
    )


def test_no_name_stands_before_a_caveat_of_every_answer_or_of_the_release() -> None:
    def told(*of: tuple[str, ...], release: tuple[str, ...] = ()) -> tuple[str, ...]:
        asked = [Answer(f"mean({place})", (Cell((), Reply(ESTIMATE)),), texts) for place, texts in enumerate(of)]
        answers = [answer_to_json(answer) for answer in asked]
        return Certificate.of({**document(), "answers": answers, "caveats": list(release)}).caveats

    assert told(("a",)) == told(("a",), ("a",)) == told(("a",), ("a",), release=("a",)) == ("a",)
    assert told(("a",), ()) == told(("a",), (), release=("a",)) == ("mean(0): a",)
    assert told((), (), release=("a",)) == ("a",)
    assert told(("a", "b"), ("b", "c")) == ("mean(0): a", "b", "mean(1): c")
    assert told(*[("a",)] * 6, ()) == ("mean(0), mean(1), mean(2), mean(3) and 2 more: a",)


def test_only_the_effect_of_a_test_has_a_bar_in_a_notebook(made: Release) -> None:
    assert fragment(made.certificate).count("<svg") == 3  # two effects and the count


def test_the_answers_of_sessions_are_printed_in_words() -> None:
    assert str(Above(ESTIMATE)) == "above: 0.284 (95 % 0.266 to 0.301)"
    assert str(Above(None)) == "above"
    assert str(Below()) == "below"
    assert str(Checked(0.51234, "training", None)) == "0.5123, by the training rows"
    blind = "0.6, as claimed: the holdout's mean is within ±0.31 at 95 %"
    assert str(Checked(0.6, "claim", None, 0.3123)) == blind
    assert str(Checked(0.28, "holdout", ESTIMATE)) == "0.284 (95 % 0.266 to 0.301), by the holdout rows"
    assert str(Standing(True, 0.28, ESTIMATE)) == "improved: 0.284 (95 % 0.266 to 0.301)"
    assert str(Standing(False, 0.28, None)) == "no step above the best, 0.28"


def test_a_loss_and_a_ledger_are_printed_in_words() -> None:
    ledger = Ledger.create(None, title="t", adjacency=Adjacency("add_remove"), budget=PureDP(Fraction(4)))
    ledger.reserve(PureDP(Fraction(1, 4)), adjacency=Adjacency("add_remove"), what="x", who="w", purpose="")
    assert str(ledger.left()) == "ε 3.75"
    assert str(ledger) == "the ledger in memory: ε 0.25 spent, ε 3.75 left"
    assert repr(ledger.left()) == "PureDP(epsilon=Fraction(15, 4))"


def test_how_one_of_several_answers_was_drawn_is_told_with_its_name() -> None:
    study = rt.study({"x": [0.5] * 900}, adjacency="add_remove", columns={"x": rt.real()}, budget=5)
    found = study.release(["iqr(x)", "mean(x, method=clipped)"], epsilon=2).certificate.caveats
    assert "iqr(x): by joint exponential mechanisms" in found
    assert "by joint exponential mechanisms" not in found
    assert "by joint exponential mechanisms" in study.release(["iqr(x)"], epsilon=1).certificate.caveats


@given(
    st.floats(-1e17, 1e17),
    st.floats(1e-9, 1e9),
    st.floats(0, 1),
)
def test_a_printed_interval_holds_the_one_that_was_drawn(value: float, half: float, lean: float) -> None:
    """It is wider by less than a unit of its last digit at each end, wherever it is printed."""
    low, high = value - half * lean, value + half * (1 - lean)
    text = shown(Estimate(value, low, high, half / 2, 0.0))
    printed_low, printed_high = (Fraction(end.replace(",", "")) for end in (text.low, text.high))
    assert printed_low <= Fraction(repr(low))
    assert printed_high >= Fraction(repr(high))
    sixth = Fraction(10) ** (math.floor(math.log10(max(map(abs, (value, low, high))))) - 5)
    last = max(
        Fraction(half) / 5, min(sixth, Fraction(1))
    )  # a unit of the second digit of the width, or of the sixth of all
    assert (
        printed_high - printed_low
        <= Fraction(repr(high)) - Fraction(repr(low)) + 2 * last + abs(Fraction(value)) / 10**15
    )


@given(st.floats(-1e5, 1e5), st.floats(0, 1e-4), st.floats(0, 1), st.floats(0, 1))
def test_no_number_has_more_than_six_digits_for_its_fraction(
    value: float, part: float, lean: float, noise: float
) -> None:
    """A value among ties has an interval as narrow as its grid, which is worth no digit to a reader."""
    half = abs(value) * part
    text = shown(Estimate(value, value - half * lean, value + half * (1 - lean), half * noise, 0.0))
    if abs(value) >= 1:
        for printed in (text.value, text.low, text.high):
            digits = re.sub("[^0-9]", "", printed).lstrip("0")
            assert len(digits) <= 6 + digits.startswith("10") or "." not in printed, printed  # 9.99999 and up
        assert "e" not in text.noise


def test_the_median_of_ties_is_printed_short() -> None:
    assert str(Estimate(14.0, 13.99999237, 14.0000077, 3.9e-6, 3.6e-6)) == "14.0000 (95 % 13.9999 to 14.0001)"
    assert shown(Estimate(14.0, 13.99999237, 14.0000077, 3.9e-6, 3.6e-6)).noise == "<0.0001"
    assert str(Estimate(14.0, 14.0, 14.0, 0.0, 0.0)) == "14 (95 % 14 to 14)"


def test_terminal_and_page_print_the_same_numbers(made: Release) -> None:
    shown_page = page(made.certificate)
    for answer in made.answers:
        for cell in answer:
            assert isinstance(cell.outcome, Reply)
            value, between, *_ = layout.numbers(cell)
            assert value in str(answer)
            assert value.replace("-", "−", 1) in shown_page
            if between != "–":
                assert between in str(answer)
                assert " to ".join(end.replace("-", "−", 1) for end in between.split(" to ")) in shown_page


def test_a_release_is_printed_as_a_table_under_its_groups() -> None:
    groups = Answer("mean(x) by site", tuple(Cell((("site", key),), Reply(ESTIMATE)) for key in range(50)))
    silent = Answer("a name of more than forty-four characters (" + "x" * 30 + ")", (Cell((), NO_REPLY),))
    asked = [Answer("count", (Cell((), Reply(Estimate(1000, 990, 1010, 10, 0))),)), groups, silent]
    lines = listing(
        Certificate.of({**document(), "answers": [answer_to_json(answer) for answer in asked]})
    ).splitlines()
    assert lines.pop(0).split() == ["half-widths:"]
    assert lines[0].split() == ["answer", "95", "%", "interval", "noise", "sampling"]
    assert lines[1].split("  ")[0] == "count"
    assert lines[2] == "mean(x) by site"
    assert lines[3].startswith("  site 0 ")
    assert {len(line) for line in lines[3:43]} == {len(lines[3])}  # columns stand under one another
    assert lines[43:45] == ["  … 10 more: frame() has all", silent.name]
    assert lines[45].split() == ["no", "reply"]
    assert all(len(line) <= 80 for line in lines)


def test_a_label_forges_no_line() -> None:
    rows = {"site": ["a\nmean(x)  5 (95 % 4 to 6)", "b"] * 50}
    study = rt.study(rows, adjacency="add_remove", columns={"site": rt.category(rows["site"][:2])}, budget=1)
    made = study.release([rt.histogram("site")], epsilon=1)
    for text in (str(made), str(made.answers[0])):
        assert not any(line.startswith("mean(x)") for line in text.splitlines())


def test_no_line_of_a_printed_release_ends_between_a_number_and_its_sign() -> None:
    for width in range(40, 70):
        text = " ".join(["x" * width, "at most 3 % of (ε 3, δ 1e-8) in [0, 2000], 1 in 26"])
        lines = [line.strip() for line in folded("note".ljust(HANGING), text)]
        assert not any(re.search(r"( \d| ε|,| 1| 1 in)$", line) for line in lines)
        assert " ".join(lines).removeprefix("note").split() == text.split()


def test_a_frame_of_no_replies_has_the_columns_of_one_with_numbers() -> None:
    silent, told = Answer("iqr(x)", (Cell((), NO_REPLY),)), Answer("mean(x)", (Cell((), Reply(ESTIMATE)),))
    none, both = table([silent]), table([silent, told])
    assert none.schema == table([told]).schema.set(8, none.schema.field(8))  # an empty share has no type of its own
    assert none.column_names == both.column_names
    assert none.column("value").to_pylist() == [None]
    assert both.column("low").to_pylist() == [None, ESTIMATE.low]


def test_the_estimand_of_a_test_of_persons_says_that_each_counts_once() -> None:
    """It stood among the caveats."""
    rows = {"x": [1.0] * 40, "p": [i % 20 for i in range(40)], "g": ["a", "b"] * 20}
    columns: dict[str, Any] = {"x": rt.real(0, 3), "g": rt.category(["a", "b"])}
    for more, said in (({"person": "p", "rows_each": 2}, True), ({}, False)):
        study = rt.study(rows, adjacency="add_remove", columns=columns, budget="9", **more)  # type: ignore[arg-type]
        answer = study.release(["test(x ~ g)"], epsilon="1")["test(x ~ g)"]
        assert ("in the population, each person counting once in a group" in answer.estimand) is said
        assert not any("counts once" in text for text in answer.caveats)


def test_the_mark_of_a_note_does_not_read_as_a_number() -> None:
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget="9")
    plan = study.plan(["median(x)", "mean(x)"], epsilon="1", people=500)
    rows, notes = plan.marked()
    assert "\na: " in repr(plan)
    assert [mark for mark, _ in notes][:1] == ["a"]
    assert {row[-1] for row in rows} <= {"", *(mark for mark, _ in notes)}


def test_rows_of_groups_by_one_expression_are_named_by_their_keys_in_every_table() -> None:
    """``trunc(day, "month") 2024-01-01`` took two lines of the page, twelve times, below a line that has the name."""
    days = [f"2024-{1 + place % 12:02}-05" for place in range(600)]
    study = rt.study(
        {"day": days}, adjacency="add_remove", columns={"day": rt.date("2024-01-01", "2024-12-31")}, budget=9
    )
    release = study.release(['count by trunc(day, "month")'], epsilon=5)
    shown_page = page(release.certificate)
    assert ">2024-03-01<" in re.sub(r">\s+|\s+<", lambda found: found[0].strip(), shown_page)
    lines = [line.split() for line in listing(release.certificate).split("\n")]
    assert "2024-03-01" in [line[0] for line in lines if line]
    assert any(row and row[0].strip() == "2024-03-01" for row in layout.answers(release.answers).rows)


@pytest.mark.loop(3)
@pytest.mark.parametrize(
    ("declared", "years"),
    [
        (rt.integer(1900, 2030), True),
        (rt.real(1000, 2500), True),
        (rt.integer(1900, 2030, unit="years"), True),
        (rt.integer(1900, 2030, unit="mm"), False),
        (rt.integer(0, 2030), False),
        (rt.integer(1000, 5000), False),
    ],
)
def test_years_have_no_mark_between_thousands(declared: Integer | Real, years: bool) -> None:
    rows = {"x": [1960.0, 1970.0, 1980.0] * 700, "g": ["a", "b", "c"] * 700}
    columns: dict[str, Any] = {"x": declared, "g": rt.category(["a", "b", "c"])}
    study = rt.study(rows, adjacency="substitute", columns=columns, budget=10)
    made = study.release(["count", "mean(x) by g", "median(x)"], epsilon=8)
    shown = re.findall(r"\b19[5-9][0-9]|\b1,9[5-9][0-9]", str(made).partition("estimates")[0])
    assert len(shown) >= 8
    assert all(("," in one) is not years for one in shown)
    assert "2,100" in str(made)
    for name in ("count", "mean(x) by g", "median(x)"):
        cells: Any = answer_to_json(made[name])["cells"]
        assert [cell.get("years", False) for cell in cells] == [years and name != "count"] * len(cells)
    read = Certificate(made.certificate.to_json())
    marked = re.compile(r"[>(]1,9[5-9][0-9]")
    assert (marked.search(page(read)) is None) is years
    assert (marked.search(svg(read)) is None) is years


@pytest.fixture(scope="module")
def conditions() -> rt.Study:
    rows = np.random.default_rng(2)
    return rt.study(
        {"x": rows.integers(0, 11, 4_000), "y": rows.random(4_000), "g": rows.choice(["a", "b"], 4_000)},
        adjacency="add_remove",
        columns={
            "x": rt.integer(0, 10),
            "y": rt.real(0, 1),
            "g": rt.category(["a", "b"]),
            "late": rt.col("x") > 4,
        },
        budget=9,
    )


def test_a_truth_value_is_written_alike_in_groups_tests_and_slopes_and_names_its_cell(conditions: rt.Study) -> None:
    """The table said true, the name of a cell and the coefficient True."""
    asked = ["mean(x) by late, g", "test(x ~ late)", "regress(x ~ late)"]
    release = conditions.release(asked, epsilon=3)
    words = str(release)
    assert "difference of means (false less true)" in words
    assert "late=true" in words
    assert "True" not in words
    by = "mean(x) by late, g"
    found = [
        release.difference(f"{by} · {one}", f"{by} · {other}")
        for one, other in (("true, a", "false, a"), ("true · a", "false · a"), ("True · a", "False · a"))
    ]
    assert found[0] == found[1] == found[2]


def test_a_plan_names_every_shape_whose_probability_of_a_reply_it_tells(conditions: rt.Study) -> None:
    """That of a shape with a line of its own had stood there without a name."""
    for row in conditions.plan(["regress(x ~ y)"], epsilon="0.05", people=4_000).rows()[:1]:
        told = str(row[-1]).partition("P(reply): ")[2]
        assert "narrow near one end" in told
        assert not re.search(r"(?:^|· )\s*\.?\d", told)


def test_formulas_of_other_tools_are_told_in_our_words(conditions: rt.Study) -> None:
    for asked, told in (
        ("regress(x ~ C(g))", r"There is no C\(g\): a category stands by its name"),
        ("regress(x ~ late * g)", r"The product with a category is \(a and g = \"x\"\)"),
    ):
        with pytest.raises(QuestionError, match=told):
            conditions.plan([asked], epsilon=1)


def test_two_groups_before_and_after_are_compared_by_one_coefficient() -> None:
    rows = np.random.default_rng(3)
    late, b = rows.random(20_000) < 0.5, rows.random(20_000) < 0.5
    x = 50 + 5 * late + 3 * b - 20 * (late & b) + rows.normal(0, 5, 20_000)
    study = rt.study(
        {"x": x, "late": late, "g": np.where(b, "b", "a")},
        adjacency="add_remove",
        columns={"x": rt.real(0, 100), "late": rt.category([False, True]), "g": rt.category(["a", "b"])},
        budget=9,
    )
    asked = 'regress(x ~ late + g + (late and g = "b"))'
    *_, effect = study.release([asked], epsilon=4)[asked]
    assert abs(effect.value + 20) < 3
    assert effect.low < effect.value < effect.high


def test_keys_as_a_group_are_told_how_to_be_asked(conditions: rt.Study) -> None:
    with pytest.raises(QuestionError, match=r"keys\(x\) is a question by itself.*count by x keys=found"):
        conditions.plan(["count by keys(g)"], epsilon=1)
