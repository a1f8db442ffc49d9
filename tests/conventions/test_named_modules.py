"""Modules and classes that documentation names: each is there.

``room.module`` and ``room/module`` are looked up in words. So are the list of a room in the docstring of its package,
and the names of classes on a page.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.conventions.tree import ROOT, SRC, Module, modules, parsed

ROOMS = frozenset(folder.name for folder in SRC.iterdir() if (folder / "__init__.py").is_file())
OBJECTS = frozenset({"certificate", "study", "survey"})  # variables have these names: only paths are looked up
NAMED = re.compile(r"(?<!`)``?(?:src/)?(?:reticent[./])?([a-z_]+)([./])([a-z_][a-z_0-9]*)(?:\.py)?[^`\n]*``?(?!`)")


LISTED = re.compile(r"(?:^|\s{2,})([a-z]\w*)\s{2,}(?=\S)", re.MULTILINE)
CLASS = re.compile(r"(?<!`)`([A-Z]+[a-z]\w*[A-Z]\w*)[^`\n]*`(?!`)")


@cache
def held(room: str) -> frozenset[str]:
    """Modules and folders of a room, and what its ``__init__`` names."""
    below = {entry.stem for entry in (SRC / room).iterdir()}
    return frozenset(below | set(re.findall(r"\w+", (SRC / room / "__init__.py").read_text("utf-8"))))


def missing(text: str) -> list[str]:
    """What a text names in back-quotes that no room has."""
    return [
        f"{room}{sign}{name}"
        for room, sign, name in NAMED.findall(text)
        if room in ROOMS and (sign == "/" or room not in OBJECTS) and name not in held(room)
    ]


def in_docstrings(module: Module) -> list[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = (ast.get_docstring(node) for node in module.nodes if isinstance(node, documented))
    return [name for text in texts for name in missing(text or "")]


def pages() -> list[Path]:
    """The documentation of today; decisions keep the names of their day."""
    every = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [page for page in every if "decisions" not in page.parts]


def test_every_module_that_a_docstring_names_is_there() -> None:
    assert {module.path: found for module in modules() if (found := in_docstrings(module))} == {}


def test_every_module_that_a_page_names_is_there() -> None:
    assert {str(page): found for page in pages() if (found := missing(page.read_text("utf-8")))} == {}


def test_a_module_that_was_renamed_is_found() -> None:
    text = "`learning.sparse.comparison_radius`, ``statistics/soft``, `privacy.profiles`, ``study.release``"
    assert missing(text) == ["learning.sparse", "statistics/soft"]
    assert in_docstrings(parsed("made_up.py", '"""See ``conformance.gated``."""')) == ["conformance.gated"]


def unlisted(room: Path, text: str) -> list[str]:
    """Entries in the list of a room, ``name   what it has``, that are no module and no folder of it."""
    beside = {entry.stem for entry in room.iterdir()}
    return [name for line in text.splitlines() for name in LISTED.findall(line) if name not in beside]


def test_the_list_of_a_room_names_its_modules() -> None:
    rooms = {path.parent: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for path in SRC.rglob("__init__.py")}
    found = {room.name: names for room, text in rooms.items() if text and (names := unlisted(room, text))}
    assert found == {}


def test_an_entry_whose_module_was_renamed_is_found() -> None:
    text = "Ledgers.\n\n    account   one ledger\n    purse     another    book  its entries\n"
    assert unlisted(SRC / "ledger", text) == ["purse"]


@cache
def words() -> frozenset[str]:
    """Every word of the sources, the tests and the benchmarks."""
    files = [path for room in (SRC, ROOT / "tests", ROOT / "benchmarks") for path in room.rglob("*.py")]
    return frozenset(
        word for path in files if path != Path(__file__) for word in re.findall(r"\w+", path.read_text("utf-8"))
    )


def gone(text: str) -> list[str]:
    """Names of classes in back-quotes that nothing bears."""
    return [name for name in CLASS.findall(text) if name not in words()]


def test_every_class_that_a_page_names_is_there() -> None:
    assert {str(page): found for page in pages() if (found := gone(page.read_text("utf-8")))} == {}


def test_a_class_that_was_renamed_is_found() -> None:
    assert gone("`PureDP`, `HuberLocation` and `NoisyValue.scale`") == ["HuberLocation", "NoisyValue"]
