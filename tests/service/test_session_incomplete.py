"""Rows that lack a value in a session: told by the number of rows that it buys, or a sentence before the charge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Person, Schema, real
from reticent.entropy import Replayed
from reticent.learning import Level
from reticent.mechanisms import gate
from reticent.outcome import Reply
from reticent.sessions.row_count import counted
from reticent.sessions.row_functions import axes_of
from reticent.study.study import Study

N: Final = 4000
X: Final = np.random.default_rng(5).uniform(0, 1, N)
ODD: Final = np.where(np.arange(N) < 1000, np.nan, X)  # a quarter of the rows
SESSIONS: Final[dict[str, Callable[[Study], Any]]] = {
    "holdout": lambda of: of.holdout(["x", "z"], epsilon=4, rounds=2, threshold="0.2"),
    "sparse vector": lambda of: of.sparse_vector(["x", "z"], epsilon=4, positives=1),
    "ladder": lambda of: of.leaderboard(["x", "z"], epsilon=4, improvements=2, step="0.1"),
    "noisy answers": lambda of: of.noisy_answers(["x", "z"], rho=1, answers=2, delta="1e-9"),
}


def study(kind: Any, **of_x: Any) -> Study:
    columns: Any = {"x": rt.real(0, 1, **of_x), "z": rt.real(0, 1, complete=True)}
    return rt.study({"x": ODD, "z": X}, adjacency=kind, columns=columns, budget=10, delta="1e-6")


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", SESSIONS)
def test_the_number_of_rows_that_is_bought_tells_the_share(name: str, kind: str) -> None:
    """The noise is beyond ten half-widths with a probability below 1e-12; nothing more is charged for it."""
    of = study(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = SESSIONS[name](of)
    with session:
        share = session.incomplete
        assert isinstance(share.outcome, Reply)
        assert share.columns == ("x",)
        assert abs(share.outcome.value.value - 0.25) < 10 * share.outcome.value.noise < 0.2
    assert "of rows have a missing or unreadable x: they are left out" in session.caveats[0]
    assert session.certificate.caveats == session.caveats
    assert session.certificate.verify(of.ledger, allow_unsigned=True).ok


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_where_no_number_of_rows_is_bought_a_sentence_says_so_before_the_charge(kind: str) -> None:
    of = study(kind, missing="0.5")
    opening = (
        SESSIONS["holdout"]
        if kind == "substitute"
        else lambda of: of.sparse_vector(["x"], epsilon=1, positives=1, show="above")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r'"incomplete\(x\)" in a release does: 0.5 stands in for x'):
            opening(of)
    assert of.ledger.releases() == ()
    with (
        pytest.warns(UserWarning, match="does not tell how many rows have a missing or unreadable x"),
        opening(of) as session,
    ):
        pass
    assert session.incomplete is None
    assert len(session.certificate.caveats) == 1
    answer = of.release(["incomplete(x)"], epsilon=1)["incomplete(x)"]  # as the sentence says
    assert isinstance(answer.outcome, Reply)
    assert abs(answer.outcome.value.value - 0.25) < 0.05


def test_complete_columns_say_nothing() -> None:
    of = study("substitute", complete=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with SESSIONS["holdout"](of) as session:
            session.check(Level("x"), claimed="0.5")
    assert session.incomplete is None
    assert session.caveats == session.certificate.caveats == ()


def drawn(person: Person, complete: int, odd: int, *, in_rho: bool) -> tuple[Any, tuple[int, ...]]:
    """What buys the number of rows, and what it is given."""
    schema = Schema({"x": real(0, 1)}, person)
    made = counted(schema, axes_of(schema, ["x"]), Fraction(1), in_rho=in_rho)
    recorder = gate.Recorder(lambda mechanism, exact, start: exact, Replayed("none"))
    made.draw(complete, odd, recorder)
    (call,) = recorder.calls
    assert isinstance(call.exact, tuple)
    return call.mechanism, call.exact


@pytest.mark.parametrize("in_rho", [False, True])
@pytest.mark.parametrize(
    ("person", "mine", "others"),
    [
        (Person("add_remove", "who", 3), (5, 2), [(8, 2), (5, 5), (6, 4)]),
        (Person("substitute", "who", 3), (5, 3), [(8, 0), (2, 6), (2, 3), (5, 0)]),
        (Person("substitute"), (5, 3), [(4, 4), (6, 2)]),
    ],
)
def test_one_person_moves_the_numbers_as_far_as_is_declared(
    person: Person, mine: tuple[int, int], others: list[tuple[int, int]], in_rho: bool
) -> None:
    """One person of at most three rows, in every way that matters; the bound is reached."""
    mechanism, exact = drawn(person, *mine, in_rho=in_rho)
    power = 2 if in_rho else 1
    moved = []
    for other in others:
        _, theirs = drawn(person, *other, in_rho=in_rho)
        moved.append(sum(abs(a - b) ** power for a, b in zip(exact, theirs, strict=True)))
    sensitivity = mechanism.sensitivity
    assert max(moved) == (sensitivity.squared if in_rho else sensitivity.bound)


@pytest.mark.parametrize("in_rho", [False, True])
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_intervals_of_the_share_cover(kind: Any, in_rho: bool) -> None:
    """400 draws, replayed: an interval of 95 or 96.6 % leaves these limits with a probability below 1 in 1,000."""
    schema = Schema({"x": real(0, 1)}, Person(kind))
    made = counted(schema, axes_of(schema, ["x"]), Fraction(1), in_rho=in_rho)
    entropy, held = Replayed(f"session {kind} {in_rho}"), 0
    for _ in range(400):
        _, share = made.draw(3000, 1000, entropy)
        assert share is not None
        assert isinstance(share.outcome, Reply)
        held += share.outcome.value.low <= 0.25 <= share.outcome.value.high
    assert 0.915 < held / 400 < 0.995
