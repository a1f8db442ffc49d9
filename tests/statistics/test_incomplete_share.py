"""Coverage of the share of incomplete rows, in both adjacencies, and mutants with too little and too much noise.

1,000 runs a cell. The limits are .93 and .97; a share that covers with probability .95 leaves them with a probability
below 1 in 200 a cell, and the entropy is replayed, so that red means a change.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, category, real
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.cost import Cost
from reticent.privacy.sensitivity import L1
from reticent.statistics import shares
from reticent.statistics.context import Setting, noisy
from reticent.statistics.counts.incomplete_share import IncompleteStep, incomplete_step
from reticent.study.allocation import settle
from reticent.study.formulas import understand

if TYPE_CHECKING:
    from reticent.privacy.adjacency import Kind

RUNS = 1000
ROWS = 5000


def step(adjacency: Kind, rows_each: int) -> IncompleteStep:
    person = Person(adjacency, None if rows_each == 1 else "who", rows_each)
    units = ROWS if adjacency == "substitute" else None
    return incomplete_step(("x",), Setting(Schema({"x": real()}, person), units), Fraction(1, 20))


def coverage(made: IncompleteStep, odd: int, name: str) -> float:
    entropy, covered = Replayed(name), 0
    results = [QueryResult(vectors=((odd,),)), QueryResult(vectors=((ROWS,),))]
    for _ in range(RUNS):
        found = made.answer(results, entropy).outcome
        assert isinstance(found, Reply)
        covered += found.value.low <= odd / ROWS <= found.value.high
    return covered / RUNS


@pytest.mark.parametrize("odd", [500, 2500])
@pytest.mark.parametrize(("adjacency", "rows_each"), [("add_remove", 1), ("add_remove", 4), ("substitute", 1)])
def test_the_interval_of_a_share_covers(adjacency: Kind, rows_each: int, odd: int) -> None:
    made = step(adjacency, rows_each)
    assert 0.93 <= coverage(made, odd, f"share {adjacency} {rows_each} {odd}") <= 0.97


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("odd", [500, 2500])
@pytest.mark.parametrize("of_rows", [Fraction(2), Fraction(200)])
@pytest.mark.parametrize("rows_each", [1, 4])
def test_the_interval_covers_beside_a_number_of_rows_that_is_bought(
    rows_each: int, of_rows: Fraction, odd: int
) -> None:
    alone = step("add_remove", rows_each)
    made = replace(alone, share=replace(alone.share, of_rows=of_rows))
    entropy = Replayed(f"beside {rows_each} {of_rows} {odd}")
    results = [QueryResult(vectors=((odd,),)), QueryResult(vectors=((ROWS,),))]
    count = Geometric(L1(Fraction(1), made.setting.neighbours), 1 / of_rows)
    noise, covered = 0.0, 0
    for _ in range(RUNS):
        ((bought,),) = noisy([(ROWS,)], count, entropy)
        found = made.answer_by(results, entropy, float(bought)).outcome
        assert isinstance(found, Reply)
        covered += found.value.low <= odd / ROWS <= found.value.high
        noise += found.value.noise / RUNS
    assert 0.93 <= covered / RUNS <= 0.97
    bare = step("add_remove", rows_each).answer(results, entropy).outcome
    assert isinstance(bare, Reply)
    gain = 0.85 if odd == 500 and of_rows == 2 else 1.03  # two looks at few odd rows; at half of the rows no gain
    assert noise < gain * bare.value.noise


@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_noise_of_another_size_is_caught(adjacency: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for factor, least, most in ((Fraction(1, 2), 0.0, 0.93), (Fraction(2), 0.97, 1.0)):

        def otherwise(
            told: Geometric, exact: tuple[int, ...], entropy: Entropy, times: Fraction = factor
        ) -> tuple[int, ...]:
            return gate.draw(Geometric(told.sensitivity, told.epsilon * times), exact, entropy)

        monkeypatch.setattr(shares, "gate", SimpleNamespace(draw=otherwise))
        assert least <= coverage(step(adjacency, 1), 500, f"mutant {adjacency} {factor}") <= most
        monkeypatch.undo()


@pytest.mark.wide
def test_a_share_of_nearly_nothing_or_all_stays_between_0_and_1() -> None:
    made = step("add_remove", 4)
    for odd in (0, ROWS):
        assert coverage(made, odd, f"edge {odd}") >= 0.93


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("odd", [500, 4500])
def test_the_interval_of_a_share_by_the_sum_of_cells_covers(odd: int) -> None:
    schema = Schema({"g": category(list("abcdef")), "x": real(0, 12)}, Person("add_remove"))
    asked = understand(["count", "histogram(x, edges=0:12:1) by g"], schema)
    made = settle(asked, Cost(Fraction(1)), schema, None, "approximate")
    assert [step.name for step in made.all_steps] == ["count", "histogram(x, edges=0:12:1) by g"]
    each = (ROWS - odd) // 72
    entropy, covered = Replayed(f"cells {odd}"), 0
    exact: list[list[tuple[int, ...]]] = [[(ROWS,)], [(each,) * 12 for _ in range(6)]]
    true = (ROWS - 72 * each) / ROWS
    for _ in range(RUNS):
        drawn = [
            step.answer([QueryResult(vectors=tuple(vectors))], entropy)
            for step, vectors in zip(made.steps, exact, strict=True)
        ]
        share = made.beside.stand(drawn, ())[1].incomplete
        assert share is not None
        assert isinstance(share.outcome, Reply)
        covered += share.outcome.value.low <= true <= share.outcome.value.high
    assert 0.93 <= covered / RUNS <= 0.97
