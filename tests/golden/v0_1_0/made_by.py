"""Writer of the golden files in this folder. It runs with version 0.1.0 of the package alone (commit 13b3aad).

    git worktree add --detach ../base 13b3aad
    PYTHONPATH=../base/src python tests/golden/v0_1_0/made_by.py NEW_FOLDER

The files in the repository were written once and stay as they are: noise comes from the operating system, so another
run writes other numbers. ``figures.json`` holds what 0.1.0 itself read from each file; every later version reads the
same. All rows are made up here and are nobody's.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from made_certificates import FIGURES, RNG, handles, models, persons, releases, sessions
from made_theorems import theorems
from reticent.study.keys import make_keys

import reticent as rt
from reticent import survey
from reticent.entropy import system
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, PureDP, to_json
from reticent.survey.answers import collect
from reticent.survey.form import FORMAT
from reticent.survey.report import Read, record

ENDED = date(2020, 1, 1)
ELSEWHERE = "/srv/clinic"  # where the claims beside the sources say that their ledgers are


# --- ledgers ----------------------------------------------------------------------------------------------------------

LOSSES: dict[str, tuple[Any, Any, Any]] = {
    "epsilon": (PureDP(Fraction(3)), PureDP(Fraction(1, 2)), PureDP(Fraction(4))),
    "epsilon_delta": (
        ApproxDP(Fraction(3), Fraction(1, 10**6)),
        ApproxDP(Fraction(1, 2), Fraction(1, 10**9)),
        ApproxDP(Fraction(4), Fraction(1, 10**6)),
    ),
    "rho": (ZCDP(Fraction(1)), ZCDP(Fraction(1, 7)), ZCDP(Fraction(2))),
    "rho_delta": (
        ApproxZCDP(Fraction(1), Fraction(1, 10**6)),
        ApproxZCDP(Fraction(1, 7), Fraction(1, 10**9)),
        ApproxZCDP(Fraction(2), Fraction(1, 10**6)),
    ),
}
NEAR = Adjacency("add_remove", 5)


def other_columns(file: Path, budget: Any) -> None:
    """The same source under other declared columns: an entry that describes it."""
    for columns in ("columns-1", "columns-2"):
        Ledger.open_or_create(
            file, title="", adjacency=NEAR, budget=budget, person="who", source=f"place {columns}", approved="board"
        )


def ledgers(folder: Path) -> None:
    for name, (budget, charge, more) in LOSSES.items():
        for state in ("open", "reserved", "closed", "expired"):
            file = folder / "ledgers" / f"{name}_{state}.ledger"
            made = Ledger.create(
                file,
                title=f"golden {name}",
                adjacency=NEAR,
                budget=budget,
                person="who",
                source="place columns-0",
                approved="board",
            )
            receipt = made.reserve(
                charge, adjacency=NEAR, what="table 1", who="anna", purpose="golden", key="k", request_digest="d"
            )
            made.commit(receipt, digest="0" * 63 + "1")
            made.note_refusal("table 2", who="ben", code="budget")
            made.fail(made.reserve(charge, adjacency=NEAR, what="table 3"), "f-0003")
            if state == "reserved":
                interrupted(file, charge)
            if state == "reserved":
                other_columns(file, budget)
            if state == "closed":
                made.close("the study has ended")
            if state == "expired":
                made.amend(more, reason="a second year", approved="board, again", ends=ENDED)


def interrupted(file: Path, charge: Any) -> None:
    """A process that reserves and is gone before it can commit."""
    child = os.fork()
    if child == 0:
        Ledger.open(file).reserve(charge, adjacency=NEAR, what="table 4", who="a program that was killed")
        os._exit(9)
    os.waitpid(child, 0)


def ledger_figures(folder: Path) -> None:
    for file in sorted((folder / "ledgers").glob("*.ledger")):
        made = Ledger.open(file)
        assert made.verify() == ()
        budget = made.budget
        FIGURES["ledgers"][file.stem] = {
            "title": made.title,
            "currency": made.currency,
            "budget": to_json(budget),
            "spent": to_json(made.spent()),
            "left": to_json(made.left()),
            "person": made.person,
            "approved": made.approved,
            "ends": None if made.ends is None else made.ends.isoformat(),
            "closed": made.closed,
            "head": made.head,
            "entries": len(made.entries()),
            "states": [line.state for line in made.releases()],
        }
    exported = Ledger.open(folder / "ledgers" / "epsilon_delta_reserved.ledger").export()
    (folder / "ledgers" / "epsilon_delta_reserved.export.json").write_text(
        json.dumps({**exported}, indent=2) + "\n", encoding="utf-8"
    )


# --- studies ----------------------------------------------------------------------------------------------------------

STUDIES = {
    "add_remove": """\
# Every key a study file of 0.1.0 may have, for people of several rows.
[study]
title = "clinic"
source = "clinic.csv"
ledger = "clinic.ledger"
delimiter = ";"

