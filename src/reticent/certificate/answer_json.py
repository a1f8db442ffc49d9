"""Answers of a release as JSON values, and back: what a certificate, a plan and ``--json`` hold of each.

answer_to_json, cell_to_json, incomplete_to_json   values to JSON
answer_from_json                                   JSON, whose form was checked, to values
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.statistics.answer import Answer, Cell, IncompleteRows
from reticent.statistics.error_law import law_from_json

if TYPE_CHECKING:
    from reticent.synthesis.density import Density


def cell_to_json(cell: Cell) -> dict[str, object]:
    """One cell as a certificate holds it. A no reply has nothing but its label."""
    label = [[name, key] for name, key in cell.label]
    match cell.outcome:
        case Reply(Estimate(value, low, high, noise, sampling, level) as estimate):
            numbers = {"value": value, "low": low, "high": high, "noise": noise, "sampling": sampling, "level": level}
            error = {} if cell.error is None else {"error": cell.error.to_json()}
            return {"label": label, "outcome": "reply", **numbers, **_dates(estimate), **error}
        case _:
            return {"label": label, "outcome": "no_reply"}


def _dates(estimate: Estimate) -> dict[str, object]:
    """A date as text beside its numbers, which count steps of so many seconds from 1970; the unit of a spread."""
    if estimate.step:
        value, low, high = estimate.dates
        dates = {"value": value, "low": low, "high": high}
        return {"dates": dates, "step": estimate.step, "unit": estimate.unit}
    return {"unit": estimate.unit} if estimate.unit else {}


def answer_to_json(answer: Answer) -> dict[str, object]:
    """One answer as a certificate holds it."""
    capped = {} if answer.capped is None else {"capped": cell_to_json(Cell((), answer.capped))}
    law = {} if answer.law is None else {"density": json.loads(answer.law.to_json())}
    return {
        "name": answer.name,
        "discrete": answer.discrete,
        "estimand": answer.estimand,
        "caveats": list(answer.caveats),
        "cells": [cell_to_json(cell) for cell in answer],
        "incomplete": incomplete_to_json(answer.incomplete),
        **capped,
        **({"apart": True} if answer.apart else {}),
        **law,
    }


def incomplete_to_json(found: IncompleteRows | None) -> dict[str, object] | None:
    """The share of incomplete rows beside an answer; "left_out" where the plan said that none is told.

    ``from`` is the earlier release that told it, where it is shown again; ``of`` the digest of the declared snapshot.
    """
    if found is None:
        return None
    told = {"outcome": "left_out"} if found.outcome is None else cell_to_json(Cell((), found.outcome))
    earlier = {name: text for name, text in (("from", found.origin), ("of", found.of)) if text}
    shown = {name: value for name, value in told.items() if name != "label"}
    return {"columns": list(found.columns), **shown, **earlier}


def answer_from_json(found: Mapping[str, Any]) -> Answer:
    """One answer as the release gave it.

    Raises
    ------
    PublicParameterError, KeyError, TypeError, ValueError
        A density has the right form but no meaning.
    """
    return Answer(
        str(found["name"]),
        tuple(_cell(cell) for cell in found["cells"]),
        tuple(found["caveats"]),
        bool(found["discrete"]),
        _density(found.get("density")),
        str(found.get("estimand", "")),
        _incomplete(found.get("incomplete")),
        apart=bool(found.get("apart", False)),
        capped=None if found.get("capped") is None else _cell(found["capped"]).outcome,
    )


def _density(found: object) -> Density | None:
    if found is None:
        return None
    from reticent.synthesis import density

    return density.from_json(json.dumps(found))


def _incomplete(found: dict[str, Any] | None) -> IncompleteRows | None:
    if found is None:
        return None
    outcome = None if found["outcome"] == "left_out" else _cell({**found, "label": []}).outcome
    return IncompleteRows(tuple(found["columns"]), outcome, str(found.get("from", "")), str(found.get("of", "")))


def _cell(found: dict[str, Any]) -> Cell:
    label = tuple((str(name), key) for name, key in found["label"])
    if found["outcome"] == "no_reply":
        return Cell(label, NO_REPLY)
    numbers = (found[name] for name in ("value", "low", "high", "noise", "sampling", "level"))
    error = found.get("error")
    law = None if error is None else law_from_json(error)
    dated = {"step": int(found.get("step", 0)), "unit": str(found.get("unit", ""))}
    return Cell(label, Reply(Estimate(*(float(number) for number in numbers), **dated)), law)  # type: ignore[arg-type]
