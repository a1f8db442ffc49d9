"""What a guarantee means: odds, tests, incentives and groups, against hand computation and exact enumeration."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from reticent.errors import PublicParameterError
from reticent.mechanisms.randomized_response import two_coins
from reticent.privacy import explain, numbers
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.convert import VIEW_DELTA, epsilon_delta
from reticent.privacy.explain import Meaning, meaning, meant, promise
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of
from reticent.privacy.numbers import percent_most
from reticent.privacy.pairs import Coin, SampledPair

ONE, LN3, NANO = Fraction(1), Fraction("1.09861228867"), Fraction(1, 10**9)
IN_OUT, REPLACED, LOCAL = Adjacency("add_remove"), Adjacency("substitute"), Adjacency("local")
SEVEN: tuple[Loss, ...] = (
    PureDP(ONE),
    ApproxDP(ONE, NANO),
    ZCDP(Fraction(1, 8)),
    ApproxZCDP(Fraction(1, 8), NANO),
    Renyi(((Fraction(8), Fraction(1)), (Fraction(32), Fraction(2)))),
    GaussianDP(Fraction(1, 4)),
    pld_of([(Coin(Fraction(1, 10)), 3)]),
)


# ---- the figures of the issue


def test_a_belief_of_ten_percent_ends_between_4_and_23_at_epsilon_1() -> None:
    moved = promise(PureDP(ONE)).odds
    assert (round(moved.low, 4), round(moved.high, 4)) == (0.0393, 0.2320)
    said = meaning(PureDP(ONE), IN_OUT)[1]
    assert "factor of at most 2.72. From 10 % to no more than 23.2 % and no less than 3.92 %." in said


@pytest.mark.parametrize(("epsilon", "printed"), [(1, "0.136"), (3, "0.953")])
def test_the_power_at_level_5_percent(epsilon: int, printed: str) -> None:
    assert f"{float(promise(PureDP(Fraction(epsilon))).power):.3f}" == printed


def test_three_records_that_go_together_have_a_factor_of_27_at_ln_3() -> None:
    assert promise(PureDP(LN3), steps=3).factor == pytest.approx(27, rel=1e-9)
    assert "people whose records go together: factor 27." in meaning(PureDP(LN3), LOCAL)[-2]


def test_what_a_record_says_costs_twice_under_add_remove() -> None:
    in_out, replaced = meant(PureDP(ONE), IN_OUT), meant(PureDP(ONE), REPLACED)
    assert in_out.presence is not None
    assert in_out.presence.epsilon == 1
    assert in_out.record.epsilon == 2
    assert replaced.presence is None
    assert replaced.record.epsilon == 1
    assert "factor 7.39; 10 % to at most 45.1 %" in in_out.lines()[2]
    assert f"{float(in_out.record.power):.3f}" == "0.369"  # e^2 / 20


# ---- groups


def test_a_group_has_its_own_delta() -> None:
    kept = promise(ApproxDP(ONE, NANO), steps=3)
    assert float(kept.delta / NANO) == pytest.approx(1 + math.e + math.e**2, rel=1e-9)
    assert "factor 20.1, failure chance 1 in 90 million." in meaning(ApproxDP(ONE, NANO), REPLACED)[-2]


def test_dependent_records_move_odds_by_the_whole_group_loss() -> None:
    """Three equal answers through two coins each: somebody who knows that they are equal sees e^{3 eps} at worst."""
    coins = two_coins()
    yes, no = (coins.distribution(truth) for truth in ("yes", "no"))
    worst = max(
        math.prod(yes[heard] for heard in all_heard) / math.prod(no[heard] for heard in all_heard)
        for all_heard in itertools.product(("yes", "no"), repeat=3)
    )
    assert worst == 27
    assert promise(coins.guarantee.loss, steps=3).factor == pytest.approx(27, rel=1e-9)
    assert promise(coins.guarantee.loss).factor < 27  # the mutant without ``times``


def test_nothing_is_promised_to_a_group_whose_delta_reaches_one() -> None:
    kept = promise(ApproxDP(Fraction(3), Fraction(1, 1000)), steps=4)
    assert kept.loss is None
    assert kept.delta == kept.power == 1
    assert kept.factor == math.inf
    assert (kept.odds.low, kept.odds.high, kept.chance(0.001), kept.cost(1.0, 5.0)) == (0.0, 1.0, 1.0, 5.0)
    assert "nothing is promised" in meant(ApproxDP(Fraction(3), Fraction(1, 1000)), REPLACED, members=4).lines()[-2]
    assert promise(ApproxDP(Fraction(10**200), NANO), steps=2).delta == 1  # and it is said at once


def test_a_loss_without_a_group_theorem_is_grouped_as_epsilon_and_delta() -> None:
    for loss in (ApproxZCDP(Fraction(1, 100), NANO), pld_of([(SampledPair(Coin(Fraction(1, 10)), Fraction(1, 2)), 1)])):
        epsilon, delta = epsilon_delta(loss)
        kept = promise(loss, steps=2)
        assert kept.epsilon == 2 * epsilon
        assert delta < kept.delta < 10 * delta


# ---- tests of who is in the file


def subsets(outputs: int) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(range(outputs), size) for size in range(outputs + 1))


def coin_laws(epsilon: Fraction, delta: Fraction) -> tuple[list[float], list[float]]:
    """The worst pair with these epsilon and delta: it tells with delta, else answers with odds e^epsilon."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    rest, tells = float(1 - delta), float(delta)
    return [tells, rest * p, rest * (1 - p), 0.0], [0.0, rest * (1 - p), rest * p, tells]


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0"), ("3", "0"), ("1", "0.01"), ("0.2", "0.1")])
def test_no_test_beats_the_power_and_the_worst_pair_attains_it(epsilon: str, delta: str) -> None:
    """Every deterministic test on the worst pair, and mixtures of two of them that use the level up."""
    loss = ApproxDP(Fraction(epsilon), Fraction(delta))
    here, there = coin_laws(loss.epsilon, loss.delta)
    points = {(sum(there[i] for i in says), sum(here[i] for i in says)) for says in subsets(4)}
    for level in ("0.01", "0.05", "0.2", "0.5"):
        stated = float(promise(loss, level=Fraction(level)).power)
        best = max(
            found + (float(level) - errs) / (errs2 - errs) * (found2 - found)
            for (errs, found), (errs2, found2) in itertools.permutations(points, 2)
            if errs <= float(level) < errs2
        )
        assert best <= stated + 1e-9
        assert best == pytest.approx(stated, abs=1e-9)