[person]
column = "pid"
rows = { at_most = 3 }
adjacency = "add_remove"
people = 200

[budget]
epsilon = "3"
delta = "1e-8"
approved = "board, 2026-11-22"
ends = 2099-12-31

[columns.age]
kind = "integer"
low = 0
high = 100
why = "nobody is older"

[columns.cost]
kind = "real"
low = 0
high = "499.5"
missing = 0
resolution = "0.5"
constant = false

[columns.free]
kind = "real"

[columns.town]
kind = "category"
among = ["a", "b"]
constant = true
why = "two towns"

[[release]]
name = "table 1"
epsilon = "1"
ask = ["count", "persons", "mean(age)", "persons by town"]

[[release]]
name = "table 2"
delta = "1e-9"
epsilon = 0.5
ask = ["scale(free)", "median(age)"]

[[release]]
name = "wanted"
ask = ["mean(age)"]
want = { "mean(age)" = 5 }
""",
    "substitute": """\
[study]
title = "clinic, one row each"
source = "visits-*.parquet"
ledger = "visits.ledger"

[person]
rows = "one_each"
adjacency = "substitute"

[budget]
rho = "1/2"
override = "a pilot"

[columns.age]
kind = "integer"
low = 0
high = 100
missing = 50

[columns.ill]
kind = "category"
among = [true, false]

[columns.site]
kind = "category"
among = [1, 2, 3]

[[release]]
name = "in rho"
rho = "0.1"
ask = ["mean(age) by site", "proportion(ill)"]

[[release]]
name = "large"
epsilon = "12"
override = "the board asked for it"
ask = ["histogram(age, edges=0:100:10)"]
""",
    "rho_delta": """\
[study]
source = "pilot.csv"
delimiter = ";"
ledger = "rho.ledger"

[person]
column = "pid"
rows = { at_most = 2 }
adjacency = "substitute"

[budget]
rho = "0.5"
delta = "1e-9"

[columns.age]
kind = "integer"
low = 0
high = 100
missing = 0

