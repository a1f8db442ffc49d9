"""What is wrong in a release of a density is refused by the name of the option, before rows, and costs nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import LedgerError, PublicParameterError, QuestionError, Refusal, SpecError, refusing, uncharged
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from tests.service.test_synthesis_study import clinic, spent
from tests.support.densities import density_of

WRONG: tuple[tuple[Any, str], ...] = (
    *(({"method": word}, "no value of method") for word in (3, None, "kernal", "KDE", ["series"])),
    *(({"method": "histogram", "cells": n}, "cells must be") for n in ("10", 10.5, True, 0, -3, [5], float("nan"))),
    ({"method": "histogram", "cells": 1 << 40}, "1,099,511,627,776 cells"),
    ({"method": "adaptive", "cells": 3}, "cells of an adaptive grid are 2, 4, 8"),
    *(({"method": "series", "degree": n}, "degree must be") for n in ("5", 2.5, 0, True, 5000)),
    *(({"method": "bernstein", "degree": n}, "degree") for n in ("5", 2.5, 200)),
    *(({"method": "kernel", "bandwidth": h}, "bandwidth") for h in ("wide", 0, -0.1, 0.7, True, [0.1], 1e-9)),
    *(({"method": "bernstein", "bandwidth": h}, "bandwidth") for h in ("wide", 0, 0.7, 1e-9)),
    *(({"method": "bernstein", "iterations": n}, "iterations must be") for n in ("4", 0, 17, 2.5, True)),
    *(({"method": "ks", "size": n}, "(of size|size is|size must be)") for n in ("half", 0, 1.5, "40", True, [3])),
    *(({"method": "histogram", "settle": word}, "no value of settle") for word in ("simplx", None, 3)),
    *(({"atoms": [word]}, "atoms are numbers within the bounds, or missing") for word in ("mising", "Missing", "zero")),
    *(({"atoms": given}, "atoms is a list") for given in ("missing", 5, 0, "some", {0: 1})),
    *(({"atoms": [value]}, "atoms must be") for value in (None, True, [0], float("nan"))),
    *(({"atoms": twice}, "twice") for twice in ([0, 0], ["missing", "missing"])),
    *(({"method": name, "atoms": [200]}, "0 to 100, got 200") for name in ("auto", "histogram", "series", "sparse")),
    *(({"checks": share}, "checks") for share in (0.6, -1, "x", None, True, [0.1])),
    ({"method": "ks", "degree": 3}, "degree has no use in method=ks, which has cells, size"),
    ({"method": "tree", "settle": "clip"}, "settle has no use"),
    *(({"epsilon": cost}, "epsilon must be") for cost in (0, -1, "one", True, float("inf"), [1])),
    ({"epsilon": None}, "Say what the release may cost"),
    ({"epsilon": 20}, "Above 10 a release needs"),
    ({"rho": 1}, "epsilon or rho, not both"),
    *(({"delta": share}, "(delta|δ) must be") for share in (0, -1, 1, "tiny")),
    *(({"audit": pairs}, 'audit is "quick" or a number of pairs') for pairs in ("slow", -1, 1.5, True)),
    *(({name: 3}, f"{name} must be text") for name in ("name", "purpose", "who", "override")),
    ({"who": None}, "who must be text"),
    ({"name": "\ud800"}, "name must be text that can be written"),
    ({"key": 3}, "key is the path"),
)
DETAIL = ("cells", "degree", "iterations", "size", "bandwidth", "settle")
COLUMNS: tuple[tuple[Any, str], ...] = (
    *((given, "a column, or a list of columns") for given in (3, None, ["x", 3], rt.mean("x"))),
    *((given, "one column or more, each named once") for given in ([], ["x", "x"])),
    *((given, "There is no column") for given in ("nope", "", "x,age")),
    ("town", "town is a category"),
    ("wild", "needs a range"),
)


def density(**options: Any) -> rt.Ask:
    """A density of x: details and a delta beside it, as texts have them."""
    detail = {name: options.pop(name) for name in DETAIL if name in options}
    delta = options.pop("delta", None)
    return rt.density("x", detail=rt.Detail(**detail), **options).at(delta=delta)


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=repr)
def test_a_wrong_option_is_named_and_costs_nothing(wrong: dict[str, Any], said: str) -> None:
    study = clinic()
    release = {name: wrong[name] for name in wrong.keys() & {"epsilon", "rho", "purpose"}}
    record = {name: wrong[name] for name in wrong.keys() & {"name", "who", "key", "override", "audit"}}
    options = {name: wrong[name] for name in wrong.keys() - release.keys() - record.keys()}
    given = {"epsilon": 1, **release}
    with pytest.raises(Refusal, match=said) as caught:
        study.release([density(**options)], record=rt.Record(**record), **given)
    if release:
        assert str(caught.value).endswith(" Nothing was charged.")
    assert str(caught.value).count("charged") <= 1
    assert spent(study) == 0
    assert spent(clinic()) == spent(study)  # and the ledger can still be read


@pytest.mark.parametrize(("columns", "said"), COLUMNS, ids=repr)
def test_wrong_columns_are_named_by_every_way_to_ask_and_cost_nothing(columns: Any, said: str) -> None:
    study = clinic()
    with pytest.raises(Refusal, match=said) as caught:
        study.synthesize(columns, epsilon=1)
    assert str(caught.value).endswith(" Nothing was charged.")
    with pytest.raises(Refusal, match=said):
        study.release([rt.density(columns)], epsilon=1)
    assert spent(study) == 0


@pytest.mark.parametrize("rows", [0, 1.5, "ten", True, 1 << 31])
def test_a_number_of_rows_that_cannot_be_drawn_is_refused_before_the_charge(rows: Any) -> None:
    study = clinic()
    with pytest.raises(PublicParameterError, match=r"rows must be .* Nothing was charged\.$"):
        study.synthesize("x", rows=rows, epsilon=1)
    assert spent(study) == 0


def test_a_question_alone_says_nothing_of_a_charge() -> None:
    with pytest.raises(QuestionError, match=r"Did you mean series\?"):
        rt.density("x", method="serie")  # type: ignore[arg-type]  # misspelt on purpose


@pytest.mark.wide
def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    study = clinic()
    question = rt.density("x", method="histogram", detail=rt.Detail(cells=np.int64(5)))
    made = study.release([question], epsilon=1)
    assert made.certificate.verify(allow_unsigned=True).ok
    assert density_of(made).masses.shape == (5,)
    assert len(study.synthesize(question, rows=np.int64(7), epsilon=1)) == 7  # type: ignore[arg-type]


def test_a_charge_that_could_not_be_read_back_is_not_written() -> None:
    ledger = Ledger.create(None, title="t", adjacency=Adjacency("add_remove"), budget=PureDP(Fraction(1)))
    cost = PureDP(Fraction(1, 10))
    for wrong in ({"who": None}, {"what": 3}, {"purpose": b"x"}):
        given: dict[str, Any] = {"what": "a release", **wrong}
        with pytest.raises(LedgerError, match=r"must be text in a ledger.*Nothing was charged\."):
            ledger.reserve(cost, adjacency=Adjacency("add_remove"), **given)
    with pytest.raises(LedgerError, match="must be text"):
        ledger.note_refusal("a release", who=None, code="5")  # type: ignore[arg-type]
    assert ledger.spent() == PureDP(Fraction(0))
    ledger.reserve(cost, adjacency=Adjacency("add_remove"), what="a release")
    assert ledger.spent() == cost
    assert ledger.verify() == ()


def test_a_refusal_says_once_that_nothing_was_charged_and_a_ledger_speaks_for_itself() -> None:
    assert uncharged("no") == "no. Nothing was charged."
    assert uncharged("Which?") == "Which? Nothing was charged."
    for told in ("Nothing was read.", "ε 1 stays spent.", "No. Nothing was charged."):
        assert uncharged(told) == told
    with pytest.raises(SpecError, match=r"^no\. Nothing was charged\.$"), refusing(), refusing():
        raise SpecError("no")
    with pytest.raises(LedgerError, match=r"^the disk failed$"), refusing():
        raise LedgerError("the disk failed")


@pytest.mark.parametrize("word", ["dorp", "Drop", "zero"])
def test_a_misspelt_rule_for_missing_values_is_told_what_it_may_be(word: str, tmp_path: Path) -> None:
    said = 'missing is "drop", or the public number that stands in'
    for column in (rt.real, rt.integer):
        with pytest.raises(PublicParameterError, match=said):
            column(0, 9, missing=word)  # type: ignore[arg-type]  # misspelt on purpose
    path = tmp_path / "s.toml"
    columns = f'[columns.x]\nkind = "real"\nlow = 0\nhigh = 1\nmissing = "{word}"\n'
    who = '[person]\nrows = "one_each"\nadjacency = "add_remove"\n[budget]\nepsilon = "1"\n'
    path.write_text(f'[study]\ntitle = "t"\nsource = "x.csv"\n{who}{columns}', encoding="utf-8")
    with pytest.raises(SpecError, match=said):
        rt.open(path)
    assert rt.real(0, 9, missing="drop").missing == "drop"
    assert rt.real(0, 9, missing="1/2").missing == Fraction(1, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--columns", "x", "--rows", "99999999999"], "rows must be a whole number from 1 to 2^30"),
        (["--ask", "density(x, atoms=mising)"], "Did you mean missing?"),
        (["--ask", "density(x, missing=yes)"], "Did you mean atoms=missing?"),
        (["--ask", "density(x, method=ks, size=half)"], "Known: root, two_thirds"),
        (["--ask", "density(x, method=kernel, bandwidth=2)"], "at most 1/2, got 2"),
        (["--columns", "x", "--checks", "much"], "checks must be a number"),
    ],
)
def test_synth_refuses_in_words_before_it_charges(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f"{k % 97}" for k in range(500)) + "\n", encoding="utf-8")
    path = tmp_path / "s.toml"
    who = '[person]\nrows = "one_each"\nadjacency = "add_remove"\n[budget]\nepsilon = "8"\n'
    study = f'[study]\ntitle = "t"\nsource = "t.csv"\nledger = "t.ledger"\n{who}'
    path.write_text(f'{study}[columns.x]\nkind = "real"\nlow = 0\nhigh = 99\n', encoding="utf-8")
    out = tmp_path / "rows.csv"
    result = CliRunner().invoke(
        app, ["synth", str(path), *words, "--epsilon", "1", "--yes", "--out", str(out), "--json"]
    )
    assert result.exit_code == 5, result.output
    assert said in result.output
    ending = json.loads(result.output[result.output.index("{") : result.output.rindex("}") + 1])
    assert ending["error"]["charged"] == "nothing"
    assert ending["error"]["words"].endswith("Nothing was charged.")
    assert not out.exists()
    assert spent(rt.open(path)) == 0


def test_a_category_of_whole_numbers_is_told_how_else_to_declare_it() -> None:
    columns: dict[str, Any] = {"x": rt.real(0, 1), "g": rt.category([3, 1, 2]), "t": rt.category(["a", "b"])}
    study = rt.study({"x": [0.5], "g": [1], "t": ["a"]}, adjacency="add_remove", columns=columns, budget=1)
    with pytest.raises(QuestionError, match=r'declare it as whole numbers: columns={"g": rt\.integer\(1, 3\)}\.'):
        study.synthesize(["x", "g"], epsilon=1)
    with pytest.raises(QuestionError, match=r"leave t out\. histogram"):
        study.synthesize(["x", "t"], epsilon=1)
