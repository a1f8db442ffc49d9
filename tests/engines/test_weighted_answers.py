"""Weights and designs: one body over all engines, equal answers under the same noise.

The reference is DuckDB on rows in memory, which ``test_against_reference`` holds against Python.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.entropy import Replayed
from reticent.outcome import Reply
from reticent.privacy.cost import Cost
from reticent.statistics.answer import Answer
from reticent.study.allocation import settle
from reticent.study.formulas import understand
from reticent.study.release import draw
from tests.support.engine_places import EVERY, Place, placed

PEOPLE = 600
QUESTIONS = (
    "count by region",
    "sum(x)",
    "mean(x) where k >= 3 by region",
    "proportion(region, value=north)",
    "histogram(x, edges=0:10:2)",
    "median(x)",
    "quantiles(k, 0.25 0.75) by region",
    "mean(x * 2 - k) weight least(w, 3)",
    "regress(x ~ k) weight w",
    "count weight 1",
)
DESIGNS: dict[str, Any] = {
    "fixed": "fixed",
    "strata": {"weights": "fixed", "strata": "region", "fraction": {"north": "0.5", "south": "0.1"}},
    "margins": {"weights": "fixed", "margins": {"region": {"north": 900, "south": 2000}}},
}


@pytest.fixture(scope="module", params=EVERY)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with placed(request.param) as put:
        yield put


def columns() -> dict[str, list[Any]]:
    """Rows of people with one or two each; some weights are 0, above their bound, or lacking."""
    chance = random.Random("weights")
    people = [f"p{chance.randrange(PEOPLE // 2)}" for _ in range(PEOPLE)]
    return {
        "who": people,
        "w": [chance.choice((0.5, 1.0, 2.0, 4.0, 0.0, 99.0, 1.25)) for _ in people],
        "x": [chance.randrange(0, 41) / 4 for _ in people],
        "k": [chance.randrange(0, 10) for _ in people],
        "region": [chance.choice(("north", "south", "elsewhere")) for _ in people],
    }


def answers(source: Any, design: Any) -> tuple[Answer, ...]:
    study = rt.study(
        source,
        adjacency="add_remove",
        person="who",
        rows_each=2,
        columns={
            "w": rt.real(0, 4),
            "x": rt.real(0, 10),
            "k": rt.integer(0, 9),
            "region": rt.category(["north", "south"]),
        },
        weight="w",
        design=design,
        budget=10,
    )
    asked = QUESTIONS if design == "fixed" else tuple(text for text in QUESTIONS if "median" not in text)
    within = Cost(Fraction(len(asked) * 10), override="made-up rows")
    prepared = settle(understand(asked, study.schema), within, study.schema, None, "approximate")
    table = study._table()
    try:
        found, _ = draw(prepared, table, Replayed("weights"), lambda _: None)
    finally:
        table.close()
    return found


@pytest.mark.loop(5)
@pytest.mark.parametrize("design", DESIGNS)
def test_weighted_answers_are_those_of_rows_in_memory_under_the_same_noise(place: Place, design: str) -> None:
    rows = columns()
    found, wanted = answers(place(rows), DESIGNS[design]), answers(rows, DESIGNS[design])
    assert found == wanted
    replies = [cell for answer in found for cell in answer if isinstance(cell.outcome, Reply)]
    assert len(replies) > 12
