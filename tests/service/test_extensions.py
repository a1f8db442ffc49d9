"""Statistics of third parties, passed by name: from the text of a study file to a verified certificate, and attacks."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import reticent as rt
from reticent.conformance.built_in_plans import made_up
from reticent.conformance.plan_audit import audit
from reticent.data.column_kinds import grid_by_width
from reticent.errors import CheckError, PublicParameterError, QuestionError, Refusal
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.statistics.extensions import Extension, axioms_of, check_known, kinds_of, read_extensions
from reticent.statistics.grammar import parse
from reticent.statistics.registry import KINDS
from tests.support.cli_kit import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/own_statistic.md").read_text("utf-8")
(CODE,) = re.findall(r"```python\n(# file: thresholds.py\n.*?)```", PAGE, re.DOTALL)
TEXT = "at_least(x, value=18)"
STUDY = """
[study]
title = "made up"
source = "rows.csv"
ledger = "rows.ledger"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "9"
[columns]
x = { kind = "integer", low = 0, high = 59 }
[[release]]
name = "ages"
epsilon = "2"
ask = ["at_least(x, value=18)"]
"""


def loaded(path: Path, code: str = CODE) -> ModuleType:
    """A module from a file outside the package, as its author would import it."""
    path.write_text(code, "utf-8")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A study, its rows, and the module of the how-to page beside them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # bytecode of code written in the same second would be read
    (tmp_path / "rows.csv").write_text("x\n" + "".join(f"{n % 60}\n" for n in range(6000)), "utf-8")
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def theirs(place: Path) -> ModuleType:
    return loaded(place / "thresholds.py")


def released(place: Path, theirs: ModuleType) -> tuple[rt.Study, Any]:
    study = rt.open(place / "study.toml", extensions=[theirs])
    return study, study.release(study.named().ask, epsilon=2)


@pytest.mark.wide
def test_a_statistic_outside_the_package_is_planned_charged_answered_and_verified(
    place: Path, theirs: ModuleType
) -> None:
    study, release = released(place, theirs)
    assert TEXT in str(study.plan([TEXT], epsilon=1))
    below, above = (cell.outcome for cell in release[TEXT])
    assert isinstance(below, Reply)
    assert isinstance(above, Reply)
    # One row is in one bin: noise of scale 1/1.9 in each, beyond 30 with chance below 1e-20.
    assert abs(below.value.value - 1800) < 30
    assert abs(above.value.value - 4200) < 30
    assert study.ledger.spent() == rt.PureDP(Fraction(2))
    certificate = release.certificate
    assert certificate.document["extensions"] == [
        {"module": "thresholds", "version": "1.0", "statistics": ["at_least"], "theorems": []}
    ]
    assert "at_least: by thresholds 1.0, an extension that is no part of reticent" in certificate.caveats
    again = rt.read_certificate(certificate.save(place / "c.json"))
    assert again.verify(study.ledger, allow_unsigned=True, extensions=[theirs]).ok
    failed = [one.words for one in again.verify(study.ledger, allow_unsigned=True).checks if not one.ok]
    assert len(failed) == 1
    assert failed[0].startswith("extension thresholds 1.0 needed: give it with --with thresholds")


@pytest.mark.wide
def test_a_release_of_our_statistics_alone_names_no_extension(place: Path, theirs: ModuleType) -> None:
    study = rt.open(place / "study.toml", extensions=[theirs])
    assert "extensions" not in study.release(["count"], epsilon=1).certificate.document


@pytest.mark.wide
def test_another_version_or_another_module_of_that_name_fails(place: Path, theirs: ModuleType) -> None:
    _, release = released(place, theirs)
    newer = loaded(place / "thresholds.py", CODE.replace('"1.0"', '"1.1"'))
    (failed,) = [c for c in release.certificate.verify(allow_unsigned=True, extensions=[newer]).checks if not c.ok]
    assert failed.words == "extension thresholds is needed in version 1.0, and 1.1 was given"
    other = loaded(place / "thresholds.py", CODE.replace('"at_least"', '"at_most"').replace("at_least(", "at_most("))
    (failed,) = [c for c in release.certificate.verify(allow_unsigned=True, extensions=[other]).checks if not c.ok]
    assert failed.words == "extension thresholds 1.0 has no at_least: it is another module of that name"
    reads = loaded(place / "thresholds.py", CODE.replace("value", "least"))
    (failed,) = [c for c in release.certificate.verify(allow_unsigned=True, extensions=[reads]).checks if not c.ok]
    assert "does not read at_least(x, value=18)" in failed.words


def test_a_study_without_the_module_asks_for_it(place: Path, theirs: ModuleType) -> None:
    study = rt.open(place / "study.toml")
    with pytest.raises(QuestionError, match="no statistic 'at_least'"):
        study.plan([TEXT], epsilon=1)
    with pytest.raises(QuestionError, match=r"at_least is a statistic of thresholds.*extensions=\[thresholds\]"):
        study.plan([theirs.AtLeast("x", value=18)], epsilon=1)
    check_known(rt.mean("x"), ())


@pytest.mark.wide
def test_the_command_line_takes_a_file_or_a_module(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "thresholds.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(place)
    assert run("check", "study.toml").code == 5
    for verb in ("check", "plan", "rehearse"):
        assert run(verb, "study.toml", "--with", "./thresholds.py").code == 0
    found = run("audit", "study.toml", "--with", "./thresholds.py", "--triples", "2")
    assert (found.code, "passed" in found.out) == (0, True)
    assert run("release", "study.toml", "--with", "./thresholds.py", "--out", "ages").code == 0
    bare = run("verify", "ages.json", "--allow-unsigned")
    assert bare.code == 6
    assert "FAILED extension thresholds 1.0 needed: give it with --with thresholds" in bare.said
    assert run("verify", "ages.json", "--allow-unsigned", "--with", "thresholds.py").code == 0
    assert run("verify", "ages.json", "--allow-unsigned", "--with", "thresholds").code == 0  # imported by now


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere_at_all", "There is no module nowhere_at_all here."),
        ("nowhere.py", "there is no such nowhere.py"),
        ("numpy.py", "There is another module numpy: give numpy.py another name"),
        ("broken.py", "broken.py cannot be run: ZeroDivisionError"),
        ("../a b", "needs the name of a module or a path FILE.py"),
        ("beside", "For a file in this folder: --with ./beside.py"),
    ],
)
def test_a_module_that_cannot_be_had_is_a_usage_error(
    place: Path, monkeypatch: pytest.MonkeyPatch, given: str, words: str
) -> None:
    for name in ("numpy.py", "broken.py", "beside.py"):
        (place / name).write_text("1 / 0", "utf-8")
    monkeypatch.chdir(place)
    found = run("plan", "study.toml", "--with", given)
    assert found.code == 2
    assert words in found.said
    assert "broken" not in sys.modules


@pytest.mark.wide
def test_verify_never_imports_a_module_that_a_certificate_names(
    place: Path, theirs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's certificate names a module that lies where Python finds it, and which would leave a trace."""
    _, release = released(place, theirs)
    trap = place / "trap.py"
    trap.write_text(f"import pathlib; pathlib.Path({str(place / 'sprung')!r}).touch()", "utf-8")
    monkeypatch.syspath_prepend(place)
    document = release.certificate.document
    document["extensions"][0]["module"] = "trap"
    sent = rt.read_certificate(json.dumps(document))
    for extensions in ((), (theirs,)):
        verification = sent.verify(allow_unsigned=True, extensions=extensions)
        assert not verification.ok
        assert "extension trap 1.0 needed" in str(verification)
    assert "FAILED" in str(run("verify", str(sent.save(place / "sent.json")), "--allow-unsigned").out)
    rt.open(place / "study.toml")
    assert "trap" not in sys.modules
    assert not (place / "sprung").exists()


