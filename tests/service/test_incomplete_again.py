"""Shares of incomplete rows that are not bought: an earlier release told them, or numbers that are bought anyway."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.render.page import page
from reticent.data.schema import Column
from reticent.errors import SpecError
from reticent.ledger import Ledger
from reticent.ledger.events import Committed, parse
from reticent.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from reticent.privacy.adjacency import Kind

SIZE = 4000
PRICES = [f"{1000 + 900 * np.sin(i):,.2f}" for i in range(SIZE)]
ODD = sum("," in price for price in PRICES) / SIZE
ROWS = {"price": PRICES, "site": ["a", "b", "c", "a"] * (SIZE // 4), "who": [f"p{i // 2}" for i in range(SIZE)]}
NUMBERS: dict[str, Column] = {"price": rt.real(0, 10_000), "site": rt.category(["a", "b"])}


def study(path: Path | None = None, adjacency: Kind = "add_remove", **more: Any) -> rt.Study:
    told = {"columns": NUMBERS, "budget": "10", "snapshot": "2026-11", **more}
    return rt.study(ROWS, adjacency=adjacency, ledger=path, **told)


def labels(tree: Guarantee) -> list[str]:
    return [part.label for part in tree.parts]


@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_later_release_of_the_snapshot_shows_the_share_again_at_no_charge(adjacency: Kind, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    first = study(path, adjacency).release(["median(price)"], epsilon="1")
    share = first["median(price)"].incomplete
    assert share is not None
    assert share.origin == ""
    assert "incomplete(price)" in labels(first.guarantee)
    asked = study(path, adjacency)  # another handle, as in another process
    planned = asked.plan(["iqr(price)", "sum(price)"], epsilon="1", people=SIZE)
    assert [line.name for line in planned.lines] == ["iqr(price)", "sum(price)"]
    again = asked.release(["iqr(price)", "sum(price)"], epsilon="1", record=rt.Record(audit=1))
    assert again.guarantee.loss == planned.guarantee.loss
    assert labels(again.guarantee) == ["iqr(price)", "sum(price)"]
    for answer, line in zip(again.answers, planned.lines, strict=True):
        assert answer.incomplete is not None
        assert (answer.incomplete.outcome, answer.incomplete.origin) == (share.outcome, "r-0001")
        assert "told by r-0001 of this snapshot, not charged again" in line.expected.note
        assert sum("told by r-0001" in text for text in answer.caveats) == 1
    document = json.loads(again.certificate.to_json())
    assert document["answers"][0]["incomplete"]["from"] == "r-0001"
    assert document["study"]["snapshot"] == "2026-11"
    assert Certificate.of(document).answers[0].incomplete == again["iqr(price)"].incomplete
    assert "told by r-0001" in page(again.certificate)
    verified = again.certificate.verify(ledger=path, allow_unsigned=True)
    assert verified.ok
    assert "shares of incomplete rows equal to those of r-0001" in verified.lines
    for name, other in (("value", 0.001), ("noise", 0.001), ("from", "r-0002"), ("from", "r-0099")):
        changed = json.loads(again.certificate.to_json())
        changed["answers"][0]["incomplete"][name] = other
        found = Certificate.of(changed).verify(ledger=path, allow_unsigned=True)
        assert "shares" in [check.name for check in found.checks if not check.ok]
    assert Ledger.open(path).verify() == ()


@pytest.mark.wide
def test_what_is_saved_goes_to_the_answers(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    study(path).release(["median(price)"], epsilon="1")
    told = study(path).plan(["median(price)"], epsilon="1").lines[0].loss
    assert told == rt.PureDP(Fraction(1))


@pytest.mark.wide
@pytest.mark.parametrize(
    "other",
    [
        {"snapshot": "2026-12"},
        {"snapshot": ""},
        {"thousands": ","},
        {"na": ["-1"]},
        {"columns": {**NUMBERS, "price": rt.integer(0, 10_000)}},
        {"title": "another", "columns": {**NUMBERS, "site": rt.category(["a", "b", "c"])}},
    ],
)
def test_other_rows_or_other_declarations_buy_their_own_share(other: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    study(path).release(["median(price)", "count by site"], epsilon="2")
    planned = study(path, **other).plan(["median(price)", "count by site"], epsilon="2")
    assert any(line.name.startswith("incomplete(") for line in planned.lines)


@pytest.mark.wide
def test_bounds_and_reasons_may_change(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    study(path).release(["median(price)"], epsilon="1")
    wider = study(path, columns={**NUMBERS, "price": rt.real(0, 20_000, why="the list of prices")})
    assert [line.name for line in wider.plan(["median(price)"], epsilon="1").lines] == ["median(price)"]


@pytest.mark.wide
def test_without_a_word_nothing_is_kept_and_entries_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    study(path, snapshot="").release(["median(price)"], epsilon="1")
    entries = Ledger.open(path).entries()
    (left,) = [entry for entry in entries if isinstance(entry.event, Committed)]
    assert "shares" not in left.body
    assert parse(left.body) == left


@pytest.mark.wide
def test_of_several_shares_the_one_with_the_least_noise_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    study(path).release(["median(price)"], epsilon="1")
    study(path).release(["incomplete(price)"], epsilon="1")  # twenty times the price
    shown = study(path).release(["median(price)"], epsilon="1")["median(price)"].incomplete
    assert shown is not None
    assert shown.origin == "r-0002"


@pytest.mark.wide
def test_a_share_that_gave_no_reply_is_bought_again(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    few = {"price": ["1", "x", "2"], "site": ["a"] * 3}
    told: dict[str, Any] = {"columns": NUMBERS, "budget": "10", "snapshot": "one", "ledger": path}
    asked = rt.study(few, adjacency="add_remove", **told)
    first = asked.release(["incomplete(price)"], epsilon="0.1")["incomplete(price)"]
    assert not isinstance(first.outcome, rt.Reply)
    assert [line.name for line in asked.plan(["sum(price)"], epsilon="2").lines] == ["sum(price)", "incomplete(price)"]


@pytest.mark.wide
def test_a_snapshot_is_a_short_word(tmp_path: Path) -> None:
    for word in ("x" * 101, "a\nb"):
        with pytest.raises(SpecError, match="snapshot is a text"):
            study(snapshot=word)
    study(snapshot="öffentlich 2026-11")


@pytest.mark.wide
@pytest.mark.parametrize("more", [{}, {"person": "who", "rows_each": 2}])
@pytest.mark.parametrize("question", ["mean(price)", "variance(price)", "proportion(site, value=a)"])
def test_a_number_of_values_and_a_count_tell_the_share_for_nothing(question: str, more: dict[str, Any]) -> None:
    asked = study(snapshot="", **more)
    planned = asked.plan([question, "count"], epsilon="4")
    assert not [line.name for line in planned.lines if line.name.startswith("incomplete(")]
    release = asked.release([question, "count"], epsilon="4", record=rt.Record(audit=1))
    share = release[question].incomplete
    assert share is not None
    assert isinstance(share.outcome, rt.Reply)
    assert release[question].values is None
    found = share.outcome.value
    true = ODD if "price" in question else 0.25
    assert abs(found.value - true) < 10 * found.noise
    assert 0 < found.noise < 0.01
    assert release.certificate.verify(ledger=asked.ledger, allow_unsigned=True).ok
    alone = [line.name for line in asked.plan([question], epsilon="4").lines]
    grouped = [line.name for line in asked.plan([question, "count by site"], epsilon="4").lines]
    assert any(name.startswith("incomplete(") for name in alone)
    assert any(name.startswith("incomplete(") for name in grouped)


@pytest.mark.loop(3)
@pytest.mark.wide
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("per", ["row", "person"])
def test_a_share_is_of_rows_whatever_an_answer_counts(adjacency: Kind, each: int, per: str) -> None:
    more: dict[str, Any] = {"person": "who", "rows_each": each} if each > 1 else {}
    for verb in ("mean(price", "variance(price", "sd(price", "median(price", "iqr(price", "quantile(price, 0.9"):
        asked = study(snapshot="", adjacency=adjacency, **more)
        release = asked.release([f"{verb}, per={per})", "count"], epsilon="4")
        share = next(answer.incomplete for answer in release.answers if answer.name != "count")
        assert share is not None
        assert isinstance(share.outcome, rt.Reply)
        found = share.outcome.value
        assert abs(found.value - ODD) < 10 * found.noise  # the noise is beyond it by chance below 1e-9


@pytest.mark.wide
def test_beside_a_count_the_share_is_known_better() -> None:
    asked = study(snapshot="")
    alone = asked.plan(["median(price)", "iqr(price)"], epsilon="1").lines[-1]
    beside = asked.plan(["median(price)", "count"], epsilon="1").lines[-1]
    half = asked.plan(["median(price)"], epsilon="0.5").lines[-1]
    assert {alone.name, beside.name, half.name} == {"incomplete(price)"}
    assert beside.loss == half.loss
    assert beside.expected.noise is not None
    assert half.expected.noise is not None
    # the noise of two looks in place of one: 1 / sqrt(2) of its deviation
    assert 0.65 < beside.expected.noise / half.expected.noise < 0.75
    release = asked.release(["median(price)", "count"], epsilon="4")
    share = release["median(price)"].incomplete
    assert share is not None
    assert isinstance(share.outcome, rt.Reply)
    assert abs(share.outcome.value.value - ODD) < 10 * share.outcome.value.noise


@pytest.mark.parametrize("words", ["incomplete(site, price)", "incomplete(price, site)"])
def test_a_share_is_of_columns_in_any_order(words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    asked = study(path)
    planned = asked.plan(["sum(price) by site", words], epsilon="2")
    assert [line.name for line in planned.lines] == ["sum(price) by site", words]
    release = asked.release(["sum(price) by site", words], epsilon="2")
    share = release["sum(price) by site"].incomplete
    assert share is not None
    assert share.columns == ("price", "site")
    assert share.outcome == release[words].outcome
    assert release.certificate.verify(ledger=path, allow_unsigned=True).ok
    again = asked.release(["sum(price) by site"], epsilon="1")["sum(price) by site"].incomplete
    assert again is not None
    assert (again.origin, again.outcome) == ("r-0001", share.outcome)


@pytest.mark.wide
def test_a_complete_column_takes_no_part_in_a_share() -> None:
    asked = study(snapshot="", columns={**NUMBERS, "site": rt.category(["a", "b", "c"], complete=True)})
    names = [line.name for line in asked.plan(["sum(price)", "incomplete(site, price)"], epsilon="2").lines]
    assert names == ["sum(price)", "incomplete(site, price)"]


def test_the_share_with_the_least_wide_interval_is_shown(tmp_path: Path) -> None:
    """A vague share that cells tell free had hidden a better one, of an earlier release or of the same."""
    made = np.random.default_rng(1)
    letters = [None if odd < 0.1 else "abc"[int(3 * at)] for odd, at in made.random((3_000, 2))]
    values = np.where(made.random(3_000) < 0.03, np.nan, 100 * made.random(3_000))
    one = rt.study(
        {"g": letters, "x": values},
        adjacency="substitute",
        columns={"g": rt.category(["a", "b", "c"]), "x": rt.real(0, 100)},
        budget=10,
        snapshot="2026-11",
        ledger=tmp_path / "shares.ledger",
    )
    (first,) = one.release(["incomplete(g)"], epsilon=2).answers
    share = one.release(["count by g"], epsilon="0.01").answers[0].incomplete
    assert share is not None
    assert (share.outcome, share.origin) == (first.outcome, "r-0001")
    asked, cells = one.release(["incomplete(x)", "histogram(x, edges=0:100:1)"], epsilon="0.3").answers
    assert cells.incomplete is not None
    assert cells.incomplete.outcome == asked.outcome
