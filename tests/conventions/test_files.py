"""What may stand in the files of the repository, and in the list of pinned versions."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache

import pytest

from tests.conventions.tree import ROOT

# broken by a bar, so that this file does not hold what it forbids
MACHINE = [word.replace("|", "") for word in ("/wo|rk/", "/ro|ot/", "/ho|me/", "/op|t/", "file:|//")]
REGISTRY = [
    word.replace("|", "") for word in ("pypi|.org", "python|hosted.org", "anaconda|.org", "extra-|index", "find|-links")
]
BINARY = (".parquet", ".png", ".ico")
KEPT = (".ledger", ".pickle")  # golden files: binary, and still with text inside that could name a machine


@cache
def tracked() -> tuple[str, ...]:
    """Files under version control; without a repository (an unpacked archive) there is nothing to ask."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a checkout")
    return tuple(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


def addresses(text: str) -> list[str]:
    """Paths of one machine and hosts of registries, with the line they stand on."""
    lines = enumerate(text.splitlines(), start=1)
    return [f"{number}: {word}" for number, line in lines for word in (*MACHINE, *REGISTRY) if word in line]


def text_of(name: str) -> str:
    return (ROOT / name).read_bytes().decode("latin-1" if name.endswith(KEPT) else "utf-8")


def test_no_file_names_a_machine_path_or_a_registry() -> None:
    found = {name: hits for name in tracked() if not name.endswith(BINARY) and (hits := addresses(text_of(name)))}
    assert found == {}


def test_the_search_for_addresses_finds() -> None:
    assert addresses("see " + MACHINE[0] + "main") != []
    assert addresses("https://" + REGISTRY[0] + "/simple") != []


def test_nothing_that_was_built_is_tracked() -> None:
    assert [
        name
        for name in tracked()
        if re.search(r"__pycache__|\.pyc$|\.egg-info|^build/|^dist/|_build/|^r-[0-9]{4}", name)
    ] == []


def test_nothing_that_a_release_wrote_stands_at_the_root() -> None:
    """A trial release once left its certificate, page, table and figure there."""
    named = {".gitignore", "LICENSE", "Makefile", "constraints.txt", "pyproject.toml"}
    assert {name for name in tracked() if "/" not in name and not name.endswith(".md")} == named


def test_no_tracked_file_is_larger_than_a_megabyte() -> None:
    assert [name for name in tracked() if (ROOT / name).stat().st_size > 1_000_000] == []


def pins() -> dict[str, str]:
    """Name to version; a line of another form fails the test that asks."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)", line)
            assert match, f"not name==version: {line}"
            found[normal(match[1])] = match[2]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_names_and_versions_only() -> None:
    assert len(pins()) > 50


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["check"], *extras["docs"]]
    names = {normal(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in wanted}
    assert names - pins().keys() == set()


def test_sqlglot_stays_below_the_version_ibis_cannot_use() -> None:
    major, minor = (int(part) for part in pins()["sqlglot"].split(".")[:2])
    assert (28, 0) <= (major, minor) < (30, 18)
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert "sqlglot>=28,<30.18" in dependencies  # constraints do not reach those who install the wheel


def test_the_peers_can_be_installed_together() -> None:
    """A peer whose version is not that of the constraints is taken out of them; none hides the folder of tests."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    peers = re.findall(r"([A-Za-z0-9._-]+)==([0-9.]+)", re.findall(r"^PEERS := (.*)$", makefile, re.MULTILINE)[0])
    recipe = makefile[makefile.index("$(BENCH)/.peers:") :]
    assert len(peers) > 5
    for name, version in peers:
        assert pins().get(normal(name), version) == version or f"grep -v '^{name}=='" in recipe, name
    assert "site-packages/tests" in recipe
