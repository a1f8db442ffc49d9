"""The conformance kit: what a mechanism must show before anyone relies on it, checked on the program that runs.

    print(check(my_module))                 a module with SPECIMENS
    print(check([specimen, ...]))           specimens of mechanisms written anywhere
    print(check([Case(...)]))               anything with a guarantee and ``sample(exact, entropy)``, law unknown

Every check is a line: pass, fail, or not applicable, with the reason. A line that depends on chance states the
probability that a right mechanism fails it; the report adds them up. The kit tries its own sharpness: it makes the
noise too small and too large, and fails where it cannot see that. Its limits: docs/theory/auditing.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from sys import modules
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

from reticent.conformance import lower_bounds as sampled
from reticent.conformance.alarm import Alarm
from reticent.conformance.events import form
from reticent.entropy import Entropy, Replayed
from reticent.errors import PublicParameterError, ReticentError
from reticent.mechanisms import registry
from reticent.mechanisms.gate import Mechanism, Specimen
from reticent.privacy import serialization
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import ApproxDP, Loss, PureDP, words
from reticent.privacy.rederivation import rederive

Verdict: TypeAlias = Literal["pass", "fail", "not applicable"]
AnyMechanism: TypeAlias = Mechanism[Any, Any]  # the cases of one list differ in what goes in and comes out
Mass: TypeAlias = Callable[[Any, Any], float]

HEADINGS: Final = ("Statement.", "Source.", "Proof.", "Deviations.")
FACTORS: Final = (Fraction(13, 10), Fraction(2), Fraction(4), Fraction(8))
STRENGTHS: Final = ("variance", "std", "scale", "truth", "rho", "epsilon")  # what sets the noise, the surest first
BAD: Final = (Fraction(0), Fraction(-1), math.nan, math.inf, -math.inf)
BETA: Final = 0.1  # at which a radius is checked


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism, two neighbouring inputs, and what else is known of it.

    ``mass(exact, output)`` is the law if it can be stated, of outputs that are hashable; ``make`` builds the mechanism
    for another epsilon (anything: the kit also hands it what must be refused).
    """

    name: str
    mechanism: AnyMechanism
    here: Any
    there: Any
    mass: Mass | None = None
    make: Callable[[Any], AnyMechanism] | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of the kit: the number of draws, and the level of each line of chance.

    ``draws`` >= 200 on each neighbour (20,000 see a scale wrong by a tenth); ``level`` in (0, 1e-3] for each line.
    ``deltas`` are those of the lower bounds. ``factors`` > 1 make the noise of mutants too small, and too large. They
    are tried in order until one is caught; without factors no mutant is made.
    """

    draws: int = 20_000
    level: float = 1e-6
    deltas: tuple[float, ...] = (0.0, 1e-6, 1e-3)
    factors: tuple[Fraction, ...] = FACTORS

    def __post_init__(self) -> None:
        if self.draws < 200 or not 0 < self.level <= 1e-3 or any(factor <= 1 for factor in self.factors):
            raise PublicParameterError("draws must be >= 200, level in (0, 1e-3], and every factor > 1")


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """One check of one case. ``error``: the probability that a right mechanism fails it, 0 without chance."""

    case: str
    check: str
    verdict: Verdict
    reason: str
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class KitReport:
    """All lines of a run."""

    lines: tuple[CaseCheck, ...]

    @property
    def passed(self) -> bool:
        """True if no line failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[CaseCheck, ...]:
        return tuple(line for line in self.lines if line.verdict == "fail")

    @property
    def false_alarm(self) -> float:
        """At most the probability that a right mechanism fails anything here: the sum over the lines."""
        return sum(line.error for line in self.lines)

    def __str__(self) -> str:
        shown: list[str] = []
        for place, line in enumerate(self.lines):
            if place == 0 or self.lines[place - 1].case != line.case:
                shown.append(line.case)
            shown.append(f"  {line.verdict:<15}{line.check}: {line.reason}")
        verdict = "conforms" if self.passed else f"{len(self.failures)} of {len(self.lines)} checks failed"
        return "\n".join(
            [*shown, f"{verdict}; a right mechanism fails with probability at most {self.false_alarm:.2g}"]
        )


