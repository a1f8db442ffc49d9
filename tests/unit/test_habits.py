"""The first guesses of somebody who knows other libraries: they work, or say what to write."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import habits
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.grammar import parse

RNG = np.random.default_rng(2)
N = 1000
SELECT = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(age) AS a FROM study"


@pytest.fixture(scope="module")
def release() -> Any:
    rows = {
        "age": RNG.integers(18, 90, N),
        "ward": RNG.choice(["N", "S"], N),
        "site": RNG.integers(1, 4, N),
        "sex": RNG.choice(["female", "male"], N),
    }
    columns: dict[str, Any] = {
        "age": rt.integer(0, 110),
        "ward": rt.category(["N", "S"]),
        "site": rt.category([1, 2, 3]),
        "sex": rt.category(["female", "male"]),
    }
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    asked = ["mean(age)", "mean(age) by ward", "count by ward, site with totals", "histogram(age, edges=0:100:50)"]
    return study.release([*asked, rt.proportion("sex", "female")], epsilon=5)


# --- groups by their keys ---------------------------------------------------------------------------------------------


def test_a_group_is_found_by_its_key(release: Any) -> None:
    grouped = release["mean(age) by ward"]
    for cell in grouped:
        ((_, key),) = cell.label
        assert grouped[key].outcome == cell.outcome
        assert release["mean(age) by ward", key].value == grouped[key].value == cell.outcome.value.value
        assert str(key) in str(grouped[key])


def test_a_cell_of_two_groups_is_found_by_both_keys_and_a_part_of_them_by_one(release: Any) -> None:
    grouped = release["count by ward, site with totals"]
    assert grouped["N", 2].cells == tuple(cell for cell in grouped if [key for _, key in cell.label] == ["N", 2])
    margin = [cell for cell in grouped if [key for _, key in cell.label] == ["N"]]
    assert list(grouped["N"]) == margin
    assert release.compare("count by ward, site with totals · N, 2").cells == grouped["N", 2].cells


def test_a_bin_is_found_by_its_name(release: Any) -> None:
    bins = release["histogram(age, edges=0:100:50)"]
    assert [bins[cell.label[0][1]].value for cell in bins] == [cell.outcome.value.value for cell in bins]


@pytest.mark.parametrize("name", ["mean(age)", "mean(age) by ward", "count by ward, site with totals"])
def test_a_key_that_is_not_there_is_refused_with_those_that_are(release: Any, name: str) -> None:
    told = "It is one number" if name == "mean(age)" else "It has: N"
    with pytest.raises(QuestionError, match=told):
        release[name]["West"]
    with pytest.raises(QuestionError, match=told):
        release[name, "West"]


@pytest.mark.parametrize("place", [0, slice(1), ["mean(age)"], ()])
def test_a_place_is_refused_with_what_to_write(release: Any, place: object) -> None:
    with pytest.raises(QuestionError, match=r"release\.answers\[0\]"):
        release[place]


# --- names of other libraries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in habits.HABITS.items() for name in names])
def test_a_name_of_another_library_is_refused_with_ours(release: Any, owner: str, name: str) -> None:
    of: Any = {"release": release, "answer": release["mean(age)"]}.get(owner)
    if of is None:
        rows = {"age": RNG.integers(0, 100, 500)}
        study = rt.study(rows, adjacency="add_remove", columns={"age": rt.integer(0, 100)}, budget=2)
        made: dict[str, Any] = {
            "selection": lambda: study.sql(SELECT),
            "synthetic": lambda: study.synthesize("age", epsilon=1),
        }
        of = made[owner]() if owner in made else study
    with pytest.raises(AttributeError, match="Write: "):
        getattr(of, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        of.nothing  # noqa: B018 - it is asked for


def test_copies_and_pickles_find_what_they_look_for(release: Any) -> None:
    for one in (release, release["mean(age) by ward"]):
        assert repr(pickle.loads(pickle.dumps(one))) == repr(copy.deepcopy(one)) == repr(one)


# --- a share by its value ---------------------------------------------------------------------------------------------


def test_the_value_of_a_share_may_stand_without_its_name(release: Any) -> None:
    for written in (rt.proportion("sex", "female"), rt.proportion("sex", value="female")):
        assert written.name == "proportion(sex, value=female)"
        assert release[written].value == release["proportion(sex, female)"].value
    assert parse("proportion(sex, female)").name == "proportion(sex, value=female)"


# --- a no reply in print ----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_printed_no_reply_says_how_to_know_beforehand(release: Any) -> None:
    rows = {"age": RNG.integers(18, 90, 50)}
    study = rt.study(rows, adjacency="add_remove", columns={"age": rt.integer(0, 110)}, budget=10)
    with pytest.warns(UserWarning, match="No reply is likely"):
        made = [study.release(["median(age)"], epsilon="0.001") for _ in range(4)]  # 1 in 60 has noise enough
    silent = next(one for one in made if not one.replied)
    assert "study.plan(…, people=…) tells free how" in " ".join(repr(silent).split())
    assert "study.plan" not in repr(release)


def test_a_picture_is_saved_by_the_figure_and_no_file_is_written(release: Any, tmp_path: Path) -> None:
    """``t.png`` had been taken for a stem: t.png.csv and three more had been written."""
    with pytest.raises(PublicParameterError, match=r'release\.plot\(\)\.savefig\("t\.png"\)'):
        release.save(tmp_path / "t.png")
    assert list(tmp_path.iterdir()) == []
    assert len(release.save(tmp_path / "v1.2")) == 4


@pytest.mark.parametrize("named", ["ward N", "N", "2", "N, 2"])
def test_a_cell_without_its_answer_is_told_with_it(release: Any, named: str) -> None:
    with pytest.raises(QuestionError, match=r"Did you mean .* · ") as refused:
        release.difference(named, "mean(age)")
    cell = str(refused.value).partition("Did you mean ")[2].partition("?")[0]
    assert release.compare(cell).cells[0].label
