"""Tables of the terminal: folded columns, alignment, wide signs and styles."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from reticent.cli import layout
from reticent.cli.output import PIPED, UNBROKEN
from reticent.cli.table import TextTable, fold, size
from reticent.outcome import Estimate, Reply
from reticent.statistics.answer import Answer, Cell

ROWS = (("count", "20,187", "95 % of such intervals hold the truth"), ("mean(visits)", "2.86", "–"))
TABLE = layout.columns(("statistic", "answer", "note"), ROWS, right=[1], wrap=[2])


def lines(table: TextTable, width: int) -> list[str]:
    return list(table.lines(width, styled=False))


def test_no_line_is_broken_where_there_is_room() -> None:
    assert lines(TABLE, 4000) == [
        "statistic     answer  note",
        "count         20,187  95 % of such intervals hold the truth",
        "mean(visits)    2.86  –",
    ]


def test_a_word_of_any_length_is_folded_sign_by_sign() -> None:
    """Each line looked at the whole rest once for every sign of it: 20,000 signs took minutes."""
    start = time.process_time()
    folded = fold("ε " + "x" * 20_000, 80)
    assert time.process_time() - start < 2.0
    assert "".join(folded) == "ε" + "x" * 20_000
    assert [len(line) for line in folded[1:-1]] == [80] * (len(folded) - 2)


def test_a_narrow_terminal_folds_the_columns_that_may_be() -> None:
    assert lines(TABLE, 42) == [
        "statistic     answer  note",
        "count         20,187  95 % of such",
        "                      intervals hold the",
        "                      truth",
        "mean(visits)    2.86  –",
    ]


@pytest.mark.parametrize("width", [1, 12, 20, 33, 60])
def test_nothing_is_lost_at_any_width(width: int) -> None:
    found = lines(TABLE, width)
    assert sorted(" ".join(found).split()) == sorted(" ".join(lines(TABLE, 4000)).split())


def test_the_lines_of_a_field_hang_beside_its_word() -> None:
    table = layout.fields([("note", "one two three"), ("", "four\nfive")])
    assert lines(table, 16) == ["note  one two", "      three", "      four", "      five"]


@pytest.mark.parametrize(
    ("text", "width", "found"),
    [
        ("one two", 7, ["one two"]),
        ("one two", 6, ["one", "two"]),
        ("  site 3", 6, ["  site", "3"]),
        ("  ward north · month 1", 14, ["  ward north ·", "    month 1"]),
        ("incomplete(wards.name, cost)", 16, ["incomplete(", "wards.name,", "cost)"]),
        ("t1/visits.ledger", 11, ["t1/visits.", "ledger"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("site Behandlungsort", 16, ["site", "Behandlungsort"]),
        ("  by Behandlungsort", 16, ["  by", "Behandlungsort"]),
        ("Behandlungsort=Aachen-Mitte", 20, ["Behandlungsort=", "Aachen-Mitte"]),
        ("Behandlungsort-Nord", 16, ["Behandlungsort-", "Nord"]),
        ("place_of_treatment", 12, ["place_of_", "treatment"]),
        ("value=-25", 8, ["value=", "-25"]),
        ("町町町", 4, ["町町", "町"]),
        ("", 5, [""]),
    ],
)
def test_text_is_broken_at_blanks_and_long_words_are_cut(text: str, width: int, found: list[str]) -> None:
    assert list(fold(text, width)) == found


def test_a_word_that_fits_its_column_is_not_cut_for_the_blanks_before_it() -> None:
    """Behandlungsort was cut into Behandlu and ngsort."""
    assert list(fold("mean(x) by Behandlungsort", 14, hanging=True)) == ["mean(x) by", "Behandlungsort"]


RANGES = layout.columns(
    ("statistic", "noise", "", ""),
    [("median(income)", "± 0.026 sd (0.00097–0.026)", ".999 to 1", "a"), ("count", "± 158", "1", "")],
    right=[1, 2],
    wrap=[0],
    ranges=[1, 2],
)


def test_a_range_goes_on_in_the_next_line_where_its_row_is_too_long() -> None:
    assert lines(RANGES, 60)[1] == "median(income)  ± 0.026 sd (0.00097–0.026)  .999 to 1  a"
    found = lines(RANGES, 48)
    assert max(map(len, found)) <= 48
    assert " ".join(found[1].split()) == "median(income) ± 0.026 sd .999 to 1 a"
    assert found[2].strip() == "(0.00097–0.026)"


def test_wide_and_combining_signs_are_counted_as_a_terminal_shows_them() -> None:
    assert [size(text) for text in ("ab", "町", "e\u0301", "a\nbcd")] == [2, 2, 1, 3]


@pytest.mark.parametrize(("quiet", "escapes"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_terminal_shows_styles_and_its_width_is_kept(quiet: dict[str, str], escapes: bool) -> None:
    master, slave = os.openpty()
    program = (
        "import sys; from reticent.cli import layout, output\n"
        "output.write([layout.fields([('note', 'long ' * 30)])], sys.stdout)"
    )
    settings = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    subprocess.run(
        [sys.executable, "-c", program], stdout=slave, env={**settings, "COLUMNS": "40", **quiet}, check=True
    )
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert ("\x1b[2mnote" in shown) is escapes
    plain = shown.replace("\x1b[2m", "").replace("\x1b[0m", "").splitlines()
    assert (max(map(len, plain)), len(plain)) == (40, 5)


def test_a_number_stays_with_its_sign_and_its_percent() -> None:
    """``10`` ended a line and ``% to at most`` began the next."""
    for text in (
        "factor 54.6; 10 % to at most",
        "loss of ε 2 in all of it",
        "noise is ± 38 here",
        "all of (3, 1e-8) is",
    ):
        for width in range(12, len(text)):
            lines = fold(text, width)
            assert " ".join(lines) == text
            assert not any(line.endswith(("±", "ε", "(3,")) or line.startswith("%") for line in lines)
    assert fold("1 % 2 % 3 %", 5) == ["1 %", "2 %", "3 %"]


def test_a_name_of_a_table_with_heads_goes_on_further_in() -> None:
    table = layout.columns(("statistic", "loss"), [("proportion(hlthg, value=1)", "ε 1")], right=[1], wrap=[0])
    assert lines(table, 24) == ["statistic           loss", "proportion(hlthg,    ε 1", "  value=1)"]


def test_a_loss_of_two_numbers_stands_on_one_line() -> None:
    assert fold("the (ε 3, δ 1e-8) is left", 16) == ["the", "(ε 3, δ 1e-8) is", "left"]


def test_answers_fit_a_hundred_columns_and_a_long_name_stands_once_above_them() -> None:
    long = "mean(loan_amount) where (issued >= 2018-02-01 and issued < 2018-03-01) and tenure in ('RENT', 'OWN')"
    found = Reply(Estimate(20_943.0, 19_927.0, 21_959.0, 863.0, 572.0))
    months = tuple(Cell((('trunc(issued, "month")', f"2018-0{month}-01"),), found) for month in (1, 2, 3))
    grades = tuple(Cell((("grade", grade),), found) for grade in "ABC")
    told = [
        Answer(long, (Cell((), found),)),
        Answer(f"{long} by grade", grades),
        Answer('mean(loan_amount) by trunc(issued, "month")', months),
    ]
    lines = [*layout.answers(told).lines(UNBROKEN, styled=False, whole=True)]
    assert max(map(len, lines)) <= PIPED
    assert sum("20,943" in line for line in lines) == 7
    names = [line.partition("20,943")[0].strip() for line in lines if "20,943" in line]
    assert names == ["", "grade A", "grade B", "grade C", "2018-01-01", "2018-02-01", "2018-03-01"]
    assert "".join(line for line in lines if "863" not in line).count("tenure in") == 2
    for width in (40, 60, 80):
        assert max(map(len, layout.answers(told).lines(width, styled=False))) <= max(width, 60)
