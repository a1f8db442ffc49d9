"""CONTRIBUTING's recipe for a new mechanism, followed to the letter in a copy of the source: from question to proof.

The template is the file the recipe says to copy. What it says to add is read from its own fenced lines, so that a step
that is missing there is missing here. The copy is used in a process of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Adding a mechanism")[1].split("\n## ")[0]
BLOCKS = [dedent(block) for block in re.findall(r"```(?:python)?\n(.*?)```", RECIPE, re.DOTALL)]
NAME, CLASS = "staircase", "Staircase"

USE = """
import dataclasses
from fractions import Fraction

import reticent as rt
from reticent.errors import QuestionError
from reticent.mechanisms import NAME as added
from tests.assurance import coverage
from reticent.conformance.kit import Effort, check
from reticent.data.query import Rows
from reticent.data.schema import Person, Schema
from reticent.data.query_result import QueryResult
from reticent.entropy import system
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.NAME import CLASS
from reticent.outcome import Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP, ZCDP
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Answer, Cell, Estimate
from reticent.statistics.context import ExpectedAccuracy
from reticent.study.allocation import PreparedRelease
from reticent.certificate.certificate import read_certificate
from reticent.certificate.record import ReleaseMetadata
from reticent.study.release import run

PERSON = Adjacency("add_remove")
MADE = CLASS(L1(Fraction(1), PERSON), Fraction(1, 2))


@dataclasses.dataclass(frozen=True)
class Step:
    name = "count"
    estimand = "number of people"
    queries = (Rows(None),)
    guarantee = MADE.guarantee

    def answer(self, results, entropy):
        (value,) = gate.draw(MADE, (3,), entropy)
        return Answer("count", (Cell((), Reply(Estimate(float(value), 0.0, 9.0, 4.0, 0.0))),), (), True)

    def expected(self, people):
        return ExpectedAccuracy(None, None)


class Table:
    def run(self, queries, key, schema=None):
        return [QueryResult(vectors=((3,),)) for _ in queries]


def released(budget):
    ledger = Ledger.create(None, title="made up", adjacency=PERSON, budget=budget)
    tree = compose.in_zcdp(MADE.guarantee) if isinstance(budget, ZCDP) else MADE.guarantee
    about = ReleaseMetadata("made up", "count", "a test", "tester", "made up", "", None, None)
    plan = PreparedRelease((Step(),), None, tree)
    made = run(plan, Table(), Schema({}, Person("add_remove")), ledger, about, system(), None, lambda stage: None)
    return read_certificate(made.certificate.to_json()).verify(ledger, allow_unsigned=True)


def leaves(node):
    return [name for part in node["parts"] for name in leaves(part)] or [node["theorem"]["name"]]


report = check(added, effort=Effort(draws=2000))
print("kit", report.passed, [line.check for line in report.failures])
print("roster", [row[0] for row in coverage.rows(None, None)].count("NAME"))
for budget in (PureDP(Fraction(1)), ZCDP(Fraction(1))):
    found = released(budget)
    print("verified", found.ok)
for budget, price in ((PureDP(Fraction(4)), {"epsilon": 1}), (ZCDP(Fraction(1, 2)), {"rho": "1/8"})):
    study = rt.study({"x": [3] * 50}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=budget)
    try:
        release = study.release([f"{verb}mechanism=NAME)" for verb in ("count(", "sum(x, ", "histogram(x, ")], **price)
    except QuestionError as refused:
        print("asked", str(refused).partition(".")[0])
    else:
        told = release.certificate.verify(study.ledger, allow_unsigned=True)
        print("asked", leaves(release.certificate.document["guarantee"]).count("NAME"), told.ok)
"""

LISTED = """
from fractions import Fraction

import accounting_check
from reticent.mechanisms.NAME import CLASS
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1

