"""The loss of one of several plans is ``one_of``: nothing that is charged takes a maximum of losses by hand.

Two habits are searched for in the syntax tree; each of them has charged too little, or could have:

    the dearest by hand   ``max``, ``sorted`` or a like call over what has to do with guarantees, or over what a
                          function of the module makes of one: what is dearest in epsilon need not be in rho
    one for all           the guarantee of a plan that was picked from a list by its place: ``plans[0].guarantee``

``privacy`` proves its maxima, a mechanism proves its axiom in its own file, and ``conformance`` only
measures.
"""

from __future__ import annotations

import ast

import pytest

from tests.conventions.tree import Module, broken, parsed

EXEMPT = ("privacy/", "mechanisms/", "conformance/")
LOSSES = {"PureDP", "ApproxDP", "ZCDP", "ApproxZCDP", "zcdp_of", "as_zcdp", "in_zcdp", "approx_of", "epsilon_delta"}
PICKS = {"max", "sorted", "sort", "nlargest", "maximum", "amax"}


def at_stake(node: ast.AST, known: frozenset[str]) -> bool:
    """Something below is a guarantee or its loss, makes one, or is a function known to read one.

    ``self.loss`` is left out: that of an estimator is what it minimises.
    """
    for part in ast.walk(node):
        match part:
            case ast.Attribute(attr="loss", value=ast.Name(id="self")):
                continue
            case ast.Attribute(attr="loss" | "guarantee" | "guarantees" | "guarantee_"):
                return True
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in LOSSES or name in known:
                return True
            case _:
                continue
    return False


def readers(tree: ast.Module) -> frozenset[str]:
    """Functions of the module that give something of a loss back: a key for ``max`` may hide in one."""
    found: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.args.args:
            last = function.body[-1]
            reads = any(at_stake(line, frozenset()) for line in function.body)
            if reads and len(function.body) <= 4 and isinstance(last, ast.Return):
                found.add(function.name)
    return frozenset(found)


def by_hand(module: Module) -> list[str]:
    """Maxima over losses."""
    known, found = readers(module.tree), []
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in PICKS:
                if any(at_stake(part, known) for part in (*node.args, *node.keywords)):
                    found.append(f"{node.lineno}: {ast.unparse(node)[:80]}")
            case _:
                continue
    return found


def picked(module: Module) -> list[str]:
    """Guarantees of one plan that was taken from a list by its place."""
    found = []
    for node in module.nodes:
        match node:
            case ast.Attribute(attr="guarantee", value=value):
                places = [part.slice for part in ast.walk(value) if isinstance(part, ast.Subscript)]
                if any(isinstance(place, ast.Constant | ast.UnaryOp) for place in places):
                    found.append(f"{node.lineno}: {ast.unparse(node)[:80]}")
            case _:
                continue
    return found


def test_no_maximum_of_losses_is_taken_by_hand() -> None:
    assert broken(by_hand, *EXEMPT) == {}


def test_no_plan_stands_for_the_others_by_its_place() -> None:
    assert broken(picked, *EXEMPT) == {}


@pytest.mark.parametrize(
    "text",
    [
        "dearest = max(works, key=lambda work: work.guarantee.loss.epsilon)",
        "def _size(work):\n    found = zcdp_of(work.guarantee.loss)\n    return found.rho\ndear = max(all, key=_size)",
        "def size(work):\n    return work.guarantee.loss.rho\ndearest = max(works, key=lambda work: size(work))",
        "charge = PureDP(max(part.loss.epsilon for part in parts))",
        "charge = max(ZCDP(one), ZCDP(other))",
        "dearest = sorted(parts, key=lambda part: part.loss.epsilon)[-1]",
        "most = np.maximum([part.guarantee.loss.rho for part in parts])",
    ],
)
def test_the_search_for_maxima_by_hand_finds(text: str) -> None:
    assert by_hand(parsed("learning/x.py", text)) != []


@pytest.mark.parametrize("text", ["most = max(rows, 1)", "curve = max(4 * losses.turns(self.loss)[1], Fraction(1))"])
def test_the_search_for_maxima_by_hand_lets_other_maxima_be(text: str) -> None:
    assert by_hand(parsed("learning/x.py", text)) == []


@pytest.mark.parametrize(
    "text", ["whole = self.candidates[0].guarantee", "last = self.noise(int(self.near.reaches[-1])).guarantee"]
)
def test_the_search_for_one_that_stands_for_all_finds(text: str) -> None:
    assert picked(parsed("learning/x.py", text)) != []
