"""JSON values of a fit: every number that a certificate of a model shows, and nothing of any row.

Numbers stand as they are in the model, so that reading them back gives the same floats; one that is not finite is null.
A model of more than ``MOST`` numbers (a deep forest) has each array by its shape and SHA-256. The digest is of the
numbers as little-endian doubles in C order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.outcome import NoReply, Reply
from reticent.privacy.numbers import show

MOST: Final = 100_000


def shown(found: Mapping[str, object]) -> dict[str, object]:
    """``found`` as JSON values, by names without the underscores of attributes."""
    whole = _numbers(found) <= MOST
    return {_name(name): _plain(value, whole) for name, value in found.items()}


def _name(attribute: str) -> str:
    return "intercept" if attribute == "_start" else attribute.strip("_")


def _numbers(value: object) -> int:
    """Number of numbers in ``value``."""
    match value:
        case np.ndarray():
            return int(value.size)
        case str():
            return 0
        case Mapping():
            return sum(_numbers(part) for part in value.values())
        case list() | tuple():
            return sum(_numbers(part) for part in value)
        case _ if _is_record(value) and not callable(value):
            return sum(_numbers(part) for _, part in _parts(value))
        case _:
            return 1


def _plain(value: object, whole: bool) -> object:
    match value:
        case None | bool() | int():
            return value
        case _ if callable(value):
            return f"<{getattr(value, '__name__', type(value).__name__)}>"  # by name: a program may hold what it saw
        case np.generic():
            return _plain(value.item(), whole)
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case Fraction():
            return show(value)
        case Decimal():
            return str(value)
        case np.ndarray():
            return _array(value, whole)
        case Mapping():
            return {str(name): _plain(part, whole) for name, part in value.items()}
        case Reply(inner):
            return {"outcome": "reply", **({} if inner is None else {"value": _plain(inner, whole)})}
        case NoReply():
            return {"outcome": "no_reply"}
        case list() | tuple() | range() | set() | frozenset():
            return [_plain(part, whole) for part in _in_order(value)]
        case _ if _is_record(value):
            return {name.strip("_"): _plain(part, whole) for name, part in _parts(value)}
        case _:
            return f"<{type(value).__name__}>"


def _array(value: NDArray[np.generic], whole: bool) -> object:
    if whole or value.dtype.kind not in "biuf":
        return _plain(value.tolist(), whole)
    numbers = np.ascontiguousarray(value, np.dtype("<f8"))
    return {"shape": list(value.shape), "sha256": hashlib.sha256(numbers.tobytes()).hexdigest()}


def _in_order(values: Iterable[object]) -> list[object]:
    return sorted(values, key=repr) if isinstance(values, set | frozenset) else list(values)


def _is_record(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _parts(value: object) -> list[tuple[str, object]]:
    return [(item.name, getattr(value, item.name)) for item in fields(value)]  # type: ignore[arg-type]  # asked above


__all__ = ["MOST", "shown"]
