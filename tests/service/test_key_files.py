"""Groups by a public file of keys, and by some of a wide range or of a product: ``keys="drugs.csv"``, ``among=``."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import reticent as rt
from reticent.data.query import KeyFile, Keys
from reticent.errors import QuestionError, SpecError
from reticent.outcome import Reply
from reticent.statistics.answer import Answer
from reticent.statistics.statistic import Ask
from reticent.study import preparation
from reticent.study.formulas import resolved

STUDY = """
[study]
title = "drugs"
source = "rows.csv"
ledger = "drugs.ledger"

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "8"

[columns.drug]
kind = "text"
longest = 12

[columns.ward]
kind = "category"
among = ["north", "south"]

[columns.code]
kind = "integer"
low = 0
high = 100_000
"""
EPSILON = "4"  # noise beyond 30 has probability below 1e-24


@pytest.fixture
def study(tmp_path: Path) -> rt.Study:
    lines = ["drug,ward,code"]
    lines += ["statin ,north,70000"] * 300 + ["insulin,south,70001"] * 200 + ["other,south,5"] * 90
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "drugs.csv").write_text("name,drug\nA,insulin\nB,statin\nC,nobody's\n", "utf-8")
    (tmp_path / "pairs.csv").write_text("ward,drug\nnorth,statin\nsouth,statin\n", "utf-8")
    (tmp_path / "codes.csv").write_text("code\n70001\n70000\n", "utf-8")
    (tmp_path / "drugs.toml").write_text(STUDY, "utf-8")
    return rt.open(tmp_path / "drugs.toml")


def told(answer: Answer) -> dict[tuple[object, ...], float]:
    found: dict[tuple[object, ...], float] = {}
    for cell in answer:
        assert isinstance(cell.outcome, Reply)
        found[tuple(key for _, key in cell.label)] = cell.outcome.value.value
    return found


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ('count by drug keys="drugs.csv"', {("insulin",): 200, ("statin",): 300, ("nobody's",): 0}),
        ('count by drug, ward keys="pairs.csv"', {("statin", "north"): 300, ("statin", "south"): 0}),
        ('count by code keys="codes.csv"', {(70001,): 200, (70000,): 300}),
        ('count by ward keys="pairs.csv"', None),
    ],
)
def test_a_release_answers_by_the_keys_of_a_file(
    study: rt.Study, asked: str, counts: dict[tuple[object, ...], float] | None
) -> None:
    if counts is None:
        (study.spec.folder / "pairs.csv").write_text("ward,drug\nnorth,statin\nnorth,statin\n", "utf-8")
        with pytest.raises(QuestionError, match="a key twice"):
            study.plan([asked], epsilon=EPSILON)
        return
    assert study.plan([asked], epsilon=EPSILON).lines[0].name == asked
    release = study.release([asked], epsilon=EPSILON)
    assert told(release[asked]) == pytest.approx(counts, abs=30)
    file = study.spec.folder / asked.split('"')[1]
    (stated,) = release.certificate.document["key_files"]
    assert stated["file"] == file.name
    assert stated["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert stated["sha256"][:12] in str(release).replace("\n           ", " ")
    assert release.certificate.verify(study.ledger, allow_unsigned=True).ok


def test_a_file_that_changed_since_the_plan_is_refused_before_the_charge(study: rt.Study) -> None:
    asked = 'count by drug keys="drugs.csv"'
    study.plan([asked], epsilon=1)
    (study.spec.folder / "drugs.csv").write_text("drug\nstatin\n", "utf-8")
    with pytest.raises(QuestionError, match="has changed since it was planned with"):
        study.release([asked], epsilon=1)
    assert study.ledger.releases() == ()
    study.plan([asked], epsilon=1)
    assert len(study.release([asked], epsilon=1)[asked].cells) == 1


def test_a_file_that_changes_while_a_release_is_prepared_is_refused(
    study: rt.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = preparation.prepare

    def changing(*given: object, **named: object) -> object:
        (study.spec.folder / "drugs.csv").write_text("drug\nother\n", "utf-8")
        return prepare(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "prepare", changing)
    with pytest.raises(QuestionError, match="has changed"):
        study.release(['count by drug keys="drugs.csv"'], epsilon=1)
    assert study.ledger.releases() == ()


@pytest.mark.parametrize(
    ("place", "content", "words"),
    [
        ("rows.csv", None, "holds rows of people in this study"),
        ("../drugs.csv", None, "no file of keys in the folder"),
        ("none.csv", None, "no file of keys"),
        ("odd.csv", "insulin\nstatin\n", "first line of odd.csv names the columns"),
        ("odd.csv", "drug\n", "lists 0 keys"),
        ("odd.csv", "drug\na,b\n", "another number of cells"),
        ("odd.csv", "drug\nmuch too long a key\n", "longer than the 12 characters"),
        ("odd.csv", "drug\n\xe9".encode("latin-1"), "no table of keys"),
    ],
)
def test_what_is_no_public_file_of_keys_is_refused(
    study: rt.Study, place: str, content: str | bytes | None, words: str
) -> None:
    if content is not None:
        (study.spec.folder / place).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises((QuestionError, SpecError), match=words) as refused:
        study.plan([f'count by drug keys="{place}"'], epsilon=1)
    assert "statin" not in str(refused.value)


def test_two_lists_for_one_column_are_two_releases(study: rt.Study) -> None:
    (study.spec.folder / "few.csv").write_text("drug\nstatin\n", "utf-8")
    with pytest.raises(QuestionError, match="two lists of keys"):
        study.plan(['count by drug keys="drugs.csv"', 'mean(code) by drug keys="few.csv"'], epsilon=1)


# --- among ------------------------------------------------------------------------------------------------------------


def test_few_integers_of_a_wide_range_are_groups(study: rt.Study) -> None:
    release = study.by("code", among=[70001, 5, 70000]).release(["count"], epsilon=EPSILON)
    assert told(release.answers[0]) == pytest.approx({(70001,): 200, (5,): 90, (70000,): 300}, abs=30)
    for among in ([70001, -1], ["5"], [5, 5], []):
        with pytest.raises(QuestionError):
            study.by("code", among=among)


def test_some_of_a_product_are_groups(study: rt.Study) -> None:
    asked = study.by("ward", "code >= 70000", among=[("north", True), ("south", False)])
    release = asked.release(["count"], epsilon=EPSILON)
    assert list(told(release.answers[0]).values()) == pytest.approx([300, 90], abs=30)
    with pytest.raises(QuestionError, match="no combination"):
        study.by("ward", "code >= 70000", among=[("west", True)])


def test_keys_by_hand_are_those_of_the_schema(study: rt.Study) -> None:
    forged = Keys("drug", ("statin", "statin "), 1, file=KeyFile("x", "0" * 64))
    with pytest.raises(QuestionError, match="blanks at its ends"):
        resolved(Ask(rt.count(), groups=forged), study.schema)
