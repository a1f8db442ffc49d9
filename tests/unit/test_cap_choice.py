"""The private choice of a cap on rows: its ladder, its exact law between all small neighbours, and its mutants.

A table is here the numbers of rows of its persons. Laws are enumerated, with exponentials to 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
import scipy

import reticent as rt
from reticent.data.bounds import SHARE as BOUNDS_SHARE
from reticent.data.caps import SHARE as CAP_SHARE
from reticent.data.caps import CapLadder
from reticent.data.schema import Person, Schema, real
from reticent.errors import PublicParameterError, QuestionError, SpecError
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ZCDP, PureDP
from reticent.statistics.context import Setting
from reticent.statistics.counts.cap_choice import FALL, FINE, PARTS, CapChoiceStep, prepare, times_of, weights
from reticent.study import preparation

KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
EPSILON = Fraction(1, 2)
WEIGHTS = cache(weights)
MOST = 6  # rows of a person, beyond the ceiling too
Table = tuple[int, ...]


def choice(kind: Kind, ceiling: int = 4, epsilon: Fraction = EPSILON) -> CapChoiceStep:
    person = Person(kind, "who", ceiling, ladder=CapLadder(ceiling))
    return prepare(Setting(Schema({"x": real(0, 1)}, person), None), epsilon)


def above(table: Table, made: CapChoiceStep) -> tuple[int, ...]:
    return tuple(sum(rows > cap for rows in table) for cap in (0, *made.ladder.rungs[:-1]))


def neighbours(kind: Kind) -> Iterator[tuple[Table, Table]]:
    """All neighbours with up to three other persons; a person who is replaced has a row on either side."""
    for size in range(4):
        for others in combinations_with_replacement(range(1, MOST + 1), size):
            for mine in range(1, MOST + 1):
                if kind == "add_remove":
                    yield others, (*others, mine)
                else:
                    for other in range(mine + 1, MOST + 1):
                        yield (*others, mine), (*others, other)


def law(made: CapChoiceStep, scores: Sequence[int]) -> list[float]:
    rate = float(made.mechanism.rate)
    found = [weight * math.exp(-rate * score) for weight, score in zip(WEIGHTS(made.ladder.rungs), scores, strict=True)]
    return [weight / sum(found) for weight in found]


Score = Callable[[CapChoiceStep, Sequence[int]], Sequence[int]]


def worst(kind: Kind, score: Score, answer: float = 0.0) -> float:
    """The greatest log-ratio over neighbours and caps, with an answer of that epsilon beside: a count of kept rows.

    Geometric noise of scale cap / answer loses answer times the change of the count over the cap, at its worst output.
    """
    made, found = choice(kind), 0.0
    for here, there in neighbours(kind):
        p, q = (law(made, score(made, above(table, made))) for table in (here, there))
        for place, cap in enumerate(made.ladder.rungs):
            kept = [sum(min(rows, cap) for rows in table) for table in (here, there)]
            moved = answer * abs(kept[0] - kept[1]) / cap
            found = max(found, abs(math.log(p[place] / q[place])) + moved)
    return found


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_and_an_answer_at_the_chosen_cap_lose_what_is_charged_and_hardly_less(kind: Kind) -> None:
    alone = worst(kind, CapChoiceStep.scores)
    assert 0.7 * float(EPSILON) < alone <= float(EPSILON) + 1e-12
    together = worst(kind, CapChoiceStep.scores, 0.75)
    assert together <= float(EPSILON) + 0.75 + 1e-12


def spread(kind: Kind, score: Score) -> int:
    """The furthest that the changes of two scores are apart, over all neighbours."""
    made = choice(kind)
    pairs = ([score(made, above(table, made)) for table in both] for both in neighbours(kind))
    changes = [[a - b for a, b in zip(*both, strict=True)] for both in pairs]
    return int(max(max(each) - min(each) for each in changes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 10**6])
def test_a_score_of_another_spread_is_caught(kind: Kind, most: int) -> None:
    parts = PARTS - (1 if kind == "substitute" else 0)  # one more than what is left for persons above

    def mutant(made: CapChoiceStep, counts: Sequence[int]) -> list[int]:
        return [parts * now - min(before - now, most) for before, now in pairwise((*counts, 0))]

    assert spread(kind, mutant) > choice(kind).mechanism.sensitivity.bound


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_scores_are_apart_by_what_is_declared_and_no_further(kind: Kind) -> None:
    assert spread(kind, CapChoiceStep.scores) == PARTS == choice(kind).mechanism.sensitivity.bound


def test_the_choice_takes_the_hard_maximum_and_leaves_a_cap_that_few_exceed() -> None:
    made = choice("add_remove", 64, Fraction(1, 6))
    rungs = made.ladder.rungs

    def best(table: Table) -> int:
        chances = law(made, made.scores(above(table, made)))
        return rungs[chances.index(max(chances))]

    assert best((1,) * 300 + (5,) * 700) == 5
    assert best((5,) * 700 + (64,) * 8) == 5
    assert best((5,) * 700 + (64,) * 200) == 64
    assert made.worth == pytest.approx(11 / 4 * math.log(2) * 6 * 12 / 11)


def test_rungs_are_every_small_number_then_ten_to_a_decade_up_to_the_ceiling() -> None:
    assert CapLadder(65).rungs == (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 65)
    assert len(CapLadder().rungs) == 30
    assert CapLadder(7).rungs == (1, 2, 3, 4, 5, 6, 7)
    assert CapLadder(2).rungs == (1, 2)
    for ceiling in (1, 1 << 21, True, 2.0):
        with pytest.raises(PublicParameterError, match="ceiling"):
            CapLadder(ceiling)  # type: ignore[arg-type]
    for share in (0, 1):
        with pytest.raises(PublicParameterError, match="share"):
            CapLadder(8, Fraction(share))


def test_weights_are_whole_numbers_that_fall_by_a_power_of_the_size() -> None:
    sizes = CapLadder().rungs
    found = weights(sizes)
    for size, weight in zip(sizes, found, strict=True):
        wanted = (Fraction(FINE * sizes[-1]) / size) ** FALL.numerator
        assert FALL.denominator == 4
        assert weight**4 <= wanted < (weight + 1) ** 4
    assert found[0] / found[1] == pytest.approx(2**2.75, rel=1e-9)
    assert weights(sizes, 3)[0] / weights(sizes, 3)[1] == pytest.approx(2**8.25, rel=1e-9)


def test_answers_that_share_the_loss_make_a_large_cap_weigh_less() -> None:
    """By the root of their number; a mean counts as four, and persons not at all."""
    assert [times_of(counts, 0) for counts in (0, 1, 4, 12, 30, 10_000)] == [1, 1, 2, 3, 5, 16]
    assert [times_of(0, others) for others in (1, 4, 12)] == [2, 4, 7]
    study = rt.study(
        {"who": [1, 1, 2], "x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]},
        adjacency="add_remove",
        columns={"x": rt.real(0, 9), "g": rt.category(["a", "b"])},
        person="who",
        rows_each="auto",
        budget=9,
        ledger=None,
    )
    for asked, times in (
        (["count"], 1),
        (["count", "persons"], 1),
        (["sum(x)", "histogram(x, edges=0:9:3)", "count by g", "count"], 2),
        (["mean(x)"], 2),
        (["mean(x)", "median(x)", "proportion(g, value=a)", "count by g"], 4),
    ):
        made, _ = preparation.settle_plan(study, asked, Cost(Fraction(1)), 1000, None)
        assert isinstance(made.choice, CapChoiceStep)
        assert made.choice.times == times, asked
        assert made.choice.worth == pytest.approx(times * 11 / 4 * math.log(2) * 5 * 12 / 11)


def test_of_twelve_counts_a_chosen_cap_is_near_the_best() -> None:
    """Exact laws, a long tail: within 1.6 of the best fixed cap, and not so where their number is not looked at."""
    sizes = np.ceil(np.exp(1 + 1.5 * scipy.stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000))).astype(np.int64)
    rungs = np.array(CapLadder().rungs)
    lost = np.array([np.maximum(sizes - cap, 0).sum() for cap in rungs], dtype=float)

    def errors(epsilon: float) -> np.ndarray:
        return lost**2 + 2.0 * (12.0 * rungs / epsilon) ** 2

    def multiple(times: int) -> float:
        made = replace(choice("add_remove", 1024, Fraction(1, 5)), times=times)
        logs = np.array([math.log(weight) for weight in weights(made.ladder.rungs, times)])
        logs -= float(made.mechanism.rate) * np.array(made.scores(above(tuple(sizes.tolist()), made)))
        chances = np.exp(logs - logs.max())
        return math.sqrt(float((chances * errors(0.8)).sum() / chances.sum() / errors(1.0).min()))

    assert multiple(times_of(12, 0)) < 1.6 < 1.9 < multiple(1)


def test_the_share_that_the_schema_of_study_files_states_is_the_one_in_use() -> None:
    text = files("reticent.data").joinpath("study.schema.json").read_text("utf-8")
    stated = [
        words for words in text.split('"') if words.startswith("The share of each release that pays for choosing")
    ]
    assert len(stated) == 3
    assert all(f"{share} by default" in words for words in stated for share in {CAP_SHARE, BOUNDS_SHARE})


def test_a_cap_is_chosen_of_persons_with_several_rows_alone() -> None:
    with pytest.raises(SpecError, match="person column"):
        Person("add_remove", None, 4, ladder=CapLadder(4))
    with pytest.raises(QuestionError, match="at_most"):
        prepare(Setting(Schema({"x": real(0, 1)}, Person("add_remove", "who", 4)), None), EPSILON)


def test_a_guarantee_of_kept_rows_is_one_of_persons_with_more() -> None:
    made = choice("substitute")
    kept, whole = made.mechanism.guarantee, Adjacency("substitute", 9)
    lifted = compose.capped(kept, neighbours=whole)
    assert (lifted.loss, lifted.adjacency) == (PureDP(EPSILON), whole)
    assert compose.in_zcdp(lifted).loss == ZCDP(EPSILON**2 / 8)  # by the part's own pair, not by its epsilon
    for other in (Adjacency("add_remove", 9), Adjacency("substitute", 3), Adjacency("substitute", unit="row")):
        with pytest.raises(PublicParameterError):
            compose.capped(kept, neighbours=other)