def test_the_words_never_state_a_power_too_low() -> None:
    assert [numbers.percent_up(Fraction(x)) for x in ("0.136", "0.953", "0.05", "0", "1", "0.9991", "0.00123")] == [
        "14 %",
        "96 %",
        "5 %",
        "0 %",
        "100 %",
        "99.91 %",
        "0.13 %",
    ]


def test_a_chance_is_never_said_to_be_smaller_than_it_is() -> None:
    said = {"1e-9": "a billion", "11e-9": "90 million", "1/7": "7", "0.3": "3.3", "1": "1", "1/19999": "19,000"}
    said |= {"1e-3": "a thousand", "1e-8": "100 million", "1e-20": "10^20", "3e-400": "10^399", "1/999": "990"}
    assert {delta: numbers.chance(Fraction(delta)) for delta in said} == {d: f"1 in {s}" for d, s in said.items()}


# ---- incentives


def worst_cost(here: list[float], there: list[float], allowed: Callable[[float], float]) -> float:
    """How far the expected cost exceeds ``allowed``, over all costs 0 or 1 of an output: the extremes of [0, 1]."""
    return max(sum(here[i] for i in paid) - allowed(sum(there[i] for i in paid)) for paid in subsets(len(here)))


def test_two_coins_attain_the_incentive_bound_and_never_pass_it() -> None:
    """Exactly: over all events of the answer, P(A | yes) is at most 3 P(A | no), and equal where A is hearing yes."""
    coins = two_coins()
    yes, no = (list(coins.distribution(truth).values()) for truth in ("yes", "no"))
    found = [(sum(yes[i] for i in paid), sum(no[i] for i in paid)) for paid in subsets(2)]
    assert all(one <= 3 * other and other <= 3 * one for one, other in found)
    assert any(one == 3 * other > 0 for one, other in found)
    kept = promise(coins.guarantee.loss)
    assert kept.chance(0.25) == pytest.approx(0.75, abs=1e-9)
    assert kept.cost(100.0) == pytest.approx(300.0, abs=1e-6)


