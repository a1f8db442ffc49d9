"""Noise named for counts, sums and histograms: sensitivities by enumeration, laws, intervals, currencies, refusals."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations_with_replacement, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import reticent as rt
from reticent.conformance.kit import Effort, check
from reticent.conformance.neighbours import KeyedDice
from reticent.conformance.schemas import random_plan, random_schema
from reticent.data.query import Keys, Rows, Tally, Total, squared_stability
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Person, Schema, grid_whole
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.gaussian import WIDE, Gaussian, gaussian_radius, mass
from reticent.outcome import Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.statistics.context import Setting
from reticent.statistics.counts.count_step import CountStep
from reticent.statistics.extensions import axioms_of, read_extensions
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/own_mechanism.md").read_text("utf-8")
(CODE,) = re.findall(r"```python\n(# file: staircase.py\n.*?)```", PAGE, re.DOTALL)
COLUMNS: dict[str, Column] = {"x": rt.integer(-1, 2), "g": rt.category(["a", "b", "c"])}
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
TEXTS = ("count(mechanism=gaussian)", "sum(x, mechanism=gaussian)", "histogram(g, mechanism=gaussian)")
DELTA = Fraction(1, 10**6)


def contributions(query: object, rows: int) -> set[tuple[int, ...]]:
    """The vectors that one person's at most ``rows`` rows can add to, each row a value of x and a group."""
    found: set[tuple[int, ...]] = set()
    vector: tuple[int, ...]
    for size in range(1, rows + 1):
        for kept in combinations_with_replacement(list(product((-1, 0, 2), "abc")), size):
            match query:
                case Rows(keys=None):
                    vector = (len(kept),)
                case Rows():
                    vector = tuple(sum(g == key for _, g in kept) for key in "abc")
                case Tally(keys=None):
                    vector = tuple(sum(x == value for x, _ in kept) for value in (-1, 0, 2))
                case Tally():
                    cells = product("abc", (-1, 0, 2))
                    vector = tuple(sum((x, g) == (value, key) for x, g in kept) for key, value in cells)
                case Total(keys=None):
                    vector = (sum(x for x, _ in kept),)
                case _:
                    vector = tuple(sum(x for x, g in kept if g == key) for key in "abc")
            found.add(vector)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("keyed", [False, True])
def test_no_neighbours_are_further_apart_than_the_squared_sensitivity(kind: Kind, rows: int, keyed: bool) -> None:
    """All rows of one person, or of two who replace each other; counts of bins under both relations are tight."""
    person = Person(kind, "who", rows)
    keys = Keys("g", ("a", "b", "c"), rows) if keyed else None
    edges = tuple(map(Fraction, (-1, 0, 1, 3)))
    for query in (
        Rows(keys),
        Tally("x", edges=edges, keys=keys),
        Total("x", grid_whole(Fraction(-1), Fraction(2)), keys),
    ):
        own = contributions(query, rows)
        nothing = tuple(0 for _ in next(iter(own)))
        pairs = product(own, own) if kind == "substitute" else product(own, [nothing])
        far = max(sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in pairs)
        stated = squared_stability(query, person)
        assert far <= stated
        if isinstance(query, Tally):
            assert far == stated


def test_queries_of_other_kinds_have_no_squared_sensitivity() -> None:
    from reticent.data.query import DistinctPersons

    with pytest.raises(TypeError):
        squared_stability(DistinctPersons(None), Person("add_remove", "who", 2))


def step_of(text: str, kind: Kind = "add_remove", *, delta: Fraction | None = DELTA, rows: int = 1) -> CountStep:
    schema = Schema(COLUMNS, Person(kind, "who" if rows > 1 else None, rows))
    made = prepare(parse(text), Setting(schema, 1000, delta=delta), Fraction(1))
    assert isinstance(made, CountStep)
    return made


def delta_at(epsilon: float, variance: float, shift: tuple[int, ...]) -> float:
    """The least delta of a shift of integers with discrete Gaussian noise, by summing the positive parts."""
    reach = int(14 * math.sqrt(variance)) + 10
    law = np.array([mass(variance, 0, k) for k in range(-reach, reach + 1)])
    here, there = np.ones(1), np.ones(1)
    for one in shift:
        here = np.outer(here, np.pad(law, abs(one))).ravel()
        there = np.outer(there, np.roll(np.pad(law, abs(one)), one)).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


