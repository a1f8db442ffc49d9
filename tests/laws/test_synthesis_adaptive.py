"""The adaptive grid: what a level of it gives away, and that it finds what a coarse grid would miss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.audit.claims import verify
from reticent.data.order import ABSENT
from reticent.data.table import Result
from reticent.entropy import Entropy, Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import Geometric, gate
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.synthesis.adaptive import Adaptive, adaptive
from reticent.synthesis.axis import axis, even
from reticent.synthesis.density import Density

ONE = Fraction(1)
SUB, ADD = Adjacency("substitute"), Adjacency("add_remove")


def drawn(plan: Adaptive, records: NDArray[np.int64], entropy: Entropy) -> Density:
    found = plan.draw((Result(records=records),), entropy)
    assert isinstance(found, Reply)
    return found.value


def test_two_levels_cost_what_they_say_and_one_level_s_noise_is_refuted() -> None:
    """Whole numbers 0 and 1 at epsilon 8: a count, and at a bar of 1 the counts of both halves; what is seen are these.

    The program is the release with its noisy numbers in place of the density made from them.
    """
    plan = replace(adaptive([axis("k", [0, 1, 2], whole=True)], ADD, Fraction(8), levels=2), bar=1)
    assert plan.guarantee.loss == PureDP(Fraction(8))
    tables = [(), (0,), (1,), (0, 1)]
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]

    def program(plan: Adaptive, rows: tuple[int, ...], entropy: Entropy) -> tuple[int, ...]:
        (present,) = gate.draw(plan.each, (len(rows),), entropy)
        if present < plan.bar:
            return (present,)
        return (present, *gate.draw(plan.each, tuple(rows.count(k) for k in (0, 1)), entropy))

    loud = replace(plan, each=Geometric(L1(ONE, ADD), Fraction(8)))
    for made, verdict in ((plan, "holds"), (loud, "refuted")):
        line = verify("adaptive", lambda rows, e, m=made: program(m, rows, e), tables, pairs, PureDP(Fraction(8)))  # type: ignore[misc]
        assert line.verdict == verdict


def test_every_level_is_asked_for_whatever_came_out() -> None:
    """The calls of noise of an empty table and of a full one: as many, at the same noise."""
    plan = adaptive([even("x", Fraction(0), ONE, 1)], SUB, ONE, levels=6)
    for records in (np.zeros((0, 1), np.int64), np.full((5_000, 1), 3, np.int64)):
        seen: list[object] = []
        stream = Replayed("levels")

        def answer(made: object, exact: object, start: object, seen: list[object] = seen) -> object:
            seen.append(made)
            assert isinstance(made, Geometric)
            assert isinstance(exact, tuple)
            return made.sample(exact, stream)  # noqa: B023 - called before the next turn

        drawn(plan, records, gate.Recorder(answer, Replayed("coins")))
        assert seen == [plan.each] * 6


def test_a_narrow_peak_is_found_and_empty_space_is_left_in_large_boxes() -> None:
    """9,000 of 10,000 records in 1/256 of each axis, two columns, epsilon 1."""
    axes = [even("x", Fraction(0), ONE, 1), even("y", Fraction(0), ONE, 1)]
    plan = adaptive(axes, SUB, ONE, levels=9, people=10_000)
    unit = [int(1 / step) for step in plan.grid.query.units]
    wide = (Replayed("wide").words(2_000) >> np.uint64(11)).astype(np.float64).reshape(-1, 2) * 2.0**-53
    peak = np.tile([0.7012, 0.3001], (9_000, 1))
    records = np.floor(np.concatenate([wide, peak]) * np.array(unit)).astype(np.int64)
    density = drawn(plan, records, Replayed("peak"))
    assert density.boxes is not None
    assert len(density.masses) < 400
    low = [k / 256 for k in (179, 76)]
    assert density.probability(low, [end + 1 / 256 for end in low]).value > 0.8
    assert density.masses.sum() == pytest.approx(1.0)


def test_missing_values_and_no_records() -> None:
    plan = adaptive([even("x", Fraction(0), ONE, 1)], ADD, Fraction(4), levels=4)
    half = np.where(np.arange(2_000) % 2 == 0, ABSENT, 1).reshape(-1, 1).astype(np.int64)
    density = drawn(plan, half, Replayed("half"))
    assert density.missing == pytest.approx(0.5, abs=0.02)
    for key in range(8):
        assert drawn(plan, np.zeros((0, 1), np.int64), Replayed(f"none {key}")).masses.sum() == pytest.approx(1.0)


def test_ranges_are_refused() -> None:
    one = [even("x", Fraction(0), ONE, 1)]
    for levels in (1, 13):
        with pytest.raises(PublicParameterError):
            adaptive(one, SUB, ONE, levels=levels)
    with pytest.raises(PublicParameterError):
        adaptive([axis("k", [0, 1, 2, 3], whole=True)], SUB, ONE, levels=3)
    with pytest.raises(QuestionError):
        adaptive(one, SUB, Fraction(1, 100), levels=8, people=1_000)
