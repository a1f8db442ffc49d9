"""The source tree, parsed once, and the questions the conventions ask of it.

Every rule is a function from one parsed module to the lines that break it, so that a test can show it a module that
does.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "reticent"


@dataclass(frozen=True)
class Module:
    """One file of the package: its path below ``src/reticent``, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, which most rules look at."""
        return tuple(ast.walk(self.tree))

    def __str__(self) -> str:
        return self.path


def parsed(path: str, text: str) -> Module:
    return Module(path, text, ast.parse(text, filename=path))


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the package, read with the garbage collector off: it is five times as fast."""
    running = gc.isenabled()
    gc.disable()
    try:
        return tuple(
            parsed(file.relative_to(SRC).as_posix(), file.read_text("utf-8")) for file in sorted(SRC.rglob("*.py"))
        )
    finally:
        if running:
            gc.enable()


def broken(rule: Callable[[Module], list[str]], *but: str) -> dict[str, list[str]]:
    """Where a rule is broken, file by file, outside the paths that begin with one of ``but``."""
    return {m.path: found for m in modules() if not m.path.startswith(but) and (found := rule(m))}


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and every statement below it. Expressions hold none, and are most of a tree."""
    due = [tree]
    while due:
        node = due.pop()
        yield node
        due += [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr)]


def imported(module: Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported; ``from a import b`` gives ``a.b``."""
    for node in statements(module.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(origin), names=names, level=0):
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)


def dotted(path: str) -> str:
    """The name under which a file is imported."""
    return ".".join(["reticent", *path.removesuffix(".py").removesuffix("__init__").strip("/").split("/")]).strip(".")


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method, nested ones too."""
    for node in statements(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of ``packages`` or inside one."""
    return any(name == package or name.startswith(package + ".") for package in packages)
