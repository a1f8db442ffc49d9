"""The attack gallery: everything broken is refuted, ours withstands the same attack, and nobody can release any of it.

Change tier: 4,000 replayed draws a side, so red means a change. Long tier: fresh coins. Ours then fails by chance with
probability below 1e-5: beta is 1e-6 for each of 5 attacks by sampling and 2 by support or stopwatch; one correlation
would have to reach 14 standard deviations; all else is without chance. What is broken is caught with a wide margin.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.conformance.lower_bounds import LowerBounds
from reticent.errors import PublicParameterError, ReticentError
from tests.assurance.broken.exhibit import QUICK, AnyExhibit, Effort, Exact, Sampled
from tests.assurance.gallery import Attacked, Tour, gallery, run_gallery
from tests.conventions.tree import Module, broken, imported, parsed, statements, within

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "gallery.md"
ALL = gallery()
REPEATING = [exhibit for exhibit in ALL if not exhibit.machine]
CLASSES = {"A": 8, "B": 3, "C": 13, "D": 9, "E": 6}


def named(exhibit: AnyExhibit) -> str:
    return f"{exhibit.failure} {exhibit.name}"


@pytest.mark.wide
@pytest.mark.loop(24)
@pytest.mark.parametrize("exhibit", REPEATING, ids=named)
def test_what_is_broken_is_refuted_and_ours_withstands(exhibit: AnyExhibit) -> None:
    attacked, ours = exhibit.attack(QUICK), exhibit.withstand(QUICK)
    assert attacked.refuted, str(attacked)
    assert not ours.refuted, str(ours)


FINDS = {
    "sum_in_floats": "moved 256 times",
    "deviations_from_a_rounded_mean": "moved 99 times",
    "single_precision_taken_for_double": "moved 256 times",
    "lower_bound_twice": "moved 100 times",
    "clipped_copy_not_used": "moved 1000000 times",
    "cut_to_an_even_number": "moved 2 times",
    "capped_by_a_name_made_later": "moved 100 times",
    "folds_by_private_labels": "moved 4 times",
    "rows_that_cannot_be_missing": "answer",
    "bounds_from_the_rows": "public",
    "groups_from_the_rows": "public",
    "nan_passes_the_clamp": "exception",
    "groups_in_the_order_of_the_file": "answer",
    "number_of_rows_taken_as_public": "answer",
    "noise_beside_the_gate": "bypass",
    "key_shown_from_the_threshold_on": "δ >= 0.0134",
    "budget_asked_before_the_price": "ε >= 4.5",
}


@pytest.mark.wide
@pytest.mark.parametrize("exhibit", [one for one in REPEATING if one.name in FINDS], ids=named)
def test_it_is_refuted_for_the_right_reason(exhibit: AnyExhibit) -> None:
    assert exhibit.attack(QUICK).found.words.startswith(FINDS[exhibit.name])


@pytest.mark.wide
def test_ours_in_the_place_of_the_broken_is_not_refuted() -> None:
    """The mutant of the gallery: an exhibit that is not broken is seen not to be."""
    (exhibit,) = [one for one in ALL if one.name == "one_draw_for_all_cells"]
    swapped = dataclasses.replace(exhibit, broken=exhibit.ours, ours=exhibit.broken)
    assert not swapped.attack(QUICK).refuted
    assert swapped.withstand(QUICK).refuted


@pytest.mark.wide
def test_a_blind_tool_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LowerBounds, "refutes", lambda self, loss: None)
    sampled = [one for one in REPEATING if isinstance(one.attack_by, Sampled)]
    assert len(sampled) >= 4
    assert not any(one.attack(QUICK).refuted for one in sampled)


@pytest.mark.wide
def test_there_are_at_least_25_and_every_class_is_shown_or_explained() -> None:
    assert len({exhibit.name for exhibit in ALL}) == len(ALL) >= 25
    shown = {exhibit.failure for exhibit in ALL}
    wanted = {f"{letter}{number}" for letter, most in CLASSES.items() for number in range(1, most + 1)}
    explained = set(re.findall(r"^\| ([A-E]\d+) \| not shown \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert wanted <= shown | explained
    assert shown & explained == set()


@pytest.mark.wide
def test_every_exhibit_says_what_is_wrong_and_who_was_hit() -> None:
    assert [one.name for one in ALL if not re.search(r"\. Hit: .+\.$", one.story)] == []


@pytest.mark.wide
def test_a_tour_prints_a_line_for_each_and_a_total() -> None:
    (one,) = [exhibit for exhibit in ALL if exhibit.name == "exact_test"]
    tour = Tour((Attacked(one, one.attack(QUICK), one.withstand(QUICK)),))
    assert str(tour).splitlines()[-1].startswith("1 of 1 broken refuted, 1 of 1 of ours withstood")
    assert tour.rows()[0][:3] == ("D7", "exact_test", "(ε 1, δ 0.00492584)")
    assert all(attacked.told_apart for attacked in tour.attacked)


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(PublicParameterError):
        Effort(draws=1999)


@pytest.mark.wide
def test_the_same_coins_give_the_same_table() -> None:
    sampled = next(one for one in REPEATING if isinstance(one.attack_by, Sampled))
    assert sampled.attack(QUICK).found == sampled.attack(QUICK).found


# --- the page ---------------------------------------------------------------------------------------------------------


def rows_of_the_page() -> dict[str, list[str]]:
    lines = re.findall(r"^\| [A-E]\d+ \| `.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[1].strip("` "): row for row in cells}


@pytest.mark.wide
def test_the_page_shows_every_exhibit_as_the_code_tells_it() -> None:
    rows = rows_of_the_page()
    assert set(rows) == {exhibit.name for exhibit in ALL}
    for exhibit in ALL:
        wrong, hit = exhibit.story.removesuffix(".").split(" Hit: ")
        assert [exhibit.failure, wrong, hit] == [rows[exhibit.name][place].strip() for place in (0, 2, 3)]
        assert exhibit.attack_by.tool == rows[exhibit.name][4]


@pytest.mark.wide
@pytest.mark.parametrize("exhibit", [one for one in REPEATING if isinstance(one.attack_by, Exact)], ids=named)
def test_figures_of_the_page_that_need_no_draws(exhibit: AnyExhibit) -> None:
    row = rows_of_the_page()[exhibit.name]
    assert row[5] == exhibit.attack().found.words


@pytest.mark.wide
def test_the_example_of_the_page_runs() -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert examples
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "gallery.md", "exec"), names)


# --- nobody can release it --------------------------------------------------------------------------------------------


def of_tests(module: Module) -> list[str]:
    """Imports from the tree of tests, which no wheel holds."""
    return [f"{line}: {name}" for line, name in imported(module) if within(name, ("tests",))]


def of_the_lab(module: Module) -> list[str]:
    """Imports of the lab, of any part of it, and of the gallery."""
    found = [f"{line}: {name}" for line, name in imported(module) if within(name, ("reticent.lab", "tests"))]
    for node in statements(module.tree):
        if isinstance(node, ast.ImportFrom) and node.level and (node.module or "").startswith("lab"):
            found.append(f"{node.lineno}: relative import of the lab")
    return found


@pytest.mark.wide
def test_nothing_outside_the_lab_imports_it() -> None:
    assert broken(of_the_lab, "lab/") == {}


@pytest.mark.wide
def test_the_wheel_imports_nothing_of_the_gallery_or_of_the_assurance_report() -> None:
    assert broken(of_tests) == {}
    assert of_tests(parsed("lab/x.py", "from tests.assurance.gallery import gallery")) != []


@pytest.mark.wide
@pytest.mark.parametrize(
    "text",
    ["from reticent import lab", "import reticent.lab.zoo", "from tests.assurance.gallery import gallery"],
)
def test_the_search_for_imports_of_the_lab_finds(text: str) -> None:
    assert of_the_lab(parsed("study/x.py", text)) != []


@pytest.mark.wide
def test_a_release_does_not_load_the_lab() -> None:
    program = (
        "import json, sys, reticent.cli, reticent.study, reticent.study.release, reticent.conformance.plan_audit\n"
        "print(json.dumps([m for m in sys.modules if m.startswith('reticent.lab')]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.wide
def test_a_study_takes_no_exhibit_for_a_question() -> None:
    study = rt.study({"x": [1, 2]}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=1)
    for exhibit in ALL:
        wrong: Any
        for wrong in (exhibit, exhibit.broken):
            with pytest.raises((ReticentError, TypeError)):
                study.release([wrong], epsilon=1)
    assert study.ledger.spent() == rt.PureDP(Fraction(0))


# --- the long tier ----------------------------------------------------------------------------------------------------


@pytest.mark.audit
@pytest.mark.parametrize("exhibit", REPEATING, ids=named)
def test_fresh_coins_tell_the_same(exhibit: AnyExhibit) -> None:
    effort = Effort(draws=20_000, fresh=True)
    assert exhibit.attack(effort).refuted
    assert not exhibit.withstand(effort).refuted


@pytest.mark.audit
@pytest.mark.parametrize("exhibit", [one for one in ALL if one.machine], ids=named)
def test_the_stopwatch_tells_them_apart(exhibit: AnyExhibit) -> None:
    """Beta is 1e-6, however the machine drifts; catching the broken one needs a machine that is not overloaded."""
    assert exhibit.attack().refuted
    assert not exhibit.withstand().refuted


@pytest.mark.audit
def test_the_whole_tour_takes_less_than_a_minute_and_the_page_has_its_figures() -> None:
    tour = run_gallery()
    assert all(attacked.told_apart for attacked in tour.attacked), str(tour)
    assert tour.seconds < 60
    rows = rows_of_the_page()
    assert [one.broken.found.words for one in tour.attacked] == [rows[one.broken.name][5] for one in tour.attacked]
