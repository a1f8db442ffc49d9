"""A made-up release that the tests of certificates, pages and pictures share, and the claim that it verifies."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.ledger import Ledger
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy import serialization
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import across, in_sequence, of_person, processed
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, to_json
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.answer import Answer, Cell

PERSON = Adjacency("add_remove", rows=5)
ROW = Adjacency("add_remove", unit="row")
BUDGET = ApproxDP(Fraction(3), Fraction(1, 10**8))


def tree() -> Guarantee:
    """Five parts in sequence: two lifted from a row to a person, one across groups, one chosen, one processed."""
    count = of_person(Geometric(L1(Fraction(1), ROW), Fraction(1, 50)).guarantee, PERSON, rows=5, label="count")
    mean = of_person(Geometric(L1(Fraction(50), ROW), Fraction(1, 25)).guarantee, PERSON, rows=5, label="mean(mdvis)")
    median = Exponential(Linf(Fraction(5), PERSON), Fraction(3, 10)).guarantee
    groups = across([Geometric(L1(Fraction(5), PERSON), Fraction(1, 5)).guarantee] * 3, neighbours=PERSON)
    bars = Geometric(L1(Fraction(5), PERSON), Fraction(1, 5)).guarantee
    return in_sequence([count, mean, processed(median, label="median(disea)"), groups, bars], label="table 4")


def estimate(value: float, noise: float, sampling: float) -> Reply[Estimate]:
    half = (noise**2 + sampling**2) ** 0.5
    return Reply(Estimate(value, value - half, value + half, noise, sampling))


def answers() -> tuple[Answer, ...]:
    bars = [8123, 5210, 2893, 1650, 820, 444, 260, 121, 63, -4]
    sites = {1: 2.71, 2: 3.05, 3: None, 4: 2.2}
    return (
        Answer("count", (Cell((), estimate(20187, 62, 0)),), discrete=True),
        Answer(
            "mean(mdvis)",
            (Cell((), estimate(2.8573, 0.042, 0.061)),),
            ("Values of mdvis outside 0 to 50 were moved to the nearer bound.",),
        ),
        Answer("median(disea)", (Cell((), estimate(10.57, 0.3, 0.1)),)),
        Answer("iqr(disea)", (Cell((), NO_REPLY),)),
        Answer(
            "histogram(mdvis)",
            tuple(Cell((("mdvis", f"[{5 * k}, {5 * k + 5})"),), estimate(bar, 62, 0)) for k, bar in enumerate(bars)),
            discrete=True,
        ),
        Answer(
            "mean(mdvis) by site",
            tuple(
                Cell((("site", site),), NO_REPLY if mean is None else estimate(mean, 0.2, 0.1))
                for site, mean in sites.items()
            ),
        ),
    )


def document(*, entry: str = "0" * 64, spent: object = None) -> dict[str, Any]:
    proof = tree()
    charge = to_json(proof.loss)
    return {
        "format": "reticent certificate",
        "version": 1,
        "release": "r-0001",
        "name": "table 4",
        "purpose": "Annual report",
        "who": "curator",
        "when": "2026-11-21T07:31:00Z",
        "study": {
            "title": "RAND health insurance experiment",
            "approved": "Ethics board 2026-11-04, minute 7",
            "ends": "2027-12-31",
            "source": "randhie.parquet",
        },
        "software": {"reticent": "0.1.0", "python": "3.11.2", "numpy": "2.4.1"},
        "adjacency": serialization.adjacency_to_json(proof.adjacency),
        "people": None,
        "guarantee": serialization.to_json(proof),
        "charged": charge,
        "budget": {
            "approved": to_json(BUDGET),
            "spent": spent or charge,
            "left": {"epsilon": "1.9", "delta": "1e-8"},
        },
        "columns": {
            "mdvis": {"kind": "integer", "low": "0", "high": "50", "among": None, "why": "protocol", "missing": "drop"},
            "disea": {"kind": "real", "low": None, "high": None, "among": None, "why": "", "missing": "drop"},
        },
        "answers": [answer_to_json(answer) for answer in answers()],
        "caveats": ["12 % ± 2 % of persons had more than 5 rows: counts and means are of capped rows."],
        "ledger": {"durable": True, "entry": entry},
        "audit": None,
        "signature": None,
    }


def model_document() -> dict[str, Any]:
    """The example as if a model had been fitted."""
    more = {
        "name": "LogisticRegression",
        "what": "fit",
        "parameters": {"epsilon": 1, "C": "0.5", "classes": [0, 1]},
        "columns": ["mdvis", "disea"],
        "bounds": [["0", "50"], ["-1/3", "1e3"]],
        "target": "physlm",
        "released": {
            "coef": [[0.25, -1.5]],
            "intercept": [0.125],
            "estimates": [
                {"value": 0.125, "low": 0.1, "high": 0.15, "noise": 0.01, "sampling": 0.02, "level": 0.95},
                {"value": 0.25, "low": None, "high": None, "noise": None, "sampling": None, "level": 0.95},
            ],
            "trees": {"shape": [2, 2], "sha256": "c" * 64},
        },
    }
    return {**document(), "version": 2, "kind": "model", "answers": [], "model": more}


def session_document() -> dict[str, Any]:
    """The example as if a session of two rounds had ended."""
    rounds = [
        {"release": "r-0001", "entry": "d" * 64, "digest": "e" * 64},
        {"release": "r-0002", "entry": "0" * 64, "digest": None},
    ]
    more = {
        "what": "holdout",
        "parameters": {"epsilon": "1", "rounds": "2"},
        "rows": {"count": 5912, "noise": 31},
        "rounds": rounds,
        "transcript": [["level(mdvis)", "Checked(value=0.25, by='training', estimate=None)"]],
    }
    return {**document(), "version": 2, "kind": "session", "release": "r-0002", "answers": [], "session": more}


def released(path: Path | None) -> tuple[Certificate, Ledger]:
    """The example, charged to a ledger at ``path`` (in memory when None)."""
    proof = tree()
    ledger = Ledger.create(path, title="RAND", adjacency=PERSON, budget=BUDGET)
    receipt = ledger.reserve(proof.loss, adjacency=PERSON, what="table 4")
    found = document(entry=receipt.entry, spent=to_json(ledger.spent()))
    certificate = Certificate.of({**found, "ledger": {"durable": ledger.durable, "entry": receipt.entry}})
    ledger.commit(receipt, digest=certificate.digest)
    return certificate, ledger


def test_the_example_verifies_but_for_its_signature() -> None:
    certificate, ledger = released(None)
    verification = certificate.verify(ledger)
    assert [check.name for check in verification.checks if not check.ok] == ["signature"]
    assert certificate.verify(ledger, allow_unsigned=True).ok
