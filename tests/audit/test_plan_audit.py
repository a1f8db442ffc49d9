"""The audit of one plan before its release: fast, free, the same each time, and it never touches the study's rows."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.conformance.neighbours import families
from reticent.conformance.plan_audit import ENOUGH, SHOWN, PlanAudit, audit
from reticent.data.schema import Person, Schema, category, integer, real
from reticent.errors import PublicParameterError, QuestionError, SpecError
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics import public_facts
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from reticent.study.study import Study

QUESTIONS = ["count", "mean(x)", "median(x)", "sum(k) by g", "histogram(x, edges=0:10:2)"]


class Untouchable(dict[str, list[float]]):
    """Rows nobody may look at once their study is there: it has compared their names with the declared ones."""

    closed = False

    def __getattribute__(self, name: str) -> Any:
        if object.__getattribute__(self, "closed"):
            raise AssertionError(f"the rows were touched: {name}")
        return super().__getattribute__(name)

    def __getitem__(self, name: str) -> list[float]:
        assert not object.__getattribute__(self, "closed"), f"the rows were touched: {name}"
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        assert not object.__getattribute__(self, "closed"), "the rows were touched"
        return super().__iter__()


def study(rows: object = None, *, adjacency: Kind = "add_remove", people: int | None = None) -> Study:
    table = Untouchable({name: [] for name in ("x", "k", "g", "who")})
    made = rt.study(
        table if rows is None else rows,
        adjacency=adjacency,
        columns={"x": real(0, 10), "k": integer(0, 9), "g": category(["a", "b"])},
        budget=10,
        person="who",
        rows_each=2,
        people=people,
    )
    table.closed = True
    return made


def prepared(schema: Schema, questions: Sequence[str], **within: Any) -> PreparedRelease:
    units = 10_000 if schema.person.adjacency == "substitute" else schema.person.people
    asked = Cost.read(within.get("epsilon"), within.get("rho"), within.get("delta"))
    return settle(understand(questions, schema), asked, schema, units, "approximate")


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize(("adjacency", "triples"), [("substitute", 240), ("add_remove", 60)])
def test_a_sound_plan_passes_and_its_extremes_reach_what_is_declared(adjacency: Kind, triples: int) -> None:
    found = study(adjacency=adjacency).audit(QUESTIONS, epsilon=8, triples=triples)
    assert found.verdict == "passed"
    assert found.triples == triples
    assert [moved.answer for moved in found.answers] == [*QUESTIONS, "capped", "incomplete(k, g)"]
    assert all(
        moved.calls and moved.ratio is not None and Fraction(99, 100) < moved.ratio <= 1 for moved in found.answers
    )
    assert found.loss is not None
    assert Fraction(1, 2) < found.loss <= 1


@pytest.mark.wide
def test_the_same_plan_has_the_same_audit() -> None:
    one, other = (study().audit(["mean(x)", "median(k) by g"], epsilon=5, triples=4) for _ in range(2))
    assert one == other
    assert one.to_json() == other.to_json()


@pytest.mark.wide
def test_an_audit_neither_reads_rows_nor_makes_a_ledger(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        '[study]\ntitle = "t"\nsource = "not_there.parquet"\nledger = "t.ledger"\n'
        '[person]\nadjacency = "add_remove"\nrows = "one_each"\n[budget]\nepsilon = 1\n'
        '[columns.x]\nkind = "real"\nlow = 0\nhigh = 1\n'
    )
    assert rt.open(file).audit(["mean(x)"], epsilon=1, triples=20).verdict == "passed"
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.wide
def test_a_plan_is_audited_as_its_questions_are() -> None:
    asked = study()
    plan = asked.plan(QUESTIONS, epsilon=8)
    assert asked.audit(plan, triples=4) == asked.audit(QUESTIONS, epsilon=8, triples=4)
    grouped = asked.by("g")
    by_group = grouped.audit(grouped.plan(["count"], epsilon=1), triples=8)
    assert [moved.answer for moved in by_group.answers] == ["count by g", "capped", "incomplete(g)"]


@pytest.mark.wide
def test_what_a_plan_holds_for_its_audit_is_no_part_of_what_it_says() -> None:
    plan = study().plan(["count"], epsilon=1)
    bare = pickle.loads(pickle.dumps(plan))
    assert bare == plan
    assert (repr(bare), bare.to_json()) == (repr(plan), plan.to_json())
    with pytest.raises(QuestionError, match="Make it again"):
        study().audit(bare)


@pytest.mark.wide
def test_an_epsilon_above_ten_is_audited_and_rehearsed_for_a_reason_as_it_is_released() -> None:
    with pytest.raises(SpecError, match="protects no one"):
        study().audit(["count"], epsilon=20)
    with pytest.raises(SpecError, match="protects no one"):
        study().rehearse(["count"], epsilon=20)
    found = study().audit(["count"], epsilon=20, triples=8, override="made-up rows")
    assert found == study().audit(study().plan(["count"], epsilon=20, override="made-up rows"), triples=8)
    assert study().rehearse(["count"], epsilon=20, override="made-up rows").guarantee.loss == rt.PureDP(Fraction(20))


def test_a_plan_of_another_study_or_with_a_second_cost_is_refused() -> None:
    plan = study().plan(["count"], epsilon=1)
    with pytest.raises(QuestionError, match="Make it again"):
        study(adjacency="substitute").audit(plan)
    with pytest.raises(PublicParameterError, match="its cost"):
        study().audit(plan, epsilon=1)
    with pytest.raises(PublicParameterError, match="its cost"):
        study().audit(plan, override="made-up rows")


@pytest.mark.wide
def test_an_audit_refuses_what_a_plan_refuses() -> None:
    with pytest.raises(QuestionError):
        study().audit(["mean(z)"], epsilon=1)
    with pytest.raises(PublicParameterError):
        study().audit(["count"], epsilon=1, triples=0)


@pytest.mark.wide
def test_a_refuted_plan_says_where_and_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = public_facts.stability_of
    monkeypatch.setattr(public_facts, "stability_of", lambda *given, **named: whole(*given, **named) / 2)
    found = study().audit(["count", "sum(k)"], epsilon=1)
    assert found.verdict == "refuted"
    assert [moved.ratio for moved in found.answers][:2] == [2, 2]
    assert found.loss is not None
    assert found.loss > 1
    assert "declares that the sum of absolute changes moves by" in found.words
    assert 33 <= found.triples < 200  # it stops when it has seen enough
    document = found.to_json()
    assert len(document["findings"]) == SHOWN  # type: ignore[arg-type]  # a list
    assert len(found.findings) == document["findings_in_all"] >= ENOUGH  # type: ignore[operator]  # an int


@pytest.mark.wide
def test_a_public_answer_makes_no_calls() -> None:
    schema = Schema({"x": real(0, 1)}, Person("substitute"))
    found = audit(prepared(schema, ["count"], epsilon="1"), schema, triples=29)
    assert (found.verdict, found.calls, found.ratio) == ("passed", 0, None)
    assert "nothing published depends on the rows" in found.words


@pytest.mark.wide
@pytest.mark.parametrize(("rho", "delta"), [("1/2", None), ("1/2", "0.000001")])
def test_losses_in_rho_are_compared_in_rho(rho: str, delta: str | None) -> None:
    schema = Schema({"x": real(0, 1), "g": category(["a", "b"])}, Person("add_remove", "who", 2))
    currency = "approximate" if delta else "zcdp"
    asked = understand(["count by g", "mean(x)", "median(x) by g"], schema)
    plan = settle(asked, Cost.read(None, rho, delta), schema, None, currency)
    found = audit(plan, schema, triples=12)
    assert found.verdict == "passed"
    assert found.loss is not None
    assert Fraction(1, 4) < found.loss <= 1


@pytest.mark.wide
def test_a_cap_of_many_rows_and_a_person_column_that_is_declared() -> None:
    schema = Schema({"who": integer(), "x": real()}, Person("substitute", "who", 500))
    found = audit(prepared(schema, ["persons", "iqr(x, per=person)", "count"], epsilon="9"), schema, triples=29)
    assert found.verdict == "passed"


def housed(persons: int) -> Study:
    """A study of households of which so many persons are kept."""
    return rt.study(
        {name: [] for name in ("x", "g", "who", "home")},
        adjacency="add_remove",
        columns={"x": real(0, 10), "g": category(["a", "b"])},
        budget=10,
        person="who",
        rows_each=2,
        household="home",
        per_household=persons,
    )


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("persons", [1, 3])
def test_a_plan_about_households_passes_and_a_whole_household_reaches_what_is_declared(persons: int) -> None:
    found = housed(persons).audit(["count", "mean(x)", "persons", "histogram(g)"], epsilon=8, triples=40)
    assert found.verdict == "passed", found.words
    assert all(
        moved.calls and moved.ratio is not None and Fraction(99, 100) < moved.ratio <= 1 for moved in found.answers
    )
    assert found.loss is not None
    assert Fraction(1, 2) < found.loss <= 1


@pytest.mark.wide
@pytest.mark.parametrize("question", ["count", "persons"])
def test_a_plan_for_one_person_of_a_household_is_refuted_where_three_are_kept(question: str) -> None:
    schema = housed(3).schema
    found = audit(prepared(schema, [question], epsilon="2"), schema, triples=33)  # prepared without the steps
    assert found.verdict == "refuted"
    assert found.ratio == 3


def test_households_are_made_up_of_more_persons_than_are_kept_and_of_fewer() -> None:
    sizes: Counter[int] = Counter()
    for family in islice(families(housed(3).schema, "households"), 12):
        persons: dict[object, set[object]] = {}
        for row in (row for table in family.tables for row in table):
            persons.setdefault(row["home"], set()).add(row["who"])
        sizes.update(len(them) for home, them in persons.items() if home not in ("h", "other"))
    assert set(sizes) == {1, 3, 4, 5}


@pytest.mark.wide
def test_json_is_plain_and_one_line_is_one_line() -> None:
    found: PlanAudit = study().audit(["median(x)", "proportion(g, value=a)"], epsilon=3, triples=12)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == found.to_json()
    assert "\n" not in found.words
    assert found.words.startswith("plan audit passed: 12 made-up pairs of neighbours, ")
