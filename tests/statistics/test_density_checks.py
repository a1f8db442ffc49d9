"""Charged checks of made-up rows: what they cost, how often their intervals hold, what they find, what is written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
import scipy

import reticent as rt
from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column
from reticent.entropy import Entropy, Replayed
from reticent.errors import CheckError, PublicParameterError
from reticent.outcome import Estimate, Outcome, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP
from reticent.study.synthetic import _kept
from reticent.synthesis.axis import Axis, axis, even
from reticent.synthesis.check import VAGUE, Discrepancy, TableCheck
from reticent.synthesis.density import Density, from_json
from reticent.synthesis.fidelity import FidelityRelease, checked, split, tables_of
from reticent.synthesis.histogram import histogram
from reticent.synthesis.size import DistributionAccuracy
from tests.support.densities import density_of

ADD, SUB = Adjacency("add_remove"), Adjacency("substitute")
ONE = Fraction(1)
TWO = (axis("k", [0, 1, 2], whole=True), axis("j", [0, 1, 2], whole=True))


@dataclass(frozen=True)
class Flat:
    """A plan that reads nothing: the uniform density."""

    axes: tuple[Axis, ...]
    near: Adjacency

    @property
    def guarantee(self) -> Guarantee:
        return histogram(self.axes, self.near, ONE, cells=1).guarantee

    @property
    def queries(self) -> tuple[Query, ...]:
        return ()

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        shape = tuple(one.cells for one in self.axes)
        return Reply(Density(self.axes, np.full(shape, 1.0 / np.prod(shape)), "flat", self.guarantee, 1, missing=0.0))

    def expected(self, people: int) -> DistributionAccuracy:
        return DistributionAccuracy(None, None)


def plan(axes: tuple[Axis, ...], near: Adjacency, epsilon: Fraction, people: int | None = None) -> FidelityRelease:
    return checked(Flat(axes, near), axes, near, epsilon, people=people)


def exact(made: FidelityRelease, rows: Sequence[tuple[int, ...]]) -> list[int]:
    """What is counted of rows, before noise."""
    records = np.array(rows, np.int64).reshape(-1, len(made.axes))
    counts = [count for grid in made.tables for count in grid.counts(made._part(records, grid)).tolist()]
    return [*counts, *([] if made.people is not None else [len(records)])]


def test_the_sensitivity_is_that_of_the_worst_neighbours() -> None:
    """Two columns of two values or missing, three tables, up to two rows, both adjacencies, persons of 1 and 2 rows."""
    values = [*product((0, 1), (0, 1)), (ABSENT, 0)]
    added = plan(TWO, ADD, ONE)
    assert len(added.tables) == 3
    worst = 0
    for rows in [(), *((one,) for one in values)]:
        for one in values:
            moved = np.abs(np.subtract(exact(added, (*rows, one)), exact(added, rows))).sum()
            worst = max(worst, int(moved))
    assert worst == added.mechanism.sensitivity.bound == 4
    swapped = plan(TWO, SUB, ONE, people=2)
    worst = max(
        int(np.abs(np.subtract(exact(swapped, (here, other)), exact(swapped, (there, other)))).sum())
        for here, there, other in product(values, values, values)
    )
    assert worst == swapped.mechanism.sensitivity.bound == 6
    pairs = plan(TWO, Adjacency("substitute", rows=2), ONE)
    worst = max(
        int(np.abs(np.subtract(exact(pairs, here), exact(pairs, there))).sum())
        for here in [(), *((one,) for one in values), *product(values, values)]
        for there in [(), *((one,) for one in values), *product(values, values)]
    )
    assert worst == 12
    assert worst <= pairs.mechanism.sensitivity.bound == 14  # all rows in other cells leave their number as it is


def wrong(fit: Discrepancy, truth: float) -> bool:
    return not fit.apart.low <= truth <= fit.apart.high


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(("near", "people"), [(ADD, None), (SUB, 400)])
@pytest.mark.parametrize("absent", [True, False])
def test_intervals_hold_for_all_tables_together(near: Adjacency, people: int | None, absent: bool) -> None:
    """400 releases of 400 records: the largest difference of each of three tables lies inside, but for 5 % of releases.

    More than 40 misses have probability 1e-5 at 5 %; at a sixth of the half-width there are more.
    """
    records = np.array([(k % 2, (k // 2) % 2) for k in range(340)] + [(ABSENT, 0)] * 60, np.int64)
    rows = {"k": np.array([0.0, 1.0, 1.0, 1.0, np.nan]), "j": np.array([1.0, 1.0, 0.0, 1.0, 1.0])}
    if not absent:
        rows = {name: values[:4] for name, values in rows.items()}
    made = plan(TWO, near, Fraction(1, 2), people)
    truths = [
        replace(one, counts=tuple(grid.counts(made._part(records, grid)).tolist()), radius=0, off=0, n=400)
        .fit(rows, absent=absent)
        .apart.value
        for one, grid in zip(counted(made, records, Replayed("a")), made.tables, strict=True)
    ]
    missed = narrow = 0
    stream = Replayed(f"{near.kind} {absent}")
    for _ in range(400):
        checks = counted(made, records, stream)
        missed += any(wrong(one.fit(rows, absent=absent), truth) for one, truth in zip(checks, truths, strict=True))
        sixth = [replace(one, radius=one.radius // 6, off=one.off // 6) for one in checks]
        narrow += any(wrong(one.fit(rows, absent=absent), truth) for one, truth in zip(sixth, truths, strict=True))
    assert missed <= 40
    assert narrow > 40


def counted(
    made: FidelityRelease, records: np.ndarray[tuple[int, ...], np.dtype[np.int64]], stream: Entropy
) -> tuple[TableCheck, ...]:
    outcome = made.draw((QueryResult(records=records),), stream)
    assert isinstance(outcome, Reply)
    assert outcome.value.guarantee == made.guarantee
    return outcome.value.checks


@pytest.mark.wide
def test_the_noise_of_a_check_is_what_was_paid_for() -> None:
    """Epsilon 1/2 for three tables and a number: scale 8; KS at 1e-4 over 4,000 releases, .8 and 1.25 refused."""
    made = plan(TWO, ADD, Fraction(1, 2))
    assert made.mechanism.scale == 8
    records, stream = np.zeros((50, 2), np.int64), Replayed("noise")
    drawn = np.array([counted(made, records, stream)[0].counts[0] - 50 for _ in range(4_000)])
    noise = drawn + np.random.default_rng(3).uniform(-0.5, 0.5, len(drawn))
    for factor, accepted in ((1.0, True), (0.8, False), (1.25, False)):
        assert (scipy.stats.kstest(noise / factor, scipy.stats.laplace(scale=8).cdf).pvalue > 1e-4) == accepted


@pytest.mark.wide
def test_rows_that_are_the_records_fit_and_others_are_found() -> None:
    axes = (even("x", Fraction(0), ONE, 1), even("y", Fraction(0), ONE, 1))
    made = plan(axes, SUB, Fraction(2), people=4_000)
    unit = [int(1 / step) for step in made.queries[0].units]  # type: ignore[union-attr]
    share = (Replayed("rows").words(8_000) >> np.uint64(11)).astype(np.float64).reshape(-1, 2) * 2.0**-53
    share[:, 1] = (share[:, 0] + 0.2 * share[:, 1]) / 1.2  # y goes with x
    checks = counted(made, np.floor(share * np.array(unit)).astype(np.int64), Replayed("fit"))
    same = [one.fit({"x": share[:, 0], "y": share[:, 1]}, absent=True) for one in checks]
    assert all(fit.reproduced and fit.apart.low == 0 for fit in same)
    apart = [one.fit({"x": share[:, 0], "y": share[::-1, 1]}, absent=True) for one in checks]
    assert [fit.reproduced for fit in apart] == [True, True, False]  # the columns are right, their relation is not
    assert apart[2].words.startswith("not the table of x × y: x ")
    assert same[0].words.startswith("the table of x: every share within")


@pytest.mark.wide
def test_atoms_have_a_share_of_their_own() -> None:
    one = even("x", Fraction(0), Fraction(10), 1)
    made = checked(Flat((one,), ADD), (one,), ADD, Fraction(4), people=None, atoms=[Fraction(0)])
    unit = int(1 / made.queries[0].units[0])  # type: ignore[union-attr]
    records = np.array([0] * 500 + [unit // 2] * 500, np.int64).reshape(-1, 1)
    (check,) = counted(made, records, Replayed("atoms"))
    assert check.atoms == (0.0, 10.0)  # what is listed, and the ends
    assert check.counts[10] == pytest.approx(500, abs=check.radius)
    spread = check.fit({"x": np.full(1000, 0.5)}, absent=True)  # the same stretch, without the atom
    assert not spread.reproduced
    assert spread.apart.value == pytest.approx(0.5, abs=0.03)
    assert check.fit({"x": np.repeat([0.0, 0.5], 500)}, absent=True).reproduced


@pytest.mark.wide
def test_a_density_with_checks_is_read_back_and_what_is_none_is_refused() -> None:
    made = plan(TWO, ADD, ONE)
    outcome = made.draw((QueryResult(records=np.zeros((9, 2), np.int64)),), Replayed("json"))
    assert isinstance(outcome, Reply)
    text = outcome.value.to_json()
    again = from_json(text)
    assert again == outcome.value
    assert again.checks == outcome.value.checks
    fields = json.loads(text)
    del fields["checks"]
    assert from_json(json.dumps(fields)).checks == ()  # a density of before
    for broken in ({}, {**fields, "checks": [{}]}, {**fields, "checks": [{"counts": [1e999]}]}):
        with pytest.raises(CheckError):
            from_json(json.dumps(broken))
    one = json.loads(text)["checks"][0]
    for wrong_one in ({**one, "counts": [1.5] * 5}, {**one, "n": 0}, {**one, "counts": [1]}):
        with pytest.raises((CheckError, PublicParameterError)):
            from_json(json.dumps({**fields, "checks": [wrong_one]}))


@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_study_pays_for_checks_from_the_same_release(adjacency: Literal["add_remove", "substitute"]) -> None:
    values = np.random.default_rng(1).beta(2, 3, 3_000)
    study = rt.study(
        {"x": values, "y": values}, adjacency=adjacency, columns={"x": rt.real(0, 1), "y": rt.real(0, 1)}, budget=6
    )
    made = study.synthesize(rt.density("x", method="histogram", checks="0.1"), epsilon=1)
    assert made.guarantee.loss == PureDP(ONE)
    assert len(made.density.checks) == len(made.fits()) == 1
    assert made.good_for()[0].startswith("the table of x: ")
    assert made.certificate.answers[0].name == "density(x, method=histogram, checks=0.1)"
    asked = study.release([rt.density(["x", "y"], method="histogram", checks="0.2")], epsilon=1)
    assert [one.columns for one in density_of(asked).checks] == [("x",), ("y",), ("x", "y")]
    plain = study.synthesize(rt.density("x", method="histogram"), epsilon=1)
    assert plain.density.checks == ()
    assert plain.fits() == ()
    assert any("not checked" in line for line in plain.good_for())
    text = study.release(["density(y, method=tree, checks=0.3)"], epsilon=1)
    assert len(density_of(text).checks) == 1
    for share in ("-0.1", "0.6"):
        with pytest.raises(PublicParameterError, match="checks is a share"):
            study.release([rt.density("x", checks=share)], epsilon=1)


@pytest.mark.wide
def test_a_share_is_split_exactly_and_tables_are_public() -> None:
    assert split(Fraction(3), Fraction(1, 10)) == (Fraction(27, 10), Fraction(3, 10))
    axes = [even(name, Fraction(0), ONE, 1) for name in "abcd"]
    assert [grid.cells for grid in tables_of(axes, ())] == [10] * 4 + [25] * 6
    with pytest.raises(PublicParameterError):
        split(ONE, Fraction(3, 5))


def test_a_check_that_holds_no_share_close_says_so() -> None:
    def words(high: float) -> str:
        return Discrepancy(("x", "y"), Estimate(high / 2, 0.0, high, high / 2, 0.0), "x 1", 4).words

    assert words(0.19).startswith("the table of x × y: every share within 19 points")
    assert words(0.63) == (
        "the table of x × y could not be checked: a share may be off by 63 points for noise (95 %). "
        "4 times as much ε for checks would do: a larger ε, or a larger share, at most checks=0.5"
    )


def test_a_cell_of_one_value_is_named_by_it() -> None:
    whole, real = Axis("k", tuple(map(Fraction, (9, 10, 12))), whole=True), Axis("x", tuple(map(Fraction, (0, 1, 2))))
    check = TableCheck((whole, real), (), (0, 0, 0, 0, 9), 1, 9)
    assert [check._label(place) for place in (0, 3)] == ["k 9, x 0 to 1", "k 10 to 11, x 1 to 2"]


def like(law: str, count: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    drawn = np.random.default_rng(seed)
    values = drawn.normal(0.5, 0.12, count) if law == "normal" else drawn.lognormal(-4.0, 1.0, count)
    return np.clip(values, 0.0, 1.0)


@pytest.mark.parametrize("law", ["normal", "lognormal"])
@pytest.mark.parametrize(("near", "people"), [(ADD, None), (SUB, 300)])
def test_the_epsilon_that_is_named_tells_and_less_does_not(law: str, near: Adjacency, people: int | None) -> None:
    """Rows that are like 300 records: of 120 releases more than half tell at t times the epsilon, fewer at t - 1 times.

    The greatest difference, over .2, named 5 times where 4 do, and 5 where 12 do.
    """
    axes, records, rows = (even("x", Fraction(0), ONE, 1),), like(law, 300, 1), {"x": like(law, 300, 2)}

    def told(epsilon: Fraction, name: str) -> tuple[float, int]:
        made, stream = plan(axes, near, epsilon, people), Replayed(f"{law} {near.kind} {name}")
        unit = int(1 / made.queries[0].units[0])  # type: ignore[union-attr]
        whole, found = np.floor(records * unit).astype(np.int64).reshape(-1, 1), []
        for _ in range(120):
            (check,) = counted(made, whole, stream)
            found.append(check.fit(rows, absent=True))
        sure = [not one.reproduced or one.apart.high <= VAGUE for one in found]
        return float(np.mean(sure)), sorted(one.times for one in found)[60]

    once, times = told(Fraction(1, 10), "once")
    assert once < 0.1
    assert times > 2
    assert told(times * Fraction(1, 10), "named")[0] > 0.5
    assert told((times - 1) * Fraction(1, 10), "less")[0] < 0.45


@pytest.mark.parametrize("law", ["normal", "lognormal"])
def test_a_plan_of_checks_says_how_closely_shares_are_checked(law: str) -> None:
    """Half of the releases are within it, by a quarter; the half-width of one count was half of it."""
    axes, records, rows = (even("x", Fraction(0), ONE, 1),), like(law, 4_000, 1), {"x": like(law, 100_000, 2)}
    made, stream = plan(axes, ADD, Fraction(1, 10)), Replayed(f"close {law}")
    unit = int(1 / made.queries[0].units[0])  # type: ignore[union-attr]
    whole = np.floor(records * unit).astype(np.int64).reshape(-1, 1)
    highs = [counted(made, whole, stream)[0].fit(rows, absent=True).apart.high for _ in range(100)]
    planned = float(made.expected(4_000).note.split("±")[1].split()[0]) / 100
    assert planned / 1.3 <= np.median(highs) <= 1.3 * planned


def _unread(people: int | None, columns: int = 2) -> rt.Study:
    """A study of columns that no test here reads."""
    names = "xyzw"[:columns]
    declared: dict[str, Column] = {name: rt.real(0, 100, complete=True) for name in names}
    more: dict[str, Any] = {} if people is None else {"people": people}
    return rt.study({name: [1.0] for name in names}, adjacency="add_remove", columns=declared, budget=9, **more)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("people", "epsilon", "columns", "tables"),
    [
        (500, "1", 2, 0),  # no table would tell a share to a fifth
        (2_200, "1", 2, 2),  # two would, three not
        (None, "1", 2, 3),
        (None, "0.1", 2, 0),
        (1_000_000, "0.01", 2, 3),
        (4_000, "1", 4, 4),
        (500, "1", 1, 0),
        (1_500, "1", 1, 1),
    ],
)
def test_made_up_rows_buy_by_default_the_checks_that_public_facts_say_tell_something(
    people: int | None, epsilon: str, columns: int, tables: int
) -> None:
    """What they would cost goes to the density; the plan says so. By name they stay, whatever they tell."""
    study = _unread(people, columns)
    names = list("xyzw"[:columns])
    (line,) = study.synthesis_plan(names, epsilon=epsilon).lines
    told = re.search(r"shares of (\d+) tables are checked to about ± ([\d.]+) points", line.expected.note)
    assert (0 if told is None else int(told[1])) == tables
    assert told is None or float(told[2]) <= 20
    pairs = columns * (columns - 1) // 2
    assert ("no table of two columns is checked" in line.expected.note) is (tables == columns > 1)
    assert ("no table is checked, as none would tell a share to ± 20 points" in line.expected.note) is (not tables)
    assert line.loss == PureDP(Fraction(epsilon))  # all of it, with checks or without
    assert line.name == f"density({', '.join(names)}{', checks=0.1' if tables else ''})"
    (named,) = study.plan([rt.density(names, checks="0.1")], epsilon=epsilon).lines
    (width,) = re.findall(
        rf"shares of {columns + pairs} tables are checked to about ± ([\d.]+) points", named.expected.note
    )
    assert ("which would tell nothing: a larger ε, or checks=0" in named.expected.note) is (float(width) > 20)
    (plain,) = study.plan([rt.density(names)], epsilon=epsilon).lines
    assert "checked" not in plain.expected.note


def test_a_guess_of_the_people_moves_no_check() -> None:
    (line,) = _unread(None).synthesis_plan(["x", "y"], epsilon=1, people=300).lines
    assert "shares of 3 tables are checked" in line.expected.note


def test_a_relation_that_noise_hides_cannot_be_told() -> None:
    assert _kept(0.5, 0.45, 0.55) == ("kept", "")
    assert _kept(0.5, 0.3, 0.7) == ("kept roughly", "")
    assert _kept(0.1, 0.45, 0.55) == ("not kept", "")
    verdict, why = _kept(-0.1, -0.79, 0.63)
    assert verdict == "cannot be told"
    assert "too wide to tell. A larger ε or more people narrow it" in why
