"""Bad input to a whole-data-set release, by each of its ways in: refused in words before it costs, or a reply, or none.

    study.release, study.synthesize, reticent synth
        x no public bounds; bounds that exclude all; one value; NaN and infinities; no row; a grid or too many columns;
          an epsilon that says nothing

And the audit of such a plan: what is wrong by adjacency or by rows is refuted in a few pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import NoReplyError, Refusal
from reticent.mechanisms.ks import KolmogorovSmirnov
from reticent.privacy.adjacency import Kind
from reticent.privacy.sensitivity import Linf
from reticent.study.study import Study
from reticent.synthesis import histogram, ks
from reticent.synthesis.density import Density
from reticent.synthesis.options import Method
from tests.support.densities import density_of

STUDY = """
[study]
source = "rows.csv"
ledger = "rows.ledger"
[person]
rows = "one_each"
adjacency = "{kind}"
[budget]
epsilon = "9"
[columns]
"""
COLUMN = '{name} = {{ kind = "{kind}", low = 0, high = 100{more} }}\n'
NAMES = ("x", "y", "z", "u", "v", "k", "wild")

Way = Callable[[Path, str, str], object]


def table(where: Path, values: Sequence[object], kind: Kind = "add_remove") -> Path:
    """A study file with every column alike; of k no value is missing, since 0 stands in."""
    lines = [",".join(NAMES), *(",".join([str(value)] * len(NAMES)) for value in values)]
    (where / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = [COLUMN.format(name=name, kind="real", more="") for name in NAMES[:5]]
    columns += [COLUMN.format(name="k", kind="integer", more=", missing = 0"), 'wild = { kind = "real" }\n']
    (where / "study.toml").write_text(STUDY.format(kind=kind) + "".join(columns), encoding="utf-8")
    return where / "study.toml"


def by_release(spec: Path, ask: str, epsilon: str) -> object:
    made = rt.open(spec).release([rt_question(ask)], epsilon=epsilon)
    return rt.Reply(density_of(made)) if made.replied else rt.NoReply()


def by_synthesis(spec: Path, ask: str, epsilon: str) -> object:
    try:
        return rt.Reply(rt.open(spec).synthesize(rt_question(ask), epsilon=epsilon, rows=20).density)
    except NoReplyError:
        return rt.NoReply()


def by_command(spec: Path, ask: str, epsilon: str) -> object:
    out = spec.parent / "made.csv"
    found = CliRunner().invoke(
        app,
        ["synth", str(spec), "--ask", ask, "--epsilon", epsilon, "--out", str(out), "--rows", "20", "--yes", "--json"],
    )
    if found.exit_code == 3:
        return rt.NoReply()
    if found.exit_code != 0:
        raise Refusal(found.stderr + found.stdout)
    assert len(out.read_text("utf-8").splitlines()) == 21
    return json.loads(found.stdout)


def rt_question(ask: str) -> Any:
    from reticent.statistics.grammar import parse

    return parse(ask)


WAYS: list[Way] = [by_release, by_synthesis, by_command]


def spent(spec: Path) -> Fraction:
    loss = rt.open(spec).ledger.spent()
    assert isinstance(loss, rt.PureDP)
    return loss.epsilon


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("ask", "epsilon", "said"),
    [
        ("density(wild)", "1", "range known without looking"),
        ("density(x, y, z, u, v)", "1", "1 to 4"),
        ("density(x, y, z, u, v, method=histogram)", "1", "1 to 4"),
        ("density(x, y, method=ks)", "1", "one column"),
        ("density(x, y, method=tree)", "1", "one column"),
        ("density(x, y, z, u, method=series)", "1", "1 to 3"),
        ("density(x, y, z, method=histogram, cells=200)", "1", "8,000,000 cells"),
        ("density(x, y, z, method=series, cells=200)", "1", "8,000,000 cells"),
        ("density(x, method=ks, cells=9999999)", "1", "9,999,999 cells"),
        ("density(k, method=ks, size=1000000)", "1", "take about"),
        ("density(k, method=ks)", "0.001", "n ε should be at least 8"),
        ("density(k, method=histogram)", "0.0001", "only the uniform"),
        ("density(k, method=series)", "0.0001", "hides every shape"),
        ("density(k)", "0.0001", "hides every shape"),
        ("density(x, method=ks)", "0.0001", "nothing but the uniform"),
        ("density(x, method=tree)", "0.0001", "nothing but the uniform"),
        ("density(x, method=tree, atoms=0)", "0.0001", "nothing but the uniform"),
        ("density(x, method=histogram, cells=100000000)", "1", "100,000,000 cells"),
        ("density(x, method=sparse, cells=100000000)", "1", "100,000,000 cells"),
        ("density(x, y, method=sparse, cells=100000000)", "1", "at most 1,048,576"),
    ],
)
def test_what_cannot_be_released_is_refused_by_every_way_in_and_costs_nothing(
    tmp_path: Path, way: Way, ask: str, epsilon: str, said: str
) -> None:
    """Substitution: the number of people is public, and so is what may be made of it."""
    spec = table(tmp_path, [1, 2, 3] * 400, "substitute")
    with pytest.raises(Refusal, match=said):
        way(spec, ask, epsilon)
    assert spent(spec) == 0


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("column", ["x", "k"])
def test_a_table_that_is_known_to_be_empty_is_refused_before_it_costs(tmp_path: Path, method: str, column: str) -> None:
    """Substitution makes the number of people public; a certificate has no place for nobody."""
    spec = table(tmp_path, [], "substitute")
    with pytest.raises(Refusal, match="has no people"):
        by_release(spec, f"density({column}, method={method})", "1")
    assert spent(spec) == 0


@pytest.mark.loop(12)  # every way with every method
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["auto", "histogram", "ks", "tree"])
@pytest.mark.parametrize(
    "values",
    [[], [50] * 300, ["nan"] * 200, ["inf", "-inf", 5] * 80, [1e9] * 200],
    ids=["no row", "one value", "NaN", "infinities", "bounds that exclude all"],
)
def test_strange_tables_are_charged_and_end_in_a_reply_or_none(
    tmp_path: Path, way: Way, method: str, values: Sequence[object]
) -> None:
    spec = table(tmp_path, values)
    found = way(spec, f"density(x, method={method}, cells=16)" if method != "auto" else "density(x)", "1")
    assert spent(spec) == 1
    match found:
        case rt.NoReply():
            assert not list(tmp_path.glob("made.csv"))
        case rt.Reply(density):
            assert isinstance(density, Density)
            assert np.isfinite(density.masses).all()
        case document:
            assert isinstance(document, dict)
            assert document["rows"] == 20


@pytest.mark.wide
def test_values_beyond_the_bounds_show_at_an_end_alone(tmp_path: Path) -> None:
    spec = table(tmp_path, [1e9] * 400)
    made = rt.open(spec).release([rt.density("x", method="ks")], epsilon=4)
    assert any("outside [0, 100] count as the nearer bound" in text for text in made.certificate.caveats)
    assert density_of(made).masses[-1] > 0.8


# --- the audit of such a plan -----------------------------------------------------------------------------------------


def clinic(adjacency: Kind) -> Study:
    return rt.study({"x": np.linspace(0, 99, 500)}, adjacency=adjacency, columns={"x": rt.real(0, 100)}, budget=9)


ASKED = ("density(x, method=ks)", "density(x, method=ks, size=two_thirds)", "density(x, method=histogram, cells=8)")


@pytest.mark.wide
@pytest.mark.loop(3)  # each question once
@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_the_audit_of_such_a_plan_passes(text: str, adjacency: Kind) -> None:
    found = clinic(adjacency).audit([text], epsilon=1, triples=12)
    assert found.verdict == "passed", found.words
    assert found.ratio == 1


@pytest.mark.wide
def test_counts_for_added_rows_under_substitution_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram, "swapped", lambda neighbours: neighbours.rows)
    found = clinic("substitute").audit(["density(x, method=histogram, cells=8)"], epsilon=1, triples=12)
    assert found.verdict == "refuted"
    assert found.ratio == 2


@pytest.mark.wide
@pytest.mark.loop(2)  # each part once
@pytest.mark.parametrize(
    ("part", "adjacency", "triples"),
    [
        ("points", "substitute", 12),
        ("points", "add_remove", 12),
        ("level", "add_remove", 40),
        ("level", "substitute", 12),
    ],
)
def test_a_data_set_for_one_row_where_a_person_has_three_is_refuted(
    monkeypatch: pytest.MonkeyPatch, part: str, adjacency: Kind, triples: int
) -> None:
    honest = ks.ks_release

    def bold(*given: Any, **named: Any) -> ks.KSRelease:
        made = honest(*given, **named)
        near = made.mechanism.sensitivity.adjacency
        if part == "level":
            single = replace(made.measure, sensitivity=type(made.measure.sensitivity)(Fraction(1), near))
            return replace(made, measure=single)
        points = KolmogorovSmirnov(Linf(Fraction(1), near), made.mechanism.epsilon, made.mechanism.points)
        return replace(made, mechanism=points)

    monkeypatch.setattr("reticent.synthesis.options.ks_release", bold)
    several = rt.study(
        {"x": np.linspace(0, 99, 600), "who": np.arange(600) // 3},
        adjacency=adjacency,
        columns={"x": rt.real(0, 100)},
        person="who",
        rows_each=3,
        budget=9,
    )
    found = several.audit(["density(x, method=ks)"], epsilon=1, triples=triples)
    assert found.verdict == "refuted"
    assert found.ratio is not None
    assert found.ratio > 1
