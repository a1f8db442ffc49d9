"""Modules that a program loads before its first answer, and files that a warm release passes: counted in a process.

A limit is what was reached, or one above: it may be lowered, and is raised only with a reason. Each statistic is
declared in a file of its own, which is loaded when its verb is first used and names its algorithm without importing it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STUDY = """
import reticent as rt
study = rt.study({"x": [1, 2, 3] * 500}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=9)
"""
LOADED = """
import json, sys
heavy = ("numpy", "scipy", "ibis", "matplotlib", "duckdb", "pyarrow", "pandas", "jinja2", "pydantic")
print(json.dumps(sorted(name for name in sys.modules if name.startswith("reticent") or name in heavy)))
"""
VERB = """
import sys
from reticent.cli import main
sys.argv = ["reticent", {verb!r}, "study.toml"]
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


def test_the_package_loads_few_modules() -> None:
    loaded = told(f"import reticent\n{LOADED}")
    # with dates, and expressions, which choose the rows of a question
    assert len(ours(loaded)) <= 39
    families = ("counts", "moments", "quantiles", "robust", "regression", "hypotheses", "density", "registry")
    assert within(loaded, *(f"statistics.{family}" for family in families)) == []


def test_a_cold_mean_loads_no_algorithm_of_another_family() -> None:
    loaded = told(f"{STUDY}\nstudy.release(['mean(x)'], epsilon=1)\n{LOADED}")
    # with the check of the engine, which asks one query of each kind, and what stands beside answers
    assert len(ours(loaded)) <= 107
    assert within(loaded, "synthesis.", "learning", "survey", "certificate.render", "conformance") == []
    others = within(loaded, "statistics.regression.", "statistics.robust.", "statistics.quantiles.", "statistics.hyp")
    assert others == []
    assert within(loaded, "statistics.convex") == []
    assert within(loaded, "mechanisms.ks", "mechanisms.privtree", "mechanisms.objective") == []


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_a_verb_that_reads_no_row_loads_no_heavy_package(verb: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(FILE, "utf-8")
    (tmp_path / "made_up.csv").write_text("x\n" + "1\n" * 50, "utf-8")
    loaded = told(VERB.format(verb=verb) + LOADED, tmp_path)
    assert len(ours(loaded)) <= 105
    assert [name for name in loaded if not name.startswith("reticent")] == []
    assert within(loaded, "synthesis.", "learning", "survey", "cli.survey", "cli.release") == []


def test_a_warm_release_of_a_mean_passes_few_files() -> None:
    assert len(told(STUDY + PASSED)) <= 70
