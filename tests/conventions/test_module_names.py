"""Names of modules: no file name stands in three rooms of the package, but for a few that say why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

from tests.conventions.tree import modules

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


def test_a_name_in_three_rooms_is_found() -> None:
    assert often(["a/steps.py", "b/steps.py", "c.py"]) == {}
    assert often(["a/steps.py", "b/steps.py", "b/c/steps.py"]).keys() == {"steps"}
