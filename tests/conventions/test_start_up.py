"""Modules that a program loads before its first answer, and files that a warm release passes: counted in a process.

A limit is what was reached, or one above: it may be lowered, and is raised only with a reason. Each statistic is
declared in a file of its own, which is loaded when its verb is first used and names its algorithm without importing it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conventions.test_circles import names_algorithm, running
from tests.conventions.tree import Module, dotted, functions, modules, parsed, statements

STUDY = """
import reticent as rt
study = rt.study({"x": [1, 2, 3] * 500}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=9)
"""
HEAVY: Final = ("numpy", "scipy", "ibis", "matplotlib", "duckdb", "pyarrow", "pandas", "jinja2", "pydantic")
LOADED = f"""
import json, sys
heavy = {HEAVY!r}
print(json.dumps(sorted(name for name in sys.modules if name.startswith("reticent") or name in heavy)))
"""
VERB = """
import sys
from reticent.cli import main
sys.argv = ["reticent", *{words!r}]
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
"""
PASSED = """
import json, pathlib, reticent
root = str(pathlib.Path(reticent.__file__).parent)
study.release(["mean(x)"], epsilon=1)
files = set()
def seen(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename[len(root) + 1:])
import sys
sys.setprofile(seen)
study.release(["mean(x)"], epsilon=1)
sys.setprofile(None)
print(json.dumps(sorted(files)))
"""
FILE = """
[study]
title = "made up"
source = "made_up.csv"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "1"
[columns]
x = { kind = "integer", low = 0, high = 9 }
[[release]]
name = "one"
epsilon = "1"
ask = ["mean(x)"]
"""


def told(program: str, place: Path | None = None) -> Any:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=place)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def ours(loaded: list[str]) -> list[str]:
    return [name for name in loaded if name.startswith("reticent")]


def within(loaded: list[str], *rooms: str) -> list[str]:
    return [name for name in loaded if name.startswith(tuple(f"reticent.{room}" for room in rooms))]


VERBS: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {  # modules of ours that each may load, and its words
    "check": (95, ("check", "study.toml")),
    "plan": (91, ("plan", "study.toml")),
    "help": (38, ("--help",)),
    "help of release": (84, ("release", "--help")),
    "word": (42, ("explain", "epsilon")),
}

# Files whose imports inside functions keep nothing away from a start: each has its reason.
APART: Final[Mapping[str, str]] = {
    "certificate/render/figure.py": "densities alone are drawn by a file of their room",
    "certificate/render/panels.py": "a summary of a model has no question to read",
    "cli/__init__.py": "Ctrl-C while the program is read ends in words",
    "cli/completed_names.py": "a name of a file is completed without a study or a ledger",
    "cli/sql.py": "one statement needs no prompt",
    "cli/withdraw.py": "a receipt names no certificate",
    "conformance/couplings.py": "a plan of a regression alone needs its family",
    "data/partitions.py": "the compiler loads Ibis",
    "data/query_result.py": "the compiler loads Ibis",
    "data/table.py": "the compiler loads Ibis",
    "data/template.py": "a file of another program has a reader of its own",
    "learning/fit/estimator.py": "a card of a fit is made only when it is asked for",
    "learning/linear.py": "a method of a model has an algorithm of its own",
    "privacy/profiles.py": "a grid of losses is needed where no formula is",
    "statistics/hypotheses/power.py": "one of the tests is of a density",
    "statistics/weighted/preparation.py": "a family of weighted statistics has its own step",
    "study/condition.py": "a table in a database has a reader of its own",
    "study/plan.py": "memory is forecast only when it is asked for",
    "study/rehearsal.py": "only a drawing needs figures",
    "study/release_files.py": "a data frame needs no page and no figure",
    "study/selection.py": "a page, a figure and a listing are made only when they are asked for",
    "study/synthetic.py": "the words of an unknown name are looked up on its error alone",
}


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Modules and heavy packages that each start has loaded at its end."""
    place = tmp_path_factory.mktemp("start")
    (place / "study.toml").write_text(FILE, "utf-8")
    (place / "made_up.csv").write_text("x\n" + "1\n" * 50, "utf-8")
    programs = {
        "import": "import reticent",
        "open": STUDY,
        "mean": f"{STUDY}\nstudy.release(['mean(x)'], epsilon=1)",
        **{verb: VERB.format(words=words) for verb, (_, words) in VERBS.items()},
    }
    return {name: told(f"{program}\n{LOADED}", place) for name, program in programs.items()}


def test_the_package_loads_few_modules(starts: dict[str, list[str]]) -> None:
    loaded = starts["import"]
    # with formulas, which choose the rows of a question, and the kinds of columns beside the schema
    assert len(ours(loaded)) <= 31
    families = ("counts", "moments", "quantiles", "robust", "regression", "hypotheses", "density", "registry")
    assert within(loaded, *(f"statistics.{family}" for family in families)) == []


