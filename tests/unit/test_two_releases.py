"""Answers of two releases compared: intervals cover, and what two tables have in common is never taken for nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import QuestionError
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.comparison import APART, SAFE, UNION, UNLIKE
from reticent.study.release import Release
from tests.support.cli_kit import run

PEOPLE = 2_000


def released(of: float, high: int = 100, title: str = "one") -> Release:
    rng = np.random.default_rng(round(of))
    table = {"x": rng.normal(of, 10, PEOPLE), "g": rng.choice(["a", "b"], PEOPLE)}
    columns: dict[str, Column] = {
        "x": rt.real(0, high, complete=True),
        "g": rt.category(["a", "b"], complete=True, constant=True),
    }
    study = rt.study(table, adjacency="add_remove", columns=columns, budget="9", people=PEOPLE, title=title)
    return study.release([rt.mean("x"), rt.mean("x").by("g"), rt.median("x"), rt.count()], epsilon=4)


@pytest.fixture(scope="module")
def pair() -> tuple[Release, Release]:
    return released(60.0), released(50.0)


def test_a_difference_of_two_releases_has_the_noise_of_both(pair: tuple[Release, Release]) -> None:
    first, second = pair
    (found,) = first.against(second, "mean(x)", apart=True)
    one, other = first["mean(x)"], second["mean(x)"]
    assert found.low < 10 < found.high
    assert found.value == pytest.approx(one.value - other.value, abs=0.01)
    assert found.noise == pytest.approx(np.hypot(one.noise, other.noise), rel=0.1)
    assert found.sampling == pytest.approx(np.hypot(one.sampling, other.sampling), rel=0.05)
    assert SAFE not in found.caveats


def test_people_who_may_be_in_both_tables_widen_it(pair: tuple[Release, Release]) -> None:
    """Sampling errors that go together as badly as can be add up; noises are drawn anew and do not."""
    first, second = pair
    (found,) = first.against(second, "mean(x)")
    assert found.sampling == pytest.approx(first["mean(x)"].sampling + second["mean(x)"].sampling, rel=0.05)
    assert SAFE in found.caveats


def test_cells_of_groups_are_compared_by_label(pair: tuple[Release, Release]) -> None:
    first, second = pair
    found = first.against(second, "mean(x) by g", apart=True)
    assert [answer.name.count(f"mean(x) by g · {key} of ") for answer, key in zip(found, "ab", strict=True)] == [2, 2]
    (north,) = first.against(second, "mean(x) by g · a", apart=True)
    assert north == found[0]


def test_what_has_no_law_of_its_error_is_compared_too(pair: tuple[Release, Release]) -> None:
    first, second = pair
    (apart,), (both,) = first.against(second, "median(x)", apart=True), first.against(second, "median(x)")
    assert APART in apart.caveats
    assert UNION in both.caveats
    assert apart.high - apart.low < both.high - both.low
    (ratio,) = first.against(second, "ratio(mean(x), mean(x))", apart=True)
    assert ratio.low < 1.2 < ratio.high


def test_counts_of_two_tables_differ_by_noise_alone(pair: tuple[Release, Release]) -> None:
    (found,) = pair[0].against(pair[1], "count")
    assert found.sampling == 0
    assert SAFE not in found.caveats


def test_other_estimands_are_told_apart(pair: tuple[Release, Release]) -> None:
    (found,) = pair[0].against(released(40.0, high=80), "mean(x)")
    assert any(text.startswith(UNLIKE) and "[0, 80]" in text for text in found.caveats)
    (alike,) = pair[0].against(pair[1], "mean(x)")
    assert not any(text.startswith(UNLIKE) for text in alike.caveats)


def test_a_release_is_not_compared_with_itself(pair: tuple[Release, Release]) -> None:
    with pytest.raises(QuestionError, match="two copies of one release"):
        pair[0].against(pair[0], "mean(x)")
    for text in ("total(mean(x), count)", "difference(mean(x))", "mean(y)"):
        with pytest.raises(QuestionError):
            pair[0].against(pair[1], text)


@pytest.mark.wide
def test_the_interval_of_a_difference_covers() -> None:
    """2,000 pairs: 95 % is within .91 and .98 but for 1e-9; noise that counts once, or four times, is not."""
    from reticent.statistics import comparison
    from reticent.statistics.error_law import ErrorLaw

    rng, inside, once, wide = np.random.default_rng(7), 0, 0, 0
    draws = 2_000
    for noise in rng.laplace(0.0, 1.0, (draws, 2)):
        parts = []
        for name, error in zip(("r-1", "r-2"), noise, strict=True):
            estimate = rt.Estimate(float(error), float(error) - 3, float(error) + 3, 3.0, 0.0)
            cell = Cell((), rt.Reply(estimate), ErrorLaw(float(error), (1.0,)))
            parts.append(comparison.ReleasedCell(Answer("sum(x)", (cell,)), cell, name))
        found = comparison.difference(*parts)
        inside += found.low <= 0 <= found.high
        once += abs(found.value) <= ErrorLaw(0.0, (1.0,)).half_width()
        wide += abs(found.value) <= ErrorLaw(0.0, (1.0,) * 4).half_width()
    assert 0.91 * draws < inside < 0.98 * draws
    assert once < 0.91 * draws
    assert wide > 0.98 * draws


def test_the_verb_compares_two_files(pair: tuple[Release, Release], tmp_path: Path) -> None:
    files = [str(one.save(tmp_path / name, files=[".json"])[0]) for one, name in zip(pair, "ab", strict=True)]
    found = run("compare", files[0], "--and", files[1], "--apart", "--json").document
    named = ("mean(x)", "mean(x) by g", "median(x)", "count")
    assert [answer["name"] for answer in found["answers"]] == [
        one.name for name in named for one in pair[0].against(pair[1], name, apart=True)
    ]
    assert found["other"]["guarantee"]["epsilon"] == "4"
    told = run("compare", files[0], "--and", files[1], "mean(x)").out
    assert told.count("that of r-") == 2
    assert run("compare", files[0], "--apart").code == 2
    assert run("compare", files[0], "--and", files[0]).code == 5
