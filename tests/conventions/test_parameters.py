"""Parameters of public functions and methods: at most eight, so that a call can be read.

Constructors of classes are not counted: an estimator has a parameter for each setting, as scikit-learn's have, and a
value a field for each fact. What still takes more is written here, and the list may only become shorter.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator

MOST = 8
ROOMS = (
    "reticent",
    "reticent.learning",
    "reticent.survey",
    "reticent.lab",
    "reticent.certificate.certificate",
    "reticent.ledger",
    "reticent.study.release",
    "reticent.study.synthetic",
    "reticent.study.plan",
    "reticent.synthesis.density",
)
LONG = {"reticent.study"}  # decision 24 says why


def taken(function: Callable[..., object]) -> int:
    """The number of parameters that a caller may give; of a method written as a function, the study is its self."""
    parameters = inspect.signature(function).parameters
    told = [name for name in parameters if name not in ("self", "cls")]
    written_outside = "." not in function.__qualname__ and next(iter(parameters), "") == "study"
    return len(told) - written_outside


def callables(name: str, thing: object) -> Iterator[tuple[str, Callable[..., object]]]:
    """A public function, or the public methods that a public class has of its own or inherits."""
    if inspect.isclass(thing):
        for part in sorted({part for base in thing.__mro__ for part in vars(base)}):
            method = inspect.getattr_static(thing, part)
            found = getattr(method, "__func__", method)
            if not part.startswith("_") and inspect.isfunction(found):
                yield f"{name}.{part}", found
    elif inspect.isroutine(thing):
        yield name, thing


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function and method, by the room that exports it; of a module without a list, its classes."""
    for room in ROOMS:
        module = importlib.import_module(room)
        listed = getattr(module, "__all__", None)
        for name in listed or vars(module):
            thing = getattr(module, name)
            ours = getattr(thing, "__module__", "").startswith("reticent")
            if not name.startswith("_") and ours and (listed or inspect.isclass(thing)):
                yield from callables(f"{room}.{name}", thing)


def test_a_public_function_takes_at_most_eight_parameters() -> None:
    assert {name for name, function in public() if taken(function) > MOST} == LONG


def test_the_count_leaves_out_self_and_finds_methods() -> None:
    class Value:
        def method(self, a: int, b: int, *, c: int = 0) -> None:
            """Nothing."""

        @classmethod
        def made(cls, a: int) -> None:
            """Nothing."""

    assert {name: taken(function) for name, function in callables("Value", Value)} == {
        "Value.made": 1,
        "Value.method": 3,
    }
