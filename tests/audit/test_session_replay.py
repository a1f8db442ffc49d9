"""Record-replay of sessions: nothing told exceeds; and broken sparse vectors, each of which is refuted.

The variants of Lyu, Su and Li (2017), Figure 1, are among them, and the two of ``broken`` as sessions. Nothing here
is random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.conformance.findings import Finding, RunComparison
from reticent.conformance.neighbours import Family, MemoizedTable, families
from reticent.conformance.reader_replay import engine
from reticent.conformance.tape import STYLES, Tape
from reticent.entropy import SystemEntropy
from reticent.mechanisms import gate
from reticent.mechanisms.gate import Bar, Call
from reticent.mechanisms.sparse_vector import Conversation, Mark, NoiseTerm, SparseVector
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.sessions import above_threshold, holdout, leaderboard
from reticent.sessions.above_threshold import RowCount
from reticent.sessions.row_functions import mean_steps
from reticent.sessions.session import Holdout, PaidSession
from tests.assurance import exact
from tests.assurance.broken.laws import sparse_vector_noised_for_one, sparse_vector_without_query_noise
from tests.assurance.session_replay import Talk, Talks, built_in
from tests.assurance.session_rules import by_rules, cost_of

TALKS = {talk.name: talk for talk in built_in()}
ONE = "add_remove, at most 1 row each"
LACKING = f"{ONE}, values may lack"
PAIRS = 8
ROOT = Path(__file__).parents[2]


@cache
def tables(schema: str) -> tuple[Family, list[MemoizedTable]]:
    """A family over the schema of a talk, opened once; what was read is remembered."""
    talk = next(talk for talk in TALKS.values() if repr(talk.schema) == schema)
    found = families(talk.schema, "sessions")
    next(found)
    made = next(found)
    with engine() as opened:
        held = [opened(made, place) for place in range(len(made.tables))]
        for pair in made.pairs:
            for place in (pair.here, pair.there):
                Talks(talk).compare(held[place], held[place], Tape())  # reads what every session of this schema reads
    return made, held


def compared(talk: Talk, most: int = PAIRS) -> Iterator[RunComparison]:
    made, held = tables(repr(talk.schema))
    for nth, pair in enumerate([made.pairs[-1], *made.pairs[: most - 1]]):
        tape = Tape(STYLES[nth % len(STYLES)], nth, 0)
        yield Talks(talk).compare(held[pair.here], held[pair.there], tape, same=pair.same)


def findings(name: str, most: int = PAIRS) -> list[Finding]:
    return [one for found in compared(TALKS[name], most) for one in found.findings]


def told(name: str, most: int = PAIRS) -> str:
    return "\n".join(f"{one.kind}: {one.words}" for one in findings(name, most))


@pytest.mark.loop(3)
@pytest.mark.parametrize("name", TALKS)
def test_no_session_tells_more_than_its_noise_lets_through(name: str) -> None:
    found = list(compared(TALKS[name], 6))
    assert [one.findings for one in found] == [()] * len(found)
    assert sum(len(one.calls) for one in found) >= 20
    assert any(seen.ratio for one in found for seen in one.calls)


@pytest.mark.wide
def test_pairs_reach_what_is_declared_and_most_of_what_is_charged() -> None:
    names = [name for name in TALKS if "ρ" not in name and "noisy" not in name]
    found = [one for name in names for one in compared(TALKS[name], 5)]
    shares = [one.share for one in found if one.share is not None]
    assert len(shares) == len(found)
    assert Fraction(9, 10) < max(shares) <= 1
    ratios = [seen.ratio for one in found for seen in one.calls if seen.ratio]
    assert max(ratios) == 1


@pytest.mark.wide
def test_every_kind_of_session_is_replayed_under_both_relations() -> None:
    kinds = {"holdout", "sparse vector of means", "sparse vector of counts", "leaderboard", "noisy answers"}
    assert {(name.partition(",")[0], talk.schema.person.adjacency) for name, talk in TALKS.items()} >= {
        (kind, adjacency) for kind in kinds for adjacency in ("add_remove", "substitute")
    }


@pytest.mark.wide
def test_only_an_audit_says_what_is_drawn_from() -> None:
    """A study, its shelf and a fit to arrays draw from the system's coins; nothing of theirs can say otherwise."""
    study = rt.study({"x": [1.0]}, adjacency="substitute", columns={"x": rt.real(0, 2)}, budget=1)
    x, _ = study.xy(["x"])
    for source in (study, x.shelf, None, object()):
        assert type(gate.coins_for(source)) is SystemEntropy
    with pytest.raises((AttributeError, TypeError)):
        study.coins = lambda: None  # type: ignore[attr-defined]  # on purpose
    users = {
        path.stem
        for room in ("src", "tests/assurance")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"^    def coins\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert users == {
        "gate",
        "session_replay",
        "fits",
        "fold_coins",
        "workflows",
        "exhibit",
    }  # the last has a function of its own by that name


# --- broken sparse vectors --------------------------------------------------------------------------------------------

MEANS, COUNTS, ROUNDS, BOARD = (
    f"{kind}, {ONE}" for kind in ("sparse vector of means", "sparse vector of counts", "holdout", "leaderboard")
)


