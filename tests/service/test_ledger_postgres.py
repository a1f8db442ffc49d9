"""A ledger in PostgreSQL: durable, charged once, never overspent, and refused where it was changed or put back."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.demo.postgres_server import PostgresServer, _run
from reticent.errors import BudgetError, LedgerError, SpecError
from reticent.ledger import Ledger, postgres_store
from reticent.ledger.fingerprint import adopt, open_for
from reticent.ledger.postgres_store import PostgresStore, durable
from reticent.ledger.store import Addition, Extract, LostReply
from tests.conventions.tree import ROOT
from tests.support.cli_kit import run
from tests.support.ledger_kit import ONE, PERSON, charge, eps, hasty, ledger_at, rows_at, stampede, store_of, storm
from tests.support.ledger_places import Places, connected, rewritten

STUDY = """
[study]
title = "clinic"
source = "rows.csv"
ledger = "{place}"

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "5"

[columns.x]
kind = "integer"
low = 0
high = 9
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def servers(tmp_path: Path, ledger_server: PostgresServer) -> Places:
    return Places(tmp_path, ledger_server)


@pytest.fixture
def place(servers: Places) -> str:
    """A ledger with two charges, the second of which was committed."""
    place = str(servers.new())
    ledger = ledger_at(place, eps(10))
    charge(ledger, what="table 1")
    ledger.commit(ledger.reserve(ONE, adjacency=PERSON, what="table 2"), digest="d")
    return place


# --- durable ----------------------------------------------------------------------------------------------------------


def test_a_charge_is_committed_with_the_log_synced_whatever_the_role_prefers(place: str) -> None:
    eager = PostgresStore.at(f"{place}&options=-csynchronous_commit%3Doff")
    seen: list[Any] = []

    def decide(view: Extract) -> Addition:
        seen.append(view.run("SELECT current_setting('synchronous_commit'), current_setting('fsync')")[0])  # type: ignore[attr-defined]  # the statements of a store in SQL
        return Addition()

    eager.append(decide)
    assert seen == [("on", "on")]


@pytest.mark.parametrize(
    "settings", [("off", "on", "on"), ("on", "off", "on"), ("on", "on", "off"), ("on", "on", "local")]
)
def test_a_server_that_does_not_sync_is_not_durable(settings: tuple[str, str, str]) -> None:
    assert durable("on", "on", "on")
    assert durable("on", "on", "remote_apply")
    assert not durable(*settings)


def test_a_server_with_fsync_off_is_refused(place: str) -> None:
    with connected(place) as owner:
        try:
            owner.execute("ALTER SYSTEM SET fsync = off")
            owner.execute("SELECT pg_reload_conf(), pg_sleep(0.3)")
            with pytest.raises(LedgerError, match="cannot promise to keep an entry through a power cut"):
                charge(Ledger.open(place))
        finally:
            owner.execute("ALTER SYSTEM RESET fsync")
            owner.execute("SELECT pg_reload_conf(), pg_sleep(0.3)")
    assert charge(Ledger.open(place)) == "r-0003"


# --- tampering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = 'x'",
        "DELETE FROM entries WHERE number = 2",
        "TRUNCATE entries",
        "INSERT INTO entries VALUES (9, 'x', 'y')",
        "SET session_replication_role = replica; DELETE FROM entries",
    ],
)
def test_the_triggers_refuse_every_change_even_the_owners(place: str, statement: str) -> None:
    before = rows_at(place)
    with connected(place) as owner, pytest.raises(Exception, match="a ledger only grows"):
        owner.execute(statement)
    assert rows_at(place) == before


@pytest.mark.parametrize(
    "statements",
    [
        "ALTER TABLE entries DISABLE TRIGGER stay",
        "ALTER TABLE entries ENABLE TRIGGER stay",
        "DROP TRIGGER truncate ON entries",
        "CREATE OR REPLACE FUNCTION only_grows() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE RULE lost AS ON INSERT TO entries DO INSTEAD NOTHING",
        "ALTER TABLE entries ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE entries SET UNLOGGED",
        "ALTER TABLE entries ADD COLUMN more text",
        "ALTER TABLE entries DROP CONSTRAINT entries_pkey",
        "CREATE TABLE child () INHERITS (entries)",
        "ALTER TABLE answers SET UNLOGGED",
        "DROP TABLE names",
        "COMMENT ON TABLE entries IS 'something else'",
    ],
)
def test_changed_tables_are_refused(place: str, statements: str) -> None:
    with connected(place) as owner:
        owner.execute(statements)
    with pytest.raises(LedgerError, match=r"is damaged: its tables|not a ledger of reticent"):
        charge(Ledger.open(place))


