"""A declared resolution: made-up values are its multiples, and a density is their law."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.data.template import skeleton
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis, axis, declared, even, with_atoms
from reticent.synthesis.axis import from_json as axis_of
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.record_sampling import sampled
from reticent.synthesis.search import step_of
from tests.support.cli_kit import clinic, run

PAID = Geometric(L1(Fraction(2), Adjacency("substitute")), Fraction(1)).guarantee
HALF = Fraction(1, 2)
ENDS = [("0", "10", "0.5"), ("-1.3", "7.7", "0.1"), ("0.2", "9.9", "3"), ("0", "10000", "50")]
DRAWN = 40_000


def multiples(low: Fraction, high: Fraction, step: Fraction) -> list[float]:
    first, last = -(-low // step), high // step
    return [float(place * step) for place in range(int(first), int(last) + 1)]


def density(one: Axis, atoms: tuple[tuple[float, float], ...] = ()) -> Density:
    masses = np.arange(1.0, one.cells + 1.0)
    masses *= (1.0 - sum(mass for _, mass in atoms)) / masses.sum()
    return Density((one,), masses, "made up", PAID, 400, atoms=atoms)


@pytest.mark.parametrize("cells", [1, 7, 64])
@pytest.mark.parametrize("ends", ENDS)
def test_cells_end_halfway_between_two_multiples(ends: tuple[str, str, str], cells: int) -> None:
    low, high, step = map(Fraction, ends)
    one = even("x", low, high, cells, resolution=step)
    assert (one.edges[0], one.edges[-1]) == (low, high)
    assert all((edge / step - HALF).denominator == 1 for edge in one.edges[1:-1])
    values = multiples(low, high, step)
    held = Counter(one.cell(values).tolist())
    assert len(held) == one.cells == min(cells, len(values))
    assert max(held.values()) - min(held.values()) <= 1


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ends", ENDS)
def test_rows_are_multiples_and_the_density_is_their_law(ends: tuple[str, str, str], aligned: bool) -> None:
    low, high, step = map(Fraction, ends)
    one = even("x", low, high, 7, resolution=step if aligned else None)
    found = density(one, ((float(low), 0.125), (float(high), 0.25))).declared({"x": step})
    rows = sampled(found, DRAWN, Replayed("rows of a resolution"))
    values = multiples(low, high, step)
    assert {*rows.tolist()} <= {*values}
    tolerance = 5 * 0.5 / DRAWN**0.5  # five deviations of a share
    shares = np.searchsorted(np.sort(rows), values, side="right") / DRAWN
    assert found.cdf(values) == pytest.approx(shares, abs=tolerance)
    assert found.cdf([values[-1]])[0] == pytest.approx(1.0)
    for value in values[:20]:
        assert found.probability(value, value).value == pytest.approx(float(np.mean(rows == value)), abs=tolerance)
    between = float(low + 2 * step / 3)
    inside = [value for value in values if value <= between]
    assert found.cdf([between])[0] == pytest.approx(found.cdf([inside[-1]])[0] if inside else 0.0, abs=1e-12)
    assert float(found.mean()[0]) == pytest.approx(rows.mean(), abs=5 * float(rows.std()) / DRAWN**0.5)
    for level in (0.0, 0.1, 0.5, 0.77, 1.0):
        (at,) = found.quantile([level]).tolist()
        assert at in values
        assert found.cdf([at])[0] >= level - 1e-12
        assert at == values[0] or found.cdf([at - float(step)])[0] <= level + 1e-12


def test_atoms_of_several_columns_are_multiples_too() -> None:
    one = with_atoms(even("x", Fraction(0), Fraction("10.2"), 8), [Fraction(0), Fraction("10.2")])
    other = axis("k", [0, 2, 5], whole=True)
    masses = np.full((one.cells, 2), 1.0)
    plane = Density((one, other), masses / masses.sum(), "made up", PAID, 400).declared({"x": HALF})
    rows = sampled(plane, DRAWN, Replayed("rows of two columns"))
    assert np.all(rows[:, 0] % 0.5 == 0.0)
    assert rows[:, 0].max() == 10.0
    share = float(np.mean(rows[:, 0] == 10.0))
    assert plane.probability((10, 0), (10, 4)).value == pytest.approx(share, abs=2.5 / DRAWN**0.5)


def test_a_resolution_is_written_down_and_read_again() -> None:
    one = even("x", Fraction(0), Fraction(10), 7, resolution=Fraction("0.1"))
    assert axis_of(json.loads(json.dumps(one.to_json()))) == one
    found = density(one)
    assert from_json(found.to_json()) == found
    assert found.marginal("x").axes == found.axes


def test_a_resolution_without_a_multiple_within_the_bounds_says_nothing() -> None:
    one = even("x", Fraction(1), Fraction(4), 3)
    assert even("x", Fraction(1), Fraction(4), 3, resolution=Fraction(10)) == one
    assert declared([one], {"x": Fraction(10)}) == (one,)
    with pytest.raises(PublicParameterError, match="a resolution is above 0"):
        Axis("x", one.edges, resolution=Fraction(10))


def test_a_search_lists_the_multiples_of_a_resolution() -> None:
    one = even("x", Fraction(0), Fraction(10_000), 1, resolution=Fraction(50))
    assert step_of(one) == 50
    assert step_of(even("x", Fraction(0), Fraction(100_000), 1, resolution=Fraction(50))) == 250
    assert step_of(even("x", Fraction(0), Fraction(10_000), 1)) == 20


@pytest.mark.parametrize("names", [["wage"], ["wage", "age"]])
def test_rows_of_wages_in_steps_of_fifty_keep_their_values(names: list[str]) -> None:
    generator = np.random.default_rng(5)
    wage = np.round(np.exp(generator.normal(7.6, 0.5, 20_000)) / 50) * 50
    age = np.clip(np.round(40 + wage / 200 + generator.normal(0, 5, 20_000)), 18, 90)
    columns: dict[str, Column] = {"wage": rt.real(0, 10_000, resolution=50), "age": rt.integer(0, 120)}
    study = rt.study({"wage": wage, "age": age}, adjacency="add_remove", columns=columns, budget=20, override="a test")
    made = study.synthesize(names, epsilon=10)
    rows = np.array(made.frame().column("wage"))  # type: ignore[attr-defined]  # a pyarrow Table
    assert np.all(rows % 50 == 0)
    values, counts = np.unique(wage, return_counts=True)
    shares = np.array([np.mean(rows == value) for value in values.tolist()])
    assert float(np.abs(shares - counts / len(wage)).sum()) / 2 < 0.1
    assert [text for text in made.good_for() if text.startswith("wage of every row is a multiple of 50")]
    assert not [text for text in made.good_for() if "need not be round" in text]


def test_a_column_without_a_resolution_is_said_to_lose_its_round_values() -> None:
    study = rt.study(
        {"x": np.arange(4_000) % 90},
        adjacency="add_remove",
        columns={"x": rt.real(0, 100)},
        budget=1,
        override="a test",
    )
    assert [text for text in study.synthesize("x", epsilon=1).good_for() if text.startswith("x of a row need not be")]


@pytest.mark.wide
def test_plan_check_and_init_name_a_column_whose_made_up_values_are_not_round(tmp_path: Path) -> None:
    """And none that declares its resolution."""
    study = clinic(tmp_path)
    text = study.read_text("utf-8").replace('kind = "real"', 'kind = "real"\nlow = 0\nhigh = 90')
    text += '\n[[release]]\nname = "rows"\nepsilon = "1"\nask = ["density(cost, age)"]\n'
    study.write_text(text, "utf-8")
    plan = ("plan", str(study), "--release", "rows", "--people", "4000")
    assert "Made-up values of cost are not round" in run("check", str(study)).said
    assert "made-up values of cost are not round: declare a resolution" in run(*plan).said
    study.write_text(text.replace("high = 90", 'high = 90\nresolution = "0.5"'), "utf-8")
    assert "not round" not in run("check", str(study)).said
    assert "not round" not in run(*plan).said
    assert "# resolution = " in skeleton(Path(rt.__file__).parent / "demo" / "randhie.parquet")
