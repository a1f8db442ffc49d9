"""The private choice of a grid: one mechanism whatever is chosen, how far one record moves a score, what decides."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

import reticent as rt
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.synthesis import bar_smoothing, method_selection, parameter_selection
from reticent.synthesis.axis import shapes
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.linear import shares_of
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import BARS, FINER, ONE, Auto, auto, bars
from reticent.synthesis.options import Options, plan_for
from reticent.synthesis.parameter_selection import TunedDensity
from reticent.synthesis.series import grid

Kind = Literal["add_remove", "substitute"]

X = ("x", Fraction(0), Fraction(1), False)
PLAIN = DensityTerms(Adjacency("add_remove"))


def terms(kind: Kind, n: int | None = None) -> DensityTerms:
    return DensityTerms(Adjacency(kind), n, 1, kind == "substitute" and n is not None)


def columns(count: int) -> list[tuple[str, Fraction, Fraction, bool]]:
    return [(f"x{k}", Fraction(0), Fraction(1), False) for k in range(count)]


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_every_number_of_bars_draws_by_one_mechanism(kind: Kind) -> None:
    made = auto(X, terms(kind, 1_000 if kind == "substitute" else None), Fraction(1))
    assert len({made.paid(one).sums.mechanism for one in made.candidates}) == 1
    assert made.guarantee.loss == rt.PureDP(Fraction(1))
    assert [one.detail for one in made.candidates] == list(BARS)


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_no_record_moves_a_length_further_than_declared_and_one_moves_it_nearly_so_far(kind: Kind) -> None:
    """From the empty table a record moves it by its column: half of what is declared would be refuted."""
    made = auto(X, terms(kind), Fraction(1))
    assert made.choice is not None
    declared, most = int(made.choice.sensitivity.bound), 0
    assert declared <= 1.5 * ONE
    generator = np.random.default_rng(5)
    cells = made.candidates[0].matrix.shape[1]
    tables = [np.zeros(cells, np.int64), generator.integers(0, 50, cells), np.eye(cells, dtype=np.int64)[3] * 1000]
    for counts in tables:
        for one in made.candidates:
            before = one.length(counts)
            for place in (0, 3, cells // 2, cells - 1):
                more = counts.copy()
                more[place] += 1
                if kind == "substitute" and counts[3] > 0:
                    more[3] -= 1
                most = max(most, abs(one.length(more) - before))
    assert most <= declared
    assert most >= 0.7 * declared if kind == "substitute" else most >= 0.9 * declared


def test_two_opposite_scores_cost_what_one_would() -> None:
    """P(finer) against the length, exactly: at lengths one record apart the ratio is at most e^eps, and reaches it."""
    made = auto(X, terms("substitute", 1_000), Fraction(1))
    assert made.choice is not None
    bound, own, rate = int(made.choice.sensitivity.bound), float(made.choice.epsilon), float(made.choice.rate)

    def finer(beyond: int) -> float:
        """Two candidates in random order, the worse accepted with exp(-epsilon gap / 2 D): the law of Laplace noise."""
        gap = rate * 2 * abs(beyond)
        return 1.0 - np.exp(-gap) / 2.0 if beyond > 0 else float(np.exp(-gap)) / 2.0

    ratios = [
        abs(np.log(odds(there + bound) / odds(there)))
        for there in range(-5 * bound, 5 * bound, bound // 3)
        for odds in (finer, lambda beyond: 1.0 - finer(beyond))
    ]
    assert max(ratios) == pytest.approx(own, rel=1e-9)


def chosen(shape: str, runs: int) -> list[int]:
    """How many bars are chosen for 1,000 rows of a normal shape, or of two spikes on an even floor."""
    made, found = auto(X, PLAIN, Fraction(1)), []
    for run in range(runs):
        generator = np.random.default_rng(run)
        values = generator.normal(0.5, 0.12, 1_000)
        if shape == "spikes":
            values[:700] = np.where(generator.random(700) < 0.5, 0.2, 0.65) + generator.normal(0, 0.004, 700)
        found.append(int(density(made, values, f"{shape} {run}").words[0].split()[0]))
    return found


def density(made: Auto, values: np.ndarray[tuple[int], np.dtype[np.float64]], name: str) -> Density:
    counts = np.histogram(values, made.axes[0].cuts)[0]
    outcome = made.draw([QueryResult(vectors=(tuple(counts.tolist()),))], Replayed(name))
    assert isinstance(outcome, Reply)
    return outcome.value


@pytest.mark.wide
def test_fine_bars_are_taken_on_evidence_and_not_by_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 draws of a normal shape: fine bars with a chance of at most .07, so more than five have 1e-3; without a prior
    with one half, so fewer than four have 1e-3. Spikes of 1/250 of the range are always seen."""
    assert sum(bars > 128 for bars in chosen("normal", 20)) <= 5
    assert all(bars >= 512 for bars in chosen("spikes", 6))
    monkeypatch.setattr(method_selection, "PRIOR", 0)
    assert sum(bars > 128 for bars in chosen("normal", 20)) >= 4


