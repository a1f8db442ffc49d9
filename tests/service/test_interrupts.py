"""An interrupt after the charge, and a number of the caller's own making, are shown no row and no exact sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from types import TracebackType
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.query_result import QueryResult
from reticent.learning import Between, Level, LogisticRegression
from reticent.mechanisms import gate
from reticent.sessions.row_functions import GridRows

CANARY = 77.125
ROWS = {"y": np.array([CANARY] * 300 + [1.0] * 300), "g": np.arange(600) % 2}


def study() -> rt.Study:
    return rt.study(
        ROWS, adjacency="add_remove", columns={"y": rt.real(0, 100), "g": rt.category([0, 1])}, budget=5, title="rows"
    )


def values(trace: TracebackType | None) -> Iterator[object]:
    """What the frames of this package hold, where an error passed."""
    while trace is not None:
        if "reticent" in trace.tb_frame.f_code.co_filename and "tests" not in trace.tb_frame.f_code.co_filename:
            yield from trace.tb_frame.f_locals.values()
        trace = trace.tb_next


def of_rows(value: object) -> bool:
    """Whether a local is an array as long as the table, or names what holds one."""
    if isinstance(value, GridRows):
        return value.count == 600
    return isinstance(value, QueryResult) or (isinstance(value, np.ndarray) and value.shape[:1] == (600,))


def fit(of: rt.Study) -> None:
    x, y = of.xy(["y"], "g")
    LogisticRegression(epsilon=1).fit(x, y)


def session(of: rt.Study) -> None:
    of.sparse_vector(["y"], epsilon=1, positives=1)


def asked(of: rt.Study) -> None:
    of.holdout(["y"], public={"y": [1.0]}, epsilon=1, rounds=2, threshold="0.1").check(Level("y"))


def release(of: rt.Study) -> None:
    of.release([rt.mean("y")], epsilon=1)


@pytest.mark.parametrize("work", [fit, asked, session, release])
def test_an_interrupt_takes_no_row_with_it(work: Callable[[rt.Study], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def struck(*given: object, **named: object) -> Any:
        rows = next((one for one in given if isinstance(one, np.ndarray)), CANARY)
        try:
            raise ValueError(f"a value of one person: {rows}")
        except ValueError:
            raise KeyboardInterrupt  # noqa: B904 - as it comes, with what was handled

    monkeypatch.setattr(gate, "draw", struck)
    monkeypatch.setattr("reticent.mechanisms.sparse_vector.Conversation.ask", struck)
    of = study()
    with pytest.raises(KeyboardInterrupt) as caught:
        work(of)
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    assert not any(of_rows(value) for value in values(caught.value.__traceback__))
    assert struck.__name__ not in [entry.name for entry in caught.traceback]
    assert of.ledger.spent() == rt.PureDP(
        Fraction(21, 40) if work is asked else Fraction(1)
    )  # a round, and the number of rows


class Listening(int):
    """A number that hears what it is taken from."""

    heard: list[int]

    def __mul__(self, other: int) -> Listening:
        found = Listening(int(self) * other)
        found.heard = self.heard
        return found

    def __rsub__(self, other: int) -> int:
        self.heard.append(other)
        return other - int(self)


def test_a_number_of_the_callers_making_hears_no_exact_sum() -> None:
    bar = Listening(10)
    bar.heard = []
    assert (100 - bar * 2, bar.heard) == (80, [100])
    bar.heard.clear()
    study().sparse_vector(["y"], epsilon=1, positives=1, of="counts").above(Between("y", 50, None), bar)
    assert bar.heard == []
