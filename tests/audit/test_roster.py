"""Nothing is skipped in silence: a mechanism has specimens or a named test, a session and a model a replay or one."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from reticent import mechanisms
from reticent.conformance.report import Verifications, page
from reticent.mechanisms import geometric, one_sided, registry
from reticent.study import sessions
from tests.assurance import coverage, exact, models
from tests.assurance.report import of_exact, with_roster

ROOT = Path(__file__).parents[2]


def test_every_module_with_a_theorem_is_on_the_page_with_specimens_or_a_reason() -> None:
    listed = {module.__name__.rpartition(".")[2] for module in coverage.MODULES}
    for info in pkgutil.iter_modules(mechanisms.__path__):
        module = importlib.import_module(f"reticent.mechanisms.{info.name}")
        if hasattr(module, "SPECIMENS"):
            assert info.name in listed
            assert bool(module.SPECIMENS) or info.name in coverage.WITHOUT
    assert all(module.SPECIMENS or name in coverage.WITHOUT for module in registry.ALL for name in [short(module)])
    assert set(coverage.WITHOUT) <= listed


def short(module: object) -> str:
    return str(getattr(module, "__name__", "")).rpartition(".")[2]


@pytest.mark.wide
def test_what_stands_for_specimens_exists() -> None:
    lines = list(exact._conversations(geometric.SPECIMENS[0].mechanism.guarantee.adjacency))
    assert [line.verdict for line in lines] == ["holds"] * 4
    assert all(line.name.startswith(coverage.WITHOUT["sparse_vector"][0]) for line in lines)
    assert coverage.WITHOUT["one_sided"][0] == f"mechanism {one_sided.ONE.name}"
    for _, words in coverage.WITHOUT.values():
        paths = re.findall(r"tests/\S+?\.py", words)
        assert paths
        assert all((ROOT / path).exists() for path in paths)
    rows = {row[0]: row for row in coverage.rows(lines, None)}
    assert rows["sparse vector"][1:3] == ("4", "not run")
    assert rows["geometric"][1] == coverage.NONE
    further = with_roster([of_exact(lines)], coverage.rows(lines, None))
    assert "<td>sparse vector</td><td>4</td><td>not run</td>" in page(Verifications(further=tuple(further)))


def test_every_session_and_every_estimator_is_replayed_or_has_a_reason() -> None:
    """A new estimator in ``reticent.learning``, or a new session, is seen here and on the page."""
    rows = {row[0]: row for row in coverage.learned(None)}
    assert {"LogisticRegression", "KMeans", "GridSearchCV", "Clip"} <= set(coverage.estimators())
    assert set(rows) == {*coverage.SESSIONS, *coverage.estimators()}
    for name, ways, pairs, elsewhere in rows.values():
        assert pairs == "not run"
        assert (ways != coverage.NONE) != (elsewhere != coverage.NONE), name
    for words in coverage.UNREPLAYED.values():
        (path,) = re.findall(r"tests/\S+\.py", words)
        assert (ROOT / path).exists()
    named = {name.replace("_", " ") for name, value in vars(sessions).items() if public(name, value)}
    openers = {name for name in named if not name.endswith((" plan", " prices"))}  # what plans know of sessions
    assert openers == set(coverage.SESSIONS)
    names = {way.kind.__name__ for way in models.ways()}
    assert names <= set(coverage.estimators())


def public(name: str, value: object) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", "") == sessions.__name__ and callable(value)


def test_an_estimator_without_a_way_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "estimators", lambda: ["NewModel"])
    assert ("NewModel", coverage.NONE, "not run", coverage.NONE) in coverage.learned(None)
    monkeypatch.undo()
    pairs = {fit.name: 2 for fit in models.built_in()}
    row = next(row for row in coverage.learned(pairs) if row[0] == "PCA")
    assert row[1:3] == ("8", "16")
