"""The result type of a whole-data-set release: what is computed from masses on a grid."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.entropy import Replayed
from reticent.errors import CheckError, PublicParameterError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis, axis, even, with_atoms
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.drawing import SHADES, TILES, tiles
from reticent.synthesis.record_sampling import sampled

PAID = Geometric(L1(Fraction(2), Adjacency("substitute")), Fraction(1)).guarantee
X = axis("x", [0, 1, 3, 4])
K = axis("k", [0, 2, 5], whole=True)


def of(*axes: Axis, masses: object, **more: object) -> Density:
    return Density(axes, np.array(masses, np.float64), "made up", PAID, 400, **more)  # type: ignore[arg-type]


PLAIN = of(X, masses=[0.5, 0.2, 0.3])
WHOLE = of(K, masses=[0.5, 0.5])
PLANE = of(X, K, masses=[[0.1, 0.2], [0.3, 0.0], [0.15, 0.25]])
ATOMS = of(X, masses=[0.2, 0.2, 0.2], atoms=((0.0, 0.25), (2.0, 0.15)))
BOXES = of(X, K, masses=[0.25, 0.75], boxes=np.array([[[0, 1], [0, 2]], [[1, 3], [1, 2]]]))
ALONE = with_atoms(X, [Fraction(0), Fraction(2), Fraction(4)])  # cells of no width to speak of
SINGLE = of(ALONE, K, masses=[[0.1, 0.1], [0.1, 0.0], [0.05, 0.05], [0.2, 0.1], [0.0, 0.1], [0.1, 0.05], [0.0, 0.05]])
ALL = [PLAIN, WHOLE, PLANE, ATOMS, BOXES, SINGLE]


def test_an_atom_of_an_axis_is_one_value_with_all_of_its_cell() -> None:
    assert ALONE.cells == 7
    assert ALONE.lone.tolist() == [0, 3, 6]
    margin = SINGLE.marginal("x")
    assert [value for value, _ in margin.atoms] == [0.0, 2.0, 4.0]
    assert [mass for _, mass in margin.atoms] == pytest.approx([0.2, 0.3, 0.05])
    for value, mass in margin.atoms:
        assert SINGLE.probability((value, 0), (value, 4)).value == pytest.approx(mass)
        up_to, before = SINGLE.cdf([[value, 4.0], [np.nextafter(value, -1.0), 4.0]])
        assert up_to - before == pytest.approx(mass)
        assert margin.cdf([value])[0] - margin.cdf([np.nextafter(value, -1.0)])[0] == pytest.approx(mass)
    assert SINGLE.probability((0, 0), (4, 4)).value == pytest.approx(1.0)
    assert SINGLE.pdf([[2.0, 1.0], [0.0, 3.0]]).tolist() == [0.0, 0.0]
    drawn = sampled(SINGLE, 40_000, Replayed("single"))
    for value, mass in margin.atoms:  # five deviations
        assert float(np.mean(drawn[:, 0] == value)) == pytest.approx(mass, abs=5 * (mass / 40_000) ** 0.5)


@pytest.mark.parametrize("density", [PLANE, BOXES, SINGLE], ids=["cells", "boxes", "single"])
def test_the_tiles_of_a_map_hold_all_of_the_mass_where_it_is(density: Density) -> None:
    across, up, heights = tiles(density)
    held = heights * np.multiply.outer(np.diff(across), np.diff(up))
    for place, edges in enumerate((across, up)):
        inner = np.nextafter(edges[1:-1], -1.0) if place == 0 else edges[1:-1] - 1.0  # whole numbers below an edge
        upto = density.marginal(density.axes[place].column).cdf(inner)
        assert np.cumsum(held.sum(axis=1 - place))[:-1].tolist() == pytest.approx(upto.tolist(), abs=1e-9)
    assert held.sum() == pytest.approx(1.0)


def test_a_map_of_round_values_is_no_white_panel() -> None:
    """Four values along each column, each in a cell of no width, with a sixteenth of the records at every two."""
    atoms = [Fraction(value) for value in (0, 1, 2, 4)]
    one, other = (with_atoms(axis(name, [0, 4]), atoms) for name in "xy")
    masses = np.zeros((one.cells, other.cells))
    masses[np.ix_(one.lone, other.lone)] = 1 / 16
    masses[1, 1] = 1e-9  # all that was seen before
    across, up, heights = tiles(of(one, other, masses=masses / masses.sum()))
    shades = np.rint(SHADES * np.sqrt(heights / heights.max()))
    assert (shades > SHADES / 2).sum() == 16
    assert min(np.diff(across).min(), np.diff(up).min()) == pytest.approx(4 / TILES)


def test_atoms_of_an_axis_have_a_cell_to_themselves() -> None:
    assert with_atoms(K, [Fraction(3)]).edges == tuple(map(Fraction, (0, 2, 3, 4, 5)))
    for edges, atoms, whole in (([0, 1, 2], [3], False), ([0, 2, 5], [2], True), ([0, 1], [0, 1], False)):
        with pytest.raises(PublicParameterError, match="atom"):
            axis("x", edges, whole=whole, atoms=atoms)


def test_a_density_is_mass_over_size() -> None:
    assert PLAIN.pdf([-1.0, 0.0, 0.5, 1.0, 2.9, 4.0, 4.1]).tolist() == [0.0, 0.5, 0.5, 0.1, 0.1, 0.3, 0.0]
    assert WHOLE.pdf([0.0, 1.0, 2.0, 4.0, 5.0, 0.5]) == pytest.approx([0.25, 0.25, 1 / 6, 1 / 6, 0.0, 0.0])
    assert PLANE.pdf(np.array([[0.5, 0], [2, 1], [4, 4], [4, 5]])) == pytest.approx([0.05, 0.075, 0.25 / 3, 0.0])
    assert BOXES.pdf(np.array([[0.5, 0], [0.5, 4], [2, 1], [2, 2]])) == pytest.approx([0.05, 0.05, 0.0, 0.75 / 9])


def test_the_distribution_function_cumulates_it() -> None:
    assert PLAIN.cdf([-1.0, 0.0, 0.5, 2.0, 4.0, 9.0]) == pytest.approx([0, 0, 0.25, 0.6, 1, 1])
    assert WHOLE.cdf([-0.5, 0, 0.5, 1, 2, 4]) == pytest.approx([0, 0.25, 0.25, 0.5, 2 / 3, 1])
    assert ATOMS.cdf([-0.1, 0, 1, 1.999999999, 2, 4]) == pytest.approx([0, 0.25, 0.45, 0.55, 0.7, 1])
    assert PLANE.cdf(np.array([[2, 0], [4, 1], [0.5, 4]])) == pytest.approx([0.5 * 0.25, 0.55, 0.15])
    assert BOXES.cdf([[1, 1], [4, 4], [2, 2]]) == pytest.approx([0.1, 1.0, 0.25 * 0.6 + 0.75 / 9])


def test_quantiles_invert_it() -> None:
    assert PLAIN.quantile([0, 0.25, 0.5, 0.6, 1]) == pytest.approx([0, 0.5, 1, 2, 4])
    assert WHOLE.quantile([0, 0.25, 0.26, 0.5, 0.51, 1]).tolist() == [0, 0, 1, 1, 2, 4]
    assert ATOMS.quantile([0, 0.25, 0.35, 0.55, 0.6, 0.7, 0.75, 1]) == pytest.approx([0, 0, 0.5, 2, 2, 2, 2.5, 4])
    gap = of(X, masses=[0.5, 0.0, 0.5])
    assert gap.quantile([0.5, 0.51]) == pytest.approx([1.0, 3.02])


def test_the_least_value_is_a_quantile_and_the_one_before_is_not() -> None:
    levels = np.linspace(0.001, 0.999, 97)
    for density, step in ((PLAIN, 1e-6), (WHOLE, 1.0), (ATOMS, 1e-6)):
        found = density.quantile(levels)
        assert (density.cdf(found) >= levels - 1e-9).all()
        assert (density.cdf(found - step) < levels + 1e-9).all()


def test_a_probability_has_a_noise_part_and_a_sampling_part() -> None:
    found = of(X, masses=[0.5, 0.2, 0.3], band=[0.03, 0.04, 0.0]).probability(0, 2)
    assert found.value == pytest.approx(0.6)
    assert found.noise == pytest.approx(math.hypot(0.03, 0.02))
    assert found.sampling == pytest.approx(1.959964 * math.sqrt(0.24 / 400))
    radius = math.hypot(found.noise, found.sampling)
    assert found.high - found.value == pytest.approx(radius + 0.1)  # half of the cell that 2 cuts: all may be below it
    assert found.value - found.low == pytest.approx(radius + 0.1)
    whole = of(X, masses=[0.5, 0.2, 0.3], band=[0.03, 0.04, 0.0]).probability(0, 3)
    assert whole.high - whole.value == pytest.approx(math.hypot(whole.noise, whole.sampling))
    assert of(X, masses=[0.5, 0.2, 0.3], band=[0.3, 0.4, 0.0], wander=0.01).probability(0, 2).noise == 0.02
    assert PLAIN.probability(0, 2).noise == 0.0
    assert ATOMS.probability(0, 0).value == pytest.approx(0.25)
    assert WHOLE.probability(1, 2).value == pytest.approx(0.25 + 1 / 6)
    assert PLANE.probability([0, 1], [2, 4]).value == pytest.approx(0.05 + 0.2 + 0.5 * 0.15)
    assert BOXES.probability([0, 2], [2, 3]).value == pytest.approx(0.25 * 0.4 + 0.75 * (1 / 3) * (2 / 3))


def test_noises_that_hang_together_are_not_taken_as_independent() -> None:
    band = np.full(3, 0.01)
    apart, together = of(X, masses=[0.5, 0.2, 0.3], band=band), of(X, masses=[0.5, 0.2, 0.3], band=band, wander=0.02)
    assert apart.probability(0, 3).noise == pytest.approx(0.01 * math.sqrt(2))
    assert together.probability(0, 3).noise == pytest.approx(0.04)
    assert together.probability(0, 1).noise == pytest.approx(0.01)
    assert of(X, masses=[0.5, 0.2, 0.3], wander=0.02).probability(0, 1).noise == pytest.approx(0.04)


def test_a_probability_agrees_with_the_distribution_function() -> None:
    for point in ([0.7, 1], [2.2, 3], [3.5, 4]):
        for density in (PLANE, BOXES):
            assert density.probability([-9, -9], point).value == pytest.approx(density.cdf([point])[0])


def test_means_are_those_of_the_law() -> None:
    assert PLAIN.mean() == pytest.approx([0.5 * 0.5 + 0.2 * 2 + 0.3 * 3.5])
    assert WHOLE.mean() == pytest.approx([0.5 * 0.5 + 0.5 * 3])
    assert ATOMS.mean() == pytest.approx([0.2 * (0.5 + 2 + 3.5) + 0.3])
    assert BOXES.mean() == pytest.approx([0.25 * 0.5 + 0.75 * 2.5, 0.25 * 2 + 0.75 * 3])


def test_margins_are_sums() -> None:
    assert PLANE.marginal("k").masses == pytest.approx([0.55, 0.45])
    assert BOXES.marginal("x").masses == pytest.approx([0.25, 0.5, 0.25])
    banded = replace(PLANE, band=np.full((3, 2), 0.03))
    band = banded.marginal("x").band
    assert band is not None
    assert band == pytest.approx(np.full(3, 0.03 * math.sqrt(2)))
    with pytest.raises(PublicParameterError):
        PLANE.marginal("y")


def distance(rows: NDArray[np.float64], density: Density, *, step: float) -> float:
    """The largest distance of the two distribution functions on a lattice of points."""
    points = np.arange(-0.5, 5.0, step)
    found = np.searchsorted(np.sort(rows), points, side="right") / len(rows)
    return float(np.abs(found - density.cdf(points)).max())


@pytest.mark.parametrize("density", [PLAIN, WHOLE, ATOMS], ids=["real", "whole", "atoms"])
def test_rows_have_the_law_of_the_density(density: Density) -> None:
    """DKW at 20,000 rows: a right one fails with probability below 1e-6, a shift of .05 is seen."""
    bar = math.sqrt(math.log(2e6) / 40_000)
    rows = sampled(density, 20_000, Replayed("rows"))
    assert distance(rows, density, step=0.01) < bar
    moved = density.masses + np.array([0.05, *[0.0] * (len(density.masses) - 2), -0.05])
    assert distance(rows, replace(density, masses=moved), step=0.01) > bar


@pytest.mark.parametrize("density", [PLANE, BOXES], ids=["grid", "boxes"])
def test_rows_of_several_columns_fall_in_boxes_as_they_should(density: Density) -> None:
    """Bernstein at 20,000 rows, eight ranges: below 1e-6 in all."""
    rows = sampled(density, 20_000, Replayed("plane"))
    assert rows.shape == (20_000, 2)
    for low, high in [([x, k], [x + 1, k + 1]) for x in (0.0, 1.5, 2.5, 3.0) for k in (0.0, 3.0)]:
        inside = ((rows >= low) & (rows <= high)).all(axis=1).mean()
        assert abs(inside - density.probability(low, high).value) < math.sqrt(math.log(2 * 8e6) / 40_000)


def test_rows_come_from_a_stream_of_their_own() -> None:
    first, second = PLAIN.sample(10_000), PLAIN.sample(10_000)
    assert first.shape == (10_000,)
    assert not np.array_equal(first, second)
    assert np.array_equal(sampled(PLAIN, 9, Replayed(b"k" * 32)), sampled(PLAIN, 9, Replayed(b"k" * 32)))
    assert PLAIN.sample(0).shape == (0,)
    assert PLANE.sample(0).shape == (0, 2)
    for wrong in (-1, 1.5, True):
        with pytest.raises(PublicParameterError):
            PLAIN.sample(wrong)  # type: ignore[arg-type]


def test_sampling_never_reads_the_generator_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 rows ask the system for one key of 256 bits, and for nothing else."""
    asked: list[int] = []

    class Counted:
        def bits(self, count: int) -> int:
            asked.append(count)
            return 7

    monkeypatch.setattr("reticent.synthesis.density.system", Counted)
    PLAIN.sample(10_000)
    assert asked == [256]


