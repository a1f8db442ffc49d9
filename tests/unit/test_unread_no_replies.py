"""A no reply of a column that could not be read says so: in the words beside it, and in the box of a page."""

from __future__ import annotations

import re

import pytest

import reticent as rt
from reticent.certificate.render.no_replies import UNREAD, cause, likelier
from reticent.certificate.render.page import page
from reticent.outcome import NO_REPLY
from reticent.study.release import Release

UNSHOWN = "It could not be shown that no one person matters"


def released(cells: list[str], *asked: str) -> Release:
    study = rt.study(
        {"cost": cells, "age": ["40"] * len(cells)},
        adjacency="add_remove",
        columns={"cost": rt.real(0, 100), "age": rt.real(0, 100)},
        budget="5",
    )
    return study.release([*asked], epsilon="5", record=rt.Record(try_anyway=True))


@pytest.mark.parametrize("asked", [["mean(cost)"], ["mean(cost)", "mean(age)"]])
def test_a_mean_of_cells_that_nobody_can_read_says_why_it_has_no_reply(asked: list[str]) -> None:
    """Shares of 4,000 rows at this epsilon are known to .01, and no value is left to divide by."""
    release = released(["1.977,61"] * 4_000, *asked)
    assert release["mean(cost)"].outcome == NO_REPLY
    assert cause(release.certificate) == UNREAD
    assert likelier(release.certificate)[0] == "a declaration of how those cells are written"
    assert UNREAD in " ".join(repr(release).split())
    assert UNSHOWN not in " ".join(repr(release).split())
    shown = page(release.certificate)
    box = re.search(r"Before you use these numbers.*?</(?:section|aside|div)>", shown, re.DOTALL)
    assert box is not None
    assert "declare how they are written" in box[0]
    assert shown.count("declare how they are written") == 1
    assert f"{UNREAD}. The method first checks" in shown


def test_a_no_reply_of_few_values_that_are_read_has_the_words_it_had() -> None:
    release = released(["50"] * 2, "median(cost)")
    assert release["median(cost)"].outcome == NO_REPLY
    assert cause(release.certificate) == UNSHOWN
    assert UNREAD not in page(release.certificate)
