"""Files of version 0.1.0 open, verify and say the same: ledgers, certificates, studies, surveys, densities, pickles.

``v0_1_0/made_by.py`` wrote them; ``figures.json`` holds what 0.1.0 itself read in them. Nothing here is drawn again.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import survey
from reticent.certificate.certificate import Certificate, read_certificate
from reticent.errors import BudgetError, CheckError, LedgerError, SpecError
from reticent.ledger import Ledger, claim_file, fingerprint
from reticent.ledger.reader import verify_export
from reticent.mechanisms.registry import axiom_again
from reticent.outcome import NoReply
from reticent.privacy import filters, serialization
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, from_json, to_json
from reticent.privacy.rederivation import rederive
from reticent.survey.answers import collect
from reticent.survey.verification import check, passed
from reticent.synthesis.density import from_json as density_from_json
from tests.conventions.test_theorems import theorems
from tests.support.cli_kit import run
from tests.support.golden import FIGURES, FOLDER, THEOREMS, certificate, copied

OFFICER = FOLDER / "officer.pub"
LEDGERS, CERTIFICATES = FIGURES["ledgers"], FIGURES["certificates"]
STATES = [
    f"{name}_{state}" for name in ("epsilon", "epsilon_delta", "rho", "rho_delta") for state in ("open", "reserved")
]
WITHDRAWN = ("models_zcdp_substitute_grid_dearest", "models_zcdp_substitute_grid_weights")
NEW = np.array([[0.5, -0.5], [-0.75, 0.25], [0.0, 0.9]])
IN_NO_TREE = {"given", "gaussian_pair", "gaussian_to_zcdp", "shuffled_local"}  # stand in no proof that has leaves


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied("ledgers", tmp_path_factory.mktemp("golden"))


def own(ledgers: Path, name: str, to: Path) -> Ledger:
    """A ledger that a test may write to."""
    return Ledger.open(shutil.copy(ledgers / f"{name}.ledger", to / f"{name}.ledger"))


def nodes(tree: Guarantee) -> Iterator[Guarantee]:
    yield tree
    for part in tree.parts:
        yield from nodes(part)


# --- ledgers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_says_what_it_said(name: str, ledgers: Path) -> None:
    told, found = LEDGERS[name], Ledger.open(ledgers / f"{name}.ledger")
    assert found.verify(head=told["head"]) == ()
    assert to_json(found.budget) == told["budget"]
    assert to_json(found.spent()) == told["spent"]
    assert to_json(found.left()) == told["left"]
    assert (found.title, found.currency, found.person, found.approved) == tuple(
        told[field] for field in ("title", "currency", "person", "approved")
    )
    assert (None if found.ends is None else found.ends.isoformat()) == told["ends"]
    assert (found.closed, found.head, len(found.entries())) == (told["closed"], told["head"], told["entries"])
    assert [line.state for line in found.releases()] == told["states"]


@pytest.mark.parametrize("name", STATES)
def test_a_further_charge_follows_the_old_ones(name: str, ledgers: Path, tmp_path: Path) -> None:
    found = own(ledgers, name, tmp_path)
    head, spent, left = found.head, found.spent(), found.left()
    charge = found.releases()[0].charge
    assert charge is not None
    receipt = found.reserve(charge, adjacency=found.adjacency, what="a later version")
    found.commit(receipt, digest="2" * 64)
    assert found.spent() == filters.add(spent, charge, found.budget)
    assert found.left() != left
    assert found.verify(head=head) == ()
    assert found.entries()[LEDGERS[name]["entries"]].previous == head
    assert [line.state for line in found.releases()] == [*LEDGERS[name]["states"], "committed"]


@pytest.mark.parametrize("name", [name for name in STATES if name.endswith("reserved")])
def test_what_a_killed_process_reserved_still_counts(name: str, ledgers: Path, tmp_path: Path) -> None:
    found = own(ledgers, name, tmp_path)
    lines = [line for line in found.releases() if line.charge is not None]
    assert [line.state for line in lines] == ["committed", "failed", "reserved"]
    total: Loss = filters.nothing(found.budget)
    for line in lines:
        assert line.charge is not None
        total = filters.add(total, line.charge, found.budget)
    assert found.spent() == total
    assert found.spent() != Ledger.open(ledgers / f"{name.removesuffix('reserved')}open.ledger").spent()
    with pytest.raises(BudgetError):
        found.reserve(found.budget, adjacency=found.adjacency, what="all of it")


def test_an_idempotency_key_of_an_old_ledger_charges_nothing_again(ledgers: Path, tmp_path: Path) -> None:
    found = own(ledgers, "epsilon_open", tmp_path)
    spent = found.spent()
    first = found.releases()[0]
    assert first.charge is not None
    again = found.reserve(
        first.charge, adjacency=found.adjacency, what="table 1", who="anna", key="k", request_digest="d"
    )
    assert (again.id, again.replayed, found.spent()) == (first.id, True, spent)


@pytest.mark.parametrize("name", [name for name in LEDGERS if name.endswith(("_closed", "_expired"))])
def test_a_closed_or_expired_ledger_takes_no_charge(name: str, ledgers: Path, tmp_path: Path) -> None:
    found = own(ledgers, name, tmp_path)
    charge = found.releases()[0].charge
    assert charge is not None
    with pytest.raises(BudgetError, match="closed" if name.endswith("_closed") else r"ended on 2020-01-01"):
        found.reserve(charge, adjacency=found.adjacency, what="too late")
    assert found.head == LEDGERS[name]["head"]


def test_an_export_of_old_still_adds_up(ledgers: Path) -> None:
    told = json.loads((ledgers / "epsilon_delta_reserved.export.json").read_text("utf-8"))
    assert verify_export(told, head=LEDGERS["epsilon_delta_reserved"]["head"]) == ()
    assert Ledger.open(ledgers / "epsilon_delta_reserved.ledger").export() == told
    told["entries"][1]["body"] = told["entries"][1]["body"].replace("table 1", "table 9")
    assert verify_export(told) != ()


@pytest.mark.parametrize("name", ["epsilon_delta_reserved", "rho_closed", "zcdp_substitute"])
def test_the_command_line_shows_verifies_and_exports_it(name: str, ledgers: Path) -> None:
    file, told = str(ledgers / f"{name}.ledger"), LEDGERS[name]
    shown = run("ledger", "show", file, "--json").document
    assert (shown["approved"], shown["spent"], shown["left"]) == (told["budget"], told["spent"], told["left"])
    assert [line["state"] for line in shown["releases"]] == told["states"]
    assert run("ledger", "verify", file, "--head", told["head"], "--json").document["ok"]
    assert run("ledger", "export", file, "--json").document["head"] == told["head"]


def test_a_changed_ledger_is_noticed(ledgers: Path, tmp_path: Path) -> None:
    found = own(ledgers, "rho_open", tmp_path)
    assert found.path is not None
    raw = found.path.read_bytes()
    assert raw.count(b"table 1") == 1
    found.path.write_bytes(raw.replace(b"table 1", b"table 2"))
    assert Ledger.open(found.path).verify() != ()
    assert run("ledger", "verify", str(found.path)).code == 6
    with pytest.raises(LedgerError):
        Ledger.open(found.path).spent()


# --- certificates -----------------------------------------------------------------------------------------------------


def test_every_golden_certificate_has_its_figures() -> None:
    assert {path.stem for path in (FOLDER / "certificates").iterdir()} == set(CERTIFICATES)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_says_and_holds_what_it_did(name: str, ledgers: Path) -> None:
    told, found = CERTIFICATES[name], read_certificate(certificate(name))
    assert (found.kind, found.digest, found.signed) == (told["kind"], told["digest"], told["signed"])
    assert to_json(found.charged) == told["charged"]
    assert [[answer.name, [cell_of(cell) for cell in answer]] for answer in found.answers] == told["answers"]
    assert sorted({node.by.name for node in nodes(found.guarantee)}) == told["theorems"]
    checked = found.verify(ledgers / told["ledger"], OFFICER, allow_unsigned=True)
    assert [one.name for one in checked.checks if not one.ok] == (["void"] if name in WITHDRAWN else [])
    assert {"signature", "entry", "chain", "charge", "losses", "neighbours"} <= {one.name for one in checked.checks}


def cell_of(cell: rt.Cell) -> list[object]:
    label = [list(pair) for pair in cell.label]
    if isinstance(cell.outcome, NoReply):
        return [label, None]
    told = cell.outcome.value
    return [label, [told.value, told.low, told.high, told.noise, told.sampling]]


SHOWN = (
    "approx_add_remove_pure_0",
    "zcdp_substitute_delta_3",
    "models_zcdp_substitute_PCA",
    "sessions_approx_add_remove_sparse",
)


@pytest.mark.parametrize("name", SHOWN)
def test_the_command_line_verifies_and_explains_it(name: str, ledgers: Path) -> None:
    file, ledger = str(certificate(name)), str(ledgers / CERTIFICATES[name]["ledger"])
    said = run("verify", file, "--ledger", ledger, "--key", str(OFFICER), "--allow-unsigned", "--json")
    assert (said.code, said.document["ok"]) == (0, True)
    told = run("explain", file, "--proof", "--checklist", "--json").document
    assert (told["kind"], told["odds"]["prior"]) == (CERTIFICATES[name]["kind"], 0.1)
    assert told["proof"][0]


@pytest.mark.parametrize("name", SHOWN)
def test_a_changed_certificate_is_noticed(name: str, ledgers: Path) -> None:
    """Of every kind: another charge, another number let out, a loss in the proof, a parameter of a leaf."""
    found, ledger = read_certificate(certificate(name)), ledgers / CERTIFICATES[name]["ledger"]
    for change in CHANGES:
        document = copy.deepcopy(found.document)
        change(document)
        failed = Certificate.of(document).verify(ledger, OFFICER, allow_unsigned=True)
        assert not failed.ok, change


def halved(loss: dict[str, str]) -> None:
    name = "rho" if "rho" in loss else "epsilon"
    loss[name] = str(Fraction(loss[name]) / 2)


def other_charge(document: dict[str, Any]) -> None:
    halved(document["charged"])


def other_number(document: dict[str, Any]) -> None:
    match document:
        case {"model": {"released": released}}:
            released["extra"] = 1
        case {"session": {"transcript": transcript}}:
            transcript[0][1] += "."
        case {"answers": [first, *_]}:
            first["cells"][0]["value"] += 1


def other_loss(document: dict[str, Any]) -> None:
    leaf = document["guarantee"]
    while leaf["parts"]:
        leaf = leaf["parts"][0]
    halved(leaf["loss"])


def other_parameter(document: dict[str, Any]) -> None:
    leaf = document["guarantee"]
    while leaf["parts"]:
        leaf = leaf["parts"][0]
    name = next(name for name in ("scale", "sensitivity", "variance", "epsilon") if name in leaf["parameters"])
    leaf["parameters"][name] = str(Fraction(leaf["parameters"][name]) * 2)


CHANGES: tuple[Callable[[dict[str, Any]], None], ...] = (other_charge, other_number, other_loss, other_parameter)


def test_a_signed_certificate_of_old_needs_its_key(tmp_path: Path) -> None:
    file = certificate("approx_add_remove_pure_0")
    assert read_certificate(file).verify(key=OFFICER).ok
    assert run("verify", str(file), "--key", str(OFFICER)).code == 0
    assert run("verify", str(file)).code == 6  # whose key it is was not checked
    text = file.read_text("utf-8").replace('"who": "anna"', '"who": "otto"')
    assert not read_certificate(text).verify(key=OFFICER, allow_unsigned=True).ok


# --- void certificates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITHDRAWN)
def test_a_void_certificate_exits_6_and_names_the_reason(name: str, ledgers: Path) -> None:
    file, ledger = str(certificate(name)), str(ledgers / CERTIFICATES[name]["ledger"])
    said = run("verify", file, "--ledger", ledger, "--allow-unsigned")
    assert said.code == 6
    assert (
        "void: the refit with the largest ε was charged, and another refit of the grid may have cost more ρ"
        in said.said
    )
    assert [one.ok for one in read_certificate(file).verify(ledger, allow_unsigned=True).checks].count(False) == 1
    assert read_certificate(file).explain().startswith("This certificate is void: the refit")


def test_grid_searches_whose_charge_covers_every_refit_are_not_void() -> None:
    """One candidate in rho; and in epsilon, where the refit with the largest epsilon is the dearest."""
    for name in (
        "zcdp_substitute_grid_one",
        *(f"approx_add_remove_grid_{grid}" for grid in ("dearest", "one", "weights")),
    ):
        assert read_certificate(certificate(f"models_{name}")).verify(allow_unsigned=True).ok, name


def test_a_search_in_rho_is_not_void_where_its_refit_costs_the_most_that_any_could() -> None:
    """Half the square of two fifths of epsilon, which no pure refit passes; below it the certificate cannot tell."""
    document = read_certificate(certificate(WITHDRAWN[0])).document
    for rho, void in (("2", False), ("1.999999", True)):
        document["guarantee"]["parts"][-1]["loss"] = {"rho": rho}
        checks = Certificate.of(document).verify(allow_unsigned=True).checks
        assert ("void" in {one.name for one in checks}) is void
    document["guarantee"]["parts"][-1]["loss"] = {"rho": "2"}
    document["model"]["parameters"]["delta"] = "1e-6"  # Gaussian noise: another refit may have more rho
    assert "void" in {one.name for one in Certificate.of(document).verify(allow_unsigned=True).checks}


def test_a_search_is_judged_by_its_proof_and_not_by_the_version_it_names() -> None:
    """Only a proof that counts one of all refits says that the dearest in rho was charged."""
    document = read_certificate(certificate(WITHDRAWN[0])).document
    document["software"]["reticent"] = rt.__version__
    assert "void" in {one.name for one in Certificate.of(document).verify(allow_unsigned=True).checks}
    refit = document["guarantee"]["parts"][-1]
    theorem = {"name": "one_of", "statement": "the maximum", "source": "docs/proofs/composition.md"}
    whole = {**refit, "label": "the refit", "theorem": theorem, "parameters": {}, "parts": [refit]}
    document["guarantee"]["parts"][-1] = whole
    assert Certificate.of(document).verify(allow_unsigned=True).ok


# --- theorems ---------------------------------------------------------------------------------------------------------


def test_no_theorem_was_renamed() -> None:
    assert set(THEOREMS["names"]) - set(theorems()) == {"given"}  # of the classroom; on no page of theorems
    from reticent.lab.parts import GIVEN

    assert GIVEN.name == "given"


def test_every_theorem_stands_in_a_golden_proof() -> None:
    used = {name for told in CERTIFICATES.values() for name in told["theorems"]}
    used |= {node.by.name for tree in THEOREMS["trees"].values() for node in nodes(serialization.from_json(tree))}
    assert set(THEOREMS["names"]) - used == IN_NO_TREE


@pytest.mark.parametrize("name", THEOREMS["trees"])
def test_every_node_of_a_golden_proof_is_derived_again(name: str) -> None:
    tree = serialization.from_json(THEOREMS["trees"][name])
    assert rederive(tree, axiom_again) == tree.loss
    assert serialization.to_json(tree)["loss"] == THEOREMS["trees"][name]["loss"]


def test_a_renamed_theorem_is_refused() -> None:
    for name, told in THEOREMS["trees"].items():
        tree = copy.deepcopy(told)
        tree["theorem"]["name"] += "_2"
        with pytest.raises(CheckError):
            rederive(serialization.from_json(tree), axiom_again)
        assert name


# --- studies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES["studies"])
def test_a_study_file_declares_what_it_did(name: str) -> None:
    told, found = FIGURES["studies"][name], rt.open(FOLDER / "studies" / f"{name}.toml")
    assert (found.title, found.schema.person.neighbours().words()) == (told["title"], told["protects"])
    assert list(found.schema.columns) == told["columns"]
    listed = [
        [spec.name, list(spec.ask), *(None if x is None else str(x) for x in (spec.epsilon, spec.delta, spec.rho))]
        for spec in found.spec.releases
    ]
    assert listed == told["releases"]


def test_a_study_whose_ledger_was_begun_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is by path and time, so the copy is told to be in the old place, and its later time to be no change."""
    folder = copied("studies", tmp_path)
    claim = json.loads((folder / "clinic.csv.reticent").read_text("ascii"))
    for module in (fingerprint, claim_file):
        monkeypatch.setattr(module, "place_of", lambda _: claim["fingerprint"].split()[0])
    of = rt.open(folder / "add_remove.toml").same_people()
    assert to_json(of.left()) == FIGURES["studies"]["add_remove"]["left"]
    release = of.release(["count"], epsilon="0.1")
    assert release.certificate.verify(of.ledger, allow_unsigned=True).ok
    earlier = read_certificate(folder / "table1.json")
    assert earlier.verify(of.ledger, allow_unsigned=True).ok
    assert [line.state for line in of.ledger.releases()] == ["committed", "committed"]
    (folder / "clinic.ledger").unlink()
    with pytest.raises(LedgerError, match=r"already under|is gone"):
        rt.open(folder / "add_remove.toml").left()


