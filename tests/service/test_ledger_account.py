"""The account: what it charges, what it refuses and in which words, and how its handles are copied."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from reticent.errors import BudgetError, LedgerError
from reticent.ledger import Ledger
from reticent.ledger.reader import verify_export
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of
from reticent.privacy.shortfall import widening
from tests.support.ledger_kit import ONE, PERSON, charge, eps, forked, joined, ledger_at
from tests.support.ledger_places import Places

DELTA = Fraction(1, 10**9)


@pytest.fixture(params=["file", "memory", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "memory":
        return ledger_at(None, eps(3))
    server = request.getfixturevalue("ledger_server") if request.param == "postgres" else None
    return ledger_at(Places(tmp_path, server).new(), eps(3))


def test_a_charge_is_spent_before_the_receipt_is_held(ledger: Ledger) -> None:
    receipt = ledger.reserve(eps(1), adjacency=PERSON, what="table 4", who="anna", purpose="appendix")
    assert receipt.id == "r-0001"
    assert (ledger.spent(), ledger.left(), ledger.budget) == (eps(1), eps(2), eps(3))
    (line,) = ledger.releases()
    assert (line.who, line.what, line.purpose, line.state, line.charge) == (
        "anna",
        "table 4",
        "appendix",
        "reserved",
        eps(1),
    )
    assert line.entry == receipt.entry == ledger.head


def test_a_failed_release_stays_spent(ledger: Ledger) -> None:
    receipt = ledger.reserve(eps(1), adjacency=PERSON, what="x")
    ledger.fail(receipt, "f-31")
    assert ledger.spent() == eps(1)
    assert (ledger.releases()[0].state, ledger.releases()[0].note) == ("failed", "f-31")


def test_a_refusal_charges_nothing_and_leaves_the_chain_as_it_is(ledger: Ledger) -> None:
    charge(ledger)
    head = ledger.head
    ledger.note_refusal("mean(disea)", who="anna", code="5")
    assert ledger.head == head
    assert charge(ledger) == "r-0002"
    assert ledger.spent() == eps(2)
    assert [line.state for line in ledger.releases()] == ["reserved", "reserved"]
    (line,) = ledger.refusals()
    assert (line.what, line.who, line.note, line.state, line.charge) == ("mean(disea)", "anna", "5", "refused", None)


def test_a_receipt_is_committed_once(ledger: Ledger) -> None:
    receipt = ledger.reserve(ONE, adjacency=PERSON, what="x")
    ledger.commit(receipt, digest="d")
    assert ledger.releases()[0].digest == "d"
    with pytest.raises(LedgerError, match="r-0001 is committed already"):
        ledger.commit(receipt, digest="d")
    with pytest.raises(LedgerError, match="r-0001 is committed already"):
        ledger.fail(receipt, "f-1")


def test_a_receipt_is_committed_by_the_ledger_that_issued_it(ledger: Ledger) -> None:
    other = ledger_at(None, eps(3))
    foreign = other.reserve(ONE, adjacency=PERSON, what="x")
    mine = ledger.reserve(ONE, adjacency=PERSON, what="x")
    for receipt in (foreign, replace(mine, entry="0" * 64), replace(mine, id="r-0002")):
        with pytest.raises(LedgerError, match="not issued by this ledger"):
            ledger.commit(receipt, digest="d")
    assert ledger.verify() == ()


@pytest.mark.parametrize(
    ("budget", "spent", "asked", "words"),
    [
        (
            eps(3),
            eps("1.4"),
            eps(2),
            "This needs ε 2; 1.6 of 3 is left. Nothing was charged. "
            'With epsilon="1.6" the noise would be a quarter wider.',
        ),
        (eps(3), eps(3), eps("0.1"), "This needs ε 0.1; 0 of 3 is left. Nothing was charged."),
        (
            ApproxDP(Fraction(3), DELTA),
            eps(2),
            ApproxDP(Fraction(2), DELTA),
            'This needs ε 2; 1 of 3 is left. Nothing was charged. With epsilon="1" the noise would be twice as wide.',
        ),
        (
            ApproxDP(Fraction(3), DELTA),
            ApproxDP(Fraction(1), DELTA / 2),
            ApproxDP(Fraction(1), DELTA),
            'This needs δ 1e-9; 5e-10 of 1e-9 is left. Nothing was charged. With delta="5e-10" it would fit.',
        ),
        (
            eps(3),
            eps(1),
            ApproxDP(Fraction(1), DELTA),
            "This budget has no δ; (ε 1, δ 1e-9) needs 1e-9 of it. Nothing was charged.",
        ),
        (
            ApproxDP(Fraction(3), DELTA),
            ApproxDP(Fraction(2), DELTA),
            ApproxDP(Fraction(2), DELTA),
            "This needs (ε 2, δ 1e-9); ε 1 of 3 and δ 0 of 1e-9 are left. Nothing was charged.",
        ),
        (
            ZCDP(Fraction(1)),
            ZCDP(Fraction(7, 8)),
            ZCDP(Fraction(1, 2)),
            "This needs ρ 0.5; 0.125 of 1 is left. Nothing was charged. "
            'With rho="0.125" the noise would be twice as wide.',
        ),
        (
            ZCDP(Fraction(1)),
            ZCDP(Fraction(1, 2)),
            eps(2),
            "This needs ρ 2, which is ε 2 squared and halved; 0.5 of 1 is left. Nothing was charged. "
            'With epsilon="1" the noise would be twice as wide.',
        ),
        (
            ZCDP(Fraction(1)),
            ZCDP(Fraction(1, 2)),
            ApproxDP(Fraction(1), DELTA),
            "This budget has no δ; (ε 1, δ 1e-9) needs 1e-9 of it. Nothing was charged.",
        ),
        (
            ApproxZCDP(Fraction(1), DELTA),
            ApproxZCDP(Fraction(1, 2), DELTA / 2),
            ApproxDP(Fraction(2), DELTA / 2),
            "This needs (ρ 2, δ 5e-10), which is ε 2 squared and halved; 0.5 of 1 is left. Nothing was charged. "
            'With epsilon="1" the noise would be twice as wide.',
        ),
        (
            ApproxZCDP(Fraction(1), DELTA),
            ApproxZCDP(Fraction(1, 2), DELTA / 2),
            ApproxZCDP(Fraction(1, 2), DELTA),
            'This needs δ 1e-9; 5e-10 of 1e-9 is left. Nothing was charged. With delta="5e-10" it would fit.',
        ),
        (
            ApproxZCDP(Fraction(1), DELTA),
            ZCDP(Fraction(1, 2)),
            ApproxZCDP(Fraction(3, 4), 2 * DELTA),
            "This needs (ρ 0.75, δ 2e-9); ρ 0.5 of 1 and δ 1e-9 of 1e-9 are left. Nothing was charged.",
        ),
        (
            ZCDP(Fraction(1)),
            ZCDP(Fraction(1, 2)),
            GaussianDP(Fraction(4)),
            "This needs ρ 2, which is μ 2 squared and halved; 0.5 of 1 is left. Nothing was charged. "
            "A μ of 1 would fit.",
        ),
    ],
    ids=str,
)
def test_too_little_left_says_what_would_fit(budget: Loss, spent: Loss, asked: Loss, words: str) -> None:
    ledger = ledger_at(None, budget)
    charge(ledger, spent)
    before = ledger.spent()
    for attempt in (ledger.check, lambda loss, adjacency: ledger.reserve(loss, adjacency=adjacency, what="x")):
        with pytest.raises(BudgetError) as refusal:
            attempt(asked, adjacency=PERSON)
        assert str(refusal.value) == words
    assert ledger.spent() == before


def test_what_a_refusal_advises_fits() -> None:
    for spent in ("1/3", "2.99999", "1e-7", "22/7"):
        ledger = ledger_at(None, eps(4))
        charge(ledger, eps(spent))
        with pytest.raises(BudgetError) as refusal:
            charge(ledger, eps(4))
        charge(ledger, eps(str(refusal.value).split('epsilon="')[1].split('"')[0]))


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ("1.01", "hardly wider"),
        ("1.1", "a tenth wider"),
        ("1.25", "a quarter wider"),
        ("1.29", "about a quarter wider"),
        ("1.5", "half as wide again"),
        ("2", "twice as wide"),
        ("2.2", "about twice as wide"),
        ("3.3", "about three times as wide"),
        ("7", "7 times as wide"),
        ("20.4", "20 times as wide"),
        ("500", "more than a hundred times as wide"),
    ],
)
def test_a_ratio_is_said_in_words(ratio: str, words: str) -> None:
    assert widening(Fraction(ratio)) == words


def test_an_approval_that_ended_charges_nothing(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    over = Ledger.create(None, title="t", adjacency=PERSON, budget=eps(3), ends=today - timedelta(days=1))
    with pytest.raises(BudgetError, match=f"The approval ended on {today - timedelta(days=1)}. Nothing was charged"):
        charge(over)
    assert over.spent() == eps(0)
    over.amend(eps(3), reason="extended by the board", ends=today + timedelta(days=2))
    assert charge(over) == "r-0001"
    assert over.ends == today + timedelta(days=2)


def test_a_ledger_counts_for_one_kind_of_neighbour(ledger: Ledger) -> None:
    for other in (Adjacency("substitute"), Adjacency("add_remove", rows=5), Adjacency("add_remove", unit="row")):
        with pytest.raises(LedgerError, match=r"The two do not add up\. Nothing was charged"):
            ledger.reserve(ONE, adjacency=other, what="x")
    assert ledger.spent() == eps(0)


def test_local_losses_never_enter() -> None:
    with pytest.raises(LedgerError, match="never enter a ledger"):
        ledger_at(None, eps(1), Adjacency("local"))


def test_a_ledger_counts_in_one_currency() -> None:
    with pytest.raises(LedgerError, match="converted at a δ named"):
        charge(ledger_at(None, eps(3)), ZCDP(Fraction(1, 100)))
    curve = Renyi(((Fraction(2), Fraction(1, 10)),))
    with pytest.raises(LedgerError, match=r"must first be converted.*Nothing was charged"):
        charge(ledger_at(None, ZCDP(Fraction(3))), curve)
    for budget in (curve, GaussianDP(Fraction(1)), pld_of([])):
        with pytest.raises(LedgerError, match=r"A budget is \(ε, δ\) or ρ \(zCDP\); .* is neither"):
            ledger_at(None, budget)


def test_a_zcdp_ledger_may_have_a_delta() -> None:
    ledger = ledger_at(None, ApproxZCDP(Fraction(3), DELTA))
    charge(ledger, ApproxDP(Fraction(1), DELTA / 4))
    charge(ledger, ApproxZCDP(Fraction(1, 4), DELTA / 4))
    charge(ledger, GaussianDP(Fraction(1, 4)))
    assert ledger.spent() == ApproxZCDP(Fraction(7, 8), DELTA / 2)
    assert ledger.left() == ApproxZCDP(Fraction(17, 8), DELTA / 2)
    assert (ledger.currency, ledger.verify()) == ("zcdp", ())
    exported = json.loads(json.dumps(ledger.export()))
    assert verify_export(exported) == ()
    assert exported["spent"] == {"rho": "0.875", "delta": "5e-10"}


def test_a_zcdp_ledger_gains_a_delta_by_amendment() -> None:
    ledger = ledger_at(None, ApproxZCDP(Fraction(1), Fraction(0)))
    assert ledger.budget == ZCDP(Fraction(1))
    with pytest.raises(BudgetError, match="has no δ"):
        charge(ledger, ApproxDP(Fraction(1), DELTA))
    ledger.amend(ApproxZCDP(Fraction(1), DELTA), reason="thresholds")
    charge(ledger, ApproxDP(Fraction(1), DELTA))
    with pytest.raises(LedgerError, match="is spent already"):
        ledger.amend(ZCDP(Fraction(1)), reason="no thresholds")
    with pytest.raises(LedgerError, match="is neither"):
        ledger.amend(GaussianDP(Fraction(9)), reason="modern")
    with pytest.raises(LedgerError, match="currency of a ledger is fixed"):
        ledger.amend(ApproxDP(Fraction(9), DELTA), reason="modern")
    assert ledger.verify() == ()


def test_a_key_replayed_a_hundred_times_charges_once(ledger: Ledger) -> None:
    first = ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="q")
    assert not first.replayed
    for _ in range(100):
        again = ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="q")
        assert again == first
        assert again.replayed
    assert ledger.spent() == ONE
    with pytest.raises(LedgerError, match=r"used for another request, r-0001\. Nothing was charged"):
        ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="other")
    charge(ledger, eps(2))
    assert ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="q") == first


def test_a_key_belongs_to_whom_it_was_given(ledger: Ledger) -> None:
    first = ledger.reserve(ONE, adjacency=PERSON, what="x", who="anna", key="k", request_digest="q")
    other = ledger.reserve(ONE, adjacency=PERSON, what="x", who="bob", key="k", request_digest="q")
    assert other != first
    assert ledger.spent() == eps(2)


def test_a_replayed_receipt_pays_for_no_second_draw(ledger: Ledger) -> None:
    ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="q")
    again = ledger.reserve(ONE, adjacency=PERSON, what="x", key="k", request_digest="q")
    with pytest.raises(LedgerError, match="charged once"):
        ledger.commit(again, digest="d")


def test_a_budget_is_amended_as_an_entry(ledger: Ledger) -> None:
    charge(ledger, eps(3))
    entries = len(ledger.entries())
    ledger.amend(eps(4), reason="board of March")
    assert (ledger.left(), len(ledger.entries())) == (eps(1), entries + 1)
    with pytest.raises(LedgerError, match="ε 3 is spent already"):
        ledger.amend(eps(2), reason="second thoughts")
    with pytest.raises(LedgerError, match="currency of a ledger is fixed"):
        ledger.amend(ZCDP(Fraction(9)), reason="modern")
    assert ledger.verify() == ()


def test_a_closed_ledger_lets_running_releases_end(ledger: Ledger) -> None:
    receipt = ledger.reserve(ONE, adjacency=PERSON, what="x")
    ledger.close("the study is over")
    assert ledger.closed
    ledger.commit(receipt, digest="d")
    with pytest.raises(BudgetError, match=r"closed\. Nothing was charged"):
        charge(ledger)
    ledger.close("again")
    assert ledger.verify() == ()


def test_records_have_a_longest_length(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="at most 20,000 characters"):
        charge(ledger, what="x" * 20_001)
    charge(ledger, what="ε \ud800 \x00 '); DROP TABLE entries; --")
    assert ledger.verify() == ()


def test_a_copy_is_the_same_account(ledger: Ledger) -> None:
    for copied in (copy.copy(ledger), copy.deepcopy(ledger), copy.deepcopy({"budget": [ledger]})["budget"][0]):
        charge(copied)
    assert ledger.spent() == eps(3)
    with pytest.raises(BudgetError):
        charge(ledger)


def test_a_pickled_handle_reopens_its_file(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(3))
    charge(ledger)
    text = pickle.dumps(ledger)
    charge(ledger)
    charge(pickle.loads(text))
    assert ledger.spent() == eps(3)


def test_a_pickled_handle_refuses_an_older_file(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(3))
    before = (tmp_path / "rand.ledger").read_bytes()
    charge(ledger)
    text = pickle.dumps(ledger)
    (tmp_path / "rand.ledger").write_bytes(before)
    with pytest.raises(LedgerError, match="are gone"):
        pickle.loads(text)
    with pytest.raises(LedgerError, match="An older copy was put in its place"):
        charge(ledger)


def test_a_ledger_in_memory_is_not_pickled_nor_used_by_a_fork() -> None:
    ledger = ledger_at(None, eps(3))
    with pytest.raises(LedgerError, match="a second time"):
        pickle.dumps(ledger)

    def child() -> None:
        with pytest.raises(LedgerError, match="budget would be there twice"):
            charge(ledger)

    assert joined([forked(child)]) == [0]


def test_a_fork_draws_on_the_same_file(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(5))
    charge(ledger)
    assert joined([forked(lambda: print(charge(ledger))) for _ in range(3)]) == [0, 0, 0]
    assert (charge(ledger), ledger.left()) == ("r-0005", eps(0))


def test_a_fork_while_another_thread_charges_does_not_hang(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(5))
    with ledger._book._lock:  # as if another thread were in the middle of a charge
        child = forked(lambda: print(charge(ledger)))
        assert joined([child]) == [0]
    assert ledger.spent() == ONE


def test_threads_share_one_budget(ledger: Ledger) -> None:
    grants: list[str] = []

    def race() -> None:
        for _ in range(2):
            try:
                grants.append(charge(ledger))
            except BudgetError:
                return

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(grants) == ["r-0001", "r-0002", "r-0003"]
    assert ledger.verify() == ()


def test_a_representation_shows_no_numbers(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", PureDP(Fraction(17)))
    assert "17" not in repr(ledger).replace(str(tmp_path), "")
    assert not hasattr(ledger, "__dict__")


def test_the_date_of_a_ledger_does_not_go_back() -> None:
    ledger = Ledger.create(None, title="t", adjacency=PERSON, budget=eps(3), ends=date(2999, 1, 1))
    assert ledger.spent() == eps(0)
    ledger._book.replay.last_day = date(2999, 1, 2)  # an entry of a later day: the clock was put back since
    with pytest.raises(BudgetError, match="The approval ended"):
        charge(ledger)


def test_the_protected_unit_of_a_ledger_is_fixed(tmp_path: Path) -> None:
    file = tmp_path / "rand.ledger"

    def opened(person: str | None) -> Ledger:
        return Ledger.open_or_create(file, title="t", adjacency=PERSON, budget=eps(3), person=person)

    charge(opened("fam"))
    for other, said in (("who", "'who'"), (None, "every row")):
        with pytest.raises(LedgerError) as refusal:
            opened(other)
        assert str(refusal.value) == (
            f"{file}: This ledger protects each 'fam'; the study now says {said}. The unit of a ledger is fixed: "
            "losses for one do not add up with losses for the other. Nothing was charged. Put the study back."
        )
    again = opened("fam")
    assert (again.person, again.spent(), again.verify()) == ("fam", eps(1), ())
    document = json.loads(json.dumps(again.export()))
    assert verify_export(document, head=again.head) == ()
    assert '"person":"fam"' in document["entries"][0]["body"]


def test_a_ledger_that_names_no_person_column_protects_rows(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(3))
    assert ledger.person is None
    assert "person" not in json.loads(ledger.entries()[0].body)
    with pytest.raises(LedgerError, match="protects each row; the study now says 'fam'"):
        Ledger.open_or_create(tmp_path / "rand.ledger", title="t", adjacency=PERSON, budget=eps(3), person="fam")
    again = Ledger.open_or_create(tmp_path / "rand.ledger", title="t", adjacency=PERSON, budget=eps(3))
    assert again.verify() == ()
