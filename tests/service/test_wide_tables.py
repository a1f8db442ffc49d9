"""Tables of hundreds of columns, questions and keys: a message names some of them, and no page is filled."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import reticent as rt
from reticent.certificate.render.panels import panels_of
from reticent.data import query_compiler
from reticent.errors import Refusal, first_of
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.sensitivity import Linf
from reticent.statistics.quantiles import quantile_draws, reply_rule
from reticent.statistics.unbounded.joint import JointQuantiles
from tests.support.cli_kit import run

MANY = 300
NAMES = [f"How satisfied are you with item {place}?" for place in range(MANY)]
LONGEST = 1_500  # characters of a message


@pytest.fixture(scope="module")
def study() -> rt.Study:
    rows: dict[str, list[object]] = {name: [1, 2, 3, 4] * 60 for name in NAMES}
    rows["town"] = ["town 0", "town 1"] * 120
    columns = {name: rt.integer(1, 5) for name in NAMES} | {"town": rt.category([f"town {n}" for n in range(MANY)])}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=10)


def test_the_first_names_are_told_and_dots_for_others() -> None:
    assert first_of(["age", "town"]) == "age, town"
    assert first_of(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert first_of(range(13)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 1 more"


@pytest.mark.parametrize(
    "ask",
    [
        lambda study: study.plan(["mean(satisfied)"], epsilon=1),
        lambda study: study.plan(["count where satisfied > 2"], epsilon=1),
        lambda study: study.plan(["count where town == 'town x'"], epsilon=1),
        lambda study: study.plan([f'mean("{NAMES[7]}")'], epsilon=1),
        lambda study: study.sql("SELECT AVG(satisfied) FROM rows", epsilon=1),
        lambda study: study.plan([f"test(`{NAMES[0]}` ~ town, groups=a;b)"], epsilon=1),
        lambda study: study.plan(["count by towns"], epsilon=1),
        lambda study: study.xy([*NAMES, "satisfied"], "town"),
        lambda study: study.release(["count"] + [f"mean(item {place})" for place in range(MANY)], epsilon=1),
    ],
)
def test_a_refusal_of_a_wide_table_fills_no_page(study: rt.Study, ask: Callable[[rt.Study], object]) -> None:
    with pytest.raises(Refusal) as told:
        ask(study)
    assert len(str(told.value)) <= LONGEST, str(told.value)


@pytest.mark.wide
def test_a_release_of_many_answers_names_some_of_them(study: rt.Study) -> None:
    found = study.release([f"mean(`{name}`)" for name in NAMES[:100]] + ["count by town"], epsilon=5)
    with pytest.raises(Refusal) as told:
        found["mean(age)"]
    assert len(str(told.value)) <= 2 * LONGEST
    with pytest.raises(Refusal) as told:
        found["count by town"]["town x"]
    assert len(str(told.value)) <= LONGEST


@pytest.mark.wide
def test_a_study_file_of_many_problems_tells_some_and_how_many_more(tmp_path: Path) -> None:
    header = ",".join(f'"{name}"' for name in NAMES)
    (tmp_path / "wide.csv").write_text(f"{header}\n", "utf-8")
    columns = "".join(f'[columns."{name}"]\nkind = "integer"\nlow = 1\nhigh = 5\nwhy = "form"\n' for name in NAMES)
    asked = ", ".join(f"'mean(item {place})'" for place in range(MANY))
    text = f"""[study]
title = "wide"
source = "wide.csv"
ledger = "wide.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "1"
{columns}
[[release]]
name = "t"
epsilon = "1"
ask = [{asked}]
"""
    (tmp_path / "wide.toml").write_text(text, "utf-8")
    said = run("check", str(tmp_path / "wide.toml")).said
    assert f"There are {MANY} problems." in said
    assert f"and {MANY - 12} more" in said
    assert len(said) <= 12 * LONGEST


def test_check_warns_of_many_columns_at_once(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(",".join(f"x{place},y{place}" for place in range(MANY)) + "\n", "utf-8")
    columns = "".join(
        f'[columns.x{place}]\nkind = "integer"\nlow = 1\nhigh = 5\nwhy = "form"\n[columns.y{place}]\nkind = "real"\n'
        for place in range(MANY)
    )
    text = f"""[study]