@pytest.mark.parametrize("name", FIGURES["studies"])
def test_the_command_line_plans_and_releases_by_it(name: str, tmp_path: Path) -> None:
    folder = copied("studies", tmp_path)
    for kept in (*folder.glob("*.reticent"), *folder.glob("*.ledger")):
        kept.unlink()
    file = str(folder / f"{name}.toml")
    release = FIGURES["studies"][name]["releases"][0][0]
    assert run("plan", file, "--release", release).code == 0
    done = run("release", file, "--release", release, "--out", str(tmp_path / "out"), "--yes", "--json")
    assert done.code in (0, 3), done.said
    ledger = next(folder.glob("*.ledger"))
    (made,) = tmp_path.glob("out*.json")
    assert run("verify", str(made), "--ledger", str(ledger), "--allow-unsigned").code == 0


# --- surveys ----------------------------------------------------------------------------------------------------------

DESIGNS = list(FIGURES["surveys"])
RECORDS = [name for name in DESIGNS if "estimate" in FIGURES["surveys"][name]]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_its_coins_and_its_fingerprint(name: str, tmp_path: Path) -> None:
    told, file = FIGURES["surveys"][name], FOLDER / "surveys" / f"{name}.survey.toml"
    found = survey.read(file)
    assert (found.fingerprint, to_json(found.guarantee.loss)) == (told["fingerprint"], told["loss"])
    assert rederive(found.guarantee, axiom_again) == found.guarantee.loss
    edited = tmp_path / file.name
    edited.write_text(file.read_text("utf-8").replace("?", "!"), encoding="utf-8")
    with pytest.raises(SpecError, match="was edited"):
        survey.read(edited)


