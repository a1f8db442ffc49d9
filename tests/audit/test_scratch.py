"""``reticent audit STUDY`` on builds that charge too little, too late or for others: each fails. Nothing is random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reticent.certificate import verify
from reticent.certificate.certificate import Certificate
from reticent.conformance import kit as conformance
from reticent.conformance import report
from reticent.conformance.alarm import Alarm
from reticent.data.schema import Person
from reticent.ledger import Ledger
from reticent.ledger.events import Committed, Receipt
from reticent.mechanisms import geometric
from reticent.mechanisms.gate import Specimen
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from reticent.study import allocation, preparation, release
from tests.assurance import certificate_changes
from tests.support.cli_kit import Run, clinic, run

Patch = pytest.MonkeyPatch
IN_RHO = ('epsilon = "3"\ndelta = "1e-8"', 'rho = "1"')


def audited(folder: Path, *more: str, in_rho: bool = False, pairs: int = 1) -> Run:
    """The audit of one release of a study of persons with up to three rows, on few pairs of tables."""
    file = clinic(folder, 40)
    if in_rho:
        file.write_text(file.read_text("utf-8").replace(*IN_RHO), "utf-8")
    return run("audit", str(file), "--release", "table 4", "--triples", str(pairs), *more)


def halved(loss: Loss) -> Loss:
    match loss:
        case PureDP(epsilon):
            return PureDP(epsilon / 2)
        case ApproxDP(epsilon, delta):
            return ApproxDP(epsilon / 2, delta)
        case ZCDP(rho):
            return ZCDP(rho / 2)
        case other:
            return other


# --- builds that are wrong --------------------------------------------------------------------------------------------


def half_at_the_release(patch: Patch) -> None:
    honest = release.charge

    def charge(prepared: Any, ledger: Ledger, about: Any) -> Receipt:
        cheaper = replace(prepared.guarantee, loss=halved(prepared.guarantee.loss))
        return honest(replace(prepared, guarantee=cheaper), ledger, about)

    patch.setattr(release, "charge", charge)


def half_in_the_ledger(patch: Patch) -> None:
    honest = Ledger.reserve
    patch.setattr(Ledger, "reserve", lambda self, charge, **about: honest(self, halved(charge), **about))


def nothing(patch: Patch) -> None:
    honest = Ledger.reserve
    patch.setattr(Ledger, "reserve", lambda self, charge, **about: honest(self, PureDP(Fraction(0)), **about))


def after(patch: Patch) -> None:
    """Reads and draws, then charges."""
    draw, charge = release.draw, release.charge

    def early(prepared: Any, table: Any, schema: Any, ledger: Any, about: Any, entropy: Any, *rest: Any) -> Any:
        answers, caveats = draw(prepared, table, entropy, lambda stage: None)
        receipt = charge(prepared, ledger, about)
        document = release.certified(prepared, answers, caveats, schema, about, receipt, ledger)
        made = Certificate.of(document)
        ledger.commit(receipt, digest=made.digest)
        return release.Release(answers, caveats, made)

    patch.setattr(release, "run", early)


def twice(patch: Patch) -> None:
    honest = release.charge

    def charge(prepared: Any, ledger: Ledger, about: Any) -> Receipt:
        honest(prepared, ledger, about)
        return honest(prepared, ledger, about)

    patch.setattr(release, "charge", charge)


def committed_without_a_reservation(patch: Patch) -> None:
    """Writes the end of a release that never began, as a ledger that does not look would take it."""

    def charge(prepared: Any, ledger: Ledger, about: Any) -> Receipt:
        other = Ledger.create(None, title="x", adjacency=ledger.adjacency, budget=ledger.budget)
        return release_charge(prepared, other, about)

    def commit(self: Ledger, receipt: Receipt, *, digest: str, **_: object) -> None:
        self._book.write(lambda replay, view: Committed(receipt.id, digest))

    release_charge = release.charge
    patch.setattr(release, "charge", charge)
    patch.setattr(Ledger, "commit", commit)


def never_committed(patch: Patch) -> None:
    patch.setattr(Ledger, "commit", lambda self, receipt, **_: None)


def of_one_row(patch: Patch) -> None:
    """Proved for a person of one row where persons have three."""
    patch.setattr(Person, "neighbours", lambda self: Adjacency(self.adjacency))


def of_the_other_neighbours(patch: Patch) -> None:
    other = {"add_remove": "substitute", "substitute": "add_remove"}
    patch.setattr(Person, "neighbours", lambda self: Adjacency(other[self.adjacency], self.rows))  # type: ignore[arg-type]


def without_a_part(patch: Patch) -> None:
    honest = compose.in_sequence

    def shorter(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
        return honest(parts[:-1] if len(parts) > 2 else parts, label=label)

    patch.setattr(compose, "in_sequence", shorter)


def half_of_a_sum(patch: Patch) -> None:
    honest = compose._sum
    patch.setattr(compose, "_sum", lambda losses: halved(honest(losses)))


def half_of_the_root(patch: Patch) -> None:
    honest = allocation.settle

    def settle(*given: Any) -> Any:
        made = honest(*given)
        return replace(made, guarantee=replace(made.guarantee, loss=halved(made.guarantee.loss)))

    patch.setattr(preparation, "settle", settle)


def verifies_anything(patch: Patch) -> None:
    patch.setattr(verify, "_in_ledger", lambda *_: iter(()))
    patch.setattr(verify, "_derivation", lambda *_: iter(()))


BUILDS: list[Callable[[Patch], None]] = [
    half_at_the_release,
    half_in_the_ledger,
    nothing,
    after,
    twice,
    committed_without_a_reservation,
    never_committed,
    of_one_row,
    of_the_other_neighbours,
    without_a_part,
    half_of_a_sum,
    half_of_the_root,
]


@pytest.mark.parametrize("in_rho", [False, True])
def test_the_build_as_it_is_passes_and_touches_neither_ledger_nor_rows(tmp_path: Path, in_rho: bool) -> None:
    clinic(tmp_path, 40)
    found = audited(tmp_path, in_rho=in_rho)
    assert found.code == 0, found.said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic.csv", "clinic.toml"]
    (tmp_path / "clinic.csv").unlink()  # not even there
    assert run("audit", str(tmp_path / "clinic.toml"), "--release", "table 4", "--triples", "1").code == 0


@pytest.mark.loop(6)
@pytest.mark.wide
@pytest.mark.parametrize("build", BUILDS)
def test_a_wrong_build_fails_the_audit_of_a_study(build: Callable[[Patch], None], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        build(patch)
        pairs = 9 if build is half_of_a_sum else 1  # a proof that adds up wrongly is refuted by what neighbours lose
        found = audited(tmp_path, in_rho=build in (half_in_the_ledger, half_at_the_release), pairs=pairs)
    assert found.code == 6, found.said
    assert "NOT PASSED" in found.said
    assert "FOUND" in found.err


@pytest.mark.wide
def test_changed_certificates_are_noticed_and_a_build_that_verifies_anything_is_found() -> None:
    assert certificate_changes.check().passed
    with pytest.MonkeyPatch.context() as patch:
        verifies_anything(patch)
        failures = certificate_changes.check().failures
    assert len(failures) == 2
    assert all("another answer" in line.reason for line in failures)


@pytest.mark.wide
def test_every_change_of_a_certificate_is_one(tmp_path: Path) -> None:
    """A change that leaves the document as it was would test nothing."""
    made: dict[str, Any] = {
        "charged": {"epsilon": "1/2", "delta": "0"},
        "release": "r-1",
        "budget": {"spent": {"epsilon": "1"}},
    }
    made |= {"adjacency": {"kind": "add_remove"}, "answers": [{"cells": [{"value": 2.0}]}]}
    made |= {"guarantee": {"loss": {"rho": "1"}, "parts": [{}], "adjacency": {"kind": "add_remove"}}}
    for what, change in certificate_changes.CHANGES:
        document = deepcopy(made)
        assert change(document), what
        assert document != made, what


# --- refutations as they are found ------------------------------------------------------------------------------------


@pytest.mark.wide
def test_an_alarm_tells_each_refutation_at_once_and_may_stop_at_the_first() -> None:
    told: list[str] = []
    passed: list[int] = []
    alarm = Alarm(told.append)
    for number in alarm.watch(range(6), lambda number: f"{number} is odd" if number % 2 else ""):
        passed.append(number)
        assert len(told) == (number + 1) // 2
    assert told == ["1 is odd", "3 is odd", "5 is odd"]
    first = Alarm(lambda words: None, first=True)
    assert list(first.watch(range(6), lambda number: "odd" if number % 2 else "")) == [0, 1]
    assert list(first.watch(range(6), lambda number: "")) == []


def loud() -> Specimen[Any, Any]:
    """Half the noise that its law states."""
    made = geometric.SPECIMENS[0]
    louder = geometric.Geometric(made.mechanism.sensitivity, made.mechanism.epsilon * 4)  # type: ignore[attr-defined]
    return replace(made, mechanism=louder)


@pytest.mark.wide
def test_the_kit_prints_what_it_refutes_as_it_goes_and_stops_where_it_is_told(monkeypatch: Patch) -> None:
    monkeypatch.setattr(geometric, "SPECIMENS", (loud(), *geometric.SPECIMENS))
    monkeypatch.setattr(report, "BRIEF", conformance.Effort(draws=400, factors=()))
    found = run("audit", "--kit", "--fail-fast")
    assert found.code == 6
    stages = [line.rstrip() for line in found.err.splitlines() if line.startswith("conformance kit")]
    assert stages == ["conformance kit: geometric …"]  # the other mechanisms are not begun
    assert len([line for line in found.err.splitlines() if line.startswith("FOUND geometric")]) == 1


@pytest.mark.wide
def test_without_fail_fast_the_rest_is_run_and_every_refutation_is_told(monkeypatch: Patch) -> None:
    monkeypatch.setattr(geometric, "SPECIMENS", (loud(),))
    monkeypatch.setattr("reticent.conformance.report.registry.ALL", (geometric,))
    effort, told = conformance.Effort(draws=400, factors=()), Alarm(lambda words: None)
    made = [*report._kit(lambda stage: told.rung.append(stage), effort, told, ())]
    failures = [line for one in made for line in one.failures]
    assert len(failures) > 1
    assert [word for word in told.rung if not word.startswith("conformance")] == [
        conformance.failed(line) for line in failures
    ]
