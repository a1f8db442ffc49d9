"""One of `make test`, `make test-all` and `make audit` runs each test; every file of tests keeps one in the first."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import ClassVar, NamedTuple

import pytest

from tests.conftest import engine_of, of_one_process, pytest_terminal_summary, spread
from tests.conventions.tree import ROOT

TIERS = ("test", "test-all", "audit")
TESTS = ROOT / "tests"


def commands() -> dict[str, str]:
    """The marks that each target of the Makefile selects."""
    text = (ROOT / "Makefile").read_text("utf-8")
    found = {}
    for tier in TIERS:
        (recipe,) = re.findall(rf"^{tier}:.*\n((?:\t.*\n)+)", text, flags=re.MULTILINE)
        (words,) = re.findall(r"""pytest .*?-m ("[^"]+"|\w+)""", recipe)
        found[tier] = words.strip('"')
    return found


def chosen(words: str, **marks: bool) -> bool:
    """Tests with these marks are run by a command that selects by these words."""
    return bool(eval(words, {"__builtins__": {}}, marks))


def test_every_test_is_run_by_exactly_one_target() -> None:
    for wide, audit in itertools.product((False, True), repeat=2):
        runs = [tier for tier, words in commands().items() if chosen(words, wide=wide, audit=audit)]
        assert len(runs) == 1, (wide, audit, runs)


def test_ci_runs_both_tiers_and_the_checks() -> None:
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    ((words, options),) = re.findall(r"""^\S+python -m pytest -m "([^"]+)" (.*?) &&""", text, flags=re.MULTILINE)
    assert options.replace("-n 3", "-n 2") in (ROOT / "Makefile").read_text("utf-8")
    tiers = commands()
    for wide, audit in itertools.product((False, True), repeat=2):
        either = any(chosen(tiers[tier], wide=wide, audit=audit) for tier in ("test", "test-all"))
        assert chosen(words, wide=wide, audit=audit) == either
    assert re.findall(r"^make \S+", text, flags=re.MULTILINE) == ["make check"]


def marks(listed: list[ast.expr]) -> set[str]:
    """Names of marks in a list of decorators, or in what ``pytestmark`` is."""
    return {
        node.attr
        for mark in listed
        for node in ast.walk(mark)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
    }


