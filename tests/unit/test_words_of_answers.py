"""What tests of hypotheses and sessions answer, as people see it printed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.render.page import fragment, page
from reticent.cli import layout
from reticent.ledger import Ledger
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.sessions.above_threshold import Above, Below
from reticent.sessions.holdout import Checked
from reticent.sessions.leaderboard import Standing
from reticent.study.release import Release

ESTIMATE = Estimate(0.28356261771202684, 0.26693280633918026, 0.3001924290848734, 0.005, 0.011)


@pytest.fixture(scope="module")
def made() -> Release:
    rows = np.random.default_rng(1)
    study = rt.study(
        {"age": rows.integers(18, 91, 500), "sex": rows.choice(["f", "m"], 500)},
        adjacency="add_remove",
        columns={"age": rt.integer(18, 90), "sex": rt.category(["f", "m"])},
        budget=5,
    )
    return study.release([rt.test("age ~ sex"), rt.test("age"), rt.count()], epsilon=3)


def test_the_statistic_of_a_test_has_no_interval_wherever_it_is_printed(made: Release) -> None:
    effect, statistic, p = made["test(age ~ sex)"]
    assert statistic.as_it_is
    assert not effect.as_it_is
    assert p.as_it_is
    printed = repr(made).splitlines()
    assert "95 %" in printed[0]
    assert "95 %" not in printed[1]
    assert "95 %" not in printed[2]
    assert "95 %" not in str(made["test(age ~ sex)"]).splitlines()[1]
    assert layout.numbers(statistic, discrete=False)[1] == "–"
    assert layout.numbers(effect, discrete=False)[1] != "–"
    for text in (page(made.certificate), fragment(made.certificate)):
        row = text.partition(">statistic<" if ">statistic<" in text else "· statistic<")[2].partition("</tr>")[0]
        assert "<td" in row
        assert " to " not in row


def test_the_parts_of_a_test_are_named_without_the_name_of_their_axis(made: Release) -> None:
    assert [layout.label(cell) for cell in made["test(age ~ sex)"]] == [
        "difference of means (f less m)",
        "statistic",
        "p-value",
    ]
    assert "test p-value" not in page(made.certificate)
    assert "[statistic]" in str(made["test(age ~ sex)"])


def test_caveats_of_several_tests_say_which_test_is_meant(made: Release) -> None:
    found = made.certificate.caveats
    found = tuple(text for text in found if not text.endswith("they are left out"))  # shares of odd cells
    assert len(found) == 2
    assert found[0].startswith("test(age ~ sex): kind auto: means")
    assert found[1].startswith("test(age): kind auto: normal")
    assert all(text in found[0] or text in made.caveats for text in made["test(age ~ sex)"].caveats)


def test_only_the_effect_of_a_test_has_a_bar_in_a_notebook(made: Release) -> None:
    assert fragment(made.certificate).count("<svg") == 3  # two effects and the count


def test_the_answers_of_sessions_are_printed_in_words() -> None:
    assert str(Above(ESTIMATE)) == "above: 0.2836 (95 % 0.2669 to 0.3002)"
    assert str(Above(None)) == "above"
    assert str(Below()) == "below"
    assert str(Checked(0.51234, "training", None)) == "0.5123, by the training rows"
    blind = "0.6, as claimed: the holdout's mean is within ±0.31 at 95 %"
    assert str(Checked(0.6, "claim", None, 0.3123)) == blind
    assert str(Checked(0.28, "holdout", ESTIMATE)) == "0.2836 (95 % 0.2669 to 0.3002), by the holdout rows"
    assert str(Standing(True, 0.28, ESTIMATE)) == "improved: 0.2836 (95 % 0.2669 to 0.3002)"
    assert str(Standing(False, 0.28, None)) == "no step above the best, 0.28"


def test_a_loss_and_a_ledger_are_printed_in_words() -> None:
    ledger = Ledger.create(None, title="t", adjacency=Adjacency("add_remove"), budget=PureDP(Fraction(4)))
    ledger.reserve(PureDP(Fraction(1, 4)), adjacency=Adjacency("add_remove"), what="x", who="w", purpose="")
    assert str(ledger.left()) == "ε 3.75"
    assert str(ledger) == "the ledger in memory: ε 0.25 spent, ε 3.75 left"
    assert repr(ledger.left()) == "PureDP(epsilon=Fraction(15, 4))"


def test_how_one_of_several_answers_was_drawn_is_told_with_its_name() -> None:
    study = rt.study({"x": [0.5] * 900}, adjacency="add_remove", columns={"x": rt.real()}, budget=5)
    found = study.release(["iqr(x)", "mean(x, method=clipped)"], epsilon=2).certificate.caveats
    assert "iqr(x): by joint exponential mechanisms" in found
    assert "by joint exponential mechanisms" not in found
    assert "by joint exponential mechanisms" in study.release(["iqr(x)"], epsilon=1).certificate.caveats
