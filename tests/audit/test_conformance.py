"""Every mechanism and every public statistic goes through the conformance kit; what is broken fails the line it should.

Change tier: replayed streams, 1e-6 for each line of chance, so a red test means a change. The long tier uses the
system's randomness: beta is 1e-9 for each of its audits, which are fewer than 500: a false alarm has probability
below 5e-7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.conformance.kit import Case, Effort, KitReport, check
from reticent.conformance.lower_bounds import bound, claims
from reticent.data.query import Keys, Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, category, real
from reticent.data.table import open_table
from reticent.entropy import Entropy, Replayed, system
from reticent.errors import PublicParameterError
from reticent.exact.categorical import choice
from reticent.exact.laplace import one_discrete_laplace
from reticent.exact.sampling import discrete_laplace
from reticent.mechanisms import gate, geometric, registry
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Specimen
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PureDP
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare

QUICK = Effort(draws=2000, factors=(Fraction(2), Fraction(8)))  # the long tier sees 1.3
SPECIMENS: list[Specimen[Any, Any]] = [specimen for module in registry.ALL for specimen in module.SPECIMENS]
FLOATS = "float answers refused"  # the integer mechanisms add their noise to a float answer


# --- mechanisms -------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("specimen", SPECIMENS, ids=[specimen.name for specimen in SPECIMENS])
def test_every_mechanism_conforms(specimen: Specimen[Any, Any]) -> None:
    report = check([specimen], effort=QUICK)
    assert report.failures == (), str(report)
    assert report.false_alarm <= 5e-6


@pytest.mark.audit
@pytest.mark.parametrize("specimen", SPECIMENS, ids=[specimen.name for specimen in SPECIMENS])
def test_every_mechanism_conforms_with_fresh_coins_and_mutants_of_three_tenths(specimen: Specimen[Any, Any]) -> None:
    """200,000 draws a side; the law must refuse noise that is 1.3 times too small or too large."""
    effort = Effort(draws=200_000, level=1e-9)
    report = check([specimen], effort=effort, entropy=lambda name: system())
    assert report.failures == (), str(report)
    caught = {line.check: line.reason for line in report.lines if line.check.startswith("law refuses")}
    assert caught["law refuses too little noise"].startswith("noise divided by 1.3 ")
    assert caught["law refuses too much noise"].startswith("noise divided by 0.769 ")


# --- mechanisms that somebody else wrote, each broken in one way ------------------------------------------------------

HONEST = """Statement. Source. Proof. Deviations."""
THEOREM = Theorem("their_own", "an integer plus noise", "a paper")
BARE = Theorem("bare", "an integer plus noise", "")


@dataclass(frozen=True, slots=True)
class Theirs:
    """Right in everything; each broken one changes one thing."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise PublicParameterError("epsilon must be a Fraction > 0")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            PureDP(self.epsilon), Adjacency("add_remove"), THEOREM, parameters=(("epsilon", str(self.epsilon)),)
        )

    def noise(self, entropy: Entropy) -> int:
        return one_discrete_laplace(1 / self.epsilon, entropy)

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[Any, ...]:
        if any(type(value) is not int for value in exact):
            raise TypeError("integers")
        return tuple(value + self.noise(entropy) for value in exact)

    def radius(self, beta: float) -> float:
        return math.log(1 / beta) / float(self.epsilon)


class HalfNoise(Theirs):
    def noise(self, entropy: Entropy) -> int:
        return one_discrete_laplace(1 / (2 * self.epsilon), entropy)


class DoubleNoise(Theirs):
    def noise(self, entropy: Entropy) -> int:
        return one_discrete_laplace(2 / self.epsilon, entropy)


class AnyEpsilon(Theirs):
    def __post_init__(self) -> None:
        pass

    def noise(self, entropy: Entropy) -> int:
        return one_discrete_laplace(1 / Fraction(self.epsilon), entropy)


class TakesFloats(Theirs):
    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise PublicParameterError("epsilon must be > 0")


class TakesFloatAnswers(Theirs):
    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[Any, ...]:
        return tuple(value + self.noise(entropy) for value in exact)


class NoSource(Theirs):
    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(PureDP(self.epsilon), Adjacency("add_remove"), BARE)


