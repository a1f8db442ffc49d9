"""The page of theorems names every theorem of the code, and nothing that is not there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import reticent
from reticent import mechanisms
from reticent.mechanisms import registry
from reticent.privacy.guarantee import Theorem

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/theory/theorems.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| name", "| says"))]


def theorems() -> dict[str, Theorem]:
    found: dict[str, Theorem] = {}
    for package in ("privacy", "mechanisms", "statistics"):
        path = Path(reticent.__file__).parent / package
        for module in pkgutil.iter_modules([str(path)]):
            for value in vars(importlib.import_module(f"reticent.{package}.{module.name}")).values():
                if isinstance(value, Theorem):
                    found[value.name] = value
    return found


def test_every_theorem_of_the_code_is_on_the_page() -> None:
    named = set(re.findall(r"^\| `([a-z_0-9]+)` \|", PAGE, re.MULTILINE))
    assert named == set(theorems())


def test_every_theorem_a_mechanism_states_can_be_derived_again() -> None:
    """A module that states axioms is in the one list, and pairs each theorem with the function that restates it."""
    stating = set()
    for module in pkgutil.iter_modules(mechanisms.__path__):
        found = importlib.import_module(f"reticent.mechanisms.{module.name}")
        if "axiom" in vars(found):
            stating.add(found)
    assert stating == set(registry.ALL)
    for found in stating:
        paired = [theorem for theorem, _ in found.AXIOMS]
        assert paired == [value for value in vars(found).values() if isinstance(value, Theorem)]
    names = [theorem.name for found in registry.ALL for theorem, _ in found.AXIOMS]
    assert len(names) == len(set(names))


def test_no_theorem_is_without_statement_and_source() -> None:
    assert all(theorem.statement and theorem.source for theorem in theorems().values())


def test_code_proof_and_test_of_every_row_are_there() -> None:
    for row in ROWS:
        (code,) = re.findall(r"`(reticent\.[\w.]+)`", row)
        module, name = code.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), name), code
        written, in_code = re.findall(r"\]\(([\w./]+\.md)\)", row), re.findall(r"`(src/[\w/]+\.py)`", row)
        places = [ROOT / "docs/theory" / page for page in written] + [ROOT / file for file in in_code]
        assert len(places) == 1, row
        assert places[0].is_file(), row
        (test,) = re.findall(r"`(tests/[\w/.:]+)`", row)
        path, _, function = test.partition("::")
        assert (ROOT / path).is_file(), test
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8"), test
