"""The tree of exceptions: each of them is told by itself, whatever was handled before it."""

import traceback
from collections.abc import Iterator

import pytest

from reticent.errors import Fault, ReticentError


def _tree(kind: type[ReticentError]) -> Iterator[type[ReticentError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


@pytest.mark.parametrize("kind", [*_tree(ReticentError)], ids=lambda kind: kind.__name__)
def test_an_error_shows_no_exception_that_was_handled_before_it(kind: type[ReticentError]) -> None:
    error = kind("f-1", "ε 1") if issubclass(kind, Fault) else kind("words")
    with pytest.raises(ReticentError) as caught:
        _refuse_while_handling(error)
    shown = "".join(traceback.format_exception(caught.value))
    assert "earlier" not in shown
    assert "During handling" not in shown


def _refuse_while_handling(error: ReticentError) -> None:
    try:
        int("earlier")
    except ValueError:
        _refuse(error)


def _refuse(error: ReticentError) -> None:
    raise error


def test_a_cause_that_is_named_is_shown() -> None:
    with pytest.raises(ReticentError) as caught:
        raise ReticentError("words") from ValueError("named")
    assert "named" in "".join(traceback.format_exception(caught.value))