def declared(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Every test of a module and its marks, those of the module included."""
    shared = set[str]()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            shared = marks([node.value])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, shared | marks(node.decorator_list)


def left_out(tree: ast.Module) -> bool:
    """A module has tests for CI, and none of them is in `make test`."""
    tiers = [found for _, found in declared(tree) if "audit" not in found]
    return bool(tiers) and all("wide" in found for found in tiers)


def test_every_file_of_tests_keeps_one_in_make_test() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(TESTS.rglob("test_*.py"))}
    assert len(texts) > 100
    assert [name for name, text in texts.items() if "mark.wide" in text and left_out(ast.parse(text))] == []


def test_golden_tests_are_whole_in_make_test() -> None:
    for path in sorted((TESTS / "golden").glob("test_*.py")):
        for name, found in declared(ast.parse(path.read_text("utf-8"))):
            assert not {"wide", "few"} & found, (path.name, name)


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.wide\ndef test_a(): ...",
        "pytestmark = pytest.mark.wide\ndef test_a(): ...",
        "pytestmark = [pytest.mark.wide]\n@pytest.mark.few(2)\ndef test_a(): ...",
        "@pytest.mark.audit\ndef test_a(): ...\n@pytest.mark.wide\ndef test_b(): ...",
    ],
)
def test_the_search_for_files_left_out_finds(text: str) -> None:
    assert left_out(ast.parse(text))


def test_the_search_for_files_left_out_lets_others_be() -> None:
    assert not left_out(ast.parse("@pytest.mark.few(3)\ndef test_a(): ...\n@pytest.mark.wide\ndef test_b(): ..."))
    assert not left_out(ast.parse("@pytest.mark.audit\ndef test_a(): ..."))


def test_few_keeps_so_many_cases_spread_over_the_list() -> None:
    assert spread(9, 1) == {4}
    assert spread(9, 3) == {1, 4, 7}
    assert spread(2, 5) == {0, 1}
    assert all(len(spread(cases, few)) == min(cases, few) for cases in range(1, 60) for few in range(1, 20))


@pytest.mark.few(2)
@pytest.mark.parametrize("case", range(10))
def test_a_case_has_the_mark_that_its_place_gives(case: int, request: pytest.FixtureRequest) -> None:
    alone = request.node.session.testscollected < 2
    assert alone or (request.node.get_closest_marker("wide") is None) == (case in spread(10, 2))


@pytest.mark.loop(2)
@pytest.mark.parametrize("case", range(10))
def test_a_loop_leaves_the_cases_between_to_the_audit(case: int, request: pytest.FixtureRequest) -> None:
    alone = request.node.session.testscollected < 2
    assert alone or (request.node.get_closest_marker("audit") is None) == (case in spread(10, 2))


def test_files_that_use_spark_run_in_one_process_and_each_other_file_in_its_own() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(TESTS.rglob("test_*.py"))}
    use = {
        name for name, text in texts.items() if re.search(r"^@needs_spark|params=\[?EVERY\b", text, flags=re.MULTILINE)
    }
    assert {"tests/engines/test_spark.py", "tests/engines/test_bins.py"} < use
    assert {name for name in texts if of_one_process(name) == "spark"} == use
    assert all(of_one_process(name) == name for name in texts.keys() - use)


@pytest.mark.parametrize("case", range(6))
def test_a_convention_is_run_whole(case: int, request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("wide") is None


# --- make quick -------------------------------------------------------------------------------------------------------


def quick() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick", ROOT / ".ci" / "quick.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_quick_runs_changed_tests_then_namesakes_then_those_that_import_what_changed() -> None:
    tests = {
        "tests/unit/test_a.py": "from reticent.privacy import (\n    guarantee,\n    loss,\n)",
        "tests/unit/test_b.py": "from reticent.privacy.loss import PureDP",
        "tests/unit/test_c.py": "from tests.support.kit import run",
        "tests/unit/test_guarantee.py": "",
        "tests/unit/test_z.py": "",
    }
    near = quick().nearest
    assert near(["src/reticent/privacy/guarantee.py", "tests/unit/test_z.py"], tests) == [
        "tests/unit/test_z.py",
        "tests/unit/test_guarantee.py",
        "tests/unit/test_a.py",
    ]
    assert near(["tests/support/kit.py"], tests) == ["tests/unit/test_c.py"]
    assert near(["README.md"], tests) == []
    every = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in Path(TESTS).rglob("test_*.py")}
    assert "tests/unit/test_rounding.py" in near(["src/reticent/exact/rounding.py"], every)


def test_the_tests_of_each_engine_are_counted_and_none_is_left_out_in_silence() -> None:
    """An engine whose tests are all left out is named with its zeros."""
    lines: list[str] = []

    class Report(NamedTuple):
        nodeid: str
        when: str = "call"

    class Reporter:
        stats: ClassVar = {
            "passed": [Report("tests/engines/test_row_choice.py::test_a"), Report("tests/unit/test_pld.py::test_b")],
            "skipped": [Report("tests/engines/test_engine_settings.py::test_c[postgres]", "setup")],
        }

        def write_line(self, line: str) -> None:
            lines.append(line)

    pytest_terminal_summary(Reporter())  # type: ignore[arg-type]
    assert lines == [
        "engine duckdb: 1 passed, 0 failed, 0 skipped",
        "engine postgres: 0 passed, 0 failed, 1 skipped",
        "engine spark: 0 passed, 0 failed, 0 skipped",
    ]
    assert engine_of("tests/unit/test_pld.py::test_b") == ""