@pytest.mark.parametrize("density", ALL, ids=["real", "whole", "plane", "atoms", "boxes", "single"])
def test_json_gives_the_same_numbers_back(density: Density) -> None:
    shaped = replace(density, band=density.masses / 7, missing=0.1 + 0.2, wander=1 / 3, words=("ε said",))
    again = from_json(shaped.to_json())
    assert again == shaped
    assert again.to_json() == shaped.to_json()
    assert hash(again) == hash(shaped)
    assert again.masses.tobytes() == shaped.masses.tobytes()
    assert again.axes == shaped.axes
    assert again.guarantee == PAID
    assert again != density


def test_what_is_no_density_is_refused() -> None:
    fields = json.loads(PLAIN.to_json())
    for name, value in (("masses", [1.0]), ("n", 0), ("axes", []), ("guarantee", {}), ("masses", [0.5, 0.5, 0.5])):
        with pytest.raises(CheckError):
            from_json(json.dumps({**fields, name: value}))
    wrong: list[tuple[str, object]] = [
        ("grain", [math.nan] * 3),
        ("grain", [None] * 3),
        ("band", [-1.0] * 3),
        ("wander", -1),
        ("wander", "wide"),
        ("beside", -1),
        ("n", 1.9),
        ("n", "12"),
        ("n", math.inf),
        ("missing", 10**400),
    ]
    for name, other in wrong:
        with pytest.raises(CheckError):
            from_json(json.dumps({**fields, name: other}))
    for text in ("[]", "[" * 100_000, "", "1e400"):
        with pytest.raises(CheckError):
            from_json(text)


