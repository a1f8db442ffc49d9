"""The private choice of bounds: its ladder, its exact law between all small neighbours, and releases at chosen ones.

A table is here the values of its persons, up to two each. Laws are enumerated, with exponentials to 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import reticent as rt
from reticent.cli.options import rows
from reticent.data.bounds import BoundsLadder
from reticent.data.schema import Person, Schema
from reticent.data.study_file import read_spec
from reticent.data.table import open_table
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP
from reticent.statistics.context import Setting
from reticent.statistics.counts.bounds_choice import BoundsChoiceStep, prepare
from reticent.statistics.counts.cap_choice import PARTS, weights

KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
EPSILON = Fraction(1, 2)
WEIGHTS = cache(weights)
UP = BoundsLadder(low=Fraction(0), ceiling=Fraction(5), whole=True)
BOTH = BoundsLadder(ceiling=Fraction(5), whole=True)
VALUES = (-7, -2, 0, 1, 2, 3, 5, 9)
Rows = tuple[int, ...]


def choice(kind: Kind, ladder: BoundsLadder, rows: int = 1, epsilon: Fraction = EPSILON) -> BoundsChoiceStep:
    person = Person(kind, None if rows == 1 else "who", rows)
    return prepare("x", ladder, Setting(Schema({"x": rt.integer()}, person), None), epsilon)


def beyond(table: Sequence[int], ladder: BoundsLadder) -> tuple[int, ...]:
    """All values, then those that each candidate but the last would cut at the ends that are chosen."""
    found = [len(table)]
    for low, high in map(ladder.at, ladder.rungs[:-1]):
        below = 0 if ladder.low is not None else sum(x < low for x in table)
        found.append(below + (0 if ladder.high is not None else sum(x > high for x in table)))
    return tuple(found)


def neighbours(kind: Kind, rows: int) -> Iterator[tuple[Rows, Rows]]:
    """All neighbours of a person with up to ``rows`` values beside two others."""
    values = VALUES if rows == 1 else (-2, 1, 3, 9)
    mine = [own for size in range(1, rows + 1) for own in combinations_with_replacement(values, size)]
    for others in ((), (0, 3), (9, -7)):
        for own in mine:
            if kind == "add_remove":
                yield others, (*others, *own)
            else:
                for other in mine:
                    yield (*others, *own), (*others, *other)


def law(made: BoundsChoiceStep, table: Sequence[int]) -> list[float]:
    rate, scores = float(made.mechanism.rate), made.scores(beyond(table, made.ladder))
    found = [weight * math.exp(-rate * score) for weight, score in zip(WEIGHTS(made.ladder.rungs), scores, strict=True)]
    return [weight / sum(found) for weight in found]


def spread(made: BoundsChoiceStep, score: Callable[[Sequence[int]], Sequence[int]], kind: Kind, rows: int) -> int:
    """The furthest that the changes of two scores are apart, over all neighbours."""
    pairs = ([score(beyond(one, made.ladder)) for one in (here, there)] for here, there in neighbours(kind, rows))
    changes = [[a - b for a, b in zip(*both, strict=True)] for both in pairs]
    return int(max(max(each) - min(each) for each in changes))


@pytest.mark.loop(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ladder", [UP, BOTH])
@pytest.mark.parametrize("rows", [1, pytest.param(2, marks=pytest.mark.wide)])
def test_the_choice_loses_what_is_charged_and_changes_of_scores_are_apart_by_the_rows_of_a_person(
    kind: Kind, ladder: BoundsLadder, rows: int
) -> None:
    made, worst = choice(kind, ladder, rows), 0.0
    assert made.guarantee.loss == PureDP(EPSILON)
    for here, there in neighbours(kind, rows):
        laws = [law(made, one) for one in (here, there)]
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(*laws, strict=True)))
    assert 0.4 * float(EPSILON) < worst <= float(EPSILON) + 1e-12
    assert spread(made, made.scores, kind, rows) == PARTS * rows == made.mechanism.sensitivity.bound


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_of_another_spread_is_caught(kind: Kind) -> None:
    made = choice(kind, UP)
    parts = PARTS - (1 if kind == "substitute" else 0)  # one more than what is left for values beyond

    def mutant(counts: Sequence[int]) -> list[int]:
        return [parts * now - (before - now) for before, now in pairwise((*counts, 0))]

    assert spread(made, mutant, kind, 1) > made.mechanism.sensitivity.bound


@pytest.mark.parametrize("ladder", [UP, BOTH, BoundsLadder(high=Fraction(5), ceiling=Fraction(5), whole=True)])
def test_the_engine_counts_what_each_candidate_would_cut(ladder: BoundsLadder) -> None:
    made = choice("add_remove", ladder)
    values = [*VALUES, *range(-6, 7), 5, 5, -5]
    (found,) = open_table({"x": values}, Schema({"x": rt.integer()}, Person("add_remove"))).run(made.queries, bytes(32))
    assert made.beyond(found.vectors[0]) == beyond(values, ladder)


def test_candidates_are_ten_to_a_decade_from_the_declared_end_to_the_ceiling() -> None:
    assert [int(size) for size in BoundsLadder(low=Fraction(0), ceiling=Fraction(20), whole=True).rungs] == [
        *(1, 2, 3, 4, 5, 7, 8, 10, 13, 16, 20)
    ]
    assert BoundsLadder(low=Fraction(18), ceiling=Fraction(33), whole=True).rungs == tuple(
        map(Fraction, (20, 25, 32, 33))
    )
    assert BoundsLadder(high=Fraction(-3), ceiling=Fraction(10), whole=True).at(Fraction(5)) == (
        Fraction(-5),
        Fraction(-3),
    )
    assert BOTH.at(Fraction(2)) == (Fraction(-2), Fraction(2))
    assert len(BoundsLadder(low=Fraction(0)).rungs) == 91
    assert BoundsLadder(floor=Fraction(1, 20), ceiling=Fraction(1, 10)).rungs == (
        *(Fraction(1, 20), Fraction(8, 125), Fraction(2, 25), Fraction(1, 10)),
    )


def test_the_hard_maximum_is_chosen_and_one_value_far_out_moves_nothing() -> None:
    made = choice("add_remove", BoundsLadder(low=Fraction(0)))
    sizes, ages = made.ladder.rungs, [place % 90 for place in range(2_000)]
    chances = law(made, ages)
    assert sum(chance for size, chance in zip(sizes, chances, strict=True) if 80 <= size <= 100) > 0.95
    far = law(made, [*ages, 10**8])
    seen = [(p, q) for p, q in zip(chances, far, strict=True) if p and q]
    assert len(seen) > 50
    assert max(abs(math.log(p / q)) for p, q in seen) <= float(EPSILON) + 1e-12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"low": 0, "high": {"ceiling": 0}}, "no two candidates"),
        ({"low": 0, "high": {"share": 1}}, "between 0 and 1"),
        ({"high": "auto"}, "stands beside another"),
        ({"low": 0, "high": {"most": 9}}, "has a floor, a ceiling and a share, got most"),
    ],
)
def test_candidates_that_cannot_be_chosen_among_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(PublicParameterError, match=words):
        rt.real(**given)  # type: ignore[arg-type]


def study(kind: Kind = "add_remove", **given: object) -> rt.Study:
    generator = np.random.default_rng(4)
    rows = {"x": generator.exponential(40.0, 20_000), "y": generator.normal(0, 3, 20_000), "z": np.ones(20_000)}
    columns = {"x": rt.real(0, "auto"), "y": rt.real("auto", {"ceiling": 1_000}), "z": rt.real(0, 2)}
    return rt.study(rows, adjacency=kind, columns=columns, budget=50, override="a test", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_says_the_bounds_and_what_they_cut(kind: Kind) -> None:
    held = study(kind)
    found = held.release(["mean(x)", "count"], epsilon=2)
    chosen = found.certificate.document["bounds"]
    assert 125 <= int(chosen["high"]) <= 3200  # any other has a chance below 1e-6
    assert f"values cut to [0, {chosen['high']}]" in found["mean(x)"].estimand
    cut = found[f"proportion(x < 0 or x > {chosen['high']}, value=true)"]
    assert cut.low <= 0.01
    (note,) = (note for note in found.caveats if "chosen privately among 91 bounds" in note)
    assert note.endswith("Intervals are of values moved into them, and tell nothing of what was cut")
    assert found["mean(x)"].value == pytest.approx(40.0, abs=3.0)
    assert held.ledger.left() == PureDP(Fraction(48))
    assert all(one.ok for one in found.certificate.verify(allow_unsigned=True).checks if one.looked)


def test_a_release_of_other_columns_chooses_nothing() -> None:
    plan = study().plan(["mean(z)", "count"], epsilon=1)
    assert not any(line.name.startswith(("bounds", "proportion")) for line in plan.lines)
    assert "bounds" not in study().release(["mean(z)"], epsilon=1).certificate.document


def test_a_plan_shows_the_candidates_and_their_widths() -> None:
    text = str(study().plan(["mean(x)"], epsilon=1))
    assert "bounds of x" in text
    assert "chosen among 91 bounds from [0, 1] to [0, 1000000000]" in text
    assert "supposes bounds [0, 100]" in text


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_of_a_release_with_chosen_bounds_passes_its_audit(kind: Kind) -> None:
    assert study(kind).audit(["mean(x)"], epsilon=1, triples=10).verdict == "passed"


def test_in_rho_the_whole_is_what_was_asked() -> None:
    held = study(delta="1e-6")
    plan = held.plan(["mean(y)"], rho="0.05", delta="1e-7")
    assert plan.guarantee.loss.delta == Fraction(1, 10**7)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["mean(x)", "mean(y)"], "ask of one such column.*Together they have 2,821 candidates"),
        (["mean(x + y)"], "ask of one such column.*Together they have 2,821 candidates"),
    ],
)
def test_two_chosen_columns_in_a_release_are_refused_before_the_charge(asked: list[str], words: str) -> None:
    held = study()
    with pytest.raises(QuestionError, match=words):
        held.release(asked, epsilon=1)
    assert held.ledger.left() == PureDP(Fraction(50))


def test_a_width_cannot_be_wanted_of_chosen_bounds() -> None:
    held = study("substitute")
    with pytest.raises(QuestionError, match="where the bounds of x are chosen"):
        held.plan(["mean(x)"], want={"mean(x)": 1.0})
    assert held.plan(["mean(z)"], want={"mean(z)": 0.1}).lines


def test_bounds_and_cap_are_not_both_chosen() -> None:
    rows = {"who": [1, 1, 2], "x": [1.0, 2.0, 3.0]}
    held = rt.study(
        rows,
        adjacency="add_remove",
        columns={"x": rt.real(0, "auto")},
        budget=1,
        person="who",
        rows_each="auto",
    )
    with pytest.raises(QuestionError, match=r"declare one of them.*Together they have 2,730 candidates"):
        held.plan(["mean(x)"], epsilon=1)


FILE = """
[study]
source = "rows.csv"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "1"
[columns.cost]
kind = "integer"
low = 0
high = "auto"
ceiling = 5000
share = "1/10"
"""


def test_a_study_file_declares_bounds_that_are_chosen(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    column = read_spec(file).schema.columns["cost"]
    assert column == rt.integer(0, {"ceiling": 5_000, "share": "1/10"})
    assert rt.integer(0, "auto").auto == BoundsLadder(low=Fraction(0), whole=True)


def test_a_cap_typed_as_auto_on_the_command_line_is_refused_with_the_way_to_say_it() -> None:

    verb = click.command()(rows(lambda rows: click.echo(rows)))
    with pytest.raises(QuestionError, match=r"at_most = \"auto\""):
        CliRunner().invoke(verb, ["--rows", "auto"], catch_exceptions=False)
    assert CliRunner().invoke(verb, ["--rows", "3"]).output == "3\n"
