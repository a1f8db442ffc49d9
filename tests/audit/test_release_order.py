"""Around the draws of a release: mutants of the order, of the charge and of the noise are refuted.

Coins are fresh; a right program fails with probability below 1e-9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.privacy.loss import PureDP
from reticent.study import release
from tests.assurance import release_path


def failed() -> set[str]:
    return {line.check for line in release_path.check().failures}


def test_a_release_conforms() -> None:
    found = release_path.check()
    assert found.passed, str(found)
    assert len(found.lines) == 3
    assert found.false_alarm < 1e-9


def test_rows_that_are_read_before_the_charge_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    charge = release.charge

    begun: list[Any] = []

    def early(prepared: Any, ledger: Any, about: Any) -> Any:
        begun[-1].run((), b"")
        return charge(prepared, ledger, about)

    start = release_path._start

    def kept(plan: Any, *, fails: bool) -> Any:
        begun.append(start(plan, fails=False)[1])
        ledger, table = start(plan, fails=fails)
        begun[-1] = table if not fails else begun[-1]
        return ledger, table

    monkeypatch.setattr(release_path, "_start", kept)
    monkeypatch.setattr(release, "charge", early)
    assert "charged before rows are read" in failed()


def test_a_charge_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheap(prepared: Any, ledger: Any, about: Any) -> Any:
        less = PureDP(Fraction(1, 1000))
        return ledger.reserve(less, adjacency=prepared.guarantee.adjacency, what="x", who="x", purpose="x")

    monkeypatch.setattr(release, "charge", cheap)
    assert failed() == {"charged before rows are read", "a fault stays charged"}


def test_noise_that_serves_two_answers_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, kept = gate.draw, {}

    def again(mechanism: Any, exact: Any, entropy: Entropy) -> Any:
        if mechanism not in kept:
            kept[mechanism] = draw(mechanism, exact, entropy)
        return kept[mechanism]

    monkeypatch.setattr(gate, "draw", again)
    assert failed() == {"every answer has noise of its own"}