title = "wide"
source = "wide.csv"
ledger = "wide.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "1"
{columns}"""
    (tmp_path / "wide.toml").write_text(text, "utf-8")
    said = run("check", str(tmp_path / "wide.toml"))
    assert said.code == 0
    assert "and 288 more that are not integers" in " ".join(said.said.split())
    assert len(said.said) <= 3 * LONGEST


def test_a_wide_study_shows_some_of_its_columns(study: rt.Study) -> None:
    assert len(repr(study)) <= LONGEST
    assert "and 289 more" in repr(study)


def test_many_answers_take_one_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred means took 4.1 s of CPU, and take 1.4 s: each column had a projection of its own, one in the other."""
    from ibis.expr.types import Table

    made = list[int]()
    mutate = Table.mutate

    def counted(self: Table, *expressions: object, **named: object) -> Table:
        made.append(len(named))
        found: Table = mutate(self, *expressions, **named)
        return found

    monkeypatch.setattr(Table, "mutate", counted)
    taken = []
    for many in (3, 30):
        query_compiler.forget()
        made.clear()
        few = rt.study(
            {f"x{place}": [1, 2] for place in range(many)},
            adjacency="add_remove",
            columns={f"x{place}": rt.integer(1, 5) for place in range(many)},
            budget=1,
        )
        few.release([f"mean(x{place})" for place in range(many)], epsilon=1)
        taken.append(len(made))
    assert taken[0] == taken[1]


@pytest.mark.wide
def test_a_plan_and_a_release_say_once_what_differs_in_columns_alone(study: rt.Study) -> None:
    asked = [f"mean(`{name}`)" for name in NAMES[100:160]]
    planned = study.plan(asked, epsilon=1, people=240)
    with pytest.warns(UserWarning, match=r"No reply is likely") as warned:
        found = study.release(asked, epsilon=1)
    assert all(len(str(one.message)) <= LONGEST for one in warned)
    for text in (str(planned), str(found)):
        assert " ".join(text.split()).count("mean(…): population mean of …, values cut to [1, 5]") == 1
    assert str(planned).count("population mean of") == 1
    assert str(found).count("population mean of") <= 4  # a note of one answer alone stands beside its estimand
    assert "missing or unreadable" not in str(planned) or str(planned).count("for a standard deviation of") == 1
    few = study.release(asked[:2], epsilon=1)
    assert str(few).count("population mean of") == 2