def test_the_only_column_of_a_density_is_its_own_marginal() -> None:
    """With all its half-widths: regions and atoms have the noise they had."""
    whole = of(X, masses=[0.5, 0.2, 0.1], atoms=((2.0, 0.2),))
    whole = replace(whole, band=whole.masses / 9, grain=whole.masses / 7, beside=0.3, wander=0.05)
    own = whole.marginal("x")
    for low, high in ((0.0, 1.5), (2.0, 2.0), (1.0, 4.0)):
        assert own.probability(low, high) == whole.probability(low, high)


def test_ranges_are_refused() -> None:
    for masses in ([0.5, 0.5, 0.1], [1.5, -0.5, 0.0], [math.nan, 0.5, 0.5], [1.0]):
        with pytest.raises(PublicParameterError):
            of(X, masses=masses)
    for more in ({"missing": 1.1}, {"atoms": ((9.0, 0.0),)}, {"boxes": np.array([[[0, 4]]] * 3)}, {"band": [1.0]}):
        with pytest.raises(PublicParameterError):
            of(X, masses=[0.5, 0.2, 0.3], **more)
    with pytest.raises(PublicParameterError):
        PLANE.quantile(0.5)
    with pytest.raises(PublicParameterError):
        PLAIN.quantile(1.01)
    with pytest.raises(PublicParameterError):
        PLANE.pdf([1.0, 2.0])
    for edges in ([0], [1, 0], [0, 0]):
        with pytest.raises(PublicParameterError):
            axis("x", edges)
    with pytest.raises(PublicParameterError):
        axis("k", [0, Fraction(1, 2)], whole=True)