class OwnCoins(Theirs):
    def noise(self, entropy: Entropy) -> int:
        return one_discrete_laplace(1 / self.epsilon, system())


class FloatsOut(Theirs):
    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[Any, ...]:
        return tuple(float(value + self.noise(entropy)) for value in exact)


class SometimesNothing(Theirs):
    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[Any, ...]:
        (value,) = (exact[0] + self.noise(entropy),)
        return (value if value < 25 else None,)


class Fails(Theirs):
    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[Any, ...]:
        raise ZeroDivisionError


class NarrowRadius(Theirs):
    def radius(self, beta: float) -> float:
        return math.log(1 / beta) / float(self.epsilon) / 2


class WideRadius(Theirs):
    def radius(self, beta: float) -> float:
        return 3 * math.log(1 / beta) / float(self.epsilon)


class Boastful(Theirs):
    """Claims half of what its noise loses, and states its law rightly."""

    @property
    def guarantee(self) -> Guarantee:
        loss = PureDP(self.epsilon / 2)
        return Guarantee(loss, Adjacency("add_remove"), THEOREM, parameters=(("epsilon", str(self.epsilon)),))


def again(leaf: Guarantee) -> Guarantee:
    return Theirs(Fraction(leaf.parameter("epsilon"))).guarantee


def theirs(kind: type[Theirs]) -> KitReport:
    specimen = Specimen("theirs", kind(Fraction(1)), (17,), (18,), lambda x, y: geometric.mass(1.0, x[0], y[0]))
    return check([specimen], axioms=again, effort=QUICK)


@pytest.fixture(autouse=True)
def _documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of ``Theirs`` stands where a third party's stands: in the docstring of its module."""
    import sys

    monkeypatch.setattr(sys.modules[__name__], "__doc__", HONEST)


def test_a_mechanism_of_somebody_else_conforms() -> None:
    report = theirs(Theirs)
    assert report.passed, str(report)
    assert "conforms" in str(report)
    assert {line.verdict for line in report.lines} == {"pass"}


BROKEN: list[tuple[type[Theirs], set[str]]] = [
    (HalfNoise, {"draws its law, here", "draws its law, there", "audited below its claim"}),
    (DoubleNoise, {"draws its law, here", "draws its law, there"}),
    (AnyEpsilon, {"ranges refused", "floats refused"}),
    (TakesFloats, {"floats refused"}),
    (TakesFloatAnswers, {FLOATS}),
    (NoSource, {"theorem has a source", "loss derived again"}),
    (OwnCoins, {"same coins, same output"}),
    (FloatsOut, {"outputs of one alphabet"}),
    (SometimesNothing, {"outputs of one alphabet"}),
    (Fails, {"draws"}),
    (NarrowRadius, {"radius covers"}),
    (WideRadius, {"radius covers"}),
    (Boastful, {"law within the claim", "audited below its claim", "loss derived again"}),
]


