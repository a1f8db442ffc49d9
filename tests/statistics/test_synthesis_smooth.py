"""Series, kernel and Bernstein releases as densities: bands that cover, rates, odd tables, and what they never read."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records, Tally
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, integer, real
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.mechanisms.gate import Recorder
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.histogram import unit_of
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.linear import LinearDensity, counted, settled, shares_of
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.series import Series, grid

ONE = Fraction(1)
TINY = Fraction(1, 10**6)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")
CELLS = 128
LINE = grid([("x", Fraction(0), ONE, False)], cells=CELLS)
WHOLE = grid([("k", Fraction(0), Fraction(9), True)])
PLANE = grid([("x", Fraction(-1), ONE, False), ("k", Fraction(0), Fraction(9), True)], cells=16)
Plan = Series | Kernel | Bernstein
Make = Callable[[DensityTerms], Plan]

MAKERS: dict[str, Make] = {
    "series": lambda terms: Series(LINE, terms, ONE, 8),
    "gaussian series": lambda terms: Series(LINE, terms, ONE, 8, TINY),
    "kernel": lambda terms: Kernel(LINE, terms, ONE, Fraction(8, 100), TINY),
    "bernstein": lambda terms: Bernstein(LINE, terms, ONE, 12, Fraction(8, 100)),
}
CIRCUMSTANCES = {"substitute": lambda n: DensityTerms(SUB, n, fixed=True), "add_remove": lambda n: DensityTerms(ADD)}


def quietly(plan: LinearDensity, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The density without noise and without projection."""
    n = counts.sum()
    return np.asarray(plan.back @ (counts @ plan.sums.table) / n + (1.0 if plan.base else 0.0))


def table(n: int, key: int = 0) -> NDArray[np.int64]:
    sample = np.random.default_rng(key).beta(3, 4, n)
    return np.histogram(sample, CELLS, (0, 1))[0].astype(np.int64)


def drawn(plan: LinearDensity, counts: NDArray[np.int64], entropy: Replayed) -> Density:
    found = plan.release(counts, entropy)
    assert isinstance(found, Reply)
    return found.value


