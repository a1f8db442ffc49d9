"""Modules of tests import no heavy package before a test runs: every process of a run collects all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.conventions.tree import ROOT

HEAVY = (
    "pandas",
    "polars",
    "matplotlib",
    "sklearn",
    "statsmodels",
    "playwright",
    "dp_accounting",
    "duckdb",
    "openpyxl",
)


def early(text: str) -> Iterator[str]:
    """Heavy packages that a module imports as soon as it is imported; ``scipy`` alone loads its parts when asked."""
    for node in ast.parse(text).body if any(name in text for name in (*HEAVY, "scipy")) else ():
        match node:
            case ast.Import(names=names):
                found = [name.name for name in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [f"{module}.{name.name}" for name in names]
            case _:
                continue
        yield from (name for name in found if name.startswith("scipy.") or name.partition(".")[0] in HEAVY)


def test_no_heavy_package_is_imported_while_tests_are_collected() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if "v0_1_0" not in path.parts]
    found = {str(path.relative_to(ROOT)): list(early(path.read_text("utf-8"))) for path in files}
    assert len(found) > 250
    assert {path: names for path, names in found.items() if names} == {}


def test_the_search_for_early_imports_finds() -> None:
    assert list(early("import pandas as pd\nfrom scipy import stats")) == ["pandas", "scipy.stats"]
    assert list(early("import scipy\ndef f():\n    import polars")) == []