@pytest.mark.wide
def test_a_certificate_cannot_name_what_is_no_module(place: Path, theirs: ModuleType) -> None:
    _, release = released(place, theirs)
    document = release.certificate.document
    for name in ("os; import evil", "../evil", "a..b", "", "é", "a" * 201, "\x1b[2J"):
        document["extensions"][0]["module"] = name
        with pytest.raises(CheckError):
            rt.read_certificate(json.dumps(document))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (CODE.replace('__version__ = "1.0"', ""), "states no version"),
        (CODE.replace('"1.0"', '"1 0\\n"'), "states no version"),
        (CODE.replace("STATISTICS = (AtLeast,)", ""), "it extends nothing"),
        (CODE.replace("STATISTICS = (AtLeast,)", "STATISTICS = [AtLeast]"), "is a tuple that is written out"),
        (CODE.replace("STATISTICS = (AtLeast,)", "STATISTICS = (int,)"), "which is no statistic"),
        (CODE.replace("STATISTICS = (AtLeast,)", "STATISTICS = (OfColumn,)"), "which is no statistic"),
        (CODE.replace("STATISTICS = (AtLeast,)", "MECHANISMS = (AtLeast,)"), "which is no module with AXIOMS"),
        (CODE.replace('"at_least"', '"mean"'), "the statistic 'mean' of odd has a name that reticent uses already"),
        (CODE.replace('"at_least"', '"hist"'), "the statistic 'hist' of odd has a name that reticent uses already"),
        (CODE.replace('"at_least"', '"At_Least"'), "needs a verb in small letters"),
    ],
)
def test_a_module_that_is_no_extension_is_refused(place: Path, code: str, words: str) -> None:
    with pytest.raises(PublicParameterError, match=words):
        rt.open(place / "study.toml", extensions=[loaded(place / "odd.py", code)])


