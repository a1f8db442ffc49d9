"""Sessions and the ledger: what is drawn was reserved, exactly once, whatever crashes, forks, races or copies."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.table import Table
from reticent.entropy import Forks
from reticent.errors import BudgetError, Fault, LedgerError, PublicParameterError, QuestionError
from reticent.learning import Accuracy, Between, Level, Product
from reticent.ledger import Ledger
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from reticent.privacy.rederivation import rederive
from reticent.sessions.session import Holdout, PaidSession
from reticent.study.study import Study

ROWS = {"x": np.linspace(0, 1, 400), "y": np.repeat([0, 1], 200), "g": ["a", "b"] * 200}
OVERFITTED = {"x": [0.0, 1.0], "y": [1, 1]}  # y is 1 here, and 1/2 in the study: every question about y ends a round
AGREEING = {"x": [0.0, 1.0], "y": [0, 1]}


def study(
    ledger: Path | None = None, budget: Any = 8, kind: str = "substitute", missing: Any = 0, delta: Any = None
) -> Study:
    numbers = {"x": rt.real(0, 1, missing=missing), "y": rt.integer(0, 1, missing=missing)}
    columns = {**numbers, "g": rt.category(["a", "b"])}
    return rt.study(ROWS, adjacency=kind, columns=columns, budget=budget, delta=delta, ledger=ledger)  # type: ignore[arg-type]


def opened(of: Study, rounds: int = 4, epsilon: Any = 4, training: Any = None) -> Holdout:
    """Rounds of epsilon 1: means are 0 or .5 off, seen at scales of .01 and .02 with an error below 1e-5."""
    rows: Any = OVERFITTED if training is None else training
    return of.holdout(["x", "y"], public=rows, epsilon=epsilon, rounds=rounds, threshold="0.25")


def eps(value: int | str) -> PureDP:
    return PureDP(Fraction(value))


def states(of: Study) -> list[str]:
    return [line.state for line in of.ledger.releases()]


# --- when it is charged -----------------------------------------------------------------------------------------------


def test_a_round_is_reserved_when_it_opens_and_not_before() -> None:
    of = study()
    session = opened(of)
    assert (of.ledger.spent(), states(of)) == (eps(1), ["reserved"])
    assert session.check(Level("x")).by == "training"
    assert of.ledger.spent() == eps(1)
    assert session.check(Level("y")).by == "holdout"
    assert not session.over
    assert (of.ledger.spent(), states(of)) == (eps(1), ["committed"])  # the next one is not open yet
    session.check(Level("x"))
    assert (of.ledger.spent(), states(of)) == (eps(2), ["committed", "reserved"])
    session.close()
    session.close()
    assert (of.ledger.spent(), states(of)) == (eps(2), ["committed", "committed"])
    with pytest.raises(QuestionError, match="over"):
        session.check(Level("x"))


def test_all_rounds_together_cost_what_was_said_and_no_more() -> None:
    of = study()
    with opened(of) as session:
        for _ in range(4):
            assert session.check(Level("y")).by == "holdout"
        with pytest.raises(QuestionError, match="All that this session may spend"):
            session.check(Level("y"))
        assert session.over
        assert session.rounds == 4
        assert session.guarantee.loss == eps(4) == of.ledger.spent()
        assert rederive(session.guarantee, axiom_again) == eps(4)
        assert len(session.transcript) == 4
        assert session.proof().count("Lyu, Su and Li") == 4


OPENERS: dict[str, tuple[Callable[[Study], Any], Loss]] = {
    "sparse vector": (lambda of: of.sparse_vector(["y"], epsilon=2, positives=3), eps(2)),
    "counts": (lambda of: of.sparse_vector(["y"], epsilon=2, positives=3, of="counts", show="above"), eps(2)),
    "ladder": (lambda of: of.leaderboard(["x", "y"], epsilon=2, improvements=3, step="0.05"), eps(2)),
}


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("missing", [0, "drop"])
@pytest.mark.parametrize("name", OPENERS)
def test_a_session_is_charged_once_for_all_its_answers(name: str, kind: str, missing: Any) -> None:
    """A number of rows that is not public is bought of the same epsilon."""
    of = study(kind=kind, missing=missing)
    opener, cost = OPENERS[name]
    session = opener(of)
    assert of.ledger.spent() == cost == session.guarantee.loss
    session.close()
    assert (of.ledger.spent(), states(of)) == (cost, ["committed"])


@pytest.mark.wide
def test_a_first_round_pays_for_the_number_of_rows_where_it_is_private() -> None:
    of = study(kind="add_remove")
    session = opened(of)
    assert of.ledger.spent() == eps("1.15")  # 4 / 20, and a quarter of the rest
    assert abs(session.people - 400) < 150
    for _ in range(4):
        session.check(Level("y"))
    assert of.ledger.spent() == eps(4)
    assert rederive(session.guarantee, axiom_again) == eps(4)


@pytest.mark.wide
def test_the_charge_is_on_the_disk_before_a_row_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, seen = tmp_path / "a.ledger", []
    of, run = study(file), Table.run

    def looked(self: Table, queries: Any, key: bytes) -> Any:
        if len(queries) == 1 and hasattr(queries[0], "units"):
            seen.append(Ledger.open(file).spent())
        return run(self, queries, key)

    monkeypatch.setattr(Table, "run", looked)
    opened(of)
    assert seen[-1] == eps(1)


@pytest.mark.wide
def test_a_claim_is_checked_without_training_rows_and_costs_a_round_only_where_it_is_off() -> None:
    of = study()
    with of.holdout(["x", "y"], epsilon=4, rounds=4, threshold="0.25") as session:
        with pytest.raises(QuestionError, match=r"claimed=0\.62.*Nothing was drawn"):
            session.check(Level("y"))
        with pytest.raises(PublicParameterError, match="claimed lies between 0 and 1"):
            session.check(Level("y"), claimed=2)
        agreed = session.check(Level("y"), claimed="0.5")
        assert (agreed.by, agreed.value, agreed.estimate) == ("claim", 0.5, None)
        assert str(agreed) == "0.5, as claimed: the holdout's mean is within ±0.36 at 95 %"
        assert (of.ledger.spent(), session.rounds) == (eps(1), 1)
        found = session.check(Level("y"), claimed=1)
        assert found.by == "holdout"
        assert found.estimate is not None
        assert abs(found.value - 0.5) < 0.1  # sigma .005: error below 1e-8
        assert of.ledger.spent() == eps(1)
        assert [name for name, _ in session.transcript] == ["level(y), claimed 0.5", "level(y), claimed 1"]
    assert session.certificate.verify(of.ledger, allow_unsigned=True).ok


@pytest.mark.wide
def test_a_claim_is_read_once_and_as_a_plain_number() -> None:
    """Arithmetic of the caller's own would be shown the exact sum, and a number that changes would be told wrongly."""

    class Changing:
        turns = 0

        def __index__(self) -> int:
            self.turns += 1
            return self.turns - 1

    class Nosy(int):
        seen: list[object] = []  # noqa: RUF012 - of the class, for the test

        @property
        def numerator(self) -> Nosy:
            return self

        def __rsub__(self, other: object) -> int:
            self.seen.append(other)
            return 0

        __rmul__ = __mul__ = __le__ = __ge__ = __rsub__  # type: ignore[assignment]

    with study().holdout(["x", "y"], epsilon=4, rounds=4, threshold="0.25") as session:
        session.check(Level("y"), claimed=Changing())
        session.check(Level("y"), claimed=Nosy(1))
        session.check(Between("y", low=Nosy(1)), claimed="0.5")
        assert not Nosy.seen
        assert [name for name, _ in session.transcript][:2] == ["level(y), claimed 0", "level(y), claimed 1"]