@pytest.mark.wide
@pytest.mark.parametrize(("kind", "lines"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
def test_each_way_of_being_broken_fails_its_line(kind: type[Theirs], lines: set[str]) -> None:
    report = theirs(kind)
    assert lines <= {line.check for line in report.failures}, str(report)
    assert "checks failed" in str(report)


@pytest.mark.wide
def test_a_proof_without_headings_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules[__name__], "__doc__", "Trust me.")
    assert {line.check for line in theirs(Theirs).failures} == {"proof beside the code"}


@pytest.mark.wide
def test_a_mechanism_whose_certificates_could_not_be_verified_fails() -> None:
    specimen = Specimen("theirs", Theirs(Fraction(1)), (17,), (18,), lambda x, y: geometric.mass(1.0, x[0], y[0]))
    report = check([specimen], effort=QUICK)
    (line,) = [line for line in report.lines if line.check == "loss derived again"]
    assert line.verdict == "fail"
    assert "registry.ALL" in line.reason
    assert not report.passed


@pytest.mark.wide
def test_a_kit_that_sees_nothing_fails() -> None:
    """Neighbours that do not differ: no mutant can be refuted, and the report says so instead of passing."""
    specimen = Specimen("equal", Theirs(Fraction(1)), (17,), (17,), lambda x, y: geometric.mass(1.0, x[0], y[0]))
    report = check([specimen], axioms=again, effort=Effort(draws=400))
    assert "audit refutes too little noise" in {line.check for line in report.failures}


@pytest.mark.wide
def test_nothing_to_check_and_too_little_effort_are_refused() -> None:
    with pytest.raises(PublicParameterError):
        check([])
    wrongs: list[dict[str, Any]] = [{"draws": 100}, {"level": 0.01}, {"factors": (Fraction(1),)}]
    for wrong in wrongs:
        with pytest.raises(PublicParameterError):
            Effort(**wrong)


# --- statistics -------------------------------------------------------------------------------------------------------

ASKED = (
    "count",
    "persons",
    "sum(x)",
    "mean(x)",
    "mean(x, interval=no)",
    "variance(x)",
    "sd(x)",
    "proportion(g, value=a)",
    "histogram(x, edges=0:64:16)",
    "histogram(g)",
    "median(x)",
    "quantile(x, 0.9)",
    "quantiles(x, 0.25 0.75)",
    "iqr(x)",
    "quantiles(x, 0.25 0.75, method=joint)",
    "location(x)",
    "mean(x, method=clipped)",
    "log_mean(x)",
)
NOISY = (*ASKED, "test(x ~ g)")  # whose noise is cheap, and whose p-value is not
KEY = bytes(32)


@dataclass(frozen=True, slots=True)
class Asked:
    """The adapter: a prepared question as a mechanism from exact query results to answers."""

    step: Step

    @property
    def guarantee(self) -> Guarantee:
        return self.step.guarantee

    def sample(self, exact: Sequence[QueryResult], entropy: Entropy) -> Answer:
        return self.step.answer(exact, entropy)


Row = tuple[str, float, str]
Rows = list[Row]
OTHERS: Rows = [(f"p{place}", float(place % 65), "ab"[place % 2]) for place in range(200)]


def schema(kind: Kind, high: Fraction = Fraction(64)) -> Schema:
    return Schema({"x": real(0, high), "g": category(["a", "b"])}, Person(kind, "who"))


@cache
def answers(kind: Kind, high: Fraction, grouped: bool, rows: tuple[Row, ...]) -> dict[Query, QueryResult]:
    """The exact results of every question asked here, read from the table at once."""
    several = [text for text in NOISY if not (grouped and text.startswith("test"))]  # a test has its groups already
    queries = [query for text in several for query in step_of(kind, high, text, grouped, Fraction(1)).queries]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("who", "x", "g"))}
    return dict(zip(queries, open_table(columns, schema(kind, high)).run(queries, KEY), strict=True))


def results(kind: Kind, high: Fraction, text: str, grouped: bool, rows: Sequence[Row]) -> tuple[QueryResult, ...]:
    found = answers(kind, high, grouped, tuple(rows))
    return tuple(found[query] for query in step_of(kind, high, text, grouped, Fraction(1)).queries)


def step_of(kind: Kind, high: Fraction, text: str, grouped: bool, epsilon: Any, size: int = 4001) -> Step:
    keys = Keys("g", ("a", "b"), 1) if grouped else None
    return prepare(parse(text), Setting(schema(kind, high), size if kind == "substitute" else None, keys), epsilon)


def case_of(text: str, grouped: bool = False) -> Case:
    """One person with the largest value more, at epsilon 1."""

    def make(epsilon: Any) -> Asked:
        return Asked(step_of("add_remove", Fraction(64), text, grouped, epsilon))

    sides = [
        results("add_remove", Fraction(64), text, grouped, rows) for rows in (OTHERS, [*OTHERS, ("me", 64.0, "a")])
    ]
    return Case(text, make(Fraction(1)), sides[0], sides[1], make=make)


@pytest.mark.wide
@pytest.mark.loop(6)
@pytest.mark.parametrize("text", ASKED)
def test_every_statistic_conforms(text: str) -> None:
    """As people see it: refusals, proof, replay, round trip, and 200 answers a side that refute nothing."""
    report = check([case_of(text)], effort=Effort(draws=200, factors=()))
    assert report.passed, str(report)
    assert report.false_alarm <= 1e-6


