"""Scores of quantiles end at a public ceiling, and the windows of ranks hold all that any draw tells apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.order_statistics import RankWindows
from reticent.data.query import Ranks
from reticent.data.query_result import Counts
from reticent.data.schema import Column, Integer, Person, Real, category
from reticent.entropy import Replayed
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.sensitivity import Linf
from reticent.statistics import rank_blocks
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.magnitude import candidates
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.quantiles.quantile_draws import QuantileDraws
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.rank_blocks import HiddenValues, ceiling, draw
from reticent.statistics.ranks import Runs, runs, sensitivity
from tests.support.stat_fake import schema_of

COLUMNS: dict[str, Column] = {
    "bounds": Real(Fraction(0), Fraction(100)),
    "free": Real(),
    "ages": Integer(0, 120),
    "whole": Integer(),
    "steps": Real(resolution=Fraction(1, 100)),
}
ASKED = ["median(x)", "quantile(x, 0.02)", "quantiles(x, 0.25, 0.5, 0.9, method=separate)", "iqr(x, method=separate)"]
NOTHING = Counts(np.empty(0, np.int64), np.empty(0, np.int64))


def draws_of(asked: str, column: Column, kind: Kind, rows: int, epsilon: str) -> QuantileDraws:
    step = prepare(
        parse(asked),
        Setting(schema_of(column, Person(kind, "who", rows=rows)), 10**6 if kind == "substitute" else None),
        Fraction(epsilon),
    )
    assert isinstance(step, QuantileStep)
    return step.draws


def aims(draws: QuantileDraws, size: GroupSize, binade: int | None) -> Iterator[tuple[Runs, tuple, Exponential]]:  # type: ignore[type-arg]
    """Every draw of a group of this released size: its candidates without values, its aim and its mechanism."""
    among = candidates(draws.cells, binade, tied=size.tied)
    found, way = runs(among, NOTHING), draws.pricing.way(size)
    for level in draws.levels:
        a, b = level.numerator, level.denominator
        for mechanism in draws.value(level, way):
            yield found, (a, b, 0), mechanism
        for mechanism in draws.ends(level, way):
            shift = draws.shift(level, size, among)
            yield from ((found, (a, b, by), mechanism) for by in (-shift, shift))


def is_wide_enough(draws: QuantileDraws, windows: RankWindows) -> bool:
    """Tell if every draw of a few columns, and of what noise makes of their sizes, finds the ranks that it needs."""
    for n in (1, 40, 1_000, 100_000, 10_000_000):
        for noise in (-1.0, 0.0, 1.0):
            values = max(n + noise * draws._room(), 1.0)
            for tied in (False, True):
                size = GroupSize(values, tied, values)
                for binade in [1, 40] if draws.cells.free else [None]:
                    for found, aim, mechanism in aims(draws, size, binade):
                        most = ceiling(found.weights, aim, mechanism)
                        hidden = stayed(windows, Fraction(aim[0], aim[1]), n)
                        try:
                            rank_blocks._check_hidden(replace(found, total=n, hidden=hidden), aim, most)
                        except HiddenValues:
                            return False
    return True


def stayed(windows: RankWindows, level: Fraction, n: int) -> tuple[tuple[int, int], ...]:
    """Places that stay in the engine where this level alone is looked at."""
    first, last = windows.of(level, n)
    return tuple(part for part in ((0, first - 1), (last, n)) if part[0] < part[1])


@pytest.mark.loop(4)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", COLUMNS)
def test_windows_hold_what_any_draw_needs(name: str, asked: str) -> None:
    """Of both adjacencies and many prices, whatever the noise of the size; those that are 16 times narrower do not."""
    narrow = 0
    for kind in ("add_remove", "substitute"):
        for rows, epsilon in ((1, "0.02"), (1, "1"), (4, "0.3"), (1, "20")):
            draws = draws_of(asked, COLUMNS[name], kind, rows, epsilon)
            (query,) = draws.queries
            assert isinstance(query, Ranks)
            windows = query.windows
            assert windows is not None
            assert is_wide_enough(draws, windows)
            narrow += not is_wide_enough(draws, replace(windows, ranks=windows.ranks // 16, root=windows.root / 16))
    assert narrow == 8


def test_windows_are_a_small_part_of_a_long_column() -> None:
    """Of ten million values a median at ε 1 asks for some thousands, and of a person's rows for as many times more."""
    windows = draws_of("median(x)", COLUMNS["bounds"], "add_remove", 1, "1").windows
    first, last = windows.of(Fraction(1, 2), 10_000_000)
    assert last - first < 25_000