def test_a_later_form_is_refused_in_its_words(place: str) -> None:
    with connected(place) as owner:
        owner.execute("COMMENT ON TABLE entries IS 'ledger of reticent, form 3'")
    with pytest.raises(LedgerError, match="form 3; this reticent reads form 2"):
        Ledger.open(place)


# --- put back, gone, another one --------------------------------------------------------------------------------------


def test_an_older_copy_is_refused_by_the_machine_that_charged_the_newest(place: str, tmp_path: Path) -> None:
    older = rows_at(place)
    running = Ledger.open(place)
    charge(running)
    newest = rows_at(place)
    rewritten(place, older)
    with pytest.raises(LedgerError, match="An older copy was put in its place"):
        charge(running)
    with pytest.raises(LedgerError, match="is an older copy: entries it had are gone"):
        charge(Ledger.open(place))
    assert "the head that this machine keeps is not in the chain" in Ledger.open(place).verify()[-1]
    rewritten(place, newest)
    assert charge(Ledger.open(place)) == "r-0004"


def test_a_charge_beside_a_reader_does_not_look_like_an_older_copy(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is kept after the reader's moment and before it looks for the head."""
    reading, other = PostgresStore.reading, Ledger.open(place)
    other.spent()

    @contextlib.contextmanager
    def meanwhile(self: PostgresStore) -> Iterator[Extract]:
        with reading(self) as view:
            if other.known.number == 4:
                charge(other)
            yield view

    handle = Ledger.open(place)
    monkeypatch.setattr(PostgresStore, "reading", meanwhile)
    assert handle.spent() == eps(2)
    assert handle.spent() == eps(3)


def test_an_older_copy_is_adopted_with_all_that_is_left_charged(place: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("a\n1\n")
    older = rows_at(place)
    ledger = Ledger.open(place)
    charge(ledger)
    rewritten(place, older)
    adopt(source, ["a"], Ledger.open(place), reason="the server was lost")
    found = Ledger.open(place)
    assert (found.left(), found.verify()) == (eps(0), ())


def test_a_ledger_that_is_gone_is_not_made_again(place: str) -> None:
    schema = PostgresStore.at(place).schema
    with connected(place) as owner:
        owner.execute(f'DROP SCHEMA "{schema}" CASCADE')
    with pytest.raises(LedgerError, match=r"is gone\. What was released under it is spent all the same"):
        ledger_at(place)


def test_another_ledger_in_its_place_is_refused(place: str) -> None:
    schema = PostgresStore.at(place).schema
    with connected(place) as owner:
        owner.execute(f'DROP SCHEMA "{schema}" CASCADE')
    os.environ["XDG_STATE_HOME"] += "-elsewhere"
    ledger_at(place)
    os.environ["XDG_STATE_HOME"] = os.environ["XDG_STATE_HOME"].removesuffix("-elsewhere")
    with pytest.raises(LedgerError, match="is not the ledger that was there"):
        charge(Ledger.open(place))


def test_a_claimed_source_refuses_an_older_copy(servers: Places, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("a\n1\n")
    place = servers.new()
    ledger = open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(9))
    older = rows_at(place)
    charge(ledger)
    rewritten(place, older)
    Ledger.open(place).forget_head()
    with pytest.raises(LedgerError, match="is an older copy"):
        open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(9))


# --- lost connections and undone transactions -------------------------------------------------------------------------


@pytest.fixture
def meddling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What happens to the next COMMITs: "undone", "lost before" or "lost after" the server has done it."""
    import psycopg

    execute, plans = psycopg.Connection.execute, list[str]()

    def meddled(self: Any, statement: Any, *words: Any, **named: Any) -> Any:
        if statement != "COMMIT" or not plans:
            return execute(self, statement, *words, **named)
        match plans.pop(0):
            case "undone":
                execute(self, "ROLLBACK")
                raise psycopg.errors.SerializationFailure("could not serialize access")
            case "lost before":
                self.close()
            case "lost after":
                execute(self, "COMMIT")
                self.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(psycopg.Connection, "execute", meddled)
    yield plans
    assert plans == []


def test_a_transaction_that_the_server_undid_is_asked_again_and_charged_once(place: str, meddling: list[str]) -> None:
    ledger = Ledger.open(place)
    meddling += ["undone"] * 3
    assert charge(ledger) == "r-0003"
    assert (ledger.spent(), ledger.verify()) == (eps(3), ())


@pytest.mark.parametrize(("moment", "spent"), [("lost before", 2), ("lost after", 3)])
def test_a_connection_lost_at_commit_gives_no_receipt_and_never_undercounts(
    place: str, meddling: list[str], moment: str, spent: int
) -> None:
    ledger = Ledger.open(place)
    meddling.append(moment)
    with pytest.raises(LostReply, match="nothing may be drawn; if it is there, it counts as spent"):
        charge(ledger)
    assert ledger.spent() == eps(spent)
    assert charge(ledger) == f"r-{spent + 1:04d}"
    assert ledger.verify() == ()


def test_a_connection_lost_before_commit_charges_nothing(place: str, servers: Places) -> None:
    ledger = Ledger.open(place)

    def ended(view: Extract) -> Addition:
        ((number,),) = view.run("SELECT pg_backend_pid()")  # type: ignore[attr-defined]
        with connected(place) as owner:
            owner.execute("SELECT pg_terminate_backend(%s)", (number,))
        return Addition((rows_at(place)[-1],))

    with pytest.raises(LedgerError, match=r"connection was lost.*Nothing was charged"):
        store_of(ledger).append(ended)
    assert ledger.spent() == eps(2)


def test_a_release_that_loses_its_server_between_reserve_and_commit_stays_charged(place: str) -> None:
    ledger = Ledger.open(place)
    receipt = ledger.reserve(ONE, adjacency=PERSON, what="table 3")
    with connected(place) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
    assert Ledger.open(place).spent() == eps(3)
    ledger.commit(receipt, digest="d")
    assert Ledger.open(place).verify() == ()


def test_an_entry_inserted_without_the_lock_is_seen_before_the_charge(place: str) -> None:
    """Somebody else's number is taken first: the server undoes ours, and the decision is made again."""
    ledger = Ledger.open(place)
    tries: list[int] = []

    def decide(view: Extract) -> Addition:
        number = view.rows(1)[-1].number
        tries.append(number)
        if len(tries) == 1:
            with connected(place) as rogue:
                rogue.execute("INSERT INTO entries VALUES (%s, 'x', 'y')", (number + 1,))
        return Addition(() if len(tries) > 1 else (rows_at(place)[-1],))

    store_of(ledger).append(decide)
    assert tries == [4, 5]
    assert ledger.verify() != ()


# --- who may ----------------------------------------------------------------------------------------------------------


def test_a_role_that_may_select_and_insert_charges_and_changes_nothing(place: str, servers: Places) -> None:
    import psycopg

    kept = PostgresStore.at(place)
    with connected(place) as owner:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'clerk'").fetchone():
            owner.execute("CREATE ROLE clerk LOGIN")
        owner.execute(f'GRANT USAGE ON SCHEMA "{kept.schema}" TO clerk')
        owner.execute(f'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA "{kept.schema}" TO clerk')
    clerk = place.replace("postgres@", "clerk@", 1)
    ledger = Ledger.open(clerk)
    assert (charge(ledger), ledger.spent()) == ("r-0003", eps(3))
    with psycopg.connect(PostgresStore.at(clerk).conninfo, autocommit=True) as connection:
        for statement in ("DELETE FROM", "TRUNCATE", "DROP TABLE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f'{statement} "{kept.schema}".entries')
    with pytest.raises(LedgerError, match="USAGE on the schema, SELECT and INSERT"):
        ledger_at(clerk.replace(kept.schema, "another"))


@pytest.mark.wide
def test_the_steps_of_the_page_give_a_role_a_ledger_that_another_makes(servers: Places, tmp_path: Path) -> None:
    """One role owns the schema and releases first; the other is told by doctor, and follows without a further grant."""
    admin = str(servers.new())
    page = (ROOT / "docs/how-to/ledger_on_a_server.md").read_text("utf-8").split("## Two roles")[1]
    schema = PostgresStore.at(admin).schema
    statements = page.split("```sql\n")[1].split("```")[0].replace("SCHEMA visits", f'SCHEMA "{schema}"')
    with connected(admin) as owner:
        owner.execute("DROP ROLE IF EXISTS keeper")
        known = owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'clerk'").fetchone()
        owner.execute(statements.replace("CREATE ROLE clerk LOGIN;", "") if known else statements)
    (tmp_path / "rows.csv").write_text("x\n" + "".join(f"{n % 10}\n" for n in range(200)), "utf-8")
    studies = {}
    for role in ("keeper", "clerk"):
        studies[role] = tmp_path / f"{role}.toml"
        studies[role].write_text(STUDY.format(place=admin.replace("postgres@", f"{role}@", 1)), "utf-8")
    assert "its role may not make them" in run("doctor", str(studies["clerk"])).said
    with pytest.raises(LedgerError, match="CREATE"):
        rt.open(studies["clerk"]).release(["count"], epsilon=1)
    assert "will be made by the first release" in run("doctor", str(studies["keeper"])).said
    for role in ("keeper", "clerk"):
        rt.open(studies[role]).release(["count"], epsilon=1)
    assert Ledger.open(admin).spent() == eps(2)
    (found,) = run("registry", str(tmp_path), "--json").document["ledgers"]  # under two roles it is one
    assert found["budget"]["spent"]["epsilon"] == "2"
    with connected(admin) as owner:
        owner.execute(f'DROP SCHEMA "{schema}" CASCADE; DROP OWNED BY keeper; DROP ROLE keeper')


@pytest.mark.parametrize("secret", ["postgresql://me:pass@host/db", "postgresql://host/db?password=pass"])
def test_a_password_in_a_url_is_refused_and_not_repeated(secret: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(place=secret))
    for attempt in (lambda: Ledger.open(secret), lambda: rt.open(tmp_path / "study.toml")):
        with pytest.raises(SpecError, match="The ledger holds a password") as refusal:
            attempt()
        assert "pass@" not in str(refusal.value)
        assert "=pass" not in str(refusal.value)


def test_a_server_that_cannot_be_reached_is_not_an_empty_place(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    nowhere = f"postgresql:///db?host={tmp_path}"
    for attempt in (Ledger.open, ledger_at):
        with pytest.raises(LedgerError, match=r"cannot be reached.*Nothing was charged"):
            attempt(nowhere)


# --- many at once -----------------------------------------------------------------------------------------------------


def test_processes_that_make_the_same_ledger_share_it(servers: Places) -> None:
    from tests.support.ledger_kit import forked, joined

    place = servers.new()

    def child() -> None:
        charge(Ledger.open_or_create(place, title="t", adjacency=PERSON, budget=eps(9)))

    assert joined([forked(child) for _ in range(4)]) == [0] * 4
    assert Ledger.open(place).spent() == eps(4)


@pytest.mark.wide
def test_a_stampede_spends_the_budget_to_the_last_and_no_more(servers: Places, tmp_path: Path) -> None:
    place = servers.new()
    ledger = ledger_at(place, eps(20))
    assert sum(stampede(place, tmp_path, writers=12, start_after=0.5)) == 20
    assert (ledger.spent(), ledger.left(), ledger.verify()) == (eps(20), eps(0), ())
    assert [line.id for line in ledger.releases()] == [f"r-{n:04d}" for n in range(1, 21)]


@pytest.mark.wide
def test_a_store_without_the_lock_fails_the_race(
    servers: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant reads without the lock and repeats nothing: charges are lost to each other."""
    place = servers.new()
    ledger_at(place, eps(20))
    monkeypatch.setattr(postgres_store, "_locked", lambda connection, kept: None)
    monkeypatch.setattr(postgres_store, "TRIES", {})
    with pytest.raises(AssertionError):
        assert sum(stampede(place, tmp_path, writers=12, start_after=0.5)) == 20


@pytest.mark.wide
def test_a_storm_of_kills_loses_no_acknowledged_charge(servers: Places, tmp_path: Path) -> None:
    seen = storm(servers.new(), tmp_path, [4] * 8, random.Random(7), longest=0.6)
    assert seen.acknowledged > 10
    assert (seen.lost, seen.excess, seen.broken) == (0, 0, 0)


@pytest.mark.wide
def test_a_writer_that_acknowledges_first_is_caught(servers: Places, tmp_path: Path) -> None:
    assert storm(servers.new(), tmp_path, [4] * 6, random.Random(8), hasty, longest=0.4).lost > 0


@pytest.mark.wide
def test_a_killed_server_keeps_every_acknowledged_charge(servers: Places, ledger_server: PostgresServer) -> None:
    """Ended without a checkpoint, as by a crash, the server recovers from its log alone."""
    place = servers.new()
    ledger, known = ledger_at(place, eps(1000)), 0
    for _ in range(3):
        for _ in range(4):
            charge(ledger)
            known += 1
        _run(
            ledger_server.programs / "pg_ctl", "-D", f"{ledger_server.folder}/data", "-w", "-m", "immediate", "restart"
        )
        assert ledger.spent() == eps(known)
    assert ledger.verify() == ()


@pytest.mark.audit
def test_three_hundred_kills_lose_no_acknowledged_charge(servers: Places, tmp_path: Path) -> None:
    chance = random.Random(9)
    seen = storm(servers.new(), tmp_path, [chance.randint(1, 8) for _ in range(70)], chance, longest=0.5)
    print(f"crash storm in PostgreSQL: {seen}")
    assert seen.kills > 250
    assert seen.acknowledged > 100
    assert (seen.lost, seen.excess, seen.broken) == (0, 0, 0)


# --- a study ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def study(servers: Places, tmp_path: Path) -> Path:
    """A study file that names a ledger on the server."""
    (tmp_path / "rows.csv").write_text("x\n" + "1\n2\n3\n" * 100)
    (tmp_path / "study.toml").write_text(STUDY.format(place=servers.new()))
    return tmp_path / "study.toml"


def test_a_study_charges_a_ledger_on_a_server(study: Path) -> None:
    opened = rt.open(study)
    made = opened.release(["count"], epsilon="1", record=rt.Record(request_id="monday"))
    again = rt.open(study).release(["count"], epsilon="1", record=rt.Record(request_id="monday"))
    assert again.receipt == made.receipt
    assert opened.left() == eps(4)
    with pytest.raises(BudgetError):
        opened.release(["count"], epsilon="4.5")
    ledger_folder = Path(os.environ["XDG_STATE_HOME"]) / "reticent" / "ledgers"
    opened.ledger.note_refusal("mean(y)", code="5")
    assert opened.ledger.refusals()[-1].what == "mean(y)"
    assert {one.stat().st_mode & 0o777 for one in ledger_folder.iterdir()} == {0o600}


@pytest.mark.wide
def test_the_verbs_of_a_ledger_take_a_url_or_the_study(study: Path, tmp_path: Path) -> None:
    place = str(rt.open(study).spec.ledger)
    run("release", str(study), "--ask", "count", "--epsilon", "1", "--out", str(tmp_path / "one"), "--yes")
    for about in (place, str(study)):
        assert run("ledger", "show", about, "--json").document["left"]["epsilon"] == "4"
        assert run("ledger", "verify", about, "--json").document["ok"]
    exported = run("ledger", "export", place, "--json").document
    assert exported["spent"]["epsilon"] == "1"
    assert run("verify", str(tmp_path / "one.json"), "--ledger", place, "--allow-unsigned").code == 0
    findings = run("doctor", str(study), "--json").document["findings"]
    assert ("ledger", "ok") in [(one["about"], one["state"]) for one in findings]
    (held,) = run("registry", str(tmp_path), "--json").document["ledgers"]
    assert (held["ledger"], held["budget"]["left"]["epsilon"]) == (place, "4")
    study.write_text(study.read_text().replace('epsilon = "5"', 'epsilon = "6"'))
    assert run("ledger", "amend", str(study), "--reason", "board", "--yes").code == 0
    assert run("ledger", "adopt", str(study), "--reason", "lost", "--yes").code == 0
    assert run("ledger", "show", place, "--json").document["left"]["epsilon"] == "0"
    assert run("ledger", "close", place, "--reason", "over", "--yes").code == 0
    assert Ledger.open(place).closed
