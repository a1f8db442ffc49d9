"""``keys(t)``: texts to a list with fresh numbers of persons, from the rows to a certificate that verifies.

Draws are replayed. The test of coverage fails by chance with probability below 1e-6.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.certificate.certificate import read_certificate
from reticent.conformance.replay import Tape, replay
from reticent.data.query import KeyHolders, KeyShares
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, Text, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.errors import QuestionError, SpecError
from reticent.mechanisms.weight_return import WeightReturn
from reticent.mechanisms.weighted_selection import UNIT, weight_of
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.context import Setting
from reticent.statistics.counts.key_list import KeyList
from reticent.statistics.counts.key_list_step import KeyListStep, key_list
from reticent.study.allocation import settle
from reticent.study.formulas import understand
from tests.support.data_reference import on_ring

KEY = bytes(range(32))
ODD: list[object] = [
    " statin ",
    "statin",
    "stating",
    "",
    "   ",
    None,
    "two\nlines",
    "ab\x00c",
    "é" * 9,
    "STATIN",
    "st atin",
    "a\x85b",
    "a\u202eb",
]
READ = {0: "statin", 1: "statin", 2: "statin", 8: "é" * 6, 9: "STATIN", 10: "st ati"}


def holders(rows: Sequence[tuple[str, object]], rows_each: int, touch: int, longest: int = 6) -> dict[str, int]:
    schema = Schema({}, Person("add_remove", "who", rows_each), texts={"t": Text(longest)})
    table = {"who": [who for who, _ in rows], "t": [cell for _, cell in rows]}
    (found,) = open_table(table, schema).run([KeyHolders("t", touch)], KEY)
    assert found.holders is not None
    return dict(found.holders)


def test_texts_are_cut_and_odd_cells_are_missing() -> None:
    rows = [(f"p{place}", cell) for place, cell in enumerate(ODD)]
    assert holders(rows, 1, 1) == dict(Counter(READ.values()))


def test_a_person_counts_once_in_a_key_and_in_few_keys_by_a_keyed_hash() -> None:
    rows = [(f"p{n}", key) for n in range(6) for key in "abcab"]
    assert holders(rows, 5, 5) == {"a": 6, "b": 6, "c": 6}

    def draw(who: str) -> int:
        return int(hashlib.sha256(f"person:{KEY.hex()}:{who}".encode()).hexdigest()[13:26], 16)

    chosen = Counter("abc"[nth] for n in range(6) for nth in on_ring(3, 2, draw(f"p{n}")))
    assert holders(rows, 5, 2) == dict(chosen)
    assert holders(rows[::-1], 5, 2) == dict(chosen)


def test_persons_are_told_apart_by_their_number_of_keys() -> None:
    rows = [("p1", "a"), ("p1", "b"), ("p1", "a"), ("p2", "b"), ("p3", "a"), ("p3", "b"), ("p3", "c"), ("p4", None)]
    schema = Schema({}, Person("add_remove", "who", 3), texts={"t": Text(6)})
    table = {"who": [who for who, _ in rows], "t": [cell for _, cell in rows]}
    (found,) = open_table(table, schema).run([KeyHolders("t", 3, by_degree=True)], KEY)
    assert found.degrees == {"a": (0, 1, 1), "b": (1, 1, 1), "c": (0, 0, 1)}
    assert found.holders == {"a": 2, "b": 3, "c": 1}


@pytest.mark.parametrize(("people", "touch"), [(60, 4), (60, 3), (5, 2)])
def test_shares_of_the_keys_of_persons_are_added_up_in_the_engine(people: int, touch: int) -> None:
    """Against sums in Python; a person in too many keys counts in those that the degrees are of."""
    chance = random.Random(people + touch)
    cells = [(f"p{n}", chance.choice("aaaabbbccdefgh")) for n in range(people) for _ in range(chance.randint(1, touch))]
    back = WeightReturn(tuple(map(weight_of, range(1, touch + 1))), UNIT)
    schema = Schema({}, Person("add_remove", "who", touch), texts={"t": Text(6)})
    table = {"who": [who for who, _ in cells], "t": [cell for _, cell in cells]}
    query = KeyHolders("t", touch, by_degree=True, shares=KeyShares(back.weights, back.pieces))
    (found,) = open_table(table, schema).run([query], KEY)
    pairs, whole = set(cells), Counter[str]()
    held = Counter(who for who, _ in pairs)
    for who, key in pairs:
        whole[key] += weight_of(held[who])
    own = {who: sum(back.share(whole[key]) for one, key in pairs if one == who) for who in held}
    places = product(whole, range(1, touch + 1))
    told = {(key, many): sum(own[who] for who, of in pairs if of == key and held[who] == many) for key, many in places}
    assert any(told.values())
    assert found.returned == {key: tuple(told[key, many] for many in range(1, touch + 1)) for key in whole}


@pytest.mark.wide
@pytest.mark.parametrize(
    "all_orders", [False, pytest.param(True, marks=pytest.mark.audit)], ids=["one order", "every order"]
)
@pytest.mark.parametrize("touch", [1, 2])
def test_one_person_moves_at_most_so_many_keys_by_one(touch: int, all_orders: bool) -> None:
    rest = [("p1", "a"), ("p1", "b"), ("p2", "b")]
    before = holders(rest, 2, touch)
    cells = ("a", "b", "c", None)
    for mine in product(cells, repeat=3) if all_orders else combinations_with_replacement(cells, 3):
        after = holders([*rest, *(("p9", cell) for cell in mine)], 2, touch)
        moved = [after.get(key, 0) - before.get(key, 0) for key in {*before, *after}]
        assert set(moved) <= {0, 1}
        assert sum(moved) <= touch


# --- the step ---------------------------------------------------------------------------------------------------------


def step(kind: Kind = "add_remove", rows: int = 1, asked: KeyList | None = None, epsilon: int = 2) -> KeyListStep:
    person = Person(kind, "who" if rows > 1 else None, rows)
    schema = Schema({"x": real()}, person, texts={"t": Text(20)})
    return key_list(asked or KeyList("t"), Setting(schema, None, delta=Fraction(1, 100)), Fraction(epsilon))


@pytest.mark.parametrize(("kind", "rows", "groups", "changes"), [("add_remove", 3, None, 3), ("substitute", 3, 2, 4)])
def test_the_price_is_what_was_asked_whatever_a_person_may_change(
    kind: Kind, rows: int, groups: int | None, changes: int
) -> None:
    made = step(kind, rows, KeyList("t", groups=groups))
    assert made.guarantee.loss == rt.ApproxDP(Fraction(2), Fraction(1, 100))
    assert made.listing.selection.changes == made.noise.sensitivity.bound == changes


def test_intervals_hold_for_keys_that_are_hardly_listed() -> None:
    """A key at the threshold: fresh noise covers as often as promised among its listings, and no less."""
    made, stream, listed, covered = step(), Replayed("fresh"), 0, 0
    persons = made.listing.selection.persons(Fraction(1, 2))
    for _ in range(4000):
        (cell,) = made.answer([QueryResult(holders={"k": persons})], stream).cells
        if isinstance(cell.outcome, Reply):
            listed += 1
            covered += cell.outcome.value.low <= persons <= cell.outcome.value.high
    assert 0.45 < listed / 4000 < 0.75
    assert 0.94 < covered / listed < 0.995


def test_no_listed_key_is_no_reply_and_the_words_are_public() -> None:
    made = step()
    none = made.answer([QueryResult(holders={})], Replayed("none"))
    few = made.answer([QueryResult(holders={"rare": 1})], Replayed("none"))
    many = made.answer([QueryResult(holders={"b": 999, "a": 999})], Replayed("many"))
    assert none == few
    assert none.cells[0].outcome is NO_REPLY
    assert [cell.label for cell in many] == [(("t", "a"),), (("t", "b"),)]
    assert none.caveats == many.caveats == (made.expected(7).note, "texts count by their first 20 characters")
    assert "fewer than 5 persons" in made.expected(7).note


def test_at_least_keeps_smaller_keys_out() -> None:
    made = step(asked=KeyList("t", at_least=50), epsilon=100)
    held = {"small": 49, "large": 60}
    assert [cell.label for cell in made.answer([QueryResult(holders=held)], Replayed("x"))] == [(("t", "large"),)]


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_the_plan_is_replayed_on_neighbours_with_the_same_list(kind: Kind) -> None:
    schema = Schema({"x": real(0, 1)}, Person(kind, "who", 2), texts={"t": Text(20)})
    asked = understand(["keys(t)", "count"], schema)
    plan = settle(
        asked, Cost(Fraction(1), delta=Fraction(1, 10**6)), schema, 3 if kind == "substitute" else None, "approximate"
    )

    def table(*rows: tuple[str, str]) -> Any:
        columns = {"who": [who for who, _ in rows], "t": [cell for _, cell in rows], "x": [0.5] * len(rows)}
        return open_table(columns, schema)

    mine, yours = [("p1", "a"), ("p1", "b"), ("p2", "b")], [("p9", "b"), ("p9", "c")]
    here = table(*mine, *yours)
    there = table(*mine) if kind == "add_remove" else table(*mine, ("p9", "d"))
    for style in ("law", "many", "still", "far"):
        found = replay(plan, here, there, tape=Tape(style=style))
        assert found.ok, found.findings
    assert len(replay(plan, here, there, tape=Tape(style="many")).calls) > len(replay(plan, here, there).calls)
    assert replay(plan, here, table(*yours, *mine), tape=Tape(style="many"), same=True).ok


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_list_of_weights_is_replayed_on_neighbours_with_the_same_list(kind: Kind) -> None:
    schema = Schema({"x": real(0, 1)}, Person(kind, "who", 5), texts={"t": Text(20)})
    asked = understand(["keys(t)"], schema)
    plan = settle(
        asked, Cost(Fraction(1), delta=Fraction(1, 10**6)), schema, 3 if kind == "substitute" else None, "approximate"
    )
    (made,) = plan.steps
    assert isinstance(made, KeyListStep)
    assert made.listing.is_weighted

    def table(*rows: tuple[str, str]) -> Any:
        columns = {"who": [who for who, _ in rows], "t": [cell for _, cell in rows], "x": [0.5] * len(rows)}
        return open_table(columns, schema)

    mine = [("p1", key) for key in "abc"] + [("p2", "b")]
    yours = [("p9", key) for key in "bcdef"]
    here = table(*mine, *yours)
    there = table(*mine) if kind == "add_remove" else table(*mine, ("p9", "g"), ("p9", "b"))
    for style in ("law", "many", "still"):
        found = replay(plan, here, there, tape=Tape(style=style))
        assert found.ok, found.findings
    assert replay(plan, here, table(*yours, *mine), tape=Tape(style="many"), same=True).ok


# --- the study --------------------------------------------------------------------------------------------------------

STUDY = """
[study]
title = "drugs"
source = "drugs.csv"
ledger = "drugs.ledger"

