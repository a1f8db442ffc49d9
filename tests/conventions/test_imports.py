"""Who may import what, beyond the layers that import-linter checks."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence

import pytest

from tests.conventions.tree import (
    ROOT,
    Module,
    broken,
    dotted,
    functions,
    imported,
    modules,
    parsed,
    statements,
    within,
)


def randomness(module: Module) -> list[str]:
    """Randomness that does not come through ``entropy``."""
    found = [
        f"{line}: {name}" for line, name in imported(module) if within(name, ("random", "secrets", "numpy.random"))
    ]
    found += [f"{line}: {name}" for line, name in imported(module) if name in {"os.urandom", "os.getrandom"}]
    for node in module.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                found.append(f"{node.lineno}: numpy.random")
            case ast.Attribute(value=ast.Name(id="os"), attr="urandom" | "getrandom"):
                found.append(f"{node.lineno}: os.{node.attr}")
            case ast.Call(func=ast.Attribute(attr="rvs")):
                found.append(f"{node.lineno}: rvs")
    return found


def engines(module: Module) -> list[str]:
    """Engines and data frames: the places where rows are."""
    packages = ("ibis", "duckdb", "pandas", "polars", "pyspark", "psycopg")
    return [f"{line}: {name}" for line, name in imported(module) if within(name, packages)]


def ibis(module: Module) -> list[str]:
    """The plan language."""
    return [f"{line}: {name}" for line, name in imported(module) if within(name, ("ibis",))]


def axioms(module: Module) -> list[str]:
    """Guarantees that are stated and not derived."""
    found = [f"{line}: {name}" for line, name in imported(module) if name.endswith("guarantee.axiom")]
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(id="axiom") | ast.Attribute(attr="axiom")):
                found.append(f"{node.lineno}: axiom(...)")
    return found


def amplifications(module: Module) -> list[str]:
    """Sampling rates claimed where nothing is sampled."""
    names = ("poisson", "without_replacement", "shuffled")
    found = [
        f"{line}: {name}" for line, name in imported(module) if name.endswith(tuple(f"amplify.{n}" for n in names))
    ]
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="amplify"), attr=attr)) if attr in names:
                found.append(f"{node.lineno}: amplify.{attr}(...)")
    return found


def early(module: Module) -> list[str]:
    """Heavy packages imported as soon as the module is."""
    late = {node.lineno for function in functions(module) for node in statements(function) if hasattr(node, "lineno")}
    for branch in statements(module.tree):
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test):
            late |= {node.lineno for node in statements(branch) if isinstance(node, ast.Import | ast.ImportFrom)}
    heavy = ("ibis", "duckdb", "pandas", "polars", "pyarrow", "scipy", "matplotlib", "dp_accounting", "cryptography")
    return [f"{line}: {name}" for line, name in imported(module) if within(name, heavy) and line not in late]


OFFERED = (
    "pandas",
    "polars",
    "sklearn",
    "openpyxl",
    "pyreadstat",
    "pyspark",
    "prompt_toolkit",
    "psycopg",
    "IPython",
    "_typeshed",
)  # an extra, a user's own, or types alone


def undeclared(module: Module) -> list[str]:
    """Packages that an install of the wheel does not bring."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.split(r"[\[<>=]", one)[0].replace("-", "_").lower() for one in needed}
    brought = {"ibis" if name == "ibis_framework" else name for name in names}
    known = {*brought, *OFFERED, *sys.stdlib_module_names, "reticent"}
    return [f"{line}: {name}" for line, name in imported(module) if name.partition(".")[0] not in known]


def loaded_with(names: Iterable[str], at_top: dict[str, set[str]]) -> set[str]:
    """Modules that are loaded with some: their packages, and what stands at the top of each."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in at_top and name not in found:
            found.add(name)
            left += [*at_top[name], *([name.rpartition(".")[0]] if "." in name else [])]
    return found


def lines(trees: Iterable[ast.AST]) -> set[int]:
    """The lines of the imports in some trees."""
    nodes = (node for tree in trees for node in statements(tree))
    return {node.lineno for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)}


def for_types(module: Module) -> Iterator[ast.AST]:
    """Branches that no program runs."""
    for node in statements(module.tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield node


def idle(listed: Sequence[Module]) -> dict[str, list[str]]:
    """Imports in functions of what their file loads anyway: they save nothing and hide what a file needs."""
    names = {dotted(module.path) for module in listed}
    at_top: dict[str, set[str]] = {}
    late: dict[str, list[tuple[int, str]]] = {}
    for module in listed:
        inside, unread = lines(functions(module)), lines(for_types(module))
        ours = [(line, name) for line, name in imported(module) if within(name, ("reticent",))]
        every = sorted({(line, name if name in names else name.rpartition(".")[0]) for line, name in ours})
        at_top[dotted(module.path)] = {name for line, name in every if line not in inside | unread}
        late[dotted(module.path)] = [(line, name) for line, name in every if line in inside and name in names]
    found = {}
    for name, places in late.items():
        loaded = loaded_with([name], at_top) - {name}
        found[name] = [f"{line}: {other}" for line, other in places if other in loaded]
    return {name: places for name, places in found.items() if places}


def test_no_function_imports_what_its_file_loads_anyway() -> None:
    assert idle(modules()) == {}


def test_the_search_for_idle_imports_finds() -> None:
    late = "def f():\n    from reticent.a import x"
    through = [parsed("b.py", f"import reticent.c\n{late}"), parsed("c.py", "import reticent.a"), parsed("a.py", "")]
    assert idle(through) == {"reticent.b": ["3: reticent.a"]}
    assert idle([parsed("b.py", late), parsed("a.py", "")]) == {}
    types = parsed("b.py", f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import reticent.a\n{late}")
    assert idle([types, parsed("a.py", "")]) == {}


def test_an_install_brings_every_package_that_is_imported() -> None:
    """The environment of the tests has more than a user's: attrs came with another package, and was in no wheel."""
    assert broken(undeclared) == {}


def test_the_search_for_undeclared_packages_finds() -> None:
    assert undeclared(parsed("a.py", "import hypothesis"))
    assert undeclared(parsed("a.py", "def f():\n    from yaml import load"))
    assert not undeclared(parsed("a.py", "import attrs, json\nfrom ibis import _"))


def test_randomness_comes_through_entropy_only() -> None:
    assert broken(randomness, "entropy.py") == {}


def test_rows_enter_in_data_only() -> None:
    # the table of the demonstration is public, and a ledger on a server holds no rows
    told = "demo/postgres.py", "demo/spark.py", "ledger/postgres_store.py"
    assert broken(engines, "data/", *told) == {}


def test_ibis_is_imported_by_the_plan_and_the_engines_only() -> None:
    assert broken(ibis, "data/query_compiler.py", "data/query_expressions.py", "data/engines/") == {}


def test_axioms_stand_beside_mechanisms_only() -> None:
    assert broken(axioms, "mechanisms/") == {}


def test_a_loss_is_amplified_only_by_what_draws_the_sample() -> None:
    assert broken(amplifications, "mechanisms/") == {}


def test_heavy_packages_are_imported_inside_functions() -> None:
    # the plan and the engines are themselves imported inside functions: the test of the light import sees to it
    assert broken(early, "data/query_compiler.py", "data/query_expressions.py", "data/engines/") == {}


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from secrets import token_bytes",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "def f(law):\n    return law.rvs(size=3)",
    ],
)
def test_the_search_for_randomness_finds(text: str) -> None:
    assert randomness(parsed("x.py", text)) != []


@pytest.mark.parametrize("text", ["import duckdb", "from ibis import _", "def f():\n    import polars as pl"])
def test_the_search_for_engines_finds(text: str) -> None:
    assert engines(parsed("x.py", text)) != []


@pytest.mark.parametrize(
    "text",
    ["from reticent.privacy.guarantee import axiom", "axiom(1, 2, 3)", "guarantee.axiom(1, 2, 3)"],
)
def test_the_search_for_axioms_finds(text: str) -> None:
    assert axioms(parsed("x.py", text)) != []


@pytest.mark.parametrize(
    "text",
    ["from reticent.privacy.amplify import poisson", "amplify.without_replacement(part, 1, 2)", "amplify.shuffled(x)"],
)
def test_the_search_for_amplifications_finds(text: str) -> None:
    assert amplifications(parsed("x.py", text)) != []


@pytest.mark.parametrize("text", ["import scipy", "from pyarrow import Table", "class A:\n    import duckdb"])
def test_the_search_for_early_imports_finds(text: str) -> None:
    assert early(parsed("x.py", text)) != []


def test_the_search_for_early_imports_lets_late_ones_be() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scipy\ndef f():\n    import duckdb"
    assert early(parsed("x.py", text)) == []
