"""Extras of the package: each one for users names a package that the code imports."""

from __future__ import annotations

import tomllib

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


def test_an_extra_installs_what_the_code_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() >= DEVELOPMENT
    assert unused({name: extras[name] for name in extras.keys() - DEVELOPMENT}, modules()) == {}


def test_an_extra_without_code_is_found() -> None:
    files = (parsed("a.py", "from sklearn.base import clone"),)
    assert unused({"learn": ["scikit-learn>=1.6"], "spark": ["pyspark>=4.0"]}, files) == {"spark": ["pyspark"]}