@pytest.mark.parametrize(
    ("text", "kind", "shift"),
    [
        ("count(mechanism=gaussian)", "add_remove", (1,)),
        ("sum(x, mechanism=gaussian)", "substitute", (3,)),
        ("histogram(g, mechanism=gaussian)", "substitute", (1, -1)),
    ],
)
def test_the_law_of_gaussian_noise_keeps_its_epsilon_and_delta(text: str, kind: Kind, shift: tuple[int, ...]) -> None:
    """Exact sums over both neighbours' laws; half of the variance would break the claim."""
    step = step_of(text, kind)
    loss = step.guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert isinstance(step.mechanism, Gaussian)
    assert (loss.epsilon <= 1, loss.delta) == (True, DELTA)
    variance = float(step.mechanism.variance)
    assert delta_at(float(loss.epsilon), variance, shift) <= DELTA
    assert delta_at(float(loss.epsilon), variance / 2, shift) > DELTA


@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(1, 2), Fraction(9), Fraction(200), Fraction(5000)])
def test_the_radius_is_the_least_integer_that_covers(variance: Fraction) -> None:
    for beta in (0.05, 0.3):
        z = gaussian_radius(variance, beta)
        inside = [sum(mass(float(variance), 0, k) for k in range(-z + more, z - more + 1)) for more in (0, 1)]
        assert inside[0] >= 1 - beta - 1e-12
        assert z == 0 or inside[1] < 1 - beta


def test_the_radius_of_a_wide_law_is_at_most_one_more() -> None:
    just_below, beyond = gaussian_radius(Fraction(WIDE), 0.05), gaussian_radius(Fraction(WIDE) + 1, 0.05)
    assert 0 <= beyond - just_below <= 1


@pytest.mark.wide
def test_intervals_cover_by_the_law_of_the_mechanism_named() -> None:
    """4,000 draws each. A right interval falls below 93 % or, of this width, above 97.5 % with chance below 1e-7."""
    for text, vectors in zip(TEXTS, (((500,),), ((700,),), ((100, 200, 300),)), strict=True):
        step = step_of(text)
        stream, noise = Replayed(text), step.expected(1000).noise
        hits, seen = 0, 0
        while seen < 4000:
            answer = step.answer([QueryResult(vectors=vectors)], stream)
            for cell, exact in zip(answer.cells, vectors[0], strict=True):
                assert isinstance(cell.outcome, Reply)
                hits += cell.outcome.value.low <= exact <= cell.outcome.value.high
                seen += 1
                assert cell.outcome.value.noise == noise
        assert 0.93 <= hits / seen <= 0.975


def held(budget: object, delta: object = None, *, kind: Kind = "add_remove") -> rt.Study:
    rows = {"x": [k % 4 - 1 for k in range(400)], "g": ["abc"[k % 3] for k in range(400)]}
    people = 1000 if kind == "add_remove" else None
    return rt.study(rows, adjacency=kind, columns=COLUMNS, budget=budget, delta=delta, people=people)  # type: ignore[arg-type]  # read there


def test_it_is_charged_in_epsilon_and_delta_or_in_rho() -> None:
    both = held(5, "1e-5").plan(list(TEXTS), epsilon=1, delta="3e-6").guarantee.loss
    assert isinstance(both, ApproxDP)
    assert (both.epsilon <= 1, both.delta) == (True, DELTA * 3)
    in_rho = held(ZCDP(Fraction(1))).plan(list(TEXTS[:1]), rho="0.1").guarantee.loss
    assert isinstance(in_rho, ZCDP)
    assert Fraction(99, 1000) < in_rho.rho <= Fraction(1, 10)
    asked = held(ZCDP(Fraction(1))).plan(list(TEXTS[:1]), epsilon=1).guarantee.loss
    assert asked == ZCDP(Fraction(1, 2))  # what a pure draw of that epsilon may cost in rho


