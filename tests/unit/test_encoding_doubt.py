"""A label with an accent is doubted where nothing says the encoding of a CSV file, before a row is read."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import reticent as rt
from reticent.cli.output import Voice
from reticent.data.format import Format
from reticent.data.schema import Category, Person, Schema
from reticent.data.study_file import read_spec
from reticent.data.study_file import warnings as doubts
from reticent.data.template import skeleton, skeleton_words
from reticent.outcome import Estimate, Reply
from reticent.statistics.answer import IncompleteRows
from reticent.statistics.counts.incomplete_share import words

WARDS = ("Chirurgie", "Gynäkologie")
SAID = "letters outside ASCII, such as 'Gynäkologie'"
STUDY = """[study]
source = "t.csv"
{told}[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "5"
[columns.{column}]
kind = "category"
among = [{among}]
"""


def _study(folder: Path, told: str = "", column: str = "ward", among: tuple[str, ...] = WARDS) -> Path:
    listed = ", ".join(f'"{key}"' for key in among)
    (folder / "s.toml").write_text(STUDY.format(told=told, column=column, among=listed), "utf-8")
    return folder / "s.toml"


def _messages(folder: Path, **told: str) -> list[str]:
    """Warnings of a study in Python and of one plan."""
    (folder / "t.csv").write_text("ward\n" + "Gynäkologie\nChirurgie\n" * 50, told.get("encoding", "windows-1252"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rt.study(
            str(folder / "t.csv"),
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={"ward": rt.category(WARDS)},
            **told,  # type: ignore[arg-type]  # encoding alone
        ).plan(["count by ward"], epsilon=1)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("told", "column", "among", "doubted"),
    [
        ("", "ward", WARDS, True),
        ('encoding = "utf-8"\n', "ward", WARDS, False),
        ('encoding = "windows-1252"\n', "ward", WARDS, False),
        ("", '"Stätte"', WARDS, False),  # the header has the name letter by letter
        ("", "ward", ("a", "b"), False),
    ],
)
def test_a_check_doubts_labels_with_accents_until_something_settles_the_encoding(
    told: str, column: str, among: tuple[str, ...], doubted: bool, tmp_path: Path
) -> None:
    found = [one for one in doubts(read_spec(_study(tmp_path, told, column, among))) if SAID in one]
    assert len(found) == doubted
    assert all('encoding = "windows-1252"' in one and 'encoding = "utf-8"' in one for one in found)


def test_a_file_that_is_no_csv_is_not_doubted(tmp_path: Path) -> None:
    study = _study(tmp_path)
    study.write_text(study.read_text("utf-8").replace("t.csv", "t.parquet"), "utf-8")
    assert not [one for one in doubts(read_spec(study)) if SAID in one]


def test_python_names_its_own_argument_and_a_stated_encoding_ends_the_doubt(tmp_path: Path) -> None:
    (said,) = _messages(tmp_path)
    assert SAID in said
    assert 'encoding="windows-1252"' in said
    assert "[study]" not in said
    assert not _messages(tmp_path, encoding="utf-8")


def test_a_release_of_a_study_file_warns_before_its_charge(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ward\n" + "Gynäkologie\nChirurgie\n" * 50, "windows-1252")
    study = rt.open(_study(tmp_path, 'ledger = "t.ledger"\n'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="letters outside ASCII"):
            study.release(["count by ward"], epsilon=1)
        study.release(["count"], epsilon=1)  # which asks no label
    assert study.left().epsilon == 4  # type: ignore[union-attr]  # pure


def test_a_doubt_before_the_question_at_a_terminal_is_not_said_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("ward\n" + "Gynäkologie\nChirurgie\n" * 50, "windows-1252")
    study, voice = rt.open(_study(tmp_path, 'ledger = "t.ledger"\n')), Voice()
    with voice.warning():
        study.plan(["count by ward"], epsilon=1)
    with voice.warning():
        study.release(["count by ward"], epsilon=1)
    assert capsys.readouterr().err.count("letters outside ASCII") == 1
    with Voice().warning():
        study.release(["count by ward"], epsilon=1)
    assert capsys.readouterr().err.count("letters outside ASCII") == 1


def test_init_says_that_a_plain_header_cannot_tell(tmp_path: Path) -> None:
    for text, told, unclear in (("id;ward\n", False, True), ("id;ward\n", True, False), ("id,ward\n", False, False)):
        (tmp_path / "t.csv").write_text(text, "utf-8")
        sign, form = text[2], Format(has_encoding=told)
        said = skeleton_words({"id": "", "ward": ""}, "t.toml", delimiter=sign, form=form)
        made = skeleton(tmp_path / "t.csv", delimiter=sign, form=form)
        assert ("cannot tell the encoding" in said and "--encoding windows-1252" in said) is unclear
        assert ('# encoding = "windows-1252"' in made) is unclear
        assert ('\nencoding = "utf-8"\n' in made) is told


@pytest.mark.parametrize(
    ("low", "told", "among", "named"),
    [
        (0.2, False, WARDS, True),
        (0.0, False, WARDS, False),
        (0.2, True, WARDS, False),
        (0.2, False, ("a", "b"), False),
    ],
)
def test_many_unlisted_labels_name_the_encoding_as_one_cause(
    low: float, told: bool, among: tuple[str, ...], named: bool
) -> None:
    schema = Schema({"ward": Category(among)}, Person("add_remove"), Format(has_encoding=told))
    share = Estimate(low + 0.1, low, low + 0.2, 0.1, 0.0)
    assert ("encoding of a CSV file" in words(IncompleteRows(("ward",), Reply(share)), schema)) is named


@pytest.mark.parametrize(
    ("low", "among", "named"), [(0.2, ("Male", "Female"), True), (0.0, ("Male",), False), (0.2, ("m", "f"), False)]
)
def test_many_unlisted_labels_name_other_capitals(low: float, among: tuple[str, ...], named: bool) -> None:
    schema = Schema({"sex": Category(among)}, Person("add_remove"))
    share = Estimate(low + 0.1, low, low + 0.2, 0.1, 0.0)
    said = words(IncompleteRows(("sex",), Reply(share)), schema)
    assert ("if cells have other capitals, list these too and ask by lower(sex)" in said) is named
