"""Check what changed since main, in under a minute: types, conventions, and the tests nearest to the change.

The tests are the changed files of tests, those named after a changed module, and those that import one. At most
``MOST`` files are run, the nearest first; how many are left to ``make test`` is said.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 12


def changed() -> list[str]:
    """Files of this checkout that differ from where it left main, and those not yet tracked."""
    fork = _git("merge-base", "HEAD", "main") or _git("rev-parse", "HEAD")
    told = [*_git("diff", "--name-only", fork).split("\n"), *_git("ls-files", "-o", "--exclude-standard").split("\n")]
    return sorted({name for name in told if (ROOT / name).is_file()})


def nearest(files: Iterable[str], tests: dict[str, str]) -> list[str]:
    """Tests of the changed files, the nearest first; ``tests`` has the text of every file of tests by its path."""
    files = list(files)
    modules = {_module(name) for name in files if name.startswith("src/") and name.endswith(".py")}
    helpers = {_module(name) for name in files if name.startswith("tests/") and name.endswith(".py")}
    found = {path: _distance(path, text, files, modules, helpers) for path, text in tests.items()}
    return sorted((path for path in found if found[path] < 3), key=lambda path: (found[path], path))


def _distance(path: str, text: str, files: list[str], modules: set[str], helpers: set[str]) -> int:
    """0 for a changed file of tests, 1 for the namesake of a changed module, 2 where one is imported, else 3."""
    if path in files:
        return 0
    if {module.rpartition(".")[2] for module in modules} & {Path(path).stem.removeprefix("test_")}:
        return 1
    return 2 if _imported(text) & (modules | helpers) else 3


def _imported(text: str) -> set[str]:
    """Dotted names that a text imports; ``from a import b`` gives ``a`` and ``a.b``."""
    found = set(re.findall(r"^\s*import ([\w.]+)", text, flags=re.MULTILINE))
    for origin, listed in re.findall(r"^\s*from ([\w.]+) import (\([^)]*\)|.*)$", text, flags=re.MULTILINE):
        found |= {origin, *(f"{origin}.{name}" for name in re.findall(r"\w+", listed))}
    return found


def _module(name: str) -> str:
    return name.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def main() -> int:
    files = changed()
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    tests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths if path.is_file()}
    chosen = [path for path in nearest(files, tests) if not path.startswith("tests/conventions/")]
    print(f"{len(files)} files changed since main; {len(chosen)} files of tests are near, the first {MOST} are run")
    python = [name for name in files if name.endswith(".py")]
    steps = [
        ["ruff", "check", "-q", *python],
        ["mypy", "src", *(name for name in python if name.startswith("tests/") and "/golden/v0_1_0/" not in name)],
        ["pytest", "-m", "not wide and not audit", "-n", "2", "tests/conventions", *chosen[:MOST]],
    ]
    codes = [subprocess.run([sys.executable, "-m", *step], cwd=ROOT, check=False).returncode for step in steps]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
