"""Releases under a private cap on rows, replayed on made-up neighbours; a choice that declares too little is caught."""

from __future__ import annotations

import numpy as np
import pytest

import reticent as rt
from reticent.conformance.plan_audit import PlanAudit
from reticent.privacy.adjacency import Kind
from reticent.statistics.counts.cap_choice import PARTS, CapChoiceStep


def audited(kind: Kind, triples: int, *, in_rho: bool = False) -> PlanAudit:
    made = rt.study(
        {"who": np.arange(4), "x": np.arange(4.0)},
        adjacency=kind,
        person="who",
        rows_each={"at_most": "auto", "ceiling": 3},
        columns={"x": rt.real(0, 4)},
        budget=10,
        delta="1e-5",
    )
    if in_rho:
        return made.audit(["count", "sum(x)"], rho="1/2", delta="1e-6", triples=triples)
    return made.audit(["count", "sum(x)"], epsilon="1", triples=triples)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_release_under_a_private_cap_passes(kind: Kind) -> None:
    found = audited(kind, 8)
    assert found.findings == ()
    assert found.calls > 24  # the choice, two answers and the share above the cap, of every pair


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_so_does_one_in_rho(kind: Kind) -> None:
    assert audited(kind, 24, in_rho=True).findings == ()


@pytest.mark.wide
def test_scores_that_move_further_than_declared_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        CapChoiceStep, "scores", lambda self, above: tuple((PARTS + 1) * number for number in (*above[1:], 0))
    )
    found = audited("substitute", 24)
    assert any(one.kind == "sensitivity" for one in found.findings)