@pytest.mark.parametrize("name", RECORDS)
def test_answers_of_old_give_the_same_estimate(name: str, tmp_path: Path) -> None:
    folder = FOLDER / "surveys"
    design = survey.read(folder / f"{name}.survey.toml")
    assert isinstance(design, survey.Design)
    table = collect(design, [folder / f"{name}.jsonl"], ask={"place": ["a", "b"]})
    assert table.csv() == (folder / f"{name}.csv").read_text("utf-8")
    result = design.estimate_table(folder / f"{name}.csv", "answer", respondent="receipt", code="design")
    told = FIGURES["surveys"][name]["estimate"]
    assert [share.label for share in result] == [label for label, *_ in told]
    for share, (_, *numbers) in zip(result, told, strict=True):
        assert np.allclose([share.value, share.low, share.high], numbers, rtol=1e-9, atol=0)
    published = folder / f"{name}.record.json"
    assert passed(check(published, folder / f"{name}.csv"))
    assert run("survey", "check", str(published), "--answers", str(folder / f"{name}.csv")).code == 0
    wrong = tmp_path / "wrong.json"
    whole = json.loads(published.read_text("utf-8"))
    whole["guarantee"]["loss"] = to_json(from_json({"epsilon": "1/100", "delta": "0"}))
    wrong.write_text(json.dumps(whole), encoding="utf-8")
    assert run("survey", "check", str(wrong)).code == 6


