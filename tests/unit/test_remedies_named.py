"""Refusals name what to write instead: a column that was meant, a model, a picture, a certificate, an option."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import reticent as rt
from reticent.certificate.certificate import read_certificate
from reticent.cli.app import app
from reticent.cli.parser import ListedVerb
from reticent.data.header import meant_names
from reticent.data.schema import Column
from reticent.data.spec import person_of
from reticent.data.template import skeleton
from reticent.errors import CheckError, PublicParameterError, Refusal
from reticent.learning import LinearRegression
from reticent.privacy.adjacency import Kind
from reticent.study.study import Study


def _study(rows: object, columns: dict[str, Column]) -> Study:
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=9, rows_each=1)


def _refused(folder: Path, header: str, declared: tuple[str, ...]) -> str:
    (folder / "t.csv").write_text(f"{header}\n1,2\n", "utf-8")
    with pytest.raises(Refusal) as refused:
        _study(str(folder / "t.csv"), {name: rt.integer(0, 9) for name in declared})
    return str(refused.value)


@pytest.mark.parametrize(
    ("on", "instead"),
    [
        ("x", "a robust line of y on x needs none: regress(y ~ x). It may"),
        ("g + x", "a robust line of y on x needs none: regress(y ~ x). It may"),
        ("g", "ask median(y) by g. It may"),
    ],
)
def test_least_squares_without_bounds_names_a_line_that_needs_none(on: str, instead: str) -> None:
    study = _study({"x": [1.0], "y": [1.0], "g": ["a"]}, {"x": rt.real(), "y": rt.real(), "g": rt.category(["a", "b"])})
    with pytest.raises(Refusal) as refused:
        study.plan([f"regress(y ~ {on}, method=least_squares)"], epsilon=1)
    assert f"If you know none, {instead} give no reply." in str(refused.value)
    assert "trimmed_mean" not in str(refused.value)
    study.plan([instead.split(": ")[-1].removeprefix("ask ").partition(". It")[0]], epsilon=8, people=9_000)


@pytest.mark.few(4)
@pytest.mark.loop(10)  # every call
@pytest.mark.parametrize("tail", ["", " by site"])
@pytest.mark.parametrize("call", ["mean(x)", "mean(x, per=person)", "sum(x)", "sd(x)"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_each_question_that_a_refusal_for_bounds_names_is_planned(
    adjacency: Kind, rows: int, call: str, tail: str
) -> None:
    study = rt.study(
        {"who": [1], "x": [1.0], "site": ["a"]},
        adjacency=adjacency,
        columns={"x": rt.real(), "site": rt.category(["a", "b", "c"])},
        budget=9,
        person="who",
        rows_each=rows,
    )
    with pytest.raises(Refusal) as refused:
        study.plan([f"{call}{tail}"], epsilon=1, people=2_000)
    listed = str(refused.value).partition("If you know none, use ")[2].partition(": ")[0]
    named = re.split(r", (?=\"?[a-z]+\()| or ", listed)
    assert named[0].removeprefix('"').startswith("median(x")
    assert all(tail in one and ("per=person" in one) == ("per=person" in call) for one in named)
    for one in named:
        study.plan([one.replace('"', "")], epsilon=1, people=2_000)


def test_a_question_that_would_be_a_guess_is_not_named_for_missing_bounds() -> None:
    columns: dict[str, Column] = {"x": rt.real(), "site": rt.category(["a", "b", "c"])}
    study = rt.study({"x": [1.0], "site": ["a"]}, adjacency="substitute", columns=columns, budget=9)
    with pytest.raises(Refusal, match="a guess"):
        study.plan(["location(x) by site"], epsilon=1, people=1_000)
    with pytest.raises(Refusal, match=r"use median\(x\) by site: it may give no reply. Nothing was charged"):
        study.plan(["mean(x) by site"], epsilon=1, people=1_000)


def test_a_misspelt_column_is_answered_with_the_name_in_the_header(tmp_path: Path) -> None:
    said = _refused(tmp_path, "patient,cost", ("patiant", "cost"))
    assert "Did you mean patient?" in said
    assert "not shown" not in said


@pytest.mark.parametrize("header", ["Meier,Berlin", "cost,19520317", "cost,a@b.org"])
def test_a_first_line_that_may_be_a_row_is_not_shown(header: str, tmp_path: Path) -> None:
    """No declared name stands in it, or one of its names looks like a value."""
    said = _refused(tmp_path, header, ("Maier", "cost"))
    assert "not shown: they may be values" in said
    assert not any(name in said for name in header.split(",") if name != "cost")


def test_only_near_names_are_said_and_none_that_is_declared() -> None:
    assert meant_names(["costs"], ["cost", "age"], ["costs", "age"]) == " Did you mean cost?"
    assert meant_names(["costs"], ["cost", "age"], ["costs", "cost"]) == ""
    assert meant_names(["ward"], ["cost", "age"], ["ward", "age"]) == ""


def test_a_model_without_bounds_names_the_robust_line() -> None:
    study = _study({"x": [1.0], "y": [2.0]}, {"x": rt.real(), "y": rt.real(0, 9)})
    with pytest.raises(Refusal, match=r"regress\(y ~ x\), which needs none") as refused:
        study.xy(["x"], "y")
    assert "median" not in str(refused.value)
    study.plan(["regress(y ~ x)"], epsilon=1)  # and it can be asked


def test_a_linear_model_of_a_category_names_the_one_that_tells_its_keys() -> None:
    study = _study({"x": [1.0], "c": ["no"]}, {"x": rt.real(0, 9), "c": rt.category(["no", "yes"])})
    with pytest.raises(Refusal, match="LogisticRegression tells the keys of a category"):
        LinearRegression(epsilon=1).fit(*study.xy(["x"], "c"))


def test_made_up_rows_of_a_category_are_said_to_be_numbers_only() -> None:
    study = _study({"x": [1.0], "c": ["no"]}, {"x": rt.real(0, 9), "c": rt.category(["no", "yes"])})
    with pytest.raises(Refusal, match="Made-up rows are of numbers only, and c is a category"):
        study.synthesize(["x", "c"], epsilon=1)


def test_a_picture_is_saved_from_the_plot(tmp_path: Path) -> None:
    made = _study({"x": [1.0] * 90}, {"x": rt.real(0, 9)}).release(["mean(x)"], epsilon=1)
    with pytest.raises(PublicParameterError, match=r'release\.plot\(\)\.savefig\("x\.png"\)'):
        made.save(tmp_path / "x", files=[".png"])


@pytest.mark.parametrize("content", [b"<!doctype html>", b"\xff\xfe"])
def test_another_file_of_a_release_names_its_certificate(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.html").write_bytes(content)
    with pytest.raises(CheckError, match=r"The certificate of a release is its \.json file: x\.json"):
        read_certificate(tmp_path / "x.html")
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(CheckError) as refused:
        read_certificate(tmp_path / "x.json")
    assert ".json file" not in str(refused.value)


def test_the_skeleton_offers_the_usual_rows_beside_the_most(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n", "utf-8")
    (line,) = [one for one in skeleton(tmp_path / "t.csv").split("\n") if one.startswith("# rows ")]
    offered = line[line.index("{") : line.index("}") + 1]
    person = person_of("add_remove", "id", tomllib.loads(f"rows = {offered}")["rows"], None)
    assert person.rows == 20
    assert person.usual_rows == 5


def _commands(command: click.Command) -> list[click.Command]:
    command = command.command() if isinstance(command, ListedVerb) else command
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(found for one in inner for found in _commands(one))]


def test_every_verb_that_takes_out_takes_o() -> None:
    options = [option for command in _commands(app) for option in command.params if "--out" in option.opts]
    assert len(options) > 5
    assert all("-o" in option.opts for option in options)


def _unbounded(**given: object) -> Study:
    columns = {"x": rt.real(0, 9), "z": rt.real(), "w": rt.real(0, 5)}
    rows = {name: [1.0, 2.0] for name in columns}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=9, rows_each=1, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda: _unbounded().sparse_vector(["x", "z"], epsilon=1, positives=3),
        lambda: _unbounded().leaderboard(["x", "z"], epsilon=1, improvements=3, step="0.1"),
        lambda: _unbounded().synthesize(["x", "z"], epsilon=1),
        lambda: _unbounded().synthesize("z", epsilon=1),
    ],
)
def test_what_no_question_stands_for_names_none(call: Callable[[], object]) -> None:
    with pytest.raises(Refusal, match="needs a range known without looking") as refused:
        call()
    assert "If you know none" not in str(refused.value)
    assert "median" not in str(refused.value)


@pytest.mark.parametrize("asked", ["mean(z)", "sum(z)"])
def test_a_refusal_of_weighted_rows_names_questions_that_take_a_weight(asked: str) -> None:
    study = _unbounded(weight="w", design="fixed")
    with pytest.raises(Refusal, match=r"If you know none, use median\(z\) weight w: it may give no reply\.") as refused:
        study.plan([asked], epsilon=1)
    assert str(refused.value).startswith(f"{asked} needs a range known without looking")
    study.plan(["median(z) weight w"], epsilon=1)
