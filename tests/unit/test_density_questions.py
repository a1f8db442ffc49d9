"""``density`` as a question: its text, its options, and what a method has no use for."""

from __future__ import annotations

from fractions import Fraction

import pytest

import reticent as rt
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.adjacency import Adjacency
from reticent.statistics.density import Atoms, DensityOf
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import ask
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.mixed_columns import mixed
from reticent.synthesis.options import HAS, LARGEST_GRID, Method, Options, plan_for

NEAR = Adjacency("add_remove")
X = [("x", Fraction(0), Fraction(1), False)]
PLAIN = DensityTerms(NEAR)


@pytest.mark.parametrize(
    "asked",
    [
        rt.density("x"),
        rt.density(["x", "y"], method="series", detail=rt.Detail(degree=5)),
        rt.density("x", method="kernel", detail=rt.Detail(bandwidth="0.1", cells=64)),
        rt.density("x", method="bernstein", detail=rt.Detail(degree=8, bandwidth="1/5", iterations=2, settle="clip")),
        rt.density("x", method="ks", detail=rt.Detail(size=40)),
        rt.density("x", method="ks", detail=rt.Detail(size="two_thirds")),
        rt.density("x", atoms=[0, "5.5", "missing"], low=-1, high=10),
        rt.density("x", atoms="auto"),
        rt.density("x", atoms=["auto", 7, "missing"]),
        rt.density(["x", "y"], atoms="none"),
        rt.density("x", atoms=["none", "missing"]),
    ],
)
def test_the_name_of_a_density_reads_back_as_the_same_question(asked: DensityOf) -> None:
    assert parse(asked.name) == ask(asked)


def test_atoms_are_sought_by_default_of_auto_alone_and_never_beside_a_list() -> None:
    assert rt.density("x").seeks
    assert rt.density(["x", "y"], atoms=["missing"]).seeks
    assert rt.density("x", atoms=[0, "auto"]).seeks
    for other in (
        rt.density("x", atoms=[0]),
        rt.density("x", atoms=[]),
        rt.density("x", atoms="none"),
        rt.density("x", method="series"),
    ):
        assert not other.seeks
    with pytest.raises(PublicParameterError, match="by method=auto alone"):
        rt.density("x", atoms="auto", method="series")
    with pytest.raises(PublicParameterError, match="in 1 to 4 columns"):
        rt.density(["a", "b", "c", "d", "e"], atoms="auto")
    for listed in (["auto", "none"], ["auto", "auto"]):
        with pytest.raises(PublicParameterError):
            rt.density("x", atoms=listed)


def test_atoms_may_be_written_with_commas_and_the_cost_is_no_part_of_the_name() -> None:
    found = parse("density(x, atoms=0, 1, missing, epsilon=0.2, delta=1e-9)")
    assert isinstance(found.statistic, DensityOf)
    assert found.statistic.atoms == Atoms((Fraction(0), Fraction(1)), missing=True)
    assert found.name == "density(x, atoms=0 1 missing)"
    assert (found.epsilon, found.delta) == (Fraction(1, 5), Fraction(1, 10**9))
    assert found.spends_delta
    assert not ask(rt.density("x")).spends_delta


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("density", "density of which column"),
        ("density(x, method=spline)", "no value of method 'spline'"),
        ("density(x, level=0.5)", "no option of density 'level'"),
        ("density(x, x)", "each named once"),
        ("density(x, y, atoms=0)", "one column"),
        ("density(x, cells=0)", "cells must be >= 1"),
        ("density(x, method=ks, size=half)", "no value of size 'half'"),
        ("density(x, low=0)", "come together"),
        ("densty(x)", "Did you mean density?"),
    ],
)
def test_a_slip_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises((QuestionError, PublicParameterError), match=said):
        parse(text)


@pytest.mark.parametrize("method", [name for name in HAS if name != "auto"])
def test_an_option_that_a_method_does_not_have_is_refused(method: Method) -> None:
    given = {"cells": 10, "degree": 3, "bandwidth": Fraction(1, 10), "iterations": 2, "size": 9}
    for option, value in given.items():
        if option in HAS[method]:
            continue
        with pytest.raises(PublicParameterError, match=f"{option} has no use in method={method}"):
            Options(method, **{option: value})  # type: ignore[arg-type]  # each value has its option's type


def test_a_grid_too_large_is_refused_with_its_size() -> None:
    side = [(name, Fraction(0), Fraction(1), False) for name in "xyz"]
    with pytest.raises(PublicParameterError, match=r"8,000,000 cells, about 400 MB"):
        plan_for(Options("series", cells=200), side, PLAIN, Fraction(1), Fraction(0))
    assert LARGEST_GRID < 200**3


@pytest.mark.parametrize(
    ("atoms", "whole", "said"),
    [
        ([Fraction(2)], False, "within the bounds, 0 to 1, got 2"),
        ([Fraction(1, 2)], True, "whole numbers of the column within"),
        ([Fraction(1, 2), Fraction(1, 2) + Fraction(1, 1 << 50)], False, "too close"),
    ],
)
def test_atoms_that_cannot_be_told_apart_are_refused(atoms: list[Fraction], whole: bool, said: str) -> None:
    column = [("x", Fraction(0), Fraction(1), whole)]
    with pytest.raises(PublicParameterError, match=said):
        mixed(Options("series", degree=1), column, PLAIN, Fraction(1), Fraction(0), atoms=atoms, missing=False)


def test_atoms_cost_what_the_dearer_part_costs_and_twice_that_under_substitution() -> None:
    for kind, parts in (("add_remove", 1), ("substitute", 2)):
        terms = DensityTerms(Adjacency("add_remove" if kind == "add_remove" else "substitute"))
        made = mixed(Options("series"), X, terms, Fraction(1), Fraction(0), atoms=[Fraction(0)], missing=True)
        assert made.epsilon == Fraction(1, parts)
        assert made.guarantee.loss == rt.PureDP(Fraction(1))