def test_a_questionnaire_of_old_collects() -> None:
    both = survey.read(FOLDER / "surveys" / "several.survey.toml")
    table = collect(both, [FOLDER / "surveys" / "several.jsonl"])
    assert len(table.rows) == FIGURES["surveys"]["several"]["collected"]
    assert table.csv() == (FOLDER / "surveys" / "several.csv").read_text("utf-8")


# --- densities and pickles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES["densities"])
def test_a_density_gives_the_same_numbers(name: str) -> None:
    told, law = (
        FIGURES["densities"][name],
        density_from_json((FOLDER / "densities" / f"{name}.json").read_text("utf-8")),
    )
    assert (law.n, law.method) == (told["n"], told["method"])
    if len(law.axes) > 1:
        numbers = [float(np.asarray(law.masses).sum())]
    else:
        low, high = float(law.axes[0].edges[0]), float(law.axes[0].edges[-1])
        mass = law.probability(low, (low + high) / 2)
        numbers = [mass.value, mass.low, mass.high, *np.asarray(law.quantile([0.25, 0.5, 0.9])).ravel().tolist()]
    assert np.allclose(numbers, told["figures"], rtol=1e-9, atol=1e-12)
    assert len(law.sample(5)) == 5


@pytest.mark.parametrize("name", [name for name in CERTIFICATES if "_density_" in name])
def test_rows_of_a_density_of_old_say_what_became_of_records_without_a_value(name: str) -> None:
    release = rt.read_release(certificate(name))
    (asked,) = [answer.name for answer in release.answers if answer.law is not None]
    made = release.synthetic(asked, rows=9)
    (said,) = [one for one in made.good_for() if re.search(r"readable|rows lack a value", one)]
    assert said in repr(made)