def check(
    subject: ModuleType | Sequence[Specimen[Any, Any] | Case],
    *,
    axioms: Callable[[Guarantee], Guarantee] | None = None,
    effort: Effort | None = None,
    entropy: Callable[[str], Entropy] = Replayed,
    alarm: Alarm | None = None,
) -> KitReport:
    """Every check of every case: of a module with ``SPECIMENS``, or of specimens and cases.

    Parameters
    ----------
    subject : module, or sequence of Specimen or Case
    axioms : function, optional
        States a leaf of a guarantee again from its parameters; those of the mechanisms shipped are known without it.
    effort : Effort, optional
    entropy : function
        From a name to a stream of coins, by default one that repeats, so that a report can be printed again;
        ``lambda name: system()`` for fresh ones.
    alarm : Alarm, optional
        Told of every failure as it is found; it may end the report at the first.

    Returns
    -------
    KitReport
        A line for each check of each case; ``passed`` if none fails.

    Raises
    ------
    PublicParameterError
        Where there is nothing to check.
    """
    listed = getattr(subject, "SPECIMENS", ()) if isinstance(subject, ModuleType) else subject
    cases = [c if isinstance(c, Case) else Case(c.name, c.mechanism, c.here, c.there, c.mass, c.make) for c in listed]
    if not cases:
        raise PublicParameterError("there is nothing to check: give specimens, or a module with SPECIMENS")
    lines = (line for case in cases for line in _Kit(case, axioms, effort or Effort(), entropy).lines())
    return KitReport(tuple(lines if alarm is None else alarm.watch(lines, failed)))


def failed(line: CaseCheck) -> str:
    """A failed check in words; empty for any other."""
    return f"{line.case}: {line.check}: {line.reason}" if line.verdict == "fail" else ""


def louder(case: Case, factor: Fraction) -> AnyMechanism | None:
    """The mechanism with its noise divided by ``factor``; None where no parameter sets the noise."""
    try:
        if case.make is None:
            return _louder(case.mechanism, factor)
        loss = case.mechanism.guarantee.loss
        return case.make(loss.epsilon * factor) if isinstance(loss, PureDP | ApproxDP) else None
    except (ReticentError, ValueError):
        return None


def _louder(mechanism: AnyMechanism, factor: Fraction) -> AnyMechanism | None:
    held = _held(mechanism)
    for name, value in held.items():
        if hasattr(value, "guarantee") and hasattr(value, "sample"):
            inner = _louder(value, factor)
            return None if inner is None else _with(mechanism, name, inner)
    name = next((name for name in STRENGTHS if isinstance(held.get(name), Fraction)), "")
    return _with(mechanism, name, _changed(name, held[name], factor)) if name else None


def _changed(name: str, value: Fraction, factor: Fraction) -> Fraction:
    if name == "truth" and factor > 1:
        return 1 - (1 - value) / factor
    return value * {"variance": factor**-2, "std": 1 / factor, "scale": 1 / factor, "rho": factor**2}.get(name, factor)


def _held(mechanism: object) -> dict[str, Any]:
    return {f.name: getattr(mechanism, f.name) for f in fields(mechanism) if f.init} if is_dataclass(mechanism) else {}


def _with(mechanism: Any, name: str, value: object) -> AnyMechanism:
    made: AnyMechanism = replace(mechanism, **{name: value})
    return made


def _makers(case: Case) -> Iterator[tuple[str, Callable[[Any], AnyMechanism], Fraction]]:
    """Name, a function that tries a value, and the value now, of each parameter that is a Fraction."""
    if case.make is not None:
        yield "epsilon", case.make, Fraction(1)
        return
    for name, value in _held(case.mechanism).items():
        if isinstance(value, Fraction):
            yield name, lambda other, name=name: _with(case.mechanism, name, other), value  # type: ignore[misc]


