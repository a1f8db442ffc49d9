"""An exhibit: something broken, the attack that refutes it, and one of ours that withstands the same attack.

The attacks are thin: each hands its subject to a tool of the audits and says in a few words what came out.
Coins come from a replayed stream, so that a page can print what a reader will see; ``Effort(fresh=True)`` asks the
system for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from reticent.conformance.events import Floats, Sample
from reticent.conformance.lower_bounds import bound
from reticent.entropy import Entropy, Replayed, system
from reticent.errors import PublicParameterError
from reticent.exact import sampling
from reticent.privacy.loss import ApproxDP, Loss, PureDP, words
from reticent.privacy.numbers import about
from tests.assurance.claims import verify
from tests.assurance.coins import agree, coin_law
from tests.assurance.reachability import support
from tests.assurance.timing import requests, timed

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)

Verdict: TypeAlias = Literal["refuted", "withstood"]
Program: TypeAlias = Callable[[Any, Entropy], object]  # an exact input, each exhibit's own kind, and coins
Drawn: TypeAlias = Callable[[Any, int, Entropy], Sample]  # the same, so many times
Choice: TypeAlias = Callable[[Entropy], object]

BETA: Final = 1e-6  # the probability that a bound by sampling or by the clock is wrong
LEAST_SEEN: Final = 0.1  # correlation of time and noise that counts as seen; without any its deviation is 0.016 or less


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of an attack: ``draws`` >= 2000 on each neighbour, from replayed coins or from fresh ones."""

    draws: int = 20_000
    fresh: bool = False

    def __post_init__(self) -> None:
        if self.draws < 2000:
            raise PublicParameterError(f"draws must be >= 2000, got {self.draws}")

    def coins(self, name: str) -> Entropy:
        return system() if self.fresh else Replayed(f"gallery {name}")


