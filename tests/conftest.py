"""The whole run: a state folder of its own, noise that replays, quick collection, and what `make test` leaves out."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.conventions.tree import ROOT
from tests.support.replayed_noise import SYSTEM, drawn_from, stream

if TYPE_CHECKING:
    from reticent.demo.postgres_server import PostgresServer
    from tests.support.ledger_places import Places

FEW = 1  # case of a test that `make test` runs, the middle one
WHOLE = "tests/golden/", "tests/conventions/"

# Red means a change: cases and noise are the same in every run, and a busy machine fails none of them.
settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A state folder for the whole run: what it holds of one test is the place of no other test's source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def ledger_server() -> Iterator[PostgresServer]:
    """A server that writes as one must that keeps ledgers: on a socket, with fsync on."""
    from reticent.demo.postgres_server import server
    from tests.support.postgres_kit import excused

    if excused():
        pytest.skip("no PostgreSQL is installed (Debian: postgresql)")
    with server(durable=True) as started:
        yield started


@pytest.fixture(params=["file", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    """Fresh places for ledgers: files, then schemas of a server."""
    from tests.support.ledger_places import Places

    return Places(tmp_path, request.getfixturevalue("ledger_server") if request.param == "postgres" else None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Draw the noise of a test from a stream of its name, but for those that are about the system's bits."""
    long = item.get_closest_marker("audit") and not item.get_closest_marker("loop")
    fresh = item.get_closest_marker("fresh") or long
    with drawn_from(SYSTEM if fresh else stream(item.nodeid)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Draw what several tests share from a stream of its own: the first test that asks may be any of them."""
    if fixturedef.scope == "function":
        return (yield)
    with drawn_from(stream(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]")):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect with the garbage collector off: it would look through what all stays, a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``wide`` the cases beyond the first tier's: of each test it runs the middle one, or n by ``few(n)``.

    Of a test with the mark ``loop(n)`` the first two tiers have n cases, and `make audit` has the others.
    """
    tests: dict[str, list[pytest.Item]] = {}
    loops: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("loop"):
            loops.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in loops.values():
        mark = cases[0].get_closest_marker("loop")
        kept = spread(len(cases), mark.args[0] if mark else 0)
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("audit")
    for item in items:
        if not (item.get_closest_marker("wide") or item.get_closest_marker("audit")):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, cases in tests.items():
        mark = cases[0].get_closest_marker("few")
        kept = spread(len(cases), mark.args[0] if mark else len(cases) if name.startswith(WHOLE) else FEW)
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("wide")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Run the tests of a file in one process, and those of all files that use Spark in one: they share its session."""
    if config.getoption("dist") != "loadfile":
        return None
    made = LoadFileScheduling(config, log)
    made._split_scope = lambda nodeid: of_one_process(nodeid.partition("::")[0])
    return made


@cache
def of_one_process(name: str) -> str:
    """The name of a file of tests, or "spark" of one that imports Spark's session or the places of every engine."""
    text = (ROOT / name).read_text("utf-8")
    shared = any(f"from tests.support.{kit} import" in text for kit in ("spark_kit", "engine_places"))
    return "spark" if shared else name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests of each engine ran, so that none is left out in silence."""
    counts: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            if (engine := engine_of(report.nodeid)) and (outcome == "skipped" or report.when == "call"):
                counts[engine, outcome] += 1
    for engine in ("duckdb", "postgres", "spark"):
        told = [f"{counts[engine, outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")]
        if counts:
            terminalreporter.write_line(f"engine {engine}: {', '.join(told)}")


def engine_of(nodeid: str) -> str:
    """The engine that a test is about, by its name; empty for a test of none."""
    for engine in ("postgres", "spark"):
        if engine in nodeid:
            return engine
    return "duckdb" if nodeid.startswith("tests/engines/") else ""


def spread(cases: int, few: int) -> set[int]:
    """The middles of ``few`` equal parts of a list of ``cases``."""
    return {(2 * part + 1) * cases // (2 * few) for part in range(few)}