@pytest.mark.wide
def test_a_grouped_statistic_conforms() -> None:
    report = check(
        [case_of("histogram(x, edges=0:64:16)", grouped=True)], effort=Effort(draws=400, factors=(Fraction(8),))
    )
    assert report.passed, str(report)


# --- the noise of every statistic, on eight pairs of neighbours -------------------------------------------------------

DELTAS = (0.0, 1e-6, 1e-3)
LARGE = Fraction(2**41)
Pair = tuple[str, Kind, Fraction, Rows, Rows]

CROWD: Rows = [(f"p{place}", float(place % 65), "ab"[place % 2]) for place in range(4000)]  # enough for quartiles

PAIRS: list[Pair] = [
    ("0 and 1", "substitute", Fraction(64), [*CROWD, ("me", 0.0, "a")], [*CROWD, ("me", 1.0, "a")]),
    ("0 and 2^-10", "substitute", Fraction(64), [*CROWD, ("me", 0.0, "a")], [*CROWD, ("me", 2.0**-10, "a")]),
    ("2^40 and 2^40 + 1", "substitute", LARGE, [*CROWD, ("me", 2.0**40, "a")], [*CROWD, ("me", 2.0**40 + 1, "a")]),
    ("extremes", "substitute", Fraction(64), [*CROWD, ("me", -1e300, "a")], [*CROWD, ("me", 1e300, "b")]),
    ("missing", "substitute", Fraction(64), [*CROWD, ("me", math.nan, "a")], [*CROWD, ("me", 64.0, "b")]),
    ("empty", "add_remove", Fraction(64), [], [("me", 64.0, "a")]),
    ("new key", "add_remove", Fraction(64), CROWD, [*CROWD, ("me", 64.0, "unheard of")]),
    ("removed", "add_remove", Fraction(64), CROWD, [*CROWD, ("me", 64.0, "a")]),
]


@dataclass(frozen=True)
class Call:
    """One call of a mechanism: what was to be protected."""

    mechanism: Geometric | Exponential
    exact: Any
    start: NDArray[np.int64] | None = None

    def drawn(self, many: int, factor: Fraction = Fraction(1)) -> NDArray[np.int64]:
        """``many`` draws from the system's generator, the noise divided by ``factor``.

        Of a choice the candidate, as ``gate.choose`` gives it: where runs begin depends on the rows.
        """
        match self.mechanism:
            case Geometric(sensitivity, epsilon):
                made = Geometric(sensitivity, epsilon * factor)
                noise = discrete_laplace(made.scale, many * len(self.exact), system()).reshape(many, -1)
                return np.asarray(noise + np.array(self.exact, np.int64), np.int64)
            case Exponential(bound_, epsilon):
                pick, coins = Exponential(bound_, epsilon * factor), system()
                assert self.start is not None
                law = choice(self.exact.scores, self.exact.weights, pick.rate)  # what pick.sample draws from, made once
                runs = np.array([law.draw(coins) for _ in range(many)], np.int64)
                first, size = self.start[:-1][runs], np.diff(self.start)[runs].astype(np.uint64)
                return np.asarray(first + (coins.words(many) % size).astype(np.int64), np.int64)


def calls(step: Step, found: Sequence[QueryResult], tape: Sequence[object] = ()) -> tuple[list[Call], list[object]]:
    """What the compiled step hands to its mechanisms in one run, and what it gets: from the tape, if there is one."""
    stream = Replayed("calls")
    seen: list[Call] = []
    given: list[object] = []

    def respond(mechanism: Any, exact: Any, start: NDArray[np.int64] | None) -> object:
        seen.append(Call(mechanism, list(exact) if isinstance(mechanism, Geometric) else exact, start))
        if tape:
            given.append(tape[len(given)])
        elif start is None:
            given.append(mechanism.sample(exact, stream))
        else:
            given.append(gate.choose(mechanism, exact, start, stream))
        return given[-1]

    step.answer(found, gate.Recorder(respond, Replayed("coins")))
    return seen, given