# --- bands ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CIRCUMSTANCES)
@pytest.mark.parametrize("name", MAKERS)
def test_bands_hold_the_noise_at_a_point_and_the_wander_holds_all_of_it(name: str, kind: str) -> None:
    """150 releases far from the edge of the simplex: .93 of points, and .95 of releases by a binomial test at 1e-3.

    A band of .8 its size is refuted, and one of 1.5 its size is too wide: more than 98 % of points.
    """
    n = 40_000
    counts = np.full(CELLS, n // CELLS, np.int64)
    plan = MAKERS[name](CIRCUMSTANCES[kind](int(counts.sum()))).plan
    exactly, entropy = quietly(plan, counts), Replayed(f"{name} {kind}")
    exactly = exactly / exactly.mean()
    inside, narrow, wide, together, halved = [], [], [], 0, 0
    for _ in range(150):
        found = drawn(plan, counts, entropy)
        assert found.band is not None
        assert found.wander is not None
        off = np.abs(found.masses - exactly / CELLS)
        inside.append((off <= found.band).mean())
        narrow.append((off <= 0.8 * found.band).mean())
        wide.append((off <= 1.5 * found.band).mean())
        most = np.abs(np.cumsum(found.masses - exactly / CELLS)).max()
        together, halved = together + (most <= found.wander), halved + (most <= 0.5 * found.wander)
    assert np.mean(inside) > 0.93
    assert np.mean(narrow) < 0.93
    assert np.mean(wide) > 0.98
    assert scipy.stats.binom.cdf(together, 150, 0.95) > 1e-3
    assert scipy.stats.binom.cdf(halved, 150, 0.95) < 1e-3


@pytest.mark.parametrize("name", MAKERS)
def test_the_noise_is_what_the_plan_foretold(name: str) -> None:
    """Mean square over 200 releases within 15 % of theory; noise at .8 or 1.25 would be off by 36 % or more."""
    counts = np.full(CELLS, 300, np.int64)
    n = int(counts.sum())
    made = MAKERS[name](DensityTerms(SUB, n, fixed=True))
    plan, entropy = made.plan, Replayed(f"foretold {name}")
    exactly = quietly(plan, counts)
    squares = []
    for _ in range(200):
        noisy = plan.sums.draw(counts, entropy)
        squares.append(float(np.mean((plan.back @ noisy / n + (1.0 if plan.base else 0.0) - exactly) ** 2)))
    foretold = float(np.mean(np.sum(plan.back**2, axis=1))) * (plan.sums.deviation / n) ** 2
    assert 1.95 < made.expected(n).noise / math.sqrt(foretold) < 2.12  # half-width at 95 % over deviation
    assert abs(np.mean(squares) / foretold - 1.0) < 0.15
    for factor in (0.8, 1.25):
        assert abs(factor**2 * np.mean(squares) / foretold - 1.0) > 0.15


# --- accuracy ---------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("name", ["series", "kernel"])
def test_privacy_costs_little_from_ten_thousand_records_on(name: str) -> None:
    truth = scipy.stats.beta(3, 4).pdf((np.arange(CELLS) + 0.5) / CELLS)
    ratios = []
    for n, degree, h in ((1_000, 8, 63), (20_000, 14, 35)):
        terms = DensityTerms(SUB, n, fixed=True)
        made: Plan = Series(LINE, terms, ONE, degree)
        if name == "kernel":
            made = Kernel(LINE, terms, ONE, Fraction(h, 1000), TINY)
        private, plain = [], []
        for run in range(30):
            counts = table(n, run)
            private.append(np.mean((drawn(made.plan, counts, Replayed(f"{n} {run}")).masses * CELLS - truth) ** 2))
            plain.append(np.mean((quietly(made.plan, counts) - truth) ** 2))
        ratios.append(np.mean(private) / np.mean(plain))
    assert ratios[1] < 1.6
    assert ratios[1] < ratios[0] + 0.1


@pytest.mark.wide
def test_the_projection_is_the_nearest_density_and_clipping_is_not() -> None:
    heights, shares = np.array([3.0, 1.0, -0.5, 0.2]), np.array([0.2, 0.3, 0.4, 0.1])
    near, clip = settled(heights, shares, "simplex"), settled(heights, shares, "clip")
    for found in (near, clip):
        assert found.min() >= 0
        assert shares @ found == pytest.approx(1)
    generator = np.random.default_rng(1)
    distance = float(shares @ (near - heights) ** 2)
    assert distance < float(shares @ (clip - heights) ** 2)
    for _ in range(500):
        other = generator.dirichlet(np.full(4, 0.6)) / shares
        assert float(shares @ (other - heights) ** 2) >= distance - 1e-12
    nothing = np.array([-1.0, -2.0, -1.0, -3.0])
    assert settled(nothing, shares, "clip") == pytest.approx(np.ones(4))  # 002 divides 0 by 0 here
    assert shares @ settled(nothing, shares, "simplex") == pytest.approx(1)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("name", MAKERS)
def test_odd_tables_are_answered(name: str) -> None:
    none = np.zeros(CELLS, np.int64)
    hidden = MAKERS[name](DensityTerms(ADD)).plan
    replies = [hidden.release(none, Replayed(f"none {run}")) for run in range(60)]
    assert sum(found == NO_REPLY for found in replies) > 54
    public = MAKERS[name](DensityTerms(SUB, 500)).plan
    for counts in (none, np.bincount([CELLS - 1] * 500, minlength=CELLS), np.bincount([3] * 500, minlength=CELLS)):
        found = drawn(public, counts, Replayed("odd"))
        assert found.masses.sum() == pytest.approx(1)
        assert from_json(found.to_json()) == found
        assert len(found.sample(20)) == 20


@pytest.mark.wide
def test_what_is_asked_and_promised_does_not_depend_on_the_rows() -> None:
    for name in MAKERS:
        for make in (DensityTerms(ADD), DensityTerms(SUB, 100, fixed=True)):
            made = MAKERS[name](make)
            assert made.queries == (Tally("x", LINE[0].edges),)
            before = made.guarantee
            found = made.draw([QueryResult(vectors=(tuple(table(100).tolist()),))], Replayed(1))
            assert found == NO_REPLY or (isinstance(found, Reply) and found.value.guarantee == before)


@pytest.mark.wide
def test_all_the_rows_can_do_passes_the_gate_once() -> None:
    for name, make in MAKERS.items():
        made = make(DensityTerms(ADD))
        recorder = Recorder(lambda mechanism, exact, start: tuple(exact), Replayed(1))  # type: ignore[arg-type]
        counts = table(2_000)
        made.draw([QueryResult(vectors=(tuple(counts.tolist()),))], recorder)
        assert [call.mechanism for call in recorder.calls] == [made.plan.sums.mechanism], name
        assert recorder.tossed == []


@pytest.mark.wide
def test_records_of_several_columns_are_counted_in_their_cells() -> None:
    made = Series(PLANE, DensityTerms(ADD), ONE, 3)
    (query,) = made.queries
    assert query == Records(("x", "k"), (unit_of(PLANE[0]), Fraction(1)))
    step = int(1 / unit_of(PLANE[0]))
    rows = np.array([[-step, 0], [-5 * step, 3], [step, 9], [7 * step, 99], [0, 4], [ABSENT, 0]], np.int64)
    counts = counted(PLANE, rows).reshape(16, 10)
    assert counts.sum() == 5
    assert [counts[0, 0], counts[0, 3], counts[15, 9], counts[8, 4]] == [1, 1, 2, 1]
    many = np.repeat(rows[:5], 400, axis=0)
    found = made.draw([QueryResult(records=many)], Replayed("plane"))
    assert isinstance(found, Reply)
    assert found.value.masses.shape == (16, 10)
    assert abs(found.value.n - 2_000) < 200
    assert shares_of(PLANE).sum() == pytest.approx(1)
    assert found.value.marginal("k").masses.sum() == pytest.approx(1)


@pytest.mark.wide
def test_an_engine_counts_the_same_cells_as_numpy() -> None:
    """Values beyond the bounds lie in the end cells, rows that lack a value in none, and so do NaN and text."""
    generator = np.random.default_rng(3)
    x, k = generator.normal(0.0, 0.7, 500), generator.integers(-2, 12, 500)
    texts = [str(value) for value in x]
    texts[:4] = ["", "nan", "seven", "1e400"]  # the last is beyond the bounds, like any infinity
    schema = Schema({"x": real(-1, 1), "k": integer(0, 9)}, Person("add_remove"))
    source = {"x": texts, "k": [str(value) for value in k]}
    plane = Series(PLANE, DensityTerms(ADD), ONE, 3)
    line = Series(PLANE[:1], DensityTerms(ADD), ONE, 3)
    there, x[3] = np.arange(500) >= 3, np.inf
    first = np.clip(np.floor((x + 1.0) * 8), 0, 15).astype(np.int64)
    both = first[there] * 10 + np.clip(k, 0, 9)[there]
    found = []
    opened = open_table(source, schema)
    for made in (line, plane):
        seen = Recorder(lambda mechanism, exact, start: tuple(exact), Replayed(1))  # type: ignore[arg-type]
        made.draw(opened.run(made.queries, bytes(32)), seen)
        found.append(seen.calls[0].exact)
    opened.close()
    counts = np.bincount(both, minlength=160)
    assert found[1] == tuple((counts @ plane.plan.sums.table).tolist())
    assert found[0] == tuple((counts.reshape(16, 10).sum(axis=1) @ line.plan.sums.table).tolist())


@pytest.mark.wide
def test_a_column_of_whole_numbers_has_a_cell_for_each() -> None:
    counts = np.array([0, 0, 30, 400, 1000, 400, 30, 0, 0, 0])
    for made in (
        Series(WHOLE, DensityTerms(SUB, 1_860, fixed=True), Fraction(4), 6),
        Kernel(WHOLE, DensityTerms(SUB, 1_860, fixed=True), Fraction(4), Fraction(15, 100), TINY),
        Bernstein(WHOLE, DensityTerms(SUB, 1_860, fixed=True), Fraction(4), 9, Fraction(1, 10)),
    ):
        found = drawn(made.plan, counts, Replayed("whole"))
        assert found.axes[0].cells == 10
        assert int(np.argmax(found.masses)) == 4
        assert found.cdf([9.0])[0] == pytest.approx(1)


@pytest.mark.wide
def test_noise_that_hides_every_shape_is_said_before_anything_is_spent() -> None:
    weak = Series(LINE, DensityTerms(SUB, 100, fixed=True), Fraction(1, 100), 8)
    assert "expect the uniform" in weak.expected(100).note
    assert Series(LINE, DensityTerms(ADD), ONE, 8).expected(10_000).note == ""
    wide, narrow = (Series(LINE, DensityTerms(ADD), ONE, 8).expected(n) for n in (1_000, 100_000))
    assert wide.noise == pytest.approx(100 * narrow.noise)
    assert wide.sampling == pytest.approx(10 * narrow.sampling)
    assert math.isfinite(wide.noise)
