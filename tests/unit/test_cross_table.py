"""Cross tables in a terminal: at most 80 characters in a line, every number once, as asked where that fits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.certificate.render.cross import CrossTable, crossed
from reticent.certificate.render.listing import listing
from reticent.certificate.render.page import page
from reticent.outcome import Estimate, Reply
from reticent.statistics.answer import Answer, Cell, printed
from tests.support import survey_browser
from tests.unit.test_certificate_example import document

WIDTH = 78
EDGES = """(() => {{ const one = document.querySelector("{0}"), box = one.getBoundingClientRect();
  return [box.left, box.right, one.parentElement.clientWidth - one.scrollWidth]; }})()"""


def table(rows: int, columns: int, seed: int = 0) -> CrossTable:
    chance = random.Random(seed)
    heads = tuple("h" * chance.randint(1, 12) + str(place) for place in range(columns))
    cells = [
        tuple(f"v{1000 * row + column} ± {chance.randint(1, 10**6)}" for column in range(columns))
        for row in range(rows)
    ]
    return CrossTable("ward", "month", heads, tuple((f"row {row}", *cells[row]) for row in range(rows)))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 4), (2, 30), (30, 2), (12, 40)])
def test_no_line_is_too_long_and_every_number_stands_once(rows: int, columns: int) -> None:
    for made in (table(rows, columns), table(rows, columns).turned()):
        lines = made.lines(WIDTH)
        assert max(map(len, lines)) <= WIDTH
        words = " ".join(lines).split()
        for row in range(rows):
            for column in range(columns):
                assert words.count(f"v{1000 * row + column}") == 1


def test_turned_twice_it_is_itself() -> None:
    made = table(3, 5)
    assert made.turned().turned() == made
    assert made.turned().title.startswith("month down, ward across")


def test_a_column_wider_than_a_line_stands_alone() -> None:
    made = CrossTable("a", "b", ("x" * 90, "y"), (("r", "1", "2"),))
    assert [len(line) for line in made.lines(WIDTH)][1:3] == [93, 93]


def test_a_count_moved_to_zero_is_not_shown_as_known() -> None:
    """Noise of 7 took a count of few rows below zero: both ends of its interval are 0, and ``0 ± 0`` was printed."""
    groups = [(row, column) for row in (1, 2) for column in ("a", "b")]
    ends = [(0, 0, 0), (9, 2, 16), (40, 33, 47), (8, 1, 15)]
    cells = tuple(
        Cell((("site", row), ("sex", column)), Reply(Estimate(value, low, high, 7, 0)))
        for (row, column), (value, low, high) in zip(groups, ends, strict=True)
    )
    table = crossed(Answer("count by site, sex", cells, discrete=True))
    assert table is not None
    assert table.rows == (("1", "0 ± 7", "9 ± 7"), ("2", "40 ± 7", "8 ± 7"))


def test_of_a_table_that_is_too_long_no_cell_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count by 90,000 groups took six seconds to print, for a table of which nothing was shown."""
    written: list[Cell] = []

    def noted(cell: Cell, *, bare: bool) -> object:
        written.append(cell)
        return printed(cell, bare=bare)

    monkeypatch.setattr("reticent.certificate.render.cross.printed", noted)
    cells = tuple(
        Cell((("a", row), ("b", column)), Reply(Estimate(5.0, 3.0, 7.0, 2.0, 0.0)))
        for row in range(9)
        for column in range(4)
    )
    answer = Answer("count by a, b", cells)
    assert crossed(answer, most=8) is crossed(answer, most=3) is None
    assert written == []
    assert crossed(answer, most=9) == crossed(answer) is not None
    assert len(written) == 72


def test_a_histogram_by_one_group_is_a_cross_table_and_one_with_totals_is_none() -> None:
    bins = [(("ward", ward), ("bin", text)) for ward in ("a", "b") for text in ("[0, 5)", "[5, 10]")]
    cells = tuple(Cell(label, Reply(Estimate(place, place, place + 2, 2, 0))) for place, label in enumerate(bins))
    table = crossed(Answer("histogram(x, edges=0 5 10) by ward", cells, discrete=True))
    assert table is not None
    assert (table.down, table.across, table.heads) == ("ward", "bin", ("[0, 5)", "[5, 10]"))
    assert table.rows == (("a", "0 ± 2", "1 ± 2"), ("b", "2 ± 2", "3 ± 2"))
    alone = Certificate.of({**document(), "answers": [answer_to_json(Answer("histogram(x) by ward", cells))]})
    assert listing(alone).splitlines()[:2] == ["histogram(x) by ward", "  ward down, bin across, ± at 95 %"]
    assert crossed(Answer("histogram(x) by ward, sex", cells)) is None
    assert crossed(Answer("quantiles(x, 0.25 0.5) by ward", cells)) is None
    margin = Cell((("bin", "[0, 5)"),), cells[0].outcome)
    assert crossed(Answer("histogram(x) by ward with totals", (*cells, margin))) is None


@pytest.mark.wide
@pytest.mark.skipif(survey_browser.excused(), reason="no browser is installed (Debian: the package chromium)")
def test_a_wide_table_takes_the_window_and_prints_whole(tmp_path: Path) -> None:
    """In a window of 1600 pixels two of six columns lay off the edge of the text, and paper would have cut them."""
    wards, schools = ("North", "South"), ("Upper secondary school", *(f"{name} degree" for name in "abcde"))
    estimate = Estimate(41_419.0, 39_164.0, 43_674.0, 2_255.0, 1_000.0)
    cells = tuple(Cell((("ward", one), ("school", other)), Reply(estimate)) for one in wards for other in schools)
    words = "population mean of cost, values cut to [0, 250000], in each group " * 5
    answer = Answer("mean(cost) by ward, school", cells, estimand=words)
    shown = page(Certificate.of({**document(), "answers": [answer_to_json(answer)]}))
    place = tmp_path / "page.html"
    place.write_text(shown)
    with survey_browser.browser() as driven, survey_browser.tab(driven) as opened:
        opened.go(place.as_uri())
        for width, media in ((1600, "screen"), (1000, "screen"), (700, "print")):
            opened.page.emulate_media(media="print" if media == "print" else "screen")
            opened.page.set_viewport_size({"width": width, "height": 900})
            left, right, spare = opened.run(EDGES.format(".cross"))
            assert 0 <= left < right <= width, (width, left, right)
            assert spare >= 0 or media == "print"
        opened.page.set_viewport_size({"width": 400, "height": 900})
        opened.page.emulate_media(media="screen")
        left, right, spare = opened.run(EDGES.format(".of-cross"))
        assert 0 <= left < right <= 400
        assert spare >= 0