@pytest.mark.wide
def test_questions_are_plain_and_told_as_they_were_asked() -> None:
    """Whatever else they were would be run beside private sums, or told in the place of what was compared."""

    class Turning:
        turns = 0

        def __index__(self) -> int:
            self.turns += 1
            return 1

    class Named(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise AssertionError("asked for its hash")

        __eq__ = str.__eq__

    class Ten(int):
        def __format__(self, spec: str) -> str:
            return "999"

        __str__ = __repr__ = lambda self: "999"

    end = Turning()
    asked = Between(Named("y"), low=end)
    taken = end.turns
    with study().sparse_vector(["x", "y"], epsilon=4, positives=3, of="counts") as session:
        session.above(asked, at_least=Ten(10))
        session.above(Product(Named("x"), Named("y")), at_least=0)
        assert [name for name, _ in session.transcript] == ["between(y, low=1) >= 10", "product(x, y) >= 0"]
    assert end.turns == taken
    with pytest.raises(PublicParameterError, match="named by a text"):
        Level(3)  # type: ignore[arg-type]
    assert type(Accuracy({"x": 1.0}, Named("y"), cut=Ten(1)).cut) is Fraction


@pytest.mark.wide
def test_what_a_fault_interrupts_is_in_no_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(study())

    def fails(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(type(session._paid._ledger), "commit", fails)
    with pytest.raises(Fault):
        session.check(Level("y"))
    assert session.transcript == ()


@pytest.mark.wide
def test_a_claim_may_take_the_place_of_a_training_mean() -> None:
    with opened(study()) as session:
        assert session.check(Level("y"), claimed="0.5").by == "claim"
        assert session.check(Level("y")).by == "holdout"


# --- what is refused, and costs nothing -------------------------------------------------------------------------------


def refusals(of: Study) -> dict[str, Callable[[], object]]:
    rows = OVERFITTED
    more: Any = {"public": rows, "epsilon": 1, "rounds": 1, "threshold": "0.1"}
    return {
        "the study's own rows": lambda: of.holdout(["y"], **{**more, "public": ROWS}),
        "no rounds": lambda: of.holdout(["y"], **{**more, "rounds": 0}),
        "no threshold": lambda: of.holdout(["y"], **{**more, "threshold": 0}),
        "a float that is none": lambda: of.holdout(["y"], **{**more, "epsilon": 0.1 + 0.2}),
        "more than is left": lambda: of.holdout(["y"], **{**more, "epsilon": 9}),
        "another column": lambda: of.sparse_vector(["z"], epsilon=1, positives=1),
        "a text for columns": lambda: of.sparse_vector("y", epsilon=1, positives=1),
        "no positives": lambda: of.sparse_vector(["y"], epsilon=1, positives=0),
        "another word": lambda: of.sparse_vector(["y"], epsilon=1, positives=1, of="medians"),  # type: ignore[arg-type]
        "no step": lambda: of.leaderboard(["y"], epsilon=1, improvements=1, step=0),
        "rho without delta": lambda: of.noisy_answers(["y"], rho=1, answers=1),
        "too many answers": lambda: of.noisy_answers(["y"], rho=1, answers=10_001, delta="1e-9"),
        "no answers": lambda: of.noisy_answers(["y"], rho=1, answers=0, delta="1e-9"),
        "groups": lambda: of.by("g").sparse_vector(["y"], epsilon=1, positives=1),
    }


@pytest.mark.wide
@pytest.mark.parametrize("name", refusals(study()))
def test_what_is_refused_costs_nothing(name: str) -> None:
    of = study()
    with pytest.raises(rt.Refusal):
        refusals(of)[name]()
    assert of.ledger.spent() == eps(0)


@pytest.mark.wide
def test_a_question_that_is_none_costs_nothing_and_leaves_the_session_open() -> None:
    of = study()
    session = opened(of)

    class Watching(Level):
        """A question that would run code of its own."""

    for wrong in (len, "y", Level("z"), Accuracy({"w": 1.0}, "y"), Watching("y")):
        with pytest.raises(QuestionError):
            session.check(wrong)  # type: ignore[arg-type]  # on purpose
    assert session.transcript == ()
    assert session.check(Between("x", high="0.5")).by == "training"
    sparse = of.sparse_vector(["y"], epsilon=1, positives=1, of="counts")
    with pytest.raises(PublicParameterError):
        sparse.above(Level("y"), "0.5")


@pytest.mark.wide
def test_a_round_the_budget_does_not_hold_is_refused_before_anything_is_drawn() -> None:
    of = study(budget=2)
    session = opened(of, rounds=4)
    for _ in range(2):
        session.check(Level("y"))
    for _ in range(3):
        with pytest.raises(BudgetError):
            session.check(Level("y"))
    assert of.ledger.spent() == eps(2)
    assert len(session.transcript) == session.rounds == 2


# --- currencies -------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_budget_in_rho_counts_half_the_square_and_less_where_questions_move_together() -> None:
    of = study(budget=ZCDP(Fraction(1, 4)), kind="add_remove")
    of.sparse_vector(["y"], epsilon="0.2", positives=1, show="above")
    assert of.ledger.spent() == ZCDP(Fraction(1, 50))
    together = of.sparse_vector(["y"], epsilon="0.2", positives=1, of="counts", show="above")
    loss = together.guarantee.loss
    assert isinstance(loss, ZCDP)
    assert loss.rho == Fraction(9, 8) / 100  # e1 = e2 = .1, a range of .3
    assert of.ledger.spent() == ZCDP(Fraction(1, 50) + loss.rho)
    assert rederive(together.guarantee, axiom_again) == loss


@pytest.mark.wide
def test_gaussian_answers_are_charged_in_rho_or_at_a_named_delta() -> None:
    of = study(budget=ZCDP(Fraction(1, 4)))
    with of.noisy_answers(["x", "y"], rho="0.1", answers=3) as session:
        told = [session.ask(Level("y")) for _ in range(3)]
        with pytest.raises(QuestionError):
            session.ask(Level("y"))
    assert all(abs(one.value - 0.5) < 0.2 for one in told)
    assert len({one.value for one in told}) > 1
    assert of.ledger.spent() == ZCDP(Fraction(1, 10))
    named = study(budget=4, delta="1e-6")
    session = named.noisy_answers(["x", "y"], rho="0.01", answers=3, delta="1e-7")
    spent = named.ledger.spent()
    assert isinstance(spent, ApproxDP)
    assert (spent.delta, spent == session.guarantee.loss) == (Fraction(1, 10**7), True)


# --- faults and crashes -----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_fault_inside_an_answer_is_charged_opaque_and_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    of = study()
    session = opened(of)

    def fails(*given: object) -> object:
        raise ValueError(f"a value of one person: {given}")

    monkeypatch.setattr("reticent.sessions.holdout.check", fails)
    with pytest.raises(Fault) as fault:
        session.check(Level("y"))
    monkeypatch.undo()
    assert (fault.value.__cause__, fault.value.__context__) == (None, None)
    assert "person" not in str(fault.value)
    assert (of.ledger.spent(), states(of)) == (eps(1), ["failed"])
    with pytest.raises(QuestionError, match="over"):
        session.check(Level("y"))


@pytest.mark.wide
def test_an_interrupt_ends_the_session_and_the_charge_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    of = study()
    session = opened(of)

    def interrupted(*given: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("reticent.sessions.holdout.check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.check(Level("y"))
    monkeypatch.undo()
    with pytest.raises(QuestionError, match="over"):
        session.check(Level("y"))
    assert (of.ledger.spent(), states(of)) == (eps(1), ["failed"])


@pytest.mark.wide
def test_rows_that_cannot_be_read_are_a_fault_that_was_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    of, run = study(), Table.run

    def fails(self: Table, queries: Any, key: bytes) -> Any:
        if hasattr(queries[0], "units"):
            raise OSError("the disk of one person")
        return run(self, queries, key)

    monkeypatch.setattr(Study, "_probe", lambda self, table: None)
    monkeypatch.setattr(Table, "run", fails)
    with pytest.raises(Fault) as fault:
        opened(of)
    assert fault.value.__context__ is None
    assert (of.ledger.spent(), states(of)) == (eps(1), ["failed"])


@pytest.mark.wide
def test_an_answer_whose_record_cannot_be_written_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    of = study()
    session = opened(of)

    def full(self: Ledger, *given: object, **named: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "commit", full)
    with pytest.raises(Fault):
        session.check(Level("y"))
    monkeypatch.undo()
    assert of.ledger.spent() == eps(1)
    with pytest.raises(QuestionError, match="over"):
        session.check(Level("y"))


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def child(work: Callable[[], None]) -> int:
    """The exit code of ``work`` in a forked child; 7 where it was refused."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            work()
            code = 0
        except QuestionError:
            code = 7
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


@pytest.mark.wide
@needs_fork
def test_a_killed_session_stays_charged(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    study(file)

    def killed() -> None:
        session = opened(study(file))
        session.check(Level("y"))
        session.check(Level("x"))  # the second round is open
        os.kill(os.getpid(), signal.SIGKILL)

    assert child(killed) == -signal.SIGKILL
    ledger = Ledger.open(file)
    assert ledger.spent() == eps(2)
    assert [line.state for line in ledger.releases()] == ["committed", "reserved"]
    assert ledger.verify() == ()


@pytest.mark.wide
@needs_fork
def test_a_forked_child_gets_no_answer_from_its_parent_s_reservation(tmp_path: Path) -> None:
    of = study(tmp_path / "a.ledger")
    session = opened(of)
    assert child(lambda: print(session.check(Level("y")))) == 7
    assert child(session.close) == 0
    assert (of.ledger.spent(), states(of)) == (eps(1), ["reserved"])  # the child closed nothing of the parent's
    assert session.check(Level("y")).by == "holdout"
    assert child(lambda: print(session.check(Level("y")))) == 7
    assert of.ledger.spent() == eps(1)


@pytest.mark.wide
@needs_fork
def test_a_session_that_forgets_its_process_answers_twice() -> None:
    """The mutant: without the comparison of processes the child answers from the parent's threshold."""
    session = opened(study())

    def asks() -> None:
        here = (os.getpid(), Forks.count)
        session._paid._owner = here
        assert session._paid._started is not None
        session._paid._started._owner = here
        session.check(Level("x"))

    assert child(asks) == 0
    assert session.check(Level("x")).by == "training"


@pytest.mark.wide
def test_a_session_is_not_copied() -> None:
    of = study()
    first, second = opened(of), OPENERS["sparse vector"][0](of)
    for held in (first, second, first._paid, first._paid._rows, first._paid._started):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(QuestionError, match=r"paid for once|neither copied"):
                copied(held)


def asked_at_once(session: Holdout, threads: int = 12) -> list[str]:
    """What every thread was told: the answer's source, or that it was refused."""
    start = threading.Barrier(threads)
    told: list[str] = []

    def ask() -> None:
        start.wait()
        try:
            told.append(session.check(Level("y")).by)
        except (QuestionError, BudgetError):
            told.append("refused")

    workers = [threading.Thread(target=ask) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return told


@pytest.mark.wide
def test_threads_are_charged_for_each_round_exactly() -> None:
    of = study()
    told = asked_at_once(opened(of))
    assert sorted(told) == ["holdout"] * 4 + ["refused"] * 8
    assert of.ledger.spent() == eps(4)
    assert states(of) == ["committed"] * 4


@pytest.mark.wide
def test_threads_race_for_the_last_of_the_budget() -> None:
    of = study(budget=3)
    told = asked_at_once(opened(of))
    assert sorted(told) == ["holdout"] * 3 + ["refused"] * 9
    assert of.ledger.spent() == eps(3)


@pytest.mark.wide
def test_a_session_that_opens_rounds_without_reserving_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant draws a new threshold on the old receipt: more answers than the ledger knows."""
    of = study()
    session = opened(of)
    first = session._paid._receipt

    def unpaid(self: PaidSession[Any], cost: Any) -> None:
        self._receipt = first
        self._guarantees.append(cost)

    monkeypatch.setattr(PaidSession, "_reserve", unpaid)
    monkeypatch.setattr(Ledger, "commit", lambda self, receipt, *, digest, shares=(): None)
    answers = sum(session.check(Level("y")).by == "holdout" for _ in range(3))
    assert answers == 3
    assert of.ledger.spent() == eps(1) != session.guarantee.loss


# --- what is held -----------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_rows_go_when_a_session_ends_and_are_never_shown() -> None:
    session = opened(study())
    paid = session._paid
    shown = " ".join([repr(session), repr(paid._rows), repr(paid._started), str(session), repr(session.transcript)])
    assert "0.0025" not in shown  # the second value of x
    assert "array" not in shown
    session.close()
    assert (paid._rows, paid._started) == (None, None)
    gc.collect()
    assert session.rounds == 1


@pytest.mark.wide
def test_an_older_copy_of_the_ledger_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim beside the source remembers the head from the moment a round is reserved."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    from pyarrow import parquet, table

    parquet.write_table(table({"x": ROWS["x"], "y": ROWS["y"]}), tmp_path / "rows.parquet")
    (tmp_path / "study.toml").write_text(
        '[study]\ntitle = "t"\nsource = "rows.parquet"\nledger = "t.ledger"\n[person]\nrows = "one_each"\n'
        'adjacency = "substitute"\n[budget]\nepsilon = "4"\n[columns.x]\nkind = "real"\nlow = 0\nhigh = 1\n'
        '[columns.y]\nkind = "integer"\nlow = 0\nhigh = 1\nmissing = 0\n'
    )
    of = rt.open(tmp_path / "study.toml")
    assert of.ledger.spent() == eps(0)
    before = (tmp_path / "t.ledger").read_bytes()
    of.sparse_vector(["y"], epsilon=2, positives=1).close()
    for file in tmp_path.glob("t.ledger*"):
        file.unlink()
    (tmp_path / "t.ledger").write_bytes(before)
    with pytest.raises(LedgerError):
        rt.open(tmp_path / "study.toml").sparse_vector(["y"], epsilon=2, positives=1)
