"""CONTRIBUTING's recipe for a new statistic, followed: from the checks of its code to a charged release.

The class, and what is said of the lists it is added to, are read from the recipe.
"""

from __future__ import annotations

import re
import subprocess
import sys
import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import pytest

import reticent as rt
from reticent.conformance.neighbours import KeyedDice
from reticent.errors import QuestionError, Refusal
from reticent.outcome import Reply
from reticent.statistics import registry
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import Statistic
from tests.conventions import test_estimands as estimands
from tests.conventions.test_imports import idle
from tests.conventions.tree import modules, parsed

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Adding a statistic")[1].split("\n## ")[0]
(CODE,) = (dedent(block) for block in re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL))
FILE = re.findall(r"`(src/[\w/]+\.py)`", RECIPE)[0]
MODULE = FILE.removeprefix("src/").removesuffix(".py").replace("/", ".")
VERB, PLACE = re.findall(r'# into "PLACES" of registry.py:\n *"(\w+)": "([\w.]+)",\n', RECIPE)[0]
ASKED = "range_count(x, low=0, high=9)"


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Statistic]]:
    """The class of the recipe, as the module and the registered statistic it would be."""
    module = types.ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    exec(compile(CODE, "range_count.py", "exec"), module.__dict__)
    monkeypatch.setitem(registry.PLACES, VERB, PLACE)
    yield registry.KINDS[VERB]
    registry._at.cache_clear()


def test_the_statistic_of_the_recipe_is_read_planned_charged_and_answered(kind: type[Statistic]) -> None:
    asked = parse("range_count(x, low=0, high=9, epsilon=2)")
    assert (asked.name, asked.epsilon) == (ASKED, Fraction(2))
    values = [*[9] * 10, *[0] * 5, *range(-20, 0), *range(10, 40), *[5] * 3]  # many at either end
    study = rt.study({"x": values * 100}, adjacency="add_remove", columns={"x": rt.integer(-20, 50)}, budget=5)
    assert asked.name in str(study.plan([asked]))
    release = study.release([asked])
    truth = {
        "below 0": sum(x < 0 for x in values),
        "[0, 9)": sum(0 <= x < 9 for x in values),
        "9 or above": sum(x >= 9 for x in values),
    }
    found = {str(dict(cell.label)["range"]): cell.outcome for cell in release[asked.name]}
    assert found.keys() == truth.keys()
    for words, outcome in found.items():
        assert isinstance(outcome, Reply)
        assert abs(outcome.value.value - 100 * truth[words]) < 30  # noise of scale 1/2: beyond with chance below 1e-20
    assert "number of rows of this table in each range of x" in " ".join(str(release).split())
    assert release.certificate.verify(allow_unsigned=True).ok
    spent = study.ledger.spent()
    assert getattr(spent, "epsilon", None) == Fraction(2)


def test_the_statistic_of_the_recipe_is_made_up_and_reads_back(kind: type[Statistic]) -> None:
    for place in range(20):
        made = kind.made_up(KeyedDice(place))
        assert parse(made.name).statistic == made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("range_count(x, low=0)", "which high?"),
        ("range_count(x)", "which low?"),
        ("range_count(x, low=9, high=9)", "low must be below high"),
    ],
)
def test_the_statistic_of_the_recipe_says_what_it_needs(kind: type[Statistic], text: str, said: str) -> None:
    with pytest.raises(Refusal, match=re.escape(said)):
        parse(text)


def test_the_statistic_of_the_recipe_is_refused_of_a_category_before_a_charge(kind: type[Statistic]) -> None:
    study = rt.study({"g": ["a"] * 20}, adjacency="add_remove", columns={"g": rt.category(["a"])}, budget=5)
    with pytest.raises(QuestionError, match="g is a category"):
        study.release(["range_count(g, low=0, high=9)"], epsilon=1)
    assert getattr(study.ledger.spent(), "epsilon", None) == 0


def test_the_statistic_of_the_recipe_names_its_estimand(kind: type[Statistic], monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = re.findall(r"add it to `(\w+)` of `tests/conventions/test_estimands.py`", RECIPE)
    monkeypatch.setattr(estimands, table, (*getattr(estimands, table), VERB))
    assert [text for verb, text in estimands.questions() if verb == VERB] == [ASKED]
    estimands.test_every_statistic_in_every_method_names_its_estimand(VERB, ASKED)


@pytest.mark.wide
def test_no_function_of_the_recipe_imports_what_its_file_loads_anyway() -> None:
    assert idle([*modules(), parsed(FILE.removeprefix("src/reticent/"), CODE)]) == {}


@pytest.mark.wide
def test_the_code_of_the_recipe_is_formatted_and_linted() -> None:
    for words in (("check", "--no-cache"), ("format", "--check", "--no-cache")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--stdin-filename", FILE, "-"],
            cwd=ROOT,
            input=CODE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "word", ["registry.py", "__init__.py", "docs/reference/statistics.md", "CHANGELOG.md", "prepare", "TABLE"]
)
def test_the_recipe_names_every_step(word: str) -> None:
    assert word in RECIPE
