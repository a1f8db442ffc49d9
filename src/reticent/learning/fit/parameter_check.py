"""Check of an estimator's parameters by their declared types, before a row is read and anything is charged.

scikit-learn's habit is to keep any parameter and to look at it in ``fit``. A parameter that a fit first uses after the
charge would fail at the price of the fit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.errors import PublicParameterError, quoted

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WHOLE: Final = ("int", "int | None")
LISTED: Final = ("Bounds", "Sequence[object] | None", "Sequence[Key]")
PAIR: Final = "y_bounds"
PEOPLE: Final = "people"


def check_parameters(model: DataclassInstance) -> None:
    """Refuse a parameter of another type than its own: a number that is no whole one, a word for a list, and the like.

    Ranges are checked where a fit is priced.

    Raises
    ------
    PublicParameterError
        With the name of the parameter, what it may be, and what was given.
    """
    for item in fields(model):
        value = getattr(model, item.name) if item.init else None
        if (words := _refused(item.name, str(item.type), value)) and not (value is None and "None" in str(item.type)):
            raise PublicParameterError(f"{item.name} is {words}, got {quoted(value)}. Nothing was charged.")


def _refused(name: str, kind: str, value: object) -> str:
    """Words for what a parameter may be; empty where the value is of that type."""
    match kind:
        case "bool":
            return "" if isinstance(value, bool | np.bool_ | int) and value in (0, 1) else "True or False"
        case _ if kind in WHOLE and name == PEOPLE:
            return "" if _is_whole(value) else "a whole number >= 1, or None"
        case _ if kind in WHOLE:
            return "" if _is_whole(value) else f"a whole number{' or None' if kind != 'int' else ''}"
        case "ClassWeight" if value is not None:
            return "" if isinstance(value, str | Mapping) else 'a mapping of labels, or "balanced"'
        case _ if kind in LISTED and value is not None:
            size = len(list(value)) if isinstance(value, Iterable) and not isinstance(value, str) else -1
            if name == PAIR:
                return "" if size == 2 else "two numbers, (low, high)"
            return "" if size >= 0 else "a list"
        case _:
            return ""


def _is_whole(value: object) -> bool:
    """Tell if a value is a whole number of Python or numpy."""
    try:
        operator.index(value)  # type: ignore[arg-type]  # that is what is asked
    except TypeError:
        return False
    return True


__all__ = ["check_parameters"]
