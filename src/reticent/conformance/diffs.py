"""Differences of two runs: the change of a call's exact numbers, and any way to tell two values apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.mechanisms.exponential import Candidates
from reticent.mechanisms.gate import Call
from reticent.mechanisms.objective import ComparableObjective, Objective
from reticent.privacy.sensitivity import L1, L2, Linf, Spread

Norm: TypeAlias = Literal["L1", "L2", "Linf", "Spread"]


@dataclass(frozen=True, slots=True)
class DeclaredSensitivity:
    """Sensitivity that a mechanism declares: ``bound`` in ``norm``, squared for L2."""

    norm: Norm
    bound: Fraction

    @property
    def words(self) -> str:
        match self.norm:
            case "L1":
                return "the sum of absolute changes"
            case "L2":
                return "the sum of squared changes"
            case "Linf":
                return "the score of a candidate"
            case "Spread":
                return "the score of one candidate beside another's"
            case _:
                assert_never(self.norm)


@dataclass(frozen=True, slots=True)
class Change:
    """Observed change of one call's exact numbers; ``l2`` is squared. None where the input is no vector of numbers.

    ``spread`` is the largest change of a score less the smallest one; None where the input is not scores.
    """

    l1: Fraction | None
    l2: Fraction | None
    linf: Fraction | None
    spread: Fraction | None = None

    def in_norm(self, norm: Norm) -> Fraction | None:
        match norm:
            case "L1":
                return self.l1
            case "L2":
                return self.l2
            case "Linf":
                return self.linf
            case "Spread":
                return self.spread
            case _:
                assert_never(norm)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why two calls cannot be compared, or what of them may not differ and does."""

    kind: Literal["public", "type"]
    words: str


UNKNOWN = Change(None, None, None)


def declared_of(mechanism: object) -> DeclaredSensitivity | None:
    """The declared sensitivity; None for a mechanism without one, such as randomized response."""
    match getattr(mechanism, "sensitivity", None):
        case L1(bound):
            return DeclaredSensitivity("L1", bound)
        case L2(squared):
            return DeclaredSensitivity("L2", squared)
        case Linf(bound):
            return DeclaredSensitivity("Linf", bound)
        case Spread(bound):
            return DeclaredSensitivity("Spread", bound)
        case _:
            return None


def unfit(one: Call, other: Call) -> Mismatch | None:
    """Public difference of two calls of equal mechanisms, or a type that cannot be trusted.

    None if there is neither.
    """
    if isinstance(one.exact, Candidates) and isinstance(other.exact, Candidates):
        return _unfit_candidates(one, other)
    if isinstance(one.exact, Mapping) and isinstance(other.exact, Mapping):
        strange = {type(value).__name__ for value in (*one.exact.values(), *other.exact.values())} - {"int"}
        return Mismatch("type", f"exact numbers are of type {', '.join(sorted(strange))}") if strange else None
    if not isinstance(one.exact, Sequence) or not isinstance(other.exact, Sequence) or isinstance(one.exact, str):
        return None if type(one.exact) is type(other.exact) else Mismatch("type", "the exact input has two types")
    if len(one.exact) != len(other.exact):
        return Mismatch("public", f"{len(one.exact)} numbers on one neighbour, {len(other.exact)} on the other")
    kinds = {type(value) for value in (*one.exact, *other.exact)}
    wrong = sorted(kind.__name__ for kind in kinds - {int, Fraction})
    if wrong and declared_of(one.mechanism) is not None:
        return Mismatch("type", f"exact numbers are of type {', '.join(wrong)}, which round or overflow")
    return None


def change_of(one: Call, other: Call) -> Change:
    """The change between two calls that ``unfit`` finds nothing wrong with."""
    if isinstance(one.exact, Candidates) and isinstance(other.exact, Candidates):
        moved = _moved(one, one.exact, other, other.exact)
        apart = Fraction(int(moved.max()) - int(moved.min()))
        return Change(None, None, Fraction(int(np.abs(moved).max())), apart)
    if isinstance(one.exact, Mapping) and isinstance(other.exact, Mapping):  # counts by cell, 0 where none is listed
        cells = one.exact.keys() | other.exact.keys()
        steps = [abs(one.exact.get(cell, 0) - other.exact.get(cell, 0)) for cell in cells]
        return Change(
            Fraction(sum(steps)), Fraction(sum(step * step for step in steps)), Fraction(max(steps, default=0))
        )
    if isinstance(one.exact, ComparableObjective) and isinstance(
        other.exact, ComparableObjective
    ):  # an objective: of its gradient
        block = one.mechanism.block if isinstance(one.mechanism, Objective) else 1
        return Change(one.exact.apart(other.exact, block), None, None)
    if (
        declared_of(one.mechanism) is None
        or not isinstance(one.exact, Sequence)
        or not isinstance(other.exact, Sequence)
    ):
        return UNKNOWN
    steps = [abs(a - b) for a, b in zip(one.exact, other.exact, strict=True)]
    total, square = sum(steps), sum(step * step for step in steps)
    return Change(Fraction(total), Fraction(square), Fraction(max(steps, default=0)))


def _moved(one: Call, mine: Candidates, other: Call, theirs: Candidates) -> NDArray[np.int64]:
    """The signed change of every candidate's score; of one candidate from each piece on which both are constant."""
    if one.start is None or other.start is None:
        moved: NDArray[np.int64] = mine.scores - theirs.scores
        return moved
    edges = np.union1d(one.start, other.start)[:-1]
    return np.asarray(mine.scores[_run_of(one.start, edges)] - theirs.scores[_run_of(other.start, edges)])


def _run_of(start: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(start, edges, side="right") - 1, dtype=np.int64)


def _unfit_candidates(one: Call, other: Call) -> Mismatch | None:
    mine, theirs = one.exact, other.exact
    assert isinstance(mine, Candidates)
    assert isinstance(theirs, Candidates)
    if mine.scores.dtype != np.int64 or theirs.scores.dtype != np.int64:
        return Mismatch("type", f"scores are of type {mine.scores.dtype} and {theirs.scores.dtype}, not int64")
    if one.start is None or other.start is None:
        same = mine.weights.tolist() == theirs.weights.tolist()
        return None if same else Mismatch("public", "the weights of the candidates depend on the rows")
    if (one.start[0], one.start[-1]) != (other.start[0], other.start[-1]):
        return Mismatch("public", "which candidates there are depends on the rows")
    edges = np.union1d(one.start, other.start)[:-1]
    before, after = (
        _each(one.start, mine)[_run_of(one.start, edges)],
        _each(other.start, theirs)[_run_of(other.start, edges)],
    )
    return None if before.tolist() == after.tolist() else Mismatch("public", "the weights depend on the rows")


def _each(start: NDArray[np.int64], exact: Candidates) -> NDArray[np.object_]:
    """The weight of one candidate of each run, exactly."""
    lengths = np.diff(start).tolist()
    return np.array([Fraction(int(w), n) for w, n in zip(exact.weights.tolist(), lengths, strict=True)], dtype=object)


def alike(a: object, b: object) -> bool:
    """Tell if nothing distinguishes two values: types, shapes, the bits of floats, names and order."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and alike(a.ravel().tolist(), b.ravel().tolist())
    if isinstance(a, dict) and isinstance(b, dict):
        return alike(list(a.items()), list(b.items()))
    if is_dataclass(a):
        return all(alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return repr(a) == repr(b)
