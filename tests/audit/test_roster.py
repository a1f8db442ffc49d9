"""No mechanism is skipped in silence: each has specimens, or a named line and a named test that stand for them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

from reticent import mechanisms
from reticent.audit import exact, roster
from reticent.audit.report import Verified, page

ROOT = Path(__file__).parents[2]


def test_every_module_with_a_theorem_is_on_the_page_with_specimens_or_a_reason() -> None:
    listed = {module.__name__.rpartition(".")[2] for module in roster.MODULES}
    for info in pkgutil.iter_modules(mechanisms.__path__):
        module = importlib.import_module(f"reticent.mechanisms.{info.name}")
        if hasattr(module, "SPECIMENS"):
            assert info.name in listed
            assert bool(module.SPECIMENS) or info.name in roster.WITHOUT
    assert all(module.SPECIMENS or name in roster.WITHOUT for module in mechanisms.ALL for name in [short(module)])
    assert set(roster.WITHOUT) <= listed


def short(module: object) -> str:
    return str(getattr(module, "__name__", "")).rpartition(".")[2]


def test_what_stands_for_specimens_exists() -> None:
    lines = list(exact._conversations(mechanisms.geometric.SPECIMENS[0].mechanism.guarantee.adjacency))
    assert [line.verdict for line in lines] == ["holds"] * 4
    assert all(line.name.startswith(roster.WITHOUT["sparse_vector"][0]) for line in lines)
    assert roster.WITHOUT["one_sided"][0] == f"mechanism {mechanisms.one_sided.ONE.name}"
    for _, words in roster.WITHOUT.values():
        paths = re.findall(r"tests/\S+?\.py", words)
        assert paths
        assert all((ROOT / path).exists() for path in paths)
    rows = {row[0]: row for row in roster.rows(lines, None)}
    assert rows["sparse vector"][1:3] == ("4", "not run")
    assert rows["geometric"][1] == roster.NONE
    assert "<td>sparse vector</td><td>4</td><td>not run</td>" in page(Verified(exact=tuple(lines)))
