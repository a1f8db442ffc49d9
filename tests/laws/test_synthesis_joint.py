"""Joint counts in cells that released columns name: what one person moves in every call, and what it costs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.synthesis import joint_grid
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.histogram import unit_of
from reticent.synthesis.joint_grid import ALONE, JointCells, JointDensity, cut, joint, of, trimmed
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.record_sampling import sampled

Row = tuple[float, ...]  # NaN where missing
NAN: Final = float("nan")
TWO: Final = (("x", Fraction(0), Fraction(2), False), ("k", Fraction(0), Fraction(200), True))
ROW: Final = Adjacency("add_remove")


def answered(plan: JointDensity, rows: Sequence[Row]) -> list[QueryResult]:
    """What a table of these rows says."""
    table = np.array(rows, np.float64)
    held = ~np.isnan(table).any(axis=1)
    (query,) = plan.queries
    assert isinstance(query, Records)
    read = np.zeros(table.shape, np.int64)
    read[held] = np.floor(table[held] / [float(unit) for unit in query.units])
    read[~held, 0] = ABSENT
    return [QueryResult(records=read)]


def asked(plan: JointDensity, rows: Sequence[Row], before: Sequence[gate.Call] = ()) -> list[gate.Call]:
    """All that the plan asks of a table, where the noise is 0, or where all came out as before."""
    outputs = iter([call.output for call in before])

    def still(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if before:
            return next(outputs)
        return exact if isinstance(mechanism, Geometric) else 0

    recorder = gate.Recorder(still, Replayed("still"))
    plan.draw(answered(plan, rows), recorder)
    return recorder.calls


def moves(plan: JointDensity, kind: Kind, most: int) -> tuple[int, int]:
    """The farthest that one person moves the joint counts, and what is declared; every other call by its own bound."""
    values: list[Row] = [(0.0, 0.0), (0.0, 31.0), (0.7, 200.0), (1.3, 12.0), (2.0, 40.0), (NAN, 3.0)]
    others = [values[0], values[2], values[3], values[4]] * 6
    persons = [list(rows) for count in range(1, most + 1) for rows in product(values, repeat=count)]
    worst = declared = 0
    known = [asked(plan, [*others, *here]) for here in persons]
    for mine, there in product(known, [[]] if kind == "add_remove" else persons):
        for call, other in zip(mine, asked(plan, [*others, *there], mine), strict=True):
            assert call.mechanism == other.mechanism
            if isinstance(call.mechanism, Geometric):
                apart = int(np.abs(np.asarray(call.exact, np.int64) - np.asarray(other.exact, np.int64)).sum())
                assert apart <= call.mechanism.sensitivity.bound
                if call is mine[-1]:
                    worst, declared = max(worst, apart), int(call.mechanism.sensitivity.bound)
    return worst, declared


@pytest.mark.loop(2)
@pytest.mark.parametrize(("kind", "rows"), [("add_remove", 1), ("substitute", 1), ("add_remove", 2)])
@pytest.mark.parametrize("missing", [False, True])
def test_one_person_is_in_one_joint_count_wherever_the_cells_are(kind: Kind, rows: int, *, missing: bool) -> None:
    """All persons: at atoms, between them, without a value. The declared change is attained."""
    plan = joint(TWO, DensityTerms(Adjacency(kind, rows=rows), rows=rows), Fraction(4), missing=missing)
    worst, declared = moves(plan, kind, rows)
    assert worst == declared == rows * (2 if kind == "substitute" else 1)


def test_a_record_counted_in_two_cells_moves_more_than_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = joint(TWO, DensityTerms(ROW), Fraction(4))
    right = joint_grid.joint_counts

    def twice(cells: Sequence[JointCells], records: NDArray[np.int64]) -> NDArray[np.int64]:
        found = right(cells, records)
        found[0] += found.sum()
        return found

    monkeypatch.setattr(joint_grid, "joint_counts", twice)
    with pytest.raises(AssertionError):
        moves(plan, "add_remove", 1)


@pytest.mark.loop(6)
@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("seek", [False, True])
def test_columns_and_counts_cost_epsilon_together(columns: int, kind: Kind, *, seek: bool) -> None:
    listed = [(name, Fraction(0), Fraction(9), False) for name in "abcd"[:columns]]
    plan = joint(listed, DensityTerms(Adjacency(kind)), Fraction(3), seek=seek)
    assert plan.guarantee.loss == PureDP(Fraction(3))
    assert plan.counter.epsilon == 3 * (1 - ALONE)
    assert {one.guarantee.loss for one in plan.margins} == {PureDP(3 * ALONE / columns)}


@pytest.mark.parametrize("columns", [1, 5])
def test_of_one_column_or_five_there_is_no_joint_grid(columns: int) -> None:
    listed = [(name, Fraction(0), Fraction(9), False) for name in "abcde"[:columns]]
    with pytest.raises(PublicParameterError, match="1 to 4 columns"):
        joint(listed, DensityTerms(ROW), Fraction(1))


# --- cells ------------------------------------------------------------------------------------------------------------


def found(rows: NDArray[np.float64], epsilon: str = "2", columns: Sequence[tuple[str, int, int, bool]] = ()) -> Density:
    listed = [(name, Fraction(low), Fraction(high), whole) for name, low, high, whole in columns]
    plan = joint(listed, DensityTerms(ROW), Fraction(epsilon))
    outcome = plan.draw(answered(plan, [tuple(row) for row in rows.tolist()]), Replayed(f"joint {epsilon}"))
    assert isinstance(outcome, Reply)
    return outcome.value


@cache
def usual() -> Density:
    return found(pair(4_000), columns=COLUMNS)


def pair(n: int, correlation: float = 0.9) -> NDArray[np.float64]:
    rng = np.random.default_rng(12)
    normal = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n)
    zero = rng.random(n) < 0.3
    return np.stack([np.where(zero, 0.0, np.exp(normal[:, 0])), np.floor(20 * np.exp(0.5 * normal[:, 1]))], axis=1)


COLUMNS: Final = [("cost", 0, 100, False), ("days", 0, 400, True)]


def test_cells_are_a_partition_in_which_each_record_is_where_its_value_is() -> None:
    rows = pair(4_000)
    density = found(rows, columns=COLUMNS)
    assert density.boxes is not None
    inside = np.zeros(len(rows), np.int64)
    for low, high in zip(density.boxes[:, :, 0], density.boxes[:, :, 1], strict=True):
        cells = np.stack([one.cell(rows[:, place]) for place, one in enumerate(density.axes)], axis=1)
        inside += ((cells >= low) & (cells < high)).all(axis=1)
    assert (inside == 1).all()
    for place, (one, margin) in enumerate(zip(density.axes, density.margins, strict=True)):
        made = cut(of(margin), 8)
        unit = 1.0 if one.whole else float(unit_of(one))
        read = np.floor(rows[:, place] / unit).astype(np.int64)
        fine = np.searchsorted(made.starts, made.axis.cell(rows[:, place]), side="right") - 1
        assert (made.places(read) == fine).all()
        assert made.count in range(5, 13)
    assert 0.0 in [float(atom) for atom in density.axes[0].atoms]


@pytest.mark.wide
def test_a_weighted_axis_has_the_law_of_its_column_inside_a_cell() -> None:
    density = usual()
    for one in density.axes:
        assert one.weights
        points = np.unique(np.concatenate([one.cuts[:-1], np.linspace(one.low, one.high, 50)]))
        points = np.floor(points) if one.whole else points
        assert np.all(np.diff(one.upto(points)) >= 0.0)
        assert one.upto(one.high) == pytest.approx(one.steps[-1])
        assert one.under(one.low) == 0.0
        assert (one.upto(points) >= one.under(points)).all()
    whole = density.probability([0, 0], [100, 400])
    assert whole.value == pytest.approx(1.0)
    grid = np.stack(
        np.meshgrid(np.linspace(0.05, 99.95, 1000), np.arange(0.0, 401.0, 4.0), indexing="ij"), axis=2
    ).reshape(-1, 2)
    mass = density.pdf(grid).sum() * 0.1 * 4.0
    zeros = float(density.margins[0].probability(0, 0).value)
    assert mass == pytest.approx(1.0 - zeros, abs=0.1)
    again = from_json(density.to_json())
    assert again == density
    assert again.axes == density.axes
    for wrong in ((), (1.0,), (0.0,) * density.axes[0].cells, (float("nan"),) * density.axes[0].cells):
        if wrong:
            with pytest.raises(PublicParameterError, match="weights"):
                replace(density.axes[0], weights=wrong)


def test_rows_lie_where_the_density_says() -> None:
    density = usual()
    rows = sampled(density, 20_000, Replayed("rows"))
    for low, high in (([0, 0], [0, 20]), ([0.5, 10], [2, 40]), ([0, 0], [100, 15])):
        told = density.probability(low, high).value
        share = float(((rows >= low) & (rows <= high)).all(axis=1).mean())
        assert share == pytest.approx(told, abs=0.02)
        assert told == pytest.approx(float(density.cdf([high])[0]), abs=1e-9) or low != [0, 0]
    assert (rows[:, 1] == np.floor(rows[:, 1])).all()


def test_tails_that_noise_may_have_made_fall_off_and_atoms_stay() -> None:
    density = found(pair(2_000), epsilon="1", columns=COLUMNS)
    cost, days = density.margins
    assert cost.quantile(1.0) > 60
    for margin in (cost, days):
        kept = trimmed(margin)
        assert kept.sum() == pytest.approx(margin.masses.sum())
        end = kept[-len(kept) // 4 :]
        assert end.sum() < 0.001
        assert (np.diff(end) <= 0.0).all()
        middle = margin.axes[0].cell(margin.quantile([0.4, 0.5, 0.6]))
        assert (kept[middle] == margin.masses[middle]).all()
    rows = sampled(density, 4_000, Replayed("tails"))
    assert rows[:, 0].max() < 60 < float(cost.quantile(1.0))
    assert (rows[:, 0] == 0.0).mean() == pytest.approx(0.3, abs=0.06)


@pytest.mark.wide
def test_a_value_of_many_records_has_a_cell_of_its_own() -> None:
    axis = of(usual().margins[0])
    made = cut(axis, 10)
    zero = int(axis.lone[axis.atoms.index(Fraction(0))])
    assert {zero, zero + 1} <= {*made.starts}