@pytest.mark.parametrize(("level", "shift"), [("1/2", 0), ("1/2", 40), ("1/10", -3), ("9/10", 5)])
def test_a_ceiling_changes_the_law_by_next_to_nothing(level: str, shift: int) -> None:
    """Total variation is below e^-28; at a quarter of the height it is not."""
    q, made = Fraction(level), Exponential(Linf(Fraction(1), Adjacency("add_remove")), Fraction(2))
    cells = np.unique(np.random.default_rng(7).integers(0, 1 << 30, 400))
    among = candidates(draws_of("median(x)", COLUMNS["bounds"], "add_remove", 1, "1").cells, None, tied=False)
    found = runs(among, Counts(cells, np.ones(len(cells), np.int64)))
    aim = q.numerator, q.denominator, shift
    scores, most = found.scores(*aim), ceiling(found.weights, aim, made)

    def law(ended: np.ndarray) -> np.ndarray:
        logs = np.log(found.weights.astype(float).clip(1e-300)) - float(made.rate) * ended
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def moved(at: int) -> float:
        return float(np.abs(law(scores) - law(np.minimum(scores, at))).sum() / 2.0)

    assert moved(most) < math.exp(-28.0)
    assert int(scores.max()) > most
    assert moved(most // 4) > math.exp(-28.0)


def test_a_draw_beyond_what_was_read_fails() -> None:
    draws = draws_of("median(x)", COLUMNS["bounds"], "add_remove", 1, "1")
    among = candidates(draws.cells, None, tied=False)
    level, mechanism = draws.levels[0], draws.ends(draws.levels[0], draws.pricing.plain)[0]
    data = Counts(np.array([5, 9], np.int64), np.array([400, 600], np.int64), ((0, 400),))
    with pytest.raises(HiddenValues):
        draw(runs(among, data), level, 0, mechanism, Replayed("narrow"))
    wide = Counts(np.array([5, 9], np.int64), np.array([400, 9_600], np.int64), ((0, 400),))
    assert draw(runs(among, wide), level, 0, mechanism, Replayed("wide")) == 9


def test_a_ceiling_changes_no_sensitivity() -> None:
    """Where a value comes, a score that ends moves by no more than the score; at a private ceiling it would."""
    draws = draws_of("median(x)", COLUMNS["ages"], "add_remove", 1, "8")
    among = candidates(draws.cells, None, tied=False)
    level, mechanism = draws.levels[0], draws.ends(draws.levels[0], draws.pricing.plain)[0]
    aim, moved = (level.numerator, level.denominator, 2), 0
    stream = np.random.default_rng(3)
    for _ in range(50):
        held = np.sort(stream.integers(0, 121, 120))
        more = np.sort(np.append(held, stream.integers(0, 121)))
        one, other = (runs(among, Counts(*np.unique(cells, return_counts=True))) for cells in (held, more))
        most = ceiling(one.weights, aim, mechanism)
        assert most == ceiling(other.weights, aim, mechanism)
        every = np.arange(121)
        ended = [
            np.minimum(found.scores(*aim), most)[np.searchsorted(found.start, every, "right") - 1]
            for found in (one, other)
        ]
        assert most in ended[0]
        moved = max(moved, int(np.abs(ended[0] - ended[1]).max()))
    assert moved == sensitivity(level, "add_remove")


def test_categories_have_no_windows() -> None:
    with pytest.raises(Exception, match="category"):
        draws_of("median(x)", category(["a", "b"]), "add_remove", 1, "1")
