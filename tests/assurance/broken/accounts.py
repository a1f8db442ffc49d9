"""Classes D2, E1 to E3, E6: the budget and the bytes around the numbers."""

from __future__ import annotations

import copy
import pickle
import struct
import threading
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from reticent.data.query import Rows
from reticent.data.schema import Person, Schema, category, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.errors import BudgetError, LedgerError, ReticentError
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from tests.assurance.broken.exhibit import AnyExhibit, Exhibit, Tried

NEAR: Final = Adjacency("add_remove")
ONE: Final = PureDP(Fraction(1))
CANARY: Final = 8_675_309
THREADS: Final = 8


class Purse:
    """A budget of 1 in memory: what most accountants are."""

    def __init__(self) -> None:
        self.spent = 0

    def charge(self) -> bool:
        """Tell if a release of epsilon 1 may go ahead."""
        if self.spent >= 1:
            return False
        self.spent += 1
        return True


class PurseThatLooksFirst(Purse):
    """Looks whether something is left, works a little, then takes it: requests at the same time all see a full purse.
    Hit: diffprivlib's ``BudgetAccountant.spend`` (6 grants on a budget for 1)."""

    def charge(self) -> bool:
        granted = self.spent < 1
        time.sleep(0.01)
        self.spent += granted
        return granted


class PurseThatIsCopied(Purse):
    """Lives in one process and is pickled to the next: the copy holds the budget again. Hit: diffprivlib's accountant,
    any ledger restored from a backup."""


class PurseThatPaysLast(Purse):
    """Computes, then charges. A release that fails costs nothing, and whether it fails is one exact bit about the rows,
    as often as wanted. Hit: diffprivlib (a failed call charges 0); Haeberlen et al. 2011."""

    def ask(self, work: Callable[[], object]) -> None:
        work()
        self.charge()


class Account:
    """Ours: a ledger in memory with a budget of 1, and one request that fails."""

    def __init__(self) -> None:
        self.ledger = Ledger.create(None, title="gallery", adjacency=NEAR, budget=ONE)

    def charge(self) -> bool:
        """Tell if the ledger reserves epsilon 1."""
        try:
            self.ledger.reserve(ONE, adjacency=NEAR, what="count")
        except BudgetError:
            return False
        return True

    def ask(self, work: Callable[[], object]) -> None:
        """Reserve, work, and record a failure, as a release does."""
        receipt = self.ledger.reserve(ONE, adjacency=NEAR, what="count")
        try:
            work()
        except Exception:
            self.ledger.fail(receipt, "f-gallery")
            raise


def _at_once(make: Any) -> str:
    account, start = make(), threading.Barrier(THREADS)
    granted: list[bool] = []

    def request() -> None:
        start.wait()
        granted.append(account.charge())

    threads = [threading.Thread(target=request) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"{sum(granted)} grants on a budget for 1" if sum(granted) != 1 else ""


def _twice(make: Any) -> str:
    account = make()
    account.charge()
    again = [account.charge(), copy.copy(account).charge()]
    try:
        again.append(pickle.loads(pickle.dumps(account)).charge())
    except LedgerError:
        again.append(False)
    return "a copy of the spent account pays again" if any(again) else _restored(make)


def _restored(make: Any) -> str:
    account = make()
    try:
        kept = pickle.dumps(account)
    except LedgerError:
        return ""
    account.charge()
    older = pickle.loads(kept)
    return "an older copy of the account pays again" if older.charge() else ""


def _failing(make: Any) -> str:
    account, told = make(), 0
    for _ in range(5):
        try:
            account.ask(lambda: 1 // 0)
        except ZeroDivisionError:
            told += 1
        except BudgetError:
            break
    return f"{told} exact bits on a budget for 1" if told > 1 else ""


# --- D2, E6: what travels with an answer ------------------------------------------------------------------------------


class FittedModel:
    """An estimator keeps what it saw for later: counts, labels, the largest value, in attributes that are pickled with
    it. Hit: diffprivlib's ``classes_``, ``n_samples_seen_``, ``labels_``."""

    def __init__(self, rows: Sequence[float]) -> None:
        self.largest_seen_ = max(rows)
        self.mean_ = sum(rows) / len(rows) + Replayed("model").bits(3)


def error_that_quotes(rows: Sequence[float]) -> object:
    """The error message quotes the value that could not be used, and goes to a log. Hit: Spark (SPARK-33504), every
    ``ValueError: invalid literal``."""
    try:
        return [int(f"{row} years") for row in rows]
    except ValueError as error:
        return error


SCHEMA: Final = Schema({"x": real(0, 10**7), "g": category(["a"])}, Person("add_remove", None))


def ours_answer(rows: Sequence[float]) -> object:
    """A table, and the answer to a sum over it."""
    table = open_table({"x": list(rows), "g": ["a"] * len(rows)}, SCHEMA)
    step = prepare(parse("sum(x)"), Setting(SCHEMA, None), Fraction(1, 10))
    return table, step, step.answer(table.run(step.queries, bytes(32)), Replayed("canary"))


def ours_error(rows: Sequence[float]) -> object:
    """Error of a table for rows whose columns differ in length, or are no numbers."""
    try:
        table = open_table({"x": [f"{row} years" for row in rows], "g": ["a"] * (len(rows) - 1)}, SCHEMA)
        return table.run([Rows()], bytes(32))
    except ReticentError as error:
        return error


def written(thing: object, deep: int = 6) -> str:
    """Everything that repr, str and the attributes of a thing would write."""
    texts = [repr(thing), str(thing)]
    parts = thing if isinstance(thing, tuple | list) else list(getattr(thing, "__dict__", {}).values())
    if isinstance(thing, BaseException):
        parts = [*parts, *thing.args, thing.__cause__, thing.__context__]
    return " ".join([*texts, *(written(part, deep - 1) for part in parts if deep and part is not thing)])


def _canary(make: Any) -> str:
    made = make([float(CANARY), 1.0, 3.0])
    try:
        found = struct.pack(">d", CANARY) in pickle.dumps(made)
    except (ReticentError, TypeError, AttributeError):  # what cannot be pickled travels nowhere
        found = False
    found = found or str(CANARY) in written(made)
    return "a value of one person stands in what is written" if found else ""


EXHIBITS: Final[tuple[AnyExhibit, ...]] = (
    Exhibit(
        "D2", FittedModel, Tried(_canary, "the answer only", "no value found", "canary"), ours_answer, "Answer, Table"
    ),
    Exhibit("E1", PurseThatLooksFirst, Tried(_at_once, "budget 1", "1 grant", "stampede"), Account, "Ledger"),
    Exhibit("E2", PurseThatIsCopied, Tried(_twice, "budget 1", "1 grant", "copy"), Account, "Ledger"),
    Exhibit("E3", PurseThatPaysLast, Tried(_failing, "budget 1", "charged first", "failure"), Account, "Ledger"),
    Exhibit(
        "E6", error_that_quotes, Tried(_canary, "a constant text", "no value found", "canary"), ours_error, "Table"
    ),
)
