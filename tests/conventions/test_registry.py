"""Every registered statistic has its text, its row in the reference, a test, a plan line and a maker for audits."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import reticent as rt
from reticent.conformance.neighbours import KeyedDice
from reticent.data.query import Per
from reticent.data.schema import Column, Person, Schema
from reticent.errors import Refusal
from reticent.statistics.context import ExpectedAccuracy, Setting, Step
from reticent.statistics.density import DensityOf
from reticent.statistics.grammar import parse, synonyms
from reticent.statistics.prepare import estimand, prepare
from reticent.statistics.registry import INSIDE, KINDS, all_statistics
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.statistic import Ask, Statistic, ask, options_of

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/statistics.md").read_text()
TESTS = "".join(p.read_text() for room in ("statistics", "unit") for p in (ROOT / "tests" / room).rglob("*.py"))
ALL = all_statistics()
MOST = 8  # parameters
DRAWS = 60

every_statistic = pytest.mark.parametrize("kind", ALL, ids=[kind.verb for kind in ALL])


def setting(people: int | None = 200_000) -> Setting:
    columns: dict[str, Column] = {
        "x": rt.real(0, 100, missing=0, resolution="0.1"),
        "y": rt.integer(0, 100, missing=0),
        "g": rt.category(["a", "b"]),
        "h": rt.category([0, 1]),
    }
    rows = Person("add_remove", "who", 2, people)
    return Setting(Schema(columns, rows, texts={"t": rt.text()}), people, delta=Fraction(1, 10**8))


def test_verbs_and_synonyms_are_each_of_one_statistic() -> None:
    words = Counter([kind.verb for kind in ALL] + [word for kind in ALL for word in kind.synonyms])
    assert [word for word, times in words.items() if times > 1] == []
    assert set(synonyms()) == {word for kind in ALL for word in kind.synonyms}


@pytest.mark.parametrize("verb", KINDS)
def test_the_list_has_each_class_under_its_verb(verb: str) -> None:
    assert KINDS[verb].verb == verb


@every_statistic
def test_the_package_hands_out_the_class_under_its_verb(kind: type[Statistic]) -> None:
    assert (getattr(rt, kind.verb, None) is kind) == (kind.verb not in INSIDE)


@every_statistic
def test_it_has_a_row_in_the_reference_and_a_test(kind: type[Statistic]) -> None:
    rows = [line for line in REFERENCE.splitlines() if line.startswith("|")]
    first = [line.split("|")[1] for line in rows]
    assert any(re.search(rf"`{kind.verb}[(`]", cell) for cell in first), "no row in docs/reference/statistics.md"
    assert re.search(rf"\b{kind.verb}\b", TESTS), "no test names it"


def unlisted(kind: type[Statistic], page: str) -> list[str]:
    """Options and methods of a statistic that the tables of a reference page do not give to its verb."""
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("|")]
    given = {
        name
        for first, *others in rows
        if len(others) == 2 and (others[0].strip() == "all" or f"`{kind.verb}`" in others[0])
        for name in re.findall(r"[`,] ?(\w+)=", first)
    }
    words = get_args(get_type_hints(kind).get("method"))
    known = {"auto"} | {
        word
        for first, *others in rows
        if len(others) == 1 and f"`{kind.verb}`" in first
        for word in re.findall(r"`(\w+)`", others[0])
    }
    methods = [word for part in words for word in (get_args(part) or (part,)) if isinstance(word, str)]
    return [name for name in options_of(kind) if name not in given] + [word for word in methods if word not in known]


@every_statistic
def test_every_option_and_method_of_it_stands_in_the_reference(kind: type[Statistic]) -> None:
    assert unlisted(kind, REFERENCE) == []


def test_the_search_for_options_finds() -> None:
    without = REFERENCE.replace("| `trim=0.2` |", "| `cut=0.2` |").replace("`inverse`: ", "")
    assert unlisted(TrimmedMean, without) == ["trim", "inverse"]


@every_statistic
def test_it_takes_no_more_options_than_a_reader_holds(kind: type[Statistic]) -> None:
    assert len(inspect.signature(kind).parameters) <= MOST


@cache
def planned(text: str) -> tuple[Step, ExpectedAccuracy] | None:
    """The step of an example and what its plan line expects; none where it is refused."""
    try:
        step = prepare(parse(text), setting(), Fraction(1))
    except Refusal:
        return None
    return step, step.expected(200_000)


@every_statistic
def test_its_examples_read_back_and_have_an_estimand_and_a_plan_line(kind: type[Statistic]) -> None:
    lines = 0
    for text in kind.examples:
        asked = parse(text)
        assert type(asked.statistic) is kind
        assert asked.name == text
        assert estimand(asked, setting())
        if kind is DensityOf:
            continue  # a study prepares it
        if (line := planned(text)) is None:
            continue
        lines += 1
        step, _ = line
        assert step.estimand
        assert step.guarantee.loss
    assert lines or kind is DensityOf or kind.verb == "trimmed_mean"


@every_statistic
def test_it_declares_when_it_declines_and_its_plan_states_how_probable_a_reply_is(kind: type[Statistic]) -> None:
    assert "declines" in vars(kind), 'say when it gives no reply, or declines = "" where it always replies'
    assert not kind.declines or kind.declines.startswith("where ")
    for text in kind.examples:
        if (line := planned(text)) is None:
            continue
        _, found = line
        replies = found.replies
        assert replies or "no widths are made up" in found.note, f"{text} does not state how probable a reply is"
        assert all(0.0 <= chance <= 1.0 for _, chance in replies)
        assert kind.declines or all(chance == 1.0 for _, chance in replies)


@every_statistic
def test_what_is_made_up_reads_back_from_its_text(kind: type[Statistic]) -> None:
    """Of 60 draws each, every one: the text is derived from the fields, and so is the reading of it."""
    for place in range(DRAWS):
        made = kind.made_up(KeyedDice(f"{kind.verb} {place}"))
        units: tuple[Per, ...] = ("row", "person") if kind.takes_per else ("row",)
        for unit in units:
            asked = Ask(made, unit=unit)
            assert parse(asked.name).name == asked.name
            if not any(word in asked.name for word in ("value=",)):  # a value is text until the schema is known
                assert parse(asked.name) == asked


def test_a_question_carries_its_groups_its_unit_and_its_share() -> None:
    asked = rt.mean("x").by("g").per("person").at("0.1")
    assert parse("mean(x, per=person, epsilon=0.1) by g") == asked
    assert str(asked) == "mean(x, per=person, epsilon=0.1) by g"
    assert str(rt.scale("x").at("0.1", delta="1e-9")) == "scale(x, epsilon=0.1, delta=1e-9)"
    assert asked.name == "mean(x, per=person) by g"
    assert ask(asked) is asked
    assert not asked.counts_rows


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rt.count().per("person"),
        lambda: rt.mean("x").per("rows"),  # type: ignore[arg-type]
        lambda: rt.mean("x").at(0),
        lambda: rt.mean("x").at(delta="1e-9"),
        lambda: rt.scale("x").at(delta=1),
        lambda: rt.mean("x").by("g").by("h"),
        lambda: rt.mean("x", low=2, high=1),
        lambda: rt.iqr("x", ptr=rt.PTR(width=1)),
        lambda: rt.median("x", method="mid"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_question_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(Refusal):
        wrong()
