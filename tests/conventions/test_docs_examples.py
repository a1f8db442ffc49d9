"""The Python and TOML in the documentation: it runs, and it agrees with what is shipped."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conventions.tree import ROOT, SRC

PAGES = sorted([*(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")])


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of one language, each with its own line numbers kept."""
    text = page.read_text("utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        yield "\n" * text[: match.start(1)].count("\n") + match[1]


@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page, "python"))], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rand.toml", "randhie.parquet"):
        shutil.copy(SRC / "demo" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        if file := re.match(r"\s*# file: (\w+\.py)\n", block):
            (tmp_path / file[1]).write_text(block, "utf-8")
            monkeypatch.setitem(sys.modules, file[1][:-3], sys)  # undone at the end, whatever is imported meanwhile
            del sys.modules[file[1][:-3]]
            continue
        exec(compile(block, str(page), "exec"), names)


def contained(part: object, whole: object) -> bool:
    """Whether every key of ``part`` stands in ``whole`` with the same value, all the way down."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contained(value, whole[key]) for key, value in part.items())
    return part == whole


def test_the_tutorial_shows_the_study_file_that_is_shipped() -> None:
    shipped = tomllib.loads((SRC / "demo" / "rand.toml").read_text("utf-8"))
    shown = list(blocks(ROOT / "docs" / "tutorials" / "first_release.md", "toml"))
    assert len(shown) == 1
    assert contained(tomllib.loads(shown[0]), shipped)


def test_every_toml_block_can_be_read() -> None:
    for page in PAGES:
        for block in blocks(page, "toml"):
            tomllib.loads(block)
