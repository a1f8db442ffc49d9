"""Extras of the package: those for users name what the code imports, that of the tests names the tools they run."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from packaging.requirements import Requirement

from tests.conventions.tree import ROOT, Module, imported, modules, parsed

DEVELOPMENT = {"docs", "test", "check"}  # tools of this repository, which the package itself does not import
IMPORTED_AS = {"scikit-learn": "sklearn"}


def unused(extras: dict[str, list[str]], files: tuple[Module, ...]) -> dict[str, list[str]]:
    """The packages of each extra that no file imports."""
    known = {name.partition(".")[0] for module in files for _, name in imported(module)}
    found = {}
    for extra, requirements in extras.items():
        packages = [Requirement(text).name for text in requirements]
        found[extra] = [name for name in packages if IMPORTED_AS.get(name, name) not in known]
    return {extra: names for extra, names in found.items() if names}


def tools(tree: ast.AST) -> Iterator[str]:
    """The modules that a file of tests runs by ``python -m``, as top-level packages."""
    for node in ast.walk(tree):
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
        python = any(getattr(word, "attr", "") == "executable" for word in words)
        for option, name in pairwise(texts):
            if python and option == "-m" and isinstance(name, str):
                yield name.partition(".")[0]


def skipped(tree: ast.AST) -> set[str]:
    """The packages that a file of tests does without, by ``importorskip``."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [call.args[0] for call in calls if getattr(call.func, "attr", "") == "importorskip"]
    return {str(name.value).partition(".")[0] for name in named if isinstance(name, ast.Constant)}


def not_installed(files: Iterable[Path], requirements: list[str]) -> dict[str, set[str]]:
    """The tools that each file runs and neither the requirements nor Python brings."""
    known = {Requirement(text).name for text in requirements} | {"reticent", "tests"} | set(sys.stdlib_module_names)
    found = {}
    for file in files:
        text = file.read_text("utf-8")
        tree = ast.parse(text if '"-m"' in text else "")
        if lacking := set(tools(tree)) - known - skipped(tree):
            found[file.name] = lacking
    return found


def test_the_tests_install_every_tool_that_they_run() -> None:
    """``make test`` has the extra ``test`` alone: a tool of ``check`` is not there yet on a fresh machine."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert not_installed(files, extras["test"]) == {}
    without = [text for text in extras["test"] if Requirement(text).name != "ruff"]
    assert not_installed(files, without) == {"test_statistic_recipe.py": {"ruff"}}


def test_an_extra_installs_what_the_code_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() >= DEVELOPMENT
    assert unused({name: extras[name] for name in extras.keys() - DEVELOPMENT}, modules()) == {}


def test_an_extra_without_code_is_found() -> None:
    files = (parsed("a.py", "from sklearn.base import clone"),)
    assert unused({"learn": ["scikit-learn>=1.6"], "spark": ["pyspark>=4.0"]}, files) == {"spark": ["pyspark"]}