[person]
column = "who"
adjacency = "add_remove"
rows = { at_most = 2 }

[budget]
epsilon = "4"
delta = "1e-4"

[columns.drug]
kind = "text"
longest = 12
"""


@pytest.fixture
def study(tmp_path: Path) -> rt.Study:
    drugs = ["aspirin"] * 300 + ["statin"] * 200 + [f"rare {n}" for n in range(40)]
    lines = [f"p{n},{drug}" for n, drug in enumerate(drugs)]
    (tmp_path / "drugs.csv").write_text("\n".join(["who,drug", *lines]) + "\n", "utf-8")
    (tmp_path / "drugs.toml").write_text(STUDY, "utf-8")
    return rt.open(tmp_path / "drugs.toml")


@pytest.mark.wide
def test_a_release_lists_what_many_share_and_its_certificate_verifies(study: rt.Study) -> None:
    release = study.release([rt.keys("drug", at_least=10)], epsilon="2", delta="1e-6")
    answer = release["keys(drug, at_least=10)"]
    assert [cell.label for cell in answer] == [(("drug", "aspirin"),), (("drug", "statin"),)]
    again = read_certificate(release.certificate.to_json())
    assert again.verify(study.ledger, allow_unsigned=True).ok
    assert "rare" not in release.certificate.to_json()
    told = {"low": None, "high": None, "missing": "drop", "kind": "text", "longest": 12, "why": ""}
    assert again.document["columns"] == {"drug": told}
    assert study.audit(["keys(drug)"], epsilon="2", delta="1e-6", triples=30).findings == ()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("mean(drug)", "drug is text without a public list"),
        ('count where drug = "a"', "drug is text without a public list"),
        ("count by drug", "drug"),
        ("histogram(drug)", "drug is text"),
        ("count where drug = 'statin'", "drug is text"),
        ("keys(nothing)", "no column 'nothing'"),
        ("keys(drug, at_least=0)", "whole number"),
    ],
)
def test_a_text_is_asked_for_its_keys_and_nothing_else(study: rt.Study, asked: str, words: str) -> None:
    with pytest.raises((QuestionError, rt.PublicParameterError), match=words):
        study.plan([asked], epsilon="1", delta="1e-6")
    assert study.left() == rt.ApproxDP(Fraction(4), Fraction(1, 10**4))


def test_a_list_needs_a_delta_in_every_currency(study: rt.Study) -> None:
    with pytest.raises(QuestionError, match="δ"):
        study.plan(["keys(drug)"], epsilon="1")
    with pytest.raises(QuestionError, match="δ"):
        study.plan(["keys(drug)"], rho="0.1", delta="1e-6")
    assert study.plan(["keys(drug, delta=1e-7)"], rho="0.1", delta="1e-6").affordable


def test_a_text_that_is_computed_or_declared_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "drugs.toml").write_text(STUDY.replace("longest = 12", 'from = "who"'), "utf-8")
    with pytest.raises(SpecError):
        rt.open(tmp_path / "drugs.toml")
    for longest in ("0", "1001", "2.5", '"x"'):
        (tmp_path / "drugs.toml").write_text(STUDY.replace("longest = 12", f"longest = {longest}"), "utf-8")
        with pytest.raises((SpecError, rt.PublicParameterError), match="longest"):
            rt.open(tmp_path / "drugs.toml")
    with pytest.raises(SpecError, match="text and as something else"):
        Schema({"t": real()}, Person("add_remove"), texts={"t": Text()})
