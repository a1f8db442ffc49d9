"""Estimates from answers and from files: counted, checked, never guessed."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from reticent import survey
from reticent.entropy import Replayed
from reticent.errors import CheckError, PublicParameterError, QuestionError, SpecError
from reticent.privacy.loss import words
from reticent.survey import Design, device, report
from reticent.survey.estimate import simplex
from reticent.survey.tally import tally
from reticent.survey.tokens import heard, token

COINS = survey.two_coins("Have you had an affair while married?")
FIVE = ["a", "b", "c", "d", "e"]


def test_a_result_prints_estimate_interval_and_design_effect() -> None:
    """6366 answers, 2600 yes: (0.40842 - 0.25) / 0.5 = 0.31684; Wilson mapped and rounded."""
    result = COINS.estimate({"yes": 2600, "no": 3766})
    assert str(result) == "31.7 % (95 % 29.2 to 34.2), design effect 4.5"
    assert result.value == pytest.approx((2600 / 6366 - 0.25) / 0.5)
    assert result.low < result.value < result.high
    heard_share = 2600 / 6366
    total = 1.959964 * (heard_share * (1 - heard_share) / 6366) ** 0.5 / 0.5
    assert result.noise**2 + result.sampling**2 == pytest.approx(total**2, rel=1e-6)


def test_an_estimate_out_of_range_is_kept_and_clipped_only_where_it_is_shown() -> None:
    result = COINS.estimate(["yes"] * 230 + ["no"] * 770)
    assert result.value == pytest.approx(-0.04)
    assert str(result).startswith("0.0 % (95 % 0.0 to ")
    assert "Clipped for display: the unbiased estimate is -4 %" in str(result)
    assert result.design_effect is None


def test_what_is_no_answer_is_counted_and_not_guessed() -> None:
    result = COINS.estimate(["yes"] * 40 + ["no"] * 60 + ["dunno"] * 3 + [None, "", float("nan"), " "])
    assert (result.answers, result.off_list, result.missing) == (100, 3, 4)
    assert "4 of 107 gave no answer and are not in the estimate." in result.caveats
    assert any(line.startswith("3 of 107 answers are none this design can give") for line in result.caveats)
    assert result.value == COINS.estimate(["yes"] * 40 + ["no"] * 60).value
    with pytest.raises(PublicParameterError, match=r"no answer to estimate from\. 1 of 1 answers are none"):
        COINS.estimate(["dunno"])


def test_shares_below_the_least_possible_are_said_to_be_suspect() -> None:
    suspect = COINS.estimate({"yes": 190, "no": 810})
    assert any("fewer than the 250 expected if nobody's truth is 'yes'" in line for line in suspect.caveats)
    assert any("more than the 750 expected" in line for line in COINS.estimate({"yes": 810, "no": 190}).caveats)
    assert not any("expected" in line for line in COINS.estimate({"yes": 235, "no": 765}).caveats)  # p 0.15
    one_sided = survey.one_sided("x", truth="1/2")
    assert any("fewer" in line for line in one_sided.estimate({"yes": 440, "no": 560}).caveats)


def test_answers_that_contradict_the_design_have_no_estimate() -> None:
    """A column of Yes and no gave "0.0 %" with an interval: every yes was left out."""
    with pytest.raises(CheckError, match=r"no estimate.*contradicts the design.*Did you mean 'yes'\? Capitals count\."):
        COINS.estimate(["Yes"] * 320 + ["no"] * 680)
    with pytest.raises(CheckError, match="contradicts the design"):
        COINS.estimate({"yes": 1000, "no": 0})
    assert COINS.estimate(["Yes"] * 3 + ["yes"] * 40 + ["no"] * 60).caveats[-1].endswith("Capitals count.")
    with pytest.raises(PublicParameterError, match="Did you mean 'yes' or 'no'"):
        COINS.estimate(["YES", "No"])


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_survey_that_follows_its_design_has_an_estimate(share: float) -> None:
    """At nobody's and everybody's truth: the counts of 1e-5 tails are noted, and estimated."""
    from scipy.stats import binom

    for tail in (1e-5, 1 - 1e-5):
        heard = int(binom.ppf(tail, 5000, share))
        assert COINS.estimate({"yes": heard, "no": 5000 - heard}).answers == 5000


def test_json_has_what_the_result_has() -> None:
    result = COINS.estimate(["yes"] * 40 + ["no"] * 60, groups={"region": ["n"] * 30 + ["s"] * 70})
    plain = json.loads(result.dumps())
    assert plain["shares"][0]["value"] == result.value
    assert set(plain["groups"]["region"]) == {"n", "s"}
    assert plain["groups"]["region"]["n"]["answers"] == 30


def test_subgroups_are_estimates_of_their_own() -> None:
    answers = ["yes"] * 30 + ["no"] * 30 + ["yes"] * 25 + ["no"] * 75
    result = COINS.estimate(answers, groups={"region": ["north"] * 60 + ["south"] * 100})
    parts = result.by("region")
    assert parts["north"].value == pytest.approx(0.5)
    assert parts["south"].value == pytest.approx(0.0)
    with pytest.raises(QuestionError):
        result.by("sex")
    with pytest.raises(PublicParameterError, match="one value for each"):
        COINS.estimate(answers, groups={"region": ["north"]})


def test_several_answers_are_consistent_and_hold_together() -> None:
    design = survey.choice("Which?", FIVE, epsilon=1)
    result = design.estimate({"a": 640, "b": 250, "c": 250, "d": 190, "e": 270})
    assert sum(share.value for share in result) == pytest.approx(1)
    assert sum(share.consistent for share in result) == pytest.approx(1)
    assert result["d"].value < 0 <= result["d"].consistent
    for share in result:
        assert share.together[0] < share.low < share.value < share.high < share.together[1]
    with pytest.raises(QuestionError):
        _ = result.value
    with pytest.raises(QuestionError):
        result["z"]


def test_the_projection_is_the_nearest_point_of_the_simplex() -> None:
    values = np.array([0.6, -0.1, 0.45, 0.05])
    near = simplex(values)
    assert near.sum() == pytest.approx(1)
    assert near.min() >= 0
    grid = [
        np.array([a, b, c, 20 - a - b - c]) / 20 for a in range(21) for b in range(21 - a) for c in range(21 - a - b)
    ]
    assert ((near - values) ** 2).sum() <= min(((point - values) ** 2).sum() for point in grid)
    assert simplex(np.array([0.2, 0.3, 0.5])) == pytest.approx([0.2, 0.3, 0.5])


@pytest.mark.parametrize("method", ["kary", "unary", "optimised_unary", "subset", "hadamard", "hashing"])
def test_counting_at_once_is_counting_one_by_one(method: str) -> None:
    design = survey.choice("Which?", [f"a{n}" for n in range(11)], epsilon=1, method=method)  # type: ignore[arg-type]  # the list above
    many = device.many(design, [f"a{n % 11}" for n in range(300)], Replayed(method))
    tokens = [device.one(design, f"a{n % 11}", Replayed(f"{method} {n}")) for n in range(300)]
    for given in (many, tokens):
        found = tally(design, given)
        assert found.answers == 300
        texts = [str(text) for text in given] if given is tokens or many.dtype.kind == "U" else as_tokens(design, many)
        assert found.support.tolist() == [sum(supports(design, text, place) for text in texts) for place in range(11)]


def as_tokens(design: Design, many: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> list[str]:
    if many.ndim == 2:
        return ["".join(str(int(bit)) for bit in row) for row in many.tolist()]
    return [token(design, int(number)) for number in many.tolist()]


def supports(design: Design, text: str, place: int) -> bool:
    """Slowly, from the definition of each method."""
    match design.method:
        case "kary":
            return design.among[place] == text
        case "hadamard":
            return bin(int(text) & (place + 1)).count("1") % 2 == 0
        case "hashing":
            function, value = (int(part) for part in text.split(":"))
            base = int(design.settings["values"])
            digits = [(function // base**j % base) * (place // base**j % base) for j in range(8)]
            return bool(sum(digits) % base == value)
        case _:
            return text[place] == "1"


@pytest.mark.parametrize("method", ["kary", "unary", "subset", "hadamard", "hashing"])
def test_tokens_that_the_design_cannot_say_are_off_the_list(method: str) -> None:
    design = survey.choice("Which?", FIVE, epsilon=1, method=method)  # type: ignore[arg-type]  # the list above
    for text in ("z", "2", "11111", "000000", "-1", "8", "01", "1:9", "999999:0", "1:", ":1", "1:1:1", "x", "٣"):
        number = heard(design, text)
        assert number is None or token(design, number) == text
    assert heard(design, "z") is None


def test_bits_and_numbers_that_no_design_sends_are_counted_apart() -> None:
    subset = survey.choice("Which?", FIVE, epsilon="0.5", method="subset")
    bits = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [2, 0, 0, 0, 0]])
    found = tally(subset, bits)
    assert (found.answers, found.off_list) == (1, 2)
    hashed = survey.choice("Which?", FIVE, epsilon=1, method="hashing")
    assert tally(hashed, np.array([0, -1, 10**9])).off_list == 2
    with pytest.raises(PublicParameterError):
        tally(COINS, np.array([0, 1]))
    with pytest.raises(PublicParameterError):
        tally(hashed, bits)
    with pytest.raises(PublicParameterError):
        tally(COINS, {"yes": -1})


def test_a_mean_is_unbiased_in_its_own_units() -> None:
    design = survey.mean("How old?", 18, 98, epsilon=2, method="piecewise")
    law = design.distribution(Fraction(30))
    result = design.estimate({place: round(float(chance) * 10**9) for place, chance in law.items()})
    assert result.value == pytest.approx(30, abs=1e-4)
    assert result.limits == (18.0, 98.0)
    assert str(result).startswith("30.0000 (95 % 29.99")
    assert result.noise**2 + result.sampling**2 == pytest.approx((result.high - result.value) ** 2)


def test_a_plot_has_a_line_for_each_answer() -> None:
    pytest.importorskip("matplotlib")
    figure = survey.choice("Which?", FIVE, epsilon=1).estimate(dict.fromkeys(FIVE, 20)).plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == FIVE


# --- files ------------------------------------------------------------------------------------------------------------


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def rows_of(design: Design, answers: list[str]) -> list[dict[str, str]]:
    return [
        {"who": str(n), "answer": text, "region": "ns"[n % 2], "code": design.code} for n, text in enumerate(answers)
    ]


@pytest.mark.parametrize("method", ["kary", "unary", "subset", "hadamard", "hashing", "duchi", "two_coins"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb"])
def test_a_file_is_counted_as_its_answers_are(method: str, ending: str, tmp_path: Path) -> None:
    if method == "two_coins":
        design = COINS
    elif method == "duchi":
        design = survey.mean("How old?", 18, 98, epsilon=1, method="duchi")
    else:
        design = survey.choice("Which?", FIVE, epsilon=1, method=method)  # type: ignore[arg-type]  # the list above
    truths = design.among or (20, 50, 98)
    answers = [device.one(design, truths[n % len(truths)], Replayed(f"{method}{n}")) for n in range(90)]
    answers += ["", "zz"]
    path, table = written(tmp_path / "answers.csv", rows_of(design, answers)), None
    if ending != "csv":
        path, table = converted(path, ending)
    found = design.estimate_table(path, "answer", table=table, groups=("region",), respondent="who", code="code")
    plain = design.estimate(answers, groups={"region": ["ns"[n % 2] for n in range(92)]})
    assert found == plain
    assert (found.missing, found.off_list) == (1, 1)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("method", ["unary", "subset", "hashing"])
def test_long_answers_are_counted_piece_by_piece(method: str, tmp_path: Path) -> None:
    """39 places: two pieces of 16 and a short one; patterns have a limit of 1,000 repeats, so 1,100 places too."""
    for size in (39, 1100):
        labels = [f"a{n}" for n in range(size)]
        design = survey.choice("Which?", labels, epsilon=1, method=method)  # type: ignore[arg-type]  # the list above
        answers = [device.one(design, labels[n % 7], Replayed(f"{method}{n}")) for n in range(12)]
        answers += ["", "01" * 20, "0" * size, "2" * size]
        path = written(tmp_path / f"{size}.csv", rows_of(design, answers))
        plain = design.estimate(answers, groups={"region": ["ns"[n % 2] for n in range(16)]})
        assert design.estimate_table(path, "answer", groups=("region",)) == plain


def converted(path: Path, ending: str) -> tuple[Path, str | None]:
    import duckdb

    target = path.with_suffix(f".{ending}")
    read = f"read_csv('{path}', all_varchar = true)"
    if ending == "parquet":
        duckdb.sql(f"COPY (SELECT * FROM {read}) TO '{target}'")
        return target, None
    with duckdb.connect(str(target)) as connection:
        connection.execute(f"CREATE TABLE told AS SELECT * FROM {read}")
    return target, "told"


def test_mixed_designs_and_people_who_answered_twice_are_refused(tmp_path: Path) -> None:
    rows = rows_of(COINS, ["yes", "no", "no", "yes"])
    other = survey.warner("Another?", epsilon=1)
    mixed = written(tmp_path / "mixed.csv", [*rows, *({**row, "code": other.code} for row in rows)])
    with pytest.raises(SpecError, match="several designs"):
        COINS.estimate_table(mixed, "answer", code="code")
    whole = written(tmp_path / "other.csv", [{**row, "code": other.code} for row in rows])
    with pytest.raises(SpecError, match="another design"):
        COINS.estimate_table(whole, "answer", code="code")
    twice = written(tmp_path / "twice.csv", [*rows, rows[0], rows[0], rows[1]])
    with pytest.raises(SpecError, match="2 respondents answered more than once"):
        COINS.estimate_table(twice, "answer", respondent="who")


def test_files_that_cannot_be_counted_are_refused_without_the_engines_words(tmp_path: Path) -> None:
    path = written(tmp_path / "answers.csv", rows_of(COINS, ["yes", "no"]))
    for where, column, table in (
        (path, "none", None),
        (tmp_path / "missing.csv", "answer", None),
        (path.with_suffix(".txt"), "answer", None),
        (path, "answer", "told"),
    ):
        with pytest.raises(SpecError) as refused:
            COINS.estimate_table(where, column, table=table)
        assert "Binder" not in str(refused.value)
    fake = tmp_path / "fake.parquet"
    fake.write_text("no parquet")
    with pytest.raises(SpecError):
        COINS.estimate_table(fake, "answer")


def test_a_file_named_like_a_pattern_is_that_file_alone(tmp_path: Path) -> None:
    for name, said in (("a*.csv", "yes"), ("ab.csv", "no"), ("a[b].csv", "yes"), ("a?.csv", "yes")):
        (tmp_path / name).write_text(f"answer\n{said}\n{said}\n", "utf-8")
    for name in ("a*.csv", "a[b].csv", "a?.csv"):
        result = COINS.estimate_table(tmp_path / name, "answer")
        assert (result.answers, result.value) == (2, 1.5)


def test_the_interval_of_two_points_is_that_of_a_share() -> None:
    """Exact is wider than Wilson's, and a scale of many places has no exact one."""
    two = survey.mean("How many?", 0, 10, epsilon=3, method="duchi")
    heard = {"0": 188, "1": 12}
    wilson, exact = two.estimate(heard), two.estimate(heard, interval="exact")
    assert exact.low < wilson.low < wilson.value < wilson.high < exact.high
    assert wilson.value - wilson.low != pytest.approx(wilson.high - wilson.value, rel=0.01)  # it leans as a share does
    scale = survey.mean("How many?", 0, 10, epsilon=3, method="piecewise")
    with pytest.raises(PublicParameterError, match="no exact interval"):
        scale.estimate({"3": 10}, interval="exact")
    only = scale.estimate({"3": 1})
    assert only.high - only.low > 10  # one answer tells next to nothing


