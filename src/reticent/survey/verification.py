"""Checking the record of an estimate: that it says what its design, its proof and its answers say.

Nothing in a record is believed. The design is rebuilt from its numbers and must have its fingerprint, and the proof is
re-derived from its leaves. With the file of answers, the estimate is made again and compared number by number.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.errors import CheckError, PublicParameterError, ReticentError, SpecError
from reticent.mechanisms.registry import axiom_again
from reticent.privacy import serialization as trees
from reticent.privacy.explain import former_sentence, sentence
from reticent.privacy.rederivation import rederive
from reticent.survey.description import say
from reticent.survey.design_record import DesignRecord
from reticent.survey.estimate import Rule, of_table
from reticent.survey.methods import rebuilt
from reticent.survey.report import FORMAT, VERSION, promise

LARGEST: Final = 1 << 28
RULES: Final[dict[str, tuple[Rule, ...]]] = {"wilson": ("wilson", "former"), "exact": ("exact",)}  # by the one asked
CLOSE: Final = 1e-9  # of a number: the last digits of floats differ between machines


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """One check: what was looked at, whether it is right, and a sentence."""

    name: str
    ok: bool
    words: str


def check(record: str | Path, answers: str | Path | None = None) -> tuple[RecordCheck, ...]:
    """Check the record that ``survey estimate --out`` wrote, line by line.

    Parameters
    ----------
    record : path
    answers : path, optional
        The file of answers, to make the estimate again.

    Raises
    ------
    CheckError
        For a file that is no such record.
    SpecError
        For a file that cannot be read.
    """
    found = _parsed(Path(record))
    listed = found if isinstance(found, list) else [found]
    if not listed or any(not isinstance(one, dict) or one.get("format") != FORMAT for one in listed):
        raise CheckError(f'This is no record of an estimate: its format is not "{FORMAT}".')
    if any(one.get("version") != VERSION for one in listed):
        raise CheckError("This record is of another version.")
    return tuple(line for one in listed for line in _checked(one, None if answers is None else Path(answers)))


def _parsed(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST:
            raise SpecError(f"{path.name} is too long to be a record.")
        return json.loads(path.read_text("utf-8"))
    except OSError:
        raise SpecError(f"{path.name} cannot be read.") from None
    except (ValueError, RecursionError):
        raise CheckError("This is no record of an estimate: it is no JSON.") from None


def _checked(one: dict[str, Any], answers: Path | None) -> Iterator[RecordCheck]:
    design, line = _design(one)
    yield line
    if design is None:
        return
    yield _proof(one, design, "guarantee")
    if "together" in one:
        yield _proof(one, design, "together")
    if answers is not None:
        yield from _again(one, design, answers)


def _design(one: dict[str, Any]) -> tuple[DesignRecord | None, RecordCheck]:
    try:
        stated = one["design"]
        among = tuple(map(str, stated["among"]))
        numbers = {str(name): str(text) for name, text in stated["settings"].items()}
        made = rebuilt(str(stated["question"]), str(stated["method"]), among, numbers)
        told = stated["fingerprint"], stated["code"], stated["says"]
    except (KeyError, TypeError, AttributeError, ValueError, PublicParameterError):
        return None, RecordCheck("design", False, "the design cannot be made from the numbers of the record")
    if told != (made.fingerprint, made.code, say(made)):
        return None, RecordCheck("design", False, "the design of these numbers has another fingerprint or other words")
    return made, RecordCheck("design", True, f"{made.question} sha256 {made.fingerprint}")


def _proof(one: dict[str, Any], design: DesignRecord, name: str) -> RecordCheck:
    """The tree of one question must be that of its design; the one of all questions must hold it."""
    try:
        tree = trees.from_json(one[name])
        loss = rederive(tree, axiom_again)
        own = tree == design.guarantee if name == "guarantee" else design.guarantee in tree.parts
        lines = [line(loss, tree.adjacency) for line in (sentence, former_sentence)]
        said = name != "guarantee" or one["protects"] in lines
    except (KeyError, TypeError, ReticentError):
        return RecordCheck(name, False, "the guarantee does not follow from its parts")
    if not own or not said:
        return RecordCheck(name, False, "the guarantee is not that of the design")
    who = "all answers of one respondent together: " if name == "together" else ""
    return RecordCheck(name, True, f"{who}{promise(tree)} Derived again.")


def _again(one: dict[str, Any], design: DesignRecord, answers: Path) -> Iterator[RecordCheck]:
    try:
        stated, result = one["answers"], one["result"]
        with answers.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != stated["sha256"]:
            yield RecordCheck("answers", False, f"{answers.name} is not the file the estimate was made from")
            return
        made = (
            of_table(
                design,
                answers,
                stated["column"],
                table=stated["table"],
                groups=tuple(result["groups"]),
                respondent=stated["respondent"],
                code=stated["code"],
                interval=rule,
                level=result["level"],
            ).to_json()
            for rule in RULES[stated["interval"]]
        )
        right = any(_same(result, json.loads(json.dumps(one))) for one in made)  # the answers are read again if need be
    except OSError:
        raise SpecError(f"{answers.name} cannot be read.") from None
    except (KeyError, TypeError, AttributeError, ReticentError):
        yield RecordCheck("estimate", False, "the estimate cannot be made again from these answers")
        return
    yield RecordCheck("answers", True, f"{answers.name} sha256 {digest}")
    words = "made again from the answers: the same numbers" if right else "the answers give other numbers"
    yield RecordCheck("estimate", right, words)


def _same(one: object, other: object) -> bool:
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case float(), float():
            return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
        case _:
            return type(one) is type(other) and one == other


def passed(lines: Sequence[RecordCheck]) -> bool:
    """Tell if every check passed."""
    return all(line.ok for line in lines)