def test_the_rule_grows_with_the_root_of_n_epsilon_and_ends_at_the_finest() -> None:
    made = auto(X, terms("substitute", 1_000), Fraction(1))
    ruled = [made.pair(n)[0].detail for n in (1, 100, 10_000, 1_000_000)]
    assert ruled == [8, 32, 256, 1024]
    for n in (1, 100, 10_000, 1_000_000):
        coarse, fine = made.pair(n)
        assert fine.detail == min(FINER * coarse.detail, 1024)
    smaller = auto(X, terms("substitute", 1_000), Fraction(1, 100))
    assert smaller.pair(10_000)[0].detail == made.pair(100)[0].detail


@pytest.mark.parametrize("values", [1, 5, 81, 500, 1024])
def test_a_private_choice_among_few_whole_numbers_has_a_bar_for_each(values: int) -> None:
    """Each whole number may have its own share, which no wide bar and no curve shows; real columns keep their list."""
    found = auto(("x", Fraction(0), Fraction(values - 1), True), PLAIN, Fraction(1))
    details = [one.detail for one in found.candidates]
    assert details == sorted({*(one for one in BARS if one < values), values})
    counts = tuple(range(1_000, 1_000 + values))
    outcome = found.draw([QueryResult(vectors=(counts,))], Replayed(f"whole {values}"))
    assert isinstance(outcome, Reply)
    np.testing.assert_allclose(outcome.value.masses, np.array(counts) / sum(counts), atol=0.02)


@pytest.mark.wide
def test_nothing_is_paid_for_a_choice_that_public_numbers_make() -> None:
    """Five whole numbers, or a public million of rows: no choice, and all of epsilon but the number is for the bars."""
    few = auto(("x", Fraction(1), Fraction(5), True), PLAIN, Fraction(1))
    many = auto(X, terms("substitute", 1_000_000), Fraction(1))
    for made, left in ((few, Fraction(19, 20)), (many, Fraction(1))):
        assert made.choice is None
        assert made.left == left
        assert made.guarantee.loss == rt.PureDP(Fraction(1))
    assert "the finest listed" in density(many, np.random.default_rng(1).random(1_000), "many").words[0]
    private = auto(X, PLAIN, Fraction(1))
    assert private.choice is not None
    assert "was not needed" in density(private, np.random.default_rng(1).random(1_000_000), "private").words[0]


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_choice_comes_near_the_records(kind: Kind) -> None:
    """2,000 rows of Beta(4, 4): the mean within .05; the plan says what to expect."""
    made = auto(X, terms(kind, 2_000 if kind == "substitute" else None), Fraction(1))
    cells = made.axes[0].cells
    cell = np.floor(np.random.default_rng(7).beta(4, 4, 2_000) * cells).astype(np.int64)
    counts = np.bincount(cell, minlength=cells).astype(np.int64)
    outcome = bar_smoothing.drawn(
        made.paid(made.pair(2_000)[0]), counts, Replayed(kind), bar_smoothing.NoisySize(2_000.0, 0.0)
    )
    assert isinstance(outcome, Reply)
    np.testing.assert_allclose(outcome.value.mean(), 0.5, atol=0.05)
    told = made.expected(2_000)
    assert told.noise is not None
    assert told.sampling is not None
    assert 0.0 < told.sampling < told.noise * 10 < 40.0


def test_what_was_chosen_is_written_and_read_and_has_margins_with_intervals() -> None:
    """Two columns, 2,000 rows in one corner: JSON gives all back; a margin's interval is no wider than the whole's."""
    release = bars(grid(columns(2), 48), 12, PLAIN)
    counts = np.zeros(48 * 48, np.int64)
    counts[: 48 * 12] = 3
    outcome = bar_smoothing.drawn(release, counts, Replayed("margin"), bar_smoothing.NoisySize(2_000.0, 28.0))
    assert isinstance(outcome, Reply)
    found = outcome.value
    assert found.grain is not None
    assert from_json(found.to_json()) == found
    whole, margin = found.probability([0.0, 0.0], [0.25, 1.0]), found.marginal("x0").probability(0.0, 0.25)
    assert margin.value == pytest.approx(whole.value, abs=1e-9)
    assert margin.noise == pytest.approx(whole.noise, rel=1e-6)
    with pytest.raises(PublicParameterError, match="masses have shape"):
        replace(found, grain=np.ones(3))


