"""Laws of the ledger: totals, order, round trips, and that any change of what was written is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from reticent.errors import BudgetError, LedgerError
from reticent.ledger import Ledger, Receipt, verify_export
from reticent.ledger.book import MOST_A_MINUTE
from reticent.ledger.events import (
    GENESIS,
    Amended,
    Closed,
    Committed,
    Described,
    Entry,
    Event,
    Failed,
    Opened,
    Refused,
    Reserved,
    parse,
)
from reticent.ledger.replay import Row, problems
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from reticent.privacy.serialization import digest_of
from tests.support.ledger_kit import PERSON, eps, ledger_at, store_of

amounts = st.fractions(min_value=0, max_value=2, max_denominator=64)
charges = st.builds(PureDP, amounts) | st.builds(
    ApproxDP, amounts, st.sampled_from([Fraction(1, 10**9), Fraction(1, 10**8)])
)
texts = st.text(max_size=20)
losses = charges | st.builds(ZCDP, amounts) | st.builds(ApproxZCDP, amounts, st.just(Fraction(1, 10**9)))
adjacencies = st.builds(Adjacency, st.sampled_from(["add_remove", "substitute"]), st.integers(1, 5))
maybe = st.none() | texts
days = st.none() | st.dates()
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Opened, texts, texts, adjacencies, losses, maybe, maybe, days, maybe),
    st.builds(Reserved, texts, losses, losses, texts, texts, texts, maybe, maybe),
    st.builds(Committed, texts, texts),
    st.builds(Failed, texts, texts),
    st.builds(Refused, texts, texts, texts, texts),
    st.builds(Amended, losses, texts, maybe, days),
    st.builds(Described, texts),
    st.builds(Closed, texts),
)


class Accounts(RuleBasedStateMachine):
    """Any order of charges, settlements, refusals and amendments, against sums kept by hand."""

    receipts = Bundle("receipts")

    def __init__(self) -> None:
        super().__init__()
        self.budget: Loss = ApproxDP(Fraction(4), Fraction(1, 10**7))
        self.ledger = ledger_at(None, self.budget)
        self.taken: list[Loss] = []
        self.settled: set[str] = set()
        self.refused = 0

    @rule(target=receipts, charge=charges)
    def reserve(self, charge: Loss) -> Receipt | None:
        spent = self.ledger.spent()
        fits = filters.admits(self.budget, spent, charge)
        try:
            receipt = self.ledger.reserve(charge, adjacency=PERSON, what="x")
        except BudgetError:
            assert not fits
            assert self.ledger.spent() == spent
            return None
        assert fits
        self.taken.append(charge)
        return receipt

    @rule(receipt=receipts, fault=st.booleans())
    def settle(self, receipt: Receipt | None, fault: bool) -> None:
        if receipt is None:
            return
        again = receipt.id in self.settled
        self.settled.add(receipt.id)
        try:
            if fault:
                self.ledger.fail(receipt, "f-1")
            else:
                self.ledger.commit(receipt, digest="d")
        except LedgerError:
            assert again
        else:
            assert not again

    @rule()
    def refuse(self) -> None:
        self.ledger.note_refusal("y", code="5")
        self.refused += 1

    @rule(more=amounts)
    def amend(self, more: Fraction) -> None:
        epsilon, delta = filters.parts(self.budget)
        self.budget = ApproxDP(epsilon + more, delta)
        self.ledger.amend(self.budget, reason="more people agreed")

    @invariant()
    def the_sum_is_the_sum(self) -> None:
        spent = filters.parts(self.ledger.spent())
        assert spent == tuple(sum((filters.parts(charge)[i] for charge in self.taken), Fraction(0)) for i in (0, 1))
        assert all(part <= limit for part, limit in zip(spent, filters.parts(self.budget), strict=True))
        assert len(self.ledger.releases()) == len(self.taken)
        assert len(self.ledger.refusals()) == min(self.refused, MOST_A_MINUTE)

    @invariant()
    def the_chain_holds(self) -> None:
        assert self.ledger.verify() == ()


Accounts.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestAccounts = Accounts.TestCase


@pytest.mark.wide
@given(events, st.integers(1, 10**6))
def test_an_entry_reads_back_as_itself(event: Event, number: int) -> None:
    entry = Entry(number, "2026-11-21T07:31:05Z", GENESIS, event)
    again = parse(entry.body)
    assert again.body == entry.body
    assert again.digest == entry.digest
    assert parse(again.body) == again


def test_an_opening_from_before_the_person_column_was_recorded_reads_back_as_itself() -> None:
    body = (
        '{"adjacency":{"kind":"add_remove","rows":1,"unit":"person"},"approved":null,"budget":{"delta":"0",'
        '"epsilon":"3"},"ends":null,"identity":"i","kind":"opened","number":1,"previous":"' + GENESIS + '",'
        '"source":null,"title":"t","when":"2026-11-21T07:31:05Z"}'
    )
    entry = parse(body)
    assert isinstance(entry.event, Opened)
    assert entry.event.person is None
    assert entry.body == body
    assert problems([Row(1, body, entry.digest)])[1] == ()
    for text in ('"person":null,', '"person":1,'):
        with pytest.raises(LedgerError):
            parse(body.replace('"previous"', text + '"previous"'))
    named = parse(body.replace('"previous"', '"person":"fam","previous"'))
    assert isinstance(named.event, Opened)
    assert named.event.person == "fam"


def test_a_zcdp_ledger_from_before_it_could_have_a_delta_reads_back_and_goes_on() -> None:
    opening = (
        '{"adjacency":{"kind":"add_remove","rows":1,"unit":"person"},"approved":null,"budget":{"rho":"1"},'
        '"ends":null,"identity":"i","kind":"opened","number":1,"previous":"' + GENESIS + '",'
        '"source":null,"title":"t","when":"2026-11-21T07:31:05Z"}'
    )
    reserved = (
        '{"charge":{"rho":"0.125"},"id":"r-0001","key":null,"kind":"reserved","number":2,"previous":"'
        + digest_of(opening)
        + '","purpose":"","request_digest":null,"spent":{"rho":"0.125"},"what":"x","when":"2026-11-21T07:31:05Z",'
        '"who":"curator"}'
    )
    replay, found = problems([Row(1, opening, digest_of(opening)), Row(2, reserved, digest_of(reserved))])
    assert found == ()
    assert replay.totals == (ZCDP(Fraction(1)), ZCDP(Fraction(1, 8)))
    for forged in ('{"delta":"0","rho":"0.125"}', '{"delta":"1e-9","rho":"0.125"}', '{"mu_squared":"0.25"}'):
        body = reserved.replace('"charge":{"rho":"0.125"}', f'"charge":{forged}')
        assert problems([Row(1, opening, digest_of(opening)), Row(2, body, digest_of(body))])[1]
    for budget in ('{"mu_squared":"1"}', '{"pairs":"coin"}', '{"renyi":"ab"}', '{"delta":"0","rho":"1"}'):
        body = opening.replace('{"rho":"1"}', budget)
        assert problems([Row(1, body, digest_of(body))])[1]


def busy() -> Ledger:
    """A ledger with every kind of entry."""
    ledger = Ledger.create(
        None,
        title="busy",
        adjacency=PERSON,
        budget=ApproxDP(Fraction(3), Fraction(1, 10**8)),
        person="fam",
        ends=date(2999, 1, 1),
    )
    first = ledger.reserve(eps(1), adjacency=PERSON, what="table 1")
    second = ledger.reserve(eps("1/2"), adjacency=PERSON, what="table 2", who="anna", key="k", request_digest="q")
    ledger.commit(first, digest="c1")
    ledger.note_refusal("SELECT *", code="5")
    ledger.fail(second, "f-1")
    ledger.amend(ApproxDP(Fraction(4), Fraction(1, 10**8)), reason="board of March")
    ledger.reserve(eps(2), adjacency=PERSON, what="table 3")
    ledger.close("the study is over")
    return ledger


def rows_of(ledger: Ledger) -> list[Row]:
    with store_of(ledger).reading() as view:
        return list(view.rows(1))


def rechained(rows: list[Row]) -> list[Row]:
    """The rows renumbered and linked anew: what a tamperer who can rewrite everything would write."""
    done: list[Row] = []
    for number, row in enumerate(rows, start=1):
        entry = replace(parse(row.body), number=number, previous=done[-1].digest if done else GENESIS)
        done.append(Row(number, entry.body, entry.digest))
    return done


def edited(text: str) -> list[str]:
    """Every text that differs from ``text`` in one place."""
    return [text[:at] + ("~" if text[at] != "~" else "!") + text[at + 1 :] for at in range(len(text))]


@pytest.mark.wide
def test_every_change_of_one_byte_is_noticed() -> None:
    rows = rows_of(busy())
    assert problems(rows)[1] == ()
    for place, row in enumerate(rows):
        forged = [Row(row.number, body, row.digest) for body in edited(row.body)]
        forged += [Row(row.number, row.body, digest) for digest in edited(row.digest)]
        for one in forged:
            assert problems([*rows[:place], one, *rows[place + 1 :]])[1] != ()


@pytest.mark.wide
def test_a_changed_byte_with_its_digest_made_anew_breaks_the_next_entry_or_loses_the_head() -> None:
    ledger = busy()
    rows, head = rows_of(ledger), ledger.head
    for place, row in enumerate(rows):
        for body in edited(row.body):
            one = Row(row.number, body, digest_of(body))
            chain = [*rows[:place], one, *rows[place + 1 :]]
            assert problems(chain)[1] != () or (place == len(rows) - 1 and one.digest != head)


def test_a_missing_or_swapped_entry_is_noticed() -> None:
    rows = rows_of(busy())
    for place in range(len(rows) - 1):
        assert problems(rows[:place] + rows[place + 1 :])[1] != ()
        assert problems([*rows[:place], rows[place + 1], rows[place], *rows[place + 2 :]])[1] != ()
        assert problems([*rows[: place + 1], *rows[place:]])[1] != ()


def test_a_ledger_cut_short_is_noticed_by_an_exported_head() -> None:
    ledger = busy()
    rows, head = rows_of(ledger), ledger.head
    for length in range(1, len(rows)):
        shorter = [{"body": row.body, "digest": row.digest} for row in rows[:length]]
        document = {**ledger.export(), "entries": shorter}
        assert any("older copy" in problem for problem in verify_export(document, head=head))


def test_a_chain_linked_anew_must_still_add_up_and_loses_its_head() -> None:
    ledger = busy()
    rows = rows_of(ledger)
    for place in range(1, len(rows)):
        forged = rechained(rows[:place] + rows[place + 1 :])
        assert forged[-1].digest != ledger.head
    without_first_charge = rechained(rows[:1] + rows[2:])
    assert problems(without_first_charge)[1] != ()
    commit_first = rechained([rows[0], rows[3], *rows[1:3], *rows[4:]])
    assert "not an open reservation" in problems(commit_first)[1][0]


@pytest.mark.parametrize(
    ("spent", "words"), [("1/2", "not the sum"), ("1", "")], ids=["a total that is too small", "the total"]
)
def test_a_stored_total_is_replayed(spent: str, words: str) -> None:
    rows = rows_of(ledger_at(None, eps(3)))
    event = Reserved("r-0001", eps(1), eps(spent), "x", "curator", "", None, None)
    entry = Entry(2, "2026-11-21T07:31:05Z", rows[0].digest, event)
    found = problems([*rows, Row(2, entry.body, entry.digest)])[1]
    assert (words in found[0]) if words else found == ()


@pytest.mark.parametrize(
    "event",
    [
        Reserved("r-0001", eps(4), eps(4), "x", "curator", "", None, None),
        Reserved("r-0002", eps(1), eps(1), "x", "curator", "", None, None),
        Reserved("r-0001", ZCDP(Fraction(1)), ZCDP(Fraction(1)), "x", "curator", "", None, None),
        Committed("r-0001", "d"),
        Failed("r-0009", "f-1"),
        Amended(ZCDP(Fraction(9)), "", None, None),
        Opened("id", "second", PERSON, eps(3), None, None, None),
    ],
    ids=lambda event: f"{type(event).__name__}-{getattr(event, 'id', '')}",
)
def test_an_entry_that_does_not_fit_is_named(event: Event) -> None:
    rows = rows_of(ledger_at(None, eps(3)))
    entry = Entry(2, "2026-11-21T07:31:05Z", rows[0].digest, event)
    assert problems([*rows, Row(2, entry.body, entry.digest)])[1][0].startswith("entry 2: ")


def test_an_export_is_plain_json_and_checks_itself() -> None:
    ledger = busy()
    document = json.loads(json.dumps(ledger.export()))
    assert verify_export(document, head=ledger.head) == ()
    assert verify_export({**document, "spent": {"epsilon": "0", "delta": "0"}}) == (
        "spent does not follow from the entries",
    )
    assert verify_export({**document, "format": 2}) != ()
    assert verify_export({**document, "entries": []}) != ()
