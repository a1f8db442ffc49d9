"""Remedies of no replies: what a certificate's public facts say would make a reply likelier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reticent.certificate.certificate import Certificate
from reticent.certificate.render.listing import listing
from reticent.certificate.render.no_replies import likelier
from reticent.certificate.render.page import page
from reticent.statistics.grammar import parse

STORED = Path(__file__).parents[2] / "docs/_static/certificates/no_reply.json"


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def told(name: str, *, low: float | None = None, alone: bool = False, delta: str = "0") -> list[str]:
    """The remedies of one no reply of a question, beside an answer that has its number or alone."""
    found = document()
    silent = next(one for one in found["answers"] if one["cells"][0]["outcome"] == "no_reply")
    other = next(one for one in found["answers"] if one["cells"][0]["outcome"] != "no_reply")
    found["answers"] = [{**silent, "name": name}, *([] if alone else [other])]
    found["columns"] = {"cost": {"kind": "real", "low": low, "high": low}, "day": {"kind": "integer", "low": 0}}
    found["columns"]["cost_2"] = {"kind": "real", "low": None, "high": None}
    found["charged"]["delta"] = delta
    return likelier(Certificate.of(found))


def test_remedies_follow_from_public_facts() -> None:
    bounds = "bounds known without the file ([columns.cost] low = …, high = …)"
    assert bounds in told("median(cost)")
    assert not any("bounds" in words for words in told("median(cost)", low=3))
    assert not any("bounds" in words for words in told("median(x) where cost > 3 by cost"))
    assert "fewer groups" in told("median(cost) by g")
    assert "fewer groups" not in told("median(cost)")
    assert "fewer questions for the same ε" in told("median(cost)")
    assert "fewer questions for the same ε" not in told("median(cost)", alone=True)
    assert told("median(cost)")[0] == "a larger ε"
    assert told("median(cost)", delta="1/1000000")[0] == "a larger ε or δ"


def test_a_quantile_of_several_rows_each_may_be_asked_of_the_mean_of_each_person() -> None:
    """The cap is what keeps a median from a reply; without its interval it has fewer replies, and not more."""
    for clauses in ("", " by g", " where age >= 65", " where age >= 65 by g"):  # the whole question is proposed
        own = f"median(cost, per=person){clauses}"
        assert told(f"median(cost){clauses}")[1] == f"{own}, which is about the mean of each person"
        parse(own)
    for text in ("iqr(cost)", "quantile(cost, 0.9)", "quantiles(cost, 0.25 0.75)"):
        (one,) = (words for words in told(text) if "each person" in words)
        parse(one.partition("), ")[0] + ")")
    for text in ("median(cost, per=person)", "median(cost, method=M)", "mean(cost)"):
        assert not any("each person" in words or "interval=no" in words for words in told(text))


def test_text_and_page_say_the_remedies() -> None:
    certificate = Certificate.of(document())
    helps = likelier(certificate)
    assert "a smaller cap on rows, rows = { at_most = …, ceiling = 5 }" in helps  # at most five rows each
    text = " ".join(listing(certificate).split())
    assert all(words in text for words in helps)
    assert all(words in page(certificate) for words in helps)


def test_without_a_no_reply_nothing_is_said() -> None:
    found = document()
    found["answers"] = [one for one in found["answers"] if one["cells"][0]["outcome"] != "no_reply"]
    certificate = Certificate.of(found)
    assert likelier(certificate) == []
    assert "no reply" not in listing(certificate)