def differing(text: str, pair: Pair, epsilon: Fraction = Fraction(1)) -> Iterator[tuple[Call, Call]]:
    """The calls whose inputs differ between the neighbours, where all before them gave the same."""
    _, kind, high, here, there = pair
    step = step_of(kind, high, text, False, epsilon)
    first, tape = calls(step, results(kind, high, text, False, here))
    second, _ = calls(step, results(kind, high, text, False, there), tape)
    for one, two in zip(first, second, strict=True):
        if isinstance(one.exact, Candidates):
            assert one.start is not None
            assert two.start is not None
            if not np.array_equal(one.exact.scores, two.exact.scores) or not np.array_equal(one.start, two.start):
                yield one, two
        elif one.exact != two.exact:
            yield one, two


@pytest.mark.wide
@pytest.mark.loop(10)
@pytest.mark.parametrize("text", NOISY)
def test_the_noise_of_every_statistic_conforms(text: str) -> None:
    """What the compiled question hands to its mechanisms, on a row more: the audit refutes too little noise."""
    found = list(differing(text, PAIRS[-1]))[:2]
    assert found
    cases = [
        Case(f"{text}, call {place}", one.mechanism, one.exact, two.exact) for place, (one, two) in enumerate(found)
    ]
    for case in cases:
        factors = (Fraction(64),) if isinstance(case.mechanism, Geometric) else ()  # among ties a rank moves no median
        report = check([case], effort=Effort(draws=400, factors=factors))
        assert report.failures == (), str(report)


# --- the long tier: a million draws -----------------------------------------------------------------------------------

MILLION = 1_000_000


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0] for pair in PAIRS])
@pytest.mark.parametrize("text", NOISY)
def test_a_million_draws_refute_no_statistic(text: str, pair: Pair) -> None:
    """Integers with noise: a million each. Cells of quantiles, drawn one by one: a million once, else 100,000."""
    found = list(differing(text, pair))
    numbers = [both for both in found if isinstance(both[0].mechanism, Geometric)]
    choices = [both for both in found if isinstance(both[0].mechanism, Exponential)][:2]  # the value and one end
    for one, two in [*numbers, *choices]:
        whole = isinstance(one.mechanism, Geometric) or (text, pair[0]) == ("median(x)", "extremes")
        many = MILLION if whole else MILLION // 10
        lower = bound(one.drawn(many), two.drawn(many), delta=DELTAS, beta=1e-9)
        event = next((event for loss in claims(one.mechanism.guarantee) if (event := lower.refutes(loss))), None)
        assert event is None, f"{text}, {pair[0]}: {lower}"


@pytest.mark.audit
@pytest.mark.parametrize("text", NOISY)
def test_a_million_draws_refute_noise_that_is_a_quarter_too_small(text: str) -> None:
    """On the pair that moves the most, with the true loss at 1.25 of the claim.

    Quantiles, and means made of them, spend a twentieth on the numbers that are looked at here: they are asked at
    epsilon 10.
    """
    shared = ("quantile", "median", "iqr", "location", "clipped")
    epsilon = Fraction(10 if any(word in text for word in shared) else 1)
    found = [
        (moved(one, two), place, one, two)
        for place, pair in enumerate(PAIRS)
        for one, two in differing(text, pair, epsilon)
        if isinstance(one.mechanism, Geometric)
    ]
    share, _, one, two = max(found, key=lambda item: item[:2])
    factor = Fraction(5, 4) / share
    lower = bound(one.drawn(MILLION, factor), two.drawn(MILLION, factor), delta=DELTAS, beta=1e-9)
    assert lower.refutes(one.mechanism.guarantee.loss) is not None, f"{text}: {float(share):.3f} of the bound\n{lower}"


def moved(one: Call, two: Call) -> Fraction:
    """How much of the declared sensitivity a pair uses."""
    distance = sum(abs(a - b) for a, b in zip(one.exact, two.exact, strict=True))
    return Fraction(distance) / one.mechanism.sensitivity.bound


@pytest.mark.audit
@pytest.mark.parametrize("text", ASKED)
def test_whole_answers_refute_no_statistic(text: str) -> None:
    """20,000 answers as people see them, intervals, caveats and no replies included, with a row more and without."""
    effort = Effort(draws=20_000, level=1e-9, factors=())
    report = check([case_of(text)], effort=effort, entropy=lambda name: system())
    assert report.passed, str(report)
