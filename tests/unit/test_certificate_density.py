"""The law in a certificate: the schema and the code accept and refuse the same, checks and half-widths included."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent.certificate import schema
from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import CheckError
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.statistics.answer import Answer
from reticent.synthesis.density import Density
from reticent.synthesis.fidelity import checked
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.options import Options, plan_for
from reticent.synthesis.series import grid
from tests.unit.test_certificate import changed, places
from tests.unit.test_certificate_example import document

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((Path(schema.__file__).parent / "certificate.schema.json").read_text("utf-8"))
NEAR = Adjacency("add_remove")


def law() -> Density:
    """Two bars, an atom and missing values, with the check of the one column."""
    columns = [("x", Fraction(0), Fraction(1), False)]
    plan = plan_for(
        Options("histogram", cells=2), columns, DensityTerms(NEAR), Fraction(1), Fraction(0), atoms=[Fraction(0)]
    )
    made = checked(plan, grid(columns, 1), NEAR, Fraction(1), people=None, atoms=[Fraction(0)])
    values = np.random.default_rng(1).integers(0, 1 << 20, (500, 1))
    values[:100] = 0
    held = [QueryResult(records=values) for _ in made.queries]
    outcome = made.draw(held, Replayed("law"))
    assert isinstance(outcome, Reply)
    return outcome.value


def whole() -> dict[str, Any]:
    found = document()
    found["answers"] = [answer_to_json(Answer("density(x)", (), law=law()))]
    found["guarantee"]["parts"] = []
    return found


@pytest.mark.wide
def test_the_schema_says_what_the_code_says_of_a_density() -> None:
    validator, made = jsonschema.Draft202012Validator(SCHEMA), whole()
    validator.validate(made)
    schema.well_formed(made)
    part = made["answers"][0]["density"]
    assert len(part["checks"]) == 1
    assert part["beside"] > 0
    part["guarantee"] = made["guarantee"]
    part["checks"][0]["counts"] = part["checks"][0]["counts"][:2]
    others: tuple[object, ...] = (..., None, True, "x", "1/3", -1, 0, 0.5, [], {}, [["a", 1]], 1 << 63)
    seen = set()
    for inner in places(part):
        if inner[0] == "guarantee" and len(inner) > 1:
            continue  # a tree, as in the test of the whole document
        for other in others:
            tried = changed(made, ("answers", 0, "density", *inner), other)
            try:
                schema.well_formed(tried)
                accepted = True
            except CheckError:
                accepted = False
            seen.add((inner[0], accepted))
            assert validator.is_valid(tried) == accepted, (inner, other)
    assert {("checks", False), ("checks", True), ("beside", False), ("beside", True)} <= seen


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("checks",), {}),
        (("checks", 0, "counts", 0), 2.5),
        (("checks", 0, "counts", 0), "12"),
        (("checks", 0, "radius"), -1),
        (("checks", 0, "n"), 0),
        (("checks", 0, "off"), ...),
        (("checks", 0, "axes"), ...),
        (("beside",), -0.5),
        (("beside",), "half"),
    ],
)
def test_a_certificate_with_wrong_checks_or_half_widths_is_refused(place: tuple[str | int, ...], wrong: object) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    tried = changed(whole(), ("answers", 0, "density", *place), wrong)
    assert not validator.is_valid(tried)
    with pytest.raises(CheckError, match=str(place[0])):
        Certificate.of(tried)


def test_counts_below_zero_are_noise_and_a_certificate_without_checks_is_one() -> None:
    validator, made = jsonschema.Draft202012Validator(SCHEMA), whole()
    made["answers"][0]["density"]["checks"][0]["counts"][0] = -7
    validator.validate(made)
    assert Certificate.of(made).answers[0].density is not None
    for name in ("checks", "beside"):
        del made["answers"][0]["density"][name]
    validator.validate(made)
    assert Certificate.of(made).answers[0].density is not None
