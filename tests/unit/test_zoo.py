"""The zoo: every method on a public column, errors as they are, a figure that can be written."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from reticent import lab
from reticent.errors import PublicParameterError
from reticent.outcome import Reply
from reticent.synthesis.options import Method


@pytest.mark.wide
def test_every_method_is_shown_beside_the_truth(tmp_path: Path) -> None:
    values = 10 * np.random.default_rng(1).beta(2, 5, 3_000)
    zoo = lab.density_zoo(values, column="v", low=0, high=10, epsilon=2)
    rows = {name: ks for name, ks, _ in zoo.rows()}
    assert {getattr(one.asked.statistic, "method", "") for one in zoo.specimens} == set(get_args(Method))
    assert all(panel.collections for panel in zoo.plot().axes), "a panel without the band of its noise"
    assert all(isinstance(one.outcome, Reply) for one in zoo.specimens)
    assert rows["histogram"] < 0.05
    assert max(rows.values()) < 0.25
    zoo.save(tmp_path / "zoo.svg")
    assert "released" in (tmp_path / "zoo.svg").read_text("utf-8")
    assert "KS" in repr(zoo)


def test_a_zoo_needs_a_column() -> None:
    with pytest.raises(PublicParameterError, match="at least one value"):
        lab.density_zoo([float("nan")], low=0, high=1)
