"""Pages of the documentation: each is in its index with a sentence, and the front page shows a real run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reticent
from tests.conventions.tree import ROOT, SRC

DOCS = ROOT / "docs"
INDEXES = sorted(DOCS.glob("*/index.md"))
WITHOUT_NUMBERS = {
    "caps",
    "own_csv",
    "own_statistic",
    "ledger_on_a_server",
    "limits",
    "postgres",
    "seven_tasks",
    "spark",
    "survey_hosting",
    "verify_a_certificate",
    "write_a_study_file",
}
ITEM = re.compile(r"^- \[[^\]]+\]\(([\w./-]+\.md)\) (.+\.)$", re.MULTILINE)


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: index.parent.name)
def test_an_index_has_one_sentence_for_each_page(index: Path) -> None:
    told = [page for page, sentence in ITEM.findall(index.read_text("utf-8")) if len(sentence.split()) > 3]
    assert sorted(told) == sorted(page.name for page in index.parent.glob("*.md") if page.name != "index.md")


def test_the_python_names_are_all_public_names_once() -> None:
    listed = re.findall(r"^ +:names: (.+)$", (DOCS / "reference" / "api.md").read_text("utf-8"), re.MULTILINE)
    names = [name for line in listed for name in line.split()]
    assert sorted(names) == sorted(reticent.__all__)


def test_the_python_names_link_every_page_of_a_room() -> None:
    told = [page for page, _ in ITEM.findall((DOCS / "reference" / "api.md").read_text("utf-8"))]
    assert sorted(told) == sorted(f"api/{page.name}" for page in (DOCS / "reference" / "api").glob("*.md"))


def test_the_readme_shows_a_run_that_is_kept() -> None:
    shown = (ROOT / "README.md").read_text("utf-8").partition("$ reticent demo\n")[2].partition("\n\n")[0]
    kept = (DOCS / "_static" / "demo.txt").read_text("utf-8").splitlines()
    assert [line for line in shown.splitlines() if line.removeprefix("    ") not in kept] == []
    assert len(shown.splitlines()) > 10


def test_the_readme_imports_public_modules_alone_and_names_them() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    rooms = re.findall(r"^- \[`(reticent\.\w+)`\]", (DOCS / "reference" / "api.md").read_text("utf-8"), re.MULTILINE)
    imported = re.findall(r"^(?:from|import) (reticent[\w.]*)", text, re.MULTILINE)
    assert len(rooms) > 5
    assert set(imported) - {"reticent", *rooms} == set()
    told = text.partition("## Public names\n")[2].partition("\n## ")[0]
    assert [room for room in rooms if f"`{room}`" not in told and f"`.{room.partition('.')[2]}`" not in told] == []


def test_the_six_files_of_the_map_are_short() -> None:
    text = (DOCS / "reference" / "readers_map.md").read_text("utf-8")
    files = re.findall(r"^\d\. `([\w/]+\.py)`", text, re.MULTILINE)
    assert len(files) == 6
    assert sum(len((SRC / file).read_text("utf-8").splitlines()) for file in files) < 1000
    assert [name for name in re.findall(r"`([\w/]+\.py)`", text) if not (SRC / name).is_file()] == []


def test_every_picture_that_a_page_shows_exists() -> None:
    found = {}
    for page in DOCS.rglob("*.md"):
        shown = re.findall(r"(?:!\[[^\]]*\]\(|\{figure\} )([\w./-]+)", page.read_text("utf-8"))
        found[page.name] = [name for name in shown if not (page.parent / name).is_file()]
    assert {page: missing for page, missing in found.items() if missing} == {}


def test_every_proof_states_its_currency_and_the_code_that_holds_to_it() -> None:
    found = []
    for page in sorted((DOCS / "proofs").glob("*.md")):
        currency = re.search(r"^\*\*Currency\.\*\* (.+?)\n\n", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        found += [page.name] * (page.name != "index.md" and (currency is None or "`" not in currency[1]))
    assert found == []


def test_every_page_of_numbers_has_a_picture() -> None:
    pages = [page for room in ("tutorials", "how-to") for page in (DOCS / room).glob("*.md") if page.stem != "index"]
    shown = {page.stem for page in pages if "_static/" in page.read_text("utf-8")}
    assert {page.stem for page in pages} - shown == WITHOUT_NUMBERS


@pytest.mark.wide
def test_a_page_with_formulas_loads_nothing_from_the_network(tmp_path: Path) -> None:
    """Built with the settings of the documentation; no script, style or font of the page has an address.

    The packages of the documentation are those of ``make check``, which runs this file too.
    """
    pytest.importorskip("sphinx")
    source, made = tmp_path / "source", tmp_path / "made"
    source.mkdir()
    source.joinpath("index.md").write_text("# Page\n\nLet $x' \\ge \\frac1r$.\n\n$$\\sum_i x_i \\le 1$$\n", "utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-c", str(DOCS), str(source), str(made)]
    subprocess.run(command, check=True)
    page = made.joinpath("index.html").read_text("utf-8")
    assert page.count("<math ") == 2
    assert re.findall(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>""", page) == []
    styles = [sheet for sheet in made.rglob("*.css") if re.search(r"url\([\"']?https?:", sheet.read_text("utf-8"))]
    assert styles == []


def test_every_room_of_the_api_pages_is_a_module() -> None:
    """A module that was renamed had stopped the whole documentation from being built."""
    named = [
        name
        for page in sorted((DOCS / "reference" / "api").glob("*.md"))
        for name in re.findall(r"^\.\. room:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(named) > 40
    missing = [
        name
        for name in named
        if not (SRC.parent / f"{name.replace('.', '/')}.py").is_file()
        and not (SRC.parent / name.replace(".", "/") / "__init__.py").is_file()
    ]
    assert missing == []
