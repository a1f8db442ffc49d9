"""A release of questions, too, does the same whatever its caller asked to be told of numbers and warnings."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import reticent as rt
from reticent.study.allocation import Question

WILD = {"x": [1e-300, 5e-324, 0.0, 1.0] * 60, "y": [0.0, 1.0, 1.0, float("nan")] * 60}
ASKED = (
    rt.mean("x"),
    rt.variance("x"),
    rt.iqr("x"),
    rt.test("x ~ y", kind="correlation"),
    rt.density("x", method="bernstein"),
    rt.density("x"),
)


@pytest.mark.few(3)
@pytest.mark.parametrize("asked", ASKED, ids=[one.name for one in ASKED])
def test_a_release_is_not_disturbed_by_what_its_caller_set(asked: Question) -> None:
    study = rt.study(WILD, adjacency="add_remove", columns={"x": rt.real(0, 1), "y": rt.real(0, 1)}, budget=9)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        study.release([asked], epsilon=Fraction(1, 2))  # a reply or none, and no fault
    assert [line.state for line in study.ledger.releases()] == ["committed"]
