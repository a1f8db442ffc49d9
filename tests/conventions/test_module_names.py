"""Names of modules: a noun of the field each, and no file name stands in three rooms of the package.

The files of tests are held to the same words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from tests.conventions.test_class_names import no_noun
from tests.conventions.tree import ROOT, modules

OFTEN = {
    "__init__": "the file that makes a folder a package",
    "density": "a word of users: `rt.density` and `lab.density`; pickles of 0.1.0 name `synthesis.density`",
    "options": "what a user may choose: on the command line, of a statistic, of a density",
}


def often(paths: Iterable[str]) -> dict[str, list[str]]:
    """File names that stand in three folders or more, with their paths."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        found[PurePosixPath(path).stem].append(path)
    return {name: where for name, where in found.items() if len(where) > 2}


def test_no_file_name_stands_in_three_rooms() -> None:
    found = often(module.path for module in modules())
    assert {name: where for name, where in found.items() if name not in OFTEN} == {}
    assert set(OFTEN) == set(found)  # every exception is still one


def stems() -> set[str]:
    """Names of the modules, and of the files of tests without their ``test_``."""
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    return tests | {PurePosixPath(module.path).stem for module in modules()}


def test_a_file_bears_a_noun() -> None:
    assert {name for name in stems() if "_" not in name and no_noun(name.capitalize())} == set()


@pytest.mark.parametrize("name", ["told", "renamed", "everything", "beside"])
def test_a_participle_and_a_pronoun_are_found(name: str) -> None:
    assert no_noun(name.capitalize())


def test_a_name_in_three_rooms_is_found() -> None:
    assert often(["a/steps.py", "b/steps.py", "c.py"]) == {}
    assert often(["a/steps.py", "b/steps.py", "b/c/steps.py"]).keys() == {"steps"}
