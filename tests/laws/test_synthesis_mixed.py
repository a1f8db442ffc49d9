"""Mixed columns: what atoms and missing values give away, in every method, both adjacencies, with and without delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import reticent as rt
from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NoReply, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis, axis
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.linear import LinearDensity
from reticent.synthesis.linear_queries import DensityTerms, LinearSums
from reticent.synthesis.mixed_columns import ROW, MixtureDensity, mixed, of_one
from reticent.synthesis.options import COUNTING, DensityMechanism, Method, Options, plan_for
from tests.assurance.claims import verify
from tests.support.densities import density_of

Kind = Literal["add_remove", "substitute"]
Values = NDArray[np.float64]  # NaN where missing

METHODS: Final[tuple[Method, ...]] = (
    "auto",
    "histogram",
    "sparse",
    "adaptive",
    "tree",
    "ks",
    "series",
    "kernel",
    "bernstein",
)
SMALL: Final[dict[Method, Options]] = {"sparse": Options("sparse", cells=64), "tree": Options("tree", cells=64)}


def answered(query: Query, values: Values) -> QueryResult:
    """What a table of these values says."""
    held = values[~np.isnan(values)]
    if isinstance(query, Tally):
        counts = np.histogram(held, [float(edge) for edge in query.edges])[0]
        return QueryResult(vectors=(tuple(map(int, counts)),))
    if isinstance(query, Records):
        read = np.floor(held / float(query.units[0])).astype(np.int64)
        return QueryResult(records=np.concatenate([read, np.full(len(values) - len(held), ABSENT)]).reshape(-1, 1))
    return QueryResult(vectors=((len(values),),))


def planned(method: Method, kind: Kind, n: int, *, whole: bool) -> DensityMechanism:
    """The plan of a study for atoms=[0, "missing"]."""
    column = [("x", Fraction(0), Fraction(31 if whole else 1), whole)]
    options, terms = SMALL.get(method, Options(method)), DensityTerms(Adjacency(kind))
    if method in COUNTING:
        records = n if kind == "substitute" else None
        return plan_for(options, column, terms, Fraction(2), Fraction(0), atoms=[Fraction(0)], records=records)
    return mixed(options, column, terms, Fraction(2), Fraction(0), atoms=[Fraction(0)], missing=True)


@pytest.mark.loop(20)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("whole", [False, True])
def test_every_method_has_atoms_missing_values_and_whole_numbers(method: Method, kind: Kind, *, whole: bool) -> None:
    """4,000 records: a fifth missing, a quarter of the others 0. Epsilon is what was named; JSON gives it all back."""
    n, rows = 4_000, np.random.default_rng(7)
    values = np.floor(rows.beta(2, 3, n) * 32) if whole else rows.beta(2, 3, n)
    values[800:1_600] = 0.0
    values[:800] = np.nan
    plan = planned(method, kind, n, whole=whole)
    assert plan.guarantee.loss == PureDP(Fraction(2))
    assert plan.guarantee.adjacency == Adjacency(kind)
    outcome = plan.draw([answered(query, values) for query in plan.queries], Replayed(f"{method} {kind} {whole}"))
    assert isinstance(outcome, Reply)
    density = outcome.value
    zeros = float(np.mean(values[800:] == 0.0))
    assert density.missing == pytest.approx(0.2, abs=0.02)
    assert density.n == pytest.approx(3_200, abs=250)
    ((value, mass),) = density.atoms
    assert value == 0.0
    shape = density.pdf([0.0])[0] if whole else 0.0
    assert mass + shape == pytest.approx(zeros, abs=0.05)
    assert float(density.masses.sum()) + mass == pytest.approx(1.0)
    assert density.guarantee == plan.guarantee
    assert from_json(density.to_json()) == density
    rest = values[1_600:] / (32 if whole else 1)
    middle = density.cdf([15.0 if whole else 0.5])[0]
    assert middle == pytest.approx(float(0.25 + 0.75 * np.mean(rest < 0.5)), abs=0.08)


# --- exact ------------------------------------------------------------------------------------------------------------


def tiny(kind: Kind, epsilon: Fraction) -> MixtureDensity:
    """Whole numbers 0 (an atom), 1 and 2, missing values; the rest counted in two cells."""
    axes, each = (axis("k", [0, 2, 3], whole=True),), epsilon / (2 if kind == "substitute" else 1)
    counts = LinearSums(np.eye(2, dtype=np.int64), DensityTerms(ROW), each)
    plan = LinearDensity(axes, counts, np.diag([1.5, 3.0]), False, "two cells", "simplex")
    return MixtureDensity(plan, axes, (Fraction(0),), True, DensityTerms(Adjacency(kind)), each)


def program(made: MixtureDensity, rows: Sequence[float], entropy: Entropy) -> object:
    """All that is released of a table, as text."""
    values = np.array(rows, np.float64)
    results = [answered(query, values) for query in made.queries]
    match made.draw(results, entropy):
        case Reply(found):
            return found.to_json()
        case NoReply():
            return "no reply"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_tiny_tables_keep_epsilon_and_less_noise_of_the_atoms_is_refuted(kind: Kind) -> None:
    """All draws, tables of up to one row, or of one row that is replaced; a counter at twice its epsilon is refuted."""
    nan = float("nan")
    one: list[tuple[float, ...]] = [(0.0,), (1.0,), (2.0,), (nan,)]
    tables = one if kind == "substitute" else [(), *one]
    pairs = [(a, b) for a in range(4) for b in range(a)] if kind == "substitute" else [(0, k) for k in range(1, 5)]
    epsilon = Fraction(28 if kind == "substitute" else 14)
    made = tiny(kind, epsilon)
    assert made.guarantee.loss == PureDP(epsilon)

    class Loud(MixtureDensity):
        """Counts atoms and missing values for half the noise."""

        @property
        def counter(self) -> Geometric:
            return Geometric(L1(Fraction(1), ROW), 2 * self.epsilon)

    loud = Loud(made.plan, made.axes, made.atoms, made.missing, made.terms, made.epsilon)
    for plan, verdict in ((made, "holds"), (loud, "refuted")):
        line = verify("mixed", lambda rows, e, p=plan: program(p, rows, e), tables, pairs, PureDP(epsilon))  # type: ignore[misc]
        assert line.verdict == verdict, line


@pytest.mark.parametrize(("kind", "rows"), [("add_remove", 1), ("substitute", 1), ("add_remove", 3), ("substitute", 2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_a_delta_is_kept_for_persons_of_several_rows(kind: Kind, rows: int, epsilon: Fraction) -> None:
    """What one row may lose is such that the group keeps the delta that was named, and nearly all of it is used."""
    delta, near = Fraction(1, 10**7), Adjacency(kind, rows=rows)
    column = [("x", Fraction(0), Fraction(1), False)]
    made = mixed(
        Options("series", degree=3),
        column,
        DensityTerms(near, rows=rows),
        epsilon,
        delta,
        atoms=[Fraction(0)],
        missing=True,
    )
    loss = made.guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon <= epsilon
    assert 0.99 * delta < loss.delta <= delta
    steps = rows * (2 if kind == "substitute" else 1)
    assert of_one(delta, epsilon / steps, steps) <= delta / steps


def test_atoms_are_no_part_of_the_rest_and_values_beside_them_are() -> None:
    """On a real column an atom is the value, and what is within 2^-40 of the range above; nothing else moves to it."""
    made = mixed(
        Options("series", degree=2), [("x", Fraction(0), Fraction(1), False)], DensityTerms(Adjacency("add_remove")),
        Fraction(400), Fraction(0), atoms=[Fraction(0), Fraction(1, 2)], missing=False,
    )  # fmt: skip
    values = np.array([0.0] * 100 + [0.5] * 50 + [0.5 + 1e-9] * 30 + [0.25] * 20)
    outcome = made.draw([answered(query, values) for query in made.queries], Replayed("atoms"))
    assert isinstance(outcome, Reply)
    assert [round(mass * 200) for _, mass in outcome.value.atoms] == [100, 50]
    again = replace(made, atoms=(Fraction(0),))
    outcome = again.draw([answered(query, values) for query in again.queries], Replayed("one"))
    assert isinstance(outcome, Reply)
    assert [round(mass * 200) for _, mass in outcome.value.atoms] == [100]


def test_the_cell_of_a_whole_number_that_is_an_atom_is_emptied() -> None:
    """Golden: ten even cells, of which the first and the sixth are atoms; 0.01 (1 + 1 + 2) / 0.8 is 0.05."""
    whole = Axis("x", tuple(map(Fraction, range(11))), whole=True)
    of_row = Geometric(L1(Fraction(1), ROW), Fraction(1)).guarantee
    even = Density((whole,), np.full(10, 0.1), "series", of_row, 100, band=np.full(10, 0.04), wander=0.01)
    found = emptied(even, [0.0, 5.0])
    assert found.masses.tolist() == pytest.approx([0, *[0.125] * 4, 0, *[0.125] * 4])
    assert found.wander == pytest.approx(0.05)
    assert found.band is not None
    assert found.band.tolist() == pytest.approx([0, *[0.05] * 4, 0, *[0.05] * 4])
    assert emptied(even, []) is even
    assert emptied(replace(even, axes=(replace(whole, whole=False),)), [0.0]).axes[0].cells == 10


def test_a_cell_of_several_whole_numbers_has_its_mass_beside_the_atom() -> None:
    """Golden: cells of four, atoms 0 at an end of the first and 6 inside the second, whose halves stay unknown."""
    whole = Axis("x", tuple(map(Fraction, (0, 4, 8, 12))), whole=True)
    of_row = Geometric(L1(Fraction(1), ROW), Fraction(1)).guarantee
    masses, band = np.array([0.3, 0.3, 0.4]), np.full(3, 0.04)
    for boxes in (None, np.array([[[0, 1]], [[1, 2]], [[2, 3]]])):
        even = Density((whole,), masses, "bars", of_row, 100, boxes, band=band, wander=0.01)
        found = emptied(even, [0.0, 6.0])
        assert [found.probability(k, k).value for k in range(8)] == pytest.approx([0, 0.1, 0.1, 0.1, 0.1, 0.1, 0, 0.1])
        assert found.probability(1, 3).value == pytest.approx(0.3)
        assert found.wander == pytest.approx(0.01 + 0.3)
        assert found.band is not None
        assert found.band.max() == 0.04
        assert sorted(found.band[found.masses > 0]) == [0.04] * 4  # a part has the whole noise of its cell
    found = emptied(Density((whole,), masses, "bars", of_row, 100, wander=0.01), [0.0])
    assert found.wander == pytest.approx(0.01)  # nothing is left open by an atom at the end of a cell


@pytest.mark.parametrize("method", ["series", "kernel", "bernstein"])
def test_smooth_methods_leave_an_atom_its_own_share(method: Method) -> None:
    """20,000 rows, three of five of them 0 and the others next to it, at epsilon 8: noise moves the share by less than
    .001, but with chance below 1e-9; what a smooth method spilt into the cell of 0 was .01 and more."""
    rows = np.concatenate([np.zeros(12_000), np.tile(np.arange(1, 9), 1_000)]).astype(np.int64)
    study = rt.study({"x": rows}, adjacency="add_remove", columns={"x": rt.integer(0, 63)}, budget=9)
    found = density_of(study.release([rt.density("x", method=method, atoms=[0])], epsilon=8))
    assert found.pdf([0.0])[0] == 0.0
    assert abs(found.probability(0, 0).value - 0.6) < 0.005
    assert abs(float((found.sample(100_000) == 0).mean()) - 0.6) < 0.015  # nine deviations of drawing