made = CLASS(L1(Fraction(1), Adjacency("add_remove")), Fraction(1, 2))
listed = accounting_check._of_leaf(made.guarantee)
print("not listed" if listed is None else round(float(listed.share(PureDP(Fraction(1, 2)))), 9))
"""


def filled(text: str) -> str:
    words = {"STATEMENT": "integers with noise", "SOURCE": "Ghosh 2009", "NAME": NAME, "CLASS": CLASS}
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def followed(into: Path, *, leave_out: str = "") -> Path:
    """A copy of the source with the mechanism added; what a place of step 2 is given may be left out."""
    shutil.copytree(ROOT / "src", into / "src", ignore=shutil.ignore_patterns("*.parquet"))  # with what is compiled
    folder = into / "src" / "reticent" / "mechanisms"
    template = (folder / "geometric.py").read_text("utf-8")  # step 1
    made = template.replace('    "geometric",', f'    "{NAME}",').replace("Geometric(", f"{CLASS}(")
    made = made.replace("class Geometric:", f"class {CLASS}:").replace(' f"geometric, ', f' f"{NAME}, ')
    made = made.replace('f"geometric, epsilon', f'f"{NAME}, epsilon')
    assert filled(BLOCKS[0]).strip() in made  # AXIOMS, as the recipe writes it
    (folder / f"{NAME}.py").write_text(made, "utf-8")
    files = re.findall(r"`(src/[\w/]+\.py)`", RECIPE.split("\n2. ")[1].split("\n3. ")[0])  # step 2
    for file, block in zip(files, BLOCKS[1:3], strict=True):
        write(into / file, block, leave_out)
    page = into / "theorems.md"  # step 3
    page.write_text((ROOT / "docs/theory/theorems.md").read_text("utf-8") + filled(BLOCKS[3]), "utf-8")
    place, case = filled(BLOCKS[4]).split("\n", 1)  # step 4
    (file,) = re.findall(r"`(tests/[\w/]+\.py)`", RECIPE.split("\n4. ")[1].split("\n5. ")[0])
    (line,) = re.findall(r'"( +[^"]+)"', place)
    text = (ROOT / file).read_text("utf-8")
    assert text.count(f"{line}\n") == 1
    whole = line if leave_out == "_of_leaf" else f"{line}\n{indent(case.rstrip(), line[: line.index('m')] + ' ' * 4)}"
    (into / Path(file).name).write_text(text.replace(line, whole), "utf-8")
    return into


def write(file: Path, block: str, leave_out: str) -> None:
    """Write the lines of a block into the places of a file that its comments name."""
    text, places = file.read_text("utf-8"), re.findall(r"# (.*?):\n(.*?)\n", block)
    assert len(places) == 2
    for place, line in places:
        if leave_out and leave_out in place:
            continue
        begins = re.search(r'"([^"]+)"', place)
        assert begins is not None, place
        opening = re.search(rf"^{re.escape(begins[1])}[^\n]*[\[({{]\n|^{re.escape(begins[1])}\n", text, re.MULTILINE)
        assert opening is not None, place
        indent = "" if line.startswith("from ") else "    "
        text = f"{text[: opening.end()]}{indent}{filled(line)}\n{text[opening.end() :]}"
    file.write_text(text, "utf-8")


def used(place: Path) -> str:
    return told(place, USE)


def told(place: Path, program: str) -> str:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(place / "src"), str(place))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    code = program.replace("NAME", NAME).replace("CLASS", CLASS)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.wide
def test_a_mechanism_added_by_the_recipe_is_checked_drawn_and_verified_in_both_currencies(tmp_path: Path) -> None:
    lines = used(followed(tmp_path)).splitlines()
    asked = "asked 3 True"
    assert lines == ["kit True []", "roster 1", "verified True", "verified True", asked, asked]


@pytest.mark.wide
def test_the_kit_fails_a_mechanism_that_verify_would_not_know(tmp_path: Path) -> None:
    kit, *rest = used(followed(tmp_path, leave_out="CENTRAL")).splitlines()
    assert kit == "kit False ['loss derived again', 'loss derived again']"  # of each specimen
    assert rest == ["roster 0", "verified False", "verified False", "asked 3 False", "asked 3 False"]


@pytest.mark.parametrize(("leave_out", "share"), [("", "1.0"), ("_of_leaf", "not listed")])
def test_the_second_accountant_lists_the_law_that_the_recipe_teaches(
    leave_out: str, share: str, tmp_path: Path
) -> None:
    """Its worst neighbours use all of the stated loss; without the step the leaf is not listed."""
    assert told(followed(tmp_path, leave_out=leave_out), LISTED).strip() == share


@pytest.mark.wide
def test_a_mechanism_that_questions_are_not_told_of_is_refused(tmp_path: Path) -> None:
    *_, last = used(followed(tmp_path, leave_out="OURS")).splitlines()
    assert last == f"asked There is no mechanism '{NAME}'"


def test_the_page_of_theorems_has_the_row_the_recipe_adds(tmp_path: Path) -> None:
    page = (followed(tmp_path) / "theorems.md").read_text("utf-8")
    assert re.findall(rf"^\| `{NAME}` \|.*\|$", page, re.MULTILINE) != []
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{NAME}` |")]
    path, _, function = re.findall(r"`(tests/[^`]+)`", row)[0].partition("::")
    assert f"def {function}" in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("word", ["Statement", "Source", "Proof", "Deviations", "SPECIMENS", "AXIOMS", "CHANGELOG.md"])
def test_the_recipe_names_every_step(word: str) -> None:
    assert word in RECIPE