@pytest.mark.wide
def test_a_release_is_certified_verified_and_audited() -> None:
    study = held(5, "1e-5")
    release = study.release([*TEXTS, "count"], epsilon=2, delta="3e-6", record=rt.Record(audit=6))
    assert release.certificate.verify(study.ledger, allow_unsigned=True).ok
    assert set(TEXTS) < set(release)
    planned = {line.name: line.expected.noise for line in study.plan([*TEXTS, "count"], epsilon=2, delta="3e-6").lines}
    for text in TEXTS:
        for cell in release[text]:
            assert isinstance(cell.outcome, Reply)
            assert cell.outcome.value.noise == planned[text]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: held(5).plan(["count(mechanism=gaussian)"], epsilon=1), "needs a δ"),
        (lambda: held(5, "1e-5").release(["sum(x, mechanism=gaussian)"], epsilon=1), "needs a δ"),
        (
            lambda: held(ZCDP(Fraction(1))).plan(["count(mechanism=gaussian, delta=1e-9)"], rho="0.1"),
            "spends no δ there",
        ),
        (lambda: held(5, "1e-5").plan(["count(delta=1e-9)"], epsilon=1), "delta would change nothing"),
        (lambda: rt.count(mechanism="laplace"), "geometric noise"),
        (lambda: rt.count(mechanism="Not a word"), "mechanism is a word"),
        (lambda: rt.count(mechanism=3), "mechanism is a word"),  # type: ignore[arg-type]  # what is refused
        (lambda: held(5).plan(["sum(x, mechanism=staircase)"], epsilon=1), "There is no mechanism 'staircase'"),
        (lambda: held(5).plan(["count(mechanism=exponential)"], epsilon=1), "There is no mechanism 'exponential'"),
        (lambda: parse("mean(x, mechanism=gaussian)"), "no option of mean 'mechanism'"),
    ],
)
def test_what_no_mechanism_or_currency_allows_is_refused_in_words(ask: object, words: str) -> None:
    assert callable(ask)
    with pytest.raises(QuestionError, match=words):
        ask()


def test_the_default_is_geometric_noise_and_its_name_is_what_it_was() -> None:
    assert rt.count(mechanism="geometric") == rt.count()
    assert (rt.count().name, rt.sum("x", mechanism="geometric").name) == ("count", "sum(x)")
    assert parse("histogram(g, mechanism=gaussian) by g").name == "histogram(g, mechanism=gaussian) by g"
    assert step_of("count", delta=None).guarantee.loss == PureDP(Fraction(1))


def test_a_public_number_needs_no_noise_of_any_kind() -> None:
    step = step_of("count(mechanism=gaussian)", "substitute")
    assert (step.mechanism, step.guarantee.loss) == (None, PureDP(Fraction(0)))


@pytest.mark.wide
def test_audits_at_random_ask_for_gaussian_noise_in_both_currencies() -> None:
    found: set[object] = set()
    for key in range(150):
        dice = KeyedDice(f"noise {key}")
        (step,) = random_plan(random_schema(dice), dice, 1, (rt.count, rt.sum, rt.histogram)).steps
        if "gaussian" in step.name:
            found |= {step.name.partition("(")[0], type(step.guarantee.loss)}
    assert found >= {"count", "sum", "histogram", ApproxDP, ZCDP}


# --- mechanisms of third parties --------------------------------------------------------------------------------------


def loaded(folder: Path, code: str = CODE, name: str = "staircase") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(code, "utf-8")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stairs(tmp_path: Path) -> Iterator[ModuleType]:
    yield loaded(tmp_path)
    del sys.modules["staircase"]