@pytest.mark.parametrize("name", FIGURES["models"])
def test_a_pickled_model_predicts_the_same_and_carries_its_certificate(name: str, ledgers: Path) -> None:
    told = FIGURES["models"][name]
    model = pickle.loads((FOLDER / "models" / f"{name}.pickle").read_bytes())
    found = model.predict(NEW) if hasattr(model, "predict") else model.transform(NEW)
    assert np.allclose(np.asarray(found), np.asarray(told["predicts"]), rtol=1e-9, atol=1e-12)
    assert model.certificate_.digest == told["ledger_digest"]
    assert model.certificate_.verify(ledgers / "models_approx_add_remove.ledger", allow_unsigned=True).ok
    assert model.summary()


@pytest.mark.parametrize("name", FIGURES["releases"])
def test_a_pickled_release_has_the_same_answers(name: str) -> None:
    told, found = FIGURES["releases"][name], pickle.loads((FOLDER / "releases" / f"{name}.pickle").read_bytes())
    assert found.certificate.digest == told["digest"]
    assert {answer: found[answer].value for answer in told["values"]} == told["values"]
    assert all(name in repr(found) for name in told["values"])


OUTWARDS = {"result": "33.3 % (95 % 10.1 to 58.6), design effect 4.4"}  # 0.1.0 rounded ends to the nearest


@pytest.mark.parametrize("name", sorted(path.stem for path in (FOLDER / "values").iterdir()))
def test_a_pickled_value_has_every_field_of_today(name: str) -> None:
    """A frozen class with slots is filled by the places of its fields; one that was added since has its default."""
    found = pickle.loads((FOLDER / "values" / f"{name}.pickle").read_bytes())
    assert sum(1 for _ in within(found)) > 0
    told = OUTWARDS.get(name, FIGURES["values"].get(name))
    assert told is None or repr(found) == told


def within(value: object) -> Iterator[object]:
    """Every dataclass inside a value, each of whose fields can be read."""
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from within(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from (inner for part in value.values() for inner in within(part))
    elif isinstance(value, list | tuple):
        yield from (inner for part in value for inner in within(part))


def test_answers_of_old_have_no_estimand_and_say_so_by_an_empty_one() -> None:
    answers = pickle.loads((FOLDER / "values" / "answers.pickle").read_bytes())
    assert {answer.estimand for answer in answers} == {""}
    kept = pickle.loads(pickle.dumps(replace(answers[0], estimand="mean of age")))
    assert kept.estimand == "mean of age"
