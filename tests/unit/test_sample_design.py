"""Strata and public margins of a sample, as people say them: study file, Python, SQL; refusals before the charge."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.data.study_file import read_spec
from reticent.errors import QuestionError, Refusal, SpecError
from tests.unit.test_weights import FILE, MUCH

ROWS = {
    "w": [2.0, 2.0, 2.0, 4.0] * 100,
    "x": [1, 2, 3, 8] * 100,
    "h": ["n", "n", "n", "s"] * 100,
    "sex": ["f", "f", "m", "m"] * 100,
}
COLUMNS: dict[str, Column] = {
    "w": rt.real(0, 4),
    "x": rt.integer(0, 9),
    "h": rt.category(["n", "s"]),
    "sex": rt.category(["f", "m"]),
}
SIZES = {"f": 600, "m": 200}
STRATA: dict[str, Any] = {"weights": "fixed", "strata": "h"}
MARGINS: dict[str, Any] = {"weights": "fixed", "margins": {"sex": SIZES}}


def study(design: object, **given: Any) -> rt.Study:
    return rt.study(
        ROWS,
        adjacency="add_remove",
        columns=COLUMNS,
        budget=90_000,
        override="a test",
        weight="w",
        design=design,  # type: ignore[arg-type]
        **given,
    )


def test_answers_of_all_rows_are_calibrated_to_public_margins() -> None:
    """Of women the weighted mean is 1.5, of men 6.33: the sample has them at 2 to 3, the population at 3 to 1."""
    asked = ["mean(x)", "sum(x)", "proportion(h, value=s)", "mean(x) where x > 0", "count"]
    found = study(MARGINS).release(asked, epsilon=900, record=MUCH)
    mean = (3 * 1.5 + (2 * 3 + 4 * 8) / 6) / 4
    assert found["mean(x) weight w"].value == pytest.approx(mean, abs=0.01)
    assert found["sum(x) weight w"].value == pytest.approx(800 * mean, abs=8)
    assert found["proportion(h, value=s) weight w"].value == pytest.approx((4 / 6) / 4, abs=0.01)
    told = found["mean(x) weight w"]
    assert ", calibrated to public sizes of sex: f 600, m 200" in told.estimand
    assert "rows without a readable sex do not count" in told.caveats
    assert not any("not calibrated" in caveat for caveat in told.caveats)
    for name in ("mean(x) weight w where x > 0", "count weight w"):
        assert "calibrated to public sizes" not in found[name].estimand
        assert "not calibrated to the margins of sex" in found[name].caveats
    assert found["mean(x) weight w where x > 0"].value == pytest.approx((2 * (1 + 2 + 3) + 4 * 8) / 10, abs=0.02)


def test_calibration_needs_enough_rows_in_every_group() -> None:
    lone = {**ROWS, "sex": ["f"] * 399 + ["m"]}
    held = rt.study(lone, adjacency="add_remove", columns=COLUMNS, budget=9, weight="w", design=MARGINS, people=40_000)
    assert isinstance(held.release(["mean(x)"], epsilon=1)["mean(x) weight w"].outcome, rt.NoReply)


def test_strata_take_off_what_their_totals_differ_by() -> None:
    """Within n the values are 1 to 3, within s always 8; weights are the same within each."""
    plain = study("fixed").release(["mean(x)", "sum(x)"], epsilon=800, record=MUCH)
    within = study(STRATA).release(["mean(x)", "sum(x)", "mean(x) by sex", "median(x)"], epsilon=1600, record=MUCH)
    for name in ("mean(x) weight w", "sum(x) weight w"):
        assert within[name].value == pytest.approx(plain[name].value, rel=0.02)
        assert within[name].estimate.sampling < 0.5 * plain[name].estimate.sampling
        assert any("within strata of h of fixed size" in caveat for caveat in within[name].caveats)
    for name in ("mean(x) weight w by sex", "median(x) weight w"):
        assert any("nothing off for strata" in caveat for caveat in within[name].caveats)


def test_a_fraction_of_each_stratum_is_taken_off_and_elsewhere_the_least() -> None:
    design = {**STRATA, "fraction": {"n": "0.75", "s": "0.19"}}
    plain, finite = (study(one).release(["mean(x)"], epsilon=800, record=MUCH) for one in (STRATA, design))
    one, other = (found["mean(x) weight w"].estimate.sampling for found in (plain, finite))
    assert other == pytest.approx(one * 0.5, rel=0.1)  # all that varies is within n
    assert "of the strata were drawn: n 75 %, s 19 %" in "; ".join(finite["mean(x) weight w"].caveats)
    held = study(design).release(["count by sex"], epsilon=800, record=MUCH)
    assert any("19 % of the population was drawn" in caveat for caveat in held["count weight w by sex"].caveats)


def test_strata_take_nothing_off_where_rows_come_in_clusters_or_of_persons() -> None:
    clustered = study({**STRATA, "cluster": 2}).release(["mean(x)"], epsilon=800, record=MUCH)
    assert any("nothing off for strata" in caveat for caveat in clustered["mean(x) weight w"].caveats)


def test_a_plan_tells_what_strata_and_margins_cost() -> None:
    """A fifth of the price goes to strata; the noise of margins is that of every group."""
    (plain, *_), (strata, *_), (margins, *_) = (
        study(one, people=5_000).plan(["mean(x)"], epsilon=1).lines for one in ("fixed", STRATA, MARGINS)
    )
    assert plain.expected.noise is not None
    assert strata.expected.noise == pytest.approx(plain.expected.noise * 5 / 4)
    assert "what strata take off is not planned" in strata.expected.note
    assert margins.expected.noise is not None
    assert margins.expected.noise > plain.expected.noise
    assert "groups drawn in proportion to their sizes" in margins.expected.note


def test_a_select_asks_the_same() -> None:
    held = study(MARGINS)
    found = held.sql("SELECT AVG(x) AS m, MEDIAN(x) AS h FROM study", epsilon=900, record=MUCH)
    names = [*found.release]
    assert names == ["mean(x) weight w", "median(x) weight w"]
    assert "public sizes of sex: f 600, m 200" in found.release["mean(x) weight w"].estimand


def test_a_select_names_a_weight_of_its_own() -> None:
    held = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=9_000, override="a test", design="fixed")
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (weight = {}) AVG(x) AS m, COUNT(*) AS n FROM study"
    weighted = held.sql(options.format("w"), epsilon=900, record=MUCH)
    assert [*weighted.release] == ["mean(x) weight w", "count weight w"]
    assert weighted.release["count weight w"].value == pytest.approx(1_000, abs=5)
    plain = study("fixed").sql(options.format("1"), epsilon=900, record=MUCH)
    assert [*plain.release] == ["mean(x)", "count"]
    with pytest.raises(Refusal, match="takes no weight"):
        held.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (weight = w) STDDEV(x) FROM study", epsilon=1)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({**MARGINS, "margins": {"sex": {"f": 600}}}, "one number for each of its keys f, m, got f"),
        ({**MARGINS, "margins": {"x": SIZES}}, "margins are of a category"),
        ({**MARGINS, "margins": {"age": SIZES}}, "no column 'age'"),
        ({**STRATA, "strata": "x"}, "strata are of a category"),
        ({**STRATA, "fraction": {"n": "0.1", "west": "0.1"}}, "one number for each of its keys n, s"),
    ],
)
def test_groups_of_a_design_are_those_of_a_category(design: object, words: str) -> None:
    held = study(design)
    before = held.ledger.left()
    with pytest.raises(Refusal, match=words):
        held.release(["mean(x)"], epsilon=1)
    assert held.ledger.left() == before


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({**MARGINS, "margins": {"sex": {"f": 600, "m": 0}}}, "sizes above 0"),
        ({**MARGINS, "margins": {"sex": SIZES, "h": {"n": 1, "s": 2}}}, "margins are of one column"),
        ({**MARGINS, "margins": {"sex": 3}}, "one number for each key"),
        ({"weights": "fixed", "fraction": {"n": "0.1"}}, "name their column, strata"),
        ({**STRATA, "fraction": {"n": "0.1", "s": "1"}}, "no sample"),
        ({**MARGINS, "weights": "calibrated"}, "answers are then calibrated here"),
    ],
)
def test_a_design_that_cannot_be_used_is_refused_when_it_is_read(design: object, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        study(design)


def test_a_study_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(design='{ weights = "fixed", strata = "h", fraction = { n = "0.1", s = 0.25 } }'))
    design = read_spec(file).schema.design
    assert design is not None
    assert design.fractions == (("n", Fraction(1, 10)), ("s", Fraction(1, 4)))
    assert (design.strata, design.fraction) == ("h", Fraction(1, 10))
    file.write_text(FILE.format(design='{ weights = "fixed", margins = { sex = { f = 51000, m = 49000 } } }'))
    margins = read_spec(file).schema.design.margins  # type: ignore[union-attr]
    assert margins is not None
    assert (margins.column, margins.total) == ("sex", 100_000)


def test_strata_and_margins_hold_for_a_person_column_where_nothing_is_taken_off() -> None:
    rows = {**ROWS, "who": [f"p{place // 2}" for place in range(400)]}
    held = rt.study(
        rows,
        adjacency="substitute",
        person="who",
        rows_each=2,
        columns=COLUMNS,
        budget=90_000,
        override="a test",
        weight="w",
        design=STRATA,
    )
    found = held.release(["mean(x)"], epsilon=800, record=MUCH)["mean(x) weight w"]
    assert any("nothing off for strata" in caveat for caveat in found.caveats)
    with pytest.raises(QuestionError, match="leave out per=person"):
        held.plan(["mean(x, per=person)"], epsilon=1)


def test_fits_and_sessions_of_a_weighted_study_are_refused() -> None:
    """They would be of the rows as they are: a study without weight says so."""
    from reticent.learning import LinearRegression

    held = study("fixed")
    doors = (
        lambda: held.xy(["x"], "w"),
        lambda: held.model_plan(LinearRegression(epsilon=1), ["x"], "w"),
        lambda: held.sparse_vector(["x"], epsilon=1, positives=1),
        lambda: held.leaderboard(["x"], epsilon=1, improvements=1, step="0.1"),
        lambda: held.holdout(["x"], epsilon=1, rounds=1, threshold="0.1"),
        lambda: held.noisy_answers(["x"], rho="0.1", answers=1),
        lambda: held.session_plan("sparse_vector", ["x"], epsilon=1, answers=1),
    )
    for door in doors:
        with pytest.raises(QuestionError, match="takes no weight, and this study has one: weight w"):
            door()
    assert held.left() == rt.PureDP(Fraction(90_000))


def test_a_plan_costs_what_the_options_of_its_statement_say() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 3) AVG(x) FROM study"
    held = study("fixed")
    assert held.plan(text).guarantee.loss == rt.PureDP(Fraction(3))
    assert held.plan(text, epsilon=2).guarantee.loss == rt.PureDP(Fraction(2))
    assert held.rehearse(text).guarantee.loss == rt.PureDP(Fraction(3))
