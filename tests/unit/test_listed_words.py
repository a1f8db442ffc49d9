"""A parameter that takes one of a list of words refuses any other word, at every public door, with the list.

The parameters are found by the signatures of what the rooms of the package name, types that only checkers import
among them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest

import reticent
from reticent import survey
from reticent.errors import PublicParameterError, Refusal, door
from reticent.statistics.registry import PLACES

ROOMS = "learning", "sessions", "survey", "ledger", "synthesis", "privacy", "mechanisms", "conformance", "lab"
ODD = "nonsense"


@cache
def _names(module: str) -> dict[str, object]:
    """Names of a module, with those that it imports for type checkers alone."""
    here = sys.modules[module]
    found = dict(vars(here))
    for node in ast.parse(inspect.getsource(here)).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for one in node.body:
                if isinstance(one, ast.ImportFrom) and str(one.module).startswith("reticent"):
                    for name in one.names:
                        found[name.asname or name.name] = getattr(importlib.import_module(str(one.module)), name.name)
    return found


def _read(annotation: object, module: str) -> object:
    """The type that an annotation states; its text where a name in it is not known."""
    try:
        return eval(annotation, _names(module)) if isinstance(annotation, str) else annotation
    except NameError:
        return annotation


def _words(declared: object) -> tuple[str, ...] | None:
    """Words of a type that has no other values than those and None; None for any other type."""
    if declared is None or declared is type(None):
        return ()
    if get_origin(declared) is Literal:
        return get_args(declared) if all(isinstance(word, str) for word in get_args(declared)) else None
    if get_origin(declared) in (Union, UnionType):
        parts = [_words(part) for part in get_args(declared)]
        return None if None in parts else tuple(word for part in parts for word in part or ())
    return None


def _callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions and methods that the rooms name, by their paths."""
    for room in (reticent, *(importlib.import_module(f"reticent.{name}") for name in ROOMS)):
        for name in getattr(room, "__all__", [name for name in vars(room) if not name.startswith("_")]):
            yield from _of(f"{room.__name__}.{name}", getattr(room, name))


def _of(path: str, thing: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    if isinstance(thing, FunctionType):
        yield path, thing
    elif inspect.isclass(thing) and thing.__module__.startswith("reticent"):
        for name in dir(thing):
            one = inspect.getattr_static(thing, name)
            if isinstance(one, FunctionType) and not name.startswith("_") and name != "text":  # of statistics' own
                yield f"{path}.{name}", one


def _listed() -> Iterator[tuple[str, Callable[..., Any], str, tuple[str, ...]]]:
    """Each public parameter that takes listed words alone, with those words; ``adjacency`` has words of its own."""
    for path, call in _callables():
        inner = inspect.unwrap(call)
        if not inner.__module__.startswith("reticent"):
            continue
        for name, one in inspect.signature(inner).parameters.items():
            if name != "adjacency" and (words := _words(_read(one.annotation, inner.__module__))):
                yield path, call, name, words


def test_another_word_is_refused_with_the_list_before_anything_else_is_looked_at() -> None:
    wrong = {}
    for path, call, name, words in _listed():
        try:
            call(**{name: ODD})
        except Refusal as refused:
            told = str(refused)
        except Exception as error:
            told = type(error).__name__
        else:
            told = "accepted"
        if ODD not in told or any(word not in told for word in words):
            wrong[f"{path}({name}=)"] = told
    assert wrong == {}


def test_the_search_finds_parameters_of_functions_methods_and_checkers_types() -> None:
    found = {f"{path}({name})" for path, _, name, _ in _listed()}
    assert {"reticent.survey.choice(method)", "reticent.Study.sparse_vector(show)", "reticent.table(join)"} <= found
    assert len(found) > 12


def test_an_option_of_a_statistic_refuses_another_word_with_the_list() -> None:
    given = {"regress": ("y ~ x",), "test": ("y ~ x",), "quantile": ("x", "0.5"), "quantiles": ("x", ["0.5"])}
    found = 0
    for verb in PLACES.keys() & set(reticent.__all__):
        made = getattr(reticent, verb)
        for item in inspect.signature(made).parameters.values():
            if words := _words(_read(item.annotation, made.__module__)):
                found += 1
                with pytest.raises(Refusal) as refused:
                    made(*given.get(verb, ("x",)), **{item.name: ODD})
                assert [word for word in words if word not in str(refused.value)] == []
    assert found > 6


def test_a_word_that_is_listed_and_none_where_it_may_be_pass() -> None:
    @door
    def ask(question: str, kind: Literal["a", "b"] | None = None, *, mode: Literal["x"] = "x") -> str:
        return f"{question} {kind} {mode}"

    assert ask("q") == "q None x"
    assert ask("q", "a", mode="x") == "q a x"
    with pytest.raises(PublicParameterError, match=r'kind is one of "a", "b", got a list\. Nothing was charged'):
        ask("q", ["a"])  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(TypeError, match="ask takes question and kind without a name"):
        ask("q", "a", "x")  # type: ignore[call-arg]


def test_a_method_near_a_listed_one_is_named() -> None:
    with pytest.raises(PublicParameterError, match=r'got \'hadamar\'\. Did you mean "hadamard"\?'):
        survey.choice("q", ["a", "b"], epsilon=1, method="hadamar")  # type: ignore[arg-type]