def test_two_modules_cannot_share_a_name_and_ours_are_no_extensions(place: Path, theirs: ModuleType) -> None:
    twin = loaded(place / "twin.py")
    with pytest.raises(PublicParameterError, match="of twin has a name that thresholds uses already"):
        rt.open(place / "study.toml", extensions=[theirs, twin])
    with pytest.raises(PublicParameterError, match="the module 'thresholds'"):
        rt.open(place / "study.toml", extensions=[theirs, theirs])
    for wrong in ([json], [rt], ["thresholds"], theirs):
        with pytest.raises(PublicParameterError):
            rt.open(place / "study.toml", extensions=wrong)  # type: ignore[arg-type]  # what is refused


@pytest.mark.wide
def test_nothing_is_registered_by_passing_a_module(place: Path, theirs: ModuleType) -> None:
    released(place, theirs)
    assert "at_least" not in KINDS
    with pytest.raises(Refusal):
        parse(TEXT)
    (one,) = read_extensions([theirs])
    assert parse(TEXT, kinds_of((one,))).name == TEXT


def test_a_proof_that_cannot_be_derived_again_is_refused_before_the_charge(place: Path) -> None:
    """A statistic that halves its stated loss, by a leaf of ours or by a theorem of nobody."""
    lies = (
        ("return CountStep(", "return Lie("),
        (
            "@attrs.frozen\nclass AtLeast",
            "from dataclasses import dataclass, replace\n"
            "from reticent.statistics.counts.count_step import CountStep\n"
            "from reticent.privacy.loss import PureDP\n\n\n"
            "@dataclass(frozen=True)\nclass Lie(CountStep):\n"
            "    @property\n    def guarantee(self):\n"
            "        true = self.mechanism.guarantee\n"
            "        return replace(true, loss=PureDP(true.loss.epsilon / 2))\n\n\n@attrs.frozen\nclass AtLeast",
        ),
        ("        from reticent.statistics.counts.count_step import CountStep\n", ""),
    )
    code = CODE
    for honest, lie in lies:
        assert honest in code
        code = code.replace(honest, lie, 1)
    theirs = loaded(place / "lies.py", code)
    study = rt.open(place / "study.toml", extensions=[theirs])
    with pytest.raises(QuestionError, match="cannot be derived again"):
        study.release([TEXT], epsilon=1)
    assert study.ledger.spent() == rt.PureDP(Fraction(0))


