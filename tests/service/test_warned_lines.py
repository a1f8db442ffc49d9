"""Warnings name the line that called this package, whatever verb gives them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.learning import LinearRegression, LogisticRegression


def few() -> rt.Study:
    rows = {"x": np.linspace(0, 1, 60), "y": np.linspace(0, 1, 60), "k": np.arange(60) % 2}
    columns: dict[str, Column] = {"x": rt.real(), "y": rt.real(0, 1), "k": rt.integer(0, 1)}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=9)


@pytest.mark.parametrize(
    "work",
    [
        lambda study: study.release(["quantile(x, 0.999)"], epsilon="1/10"),
        lambda study: LinearRegression(epsilon="1/100").fit(*study.xy(["y"], "k")),
        lambda study: LogisticRegression(epsilon="1/100").fit(*study.xy(["y"], "k")),
        lambda study: study.sparse_vector(["y"], epsilon="1", positives=1, show="above"),
    ],
)
def test_a_warning_names_the_line_of_the_caller(work: Callable[[rt.Study], object]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        work(few())
    assert {one.filename for one in told} == {__file__}


def test_a_summary_repeats_no_reason_of_the_warning_of_its_fit() -> None:
    with pytest.warns(UserWarning, match="as it would be known to no better than ± 10 %: they do not count"):
        model = LinearRegression(epsilon="1/100").fit(*few().xy(["y"], "k"))
    assert "how many rows lack a value that can be read is not told: they do not count" in model.summary()
    assert any("no better than" in caveat for caveat in model.certificate_.caveats)
