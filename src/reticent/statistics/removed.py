"""Refusal of a form that version 0.1.0 took: a question beside the study that was to answer it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from reticent.errors import QuestionError

P = ParamSpec("P")
T = TypeVar("T")


def question_alone(make: Callable[P, T]) -> Callable[P, T]:
    """The same maker of a question, which refuses a study beside its columns and says the new form."""

    @wraps(make)
    def made(*args: P.args, **given: P.kwargs) -> T:
        if len(args) > 1 or given.keys() & {"study", "of"}:
            name = make.__name__
            raise QuestionError(
                f"rt.{name}(…) only makes a question, from one text or list. A study answers it: "
                f"study.release([rt.{name}(…)], epsilon=…). Nothing was read, and nothing was charged."
            )
        return make(*args, **given)

    return made
