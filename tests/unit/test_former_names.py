"""Names and options of 0.1.0: each is refused with its spelling of today, and that spelling works."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import reticent as rt
from reticent import lab
from reticent.former_names import NAMES, OPTIONS
from reticent.statistics.registry import all_statistics


def study() -> rt.Study:
    return rt.study({"x": [1, 2]}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget="1")


ANY: Any = rt
LAB: Any = lab
OLD: dict[str, tuple[Callable[[], object], str]] = {
    "holdout": (lambda: ANY.holdout(study(), ["x"]), "rt.holdout is gone since 0.2.0. Write: study.holdout"),
    "ladder": (lambda: ANY.ladder, "study.leaderboard"),
    "finite": (lambda: LAB.Finite, "lab.Finite is gone since 0.2.0. Write: lab.FiniteCurve"),
    "sklearn": (lambda: ANY.sklearn.LogisticRegression, "from reticent.learning import"),
    "release_density": (lambda: ANY.Study.release_density(study(), "x"), "Study"),
    "of a study": (lambda: getattr(study(), "release_density")("x"), "study.release([rt.density"),  # noqa: B009
    "per": (lambda: ANY.mean("x", per="person"), 'rt.mean takes no per= since 0.2.0. Write: rt.mean(…).per("person")'),
    "epsilon": (lambda: ANY.count(epsilon=1), 'rt.count(…).at("0.1")'),
    "delta": (lambda: ANY.median("x", delta="1e-6"), "rt.median(…).at(delta="),
    "by": (lambda: ANY.mean("x", by="g"), 'rt.mean(…).by("g")'),
    "mode": (lambda: ANY.scale("x", mode="paper"), "rt.scale(…, ptr=rt.PTR(mode=…))"),
    "centre": (lambda: ANY.mean("x", centre=0), "rt.CoinPress"),
    "centre of a test": (lambda: ANY.test("x", centre=0), "rt.Normal(centre, deviation)"),
    "cells": (lambda: ANY.density("x", cells=9), "rt.Detail(cells=…)"),
    "a study": (lambda: ANY.regress("y ~ x", study(), epsilon=1), "since 0.2.0"),
    "a study first": (lambda: ANY.density(study(), "x"), "study.release([rt.density(…)]"),
    "name": (lambda: ANY.Study.release(study(), ["count"], epsilon=1, name="t"), "record=rt.Record(name=…)"),
    "key": (lambda: ANY.Study.synthesize(study(), "x", epsilon=1, key="k"), "record=rt.Record(key=…)"),
    "method": (lambda: ANY.Study.synthesize(study(), "x", epsilon=1, method="series"), "rt.density"),
}


@pytest.mark.parametrize(("old", "today"), [("sklearn", "reticent.learning"), ("audit", "reticent.conformance")])
def test_the_import_of_an_old_module_is_refused_with_the_new_one(old: str, today: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"gone since 0\.2\.0.*from {today} import"):
        importlib.import_module(f"reticent.{old}")


@pytest.mark.parametrize("old", OLD)
def test_an_old_spelling_is_refused_with_the_new_one(old: str) -> None:
    asked, words = OLD[old]
    with pytest.raises((AttributeError, rt.QuestionError)) as refused:
        asked()
    assert words in str(refused.value)


def test_the_new_spellings_are_there() -> None:
    assert str(rt.mean("x").per("person").at("0.1", delta=None)) == "mean(x, per=person, epsilon=0.1)"
    assert rt.PTR("paper") == rt.PTR(mode="paper")
    assert rt.Clipped("normal") == rt.Clipped(tail="normal")
    for name in ("holdout", "sparse_vector", "leaderboard", "noisy_answers", "session_prices"):
        assert hasattr(rt.Study, name)
    assert not any(hasattr(rt, name) for name in NAMES["reticent"] if name not in ("audit", "sklearn"))


def test_no_option_of_today_is_refused() -> None:
    import attrs

    for kind in all_statistics():
        assert OPTIONS.get(kind.verb, {}).keys().isdisjoint(attrs.fields_dict(kind))


def test_what_never_was_is_told_as_such() -> None:
    with pytest.raises(rt.PublicParameterError, match=r"unexpected keyword argument 'colour'\. Write rt\.mean"):
        ANY.mean("x", colour="red")
    with pytest.raises(AttributeError, match=r"^reticent has no attribute 'meen'\. Did you mean rt\.mean\?$"):
        _ = ANY.meen
    with pytest.raises(AttributeError, match=r"'average'\. Did you mean rt\.mean\?$"):
        _ = ANY.average
    with pytest.raises(AttributeError, match=r"^reticent has no attribute 'zzzz'$"):
        _ = ANY.zzzz


def test_questions_and_studies_are_copied_as_before() -> None:
    asked = rt.mean("x", low=0, high=9)
    assert pickle.loads(pickle.dumps(asked)) == copy.deepcopy(asked) == asked
    assert not hasattr(study(), "__nothing__")