def test_the_incentive_bound_needs_its_delta() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 20)
    here, there = coin_laws(epsilon, delta)
    kept = promise(ApproxDP(epsilon, delta))
    assert worst_cost(here, there, lambda cost: kept.cost(cost, 1.0)) == pytest.approx(0, abs=1e-12)
    without = promise(PureDP(epsilon))
    assert worst_cost(here, there, lambda cost: without.cost(cost)) == pytest.approx(0.05, abs=1e-12)


def test_the_incentive_of_a_group_is_not_m_times_delta() -> None:
    """A chain of three laws, each step (eps, delta), whose ends need e^eps delta + delta."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    e = math.e
    first = [0.0, 1.0]
    second = [0.01, 0.99]
    third = [0.01 * e + 0.01, 1 - 0.01 * e - 0.01]  # each step: P(first output) grows by e^eps and delta
    two = promise(ApproxDP(epsilon, delta), steps=2)
    assert third[0] == pytest.approx(two.cost(0.0, 1.0), rel=1e-12)
    assert third[0] > two.factor * first[0] + 2 * 0.01  # the mutant: delta multiplied by the number of steps
    assert all(sum(law) == pytest.approx(1) for law in (first, second, third))


def test_a_cost_with_delta_needs_its_largest_value() -> None:
    kept = promise(ApproxDP(ONE, NANO))
    with pytest.raises(PublicParameterError, match="largest"):
        kept.cost(1.0)
    assert kept.cost(0.0, 10.0**9) == pytest.approx(1.0)
    assert kept.cost(9.0, 10.0) == 10.0
    for expected, largest in ((-1.0, None), (math.nan, None), (2.0, 1.0)):
        with pytest.raises(PublicParameterError):
            promise(PureDP(ONE)).cost(expected, largest)
    with pytest.raises(PublicParameterError):
        kept.chance(1.5)


# ---- what delta means for odds


@pytest.mark.parametrize("delta", ["0.001", "0.1"])
def test_odds_pass_a_factor_a_tenth_larger_with_a_chance_of_at_most_11_delta(delta: str) -> None:
    """On the worst pair blurred so that its failures hide among outputs that other laws give too."""
    here, there = coin_laws(ONE, Fraction(delta))
    hidden = 0.004
    mixed = [(p + hidden * q, q + hidden * p) for p, q in zip(here, there, strict=True)]
    factor, rare = promise(ApproxDP(ONE, Fraction(delta))).beyond
    assert float(rare) == pytest.approx(11 * float(delta) if float(delta) < 1 / 11 else 1.0)
    chance = sum(p for p, q in mixed if p > factor * q) / (1 + hidden)
    assert float(delta) / 2 < chance <= float(rare)


# ---- all losses, all neighbours


@pytest.mark.parametrize("loss", SEVEN, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("kind", ["add_remove", "substitute", "local"])
def test_every_loss_is_put_in_words(loss: Loss, kind: Kind) -> None:
    told = meant(loss, Adjacency(kind), spent=loss, budget=PureDP(Fraction(3)))
    lines = told.lines()
    assert lines == meaning(loss, Adjacency(kind), spent=loss, budget=PureDP(Fraction(3)))
    text = "\n".join(lines)
    assert "inf" not in text.split()
    assert "nan" not in text
    assert (told.presence is not None) == (kind == "add_remove") == ("in the file (if" in text)
    assert ("the number of people is public" in text) == (kind == "substitute")
    assert ("failure chance" in text) == (told.own.delta > 0)
    assert "A test may try to tell" in text
    assert "multiplies its chance" in text
    assert Fraction(1, 20) < told.own.power <= told.together.power <= 1


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (PureDP(ONE), Fraction(0)),
        (ApproxDP(ONE, Fraction(1, 7)), Fraction(1, 7)),
        (GaussianDP(ONE), VIEW_DELTA),
        (ApproxZCDP(ONE, Fraction(1, 7)), Fraction(1, 7) + VIEW_DELTA),
        (pld_of([(Coin(Fraction(1, 10), Fraction(1, 100)), 2)]), Fraction(1, 50) + VIEW_DELTA),
        (PLD(()), VIEW_DELTA),
    ],
)
def test_a_loss_is_viewed_at_a_delta_it_can_reach(loss: Loss, delta: Fraction) -> None:
    assert epsilon_delta(loss)[1] == delta


def test_spent_and_budget_are_read_from_their_own_losses() -> None:
    told = meant(PureDP(ONE), IN_OUT, spent=PureDP(Fraction("1.2")), budget=PureDP(Fraction(3)))
    assert told.spent is not None
    assert told.budget is not None
    assert [round(after.factor, 2) for _, after in (told.spent, told.budget)] == [3.32, 20.09]
    assert told.lines()[-2].endswith("by the time of this release (ε 1.2): 3.33. If all of ε 3 is spent: 20.1.")


def test_what_is_asked_is_refused_where_it_has_no_meaning() -> None:
    with pytest.raises(PublicParameterError, match="group"):
        promise(PureDP(ONE), steps=0)
    with pytest.raises(PublicParameterError, match="prior"):
        promise(PureDP(ONE), prior=1.0)
    with pytest.raises(PublicParameterError, match="level"):
        promise(PureDP(ONE), level=ONE)


def test_the_examples_of_the_page_hold() -> None:
    page = Path(__file__).parents[2] / "docs" / "theory" / "meaning.md"
    names: dict[str, object] = {}
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 9
    for block in found:
        exec(compile(block, str(page), "exec"), names)


def test_failures_that_add_up_to_one_promise_nothing() -> None:
    lost = pld_of([(Coin(ONE, Fraction(1, 2)), 2)])
    assert promise(lost).loss is None
    assert promise(lost, steps=2).delta == 1
    assert meaning(lost, IN_OUT)[1].startswith("What is promised: nothing.")
    assert meaning(PureDP(ONE), IN_OUT, spent=lost)[-2].endswith("(coin (ε 1, δ 0.5) x 2): no limit.")


def test_meaning_holds_at_absurd_losses() -> None:
    told: Meaning = meant(PureDP(Fraction(10**290)), IN_OUT)
    assert told.own.power == 1
    assert "from 10 % to no more than 100 %" in told.lines()[1].replace("From", "from")
    assert [numbers.percent(x) for x in (0.9995, 0.99999, 0.232, 0.00047)] == [
        "99.95 %",
        "100 %",
        "23 %",
        "0.047 %",
    ]


@pytest.mark.parametrize(
    ("loss", "numbers"),
    [
        (PureDP(Fraction(1, 10)), ("0.1", "0", None)),
        (ApproxDP(Fraction(2), Fraction(1, 10**9)), ("2", "1e-9", None)),
        (ZCDP(Fraction(1, 4)), (None, "0", "0.25")),
        (ApproxZCDP(Fraction(1, 4), Fraction(1, 1000)), (None, "0.001", "0.25")),
    ],
)
def test_a_guarantee_is_given_as_data_beside_its_sentence(loss: Loss, numbers: tuple[str | None, ...]) -> None:
    people = Adjacency("substitute", rows=3)
    found = explain.as_data(loss, people)
    assert tuple(found[name] for name in ("epsilon", "delta", "rho")) == numbers
    assert found["words"] == explain.sentence(loss, people)
    assert (found["adjacency"], found["unit"], found["rows"]) == ("substitute", "person", 3)


@pytest.mark.parametrize("epsilon", ["1/100", "1", "2", "2.3", "3", "5", "8", "12", "40"])
def test_the_line_of_a_release_has_one_form_for_its_chances(epsilon: str) -> None:
    """It had "1 in 182 and 69.1 %", and of a small epsilon chances of one form, of a large one of the other."""
    said = explain.sentence(PureDP(Fraction(epsilon)), Adjacency("add_remove")).split("Someone")[1]
    assert said.count("%") == 3
    assert "1 in " not in said
    assert percent_most(explain.odds(Fraction(epsilon), 0.1).high) in said
