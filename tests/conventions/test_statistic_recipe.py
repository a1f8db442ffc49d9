"""CONTRIBUTING's recipe for a new statistic, followed: from its text to a charged release, by the code it prints."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import pytest

import reticent as rt
from reticent.conformance.neighbours import KeyedDice
from reticent.outcome import Reply
from reticent.statistics.grammar import parse
from reticent.statistics.registry import KINDS
from reticent.statistics.statistic import Statistic

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Adding a statistic")[1].split("\n## ")[0]
(CODE,) = (dedent(block) for block in re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL))
MODULE = "reticent.statistics.counts.range_count"


@pytest.fixture
def kind() -> Iterator[type[Statistic]]:
    """The class of the recipe, as the module it would be."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    exec(compile(CODE, "range_count.py", "exec"), module.__dict__)
    yield module.RangeCount
    del sys.modules[MODULE]


def test_the_statistic_of_the_recipe_is_read_planned_charged_and_answered(kind: type[Statistic]) -> None:
    asked = parse("range_count(x, low=0, high=9, epsilon=2)", {**KINDS, kind.verb: kind})
    assert (asked.name, asked.epsilon) == ("range_count(x, low=0, high=9)", Fraction(2))
    study = rt.study(
        {"x": [*range(-20, 0), *range(50)] * 100},
        adjacency="add_remove",
        columns={"x": rt.integer(-20, 50)},
        budget=5,
    )
    assert asked.name in str(study.plan([asked]))
    release = study.release([asked])
    found = {dict(cell.label)["range"]: cell.outcome for cell in release[asked.name]}
    within = found["within"]
    assert isinstance(within, Reply)
    assert abs(within.value.value - 900) < 60  # noise of scale 1: beyond with chance below 1e-20
    assert "number of rows of this table with x in [0, 9]" in " ".join(str(release).split())
    assert release.certificate.verify(allow_unsigned=True).ok
    spent = study.ledger.spent()
    assert getattr(spent, "epsilon", None) == Fraction(2)


def test_the_statistic_of_the_recipe_is_made_up_and_reads_back(kind: type[Statistic]) -> None:
    for place in range(20):
        made = kind.made_up(KeyedDice(place))
        assert parse(made.name, {**KINDS, kind.verb: kind}).statistic == made


@pytest.mark.parametrize(
    "word", ["registry.py", "__init__.py", "docs/reference/statistics.md", "CHANGELOG.md", "prepare"]
)
def test_the_recipe_names_every_step(word: str) -> None:
    assert word in RECIPE
