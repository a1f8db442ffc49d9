"""``%%reticent``: SQL in a cell of a notebook, with a table as output and words instead of tracebacks."""

from __future__ import annotations

import atexit
import html.parser
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.study.plan import Plan
from reticent.study.selection import Selection
from tests.support.cli_kit import CANARIES, clinic

BY_TOWN = "SELECT town, AVG(age) AS age, COUNT(*) AS n\nFROM clinic GROUP BY town ORDER BY n;"


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell of IPython with the extension, in the folder of a study."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    clinic(tmp_path)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "reticent")
    yield shell
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()


def ran(shell: Any, line: str, text: str) -> Any:
    """The result of one cell, as a notebook runs it."""
    return shell.run_cell(f"%%reticent {line}\n{text}")


def test_a_cell_is_released_and_shown_as_a_table(notebook: Any) -> None:
    found = ran(notebook, "clinic.toml --epsilon 1 --purpose 'table 1' --into ages", BY_TOWN).result
    assert isinstance(found, Selection)
    assert notebook.user_ns["ages"] is found
    assert found.release.certificate.document["purpose"] == "table 1"
    shown = found._repr_html_()
    html.parser.HTMLParser().feed(shown)
    assert [shown.count(tag) for tag in ("<tr>", '<th scope="row"', "<svg ")] == [3, 2, 4]
    for name in ("town", "age", "n", "chosen or sorted by released numbers", "add or remove one person"):
        assert name in shown
    assert not [canary for canary in CANARIES if canary in shown]


def test_a_study_of_the_notebook_is_asked_by_its_name(notebook: Any) -> None:
    notebook.user_ns["mine"] = rt.open("clinic.toml")
    planned = ran(notebook, "mine --plan --epsilon 1", BY_TOWN).result
    assert isinstance(planned, Plan)
    assert not Path("clinic.ledger").exists()
    ran(notebook, "mine --epsilon 0.5", "SELECT COUNT(*) FROM study")
    assert rt.open("clinic.toml").ledger.spent() == rt.PureDP(Fraction(1, 2))


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("clinic.toml --epsilon 1", "SELECT * FROM clinic", "Rows cannot be released"),
        ("clinic.toml --epsilon 9", "SELECT COUNT(*) FROM clinic", "Nothing was charged"),
        ("clinic.toml", "SELECT COUNT(*) FROM clinic", "Say what the release may cost: --epsilon 1"),
        ("nobody --epsilon 1", "SELECT COUNT(*) FROM clinic", "'nobody' is no study of this notebook"),
        ("clinic.toml --epsilno 1", "SELECT COUNT(*) FROM clinic", "--epsilon"),
        ("", "SELECT COUNT(*) FROM clinic", "STUDY"),
        ("clinic.toml 'open", "SELECT COUNT(*) FROM clinic", "quotation"),
        ("clinic.toml --epsilon 1 --into 2x", "SELECT COUNT(*) FROM clinic", "--into"),
    ],
)
def test_a_refusal_is_words_without_a_traceback_and_ends_the_run(
    notebook: Any, capsys: pytest.CaptureFixture[str], line: str, text: str, words: str
) -> None:
    done = ran(notebook, line, text)
    assert not done.success
    said = capsys.readouterr()
    assert words in said.err + said.out
    assert "Traceback" not in said.err + said.out
    assert not Path("clinic.ledger").exists() or rt.open("clinic.toml").ledger.spent() == rt.PureDP(Fraction(0))


def test_a_row_without_a_reply_says_so(notebook: Any) -> None:
    few = rt.study({"x": [1.0, 2.0]}, adjacency="add_remove", columns={"x": rt.real(0, 10)}, budget=1)
    notebook.user_ns["few"] = few
    assert "no reply" in ran(notebook, "few --epsilon 0.01", "SELECT AVG(x) FROM study").result._repr_html_()