def _refused(make: Callable[[Any], AnyMechanism], bad: object, name: str) -> bool:
    """Tell if a value is refused; a Fraction out of range for one parameter may be in range for another."""
    try:
        made = make(bad)
        return isinstance(bad, Fraction) and name not in STRENGTHS and made.guarantee is not None
    except (ReticentError, ValueError, TypeError, ArithmeticError):
        return True


def _nodes(tree: Guarantee) -> Iterator[Guarantee]:
    yield tree
    for part in tree.parts:
        yield from _nodes(part)


def _undocumented(case: Case, leaf: Guarantee) -> str:
    """Headings that the docstrings of a leaf's class and module lack; none for theorems of ``privacy``."""
    own, theory = (
        type(case.mechanism),
        [modules[name] for name in sorted(modules) if name.startswith("reticent.privacy.")],
    )
    texts = [own.__doc__ or ""]
    for place in (*([modules[own.__module__]] if own.__module__ in modules else []), *registry.ALL, *theory):
        if any(isinstance(value, Theorem) and value == leaf.by for value in vars(place).values()):
            texts.append(place.__doc__ or "")
            if place in theory:
                return ""
    lacking = [[heading for heading in HEADINGS if heading not in text] for text in texts]
    return "" if [] in lacking else f"{leaf.by.name} lacks {' '.join(lacking[-1])}"


def _chance(mass: Mass, exact: object, output: object) -> float:
    """The stated probability of an output; 0 where the law does not know it."""
    try:
        return mass(exact, output)
    except (KeyError, IndexError, ValueError, TypeError):
        return 0.0


