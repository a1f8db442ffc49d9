"""Names and options of 0.1.0 that are gone, each with its spelling of today. The next version but one drops this file.

    missing("reticent", "holdout")                   the AttributeError of a name
    refuse_options("mean", {"per": "person"}, ())    the refusal of an option

One table holds them all; who was asked looks a name up only where Python would refuse it anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from reticent.errors import QuestionError
from reticent.habits import HABITS, unknown

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "reticent": {
        "holdout": 'study.holdout(["x"], epsilon=…, rounds=…, threshold=…)',
        "sparse_vector": 'study.sparse_vector(["x"], epsilon=…, positives=…)',
        "ladder": 'study.leaderboard(["x"], epsilon=…, improvements=…, step=…)',
        "noisy_answers": 'study.noisy_answers(["x"], rho=…, answers=…)',
        "cheaper": "study.session_prices(questions=…, positives=…, width=…)",
        "sklearn": "from reticent.learning import …",
        "audit": "from reticent.conformance import …, or reticent audit STUDY",
    },
    "lab": {"Finite": "lab.FiniteCurve"},
    "study": {
        "release_density": 'study.release([rt.density("x")], epsilon=…)["density(x)"].density',
    },
}

_RECORD: Final = {
    name: f"record=rt.Record({name}=…)" for name in ("name", "who", "key", "override", "audit", "request_id")
}  # of a release, and of what is made of one
_STAGE: Final = {"on_stage": "dataclasses.replace(study, on_stage=…)"}
_DENSITY: Final = ("method", "cells", "degree", "bandwidth", "iterations", "size", "settle", "atoms", "checks")
_ASKED: Final = {
    "by": 'rt.{verb}(…).by("g")',
    "per": 'rt.{verb}(…).per("person")',
    "epsilon": 'rt.{verb}(…).at("0.1")',
    "delta": 'rt.{verb}(…).at(delta="1e-9"), or .at("0.1", delta="1e-9")',
    **{name: f"rt.{{verb}}(…, ptr=rt.PTR({name}=…))" for name in ("mode", "unit", "width")},
}
OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "study.release": {**_RECORD, **_STAGE},
    "study.sql": _RECORD,
    "study.synthesize": {
        **_RECORD,
        **_STAGE,
        **{name: f'study.synthesize(rt.density("x", {name}=…))' for name in ("method", "atoms", "checks")},
    },
    "mean": {
        **dict.fromkeys(
            ("centre", "radius", "deviation"), "rt.mean(…, method=rt.CoinPress(centre=…, radius=…, deviation=…))"
        ),
        "tail": 'rt.mean(…, method=rt.Clipped(tail="normal"))',
    },
    "density": {name: f"rt.density(…, detail=rt.Detail({name}=…))" for name in _DENSITY[1:7]},
    "test": dict.fromkeys(("centre", "deviation"), "rt.test(…, against=rt.Normal(centre, deviation))"),
}


def missing(owner: str, name: str, near: str = "") -> AttributeError:
    """The error of a name that ``owner`` does not have, with its spelling of today, or a name that is near.

    Parameters
    ----------
    owner : str
        "reticent", "lab" or "study".
    name : str
        The name that was asked for.
    near : str
        What may have been meant.

    Returns
    -------
    AttributeError
    """
    now = NAMES[owner].get(name)
    short = "rt" if owner == "reticent" else owner
    if now is None and name in HABITS.get(owner, ()):
        return unknown(owner, name)
    if now is None:
        return AttributeError(f"{owner} has no attribute '{name}'{f'. Did you mean {near}?' if near else ''}")
    return AttributeError(f"{short}.{name} is gone since 0.2.0. Write: {now}")


def refuse_options(owner: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse an option that ``owner``, a verb or a method, had in 0.1.0 and has no longer.

    Parameters
    ----------
    owner : str
        A verb such as "mean", or a method such as "study.release".
    given : collection of str
        Names of the options that were given.
    known : collection of str
        Names of the options that there are.

    Raises
    ------
    QuestionError
        With the spelling of today. An option that nothing ever had is left to Python.
    """
    if "." in owner and owner not in OPTIONS and "request_id" in given:
        raise QuestionError(
            f"{owner} takes no request_id: study.release, study.sql and study.synthesize do, since they keep their "
            "answer in the ledger. A session or a model is charged each time. Nothing was charged."
        )
    kept = [name for name in given if name == "try_anyway" and name not in known and "." in owner]
    if kept:
        raise QuestionError(
            f"{owner} takes no try_anyway=. A release keeps it in its record: "
            "study.release(…, record=rt.Record(try_anyway=True)). Nothing was charged."
        )
    asked = {} if "." in owner else {name: now.format(verb=owner) for name, now in _ASKED.items()}
    gone = {**asked, **OPTIONS.get(owner, {})}
    for name in given:
        if name in gone and name not in known:
            called = owner if "." in owner else f"rt.{owner}"
            raise QuestionError(f"{called} takes no {name}= since 0.2.0. Write: {gone[name]}")


def refuse_study(verb: str, given: Iterable[object]) -> None:
    """Refuse a study beside a question, as ``regress``, ``density`` and ``test`` once took it."""
    if any(type(one).__name__ == "Study" for one in given):
        raise QuestionError(
            f"rt.{verb} takes no study since 0.2.0: it only asks. Write: study.release([rt.{verb}(…)], epsilon=…)"
        )