def ask_as(monkeypatch: pytest.MonkeyPatch, above: Any, value: Any = None, left: Any = None) -> None:
    """``Conversation.ask`` with another comparison, value or end."""

    def ask(self: Any, f: int, entropy: Any, *, value: int | None = None) -> Mark:
        shown, made = f if value is None else value, self._mechanism
        yes = above(self, f, entropy)
        mark = valued(self, shown, entropy) if yes and made.values else 0
        self._left -= yes if left is None else left
        return Mark(yes, mark)

    valued = value or (lambda self, g, entropy: gate.draw(NoiseTerm(self._mechanism, "value"), (g,), entropy)[0])
    monkeypatch.setattr(Conversation, "ask", ask)


def honest(self: Any, f: int, entropy: Any) -> bool:
    return gate.passes(NoiseTerm(self._mechanism, "question"), f, Bar(self._threshold, None), entropy)


@pytest.mark.wide
def test_the_conversation_below_is_sound_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_as(monkeypatch, honest)
    assert [told(name) for name in (MEANS, COUNTS, ROUNDS, BOARD)] == [""] * 4


@pytest.mark.wide
def test_a_threshold_without_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Conversation.__init__

    def bare(self: Any, mechanism: SparseVector, entropy: Any) -> None:
        start(self, mechanism, entropy)
        self._threshold = 0

    monkeypatch.setattr(Conversation, "__init__", bare)
    assert "compared with something else than the threshold that was drawn" in told(MEANS)


@pytest.mark.wide
def test_a_threshold_that_is_never_drawn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = gate.draw

    def but_the_threshold(mechanism: Any, exact: Any, entropy: Any) -> Any:
        return (
            exact
            if isinstance(mechanism, NoiseTerm) and mechanism.noise == "threshold"
            else draw(mechanism, exact, entropy)
        )

    monkeypatch.setattr(gate, "draw", but_the_threshold)
    assert "a question of a conversation that has no threshold" in told(MEANS)


@pytest.mark.wide
def test_questions_without_noise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 5 of Lyu and others, and ``assurance.broken.laws.sparse_vector_without_query_noise``."""
    assert sparse_vector_without_query_noise.__doc__ is not None
    ask_as(monkeypatch, lambda self, f, entropy: f >= self._threshold)
    found = told(COUNTS)
    assert "is made by 0 noises, not one" in found
    assert "answer: " in told(MEANS) + found


@pytest.mark.wide
def test_noise_that_does_not_grow_with_the_answers_above_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 4 of Lyu and others, and ``assurance.broken.laws.sparse_vector_noised_for_one``."""
    assert sparse_vector_noised_for_one.__doc__ is not None
    scale = SparseVector.question_scale.fget  # type: ignore[attr-defined]  # a property
    monkeypatch.setattr(SparseVector, "question_scale", property(lambda self: scale(self) / self.positives))
    assert "scales lose" in told(MEANS)
    assert told(ROUNDS) == ""  # a round has one answer above


@pytest.mark.wide
def test_half_the_noise_for_questions_that_move_either_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = SparseVector.question_scale.fget  # type: ignore[attr-defined]  # a property
    either = property(lambda self: scale(self) / (2 if self.direction == "either" else 1))
    monkeypatch.setattr(SparseVector, "question_scale", either)
    assert "scales lose" in told(MEANS)
    assert told(COUNTS) == ""  # counts of rows that come or go move together


@pytest.mark.wide
def test_a_conversation_that_does_not_stop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 6 of Lyu and others."""
    ask_as(monkeypatch, honest, left=0)
    assert "3 answers above, where 2 are paid for" in told(MEANS)
    assert "2 answers above, where 1 are paid for" not in told(MEANS)


@pytest.mark.wide
def test_a_number_that_was_compared_and_is_shown_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 3 of Lyu and others: the value has the noise of the comparison."""

    def above(self: Any, f: int, entropy: Any) -> bool:
        (self._seen,) = gate.draw(NoiseTerm(self._mechanism, "question"), (f,), entropy)
        return bool(self._seen >= self._threshold)

    class Keeping(Conversation):
        """A conversation that remembers what it compared."""

        __slots__ = ("_seen",)

    ask_as(monkeypatch, above, lambda self, g, entropy: self._seen)
    monkeypatch.setattr(SparseVector, "start", lambda self, entropy: Keeping(self, entropy))
    assert "compared with something else than the threshold that was drawn" in told(MEANS)


@pytest.mark.wide
def test_values_without_noise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_as(monkeypatch, honest, lambda self, g, entropy: g)
    assert "answer: " in told(MEANS)
    assert "not followed by its value" in told(BOARD)


@pytest.mark.wide
def test_values_with_the_noise_of_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = SparseVector.value_scale.fget  # type: ignore[attr-defined]  # a property
    monkeypatch.setattr(SparseVector, "value_scale", property(lambda self: scale(self) / self.positives))
    assert "scales lose" in told(BOARD)