[[release]]
name = "one"
rho = "1/8"
ask = ["mean(age)"]
""",
}


def studies(folder: Path) -> None:
    place = folder / "studies"
    people = 200
    lines = ["pid;age;cost;free;town;unused"]
    for row in range(500):
        person = int(RNG.integers(0, people))
        town = "ab"[person % 2]
        cost = "" if row % 50 == 7 else f"{RNG.uniform(0, 499):.1f}"
        lines.append(f"{person};{RNG.integers(18, 90)};{cost};{RNG.normal(3, 2):.3f};{town};x{row}")
    for name in ("clinic.csv", "pilot.csv"):
        (place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in (1, 2):
        table = pa.table(
            {"age": RNG.integers(18, 90, 150), "ill": RNG.random(150) < 0.3, "site": RNG.integers(1, 4, 150)}
        )
        pq.write_table(table, place / f"visits-{part}.parquet")
    for name, text in STUDIES.items():
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
    written(place)
    for claim in place.glob("*.reticent"):  # the folder it was written in is nobody's business
        claim.write_text(claim.read_text("ascii").replace(str(place.resolve()), ELSEWHERE), encoding="ascii")


def written(place: Path) -> None:
    """A release under the first study file, and what 0.1.0 reads in each of them."""
    with inside(place):
        of = rt.open("add_remove.toml")
        made = of.release(of.named("table 1").ask, epsilon="1", name="table 1")
        (place / "table1.json").write_text(made.certificate.to_json(), encoding="utf-8")
        for name in STUDIES:
            found = rt.open(f"{name}.toml")
            FIGURES["studies"][name] = {
                "title": found.title,
                "left": to_json(found.left()),
                "protects": found.schema.person.neighbours().words(),
                "columns": list(found.schema.columns),
                "releases": [
                    [
                        spec.name,
                        list(spec.ask),
                        *(None if x is None else str(x) for x in (spec.epsilon, spec.delta, spec.rho)),
                    ]
                    for spec in found.spec.releases
                ],
            }


@contextmanager
def inside(place: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


# --- surveys ----------------------------------------------------------------------------------------------------------


def surveys(folder: Path) -> None:
    place = folder / "surveys"
    several = ["never", "once", "often"]
    designs: dict[str, Any] = {
        "two_coins": survey.two_coins("Have you?"),
        "forced": survey.forced("Have you?", truth="3/4", yes="1/3"),
        "warner": survey.warner("Have you?", epsilon=1),
        "unrelated": survey.unrelated("Have you?", other_share="1/4", truth="2/3"),
        "one_sided": survey.one_sided("Have you?", truth="1/2"),
        **{
            method: survey.choice("How often?", several, epsilon=1, method=method)
            for method in ("kary", "unary", "optimised_unary", "subset", "hadamard", "hashing")
        },
        "duchi": survey.mean("For how many years?", 0, 25, epsilon=1, method="duchi"),
        "piecewise": survey.mean("For how many years?", 0, 25, epsilon=2, method="piecewise"),
    }
    designs["several"] = survey.several([designs["two_coins"], designs["duchi"]], epsilon=2)
    for name, design in designs.items():
        design.save(place / f"{name}.survey.toml")
        FIGURES["surveys"][name] = {
            "fingerprint": design.fingerprint,
            "say": design.say(),
            "loss": to_json(design.guarantee.loss),
        }
        if name in ("one_sided", "several"):
            continue
        truths: list[Any] = (
            [several[k % 3] for k in range(60)] if name not in ("duchi", "piecewise") else [k % 25 for k in range(60)]
        )
        if design.among == ("yes", "no"):
            truths = ["yes" if k % 3 == 0 else "no" for k in range(60)]
        answered(place, name, design, truths)
    sheets = [designs["several"].randomize({"Have you?": "no", "For how many years?": 6}) for _ in range(20)]
    both = designs["several"]
    lines = [
        message(both.code, [{"design": one.code, "answer": sheet[one.question]} for one in both.designs])
        for sheet in sheets
    ]
    (place / "several.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = collect(both, [place / "several.jsonl"])
    (place / "several.csv").write_text(table.csv(), encoding="utf-8")
    FIGURES["surveys"]["several"]["collected"] = len(table.rows)


def message(code: str, answers: list[dict[str, str]], **opened: str) -> str:
    receipt = system().bits(96).to_bytes(12).hex()
    return json.dumps({"format": FORMAT, "survey": code, "receipt": receipt, "answers": answers, "open": opened})


def answered(place: Path, name: str, design: Any, truths: list[Any]) -> None:
    """What a page would have sent, the table of it, the estimate, and the record that is published."""
    lines = [
        message(design.code, [{"design": design.code, "answer": design.randomize(truth)}], place="ab"[k % 2])
        for k, truth in enumerate(truths)
    ]
    (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = collect(design, [place / f"{name}.jsonl"], ask={"place": ["a", "b"]})
    (place / f"{name}.csv").write_text(table.csv(), encoding="utf-8")
    with inside(place):
        groups = ["place"] if name in ("two_coins", "kary") else []
        result = design.estimate_table(f"{name}.csv", "answer", groups=groups, respondent="receipt", code="design")
        read = Read(Path(f"{name}.csv"), "answer", respondent="receipt", code="design")
        published = record(design, result, read)
    (place / f"{name}.record.json").write_text(json.dumps(published, indent=2) + "\n", encoding="utf-8")
    FIGURES["surveys"][name]["estimate"] = [[share.label, share.value, share.low, share.high] for share in result]


# --- pickles ----------------------------------------------------------------------------------------------------------


def values(folder: Path) -> None:
    """One of each kind of frozen value that people keep beside a release: its fields are read back by their places."""
    certificate = rt.read_certificate(folder / "certificates" / "approx_add_remove_density_atoms_and_checks.json")
    design = survey.read(folder / "surveys" / "two_coins.survey.toml")
    result = design.estimate_table(
        folder / "surveys" / "two_coins.csv", "answer", groups=["place"], respondent="receipt", code="design"
    )
    kept = {
        "answers": rt.read_certificate(folder / "certificates" / "approx_add_remove_pure_1.json").answers,
        "guarantee": certificate.guarantee,
        "certificate": certificate,
        "density": certificate.answers[0].density,
        "verification": certificate.verify(allow_unsigned=True),
        "design": design,
        "questionnaire": survey.read(folder / "surveys" / "several.survey.toml"),
        "result": result,
        "losses": [budget for budget, _, _ in LOSSES.values()],
        "entries": Ledger.open(folder / "ledgers" / "epsilon_delta_reserved.ledger").entries(),
        "lines": Ledger.open(folder / "ledgers" / "epsilon_delta_reserved.ledger").releases(),
    }
    for name, value in kept.items():
        (folder / "values" / f"{name}.pickle").write_bytes(pickle.dumps(value))
    FIGURES["values"] = {name: repr(value) for name, value in kept.items() if name in ("losses", "result")}


def main(folder: Path) -> None:
    for name in ("certificates", "densities", "ledgers", "models", "releases", "studies", "surveys", "values"):
        (folder / name).mkdir(parents=True)
    make_keys(folder / "officer")
    ledgers(folder)
    for currency, kind in (("approx", "add_remove"), ("zcdp", "substitute")):
        releases(folder, currency, kind)
        models(folder, currency, kind)
        sessions(folder, currency, kind)
    persons(folder)
    handles(folder)
    studies(folder)
    surveys(folder)
    theorems(folder)
    values(folder)
    ledger_figures(folder)
    (folder / "officer.key").unlink()
    (folder / "figures.json").write_text(json.dumps(FIGURES, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