def test_bars_of_auto_have_intervals_as_narrow_as_those_of_the_same_histogram() -> None:
    """Noise half-widths of probabilities, 1,000 rows, against a histogram of as many bars for what auto has left."""
    values = np.random.default_rng(3).beta(2, 3, 1_000)
    made = auto(X, terms("substitute", 1_000), Fraction(1))
    found = density(made, values, "narrow")
    count = int(found.words[0].split()[0])
    plan = plan_for(
        Options("histogram", cells=count), [X], terms("substitute", 1_000), made.left, Fraction(0), records=1_000
    )
    (query,) = plan.queries
    read = np.floor(values / float(query.units[0])).astype(np.int64)  # type: ignore[union-attr]  # a histogram's query
    outcome = plan.draw([QueryResult(records=read.reshape(-1, 1))], Replayed("histogram"))
    assert isinstance(outcome, Reply)
    for low, high in ((0.25, 0.5), (0.0, 0.75), (0.125, 0.25)):
        there, here = outcome.value.probability(low, high), found.probability(low, high)
        assert here.noise <= 1.02 * there.noise
        assert found.wander is not None
        assert here.noise < found.wander


@pytest.mark.parametrize(("count", "cells"), [(1, "auto"), (2, "auto"), (1, None)])
def test_bounds_of_one_shape_share_the_matrices_of_a_choice(count: int, cells: Literal["auto"] | None) -> None:
    """A release whose bounds are chosen privately prepares a density at each of about 90; each had matrices anew."""
    ends = [Fraction("1.25"), Fraction("6.4"), Fraction(10**9)]
    kept = parameter_selection._ladder if cells else method_selection._candidates
    kept.cache_clear()
    choices = set()
    for high in ends:
        of = [(f"x{k}", Fraction(0) if k else -high, high, False) for k in range(count)]
        made = (
            parameter_selection.tuned("histogram", of, PLAIN, Fraction(1), Fraction(0), "simplex")
            if cells
            else auto(of[0], PLAIN, Fraction(1))
        )
        assert made.choice is not None
        choices.add(made.choice)
        listed = made.ladder.candidates if isinstance(made, TunedDensity) else made.candidates
        assert {one.release.axes for one in listed} == {made.axes}
        assert (made.axes[0].low, made.axes[0].high) == (float(-high), float(high))
    assert kept.cache_info().misses == 1
    assert len(choices) == 1


@pytest.mark.parametrize("whole", [False, True])
def test_shapes_forget_names_and_bounds_and_keep_the_shares_of_cells(*, whole: bool) -> None:
    """Cells of whole numbers differ in size, so that their shape is that of few other bounds."""
    (one,) = grid([("x", Fraction(-7), Fraction(1_500), whole)], 1_024)
    (shape,) = shapes([one])
    assert (shape.column, shape.low, shape.high, shape.cells) == ("", 0.0, 1.0, one.cells)
    assert shares_of([shape]) == pytest.approx(shares_of([one]), rel=1e-12)
    other = grid([("y", Fraction(0), Fraction(3_000), whole)], 1_024)
    assert (shapes(other) == (shape,)) is not whole


@pytest.mark.wide
def test_cells_of_one_column_are_not_told_of_each_column() -> None:
    rows = {name: np.random.default_rng(5).uniform(0, 1, 3_000) for name in ("x", "y")}
    kinds = {name: rt.real(0, 1, complete=True) for name in rows}
    study = rt.study(rows, adjacency="add_remove", columns=kinds, budget=9)
    asked = [rt.density("x", method="histogram"), rt.density("x", method="histogram", detail=rt.Detail(cells="auto"))]
    for answer in study.release([rt.density("x"), *asked], epsilon=3).answers:
        assert "each column" not in f"{answer.caveats} {answer.density}"
    one, two = (bars(shapes(grid(columns(count), 64, {})), 8, PLAIN) for count in (1, 2))
    assert (one.method, two.method) == ("histogram of 8 bars", "histogram of 8 bars along each column")