def test_the_figure_of_a_release_is_drawn_once_for_its_files(
    study: rt.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release of 200 answers had taken 10 of its 27 seconds for the second of two same figures."""
    from reticent.certificate.render import figure

    drawn = list[str]()
    monkeypatch.setattr(figure, "svg", lambda of: drawn.append(of.digest) or "<svg></svg>")  # type: ignore[func-returns-value]
    release = study.release(["count"], epsilon="0.1")
    release.save(tmp_path / "table")
    assert (tmp_path / "table.svg").read_text("utf-8") == "<svg></svg>"
    assert "<figure" in (tmp_path / "table.html").read_text("utf-8")
    assert len(drawn) == 1


@pytest.mark.wide
def test_the_forecast_of_time_grows_with_the_answers(study: rt.Study) -> None:
    """Two hundred means of few rows take 2.8 s, of which a plan had told a tenth of a second."""
    one, many = (study.plan([f"mean(`{name}`)" for name in NAMES[:size]], epsilon=1, people=240) for size in (1, 201))
    assert one.seconds is not None
    assert many.seconds is not None
    assert 2.0 < many.seconds - one.seconds < 4.0


@pytest.mark.wide
def test_a_plan_makes_each_mechanism_of_a_quantile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that looks for what helps had made 190,000 of them, in 19 seconds of a processor."""
    made = list[object]()

    def counted(sensitivity: Linf, epsilon: Fraction) -> Exponential:
        made.append(epsilon)
        return Exponential(sensitivity, epsilon)

    monkeypatch.setattr(quantile_draws, "Exponential", counted)
    rows = {"who": [*range(60)], "x": [float(place) for place in range(60)], "g": ["a", "b", "c", "d", "e", "f"] * 10}
    groups = rt.category(list("abcdef"))
    few = rt.study(
        rows,
        adjacency="add_remove",
        person="who",
        rows_each=20,
        columns={"x": rt.real(0, 90), "g": groups},
        budget=3,
    )
    assert few.plan(["median(x) by g"], epsilon="0.2", people=1000).silent
    assert len(made) < 2_000


@pytest.mark.wide
@pytest.mark.parametrize(
    ("question", "where", "name", "most"),
    [
        ("quantile(x, 0.9) by g", reply_rule, "feasible", 4_000),
        ("quantiles(x, 0.25 0.5 0.75) by g", JointQuantiles, "feasible", 1_500),
    ],
)
def test_what_would_help_is_searched_once_for_all_groups(
    question: str, where: object, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan had asked the rule of a release 12,000 and 8,000 times, for each size of a group and of a person."""
    rule, asked = getattr(where, name), list[None]()

    def counted(*given: object) -> bool:
        asked.append(None)
        return bool(rule(*given))

    monkeypatch.setattr(where, name, counted)
    names = [f"g{place}" for place in range(24)]
    rows = {"who": [*range(48)], "x": [float(place) for place in range(48)], "g": names * 2}
    study = rt.study(
        rows,
        adjacency="add_remove",
        person="who",
        rows_each=5,
        columns={"x": rt.real(0, 100), "g": rt.category(names)},
        budget=3,
    )
    planned = study.plan([question], epsilon="0.5", people=10_000)
    assert planned.silent
    assert 0 < len(asked) < most


def test_the_forecast_of_time_grows_with_cells_and_with_what_helps() -> None:
    """Releases by 24 groups had taken up to twenty times their forecast, and small ones of a column a tenth."""
    names = [f"g{place}" for place in range(24)]
    rows = {"x": [1.0, 2.0], "g": names[:2]}
    study = rt.study(rows, adjacency="add_remove", columns={"x": rt.real(0, 9), "g": rt.category(names)}, budget=3)

    def seconds(question: str, people: int) -> float:
        found = study.plan([question], epsilon="0.5", people=people).seconds
        assert found is not None
        return found

    assert seconds("mean(x)", 20_000) < 0.06
    grouped = [seconds(f"{question} by g", 50_000) for question in ("count", "mean(x)", "sd(x)", "median(x)", "iqr(x)")]
    assert grouped == sorted(grouped)
    assert seconds("quantile(x, 0.9) by g", 100) > seconds("quantile(x, 0.9) by g", 50_000) + 0.3  # no reply is likely


@pytest.mark.wide
def test_many_columns_of_one_range_share_a_panel(study: rt.Study) -> None:
    """Answers from 1 to 5 of 60 questions had 60 axes, each with its own scale."""
    found = study.release([f"mean(`{name}`)" for name in NAMES[200:260]] + [f"sd(`{NAMES[260]}`)"], epsilon=2)
    many = panels_of(found.answers, found.certificate.heading["columns"])
    assert [len(panel.cells) for panel in many] == [60, 1]
    assert many[0].scale.label == "1 to 5"
    few = panels_of(found.answers[:3], found.certificate.heading["columns"])
    assert [len(panel.cells) for panel in few] == [1, 1, 1]  # a few are told apart, each by its own axis