@dataclass
class _Kit:
    """One case, with what was drawn from it kept for several checks."""

    case: Case
    axioms: Callable[[Guarantee], Guarantee] | None
    effort: Effort
    entropy: Callable[[str], Entropy]
    here: list[Any] = field(default_factory=list)
    there: list[Any] = field(default_factory=list)
    wrong: dict[float, list[Any]] = field(default_factory=dict)  # draws of mutants by the factor, on this side

    def lines(self) -> Iterator[CaseCheck]:
        yield from self._parameters()
        yield from self._proof(self.case.mechanism.guarantee)
        try:
            self.here = self._drawn(self.case.mechanism, self.case.here, "here")
            self.there = self._drawn(self.case.mechanism, self.case.there, "there")
        except Exception as error:
            yield self._line("draws", False, f"raised {type(error).__name__} on a valid input")
            return
        yield self._replay()
        yield self._alphabet()
        yield from self._law()
        yield from self._audit()
        yield self._accuracy()

    def _line(self, check: str, passed: bool | None, reason: str, error: float = 0.0) -> CaseCheck:
        verdict: Verdict = "not applicable" if passed is None else ("pass" if passed else "fail")
        return CaseCheck(self.case.name, check, verdict, reason, error)

    def _drawn(self, mechanism: AnyMechanism, exact: Any, name: str) -> list[Any]:
        stream = self.entropy(f"{self.case.name}/{name}")
        return [mechanism.sample(exact, stream) for _ in range(self.effort.draws)]

    def _wrong(self, factor: float, mutant: AnyMechanism) -> list[Any]:
        """Draws of a mutant, made once for the law and the audit."""
        if factor not in self.wrong:
            self.wrong[factor] = self._drawn(mutant, self.case.here, f"mutant {factor}")
        return self.wrong[factor]

    def _parameters(self) -> Iterator[CaseCheck]:
        makers = list(_makers(self.case))
        tried = ", ".join(name for name, _, _ in makers)
        taken = [f"took {name} = {bad}" for name, make, _ in makers for bad in BAD if not _refused(make, bad, name)]
        floats = [f"took a float as {name}" for name, make, now in makers if not _refused(make, float(now), "float")]
        for check, found, what in (("ranges refused", taken, "0, -1, NaN, inf"), ("floats refused", floats, "floats")):
            reason = "; ".join(found) or (f"{what}: {tried}" if makers else "no parameter is a Fraction")
            yield self._line(check, not found if makers else None, reason)
        yield self._inputs()

    def _inputs(self) -> CaseCheck:
        name, here = "float answers refused", self.case.here
        if not isinstance(here, tuple | list) or not here or not all(isinstance(one, int | Fraction) for one in here):
            return self._line(name, None, "the input is no vector of numbers")
        try:
            self.case.mechanism.sample(tuple(float(one) for one in here), Replayed("float"))
        except Exception:
            return self._line(name, True, "a vector of floats")
        return self._line(name, False, "took a vector of floats: what comes out has the low bits of the answer")

    def _proof(self, guarantee: Guarantee) -> Iterator[CaseCheck]:
        nodes, loss = list(_nodes(guarantee)), words(guarantee.loss)
        bare = [node.by.name for node in nodes if not (node.by.source.strip() and node.by.statement.strip())]
        sources = bare or sorted({node.by.source for node in nodes})
        yield self._line("theorem has a source", not bare, ", ".join(sources))
        missing = [text for node in nodes if not node.parts and (text := _undocumented(self.case, node))]
        yield self._line("proof beside the code", not missing, "; ".join(missing) or " ".join(HEADINGS))
        try:
            again = rederive(guarantee, self.axioms or registry.axiom_again)
            yield self._line("loss derived again", again == guarantee.loss, loss)
        except (ReticentError, KeyError, ValueError) as error:
            unknown = self.axioms is None and "no mechanism of this version" in str(error)
            listed = "so no certificate that uses it can be verified: put its module, with AXIOMS, into registry.ALL"
            reason = f"{error}, {listed}; or give axioms= for one of your own" if unknown else str(error)
            yield self._line("loss derived again", False, reason)
        back = serialization.from_json(json.loads(json.dumps(serialization.to_json(guarantee))))
        yield self._line("JSON and back", back == guarantee, loss)

    def _replay(self) -> CaseCheck:
        sample, streams = self.case.mechanism.sample, (Replayed("again"), Replayed("again"))
        once, twice = ([sample(self.case.here, stream) for _ in range(40)] for stream in streams)
        return self._line("same coins, same output", once == twice, "40 draws from one stream, and again")

    def _alphabet(self) -> CaseCheck:
        name, mass = "outputs of one alphabet", self.case.mass
        forms = sorted({form(output) for output in (*self.here, *self.there)})
        if mass is None:  # the outputs may be worked on further, so floats and no replies are in order
            return self._line(name, None, f"law not stated; {len(forms)} forms seen")
        if len(forms) > 1:
            return self._line(name, False, f"several forms: {', '.join(forms[:4])}")
        if "float" in forms[0]:
            return self._line(name, False, "a float: its low bits are an answer of their own")
        sides = ((self.case.here, set(self.here)), (self.case.there, set(self.there)))
        if any(not _chance(mass, exact, output) > 0 for exact, outputs in sides for output in outputs):
            return self._line(name, False, "an output of probability 0 by the stated law")
        grid = getattr(self.case.mechanism, "grid", None)
        on_grid = grid is None or all((value / grid.step).denominator == 1 for out in self.here for value in out)
        return self._line(name, on_grid, forms[0] if on_grid else "an output off the grid")

    def _law(self) -> Iterator[CaseCheck]:
        mass, level, factors = self.case.mass, self.effort.level, self.effort.factors
        if mass is None:
            yield self._line("draws its law", None, "law not stated")
            return
        for side, exact, outputs in (("here", self.case.here, self.here), ("there", self.case.there, self.there)):
            p = sampled.fit(outputs, lambda out, exact=exact: _chance(mass, exact, out))  # type: ignore[misc]
            yield self._line(f"draws its law, {side}", p >= level, f"p {p:.2g}, {len(outputs)} draws", level)
        yield self._mutant("law refuses too little noise", mass, factors)
        yield self._mutant("law refuses too much noise", mass, [1 / factor for factor in factors])
        beyond = sampled.excess(self.case.mechanism.guarantee.loss, *self._masses(mass))
        reason = "on every output seen" if beyond is None else f"P {beyond[0]:.3g} against {beyond[1]:.3g}"
        yield self._line("law within the claim", beyond is None, reason)

    def _mutants(self, factors: Sequence[Fraction]) -> list[tuple[float, AnyMechanism]]:
        return [(float(factor), made) for factor in factors if (made := louder(self.case, factor)) is not None]

    def _mutant(self, name: str, mass: Mass, factors: Sequence[Fraction]) -> CaseCheck:
        """The first factor at which draws of a mutant no longer fit; without parameters, the law is bent instead."""
        tried = 0.0
        for tried, mutant in self._mutants(factors):
            drawn = self._wrong(tried, mutant)
            if sampled.fit(drawn, lambda out: _chance(mass, self.case.here, out)) < self.effort.level:
                return self._line(name, True, f"noise divided by {tried:.3g} is refused")
        if tried:
            return self._line(name, False, f"not even divided by {tried:.3g}: more draws, or another specimen")
        power = float(next(iter(factors), 1.3))
        total = sum(_chance(mass, self.case.here, out) ** power for out in set(self.here))
        p = sampled.fit(self.here, lambda out: _chance(mass, self.case.here, out) ** power / total)
        return self._line(name, p < self.effort.level, f"its draws against the law to the power {power:.3g}: p {p:.2g}")

    def _audit(self) -> Iterator[CaseCheck]:
        guarantee, deltas, level = self.case.mechanism.guarantee, self.effort.deltas, self.effort.level
        lower, stated = sampled.bound(self.here, self.there, delta=deltas, beta=level), sampled.claims(guarantee)
        event = next((found for loss in stated if (found := lower.refutes(loss)) is not None), None)
        reason = f"ε >= {lower.epsilon(deltas[-1]):.3g} at δ {deltas[-1]:g}"
        if event is not None:
            reason = f"{event.event}: {event.hits} of {event.out_of} against {event.others} of {event.other_out_of}"
        yield self._line("audited below its claim", event is None, f"{words(guarantee.loss)} claimed, {reason}", level)
        yield self._refuted(stated)

    def _refuted(self, stated: Sequence[Loss]) -> CaseCheck:
        name, tried = "audit refutes too little noise", 0.0
        for tried, mutant in self._mutants(self.effort.factors):
            other = self._drawn(mutant, self.case.there, f"audit {tried} there")
            lower = sampled.bound(self._wrong(tried, mutant), other, delta=self.effort.deltas, beta=self.effort.level)
            if any(lower.refutes(loss) for loss in stated):
                return self._line(name, True, f"noise divided by {tried:.3g} is refuted")
        if tried:
            return self._line(name, False, f"not even divided by {tried:.3g}: worse neighbours, or more draws")
        return self._line(name, None, "no mutant was made: give make= and factors")

    def _masses(self, mass: Mass) -> list[list[float]]:
        """Both laws on every output seen."""
        seen = {*self.here, *self.there}
        return [[_chance(mass, exact, out) for out in seen] for exact in (self.case.here, self.case.there)]

    def _accuracy(self) -> CaseCheck:
        name, radius = "radius covers", getattr(self.case.mechanism, "radius", None)
        if radius is None or not isinstance(self.case.here, tuple | list):
            return self._line(name, None, "no radius" if radius is None else "the input is no vector of numbers")
        grid, exact = getattr(self.case.mechanism, "grid", None), self.case.here[0]
        far = [abs(out[0] - (exact if grid is None else grid.round(exact))) for out in self.here]
        reach = radius(BETA)
        beyond, half = (sum(distance > limit for distance in far) for limit in (reach, reach / 2))
        covers = sampled.binomial_tail(beyond, len(far), BETA) >= self.effort.level
        sharp = sampled.binomial_tail(half, len(far), BETA) < self.effort.level
        reason = f"{beyond} of {len(far)} beyond radius({BETA:g})" + ("" if sharp else "; half of it would cover")
        return self._line(name, covers and sharp, reason, self.effort.level)