def test_a_cold_mean_loads_no_algorithm_of_another_family(starts: dict[str, list[str]]) -> None:
    loaded = starts["mean"]
    # with the check of the engine, which asks one query of each kind, and what stands beside answers
    assert len(ours(loaded)) <= 90
    assert within(loaded, "synthesis.", "learning", "survey", "certificate.render", "conformance") == []
    others = within(loaded, "statistics.regression.", "statistics.robust.", "statistics.quantiles.", "statistics.hyp")
    assert others == []
    assert within(loaded, "statistics.convex") == []
    assert within(loaded, "mechanisms.ks", "mechanisms.privtree", "mechanisms.objective") == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_reads_no_row_loads_no_heavy_package(verb: str, starts: dict[str, list[str]]) -> None:
    loaded = starts[verb]
    assert len(ours(loaded)) <= VERBS[verb][0]
    assert [name for name in loaded if not name.startswith("reticent")] == []
    assert within(loaded, "synthesis.", "learning", "survey", "cli.survey") == []
    assert within(loaded, "cli.release") == (["reticent.cli.release"] if "release" in verb else [])


def test_a_warm_release_of_a_mean_passes_few_files() -> None:
    assert len(told(STUDY + PASSED)) <= 62


def late(module: Module, names: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
    """Imports of ours inside functions: their lines, and what they load. The algorithm of a statistic is left out."""
    for function in functions(module):
        for node in statements(function) if not names_algorithm(function) else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reticent"):
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                yield node.lineno, frozenset(name if name in names else name.rpartition(".")[0] for name in whole)


def at_import(module: Module) -> Iterator[str]:
    """What a file imports when it is imported itself, outside functions, with the packages that it lies in."""
    inside = {id(node) for function in functions(module) for node in statements(function)}
    for node in running(module.tree):
        match node:
            case _ if id(node) in inside:
                pass
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(origin), names=names):
                yield from (origin, *(f"{origin}.{alias.name}" for alias in names))
    yield from packages(dotted(module.path))


def packages(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def heavy(names: Iterable[str], imports: Mapping[str, tuple[str, ...]]) -> bool:
    """True if one of these modules loads a heavy package when it is imported, by itself or by way of others."""
    due, seen = [*names], set[str]()
    while due:
        name = due.pop()
        if name in seen:
            continue
        seen.add(name)
        due += imports[name] if name in imports else packages(name)
    return not seen.isdisjoint(HEAVY)


def needless(listed: tuple[Module, ...], starts: Mapping[str, list[str]]) -> dict[str, list[int]]:
    """Lines of imports inside functions that keep nothing away from any start.

    The help of a verb, and the completion of its options, load the file of the verb: it keeps heavy packages away.
    """
    imports, found = {dotted(module.path): tuple(at_import(module)) for module in listed}, {}
    loaded = [frozenset(every) for every in starts.values()]
    for module in listed:
        here = [every for every in loaded if dotted(module.path) in every]
        verb = module.path.startswith("cli/")
        lines = [
            line
            for line, loads in late(module, frozenset(imports))
            if all(loads <= every for every in here) and not (verb and heavy(loads, imports))
        ]
        found[module.path] = sorted(set(lines))
    return {path: lines for path, lines in found.items() if lines}


def test_an_import_inside_a_function_keeps_a_module_away_from_a_start(starts: dict[str, list[str]]) -> None:
    """A statistic loads its algorithm, and a verb what needs a heavy package; all else keeps a start light."""
    found = needless(modules(), starts)
    assert {path: lines for path, lines in found.items() if path not in APART} == {}
    assert set(APART) == set(found)  # every exception is still one


def test_the_search_for_needless_imports_finds() -> None:
    files = (parsed("b.py", "def f():\n    from reticent.a import x"), parsed("a.py", ""))
    both, one = ["reticent.a", "reticent.b"], ["reticent.b"]
    assert needless(files, {"start": both}) == {"b.py": [2]}
    assert needless(files, {"start": both, "light": one}) == {}


@pytest.mark.parametrize(("text", "found"), [("", {"cli/b.py": [2]}), ("import numpy.linalg", {}), ("import c", {})])
def test_the_search_for_needless_imports_of_verbs_finds(text: str, found: dict[str, list[int]]) -> None:
    third = parsed("c.py", "import scipy")
    files = (parsed("cli/b.py", "def f():\n    from reticent.a import x"), third)
    above = parsed("a.py", text.replace("import c", "from reticent.c import y"))
    assert needless((*files, above), {}) == found
