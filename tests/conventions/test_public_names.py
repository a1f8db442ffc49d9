"""The public names: listed in one place, documented, and light to import."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import reticent

PUBLIC: tuple[str, ...] = tuple(getattr(reticent, "__all__", ()))
ENGINES = {"dp_accounting", "duckdb", "ibis", "matplotlib", "pandas", "polars", "pyarrow", "scipy"}
HEAVY = ENGINES | {"cryptography", "sklearn", "sqlglot", "statsmodels", "click"}


def loaded_by(module: str) -> set[str]:
    """Top-level names in ``sys.modules`` of a new interpreter that imported ``module`` alone."""
    program = f"import json, sys, {module}; print(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_public_names_exist_and_are_documented() -> None:
    found = {}
    for name in PUBLIC:
        thing = getattr(reticent, name)
        text = inspect.getdoc(thing) or ""
        described = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
        if described and (text == "" or text.startswith(f"{name}(")):  # dataclass writes name(fields) by itself
            found[name] = text
    assert found == {}


def test_public_functions_take_no_open_ended_arguments() -> None:
    found = []
    for name in PUBLIC:
        thing = getattr(reticent, name)
        for function in vars(thing).values() if inspect.isclass(thing) else (thing,):
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
                found += [function.__qualname__] * (inspect.Parameter.VAR_KEYWORD in kinds)
    assert found == []


def test_public_names_are_listed_once() -> None:
    assert len(set(PUBLIC)) == len(PUBLIC)
    assert [name for name in PUBLIC if name.startswith("_") and name != "__version__"] == []


def test_public_names_are_told_before_they_are_used() -> None:
    """A statistic is imported when its name is first used; completion knows it before."""
    program = "import json, reticent; print(json.dumps(dir(reticent)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(PUBLIC) - set(json.loads(done.stdout)) == set()


def test_import_loads_no_engine_and_no_heavy_package() -> None:
    loaded = loaded_by("reticent")
    assert "reticent" in loaded
    assert loaded & HEAVY == set()


def test_the_command_line_starts_without_an_engine() -> None:
    assert loaded_by("reticent.cli") & ENGINES == set()


def test_the_search_for_loaded_packages_finds() -> None:
    assert "duckdb" in loaded_by("duckdb")
