"""Doors: public calls, whose errors are raised where they were called and show no frame below.

    door(call)             the same call; what this package raises on purpose has one frame of ours
    doors(of)              every public method of a class
    called_as(example)     a door that refuses lacking and unknown arguments in words

A fault of ours is no error of ``errors``, and shows every frame.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeAlias, TypeVar

from reticent.errors import PublicParameterError, ReticentError

P = ParamSpec("P")
T = TypeVar("T")

Wording: TypeAlias = "Callable[[object, ReticentError], None]"  # changes the words of what an object raised


def door(call: Callable[P, T], word: Wording | None = None) -> Callable[P, T]:
    """Raise what is meant for a caller where they called, without the frames that led to it; a fault of ours has all.

    Parameters
    ----------
    call : function
        A public one.
    word : function, optional
        Of the first argument and what was raised.

    Returns
    -------
    function
        The same, whose errors of this module have no frame below it.
    """

    @functools.wraps(call)
    def opened(*given: P.args, **named: P.kwargs) -> T:
        try:
            return call(*given, **named)
        except ReticentError as told:
            if word is not None:
                word(given[0], told)
            raise told.with_traceback(None) from told.__cause__

    return opened


def doors(of: type, word: Wording | None = None) -> None:
    """Make every public method that a class defines a ``door``."""
    for name, found in list(vars(of).items()):
        if isinstance(found, FunctionType) and not name.startswith("_"):
            setattr(of, name, door(found, word))


def called_as(example: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for a ``door`` of ``rt``: arguments that are lacking or not known are refused with an example."""

    def of(call: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(call)
        def called(*given: P.args, **named: P.kwargs) -> T:
            try:
                return call(*given, **named)
            except TypeError:
                _refuse_arguments(call, example, given, named)
                raise

        return door(called)

    return of


def _refuse_arguments(
    call: Callable[..., object], example: str, given: tuple[object, ...], named: dict[str, object]
) -> None:
    import inspect

    takes = inspect.signature(call)
    try:
        takes.bind(*given, **named)
    except TypeError as problem:
        options = [name for name, one in takes.parameters.items() if one.kind is one.KEYWORD_ONLY]
        raise PublicParameterError(
            f"rt.{call.__name__}: {problem}. Write {example}. Others by their names: {', '.join(options)}."
        ) from None


__all__ = ["called_as", "door", "doors"]