def test_names_of_columns_are_no_sql(tmp_path: Path) -> None:
    odd = 'a"; DROP TABLE x; --'
    path = written(tmp_path / "o'dd.csv", [{odd: "yes"}, {odd: "no"}])
    assert COINS.estimate_table(path, odd).answers == 2


def test_the_interval_of_former_records_cannot_be_asked_for() -> None:
    design = survey.warner("?", epsilon=1)
    with pytest.raises(PublicParameterError, match="wilson"):
        design.estimate({"yes": 30, "no": 20}, interval="former")  # type: ignore[arg-type]


def test_a_page_says_that_the_intervals_of_several_shares_hold_together() -> None:
    several = survey.choice("Which?", FIVE, epsilon=1)
    record = {"answers": {"file": "answers.csv", "sha256": "0"}, "software": {"reticent": "0"}}
    pages = [
        report.page([(design, design.estimate(design.randomize_many(truths)))], [record])
        for design, truths in ((COINS, ["yes", "no"] * 50), (several, FIVE * 20))
    ]
    assert [report.SEVERAL in page for page in pages] == [False, True]


def test_a_promise_to_respondents_is_rounded_up() -> None:
    both = survey.several([COINS, survey.choice("Which?", FIVE, epsilon=1)], epsilon=2)
    assert words(both.guarantee.loss) != "ε 2"
    assert report.promise(both.guarantee).startswith("ε 2, any answer of one respondent against any other")
    assert report.promise(COINS.guarantee).startswith("ε 1.0987, ")