@pytest.mark.wide
def test_one_noise_for_all_questions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[int, int] = {}

    def above(self: Any, f: int, entropy: Any) -> bool:
        if id(self) not in drawn:
            (drawn[id(self)],) = gate.draw(NoiseTerm(self._mechanism, "question"), (0,), entropy)
        return f + drawn[id(self)] >= int(self._threshold)

    ask_as(monkeypatch, above)
    assert "noises, not one" in told(MEANS)


@pytest.mark.wide
def test_a_threshold_drawn_again_without_a_charge_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 2 of Dwork and Roth draws it again after every answer above, which costs its share again."""

    def above(self: Any, f: int, entropy: Any) -> bool:
        yes = honest(self, f, entropy)
        if yes:
            (self._threshold,) = gate.draw(NoiseTerm(self._mechanism, "threshold"), (0,), entropy)
        return yes

    ask_as(monkeypatch, above)
    assert "no part of what is charged pays for conversation 2" in told(MEANS)


@pytest.mark.wide
def test_half_the_reach_of_a_person_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "reach", lambda near: Linf(above_threshold.reach(near).bound / 2, near))
    assert "sensitivity: NoiseTerm declares that the score" in told(BOARD)


# --- broken sessions around them --------------------------------------------------------------------------------------


@pytest.mark.wide
def test_training_rows_read_from_the_private_part_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: Any, question: Any, claimed: Any = None) -> Any:
        asked = self._asked(question)
        mean = mean_steps(asked, self._paid._rows)

        def draw(talk: Any, rows: Any, size: Any, entropy: Any) -> Any:
            found = holdout.check(talk, self._made, rows, asked, (mean, "training"), self._threshold, size, entropy)
            return found, found.by == "holdout"

        return self._paid.answer("level", draw)

    monkeypatch.setattr(Holdout, "check", check)
    assert "answer: " in told(f"holdout, {ONE.replace('add_remove', 'substitute')}")


@pytest.mark.wide
def test_a_round_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = PaidSession._reserve

    def once(self: Any, cost: Any) -> None:
        if self._guarantees:
            self._guarantees.append(cost)
            self._receipt = self._ledger.reserve(
                type(cost.loss)(cost.loss.epsilon / 100), adjacency=cost.adjacency, what="almost nothing"
            )
        else:
            reserve(self, cost)

    monkeypatch.setattr(PaidSession, "_reserve", once)
    assert "is charged for what costs" in told(ROUNDS)


@pytest.mark.wide
def test_a_round_that_is_drawn_before_it_is_reserved_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = PaidSession._next

    def early(self: Any) -> None:
        self._start(self._coins())
        ahead(self)

    monkeypatch.setattr(PaidSession, "_next", early)
    assert "conversation 2 is drawn before it is reserved" in told(ROUNDS)


@pytest.mark.wide
def test_rows_that_are_read_before_the_charge_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reserve, read = PaidSession._reserve, PaidSession._read
    monkeypatch.setattr(
        PaidSession, "_reserve", lambda self, cost: reserve(self, cost) if self._rows is not None else None
    )

    def first_read(self: Any, table: Any) -> RowCount:
        size = read(self, table)
        reserve(self, self._plan.first)
        return size

    monkeypatch.setattr(PaidSession, "_read", first_read)
    assert "rows are read before their part is charged" in told(MEANS)


@pytest.mark.wide
def test_the_true_number_of_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    read = PaidSession._read

    def counted(self: Any, table: Any) -> RowCount:
        read(self, table)
        return RowCount(max(1, self._rows.count))

    monkeypatch.setattr(PaidSession, "_read", counted)
    assert "answer: " in told(f"sparse vector of means, {LACKING}", 33)


@pytest.mark.wide
def test_questions_that_only_seem_to_move_together_break_a_rule() -> None:
    near = Adjacency("substitute")
    made = SparseVector(Linf(Fraction(1), near), Fraction(1), 2, direction="together")

    def calls(*sums: int) -> list[Call]:
        asked = [Call(NoiseTerm(made, "question"), (f,), None, (f,), Bar(5, None)) for f in sums]
        return [Call(NoiseTerm(made, "threshold"), (0,), None, (5,)), *asked]

    for there, broken in (((1, 1), 0), ((1, -1), 1)):
        pairs = list(zip(calls(0, 0), calls(*there), strict=True))
        _, found = by_rules(pairs, [1, 1, 1], [(1, 2), (2, 3)], made.guarantee)
        assert len(found) == broken
    assert sum(cost_of(made)) == 1


# --- what replay cannot see, and the exact laws do --------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize(("noise", "factor"), [("threshold", 2), ("question", 2), ("value", 2)])
def test_noise_that_is_not_what_it_says_is_refuted_by_the_exact_laws(
    noise: str, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = Adjacency("add_remove")
    scale = NoiseTerm.scale.fget  # type: ignore[attr-defined]  # a property

    def less(self: NoiseTerm) -> Fraction:
        return Fraction(scale(self)) / (factor if self.noise == noise else 1)

    monkeypatch.setattr(NoiseTerm, "scale", property(less))
    assert "refuted" in {line.verdict for line in exact._conversations(near)}
    assert "scales lose" in told(BOARD)  # and replay sees it where the scale says so