@pytest.mark.wide
def test_audits_ask_it_with_options_at_random(theirs: ModuleType) -> None:
    plans = list(made_up(read_extensions([theirs])))
    assert len({name for name, _, _ in plans}) == len(plans) == 8
    asked = {step.name.partition("(")[0] for _, plan, _ in plans for step in plan.steps}
    assert asked == {"at_least"}
    for _, plan, schema in plans[:2]:
        found = audit(plan, schema, triples=2)
        assert (found.verdict, found.calls > 0) == ("passed", True)


@pytest.mark.wide
def test_an_audit_refutes_a_statistic_that_declares_too_little(place: Path) -> None:
    """The true sensitivity is that of the query; this one declares half of it."""
    code = CODE.replace(
        "mechanism = public_facts.geometric(public_facts.stability_of(query, setting), setting, epsilon)",
        "mechanism = public_facts.geometric(Fraction(1), setting, epsilon)",
    )
    theirs = loaded(place / "halves.py", code)
    study = rt.study(
        {"who": [1, 1, 2], "x": [1, 20, 30]},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 59)},
        person="who",
        rows_each=3,
        budget=9,
        extensions=[theirs],
    )
    assert study.audit([TEXT], epsilon=1, triples=20).verdict == "refuted"


def test_a_study_with_extensions_is_pickled_by_the_names_of_its_modules(place: Path, theirs: ModuleType) -> None:
    study = rt.open(place / "study.toml", extensions=[theirs])
    again = pickle.loads(pickle.dumps(study))
    assert again.extensions == study.extensions
    assert Extension.of(theirs).title == "thresholds 1.0"


def test_code_of_third_parties_that_raises_is_a_failed_check(place: Path, theirs: ModuleType) -> None:
    theorem = Theorem("mine", "a", "b")
    theirs.AXIOMS = ((theorem, lambda parameters, neighbours: 1 / 0),)  # type: ignore[attr-defined]  # a module's
    leaf = Guarantee(rt.PureDP(Fraction(1)), Adjacency("add_remove"), theorem)
    with pytest.raises(CheckError, match=r"thresholds 1.0 does not state 'mine' again"):
        axioms_of(read_extensions([theirs]))(leaf)


GRID = "grid_by_width(Fraction(0), Fraction(1))"
UNREADABLE = (
    f"q.Moments('g', {GRID}, 1)",
    f"q.Total('g', {GRID})",
    "q.Ranks('g')",
    "q.Ranks('x', weight=q.Weighing('g', Fraction(1)))",
    "q.OrderedValues('g', Fraction(1))",
    "q.Tally('g', edges=(Fraction(0), Fraction(1)))",
    "q.Tally('x', edges=(Fraction(0), Fraction(1)), keys=q.Keys('r', (0, 1), 1))",
    "q.Records(('g',), (Fraction(1),))",
    f"q.WeightedMoments('x', q.Weighing('g', Fraction(1)), {GRID}, 1)",
    "q.WeightedTally('g', q.Weighing('x', Fraction(1)), edges=(Fraction(0), Fraction(1)))",
    "q.PresentValues('nobody')",
    "q.Incomplete(('nobody',))",
)


@pytest.mark.few(3)
@pytest.mark.parametrize("query", UNREADABLE)
def test_a_query_of_a_column_that_it_cannot_read_is_refused_before_the_charge(place: Path, query: str) -> None:
    """The compiler had refused a category where numbers are needed when rows were read, which was charged."""
    named = "CountStep(public_facts.title(self, setting), query,"
    assert named in CODE
    asked = f"from reticent.data import query as q\n        from {grid_by_width.__module__} import grid_by_width\n"
    code = CODE.replace(named, named.replace("query", query)).replace(
        "        return CountStep(", f"        {asked}        return CountStep("
    )
    theirs = loaded(place / "thresholds.py", code)
    text = STUDY.replace(
        "[[release]]",
        'g = { kind = "category", among = ["a", "b"] }\nr = { kind = "real", low = 0, high = 1 }\n[[release]]',
    )
    (place / "study.toml").write_text(text, "utf-8")
    study = rt.open(place / "study.toml", extensions=[theirs])
    with pytest.raises(QuestionError, match="Nothing was charged"):
        study.release([TEXT], epsilon=2)
    assert study.left() == rt.PureDP(Fraction(9))
