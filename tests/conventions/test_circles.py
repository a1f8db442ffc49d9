"""Import circles between files: a value stands below, and the facade with its methods above.

Imports inside functions count: a circle that is hidden there is still a circle to a reader. Imports under ``if
TYPE_CHECKING`` are read apart, since none of them runs; they close no circle either. The one exception is ``prepare``
of a statistic: it names the algorithm of the value, which is imported when a step is made.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import pytest

from tests.conventions.tree import Module, dotted, modules, parsed

Import: TypeAlias = ast.Import | ast.ImportFrom
Reading: TypeAlias = Callable[[ast.AST], Iterator[Import]]


def names_algorithm(node: ast.AST) -> bool:
    """True for the method of a statistic that makes its step."""
    return isinstance(node, ast.FunctionDef) and node.name == "prepare" and ast.unparse(node.args).startswith("self, ")


def written(tree: ast.AST) -> Iterator[Import]:
    """Every import of a file, those for types too."""
    if isinstance(tree, Import):
        yield tree
    for part in ast.iter_child_nodes(tree):
        if not (isinstance(part, ast.expr) or names_algorithm(part)):
            yield from written(part)


def running(tree: ast.AST) -> Iterator[Import]:
    """Every import that can run: at the top, in a class or in a function, but not under ``if TYPE_CHECKING``."""
    if isinstance(tree, Import):
        yield tree
    parts: Iterable[ast.AST] = ast.iter_child_nodes(tree)
    if isinstance(tree, ast.If) and ast.unparse(tree.test).endswith("TYPE_CHECKING"):
        parts = tree.body if isinstance(tree.test, ast.UnaryOp) else tree.orelse
    for part in parts:
        if not (isinstance(part, ast.expr) or names_algorithm(part)):
            yield from running(part)


def targets(module: Module, known: dict[str, str], reading: Reading) -> set[str]:
    """Paths of the files that a file imports; of ``from a import b`` that of ``a.b`` if it is a file, else of ``a``."""
    names: set[str] = set()
    for node in reading(module.tree):
        match node:
            case ast.Import(names=aliases):
                names.update(alias.name for alias in aliases)
            case ast.ImportFrom(names=aliases):
                origin = absolute(module.path, node)
                names.update(whole if (whole := f"{origin}.{a.name}") in known else origin for a in aliases)
    return {known[name] for name in names if name in known} - {module.path}


def absolute(path: str, node: ast.ImportFrom) -> str:
    """The dotted name after ``from``, with the dots of a relative import resolved."""
    if node.level == 0:
        return node.module or ""
    folder = ["reticent", *path.split("/")[:-1]]
    return ".".join([*folder[: len(folder) - node.level + 1], *([node.module] if node.module else [])])


def circles(files: Iterable[Module], reading: Reading = running) -> set[frozenset[str]]:
    """The sets of two or more files of which each imports each other, by way of others (Tarjan 1972)."""
    listed = list(files)
    known = {dotted(module.path): module.path for module in listed}
    graph = {module.path: sorted(targets(module, known, reading)) for module in listed}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_paths: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(path: str) -> None:
        order[path] = low[path] = len(order)
        open_paths.append(path)
        for other in graph[path]:
            if other not in order:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in open_paths:
                low[path] = min(low[path], order[other])
        if low[path] == order[path]:
            place = open_paths.index(path)
            group = frozenset(open_paths[place:])
            del open_paths[place:]
            if len(group) > 1:
                found.add(group)

    for path in graph:
        if path not in order:
            visit(path)
    return found


@pytest.mark.parametrize("reading", [running, written])
def test_files_import_each_other_in_no_circle(reading: Reading) -> None:
    assert circles(modules(), reading) == set(), "the value goes below and its facade above"


def pair(first: str, second: str, reading: Reading = running) -> set[frozenset[str]]:
    files = {"room/value.py": first, "room/facade.py": second, "room/__init__.py": ""}
    return circles([parsed(path, text) for path, text in files.items()], reading)


CIRCLE = {frozenset({"room/value.py", "room/facade.py"})}
BELOW = "from reticent.room.value import Value"


@pytest.mark.parametrize(
    "text",
    [
        "from reticent.room import facade",
        "from reticent.room.facade import page",
        "import reticent.room.facade",
        "from . import facade",
        "from .facade import page",
        "from ..room import facade",
        "def f():\n    from reticent.room.facade import page",
        "class A:\n    def f(self):\n        if self:\n            from reticent.room import facade",
        "try:\n    import reticent.room.facade\nexcept ImportError:\n    pass",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from reticent.room import facade",
        "if not TYPE_CHECKING:\n    from reticent.room import facade",
    ],
)
def test_the_search_for_circles_finds(text: str) -> None:
    assert pair(text, BELOW) == CIRCLE


TYPES_ALONE = [
    "if TYPE_CHECKING:\n    from reticent.room.facade import page",
    "if typing.TYPE_CHECKING:\n    from reticent.room import facade",
    "def f():\n    if TYPE_CHECKING:\n        from reticent.room import facade",
]


@pytest.mark.parametrize("text", ["", "import numpy", "from reticent.room import other", *TYPES_ALONE])
def test_the_search_for_circles_lets_be(text: str) -> None:
    assert pair(text, BELOW) == set()


@pytest.mark.parametrize("text", TYPES_ALONE)
def test_the_search_of_what_is_written_finds_circles_of_types(text: str) -> None:
    assert pair(text, BELOW, written) == CIRCLE


def test_the_search_for_circles_finds_one_by_way_of_a_third_file() -> None:
    files = {"a.py": "reticent.b", "b.py": "reticent.c", "c.py": "reticent.a", "d.py": "reticent.a"}
    found = circles(parsed(path, f"import {name}") for path, name in files.items())
    assert found == {frozenset({"a.py", "b.py", "c.py"})}
