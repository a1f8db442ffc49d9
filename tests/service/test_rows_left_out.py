"""Words about rows that do not count: those of nobody, dates in another form, and shares that few people hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import reticent as rt
from reticent.outcome import Estimate, Reply
from reticent.statistics import shares
from tests.support.cli_kit import clinic, run

NOBODYS: Final = "a row whose who is empty belongs to nobody and is not counted"


@pytest.mark.parametrize("empty", [0, 300])
def test_rows_of_nobody_are_told_of_whatever_the_rows_hold(empty: int) -> None:
    """They were left out of every count, and no word of plan or release said so."""
    who = [None] * empty + [f"p{place}" for place in range(400)]
    rows: dict[str, Any] = {"who": who, "x": [1.0] * len(who)}
    columns = {"x": rt.real(0, 10)}
    study = rt.study(
        rows, adjacency="add_remove", columns=columns, budget=99, override="a test", person="who", rows_each=1
    )
    found = study.release(["count"], epsilon=10)
    assert NOBODYS in found.certificate.caveats
    assert abs(found["count"].value - 400) < 20
    assert "A row whose who is empty belongs to nobody" in study.plan(["count"], epsilon=1).footnote()
    alone = rt.study({"x": [1.0]}, adjacency="add_remove", columns=columns, budget=9)
    assert "nobody" not in str(alone.release(["count"], epsilon=1))
    assert "nobody" not in alone.plan(["count"], epsilon=1).footnote()


def test_the_terminal_tells_of_rows_of_nobody(tmp_path: Path) -> None:
    study = clinic(tmp_path)
    said = "row whose pid is empty belongs to nobody and is not counted"
    assert said in run("plan", str(study), "--ask", "count", "--epsilon", "1").said
    assert (
        said
        in run("release", str(study), "--ask", "count", "--epsilon", "1", "--yes", "--out", str(tmp_path / "a")).said
    )


@pytest.mark.parametrize("people", [60, 4_000])
def test_dates_of_another_form_leave_a_hint_that_reads_nothing(people: int) -> None:
    """Sixty dates like 2024-05-01, declared like 31/12/2024: none counts, and their share cannot be told."""
    column = rt.date("2020-01-01", "2025-12-31", format="%d/%m/%Y")
    said = []
    for cell in ("2024-05-01", "01/05/2024"):
        rows = {"day": [cell] * people}
        study = rt.study(rows, adjacency="add_remove", columns={"day": column}, budget=99, override="a test")
        found = study.release(["median(day)"], epsilon=1)
        said.append(" ".join(found.certificate.answers[0].caveats))
    hint = "text of day is read like 31/12/2024 and in no other form: compare a cell of the file"
    assert [hint in words for words in said] == [True, people == 60]  # few people: whatever the rows hold
    assert ("declare how they are written: na, format" in said[0]) == (people == 4_000)


def test_a_share_that_few_people_hide_is_told_as_hardly_known() -> None:
    """ "At most 40 % of rows lack a value" frightened where none did."""

    def told(low: float, high: float) -> str:
        middle = (low + high) / 2
        return shares.words(Reply(Estimate(middle, low, high, high - middle, 0.0)), "have a gap", "they are left out")

    assert (
        told(0.0, 0.4) == "0 % to 40 % (too few people for this ε to tell better) of rows have a gap: they are left out"
    )
    assert told(0.0, 0.06) == "at most 6 % of rows have a gap: they are left out"
    assert told(0.0, 0.9) == "how many rows have a gap could not be told: they are left out"
    assert told(0.3, 0.5) == "40 % ± 10 % of rows have a gap: they are left out"
    short = shares.in_short(told(0.0, 0.4).replace("have a gap", "have a missing x"))
    assert short.endswith("of rows lack a readable value and are left out")
