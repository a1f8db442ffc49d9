"""Code in a message is that of the door its reader came through: Python, a study file, or the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.cli.output import typed
from reticent.data.spelling_hints import KEYS, in_python
from reticent.errors import Refusal
from reticent.learning import LinearRegression
from tests.conventions.tree import ROOT
from tests.support.cli_kit import run

SOURCE = ROOT / "src" / "reticent"
FILES_ALONE = ("cli/", "certificate/", "conformance/", "ledger/", "survey/", "demo/", "lab/", "sql/", "privacy/compose")
FILE_MODULES = {  # what reads or writes a study file, and SQL of engines
    *(
        "data/study_file.py",
        "data/template.py",
        "data/statistical_files.py",
        "data/database.py",
        "data/spelling_hints.py",
    ),
    *(
        "data/database_files.py",
        "data/engines/duckdb.py",
        "data/engines/postgres.py",
        "data/engines/postgres_dialect.py",
    ),
    *("data/tally.py", "study/file_problems.py", "former_names.py", "data/made_up_rows.py", "habits.py"),
}
CODE = re.compile(rf"\[(?:study|person|budget|engine|columns|tables|release)[\].]|\b(?:{'|'.join(KEYS)}) = (?=\S)")
DOORS_OF_ALL = ("[[release]]",)  # said of a release that is listed in a study file


def _texts(path: Path) -> Iterator[str]:
    """Texts of a module that are no docstring, with … for what is put into them."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    inner |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and id(node) not in inner:
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def _told() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name not in FILE_MODULES and not name.startswith(FILES_ALONE):
            yield from (
                (name, text) for text in _texts(path) if " " in text and not any(d in text for d in DOORS_OF_ALL)
            )


@pytest.mark.wide
def test_no_message_that_python_can_read_has_the_lines_of_a_study_file() -> None:
    lines = [(name, text) for name, text in _told() if CODE.search(text)]
    assert len(lines) > 40
    left = [(name, text, in_python(text)) for name, text in lines if CODE.search(in_python(text))]
    assert left == []


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("Say rows = { at_most = 20 }.", "Say rows_each=20."),
        ("rows = { at_most = 20, ceiling = 100 }", 'rows_each={"at_most": 20, "ceiling": 100}'),
        ('Add [person] column = "…", or rows = "one_each" if', 'Add person="…", or rows_each=1 if'),
        ("margins = { sex = { f = 51000, m = 49000 } }", 'margins={"sex": {"f": 51000, "m": 49000}}'),
        ('[columns."a b"] kind = "category", among = [...].', 'columns={"a b": rt.category([...])}.'),
        ('override = "…" in [budget]. A', 'override="…" of rt.study. A'),
        ("write x = y or x = z", "write x = y or x = z"),
        ("use median(x, per=person) by ward, or mean(x)", 'use "median(x, per=person) by ward", or mean(x)'),
        ("use iqr(x, per=person) by a, b: it may", 'use "iqr(x, per=person) by a, b": it may'),
        ("use iqr(x, per=person) by a, location(x)", 'use "iqr(x, per=person) by a", location(x)'),
    ],
)
def test_a_line_of_a_study_file_is_told_as_an_argument(line: str, call: str) -> None:
    assert in_python(line) == call


ROWS = {"who": np.arange(400) % 100, "x": np.arange(400) % 40, "y": np.arange(400) % 7}
COLUMNS: dict[str, Any] = {"x": rt.integer(0, 40), "y": rt.integer(0, 6)}
STUDY = """[study]
source = "t.csv"
ledger = "t.ledger"
[person]
column = "who"
rows = {at_most = 2, ceiling = 4}
adjacency = "add_remove"
[budget]
epsilon = "9"
[columns.x]
kind = "integer"
low = 0
high = 40
[columns.y]
kind = "integer"
low = 0
high = 6
"""


def _refused(study: rt.Study) -> Iterator[str]:
    for ask in (
        lambda: study.holdout(["x"], epsilon=1, rounds=3, threshold=1),
        lambda: study.sparse_vector(["x"], epsilon=1, positives=1),
        lambda: study.xy(["x"], "y"),
        lambda: study.model_plan(LinearRegression(epsilon=1), ["x"], "y"),
    ):
        with pytest.raises(Refusal) as refused:
            ask()
        yield str(refused.value)


def test_sessions_and_models_of_a_lower_cap_say_what_to_write_at_their_own_door(tmp_path: Path) -> None:
    memory = rt.study(
        ROWS,
        adjacency="add_remove",
        person="who",
        columns=COLUMNS,
        budget=9,
        rows_each={"at_most": 2, "ceiling": 4},
    )
    (tmp_path / "t.csv").write_text("who,x,y\n1,2,3\n", "utf-8")
    (tmp_path / "t.toml").write_text(STUDY, "utf-8")
    opened = rt.open(tmp_path / "t.toml")
    assert all("Open it for them with rows_each=4: the ledger is the same" in text for text in _refused(memory))
    assert all("Open it for them with rows = { at_most = 4 }: the" in text for text in _refused(opened))
    opened.release(["mean(x)"], epsilon=1)
    (tmp_path / "t.toml").write_text(STUDY.replace("{at_most = 2, ceiling = 4}", "{at_most = 4}"), "utf-8")
    again = rt.open(tmp_path / "t.toml")  # as the message says
    assert again.left() == opened.left()
    LinearRegression(epsilon=1).fit(*again.xy(["x"], "y"))


def test_a_high_budget_says_at_each_door_how_its_reason_is_given(tmp_path: Path) -> None:
    def refused(**more: Any) -> str:
        with pytest.raises(Refusal) as caught:
            rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=20, rows_each=1, **more)
        return str(caught.value)

    assert 'which certificates print: override="…" of rt.study. A budget' in refused()
    made = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=20, rows_each=1, override="agreed")
    with pytest.raises(Refusal, match=r'prints: record=rt\.Record\(override="…"\), and override="…" of a plan\.'):
        made.release(["count"], epsilon=12)
    made.plan(["count"], epsilon=12, override="agreed")
    made.release(["count"], epsilon=12, record=rt.Record(override="agreed"))
    (tmp_path / "t.csv").write_text("who,x,y\n1,2,3\n", "utf-8")
    file = tmp_path / "t.toml"
    file.write_text(STUDY.replace('"9"', '"20"'), "utf-8")
    said = " ".join(run("check", str(file)).said.split())
    assert 'which certificates print: override = "…" in [budget]. A budget' in said
    file.write_text(STUDY.replace('epsilon = "9"', 'epsilon = "20"\noverride = "agreed"'), "utf-8")
    assert run("check", str(file)).code == 0
    file.write_text(STUDY, "utf-8")
    plan = ["plan", str(file), "--ask", "count", "--epsilon", "12"]
    said = " ".join(run(*plan).said.split())
    assert 'prints: --override "…".' in said
    assert "needs a reason" not in run(*plan, "--override", "agreed").said


def test_the_command_line_has_its_options_in_place_of_arguments() -> None:
    assert typed('record=rt.Record(override="…"), and override="…" of a plan.') == '--override "…".'
    assert typed('epsilon="1"') == "--epsilon 1"
