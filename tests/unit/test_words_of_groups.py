"""Words that groups share are said once, with the groups that say them."""

from __future__ import annotations

import pytest

import reticent as rt
from reticent.outcome import NO_REPLY
from reticent.statistics.column_step import GroupResult, said_once
from reticent.statistics.unbounded.column_plan import BEYOND

WARDS = "abcdefgh"


def of(label: str, *words: str) -> GroupResult:
    return GroupResult((NO_REPLY,), words, label=label)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("abc", "tied"),
        ("a", "ward a: tied"),
        ("ab", "all but ward c: tied"),
        ("", ""),
    ],
)
def test_words_are_said_once_with_the_groups_that_say_them(said: str, words: str) -> None:
    drawn = [of(f"ward {ward}", *["tied"][: ward in said]) for ward in "abc"]
    assert said_once(drawn) == ((words,) if words else ())
    assert said_once([of("", "tied")]) == ("tied",)
    assert said_once([of("ward a", "one"), of("ward b", "two")]) == ("ward a: one", "ward b: two")


@pytest.mark.parametrize("asked", ["location(x) by ward", "mean(x, method=clipped) by ward"])
def test_a_release_says_once_why_its_groups_have_no_reply(asked: str) -> None:
    rows = {"x": [1.0 + place for place in range(40)], "ward": [WARDS[place % 8] for place in range(40)]}
    study = rt.study(
        rows, adjacency="add_remove", columns={"x": rt.real(), "ward": rt.category(list(WARDS))}, budget="1"
    )
    release = study.release([asked], epsilon="0.1", record=rt.Record(try_anyway=True))
    assert all(cell.outcome == NO_REPLY for cell in release[asked])
    assert [words for words in release[asked].caveats if "no reply where" in words] == [BEYOND]