@pytest.mark.wide
def test_a_mechanism_of_an_extension_is_named_charged_and_verified(stairs: ModuleType) -> None:
    study = replace(held(5), extensions=read_extensions([stairs]))
    release = study.release(
        ["sum(x, mechanism=staircase)", "count(mechanism=staircase)"], epsilon=1, record=rt.Record(audit=6)
    )
    certificate = release.certificate
    assert certificate.document["extensions"] == [
        {"module": "staircase", "version": "1.0", "statistics": [], "theorems": ["staircase"]}
    ]
    assert certificate.verify(study.ledger, allow_unsigned=True, extensions=[stairs]).ok
    failed = {one.name for one in certificate.verify(study.ledger, allow_unsigned=True).checks if not one.ok}
    assert failed == {"extension", "losses"}
    document = certificate.document
    del document["extensions"]  # a theorem of an extension counts where its module is named, and nowhere else
    bare = rt.read_certificate(json.dumps(document))
    assert not bare.verify(allow_unsigned=True, extensions=[stairs]).ok


def test_its_law_keeps_its_epsilon_and_its_radius_covers(stairs: ModuleType) -> None:
    """Every output within 60 of both neighbours, by the law; the first step of another length keeps it too."""
    from reticent.privacy.adjacency import Adjacency
    from reticent.privacy.sensitivity import L1

    for bound, first in ((1, 1), (4, 1), (4, 2), (4, 4)):
        made = stairs.Staircase(L1(Fraction(bound), Adjacency("add_remove")), Fraction(1, 2), first)
        worst = max(made.mass(k) / made.mass(k - shift) for k in range(-60, 60) for shift in range(-bound, bound + 1))
        assert worst <= math.exp(0.5) * (1 + 1e-12)
        z = made.radius(0.05)
        inside = [sum(made.mass(k) for k in range(-z + more, z - more + 1)) for more in (0, 1)]
        assert inside[0] >= 0.95 - 1e-12 > inside[1]


def test_noise_for_one_integer_is_refused_for_several(stairs: ModuleType) -> None:
    study = replace(held(5), extensions=read_extensions([stairs]))
    for text in ("histogram(g, mechanism=staircase)", "count(mechanism=staircase) by g"):
        with pytest.raises(PublicParameterError, match="one integer"):
            study.plan([text], epsilon=1)


def test_a_mechanism_that_states_more_than_it_was_asked_for_is_refused(tmp_path: Path) -> None:
    dear = loaded(
        tmp_path,
        CODE.replace("return Staircase(sensitivity, epsilon, max", "return Staircase(sensitivity, 2 * epsilon, max"),
    )
    study = replace(held(5), extensions=read_extensions([dear]))
    with pytest.raises(QuestionError, match="states another guarantee"):
        study.plan(["count(mechanism=staircase)"], epsilon=1)
    del sys.modules["staircase"]


@pytest.mark.wide
def test_the_kit_refutes_a_mechanism_that_understates_its_loss(tmp_path: Path) -> None:
    """It draws noise for twice its epsilon. The kit's chance of failing a right one is 1e-6 a line."""
    lying = CODE.replace('"""P(Z = distance)."""', '"""P(Z = distance)."""').replace(
        "one_discrete_laplace(1 / self.epsilon, entropy)", "one_discrete_laplace(1 / (2 * self.epsilon), entropy)"
    )
    lying = lying.replace("math.exp(-self.epsilon)", "math.exp(-2 * self.epsilon)")
    module = loaded(tmp_path, lying)
    found = check(module, axioms=axioms_of(read_extensions([module])), effort=Effort(draws=4000, factors=()))
    assert {"law within the claim", "audited below its claim"} <= {line.check for line in found.failures}
    del sys.modules["staircase"]


@pytest.mark.parametrize("name", ["geometric", "gaussian", "laplace"])
def test_a_mechanism_cannot_take_the_name_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(PublicParameterError, match=f"the mechanism '{name}' of {name} has a name that reticent uses"):
        read_extensions([loaded(tmp_path, CODE, name)])
    with pytest.raises(PublicParameterError, match="the theorem 'geometric' of mine"):
        read_extensions([loaded(tmp_path, CODE.replace('Theorem("staircase"', 'Theorem("geometric"'), "mine")])
    with pytest.raises(PublicParameterError, match="the theorem 'in_sequence' of mine"):
        read_extensions([loaded(tmp_path, CODE.replace('Theorem("staircase"', 'Theorem("in_sequence"'), "mine")])
    del sys.modules[name], sys.modules["mine"]