QUICK: Final = Effort(draws=4000)


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one attack: the verdict and the bound in words."""

    verdict: Verdict
    words: str


class Attack(Protocol[S_contra]):
    """A tool of the audit with the neighbours and the claim it is used on."""

    @property
    def tool(self) -> str: ...

    @property
    def claimed(self) -> str: ...

    def on(self, subject: S_contra, effort: Effort) -> Found: ...


@dataclass(frozen=True, slots=True)
class Result:
    """One attack on one subject; ``str`` is its line."""

    failure: str
    name: str
    claimed: str
    found: Found
    tool: str
    seconds: float

    @property
    def refuted(self) -> bool:
        return self.found.verdict == "refuted"

    def __str__(self) -> str:
        told = f"claimed {self.claimed}; {self.found.words}"
        return f"{self.failure:<4}{self.found.verdict:<10}{self.name}: {told} [{self.tool}, {self.seconds:.2f} s]"


@dataclass(frozen=True, slots=True)
class Exhibit(Generic[S]):
    """One failure class of the gallery.

    Attributes
    ----------
    failure : str
        Its class, ``A1`` to ``E6``.
    broken : function or class
        What is wrong; its docstring says how, and who was hit.
    attack_by : Attack
    ours : the same kind of thing
        Ours, under the same attack.
    passes : str
        The name of ours.
    machine : bool
        Whether the attack needs the clock of a quiet machine, so that its outcome does not repeat.
    """

    failure: str
    broken: S
    attack_by: Attack[S]
    ours: S
    passes: str
    machine: bool = False

    @property
    def name(self) -> str:
        return str(getattr(self._code, "__name__", type(self._code).__name__))

    @property
    def story(self) -> str:
        """Story of the defect, and the systems that had it."""
        return " ".join((self._code.__doc__ or "").split())

    @property
    def _code(self) -> object:
        return self.broken.draw if isinstance(self.broken, Reach) else self.broken

    def attack(self, effort: Effort | None = None) -> Result:
        """Attack what is broken."""
        return self._run(self.broken, self.name, effort or Effort())

    def withstand(self, effort: Effort | None = None) -> Result:
        """The same attack on ours."""
        return self._run(self.ours, self.passes, effort or Effort())

    def _run(self, subject: S, name: str, effort: Effort) -> Result:
        start = time.perf_counter()
        found = self.attack_by.on(subject, effort)
        tool, claimed = self.attack_by.tool, self.attack_by.claimed
        return Result(self.failure, name, claimed, found, tool, time.perf_counter() - start)


AnyExhibit: TypeAlias = Exhibit[Any]  # the subjects of one list differ in kind


def judged(words_of: str, *, refuted: bool) -> Found:
    return Found("refuted" if refuted else "withstood", words_of)


# --- attacks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exact:
    """All draws of a program on all neighbours given: ``tests.assurance.exact``. No chance, no coins."""

    tables: tuple[Any, ...]
    claim: Loss
    tool: str = "exact law"

    @property
    def claimed(self) -> str:
        return words(self.claim)

    def on(self, subject: Program, effort: Effort) -> Found:
        """Neighbours stand side by side in ``tables``. A claim left open is refuted: it was not shown to hold."""
        pairs = [(place, place + 1) for place in range(len(self.tables) - 1)]
        line = verify("exhibit", subject, self.tables, pairs, self.claim)
        most = Fraction(0) if line.attained is None else line.attained
        match self.claim:
            case PureDP(epsilon):
                told = f"ε >= {float(most * epsilon):.4g}"
            case ApproxDP(epsilon, delta):
                told = f"δ >= {float(most * delta):.3g} at ε {about(epsilon)}"
            case _:
                told = f"{float(most):.3g} of it reached"
        return judged(told, refuted=line.verdict != "holds")


@dataclass(frozen=True, slots=True)
class Sampled:
    """Lower bounds from outputs on two neighbours: ``conformance.lower_bounds.bound``."""

    here: Any
    there: Any
    claim: Loss
    deltas: tuple[float, ...] = (0.0, 1e-3)
    tool: str = "sampling"

    @property
    def claimed(self) -> str:
        return words(self.claim)

    def on(self, subject: Drawn, effort: Effort) -> Found:
        sides = [subject(side, effort.draws, effort.coins(f"{side}")) for side in (self.here, self.there)]
        lower = bound(*sides, delta=self.deltas, beta=BETA)
        event = lower.refutes(self.claim) or lower.best(0.0)
        by = f" by {event.event.split(',')[0]}" if event and lower.epsilon() > 0 else ""
        return judged(f"ε >= {lower.epsilon():.3g}{by}", refuted=lower.refutes(self.claim) is not None)


@dataclass(frozen=True, slots=True)
class Reach:
    """A sampler of floats, and which outputs it can give at all on one of two neighbours."""

    draw: Callable[[int, int, Entropy], Floats]
    possible: Callable[[Floats, int], Any]


@dataclass(frozen=True, slots=True)
class Support:
    """Outputs about one neighbour that the other cannot give: ``reachability.reachable``, ``reachability.support``."""

    claim: Loss
    tool: str = "support"

    @property
    def claimed(self) -> str:
        return words(self.claim)

    def on(self, subject: Reach, effort: Effort) -> Found:
        outputs = subject.draw(1, effort.draws, effort.coins("support"))
        least = support(~subject.possible(outputs, 0), beta=BETA)
        return judged(f"δ >= {least:.3g} at every ε", refuted=least > 0)


@dataclass(frozen=True, slots=True)
class OnCoins:
    """The law of a sampler on all strings of its coins against the law it is described by: ``assurance.coins``."""

    law: sampling.Law
    claimed: str
    tool: str = "coins"

    def on(self, subject: Choice, effort: Effort) -> Found:
        found = coin_law(subject)
        right = agree(found, self.law)
        return judged("its law" if right else f"another law, after {found.runs} runs", refuted=not right)


@dataclass(slots=True)
class _Counting:
    """An entropy whose clock is the number of bits it has given out."""

    stream: Entropy
    given: int = 0

    def bits(self, count: int) -> int:
        self.given += count
        return self.stream.bits(count)

    def words(self, count: int) -> Any:
        self.given += 64 * count
        return self.stream.words(count)

    def clock(self) -> int:
        return self.given


@dataclass(frozen=True, slots=True)
class Durations:
    """Rank correlation of the work of a draw, counted in coins, with the size of its noise: ``assurance.timing``."""

    claimed: str = "time tells nothing"
    tool: str = "timing"

    def on(self, subject: Choice, effort: Effort) -> Found:
        coins = _Counting(effort.coins("durations"))
        found = timed(lambda: float(subject(coins)), effort.draws, clock=coins.clock)  # type: ignore[arg-type]  # ints
        return judged(f"rank correlation {found.correlation:.2f}", refuted=found.correlation > LEAST_SEEN)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """A bound on epsilon from the durations of requests about two neighbours: ``tests.assurance.timing.requests``."""

    here: Any
    there: Any
    claimed: str = "time tells nothing"
    tool: str = "stopwatch"

    def on(self, subject: Callable[[Any], object], effort: Effort) -> Found:
        count, source = max(400, effort.draws // 50), system()
        found = requests(
            lambda: subject(self.here), lambda: subject(self.there), count=count, beta=BETA, entropy=source
        )
        return judged(f"ε >= {found.epsilon:.3g} from {count} durations", refuted=found.epsilon > 0)


@dataclass(frozen=True, slots=True)
class Tried:
    """Anything that is tried by hand and either goes through or does not: an account, a copy, an object's bytes."""

    attempt: Callable[[Any], str]  # "" where the attack fails
    claimed: str
    held: str
    tool: str

    def on(self, subject: Any, effort: Effort) -> Found:
        told = self.attempt(subject)
        return judged(told or self.held, refuted=bool(told))


def one_by_one(program: Program) -> Drawn:
    """So many draws of a program that draws once."""

    def drawn(exact: Any, count: int, entropy: Entropy) -> Sequence[object]:
        return [program(exact, entropy) for _ in range(count)]

    drawn.__name__, drawn.__doc__ = str(getattr(program, "__name__", "program")), program.__doc__
    return drawn


__all__ = [
    "QUICK",
    "AnyExhibit",
    "Durations",
    "Effort",
    "Exact",
    "Exhibit",
    "Found",
    "OnCoins",
    "Reach",
    "Result",
    "Sampled",
    "Stopwatch",
    "Support",
    "Tried",
    "one_by_one",
]