def test_even_axes_share_the_values_out() -> None:
    assert even("x", Fraction(-1), Fraction(1), 4).edges == tuple(Fraction(k, 2) for k in range(-2, 3))
    assert even("k", Fraction(0), Fraction(9), 4, whole=True).sizes.tolist() == [2, 3, 2, 3]
    assert even("k", Fraction(3), Fraction(5), 99, whole=True).edges == tuple(map(Fraction, (3, 4, 5, 6)))
    with pytest.raises(PublicParameterError):
        even("x", Fraction(1), Fraction(1), 3)


def test_the_masses_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        PLAIN.masses[0] = 1.0


def test_it_says_what_it_is() -> None:
    assert repr(PLAIN).startswith("<density of x (3) cells by made up, n = 400")
    assert "2 boxes" in repr(BOXES)


@pytest.mark.parametrize("density", ALL, ids=["real", "whole", "plane", "atoms", "boxes", "single"])
def test_every_density_can_be_drawn(density: Density) -> None:
    drawn = replace(density, band=density.masses / 5).plot()
    drawn.canvas.draw()
    assert drawn.axes[0].get_xlabel() == density.axes[0].column


def test_the_doubles_of_an_axis_are_worked_out_once() -> None:
    """A grid of a million cells is asked for its edges with every question."""
    one = even("x", Fraction(0), Fraction(1), 8)
    for name in ("cuts", "steps", "sizes"):
        assert getattr(one, name) is getattr(one, name)
        with pytest.raises(ValueError, match="read-only"):
            getattr(one, name)[0] = 1.0
    assert one == even("x", Fraction(0), Fraction(1), 8)
    assert hash(one) == hash(even("x", Fraction(0), Fraction(1), 8))


def test_an_axis_of_too_many_cells_is_refused_before_its_edges_are_made() -> None:
    with pytest.raises(PublicParameterError, match="at most 1,048,576"):
        even("x", Fraction(0), Fraction(1), 1 << 50)
    assert even("x", Fraction(0), Fraction(7), 1 << 50, whole=True).cells == 8


def test_an_interval_of_a_cell_whose_noise_was_below_0_holds_what_noise_allows() -> None:
    """About a share below 0 it had been 0 to 0."""
    made = of(X, masses=[1.0, 0.0, 0.0], band=np.full(3, 0.01), shift=np.array([-0.05, 0.05, 0.0]))
    found = made.probability(1.0, 3.0)
    assert (found.low, found.value) == (0.0, 0.0)
    assert found.high == pytest.approx(0.01, rel=0.01)
