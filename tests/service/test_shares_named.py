"""A published share says of what: the schema settles the value, and names, notes and lookups go by it."""

from __future__ import annotations

from typing import Any

import pytest

import reticent as rt
from reticent.errors import QuestionError
from reticent.privacy.cost import Cost
from reticent.statistics.grammar import parse
from reticent.study.formulas import resolved
from reticent.study.stored_answer import request_digest

ROWS = {"b": ["yes", "no", "no", "no"] * 500, "z": [0, 1, 1, 9] * 500, "sex": [1, 2, 2, 2] * 500}


def study() -> rt.Study:
    columns: dict[str, Any] = {"b": rt.category(["yes", "no"]), "z": rt.integer(0, 1), "sex": rt.category([1, 2])}
    return rt.study(ROWS, columns=columns, adjacency="add_remove", budget=10)


def test_an_answer_is_found_by_the_question_that_left_its_value_open() -> None:
    release = study().release(["proportion(b)", rt.proportion("z"), "proportion(b) by z"], epsilon=10)
    assert release.keys() == ("proportion(b, value=yes)", "proportion(z, value=1)", "proportion(b, value=yes) by z")
    for asked in ("proportion(b)", rt.proportion("b"), rt.proportion("b", value="yes")):
        assert release[asked].value == pytest.approx(0.25, abs=0.02)
    assert release["proportion(z)"].value == pytest.approx(0.5, abs=0.02)  # 9 is readable, and no 1
    told = {one["name"]: one["estimand"] for one in release.certificate.document["answers"]}
    assert told["proportion(b, value=yes)"].startswith("population share of b = yes, among")
    assert told["proportion(z, value=1)"].startswith("population share of z = 1, among")


def test_a_share_of_true_is_named_as_labels_spell_it() -> None:
    rows = {"ill": [True, False] * 500, "x": [1.0, 3.0] * 500}
    held = rt.study(
        rows, adjacency="add_remove", columns={"ill": rt.category([False, True]), "x": rt.real(0, 4)}, budget=10
    )
    release = held.release(["proportion(ill)", "proportion(x > 2)"], epsilon=9)
    assert release.keys() == ("proportion(ill, value=true)", "proportion(x > 2, value=true)")
    for asked in ("proportion(ill)", rt.proportion("ill"), "proportion(ill, value=true)"):
        assert release[asked].value == pytest.approx(0.5, abs=0.05)
    with pytest.raises(QuestionError, match="asked twice"):
        held.release(["proportion(ill)", "proportion(ill, value=true)"], epsilon=1)


def test_an_open_question_finds_no_answer_where_two_shares_were_released() -> None:
    release = study().release(["proportion(b)", "proportion(b, value=no)"], epsilon=2)
    with pytest.raises(QuestionError, match="no answer"):
        release["proportion(b)"]


def test_codes_are_not_guessed() -> None:
    with pytest.raises(QuestionError, match=r"Which share\? proportion\(sex, value=…\) with one of: 1, 2\."):
        study().release(["proportion(sex)"], epsilon=1)


def test_a_share_is_asked_once() -> None:
    with pytest.raises(QuestionError, match="asked twice"):
        study().release(["proportion(b)", "proportion(b, value=yes)"], epsilon=1)


def test_a_plan_and_a_width_go_by_the_settled_name() -> None:
    plan = study().plan(want={"proportion(b)": 0.01}, people=2_000)
    assert "proportion(b, value=yes)" in str(plan)


def test_a_request_is_known_by_the_question_as_it_was_asked() -> None:
    """Digests that were stored before names told the value: a request that is repeated costs nothing."""
    made = study()
    for text, digest in DIGESTS.items():
        asked = resolved(parse(text), made.schema)
        again = resolved(asked, made.schema)
        assert request_digest([asked], Cost.read(1, None, None), None, made) == digest
        assert request_digest([again], Cost.read(1, None, None), None, made) == digest


DIGESTS = {
    "proportion(b)": "947e3f3d0af6b88c4cf1d39b99362d2b3df5b1f856419739b6f53e31c19df78b",
    "proportion(b, value=yes)": "71920ac0d411cf65965f0beb47ab7c5c1ec25bb807d9fed9aa7c645afdd86a48",
}
