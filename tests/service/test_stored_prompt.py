"""A request that was answered before asks for no charge at the terminal, and says so of its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from tests.support.cli_kit import clinic, streamed

VERBS = {
    "release": ("release", "clinic.toml", "--ask", "mean(age) where age > 20", "--epsilon", "1"),
    "sql": ("sql", "clinic.toml", "SELECT COUNT(*) FROM study", "--epsilon", "1"),
    "synth": ("synth", "clinic.toml", "--columns", "age", "--epsilon", "1"),
}


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("verb", VERBS)
def test_a_stored_answer_is_offered_for_nothing_and_a_new_one_for_its_price(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody at a terminal says yes, twice."""
    monkeypatch.chdir(clinic(tmp_path).parent)
    ending = {"synth": ".csv"}.get(verb, "")
    first, second = (
        streamed(*VERBS[verb], "--request-id", "table 1", "--out", f"{name}{ending}", answer="y") for name in ("a", "b")
    )
    assert (first.code, second.code) == (0, 0), (first.err, second.err)
    assert "Release, and spend ε 1?" in first.err
    assert "spend" not in second.err
    assert "Give the stored answer of r-0001 again? Nothing is charged. [y/N]" in second.err


def test_made_up_rows_of_a_stored_density_say_that_nothing_was_charged() -> None:
    rows = {"age": np.random.default_rng(1).integers(0, 100, 2000)}
    study = rt.study(rows, adjacency="add_remove", columns={"age": rt.integer(0, 100)}, budget=2)
    first, second = (study.synthesize("age", epsilon=1, record=rt.Record(request_id="a")) for _ in range(2))
    assert "given again" not in repr(first)
    assert first.given_again == ""
    assert second.given_again == "stored answer of r-0001, given again: nothing was charged this time"
    assert second.given_again in repr(second)
